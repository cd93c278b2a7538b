#include "server/http/problem.h"

static const struct {
    int status;
    const char *code;
    const char *detail; /* in place of the error's own text, which is for the log */
} table[] = {
    [ERR_NONE] = {500, "internal", "The server failed without saying why."},
    [ERR_INVALID] = {400, "invalid", NULL},
    [ERR_UNAUTHORIZED] = {401, "unauthorized", NULL},
    [ERR_FORBIDDEN] = {403, "forbidden", NULL},
    [ERR_NOT_FOUND] = {404, "not_found", NULL},
    [ERR_CONFLICT] = {409, "conflict", NULL},
    [ERR_GONE] = {410, "gone", NULL},
    [ERR_TOO_BIG] = {413, "too_big", NULL},
    [ERR_WORK] = {413, "too_much_work", NULL},
    [ERR_CROWDED] = {503, "crowded", NULL},
    [ERR_BUSY] = {503, "busy", NULL},
    [ERR_DB] = {503, "database", "The database cannot answer now. Try again later."},
    [ERR_INTERNAL] = {500, "internal", "The server failed; its log says why."},
};

static const struct {
    int status;
    const char *title;
} titles[] = {
    {400, "Bad request"},
    {401, "No valid API key"},
    {403, "Forbidden"},
    {404, "Not found"},
    {405, "Method not allowed"},
    {408, "Request timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition failed"},
    {413, "Content too large"},
    {414, "URI too long"},
    {415, "Unsupported media type"},
    {423, "Locked"},
    {429, "Too many requests"},
    {431, "Request header fields too large"},
    {STATUS_CHECKSUM_MISMATCH, "Checksum mismatch"},
    {500, "Internal error"},
    {501, "Not supported"},
    {503, "Service unavailable"},
    {505, "HTTP version not supported"},
};

struct problem problem_of(const struct err *err)
{
    size_t code = err->code <= ERR_INTERNAL ? (size_t)err->code : ERR_INTERNAL;

    return (struct problem){.status = table[code].status,
                            .code = table[code].code,
                            .detail = table[code].detail ? table[code].detail : err->text,
                            .field = err->field};
}

static const char *status_title(int status)
{
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Refused";
}

void problem_write(struct buf *b, const struct problem *p, const char *request_id)
{
    buf_text(b, "{\"type\":\"about:blank\",\"title\":");
    buf_json_string(b, status_title(p->status));
    buf_text(b, ",\"status\":");
    buf_i64(b, p->status);
    buf_text(b, ",\"code\":");
    buf_json_string(b, p->code);
    buf_text(b, ",\"detail\":");
    buf_json_string(b, p->detail);
    if (p->field && p->field[0]) {
        buf_text(b, ",\"field\":");
        buf_json_string(b, p->field);
    }
    buf_text(b, ",\"request_id\":");
    buf_json_string(b, request_id);
    buf_text(b, "}\n");
}

#include "server/http/upload_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool is_upload_path(const char *path)
{
    size_t n = sizeof UPLOADS_PATH - 1;

    return strncmp(path, UPLOADS_PATH, n) == 0 && (!path[n] || path[n] == '/');
}

static struct exchange *exchange_of(struct upload_request *up)
{
    return (struct exchange *)((char *)up - offsetof(struct exchange, up));
}

enum step upload_refuse(struct exchange *x, enum refusal why, int status, const char *code,
                        const char *field, const char *detail)
{
    return exchange_refuse(
        x, why,
        &(struct problem){.status = status, .code = code, .field = field, .detail = detail});
}

enum step upload_bad(struct exchange *x, const char *field, const char *detail)
{
    return upload_refuse(x, REFUSED_bad_request, 400, "invalid", field, detail);
}

enum step upload_unknown(struct exchange *x)
{
    return upload_refuse(x, REFUSED_N, 404, "not_found", NULL, "There is no such upload.");
}

bool upload_has_body(const struct exchange *x)
{
    return x->body.chunked || x->body.bytes > 0;
}

void upload_put_number(struct exchange *x, unsigned slot, const char *name, int64_t v)
{
    snprintf(x->value[slot], sizeof x->value[slot], "%" PRId64, v);
    reply_put(&x->reply, name, x->value[slot]);
}

void upload_put_expiry(struct exchange *x, unsigned slot, int64_t unix_s)
{
    http_date(unix_s, x->value[slot]);
    reply_put(&x->reply, "Upload-Expires", x->value[slot]);
}

void upload_put_location(struct exchange *x)
{
    const char *base = x->server->config.context->public_url;
    const char *host = headers_find(&x->headers, "Host");
    char id[33];

    to_hex(x->up.op.key.id, sizeof x->up.op.key.id, id);
    snprintf(x->location, sizeof x->location, "%s%s" UPLOADS_PATH "/%s", *base ? base : "http://",
             *base ? "" : host, id);
    reply_put(&x->reply, "Location", x->location);
}

/* The store -------------------------------------------------------------------------------------
 */

static void on_stored(struct chunk_op *op)
{
    struct upload_request *up =
        (struct upload_request *)((char *)op - offsetof(struct upload_request, op));
    struct exchange *x = exchange_of(up);
    bool over = up->ended || !x->conn || op->answer.outcome != CHUNK_OK;

    block_give(x->server->blocks, &op->blocks);
    up->last = NULL;
    if (over)
        active_leave(x->server->active, &up->node);
    if (x->conn)
        exchange_resume(x);
    else
        exchange_free(x);
}

/* Suspends and hands the piece to the store. */
static enum step store(struct exchange *x, bool ended)
{
    struct upload_request *up = &x->up;

    up->ended = ended;
    up->stage = UPLOAD_ANSWER;
    up->op.done = on_stored;
    if (ended)
        active_settle(x->server->active, &up->node);
    exchange_suspend(x);
    if (chunk_store_submit(x->server->store, &up->op, false))
        return STEP_WAIT;
    upload_refuse(x, REFUSED_commit_queue_full, 503, "busy", NULL,
                  "Too many uploads wait to be stored.");
    exchange_resume(x);
    return STEP_WAIT;
}

/* After an answer to a piece that was not the last one: the next begins where it ended. */
static void next_piece(struct upload_request *up)
{
    up->op.create = false;
    up->op.at += (int64_t)up->op.len;
    up->op.length = LENGTH_UNKNOWN;
    up->op.expect = 0;
    up->op.len = 0;
    if (up->op.answer.kind != KIND_SESSION)
        up->piece_max = OTHER_PIECE;
    up->stage = UPLOAD_BODY;
}

/* Bytes of the body ------------------------------------------------------------------------------
 */

static bool one_piece(const struct exchange *x)
{
    return !x->body.chunked && x->body.bytes <= x->up.piece_max;
}

static void on_block(struct block_waiter *w)
{
    struct upload_request *up =
        (struct upload_request *)((char *)w - offsetof(struct upload_request, waiter));

    exchange_resume(exchange_of(up));
}

/* Room at the end of the piece; NULL and *wait: suspended until a block is free. */
static struct block *piece_block(struct exchange *x, bool *wait)
{
    struct upload_request *up = &x->up;
    struct block *b = up->last;

    *wait = false;
    if (b && b->len < BLOCK_BYTES)
        return b;
    b = up->reserved;
    if (b) {
        up->reserved = b->next;
        b->next = NULL;
    } else {
        b = block_take(x->server->blocks);
    }
    if (!b && !up->op.blocks) {
        *wait = true;
        exchange_suspend(x);
        up->waiter.ready = on_block;
        b = block_take_or_wait(x->server->blocks, &up->waiter);
        if (!b)
            return NULL;
        exchange_resume(x); /* one came back just now: called again at once */
    }
    if (!b)
        return NULL;
    if (up->op.blocks)
        up->last->next = b;
    else
        up->op.blocks = b;
    up->last = b;
    return b;
}

static size_t take_bytes(struct upload_request *up, struct block *b, const char **data,
                         size_t *size)
{
    size_t n = BLOCK_BYTES - b->len;

    if (n > up->piece_max - up->op.len)
        n = up->piece_max - up->op.len;
    if (n > *size)
        n = *size;
    memcpy(b->bytes + b->len, *data, n);
    if (up->digest)
        digest_add(up->digest, *data, n);
    else if (up->checksum.kind == CHECKSUM_CRC32C)
        up->crc32c = crc32c(up->crc32c, *data, n);
    b->len += n;
    up->op.len += n;
    *data += n;
    *size -= n;
    return n;
}

static enum step receive(struct exchange *x, const char *data, size_t *size)
{
    struct upload_request *up = &x->up;

    while (*size) {
        bool wait;

        if (up->op.len == up->piece_max) {
            if (up->checksum.kind != CHECKSUM_NONE)
                return upload_refuse(x, REFUSED_too_big, 413, "too_big", "Upload-Checksum",
                                     "The chunk is too long for one with a checksum.");
            return store(x, false);
        }
        struct block *b = piece_block(x, &wait);

        if (wait)
            return STEP_WAIT;
        if (!b)
            return store(x, false); /* no buffer is free: settle what is here */
        x->received += take_bytes(up, b, &data, size);
    }
    return STEP_MORE;
}

static bool checksum_ok(struct upload_request *up)
{
    unsigned char have[SHA256_BYTES];

    if (up->checksum.kind == CHECKSUM_NONE)
        return true;
    if (up->checksum.kind == CHECKSUM_CRC32C)
        for (unsigned i = 0; i < 4; i++)
            have[i] = (unsigned char)(up->crc32c >> (24 - 8 * i));
    else
        digest_end(up->digest, have);
    return equal_secret(have, up->checksum.value, up->checksum.len);
}

static enum step end_body(struct exchange *x)
{
    if (!checksum_ok(&x->up))
        return upload_refuse(x, REFUSED_bad_request, STATUS_CHECKSUM_MISMATCH, "checksum_mismatch",
                             "Upload-Checksum", "The chunk arrived damaged and was discarded.");
    return store(x, true);
}

/* The whole chunk must be there before it counts, so its buffers are set aside before it comes. */
static enum step begin_checked(struct exchange *x)
{
    struct upload_request *up = &x->up;
    size_t bytes = x->body.chunked ? CHECKED_MAX : (size_t)x->body.bytes;
    size_t n = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;

    up->piece_max = CHECKED_MAX;
    if (up->checksum.kind != CHECKSUM_CRC32C) {
        up->digest = digest_new(up->checksum.kind == CHECKSUM_SHA1 ? DIGEST_SHA1 : DIGEST_SHA256);
        if (!up->digest)
            return upload_refuse(x, REFUSED_no_buffers, 503, "busy", NULL, "Out of memory.");
    }
    up->reserved = n ? block_take_n(x->server->blocks, n) : NULL;
    if (n && !up->reserved)
        return upload_refuse(x, REFUSED_no_buffers, 503, "busy", NULL,
                             "No memory for bodies is free.");
    return STEP_MORE;
}

static enum step begin_body(struct exchange *x)
{
    struct upload_request *up = &x->up;

    up->stage = UPLOAD_BODY;
    if (up->checksum.kind != CHECKSUM_NONE)
        return begin_checked(x);
    if (one_piece(x) || x->body_begun)
        return STEP_MORE;
    /* a long body is refused before it comes, while an answer can still be given */
    up->op.expect = (int64_t)x->body.bytes;
    return store(x, false);
}

/* Answers -----------------------------------------------------------------------------------------
 */

static enum step answer_ok(struct exchange *x)
{
    const struct chunk_answer *a = &x->up.op.answer;

    x->reply.status = x->up.creates ? 201 : 204;
    if (x->up.creates)
        upload_put_location(x);
    upload_put_number(x, 0, "Upload-Offset", a->at);
    if (!a->complete)
        upload_put_expiry(x, 1, a->expires_s);
    x->stage = STAGE_REPLY;
    return STEP_REPLY;
}

static enum step answer_failure(struct exchange *x)
{
    const struct chunk_answer *a = &x->up.op.answer;

    switch (a->outcome) {
    case CHUNK_NOT_FOUND:
        return upload_unknown(x);
    case CHUNK_GONE:
        return upload_refuse(x, REFUSED_N, 410, "gone", NULL, "The upload expired or was deleted.");
    case CHUNK_OFFSET:
        upload_put_number(x, 0, "Upload-Offset", a->at);
        return upload_refuse(x, REFUSED_N, 409, "offset_mismatch", "Upload-Offset",
                             "The upload stands at another offset.");
    case CHUNK_TOO_LONG:
        return upload_refuse(x, REFUSED_too_big, 413, "too_big", "Upload-Length",
                             "The bytes go past the length of the upload.");
    case CHUNK_FINAL:
        return upload_refuse(x, REFUSED_forbidden, 403, "final", NULL,
                             "A concatenated upload takes no bytes.");
    case CHUNK_LENGTH_FIXED:
        return upload_bad(x, "Upload-Length", "The upload has another length or is past this one.");
    case CHUNK_OTHER_FILE:
        return upload_refuse(x, REFUSED_N, 409, "file_id_used", "Upload-Metadata",
                             "The file id was used for a file of another kind or length.");
    case CHUNK_POISON:
        return upload_refuse(x, REFUSED_database, 500, "internal", NULL,
                             "The server cannot store this; its log says why.");
    default:
        return upload_refuse(x, REFUSED_database, 503, "database", NULL,
                             "The database cannot answer now. Try again later.");
    }
}

/* A creation whose file was known keeps its offset; the body that came along is not needed. */
static bool body_is_moot(const struct upload_request *up)
{
    return up->creates && up->op.answer.at != up->op.at + (int64_t)up->op.len;
}

static enum step answer(struct exchange *x)
{
    struct upload_request *up = &x->up;

    if (up->op.answer.outcome != CHUNK_OK)
        return answer_failure(x);
    if (up->ended)
        return answer_ok(x);
    if (body_is_moot(up)) {
        active_leave(x->server->active, &up->node);
        return answer_ok(x);
    }
    next_piece(up);
    return STEP_MORE;
}

/* The way of an upload request --------------------------------------------------------------------
 */

void upload_resume(struct active_node *waiter)
{
    struct upload_request *up =
        (struct upload_request *)((char *)waiter - offsetof(struct upload_request, node));

    exchange_resume(exchange_of(up));
}

static enum step entered(struct exchange *x)
{
    if (x->flow == FLOW_UPLOAD_CALL)
        return exchange_call(x, x->match.route->handle);
    x->up.stage = UPLOAD_PROBE;
    return STEP_MORE;
}

static enum step enter(struct exchange *x)
{
    struct upload_request *up = &x->up;
    struct active *active = x->server->active;

    if (up->node.superseded)
        return upload_refuse(x, REFUSED_superseded, 423, "superseded", NULL,
                             "A newer request for the same upload came.");
    if (up->waited)
        return entered(x);
    up->node.key = up->op.key;
    up->node.sends = upload_has_body(x);
    if (active_try(active, &up->node))
        return entered(x);
    up->waited = true;
    exchange_suspend(x);
    if (active_enter(active, &up->node))
        exchange_resume(x);
    return STEP_WAIT;
}

static enum step advance(struct exchange *x, const char *data, size_t *size)
{
    struct upload_request *up = &x->up;

    switch (up->stage) {
    case UPLOAD_PARSE:
        return upload_parse(x);
    case UPLOAD_ENTER:
        return enter(x);
    case UPLOAD_PROBE:
        return begin_body(x);
    case UPLOAD_ANSWER:
        return answer(x);
    case UPLOAD_BODY:
        if (*size)
            return receive(x, data, size);
        if (upload_has_body(x) && !x->body_begun) {
            x->body_begun = true; /* called once before the body and once after it */
            return STEP_MORE;
        }
        return end_body(x);
    }
    return STEP_ABORT;
}

enum step upload_step(struct exchange *x, const char *data, size_t *size)
{
    for (;;) {
        enum upload_stage before = x->up.stage;
        enum step step = advance(x, data, size);

        if (step != STEP_MORE || x->up.stage == before)
            return step;
    }
}

bool upload_broken(struct exchange *x)
{
    struct upload_request *up = &x->up;
    bool keep = x->stage == STAGE_UPLOAD && up->stage == UPLOAD_BODY && up->op.len > 0 &&
                up->checksum.kind == CHECKSUM_NONE;

    active_settle(x->server->active, &up->node);
    x->peer = NULL;
    if (!keep) {
        active_leave(x->server->active, &up->node);
        return false;
    }
    up->op.done = on_stored;
    return chunk_store_submit(x->server->store, &up->op, true);
}

void upload_release(struct exchange *x)
{
    struct upload_request *up = &x->up;

    active_leave(x->server->active, &up->node);
    block_give(x->server->blocks, &up->op.blocks);
    block_give(x->server->blocks, &up->reserved);
    digest_free(up->digest);
    up->digest = NULL;
}

/* What the headers of an upload request ask for. */
#include "server/http/upload_parts.h"

#include <string.h>
#include <strings.h>
#include <sys/random.h>

static bool random_file_id(struct exchange *x, const char **out, struct err *err)
{
    unsigned char bytes[16];
    char *text = arena_alloc(x->mem, 2 * sizeof bytes + 1);

    if (!text || getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_set(err, ERR_INTERNAL, "no random bytes for a file id");
    to_hex(bytes, sizeof bytes, text);
    *out = text;
    return true;
}

static bool plain_text(const struct tus_pair *pair, size_t max)
{
    if (pair->len == 0 || pair->len > max)
        return false;
    for (size_t i = 0; i < pair->len; i++)
        if (pair->value[i] < ' ' || pair->value[i] >= 0x7f)
            return false;
    return true;
}

static bool read_kind(const struct tus_metadata *m, enum upload_kind *out, struct err *err)
{
    const struct tus_pair *kind = tus_metadata_find(m, "kind");

    *out = KIND_SESSION;
    if (!kind || (strlen((const char *)kind->value) == kind->len &&
                  upload_kind_parse((const char *)kind->value, out)))
        return true;
    return err_field(err, ERR_INVALID, "Upload-Metadata",
                     "kind must be session, symbols or mapping");
}

static bool read_file_id(struct exchange *x, const struct tus_metadata *m, const char **out,
                         struct err *err)
{
    const struct tus_pair *id = tus_metadata_find(m, "fileid");

    if (!id)
        return random_file_id(x, out, err);
    if (!plain_text(id, TUS_FILE_ID_MAX))
        return err_field(err, ERR_INVALID, "Upload-Metadata",
                         "fileid must be 1 to %d visible ASCII characters", TUS_FILE_ID_MAX);
    *out = (const char *)id->value;
    return true;
}

/* The install id goes no further than this: stored and echoed is its keyed hash. */
static bool read_install(struct exchange *x, const struct tus_metadata *m, struct new_upload *u,
                         struct err *err)
{
    const struct tus_pair *install = tus_metadata_find(m, "install");
    char text[2 * SHA256_BYTES + 1] = "";

    if (install && (install->len == 0 || install->len > TUS_INSTALL_MAX))
        return err_field(err, ERR_INVALID, "Upload-Metadata", "install must be 1 to %d bytes",
                         TUS_INSTALL_MAX);
    u->has_install = install != NULL;
    if (install) {
        secret_install_hash(x->server->config.context->secret, x->who.app, install->value,
                            install->len, u->install_hash);
        to_hex(u->install_hash, sizeof u->install_hash, text);
    }
    u->metadata = tus_metadata_format(m, text, x->mem);
    return u->metadata || err_full(err, "a request");
}

static bool read_metadata(struct exchange *x, struct new_upload *u, struct err *err)
{
    struct tus_metadata m;

    u->app = x->who.app;
    return tus_metadata_parse(headers_find(&x->headers, "Upload-Metadata"), x->mem, &m, err) &&
           read_kind(&m, &u->kind, err) && read_file_id(x, &m, &u->file_id, err) &&
           read_install(x, &m, u, err);
}

static bool read_length(struct exchange *x, int64_t *out, struct err *err)
{
    const char *defer = headers_find(&x->headers, "Upload-Defer-Length");
    const char *length = headers_find(&x->headers, "Upload-Length");

    *out = LENGTH_UNKNOWN;
    if (defer && strcmp(defer, "1") != 0)
        return err_field(err, ERR_INVALID, "Upload-Defer-Length", "must be 1");
    if (!defer == !length)
        return err_field(err, ERR_INVALID, "Upload-Length",
                         "send either Upload-Length or Upload-Defer-Length");
    return tus_number_parse("Upload-Length", length, out, err);
}

static bool check_type(struct exchange *x, enum step *refused)
{
    const char *type = headers_find(&x->headers, "Content-Type");

    if (type && strcasecmp(type, "application/offset+octet-stream") == 0)
        return true;
    *refused = upload_refuse(x, REFUSED_bad_request, 415, "media_type", "Content-Type",
                             "Bytes of an upload are application/offset+octet-stream.");
    return false;
}

static bool fits_creation(struct exchange *x, struct err *err)
{
    const struct new_upload *u = &x->up.op.upload;
    int64_t limit = chunk_limit_of(&x->server->config.uploads, u->kind);

    if (u->length > limit)
        return err_field(err, ERR_TOO_BIG, "Upload-Length", "an upload of this kind may have %lld",
                         (long long)limit);
    if (u->length != LENGTH_UNKNOWN && x->body.bytes > (uint64_t)u->length)
        return err_field(err, ERR_TOO_BIG, "Content-Length", "the body is past the Upload-Length");
    if (x->body.bytes > (uint64_t)limit)
        return err_field(err, ERR_TOO_BIG, "Content-Length", "an upload of this kind may have %lld",
                         (long long)limit);
    return true;
}

static bool read_checksum(struct exchange *x, struct err *err)
{
    const char *checksum = headers_find(&x->headers, "Upload-Checksum");
    struct upload_request *up = &x->up;

    if (!checksum)
        return true;
    if (!tus_checksum_parse(checksum, &up->checksum, err))
        return false;
    if (x->body.bytes > CHECKED_MAX)
        return err_field(err, ERR_TOO_BIG, "Upload-Checksum",
                         "a chunk with a checksum may have %u bytes", CHECKED_MAX);
    return true;
}

/* Symbols decide what every stack says, and ingest keys are in every copy of the game. */
static bool may_create(const struct exchange *x, enum upload_kind kind, struct err *err)
{
    return kind == KIND_SESSION || x->who.role == ROLE_ADMIN ||
           err_set(err, ERR_FORBIDDEN, "symbols and mappings need an admin key");
}

static enum step parse_creation(struct exchange *x)
{
    struct upload_request *up = &x->up;
    struct new_upload *u = &up->op.upload;
    struct err err = {0};
    unsigned char id[16];
    enum step refused;

    up->concat = headers_find(&x->headers, "Upload-Concat");
    if (!tus_concat_parse(up->concat, UPLOADS_PATH "/", x->mem, &up->partials, &err) ||
        !read_metadata(x, u, &err) || !may_create(x, u->kind, &err))
        return exchange_refuse_err(x, &err);
    u->concat = up->partials.concat;
    secret_upload_id(x->server->config.context->secret, x->who.app, u->file_id,
                     u->concat == CONCAT_PARTIAL, id);
    up->op.key = upload_key_of(x->who.app, id);
    if (u->concat == CONCAT_FINAL) {
        if (upload_has_body(x) || headers_find(&x->headers, "Upload-Length") ||
            headers_find(&x->headers, "Upload-Defer-Length"))
            return upload_bad(x, "Upload-Concat", "A final upload has neither length nor body.");
        return exchange_call(x, upload_final);
    }
    if (!read_length(x, &u->length, &err) || !read_checksum(x, &err) || !fits_creation(x, &err))
        return exchange_refuse_err(x, &err);
    if (upload_has_body(x) && !check_type(x, &refused))
        return refused;
    up->op.create = true;
    up->piece_max = u->kind == KIND_SESSION ? SESSION_PIECE : OTHER_PIECE;
    up->stage = UPLOAD_ENTER;
    return STEP_MORE;
}

static bool read_id(struct exchange *x)
{
    unsigned char id[16];

    if (!x->match.param[0] || !from_hex(x->match.param[0], sizeof id, id))
        return false;
    x->up.op.key = upload_key_of(x->who.app, id);
    return true;
}

static enum step parse_patch(struct exchange *x)
{
    struct upload_request *up = &x->up;
    const char *offset = headers_find(&x->headers, "Upload-Offset");
    struct err err = {0};
    enum step refused;

    if (!read_id(x))
        return upload_unknown(x);
    if (!check_type(x, &refused))
        return refused;
    if (!offset)
        return upload_bad(x, "Upload-Offset", "The header is missing.");
    up->op.length = LENGTH_UNKNOWN;
    if (!tus_number_parse("Upload-Offset", offset, &up->op.at, &err) ||
        !tus_number_parse("Upload-Length", headers_find(&x->headers, "Upload-Length"),
                          &up->op.length, &err) ||
        !read_checksum(x, &err))
        return exchange_refuse_err(x, &err);
    up->piece_max = SESSION_PIECE; /* until the kind is known */
    up->stage = UPLOAD_ENTER;
    return STEP_MORE;
}

enum step upload_parse(struct exchange *x)
{
    struct upload_request *up = &x->up;
    struct http_server *s = x->server;

    up->creates = strcmp(x->match.route->method, "POST") == 0;
    if (x->flow == FLOW_UPLOAD_CALL) {
        if (upload_has_body(x))
            return upload_bad(x, "Content-Length", "This method takes no body.");
        if (!read_id(x))
            return upload_unknown(x);
        up->stage = UPLOAD_ENTER;
        return STEP_MORE;
    }
    if (upload_has_body(x) && !block_roomy(s->blocks))
        return upload_refuse(x, REFUSED_no_buffers, 503, "busy", NULL,
                             "No memory for bodies is free.");
    if (!chunk_store_roomy(s->store))
        return upload_refuse(x, REFUSED_commit_queue_full, 503, "busy", NULL,
                             "Too many uploads wait to be stored.");
    return up->creates ? parse_creation(x) : parse_patch(x);
}

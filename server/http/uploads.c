#include "server/http/exchange.h"

#include "server/http/server_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define UPLOADS_PATH "/v1/uploads"
#define SESSION_PIECE (256u * 1024)
#define OTHER_PIECE (1024u * 1024)
#define CHECKED_MAX (1024u * 1024) /* a chunk with a checksum is held whole before it counts */

bool is_upload_path(const char *path)
{
    size_t n = sizeof UPLOADS_PATH - 1;

    return strncmp(path, UPLOADS_PATH, n) == 0 && (!path[n] || path[n] == '/');
}

static struct exchange *exchange_of(struct upload_request *up)
{
    return (struct exchange *)((char *)up - offsetof(struct exchange, up));
}

static enum step refuse(struct exchange *x, enum refusal why, int status, const char *code,
                        const char *field, const char *detail)
{
    return exchange_refuse(
        x, why,
        &(struct problem){.status = status, .code = code, .field = field, .detail = detail});
}

static enum step bad(struct exchange *x, const char *field, const char *detail)
{
    return refuse(x, REFUSED_bad_request, 400, "invalid", field, detail);
}

/* What the headers ask for ------------------------------------------------------------------------
 */

static bool has_body(const struct exchange *x)
{
    return x->body.chunked || x->body.bytes > 0;
}

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
    return u->metadata || err_set(err, ERR_TOO_BIG, "out of memory for the request");
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
    *refused = refuse(x, REFUSED_bad_request, 415, "media_type", "Content-Type",
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

bool upload_final(struct req *r, struct err *err);

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
        if (has_body(x) || headers_find(&x->headers, "Upload-Length") ||
            headers_find(&x->headers, "Upload-Defer-Length"))
            return bad(x, "Upload-Concat", "A final upload has neither length nor body.");
        return exchange_call(x, upload_final);
    }
    if (!read_length(x, &u->length, &err) || !read_checksum(x, &err) || !fits_creation(x, &err))
        return exchange_refuse_err(x, &err);
    if (has_body(x) && !check_type(x, &refused))
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

static enum step no_such_upload(struct exchange *x)
{
    return refuse(x, REFUSED_N, 404, "not_found", NULL, "There is no such upload.");
}

static enum step parse_patch(struct exchange *x)
{
    struct upload_request *up = &x->up;
    const char *offset = headers_find(&x->headers, "Upload-Offset");
    struct err err = {0};
    enum step refused;

    if (!read_id(x))
        return no_such_upload(x);
    if (!check_type(x, &refused))
        return refused;
    if (!offset)
        return bad(x, "Upload-Offset", "The header is missing.");
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

static enum step parse(struct exchange *x)
{
    struct upload_request *up = &x->up;
    struct http_server *s = x->server;

    up->creates = strcmp(x->match.route->method, "POST") == 0;
    if (x->flow == FLOW_UPLOAD_CALL) {
        if (has_body(x))
            return bad(x, "Content-Length", "This method takes no body.");
        if (!read_id(x))
            return no_such_upload(x);
        up->stage = UPLOAD_ENTER;
        return STEP_MORE;
    }
    if (has_body(x) && !block_roomy(s->blocks))
        return refuse(x, REFUSED_no_buffers, 503, "busy", NULL, "No memory for bodies is free.");
    if (!chunk_store_roomy(s->store))
        return refuse(x, REFUSED_commit_queue_full, 503, "busy", NULL,
                      "Too many uploads wait to be stored.");
    return up->creates ? parse_creation(x) : parse_patch(x);
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
    refuse(x, REFUSED_commit_queue_full, 503, "busy", NULL, "Too many uploads wait to be stored.");
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
                return refuse(x, REFUSED_too_big, 413, "too_big", "Upload-Checksum",
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
        return refuse(x, REFUSED_bad_request, STATUS_CHECKSUM_MISMATCH, "checksum_mismatch",
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
            return refuse(x, REFUSED_no_buffers, 503, "busy", NULL, "Out of memory.");
    }
    up->reserved = n ? block_take_n(x->server->blocks, n) : NULL;
    if (n && !up->reserved)
        return refuse(x, REFUSED_no_buffers, 503, "busy", NULL, "No memory for bodies is free.");
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

static void put_number(struct exchange *x, unsigned slot, const char *name, int64_t v)
{
    snprintf(x->value[slot], sizeof x->value[slot], "%" PRId64, v);
    reply_put(&x->reply, name, x->value[slot]);
}

static void put_expiry(struct exchange *x, unsigned slot, int64_t unix_s)
{
    http_date(unix_s, x->value[slot]);
    reply_put(&x->reply, "Upload-Expires", x->value[slot]);
}

static void put_location(struct exchange *x)
{
    const char *base = x->server->config.context->public_url;
    const char *host = headers_find(&x->headers, "Host");
    char id[33];

    to_hex(x->up.op.key.id, sizeof x->up.op.key.id, id);
    snprintf(x->location, sizeof x->location, "%s%s" UPLOADS_PATH "/%s", *base ? base : "http://",
             *base ? "" : host, id);
    reply_put(&x->reply, "Location", x->location);
}

static enum step answer_ok(struct exchange *x)
{
    const struct chunk_answer *a = &x->up.op.answer;

    x->reply.status = x->up.creates ? 201 : 204;
    if (x->up.creates)
        put_location(x);
    put_number(x, 0, "Upload-Offset", a->at);
    if (!a->complete)
        put_expiry(x, 1, a->expires_s);
    x->stage = STAGE_REPLY;
    return STEP_REPLY;
}

static enum step answer_failure(struct exchange *x)
{
    const struct chunk_answer *a = &x->up.op.answer;

    switch (a->outcome) {
    case CHUNK_NOT_FOUND:
        return no_such_upload(x);
    case CHUNK_GONE:
        return refuse(x, REFUSED_N, 410, "gone", NULL, "The upload expired or was deleted.");
    case CHUNK_OFFSET:
        put_number(x, 0, "Upload-Offset", a->at);
        return refuse(x, REFUSED_N, 409, "offset_mismatch", "Upload-Offset",
                      "The upload stands at another offset.");
    case CHUNK_TOO_LONG:
        return refuse(x, REFUSED_too_big, 413, "too_big", "Upload-Length",
                      "The bytes go past the length of the upload.");
    case CHUNK_FINAL:
        return refuse(x, REFUSED_forbidden, 403, "final", NULL,
                      "A concatenated upload takes no bytes.");
    case CHUNK_LENGTH_FIXED:
        return bad(x, "Upload-Length", "The upload has another length or is past this one.");
    case CHUNK_OTHER_FILE:
        return refuse(x, REFUSED_N, 409, "file_id_used", "Upload-Metadata",
                      "The file id was used for a file of another kind or length.");
    case CHUNK_POISON:
        return refuse(x, REFUSED_database, 500, "internal", NULL,
                      "The server cannot store this; its log says why.");
    default:
        return refuse(x, REFUSED_database, 503, "database", NULL,
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
        return refuse(x, REFUSED_superseded, 423, "superseded", NULL,
                      "A newer request for the same upload came.");
    if (up->waited)
        return entered(x);
    up->node.key = up->op.key;
    up->node.sends = has_body(x);
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
        return parse(x);
    case UPLOAD_ENTER:
        return enter(x);
    case UPLOAD_PROBE:
        return begin_body(x);
    case UPLOAD_ANSWER:
        return answer(x);
    case UPLOAD_BODY:
        if (*size)
            return receive(x, data, size);
        if (has_body(x) && !x->body_begun) {
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

/* Handlers ----------------------------------------------------------------------------------------
 */

bool upload_options(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);
    const struct chunk_limits *l = &x->server->config.uploads;

    (void)err;
    reply_put(r->reply, "Tus-Version", TUS_VERSION);
    reply_put(r->reply, "Tus-Extension", TUS_EXTENSIONS);
    reply_put(r->reply, "Tus-Checksum-Algorithm", TUS_CHECKSUMS);
    put_number(x, 0, "Tus-Max-Size",
               l->session_max > l->symbols_max ? l->session_max : l->symbols_max);
    return reply_empty(r, 204);
}

/* The store speaks of its queries. */
static bool not_there(struct err *err)
{
    if (err->code == ERR_NOT_FOUND)
        err_set(err, ERR_NOT_FOUND, "There is no such upload.");
    return false;
}

bool upload_head(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);
    struct upload_info info = {0};

    if (!chunk_store_stat(r->db, &x->up.op.key, r->mem, &info, err))
        return not_there(err);
    if (info.expired || strcmp(info.state, "deleted") == 0)
        return err_set(err, ERR_GONE, "the upload expired or was deleted");
    put_number(x, 0, "Upload-Offset", info.at);
    if (info.length == LENGTH_UNKNOWN)
        reply_put(r->reply, "Upload-Defer-Length", "1");
    else
        put_number(x, 1, "Upload-Length", info.length);
    if (*info.metadata)
        reply_put(r->reply, "Upload-Metadata", info.metadata);
    if (*info.concat)
        reply_put(r->reply, "Upload-Concat", info.concat);
    if (strcmp(info.state, "complete") != 0)
        put_expiry(x, 2, info.expires_s);
    return reply_empty(r, 200);
}

bool upload_delete(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);

    if (!chunk_store_remove(r->db, &x->up.op.key, r->mem, err))
        return not_there(err);
    return reply_empty(r, 204);
}

/* POST with Upload-Concat: final. */
bool upload_final(struct req *r, struct err *err)
{
    struct exchange *x = exchange_of_req(r);
    struct upload_request *up = &x->up;

    if (!chunk_store_join(r->db, &x->server->config.uploads, &up->op.key, &up->op.upload,
                          &up->partials, up->concat, r->mem, err))
        return false;
    if (r->ctx->jobs_added)
        r->ctx->jobs_added(r->ctx->jobs_user);
    put_location(x);
    return reply_empty(r, 201);
}

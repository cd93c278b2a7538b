#include "server/http/upload_state.h"

#include <string.h>

static const char *const life_names[] = {"open", "complete", "deleted"};

const char *upload_life_name(enum upload_life life)
{
    return life_names[life];
}

bool upload_life_parse(const char *name, enum upload_life *out)
{
    for (size_t i = 0; i < sizeof life_names / sizeof *life_names; i++)
        if (strcmp(name, life_names[i]) == 0) {
            *out = (enum upload_life)i;
            return true;
        }
    return false;
}

int64_t chunk_limit_of(const struct chunk_limits *l, enum upload_kind kind)
{
    return kind == KIND_SESSION ? l->session_max : l->symbols_max;
}

struct upload_key upload_key_of(int64_t app, const unsigned char id[16])
{
    struct upload_key key = {.shard = app * 64 + (id[15] & 63)};

    memcpy(key.id, id, sizeof key.id);
    return key;
}

int upload_key_compare(const struct upload_key *a, const struct upload_key *b)
{
    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    return memcmp(a->id, b->id, sizeof a->id);
}

static void begin(struct upload_state *s, const struct chunk_op *op)
{
    s->exists = s->changed = s->renewed = true;
    s->expired = s->completed = false;
    s->kind = op->upload.kind;
    s->concat = op->upload.concat;
    s->app = op->upload.app;
    s->life = UPLOAD_OPEN;
    s->at = 0;
    s->length = op->upload.length;
}

static bool same_file(const struct upload_state *s, const struct new_upload *u)
{
    return s->kind == u->kind && s->concat == u->concat &&
           (s->length == u->length || s->length == LENGTH_UNKNOWN || u->length == LENGTH_UNKNOWN);
}

/* A file that was given up or deleted may come again; one that expired goes on where it was. */
static enum chunk_outcome create(struct upload_state *s, struct chunk_op *op)
{
    if (!s->exists || s->life == UPLOAD_DELETED) {
        begin(s, op);
        op->answer.created = true;
        return CHUNK_OK;
    }
    if (!same_file(s, &op->upload))
        return CHUNK_OTHER_FILE;
    if (s->life == UPLOAD_OPEN && s->length == LENGTH_UNKNOWN &&
        op->upload.length != LENGTH_UNKNOWN) {
        if (op->upload.length < s->at)
            return CHUNK_OTHER_FILE;
        s->length = op->upload.length;
        s->changed = true;
    }
    if (s->expired) {
        s->expired = false;
        s->changed = s->renewed = true;
    }
    return CHUNK_OK;
}

static enum chunk_outcome find(const struct upload_state *s)
{
    if (!s->exists)
        return CHUNK_NOT_FOUND;
    if (s->life == UPLOAD_DELETED || s->expired)
        return CHUNK_GONE;
    return s->concat == CONCAT_FINAL ? CHUNK_FINAL : CHUNK_OK;
}

static enum chunk_outcome set_length(struct upload_state *s, int64_t length,
                                     const struct chunk_limits *limits)
{
    if (length == LENGTH_UNKNOWN || length == s->length)
        return CHUNK_OK;
    if (s->length != LENGTH_UNKNOWN || length < s->at)
        return CHUNK_LENGTH_FIXED;
    if (length > chunk_limit_of(limits, s->kind))
        return CHUNK_TOO_LONG;
    s->length = length;
    s->changed = true;
    return CHUNK_OK;
}

static enum chunk_outcome append(struct upload_state *s, const struct chunk_limits *limits,
                                 struct chunk_op *op)
{
    int64_t end = s->length != LENGTH_UNKNOWN ? s->length : chunk_limit_of(limits, s->kind);
    int64_t size = (int64_t)op->len > op->expect ? (int64_t)op->len : op->expect;

    if (op->at != s->at)
        return CHUNK_OFFSET;
    if (size > end - s->at)
        return CHUNK_TOO_LONG;
    op->accepted = op->len > 0;
    s->changed |= op->accepted;
    s->at += (int64_t)op->len;
    return CHUNK_OK;
}

/* The chunk of a creation counts only if nothing came before; else the answer tells the offset. */
static enum chunk_outcome decide(struct upload_state *s, const struct chunk_limits *limits,
                                 struct chunk_op *op)
{
    enum chunk_outcome outcome = op->create ? create(s, op) : find(s);

    if (outcome != CHUNK_OK || (op->create && s->at > 0))
        return outcome;
    if (!op->create)
        outcome = set_length(s, op->length, limits);
    return outcome == CHUNK_OK ? append(s, limits, op) : outcome;
}

void upload_apply(struct upload_state *s, const struct chunk_limits *limits, struct chunk_op *op)
{
    struct upload_state before = *s;

    memset(&op->answer, 0, sizeof op->answer);
    op->accepted = false;
    op->answer.outcome = decide(s, limits, op);
    if (op->answer.outcome != CHUNK_OK) {
        *s = before; /* what is refused changes nothing: neither length nor existence */
        op->answer.created = false;
    }
    if (s->exists && s->life == UPLOAD_OPEN && s->length == s->at) {
        s->life = UPLOAD_COMPLETE;
        s->completed = s->changed = true;
    }
    op->answer.complete = s->life == UPLOAD_COMPLETE;
    op->answer.at = s->at;
    op->answer.length = s->length;
    op->answer.kind = s->kind;
    op->answer.expires_s = s->expires_s;
}

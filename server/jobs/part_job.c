/* 'part': an uploaded file becomes part of its session, and the session is analysed anew. */
#include "base/digest.h"
#include "server/jobs/job_run.h"
#include "server/jobs/session_update.h"

#include <string.h>

#define MAX_PART_NUMBER 1000000

/* Why an upload as a whole is not in its session. */
static const char *const upload_reasons[] = {
    "undecodable", "past_limit", "no_session_id", "part_number", "wrong_kind", "too_late",
};
static const char *const part_reasons[] = {"truncated", "damaged"};
#define COUNT(a) (sizeof(a) / sizeof *(a))

struct upload {
    int64_t app_id, day, size, received_us, at, crc32c;
    const char *kind, *state;
    bool whole, refused;
    struct bytes install_hash, bytes;
};
static const struct db_col upload_cols[] = {
    DB_COL(upload, app_id),      DB_COL(upload, day),   DB_COL(upload, size),
    DB_COL(upload, received_us), DB_COL(upload, at),    DB_COL(upload, crc32c),
    DB_COL(upload, kind),        DB_COL(upload, state), DB_COL(upload, whole),
    DB_COL(upload, refused),     DB_COL(upload, bytes), DB_COL(upload, install_hash),
};
static const struct db_map upload_map = DB_MAP(upload, upload_cols);

/* The file of this job, on its way into the session. */
struct arrival {
    const struct upload *upload;
    struct stored_part part;
    unsigned char sha256[SHA256_BYTES], session_id[SESSION_ID_BYTES];
    bool truncated, damaged;
    struct stack_rows stacks;
    const char *refused, *detail; /* reason of upload_reasons, or NULL */
};

static bool refuse(struct arrival *a, const char *reason, const char *detail, struct arena *mem)
{
    a->refused = reason;
    a->detail = arena_dup(mem, detail, strlen(detail));
    return true;
}

static bool join_upload(const struct db_rows *rows, struct arena *mem, struct bytes *out,
                        struct err *err)
{
    const struct upload *u = rows->at;
    struct chunk_row *chunk = arena_array(mem, rows->n, sizeof *chunk);
    size_t n = 0;

    if (!chunk)
        return err_set(err, ERR_TOO_BIG, "the upload has too many chunks");
    for (size_t i = 0; i < rows->n; i++)
        if (u[i].bytes.at)
            chunk[n++] =
                (struct chunk_row){.at = u[i].at, .crc32c = u[i].crc32c, .bytes = u[i].bytes};
    return chunks_join(chunk, n, u->size, mem, out, err);
}

/* Bytes are missing: retention took them before this job ran, or it is a fault. */
static bool gone_with_its_day(struct job_run *run, struct arrival *a, struct err *err)
{
    struct err other;
    bool kept;

    if (!part_day_kept(run->db, run->job.day, run->mem, &kept, &other) || kept)
        return false;
    return refuse(a, "too_late", err->text, run->mem);
}

/* a->upload stays NULL if there is nothing to analyse: deleted since. */
static bool read_upload(struct job_run *run, struct arrival *a, struct err *err)
{
    const struct job *job = &run->job;
    struct db_rows rows;

    if (!db_all(run->db, Q_PART_UPLOAD,
                DB_ARGS(db_i64(job->shard), db_uuid(job->ref.at), db_i64(job->day),
                        db_texts(upload_reasons, COUNT(upload_reasons))),
                &upload_map, run->mem, &rows, err))
        return false;

    const struct upload *u = rows.at;

    if (!rows.n || strcmp(u->state, "deleted") == 0)
        return true;
    a->upload = u;
    if (u->app_id != job->app_id || u->day != job->day || !u->whole)
        return err_set(err, ERR_INTERNAL, "the job does not fit its upload");
    if (strcmp(u->kind, "session") != 0)
        return refuse(a, "wrong_kind", u->kind, run->mem);
    if (!join_upload(&rows, run->mem, &a->part.file, err))
        return gone_with_its_day(run, a, err);
    sha256(a->part.file.at, a->part.file.len, a->sha256);
    a->part.upload_shard = job->shard;
    a->part.upload_id = job->ref;
    a->part.upload_day = u->day;
    a->part.size = u->size;
    a->part.received_us = u->received_us;
    a->part.install_hash = u->install_hash;
    a->part.sha256 = (struct bytes){a->sha256, SHA256_BYTES};
    a->part.kept = true;
    return true;
}

static bool check_header(struct arrival *a, const struct part_header *h, struct arena *mem)
{
    static const unsigned char none[SESSION_ID_BYTES];

    if (memcmp(h->session_id, none, sizeof none) == 0)
        return refuse(a, "no_session_id", "", mem);
    if (h->part > MAX_PART_NUMBER)
        return refuse(a, "part_number", "above 1000000", mem);
    a->part.part = h->part;
    memcpy(a->session_id, h->session_id, sizeof a->session_id);
    return true;
}

static bool decode(struct job_run *run, struct arrival *a, struct err *err)
{
    struct part *part = arena_alloc(run->work, sizeof *part);
    struct err why = {0};

    if (!part)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (!part_decode(a->part.file.at, a->part.file.len, &part_limits_default, run->work, part,
                     &why)) {
        if (arena_full(run->work) || why.code == ERR_TOO_BIG)
            return refuse(a, "past_limit", why.text, run->mem);
        if (why.code == ERR_INVALID)
            return refuse(a, "undecodable", why.text, run->mem);
        *err = why;
        return false;
    }
    a->part.decoded = part;
    a->truncated = part->truncated;
    a->damaged = part->damaged;
    return check_header(a, &part->header, run->mem) &&
           stack_rows_of(part, run->mem, &a->stacks, err);
}

/* What holds of the upload, whatever it does to its session. */
static bool note_upload(struct job_run *run, const struct arrival *a, struct err *err)
{
    const unsigned char *ref = run->job.ref.at;
    int64_t app = run->job.app_id, day = run->job.day;
    const struct refusal refused = {a->refused, a->detail, 1};
    struct refusal cut[2];
    size_t n = 0;

    if (a->truncated)
        cut[n++] = (struct refusal){.reason = "truncated", .count = 1};
    if (a->damaged)
        cut[n++] = (struct refusal){.reason = "damaged", .count = 1};
    if ((a->refused || a->upload->refused) &&
        !quarantine_set(run->db, app, "upload", ref, day, upload_reasons, COUNT(upload_reasons),
                        &refused, a->refused ? 1 : 0, err))
        return false;
    return (!n && !a->upload->refused) ||
           quarantine_set(run->db, app, "part", ref, day, part_reasons, COUNT(part_reasons), cut, n,
                          err);
}

/* Of equal files the earliest received counts, whichever was analysed first. */
static bool counts_before(const struct stored_part *a, const struct stored_part *b)
{
    if (a->upload_day != b->upload_day)
        return a->upload_day < b->upload_day;
    if (a->received_us != b->received_us)
        return a->received_us < b->received_us;
    return memcmp(a->upload_id.at, b->upload_id.at, 16) < 0;
}

static struct stored_part *find_equal(const struct stored_parts *parts, const struct stored_part *p)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->at[i].part == p->part &&
            memcmp(parts->at[i].sha256.at, p->sha256.at, SHA256_BYTES) == 0)
            return &parts->at[i];
    return NULL;
}

/* Puts the file into the session's list. *known: the session has this very file already and was
 * analysed by today's rules, so nothing can change. */
static void take_part(struct session_change *c, const struct stored_part *part, bool *known)
{
    struct stored_part *equal = find_equal(&c->parts, part);

    *known = false;
    if (!equal) {
        parts_add(&c->parts, part);
    } else if (counts_before(part, equal)) {
        *equal = *part;
    } else {
        equal->file = part->file;
        equal->decoded = part->decoded;
        *known = c->before.analysis_version == ANALYSIS_VERSION &&
                 c->before.bounds_version == BOUNDS_VERSION;
    }
}

static bool register_part(struct job_run *run, const struct session_change *c,
                          const struct arrival *a, struct err *err)
{
    const struct stored_part *p = &a->part;

    return db_exec(run->db, Q_SESSION_STORE_PART,
                   DB_ARGS(db_i64(c->shard), db_uuid(c->id), db_i64(p->part),
                           db_bytes(p->sha256.at, p->sha256.len), db_i64(c->app),
                           db_i64(p->upload_shard), db_uuid(p->upload_id.at), db_i64(p->upload_day),
                           db_i64(p->size), db_bool(a->truncated), db_bool(a->damaged),
                           db_i64(p->received_us)),
                   err);
}

static bool add_to_session(struct job_run *run, struct arrival *a, struct err *err)
{
    struct session_change c = {0};
    bool known;

    if (!session_open(run, a->session_id, 1, &c, err))
        return false;
    take_part(&c, &a->part, &known);
    if (known)
        return true;
    if (!session_compute(run, &c, err)) {
        /* the file stays, uncounted: what its session was before can no longer be told */
        return err->code == ERR_GONE && refuse(a, "too_late", err->text, run->mem);
    }
    return register_part(run, &c, a, err) && session_store(run->db, &c, &a->stacks, run->mem, err);
}

static bool analyse(struct job_run *run, struct arrival *a, struct err *err)
{
    if (!read_upload(run, a, err))
        return false;
    if (!a->upload)
        return true;
    return (a->refused || decode(run, a, err)) && (a->refused || add_to_session(run, a, err)) &&
           note_upload(run, a, err);
}

static bool run_once(struct job_run *run, bool too_big, const char *detail, enum job_outcome *out,
                     struct err *err)
{
    struct arrival a = {0};
    bool ok = too_big ? read_upload(run, &a, err) && refuse(&a, "past_limit", detail, run->mem) &&
                            (!a.upload || note_upload(run, &a, err))
                      : analyse(run, &a, err);

    if (!ok || !queue_done(run->db, &run->job, err))
        return false;
    *out = a.refused && a.upload ? JOB_REFUSED : JOB_DONE;
    return true;
}

bool part_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct err why;

    if (!db_begin(run->db, err))
        return false;
    if (run_once(run, false, NULL, out, &why))
        return db_commit(run->db, err);
    db_rollback(run->db);
    if (why.code != ERR_TOO_BIG) {
        *err = why;
        return false;
    }
    /* past what a job may hold, found only after the first writes */
    arena_reset(run->mem);
    arena_reset(run->work);
    return db_begin(run->db, err) && run_once(run, true, why.text, out, err) &&
           db_commit(run->db, err);
}

#include "server/jobs/sessions/part_arrival.h"

#include "server/jobs/quarantine.h"

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

bool arrival_refuse(struct arrival *a, const char *reason, const char *detail, struct arena *mem)
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

    if (!part_day_kept(run->db, a->job.day, run->mem, &kept, &other) || kept)
        return false;
    return arrival_refuse(a, "too_late", err->text, run->mem);
}

bool arrival_read(struct job_run *run, struct arrival *a, struct err *err)
{
    const struct job *job = &a->job;
    struct db_rows rows;

    if (!db_all(run->db, Q_PART_UPLOAD,
                DB_ARGS(db_i64(job->shard), db_uuid(job->ref.at), db_i64(job->day),
                        db_texts(upload_reasons, COUNT(upload_reasons))),
                &upload_map, run->mem, &rows, err))
        return false;

    const struct upload *u = rows.at;

    if (!rows.n || strcmp(u->state, "deleted") == 0)
        return true;
    a->there = true;
    a->refused_once = u->refused;
    if (u->app_id != job->app_id || u->day != job->day || !u->whole)
        return err_set(err, ERR_INTERNAL, "the job does not fit its upload");
    if (strcmp(u->kind, "session") != 0)
        return arrival_refuse(a, "wrong_kind", u->kind, run->mem);
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
        return arrival_refuse(a, "no_session_id", "", mem);
    if (h->part > MAX_PART_NUMBER)
        return arrival_refuse(a, "part_number", "above 1000000", mem);
    a->part.part = h->part;
    memcpy(a->session_id, h->session_id, sizeof a->session_id);
    return true;
}

bool arrival_decode(struct job_run *run, struct arrival *a, struct err *err)
{
    struct part *part = arena_alloc(run->work, sizeof *part);
    struct err why = {0};

    if (!part)
        return err_full(err, "decoding the file");
    if (!part_decode(a->part.file.at, a->part.file.len, &part_limits_default, run->work, part,
                     &why)) {
        if (arena_full(run->work) || why.code == ERR_TOO_BIG)
            return arrival_refuse(a, "past_limit", why.text, run->mem);
        if (why.code == ERR_INVALID)
            return arrival_refuse(a, "undecodable", why.text, run->mem);
        *err = why;
        return false;
    }
    a->part.decoded = part;
    a->truncated = part->truncated;
    a->damaged = part->damaged;
    return check_header(a, &part->header, run->mem) &&
           stack_rows_of(part, run->mem, &a->stacks, err);
}

bool arrival_note(struct job_run *run, const struct arrival *a, struct err *err)
{
    const unsigned char *ref = a->job.ref.at;
    int64_t app = a->job.app_id, day = a->job.day;
    const struct refusal refused = {a->refused, a->detail, 1};
    struct refusal cut[2];
    size_t n = 0;

    if (a->truncated)
        cut[n++] = (struct refusal){.reason = "truncated", .count = 1};
    if (a->damaged)
        cut[n++] = (struct refusal){.reason = "damaged", .count = 1};
    if ((a->refused || a->refused_once) &&
        !quarantine_set(run->db, app, "upload", ref, day, upload_reasons, COUNT(upload_reasons),
                        &refused, a->refused ? 1 : 0, err))
        return false;
    return (!n && !a->refused_once) || quarantine_set(run->db, app, "part", ref, day, part_reasons,
                                                      COUNT(part_reasons), cut, n, err);
}

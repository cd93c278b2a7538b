/* 'symbols', 'mapping': an uploaded file becomes look-up tables. Its bytes go to a temporary file,
 * a child process reads them (index_child.h), and what it made is stored in one transaction, which
 * ends the job. Nothing is held in memory but a piece. */
#include "base/digest.h"
#include "base/utf8.h"
#include "server/jobs/job_run.h"
#include "server/jobs/quarantine.h"
#include "server/jobs/symbols/index_child.h"
#include "server/jobs/symbols/index_file.h"
#include "server/jobs/symbols/symcache_files.h"
#include "server/jobs/symbols/symcache_pieces.h"
#include "symbols/retrace/mapping_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#define CHUNK_ROWS 512 /* at a time; rows are about 8 KB */
#define EXTEND_EVERY_ROWS (64 * CHUNK_ROWS)
#define RESULT_BYTES ((size_t)1 << 20)
#define DETAIL_BYTES 1000
#define NAME_BYTES 200

/* Every reason an upload of symbols may have in quarantine. */
static const char *const symbol_reasons[] = {
#define X(name, help) #name,
    INDEX_REASONS(X)
#undef X
        "index_time",
    "index_memory",
    "index_crash",
    "conflict",
    "too_late",
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

struct symbol_upload {
    int64_t app_id, day, size;
    const char *kind, *state;
    struct bytes file_name;
    bool whole;
};
static const struct db_col upload_cols[] = {
    DB_COL(symbol_upload, app_id), DB_COL(symbol_upload, day),   DB_COL(symbol_upload, size),
    DB_COL(symbol_upload, kind),   DB_COL(symbol_upload, state), DB_COL(symbol_upload, file_name),
    DB_COL(symbol_upload, whole),
};
static const struct db_map upload_map = DB_MAP(symbol_upload, upload_cols);

struct made_table {
    unsigned n;
    unsigned char source_sha256[SHA256_BYTES];
    int64_t source_bytes;
    const char *name;
    bool revealed; /* the names that bitcode hid are in it */
};

struct symbol_work {
    struct job_run *run;
    struct symbol_upload upload;
    const char *name;          /* of the file, as the uploader says */
    const char *folder, *file; /* the workspace, and the uploaded bytes in it */
    /* what the child says */
    bool has_file;
    unsigned char sha256[SHA256_BYTES];
    int64_t size;
    struct made_table *tables;
    size_t n_tables;
    struct refusal refused[COUNT(symbol_reasons)]; /* one a reason */
    size_t n_refused;
    /* what became of it */
    int64_t stored, known;
    const char *note; /* of what is known, or NULL */
};

/* One more thing of this upload that is not taken; the first detail of a reason stays. */
static void refuse(struct symbol_work *w, const char *reason, const char *detail)
{
    for (size_t i = 0; i < w->n_refused; i++)
        if (strcmp(w->refused[i].reason, reason) == 0) {
            w->refused[i].count++;
            return;
        }
    for (size_t i = 0; i < COUNT(symbol_reasons); i++)
        if (strcmp(symbol_reasons[i], reason) == 0)
            w->refused[w->n_refused++] = (struct refusal){
                symbol_reasons[i], arena_dup(w->run->mem, detail, strlen(detail)), 1};
}

/* Bytes ------------------------------------------------------------------------------------------
 */

struct symbol_chunk {
    int64_t at, crc32c;
    struct bytes bytes;
};
static const struct db_col chunk_cols[] = {
    DB_COL(symbol_chunk, at),
    DB_COL(symbol_chunk, crc32c),
    DB_COL(symbol_chunk, bytes),
};
static const struct db_map chunk_map = DB_MAP(symbol_chunk, chunk_cols);

static bool write_chunks(const struct db_rows *rows, FILE *to, int64_t *at, struct err *err)
{
    const struct symbol_chunk *c = rows->at;

    for (size_t i = 0; i < rows->n; i++) {
        if (c[i].at != *at || crc32c(0, c[i].bytes.at, c[i].bytes.len) != (uint32_t)c[i].crc32c)
            return err_set(err, ERR_INTERNAL, "the stored bytes are damaged at %lld",
                           (long long)*at);
        if (fwrite(c[i].bytes.at, 1, c[i].bytes.len, to) != c[i].bytes.len)
            return err_set(err, ERR_INTERNAL, "cannot write the file: %s", strerror(errno));
        *at += (int64_t)c[i].bytes.len;
    }
    return true;
}

static bool copy_bytes(struct symbol_work *w, FILE *to, int64_t *at, struct err *err)
{
    struct job_run *run = w->run;
    const struct job *job = &run->job;
    struct db_rows rows;

    for (int64_t n = 0; *at < w->upload.size; n += CHUNK_ROWS) {
        arena_reset(run->work);
        if (!db_all(run->db, Q_SYMBOL_CHUNKS,
                    DB_ARGS(db_i64(job->shard), db_uuid(job->ref.at), db_i64(job->day), db_i64(*at),
                            db_i64(CHUNK_ROWS)),
                    &chunk_map, run->work, &rows, err) ||
            !write_chunks(&rows, to, at, err))
            return false;
        if (!rows.n)
            return true;
        if (n % EXTEND_EVERY_ROWS == EXTEND_EVERY_ROWS - CHUNK_ROWS && !job_extend(run, err))
            return false;
    }
    return true;
}

/* False: a fault. The bytes may be gone with their day: then the upload is refused. */
static bool fetch(struct symbol_work *w, struct err *err)
{
    char path[4096];
    int64_t at = 0;
    FILE *to;
    bool ok;

    snprintf(path, sizeof path, "%s/upload", w->folder);
    w->file = arena_dup(w->run->mem, path, strlen(path));
    to = w->file ? fopen(path, "wbe") : NULL;
    if (!to)
        return err_set(err, ERR_INTERNAL, "cannot write %.160s: %s", path, strerror(errno));
    ok = copy_bytes(w, to, &at, err);
    if (fclose(to) != 0 && ok)
        ok = err_set(err, ERR_INTERNAL, "cannot write the file: %s", strerror(errno));
    if (ok && at != w->upload.size)
        refuse(w, "too_late", "its bytes are gone");
    return ok;
}

/* The child's result
 * ------------------------------------------------------------------------------- */

/* In place: a name from outside as text that can be stored and shown. */
static void clean_text(char *text)
{
    utf8_clean(text, NAME_BYTES);
    utf8_tame(text, false);
}

static bool take_table(struct symbol_work *w, char *const *word, size_t n)
{
    struct made_table *t = &w->tables[w->n_tables];

    if (n != 6 || w->n_tables == INDEX_TABLES || strlen(word[2]) != 2 * SHA256_BYTES ||
        !from_hex(word[2], SHA256_BYTES, t->source_sha256))
        return false;
    t->n = (unsigned)strtoul(word[1], NULL, 10);
    t->source_bytes = strtoll(word[3], NULL, 10);
    clean_text(word[4]);
    t->name = word[4];
    t->revealed = strcmp(word[5], "revealed") == 0;
    w->n_tables++;
    return true;
}

static bool take_line(struct symbol_work *w, char *line)
{
    char *word[8];
    size_t n = 0;

    for (char *at = line; at && n < COUNT(word); n++) {
        word[n] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    if (strcmp(word[0], "file") == 0 && n == 3) {
        w->size = strtoll(word[2], NULL, 10);
        w->has_file =
            strlen(word[1]) == 2 * SHA256_BYTES && from_hex(word[1], SHA256_BYTES, w->sha256);
        return w->has_file;
    }
    if (strcmp(word[0], "refused") == 0 && n == 3) {
        clean_text(word[2]);
        refuse(w, word[1], word[2]);
        return true;
    }
    return strcmp(word[0], "table") == 0 && take_table(w, word, n);
}

/* The child read hostile bytes: what it says is checked as if it were one of them. */
static bool read_result(struct symbol_work *w, struct err *err)
{
    char path[4096], *text = arena_alloc(w->run->mem, RESULT_BYTES + 1);
    FILE *f;
    size_t n = 0;
    bool ok = true;

    w->tables = arena_array(w->run->mem, INDEX_TABLES, sizeof *w->tables);
    snprintf(path, sizeof path, "%s/" INDEX_RESULT, w->folder);
    f = text && w->tables ? fopen(path, "rbe") : NULL;
    if (f) {
        n = fread(text, 1, RESULT_BYTES, f);
        fclose(f);
    }
    for (char *line = text, *end; ok && n && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        ok = strcmp(line, "end") == 0 || take_line(w, line);
    }
    return (n && ok) || err_set(err, ERR_INTERNAL, "the indexer's result is not understood");
}

static bool keep_lease(void *user, struct err *err)
{
    struct symbol_work *w = user;

    return job_extend(w->run, err);
}

static bool index_upload(struct symbol_work *w, struct err *err)
{
    const struct index_settings *s = &w->run->config->index;
    struct index_run run = {.program = s->program,
                            .kind = w->upload.kind,
                            .file = w->file,
                            .folder = w->folder,
                            .limits = {.memory_bytes = s->memory_bytes,
                                       .cpu_s = s->cpu_s,
                                       .wall_ms = s->wall_ms,
                                       .file_bytes = s->max_bytes},
                            .tick = keep_lease,
                            .user = w};
    enum index_end end;
    char text[128];

    if (!index_child_run(&run, &end, err))
        return false;
    if (end == INDEX_DONE)
        return read_result(w, err);
    snprintf(text, sizeof text, "the indexer was stopped: %lld MB, %lld CPU s, %lld s at most",
             (long long)(s->memory_bytes >> 20), (long long)s->cpu_s,
             (long long)(s->wall_ms / 1000));
    refuse(w, index_end_reason(end), text);
    atomic_fetch_add(&w->run->counts->killed, 1);
    return true;
}

/* Storing
 * ------------------------------------------------------------------------------------------ */

struct mapped_table {
    void *at;
    size_t size;
};

static bool map_table(const struct symbol_work *w, unsigned n, struct mapped_table *out,
                      struct err *err)
{
    char path[4096];
    struct stat st;
    void *at = MAP_FAILED;
    int fd;

    snprintf(path, sizeof path, "%s/%u.table", w->folder, n);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (fstat(fd, &st) == 0 && st.st_size > 0)
            at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
    }
    if (at == MAP_FAILED)
        return err_set(err, ERR_INTERNAL, "the indexer's table %u cannot be read", n);
    *out = (struct mapped_table){at, (size_t)st.st_size};
    return true;
}

/* A row of symcache, before it has an id. */
struct table_facts {
    const char *kind, *debug_id, *guid, *arch, *format;
    int64_t version, functions;
    bool dwarf;
};

/* The debug id as tools born on Windows write it: the first 16 bytes as a GUID. "" if shorter. */
static void swapped_text(const struct debug_id *id, char out[33])
{
    static const unsigned char order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    unsigned char swapped[16];

    out[0] = '\0';
    if (id->size < sizeof swapped)
        return;
    for (size_t i = 0; i < sizeof swapped; i++)
        swapped[i] = id->bytes[order[i]];
    to_hex(swapped, sizeof swapped, out);
}

static bool native_facts(const struct mapped_table *m, struct arena *mem, struct table_facts *out,
                         struct err *err)
{
    struct symcache c;
    char id[DEBUG_ID_TEXT], guid[33];

    if (!symcache_open(&c, m->at, m->size, err))
        return false;
    debug_id_text(&c.id, id);
    swapped_text(&c.id, guid);
    *out = (struct table_facts){.kind = "native",
                                .debug_id = arena_dup(mem, id, strlen(id)),
                                .guid = arena_dup(mem, guid, strlen(guid)),
                                .arch = debug_arch_name(c.arch),
                                .format = c.format == DEBUG_ELF ? "elf" : "macho",
                                .version = SYMCACHE_VERSION,
                                .functions = (int64_t)c.counts.functions + c.counts.symbols,
                                .dwarf = c.dwarf};
    return (out->debug_id && out->guid && id[0]) ||
           err_set(err, ERR_INTERNAL, "the indexer's table has no debug id");
}

static bool mapping_facts(const struct mapped_table *m, const struct made_table *t,
                          struct arena *mem, struct table_facts *out, struct err *err)
{
    struct retrace r;
    char id[MAPPING_ID_TEXT];

    if (!retrace_open(&r, m->at, m->size, err))
        return false;
    mapping_id(&r, t->source_sha256, id);
    *out = (struct table_facts){.kind = "mapping",
                                .debug_id = arena_dup(mem, id, strlen(id)),
                                .guid = "",
                                .arch = "",
                                .format = "r8",
                                .version = RETRACE_VERSION,
                                .functions = r.counts.ranges};
    return out->debug_id || err_full(err, "a job");
}

static bool table_facts(const struct symbol_work *w, const struct made_table *t,
                        const struct mapped_table *m, struct table_facts *out, struct err *err)
{
    return strcmp(w->upload.kind, "mapping") == 0 ? mapping_facts(m, t, w->run->mem, out, err)
                                                  : native_facts(m, w->run->mem, out, err);
}

struct known_row {
    struct bytes id, source_sha256;
    int64_t version;
    const char *name;
    bool revealed, dwarf;
};
static const struct db_col known_cols[] = {
    DB_COL(known_row, id),   DB_COL(known_row, source_sha256), DB_COL(known_row, version),
    DB_COL(known_row, name), DB_COL(known_row, revealed),      DB_COL(known_row, dwarf),
};
static const struct db_map known_map = DB_MAP(known_row, known_cols);

struct id_row {
    struct bytes id;
};
static const struct db_col id_cols[] = {DB_COL(id_row, id)};
static const struct db_map id_map = DB_MAP(id_row, id_cols);

static bool add_table(struct symbol_work *w, const struct made_table *t,
                      const struct table_facts *f, const struct mapped_table *m, struct err *err)
{
    struct job_run *run = w->run;
    unsigned char sum[SHA256_BYTES];
    const char *name = strcmp(t->name, "") != 0 ? t->name : w->name;
    struct id_row row;

    sha256(m->at, m->size, sum);
    if (!db_one(run->db, Q_SYMCACHE_ADD,
                DB_ARGS(db_i64(run->job.app_id), db_text(f->kind), db_text(f->debug_id),
                        db_text(f->guid), db_text(f->arch), db_text(f->format), db_text(name),
                        db_bytes(t->source_sha256, SHA256_BYTES), db_i64(t->source_bytes),
                        db_bytes(sum, sizeof sum), db_i64((int64_t)m->size), db_i64(f->version),
                        db_bool(f->dwarf), db_i64(f->functions), db_uuid(run->job.ref.at),
                        db_bool(t->revealed)),
                &id_map, run->mem, &row, err))
        return false;
    w->stored++;
    return symcache_pieces_write(run->db, row.id.at, m->at, m->size, err) &&
           db_exec(run->db, Q_SYMCACHE_STORED, DB_ARGS(db_uuid(row.id.at)), err);
}

static void refuse_other(struct symbol_work *w, const struct table_facts *f,
                         const struct known_row *known)
{
    char text[DETAIL_BYTES], id[33];

    to_hex(known->id.at, 16, id);
    snprintf(text, sizeof text,
             "%s %s: another file with this id is stored; if that one is wrong, framewatch symbols "
             "delete %s (DELETE /v1/symbols/%s), then send this one again. Stored is %s",
             f->debug_id, f->arch, id, id, known->name);
    refuse(w, "conflict", text);
}

static bool note_poorer(struct symbol_work *w, const struct table_facts *f,
                        const struct known_row *known, struct err *err)
{
    char text[DETAIL_BYTES];

    w->known++;
    snprintf(text, sizeof text,
             "%s %s: already there, and with files and lines, which this one lacks (%s)",
             f->debug_id, f->arch, known->name);
    w->note = arena_dup(w->run->mem, text, strlen(text));
    return w->note || err_full(err, "a job");
}

static bool audit_replaced(struct symbol_work *w, const struct made_table *t,
                           const struct table_facts *f, const struct known_row *known,
                           struct err *err)
{
    char id[33], old[2 * SHA256_BYTES + 1], new[2 * SHA256_BYTES + 1], upload[33], *text;
    json_t *detail;
    bool ok;

    to_hex(known->id.at, 16, id);
    to_hex(known->source_sha256.at, SHA256_BYTES, old);
    to_hex(t->source_sha256, SHA256_BYTES, new);
    to_hex(w->run->job.ref.at, 16, upload);
    detail = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", id, "debug_id", f->debug_id, "arch",
                       f->arch, "old_sha256", old, "new_sha256", new, "upload", upload);
    text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    ok = text ? db_exec(w->run->db, Q_AUDIT_ADD,
                        DB_ARGS(db_i64(w->run->job.app_id), db_text("worker"),
                                db_text("symbols.replace"), db_text(text)),
                        err)
              : err_memory(err);
    free(text);
    json_decref(detail);
    return ok;
}

/* Other bytes under a known id. A library and its debug file have one id: the one with files and
 * lines is meant, whichever came first. Else symbols that once spoke of a debug id must not come to
 * say something else. */
static bool store_other(struct symbol_work *w, const struct made_table *t,
                        const struct table_facts *f, const struct known_row *known,
                        const struct mapped_table *m, struct err *err)
{
    if (known->dwarf == f->dwarf) {
        refuse_other(w, f, known);
        return true;
    }
    if (known->dwarf)
        return note_poorer(w, f, known, err);
    return audit_replaced(w, t, f, known, err) &&
           db_exec(w->run->db, Q_SYMCACHE_DELETE,
                   DB_ARGS(db_uuid(known->id.at), db_i64(w->run->job.app_id)), err) &&
           add_table(w, t, f, m, err);
}

/* The same image again is known, unless it now comes with the names it hid. */
static bool store_table(struct symbol_work *w, const struct made_table *t,
                        const struct table_facts *f, const struct mapped_table *m, struct err *err)
{
    struct job_run *run = w->run;
    const struct known_row *known;
    struct db_rows rows;

    if (!db_exec(run->db, Q_SYMCACHE_LOCK, DB_ARGS(db_i64(run->job.app_id), db_text(f->debug_id)),
                 err) ||
        !db_all(run->db, Q_SYMCACHE_KNOWN,
                DB_ARGS(db_i64(run->job.app_id), db_text(f->kind), db_text(f->debug_id),
                        db_text(f->arch)),
                &known_map, run->mem, &rows, err))
        return false;
    known = rows.n ? rows.at : NULL;
    if (known && memcmp(known->source_sha256.at, t->source_sha256, SHA256_BYTES) != 0)
        return store_other(w, t, f, known, m, err);
    if (known && known->version == f->version && known->revealed >= t->revealed) {
        w->known++;
        return true;
    }
    return (!known || db_exec(run->db, Q_SYMCACHE_DELETE,
                              DB_ARGS(db_uuid(known->id.at), db_i64(run->job.app_id)), err)) &&
           add_table(w, t, f, m, err);
}

static bool store_tables(struct symbol_work *w, struct err *err)
{
    for (size_t i = 0; i < w->n_tables; i++) {
        struct mapped_table m = {0};
        struct table_facts f;
        bool ok = map_table(w, w->tables[i].n, &m, err) &&
                  table_facts(w, &w->tables[i], &m, &f, err) &&
                  store_table(w, &w->tables[i], &f, &m, err);

        if (m.at)
            munmap(m.at, m.size);
        if (!ok)
            return false;
    }
    return true;
}

static bool note_file(struct symbol_work *w, struct err *err)
{
    struct job_run *run = w->run;
    bool useful = w->stored || w->known;
    const struct refusal *r = w->n_refused ? &w->refused[0] : NULL;

    return db_exec(run->db, Q_SYMBOL_FILE_PUT,
                   DB_ARGS(db_i64(run->job.app_id), db_uuid(run->job.ref.at),
                           db_text(w->upload.kind), db_text(w->name),
                           db_bytes(w->sha256, w->has_file ? SHA256_BYTES : 0), db_i64(w->size),
                           db_i64(w->upload.size),
                           db_text(w->stored ? "stored"
                                   : useful  ? "duplicate"
                                             : "refused"),
                           db_text(r ? r->reason : ""),
                           db_text(r         ? r->detail
                                   : w->note ? w->note
                                             : ""),
                           db_i64((int64_t)w->n_tables)),
                   err);
}

static bool store(struct symbol_work *w, struct err *err)
{
    struct job_run *run = w->run;

    if (!db_begin(run->db, err))
        return false;
    /* A large table takes long to store. The lease cannot be told to others in between, but claims
     * pass over a row that is locked, and this locks the job's until the end. */
    return job_extend(run, err) && store_tables(w, err) && note_file(w, err) &&
           quarantine_set(run->db, run->job.app_id, "symbols", run->job.ref.at, run->job.day,
                          symbol_reasons, COUNT(symbol_reasons), w->refused, w->n_refused, err) &&
           queue_done(run->db, &run->job, err) && db_commit(run->db, err);
}

/* --------------------------------------------------------------------------------------------------
 */

/* The last part of a path, as text that can be shown. */
static const char *clean_name(struct bytes name, struct arena *mem)
{
    char *text = arena_dup(mem, (const char *)name.at, name.at ? name.len : 0), *slash;

    if (!text)
        return NULL;
    slash = strrchr(text, '/');
    if (slash)
        text = slash + 1;
    clean_text(text);
    return text;
}

static bool read_upload(struct symbol_work *w, bool *found, struct err *err)
{
    struct job_run *run = w->run;
    const struct symbol_upload *u = &w->upload;
    struct db_rows rows;

    if (!db_all(run->db, Q_SYMBOL_UPLOAD, DB_ARGS(db_i64(run->job.shard), db_uuid(run->job.ref.at)),
                &upload_map, run->mem, &rows, err))
        return false;
    *found = rows.n > 0;
    if (!rows.n)
        return true;
    w->upload = *(const struct symbol_upload *)rows.at;
    w->name = clean_name(u->file_name, run->mem);
    if (!w->name)
        return err_full(err, "a job");
    *found = strcmp(u->state, "deleted") != 0;
    return !*found ||
           (u->whole && u->app_id == run->job.app_id && u->day == run->job.day &&
            strcmp(u->kind, run->job.kind) == 0) ||
           err_set(err, ERR_INTERNAL, "the job does not fit its upload");
}

static bool run_in_workspace(struct symbol_work *w, struct err *err)
{
    return symcache_files_workspace(w->run->symcaches, w->run->mem, &w->folder, err) &&
           fetch(w, err) && (w->n_refused || index_upload(w, err)) && store(w, err);
}

bool symbol_job(struct job_run *run, enum job_outcome *out, struct err *err)
{
    struct symbol_work *w = arena_alloc(run->mem, sizeof *w);
    bool found, ok;

    if (!w)
        return err_full(err, "a job");
    w->run = run;
    if (!run->config->index.program)
        return err_set(err, ERR_INTERNAL, "this worker has no indexer");
    if (!read_upload(w, &found, err))
        return false;
    if (!found)
        return queue_done(run->db, &run->job, err);
    ok = run_in_workspace(w, err);
    symcache_files_drop(w->folder);
    if (!ok)
        return false;
    *out = w->stored || w->known ? JOB_DONE : JOB_REFUSED;
    atomic_fetch_add(w->stored  ? &run->counts->stored
                     : w->known ? &run->counts->duplicate
                                : &run->counts->refused,
                     1);
    atomic_fetch_add(&run->counts->bytes, w->upload.size);
    return true;
}

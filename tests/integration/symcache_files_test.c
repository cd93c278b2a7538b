/* The cache of look-up tables: filled once, whole or not at all, and no larger than it may be. */
#include "base/buf.h"
#include "base/digest.h"
#include "server/db/db.h"
#include "server/jobs/symbols/symcache_files.h"
#include "server/jobs/symbols/symcache_pieces.h"
#include "support/native_build.h"
#include "support/pg.h"
#include "symbols/symcache_build.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BIG_CAP ((int64_t)1 << 30)
#define READERS 6

struct fixture {
    char conninfo[PG_CONNINFO_BYTES], folder[64];
    struct db *db;
    struct arena *mem;
    unsigned n;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct err err;

    pg_test_db(f->conninfo);
    pg_sql(f->conninfo, "INSERT INTO app (name) VALUES ('game')");
    snprintf(f->folder, sizeof f->folder, "/tmp/framewatch-cache-XXXXXX");
    f->db = db_open(f->conninfo, &err);
    f->mem = arena_new(1 << 20);
    *state = f;
    return mkdtemp(f->folder) && f->db && f->mem ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];

    db_close(f->db);
    arena_free(f->mem);
    pg_drop_db(f->conninfo);
    snprintf(command, sizeof command, "rm -rf %s", f->folder);
    free(f);
    return system(command);
}

static bool collect(void *ctx, const void *bytes, size_t n)
{
    buf_put(ctx, bytes, n);
    return buf_ok(ctx);
}

/* A table in the database, made of a small library. */
static struct table_key put_table(struct fixture *f)
{
    struct table_key key = {.kind = TABLE_NATIVE};
    struct native_build b;
    struct debug_slices slices;
    struct debug_image image;
    struct buf table;
    struct err err;
    char id[41];

    snprintf(id, sizeof id, "%040x", ++f->n + 0x10000000);
    native_build_make(&b, id, f->n, NULL);
    buf_init(&table, 1 << 24);
    assert_true(debug_file_slices(b.bytes, b.size, &slices, &err));
    assert_true(debug_image_open(&image, b.bytes, &slices.at[0], NULL, &err));
    assert_true(symcache_build(&image, NULL, collect, &table, NULL, &err));
    debug_image_close(&image);
    key.size = (int64_t)table.len;
    key.id[15] = (unsigned char)f->n;
    sha256(table.at, table.len, key.sha256);
    pg_sql(
        f->conninfo,
        "INSERT INTO symcache (symcache_id, app_id, kind, debug_id, format, name, source_sha256, "
        "source_bytes, sha256, size, stored_bytes, version, upload_id) VALUES "
        "(lpad(to_hex(%u), 32, '0')::uuid, 1, 'native', '%u', 'elf', '', '', 0, '', %lld, 0, 1, "
        "gen_random_uuid())",
        f->n, f->n, (long long)key.size);
    assert_true(symcache_pieces_write(f->db, key.id, table.at, table.len, &err));
    buf_fini(&table);
    native_build_free(&b);
    return key;
}

static struct symcache_files *open_files(const struct fixture *f, int64_t cap)
{
    struct err err;
    struct symcache_files *files = symcache_files_new(f->folder, cap, &err);

    assert_non_null(files);
    return files;
}

static void use(struct symcache_files *files, struct db *db, const struct table_key *key)
{
    const struct table *t = NULL;
    struct err err = {0};

    if (!symcache_files_borrow(files, db, key, &t, &err))
        fail_msg("%s", err.text);
    assert_true(t->native.n_ranges > 0);
    symcache_files_return(files, t);
}

static unsigned count_files(const struct fixture *f, const char *suffix)
{
    DIR *dir = opendir(f->folder);
    struct dirent *e;
    unsigned n = 0;

    while ((e = readdir(dir)))
        n += strlen(e->d_name) > strlen(suffix) &&
             strcmp(e->d_name + strlen(e->d_name) - strlen(suffix), suffix) == 0;
    closedir(dir);
    return n;
}

static void path_of(const struct fixture *f, const struct table_key *key, char path[256])
{
    char hex[2 * SHA256_BYTES + 1];

    to_hex(key->sha256, SHA256_BYTES, hex);
    snprintf(path, 256, "%s/%s.table", f->folder, hex);
}

struct reader {
    const struct fixture *f;
    struct symcache_files *files;
    const struct table_key *keys;
    size_t n;
    pthread_barrier_t *start;
    bool ok;
};

static void *read_all(void *arg)
{
    struct reader *r = arg;
    struct err err;
    struct db *db = db_open(r->f->conninfo, &err);

    r->ok = db != NULL;
    pthread_barrier_wait(r->start);
    for (size_t i = 0; r->ok && i < r->n; i++) {
        const struct table *t;

        r->ok = symcache_files_borrow(r->files, db, &r->keys[i], &t, &err);
        if (r->ok) {
            r->ok = t->native.n_ranges > 0;
            symcache_files_return(r->files, t);
        }
    }
    db_close(db);
    return NULL;
}

/* Two caches over one folder stand for two processes: they share nothing but its files. */
static void many_readers_of_two_processes_fill_each_table_once(void **state)
{
    struct fixture *f = *state;
    struct symcache_files *files[2] = {open_files(f, BIG_CAP), open_files(f, BIG_CAP)};
    struct symcache_files_counts counts[2];
    struct table_key keys[4];
    struct reader readers[READERS];
    pthread_t threads[READERS];
    pthread_barrier_t start;

    for (size_t i = 0; i < 4; i++)
        keys[i] = put_table(f);
    pthread_barrier_init(&start, NULL, READERS);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader){f, files[i % 2], keys, 4, &start, false};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(readers[i].ok);
    }
    pthread_barrier_destroy(&start);
    symcache_files_counts(files[0], &counts[0]);
    symcache_files_counts(files[1], &counts[1]);
    assert_int_equal(counts[0].fills + counts[1].fills, 4);
    assert_int_equal(counts[0].maps + counts[1].maps, 8);
    assert_int_equal(count_files(f, ".table"), 4);
    symcache_files_free(files[0]);
    symcache_files_free(files[1]);
}

static void a_damaged_file_is_made_again(void **state)
{
    struct fixture *f = *state;
    struct table_key key = put_table(f);
    struct symcache_files *files = open_files(f, BIG_CAP);
    struct symcache_files_counts counts;
    char path[256];
    FILE *file;

    use(files, f->db, &key);
    symcache_files_free(files);
    path_of(f, &key, path);
    file = fopen(path, "r+be");
    fseek(file, (long)key.size - 3, SEEK_SET);
    fputc(0xee, file);
    fclose(file);
    files = open_files(f, BIG_CAP);
    use(files, f->db, &key);
    symcache_files_counts(files, &counts);
    assert_int_equal(counts.damaged, 1);
    assert_int_equal(counts.fills, 1);
    assert_int_equal(truncate(path, 10), 0); /* a new process meets half a file */
    symcache_files_free(files);
    files = open_files(f, BIG_CAP);
    use(files, f->db, &key);
    symcache_files_free(files);
}

static void tables_used_longest_ago_go_when_the_folder_is_full(void **state)
{
    struct fixture *f = *state;
    struct table_key keys[3];
    struct symcache_files *files;
    struct symcache_files_counts counts;
    char path[256];

    for (size_t i = 0; i < 3; i++)
        keys[i] = put_table(f);
    files = open_files(f, keys[0].size + keys[1].size + keys[2].size / 2);
    use(files, f->db, &keys[0]);
    use(files, f->db, &keys[1]);
    symcache_files_free(files);
    files = open_files(f, keys[0].size + keys[1].size + keys[2].size / 2);
    use(files, f->db, &keys[0]); /* used again: keys[1] is the oldest */
    use(files, f->db, &keys[2]);
    symcache_files_counts(files, &counts);
    assert_int_equal(counts.evicted, 1);
    path_of(f, &keys[1], path);
    assert_int_not_equal(access(path, F_OK), 0);
    path_of(f, &keys[0], path);
    assert_int_equal(access(path, F_OK), 0);
    use(files, f->db, &keys[1]); /* and comes back */
    symcache_files_free(files);
}

static void a_table_that_was_deleted_is_not_found(void **state)
{
    struct fixture *f = *state;
    struct table_key key = put_table(f);
    struct symcache_files *files = open_files(f, BIG_CAP);
    const struct table *t;
    struct err err = {0};

    pg_sql(f->conninfo, "DELETE FROM symcache");
    assert_false(symcache_files_borrow(files, f->db, &key, &t, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(count_files(f, ".table"), 0);
    symcache_files_free(files);
}

static void stored_bytes_that_are_not_the_table_are_not_used(void **state)
{
    struct fixture *f = *state;
    struct table_key key = put_table(f);
    struct symcache_files *files = open_files(f, BIG_CAP);
    const struct table *t;
    struct err err = {0};

    key.sha256[3] ^= 1;
    assert_false(symcache_files_borrow(files, f->db, &key, &t, &err));
    assert_int_equal(count_files(f, ".table"), 0);
    symcache_files_free(files);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_readers_of_two_processes_fill_each_table_once),
        TEST(a_damaged_file_is_made_again),
        TEST(tables_used_longest_ago_go_when_the_folder_is_full),
        TEST(a_table_that_was_deleted_is_not_found),
        TEST(stored_bytes_that_are_not_the_table_are_not_used),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}

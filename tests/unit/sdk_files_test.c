#include "src/buffer/files.h"
#include "src/buffer/recover.h"

#include "session.pb-c.h"

#include <zstd.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SESSION "0123456789abcdef0123456789abcdef"
#define NOW_MS 1700000000000ll

struct fixture {
    char path[64], said[512];
    struct fw_log log;
    struct fw_store store;
    struct fw_slice slice;
};

static void say(void *user, fw_log_level level, const char *text)
{
    struct fixture *fx = user;

    (void)level;
    snprintf(fx->said, sizeof fx->said, "%s", text);
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof *fx);

    snprintf(fx->path, sizeof fx->path, "/tmp/sdk_files_XXXXXX");
    assert_non_null(mkdtemp(fx->path));
    fx->log = (struct fw_log){say, fx};
    assert_true(fw_store_open(&fx->store, fx->path, &fx->log));
    assert_true(fw_slice_init(&fx->slice, NULL));
    *state = fx;
    return 0;
}

static void remove_all(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;

    while ((e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(path);
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    fw_store_close(&fx->store);
    fw_slice_fini(&fx->slice);
    remove_all(fx->path);
    free(fx);
    return 0;
}

static bool exists(const struct fixture *fx, const char *name)
{
    return faccessat(fx->store.dir, name, F_OK, 0) == 0;
}

/* A finished file of n bytes, changed at that time. */
static void given_file(struct fixture *fx, unsigned part, off_t n, int64_t changed_ms)
{
    char name[FW_FILE_NAME_BYTES], state[FW_FILE_NAME_BYTES];

    snprintf(name, sizeof name, SESSION "-%04u.fws", part);

    int fd = openat(fx->store.dir, name, O_WRONLY | O_CREAT, 0600);
    struct timespec times[2] = {{.tv_sec = changed_ms / 1000}, {.tv_sec = changed_ms / 1000}};
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, n), 0);
    futimens(fd, times);
    close(fd);
    fw_file_sibling(name, ".state", state);
    fd = openat(fx->store.dir, state, O_WRONLY | O_CREAT, 0600);
    close(fd);
}

/* A zstd frame with one step, in fx->slice.packed. */
static void pack_step(struct fixture *fx, uint64_t t_us)
{
    assert_true(fw_wire_step(&fx->slice.raw, t_us, "step"));
    assert_true(fw_slice_pack(&fx->slice));
}

static void begin_part(struct fixture *fx, struct fw_part *p, unsigned part)
{
    assert_true(fw_wire_header(&fx->slice.raw,
                               &(struct fw_wire_header){.part = part, .part_start_us = 11}));
    assert_true(fw_slice_pack(&fx->slice));
    assert_true(
        fw_part_begin(&fx->store, p, SESSION, part, fx->slice.packed.at, fx->slice.packed.len));
}

static Framewatch__SessionLog *read_log(struct fixture *fx, const char *name)
{
    unsigned char in[65536], out[65536];
    size_t n, len = 0, pos = 0;
    int fd = openat(fx->store.dir, name, O_RDONLY);

    assert_true(fd >= 0);
    n = (size_t)read(fd, in, sizeof in);
    close(fd);
    while (pos < n) {
        size_t frame = ZSTD_findFrameCompressedSize(in + pos, n - pos);
        assert_false(ZSTD_isError(frame));
        size_t got = ZSTD_decompress(out + len, sizeof out - len, in + pos, frame);
        assert_false(ZSTD_isError(got));
        len += got;
        pos += frame;
    }
    Framewatch__SessionLog *log = framewatch__session_log__unpack(NULL, len, out);
    assert_non_null(log);
    return log;
}

static void the_install_id_is_made_once_and_kept(void **state)
{
    struct fixture *fx = *state;
    char first[FW_INSTALL_BYTES], again[FW_INSTALL_BYTES];

    assert_true(fw_store_install_id(&fx->store, first));
    assert_int_equal(strspn(first, "0123456789abcdef"), 32);
    assert_true(fw_store_install_id(&fx->store, again));
    assert_string_equal(first, again);
    assert_true(fw_store_write(&fx->store, "install", "rubbish", 7));
    assert_true(fw_store_install_id(&fx->store, again));
    assert_string_not_equal(first, again);
}

static void a_folder_is_made_with_its_parents(void **state)
{
    struct fixture *fx = *state;
    char path[128], file[160];
    struct fw_store s;

    snprintf(path, sizeof path, "%s/a/b", fx->path);
    assert_true(fw_store_open(&s, path, &fx->log));
    fw_store_close(&s);
    rmdir(path);
    snprintf(path, sizeof path, "%s/a", fx->path);
    rmdir(path);
    snprintf(file, sizeof file, "%s/file", fx->path);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof path, "%s/file/b", fx->path);
    assert_false(fw_store_open(&s, path, &fx->log));
    assert_non_null(strstr(fx->said, "file/b"));
}

static void small_files_are_replaced_whole(void **state)
{
    struct fixture *fx = *state;
    struct fw_buf b;

    fw_buf_init(&b, FW_SMALL_FILE_BYTES);
    assert_false(fw_store_read(&fx->store, "config", &b));
    assert_true(fw_store_write(&fx->store, "config", "first", 5));
    assert_true(fw_store_write(&fx->store, "config", "2nd", 3));
    assert_true(fw_store_read(&fx->store, "config", &b));
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.at, "2nd", 3);
    fw_buf_fini(&b);
}

static void a_part_is_open_while_written_and_finished_after(void **state)
{
    struct fixture *fx = *state;
    struct fw_file list[FW_LIST_MAX];
    struct fw_part p;

    begin_part(fx, &p, 3);
    assert_true(exists(fx, SESSION "-0003.open"));
    assert_int_equal(fw_store_list(&fx->store, list), 0);
    pack_step(fx, 5);
    assert_true(fw_part_append(&fx->store, &p, fx->slice.packed.at, fx->slice.packed.len));
    fw_part_finish(&fx->store, &p);
    assert_int_equal(p.fd, -1);
    assert_int_equal(fw_store_list(&fx->store, list), 1);
    assert_string_equal(list[0].name, SESSION "-0003.fws");

    Framewatch__SessionLog *log = read_log(fx, list[0].name);
    assert_int_equal(log->n_packet, 2);
    framewatch__session_log__free_unpacked(log, NULL);
}

static void at_most_fifty_files_are_kept_oldest_first(void **state)
{
    struct fixture *fx = *state;
    struct fw_file list[FW_LIST_MAX];

    for (unsigned i = 0; i < 60; i++)
        given_file(fx, i, 100, NOW_MS - 60000 + i * 1000);
    fw_store_trim(&fx->store, NOW_MS);
    assert_int_equal(fw_store_list(&fx->store, list), 50);
    assert_string_equal(list[0].name, SESSION "-0010.fws");
    assert_false(exists(fx, SESSION "-0009.state"));
    assert_true(exists(fx, SESSION "-0010.state"));
    assert_int_equal(fx->store.dropped_files, 10);
}

static void at_most_twenty_megabytes_are_kept(void **state)
{
    struct fixture *fx = *state;
    struct fw_file list[FW_LIST_MAX];

    for (unsigned i = 0; i < 6; i++)
        given_file(fx, i, 5 << 20, NOW_MS - 60000 + i * 1000);
    fw_store_trim(&fx->store, NOW_MS);
    assert_int_equal(fw_store_list(&fx->store, list), 4);
    assert_string_equal(list[0].name, SESSION "-0002.fws");
}

static void nothing_older_than_three_days_is_kept(void **state)
{
    struct fixture *fx = *state;
    struct fw_file list[FW_LIST_MAX];

    given_file(fx, 0, 100, NOW_MS - 3 * 86400000ll - 60000);
    given_file(fx, 1, 100, NOW_MS - 3 * 86400000ll + 60000);
    given_file(fx, 2, 100, NOW_MS + 86400000ll); /* the clock was set back */
    fw_store_trim(&fx->store, NOW_MS);
    assert_int_equal(fw_store_list(&fx->store, list), 2);
    assert_string_equal(list[0].name, SESSION "-0001.fws");
}

static void foreign_files_are_left_alone(void **state)
{
    struct fixture *fx = *state;
    struct fw_file list[FW_LIST_MAX];

    assert_true(fw_store_write(&fx->store, "save-game", "x", 1));
    assert_true(fw_store_write(&fx->store, "0123-0001.fws", "x", 1));
    assert_int_equal(mkdirat(fx->store.dir, SESSION "-0001.fws", 0700), 0);
    assert_int_equal(fw_store_list(&fx->store, list), 0);
    fw_store_recover(&fx->store, &fx->slice);
    assert_true(exists(fx, "save-game"));
    unlinkat(fx->store.dir, SESSION "-0001.fws", AT_REMOVEDIR);
}

static void changed_at(struct fixture *fx, const char *name, time_t when)
{
    struct timespec both[2] = {{.tv_sec = when}, {.tv_sec = when}};

    assert_true(fw_store_write(&fx->store, name, "half", 4));
    assert_int_equal(utimensat(fx->store.dir, name, both, 0), 0);
}

static void what_killed_writes_left_behind_is_deleted(void **state)
{
    static const char *const ours[] = {SESSION "-0001.state.4711.tmp", SESSION "-5002.sum.4711.tmp",
                                       "budget.4711.tmp", "forget.4711.tmp"};
    struct fixture *fx = *state;
    time_t now = time(NULL);

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        changed_at(fx, ours[i], i % 2 ? now + 7200 : now - 7200); /* the clock may go back */
    changed_at(fx, "config.4712.tmp", now); /* another process is writing it */
    changed_at(fx, "save-game.tmp", now - 7200);
    fw_store_recover(&fx->store, &fx->slice);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_false(exists(fx, ours[i]));
    assert_true(exists(fx, "config.4712.tmp") && exists(fx, "save-game.tmp"));
}

/* A child opens a part, writes a slice, half of another, and is gone. */
static void given_crashed_session(struct fixture *fx, size_t half)
{
    pid_t child = fork();

    if (!child) {
        struct fw_part p;

        begin_part(fx, &p, 0);
        pack_step(fx, 123456);
        if (!fw_part_append(&fx->store, &p, fx->slice.packed.at, fx->slice.packed.len))
            _exit(1);
        pack_step(fx, 999999);
        if (write(p.fd, fx->slice.packed.at, fx->slice.packed.len - half) < 0)
            _exit(1);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void a_crashed_sessions_file_is_closed_at_its_last_whole_frame(void **state)
{
    struct fixture *fx = *state;

    given_crashed_session(fx, 3);
    assert_int_equal(fw_store_recover(&fx->store, &fx->slice), 1);
    assert_false(exists(fx, SESSION "-0000.open"));

    Framewatch__SessionLog *log = read_log(fx, SESSION "-0000.fws");
    assert_int_equal(log->n_packet, 3);
    assert_int_equal(log->packet[1]->step->t_us, 123456);
    assert_int_equal(log->packet[2]->end->reason, FRAMEWATCH__END__REASON__RECOVERED);
    assert_int_equal(log->packet[2]->end->t_us, 123456);
    framewatch__session_log__free_unpacked(log, NULL);
    assert_int_equal(fx->slice.raw.len, 0);
}

static void a_file_of_a_living_session_is_not_touched(void **state)
{
    struct fixture *fx = *state;
    struct fw_part p;

    begin_part(fx, &p, 1);
    assert_int_equal(fw_store_recover(&fx->store, &fx->slice), 0);
    assert_true(exists(fx, SESSION "-0001.open"));
    fw_part_finish(&fx->store, &p);
}

static void remains_without_a_whole_frame_are_deleted(void **state)
{
    struct fixture *fx = *state;

    assert_true(fw_store_write(&fx->store, SESSION "-0000.open", "", 0));
    assert_true(fw_store_write(&fx->store, SESSION "-0001.open", "not zstd at all", 15));
    assert_true(fw_store_write(&fx->store, SESSION "-0002.new", "half", 4));
    assert_true(fw_store_write(&fx->store, SESSION "-0003.state", "/v1/uploads/1\n", 14));
    assert_int_equal(fw_store_recover(&fx->store, &fx->slice), 0);
    assert_false(exists(fx, SESSION "-0000.open"));
    assert_false(exists(fx, SESSION "-0001.open"));
    assert_false(exists(fx, SESSION "-0002.new"));
    assert_false(exists(fx, SESSION "-0003.state"));
}

static void a_full_disk_leaves_whole_frames_only(void **state)
{
    struct fixture *fx = *state;
    struct rlimit before, small;
    struct fw_part p;
    bool written;

    begin_part(fx, &p, 0);
    pack_step(fx, 5);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = p.bytes + 4; /* a write of more is cut short there */
    setrlimit(RLIMIT_FSIZE, &small);
    written = fw_part_append(&fx->store, &p, fx->slice.packed.at, fx->slice.packed.len);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(written);
    assert_true(fw_part_append(&fx->store, &p, fx->slice.packed.at, fx->slice.packed.len));
    fw_part_finish(&fx->store, &p);

    Framewatch__SessionLog *log = read_log(fx, SESSION "-0000.fws");
    assert_int_equal(log->n_packet, 2);
    framewatch__session_log__free_unpacked(log, NULL);
}

static void the_last_time_is_found_in_any_bytes(void **state)
{
    struct fixture *fx = *state;
    struct fw_buf *b = &fx->slice.raw;
    uint32_t random = 1;

    fw_wire_header(b, &(struct fw_wire_header){.part_start_us = 50, .app = "x"});
    assert_int_equal(fw_last_time_us(b->at, b->len), 50);
    fw_wire_step(b, 70, "x");
    fw_wire_module(b, &(struct fw_wire_module){.id = 900});
    fw_wire_position(b, 60, 1, 2);
    assert_int_equal(fw_last_time_us(b->at, b->len), 70);
    for (int round = 0; round < 20000; round++) { /* never past the end, whatever it says */
        unsigned char *copy = malloc(b->len);

        memcpy(copy, b->at, b->len);
        random = random * 1664525u + 1013904223u;
        copy[(random >> 8) % b->len] ^= (unsigned char)(random >> 24);
        fw_last_time_us(copy, 1 + (random >> 4) % b->len);
        free(copy);
    }
}

#define FILES_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);

    const struct CMUnitTest tests[] = {
        FILES_TEST(the_install_id_is_made_once_and_kept),
        FILES_TEST(a_folder_is_made_with_its_parents),
        FILES_TEST(small_files_are_replaced_whole),
        FILES_TEST(a_part_is_open_while_written_and_finished_after),
        FILES_TEST(at_most_fifty_files_are_kept_oldest_first),
        FILES_TEST(at_most_twenty_megabytes_are_kept),
        FILES_TEST(nothing_older_than_three_days_is_kept),
        FILES_TEST(foreign_files_are_left_alone),
        FILES_TEST(a_crashed_sessions_file_is_closed_at_its_last_whole_frame),
        FILES_TEST(a_file_of_a_living_session_is_not_touched),
        FILES_TEST(remains_without_a_whole_frame_are_deleted),
        FILES_TEST(what_killed_writes_left_behind_is_deleted),
        FILES_TEST(a_full_disk_leaves_whole_frames_only),
        FILES_TEST(the_last_time_is_found_in_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

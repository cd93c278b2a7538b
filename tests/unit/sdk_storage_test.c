/* Disks that are full, forbidden, gone or wrong about the time: the game plays on. */
#include "src/buffer/recover.h"
#include "src/clock.h"
#include "src/control/context.h"

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
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define PATIENCE_NS (600000 * MS)
#define DAY_MS 86400000ll
#define NOBODY 65534

struct disk {
    char path[64];
    struct fw_log log;
    struct fw_store store;
};

static int set_up(void **state)
{
    struct disk *d = calloc(1, sizeof *d);

    snprintf(d->path, sizeof d->path, "/tmp/sdk_storage_XXXXXX");
    assert_non_null(mkdtemp(d->path));
    assert_true(fw_store_open(&d->store, d->path, &d->log));
    *state = d;
    return 0;
}

static void empty(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;

    while (d && (e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

static int tear_down(void **state)
{
    struct disk *d = *state;

    empty(d->path);
    rmdir(d->path);
    fw_store_close(&d->store);
    free(d);
    return 0;
}

static fw_options options_for(const char *path)
{
    fw_options o;

    fw_options_init(&o);
    o.storage_path = path;
    o.slice_ms = 100;
    o.flags = FW_NO_UPLOAD | FW_NO_STACKS | FW_NO_CRASHES;
    return o;
}

/* Text that no compressor makes much of; a slice holds no part of it twice. */
static void say_much(fw_context *fw, size_t *at)
{
    static char noise[1u << 20];
    char text[2001];

    for (uint32_t i = 0, x = 1; !noise[0] && i < sizeof noise; i++) {
        x = x * 1664525u + 1013904223u;
        noise[sizeof noise - 1 - i] = (char)('A' + (x >> 24) % 57);
    }
    memcpy(text, noise + *at, sizeof text - 1);
    text[sizeof text - 1] = 0;
    *at = (*at + sizeof text) % (sizeof noise - sizeof text);
    fw_feedback(fw, "noise", text);
}

/* Frames and texts until the sampling thread has written or lost so many bytes or slices. */
static void play_until(fw_context *fw, uint64_t bytes, uint64_t lost)
{
    uint64_t until = fw_now_ns() + PATIENCE_NS, t = fw_now_ns();
    size_t at = 0;

    while (fw_now_ns() < until && atomic_load(&fw->store.bytes_written) < bytes &&
           atomic_load(&fw->recorder.lost_slices) < lost) {
        for (int i = 0; i < 10; i++, t += MS / 10)
            fw_frame_at(fw, t);
        say_much(fw, &at);
        fw_recorder_wake(&fw->recorder);
        usleep(500);
    }
    assert_true(fw_now_ns() < until);
}

/* Another process, for limits and rights are a process's. */
static int child(const char *how, const char *path)
{
    struct rlimit small = {8192, 8192};
    fw_options o = options_for(path);

    if (geteuid() == 0 && !strcmp(how, "forbidden") && setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return 3;
    fw_context *fw = fw_start(&o);
    if (!strcmp(how, "never allowed")) {
        fw_frame(fw);
        fw_stop(fw);
        return fw ? 1 : 0;
    }
    if (!fw)
        return 2;
    if (!strcmp(how, "full"))
        setrlimit(RLIMIT_FSIZE, &small); /* and SIGXFSZ as it is: deadly */
    else
        chmod(path, 0500);
    fw_background(fw); /* the next file is wanted */
    fw_foreground(fw);
    play_until(fw, UINT64_MAX, 5);
    fw_stop(fw);
    chmod(path, 0700);
    return 0;
}

static int run_child(const char *how, const char *path)
{
    char self[512] = "";
    int status;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    pid_t pid = fork();
    if (!pid) {
        execl(self, self, how, path, NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void assert_all_whole(struct disk *d)
{
    struct fw_file file[FW_LIST_MAX];
    struct fw_slice scratch;

    assert_true(fw_slice_init(&scratch, NULL));
    fw_store_recover(&d->store, &scratch);
    size_t n = fw_store_list(&d->store, file);
    for (size_t i = 0; i < n; i++)
        assert_in_range(file[i].bytes, 1, FW_PART_MAX_BYTES);
    fw_slice_fini(&scratch);
}

static void on_a_full_disk_the_game_plays_on(void **state)
{
    struct disk *d = *state;

    assert_int_equal(run_child("full", d->path), 0);
    assert_all_whole(d);
}

static void in_a_folder_that_becomes_read_only_the_game_plays_on(void **state)
{
    struct disk *d = *state;

    if (geteuid() == 0)
        assert_int_equal(chown(d->path, NOBODY, NOBODY), 0);
    assert_int_equal(run_child("forbidden", d->path), 0);
    assert_all_whole(d);
}

static void a_folder_that_was_never_allowed_is_no_session_and_no_harm(void **state)
{
    (void)state;
    assert_int_equal(run_child("never allowed", "/proc/framewatch/game"), 0);
}

static void a_folder_that_vanishes_is_survived(void **state)
{
    struct disk *d = *state;
    fw_options o = options_for(d->path);
    fw_context *fw = fw_start(&o);

    assert_non_null(fw);
    play_until(fw, 10000, UINT64_MAX);
    empty(d->path);
    assert_int_equal(rmdir(d->path), 0);
    fw_background(fw); /* the next file cannot be made */
    fw_foreground(fw);
    play_until(fw, UINT64_MAX, 3);
    fw_stop(fw);
    assert_int_equal(access(d->path, F_OK),
                     -1); /* and it is not made anew behind the game's back */
}

static void a_file_ends_before_five_megabytes(void **state)
{
    struct disk *d = *state;
    struct fw_file file[FW_LIST_MAX];
    fw_options o = options_for(d->path);
    fw_context *fw = fw_start(&o);

    play_until(fw, 6u << 20, 1);
    fw_stop(fw);
    size_t n = fw_store_list(&d->store, file);
    assert_in_range(n, 2, 4);
    for (size_t i = 0; i < n; i++)
        assert_in_range(file[i].bytes, 1, FW_PART_MAX_BYTES);
    assert_int_equal(fw_store_list_summaries(&d->store, file), 1);
}

static void given(struct disk *d, int number, int64_t changed_ms)
{
    char name[64];
    struct timespec when[2] = {{.tv_sec = changed_ms / 1000}, {.tv_sec = changed_ms / 1000}};

    snprintf(name, sizeof name, "%032x-0000.fws", number);
    int fd = openat(d->store.dir, name, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(futimens(fd, when), 0);
    close(fd);
}

static void a_clock_set_back_deletes_nothing_and_lifts_no_limit(void **state)
{
    struct disk *d = *state;
    struct fw_file file[FW_LIST_MAX];
    int64_t future = 20000 * DAY_MS, now = 19000 * DAY_MS;

    for (int i = 0; i < 10; i++)
        given(d, i, future + i * 1000);
    fw_store_trim(&d->store, now);
    assert_int_equal(fw_store_list(&d->store, file), 10);
    for (int i = 10; i < 60; i++)
        given(d, i, now + i * 1000);
    fw_store_trim(&d->store, now + DAY_MS);
    assert_int_equal(fw_store_list(&d->store, file), FW_STORE_MAX_FILES);
    assert_int_equal(atomic_load(&d->store.dropped_files), 10);
}

static void summaries_have_their_own_limits(void **state)
{
    struct disk *d = *state;
    struct fw_file file[FW_LIST_MAX];
    char session[33];

    for (int i = 0; i < 60; i++) {
        snprintf(session, sizeof session, "%032x", i);
        assert_true(fw_store_write_summary(&d->store, session, 0, "x", 1));
    }
    assert_true(fw_store_write_summary(&d->store, session, 1, "y", 1));
    assert_int_equal(fw_store_list_summaries(&d->store, file), 60); /* one a session */
    given(d, 1, 0);
    fw_store_trim(&d->store, fw_wall_ms());
    assert_int_equal(fw_store_list_summaries(&d->store, file), FW_STORE_MAX_FILES);
}

#define DISK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        DISK_TEST(on_a_full_disk_the_game_plays_on),
        DISK_TEST(in_a_folder_that_becomes_read_only_the_game_plays_on),
        cmocka_unit_test(a_folder_that_was_never_allowed_is_no_session_and_no_harm),
        DISK_TEST(a_folder_that_vanishes_is_survived),
        DISK_TEST(a_file_ends_before_five_megabytes),
        DISK_TEST(a_clock_set_back_deletes_nothing_and_lifts_no_limit),
        DISK_TEST(summaries_have_their_own_limits),
    };

    if (argc == 3)
        return child(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

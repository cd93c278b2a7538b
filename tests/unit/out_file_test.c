/* Files that commands write: whole under their name, or as they were. The tool is a program, not a
 * library, so the file is taken in whole. Where O_TMPFILE is O_DIRECTORY, open() says what it says
 * on systems that have no nameless files. */
#include <fcntl.h>

static int nameless = O_TMPFILE;
#undef O_TMPFILE
#define O_TMPFILE nameless
#include "server/cli/out_file.c"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[4][128];
    static unsigned i;

    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", folder, name);
    return path[i];
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void holds(const char *name, const char *text)
{
    char bytes[64] = "";
    FILE *f = fopen(in_folder(name), "r");

    assert_non_null(f);
    bytes[fread(bytes, 1, sizeof bytes - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(bytes, text);
}

static unsigned files(void)
{
    DIR *d = opendir(folder);
    unsigned n = 0;

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static mode_t mode_of(const char *name)
{
    struct stat st;

    assert_int_equal(lstat(in_folder(name), &st), 0);
    return st.st_mode & 0777;
}

static struct out_file opened(const char *path)
{
    struct out_file f;
    struct err err;

    if (!out_file_open(&f, path, &err))
        fail_msg("%s", err.text);
    return f;
}

static void writes(const char *path, const char *text)
{
    struct out_file f = opened(path);
    struct err err;

    fputs(text, f.to);
    if (!out_file_close(&f, true, &err))
        fail_msg("%s", err.text);
}

static void a_file_is_replaced_when_it_is_whole_and_not_before(void **state)
{
    struct err err;

    (void)state;
    put("a", "old");

    struct out_file f = opened(in_folder("a"));

    fputs("new", f.to);
    fflush(f.to);
    holds("a", "old");
    assert_true(out_file_close(&f, true, &err));
    holds("a", "new");
    assert_int_equal(files(), 1);
}

static void a_failure_leaves_what_was_there_and_nothing_else(void **state)
{
    struct err err = {.text = "the reason"};

    (void)state;
    put("a", "old");

    struct out_file f = opened(in_folder("a")), g = opened(in_folder("b"));

    fputs("half", f.to);
    assert_false(out_file_close(&f, false, &err));
    assert_false(out_file_close(&g, false, &err));
    assert_string_equal(err.text, "the reason");
    holds("a", "old");
    assert_int_equal(files(), 1);
}

static void a_process_that_is_killed_leaves_nothing(void **state)
{
    pid_t child;
    int status;

    (void)state;
    put("a", "old");
    child = fork();
    if (child == 0) {
        struct out_file f = opened(in_folder("a"));

        fputs("half", f.to);
        fflush(f.to);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    holds("a", "old");
    assert_int_equal(files(), 1);
}

static void permissions_are_those_of_the_file_replaced_or_what_umask_leaves(void **state)
{
    mode_t before = umask(027);

    (void)state;
    put("a", "old");
    assert_int_equal(chmod(in_folder("a"), 0604), 0);
    writes(in_folder("a"), "x");
    writes(in_folder("b"), "x");
    umask(before);
    assert_int_equal(mode_of("a"), 0604);
    assert_int_equal(mode_of("b"), 0640);
}

static void a_symbolic_link_stays_one(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(symlink("there", in_folder("to")), 0);
    assert_int_equal(symlink("to", in_folder("link")), 0);
    writes(in_folder("link"), "first"); /* to what is not there yet */
    writes(in_folder("link"), "second");
    holds("there", "second");
    assert_int_equal(lstat(in_folder("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(files(), 3);
    assert_int_equal(symlink("loop", in_folder("loop")), 0);

    struct out_file f;
    struct err err;

    assert_false(out_file_open(&f, in_folder("loop"), &err));
    assert_non_null(strstr(err.text, "symbolic links"));
}

static void a_pipe_and_a_device_are_written_as_they_are(void **state)
{
    char got[16] = "";
    struct err err;
    int fd;

    (void)state;
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    fd = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    writes(in_folder("pipe"), "through");
    assert_int_equal(read(fd, got, sizeof got), 7);
    assert_string_equal(got, "through");
    close(fd);
    assert_int_equal(files(), 1);
    writes("/dev/null", "x");

    struct out_file f = opened("/dev/full");

    fputs("x", f.to);
    assert_false(out_file_close(&f, true, &err));
    assert_non_null(strstr(err.text, "No space left"));
}

static void descriptors_go_on_where_they_stand(void **state)
{
    char path[64];
    int fd;

    (void)state;
    put("a", "old ");
    fd = open(in_folder("a"), O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    writes(path, "new ");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    writes(path, "newer");
    assert_int_equal(close(fd), 0);
    holds("a", "old new newer");
    assert_int_equal(files(), 1);

    struct out_file f;
    struct err err;

    assert_false(out_file_open(&f, path, &err)); /* closed */
    assert_non_null(strstr(err.text, "Bad file descriptor"));
    f = opened("-");
    assert_ptr_equal(f.to, stdout);
    assert_ptr_equal(f.say, stderr);
    assert_true(out_file_close(&f, true, &err));
}

static void what_cannot_be_written_is_said_at_once(void **state)
{
    struct out_file f;
    struct err err;

    (void)state;
    assert_false(out_file_open(&f, in_folder("no/such/folder"), &err));
    assert_non_null(strstr(err.text, "cannot be written: No such file"));
    assert_false(out_file_open(&f, folder, &err));
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(files(), 0);
}

static void a_name_that_is_taken_is_passed_over(void **state)
{
    char name[64];

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof name, ".framewatch-%ld-%u", (long)getpid(), i);
        put(name, "of another");
    }
    writes(in_folder("a"), "x");
    holds("a", "x");
    assert_int_equal(files(), 201);
}

static int make(void **state)
{
    (void)state;
    nameless = *state ? O_DIRECTORY : nameless;
    snprintf(folder, sizeof folder, "/tmp/framewatch-out-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* With nameless files, and without. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
#define NAMED(name) cmocka_unit_test_prestate_setup_teardown(name, make, drop, folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_replaced_when_it_is_whole_and_not_before),
        TEST(a_failure_leaves_what_was_there_and_nothing_else),
        TEST(a_process_that_is_killed_leaves_nothing),
        TEST(permissions_are_those_of_the_file_replaced_or_what_umask_leaves),
        TEST(a_symbolic_link_stays_one),
        TEST(a_pipe_and_a_device_are_written_as_they_are),
        TEST(descriptors_go_on_where_they_stand),
        TEST(what_cannot_be_written_is_said_at_once),
        TEST(a_name_that_is_taken_is_passed_over),
        NAMED(a_file_is_replaced_when_it_is_whole_and_not_before),
        NAMED(a_failure_leaves_what_was_there_and_nothing_else),
        NAMED(permissions_are_those_of_the_file_replaced_or_what_umask_leaves),
        NAMED(a_symbolic_link_stays_one),
        NAMED(what_cannot_be_written_is_said_at_once),
        NAMED(a_name_that_is_taken_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "server/jobs/symbols/index_child.h"

#include "server/common/clock.h"
#include "server/jobs/symbols/index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPEN_FILES 32
#define TICK_MS 1000
#define EXIT_NOT_STARTED 127
#define SLACK ((int64_t)1 << 30) /* address space of program, libraries and stack */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_MEMORY false /* a sanitizer's shadow counts as memory */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMIT_MEMORY false
#endif
#endif
#ifndef LIMIT_MEMORY
#define LIMIT_MEMORY true
#endif

const char *index_end_reason(enum index_end end)
{
    static const char *const name[] = {"", "index_time", "index_memory", "index_crash"};

    return name[end];
}

static bool limit(int what, int64_t value)
{
    struct rlimit r = {(rlim_t)value, (rlim_t)value};

    return setrlimit((__rlimit_resource_t)what, &r) == 0;
}

/* Between fork and exec of a process with threads: only calls that are safe there. */
static void become_child(const struct index_limits *l, pid_t parent, char *const *argv)
{
    static char *no_environment[] = {NULL};
    sigset_t none;
    int null = open("/dev/null", O_RDWR);

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
        dup2(null, 2) < 0)
        _exit(EXIT_NOT_STARTED);
    syscall(SYS_close_range, 3U, ~0U, 0U);
    if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_CPU, l->cpu_s) ||
        !limit(RLIMIT_NOFILE, OPEN_FILES) || !limit(RLIMIT_FSIZE, l->file_bytes))
        _exit(EXIT_NOT_STARTED);
    if (LIMIT_MEMORY && (!limit(RLIMIT_DATA, l->memory_bytes) ||
                         !limit(RLIMIT_AS, l->memory_bytes + 3 * l->file_bytes + SLACK)))
        _exit(EXIT_NOT_STARTED);
    execve(argv[0], argv, no_environment);
    _exit(EXIT_NOT_STARTED);
}

static pid_t start(const struct index_run *run, struct err *err)
{
    char bytes[24];
    const char *argv[] = {run->program, "index", run->kind, run->file, run->folder, bytes, NULL};
    pid_t parent = getpid(), pid;

    snprintf(bytes, sizeof bytes, "%" PRId64, run->limits.file_bytes);
    pid = fork();
    if (pid == 0)
        become_child(&run->limits, parent, (char *const *)(uintptr_t)argv);
    if (pid < 0)
        err_set(err, ERR_INTERNAL, "cannot start the indexer: %s", strerror(errno));
    return pid;
}

/* Whether the child is over within ms; waits on its descriptor, else in small steps. */
static bool over(pid_t pid, int fd, int64_t ms, int *status)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct timespec step = {.tv_nsec = 10000000};

    if (fd >= 0)
        poll(&p, 1, ms > 0 ? (int)ms : 0);
    else
        nanosleep(&step, NULL);
    return waitpid(pid, status, WNOHANG) == pid;
}

/* Exit codes of a process that ran out of memory are those of any failure. */
static bool result_is_whole(const struct index_run *run)
{
    char path[4096], tail[4] = "";
    FILE *f;
    int n = snprintf(path, sizeof path, "%s/" INDEX_RESULT, run->folder);

    if (n < 0 || n >= (int)sizeof path || !(f = fopen(path, "rbe")))
        return false;

    bool whole =
        fseek(f, -4, SEEK_END) == 0 && fread(tail, 1, 4, f) == 4 && memcmp(tail, "end\n", 4) == 0;

    fclose(f);
    return whole;
}

static enum index_end judge(const struct index_run *run, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && result_is_whole(run))
        return INDEX_DONE;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        return INDEX_TIME;
    if (WIFEXITED(status) || WTERMSIG(status) == SIGXFSZ)
        return INDEX_MEMORY;
    return INDEX_CRASH;
}

static bool wait_for(const struct index_run *run, pid_t pid, int fd, int *status, bool *timed_out,
                     struct err *err)
{
    int64_t until = now_ms() + run->limits.wall_ms, ticked = now_ms();
    bool ok = true;

    *timed_out = false;
    while (!over(pid, fd, until - now_ms() < TICK_MS ? until - now_ms() : TICK_MS, status)) {
        if (now_ms() >= until)
            *timed_out = true;
        else if (now_ms() - ticked >= TICK_MS) {
            ticked = now_ms();
            ok = !run->tick || run->tick(run->user, err);
        }
        if (*timed_out || !ok) {
            kill(pid, SIGKILL);
            while (waitpid(pid, status, 0) < 0 && errno == EINTR)
                ;
            return ok;
        }
    }
    return true;
}

bool index_child_run(const struct index_run *run, enum index_end *end, struct err *err)
{
    pid_t pid = start(run, err);
    int fd, status = 0;
    bool ok, timed_out;

    if (pid < 0)
        return false;
    fd = (int)syscall(SYS_pidfd_open, pid, 0U);
    ok = wait_for(run, pid, fd, &status, &timed_out, err);
    if (fd >= 0)
        close(fd);
    if (!ok)
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_STARTED)
        return err_set(err, ERR_INTERNAL, "the indexer %s could not be started", run->program);
    *end = timed_out ? INDEX_TIME : judge(run, status);
    return true;
}

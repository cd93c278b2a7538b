/* A session whose calling thread is the last to get on: each thread of the SDK has come to rest
 * before fw_start() does its next step. Linked with --wrap=fw_thread_start. */
#include "src/clock.h"
#include "src/thread.h"

#include <framewatch.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_NS 120000000000ull /* a machine may be busy with other things */
#define LOOKS 20                    /* that must find the threads at rest, one after another */

bool __real_fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes,
                            void *(*run)(void *), void *user);
bool __wrap_fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes,
                            void *(*run)(void *), void *user);

static bool is_busy(const char *task)
{
    char path[300], name[64] = "", state = '?';
    FILE *f;

    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task);
    f = fopen(path, "r");
    if (!f)
        return false;
    if (fscanf(f, "%*d (%63[^)]) %c", name, &state) != 2)
        state = '?';
    fclose(f);
    return !strncmp(name, "fw-", 3) && state != 'S';
}

static bool any_is_busy(void)
{
    DIR *d = opendir("/proc/self/task");
    bool busy = false;

    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        busy |= is_busy(e->d_name);
    closedir(d);
    return busy;
}

bool __wrap_fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes,
                            void *(*run)(void *), void *user)
{
    bool started = __real_fw_thread_start(out, name, stack_bytes, run, user);
    uint64_t until = fw_now_ns() + PATIENCE_NS;

    for (int calm = 0; calm < LOOKS && fw_now_ns() < until;) {
        calm = any_is_busy() ? 0 : calm + 1;
        usleep(1000);
    }
    return started;
}

static void tell(void *user, fw_managed_stack *out)
{
    atomic_bool *told = user;

    fw_managed_frame(out, FW_MANAGED_LUA, "main.lua:12: in function 'load'");
    atomic_store(told, true);
}

static void a_long_frame_right_after_a_slow_start_is_looked_at(void **state)
{
    char storage[] = "/tmp/sdk_start_XXXXXX", command[64];
    atomic_bool told = false;
    fw_options o;
    fw_context *fw;

    (void)state;
    assert_non_null(mkdtemp(storage));
    fw_options_init(&o);
    o.storage_path = storage;
    o.app = "game";
    o.version_name = "1.0.0";
    o.version_code = 1;
    o.flags = FW_NO_UPLOAD;
    o.managed_stack = tell;
    o.user = &told;
    fw = fw_start(&o);
    assert_non_null(fw);
    fw_frame(fw);
    for (uint64_t until = fw_now_ns() + PATIENCE_NS; fw_now_ns() < until && !atomic_load(&told);)
        usleep(1000); /* one long frame */
    fw_stop(fw);
    snprintf(command, sizeof command, "rm -rf %s", storage);
    assert_int_equal(system(command), 0);
    assert_true(atomic_load(&told));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_frame_right_after_a_slow_start_is_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

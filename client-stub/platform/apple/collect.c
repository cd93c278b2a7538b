#if defined(__APPLE__)
#include "src/clock.h"
#include "src/collect/collectors.h"

#include <mach/mach.h>
#include <unistd.h>

/* CPU of the process and of the system, in microseconds and in the host's ticks. */

static int64_t us_of(time_value_t t)
{
    return (int64_t)t.seconds * 1000000 + t.microseconds;
}

void fw_cpu_init(struct fw_cpu *c, unsigned cores)
{
    *c = (struct fw_cpu){.cores = cores, .tick_hertz = sysconf(_SC_CLK_TCK)};
}

/* Of the threads that live and of those that ended. */
static bool process_us(int64_t *us)
{
    struct task_thread_times_info live;
    struct mach_task_basic_info ended;
    mach_msg_type_number_t n_live = TASK_THREAD_TIMES_INFO_COUNT,
                           n_ended = MACH_TASK_BASIC_INFO_COUNT;

    if (task_info(mach_task_self(), TASK_THREAD_TIMES_INFO, (task_info_t)&live, &n_live) !=
            KERN_SUCCESS ||
        task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&ended, &n_ended) !=
            KERN_SUCCESS)
        return false;
    *us = us_of(live.user_time) + us_of(live.system_time) + us_of(ended.user_time) +
          us_of(ended.system_time);
    return true;
}

static bool system_ticks(int64_t *active, int64_t *total)
{
    struct host_cpu_load_info load;
    mach_msg_type_number_t n = HOST_CPU_LOAD_INFO_COUNT;

    if (host_statistics(mach_host_self(), HOST_CPU_LOAD_INFO, (host_info_t)&load, &n) !=
        KERN_SUCCESS)
        return false;
    *active = (int64_t)load.cpu_ticks[CPU_STATE_USER] + load.cpu_ticks[CPU_STATE_NICE] +
              load.cpu_ticks[CPU_STATE_SYSTEM];
    *total = *active + load.cpu_ticks[CPU_STATE_IDLE];
    return true;
}

static int64_t permille(int64_t part, int64_t whole)
{
    if (whole <= 0 || part < 0)
        return FW_ABSENT;
    return part >= whole ? 1000 : (part * 1000 + whole / 2) / whole;
}

bool fw_cpu_read(struct fw_cpu *c, struct fw_reader *r, struct fw_wire_hardware *out)
{
    int64_t process, active, total;
    uint64_t now = fw_now_ns();

    if (!process_us(&process))
        return fw_reader_fail(r, "task_info: times");
    if (!system_ticks(&active, &total))
        return fw_reader_fail(r, "host_statistics");
    if (c->known) {
        out->process_cpu_permille =
            permille(process - c->process, (int64_t)((now - c->t_ns) / 1000 * c->cores));
        out->total_cpu_permille = permille(active - c->active, total - c->total);
    }
    c->process = process;
    c->active = active;
    c->total = total;
    c->t_ns = now;
    c->known = true;
    return true;
}

bool fw_memory_read(struct fw_memory *m, struct fw_reader *r, struct fw_wire_hardware *out)
{
    struct task_vm_info info;
    mach_msg_type_number_t n = TASK_VM_INFO_COUNT;

    (void)m;
    if (task_info(mach_task_self(), TASK_VM_INFO, (task_info_t)&info, &n) != KERN_SUCCESS)
        return fw_reader_fail(r, "task_info: memory");
    out->rss_kb = (int64_t)(info.resident_size / 1024);
    out->phys_footprint_kb = (int64_t)(info.phys_footprint / 1024);
    return true;
}

void fw_threads_init(struct fw_threads *t, int main_tid)
{
    *t = (struct fw_threads){.main_tid = main_tid};
}

static void read_main(struct fw_threads *t, struct fw_wire_hardware *out)
{
    struct thread_basic_info info;
    mach_msg_type_number_t n = THREAD_BASIC_INFO_COUNT;
    int64_t us;

    if (thread_info((thread_act_t)t->main_tid, THREAD_BASIC_INFO, (thread_info_t)&info, &n) !=
        KERN_SUCCESS)
        return;
    us = us_of(info.user_time) + us_of(info.system_time);
    if (!t->known)
        t->cpu_us = us;
    t->known = true;
    out->main_cpu_us = us - t->cpu_us;
}

bool fw_threads_read(struct fw_threads *t, struct fw_reader *r, struct fw_wire_hardware *out)
{
    thread_act_array_t list;
    mach_msg_type_number_t n;

    if (task_threads(mach_task_self(), &list, &n) != KERN_SUCCESS)
        return fw_reader_fail(r, "task_threads");
    for (mach_msg_type_number_t i = 0; i < n; i++)
        mach_port_deallocate(mach_task_self(), list[i]);
    vm_deallocate(mach_task_self(), (vm_address_t)list, n * sizeof *list);
    out->thread_count = n;
    if ((int64_t)n > t->peak)
        t->peak = n;
    out->thread_peak = t->peak;
    t->peak = 0;
    read_main(t, out);
    return true;
}
#endif

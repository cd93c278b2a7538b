/* Of Apple's Mach headers what the SDK uses. Layouts as in XNU's osfmk/mach. */
#pragma once
#include <stdint.h>

typedef int kern_return_t, integer_t;
typedef unsigned natural_t, mach_port_t, mach_msg_type_number_t;
typedef mach_port_t task_t, task_name_t, thread_act_t, host_t;
typedef thread_act_t *thread_act_array_t;
typedef uint64_t mach_vm_address_t, mach_vm_size_t;
typedef uintptr_t vm_address_t, vm_size_t;
typedef natural_t task_flavor_t, thread_flavor_t;
typedef int thread_state_flavor_t, host_flavor_t;
typedef integer_t *task_info_t, *thread_info_t, *host_info_t;
typedef natural_t *thread_state_t;
typedef struct time_value {
    integer_t seconds, microseconds;
} time_value_t;

#define KERN_SUCCESS 0
extern mach_port_t mach_task_self_;
#define mach_task_self() mach_task_self_
mach_port_t mach_host_self(void);
kern_return_t mach_port_deallocate(task_t task, mach_port_t name);
kern_return_t vm_deallocate(task_t task, vm_address_t address, vm_size_t size);
kern_return_t vm_read_overwrite(task_t task, vm_address_t address, vm_size_t size,
                                vm_address_t data, vm_size_t *out_size);
kern_return_t task_info(task_name_t task, task_flavor_t flavor, task_info_t out,
                        mach_msg_type_number_t *count);
kern_return_t task_threads(task_t task, thread_act_array_t *list, mach_msg_type_number_t *count);
kern_return_t thread_suspend(thread_act_t thread);
kern_return_t thread_resume(thread_act_t thread);
kern_return_t thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t out,
                          mach_msg_type_number_t *count);
kern_return_t thread_get_state(thread_act_t thread, thread_state_flavor_t flavor,
                               thread_state_t old_state, mach_msg_type_number_t *count);
kern_return_t host_statistics(host_t host, host_flavor_t flavor, host_info_t out,
                              mach_msg_type_number_t *count);

#define COUNT_OF(type) ((mach_msg_type_number_t)(sizeof(type) / sizeof(natural_t)))

struct mach_task_basic_info {
    mach_vm_size_t virtual_size, resident_size, resident_size_max;
    time_value_t user_time, system_time; /* of threads that ended */
    int policy;
    integer_t suspend_count;
};
#define MACH_TASK_BASIC_INFO 20
#define MACH_TASK_BASIC_INFO_COUNT COUNT_OF(struct mach_task_basic_info)
struct task_thread_times_info {
    time_value_t user_time, system_time; /* of threads that live */
};
#define TASK_THREAD_TIMES_INFO 3
#define TASK_THREAD_TIMES_INFO_COUNT COUNT_OF(struct task_thread_times_info)
struct task_dyld_info {
    mach_vm_address_t all_image_info_addr;
    mach_vm_size_t all_image_info_size;
    integer_t all_image_info_format;
};
#define TASK_DYLD_INFO 17
#define TASK_DYLD_INFO_COUNT COUNT_OF(struct task_dyld_info)
struct task_vm_info { /* its first revision */
    mach_vm_size_t virtual_size;
    integer_t region_count, page_size;
    mach_vm_size_t resident_size, resident_size_peak, device, device_peak, internal, internal_peak,
        external, external_peak, reusable, reusable_peak, purgeable_volatile_pmap,
        purgeable_volatile_resident, purgeable_volatile_virtual, compressed, compressed_peak,
        compressed_lifetime, phys_footprint;
};
#define TASK_VM_INFO 22
#define TASK_VM_INFO_COUNT COUNT_OF(struct task_vm_info)
struct thread_basic_info {
    time_value_t user_time, system_time;
    integer_t cpu_usage, policy, run_state, flags, suspend_count, sleep_time;
};
#define THREAD_BASIC_INFO 3
#define THREAD_BASIC_INFO_COUNT COUNT_OF(struct thread_basic_info)
enum { CPU_STATE_USER, CPU_STATE_SYSTEM, CPU_STATE_IDLE, CPU_STATE_NICE, CPU_STATE_MAX };
struct host_cpu_load_info {
    natural_t cpu_ticks[CPU_STATE_MAX];
};
#define HOST_CPU_LOAD_INFO 3
#define HOST_CPU_LOAD_INFO_COUNT COUNT_OF(struct host_cpu_load_info)

typedef struct {
    uint64_t __x[29], __fp, __lr, __sp, __pc;
    uint32_t __cpsr, __pad;
} arm_thread_state64_t;
#define ARM_THREAD_STATE64 6
#define ARM_THREAD_STATE64_COUNT COUNT_OF(arm_thread_state64_t)
typedef struct {
    uint64_t __rax, __rbx, __rcx, __rdx, __rdi, __rsi, __rbp, __rsp, __r8, __r9, __r10, __r11,
        __r12, __r13, __r14, __r15, __rip, __rflags, __cs, __fs, __gs;
} x86_thread_state64_t;
#define x86_THREAD_STATE64 4
#define x86_THREAD_STATE64_COUNT COUNT_OF(x86_thread_state64_t)

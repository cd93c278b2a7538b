#pragma once
#include <stddef.h>
int sysctlbyname(const char *name, void *out, size_t *n, void *value, size_t value_n);
int sysctl(int *name, unsigned name_n, void *out, size_t *n, void *value, size_t value_n);

#define CTL_KERN 1
#define KERN_PROC 14
#define KERN_PROC_PID 1
#define P_TRACED 0x800
/* Of each only what is read; Apple's are longer. */
struct extern_proc {
    int p_flag;
};
struct kinfo_proc {
    struct extern_proc kp_proc;
};

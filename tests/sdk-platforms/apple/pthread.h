/* glibc's, with what Apple has instead of Linux's extensions. */
#pragma once
#define pthread_setname_np linux_setname
#define pthread_getattr_np linux_getattr
#include <mach/mach.h>
#include_next <pthread.h>
#undef pthread_setname_np
#undef pthread_getattr_np
mach_port_t pthread_mach_thread_np(pthread_t thread);
void *pthread_get_stackaddr_np(pthread_t thread);
size_t pthread_get_stacksize_np(pthread_t thread);

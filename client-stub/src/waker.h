/* waker: lets any thread end another's wait without a lock (an eventfd; Apple: a kqueue). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct fw_waker {
    int fd;
};

bool fw_waker_init(struct fw_waker *w); /* false: no descriptor; fini is fine all the same */
void fw_waker_fini(struct fw_waker *w);
void fw_waker_wake(struct fw_waker *w);
/* Until woken, or `until_ns` of fw_now_ns() (UINT64_MAX: for ever). */
void fw_waker_wait(struct fw_waker *w, uint64_t until_ns);

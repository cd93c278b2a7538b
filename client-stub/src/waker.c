#if defined(__linux__)
#include "src/waker.h"

#include "src/clock.h"

#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool fw_waker_init(struct fw_waker *w)
{
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return w->fd >= 0;
}

void fw_waker_fini(struct fw_waker *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

void fw_waker_wake(struct fw_waker *w)
{
    uint64_t one = 1;

    /* Full means that a wake-up is pending already. */
    if (write(w->fd, &one, sizeof one) < 0)
        return;
}

void fw_waker_wait(struct fw_waker *w, uint64_t until_ns)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    uint64_t now = fw_now_ns(), wakes;
    uint64_t ms = until_ns > now ? (until_ns - now + 999999) / 1000000 : 0;

    if (poll(&p, 1,
             until_ns == UINT64_MAX ? -1
             : ms > INT_MAX         ? INT_MAX
                                    : (int)ms) > 0 &&
        read(w->fd, &wakes, sizeof wakes) < 0)
        return; /* somebody else took it: only one thread waits, so never */
}
#endif

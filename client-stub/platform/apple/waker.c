#if defined(__APPLE__)
#include "src/waker.h"

#include "src/clock.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/event.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
#define LONGEST_NS (3600 * SECOND_NS) /* the caller looks at its clock again */

bool fw_waker_init(struct fw_waker *w)
{
    struct kevent add = {.filter = EVFILT_USER, .flags = EV_ADD | EV_CLEAR};

    w->fd = kqueue();
    if (w->fd < 0)
        return false;
    fcntl(w->fd, F_SETFD, FD_CLOEXEC);
    return kevent(w->fd, &add, 1, NULL, 0, NULL) == 0;
}

void fw_waker_fini(struct fw_waker *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

void fw_waker_wake(struct fw_waker *w)
{
    struct kevent trigger = {.filter = EVFILT_USER, .fflags = NOTE_TRIGGER};

    kevent(w->fd, &trigger, 1, NULL, 0, NULL);
}

void fw_waker_wait(struct fw_waker *w, uint64_t until_ns)
{
    uint64_t now = fw_now_ns(), ns = until_ns > now ? until_ns - now : 0;
    struct timespec t;
    struct kevent woken;

    if (ns > LONGEST_NS)
        ns = LONGEST_NS;
    t = (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
    kevent(w->fd, NULL, 0, &woken, 1, &t);
}
#endif

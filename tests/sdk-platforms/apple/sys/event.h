/* Of the BSDs' header what the SDK uses. */
#pragma once
#include <stdint.h>
#include <time.h>
struct kevent {
    uintptr_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t fflags;
    intptr_t data;
    void *udata;
};
#define EVFILT_USER (-10)
#define EV_ADD 0x0001
#define EV_CLEAR 0x0020
#define NOTE_TRIGGER 0x01000000
int kqueue(void);
int kevent(int kq, const struct kevent *changes, int n_changes, struct kevent *events, int n_events,
           const struct timespec *timeout);

/*
 * thread: the SDK's own threads: named, of low priority, with a small stack, and with all signals
 * blocked but faults and those that garbage collectors stop threads by, so that the game's handlers
 * run on the game's threads.
 *
 * They are told from the game's by their ids, so that a call of the game's callbacks, which run on
 * them, is known for one: no thread-local, because the frame hook asks too, and where those are
 * emulated (Android below 10) the first look of a thread takes a lock and allocates.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_OWN_THREADS 4 /* at once; a session has three */

extern _Atomic uintptr_t fw_own_thread[FW_OWN_THREADS]; /* fw_thread_id(); 0 free, 1 taken */

/* name: at most 15 bytes. False: no thread, or as many as there may be. */
bool fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *),
                     void *user);
/* At the beginning of run: lowers the calling thread's priority. */
void fw_thread_yield_priority(int nice);
/* CPU time the calling thread has used. */
uint64_t fw_thread_cpu_us(void);

/* The calling thread's id, no other's as long as it lives. No lock, no allocation, no system call.
 */
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer) && (defined(__clang__) || __GNUC__ >= 11)
#define FW_THREAD_POINTER 1 /* one instruction */
#endif
#endif
#if defined(FW_THREAD_POINTER)
static inline uintptr_t fw_thread_id(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}
#else
static inline uintptr_t fw_thread_id(void)
{
    return (uintptr_t)pthread_self();
}
#endif

/* Whether the calling thread is one of the SDK's. */
static inline bool fw_thread_is_own(void)
{
    uintptr_t self = fw_thread_id();
    bool own = false;

    for (size_t i = 0; i < FW_OWN_THREADS; i++)
        own |= atomic_load_explicit(&fw_own_thread[i], memory_order_relaxed) == self;
    return own;
}

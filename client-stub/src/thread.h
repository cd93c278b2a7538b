/*
 * thread: the SDK's own threads: named, of low priority, with a small stack, and with all signals
 * blocked but faults and those that garbage collectors stop threads by, so that the game's handlers
 * run on the game's threads.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name: at most 15 bytes. */
bool fw_thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *),
                     void *user);
/* At the beginning of run: lowers the calling thread's priority. */
void fw_thread_yield_priority(int nice);
/* CPU time the calling thread has used. */
uint64_t fw_thread_cpu_us(void);

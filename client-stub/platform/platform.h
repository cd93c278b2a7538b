/* platform: which system this is, and what only its own calls tell. One folder a system. */
#pragma once
#include "wire/session_writer.h"

#include <framewatch.h>

#include <pthread.h>
#include <signal.h>

#define FW_THREAD_NAME_BYTES 16

extern const enum fw_platform fw_platform_kind;

/* What the network is taken for where the game does not tell: on phones, where it may cost the
 * player money, unknown. */
extern const fw_network fw_platform_network;

/* A system property by Android's name for it ("ro.product.model"); false where there is none.
 * Apple's also has "fw.traced" and "fw.simulator", which are 1 or not there, and "fw.executable", a
 * path. */
bool fw_platform_property(const char *name, char *out, size_t size);
/* 0: /proc/meminfo tells. */
uint64_t fw_platform_ram_bytes(void);

/* What malloc has handed out. Takes the allocator's locks: never on a game's thread. */
bool fw_platform_native_heap_kb(int64_t *kb);

/* Never blocks; false: the system gives none now. */
bool fw_platform_random(void *out, size_t n);

/* Of the calling thread; the first two are async-signal-safe. */
int fw_platform_tid(void);
void fw_platform_thread_name(char out[FW_THREAD_NAME_BYTES]);
void fw_platform_lower_priority(int nice);

/* Where threads can only name themselves: does nothing. */
void fw_platform_name_thread(pthread_t thread, const char *name);

/* The calling thread gets the signal, once more, as it was told by *info where the system can say
 * that. Async-signal-safe. */
void fw_platform_signal_self(int signal, siginfo_t *info);

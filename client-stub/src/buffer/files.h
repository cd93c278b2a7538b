/*
 * files: the storage folder.
 *
 *   SESSION-PART.open   being written, locked with flock() by its process
 *   SESSION-PART.fws    finished, waiting for upload
 *   SESSION-PART.sum    a summary of the session so far, for a metered network; PART 5000, 5002 …
 *   SESSION-9000.crash  open for what a crash leaves (crash_record.h), locked likewise
 *   SESSION-PART.state  how far its upload has come
 *   install             the install id, made once
 *   config, budget, forget   small files, replaced whole
 *
 * SESSION is 32 hex digits, PART four decimal ones. The lock ends with its process, so a .open file
 * that can be locked belongs to a session that crashed or was killed: recover.h finishes it.
 *
 * A struct fw_store may be used by several threads: it holds the folder's descriptor and counters.
 * Files come and go between two calls; every call copes.
 */
#pragma once
#include "src/log.h"
#include "wire/buf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FW_STORE_MAX_FILES 50u
#define FW_STORE_MAX_BYTES (20u * 1024u * 1024u)
#define FW_STORE_MAX_AGE_MS (3 * 86400000ll)
#define FW_PART_MAX_BYTES (5u * 1024u * 1024u)
#define FW_INSTALL_BYTES 33 /* 32 hex digits and a NUL */
#define FW_FILE_NAME_BYTES 48
#define FW_SMALL_FILE_BYTES 65536u

struct fw_store {
    int dir;
    const struct fw_log *log;
    const struct fw_allocator *memory; /* of those who read files; NULL: malloc */
    _Atomic uint64_t bytes_written, dropped_files;
};

/* Opens the folder, making it (and its parents) if missing. Logs why it cannot. */
bool fw_store_open(struct fw_store *s, const char *path, const struct fw_log *log);
/* The same without making anything: false if it is not there. */
bool fw_store_find(struct fw_store *s, const char *path, const struct fw_log *log);
void fw_store_close(struct fw_store *s);
/* Deletes every file of the SDK's, but for the request to the server to do the same. */
void fw_store_clear(struct fw_store *s);
bool fw_store_install_id(struct fw_store *s, char out[FW_INSTALL_BYTES]);
/* The same without making one: false if there is none. */
bool fw_store_known_install(struct fw_store *s, char out[FW_INSTALL_BYTES]);

/* Small files; a write replaces the old content whole or not at all. */
bool fw_store_read(struct fw_store *s, const char *name, struct fw_buf *out);
bool fw_store_write(struct fw_store *s, const char *name, const void *bytes, size_t n);
/* Whether `name` is what a write left behind whose process was killed within it. */
bool fw_store_is_left_over(const struct fw_store *s, const char *name, int64_t now_ms);

/* Installs that the server is to forget ("forget", a line each, the newest kept). */
#define FW_MAX_FORGOTTEN 16u
void fw_store_forget(struct fw_store *s, const char *install);
bool fw_store_first_forgotten(struct fw_store *s, char out[FW_INSTALL_BYTES]); /* false: none */
void fw_store_erased(struct fw_store *s, const char *install);

/* The file being written. */
struct fw_part {
    int fd; /* -1: none */
    char name[FW_FILE_NAME_BYTES];
    uint64_t bytes;
};
#define FW_NO_PART ((struct fw_part){.fd = -1})

/* `head` is the frame with the header packet; nothing is left behind on failure. */
bool fw_part_begin(struct fw_store *s, struct fw_part *p, const char *session, unsigned part,
                   const void *head, size_t n);
/* One write(); what a full disk cut short is taken back. */
bool fw_part_append(struct fw_store *s, struct fw_part *p, const void *bytes, size_t n);
void fw_part_finish(struct fw_store *s, struct fw_part *p); /* renames it to .fws */

/* Makes the session's crash file, locked, with these bytes; -1 if it cannot. */
int fw_crash_file_begin(struct fw_store *s, const char *session, const void *head, size_t n);
/* The session has ended well: there is nothing to tell. */
void fw_crash_file_end(struct fw_store *s, const char *session, int fd);

struct fw_file {
    char name[FW_FILE_NAME_BYTES]; /* SESSION-PART.fws */
    uint64_t bytes;
    int64_t changed_ms;
};
#define FW_LIST_MAX 96
/* Finished files, oldest first, at most FW_LIST_MAX. */
size_t fw_store_list(struct fw_store *s, struct fw_file out[FW_LIST_MAX]);
/* The same of summaries. */
size_t fw_store_list_summaries(struct fw_store *s, struct fw_file out[FW_LIST_MAX]);
void fw_store_remove(struct fw_store *s, const char *name); /* and its .state */
/* Deletes what is past FW_STORE_MAX_*, oldest first, and counts it; of summaries too. */
void fw_store_trim(struct fw_store *s, int64_t now_ms);

/* Replaces the session's summary; `version` grows. Part numbers leave gaps, because consecutive
 * parts mean unbroken time. */
#define FW_SUMMARY_PART(version) (5000u + 2u * (version) % 4000u)
bool fw_store_write_summary(struct fw_store *s, const char *session, unsigned version,
                            const void *bytes, size_t n);
/* The summaries of the session that `name` is a file of: their time is over. */
void fw_store_drop_summaries(struct fw_store *s, const char *name);

/* NAME.fws -> NAME.state and the like. */
void fw_file_sibling(const char *name, const char *suffix, char out[FW_FILE_NAME_BYTES]);
/* Whether `name` is SESSION-PART followed by `suffix`. */
bool fw_file_is(const char *name, const char *suffix);

/*
 * config: all that framewatchd can be told, in one table: it makes the struct, the parser, --help
 * and docs/configuration.md (a test compares them).
 *
 * Strongest first: --name=value, the environment (FW_NAME), the file of --config, the default.
 * Belongs to server/main.c, which hands each part what it needs.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* TEXT(name, default, help), INT(name, default, min, max, help), CHOICE(name, default, all, help);
 * GROUP(title) is for the reader. Dashes and underscores in names are the same. */
#define CONFIG_TABLE(GROUP, TEXT, INT, CHOICE)                                                     \
    GROUP("Process")                                                                               \
    CHOICE(role, "all", "all server worker",                                                       \
           "What this process does: serve HTTP, run jobs, or both.")                               \
    CHOICE(log_level, "info", "error warn info debug",                                             \
           "What is logged; requests are logged at info.")                                         \
    TEXT(db, "",                                                                                   \
         "PostgreSQL, as libpq takes it: a URI or \"host=… dbname=…\". Empty: the PG* "        \
         "variables of the environment.")                                                          \
    TEXT(db_password_file, "", "File with the database's password, if it needs one.")              \
    INT(db_connections, 8, 3, 200, "Connections for requests; the committers have two more.")      \
    INT(db_statement_timeout_ms, 60000, 1000, 3600000,                                             \
        "The database ends a statement that takes longer.")                                        \
    TEXT(secret_file, "",                                                                          \
         "File with the server's secret, 32 to 1024 bytes, the same for all "                      \
         "servers of a database. Needed to serve.")                                                \
    INT(ready_fd, -1, -1, 1023,                                                                    \
        "Descriptor on which the port is written once requests are "                               \
        "served; -1: none.")                                                                       \
    GROUP("Listener")                                                                              \
    TEXT(listen, "127.0.0.1:7070",                                                                 \
         "Address and port; port 0 takes any free one. A socket passed "                           \
         "by systemd (LISTEN_FDS) is used instead.")                                               \
    TEXT(public_url, "",                                                                           \
         "How people and clients reach the server, \"https://frames.example.org\", the same for "  \
         "servers and workers: begins Location headers and the links in alerts, reports and "      \
         "tickets. Empty: no links, and Locations begin with http:// and the Host header.")        \
    INT(http_threads, 2, 1, 64, "Threads that read and write connections.")                        \
    INT(connections, 4096, 16, 1000000,                                                            \
        "Connections at most, each of which takes 64 KB; more wait to be accepted.")               \
    INT(idle_timeout_s, 60, 1, 3600, "A connection without any activity is closed.")               \
    INT(header_timeout_ms, 10000, 100, 600000,                                                     \
        "From a request's first line to the end of its headers.")                                  \
    INT(slow_grace_ms, 20000, 100, 3600000,                                                        \
        "A body, or a client that reads an answer, may be as slow as it likes for so long.")       \
    INT(min_rate, 512, 1, 1000000000, "Bytes per second it needs on the whole after that.")        \
    INT(drain_ms, 10000, 0, 600000, "At SIGTERM, how long requests under way may take to end.")    \
    GROUP("Requests")                                                                              \
    INT(request_threads, 4, 2, 256, "Threads that run requests other than uploads.")               \
    INT(request_queue, 1024, 1, 1000000, "Requests that may wait for a thread; more: 503.")        \
    INT(request_memory_mb, 256, 1, 65536, "Memory of one request at most.")                        \
    INT(db_wait_ms, 2000, 1, 600000, "How long a request waits for a connection; then 503.")       \
    INT(ingest_rate, 20000, 0, 10000000,                                                           \
        "Requests per second of one ingest key (all phones of an app share it); 0: no limit.")     \
    INT(api_rate, 200, 0, 10000000, "Requests per second of one read or admin key; 0: no limit.")  \
    INT(login_hours, 168, 1, 8760,                                                                 \
        "How long a browser stays logged in; revoking its key ends it.")                           \
    GROUP("Uploads")                                                                               \
    INT(body_memory_mb, 64, 4, 65536, "Buffers for request bodies, all together; none free: 503.") \
    INT(commit_queue, 2048, 1, 1000000, "Chunks that may wait to be stored; more: 503.")           \
    INT(session_max_mb, 8, 1, 1024, "Size of a session file.")                                     \
    INT(symbols_max_mb, 4096, 1, 1048576, "Size of a file of symbols or a mapping.")               \
    INT(upload_expiry_s, 604800, 60, 31536000,                                                     \
        "An upload that is not complete after so long is given up.")                               \
    GROUP("Jobs")                                                                                  \
    INT(worker_threads, 2, 1, 64, "Threads that run jobs, in a process with a worker.")            \
    INT(session_idle_ms, 1800000, 1000, 604800000,                                                 \
        "A session without a new part for so long is final.")                                      \
    INT(session_parts_max_mb, 16, 1, 4096, "All parts of a session together, as uploaded.")        \
    INT(job_lease_ms, 120000, 1000, 86400000,                                                      \
        "A job that runs longer may be taken by another worker.")                                  \
    INT(job_attempts, 5, 1, 100, "Tries of a job before it is left for a person.")                 \
    TEXT(cache_dir, "",                                                                            \
         "Folder for look-up tables of symbols and for symbol files being read; "                  \
         "empty: a temporary one. May be shared by the processes of a machine.")                   \
    INT(cache_mb, 4096, 0, 1048576,                                                                \
        "Look-up tables kept there; those used longest ago go. A symbol file being read takes "    \
        "twice its unpacked size for a while, on top of that.")                                    \
    INT(index_memory_mb, 4096, 64, 1048576,                                                        \
        "Memory of the process that reads a symbol file; past it the file is refused.")            \
    INT(index_cpu_s, 900, 1, 86400, "Processor time of the same.")                                 \
    INT(index_time_ms, 1800000, 1000, 86400000, "Time by the clock of the same.")                  \
    INT(raw_days, 30, 1, 36500, "Whole days that uploaded bytes are kept.")                        \
    INT(session_days, 180, 1, 36500, "Whole days that sessions and their events are kept.")        \
    GROUP("Notifications")                                                                         \
    INT(notify_threads, 2, 0, 16,                                                                  \
        "Threads that send alerts and tickets, in a process with a worker; they need the "         \
        "server's secret. 0: this process sends none.")                                            \
    CHOICE(notify_reach, "private", "public private loopback any",                                 \
           "Where channels may send to: public addresses by https; also private networks; also "   \
           "this machine; also link-local addresses (metadata of clouds) and http anywhere.")      \
    TEXT(notify_ca_file, "",                                                                       \
         "Certificates that channels trust, in place of the system's; for a service of your own.") \
    INT(notify_timeout_ms, 15000, 100, 60000,                                                      \
        "A request of a channel that takes longer is given up.")

#define CONFIG_TEXT_MAX 1024

struct config {
#define GROUP(title)
#define TEXT(name, otherwise, help) char name[CONFIG_TEXT_MAX];
#define INT(name, otherwise, min, max, help) int64_t name;
#define CHOICE(name, otherwise, all, help) char name[16];
    CONFIG_TABLE(GROUP, TEXT, INT, CHOICE)
#undef GROUP
#undef TEXT
#undef INT
#undef CHOICE
};

void config_default(struct config *c);
/* One setting; `where` ("--listen", "FW_LISTEN", "file.conf:3") begins the error text. */
bool config_set(struct config *c, const char *name, const char *value, const char *where,
                struct err *err) MUST_CHECK;
/* Lines "name = value"; "#" begins a comment line. */
bool config_read_file(struct config *c, const char *path, struct err *err) MUST_CHECK;
/* Defaults, then the file of --config, then `env`, then the arguments, all of which must be
 * --name=value. *help: --help was asked for. */
bool config_load(struct config *c, int argc, char **argv, char **env, bool *help,
                 struct err *err) MUST_CHECK;

void config_write_help(struct buf *b);
void config_write_docs(struct buf *b); /* the whole of docs/configuration.md */

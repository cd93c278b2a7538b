/*
 * web: the page's files as parts of the program, and the routes that serve them.
 *
 * The build makes web_files[] of server/web/src (build.mjs), sorted by path; without Node
 * (FW_WEB=OFF) it is empty and "/" says what is missing. Names of files under /assets hold a digest
 * of their content, so browsers keep them for ever; the page itself is asked for again each time.
 */
#pragma once
#include "server/http/req.h"

enum web_policy { WEB_STRICT, WEB_SPEEDSCOPE };

struct web_file {
    const char *path, *type; /* "/assets/main-AB12CD34.js" */
    const char *digest;      /* of the bytes, hexadecimal: the ETag's beginning */
    bool immutable;
    enum web_policy policy;
    struct bytes plain, gzip, zstd; /* the last two are empty where they would save nothing */
};
extern const struct web_file web_files[];
extern const size_t web_files_n;

/* Every path that the page's own router knows, and its name in metrics; all answer the same
 * document. */
#define WEB_PAGES(X)                                                                               \
    X("/", "page_home")                                                                            \
    X("/login", "page_login")                                                                      \
    X("/sessions", "page_sessions")                                                                \
    X("/sessions/{id}", "page_session")                                                            \
    X("/janks", "page_janks")                                                                      \
    X("/janks/{id}", "page_family")                                                                \
    X("/compare", "page_compare")                                                                  \
    X("/scenes", "page_scenes")                                                                    \
    X("/devices", "page_devices")                                                                  \
    X("/alerts", "page_alerts")                                                                    \
    X("/alerts/{id}", "page_alert")                                                                \
    X("/builds", "page_builds")                                                                    \
    X("/builds/{id}", "page_build")                                                                \
    X("/health", "page_health")                                                                    \
    X("/rules", "page_rules")                                                                      \
    X("/settings", "page_settings")

extern const struct route web_routes[];
extern const size_t web_routes_n;

/* The file of that path, NULL if there is none. */
const struct web_file *web_find(const struct web_file *files, size_t n, const char *path);

enum web_coding { WEB_PLAIN, WEB_GZIP, WEB_ZSTD };
/* The best coding that both the file and an Accept-Encoding header (NULL: none) have. */
enum web_coding web_coding_of(const struct web_file *f, const char *accept_encoding);
/* Answers with the file, or 304 if the client has it. */
bool web_reply(struct req *r, const struct web_file *f, struct err *err) MUST_CHECK;

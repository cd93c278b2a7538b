/*
 * transport_curl: the default transport, libcurl. One struct, one thread at a time; the connection
 * is kept alive between exchanges. http and https only, no redirects, the system's certificates.
 * Built with FW_NO_CURL there is none: fw_transport_curl_new() gives NULL.
 */
#pragma once
#include "src/report/http.h"
#include "wire/alloc.h"

#include <stdatomic.h>

struct fw_transport_curl;

/* `abort` (may be NULL): once true, an exchange in progress ends within a second. NULL: no memory.
 * The first call initialises libcurl and belongs on a thread that starts no other meanwhile. */
struct fw_transport_curl *fw_transport_curl_new(const atomic_bool *abort);
/* The struct is of `memory`; what libcurl takes is its own. */
struct fw_transport_curl *fw_transport_curl_new_in(const atomic_bool *abort,
                                                   const struct fw_allocator *memory);
void fw_transport_curl_free(struct fw_transport_curl *t); /* NULL is fine */
/* A struct fw_transport's exchange; user is the fw_transport_curl. */
int fw_transport_curl_exchange(void *user, fw_http_request *request);

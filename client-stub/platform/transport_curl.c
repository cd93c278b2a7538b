#include "platform/transport_curl.h"

#if !defined(FW_NO_CURL)
#include <curl/curl.h>

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECT_TIMEOUT_MS 10000L
#define MAX_HEADER_BYTES 1024
#define DSCP_CS1 8
#define MAX_URL_BYTES 1024

struct fw_transport_curl {
    const struct fw_allocator *memory;
    CURL *curl;
    const atomic_bool *abort;
    char last[MAX_URL_BYTES]; /* what the last request was for */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct fw_transport_curl *fw_transport_curl_new_in(const atomic_bool *abort,
                                                   const struct fw_allocator *memory)
{
    struct fw_transport_curl *t = fw_alloc_zeroed(memory, sizeof *t);

    pthread_once(&once, start_curl);
    if (!t || !(t->curl = curl_easy_init())) {
        fw_release(memory, t);
        return NULL;
    }
    t->abort = abort;
    t->memory = memory;
    return t;
}

void fw_transport_curl_free(struct fw_transport_curl *t)
{
    if (!t)
        return;
    curl_easy_cleanup(t->curl);
    fw_release(t->memory, t);
}

static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    fw_http_request *r = user;
    char text[MAX_HEADER_BYTES];
    size_t n = size * count, len = n;

    while (len && (line[len - 1] == '\r' || line[len - 1] == '\n' || line[len - 1] == ' '))
        len--;
    if (len >= sizeof text || !r->on_header)
        return n;
    memcpy(text, line, len);
    text[len] = 0;

    char *colon = strchr(text, ':');
    if (colon) {
        *colon = 0;
        r->on_header(r->sink, text, colon + 1 + strspn(colon + 1, " \t"));
    }
    return n;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    fw_http_request *r = user;

    if (r->on_body)
        r->on_body(r->sink, bytes, size * count);
    return size * count;
}

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct fw_transport_curl *t = user;

    (void)a, (void)b, (void)c, (void)d;
    return t->abort && atomic_load(t->abort);
}

/* Lower than best effort (CS1, RFC 4594): the game's own traffic
 * goes first. Where it cannot be set nothing is lost. */
static int on_socket(void *user, curl_socket_t fd, curlsocktype purpose)
{
    int class = DSCP_CS1 << 2;

    (void)user, (void)purpose;
    if (setsockopt(fd, IPPROTO_IP, IP_TOS, &class, sizeof class) != 0)
        setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof class);
    return CURL_SOCKOPT_OK;
}

/* A connection is kept for requests about one upload and no longer: what a broken proxy sends twice
 * is then at worst an older answer about the same upload, never one about another. */
static bool may_reuse(struct fw_transport_curl *t, const fw_http_request *r)
{
    size_t n = strlen(r->url);
    bool same = strcmp(r->method, "POST") != 0 && !strcmp(r->url, t->last);

    if (n < sizeof t->last)
        memcpy(t->last, r->url, n + 1);
    else
        t->last[0] = 0;
    return same;
}

static struct curl_slist *header_list(const fw_http_request *r)
{
    /* Without this curl waits a second for "100 Continue" before each larger body. */
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");

    for (const char *const *h = r->headers; list && h && *h; h++) {
        struct curl_slist *longer = curl_slist_append(list, *h);

        if (!longer)
            curl_slist_free_all(list);
        list = longer;
    }
    return list;
}

static void set_options(struct fw_transport_curl *t, fw_http_request *r, struct curl_slist *headers)
{
    CURL *c = t->curl;

    curl_easy_reset(c);
    curl_easy_setopt(c, CURLOPT_URL, r->url);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "libframewatch/" FW_VERSION);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(c, CURLOPT_MAXCONNECTS, 1L);
    curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, may_reuse(t, r) ? 0L : 1L);
    curl_easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    if (!strcmp(r->method, "HEAD"))
        curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    if (r->body_len || !strcmp(r->method, "POST")) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body_len ? r->body : "");
        curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    }
}

int fw_transport_curl_exchange(void *user, fw_http_request *r)
{
    struct fw_transport_curl *t = user;
    struct curl_slist *headers = header_list(r);
    long status = 0;

    r->status = 0;
    if (!headers)
        return -1;
    set_options(t, r, headers);

    CURLcode code = curl_easy_perform(t->curl);
    if (code == CURLE_OK)
        curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    r->status = (int)status;
    return code == CURLE_OK ? 0 : -1;
}
#else /* the game brings its own transport */
struct fw_transport_curl *fw_transport_curl_new_in(const atomic_bool *abort,
                                                   const struct fw_allocator *memory)
{
    (void)abort, (void)memory;
    return NULL;
}

void fw_transport_curl_free(struct fw_transport_curl *t)
{
    (void)t;
}

int fw_transport_curl_exchange(void *user, fw_http_request *r)
{
    (void)user, (void)r;
    return -1;
}
#endif

struct fw_transport_curl *fw_transport_curl_new(const atomic_bool *abort)
{
    return fw_transport_curl_new_in(abort, NULL);
}

#include "server/notify/http_out.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define URL_MAX_BYTES 4096
#define CONNECT_TIMEOUT_MS 5000
#define HEADERS_MAX_BYTES 65536 /* of an answer */
#define RETRY_AFTER_MAX_S 86400

struct http_out {
    CURL *curl;
    struct http_out_config config;
    char *ca_file;
    /* of the request under way */
    struct buf body;
    bool tls, refused, too_long;
    char seen[INET6_ADDRSTRLEN]; /* the address that was refused */
};

/* Addresses ----------------------------------------------------------------------------------- */

enum net { NET_PUBLIC, NET_PRIVATE, NET_LOOPBACK, NET_LOCAL, NET_NEVER };

static bool in4(uint32_t address, uint32_t net, int bits)
{
    return (address ^ net) >> (32 - bits) == 0;
}

static enum net net_of4(uint32_t a)
{
    static const struct {
        uint32_t net;
        int bits;
        enum net is;
    } nets[] = {
        {0x00000000, 8, NET_LOCAL},    /* 0.0.0.0: this host */
        {0x7f000000, 8, NET_LOOPBACK}, /* 127 */
        {0xa9fe0000, 16, NET_LOCAL},   /* 169.254: link-local, metadata of most clouds */
        {0x646464c8, 32, NET_LOCAL},   /* 100.100.100.200: metadata of Alibaba Cloud */
        {0xc0000000, 24, NET_LOCAL},   /* 192.0.0.0/24: metadata of Oracle Cloud */
        {0xc6120000, 15, NET_PRIVATE}, /* 198.18: benchmarks */
        {0x0a000000, 8, NET_PRIVATE},  {0xac100000, 12, NET_PRIVATE},
        {0xc0a80000, 16, NET_PRIVATE}, {0x64400000, 10, NET_PRIVATE}, /* carrier NAT */
        {0xe0000000, 4, NET_NEVER},                                   /* multicast */
        {0xf0000000, 4, NET_NEVER},                                   /* reserved, broadcast */
    };

    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if (in4(a, nets[i].net, nets[i].bits))
            return nets[i].is;
    return NET_PUBLIC;
}

static uint32_t big32(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static enum net net_of6(const unsigned char b[16])
{
    static const unsigned char zero[16], nat64[12] = {0, 0x64, 0xff, 0x9b},
                                         aws[8] = {0xfd, 0, 0x0e, 0xc2},
                                         google[8] = {0xfd, 0x20, 0, 0xce};
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (memcmp(b, mapped, 12) == 0 || memcmp(b, nat64, 12) == 0)
        return net_of4(big32(b + 12));
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
        return net_of4(big32(b + 2));
    if (memcmp(b, zero, 15) == 0)
        return b[15] == 1 ? NET_LOOPBACK : NET_LOCAL;
    if (memcmp(b, zero, 12) == 0) /* IPv4-compatible, obsolete */
        return net_of4(big32(b + 12));
    if (memcmp(b, aws, 8) == 0 || memcmp(b, google, 8) == 0) /* fd00:ec2::254, fd20:ce::254 */
        return NET_LOCAL;
    if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
        return NET_LOCAL;
    if ((b[0] & 0xfe) == 0xfc || (b[0] == 0xfe && (b[1] & 0xc0) == 0xc0))
        return NET_PRIVATE;
    return b[0] == 0xff ? NET_NEVER : NET_PUBLIC;
}

enum http_out_reach http_out_reach(const char *name)
{
#define X(symbol, text)                                                                            \
    if (strcmp(name, text) == 0)                                                                   \
        return REACH_##symbol;
    HTTP_OUT_REACHES(X)
#undef X
    return REACH_PRIVATE;
}

bool http_out_allowed(enum http_out_reach reach, const struct sockaddr *address, bool tls)
{
    enum net net = NET_NEVER;

    if (address->sa_family == AF_INET)
        net = net_of4(ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    else if (address->sa_family == AF_INET6)
        net = net_of6(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    switch (net) {
    case NET_PUBLIC: /* what goes over the internet in the clear gives its secrets away */
        return tls || reach == REACH_ANY;
    case NET_PRIVATE:
        return reach >= REACH_PRIVATE;
    case NET_LOOPBACK:
        return reach >= REACH_LOOPBACK;
    case NET_LOCAL:
        return reach == REACH_ANY;
    default:
        return false;
    }
}

static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_out *h = user;

    (void)purpose;
    if (!http_out_allowed(h->config.reach, &address->addr, h->tls)) {
        const void *at =
            address->family == AF_INET6
                ? (const void *)&((struct sockaddr_in6 *)(void *)&address->addr)->sin6_addr
                : (const void *)&((struct sockaddr_in *)(void *)&address->addr)->sin_addr;

        h->refused = true;
        if (!inet_ntop(address->family, at, h->seen, sizeof h->seen))
            h->seen[0] = '\0';
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Requests ------------------------------------------------------------------------------------ */

static void global_init(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct http_out *http_out_new(const struct http_out_config *config, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct http_out *h = calloc(1, sizeof *h);

    pthread_once(&once, global_init);
    if (h) {
        h->config = *config;
        h->curl = curl_easy_init();
        h->ca_file = config->ca_file && *config->ca_file ? strdup(config->ca_file) : NULL;
        buf_init(&h->body, HTTP_OUT_ANSWER_MAX);
    }
    if (!h || !h->curl) {
        http_out_free(h);
        err_memory(err);
        return NULL;
    }
    return h;
}

void http_out_free(struct http_out *h)
{
    if (!h)
        return;
    curl_easy_cleanup(h->curl);
    buf_fini(&h->body);
    free(h->ca_file);
    free(h);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
    struct http_out *h = user;

    if (h->body.len + size * n >= HTTP_OUT_ANSWER_MAX) {
        h->too_long = true;
        return 0;
    }
    buf_put(&h->body, bytes, size * n);
    return buf_ok(&h->body) ? size * n : 0;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *user)
{
    struct http_out *h = user;
    long so_far = 0;

    (void)bytes;
    curl_easy_getinfo(h->curl, CURLINFO_HEADER_SIZE, &so_far);
    if (so_far > HEADERS_MAX_BYTES) {
        h->too_long = true;
        return 0;
    }
    return size * n;
}

static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *more = strpbrk(line, "\r\n") ? NULL : curl_slist_append(*list, line);

    if (more)
        *list = more;
    return more != NULL;
}

static bool make_headers(const struct http_request *r, struct curl_slist **list)
{
    char type[128];
    bool ok = add_header(list, "Expect:");

    if (r->content_type) {
        snprintf(type, sizeof type, "Content-Type: %s", r->content_type);
        ok = ok && add_header(list, type);
    }
    for (size_t i = 0; i < HTTP_OUT_HEADERS && r->headers[i]; i++)
        ok = ok && add_header(list, r->headers[i]);
    return ok;
}

static void prepare(struct http_out *h, const struct http_request *r, struct curl_slist *headers)
{
    CURL *c = h->curl;

    curl_easy_reset(c); /* keeps connections */
    curl_easy_setopt(c, CURLOPT_URL, r->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)h->config.timeout_ms);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
    if (h->ca_file)
        curl_easy_setopt(c, CURLOPT_CAINFO, h->ca_file);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "framewatch/" FW_VERSION);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, h);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, h);
    if (r->user || r->password) {
        curl_easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(c, CURLOPT_USERNAME, r->user ? r->user : "");
        curl_easy_setopt(c, CURLOPT_PASSWORD, r->password ? r->password : "");
    }
    if (r->body) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body);
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(r->body));
    }
    if (strcmp(r->method, "GET") == 0)
        return;
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
    /* On a connection that was used before, libcurl sends again by itself when the other side
     * closes it without an answer: what was done already would be done twice. */
    curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
}

static int64_t header_i64(CURL *c, const char *name)
{
    struct curl_header *header;
    char *end;
    long long v;

    if (curl_easy_header(c, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return -1;
    v = strtoll(header->value, &end, 10);
    return end == header->value || v < 0 ? -1 : v;
}

static void read_limits(CURL *c, struct http_answer *out)
{
    curl_off_t after = 0;
    int64_t reset = header_i64(c, "x-ratelimit-reset");

    if (reset < 0)
        reset = header_i64(c, "ratelimit-reset");
    out->reset_s = reset > 0 ? reset : 0;
    out->exhausted =
        header_i64(c, "x-ratelimit-remaining") == 0 || header_i64(c, "ratelimit-remaining") == 0;
    if (curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &after) == CURLE_OK && after > 0)
        out->retry_after_ms = (after < RETRY_AFTER_MAX_S ? after : RETRY_AFTER_MAX_S) * 1000;
}

/* No whole answer: what it was, and whether the request may have arrived. */
static void judge(struct http_out *h, CURLcode code, struct http_answer *out)
{
    long sent = 0;

    curl_easy_getinfo(h->curl, CURLINFO_REQUEST_SIZE, &sent);
    out->unreachable = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
                       code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
                       code == CURLE_SSL_CACERT_BADFILE;
    out->maybe_done = !out->unreachable && sent > 0;
    out->refused = h->refused;
    if (h->refused)
        snprintf(out->error, sizeof out->error,
                 "%s may not be reached%s: see the setting notify_reach", h->seen,
                 h->tls ? "" : " by http");
    else if (h->too_long)
        snprintf(out->error, sizeof out->error, "the answer is longer than %zu bytes",
                 HTTP_OUT_ANSWER_MAX);
    else
        snprintf(out->error, sizeof out->error, "%s", curl_easy_strerror(code));
}

bool http_out_send(struct http_out *h, const struct http_request *r, struct arena *mem,
                   struct http_answer *out, struct err *err)
{
    struct curl_slist *headers = NULL;
    CURLcode code;
    long status = 0;

    *out = (struct http_answer){.body = ""};
    if (strlen(r->url) > URL_MAX_BYTES || !make_headers(r, &headers)) {
        curl_slist_free_all(headers);
        return err_set(err, ERR_INTERNAL, "a request that cannot be made");
    }
    h->tls = strncmp(r->url, "https:", 6) == 0;
    h->refused = h->too_long = false;
    h->seen[0] = '\0';
    buf_reset(&h->body);
    prepare(h, r, headers);
    code = curl_easy_perform(h->curl);
    curl_slist_free_all(headers);
    read_limits(h->curl, out);
    if (code != CURLE_OK) {
        judge(h, code, out);
        return true;
    }
    curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    out->status = (int)status;
    out->len = h->body.len;
    out->body = arena_dup(mem, h->body.at ? (const char *)h->body.at : "", h->body.len);
    return out->body || err_full(err, "an answer");
}

/* URLs ---------------------------------------------------------------------------------------- */

static char *url_part(CURLU *u, CURLUPart part, unsigned flags)
{
    char *text = NULL;

    return curl_url_get(u, part, &text, flags) == CURLUE_OK ? text : NULL;
}

bool http_out_origin(const char *url, struct arena *mem, const char **origin, struct err *err)
{
    CURLU *u = curl_url();
    char text[512], *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    bool ok = u && strlen(url) <= URL_MAX_BYTES && !strpbrk(url, " \r\n\t") &&
              curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK;

    if (ok) {
        scheme = url_part(u, CURLUPART_SCHEME, 0);
        host = url_part(u, CURLUPART_HOST, 0);
        port = url_part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
        user = url_part(u, CURLUPART_USER, 0);
        ok = scheme && host && port && !user &&
             (strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0);
    }
    if (ok) {
        size_t n = (size_t)snprintf(text, sizeof text, "%s://%s:%s", scheme, host, port);

        ok = n < sizeof text;
        for (char *c = text; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        *origin = ok ? arena_dup(mem, text, n) : NULL;
        ok = *origin != NULL;
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(user);
    curl_url_cleanup(u);
    return ok || err_set(err, ERR_INVALID,
                         "must be an http or https URL without user and password in it");
}

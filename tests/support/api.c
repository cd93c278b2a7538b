#include "support/api.h"

#include "base/digest.h"
#include "server/api/api.h"
#include "server/http/context.h"
#include "server/http/log.h"
#include "server/http/server.h"
#include "server/http/tus_headers.h"
#include "server/jobs/worker.h"
#include "server/web/web.h"
#include "support/openapi.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATIENCE_MS 120000 /* a machine may be busy with other things */

struct api_server {
    struct db_pool *pool;
    struct secret secret;
    struct context context;
    struct http_server *http;
    CURL *curl;
    size_t n_routes;
    struct route routes[]; /* of the API and of the page */
};

static void start_server(struct api *api)
{
    struct api_server *s =
        calloc(1, sizeof *s + (api_routes_n + web_routes_n) * sizeof s->routes[0]);
    struct err err = {0};

    memcpy(s->routes, api_routes, api_routes_n * sizeof s->routes[0]);
    memcpy(s->routes + api_routes_n, web_routes, web_routes_n * sizeof s->routes[0]);
    s->n_routes = api_routes_n + web_routes_n;

    s->pool = db_pool_new(api->conninfo, 4, &err);
    s->secret.len = SECRET_BYTES_MIN;
    memset(s->secret.bytes, 7, s->secret.len);
    s->context = (struct context){.version = "0-test",
                                  .public_url = "",
                                  .secret = &s->secret,
                                  .login_s = 3600,
                                  .max_session_bytes = 16 << 20,
                                  .pool = s->pool};

    struct http_config config = {
        .listen = "127.0.0.1:0",
        .listen_fd = -1,
        .accepts_uploads = true,
        .threads = 1,
        .connections = 64,
        .idle_s = 60,
        .header_ms = PATIENCE_MS,
        .grace_ms = PATIENCE_MS,
        .min_bytes_per_s = 1,
        .drain_ms = PATIENCE_MS,
        .body_memory = 32 << 20,
        .request_memory = 8 << 20,
        .dispatch_threads = 3,
        .dispatch_queue = 64,
        .borrow_ms = PATIENCE_MS,
        .commit_queue = 256,
        .uploads = {.session_max = 8 << 20, .symbols_max = 64 << 20, .expire_s = 3600},
        .conninfo = api->conninfo,
        .pool = s->pool,
        .context = &s->context,
        .routes = s->routes,
        .n_routes = s->n_routes,
    };

    s->http = s->pool ? http_start(&config, &err) : NULL;
    if (!s->http)
        fail_msg("the server does not start: %s", err.text);
    s->curl = curl_easy_init();
    snprintf(api->base, sizeof api->base, "http://127.0.0.1:%u", http_port(s->http));
    api->server = s;
}

static void make_app(struct api *api, unsigned i)
{
    static const char *const role[] = {"", "ingest", "read", "admin"};
    unsigned char hash[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    api->app[i] =
        pg_i64(api->conninfo, "INSERT INTO app (name) VALUES ('game%u') RETURNING app_id", i);
    for (unsigned r = ROLE_INGEST; r <= ROLE_ADMIN; r++) {
        snprintf(api->key[i][r], sizeof api->key[i][r], "fw_%s_%043u", role[r], i + 1);
        sha256(api->key[i][r], strlen(api->key[i][r]), hash);
        to_hex(hash, sizeof hash, hex);
        pg_sql(api->conninfo,
               "INSERT INTO api_key (key_hash, app_id, role, hint)"
               " VALUES ('\\x%s', %lld, '%s', 'fw_%s_%u')",
               hex, (long long)api->app[i], role[r], role[r], i);
    }
}

int api_setup(void **state)
{
    struct api *api = calloc(1, sizeof *api);
    struct err err = {0};

    /* a refused request is no news here */
    if (!log_open(open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_ERROR, &err))
        fail_msg("%s", err.text);
    pg_test_db(api->conninfo);
    for (unsigned i = 0; i < API_APPS; i++)
        make_app(api, i);
    api->doc = openapi_load(FW_SOURCE_DIR "/server/api/openapi.json");
    start_server(api);
    *state = api;
    return 0;
}

static void forget(struct api_answer *a)
{
    json_decref(a->json);
    free(a->body);
    *a = (struct api_answer){0};
}

static void stop_server(struct api *api)
{
    curl_easy_cleanup(api->server->curl);
    http_stop(api->server->http);
    db_pool_free(api->server->pool);
    free(api->server);
}

void api_restart(struct api *api)
{
    stop_server(api);
    start_server(api);
}

int api_teardown(void **state)
{
    struct api *api = *state;

    forget(&api->answer);
    stop_server(api);
    json_decref(api->doc);
    pg_drop_db(api->conninfo);
    free(api);
    log_close();
    return 0;
}

/* Calls --------------------------------------------------------------------------------------- */

static size_t on_body(char *at, size_t one, size_t n, void *user)
{
    struct api_answer *a = user;

    a->body = realloc(a->body, a->len + one * n + 1);
    if (!a->body)
        abort();
    memcpy(a->body + a->len, at, one * n);
    a->len += one * n;
    a->body[a->len] = '\0';
    return one * n;
}

static void keep_header(const char *line, size_t n, const char *name, char *to, size_t size)
{
    size_t len = strlen(name);

    if (n > len + 1 && strncasecmp(line, name, len) == 0 && line[len] == ':') {
        const char *value = line + len + 1;

        value += strspn(value, " ");
        snprintf(to, size, "%.*s", (int)strcspn(value, "\r\n"), value);
    }
}

static size_t on_header(char *line, size_t one, size_t n, void *user)
{
    struct api_answer *a = user;

    keep_header(line, one * n, "Content-Type", a->type, sizeof a->type);
    keep_header(line, one * n, "ETag", a->etag, sizeof a->etag);
    keep_header(line, one * n, "Location", a->location, sizeof a->location);
    keep_header(line, one * n, "X-Request-Id", a->request_id, sizeof a->request_id);
    keep_header(line, one * n, "Cache-Control", a->cache, sizeof a->cache);
    keep_header(line, one * n, "Retry-After", a->retry_after, sizeof a->retry_after);
    keep_header(line, one * n, "Set-Cookie", a->cookie, sizeof a->cookie);
    keep_header(line, one * n, "Content-Security-Policy", a->policy, sizeof a->policy);
    keep_header(line, one * n, "Content-Encoding", a->coding, sizeof a->coding);
    keep_header(line, one * n, "Vary", a->vary, sizeof a->vary);
    return one * n;
}

static struct curl_slist *header_list(const struct api_call *call)
{
    struct curl_slist *list = NULL;
    char line[256];

    if (call->key) {
        snprintf(line, sizeof line, "Authorization: Bearer %s", call->key);
        list = curl_slist_append(list, line);
    }
    if (call->body) {
        snprintf(line, sizeof line, "Content-Type: %s",
                 call->content_type ? call->content_type : "application/json");
        list = curl_slist_append(list, line);
        list = curl_slist_append(list, "Expect:");
    }
    for (const char *const *h = call->headers; *h; h++)
        list = curl_slist_append(list, *h);
    return list;
}

static void exchange(struct api *api, const struct api_call *call)
{
    CURL *curl = api->server->curl;
    struct curl_slist *headers = header_list(call);
    char url[2048];
    curl_off_t us = 0;
    long status = 0;

    snprintf(url, sizeof url, "%s%s", api->base, call->path);
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(curl, CURLOPT_NOBODY, (long)(strcmp(call->method, "HEAD") == 0));
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)PATIENCE_MS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &api->answer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &api->answer);
    if (call->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)(call->body_len ? call->body_len : strlen(call->body)));
    }

    CURLcode rc = curl_easy_perform(curl);

    curl_slist_free_all(headers);
    if (rc != CURLE_OK)
        fail_msg("%s %s: %s", call->method, call->path, curl_easy_strerror(rc));
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME_T, &us);
    api->answer.status = (int)status;
    api->answer.us = us;
}

const struct api_answer *api_send(struct api *api, struct api_call call)
{
    struct api_answer *a = &api->answer;
    struct err err = {0};

    forget(a);
    exchange(api, &call);
    bool json = strstr(a->type, "json") && a->len && !a->coding[0];

    if (json)
        a->json = json_loadb((const char *)a->body, a->len, JSON_REJECT_DUPLICATES, NULL);
    if (json && !a->json)
        fail_msg("%s %s: not JSON: %.300s", call.method, call.path, (const char *)a->body);
    if (!call.undescribed && strcmp(call.method, "HEAD") != 0 &&
        !openapi_check(api->doc, call.method, call.path, a->status, a->type, a->json, &err))
        fail_msg("%s %s, status %d: %s\n%.500s", call.method, call.path, a->status, err.text,
                 a->body ? (const char *)a->body : "");
    return a;
}

static json_t *expect(struct api *api, int status, const char *path)
{
    if (api->answer.status != status)
        fail_msg("%s: status %d, not %d: %.400s", path, api->answer.status, status,
                 api->answer.body ? (const char *)api->answer.body : "");
    return api->answer.json;
}

json_t *api_get(struct api *api, unsigned app, enum role role, int status, const char *fmt, ...)
{
    char path[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    api_send(api, (struct api_call){.method = "GET", .path = path, .key = api->key[app][role]});
    return expect(api, status, path);
}

json_t *api_post(struct api *api, unsigned app, enum role role, int status, const char *path,
                 const char *body)
{
    api_send(api, (struct api_call){
                      .method = "POST", .path = path, .key = api->key[app][role], .body = body});
    return expect(api, status, path);
}

/* Sessions ------------------------------------------------------------------------------------ */

void api_work(struct api *api)
{
    struct worker_config config = worker_config_default(api->conninfo);
    struct worker_counts counts = {0};
    struct err err = {0};

    if (!worker_drain(&config, &counts, &err))
        fail_msg("worker: %s", err.text);
    if (counts.failed || counts.dead)
        fail_msg("worker: %s", pg_rows(api->conninfo, "SELECT last_error FROM job"));
}

void api_upload(struct api *api, unsigned app, struct session_builder *b, const char *install)
{
    size_t n;
    const unsigned char *bytes = sb_bytes(b, &n);
    char length[64], metadata[512], encoded[256];

    base64_encode(install, strlen(install), encoded);
    snprintf(length, sizeof length, "Upload-Length: %zu", n);
    snprintf(metadata, sizeof metadata, "Upload-Metadata: install %s", encoded);
    api_send(api, (struct api_call){.method = "POST",
                                    .path = "/v1/uploads",
                                    .key = api->key[app][ROLE_INGEST],
                                    .body = (const char *)bytes,
                                    .body_len = n,
                                    .content_type = "application/offset+octet-stream",
                                    .headers = {"Tus-Resumable: 1.0.0", length, metadata}});
    expect(api, 201, "/v1/uploads");
    api_work(api);
}

void api_play(struct api *api, unsigned app, uint64_t number, unsigned seconds, char id[33])
{
    struct session_builder *b = sb_new(number);

    sb_part(b, 0, 0);
    sb_end(b, sb_play(b, 0, seconds, (unsigned)number), END_STOPPED);
    api_upload(api, app, b, "install 1");
    to_hex(b->session_id, sizeof b->session_id, id);
    sb_free(b);
}

/* Members ------------------------------------------------------------------------------------- */

int64_t api_i64(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);

    if (!json_is_integer(v))
        fail_msg("no whole number '%s'", name);
    return json_integer_value(v);
}

const char *api_text(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);

    if (!json_is_string(v))
        fail_msg("no text '%s'", name);
    return json_string_value(v);
}

void api_problem(const json_t *problem, const char *code, const char *field)
{
    const char *have = json_string_value(json_object_get(problem, "field"));

    assert_string_equal(api_text(problem, "code"), code);
    assert_string_equal(have ? have : "", field);
}

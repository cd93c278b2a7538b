/* The SDK, its default transport and the real server: what was recorded is what arrives. */
#include "support/server.h"

#include "base/digest.h"
#include "platform/transport_curl.h"
#include "src/clock.h"
#include "src/control/context.h"
#include "src/report/uploader.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define BIG_BYTES 900000u /* four chunks */
#define BIG_NAME "00112233445566778899aabbccddeeff-0000.fws"

struct fixture {
    struct server *server;
    char storage[64], url[64], said[8192];
    pthread_mutex_t mutex; /* guards said */
    fw_options options;
    struct fw_transport_curl *curl;  /* of the counting transport */
    _Atomic unsigned exchanges_left; /* then the network is gone */
    _Atomic uint64_t sent;
};

static void say(void *user, fw_log_level level, const char *text)
{
    struct fixture *fx = user;
    size_t n;

    (void)level;
    pthread_mutex_lock(&fx->mutex);
    n = strlen(fx->said);
    snprintf(fx->said + n, sizeof fx->said - n, "%s\n", text);
    pthread_mutex_unlock(&fx->mutex);
}

static bool has_said(struct fixture *fx, const char *text)
{
    pthread_mutex_lock(&fx->mutex);
    bool found = strstr(fx->said, text);
    pthread_mutex_unlock(&fx->mutex);
    return found;
}

static void point_at_server(struct fixture *fx)
{
    snprintf(fx->url, sizeof fx->url, "http://127.0.0.1:%u", fx->server->port);
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof *fx);

    fx->server = server_new(SERVER_BINARY);
    server_start(fx->server);
    point_at_server(fx);
    pthread_mutex_init(&fx->mutex, NULL);
    snprintf(fx->storage, sizeof fx->storage, "/tmp/sdk_e2e_XXXXXX");
    assert_non_null(mkdtemp(fx->storage));
    fw_options_init(&fx->options);
    fx->options.server_url = fx->url;
    fx->options.api_key = fx->server->ingest;
    fx->options.storage_path = fx->storage;
    fx->options.app = "e2e";
    fx->options.version_name = "1.0.0";
    fx->options.version_code = 1;
    fx->options.target_interval_us = 16667;
    fx->options.log = say;
    fx->options.user = fx;
    fx->options.flags = FW_UPLOAD_AT_STOP;
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    DIR *d = opendir(fx->storage);
    struct dirent *e;

    while ((e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(fx->storage);

    int code = server_stop(fx->server);
    server_free(fx->server);
    pthread_mutex_destroy(&fx->mutex);
    free(fx);
    return code;
}

/* Frames of 16 ms, then one of 400 ms, in a scene. */
static void play(fw_context *fw)
{
    uint64_t t = fw_now_ns();

    fw_scene(fw, "battle", "frost", NULL, 0);
    fw_step(fw, "open door");
    for (int i = 0; i < 20; i++, t += 16 * MS)
        fw_frame_at(fw, t);
    t += 384 * MS;
    fw_frame_at(fw, t);
}

static char *first_file(struct fixture *fx)
{
    struct fw_store store;
    struct fw_file list[FW_LIST_MAX];
    struct fw_log log = {0};

    assert_true(fw_store_open(&store, fx->storage, &log));
    size_t n = fw_store_list(&store, list);
    fw_store_close(&store);
    return n ? strdup(list[0].name) : NULL;
}

static unsigned char *read_stored(struct fixture *fx, const char *name, size_t *n)
{
    char path[160];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", fx->storage, name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    unsigned char *bytes = malloc((size_t)st.st_size + 1);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    *n = (size_t)st.st_size;
    return bytes;
}

/* What the database holds of a file, in order of its chunks. */
static void assert_arrived(struct fixture *fx, const char *name, const unsigned char *bytes,
                           size_t n)
{
    char id[37], *hex = malloc(2 * n + 1);

    fw_file_id(name, id);
    to_hex(bytes, n, hex);
    assert_int_equal(pg_i64(fx->server->conninfo,
                            "SELECT count(*) FROM upload WHERE file_id = '%s' AND state = "
                            "'complete' AND length = %zu AND at = length",
                            id, n),
                     1);
    char *got = pg_rows(fx->server->conninfo,
                        "SELECT string_agg(encode(c.bytes, 'hex'), '' ORDER BY c.at) FROM upload u "
                        "JOIN upload_chunk c USING (shard, upload_id) WHERE u.file_id = '%s'",
                        id);
    got[strcspn(got, "\n")] = 0;
    assert_int_equal(strlen(got), 2 * n);
    assert_true(!strcmp(got, hex));
    free(got);
    free(hex);
}

static bool is_analysed(void *data)
{
    struct fixture *fx = data;

    return pg_i64(fx->server->conninfo, "SELECT count(*) FROM session") >= 2;
}

static void a_recorded_session_arrives_byte_for_byte_and_is_answered_by_its_id(void **state)
{
    struct fixture *fx = *state;
    char id[33], path[128], key[256], install[64], *name;
    unsigned char *bytes;
    size_t n;

    fx->options.flags = FW_NO_UPLOAD;
    fw_context *fw = fw_start(&fx->options);
    assert_non_null(fw);
    fw_session_id(fw, id);
    snprintf(install, sizeof install, "%s", fw->install);
    play(fw);
    fw_stop(fw);
    name = first_file(fx);
    assert_non_null(name);
    bytes = read_stored(fx, name, &n);

    fx->options.flags = FW_UPLOAD_AT_STOP;
    fw_stop(fw_start(&fx->options));
    assert_null(first_file(fx)); /* deleted: the server has all */
    assert_arrived(fx, name, bytes, n);
    assert_int_equal(pg_i64(fx->server->conninfo,
                            "SELECT count(*) FROM upload WHERE install_hash IS NULL OR metadata "
                            "LIKE '%%%s%%'",
                            install),
                     0);

    server_await(is_analysed, fx, "both sessions");
    snprintf(path, sizeof path, "/v1/sessions/%s", id);
    snprintf(key, sizeof key, "Authorization: Bearer %s\r\n", fx->server->read);
    struct answer *a = server_call(fx->server, "GET", path, key, NULL, 0);
    assert_int_equal(a->status, 200);
    assert_non_null(memmem(a->body, a->len, "\"collectors\":[", 14)); /* what the SDK itself cost */
    assert_int_equal(
        pg_i64(fx->server->conninfo,
               "SELECT count(*) FROM jank_event j JOIN session s USING (shard, "
               "session_id) WHERE replace(s.session_id::text, '-', '') = '%s' AND "
               "j.duration_us BETWEEN 399000 AND 401000", /* no other pause is so long */
               id),
        1);
    free(name);
    free(bytes);
}

/* A file of its own making: bytes that differ at every offset that matters. */
static unsigned char *given_big_file(struct fixture *fx)
{
    unsigned char *bytes = malloc(BIG_BYTES);
    uint32_t x = 2463534242u;
    char path[160];

    for (size_t i = 0; i < BIG_BYTES; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(x >> 24);
    }
    snprintf(path, sizeof path, "%s/" BIG_NAME, fx->storage);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, bytes, BIG_BYTES), BIG_BYTES);
    close(fd);
    return bytes;
}

static void an_upload_survives_kill_9_of_the_server_between_chunks(void **state)
{
    struct fixture *fx = *state;
    unsigned char *bytes = given_big_file(fx), *chunk = malloc(FW_TUS_CHUNK_BYTES);
    struct fw_transport_curl *curl = fw_transport_curl_new(NULL);
    struct fw_server server = {.url = fx->url,
                               .api_key = fx->server->ingest,
                               .transport = {fw_transport_curl_exchange, curl},
                               .timeout_ms = SERVER_PATIENCE_MS};
    char id[37];

    fw_file_id(BIG_NAME, id);
    const struct fw_tus_field fields[] = {{"kind", "session"}, {"fileid", id}, {"install", "i"}};
    struct fw_tus tus = {.server = &server,
                         .fields = fields,
                         .n_fields = 3,
                         .length = BIG_BYTES,
                         .read = fw_tus_read_memory,
                         .user = bytes,
                         .chunk = chunk,
                         .chunk_bytes = FW_TUS_CHUNK_BYTES,
                         .random = 1};

    for (int chunks = 0; chunks < 3; chunks++) {
        enum fw_tus_result result;

        while ((result = fw_tus_step(&tus)) == FW_TUS_WAIT)
            ; /* the server is there: no need to wait as asked */
        assert_int_equal(result, FW_TUS_MORE);
        server_kill9(fx->server);
        assert_int_equal(fw_tus_step(&tus), FW_TUS_WAIT); /* nobody answers */
        server_start(fx->server);
        point_at_server(fx);
    }
    assert_int_equal(fw_tus_run(&tus, 4 * SERVER_PATIENCE_MS), FW_TUS_DONE);
    assert_arrived(fx, BIG_NAME, bytes, BIG_BYTES);
    /* What an acknowledgement was given for was not sent again: at most one chunk a kill was. */
    assert_in_range(tus.sent_bytes, BIG_BYTES, BIG_BYTES + 3 * FW_TUS_CHUNK_BYTES);
    fw_transport_curl_free(curl);
    free(bytes);
    free(chunk);
}

/* libcurl, until the network is gone. */
static int failing_exchange(void *user, fw_http_request *r)
{
    struct fixture *fx = user;

    if (!fx->exchanges_left)
        return -1;
    fx->exchanges_left--;
    atomic_fetch_add(&fx->sent, r->body_len);
    return fw_transport_curl_exchange(fx->curl, r);
}

static bool network_is_gone(void *data)
{
    return ((struct fixture *)data)->exchanges_left == 0;
}

static void the_next_launch_goes_on_where_the_last_one_was_cut_off(void **state)
{
    struct fixture *fx = *state;
    unsigned char *bytes = given_big_file(fx);
    char record[160];

    fx->curl = fw_transport_curl_new(NULL);
    fx->options.transport = failing_exchange;
    fx->options.flags = 0;
    fx->exchanges_left = 3; /* the configuration, and two chunks */
    fw_context *fw = fw_start(&fx->options);
    server_await(network_is_gone, fx, "two chunks");
    fw_stop(fw);
    assert_int_equal(fx->sent, 2 * FW_TUS_CHUNK_BYTES);
    snprintf(record, sizeof record, "%s/%.37s.state", fx->storage, BIG_NAME);
    assert_int_equal(access(record, F_OK), 0);

    server_kill9(fx->server);
    server_start(fx->server);
    point_at_server(fx);
    fx->exchanges_left = 1000;
    fx->sent = 0;
    fx->options.flags = FW_UPLOAD_AT_STOP;
    fw_stop(fw_start(&fx->options));
    assert_arrived(fx, BIG_NAME, bytes, BIG_BYTES);
    assert_int_not_equal(access(record, F_OK), 0);
    /* The rest of it, and what this short session itself recorded. */
    assert_in_range(fx->sent, BIG_BYTES - 2 * FW_TUS_CHUNK_BYTES,
                    BIG_BYTES - 2 * FW_TUS_CHUNK_BYTES + 20000);
    fw_transport_curl_free(fx->curl);
    free(bytes);
}

static bool configuration_is_in_force(void *data)
{
    return has_said(data, "configuration 1 is in force");
}

static void the_servers_configuration_switches_the_sdk_off(void **state)
{
    struct fixture *fx = *state;
    char headers[320];
    static const char off[] = "{\"enabled\": false}";

    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nContent-Type: application/json\r\n", fx->server->admin);
    assert_int_equal(
        server_call(fx->server, "PUT", "/v1/config", headers, off, sizeof off - 1)->status, 200);

    fw_context *fw = fw_start(&fx->options);
    server_await(configuration_is_in_force, fx, "the configuration");
    fw_stop(fw);
    assert_true(has_said(fx, "configuration 1 is in force"));

    int64_t before = pg_i64(fx->server->conninfo, "SELECT count(*) FROM upload");
    fw = fw_start(&fx->options);
    play(fw);
    fw_stop(fw);
    assert_int_equal(pg_i64(fx->server->conninfo, "SELECT count(*) FROM upload"), before);
}

static void a_wrong_key_keeps_the_file_and_says_so(void **state)
{
    struct fixture *fx = *state;
    char *name;

    fx->options.api_key = "fw_nobody";
    fw_context *fw = fw_start(&fx->options);
    play(fw);
    uint64_t begin = fw_now_ns();
    fw_stop(fw); /* tries to send, and does not insist */
    assert_true((fw_now_ns() - begin) / MS < FW_UPLOAD_DRAIN_MS);
    assert_true(has_said(fx, "upload denied (401)"));
    name = first_file(fx);
    assert_non_null(name);
    free(name);
}

/* The class of the connection to the server's port, which libcurl keeps; -1: there is none. */
static int class_of_connection(unsigned port)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t n = sizeof peer;
        int class;

        if (getpeername(fd, (struct sockaddr *)&peer, &n) != 0 || peer.sin_family != AF_INET ||
            ntohs(peer.sin_port) != port)
            continue;
        n = sizeof class;
        return getsockopt(fd, IPPROTO_IP, IP_TOS, &class, &n) == 0 ? class : -1;
    }
    return -1;
}

static void the_connection_lets_the_games_own_go_first(void **state)
{
    struct fixture *fx = *state;
    struct fw_transport_curl *curl = fw_transport_curl_new(NULL);
    struct fw_server server = {.url = fx->url,
                               .api_key = fx->server->ingest,
                               .transport = {fw_transport_curl_exchange, curl},
                               .timeout_ms = SERVER_PATIENCE_MS};
    const struct fw_exchange x = {.method = "GET", .path = "/v1/config"};
    struct fw_answer answer = {0};

    fw_http(&server, &x, &answer);
    assert_int_equal(answer.status, 200);
    assert_int_equal(class_of_connection(fx->server->port), 8 << 2); /* CS1, RFC 4594 */
    fw_transport_curl_free(curl);
}

#define E2E_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        E2E_TEST(a_recorded_session_arrives_byte_for_byte_and_is_answered_by_its_id),
        E2E_TEST(an_upload_survives_kill_9_of_the_server_between_chunks),
        E2E_TEST(the_next_launch_goes_on_where_the_last_one_was_cut_off),
        E2E_TEST(the_servers_configuration_switches_the_sdk_off),
        E2E_TEST(a_wrong_key_keeps_the_file_and_says_so),
        E2E_TEST(the_connection_lets_the_games_own_go_first),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}

/* The SDK, a network that does its worst, and a real server that is killed: every byte arrives
 * once. And what a crashed game leaves, as the server tells it. */
#include "support/server.h"
#include "support/toxic.h"

#include "base/digest.h"
#include "platform/transport_curl.h"
#include "src/clock.h"
#include "src/control/context.h"
#include "src/report/uploader.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define SESSIONS 3
#define BIG_FILES 3
#define CHANGES 3       /* deaths of the server, and launches */
#define PARTS 3         /* of each */
#define BIG_STEPS 16000 /* breadcrumbs of the big file: four chunks and more */
#define MAX_FILES 32

static uint64_t phone_ns = 1000 * MS; /* the uploader's clock: nobody waits for it */

static uint64_t phone_now(void)
{
    return phone_ns;
}

struct sent {
    char name[FW_FILE_NAME_BYTES];
    char sha256[65];
    size_t bytes;
};

struct fixture {
    struct server *server;
    char storage[64], url[64];
    struct toxic toxic;
    struct fw_log log;
    struct fw_store store;
    struct fw_transport_curl *curl;
    struct fw_uploader uploader;
    unsigned exchanges;
    struct sent sent[MAX_FILES];
    size_t n_sent;
    char session[33];
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof *fx);

    fx->server = server_new(SERVER_BINARY);
    fx->server->args[0] = "--job-lease-ms=3000"; /* of workers that are killed */
    server_start(fx->server);
    snprintf(fx->storage, sizeof fx->storage, "/tmp/sdk_network_XXXXXX");
    assert_non_null(mkdtemp(fx->storage));
    assert_true(fw_store_open(&fx->store, fx->storage, &fx->log));
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
    fw_store_close(&fx->store);

    int code = server_stop(fx->server);
    server_free(fx->server);
    free(fx);
    return code;
}

static void options_for(struct fixture *fx, fw_options *o)
{
    fw_options_init(o);
    o->server_url = fx->url;
    o->api_key = fx->server->ingest;
    o->storage_path = fx->storage;
    o->app = "network";
    o->version_name = "1.0.0";
    o->version_code = 1;
    o->target_interval_us = 16667;
    o->flags = FW_NO_UPLOAD | FW_NO_STACKS | FW_NO_CRASHES;
}

static size_t count_files(struct fixture *fx)
{
    struct fw_file file[FW_LIST_MAX];

    return fw_store_list(&fx->store, file);
}

/* A session of several parts: each visit to the background ends one. */
static void record(struct fixture *fx)
{
    size_t before = count_files(fx);
    fw_options options;

    options_for(fx, &options);
    fw_context *fw = fw_start(&options);
    assert_non_null(fw);
    for (size_t part = 1; part <= PARTS; part++) {
        uint64_t t = fw_now_ns();

        fw_scene(fw, "battle", "frost", NULL, 0);
        for (int i = 0; i < 100; i++, t += MS)
            fw_frame_at(fw, t);
        while (fw_now_ns() < t)
            usleep(1000);
        if (part == PARTS)
            break;
        fw_background(fw);
        for (int i = 0; i < 120000 && count_files(fx) < before + part; i++)
            usleep(1000);
        fw_foreground(fw);
    }
    fw_stop(fw);
    assert_int_equal(count_files(fx), before + PARTS);
}

/* One valid part that takes many chunks. */
static void given_big_file(struct fixture *fx, unsigned number)
{
    struct fw_wire_header header = {.app = "network", .platform = FW_PLATFORM_LINUX};
    struct fw_compressor *zstd = fw_compressor_new(1u << 20);
    char session[33], step[65] = "";
    struct fw_buf raw, file;
    struct fw_part part;
    uint32_t x = 2463534242u + number;

    for (size_t i = 0; i < sizeof header.session_id; i++)
        header.session_id[i] = (unsigned char)(i * 7 + number);
    fw_wire_session_id(header.session_id, "install");
    to_hex(header.session_id, sizeof header.session_id, session);
    fw_buf_init(&raw, 4u << 20);
    fw_buf_init(&file, 4u << 20);
    fw_wire_header(&raw, &header);
    for (uint64_t i = 0; i < BIG_STEPS; i++) {
        for (size_t k = 0; k < 64; k++) {
            x = x * 1664525u + 1013904223u;
            step[k] = (char)('!' + (x >> 24) % 90);
        }
        fw_wire_step(&raw, i * 1000, step);
        if (raw.len > 900000 || i + 1 == BIG_STEPS) {
            assert_true(fw_compress(zstd, raw.at, raw.len, &file));
            fw_buf_reset(&raw);
        }
    }
    assert_true(file.len > 3 * FW_TUS_CHUNK_BYTES);
    assert_true(fw_part_begin(&fx->store, &part, session, 0, file.at, file.len));
    fw_part_finish(&fx->store, &part);
    fw_buf_fini(&raw);
    fw_buf_fini(&file);
    fw_compressor_free(zstd);
}

static void note_files(struct fixture *fx)
{
    struct fw_file file[FW_LIST_MAX];
    unsigned char *bytes = malloc(4u << 20), hash[SHA256_BYTES];

    fx->n_sent = fw_store_list(&fx->store, file);
    assert_in_range(fx->n_sent, 1, MAX_FILES);
    for (size_t i = 0; i < fx->n_sent; i++) {
        struct sent *s = &fx->sent[i];
        int fd = openat(fx->store.dir, file[i].name, O_RDONLY);

        memcpy(s->name, file[i].name, sizeof s->name);
        s->bytes = file[i].bytes;
        assert_int_equal(read(fd, bytes, 4u << 20), s->bytes);
        close(fd);
        sha256(bytes, s->bytes, hash);
        to_hex(hash, sizeof hash, s->sha256);
    }
    free(bytes);
}

static int counting_exchange(void *user, fw_http_request *r)
{
    struct fixture *fx = user;

    fx->exchanges++;
    return fw_transport_curl_exchange(fx->curl, r);
}

static void on_config(void *user, const struct fw_config *config)
{
    (void)user, (void)config;
}

/* A launch; the one before was killed. */
static void launch(struct fixture *fx)
{
    fw_transport_curl_free(fx->curl);
    fx->curl = fw_transport_curl_new(NULL);
    fx->uploader = (struct fw_uploader){.server = {.url = fx->url,
                                                   .api_key = fx->server->ingest,
                                                   .transport = {counting_exchange, fx},
                                                   .timeout_ms = 60000},
                                        .store = &fx->store,
                                        .log = &fx->log,
                                        .install = "00112233445566778899aabbccddeeff",
                                        .untold = FW_NETWORK_WIFI,
                                        .on_config = on_config,
                                        .now_ns = phone_now};
    fw_config_init(&fx->uploader.base);
    assert_true(fw_uploader_prepare(&fx->uploader));
}

static void go_on(struct fixture *fx)
{
    bool idle;
    uint64_t until = fw_uploader_work(&fx->uploader, &idle);

    if (until && !count_files(fx))
        return;
    if (until > phone_ns)
        phone_ns = until;
}

static void restart_server(struct fixture *fx)
{
    unsigned before = fx->exchanges;

    server_kill9(fx->server);
    while (fx->exchanges < before + 3 && count_files(fx)) /* nobody answers */
        go_on(fx);
    server_start(fx->server);
    atomic_store(&fx->toxic.target, fx->server->port);
}

static bool all_analysed(void *data)
{
    struct fixture *fx = data;

    return pg_i64(fx->server->conninfo, "SELECT count(*) FROM session_part") == (int64_t)fx->n_sent;
}

static void assert_arrived_once(struct fixture *fx, const struct sent *s)
{
    char id[37];

    fw_file_id(s->name, id);
    assert_int_equal(
        pg_i64(fx->server->conninfo, "SELECT count(*) FROM upload WHERE file_id = '%s'", id), 1);
    assert_int_equal(pg_i64(fx->server->conninfo,
                            "SELECT sum(length(c.bytes)) FROM upload u JOIN upload_chunk c USING "
                            "(shard, upload_id) WHERE u.file_id = '%s' AND u.state = 'complete'",
                            id),
                     s->bytes);
    char *got = pg_rows(fx->server->conninfo,
                        "SELECT encode(sha256(string_agg(c.bytes, ''::bytea ORDER BY c.at)), 'hex')"
                        " FROM upload u JOIN upload_chunk c USING (shard, upload_id) "
                        "WHERE u.file_id = '%s'",
                        id);
    got[strcspn(got, "\n")] = 0;
    assert_string_equal(got, s->sha256);
    free(got);
    assert_int_equal(pg_i64(fx->server->conninfo,
                            "SELECT count(*) FROM session_part WHERE encode(sha256, 'hex') = '%s'",
                            s->sha256),
                     1);
}

static void every_byte_arrives_once_through_the_worst_of_networks(void **state)
{
    struct fixture *fx = *state;
    unsigned deaths = 0, launches = 1;

    toxic_start(&fx->toxic, fx->server->port, 20240506);
    snprintf(fx->url, sizeof fx->url, "http://127.0.0.1:%u", fx->toxic.port);
    for (int i = 0; i < SESSIONS; i++)
        record(fx);
    for (unsigned i = 0; i < BIG_FILES; i++)
        given_big_file(fx, i);
    note_files(fx);
    launch(fx);
    while (count_files(fx) && fx->exchanges < 3000) {
        go_on(fx);
        if (deaths < CHANGES && fx->exchanges >= 6 + 8 * deaths) {
            restart_server(fx);
            deaths++;
        }
        if (launches <= CHANGES && fx->exchanges >= 9 * launches) {
            fw_uploader_fini(&fx->uploader);
            launch(fx);
            launches++;
        }
    }
    fw_uploader_fini(&fx->uploader);
    fw_transport_curl_free(fx->curl);
    toxic_stop(&fx->toxic);
    assert_int_equal(count_files(fx), 0);
    assert_int_equal(deaths, CHANGES);
    assert_int_equal(launches, CHANGES + 1);
    for (enum toxin i = 0; i < TOXIN_COUNT; i++)
        assert_true(fx->toxic.count[i] > 0);
    server_await(all_analysed, fx, "all parts");
    for (size_t i = 0; i < fx->n_sent; i++)
        assert_arrived_once(fx, &fx->sent[i]);
}

/* A crash, end to end ---------------------------------------------------------------------------
 */

#if defined(__clang__)
#define KEEP __attribute__((noinline, used))
#else
#define KEEP __attribute__((noinline, noclone, used))
#endif

static volatile uintptr_t nowhere = 16;

KEEP static void load_texture_of_nothing(void)
{
    *(volatile int *)nowhere = 1;
    __asm__ volatile("" ::: "memory");
}

KEEP static void enter_dungeon(void)
{
    load_texture_of_nothing();
    __asm__ volatile("" ::: "memory"); /* no tail call: it is to stand in the stack */
}

/* Another process: this program again. */
static int play_and_crash(const char *path)
{
    struct rlimit none = {0, 0};
    fw_options o;

    setrlimit(RLIMIT_CORE, &none);
    fw_options_init(&o);
    o.storage_path = path;
    o.app = "network";
    o.version_name = "1.0.0";
    o.version_code = 1;
    o.flags = FW_NO_UPLOAD | FW_NO_STACKS;
    fw_context *fw = fw_start(&o);
    while (atomic_load(&fw->crash.fd) < 0)
        usleep(1000);

    fw->recorder.settle_ms = 60000; /* a machine may be busy with other things */

    uint64_t t = fw_now_ns();
    fw_scene(fw, "battle", "frost", NULL, 0);
    for (int i = 0; i < 100; i++, t += MS)
        fw_frame_at(fw, t);
    fw_step(fw, "enter dungeon");
    enter_dungeon();
    return 0;
}

static void crash(struct fixture *fx)
{
    char self[512] = "";
    struct dirent *e;
    int status;

    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    pid_t pid = fork();
    if (!pid) {
        int silence = open("/dev/null", O_WRONLY);

        dup2(silence, 2);
        execl(self, self, fx->storage, NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    DIR *d = opendir(fx->storage);
    while ((e = readdir(d)))
        if (fw_file_is(e->d_name, ".crash"))
            snprintf(fx->session, sizeof fx->session, "%.32s", e->d_name);
    closedir(d);
    assert_int_equal(strlen(fx->session), 32);
}

static bool read_self(void *user, uint64_t offset, void *out, size_t n)
{
    return pread(*(int *)user, out, n, (off_t)offset) == (ssize_t)n;
}

/* The game's build uploads its symbols. */
static void upload_symbols(struct fixture *fx)
{
    static const struct fw_tus_field fields[] = {
        {"kind", "symbols"}, {"fileid", "symbols-of-this-test"}, {"filename", "sdk_network_test"}};
    struct fw_transport_curl *curl = fw_transport_curl_new(NULL);
    struct fw_server server = {.url = fx->url,
                               .api_key = fx->server->admin,
                               .transport = {fw_transport_curl_exchange, curl},
                               .timeout_ms = 60000};
    int fd = open("/proc/self/exe", O_RDONLY);
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    struct fw_tus tus = {.server = &server,
                         .fields = fields,
                         .n_fields = 3,
                         .length = (uint64_t)st.st_size,
                         .read = read_self,
                         .user = &fd,
                         .chunk = malloc(FW_TUS_CHUNK_BYTES),
                         .chunk_bytes = FW_TUS_CHUNK_BYTES,
                         .random = 1};
    assert_int_equal(fw_tus_run(&tus, 60000), FW_TUS_DONE);
    free(tus.chunk);
    close(fd);
    fw_transport_curl_free(curl);
}

static bool session_says(struct fixture *fx, const char *text)
{
    char path[64], key[256];

    snprintf(path, sizeof path, "/v1/sessions/%s", fx->session);
    snprintf(key, sizeof key, "Authorization: Bearer %s\r\n", fx->server->read);
    struct answer *a = server_call(fx->server, "GET", path, key, NULL, 0);
    return a->status == 200 && a->len && memmem(a->body, a->len, text, strlen(text));
}

static bool crash_reads(void *data)
{
    return session_says(data, "load_texture_of_nothing");
}

static void a_crash_is_shown_in_its_session_with_names(void **state)
{
    struct fixture *fx = *state;
    fw_options options;

    snprintf(fx->url, sizeof fx->url, "http://127.0.0.1:%u", fx->server->port);
    crash(fx);
    options_for(fx, &options);
    options.flags = FW_UPLOAD_AT_STOP | FW_NO_STACKS | FW_NO_CRASHES;
    fw_stop(fw_start(&options)); /* the next launch */
    assert_int_equal(count_files(fx), 0);
    upload_symbols(fx);
    server_await(crash_reads, fx, "the crash's functions");
    assert_true(session_says(fx, "enter_dungeon"));
    assert_true(session_says(fx, "SIGSEGV SEGV_MAPERR at 0x10 in thread main"));
    assert_int_equal(pg_i64(fx->server->conninfo,
                            "SELECT count(*) FROM session WHERE has_crash AND frames = 99 AND "
                            "replace(session_id::text, '-', '') = '%s'",
                            fx->session),
                     1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_byte_arrives_once_through_the_worst_of_networks,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crash_is_shown_in_its_session_with_names, set_up,
                                        tear_down),
    };

    if (argc == 2)
        return play_and_crash(argv[1]);
    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}

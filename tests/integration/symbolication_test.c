/* Symbols on the server, from the upload to the frames of a jank. */
#include "base/digest.h"
#include "server/db/db.h"
#include "server/jobs/symbols/index_child.h"
#include "server/jobs/worker.h"
#include "src/clock.h"
#include "src/control/context.h"
#include "support/api.h"
#include "support/native_build.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <zip.h>
#include <zstd.h>

#define BUILD_ID "00112233445566778899aabbccddeeff00112233"
#define GUID "33221100554477668899aabbccddeeff"

static unsigned n_uploads;

/* Doing -------------------------------------------------------------------------------------------
 */

static struct worker_config config_of(const struct api *api)
{
    struct worker_config c = worker_config_default(api->conninfo);

    c.index.program = FW_BINARY_DIR "/server/framewatchd";
    c.index.max_bytes = 64 << 20;
    c.backoff_ms = c.backoff_max_ms = 0;
    c.max_attempts = 2;
    return c;
}

static struct worker_counts drain_with(const struct worker_config *config)
{
    struct worker_counts counts = {0};
    struct err err = {0};

    if (!worker_drain(config, &counts, &err))
        fail_msg("worker: %s", err.text);
    return counts;
}

static void drain(struct api *api)
{
    struct worker_config config = config_of(api);
    struct worker_counts counts = drain_with(&config);

    if (counts.failed || counts.dead)
        fail_msg("worker: %s", pg_rows(api->conninfo, "SELECT kind, last_error FROM job"));
}

static const char *file_name = "out/libgame.so"; /* of what is sent */

/* Sends bytes as one upload; its id. */
static void send_file(struct api *api, unsigned app, const char *kind, const void *bytes, size_t n,
                      char id[33])
{
    char length[64], metadata[512], file_id[32], text[3][128];

    snprintf(file_id, sizeof file_id, "file-%u", n_uploads++);
    EVP_EncodeBlock((unsigned char *)text[0], (const unsigned char *)kind, (int)strlen(kind));
    EVP_EncodeBlock((unsigned char *)text[1], (const unsigned char *)file_id, (int)strlen(file_id));
    EVP_EncodeBlock((unsigned char *)text[2], (const unsigned char *)file_name,
                    (int)strlen(file_name));
    snprintf(length, sizeof length, "Upload-Length: %zu", n);
    snprintf(metadata, sizeof metadata, "Upload-Metadata: kind %s,fileid %s,filename %s", text[0],
             text[1], text[2]);
    api_send(api, (struct api_call){.method = "POST",
                                    .path = "/v1/uploads",
                                    .key = api->key[app][ROLE_ADMIN],
                                    .body = bytes,
                                    .body_len = n,
                                    .content_type = "application/offset+octet-stream",
                                    .headers = {"Tus-Resumable: 1.0.0", length, metadata}});
    assert_int_equal(api->answer.status, 201);
    snprintf(id, 33, "%s", strrchr(api->answer.location, '/') + 1);
}

static const json_t *outcome_of(struct api *api, unsigned app, const char *id)
{
    const json_t *list = json_object_get(
        api_get(api, app, ROLE_READ, 200, "/v1/symbols/files?upload=%s", id), "items");

    assert_int_equal(json_array_size(list), 1);
    return json_array_get(list, 0);
}

/* Sends, indexes, and says what became of it. */
static const json_t *upload(struct api *api, unsigned app, const char *kind, const void *bytes,
                            size_t n)
{
    char id[33];

    send_file(api, app, kind, bytes, n, id);
    drain(api);
    return outcome_of(api, app, id);
}

static void assert_outcome(const json_t *file, const char *outcome, const char *reason)
{
    if (strcmp(api_text(file, "outcome"), outcome) != 0 ||
        strcmp(api_text(file, "reason"), reason) != 0)
        fail_msg("outcome %s, reason %s: %s", api_text(file, "outcome"), api_text(file, "reason"),
                 api_text(file, "detail"));
}

/* A session with one jank whose stack goes through the library, the system and nowhere. */
static void play(struct api *api, unsigned app, uint64_t number, const struct native_build *b,
                 char id[33])
{
    struct session_builder *s = sb_new(number);

    sb_part(s, 0, 0);

    uint64_t t = sb_steady(s, 0, 300, 16660);
    uint32_t game = sb_module(s, "libgame.so", b->debug_id, 0x7000000000, 0x100000);
    uint32_t libc =
        sb_module(s, "libc.so", "ffeeddccbbaa99887766554433221100", 0x7100000000, 65536);
    uint32_t stack = sb_stack(
        s, "main",
        SB_FRAMES({.module = game, .offset = b->spin}, {.module = game, .offset = b->tick + 1},
                  {.module = libc, .offset = 0x4242}, {.offset = 0x123456789}));

    sb_jank(s, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
    sb_crash(s, t + 400000, 11, "SIGSEGV", stack);
    sb_end(s, t + 500000, END_STOPPED);
    api_upload(api, app, s, "install 1");
    to_hex(s->session_id, sizeof s->session_id, id);
    sb_free(s);
}

/* Frames of the session's only stack. */
static const json_t *stack_of(struct api *api, unsigned app, const char *session)
{
    const json_t *list = json_object_get(
        api_get(api, app, ROLE_READ, 200, "/v1/sessions/%s/janks", session), "symbols");

    assert_int_equal(json_array_size(list), 1);
    return json_array_get(list, 0);
}

static void assert_statuses(const json_t *stack, const char *state, const char *statuses)
{
    const json_t *frame;
    char have[256] = "";
    size_t i, n = 0;

    json_array_foreach(json_object_get(stack, "frames"), i, frame) n +=
        (size_t)snprintf(have + n, sizeof have - n, "%s ", api_text(frame, "status"));
    assert_string_equal(have, statuses);
    assert_string_equal(api_text(stack, "state"), state);
}

/* "function file:line\n" of the symbolicated frames that came from raw frame `frame`. */
static void read_frames(const json_t *stack, int64_t from, char *out, size_t size)
{
    const json_t *frame;
    size_t i, n = 0;

    out[0] = '\0';
    json_array_foreach(json_object_get(stack, "frames"), i, frame)
    {
        if (api_i64(frame, "frame") != from)
            continue;

        const char *file = api_text(frame, "file"), *slash = strrchr(file, '/');

        n += (size_t)snprintf(out + n, size - n, "%s %s:%lld\n", api_text(frame, "function"),
                              slash ? slash + 1 : file, (long long)api_i64(frame, "line"));
        assert_string_equal(api_text(frame, "symbol_file"), "libgame.so");
        assert_string_equal(api_text(frame, "debug_id"), BUILD_ID);
    }
}

static void assert_as_addr2line(const struct native_build *b, const json_t *stack)
{
    const uint64_t address[] = {b->spin, b->tick}; /* of a caller: where it was called */
    char ours[1024];

    for (size_t i = 0; i < 2; i++) {
        char *theirs = native_build_oracle(b, address[i]);

        read_frames(stack, (int64_t)i, ours, sizeof ours);
        assert_string_equal(ours, theirs);
        free(theirs);
    }
}

static char *counters(struct api *api)
{
    return pg_rows(api->conninfo, "SELECT to_jsonb(f)::text FROM frame_rollup f UNION ALL "
                                  "SELECT to_jsonb(m)::text FROM model_rollup m UNION ALL "
                                  "SELECT to_jsonb(s)::text FROM session s UNION ALL "
                                  "SELECT to_jsonb(j)::text FROM jank_event j ORDER BY 1");
}

/* Tests -------------------------------------------------------------------------------------------
 */

#define LATE "symbolicated symbolicated symbolicated system unknown "

static void symbols_that_come_late_speak_of_the_stacks_that_waited(void **state)
{
    struct api *api = *state;
    struct native_build b;
    const json_t *answer;
    char session[33], *before, *after;

    native_build_make(&b, BUILD_ID, 1, NULL);
    play(api, 0, 1, &b, session);
    assert_statuses(stack_of(api, 0, session), "raw", "missing missing system unknown ");
    answer = api_get(api, 0, ROLE_READ, 200, "/v1/builds/1/symbols");
    assert_int_equal(api_i64(answer, "events_waiting"), 2); /* jank and crash */
    assert_int_equal(api_i64(answer, "events"), 2);
    answer = json_array_get(json_object_get(answer, "needs"), 0);
    assert_string_equal(api_text(answer, "debug_id"), BUILD_ID);
    assert_string_equal(api_text(answer, "state"), "missing");
    assert_int_equal(api_i64(answer, "events_waiting"), 2);
    before = counters(api);

    answer = upload(api, 0, "symbols", b.bytes, b.size);
    assert_outcome(answer, "stored", "");
    assert_string_equal(api_text(answer, "name"), "libgame.so");
    assert_statuses(stack_of(api, 0, session), "symbolicated", LATE);
    assert_as_addr2line(&b, stack_of(api, 0, session));
    answer = api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s", session);
    answer = json_array_get(json_object_get(answer, "crashes"), 0);
    assert_string_equal(api_text(answer, "stack_state"), "symbolicated");
    assert_int_equal(json_array_size(json_object_get(answer, "symbols")), 5);
    answer = api_get(api, 0, ROLE_READ, 200, "/v1/builds/1/symbols");
    assert_int_equal(api_i64(answer, "events_waiting"), 0);
    answer = json_array_get(json_object_get(answer, "needs"), 0);
    assert_string_equal(api_text(answer, "debug_id"), BUILD_ID);
    assert_string_equal(api_text(answer, "state"), "present");
    after = counters(api);
    assert_string_equal(before, after);
    free(before);
    free(after);
    native_build_free(&b);
}

static void symbols_that_come_first_say_the_same(void **state)
{
    struct api *api = *state;
    struct native_build b;
    struct worker_config config = config_of(api);
    char session[33], folder[] = "/tmp/framewatch-cache-XXXXXX";

    assert_non_null(mkdtemp(folder));
    native_build_make(&b, BUILD_ID, 1, NULL);
    assert_outcome(upload(api, 0, "symbols", b.bytes, b.size), "stored", "");
    play(api, 0, 1, &b, session);
    config.cache_dir = folder;
    drain_with(&config);
    assert_statuses(stack_of(api, 0, session), "symbolicated", LATE);
    assert_as_addr2line(&b, stack_of(api, 0, session));
    native_build_free(&b);
}

static void the_guid_writing_of_a_build_id_is_the_same_image(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char session[33];

    native_build_make(&b, BUILD_ID, 1, NULL);
    snprintf(b.debug_id, sizeof b.debug_id, GUID);
    play(api, 0, 1, &b, session);
    assert_outcome(upload(api, 0, "symbols", b.bytes, b.size), "stored", "");
    assert_statuses(stack_of(api, 0, session), "symbolicated", LATE);
    assert_as_addr2line(&b, stack_of(api, 0, session));
    native_build_free(&b);
}

static void the_same_file_again_is_a_duplicate(void **state)
{
    struct api *api = *state;
    struct native_build b;

    native_build_make(&b, BUILD_ID, 1, NULL);
    assert_outcome(upload(api, 0, "symbols", b.bytes, b.size), "stored", "");
    assert_outcome(upload(api, 0, "symbols", b.bytes, b.size), "duplicate", "");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM symcache"), 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM quarantine"), 0);
    native_build_free(&b);
}

static void other_bytes_under_a_known_debug_id_are_refused(void **state)
{
    struct api *api = *state;
    struct native_build first, second;
    const json_t *file, *list;
    char session[33], path[64];

    native_build_make(&first, BUILD_ID, 1, NULL);
    native_build_make(&second, BUILD_ID, 77777, NULL);
    play(api, 0, 1, &first, session);
    upload(api, 0, "symbols", first.bytes, first.size);
    file = upload(api, 0, "symbols", second.bytes, second.size);
    assert_outcome(file, "refused", "conflict");
    assert_non_null(strstr(api_text(file, "detail"), BUILD_ID));
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM quarantine WHERE "
                                           "source = 'symbols' AND reason = 'conflict'"),
                     1);
    assert_as_addr2line(&first, stack_of(api, 0, session));

    /* unless the first are taken away */
    list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/symbols"), "items");
    snprintf(path, sizeof path, "/v1/symbols/%s", api_text(json_array_get(list, 0), "id"));
    api_send(api,
             (struct api_call){.method = "DELETE", .path = path, .key = api->key[1][ROLE_ADMIN]});
    assert_int_equal(api->answer.status, 404);
    api_send(api,
             (struct api_call){.method = "DELETE", .path = path, .key = api->key[0][ROLE_ADMIN]});
    assert_int_equal(api->answer.status, 204);
    assert_outcome(upload(api, 0, "symbols", second.bytes, second.size), "stored", "");
    native_build_free(&first);
    native_build_free(&second);
}

static const json_t *item_of(const json_t *list, size_t i)
{
    return json_array_get(json_object_get(list, "items"), i);
}

static void a_files_name_shows_no_control_characters(void **state)
{
    struct api *api = *state;
    const char *usual = file_name;

    file_name = "out/lib\x1b[2J\xc2\x9b"
                "game\x7f\xff.so";
    upload(api, 0, "symbols", "nothing", 7);
    file_name = usual;
    assert_string_equal(
        api_text(item_of(api_get(api, 0, ROLE_READ, 200, "/v1/symbols/files"), 0), "name"),
        "lib?[2J??game??.so");
}

static void another_apps_symbols_say_nothing(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char session[33];

    native_build_make(&b, BUILD_ID, 1, NULL);
    play(api, 1, 1, &b, session);
    upload(api, 0, "symbols", b.bytes, b.size);
    play(api, 1, 1, &b, session);
    assert_statuses(stack_of(api, 1, session), "raw", "missing missing system unknown ");
    assert_int_equal(
        json_array_size(json_object_get(api_get(api, 1, ROLE_READ, 200, "/v1/symbols"), "items")),
        0);
    assert_int_equal(json_array_size(json_object_get(
                         api_get(api, 1, ROLE_READ, 200, "/v1/symbols/files"), "items")),
                     0);
    api_get(api, 1, ROLE_READ, 404, "/v1/builds/77/symbols");
    native_build_free(&b);
}

static void the_games_own_key_may_not_send_symbols(void **state)
{
    struct api *api = *state;

    api_send(api, (struct api_call){.method = "POST",
                                    .path = "/v1/uploads",
                                    .key = api->key[0][ROLE_INGEST],
                                    .headers = {"Tus-Resumable: 1.0.0", "Upload-Length: 10",
                                                "Upload-Metadata: kind c3ltYm9scw=="}});
    assert_int_equal(api->answer.status, 403);
}

static void lists_symbols_by_filter_and_in_pages(void **state)
{
    struct api *api = *state;
    static const char *const ids[] = {"aa00000000000000000000000000000000000001",
                                      "aa00000000000000000000000000000000000002",
                                      "aa00000000000000000000000000000000000003"};
    const json_t *page;
    char cursor[256];

    for (size_t i = 0; i < 3; i++) {
        struct native_build b;

        native_build_make(&b, ids[i], 1, NULL);
        upload(api, 0, "symbols", b.bytes, b.size);
        native_build_free(&b);
    }
    page = api_get(api, 0, ROLE_READ, 200, "/v1/symbols?limit=2");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 2);
    assert_string_equal(api_text(json_array_get(json_object_get(page, "items"), 0), "debug_id"),
                        ids[2]);
    snprintf(cursor, sizeof cursor, "%s", api_text(page, "next"));
    page = api_get(api, 0, ROLE_READ, 200, "/v1/symbols?limit=2&cursor=%s", cursor);
    assert_int_equal(json_array_size(json_object_get(page, "items")), 1);
    assert_true(json_is_null(json_object_get(page, "next")));
    page = api_get(api, 0, ROLE_READ, 200, "/v1/symbols?debug_id=%s", ids[1]);
    assert_int_equal(json_array_size(json_object_get(page, "items")), 1);
    page = api_get(api, 0, ROLE_READ, 200, "/v1/symbols?kind=mapping");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 0);
    api_problem(api_get(api, 0, ROLE_READ, 400, "/v1/symbols?kind=x"), "invalid", "kind");
}

/* Archives and compression
 * --------------------------------------------------------------------------- */

static void a_zip_gives_each_image_in_it(void **state)
{
    struct api *api = *state;
    struct native_build a, b;
    struct zip *zip;
    const json_t *file;
    char path[128], *bytes = NULL;
    size_t n;
    FILE *f;

    native_build_make(&a, BUILD_ID, 1, NULL);
    native_build_make(&b, "bb000000000000000000000000000000000000ff", 2, NULL);
    snprintf(path, sizeof path, "%s/symbols.zip", a.folder);
    zip = zip_open(path, ZIP_CREATE, NULL);
    assert_non_null(zip);
    zip_file_add(zip, "lib/arm64/libgame.so", zip_source_buffer(zip, a.bytes, a.size, 0), 0);
    zip_file_add(zip, "lib/x86/libgame.so", zip_source_buffer(zip, b.bytes, b.size, 0), 0);
    zip_file_add(zip, "README", zip_source_buffer(zip, "hello", 5, 0), 0);
    zip_file_add(zip, "__MACOSX/._libgame.so", zip_source_buffer(zip, a.bytes, a.size, 0), 0);
    assert_int_equal(zip_close(zip), 0);
    f = fopen(path, "rbe");
    assert_non_null(f);
    bytes = malloc(1 << 20);
    n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    file = upload(api, 0, "symbols", bytes, n);
    assert_outcome(file, "stored", "");
    assert_int_equal(api_i64(file, "images"), 2);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM symcache"), 2);

    /* cut short: nothing of it can be read */
    assert_outcome(upload(api, 0, "symbols", bytes, n / 2), "refused", "damaged");
    free(bytes);
    native_build_free(&a);
    native_build_free(&b);
}

/* Entries in an archive may be called anything: names are cut between characters, and shown. */
static void odd_names_in_a_zip_do_not_keep_its_images_away(void **state)
{
    struct api *api = *state;
    struct native_build a, b;
    struct zip *zip;
    const json_t *list;
    char path[128], name[512] = "x86/", *bytes = malloc(1 << 20);
    bool first;
    size_t n;
    FILE *f;

    native_build_make(&a, BUILD_ID, 1, NULL);
    native_build_make(&b, "bb000000000000000000000000000000000000ff", 2, NULL);
    snprintf(path, sizeof path, "%s/symbols.zip", a.folder);
    zip = zip_open(path, ZIP_CREATE, NULL);
    assert_non_null(zip);
    for (n = 4; n < 4 + 3 * 100; n += 3)
        memcpy(name + n, "\xe6\xb8\xb8", 4);
    zip_file_add(zip, name, zip_source_buffer(zip, a.bytes, a.size, 0), ZIP_FL_ENC_UTF_8);
    zip_file_add(zip, "lib\xc2\x9b.so", zip_source_buffer(zip, b.bytes, b.size, 0),
                 ZIP_FL_ENC_UTF_8);
    memcpy(name, "bad/", 4);
    zip_file_add(zip, name, zip_source_buffer(zip, a.bytes, a.size / 2, 0), ZIP_FL_ENC_UTF_8);
    assert_int_equal(zip_close(zip), 0);
    f = fopen(path, "rbe");
    assert_non_null(f);
    n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    assert_outcome(upload(api, 0, "symbols", bytes, n), "stored", "no_symbols");
    list = api_get(api, 0, ROLE_READ, 200, "/v1/symbols");
    first = strcmp(api_text(item_of(list, 0), "name"), "lib??.so") == 0; /* of one moment */
    assert_string_equal(api_text(item_of(list, !first), "name"), "lib??.so");
    assert_int_equal(strlen(api_text(item_of(list, first), "name")), 198);
    free(bytes);
    native_build_free(&a);
    native_build_free(&b);
}

/* The image of the golden file, whose dispatch() hides behind line 0 of a BCSymbolMap; without its
 * symbol table, where the name stands too. */
#define HIDING_UUID "4C4C441A-5555-3144-A1D3-B5DFEFAD685C"
#define ORIGINAL_UUID "11111111-2222-3333-4444-555555555555"
#define DISPATCH_OFFSET 0x40f4

static unsigned char *hiding_image(size_t *size)
{
    unsigned char *bytes = malloc(1 << 20), *at;
    FILE *f = fopen(FW_SOURCE_DIR "/tests/golden/symbols/macho-arm64-dwarf5", "rbe");

    assert_non_null(f);
    *size = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    at = memmem(bytes, *size, "dispatch\0kind", 13);
    assert_non_null(at);
    memcpy(at, "__hidden#0_", 12);
    at = memmem(bytes, *size, "\x02\0\0\0\x18\0\0\0", 8); /* LC_SYMTAB */
    assert_non_null(at);
    memset(at + 12, 0, 4);
    return bytes;
}

static size_t archive_of(const unsigned char *image, size_t size, bool with_map, void *out,
                         size_t room)
{
    static const char map[] = "BCSymbolMap Version: 2.0\nroute_the_message\n";
    static const char plist[] = "<plist><dict><key>DBGOriginalUUID</key>\n"
                                "<string>" ORIGINAL_UUID "</string></dict></plist>";
    char path[] = "/tmp/framewatch-archive-XXXXXX";
    int fd = mkstemp(path);
    struct zip *zip = zip_open(path, ZIP_TRUNCATE, NULL);
    FILE *f;
    size_t n;

    assert_true(fd >= 0 && zip);
    close(fd);
    zip_file_add(zip, "a.xcarchive/dSYMs/a.dSYM/Contents/Resources/DWARF/a",
                 zip_source_buffer(zip, image, size, 0), 0);
    zip_file_add(zip, "a.xcarchive/dSYMs/a.dSYM/Contents/Resources/" HIDING_UUID ".plist",
                 zip_source_buffer(zip, plist, sizeof plist - 1, 0), 0);
    if (with_map)
        zip_file_add(zip, "a.xcarchive/BCSymbolMaps/" ORIGINAL_UUID ".bcsymbolmap",
                     zip_source_buffer(zip, map, sizeof map - 1, 0), 0);
    assert_int_equal(zip_close(zip), 0);
    f = fopen(path, "rbe");
    assert_non_null(f);
    n = fread(out, 1, room, f);
    fclose(f);
    unlink(path);
    return n;
}

static void play_hiding(struct api *api, char id[33])
{
    struct session_builder *s = sb_new(1);

    sb_part(s, 0, 0);

    uint64_t t = sb_steady(s, 0, 300, 16660);
    uint32_t game = sb_module(s, "game", "4c4c441a55553144a1d3b5dfefad685c", 0x100000000, 0x100000);
    uint32_t stack = sb_stack(s, "main", SB_FRAMES({.module = game, .offset = DISPATCH_OFFSET}));

    sb_jank(s, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
    sb_end(s, t + 500000, END_STOPPED);
    api_upload(api, 0, s, "install 1");
    to_hex(s->session_id, sizeof s->session_id, id);
    sb_free(s);
}

static const char *first_function(struct api *api, const char *session)
{
    const json_t *frames = json_object_get(stack_of(api, 0, session), "frames");

    return api_text(json_array_get(frames, 0), "function");
}

static void names_that_bitcode_hid_are_revealed_by_the_map_beside(void **state)
{
    struct api *api = *state;
    size_t size, n;
    unsigned char *image = hiding_image(&size);
    char *bytes = malloc(1 << 20), session[33];
    const json_t *list;

    play_hiding(api, session);
    n = archive_of(image, size, false, bytes, 1 << 20);
    assert_outcome(upload(api, 0, "symbols", bytes, n), "stored", "");
    assert_string_equal(first_function(api, session), "__hidden#0_");

    /* the map comes later: the same image, and now it says more */
    n = archive_of(image, size, true, bytes, 1 << 20);
    assert_outcome(upload(api, 0, "symbols", bytes, n), "stored", "");
    assert_string_equal(first_function(api, session), "route_the_message");
    list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/symbols"), "items");
    assert_int_equal(json_array_size(list), 1);
    assert_true(json_is_true(json_object_get(json_array_get(list, 0), "revealed")));

    /* and does not forget */
    n = archive_of(image, size, false, bytes, 1 << 20);
    assert_outcome(upload(api, 0, "symbols", bytes, n), "duplicate", "");
    assert_outcome(upload(api, 0, "symbols", image, size), "duplicate", "");
    assert_string_equal(first_function(api, session), "route_the_message");
    free(image);
    free(bytes);
}

static size_t pack(const void *bytes, size_t n, void *out, size_t room)
{
    size_t len = ZSTD_compress(out, room, bytes, n, 3);

    assert_false(ZSTD_isError(len));
    return len;
}

static void a_compressed_upload_is_the_file_it_unpacks_to(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char *packed = malloc(1 << 20);
    size_t n;

    native_build_make(&b, BUILD_ID, 1, NULL);
    n = pack(b.bytes, b.size, packed, 1 << 20);
    assert_outcome(upload(api, 0, "symbols", packed, n), "stored", "");
    assert_outcome(upload(api, 0, "symbols", b.bytes, b.size), "duplicate", "");
    assert_outcome(upload(api, 0, "symbols", packed, n - 10), "refused", "damaged");
    free(packed);
    native_build_free(&b);
}

static void a_bomb_is_refused_at_its_limit(void **state)
{
    struct api *api = *state;
    size_t size = (size_t)100 << 20; /* past config_of()'s 64 MB */
    char *zeros = calloc(1, size), *packed = malloc(1 << 20);
    struct zip *zip;
    char path[] = "/tmp/framewatch-bomb-XXXXXX";
    size_t n;
    FILE *f;

    assert_true(zeros && packed);
    n = pack(zeros, size, packed, 1 << 20);
    assert_outcome(upload(api, 0, "symbols", packed, n), "refused", "past_limit");

    memcpy(zeros, "\177ELF\2\1\1", 7);
    assert_int_not_equal(close(mkstemp(path)), -1);
    zip = zip_open(path, ZIP_TRUNCATE | ZIP_CREATE, NULL);
    zip_file_add(zip, "bomb.so", zip_source_buffer(zip, zeros, size, 0), 0);
    assert_int_equal(zip_close(zip), 0);
    f = fopen(path, "rbe");
    n = fread(packed, 1, 1 << 20, f);
    fclose(f);
    unlink(path);
    assert_outcome(upload(api, 0, "symbols", packed, n), "refused", "past_limit");
    free(zeros);
    free(packed);
}

/* Hostile files
 * --------------------------------------------------------------------------------------- */

static void what_is_no_symbol_file_is_refused_with_its_reason(void **state)
{
    struct api *api = *state;
    struct native_build stripped, no_id;

    native_build_make(&stripped, BUILD_ID, 1, "--strip-all -R .dynsym -R .gnu.hash");
    native_build_make(&no_id, "cc", 1, "-R .note.gnu.build-id");
    assert_outcome(upload(api, 0, "symbols", "just a text", 11), "refused", "not_symbols");
    assert_outcome(upload(api, 0, "symbols", stripped.bytes, 40), "refused", "damaged");
    assert_outcome(upload(api, 0, "symbols", no_id.bytes, no_id.size), "refused", "no_debug_id");
    assert_outcome(upload(api, 0, "mapping", no_id.bytes, no_id.size), "refused", "not_mapping");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(DISTINCT reason) FROM quarantine "
                                           "WHERE source = 'symbols'"),
                     4);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM symcache"), 0);
    native_build_free(&stripped);
    native_build_free(&no_id);
}

static void mutated_files_never_harm_the_worker(void **state)
{
    struct api *api = *state;
    struct native_build b;
    uint32_t seed = 12345;
    char id[33];

    native_build_make(&b, BUILD_ID, 1, NULL);
    for (unsigned i = 0; i < 40; i++) {
        unsigned char *copy = malloc(b.size);

        memcpy(copy, b.bytes, b.size);
        for (unsigned k = 0; k < 30; k++) {
            seed = seed * 1664525 + 1013904223;
            copy[8 + seed % (b.size - 8)] = (unsigned char)(seed >> 24);
        }
        send_file(api, 0, "symbols", copy, b.size, id);
        free(copy);
    }
    drain(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM symbol_file"), 40);
    native_build_free(&b);
}

/* A program in the indexer's place that never ends; the file is the caller's. */
static void make_endless(char path[64])
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs("#!/bin/sh\nexec sleep 900\n", f);
    fclose(f);
    chmod(path, 0700);
}

static void a_child_past_its_limits_is_killed_and_the_worker_goes_on(void **state)
{
    struct api *api = *state;
    struct native_build b;
    struct worker_config config = config_of(api);
    char id[33], folder[] = "/tmp/framewatch-endless-XXXXXX", endless[64];

    assert_non_null(mkdtemp(folder));
    snprintf(endless, sizeof endless, "%s/index", folder);
    make_endless(endless);
    native_build_make(&b, BUILD_ID, 1, NULL);
    send_file(api, 0, "symbols", b.bytes, b.size, id);
    config.index.program = endless;
    config.index.wall_ms = 1;
    assert_int_equal(drain_with(&config).quarantined, 1);
    unlink(endless);
    rmdir(folder);
    assert_outcome(outcome_of(api, 0, id), "refused", "index_time");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    config = config_of(api);
    config.index.memory_bytes = 1 << 16;
    send_file(api, 0, "symbols", b.bytes, b.size, id);
    assert_int_equal(drain_with(&config).quarantined, 1);
    /* how it ends depends on what met the limit: a call, or its own start */
    assert_int_equal(strncmp(api_text(outcome_of(api, 0, id), "reason"), "index_", 6), 0);
#endif
    assert_outcome(upload(api, 0, "symbols", b.bytes, b.size), "stored", "");
    native_build_free(&b);
}

/* Life of a table */

static void a_table_of_an_earlier_layout_is_made_again_from_its_upload(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char session[33];
    struct err err;
    struct db *db = db_open(api->conninfo, &err);

    native_build_make(&b, BUILD_ID, 1, NULL);
    upload(api, 0, "symbols", b.bytes, b.size);
    pg_sql(api->conninfo, "UPDATE symcache SET version = 0");
    play(api, 0, 1, &b, session);
    assert_statuses(stack_of(api, 0, session), "raw", "missing missing system unknown ");
    assert_true(db_exec(db, Q_SYMCACHE_OUTDATED,
                        DB_ARGS(db_i64(SYMCACHE_VERSION), db_i64(RETRACE_VERSION), db_i64(30)),
                        &err));
    drain(api);
    assert_int_equal(pg_i64(api->conninfo, "SELECT version FROM symcache"), SYMCACHE_VERSION);
    assert_as_addr2line(&b, stack_of(api, 0, session));
    db_close(db);
    native_build_free(&b);
}

static void a_posted_crash_reads_with_symbols_too(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char session[33], path[96], body[512];
    const json_t *crashes, *crash = NULL;
    size_t i;

    native_build_make(&b, BUILD_ID, 1, NULL);
    play(api, 0, 1, &b, session);
    snprintf(path, sizeof path, "/v1/sessions/%s/crashes", session);
    snprintf(body, sizeof body,
             "{\"reason\":\"abort\",\"stack\":[{\"module\":\"libgame.so\",\"debug_id\":\"%s\","
             "\"offset\":\"0x%llx\"},{\"text\":\"a.b.c(SourceFile:3)\"}]}",
             BUILD_ID, (unsigned long long)b.spin);
    api_post(api, 0, ROLE_INGEST, 201, path, body);
    api_post(api, 0, ROLE_INGEST, 200, path, body);
    upload(api, 0, "symbols", b.bytes, b.size);
    crashes =
        json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s", session), "crashes");
    assert_int_equal(json_array_size(crashes), 2);
    for (i = 0; i < 2; i++)
        if (strcmp(api_text(json_array_get(crashes, i), "source"), "posted") == 0)
            crash = json_array_get(crashes, i);
    assert_string_equal(api_text(crash, "stack_state"), "symbolicated");
    crash = json_array_get(json_object_get(crash, "symbols"), 0);
    assert_string_equal(api_text(crash, "function"), "spin");
    native_build_free(&b);
}

static void *drain_aside(void *config)
{
    struct worker_counts counts = {0};
    struct err err;

    return worker_drain(config, &counts, &err) && !counts.failed ? config : NULL;
}

/* However long the storing takes, no other worker takes the job meanwhile. */
static void a_job_whose_lease_ends_while_it_stores_stays_its_workers(void **state)
{
    struct api *api = *state;
    struct worker_config config = config_of(api);
    struct native_build b;
    struct err err;
    struct db *db = db_open(api->conninfo, &err);
    pthread_t worker;
    char id[33], sql[160];
    void *done;

    assert_non_null(db);
    native_build_make(&b, BUILD_ID, 1, NULL);
    send_file(api, 0, "symbols", b.bytes, b.size, id);
    snprintf(sql, sizeof sql,
             "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('" BUILD_ID "', %lld))",
             (long long)api->app[0]);
    assert_true(db_script(db, sql, &err));
    assert_int_equal(pthread_create(&worker, NULL, drain_aside, &config), 0);
    for (int64_t waiting = 0; !waiting;) /* until it stores, and stands at the debug id's lock */
        waiting =
            pg_i64(api->conninfo,
                   "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
                   "AND database = (SELECT oid FROM pg_database WHERE datname = "
                   "current_database())");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE kind = 'symbols'"), 1);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM (SELECT 1 FROM job WHERE kind = "
                                           "'symbols' FOR UPDATE SKIP LOCKED) AS free"),
                     0);
    assert_true(db_script(db, "COMMIT", &err));
    pthread_join(worker, &done);
    assert_non_null(done);
    assert_outcome(outcome_of(api, 0, id), "stored", "");
    db_close(db);
    native_build_free(&b);
}

#define MANY 300 /* stacks: more than a worker reads in one transaction */

/* A session with as many stacks, each at its own place of the library. */
static void play_many(struct api *api, const struct native_build *b)
{
    struct session_builder *s = sb_new(1);
    uint32_t game;

    sb_part(s, 0, 0);
    game = sb_module(s, "libgame.so", b->debug_id, 0x7000000000, 0x100000);
    for (unsigned i = 0; i < MANY; i++)
        sb_crash(s, 1000 * (i + 1), 11, "SIGSEGV",
                 sb_stack(s, "main", SB_FRAMES({.module = game, .offset = 0x1000 + i})));
    sb_end(s, 1000000, END_STOPPED);
    api_upload(api, 0, s, "install 1");
    sb_free(s);
}

/* A worker that reads many stacks stands before the last of them while a table arrives. What it
 * missed with the first ones may be there by now: it must not write its being missing over what
 * others read meanwhile. */
static void a_table_that_comes_while_stacks_are_read_is_used_for_the_rest(void **state)
{
    struct api *api = *state;
    struct worker_config config = config_of(api);
    struct native_build b;
    struct err err;
    struct db *db = db_open(api->conninfo, &err);
    pthread_t worker;
    void *done;

    assert_non_null(db);
    native_build_make(&b, BUILD_ID, 1, NULL);
    play_many(api, &b);
    drain(api);
    /* The table is there already, only that nobody finds it. */
    assert_outcome(upload(api, 0, "symbols", b.bytes, b.size), "stored", "");
    pg_sql(api->conninfo, "UPDATE symcache SET debug_id = 'hidden'");
    pg_sql(api->conninfo, "UPDATE stack SET symbols = NULL");
    pg_sql(api->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day)"
           " VALUES ('stacks', %lld * 64, md5('all')::uuid, %lld, CURRENT_DATE)",
           (long long)api->app[0], (long long)api->app[0]);
    assert_true(
        db_script(db, "BEGIN; SELECT FROM stack ORDER BY hash DESC LIMIT 1 FOR UPDATE", &err));
    assert_int_equal(pthread_create(&worker, NULL, drain_aside, &config), 0);
    for (int64_t waiting = 0; !waiting;) /* until the first ones are read */
        waiting = pg_i64(api->conninfo, "SELECT count(*) FROM pg_stat_activity WHERE datname ="
                                        " current_database() AND wait_event_type = 'Lock'");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM stack WHERE symbols IS NULL"),
                     MANY - 256);
    pg_sql(api->conninfo, "UPDATE symcache SET debug_id = '%s'", b.debug_id);
    assert_true(db_script(db, "COMMIT", &err));
    pthread_join(worker, &done);
    assert_non_null(done);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM stack WHERE symbols::text LIKE"
                                           " '%%\"missing\"%%'"),
                     256);
    db_close(db);
    native_build_free(&b);
}

/* Each session that brought a new stack left one. */
static void one_job_reads_the_stacks_of_all_that_wait(void **state)
{
    struct api *api = *state;
    struct worker_config config = worker_config_default(api->conninfo);
    struct worker_counts counts = {0};
    struct err err = {0};

    pg_sql(api->conninfo,
           "INSERT INTO stack (app_id, hash, frames) SELECT %lld, substr(sha256(convert_to(i::text,"
           " 'UTF8')), 1, 16), '[{\"text\": \"com.studio.F.run\"}]' FROM generate_series(1, 300) i",
           (long long)api->app[0]);
    pg_sql(api->conninfo,
           "INSERT INTO job (kind, shard, ref, app_id, day) SELECT 'stacks', a * 64,"
           " md5(a || ' ' || i)::uuid, a, CURRENT_DATE"
           " FROM unnest(ARRAY[%lld, %lld]) a, generate_series(1, 40) i",
           (long long)api->app[0], (long long)api->app[1]);
    if (!worker_drain(&config, &counts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(counts.failed + counts.dead, 0);
    assert_in_range(counts.done, 2, 4); /* one an app, and what follows from them */
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM stack WHERE symbols IS NULL"), 0);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM job WHERE kind = 'stacks'"), 0);
}

static bool lost(void *user, struct err *err)
{
    (*(unsigned *)user)++;
    return err_set(err, ERR_CONFLICT, "another worker has it");
}

static void a_child_whose_job_is_lost_is_killed(void **state)
{
    char folder[] = "/tmp/framewatch-lost-XXXXXX", file[64], command[96];
    unsigned ticks = 0;
    struct index_run run = {.kind = "symbols",
                            .file = file,
                            .folder = folder,
                            .limits = {256 << 20, 60, 600000, 1 << 20},
                            .tick = lost,
                            .user = &ticks};
    enum index_end end;
    struct err err = {0};

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/hang", folder);
    make_endless(file);
    run.program = file;
    assert_false(index_child_run(&run, &end, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(ticks, 1);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void a_sparse_gigabyte_is_read_within_the_limits(void **state)
{
    char folder[] = "/tmp/framewatch-sparse-XXXXXX", file[64], result[64], text[512] = "";
    struct index_run run = {.program = FW_BINARY_DIR "/server/framewatchd",
                            .kind = "symbols",
                            .file = file,
                            .folder = folder,
                            .limits = {256 << 20, 300, 600000, (int64_t)2 << 30}};
    enum index_end end;
    struct native_build b;
    struct err err;
    FILE *f;

    (void)state;
    native_build_make(&b, BUILD_ID, 1, NULL);
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/upload", folder);
    f = fopen(file, "wbe");
    assert_int_equal(fwrite(b.bytes, 1, b.size, f), b.size);
    fclose(f);
    assert_int_equal(truncate(file, (off_t)1 << 30), 0);
    assert_true(index_child_run(&run, &end, &err));
    assert_int_equal(end, INDEX_DONE);
    snprintf(result, sizeof result, "%s/result", folder);
    f = fopen(result, "rbe");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    assert_non_null(strstr(text, "table\t0\t"));
    snprintf(text, sizeof text, "rm -rf %s", folder);
    assert_int_equal(system(text), 0);
    native_build_free(&b);
}

/* Mappings
 * -------------------------------------------------------------------------------------------- */

static const char mapping_one[] = "# compiler: R8\n"
                                  "# pg_map_id: 1111111\n"
                                  "org.example.Game -> a.a:\n"
                                  "# {\"id\":\"sourceFile\",\"fileName\":\"Game.java\"}\n"
                                  "    1:3:void physics():10:12 -> a\n"
                                  "    4:6:void org.example.Hud.draw():70:72 -> a\n"
                                  "    4:6:void tick():30 -> a\n"
                                  "org.example.Hud -> a.b:\n"
                                  "    void one() -> x\n"
                                  "    void two() -> x\n";
static const char mapping_two[] = "# compiler: R8\n"
                                  "# pg_map_id: 2222222\n"
                                  "org.example.Other -> a.a:\n"
                                  "    1:9:void wrong():1:9 -> a\n";

/* A session of version code `code` whose jank's stack is managed. */
static void play_managed(struct api *api, uint64_t number, unsigned code, char id[33])
{
    struct session_builder *s = sb_new(number);

    s->version_code = code;
    sb_part(s, 0, 0);

    uint64_t t = sb_steady(s, 0, 300, 16660);
    uint32_t stack =
        sb_text_stack(s, "main", "a.a.a(SourceFile:2)", "a.a.a(SourceFile:5)",
                      "a.b.x(Unknown Source)", "android.os.Looper.loop(Looper.java:288)", NULL);

    sb_jank(s, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
    sb_end(s, t + 500000, END_STOPPED);
    api_upload(api, 0, s, "install 1");
    to_hex(s->session_id, sizeof s->session_id, id);
    sb_free(s);
}

static void name_mapping(struct api *api, unsigned code, const char *mapping, int status)
{
    char body[256];

    snprintf(body, sizeof body,
             "{\"platform\":\"android\",\"version_name\":\"1.0.0\",\"version_code\":%u,"
             "\"build_uid\":\"build-100\",\"mapping_id\":\"%s\"}",
             code, mapping);
    api_post(api, 0, ROLE_ADMIN, status, "/v1/builds", body);
    drain(api);
}

static void functions_of(const json_t *stack, char *out, size_t size)
{
    const json_t *frame;
    size_t i, n = 0;

    out[0] = '\0';
    json_array_foreach(json_object_get(stack, "frames"), i, frame)
    {
        const json_t *line = json_object_get(frame, "line");
        const char *function = json_string_value(json_object_get(frame, "function"));

        n += (size_t)snprintf(
            out + n, size - n, "%s%s:%lld ", json_object_get(frame, "inlined") ? "+" : "",
            function ? function : "?", line ? (long long)json_integer_value(line) : 0);
    }
}

static void assert_retraced(struct api *api, const char *session)
{
    const json_t *stack = stack_of(api, 0, session), *frame;
    char have[512];

    assert_statuses(stack, "symbolicated",
                    "symbolicated symbolicated symbolicated ambiguous managed ");
    functions_of(stack, have, sizeof have);
    assert_string_equal(have, "org.example.Game.physics:11 +org.example.Hud.draw:71 "
                              "org.example.Game.tick:30 a.b.x(Unknown Source):0 "
                              "android.os.Looper.loop(Looper.java:288):0 ");
    frame = json_array_get(json_object_get(stack, "frames"), 0);
    assert_string_equal(api_text(frame, "file"), "Game.java");
    assert_string_equal(api_text(frame, "debug_id"), "1111111");
    frame = json_array_get(json_object_get(stack, "frames"), 3);
    assert_int_equal(json_array_size(json_object_get(frame, "alternatives")), 2);
}

static void a_mapping_speaks_of_its_own_build_alone(void **state)
{
    struct api *api = *state;
    const json_t *answer;
    char one[33], two[33], none[33], *before, *after;

    play_managed(api, 1, 1, one);
    play_managed(api, 2, 2, two);
    play_managed(api, 3, 3, none);
    assert_statuses(stack_of(api, 0, one), "symbolicated", "managed managed managed managed ");
    before = counters(api);

    name_mapping(api, 1, "1111111", 200);
    assert_statuses(stack_of(api, 0, one), "raw", "missing missing missing missing ");
    answer = api_get(api, 0, ROLE_READ, 200, "/v1/builds/1/symbols");
    assert_int_equal(api_i64(answer, "events_waiting"), 1);
    answer = json_array_get(json_object_get(answer, "needs"), 0);
    assert_string_equal(api_text(answer, "kind"), "mapping");
    assert_string_equal(api_text(answer, "state"), "missing");

    answer = upload(api, 0, "mapping", mapping_one, sizeof mapping_one - 1);
    assert_outcome(answer, "stored", "");
    assert_retraced(api, one);
    assert_statuses(stack_of(api, 0, none), "symbolicated", "managed managed managed managed ");

    /* the other build's mapping is another, whichever came first */
    assert_outcome(upload(api, 0, "mapping", mapping_two, sizeof mapping_two - 1), "stored", "");
    name_mapping(api, 2, "2222222", 200);
    assert_retraced(api, one);
    answer = json_array_get(json_object_get(stack_of(api, 0, two), "frames"), 0);
    assert_string_equal(api_text(answer, "function"), "org.example.Other.wrong");
    after = counters(api);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* A game with the SDK, whose main thread is in Java's code while a frame is long. */
static void tell_managed(void *user, fw_managed_stack *out)
{
    static const char *const frames[] = {"\tat a.a.a(SourceFile:2)", "\tat a.a.a(SourceFile:5)",
                                         "\tat a.b.x(Unknown Source)",
                                         "\tat android.os.Looper.loop(Looper.java:288)"};

    (void)user;
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        fw_managed_frame(out, FW_MANAGED_JAVA, frames[i]);
}

/* Whether a long frame has a managed stack. */
static bool is_told(fw_context *fw)
{
    bool told = false;

    pthread_mutex_lock(&fw->desk.mutex);
    for (size_t i = 0; i < FW_DESK_TEXTS; i++)
        told |= fw->desk.texts[i].used;
    pthread_mutex_unlock(&fw->desk.mutex);
    return told;
}

static void play_sdk(struct api *api, uint32_t flags, char id[33])
{
    char storage[] = "/tmp/symbolication_XXXXXX", command[64];
    fw_options o;
    fw_context *fw;

    assert_non_null(mkdtemp(storage));
    fw_options_init(&o);
    o.server_url = api->base;
    o.api_key = api->key[0][ROLE_INGEST];
    o.storage_path = storage;
    o.app = "game";
    o.version_name = "1.0.0";
    o.version_code = 1;
    o.build_id = "build-1";
    o.flags = FW_NO_UPLOAD | flags; /* a configuration that comes within the frame breaks its row */
    o.managed_stack = tell_managed;
    fw = fw_start(&o);
    assert_non_null(fw);
    fw_session_id(fw, id);
    fw_frame(fw);
    for (uint64_t until = fw_now_ns() + 120000000000ull; fw_now_ns() < until && !is_told(fw);)
        usleep(1000); /* a long frame */
    fw_frame(fw);
    fw_stop(fw);
    o.flags = FW_UPLOAD_AT_STOP | FW_NO_STACKS;
    fw_stop(fw_start(&o));
    snprintf(command, sizeof command, "rm -rf %s", storage);
    assert_int_equal(system(command), 0);
    drain(api);
}

static void the_managed_stack_that_a_game_tells_is_retraced_and_of_a_family(void **state)
{
    struct api *api = *state;
    char session[33], have[4096];
    const json_t *list, *stack = NULL;
    size_t i;

    api_post(api, 0, ROLE_ADMIN, 201, "/v1/builds",
             "{\"platform\":\"linux\",\"version_name\":\"1.0.0\",\"version_code\":1,"
             "\"build_uid\":\"build-1\",\"mapping_id\":\"1111111\"}");
    assert_outcome(upload(api, 0, "mapping", mapping_one, sizeof mapping_one - 1), "stored", "");
    play_sdk(api, FW_NO_STACKS, session);
    assert_retraced(api, session);
    list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/families"), "items");
    assert_int_equal(json_array_size(list), 1);
    assert_non_null(strstr(api_text(json_array_get(list, 0), "title"), "Game.physics"));

    /* with the native stack: the managed frames are further in, then come the game's */
    play_sdk(api, 0, session);
    list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s/janks", session),
                           "symbols");
    json_array_foreach(list, i, stack)
    {
        functions_of(stack, have, sizeof have);
        if (strstr(have, "org.example"))
            break;
    }
    assert_non_null(stack);
    assert_ptr_equal(strstr(have, "org.example.Game.physics:11 +org.example.Hud.draw:71 "
                                  "org.example.Game.tick:30 a.b.x(Unknown Source):0 "
                                  "android.os.Looper.loop(Looper.java:288):0 "),
                     have);
    assert_true(json_array_size(json_object_get(stack, "frames")) > 5);
}

static void a_mapping_that_came_first_is_used_at_once(void **state)
{
    struct api *api = *state;
    char session[33];

    name_mapping(api, 1, "1111111", 201);
    assert_outcome(upload(api, 0, "mapping", mapping_one, sizeof mapping_one - 1), "stored", "");
    assert_outcome(upload(api, 0, "mapping", mapping_one, sizeof mapping_one - 1), "duplicate", "");
    play_managed(api, 1, 1, session);
    assert_retraced(api, session);
}

static void a_mapping_reads_a_crash_that_was_posted_before_its_session(void **state)
{
    struct api *api = *state;
    char session[33];
    const json_t *list, *crash;

    name_mapping(api, 1, "1111111", 201);
    assert_outcome(upload(api, 0, "mapping", mapping_one, sizeof mapping_one - 1), "stored", "");
    api_post(api, 0, ROLE_INGEST, 201, "/v1/sessions/00000000000000000000000000000001/crashes",
             "{\"reason\":\"x\",\"stack\":[{\"text\":\"a.a.a(SourceFile:2)\"},"
             "{\"text\":\"android.os.Looper.loop(Looper.java:288)\"}]}");
    drain(api);
    play_managed(api, 1, 1, session);
    assert_string_equal(session, "00000000000000000000000000000001");
    drain(api);
    list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/families?kind=crash"), "items");
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(api_i64(json_array_get(list, 0), "events"), 1);
    assert_non_null(strstr(api_text(json_array_get(list, 0), "title"), "Game.physics"));
    list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/sessions/%s", session), "crashes");
    crash = json_array_get(json_object_get(json_array_get(list, 0), "symbols"), 0);
    assert_string_equal(api_text(crash, "function"), "org.example.Game.physics");
}

static void another_mapping_under_a_known_id_is_refused(void **state)
{
    struct api *api = *state;
    char other[sizeof mapping_one];

    memcpy(other, mapping_one, sizeof other);
    memcpy(strstr(other, "physics"), "PHYSICS", 7);
    upload(api, 0, "mapping", mapping_one, sizeof mapping_one - 1);
    assert_outcome(upload(api, 0, "mapping", other, sizeof other - 1), "refused", "conflict");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(symbols_that_come_late_speak_of_the_stacks_that_waited),
        TEST(symbols_that_come_first_say_the_same),
        TEST(the_guid_writing_of_a_build_id_is_the_same_image),
        TEST(the_same_file_again_is_a_duplicate),
        TEST(other_bytes_under_a_known_debug_id_are_refused),
        TEST(a_files_name_shows_no_control_characters),
        TEST(another_apps_symbols_say_nothing),
        TEST(the_games_own_key_may_not_send_symbols),
        TEST(lists_symbols_by_filter_and_in_pages),
        TEST(a_zip_gives_each_image_in_it),
        TEST(odd_names_in_a_zip_do_not_keep_its_images_away),
        TEST(names_that_bitcode_hid_are_revealed_by_the_map_beside),
        TEST(a_compressed_upload_is_the_file_it_unpacks_to),
        TEST(a_bomb_is_refused_at_its_limit),
        TEST(what_is_no_symbol_file_is_refused_with_its_reason),
        TEST(mutated_files_never_harm_the_worker),
        TEST(a_child_past_its_limits_is_killed_and_the_worker_goes_on),
        TEST(a_mapping_speaks_of_its_own_build_alone),
        TEST(the_managed_stack_that_a_game_tells_is_retraced_and_of_a_family),
        TEST(a_mapping_that_came_first_is_used_at_once),
        TEST(a_mapping_reads_a_crash_that_was_posted_before_its_session),
        TEST(another_mapping_under_a_known_id_is_refused),
        TEST(a_table_of_an_earlier_layout_is_made_again_from_its_upload),
        TEST(a_posted_crash_reads_with_symbols_too),
        TEST(a_job_whose_lease_ends_while_it_stores_stays_its_workers),
        TEST(one_job_reads_the_stacks_of_all_that_wait),
        TEST(a_table_that_comes_while_stacks_are_read_is_used_for_the_rest),
        cmocka_unit_test(a_child_whose_job_is_lost_is_killed),
        cmocka_unit_test(a_sparse_gigabyte_is_read_within_the_limits),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}

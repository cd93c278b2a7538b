/* framewatch symbols upload, list and delete, and what `framewatch session` says of symbols: the
 * real tool as a process, against a real server. */
#include "base/digest.h"
#include "server/jobs/worker.h"
#include "support/api.h"
#include "support/native_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <zip.h>

#define TOOL FW_BINARY_DIR "/server/framewatch"
#define BUILD_ID "00112233445566778899aabbccddeeff00112233"
#define OTHER_ID "bb000000000000000000000000000000000000ff"
#define VERSION "--platform linux --version 1.2 --version-code 12"
#define MANY 65
#define ZIPS 5 /* of so many images each: one more than a build may have debug ids */
#define IMAGES 205

static char out[1 << 20]; /* of the last run: stdout and stderr */

static void run(struct api *api, int want, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void run(struct api *api, int want, const char *fmt, ...)
{
    char command[1024], line[2048];
    va_list ap;
    FILE *f;
    int code;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    setenv("FW_URL", api->base, 1);
    setenv("FW_KEY", api->key[0][ROLE_ADMIN], 1);
    snprintf(line, sizeof line, "%s %s 2>&1", TOOL, command);
    f = popen(line, "re");
    assert_non_null(f);
    out[fread(out, 1, sizeof out - 1, f)] = '\0';
    code = WEXITSTATUS(pclose(f));
    if (code != want)
        fail_msg("%s: exit code %d, not %d: %.2000s", command, code, want, out);
}

static void says(const char *text)
{
    if (!strstr(out, text))
        fail_msg("'%s' is not in: %.2000s", text, out);
}

static void drain(struct api *api)
{
    struct worker_config c = worker_config_default(api->conninfo);
    struct worker_counts counts = {0};
    struct err err = {0};

    c.index.program = FW_BINARY_DIR "/server/framewatchd";
    c.index.max_bytes = 64 << 20;
    if (!worker_drain(&c, &counts, &err) || counts.dead)
        fail_msg("worker: %s", err.text);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wbe");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* The same library under another build id, which ends in these two bytes. */
static void renumber(struct native_build *b, unsigned char zip, unsigned char number)
{
    static const unsigned char start[] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55};
    unsigned char *id = memmem(b->bytes, b->size, start, sizeof start);

    assert_non_null(id);
    id[18] = zip;
    id[19] = number;
}

/* The builds' debug ids, as the server knows them. */
static size_t known_ids(struct api *api)
{
    const json_t *list = json_object_get(api_get(api, 0, ROLE_READ, 200, "/v1/builds"), "items");

    return json_array_size(json_object_get(json_array_get(list, 0), "debug_ids"));
}

static void a_build_may_have_more_than_64_libraries(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char folder[96], path[160];

    native_build_make(&b, BUILD_ID, 1, "--strip-debug");
    snprintf(folder, sizeof folder, "%s/many", b.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (unsigned char i = 0; i < MANY; i++) {
        renumber(&b, 0, i);
        snprintf(path, sizeof path, "%s/lib%u.so", folder, i);
        write_file(path, b.bytes, b.size);
    }
    run(api, 0, "symbols upload --wait 0 " VERSION " %s", folder);
    says("build 1.2 (12): registered");
    assert_int_equal(known_ids(api), MANY);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM upload WHERE kind = 'symbols'"),
                     MANY);
    native_build_free(&b);
}

static void too_many_libraries_for_a_build_are_sent_all_the_same(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char path[160], name[32];

    native_build_make(&b, BUILD_ID, 1, "--strip-debug");
    for (unsigned char z = 0; z < ZIPS; z++) {
        unsigned char *copies = malloc(IMAGES * b.size);
        zip_t *zip;

        assert_non_null(copies);
        snprintf(path, sizeof path, "%s/%u.zip", b.folder, z);
        zip = zip_open(path, ZIP_CREATE, NULL);
        assert_non_null(zip);
        for (unsigned char i = 0; i < IMAGES; i++) {
            renumber(&b, z, i);
            memcpy(copies + i * b.size, b.bytes, b.size);
            snprintf(name, sizeof name, "lib%u.so", i);
            zip_file_add(zip, name, zip_source_buffer(zip, copies + i * b.size, b.size, 0), 0);
        }
        assert_int_equal(zip_close(zip), 0);
        free(copies);
    }
    run(api, 1, "symbols upload --wait 0 " VERSION " %s/?.zip", b.folder);
    says("the build is not registered: it may have 1024 debug ids, and these are 1025");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM upload WHERE kind = 'symbols'"),
                     ZIPS);
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM build"), 0);
    native_build_free(&b);
}

static void make_zip(const char *path, const struct native_build *a, const struct native_build *b)
{
    zip_t *zip = zip_open(path, ZIP_CREATE, NULL);

    assert_non_null(zip);
    zip_file_add(zip, "lib/arm64/libgame.so", zip_source_buffer(zip, a->bytes, a->size, 0), 0);
    zip_file_add(zip, "lib/x86/libgame.so", zip_source_buffer(zip, b->bytes, b->size, 0), 0);
    zip_file_add(zip, "README", zip_source_buffer(zip, "hello", 5, 0), 0);
    assert_int_equal(zip_close(zip), 0);
}

static void a_zip_file_that_the_server_has_is_not_sent_again(void **state)
{
    struct api *api = *state;
    struct native_build a, b;
    char path[96];

    native_build_make(&a, BUILD_ID, 1, NULL);
    native_build_make(&b, OTHER_ID, 2, NULL);
    snprintf(path, sizeof path, "%s/symbols.zip", a.folder);
    make_zip(path, &a, &b);
    run(api, 0, "symbols upload --wait 0 " VERSION " %s", path);
    says(BUILD_ID);
    says(OTHER_ID);
    assert_int_equal(known_ids(api), 2);
    drain(api);
    run(api, 0, "symbols upload --wait 0 %s", path);
    says("symbols.zip: the server has it");
    says("0 stored, 1 known, 0 refused");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM upload WHERE kind = 'symbols'"),
                     1);

    /* one of its images was taken away: it is */
    free(pg_rows(api->conninfo,
                 "DELETE FROM symcache WHERE debug_id = '" OTHER_ID "' RETURNING name"));
    run(api, 0, "symbols upload --wait 0 %s", path);
    says("sent");
    native_build_free(&a);
    native_build_free(&b);
}

static void a_stripped_library_is_not_sent_after_its_debug_file(void **state)
{
    struct api *api = *state;
    struct native_build whole, stripped;

    native_build_make(&whole, BUILD_ID, 1, NULL);
    native_build_make(&stripped, BUILD_ID, 1, "--strip-all");
    run(api, 0, "symbols upload --wait 0 %s", whole.file);
    drain(api);
    run(api, 0, "symbols upload --wait 0 %s", stripped.file);
    says("the server has it");
    native_build_free(&whole);
    native_build_free(&stripped);
}

static void symbols_are_listed_and_taken_away(void **state)
{
    struct api *api = *state;
    struct native_build b;
    char id[33];

    native_build_make(&b, BUILD_ID, 1, NULL);
    run(api, 0, "symbols list");
    says("The server has none.");
    run(api, 0, "symbols upload --wait 0 %s", b.file);
    drain(api);
    run(api, 0, "symbols list --debug-id " BUILD_ID);
    says("functions and lines");
    says("libgame.so");
    says(BUILD_ID);
    assert_int_equal(sscanf(strchr(out, '\n') + 1, "%32[0-9a-f]", id), 1);
    run(api, 0, "symbols delete %s", id);
    says("deleted");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM symcache"), 0);
    run(api, 1, "symbols delete %s", id);
    says("no such symbols");
    native_build_free(&b);
}

static void the_manifest_names_the_build_its_debug_ids_and_files(void **state)
{
    struct api *api = *state;
    struct native_build b;
    const json_t *file;
    char path[96];
    json_t *tree;

    native_build_make(&b, BUILD_ID, 1, NULL);
    snprintf(path, sizeof path, "%s/manifest.json", b.folder);
    run(api, 0, "symbols upload --dry-run " VERSION " --commit abc --manifest %s %s", path, b.file);
    tree = json_load_file(path, 0, NULL);
    assert_non_null(tree);
    assert_string_equal(api_text(tree, "version_name"), "1.2");
    assert_string_equal(api_text(tree, "git_commit"), "abc");
    assert_string_equal(json_string_value(json_array_get(json_object_get(tree, "debug_ids"), 0)),
                        BUILD_ID);
    file = json_array_get(json_object_get(tree, "files"), 0);
    assert_string_equal(api_text(file, "name"), "libgame.so");
    assert_int_equal(api_i64(file, "size"), b.size);
    assert_int_equal(strlen(api_text(file, "sha256")), 64);
    file = json_array_get(json_object_get(file, "images"), 0);
    assert_string_equal(api_text(file, "debug_id"), BUILD_ID);
    assert_string_equal(api_text(file, "holds"), "functions and lines");
    json_decref(tree);
    run(api, 2, "symbols upload --dry-run --manifest %s %s", path, b.file);
    says("--version");
    native_build_free(&b);
}

static void a_session_names_the_debug_id_that_is_missing(void **state)
{
    struct api *api = *state;
    struct session_builder *s = sb_new(1);
    uint32_t game, stack;
    char id[33], *found;
    uint64_t t;

    sb_part(s, 0, 0);
    t = sb_steady(s, 0, 300, 16660);
    game = sb_module(s, "libgame.so", BUILD_ID, 0x7000000000, 0x100000);
    stack = sb_stack(
        s, "main", SB_FRAMES({.module = game, .offset = 0x100}, {.module = game, .offset = 0x200}));
    sb_jank(s, t, 300000, 2, SB_SAMPLES({t + 110000, stack}));
    sb_end(s, t + 500000, END_STOPPED);
    api_upload(api, 0, s, "install 1");
    to_hex(s->session_id, sizeof s->session_id, id);
    sb_free(s);
    run(api, 0, "session %s", id);
    says("symbols missing: libgame.so, debug id " BUILD_ID "\n");
    found = strstr(out, "symbols missing");
    assert_null(strstr(found + 1, "symbols missing"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_build_may_have_more_than_64_libraries),
        TEST(too_many_libraries_for_a_build_are_sent_all_the_same),
        TEST(a_zip_file_that_the_server_has_is_not_sent_again),
        TEST(a_stripped_library_is_not_sent_after_its_debug_file),
        TEST(symbols_are_listed_and_taken_away),
        TEST(the_manifest_names_the_build_its_debug_ids_and_files),
        TEST(a_session_names_the_debug_id_that_is_missing),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}

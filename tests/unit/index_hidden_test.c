/* The names that bitcode hid, found in archives made by libzip. */
#include "server/jobs/symbols/index_hidden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define IMAGE "4C4C441A-5555-3144-A1D3-B5DFEFAD685C"
#define ORIGINAL "11111111-2222-3333-4444-555555555555"
#define MAP "BCSymbolMap Version: 2.0\nroute_the_message\n"
#define PLIST                                                                                      \
    "<plist><dict><key>DBGOriginalUUID</key>\n\t<string>" ORIGINAL "</string></dict></plist>"
#define ROOM 4096

struct archive {
    char bytes[ROOM];
    size_t size;
    zip_t *zip;
    struct hidden_maps maps;
};

static void add(zip_t *zip, const char *name, const char *text)
{
    zip_int64_t i = zip_file_add(zip, name, zip_source_buffer(zip, text, strlen(text), 0), 0);

    assert_true(i >= 0);
    assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_STORE, 0), 0);
}

static int make(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    char path[] = "/tmp/framewatch-hidden-XXXXXX";
    FILE *f;
    zip_t *zip;

    assert_int_not_equal(close(mkstemp(path)), -1);
    zip = zip_open(path, ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    add(zip, "a.dSYM/Contents/Resources/" IMAGE ".plist", PLIST);
    add(zip, "BCSymbolMaps/" ORIGINAL ".bcsymbolmap", MAP);
    assert_int_equal(zip_close(zip), 0);
    f = fopen(path, "rbe");
    assert_non_null(f);
    a->size = fread(a->bytes, 1, sizeof a->bytes, f);
    fclose(f);
    unlink(path);
    *state = a;
    return 0;
}

static int drop(void **state)
{
    struct archive *a = *state;

    if (a->zip)
        zip_discard(a->zip);
    free(a);
    return 0;
}

/* One letter of the archive differs, where `text` lies. */
static void damage(struct archive *a, const char *text)
{
    char *at = memmem(a->bytes, a->size, text, strlen(text));

    assert_non_null(at);
    *at ^= 1;
}

/* What the image's line 0 reads as; "" if nothing hidden was found within `left` bytes. */
static void line_0(struct archive *a, uint64_t left, char *out, size_t room)
{
    struct hidden_names names = {0};
    struct debug_id id;
    zip_source_t *source = zip_source_buffer_create(a->bytes, a->size, 0, NULL);

    assert_true(debug_id_parse(IMAGE, &id));
    a->zip = zip_open_from_source(source, ZIP_RDONLY, NULL);
    assert_non_null(a->zip);
    hidden_maps_find(&a->maps, a->zip);
    *out = '\0';
    if (hidden_maps_read(&a->maps, &id, &left, &names))
        snprintf(out, room, "%s", hidden_names_reveal(&names, "__hidden#0_"));
    hidden_names_fini(&names);
}

static void a_map_is_found_by_what_the_plist_says(void **state)
{
    char name[64];

    line_0(*state, 1 << 20, name, sizeof name);
    assert_string_equal(name, "route_the_message");
}

static void a_map_that_was_damaged_reveals_nothing(void **state)
{
    char name[64];

    damage(*state, "route_the_message");
    line_0(*state, 1 << 20, name, sizeof name);
    assert_string_equal(name, "");
}

static void a_plist_that_was_damaged_is_not_believed(void **state)
{
    char name[64];

    damage(*state, "<plist>");
    line_0(*state, 1 << 20, name, sizeof name);
    assert_string_equal(name, "");
}

static void a_map_larger_than_what_is_left_is_passed_over(void **state)
{
    char name[64];

    line_0(*state, strlen(MAP) - 1, name, sizeof name);
    assert_string_equal(name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_map_is_found_by_what_the_plist_says, make, drop),
        cmocka_unit_test_setup_teardown(a_map_that_was_damaged_reveals_nothing, make, drop),
        cmocka_unit_test_setup_teardown(a_plist_that_was_damaged_is_not_believed, make, drop),
        cmocka_unit_test_setup_teardown(a_map_larger_than_what_is_left_is_passed_over, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "symbols/debug_id.h"
#include "symbols_fixture.h"

static struct debug_id parsed(const char *text)
{
    struct debug_id id;

    assert_true(debug_id_parse(text, &id));
    return id;
}

static void a_build_id_is_written_whole_and_as_a_guid(void **state)
{
    struct debug_id id = parsed("c6978ecedb5f263fd6e17ad2a5467d06caba951f");
    char text[DEBUG_ID_TEXT], guid[DEBUG_ID_GUID_TEXT];

    (void)state;
    assert_int_equal(id.size, 20);
    debug_id_text(&id, text);
    assert_string_equal(text, "c6978ecedb5f263fd6e17ad2a5467d06caba951f");
    debug_id_guid(&id, guid); /* as symbolic (Sentry) and Breakpad write it */
    assert_string_equal(guid, "CE8E97C6-5FDB-3F26-D6E1-7AD2A5467D06");
}

static void a_uuid_is_written_as_apple_does(void **state)
{
    struct debug_id id = parsed("4C4C4455-5555-3144-A10D-2110CF0C7906");
    char text[DEBUG_ID_GUID_TEXT];

    (void)state;
    assert_int_equal(id.size, 16);
    debug_id_uuid(&id, text);
    assert_string_equal(text, "4C4C4455-5555-3144-A10D-2110CF0C7906");
}

static void a_short_id_is_padded_in_its_guid(void **state)
{
    struct debug_id id = parsed("0102030405060708");
    char guid[DEBUG_ID_GUID_TEXT];

    (void)state;
    debug_id_guid(&id, guid);
    assert_string_equal(guid, "04030201-0605-0807-0000-000000000000");
}

static void ids_are_equal_over_their_ways_of_writing(void **state)
{
    struct debug_id whole = parsed("c6978ecedb5f263fd6e17ad2a5467d06caba951f");
    struct debug_id guid = parsed("ce8e97c6-5fdb-3f26-d6e1-7ad2a5467d06");
    struct debug_id first = parsed("c6978ecedb5f263fd6e17ad2a5467d06");
    struct debug_id other = parsed("c6978ecedb5f263fd6e17ad2a5467d07caba951f");
    struct debug_id none = {0};

    (void)state;
    assert_true(debug_id_equal(&whole, &whole));
    assert_true(debug_id_equal(&whole, &guid));
    assert_true(debug_id_equal(&first, &whole));
    assert_true(debug_id_equal(&guid, &first));
    assert_false(debug_id_equal(&whole, &other));
    assert_false(debug_id_equal(&guid, &other));
    assert_false(debug_id_equal(&none, &none));
}

static void what_is_no_id_is_refused(void **state)
{
    static const char *const bad[] = {"", "-", "abc", "xy", "0x12", "12 34"};
    char long_one[2 * DEBUG_ID_BYTES + 3];
    struct debug_id id = {.size = 5};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(debug_id_parse(bad[i], &id));
    memset(long_one, '0', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    assert_false(debug_id_parse(long_one, &id));
    assert_int_equal(id.size, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_build_id_is_written_whole_and_as_a_guid),
        cmocka_unit_test(a_uuid_is_written_as_apple_does),
        cmocka_unit_test(a_short_id_is_padded_in_its_guid),
        cmocka_unit_test(ids_are_equal_over_their_ways_of_writing),
        cmocka_unit_test(what_is_no_id_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

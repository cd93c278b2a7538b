#include "base/base64url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* RFC 4648, section 10, without padding; the last two need the two letters of the URL alphabet. */
static const struct {
    const char *bytes;
    size_t n;
    const char *text;
} vectors[] = {
    {"", 0, ""},
    {"f", 1, "Zg"},
    {"fo", 2, "Zm8"},
    {"foo", 3, "Zm9v"},
    {"foob", 4, "Zm9vYg"},
    {"fooba", 5, "Zm9vYmE"},
    {"foobar", 6, "Zm9vYmFy"},
    {"\xff\xff\xfe", 3, "___-"},
    {"\xfb\xf0", 2, "-_A"},
};
#define N_VECTORS (sizeof vectors / sizeof *vectors)

static void encodes_the_vectors_of_rfc_4648(void **state)
{
    char text[16];

    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        base64url_encode(vectors[i].bytes, vectors[i].n, text);
        assert_string_equal(text, vectors[i].text);
        assert_int_equal(strlen(text), BASE64URL_LEN(vectors[i].n));
    }
}

static void decodes_what_it_encodes(void **state)
{
    unsigned char bytes[16];

    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        assert_true(base64url_decode(vectors[i].text, vectors[i].n, bytes));
        assert_memory_equal(bytes, vectors[i].bytes, vectors[i].n);
    }
}

static void refuses_other_lengths_other_letters_and_second_spellings(void **state)
{
    unsigned char bytes[8];

    (void)state;
    assert_false(base64url_decode("Zm9", 3, bytes));
    assert_false(base64url_decode("Zm9vY", 3, bytes));
    assert_false(base64url_decode("Zm+v", 3, bytes));
    assert_false(base64url_decode("Zg==", 1, bytes));
    assert_false(base64url_decode("Zh", 1, bytes)); /* as "Zg", but with a stray bit */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_the_vectors_of_rfc_4648),
        cmocka_unit_test(decodes_what_it_encodes),
        cmocka_unit_test(refuses_other_lengths_other_letters_and_second_spellings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * golden: compares bytes with a file of tests/golden/CASE/. With UPDATE_GOLDEN=1 in the environment
 * the file is written instead. For CMocka tests; a difference fails the test and names the first
 * line that differs.
 */
#pragma once
#include <stddef.h>

#define golden_check(test_case, file, bytes, n)                                                    \
    golden_check_in(FW_SOURCE_DIR "/tests/golden", test_case, file, bytes, n)
void golden_check_in(const char *folder, const char *test_case, const char *file, const void *bytes,
                     size_t n);

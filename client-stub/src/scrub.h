/*
 * scrub: takes out of free text what may tell a person: mail addresses, numbers of seven digits and
 * more however they are grouped, and the query and fragment of URLs. ASCII and full-width forms.
 * What is left is what the player said about the game. Pure; any thread.
 */
#pragma once
#include <stddef.h>

/* At most size - 1 bytes and a NUL; NULL reads as "". in and out must not overlap. */
void fw_scrub(const char *in, char *out, size_t size);

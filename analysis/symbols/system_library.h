/*
 * system_library: whether a module is the operating system's, by its path or, where only its name
 * is known, by a list of names. Pure.
 *
 * A game may ship a library under a listed name: whoever has symbols for it looks there first.
 */
#pragma once
#include <stdbool.h>

/* platform: "android", "ios", "linux"; NULL: any of them; another one: by path alone. module: path
 * or its last part. */
bool system_library(const char *platform, const char *module);

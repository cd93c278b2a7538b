#pragma once
#include <stddef.h>
int sysctlbyname(const char *name, void *out, size_t *n, void *value, size_t value_n);

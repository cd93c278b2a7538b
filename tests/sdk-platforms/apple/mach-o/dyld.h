#pragma once
#include <stdint.h>
int _NSGetExecutablePath(char *out, uint32_t *size);

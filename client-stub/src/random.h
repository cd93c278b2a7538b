/* random: bytes from the system's generator; any thread. */
#pragma once
#include <stddef.h>

void fw_random(void *out, size_t n);

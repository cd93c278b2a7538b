/* text: copies into fixed fields. Any thread. */
#pragma once
#include <stddef.h>

/* At most size - 1 bytes; NULL counts as "". The writer later cuts between characters. */
void fw_copy_text(char *out, size_t size, const char *text);

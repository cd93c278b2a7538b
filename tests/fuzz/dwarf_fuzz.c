/* Input: sections one after another, each one byte of number (modulo DEBUG_SECTIONS), three bytes
 * of little-endian size, and its bytes. The image around them has code at all of the first
 * megabyte. */
#include "base/cursor.h"
#include "debug_file_run.h"

#define CODE_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool set_up(struct debug_image *image, const uint8_t *data, size_t size)
{
    struct cursor c = cursor_over(data, size, "fuzz input");

    *image = (struct debug_image){.slice = {.format = DEBUG_ELF, .arch = DEBUG_ARCH_X86_64},
                                  .address_size = 8,
                                  .mem = {.cap = FUZZ_MEMORY},
                                  .work = {.left = FUZZ_WORK}};
    while (cursor_left(&c) >= 4) {
        unsigned id = cursor_u8(&c) % DEBUG_SECTIONS;
        size_t n = cursor_u16le(&c);

        n |= (size_t)cursor_u8(&c) << 16;
        if (n > cursor_left(&c))
            n = cursor_left(&c);
        image->sections[id] =
            (struct debug_section){.at = cursor_bytes(&c, n), .size = n, .stored_bytes = n};
    }
    if (!VEC_ROOM(&image->mem, &image->code, 1))
        return false;
    image->code.at[image->code.n++] = (struct debug_range){0, CODE_BYTES};
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct debug_image image;

    if (set_up(&image, data, size))
        fuzz_build(&image);
    debug_image_close(&image);
    return 0;
}

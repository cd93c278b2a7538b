/* font: letters of 5 x 7 dots for the display; capitals, digits and a few signs. */
#pragma once
#include <stdint.h>

#define FW_FONT_COLUMNS 5
#define FW_FONT_ROWS 7

/* Column by column, lowest bit at the top; NULL: no such letter, a space. */
const uint8_t *fw_font_letter(char c);

/* base/text_width.h - how many columns a text takes, and texts cut to a width. */
#pragma once

#include "base/str.h"

/* SPARK: as show() pads its boxes (East Asian wide characters are two, characters beyond U+FFFF too, combining marks one).
 * TERMINAL: as a terminal draws them (combining marks are none, emoji two). */
typedef enum nl_width_rule { NL_WIDTH_SPARK, NL_WIDTH_TERMINAL } nl_width_rule;

uint32_t nl_text_width(nl_str text, nl_width_rule rule);

/* The longest part of the text that takes at most `width` columns; never cuts inside a character or before a mark. */
nl_str nl_text_cut(nl_str text, uint32_t width, nl_width_rule rule);

/* base/text_width.c - Spark's rule is that of its show() (full-width ranges over UTF-16 units); the terminal's is the
 * Unicode East Asian Width property as utf8proc has it. */
#include "base/text_width.h"

#include <utf8proc.h>


static uint32_t spark_width(uint32_t c)
{
    const bool is_wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
                         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE10 && c <= 0xFE19) || (c >= 0xFE30 && c <= 0xFE6F) ||
                         (c >= 0xFF00 && c <= 0xFF60) || (c >= 0xFFE0 && c <= 0xFFE6) || c > 0xFFFF;
    return is_wide ? 2 : 1;
}

static uint32_t terminal_width(uint32_t c)
{
    if (c >= 0x20 && c < 0x7F) return 1;
    const int width = utf8proc_charwidth((utf8proc_int32_t)c);
    return width > 0 ? (uint32_t)width : 0;
}

static uint32_t character_width(uint32_t c, nl_width_rule rule)
{
    return rule == NL_WIDTH_SPARK ? spark_width(c) : terminal_width(c);
}

uint32_t nl_text_width(nl_str text, nl_width_rule rule)
{
    uint32_t width = 0;
    for (size_t at = 0; at < text.length;)
        width += character_width(nl_utf8_decode(text, &at), rule);
    return width;
}

nl_str nl_text_cut(nl_str text, uint32_t width, nl_width_rule rule)
{
    uint32_t used = 0;
    for (size_t at = 0; at < text.length;) {
        const size_t start = at;
        used += character_width(nl_utf8_decode(text, &at), rule);
        if (used > width) return nl_str_slice(text, 0, start);
    }
    return text;
}

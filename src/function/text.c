/* function/text.c - the character work behind the string functions. ASCII runs go byte by byte. */
#include "function/text.h"

#include <utf8proc.h>

#include "base/status.h"

bool nl_text_is_ascii(nl_str text)
{
    uint8_t all = 0;
    for (size_t i = 0; i < text.length; i++) all |= (uint8_t)text.data[i];
    return all < 0x80;
}

size_t nl_text_offset(nl_str text, int64_t index)
{
    size_t offset = 0;
    while (index > 0 && offset < text.length) {
        offset = nl_utf8_next(text, offset);
        index--;
    }
    return offset;
}

/* Character range [start, stop) of a text of `count` characters. */
static void clip(int64_t count, int64_t position, int64_t length, int64_t *start, int64_t *stop)
{
    int64_t from = position > 0 ? position - 1 : position < 0 ? count + position : 0;
    int64_t to = length > INT64_MAX - (from > 0 ? from : 0) ? INT64_MAX : from + length;
    if (length < 0) to = from;
    *start = from < 0 ? 0 : from;
    *stop = to < *start ? *start : to;
}

nl_str nl_text_substring(nl_str text, int64_t position, int64_t length)
{
    int64_t start;
    int64_t stop;
    if (text.length == 0) return text;
    bool is_ascii = nl_text_is_ascii(text);
    int64_t count = is_ascii ? (int64_t)text.length : position < 0 ? (int64_t)nl_utf8_length(text) : 0;
    clip(count, position, length, &start, &stop);
    if (is_ascii) return nl_str_slice(text, (size_t)NL_MIN(start, count), (size_t)NL_MIN(stop, count));
    size_t first = nl_text_offset(text, start);
    nl_str rest = nl_str_slice(text, first, text.length);
    return nl_str_slice(rest, 0, nl_text_offset(rest, stop - start));
}

nl_str nl_bytes_substring(nl_str bytes, int64_t position, int64_t length)
{
    int64_t start;
    int64_t stop;
    int64_t count = (int64_t)bytes.length;
    clip(count, position, length, &start, &stop);
    return nl_str_slice(bytes, (size_t)NL_MIN(start, count), (size_t)NL_MIN(stop, count));
}

/* Upper cases of more than one character (Unicode, SpecialCasing.txt, unconditional mappings). */
typedef struct special_upper {
    uint32_t from;
    uint32_t to[3];
} special_upper;

static const special_upper special_uppers[] = {
    {0x00DF, {'S', 'S'}},        {0x0149, {0x02BC, 'N'}},     {0x01F0, {'J', 0x030C}},     {0x0390, {0x0399, 0x0308, 0x0301}},
    {0x03B0, {0x03A5, 0x0308, 0x0301}}, {0x0587, {0x0535, 0x0552}}, {0x1E96, {'H', 0x0331}}, {0x1E97, {'T', 0x0308}},
    {0x1E98, {'W', 0x030A}},     {0x1E99, {'Y', 0x030A}},     {0x1E9A, {'A', 0x02BE}},     {0x1F50, {0x03A5, 0x0313}},
    {0xFB00, {'F', 'F'}},        {0xFB01, {'F', 'I'}},        {0xFB02, {'F', 'L'}},        {0xFB03, {'F', 'F', 'I'}},
    {0xFB04, {'F', 'F', 'L'}},   {0xFB05, {'S', 'T'}},        {0xFB06, {'S', 'T'}},        {0xFB13, {0x0544, 0x0546}},
    {0xFB14, {0x0544, 0x0535}},  {0xFB15, {0x0544, 0x053B}},  {0xFB16, {0x054E, 0x0546}},  {0xFB17, {0x0544, 0x053D}},
};

static void append_upper(uint32_t code_point, nl_builder *out)
{
    if (code_point < 0x80) {
        nl_append_char(out, (char)(code_point >= 'a' && code_point <= 'z' ? code_point - 32 : code_point));
        return;
    }
    for (uint32_t i = 0; i < NL_COUNT(special_uppers); i++) {
        if (special_uppers[i].from != code_point) continue;
        for (uint32_t c = 0; c < 3 && special_uppers[i].to[c] != 0; c++) nl_append_code_point(out, special_uppers[i].to[c]);
        return;
    }
    nl_append_code_point(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)code_point));
}

void nl_text_append_upper(nl_str text, nl_builder *out)
{
    for (size_t offset = 0; offset < text.length;) {
        size_t start = offset;
        uint32_t code_point = nl_utf8_decode(text, &offset);
        if (code_point == 0xFFFD)
            nl_append(out, nl_str_slice(text, start, offset)); /* bad bytes stay as they are */
        else
            append_upper(code_point, out);
    }
}

static bool is_cased(uint32_t code_point)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

/* Sigma at the end of a word (a letter before it, none after) is written differently. */
static bool is_final_sigma(nl_str text, size_t start, size_t stop)
{
    if (start == 0) return false;
    size_t before = start - 1;
    while (before > 0 && ((uint8_t)text.data[before] & 0xC0) == 0x80) before--;
    if (!is_cased(nl_utf8_decode(text, &before))) return false;
    return stop >= text.length || !is_cased(nl_utf8_decode(text, &stop));
}

static void append_lower(nl_str text, size_t start, size_t stop, uint32_t code_point, nl_builder *out)
{
    if (code_point < 0x80)
        nl_append_char(out, (char)(code_point >= 'A' && code_point <= 'Z' ? code_point + 32 : code_point));
    else if (code_point == 0xFFFD)
        nl_append(out, nl_str_slice(text, start, stop));
    else if (code_point == 0x0130)
        nl_append(out, NL_STR("i\xCC\x87")); /* I with a dot: i and a combining dot */
    else if (code_point == 0x03A3)
        nl_append_code_point(out, is_final_sigma(text, start, stop) ? 0x03C2 : 0x03C3);
    else
        nl_append_code_point(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point));
}

void nl_text_append_lower(nl_str text, nl_builder *out)
{
    for (size_t offset = 0; offset < text.length;) {
        size_t start = offset;
        uint32_t code_point = nl_utf8_decode(text, &offset);
        append_lower(text, start, offset, code_point, out);
    }
}

void nl_text_append_title(nl_str text, nl_builder *out)
{
    bool is_start = true;
    for (size_t offset = 0; offset < text.length;) {
        size_t start = offset;
        uint32_t code_point = nl_utf8_decode(text, &offset);
        if (is_start && code_point != 0xFFFD) {
            uint32_t title = code_point == 0xFB01 ? 0 : (uint32_t)utf8proc_totitle((utf8proc_int32_t)code_point);
            if (title == 0)
                nl_append(out, NL_STR("Fi"));
            else
                nl_append_code_point(out, title);
        } else {
            append_lower(text, start, offset, code_point, out);
        }
        is_start = code_point == ' ';
    }
}

static bool holds_character(nl_str set, nl_str character)
{
    return nl_str_find(set, character, 0) != NL_NOT_FOUND;
}

nl_str nl_text_trim(nl_str text, nl_str characters, nl_trim_sides sides)
{
    size_t start = 0;
    size_t stop = text.length;
    while ((sides & NL_TRIM_LEFT) && start < stop) {
        size_t next = nl_utf8_next(text, start);
        if (!holds_character(characters, nl_str_slice(text, start, next))) break;
        start = next;
    }
    while ((sides & NL_TRIM_RIGHT) && stop > start) {
        size_t before = stop - 1;
        while (before > start && ((uint8_t)text.data[before] & 0xC0) == 0x80) before--;
        if (!holds_character(characters, nl_str_slice(text, before, stop))) break;
        stop = before;
    }
    return nl_str_slice(text, start, stop);
}

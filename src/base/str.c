/* base/str.c - slices, UTF-8 and bounded builders. UTF-8 is as RFC 3629 has it: no overlong forms, no surrogates,
 * nothing above U+10FFFF. ASCII runs are handled eight bytes at a time, since nearly all text is ASCII.
 */
#include "base/str.h"

#include "base/arena.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

static inline char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

int nl_str_compare(nl_str a, nl_str b)
{
    size_t common = NL_MIN(a.length, b.length);
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    if (order != 0) return order;
    return a.length < b.length ? -1 : a.length > b.length;
}

bool nl_str_equal_nocase(nl_str a, nl_str b)
{
    if (a.length != b.length) return false;
    for (size_t i = 0; i < a.length; i++)
        if (fold(a.data[i]) != fold(b.data[i])) return false;
    return true;
}

bool nl_str_is_nocase(nl_str a, const char *text)
{
    return nl_str_equal_nocase(a, nl_str_from(text));
}

bool nl_str_starts(nl_str a, nl_str prefix)
{
    return a.length >= prefix.length && nl_str_equal(nl_str_slice(a, 0, prefix.length), prefix);
}

bool nl_str_starts_nocase(nl_str a, nl_str prefix)
{
    return a.length >= prefix.length && nl_str_equal_nocase(nl_str_slice(a, 0, prefix.length), prefix);
}

bool nl_str_ends(nl_str a, nl_str suffix)
{
    return a.length >= suffix.length && nl_str_equal(nl_str_slice(a, a.length - suffix.length, a.length), suffix);
}

/* Sixteen places at once are asked for the needle's first and last byte, which are rarely both there by chance (Mula,
 * "SIMD-friendly algorithms for substring searching", 2016). The last block ends with the text; where it overlaps the one
 * before, places are asked twice. */
#ifdef __SSE2__
#define BLOCK_BYTES 16u
static size_t find_blocks(nl_str haystack, nl_str needle, size_t from)
{
    const size_t distance = needle.length - 1;
    const size_t last_block = haystack.length - distance - BLOCK_BYTES;
    const __m128i first = _mm_set1_epi8(needle.data[0]);
    const __m128i last = _mm_set1_epi8(needle.data[distance]);
    for (size_t at = from;; at = NL_MIN(at + BLOCK_BYTES, last_block)) {
        const __m128i starts = _mm_loadu_si128((const __m128i *)(const void *)(haystack.data + at));
        const __m128i stops = _mm_loadu_si128((const __m128i *)(const void *)(haystack.data + at + distance));
        uint32_t places = (uint32_t)_mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(starts, first), _mm_cmpeq_epi8(stops, last)));
        for (; places; places &= places - 1) {
            const size_t place = at + (size_t)__builtin_ctz(places);
            if (memcmp(haystack.data + place, needle.data, distance) == 0) return place;
        }
        if (at == last_block) return NL_NOT_FOUND;
    }
}
#endif

size_t nl_str_find(nl_str haystack, nl_str needle, size_t from)
{
    if (from > haystack.length) return NL_NOT_FOUND;
    if (needle.length == 0) return from;
    if (needle.length > haystack.length - from) return NL_NOT_FOUND;
#ifdef __SSE2__
    if (needle.length > 1 && haystack.length - from >= BLOCK_BYTES + needle.length - 1) return find_blocks(haystack, needle, from);
#endif
    const char *hit = memmem(haystack.data + from, haystack.length - from, needle.data, needle.length);
    return hit == NULL ? NL_NOT_FOUND : (size_t)(hit - haystack.data);
}

size_t nl_str_find_char(nl_str haystack, char c, size_t from)
{
    if (from >= haystack.length) return NL_NOT_FOUND;
    const char *hit = memchr(haystack.data + from, c, haystack.length - from);
    return hit == NULL ? NL_NOT_FOUND : (size_t)(hit - haystack.data);
}

size_t nl_str_find_last_char(nl_str haystack, char c)
{
    if (haystack.length == 0) return NL_NOT_FOUND;
    const char *hit = memrchr(haystack.data, c, haystack.length);
    return hit == NULL ? NL_NOT_FOUND : (size_t)(hit - haystack.data);
}

static inline bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

nl_str nl_str_trim(nl_str a)
{
    size_t start = 0;
    size_t stop = a.length;
    while (start < stop && is_space(a.data[start])) start++;
    while (stop > start && is_space(a.data[stop - 1])) stop--;
    return nl_str_slice(a, start, stop);
}

bool nl_str_next_part(nl_str *rest, char separator, nl_str *part)
{
    if (rest->length == 0) return false;
    size_t end = nl_str_find_char(*rest, separator, 0);
    *part = nl_str_slice(*rest, 0, end);
    *rest = end == NL_NOT_FOUND ? (nl_str){NULL, 0} : nl_str_slice(*rest, end + 1, rest->length);
    return true;
}

static inline bool is_ascii_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return (word & 0x8080808080808080ull) == 0;
}

static inline bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Decodes one character of at least one byte. Returns its length, or 0 when the bytes are no character. */
static uint32_t decode(const uint8_t *bytes, size_t length, uint32_t *code_point)
{
    uint8_t first = bytes[0];
    if (first < 0x80) {
        *code_point = first;
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) return 0;
    if (first < 0xE0) {
        if (length < 2 || !is_continuation(bytes[1])) return 0;
        *code_point = (first & 0x1Fu) << 6 | (bytes[1] & 0x3Fu);
        return 2;
    }
    if (first < 0xF0) {
        if (length < 3 || !is_continuation(bytes[1]) || !is_continuation(bytes[2])) return 0;
        uint32_t value = (first & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
        if (value < 0x800 || (value >= 0xD800 && value <= 0xDFFF)) return 0;
        *code_point = value;
        return 3;
    }
    if (length < 4 || !is_continuation(bytes[1]) || !is_continuation(bytes[2]) || !is_continuation(bytes[3])) return 0;
    uint32_t value = (first & 0x07u) << 18 | (bytes[1] & 0x3Fu) << 12 | (bytes[2] & 0x3Fu) << 6 | (bytes[3] & 0x3Fu);
    if (value < 0x10000 || value > 0x10FFFF) return 0;
    *code_point = value;
    return 4;
}

uint32_t nl_utf8_decode(nl_str a, size_t *offset)
{
    if (*offset >= a.length) return 0xFFFD;
    uint32_t code_point = 0xFFFD;
    uint32_t length = decode((const uint8_t *)a.data + *offset, a.length - *offset, &code_point);
    *offset += length == 0 ? 1 : length;
    return code_point;
}

size_t nl_utf8_next(nl_str a, size_t offset)
{
    if (offset >= a.length) return a.length;
    uint32_t code_point;
    uint32_t length = decode((const uint8_t *)a.data + offset, a.length - offset, &code_point);
    return offset + (length == 0 ? 1 : length);
}

size_t nl_utf8_length(nl_str a)
{
    size_t count = 0;
    for (size_t offset = 0; offset < a.length; count++) {
        while (offset + 8 <= a.length && is_ascii_word(a.data + offset)) {
            offset += 8;
            count += 8;
        }
        if (offset >= a.length) break;
        offset = nl_utf8_next(a, offset);
    }
    return count;
}

uint32_t nl_utf8_encode(uint32_t code_point, char out[4])
{
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = 0xFFFD;
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

bool nl_utf8_is_valid(nl_str a)
{
    size_t offset = 0;
    while (offset < a.length) {
        if (offset + 8 <= a.length && is_ascii_word(a.data + offset)) {
            offset += 8;
            continue;
        }
        uint32_t code_point;
        uint32_t length = decode((const uint8_t *)a.data + offset, a.length - offset, &code_point);
        if (length == 0) return false;
        offset += length;
    }
    return true;
}

void nl_builder_init(nl_builder *builder, size_t limit)
{
    *builder = (nl_builder){.limit = NL_MIN(limit, SIZE_MAX / 4)};
}

void nl_builder_fini(nl_builder *builder)
{
    free(builder->data);
    *builder = (nl_builder){.limit = builder->limit};
}

void nl_builder_clear(nl_builder *builder)
{
    builder->length = 0;
    builder->has_failed = false;
}

/* Makes room for `more` bytes and a NUL. False, and failed from now on, when the limit or the system refuses. */
static bool reserve(nl_builder *builder, size_t more)
{
    if (builder->has_failed) return false;
    if (more > builder->limit - builder->length) {
        builder->has_failed = true;
        return false;
    }
    size_t needed = builder->length + more + 1;
    if (needed <= builder->capacity) return true;
    size_t capacity = NL_MAX(builder->capacity + builder->capacity / 2, NL_MAX(needed, (size_t)64));
    char *data = realloc(builder->data, capacity);
    if (data == NULL) {
        builder->has_failed = true;
        return false;
    }
    builder->data = data;
    builder->capacity = capacity;
    return true;
}

void nl_append(nl_builder *builder, nl_str text)
{
    if (text.length == 0 || !reserve(builder, text.length)) return;
    memcpy(builder->data + builder->length, text.data, text.length);
    builder->length += text.length;
    builder->data[builder->length] = '\0';
}

void nl_append_c(nl_builder *builder, const char *text)
{
    nl_append(builder, nl_str_from(text));
}

void nl_append_char(nl_builder *builder, char c)
{
    nl_append_fill(builder, c, 1);
}

void nl_append_fill(nl_builder *builder, char c, size_t count)
{
    if (count == 0 || !reserve(builder, count)) return;
    memset(builder->data + builder->length, c, count);
    builder->length += count;
    builder->data[builder->length] = '\0';
}

void nl_append_repeated(nl_builder *builder, nl_str text, size_t count)
{
    const size_t total = nl_size_mul(text.length, count);
    if (total == 0 || !reserve(builder, total)) return;
    char *start = builder->data + builder->length;
    memcpy(start, text.data, text.length);
    for (size_t filled = text.length; filled < total;) { /* what is there once more, until the end */
        const size_t more = NL_MIN(filled, total - filled);
        memcpy(start + filled, start, more);
        filled += more;
    }
    builder->length += total;
    builder->data[builder->length] = '\0';
}

void nl_append_f(nl_builder *builder, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) builder->has_failed = true;
    if (length > 0 && reserve(builder, (size_t)length)) {
        vsnprintf(builder->data + builder->length, (size_t)length + 1, format, again);
        builder->length += (size_t)length;
    }
    va_end(again);
}

void nl_append_int(nl_builder *builder, int64_t value)
{
    nl_append_f(builder, "%lld", (long long)value);
}

void nl_append_code_point(nl_builder *builder, uint32_t code_point)
{
    char bytes[4];
    uint32_t length = nl_utf8_encode(code_point, bytes);
    nl_append(builder, (nl_str){bytes, length});
}

const char *nl_builder_c(nl_builder *builder)
{
    return builder->length > 0 ? builder->data : "";
}

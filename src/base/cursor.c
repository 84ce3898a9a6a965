/* base/cursor.c - bounds-checked reading. Every read goes through take(), the one place that compares with the end. */
#include "base/cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void nl_cursor_fail(nl_cursor *in)
{
    if (in->has_failed) return;
    in->has_failed = true;
    in->failed_at = in->offset;
}

static const uint8_t *take(nl_cursor *in, size_t length)
{
    if (NL_UNLIKELY(in->has_failed || length > in->length - in->offset)) {
        nl_cursor_fail(in);
        return NULL;
    }
    const uint8_t *at = in->data + in->offset;
    in->offset += length;
    return at;
}

/* The bytes little-endian, whatever the machine; the compiler makes one load of it. */
static uint64_t take_little(nl_cursor *in, size_t length)
{
    const uint8_t *at = take(in, length);
    uint64_t value = 0;
    if (at == NULL) return 0;
    for (size_t i = 0; i < length; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static uint64_t take_big(nl_cursor *in, size_t length)
{
    const uint8_t *at = take(in, length);
    uint64_t value = 0;
    if (at == NULL) return 0;
    for (size_t i = 0; i < length; i++) value = value << 8 | at[i];
    return value;
}

uint8_t nl_cursor_u8(nl_cursor *in)
{
    return (uint8_t)take_little(in, 1);
}

uint16_t nl_cursor_u16(nl_cursor *in)
{
    return (uint16_t)take_little(in, 2);
}

uint32_t nl_cursor_u32(nl_cursor *in)
{
    return (uint32_t)take_little(in, 4);
}

uint64_t nl_cursor_u64(nl_cursor *in)
{
    return take_little(in, 8);
}

uint32_t nl_cursor_u32_be(nl_cursor *in)
{
    return (uint32_t)take_big(in, 4);
}

uint64_t nl_cursor_u64_be(nl_cursor *in)
{
    return take_big(in, 8);
}

float nl_cursor_f32(nl_cursor *in)
{
    uint32_t bits = nl_cursor_u32(in);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double nl_cursor_f64(nl_cursor *in)
{
    uint64_t bits = nl_cursor_u64(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t nl_cursor_uvarint(nl_cursor *in)
{
    if (in->has_failed) return 0;
    uint64_t value = 0;
    size_t offset = in->offset;
    for (unsigned shift = 0; shift < 64 && offset < in->length; shift += 7) {
        uint8_t byte = in->data[offset++];
        if (shift == 63 && byte > 1) break; /* more than 64 bits, or an eleventh byte */
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            in->offset = offset;
            return value;
        }
    }
    nl_cursor_fail(in);
    return 0;
}

uint32_t nl_cursor_uvarint32(nl_cursor *in)
{
    size_t start = in->offset;
    uint64_t value = nl_cursor_uvarint(in);
    if (value <= UINT32_MAX) return (uint32_t)value;
    in->offset = start;
    nl_cursor_fail(in);
    return 0;
}

int64_t nl_cursor_zigzag(nl_cursor *in)
{
    uint64_t value = nl_cursor_uvarint(in);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

nl_bytes nl_cursor_bytes(nl_cursor *in, size_t length)
{
    const uint8_t *at = take(in, length);
    return at == NULL ? (nl_bytes){NULL, 0} : (nl_bytes){at, length};
}

void nl_cursor_skip(nl_cursor *in, size_t length)
{
    (void)take(in, length);
}

static nl_status corrupt(const nl_cursor *in, size_t at, const char *problem)
{
    char *column = NULL;
    if (in->column.length > 0 && asprintf(&column, " in column " NL_STR_FMT, NL_STR_ARG(in->column)) < 0) column = NULL;
    nl_status status = NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", in->path),
                                NL_P_INT("offset", (int64_t)(in->file_offset + at)),
                                NL_P("column", column != NULL ? column : ""), NL_P("problem", problem));
    free(column);
    return status;
}

nl_status nl_cursor_status(const nl_cursor *in)
{
    if (NL_LIKELY(!in->has_failed)) return NULL;
    return corrupt(in, in->failed_at, "the data ends too early or holds an impossible number");
}

nl_status nl_cursor_corrupt(const nl_cursor *in, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *problem = NULL;
    if (vasprintf(&problem, format, arguments) < 0) problem = NULL;
    va_end(arguments);
    nl_status status = corrupt(in, in->has_failed ? in->failed_at : in->offset, problem != NULL ? problem : format);
    free(problem);
    return status;
}

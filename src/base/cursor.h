/* base/cursor.h - reading untrusted bytes. The cursor knows its end and remembers the first failure, so a decoder
 * reads straight through and asks once (nl_cursor_status). After a failure every read yields zero and moves nothing.
 */
#pragma once

#include "base/status.h"
#include "base/str.h"

typedef struct nl_cursor {
    const uint8_t *data; /* borrowed */
    size_t length;
    size_t offset;
    uint64_t file_offset; /* where data[0] lies in the file, for messages */
    nl_str path;          /* what is being read, for messages; borrowed   */
    nl_str column;        /* or empty                                     */
    bool has_failed;
    size_t failed_at;
} nl_cursor;

static inline nl_cursor nl_cursor_over(const void *data, size_t length, nl_str path)
{
    return (nl_cursor){.data = (const uint8_t *)data, .length = length, .path = path};
}
static inline size_t nl_cursor_remaining(const nl_cursor *in)
{
    return in->length - in->offset;
}
uint8_t nl_cursor_u8(nl_cursor *in);
uint16_t nl_cursor_u16(nl_cursor *in); /* little-endian, as all fixed reads here */
uint32_t nl_cursor_u32(nl_cursor *in);
uint64_t nl_cursor_u64(nl_cursor *in);
uint32_t nl_cursor_u32_be(nl_cursor *in);
uint64_t nl_cursor_u64_be(nl_cursor *in);
float nl_cursor_f32(nl_cursor *in);
double nl_cursor_f64(nl_cursor *in);
uint64_t nl_cursor_uvarint(nl_cursor *in);   /* LEB128, at most 10 bytes */
uint32_t nl_cursor_uvarint32(nl_cursor *in); /* fails above 2^32-1       */
int64_t nl_cursor_zigzag(nl_cursor *in);
nl_bytes nl_cursor_bytes(nl_cursor *in, size_t length); /* borrowed from data; {NULL,0} on failure */
void nl_cursor_skip(nl_cursor *in, size_t length);
void nl_cursor_fail(nl_cursor *in);
/* NULL, or NILAS_CORRUPT_FILE with path, column, byte offset ("the data ends too early"). */
NL_MUST_USE nl_status nl_cursor_status(const nl_cursor *in);
/* A corruption with its own words, at the present offset. */
NL_MUST_USE nl_status nl_cursor_corrupt(const nl_cursor *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

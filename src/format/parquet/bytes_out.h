/* format/parquet/bytes_out.h - growing bytes charged to a budget: pages and dictionaries while they are filled. */
#pragma once

#include "base/memory.h"
#include "base/str.h"

typedef struct nl_bytes_out {
    nl_memory *memory; /* borrowed */
    nl_buffer *buffer; /* owned; NULL while empty */
    uint8_t *data;     /* of buffer */
    size_t length, capacity;
} nl_bytes_out;

void nl_bytes_out_init(nl_bytes_out *out, nl_memory *memory);
void nl_bytes_out_fini(nl_bytes_out *out);
NL_MUST_USE nl_status nl_bytes_out_grow(nl_bytes_out *out, size_t more); /* slow path of reserve */
/* Room for `more` bytes behind the length. */
NL_MUST_USE static inline nl_status nl_bytes_out_reserve(nl_bytes_out *out, size_t more)
{
    return more <= out->capacity - out->length ? NULL : nl_bytes_out_grow(out, more);
}
NL_MUST_USE nl_status nl_bytes_out_add(nl_bytes_out *out, const void *bytes, size_t length);
static inline nl_bytes nl_bytes_out_bytes(const nl_bytes_out *out) /* borrowed until the next change */
{
    return (nl_bytes){out->data, out->length};
}

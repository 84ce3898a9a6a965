/* format/parquet/bytes_out.c - see bytes_out.h. */
#include "format/parquet/bytes_out.h"

#include "base/arena.h"

void nl_bytes_out_init(nl_bytes_out *out, nl_memory *memory)
{
    *out = (nl_bytes_out){.memory = memory};
}

void nl_bytes_out_fini(nl_bytes_out *out)
{
    nl_buffer_release(out->buffer);
    *out = (nl_bytes_out){.memory = out->memory};
}

nl_status nl_bytes_out_grow(nl_bytes_out *out, size_t more)
{
    const size_t needed = nl_size_add(out->length, more);
    const size_t doubled = nl_size_mul(out->capacity, 2);
    nl_buffer *larger = NULL;
    NL_TRY(nl_buffer_new(out->memory, NL_MAX(NL_MAX(needed, doubled), (size_t)256), false, &larger));
    if (out->length > 0) memcpy(larger->data, out->data, out->length);
    nl_buffer_release(out->buffer);
    out->buffer = larger;
    out->data = larger->data;
    out->capacity = larger->size_bytes;
    return NULL;
}

nl_status nl_bytes_out_add(nl_bytes_out *out, const void *bytes, size_t length)
{
    NL_TRY(nl_bytes_out_reserve(out, length));
    if (length > 0) memcpy(out->data + out->length, bytes, length);
    out->length += length;
    return NULL;
}

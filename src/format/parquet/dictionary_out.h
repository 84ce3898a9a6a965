/* format/parquet/dictionary_out.h - the dictionary of a column chunk while it is written: value to code. Inside the
 * folder only. Values are in their form (write_form.h); codes count from 0 in order of first appearance.
 */
#pragma once

#include "column/vector.h"
#include "format/parquet/bytes_out.h"

typedef struct nl_dictionary_out {
    uint32_t stride;        /* of fixed-width values; 0: strings */
    uint32_t count;
    nl_bytes_out plain;     /* the body of the dictionary page */
    nl_bytes_out offsets;   /* strings: uint32_t, where each value's bytes start in plain */
    nl_bytes_out slots;     /* open addressing: dictionary_slot[mask + 1] */
    uint32_t mask;
} nl_dictionary_out;

void nl_dictionary_out_init(nl_dictionary_out *dictionary, uint32_t stride, nl_memory *memory);
void nl_dictionary_out_fini(nl_dictionary_out *dictionary);
/* The codes of `count` values: fixed-width ones side by side, or views. New values are added. */
NL_MUST_USE nl_status nl_dictionary_out_codes(nl_dictionary_out *dictionary, const void *values, uint32_t count, uint32_t *codes);
/* The PLAIN bytes of a value, without a string's length. Borrowed until values are added. */
static inline nl_bytes nl_dictionary_out_value(const nl_dictionary_out *dictionary, uint32_t code)
{
    if (dictionary->stride > 0) return (nl_bytes){dictionary->plain.data + (size_t)code * dictionary->stride, dictionary->stride};
    const uint8_t *data = dictionary->plain.data + ((const uint32_t *)(const void *)dictionary->offsets.data)[code];
    uint32_t length;
    memcpy(&length, data - sizeof(length), sizeof(length));
    return (nl_bytes){data, length};
}

/* format/parquet/values.c - one decoder per encoding, chosen once per call. */
#include "format/parquet/values.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/limits.h"
#include "format/parquet/bitpack.h"

nl_status nl_parquet_corrupt(const nl_parquet_place *place, const char *format, ...)
{
    char problem[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof(problem), format, arguments);
    va_end(arguments);
    nl_cursor in = nl_cursor_over(NULL, 0, place->path);
    in.column = place->column;
    in.file_offset = place->offset;
    return nl_cursor_corrupt(&in, "%s", problem);
}

static nl_status ends_early(const nl_values *values)
{
    return nl_parquet_corrupt(&values->place, "the values of the page at this place are damaged or end too early");
}

static const char *encoding_name(nl_parquet_encoding encoding)
{
    static const char *const names[] = {"PLAIN",
                                        "GROUP_VAR_INT",
                                        "PLAIN_DICTIONARY",
                                        "RLE",
                                        "BIT_PACKED",
                                        "DELTA_BINARY_PACKED",
                                        "DELTA_LENGTH_BYTE_ARRAY",
                                        "DELTA_BYTE_ARRAY",
                                        "RLE_DICTIONARY",
                                        "BYTE_STREAM_SPLIT"};
    return (size_t)encoding < NL_COUNT(names) ? names[encoding] : "unknown";
}

static uint32_t bytes_of(const nl_parquet_node *leaf)
{
    switch (leaf->physical) {
    case NL_PARQUET_INT32:
    case NL_PARQUET_FLOAT:
        return 4;
    case NL_PARQUET_INT64:
    case NL_PARQUET_DOUBLE:
        return 8;
    case NL_PARQUET_INT96:
        return 12;
    case NL_PARQUET_FIXED:
        return leaf->type_length;
    case NL_PARQUET_BOOLEAN:
    case NL_PARQUET_BYTE_ARRAY:
    case NL_PARQUET_PHYSICAL_COUNT:
        break;
    }
    return 0;
}

static nl_status start_dictionary(nl_values *values, nl_bytes bytes)
{
    if (bytes.length == 0) { /* a page of nulls only may have no indices at all */
        nl_rle_init(&values->rle, bytes, 0);
        return NULL;
    }
    const uint32_t width = bytes.data[0];
    if (width > 32) return nl_parquet_corrupt(&values->place, "dictionary indices of %u bits", width);
    nl_rle_init(&values->rle, (nl_bytes){bytes.data + 1, bytes.length - 1}, width);
    return NULL;
}

static nl_status start_rle_booleans(nl_values *values, nl_bytes bytes)
{
    uint32_t length = 0;
    if (bytes.length >= sizeof(length)) memcpy(&length, bytes.data, sizeof(length));
    if (bytes.length < sizeof(length) || length > bytes.length - sizeof(length)) return ends_early(values);
    nl_rle_init(&values->rle, (nl_bytes){bytes.data + sizeof(length), length}, 1);
    return NULL;
}

/* Lengths come first, packed; the bytes of all values follow. The first pass only finds where they start. */
static nl_status start_lengths(nl_values *values, nl_delta *lengths, nl_bytes bytes)
{
    nl_delta scout;
    const uint8_t *end = NULL;
    if (!nl_delta_init(&scout, bytes, NULL) || !nl_delta_find_end(&scout, &end)) return ends_early(values);
    if (!nl_delta_init(lengths, bytes, NULL)) return ends_early(values);
    values->at = end;
    values->end = bytes.data + bytes.length;
    return NULL;
}

static nl_status start_delta_strings(nl_values *values, nl_bytes bytes)
{
    NL_TRY(start_lengths(values, &values->delta, bytes));
    const nl_bytes rest = {values->at, (size_t)(values->end - values->at)};
    values->last_length = 0;
    return start_lengths(values, &values->suffixes, rest);
}

static bool is_encoding_of(nl_parquet_encoding encoding, nl_parquet_physical physical)
{
    const bool is_string = physical == NL_PARQUET_BYTE_ARRAY;
    const bool is_fixed = physical == NL_PARQUET_FIXED;
    switch (encoding) {
    case NL_PARQUET_PLAIN:
        return true;
    case NL_PARQUET_PLAIN_DICTIONARY:
    case NL_PARQUET_RLE_DICTIONARY:
        return physical != NL_PARQUET_BOOLEAN;
    case NL_PARQUET_RLE:
        return physical == NL_PARQUET_BOOLEAN;
    case NL_PARQUET_DELTA_BINARY_PACKED:
        return physical == NL_PARQUET_INT32 || physical == NL_PARQUET_INT64;
    case NL_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return is_string;
    case NL_PARQUET_DELTA_BYTE_ARRAY:
        return is_string || is_fixed;
    case NL_PARQUET_BYTE_STREAM_SPLIT:
        return physical != NL_PARQUET_BOOLEAN && physical != NL_PARQUET_INT96 && !is_string;
    case NL_PARQUET_BIT_PACKED:
        break;
    }
    return false;
}

nl_status nl_values_init(nl_values *values, const nl_parquet_node *leaf, nl_parquet_encoding encoding, nl_bytes bytes,
                         const nl_parquet_place *place)
{
    values->place = *place;
    values->encoding = encoding;
    values->physical = leaf->physical;
    values->value_bytes = bytes_of(leaf);
    values->at = bytes.data;
    values->end = bytes.data + bytes.length;
    values->index = 0;
    values->is_narrow = false;
    if (!is_encoding_of(encoding, leaf->physical))
        return nl_parquet_corrupt(place, "values encoded as %s (%d), which their type cannot be", encoding_name(encoding), (int)encoding);
    switch (encoding) {
    case NL_PARQUET_PLAIN_DICTIONARY:
    case NL_PARQUET_RLE_DICTIONARY:
        return start_dictionary(values, bytes);
    case NL_PARQUET_RLE:
        return start_rle_booleans(values, bytes);
    case NL_PARQUET_DELTA_BINARY_PACKED:
        return nl_delta_init(&values->delta, bytes, NULL) ? NULL : ends_early(values);
    case NL_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return start_lengths(values, &values->delta, bytes);
    case NL_PARQUET_DELTA_BYTE_ARRAY:
        return start_delta_strings(values, bytes);
    case NL_PARQUET_BYTE_STREAM_SPLIT:
        values->stream_length = bytes.length / values->value_bytes;
        return NULL;
    case NL_PARQUET_PLAIN:
    case NL_PARQUET_BIT_PACKED:
        break;
    }
    return NULL;
}

void nl_values_init_narrow(nl_values *values, const nl_parquet_node *leaf, nl_bytes bytes, const nl_parquet_place *place)
{
    NL_ASSERT(bytes.length >= sizeof(values->narrow));
    values->place = *place;
    values->encoding = NL_PARQUET_PLAIN;
    values->physical = leaf->physical;
    values->value_bytes = bytes_of(leaf);
    values->index = 0;
    values->is_narrow = true;
    memcpy(&values->narrow, bytes.data, sizeof(values->narrow));
    values->at = bytes.data + sizeof(values->narrow);
    values->end = bytes.data + bytes.length;
}

void nl_values_fini(nl_values *values)
{
    free(values->last);
    values->last = NULL;
    values->last_capacity = 0;
}

static nl_status read_plain_booleans(nl_values *values, uint32_t count, uint8_t *out)
{
    const uint64_t available = (uint64_t)(values->end - values->at) * 8;
    if (values->index > available || count > available - values->index) return ends_early(values);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bit = values->index + i;
        out[i] = (values->at[bit >> 3] >> (bit & 7)) & 1;
    }
    values->index += count;
    return NULL;
}

static nl_status read_narrow(nl_values *values, uint32_t count, void *out)
{
    if (count > values->narrow.count - values->index) return ends_early(values);
    nl_narrow_read(&values->narrow, values->at, values->index, count, values->value_bytes, out);
    values->index += count;
    return NULL;
}

static nl_status read_plain_fixed(nl_values *values, uint32_t count, void *out)
{
    if (values->is_narrow) return read_narrow(values, count, out);
    const size_t bytes = (size_t)count * values->value_bytes;
    if (bytes > (size_t)(values->end - values->at)) return ends_early(values);
    memcpy(out, values->at, bytes);
    values->at += bytes;
    return NULL;
}

static nl_status read_plain_strings(nl_values *values, uint32_t count, nl_string_view *out)
{
    const uint8_t *at = values->at;
    const uint8_t *const end = values->end;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length;
        if ((size_t)(end - at) < sizeof(length)) return ends_early(values);
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        if (length > (size_t)(end - at)) return ends_early(values);
        if (length <= NL_STRING_INLINE_MAX) {
            /* Twelve bytes are always readable here; what lies behind the value is masked off. */
            uint64_t low;
            uint32_t high;
            memcpy(&low, at, sizeof(low));
            memcpy(&high, at + 8, sizeof(high));
            low = length >= 8 ? low : low & ((1ull << (8 * length)) - 1);
            high = length > 8 ? (length == 12 ? high : high & ((1u << (8 * (length - 8))) - 1)) : 0;
            out[i].length = length;
            memcpy(out[i].inlined, &low, sizeof(low));
            memcpy(out[i].inlined + 8, &high, sizeof(high));
        } else {
            out[i].length = length;
            memcpy(out[i].far.prefix, at, 4);
            out[i].far.data = (const char *)at;
        }
        at += length;
    }
    values->at = at;
    return NULL;
}

/* Byte k of value i lies at k * stream_length + i. */
static nl_status read_streams(nl_values *values, uint32_t count, uint8_t *out)
{
    if (count > values->stream_length - values->index) return ends_early(values);
    const uint32_t width = values->value_bytes;
    const uint8_t *from = values->at + values->index;
    for (uint32_t k = 0; k < width; k++, from += values->stream_length) {
        for (uint32_t i = 0; i < count; i++) out[(size_t)i * width + k] = from[i];
    }
    values->index += count;
    return NULL;
}

static nl_status read_deltas(nl_values *values, uint32_t count, void *out)
{
    if (values->physical == NL_PARQUET_INT64) return nl_delta_read(&values->delta, out, count) ? NULL : ends_early(values);
    uint64_t wide[256];
    int32_t *narrow = out;
    while (count > 0) {
        const uint32_t part = NL_MIN(count, (uint32_t)NL_COUNT(wide));
        if (!nl_delta_read(&values->delta, wide, part)) return ends_early(values);
        for (uint32_t i = 0; i < part; i++) narrow[i] = (int32_t)(uint32_t)wide[i];
        narrow += part;
        count -= part;
    }
    return NULL;
}

static nl_status read_length_strings(nl_values *values, uint32_t count, nl_string_view *out)
{
    uint64_t lengths[256];
    while (count > 0) {
        const uint32_t part = NL_MIN(count, (uint32_t)NL_COUNT(lengths));
        if (!nl_delta_read(&values->delta, lengths, part)) return ends_early(values);
        for (uint32_t i = 0; i < part; i++) {
            if (lengths[i] > (size_t)(values->end - values->at)) return ends_early(values);
            *out++ = nl_view_of((nl_str){(const char *)values->at, (size_t)lengths[i]});
            values->at += lengths[i];
        }
        count -= part;
    }
    return NULL;
}

static nl_status remember_last(nl_values *values, uint64_t prefix, const uint8_t *suffix, uint64_t suffix_length)
{
    const uint64_t length = prefix + suffix_length;
    if (length > NL_VALUE_BYTES_MAX) return nl_parquet_corrupt(&values->place, "a value of %llu bytes", (unsigned long long)length);
    if (length > values->last_capacity) {
        const size_t capacity = (size_t)length * 2 + 64;
        uint8_t *grown = realloc(values->last, capacity);
        if (grown == NULL)
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)capacity), NL_P_INT("receivedBytes", 0));
        values->last = grown;
        values->last_capacity = capacity;
    }
    if (suffix_length > 0) memcpy(values->last + prefix, suffix, (size_t)suffix_length);
    values->last_length = (size_t)length;
    return NULL;
}

/* The next value of DELTA_BYTE_ARRAY, in values->last: a prefix of the previous one and a suffix of its own. */
static nl_status next_delta_string(nl_values *values)
{
    uint64_t prefix = 0;
    uint64_t suffix = 0;
    if (!nl_delta_read(&values->delta, &prefix, 1) || !nl_delta_read(&values->suffixes, &suffix, 1)) return ends_early(values);
    if (prefix > values->last_length || suffix > (size_t)(values->end - values->at)) return ends_early(values);
    NL_TRY(remember_last(values, prefix, values->at, suffix));
    values->at += suffix;
    return NULL;
}

static nl_status read_delta_strings(nl_values *values, uint32_t count, nl_heap *heap, nl_string_view *out)
{
    for (uint32_t i = 0; i < count; i++) {
        NL_TRY(next_delta_string(values));
        NL_TRY(nl_heap_add(heap, (nl_str){(const char *)values->last, values->last_length}, &out[i]));
    }
    return NULL;
}

nl_status nl_values_read(nl_values *values, uint32_t count, nl_heap *heap, void *out)
{
    switch (values->encoding) {
    case NL_PARQUET_PLAIN:
        if (values->physical == NL_PARQUET_BOOLEAN) return read_plain_booleans(values, count, out);
        if (values->physical == NL_PARQUET_BYTE_ARRAY) return read_plain_strings(values, count, out);
        return read_plain_fixed(values, count, out);
    case NL_PARQUET_RLE:
        return nl_rle_read8(&values->rle, out, count) ? NULL : ends_early(values);
    case NL_PARQUET_DELTA_BINARY_PACKED:
        return read_deltas(values, count, out);
    case NL_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return read_length_strings(values, count, out);
    case NL_PARQUET_DELTA_BYTE_ARRAY:
        return read_delta_strings(values, count, heap, out);
    case NL_PARQUET_BYTE_STREAM_SPLIT:
        return read_streams(values, count, out);
    case NL_PARQUET_PLAIN_DICTIONARY:
    case NL_PARQUET_RLE_DICTIONARY:
    case NL_PARQUET_BIT_PACKED:
        break;
    }
    return ends_early(values);
}

nl_status nl_values_read_fixed(nl_values *values, uint32_t count, nl_heap *heap, const uint8_t **raw)
{
    const size_t bytes = (size_t)count * values->value_bytes;
    if (values->encoding == NL_PARQUET_PLAIN) {
        if (bytes > (size_t)(values->end - values->at)) return ends_early(values);
        *raw = values->at;
        values->at += bytes;
        return NULL;
    }
    char *room = NULL;
    if (values->encoding == NL_PARQUET_BYTE_STREAM_SPLIT) {
        if (count > values->stream_length - values->index) return ends_early(values);
        NL_TRY(nl_heap_alloc(heap, bytes, &room));
        NL_TRY(read_streams(values, count, (uint8_t *)room));
    } else {
        if (values->encoding != NL_PARQUET_DELTA_BYTE_ARRAY) return ends_early(values);
        if (count > values->delta.values_left) return ends_early(values);
        NL_TRY(nl_heap_alloc(heap, bytes, &room));
        for (uint32_t i = 0; i < count; i++) {
            NL_TRY(next_delta_string(values));
            if (values->last_length != values->value_bytes) return ends_early(values);
            memcpy(room + (size_t)i * values->value_bytes, values->last, values->value_bytes);
        }
    }
    *raw = (const uint8_t *)room;
    return NULL;
}

static nl_status check_indices(const nl_values *values, const uint32_t *indices, uint32_t count, uint32_t dictionary_length)
{
    uint32_t max = 0;
    for (uint32_t i = 0; i < count; i++) max = indices[i] > max ? indices[i] : max;
    if (count > 0 && max >= dictionary_length)
        return nl_parquet_corrupt(&values->place, "index %u into a dictionary of %u values", max, dictionary_length);
    return NULL;
}

nl_status nl_values_read_indices(nl_values *values, uint32_t count, uint32_t dictionary_length, uint32_t *out)
{
    if (!nl_rle_read32(&values->rle, out, count)) return ends_early(values);
    return check_indices(values, out, count, dictionary_length);
}

/* ---- Single values ---- */

bool nl_values_can_pick(const nl_values *values)
{
    if (values->encoding != NL_PARQUET_PLAIN || values->physical == NL_PARQUET_BYTE_ARRAY) return false;
    return values->value_bytes == 4 || values->value_bytes == 8;
}

#define PICK_LOOP(name, type)                                                                                     \
    static void name(const uint8_t *restrict at, const uint32_t *restrict places, uint32_t count, type *restrict out) \
    {                                                                                                             \
        for (uint32_t i = 0; i < count; i++) memcpy(&out[i], at + (size_t)places[i] * sizeof(type), sizeof(type)); \
    }
PICK_LOOP(pick_4, uint32_t)
PICK_LOOP(pick_8, uint64_t)

nl_status nl_values_pick(nl_values *values, const uint32_t *places, uint32_t count, void *out)
{
    NL_ASSERT(count > 0 && nl_values_can_pick(values));
    const uint64_t done = (uint64_t)places[count - 1] + 1;
    if (values->is_narrow) {
        if (done > values->narrow.count - values->index) return ends_early(values);
        nl_narrow_pick(&values->narrow, values->at, values->index, places, count, values->value_bytes, out);
        values->index += done;
        return NULL;
    }
    if (done > (size_t)(values->end - values->at) / values->value_bytes) return ends_early(values);
    if (values->value_bytes == 8)
        pick_8(values->at, places, count, out);
    else
        pick_4(values->at, places, count, out);
    values->at += done * values->value_bytes;
    return NULL;
}

nl_status nl_values_pick_indices(nl_values *values, const uint32_t *places, uint32_t count, uint32_t dictionary_length, uint32_t *out)
{
    if (!nl_rle_pick32(&values->rle, places, count, out)) return ends_early(values);
    return check_indices(values, out, count, dictionary_length);
}

static nl_status skip_plain_strings(nl_values *values, uint64_t count)
{
    const uint8_t *at = values->at;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t length;
        if ((size_t)(values->end - at) < sizeof(length)) return ends_early(values);
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        if (length > (size_t)(values->end - at)) return ends_early(values);
        at += length;
    }
    values->at = at;
    return NULL;
}

static nl_status skip_plain(nl_values *values, uint64_t count)
{
    if (values->is_narrow) {
        if (count > values->narrow.count - values->index) return ends_early(values);
        values->index += count;
        return NULL;
    }
    if (values->physical == NL_PARQUET_BYTE_ARRAY) return skip_plain_strings(values, count);
    if (values->physical == NL_PARQUET_BOOLEAN) {
        const uint64_t available = (uint64_t)(values->end - values->at) * 8;
        if (values->index > available || count > available - values->index) return ends_early(values);
        values->index += count;
        return NULL;
    }
    if (count > (size_t)(values->end - values->at) / values->value_bytes) return ends_early(values);
    values->at += count * values->value_bytes;
    return NULL;
}

static nl_status skip_length_strings(nl_values *values, uint64_t count)
{
    uint64_t lengths[256];
    while (count > 0) {
        const uint32_t part = (uint32_t)NL_MIN(count, (uint64_t)NL_COUNT(lengths));
        if (!nl_delta_read(&values->delta, lengths, part)) return ends_early(values);
        for (uint32_t i = 0; i < part; i++) {
            if (lengths[i] > (size_t)(values->end - values->at)) return ends_early(values);
            values->at += lengths[i];
        }
        count -= part;
    }
    return NULL;
}

nl_status nl_values_skip(nl_values *values, uint64_t count)
{
    switch (values->encoding) {
    case NL_PARQUET_PLAIN:
        return skip_plain(values, count);
    case NL_PARQUET_RLE:
    case NL_PARQUET_PLAIN_DICTIONARY:
    case NL_PARQUET_RLE_DICTIONARY:
        return nl_rle_skip(&values->rle, count) ? NULL : ends_early(values);
    case NL_PARQUET_DELTA_BINARY_PACKED:
        return nl_delta_skip(&values->delta, count) ? NULL : ends_early(values);
    case NL_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return skip_length_strings(values, count);
    case NL_PARQUET_DELTA_BYTE_ARRAY:
        for (uint64_t i = 0; i < count; i++) NL_TRY(next_delta_string(values));
        return NULL;
    case NL_PARQUET_BYTE_STREAM_SPLIT:
        if (count > values->stream_length - values->index) return ends_early(values);
        values->index += count;
        return NULL;
    case NL_PARQUET_BIT_PACKED:
        break;
    }
    return ends_early(values);
}

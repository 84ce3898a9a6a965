/* format/parquet/values.h - the values of one data page, decoded as a stream, in the form they are stored in.
 *
 * Forms: BOOLEAN one byte (0, 1); INT32, INT64, FLOAT, DOUBLE as in memory; BYTE_ARRAY nl_string_view that point into
 * the page; INT96 and FIXED raw bytes side by side. Definition levels are not its business: it sees values only.
 * Source: Parquet format, Encodings.
 */
#pragma once

#include "column/vector.h"
#include "format/parquet/delta.h"
#include "format/parquet/footer.h"
#include "format/parquet/narrow.h"
#include "format/parquet/rle.h"

/* Where something was read, for messages. */
typedef struct nl_parquet_place {
    nl_str path;
    nl_str column;
    uint64_t offset; /* of the page in the file */
} nl_parquet_place;
NL_MUST_USE nl_status nl_parquet_corrupt(const nl_parquet_place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct nl_values {
    nl_parquet_place place;
    nl_parquet_encoding encoding;
    nl_parquet_physical physical;
    uint32_t value_bytes;    /* INT96, FIXED and the fixed-width types: bytes per value */
    const uint8_t *at, *end; /* PLAIN; the bytes behind the lengths of DELTA_LENGTH_BYTE_ARRAY */
    bool is_narrow;          /* PLAIN integers of a kept page */
    nl_narrow narrow;
    uint64_t index;          /* of the next value: bits of BOOLEAN, streams of BYTE_STREAM_SPLIT, narrow ones */
    uint64_t stream_length;  /* BYTE_STREAM_SPLIT: values in the page */
    nl_rle rle;              /* dictionary indices, RLE booleans */
    nl_delta delta;          /* integers, lengths, or prefix lengths */
    nl_delta suffixes;       /* DELTA_BYTE_ARRAY: suffix lengths */
    uint8_t *last;           /* DELTA_BYTE_ARRAY: the previous value; owned */
    size_t last_length, last_capacity;
} nl_values;

/* Starts a page. `bytes` are the page's values, borrowed, with 16 readable bytes behind them. */
NL_MUST_USE nl_status nl_values_init(nl_values *values, const nl_parquet_node *leaf, nl_parquet_encoding encoding, nl_bytes bytes,
                                     const nl_parquet_place *place);
/* Starts a kept page whose values are narrow. `bytes` were made by this program, with readable ones behind them. */
void nl_values_init_narrow(nl_values *values, const nl_parquet_node *leaf, nl_bytes bytes, const nl_parquet_place *place);
void nl_values_fini(nl_values *values);
static inline bool nl_values_is_dictionary(const nl_values *values)
{
    return values->encoding == NL_PARQUET_RLE_DICTIONARY || values->encoding == NL_PARQUET_PLAIN_DICTIONARY;
}

/* BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTE_ARRAY: `count` values in their form. heap: takes the strings of
 * DELTA_BYTE_ARRAY, which exist nowhere else. */
NL_MUST_USE nl_status nl_values_read(nl_values *values, uint32_t count, nl_heap *heap, void *out);
/* INT96, FIXED: `count` values side by side; they lie in the page, or in `heap`. */
NL_MUST_USE nl_status nl_values_read_fixed(nl_values *values, uint32_t count, nl_heap *heap, const uint8_t **raw);
/* Dictionary pages: indices, each checked to be below dictionary_length. */
NL_MUST_USE nl_status nl_values_read_indices(nl_values *values, uint32_t count, uint32_t dictionary_length, uint32_t *out);
/* Single values, at ascending places counted from the next one; those up to the last place are then behind. PLAIN of 4 and 8
 * bytes only (nl_values_can_pick); indices checked as above. */
bool nl_values_can_pick(const nl_values *values);
NL_MUST_USE nl_status nl_values_pick(nl_values *values, const uint32_t *places, uint32_t count, void *out);
NL_MUST_USE nl_status nl_values_pick_indices(nl_values *values, const uint32_t *places, uint32_t count, uint32_t dictionary_length, uint32_t *out);
NL_MUST_USE nl_status nl_values_skip(nl_values *values, uint64_t count);

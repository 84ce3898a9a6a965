/* format/parquet/convert.h - from the form values are stored in to the physical form of a wanted type. */
#pragma once

#include "column/value.h"
#include "format/parquet/footer.h"
#include "format/parquet/values.h"

typedef enum nl_conversion_kind {
    NL_CONVERT_COPY,           /* stored form and wanted form are the same */
    NL_CONVERT_I32_I8,         /* checked */
    NL_CONVERT_I32_I16,        /* checked */
    NL_CONVERT_I32_I64,
    NL_CONVERT_U32_I64,
    NL_CONVERT_I32_F64,
    NL_CONVERT_F32_F64,
    NL_CONVERT_F16_F32,
    NL_CONVERT_MILLIS,         /* I64 times 1000, checked */
    NL_CONVERT_NANOS,          /* I64 divided by 1000, rounded down */
    NL_CONVERT_DAYS,           /* I32 days to microseconds */
    NL_CONVERT_INT96,
    NL_CONVERT_I32_DECIMAL,    /* times multiplier, into I64 or I128 */
    NL_CONVERT_I64_DECIMAL,
    NL_CONVERT_U64_DECIMAL,
    NL_CONVERT_VIEW_DECIMAL,   /* big-endian two's complement */
    NL_CONVERT_FIXED_DECIMAL,
    NL_CONVERT_FIXED_VIEW,     /* views that point to the raw bytes */
    NL_CONVERT_UUID_TEXT,      /* 36 characters, in the heap */
} nl_conversion_kind;

typedef struct nl_conversion {
    nl_conversion_kind kind;
    nl_parquet_physical from;
    nl_physical to;
    uint32_t stored_bytes;  /* of one value in its form: 16 for views */
    uint32_t out_bytes;     /* of one value of the wanted form */
    uint32_t fixed_length;  /* raw forms */
    uint8_t precision;      /* decimals: results must fit */
    nl_int128 multiplier;   /* decimals: 10^(scale wanted - scale stored) */
    bool is_raw;            /* stored form is nl_values_read_fixed's */
    bool needs_heap;        /* views may point into the page or heap */
} nl_conversion;

/* False: the file's type cannot be read as the wanted one. */
bool nl_conversion_find(const nl_parquet_node *leaf, const nl_type *wanted, nl_conversion *conversion);
/* Converts `count` values; in and out do not overlap. heap: for UUID text; may be NULL otherwise. */
NL_MUST_USE nl_status nl_convert(const nl_conversion *conversion, const void *in, uint32_t count, nl_heap *heap,
                                 const nl_parquet_place *place, void *out);
/* Reads `count` values of a page in their wanted form. scratch: room for count * stored_bytes, or NULL for COPY. */
NL_MUST_USE nl_status nl_convert_read(const nl_conversion *conversion, nl_values *values, uint32_t count, nl_heap *heap,
                                      void *scratch, void *out);
/* One value from the bytes of a statistic (PLAIN, without a length). False: the bytes do not fit the type. */
NL_MUST_USE nl_status nl_convert_statistic(const nl_conversion *conversion, const nl_type *type, nl_bytes bytes, nl_arena *arena,
                                           nl_value *value, bool *is_usable);

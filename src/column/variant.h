/* column/variant.h - reading variant values (Parquet format, "Variant Binary Encoding", version 1).
 *
 * A variant is two byte strings: a dictionary of field names (metadata) and the value. Both come from files, so every
 * length and offset is checked; a broken one fails with NILAS_CORRUPT_FILE or MALFORMED_VARIANT, never with a crash.
 */
#pragma once

#include "base/calendar.h"
#include "base/decimal.h"
#include "base/status.h"
#include "base/str.h"

typedef enum nl_variant_kind {
    NL_VARIANT_NULL,
    NL_VARIANT_BOOLEAN,
    NL_VARIANT_INTEGER,       /* 8 to 64 bits: integer                        */
    NL_VARIANT_FLOAT,         /* real                                         */
    NL_VARIANT_DOUBLE,        /* real                                         */
    NL_VARIANT_DECIMAL,       /* decimal, scale                               */
    NL_VARIANT_DATE,          /* integer: days                                */
    NL_VARIANT_TIMESTAMP,     /* integer: microseconds                        */
    NL_VARIANT_TIMESTAMP_NTZ, /* integer: microseconds                        */
    NL_VARIANT_TIMESTAMP_NANOS,
    NL_VARIANT_TIMESTAMP_NTZ_NANOS,
    NL_VARIANT_TIME,          /* integer: microseconds of the day             */
    NL_VARIANT_BINARY,        /* text                                         */
    NL_VARIANT_STRING,        /* text                                         */
    NL_VARIANT_UUID,          /* text: 16 bytes, big-endian                   */
    NL_VARIANT_OBJECT,        /* count fields                                 */
    NL_VARIANT_ARRAY          /* count elements                               */
} nl_variant_kind;

/* One decoded value. Objects and arrays are only opened; their parts are fetched one by one. */
typedef struct nl_variant {
    nl_variant_kind kind;
    uint8_t scale;
    uint8_t integer_bytes; /* INTEGER: 1, 2, 4, 8 as stored */
    bool boolean;
    uint32_t count;
    union {
        int64_t integer;
        double real;
        nl_int128 decimal;
        nl_str text; /* borrowed from the value's bytes */
    };
    nl_str metadata; /* borrowed */
    nl_str value;    /* borrowed: this value and whatever follows it */
    struct {         /* OBJECT, ARRAY: where things lie in value */
        uint32_t ids;
        uint32_t offsets;
        uint32_t data;
        uint8_t id_size;
        uint8_t offset_size;
    } layout;
} nl_variant;

/* Opens the value at the start of `value`. Both texts are borrowed for as long as *variant lives. */
NL_MUST_USE nl_status nl_variant_open(nl_str metadata, nl_str value, nl_variant *variant);
/* Element i of an ARRAY; field i of an OBJECT with its name (fields are ordered by name). i < count. */
NL_MUST_USE nl_status nl_variant_element(const nl_variant *array, uint32_t i, nl_variant *element);
NL_MUST_USE nl_status nl_variant_field(const nl_variant *object, uint32_t i, nl_str *name, nl_variant *field);
/* The field called `name`; *found is false when there is none. */
NL_MUST_USE nl_status nl_variant_find(const nl_variant *object, nl_str name, bool *found, nl_variant *field);
/* JSON text as Spark's CAST(variant AS STRING): timestamps with the zone's offset, NaN and infinities quoted. */
NL_MUST_USE nl_status nl_variant_append_json(const nl_variant *variant, const nl_timezone *zone, nl_builder *out);
/* "text" with quotes and JSON escapes, as Jackson writes it (control characters \u001F, nothing else escaped). */
void nl_append_json_string(nl_builder *out, nl_str text);

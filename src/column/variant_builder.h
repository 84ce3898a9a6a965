/* column/variant_builder.h - writing variant values (Parquet format, "Variant Binary Encoding", version 1), laid out as
 * Spark lays them out: smallest integers, names in order of appearance, fields of an object ordered by name.
 *
 *     nl_variant_builder_init(&builder);
 *     nl_variant_begin(&builder, true); nl_variant_name(&builder, NL_STR("a")); nl_variant_integer_value(&builder, 1);
 *     NL_TRY(nl_variant_end(&builder));
 *     NL_TRY(nl_variant_finish(&builder, &metadata, &value));    … borrowed until the next reset
 *     nl_variant_builder_reset(&builder);
 */
#pragma once

#include "base/decimal.h"
#include "base/status.h"
#include "base/str.h"

#define NL_VARIANT_BYTES_MAX (16u << 20) /* Spark's own limit of a value and of its metadata */

typedef struct nl_variant_level nl_variant_level;
typedef struct nl_variant_part nl_variant_part;

typedef struct nl_variant_builder { /* in place; private */
    nl_builder value;
    nl_builder metadata;
    nl_builder name_bytes;
    nl_builder name_ends; /* uint32_t each */
    uint32_t name_count;
    uint32_t *name_slots; /* open addressing over names: id + 1 */
    uint32_t slot_count;
    nl_variant_level *levels;
    uint32_t depth, depth_capacity;
    nl_variant_part *parts; /* of all open levels, one after the other */
    uint32_t part_count, part_capacity;
    bool has_failed; /* for memory */
} nl_variant_builder;

void nl_variant_builder_init(nl_variant_builder *builder);
void nl_variant_builder_fini(nl_variant_builder *builder);
void nl_variant_builder_reset(nl_variant_builder *builder); /* empty again; memory is kept */

void nl_variant_null_value(nl_variant_builder *builder);
void nl_variant_boolean_value(nl_variant_builder *builder, bool value);
void nl_variant_integer_value(nl_variant_builder *builder, int64_t value);
void nl_variant_double_value(nl_variant_builder *builder, double value);
void nl_variant_float_value(nl_variant_builder *builder, float value);
void nl_variant_decimal_value(nl_variant_builder *builder, nl_int128 unscaled, uint8_t scale);
void nl_variant_date_value(nl_variant_builder *builder, int32_t days);
void nl_variant_timestamp_value(nl_variant_builder *builder, int64_t micros, bool is_ntz);
void nl_variant_binary_value(nl_variant_builder *builder, nl_str bytes);
void nl_variant_string_value(nl_variant_builder *builder, nl_str text);

void nl_variant_begin(nl_variant_builder *builder, bool is_object);
void nl_variant_name(nl_variant_builder *builder, nl_str name); /* in an object, before each value */
/* Fails: VARIANT_DUPLICATE_KEY. */
NL_MUST_USE nl_status nl_variant_end(nl_variant_builder *builder);
/* Fails: VARIANT_SIZE_LIMIT, UNABLE_TO_ACQUIRE_MEMORY. function_name: for the message ("parse_json"). */
NL_MUST_USE nl_status nl_variant_finish(nl_variant_builder *builder, const char *function_name, nl_str *metadata,
                                        nl_str *value);

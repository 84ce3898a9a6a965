/* function/variant_value.h - variants from values and values from variants, as Spark's CAST, variant_get and
 * to_variant_object make them. Private to function/.
 */
#pragma once

#include "column/variant.h"
#include "column/variant_builder.h"
#include "function/kernel.h"

/* Whether values of `type` become variants and back. Structs and maps with text keys only where is_object_allowed. */
bool nl_variant_holds(const nl_type *type, bool is_object_allowed);

/* Reads the variants of a vector of any encoding. */
typedef struct nl_variant_reader {
    nl_vector flat;
    nl_reader metadata;
    nl_reader value;
} nl_variant_reader;
NL_MUST_USE nl_status nl_variant_reader_open(nl_variant_reader *reader, const nl_vector *vector, nl_memory *memory);
void nl_variant_reader_close(nl_variant_reader *reader);
/* The variant of a row that is not null; borrowed from the vector. */
NL_MUST_USE nl_status nl_variant_reader_at(const nl_variant_reader *reader, uint32_t row, nl_variant *variant);

/* Row `row` of a vector whose type nl_variant_holds; null is the variant null. Fails: VARIANT_DUPLICATE_KEY, MALFORMED_VARIANT. */
NL_MUST_USE nl_status nl_variant_append_row(nl_variant_builder *builder, const nl_vector *vector, uint32_t row);
/* Another variant, with only the names it uses. */
NL_MUST_USE nl_status nl_variant_append_copy(nl_variant_builder *builder, const nl_variant *variant);
/* Ends the variant under construction as a row of `column` (of VARIANT), and empties the builder. */
NL_MUST_USE nl_status nl_variant_end_row(nl_variant_builder *builder, const char *function_name, nl_column_builder *column);

/* How a variant becomes a value of another type. */
typedef struct nl_variant_cast {
    const nl_eval_confs *confs;
    bool is_failing;            /* a misfit is INVALID_VARIANT_CAST; else null */
    nl_variant_builder scratch; /* for VARIANT targets */
    nl_builder text;
} nl_variant_cast;
void nl_variant_cast_init(nl_variant_cast *cast, const nl_eval_confs *confs, bool is_failing);
void nl_variant_cast_fini(nl_variant_cast *cast);
/* Appends a row of `type` to `column`. The variant null is null. */
NL_MUST_USE nl_status nl_variant_cast_append(nl_variant_cast *cast, const nl_variant *variant, const nl_type *type, nl_column_builder *column);

/* function/variant_schema.h - the type of what a variant holds, as schema_of_variant tells it. Private to function/.
 *
 * An object is a STRUCT with its fields by name; what fits nothing else is VARIANT.
 */
#pragma once

#include "column/variant.h"
#include "function/function.h"

NL_MUST_USE nl_status nl_variant_schema(nl_arena *arena, const nl_variant *variant, const nl_type **type);
const nl_type *nl_variant_schema_merge(nl_arena *arena, const nl_type *a, const nl_type *b);
/* "OBJECT<a: BIGINT, b: ARRAY<STRING>>" */
void nl_variant_schema_append_sql(const nl_type *type, nl_builder *out);
/* As bytes and back: partial results of schema_of_variant_agg. NULL: not such bytes. */
void nl_variant_schema_encode(const nl_type *type, nl_builder *out);
const nl_type *nl_variant_schema_decode(nl_arena *arena, nl_str *bytes);

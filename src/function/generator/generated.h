/* generator/generated.h - the rows a generator makes: which input row each comes from, and builders of their columns.
 * Private to function/generator.
 */
#pragma once

#include "function/kernel.h"

typedef struct nl_generated {
    nl_eval *eval;
    nl_buffer *parents; /* owned until nl_generated_finish hands it over */
    uint32_t capacity;
    uint32_t count;
} nl_generated;

/* Adds `count` output rows of input row `row`; one row of nulls when there are none and the join is outer. */
NL_MUST_USE nl_status nl_generated_add(nl_generated *g, uint32_t row, uint32_t count, bool is_outer, bool *is_null_row);
/* A builder for each field of `type`. The array is zeroed before; what was opened is freed by the caller, also on failure. */
NL_MUST_USE nl_status nl_generated_open_columns(const nl_type *type, nl_memory *memory, nl_column_builder **builders);
void nl_generated_free_columns(nl_column_builder **builders, uint32_t count);
/* What nl_generator_ops.generate gives. */
NL_MUST_USE nl_status nl_generated_finish(nl_generated *g, nl_column_builder **builders, uint32_t column_count, nl_buffer **parent_rows,
                                          uint32_t *row_count, nl_vector *columns);

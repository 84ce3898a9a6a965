/* exec/expression.h - expressions compiled once into a flat program of vector instructions with common subexpressions
 * shared, evaluated batch by batch. CASE, AND, OR, COALESCE guard their branches by selections. */
#pragma once

#include "plan/logical.h"

typedef struct nl_program nl_program;             /* immutable; shared by workers; in the arena */
typedef struct nl_program_state nl_program_state; /* one per worker                             */

/* Compiles exprs over an input whose columns are `inputs` (ids map to positions). Subqueries must be gone. */
NL_MUST_USE nl_status nl_program_compile(nl_arena *arena, const nl_expr *const *exprs, uint32_t expr_count, const nl_column *inputs,
                                         uint32_t input_count, nl_program **program);
/* A condition, split into its conjuncts; those that cannot fail are asked first. For nl_program_filter only. */
NL_MUST_USE nl_status nl_program_compile_filter(nl_arena *arena, const nl_expr *condition, const nl_column *inputs,
                                                uint32_t input_count, nl_program **program);
/* *state is owned; text is the statement, for the query context of errors. */
NL_MUST_USE nl_status nl_program_state_new(const nl_program *program, const nl_eval_confs *confs, nl_memory *memory, nl_str text,
                                           uint32_t worker, nl_program_state **state);
void nl_program_state_free(nl_program_state *state);

/* Evaluates all expressions for the batch's live rows; outputs: expr_count vectors of batch->row_count rows (values at
 * dead rows are undefined but readable). On failure the outputs are zeroed. */
NL_MUST_USE nl_status nl_program_run(nl_program_state *state, const nl_batch *batch, nl_vector *outputs);
/* Narrows the batch's selection to the rows where the condition is true. */
NL_MUST_USE nl_status nl_program_filter(nl_program_state *state, nl_batch *batch);
/* One constant expression: folding, LIMIT, procedure arguments. */
NL_MUST_USE nl_status nl_expr_evaluate(nl_arena *arena, const nl_expr *expr, const nl_eval_confs *confs, nl_str text, nl_value *value);
/* Attaches the place in the statement to a run-time error that has none yet; NULL stays NULL. */
NL_MUST_USE nl_status nl_status_at(nl_status status, nl_span span, nl_str text);

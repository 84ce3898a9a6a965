/* exec/build.c - from a logical plan to pipelines. */
#include "exec/engine.h"

#include "base/limits.h"

nl_status nl_programs_init(nl_programs *programs, nl_exec *exec, const nl_expr *const *exprs, uint32_t count, const nl_column *columns,
                           uint32_t column_count)
{
    *programs = (nl_programs){.exec = exec, .states = NL_NEW_ARRAY(exec->arena, nl_program_state *, exec->worker_count)};
    return nl_program_compile(exec->arena, exprs, count, columns, column_count, &programs->program);
}

nl_status nl_programs_init_filter(nl_programs *programs, nl_exec *exec, const nl_expr *condition, const nl_column *columns, uint32_t column_count)
{
    *programs = (nl_programs){.exec = exec, .states = NL_NEW_ARRAY(exec->arena, nl_program_state *, exec->worker_count)};
    return nl_program_compile_filter(exec->arena, condition, columns, column_count, &programs->program);
}

static nl_status state_of(nl_programs *programs, uint32_t worker, nl_program_state **state)
{
    nl_program_state **own = &programs->states[worker];
    const nl_query *query = programs->exec->query;
    if (!*own) NL_TRY(nl_program_state_new(programs->program, query->confs, query->memory, query->text, worker, own));
    *state = *own;
    return NULL;
}

nl_status nl_programs_run(nl_programs *programs, uint32_t worker, const nl_batch *batch, nl_vector *outputs)
{
    nl_program_state *state = NULL;
    NL_TRY(state_of(programs, worker, &state));
    return nl_program_run(state, batch, outputs);
}

nl_status nl_programs_filter(nl_programs *programs, uint32_t worker, nl_batch *batch)
{
    nl_program_state *state = NULL;
    NL_TRY(state_of(programs, worker, &state));
    return nl_program_filter(state, batch);
}

void nl_programs_fini(nl_programs *programs)
{
    for (uint32_t i = 0; programs->states && i < programs->exec->worker_count; i++) {
        nl_program_state_free(programs->states[i]);
        programs->states[i] = NULL;
    }
}

const nl_type **nl_column_types(nl_arena *arena, const nl_column *columns, uint32_t count)
{
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, count);
    for (uint32_t i = 0; i < count; i++)
        types[i] = columns[i].type;
    return types;
}

static bool has_collation(const nl_type *type)
{
    if (type->id == NL_TYPE_STRING && type->collation.length > 0) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (has_collation(type->children[i].type)) return true;
    return false;
}

nl_status nl_check_bytewise(const nl_expr *expr, const char *what, nl_str text)
{
    if (!has_collation(expr->type)) return NULL;
    return nl_status_at(NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s a string with a collation is not supported; use collation_key or COLLATE UTF8_BINARY.", what),
                        expr->span, text);
}

typedef struct scalar {
    nl_consumer base;
    nl_exec *exec;
    nl_value value;
    uint64_t row_count;
} scalar;

static nl_status take_scalar(nl_consumer *self, nl_batch *batch)
{
    scalar *found = NL_CONTAINER(self, scalar, base);
    if (found->row_count == 0 && batch->row_count > 0) found->value = nl_vector_value(&batch->columns[0], 0, found->exec->arena);
    found->row_count += batch->row_count;
    return NULL;
}

/* Runs a scalar subquery now; its value takes the expression's place. EXISTS becomes a boolean. */
static nl_status run_subquery(nl_exec *exec, const nl_expr *expr, const nl_expr **result)
{
    if (expr->subquery_kind == NL_SUBQUERY_IN)
        return NL_RAISE(INTERNAL_ERROR, NL_P("message", "an IN subquery reached execution"));
    bool is_scalar = expr->subquery_kind == NL_SUBQUERY_SCALAR;
    scalar found = {.base = {.consume = take_scalar}, .exec = exec, .value = nl_value_null(expr->type)};
    nl_logical *limited = nl_logical_new(exec->arena, NL_PLAN_LIMIT, &expr->plan, 1);
    limited->columns = expr->plan->columns;
    limited->column_count = expr->plan->column_count;
    limited->limit.limit = is_scalar ? 2 : 1;
    NL_TRY(nl_exec_run_nested(exec, limited, &found.base));
    if (!is_scalar) {
        *result = nl_expr_boolean(exec->arena, (found.row_count > 0) != expr->is_negated);
        return NULL;
    }
    if (found.row_count > 1) return nl_status_at(NL_RAISE(SCALAR_SUBQUERY_TOO_MANY_ROWS), expr->span, exec->query->text);
    found.value.type = expr->type;
    *result = nl_expr_literal(exec->arena, &found.value);
    return NULL;
}

static nl_status resolve_one(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    (void)arena;
    *result = expr;
    return expr->kind == NL_EXPR_SUBQUERY ? run_subquery(context, expr, result) : NULL;
}

static bool has_no_subquery(void *context, const nl_expr *expr)
{
    bool *has_subquery = context;
    *has_subquery = *has_subquery || expr->kind == NL_EXPR_SUBQUERY;
    return !*has_subquery;
}

nl_status nl_resolve_subqueries(nl_exec *exec, const nl_expr *expr, const nl_expr **resolved)
{
    bool has_subquery = false;
    nl_expr_walk(expr, has_no_subquery, &has_subquery);
    *resolved = expr;
    return has_subquery ? nl_expr_rewrite(exec->arena, expr, resolve_one, exec, resolved) : NULL;
}

typedef nl_status (*append_fn)(nl_pipeline *pipeline, const nl_logical *node);

static nl_status build_streaming(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted, append_fn append, nl_pipeline **pipeline)
{
    NL_TRY(nl_build_wanted(exec, node->children[0], nl_wanted_below(exec, node, wanted), pipeline));
    return append(*pipeline, node);
}

nl_status nl_build_wanted(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted, nl_pipeline **pipeline)
{
    exec->wanted = wanted;
    return nl_build(exec, node, pipeline);
}

nl_status nl_build(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    const nl_wanted *wanted = exec->wanted;
    exec->wanted = NULL;
    switch (node->kind) {
    case NL_PLAN_SCAN: return nl_build_scan(exec, node, pipeline);
    case NL_PLAN_VALUES: return nl_build_values(exec, node, pipeline);
    case NL_PLAN_RANGE: return nl_build_range(exec, node, pipeline);
    case NL_PLAN_EMPTY: return nl_build_empty(exec, node, pipeline);
    case NL_PLAN_PROJECT: return build_streaming(exec, node, wanted, nl_append_project, pipeline);
    case NL_PLAN_FILTER: return build_streaming(exec, node, wanted, nl_append_filter, pipeline);
    case NL_PLAN_OBSERVE: return build_streaming(exec, node, wanted, nl_append_observe, pipeline);
    case NL_PLAN_SAMPLE: return build_streaming(exec, node, wanted, nl_append_sample, pipeline);
    case NL_PLAN_GENERATE: return build_streaming(exec, node, wanted, nl_append_generate, pipeline);
    case NL_PLAN_AGGREGATE: return nl_build_aggregate(exec, node, pipeline);
    case NL_PLAN_DISTINCT: return nl_build_distinct(exec, node, pipeline);
    case NL_PLAN_JOIN: return nl_build_join(exec, node, wanted, pipeline);
    case NL_PLAN_SORT: return nl_build_sort(exec, node, INT64_MAX, pipeline);
    case NL_PLAN_LIMIT: return nl_build_limit(exec, node, pipeline);
    case NL_PLAN_SET: return nl_build_union(exec, node, pipeline);
    case NL_PLAN_WINDOW: return nl_build_window(exec, node, pipeline);
    case NL_PLAN_ALIAS: return nl_build(exec, node->children[0], pipeline);
    case NL_PLAN_CTE: return nl_build_cte(exec, node, pipeline);
    case NL_PLAN_CTE_REF: return nl_build_cte_reference(exec, node, pipeline);
    case NL_PLAN_PYTHON: return nl_build_python(exec, node, pipeline);
    case NL_PLAN_SINGLE_ROW: return nl_build_single_row(exec, node, pipeline);
    }
    return nl_raise_text(NL_COND_INTERNAL_ERROR, NL_HERE, "plan node kind %d cannot be run", (int)node->kind);
}

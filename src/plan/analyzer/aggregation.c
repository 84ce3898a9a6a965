/* Rewriting a SELECT's expressions over its aggregation: keys and aggregates become columns, the rest is refused. */
#include "plan/analyzer/analyzer.h"

void nl_aggregation_start(nl_aggregation *aggregation, nl_scope *scope, const nl_grouping *grouping, nl_column_set input)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_plan_context *context = scope->env->context;
    *aggregation = (nl_aggregation){.scope = scope, .grouping = *grouping, .input = input};
    aggregation->key_columns = NL_NEW_ARRAY(arena, nl_column, grouping->key_count + 1);
    for (uint32_t i = 0; i < grouping->key_count; i++) {
        const nl_expr *key = grouping->keys[i];
        nl_expr_set_add(arena, &aggregation->keys, key);
        nl_column *column = &aggregation->key_columns[i];
        const bool keeps_id = key->kind == NL_EXPR_COLUMN && !grouping->sets;
        column->id = keeps_id ? key->column : nl_plan_new_id(context);
        column->name = key->kind == NL_EXPR_COLUMN ? key->name : nl_expr_pretty_str(arena, key);
        column->type = key->type;
        column->is_nullable = key->is_nullable || grouping->sets;
    }
    if (grouping->sets) aggregation->grouping_id = nl_plan_new_id(context);
}

static const nl_expr *refer(nl_arena *arena, const nl_column *column, const nl_expr *original)
{
    nl_expr *ref = NL_NEW(arena, nl_expr);
    *ref = *nl_column_ref(arena, column);
    ref->pretty = nl_expr_pretty(arena, original);
    ref->span = original->span;
    return ref;
}

static const nl_expr *aggregate_column(nl_aggregation *a, const nl_expr *expr)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    const uint32_t known = nl_expr_set_find(&a->aggregates, expr);
    if (known != NL_EXPR_SET_NONE) return refer(arena, a->aggregate_columns.items[known], expr);
    nl_column *column = NL_NEW(arena, nl_column);
    column->id = nl_plan_new_id(a->scope->env->context);
    column->name = nl_expr_pretty_str(arena, expr);
    column->type = expr->type;
    column->is_nullable = expr->is_nullable;
    nl_expr_set_add(arena, &a->aggregates, expr);
    nl_list_add(arena, &a->aggregate_columns, column);
    return refer(arena, column, expr);
}

static nl_status raise_missing(nl_aggregation *a, const nl_expr *expr)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    if (!a->grouping.is_grouped) return NL_RAISE(MISSING_GROUP_BY);
    const nl_str text = nl_expr_pretty_str(arena, expr);
    return NL_RAISE(MISSING_AGGREGATION, NL_P_STR("expression", nl_quote_expr(arena, expr)),
                    NL_P_STR("expressionAnyValue", nl_arena_f(arena, "\"any_value(" NL_STR_FMT ")\"", NL_STR_ARG(text))));
}

static bool is_input(const nl_aggregation *a, nl_column_id id)
{
    for (uint32_t i = 0; i < a->input.count; i++)
        if (a->input.columns[i].id == id) return true;
    return false;
}

static bool same_columns(void *context, nl_column_id a, nl_column_id b)
{
    (void)context;
    return a == b;
}

static bool same_plans(void *context, const nl_logical *a, const nl_logical *b)
{
    (void)context;
    return nl_logical_same_subquery(a, b);
}

/* ---- grouping() ---- */

static nl_status bit_of_key(nl_aggregation *a, const nl_expr *gid, const nl_expr *key, const nl_expr **bit)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    const uint32_t count = a->grouping.key_count;
    const uint32_t index = nl_expr_set_find(&a->keys, key);
    if (index != NL_EXPR_SET_NONE) {
        const nl_value shift = nl_value_int(nl_type_int(), count - 1 - index);
        const nl_value one = nl_value_int(nl_type_bigint(), 1);
        const nl_expr *const shifted[] = {gid, nl_expr_literal(arena, &shift)};
        const nl_expr *moved = NULL;
        NL_TRY(nl_call_function(a->scope, NL_STR("shiftright"), shifted, 2, &moved));
        const nl_expr *const masked[] = {moved, nl_expr_literal(arena, &one)};
        return nl_call_function(a->scope, NL_STR("&"), masked, 2, bit);
    }
    return NL_RAISE(GROUPING_COLUMN_MISMATCH, NL_P_STR("grouping", nl_quote_expr(arena, key)), NL_P("groupingColumns", "the grouping columns"));
}

static bool names_all_keys(const nl_aggregation *a, const nl_expr *expr)
{
    if (expr->child_count == 0) return true;
    if (expr->child_count != a->grouping.key_count) return false;
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (!nl_expr_same(a->grouping.keys[i], expr->children[i])) return false;
    return true;
}

static nl_str texts_of(const nl_aggregation *a, const nl_expr *const *exprs, uint32_t count)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    nl_str *texts = NL_NEW_ARRAY(arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) texts[i] = nl_expr_pretty_str(arena, exprs[i]);
    return nl_join_texts(arena, texts, count, ", ");
}

static nl_status rewrite_grouping(nl_aggregation *a, const nl_expr *expr, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    if (!a->grouping.sets) return NL_RAISE(UNSUPPORTED_GROUPING_EXPRESSION);
    const nl_expr *gid = nl_expr_column(arena, a->grouping_id, NL_STR("spark_grouping_id"), nl_type_bigint(), false);
    const bool is_bit = expr->type->id == NL_TYPE_TINYINT;
    const nl_expr *value = gid;
    if (is_bit && expr->child_count == 1)
        NL_TRY(bit_of_key(a, gid, expr->children[0], &value));
    else if (!names_all_keys(a, expr))
        return NL_RAISE(GROUPING_ID_COLUMN_MISMATCH, NL_P_STR("groupingIdColumn", texts_of(a, expr->children, expr->child_count)),
                        NL_P_STR("groupByColumns", texts_of(a, a->grouping.keys, a->grouping.key_count)));
    if (is_bit) value = nl_expr_cast(arena, value, expr->type, NL_CAST_LEGACY);
    *result = nl_expr_with_span(arena, nl_expr_with_pretty(arena, value, nl_expr_pretty(arena, expr)), expr->span);
    return NULL;
}

static bool is_key_column(const nl_aggregation *a, uint32_t k, nl_column_id id)
{
    return a->grouping.keys[k]->kind == NL_EXPR_COLUMN && a->grouping.keys[k]->column == id;
}

/* What a subquery mentions of this SELECT, as the aggregation's output. */
static nl_status see_output(nl_aggregation *a, const nl_expr *subquery, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    const uint32_t outer_count = a->outer_aggregates ? a->outer_aggregates->count : 0;
    nl_column_id *from = NL_NEW_ARRAY(arena, nl_column_id, a->grouping.key_count + outer_count + 1);
    const nl_column **to = NL_NEW_ARRAY(arena, const nl_column *, a->grouping.key_count + outer_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < outer_count; i++) {
        const nl_outer_aggregate *outer = a->outer_aggregates->items[i];
        from[count] = outer->id;
        to[count++] = outer->column;
    }
    for (uint32_t k = 0; k < a->grouping.key_count; k++) {
        if (a->grouping.keys[k]->kind != NL_EXPR_COLUMN || is_key_column(a, k, a->key_columns[k].id)) continue;
        from[count] = a->grouping.keys[k]->column;
        to[count++] = &a->key_columns[k];
    }
    *result = subquery;
    return count ? nl_map_outer_columns(arena, subquery, from, to, count, result) : NULL;
}

/* The key that is the same expression with subqueries in it: these were analyzed twice. */
static const nl_column *key_with_subquery(nl_aggregation *a, const nl_expr *expr)
{
    if (!nl_expr_has(expr, NL_EXPR_SUBQUERY)) return NULL;
    const nl_expr_matcher matcher = {.columns = same_columns, .plans = same_plans};
    for (uint32_t k = 0; k < a->grouping.key_count; k++)
        if (nl_expr_has(a->grouping.keys[k], NL_EXPR_SUBQUERY) && nl_expr_matches(a->grouping.keys[k], expr, &matcher)) return &a->key_columns[k];
    return NULL;
}

/* A correlated subquery sees the aggregation's output: only its keys. */
static nl_status check_subquery(nl_aggregation *a, const nl_expr *expr)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    nl_list outer = {0};
    nl_plan_outer_columns(arena, expr->plan, &outer);
    for (uint32_t i = 0; i < outer.count; i++) {
        const nl_expr *column = outer.items[i];
        bool is_key = false;
        for (uint32_t k = 0; k < a->grouping.key_count; k++) is_key = is_key || is_key_column(a, k, column->column);
        if (!is_key && is_input(a, column->column)) return raise_missing(a, column);
    }
    return NULL;
}

static nl_status rewrite(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    nl_aggregation *a = context;
    const uint32_t key = nl_expr_set_find(&a->keys, expr);
    if (key != NL_EXPR_SET_NONE) {
        *result = refer(arena, &a->key_columns[key], expr);
        return NULL;
    }
    if (expr->kind == NL_EXPR_AGGREGATE) {
        *result = aggregate_column(a, expr);
        return NULL;
    }
    if (expr->kind == NL_EXPR_GROUPING) return rewrite_grouping(a, expr, result);
    if (expr->kind == NL_EXPR_COLUMN && is_input(a, expr->column)) return raise_missing(a, expr);
    const nl_column *same = key_with_subquery(a, expr);
    if (same) {
        *result = refer(arena, same, expr);
        return NULL;
    }
    if (expr->kind == NL_EXPR_SUBQUERY) {
        NL_TRY(check_subquery(a, expr));
        NL_TRY(see_output(a, expr, &expr));
    }
    return nl_expr_map_parts(arena, expr, rewrite, context, result);
}

nl_status nl_aggregation_rewrite(nl_aggregation *aggregation, const nl_expr *expr, const nl_expr **result)
{
    return rewrite(aggregation, nl_scope_arena(aggregation->scope), expr, result);
}

const nl_logical *nl_aggregation_plan(nl_aggregation *a, const nl_logical *child)
{
    nl_arena *arena = nl_scope_arena(a->scope);
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_AGGREGATE, &child, 1);
    const uint32_t count = a->grouping.key_count + a->aggregates.exprs.count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 2);
    memcpy(columns, a->key_columns, a->grouping.key_count * sizeof *columns);
    for (uint32_t i = 0; i < a->aggregates.exprs.count; i++)
        columns[a->grouping.key_count + i] = *(const nl_column *)a->aggregate_columns.items[i];
    if (a->grouping.sets)
        columns[count] = (nl_column){.id = a->grouping_id, .name = NL_STR("spark_grouping_id"), .type = nl_type_bigint()};
    plan->columns = columns;
    plan->column_count = count + (a->grouping.sets != NULL);
    plan->aggregate.keys = a->grouping.keys;
    plan->aggregate.key_count = a->grouping.key_count;
    plan->aggregate.aggregates = (const nl_expr *const *)(void *)a->aggregates.exprs.items;
    plan->aggregate.aggregate_count = a->aggregates.exprs.count;
    plan->aggregate.grouping_sets = a->grouping.sets;
    plan->aggregate.grouping_set_count = a->grouping.set_count;
    return plan;
}

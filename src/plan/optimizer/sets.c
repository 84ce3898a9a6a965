/* Set operations as joins and aggregations, DISTINCT as an aggregation without aggregates. */
#include "plan/optimizer/rules.h"

static const nl_logical *distinct(nl_arena *arena, const nl_logical *child)
{
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_AGGREGATE, &child, 1);
    const nl_expr **keys = NL_NEW_ARRAY(arena, const nl_expr *, child->column_count + 1);
    for (uint32_t i = 0; i < child->column_count; i++) keys[i] = nl_column_ref(arena, &child->columns[i]);
    plan->columns = child->columns;
    plan->column_count = child->column_count;
    plan->aggregate.keys = keys;
    plan->aggregate.key_count = child->column_count;
    return plan;
}

/* The child under the set's column ids. */
static const nl_logical *under_ids(nl_arena *arena, const nl_logical *child, const nl_column *columns, uint32_t count)
{
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) exprs[i] = nl_column_ref(arena, &child->columns[i]);
    return nl_logical_project(arena, child, columns, exprs, count);
}

static const nl_logical *union_all(nl_arena *arena, const nl_logical *like, const nl_logical *const *children, uint32_t child_count)
{
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_SET, children, child_count);
    plan->columns = like->columns;
    plan->column_count = like->column_count;
    plan->set.kind = NL_SET_UNION_ALL;
    return plan;
}

/* INTERSECT and EXCEPT: rows compare with nulls equal. */
static nl_status semi_or_anti(nl_plan_context *context, const nl_logical *set, nl_join_kind kind, const nl_logical **result)
{
    nl_arena *arena = context->arena;
    const nl_logical *left = set->children[0];
    const nl_logical *right = set->children[1];
    nl_list conjuncts = {0};
    for (uint32_t i = 0; i < set->column_count; i++) {
        const nl_expr *equal = NULL;
        NL_TRY(nl_call_rule(context, "<=>", nl_column_ref(arena, &left->columns[i]), nl_column_ref(arena, &right->columns[i]), &equal));
        nl_list_add(arena, &conjuncts, NL_UNCONST(equal));
    }
    const nl_logical *join = nl_logical_join(arena, kind, left, right, nl_conjunction(arena, &conjuncts));
    *result = distinct(arena, under_ids(arena, join, set->columns, set->column_count));
    return NULL;
}

/* Both sides with a column of +1 or -1 behind. */
static const nl_logical *with_sign(nl_plan_context *context, const nl_logical *child, const nl_column *columns, uint32_t count,
                                   const nl_column *sign, int64_t value)
{
    nl_arena *arena = context->arena;
    nl_column *all = NL_NEW_ARRAY(arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = columns[i];
        all[i].id = nl_plan_new_id(context);
        exprs[i] = nl_column_ref(arena, &child->columns[i]);
    }
    const nl_value literal = nl_value_int(nl_type_bigint(), value);
    all[count] = *sign;
    all[count].id = nl_plan_new_id(context);
    exprs[count] = nl_expr_literal(arena, &literal);
    return nl_logical_project(arena, child, all, exprs, count + 1);
}

/* Rows repeated as often as `times` says: explode(sequence(1, times)). */
static nl_status repeat_rows(nl_plan_context *context, const nl_logical *child, const nl_column *columns, uint32_t count,
                             const nl_expr *times, const nl_logical **result)
{
    nl_arena *arena = context->arena;
    const nl_value one = nl_value_int(nl_type_bigint(), 1);
    const nl_expr *positive = NULL;
    NL_TRY(nl_call_rule(context, ">", times, nl_expr_literal(arena, &(nl_value){.type = nl_type_bigint()}), &positive));
    child = nl_logical_filter(arena, child, positive);
    const nl_expr *numbers = NULL;
    NL_TRY(nl_call_rule(context, "sequence", nl_expr_literal(arena, &one), times, &numbers));
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(NL_STR("explode"), &rows);
    if (row_count == 0) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "INTERSECT ALL and EXCEPT ALL need explode.");
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 1);
    types[0] = numbers->type;
    nl_bind bind = {.row = rows[0], .arena = arena, .confs = context->confs, .name = NL_STR("explode"), .argument_count = 1, .argument_types = types};
    const nl_bound_function *bound = NULL;
    NL_TRY(nl_function_bind(&bind, rows, row_count, &bound));
    nl_logical *generate = nl_logical_new(arena, NL_PLAN_GENERATE, &child, 1);
    nl_column *all = NL_NEW_ARRAY(arena, nl_column, child->column_count + 1);
    nl_copy_items(all, child->columns, child->column_count * sizeof *all);
    all[child->column_count] = nl_column_for(context, times, NL_STR("n"));
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, 1);
    args[0] = numbers;
    generate->columns = all;
    generate->column_count = child->column_count + 1;
    generate->generate.generator = bound;
    generate->generate.arguments = args;
    generate->generate.argument_count = 1;
    *result = nl_logical_keep(arena, generate, columns, count);
    return NULL;
}

/* EXCEPT ALL: as often as left minus right. INTERSECT ALL: as often as the rarer side. */
static nl_status counted(nl_plan_context *context, const nl_logical *set, bool is_except, const nl_logical **result)
{
    nl_arena *arena = context->arena;
    const uint32_t count = set->column_count;
    const nl_value zero = nl_value_int(nl_type_bigint(), 0);
    const nl_column sign = {.id = nl_plan_new_id(context), .name = NL_STR("sign"), .type = nl_type_bigint()};
    const nl_logical *const sides[] = {with_sign(context, set->children[0], set->columns, count, &sign, 1),
                                       with_sign(context, set->children[1], set->columns, count, &sign, -1)};
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    nl_copy_items(columns, set->columns, count * sizeof *columns);
    columns[count] = sign;
    const nl_logical like = {.columns = columns, .column_count = count + 1};
    const nl_logical *all = union_all(arena, &like, sides, 2);
    nl_logical *aggregate = NL_UNCONST(distinct(arena, all));
    nl_column *outputs = NL_NEW_ARRAY(arena, nl_column, count + 2);
    nl_copy_items(outputs, columns, count * sizeof *outputs);
    aggregate->aggregate.key_count = count;
    const nl_expr *sign_ref = nl_column_ref(arena, &sign);
    const nl_expr **calls = NL_NEW_ARRAY(arena, const nl_expr *, 2);
    const nl_expr *is_left = NULL;
    NL_TRY(nl_call_rule(context, ">", sign_ref, nl_expr_literal(arena, &zero), &is_left));
    if (is_except) {
        NL_TRY(nl_aggregate_rule(context, "sum", sign_ref, &calls[0]));
    } else { /* lefts and rights apart */
        const nl_value null = nl_value_null(nl_type_bigint());
        const nl_expr *null_literal = nl_expr_literal(arena, &null);
        NL_TRY(nl_aggregate_rule(context, "count", nl_expr_if(arena, is_left, sign_ref, null_literal), &calls[0]));
        NL_TRY(nl_aggregate_rule(context, "count", nl_expr_if(arena, is_left, null_literal, sign_ref), &calls[1]));
    }
    const uint32_t call_count = is_except ? 1 : 2;
    for (uint32_t i = 0; i < call_count; i++) outputs[count + i] = nl_column_for(context, calls[i], NL_STR("n"));
    aggregate->aggregate.aggregates = calls;
    aggregate->aggregate.aggregate_count = call_count;
    aggregate->columns = outputs;
    aggregate->column_count = count + call_count;
    const nl_expr *times = nl_column_ref(arena, &outputs[count]);
    if (!is_except) NL_TRY(nl_call_rule(context, "least", times, nl_column_ref(arena, &outputs[count + 1]), &times));
    return repeat_rows(context, aggregate, set->columns, count, times, result);
}

/* UNION ALL of UNION ALLs is one of all their children. */
static const nl_logical *flatten_union(nl_arena *arena, const nl_logical *set)
{
    nl_list children = {0};
    for (uint32_t i = 0; i < set->child_count; i++) {
        const nl_logical *child = set->children[i];
        if (child->kind != NL_PLAN_SET || child->set.kind != NL_SET_UNION_ALL) {
            nl_list_add(arena, &children, NL_UNCONST(child));
            continue;
        }
        for (uint32_t k = 0; k < child->child_count; k++) nl_list_add(arena, &children, NL_UNCONST(child->children[k]));
    }
    return union_all(arena, set, (const nl_logical *const *)(void *)children.items, children.count);
}

static nl_status rewrite_set(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (plan->kind == NL_PLAN_DISTINCT) {
        *result = distinct(arena, plan->children[0]);
        return NULL;
    }
    if (plan->kind != NL_PLAN_SET) return NULL;
    switch (plan->set.kind) {
    case NL_SET_UNION_ALL:
        *result = flatten_union(arena, plan);
        return NULL;
    case NL_SET_UNION:
        *result = distinct(arena, flatten_union(arena, plan));
        return NULL;
    case NL_SET_INTERSECT:
        return semi_or_anti(context, plan, NL_JOIN_SEMI, result);
    case NL_SET_EXCEPT:
        return semi_or_anti(context, plan, NL_JOIN_ANTI, result);
    case NL_SET_INTERSECT_ALL:
        return counted(context, plan, false, result);
    case NL_SET_EXCEPT_ALL:
        return counted(context, plan, true, result);
    }
    return NULL;
}

nl_status nl_rule_rewrite_sets(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, rewrite_set, context, result);
}

/* Pulling correlated predicates up out of a subquery. */
#include "plan/optimizer/unnest.h"

static nl_status pull(nl_plan_context *context, const nl_logical *plan, nl_pulled *out, bool *is_done);

static bool has_outer(const nl_expr *expr)
{
    return expr && nl_expr_has(expr, NL_EXPR_OUTER);
}

static bool any_has_outer(const nl_expr *const *exprs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (has_outer(exprs[i])) return true;
    return false;
}

static void split(nl_arena *arena, const nl_expr *condition, nl_list *outer, nl_list *inner)
{
    nl_list all = {0};
    nl_expr_conjuncts(arena, condition, &all);
    for (uint32_t i = 0; i < all.count; i++) nl_list_add(arena, has_outer(all.items[i]) ? outer : inner, all.items[i]);
}

/* A conjunct may move when it gives the same answer above. */
static bool all_movable(const nl_list *conditions)
{
    for (uint32_t i = 0; i < conditions->count; i++)
        if (!nl_expr_is_deterministic(conditions->items[i]) || nl_expr_has(conditions->items[i], NL_EXPR_SUBQUERY)) return false;
    return true;
}

static void append(nl_arena *arena, nl_list *target, const nl_list *more)
{
    for (uint32_t i = 0; i < more->count; i++) nl_list_add(arena, target, more->items[i]);
}

static nl_status pull_filter(nl_plan_context *context, const nl_logical *plan, nl_pulled *out, bool *is_done)
{
    nl_arena *arena = context->arena;
    nl_list outer = {0};
    nl_list inner = {0};
    split(arena, plan->filter.condition, &outer, &inner);
    if (!all_movable(&outer)) return NULL;
    NL_TRY(pull(context, plan->children[0], out, is_done));
    if (out->is_scalar_aggregate) *is_done = false; /* HAVING: an absent row and a refused one must differ */
    if (!*is_done) return NULL;
    append(arena, &out->conditions, &outer);
    out->plan = nl_logical_filter(arena, out->plan, nl_conjunction(arena, &inner));
    return NULL;
}

/* Columns that the conditions read are passed on. */
static nl_status pull_project(nl_plan_context *context, const nl_logical *plan, nl_pulled *out, bool *is_done)
{
    nl_arena *arena = context->arena;
    if (any_has_outer(plan->project.exprs, plan->column_count)) return NULL;
    NL_TRY(pull(context, plan->children[0], out, is_done));
    if (!*is_done) return NULL;
    nl_id_set needed = {.arena = arena};
    for (uint32_t i = 0; i < out->conditions.count; i++) nl_id_set_add_expr(&needed, out->conditions.items[i]);
    const nl_logical *child = out->plan;
    const nl_id_set own = nl_plan_ids(arena, plan);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + child->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, plan->column_count + child->column_count + 1);
    uint32_t count = plan->column_count;
    nl_copy_items(columns, plan->columns, count * sizeof *columns);
    nl_copy_items(exprs, plan->project.exprs, count * sizeof *exprs);
    for (uint32_t i = 0; i < child->column_count; i++) {
        if (!nl_id_set_has(&needed, child->columns[i].id) || nl_id_set_has(&own, child->columns[i].id)) continue;
        columns[count] = child->columns[i];
        exprs[count++] = nl_column_ref(arena, &child->columns[i]);
    }
    out->plan = nl_logical_project(arena, child, columns, exprs, count);
    return NULL;
}

static nl_status pull_join(nl_plan_context *context, const nl_logical *plan, nl_pulled *out, bool *is_done)
{
    nl_arena *arena = context->arena;
    const bool is_inner = plan->join.kind == NL_JOIN_INNER || plan->join.kind == NL_JOIN_CROSS;
    if (plan->join.is_lateral || plan->join.kind == NL_JOIN_RIGHT || plan->join.kind == NL_JOIN_FULL) return NULL;
    nl_list outer = {0};
    nl_list inner = {0};
    split(arena, plan->join.condition, &outer, &inner);
    if (!all_movable(&outer) || (!is_inner && (outer.count || nl_plan_has_outer(plan->children[1])))) return NULL;
    nl_pulled left = {0};
    nl_pulled right = {.plan = plan->children[1]};
    NL_TRY(pull(context, plan->children[0], &left, is_done));
    if (*is_done && is_inner) NL_TRY(pull(context, plan->children[1], &right, is_done));
    if (left.is_scalar_aggregate || right.is_scalar_aggregate) *is_done = false;
    if (!*is_done) return NULL;
    append(arena, &out->conditions, &left.conditions);
    append(arena, &out->conditions, &right.conditions);
    append(arena, &out->conditions, &outer);
    if (plan->join.kind == NL_JOIN_MARK) {
        const nl_logical *const children[] = {left.plan, right.plan};
        nl_logical *mark = nl_logical_copy(arena, nl_logical_with_children(arena, plan, children));
        nl_column *columns = NL_NEW_ARRAY(arena, nl_column, left.plan->column_count + 1);
        nl_copy_items(columns, left.plan->columns, left.plan->column_count * sizeof *columns);
        columns[left.plan->column_count] = plan->columns[plan->column_count - 1];
        mark->columns = columns;
        mark->column_count = left.plan->column_count + 1;
        out->plan = mark;
        return NULL;
    }
    nl_logical *join = NL_UNCONST(nl_logical_join(arena, plan->join.kind, left.plan, right.plan, nl_conjunction(arena, &inner)));
    join->join.is_single = plan->join.is_single;
    out->plan = join;
    return NULL;
}

/* inner = outer, with the sides told apart. */
static bool is_key_equality(const nl_expr *expr, const nl_expr **inner, const nl_expr **outer)
{
    const nl_expr *a = NULL;
    const nl_expr *b = NULL;
    const bool is_null_safe = nl_is_call(expr, "<=>");
    if (is_null_safe) {
        a = expr->children[0];
        b = expr->children[1];
    } else if (!nl_as_equality(expr, &a, &b)) {
        return false;
    }
    if (has_outer(a)) {
        const nl_expr *swap = a;
        a = b;
        b = swap;
    }
    *inner = a;
    *outer = b;
    return !has_outer(a) && has_outer(b) && !nl_expr_has(b, NL_EXPR_COLUMN);
}

/* With only equalities to outer values, the inner sides become keys: one group for each outer value. */
static nl_status pull_aggregate(nl_plan_context *context, const nl_logical *plan, nl_pulled *out, bool *is_done)
{
    nl_arena *arena = context->arena;
    if (plan->aggregate.grouping_sets || any_has_outer(plan->aggregate.keys, plan->aggregate.key_count) ||
        any_has_outer(plan->aggregate.aggregates, plan->aggregate.aggregate_count))
        return NULL;
    NL_TRY(pull(context, plan->children[0], out, is_done));
    if (out->is_scalar_aggregate) *is_done = false;
    if (!*is_done) return NULL;
    *is_done = false;
    const uint32_t extra_max = out->conditions.count;
    const uint32_t old_keys = plan->aggregate.key_count;
    const nl_expr **keys = NL_NEW_ARRAY(arena, const nl_expr *, old_keys + extra_max + 1);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + extra_max + 1);
    nl_copy_items(keys, plan->aggregate.keys, old_keys * sizeof *keys);
    nl_copy_items(columns, plan->columns, old_keys * sizeof *columns);
    uint32_t key_count = old_keys;
    nl_list conditions = {0};
    for (uint32_t i = 0; i < extra_max; i++) {
        const nl_expr *condition = out->conditions.items[i];
        const nl_expr *inner = NULL;
        const nl_expr *outer = NULL;
        if (!is_key_equality(condition, &inner, &outer)) return NULL;
        uint32_t place = 0;
        while (place < key_count && !nl_expr_equal(keys[place], inner)) place++;
        if (place == key_count) {
            keys[key_count] = inner;
            columns[key_count++] = nl_column_for(context, inner, inner->kind == NL_EXPR_COLUMN ? inner->name : NL_STR("key"));
        }
        const nl_expr *equal = NULL;
        NL_TRY(nl_call_rule(context, nl_is_call(condition, "<=>") ? "<=>" : "=", nl_column_ref(arena, &columns[place]), outer, &equal));
        nl_list_add(arena, &conditions, NL_UNCONST(equal));
    }
    nl_copy_items(columns + key_count, plan->columns + old_keys, (plan->column_count - old_keys) * sizeof *columns);
    nl_logical *aggregate = nl_logical_copy(arena, nl_logical_with_children(arena, plan, &out->plan));
    aggregate->aggregate.keys = keys;
    aggregate->aggregate.key_count = key_count;
    aggregate->columns = columns;
    aggregate->column_count = key_count + plan->aggregate.aggregate_count;
    out->plan = aggregate;
    out->conditions = conditions;
    out->is_scalar_aggregate = old_keys == 0;
    *is_done = true;
    return NULL;
}

static nl_status pull_generate(nl_plan_context *context, const nl_logical *plan, nl_pulled *out, bool *is_done)
{
    nl_arena *arena = context->arena;
    if (any_has_outer(plan->generate.arguments, plan->generate.argument_count)) return NULL;
    NL_TRY(pull(context, plan->children[0], out, is_done));
    if (!*is_done) return NULL;
    const uint32_t old_count = plan->children[0]->column_count;
    const uint32_t made = plan->column_count - old_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, out->plan->column_count + made + 1);
    nl_copy_items(columns, out->plan->columns, out->plan->column_count * sizeof *columns);
    nl_copy_items(columns + out->plan->column_count, plan->columns + old_count, made * sizeof *columns);
    nl_logical *generate = nl_logical_copy(arena, nl_logical_with_children(arena, plan, &out->plan));
    generate->columns = columns;
    generate->column_count = out->plan->column_count + made;
    out->plan = generate;
    return NULL;
}

static nl_status pull(nl_plan_context *context, const nl_logical *plan, nl_pulled *out, bool *is_done)
{
    *is_done = false;
    if (!nl_plan_has_outer(plan)) {
        out->plan = plan;
        *is_done = true;
        return NULL;
    }
    if (plan->kind == NL_PLAN_FILTER) return pull_filter(context, plan, out, is_done);
    if (plan->kind == NL_PLAN_PROJECT) return pull_project(context, plan, out, is_done);
    if (plan->kind == NL_PLAN_JOIN) return pull_join(context, plan, out, is_done);
    if (plan->kind == NL_PLAN_AGGREGATE) return pull_aggregate(context, plan, out, is_done);
    if (plan->kind == NL_PLAN_GENERATE) return pull_generate(context, plan, out, is_done);
    if (plan->kind == NL_PLAN_SORT) return pull(context, plan->children[0], out, is_done); /* order means nothing here */
    return NULL;
}

nl_status nl_unnest_pull(nl_plan_context *context, const nl_logical *plan, nl_pulled *pulled, bool *is_done)
{
    *pulled = (nl_pulled){0};
    return pull(context, plan, pulled, is_done);
}

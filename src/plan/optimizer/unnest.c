/* Subqueries become joins: EXISTS and IN as conjuncts of a filter semi and anti joins, anywhere else mark joins, scalar
 * ones left joins. Uncorrelated scalar subqueries stay: exec runs them first. Lateral joins lose their references. */
#include "plan/optimizer/unnest.h"

#include "function/coercion.h"

typedef struct unnester {
    nl_plan_context *context;
    nl_arena *arena;
} unnester;

static nl_status unnest(unnester *u, const nl_logical *plan, const nl_logical **result);

/* ---- shapes of subquery plans ---- */

/* The subquery with its own subqueries unnested and its set operations rewritten. */
static nl_status prepare(unnester *u, const nl_logical *plan, const nl_logical **result)
{
    NL_TRY(nl_rule_rewrite_sets(u->context, plan, &plan));
    return unnest(u, plan, result);
}

/* For EXISTS only whether there are rows counts: projections, orders and limits above 0 go. */
static const nl_logical *strip_for_exists(const nl_logical *plan)
{
    for (;;) {
        const bool is_limit = plan->kind == NL_PLAN_LIMIT && plan->limit.offset == 0 && plan->limit.limit != 0;
        if (plan->kind != NL_PLAN_PROJECT && plan->kind != NL_PLAN_SORT && !is_limit) return plan;
        plan = plan->children[0];
    }
}

static nl_status to_join_condition(unnester *u, const nl_list *conditions, const nl_expr *more, const nl_expr **result)
{
    nl_list all = {0};
    for (uint32_t i = 0; i < conditions->count; i++) nl_list_add(u->arena, &all, conditions->items[i]);
    if (more) nl_list_add(u->arena, &all, NL_UNCONST(more));
    const nl_expr *condition = nl_conjunction(u->arena, &all);
    *result = condition;
    return condition ? nl_outer_to_column(u->arena, condition, result) : NULL;
}

/* ---- values of maps ---- */

/* What a subquery takes out of outer maps, which cannot be compared: computed beside the outer columns. */
typedef struct outer_values {
    unnester *u;
    nl_list exprs;   /* const nl_expr *, over outer columns */
    nl_list columns; /* nl_column *, one for each           */
} outer_values;

static bool find_own(void *context, const nl_expr *expr)
{
    bool *has_map = context;
    if (expr->kind == NL_EXPR_OUTER) *has_map = *has_map || nl_type_has_map(expr->type);
    return expr->kind == NL_EXPR_OUTER || expr->kind == NL_EXPR_LITERAL || expr->kind == NL_EXPR_CALL || expr->kind == NL_EXPR_CAST || expr->kind == NL_EXPR_FIELD;
}

static nl_status lift(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    outer_values *v = context;
    bool has_map = false;
    const bool is_own = nl_expr_walk(expr, find_own, &has_map) && has_map && !nl_type_has_map(expr->type);
    *result = expr;
    if (expr->kind == NL_EXPR_SUBQUERY) return NULL;
    if (!is_own || nl_expr_can_fail(expr) || !nl_expr_is_deterministic(expr)) return nl_expr_map_parts(arena, expr, lift, context, result);
    nl_column *column = NULL;
    for (uint32_t i = 0; i < v->exprs.count && !column; i++)
        if (nl_expr_equal(v->exprs.items[i], expr)) column = v->columns.items[i];
    if (!column) {
        column = NL_NEW(arena, nl_column);
        *column = nl_column_for(v->u->context, expr, NL_STR("value"));
        nl_list_add(arena, &v->exprs, NL_UNCONST(expr));
        nl_list_add(arena, &v->columns, column);
    }
    *result = nl_expr_outer(arena, nl_column_ref(arena, column));
    return NULL;
}

static nl_status lift_in_plan(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite_exprs(arena, plan, lift, context, result);
}

static bool has_outer_map(nl_arena *arena, const nl_logical *plan)
{
    nl_list found = {0};
    nl_collect_outer(arena, plan, &found);
    for (uint32_t i = 0; i < found.count; i++)
        if (nl_type_has_map(((const nl_expr *)found.items[i])->type)) return true;
    return false;
}

static nl_status lift_values(unnester *u, const nl_logical **outer, const nl_logical **plan)
{
    outer_values v = {.u = u};
    if (!has_outer_map(u->arena, *plan)) return NULL;
    NL_TRY(nl_logical_rewrite(u->arena, *plan, lift_in_plan, &v, plan));
    const uint32_t count = (*outer)->column_count + v.exprs.count;
    nl_column *columns = NL_NEW_ARRAY(u->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(u->arena, const nl_expr *, count + 1);
    nl_copy_items(columns, (*outer)->columns, (*outer)->column_count * sizeof *columns);
    for (uint32_t i = 0; i < (*outer)->column_count; i++) exprs[i] = nl_column_ref(u->arena, &columns[i]);
    for (uint32_t i = 0; i < v.exprs.count; i++) {
        columns[(*outer)->column_count + i] = *(const nl_column *)v.columns.items[i];
        NL_TRY(nl_outer_to_column(u->arena, v.exprs.items[i], &exprs[(*outer)->column_count + i]));
    }
    if (v.exprs.count) *outer = nl_logical_project(u->arena, *outer, columns, exprs, count);
    return NULL;
}

/* The right side of a join with `outer`, and the condition that ties them, over plain columns. */
static nl_status correlate(unnester *u, const nl_logical **outer, const nl_logical *plan, bool allows_scalar_aggregate, nl_pulled *pulled,
                           const nl_expr **condition)
{
    bool is_done = false;
    NL_TRY(nl_unnest_pull(u->context, plan, pulled, &is_done));
    if (is_done && (!pulled->is_scalar_aggregate || allows_scalar_aggregate)) return to_join_condition(u, &pulled->conditions, NULL, condition);
    nl_domain_result bound = {0};
    *pulled = (nl_pulled){0};
    NL_TRY(lift_values(u, outer, &plan));
    NL_TRY(nl_unnest_domain(u->context, *outer, plan, &bound));
    pulled->plan = bound.plan;
    *condition = bound.condition;
    return bound.condition ? nl_outer_to_column(u->arena, bound.condition, condition) : NULL;
}

/* ---- mark joins ---- */

static const nl_logical *mark_join(unnester *u, const nl_logical *left, const nl_logical *right, const nl_expr *condition, bool is_null_aware,
                                   nl_column *mark)
{
    const nl_logical *const children[] = {left, right};
    nl_logical *join = nl_logical_new(u->arena, NL_PLAN_JOIN, children, 2);
    nl_column *columns = NL_NEW_ARRAY(u->arena, nl_column, left->column_count + 1);
    nl_copy_items(columns, left->columns, left->column_count * sizeof *columns);
    *mark = (nl_column){.id = nl_plan_new_id(u->context), .name = NL_STR("exists"), .type = nl_type_boolean(), .is_nullable = is_null_aware};
    columns[left->column_count] = *mark;
    join->columns = columns;
    join->column_count = left->column_count + 1;
    join->join.kind = NL_JOIN_MARK;
    join->join.condition = condition;
    join->join.is_null_aware = is_null_aware;
    return join;
}

/* ---- EXISTS ---- */

/* An uncorrelated EXISTS is a scalar subquery: is the count of the first row positive? */
static nl_status exists_as_scalar(unnester *u, const nl_logical *plan, const nl_expr **result)
{
    const nl_value one = nl_value_int(nl_type_int(), 1);
    const nl_value zero = nl_value_int(nl_type_bigint(), 0);
    const nl_logical *limited = nl_logical_limit(u->arena, plan, 1, 0);
    const nl_expr **calls = NL_NEW_ARRAY(u->arena, const nl_expr *, 1);
    NL_TRY(nl_aggregate_rule(u->context, "count", nl_expr_literal(u->arena, &one), &calls[0]));
    nl_logical *aggregate = nl_logical_new(u->arena, NL_PLAN_AGGREGATE, &limited, 1);
    nl_column *count = NL_NEW(u->arena, nl_column);
    *count = nl_column_for(u->context, calls[0], NL_STR("count"));
    aggregate->columns = count;
    aggregate->column_count = 1;
    aggregate->aggregate.aggregates = calls;
    aggregate->aggregate.aggregate_count = 1;
    const nl_expr **exprs = NL_NEW_ARRAY(u->arena, const nl_expr *, 1);
    NL_TRY(nl_call_rule(u->context, ">", nl_column_ref(u->arena, count), nl_expr_literal(u->arena, &zero), &exprs[0]));
    nl_column *output = NL_NEW(u->arena, nl_column);
    *output = nl_column_for(u->context, exprs[0], NL_STR("exists"));
    nl_expr *expr = nl_expr_new(u->arena, NL_EXPR_SUBQUERY, nl_type_boolean(), NULL, 0);
    expr->subquery_kind = NL_SUBQUERY_SCALAR;
    expr->is_nullable = true;
    expr->plan = nl_logical_project(u->arena, aggregate, output, exprs, 1);
    *result = expr;
    return NULL;
}

/* An aggregation without keys has one row whatever its input: EXISTS is true. */
static bool is_always_one_row(const nl_logical *plan)
{
    return plan->kind == NL_PLAN_AGGREGATE && plan->aggregate.key_count == 0 && !plan->aggregate.grouping_sets;
}

static const nl_expr *negated_if(unnester *u, const nl_expr *expr, bool is_negated)
{
    return is_negated ? nl_expr_not(u->arena, expr) : expr;
}

static nl_status replace_exists(unnester *u, const nl_expr *expr, const nl_logical **child, const nl_expr **result)
{
    const nl_logical *plan = NULL;
    NL_TRY(prepare(u, expr->plan, &plan));
    plan = strip_for_exists(plan);
    if (is_always_one_row(plan)) {
        *result = nl_expr_boolean(u->arena, !expr->is_negated);
        return NULL;
    }
    if (!nl_plan_has_outer(plan)) {
        NL_TRY(exists_as_scalar(u, plan, result));
        *result = negated_if(u, *result, expr->is_negated);
        return NULL;
    }
    nl_pulled pulled = {0};
    const nl_expr *condition = NULL;
    nl_column mark;
    NL_TRY(correlate(u, child, plan, false, &pulled, &condition));
    *child = mark_join(u, *child, pulled.plan, condition, false, &mark);
    *result = negated_if(u, nl_column_ref(u->arena, &mark), expr->is_negated);
    return NULL;
}

/* ---- IN ---- */

typedef struct in_parts {
    const nl_logical *plan;
    const nl_expr *correlation; /* over plain columns, or NULL */
    const nl_expr *equal;       /* l1 = r1 AND l2 = r2 …       */
    bool is_nullable;           /* an equality may be null     */
} in_parts;

static nl_status prepare_in(unnester *u, const nl_expr *expr, const nl_logical **child, in_parts *parts)
{
    const nl_logical *plan = NULL;
    NL_TRY(prepare(u, expr->plan, &plan));
    const nl_column *columns = plan->columns;
    nl_pulled pulled = {.plan = plan};
    if (nl_plan_has_outer(plan)) NL_TRY(correlate(u, child, plan, false, &pulled, &parts->correlation));
    parts->plan = pulled.plan;
    for (uint32_t i = 0; i < expr->child_count; i++) {
        const nl_expr *equal = NULL;
        const nl_column *column = nl_logical_find_column(pulled.plan, columns[i].id);
        NL_TRY(nl_call_rule(u->context, "=", expr->children[i], nl_column_ref(u->arena, column), &equal));
        parts->equal = nl_expr_and(u->arena, parts->equal, equal);
        parts->is_nullable = parts->is_nullable || expr->children[i]->is_nullable || column->is_nullable;
    }
    return NULL;
}

/* Anywhere but as a conjunct, as Spark's existence join does it: IN is false where SQL would say null, and NOT IN is
 * false too (a perhaps-equal row counts as an equal one). */
static nl_status replace_in(unnester *u, const nl_expr *expr, const nl_logical **child, const nl_expr **result)
{
    in_parts parts = {0};
    nl_column mark;
    NL_TRY(prepare_in(u, expr, child, &parts));
    const nl_expr *equal = parts.equal;
    if (expr->is_negated && parts.is_nullable) equal = nl_expr_or(u->arena, equal, nl_expr_is_null(u->arena, equal, false));
    *child = mark_join(u, *child, parts.plan, nl_expr_and(u->arena, parts.correlation, equal), false, &mark);
    *result = negated_if(u, nl_column_ref(u->arena, &mark), expr->is_negated);
    return NULL;
}

/* ---- scalar ---- */

/* Does a null in the columns make the expression null? Then an absent row needs no value of its own. */
static bool is_null_on_null(const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_COLUMN) return true;
    if (expr->kind == NL_EXPR_CAST || expr->kind == NL_EXPR_FIELD) return is_null_on_null(expr->children[0]);
    if (expr->kind != NL_EXPR_CALL || expr->function->row->nulls != NL_NULL_IN_NULL_OUT) return false;
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (is_null_on_null(expr->children[i])) return true;
    return false;
}

static bool is_null_on_empty(const nl_logical *plan, nl_column_id id)
{
    if (plan->kind == NL_PLAN_AGGREGATE) return nl_aggregates_are_null_on_empty(plan);
    if (plan->kind == NL_PLAN_SORT || plan->kind == NL_PLAN_LIMIT) return is_null_on_empty(plan->children[0], id);
    if (plan->kind != NL_PLAN_PROJECT) return false;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (plan->columns[i].id == id) return is_null_on_null(plan->project.exprs[i]) && is_null_on_empty(plan->children[0], id);
    return false;
}

static nl_status replace_scalar(unnester *u, const nl_expr *expr, const nl_logical **child, const nl_expr **result)
{
    const nl_logical *plan = NULL;
    NL_TRY(prepare(u, expr->plan, &plan));
    const nl_column value = plan->columns[0];
    if (!nl_plan_has_outer(plan)) {
        nl_expr *copy = NL_NEW(u->arena, nl_expr);
        *copy = *expr;
        copy->plan = plan;
        *result = copy;
        return NULL;
    }
    nl_pulled pulled = {0};
    const nl_expr *condition = NULL;
    const bool has_null_default = is_null_on_empty(plan, value.id);
    NL_TRY(correlate(u, child, plan, has_null_default, &pulled, &condition));
    bool is_one_row = pulled.is_scalar_aggregate;
    for (const nl_logical *at = plan; !is_one_row; at = at->children[0]) {
        is_one_row = is_always_one_row(at);
        if (at->kind != NL_PLAN_PROJECT && at->kind != NL_PLAN_SORT && at->kind != NL_PLAN_FILTER) break;
    }
    nl_logical *join = NL_UNCONST(nl_logical_join(u->arena, NL_JOIN_LEFT, *child, pulled.plan, condition));
    join->join.is_single = !is_one_row;
    *child = join;
    const nl_column *made = nl_logical_find_column(join, value.id);
    if (!made) return NL_RAISE_TEXT(INTERNAL_ERROR, "a subquery lost its column");
    *result = nl_column_ref(u->arena, made);
    return NULL;
}

/* ---- subqueries inside expressions ---- */

/* NOT EXISTS, NOT (x IN …) as one negated subquery. */
static const nl_expr *without_not(unnester *u, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_NOT || expr->children[0]->kind != NL_EXPR_SUBQUERY) return expr;
    if (expr->children[0]->subquery_kind == NL_SUBQUERY_SCALAR) return expr;
    nl_expr *negated = NL_NEW(u->arena, nl_expr);
    *negated = *expr->children[0];
    negated->is_negated = !negated->is_negated;
    return negated;
}

typedef struct replacement {
    unnester *u;
    const nl_logical *child; /* grows by a join for each subquery */
} replacement;

static bool has_subquery(const nl_expr *expr)
{
    return expr && nl_expr_has(expr, NL_EXPR_SUBQUERY);
}

/* NOT of AND and OR goes to the parts of it, down to the subqueries: NOT IN treats nulls in its own way. */
static const nl_expr *push_not(unnester *u, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_NOT || !has_subquery(expr)) return expr;
    const nl_expr *inner = expr->children[0];
    if (inner->kind == NL_EXPR_NOT) return push_not(u, inner->children[0]);
    if (inner->kind != NL_EXPR_AND && inner->kind != NL_EXPR_OR) return without_not(u, expr);
    const nl_expr *pushed = NULL;
    for (uint32_t i = 0; i < inner->child_count; i++) {
        const nl_expr *part = push_not(u, nl_expr_not(u->arena, inner->children[i]));
        pushed = inner->kind == NL_EXPR_OR ? nl_expr_and(u->arena, pushed, part) : pushed ? nl_expr_or(u->arena, pushed, part) : part;
    }
    return pushed;
}

static nl_status replace_node(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    replacement *r = context;
    expr = push_not(r->u, without_not(r->u, expr));
    if (expr->kind != NL_EXPR_SUBQUERY) return nl_expr_map_parts(arena, expr, replace_node, context, result);
    const nl_expr *whole = NULL;
    NL_TRY(nl_expr_map_parts(arena, expr, replace_node, context, &whole)); /* the left side of IN */
    if (expr->subquery_kind == NL_SUBQUERY_SCALAR) return replace_scalar(r->u, whole, &r->child, result);
    if (expr->subquery_kind == NL_SUBQUERY_EXISTS) return replace_exists(r->u, whole, &r->child, result);
    return replace_in(r->u, whole, &r->child, result);
}

/* ---- filters ---- */

static nl_status filter_exists(unnester *u, const nl_expr *expr, const nl_logical **child, bool *is_done)
{
    const nl_logical *plan = NULL;
    *is_done = false;
    NL_TRY(prepare(u, expr->plan, &plan));
    plan = strip_for_exists(plan);
    if (is_always_one_row(plan) || !nl_plan_has_outer(plan)) return NULL;
    nl_pulled pulled = {0};
    const nl_expr *condition = NULL;
    NL_TRY(correlate(u, child, plan, false, &pulled, &condition));
    *child = nl_logical_join(u->arena, expr->is_negated ? NL_JOIN_ANTI : NL_JOIN_SEMI, *child, pulled.plan, condition);
    *is_done = true;
    return NULL;
}

static nl_status filter_in(unnester *u, const nl_expr *expr, const nl_logical **child)
{
    in_parts parts = {0};
    NL_TRY(prepare_in(u, expr, child, &parts));
    const nl_expr *condition = nl_expr_and(u->arena, parts.correlation, parts.equal);
    nl_join_kind kind = expr->is_negated ? NL_JOIN_ANTI : NL_JOIN_SEMI;
    if (expr->is_negated && parts.is_nullable) {
        if (!parts.correlation && expr->child_count == 1)
            kind = NL_JOIN_NULL_AWARE_ANTI;
        else
            condition = nl_expr_and(u->arena, parts.correlation,
                                    nl_expr_or(u->arena, parts.equal, nl_expr_is_null(u->arena, parts.equal, false)));
    }
    *child = nl_logical_join(u->arena, kind, *child, parts.plan, condition);
    return NULL;
}

static bool left_side_is_plain(const nl_expr *expr)
{
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (has_subquery(expr->children[i])) return false;
    return true;
}

static nl_status unnest_filter(unnester *u, const nl_logical *plan, const nl_logical **result)
{
    nl_list conjuncts = {0};
    nl_list plain = {0};
    nl_list with_subquery = {0};
    nl_expr_conjuncts(u->arena, plan->filter.condition, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.count; i++) {
        nl_list parts = {0};
        nl_expr_conjuncts(u->arena, push_not(u, conjuncts.items[i]), &parts);
        for (uint32_t k = 0; k < parts.count; k++) nl_list_add(u->arena, has_subquery(parts.items[k]) ? &with_subquery : &plain, parts.items[k]);
    }
    *result = plan;
    if (with_subquery.count == 0) return NULL;
    const nl_logical *child = nl_logical_filter(u->arena, plan->children[0], nl_conjunction(u->arena, &plain));
    const nl_logical *original = plan->children[0];
    nl_list rest = {0};
    for (uint32_t i = 0; i < with_subquery.count; i++) {
        const nl_expr *expr = without_not(u, with_subquery.items[i]);
        const bool is_direct = expr->kind == NL_EXPR_SUBQUERY && left_side_is_plain(expr);
        bool is_done = false;
        if (is_direct && expr->subquery_kind == NL_SUBQUERY_EXISTS) NL_TRY(filter_exists(u, expr, &child, &is_done));
        if (is_direct && expr->subquery_kind == NL_SUBQUERY_IN) {
            NL_TRY(filter_in(u, expr, &child));
            is_done = true;
        }
        if (is_done) continue;
        replacement r = {.u = u, .child = child};
        NL_TRY(replace_node(&r, u->arena, expr, &expr));
        child = r.child;
        nl_list_add(u->arena, &rest, NL_UNCONST(expr));
    }
    child = nl_logical_filter(u->arena, child, nl_conjunction(u->arena, &rest));
    *result = child->column_count == original->column_count ? child : nl_logical_keep(u->arena, child, original->columns, original->column_count);
    return NULL;
}

/* ---- other nodes ---- */

static bool no_subquery(void *context, const nl_expr *expr)
{
    (void)context;
    return !has_subquery(expr);
}

static nl_status replace_visit(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return replace_node(context, arena, expr, result);
}

/* Nodes that pass their input on must name the columns that joins below have added. */
static void pass_columns(unnester *u, nl_logical *node, const nl_logical *old_child, const nl_logical *child)
{
    const uint32_t made = node->column_count - old_child->column_count;
    nl_column *columns = NL_NEW_ARRAY(u->arena, nl_column, child->column_count + made + 1);
    nl_copy_items(columns, child->columns, child->column_count * sizeof *columns);
    if (made) nl_copy_items(columns + child->column_count, node->columns + old_child->column_count, made * sizeof *columns);
    node->columns = columns;
    node->column_count = child->column_count + made;
}

static nl_status unnest_exprs(unnester *u, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (nl_logical_walk_exprs(plan, no_subquery, NULL)) return NULL;
    replacement r = {.u = u, .child = plan->children[0]};
    const nl_logical *node = NULL;
    NL_TRY(nl_logical_rewrite_exprs(u->arena, plan, replace_visit, &r, &node));
    nl_logical *copy = nl_logical_copy(u->arena, nl_logical_with_children(u->arena, node, &r.child));
    const bool passes = plan->kind == NL_PLAN_SORT || plan->kind == NL_PLAN_WINDOW || plan->kind == NL_PLAN_GENERATE;
    if (!passes || r.child->column_count == plan->children[0]->column_count) {
        *result = copy;
        return NULL;
    }
    pass_columns(u, copy, plan->children[0], r.child);
    *result = nl_logical_keep(u->arena, copy, plan->columns, plan->column_count);
    return NULL;
}

static nl_status unnest_values(unnester *u, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (plan->column_count == 0 || nl_logical_walk_exprs(plan, no_subquery, NULL)) return NULL;
    const nl_logical **rows = NL_NEW_ARRAY(u->arena, const nl_logical *, plan->values.row_count + 1);
    for (uint32_t i = 0; i < plan->values.row_count; i++) {
        const nl_logical *row =
            nl_logical_project(u->arena, nl_logical_one_row(u->arena), plan->columns, plan->values.rows[i], plan->column_count);
        NL_TRY(unnest_exprs(u, row, &rows[i]));
    }
    if (plan->values.row_count == 1) {
        *result = rows[0];
        return NULL;
    }
    nl_logical *all = nl_logical_new(u->arena, NL_PLAN_SET, rows, plan->values.row_count);
    all->columns = plan->columns;
    all->column_count = plan->column_count;
    all->set.kind = NL_SET_UNION_ALL;
    *result = all;
    return NULL;
}

typedef struct side_replacement {
    unnester *u;
    const nl_logical **sides;
    const nl_id_set *ids; /* of both sides */
} side_replacement;

/* Each subquery becomes a column of the side whose columns it mentions. */
static nl_status replace_on_side(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    side_replacement *s = context;
    *result = expr;
    if (!has_subquery(expr)) return NULL;
    expr = without_not(s->u, expr);
    if (expr->kind != NL_EXPR_SUBQUERY) return nl_expr_map_parts(arena, expr, replace_on_side, context, result);
    const int side = nl_expr_touches(expr, &s->ids[1]) ? 1 : 0;
    if (!nl_expr_within(expr, &s->ids[side]))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A subquery in the condition of an outer join may only mention columns of one side.");
    replacement r = {.u = s->u, .child = s->sides[side]};
    NL_TRY(replace_node(&r, arena, expr, result));
    s->sides[side] = r.child;
    return NULL;
}

/* An inner join's condition is a filter over the cross join. For others each subquery must belong to one side. */
static nl_status unnest_join(unnester *u, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (!has_subquery(plan->join.condition)) return NULL;
    if (plan->join.kind == NL_JOIN_INNER || plan->join.kind == NL_JOIN_CROSS) {
        nl_logical *join = nl_logical_copy(u->arena, plan);
        join->join.kind = NL_JOIN_CROSS;
        join->join.condition = NULL;
        return unnest_filter(u, nl_logical_filter(u->arena, join, plan->join.condition), result);
    }
    nl_list conjuncts = {0};
    nl_list done = {0};
    const nl_logical *sides[2] = {plan->children[0], plan->children[1]};
    const nl_id_set ids[2] = {nl_plan_ids(u->arena, sides[0]), nl_plan_ids(u->arena, sides[1])};
    nl_expr_conjuncts(u->arena, plan->join.condition, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.count; i++) {
        side_replacement r = {.u = u, .sides = sides, .ids = ids};
        const nl_expr *expr = push_not(u, conjuncts.items[i]);
        if (has_subquery(expr)) NL_TRY(replace_on_side(&r, u->arena, expr, &expr));
        nl_list_add(u->arena, &done, NL_UNCONST(expr));
    }
    const nl_logical *join = nl_logical_join(u->arena, plan->join.kind, sides[0], sides[1], nl_conjunction(u->arena, &done));
    *result = nl_logical_keep(u->arena, join, plan->columns, plan->column_count);
    return NULL;
}

/* ---- LATERAL ---- */

/* The right side is projections and filters over one row: they work on the left side's rows themselves. */
static nl_status lateral_over_one_row(unnester *u, const nl_logical *left, const nl_logical *right, const nl_logical **result, bool *is_done)
{
    *is_done = false;
    if (right->kind == NL_PLAN_VALUES && right->column_count == 0 && right->values.row_count == 1) {
        *result = left;
        *is_done = true;
        return NULL;
    }
    if (right->kind != NL_PLAN_PROJECT && right->kind != NL_PLAN_FILTER) return NULL;
    const nl_logical *below = NULL;
    NL_TRY(lateral_over_one_row(u, left, right->children[0], &below, is_done));
    if (!*is_done) return NULL;
    if (right->kind == NL_PLAN_FILTER) {
        const nl_expr *condition = NULL;
        NL_TRY(nl_outer_to_column(u->arena, right->filter.condition, &condition));
        *result = nl_logical_filter(u->arena, below, condition);
        return NULL;
    }
    const uint32_t count = left->column_count + right->column_count;
    nl_column *columns = NL_NEW_ARRAY(u->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(u->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < left->column_count; i++) {
        columns[i] = left->columns[i];
        exprs[i] = nl_column_ref(u->arena, &left->columns[i]);
    }
    for (uint32_t i = 0; i < right->column_count; i++) {
        columns[left->column_count + i] = right->columns[i];
        NL_TRY(nl_outer_to_column(u->arena, right->project.exprs[i], &exprs[left->column_count + i]));
    }
    *result = nl_logical_project(u->arena, below, columns, exprs, count);
    return NULL;
}

static nl_status unnest_lateral(unnester *u, const nl_logical *plan, const nl_logical **result)
{
    const nl_logical *left = plan->children[0];
    const nl_logical *right = NULL;
    NL_TRY(nl_rule_rewrite_sets(u->context, plan->children[1], &right));
    const nl_expr *condition = NULL;
    if (nl_plan_has_outer(right)) {
        bool is_done = false;
        if (plan->join.kind == NL_JOIN_INNER || plan->join.kind == NL_JOIN_CROSS)
            NL_TRY(lateral_over_one_row(u, left, right, result, &is_done));
        if (is_done) {
            *result = nl_logical_filter(u->arena, *result, plan->join.condition);
            return NULL;
        }
        nl_pulled pulled = {0};
        NL_TRY(correlate(u, &left, right, false, &pulled, &condition));
        right = pulled.plan;
    }
    nl_join_kind kind = plan->join.kind;
    condition = nl_expr_and(u->arena, condition, plan->join.condition);
    if (kind == NL_JOIN_CROSS && condition) kind = NL_JOIN_INNER;
    const nl_logical *join = nl_logical_join(u->arena, kind, left, right, condition);
    *result = nl_logical_keep(u->arena, join, plan->columns, plan->column_count);
    return NULL;
}

/* ---- the walk ---- */

static nl_status visit(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    unnester *u = context;
    (void)arena;
    if (plan->kind == NL_PLAN_FILTER) return unnest_filter(u, plan, result);
    if (plan->kind == NL_PLAN_VALUES) return unnest_values(u, plan, result);
    if (plan->kind == NL_PLAN_JOIN && plan->join.is_lateral) return unnest_lateral(u, plan, result);
    if (plan->kind == NL_PLAN_JOIN) return unnest_join(u, plan, result);
    if (plan->child_count == 1) return unnest_exprs(u, plan, result);
    *result = plan;
    return NULL;
}

static nl_status unnest(unnester *u, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(u->arena, plan, visit, u, result);
}

nl_status nl_rule_unnest_subqueries(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    unnester u = {.context = context, .arena = context->arena};
    return unnest(&u, plan, result);
}

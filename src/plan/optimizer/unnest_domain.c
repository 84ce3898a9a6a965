/* The domain way: the distinct bindings D of the outer columns are joined into the subquery, as far down as its outer
 * references stand; every operator above then works per binding. */
#include "plan/analyzer/analyzer.h"
#include "plan/optimizer/unnest.h"

typedef struct domain {
    nl_plan_context *context;
    nl_arena *arena;
    const nl_logical *outer;
    nl_list columns; /* const nl_expr * of kind OUTER, one per column */
} domain;

/* A plan and the domain's columns in it, in the order of domain.columns. */
typedef struct bound_plan {
    const nl_logical *plan;
    const nl_column *domain;
} bound_plan;

static nl_status bind(domain *d, const nl_logical *plan, bound_plan *out);

static nl_status unsupported(void)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This correlated subquery cannot be turned into a join. Rewrite it with a join or a lateral subquery.");
}

void nl_collect_outer(nl_arena *arena, const nl_logical *plan, nl_list *found)
{
    nl_plan_outer_columns(arena, plan, found);
}

/* ---- the domain ---- */

/* A fresh copy of the distinct bindings. */
static nl_status make_domain(domain *d, bound_plan *out)
{
    const uint32_t count = d->columns.count;
    nl_column *columns = NL_NEW_ARRAY(d->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(d->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const nl_expr *outer = d->columns.items[i];
        columns[i] = (nl_column){.id = outer->column, .name = outer->name, .type = outer->type, .is_nullable = outer->is_nullable};
        exprs[i] = nl_column_ref(d->arena, &columns[i]);
    }
    const nl_logical *kept = nl_logical_project(d->arena, d->outer, columns, exprs, count);
    const nl_logical *copy = NULL;
    NL_TRY(nl_plan_fresh(d->context, kept, &copy));
    nl_logical *distinct = nl_logical_new(d->arena, NL_PLAN_AGGREGATE, &copy, 1);
    const nl_expr **keys = NL_NEW_ARRAY(d->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) keys[i] = nl_column_ref(d->arena, &copy->columns[i]);
    distinct->columns = copy->columns;
    distinct->column_count = count;
    distinct->aggregate.keys = keys;
    distinct->aggregate.key_count = count;
    out->plan = distinct;
    out->domain = distinct->columns;
    return NULL;
}

typedef struct outer_mapping {
    const domain *d;
    const nl_column *to;
} outer_mapping;

static nl_status map_outer(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const outer_mapping *m = context;
    *result = expr;
    if (expr->kind != NL_EXPR_OUTER) return NULL;
    for (uint32_t i = 0; i < m->d->columns.count; i++)
        if (((const nl_expr *)m->d->columns.items[i])->column == expr->column) *result = nl_column_ref(arena, &m->to[i]);
    return NULL;
}

static nl_status mapped(domain *d, const nl_column *to, const nl_expr *expr, const nl_expr **result)
{
    outer_mapping m = {d, to};
    *result = NULL;
    return expr ? nl_expr_rewrite(d->arena, expr, map_outer, &m, result) : NULL;
}

static nl_status map_visit(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, map_outer, context, result);
}

static nl_status map_node(domain *d, const nl_column *to, const nl_logical *plan, const nl_logical **result)
{
    outer_mapping m = {d, to};
    return nl_logical_rewrite_exprs(d->arena, plan, map_visit, &m, result);
}

/* a.d1 <=> b.d1 AND … */
static nl_status same_binding(domain *d, const nl_column *a, const nl_column *b, const nl_expr **condition)
{
    for (uint32_t i = 0; i < d->columns.count; i++) {
        const nl_expr *equal = NULL;
        NL_TRY(nl_call_rule(d->context, "<=>", nl_column_ref(d->arena, &a[i]), nl_column_ref(d->arena, &b[i]), &equal));
        *condition = nl_expr_and(d->arena, *condition, equal);
    }
    return NULL;
}

/* ---- operators ---- */

static nl_status bind_independent(domain *d, const nl_logical *plan, bound_plan *out)
{
    bound_plan all = {0};
    NL_TRY(make_domain(d, &all));
    out->plan = nl_logical_join(d->arena, NL_JOIN_CROSS, all.plan, plan, NULL);
    out->domain = all.domain;
    return NULL;
}

/* columns of `plan` with the domain's behind them, where they are not among them already */
static const nl_column *with_domain(domain *d, const nl_column *columns, uint32_t count, const nl_column *more)
{
    nl_column *all = NL_NEW_ARRAY(d->arena, nl_column, count + d->columns.count + 1);
    if (count) nl_copy_items(all, columns, count * sizeof *all);
    nl_copy_items(all + count, more, d->columns.count * sizeof *all);
    return all;
}

static nl_status bind_project(domain *d, const nl_logical *plan, bound_plan *out)
{
    bound_plan child = {0};
    NL_TRY(bind(d, plan->children[0], &child));
    const uint32_t count = plan->column_count + d->columns.count;
    const nl_expr **exprs = NL_NEW_ARRAY(d->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < plan->column_count; i++) NL_TRY(mapped(d, child.domain, plan->project.exprs[i], &exprs[i]));
    for (uint32_t i = 0; i < d->columns.count; i++) exprs[plan->column_count + i] = nl_column_ref(d->arena, &child.domain[i]);
    const nl_column *columns = with_domain(d, plan->columns, plan->column_count, child.domain);
    out->plan = nl_logical_project(d->arena, child.plan, columns, exprs, count);
    out->domain = child.domain;
    return NULL;
}

static nl_status bind_filter(domain *d, const nl_logical *plan, bound_plan *out)
{
    bound_plan child = {0};
    const nl_expr *condition = NULL;
    NL_TRY(bind(d, plan->children[0], &child));
    NL_TRY(mapped(d, child.domain, plan->filter.condition, &condition));
    out->plan = nl_logical_filter(d->arena, child.plan, condition);
    out->domain = child.domain;
    return NULL;
}

/* Every binding has its row, also where no input row was: values of the empty aggregation. */
static nl_status add_empty_groups(domain *d, const nl_logical *original, const nl_logical *aggregate, const nl_column *domain_columns,
                                  bound_plan *out)
{
    bound_plan all = {0};
    NL_TRY(make_domain(d, &all));
    const uint32_t count = aggregate->column_count;
    nl_column *columns = NL_NEW_ARRAY(d->arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(d->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = aggregate->columns[i];
        exprs[i] = nl_column_ref(d->arena, &columns[i]);
    }
    const nl_expr *truth = nl_expr_boolean(d->arena, true);
    nl_column marker = nl_column_for(d->context, truth, NL_STR("exists"));
    columns[count] = marker;
    exprs[count] = truth;
    const nl_logical *marked = nl_logical_project(d->arena, aggregate, columns, exprs, count + 1);
    const nl_expr *condition = NULL;
    NL_TRY(same_binding(d, all.domain, domain_columns, &condition));
    const nl_logical *join = nl_logical_join(d->arena, NL_JOIN_LEFT, all.plan, marked, condition);
    marker.is_nullable = true;
    const nl_expr *is_absent = nl_expr_is_null(d->arena, nl_column_ref(d->arena, &marker), false);
    const uint32_t value_count = original->column_count;
    const nl_expr **values = NL_NEW_ARRAY(d->arena, const nl_expr *, value_count + d->columns.count + 1);
    for (uint32_t i = 0; i < value_count; i++) {
        const nl_expr *empty = NULL;
        NL_TRY(nl_empty_aggregate_value(d->context, original, i, &empty));
        values[i] = nl_expr_if(d->arena, is_absent, empty, nl_column_ref(d->arena, nl_logical_find_column(join, original->columns[i].id)));
    }
    for (uint32_t i = 0; i < d->columns.count; i++) values[value_count + i] = nl_column_ref(d->arena, &all.domain[i]);
    const nl_column *outputs = with_domain(d, original->columns, value_count, all.domain);
    out->plan = nl_logical_project(d->arena, join, outputs, values, value_count + d->columns.count);
    out->domain = all.domain;
    return NULL;
}

static nl_status bind_aggregate(domain *d, const nl_logical *plan, bound_plan *out)
{
    bound_plan child = {0};
    NL_TRY(bind(d, plan->children[0], &child));
    const nl_logical *mapped_plan = NULL;
    NL_TRY(map_node(d, child.domain, plan, &mapped_plan));
    const uint32_t old_keys = plan->aggregate.key_count;
    const uint32_t extra = d->columns.count;
    const nl_expr **keys = NL_NEW_ARRAY(d->arena, const nl_expr *, old_keys + extra + 1);
    nl_column *columns = NL_NEW_ARRAY(d->arena, nl_column, plan->column_count + extra + 1);
    nl_copy_items(keys, mapped_plan->aggregate.keys, old_keys * sizeof *keys);
    nl_copy_items(columns, plan->columns, old_keys * sizeof *columns);
    for (uint32_t i = 0; i < extra; i++) {
        keys[old_keys + i] = nl_column_ref(d->arena, &child.domain[i]);
        columns[old_keys + i] = child.domain[i];
    }
    nl_copy_items(columns + old_keys + extra, plan->columns + old_keys, (plan->column_count - old_keys) * sizeof *columns);
    if (plan->aggregate.grouping_sets) return unsupported();
    nl_logical *aggregate = nl_logical_copy(d->arena, nl_logical_with_children(d->arena, mapped_plan, &child.plan));
    aggregate->aggregate.keys = keys;
    aggregate->aggregate.key_count = old_keys + extra;
    aggregate->columns = columns;
    aggregate->column_count = plan->column_count + extra;
    out->plan = aggregate;
    out->domain = child.domain;
    return old_keys == 0 ? add_empty_groups(d, plan, aggregate, child.domain, out) : NULL;
}

static nl_status bind_join(domain *d, const nl_logical *plan, bound_plan *out)
{
    const bool left_depends = nl_plan_has_outer(plan->children[0]);
    const bool right_depends = nl_plan_has_outer(plan->children[1]);
    const nl_join_kind kind = plan->join.kind;
    const bool is_inner = kind == NL_JOIN_INNER || kind == NL_JOIN_CROSS;
    if (kind == NL_JOIN_FULL || kind == NL_JOIN_NULL_AWARE_ANTI || plan->join.is_lateral) return unsupported();
    bool binds_left = left_depends || (kind != NL_JOIN_RIGHT && !is_inner);
    const bool binds_right = right_depends || kind == NL_JOIN_RIGHT;
    if (is_inner && !left_depends && !right_depends) binds_left = true; /* only the condition depends */
    bound_plan left = {.plan = plan->children[0]};
    bound_plan right = {.plan = plan->children[1]};
    if (binds_left) NL_TRY(bind(d, plan->children[0], &left));
    if (binds_right) NL_TRY(bind(d, plan->children[1], &right));
    const nl_column *columns = kind == NL_JOIN_RIGHT || !binds_left ? right.domain : left.domain;
    const nl_expr *condition = NULL;
    NL_TRY(mapped(d, columns, plan->join.condition, &condition));
    if (binds_left && binds_right) NL_TRY(same_binding(d, left.domain, right.domain, &condition));
    if (kind == NL_JOIN_MARK) {
        const nl_logical *const children[] = {left.plan, right.plan};
        nl_logical *mark = nl_logical_copy(d->arena, nl_logical_with_children(d->arena, plan, children));
        nl_column *outputs = NL_NEW_ARRAY(d->arena, nl_column, left.plan->column_count + 1);
        nl_copy_items(outputs, left.plan->columns, left.plan->column_count * sizeof *outputs);
        outputs[left.plan->column_count] = plan->columns[plan->column_count - 1];
        mark->columns = outputs;
        mark->column_count = left.plan->column_count + 1;
        mark->join.condition = condition;
        out->plan = mark;
    } else {
        nl_logical *join = NL_UNCONST(nl_logical_join(d->arena, kind == NL_JOIN_CROSS && condition ? NL_JOIN_INNER : kind, left.plan, right.plan, condition));
        join->join.is_single = plan->join.is_single;
        out->plan = join;
    }
    out->domain = columns;
    return NULL;
}

/* LIMIT per binding: the rows numbered within it. */
static nl_status bind_limit(domain *d, const nl_logical *plan, bound_plan *out)
{
    if (plan->children[0]->kind == NL_PLAN_PROJECT) { /* a sort may stand below the projection */
        const nl_logical *project = plan->children[0];
        const nl_logical *limit = nl_logical_limit(d->arena, project->children[0], plan->limit.limit, plan->limit.offset);
        return bind(d, nl_logical_with_children(d->arena, project, &limit), out);
    }
    const nl_logical *sort = plan->children[0]->kind == NL_PLAN_SORT ? plan->children[0] : NULL;
    bound_plan child = {0};
    NL_TRY(bind(d, sort ? sort->children[0] : plan->children[0], &child));
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(NL_STR("row_number"), &rows);
    if (row_count == 0) return unsupported();
    nl_bind call = {.row = rows[0], .arena = d->arena, .confs = d->context->confs, .name = NL_STR("row_number")};
    const nl_bound_function *bound = NULL;
    NL_TRY(nl_function_bind(&call, rows, row_count, &bound));
    nl_window_spec *spec = NL_NEW(d->arena, nl_window_spec);
    const nl_expr **partition = NL_NEW_ARRAY(d->arena, const nl_expr *, d->columns.count + 1);
    for (uint32_t i = 0; i < d->columns.count; i++) partition[i] = nl_column_ref(d->arena, &child.domain[i]);
    spec->partition_by = partition;
    spec->partition_count = d->columns.count;
    if (sort) {
        nl_sort_key *keys = NL_NEW_ARRAY(d->arena, nl_sort_key, sort->sort.key_count + 1);
        for (uint32_t i = 0; i < sort->sort.key_count; i++) {
            keys[i] = sort->sort.keys[i];
            NL_TRY(mapped(d, child.domain, keys[i].expr, &keys[i].expr));
        }
        spec->order_by = keys;
        spec->order_count = sort->sort.key_count;
    } else { /* any rows will do, but the function wants an order */
        nl_sort_key *keys = NL_NEW_ARRAY(d->arena, nl_sort_key, 1);
        keys[0] = (nl_sort_key){.expr = partition[0], .nulls_first = true};
        spec->order_by = keys;
        spec->order_count = 1;
    }
    spec->unit = NL_FRAME_ROWS;
    spec->start_kind = NL_BOUND_UNBOUNDED_PRECEDING;
    spec->stop_kind = NL_BOUND_CURRENT_ROW;
    nl_expr *number = nl_expr_new(d->arena, NL_EXPR_WINDOW, bound->result_type, NULL, 0);
    number->call = bound;
    number->window = spec;
    nl_logical *window = nl_logical_new(d->arena, NL_PLAN_WINDOW, &child.plan, 1);
    nl_column *columns = NL_NEW_ARRAY(d->arena, nl_column, child.plan->column_count + 1);
    nl_copy_items(columns, child.plan->columns, child.plan->column_count * sizeof *columns);
    columns[child.plan->column_count] = nl_column_for(d->context, number, NL_STR("rn"));
    const nl_expr **exprs = NL_NEW_ARRAY(d->arena, const nl_expr *, 1);
    exprs[0] = number;
    window->columns = columns;
    window->column_count = child.plan->column_count + 1;
    window->window.exprs = exprs;
    window->window.expr_count = 1;
    const nl_expr *rn = nl_column_ref(d->arena, &columns[child.plan->column_count]);
    const nl_value first = nl_value_int(rn->type, plan->limit.offset);
    const nl_expr *condition = NULL;
    if (plan->limit.offset) NL_TRY(nl_call_rule(d->context, ">", rn, nl_expr_literal(d->arena, &first), &condition));
    if (plan->limit.limit >= 0) {
        const nl_value last = nl_value_int(rn->type, plan->limit.offset + plan->limit.limit);
        const nl_expr *below = NULL;
        NL_TRY(nl_call_rule(d->context, "<=", rn, nl_expr_literal(d->arena, &last), &below));
        condition = nl_expr_and(d->arena, condition, below);
    }
    const nl_logical *kept = nl_logical_filter(d->arena, window, condition);
    out->plan = nl_logical_keep(d->arena, kept, child.plan->columns, child.plan->column_count);
    out->domain = child.domain;
    return NULL;
}

static nl_status bind_window(domain *d, const nl_logical *plan, bound_plan *out)
{
    bound_plan child = {0};
    const nl_logical *node = NULL;
    NL_TRY(bind(d, plan->children[0], &child));
    NL_TRY(map_node(d, child.domain, plan, &node));
    nl_logical *window = nl_logical_copy(d->arena, nl_logical_with_children(d->arena, node, &child.plan));
    const nl_expr **exprs = NL_NEW_ARRAY(d->arena, const nl_expr *, plan->window.expr_count + 1);
    for (uint32_t i = 0; i < plan->window.expr_count; i++) {
        nl_expr *expr = NL_NEW(d->arena, nl_expr);
        nl_window_spec *spec = NL_NEW(d->arena, nl_window_spec);
        *expr = *node->window.exprs[i];
        *spec = *expr->window;
        const nl_expr **partition = NL_NEW_ARRAY(d->arena, const nl_expr *, spec->partition_count + d->columns.count + 1);
        nl_copy_items(partition, spec->partition_by, spec->partition_count * sizeof *partition);
        for (uint32_t k = 0; k < d->columns.count; k++) partition[spec->partition_count + k] = nl_column_ref(d->arena, &child.domain[k]);
        spec->partition_by = partition;
        spec->partition_count += d->columns.count;
        expr->window = spec;
        exprs[i] = expr;
    }
    nl_column *columns = NL_NEW_ARRAY(d->arena, nl_column, child.plan->column_count + plan->window.expr_count + 1);
    nl_copy_items(columns, child.plan->columns, child.plan->column_count * sizeof *columns);
    nl_copy_items(columns + child.plan->column_count, plan->columns + (plan->column_count - plan->window.expr_count),
           plan->window.expr_count * sizeof *columns);
    window->window.exprs = exprs;
    window->columns = columns;
    window->column_count = child.plan->column_count + plan->window.expr_count;
    out->plan = window;
    out->domain = child.domain;
    return NULL;
}

static nl_status bind_generate(domain *d, const nl_logical *plan, bound_plan *out)
{
    bound_plan child = {0};
    const nl_logical *node = NULL;
    NL_TRY(bind(d, plan->children[0], &child));
    NL_TRY(map_node(d, child.domain, plan, &node));
    const uint32_t made = plan->column_count - plan->children[0]->column_count;
    nl_logical *generate = nl_logical_copy(d->arena, nl_logical_with_children(d->arena, node, &child.plan));
    nl_column *columns = NL_NEW_ARRAY(d->arena, nl_column, child.plan->column_count + made + 1);
    nl_copy_items(columns, child.plan->columns, child.plan->column_count * sizeof *columns);
    nl_copy_items(columns + child.plan->column_count, plan->columns + plan->children[0]->column_count, made * sizeof *columns);
    generate->columns = columns;
    generate->column_count = child.plan->column_count + made;
    out->plan = generate;
    out->domain = child.domain;
    return NULL;
}

static nl_status bind_union(domain *d, const nl_logical *plan, bound_plan *out)
{
    if (plan->set.kind != NL_SET_UNION_ALL) return unsupported();
    const uint32_t count = plan->column_count + d->columns.count;
    const nl_logical **children = NL_NEW_ARRAY(d->arena, const nl_logical *, plan->child_count + 1);
    nl_column *domain_columns = NL_NEW_ARRAY(d->arena, nl_column, d->columns.count + 1);
    for (uint32_t c = 0; c < plan->child_count; c++) {
        bound_plan child = {0};
        NL_TRY(bind(d, plan->children[c], &child));
        const nl_column *columns = with_domain(d, plan->children[c]->columns, plan->column_count, child.domain);
        children[c] = nl_logical_keep(d->arena, child.plan, columns, count);
        if (c == 0) nl_copy_items(domain_columns, child.domain, d->columns.count * sizeof *domain_columns);
    }
    for (uint32_t i = 0; i < d->columns.count; i++) domain_columns[i].id = nl_plan_new_id(d->context);
    nl_logical *all = nl_logical_new(d->arena, NL_PLAN_SET, children, plan->child_count);
    all->set.kind = NL_SET_UNION_ALL;
    all->columns = with_domain(d, plan->columns, plan->column_count, domain_columns);
    all->column_count = count;
    out->plan = all;
    out->domain = domain_columns;
    return NULL;
}

static nl_status bind_sort(domain *d, const nl_logical *plan, bound_plan *out)
{
    return bind(d, plan->children[0], out); /* without a limit the order means nothing inside a join */
}

/* One row of expressions is a projection over one row of nothing. */
static nl_status bind_values(domain *d, const nl_logical *plan, bound_plan *out)
{
    if (plan->values.row_count != 1) return unsupported();
    const nl_logical *project = nl_logical_project(d->arena, nl_logical_one_row(d->arena), plan->columns, plan->values.rows[0], plan->column_count);
    return bind(d, project, out);
}

/* A table function in Python over one row of arguments: over the rows that they come from. */
static nl_status bind_python(domain *d, const nl_logical *plan, bound_plan *out)
{
    bound_plan child = {0};
    const nl_logical *node = NULL;
    if (plan->python.shape != NL_PYTHON_MAP || plan->children[0]->column_count > 0) return unsupported();
    NL_TRY(bind(d, plan->children[0], &child));
    NL_TRY(map_node(d, child.domain, plan, &node));
    nl_logical *made = nl_logical_copy(d->arena, nl_logical_with_children(d->arena, node, &child.plan));
    nl_column *columns = NL_NEW_ARRAY(d->arena, nl_column, (size_t)child.plan->column_count + plan->column_count + 1);
    nl_copy_items(columns, child.plan->columns, child.plan->column_count * sizeof *columns);
    nl_copy_items(columns + child.plan->column_count, plan->columns, plan->column_count * sizeof *columns);
    made->columns = columns;
    made->column_count = child.plan->column_count + plan->column_count;
    made->python.shape = NL_PYTHON_EXPLODE;
    out->plan = made;
    out->domain = child.domain;
    return NULL;
}

static nl_status bind(domain *d, const nl_logical *plan, bound_plan *out)
{
    if (!nl_plan_has_outer(plan)) return bind_independent(d, plan, out);
    switch (plan->kind) {
    case NL_PLAN_PROJECT:
        return bind_project(d, plan, out);
    case NL_PLAN_FILTER:
        return bind_filter(d, plan, out);
    case NL_PLAN_AGGREGATE:
        return bind_aggregate(d, plan, out);
    case NL_PLAN_JOIN:
        return bind_join(d, plan, out);
    case NL_PLAN_LIMIT:
        return bind_limit(d, plan, out);
    case NL_PLAN_WINDOW:
        return bind_window(d, plan, out);
    case NL_PLAN_GENERATE:
        return bind_generate(d, plan, out);
    case NL_PLAN_SET:
        return bind_union(d, plan, out);
    case NL_PLAN_SORT:
        return bind_sort(d, plan, out);
    case NL_PLAN_VALUES:
        return bind_values(d, plan, out);
    case NL_PLAN_PYTHON:
        return bind_python(d, plan, out);
    case NL_PLAN_SCAN:
    case NL_PLAN_RANGE:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_SAMPLE:
    case NL_PLAN_ALIAS:
    case NL_PLAN_CTE:
    case NL_PLAN_CTE_REF:
    case NL_PLAN_EMPTY:
    case NL_PLAN_OBSERVE:
    case NL_PLAN_SINGLE_ROW:
        return unsupported();
    }
    return unsupported();
}

nl_status nl_unnest_domain(nl_plan_context *context, const nl_logical *outer, const nl_logical *plan, nl_domain_result *result)
{
    domain d = {.context = context, .arena = context->arena, .outer = outer};
    bound_plan bound = {0};
    nl_collect_outer(d.arena, plan, &d.columns);
    NL_TRY(bind(&d, plan, &bound));
    result->plan = bound.plan;
    result->condition = NULL;
    for (uint32_t i = 0; i < d.columns.count; i++) {
        const nl_expr *equal = NULL;
        NL_TRY(nl_call_rule(context, "<=>", d.columns.items[i], nl_column_ref(d.arena, &bound.domain[i]), &equal));
        result->condition = nl_expr_and(d.arena, result->condition, equal);
    }
    return NULL;
}

/* ---- aggregates over nothing ---- */

nl_status nl_empty_aggregate_value(nl_plan_context *context, const nl_logical *aggregate, uint32_t column, const nl_expr **value)
{
    nl_arena *arena = context->arena;
    const uint32_t place = column - aggregate->aggregate.key_count;
    const nl_expr *call = aggregate->aggregate.aggregates[place];
    /* the arguments never see a row: outer references in them are as good as columns of the empty input */
    NL_TRY(nl_outer_to_column(arena, call, &call));
    nl_id_set read = {.arena = arena};
    nl_id_set_add_expr(&read, call);
    nl_list outer = {0};
    nl_collect_outer(arena, aggregate, &outer);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, aggregate->children[0]->column_count + outer.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < aggregate->children[0]->column_count; i++) columns[count++] = aggregate->children[0]->columns[i];
    for (uint32_t i = 0; i < outer.count; i++) {
        const nl_expr *ref = outer.items[i];
        columns[count++] = (nl_column){.id = ref->column, .name = ref->name, .type = ref->type, .is_nullable = true};
    }
    const nl_logical like = {.columns = columns, .column_count = count};
    const nl_logical *nothing = nl_logical_empty(arena, &like);
    nl_logical *over_nothing = nl_logical_new(arena, NL_PLAN_AGGREGATE, &nothing, 1);
    nl_column *output = NL_NEW(arena, nl_column);
    const nl_expr **calls = NL_NEW_ARRAY(arena, const nl_expr *, 1);
    *output = aggregate->columns[column];
    calls[0] = call;
    over_nothing->columns = output;
    over_nothing->column_count = 1;
    over_nothing->aggregate.aggregates = calls;
    over_nothing->aggregate.aggregate_count = 1;
    const nl_logical *fresh = NULL;
    NL_TRY(nl_plan_fresh(context, over_nothing, &fresh));
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_SUBQUERY, call->type, NULL, 0);
    expr->is_nullable = true;
    expr->subquery_kind = NL_SUBQUERY_SCALAR;
    expr->plan = fresh;
    *value = expr;
    return NULL;
}

bool nl_aggregates_are_null_on_empty(const nl_logical *aggregate)
{
    static const char *const names[] = {"sum", "avg", "mean", "min", "max", "first", "last", "any_value", "stddev", "variance", "median"};
    for (uint32_t i = 0; i < aggregate->aggregate.aggregate_count; i++) {
        const char *name = aggregate->aggregate.aggregates[i]->call->row->name;
        bool is_known = false;
        for (size_t n = 0; n < NL_COUNT(names); n++) is_known = is_known || strcmp(name, names[n]) == 0;
        if (!is_known) return false;
    }
    return true;
}

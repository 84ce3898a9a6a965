/* Columns that nobody reads are not made: scans, projections, aggregates, windows, unions get narrower. */
#include "plan/optimizer/rules.h"

typedef struct pruner {
    nl_plan_context *context;
    nl_arena *arena;
} pruner;

static nl_status prune(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result);

static nl_id_set copy_set(pruner *p, const nl_id_set *set)
{
    nl_id_set copy = {.arena = p->arena, .word_count = set->word_count};
    copy.words = NL_NEW_ARRAY(p->arena, uint64_t, set->word_count + 1);
    if (set->word_count) nl_copy_items(copy.words, set->words, set->word_count * sizeof *copy.words);
    return copy;
}

static bool add_needed(void *context, const nl_expr *expr)
{
    nl_id_set_add_expr(context, expr);
    return true;
}

/* The node over a new child that passes its columns on, followed by `made` columns of its own. */
static const nl_logical *over_child(pruner *p, const nl_logical *plan, const nl_logical *child, const nl_column *made, uint32_t made_count)
{
    nl_logical *copy = nl_logical_copy(p->arena, nl_logical_with_children(p->arena, plan, &child));
    if (made_count == 0) {
        copy->columns = child->columns;
        copy->column_count = child->column_count;
        return copy;
    }
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, child->column_count + made_count);
    if (child->column_count) nl_copy_items(columns, child->columns, child->column_count * sizeof *columns);
    nl_copy_items(columns + child->column_count, made, made_count * sizeof *columns);
    copy->columns = columns;
    copy->column_count = child->column_count + made_count;
    return copy;
}

static nl_status prune_passing(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    nl_id_set below = copy_set(p, needed);
    nl_logical_walk_exprs(plan, add_needed, &below);
    const nl_logical *child = NULL;
    NL_TRY(prune(p, plan->children[0], &below, &child));
    const uint32_t made = plan->column_count - plan->children[0]->column_count;
    *result = over_child(p, plan, child, plan->columns + plan->children[0]->column_count, made);
    return NULL;
}

static nl_status prune_window(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    const uint32_t first = plan->children[0]->column_count;
    const nl_expr **exprs = NL_NEW_ARRAY(p->arena, const nl_expr *, plan->window.expr_count + 1);
    nl_column *made = NL_NEW_ARRAY(p->arena, nl_column, plan->window.expr_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->window.expr_count; i++) {
        if (!nl_id_set_has(needed, plan->columns[first + i].id)) continue;
        exprs[count] = plan->window.exprs[i];
        made[count++] = plan->columns[first + i];
    }
    if (count == 0) return prune(p, plan->children[0], needed, result);
    nl_id_set below = copy_set(p, needed);
    for (uint32_t i = 0; i < count; i++) nl_id_set_add_expr(&below, exprs[i]);
    const nl_logical *child = NULL;
    NL_TRY(prune(p, plan->children[0], &below, &child));
    nl_logical *copy = NL_UNCONST(over_child(p, plan, child, made, count));
    copy->window.exprs = exprs;
    copy->window.expr_count = count;
    *result = copy;
    return NULL;
}

static nl_status prune_project(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, plan->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(p->arena, const nl_expr *, plan->column_count + 1);
    nl_id_set below = {.arena = p->arena};
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (!nl_id_set_has(needed, plan->columns[i].id)) continue;
        columns[count] = plan->columns[i];
        exprs[count++] = plan->project.exprs[i];
        nl_id_set_add_expr(&below, plan->project.exprs[i]);
    }
    const nl_logical *child = NULL;
    NL_TRY(prune(p, plan->children[0], &below, &child));
    *result = nl_logical_project(p->arena, child, columns, exprs, count);
    return NULL;
}

static nl_status prune_aggregate(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    const uint32_t keys = plan->aggregate.key_count;
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, plan->column_count + 1);
    const nl_expr **calls = NL_NEW_ARRAY(p->arena, const nl_expr *, plan->aggregate.aggregate_count + 1);
    nl_id_set below = {.arena = p->arena};
    if (keys) nl_copy_items(columns, plan->columns, keys * sizeof *columns);
    for (uint32_t i = 0; i < keys; i++) nl_id_set_add_expr(&below, plan->aggregate.keys[i]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->aggregate.aggregate_count; i++) {
        if (!nl_id_set_has(needed, plan->columns[keys + i].id)) continue;
        columns[keys + count] = plan->columns[keys + i];
        calls[count++] = plan->aggregate.aggregates[i];
        nl_id_set_add_expr(&below, plan->aggregate.aggregates[i]);
    }
    uint32_t column_count = keys + count;
    if (plan->aggregate.grouping_sets) columns[column_count++] = plan->columns[plan->column_count - 1];
    const nl_logical *child = NULL;
    NL_TRY(prune(p, plan->children[0], &below, &child));
    nl_logical *copy = nl_logical_copy(p->arena, nl_logical_with_children(p->arena, plan, &child));
    copy->columns = columns;
    copy->column_count = column_count;
    copy->aggregate.aggregates = calls;
    copy->aggregate.aggregate_count = count;
    *result = copy;
    return NULL;
}

static nl_status prune_join(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    nl_id_set below = copy_set(p, needed);
    if (plan->join.condition) nl_id_set_add_expr(&below, plan->join.condition);
    const nl_logical *children[2] = {0};
    NL_TRY(prune(p, plan->children[0], &below, &children[0]));
    NL_TRY(prune(p, plan->children[1], &below, &children[1]));
    if (plan->join.kind == NL_JOIN_MARK) {
        nl_logical *mark = nl_logical_copy(p->arena, nl_logical_with_children(p->arena, plan, children));
        nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, children[0]->column_count + 1);
        nl_copy_items(columns, children[0]->columns, children[0]->column_count * sizeof *columns);
        columns[children[0]->column_count] = plan->columns[plan->column_count - 1];
        mark->columns = columns;
        mark->column_count = children[0]->column_count + 1;
        *result = mark;
        return NULL;
    }
    nl_logical *join = NL_UNCONST(nl_logical_join(p->arena, plan->join.kind, children[0], children[1], plan->join.condition));
    join->join.is_single = plan->join.is_single;
    join->span = plan->span;
    *result = join;
    return NULL;
}

static nl_status prune_scan(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    nl_id_set kept = copy_set(p, needed);
    if (plan->scan.filter) nl_id_set_add_expr(&kept, plan->scan.filter);
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, plan->column_count + 1);
    uint32_t *places = NL_NEW_ARRAY(p->arena, uint32_t, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (!nl_id_set_has(&kept, plan->columns[i].id)) continue;
        columns[count] = plan->columns[i];
        places[count++] = plan->scan.table_columns[i];
    }
    nl_logical *copy = nl_logical_copy(p->arena, plan);
    copy->columns = columns;
    copy->column_count = count;
    copy->scan.table_columns = places;
    *result = copy;
    return NULL;
}

static nl_status prune_union(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    const nl_logical **children = NL_NEW_ARRAY(p->arena, const nl_logical *, plan->child_count + 1);
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (nl_id_set_has(needed, plan->columns[i].id)) columns[count++] = plan->columns[i];
    for (uint32_t c = 0; c < plan->child_count; c++) {
        const nl_logical *child = plan->children[c];
        nl_column *kept = NL_NEW_ARRAY(p->arena, nl_column, count + 1);
        nl_id_set below = {.arena = p->arena};
        uint32_t kept_count = 0;
        for (uint32_t i = 0; i < plan->column_count; i++) {
            if (!nl_id_set_has(needed, plan->columns[i].id)) continue;
            kept[kept_count++] = child->columns[i];
            nl_id_set_add(&below, child->columns[i].id);
        }
        const nl_logical *pruned = NULL;
        NL_TRY(prune(p, child, &below, &pruned));
        children[c] = nl_logical_keep(p->arena, pruned, kept, kept_count);
    }
    nl_logical *copy = nl_logical_copy(p->arena, nl_logical_with_children(p->arena, plan, children));
    copy->columns = columns;
    copy->column_count = count;
    *result = copy;
    return NULL;
}

static nl_status prune_values(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, plan->column_count + 1);
    uint32_t *places = NL_NEW_ARRAY(p->arena, uint32_t, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (!nl_id_set_has(needed, plan->columns[i].id)) continue;
        columns[count] = plan->columns[i];
        places[count++] = i;
    }
    *result = plan;
    if (count == plan->column_count) return NULL;
    const nl_expr *const **rows = NL_NEW_ARRAY(p->arena, const nl_expr *const *, plan->values.row_count + 1);
    for (uint32_t r = 0; r < plan->values.row_count; r++) {
        const nl_expr **cells = NL_NEW_ARRAY(p->arena, const nl_expr *, count + 1);
        for (uint32_t i = 0; i < count; i++) cells[i] = plan->values.rows[r][places[i]];
        rows[r] = cells;
    }
    nl_logical *copy = nl_logical_copy(p->arena, plan);
    copy->columns = columns;
    copy->column_count = count;
    copy->values.rows = rows;
    *result = copy;
    return NULL;
}

/* Everything its children give stays: they are matched by position, or the node cannot say what it needs. */
static nl_status prune_nothing(pruner *p, const nl_logical *plan, const nl_logical **result)
{
    const nl_logical **children = NL_NEW_ARRAY(p->arena, const nl_logical *, plan->child_count + 1);
    for (uint32_t i = 0; i < plan->child_count; i++) {
        const nl_id_set all = nl_plan_ids(p->arena, plan->children[i]);
        NL_TRY(prune(p, plan->children[i], &all, &children[i]));
        children[i] = children[i]->column_count == plan->children[i]->column_count
                          ? children[i]
                          : nl_logical_keep(p->arena, children[i], plan->children[i]->columns, plan->children[i]->column_count);
    }
    *result = nl_logical_with_children(p->arena, plan, children);
    return NULL;
}

static nl_status prune_cte(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    const nl_logical *child = NULL;
    const nl_logical *definition = NULL;
    const nl_id_set all = nl_plan_ids(p->arena, plan->cte.definition);
    NL_TRY(prune(p, plan->cte.definition, &all, &definition));
    if (definition->column_count != plan->cte.definition->column_count)
        definition = nl_logical_keep(p->arena, definition, plan->cte.definition->columns, plan->cte.definition->column_count);
    NL_TRY(prune(p, plan->children[0], needed, &child));
    nl_logical *copy = NL_UNCONST(over_child(p, plan, child, NULL, 0));
    copy->cte.definition = definition;
    *result = copy;
    return NULL;
}

static nl_status prune_empty(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (nl_id_set_has(needed, plan->columns[i].id)) columns[count++] = plan->columns[i];
    nl_logical *copy = nl_logical_copy(p->arena, plan);
    copy->columns = columns;
    copy->column_count = count;
    *result = copy;
    return NULL;
}

static nl_status prune(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    switch (plan->kind) {
    case NL_PLAN_SCAN:
        return prune_scan(p, plan, needed, result);
    case NL_PLAN_VALUES:
        return prune_values(p, plan, needed, result);
    case NL_PLAN_PROJECT:
        return prune_project(p, plan, needed, result);
    case NL_PLAN_AGGREGATE:
        return prune_aggregate(p, plan, needed, result);
    case NL_PLAN_JOIN:
        if (plan->join.is_lateral) return prune_nothing(p, plan, result);
        return prune_join(p, plan, needed, result);
    case NL_PLAN_WINDOW:
        return prune_window(p, plan, needed, result);
    case NL_PLAN_FILTER:
    case NL_PLAN_SORT:
    case NL_PLAN_LIMIT:
    case NL_PLAN_SAMPLE:
    case NL_PLAN_OBSERVE:
    case NL_PLAN_GENERATE:
        return prune_passing(p, plan, needed, result);
    case NL_PLAN_SET:
        if (plan->set.kind == NL_SET_UNION_ALL) return prune_union(p, plan, needed, result);
        return prune_nothing(p, plan, result);
    case NL_PLAN_CTE:
        return prune_cte(p, plan, needed, result);
    case NL_PLAN_EMPTY:
        return prune_empty(p, plan, needed, result);
    case NL_PLAN_RANGE:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_ALIAS:
    case NL_PLAN_CTE_REF:
    case NL_PLAN_PYTHON:
    case NL_PLAN_SINGLE_ROW:
        return prune_nothing(p, plan, result);
    }
    return prune_nothing(p, plan, result);
}

nl_status nl_rule_prune_columns(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    pruner p = {.context = context, .arena = context->arena};
    const nl_id_set all = nl_plan_ids(context->arena, plan);
    return prune(&p, plan, &all, result);
}

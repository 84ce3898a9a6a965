/* Columns that nobody reads are not made: scans, projections, aggregates, windows, unions get narrower.
 *
 * A common table expression keeps what any of its uses reads. Uses are matched with the definition by position, so all of
 * them get the same columns, once all have been seen; what one use does not read of these is dropped right above it. */
#include "plan/optimizer/rules.h"

/* A common table expression whose uses are being looked at. */
typedef struct cte_columns {
    const nl_logical *cte;
    bool *is_read;         /* by position in the definition */
    struct cte_columns *outer;
} cte_columns;

typedef struct pruner {
    nl_plan_context *context;
    nl_arena *arena;
    cte_columns *ctes; /* those around the node, the innermost first; without those that keep everything */
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

/* ---- common table expressions ---- */

typedef struct use_search {
    uint32_t id;
    bool is_in_expr; /* below an expression */
} use_search;

static bool has_no_use_in_expr(void *context, const nl_expr *expr);

/* Is no use of the definition inside of a subquery expression? These are optimized later, each by itself. */
static bool has_no_use_in_subquery(use_search *search, const nl_logical *plan)
{
    if (search->is_in_expr && plan->kind == NL_PLAN_CTE_REF && plan->cte.id == search->id) return false;
    if (!nl_logical_walk_exprs(plan, has_no_use_in_expr, search)) return false;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (!has_no_use_in_subquery(search, plan->children[i])) return false;
    return plan->kind != NL_PLAN_CTE || !plan->cte.definition || has_no_use_in_subquery(search, plan->cte.definition);
}

static bool is_without_use(void *context, const nl_expr *expr)
{
    const use_search *search = context;
    use_search inside = {.id = search->id, .is_in_expr = true};
    return expr->kind != NL_EXPR_SUBQUERY || has_no_use_in_subquery(&inside, expr->plan);
}

static bool has_no_use_in_expr(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, is_without_use, context);
}

static nl_status prune_reference(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    cte_columns *known = p->ctes;
    while (known && known->cte->cte.id != plan->cte.id) known = known->outer;
    *result = plan;
    if (!known) return NULL;
    NL_ASSERT(plan->column_count == known->cte->cte.definition->column_count);
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (!nl_id_set_has(needed, plan->columns[i].id)) continue;
        known->is_read[i] = true;
        columns[count++] = plan->columns[i];
    }
    if (count < plan->column_count) *result = nl_logical_keep(p->arena, plan, columns, count);
    return NULL;
}

typedef struct cte_narrowing {
    const nl_logical *definition; /* narrowed already */
    const bool *is_read;
    uint32_t id;
} cte_narrowing;

static nl_status narrow_reference(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    const cte_narrowing *n = context;
    *result = plan;
    if (plan->kind != NL_PLAN_CTE_REF || plan->cte.id != n->id) return NULL;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + 1);
    nl_logical *copy = nl_logical_copy(arena, plan);
    copy->column_count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (n->is_read[i]) columns[copy->column_count++] = plan->columns[i];
    copy->columns = columns;
    copy->cte.definition = n->definition;
    *result = copy;
    return NULL;
}

/* The definition with the columns that are read, in their order. Rows are to be counted even when nobody reads them. */
static nl_status narrow_definition(pruner *p, const nl_logical *whole, bool *is_read, const nl_logical **result)
{
    nl_id_set wanted = {.arena = p->arena};
    nl_column *columns = NL_NEW_ARRAY(p->arena, nl_column, whole->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < whole->column_count; i++) count += is_read[i];
    if (count == 0 && whole->column_count) is_read[0] = true;
    count = 0;
    for (uint32_t i = 0; i < whole->column_count; i++) {
        if (!is_read[i]) continue;
        columns[count++] = whole->columns[i];
        nl_id_set_add(&wanted, whole->columns[i].id);
    }
    NL_TRY(prune(p, whole, &wanted, result));
    bool is_same = (*result)->column_count == count;
    for (uint32_t i = 0; is_same && i < count; i++) is_same = (*result)->columns[i].id == columns[i].id;
    if (!is_same) *result = nl_logical_keep(p->arena, *result, columns, count);
    return NULL;
}

static nl_status prune_cte(pruner *p, const nl_logical *plan, const nl_id_set *needed, const nl_logical **result)
{
    const nl_logical *whole = plan->cte.definition;
    const nl_logical *child = NULL;
    const nl_logical *definition = NULL;
    use_search search = {.id = plan->cte.id};
    cte_columns own = {.cte = plan, .is_read = NL_NEW_ARRAY(p->arena, bool, whole->column_count + 1), .outer = p->ctes};
    const bool is_narrowed = has_no_use_in_subquery(&search, plan->children[0]);
    if (is_narrowed) p->ctes = &own;
    nl_status status = prune(p, plan->children[0], needed, &child);
    p->ctes = own.outer;
    NL_TRY(status);
    for (uint32_t i = 0; i < whole->column_count; i++) own.is_read[i] = own.is_read[i] || !is_narrowed;
    NL_TRY(narrow_definition(p, whole, own.is_read, &definition));
    nl_note_definition(p->context, plan->cte.id, definition);
    cte_narrowing narrowing = {.definition = definition, .is_read = own.is_read, .id = plan->cte.id};
    NL_TRY(nl_logical_rewrite(p->arena, child, narrow_reference, &narrowing, &child));
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
    case NL_PLAN_CTE_REF:
        return prune_reference(p, plan, needed, result);
    case NL_PLAN_EMPTY:
        return prune_empty(p, plan, needed, result);
    case NL_PLAN_RANGE:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_ALIAS:
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

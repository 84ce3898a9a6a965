/* Filters move down: through projections, into the keys of aggregations, to the sides of joins, into unions, below
 * windows and generators, into scans. On the way outer joins that a filter makes pointless become inner ones, and
 * comparisons with constants are copied across equal join keys. */
#include "plan/optimizer/rules.h"

typedef struct pusher {
    nl_plan_context *context;
    nl_arena *arena;
} pusher;

static nl_status push(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result);

static const nl_logical *filter_above(pusher *p, const nl_logical *plan, const nl_list *conjuncts)
{
    return nl_logical_filter(p->arena, plan, nl_conjunction(p->arena, conjuncts));
}

static nl_status push_children(pusher *p, const nl_logical *plan, const nl_logical **result)
{
    const nl_list none = {0};
    const nl_logical **children = NL_NEW_ARRAY(p->arena, const nl_logical *, plan->child_count + 1);
    for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(push(p, plan->children[i], &none, &children[i]));
    *result = nl_logical_with_children(p->arena, plan, children);
    return NULL;
}

static nl_status push_one_child(pusher *p, const nl_logical *plan, const nl_list *inside, const nl_logical **result)
{
    const nl_logical *child = NULL;
    NL_TRY(push(p, plan->children[0], inside, &child));
    *result = nl_logical_with_children(p->arena, plan, &child);
    return NULL;
}

/* ---- parts of alternatives ---- */

static bool has_equal(const nl_list *list, const nl_expr *expr)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (nl_expr_equal(list->items[i], expr)) return true;
    return false;
}

static bool is_harmless(void *context, const nl_expr *expr)
{
    static const char *const tests[] = {"=", "<", "<=", ">", ">=", "<=>", "like"};
    bool *is_good = context;
    bool is_test = false;
    for (size_t i = 0; expr->kind == NL_EXPR_CALL && i < NL_COUNT(tests); i++) is_test = is_test || nl_is_call(expr, tests[i]);
    *is_good = *is_good && (is_test || expr->kind == NL_EXPR_COLUMN || expr->kind == NL_EXPR_LITERAL || expr->kind == NL_EXPR_AND || expr->kind == NL_EXPR_OR ||
                            expr->kind == NL_EXPR_NOT || expr->kind == NL_EXPR_IN || expr->kind == NL_EXPR_IS_NULL || expr->kind == NL_EXPR_IS_NOT_NULL);
    return *is_good;
}

/* (a1 AND b1) OR (a2 AND b2) lets only rows of one side pass with a1 OR a2: that goes down besides, the whole stays.
 * Conditions that could raise an error are not asked earlier than they stand. */
static void add_alternatives(pusher *p, const nl_expr *conjunct, const nl_id_set *side, nl_list *target)
{
    const nl_expr *all = NULL;
    bool is_good = true;
    if (conjunct->kind != NL_EXPR_OR) return;
    for (uint32_t i = 0; i < conjunct->child_count; i++) {
        const nl_expr *branch = NULL;
        nl_list parts = {0};
        nl_expr_conjuncts(p->arena, conjunct->children[i], &parts);
        for (uint32_t k = 0; k < parts.count; k++)
            if (nl_expr_within(parts.items[k], side)) branch = nl_expr_and(p->arena, branch, parts.items[k]);
        if (!branch) return;
        all = all ? nl_expr_or(p->arena, all, branch) : branch;
    }
    if (all) nl_expr_walk(all, is_harmless, &is_good);
    if (is_good && all && !has_equal(target, all)) nl_list_add(p->arena, target, NL_UNCONST(all));
}

/* ---- one input ---- */

static bool reads_only(const nl_expr *expr, const nl_id_set *set)
{
    return nl_expr_is_deterministic(expr) && nl_expr_within(expr, set);
}

static void split_by_set(pusher *p, const nl_list *conjuncts, const nl_id_set *set, nl_list *inside, nl_list *outside)
{
    for (uint32_t i = 0; i < conjuncts->count; i++)
        nl_list_add(p->arena, reads_only(conjuncts->items[i], set) ? inside : outside, conjuncts->items[i]);
}

/* Nothing passes numbers drawn row by row (monotonically_increasing_id, rand): fewer rows below would be other numbers. */
static nl_status push_project(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    nl_id_set movable = {.arena = p->arena};
    bool is_free = true;
    for (uint32_t i = 0; i < plan->column_count && is_free; i++) is_free = nl_expr_is_deterministic(plan->project.exprs[i]);
    for (uint32_t i = 0; i < plan->column_count && is_free; i++) nl_id_set_add(&movable, plan->columns[i].id);
    const nl_substitution substitution = {plan->columns, plan->project.exprs, plan->column_count};
    nl_list inside = {0};
    nl_list outside = {0};
    for (uint32_t i = 0; i < conjuncts->count; i++) {
        const nl_expr *expr = conjuncts->items[i];
        if (!is_free || !reads_only(expr, &movable)) {
            nl_list_add(p->arena, &outside, NL_UNCONST(expr));
            continue;
        }
        NL_TRY(nl_substitute(p->arena, expr, &substitution, &expr));
        nl_list_add(p->arena, &inside, NL_UNCONST(expr));
    }
    NL_TRY(push_one_child(p, plan, &inside, result));
    *result = filter_above(p, *result, &outside);
    return NULL;
}

static nl_status push_aggregate(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    nl_id_set keys = {.arena = p->arena};
    uint64_t in_all_sets = ~0ull;
    for (uint32_t i = 0; i < plan->aggregate.grouping_set_count; i++) in_all_sets &= plan->aggregate.grouping_sets[i];
    for (uint32_t i = 0; i < plan->aggregate.key_count; i++) {
        const bool is_everywhere = !plan->aggregate.grouping_sets || (i < 64 && (in_all_sets >> i & 1));
        if (is_everywhere && nl_expr_is_deterministic(plan->aggregate.keys[i])) nl_id_set_add(&keys, plan->columns[i].id);
    }
    nl_list inside = {0};
    nl_list outside = {0};
    if (plan->aggregate.key_count)
        split_by_set(p, conjuncts, &keys, &inside, &outside);
    else
        outside = *conjuncts;
    for (uint32_t i = 0; i < outside.count && plan->aggregate.key_count; i++) add_alternatives(p, outside.items[i], &keys, &inside);
    const nl_substitution substitution = {plan->columns, plan->aggregate.keys, plan->aggregate.key_count};
    for (uint32_t i = 0; i < inside.count; i++) {
        const nl_expr *expr = inside.items[i];
        NL_TRY(nl_substitute(p->arena, expr, &substitution, &expr));
        inside.items[i] = NL_UNCONST(expr);
    }
    NL_TRY(push_one_child(p, plan, &inside, result));
    *result = filter_above(p, *result, &outside);
    return NULL;
}

/* Columns by which every window of the node is partitioned. */
static nl_id_set partition_columns(pusher *p, const nl_logical *plan)
{
    nl_id_set set = {.arena = p->arena};
    if (plan->window.expr_count == 0) return set;
    const nl_window_spec *spec = plan->window.exprs[0]->window;
    for (uint32_t i = 0; i < spec->partition_count; i++)
        if (spec->partition_by[i]->kind == NL_EXPR_COLUMN) nl_id_set_add(&set, spec->partition_by[i]->column);
    return set;
}

static nl_status push_with_set(pusher *p, const nl_logical *plan, const nl_id_set *set, const nl_list *conjuncts, const nl_logical **result)
{
    nl_list inside = {0};
    nl_list outside = {0};
    split_by_set(p, conjuncts, set, &inside, &outside);
    for (uint32_t i = 0; i < outside.count; i++) add_alternatives(p, outside.items[i], set, &inside);
    NL_TRY(push_one_child(p, plan, &inside, result));
    *result = filter_above(p, *result, &outside);
    return NULL;
}

static nl_status push_union(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    const nl_id_set own = nl_plan_ids(p->arena, plan);
    nl_list movable = {0};
    nl_list outside = {0};
    split_by_set(p, conjuncts, &own, &movable, &outside);
    const nl_logical **children = NL_NEW_ARRAY(p->arena, const nl_logical *, plan->child_count + 1);
    for (uint32_t c = 0; c < plan->child_count; c++) {
        const nl_logical *child = plan->children[c];
        const nl_expr **refs = NL_NEW_ARRAY(p->arena, const nl_expr *, plan->column_count + 1);
        for (uint32_t i = 0; i < plan->column_count; i++) refs[i] = nl_column_ref(p->arena, &child->columns[i]);
        const nl_substitution substitution = {plan->columns, refs, plan->column_count};
        nl_list inside = {0};
        for (uint32_t i = 0; i < movable.count; i++) {
            const nl_expr *expr = NULL;
            NL_TRY(nl_substitute(p->arena, movable.items[i], &substitution, &expr));
            nl_list_add(p->arena, &inside, NL_UNCONST(expr));
        }
        NL_TRY(push(p, child, &inside, &children[c]));
    }
    *result = filter_above(p, nl_logical_with_children(p->arena, plan, children), &outside);
    return NULL;
}

static nl_status push_scan(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    nl_list inside = {0};
    nl_list outside = {0};
    for (uint32_t i = 0; i < conjuncts->count; i++) {
        const nl_expr *expr = conjuncts->items[i];
        const bool is_plain = nl_expr_is_deterministic(expr) && !nl_expr_has(expr, NL_EXPR_SUBQUERY) && !nl_expr_has(expr, NL_EXPR_OUTER);
        /* what follows a condition that stays above must stay above too: it may rely on it not to fail */
        const bool is_guarded = outside.count && nl_expr_can_fail(expr);
        nl_list_add(p->arena, is_plain && !is_guarded ? &inside : &outside, NL_UNCONST(expr));
    }
    *result = plan;
    if (inside.count) {
        nl_logical *scan = nl_logical_copy(p->arena, plan);
        if (plan->scan.filter) {
            nl_list all = {0};
            nl_list_add(p->arena, &all, NL_UNCONST(plan->scan.filter));
            for (uint32_t i = 0; i < inside.count; i++) nl_list_add(p->arena, &all, inside.items[i]);
            inside = all;
        }
        scan->scan.filter = nl_conjunction(p->arena, &inside);
        *result = scan;
    }
    *result = filter_above(p, *result, &outside);
    return NULL;
}

/* ---- joins ---- */

static nl_join_kind narrowed_kind(const nl_logical *join, const nl_list *conjuncts, const nl_id_set *left, const nl_id_set *right)
{
    bool rejects_left = false;
    bool rejects_right = false;
    for (uint32_t i = 0; i < conjuncts->count; i++) {
        rejects_left = rejects_left || nl_expr_rejects_nulls(conjuncts->items[i], left);
        rejects_right = rejects_right || nl_expr_rejects_nulls(conjuncts->items[i], right);
    }
    switch (join->join.kind) {
    case NL_JOIN_LEFT:
        return rejects_right && !join->join.is_single ? NL_JOIN_INNER : NL_JOIN_LEFT;
    case NL_JOIN_RIGHT:
        return rejects_left ? NL_JOIN_INNER : NL_JOIN_RIGHT;
    case NL_JOIN_FULL:
        if (rejects_left && rejects_right) return NL_JOIN_INNER;
        if (rejects_left) return NL_JOIN_LEFT;
        return rejects_right ? NL_JOIN_RIGHT : NL_JOIN_FULL;
    case NL_JOIN_INNER:
    case NL_JOIN_CROSS:
    case NL_JOIN_SEMI:
    case NL_JOIN_ANTI:
    case NL_JOIN_NULL_AWARE_ANTI:
    case NL_JOIN_MARK:
        break;
    }
    return join->join.kind;
}

/* column op constant, column IN (constants), column IS NOT NULL: what may be copied to an equal column. */
static const nl_expr *copied_column(const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_IN && expr->children[0]->kind == NL_EXPR_COLUMN) {
        for (uint32_t i = 1; i < expr->child_count; i++)
            if (expr->children[i]->kind != NL_EXPR_LITERAL) return NULL;
        return expr->children[0];
    }
    static const char *const names[] = {"=", "<", "<=", ">", ">="};
    for (size_t n = 0; n < NL_COUNT(names); n++) {
        if (!nl_is_call(expr, names[n]) || expr->child_count != 2) continue;
        if (expr->children[0]->kind == NL_EXPR_COLUMN && expr->children[1]->kind == NL_EXPR_LITERAL) return expr->children[0];
        if (expr->children[1]->kind == NL_EXPR_COLUMN && expr->children[0]->kind == NL_EXPR_LITERAL) return expr->children[1];
    }
    return NULL;
}

/* For every join key l = r and condition on one of them, the same condition on the other. */
static nl_status infer(pusher *p, const nl_list *keys, const nl_list *known, nl_list *target, bool is_to_right, const nl_id_set *left)
{
    for (uint32_t k = 0; k < keys->count; k++) {
        const nl_expr *a = NULL;
        const nl_expr *b = NULL;
        if (!nl_as_equality(keys->items[k], &a, &b) || a->kind != NL_EXPR_COLUMN || b->kind != NL_EXPR_COLUMN) continue;
        if (!nl_id_set_has(left, a->column)) {
            const nl_expr *swap = a;
            a = b;
            b = swap;
        }
        const nl_expr *from = is_to_right ? a : b;
        const nl_expr *to = is_to_right ? b : a;
        const uint32_t known_count = known->count;
        for (uint32_t i = 0; i < known_count; i++) {
            const nl_expr *column = copied_column(known->items[i]);
            if (!column || column->column != from->column || !nl_type_equal(from->type, to->type)) continue;
            const nl_column source = {.id = from->column};
            const nl_substitution substitution = {&source, &to, 1};
            const nl_expr *copy = NULL;
            NL_TRY(nl_substitute(p->arena, known->items[i], &substitution, &copy));
            if (!has_equal(target, copy)) nl_list_add(p->arena, target, NL_UNCONST(copy));
        }
    }
    return NULL;
}

static void append(pusher *p, nl_list *target, const nl_list *more)
{
    for (uint32_t i = 0; i < more->count; i++) nl_list_add(p->arena, target, more->items[i]);
}

typedef struct join_parts {
    nl_list above_left, above_right, above_both; /* from above */
    nl_list on_left, on_right, on_both;          /* from ON    */
    nl_list to_left, to_right, keep_on, keep_above;
} join_parts;

/* Where each conjunct may go, by join kind. */
static void place(pusher *p, nl_join_kind kind, join_parts *j)
{
    switch (kind) {
    case NL_JOIN_INNER:
    case NL_JOIN_CROSS:
        append(p, &j->to_left, &j->on_left);
        append(p, &j->to_left, &j->above_left);
        append(p, &j->to_right, &j->on_right);
        append(p, &j->to_right, &j->above_right);
        append(p, &j->keep_on, &j->on_both);
        append(p, &j->keep_on, &j->above_both);
        return;
    case NL_JOIN_LEFT:
        append(p, &j->to_left, &j->above_left);
        append(p, &j->to_right, &j->on_right);
        append(p, &j->keep_on, &j->on_left);
        append(p, &j->keep_on, &j->on_both);
        append(p, &j->keep_above, &j->above_right);
        append(p, &j->keep_above, &j->above_both);
        return;
    case NL_JOIN_RIGHT:
        append(p, &j->to_right, &j->above_right);
        append(p, &j->to_left, &j->on_left);
        append(p, &j->keep_on, &j->on_right);
        append(p, &j->keep_on, &j->on_both);
        append(p, &j->keep_above, &j->above_left);
        append(p, &j->keep_above, &j->above_both);
        return;
    case NL_JOIN_FULL:
        append(p, &j->keep_on, &j->on_left);
        append(p, &j->keep_on, &j->on_right);
        append(p, &j->keep_on, &j->on_both);
        append(p, &j->keep_above, &j->above_left);
        append(p, &j->keep_above, &j->above_right);
        append(p, &j->keep_above, &j->above_both);
        return;
    case NL_JOIN_SEMI:
        append(p, &j->to_left, &j->above_left);
        append(p, &j->to_left, &j->on_left);
        append(p, &j->to_right, &j->on_right);
        append(p, &j->keep_on, &j->on_both);
        append(p, &j->keep_above, &j->above_both);
        return;
    case NL_JOIN_ANTI:
    case NL_JOIN_MARK:
        append(p, &j->to_left, &j->above_left);
        append(p, &j->to_right, &j->on_right);
        append(p, &j->keep_on, &j->on_left);
        append(p, &j->keep_on, &j->on_both);
        append(p, &j->keep_above, &j->above_right);
        append(p, &j->keep_above, &j->above_both);
        return;
    case NL_JOIN_NULL_AWARE_ANTI: /* a right row with a null key decides everything: nothing of ON moves */
        append(p, &j->to_left, &j->above_left);
        append(p, &j->keep_on, &j->on_left);
        append(p, &j->keep_on, &j->on_right);
        append(p, &j->keep_on, &j->on_both);
        append(p, &j->keep_above, &j->above_right);
        append(p, &j->keep_above, &j->above_both);
        return;
    }
}

/* Conjuncts from above that read the mark, or both sides, cannot move; ones of an inner join become its condition. */
static void keep_random_above(pusher *p, join_parts *j)
{
    nl_list fixed = {0};
    nl_list movable = {0};
    for (uint32_t i = 0; i < j->above_both.count; i++)
        nl_list_add(p->arena, nl_expr_is_deterministic(j->above_both.items[i]) ? &movable : &fixed, j->above_both.items[i]);
    j->above_both = movable;
    j->keep_above = fixed;
}

static nl_status push_join(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    const nl_id_set left = nl_plan_ids(p->arena, plan->children[0]);
    const nl_id_set right = nl_plan_ids(p->arena, plan->children[1]);
    nl_join_kind kind = narrowed_kind(plan, conjuncts, &left, &right);
    nl_list on = {0};
    join_parts j = {0};
    nl_expr_conjuncts(p->arena, plan->join.condition, &on);
    nl_split_conjuncts(p->arena, &on, &left, &right, &j.on_left, &j.on_right, &j.on_both);
    nl_split_conjuncts(p->arena, conjuncts, &left, &right, &j.above_left, &j.above_right, &j.above_both);
    keep_random_above(p, &j);
    if (plan->join.is_null_aware || plan->join.is_single) { /* the right rows decide more than matches */
        append(p, &j.on_both, &j.on_right);
        j.on_right = (nl_list){0};
    }
    place(p, kind, &j);
    const bool is_inner = kind == NL_JOIN_INNER || kind == NL_JOIN_CROSS;
    for (uint32_t i = 0; is_inner && i < j.keep_on.count; i++) {
        add_alternatives(p, j.keep_on.items[i], &left, &j.to_left);
        add_alternatives(p, j.keep_on.items[i], &right, &j.to_right);
    }
    const bool flows_right = is_inner || kind == NL_JOIN_LEFT || kind == NL_JOIN_SEMI;
    const bool flows_left = is_inner || kind == NL_JOIN_RIGHT || kind == NL_JOIN_SEMI;
    if (flows_right && !plan->join.is_single) NL_TRY(infer(p, &j.keep_on, &j.to_left, &j.to_right, true, &left));
    if (flows_left) NL_TRY(infer(p, &j.keep_on, &j.to_right, &j.to_left, false, &left));
    const nl_logical *children[2] = {0};
    NL_TRY(push(p, plan->children[0], &j.to_left, &children[0]));
    NL_TRY(push(p, plan->children[1], &j.to_right, &children[1]));
    nl_logical *join = nl_logical_copy(p->arena, nl_logical_with_children(p->arena, plan, children));
    join->join.condition = nl_conjunction(p->arena, &j.keep_on);
    if (kind == NL_JOIN_CROSS && join->join.condition) kind = NL_JOIN_INNER;
    if (kind == NL_JOIN_INNER && !join->join.condition && !plan->join.is_lateral) kind = NL_JOIN_CROSS;
    join->join.kind = kind;
    *result = filter_above(p, join, &j.keep_above);
    return NULL;
}

/* ---- the walk ---- */

static nl_status push_stop(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    NL_TRY(push_children(p, plan, result));
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition) {
        const nl_list none = {0};
        nl_logical *copy = nl_logical_copy(p->arena, *result);
        NL_TRY(push(p, plan->cte.definition, &none, &copy->cte.definition));
        nl_note_definition(p->context, plan->cte.id, copy->cte.definition);
        *result = copy;
    }
    *result = filter_above(p, *result, conjuncts);
    return NULL;
}

/* The filters have come down to the uses of the CTE: only rows that one of them keeps need be made. */
static nl_status push_cte(pusher *p, const nl_logical *plan, const nl_logical *child, const nl_logical **result)
{
    const nl_expr *condition = NULL;
    nl_list wanted = {0};
    nl_logical *copy = nl_logical_copy(p->arena, nl_logical_with_children(p->arena, plan, &child));
    NL_TRY(nl_cte_condition(p->context, plan, child, &condition));
    if (condition) nl_list_add(p->arena, &wanted, NL_UNCONST(condition));
    NL_TRY(push(p, plan->cte.definition, &wanted, &copy->cte.definition));
    nl_note_definition(p->context, plan->cte.id, copy->cte.definition);
    *result = copy;
    return NULL;
}

static nl_status push_filter(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    nl_list all = {0};
    nl_expr_conjuncts(p->arena, plan->filter.condition, &all);
    append(p, &all, conjuncts);
    return push(p, plan->children[0], &all, result);
}

static nl_status push(pusher *p, const nl_logical *plan, const nl_list *conjuncts, const nl_logical **result)
{
    nl_id_set set;
    switch (plan->kind) {
    case NL_PLAN_FILTER:
        return push_filter(p, plan, conjuncts, result);
    case NL_PLAN_PROJECT:
        return push_project(p, plan, conjuncts, result);
    case NL_PLAN_AGGREGATE:
        return push_aggregate(p, plan, conjuncts, result);
    case NL_PLAN_JOIN:
        return push_join(p, plan, conjuncts, result);
    case NL_PLAN_SORT:
        set = nl_plan_ids(p->arena, plan->children[0]);
        return push_with_set(p, plan, &set, conjuncts, result);
    case NL_PLAN_WINDOW:
        set = partition_columns(p, plan);
        return push_with_set(p, plan, &set, conjuncts, result);
    case NL_PLAN_GENERATE:
        set = nl_plan_ids(p->arena, plan->children[0]);
        return push_with_set(p, plan, &set, conjuncts, result);
    case NL_PLAN_SET:
        if (plan->set.kind == NL_SET_UNION_ALL) return push_union(p, plan, conjuncts, result);
        return push_stop(p, plan, conjuncts, result);
    case NL_PLAN_SCAN:
        return push_scan(p, plan, conjuncts, result);
    case NL_PLAN_CTE: {
        const nl_logical *child = NULL;
        NL_TRY(push(p, plan->children[0], conjuncts, &child));
        return push_cte(p, plan, child, result);
    }
    case NL_PLAN_VALUES:
    case NL_PLAN_RANGE:
    case NL_PLAN_LIMIT:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_SAMPLE:
    case NL_PLAN_ALIAS:
    case NL_PLAN_CTE_REF:
    case NL_PLAN_EMPTY:
    case NL_PLAN_PYTHON:
    case NL_PLAN_OBSERVE:
    case NL_PLAN_SINGLE_ROW:
        return push_stop(p, plan, conjuncts, result);
    }
    return push_stop(p, plan, conjuncts, result);
}

nl_status nl_rule_push_filters(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    pusher p = {.context = context, .arena = context->arena};
    const nl_list none = {0};
    return push(&p, plan, &none, result);
}

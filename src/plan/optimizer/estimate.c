/* How many rows: from tables' counts and column bounds where they are known, else by the usual guesses (Selinger et
 * al., 1979). Only the order of magnitude matters: join order and build sides are chosen by it. */
#include <math.h>

#include "base/hash.h"
#include "plan/optimizer/rules.h"

#define UNKNOWN_TABLE_ROWS    100000.0
#define EQUALITY_SELECTIVITY  0.05
#define RANGE_SELECTIVITY     0.33
#define OTHER_SELECTIVITY     0.25
#define LIKE_SELECTIVITY      0.1
#define GROUPS_PER_ROW        0.2 /* distinct keys when nothing is known of them */
#define ROWS_PER_LIST         5.0 /* GENERATE */
#define DENSE_SPAN            2.0 /* values between the bounds of a generated key, against rows */

static double at_least_one(double rows)
{
    return rows < 1 ? 1 : rows;
}

/* ---- columns ---- */

/* A reference to a CTE has its columns from the definition, a union from its inputs, of which the first speaks for all. */
static const nl_logical *by_place(const nl_logical *plan, nl_column_id id, uint32_t *column)
{
    const nl_logical *source = plan->kind == NL_PLAN_CTE_REF ? plan->cte.definition : plan->kind == NL_PLAN_SET ? plan->children[0] : NULL;
    for (uint32_t i = 0; source && i < NL_MIN(plan->column_count, source->column_count); i++) {
        if (plan->columns[i].id != id) continue;
        *column = i;
        return source;
    }
    return NULL;
}

static const nl_logical *scan_of(const nl_logical *plan, nl_column_id id, uint32_t *place)
{
    if (plan->kind == NL_PLAN_SCAN) {
        for (uint32_t i = 0; i < plan->column_count; i++) {
            if (plan->columns[i].id != id) continue;
            *place = plan->scan.table_columns[i];
            return plan;
        }
        return NULL;
    }
    if (plan->kind == NL_PLAN_PROJECT) {
        for (uint32_t i = 0; i < plan->column_count; i++)
            if (plan->columns[i].id == id && plan->project.exprs[i]->kind == NL_EXPR_COLUMN)
                return scan_of(plan->children[0], plan->project.exprs[i]->column, place);
        return NULL;
    }
    if (plan->kind == NL_PLAN_AGGREGATE) {
        for (uint32_t i = 0; i < plan->aggregate.key_count; i++)
            if (plan->columns[i].id == id && plan->aggregate.keys[i]->kind == NL_EXPR_COLUMN)
                return scan_of(plan->children[0], plan->aggregate.keys[i]->column, place);
        return NULL;
    }
    uint32_t column = 0;
    const nl_logical *source = by_place(plan, id, &column);
    if (source) return scan_of(source, source->columns[column].id, place);
    if (plan->kind == NL_PLAN_SET || plan->kind == NL_PLAN_CTE_REF) return NULL;
    for (uint32_t i = 0; i < plan->child_count; i++) {
        const nl_logical *found = scan_of(plan->children[i], id, place);
        if (found) return found;
    }
    return NULL;
}

static bool column_facts(nl_plan_context *context, const nl_logical *plan, nl_column_id id, nl_table_column_statistics *facts)
{
    uint32_t place = 0;
    const nl_logical *scan = scan_of(plan, id, &place);
    *facts = (nl_table_column_statistics){.null_count = -1, .distinct_count = -1};
    if (!scan || !scan->scan.table->ops->column_statistics || place >= scan->scan.table->row_type->child_count) return false;
    nl_error *failure = scan->scan.table->ops->column_statistics(scan->scan.table, place, context->arena, facts);
    nl_error_free(failure);
    return failure == NULL;
}

static double table_rows(const nl_logical *scan)
{
    int64_t rows = -1;
    int64_t bytes = -1;
    if (!scan->scan.table->ops->estimate) return UNKNOWN_TABLE_ROWS;
    nl_error *failure = scan->scan.table->ops->estimate(scan->scan.table, scan, &rows, &bytes);
    nl_error_free(failure);
    if (failure || rows < 0) return UNKNOWN_TABLE_ROWS;
    return (double)rows;
}

/* The node that makes the column's values: not through whole joins, so that estimates of joins of joins stay linear. */
static const nl_logical *maker_of(const nl_logical *plan, nl_column_id id)
{
    const nl_expr *const *exprs = plan->kind == NL_PLAN_PROJECT ? plan->project.exprs : plan->kind == NL_PLAN_AGGREGATE ? plan->aggregate.keys : NULL;
    const uint32_t count = plan->kind == NL_PLAN_PROJECT ? plan->column_count : plan->aggregate.key_count;
    for (uint32_t i = 0; exprs && i < count; i++)
        if (plan->columns[i].id == id && exprs[i]->kind == NL_EXPR_COLUMN) return maker_of(plan->children[0], exprs[i]->column);
    if (exprs) return NULL;
    uint32_t column = 0;
    const nl_logical *source = by_place(plan, id, &column);
    if (source) return maker_of(source, source->columns[column].id);
    if (plan->child_count == 0) return plan;
    if (plan->kind == NL_PLAN_SET) return NULL;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (nl_logical_find_column(plan->children[i], id)) return maker_of(plan->children[i], id);
    return NULL;
}

double nl_estimate_base_rows(nl_plan_context *context, const nl_logical *plan, nl_column_id id)
{
    const nl_logical *maker = maker_of(plan, id);
    if (!maker) return UNKNOWN_TABLE_ROWS;
    if (maker->kind == NL_PLAN_CTE_REF) return UNKNOWN_TABLE_ROWS;
    if (maker->kind != NL_PLAN_SCAN) return at_least_one(nl_estimate_rows(context, maker));
    nl_logical whole = *maker;
    whole.scan.filter = NULL;
    return at_least_one(table_rows(&whole));
}

static bool as_number(const nl_value *value, double *number)
{
    if (value->is_null || !value->type) return false;
    switch (value->type->physical) {
    case NL_PHYS_BOOL:
        *number = value->boolean;
        return true;
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
        *number = (double)value->integer;
        return true;
    case NL_PHYS_I64:
        *number = value->type->id == NL_TYPE_DECIMAL ? (double)value->decimal / pow(10, value->type->scale) : (double)value->integer;
        return true;
    case NL_PHYS_I128:
        *number = (double)value->decimal / pow(10, value->type->scale);
        return true;
    case NL_PHYS_F32:
    case NL_PHYS_F64:
        *number = value->real;
        return true;
    case NL_PHYS_NONE:
    case NL_PHYS_STRING:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        return false;
    }
    return false;
}

/* How many values lie between the bounds of a column without fractions; 0: that is not known. */
static double span_of(const nl_table_column_statistics *facts)
{
    double low = 0;
    double high = 0;
    if (!facts->has_bounds || !as_number(&facts->lower, &low) || !as_number(&facts->upper, &high)) return 0;
    if (facts->lower.type->physical == NL_PHYS_F32 || facts->lower.type->physical == NL_PHYS_F64) return 0;
    return high - low + 1;
}

double nl_estimate_distinct(nl_plan_context *context, const nl_logical *plan, nl_column_id id, bool *is_known)
{
    nl_table_column_statistics facts;
    const double base = nl_estimate_base_rows(context, plan, id);
    *is_known = false;
    if (!column_facts(context, plan, id, &facts)) return base;
    if (facts.distinct_count > 0) {
        *is_known = true;
        return (double)facts.distinct_count;
    }
    const double span = span_of(&facts);
    *is_known = span > 0 && span < base; /* fewer values than rows: a real bound */
    return span > 0 ? at_least_one(NL_MIN(span, base)) : base;
}

/* Is the column of integers most likely a generated key of its table: about as many rows as values between its bounds? */
static bool is_dense_key(nl_plan_context *context, const nl_logical *plan, nl_column_id id)
{
    nl_table_column_statistics facts;
    if (!column_facts(context, plan, id, &facts)) return false;
    const double base = nl_estimate_base_rows(context, plan, id);
    const double span = span_of(&facts);
    return span >= base && span <= DENSE_SPAN * base;
}

/* ---- selectivity ---- */

static double selectivity(nl_plan_context *context, const nl_logical *plan, const nl_expr *expr);

static double range_selectivity(nl_plan_context *context, const nl_logical *plan, const nl_expr *column, const nl_expr *literal, bool is_below)
{
    nl_table_column_statistics facts;
    double low = 0;
    double high = 0;
    double at = 0;
    if (column->kind != NL_EXPR_COLUMN || literal->kind != NL_EXPR_LITERAL || !as_number(&literal->value, &at)) return RANGE_SELECTIVITY;
    if (!column_facts(context, plan, column->column, &facts) || !facts.has_bounds) return RANGE_SELECTIVITY;
    if (!as_number(&facts.lower, &low) || !as_number(&facts.upper, &high) || high <= low) return RANGE_SELECTIVITY;
    double part = (at - low) / (high - low);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return NL_MAX(is_below ? part : 1 - part, 1e-6);
}

static double equality_selectivity(nl_plan_context *context, const nl_logical *plan, const nl_expr *a, const nl_expr *b)
{
    const nl_expr *column = a->kind == NL_EXPR_COLUMN ? a : b;
    if (column->kind != NL_EXPR_COLUMN) return EQUALITY_SELECTIVITY;
    bool is_known = false;
    const double distinct = nl_estimate_distinct(context, plan, column->column, &is_known);
    return is_known ? 1 / at_least_one(distinct) : EQUALITY_SELECTIVITY;
}

static double call_selectivity(nl_plan_context *context, const nl_logical *plan, const nl_expr *expr)
{
    if (expr->child_count == 2) {
        const nl_expr *a = expr->children[0];
        const nl_expr *b = expr->children[1];
        if (nl_is_call(expr, "=") || nl_is_call(expr, "<=>")) return equality_selectivity(context, plan, a, b);
        const bool is_less = nl_is_call(expr, "<") || nl_is_call(expr, "<=");
        const bool is_greater = nl_is_call(expr, ">") || nl_is_call(expr, ">=");
        if (is_less || is_greater)
            return a->kind == NL_EXPR_COLUMN ? range_selectivity(context, plan, a, b, is_less) : range_selectivity(context, plan, b, a, is_greater);
    }
    if (nl_is_call(expr, "like") || nl_is_call(expr, "rlike") || nl_is_call(expr, "ilike")) return LIKE_SELECTIVITY;
    return OTHER_SELECTIVITY;
}

/* The column that a comparison with a literal bounds from below or above; NULL: it is no such comparison. */
static const nl_expr *bounded_column(const nl_expr *expr, bool *is_below)
{
    if (expr->kind != NL_EXPR_CALL || expr->child_count != 2) return NULL;
    const bool is_less = nl_is_call(expr, "<") || nl_is_call(expr, "<=");
    const bool is_greater = nl_is_call(expr, ">") || nl_is_call(expr, ">=");
    if (!is_less && !is_greater) return NULL;
    const bool is_first = expr->children[0]->kind == NL_EXPR_COLUMN && expr->children[1]->kind == NL_EXPR_LITERAL;
    const bool is_second = expr->children[1]->kind == NL_EXPR_COLUMN && expr->children[0]->kind == NL_EXPR_LITERAL;
    *is_below = is_less == is_first;
    return is_first ? expr->children[0] : is_second ? expr->children[1] : NULL;
}

/* Conditions are taken to be independent, but for the two ends of one range: they leave what lies between them. */
static double and_selectivity(nl_plan_context *context, const nl_logical *plan, const nl_expr *expr)
{
    double product = 1;
    nl_list parts = {0};
    nl_expr_conjuncts(context->arena, expr, &parts);
    for (uint32_t i = 0; i < parts.count; i++) {
        bool is_below = false;
        const nl_expr *column = bounded_column(parts.items[i], &is_below);
        const double kept = selectivity(context, plan, parts.items[i]);
        double factor = kept;
        for (uint32_t k = 0; column && k < i; k++) {
            bool other_is_below = false;
            const nl_expr *other = bounded_column(parts.items[k], &other_is_below);
            if (!other || other->column != column->column || other_is_below == is_below) continue;
            const double other_kept = selectivity(context, plan, parts.items[k]);
            const double both = kept + other_kept - 1;
            if (both > 0) factor = NL_MIN(factor, both / other_kept);
            break;
        }
        product *= factor;
    }
    return product;
}

static double or_selectivity(nl_plan_context *context, const nl_logical *plan, const nl_expr *expr)
{
    double none = 1;
    for (uint32_t i = 0; i < expr->child_count; i++) none *= 1 - selectivity(context, plan, expr->children[i]);
    return 1 - none;
}

static double selectivity(nl_plan_context *context, const nl_logical *plan, const nl_expr *expr)
{
    double product = 1;
    switch (expr->kind) {
    case NL_EXPR_AND:
        return and_selectivity(context, plan, expr);
    case NL_EXPR_OR:
        return or_selectivity(context, plan, expr);
    case NL_EXPR_NOT:
        return 1 - selectivity(context, plan, expr->children[0]);
    case NL_EXPR_IN:
        product = (expr->child_count - 1) * equality_selectivity(context, plan, expr->children[0], expr->children[0]);
        return NL_MIN(product, 0.9);
    case NL_EXPR_IS_NULL:
        return 0.05;
    case NL_EXPR_IS_NOT_NULL:
        return 0.95;
    case NL_EXPR_CALL:
        return call_selectivity(context, plan, expr);
    case NL_EXPR_LITERAL:
        return nl_expr_is_true(expr) ? 1 : 0;
    case NL_EXPR_COLUMN:
    case NL_EXPR_OUTER:
    case NL_EXPR_CAST:
    case NL_EXPR_CASE:
    case NL_EXPR_COALESCE:
    case NL_EXPR_FIELD:
    case NL_EXPR_LAMBDA:
    case NL_EXPR_PARAMETER:
    case NL_EXPR_AGGREGATE:
    case NL_EXPR_WINDOW:
    case NL_EXPR_GROUPING:
    case NL_EXPR_PYTHON:
    case NL_EXPR_SUBQUERY:
        break;
    }
    return OTHER_SELECTIVITY;
}

/* ---- plans ---- */

static double scan_rows(nl_plan_context *context, const nl_logical *plan)
{
    double rows = table_rows(plan);
    if (!plan->scan.filter) return rows;
    nl_logical whole = *plan;
    whole.scan.filter = NULL;
    const double kept = table_rows(&whole) * selectivity(context, plan, plan->scan.filter);
    return NL_MIN(rows, at_least_one(kept));
}

/* Of a table whose key has more values than those that refer to it (a calendar of two centuries, sales of five years). A
 * filter that leaves fewer keys than are referred to is taken to ask for such that occur. One that leaves more is a guess:
 * no row of the other table finds two, and how many find one lies between all and as many as the filter keeps of the keys. */
static double key_selectivity(nl_plan_context *context, const nl_logical *keys, double referring, double key_count)
{
    const double kept = at_least_one(nl_estimate_rows(context, keys));
    return kept < referring ? 1 / referring : sqrt(1 / NL_MIN(kept, key_count) / key_count);
}

/* 1 / distinct values of the keys; unknown keys: the smaller table's are taken to be unique (a foreign key's target). */
static double join_selectivity(nl_plan_context *context, const nl_logical *left, const nl_logical *right, const nl_expr *conjunct)
{
    const nl_expr *a = NULL;
    const nl_expr *b = NULL;
    if (nl_is_call(conjunct, "<=>")) {
        a = conjunct->children[0];
        b = conjunct->children[1];
    } else if (!nl_as_equality(conjunct, &a, &b)) {
        return RANGE_SELECTIVITY;
    }
    if (a->kind != NL_EXPR_COLUMN || b->kind != NL_EXPR_COLUMN) return EQUALITY_SELECTIVITY;
    if (!nl_logical_find_column(left, a->column)) {
        const nl_expr *swap = a;
        a = b;
        b = swap;
    }
    bool a_known = false;
    bool b_known = false;
    const double a_distinct = nl_estimate_distinct(context, left, a->column, &a_known);
    const double b_distinct = nl_estimate_distinct(context, right, b->column, &b_known);
    if (a_known && a_distinct < b_distinct && is_dense_key(context, right, b->column))
        return key_selectivity(context, right, a_distinct, b_distinct);
    if (b_known && b_distinct < a_distinct && is_dense_key(context, left, a->column))
        return key_selectivity(context, left, b_distinct, a_distinct);
    const double distinct = a_known && b_known ? NL_MAX(a_distinct, b_distinct) : NL_MIN(a_distinct, b_distinct);
    return 1 / at_least_one(distinct);
}

/* Columns of one key go together (a part and its supplier): all equalities between two tables keep no less than one row
 * in as many as the smaller table has. */
static double conjuncts_selectivity(nl_plan_context *context, const nl_logical *left, const nl_logical *right, const nl_list *conjuncts)
{
    double equalities = 1;
    double others = 1;
    double least = 1;
    for (uint32_t i = 0; i < conjuncts->count; i++) {
        const double kept = join_selectivity(context, left, right, conjuncts->items[i]);
        const double floor = nl_estimate_join_floor(context, left, right, conjuncts->items[i]);
        *(floor > 0 ? &equalities : &others) *= kept;
        if (floor > 0) least = NL_MIN(least, floor);
    }
    return others * NL_MAX(equalities, NL_MIN(least, 1));
}

static double compute_join_rows(nl_plan_context *context, const nl_logical *plan)
{
    const nl_logical *left = plan->children[0];
    const nl_logical *right = plan->children[1];
    const double left_rows = nl_estimate_rows(context, left);
    const double right_rows = nl_estimate_rows(context, right);
    nl_list conjuncts = {0};
    nl_expr_conjuncts(context->arena, plan->join.condition, &conjuncts);
    const double matches = at_least_one(left_rows * right_rows * conjuncts_selectivity(context, left, right, &conjuncts));
    switch (plan->join.kind) {
    case NL_JOIN_INNER:
    case NL_JOIN_CROSS:
        return matches;
    case NL_JOIN_LEFT:
        return NL_MAX(matches, left_rows);
    case NL_JOIN_RIGHT:
        return NL_MAX(matches, right_rows);
    case NL_JOIN_FULL:
        return NL_MAX(matches, left_rows + right_rows);
    case NL_JOIN_SEMI:
        return NL_MIN(matches, left_rows * 0.5);
    case NL_JOIN_ANTI:
    case NL_JOIN_NULL_AWARE_ANTI:
        return left_rows * 0.5;
    case NL_JOIN_MARK:
        return left_rows;
    }
    return matches;
}

/* Plans are immutable, and every rule that asks about a join asks about those below it, too: what was computed is kept by
 * address, for 500 joins to be estimated 500 times and not 500 times 500. */
typedef struct nl_estimates {
    const nl_logical **plans; /* open addressing; slot_count is a power of 2 */
    double *rows;
    uint32_t slot_count;
    uint32_t count;
} nl_estimates;

static uint32_t slot_of(const nl_estimates *known, const nl_logical *plan)
{
    uint32_t slot = (uint32_t)nl_hash_u64((uintptr_t)plan) & (known->slot_count - 1);
    while (known->plans[slot] && known->plans[slot] != plan) slot = (slot + 1) & (known->slot_count - 1);
    return slot;
}

static void grow_estimates(nl_plan_context *context)
{
    const nl_estimates old = context->estimates ? *context->estimates : (nl_estimates){0};
    nl_estimates *grown = NL_NEW(context->arena, nl_estimates);
    grown->count = old.count;
    grown->slot_count = NL_MAX(64u, 2 * old.slot_count);
    grown->plans = NL_NEW_ARRAY(context->arena, const nl_logical *, grown->slot_count);
    grown->rows = NL_NEW_ARRAY(context->arena, double, grown->slot_count);
    for (uint32_t i = 0; i < old.slot_count; i++) {
        if (!old.plans[i]) continue;
        const uint32_t slot = slot_of(grown, old.plans[i]);
        grown->plans[slot] = old.plans[i];
        grown->rows[slot] = old.rows[i];
    }
    context->estimates = grown;
}

static double join_rows(nl_plan_context *context, const nl_logical *plan)
{
    if (context->estimates) {
        const uint32_t slot = slot_of(context->estimates, plan);
        if (context->estimates->plans[slot]) return context->estimates->rows[slot];
    }
    const double rows = compute_join_rows(context, plan);
    if (!context->estimates || 2 * (context->estimates->count + 1) > context->estimates->slot_count) grow_estimates(context);
    const uint32_t slot = slot_of(context->estimates, plan);
    context->estimates->plans[slot] = plan;
    context->estimates->rows[slot] = rows;
    context->estimates->count++;
    return rows;
}

static double aggregate_rows(nl_plan_context *context, const nl_logical *plan)
{
    if (plan->aggregate.key_count == 0) return 1;
    const double rows = nl_estimate_rows(context, plan->children[0]);
    double groups = 1;
    bool all_known = true;
    for (uint32_t i = 0; i < plan->aggregate.key_count; i++) {
        const nl_expr *key = plan->aggregate.keys[i];
        bool is_known = false;
        if (key->kind == NL_EXPR_COLUMN) groups *= nl_estimate_distinct(context, plan->children[0], key->column, &is_known);
        all_known = all_known && is_known;
    }
    return at_least_one(NL_MIN(rows, all_known ? groups : rows * GROUPS_PER_ROW));
}

double nl_estimate_join_floor(nl_plan_context *context, const nl_logical *left, const nl_logical *right, const nl_expr *conjunct)
{
    const nl_expr *a = NULL;
    const nl_expr *b = NULL;
    if (!nl_as_equality(conjunct, &a, &b) || a->kind != NL_EXPR_COLUMN || b->kind != NL_EXPR_COLUMN) return 0;
    if (!nl_logical_find_column(left, a->column)) {
        const nl_expr *swap = a;
        a = b;
        b = swap;
    }
    if (!nl_logical_find_column(left, a->column) || !nl_logical_find_column(right, b->column)) return 0;
    return 1 / at_least_one(NL_MIN(nl_estimate_base_rows(context, left, a->column), nl_estimate_base_rows(context, right, b->column)));
}

double nl_estimate_rows(nl_plan_context *context, const nl_logical *plan)
{
    double rows = 0;
    switch (plan->kind) {
    case NL_PLAN_SCAN:
        return scan_rows(context, plan);
    case NL_PLAN_VALUES:
        return plan->values.row_count;
    case NL_PLAN_RANGE:
        rows = ((double)plan->range.stop - (double)plan->range.start) / (double)plan->range.step;
        return rows < 0 ? 0 : rows;
    case NL_PLAN_FILTER:
        return at_least_one(nl_estimate_rows(context, plan->children[0]) * selectivity(context, plan->children[0], plan->filter.condition));
    case NL_PLAN_AGGREGATE:
        return aggregate_rows(context, plan);
    case NL_PLAN_JOIN:
        return join_rows(context, plan);
    case NL_PLAN_LIMIT:
        rows = nl_estimate_rows(context, plan->children[0]);
        return plan->limit.limit >= 0 ? NL_MIN(rows, (double)plan->limit.limit) : rows;
    case NL_PLAN_SET:
        for (uint32_t i = 0; i < plan->child_count; i++) rows += nl_estimate_rows(context, plan->children[i]);
        return rows;
    case NL_PLAN_GENERATE:
        return nl_estimate_rows(context, plan->children[0]) * ROWS_PER_LIST;
    case NL_PLAN_PYTHON:
    case NL_PLAN_OBSERVE:
        return nl_estimate_rows(context, plan->children[0]);
    case NL_PLAN_SAMPLE:
        return nl_estimate_rows(context, plan->children[0]) * (plan->sample.upper - plan->sample.lower);
    case NL_PLAN_CTE_REF:
        return nl_estimate_rows(context, nl_current_definition(context, plan));
    case NL_PLAN_EMPTY:
        return 0;
    case NL_PLAN_SINGLE_ROW:
        return 1;
    case NL_PLAN_PROJECT:
    case NL_PLAN_SORT:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_WINDOW:
    case NL_PLAN_ALIAS:
    case NL_PLAN_CTE:
        return nl_estimate_rows(context, plan->children[0]);
    }
    return 1;
}

double nl_estimated_rows(nl_plan_context *context, const nl_logical *plan)
{
    return nl_estimate_rows(context, plan);
}

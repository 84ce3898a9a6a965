/* plan/same.c - whether a plan is another one, made anew: both are walked side by side, and the columns of one are noted as
 * those of the other on the way up. */
#include "plan/logical.h"

#include <stdlib.h>

#include "base/hash.h"

typedef struct id_pair {
    uint32_t a, b;
} id_pair;

typedef struct matching {
    id_pair *columns; /* by a: open addressing, zero is free */
    uint32_t column_count, slot_count;
    id_pair *ctes;
    uint32_t cte_count, cte_capacity;
    bool has_outer;  /* columns that neither plan makes are the same when they are one: of a query around both */
    bool has_failed; /* no memory: nothing is the same */
    nl_expr_matcher matcher;
} matching;

static id_pair *slot_of(const matching *m, uint32_t a)
{
    uint32_t slot = a * 2654435761u & (m->slot_count - 1);
    while (m->columns[slot].a && m->columns[slot].a != a) slot = (slot + 1) & (m->slot_count - 1);
    return &m->columns[slot];
}

static bool grow(matching *m)
{
    const matching before = *m;
    m->slot_count = NL_MAX(64u, before.slot_count * 2);
    m->columns = calloc(m->slot_count, sizeof *m->columns);
    if (!m->columns) {
        *m = before;
        m->has_failed = true;
        return false;
    }
    for (uint32_t i = 0; i < before.slot_count; i++)
        if (before.columns[i].a) *slot_of(m, before.columns[i].a) = before.columns[i];
    free(before.columns);
    return true;
}

/* Column a is column b from here on up. What one plan passes on under its id may have got a new one in the other: both hold the
 * same values, and the latest is what the nodes above mention. */
static bool note_column(matching *m, uint32_t a, uint32_t b)
{
    if (2 * (m->column_count + 1) > m->slot_count && !grow(m)) return false;
    id_pair *slot = slot_of(m, a);
    m->column_count += slot->a == 0;
    *slot = (id_pair){a, b};
    return true;
}

static bool same_column(void *context, nl_column_id a, nl_column_id b)
{
    const matching *m = context;
    const bool is_noted = m->slot_count > 0 && slot_of(m, a)->a == a;
    return is_noted ? slot_of(m, a)->b == b : m->has_outer && a == b;
}

static bool note_cte(matching *m, uint32_t a, uint32_t b)
{
    if (m->cte_count == m->cte_capacity) {
        const uint32_t capacity = NL_MAX(8u, m->cte_capacity * 2);
        id_pair *grown = realloc(m->ctes, capacity * sizeof *grown);
        m->has_failed = m->has_failed || !grown;
        if (!grown) return false;
        m->ctes = grown;
        m->cte_capacity = capacity;
    }
    m->ctes[m->cte_count++] = (id_pair){a, b};
    return true;
}

/* Ones that are defined outside of the plans are nobody's. */
static bool same_cte(const matching *m, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < m->cte_count; i++)
        if (m->ctes[i].a == a) return m->ctes[i].b == b;
    return false;
}

static bool same_expr(matching *m, const nl_expr *a, const nl_expr *b)
{
    return (!a && !b) || (a && b && nl_expr_matches(a, b, &m->matcher));
}

static bool same_exprs(matching *m, const nl_expr *const *a, const nl_expr *const *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!same_expr(m, a[i], b[i])) return false;
    return true;
}

static bool same_scan(matching *m, const nl_logical *a, const nl_logical *b)
{
    const nl_table *x = a->scan.table, *y = b->scan.table;
    if (x != y && (x->ops != y->ops || !x->ops->is_same || !x->ops->is_same(x, y))) return false;
    for (uint32_t i = 0; i < a->column_count; i++) {
        if (a->scan.table_columns[i] != b->scan.table_columns[i]) return false;
        if (!note_column(m, a->columns[i].id, b->columns[i].id)) return false; /* the scan's filter is over its own columns */
    }
    return a->scan.limit == b->scan.limit && same_expr(m, a->scan.filter, b->scan.filter);
}

static bool same_values(matching *m, const nl_logical *a, const nl_logical *b)
{
    if (a->values.row_count != b->values.row_count) return false;
    for (uint32_t i = 0; a->column_count && i < a->values.row_count; i++)
        if (!same_exprs(m, a->values.rows[i], b->values.rows[i], a->column_count)) return false;
    return true;
}

static bool same_aggregate(matching *m, const nl_logical *a, const nl_logical *b)
{
    if (a->aggregate.key_count != b->aggregate.key_count || a->aggregate.aggregate_count != b->aggregate.aggregate_count ||
        a->aggregate.grouping_set_count != b->aggregate.grouping_set_count)
        return false;
    for (uint32_t i = 0; i < a->aggregate.grouping_set_count; i++)
        if (a->aggregate.grouping_sets[i] != b->aggregate.grouping_sets[i]) return false;
    return same_exprs(m, a->aggregate.keys, b->aggregate.keys, a->aggregate.key_count) &&
           same_exprs(m, a->aggregate.aggregates, b->aggregate.aggregates, a->aggregate.aggregate_count);
}

static bool same_join(matching *m, const nl_logical *a, const nl_logical *b)
{
    return a->join.kind == b->join.kind && a->join.is_lateral == b->join.is_lateral && a->join.is_null_aware == b->join.is_null_aware &&
           a->join.is_single == b->join.is_single && same_expr(m, a->join.condition, b->join.condition);
}

static bool same_sort(matching *m, const nl_logical *a, const nl_logical *b)
{
    if (a->sort.key_count != b->sort.key_count || a->sort.is_global != b->sort.is_global || a->sort.parts != b->sort.parts) return false;
    for (uint32_t i = 0; i < a->sort.key_count; i++) {
        const nl_sort_key *x = &a->sort.keys[i], *y = &b->sort.keys[i];
        if (x->is_descending != y->is_descending || x->nulls_first != y->nulls_first || !same_expr(m, x->expr, y->expr)) return false;
    }
    return true;
}

static bool same_generate(matching *m, const nl_logical *a, const nl_logical *b)
{
    return a->generate.generator->row == b->generate.generator->row && a->generate.is_outer == b->generate.is_outer &&
           a->generate.argument_count == b->generate.argument_count &&
           same_exprs(m, a->generate.arguments, b->generate.arguments, a->generate.argument_count);
}

static bool same_call(const nl_python_call *a, const nl_python_call *b)
{
    if (a->chain_count != b->chain_count || a->offset_count != b->offset_count || a->is_bounded != b->is_bounded || !a->names != !b->names) return false;
    for (uint32_t i = 0; i < a->chain_count; i++)
        if (!nl_python_function_equal(a->chain[i], b->chain[i])) return false;
    for (uint32_t i = 0; i < a->offset_count; i++)
        if (a->offsets[i] != b->offsets[i] || (a->names && !nl_str_equal(a->names[i], b->names[i]))) return false;
    return true;
}

static bool same_python(matching *m, const nl_logical *a, const nl_logical *b)
{
    if (a->python.shape != b->python.shape || a->python.eval != b->python.eval || a->python.argument_count != b->python.argument_count ||
        a->python.key_count != b->python.key_count || a->python.left_count != b->python.left_count || a->python.call_count != b->python.call_count)
        return false;
    for (uint32_t i = 0; i < a->python.call_count; i++)
        if (!same_call(&a->python.calls[i], &b->python.calls[i])) return false;
    return same_exprs(m, a->python.arguments, b->python.arguments, a->python.argument_count);
}

static bool same_sample(const nl_logical *a, const nl_logical *b)
{
    return !(a->sample.lower < b->sample.lower || a->sample.lower > b->sample.lower) && !(a->sample.upper < b->sample.upper || a->sample.upper > b->sample.upper) &&
           a->sample.seed == b->sample.seed && a->sample.with_replacement == b->sample.with_replacement;
}

/* What the nodes say themselves; their children are the same. */
static bool same_node(matching *m, const nl_logical *a, const nl_logical *b)
{
    switch (a->kind) {
    case NL_PLAN_SCAN: return same_scan(m, a, b);
    case NL_PLAN_VALUES: return same_values(m, a, b);
    case NL_PLAN_RANGE: return a->range.start == b->range.start && a->range.stop == b->range.stop && a->range.step == b->range.step;
    case NL_PLAN_PROJECT: return same_exprs(m, a->project.exprs, b->project.exprs, a->column_count);
    case NL_PLAN_FILTER: return same_expr(m, a->filter.condition, b->filter.condition);
    case NL_PLAN_AGGREGATE: return same_aggregate(m, a, b);
    case NL_PLAN_JOIN: return same_join(m, a, b);
    case NL_PLAN_SORT: return same_sort(m, a, b);
    case NL_PLAN_LIMIT: return a->limit.limit == b->limit.limit && a->limit.offset == b->limit.offset;
    case NL_PLAN_SET: return a->set.kind == b->set.kind;
    case NL_PLAN_WINDOW: return a->window.expr_count == b->window.expr_count && same_exprs(m, a->window.exprs, b->window.exprs, a->window.expr_count);
    case NL_PLAN_GENERATE: return same_generate(m, a, b);
    case NL_PLAN_SAMPLE: return same_sample(a, b);
    case NL_PLAN_CTE_REF: return same_cte(m, a->cte.id, b->cte.id);
    case NL_PLAN_PYTHON: return same_python(m, a, b);
    case NL_PLAN_OBSERVE:
        return nl_str_equal(a->observe.name, b->observe.name) && a->observe.call_count == b->observe.call_count &&
               same_exprs(m, a->observe.calls, b->observe.calls, a->observe.call_count);
    case NL_PLAN_CTE:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_ALIAS:
    case NL_PLAN_EMPTY:
    case NL_PLAN_SINGLE_ROW: return true;
    }
    return false;
}

static const nl_logical *without_alias(const nl_logical *plan)
{
    while (plan->kind == NL_PLAN_ALIAS) plan = plan->children[0];
    return plan;
}

static bool same_plan(matching *m, const nl_logical *a, const nl_logical *b)
{
    a = without_alias(a);
    b = without_alias(b);
    if (a->kind != b->kind || a->column_count != b->column_count || a->child_count != b->child_count) return false;
    for (uint32_t i = 0; i < a->column_count; i++)
        if (!nl_type_equal(a->columns[i].type, b->columns[i].type)) return false;
    if (a->kind == NL_PLAN_CTE) {
        if (!a->cte.definition || !b->cte.definition || !same_plan(m, a->cte.definition, b->cte.definition)) return false;
        if (!note_cte(m, a->cte.id, b->cte.id)) return false;
    }
    for (uint32_t i = 0; i < a->child_count; i++)
        if (!same_plan(m, a->children[i], b->children[i])) return false;
    if (!same_node(m, a, b)) return false;
    for (uint32_t i = 0; i < a->column_count; i++)
        if (!note_column(m, a->columns[i].id, b->columns[i].id)) return false;
    return true;
}

static bool same_subquery(void *context, const nl_logical *a, const nl_logical *b)
{
    return same_plan(context, a, b);
}

static bool are_same(const nl_logical *a, const nl_logical *b, bool has_outer)
{
    matching m = {.has_outer = has_outer};
    m.matcher = (nl_expr_matcher){.columns = same_column, .plans = same_subquery, .context = &m};
    const bool is_same = same_plan(&m, a, b) && !m.has_failed;
    free(m.columns);
    free(m.ctes);
    return is_same;
}

bool nl_logical_same(const nl_logical *a, const nl_logical *b)
{
    return are_same(a, b, false);
}

bool nl_logical_same_subquery(const nl_logical *a, const nl_logical *b)
{
    return are_same(a, b, true);
}

uint64_t nl_logical_same_hash(const nl_logical *plan)
{
    plan = without_alias(plan);
    uint64_t hash = nl_hash_mix(nl_hash_u64((uint64_t)plan->kind), plan->column_count);
    for (uint32_t i = 0; i < plan->column_count; i++) hash = nl_hash_mix(hash, (uint64_t)plan->columns[i].type->id);
    if (plan->kind == NL_PLAN_RANGE) hash = nl_hash_mix(hash, nl_hash_mix((uint64_t)plan->range.start, (uint64_t)plan->range.stop));
    if (plan->kind == NL_PLAN_LIMIT) hash = nl_hash_mix(hash, nl_hash_mix((uint64_t)plan->limit.limit, (uint64_t)plan->limit.offset));
    for (uint32_t i = 0; i < plan->child_count; i++) hash = nl_hash_mix(hash, nl_logical_same_hash(plan->children[i]));
    return hash;
}

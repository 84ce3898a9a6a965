/* plan/expr_equal.c - when two expressions are the same: node by node, or also by what commutes (Spark's canonical form). */
#include "plan/expr.h"

#include "base/hash.h"

/* Lambda variables have ids of their own; inside two lambdas the n-th of one is the n-th of the other. */
typedef struct lambda_pair {
    const struct lambda_pair *outer;
    const nl_expr *a, *b;
} lambda_pair;

typedef struct comparison {
    bool is_any_order;
    const lambda_pair *inside;
    const nl_expr_matcher *matcher; /* of two plans; or NULL */
} comparison;

static bool same(const comparison *by, const nl_expr *a, const nl_expr *b);

static bool keys_equal(const comparison *by, const nl_sort_key *a, uint32_t a_count, const nl_sort_key *b, uint32_t b_count)
{
    if (a_count != b_count) return false;
    for (uint32_t i = 0; i < a_count; i++) {
        if (a[i].is_descending != b[i].is_descending || a[i].nulls_first != b[i].nulls_first) return false;
        if (!same(by, a[i].expr, b[i].expr)) return false;
    }
    return true;
}

static bool optional_equal(const comparison *by, const nl_expr *a, const nl_expr *b)
{
    return (!a && !b) || (a && b && same(by, a, b));
}

static bool windows_equal(const comparison *by, const nl_window_spec *a, const nl_window_spec *b)
{
    if (a == b) return true;
    if (!a || !b || a->partition_count != b->partition_count) return false;
    for (uint32_t i = 0; i < a->partition_count; i++)
        if (!same(by, a->partition_by[i], b->partition_by[i])) return false;
    return keys_equal(by, a->order_by, a->order_count, b->order_by, b->order_count) && a->unit == b->unit &&
           a->start_kind == b->start_kind && a->stop_kind == b->stop_kind &&
           optional_equal(by, a->start_offset, b->start_offset) && optional_equal(by, a->stop_offset, b->stop_offset);
}

/* Functions of no argument and no state of their own, as input_file_name(), say the same wherever they stand over one row. */
static bool is_repeatable(const nl_bound_function *f)
{
    return f->is_deterministic || (f->row->kind == NL_FUNCTION_SCALAR && f->argument_count == 0 && !f->row->make_worker_state && !nl_python_aggregate(f));
}

static bool calls_equal(const comparison *by, const nl_bound_function *a, const nl_bound_function *b)
{
    if (a == b) return true;
    if (a->row != b->row || a->ignore_nulls != b->ignore_nulls || !nl_type_equal(a->result_type, b->result_type)) return false;
    if (!by->matcher) return is_repeatable(a);
    const nl_python_use *of_a = nl_python_aggregate(a), *of_b = nl_python_aggregate(b);
    return !of_a || nl_python_function_equal(of_a->function, of_b->function);
}

static bool literals_equal(const nl_value *a, const nl_value *b)
{
    if (a->is_null || b->is_null) return a->is_null && b->is_null;
    return nl_value_equal(a, b);
}

static bool variables_equal(const lambda_pair *inside, nl_column_id a, nl_column_id b)
{
    for (; inside; inside = inside->outer)
        for (uint32_t i = 0; i < inside->a->parameter_count; i++)
            if (inside->a->parameters[i] == a || inside->b->parameters[i] == b)
                return inside->a->parameters[i] == a && inside->b->parameters[i] == b;
    return a == b;
}

static bool lambda_types_equal(const nl_expr *a, const nl_expr *b)
{
    if (a->parameter_count != b->parameter_count) return false;
    for (uint32_t i = 0; i < a->parameter_count; i++)
        if (!nl_type_equal(a->parameter_types[i], b->parameter_types[i])) return false;
    return true;
}

bool nl_python_function_equal(const nl_python_function *a, const nl_python_function *b)
{
    if (a->eval != b->eval || !a->type != !b->type || (a->type && !nl_type_equal(a->type, b->type))) return false;
    return nl_str_equal(a->name, b->name) && nl_str_equal(a->command, b->command);
}

static bool python_equal(const comparison *by, const nl_expr *a, const nl_expr *b)
{
    const nl_python_function *f = a->python->function, *g = b->python->function;
    if (!by->matcher && (!f->is_deterministic || !g->is_deterministic)) return false;
    if (!nl_python_function_equal(f, g) || !a->python->names != !b->python->names) return false;
    for (uint32_t i = 0; a->python->names && i < a->child_count; i++)
        if (!nl_str_equal(a->python->names[i], b->python->names[i])) return false;
    return true;
}

static bool node_equal(const comparison *by, const nl_expr *a, const nl_expr *b)
{
    switch (a->kind) {
    case NL_EXPR_LITERAL:
        return literals_equal(&a->value, &b->value);
    case NL_EXPR_COLUMN:
    case NL_EXPR_OUTER:
        return by->matcher ? by->matcher->columns(by->matcher->context, a->column, b->column) : a->column == b->column;
    case NL_EXPR_PARAMETER:
        return variables_equal(by->inside, a->column, b->column);
    case NL_EXPR_CALL:
        return calls_equal(by, a->function, b->function);
    case NL_EXPR_CAST:
        return a->cast_mode == b->cast_mode;
    case NL_EXPR_FIELD:
        return a->ordinal == b->ordinal;
    case NL_EXPR_AGGREGATE:
    case NL_EXPR_WINDOW:
        return calls_equal(by, a->call, b->call) && a->is_distinct == b->is_distinct && optional_equal(by, a->filter, b->filter) &&
               windows_equal(by, a->window, b->window);
    case NL_EXPR_PYTHON:
        return python_equal(by, a, b);
    case NL_EXPR_SUBQUERY:
        return (by->matcher ? by->matcher->plans(by->matcher->context, a->plan, b->plan) : a->plan == b->plan) && a->subquery_kind == b->subquery_kind && a->is_negated == b->is_negated;
    case NL_EXPR_LAMBDA:
        return lambda_types_equal(a, b);
    case NL_EXPR_AND:
    case NL_EXPR_OR:
    case NL_EXPR_NOT:
    case NL_EXPR_IS_NULL:
    case NL_EXPR_IS_NOT_NULL:
    case NL_EXPR_CASE:
    case NL_EXPR_COALESCE:
    case NL_EXPR_IN:
    case NL_EXPR_GROUPING:
        return true;
    }
    return false;
}

/* ---- what commutes ---- */

enum { MAX_OPERANDS = 64 };

typedef struct operands {
    const nl_expr *items[MAX_OPERANDS];
    uint32_t count;
    bool is_full;
} operands;

static bool is_named(const nl_expr *expr, const char *const *names, uint32_t count)
{
    if (expr->kind != NL_EXPR_CALL || !expr->function->is_deterministic) return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(expr->function->row->name, names[i]) == 0) return true;
    return false;
}

static bool is_commutative(const nl_expr *expr)
{
    static const char *const names[] = {"+", "*", "&", "|", "^", "greatest", "least"};
    return expr->kind == NL_EXPR_AND || expr->kind == NL_EXPR_OR || is_named(expr, names, NL_COUNT(names));
}

static bool is_same_operator(const comparison *by, const nl_expr *a, const nl_expr *b)
{
    return a->kind == b->kind && nl_type_equal(a->type, b->type) && (a->kind != NL_EXPR_CALL || calls_equal(by, a->function, b->function));
}

/* The operands of a chain of one operator: a + (b + c) has three. */
static void gather(const comparison *by, const nl_expr *expr, const nl_expr *chain, operands *into)
{
    if (expr != chain && !is_same_operator(by, expr, chain)) {
        if (into->count < MAX_OPERANDS) into->items[into->count++] = expr;
        else into->is_full = true;
        return;
    }
    for (uint32_t i = 0; i < expr->child_count && !into->is_full; i++) gather(by, expr->children[i], chain, into);
}

static bool same_set(const comparison *by, const nl_expr *const *a, const nl_expr *const *b, uint32_t count)
{
    bool is_taken[MAX_OPERANDS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = 0;
        while (place < count && (is_taken[place] || !same(by, a[i], b[place]))) place++;
        if (place == count) return false;
        is_taken[place] = true;
    }
    return true;
}

static bool same_children(const comparison *by, const nl_expr *a, const nl_expr *b)
{
    if (a->child_count != b->child_count) return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (!same(by, a->children[i], b->children[i])) return false;
    return true;
}

static bool same_chain(const comparison *by, const nl_expr *a, const nl_expr *b)
{
    operands of_a = {.count = 0}, of_b = {.count = 0};
    if (!is_same_operator(by, a, b)) return false;
    gather(by, a, a, &of_a);
    gather(by, b, b, &of_b);
    if (of_a.is_full || of_b.is_full) return same_children(by, a, b);
    return of_a.count == of_b.count && same_set(by, of_a.items, of_b.items, of_a.count);
}

/* A comparison: which, and its sides; NOT (a < b) is a >= b. */
typedef enum relation { REL_NONE, REL_EQ, REL_NULL_SAFE_EQ, REL_LT, REL_GT, REL_LTE, REL_GTE } relation;

static relation relation_of(const nl_expr *expr)
{
    static const char *const names[] = {"=", "<=>", "<", ">", "<=", ">="};
    static const relation negated[] = {[REL_LT] = REL_GTE, [REL_GT] = REL_LTE, [REL_LTE] = REL_GT, [REL_GTE] = REL_LT};
    if (expr->kind == NL_EXPR_NOT) {
        const relation inner = relation_of(expr->children[0]);
        return expr->children[0]->kind == NL_EXPR_CALL && inner >= REL_LT ? negated[inner] : REL_NONE;
    }
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        if (is_named(expr, &names[i], 1) && expr->child_count == 2) return (relation)(REL_EQ + i);
    return REL_NONE;
}

static bool same_relation(const comparison *by, const nl_expr *a, relation of_a, const nl_expr *b, relation of_b)
{
    static const relation mirrored[] = {[REL_EQ] = REL_EQ,  [REL_NULL_SAFE_EQ] = REL_NULL_SAFE_EQ, [REL_LT] = REL_GT, [REL_GT] = REL_LT,
                                        [REL_LTE] = REL_GTE, [REL_GTE] = REL_LTE};
    const nl_expr *const *x = a->kind == NL_EXPR_NOT ? a->children[0]->children : a->children;
    const nl_expr *const *y = b->kind == NL_EXPR_NOT ? b->children[0]->children : b->children;
    if (of_a == of_b && same(by, x[0], y[0]) && same(by, x[1], y[1])) return true;
    return mirrored[of_a] == of_b && same(by, x[0], y[1]) && same(by, x[1], y[0]);
}

static bool same(const comparison *by, const nl_expr *a, const nl_expr *b)
{
    if (a == b && !by->inside && !by->matcher) return true;
    if (by->is_any_order) {
        const relation of_a = relation_of(a), of_b = relation_of(b);
        if (of_a && of_b) return same_relation(by, a, of_a, b, of_b);
        if (is_commutative(a) && is_commutative(b)) return same_chain(by, a, b);
        if (a->kind == NL_EXPR_IN && b->kind == NL_EXPR_IN && a->child_count == b->child_count && a->child_count <= MAX_OPERANDS)
            return same(by, a->children[0], b->children[0]) && same_set(by, a->children + 1, b->children + 1, a->child_count - 1);
    }
    if (a->kind != b->kind || !nl_type_equal(a->type, b->type) || !node_equal(by, a, b)) return false;
    if (a->kind != NL_EXPR_LAMBDA) return same_children(by, a, b);
    const lambda_pair pair = {.outer = by->inside, .a = a, .b = b};
    const comparison within = {.is_any_order = by->is_any_order, .inside = &pair, .matcher = by->matcher};
    return same_children(&within, a, b);
}

bool nl_expr_equal(const nl_expr *a, const nl_expr *b)
{
    return same(&(comparison){0}, a, b);
}

bool nl_expr_same(const nl_expr *a, const nl_expr *b)
{
    return same(&(comparison){.is_any_order = true}, a, b);
}

bool nl_expr_matches(const nl_expr *a, const nl_expr *b, const nl_expr_matcher *matcher)
{
    return same(&(comparison){.is_any_order = true, .matcher = matcher}, a, b);
}

/* ---- a hash for nl_expr_same ---- */

/* What of a node is the same in every order of operands: not which comparison it is, nor how a chain is nested. */
static uint64_t hash_node(const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_LITERAL) return nl_hash_mix(3, nl_value_hash(&expr->value));
    if (expr->kind == NL_EXPR_COLUMN || expr->kind == NL_EXPR_OUTER) return nl_hash_mix(4, expr->column);
    if (expr->kind == NL_EXPR_FIELD) return nl_hash_mix(5, expr->ordinal);
    if (expr->kind == NL_EXPR_AGGREGATE || expr->kind == NL_EXPR_WINDOW) return nl_hash_u64((uintptr_t)expr->call->row);
    if (expr->kind == NL_EXPR_CALL && !is_commutative(expr) && !relation_of(expr)) return nl_hash_u64((uintptr_t)expr->function->row);
    return 0;
}

static bool add_node(void *context, const nl_expr *expr)
{
    *(uint64_t *)context += hash_node(expr);
    return true;
}

uint64_t nl_expr_same_hash(const nl_expr *expr)
{
    uint64_t sum = 0; /* a sum, since the order of operands does not count */
    nl_expr_walk(expr, add_node, &sum);
    return nl_hash_u64(sum);
}

/* ---- a set of expressions ---- */

static void put(nl_expr_set *set, uint32_t index)
{
    uint32_t slot = (uint32_t)set->hashes[index] & (set->slot_count - 1);
    while (set->slots[slot]) slot = (slot + 1) & (set->slot_count - 1);
    set->slots[slot] = index + 1;
}

uint32_t nl_expr_set_find(const nl_expr_set *set, const nl_expr *expr)
{
    if (set->exprs.count == 0) return NL_EXPR_SET_NONE;
    const uint64_t hash = nl_expr_same_hash(expr);
    const comparison by = {.is_any_order = !set->is_exact};
    for (uint32_t slot = (uint32_t)hash & (set->slot_count - 1); set->slots[slot]; slot = (slot + 1) & (set->slot_count - 1)) {
        const uint32_t index = set->slots[slot] - 1;
        if (set->hashes[index] == hash && same(&by, set->exprs.items[index], expr)) return index;
    }
    return NL_EXPR_SET_NONE;
}

void nl_expr_set_add(nl_arena *arena, nl_expr_set *set, const nl_expr *expr)
{
    const uint32_t index = set->exprs.count;
    nl_list_add(arena, &set->exprs, NL_UNCONST(expr));
    if (2 * set->exprs.count > set->slot_count) {
        set->slot_count = NL_MAX(16u, 2 * set->slot_count);
        uint64_t *hashes = NL_NEW_ARRAY(arena, uint64_t, set->slot_count);
        if (index) memcpy(hashes, set->hashes, index * sizeof *hashes);
        set->hashes = hashes;
        set->slots = NL_NEW_ARRAY(arena, uint32_t, set->slot_count);
        for (uint32_t i = 0; i < index; i++) put(set, i);
    }
    set->hashes[index] = nl_expr_same_hash(expr);
    put(set, index);
}

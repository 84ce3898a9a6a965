/* What several rules need: id sets, substitution, questions about expressions. */
#include "plan/optimizer/rules.h"

/* ---- id sets ---- */

void nl_id_set_add(nl_id_set *set, nl_column_id id)
{
    const uint32_t word = id >> 6;
    if (word >= set->word_count) {
        const uint32_t count = NL_MAX(word + 1, set->word_count * 2);
        uint64_t *words = NL_NEW_ARRAY(set->arena, uint64_t, count);
        if (set->word_count) nl_copy_items(words, set->words, set->word_count * sizeof *words);
        set->words = words;
        set->word_count = count;
    }
    set->words[word] |= 1ull << (id & 63);
}

bool nl_id_set_has(const nl_id_set *set, nl_column_id id)
{
    return (id >> 6) < set->word_count && (set->words[id >> 6] >> (id & 63) & 1);
}

void nl_id_set_add_columns(nl_id_set *set, const nl_column *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) nl_id_set_add(set, columns[i].id);
}

static bool add_id(void *context, const nl_expr *expr);

static bool add_ids_of_expr(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, add_id, context);
}

/* The outer columns of a subquery's plan are read by the expression that holds it. */
static void add_plan_outer(nl_id_set *set, const nl_logical *plan);

static bool add_outer_id(void *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_OUTER) nl_id_set_add(context, expr->column);
    return true;
}

static bool add_outer_of_expr(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, add_outer_id, context);
}

static void add_plan_outer(nl_id_set *set, const nl_logical *plan)
{
    nl_logical_walk_exprs(plan, add_outer_of_expr, set);
    for (uint32_t i = 0; i < plan->child_count; i++) add_plan_outer(set, plan->children[i]);
}

static bool add_id(void *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_COLUMN || expr->kind == NL_EXPR_OUTER) nl_id_set_add(context, expr->column);
    if (expr->kind == NL_EXPR_SUBQUERY) add_plan_outer(context, expr->plan);
    return true;
}

void nl_id_set_add_expr(nl_id_set *set, const nl_expr *expr)
{
    add_ids_of_expr(set, expr);
}

nl_id_set nl_plan_ids(nl_arena *arena, const nl_logical *plan)
{
    nl_id_set set = {.arena = arena};
    nl_id_set_add_columns(&set, plan->columns, plan->column_count);
    return set;
}

typedef struct membership {
    const nl_id_set *set;
    bool wants_inside;
} membership;

static bool check_membership(void *context, const nl_expr *expr)
{
    const membership *m = context;
    if (expr->kind == NL_EXPR_SUBQUERY) {
        nl_id_set outer = {.arena = m->set->arena};
        add_plan_outer(&outer, expr->plan);
        for (uint32_t w = 0; w < outer.word_count; w++) {
            const uint64_t inside = w < m->set->word_count ? outer.words[w] & m->set->words[w] : 0;
            if (m->wants_inside ? inside != outer.words[w] : inside != 0) return false;
        }
        return true;
    }
    if (expr->kind != NL_EXPR_COLUMN) return true;
    return nl_id_set_has(m->set, expr->column) == m->wants_inside;
}

bool nl_expr_within(const nl_expr *expr, const nl_id_set *set)
{
    membership m = {.set = set, .wants_inside = true};
    return nl_expr_walk(expr, check_membership, &m);
}

bool nl_expr_touches(const nl_expr *expr, const nl_id_set *set)
{
    membership m = {.set = set, .wants_inside = false};
    return !nl_expr_walk(expr, check_membership, &m);
}

/* ---- substitution ---- */

static nl_status substitute_node(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const nl_substitution *s = context;
    (void)arena;
    *result = expr;
    if (expr->kind != NL_EXPR_COLUMN) return NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->columns[i].id != expr->column) continue;
        *result = s->exprs[i];
        return NULL;
    }
    return NULL;
}

nl_status nl_substitute(nl_arena *arena, const nl_expr *expr, const nl_substitution *substitution, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, substitute_node, NL_UNCONST(substitution), result);
}

static nl_status outer_node(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    (void)context;
    *result = expr;
    if (expr->kind != NL_EXPR_OUTER) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    copy->kind = NL_EXPR_COLUMN;
    *result = copy;
    return NULL;
}

nl_status nl_outer_to_column(nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, outer_node, NULL, result);
}

/* ---- questions ---- */

bool nl_expr_is_true(const nl_expr *expr)
{
    return expr->kind == NL_EXPR_LITERAL && expr->type->id == NL_TYPE_BOOLEAN && !expr->value.is_null && expr->value.boolean;
}

bool nl_expr_is_false_or_null(const nl_expr *expr)
{
    return expr->kind == NL_EXPR_LITERAL && (expr->value.is_null || (expr->type->id == NL_TYPE_BOOLEAN && !expr->value.boolean));
}

static bool no_outer_in_expr(void *context, const nl_expr *expr)
{
    (void)context;
    return !nl_expr_has(expr, NL_EXPR_OUTER);
}

bool nl_plan_has_outer(const nl_logical *plan)
{
    if (!nl_logical_walk_exprs(plan, no_outer_in_expr, NULL)) return true;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (nl_plan_has_outer(plan->children[i])) return true;
    return false;
}

static bool expr_is_deterministic(void *context, const nl_expr *expr)
{
    (void)context;
    return nl_expr_is_deterministic(expr);
}

bool nl_plan_is_deterministic(const nl_logical *plan)
{
    if (plan->kind == NL_PLAN_SAMPLE || plan->kind == NL_PLAN_OBSERVE) return false; /* one observes once */
    if (!nl_logical_walk_exprs(plan, expr_is_deterministic, NULL)) return false;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (!nl_plan_is_deterministic(plan->children[i])) return false;
    return true;
}

bool nl_is_call(const nl_expr *expr, const char *name)
{
    return expr->kind == NL_EXPR_CALL && strcmp(expr->function->row->name, name) == 0;
}

bool nl_as_equality(const nl_expr *expr, const nl_expr **left, const nl_expr **right)
{
    if (!nl_is_call(expr, "=") || expr->child_count != 2) return false;
    *left = expr->children[0];
    *right = expr->children[1];
    return true;
}

/* Null in any of the set's columns makes the expression null: strict all the way down. */
static bool is_strict_in(const nl_expr *expr, const nl_id_set *set)
{
    if (expr->kind == NL_EXPR_COLUMN) return nl_id_set_has(set, expr->column);
    if (expr->kind == NL_EXPR_CAST || expr->kind == NL_EXPR_NOT || expr->kind == NL_EXPR_FIELD) return is_strict_in(expr->children[0], set);
    if (expr->kind == NL_EXPR_IN) return is_strict_in(expr->children[0], set);
    if (expr->kind != NL_EXPR_CALL || expr->function->row->nulls != NL_NULL_IN_NULL_OUT) return false;
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (is_strict_in(expr->children[i], set)) return true;
    return false;
}

bool nl_expr_rejects_nulls(const nl_expr *expr, const nl_id_set *set)
{
    switch (expr->kind) {
    case NL_EXPR_AND:
        for (uint32_t i = 0; i < expr->child_count; i++)
            if (nl_expr_rejects_nulls(expr->children[i], set)) return true;
        return false;
    case NL_EXPR_OR:
        for (uint32_t i = 0; i < expr->child_count; i++)
            if (!nl_expr_rejects_nulls(expr->children[i], set)) return false;
        return expr->child_count > 0;
    case NL_EXPR_IS_NOT_NULL:
        return is_strict_in(expr->children[0], set);
    case NL_EXPR_LITERAL:
    case NL_EXPR_COLUMN:
    case NL_EXPR_OUTER:
    case NL_EXPR_CALL:
    case NL_EXPR_CAST:
    case NL_EXPR_NOT:
    case NL_EXPR_IS_NULL:
    case NL_EXPR_CASE:
    case NL_EXPR_COALESCE:
    case NL_EXPR_IN:
    case NL_EXPR_FIELD:
    case NL_EXPR_LAMBDA:
    case NL_EXPR_PARAMETER:
    case NL_EXPR_AGGREGATE:
    case NL_EXPR_WINDOW:
    case NL_EXPR_GROUPING:
    case NL_EXPR_PYTHON:
    case NL_EXPR_SUBQUERY:
        return is_strict_in(expr, set);
    }
    return false;
}

const nl_expr *nl_conjunction(nl_arena *arena, const nl_list *conjuncts)
{
    if (conjuncts->count == 0) return NULL;
    if (conjuncts->count == 1) return conjuncts->items[0];
    nl_list flat = {0};
    for (uint32_t i = 0; i < conjuncts->count; i++) nl_expr_conjuncts(arena, conjuncts->items[i], &flat);
    return nl_expr_new(arena, NL_EXPR_AND, nl_type_boolean(), (const nl_expr *const *)(void *)flat.items, flat.count);
}

void nl_split_conjuncts(nl_arena *arena, const nl_list *conjuncts, const nl_id_set *left, const nl_id_set *right, nl_list *left_only,
                        nl_list *right_only, nl_list *both)
{
    for (uint32_t i = 0; i < conjuncts->count; i++) {
        const nl_expr *expr = conjuncts->items[i];
        const bool is_free = nl_expr_is_deterministic(expr);
        const bool on_left = nl_expr_touches(expr, left);
        const bool on_right = nl_expr_touches(expr, right);
        nl_list *target = both;
        if (is_free && on_left && !on_right && nl_expr_within(expr, left)) target = left_only;
        if (is_free && on_right && !on_left && nl_expr_within(expr, right)) target = right_only;
        nl_list_add(arena, target, NL_UNCONST(expr));
    }
}

nl_column nl_column_for(nl_plan_context *context, const nl_expr *expr, nl_str name)
{
    return (nl_column){.id = nl_plan_new_id(context), .name = name, .type = expr->type, .is_nullable = expr->is_nullable};
}

nl_status nl_call_rule(nl_plan_context *context, const char *name, const nl_expr *a, const nl_expr *b, const nl_expr **result)
{
    const nl_expr *args[] = {a, b};
    const bool is_equality = strcmp(name, "=") == 0 || strcmp(name, "<=>") == 0;
    for (uint32_t i = 0; is_equality && i < 2; i++) /* strings with a collation compare by their keys */
        if (args[i]->type->id == NL_TYPE_STRING && args[i]->type->collation.length)
            NL_TRY(nl_expr_call_named(context->arena, context->confs, "collation_key", &args[i], 1, &args[i]));
    return nl_expr_call_named(context->arena, context->confs, name, args, b ? 2 : 1, result);
}

nl_status nl_aggregate_rule(nl_plan_context *context, const char *name, const nl_expr *argument, const nl_expr **result)
{
    nl_arena *arena = context->arena;
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(nl_str_from(name), &rows);
    if (row_count == 0) return NL_RAISE_TEXT(INTERNAL_ERROR, "the aggregate %s is not there", name);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 1);
    types[0] = argument->type;
    bool *nullable = NL_NEW_ARRAY(arena, bool, 1);
    nullable[0] = argument->is_nullable;
    nl_bind bind = {.row = rows[0], .arena = arena, .confs = context->confs, .name = nl_str_from(name), .argument_count = 1,
                    .argument_types = types, .argument_nullable = nullable};
    const nl_bound_function *bound = NULL;
    NL_TRY(nl_function_bind(&bind, rows, row_count, &bound));
    argument = nl_expr_cast(arena, argument, bound->argument_types[0], NL_CAST_ANSI);
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_AGGREGATE, bound->result_type, &argument, 1);
    expr->call = bound;
    expr->is_nullable = bound->is_nullable;
    *result = expr;
    return NULL;
}

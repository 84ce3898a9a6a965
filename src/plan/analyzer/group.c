/* GROUP BY: ordinals, aliases, ALL; grouping sets, ROLLUP and CUBE, nested and mixed. */
#include "plan/analyzer/analyzer.h"

#define GROUPING_SETS_MAX 4096u
#define GROUPING_KEYS_MAX 64u

typedef struct grouper {
    nl_scope *scope;
    nl_items *items;
    nl_expr_set keys; /* exact */
    bool has_sets;
    bool has_star;
} grouper;

typedef struct set_list {
    uint64_t *bits;
    uint32_t count;
} set_list;

/* ---- one expression ---- */

static nl_status by_position(grouper *g, const nl_ast_expr *ast, int64_t position, const nl_expr **key)
{
    nl_arena *arena = nl_scope_arena(g->scope);
    if (g->has_star) return nl_sql_at(NL_RAISE(STAR_GROUP_BY_POS), g->scope->env->text, ast->range, false);
    if (position < 1 || position > g->items->count)
        return nl_sql_at(NL_RAISE(GROUP_BY_POS_OUT_OF_RANGE, NL_P_INT("index", position), NL_P_INT("size", g->items->count)),
                         g->scope->env->text, ast->range, false);
    const nl_item *item = &g->items->list[position - 1];
    *key = item->expr;
    if (item->level) return nl_raise_alias_in_group_by();
    if (nl_expr_has(item->expr, NL_EXPR_WINDOW))
        return nl_sql_at(NL_RAISE(UNSUPPORTED_EXPR_FOR_OPERATOR, NL_P_STR("invalidExprSqls", nl_quote_expr(arena, item->expr))), g->scope->env->text, ast->range, false);
    if (!nl_expr_has(item->expr, NL_EXPR_AGGREGATE)) return NULL;
    const nl_str text = nl_attribute_text(arena, item->expr, g->scope);
    return nl_sql_at(NL_RAISE(GROUP_BY_POS_AGGREGATE, NL_P_INT("index", position),
                              NL_P_STR("aggExpr", nl_arena_f(arena, NL_STR_FMT " AS " NL_STR_FMT, NL_STR_ARG(text),
                                                             NL_STR_ARG(nl_quote_name(arena, item->name))))),
                     g->scope->env->text, ast->range, false);
}

static bool find_aggregate(void *context, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_AGGREGATE) return true;
    *(const nl_expr **)context = expr;
    return false;
}

static nl_status find_key(grouper *g, const nl_ast_expr *ast, const nl_expr **key)
{
    nl_scope *scope = g->scope;
    if (ast->kind == NL_AST_EXPR_LITERAL && ast->literal.kind == NL_AST_LITERAL_INT && nl_env_is_set(scope->env, "spark.sql.groupByOrdinal", "true"))
        return by_position(g, ast, ast->literal.integer, key);
    if (ast->kind == NL_AST_EXPR_ALIAS) ast = ast->alias.input;
    NL_TRY(nl_resolve_expr(scope, ast, key));
    const nl_expr *aggregate = NULL;
    nl_expr_walk(*key, find_aggregate, (void *)&aggregate);
    if (!aggregate) return NULL;
    return nl_sql_at(NL_RAISE(GROUP_BY_AGGREGATE, NL_P_STR("sqlExpr", nl_attribute_text(nl_scope_arena(scope), aggregate, scope))),
                     scope->env->text, ast->range, false);
}

static bool holds_variant(const nl_type *type)
{
    for (uint32_t i = 0; i < type->child_count; i++)
        if (holds_variant(type->children[i].type)) return true;
    return type->id == NL_TYPE_VARIANT;
}

static nl_status resolve_key(grouper *g, const nl_ast_expr *ast, const nl_expr **key)
{
    nl_arena *arena = nl_scope_arena(g->scope);
    NL_TRY(find_key(g, ast, key));
    if (!holds_variant((*key)->type)) return NULL;
    return nl_sql_at(NL_RAISE(GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE, NL_P_STR("sqlExpr", nl_quote_expr(arena, *key)),
                              NL_P_STR("dataType", nl_quote_type(arena, (*key)->type))),
                     g->scope->env->text, ast->range, false);
}

/* The place of the key, added when it is new. */
static uint32_t key_place(grouper *g, const nl_expr *key)
{
    const uint32_t known = nl_expr_set_find(&g->keys, key);
    if (known != NL_EXPR_SET_NONE) return known;
    if (g->keys.exprs.count == 0) g->keys.is_exact = !g->has_sets; /* a + b and b + a are one key of grouping sets */
    nl_expr_set_add(nl_scope_arena(g->scope), &g->keys, key);
    return g->keys.exprs.count - 1;
}

static nl_status key_bit(grouper *g, const nl_ast_expr *ast, uint64_t *bit)
{
    const nl_expr *key = NULL;
    NL_TRY(resolve_key(g, ast, &key));
    const uint32_t place = key_place(g, key);
    if (place >= GROUPING_KEYS_MAX) return NL_RAISE(GROUPING_SIZE_LIMIT_EXCEEDED, NL_P_INT("maxSize", GROUPING_KEYS_MAX));
    *bit = 1ull << place;
    return NULL;
}

/* ---- sets ---- */

static nl_status set_bits(grouper *g, const nl_ast_exprs *exprs, uint64_t *bits)
{
    *bits = 0;
    for (uint32_t i = 0; i < exprs->count; i++) {
        uint64_t bit = 0;
        NL_TRY(key_bit(g, exprs->items[i], &bit));
        *bits |= bit;
    }
    return NULL;
}

static nl_status too_many(void)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A GROUP BY clause may have at most %u grouping sets.", GROUPING_SETS_MAX);
}

static nl_status rollup_of(nl_arena *arena, const uint64_t *elements, uint32_t count, set_list *sets)
{
    sets->bits = NL_NEW_ARRAY(arena, uint64_t, count + 1);
    sets->count = count + 1;
    for (uint32_t length = count + 1; length-- > 0;)
        for (uint32_t i = 0; i < length; i++) sets->bits[count - length] |= elements[i];
    return NULL;
}

static nl_status cube_of(nl_arena *arena, const uint64_t *elements, uint32_t count, set_list *sets)
{
    if (count > 12) return too_many();
    const uint32_t total = 1u << count;
    sets->bits = NL_NEW_ARRAY(arena, uint64_t, total);
    sets->count = total;
    for (uint32_t which = 0; which < total; which++)
        for (uint32_t i = 0; i < count; i++)
            if (!(which >> (count - 1 - i) & 1)) sets->bits[which] |= elements[i];
    return NULL;
}

static nl_status expand(grouper *g, const nl_ast_grouping *grouping, set_list *sets);

static nl_status append_sets(nl_arena *arena, set_list *all, const set_list *more)
{
    if (all->count + more->count > GROUPING_SETS_MAX) return too_many();
    uint64_t *bits = NL_NEW_ARRAY(arena, uint64_t, all->count + more->count + 1);
    if (all->count) memcpy(bits, all->bits, all->count * sizeof *bits);
    memcpy(bits + all->count, more->bits, more->count * sizeof *bits);
    all->bits = bits;
    all->count += more->count;
    return NULL;
}

static nl_status one_set(nl_arena *arena, uint64_t bits, set_list *sets)
{
    sets->bits = NL_NEW_ARRAY(arena, uint64_t, 1);
    sets->bits[0] = bits;
    sets->count = 1;
    return NULL;
}

static nl_status expand(grouper *g, const nl_ast_grouping *grouping, set_list *sets)
{
    nl_arena *arena = nl_scope_arena(g->scope);
    uint64_t bits = 0;
    if (grouping->kind == NL_AST_GROUP_EXPRESSION) {
        NL_TRY(key_bit(g, grouping->expr, &bits));
        return one_set(arena, bits, sets);
    }
    if (grouping->kind == NL_AST_GROUP_SET) {
        NL_TRY(set_bits(g, &grouping->exprs, &bits));
        return one_set(arena, bits, sets);
    }
    g->has_sets = true;
    if (grouping->kind == NL_AST_GROUP_SETS) {
        for (uint32_t i = 0; i < grouping->elements.count; i++) {
            set_list more = {0};
            NL_TRY(expand(g, grouping->elements.items[i], &more));
            NL_TRY(append_sets(arena, sets, &more));
        }
        return NULL;
    }
    uint64_t *elements = NL_NEW_ARRAY(arena, uint64_t, grouping->elements.count + 1);
    for (uint32_t i = 0; i < grouping->elements.count; i++) NL_TRY(set_bits(g, &grouping->elements.items[i]->exprs, &elements[i]));
    if (grouping->kind == NL_AST_GROUP_ROLLUP) return rollup_of(arena, elements, grouping->elements.count, sets);
    return cube_of(arena, elements, grouping->elements.count, sets);
}

/* GROUP BY a, ROLLUP(b), … is every union of one set of each. */
static nl_status cross(nl_arena *arena, const set_list *a, const set_list *b, set_list *product)
{
    if ((uint64_t)a->count * b->count > GROUPING_SETS_MAX) return too_many();
    product->count = a->count * b->count;
    product->bits = NL_NEW_ARRAY(arena, uint64_t, product->count + 1);
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++) product->bits[i * b->count + j] = a->bits[i] | b->bits[j];
    return NULL;
}

static nl_status expand_suffix(grouper *g, const nl_ast_group_by *group_by, set_list *sets)
{
    nl_arena *arena = nl_scope_arena(g->scope);
    uint64_t *elements = NL_NEW_ARRAY(arena, uint64_t, group_by->items.count + 1);
    for (uint32_t i = 0; i < group_by->items.count; i++) NL_TRY(key_bit(g, group_by->items.items[i]->expr, &elements[i]));
    g->has_sets = true;
    if (group_by->suffix == NL_AST_GROUP_WITH_ROLLUP) return rollup_of(arena, elements, group_by->items.count, sets);
    if (group_by->suffix == NL_AST_GROUP_WITH_CUBE) return cube_of(arena, elements, group_by->items.count, sets);
    for (uint32_t i = 0; i < group_by->sets.count; i++) {
        set_list more = {0};
        NL_TRY(expand(g, group_by->sets.items[i], &more));
        NL_TRY(append_sets(arena, sets, &more));
    }
    return NULL;
}

/* ---- ALL ---- */

static bool is_all(const nl_scope *scope, const nl_ast_group_by *group_by, const nl_items *items)
{
    if (group_by->items.count != 1 || group_by->suffix != NL_AST_GROUP_PLAIN) return false;
    const nl_ast_grouping *only = group_by->items.items[0];
    if (only->kind != NL_AST_GROUP_EXPRESSION || only->expr->kind != NL_AST_EXPR_COLUMN) return false;
    const nl_ast_name *name = &only->expr->column;
    if (name->count != 1 || name->parts[0].is_quoted || !nl_str_is_nocase(name->parts[0].text, "all")) return false;
    for (uint32_t i = 0; i < scope->sets[0].count; i++)
        if (nl_str_is_nocase(scope->sets[0].columns[i].name, "all")) return false;
    for (uint32_t i = 0; scope->aliases && i < items->count; i++)
        if (items->list[i].has_alias && nl_str_is_nocase(items->list[i].name, "all")) return false;
    return true;
}

static bool find_column(void *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_AGGREGATE) return false;
    if (expr->kind == NL_EXPR_SUBQUERY) {
        nl_list outer = {0};
        nl_plan_outer_columns(context, expr->plan, &outer);
        return outer.count == 0;
    }
    return expr->kind != NL_EXPR_COLUMN;
}

/* Is there a column outside of aggregate functions? */
static bool has_free_column(nl_arena *arena, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_AGGREGATE) return false;
    if (!find_column(arena, expr)) return true;
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (has_free_column(arena, expr->children[i])) return true;
    return false;
}

static nl_status group_by_all(grouper *g)
{
    uint32_t key_count = 0;
    bool has_free = false;
    for (uint32_t i = 0; i < g->items->count; i++) {
        const nl_expr *expr = g->items->list[i].expr;
        has_free = has_free || has_free_column(nl_scope_arena(g->scope), expr);
        if (nl_expr_has(expr, NL_EXPR_AGGREGATE) || nl_expr_has(expr, NL_EXPR_WINDOW)) continue;
        if (g->items->list[i].level) return nl_raise_alias_in_group_by();
        key_count++;
        if (expr->kind == NL_EXPR_LITERAL) continue;
        key_place(g, expr);
    }
    return key_count == 0 && has_free ? NL_RAISE(UNRESOLVED_ALL_IN_GROUP_BY) : NULL;
}

static nl_status plain_keys(grouper *g, const nl_ast_group_by *group_by, bool *is_plain)
{
    *is_plain = group_by->suffix == NL_AST_GROUP_PLAIN;
    for (uint32_t i = 0; i < group_by->items.count; i++)
        *is_plain = *is_plain && group_by->items.items[i]->kind == NL_AST_GROUP_EXPRESSION;
    for (uint32_t i = 0; *is_plain && i < group_by->items.count; i++) {
        const nl_expr *key = NULL;
        NL_TRY(resolve_key(g, group_by->items.items[i]->expr, &key));
        key_place(g, key);
    }
    return NULL;
}

nl_status nl_resolve_group_by(nl_scope *scope, const nl_ast_group_by *group_by, nl_items *items, bool has_star, nl_grouping *grouping)
{
    nl_arena *arena = nl_scope_arena(scope);
    grouper g = {.scope = scope, .items = items, .has_star = has_star};
    grouping->is_grouped = true;
    if (is_all(scope, group_by, items)) {
        NL_TRY(group_by_all(&g));
    } else {
        bool is_plain = false;
        NL_TRY(plain_keys(&g, group_by, &is_plain));
        set_list sets = {0};
        if (!is_plain && group_by->suffix != NL_AST_GROUP_PLAIN) NL_TRY(expand_suffix(&g, group_by, &sets));
        for (uint32_t i = 0; !is_plain && group_by->suffix == NL_AST_GROUP_PLAIN && i < group_by->items.count; i++) {
            set_list more = {0};
            NL_TRY(expand(&g, group_by->items.items[i], &more));
            set_list product = more;
            if (i > 0) NL_TRY(cross(arena, &sets, &more, &product));
            sets = product;
        }
        if (g.has_sets) {
            grouping->sets = sets.bits;
            grouping->set_count = sets.count;
        }
    }
    grouping->keys = (const nl_expr *const *)(void *)g.keys.exprs.items;
    grouping->key_count = g.keys.exprs.count;
    return NULL;
}

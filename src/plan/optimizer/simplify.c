/* Constant folding and boolean simplification, bottom up. A constant that fails is left where it stands: it fails at
 * run time, and only when a row really gets there. */
#include "plan/optimizer/rules.h"

#include "function/coercion.h"

static bool is_atomic(const nl_type *type)
{
    return !nl_type_is_nested(type) && type->id != NL_TYPE_VARIANT;
}

static const nl_expr *literal_like(nl_arena *arena, const nl_expr *original, const nl_value *value)
{
    nl_expr *literal = NL_NEW(arena, nl_expr);
    *literal = *nl_expr_literal(arena, value);
    literal->type = original->type;
    literal->value.type = original->type;
    literal->span = original->span;
    literal->pretty = original->pretty;
    return literal;
}

static const nl_expr *null_like(nl_arena *arena, const nl_expr *original)
{
    const nl_value null = nl_value_null(original->type);
    return literal_like(arena, original, &null);
}

/* ---- folding ---- */

static const nl_expr *fold(nl_plan_context *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_LITERAL || expr->kind == NL_EXPR_LAMBDA || expr->kind == NL_EXPR_PARAMETER) return expr;
    if (!context->evaluate || !is_atomic(expr->type) || !nl_expr_is_constant(expr)) return expr;
    nl_value value = {0};
    nl_error *failure = context->evaluate(context->arena, expr, context->confs, context->text, &value);
    nl_error_free(failure);
    return failure ? expr : literal_like(context->arena, expr, &value);
}

/* A strict function of a null is null. */
static bool has_null_argument(const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_CALL && (expr->function->row->nulls != NL_NULL_IN_NULL_OUT || !expr->function->is_deterministic)) return false;
    if (expr->kind != NL_EXPR_CALL && expr->kind != NL_EXPR_CAST) return false;
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (expr->children[i]->kind == NL_EXPR_LITERAL && expr->children[i]->value.is_null) return true;
    return false;
}

/* ---- AND, OR ---- */

static bool contains(const nl_list *list, const nl_expr *expr)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (nl_expr_equal(list->items[i], expr)) return true;
    return false;
}

static const nl_expr *connect(nl_arena *arena, const nl_expr *original, nl_expr_kind kind, const nl_list *list)
{
    if (list->count == 0) return nl_expr_boolean(arena, kind == NL_EXPR_AND);
    if (list->count == 1) return list->items[0];
    if (list->count == original->child_count) return original;
    nl_expr *expr = nl_expr_new(arena, kind, nl_type_boolean(), (const nl_expr *const *)(void *)list->items, list->count);
    expr->span = original->span;
    return expr;
}

#define DUPLICATES_MAX 64 /* longer lists are not searched for duplicates: that would be quadratic */

static const nl_expr *simplify_connected(nl_arena *arena, const nl_expr *expr)
{
    const bool is_and = expr->kind == NL_EXPR_AND;
    nl_list kept = {0};
    for (uint32_t i = 0; i < expr->child_count; i++) {
        const nl_expr *child = expr->children[i];
        const bool is_literal = child->kind == NL_EXPR_LITERAL && !child->value.is_null;
        if (is_literal && child->value.boolean == is_and) continue;
        if (is_literal) return nl_expr_boolean(arena, !is_and);
        if (child->kind == expr->kind) {
            for (uint32_t k = 0; k < child->child_count; k++) nl_list_add(arena, &kept, NL_UNCONST(child->children[k]));
            continue;
        }
        if (kept.count < DUPLICATES_MAX && nl_expr_is_deterministic(child) && contains(&kept, child)) continue;
        nl_list_add(arena, &kept, NL_UNCONST(child));
    }
    return connect(arena, expr, expr->kind, &kept);
}

static bool in_every_branch(const nl_list *branches, uint32_t from, const nl_expr *conjunct)
{
    for (uint32_t b = from; b < branches->count; b++)
        if (!contains(branches->items[b], conjunct)) return false;
    return true;
}

/* (a AND b) OR (a AND c) is a AND (b OR c): a becomes a join key or a pushed filter. */
static const nl_expr *factor_or(nl_arena *arena, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_OR || expr->child_count > DUPLICATES_MAX) return expr;
    nl_list branches = {0};
    for (uint32_t i = 0; i < expr->child_count; i++) {
        nl_list *conjuncts = NL_NEW(arena, nl_list);
        nl_expr_conjuncts(arena, expr->children[i], conjuncts);
        nl_list_add(arena, &branches, conjuncts);
    }
    nl_list common = {0};
    const nl_list *first = branches.items[0];
    for (uint32_t i = 0; i < first->count; i++) {
        const nl_expr *conjunct = first->items[i];
        if (nl_expr_is_deterministic(conjunct) && !contains(&common, conjunct) && in_every_branch(&branches, 1, conjunct))
            nl_list_add(arena, &common, NL_UNCONST(conjunct));
    }
    if (common.count == 0) return expr;
    const nl_expr *rest = NULL;
    for (uint32_t b = 0; b < branches.count; b++) {
        const nl_list *conjuncts = branches.items[b];
        nl_list left = {0};
        for (uint32_t i = 0; i < conjuncts->count; i++)
            if (!contains(&common, conjuncts->items[i])) nl_list_add(arena, &left, conjuncts->items[i]);
        if (left.count == 0) return nl_conjunction(arena, &common); /* one branch is just the common part */
        rest = nl_expr_or(arena, rest, nl_conjunction(arena, &left));
    }
    nl_list_add(arena, &common, NL_UNCONST(rest));
    return nl_conjunction(arena, &common);
}

/* ---- NOT, IS NULL, CASE, COALESCE ---- */

static nl_status simplify_not(nl_plan_context *context, const nl_expr *expr, const nl_expr **result)
{
    static const struct {
        const char *name, *opposite;
    } opposites[] = {{"<", ">="}, {"<=", ">"}, {">", "<="}, {">=", "<"}};
    const nl_expr *child = expr->children[0];
    *result = expr;
    if (child->kind == NL_EXPR_NOT) {
        *result = child->children[0];
        return NULL;
    }
    if (child->kind == NL_EXPR_IS_NULL || child->kind == NL_EXPR_IS_NOT_NULL) {
        *result = nl_expr_is_null(context->arena, child->children[0], child->kind == NL_EXPR_IS_NULL);
        return NULL;
    }
    if (child->kind == NL_EXPR_SUBQUERY && child->subquery_kind != NL_SUBQUERY_SCALAR) {
        nl_expr *negated = NL_NEW(context->arena, nl_expr);
        *negated = *child;
        negated->is_negated = !child->is_negated;
        *result = negated;
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(opposites); i++)
        if (nl_is_call(child, opposites[i].name))
            return nl_call_rule(context, opposites[i].opposite, child->children[0], child->children[1], result);
    return NULL;
}

static const nl_expr *simplify_is_null(nl_arena *arena, const nl_expr *expr)
{
    const nl_expr *child = expr->children[0];
    if (child->is_nullable || nl_expr_can_fail(child) || !nl_expr_is_deterministic(child)) return expr;
    return nl_expr_boolean(arena, expr->kind == NL_EXPR_IS_NOT_NULL);
}

static const nl_expr *simplify_case(nl_arena *arena, const nl_expr *expr)
{
    nl_list parts = {0};
    const bool has_else = expr->child_count % 2;
    const nl_expr *otherwise = has_else ? expr->children[expr->child_count - 1] : NULL;
    bool is_changed = false;
    for (uint32_t i = 0; i + 1 < expr->child_count; i += 2) {
        if (nl_expr_is_false_or_null(expr->children[i])) {
            is_changed = true;
            continue;
        }
        if (nl_expr_is_true(expr->children[i])) {
            otherwise = expr->children[i + 1];
            is_changed = true;
            break;
        }
        nl_list_add(arena, &parts, NL_UNCONST(expr->children[i]));
        nl_list_add(arena, &parts, NL_UNCONST(expr->children[i + 1]));
    }
    if (!is_changed) return expr;
    if (parts.count == 0) return otherwise ? otherwise : null_like(arena, expr);
    if (otherwise) nl_list_add(arena, &parts, NL_UNCONST(otherwise));
    nl_expr *made = nl_expr_new(arena, NL_EXPR_CASE, expr->type, (const nl_expr *const *)(void *)parts.items, parts.count);
    made->is_nullable = expr->is_nullable;
    made->span = expr->span;
    return made;
}

static const nl_expr *simplify_coalesce(nl_arena *arena, const nl_expr *expr)
{
    nl_list kept = {0};
    for (uint32_t i = 0; i < expr->child_count; i++) {
        const nl_expr *child = expr->children[i];
        if (child->kind == NL_EXPR_LITERAL && child->value.is_null) continue;
        nl_list_add(arena, &kept, NL_UNCONST(child));
        if (!child->is_nullable) break;
    }
    if (kept.count == expr->child_count) return expr;
    if (kept.count == 0) return null_like(arena, expr);
    if (kept.count == 1) return kept.items[0];
    return nl_expr_coalesce(arena, (const nl_expr *const *)(void *)kept.items, kept.count);
}

/* ---- CAST(column AS wider) against a constant: the constant is made narrow, so that scans can prune ---- */

static const nl_expr *narrow_literal(nl_arena *arena, const nl_expr *literal, const nl_type *type)
{
    static const int64_t limits[] = {[NL_TYPE_TINYINT] = INT8_MAX, [NL_TYPE_SMALLINT] = INT16_MAX, [NL_TYPE_INT] = INT32_MAX, [NL_TYPE_BIGINT] = INT64_MAX};
    if (literal->kind != NL_EXPR_LITERAL || literal->value.is_null || !nl_type_is_integral(literal->type)) return NULL;
    const int64_t value = literal->value.integer;
    if (value > limits[type->id] || value < -limits[type->id] - 1) return NULL;
    const nl_value narrow = nl_value_int(type, value);
    return nl_expr_literal(arena, &narrow);
}

static nl_status unwrap_cast(nl_plan_context *context, const nl_expr *expr, const nl_expr **result)
{
    static const char *const names[] = {"=", "<", "<=", ">", ">=", "<=>"};
    *result = expr;
    if (expr->kind != NL_EXPR_CALL || expr->child_count != 2) return NULL;
    for (size_t n = 0; n < NL_COUNT(names); n++) {
        if (!nl_is_call(expr, names[n])) continue;
        const int side = expr->children[0]->kind == NL_EXPR_CAST ? 0 : 1;
        const nl_expr *cast = expr->children[side];
        if (cast->kind != NL_EXPR_CAST || !nl_type_is_integral(cast->type) || !nl_type_is_integral(cast->children[0]->type)) return NULL;
        if (!nl_is_upcast(cast->children[0]->type, cast->type)) return NULL;
        const nl_expr *literal = narrow_literal(context->arena, expr->children[1 - side], cast->children[0]->type);
        if (!literal) return NULL;
        return side == 0 ? nl_call_rule(context, names[n], cast->children[0], literal, result)
                         : nl_call_rule(context, names[n], literal, cast->children[0], result);
    }
    return NULL;
}

/* ---- the visit ---- */

static nl_status simplify_node(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    nl_plan_context *plan_context = context;
    *result = expr;
    if (has_null_argument(expr)) {
        *result = null_like(arena, expr);
        return NULL;
    }
    if (expr->kind == NL_EXPR_AND || expr->kind == NL_EXPR_OR)
        *result = factor_or(arena, simplify_connected(arena, expr));
    else if (expr->kind == NL_EXPR_NOT)
        NL_TRY(simplify_not(plan_context, expr, result));
    else if (expr->kind == NL_EXPR_IS_NULL || expr->kind == NL_EXPR_IS_NOT_NULL)
        *result = simplify_is_null(arena, expr);
    else if (expr->kind == NL_EXPR_CASE)
        *result = simplify_case(arena, expr);
    else if (expr->kind == NL_EXPR_COALESCE)
        *result = simplify_coalesce(arena, expr);
    else if (expr->kind == NL_EXPR_CALL)
        NL_TRY(unwrap_cast(plan_context, expr, result));
    *result = fold(plan_context, *result);
    return NULL;
}

static nl_status simplify_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, simplify_node, context, result);
}

nl_status nl_simplify_expr(nl_plan_context *context, const nl_expr *expr, const nl_expr **result)
{
    return simplify_expr(context, context->arena, expr, result);
}

static nl_status simplify_plan(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    const nl_logical *current = plan;
    if (plan->kind != NL_PLAN_VALUES) /* rows of constants are evaluated once anyway */
        NL_TRY(nl_logical_rewrite_exprs(arena, plan, simplify_expr, context, &current));
    *result = current;
    if (current->kind == NL_PLAN_FILTER) {
        if (nl_expr_is_true(current->filter.condition)) *result = current->children[0];
        if (nl_expr_is_false_or_null(current->filter.condition)) *result = nl_logical_empty(arena, current);
    }
    if (current->kind == NL_PLAN_JOIN && current->join.condition && nl_expr_is_true(current->join.condition)) {
        nl_logical *copy = nl_logical_copy(arena, current);
        copy->join.condition = NULL;
        *result = copy;
    }
    return NULL;
}

nl_status nl_rule_simplify(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, simplify_plan, context, result);
}

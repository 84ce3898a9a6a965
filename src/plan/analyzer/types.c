/* Common types where Spark does not let strings become other types: VALUES, UNPIVOT, comparisons of nested values. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"
#include "function/coercion.h"

static bool mixes(const nl_type *a, const nl_type *b, uint32_t depth)
{
    if (a->id == NL_TYPE_NULL || b->id == NL_TYPE_NULL || depth > NL_EXPRESSION_DEPTH_MAX) return false;
    if (a->id != b->id) return a->id == NL_TYPE_STRING || b->id == NL_TYPE_STRING;
    if (a->child_count != b->child_count) return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (mixes(a->children[i].type, b->children[i].type, depth + 1)) return true;
    return false;
}

bool nl_types_mix_strings(const nl_type *a, const nl_type *b)
{
    return mixes(a, b, 0);
}

const nl_expr *nl_cast_constant(nl_scope *scope, const nl_expr *expr, const nl_type *type)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_easy = expr->kind == NL_EXPR_LITERAL && !nl_type_equal(expr->type, type) && nl_is_upcast(expr->type, type);
    nl_value value;
    if (!is_easy) return nl_expr_cast(arena, expr, type, nl_scope_cast_mode(scope));
    nl_status status = nl_cast_value(arena, nl_scope_confs(scope), NL_CAST_LEGACY, &expr->value, type, &value);
    if (status) {
        nl_error_free(status);
        return nl_expr_cast(arena, expr, type, nl_scope_cast_mode(scope));
    }
    nl_expr *literal = NL_NEW(arena, nl_expr);
    *literal = *nl_expr_literal(arena, &value);
    literal->span = expr->span;
    literal->pretty = nl_expr_pretty(arena, expr);
    return literal;
}

const nl_type *nl_common_type_plain(nl_scope *scope, const nl_type *a, const nl_type *b)
{
    if (mixes(a, b, 0)) return NULL;
    return nl_common_type(nl_scope_arena(scope), a, b, nl_confs_rules(nl_scope_confs(scope)));
}

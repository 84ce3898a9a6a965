/* Changing a plan's outside: qualifiers and names, casts of columns, copies with new ids. */
#include "plan/analyzer/analyzer.h"

nl_status nl_alias_plan(nl_env *env, const nl_logical *child, const nl_str *qualifier, uint32_t qualifier_count,
                        const nl_ast_idents *names, nl_ast_range range, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    uint32_t visible = 0;
    for (uint32_t i = 0; i < child->column_count; i++) visible += !child->columns[i].is_hidden;
    if (names && names->count && names->count != visible)
        return nl_sql_at(NL_RAISE(ASSIGNMENT_ARITY_MISMATCH, NL_P_INT("numExpr", names->count), NL_P_INT("numTarget", visible)),
                         env->text, range, false);
    const bool renames = names && names->count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, child->column_count + 1);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < child->column_count; i++) {
        columns[i] = child->columns[i];
        if (qualifier_count) {
            columns[i].qualifier = qualifier;
            columns[i].qualifier_count = qualifier_count;
            columns[i].is_qualified_only = false;
        }
        exprs[i] = nl_column_ref(arena, &child->columns[i]);
        if (columns[i].is_hidden || !renames) continue;
        columns[i].name = names->items[shown++].text;
        columns[i].id = nl_plan_new_id(env->context);
    }
    if (renames) {
        *plan = nl_logical_project(arena, child, columns, exprs, child->column_count);
        return NULL;
    }
    nl_logical *alias = nl_logical_new(arena, NL_PLAN_ALIAS, &child, 1);
    alias->columns = columns;
    alias->column_count = child->column_count;
    *plan = alias;
    return NULL;
}

/* Equal, and of as many digits where timestamps say how many they show. */
static bool is_same_type(const nl_type *a, const nl_type *b)
{
    return nl_type_equal(a, b) && a->precision == b->precision;
}

nl_status nl_cast_columns(nl_env *env, const nl_logical *child, const nl_type *const *types, const nl_logical **plan)
{
    nl_arena *arena = env->context->arena;
    const nl_cast_mode mode = nl_env_confs(env)->is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY;
    bool is_changed = false;
    for (uint32_t i = 0; i < child->column_count; i++) is_changed = is_changed || !is_same_type(child->columns[i].type, types[i]);
    *plan = child;
    if (!is_changed) return NULL;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, child->column_count + 1);
    for (uint32_t i = 0; i < child->column_count; i++) {
        columns[i] = child->columns[i];
        exprs[i] = nl_expr_cast(arena, nl_column_ref(arena, &child->columns[i]), types[i], mode);
        if (is_same_type(child->columns[i].type, types[i])) continue;
        columns[i].id = nl_plan_new_id(env->context);
        columns[i].type = types[i];
        columns[i].comment = columns[i].metadata = (nl_str){0}; /* they were about the other type */
        columns[i].is_nullable = exprs[i]->is_nullable;
    }
    *plan = nl_logical_project(arena, child, columns, exprs, child->column_count);
    return NULL;
}

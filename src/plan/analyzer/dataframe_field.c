/* Structs with a field put in or taken out: Column.withField and dropFields. A null struct stays null. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"

typedef struct updating {
    nl_scope *scope;
    nl_arena *arena;
    const nl_str *path;
    uint32_t path_count;
    const nl_expr *value; /* NULL: the field is dropped */
    const nl_expr *shown; /* for errors */
} updating;

static nl_status update(updating *u, const nl_expr *base, uint32_t at, const nl_expr **result);

static void add_field(updating *u, const nl_expr **args, uint32_t *count, nl_str name, const nl_expr *value)
{
    const nl_value text = nl_value_string(name);
    args[(*count)++] = nl_expr_literal(u->arena, &text);
    args[(*count)++] = value;
}

static nl_status update_fields(updating *u, const nl_expr *base, uint32_t at, const nl_expr **args, uint32_t *count)
{
    const bool is_last = at + 1 == u->path_count;
    bool is_found = false;
    for (uint32_t i = 0; i < base->type->child_count; i++) {
        const nl_str name = base->type->children[i].name;
        const nl_expr *field = nl_expr_field(u->arena, base, i);
        const bool is_match = nl_names_equal(u->scope, name, u->path[at]);
        is_found = is_found || is_match;
        if (is_match && is_last && !u->value) continue;
        if (is_match && is_last) field = u->value;
        if (is_match && !is_last) NL_TRY(update(u, field, at + 1, &field));
        add_field(u, args, count, is_match && is_last ? u->path[at] : name, field);
    }
    if (is_found || !u->value) return NULL;
    if (!is_last) /* a.b where there is no a */
        return nl_extract_field(u->scope, base, u->path[at], &(const nl_expr *){0});
    add_field(u, args, count, u->path[at], u->value);
    return NULL;
}

static nl_status update(updating *u, const nl_expr *base, uint32_t at, const nl_expr **result)
{
    if (base->type->id != NL_TYPE_STRUCT)
        return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quote_expr(u->arena, u->shown)), NL_P("paramIndex", "first"),
                        NL_P("requiredType", "\"STRUCT\""), NL_P_STR("inputSql", nl_quote_expr(u->arena, base)), NL_P_STR("inputType", nl_quote_type(u->arena, base->type)));
    const nl_expr **args = NL_NEW_ARRAY(u->arena, const nl_expr *, 2 * base->type->child_count + 3);
    uint32_t count = 0;
    NL_TRY(update_fields(u, base, at, args, &count));
    if (count == 0) return NL_RAISE(DATATYPE_MISMATCH__CANNOT_DROP_ALL_FIELDS, NL_P_STR("sqlExpr", nl_quote_expr(u->arena, u->shown)));
    NL_TRY(nl_call_function(u->scope, NL_STR("named_struct"), args, count, result));
    if (!base->is_nullable) return NULL;
    const nl_value null = nl_value_null((*result)->type);
    *result = nl_expr_if(u->arena, nl_expr_is_null(u->arena, base, false), nl_expr_literal(u->arena, &null), *result);
    return NULL;
}

/* update_fields(s, WithField(1), dropfield()): a chain prints as one call. */
static const nl_pretty *pretty_of(nl_arena *arena, const nl_ast_expr *ast, const nl_expr *base, const nl_expr *value)
{
    if (ast->update.input->kind == NL_AST_EXPR_UPDATE_FIELD) {
        const nl_str before = nl_expr_pretty_str(arena, base); /* "update_fields(…)" */
        const nl_str added = value ? nl_arena_f(arena, "WithField(" NL_STR_FMT ")", NL_STR_ARG(nl_expr_pretty_str(arena, value))) : NL_STR("dropfield()");
        const nl_str open = nl_str_slice(before, 0, before.length - 1);
        return nl_pretty_text(arena, nl_arena_f(arena, NL_STR_FMT ", " NL_STR_FMT ")", NL_STR_ARG(open), NL_STR_ARG(added)));
    }
    const nl_pretty *const parts[] = {nl_expr_pretty(arena, base), value ? nl_expr_pretty(arena, value) : NULL};
    return nl_pretty_parts(arena, value ? NL_STR("update_fields(\1, WithField(\1))") : NL_STR("update_fields(\1, dropfield())"), parts, value ? 2 : 1);
}

nl_status nl_resolve_update_field(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    updating u = {.scope = scope, .arena = nl_scope_arena(scope)};
    const nl_expr *base = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->update.input, &base));
    if (ast->update.value) NL_TRY(nl_resolve_expr(scope, ast->update.value, &u.value));
    NL_TRY(nl_name_parts(scope, &ast->update.name, &u.path, &u.path_count));
    u.shown = nl_expr_with_pretty(u.arena, base, pretty_of(u.arena, ast, base, u.value));
    NL_TRY(update(&u, base, 0, result));
    *result = nl_expr_with_pretty(u.arena, *result, nl_expr_pretty(u.arena, u.shown));
    return NULL;
}

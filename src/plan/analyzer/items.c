/* The SELECT list: stars, names, lateral aliases, generators. */
#include "plan/analyzer/analyzer.h"

void nl_items_add(nl_arena *arena, nl_items *items, nl_item item)
{
    if (items->count == items->capacity) {
        const uint32_t capacity = items->capacity ? items->capacity * 2 : 16;
        nl_item *grown = NL_NEW_ARRAY(arena, nl_item, capacity);
        if (items->count) memcpy(grown, items->list, items->count * sizeof *grown);
        items->list = grown;
        items->capacity = capacity;
    }
    items->list[items->count++] = item;
}

const nl_column *nl_items_columns(nl_arena *arena, const nl_items *items)
{
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, items->count + 1);
    for (uint32_t i = 0; i < items->count; i++) {
        const nl_item *item = &items->list[i];
        columns[i] = (nl_column){
            .id = item->id,
            .name = item->name,
            .type = item->expr->type,
            .is_nullable = item->expr->is_nullable,
            .comment = item->comment,
            .metadata = item->metadata,
            .qualifier = item->qualifier,
            .qualifier_count = item->qualifier_count,
        };
    }
    return columns;
}

/* ---- stars ---- */

static bool qualifier_matches(const nl_scope *scope, const nl_column *column, const nl_str *parts, uint32_t count)
{
    if (count > column->qualifier_count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!nl_names_equal(scope, column->qualifier[column->qualifier_count - count + i], parts[i])) return false;
    return true;
}

static void add_column(nl_scope *scope, nl_items *items, const nl_column *column)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_items_add(arena, items,
                 (nl_item){.expr = nl_column_ref(arena, column),
                           .name = column->name,
                           .id = column->id,
                           .comment = column->comment,
                           .metadata = column->metadata,
                           .qualifier = column->qualifier,
                           .qualifier_count = column->qualifier_count,
                           .is_plain = true});
}

static nl_status expand_struct(nl_scope *scope, const nl_expr *base, nl_items *items)
{
    nl_arena *arena = nl_scope_arena(scope);
    for (uint32_t i = 0; i < base->type->child_count; i++) {
        const nl_expr *field = NULL;
        NL_TRY(nl_extract_field(scope, base, base->type->children[i].name, &field));
        nl_items_add(arena, items,
                     (nl_item){.expr = field, .name = base->type->children[i].name, .id = nl_plan_new_id(scope->env->context)});
    }
    return NULL;
}

static nl_status raise_star(nl_scope *scope, nl_column_set set, const nl_str *parts, uint32_t count)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, set.count + 1);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < set.count; i++)
        if (!set.columns[i].is_hidden) names[shown++] = nl_quote_name(arena, set.columns[i].name);
    return NL_RAISE(CANNOT_RESOLVE_STAR_EXPAND, NL_P_STR("targetString", nl_quote_names(arena, parts, count)),
                    NL_P_STR("columns", nl_join_texts(arena, names, shown, ", ")));
}

static nl_status expand_qualified(nl_scope *scope, const nl_ast_expr *star, nl_column_set set, nl_items *items)
{
    const nl_str *parts = NULL;
    uint32_t count = 0;
    NL_TRY(nl_name_parts(scope, &star->star.qualifier, &parts, &count));
    bool is_found = false;
    for (uint32_t i = 0; i < set.count; i++) {
        const nl_column *column = &set.columns[i];
        if ((column->is_hidden && !column->is_qualified_only) || !qualifier_matches(scope, column, parts, count)) continue;
        add_column(scope, items, column);
        is_found = true;
    }
    if (is_found) return NULL;
    for (uint32_t i = 0; scope->outer && scope->outer->set_count && i < scope->outer->sets[0].count; i++) {
        const nl_column *of_outer = &scope->outer->sets[0].columns[i];
        if (of_outer->is_hidden || !qualifier_matches(scope, of_outer, parts, count)) continue;
        const nl_expr *outer = nl_expr_outer(nl_scope_arena(scope), nl_column_ref(nl_scope_arena(scope), of_outer));
        nl_items_add(nl_scope_arena(scope), items, (nl_item){.expr = outer, .name = of_outer->name, .id = nl_plan_new_id(scope->env->context)});
        is_found = true;
    }
    if (is_found) return NULL;
    const nl_column *column = NULL;
    uint32_t matched = 0;
    NL_TRY(nl_find_column(scope, set, parts, count, &column, &matched));
    if (!column) return raise_star(scope, set, parts, count);
    const nl_expr *base = NULL;
    NL_TRY(nl_resolve_name(scope, parts, count, star->range, &base));
    if (base->type->id != NL_TYPE_STRUCT) return raise_star(scope, set, parts, count);
    return expand_struct(scope, base, items);
}

/* The struct without one of its fields: named_struct of the others. */
static nl_status without_field(nl_scope *scope, const nl_expr *base, const nl_str *path, uint32_t path_count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *type = base->type;
    if (type->id != NL_TYPE_STRUCT)
        return NL_RAISE(INVALID_EXTRACT_BASE_FIELD_TYPE, NL_P_STR("base", nl_quote_expr(arena, base)), NL_P_STR("other", nl_quote_type(arena, type)));
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, 2 * type->child_count + 1);
    uint32_t count = 0;
    bool is_found = false;
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_expr *field = nl_expr_field(arena, base, i);
        if (nl_names_equal(scope, type->children[i].name, path[0])) {
            is_found = true;
            if (path_count == 1) continue;
            NL_TRY(without_field(scope, field, path + 1, path_count - 1, &field));
        }
        const nl_value name = nl_value_string(type->children[i].name);
        args[count++] = nl_expr_literal(arena, &name);
        args[count++] = field;
    }
    if (!is_found) {
        nl_str *names = NL_NEW_ARRAY(arena, nl_str, type->child_count + 1);
        for (uint32_t i = 0; i < type->child_count; i++) names[i] = nl_quote_name(arena, type->children[i].name);
        return NL_RAISE(FIELD_NOT_FOUND, NL_P_STR("fieldName", nl_quote_name(arena, path[0])),
                        NL_P_STR("fields", nl_join_texts(arena, names, type->child_count, ", ")));
    }
    return nl_call_function(scope, NL_STR("named_struct"), args, count, result);
}

/* parts[0 … k] name the item, what follows k a field inside it. Takes it, or the field, out. */
static nl_status except_match(nl_scope *scope, const nl_str *parts, uint32_t count, uint32_t k, nl_items *items, uint32_t start, bool *is_found)
{
    uint32_t kept = start;
    for (uint32_t i = start; i < items->count; i++) {
        nl_item item = items->list[i];
        const nl_column qualifier = {.qualifier = item.qualifier, .qualifier_count = item.qualifier_count};
        const bool is_match = nl_names_equal(scope, item.name, parts[k]) && k <= item.qualifier_count && qualifier_matches(scope, &qualifier, parts, k);
        *is_found = *is_found || is_match;
        if (is_match && k + 1 == count) continue;
        if (is_match) {
            NL_TRY(without_field(scope, item.expr, parts + k + 1, count - k - 1, &item.expr));
            item.is_plain = false;
            item.id = nl_plan_new_id(scope->env->context);
        }
        items->list[kept++] = item;
    }
    items->count = kept;
    return NULL;
}

static nl_status except_one(nl_scope *scope, const nl_ast_name *name, nl_items *items, uint32_t start)
{
    const nl_str *parts = NULL;
    uint32_t count = 0;
    NL_TRY(nl_name_parts(scope, name, &parts, &count));
    bool is_found = false;
    for (uint32_t k = count; k-- > 0 && !is_found;) NL_TRY(except_match(scope, parts, count, k, items, start, &is_found));
    return is_found ? NULL : nl_raise_unresolved(scope, parts, count);
}

static bool is_prefix(const nl_scope *scope, const nl_ast_name *a, const nl_ast_name *b)
{
    for (uint32_t i = 0; i < a->count && a->count <= b->count; i++)
        if (!nl_names_equal(scope, a->parts[i].text, b->parts[i].text)) return false;
    return a->count && a->count <= b->count;
}

/* No name twice, and no field of what is left out whole. */
static nl_status check_except(const nl_scope *scope, const nl_ast_names *except)
{
    nl_arena *arena = nl_scope_arena(scope);
    bool overlaps = false;
    nl_str list = {0};
    for (uint32_t i = 0; i < except->count; i++) {
        nl_str name = {0};
        for (uint32_t j = 0; j < except->count; j++) overlaps = overlaps || (i != j && is_prefix(scope, &except->items[i], &except->items[j]));
        for (uint32_t k = 0; k < except->items[i].count; k++) name = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(name), k ? "." : "", NL_STR_ARG(except->items[i].parts[k].text));
        list = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(list), i ? ", " : "", NL_STR_ARG(name));
    }
    return overlaps ? NL_RAISE(EXCEPT_OVERLAPPING_COLUMNS, NL_P_STR("columns", list)) : NULL;
}

/* df.* and df.colRegex("…"). */
static nl_status expand_some(nl_scope *scope, const nl_ast_expr *star, nl_column_set set, nl_items *items)
{
    bool *is_match = NL_NEW_ARRAY(nl_scope_arena(scope), bool, set.count + 1);
    const nl_str *parts = NULL;
    uint32_t count = 0;
    if (star->star.qualifier.count) NL_TRY(nl_name_parts(scope, &star->star.qualifier, &parts, &count));
    if (star->star.pattern.data) NL_TRY(nl_column_pattern(scope, star->star.pattern, set, is_match));
    for (uint32_t i = 0; i < set.count; i++) {
        const bool is_other = (star->star.pattern.data && !is_match[i]) || !qualifier_matches(scope, &set.columns[i], parts, count);
        if (set.columns[i].is_hidden || is_other || (star->has_plan_id && !nl_term_has_column(scope, star->plan_id, set.columns[i].id))) continue;
        add_column(scope, items, &set.columns[i]);
    }
    return NULL;
}

nl_status nl_expand_star(nl_scope *scope, const nl_ast_expr *star, nl_items *items)
{
    const nl_column_set set = scope->set_count ? scope->sets[0] : (nl_column_set){0};
    const uint32_t start = items->count;
    nl_status status = NULL;
    if (star->star.pattern.data || star->has_plan_id) {
        status = expand_some(scope, star, set, items);
    } else if (star->star.qualifier.count) {
        status = expand_qualified(scope, star, set, items);
    } else {
        for (uint32_t i = 0; i < set.count; i++)
            if (!set.columns[i].is_hidden) add_column(scope, items, &set.columns[i]);
    }
    if (!status) status = check_except(scope, &star->star.except);
    for (uint32_t i = 0; !status && i < star->star.except.count; i++) status = except_one(scope, &star->star.except.items[i], items, start);
    return nl_sql_at(status, scope->env->text, star->range, false);
}

/* ---- names ---- */

static bool is_attribute(const nl_expr *expr)
{
    return expr->kind == NL_EXPR_COLUMN || expr->kind == NL_EXPR_OUTER;
}

nl_str nl_item_name(nl_scope *scope, const nl_ast_expr *ast, const nl_expr *expr)
{
    if (ast->kind == NL_AST_EXPR_COLUMN && ast->column.count) {
        const bool is_function = (expr->kind == NL_EXPR_CALL || expr->kind == NL_EXPR_GROUPING) && expr->child_count == 0;
        if (!is_function) return ast->column.parts[ast->column.count - 1].text;
    }
    if (ast->kind == NL_AST_EXPR_COLUMN && is_attribute(expr)) return expr->name;
    if (ast->kind == NL_AST_EXPR_CAST && ast->cast.input->kind == NL_AST_EXPR_COLUMN) {
        const nl_expr *inner = expr->kind == NL_EXPR_CAST ? expr->children[0] : expr;
        if (is_attribute(inner)) return inner->name;
    }
    return nl_expr_pretty_str(nl_scope_arena(scope), expr);
}

/* ---- generators ---- */

bool nl_is_table_generator(nl_str name)
{
    return nl_str_is_nocase(name, "variant_explode") || nl_str_is_nocase(name, "variant_explode_outer");
}

static const nl_ast_expr *generator_call(nl_scope *scope, const nl_ast_expr *ast)
{
    if (ast->kind != NL_AST_EXPR_CALL || ast->call.over || ast->call.name.count != 1) return NULL;
    const nl_function_row *const *rows = NULL;
    (void)scope;
    if (!nl_function_find(ast->call.name.parts[0].text, &rows)) return NULL;
    return rows[0]->kind == NL_FUNCTION_GENERATOR && !nl_is_table_generator(ast->call.name.parts[0].text) ? ast : NULL;
}

nl_status nl_make_generator(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, nl_select_generator *generator)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_bound_function *bound = NULL;
    const nl_expr **cast = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    NL_TRY(nl_bind_function(scope, name, args, count, (nl_bind_flags){0}, &bound, cast));
    const nl_str suffix = NL_STR("_outer");
    generator->function = bound;
    generator->arguments = cast;
    generator->argument_count = count;
    generator->is_outer = name.length > suffix.length &&
                          nl_str_equal_nocase(nl_str_slice(name, name.length - suffix.length, name.length), suffix);
    const nl_type *type = bound->result_type;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++) {
        columns[i].id = nl_plan_new_id(scope->env->context);
        columns[i].name = type->children[i].name;
        columns[i].type = type->children[i].type;
        columns[i].is_nullable = type->children[i].is_nullable || generator->is_outer;
    }
    generator->columns = columns;
    generator->column_count = type->child_count;
    return NULL;
}

const nl_logical *nl_generator_plan(nl_arena *arena, const nl_select_generator *generator, const nl_logical *child)
{
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_GENERATE, &child, 1);
    const uint32_t count = child->column_count + generator->column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    if (child->column_count) memcpy(columns, child->columns, child->column_count * sizeof *columns);
    memcpy(columns + child->column_count, generator->columns, generator->column_count * sizeof *columns);
    plan->columns = columns;
    plan->column_count = count;
    plan->generate.generator = generator->function;
    plan->generate.arguments = generator->arguments;
    plan->generate.argument_count = generator->argument_count;
    plan->generate.is_outer = generator->is_outer;
    return plan;
}

static nl_status call_arguments(nl_scope *scope, const nl_ast_expr *call, const nl_expr ***args, uint32_t *count)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_ast_arguments given;
    NL_TRY(nl_positional_arguments(scope, call->call.name.parts[0].text, &call->call.args, &given));
    *count = given.count;
    *args = NL_NEW_ARRAY(arena, const nl_expr *, *count + 1);
    for (uint32_t i = 0; i < *count; i++) NL_TRY(nl_resolve_expr(scope, given.items[i].value, &(*args)[i]));
    return NULL;
}

static nl_status add_generator(nl_scope *scope, const nl_ast_expr *call, const nl_ast_idents *names, nl_items *items, nl_list *generators)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **args = NULL;
    uint32_t count = 0;
    NL_TRY(call_arguments(scope, call, &args, &count));
    nl_select_generator *generator = NL_NEW(arena, nl_select_generator);
    NL_TRY(nl_make_generator(scope, call->call.name.parts[0].text, args, count, generator));
    nl_list_add(arena, generators, generator);
    if (names && names->count != generator->column_count) {
        nl_str *texts = NL_NEW_ARRAY(arena, nl_str, names->count + 1);
        for (uint32_t i = 0; i < names->count; i++) texts[i] = names->items[i].text;
        return NL_RAISE(UDTF_ALIAS_NUMBER_MISMATCH, NL_P_INT("aliasesSize", generator->column_count),
                        NL_P_STR("aliasesNames", nl_join_texts(arena, texts, names->count, ", ")));
    }
    for (uint32_t i = 0; i < generator->column_count; i++) {
        const nl_column *column = &generator->columns[i];
        nl_items_add(arena, items,
                     (nl_item){.ast = call,
                               .expr = nl_column_ref(arena, column),
                               .name = names ? names->items[i].text : column->name,
                               .id = column->id,
                               .has_alias = names != NULL, /* what follows in the list may use it */
                               .is_plain = true,
                               .is_generated = true});
    }
    return NULL;
}

/* ---- the list ---- */

/* Spark marks the names that it has made up itself, but for those of literals, casts of columns and fields. */
static bool is_named_by_analyzer(const nl_ast_expr *ast, const nl_expr *expr)
{
    if (ast->kind == NL_AST_EXPR_COLUMN || ast->kind == NL_AST_EXPR_LITERAL || ast->kind == NL_AST_EXPR_SUBSCRIPT || ast->kind == NL_AST_EXPR_FIELD) return false;
    return ast->kind != NL_AST_EXPR_CAST || expr->kind != NL_EXPR_CAST || !is_attribute(expr->children[0]);
}

static nl_status add_expression(nl_scope *scope, const nl_ast_expr *ast, nl_items *items)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool has_alias = ast->kind == NL_AST_EXPR_ALIAS;
    const nl_ast_expr *value = has_alias ? ast->alias.input : ast;
    if (has_alias && ast->alias.names.count > 1)
        return NL_RAISE(MULTI_ALIAS_WITHOUT_GENERATOR, NL_P("expr", "\"expression\""), NL_P("names", "several"));
    nl_item item = {.ast = value, .has_alias = has_alias};
    scope->level = 0;
    NL_TRY(nl_resolve_expr(scope, value, &item.expr));
    item.level = scope->level;
    const bool is_numbered = nl_scope_confs(scope)->is_trino && !has_alias && value->kind != NL_AST_EXPR_COLUMN; /* Trino's _col0, _col1 … */
    item.name = has_alias ? ast->alias.names.items[0].text : is_numbered ? nl_arena_f(arena, "_col%u", items->count) : nl_item_name(scope, value, item.expr);
    item.is_plain = !has_alias && item.level == 0 && item.expr->kind == NL_EXPR_COLUMN;
    item.id = item.is_plain ? item.expr->column : nl_plan_new_id(scope->env->context);
    if (item.expr->kind == NL_EXPR_COLUMN && item.level == 0) {
        for (uint32_t i = 0; i < scope->sets[0].count; i++) {
            const nl_column *column = &scope->sets[0].columns[i];
            if (column->id != item.expr->column) continue;
            if (value->kind != NL_AST_EXPR_CAST) { /* one that changes nothing is no longer seen */
                item.comment = column->comment;
                item.metadata = column->metadata;
            }
            item.qualifier = has_alias ? NULL : column->qualifier;
            item.qualifier_count = has_alias ? 0 : column->qualifier_count;
        }
    }
    if (item.expr->kind == NL_EXPR_FIELD && item.expr->children[0]->type->id == NL_TYPE_STRUCT)
        item.comment = item.expr->children[0]->type->children[item.expr->ordinal].comment;
    if (has_alias && ast->alias.metadata.length) item.metadata = ast->alias.metadata;
    if (!has_alias && is_named_by_analyzer(value, item.expr)) item.metadata = NL_STR("{\"__autoGeneratedAlias\":\"true\"}");
    nl_items_add(arena, items, item);
    return NULL;
}

nl_status nl_resolve_items(nl_scope *scope, const nl_ast_exprs *list, nl_items *items, nl_list *generators)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const nl_ast_expr *ast = list->items[i];
        const bool has_alias = ast->kind == NL_AST_EXPR_ALIAS;
        const nl_ast_expr *call = generator_call(scope, has_alias ? ast->alias.input : ast);
        if (ast->kind == NL_AST_EXPR_STAR)
            NL_TRY(nl_expand_star(scope, ast, items));
        else if (call)
            NL_TRY(nl_sql_at(add_generator(scope, call, has_alias ? &ast->alias.names : NULL, items, generators), scope->env->text, ast->range, false));
        else
            NL_TRY(nl_sql_at(add_expression(scope, ast, items), scope->env->text, ast->range, false));
    }
    return NULL;
}

/* command/show.c - SHOW CATALOGS, NAMESPACES, TABLES, VIEWS, FUNCTIONS, CURRENT NAMESPACE; what concerns one table is in
 * show_table.c. */
#include "command/command_private.h"
#include "command/plain_tables.h"

#include <stdlib.h>

static nl_status text_columns(nl_command *command, const char *const *names, uint32_t count, nl_rows **rows)
{
    nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, count);
    for (uint32_t i = 0; i < count; i++)
        fields[i] = (nl_field){.name = nl_str_from(names[i]), .type = nl_type_string()};
    return nl_command_rows(command, fields, count, rows);
}

static nl_str join_parts(nl_command *command, const nl_str *parts, uint32_t part_count)
{
    nl_str joined = {"", 0};
    for (uint32_t i = 0; i < part_count; i++)
        joined = i ? nl_arena_f(command->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(joined), NL_STR_ARG(parts[i])) : parts[i];
    return joined;
}

static nl_status resolve_scope(nl_command *command, const nl_ast_show *show, nl_session_name *scope)
{
    const nl_str *parts = NULL;
    uint32_t part_count = 0;
    NL_TRY(nl_command_name(command, &show->name, &parts, &part_count));
    return nl_session_resolve_namespace(command->session, parts, part_count, command->arena, scope);
}

static nl_status show_catalogs(nl_command *command, const nl_ast_show *show)
{
    const nl_str *names;
    uint32_t name_count;
    nl_rows *rows = NULL;
    nl_session_catalog_names(command->session, command->arena, &names, &name_count);
    NL_TRY(text_columns(command, (const char *const[]){"catalog"}, 1, &rows));
    for (uint32_t i = 0; i < name_count; i++)
        if (nl_command_matches(show->pattern, names[i])) NL_TRY(nl_rows_add_text(rows, &names[i]));
    return NULL;
}

static nl_status show_current_namespace(nl_command *command)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_rows *rows = NULL;
    nl_session_current_namespace(command->session, &parts, &part_count);
    NL_TRY(text_columns(command, (const char *const[]){"catalog", "namespace"}, 2, &rows));
    return nl_rows_add_text(rows, (const nl_str[]){nl_session_current_catalog(command->session), join_parts(command, parts, part_count)});
}

static nl_status add_namespace(const nl_ast_show *show, nl_str name, nl_rows *rows)
{
    return nl_command_matches(show->pattern, name) ? nl_rows_add_text(rows, &name) : NULL;
}

static nl_status show_namespaces(nl_command *command, const nl_ast_show *show)
{
    nl_session_name scope;
    nl_name_list list = {0};
    nl_rows *rows = NULL;
    NL_TRY(resolve_scope(command, show, &scope));
    if (show->name.count == 0 && !show->name.expression) scope.identifier.namespace_count = 0; /* the catalog's top level */
    NL_TRY(nl_catalog_list_namespaces(scope.catalog, scope.identifier.namespace_parts, scope.identifier.namespace_count, command->arena, &list));
    NL_TRY(text_columns(command, (const char *const[]){"namespace"}, 1, &rows));
    /* The session catalog has its default database without any doing. */
    nl_str initial = nl_str_is(scope.catalog_name, "spark_catalog") && scope.identifier.namespace_count == 0 ? NL_STR("default") : (nl_str){0};
    for (uint32_t i = 0; i < list.count; i++) {
        const nl_identifier *item = &list.items[i];
        const nl_str name = join_parts(command, item->namespace_parts, item->namespace_count);
        if (initial.data && nl_str_compare(initial, name) < 0) NL_TRY(add_namespace(show, initial, rows));
        if (initial.data && nl_str_compare(initial, name) <= 0) initial = (nl_str){0};
        if (nl_command_matches(show->pattern, item->namespace_parts[item->namespace_count - 1])) NL_TRY(nl_rows_add_text(rows, &name));
    }
    return initial.data ? add_namespace(show, initial, rows) : NULL;
}

static nl_status name_rows(nl_command *command, const char *name_column, nl_rows **rows)
{
    const nl_field fields[] = {
        {.name = NL_STR("namespace"), .type = nl_type_string()},
        {.name = nl_str_from(name_column), .type = nl_type_string()},
        {.name = NL_STR("isTemporary"), .type = nl_type_boolean()},
    };
    return nl_command_rows(command, fields, NL_COUNT(fields), rows);
}

static nl_status add_name(nl_rows *rows, nl_str scope, nl_str name, bool is_temporary)
{
    const nl_value values[] = {nl_value_string(scope), nl_value_string(name), nl_value_boolean(is_temporary)};
    return nl_rows_add(rows, values);
}

/* Temporary views, and those that live in the namespace for the session (their names hold the whole path). */
static nl_status add_views(nl_command *command, const nl_session_name *scope, nl_str pattern, nl_rows *rows)
{
    nl_session_name inside = *scope;
    inside.identifier.name = (nl_str){0};
    const nl_str prefix = nl_arena_f(command->arena, NL_STR_FMT ".", NL_STR_ARG(nl_command_dotted_name(command, &inside)));
    const nl_str scope_name = join_parts(command, scope->identifier.namespace_parts, scope->identifier.namespace_count);
    const nl_list views = nl_session_views(command->session, command->arena);
    for (uint32_t i = 0; i < views.count; i++) {
        const nl_temp_view *view = views.items[i];
        const bool is_persistent = nl_str_find_char(view->name, '.', 0) != NL_NOT_FOUND;
        if (is_persistent && !nl_str_starts(view->name, prefix)) continue;
        if (view->is_global && !nl_str_is_nocase(scope_name, "global_temp")) continue; /* they have a namespace of their own */
        const nl_str name = is_persistent ? nl_str_slice(view->name, prefix.length, view->name.length) : view->name;
        if (!nl_command_matches(pattern, name)) continue;
        const nl_str shown_scope = is_persistent ? scope_name : view->is_global ? NL_STR("global_temp") : NL_STR("");
        NL_TRY(add_name(rows, shown_scope, name, !is_persistent));
    }
    return NULL;
}

static nl_status add_plain_tables(nl_command *command, const nl_session_name *scope, nl_str pattern, nl_rows *rows)
{
    const nl_str scope_name = join_parts(command, scope->identifier.namespace_parts, scope->identifier.namespace_count);
    const nl_list tables = nl_session_plain_tables(command->session, command->arena);
    for (uint32_t i = 0; i < tables.count; i++) {
        const nl_plain_table *table = tables.items[i];
        const nl_str own = join_parts(command, table->namespace_parts, table->namespace_count);
        if (nl_str_equal_nocase(own, scope_name) && nl_command_matches(pattern, table->name)) NL_TRY(add_name(rows, own, table->name, false));
    }
    return NULL;
}

/* The session catalog's default namespace is there before anything was written into it. */
nl_status nl_command_list_tables(nl_command *command, const nl_session_name *scope, nl_name_list *list)
{
    const nl_identifier *identifier = &scope->identifier;
    bool exists = true;
    if (nl_str_is(scope->catalog_name, "spark_catalog")) { /* which has words of its own for one that is not there */
        NL_TRY(nl_catalog_namespace_exists(scope->catalog, identifier->namespace_parts, identifier->namespace_count, &exists));
        if (!exists && !nl_session_is_default_database(scope)) return nl_schema_not_found(command, scope);
    }
    return exists ? nl_catalog_list_tables(scope->catalog, identifier->namespace_parts, identifier->namespace_count, command->arena, list) : NULL;
}

static nl_status show_tables(nl_command *command, const nl_ast_show *show)
{
    nl_session_name scope;
    nl_name_list list = {0};
    nl_rows *rows = NULL;
    NL_TRY(resolve_scope(command, show, &scope));
    NL_TRY(nl_command_list_tables(command, &scope, &list));
    NL_TRY(name_rows(command, "tableName", &rows));
    nl_command_set_kind(command, NL_RESULT_SHOW_TABLES);
    for (uint32_t i = 0; i < list.count; i++) {
        const nl_identifier *item = &list.items[i];
        if (nl_command_matches(show->pattern, item->name))
            NL_TRY(add_name(rows, join_parts(command, item->namespace_parts, item->namespace_count), item->name, false));
    }
    if (nl_str_is(scope.catalog_name, "spark_catalog")) NL_TRY(add_plain_tables(command, &scope, show->pattern, rows));
    /* The session catalog lists temporary views among its tables; other catalogs do not. */
    return nl_str_is(scope.catalog_name, "spark_catalog") ? add_views(command, &scope, show->pattern, rows) : NULL;
}

static nl_status show_views(nl_command *command, const nl_ast_show *show)
{
    nl_session_name scope;
    nl_rows *rows = NULL;
    NL_TRY(resolve_scope(command, show, &scope));
    NL_TRY(name_rows(command, "viewName", &rows));
    if (nl_str_is(scope.catalog_name, "spark_catalog")) nl_command_set_kind(command, NL_RESULT_SHOW_TABLES);
    if (scope.catalog->ops->has_views) {
        nl_name_list list = {0};
        NL_TRY(scope.catalog->ops->list_views(scope.catalog, scope.identifier.namespace_parts, scope.identifier.namespace_count, command->arena, &list));
        for (uint32_t i = 0; i < list.count; i++) {
            const nl_identifier *item = &list.items[i];
            if (nl_command_matches(show->pattern, item->name)) NL_TRY(add_name(rows, join_parts(command, item->namespace_parts, item->namespace_count), item->name, false));
        }
    }
    return add_views(command, &scope, show->pattern, rows);
}

static int compare_texts(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static nl_status show_functions(nl_command *command, const nl_ast_show *show)
{
    nl_list names = {0};
    nl_rows *rows = NULL;
    const nl_function_row *row;
    nl_str pattern = show->pattern;
    if (show->legacy_pattern.count > 0) pattern = show->legacy_pattern.parts[show->legacy_pattern.count - 1].text;
    const bool is_user = nl_str_is_nocase(show->scope.text, "USER"), is_system = nl_str_is_nocase(show->scope.text, "SYSTEM");
    const nl_list own = nl_session_functions(command->session, command->arena);
    for (uint32_t i = 0; !is_system && i < own.count; i++)
        nl_list_add(command->arena, &names, NL_UNCONST(nl_str_c(command->arena, ((const nl_session_function *)own.items[i])->name)));
    for (uint32_t i = 0; !is_user && (row = nl_function_at(i)) != NULL; i++) {
        if (row->is_internal) continue;
        nl_list_add(command->arena, &names, (void *)(uintptr_t)row->name);
        nl_str aliases = nl_str_from(row->aliases), alias;
        while (nl_str_next_part(&aliases, ',', &alias))
            nl_list_add(command->arena, &names, (void *)(uintptr_t)nl_str_c(command->arena, nl_str_trim(alias)));
    }
    nl_str *texts = NL_NEW_ARRAY(command->arena, nl_str, names.count);
    for (uint32_t i = 0; i < names.count; i++)
        texts[i] = nl_str_from(names.items[i]);
    qsort(texts, names.count, sizeof(*texts), compare_texts);
    NL_TRY(text_columns(command, (const char *const[]){"function"}, 1, &rows));
    for (uint32_t i = 0; i < names.count; i++) {
        const bool is_repeated = i > 0 && nl_str_equal(texts[i], texts[i - 1]);
        if (!is_repeated && nl_command_matches(pattern, texts[i])) NL_TRY(nl_rows_add_text(rows, &texts[i]));
    }
    return NULL;
}

nl_status nl_run_show(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_show *show = statement->show;
    switch (show->kind) {
    case NL_AST_SHOW_CATALOGS: return show_catalogs(command, show);
    case NL_AST_SHOW_CURRENT_NAMESPACE: return show_current_namespace(command);
    case NL_AST_SHOW_NAMESPACES: return show_namespaces(command, show);
    case NL_AST_SHOW_TABLES: return show_tables(command, show);
    case NL_AST_SHOW_VIEWS: return show_views(command, show);
    case NL_AST_SHOW_FUNCTIONS: return show_functions(command, show);
    case NL_AST_SHOW_TABLE_EXTENDED:
    case NL_AST_SHOW_TBLPROPERTIES:
    case NL_AST_SHOW_COLUMNS:
    case NL_AST_SHOW_PARTITIONS:
    case NL_AST_SHOW_CREATE_TABLE: break;
    }
    return nl_run_show_table(command, statement);
}

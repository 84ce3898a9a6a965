/* command/namespaces.c - USE, SET CATALOG, CREATE, ALTER and DROP NAMESPACE. */
#include "command/cached.h"
#include "command/views.h"
#include "command/plain_tables.h"
#include "iceberg/operation.h"

nl_status nl_schema_not_found(nl_command *command, const nl_session_name *name)
{
    return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_command_quoted_name(command, name)));
}

static nl_status resolve(nl_command *command, const nl_ast_name *ast, nl_session_name *name)
{
    const nl_str *parts;
    uint32_t part_count;
    NL_TRY(nl_command_name(command, ast, &parts, &part_count));
    return nl_session_resolve_namespace(command->session, parts, part_count, command->arena, name);
}

/* A catalog's own default namespace need not exist. */
static nl_status check_usable(nl_command *command, const nl_session_name *name)
{
    bool exists = false;
    if (name->identifier.namespace_count == 0) return NULL;
    const nl_str initial = nl_session_default_namespace(command->session, name->catalog_name);
    if (name->identifier.namespace_count == 1 && nl_str_equal(name->identifier.namespace_parts[0], initial)) return NULL;
    NL_TRY(nl_catalog_namespace_exists(name->catalog, name->identifier.namespace_parts, name->identifier.namespace_count, &exists));
    return exists ? NULL : nl_schema_not_found(command, name);
}

nl_status nl_run_use(nl_command *command, const nl_ast_statement *statement)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_session_name name;
    NL_TRY(nl_command_name(command, &statement->use->name, &parts, &part_count));
    NL_TRY(nl_session_resolve_namespace(command->session, parts, part_count, command->arena, &name));
    if (name.identifier.namespace_count == 0) { /* USE catalog: nothing changes when it is the current one */
        if (nl_str_equal(name.catalog_name, nl_session_current_catalog(command->session))) return NULL;
        const nl_str initial = nl_session_default_namespace(command->session, name.catalog_name);
        return nl_session_use(command->session, name.catalog_name, &initial, 1);
    }
    NL_TRY(check_usable(command, &name));
    return nl_session_use(command->session, name.catalog_name, name.identifier.namespace_parts, name.identifier.namespace_count);
}

nl_status nl_run_set_catalog(nl_command *command, const nl_ast_statement *statement)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_catalog *catalog = NULL;
    NL_TRY(nl_command_name(command, &statement->set_catalog->name, &parts, &part_count));
    NL_TRY(nl_session_catalog(command->session, parts[0], &catalog));
    const nl_str initial = nl_session_default_namespace(command->session, catalog->name);
    return nl_session_use(command->session, catalog->name, &initial, 1);
}

nl_status nl_run_create_namespace(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_create_namespace *create = statement->create_namespace;
    nl_session_name name;
    const nl_property *given;
    uint32_t given_count;
    bool exists = false;
    NL_TRY(resolve(command, &create->name, &name));
    nl_command_properties(command, create->properties, &given, &given_count);
    nl_property *properties = NL_NEW_ARRAY(command->arena, nl_property, given_count + 4);
    memcpy(properties, given, given_count * sizeof(*given));
    uint32_t count = given_count;
    if (create->has_comment) properties[count++] = (nl_property){NL_STR("comment"), create->comment};
    if (create->location.data) properties[count++] = (nl_property){NL_STR("location"), create->location};
    /* As Spark; Iceberg leaves it out again where it is alone and the catalog keeps no properties. */
    if (count > 0 || strcmp(name.catalog->ops->type, "hadoop") != 0) properties[count++] = (nl_property){NL_STR("owner"), nl_session_user(command->session)};
    NL_TRY(nl_catalog_namespace_exists(name.catalog, name.identifier.namespace_parts, name.identifier.namespace_count, &exists));
    if (exists && create->is_if_not_exists) return NULL;
    if (exists || (nl_session_is_default_database(&name) && !create->is_if_not_exists))
        return NL_RAISE(SCHEMA_ALREADY_EXISTS,
                        NL_P_STR("schemaName", nl_command_quoted(command, name.identifier.namespace_parts, name.identifier.namespace_count)));
    return nl_catalog_create_namespace(name.catalog, name.identifier.namespace_parts, name.identifier.namespace_count, properties, count);
}

nl_status nl_run_alter_namespace(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_alter_namespace *alter = statement->alter_namespace;
    nl_session_name name;
    const nl_property *items;
    uint32_t count;
    NL_TRY(resolve(command, &alter->name, &name));
    NL_TRY(check_usable(command, &name));
    nl_command_properties(command, alter->properties, &items, &count);
    const nl_str *parts = name.identifier.namespace_parts;
    const uint32_t part_count = name.identifier.namespace_count;
    if (alter->action == NL_AST_NAMESPACE_SET_LOCATION) {
        const nl_property location = {NL_STR("location"), alter->location};
        return nl_catalog_update_namespace(name.catalog, parts, part_count, &location, 1, NULL, 0);
    }
    if (alter->action == NL_AST_NAMESPACE_SET_PROPERTIES) return nl_catalog_update_namespace(name.catalog, parts, part_count, items, count, NULL, 0);
    nl_str *removed = NL_NEW_ARRAY(command->arena, nl_str, count);
    for (uint32_t i = 0; i < count; i++)
        removed[i] = items[i].key;
    return nl_catalog_update_namespace(name.catalog, parts, part_count, NULL, 0, removed, count);
}

static nl_status count_entry(void *argument, const nl_file_info *info)
{
    (void)info;
    (*(uint64_t *)argument)++;
    return NULL;
}

/* What lies in a namespace of the session catalog: by its own list for tables, by the beginning of full names for the rest. */
typedef struct contents {
    nl_list plain_tables; /* const nl_plain_table *     */
    nl_list views;        /* const nl_temp_view *       */
    nl_list functions;    /* const nl_session_function * */
    nl_name_list tables;  /* of the catalog             */
} contents;

static bool is_inside(nl_str full_name, nl_str prefix)
{
    return full_name.length > prefix.length && nl_str_equal_nocase(nl_str_slice(full_name, 0, prefix.length), prefix) &&
           nl_str_find_char(nl_str_slice(full_name, prefix.length, full_name.length), '.', 0) == NL_NOT_FOUND;
}

static bool is_namespace_of(const nl_plain_table *table, const nl_identifier *scope)
{
    if (table->namespace_count != scope->namespace_count) return false;
    for (uint32_t i = 0; i < scope->namespace_count; i++)
        if (!nl_str_equal_nocase(table->namespace_parts[i], scope->namespace_parts[i])) return false;
    return true;
}

static nl_status find_contents(nl_command *command, const nl_session_name *scope, contents *found)
{
    nl_arena *arena = command->arena;
    const nl_str prefix = nl_arena_f(arena, NL_STR_FMT ".", NL_STR_ARG(nl_command_dotted_name(command, scope)));
    const nl_list plain_tables = nl_session_plain_tables(command->session, arena), views = nl_session_views(command->session, arena);
    const nl_list functions = nl_session_functions(command->session, arena);
    for (uint32_t i = 0; i < plain_tables.count; i++)
        if (is_namespace_of(plain_tables.items[i], &scope->identifier)) nl_list_add(arena, &found->plain_tables, plain_tables.items[i]);
    for (uint32_t i = 0; i < views.count; i++)
        if (is_inside(((const nl_temp_view *)views.items[i])->name, prefix)) nl_list_add(arena, &found->views, views.items[i]);
    for (uint32_t i = 0; i < functions.count; i++)
        if (is_inside(((const nl_session_function *)functions.items[i])->name, prefix)) nl_list_add(arena, &found->functions, functions.items[i]);
    return nl_catalog_list_tables(scope->catalog, scope->identifier.namespace_parts, scope->identifier.namespace_count, arena, &found->tables);
}

/* CASCADE. The folder of its tables goes, too, unless something else lies there. */
static nl_status drop_contents(nl_command *command, const nl_session_name *scope, const contents *found)
{
    nl_fs *fs = NULL;
    nl_str folder;
    uint64_t count = 0;
    bool was_dropped;
    for (uint32_t i = 0; i < found->plain_tables.count; i++) NL_TRY(nl_plain_drop(command, found->plain_tables.items[i]));
    for (uint32_t i = 0; i < found->views.count; i++) nl_session_drop_view(command->session, ((const nl_temp_view *)found->views.items[i])->name, false);
    for (uint32_t i = 0; i < found->functions.count; i++) nl_session_drop_function(command->session, ((const nl_session_function *)found->functions.items[i])->name, false);
    for (uint32_t i = 0; i < found->tables.count; i++) NL_TRY(nl_catalog_drop_table(scope->catalog, &found->tables.items[i], false, &was_dropped));
    if (found->plain_tables.count == 0) return NULL;
    NL_TRY(nl_plain_namespace_folder(command, scope->identifier.namespace_parts, scope->identifier.namespace_count, &folder));
    NL_TRY(nl_session_files(command->session, &fs));
    nl_status status = nl_fs_list(fs, folder, false, count_entry, &count);
    if (!status && count == 0) status = nl_fs_remove_tree(fs, folder);
    nl_error_free(status); /* an empty folder that stays does no harm */
    return NULL;
}

/* Spark's session catalog empties a namespace when it is told to; others refuse one that is not empty, whatever is said. */
static nl_status empty_namespace(nl_command *command, const nl_ast_drop *drop, const nl_session_name *scope)
{
    contents found = {0};
    if (!nl_str_is(scope->catalog_name, "spark_catalog")) return NULL;
    NL_TRY(find_contents(command, scope, &found));
    const bool is_empty = found.plain_tables.count + found.views.count + found.functions.count + found.tables.count == 0;
    if (is_empty || drop->is_cascade) return drop_contents(command, scope, &found);
    return NL_RAISE(SCHEMA_NOT_EMPTY, NL_P_STR("schemaName", nl_command_quoted(command, scope->identifier.namespace_parts, scope->identifier.namespace_count)));
}

static nl_status drop_namespace(nl_command *command, const nl_ast_drop *drop)
{
    nl_session_name name;
    bool exists = false, was_dropped = false;
    NL_TRY(resolve(command, &drop->name, &name));
    if (nl_session_is_default_database(&name))
        return NL_RAISE(UNSUPPORTED_FEATURE__DROP_DATABASE, NL_P("database", "`spark_catalog`.`default`"));
    NL_TRY(nl_session_namespace_exists(&name, &exists));
    if (!exists) return drop->is_if_exists ? NULL : nl_schema_not_found(command, &name);
    NL_TRY(empty_namespace(command, drop, &name));
    return nl_catalog_drop_namespace(name.catalog, name.identifier.namespace_parts, name.identifier.namespace_count, &was_dropped);
}

static nl_status drop_table(nl_command *command, const nl_ast_drop *drop)
{
    nl_session_name name;
    bool was_dropped = false;
    const nl_str *parts;
    uint32_t part_count;
    NL_TRY(nl_command_name(command, &drop->name, &parts, &part_count));
    const bool is_global = part_count == 2 && nl_str_is_nocase(parts[0], "global_temp");
    if ((part_count == 1 || is_global) && nl_session_drop_view(command->session, parts[part_count - 1], is_global)) return NULL; /* as Spark does */
    NL_TRY(nl_command_refuse_view(command, &drop->name, "DROP TABLE"));
    NL_TRY(nl_session_resolve(command->session, parts, part_count, command->arena, &name));
    const nl_plain_table *plain;
    NL_TRY(nl_plain_find(command, &name, &plain));
    if (plain) return nl_plain_drop(command, plain);
    NL_TRY(nl_catalog_drop_table(name.catalog, &name.identifier, drop->is_purge, &was_dropped));
    if (was_dropped || drop->is_if_exists) return NULL;
    NL_TRY(nl_check_session_namespace(command, &name));
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_command_quoted_name(command, &name)));
}

static nl_status drop_view(nl_command *command, const nl_ast_drop *drop)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_session_name name;
    NL_TRY(nl_command_name(command, &drop->name, &parts, &part_count));
    const bool is_global = part_count == 2 && nl_str_is_nocase(parts[0], "global_temp");
    if ((part_count == 1 || is_global) && nl_session_drop_view(command->session, parts[part_count - 1], is_global)) return NULL;
    NL_TRY(nl_session_resolve(command->session, parts, part_count, command->arena, &name));
    if (nl_session_drop_view(command->session, nl_command_dotted_name(command, &name), false)) return NULL;
    bool was_dropped = false;
    if (name.catalog->ops->has_views) NL_TRY(nl_say_unknown(name.catalog->ops->drop_view(name.catalog, &name.identifier, &was_dropped), "dropping", name.identifier.name));
    if (was_dropped || drop->is_if_exists) return NULL;
    NL_TRY(nl_check_session_namespace(command, &name));
    name.catalog_name = (nl_str){0};
    return NL_RAISE(VIEW_NOT_FOUND, NL_P_STR("relationName", nl_command_dotted_name(command, &name)));
}

static nl_status drop_variable(nl_command *command, const nl_ast_drop *drop)
{
    const nl_str *parts;
    uint32_t part_count;
    NL_TRY(nl_command_name(command, &drop->name, &parts, &part_count));
    if (nl_session_drop_variable(command->session, parts[part_count - 1]) || drop->is_if_exists) return NULL;
    const nl_str full[] = {NL_STR("system"), NL_STR("session"), parts[part_count - 1]};
    return NL_RAISE(VARIABLE_NOT_FOUND, NL_P_STR("variableName", nl_command_quoted(command, full, NL_COUNT(full))));
}

/* What is kept of a relation goes with it; one that cannot be analyzed has nothing. */
static void uncache(nl_command *command, const nl_ast_name *name)
{
    const nl_str *parts;
    uint32_t count;
    if (nl_cached_is_empty(command->session)) return;
    nl_status status = nl_command_name(command, name, &parts, &count);
    if (!status) status = nl_cached_drop_name(command, parts, count, count > 1);
    nl_error_free(status);
}

nl_status nl_run_drop(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_drop *drop = statement->drop;
    if (drop->object == NL_AST_OBJECT_TABLE || drop->object == NL_AST_OBJECT_VIEW) uncache(command, &drop->name);
    switch (drop->object) {
    case NL_AST_OBJECT_NAMESPACE: return drop_namespace(command, drop);
    case NL_AST_OBJECT_TABLE: return drop_table(command, drop);
    case NL_AST_OBJECT_VIEW: return drop_view(command, drop);
    case NL_AST_OBJECT_VARIABLE: return drop_variable(command, drop);
    case NL_AST_OBJECT_FUNCTION: return nl_drop_function(command, drop);
    case NL_AST_OBJECT_INDEX: break;
    }
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Iceberg tables have no indexes");
}

/* command/views.c - CREATE [TEMPORARY] VIEW, CREATE TEMPORARY VIEW … USING, and views that live as long as the program. */
#include "command/catalog_views.h"

#include "exec/sources.h"
#include "function/collation.h"
#include "plan/char_type.h"

const nl_temp_view *nl_command_find_view(nl_command *command, const nl_str *parts, uint32_t part_count)
{
    const bool is_global = part_count == 2 && nl_str_is_nocase(parts[0], "global_temp");
    if (part_count == 1 || is_global) {
        const nl_temp_view *view = nl_session_find_view(command->session, parts[part_count - 1], is_global, command->arena);
        if (view) return view;
    }
    nl_session_name name;
    nl_error *error = nl_session_resolve(command->session, parts, part_count, command->arena, &name);
    if (!error) return nl_session_find_view(command->session, nl_command_dotted_name(command, &name), false, command->arena);
    nl_error_free(error);
    return NULL;
}

bool nl_view_is_permanent(const nl_temp_view *view)
{
    return view && nl_str_find_char(view->name, '.', 0) != NL_NOT_FOUND;
}

nl_temp_view *nl_view_copy(nl_arena *arena, const nl_temp_view *view)
{
    nl_temp_view *copy = NL_NEW(arena, nl_temp_view);
    *copy = nl_temp_view_copy(arena, view);
    if (copy->handle) copy->handle = copy->retain(copy->handle);
    return copy;
}

nl_status nl_command_refuse_view(nl_command *command, const nl_ast_name *name, const char *operation)
{
    const nl_str *parts;
    uint32_t count;
    NL_TRY(nl_command_name(command, name, &parts, &count));
    if (!nl_command_find_view(command, parts, count)) return NULL;
    return nl_command_at(command, NL_RAISE(EXPECT_TABLE_NOT_VIEW__NO_ALTERNATIVE, NL_P("operation", operation),
                                           NL_P_STR("viewName", nl_command_quoted(command, parts, count))),
                         name->range);
}

nl_status nl_check_session_namespace(nl_command *command, const nl_session_name *name)
{
    if (!nl_str_is(name->catalog_name, "spark_catalog") || name->identifier.namespace_count < 2) return NULL;
    return NL_RAISE(REQUIRES_SINGLE_PART_NAMESPACE, NL_P("sessionCatalog", "spark_catalog"),
                    NL_P_STR("namespace", nl_command_quoted(command, name->identifier.namespace_parts, name->identifier.namespace_count)));
}

nl_status nl_view_raise_temporary(nl_command *command, const char *operation, const nl_temp_view *view)
{
    return NL_RAISE(EXPECT_PERMANENT_VIEW_NOT_TEMP, NL_P("operation", operation), NL_P_STR("viewName", nl_command_quoted(command, &view->name, 1)));
}

static nl_str lower(nl_arena *arena, nl_str text)
{
    char *made = NL_NEW_ARRAY(arena, char, text.length + 1);
    for (size_t i = 0; i < text.length; i++) made[i] = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] + 'a' - 'A') : text.data[i];
    return (nl_str){made, text.length};
}

nl_status nl_view_check_columns(nl_command *command, const nl_logical *plan, const nl_field *names, uint32_t name_count)
{
    const uint32_t count = names ? name_count : plan->column_count;
    const bool is_exact = command->context.is_case_sensitive;
    for (uint32_t i = 0; i < count; i++) {
        const nl_str name = names ? names[i].name : plan->columns[i].name;
        for (uint32_t j = 0; j < i; j++) {
            const nl_str other = names ? names[j].name : plan->columns[j].name;
            if (!(is_exact ? nl_str_equal(name, other) : nl_str_equal_nocase(name, other))) continue;
            const nl_str shown = is_exact ? name : lower(command->arena, name);
            return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", nl_command_quoted(command, &shown, 1)));
        }
    }
    return NULL;
}

nl_status nl_view_set_columns(nl_command *command, const nl_logical *plan, const nl_ast_view_column *named, nl_temp_view *view)
{
    nl_field *columns = NL_NEW_ARRAY(command->arena, nl_field, plan->column_count + 1);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const nl_column *column = &plan->columns[i];
        if (column->is_hidden) continue;
        names[count] = column->name;
        const nl_type *type = NULL;
        NL_TRY(nl_raw_type(command->arena, column, &type));
        columns[count] = (nl_field){.name = named ? named[count].name.text : column->name,
                                    .type = type,
                                    .is_nullable = column->is_nullable,
                                    .comment = named && named[count].has_comment ? named[count].comment : column->comment};
        count++;
    }
    view->columns = columns;
    view->query_columns = names;
    view->column_count = count;
    return nl_view_check_columns(command, plan, columns, count);
}

const char *nl_schema_binding_words(nl_ast_schema_binding binding)
{
    switch (binding) {
    case NL_AST_BINDING_UNSAID: return "";
    case NL_AST_BINDING_BINDING: return "BINDING";
    case NL_AST_BINDING_COMPENSATION: return "COMPENSATION";
    case NL_AST_BINDING_TYPE_EVOLUTION: return "TYPE EVOLUTION";
    case NL_AST_BINDING_EVOLUTION: return "EVOLUTION";
    }
    return "";
}

const char *nl_view_binding_words(nl_command *command, const nl_temp_view *view)
{
    if (!nl_session_get_bool(command->session, "spark.sql.legacy.viewSchemaBindingMode")) return "";
    return nl_schema_binding_words(view->binding == NL_AST_BINDING_UNSAID ? NL_AST_BINDING_BINDING : view->binding);
}

nl_status nl_view_set_binding(nl_command *command, nl_ast_schema_binding said, nl_temp_view *view)
{
    view->binding = said;
    if (!nl_session_get_bool(command->session, "spark.sql.legacy.viewSchemaBindingMode")) {
        if (said == NL_AST_BINDING_UNSAID) return NULL;
        return NL_RAISE(FEATURE_NOT_ENABLED, NL_P("featureName", "VIEW ... WITH SCHEMA ..."), NL_P("configKey", "spark.sql.legacy.viewSchemaBindingMode"), NL_P("configValue", "true"));
    }
    const bool is_compensated = nl_session_get_bool(command->session, "spark.sql.legacy.viewSchemaCompensation");
    if (said == NL_AST_BINDING_UNSAID) view->binding = is_compensated ? NL_AST_BINDING_COMPENSATION : NL_AST_BINDING_BINDING;
    return NULL;
}

nl_status nl_view_analyze(nl_command *command, const nl_temp_view *view, const nl_ast_query *query, const nl_logical **plan)
{
    command->made_view = view;
    command->context.collation = view->collation;
    nl_status status = nl_analyze_query(&command->context, query, plan);
    command->context.collation = (nl_str){0};
    return status;
}

static nl_status set_collation(nl_command *command, const nl_ast_ident *said, nl_temp_view *view)
{
    nl_collation collation;
    if (!said->text.data) return NULL;
    NL_TRY(nl_collation_find(command->arena, said->text, &collation));
    view->collation = collation.name;
    return NULL;
}

/* The query is analyzed once at creation: what it lacks is said now, and its column names are known. */
static nl_status check_query(nl_command *command, const nl_ast_create_view *create, nl_temp_view *view)
{
    const nl_logical *plan = NULL;
    NL_TRY(nl_view_analyze(command, view, create->query, &plan));
    const bool is_permanent = nl_view_is_permanent(view);
    if (create->column_count == 0) return is_permanent ? nl_view_set_columns(command, plan, NULL, view) : nl_view_check_columns(command, plan, NULL, 0);
    if (create->column_count != plan->column_count) {
        const bool has_too_few = create->column_count > plan->column_count;
        const nl_str name = view->name;
        if (has_too_few)
            return NL_RAISE(CREATE_VIEW_COLUMN_ARITY_MISMATCH__NOT_ENOUGH_DATA_COLUMNS, NL_P_STR("viewName", name), NL_P("viewColumns", ""), NL_P("dataColumns", ""));
        return NL_RAISE(CREATE_VIEW_COLUMN_ARITY_MISMATCH__TOO_MANY_DATA_COLUMNS, NL_P_STR("viewName", name), NL_P("viewColumns", ""), NL_P("dataColumns", ""));
    }
    NL_TRY(nl_view_set_columns(command, plan, create->columns, view));
    if (!is_permanent) view->query_columns = NULL;
    return NULL;
}

static nl_status temporary_name(nl_command *command, const nl_ast_create_view *create, const nl_str *parts, uint32_t part_count, nl_str *name)
{
    (void)create;
    if (part_count != 1)
        return NL_RAISE(TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS, NL_P_STR("actualName", nl_command_quoted(command, parts, part_count)));
    *name = parts[0];
    return NULL;
}

/* Hadoop catalogs have no views. Only the catalogs that are there without any configuration keep them, for the session's
 * life; one that the user configured under the name `local` is as any other. */
static bool keeps_session_views(nl_command *command, nl_str catalog)
{
    if (nl_str_is(catalog, "spark_catalog")) return true;
    return nl_str_is(catalog, "local") && !nl_session_get(command->session, NL_STR("spark.sql.catalog.local")).data;
}

static nl_status persistent_name(nl_command *command, const nl_str *parts, uint32_t part_count, nl_str *name)
{
    nl_session_name resolved;
    bool exists = false;
    NL_TRY(nl_session_resolve(command->session, parts, part_count, command->arena, &resolved));
    if (!keeps_session_views(command, resolved.catalog_name))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Creating a view is not supported by catalog: " NL_STR_FMT, NL_STR_ARG(resolved.catalog_name));
    NL_TRY(nl_check_session_namespace(command, &resolved));
    NL_TRY(nl_catalog_table_exists(resolved.catalog, &resolved.identifier, &exists));
    if (exists) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_command_quoted_name(command, &resolved)));
    *name = nl_command_dotted_name(command, &resolved);
    if (nl_str_is(resolved.catalog_name, "spark_catalog")) *name = lower(command->arena, *name); /* as the metastore keeps them */
    return NULL;
}

nl_status nl_run_create_view(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_create_view *create = statement->create_view;
    const nl_str *parts;
    uint32_t part_count;
    nl_temp_view view = {.is_global = create->is_global, .sql = create->query_text, .comment = create->comment};
    NL_TRY(nl_command_name(command, &create->name, &parts, &part_count));
    if (!create->is_temporary && !create->is_global) {
        nl_session_name name;
        NL_TRY(nl_session_resolve(command->session, parts, part_count, command->arena, &name));
        if (name.catalog->ops->has_views) return nl_catalog_view_create(command, create, &name);
    }
    if (create->is_temporary || create->is_global)
        NL_TRY(temporary_name(command, create, parts, part_count, &view.name));
    else
        NL_TRY(persistent_name(command, parts, part_count, &view.name));
    if (nl_view_is_permanent(&view)) NL_TRY(nl_command_at(command, nl_view_set_binding(command, create->binding, &view), create->name.range));
    const bool evolves_names = view.binding == NL_AST_BINDING_EVOLUTION && create->column_count > 0; /* names that the user gave stay */
    if (evolves_names) view.binding = NL_AST_BINDING_TYPE_EVOLUTION;
    view.created_micros = command->confs.now_micros;
    NL_TRY(set_collation(command, &create->collation, &view));
    NL_TRY(check_query(command, create, &view));
    view.catalog = nl_session_current_catalog(command->session);
    nl_session_current_namespace(command->session, &view.namespace_parts, &view.namespace_count);
    nl_command_properties(command, create->properties, &view.properties, &view.property_count);
    if (create->is_if_not_exists && nl_session_find_view(command->session, view.name, view.is_global, command->arena)) return NULL;
    return nl_session_put_view(command->session, &view, create->is_replace);
}

static void *retain_source(void *handle)
{
    return NL_UNCONST(nl_table_retain(handle));
}

static void release_source(void *handle)
{
    nl_table_release(handle);
}

/* The path may stand among the options in any case: OPTIONS (PATH '…'). */
static nl_str option_value(const nl_property *options, uint32_t option_count, const char *key)
{
    for (uint32_t i = 0; i < option_count; i++)
        if (nl_str_is_nocase(options[i].key, key)) return options[i].value;
    return (nl_str){0};
}

nl_status nl_run_create_temp_view_using(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_create_temp_view_using *create = statement->create_temp_view_using;
    const nl_str *parts, *provider;
    uint32_t part_count, provider_count, option_count;
    const nl_property *options;
    const nl_type *schema = NULL;
    const nl_table *source = NULL;
    NL_TRY(nl_command_name(command, &create->name, &parts, &part_count));
    NL_TRY(nl_command_name(command, &create->provider, &provider, &provider_count));
    if (part_count != 1)
        return NL_RAISE(TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS, NL_P_STR("actualName", nl_command_quoted(command, parts, part_count)));
    if (create->has_columns) NL_TRY(nl_ast_fields_to_type(command->arena, &create->columns, &schema));
    nl_command_properties(command, create->options, &options, &option_count);
    const nl_str path = option_value(options, option_count, "path");
    const nl_str format = provider[provider_count - 1];
    const bool is_jdbc = nl_str_is_nocase(format, "jdbc");
    if (is_jdbc) NL_TRY(nl_command_jdbc_source(command, options, option_count, nl_session_memory(command->session), &source));
    if (!is_jdbc && !nl_file_format_is_known(format)) return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", format));
    if (!is_jdbc && !path.data && !schema) return NL_RAISE(UNABLE_TO_INFER_SCHEMA, NL_P("format", nl_file_format_title(format)));
    /* The source outlives the statement: it is paid for by the session. */
    nl_fs *fs = NULL;
    NL_TRY(nl_session_files(command->session, &fs));
    if (!is_jdbc) NL_TRY(nl_file_source_new(fs, format, &path, path.data != NULL, options, option_count, schema, &command->confs, nl_session_memory(command->session), &source));
    const nl_temp_view view = {.name = parts[0], .is_global = create->is_global, .created_micros = command->confs.now_micros, .handle = (void *)(uintptr_t)source, .retain = retain_source, .free = release_source};
    return nl_session_put_view(command->session, &view, create->is_replace);
}

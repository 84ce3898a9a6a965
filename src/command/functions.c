/* command/functions.c - CREATE FUNCTION and DROP FUNCTION of functions written in SQL. Temporary ones live as long as the session, others as the program. */
#include "command/command_private.h"

#include "function/text.h"

static nl_str quoted(nl_command *command, const nl_str *parts, uint32_t count)
{
    return nl_command_quoted(command, parts, count);
}

/* A temporary function's name is one part; a permanent one is kept under its full name. */
static nl_status stored_name(nl_command *command, const nl_str *parts, uint32_t count, bool is_temporary, nl_str *name)
{
    *name = parts[count - 1];
    if (is_temporary) return NULL;
    nl_session_name resolved;
    NL_TRY(nl_session_resolve(command->session, parts, count, command->arena, &resolved));
    if (!nl_str_is(resolved.catalog_name, "local") && !nl_str_is(resolved.catalog_name, "spark_catalog"))
        return NL_RAISE(_LEGACY_ERROR_TEMP_1184, NL_P_STR("plugin", resolved.catalog_name), NL_P("ability", "CREATE FUNCTION"));
    *name = nl_command_dotted_name(command, &resolved);
    return NULL;
}

static nl_status check_type(const nl_ast_type *type)
{
    const bool is_text = type->kind == NL_AST_TYPE_SIMPLE && !type->made && (nl_str_is_nocase(type->name, "char") || nl_str_is_nocase(type->name, "character") || nl_str_is_nocase(type->name, "varchar"));
    return is_text ? NL_RAISE(UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING) : NULL;
}

/* The whole list is shown. */
static nl_status raise_not_null(const nl_command *command, nl_ast_range first, nl_ast_range last)
{
    return NL_RAISE(USER_DEFINED_FUNCTIONS__NOT_NULL_ON_FUNCTION_PARAMETERS, NL_P_STR("input", nl_str_slice(command->text, first.start, last.stop)));
}

static nl_str lower_quoted(nl_command *command, nl_str name)
{
    nl_builder text;
    nl_builder_init(&text, 4096);
    nl_text_append_lower(name, &text);
    const nl_str lower = nl_arena_str(command->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return quoted(command, &lower, 1);
}

/* The columns of RETURNS TABLE (…). */
static nl_status check_outputs(nl_command *command, const nl_ast_create_function *create)
{
    const nl_ast_fields *fields = &create->table_columns;
    for (uint32_t i = 0; i < fields->count; i++) {
        if (fields->items[i].is_not_null) return raise_not_null(command, fields->items[0].range, fields->items[fields->count - 1].range);
        NL_TRY(check_type(fields->items[i].type));
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(fields->items[i].name.text, fields->items[j].name.text))
                return NL_RAISE(DUPLICATE_ROUTINE_RETURNS_COLUMNS, NL_P_STR("routineName", create->name.parts[create->name.count - 1].text),
                                NL_P_STR("columns", lower_quoted(command, fields->items[j].name.text)));
    }
    return create->returns ? check_type(create->returns) : NULL;
}

static nl_status check_parameters(nl_command *command, const nl_ast_create_function *create, const nl_column **columns)
{
    const uint32_t count = create->parameters.count;
    const nl_ast_ident function = create->name.parts[create->name.count - 1];
    nl_column *list = NL_NEW_ARRAY(command->arena, nl_column, count + 1);
    nl_str *qualifier = NL_NEW_ARRAY(command->arena, nl_str, 1);
    qualifier[0] = function.text;
    for (uint32_t i = 0; i < count; i++) {
        const nl_ast_column_definition *parameter = &create->parameters.items[i];
        if (parameter->is_not_null)
            return raise_not_null(command, create->parameters.items[0].range, create->parameters.items[count - 1].range);
        NL_TRY(check_type(parameter->type));
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(parameter->name.text, create->parameters.items[j].name.text))
                return NL_RAISE(DUPLICATE_ROUTINE_PARAMETER_NAMES, NL_P_STR("routineName", function.text),
                                NL_P_STR("names", lower_quoted(command, create->parameters.items[j].name.text)));
        if (i > 0 && create->parameters.items[i - 1].default_value && !parameter->default_value)
            return NL_RAISE(USER_DEFINED_FUNCTIONS__NOT_A_VALID_DEFAULT_PARAMETER_POSITION, NL_P_STR("functionName", function.text),
                            NL_P_STR("parameterName", create->parameters.items[i - 1].name.text), NL_P_STR("nextParameterName", parameter->name.text));
        list[i] = (nl_column){.id = nl_plan_new_id(&command->context), .name = parameter->name.text, .is_nullable = true, .qualifier = qualifier,
                              .qualifier_count = 1};
        NL_TRY(nl_ast_type_to_type(command->arena, parameter->type, &list[i].type));
    }
    *columns = list;
    return NULL;
}

static bool find_complex(void *context, const nl_expr *expr)
{
    if (expr->kind == NL_EXPR_AGGREGATE || expr->kind == NL_EXPR_WINDOW) *(bool *)context = true;
    return true;
}

/* The body is analyzed over its parameters, so that what it lacks is said now. */
static nl_status check_body(nl_command *command, const nl_ast_create_function *create, nl_str full_name, nl_str shown)
{
    const nl_column *columns = NULL;
    const nl_expr *body = NULL;
    const nl_type *type = NULL;
    bool is_complex = false;
    NL_TRY(check_parameters(command, create, &columns));
    NL_TRY(check_outputs(command, create));
    if (create->is_table && !create->body_query)
        return NL_RAISE(USER_DEFINED_FUNCTIONS__SQL_TABLE_UDF_BODY_MUST_BE_A_QUERY, NL_P_STR("name", create->name.parts[create->name.count - 1].text));
    if (create->returns) NL_TRY(nl_ast_type_to_type(command->arena, create->returns, &type));
    const nl_sql_function made = {.function = create, .text = command->text, .full_name = full_name, .is_temporary = create->is_temporary};
    if (!create->is_temporary) command->made_function = shown;
    nl_status status = nl_analyze_sql_function(&command->context, &made, columns, &body);
    command->made_function = (nl_str){0};
    NL_TRY(status);
    if (!body) return NULL;
    nl_expr_walk(body, find_complex, &is_complex);
    if (is_complex) return NL_RAISE(USER_DEFINED_FUNCTIONS__CANNOT_CONTAIN_COMPLEX_FUNCTIONS, NL_P_STR("queryText", create->body_text));
    return NULL;
}

/* As errors show it: with its namespace. */
static nl_str shown_name(nl_command *command, const nl_str *parts, uint32_t count)
{
    if (count > 1) return quoted(command, parts, count);
    const nl_str *current;
    uint32_t current_count;
    nl_session_current_namespace(command->session, &current, &current_count);
    nl_str *all = NL_NEW_ARRAY(command->arena, nl_str, current_count + 2);
    for (uint32_t i = 0; i < current_count; i++) all[i] = current[i];
    all[current_count] = parts[0];
    return quoted(command, all, current_count + 1);
}

nl_status nl_run_create_function(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_create_function *create = statement->create_function;
    const nl_str *parts;
    uint32_t count;
    nl_session_function function = {.is_temporary = create->is_temporary, .is_ansi = command->confs.is_ansi, .text = command->text};
    NL_TRY(nl_command_name(command, &create->name, &parts, &count));
    if (create->is_temporary && count == 2) /* IDENTIFIER(…) hid it from the parser */
        return NL_RAISE(INVALID_SQL_SYNTAX__CREATE_TEMP_FUNC_WITH_DATABASE, NL_P_STR("database", quoted(command, parts, 1)));
    if (create->class_name.data)
        return NL_RAISE(CANNOT_LOAD_FUNCTION_CLASS, NL_P_STR("className", create->class_name), NL_P_STR("functionName", quoted(command, parts, count)));
    NL_TRY(stored_name(command, parts, count, create->is_temporary, &function.name));
    const bool exists = nl_session_find_function(command->session, function.name, create->is_temporary, command->arena) != NULL;
    if (exists && create->is_if_not_exists) return NULL;
    if (exists && !create->is_replace)
        return NL_RAISE(ROUTINE_ALREADY_EXISTS, NL_P("newRoutineType", "routine"), NL_P("existingRoutineType", "routine"),
                        NL_P_STR("routineName", quoted(command, parts, count)));
    NL_TRY(check_body(command, create, function.name, shown_name(command, parts, count)));
    function.catalog = nl_session_current_catalog(command->session);
    nl_session_current_namespace(command->session, &function.namespace_parts, &function.namespace_count);
    return nl_session_put_function(command->session, &function);
}

nl_status nl_drop_function(nl_command *command, const nl_ast_drop *drop)
{
    const nl_str *parts;
    uint32_t count;
    nl_str name;
    const nl_function_row *const *rows = NULL;
    NL_TRY(nl_command_name(command, &drop->name, &parts, &count));
    const bool is_builtin = count == 1 && nl_function_find(parts[0], &rows) > 0;
    if (drop->is_temporary && count > 1)
        return NL_RAISE(INVALID_SQL_SYNTAX__MULTI_PART_NAME, NL_P("statement", "DROP TEMPORARY FUNCTION"), NL_P_STR("name", quoted(command, parts, count)));
    if (drop->is_temporary && is_builtin) return NL_RAISE(_LEGACY_ERROR_TEMP_1255, NL_P_STR("functionName", parts[0]));
    if (is_builtin && !drop->is_if_exists)
        return NL_RAISE(_LEGACY_ERROR_TEMP_1017, NL_P_STR("name", parts[0]), NL_P("cmd", "DROP FUNCTION"), NL_P("hintStr", ""));
    if (drop->is_temporary) {
        if (nl_session_drop_function(command->session, parts[count - 1], true) || drop->is_if_exists) return NULL;
        return NL_RAISE(ROUTINE_NOT_FOUND, NL_P_STR("routineName", quoted(command, parts, count)));
    }
    nl_session_name resolved;
    NL_TRY(nl_session_resolve(command->session, parts, count, command->arena, &resolved));
    name = nl_command_dotted_name(command, &resolved);
    if (nl_session_drop_function(command->session, name, false) || drop->is_if_exists) return NULL;
    return nl_command_raise_routine(command, parts, count, drop->name.range);
}

nl_status nl_command_raise_routine(nl_command *command, const nl_str *parts, uint32_t count, nl_ast_range range)
{
    const nl_str *current;
    uint32_t current_count;
    nl_session_current_namespace(command->session, &current, &current_count);
    const nl_session_name scope = {.catalog_name = nl_session_current_catalog(command->session),
                                   .identifier = {.namespace_parts = current, .namespace_count = current_count}};
    const nl_str path = nl_arena_f(command->arena, "[`system`.`builtin`, `system`.`session`, " NL_STR_FMT "]", NL_STR_ARG(nl_command_quoted_name(command, &scope)));
    return nl_command_at(command, NL_RAISE(UNRESOLVED_ROUTINE, NL_P_STR("routineName", quoted(command, parts, count)), NL_P_STR("searchPath", path)), range);
}

const nl_session_function *nl_command_find_function(nl_command *command, const nl_str *parts, uint32_t count)
{
    const bool is_session = count == 1 || (count == 2 && nl_str_is_nocase(parts[0], "session"));
    const nl_session_function *found = is_session ? nl_session_find_function(command->session, parts[count - 1], true, command->arena) : NULL;
    if (found) return found;
    nl_session_name name;
    nl_error *error = nl_session_resolve(command->session, parts, count, command->arena, &name);
    if (!error) return nl_session_find_function(command->session, nl_command_dotted_name(command, &name), false, command->arena);
    nl_error_free(error);
    return NULL;
}

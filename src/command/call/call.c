/* command/call/call.c - CALL: the procedure is found, its arguments are bound by place and name, its table is opened. */
#include "command/call/procedure.h"

bool nl_call_has(const nl_call *call, uint32_t parameter)
{
    return call->arguments[parameter].type && !call->arguments[parameter].is_null;
}

nl_str nl_call_text(const nl_call *call, uint32_t parameter)
{
    return nl_call_has(call, parameter) ? call->arguments[parameter].text : (nl_str){0};
}

int64_t nl_call_int(const nl_call *call, uint32_t parameter, int64_t fallback)
{
    return nl_call_has(call, parameter) ? call->arguments[parameter].integer : fallback;
}

bool nl_call_bool(const nl_call *call, uint32_t parameter, bool fallback)
{
    return nl_call_has(call, parameter) ? call->arguments[parameter].boolean : fallback;
}

int64_t nl_call_ms(const nl_call *call, uint32_t parameter)
{
    return nl_floor_div(nl_call_int(call, parameter, 0), 1000);
}

void nl_call_map(const nl_call *call, uint32_t parameter, const nl_property **items, uint32_t *count)
{
    *items = NULL;
    *count = 0;
    if (!nl_call_has(call, parameter)) return;
    const nl_value *map = &call->arguments[parameter];
    nl_property *list = NL_NEW_ARRAY(call->command->arena, nl_property, map->list.count / 2);
    for (uint32_t i = 0; i + 1 < map->list.count; i += 2)
        list[(*count)++] = (nl_property){map->list.items[i].text, map->list.items[i + 1].text};
    *items = list;
}

nl_status nl_call_numbers(nl_call *call, const int64_t *values)
{
    nl_value row[NL_OUTPUTS_MAX];
    for (uint32_t i = 0; call->procedure->outputs[i].name; i++) {
        const nl_output_column *output = &call->procedure->outputs[i];
        const bool is_null = output->is_nullable && values[i] == NL_NONE;
        row[i] = is_null ? nl_value_null(nl_type_of(output->type)) : nl_value_int(nl_type_of(output->type), values[i]);
    }
    nl_error *error = nl_rows_add(call->rows, row);
    if (error) nl_error_set_kind(error, NL_KIND_UNKNOWN_STATE); /* the work is done, only the answer is lost */
    return error;
}

/* ---- finding and binding --------------------------------------------------------------------------------------- */

static const nl_procedure *find_procedure(nl_str name)
{
    const nl_procedure *procedure;
    for (uint32_t i = 0; (procedure = nl_procedure_at(i)) != NULL; i++)
        if (nl_str_is_nocase(name, procedure->name)) return procedure;
    return NULL;
}

/* catalog.system.name, or system.name in the current catalog. */
static nl_status resolve_procedure(nl_call *call, const nl_ast_name *name)
{
    nl_session_name resolved;
    NL_TRY(nl_command_table_name(call->command, name, &resolved));
    const bool is_system = resolved.identifier.namespace_count == 1 && nl_str_is_nocase(resolved.identifier.namespace_parts[0], "system");
    call->catalog = resolved.catalog;
    call->catalog_name = resolved.catalog_name;
    call->procedure = is_system ? find_procedure(resolved.identifier.name) : NULL;
    if (call->procedure) return NULL;
    return NL_RAISE(FAILED_TO_LOAD_ROUTINE, NL_P_STR("routineName", nl_command_quoted_name(call->command, &resolved)));
}

static const nl_type *parameter_type(nl_arena *arena, nl_parameter_type type)
{
    switch (type) {
    case NL_PARAMETER_STRING: return nl_type_string();
    case NL_PARAMETER_BIGINT: return nl_type_bigint();
    case NL_PARAMETER_INT: return nl_type_int();
    case NL_PARAMETER_BOOLEAN: return nl_type_boolean();
    case NL_PARAMETER_TIMESTAMP: return nl_type_of(NL_TYPE_TIMESTAMP);
    case NL_PARAMETER_MAP: return nl_type_map(arena, nl_type_string(), nl_type_string(), true);
    case NL_PARAMETER_BIGINTS: return nl_type_array(arena, nl_type_bigint(), true);
    case NL_PARAMETER_STRINGS: return nl_type_array(arena, nl_type_string(), true);
    }
    return nl_type_string();
}

static uint32_t parameter_count(const nl_procedure *procedure)
{
    uint32_t count = 0;
    while (procedure->parameters[count].name)
        count++;
    return count;
}

static nl_str quoted(nl_call *call, nl_str text)
{
    return nl_arena_f(call->command->arena, "`" NL_STR_FMT "`", NL_STR_ARG(text));
}

static nl_str routine_name(nl_call *call)
{
    return quoted(call, nl_str_from(call->procedure->name));
}

static nl_status find_parameter(nl_call *call, const nl_ast_argument *argument, uint32_t position, bool *seen_named, uint32_t *parameter)
{
    const uint32_t count = parameter_count(call->procedure);
    if (!argument->name.text.data) {
        if (*seen_named)
            return NL_RAISE(UNEXPECTED_POSITIONAL_ARGUMENT, NL_P_STR("routineName", routine_name(call)),
                            NL_P_STR("parameterName", quoted(call, position < count ? nl_str_from(call->procedure->parameters[position].name) : NL_STR("?"))));
        if (position >= count)
            return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P_STR("functionName", routine_name(call)), NL_P_INT("expectedNum", count),
                            NL_P_INT("actualNum", position + 1), NL_P("docroot", "https://spark.apache.org/docs/latest"));
        *parameter = position;
        return NULL;
    }
    *seen_named = true;
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(argument->name.text, call->procedure->parameters[i].name)) {
            *parameter = i;
            if (call->arguments[i].type)
                return NL_RAISE(DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT__DOUBLE_NAMED_ARGUMENT_REFERENCE, NL_P_STR("routineName", routine_name(call)),
                                NL_P_STR("parameterName", quoted(call, argument->name.text)));
            return NULL;
        }
    nl_builder proposal;
    nl_builder_init(&proposal, 1 << 16);
    for (uint32_t i = 0; i < count; i++)
        nl_append_f(&proposal, "%s`%s`", i ? ", " : "", call->procedure->parameters[i].name);
    nl_status status = NL_RAISE(UNRECOGNIZED_PARAMETER_NAME, NL_P_STR("routineName", routine_name(call)),
                                NL_P_STR("argumentName", quoted(call, argument->name.text)), NL_P("proposal", nl_builder_c(&proposal)));
    nl_builder_fini(&proposal);
    return status;
}

static nl_status bind_arguments(nl_call *call, const nl_ast_arguments *arguments)
{
    nl_command *command = call->command;
    bool seen_named = false;
    for (uint32_t i = 0; i < arguments->count; i++) {
        uint32_t at = 0;
        nl_value value;
        NL_TRY(find_parameter(call, &arguments->items[i], i, &seen_named, &at));
        NL_TRY(nl_analyze_constant(&command->context, arguments->items[i].value, &value));
        const nl_type *type = parameter_type(command->arena, call->procedure->parameters[at].type);
        NL_TRY(nl_cast_value(command->arena, &command->confs, NL_CAST_ANSI, &value, type, &call->arguments[at]));
    }
    for (uint32_t i = 0; call->procedure->parameters[i].name; i++)
        if (call->procedure->parameters[i].is_required && !nl_call_has(call, i))
            return NL_RAISE(REQUIRED_PARAMETER_NOT_FOUND, NL_P_STR("routineName", routine_name(call)),
                            NL_P_STR("parameterName", quoted(call, nl_str_from(call->procedure->parameters[i].name))), NL_P_INT("index", i));
    return NULL;
}

/* The argument names a table of the procedure's catalog; the catalog's own name may stand in front. */
static nl_status name_table(nl_call *call)
{
    nl_command *command = call->command;
    nl_ast_name name;
    if (call->arguments[0].text.length == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, call->procedure->says_parameter ? "Cannot handle an empty identifier for parameter 'table'" : "Cannot handle an empty identifier for argument table");
    NL_TRY(nl_sql_parse_name(command->arena, call->arguments[0].text, NULL, &name));
    const bool has_catalog = name.count > 1 && nl_str_equal(name.parts[0].text, call->catalog_name);
    const nl_str *current;
    uint32_t current_count;
    nl_session_current_namespace(command->session, &current, &current_count);
    const uint32_t own = name.count - has_catalog;
    nl_ast_ident *parts = NL_NEW_ARRAY(command->arena, nl_ast_ident, own + current_count + 1);
    uint32_t count = 0;
    parts[count++].text = call->catalog_name;
    if (own == 1 && nl_str_equal(call->catalog_name, nl_session_current_catalog(command->session)))
        for (uint32_t i = 0; i < current_count; i++)
            parts[count++].text = current[i];
    for (uint32_t i = has_catalog; i < name.count; i++)
        parts[count++].text = name.parts[i].text;
    call->table_name = (nl_ast_name){.parts = parts, .count = count};
    return NULL;
}

/* What Iceberg says when the table is not there; create_changelog_view reads another one, whose name it gives. */
static nl_status say_not_found(nl_call *call)
{
    nl_arena *arena = call->command->arena;
    const nl_ast_name *name = &call->table_name;
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, name->count + 1);
    nl_str dotted = {0};
    for (uint32_t i = 0; i < name->count; i++) {
        parts[i] = name->parts[i].text;
        if (i > 0) dotted = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(dotted), i > 1 ? "." : "", NL_STR_ARG(parts[i]));
    }
    if (call->procedure->run != nl_call_create_changelog_view)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Couldn't load table '" NL_STR_FMT "' in catalog '" NL_STR_FMT "'", NL_STR_ARG(dotted), NL_STR_ARG(call->catalog_name));
    parts[name->count] = NL_STR("changes");
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_command_quoted(call->command, parts, name->count + 1)));
}

static nl_status open_table(nl_call *call)
{
    nl_status status = nl_write_table_open(call->command, &call->table_name, &call->target);
    if (status && nl_error_condition(status) == NL_COND_TABLE_OR_VIEW_NOT_FOUND) {
        nl_error_free(status);
        status = say_not_found(call);
    }
    call->table = call->target.table;
    return status;
}

static nl_status open_rows(nl_call *call)
{
    nl_field fields[NL_OUTPUTS_MAX];
    uint32_t count = 0;
    for (; call->procedure->outputs[count].name; count++) {
        const nl_output_column *output = &call->procedure->outputs[count];
        fields[count] = (nl_field){.name = nl_str_from(output->name), .type = nl_type_of(output->type), .is_nullable = output->is_nullable};
    }
    return nl_command_rows(call->command, fields, count, &call->rows);
}

nl_status nl_run_call(nl_command *command, const nl_ast_statement *statement)
{
    nl_call call = {.command = command};
    NL_TRY(resolve_procedure(&call, &statement->call->name));
    NL_TRY(bind_arguments(&call, &statement->call->args));
    if (!call.procedure->names_itself) NL_TRY(name_table(&call));
    if (!call.procedure->makes_table && !call.procedure->names_itself) NL_TRY(open_table(&call));
    nl_status status = open_rows(&call);
    if (!status) status = call.procedure->run(&call);
    if (call.procedure->makes_table) nl_iceberg_table_release(call.table);
    else nl_write_table_fini(&call.target);
    return status;
}

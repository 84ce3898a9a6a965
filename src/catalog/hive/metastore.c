/* catalog/hive/metastore.c - see metastore.h. */
#include "catalog/hive/metastore.h"

static const nl_wire_value no_names = {.type = NL_WIRE_LIST, .item_type = NL_WIRE_STRING};

nl_str nl_hms_parameter(const nl_wire_value *table, const char *key)
{
    return nl_wire_get(nl_wire_field(table, NL_HMS_TABLE_PARAMETERS, NL_WIRE_MAP), nl_str_from(key));
}

nl_str nl_hms_database_parameter(const nl_wire_value *database, const char *key)
{
    return nl_wire_get(nl_wire_field(database, NL_HMS_DATABASE_PARAMETERS, NL_WIRE_MAP), nl_str_from(key));
}

/* The arguments of most methods: texts in a row. */
static nl_wire_value texts_of(nl_arena *arena, nl_str first, nl_str second)
{
    nl_wire_value arguments = nl_wire_struct();
    nl_wire_set_text(arena, &arguments, 1, first);
    if (second.data) nl_wire_set_text(arena, &arguments, 2, second);
    return arguments;
}

static nl_wire_value request_of(nl_arena *arena, nl_wire_value request)
{
    nl_wire_value arguments = nl_wire_struct();
    nl_wire_set(arena, &arguments, 1, request);
    return arguments;
}

static nl_status no_result(const nl_hive_method *method)
{
    return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "The Hive metastore answered %s with neither a result nor an exception", method->name);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

nl_status nl_hms_get_table(nl_hive_client *client, nl_str database, nl_str name, nl_arena *arena, nl_wire_value **table)
{
    static const nl_hive_method by_request = {.name = "get_table_req", .exceptions = {"MetaException", "NoSuchObjectException"}};
    static const nl_hive_method by_name = {.name = "get_table", .exceptions = {"MetaException", "NoSuchObjectException"}}; /* before Hive 2.3 */
    const nl_hive_method *method = &by_request;
    const nl_wire_value request = texts_of(arena, database, name), wrapped = request_of(arena, request);
    nl_hive_answer answer;
    *table = NULL;
    NL_TRY(nl_hive_call(client, method, &wrapped, arena, &answer));
    if (nl_hive_is(&answer, "UnknownMethod")) {
        method = &by_name;
        NL_TRY(nl_hive_call(client, method, &request, arena, &answer));
    }
    if (nl_hive_is(&answer, "NoSuchObjectException")) return NULL;
    NL_TRY(nl_hive_failure(&answer, method));
    const nl_wire_value *result = answer.result && method == &by_request ? nl_wire_field(answer.result, 1, NL_WIRE_STRUCT) : answer.result;
    if (!result || result->type != NL_WIRE_STRUCT) return no_result(method);
    *table = NL_NEW(arena, nl_wire_value);
    **table = *result;
    return NULL;
}

nl_status nl_hms_table_names(nl_hive_client *client, nl_str database, nl_arena *arena, const nl_wire_value **names)
{
    static const nl_hive_method method = {.name = "get_all_tables", .exceptions = {"MetaException"}};
    const nl_wire_value arguments = texts_of(arena, database, (nl_str){0});
    nl_hive_answer answer;
    NL_TRY(nl_hive_call(client, &method, &arguments, arena, &answer));
    NL_TRY(nl_hive_failure(&answer, &method));
    if (answer.result && (answer.result->type != NL_WIRE_LIST || answer.result->item_type != NL_WIRE_STRING)) return no_result(&method);
    *names = answer.result ? answer.result : &no_names;
    return NULL;
}

nl_status nl_hms_get_tables(nl_hive_client *client, nl_str database, const nl_wire_value *names, nl_arena *arena, const nl_wire_value **tables)
{
    static const nl_hive_method by_request = {.name = "get_table_objects_by_name_req", .exceptions = {"MetaException", "InvalidOperationException", "UnknownDBException"}};
    static const nl_hive_method by_name = {.name = "get_table_objects_by_name", .exceptions = {"MetaException", "InvalidOperationException", "UnknownDBException"}};
    nl_wire_value request = texts_of(arena, database, (nl_str){0});
    nl_hive_answer answer;
    nl_wire_set(arena, &request, 2, *names);
    const nl_wire_value wrapped = request_of(arena, request);
    NL_TRY(nl_hive_call(client, &by_request, &wrapped, arena, &answer));
    if (nl_hive_is(&answer, "UnknownMethod")) {
        NL_TRY(nl_hive_call(client, &by_name, &request, arena, &answer));
        NL_TRY(nl_hive_failure(&answer, &by_name));
        *tables = answer.result && answer.result->type == NL_WIRE_LIST && answer.result->item_type == NL_WIRE_STRUCT ? answer.result : NULL;
        return NULL;
    }
    if (nl_hive_is(&answer, "UnknownDBException")) {
        *tables = NULL;
        return NULL;
    }
    NL_TRY(nl_hive_failure(&answer, &by_request));
    *tables = answer.result ? nl_wire_field(answer.result, 1, NL_WIRE_LIST) : NULL;
    if (*tables && (*tables)->item_type != NL_WIRE_STRUCT) *tables = NULL;
    return NULL;
}

nl_status nl_hms_create_table(nl_hive_client *client, const nl_wire_value *table, nl_arena *arena, nl_hive_answer *answer)
{
    static const nl_hive_method method = {
        .name = "create_table", .changes = true, .exceptions = {"AlreadyExistsException", "InvalidObjectException", "MetaException", "NoSuchObjectException"}};
    const nl_wire_value arguments = request_of(arena, *table);
    return nl_hive_call(client, &method, &arguments, arena, answer);
}

nl_status nl_hms_alter_table(nl_hive_client *client, nl_str database, nl_str name, const nl_wire_value *table, nl_str expected, nl_arena *arena, nl_hive_answer *answer)
{
    static const nl_hive_method method = {.name = "alter_table_with_environment_context", .changes = true, .exceptions = {"InvalidOperationException", "MetaException"}};
    nl_wire_value arguments = texts_of(arena, database, name), context = nl_wire_struct(), properties = nl_wire_text_map();
    nl_wire_put(arena, &properties, NL_STR("DO_NOT_UPDATE_STATS"), NL_STR("true"));
    if (expected.length) {
        nl_wire_put(arena, &properties, NL_STR("expected_parameter_key"), NL_STR(NL_HMS_METADATA_LOCATION_KEY));
        nl_wire_put(arena, &properties, NL_STR("expected_parameter_value"), expected);
    }
    nl_wire_set(arena, &context, 1, properties);
    nl_wire_set(arena, &arguments, 3, *table);
    nl_wire_set(arena, &arguments, 4, context);
    return nl_hive_call(client, &method, &arguments, arena, answer);
}

nl_status nl_hms_drop_table(nl_hive_client *client, nl_str database, nl_str name, nl_arena *arena, bool *was_dropped)
{
    static const nl_hive_method method = {.name = "drop_table", .changes = true, .exceptions = {"NoSuchObjectException", "MetaException"}};
    nl_wire_value arguments = texts_of(arena, database, name);
    nl_hive_answer answer;
    nl_wire_set_number(arena, &arguments, 3, NL_WIRE_BOOL, false);
    NL_TRY(nl_hive_call(client, &method, &arguments, arena, &answer));
    *was_dropped = !nl_hive_is(&answer, "NoSuchObjectException");
    return *was_dropped ? nl_hive_failure(&answer, &method) : NULL;
}

/* ---- databases --------------------------------------------------------------------------------------------------- */

nl_status nl_hms_database_names(nl_hive_client *client, nl_arena *arena, const nl_wire_value **names)
{
    static const nl_hive_method method = {.name = "get_all_databases", .exceptions = {"MetaException"}};
    const nl_wire_value arguments = nl_wire_struct();
    nl_hive_answer answer;
    NL_TRY(nl_hive_call(client, &method, &arguments, arena, &answer));
    NL_TRY(nl_hive_failure(&answer, &method));
    if (answer.result && (answer.result->type != NL_WIRE_LIST || answer.result->item_type != NL_WIRE_STRING)) return no_result(&method);
    *names = answer.result ? answer.result : &no_names;
    return NULL;
}

nl_status nl_hms_get_database(nl_hive_client *client, nl_str name, nl_arena *arena, nl_wire_value **database)
{
    static const nl_hive_method method = {.name = "get_database", .exceptions = {"NoSuchObjectException", "MetaException"}};
    const nl_wire_value arguments = texts_of(arena, name, (nl_str){0});
    nl_hive_answer answer;
    *database = NULL;
    NL_TRY(nl_hive_call(client, &method, &arguments, arena, &answer));
    if (nl_hive_is(&answer, "NoSuchObjectException")) return NULL;
    NL_TRY(nl_hive_failure(&answer, &method));
    if (!answer.result || answer.result->type != NL_WIRE_STRUCT) return no_result(&method);
    *database = NL_NEW(arena, nl_wire_value);
    **database = *answer.result;
    return NULL;
}

nl_status nl_hms_create_database(nl_hive_client *client, const nl_wire_value *database, nl_arena *arena, nl_hive_answer *answer)
{
    static const nl_hive_method method = {.name = "create_database", .changes = true, .exceptions = {"AlreadyExistsException", "InvalidObjectException", "MetaException"}};
    const nl_wire_value arguments = request_of(arena, *database);
    return nl_hive_call(client, &method, &arguments, arena, answer);
}

nl_status nl_hms_alter_database(nl_hive_client *client, nl_str name, const nl_wire_value *database, nl_arena *arena)
{
    static const nl_hive_method method = {.name = "alter_database", .exceptions = {"MetaException", "NoSuchObjectException"}}; /* once more does no harm */
    nl_wire_value arguments = texts_of(arena, name, (nl_str){0});
    nl_hive_answer answer;
    nl_wire_set(arena, &arguments, 2, *database);
    NL_TRY(nl_hive_call(client, &method, &arguments, arena, &answer));
    if (nl_hive_is(&answer, "NoSuchObjectException")) return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(name));
    return nl_hive_failure(&answer, &method);
}

nl_status nl_hms_drop_database(nl_hive_client *client, nl_str name, nl_arena *arena, nl_hive_answer *answer)
{
    static const nl_hive_method method = {.name = "drop_database", .changes = true, .exceptions = {"NoSuchObjectException", "InvalidOperationException", "MetaException"}};
    nl_wire_value arguments = texts_of(arena, name, (nl_str){0});
    nl_wire_set_number(arena, &arguments, 2, NL_WIRE_BOOL, false);
    nl_wire_set_number(arena, &arguments, 3, NL_WIRE_BOOL, false);
    return nl_hive_call(client, &method, &arguments, arena, answer);
}

/* command/call/add_files.c - add_files: files of a folder or of a table of the session catalog, as they are, into a table. */
#include "command/call/import.h"

enum { ARG_SOURCE = 1, ARG_FILTER = 2, ARG_CHECK_DUPLICATES = 3, ARG_PARALLELISM = 4 };

static nl_status set_mapping(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    (void)argument;
    nl_property *property = NL_NEW(arena, nl_property);
    if (nl_table_property(base, "schema.name-mapping.default", NULL).data) return NULL;
    *property = (nl_property){NL_STR("schema.name-mapping.default"), nl_import_mapping(arena, nl_table_schema(base))};
    const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {property, 1}};
    return nl_metadata_builder_apply(builder, &update);
}

/* parquet.`path`, or a table of spark_catalog. */
static nl_status find_source(nl_call *call, nl_import *import)
{
    nl_command *command = call->command;
    nl_ast_name parsed;
    nl_session_name name;
    static const char *const formats[] = {"parquet", "orc", "avro"};
    const nl_str text = nl_call_text(call, ARG_SOURCE);
    if (text.length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot handle an empty identifier for parameter 'source_table'");
    NL_TRY(nl_sql_parse_name(command->arena, text, NULL, &parsed));
    for (uint32_t i = 0; parsed.count == 2 && i < NL_COUNT(formats); i++)
        if (nl_str_is_nocase(parsed.parts[0].text, formats[i])) {
            import->format = nl_str_from(formats[i]);
            import->location = parsed.parts[1].text;
            return NULL;
        }
    NL_TRY(nl_command_table_name(command, &parsed, &name));
    NL_TRY(nl_plain_find(command, &name, &import->source));
    if (import->source) return NULL;
    const nl_identifier *identifier = &name.identifier;
    nl_str *parts = NL_NEW_ARRAY(command->arena, nl_str, identifier->namespace_count + 1);
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        parts[i] = identifier->namespace_parts[i];
    parts[identifier->namespace_count] = identifier->name;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table " NL_STR_FMT " does not exist", NL_STR_ARG(nl_command_quoted(command, parts, identifier->namespace_count + 1)));
}

nl_status nl_call_add_files(nl_call *call)
{
    int64_t added_files = 0, changed_partitions = NL_NONE;
    nl_import import = {.command = call->command,
                        .table = call->table,
                        .name = call->table->name,
                        .checks_duplicates = nl_call_bool(call, ARG_CHECK_DUPLICATES, true)};
    nl_call_map(call, ARG_FILTER, &import.filter, &import.filter_count);
    NL_TRY(nl_import_check_parallelism(call, ARG_PARALLELISM));
    /* The mapping is a commit of its own, as Iceberg's is: it stays when the files cannot be brought in. */
    NL_TRY(nl_table_change(call->table, set_mapping, NULL));
    NL_TRY(find_source(call, &import));
    NL_TRY(nl_import_files(&import, &added_files, &changed_partitions));
    return nl_call_numbers(call, (const int64_t[]){added_files, changed_partitions});
}

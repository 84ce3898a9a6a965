/* command/dataframe.c - what the analyzer asks for DataFrames: files by format and options, and rows of a plan run now. */
#include "command/cached.h"

#include "exec/source/plain_files.h"
#include "exec/sources.h"

nl_status nl_command_path_name(nl_session *session, nl_str path, nl_arena *arena, nl_str parts[3])
{
    nl_catalog *catalog = NULL;
    if (nl_session_is_confined(session) || nl_str_ends(path, NL_STR(".json")))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Iceberg tables are found by their names or by their folders, not by " NL_STR_FMT, NL_STR_ARG(path));
    NL_TRY(nl_plain_path_absolute(arena, path, &path));
    while (path.length > 1 && path.data[path.length - 1] == '/') path.length--;
    const nl_str parent = nl_path_parent(path);
    parts[0] = nl_arena_str(arena, nl_path_parent(parent));
    parts[1] = nl_arena_str(arena, nl_path_name(parent));
    parts[2] = nl_arena_str(arena, nl_path_name(path));
    if (!parts[0].length || !parts[1].length || nl_str_find_char(parts[0], '/', 0) == NL_NOT_FOUND)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The folder of an Iceberg table lies two folders deep at least: " NL_STR_FMT, NL_STR_ARG(path));
    if (nl_session_has_catalog(session, parts[0])) return NULL;
    const nl_property properties[] = {{NL_STR(""), NL_STR("org.apache.iceberg.spark.SparkCatalog")}, {NL_STR("type"), NL_STR("hadoop")}, {NL_STR("warehouse"), parts[0]}};
    NL_TRY(nl_catalog_open(parts[0], properties, NL_COUNT(properties), nl_session_environment(session), nl_session_memory(session), &catalog));
    return nl_session_put_catalog(session, catalog);
}

static nl_status find_by_path(nl_command *command, const nl_ast_files *files, nl_resolved_relation *found)
{
    nl_ast_name name;
    nl_str *parts = NULL;
    if (files->path_count != 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot open table without a location: path is not set");
    const nl_time_travel options = {.options = files->options, .option_count = files->option_count};
    if (nl_str_find_char(files->paths[0], '/', 0) != NL_NOT_FOUND) {
        parts = NL_NEW_ARRAY(command->arena, nl_str, 3);
        NL_TRY(nl_command_path_name(command->session, files->paths[0], command->arena, parts));
        return command->resolver.find_relation(&command->resolver, parts, 3, &options, NULL, 0, command->arena, found);
    }
    NL_TRY(nl_sql_parse_name(command->arena, files->paths[0], NULL, &name));
    parts = NL_NEW_ARRAY(command->arena, nl_str, name.count + 1);
    for (uint32_t i = 0; i < name.count; i++) parts[i] = name.parts[i].text;
    return command->resolver.find_relation(&command->resolver, parts, name.count, &options, NULL, 0, command->arena, found);
}

nl_status nl_command_jdbc_source(nl_command *command, const nl_property *options, uint32_t option_count, nl_memory *memory, const nl_table **source)
{
    const nl_type *custom = NULL;
    if (nl_session_is_confined(command->session)) return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P("provider", "jdbc"));
    for (uint32_t i = 0; i < option_count; i++)
        if (nl_str_is_nocase(options[i].key, "customSchema")) NL_TRY(nl_sql_parse_schema(command->arena, options[i].value, &custom));
    return nl_jdbc_source_new(options, option_count, custom, &command->confs, memory, source);
}

nl_status nl_command_find_files(nl_resolver *self, const nl_ast_files *files, nl_arena *arena, nl_resolved_relation *found)
{
    nl_command *command = NL_CONTAINER(self, nl_command, resolver);
    const nl_table *source = NULL;
    nl_fs *fs = NULL;
    (void)arena;
    if (nl_str_is_nocase(files->format, "iceberg")) return find_by_path(command, files, found);
    if (nl_str_is_nocase(files->format, "jdbc")) {
        NL_TRY(nl_command_jdbc_source(command, files->options, files->option_count, command->memory, &source));
        *found = (nl_resolved_relation){.table = source};
        return NULL;
    }
    if (!nl_file_format_is_known(files->format)) return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", files->format));
    if (files->path_count == 0)
        return NL_RAISE(UNABLE_TO_INFER_SCHEMA, NL_P("format", nl_file_format_title(files->format)));
    NL_TRY(nl_session_files(command->session, &fs));
    NL_TRY(nl_file_source_new(fs, files->format, files->paths, files->path_count, files->options, files->option_count, files->schema, &command->confs,
                              command->memory, &source));
    *found = (nl_resolved_relation){.table = source};
    return NULL;
}

typedef struct row_collector {
    nl_consumer base;
    nl_arena *arena;
    nl_value *values;
    uint32_t column_count, row_count, row_max;
} row_collector;

static nl_status collect(nl_consumer *base, nl_batch *batch)
{
    row_collector *self = NL_CONTAINER(base, row_collector, base);
    const nl_selection selection = nl_batch_selection(batch);
    for (uint32_t i = 0; i < selection.count && self->row_count < self->row_max; i++, self->row_count++) {
        for (uint32_t c = 0; c < self->column_count; c++) {
            const nl_value value = nl_vector_value(&batch->columns[c], nl_selection_row(selection, i), self->arena);
            self->values[(size_t)self->row_count * self->column_count + c] = nl_value_copy(self->arena, &value);
        }
    }
    return nl_arena_check(self->arena);
}

nl_status nl_command_run_plan(nl_resolver *self, const nl_logical *plan, uint32_t row_max, nl_arena *arena, const nl_value **values, uint32_t *row_count)
{
    nl_command *command = NL_CONTAINER(self, nl_command, resolver);
    const nl_logical *optimized = NULL;
    row_collector collector = {.base.consume = collect, .arena = arena, .column_count = plan->column_count, .row_max = row_max};
    collector.values = NL_NEW_ARRAY(arena, nl_value, (size_t)row_max * plan->column_count + 1);
    NL_TRY(nl_cached_use(command, plan, &plan));
    NL_TRY(nl_command_optimize(command, nl_logical_limit(arena, plan, row_max, 0), &optimized));
    NL_TRY(nl_query_run(&command->query, optimized, &collector.base));
    *values = collector.values;
    *row_count = collector.row_count;
    return NULL;
}

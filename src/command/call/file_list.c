/* command/call/file_list.c - remove_orphan_files' file_list_view: files that somebody has listed already. */
#include "command/call/procedure.h"

#include "command/call/text.h"

typedef struct list_reader {
    nl_consumer base;
    nl_arena *arena;
    nl_list files; /* nl_file_info * */
} list_reader;

static nl_status read_batch(nl_consumer *base, nl_batch *batch)
{
    list_reader *self = NL_CONTAINER(base, list_reader, base);
    const nl_selection rows = nl_batch_selection(batch);
    for (uint32_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows.rows ? rows.rows[i] : i;
        const nl_value path = nl_vector_value(&batch->columns[0], row, self->arena), modified = nl_vector_value(&batch->columns[1], row, self->arena);
        if (path.is_null || modified.is_null) continue; /* neither older than anything nor a file */
        nl_file_info *info = NL_NEW(self->arena, nl_file_info);
        *info = (nl_file_info){.path = nl_arena_str(self->arena, path.text), .modified_micros = modified.integer};
        nl_list_add(self->arena, &self->files, info);
    }
    return nl_arena_check(self->arena);
}

static nl_status find_column(nl_call *call, const nl_logical *plan, const char *name, uint32_t *at)
{
    nl_arena *arena = call->command->arena;
    nl_str all = {0};
    for (*at = 0; *at < plan->column_count; (*at)++)
        if (nl_str_is_nocase(plan->columns[*at].name, name)) return NULL;
    for (uint32_t i = 0; i < plan->column_count; i++)
        all = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(all), i ? ", " : "", NL_STR_ARG(nl_command_quoted(call->command, &plan->columns[i].name, 1)));
    return NL_RAISE(FIELD_NOT_FOUND, NL_P_STR("fieldName", nl_arena_f(arena, "`%s`", name)), NL_P_STR("fields", all));
}

static nl_status plan_query(nl_call *call, nl_str sql, const nl_logical **plan)
{
    nl_ast_statement *statement = NULL;
    NL_TRY(nl_sql_parse(call->command->arena, sql, NULL, &statement));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_QUERY);
    return nl_analyze_query(&call->command->context, statement->query, plan);
}

/* Java names the classes of types. */
static nl_str class_of(nl_arena *arena, const nl_type *type)
{
    static const struct {
        nl_type_id id;
        const char *name;
    } names[] = {{NL_TYPE_INT, "IntegerType"}, {NL_TYPE_BIGINT, "LongType"}, {NL_TYPE_STRING, "StringType"}, {NL_TYPE_DATE, "DateType"}, {NL_TYPE_TIMESTAMP_NTZ, "TimestampNTZType"},
                 {NL_TYPE_DOUBLE, "DoubleType"}, {NL_TYPE_BOOLEAN, "BooleanType"}, {NL_TYPE_BINARY, "BinaryType"}, {NL_TYPE_NULL, "NullType"}, {NL_TYPE_TIMESTAMP, "TimestampType"}};
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        if (type->id == names[i].id) return nl_str_from(names[i].name);
    return nl_type_name(arena, type);
}

static nl_status check_columns(nl_call *call, const nl_logical *plan)
{
    uint32_t path = 0, modified = 0;
    NL_TRY(find_column(call, plan, "file_path", &path));
    NL_TRY(find_column(call, plan, "last_modified", &modified));
    const nl_type *path_type = plan->columns[path].type, *modified_type = plan->columns[modified].type;
    if (path_type->id != NL_TYPE_STRING)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid file_path column: " NL_STR_FMT " is not a string", NL_STR_ARG(class_of(call->command->arena, path_type)));
    if (modified_type->id != NL_TYPE_TIMESTAMP)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid last_modified column: " NL_STR_FMT " is not a timestamp", NL_STR_ARG(class_of(call->command->arena, modified_type)));
    return NULL;
}

nl_status nl_call_file_list(nl_call *call, nl_str view, const nl_file_info **files, uint32_t *file_count)
{
    nl_command *command = call->command;
    list_reader reader = {.base.consume = read_batch, .arena = command->arena};
    const nl_logical *plan = NULL, *optimized = NULL;
    nl_ast_name name;
    nl_builder from;
    NL_TRY(nl_sql_parse_name(command->arena, view, NULL, &name));
    nl_builder_init(&from, 1 << 20);
    for (uint32_t i = 0; i < name.count; i++) {
        if (i) nl_append_char(&from, '.');
        nl_append_quoted_name(&from, name.parts[i].text);
    }
    const nl_str source = nl_arena_str(command->arena, nl_builder_str(&from));
    nl_builder_fini(&from);
    NL_TRY(plan_query(call, nl_arena_f(command->arena, "SELECT * FROM " NL_STR_FMT, NL_STR_ARG(source)), &plan));
    NL_TRY(check_columns(call, plan));
    NL_TRY(plan_query(call, nl_arena_f(command->arena, "SELECT file_path, last_modified FROM " NL_STR_FMT, NL_STR_ARG(source)), &plan));
    NL_TRY(nl_command_optimize(command, plan, &optimized));
    NL_TRY(nl_query_run(&command->query, optimized, &reader.base));
    nl_file_info *list = NL_NEW_ARRAY(command->arena, nl_file_info, reader.files.count + 1);
    for (uint32_t i = 0; i < reader.files.count; i++)
        list[i] = *(const nl_file_info *)reader.files.items[i];
    *files = list;
    *file_count = reader.files.count;
    return NULL;
}

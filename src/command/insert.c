/* command/insert.c - INSERT INTO, INSERT OVERWRITE (static and dynamic), INSERT INTO … REPLACE WHERE. */
#include "command/cached.h"
#include "command/write.h"

#include "base/number.h"
#include "command/plain_tables.h"
#include "command/views.h"
#include "exec/sinks.h"
#include "exec/source/predicate.h"
#include "exec/sources.h"

typedef struct insertion {
    nl_command *command;
    const nl_ast_insert_target *ast;
    nl_write_table target;
    const nl_plain_table *plain; /* a table over plain files: the target has its row type and name only; or NULL */
    const nl_logical *input; /* rows of the table's type */
} insertion;

static uint32_t column_position(const insertion *self, nl_str name)
{
    for (uint32_t i = 0; i < self->target.row_type->child_count; i++)
        if (nl_str_equal_nocase(self->target.row_type->children[i].name, name)) return i;
    return UINT32_MAX;
}

/* The names of a column list: each a column of the table, and once. */
static nl_status check_column_list(insertion *self)
{
    const nl_ast_idents *names = &self->ast->columns;
    nl_command *command = self->command;
    for (uint32_t i = 0; i < names->count; i++) {
        const nl_str quoted = nl_command_quoted(command, &names->items[i].text, 1);
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(names->items[i].text, names->items[j].text)) return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", quoted));
        if (column_position(self, names->items[i].text) != UINT32_MAX) continue;
        nl_builder proposal;
        nl_builder_init(&proposal, 1 << 20);
        for (uint32_t c = 0; c < self->target.row_type->child_count; c++)
            nl_append_f(&proposal, "%s`" NL_STR_FMT "`", c ? ", " : "", NL_STR_ARG(self->target.row_type->children[c].name));
        nl_status status = NL_RAISE(UNRESOLVED_COLUMN__WITH_SUGGESTION, NL_P_STR("objectName", quoted), NL_P("proposal", nl_builder_c(&proposal)));
        nl_builder_fini(&proposal);
        return nl_command_at(command, status, names->items[i].range);
    }
    return NULL;
}

/* ---- DEFAULT --------------------------------------------------------------------------------------------------- */

static bool is_default(const nl_ast_expr *value)
{
    return value->kind == NL_AST_EXPR_COLUMN && value->column.count == 1 && !value->column.parts[0].is_quoted &&
           nl_str_is_nocase(value->column.parts[0].text, "default");
}

/* PARTITION (name = value) gives the column's value. */
static bool is_static_partition(const insertion *self, nl_str name)
{
    const nl_ast_partition_spec *partition = self->ast->partition;
    for (uint32_t p = 0; partition && p < partition->count; p++)
        if (partition->items[p].value && nl_str_equal_nocase(partition->items[p].name.text, name)) return true;
    return false;
}

/* The table's column that the i-th given value is for; UINT32_MAX: none, or too many values. */
static uint32_t target_column(const insertion *self, uint32_t i)
{
    if (self->ast->columns.count > 0) return i < self->ast->columns.count ? column_position(self, self->ast->columns.items[i].text) : UINT32_MAX;
    for (uint32_t c = 0; c < self->target.row_type->child_count; c++)
        if (!is_static_partition(self, self->target.row_type->children[c].name) && i-- == 0) return c;
    return UINT32_MAX;
}

/* DEFAULT is the column's default where it has one (tables over plain files may), else NULL. */
static nl_status default_expression(insertion *self, uint32_t column, nl_ast_range range, nl_ast_expr **expr)
{
    *expr = NULL;
    if (self->plain && column != UINT32_MAX) NL_TRY(nl_plain_default(self->command, self->plain, column, expr));
    if (*expr) return NULL;
    *expr = NL_NEW(self->command->arena, nl_ast_expr);
    **expr = (nl_ast_expr){.kind = NL_AST_EXPR_LITERAL, .range = range};
    (*expr)->literal.kind = NL_AST_LITERAL_NULL;
    return NULL;
}

/* The word DEFAULT among the values of a row, or of the rows of VALUES. */
static nl_status replace_defaults(insertion *self, nl_ast_exprs *exprs, bool is_rows)
{
    for (uint32_t i = 0; i < exprs->count; i++) {
        nl_ast_expr *expr = exprs->items[i];
        if (is_rows && expr->kind == NL_AST_EXPR_ROW) NL_TRY(replace_defaults(self, &expr->row, false));
        if (is_default(expr)) NL_TRY(default_expression(self, target_column(self, is_rows ? 0 : i), expr->range, &exprs->items[i]));
    }
    return NULL;
}

static nl_status replace_query_defaults(insertion *self, const nl_ast_query *query)
{
    if (query->body->kind == NL_AST_TERM_VALUES) NL_TRY(replace_defaults(self, &query->body->values->rows, true));
    if (query->body->kind == NL_AST_TERM_SELECT) NL_TRY(replace_defaults(self, &query->body->select->items, false));
    return NULL;
}

/* Columns of a table over plain files that an INSERT by name leaves out have their defaults, or NULL. */
static nl_status add_missing_columns(insertion *self, const nl_logical *query, const nl_logical **completed)
{
    nl_command *command = self->command;
    const uint32_t field_count = self->target.row_type->child_count;
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, query->column_count + field_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(command->arena, const nl_expr *, query->column_count + field_count + 1);
    uint32_t count = 0;
    for (; count < query->column_count; count++) {
        columns[count] = query->columns[count];
        exprs[count] = nl_expr_column(command->arena, columns[count].id, columns[count].name, columns[count].type, columns[count].is_nullable);
    }
    for (uint32_t i = 0; i < field_count; i++) {
        const nl_field *field = &self->target.row_type->children[i];
        nl_ast_expr *value = NULL;
        bool is_there = is_static_partition(self, field->name);
        for (uint32_t c = 0; c < query->column_count; c++) is_there = is_there || nl_str_equal_nocase(query->columns[c].name, field->name);
        if (is_there) continue;
        NL_TRY(default_expression(self, i, (nl_ast_range){0}, &value));
        NL_TRY(nl_analyze_expr(&command->context, value, NULL, 0, &exprs[count]));
        columns[count] = (nl_column){.id = nl_plan_new_id(&command->context), .name = field->name, .type = exprs[count]->type, .is_nullable = true};
        count++;
    }
    nl_logical *project = nl_logical_new(command->arena, NL_PLAN_PROJECT, &query, 1);
    project->columns = columns;
    project->column_count = count;
    project->project.exprs = exprs;
    *completed = project;
    return NULL;
}

/* The query's columns under the names of the column list. */
static nl_status rename_columns(insertion *self, const nl_logical *query, const nl_logical **renamed)
{
    const nl_ast_idents *names = &self->ast->columns;
    nl_command *command = self->command;
    if (names->count != query->column_count) {
        const bool has_too_few = query->column_count < names->count;
        nl_builder table_columns, data_columns;
        nl_builder_init(&table_columns, 1 << 20);
        nl_builder_init(&data_columns, 1 << 20);
        for (uint32_t i = 0; i < names->count; i++)
            nl_append_f(&table_columns, "%s`" NL_STR_FMT "`", i ? ", " : "", NL_STR_ARG(names->items[i].text));
        for (uint32_t i = 0; i < query->column_count; i++)
            nl_append_f(&data_columns, "%s`" NL_STR_FMT "`", i ? ", " : "", NL_STR_ARG(query->columns[i].name));
        nl_status status = has_too_few ? NL_RAISE(INSERT_COLUMN_ARITY_MISMATCH__NOT_ENOUGH_DATA_COLUMNS, NL_P_STR("tableName", self->target.name),
                                                  NL_P("tableColumns", nl_builder_c(&table_columns)), NL_P("dataColumns", nl_builder_c(&data_columns)))
                                       : NL_RAISE(INSERT_COLUMN_ARITY_MISMATCH__TOO_MANY_DATA_COLUMNS, NL_P_STR("tableName", self->target.name),
                                                  NL_P("tableColumns", nl_builder_c(&table_columns)), NL_P("dataColumns", nl_builder_c(&data_columns)));
        nl_builder_fini(&table_columns);
        nl_builder_fini(&data_columns);
        return status;
    }
    nl_logical *project = nl_logical_new(command->arena, NL_PLAN_PROJECT, &query, 1);
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, names->count);
    const nl_expr **exprs = NL_NEW_ARRAY(command->arena, const nl_expr *, names->count);
    for (uint32_t i = 0; i < names->count; i++) {
        const nl_column *source = &query->columns[i];
        exprs[i] = nl_expr_column(command->arena, source->id, source->name, source->type, source->is_nullable);
        columns[i] = (nl_column){.id = nl_plan_new_id(&command->context), .name = names->items[i].text, .type = source->type, .is_nullable = source->is_nullable};
    }
    project->columns = columns;
    project->column_count = names->count;
    project->project.exprs = exprs;
    *renamed = project;
    return NULL;
}

static bool is_partition_column(const insertion *self, nl_str name)
{
    if (self->plain) return column_position(self, name) >= self->target.row_type->child_count - self->plain->partition_count;
    const nl_partition_spec *spec = nl_table_spec(self->target.metadata);
    const nl_schema_column *column = nl_schema_find_name(nl_table_schema(self->target.metadata), name, false);
    for (uint32_t i = 0; column && i < spec->field_count; i++)
        if (spec->fields[i].source_id == column->field->id && spec->fields[i].transform.kind == NL_TRANSFORM_IDENTITY) return true;
    return false;
}

/* PARTITION (c = 1, …): constants take the columns' places among the query's columns. */
static nl_status add_static_columns(insertion *self, const nl_logical *query, const nl_logical **completed)
{
    nl_command *command = self->command;
    const nl_ast_partition_spec *partition = self->ast->partition;
    const uint32_t column_count = self->target.row_type->child_count;
    const nl_expr **values = NL_NEW_ARRAY(command->arena, const nl_expr *, column_count);
    uint32_t static_count = 0;
    for (uint32_t i = 0; i < partition->count; i++) {
        const nl_str name = partition->items[i].name.text;
        const uint32_t at = column_position(self, name);
        if (at == UINT32_MAX || !is_partition_column(self, name))
            return NL_RAISE(NON_PARTITION_COLUMN, NL_P_STR("columnName", nl_arena_f(command->arena, "`" NL_STR_FMT "`", NL_STR_ARG(name))));
        if (!partition->items[i].value) continue; /* named only: its values come with the rows */
        NL_TRY(nl_analyze_expr(&command->context, partition->items[i].value, NULL, 0, &values[at]));
        static_count++;
    }
    if (static_count == 0 || query->column_count + static_count != column_count) {
        *completed = query; /* a wrong number of columns is said by the store assignment */
        return NULL;
    }
    nl_logical *project = nl_logical_new(command->arena, NL_PLAN_PROJECT, &query, 1);
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, column_count);
    for (uint32_t i = 0, next = 0; i < column_count; i++) {
        const nl_column *source = values[i] ? NULL : &query->columns[next++];
        if (source) values[i] = nl_expr_column(command->arena, source->id, source->name, source->type, source->is_nullable);
        columns[i] = (nl_column){.id = nl_plan_new_id(&command->context),
                                 .name = source ? source->name : self->target.row_type->children[i].name,
                                 .type = values[i]->type,
                                 .is_nullable = values[i]->is_nullable};
    }
    project->columns = columns;
    project->column_count = column_count;
    project->project.exprs = values;
    *completed = project;
    return NULL;
}

static nl_status plan_rows(insertion *self, const nl_ast_query *query)
{
    const nl_logical *plan = NULL;
    nl_command *command = self->command;
    NL_TRY(check_column_list(self));
    NL_TRY(replace_query_defaults(self, query));
    NL_TRY(nl_command_analyze(command, query, &plan));
    if (self->ast->columns.count > 0) NL_TRY(rename_columns(self, plan, &plan));
    const bool is_by_name = self->ast->is_by_name || self->ast->columns.count > 0;
    if (self->plain && is_by_name) NL_TRY(add_missing_columns(self, plan, &plan));
    if (self->ast->partition) NL_TRY(add_static_columns(self, plan, &plan));
    NL_TRY(nl_plan_check_store(&command->context, self->plain != NULL));
    return nl_plan_store(&command->context, plan, self->target.row_type, self->target.name, is_by_name, &self->input);
}

/* ---- what is overwritten --------------------------------------------------------------------------------------- */

/* The rows that PARTITION (c = v) speaks of, as a predicate; without static values all rows. */
static nl_status partition_predicate(insertion *self, const nl_predicate **predicate)
{
    nl_command *command = self->command;
    const nl_ast_partition_spec *partition = self->ast->partition;
    const nl_predicate *all = nl_predicate_true();
    for (uint32_t i = 0; partition && i < partition->count; i++) {
        nl_value value, cast;
        const uint32_t at = column_position(self, partition->items[i].name.text);
        if (!partition->items[i].value || at == UINT32_MAX) continue;
        const nl_field *field = &self->target.row_type->children[at];
        NL_TRY(nl_analyze_constant(&command->context, partition->items[i].value, &value));
        NL_TRY(nl_cast_value(command->arena, &command->confs, NL_CAST_ANSI, &value, field->type, &cast));
        const nl_predicate *leaf = cast.is_null ? nl_predicate_leaf(command->arena, NL_PREDICATE_IS_NULL, field->field_id, NULL, 0)
                                                : nl_predicate_leaf(command->arena, NL_PREDICATE_EQ, field->field_id, &cast, 1);
        all = nl_predicate_and(command->arena, all, leaf);
    }
    *predicate = all;
    return NULL;
}

static nl_status replace_where_predicate(insertion *self, const nl_predicate **predicate)
{
    nl_command *command = self->command;
    const nl_table *source = NULL;
    const nl_expr *condition = NULL;
    const nl_iceberg_read read = {.branch = self->target.branch};
    bool is_exact = false;
    NL_TRY(nl_iceberg_source_new(self->target.table, &read, &source));
    const nl_logical *scan = nl_plan_scan(&command->context, source, self->target.name_parts, self->target.name_count);
    nl_table_release(source); /* the plan holds its own reference */
    NL_TRY(nl_analyze_condition(&command->context, self->ast->replace_where, scan->columns, scan->column_count, &condition));
    NL_TRY(nl_simplify_expr(&command->context, condition, &condition));
    NL_TRY(nl_predicate_of_expr(command->arena, condition, scan, predicate, &is_exact));
    if (!is_exact) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "REPLACE WHERE takes comparisons of columns with constants; this condition is another one");
    return NULL;
}

static bool is_dynamic(const insertion *self)
{
    const nl_str mode = nl_session_get(self->command->session, NL_STR("spark.sql.sources.partitionOverwriteMode"));
    if (self->ast->is_dynamic) return true;
    return nl_str_is_nocase(mode, "dynamic") && !nl_partition_spec_is_unpartitioned(nl_table_spec(self->target.metadata));
}

static nl_status make_operation(insertion *self, const nl_written_files *files, nl_operation *operation, bool *is_needed)
{
    *operation = (nl_operation){.kind = NL_OPERATION_APPEND, .data_sequence_number = NL_NONE};
    *is_needed = true;
    if (self->ast->replace_where) {
        operation->kind = NL_OPERATION_OVERWRITE;
        return replace_where_predicate(self, &operation->row_filter);
    }
    if (!self->ast->is_overwrite) return NULL;
    if (is_dynamic(self)) {
        operation->kind = NL_OPERATION_REPLACE_PARTITIONS;
        *is_needed = files->data_file_count > 0; /* no rows touch no partition */
        return NULL;
    }
    operation->kind = NL_OPERATION_OVERWRITE;
    return partition_predicate(self, &operation->row_filter);
}

/* ---- batches of streaming queries ------------------------------------------------------------------------------- */

/* As Iceberg's streaming write: an append that leaves manifests alone, or all of the table anew. The batch's number goes into
 * the summary. */
static void make_epoch_operation(nl_command *command, const nl_write_epoch *epoch, nl_operation *operation)
{
    nl_property *properties = NL_NEW_ARRAY(command->arena, nl_property, 2);
    *operation = (nl_operation){.kind = epoch->is_complete ? NL_OPERATION_OVERWRITE : NL_OPERATION_FAST_APPEND, .data_sequence_number = NL_NONE};
    if (epoch->is_complete) operation->row_filter = nl_predicate_true();
    properties[0] = (nl_property){NL_STR("spark.sql.streaming.epochId"), nl_arena_f(command->arena, "%lld", (long long)epoch->epoch)};
    properties[1] = (nl_property){NL_STR("spark.sql.streaming.queryId"), nl_arena_str(command->arena, epoch->query_id)};
    operation->properties = properties;
    operation->property_count = 2;
}

/* The newest snapshot of the query in the target's history says which batch was the last. */
static bool is_epoch_committed(const insertion *self, const nl_write_epoch *epoch)
{
    const nl_snapshot *snapshot = self->target.snapshot;
    for (uint32_t step = 0; snapshot && step < self->target.metadata->snapshot_count; step++) {
        int64_t number;
        if (nl_str_equal(nl_snapshot_summary(snapshot, "spark.sql.streaming.queryId"), epoch->query_id))
            return nl_parse_int64(nl_snapshot_summary(snapshot, "spark.sql.streaming.epochId"), &number) && epoch->epoch <= number;
        snapshot = nl_table_snapshot(self->target.metadata, snapshot->parent_id);
    }
    return false;
}

static nl_status run_insertion(insertion *self, const nl_ast_query *query)
{
    nl_iceberg_sink *sink = NULL;
    nl_written_files files;
    nl_operation operation;
    bool is_needed = true;
    const nl_write_options options = nl_write_options_of(self->command, self->ast->options);
    NL_TRY(plan_rows(self, query));
    NL_TRY(nl_write_rows(self->command, &self->target, &options, self->input, &sink, &files));
    const nl_write_epoch *epoch = self->command->tree ? self->command->tree->epoch : NULL;
    nl_status status = NULL;
    if (epoch) {
        make_epoch_operation(self->command, epoch, &operation);
        is_needed = !is_epoch_committed(self, epoch);
    } else {
        status = make_operation(self, &files, &operation, &is_needed);
    }
    if (!status && is_needed) return nl_commit_files(self->command, &self->target, &operation, sink, &files);
    if (status || epoch) nl_iceberg_sink_discard(sink);
    nl_iceberg_sink_free(sink);
    return status;
}

/* ---- INSERT OVERWRITE DIRECTORY --------------------------------------------------------------------------------- */

/* A folder that is there already is an error, or the end of it, for the modes that say so. */
static nl_status check_directory(nl_command *command, const nl_ast_insert_target *target, nl_str path, bool *is_needed)
{
    bool exists = false;
    *is_needed = true;
    if (target->directory_mode != NL_AST_DIRECTORY_ERROR && target->directory_mode != NL_AST_DIRECTORY_IGNORE) return NULL;
    NL_TRY(nl_fs_exists(command->query.files, path, &exists));
    if (!exists) return NULL;
    if (target->directory_mode == NL_AST_DIRECTORY_ERROR) {
        const bool is_bare = path.length && path.data[0] == '/';
        return NL_RAISE(PATH_ALREADY_EXISTS, NL_P_STR("outputPath", is_bare ? nl_arena_f(command->arena, "file:" NL_STR_FMT, NL_STR_ARG(path)) : path));
    }
    *is_needed = false;
    return NULL;
}

static nl_status check_folder_columns(nl_command *command, const nl_ast_insert_target *target, const nl_logical *plan)
{
    for (uint32_t i = 0; i < target->folder_column_count; i++) {
        const nl_str name = target->folder_columns[i];
        uint32_t at = 0;
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(target->folder_columns[j], name)) return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", nl_arena_f(command->arena, "`" NL_STR_FMT "`", NL_STR_ARG(name))));
        while (at < plan->column_count && !nl_str_equal_nocase(plan->columns[at].name, name)) at++;
        if (at == plan->column_count) {
            nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, plan->column_count + 1);
            for (uint32_t j = 0; j < plan->column_count; j++) fields[j] = (nl_field){.name = plan->columns[j].name, .type = plan->columns[j].type, .is_nullable = true};
            return NL_RAISE(_LEGACY_ERROR_TEMP_1155, NL_P_STR("col", name),
                            NL_P_STR("schemaCatalog", nl_type_name(command->arena, nl_type_struct(command->arena, fields, plan->column_count))));
        }
    }
    if (target->folder_column_count > 0 && target->folder_column_count == plan->column_count) return NL_RAISE(ALL_PARTITION_COLUMNS_NOT_ALLOWED);
    return NULL;
}

/* The rows with the columns of partitionBy behind the others, under the names that it gives them; fields: what they are then. */
static nl_status put_folders_last(nl_command *command, const nl_ast_insert_target *target, const nl_logical *input, const nl_logical **plan, nl_field *fields)
{
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, input->column_count + 1);
    uint32_t count = 0;
    NL_TRY(check_folder_columns(command, target, input));
    for (uint32_t i = 0; i < input->column_count; i++) {
        bool is_folder = false;
        for (uint32_t j = 0; j < target->folder_column_count; j++) is_folder = is_folder || nl_str_equal_nocase(target->folder_columns[j], input->columns[i].name);
        if (!is_folder) columns[count++] = input->columns[i];
    }
    for (uint32_t j = 0; j < target->folder_column_count; j++)
        for (uint32_t i = 0; i < input->column_count; i++)
            if (nl_str_equal_nocase(target->folder_columns[j], input->columns[i].name)) {
                columns[count] = input->columns[i];
                columns[count++].name = target->folder_columns[j];
                break;
            }
    *plan = target->folder_column_count ? nl_logical_keep(command->arena, input, columns, count) : input;
    for (uint32_t i = 0; i < count; i++) fields[i] = (nl_field){.name = columns[i].name, .type = columns[i].type, .is_nullable = true};
    return nl_arena_check(command->arena);
}

/* What an overwrite takes away: everything, or with dynamic partitions the folders that get new files. */
static int replaced(nl_command *command, const nl_ast_insert_target *target, const nl_property *options, uint32_t option_count)
{
    nl_str mode = nl_session_get(command->session, NL_STR("spark.sql.sources.partitionOverwriteMode"));
    if (target->directory_mode != NL_AST_DIRECTORY_OVERWRITE) return NL_FILES_ADDED;
    for (uint32_t i = 0; i < option_count; i++)
        if (nl_str_is_nocase(options[i].key, "partitionOverwriteMode")) mode = options[i].value;
    return target->folder_column_count && nl_str_is_nocase(mode, "dynamic") ? NL_FILES_REPLACED_BY_FOLDER : NL_FILES_REPLACED;
}

static nl_status insert_directory(nl_command *command, const nl_ast_insert_target *target, const nl_ast_query *query)
{
    const nl_str *provider;
    uint32_t provider_count, option_count;
    const nl_property *options;
    const nl_logical *plan = NULL;
    nl_file_plan planned;
    nl_parallel_sink *sink = NULL;
    bool is_needed = true;
    if (target->provider.count == 0)
        return NL_RAISE(NOT_SUPPORTED_COMMAND_WITHOUT_HIVE_SUPPORT, NL_P("cmd", "INSERT OVERWRITE DIRECTORY with the Hive format"));
    NL_TRY(nl_command_name(command, &target->provider, &provider, &provider_count));
    nl_command_properties(command, target->directory_options, &options, &option_count);
    nl_str path = target->path;
    for (uint32_t i = 0; i < option_count && !path.data; i++)
        if (nl_str_is_nocase(options[i].key, "path")) path = options[i].value;
    if (nl_str_is_nocase(provider[0], "iceberg")) return NL_RAISE(_LEGACY_ERROR_TEMP_2233, NL_P("providingClass", "iceberg"));
    NL_TRY(nl_command_analyze(command, query, &plan));
    if (nl_str_is_nocase(provider[0], "jdbc") && nl_str_is(path, "jdbc:")) return nl_command_jdbc_write(command, target, plan, options, option_count); /* of a DataFrame */
    NL_TRY(nl_view_check_columns(command, plan, NULL, 0));
    nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, plan->column_count + 1);
    NL_TRY(put_folders_last(command, target, plan, &plan, fields));
    NL_TRY(nl_command_plan_files(command, plan, target->folder_column_count > 0, &planned));
    NL_TRY(nl_session_files(command->session, &command->query.files));
    NL_TRY(check_directory(command, target, path, &is_needed));
    if (!is_needed) return NULL;
    const nl_file_layout layout = {.partition_count = target->folder_column_count, .mode = replaced(command, target, options, option_count)};
    NL_TRY(nl_file_sink_new(&command->query, provider[provider_count - 1], path, nl_type_struct(command->arena, fields, plan->column_count), options,
                            option_count, &layout, &sink));
    nl_status status = nl_command_run_files(command, &planned, sink);
    if (!status) return nl_file_sink_finish(sink);
    nl_file_sink_discard(sink);
    return status;
}

static nl_status insert_plain(insertion *self, const nl_ast_query *query)
{
    if (self->ast->replace_where) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "REPLACE WHERE takes tables of Iceberg");
    self->target.row_type = self->plain->row_type;
    self->target.name = nl_plain_quoted(self->command, self->plain);
    if (self->ast->partition) NL_TRY(nl_plain_check_partition(self->command, self->plain, self->ast->partition));
    NL_TRY(plan_rows(self, query));
    return nl_plain_write(self->command, self->plain, self->input, self->ast->is_overwrite, self->ast->partition);
}

static nl_status insert_one(nl_command *command, const nl_ast_insert_target *target, const nl_ast_query *query)
{
    insertion self = {.command = command, .ast = target};
    if (target->is_directory) return insert_directory(command, target, query);
    NL_TRY(nl_plain_find_name(command, &target->table, &self.plain));
    if (self.plain) return insert_plain(&self, query);
    NL_TRY(nl_write_table_open(command, &target->table, &self.target));
    nl_status status = run_insertion(&self, query);
    nl_write_table_fini(&self.target);
    return status;
}

/* WITH in front of INSERT belongs to the query. */
static const nl_ast_query *with_ctes(nl_command *command, const nl_ast_ctes *ctes, nl_ast_query *query)
{
    if (ctes->count == 0) return query;
    nl_ast_query *copy = NL_NEW(command->arena, nl_ast_query);
    nl_ast_cte *items = NL_NEW_ARRAY(command->arena, nl_ast_cte, ctes->count + query->ctes.count);
    *copy = *query;
    memcpy(items, ctes->items, ctes->count * sizeof(*items));
    if (query->ctes.count > 0) memcpy(items + ctes->count, query->ctes.items, query->ctes.count * sizeof(*items));
    copy->ctes.items = items;
    copy->ctes.count = ctes->count + query->ctes.count;
    return copy;
}

nl_status nl_run_insert(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_insert *insert = statement->insert;
    return insert_one(command, &insert->target, with_ctes(command, &insert->ctes, insert->query));
}

/* The plan below the write: the first line after "+- ", the others moved under it. */
static void append_indented(nl_str text, nl_builder *out)
{
    for (bool is_first = true; text.length > 0; is_first = false) {
        const char *end = memchr(text.data, '\n', text.length);
        const size_t length = end ? (size_t)(end - text.data) + 1 : text.length;
        nl_append_c(out, is_first ? "+- " : "   ");
        nl_append(out, nl_str_slice(text, 0, length));
        text = nl_str_slice(text, length, text.length);
    }
}

static nl_status explain_rows(insertion *self, const nl_ast_query *query, nl_builder *out)
{
    nl_command *command = self->command;
    nl_iceberg_sink *sink = NULL;
    const nl_logical *plan = NULL, *optimized = NULL;
    const nl_write_options options = nl_write_options_of(command, self->ast->options);
    NL_TRY(plan_rows(self, query));
    NL_TRY(nl_iceberg_append_plan(&command->query, self->target.table, self->target.metadata, &options, self->input, &plan, &sink));
    nl_status status = nl_command_optimize(command, plan, &optimized);
    if (!status) {
        nl_builder text;
        const bool is_overwrite = self->ast->is_overwrite || self->ast->replace_where;
        nl_append_f(out, "%s ", !is_overwrite ? "AppendData" : is_dynamic(self) ? "OverwritePartitionsDynamic" : "OverwriteByExpression");
        nl_builder_init(&text, 1 << 20);
        for (uint32_t i = 0; i < self->target.name_count; i++)
            nl_append_f(&text, "%s" NL_STR_FMT, i ? "." : "", NL_STR_ARG(self->target.name_parts[i]));
        nl_iceberg_sink_describe(sink, nl_builder_str(&text), out);
        nl_builder_clear(&text);
        nl_logical_append_text(optimized, &text);
        nl_append_char(out, '\n');
        append_indented(nl_builder_str(&text), out);
        nl_builder_fini(&text);
    }
    nl_iceberg_sink_free(sink);
    return status;
}

nl_status nl_explain_insert(nl_command *command, const nl_ast_statement *statement, nl_builder *out, bool *is_shown)
{
    *is_shown = statement->kind == NL_AST_STATEMENT_INSERT && !statement->insert->target.is_directory;
    if (!*is_shown) return NULL;
    const nl_ast_insert *insert = statement->insert;
    insertion self = {.command = command, .ast = &insert->target};
    NL_TRY(nl_plain_find_name(command, &insert->target.table, &self.plain));
    if (self.plain) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "EXPLAIN of an INSERT takes tables of Iceberg");
    NL_TRY(nl_write_table_open(command, &insert->target.table, &self.target));
    nl_status status = explain_rows(&self, with_ctes(command, &insert->ctes, insert->query), out);
    nl_write_table_fini(&self.target);
    return status;
}

nl_status nl_run_multi_insert(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_multi_insert *insert = statement->multi_insert;
    for (uint32_t i = 0; i < insert->count; i++)
        NL_TRY(insert_one(command, &insert->targets[i], with_ctes(command, &insert->ctes, insert->queries[i])));
    return NULL;
}

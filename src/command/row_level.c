/* command/row_level.c - see row_level.h. */
#include "command/row_level.h"
#include "command/plain_tables.h"

#include <stdlib.h>

nl_status nl_row_level_open(nl_command *command, const char *verb, const nl_ast_name *name, const nl_ast_table_alias *alias, nl_row_level *self)
{
    *self = (nl_row_level){.command = command, .verb = verb};
    const nl_plain_table *plain;
    NL_TRY(nl_plain_find_name(command, name, &plain));
    if (plain && strcmp(verb, "delete") == 0) return NL_RAISE(UNSUPPORTED_FEATURE__TABLE_OPERATION, NL_P_STR("tableName", nl_plain_quoted(command, plain)), NL_P("operation", "DELETE"));
    if (plain) return NL_RAISE(_LEGACY_ERROR_TEMP_2096, NL_P("ddl", strcmp(verb, "update") == 0 ? "UPDATE TABLE" : "MERGE INTO TABLE"));
    NL_TRY(nl_write_table_open(command, name, &self->target));
    self->qualifier = self->target.name_parts;
    self->qualifier_count = self->target.name_count;
    if (alias && alias->name.text.data) {
        self->qualifier = &alias->name.text;
        self->qualifier_count = 1;
    }
    return NULL;
}

void nl_row_level_close(nl_row_level *self)
{
    nl_scan_plan_release(self->plan);
    nl_write_table_fini(&self->target);
}

static nl_str verb_property(const nl_row_level *self, const char *suffix, const char *fallback)
{
    char key[64];
    snprintf(key, sizeof key, "write.%s.%s", self->verb, suffix);
    return nl_table_property(self->target.metadata, key, fallback);
}

nl_status nl_row_level_is_merge_on_read(const nl_row_level *self, bool *is_merge_on_read)
{
    const nl_str mode = verb_property(self, "mode", self->command->confs.is_trino ? "merge-on-read" : "copy-on-write"); /* as Trino, which knows nothing else */
    *is_merge_on_read = nl_str_is_nocase(mode, "merge-on-read");
    if (!*is_merge_on_read && !nl_str_is_nocase(mode, "copy-on-write"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unknown row-level operation mode: " NL_STR_FMT, NL_STR_ARG(mode));
    if (*is_merge_on_read && self->target.metadata->format_version < 2) *is_merge_on_read = false; /* v1 has no delete files */
    return NULL;
}

nl_status nl_row_level_scan(nl_row_level *self, bool is_restricted, const nl_str *files, uint32_t file_count, const nl_logical **scan)
{
    nl_command *command = self->command;
    const nl_table *source = NULL;
    const nl_iceberg_read read = {.branch = self->target.snapshot ? self->target.branch : (nl_str){0}, .is_restricted = is_restricted, .files = files, .file_count = file_count};
    NL_TRY(nl_iceberg_source_new(self->target.table, &read, &source));
    *scan = nl_plan_scan(&command->context, source, self->qualifier, self->qualifier_count);
    nl_table_release(source); /* the plan holds its own reference */
    return NULL;
}

const nl_expr *nl_column_expr(nl_arena *arena, const nl_column *column)
{
    return nl_expr_column(arena, column->id, column->name, column->type, column->is_nullable);
}

const nl_expr *nl_row_level_column(nl_row_level *self, const nl_logical *plan, const char *name)
{
    for (uint32_t i = plan->column_count; i-- > 0;)
        if (plan->columns[i].is_hidden && nl_str_is(plan->columns[i].name, name)) return nl_column_expr(self->command->arena, &plan->columns[i]);
    NL_ASSERT(false);
    return NULL;
}

/* ---- plan pieces ----------------------------------------------------------------------------------------------- */

const nl_logical *nl_plan_filter(nl_command *command, const nl_logical *input, const nl_expr *condition)
{
    nl_logical *filter = nl_logical_new(command->arena, NL_PLAN_FILTER, &input, 1);
    filter->columns = input->columns;
    filter->column_count = input->column_count;
    filter->filter.condition = condition;
    return filter;
}

const nl_logical *nl_plan_project(nl_command *command, const nl_logical *input, const nl_expr *const *exprs, const nl_str *names, uint32_t count)
{
    nl_logical *project = nl_logical_new(command->arena, NL_PLAN_PROJECT, &input, 1);
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, count);
    const nl_expr **copies = NL_NEW_ARRAY(command->arena, const nl_expr *, count);
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = exprs[i];
        columns[i] = (nl_column){.id = nl_plan_new_id(&command->context), .name = names[i], .type = exprs[i]->type, .is_nullable = exprs[i]->is_nullable};
    }
    project->columns = columns;
    project->column_count = count;
    project->project.exprs = copies;
    return project;
}

const nl_expr *nl_plan_int(nl_command *command, int32_t value)
{
    const nl_value literal = nl_value_int(nl_type_int(), value);
    return nl_expr_literal(command->arena, &literal);
}

const nl_expr *nl_plan_case(nl_command *command, const nl_expr *const *children, uint32_t count, const nl_type *type)
{
    nl_expr *expr = NL_NEW(command->arena, nl_expr);
    const nl_expr **copies = NL_NEW_ARRAY(command->arena, const nl_expr *, count);
    memcpy(copies, children, count * sizeof(*copies));
    *expr = (nl_expr){.kind = NL_EXPR_CASE, .type = type, .is_nullable = true, .child_count = count, .children = copies};
    return expr;
}

nl_status nl_plan_is_true(nl_command *command, const nl_expr *condition, const nl_expr **result)
{
    const nl_expr *arguments[] = {condition, nl_expr_boolean(command->arena, true)};
    return nl_expr_call_named(command->arena, &command->confs, "<=>", arguments, NL_COUNT(arguments), result);
}

/* ---- which files ----------------------------------------------------------------------------------------------- */

typedef struct path_collector {
    nl_consumer base;
    nl_arena *arena;
    nl_list paths; /* nl_str * */
} path_collector;

static nl_status collect_paths(nl_consumer *base, nl_batch *batch)
{
    path_collector *self = NL_CONTAINER(base, path_collector, base);
    nl_reader reader;
    nl_reader_init(&reader, &batch->columns[0]);
    const nl_string_view *values = reader.values;
    for (uint32_t row = 0; row < batch->row_count; row++) {
        if (nl_reader_is_null(&reader, row)) continue;
        nl_str *path = NL_NEW(self->arena, nl_str);
        *path = nl_arena_str(self->arena, nl_view_str(&values[nl_reader_index(&reader, row)]));
        nl_list_add(self->arena, &self->paths, path);
    }
    return nl_arena_check(self->arena);
}

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static void sorted_paths(nl_arena *arena, const nl_list *paths, const nl_str **files, uint32_t *file_count)
{
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, paths->count);
    for (uint32_t i = 0; i < paths->count; i++)
        list[i] = *(const nl_str *)paths->items[i];
    qsort(list, paths->count, sizeof(*list), compare_paths);
    *files = list;
    *file_count = paths->count;
}

nl_status nl_row_level_affected(nl_row_level *self, const nl_logical *plan, const nl_expr *file_column, const nl_str **files, uint32_t *file_count)
{
    nl_command *command = self->command;
    const nl_str name = NL_STR("_file");
    const nl_logical *project = nl_plan_project(command, plan, &file_column, &name, 1), *optimized = NULL;
    nl_logical *distinct = nl_logical_new(command->arena, NL_PLAN_DISTINCT, &project, 1);
    path_collector collector = {.base.consume = collect_paths, .arena = command->arena};
    distinct->columns = project->columns;
    distinct->column_count = project->column_count;
    NL_TRY(nl_command_optimize(command, distinct, &optimized));
    NL_TRY(nl_query_run(&command->query, optimized, &collector.base));
    sorted_paths(command->arena, &collector.paths, files, file_count);
    return NULL;
}

static nl_status need_plan(nl_row_level *self)
{
    if (self->plan) return NULL;
    const nl_scan_planning planning = {
        .fs = self->target.table->fs,
        .cache = self->target.table->manifest_cache,
        .metadata = self->target.metadata,
        .snapshot = self->target.snapshot,
        .schema = nl_table_schema(self->target.metadata),
        .after_snapshot_id = NL_NONE,
        .ignores_deletes = true,
        .pool = self->command->query.pool,
        .memory = self->command->memory,
    };
    return nl_scan_plan_new(&planning, &self->plan);
}

nl_status nl_row_level_plan(nl_row_level *self, const nl_scan_plan **plan)
{
    NL_TRY(need_plan(self));
    *plan = self->plan;
    return NULL;
}

nl_status nl_row_level_all_files(nl_row_level *self, const nl_str **files, uint32_t *file_count)
{
    NL_TRY(need_plan(self));
    nl_str *list = NL_NEW_ARRAY(self->command->arena, nl_str, self->plan->task_count);
    for (uint32_t i = 0; i < self->plan->task_count; i++)
        list[i] = self->plan->tasks[i].file->path;
    qsort(list, self->plan->task_count, sizeof(*list), compare_paths);
    *files = list;
    *file_count = self->plan->task_count;
    return NULL;
}

/* The manifest entries of files that are taken away: validations and pruning of manifests look at them. */
static nl_status removed_files(nl_row_level *self, const nl_str *files, uint32_t file_count, const nl_removed_file **removed)
{
    nl_arena *arena = self->command->arena;
    NL_TRY(need_plan(self));
    nl_removed_file *list = NL_NEW_ARRAY(arena, nl_removed_file, file_count);
    for (uint32_t i = 0; i < file_count; i++)
        list[i].path = files[i];
    for (uint32_t i = 0; i < self->plan->task_count; i++) {
        const nl_data_file *file = self->plan->tasks[i].file;
        const nl_str *found = file_count ? bsearch(&file->path, files, file_count, sizeof(*files), compare_paths) : NULL;
        if (found) list[found - files].file = file;
    }
    *removed = list;
    return NULL;
}

static nl_isolation isolation_of(const nl_row_level *self)
{
    return nl_str_is_nocase(verb_property(self, "isolation-level", "serializable"), "snapshot") ? NL_ISOLATION_SNAPSHOT : NL_ISOLATION_SERIALIZABLE;
}

static void start_operation(const nl_row_level *self, nl_operation_kind kind, const nl_predicate *conflict_filter, nl_operation *operation)
{
    *operation = (nl_operation){
        .kind = kind,
        .has_starting_snapshot = true,
        .starting_snapshot_id = self->target.snapshot ? self->target.snapshot->snapshot_id : NL_NONE,
        .isolation = isolation_of(self),
        .conflict_filter = conflict_filter,
        .data_sequence_number = NL_NONE,
    };
}

uint32_t nl_row_level_lineage(const nl_row_level *self)
{
    return self->target.metadata->format_version >= 3 ? 2 : 0;
}

void nl_row_level_add_lineage(nl_row_level *self, const nl_logical *plan, const nl_expr *is_changed, const nl_expr **exprs, nl_str *names)
{
    nl_command *command = self->command;
    const nl_value null_value = nl_value_null(nl_type_bigint());
    if (nl_row_level_lineage(self) == 0) return;
    names[0] = NL_STR("_row_id");
    names[1] = NL_STR("_last_updated_sequence_number");
    exprs[0] = nl_row_level_column(self, plan, "_row_id");
    exprs[1] = nl_row_level_column(self, plan, "_last_updated_sequence_number");
    if (!is_changed) return;
    const nl_expr *choice[] = {is_changed, nl_expr_literal(command->arena, &null_value), exprs[1]};
    exprs[1] = nl_plan_case(command, choice, NL_COUNT(choice), nl_type_bigint());
}

nl_write_options nl_row_level_options(const nl_row_level *self)
{
    nl_write_options options = nl_write_options_of(self->command, NULL);
    options.verb = nl_str_is(nl_str_from(self->verb), "delete")   ? NL_WRITE_DELETE
                   : nl_str_is(nl_str_from(self->verb), "update") ? NL_WRITE_UPDATE
                                                                  : NL_WRITE_MERGE;
    return options;
}

nl_status nl_row_level_replace(nl_row_level *self, const nl_logical *rows, const nl_str *files, uint32_t file_count, const nl_predicate *conflict_filter)
{
    nl_iceberg_sink *sink = NULL;
    nl_written_files written;
    nl_operation operation;
    nl_write_options options = nl_row_level_options(self);
    options.has_lineage = nl_row_level_lineage(self) > 0;
    options.has_clusters = self->has_clusters;
    start_operation(self, NL_OPERATION_OVERWRITE, conflict_filter, &operation);
    NL_TRY(removed_files(self, files, file_count, &operation.removed_files));
    operation.removed_count = file_count;
    NL_TRY(nl_write_rows(self->command, &self->target, &options, rows, &sink, &written));
    return nl_commit_files(self->command, &self->target, &operation, sink, &written);
}

nl_status nl_row_level_append(nl_row_level *self, const nl_logical *rows)
{
    nl_iceberg_sink *sink = NULL;
    nl_written_files written;
    nl_operation operation = {.kind = NL_OPERATION_APPEND, .data_sequence_number = NL_NONE};
    const nl_write_options options = nl_write_options_of(self->command, NULL); /* laid out as an INSERT, as in Spark */
    NL_TRY(nl_write_rows(self->command, &self->target, &options, rows, &sink, &written));
    return nl_commit_files(self->command, &self->target, &operation, sink, &written);
}

static nl_status run_delta(nl_row_level *self, const nl_logical *rows, nl_iceberg_sink **sink, nl_written_files *written)
{
    nl_command *command = self->command;
    const nl_logical *plan = NULL, *optimized = NULL;
    nl_iceberg_sink *made = NULL;
    nl_write_options options = nl_row_level_options(self);
    options.has_lineage = nl_row_level_lineage(self) > 0;
    options.deletes_by_partition = nl_str_is_nocase(nl_table_property(self->target.metadata, "write.delete.granularity", "file"), "partition");
    NL_TRY(nl_iceberg_delta_plan(&command->query, self->target.table, self->target.metadata, self->target.snapshot, &options, rows, &plan, &made));
    nl_status status = nl_command_optimize(command, plan, &optimized);
    if (!status) status = nl_iceberg_sink_run(made, &command->query, optimized);
    if (!status) status = nl_iceberg_sink_finish(made, command->arena, written);
    if (status) {
        nl_iceberg_sink_discard(made);
        nl_iceberg_sink_free(made);
    } else {
        *sink = made;
    }
    return status;
}

nl_status nl_row_level_delta(nl_row_level *self, const nl_logical *rows, const nl_predicate *conflict_filter, bool is_delete_command)
{
    nl_arena *arena = self->command->arena;
    nl_iceberg_sink *sink = NULL;
    nl_written_files written;
    nl_operation operation;
    start_operation(self, NL_OPERATION_ROW_DELTA, conflict_filter, &operation);
    operation.is_delete_command = is_delete_command;
    NL_TRY(run_delta(self, rows, &sink, &written));
    nl_str *referenced = NL_NEW_ARRAY(arena, nl_str, written.delete_file_count);
    for (uint32_t i = 0; i < written.delete_file_count; i++) {
        const nl_str path = nl_data_file_referenced(&written.delete_files[i]);
        if (path.data) referenced[operation.referenced_count++] = path;
    }
    nl_removed_file *removed = NL_NEW_ARRAY(arena, nl_removed_file, written.rewritten_delete_file_count);
    for (uint32_t i = 0; i < written.rewritten_delete_file_count; i++)
        removed[i] = (nl_removed_file){written.rewritten_delete_files[i].path, &written.rewritten_delete_files[i]};
    operation.referenced_files = referenced;
    operation.removed_files = removed;
    operation.removed_count = written.rewritten_delete_file_count;
    return nl_commit_files(self->command, &self->target, &operation, sink, &written);
}

/* ---- assignments ----------------------------------------------------------------------------------------------- */

typedef struct substitution {
    const nl_column *columns;
    const nl_expr *const *exprs;
    uint32_t count;
} substitution;

static nl_status substitute(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const substitution *self = context;
    (void)arena;
    *result = expr;
    if (expr->kind != NL_EXPR_COLUMN) return NULL;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->columns[i].id == expr->column) *result = self->exprs[i];
    return NULL;
}

nl_status nl_row_level_store(nl_row_level *self, const nl_logical *input, const nl_expr *const *values, const nl_expr *const *current, const nl_expr **stored)
{
    nl_command *command = self->command;
    const nl_type *row_type = self->target.row_type;
    const uint32_t count = row_type->child_count;
    const nl_expr **given = NL_NEW_ARRAY(command->arena, const nl_expr *, count);
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, count);
    const nl_logical *assigned = NULL;
    for (uint32_t i = 0; i < count; i++) {
        given[i] = values[i] ? values[i] : current[i];
        names[i] = row_type->children[i].name;
    }
    /* Store assignment works on a query's output; its casts are then written back around the values. The names are the
     * table's, so "by name" is about the fields of structs, which Spark's assignments find by name. */
    const nl_logical *project = nl_plan_project(command, input, given, names, count);
    NL_TRY(nl_plan_check_store(&command->context, false));
    NL_TRY(nl_plan_store(&command->context, project, row_type, self->target.name, true, &assigned));
    const substitution inside = {project->columns, given, count};
    for (uint32_t i = 0; i < count; i++) {
        const nl_expr *expr = assigned->kind == NL_PLAN_PROJECT && assigned != project ? assigned->project.exprs[i] : given[i];
        substitution copy = inside;
        NL_TRY(nl_expr_rewrite(command->arena, expr, substitute, &copy, &stored[i]));
    }
    return NULL;
}

static nl_status unresolved(nl_row_level *self, const nl_ast_name *name)
{
    nl_str parts[8];
    const uint32_t count = NL_MIN(name->count, (uint32_t)NL_COUNT(parts));
    for (uint32_t i = 0; i < count; i++)
        parts[i] = name->parts[i].text;
    const nl_type *row = self->target.row_type;
    nl_column *columns = NL_NEW_ARRAY(self->command->arena, nl_column, row->child_count + 1);
    for (uint32_t i = 0; i < row->child_count; i++) columns[i].name = row->children[i].name;
    const nl_str proposal = nl_suggest_names(self->command->arena, parts, count, columns, row->child_count);
    nl_status status = NL_RAISE(UNRESOLVED_COLUMN__WITH_SUGGESTION, NL_P_STR("objectName", nl_command_quoted(self->command, parts, count)),
                                NL_P_STR("proposal", proposal));
    return nl_command_at(self->command, status, name->range);
}

/* The struct is there, the field is not. */
static nl_status no_such_field(nl_row_level *self, const nl_type *type, const nl_ast_name *name, nl_str field)
{
    nl_arena *arena = self->command->arena;
    nl_str fields = {0};
    for (uint32_t i = 0; i < type->child_count; i++)
        fields = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(fields), i ? ", " : "", NL_STR_ARG(nl_command_quoted(self->command, &type->children[i].name, 1)));
    nl_status status = NL_RAISE(FIELD_NOT_FOUND, NL_P_STR("fieldName", nl_command_quoted(self->command, &field, 1)),
                                NL_P_STR("fields", fields));
    return nl_command_at(self->command, status, name->range);
}

static uint32_t field_position(const nl_type *type, nl_str name)
{
    for (uint32_t i = 0; i < type->child_count; i++)
        if (nl_str_equal_nocase(type->children[i].name, name)) return i;
    return UINT32_MAX;
}

/* `t.c`, `lake.db.t.c`, `c`: how many parts of the name qualify it. */
static uint32_t qualifier_parts(const nl_row_level *self, const nl_ast_name *name)
{
    for (uint32_t length = NL_MIN(self->qualifier_count, name->count - 1); length > 0; length--) {
        bool matches = true;
        for (uint32_t i = 0; matches && i < length; i++)
            matches = nl_str_equal_nocase(name->parts[i].text, self->qualifier[self->qualifier_count - length + i]);
        if (matches && field_position(self->target.row_type, name->parts[length].text) != UINT32_MAX) return length;
    }
    return 0;
}

/* A struct with one field, perhaps deep inside, replaced. */
static nl_status replace_field(nl_row_level *self, const nl_expr *base, const nl_ast_name *name, uint32_t depth, const nl_expr *value, const nl_expr **result)
{
    nl_command *command = self->command;
    if (depth == name->count) {
        *result = value;
        return NULL;
    }
    const uint32_t at = base->type->id == NL_TYPE_STRUCT ? field_position(base->type, name->parts[depth].text) : UINT32_MAX;
    if (at == UINT32_MAX && base->type->id == NL_TYPE_STRUCT) return no_such_field(self, base->type, name, name->parts[depth].text);
    if (at == UINT32_MAX) return unresolved(self, name);
    const nl_expr **arguments = NL_NEW_ARRAY(command->arena, const nl_expr *, base->type->child_count * 2);
    for (uint32_t i = 0; i < base->type->child_count; i++) {
        nl_expr *field = NL_NEW(command->arena, nl_expr);
        const nl_expr **children = NL_NEW(command->arena, const nl_expr *);
        const nl_value field_name = nl_value_string(base->type->children[i].name);
        children[0] = base;
        *field = (nl_expr){.kind = NL_EXPR_FIELD, .type = base->type->children[i].type, .is_nullable = true, .child_count = 1, .children = children};
        field->ordinal = i;
        arguments[i * 2] = nl_expr_literal(command->arena, &field_name);
        arguments[i * 2 + 1] = field;
        if (i == at) NL_TRY(replace_field(self, field, name, depth + 1, value, &arguments[i * 2 + 1]));
    }
    return nl_expr_call_named(command->arena, &command->confs, "named_struct", arguments, base->type->child_count * 2, result);
}

static bool is_default(const nl_ast_expr *value)
{
    return value->kind == NL_AST_EXPR_COLUMN && value->column.count == 1 && !value->column.parts[0].is_quoted &&
           nl_str_is_nocase(value->column.parts[0].text, "default");
}

/* Does one of the names stand for a part of what the other stands for, or for the same? */
static bool overlap(const nl_row_level *self, const nl_ast_name *a, const nl_ast_name *b)
{
    const uint32_t a_start = qualifier_parts(self, a), b_start = qualifier_parts(self, b);
    for (uint32_t i = 0; a_start + i < a->count && b_start + i < b->count; i++)
        if (!nl_str_equal_nocase(a->parts[a_start + i].text, b->parts[b_start + i].text)) return false;
    return true;
}

static nl_status check_conflicts(const nl_row_level *self, const nl_ast_assignments *assignments)
{
    for (uint32_t i = 0; i < assignments->count; i++)
        for (uint32_t j = 0; j < i; j++) {
            if (!overlap(self, &assignments->items[i].target, &assignments->items[j].target)) continue;
            nl_command *command = self->command;
            const nl_str name = assignments->items[j].target.parts[assignments->items[j].target.count - 1].text;
            return NL_RAISE(DATATYPE_MISMATCH__INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS, NL_P("sqlExpr", "\"UPDATE\""),
                            NL_P_STR("errors", nl_arena_f(command->arena, "\n- Multiple assignments for '" NL_STR_FMT "'", NL_STR_ARG(name))));
        }
    return NULL;
}

nl_status nl_row_level_assign(nl_row_level *self, const nl_ast_assignments *assignments, const nl_column *columns, uint32_t column_count,
                              const nl_expr *const *current, const nl_expr **values)
{
    nl_command *command = self->command;
    NL_TRY(check_conflicts(self, assignments));
    for (uint32_t i = 0; i < assignments->count; i++) {
        const nl_ast_assignment *assignment = &assignments->items[i];
        const uint32_t skipped = qualifier_parts(self, &assignment->target);
        const uint32_t at = field_position(self->target.row_type, assignment->target.parts[skipped].text);
        const nl_expr *value = NULL;
        if (at == UINT32_MAX) return unresolved(self, &assignment->target);
        if (is_default(assignment->value)) {
            const nl_value null_value = nl_value_null(self->target.row_type->children[at].type);
            value = nl_expr_literal(command->arena, &null_value);
        } else {
            NL_TRY(nl_analyze_expr(&command->context, assignment->value, columns, column_count, &value));
        }
        const nl_expr *base = values[at] ? values[at] : current[at];
        NL_TRY(replace_field(self, base, &assignment->target, skipped + 1, value, &values[at]));
    }
    return NULL;
}

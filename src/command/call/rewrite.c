/* command/call/rewrite.c - rewrite_data_files: groups of files are read with their deletes applied and written anew. */
#include "command/call/procedure.h"

#include <stdlib.h>

#include "command/call/rewrite_options.h"
#include "command/call/sort_text.h"
#include "exec/sink/sort_plan.h"
#include "exec/source/predicate.h"
#include "exec/sources.h"
#include "iceberg/maintenance.h"

enum { ARG_STRATEGY = 1, ARG_SORT_ORDER = 2, ARG_OPTIONS = 3, ARG_WHERE = 4 };

typedef struct rewrite {
    nl_call *call;
    nl_rewrite_options options;
    bool is_partial;
    int64_t commits_max;
    bool keeps_sequence_number;
    bool removes_dangling;
    bool is_sorted;
    const nl_sort_order *order;   /* NULL: by zorder */
    const nl_list *zorder;        /* field ids */
    nl_scan_plan *plan;
    int64_t rewritten, added, bytes;
    int64_t vectors;              /* of rewritten files: they go with them */
    nl_list done;                 /* rewritten_group *: waiting for their commit */
    int64_t failed_commits;
} rewrite;

typedef struct rewritten_group {
    const nl_rewrite_group *group;
    nl_iceberg_sink *sink;
    nl_written_files files;
} rewritten_group;

/* ---- options --------------------------------------------------------------------------------------------------- */

static nl_status prepare_options(rewrite *self)
{
    const nl_property *items;
    uint32_t count;
    const nl_table_metadata *metadata = self->call->target.metadata;
    const nl_str strategy = nl_call_text(self->call, ARG_STRATEGY), sort_text = nl_call_text(self->call, ARG_SORT_ORDER);
    self->options = (nl_rewrite_options){
        .max_group_bytes = 100ll << 30,
        .delete_file_threshold = INT32_MAX,
        .delete_ratio_threshold = 0.3,
        .max_files_to_rewrite = NL_NONE,
        .output_spec_id = metadata->default_spec_id,
    };
    NL_TRY(nl_table_property_int(metadata, "write.target-file-size-bytes", 512 << 20, &self->options.target_file_bytes));
    if (strategy.data && !nl_str_is_nocase(strategy, "binpack") && !nl_str_is_nocase(strategy, "sort"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "unsupported strategy: " NL_STR_FMT ". Only binpack or sort is supported", NL_STR_ARG(strategy));
    if (nl_str_is_nocase(strategy, "binpack") && sort_text.data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set rewrite mode, it has already been set to BIN-PACK");
    self->is_sorted = sort_text.data || nl_str_is_nocase(strategy, "sort");
    if (self->is_sorted) {
        self->order = nl_table_sort_order(metadata);
        if (sort_text.data) NL_TRY(nl_parse_sort_text(self->call->command, nl_table_schema(metadata), sort_text, &self->order, &self->zorder));
        if (!self->zorder && (!self->order || self->order->field_count == 0))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot sort data without a valid sort order, table '" NL_STR_FMT "' is unsorted and no sort order is provided",
                                 NL_STR_ARG(self->call->table->name));
    }
    nl_rewrite_settings settings = {.commits_max = 10, .min_input_files = 5, .spec_id = metadata->default_spec_id};
    nl_call_map(self->call, ARG_OPTIONS, &items, &count);
    NL_TRY(nl_read_rewrite_options(items, count, NL_REWRITES_DATA | (self->zorder ? NL_REWRITES_ZORDER : self->is_sorted ? NL_REWRITES_SORTED : 0),
                                   self->zorder ? "Z-ORDER" : self->is_sorted ? "SORT" : "BIN-PACK", &self->options, &settings));
    if (!nl_table_spec_by_id(metadata, self->options.output_spec_id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use output spec id %d because the table does not contain a reference to this spec-id.",
                             self->options.output_spec_id);
    self->is_partial = settings.is_partial;
    self->commits_max = settings.commits_max;
    self->keeps_sequence_number = settings.keeps_sequence_number;
    self->removes_dangling = settings.removes_dangling;
    return NULL;
}

/* ---- selection ------------------------------------------------------------------------------------------------- */

static nl_status new_scan(nl_call *call, const nl_iceberg_read *read, const nl_logical **scan)
{
    nl_command *command = call->command;
    const nl_table *source = NULL;
    NL_TRY(nl_iceberg_source_new(call->table, read, &source));
    *scan = nl_plan_scan(&command->context, source, call->target.name_parts, call->target.name_count);
    nl_table_release(source); /* the plan holds its own reference */
    return NULL;
}

nl_status nl_call_where(nl_call *call, uint32_t parameter, const nl_predicate **predicate)
{
    nl_command *command = call->command;
    const nl_str text = nl_call_text(call, parameter);
    const nl_iceberg_read read = {0};
    const nl_logical *scan = NULL;
    const nl_expr *condition = NULL;
    nl_ast_expr *parsed = NULL;
    bool is_exact = false;
    *predicate = NULL;
    if (!text.data) return NULL;
    NL_TRY(new_scan(call, &read, &scan));
    nl_error *error = nl_sql_parse_expression(command->arena, text, NULL, &parsed);
    if (!error) error = nl_analyze_condition(&command->context, parsed, scan->columns, scan->column_count, &condition);
    if (error) {
        nl_error_free(error);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot parse predicates in where option: " NL_STR_FMT, NL_STR_ARG(text));
    }
    NL_TRY(nl_simplify_expr(&command->context, condition, &condition));
    NL_TRY(nl_predicate_of_expr(command->arena, condition, scan, predicate, &is_exact));
    if (!is_exact && (*predicate)->kind == NL_PREDICATE_TRUE)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot translate Spark expression: " NL_STR_FMT " to data source filter", NL_STR_ARG(text));
    return NULL;
}

static nl_status plan_groups(rewrite *self, nl_rewrite_group **groups, uint32_t *group_count)
{
    nl_command *command = self->call->command;
    const nl_predicate *predicate = NULL;
    NL_TRY(nl_call_where(self->call, ARG_WHERE, &predicate));
    const nl_scan_planning planning = {
        .fs = self->call->table->fs,
        .cache = self->call->table->manifest_cache,
        .metadata = self->call->target.metadata,
        .snapshot = self->call->target.snapshot,
        .schema = nl_table_schema(self->call->target.metadata),
        .predicate = predicate,
        .after_snapshot_id = NL_NONE,
        .pool = command->query.pool,
        .memory = command->memory,
    };
    NL_TRY(nl_scan_plan_new(&planning, &self->plan));
    return nl_plan_rewrite(self->plan, self->call->target.metadata, &self->options, command->arena, groups, group_count);
}

/* ---- one group ------------------------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

/* v3: rows keep their identity when they move to another file. */
static bool keeps_lineage(const rewrite *self)
{
    return self->call->target.metadata->format_version >= 3;
}

static const nl_column *lineage_column(const nl_logical *scan, uint32_t i)
{
    static const char *const names[] = {"_row_id", "_last_updated_sequence_number"};
    uint32_t at = scan->column_count;
    while (at-- > 0)
        if (nl_str_is(scan->columns[at].name, names[i]) && scan->columns[at].is_hidden) break;
    return &scan->columns[at];
}

static nl_status group_plan(rewrite *self, const nl_rewrite_group *group, const nl_logical **plan)
{
    nl_command *command = self->call->command;
    nl_str *paths = NL_NEW_ARRAY(command->arena, nl_str, group->task_count);
    const nl_logical *scan = NULL;
    for (uint32_t i = 0; i < group->task_count; i++)
        paths[i] = group->tasks[i]->file->path;
    qsort(paths, group->task_count, sizeof(*paths), compare_paths);
    const nl_iceberg_read read = {.is_restricted = true, .files = paths, .file_count = group->task_count};
    NL_TRY(new_scan(self->call, &read, &scan));
    const uint32_t column_count = self->call->target.row_type->child_count, count = column_count + (keeps_lineage(self) ? 2 : 0);
    nl_logical *project = nl_logical_new(command->arena, NL_PLAN_PROJECT, &scan, 1);
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, count);
    const nl_expr **exprs = NL_NEW_ARRAY(command->arena, const nl_expr *, count);
    for (uint32_t i = 0; i < count; i++) {
        const nl_column *source = i < column_count ? &scan->columns[i] : lineage_column(scan, i - column_count);
        exprs[i] = nl_expr_column(command->arena, source->id, source->name, source->type, source->is_nullable);
        columns[i] = (nl_column){.id = nl_plan_new_id(&command->context), .name = source->name, .type = source->type, .is_nullable = source->is_nullable};
    }
    project->columns = columns;
    project->column_count = count;
    project->project.exprs = exprs;
    *plan = project;
    if (!self->is_sorted) return NULL;
    if (self->zorder) return nl_sort_by_zorder(command, nl_table_schema(self->call->target.metadata), self->zorder, project, plan);
    return nl_sort_by_order(command->arena, nl_table_schema(self->call->target.metadata), self->order, project, plan);
}

static nl_status rewrite_group(rewrite *self, const nl_rewrite_group *group)
{
    nl_command *command = self->call->command;
    const nl_logical *plan = NULL;
    rewritten_group *done = NL_NEW(command->arena, rewritten_group);
    nl_write_options options = nl_write_options_of(command, NULL);
    options.ignores_order = true;
    /* Workers with files of their own would leave several small ones where one is wanted. */
    options.shares_writers = group->bytes / nl_pool_thread_count(command->query.pool) < group->target_bytes;
    options.keeps_plan_order = self->is_sorted;
    options.has_lineage = keeps_lineage(self);
    options.target_file_bytes = group->target_bytes;
    options.has_spec_id = true;
    options.spec_id = self->options.output_spec_id;
    done->group = group;
    NL_TRY(group_plan(self, group, &plan));
    NL_TRY(nl_write_rows(command, &self->call->target, &options, plan, &done->sink, &done->files));
    nl_list_add(command->arena, &self->done, done);
    return NULL;
}

/* ---- commits --------------------------------------------------------------------------------------------------- */

static int64_t vector_count(const nl_rewrite_group *group)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < group->task_count; i++)
        for (uint32_t j = 0; j < group->tasks[i]->delete_count; j++)
            count += nl_data_file_is_deletion_vector(group->tasks[i]->deletes[j]);
    return count;
}

static nl_status commit_done(rewrite *self)
{
    nl_command *command = self->call->command;
    const nl_snapshot *start = self->call->target.snapshot;
    uint32_t added_count = 0, removed_count = 0;
    if (self->done.count == 0) return NULL;
    for (uint32_t i = 0; i < self->done.count; i++) {
        const rewritten_group *group = self->done.items[i];
        added_count += group->files.data_file_count;
        removed_count += group->group->task_count;
    }
    nl_data_file *added = NL_NEW_ARRAY(command->arena, nl_data_file, added_count);
    nl_removed_file *removed = NL_NEW_ARRAY(command->arena, nl_removed_file, removed_count);
    nl_operation operation = {
        .kind = NL_OPERATION_REWRITE,
        .added_files = added,
        .removed_files = removed,
        .has_starting_snapshot = true,
        .starting_snapshot_id = start->snapshot_id,
        .isolation = NL_ISOLATION_SNAPSHOT,
        .data_sequence_number = self->keeps_sequence_number && self->call->target.metadata->format_version > 1 ? start->sequence_number : NL_NONE,
        .pool = command->query.pool,
    };
    int64_t bytes = 0, vectors = 0;
    for (uint32_t i = 0; i < self->done.count; i++) {
        const rewritten_group *group = self->done.items[i];
        memcpy(added + operation.added_count, group->files.data_files, group->files.data_file_count * sizeof(*added));
        operation.added_count += group->files.data_file_count;
        for (uint32_t j = 0; j < group->group->task_count; j++)
            removed[operation.removed_count++] = (nl_removed_file){group->group->tasks[j]->file->path, group->group->tasks[j]->file};
        bytes += group->group->bytes;
        vectors += vector_count(group->group);
    }
    nl_status status = nl_operation_commit(self->call->table, &operation, NULL);
    for (uint32_t i = 0; i < self->done.count; i++) {
        rewritten_group *group = self->done.items[i];
        if (status && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) nl_iceberg_sink_discard(group->sink);
        nl_iceberg_sink_free(group->sink);
    }
    self->done = (nl_list){0};
    if (status) return status;
    self->rewritten += operation.removed_count;
    self->added += operation.added_count;
    self->bytes += bytes;
    self->vectors += vectors;
    return NULL;
}

static void discard_done(rewrite *self)
{
    for (uint32_t i = 0; i < self->done.count; i++) {
        rewritten_group *group = self->done.items[i];
        nl_iceberg_sink_discard(group->sink);
        nl_iceberg_sink_free(group->sink);
    }
    self->done = (nl_list){0};
}

static nl_status rewrite_all(rewrite *self, const nl_rewrite_group *groups, uint32_t group_count)
{
    int64_t files_left = self->options.max_files_to_rewrite == NL_NONE ? INT64_MAX : self->options.max_files_to_rewrite;
    const uint32_t per_commit = self->is_partial ? (uint32_t)NL_MAX((group_count + self->commits_max - 1) / NL_MAX(self->commits_max, 1), 1) : group_count;
    for (uint32_t i = 0; i < group_count && files_left > 0; i++) {
        NL_TRY(nl_cancel_check(self->call->command->query.cancel));
        NL_TRY(rewrite_group(self, &groups[i]));
        files_left -= groups[i].task_count;
        if (self->done.count >= per_commit) NL_TRY(commit_done(self));
    }
    return commit_done(self);
}

nl_status nl_call_rewrite_data_files(nl_call *call)
{
    rewrite self = {.call = call};
    nl_rewrite_group *groups = NULL;
    uint32_t group_count = 0;
    NL_TRY(prepare_options(&self));
    nl_status status = call->target.snapshot ? plan_groups(&self, &groups, &group_count) : NULL;
    if (!status) status = rewrite_all(&self, groups, group_count);
    if (status) discard_done(&self);
    nl_scan_plan_release(self.plan);
    if (status) return status;
    if (self.removes_dangling && group_count > 0) {
        uint32_t removed_count = 0;
        NL_TRY_NOTE(nl_remove_dangling_deletes(call->table, &removed_count), "the files are rewritten; dangling delete files were not removed");
        self.vectors += removed_count;
    }
    return nl_call_numbers(call, (const int64_t[]){self.rewritten, self.added, self.bytes, 0, self.vectors});
}

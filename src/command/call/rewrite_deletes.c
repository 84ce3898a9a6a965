/* command/call/rewrite_deletes.c - rewrite_position_delete_files: small delete files of a partition become larger ones, and
 * positions in data files that are gone are dropped. Deletion vectors are left alone. */
#include "command/call/procedure.h"

#include "base/number.h"
#include "command/call/rewrite_options.h"
#include "exec/sink/position_deletes.h"
#include "exec/source/delete_filter.h"
#include "exec/sources.h"
#include "iceberg/maintenance.h"

enum { ARG_OPTIONS = 1, ARG_WHERE = 2 };

typedef struct finished_group {
    const nl_rewrite_group *group;
    nl_write_target *target; /* owned: knows what to remove when the commit fails */
    nl_written_files files;
    int64_t sequence_number; /* the newest of the files replaced */
} finished_group;

typedef struct rewrite {
    nl_call *call;
    nl_rewrite_options options;
    nl_write_options write;
    bool is_partial;
    int64_t commits_max;
    nl_list done; /* finished_group *: waiting for their commit */
    int64_t rewritten, added, rewritten_bytes, added_bytes;
} rewrite;

static nl_status prepare_options(rewrite *self)
{
    const nl_property *items;
    uint32_t count;
    const nl_table_metadata *metadata = self->call->target.metadata;
    nl_rewrite_settings settings = {.is_partial = false, .commits_max = 10, .min_input_files = 5, .spec_id = metadata->default_spec_id};
    self->options = (nl_rewrite_options){
        .max_group_bytes = 100ll << 30,
        .delete_file_threshold = INT64_MAX,
        .delete_ratio_threshold = 2,
        .max_files_to_rewrite = NL_NONE,
        .output_spec_id = metadata->default_spec_id,
        .keeps_specs = true,
    };
    NL_TRY(nl_table_property_int(metadata, "write.delete.target-file-size-bytes", 64 << 20, &self->options.target_file_bytes));
    nl_call_map(self->call, ARG_OPTIONS, &items, &count);
    NL_TRY(nl_read_rewrite_options(items, count, NL_REWRITES_DELETES, "BIN-PACK", &self->options, &settings));
    self->is_partial = settings.is_partial;
    self->commits_max = settings.commits_max;
    self->write = nl_write_options_of(self->call->command, NULL);
    self->write.deletes_by_partition = nl_str_is_nocase(nl_table_property(metadata, "write.delete.granularity", "file"), "partition");
    return NULL;
}

/* ---- one group ------------------------------------------------------------------------------------------------- */

static nl_status add_batch(void *argument, const nl_batch *batch)
{
    const nl_selection all = {NULL, batch->row_count};
    return nl_position_set_add(argument, &batch->columns[0], &batch->columns[1], all);
}

static nl_status read_group(rewrite *self, const nl_rewrite_group *group, nl_position_set *set)
{
    nl_command *command = self->call->command;
    const nl_field fields[] = {
        {.name = NL_STR("file_path"), .type = nl_type_string(), .field_id = NL_FIELD_ID_DELETE_FILE_PATH},
        {.name = NL_STR("pos"), .type = nl_type_bigint(), .field_id = NL_FIELD_ID_DELETE_FILE_POS},
    };
    const nl_type *wanted = nl_type_struct(command->arena, fields, NL_COUNT(fields));
    for (uint32_t i = 0; i < group->task_count; i++) {
        NL_TRY(nl_cancel_check(command->query.cancel));
        NL_TRY_NOTE(nl_delete_file_read(self->call->table->fs, group->tasks[i]->file, wanted, command->memory, add_batch, set),
                    "reading position deletes " NL_STR_FMT, NL_STR_ARG(group->tasks[i]->file->path));
    }
    return NULL;
}

/* Nothing of the group is left behind; target: owned. */
static void discard(nl_write_target *target, bool removes_files)
{
    for (uint32_t i = 0; removes_files && i < target->paths.count; i++) /* what cannot be removed stays as an orphan */
        nl_error_free(nl_fs_remove(target->fs, *(const nl_str *)target->paths.items[i]));
    nl_write_target_fini(target);
}

static nl_status write_group(rewrite *self, const nl_rewrite_group *group, nl_position_set *set)
{
    nl_call *call = self->call;
    nl_arena *arena = call->command->arena;
    finished_group *done = NL_NEW(arena, finished_group);
    done->group = group;
    done->target = NL_NEW(arena, nl_write_target);
    NL_TRY(read_group(self, group, set));
    NL_TRY(nl_write_target_init(done->target, &call->command->query, call->table, call->target.metadata, &self->write));
    nl_status status = nl_position_set_write(set, done->target, call->table, call->target.snapshot, self->write.deletes_by_partition, true, arena, &done->files);
    if (status) {
        discard(done->target, true);
        return status;
    }
    for (uint32_t i = 0; i < group->task_count; i++)
        done->sequence_number = NL_MAX(done->sequence_number, group->tasks[i]->data_sequence_number);
    nl_list_add(arena, &self->done, done);
    return NULL;
}

static nl_status rewrite_group(rewrite *self, const nl_rewrite_group *group)
{
    nl_position_set *set = NULL;
    NL_TRY(nl_position_set_new(&set));
    nl_status status = write_group(self, group, set);
    nl_position_set_free(set);
    return status;
}

/* ---- commits --------------------------------------------------------------------------------------------------- */

static void fill_operation(rewrite *self, nl_operation *operation)
{
    nl_arena *arena = self->call->command->arena;
    uint32_t added_count = 0, removed_count = 0;
    for (uint32_t i = 0; i < self->done.count; i++) {
        const finished_group *group = self->done.items[i];
        added_count += group->files.delete_file_count;
        removed_count += group->group->task_count;
    }
    nl_data_file *added = NL_NEW_ARRAY(arena, nl_data_file, added_count);
    int64_t *numbers = NL_NEW_ARRAY(arena, int64_t, added_count);
    nl_removed_file *removed = NL_NEW_ARRAY(arena, nl_removed_file, removed_count);
    *operation = (nl_operation){
        .kind = NL_OPERATION_REWRITE,
        .added_files = added,
        .added_sequence_numbers = numbers,
        .removed_files = removed,
        .has_starting_snapshot = true,
        .starting_snapshot_id = self->call->target.snapshot->snapshot_id,
        .isolation = NL_ISOLATION_SNAPSHOT,
        .data_sequence_number = NL_NONE,
        .pool = self->call->command->query.pool,
    };
    for (uint32_t i = 0; i < self->done.count; i++) {
        const finished_group *group = self->done.items[i];
        for (uint32_t j = 0; j < group->files.delete_file_count; j++) {
            added[operation->added_count] = group->files.delete_files[j];
            numbers[operation->added_count++] = group->sequence_number;
        }
        for (uint32_t j = 0; j < group->group->task_count; j++)
            removed[operation->removed_count++] = (nl_removed_file){group->group->tasks[j]->file->path, group->group->tasks[j]->file};
    }
}

static void forget_done(rewrite *self, bool removes_files)
{
    for (uint32_t i = 0; i < self->done.count; i++)
        discard(((finished_group *)self->done.items[i])->target, removes_files);
    self->done = (nl_list){0};
}

static nl_status commit_done(rewrite *self)
{
    nl_operation operation;
    if (self->done.count == 0) return NULL;
    fill_operation(self, &operation);
    nl_status status = nl_operation_commit(self->call->table, &operation, NULL);
    forget_done(self, status && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE);
    if (status) return status;
    self->rewritten += operation.removed_count;
    self->added += operation.added_count;
    for (uint32_t i = 0; i < operation.removed_count; i++)
        self->rewritten_bytes += operation.removed_files[i].file->file_size_bytes;
    for (uint32_t i = 0; i < operation.added_count; i++)
        self->added_bytes += operation.added_files[i].file_size_bytes;
    return NULL;
}

static nl_status rewrite_all(rewrite *self)
{
    nl_call *call = self->call;
    const nl_predicate *predicate = NULL;
    nl_rewrite_group *groups = NULL;
    uint32_t group_count = 0;
    NL_TRY(nl_call_where(call, ARG_WHERE, &predicate));
    NL_TRY(nl_plan_delete_rewrite(call->table, call->target.metadata, call->target.snapshot, predicate, &self->options, call->command->arena, &groups, &group_count));
    const int64_t commits = NL_MAX(self->commits_max, 1);
    const uint32_t per_commit = self->is_partial ? (uint32_t)NL_MAX((group_count + commits - 1) / commits, 1) : group_count;
    for (uint32_t i = 0; i < group_count; i++) {
        NL_TRY(rewrite_group(self, &groups[i]));
        if (self->done.count >= per_commit) NL_TRY(commit_done(self));
    }
    return commit_done(self);
}

nl_status nl_call_rewrite_position_delete_files(nl_call *call)
{
    rewrite self = {.call = call};
    NL_TRY(prepare_options(&self));
    nl_status status = call->target.snapshot ? rewrite_all(&self) : NULL;
    if (status) forget_done(&self, true);
    if (status) return status;
    return nl_call_numbers(call, (const int64_t[]){self.rewritten, self.added, self.rewritten_bytes, self.added_bytes});
}

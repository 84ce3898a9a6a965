/* command/call/relocate_manifests.c - manifests and manifest lists with moved paths: see relocate.h. Java writes the lists
 * first and leaves the old lengths in them; here the lengths are those of the staged files. */
#include "command/call/relocate.h"

#include <stdlib.h>

#include "exec/data_formats.h"

static nl_rewritten_file *find_rewritten(const nl_relocation *self, nl_str path)
{
    for (uint32_t low = 0, high = self->rewritten.count; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        nl_rewritten_file *file = self->rewritten.items[middle];
        const int order = nl_str_compare(file->path, path);
        if (order == 0) return file;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

static int compare_rewritten(const void *a, const void *b)
{
    return nl_str_compare((*(nl_rewritten_file *const *)a)->path, (*(nl_rewritten_file *const *)b)->path);
}

static void sort_rewritten(nl_relocation *self)
{
    if (self->rewritten.count > 1) qsort(self->rewritten.items, self->rewritten.count, sizeof(void *), compare_rewritten);
}

/* Appended; found once sorted. */
static void add_rewritten(nl_relocation *self, nl_str path, int64_t size_bytes)
{
    nl_rewritten_file *file = NL_NEW(self->arena, nl_rewritten_file);
    *file = (nl_rewritten_file){nl_arena_str(self->arena, path), size_bytes};
    nl_list_add(self->arena, &self->rewritten, file);
}

/* ---- which manifests ------------------------------------------------------------------------------------------- */

typedef struct manifest_lists {
    const nl_manifest_file **files; /* per snapshot of the end */
    uint32_t *counts;
    nl_list wanted;                 /* const nl_manifest_file *: each manifest once, by path */
} manifest_lists;

static int compare_manifests(const void *a, const void *b)
{
    return nl_str_compare((*(const nl_manifest_file *const *)a)->path, (*(const nl_manifest_file *const *)b)->path);
}

static nl_status check_prefix(const nl_relocation *self, nl_str path, const char *what)
{
    if (nl_str_starts(path, self->source)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Encountered %s file " NL_STR_FMT " not under the source prefix " NL_STR_FMT, what, NL_STR_ARG(path),
                         NL_STR_ARG(nl_call_text(self->call, 1)));
}

static nl_status read_lists(nl_relocation *self, manifest_lists *lists)
{
    nl_iceberg_table *table = self->call->table;
    lists->files = NL_NEW_ARRAY(self->arena, const nl_manifest_file *, self->end->snapshot_count + 1);
    lists->counts = NL_NEW_ARRAY(self->arena, uint32_t, self->end->snapshot_count + 1);
    nl_list all = {0};
    for (uint32_t i = 0; i < self->end->snapshot_count; i++) {
        NL_TRY(nl_snapshot_manifests(table->fs, &self->end->snapshots[i], table->memory, self->arena, &lists->files[i], &lists->counts[i]));
        for (uint32_t j = 0; j < lists->counts[i]; j++) {
            const nl_manifest_file *file = &lists->files[i][j];
            NL_TRY(check_prefix(self, file->path, "manifest"));
            if (nl_relocate_wants(self, file->added_snapshot_id)) nl_list_add(self->arena, &all, (void *)(uintptr_t)file);
        }
    }
    if (all.count > 1) qsort(all.items, all.count, sizeof(void *), compare_manifests);
    for (uint32_t i = 0; i < all.count; i++)
        if (i == 0 || compare_manifests(&all.items[i - 1], &all.items[i]) != 0) nl_list_add(self->arena, &lists->wanted, all.items[i]);
    return nl_arena_check(self->arena);
}

/* ---- delete files ---------------------------------------------------------------------------------------------- */


static int compare_files(const void *a, const void *b)
{
    return nl_str_compare((*(nl_data_file *const *)a)->path, (*(nl_data_file *const *)b)->path);
}

static nl_status read_manifest(const nl_relocation *self, const nl_manifest_file *listed, const nl_manifest **manifest)
{
    nl_iceberg_table *table = self->call->table;
    return nl_note_if(nl_manifest_cache_read(table->manifest_cache, table->fs, listed, table->memory, manifest), NL_HERE, "reading manifest " NL_STR_FMT, NL_STR_ARG(listed->path));
}

static bool is_copied(const nl_relocation *self, const nl_manifest_entry *entry)
{
    return nl_manifest_entry_is_live(entry) && nl_relocate_wants(self, entry->snapshot_id);
}

static nl_status list_deletes(nl_relocation *self, const nl_manifest_file *listed, nl_list *files)
{
    const nl_manifest *manifest = NULL;
    nl_status status = NULL;
    if (listed->content != NL_MANIFEST_DELETES) return NULL;
    NL_TRY(read_manifest(self, listed, &manifest));
    for (uint32_t i = 0; !status && i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        if (entry->file.content != NL_CONTENT_POSITION_DELETES || !is_copied(self, entry)) continue;
        if (!nl_data_file_is_deletion_vector(&entry->file)) status = nl_data_format_check(&entry->file);
        nl_data_file *copy = NL_NEW(self->arena, nl_data_file);
        *copy = nl_data_file_copy(self->arena, &entry->file, manifest->spec->field_count);
        nl_list_add(self->arena, files, copy);
    }
    nl_manifest_release(manifest);
    return status;
}

static nl_status rewrite_deletes(nl_relocation *self, const manifest_lists *lists)
{
    nl_list files = {0};
    for (uint32_t i = 0; i < lists->wanted.count; i++)
        NL_TRY(list_deletes(self, lists->wanted.items[i], &files));
    if (files.count > 1) qsort(files.items, files.count, sizeof(void *), compare_files);
    for (uint32_t i = 0; i < files.count; i++) {
        int64_t size_bytes = 0;
        if (i > 0 && compare_files(&files.items[i - 1], &files.items[i]) == 0) continue;
        NL_TRY(nl_cancel_check(self->call->command->query.cancel));
        NL_TRY(nl_relocate_delete_file(self, files.items[i], &size_bytes));
        add_rewritten(self, ((nl_data_file *)files.items[i])->path, size_bytes);
    }
    sort_rewritten(self);
    return NULL;
}

/* ---- manifests ------------------------------------------------------------------------------------------------- */

static nl_status move_entry(nl_relocation *self, const nl_manifest_entry *entry, nl_manifest_entry *moved)
{
    nl_str staged;
    *moved = *entry;
    const bool is_data = entry->file.content == NL_CONTENT_DATA, is_positions = entry->file.content == NL_CONTENT_POSITION_DELETES;
    NL_TRY(check_prefix(self, entry->file.path, is_data ? "data" : "delete"));
    NL_TRY(nl_relocate_target(self, entry->file.path, &moved->file.path));
    if (is_positions) NL_TRY(nl_relocate_delete_entry(self, &moved->file));
    const nl_rewritten_file *rewritten = is_positions ? find_rewritten(self, entry->file.path) : NULL;
    if (rewritten) moved->file.file_size_bytes = rewritten->size_bytes;
    if (!is_copied(self, entry)) return NULL; /* it stays in the metadata; the file is there, or gone */
    NL_TRY(nl_relocate_staging(self, entry->file.path, &staged));
    nl_relocate_copy(self, is_positions ? staged : nl_arena_str(self->arena, entry->file.path), moved->file.path);
    return NULL;
}

static nl_status write_entry(nl_manifest_writer *writer, const nl_manifest_entry *entry)
{
    switch (entry->status) {
    case NL_ENTRY_ADDED: return nl_manifest_writer_add(writer, &entry->file, entry->sequence_number);
    case NL_ENTRY_EXISTING: return nl_manifest_writer_existing(writer, entry);
    case NL_ENTRY_DELETED: return nl_manifest_writer_delete(writer, entry);
    }
    return NULL;
}

static nl_status write_entries(nl_relocation *self, const nl_manifest *manifest, nl_manifest_writer *writer)
{
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        nl_manifest_entry moved;
        NL_TRY(move_entry(self, &manifest->entries[i], &moved));
        NL_TRY(write_entry(writer, &moved));
    }
    return nl_arena_check(self->arena);
}

static nl_status write_manifest(nl_relocation *self, const nl_manifest_file *listed, const nl_manifest *manifest, nl_str staged, nl_manifest_file *written)
{
    nl_manifest_writer *writer = NULL;
    const nl_manifest_writer_options options = {
        .fs = self->call->table->fs,
        .format_version = self->end->format_version,
        .content = listed->content,
        .schema = manifest->schema,
        .spec = manifest->spec,
        .partition_type = manifest->partition_type,
        .snapshot_id = listed->added_snapshot_id,
        .first_row_id = listed->first_row_id,
    };
    NL_TRY(nl_manifest_writer_open(&options, staged, self->call->command->memory, &writer));
    nl_status status = write_entries(self, manifest, writer);
    if (status) {
        nl_manifest_writer_abort(writer);
        return status;
    }
    return nl_manifest_writer_close(writer, self->arena, written);
}

static nl_status rewrite_manifest(nl_relocation *self, const nl_manifest_file *listed)
{
    const nl_manifest *manifest = NULL;
    nl_manifest_file written = {0};
    nl_str staged, target;
    NL_TRY(nl_relocate_staging(self, listed->path, &staged));
    NL_TRY(nl_relocate_target(self, listed->path, &target));
    NL_TRY(read_manifest(self, listed, &manifest));
    nl_status status = write_manifest(self, listed, manifest, staged, &written);
    nl_manifest_release(manifest);
    if (status) return status;
    add_rewritten(self, listed->path, written.length);
    nl_relocate_copy(self, staged, target);
    return NULL;
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

static nl_status rewrite_list(nl_relocation *self, const nl_snapshot *snapshot, const nl_manifest_file *files, uint32_t count)
{
    nl_str staged, target;
    nl_manifest_file *moved = NL_NEW_ARRAY(self->arena, nl_manifest_file, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const nl_rewritten_file *rewritten = find_rewritten(self, files[i].path);
        moved[i] = files[i];
        NL_TRY(nl_relocate_target(self, files[i].path, &moved[i].path));
        if (rewritten) moved[i].length = rewritten->size_bytes;
    }
    const nl_manifest_list_options options = {.format_version = self->end->format_version,
                                              .snapshot_id = snapshot->snapshot_id,
                                              .parent_id = snapshot->parent_id,
                                              .sequence_number = snapshot->sequence_number,
                                              .first_row_id = self->end->format_version >= 3 ? snapshot->first_row_id : NL_NONE};
    NL_TRY(nl_relocate_staging(self, snapshot->manifest_list, &staged));
    NL_TRY(nl_relocate_target(self, snapshot->manifest_list, &target));
    NL_TRY(nl_manifest_list_write(self->call->table->fs, staged, &options, moved, count, self->call->command->memory, NULL));
    nl_relocate_copy(self, staged, target);
    return NULL;
}

nl_status nl_relocate_manifests(nl_relocation *self)
{
    manifest_lists lists = {0};
    NL_TRY(nl_table_explain_moved(self->end, read_lists(self, &lists)));
    NL_TRY(rewrite_deletes(self, &lists));
    for (uint32_t i = 0; i < lists.wanted.count; i++)
        NL_TRY(rewrite_manifest(self, lists.wanted.items[i]));
    sort_rewritten(self);
    for (uint32_t i = 0; i < self->end->snapshot_count; i++)
        if (nl_relocate_wants(self, self->end->snapshots[i].snapshot_id)) NL_TRY(rewrite_list(self, &self->end->snapshots[i], lists.files[i], lists.counts[i]));
    return nl_arena_check(self->arena);
}

/* iceberg/manifest_filter.c - the manifests of a snapshot without the files that an operation takes away.
 *
 * A manifest is only read when it may hold such a file, and only written anew when it does. Source: Java's
 * ManifestFilterManager.
 */
#include "iceberg/operation_private.h"

#include <stdlib.h>

#include "base/hash.h"

typedef struct removed_slot {
    const nl_removed_file *file;
    bool is_found;
} removed_slot;

typedef struct filter {
    nl_attempt *attempt;
    removed_slot *slots;      /* open addressing by path; file NULL: free */
    uint32_t slot_mask;
    int32_t *removed_specs;   /* specs that removed files belong to; any file without details makes all of them possible */
    uint32_t removed_spec_count;
    bool has_unknown_spec;
    const nl_predicate **inclusive, **strict; /* per spec of the table: the row filter's projections */
    int64_t data_sequence_number_min; /* delete files older than all data are dropped; NL_NONE: not known */
    nl_list removed_data_paths;       /* of files removed here: nl_str *; their deletion vectors go too */
} filter;

static bool is_row_filtered(const filter *self)
{
    return self->attempt->operation->row_filter != NULL;
}

/* Many deletion vectors share one file: they are told apart by their place in it. */
static int64_t place_of(const nl_data_file *file)
{
    return file && nl_data_file_is_deletion_vector(file) ? file->content_offset : NL_NONE;
}

static removed_slot *find_slot(const filter *self, nl_str path, int64_t place)
{
    if (!self->slots) return NULL;
    for (uint32_t at = (uint32_t)nl_hash_bytes(path.data, path.length, 0) & self->slot_mask;; at = (at + 1) & self->slot_mask) {
        if (!self->slots[at].file) return NULL;
        if (nl_str_equal(self->slots[at].file->path, path) && place_of(self->slots[at].file->file) == place) return &self->slots[at];
    }
}

static void add_spec(filter *self, int32_t spec_id)
{
    for (uint32_t i = 0; i < self->removed_spec_count; i++)
        if (self->removed_specs[i] == spec_id) return;
    self->removed_specs[self->removed_spec_count++] = spec_id;
}

static void index_removed(filter *self)
{
    const nl_operation *operation = self->attempt->operation;
    if (operation->removed_count == 0) return;
    uint32_t size = 16;
    while (size < operation->removed_count * 2)
        size *= 2;
    self->slots = NL_NEW_ARRAY(self->attempt->arena, removed_slot, size);
    self->slot_mask = size - 1;
    self->removed_specs = NL_NEW_ARRAY(self->attempt->arena, int32_t, self->attempt->base->spec_count + operation->removed_count);
    for (uint32_t i = 0; i < operation->removed_count; i++) {
        const nl_removed_file *file = &operation->removed_files[i];
        if (find_slot(self, file->path, place_of(file->file))) continue;
        uint32_t at = (uint32_t)nl_hash_bytes(file->path.data, file->path.length, 0) & self->slot_mask;
        while (self->slots[at].file)
            at = (at + 1) & self->slot_mask;
        self->slots[at].file = file;
        if (file->file)
            add_spec(self, file->file->spec_id);
        else
            self->has_unknown_spec = true;
    }
}

static nl_status project_filter(filter *self)
{
    const nl_table_metadata *base = self->attempt->base;
    const nl_operation *operation = self->attempt->operation;
    if (!operation->row_filter) return NULL;
    self->inclusive = NL_NEW_ARRAY(self->attempt->arena, const nl_predicate *, base->spec_count);
    self->strict = NL_NEW_ARRAY(self->attempt->arena, const nl_predicate *, base->spec_count);
    for (uint32_t i = 0; i < base->spec_count; i++) {
        NL_TRY(nl_predicate_project_inclusive(self->attempt->arena, operation->row_filter, operation->filter_schema, base->specs[i], &self->inclusive[i]));
        NL_TRY(nl_predicate_project_strict(self->attempt->arena, operation->row_filter, operation->filter_schema, base->specs[i], &self->strict[i]));
    }
    return NULL;
}

static uint32_t spec_position(const nl_table_metadata *base, int32_t spec_id)
{
    for (uint32_t i = 0; i < base->spec_count; i++)
        if (base->specs[i]->spec_id == spec_id) return i;
    return 0;
}

static bool drops_partitions(const filter *self)
{
    return self->attempt->operation->kind == NL_OPERATION_REPLACE_PARTITIONS;
}

/* ---- may a manifest hold something to be removed? -------------------------------------------------------------- */

static bool may_hold_removed(const filter *self, const nl_manifest_file *file)
{
    if (!self->slots) return false;
    if (self->has_unknown_spec) return true;
    for (uint32_t i = 0; i < self->removed_spec_count; i++)
        if (self->removed_specs[i] == file->spec_id) return true;
    return false;
}

static bool may_hold(const filter *self, const nl_manifest_file *file)
{
    const nl_table_metadata *base = self->attempt->base;
    if (file->added_files_count == 0 && file->existing_files_count == 0) return false;
    if (file->content == NL_MANIFEST_DELETES) {
        const bool is_old = self->data_sequence_number_min > 0 && file->min_sequence_number < self->data_sequence_number_min;
        if (is_old || (base->format_version >= 3 && self->removed_data_paths.count > 0)) return true;
    }
    if (drops_partitions(self)) return true;
    if (may_hold_removed(self, file)) return true;
    if (!is_row_filtered(self)) return false;
    const uint32_t at = spec_position(base, file->spec_id);
    return nl_predicate_may_match_manifest(self->inclusive[at], base->specs[at], self->attempt->operation->filter_schema, file);
}

/* ---- is an entry to be removed? -------------------------------------------------------------------------------- */

static bool is_replaced_partition(const filter *self, const nl_data_file *file, uint32_t value_count)
{
    const nl_partition_spec *spec = nl_table_spec(self->attempt->base);
    if (nl_partition_spec_is_unpartitioned(spec)) return true;
    for (uint32_t i = 0; i < self->attempt->summary.partitions.count; i++) {
        const nl_changed_partition *partition = self->attempt->summary.partitions.items[i];
        const bool has_added = partition->counts.added_data_files > 0;
        if (has_added && partition->spec_id == file->spec_id && nl_partition_equal(partition->values, file->partition, value_count)) return true;
    }
    return false;
}

static nl_status partial_match(const filter *self, const nl_data_file *file)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_predicate_append_text(self->attempt->operation->row_filter, self->attempt->operation->filter_schema, &text);
    nl_status status = NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot delete file where some, but not all, rows match filter %s: " NL_STR_FMT,
                                     nl_builder_c(&text), NL_STR_ARG(file->path));
    nl_builder_fini(&text);
    return status;
}

/* The row filter on one file. Delete files of which only some rows match stay: they still speak of other rows. */
static nl_status is_filtered(const filter *self, const nl_manifest *manifest, const nl_data_file *file, bool *is_removed)
{
    const nl_operation *operation = self->attempt->operation;
    const uint32_t at = spec_position(self->attempt->base, file->spec_id);
    const nl_partition_spec *spec = self->attempt->base->specs[at];
    bool may_match = false;
    *is_removed = nl_predicate_matches_partition(self->strict[at], spec, file->partition);
    if (*is_removed || manifest->content == NL_MANIFEST_DELETES) return NULL;
    NL_TRY(nl_predicate_may_match_file(operation->row_filter, operation->filter_schema, spec, file, &may_match));
    if (!may_match) return NULL;
    NL_TRY(nl_predicate_strict_match(operation->row_filter, operation->filter_schema, spec, file, is_removed));
    return *is_removed ? NULL : partial_match(self, file);
}

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(**(nl_str *const *)a, **(nl_str *const *)b);
}

static bool is_removed_data(const filter *self, nl_str path)
{
    const nl_str *key = &path;
    return self->removed_data_paths.count > 0 &&
           bsearch(&key, self->removed_data_paths.items, self->removed_data_paths.count, sizeof(void *), compare_paths) != NULL;
}

static nl_status should_remove(filter *self, const nl_manifest *manifest, const nl_manifest_entry *entry, bool *is_removed)
{
    const nl_data_file *file = &entry->file;
    removed_slot *slot = find_slot(self, file->path, place_of(file));
    *is_removed = slot != NULL;
    if (slot) {
        slot->is_found = true;
        return NULL;
    }
    if (manifest->content == NL_MANIFEST_DELETES) {
        *is_removed = entry->sequence_number > 0 && entry->sequence_number < self->data_sequence_number_min;
        if (!*is_removed && nl_data_file_is_deletion_vector(file)) *is_removed = is_removed_data(self, file->referenced_data_file);
    }
    if (!*is_removed && drops_partitions(self)) *is_removed = is_replaced_partition(self, file, manifest->spec->field_count);
    if (!*is_removed && is_row_filtered(self)) return is_filtered(self, manifest, file, is_removed);
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static nl_status write_filtered(filter *self, const nl_manifest *manifest, const bool *removed, nl_manifest_file *written)
{
    nl_attempt *attempt = self->attempt;
    const nl_manifest_writer_options options = nl_attempt_writer_options(attempt, manifest->content, manifest->spec);
    nl_manifest_writer *writer = NULL;
    nl_str path;
    NL_TRY(nl_attempt_manifest_path(attempt, attempt->arena, &path));
    NL_TRY(nl_manifest_writer_open(&options, path, attempt->table->memory, &writer));
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        if (!nl_manifest_entry_is_live(entry)) continue; /* removed by an earlier snapshot: nobody asks again */
        nl_status status = removed[i] ? nl_manifest_writer_delete(writer, entry) : nl_manifest_writer_existing(writer, entry);
        if (status) {
            nl_manifest_writer_abort(writer);
            return status;
        }
    }
    return nl_manifest_writer_close(writer, attempt->arena, written);
}

static nl_status note_removed(filter *self, const nl_manifest *manifest, const nl_manifest_entry *entry)
{
    nl_attempt *attempt = self->attempt;
    const nl_data_file copy = nl_data_file_copy(attempt->arena, &entry->file, manifest->spec->field_count);
    nl_summary_remove(&attempt->summary, &copy, manifest->spec->field_count);
    if (copy.content != NL_CONTENT_DATA) return NULL;
    nl_str *path = NL_NEW(attempt->arena, nl_str);
    *path = copy.path;
    nl_list_add(attempt->arena, &self->removed_data_paths, path);
    return nl_arena_check(attempt->arena);
}

static nl_status filter_manifest(filter *self, const nl_manifest *manifest, const nl_manifest_file *file, nl_manifest_file *result)
{
    bool *removed = NL_NEW_ARRAY(self->attempt->arena, bool, manifest->entry_count);
    bool has_removed = false;
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        if (!nl_manifest_entry_is_live(&manifest->entries[i])) continue;
        NL_TRY(should_remove(self, manifest, &manifest->entries[i], &removed[i]));
        if (!removed[i]) continue;
        has_removed = true;
        NL_TRY(note_removed(self, manifest, &manifest->entries[i]));
    }
    *result = *file;
    return has_removed ? write_filtered(self, manifest, removed, result) : NULL;
}

static nl_status filter_content(filter *self, nl_manifest_content content, const nl_manifest_file *files, uint32_t file_count, nl_manifest_file *filtered,
                                uint32_t *filtered_count)
{
    for (uint32_t i = 0; i < file_count; i++) {
        if (files[i].content != content) continue;
        nl_manifest_file *result = &filtered[(*filtered_count)++];
        *result = files[i];
        if (!may_hold(self, &files[i])) continue;
        const nl_manifest *manifest = NULL;
        NL_TRY(nl_attempt_read_manifest(self->attempt, &files[i], &manifest));
        nl_status status = filter_manifest(self, manifest, &files[i], result);
        nl_manifest_release(manifest);
        if (status) return status;
    }
    return NULL;
}

static nl_status check_found(const filter *self)
{
    const nl_operation *operation = self->attempt->operation;
    nl_builder missing;
    nl_builder_init(&missing, 1 << 20);
    for (uint32_t i = 0; self->slots && i <= self->slot_mask; i++)
        if (self->slots[i].file && !self->slots[i].is_found)
            nl_append_f(&missing, "%s" NL_STR_FMT, missing.length ? "," : "", NL_STR_ARG(self->slots[i].file->path));
    nl_status status = NULL;
    if (missing.length > 0 && operation->kind != NL_OPERATION_ROW_DELTA)
        status = NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Missing required files to delete: %s", nl_builder_c(&missing));
    nl_builder_fini(&missing);
    return status;
}

/* The oldest data that is still there: deletes before it have nothing left to delete. Compacted data keeps the number of
 * the snapshot it was read from, so that deletes that came since go on applying to it. */
static int64_t oldest_data(const nl_manifest_file *files, uint32_t file_count, const nl_table_metadata *base, const nl_operation *operation)
{
    int64_t oldest = base->last_sequence_number; /* Java's choice: deletes of the last snapshot stay in any case */
    if (operation->kind == NL_OPERATION_REWRITE && operation->data_sequence_number != NL_NONE) oldest = NL_MIN(oldest, operation->data_sequence_number);
    for (uint32_t i = 0; i < file_count; i++) {
        const bool has_live = files[i].added_files_count != 0 || files[i].existing_files_count != 0;
        if (has_live && files[i].min_sequence_number >= 0) oldest = NL_MIN(oldest, files[i].min_sequence_number);
    }
    return oldest;
}

nl_status nl_filter_manifests(nl_attempt *attempt, const nl_manifest_file *files, uint32_t file_count, const nl_manifest_file **filtered,
                              uint32_t *filtered_count)
{
    filter self = {.attempt = attempt, .data_sequence_number_min = NL_NONE};
    nl_manifest_file *list = NL_NEW_ARRAY(attempt->arena, nl_manifest_file, file_count);
    uint32_t count = 0;
    index_removed(&self);
    NL_TRY(project_filter(&self));
    NL_TRY(filter_content(&self, NL_MANIFEST_DATA, files, file_count, list, &count));
    if (self.removed_data_paths.count > 1) qsort(self.removed_data_paths.items, self.removed_data_paths.count, sizeof(void *), compare_paths);
    if (attempt->base->format_version > 1) self.data_sequence_number_min = oldest_data(list, count, attempt->base, attempt->operation);
    NL_TRY(filter_content(&self, NL_MANIFEST_DELETES, files, file_count, list, &count));
    NL_TRY(check_found(&self));
    *filtered = list;
    *filtered_count = count;
    return NULL;
}

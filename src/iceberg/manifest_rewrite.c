/* iceberg/manifest_rewrite.c - rewrite_manifests: entries of one spec, ordered by partition, in manifests of the target
 * size, so that a filter on partitions reads few of them. Files and sequence numbers stay as they are.
 */
#include "iceberg/maintenance.h"
#include "iceberg/operation_private.h"

#include <stdlib.h>

typedef struct rewriting {
    nl_attempt *attempt;
    const nl_partition_spec *spec;
    nl_manifest_content content;
    nl_list manifests; /* const nl_manifest *: held while their entries are used */
    const nl_manifest_entry **entries;
    uint32_t entry_count;
} rewriting;

static int compare_values(const nl_value *a, const nl_value *b)
{
    if (a->is_null || b->is_null) return (int)b->is_null - (int)a->is_null;
    return nl_value_compare(a, b);
}

static int compare_entries(const void *a, const void *b, void *context)
{
    const nl_partition_spec *spec = context;
    const nl_data_file *left = &(*(const nl_manifest_entry *const *)a)->file, *right = &(*(const nl_manifest_entry *const *)b)->file;
    for (uint32_t i = 0; i < spec->field_count && left->partition && right->partition; i++) {
        const int order = compare_values(&left->partition[i], &right->partition[i]);
        if (order) return order;
    }
    return nl_str_compare(left->path, right->path);
}

static bool is_rewritten(const rewriting *self, const nl_manifest_file *file)
{
    return file->content == self->content && file->spec_id == self->spec->spec_id;
}

static nl_status gather_entries(rewriting *self, const nl_manifest_file *files, uint32_t file_count)
{
    nl_attempt *attempt = self->attempt;
    uint32_t count = 0;
    for (uint32_t i = 0; i < file_count; i++) {
        const nl_manifest *manifest = NULL;
        if (!is_rewritten(self, &files[i])) continue;
        NL_TRY(nl_attempt_read_manifest(attempt, &files[i], &manifest));
        nl_list_add(attempt->arena, &self->manifests, (void *)(uintptr_t)manifest);
        count += manifest->live_count;
    }
    self->entries = NL_NEW_ARRAY(attempt->arena, const nl_manifest_entry *, count);
    for (uint32_t m = 0; m < self->manifests.count; m++) {
        const nl_manifest *manifest = self->manifests.items[m];
        for (uint32_t i = 0; i < manifest->entry_count; i++)
            if (nl_manifest_entry_is_live(&manifest->entries[i])) self->entries[self->entry_count++] = &manifest->entries[i];
    }
    union {
        const nl_partition_spec *in;
        void *out;
    } context = {.in = self->spec};
    qsort_r(self->entries, self->entry_count, sizeof(*self->entries), compare_entries, context.out);
    return nl_arena_check(attempt->arena);
}

static nl_status write_entries(rewriting *self, nl_list *manifests, nl_manifest_rewrite *result)
{
    nl_attempt *attempt = self->attempt;
    const nl_manifest_writer_options options = nl_attempt_writer_options(attempt, self->content, self->spec);
    nl_rolling_manifest_writer *rolling = NULL;
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    NL_TRY(nl_rolling_manifest_writer_new(&options, attempt->target_bytes, nl_attempt_manifest_path, attempt, attempt->table->memory, attempt->arena, &rolling));
    for (uint32_t i = 0; i < self->entry_count; i++) {
        nl_manifest_writer *writer = NULL;
        nl_status status = nl_rolling_manifest_writer_next(rolling, &writer);
        if (!status) status = nl_manifest_writer_existing(writer, self->entries[i]);
        if (status) {
            nl_rolling_manifest_writer_abort(rolling);
            return status;
        }
    }
    NL_TRY(nl_rolling_manifest_writer_close(rolling, &files, &file_count));
    for (uint32_t i = 0; i < file_count; i++)
        nl_list_add(attempt->arena, manifests, (void *)(uintptr_t)&files[i]);
    result->created += (int32_t)file_count;
    return NULL;
}

/* A single manifest that is not too large already is what rewriting would give. */
static bool is_worth_it(const rewriting *self, const nl_manifest_file *files, uint32_t file_count)
{
    uint64_t bytes = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < file_count; i++) {
        if (!is_rewritten(self, &files[i])) continue;
        bytes += (uint64_t)files[i].length;
        count++;
    }
    return count > 1 || (count == 1 && bytes > self->attempt->target_bytes);
}

static const nl_partition_spec no_spec = {.spec_id = NL_NONE};

static nl_status rewrite_content(rewriting *self, const nl_manifest_file *files, uint32_t file_count, nl_list *manifests, nl_manifest_rewrite *result)
{
    if (is_worth_it(self, files, file_count)) {
        nl_status status = gather_entries(self, files, file_count);
        if (!status) status = write_entries(self, manifests, result);
        result->rewritten += (int32_t)self->manifests.count;
        for (uint32_t m = 0; m < self->manifests.count; m++)
            nl_manifest_release(self->manifests.items[m]);
        if (status) return status;
    } else {
        self->spec = &no_spec; /* nothing is rewritten: all are kept */
    }
    return NULL;
}

nl_status nl_rewrite_attempt_manifests(nl_attempt *attempt, nl_list *manifests)
{
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    nl_manifest_rewrite *result = attempt->operation->manifest_rewrite;
    rewriting parts[] = {{.attempt = attempt, .content = NL_MANIFEST_DATA}, {.attempt = attempt, .content = NL_MANIFEST_DELETES}};
    *result = (nl_manifest_rewrite){0};
    if (!attempt->parent) return NULL;
    NL_TRY(nl_snapshot_manifests(attempt->table->fs, attempt->parent, attempt->table->memory, attempt->arena, &files, &file_count));
    for (uint32_t i = 0; i < NL_COUNT(parts); i++) {
        NL_TRY(nl_attempt_spec(attempt, attempt->operation->rewritten_spec_id, &parts[i].spec));
        NL_TRY(rewrite_content(&parts[i], files, file_count, manifests, result));
    }
    for (uint32_t i = 0; i < file_count; i++) {
        if (is_rewritten(&parts[0], &files[i]) || is_rewritten(&parts[1], &files[i])) continue;
        nl_list_add(attempt->arena, manifests, (void *)(uintptr_t)&files[i]);
        result->kept++;
    }
    return NULL;
}

/* Would rewriting change anything? Asked before, so that a table in order gets no new snapshot. */
static nl_status is_needed(nl_iceberg_table *table, const nl_table_metadata *metadata, int32_t spec_id, bool *needed)
{
    const nl_snapshot *snapshot = nl_table_current_snapshot(metadata);
    nl_arena *arena = nl_arena_new(table->memory);
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0, counts[2] = {0};
    int64_t target_bytes = 8 << 20;
    nl_status status = nl_table_property_int(metadata, "commit.manifest.target-size-bytes", 8 << 20, &target_bytes);
    if (!status && snapshot) status = nl_snapshot_manifests(table->fs, snapshot, table->memory, arena, &files, &file_count);
    *needed = false;
    for (uint32_t i = 0; !status && i < file_count; i++)
        if (files[i].spec_id == spec_id) {
            counts[files[i].content]++;
            *needed = *needed || counts[files[i].content] > 1 || files[i].length > target_bytes;
        }
    nl_arena_free(arena);
    return status;
}

nl_status nl_rewrite_manifests(nl_iceberg_table *table, int32_t spec_id, nl_pool *pool, int32_t *rewritten, int32_t *added)
{
    NL_TRY(nl_iceberg_table_refresh(table));
    nl_manifest_rewrite result = {0};
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    const int32_t chosen = spec_id == NL_NONE ? metadata->default_spec_id : spec_id;
    const nl_operation operation = {
        .kind = NL_OPERATION_REWRITE_MANIFESTS, .data_sequence_number = NL_NONE, .pool = pool, .rewritten_spec_id = chosen, .manifest_rewrite = &result};
    bool needed = false;
    nl_status status = nl_table_spec_by_id(metadata, chosen) ? is_needed(table, metadata, chosen, &needed)
                                                             : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid spec id %d", chosen);
    nl_table_metadata_release(metadata);
    if (!status && needed) status = nl_operation_commit(table, &operation, NULL);
    *rewritten = result.rewritten;
    *added = result.created;
    return status;
}

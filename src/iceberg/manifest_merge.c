/* iceberg/manifest_merge.c - keeps the number of manifests in bounds: those of one spec are packed into bins of the
 * target size and each full bin becomes one manifest. Source: Java's ManifestMergeManager; bins are filled from the
 * oldest on, so that the newest manifests wait in the last, incomplete one.
 */
#include "iceberg/operation_private.h"

typedef struct merge {
    nl_attempt *attempt;
    nl_manifest_content content;
    bool is_enabled;
    int64_t count_min; /* commit.manifest.min-count-to-merge */
} merge;

static void keep(merge *self, nl_list *merged, const nl_manifest_file *file)
{
    nl_manifest_file *copy = NL_NEW(self->attempt->arena, nl_manifest_file);
    *copy = *file;
    nl_list_add(self->attempt->arena, merged, copy);
}

static nl_status copy_entries(merge *self, const nl_manifest *manifest, nl_manifest_writer *writer)
{
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        const bool is_own = entry->snapshot_id == self->attempt->snapshot_id;
        if (entry->status == NL_ENTRY_DELETED) {
            if (is_own) NL_TRY(nl_manifest_writer_delete(writer, entry)); /* removals by earlier snapshots are dropped */
        } else if (entry->status == NL_ENTRY_ADDED && is_own) {
            NL_TRY(nl_manifest_writer_entry(writer, entry));
        } else {
            NL_TRY(nl_manifest_writer_existing(writer, entry));
        }
    }
    return NULL;
}

static nl_status merge_bin(merge *self, const nl_manifest_file *const *bin, uint32_t count, const nl_partition_spec *spec, nl_list *merged)
{
    nl_attempt *attempt = self->attempt;
    const nl_manifest_writer_options options = nl_attempt_writer_options(attempt, self->content, spec);
    nl_manifest_writer *writer = NULL;
    nl_str path;
    NL_TRY(nl_attempt_manifest_path(attempt, attempt->arena, &path));
    NL_TRY(nl_manifest_writer_open(&options, path, attempt->table->memory, &writer));
    for (uint32_t i = 0; i < count; i++) {
        const nl_manifest *manifest = NULL;
        nl_status status = nl_attempt_read_manifest(attempt, bin[i], &manifest);
        if (!status) status = copy_entries(self, manifest, writer);
        nl_manifest_release(manifest);
        if (status) {
            nl_manifest_writer_abort(writer);
            return status;
        }
    }
    nl_manifest_file *file = NL_NEW(attempt->arena, nl_manifest_file);
    NL_TRY(nl_manifest_writer_close(writer, attempt->arena, file));
    nl_list_add(attempt->arena, merged, file);
    return NULL;
}

/* One bin: merged, unless it is a single manifest, or holds the newest one and is still small. */
static nl_status finish_bin(merge *self, const nl_manifest_file *const *bin, uint32_t count, bool has_newest, const nl_partition_spec *spec, nl_list *merged)
{
    if (count == 1 || (has_newest && (int64_t)count < self->count_min)) {
        for (uint32_t i = 0; i < count; i++)
            keep(self, merged, bin[i]);
        return NULL;
    }
    return merge_bin(self, bin, count, spec, merged);
}

/* Where bins begin, found from the oldest (last) manifest backwards. starts[i]: true when a bin begins at group[i]. */
static void pack(const merge *self, const nl_manifest_file *const *group, uint32_t count, bool *starts)
{
    uint64_t size = 0;
    for (uint32_t i = count; i-- > 0;) {
        const uint64_t length = (uint64_t)group[i]->length;
        if (size > 0 && size + length > self->attempt->target_bytes) {
            starts[i + 1] = true;
            size = 0;
        }
        size += length;
    }
    starts[0] = true;
}

static nl_status merge_group(merge *self, const nl_manifest_file *const *group, uint32_t count, bool has_newest, nl_list *merged)
{
    const nl_partition_spec *spec = NULL;
    NL_TRY(nl_attempt_spec(self->attempt, group[0]->spec_id, &spec));
    bool *starts = NL_NEW_ARRAY(self->attempt->arena, bool, count + 1);
    pack(self, group, count, starts);
    for (uint32_t begin = 0; begin < count;) {
        uint32_t end = begin + 1;
        while (end < count && !starts[end])
            end++;
        NL_TRY(finish_bin(self, group + begin, end - begin, has_newest && begin == 0, spec, merged));
        begin = end;
    }
    return NULL;
}

nl_status nl_merge_manifests(nl_attempt *attempt, nl_manifest_content content, const nl_manifest_file *files, uint32_t file_count, nl_list *merged)
{
    merge self = {.attempt = attempt, .content = content, .is_enabled = nl_table_property_bool(attempt->base, "commit.manifest-merge.enabled", true)};
    if (attempt->operation->kind == NL_OPERATION_FAST_APPEND) self.is_enabled = false;
    NL_TRY(nl_table_property_int(attempt->base, "commit.manifest.min-count-to-merge", 100, &self.count_min));
    bool *is_done = NL_NEW_ARRAY(attempt->arena, bool, file_count);
    const nl_manifest_file **group = NL_NEW_ARRAY(attempt->arena, const nl_manifest_file *, file_count);
    for (uint32_t i = 0; i < file_count; i++) {
        if (files[i].content != content || is_done[i]) continue;
        uint32_t count = 0;
        for (uint32_t j = i; j < file_count; j++) {
            if (files[j].content != content || files[j].spec_id != files[i].spec_id) continue;
            is_done[j] = true;
            group[count++] = &files[j];
        }
        if (!self.is_enabled) {
            for (uint32_t j = 0; j < count; j++)
                keep(&self, merged, group[j]);
            continue;
        }
        /* The newest manifest is the first of the list when it is of this commit. */
        NL_TRY(merge_group(&self, group, count, merged->count == 0 || i == 0, merged));
    }
    return NULL;
}

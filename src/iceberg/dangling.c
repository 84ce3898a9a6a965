/* iceberg/dangling.c - delete files that no data file needs any more (Java's RemoveDanglingDeletesSparkAction).
 *
 * A position delete file dangles when all data of its partition is newer than it, an equality delete file when all is as
 * new or newer, a deletion vector when its data file is gone.
 */
#include "iceberg/maintenance.h"

#include "base/hash.h"
#include "iceberg/reachable.h"

typedef struct partition_age {
    int32_t spec_id;
    uint32_t value_count;
    const nl_value *values;
    int64_t sequence_number_min;
    uint32_t next; /* index + 1 in the hash bucket */
} partition_age;

typedef struct dangling {
    nl_arena *arena;
    nl_list partitions; /* partition_age * */
    uint32_t *buckets;
    uint32_t mask;
    nl_path_set *data_paths;
    nl_list found; /* nl_removed_file * */
} dangling;

static uint32_t *bucket_of(const dangling *self, int32_t spec_id, const nl_value *values, uint32_t count)
{
    return &self->buckets[nl_hash_mix(nl_partition_hash(values, count), (uint64_t)spec_id) & self->mask];
}

static void grow(dangling *self)
{
    const uint32_t size = self->buckets ? (self->mask + 1) * 4 : 64;
    self->buckets = NL_NEW_ARRAY(self->arena, uint32_t, size);
    self->mask = size - 1;
    for (uint32_t i = 0; i < self->partitions.count; i++) {
        partition_age *partition = self->partitions.items[i];
        uint32_t *bucket = bucket_of(self, partition->spec_id, partition->values, partition->value_count);
        partition->next = *bucket;
        *bucket = i + 1;
    }
}

static partition_age *find(const dangling *self, const nl_data_file *file, uint32_t count)
{
    if (!self->buckets) return NULL;
    for (uint32_t at = *bucket_of(self, file->spec_id, file->partition, count); at;) {
        partition_age *partition = self->partitions.items[at - 1];
        if (partition->spec_id == file->spec_id && nl_partition_equal(partition->values, file->partition, count)) return partition;
        at = partition->next;
    }
    return NULL;
}

static nl_status note_data(dangling *self, const nl_manifest_entry *entry, const nl_partition_spec *spec)
{
    const uint32_t count = entry->file.partition ? spec->field_count : 0;
    partition_age *partition = find(self, &entry->file, count);
    (void)nl_path_set_add(self->data_paths, entry->file.path, 0);
    if (partition) {
        partition->sequence_number_min = NL_MIN(partition->sequence_number_min, entry->sequence_number);
        return NULL;
    }
    if (self->partitions.count >= self->mask) grow(self);
    uint32_t *bucket = bucket_of(self, entry->file.spec_id, entry->file.partition, count);
    partition = NL_NEW(self->arena, partition_age);
    *partition = (partition_age){entry->file.spec_id, count, entry->file.partition, entry->sequence_number, *bucket};
    nl_list_add(self->arena, &self->partitions, partition);
    *bucket = self->partitions.count;
    return nl_arena_check(self->arena);
}

static bool is_dangling(const dangling *self, const nl_manifest_entry *entry, const nl_partition_spec *spec)
{
    const nl_data_file *file = &entry->file;
    if (nl_data_file_is_deletion_vector(file) && !nl_path_set_has(self->data_paths, file->referenced_data_file)) return true;
    const partition_age *partition = find(self, file, file->partition ? spec->field_count : 0);
    if (!partition) return true;
    const int64_t youngest = file->content == NL_CONTENT_EQUALITY_DELETES ? partition->sequence_number_min : partition->sequence_number_min - 1;
    return entry->sequence_number <= youngest;
}

static nl_status note_delete(dangling *self, const nl_manifest_entry *entry, const nl_partition_spec *spec)
{
    /* A delete file of no partition speaks of the whole table's data, whatever partition that has. */
    if (nl_partition_spec_is_unpartitioned(spec) && !nl_data_file_is_deletion_vector(&entry->file)) return NULL;
    if (!is_dangling(self, entry, spec)) return NULL;
    nl_removed_file *removed = NL_NEW(self->arena, nl_removed_file);
    *removed = (nl_removed_file){entry->file.path, &entry->file};
    nl_list_add(self->arena, &self->found, removed);
    return nl_arena_check(self->arena);
}

static void release_manifest(void *object)
{
    nl_manifest_release(object);
}

static nl_status visit(dangling *self, nl_iceberg_table *table, const nl_manifest_file *files, uint32_t file_count, nl_manifest_content content)
{
    for (uint32_t m = 0; m < file_count; m++) {
        const nl_manifest *manifest = NULL;
        if (files[m].content != content) continue;
        NL_TRY_NOTE(nl_manifest_cache_read(table->manifest_cache, table->fs, &files[m], table->memory, &manifest), "reading manifest " NL_STR_FMT,
                    NL_STR_ARG(files[m].path));
        nl_arena_on_free(self->arena, release_manifest, (void *)(uintptr_t)manifest);
        for (uint32_t i = 0; i < manifest->entry_count; i++) {
            const nl_manifest_entry *entry = &manifest->entries[i];
            if (!nl_manifest_entry_is_live(entry)) continue;
            NL_TRY(content == NL_MANIFEST_DATA ? note_data(self, entry, manifest->spec) : note_delete(self, entry, manifest->spec));
        }
    }
    return NULL;
}

static nl_status remove_found(dangling *self, nl_iceberg_table *table, int64_t snapshot_id)
{
    nl_removed_file *removed = NL_NEW_ARRAY(self->arena, nl_removed_file, self->found.count);
    for (uint32_t i = 0; i < self->found.count; i++)
        removed[i] = *(const nl_removed_file *)self->found.items[i];
    const nl_operation operation = {
        .kind = NL_OPERATION_REWRITE,
        .removed_files = removed,
        .removed_count = self->found.count,
        .has_starting_snapshot = true,
        .starting_snapshot_id = snapshot_id,
        .isolation = NL_ISOLATION_SNAPSHOT,
        .data_sequence_number = NL_NONE,
    };
    return self->found.count ? nl_operation_commit(table, &operation, NULL) : NULL;
}

nl_status nl_remove_dangling_deletes(nl_iceberg_table *table, uint32_t *removed_count)
{
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    const nl_snapshot *snapshot = nl_table_current_snapshot(metadata);
    dangling self = {.arena = nl_arena_new(table->memory)};
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    nl_status status = NULL;
    *removed_count = 0;
    self.data_paths = nl_path_set_new(self.arena);
    /* Every commit does this already for tables without partitions. */
    const bool is_plain = metadata->spec_count == 1 && nl_partition_spec_is_unpartitioned(metadata->specs[0]);
    if (!snapshot || is_plain) goto done;
    NL_GO(nl_snapshot_manifests(table->fs, snapshot, table->memory, self.arena, &files, &file_count));
    NL_GO(visit(&self, table, files, file_count, NL_MANIFEST_DATA));
    NL_GO(visit(&self, table, files, file_count, NL_MANIFEST_DELETES));
    NL_GO(remove_found(&self, table, snapshot->snapshot_id));
    *removed_count = self.found.count;
done:
    nl_arena_free(self.arena);
    nl_table_metadata_release(metadata);
    return status;
}

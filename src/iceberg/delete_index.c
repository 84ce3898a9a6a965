/* iceberg/delete_index.c - delete files by what they may apply to: one data file, one partition, or the whole table.
 *
 * Lists are ascending by sequence number, so that "newer than the data" is a suffix.
 */
#include "iceberg/delete_index.h"

#include <stdlib.h>

#include "base/hash.h"

typedef struct delete_list {
    nl_list entries; /* const nl_manifest_entry *, ascending by sequence number once finished */
} delete_list;

typedef struct partition_slot {
    int32_t spec_id;
    uint32_t value_count;
    const nl_value *values;
    delete_list positions;
    delete_list equalities;
    uint32_t next; /* index + 1 of the next slot with the same hash bucket; 0: none */
} partition_slot;

typedef struct path_slot {
    nl_str path;
    delete_list positions; /* file-scoped position deletes */
    const nl_manifest_entry *vector; /* the deletion vector, or NULL */
    uint32_t next;
} path_slot;

struct nl_delete_index {
    nl_arena *arena;
    const nl_table_metadata *metadata;
    nl_list partitions; /* partition_slot * */
    nl_list paths;      /* path_slot *      */
    uint32_t *partition_buckets, *path_buckets; /* index + 1; made at finish and when they grow */
    uint32_t bucket_mask_partitions, bucket_mask_paths;
    delete_list global_equalities; /* of unpartitioned specs: they apply everywhere */
    uint32_t count;
};

#define BUCKETS_MIN 64u

nl_delete_index *nl_delete_index_new(nl_arena *arena, const nl_table_metadata *metadata)
{
    nl_delete_index *index = NL_NEW(arena, nl_delete_index);
    index->arena = arena;
    index->metadata = metadata;
    index->partition_buckets = NL_NEW_ARRAY(arena, uint32_t, BUCKETS_MIN);
    index->path_buckets = NL_NEW_ARRAY(arena, uint32_t, BUCKETS_MIN);
    index->bucket_mask_partitions = index->bucket_mask_paths = BUCKETS_MIN - 1;
    return index;
}

static uint64_t partition_key(int32_t spec_id, const nl_value *values, uint32_t count)
{
    return nl_hash_mix(nl_partition_hash(values, count), (uint64_t)spec_id);
}

static partition_slot *find_partition(const nl_delete_index *index, int32_t spec_id, const nl_value *values, uint32_t count)
{
    uint32_t at = index->partition_buckets[partition_key(spec_id, values, count) & index->bucket_mask_partitions];
    while (at) {
        partition_slot *slot = index->partitions.items[at - 1];
        if (slot->spec_id == spec_id && slot->value_count == count && nl_partition_equal(slot->values, values, count)) return slot;
        at = slot->next;
    }
    return NULL;
}

static path_slot *find_path(const nl_delete_index *index, nl_str path)
{
    uint32_t at = index->path_buckets[nl_hash_bytes(path.data, path.length, 0) & index->bucket_mask_paths];
    while (at) {
        path_slot *slot = index->paths.items[at - 1];
        if (nl_str_equal(slot->path, path)) return slot;
        at = slot->next;
    }
    return NULL;
}

static void grow_partitions(nl_delete_index *index)
{
    const uint32_t size = (index->bucket_mask_partitions + 1) * 4;
    index->partition_buckets = NL_NEW_ARRAY(index->arena, uint32_t, size);
    index->bucket_mask_partitions = size - 1;
    for (uint32_t i = 0; i < index->partitions.count; i++) {
        partition_slot *slot = index->partitions.items[i];
        uint32_t *bucket = &index->partition_buckets[partition_key(slot->spec_id, slot->values, slot->value_count) & (size - 1)];
        slot->next = *bucket;
        *bucket = i + 1;
    }
}

static void grow_paths(nl_delete_index *index)
{
    const uint32_t size = (index->bucket_mask_paths + 1) * 4;
    index->path_buckets = NL_NEW_ARRAY(index->arena, uint32_t, size);
    index->bucket_mask_paths = size - 1;
    for (uint32_t i = 0; i < index->paths.count; i++) {
        path_slot *slot = index->paths.items[i];
        uint32_t *bucket = &index->path_buckets[nl_hash_bytes(slot->path.data, slot->path.length, 0) & (size - 1)];
        slot->next = *bucket;
        *bucket = i + 1;
    }
}

static partition_slot *partition_of(nl_delete_index *index, int32_t spec_id, const nl_value *values, uint32_t count)
{
    partition_slot *slot = find_partition(index, spec_id, values, count);
    if (slot) return slot;
    if (index->partitions.count > index->bucket_mask_partitions) grow_partitions(index);
    slot = NL_NEW(index->arena, partition_slot);
    uint32_t *bucket = &index->partition_buckets[partition_key(spec_id, values, count) & index->bucket_mask_partitions];
    *slot = (partition_slot){.spec_id = spec_id, .value_count = count, .values = values, .next = *bucket};
    nl_list_add(index->arena, &index->partitions, slot);
    *bucket = index->partitions.count;
    return slot;
}

static path_slot *path_of(nl_delete_index *index, nl_str path)
{
    path_slot *slot = find_path(index, path);
    if (slot) return slot;
    if (index->paths.count > index->bucket_mask_paths) grow_paths(index);
    slot = NL_NEW(index->arena, path_slot);
    uint32_t *bucket = &index->path_buckets[nl_hash_bytes(path.data, path.length, 0) & index->bucket_mask_paths];
    *slot = (path_slot){.path = path, .next = *bucket};
    nl_list_add(index->arena, &index->paths, slot);
    *bucket = index->paths.count;
    return slot;
}

void nl_delete_index_add(nl_delete_index *index, const nl_manifest_entry *entry, const nl_partition_spec *spec)
{
    const nl_data_file *file = &entry->file;
    const uint32_t value_count = file->partition ? spec->field_count : 0;
    void *item = (void *)(uintptr_t)entry;
    index->count++;
    if (file->content == NL_CONTENT_EQUALITY_DELETES) {
        const bool is_global = nl_partition_spec_is_unpartitioned(spec);
        delete_list *list = is_global ? &index->global_equalities : &partition_of(index, file->spec_id, file->partition, value_count)->equalities;
        nl_list_add(index->arena, &list->entries, item);
        return;
    }
    const nl_str referenced = nl_data_file_referenced(file);
    if (!referenced.data) {
        nl_list_add(index->arena, &partition_of(index, file->spec_id, file->partition, value_count)->positions.entries, item);
        return;
    }
    path_slot *slot = path_of(index, referenced);
    if (nl_data_file_is_deletion_vector(file))
        slot->vector = entry;
    else
        nl_list_add(index->arena, &slot->positions.entries, item);
}

static int by_sequence_number(const void *a, const void *b)
{
    const int64_t left = (*(const nl_manifest_entry *const *)a)->sequence_number, right = (*(const nl_manifest_entry *const *)b)->sequence_number;
    return (left > right) - (left < right);
}

static void sort_list(delete_list *list)
{
    if (list->entries.count > 1) qsort(list->entries.items, list->entries.count, sizeof(void *), by_sequence_number);
}

void nl_delete_index_finish(nl_delete_index *index)
{
    sort_list(&index->global_equalities);
    for (uint32_t i = 0; i < index->partitions.count; i++) {
        partition_slot *slot = index->partitions.items[i];
        sort_list(&slot->positions);
        sort_list(&slot->equalities);
    }
    for (uint32_t i = 0; i < index->paths.count; i++)
        sort_list(&((path_slot *)index->paths.items[i])->positions);
}

bool nl_delete_index_is_empty(const nl_delete_index *index)
{
    return index->count == 0;
}

uint32_t nl_delete_index_count(const nl_delete_index *index)
{
    return index->count;
}

/* The first entry with a sequence number of at least `least`. */
static uint32_t first_from(const delete_list *list, int64_t least)
{
    uint32_t low = 0, high = list->entries.count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (((const nl_manifest_entry *)list->entries.items[middle])->sequence_number < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void collect(const delete_list *list, int64_t least, nl_arena *arena, nl_list *found)
{
    for (uint32_t i = first_from(list, least); i < list->entries.count; i++)
        nl_list_add(arena, found, list->entries.items[i]);
}

void nl_delete_index_find(const nl_delete_index *index, const nl_data_file *file, int64_t data_sequence_number, nl_arena *arena,
                          const nl_data_file *const **deletes, const int64_t **sequence_numbers, uint32_t *count)
{
    nl_list found = {0};
    const nl_partition_spec *spec = nl_table_spec_by_id(index->metadata, file->spec_id);
    const uint32_t value_count = file->partition && spec ? spec->field_count : 0;
    const partition_slot *partition = find_partition(index, file->spec_id, file->partition, value_count);
    const path_slot *path = find_path(index, file->path);
    collect(&index->global_equalities, data_sequence_number + 1, arena, &found);
    if (partition) collect(&partition->equalities, data_sequence_number + 1, arena, &found);
    if (path && path->vector && path->vector->sequence_number >= data_sequence_number) {
        nl_list_add(arena, &found, (void *)(uintptr_t)path->vector); /* it stands for all position deletes of the file */
    } else {
        if (partition) collect(&partition->positions, data_sequence_number, arena, &found);
        if (path) collect(&path->positions, data_sequence_number, arena, &found);
    }
    const nl_data_file **files = NL_NEW_ARRAY(arena, const nl_data_file *, found.count);
    int64_t *numbers = NL_NEW_ARRAY(arena, int64_t, found.count);
    for (uint32_t i = 0; i < found.count; i++) {
        const nl_manifest_entry *entry = found.items[i];
        files[i] = &entry->file;
        numbers[i] = entry->sequence_number;
    }
    *deletes = files;
    *sequence_numbers = numbers;
    *count = found.count;
}

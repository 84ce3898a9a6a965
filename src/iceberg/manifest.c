/* iceberg/manifest.c - the life of a decoded manifest, its typed statistics, and the cache of manifests. */
#include "iceberg/manifest_internal.h"

#include "base/hash.h"
#include "iceberg/list_cache.h"

#include <stdlib.h>

/* ---- Life ---- */

nl_manifest_owner *nl_manifest_owner_new(nl_str path, nl_memory *memory)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_manifest_owner *owner = NL_NEW(arena, nl_manifest_owner);
    owner->arena = arena;
    owner->memory = memory ? nl_memory_retain(memory) : NULL;
    owner->manifest.path = nl_arena_str(arena, path);
    atomic_init(&owner->references, 1);
    nl_mutex_init(&owner->mutex);
    return owner;
}

static nl_manifest_owner *owner_of(const nl_manifest *manifest)
{
    return NL_CONTAINER((uintptr_t)manifest, nl_manifest_owner, manifest);
}

const nl_manifest *nl_manifest_retain(const nl_manifest *manifest)
{
    if (manifest) atomic_fetch_add_explicit(&owner_of(manifest)->references, 1, memory_order_relaxed);
    return manifest;
}

typedef struct cached_statistics {
    struct cached_statistics *next;
    int32_t field_id;
    nl_ice_type_id type_id;
    uint8_t precision;
    nl_column_statistics columns;
} cached_statistics;

static void free_statistics(cached_statistics *statistics)
{
    nl_vector_fini(&statistics->columns.lower);
    nl_vector_fini(&statistics->columns.upper);
    nl_vector_fini(&statistics->columns.value_count);
    nl_vector_fini(&statistics->columns.null_count);
    nl_vector_fini(&statistics->columns.nan_count);
    free(statistics);
}

void nl_manifest_release(const nl_manifest *manifest)
{
    if (!manifest) return;
    nl_manifest_owner *owner = owner_of(manifest);
    if (atomic_fetch_sub_explicit(&owner->references, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; manifest->partition_columns && i < manifest->spec->field_count; i++)
        nl_vector_fini((nl_vector *)(uintptr_t)&manifest->partition_columns[i]);
    for (cached_statistics *statistics = owner->statistics; statistics;) {
        cached_statistics *next = statistics->next;
        free_statistics(statistics);
        statistics = next;
    }
    for (uint32_t i = 0; i < owner->blocks.count; i++)
        nl_buffer_release(owner->blocks.items[i]);
    nl_mutex_fini(&owner->mutex);
    nl_memory *memory = owner->memory;
    nl_arena_free(owner->arena);
    if (memory) nl_memory_release(memory);
}

size_t nl_manifest_bytes(const nl_manifest *manifest)
{
    nl_manifest_owner *owner = owner_of(manifest);
    size_t bytes = nl_arena_used(owner->arena) + owner->block_bytes;
    nl_mutex_lock(&owner->mutex);
    bytes += owner->statistics_bytes;
    nl_mutex_unlock(&owner->mutex);
    return bytes;
}

/* ---- Typed statistics ---- */

static nl_status add_bound(nl_column_builder *builder, const nl_ice_type *type, bool has_bound, nl_bytes bound, nl_arena *scratch)
{
    nl_value value;
    if (!has_bound) return nl_column_builder_null(builder);
    if (type->id == NL_ICE_STRING || type->id == NL_ICE_BINARY)
        return nl_column_builder_str(builder, (nl_str){(const char *)bound.data, bound.length});
    nl_status status = nl_single_value_decode(type, bound, scratch, &value);
    if (status) { /* a bound of another length than the type's: better no bound than a wrong one */
        nl_error_free(status);
        return nl_column_builder_null(builder);
    }
    return nl_column_builder_value(builder, &value);
}

static nl_status make_bounds(const nl_manifest *manifest, int32_t field_id, const nl_ice_type *type, bool is_upper, nl_memory *memory,
                             nl_vector *vector)
{
    nl_column_builder *builder;
    NL_TRY(nl_column_builder_new(nl_ice_type_storage(NULL, type), memory, &builder));
    nl_arena *scratch = nl_arena_new(memory);
    nl_status status = NULL;
    for (uint32_t i = 0; i < manifest->entry_count && !status; i++) {
        const nl_data_file *file = &manifest->entries[i].file;
        nl_bytes bound = {0};
        const bool has_bound = nl_bound_find(is_upper ? &file->upper_bounds : &file->lower_bounds, field_id, &bound);
        status = add_bound(builder, type, has_bound, bound, scratch);
    }
    if (!status) status = nl_column_builder_finish(builder, vector);
    nl_arena_free(scratch);
    nl_column_builder_free(builder);
    return status;
}

static nl_status make_counts(const nl_manifest *manifest, int32_t field_id, size_t map_offset, nl_memory *memory, nl_vector *vector)
{
    nl_column_builder *builder;
    NL_TRY(nl_column_builder_new(nl_type_bigint(), memory, &builder));
    nl_status status = NULL;
    for (uint32_t i = 0; i < manifest->entry_count && !status; i++) {
        const nl_metric_map *map = (const nl_metric_map *)(const void *)((const char *)&manifest->entries[i].file + map_offset);
        int64_t count;
        status = nl_metric_find(map, field_id, &count) ? nl_column_builder_i64(builder, count) : nl_column_builder_null(builder);
    }
    if (!status) status = nl_column_builder_finish(builder, vector);
    nl_column_builder_free(builder);
    return status;
}

static nl_status make_statistics(const nl_manifest *manifest, int32_t field_id, const nl_ice_type *type, nl_column_statistics *columns)
{
    nl_memory *memory = owner_of(manifest)->memory;
    NL_TRY(make_bounds(manifest, field_id, type, false, memory, &columns->lower));
    NL_TRY(make_bounds(manifest, field_id, type, true, memory, &columns->upper));
    NL_TRY(make_counts(manifest, field_id, offsetof(nl_data_file, value_counts), memory, &columns->value_count));
    NL_TRY(make_counts(manifest, field_id, offsetof(nl_data_file, null_value_counts), memory, &columns->null_count));
    return make_counts(manifest, field_id, offsetof(nl_data_file, nan_value_counts), memory, &columns->nan_count);
}

static cached_statistics *find_statistics(const nl_manifest_owner *owner, int32_t field_id, const nl_ice_type *type)
{
    for (cached_statistics *known = owner->statistics; known; known = known->next)
        if (known->field_id == field_id && known->type_id == type->id && known->precision == type->precision) return known;
    return NULL;
}

nl_status nl_manifest_statistics(const nl_manifest *manifest, int32_t field_id, const nl_ice_type *type, const nl_column_statistics **statistics)
{
    nl_manifest_owner *owner = owner_of(manifest);
    NL_CHECK(!nl_ice_type_is_nested(type) && type->id != NL_ICE_VARIANT);
    nl_mutex_lock(&owner->mutex);
    cached_statistics *known = find_statistics(owner, field_id, type);
    nl_mutex_unlock(&owner->mutex);
    if (known) {
        *statistics = &known->columns;
        return NULL;
    }
    cached_statistics *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->field_id = field_id;
    made->type_id = type->id;
    made->precision = type->precision;
    nl_status status = make_statistics(manifest, field_id, type, &made->columns);
    if (status) {
        free_statistics(made);
        return status;
    }
    nl_mutex_lock(&owner->mutex);
    known = find_statistics(owner, field_id, type); /* another thread may have been quicker */
    if (!known) {
        made->next = owner->statistics;
        owner->statistics = made;
        owner->statistics_bytes += nl_vector_bytes(&made->columns.lower) + nl_vector_bytes(&made->columns.upper) +
                                   (size_t)manifest->entry_count * 3 * sizeof(int64_t);
    }
    nl_mutex_unlock(&owner->mutex);
    *statistics = known ? &known->columns : &made->columns;
    if (known) free_statistics(made);
    return NULL;
}

/* ---- The cache ---- */

#define BUCKET_COUNT 1024u

typedef struct cache_entry {
    struct cache_entry *next;    /* of its bucket */
    struct cache_entry *newer;   /* of the order of use */
    struct cache_entry *older;
    const nl_manifest *manifest; /* counted */
    uint64_t key;
    size_t bytes;                /* when it was put in */
    /* What entries inherited: the same file listed otherwise is another manifest. */
    int64_t sequence_number;
    int64_t snapshot_id;
    int64_t first_row_id;
} cache_entry;

struct nl_manifest_cache {
    nl_mutex mutex; /* guards all below */
    nl_memory *memory; /* counted */
    nl_list_cache *lists; /* owned; or NULL */
    size_t limit_bytes;
    size_t used_bytes;
    cache_entry *newest;
    cache_entry *oldest;
    cache_entry *buckets[BUCKET_COUNT];
};

nl_manifest_cache *nl_manifest_cache_new(nl_memory *memory, size_t limit_bytes)
{
    nl_manifest_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) return NULL; /* no cache: reads go to the file */
    nl_mutex_init(&cache->mutex);
    cache->memory = nl_memory_new(memory, "manifest cache", limit_bytes);
    cache->limit_bytes = limit_bytes;
    cache->lists = nl_list_cache_new(memory, limit_bytes / 8);
    return cache;
}

static void unlink_use(nl_manifest_cache *cache, cache_entry *entry)
{
    if (entry->newer) entry->newer->older = entry->older;
    else cache->newest = entry->older;
    if (entry->older) entry->older->newer = entry->newer;
    else cache->oldest = entry->newer;
}

static void link_newest(nl_manifest_cache *cache, cache_entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    if (cache->newest) cache->newest->newer = entry;
    cache->newest = entry;
    if (!cache->oldest) cache->oldest = entry;
}

/* Takes the entry out of all lists; the caller frees it outside of the lock. */
static void take_out(nl_manifest_cache *cache, cache_entry *entry)
{
    unlink_use(cache, entry);
    cache_entry **link = &cache->buckets[entry->key % BUCKET_COUNT];
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    entry->next = NULL;
    cache->used_bytes -= entry->bytes;
}

static void free_chain(cache_entry *entry)
{
    while (entry) {
        cache_entry *next = entry->next;
        nl_manifest_release(entry->manifest);
        free(entry);
        entry = next;
    }
}

void nl_manifest_cache_free(nl_manifest_cache *cache)
{
    if (!cache) return;
    for (size_t i = 0; i < BUCKET_COUNT; i++)
        free_chain(cache->buckets[i]);
    nl_list_cache_free(cache->lists);
    nl_mutex_fini(&cache->mutex);
    nl_memory_release(cache->memory);
    free(cache);
}

nl_status nl_manifest_cache_list(nl_manifest_cache *cache, nl_fs *fs, const nl_snapshot *snapshot, nl_memory *memory, const nl_manifest_list **list)
{
    return nl_list_cache_read(cache ? cache->lists : NULL, fs, snapshot, memory, list);
}

static cache_entry *find_cached(const nl_manifest_cache *cache, const nl_manifest_file *listed, uint64_t key)
{
    for (cache_entry *entry = cache->buckets[key % BUCKET_COUNT]; entry; entry = entry->next)
        if (entry->key == key && nl_str_equal(entry->manifest->path, listed->path) && entry->sequence_number == listed->sequence_number &&
            entry->snapshot_id == listed->added_snapshot_id && entry->first_row_id == listed->first_row_id &&
            entry->manifest->spec_id == listed->spec_id)
            return entry;
    return NULL;
}

static void put_in(nl_manifest_cache *cache, const nl_manifest_file *listed, uint64_t key, const nl_manifest *manifest)
{
    cache_entry *entry = calloc(1, sizeof(*entry));
    if (!entry) return;
    *entry = (cache_entry){.manifest = nl_manifest_retain(manifest),
                           .key = key,
                           .bytes = nl_manifest_bytes(manifest),
                           .sequence_number = listed->sequence_number,
                           .snapshot_id = listed->added_snapshot_id,
                           .first_row_id = listed->first_row_id};
    cache_entry *dropped = NULL;
    nl_mutex_lock(&cache->mutex);
    if (entry->bytes > cache->limit_bytes / 2 || find_cached(cache, listed, key)) {
        dropped = entry;
    } else {
        cache_entry **bucket = &cache->buckets[key % BUCKET_COUNT];
        entry->next = *bucket;
        *bucket = entry;
        link_newest(cache, entry);
        cache->used_bytes += entry->bytes;
        while (cache->used_bytes > cache->limit_bytes && cache->oldest != entry) {
            cache_entry *oldest = cache->oldest;
            take_out(cache, oldest);
            oldest->next = dropped;
            dropped = oldest;
        }
    }
    nl_mutex_unlock(&cache->mutex);
    free_chain(dropped);
}

nl_status nl_manifest_cache_read(nl_manifest_cache *cache, nl_fs *fs, const nl_manifest_file *listed, nl_memory *memory,
                                 const nl_manifest **manifest)
{
    if (!cache) return nl_manifest_read(fs, listed, memory, manifest);
    const uint64_t key = nl_hash_bytes(listed->path.data, listed->path.length, 0);
    nl_mutex_lock(&cache->mutex);
    cache_entry *entry = find_cached(cache, listed, key);
    if (entry) {
        unlink_use(cache, entry);
        link_newest(cache, entry);
        *manifest = nl_manifest_retain(entry->manifest);
    }
    nl_mutex_unlock(&cache->mutex);
    if (entry) return NULL;
    /* A manifest outlives the query that reads it, so the cache pays. When its budget has no room left (others hold what it
     * dropped), the query pays and the manifest is not kept. */
    nl_status status = nl_manifest_read(fs, listed, cache->memory, manifest);
    if (!status) {
        put_in(cache, listed, key, *manifest);
        return NULL;
    }
    if (nl_error_condition(status) != NL_COND_UNABLE_TO_ACQUIRE_MEMORY) return status;
    nl_error_free(status);
    return nl_manifest_read(fs, listed, memory, manifest);
}

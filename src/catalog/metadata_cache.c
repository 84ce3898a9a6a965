/* catalog/metadata_cache.c - see metadata_cache.h. A handful of tables, found by looking at all of them. */
#include "catalog/metadata_cache.h"

#include <stdlib.h>

#include "base/lock.h"

#define ENTRIES_MAX 16u
#define BYTES_MAX   (64ull << 20) /* of the files; their parsed form is charged to the catalog */

typedef struct cache_entry {
    const nl_table_metadata *metadata; /* counted; NULL: free */
    uint64_t size_bytes;
    int64_t modified_micros;
    uint64_t used_at;
} cache_entry;

struct nl_metadata_cache {
    nl_mutex mutex;
    cache_entry entries[ENTRIES_MAX]; /* guarded by mutex, as what follows */
    uint64_t clock;
    uint64_t bytes;
};

nl_metadata_cache *nl_metadata_cache_new(void)
{
    nl_metadata_cache *cache = calloc(1, sizeof(*cache));
    if (cache) nl_mutex_init(&cache->mutex);
    return cache;
}

static void drop(nl_metadata_cache *cache, cache_entry *entry)
{
    nl_table_metadata_release(entry->metadata);
    cache->bytes -= entry->size_bytes;
    *entry = (cache_entry){0};
}

void nl_metadata_cache_free(nl_metadata_cache *cache)
{
    if (!cache) return;
    for (uint32_t i = 0; i < ENTRIES_MAX; i++)
        drop(cache, &cache->entries[i]);
    nl_mutex_fini(&cache->mutex);
    free(cache);
}

static cache_entry *entry_of(nl_metadata_cache *cache, nl_str path)
{
    for (uint32_t i = 0; i < ENTRIES_MAX; i++)
        if (cache->entries[i].metadata && nl_str_equal(cache->entries[i].metadata->metadata_file, path)) return &cache->entries[i];
    return NULL;
}

const nl_table_metadata *nl_metadata_cache_find(nl_metadata_cache *cache, const nl_file_info *file)
{
    const nl_table_metadata *found = NULL;
    if (!cache) return NULL;
    nl_mutex_lock(&cache->mutex);
    cache_entry *entry = entry_of(cache, file->path);
    if (entry && entry->size_bytes == file->size_bytes && entry->modified_micros == file->modified_micros) {
        entry->used_at = ++cache->clock;
        found = nl_table_metadata_retain(entry->metadata);
    }
    nl_mutex_unlock(&cache->mutex);
    return found;
}

/* A free entry, after the one used longest ago has gone as often as it takes. */
static cache_entry *make_room(nl_metadata_cache *cache, uint64_t size_bytes)
{
    for (;;) {
        cache_entry *oldest = NULL, *free_one = NULL;
        for (uint32_t i = 0; i < ENTRIES_MAX; i++) {
            cache_entry *entry = &cache->entries[i];
            if (!entry->metadata)
                free_one = entry;
            else if (!oldest || entry->used_at < oldest->used_at)
                oldest = entry;
        }
        if (free_one && (!oldest || cache->bytes + size_bytes <= BYTES_MAX)) return free_one;
        drop(cache, oldest);
    }
}

void nl_metadata_cache_put(nl_metadata_cache *cache, const nl_file_info *file, const nl_table_metadata *metadata)
{
    if (!cache || file->size_bytes > BYTES_MAX) return;
    nl_mutex_lock(&cache->mutex);
    for (uint32_t i = 0; i < ENTRIES_MAX; i++) { /* earlier versions of the same table are not asked for again */
        cache_entry *entry = &cache->entries[i];
        if (entry->metadata && nl_str_equal(entry->metadata->location, metadata->location)) drop(cache, entry);
    }
    cache_entry *entry = make_room(cache, file->size_bytes);
    *entry = (cache_entry){nl_table_metadata_retain(metadata), file->size_bytes, file->modified_micros, ++cache->clock};
    cache->bytes += file->size_bytes;
    nl_mutex_unlock(&cache->mutex);
}

/* iceberg/list_cache.c - see list_cache.h. Few lists, found by looking at all of them. */
#include "iceberg/list_cache.h"

#include <stdlib.h>

#include "base/lock.h"

#define ENTRIES_MAX 64u

typedef struct list_object {
    nl_manifest_list list; /* first: lists are turned back into objects */
    nl_arena *arena;       /* owned: all of it */
    nl_str path;
    size_t bytes;
    atomic_uint references;
} list_object;

typedef struct cache_entry {
    list_object *object; /* counted; NULL: free */
    uint64_t used_at;
} cache_entry;

struct nl_list_cache {
    nl_mutex mutex;
    nl_memory *memory; /* counted */
    size_t limit_bytes;
    cache_entry entries[ENTRIES_MAX]; /* guarded by mutex, as what follows */
    uint64_t clock;
    size_t used_bytes;
};

static list_object *object_of(const nl_manifest_list *list)
{
    return NL_CONTAINER((uintptr_t)list, list_object, list);
}

void nl_manifest_list_release(const nl_manifest_list *list)
{
    if (list && atomic_fetch_sub_explicit(&object_of(list)->references, 1, memory_order_acq_rel) == 1) nl_arena_free(object_of(list)->arena);
}

nl_list_cache *nl_list_cache_new(nl_memory *memory, size_t limit_bytes)
{
    nl_list_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) return NULL;
    nl_mutex_init(&cache->mutex);
    cache->memory = nl_memory_new(memory, "manifest list cache", limit_bytes);
    cache->limit_bytes = limit_bytes;
    return cache;
}

void nl_list_cache_free(nl_list_cache *cache)
{
    if (!cache) return;
    for (uint32_t i = 0; i < ENTRIES_MAX; i++)
        if (cache->entries[i].object) nl_manifest_list_release(&cache->entries[i].object->list);
    nl_mutex_fini(&cache->mutex);
    nl_memory_release(cache->memory);
    free(cache);
}

static const nl_manifest_list *find(nl_list_cache *cache, nl_str path)
{
    const nl_manifest_list *found = NULL;
    nl_mutex_lock(&cache->mutex);
    for (uint32_t i = 0; i < ENTRIES_MAX && !found; i++) {
        cache_entry *entry = &cache->entries[i];
        if (!entry->object || !nl_str_equal(entry->object->path, path)) continue;
        entry->used_at = ++cache->clock;
        atomic_fetch_add_explicit(&entry->object->references, 1, memory_order_relaxed);
        found = &entry->object->list;
    }
    nl_mutex_unlock(&cache->mutex);
    return found;
}

/* The entry to use next: a free one, else the one used longest ago. */
static cache_entry *next_entry(nl_list_cache *cache)
{
    cache_entry *best = &cache->entries[0];
    for (uint32_t i = 1; i < ENTRIES_MAX && best->object; i++)
        if (!cache->entries[i].object || cache->entries[i].used_at < best->used_at) best = &cache->entries[i];
    return best;
}

static cache_entry *oldest_entry(nl_list_cache *cache)
{
    cache_entry *oldest = NULL;
    for (uint32_t i = 0; i < ENTRIES_MAX; i++)
        if (cache->entries[i].object && (!oldest || cache->entries[i].used_at < oldest->used_at)) oldest = &cache->entries[i];
    return oldest;
}

static void keep(nl_list_cache *cache, list_object *object)
{
    list_object *gone[ENTRIES_MAX + 1];
    uint32_t gone_count = 0;
    if (object->bytes > cache->limit_bytes / 4) return;
    nl_mutex_lock(&cache->mutex);
    for (cache_entry *oldest = oldest_entry(cache); oldest && cache->used_bytes + object->bytes > cache->limit_bytes; oldest = oldest_entry(cache)) {
        cache->used_bytes -= oldest->object->bytes;
        gone[gone_count++] = oldest->object;
        oldest->object = NULL;
    }
    cache_entry *entry = next_entry(cache);
    if (entry->object) {
        cache->used_bytes -= entry->object->bytes;
        gone[gone_count++] = entry->object;
    }
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    *entry = (cache_entry){object, ++cache->clock};
    cache->used_bytes += object->bytes;
    nl_mutex_unlock(&cache->mutex);
    for (uint32_t i = 0; i < gone_count; i++)
        nl_manifest_list_release(&gone[i]->list);
}

static nl_status read_list(nl_fs *fs, const nl_snapshot *snapshot, nl_memory *owner, nl_memory *memory, list_object **object)
{
    nl_arena *arena = nl_arena_new(owner);
    list_object *made = NL_NEW(arena, list_object);
    made->arena = arena;
    made->path = nl_arena_str(arena, snapshot->manifest_list);
    atomic_init(&made->references, 1);
    nl_status status = nl_snapshot_manifests(fs, snapshot, memory, arena, &made->list.files, &made->list.file_count);
    if (!status) status = nl_arena_check(arena);
    made->bytes = nl_arena_used(arena);
    if (status)
        nl_arena_free(arena);
    else
        *object = made;
    return status;
}

nl_status nl_list_cache_read(nl_list_cache *cache, nl_fs *fs, const nl_snapshot *snapshot, nl_memory *memory, const nl_manifest_list **list)
{
    list_object *object = NULL;
    const bool is_kept = cache && snapshot->manifest_list.length > 0; /* v1 snapshots may have no list to be known by */
    const nl_manifest_list *found = is_kept ? find(cache, snapshot->manifest_list) : NULL;
    if (found) {
        *list = found;
        return NULL;
    }
    nl_status status = read_list(fs, snapshot, is_kept ? cache->memory : memory, memory, &object);
    if (!status && is_kept) keep(cache, object);
    /* What others hold of the cache's budget may leave no room: the query pays then. */
    if (status && is_kept && nl_error_condition(status) == NL_COND_UNABLE_TO_ACQUIRE_MEMORY) {
        nl_error_free(status);
        status = read_list(fs, snapshot, memory, memory, &object);
    }
    if (!status) *list = &object->list;
    return status;
}

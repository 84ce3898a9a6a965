/* catalog/rest/table_cache.c - tables loaded lately, each with the ETag of its answer: asked again with If-None-Match, an
 * unchanged table costs no metadata. rest-table-cache.max-entries (100; 0: none) and .expire-after-write-ms (5 min) bound it.
 */
#include "catalog/rest/rest_private.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/number.h"

typedef struct entry {
    nl_arena *arena; /* owned: everything but the metadata */
    nl_str path, etag;
    nl_remote_table table;
    int64_t written_micros;
} entry;

struct nl_remote_cache {
    nl_mutex mutex;
    entry *entries; /* guarded; owned */
    uint32_t entry_count;
    uint32_t entry_max;
    int64_t life_micros;
};

static nl_status number_property(const nl_catalog *catalog, const char *key, int64_t fallback, int64_t max, int64_t *number)
{
    const nl_str value = nl_catalog_property(catalog, key);
    *number = fallback;
    if (!value.length) return NULL;
    if (!nl_parse_int64(value, number) || *number < 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s is no number of zero or more: " NL_STR_FMT, key, NL_STR_ARG(value));
    *number = NL_MIN(*number, max);
    return NULL;
}

nl_status nl_remote_cache_new(const nl_catalog *catalog, nl_remote_cache **cache)
{
    int64_t entry_max, life_ms;
    NL_TRY(number_property(catalog, "rest-table-cache.max-entries", 100, 100000, &entry_max));
    NL_TRY(number_property(catalog, "rest-table-cache.expire-after-write-ms", 300000, INT64_MAX / 1000, &life_ms));
    nl_remote_cache *made = calloc(1, sizeof(*made));
    entry *entries = calloc((size_t)entry_max + 1, sizeof(*entries));
    if (!made || !entries) {
        free(made);
        free(entries);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", entry_max), NL_P_INT("receivedBytes", 0));
    }
    nl_mutex_init(&made->mutex);
    made->entries = entries;
    made->entry_max = (uint32_t)entry_max;
    made->life_micros = life_ms * 1000;
    *cache = made;
    return NULL;
}

static void entry_fini(entry *e)
{
    nl_table_metadata_release(e->table.metadata);
    nl_arena_free(e->arena);
}

void nl_remote_cache_free(nl_remote_cache *cache)
{
    if (!cache) return;
    for (uint32_t i = 0; i < cache->entry_count; i++)
        entry_fini(&cache->entries[i]);
    nl_mutex_fini(&cache->mutex);
    free(cache->entries);
    free(cache);
}

/* With the mutex held. NULL: none. */
static entry *find(nl_remote_cache *cache, nl_str path)
{
    const int64_t now = nl_now_micros();
    for (uint32_t i = 0; i < cache->entry_count; i++)
        if (nl_str_equal(cache->entries[i].path, path) && now - cache->entries[i].written_micros < cache->life_micros) return &cache->entries[i];
    return NULL;
}

nl_str nl_remote_cache_etag(nl_remote_cache *cache, nl_str path, nl_arena *arena)
{
    nl_mutex_lock(&cache->mutex);
    const entry *e = find(cache, path);
    const nl_str etag = e ? nl_arena_str(arena, e->etag) : (nl_str){0};
    nl_mutex_unlock(&cache->mutex);
    return etag;
}

static const nl_remote_credential *copy_credentials(nl_arena *arena, const nl_remote_table *table)
{
    nl_remote_credential *copies = NL_NEW_ARRAY(arena, nl_remote_credential, (size_t)table->credential_count + 1);
    for (uint32_t i = 0; i < table->credential_count; i++)
        copies[i] = (nl_remote_credential){nl_arena_str(arena, table->credentials[i].prefix),
                                         nl_properties_copy(arena, table->credentials[i].config, table->credentials[i].config_count), table->credentials[i].config_count};
    return copies;
}

static nl_remote_table copy_table(nl_arena *arena, const nl_remote_table *table)
{
    return (nl_remote_table){.metadata = nl_table_metadata_retain(table->metadata),
                           .config = nl_properties_copy(arena, table->config, table->config_count),
                           .config_count = table->config_count,
                           .credentials = copy_credentials(arena, table),
                           .credential_count = table->credential_count};
}

bool nl_remote_cache_find(nl_remote_cache *cache, nl_str path, nl_str etag, nl_arena *arena, nl_remote_table *table)
{
    nl_mutex_lock(&cache->mutex);
    const entry *e = find(cache, path);
    const bool is_there = e && nl_str_equal(e->etag, etag);
    if (is_there) *table = copy_table(arena, &e->table);
    nl_mutex_unlock(&cache->mutex);
    return is_there;
}

/* With the mutex held: takes the entry at i out. */
static entry take_out(nl_remote_cache *cache, uint32_t i)
{
    const entry out = cache->entries[i];
    cache->entries[i] = cache->entries[--cache->entry_count];
    return out;
}

void nl_remote_cache_drop(nl_remote_cache *cache, nl_str path)
{
    entry old = {0};
    nl_mutex_lock(&cache->mutex);
    for (uint32_t i = 0; i < cache->entry_count && !old.arena; i++)
        if (nl_str_equal(cache->entries[i].path, path)) old = take_out(cache, i);
    nl_mutex_unlock(&cache->mutex);
    if (old.arena) entry_fini(&old);
}

void nl_remote_cache_put(nl_remote_cache *cache, nl_str path, nl_str etag, const nl_remote_table *table)
{
    nl_remote_cache_drop(cache, path);
    if (!etag.length || !cache->entry_max) return;
    entry made = {.arena = nl_arena_new(NULL), .written_micros = nl_now_micros()}, old = {0};
    made.path = nl_arena_str(made.arena, path);
    made.etag = nl_arena_str(made.arena, etag);
    made.table = copy_table(made.arena, table);
    nl_mutex_lock(&cache->mutex);
    if (cache->entry_count == cache->entry_max) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < cache->entry_count; i++)
            if (cache->entries[i].written_micros < cache->entries[oldest].written_micros) oldest = i;
        old = take_out(cache, oldest);
    }
    cache->entries[cache->entry_count++] = made;
    nl_mutex_unlock(&cache->mutex);
    if (old.arena) entry_fini(&old);
}

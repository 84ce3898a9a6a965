/* storage/piece_cache.c - see piece_cache.h. Here are the versions of objects, and who believes in which; piece_shard.c has the
 * pieces.
 */
#include "storage/piece_cache.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/hash.h"
#include "storage/piece_shard.h"

#define SHARDS       16u
#define OBJECT_BINS  256u /* of one shard */
#define EPOCHS       1024u
#define READERS      4u   /* of one object: those that were told last */
#define NEWCOMER_SHARE 5u /* of newcomers: a fifth of all */
#define PIECE_SHARE  8u   /* larger parts of the whole are not kept */

typedef struct trust {
    uint64_t reader;
    int64_t told_micros;
} trust;

struct nl_kept_object {
    nl_piece_cache *cache;    /* not counted by objects in the table: they go with it */
    nl_kept_object *next;     /* of its bin; guarded by the shard's mutex */
    uint64_t id;
    uint64_t name_hash;
    uint64_t size_bytes;
    nl_str name, etag;        /* behind the struct */
    size_t charged_bytes;
    trust trusts[READERS];    /* guarded by the shard's mutex */
    atomic_bool is_forgotten;
    atomic_uint references;   /* of the table, of readers, of pieces */
};

typedef struct object_shard {
    nl_mutex mutex;
    nl_kept_object *bins[OBJECT_BINS]; /* guarded by mutex */
} object_shard;

struct nl_piece_cache {
    nl_reclaimer base;
    nl_memory *memory; /* counted */
    size_t limit_bytes;
    int64_t trust_micros;
    bool keeps_parts;
    atomic_uint_fast64_t next_id;
    atomic_uint next_victim;
    object_shard objects[SHARDS];
    nl_piece_shard pieces[SHARDS];
    atomic_uint_fast64_t epochs[EPOCHS];
    atomic_uint_fast64_t hits, hit_bytes, puts, put_bytes, evictions, forgotten, piece_count, used_bytes;
};

static nl_piece_cache *cache_of(nl_reclaimer *self)
{
    return NL_CONTAINER(self, nl_piece_cache, base);
}

static void add(atomic_uint_fast64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

/* ---- Names ---- */

static uint64_t hash_name(const nl_object_name *name)
{
    uint64_t hash = nl_hash_bytes(name->place.data, name->place.length, 0);
    hash = nl_hash_bytes(name->bucket.data, name->bucket.length, hash);
    return nl_hash_bytes(name->key.data, name->key.length, hash);
}

/* A name is kept as "place\0bucket\0key": none of the first two holds a zero byte. */
static bool is_name(nl_str kept, const nl_object_name *name)
{
    const size_t bucket_at = name->place.length + 1;
    const size_t key_at = bucket_at + name->bucket.length + 1;
    return kept.length == key_at + name->key.length && kept.data[bucket_at - 1] == '\0' && kept.data[key_at - 1] == '\0' &&
           nl_str_equal(nl_str_slice(kept, 0, name->place.length), name->place) &&
           nl_str_equal(nl_str_slice(kept, bucket_at, bucket_at + name->bucket.length), name->bucket) && nl_str_equal(nl_str_slice(kept, key_at, kept.length), name->key);
}

static object_shard *shard_of(nl_piece_cache *cache, uint64_t name_hash)
{
    return &cache->objects[name_hash % SHARDS];
}

static nl_kept_object **bin_of(nl_piece_cache *cache, uint64_t name_hash)
{
    return &shard_of(cache, name_hash)->bins[name_hash / SHARDS % OBJECT_BINS];
}

uint64_t nl_piece_cache_epoch(const nl_piece_cache *cache, const nl_object_name *name)
{
    return cache ? atomic_load(&cache->epochs[hash_name(name) % EPOCHS]) : 0;
}

/* ---- Objects ---- */

static void free_object(nl_kept_object *object)
{
    nl_piece_cache *cache = object->cache;
    nl_memory_discharge(cache->memory, object->charged_bytes);
    free(object);
}

/* Takes it out of the table, which held one reference. Under the shard's mutex. */
static void unlink_object(nl_kept_object **place)
{
    nl_kept_object *object = *place;
    *place = object->next;
    atomic_store(&object->is_forgotten, true);
}

static nl_kept_object **find_object(nl_piece_cache *cache, uint64_t name_hash, const nl_object_name *name)
{
    nl_kept_object **place = bin_of(cache, name_hash);
    while (*place && !((*place)->name_hash == name_hash && is_name((*place)->name, name))) place = &(*place)->next;
    return place;
}

/* One of which the table alone holds the name, and no piece, is of no use. */
static void drop_object(nl_kept_object *object)
{
    nl_piece_cache *cache = object->cache;
    uint32_t before = atomic_load(&object->references);
    for (;;) {
        if (before == 2 && !atomic_load(&object->is_forgotten)) break; /* the table's and this one: under its lock */
        if (!atomic_compare_exchange_weak(&object->references, &before, before - 1)) continue;
        if (before == 1) free_object(object);
        return;
    }
    object_shard *shard = shard_of(cache, object->name_hash);
    nl_mutex_lock(&shard->mutex);
    nl_kept_object **place = bin_of(cache, object->name_hash);
    while (*place && *place != object) place = &(*place)->next;
    uint32_t references = 2;
    const bool is_lonely = *place && atomic_load(&object->references) == 2;
    if (is_lonely) {
        unlink_object(place);
        references = atomic_fetch_sub(&object->references, 2);
    } else {
        references = atomic_fetch_sub(&object->references, 1);
    }
    nl_mutex_unlock(&shard->mutex);
    if (references == (is_lonely ? 2u : 1u)) free_object(object);
}

/* Readers hold the cache, so that it outlives what they hold of it; the table and pieces do not. */
void nl_kept_object_release(nl_kept_object *object)
{
    if (!object) return;
    nl_piece_cache *cache = object->cache;
    drop_object(object);
    nl_piece_cache_release(cache);
}

static nl_kept_object *hand_out(nl_kept_object *object)
{
    atomic_fetch_add(&object->references, 1);
    nl_piece_cache_retain(object->cache);
    return object;
}

nl_str nl_kept_object_etag(const nl_kept_object *object)
{
    return object->etag;
}

static bool is_trusted(const nl_piece_cache *cache, const nl_kept_object *object, uint64_t reader, int64_t now)
{
    for (uint32_t i = 0; i < READERS; i++) {
        const trust *one = &object->trusts[i];
        if (one->told_micros == 0 || one->reader != reader) continue;
        return cache->trust_micros < 0 || (now >= one->told_micros && now - one->told_micros < cache->trust_micros);
    }
    return false;
}

static void believe(nl_kept_object *object, uint64_t reader, int64_t now)
{
    trust *place = &object->trusts[0];
    for (uint32_t i = 0; i < READERS && place->reader != reader; i++) {
        trust *one = &object->trusts[i];
        if (one->reader == reader || one->told_micros < place->told_micros) place = one;
    }
    *place = (trust){reader, now};
}

nl_kept_object *nl_piece_cache_trusted(nl_piece_cache *cache, const nl_object_name *name, uint64_t size_bytes, uint64_t reader)
{
    if (!cache || cache->trust_micros == 0) return NULL;
    const uint64_t hash = hash_name(name);
    const int64_t now = nl_now_micros();
    object_shard *shard = shard_of(cache, hash);
    nl_mutex_lock(&shard->mutex);
    nl_kept_object *found = *find_object(cache, hash, name);
    if (found && (found->size_bytes != size_bytes || !is_trusted(cache, found, reader, now))) found = NULL;
    if (found) hand_out(found);
    nl_mutex_unlock(&shard->mutex);
    return found;
}

static nl_kept_object *new_object(nl_piece_cache *cache, uint64_t name_hash, const nl_object_name *name, nl_str etag, uint64_t size_bytes)
{
    const size_t name_bytes = name->place.length + name->bucket.length + name->key.length + 2;
    const size_t bytes = sizeof(nl_kept_object) + name_bytes + etag.length;
    if (!nl_memory_try_charge(cache->memory, bytes)) return NULL;
    nl_kept_object *made = calloc(1, bytes);
    if (!made) {
        nl_memory_discharge(cache->memory, bytes);
        return NULL;
    }
    char *text = (char *)(made + 1);
    *made = (nl_kept_object){.cache = cache, .id = atomic_fetch_add(&cache->next_id, 1), .name_hash = name_hash, .size_bytes = size_bytes, .charged_bytes = bytes};
    made->name = (nl_str){text, name_bytes};
    made->etag = (nl_str){text + name_bytes, etag.length};
    memcpy(text, name->place.data, name->place.length);
    memcpy(text + name->place.length + 1, name->bucket.data, name->bucket.length);
    memcpy(text + name->place.length + name->bucket.length + 2, name->key.data, name->key.length);
    memcpy(text + name_bytes, etag.data, etag.length);
    atomic_init(&made->references, 1);
    return made;
}

nl_kept_object *nl_piece_cache_seen(nl_piece_cache *cache, const nl_object_name *name, nl_str etag, uint64_t size_bytes, uint64_t reader, uint64_t epoch)
{
    if (!cache || etag.length == 0) return NULL;
    const uint64_t hash = hash_name(name);
    const int64_t now = nl_now_micros();
    object_shard *shard = shard_of(cache, hash);
    nl_kept_object *made = new_object(cache, hash, name, etag, size_bytes); /* perhaps for nothing, but not under the lock */
    nl_kept_object *old = NULL;
    nl_kept_object *found = NULL;
    nl_mutex_lock(&shard->mutex);
    if (atomic_load(&cache->epochs[hash % EPOCHS]) == epoch) {
        nl_kept_object **place = find_object(cache, hash, name);
        found = *place;
        if (found && (found->size_bytes != size_bytes || !nl_str_equal(found->etag, etag))) {
            old = found;
            unlink_object(place);
            found = NULL;
        }
        if (!found && made) {
            found = made;
            made = NULL;
            nl_kept_object **bin = bin_of(cache, hash);
            found->next = *bin;
            *bin = found;
        }
    }
    if (found) {
        believe(found, reader, now);
        hand_out(found);
    }
    nl_mutex_unlock(&shard->mutex);
    if (made) free_object(made);
    if (old) drop_object(old);
    return found;
}

void nl_piece_cache_forget(nl_piece_cache *cache, const nl_object_name *name)
{
    if (!cache) return;
    const uint64_t hash = hash_name(name);
    object_shard *shard = shard_of(cache, hash);
    nl_mutex_lock(&shard->mutex);
    add(&cache->epochs[hash % EPOCHS], 1);
    nl_kept_object **place = find_object(cache, hash, name);
    nl_kept_object *gone = *place;
    if (gone) unlink_object(place);
    nl_mutex_unlock(&shard->mutex);
    if (!gone) return;
    add(&cache->forgotten, 1);
    drop_object(gone);
}

/* ---- Pieces ---- */

static nl_piece_shard *shard_at(const nl_kept_object *object, uint64_t region)
{
    return &object->cache->pieces[nl_hash_mix(object->id, region) % SHARDS];
}

static void free_piece(nl_piece_cache *cache, nl_piece *piece)
{
    const size_t bytes = piece->bytes->charged_bytes;
    nl_reclaimer_note(&cache->base, -(ptrdiff_t)bytes);
    atomic_fetch_sub_explicit(&cache->used_bytes, bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&cache->piece_count, 1, memory_order_relaxed);
    nl_buffer_release(piece->bytes);
    drop_object(piece->object);
    nl_memory_discharge(cache->memory, sizeof(*piece));
    free(piece);
}

/* From one shard after the other, until so many bytes are free or none of this kind is left. */
static size_t evict_kind(nl_piece_cache *cache, bool newcomers, size_t bytes)
{
    size_t freed = 0;
    for (uint32_t tries = 0; tries < SHARDS && freed < bytes; tries++) {
        nl_piece_shard *shard = &cache->pieces[atomic_fetch_add_explicit(&cache->next_victim, 1, memory_order_relaxed) % SHARDS];
        for (nl_piece *gone = nl_piece_shard_evict(shard, newcomers, bytes - freed), *next = NULL; gone; gone = next) {
            next = gone->next;
            freed += gone->bytes->charged_bytes;
            add(&cache->evictions, 1);
            free_piece(cache, gone);
        }
    }
    return freed;
}

/* Newcomers go as long as they have more than their share. */
static size_t evict(nl_piece_cache *cache, size_t bytes)
{
    uint64_t newcomer_bytes = 0;
    uint64_t proven_bytes = 0;
    for (uint32_t i = 0; i < SHARDS; i++) nl_piece_shard_bytes(&cache->pieces[i], &newcomer_bytes, &proven_bytes);
    const bool newcomers_first = newcomer_bytes >= (newcomer_bytes + proven_bytes) / NEWCOMER_SHARE;
    size_t freed = evict_kind(cache, newcomers_first, bytes);
    if (freed < bytes) freed += evict_kind(cache, !newcomers_first, bytes - freed);
    if (freed < bytes) freed += evict_kind(cache, newcomers_first, bytes - freed); /* spared ones have changed their kind */
    return freed;
}

nl_buffer *nl_piece_cache_buffer(nl_piece_cache *cache, size_t size_bytes)
{
    if (!cache || size_bytes > NL_KEPT_PIECE_BYTES_MAX || size_bytes > cache->limit_bytes / PIECE_SHARE) return NULL;
    nl_buffer *bytes = NULL;
    const size_t wanted = size_bytes + 256; /* with its head */
    for (;;) {
        const size_t used = nl_memory_used(cache->memory);
        const bool is_full = used + wanted > cache->limit_bytes;
        if (is_full && evict(cache, used + wanted - cache->limit_bytes) == 0) return NULL; /* all of it is in use */
        if (is_full) continue;
        nl_status status = nl_buffer_new(cache->memory, size_bytes, false, &bytes);
        nl_error_free(status);
        return bytes;
    }
}

static bool put_piece(nl_kept_object *object, uint64_t region, uint64_t offset, nl_buffer *bytes)
{
    nl_piece_cache *cache = object->cache;
    if (bytes->size_bytes == 0 || bytes->size_bytes > NL_KEPT_PIECE_BYTES_MAX || bytes->memory != cache->memory) return false;
    if (atomic_load(&object->is_forgotten) || !nl_memory_try_charge(cache->memory, sizeof(nl_piece))) return false;
    nl_piece *made = calloc(1, sizeof(*made));
    if (!made) {
        nl_memory_discharge(cache->memory, sizeof(*made));
        return false;
    }
    *made = (nl_piece){.object = object, .object_id = object->id, .is_forgotten = &object->is_forgotten, .offset = offset, .region = region,
                       .bytes = nl_buffer_retain(bytes)};
    const size_t length = bytes->size_bytes;
    const size_t charged = bytes->charged_bytes;
    atomic_fetch_add(&object->references, 1);
    nl_reclaimer_note(&cache->base, (ptrdiff_t)charged);
    add(&cache->used_bytes, charged);
    add(&cache->piece_count, 1);
    const bool is_kept = nl_piece_shard_put(shard_at(object, region), made);
    if (is_kept) {
        add(&cache->puts, 1);
        add(&cache->put_bytes, length);
    } else {
        free_piece(cache, made);
    }
    return is_kept;
}

bool nl_kept_object_put(nl_kept_object *object, uint64_t offset, nl_buffer *bytes)
{
    return put_piece(object, nl_piece_region(offset), offset, bytes);
}

bool nl_kept_object_find(nl_kept_object *object, uint64_t offset, uint64_t wanted_bytes, nl_buffer **bytes, uint64_t *start)
{
    const uint64_t region = nl_piece_region(offset);
    bool is_found = nl_piece_shard_find(shard_at(object, region), object->id, region, offset, wanted_bytes, bytes, start);
    if (!is_found && region > 0) is_found = nl_piece_shard_find(shard_at(object, region - 1), object->id, region - 1, offset, wanted_bytes, bytes, start);
    if (!is_found) return false;
    add(&object->cache->hits, 1);
    add(&object->cache->hit_bytes, NL_MIN(wanted_bytes, *start + (*bytes)->size_bytes - offset));
    return true;
}

/* ---- Parts ---- */

nl_kept_object *nl_piece_cache_parts(nl_piece_cache *cache, nl_file *file)
{
    const nl_str version = nl_file_version(file);
    if (!cache || !cache->keeps_parts || version.length == 0) return NULL;
    const nl_object_name name = {.place = NL_STR("parts"), .bucket = NL_STR(""), .key = nl_file_path(file)};
    return nl_piece_cache_seen(cache, &name, version, nl_file_size(file), 0, nl_piece_cache_epoch(cache, &name));
}

nl_buffer *nl_kept_object_buffer(const nl_kept_object *object, size_t size_bytes)
{
    return nl_piece_cache_buffer(object->cache, size_bytes);
}

bool nl_kept_object_put_part(nl_kept_object *object, uint64_t place, nl_buffer *bytes)
{
    return put_piece(object, place, place, bytes);
}

nl_buffer *nl_kept_object_find_part(nl_kept_object *object, uint64_t place)
{
    nl_buffer *bytes = NULL;
    uint64_t start = 0;
    if (!nl_piece_shard_find(shard_at(object, place), object->id, place, place, UINT32_MAX, &bytes, &start)) return NULL;
    add(&object->cache->hits, 1);
    add(&object->cache->hit_bytes, bytes->size_bytes);
    return bytes;
}

uint64_t nl_kept_object_covered(const nl_kept_object *object, uint64_t offset)
{
    const uint64_t region = nl_piece_region(offset);
    uint64_t end = nl_piece_shard_covered(shard_at(object, region), object->id, region, offset);
    if (end == offset && region > 0) end = nl_piece_shard_covered(shard_at(object, region - 1), object->id, region - 1, offset);
    return end;
}

uint64_t nl_kept_object_next(const nl_kept_object *object, uint64_t offset, uint64_t limit)
{
    for (uint64_t region = nl_piece_region(offset); region * NL_KEPT_PIECE_BYTES_MAX < limit; region++) {
        const uint64_t next = nl_piece_shard_next(shard_at(object, region), object->id, region, offset, limit);
        if (next < limit) return next;
    }
    return limit;
}

/* ---- The cache ---- */

static size_t reclaim_some(nl_reclaimer *self, size_t bytes)
{
    return evict(cache_of(self), bytes);
}

static void free_cache(nl_reclaimer *self)
{
    nl_piece_cache *cache = cache_of(self);
    while (evict(cache, SIZE_MAX) > 0) {
    }
    for (uint32_t i = 0; i < SHARDS; i++) {
        object_shard *shard = &cache->objects[i];
        for (uint32_t j = 0; j < OBJECT_BINS; j++) {
            while (shard->bins[j]) {
                nl_kept_object *object = shard->bins[j];
                unlink_object(&shard->bins[j]);
                drop_object(object);
            }
        }
        nl_mutex_fini(&shard->mutex);
        nl_piece_shard_fini(&cache->pieces[i]);
    }
    nl_memory_release(cache->memory);
    free(cache);
}

static nl_piece_cache *new_cache(nl_memory *memory, const nl_piece_cache_options *options)
{
    nl_piece_cache *made = calloc(1, sizeof(*made));
    bool is_good = made != NULL;
    for (uint32_t i = 0; made && i < SHARDS; i++) {
        nl_mutex_init(&made->objects[i].mutex);
        is_good = nl_piece_shard_init(&made->pieces[i]) && is_good;
    }
    if (!is_good) {
        for (uint32_t i = 0; made && i < SHARDS; i++) nl_piece_shard_fini(&made->pieces[i]);
        free(made);
        return NULL;
    }
    made->base = (nl_reclaimer){.reclaim = reclaim_some, .free = free_cache};
    atomic_init(&made->base.references, 1);
    made->memory = nl_memory_new(memory, "object cache", options->limit_bytes);
    made->limit_bytes = options->limit_bytes;
    made->trust_micros = options->trust_micros;
    made->keeps_parts = options->keeps_parts;
    atomic_init(&made->next_id, 1);
    return made;
}

nl_piece_cache *nl_piece_cache_find(nl_memory *memory)
{
    nl_reclaimer *found = nl_memory_reclaimer(memory);
    return found ? cache_of(found) : NULL;
}

nl_piece_cache *nl_piece_cache_obtain(nl_memory *memory, const nl_piece_cache_options *options)
{
    nl_piece_cache *found = nl_piece_cache_find(memory);
    if (found || options->limit_bytes == 0) return found;
    nl_piece_cache *made = new_cache(nl_memory_root(memory), options);
    if (!made || nl_memory_add_reclaimer(memory, &made->base)) return made;
    nl_piece_cache_release(made); /* somebody else was faster */
    return nl_piece_cache_find(memory);
}

nl_piece_cache *nl_piece_cache_retain(nl_piece_cache *cache)
{
    if (cache) atomic_fetch_add(&cache->base.references, 1);
    return cache;
}

void nl_piece_cache_release(nl_piece_cache *cache)
{
    if (cache) nl_reclaimer_release(&cache->base);
}

uint64_t nl_piece_cache_new_reader(nl_piece_cache *cache)
{
    return cache ? nl_hash_u64(atomic_fetch_add(&cache->next_id, 1)) : 0;
}

nl_piece_cache_stats nl_piece_cache_read_stats(const nl_piece_cache *cache)
{
    if (!cache) return (nl_piece_cache_stats){0};
    return (nl_piece_cache_stats){
        .hits = cache->hits,
        .hit_bytes = cache->hit_bytes,
        .puts = cache->puts,
        .put_bytes = cache->put_bytes,
        .evictions = cache->evictions,
        .forgotten = cache->forgotten,
        .piece_count = cache->piece_count,
        .used_bytes = cache->used_bytes,
    };
}

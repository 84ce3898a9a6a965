/* catalog/pointer.c - see pointer.h. */
#include "catalog/pointer.h"

#include <stdlib.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/number.h"
#include "base/uuid.h"
#include "iceberg/reachable.h"

typedef struct pointer_store {
    nl_table_store base;
    nl_fs *fs;                /* counted */
    nl_pointer *pointer;      /* owned */
    nl_metadata_cache *cache; /* the catalog's, which outlives its tables; or NULL */
} pointer_store;

/* ---- names ----------------------------------------------------------------------------------------------------- */

int64_t nl_metadata_file_version(nl_str metadata_file)
{
    const nl_str name = nl_path_name(metadata_file);
    const size_t dash = nl_str_find_char(name, '-', 0);
    int64_t version;
    if (dash == NL_NOT_FOUND || dash == 0 || !nl_parse_int64(nl_str_slice(name, 0, dash), &version) || version < 0) return -1;
    return version;
}

static nl_str new_file(nl_arena *arena, nl_str folder, nl_str previous, bool is_gzip)
{
    uint8_t bytes[16];
    char uuid[NL_UUID_TEXT_LENGTH];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, uuid);
    const int64_t version = previous.length ? nl_metadata_file_version(previous) + 1 : 0;
    return nl_arena_f(arena, NL_STR_FMT "/%05lld-%.*s%s", NL_STR_ARG(folder), (long long)version, (int)sizeof(uuid), uuid,
                      is_gzip ? ".gz.metadata.json" : ".metadata.json");
}

nl_str nl_without_slash(nl_str path)
{
    while (path.length > 1 && path.data[path.length - 1] == '/') path.length--;
    return path;
}

nl_str nl_next_metadata_file(nl_arena *arena, const nl_table_metadata *base, const nl_table_metadata *updated)
{
    nl_str folder = nl_table_property(updated, "write.metadata.path", NULL);
    if (folder.data) folder = nl_without_slash(folder);
    else folder = nl_arena_f(arena, NL_STR_FMT "/metadata", NL_STR_ARG(nl_without_slash(updated->location)));
    return new_file(arena, folder, base ? base->metadata_file : NL_STR(""), nl_table_metadata_wants_gzip(updated));
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static nl_status read_metadata(pointer_store *self, nl_str file, nl_memory *memory, const nl_table_metadata **metadata)
{
    const nl_file_info key = {.path = file};
    *metadata = nl_metadata_cache_find(self->cache, &key);
    if (*metadata) return NULL;
    NL_TRY(nl_table_metadata_read(self->fs, file, memory, metadata));
    nl_metadata_cache_put(self->cache, &key, *metadata);
    return NULL;
}

static nl_status pointer_load(nl_table_store *base, nl_memory *memory, const nl_table_metadata **metadata)
{
    pointer_store *self = NL_CONTAINER(base, pointer_store, base);
    nl_arena *arena = nl_arena_new(memory);
    nl_str file;
    nl_status status = self->pointer->ops->read(self->pointer, arena, &file);
    if (!status) status = read_metadata(self, file, memory, metadata);
    nl_arena_free(arena);
    return status;
}

/* Is `file` in force, or was it since? A catalog that does not answer says neither. */
static void look_up(pointer_store *self, nl_str file, nl_memory *memory, bool *was_done)
{
    nl_arena *arena = nl_arena_new(memory);
    const nl_table_metadata *current = NULL;
    nl_str in_force;
    nl_error *error = self->pointer->ops->read(self->pointer, arena, &in_force);
    *was_done = !error && nl_str_equal(in_force, file);
    if (!error && !*was_done) error = read_metadata(self, in_force, memory, &current);
    for (uint32_t i = 0; !error && current && i < current->metadata_log_count; i++)
        *was_done = *was_done || nl_str_equal(current->metadata_log[i].metadata_file, file);
    nl_table_metadata_release(current);
    nl_error_free(error);
    nl_arena_free(arena);
}

/* The file that nobody will ever name. */
static void remove_unused(nl_fs *fs, nl_str file)
{
    nl_error *error = nl_fs_remove(fs, file);
    if (error) nl_log(NL_LOG_WARN, "a metadata file that was not committed stays behind: %s", nl_error_message(error));
    nl_error_free(error);
}

static nl_status write_metadata(nl_fs *fs, const nl_table_metadata *updated, nl_str file, nl_memory *memory)
{
    nl_buffer *content = NULL;
    NL_TRY(nl_table_metadata_encode(updated, nl_table_metadata_wants_gzip(updated), memory, &content));
    nl_status status = nl_fs_write_all(fs, file, (nl_bytes){content->data, content->size_bytes});
    nl_buffer_release(content);
    return status;
}

static nl_status swap_pointer(pointer_store *self, const nl_table_metadata *base, const nl_table_metadata *updated, nl_str file, nl_memory *memory)
{
    NL_CRASH_POINT("commit.before-swap");
    nl_status status = self->pointer->ops->swap(self->pointer, base ? base->metadata_file : NL_STR(""), file, updated);
    NL_CRASH_POINT("commit.after-swap");
    if (!status) return NULL;
    if (nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE) {
        bool was_done = false;
        look_up(self, file, memory, &was_done);
        if (!was_done) return status;
        nl_error_free(status);
        return NULL;
    }
    remove_unused(self->fs, file);
    return status;
}

static nl_status swap_in(pointer_store *self, nl_arena *arena, const nl_table_metadata *base, const nl_table_metadata *updated, nl_memory *memory,
                         const nl_table_metadata **committed)
{
    const nl_str file = nl_next_metadata_file(arena, base, updated);
    NL_TRY(write_metadata(self->fs, updated, file, memory));
    NL_TRY(swap_pointer(self, base, updated, file, memory));
    nl_delete_dropped_metadata_files(self->fs, base, updated);
    nl_error *error = nl_table_metadata_with_file(updated, file, committed);
    if (error) { /* the commit stands, whatever comes of its description */
        nl_error_set_kind(error, NL_KIND_UNKNOWN_STATE);
        return error;
    }
    nl_metadata_cache_put(self->cache, &(nl_file_info){.path = file}, *committed);
    return NULL;
}

static nl_status pointer_swap(nl_table_store *store, const nl_table_metadata *base, const nl_table_metadata *updated, nl_memory *memory,
                              const nl_table_metadata **committed)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = swap_in(NL_CONTAINER(store, pointer_store, base), arena, base, updated, memory, committed);
    nl_arena_free(arena);
    return status;
}

static void pointer_store_free(nl_table_store *base)
{
    pointer_store *self = NL_CONTAINER(base, pointer_store, base);
    self->pointer->ops->free(self->pointer);
    nl_fs_release(self->fs);
    free(self);
}

static const nl_table_store_ops store_ops = {.load = pointer_load, .swap = pointer_swap, .free = pointer_store_free};

nl_status nl_pointer_store_new(nl_fs *fs, nl_pointer *pointer, nl_metadata_cache *cache, nl_table_store **store)
{
    pointer_store *made = calloc(1, sizeof(*made));
    if (!made) {
        pointer->ops->free(pointer);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    }
    made->base.ops = &store_ops;
    made->fs = nl_fs_retain(fs);
    made->pointer = pointer;
    made->cache = cache;
    *store = &made->base;
    return NULL;
}

/* ---- views ----------------------------------------------------------------------------------------------------- */

nl_status nl_pointer_load_view(nl_fs *fs, nl_pointer *pointer, nl_memory *memory, const nl_view_metadata **view)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_str file;
    nl_status status = pointer->ops->read(pointer, arena, &file);
    if (!status) status = nl_view_metadata_read(fs, file, memory, view);
    nl_arena_free(arena);
    return status;
}

static nl_status write_view(nl_fs *fs, const nl_view_metadata *updated, nl_str file)
{
    nl_builder text;
    nl_builder_init(&text, NL_METADATA_BYTES_MAX);
    nl_view_metadata_append_json(updated, &text);
    const nl_str json = nl_builder_str(&text);
    nl_status status = nl_fs_write_all(fs, file, (nl_bytes){(const uint8_t *)json.data, json.length});
    nl_builder_fini(&text);
    return status;
}

static nl_status swap_view(nl_fs *fs, nl_pointer *pointer, const nl_view_metadata *base, nl_str file, nl_arena *arena)
{
    nl_status status = pointer->ops->swap(pointer, base ? base->metadata_file : NL_STR(""), file, NULL);
    nl_str in_force = {0};
    if (!status) return NULL;
    if (nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) {
        remove_unused(fs, file);
        return status;
    }
    nl_error_free(pointer->ops->read(pointer, arena, &in_force));
    if (!nl_str_equal(in_force, file)) return status;
    nl_error_free(status);
    return NULL;
}

nl_status nl_pointer_commit_view(nl_fs *fs, nl_pointer *pointer, const nl_view_metadata *base, const nl_view_metadata *updated, nl_memory *memory,
                                 const nl_view_metadata **committed)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_str folder = nl_view_property(updated, "write.metadata.path");
    if (folder.data) folder = nl_without_slash(folder);
    else folder = nl_arena_f(arena, NL_STR_FMT "/metadata", NL_STR_ARG(nl_without_slash(updated->location)));
    const nl_str file = new_file(arena, folder, base ? base->metadata_file : NL_STR(""), false);
    nl_status status = write_view(fs, updated, file);
    if (!status) status = swap_view(fs, pointer, base, file, arena);
    if (!status) status = nl_view_metadata_with_file(updated, file, committed);
    nl_arena_free(arena);
    return status;
}

/* ---- purging --------------------------------------------------------------------------------------------------- */

nl_status nl_check_purge(const nl_table_metadata *metadata)
{
    if (nl_table_property_bool(metadata, "gc.enabled", true)) return NULL;
    return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot purge table: GC is disabled (deleting files may corrupt other tables)");
}

typedef struct purge {
    nl_fs *fs;
    nl_path_set *files;
    nl_arena *arena;
    nl_list batch; /* nl_str * */
    nl_str places[5]; /* the table's own: its location, and where its properties put files */
    uint32_t place_count;
    uint64_t kept_count; /* files that lie elsewhere */
    nl_str kept;         /* one of them */
} purge;

/* Metadata may name any file, by accident or malice: a table that was registered, files that were added where they lay.
 * What is removed lies in a bucket that the table has a place in, and on a disk below such a place. */
static void note_places(purge *self, const nl_table_metadata *metadata)
{
    static const char *const keys[] = {"write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"};
    self->places[self->place_count++] = nl_path_local(self->arena, nl_without_slash(metadata->location));
    for (size_t i = 0; i < NL_COUNT(keys); i++) {
        const nl_str place = nl_table_property(metadata, keys[i], NULL);
        if (place.length) self->places[self->place_count++] = nl_path_local(self->arena, nl_without_slash(place));
    }
}

/* "s3a://bucket/key" → "bucket"; data NULL: not on S3. */
static nl_str bucket_of(nl_str path)
{
    const size_t end = nl_str_find(path, NL_STR("://"), 0);
    const nl_str scheme = nl_str_slice(path, 0, end);
    if (end == NL_NOT_FOUND || !(nl_str_is_nocase(scheme, "s3") || nl_str_is_nocase(scheme, "s3a") || nl_str_is_nocase(scheme, "s3n"))) return (nl_str){0};
    const nl_str rest = nl_str_slice(path, end + 3, path.length);
    return nl_str_slice(rest, 0, nl_str_find_char(rest, '/', 0));
}

static bool is_below(nl_str path, nl_str place)
{
    if (!nl_str_starts(path, place) || nl_str_find(path, NL_STR("/../"), 0) != NL_NOT_FOUND) return false;
    return path.length > place.length && (path.data[place.length] == '/' || nl_str_ends(place, NL_STR("/")));
}

static bool is_ours(purge *self, nl_str path)
{
    const nl_str bucket = bucket_of(path), local = bucket.data ? path : nl_path_local(self->arena, path);
    for (uint32_t i = 0; i < self->place_count; i++)
        if (bucket.data ? nl_str_equal(bucket, bucket_of(self->places[i])) : self->places[i].length > 1 && is_below(local, self->places[i])) return true;
    return false;
}

#define PURGE_BATCH 1000u

static nl_status note_file(void *argument, const nl_data_file *file)
{
    purge *self = argument;
    nl_path_set_add(self->files, file->path, 0);
    return nl_arena_check(self->arena);
}

static nl_status remove_batch(purge *self)
{
    nl_str *paths = NL_NEW_ARRAY(self->arena, nl_str, self->batch.count);
    uint64_t removed_count = 0;
    for (uint32_t i = 0; i < self->batch.count; i++) paths[i] = *(const nl_str *)self->batch.items[i];
    nl_error *error = nl_fs_remove_many(self->fs, paths, self->batch.count, &removed_count);
    if (error) nl_log(NL_LOG_WARN, "%llu of %u files of a purged table stay behind: %s", (unsigned long long)(self->batch.count - removed_count), self->batch.count,
                      nl_error_message(error));
    nl_error_free(error);
    self->batch.count = 0;
    return NULL;
}

static nl_status remove_file(void *argument, nl_str path, int32_t tag)
{
    purge *self = argument;
    (void)tag;
    if (!is_ours(self, path)) {
        self->kept_count++;
        self->kept = path;
        return NULL;
    }
    nl_str *kept = NL_NEW(self->arena, nl_str);
    *kept = path;
    nl_list_add(self->arena, &self->batch, kept);
    return self->batch.count == PURGE_BATCH ? remove_batch(self) : NULL;
}

static void add_metadata_files(purge *self, const nl_table_metadata *metadata)
{
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        if (metadata->snapshots[i].manifest_list.length) nl_path_set_add(self->files, metadata->snapshots[i].manifest_list, 0);
    for (uint32_t i = 0; i < metadata->statistics_count; i++) nl_path_set_add(self->files, metadata->statistics[i].path, 0);
    for (uint32_t i = 0; i < metadata->partition_statistics_count; i++) nl_path_set_add(self->files, metadata->partition_statistics[i].path, 0);
    for (uint32_t i = 0; i < metadata->metadata_log_count; i++) nl_path_set_add(self->files, metadata->metadata_log[i].metadata_file, 0);
    nl_path_set_add(self->files, metadata->metadata_file, 0);
}

static nl_status purge_in(nl_iceberg_table *table, const nl_table_metadata *metadata, nl_arena *arena)
{
    purge self = {.fs = table->fs, .files = nl_path_set_new(arena), .arena = arena};
    nl_list manifests = {0};
    NL_TRY(nl_reachable_manifests(table, metadata->snapshots, metadata->snapshot_count, arena, self.files, &manifests));
    NL_TRY(nl_reachable_files(table, &manifests, note_file, &self));
    add_metadata_files(&self, metadata);
    note_places(&self, metadata);
    NL_TRY(nl_path_set_each(self.files, remove_file, &self));
    if (self.batch.count) NL_TRY(remove_batch(&self));
    if (self.kept_count)
        nl_log(NL_LOG_WARN, "%llu files of a purged table stay: they lie outside its location, such as %.*s", (unsigned long long)self.kept_count, NL_STR_ARG(self.kept));
    return NULL;
}

/* The table is gone from its catalog: this one only reads. */
static void free_nothing(nl_table_store *store)
{
    (void)store;
}

nl_status nl_purge_table_files(nl_fs *fs, const nl_table_metadata *metadata, nl_memory *memory)
{
    static const nl_table_store_ops no_ops = {.free = free_nothing};
    nl_table_store no_store = {.ops = &no_ops};
    nl_iceberg_table *table = NULL;
    NL_TRY(nl_iceberg_table_new(metadata->location, fs, &no_store, nl_table_metadata_retain(metadata), memory, &table));
    nl_arena *arena = nl_arena_new(memory);
    nl_error *error = purge_in(table, metadata, arena);
    if (error) /* the table is gone, which was asked for: files that cannot be found, since something cannot be read, stay */
        nl_log(NL_LOG_WARN, "files of the purged table at %.*s stay behind, since not all of them could be found: %s", NL_STR_ARG(metadata->location), nl_error_message(error));
    nl_error_free(error);
    nl_arena_free(arena);
    nl_iceberg_table_release(table);
    return NULL;
}

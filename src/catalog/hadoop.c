/* catalog/hadoop.c - tables as folders below a warehouse: warehouse/namespace/table/{metadata,data}.
 *
 * The commit protocol is Iceberg's HadoopTableOperations: version N+1 is metadata/vN+1.metadata.json, created by whoever
 * is first; metadata/version-hint.text says about where to look. The hint is a best effort: readers go on from it until
 * a version is missing. Source: Iceberg spec, "File System Tables".
 */
#include "catalog/catalog_private.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/number.h"
#include "catalog/metadata_cache.h"
#include "storage/s3.h"

#define HINT_FILE      "version-hint.text"
#define HINT_BYTES_MAX 64

typedef struct hadoop_catalog {
    nl_catalog base;
    nl_fs *fs;        /* counted */
    nl_str warehouse; /* owned; absolute, without a slash at its end */
    nl_metadata_cache *cache; /* owned; or NULL */
} hadoop_catalog;

typedef struct hadoop_store {
    nl_table_store base;
    nl_fs *fs;        /* counted */
    nl_str location;  /* owned */
    nl_str quoted;    /* owned: the table's name for "not found" */
    nl_metadata_cache *cache; /* the catalog's, which outlives its tables */
} hadoop_store;

static hadoop_catalog *self_of(nl_catalog *catalog)
{
    return NL_CONTAINER(catalog, hadoop_catalog, base);
}

static nl_str copy_text(nl_str text)
{
    return nl_str_from(strndup(text.data ? text.data : "", text.length));
}

/* ---- versions -------------------------------------------------------------------------------------------------- */

/* "v12.metadata.json", "v12.gz.metadata.json" or "v12.metadata.json.gz" → 12. */
static bool parse_version(nl_str file_name, int64_t *version)
{
    if (file_name.length < 2 || file_name.data[0] != 'v') return false;
    const size_t dot = nl_str_find_char(file_name, '.', 0);
    if (dot == NL_NOT_FOUND || !nl_parse_int64(nl_str_slice(file_name, 1, dot), version) || *version < 1) return false;
    const nl_str rest = nl_str_slice(file_name, dot, file_name.length);
    return nl_str_is(rest, ".metadata.json") || nl_str_is(rest, ".gz.metadata.json") || nl_str_is(rest, ".metadata.json.gz");
}

static nl_str version_path(nl_arena *arena, nl_str location, int64_t version, const char *suffix)
{
    return nl_arena_f(arena, NL_STR_FMT "/metadata/v%lld%s", NL_STR_ARG(location), (long long)version, suffix);
}

static bool is_missing(nl_error *error)
{
    return nl_error_condition(error) == NL_COND_PATH_NOT_FOUND;
}

/* The spellings of a version's name, and what there is of them. */
static const char *const suffixes[] = {".metadata.json", ".gz.metadata.json", ".metadata.json.gz"};

static nl_file_info first_present(const nl_file_info *infos, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (infos[i].path.length) return infos[i];
    return (nl_file_info){0};
}

/* The file of a version in any of its three spellings; file->path is empty when there is none. */
static nl_status find_version(nl_fs *fs, nl_arena *arena, nl_str location, int64_t version, nl_file_info *file)
{
    nl_str paths[NL_COUNT(suffixes)];
    nl_file_info infos[NL_COUNT(suffixes)];
    for (uint32_t i = 0; i < NL_COUNT(suffixes); i++) paths[i] = version_path(arena, location, version, suffixes[i]);
    NL_TRY(nl_fs_stat_files(fs, paths, NL_COUNT(suffixes), infos));
    *file = first_present(infos, NL_COUNT(suffixes));
    return NULL;
}

/* The same with the usual spelling only, and the next version in the same go: mostly all that is to be known. */
static nl_status find_version_and_next(nl_fs *fs, nl_arena *arena, nl_str location, int64_t version, nl_file_info *file, nl_file_info *next)
{
    nl_str paths[NL_COUNT(suffixes) + 1] = {version_path(arena, location, version, suffixes[0])};
    nl_file_info infos[NL_COUNT(suffixes) + 1];
    for (uint32_t i = 0; i < NL_COUNT(suffixes); i++) paths[i + 1] = version_path(arena, location, version + 1, suffixes[i]);
    NL_TRY(nl_fs_stat_files(fs, paths, NL_COUNT(paths), infos));
    *file = infos[0];
    *next = first_present(infos + 1, NL_COUNT(suffixes));
    return infos[0].path.length ? NULL : find_version(fs, arena, location, version, file);
}

typedef struct highest_version {
    int64_t version; /* 0: none */
} highest_version;

static nl_status note_version(void *argument, const nl_file_info *info)
{
    highest_version *highest = argument;
    int64_t version;
    if (!info->is_directory && parse_version(nl_path_name(info->path), &version)) highest->version = NL_MAX(highest->version, version);
    return NULL;
}

/* What version-hint.text says; 0: nothing that can be read. Nobody relies on it, so failures are nothing. */
static int64_t read_hint(nl_fs *fs, nl_arena *arena, nl_str location)
{
    const nl_str path = nl_arena_f(arena, NL_STR_FMT "/metadata/" HINT_FILE, NL_STR_ARG(location));
    nl_buffer *content = NULL;
    int64_t version = 0;
    nl_error *error = nl_fs_read_all(fs, path, HINT_BYTES_MAX, &content);
    if (!error && (!nl_parse_int64(nl_str_trim((nl_str){(const char *)content->data, content->size_bytes}), &version) || version < 0)) version = 0;
    if (!error) nl_buffer_release(content);
    nl_error_free(error);
    return version;
}

/* Where the search begins: the hint, or without one that can be read the highest file of the folder. 0: no table. */
static nl_status first_version(nl_fs *fs, nl_arena *arena, nl_str location, nl_file_info *file, nl_file_info *next, int64_t *version)
{
    *version = read_hint(fs, arena, location);
    if (*version > 0) {
        NL_TRY(find_version_and_next(fs, arena, location, *version, file, next));
        if (file->path.length) return NULL;
    }
    highest_version highest = {0};
    nl_error *error = nl_fs_list(fs, nl_arena_f(arena, NL_STR_FMT "/metadata", NL_STR_ARG(location)), false, note_version, &highest);
    if (error && !is_missing(error)) return error;
    nl_error_free(error);
    *version = highest.version;
    return *version > 0 ? find_version_and_next(fs, arena, location, *version, file, next) : NULL;
}

/* The newest metadata file; file->path is empty when there is no table. */
static nl_status find_current(nl_fs *fs, nl_arena *arena, nl_str location, nl_file_info *file, int64_t *version)
{
    nl_file_info next = {0};
    *file = (nl_file_info){0};
    NL_TRY(first_version(fs, arena, location, file, &next, version));
    while (file->path.length && next.path.length) {
        *file = next;
        (*version)++;
        NL_TRY(find_version(fs, arena, location, *version + 1, &next));
    }
    return NULL;
}

/* ---- the store of one table ------------------------------------------------------------------------------------ */

static nl_status load_in(hadoop_store *self, nl_arena *arena, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_file_info file;
    int64_t version;
    NL_TRY(find_current(self->fs, arena, self->location, &file, &version));
    if (file.path.length == 0) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", self->quoted));
    const nl_table_metadata *known = nl_metadata_cache_find(self->cache, &file);
    if (known) {
        *metadata = known;
        return NULL;
    }
    NL_TRY(nl_table_metadata_read(self->fs, file.path, memory, metadata));
    nl_metadata_cache_put(self->cache, &file, *metadata);
    return NULL;
}

/* Our own version is kept too. Should somebody have replaced the file since (Java's rename on a local disk can), its size
 * differs and nothing is kept. */
static void remember_committed(hadoop_store *self, const nl_table_metadata *committed, size_t size_bytes)
{
    nl_file_info file;
    nl_error *error = self->cache ? nl_fs_stat_file(self->fs, committed->metadata_file, &file) : NULL;
    if (self->cache && !error && file.size_bytes == size_bytes) nl_metadata_cache_put(self->cache, &file, committed);
    nl_error_free(error);
}

static nl_status hadoop_load(nl_table_store *base, nl_memory *memory, const nl_table_metadata **metadata)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = load_in(NL_CONTAINER(base, hadoop_store, base), arena, memory, metadata);
    nl_arena_free(arena);
    return status;
}

/* Readers find the newest version without the hint too: a failure here does not undo the commit. Hadoop on a local disk
 * leaves a checksum beside its hint, which would make ours a broken file to it. */
static void write_hint(hadoop_store *self, nl_arena *arena, int64_t version)
{
    nl_error_free(nl_fs_remove(self->fs, nl_arena_f(arena, NL_STR_FMT "/metadata/." HINT_FILE ".crc", NL_STR_ARG(self->location))));
    const nl_str path = nl_arena_f(arena, NL_STR_FMT "/metadata/" HINT_FILE, NL_STR_ARG(self->location));
    const nl_str text = nl_arena_f(arena, "%lld", (long long)version);
    nl_error *error = nl_fs_write_all(self->fs, path, (nl_bytes){(const uint8_t *)text.data, text.length});
    if (!error) return;
    nl_log(NL_LOG_WARN, "the version hint of %.*s was not written: %s", NL_STR_ARG(self->location), nl_error_message(error));
    nl_error_free(error);
}

static nl_status check_unchanged(const hadoop_store *self, const nl_table_metadata *base, const nl_table_metadata *updated)
{
    /* A table that was registered keeps its files where they were: its metadata alone lies here. */
    const bool is_registered = base ? !nl_str_equal(base->location, self->location) : updated->metadata_file.length > 0;
    if (is_registered ? base && !nl_str_equal(base->location, updated->location) : !nl_str_equal(updated->location, self->location))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Hadoop path-based tables cannot be relocated");
    if (nl_table_property(updated, "write.metadata.path", NULL).data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Hadoop path-based tables cannot relocate metadata");
    return NULL;
}

static nl_status base_version(const nl_table_metadata *base, int64_t *version)
{
    *version = 0;
    if (base && !parse_version(nl_path_name(base->metadata_file), version))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot commit changes based on a metadata file that has no version: " NL_STR_FMT,
                             NL_STR_ARG(base->metadata_file));
    return NULL;
}

static nl_status create_version(hadoop_store *self, nl_arena *arena, int64_t version, const nl_table_metadata *updated, nl_memory *memory, nl_str *path,
                                size_t *size_bytes)
{
    const bool is_gzip = nl_table_metadata_wants_gzip(updated);
    nl_buffer *content = NULL;
    nl_file_info other;
    *path = version_path(arena, self->location, version, is_gzip ? ".gz.metadata.json" : ".metadata.json");
    /* The same version under another spelling (the codec was changed between two commits) is a conflict too. */
    NL_TRY(find_version(self->fs, arena, self->location, version, &other));
    if (other.path.length)
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Version %lld already exists: " NL_STR_FMT, (long long)version, NL_STR_ARG(other.path));
    NL_TRY(nl_table_metadata_encode(updated, is_gzip, memory, &content));
    *size_bytes = content->size_bytes;
    NL_CRASH_POINT("commit.before-swap");
    nl_status status = nl_fs_create_if_absent(self->fs, *path, (nl_bytes){content->data, content->size_bytes});
    nl_buffer_release(content);
    if (status && nl_error_condition(status) == NL_COND_NILAS_ALREADY_EXISTS) {
        nl_error_free(status);
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Version %lld already exists: " NL_STR_FMT, (long long)version, NL_STR_ARG(*path));
    }
    NL_CRASH_POINT("commit.after-swap");
    return status;
}

/* Is the change that `updated` makes to its base in the history of `newest`? Its snapshots tell, else the log, whose entries
 * carry the time of each version. */
typedef enum history { PART_OF_IT, NOT_IN_IT, CANNOT_BE_SAID } history;
static history look_into_history(const nl_table_metadata *base, const nl_table_metadata *updated, int64_t version, const nl_table_metadata *newest)
{
    const int64_t snapshot_id = updated->current_snapshot_id;
    const bool adds_snapshot = snapshot_id != NL_NONE && !nl_table_snapshot(base, snapshot_id);
    if (adds_snapshot && nl_table_snapshot(newest, snapshot_id)) return PART_OF_IT;
    for (uint32_t i = 0; i < newest->metadata_log_count; i++) {
        const nl_metadata_log_entry *entry = &newest->metadata_log[i];
        int64_t entry_version;
        if (!parse_version(nl_path_name(entry->metadata_file), &entry_version) || entry_version != version) continue;
        return entry->timestamp_ms == updated->last_updated_ms && !adds_snapshot ? PART_OF_IT : NOT_IN_IT;
    }
    return CANNOT_BE_SAID; /* so many versions ago that the log has dropped it */
}

static nl_status overtaken(hadoop_store *self, int64_t version, nl_str created)
{
    nl_status status = nl_fs_remove(self->fs, created);
    if (status) {
        nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
        return status;
    }
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Version %lld was made before, and is gone: others have committed and cleaned up meanwhile", (long long)version);
}

/* A writer that stalled before its creation may find that others went on and cleaned up so far that its version was free
 * again (write.metadata.delete-after-commit.enabled): it must not count then. But others may also have gone on from it
 * already, and have taken its base away. `created` is version + 1. */
static nl_status check_not_overtaken(hadoop_store *self, nl_arena *arena, const nl_table_metadata *base, const nl_table_metadata *updated, int64_t version, nl_str created,
                                     nl_memory *memory)
{
    nl_file_info still, newest_file;
    int64_t newest;
    const nl_table_metadata *metadata = NULL;
    if (version == 0) return NULL;
    nl_status status = find_version(self->fs, arena, self->location, version, &still);
    if (!status && still.path.length && read_hint(self->fs, arena, self->location) <= version + 1) return NULL;
    if (!status) status = find_current(self->fs, arena, self->location, &newest_file, &newest);
    if (!status && newest == version + 1) return NULL;
    if (!status && newest > version + 1) status = nl_table_metadata_read(self->fs, newest_file.path, memory, &metadata);
    if (!status) {
        const history where = metadata ? look_into_history(base, updated, version + 1, metadata) : CANNOT_BE_SAID;
        nl_table_metadata_release(metadata);
        if (where == PART_OF_IT) return NULL;
        /* Had others gone on from it, they would have removed it together with its place in the log. */
        if (where == CANNOT_BE_SAID) status = nl_fs_stat_file(self->fs, created, &still);
        if (!status) return overtaken(self, version + 1, created);
        nl_error_free(status);
        status = NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "Cannot say whether version %lld counts: others have committed up to %lld meanwhile", (long long)version + 1, (long long)newest);
    }
    nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    return status;
}

static nl_status swap_in(hadoop_store *self, nl_arena *arena, const nl_table_metadata *base, const nl_table_metadata *updated, nl_memory *memory,
                         const nl_table_metadata **committed)
{
    int64_t version, newest;
    nl_str path;
    nl_file_info newest_file;
    size_t size_bytes = 0;
    NL_TRY(check_unchanged(self, base, updated));
    NL_TRY(base_version(base, &version));
    NL_TRY(find_current(self->fs, arena, self->location, &newest_file, &newest));
    if (newest != version) return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Cannot commit changes based on stale table metadata");
    NL_TRY(create_version(self, arena, version + 1, updated, memory, &path, &size_bytes));
    NL_TRY(check_not_overtaken(self, arena, base, updated, version, path, memory));
    write_hint(self, arena, version + 1);
    nl_delete_dropped_metadata_files(self->fs, base, updated);
    nl_error *error = nl_table_metadata_with_file(updated, path, committed);
    if (error) { /* the commit stands, whatever comes of its description */
        nl_error_set_kind(error, NL_KIND_UNKNOWN_STATE);
        return error;
    }
    remember_committed(self, *committed, size_bytes);
    return NULL;
}

static nl_status hadoop_swap(nl_table_store *base_store, const nl_table_metadata *base, const nl_table_metadata *updated, nl_memory *memory,
                             const nl_table_metadata **committed)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = swap_in(NL_CONTAINER(base_store, hadoop_store, base), arena, base, updated, memory, committed);
    nl_arena_free(arena);
    return status;
}

static void hadoop_store_free(nl_table_store *base)
{
    hadoop_store *self = NL_CONTAINER(base, hadoop_store, base);
    nl_fs_release(self->fs);
    free((void *)(uintptr_t)self->location.data);
    free((void *)(uintptr_t)self->quoted.data);
    free(self);
}

static const nl_table_store_ops store_ops = {.load = hadoop_load, .swap = hadoop_swap, .free = hadoop_store_free};

static nl_status new_store(hadoop_catalog *self, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_table_store **store)
{
    hadoop_store *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    const nl_str quoted = nl_quoted_identifier(arena, &self->base, identifier);
    made->base.ops = &store_ops;
    made->fs = nl_fs_retain(self->fs);
    made->cache = self->cache;
    made->location = copy_text(location);
    made->quoted = copy_text(quoted);
    *store = &made->base;
    return NULL;
}

/* ---- folders --------------------------------------------------------------------------------------------------- */

static nl_status namespace_path(const hadoop_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *path)
{
    *path = self->warehouse;
    for (uint32_t i = 0; i < part_count; i++) {
        NL_TRY(nl_check_path_part(parts[i]));
        *path = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(*path), NL_STR_ARG(parts[i]));
    }
    return NULL;
}

static nl_status table_path(const hadoop_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_str *path)
{
    nl_str scope;
    NL_TRY(namespace_path(self, identifier->namespace_parts, identifier->namespace_count, arena, &scope));
    NL_TRY(nl_check_path_part(identifier->name));
    *path = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(scope), NL_STR_ARG(identifier->name));
    return NULL;
}

typedef struct metadata_search {
    bool has_metadata;
} metadata_search;

static nl_status note_metadata_file(void *argument, const nl_file_info *info)
{
    metadata_search *search = argument;
    const nl_str name = nl_path_name(info->path);
    search->has_metadata = search->has_metadata || (!info->is_directory && (nl_str_ends(name, NL_STR(".metadata.json")) || nl_str_ends(name, NL_STR(".metadata.json.gz"))));
    return NULL;
}

/* A folder is a table iff its metadata folder holds a metadata file. */
static nl_status is_table_folder(nl_fs *fs, nl_arena *arena, nl_str path, bool *is_table)
{
    metadata_search search = {0};
    nl_error *error = nl_fs_list(fs, nl_arena_f(arena, NL_STR_FMT "/metadata", NL_STR_ARG(path)), false, note_metadata_file, &search);
    if (error && !is_missing(error)) return error;
    nl_error_free(error);
    *is_table = search.has_metadata;
    return NULL;
}

typedef struct folder_list {
    nl_arena *arena;
    nl_list paths; /* nl_str * */
} folder_list;

static nl_status note_folder(void *argument, const nl_file_info *info)
{
    folder_list *list = argument;
    if (!info->is_directory) return NULL;
    nl_str *path = NL_NEW(list->arena, nl_str);
    *path = nl_arena_str(list->arena, info->path);
    nl_list_add(list->arena, &list->paths, path);
    return nl_arena_check(list->arena);
}

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(**(nl_str *const *)a, **(nl_str *const *)b);
}

static nl_status schema_not_found(const hadoop_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena)
{
    return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, &self->base, parts, part_count)));
}

/* The subfolders that are tables (or that are not), by name. A missing folder has none, unless must_exist. */
static nl_status list_folders(hadoop_catalog *self, const nl_str *parts, uint32_t part_count, bool wants_tables, nl_arena *arena, nl_name_list *list)
{
    nl_str path;
    folder_list folders = {.arena = arena};
    NL_TRY(namespace_path(self, parts, part_count, arena, &path));
    nl_error *error = nl_fs_list(self->fs, path, false, note_folder, &folders);
    if (error && !is_missing(error)) return error;
    const bool is_absent = error != NULL;
    nl_error_free(error);
    if (is_absent && part_count > 0)
        return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(parts[part_count - 1]));
    if (folders.paths.count > 1) qsort(folders.paths.items, folders.paths.count, sizeof(void *), compare_paths);
    list->items = NL_NEW_ARRAY(arena, nl_identifier, folders.paths.count);
    for (uint32_t i = 0; i < folders.paths.count; i++) {
        const nl_str folder = *(const nl_str *)folders.paths.items[i];
        bool is_table = false;
        NL_TRY(is_table_folder(self->fs, arena, folder, &is_table));
        if (is_table != wants_tables) continue;
        nl_str *full = NL_NEW_ARRAY(arena, nl_str, part_count + 1);
        if (part_count) memcpy(full, parts, part_count * sizeof(*parts));
        full[part_count] = nl_path_name(folder);
        list->items[list->count++] = wants_tables ? (nl_identifier){full, part_count, full[part_count]} : (nl_identifier){full, part_count + 1, {0}};
    }
    return NULL;
}

/* ---- the catalog ----------------------------------------------------------------------------------------------- */

static nl_status hadoop_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list)
{
    return list_folders(self_of(catalog), parent, parent_count, false, arena, list);
}

static nl_status hadoop_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    return list_folders(self_of(catalog), parts, part_count, true, arena, list);
}

static nl_status hadoop_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties,
                                             uint32_t *property_count)
{
    hadoop_catalog *self = self_of(catalog);
    nl_str path;
    nl_file_info info;
    bool is_table = false;
    NL_TRY(namespace_path(self, parts, part_count, arena, &path));
    nl_error *error = nl_fs_stat(self->fs, path, &info);
    if (error && !is_missing(error)) return error;
    const bool is_absent = error != NULL || !info.is_directory;
    nl_error_free(error);
    if (!is_absent) NL_TRY(is_table_folder(self->fs, arena, path, &is_table));
    if (is_absent || is_table || part_count == 0) return schema_not_found(self, parts, part_count, arena);
    nl_property *location = NL_NEW(arena, nl_property);
    *location = (nl_property){NL_STR("location"), path};
    *properties = location;
    *property_count = 1;
    return NULL;
}

static nl_status hadoop_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    hadoop_catalog *self = self_of(catalog);
    (void)properties;
    if (property_count > 0)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot create namespace " NL_STR_FMT ": metadata is not supported", NL_STR_ARG(parts[part_count - 1]));
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_str path;
    nl_status status = namespace_path(self, parts, part_count, arena, &path);
    if (!status) status = nl_fs_make_directory(self->fs, path);
    nl_arena_free(arena);
    return status;
}

static nl_status count_entry(void *argument, const nl_file_info *info)
{
    (void)info;
    (*(uint64_t *)argument)++;
    return NULL;
}

static nl_status drop_namespace_in(hadoop_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, bool *was_dropped)
{
    nl_str path;
    uint64_t entry_count = 0;
    *was_dropped = false;
    NL_TRY(namespace_path(self, parts, part_count, arena, &path));
    nl_error *error = nl_fs_list(self->fs, path, false, count_entry, &entry_count);
    if (error && is_missing(error)) {
        nl_error_free(error);
        return NULL;
    }
    if (error) return error;
    if (entry_count > 0) return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, "Namespace " NL_STR_FMT " is not empty.", NL_STR_ARG(parts[part_count - 1]));
    NL_TRY(nl_fs_remove_tree(self->fs, path));
    *was_dropped = true;
    return NULL;
}

static nl_status hadoop_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_namespace_in(self_of(catalog), parts, part_count, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status hadoop_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count,
                                         const nl_str *removed, uint32_t removed_count)
{
    (void)catalog, (void)set, (void)set_count, (void)removed, (void)removed_count;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot set namespace properties " NL_STR_FMT ": setProperties is not supported", NL_STR_ARG(parts[part_count - 1]));
}

static nl_status load_table_in(hadoop_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_iceberg_table **table)
{
    nl_str path;
    nl_table_store *store = NULL;
    NL_TRY(table_path(self, identifier, arena, &path));
    NL_TRY(new_store(self, identifier, path, arena, &store));
    return nl_catalog_table_new(&self->base, identifier, self->fs, store, table);
}

static nl_status hadoop_load_table(nl_catalog *catalog, const nl_identifier *identifier, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = load_table_in(self_of(catalog), identifier, arena, table);
    nl_arena_free(arena);
    return status;
}

static nl_status hadoop_new_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store,
                                  nl_str *table_location)
{
    hadoop_catalog *self = self_of(catalog);
    nl_str path;
    NL_TRY(table_path(self, identifier, arena, &path));
    if (location.length && !nl_str_equal(location, path))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set a custom location for a path-based table. Expected " NL_STR_FMT " but got " NL_STR_FMT,
                             NL_STR_ARG(path), NL_STR_ARG(location));
    NL_TRY(new_store(self, identifier, path, arena, store));
    *fs = nl_fs_retain(self->fs);
    *table_location = path;
    return NULL;
}

static nl_status register_in(hadoop_catalog *self, const nl_identifier *identifier, nl_str metadata_file, nl_arena *arena)
{
    nl_str path;
    nl_table_store *store = NULL;
    const nl_table_metadata *metadata = NULL, *committed = NULL;
    bool is_table = false;
    NL_TRY(table_path(self, identifier, arena, &path));
    NL_TRY(is_table_folder(self->fs, arena, path, &is_table));
    if (is_table) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table already exists: " NL_STR_FMT, NL_STR_ARG(nl_identifier_text(arena, identifier)));
    nl_error *error = nl_table_metadata_read(self->fs, metadata_file, self->base.memory, &metadata);
    if (error && is_missing(error)) {
        nl_error_free(error);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Failed to open input stream for file: " NL_STR_FMT, NL_STR_ARG(metadata_file));
    }
    NL_TRY(error);
    nl_status status = new_store(self, identifier, path, arena, &store);
    if (!status) status = store->ops->swap(store, NULL, metadata, self->base.memory, &committed);
    if (store) store->ops->free(store);
    nl_table_metadata_release(committed);
    nl_table_metadata_release(metadata);
    return status;
}

/* The metadata becomes the first version of a table here; its files stay where they are. */
static nl_status hadoop_register_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = register_in(self_of(catalog), identifier, metadata_file, arena);
    nl_arena_free(arena);
    return status ? status : nl_catalog_load_table(catalog, identifier, table);
}

static nl_status drop_table_in(hadoop_catalog *self, const nl_identifier *identifier, nl_arena *arena, bool *was_dropped)
{
    nl_str path;
    NL_TRY(table_path(self, identifier, arena, &path));
    NL_TRY(is_table_folder(self->fs, arena, path, was_dropped));
    return *was_dropped ? nl_fs_remove_tree(self->fs, path) : NULL;
}

/* With or without PURGE: the folder is the table. */
static nl_status hadoop_drop_table(nl_catalog *catalog, const nl_identifier *identifier, bool is_purge, bool *was_dropped)
{
    (void)is_purge;
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_table_in(self_of(catalog), identifier, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status hadoop_rename_table(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    (void)catalog, (void)from, (void)to;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot rename Hadoop tables");
}

static void hadoop_free(nl_catalog *catalog)
{
    hadoop_catalog *self = self_of(catalog);
    nl_metadata_cache_free(self->cache);
    nl_fs_release(self->fs);
    free((void *)(uintptr_t)self->warehouse.data);
    nl_catalog_fini(catalog);
    free(self);
}

static const nl_catalog_ops hadoop_ops = {
    .type = "hadoop",
    .list_namespaces = hadoop_list_namespaces,
    .create_namespace = hadoop_create_namespace,
    .drop_namespace = hadoop_drop_namespace,
    .namespace_properties = hadoop_namespace_properties,
    .update_namespace = hadoop_update_namespace,
    .list_tables = hadoop_list_tables,
    .load_table = hadoop_load_table,
    .register_table = hadoop_register_table,
    .new_table = hadoop_new_table,
    .drop_table = hadoop_drop_table,
    .rename_table = hadoop_rename_table,
    .free = hadoop_free,
};

/* A relative warehouse means the folder the program was started in: what is written into metadata is absolute. */
static nl_status absolute_warehouse(nl_str warehouse, nl_str *absolute)
{
    while (warehouse.length > 1 && warehouse.data[warehouse.length - 1] == '/')
        warehouse.length--;
    const bool has_scheme = nl_str_find(warehouse, NL_STR(":"), 0) != NL_NOT_FOUND;
    if (warehouse.data[0] == '/' || has_scheme) {
        *absolute = copy_text(warehouse);
        return NULL;
    }
    char *folder = getcwd(NULL, 0);
    if (!folder)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The current folder cannot be told: give the warehouse " NL_STR_FMT " with its whole path",
                             NL_STR_ARG(warehouse));
    nl_builder path;
    nl_builder_init(&path, 1 << 16);
    nl_append_c(&path, folder);
    nl_append_char(&path, '/');
    nl_append(&path, warehouse);
    free(folder);
    *absolute = copy_text(nl_builder_str(&path));
    nl_builder_fini(&path);
    return NULL;
}

/* What writers agree on by a lock would not be kept by nilas, and the other way round. */
static nl_status refuse_locks(const nl_catalog *catalog)
{
    const nl_str lock = nl_catalog_property(catalog, "lock-impl");
    if (lock.length == 0 || nl_str_ends(lock, NL_STR("InMemoryLockManager"))) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED,
                         "lock-impl " NL_STR_FMT " of catalog " NL_STR_FMT " is not supported: nilas commits to a hadoop catalog by creating the next version's file only if it is "
                         "absent, and writers that hold a lock do not look at that. Leave lock-impl out for all writers, or use a catalog of type rest, jdbc or glue.",
                         NL_STR_ARG(lock), NL_STR_ARG(catalog->name));
}

nl_status nl_hadoop_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                                 nl_catalog **catalog)
{
    hadoop_catalog *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    nl_status status = nl_catalog_init(&self->base, &hadoop_ops, name, properties, property_count, environment, memory);
    if (status) {
        free(self);
        return status;
    }
    const nl_str warehouse = nl_catalog_property(&self->base, "warehouse");
    if (warehouse.length == 0)
        status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot initialize HadoopCatalog because warehousePath must not be null or empty");
    if (!status) status = refuse_locks(&self->base);
    if (!status) status = absolute_warehouse(warehouse, &self->warehouse);
    if (!status) status = nl_fs_from_properties(properties, property_count, memory, &self->fs);
    if (status) {
        nl_catalog_fini(&self->base);
        free((void *)(uintptr_t)self->warehouse.data);
        free(self);
        return status;
    }
    self->cache = nl_metadata_cache_new();
    *catalog = &self->base;
    return NULL;
}

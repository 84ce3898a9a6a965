/* lakehouse/objects_fs.c - the store as a file system of the process: s3://bucket/key without HTTP.
 *
 * A folder is what has keys below it. The wrappers of filesystem.c check the contract.
 */
#include <errno.h>
#include <stdlib.h>

#include "lakehouse/objects_internal.h"
#include "storage/io_error.h"

#define PAGE 1000u /* keys of a listing that are held at once */

typedef struct place {
    nl_str root;   /* "s3://bucket/" as written */
    nl_str bucket, key;
} place;

static nl_objects *store_of(nl_fs *self)
{
    return NL_CONTAINER(self, nl_objects, fs);
}

static nl_status parse(nl_str path, place *out)
{
    const size_t colon = nl_str_find(path, NL_STR("://"), 0);
    nl_str scheme = nl_str_slice(path, 0, colon);
    if (colon == NL_NOT_FOUND || !(nl_str_is_nocase(scheme, "s3") || nl_str_is_nocase(scheme, "s3a") || nl_str_is_nocase(scheme, "s3n")))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The path " NL_STR_FMT " does not begin with s3://.", NL_STR_ARG(path));
    const size_t start = colon + 3;
    size_t slash = nl_str_find_char(path, '/', start);
    if (slash == NL_NOT_FOUND) slash = path.length;
    out->bucket = nl_str_slice(path, start, slash);
    out->root = nl_str_slice(path, 0, slash);
    out->key = nl_str_slice(path, slash + 1, path.length);
    if (!out->bucket.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The path " NL_STR_FMT " names no bucket.", NL_STR_ARG(path));
    return NULL;
}

/* The store's words as those of a file system. Takes status. */
static nl_status translate(nl_status status, const char *operation, nl_str path)
{
    const bool is_absent = nl_store_failed_with(status, "NoSuchKey") || nl_store_failed_with(status, "NoSuchBucket");
    const bool is_present = nl_store_failed_with(status, "PreconditionFailed");
    if (!is_absent && !is_present) return status;
    nl_error_free(status);
    return nl_raise_errno(is_absent ? ENOENT : EEXIST, operation, path);
}

/* ---- Reading. */

typedef struct object_file {
    nl_file base;
    nl_object_reader *reader; /* owned */
    char path[];
} object_file;

static nl_status file_read(nl_file *self, uint64_t offset, size_t length, uint8_t *into)
{
    return nl_object_reader_read(NL_CONTAINER(self, object_file, base)->reader, offset, length, into);
}

static void file_close(nl_file *self)
{
    object_file *file = NL_CONTAINER(self, object_file, base);
    nl_object_reader_free(file->reader);
    free(file);
}

static const nl_file_ops file_ops = {.read = file_read, .close = file_close};

static nl_status fs_open(nl_fs *self, nl_str path, nl_file **file)
{
    place at;
    NL_TRY(parse(path, &at));
    object_file *opened = calloc(1, sizeof(*opened) + path.length);
    if (!opened) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(sizeof(*opened) + path.length)), NL_P("receivedBytes", "0"));
    nl_arena *arena = nl_arena_new(NULL);
    nl_object object = {0};
    nl_status status = at.key.length ? nl_store_open(store_of(self), at.bucket, at.key, (nl_str){0}, arena, &object, &opened->reader) : nl_raise_errno(ENOENT, "Opening", path);
    if (!status && object.is_marker) status = nl_raise_errno(ENOENT, "Opening", path);
    nl_arena_free(arena);
    if (status) {
        free(opened);
        return translate(status, "Opening", path);
    }
    memcpy(opened->path, path.data, path.length);
    opened->base = (nl_file){.ops = &file_ops, .path = {opened->path, path.length}, .size_bytes = object.size_bytes};
    *file = &opened->base;
    return NULL;
}

/* ---- Writing. */

typedef struct object_output {
    nl_output base;
    nl_objects *objects; /* borrowed */
    nl_incoming *bytes;  /* owned */
    nl_str path;         /* owned, behind the struct */
    char text[];
} object_output;

static void free_output(object_output *output)
{
    nl_incoming_free(output->bytes);
    free(output);
}

static nl_status output_write(nl_output *self, const void *bytes, size_t length)
{
    return nl_incoming_write(NL_CONTAINER(self, object_output, base)->bytes, bytes, length);
}

static nl_status publish(nl_objects *objects, nl_str path, nl_incoming *bytes, bool is_new, nl_state_work also, void *argument)
{
    place at;
    NL_TRY(parse(path, &at));
    nl_arena *arena = nl_arena_new(NULL);
    nl_store_put put = {.bucket = at.bucket, .key = at.key, .bytes = bytes, .also = also, .also_argument = argument, .arena = arena};
    if (is_new) put.conditions.if_none_match = NL_STR("*");
    nl_status status = nl_store_write(objects, &put);
    nl_arena_free(arena);
    return translate(status, "Writing", path);
}

static nl_status output_close(nl_output *self)
{
    object_output *output = NL_CONTAINER(self, object_output, base);
    nl_status status = publish(output->objects, output->path, output->bytes, false, NULL, NULL);
    free_output(output);
    return status;
}

static void output_abort(nl_output *self)
{
    free_output(NL_CONTAINER(self, object_output, base));
}

static const nl_output_ops output_ops = {.write = output_write, .close = output_close, .abort = output_abort};

static nl_status fs_create(nl_fs *self, nl_str path, nl_output **output)
{
    place at;
    NL_TRY(parse(path, &at));
    object_output *made = calloc(1, sizeof(*made) + path.length);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(sizeof(*made) + path.length)), NL_P("receivedBytes", "0"));
    memcpy(made->text, path.data, path.length);
    made->path = (nl_str){made->text, path.length};
    made->base.ops = &output_ops;
    made->objects = store_of(self);
    nl_status status = nl_incoming_new(made->objects, &made->bytes);
    if (status) {
        free_output(made);
        return status;
    }
    *output = &made->base;
    return NULL;
}

nl_status nl_objects_create_with(nl_objects *objects, nl_str path, nl_bytes content, nl_state_work also, void *argument)
{
    nl_incoming *bytes = NULL;
    NL_TRY(nl_incoming_new(objects, &bytes));
    nl_status status = nl_incoming_write(bytes, content.data, content.length);
    if (!status) status = publish(objects, path, bytes, true, also, argument);
    nl_incoming_free(bytes);
    return status;
}

static nl_status fs_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    return nl_objects_create_with(store_of(self), path, content, NULL, NULL);
}

/* A copy and a delete: never neither, for a moment both. */
static nl_status fs_rename(nl_fs *self, nl_str from, nl_str to, bool replace)
{
    place source, target;
    NL_TRY(parse(from, &source));
    NL_TRY(parse(to, &target));
    if (nl_str_equal(source.bucket, target.bucket) && nl_str_equal(source.key, target.key)) return NULL;
    nl_arena *arena = nl_arena_new(NULL);
    nl_object object = {0};
    nl_status status = nl_store_find(store_of(self), source.bucket, source.key, (nl_str){0}, arena, &object);
    if (!status && object.is_marker) status = nl_raise_errno(ENOENT, "Renaming", from);
    if (!status) {
        nl_store_copy copy = {.bucket = source.bucket, .key = source.key, .data = object.data};
        copy.target = (nl_store_put){.bucket = target.bucket, .key = target.key, .etag = object.etag, .headers = object.headers, .tags = object.tags,
                                     .checksum = object.checksum, .storage_class = object.storage_class, .arena = arena};
        if (!replace) copy.target.conditions.if_none_match = NL_STR("*");
        status = nl_store_copy_object(store_of(self), &copy);
    }
    nl_store_delete removed = {.key = source.key};
    if (!status) status = nl_store_delete_many(store_of(self), source.bucket, &removed, 1, arena);
    nl_arena_free(arena);
    return translate(status, "Renaming", nl_store_failed_with(status, "PreconditionFailed") ? to : from);
}

/* ---- Removing. */

static nl_status absent_is_fine(nl_status status)
{
    if (!nl_store_failed_with(status, "NoSuchBucket")) return status;
    nl_error_free(status);
    return NULL;
}

/* Those of one bucket that follow each other go in one transaction. */
static nl_status fs_remove_many(nl_fs *self, const nl_str *paths, uint32_t path_count, uint64_t *removed_count)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_store_delete *deletes = NL_NEW_ARRAY(arena, nl_store_delete, path_count);
    nl_status status = nl_arena_check(arena);
    for (uint32_t i = 0; !status && i < path_count;) {
        place first = {0};
        uint32_t count = 0;
        status = parse(paths[i], &first);
        for (; !status && i < path_count; i++, count++) {
            place at;
            status = parse(paths[i], &at);
            if (status || !nl_str_equal(at.bucket, first.bucket)) break;
            deletes[count] = (nl_store_delete){.key = at.key};
        }
        if (!status) status = absent_is_fine(nl_store_delete_many(store_of(self), first.bucket, deletes, count, arena));
        if (!status) *removed_count += count;
    }
    nl_arena_free(arena);
    return status;
}

static nl_status fs_remove(nl_fs *self, nl_str path)
{
    uint64_t removed = 0;
    return fs_remove_many(self, &path, 1, &removed);
}

static nl_str folder_prefix(nl_arena *arena, nl_str key)
{
    if (!key.length || nl_str_ends(key, NL_STR("/"))) return key;
    return nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(key));
}

static nl_status fs_remove_tree(nl_fs *self, nl_str path)
{
    place at;
    NL_TRY(parse(path, &at));
    nl_arena *arena = nl_arena_new(NULL);
    nl_str prefix = folder_prefix(arena, at.key);
    nl_status status = absent_is_fine(nl_store_delete_below(store_of(self), at.bucket, prefix));
    if (!status && at.key.length && !nl_str_equal(prefix, at.key)) status = fs_remove(self, path);
    nl_arena_free(arena);
    return status;
}

static nl_status fs_make_directory(nl_fs *self, nl_str path)
{
    (void)self;
    place at;
    return parse(path, &at);
}

/* ---- Describing and listing. */

static nl_status has_below(nl_objects *objects, const place *at, nl_arena *arena, bool *is_folder)
{
    nl_store_list list = {.bucket = at->bucket, .prefix = folder_prefix(arena, at->key), .count_max = 1, .arena = arena};
    NL_TRY(nl_store_list_objects(objects, &list));
    *is_folder = list.count > 0 || !at->key.length;
    return NULL;
}

static nl_status stat_object(nl_objects *objects, const place *at, nl_arena *arena, nl_file_info *info)
{
    nl_object object = {0};
    nl_status status = at->key.length ? nl_store_find(objects, at->bucket, at->key, (nl_str){0}, arena, &object) : NL_STORE_RAISE("NoSuchKey", "no key");
    if (!status && !object.is_marker) {
        info->size_bytes = object.size_bytes;
        info->modified_micros = object.modified_micros;
        info->is_directory = false;
        return NULL;
    }
    if (status && !nl_store_failed_with(status, "NoSuchKey")) return status;
    nl_error_free(status);
    bool is_folder = false;
    NL_TRY(has_below(objects, at, arena, &is_folder));
    if (!is_folder) return NL_STORE_RAISE("NoSuchKey", "The specified key does not exist.");
    info->size_bytes = 0;
    info->modified_micros = 0;
    info->is_directory = true;
    return NULL;
}

static nl_status fs_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    place at;
    NL_TRY(parse(path, &at));
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = stat_object(store_of(self), &at, arena, info);
    nl_arena_free(arena);
    return translate(status, "Describing", path);
}

static nl_status visit_page(const nl_store_list *page, const place *at, nl_list_visit visit, void *argument)
{
    for (uint32_t i = 0; i < page->count; i++) {
        const nl_listed *entry = &page->entries[i];
        nl_str key = entry->object.key;
        if (nl_str_equal(key, page->prefix)) continue; /* the folder's own marker */
        if (entry->is_prefix) key.length--;            /* without its slash */
        const nl_file_info info = {.path = nl_arena_f(page->arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(at->root), NL_STR_ARG(key)),
                                   .size_bytes = entry->object.size_bytes,
                                   .modified_micros = entry->object.modified_micros,
                                   .is_directory = entry->is_prefix};
        NL_TRY(visit(argument, &info));
    }
    return NULL;
}

static nl_status fs_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    place at;
    NL_TRY(parse(path, &at));
    nl_arena *kept = nl_arena_new(NULL);
    nl_str prefix = folder_prefix(kept, at.key);
    nl_builder after;
    nl_builder_init(&after, 4096);
    nl_status status = NULL;
    bool is_any = !at.key.length;
    for (bool is_truncated = true; !status && is_truncated;) {
        nl_arena *arena = nl_arena_new(store_of(self)->memory);
        nl_store_list page = {.bucket = at.bucket, .prefix = prefix, .delimiter = is_recursive ? (nl_str){0} : NL_STR("/"),
                              .after = nl_builder_str(&after), .count_max = PAGE, .arena = arena};
        status = nl_store_list_objects(store_of(self), &page);
        if (!status) status = visit_page(&page, &at, visit, argument);
        is_truncated = page.is_truncated && page.count;
        is_any = is_any || page.count;
        nl_builder_clear(&after);
        if (!status && is_truncated) nl_append(&after, page.entries[page.count - 1].object.key);
        nl_arena_free(arena);
    }
    if (!status && !is_any) status = nl_raise_errno(ENOENT, "Listing", path);
    nl_builder_fini(&after);
    nl_arena_free(kept);
    return translate(status, "Listing", path);
}

static void fs_free(nl_fs *self)
{
    (void)self; /* lives in the store, which holds the first reference as long as it is open */
}

const nl_fs_ops nl_objects_fs_ops = {
    .scheme = "s3",
    .open = fs_open,
    .create = fs_create,
    .create_if_absent = fs_create_if_absent,
    .rename = fs_rename,
    .remove = fs_remove,
    .remove_many = fs_remove_many,
    .remove_tree = fs_remove_tree,
    .make_directory = fs_make_directory,
    .stat = fs_stat,
    .list = fs_list,
    .free = fs_free,
};

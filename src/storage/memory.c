/* storage/memory.c - a file system in memory, for tests: an index of objects sorted by path, each an immutable buffer.
 * Folders exist when made or when something lies below them, as on a local disk. One mutex guards the index; objects
 * that are open stay readable after they were removed or replaced.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/calendar.h"
#include "base/limits.h"
#include "base/lock.h"
#include "storage/filesystem_ops.h"
#include "storage/io_error.h"

typedef struct object {
    nl_str path;        /* owned; without a slash at the end */
    nl_buffer *content; /* counted; NULL for a folder        */
    int64_t modified_micros;
} object;

typedef struct memory_fs {
    nl_fs base;
    nl_mutex mutex;
    object *objects; /* guarded by mutex, as the next two; sorted by path */
    size_t count;
    size_t capacity;
} memory_fs;

static nl_str key_of(nl_str path)
{
    while (path.length > 1 && path.data[path.length - 1] == '/') path.length--;
    return path;
}

/* Where `key` is, or where it belongs. */
static size_t find(const memory_fs *fs, nl_str key, bool *is_found)
{
    size_t low = 0;
    size_t high = fs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (nl_str_compare(fs->objects[middle].path, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *is_found = low < fs->count && nl_str_equal(fs->objects[low].path, key);
    return low;
}

/* Where a path stands relative to what lies below a folder: before (-1), below it (0), behind (1). */
static int compare_below(nl_str path, nl_str folder)
{
    if (nl_str_is(folder, "/")) folder.length = 0;
    size_t common = NL_MIN(path.length, folder.length);
    int order = common > 0 ? memcmp(path.data, folder.data, common) : 0;
    if (order != 0) return order < 0 ? -1 : 1;
    if (path.length <= folder.length || path.data[folder.length] < '/') return -1;
    return path.data[folder.length] > '/';
}

static bool is_below(nl_str path, nl_str folder)
{
    return compare_below(path, folder) == 0;
}

/* The first object that lies below the folder, or count; the others follow it. */
static size_t find_below(const memory_fs *fs, nl_str folder)
{
    size_t low = 0;
    size_t high = fs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_below(fs->objects[middle].path, folder) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < fs->count && is_below(fs->objects[low].path, folder) ? low : fs->count;
}

static bool copy_path(nl_str path, nl_str *copy)
{
    char *data = malloc(path.length + 1);
    if (data == NULL) return false;
    memcpy(data, path.data, path.length);
    data[path.length] = '\0';
    *copy = (nl_str){data, path.length};
    return true;
}

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes),
                    NL_P_INT("receivedBytes", 0));
}

/* Puts an object (content taken) at `at`, where no equal path is. */
static nl_status insert(memory_fs *fs, size_t at, nl_str key, nl_buffer *content)
{
    object added = {.content = content, .modified_micros = nl_now_micros()};
    bool is_good = copy_path(key, &added.path);
    if (is_good && fs->count == fs->capacity) {
        size_t capacity = fs->capacity == 0 ? 16 : fs->capacity * 2;
        object *objects = realloc(fs->objects, capacity * sizeof *objects);
        is_good = objects != NULL;
        if (is_good) {
            fs->objects = objects;
            fs->capacity = capacity;
        }
    }
    if (!is_good) {
        free(NL_UNCONST(added.path.data));
        nl_buffer_release(content);
        return out_of_memory(key.length);
    }
    memmove(fs->objects + at + 1, fs->objects + at, (fs->count - at) * sizeof *fs->objects);
    fs->objects[at] = added;
    fs->count++;
    return NULL;
}

static void erase(memory_fs *fs, size_t at, size_t erased_count)
{
    for (size_t i = at; i < at + erased_count; i++) {
        free(NL_UNCONST(fs->objects[i].path.data));
        nl_buffer_release(fs->objects[i].content);
    }
    size_t behind = fs->count - at - erased_count;
    if (behind > 0) memmove(fs->objects + at, fs->objects + at + erased_count, behind * sizeof *fs->objects);
    fs->count -= erased_count;
}

/* Takes content. */
static nl_status put(memory_fs *fs, nl_str path, nl_buffer *content, bool replace)
{
    nl_str key = key_of(path);
    nl_status status = NULL;
    nl_mutex_lock(&fs->mutex);
    bool is_found;
    size_t at = find(fs, key, &is_found);
    if (is_found && (!replace || fs->objects[at].content == NULL)) {
        nl_buffer_release(content);
        status = nl_raise_errno(replace ? EISDIR : EEXIST, "Creating", path);
    } else if (is_found) {
        nl_buffer_release(fs->objects[at].content);
        fs->objects[at].content = content;
        fs->objects[at].modified_micros = nl_now_micros();
    } else {
        status = insert(fs, at, key, content);
    }
    nl_mutex_unlock(&fs->mutex);
    return status;
}

typedef struct memory_file {
    nl_file base;
    nl_buffer *content; /* counted */
    char path[];
} memory_file;

static nl_status memory_read(nl_file *self, uint64_t offset, size_t length, uint8_t *into)
{
    memory_file *file = NL_CONTAINER(self, memory_file, base);
    memcpy(into, file->content->data + offset, length);
    return NULL;
}

static void memory_close(nl_file *self)
{
    memory_file *file = NL_CONTAINER(self, memory_file, base);
    nl_buffer_release(file->content);
    free(file);
}

static const nl_file_ops memory_file_ops = {.read = memory_read, .close = memory_close};

static nl_status memory_open(nl_fs *self, nl_str path, nl_file **file)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    nl_mutex_lock(&fs->mutex);
    bool is_found;
    size_t at = find(fs, key_of(path), &is_found);
    nl_buffer *content = is_found ? nl_buffer_retain(fs->objects[at].content) : NULL;
    nl_mutex_unlock(&fs->mutex);
    if (content == NULL) return is_found ? nl_raise_io("Opening", path, "it is a folder") : nl_raise_errno(ENOENT, "", path);
    memory_file *opened = malloc(sizeof *opened + path.length);
    if (opened == NULL) {
        nl_buffer_release(content);
        return out_of_memory(sizeof *opened + path.length);
    }
    memcpy(opened->path, path.data, path.length);
    opened->base = (nl_file){
        .ops = &memory_file_ops, .path = {opened->path, path.length}, .size_bytes = content->size_bytes};
    opened->content = content;
    *file = &opened->base;
    return NULL;
}

typedef struct memory_output {
    nl_output base;
    memory_fs *fs; /* counted */
    nl_str path;   /* owned */
    nl_builder bytes;
} memory_output;

static void free_output(memory_output *output)
{
    nl_fs_release(&output->fs->base);
    free(NL_UNCONST(output->path.data));
    nl_builder_fini(&output->bytes);
    free(output);
}

static nl_status memory_write(nl_output *self, const void *bytes, size_t length)
{
    memory_output *output = NL_CONTAINER(self, memory_output, base);
    nl_append(&output->bytes, (nl_str){bytes, length});
    return nl_builder_failed(&output->bytes) ? out_of_memory(length) : NULL;
}

static nl_status publish(memory_output *output)
{
    if (nl_builder_failed(&output->bytes)) return out_of_memory(output->bytes.length);
    nl_buffer *content = NULL;
    NL_TRY(nl_buffer_new(NULL, output->bytes.length, false, &content));
    if (output->bytes.length > 0) memcpy(content->data, output->bytes.data, output->bytes.length);
    return put(output->fs, output->path, content, true);
}

static nl_status memory_close_output(nl_output *self)
{
    memory_output *output = NL_CONTAINER(self, memory_output, base);
    nl_status status = publish(output);
    free_output(output);
    return status;
}

static void memory_abort(nl_output *self)
{
    free_output(NL_CONTAINER(self, memory_output, base));
}

static const nl_output_ops memory_output_ops = {
    .write = memory_write, .close = memory_close_output, .abort = memory_abort};

static nl_status memory_create(nl_fs *self, nl_str path, nl_output **output)
{
    memory_output *started = calloc(1, sizeof *started);
    if (started == NULL || !copy_path(path, &started->path)) {
        free(started);
        return out_of_memory(sizeof *started + path.length);
    }
    started->base.ops = &memory_output_ops;
    started->fs = NL_CONTAINER(nl_fs_retain(self), memory_fs, base);
    nl_builder_init(&started->bytes, NL_MEMORY_FILE_BYTES_MAX);
    *output = &started->base;
    return NULL;
}

static nl_status memory_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    nl_buffer *copy = NULL;
    NL_TRY(nl_buffer_new(NULL, content.length, false, &copy));
    if (content.length > 0) memcpy(copy->data, content.data, content.length);
    return put(NL_CONTAINER(self, memory_fs, base), path, copy, false);
}

/* Moves one object; its new place is found after the old one is out of the way. The mutex is held. */
static nl_status move_object(memory_fs *fs, size_t at, nl_str to)
{
    nl_buffer *content = nl_buffer_retain(fs->objects[at].content);
    erase(fs, at, 1);
    bool is_found;
    size_t place = find(fs, to, &is_found);
    if (is_found) {
        erase(fs, place, 1);
        place = find(fs, to, &is_found);
    }
    return insert(fs, place, to, content);
}

static nl_status move_tree(memory_fs *fs, nl_str from, nl_str to)
{
    for (size_t at; (at = find_below(fs, from)) < fs->count;) {
        nl_builder path;
        nl_builder_init(&path, NL_PATH_BYTES_MAX);
        nl_append(&path, to);
        nl_append(&path, nl_str_slice(fs->objects[at].path, from.length, SIZE_MAX));
        nl_status status = nl_builder_failed(&path) ? nl_raise_errno(ENAMETOOLONG, "Renaming", from)
                                                    : move_object(fs, at, nl_builder_str(&path));
        nl_builder_fini(&path);
        if (status != NULL) return status;
    }
    return NULL;
}

static nl_status memory_rename(nl_fs *self, nl_str from, nl_str to, bool replace)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    nl_str source = key_of(from);
    nl_str target = key_of(to);
    nl_status status = NULL;
    nl_mutex_lock(&fs->mutex);
    bool has_target;
    bool has_source;
    find(fs, target, &has_target);
    size_t at = find(fs, source, &has_source);
    if (!has_source && find_below(fs, source) == fs->count)
        status = nl_raise_errno(ENOENT, "Renaming", from);
    else if (!replace && (has_target || find_below(fs, target) < fs->count))
        status = nl_raise_errno(EEXIST, "Renaming", to);
    else if (is_below(target, source))
        status = nl_raise_errno(EINVAL, "Renaming", from);
    else if (!nl_str_equal(source, target)) {
        if (has_source) status = move_object(fs, at, target);
        if (status == NULL) status = move_tree(fs, source, target);
    }
    nl_mutex_unlock(&fs->mutex);
    return status;
}

static nl_status memory_remove(nl_fs *self, nl_str path)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    nl_mutex_lock(&fs->mutex);
    bool is_found;
    size_t at = find(fs, key_of(path), &is_found);
    bool is_full = is_found && fs->objects[at].content == NULL && find_below(fs, key_of(path)) < fs->count;
    if (is_found && !is_full) erase(fs, at, 1);
    nl_mutex_unlock(&fs->mutex);
    return is_full ? nl_raise_errno(ENOTEMPTY, "Removing", path) : NULL;
}

static nl_status memory_remove_tree(nl_fs *self, nl_str path)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    nl_str key = key_of(path);
    nl_mutex_lock(&fs->mutex);
    size_t kept = 0;
    for (size_t i = 0; i < fs->count; i++) {
        object *one = &fs->objects[i];
        if (nl_str_equal(one->path, key) || is_below(one->path, key)) {
            free(NL_UNCONST(one->path.data));
            nl_buffer_release(one->content);
        } else {
            fs->objects[kept++] = *one;
        }
    }
    fs->count = kept;
    nl_mutex_unlock(&fs->mutex);
    return NULL;
}

static nl_status memory_make_directory(nl_fs *self, nl_str path)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    nl_status status = NULL;
    nl_mutex_lock(&fs->mutex);
    for (nl_str key = key_of(path), parent; status == NULL && key.length > 0; key = parent) {
        bool is_found;
        size_t at = find(fs, key, &is_found);
        if (is_found && fs->objects[at].content != NULL)
            status = nl_raise_io("Making a folder", path, NL_STR_FMT " is a file", NL_STR_ARG(key));
        else if (!is_found)
            status = insert(fs, at, key, NULL);
        parent = nl_path_parent(key);
        if (nl_str_equal(parent, key)) break;
    }
    nl_mutex_unlock(&fs->mutex);
    return status;
}

static void fill_info(const object *one, nl_file_info *info)
{
    info->is_directory = one->content == NULL;
    info->size_bytes = one->content == NULL ? 0 : one->content->size_bytes;
    info->modified_micros = one->modified_micros;
}

static nl_status memory_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    nl_str key = key_of(path);
    nl_mutex_lock(&fs->mutex);
    bool is_found;
    size_t at = find(fs, key, &is_found);
    size_t below = is_found ? at : find_below(fs, key);
    bool exists = below < fs->count;
    if (exists) fill_info(&fs->objects[below], info);
    if (exists && !is_found) {
        info->is_directory = true;
        info->size_bytes = 0;
    }
    nl_mutex_unlock(&fs->mutex);
    return exists ? NULL : nl_raise_errno(ENOENT, "Describing", path);
}

/* Copies of what is to be visited, so that visit may use the file system. */
typedef struct listing {
    nl_arena *arena;
    nl_list entries; /* of nl_file_info */
} listing;

static nl_file_info *last_entry(const listing *self)
{
    return self->entries.count == 0 ? NULL : self->entries.items[self->entries.count - 1];
}

static void add_entry(listing *self, const object *one, nl_str folder, bool is_recursive)
{
    bool is_root = nl_str_ends(folder, NL_STR("/"));
    size_t start = folder.length + (is_root ? 0 : 1);
    size_t slash = is_recursive ? NL_NOT_FOUND : nl_str_find_char(one->path, '/', start);
    nl_str path = nl_str_slice(one->path, 0, slash);
    if (is_recursive && one->content == NULL) return;
    const nl_file_info *last = last_entry(self);
    if (last != NULL && nl_str_equal(last->path, path)) return; /* more from the same folder */
    nl_file_info *info = NL_NEW(self->arena, nl_file_info);
    fill_info(one, info);
    info->path = nl_arena_str(self->arena, path);
    if (slash != NL_NOT_FOUND) {
        info->is_directory = true;
        info->size_bytes = 0;
    }
    nl_list_add(self->arena, &self->entries, info);
}

static int compare_entries(const void *a, const void *b)
{
    const nl_file_info *const *x = a;
    const nl_file_info *const *y = b;
    return nl_str_compare((*x)->path, (*y)->path);
}

static nl_status memory_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    nl_str folder = key_of(path);
    listing all = {.arena = nl_arena_new(NULL)};
    nl_mutex_lock(&fs->mutex);
    bool is_found;
    size_t at = find(fs, folder, &is_found);
    bool is_file = is_found && fs->objects[at].content != NULL;
    bool exists = is_found;
    for (size_t i = find_below(fs, folder); i < fs->count && is_below(fs->objects[i].path, folder); i++) {
        exists = true;
        if (nl_str_equal(fs->objects[i].path, folder)) continue;
        add_entry(&all, &fs->objects[i], folder, is_recursive);
    }
    nl_mutex_unlock(&fs->mutex);
    nl_status status = exists && !is_file ? NULL : nl_raise_errno(is_file ? ENOTDIR : ENOENT, "Listing", path);
    /* "a", "a-c", "a/d": the folder "a" may appear in two places, once as itself and once for what is in it. */
    if (all.entries.count > 1) qsort(all.entries.items, all.entries.count, sizeof(void *), compare_entries);
    const nl_file_info *before = NULL;
    for (uint32_t i = 0; status == NULL && i < all.entries.count; i++) {
        const nl_file_info *info = all.entries.items[i];
        if (before == NULL || !nl_str_equal(before->path, info->path)) status = visit(argument, info);
        before = info;
    }
    nl_arena_free(all.arena);
    return status;
}

static void memory_free(nl_fs *self)
{
    memory_fs *fs = NL_CONTAINER(self, memory_fs, base);
    erase(fs, 0, fs->count);
    free(fs->objects);
    nl_mutex_fini(&fs->mutex);
    free(fs);
}

static const nl_fs_ops memory_ops = {
    .scheme = "memory",
    .open = memory_open,
    .create = memory_create,
    .create_if_absent = memory_create_if_absent,
    .rename = memory_rename,
    .remove = memory_remove,
    .remove_tree = memory_remove_tree,
    .make_directory = memory_make_directory,
    .stat = memory_stat,
    .list = memory_list,
    .free = memory_free,
};

nl_fs *nl_fs_memory_new(void)
{
    memory_fs *fs = calloc(1, sizeof *fs);
    if (fs == NULL) nl_assert_failed("the system has no memory for a file system", NL_HERE);
    fs->base.ops = &memory_ops;
    atomic_init(&fs->base.references, 1);
    nl_mutex_init(&fs->mutex);
    return &fs->base;
}

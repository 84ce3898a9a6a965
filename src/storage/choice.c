/* storage/choice.c - the file system of a catalog or session: each path goes to the one of its scheme. The one for S3 is
 * made when the first such path comes, so that nobody else pays for it.
 */
#include <stdlib.h>

#include "base/lock.h"
#include "storage/fault.h"
#include "storage/filesystem_ops.h"
#include "storage/s3.h"

typedef struct choice_fs {
    nl_fs base;
    nl_arena *arena;
    const nl_property *properties; /* copied */
    uint32_t property_count;
    nl_memory *memory; /* counted */
    nl_fs *local;      /* counted */
    nl_mutex mutex;
    nl_fs *s3;         /* guarded by mutex until it is there; counted */
} choice_fs;

static choice_fs *choice_of(nl_fs *self)
{
    return NL_CONTAINER(self, choice_fs, base);
}

static bool has_scheme(nl_str path, const char *scheme)
{
    const size_t length = strlen(scheme);
    return path.length > length && path.data[length] == ':' && nl_str_is_nocase(nl_str_slice(path, 0, length), scheme);
}

static bool is_s3(nl_str path)
{
    return has_scheme(path, "s3") || has_scheme(path, "s3a") || has_scheme(path, "s3n");
}

static nl_status s3_of(choice_fs *self, nl_fs **fs)
{
    nl_mutex_lock(&self->mutex);
    *fs = self->s3;
    nl_mutex_unlock(&self->mutex);
    if (*fs) return NULL;
    nl_fs *made = NULL;
    NL_TRY(nl_fs_s3_new(self->properties, self->property_count, self->memory, &made));
    nl_mutex_lock(&self->mutex);
    if (!self->s3) {
        self->s3 = made;
        made = NULL;
    }
    *fs = self->s3;
    nl_mutex_unlock(&self->mutex);
    nl_fs_release(made); /* somebody else was faster */
    return NULL;
}

/* The file system below for a path; borrowed. */
static nl_status below_of(nl_fs *self, nl_str path, nl_fs **fs)
{
    choice_fs *choice = choice_of(self);
    if (is_s3(path)) return s3_of(choice, fs);
    nl_fs *known = NULL;
    NL_TRY(nl_fs_for_path(path, &known)); /* an unknown scheme's error */
    nl_fs_release(known);
    *fs = choice->local;
    return NULL;
}

static nl_status choice_open(nl_fs *self, nl_str path, nl_file **file)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_open(fs, path, file);
}

static nl_status choice_open_sized(nl_fs *self, nl_str path, uint64_t size_bytes, nl_file **file)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_open_sized(fs, path, size_bytes, file);
}

static nl_status choice_open_data(nl_fs *self, nl_str path, uint64_t size_bytes, bool never_changes, nl_file **file)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_open_data(fs, path, size_bytes, never_changes, file);
}

static nl_status choice_open_start(nl_fs *self, nl_str path, size_t start_bytes, nl_file **file)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_open_start(fs, path, start_bytes, file);
}

static nl_status choice_read_all(nl_fs *self, nl_str path, size_t length_max, nl_buffer **content)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_read_all(fs, path, length_max, content);
}

static nl_status choice_create(nl_fs *self, nl_str path, nl_output **output)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_create(fs, path, output);
}

static nl_status choice_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_create_if_absent(fs, path, content);
}

static nl_status choice_rename(nl_fs *self, nl_str from, nl_str to, bool replace)
{
    nl_fs *fs = NULL;
    nl_fs *target = NULL;
    NL_TRY(below_of(self, from, &fs));
    NL_TRY(below_of(self, to, &target));
    if (fs != target)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Files cannot be renamed from one file system to another: " NL_STR_FMT " to " NL_STR_FMT, NL_STR_ARG(from), NL_STR_ARG(to));
    return nl_fs_rename(fs, from, to, replace);
}

static nl_status choice_remove(nl_fs *self, nl_str path)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_remove(fs, path);
}

/* Runs of paths of one file system together. */
static nl_status choice_remove_many(nl_fs *self, const nl_str *paths, uint32_t path_count, uint64_t *removed_count)
{
    nl_status status = NULL;
    for (uint32_t at = 0; at < path_count;) {
        uint32_t count = 1;
        while (at + count < path_count && is_s3(paths[at + count]) == is_s3(paths[at])) count++;
        nl_fs *fs = NULL;
        uint64_t removed = 0;
        nl_status one = below_of(self, paths[at], &fs);
        if (!one) one = nl_fs_remove_many(fs, paths + at, count, &removed);
        *removed_count += removed;
        if (!status)
            status = one;
        else
            nl_error_free(one);
        at += count;
    }
    return status;
}

static nl_status choice_remove_tree(nl_fs *self, nl_str path)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_remove_tree(fs, path);
}

static nl_status choice_make_directory(nl_fs *self, nl_str path)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_make_directory(fs, path);
}

static nl_status choice_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_stat(fs, path, info);
}

static nl_status choice_stat_file(nl_fs *self, nl_str path, nl_file_info *info)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_stat_file(fs, path, info);
}

static nl_status choice_stat_files(nl_fs *self, const nl_str *paths, uint32_t path_count, nl_file_info *infos)
{
    for (uint32_t at = 0; at < path_count;) { /* runs of paths of one file system together */
        uint32_t count = 1;
        nl_fs *fs = NULL;
        while (at + count < path_count && is_s3(paths[at + count]) == is_s3(paths[at])) count++;
        NL_TRY(below_of(self, paths[at], &fs));
        NL_TRY(nl_fs_stat_files(fs, paths + at, count, infos + at));
        at += count;
    }
    return NULL;
}

static nl_status choice_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    nl_fs *fs = NULL;
    NL_TRY(below_of(self, path, &fs));
    return nl_fs_list(fs, path, is_recursive, visit, argument);
}

static void choice_free(nl_fs *self)
{
    choice_fs *choice = choice_of(self);
    nl_fs_release(choice->s3);
    nl_fs_release(choice->local);
    nl_mutex_fini(&choice->mutex);
    nl_arena_free(choice->arena);
    nl_memory_release(choice->memory);
    free(choice);
}

static const nl_fs_ops choice_ops = {
    .scheme = "any",
    .open = choice_open,
    .open_sized = choice_open_sized,
    .open_data = choice_open_data,
    .open_start = choice_open_start,
    .read_all = choice_read_all,
    .create = choice_create,
    .create_if_absent = choice_create_if_absent,
    .rename = choice_rename,
    .remove = choice_remove,
    .remove_many = choice_remove_many,
    .remove_tree = choice_remove_tree,
    .make_directory = choice_make_directory,
    .stat = choice_stat,
    .stat_file = choice_stat_file,
    .stat_files = choice_stat_files,
    .list = choice_list,
    .free = choice_free,
};

/* ---- By properties ---- */

static nl_status check_io_impl(const nl_property *properties, uint32_t property_count)
{
    static const char *const known[] = {"org.apache.iceberg.hadoop.HadoopFileIO", "org.apache.iceberg.aws.s3.S3FileIO", "org.apache.iceberg.io.ResolvingFileIO"};
    for (uint32_t i = 0; i < property_count; i++) {
        if (!nl_str_is(properties[i].key, "io-impl")) continue;
        bool is_known = properties[i].value.length == 0;
        for (uint32_t j = 0; j < NL_COUNT(known); j++) is_known = is_known || nl_str_is(properties[i].value, known[j]);
        if (!is_known)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot load the FileIO " NL_STR_FMT ": nilas has %s, %s and %s.", NL_STR_ARG(properties[i].value), known[0], known[1], known[2]);
    }
    return NULL;
}

/* Do they say anything about how S3 is reached? */
static bool concerns_s3(nl_str key)
{
    static const char *const prefixes[] = {"s3.", "client.", "http-client.", "fs.s3a.", "hadoop.fs.s3a."};
    for (uint32_t i = 0; i < NL_COUNT(prefixes); i++)
        if (nl_str_starts(key, nl_str_from(prefixes[i]))) return true;
    return false;
}

nl_status nl_fs_from_properties(const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **fs)
{
    NL_TRY(check_io_impl(properties, property_count));
    choice_fs *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->base.ops = &choice_ops;
    atomic_init(&made->base.references, 1);
    made->memory = nl_memory_retain(memory);
    made->arena = nl_arena_new(memory);
    made->local = nl_fault_from_environment(nl_fs_local());
    nl_mutex_init(&made->mutex);
    nl_property *copies = NL_NEW_ARRAY(made->arena, nl_property, property_count + 1);
    for (uint32_t i = 0; i < property_count; i++)
        if (concerns_s3(properties[i].key))
            copies[made->property_count++] = (nl_property){nl_arena_str(made->arena, properties[i].key), nl_arena_str(made->arena, properties[i].value)};
    made->properties = copies;
    nl_status status = nl_arena_check(made->arena);
    if (status)
        choice_free(&made->base);
    else
        *fs = &made->base;
    return status;
}

nl_status nl_fs_with_properties(nl_fs *fs, const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **with)
{
    bool is_concerned = false;
    for (uint32_t i = 0; i < property_count; i++) is_concerned = is_concerned || concerns_s3(properties[i].key);
    if (!is_concerned || fs->ops != &choice_ops) {
        *with = nl_fs_retain(fs);
        return NULL;
    }
    const choice_fs *below = choice_of(fs);
    nl_arena *arena = nl_arena_new(memory);
    nl_property *all = NL_NEW_ARRAY(arena, nl_property, below->property_count + property_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < below->property_count; i++) all[count++] = below->properties[i];
    for (uint32_t i = 0; i < property_count; i++) all[count++] = properties[i]; /* later ones win */
    nl_status status = nl_arena_check(arena);
    if (!status) status = nl_fs_from_properties(all, count, memory, with);
    nl_arena_free(arena);
    return status;
}

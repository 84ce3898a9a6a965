/* storage/filesystem.c - the thin layer every caller goes through: checks the contract once for all implementations,
 * fills in what they leave out, and knows the forms of paths.
 */
#include "storage/filesystem_ops.h"

#include <stdlib.h>

#include "base/limits.h"
#include "storage/io_error.h"
#include "storage/ranges.h"

nl_fs *nl_fs_retain(nl_fs *fs)
{
    if (fs != NULL) atomic_fetch_add_explicit(&fs->references, 1, memory_order_relaxed);
    return fs;
}

void nl_fs_release(nl_fs *fs)
{
    if (fs != NULL && atomic_fetch_sub_explicit(&fs->references, 1, memory_order_acq_rel) == 1) fs->ops->free(fs);
}

static nl_status unsupported(const nl_fs *fs, const char *operation)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The file system \"%s\" cannot %s.", fs->ops->scheme, operation);
}

/* Names from tables and statements reach this: libc would cut them at a zero byte and touch another file. */
static nl_status check_path(nl_str path)
{
    if (path.length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A path must not be empty.");
    if (path.length >= NL_PATH_BYTES_MAX || nl_str_find_char(path, '\0', 0) != NL_NOT_FOUND)
        return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Naming a file"),
                        NL_P_STR("path", nl_str_slice(path, 0, 256)),
                        NL_P("problem", "the name is too long or holds a zero byte"));
    return NULL;
}

nl_status nl_fs_open(nl_fs *fs, nl_str path, nl_file **file)
{
    NL_TRY(check_path(path));
    if (fs->ops->open == NULL) return unsupported(fs, "open files for reading");
    nl_file *opened = NULL;
    NL_TRY(fs->ops->open(fs, path, &opened));
    NL_ASSERT(opened != NULL && opened->ops != NULL);
    *file = opened;
    return NULL;
}

nl_status nl_fs_open_sized(nl_fs *fs, nl_str path, uint64_t size_bytes, nl_file **file)
{
    if (fs->ops->open_sized == NULL) return nl_fs_open(fs, path, file);
    NL_TRY(check_path(path));
    return fs->ops->open_sized(fs, path, size_bytes, file);
}

nl_status nl_fs_open_data(nl_fs *fs, nl_str path, uint64_t size_bytes, bool never_changes, nl_file **file)
{
    if (fs->ops->open_data == NULL) return nl_fs_open_sized(fs, path, size_bytes, file);
    NL_TRY(check_path(path));
    return fs->ops->open_data(fs, path, size_bytes, never_changes, file);
}

nl_status nl_fs_open_start(nl_fs *fs, nl_str path, size_t start_bytes, nl_file **file)
{
    if (fs->ops->open_start == NULL || start_bytes == 0) return nl_fs_open(fs, path, file);
    NL_TRY(check_path(path));
    return fs->ops->open_start(fs, path, start_bytes, file);
}

uint64_t nl_file_size(const nl_file *file)
{
    return file->size_bytes;
}

nl_str nl_file_path(const nl_file *file)
{
    return file->path;
}

nl_str nl_file_version(nl_file *file)
{
    return file->ops->version != NULL ? file->ops->version(file) : (nl_str){0};
}

/* Offsets and lengths come from footers and manifests: they are outside data until compared with the size. */
static nl_status check_range(const nl_file *file, uint64_t offset, uint64_t length)
{
    if (offset <= file->size_bytes && length <= file->size_bytes - offset) return NULL;
    return nl_raise_io("Reading", file->path, "bytes %llu to %llu are wanted, the file has %llu",
                            (unsigned long long)offset, (unsigned long long)nl_size_add(offset, length),
                            (unsigned long long)file->size_bytes);
}

nl_status nl_file_read(nl_file *file, uint64_t offset, size_t length, uint8_t *into)
{
    NL_TRY(check_range(file, offset, length));
    if (length == 0) return NULL;
    return file->ops->read(file, offset, length, into);
}

void nl_file_close(nl_file *file)
{
    if (file != NULL) file->ops->close(file);
}

nl_status nl_file_read_ranges(nl_file *file, const nl_range *ranges, uint32_t range_count, nl_memory *memory,
                              nl_buffer **buffers)
{
    for (uint32_t i = 0; i < range_count; i++) NL_TRY(check_range(file, ranges[i].offset, ranges[i].length));
    if (file->ops->read_ranges != NULL) return file->ops->read_ranges(file, ranges, range_count, memory, buffers);
    return nl_file_read_coalesced(file, ranges, range_count, memory, buffers);
}

void nl_file_prefetch(nl_file *file, const nl_range *ranges, uint32_t range_count)
{
    if (file->ops->prefetch != NULL) file->ops->prefetch(file, ranges, range_count);
}

void nl_file_stream(nl_file *file, uint64_t offset, uint64_t end)
{
    if (file->ops->stream != NULL && offset < end && end <= file->size_bytes) file->ops->stream(file, offset, end);
}

nl_status nl_fs_read_all(nl_fs *fs, nl_str path, size_t length_max, nl_buffer **content)
{
    nl_file *file = NULL;
    nl_buffer *buffer = NULL;
    nl_status status = NULL;
    NL_TRY(check_path(path));
    if (fs->ops->read_all != NULL) return fs->ops->read_all(fs, path, length_max, content);
    NL_TRY(nl_fs_open(fs, path, &file));
    if (file->size_bytes > length_max) {
        status = nl_raise_io("Reading", path, "the file has %llu bytes, more than the %zu that are allowed here",
                                  (unsigned long long)file->size_bytes, length_max);
        goto done;
    }
    NL_GO(nl_buffer_new(NULL, (size_t)file->size_bytes, false, &buffer));
    NL_GO(nl_file_read(file, 0, buffer->size_bytes, buffer->data));
    *content = buffer;
    buffer = NULL;
done:
    nl_buffer_release(buffer);
    nl_file_close(file);
    return status;
}

nl_status nl_fs_create(nl_fs *fs, nl_str path, nl_output **output)
{
    NL_TRY(check_path(path));
    if (fs->ops->create == NULL) return unsupported(fs, "write files");
    nl_output *created = NULL;
    NL_TRY(fs->ops->create(fs, path, &created));
    NL_ASSERT(created != NULL && created->ops != NULL && created->position == 0);
    *output = created;
    return NULL;
}

nl_status nl_output_write(nl_output *output, const void *bytes, size_t length)
{
    if (length == 0) return NULL;
    NL_TRY(output->ops->write(output, bytes, length));
    output->position += length;
    return NULL;
}

uint64_t nl_output_position(const nl_output *output)
{
    return output->position;
}

nl_status nl_output_close(nl_output *output)
{
    return output->ops->close(output);
}

void nl_output_abort(nl_output *output)
{
    if (output != NULL) output->ops->abort(output);
}

nl_status nl_fs_create_if_absent(nl_fs *fs, nl_str path, nl_bytes content)
{
    NL_TRY(check_path(path));
    if (fs->ops->create_if_absent == NULL) return unsupported(fs, "create files only if they are absent");
    return fs->ops->create_if_absent(fs, path, content);
}

nl_status nl_fs_write_all(nl_fs *fs, nl_str path, nl_bytes content)
{
    nl_output *output = NULL;
    NL_TRY(nl_fs_create(fs, path, &output));
    nl_status status = nl_output_write(output, content.data, content.length);
    if (status != NULL) {
        nl_output_abort(output);
        return status;
    }
    return nl_output_close(output);
}

nl_status nl_fs_rename(nl_fs *fs, nl_str from, nl_str to, bool replace)
{
    NL_TRY(check_path(from));
    NL_TRY(check_path(to));
    if (fs->ops->rename == NULL) return unsupported(fs, "rename files");
    return fs->ops->rename(fs, from, to, replace);
}

nl_status nl_fs_remove(nl_fs *fs, nl_str path)
{
    NL_TRY(check_path(path));
    if (fs->ops->remove == NULL) return unsupported(fs, "remove files");
    return fs->ops->remove(fs, path);
}

nl_status nl_fs_remove_many(nl_fs *fs, const nl_str *paths, uint32_t path_count, uint64_t *removed_count)
{
    *removed_count = 0;
    if (fs->ops->remove_many != NULL) {
        for (uint32_t i = 0; i < path_count; i++) NL_TRY(check_path(paths[i]));
        return fs->ops->remove_many(fs, paths, path_count, removed_count);
    }
    nl_status status = NULL;
    for (uint32_t i = 0; i < path_count; i++) {
        nl_status one = nl_fs_remove(fs, paths[i]);
        *removed_count += one == NULL;
        if (status == NULL)
            status = one;
        else
            nl_error_free(one); /* thousands of the same failure help nobody: the first one is told */
    }
    return status;
}

nl_status nl_fs_remove_tree(nl_fs *fs, nl_str path)
{
    NL_TRY(check_path(path));
    if (fs->ops->remove_tree == NULL) return unsupported(fs, "remove folders");
    return fs->ops->remove_tree(fs, path);
}

nl_status nl_fs_make_directory(nl_fs *fs, nl_str path)
{
    NL_TRY(check_path(path));
    return fs->ops->make_directory == NULL ? NULL : fs->ops->make_directory(fs, path);
}

nl_status nl_fs_stat(nl_fs *fs, nl_str path, nl_file_info *info)
{
    NL_TRY(check_path(path));
    if (fs->ops->stat == NULL) return unsupported(fs, "describe files");
    nl_file_info found = {.path = path};
    NL_TRY(fs->ops->stat(fs, path, &found));
    found.path = path;
    *info = found;
    return NULL;
}

nl_status nl_fs_stat_file(nl_fs *fs, nl_str path, nl_file_info *info)
{
    if (fs->ops->stat_file == NULL) return nl_fs_stat(fs, path, info);
    NL_TRY(check_path(path));
    nl_file_info found = {.path = path};
    NL_TRY(fs->ops->stat_file(fs, path, &found));
    found.path = path;
    *info = found;
    return NULL;
}

static nl_status stat_singly(nl_fs *fs, nl_str path, nl_file_info *info)
{
    nl_status status = nl_fs_stat_file(fs, path, info);
    if (status == NULL || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    nl_error_free(status);
    *info = (nl_file_info){0};
    return NULL;
}

nl_status nl_fs_stat_files(nl_fs *fs, const nl_str *paths, uint32_t path_count, nl_file_info *infos)
{
    for (uint32_t i = 0; i < path_count; i++) {
        NL_TRY(check_path(paths[i]));
        if (fs->ops->stat_files == NULL) NL_TRY(stat_singly(fs, paths[i], &infos[i]));
    }
    return fs->ops->stat_files == NULL || path_count == 0 ? NULL : fs->ops->stat_files(fs, paths, path_count, infos);
}

nl_status nl_fs_exists(nl_fs *fs, nl_str path, bool *exists)
{
    nl_file_info info;
    nl_status status = nl_fs_stat(fs, path, &info);
    if (status != NULL && nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    *exists = status == NULL;
    nl_error_free(status);
    return NULL;
}

nl_status nl_fs_list(nl_fs *fs, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    NL_TRY(check_path(path));
    if (fs->ops->list == NULL) return unsupported(fs, "list folders");
    return fs->ops->list(fs, path, is_recursive, visit, argument);
}

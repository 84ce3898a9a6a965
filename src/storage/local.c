/* storage/local.c - files of this machine.
 *
 * A new file is written under a hidden temporary name in the same folder, synced, moved to its name and the folder
 * synced: after a crash the name holds the old content, the new content, or nothing, never a part. When only the last
 * sync fails the file is there but may not survive a power loss; that error is of kind UNKNOWN_STATE, so nobody takes
 * it for "nothing happened".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/crash.h"
#include "base/limits.h"
#include "storage/filesystem_ops.h"
#include "storage/io_error.h"

/* A path as libc takes it. Lives on the stack of one operation. */
typedef struct local_path {
    char text[NL_PATH_BYTES_MAX];
} local_path;

static nl_status to_local(nl_str path, local_path *out)
{
    nl_arena *arena = NULL;
    nl_str local = path;
    nl_status status = NULL;
    if (path.data[0] != '/') {
        arena = nl_arena_new(NULL);
        local = nl_path_local(arena, path);
    }
    if (nl_str_starts_nocase(local, NL_STR("file:")))
        status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The path " NL_STR_FMT " names another machine.", NL_STR_ARG(path));
    else if (local.length == 0 || local.length >= sizeof out->text)
        status = nl_raise_errno(local.length == 0 ? ENOENT : ENAMETOOLONG, "Naming a file", path);
    if (status == NULL) {
        memcpy(out->text, local.data, local.length);
        out->text[local.length] = '\0';
    }
    nl_arena_free(arena);
    return status;
}

/* Cuts the last part off in place; "x" becomes ".". */
static void to_parent(local_path *path)
{
    nl_str parent = nl_path_parent(nl_str_from(path->text));
    if (parent.length == 0) {
        path->text[0] = '.';
        parent.length = 1;
    }
    path->text[parent.length] = '\0';
}

static nl_status sync_folder(const char *folder, nl_str path)
{
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return nl_raise_errno(errno, "Opening the folder of", path);
    int error = fsync(descriptor) == 0 ? 0 : errno;
    close(descriptor);
    /* Some file systems have no sync for folders and say so; they do it by themselves. */
    return error == 0 || error == EINVAL || error == ENOTSUP ? NULL : nl_raise_errno(error, "Syncing the folder of", path);
}

static nl_status sync_parent(const local_path *path, nl_str name)
{
    local_path parent = *path;
    to_parent(&parent);
    return sync_folder(parent.text, name);
}

/* Makes a folder and those above it, each entry durable. Goes down from the root: one call per part, but only when
 * something is missing.
 */
static nl_status make_folders(const local_path *folder, nl_str path)
{
    local_path part = *folder;
    size_t length = strlen(part.text);
    for (size_t end = 1; end <= length; end++) {
        if (folder->text[end] != '/' && folder->text[end] != '\0') continue;
        part.text[end] = '\0';
        if (mkdir(part.text, 0777) == 0)
            NL_TRY(sync_parent(&part, path));
        else if (errno != EEXIST && errno != EISDIR)
            return nl_raise_errno(errno, "Making a folder for", path);
        part.text[end] = folder->text[end];
    }
    struct stat info;
    if (stat(folder->text, &info) != 0) return nl_raise_errno(errno, "Making a folder for", path);
    if (!S_ISDIR(info.st_mode)) return nl_raise_io("Making a folder for", path, "%s is a file", folder->text);
    return NULL;
}

/* Which content a path has: a change of it moves the change time, unless it comes within the same tick of the clock. */
typedef struct local_version {
    uint64_t device, inode, size_bytes;
    int64_t changed_seconds, changed_nanos, modified_seconds, modified_nanos;
} local_version;

typedef struct local_file {
    nl_file base;
    int descriptor;
    bool is_settled; /* it was last changed long enough ago for the next change to have another time */
    local_version version;
    char path[];
} local_file;

static nl_status local_read(nl_file *self, uint64_t offset, size_t length, uint8_t *into)
{
    local_file *file = NL_CONTAINER(self, local_file, base);
    while (length > 0) {
        ssize_t got = pread(file->descriptor, into, length, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return nl_raise_errno(errno, "Reading", self->path);
        if (got == 0)
            return nl_raise_io("Reading", self->path, "the file became shorter than the %llu bytes it had when opened",
                               (unsigned long long)self->size_bytes);
        into += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return NULL;
}

static void local_prefetch(nl_file *self, const nl_range *ranges, uint32_t range_count)
{
    local_file *file = NL_CONTAINER(self, local_file, base);
    for (uint32_t i = 0; i < range_count; i++)
        posix_fadvise(file->descriptor, (off_t)ranges[i].offset, (off_t)ranges[i].length, POSIX_FADV_WILLNEED);
}

static void local_close(nl_file *self)
{
    local_file *file = NL_CONTAINER(self, local_file, base);
    close(file->descriptor);
    free(file);
}

static nl_str local_version_of(nl_file *self)
{
    const local_file *file = NL_CONTAINER(self, local_file, base);
    if (!file->is_settled) return (nl_str){0};
    return (nl_str){(const char *)&file->version, sizeof(file->version)};
}

static const nl_file_ops local_file_ops = {.read = local_read, .prefetch = local_prefetch, .version = local_version_of, .close = local_close};

/* Kernels tick some hundred times a second; a file system that keeps whole or even seconds only shows it by its zeros. */
#define SETTLED_MICROS        100000
#define SETTLED_MICROS_COARSE 3000000

static void set_version(local_file *file, const struct stat *info)
{
    file->version = (local_version){
        .device = (uint64_t)info->st_dev,
        .inode = (uint64_t)info->st_ino,
        .size_bytes = (uint64_t)info->st_size,
        .changed_seconds = info->st_ctim.tv_sec,
        .changed_nanos = info->st_ctim.tv_nsec,
        .modified_seconds = info->st_mtim.tv_sec,
        .modified_nanos = info->st_mtim.tv_nsec,
    };
    const bool is_coarse = info->st_ctim.tv_nsec == 0;
    const int64_t changed = (int64_t)info->st_ctim.tv_sec * 1000000 + info->st_ctim.tv_nsec / 1000;
    const int64_t age = nl_now_micros() - changed;
    file->is_settled = age > (is_coarse ? SETTLED_MICROS_COARSE : SETTLED_MICROS);
}

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes),
                    NL_P_INT("receivedBytes", 0));
}

static nl_status local_open(nl_fs *self, nl_str path, nl_file **file)
{
    (void)self;
    local_path name;
    NL_TRY(to_local(path, &name));
    int descriptor = open(name.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never hang on a pipe of that name */
    if (descriptor < 0) return nl_raise_errno(errno, "Opening", path);
    struct stat info;
    nl_status status = NULL;
    local_file *opened = NULL;
    if (fstat(descriptor, &info) != 0)
        status = nl_raise_errno(errno, "Opening", path);
    else if (!S_ISREG(info.st_mode))
        status = nl_raise_io("Opening", path, S_ISDIR(info.st_mode) ? "it is a folder" : "it is no regular file");
    else if ((opened = malloc(sizeof *opened + path.length)) == NULL)
        status = out_of_memory(sizeof *opened + path.length);
    if (status != NULL) {
        close(descriptor);
        return status;
    }
    memcpy(opened->path, path.data, path.length);
    opened->base = (nl_file){
        .ops = &local_file_ops, .path = {opened->path, path.length}, .size_bytes = (uint64_t)info.st_size};
    opened->descriptor = descriptor;
    set_version(opened, &info);
    *file = &opened->base;
    return NULL;
}

typedef struct local_output {
    nl_output base;
    int descriptor;
    bool has_failed;    /* a write failed: closing must not publish */
    size_t buffered;    /* bytes in buffer */
    local_path target;
    local_path temporary;
    nl_str path; /* as the caller named it; owned, for messages */
    uint8_t buffer[NL_OUTPUT_BUFFER_BYTES];
} local_output;

static void free_output(local_output *output)
{
    if (output->descriptor >= 0) close(output->descriptor);
    free(NL_UNCONST(output->path.data));
    free(output);
}

static nl_status write_through(local_output *output, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(output->descriptor, bytes, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            output->has_failed = true;
            return nl_raise_errno(errno, "Writing", output->path);
        }
        bytes += put;
        length -= (size_t)put;
    }
    return NULL;
}

static nl_status flush(local_output *output)
{
    size_t length = output->buffered;
    output->buffered = 0;
    return write_through(output, output->buffer, length);
}

static nl_status local_write(nl_output *self, const void *bytes, size_t length)
{
    local_output *output = NL_CONTAINER(self, local_output, base);
    if (output->buffered + length > sizeof output->buffer) NL_TRY(flush(output));
    if (length >= sizeof output->buffer) return write_through(output, bytes, length);
    memcpy(output->buffer + output->buffered, bytes, length);
    output->buffered += length;
    return NULL;
}

static void local_abort(nl_output *self)
{
    local_output *output = NL_CONTAINER(self, local_output, base);
    unlink(output->temporary.text); /* what cannot be removed stays hidden */
    free_output(output);
}

/* Moves a file or folder to a name that must not exist, atomically. */
static int move_if_absent(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    /* The file system cannot do it in one step. A second link is as atomic; folders have none. */
    if (link(from, to) != 0) return errno;
    unlink(from);
    return 0;
}

/* Flush, sync, move to the name, sync the folder. On failure before the move nothing is left. */
static nl_status publish(local_output *output, bool replace)
{
    nl_status status = NULL;
    bool is_published = false;
    if (output->has_failed) {
        status = nl_raise_io("Closing", output->path, "an earlier write failed");
        goto done;
    }
    NL_GO(flush(output));
    NL_CRASH_POINT("local.written");
    if (fsync(output->descriptor) != 0) {
        status = nl_raise_errno(errno, "Syncing", output->path);
        goto done;
    }
    NL_CRASH_POINT("local.synced");
    int error = 0;
    if (!replace)
        error = move_if_absent(output->temporary.text, output->target.text);
    else if (rename(output->temporary.text, output->target.text) != 0)
        error = errno;
    if (error != 0) {
        status = nl_raise_errno(error, "Publishing", output->path);
        goto done;
    }
    is_published = true;
    NL_CRASH_POINT("local.published");
    status = sync_parent(&output->target, output->path);
    if (status != NULL) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    NL_CRASH_POINT("local.durable");
done:
    if (!is_published) unlink(output->temporary.text);
    return status;
}

static nl_status local_close_output(nl_output *self)
{
    local_output *output = NL_CONTAINER(self, local_output, base);
    nl_status status = publish(output, true);
    free_output(output);
    return status;
}

static const nl_output_ops local_output_ops = {
    .write = local_write, .close = local_close_output, .abort = local_abort};

/* Opens a new file of a random hidden name in the target's folder; -1 and errno on failure. */
static int open_temporary(local_output *output)
{
    local_path folder = output->target;
    to_parent(&folder);
    for (int attempt = 0; attempt < 8; attempt++) {
        uint64_t number;
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return -1;
        int length = snprintf(output->temporary.text, sizeof output->temporary.text, "%s/.nilas-%016llx.tmp",
                              folder.text, (unsigned long long)number);
        if (length < 0 || (size_t)length >= sizeof output->temporary.text) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int descriptor = open(output->temporary.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

static nl_status start_output(nl_str path, local_output **output)
{
    local_output *started = malloc(sizeof *started);
    char *name = malloc(path.length + 1);
    nl_status status = NULL;
    if (started == NULL || name == NULL) {
        free(started);
        free(name);
        return out_of_memory(sizeof *started + path.length);
    }
    memcpy(name, path.data, path.length);
    started->base = (nl_output){.ops = &local_output_ops};
    started->descriptor = -1;
    started->has_failed = false;
    started->buffered = 0;
    started->path = (nl_str){name, path.length};
    NL_GO(to_local(path, &started->target));
    if (nl_str_ends(nl_str_from(started->target.text), NL_STR("/"))) {
        status = nl_raise_errno(EISDIR, "Creating", path);
        goto done;
    }
    started->descriptor = open_temporary(started);
    if (started->descriptor < 0 && errno == ENOENT) {
        local_path folder = started->target;
        to_parent(&folder);
        NL_GO(make_folders(&folder, path));
        started->descriptor = open_temporary(started);
    }
    if (started->descriptor < 0) status = nl_raise_errno(errno, "Creating", path);
done:
    if (status != NULL)
        free_output(started);
    else
        *output = started;
    return status;
}

static nl_status local_create(nl_fs *self, nl_str path, nl_output **output)
{
    (void)self;
    local_output *started;
    NL_TRY(start_output(path, &started));
    *output = &started->base;
    return NULL;
}

static nl_status local_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    (void)self;
    local_path name;
    NL_TRY(to_local(path, &name));
    if (access(name.text, F_OK) == 0) return nl_raise_errno(EEXIST, "Creating", path); /* spares the writing */
    local_output *output;
    NL_TRY(start_output(path, &output));
    nl_status status = write_through(output, content.data, content.length);
    if (status != NULL) {
        local_abort(&output->base);
        return status;
    }
    status = publish(output, false);
    free_output(output);
    return status;
}

/* Both folders' entries change. The move has happened by then. */
static nl_status sync_after_rename(const local_path *from, const local_path *to, nl_str path)
{
    local_path old_folder = *from;
    local_path new_folder = *to;
    to_parent(&old_folder);
    to_parent(&new_folder);
    nl_status status = sync_folder(new_folder.text, path);
    if (strcmp(old_folder.text, new_folder.text) != 0)
        status = nl_first_error(status, sync_folder(old_folder.text, path));
    if (status != NULL) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    return status;
}

static nl_status local_rename(nl_fs *self, nl_str from, nl_str to, bool replace)
{
    (void)self;
    local_path source;
    local_path target;
    NL_TRY(to_local(from, &source));
    NL_TRY(to_local(to, &target));
    int error = 0;
    if (!replace)
        error = move_if_absent(source.text, target.text);
    else if (rename(source.text, target.text) != 0)
        error = errno;
    if (error == EEXIST) return nl_raise_errno(error, "Renaming", to);
    if (error == ENOENT && access(source.text, F_OK) == 0) return nl_raise_errno(error, "Renaming", to);
    if (error != 0) return nl_raise_errno(error, "Renaming", from);
    NL_CRASH_POINT("local.renamed");
    return sync_after_rename(&source, &target, to);
}

static nl_status local_remove(nl_fs *self, nl_str path)
{
    (void)self;
    local_path name;
    NL_TRY(to_local(path, &name));
    if (unlink(name.text) == 0 || errno == ENOENT || errno == ENOTDIR) return NULL;
    if (errno == EISDIR && rmdir(name.text) == 0) return NULL;
    return nl_raise_errno(errno, "Removing", path);
}

/* Empties and removes a folder. Links are removed, never followed. True recursion: depth is limited. */
static int remove_folder(int parent, const char *name, uint32_t depth)
{
    if (depth > NL_FOLDER_DEPTH_MAX) return ELOOP;
    int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) return errno;
    DIR *folder = fdopendir(descriptor);
    if (folder == NULL) {
        int failed = errno;
        close(descriptor);
        return failed;
    }
    int error = 0;
    for (const struct dirent *entry; error == 0 && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) == 0 || errno == ENOENT) continue;
        error = errno == EISDIR || errno == EPERM ? remove_folder(dirfd(folder), entry->d_name, depth + 1) : errno;
        if (error == ENOENT) error = 0; /* somebody else was faster */
    }
    closedir(folder);
    if (error == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) error = errno;
    return error;
}

static nl_status local_remove_tree(nl_fs *self, nl_str path)
{
    (void)self;
    local_path name;
    NL_TRY(to_local(path, &name));
    if (unlink(name.text) == 0 || errno == ENOENT || errno == ENOTDIR) return NULL;
    if (errno != EISDIR && errno != EPERM) return nl_raise_errno(errno, "Removing", path);
    int error = remove_folder(AT_FDCWD, name.text, 0);
    return error == 0 || error == ENOENT ? NULL : nl_raise_errno(error, "Removing", path);
}

static nl_status local_make_directory(nl_fs *self, nl_str path)
{
    (void)self;
    local_path name;
    NL_TRY(to_local(path, &name));
    return make_folders(&name, path);
}

static void fill_info(const struct stat *found, nl_file_info *info)
{
    info->is_directory = S_ISDIR(found->st_mode);
    info->size_bytes = info->is_directory ? 0 : (uint64_t)found->st_size;
    info->modified_micros = (int64_t)found->st_mtim.tv_sec * NL_MICROS_PER_SECOND + found->st_mtim.tv_nsec / 1000;
}

static nl_status local_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    (void)self;
    local_path name;
    NL_TRY(to_local(path, &name));
    struct stat found;
    if (stat(name.text, &found) != 0) return nl_raise_errno(errno, "Describing", path);
    fill_info(&found, info);
    return NULL;
}

typedef struct walk {
    nl_list_visit visit;
    void *argument;
    nl_builder path; /* of the folder being listed, in the caller's form */
    bool is_recursive;
} walk;

static nl_status list_folder(walk *self, int parent, const char *name, uint32_t depth);

static nl_status list_entry(walk *self, int folder, const char *name, uint32_t depth)
{
    struct stat found;
    if (fstatat(folder, name, &found, 0) != 0) {
        /* Gone since it was read, or a link to nothing: both are not there. */
        return errno == ENOENT || errno == ELOOP ? NULL : nl_raise_errno(errno, "Describing", nl_builder_str(&self->path));
    }
    struct stat own;
    bool is_link = fstatat(folder, name, &own, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(own.st_mode);
    nl_file_info info = {.path = nl_builder_str(&self->path)};
    fill_info(&found, &info);
    if (!self->is_recursive || !info.is_directory) return self->visit(self->argument, &info);
    return is_link ? NULL : list_folder(self, folder, name, depth + 1); /* a linked folder may be a circle */
}

static nl_status list_folder(walk *self, int parent, const char *name, uint32_t depth)
{
    if (depth > NL_FOLDER_DEPTH_MAX)
        return nl_raise_io("Listing", nl_builder_str(&self->path), "more than %u folders deep", NL_FOLDER_DEPTH_MAX);
    int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOENT && depth > 0) return NULL;
    if (descriptor < 0) return nl_raise_errno(errno, "Listing", nl_builder_str(&self->path));
    DIR *folder = fdopendir(descriptor);
    if (folder == NULL) {
        int error = errno;
        close(descriptor);
        return nl_raise_errno(error, "Listing", nl_builder_str(&self->path));
    }
    nl_status status = NULL;
    size_t length = self->path.length;
    if (!nl_str_ends(nl_builder_str(&self->path), NL_STR("/"))) nl_append_char(&self->path, '/');
    size_t prefix = self->path.length;
    errno = 0;
    for (const struct dirent *entry; status == NULL && (entry = readdir(folder)) != NULL; errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        nl_append_c(&self->path, entry->d_name);
        if (nl_builder_failed(&self->path))
            status = nl_raise_errno(ENAMETOOLONG, "Listing", nl_builder_str(&self->path));
        else
            status = list_entry(self, dirfd(folder), entry->d_name, depth);
        self->path.length = prefix;
        errno = 0;
    }
    if (status == NULL && errno != 0) status = nl_raise_errno(errno, "Listing", nl_builder_str(&self->path));
    self->path.length = length;
    closedir(folder);
    return status;
}

static nl_status local_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    (void)self;
    local_path name;
    NL_TRY(to_local(path, &name));
    walk all = {.visit = visit, .argument = argument, .is_recursive = is_recursive};
    nl_builder_init(&all.path, NL_PATH_BYTES_MAX * 4);
    nl_append(&all.path, path);
    nl_status status = list_folder(&all, AT_FDCWD, name.text, 0);
    nl_builder_fini(&all.path);
    return status;
}

static void local_free(nl_fs *self)
{
    (void)self; /* static */
}

static const nl_fs_ops local_ops = {
    .scheme = "file",
    .open = local_open,
    .create = local_create,
    .create_if_absent = local_create_if_absent,
    .rename = local_rename,
    .remove = local_remove,
    .remove_tree = local_remove_tree,
    .make_directory = local_make_directory,
    .stat = local_stat,
    .list = local_list,
    .free = local_free,
};

nl_fs *nl_fs_local(void)
{
    static nl_fs local = {.ops = &local_ops, .references = 1}; /* counts, but holds nothing to free */
    return nl_fs_retain(&local);
}

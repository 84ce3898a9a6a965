/* lakehouse/rooted_fs.c - see rooted_fs.h. */
#include "lakehouse/rooted_fs.h"

#include "storage/filesystem_ops.h"

#include <stdlib.h>

typedef struct rooted_fs {
    nl_fs base;
    nl_fs *below; /* counted */
    size_t root_length;
    char root[];
} rooted_fs;

static nl_str local_path(nl_arena *arena, nl_str path)
{
    nl_str local = nl_path_local(arena, path);
    while (local.length > 1 && local.data[local.length - 1] == '/')
        local.length--;
    return local;
}

bool nl_path_is_below(nl_str path, nl_str root)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str local = local_path(arena, path), folder = local_path(arena, root);
    bool is_below = folder.length > 0 && folder.data[0] == '/' && local.length > folder.length && nl_str_starts(local, folder) &&
                    (folder.length == 1 || local.data[folder.length] == '/');
    nl_str rest = local, part;
    while (nl_str_next_part(&rest, '/', &part))
        is_below = is_below && !nl_str_is(part, "..");
    nl_arena_free(arena);
    return is_below;
}

static nl_status enter(nl_fs *self, nl_str path, nl_fs **below)
{
    const rooted_fs *fs = NL_CONTAINER(self, rooted_fs, base);
    const nl_str root = {fs->root, fs->root_length};
    *below = fs->below;
    if (nl_path_is_below(path, root)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The file " NL_STR_FMT " is not below the warehouse " NL_STR_FMT, NL_STR_ARG(path), NL_STR_ARG(root));
}

static nl_status rooted_open(nl_fs *self, nl_str path, nl_file **file)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_open(below, path, file);
}

static nl_status rooted_read_all(nl_fs *self, nl_str path, size_t length_max, nl_buffer **content)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_read_all(below, path, length_max, content);
}

static nl_status rooted_create(nl_fs *self, nl_str path, nl_output **output)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_create(below, path, output);
}

static nl_status rooted_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_create_if_absent(below, path, content);
}

static nl_status rooted_rename(nl_fs *self, nl_str from, nl_str to, bool replace)
{
    nl_fs *below;
    NL_TRY(enter(self, from, &below));
    NL_TRY(enter(self, to, &below));
    return nl_fs_rename(below, from, to, replace);
}

static nl_status rooted_remove(nl_fs *self, nl_str path)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_remove(below, path);
}

static nl_status rooted_remove_tree(nl_fs *self, nl_str path)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_remove_tree(below, path);
}

static nl_status rooted_make_directory(nl_fs *self, nl_str path)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_make_directory(below, path);
}

static nl_status rooted_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_stat(below, path, info);
}

static nl_status rooted_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    nl_fs *below;
    NL_TRY(enter(self, path, &below));
    return nl_fs_list(below, path, is_recursive, visit, argument);
}

static void rooted_free(nl_fs *self)
{
    rooted_fs *fs = NL_CONTAINER(self, rooted_fs, base);
    nl_fs_release(fs->below);
    free(fs);
}

static const nl_fs_ops rooted_ops = {
    .scheme = "file",
    .open = rooted_open,
    .read_all = rooted_read_all,
    .create = rooted_create,
    .create_if_absent = rooted_create_if_absent,
    .rename = rooted_rename,
    .remove = rooted_remove,
    .remove_tree = rooted_remove_tree,
    .make_directory = rooted_make_directory,
    .stat = rooted_stat,
    .list = rooted_list,
    .free = rooted_free,
};

nl_status nl_fs_rooted_new(nl_fs *below, nl_str root, nl_fs **fs)
{
    rooted_fs *made = calloc(1, sizeof(*made) + root.length + 1);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(sizeof(*made) + root.length)), NL_P("receivedBytes", "0"));
    made->base.ops = &rooted_ops;
    atomic_init(&made->base.references, 1);
    made->below = nl_fs_retain(below);
    made->root_length = root.length;
    if (root.length) memcpy(made->root, root.data, root.length);
    *fs = &made->base;
    return NULL;
}

/* storage/filesystem_ops.h - what implementations of a file system fill in. NULL means "not supported": the wrapper in
 * filesystem.c turns it into NILAS_UNSUPPORTED. Contracts are those of filesystem.h; wrappers check them. */
#pragma once

#include <stdatomic.h>

#include "storage/filesystem.h"

typedef struct nl_fs_ops {
    const char *scheme; /* "file", "s3", "memory", "fault"; static */
    nl_status (*open)(nl_fs *self, nl_str path, nl_file **file);
    nl_status (*open_sized)(nl_fs *self, nl_str path, uint64_t size_bytes, nl_file **file); /* NULL: open */
    nl_status (*open_data)(nl_fs *self, nl_str path, uint64_t size_bytes, bool never_changes, nl_file **file); /* NULL: open_sized */
    nl_status (*open_start)(nl_fs *self, nl_str path, size_t start_bytes, nl_file **file); /* NULL: open */
    nl_status (*read_all)(nl_fs *self, nl_str path, size_t length_max, nl_buffer **content); /* NULL: open and read */
    nl_status (*create)(nl_fs *self, nl_str path, nl_output **output);
    nl_status (*create_if_absent)(nl_fs *self, nl_str path, nl_bytes content);
    nl_status (*rename)(nl_fs *self, nl_str from, nl_str to, bool replace);
    nl_status (*remove)(nl_fs *self, nl_str path);
    nl_status (*remove_many)(nl_fs *self, const nl_str *paths, uint32_t path_count, uint64_t *removed_count); /* NULL: one by one */
    nl_status (*remove_tree)(nl_fs *self, nl_str path);
    nl_status (*make_directory)(nl_fs *self, nl_str path);
    nl_status (*stat)(nl_fs *self, nl_str path, nl_file_info *info);
    nl_status (*stat_file)(nl_fs *self, nl_str path, nl_file_info *info); /* NULL: stat */
    nl_status (*stat_files)(nl_fs *self, const nl_str *paths, uint32_t path_count, nl_file_info *infos); /* NULL: stat_file, one by one */
    nl_status (*list)(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument);
    void (*free)(nl_fs *self);
} nl_fs_ops;

struct nl_fs { /* first member of every kind */
    const nl_fs_ops *ops;
    atomic_int references;
};

typedef struct nl_file_ops {
    nl_status (*read)(nl_file *self, uint64_t offset, size_t length, uint8_t *into);
    nl_status (*read_ranges)(nl_file *self, const nl_range *ranges, uint32_t range_count, nl_memory *memory, nl_buffer **buffers); /* NULL: coalesced reads */
    void (*prefetch)(nl_file *self, const nl_range *ranges, uint32_t range_count); /* NULL: nothing */
    void (*stream)(nl_file *self, uint64_t offset, uint64_t end); /* NULL: nothing */
    nl_str (*version)(nl_file *self); /* NULL: it has none */
    void (*close)(nl_file *self);
} nl_file_ops;

struct nl_file {
    const nl_file_ops *ops;
    nl_str path; /* owned by the implementation */
    uint64_t size_bytes;
};

typedef struct nl_output_ops {
    nl_status (*write)(nl_output *self, const void *bytes, size_t length);
    nl_status (*close)(nl_output *self);
    void (*abort)(nl_output *self);
} nl_output_ops;

struct nl_output {
    const nl_output_ops *ops;
    uint64_t position;
};

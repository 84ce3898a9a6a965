/* storage/filesystem.h - how nilas reaches bytes: local disk, S3, memory, and the test doubles.
 *
 * Callers use the nl_fs_* and nl_file_* functions; only implementations look at nl_fs_ops (filesystem_ops.h).
 * Paths are URIs or plain absolute paths ("file:/x", "file:///x", "/x", "s3://bucket/key", "memory:/x"); they are kept
 * and compared as written. Threads: an nl_fs may be used from many threads at once, an nl_file too (reads carry their
 * own offset); an nl_output belongs to one.
 */
#pragma once

#include "base/arena.h"
#include "base/memory.h"

typedef struct nl_fs nl_fs;         /* a place with credentials; counted: nl_fs_retain, nl_fs_release */
typedef struct nl_file nl_file;     /* one object open for reading; owned by whoever opened it        */
typedef struct nl_output nl_output; /* one object being written; owned by whoever created it          */

nl_fs *nl_fs_retain(nl_fs *fs);
void nl_fs_release(nl_fs *fs);

/* Opens the object at `path` for ranged reads; *file is owned. Fails: PATH_NOT_FOUND; NILAS_IO_ERROR. Blocks. */
NL_MUST_USE nl_status nl_fs_open(nl_fs *fs, nl_str path, nl_file **file);
/* The same when metadata says how large the object is: object stores then ask nothing, and the first read tells that it is
 * missing or of another size. Others open it as ever. */
NL_MUST_USE nl_status nl_fs_open_sized(nl_fs *fs, nl_str path, uint64_t size_bytes, nl_file **file);
/* The same for data that somebody may read again: object stores keep pieces in memory (piece_cache.h). never_changes: the name
 * stands for these bytes as long as it exists, as files of Iceberg tables do; others are compared with what the server has. */
NL_MUST_USE nl_status nl_fs_open_data(nl_fs *fs, nl_str path, uint64_t size_bytes, bool never_changes, nl_file **file);
/* The same for whoever begins to read at once: object stores fetch up to start_bytes of the object's beginning with the
 * request that opens it. Others open it as ever. */
NL_MUST_USE nl_status nl_fs_open_start(nl_fs *fs, nl_str path, size_t start_bytes, nl_file **file);
uint64_t nl_file_size(const nl_file *file); /* bytes; known from opening */
nl_str nl_file_path(const nl_file *file);   /* as given to open; borrowed */
/* Bytes that no other content of the same path has ever had or will have; borrowed. Empty: nothing says so, yet or ever. */
nl_str nl_file_version(nl_file *file);
/* Reads exactly `length` bytes at byte `offset` into `into`. A shorter object is an error, never a short read. */
NL_MUST_USE nl_status nl_file_read(nl_file *file, uint64_t offset, size_t length, uint8_t *into);
void nl_file_close(nl_file *file); /* NULL is fine */

/* Several ranges at once. Adjacent and nearby ones are coalesced into one request; remote ones run in parallel.
 * buffers[i] is counted and holds exactly ranges[i]; several may share one request's bytes. */
typedef struct nl_range {
    uint64_t offset;
    uint64_t length;
} nl_range;
NL_MUST_USE nl_status nl_file_read_ranges(nl_file *file, const nl_range *ranges, uint32_t range_count, nl_memory *memory, nl_buffer **buffers);
/* A hint that these ranges will be read soon; never fails, may do nothing. */
void nl_file_prefetch(nl_file *file, const nl_range *ranges, uint32_t range_count);
/* A hint that bytes from `offset` are read next, and those up to `end` soon after, a piece at a time, perhaps by other
 * threads: far storage fetches them in large pieces, of which some are on their way. Never fails, may do nothing. */
void nl_file_stream(nl_file *file, uint64_t offset, uint64_t end);
/* The whole object; for metadata. Fails above `length_max`. */
NL_MUST_USE nl_status nl_fs_read_all(nl_fs *fs, nl_str path, size_t length_max, nl_buffer **content);

/* Writes a new object. Nothing is visible at `path` before nl_output_close succeeds (temporary name, fsync, rename,
 * fsync of the folder; or a multipart upload). Parent folders are made. */
NL_MUST_USE nl_status nl_fs_create(nl_fs *fs, nl_str path, nl_output **output);
NL_MUST_USE nl_status nl_output_write(nl_output *output, const void *bytes, size_t length);
uint64_t nl_output_position(const nl_output *output); /* bytes written so far */
NL_MUST_USE nl_status nl_output_close(nl_output *output); /* publishes; takes output, also on failure */
void nl_output_abort(nl_output *output);                  /* nothing stays behind; takes output; NULL is fine */

/* Atomic: exactly one of many concurrent callers succeeds, the others get NILAS_ALREADY_EXISTS. Durable on return. */
NL_MUST_USE nl_status nl_fs_create_if_absent(nl_fs *fs, nl_str path, nl_bytes content);
NL_MUST_USE nl_status nl_fs_write_all(nl_fs *fs, nl_str path, nl_bytes content); /* replaces atomically */
NL_MUST_USE nl_status nl_fs_rename(nl_fs *fs, nl_str from, nl_str to, bool replace); /* NILAS_ALREADY_EXISTS unless replace */
NL_MUST_USE nl_status nl_fs_remove(nl_fs *fs, nl_str path);                          /* absent is success */
/* Many at once. *removed_count counts those gone; the first failure is returned after all were tried. */
NL_MUST_USE nl_status nl_fs_remove_many(nl_fs *fs, const nl_str *paths, uint32_t path_count, uint64_t *removed_count);
NL_MUST_USE nl_status nl_fs_remove_tree(nl_fs *fs, nl_str path); /* the folder and all below; absent is success */
NL_MUST_USE nl_status nl_fs_make_directory(nl_fs *fs, nl_str path); /* and its parents; present is success; no-op on object stores */

typedef struct nl_file_info {
    nl_str path; /* full, in the form of the listed path ("file:/a" stays "file:/a/b") */
    uint64_t size_bytes;
    int64_t modified_micros;
    bool is_directory;
} nl_file_info;
NL_MUST_USE nl_status nl_fs_stat(nl_fs *fs, nl_str path, nl_file_info *info); /* PATH_NOT_FOUND; info->path is the argument */
/* The same when only a file is of interest, which object stores answer with one request: a folder may be PATH_NOT_FOUND. */
NL_MUST_USE nl_status nl_fs_stat_file(nl_fs *fs, nl_str path, nl_file_info *info);
/* The same of several at once, which object stores ask for side by side: one that is missing has an empty path. */
NL_MUST_USE nl_status nl_fs_stat_files(nl_fs *fs, const nl_str *paths, uint32_t path_count, nl_file_info *infos);
NL_MUST_USE nl_status nl_fs_exists(nl_fs *fs, nl_str path, bool *exists);
/* Calls visit for each entry; recursive: files only, at any depth. Order is not defined. Stops at visit's failure. */
typedef nl_status (*nl_list_visit)(void *argument, const nl_file_info *info);
NL_MUST_USE nl_status nl_fs_list(nl_fs *fs, nl_str path, bool is_recursive, nl_list_visit visit, void *argument);

/* The implementations. */
nl_fs *nl_fs_local(void);                           /* counted; one per process, stateless                     */
nl_fs *nl_fs_memory_new(void);                      /* owned reference; for tests                              */
typedef struct nl_fault_plan nl_fault_plan;         /* text form: "local.fsync:1=EIO; local.write:any=ENOSPC" */
NL_MUST_USE nl_status nl_fault_plan_parse(nl_str text, nl_fault_plan **plan);
void nl_fault_plan_free(nl_fault_plan *plan);
uint64_t nl_fault_plan_steps(const nl_fault_plan *plan); /* steps met so far, for sweeps */
void nl_fault_plan_fail_step(nl_fault_plan *plan, uint64_t step); /* fail exactly the n-th step from now, from 1 */
nl_fs *nl_fs_fault_new(nl_fs *below, nl_fault_plan *plan); /* retains below, borrows plan */

/* Picks the file system for a path's scheme. Unknown schemes: NILAS_UNSUPPORTED, naming those that exist.
 * *fs is a counted reference for the caller. */
NL_MUST_USE nl_status nl_fs_for_path(nl_str path, nl_fs **fs);
/* "file:/a//b" and "file:///a/b" → "/a/b"; others unchanged. */
nl_str nl_path_local(nl_arena *arena, nl_str path);
bool nl_path_is_remote(nl_str path); /* each request takes its time: worth asking ahead and in large pieces */
nl_str nl_path_join(nl_arena *arena, nl_str folder, nl_str name);
nl_str nl_path_name(nl_str path);   /* the last part */
nl_str nl_path_parent(nl_str path); /* without the last part and its slash */

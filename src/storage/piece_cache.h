/* storage/piece_cache.h - pieces of remote objects kept in memory, so that reading them again asks nobody: for all file
 * systems below one budget, as the kernel's page cache is for files.
 *
 * A piece belongs to one version of an object, which its ETag and size name; so what is kept is never wrong, only perhaps of a
 * version that is gone. Which version is the present one is asked of the server: an answer to somebody (credentials: what one
 * may read another may not) is believed for the trust time, and only where the reader says that the object never changes;
 * and what this process writes, renames or removes is forgotten at once.
 *
 * Space: all of it is charged to a budget of its own below the root, and handed back when the root runs dry. Pieces begin as
 * newcomers, a fifth of the whole, first in, first out; one that was read more than once by then, or is fetched again soon
 * after it had to go, is proven and leaves after the newcomers, by CLOCK. So a large scan pushes out newcomers only. (After 2Q: Johnson
 * and Shasha, 1994; S3-FIFO: Yang and others, 2023.) Threads: any; no lock is common to all.
 */
#pragma once

#include "base/memory.h"
#include "base/str.h"
#include "storage/filesystem.h"

#define NL_KEPT_PIECE_BYTES_MAX (8u << 20)

typedef struct nl_piece_cache nl_piece_cache; /* counted */
typedef struct nl_kept_object nl_kept_object; /* a version of an object; counted; may outlive the cache's interest in it */

typedef struct nl_object_name { /* borrowed */
    nl_str place; /* whose buckets these are: the endpoint */
    nl_str bucket, key;
} nl_object_name;

typedef struct nl_piece_cache_options {
    size_t limit_bytes;   /* 0: there will be no cache */
    int64_t trust_micros; /* an answer is believed for so long; 0: never; negative: for ever */
    bool keeps_parts;     /* see Parts */
} nl_piece_cache_options;

/* The cache of memory's root, made with these options if there is none yet; counted. NULL: none; all below take NULL. */
nl_piece_cache *nl_piece_cache_obtain(nl_memory *memory, const nl_piece_cache_options *options);
nl_piece_cache *nl_piece_cache_find(nl_memory *memory); /* the same without making one */
nl_piece_cache *nl_piece_cache_retain(nl_piece_cache *cache);
void nl_piece_cache_release(nl_piece_cache *cache);
uint64_t nl_piece_cache_new_reader(nl_piece_cache *cache); /* somebody like nobody before: his trust begins at nothing */

/* ---- Versions ---- */

/* Taken before the first request about an object; what is seen afterwards counts only if nothing was forgotten since. */
uint64_t nl_piece_cache_epoch(const nl_piece_cache *cache, const nl_object_name *name);
/* The version of that size that the reader was told to be the present one within the trust time; counted; NULL: ask. */
nl_kept_object *nl_piece_cache_trusted(nl_piece_cache *cache, const nl_object_name *name, uint64_t size_bytes, uint64_t reader);
/* The server has told the reader that this is the present version. Counted; NULL: it is not kept. */
nl_kept_object *nl_piece_cache_seen(nl_piece_cache *cache, const nl_object_name *name, nl_str etag, uint64_t size_bytes, uint64_t reader, uint64_t epoch);
/* It is written or removed, or was found to be gone. Before and after it happens: who reads meanwhile is not believed. */
void nl_piece_cache_forget(nl_piece_cache *cache, const nl_object_name *name);
nl_str nl_kept_object_etag(const nl_kept_object *object); /* borrowed */
void nl_kept_object_release(nl_kept_object *object);      /* NULL is fine */

/* ---- Pieces ---- */

/* Bytes for a piece, paid for by the cache, which lets others go for them. NULL: there is no room; whoever reads pays himself. */
nl_buffer *nl_piece_cache_buffer(nl_piece_cache *cache, size_t size_bytes);
/* Keeps bytes of the object from offset on; retains them. False: it has them, or has too many nearby, or the version is gone. */
bool nl_kept_object_put(nl_kept_object *object, uint64_t offset, nl_buffer *bytes);
/* The piece that holds offset: counted bytes, and the offset of the first of them. wanted_bytes: how many are about to be read.
 * False: not there. */
bool nl_kept_object_find(nl_kept_object *object, uint64_t offset, uint64_t wanted_bytes, nl_buffer **bytes, uint64_t *start);
/* The same as a look only: where the piece that holds offset ends; offset when there is none. */
uint64_t nl_kept_object_covered(const nl_kept_object *object, uint64_t offset);
/* Where the first piece in [offset, limit) begins; limit when there is none. */
uint64_t nl_kept_object_next(const nl_kept_object *object, uint64_t offset, uint64_t limit);

/* ---- Parts ----
 *
 * What a reader has made of a file, local or not, kept below the same budget: a page without its compression, an index. A part is
 * found by its place, which its maker chooses (the offset of what it was made of), and is never a piece of a longer one. The
 * file's version is that of nl_file_version, so whoever has opened the file has been allowed to read it. */

/* Where parts of this version of the file are kept; counted; NULL: they are not. */
nl_kept_object *nl_piece_cache_parts(nl_piece_cache *cache, nl_file *file);
/* As nl_piece_cache_buffer; to be filled before it is put, and never changed after it. */
nl_buffer *nl_kept_object_buffer(const nl_kept_object *object, size_t size_bytes);
bool nl_kept_object_put_part(nl_kept_object *object, uint64_t place, nl_buffer *bytes); /* as nl_kept_object_put */
nl_buffer *nl_kept_object_find_part(nl_kept_object *object, uint64_t place);            /* counted; NULL: not there */

typedef struct nl_piece_cache_stats {
    uint64_t hits, hit_bytes;         /* reads answered, in part or whole */
    uint64_t puts, put_bytes;         /* pieces kept                      */
    uint64_t evictions, forgotten;    /* pieces; versions                 */
    uint64_t piece_count, used_bytes; /* now                              */
} nl_piece_cache_stats;
nl_piece_cache_stats nl_piece_cache_read_stats(const nl_piece_cache *cache); /* all zero for NULL */

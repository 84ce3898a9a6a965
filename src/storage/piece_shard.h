/* storage/piece_shard.h - one of the parts of a piece cache: pieces found by place, and who has to go next. See piece_cache.h,
 * whose private half this is. Threads: any; the lock of a shard is never held with another.
 */
#pragma once

#include "base/lock.h"
#include "storage/piece_cache.h"

#define NL_PIECE_GHOSTS 512u /* pieces that had to go a while ago, by a hash of their place */

typedef struct nl_piece {
    struct nl_piece *next;           /* of its bin, or of a list of those that went */
    struct nl_piece *newer, *older;  /* of its queue                                */
    nl_kept_object *object;          /* counted                                     */
    uint64_t object_id;
    const atomic_bool *is_forgotten; /* the object's                                */
    uint64_t offset;
    uint64_t region;                 /* nl_piece_region; of parts: the offset itself */
    uint64_t read_bytes;             /* since it came, or since the clock's hand passed */
    nl_buffer *bytes;                /* counted                                     */
    bool is_proven;
} nl_piece;

typedef struct nl_piece_queue {
    nl_piece *newest, *oldest;
    uint64_t bytes;
} nl_piece_queue;

typedef struct nl_piece_shard {
    nl_mutex mutex;
    nl_piece **bins; /* guarded by mutex, as all that follows; owned */
    uint32_t bin_count; /* a power of two */
    uint32_t piece_count;
    nl_piece_queue newcomers, proven;
    uint64_t ghosts[NL_PIECE_GHOSTS];
    uint32_t next_ghost;
} nl_piece_shard;

bool nl_piece_shard_init(nl_piece_shard *shard); /* false: the system has no memory */
void nl_piece_shard_fini(nl_piece_shard *shard); /* which holds nothing any more */
/* The piece of a region (the part of an object in which it begins) that holds offset and reaches furthest. */
bool nl_piece_shard_find(nl_piece_shard *shard, uint64_t object_id, uint64_t region, uint64_t offset, uint64_t wanted_bytes, nl_buffer **bytes, uint64_t *start);
uint64_t nl_piece_shard_covered(nl_piece_shard *shard, uint64_t object_id, uint64_t region, uint64_t offset);
uint64_t nl_piece_shard_next(nl_piece_shard *shard, uint64_t object_id, uint64_t region, uint64_t offset, uint64_t limit);
bool nl_piece_shard_put(nl_piece_shard *shard, nl_piece *piece); /* takes it when true */
/* Takes out at least so many bytes of newcomers, or of proven ones, if it has them; a list, owned by the caller. */
nl_piece *nl_piece_shard_evict(nl_piece_shard *shard, bool newcomers, uint64_t bytes);
void nl_piece_shard_bytes(nl_piece_shard *shard, uint64_t *newcomer_bytes, uint64_t *proven_bytes); /* adds its own */

static inline uint64_t nl_piece_region(uint64_t offset)
{
    return offset / NL_KEPT_PIECE_BYTES_MAX;
}

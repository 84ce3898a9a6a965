/* storage/piece_shard.c - see piece_shard.h.
 *
 * A bin holds the pieces of some regions. What was read is counted in bytes: a piece is read bit by bit, so one pass over it
 * adds up to its length, and only what is clearly more tells that it was wanted twice.
 */
#include "storage/piece_shard.h"

#include <stdlib.h>

#include "base/hash.h"

#define BINS_FIRST        64u
#define REGION_PIECES_MAX 64u /* in one region: more are not worth looking through */

bool nl_piece_shard_init(nl_piece_shard *shard)
{
    *shard = (nl_piece_shard){.bins = calloc(BINS_FIRST, sizeof(nl_piece *)), .bin_count = BINS_FIRST};
    nl_mutex_init(&shard->mutex);
    return shard->bins != NULL;
}

void nl_piece_shard_fini(nl_piece_shard *shard)
{
    NL_ASSERT(shard->piece_count == 0);
    free(shard->bins);
    nl_mutex_fini(&shard->mutex);
}

static uint64_t hash_of(uint64_t object_id, uint64_t region)
{
    return nl_hash_mix(nl_hash_u64(object_id), region);
}

static nl_piece **bin_of(nl_piece_shard *shard, uint64_t object_id, uint64_t region)
{
    return &shard->bins[hash_of(object_id, region) & (shard->bin_count - 1)];
}

static bool is_of(const nl_piece *piece, uint64_t object_id, uint64_t region)
{
    return piece->object_id == object_id && piece->region == region;
}

static uint64_t end_of(const nl_piece *piece)
{
    return piece->offset + piece->bytes->size_bytes;
}

/* ---- Queues ---- */

static void push(nl_piece_queue *queue, nl_piece *piece)
{
    piece->newer = NULL;
    piece->older = queue->newest;
    if (queue->newest)
        queue->newest->newer = piece;
    else
        queue->oldest = piece;
    queue->newest = piece;
    queue->bytes += piece->bytes->size_bytes;
}

static nl_piece *pop(nl_piece_queue *queue)
{
    nl_piece *piece = queue->oldest;
    if (!piece) return NULL;
    queue->oldest = piece->newer;
    if (queue->oldest)
        queue->oldest->older = NULL;
    else
        queue->newest = NULL;
    queue->bytes -= piece->bytes->size_bytes;
    return piece;
}

/* ---- Those that had to go ---- */

static uint64_t ghost_of(const nl_piece *piece)
{
    return hash_of(piece->object_id, piece->offset) | 1; /* never zero, which is nobody's */
}

static void remember(nl_piece_shard *shard, const nl_piece *piece)
{
    shard->ghosts[shard->next_ghost] = ghost_of(piece);
    shard->next_ghost = (shard->next_ghost + 1) % NL_PIECE_GHOSTS;
}

static bool was_here(nl_piece_shard *shard, const nl_piece *piece)
{
    const uint64_t ghost = ghost_of(piece);
    for (uint32_t i = 0; i < NL_PIECE_GHOSTS; i++) {
        if (shard->ghosts[i] != ghost) continue;
        shard->ghosts[i] = 0;
        return true;
    }
    return false;
}

/* ---- Finding ---- */

static nl_piece *find(nl_piece_shard *shard, uint64_t object_id, uint64_t region, uint64_t offset)
{
    nl_piece *best = NULL;
    for (nl_piece *one = *bin_of(shard, object_id, region); one; one = one->next)
        if (is_of(one, object_id, region) && offset >= one->offset && offset < end_of(one) && (!best || end_of(one) > end_of(best))) best = one;
    return best;
}

bool nl_piece_shard_find(nl_piece_shard *shard, uint64_t object_id, uint64_t region, uint64_t offset, uint64_t wanted_bytes, nl_buffer **bytes, uint64_t *start)
{
    nl_mutex_lock(&shard->mutex);
    nl_piece *found = find(shard, object_id, region, offset);
    if (found) {
        found->read_bytes += NL_MIN(wanted_bytes, end_of(found) - offset);
        *bytes = nl_buffer_retain(found->bytes);
        *start = found->offset;
    }
    nl_mutex_unlock(&shard->mutex);
    return found != NULL;
}

uint64_t nl_piece_shard_covered(nl_piece_shard *shard, uint64_t object_id, uint64_t region, uint64_t offset)
{
    nl_mutex_lock(&shard->mutex);
    const nl_piece *found = find(shard, object_id, region, offset);
    const uint64_t end = found ? end_of(found) : offset;
    nl_mutex_unlock(&shard->mutex);
    return end;
}

uint64_t nl_piece_shard_next(nl_piece_shard *shard, uint64_t object_id, uint64_t region, uint64_t offset, uint64_t limit)
{
    uint64_t next = limit;
    nl_mutex_lock(&shard->mutex);
    for (const nl_piece *one = *bin_of(shard, object_id, region); one; one = one->next)
        if (is_of(one, object_id, region) && one->offset >= offset) next = NL_MIN(next, one->offset);
    nl_mutex_unlock(&shard->mutex);
    return next;
}

/* ---- Coming and going ---- */

/* More bins for more pieces; without memory for them the chains are longer. */
static void grow(nl_piece_shard *shard)
{
    if (shard->piece_count < 2 * shard->bin_count || shard->bin_count > UINT32_MAX / 4) return;
    nl_piece **old = shard->bins;
    const uint32_t old_count = shard->bin_count;
    nl_piece **bins = calloc((size_t)old_count * 4, sizeof(*bins));
    if (!bins) return;
    shard->bins = bins;
    shard->bin_count = old_count * 4;
    for (uint32_t i = 0; i < old_count; i++) {
        while (old[i]) {
            nl_piece *one = old[i];
            old[i] = one->next;
            nl_piece **bin = bin_of(shard, one->object_id, one->region);
            one->next = *bin;
            *bin = one;
        }
    }
    free(old);
}

static bool has_place(nl_piece_shard *shard, const nl_piece *piece)
{
    uint32_t count = 0;
    const uint64_t region = piece->region;
    for (const nl_piece *one = *bin_of(shard, piece->object_id, region); one; one = one->next) {
        if (!is_of(one, piece->object_id, region)) continue;
        if (one->offset <= piece->offset && end_of(one) >= end_of(piece)) return false;
        count++;
    }
    return count < REGION_PIECES_MAX;
}

bool nl_piece_shard_put(nl_piece_shard *shard, nl_piece *piece)
{
    nl_mutex_lock(&shard->mutex);
    const bool is_taken = has_place(shard, piece);
    if (is_taken) {
        grow(shard);
        nl_piece **bin = bin_of(shard, piece->object_id, piece->region);
        piece->next = *bin;
        *bin = piece;
        piece->is_proven = was_here(shard, piece);
        push(piece->is_proven ? &shard->proven : &shard->newcomers, piece);
        shard->piece_count++;
    }
    nl_mutex_unlock(&shard->mutex);
    return is_taken;
}

static void take_out(nl_piece_shard *shard, nl_piece *piece)
{
    nl_piece **place = bin_of(shard, piece->object_id, piece->region);
    while (*place != piece) place = &(*place)->next;
    *place = piece->next;
    shard->piece_count--;
}

/* The next to go, or NULL after one was spared. */
static nl_piece *judge_oldest(nl_piece_shard *shard, bool is_newcomer)
{
    nl_piece *piece = pop(is_newcomer ? &shard->newcomers : &shard->proven);
    const uint64_t length = piece->bytes->size_bytes;
    const bool is_forgotten = atomic_load_explicit(piece->is_forgotten, memory_order_relaxed);
    const bool is_spared = !is_forgotten && piece->read_bytes >= (is_newcomer ? length + length / 2 : length);
    if (is_spared) {
        piece->read_bytes = 0;
        piece->is_proven = true;
        push(&shard->proven, piece);
        return NULL;
    }
    if (is_newcomer && !is_forgotten) remember(shard, piece);
    return piece;
}

nl_piece *nl_piece_shard_evict(nl_piece_shard *shard, bool newcomers, uint64_t bytes)
{
    const nl_piece_queue *queue = newcomers ? &shard->newcomers : &shard->proven;
    nl_piece *gone = NULL;
    uint64_t gone_bytes = 0;
    nl_mutex_lock(&shard->mutex);
    while (gone_bytes < bytes && queue->oldest) {
        nl_piece *piece = judge_oldest(shard, newcomers); /* each is spared once at most: its count starts anew */
        if (!piece) continue;
        take_out(shard, piece);
        gone_bytes += piece->bytes->charged_bytes;
        piece->next = gone;
        gone = piece;
    }
    nl_mutex_unlock(&shard->mutex);
    return gone;
}

void nl_piece_shard_bytes(nl_piece_shard *shard, uint64_t *newcomer_bytes, uint64_t *proven_bytes)
{
    nl_mutex_lock(&shard->mutex);
    *newcomer_bytes += shard->newcomers.bytes;
    *proven_bytes += shard->proven.bytes;
    nl_mutex_unlock(&shard->mutex);
}

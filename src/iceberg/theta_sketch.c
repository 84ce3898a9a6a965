/* iceberg/theta_sketch.c - see theta_sketch.h. Values are hashed by MurmurHash3 x64 128 (Austin Appleby) with seed 9001; the
 * first 63 bits count. Hashes wait in a list of twice the entries that is sorted and cut when it is full, which costs a few
 * comparisons per value that is new. Source: the DataSketches memory layout of compact theta sketches, serial version 3. */
#include "iceberg/theta_sketch.h"

#include <stdlib.h>
#include <string.h>

#define SEED      9001u
#define SEED_HASH 0x93ccu           /* of 9001, as every sketch with the default seed carries it */
#define THETA_MAX ((uint64_t)INT64_MAX)
#define LIST_MAX  (2u * NL_THETA_ENTRIES)

enum { FLAG_READ_ONLY = 2, FLAG_EMPTY = 4, FLAG_COMPACT = 8, FLAG_ORDERED = 16, FLAG_SINGLE = 32 };

struct nl_theta_sketch {
    uint64_t theta;            /* hashes below it are kept */
    uint32_t count;            /* in hashes; settled ones first, ascending and different */
    bool has_values;           /* something was added */
    uint64_t hashes[LIST_MAX];
};

/* ---- MurmurHash3 ----------------------------------------------------------------------------------------------- */

static uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static uint64_t mix_final(uint64_t value)
{
    value = (value ^ value >> 33) * 0xff51afd7ed558ccdull;
    value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53ull;
    return value ^ value >> 33;
}

static uint64_t mix_first(uint64_t value)
{
    return rotate(value * 0x87c37b91114253d5ull, 31) * 0x4cf5ad432745937full;
}

static uint64_t mix_second(uint64_t value)
{
    return rotate(value * 0x4cf5ad432745937full, 33) * 0x87c37b91114253d5ull;
}

static uint64_t load(const uint8_t *bytes, size_t length) /* little-endian, at most eight */
{
    uint64_t value = 0;
    for (size_t i = NL_MIN(length, 8); i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t hash_of(nl_bytes value)
{
    uint64_t first = SEED, second = SEED;
    size_t at = 0;
    for (; value.length - at >= 16; at += 16) {
        first ^= mix_first(load(value.data + at, 8));
        first = (rotate(first, 27) + second) * 5 + 0x52dce729;
        second ^= mix_second(load(value.data + at + 8, 8));
        second = (rotate(second, 31) + first) * 5 + 0x38495ab5;
    }
    const size_t left = value.length - at;
    if (left > 8) second ^= mix_second(load(value.data + at + 8, left - 8));
    if (left > 0) first ^= mix_first(load(value.data + at, left));
    first ^= value.length;
    second ^= value.length;
    first += second;
    second += first;
    first = mix_final(first);
    return (first + mix_final(second)) >> 1;
}

/* ---- the sketch ------------------------------------------------------------------------------------------------ */

nl_status nl_theta_sketch_new(nl_theta_sketch **sketch)
{
    nl_theta_sketch *made = malloc(sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->theta = THETA_MAX;
    made->count = 0;
    made->has_values = false;
    *sketch = made;
    return NULL;
}

void nl_theta_sketch_free(nl_theta_sketch *sketch)
{
    free(sketch);
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void settle(nl_theta_sketch *self)
{
    uint32_t kept = 0;
    qsort(self->hashes, self->count, sizeof(*self->hashes), compare_hashes);
    for (uint32_t i = 0; i < self->count; i++)
        if (i == 0 || self->hashes[i] != self->hashes[i - 1]) self->hashes[kept++] = self->hashes[i];
    if (kept > NL_THETA_ENTRIES) {
        self->theta = self->hashes[NL_THETA_ENTRIES];
        kept = NL_THETA_ENTRIES;
    }
    self->count = kept;
}

void nl_theta_sketch_add(nl_theta_sketch *sketch, nl_bytes value)
{
    if (value.length == 0) return;
    const uint64_t hash = hash_of(value);
    sketch->has_values = true;
    if (hash == 0 || hash >= sketch->theta) return;
    sketch->hashes[sketch->count++] = hash;
    if (sketch->count == LIST_MAX) settle(sketch);
}

static void store(uint8_t *bytes, uint64_t value, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

nl_bytes nl_theta_sketch_encode(nl_theta_sketch *sketch, nl_arena *arena)
{
    static const uint8_t version = 3, family_compact = 3;
    settle(sketch);
    const bool is_estimating = sketch->theta < THETA_MAX;
    const bool is_single = sketch->count == 1 && !is_estimating;
    const uint8_t words = is_estimating ? 3 : sketch->count <= 1 ? 1 : 2;
    const size_t length = 8u * ((size_t)words + sketch->count);
    uint8_t *bytes = NL_NEW_ARRAY(arena, uint8_t, length);
    bytes[0] = words;
    bytes[1] = version;
    bytes[2] = family_compact;
    bytes[5] = FLAG_READ_ONLY | FLAG_COMPACT | FLAG_ORDERED | (is_single ? FLAG_SINGLE : 0) | (sketch->has_values ? 0 : FLAG_EMPTY);
    if (sketch->has_values) store(bytes + 6, SEED_HASH, 2);
    if (words > 1) {
        store(bytes + 8, sketch->count, 4);
        store(bytes + 12, 0x3f800000, 4); /* sampled with a probability of 1 */
    }
    if (words > 2) store(bytes + 16, sketch->theta, 8);
    for (uint32_t i = 0; i < sketch->count; i++)
        store(bytes + 8 * (words + i), sketch->hashes[i], 8);
    return (nl_bytes){bytes, length};
}

int64_t nl_theta_sketch_estimate(nl_theta_sketch *sketch)
{
    settle(sketch);
    if (sketch->theta == THETA_MAX) return sketch->count;
    return (int64_t)(sketch->count / ((double)sketch->theta / (double)THETA_MAX));
}

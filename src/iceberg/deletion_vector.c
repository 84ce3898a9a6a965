/* iceberg/deletion_vector.c - see deletion_vector.h. The vector is "Roaring Bitmap 64-bit portable format": a count, then
 * per high word its key and a 32-bit roaring bitmap (RoaringFormatSpec, "Standard 32-bit Roaring Bitmap"). CRoaring trusts
 * what it reads, so every key, order, cardinality and length is checked here first. */
#include "iceberg/deletion_vector.h"

#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/hash.h"

#define KEY_MAX            0x7ffffffeu /* Java keeps its bitmaps in an array indexed by int */
#define COOKIE_NO_RUNS     12346u
#define COOKIE_RUNS        12347u
#define NO_OFFSETS_BELOW   4u          /* bitmaps with runs and fewer containers have no offsets */
#define ARRAY_VALUES_MAX   4096u
#define BITMAP_BYTES       8192u

static const uint8_t magic[4] = {0xd1, 0xd3, 0x39, 0x64};

typedef struct part {
    uint32_t key; /* the high word */
    roaring_bitmap_t *bitmap;
} part;

struct nl_deletion_vector {
    part *parts; /* ascending by key */
    uint32_t part_count;
    uint32_t part_room;
};

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

nl_deletion_vector *nl_deletion_vector_new(void)
{
    return calloc(1, sizeof(nl_deletion_vector)); /* NULL is caught by the first add */
}

void nl_deletion_vector_free(nl_deletion_vector *vector)
{
    if (!vector) return;
    for (uint32_t i = 0; i < vector->part_count; i++)
        roaring_bitmap_free(vector->parts[i].bitmap);
    free(vector->parts);
    free(vector);
}

/* The index of the first part whose key is not less than `key`. */
static uint32_t lower_bound(const nl_deletion_vector *vector, uint32_t key)
{
    uint32_t low = 0;
    uint32_t high = vector->part_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (vector->parts[middle].key < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Puts a bitmap in at its place; taken, also on failure. */
static nl_status insert_part(nl_deletion_vector *vector, uint32_t at, uint32_t key, roaring_bitmap_t *bitmap)
{
    if (!bitmap) return no_memory(sizeof(part));
    if (vector->part_count == vector->part_room) {
        const uint32_t room = vector->part_room ? vector->part_room * 2 : 1;
        part *parts = realloc(vector->parts, nl_size_mul(room, sizeof(part)));
        if (!parts) {
            roaring_bitmap_free(bitmap);
            return no_memory(room * sizeof(part));
        }
        vector->parts = parts;
        vector->part_room = room;
    }
    memmove(&vector->parts[at + 1], &vector->parts[at], (vector->part_count - at) * sizeof(part));
    vector->parts[at] = (part){key, bitmap};
    vector->part_count++;
    return NULL;
}

static nl_status find_or_add(nl_deletion_vector *vector, int64_t position, roaring_bitmap_t **bitmap)
{
    const uint64_t high = (uint64_t)position >> 32;
    if (!vector) return no_memory(sizeof(*vector));
    if (position < 0 || high > KEY_MAX)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The position %lld cannot be in a deletion vector", (long long)position);
    const uint32_t at = lower_bound(vector, (uint32_t)high);
    if (at == vector->part_count || vector->parts[at].key != high) NL_TRY(insert_part(vector, at, (uint32_t)high, roaring_bitmap_create()));
    *bitmap = vector->parts[at].bitmap;
    return NULL;
}

nl_status nl_deletion_vector_add(nl_deletion_vector *vector, int64_t position)
{
    roaring_bitmap_t *bitmap;
    NL_TRY(find_or_add(vector, position, &bitmap));
    roaring_bitmap_add(bitmap, (uint32_t)position);
    return NULL;
}

nl_status nl_deletion_vector_add_many(nl_deletion_vector *vector, const int64_t *positions, uint32_t count)
{
    uint32_t words[1024];
    for (uint32_t i = 0; i < count;) {
        roaring_bitmap_t *bitmap;
        const int64_t high = positions[i] >> 32;
        NL_TRY(find_or_add(vector, positions[i], &bitmap));
        uint32_t filled = 0;
        while (i < count && filled < NL_COUNT(words) && positions[i] >> 32 == high)
            words[filled++] = (uint32_t)positions[i++];
        roaring_bitmap_add_many(bitmap, filled, words);
    }
    return NULL;
}

nl_status nl_deletion_vector_add_all(nl_deletion_vector *vector, const nl_deletion_vector *other)
{
    for (uint32_t i = 0; i < other->part_count; i++) {
        roaring_bitmap_t *bitmap;
        NL_TRY(find_or_add(vector, (int64_t)other->parts[i].key << 32, &bitmap));
        roaring_bitmap_or_inplace(bitmap, other->parts[i].bitmap);
    }
    return NULL;
}

bool nl_deletion_vector_contains(const nl_deletion_vector *vector, int64_t position)
{
    if (position < 0) return false;
    const uint32_t key = (uint32_t)((uint64_t)position >> 32);
    const uint32_t at = lower_bound(vector, key);
    return at < vector->part_count && vector->parts[at].key == key && roaring_bitmap_contains(vector->parts[at].bitmap, (uint32_t)position);
}

uint64_t nl_deletion_vector_cardinality(const nl_deletion_vector *vector)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < vector->part_count; i++)
        count += roaring_bitmap_get_cardinality(vector->parts[i].bitmap);
    return count;
}

size_t nl_deletion_vector_bytes(const nl_deletion_vector *vector)
{
    size_t bytes = sizeof(*vector) + vector->part_room * sizeof(part);
    for (uint32_t i = 0; i < vector->part_count; i++)
        bytes += roaring_bitmap_size_in_bytes(vector->parts[i].bitmap) + sizeof(roaring_bitmap_t);
    return bytes;
}

uint32_t nl_deletion_vector_positions(const nl_deletion_vector *vector, int64_t *position, int64_t *out, uint32_t out_count)
{
    uint32_t filled = 0;
    if (*position < 0) *position = 0;
    const uint32_t first_key = (uint32_t)((uint64_t)*position >> 32);
    for (uint32_t at = lower_bound(vector, first_key); at < vector->part_count && filled < out_count; at++) {
        const part *here = &vector->parts[at];
        roaring_uint32_iterator_t iterator;
        roaring_init_iterator(here->bitmap, &iterator);
        if (here->key == first_key) roaring_move_uint32_iterator_equalorlarger(&iterator, (uint32_t)*position);
        for (; iterator.has_value && filled < out_count; roaring_advance_uint32_iterator(&iterator))
            out[filled++] = (int64_t)((uint64_t)here->key << 32 | iterator.current_value);
    }
    if (filled) *position = out[filled - 1] + 1;
    return filled;
}

uint32_t nl_deletion_vector_mask(const nl_deletion_vector *vector, int64_t first_position, uint32_t row_count, uint8_t *alive)
{
    const int64_t end = first_position + row_count;
    int64_t positions[256];
    int64_t next = first_position;
    uint32_t deleted = 0;
    for (;;) {
        const uint32_t count = nl_deletion_vector_positions(vector, &next, positions, NL_COUNT(positions));
        for (uint32_t i = 0; i < count; i++) {
            if (positions[i] >= end) return deleted;
            const uint32_t row = (uint32_t)(positions[i] - first_position);
            alive[row >> 3] = (uint8_t)(alive[row >> 3] & ~(1u << (row & 7)));
            deleted++;
        }
        if (count < NL_COUNT(positions)) return deleted;
    }
}

/* ---- Parsing ---- */

static nl_status check_runs(nl_cursor *in, uint32_t cardinality)
{
    const uint32_t run_count = nl_cursor_u16(in);
    uint32_t total = 0;
    uint32_t next = 0; /* the least value a run may start with */
    if ((size_t)run_count * 4 > nl_cursor_remaining(in)) return nl_cursor_corrupt(in, "%u runs in %zu bytes", run_count, nl_cursor_remaining(in));
    for (uint32_t i = 0; i < run_count; i++) {
        const uint32_t start = nl_cursor_u16(in);
        const uint32_t length = nl_cursor_u16(in) + 1u;
        if ((i > 0 && start < next) || start + length > 65536) return nl_cursor_corrupt(in, "runs that overlap or leave their container");
        next = start + length;
        total += length;
    }
    NL_TRY(nl_cursor_status(in));
    return total == cardinality ? NULL : nl_cursor_corrupt(in, "runs of %u values where %u are announced", total, cardinality);
}

static nl_status check_array(nl_cursor *in, uint32_t cardinality)
{
    uint32_t before = 0;
    if ((size_t)cardinality * 2 > nl_cursor_remaining(in)) return nl_cursor_corrupt(in, "an array container that is cut short");
    for (uint32_t i = 0; i < cardinality; i++) {
        const uint32_t value = nl_cursor_u16(in);
        if (i > 0 && value <= before) return nl_cursor_corrupt(in, "an array container that is not ascending");
        before = value;
    }
    return nl_cursor_status(in);
}

static nl_status check_bits(nl_cursor *in, uint32_t cardinality)
{
    uint32_t total = 0;
    if (nl_cursor_remaining(in) < BITMAP_BYTES) return nl_cursor_corrupt(in, "a bitmap container that is cut short");
    for (uint32_t i = 0; i < BITMAP_BYTES / 8; i++)
        total += (uint32_t)__builtin_popcountll(nl_cursor_u64(in));
    return total == cardinality ? NULL : nl_cursor_corrupt(in, "a bitmap container of %u values where %u are announced", total, cardinality);
}

/* What the head of a 32-bit bitmap says. The slices are borrowed from the cursor. */
typedef struct bitmap_head {
    uint32_t container_count;
    bool has_runs;
    nl_bytes run_flags;
    nl_bytes descriptors; /* pairs of uint16: key, cardinality - 1 */
    nl_bytes offsets;     /* uint32 each; may be absent */
} bitmap_head;

static uint32_t u16_at(nl_bytes bytes, size_t index)
{
    return bytes.data[index * 2] | (uint32_t)bytes.data[index * 2 + 1] << 8;
}

static uint32_t u32_at(nl_bytes bytes, size_t index)
{
    return u16_at(bytes, index * 2) | u16_at(bytes, index * 2 + 1) << 16;
}

static nl_status read_head(nl_cursor *in, bitmap_head *head)
{
    const uint32_t cookie = nl_cursor_u32(in);
    *head = (bitmap_head){.has_runs = (cookie & 0xffff) == COOKIE_RUNS};
    if (head->has_runs) head->container_count = (cookie >> 16) + 1;
    else if (cookie == COOKIE_NO_RUNS) head->container_count = nl_cursor_u32(in);
    else return nl_cursor_corrupt(in, "a roaring bitmap does not start with %u", cookie);
    if (head->container_count > 65536) return nl_cursor_corrupt(in, "a roaring bitmap of %u containers", head->container_count);
    if (head->has_runs) head->run_flags = nl_cursor_bytes(in, (head->container_count + 7) / 8);
    head->descriptors = nl_cursor_bytes(in, (size_t)head->container_count * 4);
    if (!head->has_runs || head->container_count >= NO_OFFSETS_BELOW) head->offsets = nl_cursor_bytes(in, (size_t)head->container_count * 4);
    return nl_cursor_status(in);
}

/* Walks over one 32-bit bitmap, which ends at the cursor afterwards. */
static nl_status check_bitmap(nl_cursor *in)
{
    bitmap_head head;
    const size_t start = in->offset;
    NL_TRY(read_head(in, &head));
    for (uint32_t i = 0; i < head.container_count; i++) {
        const uint32_t cardinality = u16_at(head.descriptors, (size_t)i * 2 + 1) + 1;
        const bool is_run = head.has_runs && (head.run_flags.data[i / 8] >> (i % 8) & 1);
        if (i > 0 && u16_at(head.descriptors, (size_t)i * 2) <= u16_at(head.descriptors, (size_t)(i - 1) * 2))
            return nl_cursor_corrupt(in, "containers whose keys do not ascend");
        if (head.offsets.length && u32_at(head.offsets, i) != in->offset - start) return nl_cursor_corrupt(in, "a container that is not where its offset says");
        if (is_run) NL_TRY(check_runs(in, cardinality));
        else if (cardinality > ARRAY_VALUES_MAX) NL_TRY(check_bits(in, cardinality));
        else NL_TRY(check_array(in, cardinality));
    }
    return NULL;
}

static nl_status read_part(nl_cursor *in, nl_deletion_vector *vector)
{
    const uint32_t key = nl_cursor_u32(in);
    const size_t start = in->offset;
    NL_TRY(nl_cursor_status(in));
    if (key > KEY_MAX || (vector->part_count && key <= vector->parts[vector->part_count - 1].key))
        return nl_cursor_corrupt(in, "a bitmap with key %u, which is too large or not ascending", key);
    NL_TRY(check_bitmap(in));
    const size_t length = in->offset - start;
    roaring_bitmap_t *bitmap = roaring_bitmap_portable_deserialize_safe((const char *)in->data + start, length);
    if (!bitmap) return nl_cursor_corrupt(in, "a roaring bitmap that cannot be read");
    return insert_part(vector, vector->part_count, key, bitmap);
}

static nl_status read_vector(nl_cursor *in, int64_t expected_cardinality, nl_deletion_vector *vector)
{
    const uint64_t count = nl_cursor_u64(in);
    NL_TRY(nl_cursor_status(in));
    if (count > nl_cursor_remaining(in) / 8) return nl_cursor_corrupt(in, "%llu bitmaps in %zu bytes", (unsigned long long)count, nl_cursor_remaining(in));
    for (uint64_t i = 0; i < count; i++)
        NL_TRY(read_part(in, vector));
    if (nl_cursor_remaining(in)) return nl_cursor_corrupt(in, "%zu bytes behind the last bitmap", nl_cursor_remaining(in));
    const uint64_t cardinality = nl_deletion_vector_cardinality(vector);
    if (expected_cardinality >= 0 && cardinality != (uint64_t)expected_cardinality)
        return nl_cursor_corrupt(in, "%llu deleted positions where the manifest says %lld", (unsigned long long)cardinality,
                                 (long long)expected_cardinality);
    return NULL;
}

nl_status nl_deletion_vector_parse(nl_bytes blob, nl_str path, uint64_t blob_offset, int64_t expected_cardinality, nl_deletion_vector **vector)
{
    nl_cursor in = nl_cursor_over(blob.data, blob.length, path);
    in.file_offset = blob_offset;
    const uint32_t length = nl_cursor_u32_be(&in);
    NL_TRY(nl_cursor_status(&in));
    if (blob.length < 16 || length != blob.length - 8)
        return nl_cursor_corrupt(&in, "a deletion vector of %u bytes in a blob of %zu", length, blob.length);
    nl_cursor tail = nl_cursor_over(blob.data + blob.length - 4, 4, path);
    const uint32_t expected_crc = nl_cursor_u32_be(&tail);
    if (nl_crc32(blob.data + 4, length, 0) != expected_crc) return nl_cursor_corrupt(&in, "the checksum of a deletion vector does not match");
    const nl_bytes start = nl_cursor_bytes(&in, 4);
    if (memcmp(start.data, magic, 4) != 0) return nl_cursor_corrupt(&in, "a deletion vector does not start as one");
    in.length = blob.length - 4;
    nl_deletion_vector *made = nl_deletion_vector_new();
    if (!made) return no_memory(sizeof(*made));
    nl_status status = read_vector(&in, expected_cardinality, made);
    if (status) nl_deletion_vector_free(made);
    else *vector = made;
    return status;
}

/* ---- Serialising ---- */

static uint8_t *put(uint8_t *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *out++ = (uint8_t)(value >> (8 * i));
    return out;
}

static uint8_t *put_be32(uint8_t *out, uint32_t value)
{
    return put(out, __builtin_bswap32(value), 4);
}

nl_status nl_deletion_vector_serialize(nl_deletion_vector *vector, nl_memory *memory, nl_buffer **blob)
{
    size_t length = sizeof(magic) + 8;
    for (uint32_t i = 0; i < vector->part_count; i++) {
        roaring_bitmap_run_optimize(vector->parts[i].bitmap); /* as Java does before it writes */
        length = nl_size_add(length, nl_size_add(4, roaring_bitmap_portable_size_in_bytes(vector->parts[i].bitmap)));
    }
    if (length > INT32_MAX) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A deletion vector of %zu bytes is too large to be written", length);
    nl_buffer *made;
    NL_TRY(nl_buffer_new(memory, length + 8, false, &made));
    uint8_t *out = put_be32(made->data, (uint32_t)length);
    memcpy(out, magic, sizeof(magic));
    out = put(out + sizeof(magic), vector->part_count, 8);
    for (uint32_t i = 0; i < vector->part_count; i++) {
        out = put(out, vector->parts[i].key, 4);
        out += roaring_bitmap_portable_serialize(vector->parts[i].bitmap, (char *)out);
    }
    put_be32(out, nl_crc32(made->data + 4, length, 0));
    *blob = made;
    return NULL;
}

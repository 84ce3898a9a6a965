/* column/vector_hash.c - a 64-bit hash per row; equal values hash equal whatever their encoding.
 *
 * Leaves are hashed in runs of CHUNK rows into an array on the stack, nulls are patched from the bitmap, and the run
 * is stored or combined: three tight loops instead of branches per row. Integers of any width and decimals of any
 * precision hash by value. A dictionary's values are hashed once and the hashes stay with it.
 */
#include "base/decimal.h"
#include "base/hash.h"
#include "column/vector_internal.h"

#define CHUNK     256u
#define NULL_HASH 0x8f1bbcdc5a827999ull
#define LIST_SEED 0x6ed9eba1ca62c1d6ull

#define HASH_LOOP(type, expression)                       \
    do {                                                  \
        const type *values = (const type *)from + start;  \
        for (uint32_t i = 0; i < count; i++)              \
            out[i] = expression;                          \
    } while (0)

static inline uint64_t hash_double(double value)
{
    uint64_t bits;
    if (value == 0) value = 0.0; /* -0.0 */
    if (value != value) value = __builtin_nan("");
    memcpy(&bits, &value, 8);
    return nl_hash_u64(bits);
}

static inline uint64_t hash_i128(nl_int128 value)
{
    uint64_t low = (uint64_t)value;
    int64_t high = (int64_t)(value >> 64);
    uint64_t hash = nl_hash_u64(low);
    return high == (int64_t)low >> 63 ? hash : nl_hash_mix(hash, (uint64_t)high);
}

static inline uint64_t hash_view(const nl_string_view *view)
{
    if (view->length > NL_STRING_INLINE_MAX) return nl_hash_bytes(view->far.data, view->length, 0);
    uint64_t words[2];
    memcpy(words, view, 16); /* unused inline bytes are zero */
    return nl_hash_mix(nl_hash_u64(words[0]), words[1]);
}

static inline uint64_t hash_interval(const nl_interval *value)
{
    uint64_t calendar = (uint64_t)(uint32_t)value->months << 32 | (uint32_t)value->days;
    return nl_hash_mix(nl_hash_u64(calendar), (uint64_t)value->micros);
}

static void hash_leaves(nl_physical physical, const void *from, uint32_t start, uint32_t count, uint64_t *out)
{
    switch (physical) {
    case NL_PHYS_BOOL:
        HASH_LOOP(uint8_t, nl_hash_u64(values[i]));
        break;
    case NL_PHYS_I8:
        HASH_LOOP(int8_t, nl_hash_u64((uint64_t)(int64_t)values[i]));
        break;
    case NL_PHYS_I16:
        HASH_LOOP(int16_t, nl_hash_u64((uint64_t)(int64_t)values[i]));
        break;
    case NL_PHYS_I32:
        HASH_LOOP(int32_t, nl_hash_u64((uint64_t)(int64_t)values[i]));
        break;
    case NL_PHYS_I64:
        HASH_LOOP(int64_t, nl_hash_u64((uint64_t)values[i]));
        break;
    case NL_PHYS_I128:
        HASH_LOOP(nl_int128, hash_i128(values[i]));
        break;
    case NL_PHYS_F32:
        HASH_LOOP(float, hash_double((double)values[i]));
        break;
    case NL_PHYS_F64:
        HASH_LOOP(double, hash_double(values[i]));
        break;
    case NL_PHYS_STRING:
        HASH_LOOP(nl_string_view, hash_view(&values[i]));
        break;
    case NL_PHYS_INTERVAL:
        HASH_LOOP(nl_interval, hash_interval(&values[i]));
        break;
    case NL_PHYS_NONE:
        for (uint32_t i = 0; i < count; i++)
            out[i] = NULL_HASH;
        break;
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        NL_ASSERT(!"nested values are hashed through their children");
        break;
    }
}

static void patch_nulls(const uint8_t *validity, uint32_t start, uint32_t count, uint64_t *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = nl_bit_get(validity, start + i) ? out[i] : NULL_HASH;
}

static void deliver(const uint64_t *from, uint32_t count, bool is_combining, uint64_t *hashes)
{
    if (!is_combining) {
        memcpy(hashes, from, count * sizeof *from);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        hashes[i] = nl_hash_mix(hashes[i], from[i]);
}

static void hash_flat(const nl_vector *vector, uint32_t row_count, bool is_combining, uint64_t *hashes)
{
    uint64_t run[CHUNK];
    for (uint32_t start = 0; start < row_count; start += CHUNK) {
        uint32_t count = NL_MIN(CHUNK, row_count - start);
        hash_leaves(vector->type->physical, vector->values, start, count, run);
        if (vector->validity) patch_nulls(vector->validity, start, count, run);
        deliver(run, count, is_combining, hashes + start);
    }
}

/* values[indices[row]], null rows patched, stored or combined. */
static void hash_indexed(const nl_vector *vector, const uint64_t *values, uint32_t row_count, bool is_combining,
                         uint64_t *hashes)
{
    uint64_t run[CHUNK];
    for (uint32_t start = 0; start < row_count; start += CHUNK) {
        uint32_t count = NL_MIN(CHUNK, row_count - start);
        nl_gather(run, values, vector->indices + start, count, sizeof *values);
        if (vector->validity) patch_nulls(vector->validity, start, count, run);
        deliver(run, count, is_combining, hashes + start);
    }
}

static nl_status new_hashes(uint32_t count, nl_buffer **buffer, uint64_t **hashes)
{
    NL_TRY(nl_buffer_new(NULL, nl_size_mul(sizeof(uint64_t), count), false, buffer));
    *hashes = (uint64_t *)(void *)(*buffer)->data;
    return NULL;
}

/* The dictionary's hashes, made and published by whichever thread comes first; NULL when they do not pay yet. */
static nl_status dictionary_hashes(nl_shared_vector *dictionary, uint32_t row_count, const uint64_t **hashes)
{
    nl_buffer *known = atomic_load_explicit(&dictionary->hashes, memory_order_acquire);
    if (!known) {
        uint32_t value_count = dictionary->vector.length;
        uint32_t before = atomic_fetch_add_explicit(&dictionary->hashed_rows, row_count, memory_order_relaxed);
        if ((uint64_t)before + 2 * (uint64_t)row_count < value_count) return NULL;
        nl_buffer *made;
        uint64_t *values;
        NL_TRY(new_hashes(NL_MAX(value_count, 1), &made, &values));
        values[0] = NULL_HASH; /* an empty dictionary is read at index 0 by its null rows */
        nl_status status = nl_vector_hash(&dictionary->vector, value_count, false, values);
        if (status) {
            nl_buffer_release(made);
            return status;
        }
        if (atomic_compare_exchange_strong_explicit(&dictionary->hashes, &known, made, memory_order_acq_rel,
                                                    memory_order_acquire))
            known = made;
        else
            nl_buffer_release(made);
    }
    *hashes = (const uint64_t *)(const void *)known->data;
    return NULL;
}

static nl_status hash_dictionary(const nl_vector *vector, uint32_t row_count, bool is_combining, uint64_t *hashes)
{
    const uint64_t *values = NULL;
    NL_TRY(dictionary_hashes(vector->dictionary, row_count, &values));
    if (values) {
        hash_indexed(vector, values, row_count, is_combining, hashes);
        return NULL;
    }
    nl_vector flat;
    NL_TRY(nl_vector_flatten(vector, false, NULL, &flat));
    nl_status status = nl_vector_hash(&flat, row_count, is_combining, hashes);
    nl_vector_fini(&flat);
    return status;
}

static nl_status hash_constant(const nl_vector *vector, uint32_t row_count, bool is_combining, uint64_t *hashes)
{
    uint64_t hash = 0;
    nl_vector one;
    NL_TRY(nl_vector_slice(vector, 0, 1, NULL, &one));
    one.encoding = NL_FLAT; /* children of a constant hold one row, as those of a flat vector of one row do */
    nl_status status = nl_vector_hash(&one, 1, false, &hash);
    nl_vector_fini(&one);
    NL_TRY(status);
    for (uint32_t row = 0; row < row_count; row++)
        hashes[row] = is_combining ? nl_hash_mix(hashes[row], hash) : hash;
    return NULL;
}

/* Lists in order; maps as sets of entries, so that equal maps hash equal whatever their order. */
static void fold_elements(const nl_vector *list, const uint64_t *elements, uint32_t row_count, uint64_t *out)
{
    const nl_list_view *views = list->values;
    bool is_ordered = list->type->id == NL_TYPE_ARRAY;
    for (uint32_t row = 0; row < row_count; row++) {
        uint64_t hash = nl_hash_mix(LIST_SEED, views[row].length);
        for (uint32_t i = 0; i < views[row].length; i++) {
            uint64_t element = elements[views[row].offset + i];
            hash = is_ordered ? nl_hash_mix(hash, element) : hash + nl_hash_u64(element);
        }
        out[row] = hash;
    }
}

static nl_status hash_list(const nl_vector *vector, uint32_t row_count, uint64_t *out)
{
    nl_vector dense;
    NL_TRY(nl_vector_dense_list(vector, NULL, &dense));
    uint32_t element_count = dense.children[0].length;
    nl_buffer *buffer = NULL;
    uint64_t *elements = NULL;
    nl_status status = new_hashes(element_count, &buffer, &elements);
    for (uint32_t i = 0; !status && i < dense.child_count; i++)
        status = nl_vector_hash(&dense.children[i], element_count, i > 0, elements);
    if (!status) fold_elements(&dense, elements, row_count, out);
    nl_buffer_release(buffer);
    nl_vector_fini(&dense);
    return status;
}

static nl_status hash_nested(const nl_vector *vector, uint32_t row_count, bool is_combining, uint64_t *hashes)
{
    nl_buffer *buffer;
    uint64_t *own;
    NL_TRY(new_hashes(row_count, &buffer, &own));
    nl_status status = NULL;
    if (vector->type->physical == NL_PHYS_LIST) {
        status = hash_list(vector, row_count, own);
    } else {
        for (uint32_t row = 0; row < row_count; row++)
            own[row] = LIST_SEED;
        for (uint32_t i = 0; !status && i < vector->child_count; i++)
            status = nl_vector_hash(&vector->children[i], row_count, true, own);
    }
    if (!status) {
        if (vector->validity) patch_nulls(vector->validity, 0, row_count, own);
        deliver(own, row_count, is_combining, hashes);
    }
    nl_buffer_release(buffer);
    return status;
}

nl_status nl_vector_hash(const nl_vector *vector, uint32_t row_count, bool is_combining, uint64_t *hashes)
{
    NL_ASSERT(row_count <= vector->length);
    if (row_count == 0) return NULL;
    if (vector->encoding == NL_CONSTANT) return hash_constant(vector, row_count, is_combining, hashes);
    if (vector->encoding == NL_DICTIONARY) return hash_dictionary(vector, row_count, is_combining, hashes);
    if (vector->type->physical == NL_PHYS_LIST || vector->type->physical == NL_PHYS_STRUCT)
        return hash_nested(vector, row_count, is_combining, hashes);
    hash_flat(vector, row_count, is_combining, hashes);
    return NULL;
}

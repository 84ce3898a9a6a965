/* column/vector.c - making, sharing and ending vectors. Moving rows is in vector_take.c and vector_concat.c. */
#include <stdlib.h>

#include "column/vector_internal.h"

/* Children arrays and dictionary heads are a few hundred bytes of structure; like an arena, their allocation is not
 * allowed to fail: a system without that much memory cannot run the error path either. */
static void *alloc_structure(size_t count, size_t size)
{
    void *made = calloc(count, size);
    if (!made) nl_assert_failed("memory for the structure of a vector", NL_HERE);
    return made;
}

uint32_t nl_vector_child_count(const nl_type *type)
{
    return type->id == NL_TYPE_VARIANT ? 2 : type->child_count;
}

const nl_type *nl_vector_child_type(const nl_type *type, uint32_t i)
{
    return type->id == NL_TYPE_VARIANT ? nl_type_binary() : type->children[i].type;
}

static void start_children(nl_vector *vector)
{
    vector->child_count = nl_vector_child_count(vector->type);
    if (vector->child_count) vector->children = alloc_structure(vector->child_count, sizeof *vector->children);
}

nl_status nl_vector_start(nl_vector *vector, const nl_type *type, uint32_t length, bool is_zeroed, nl_memory *memory)
{
    *vector = (nl_vector){.type = type, .encoding = NL_FLAT, .length = length};
    uint32_t size = nl_physical_size(type->physical);
    if (size) {
        NL_TRY(nl_buffer_new(memory, nl_size_mul(size, length), is_zeroed, &vector->values_buffer));
        vector->values = vector->values_buffer->data;
    }
    start_children(vector);
    if (type->id == NL_TYPE_NULL && length) {
        uint8_t *bits;
        NL_TRY(nl_vector_start_validity(vector, memory, &bits));
        nl_bits_fill(bits, 0, length, false);
        vector->null_count = length;
    }
    return NULL;
}

nl_status nl_vector_start_validity(nl_vector *vector, nl_memory *memory, uint8_t **bits)
{
    NL_ASSERT(!vector->validity);
    size_t words = ((size_t)vector->length + 63) / 64;
    NL_TRY(nl_buffer_new(memory, words * 8, false, &vector->validity_buffer));
    vector->validity = vector->validity_buffer->data;
    vector->null_count = UINT32_MAX;
    *bits = vector->validity_buffer->data;
    return NULL;
}

void nl_vector_settle_validity(nl_vector *vector, uint32_t null_count)
{
    vector->null_count = null_count;
    if (null_count || vector->type->id == NL_TYPE_NULL) return;
    nl_buffer_release(vector->validity_buffer);
    vector->validity_buffer = NULL;
    vector->validity = NULL;
}

nl_status nl_vector_new_flat(nl_vector *vector, const nl_type *type, uint32_t length, nl_memory *memory)
{
    nl_vector made = {0};
    nl_status status = nl_vector_start(&made, type, length, true, memory);
    uint32_t child_length = type->physical == NL_PHYS_STRUCT ? length : 0;
    for (uint32_t i = 0; !status && i < made.child_count; i++)
        status = nl_vector_new_flat(&made.children[i], nl_vector_child_type(type, i), child_length, memory);
    if (status) {
        nl_vector_fini(&made);
        return status;
    }
    *vector = made;
    return NULL;
}

nl_status nl_vector_new_null(nl_vector *vector, const nl_type *type, uint32_t length, nl_memory *memory)
{
    nl_vector made;
    NL_TRY(nl_vector_new_flat(&made, type, 1, memory));
    uint8_t *bits;
    nl_status status = nl_vector_make_validity(&made, memory, &bits);
    if (status) {
        nl_vector_fini(&made);
        return status;
    }
    bits[0] = 0;
    made.encoding = NL_CONSTANT;
    made.length = length;
    made.null_count = length;
    *vector = made;
    return NULL;
}

nl_status nl_vector_make_validity(nl_vector *vector, nl_memory *memory, uint8_t **bits)
{
    if (!vector->validity) {
        NL_TRY(nl_vector_start_validity(vector, memory, bits));
        memset(*bits, 0xff, vector->validity_buffer->size_bytes);
        return NULL;
    }
    NL_ASSERT(vector->validity_buffer);
    vector->null_count = UINT32_MAX;
    *bits = (uint8_t *)(uintptr_t)vector->validity;
    return NULL;
}

nl_status nl_vector_make_heap(nl_vector *vector, nl_memory *memory, nl_heap **heap)
{
    if (!vector->heap) NL_TRY(nl_heap_new(memory, &vector->heap));
    *heap = vector->heap;
    return NULL;
}

void nl_vector_set_child(nl_vector *vector, uint32_t i, nl_vector *child)
{
    NL_ASSERT(i < vector->child_count);
    nl_vector_fini(&vector->children[i]);
    nl_vector_move(child, &vector->children[i]);
}

void nl_vector_fini(nl_vector *vector)
{
    nl_buffer_release(vector->validity_buffer);
    nl_buffer_release(vector->values_buffer);
    nl_heap_release(vector->heap);
    if (vector->dictionary) nl_shared_vector_release(vector->dictionary);
    for (uint32_t i = 0; i < vector->child_count; i++)
        nl_vector_fini(&vector->children[i]);
    free(vector->children);
    *vector = (nl_vector){0};
}

void nl_vector_ref(const nl_vector *source, nl_vector *target)
{
    nl_vector copy = *source;
    nl_buffer_retain(copy.validity_buffer);
    nl_buffer_retain(copy.values_buffer);
    nl_heap_retain(copy.heap);
    if (copy.dictionary) nl_shared_vector_retain(copy.dictionary);
    if (copy.child_count) {
        copy.children = alloc_structure(copy.child_count, sizeof *copy.children);
        for (uint32_t i = 0; i < copy.child_count; i++)
            nl_vector_ref(&source->children[i], &copy.children[i]);
    }
    *target = copy;
}

void nl_vector_move(nl_vector *source, nl_vector *target)
{
    *target = *source;
    *source = (nl_vector){0};
}

nl_shared_vector *nl_shared_vector_new(nl_vector *vector)
{
    static atomic_uint_fast64_t last_identity; /* process state: only its uniqueness matters */
    NL_ASSERT(vector->encoding == NL_FLAT);
    nl_shared_vector *shared = alloc_structure(1, sizeof *shared);
    nl_vector_move(vector, &shared->vector);
    shared->identity = atomic_fetch_add_explicit(&last_identity, 1, memory_order_relaxed) + 1;
    atomic_init(&shared->references, 1);
    atomic_init(&shared->hashes, NULL);
    atomic_init(&shared->hashed_rows, 0);
    return shared;
}

nl_shared_vector *nl_shared_vector_retain(nl_shared_vector *shared)
{
    atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    return shared;
}

void nl_shared_vector_release(nl_shared_vector *shared)
{
    if (!shared || atomic_fetch_sub_explicit(&shared->references, 1, memory_order_acq_rel) != 1) return;
    nl_buffer_release(atomic_load_explicit(&shared->hashes, memory_order_relaxed));
    nl_vector_fini(&shared->vector);
    free(shared);
}

void nl_reader_init(nl_reader *reader, const nl_vector *vector)
{
    *reader = (nl_reader){.values = vector->values, .validity = vector->validity, .row_mask = UINT32_MAX};
    if (vector->encoding == NL_CONSTANT) {
        reader->row_mask = 0;
    } else if (vector->encoding == NL_DICTIONARY) {
        reader->values = vector->dictionary->vector.values;
        reader->indices = vector->indices;
    }
}

/* A dictionary's values carry the type too, so they are shared under the new one: the shared vector itself must not
 * change under its other owners. */
void nl_vector_relabel(nl_vector *vector, const nl_type *type)
{
    NL_ASSERT(vector->type->physical == type->physical);
    vector->type = type;
    for (uint32_t i = 0; i < vector->child_count; i++)
        nl_vector_relabel(&vector->children[i], nl_vector_child_type(type, i));
    if (vector->encoding != NL_DICTIONARY || vector->dictionary->vector.type == type) return;
    nl_vector values;
    nl_vector_ref(&vector->dictionary->vector, &values);
    nl_vector_relabel(&values, type);
    nl_shared_vector_release(vector->dictionary);
    vector->dictionary = nl_shared_vector_new(&values);
}

size_t nl_vector_bytes(const nl_vector *vector)
{
    size_t bytes = nl_heap_bytes(vector->heap);
    if (vector->validity_buffer) bytes += vector->validity_buffer->size_bytes;
    if (vector->values_buffer) bytes += vector->values_buffer->size_bytes;
    if (vector->dictionary) bytes += nl_vector_bytes(&vector->dictionary->vector);
    for (uint32_t i = 0; i < vector->child_count; i++)
        bytes += nl_vector_bytes(&vector->children[i]);
    return bytes;
}

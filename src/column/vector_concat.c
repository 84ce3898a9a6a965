/* column/vector_concat.c - vectors of one type, of any encodings, one after the other as one FLAT vector. */
#include <stdlib.h>

#include "column/vector_internal.h"

typedef struct parts {
    const nl_vector *const *items;
    uint32_t count;
    nl_memory *memory;
} parts;

static nl_status check_total(uint64_t total)
{
    if (total <= UINT32_MAX) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A column of %llu values; at most %u lie in one piece.",
                         (unsigned long long)total, UINT32_MAX);
}

static nl_status concat_validity(parts in, nl_vector *made)
{
    bool has_nulls = false;
    for (uint32_t i = 0; i < in.count; i++)
        has_nulls |= in.items[i]->validity != NULL && in.items[i]->length > 0;
    if (!has_nulls || made->validity) return NULL;
    uint8_t *bits;
    NL_TRY(nl_vector_start_validity(made, in.memory, &bits));
    uint32_t start = 0;
    for (uint32_t i = 0; i < in.count; i++) {
        const nl_vector *part = in.items[i];
        if (part->validity && part->encoding != NL_CONSTANT)
            nl_bits_copy(bits, start, part->validity, 0, part->length);
        else
            nl_bits_fill(bits, start, part->length, part->length == 0 || !nl_vector_is_null(part, 0));
        start += part->length;
    }
    nl_vector_settle_validity(made, made->length - nl_bits_count(bits, 0, made->length));
    return NULL;
}

static void fill_slots(uint8_t *target, const void *value, uint32_t count, uint32_t size)
{
    if (count == 0 || size == 0) return;
    memcpy(target, value, size);
    size_t done = size;
    size_t all = (size_t)count * size;
    while (done < all) { /* doubling copies */
        size_t more = NL_MIN(done, all - done);
        memcpy(target + done, target, more);
        done += more;
    }
}

/* Fixed-width values and string views. Returns through *needs_zeroing whether null slots may hold something. */
static void concat_values(parts in, nl_vector *made)
{
    uint32_t size = nl_physical_size(made->type->physical);
    uint8_t *target = nl_vector_values(made);
    bool needs_zeroing = false;
    for (uint32_t i = 0; i < in.count; i++) {
        const nl_vector *part = in.items[i];
        size_t bytes = (size_t)part->length * size;
        switch (part->encoding) {
        case NL_FLAT:
            if (bytes) memcpy(target, part->values, bytes);
            break;
        case NL_CONSTANT:
            fill_slots(target, part->values, part->length, size);
            break;
        case NL_DICTIONARY:
            if (part->dictionary->vector.length)
                nl_gather(target, part->dictionary->vector.values, part->indices, part->length, size);
            else if (bytes)
                memset(target, 0, bytes);
            needs_zeroing |= part->validity != NULL;
            break;
        }
        target += bytes;
    }
    if (needs_zeroing) nl_vector_zero_nulls(made);
}

static nl_heap *heap_of(const nl_vector *part)
{
    return part->encoding == NL_DICTIONARY ? part->dictionary->vector.heap : part->heap;
}

/* One heap is shared; several are kept alive by a new one. */
static nl_status concat_heaps(parts in, nl_vector *made)
{
    nl_heap *only = NULL;
    bool is_single = true;
    for (uint32_t i = 0; i < in.count; i++) {
        nl_heap *heap = heap_of(in.items[i]);
        if (!heap) continue;
        is_single &= only == NULL || only == heap;
        only = heap;
    }
    if (is_single) {
        made->heap = nl_heap_retain(only);
        return NULL;
    }
    NL_TRY(nl_heap_new(in.memory, &made->heap));
    for (uint32_t i = 0; i < in.count; i++)
        NL_TRY(nl_heap_keep(made->heap, heap_of(in.items[i])));
    return NULL;
}

/* Vectors made on the way, with an array of pointers to them for the recursion. */
typedef struct scratch {
    nl_vector *vectors;
    const nl_vector **pointers;
    uint32_t count;
} scratch;

static void scratch_fini(scratch *held)
{
    for (uint32_t i = 0; held->vectors && i < held->count; i++)
        nl_vector_fini(&held->vectors[i]);
    free(held->vectors);
    free(held->pointers);
}

static nl_status scratch_init(scratch *held, uint32_t count)
{
    held->count = count;
    held->vectors = calloc(count, sizeof *held->vectors);
    held->pointers = calloc(count, sizeof *held->pointers);
    if (held->vectors && held->pointers) return NULL;
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)count * (int64_t)sizeof(nl_vector)),
                    NL_P_INT("receivedBytes", 0));
}

static nl_status concat_struct(parts in, nl_vector *made)
{
    nl_status status = NULL;
    for (uint32_t child = 0; !status && child < made->child_count; child++) {
        scratch made_children = {0};
        status = scratch_init(&made_children, in.count);
        for (uint32_t i = 0; !status && i < in.count; i++) {
            status = nl_vector_struct_child(in.items[i], child, in.memory, &made_children.vectors[i]);
            made_children.pointers[i] = &made_children.vectors[i];
        }
        if (!status) status = nl_vector_concat(made_children.pointers, in.count, in.memory, &made->children[child]);
        scratch_fini(&made_children);
    }
    return status;
}

static uint64_t used_elements(const nl_vector *list)
{
    const nl_list_view *views = list->values;
    uint64_t used = 0;
    for (uint32_t row = 0; row < list->length; row++)
        used += views[row].length;
    return used;
}

/* A flat list whose children hold little that is not used: a part that came out of a filter would otherwise bring
 * the elements of all the rows that were dropped. */
static nl_status trim_list(const nl_vector *source, nl_memory *memory, nl_vector *target)
{
    nl_vector flat;
    NL_TRY(nl_vector_flatten(source, false, memory, &flat));
    if (used_elements(&flat) >= flat.children[0].length) {
        *target = flat;
        return NULL;
    }
    nl_status status = nl_vector_dense_list(&flat, memory, target);
    nl_vector_fini(&flat);
    return status;
}

static nl_status concat_lists(parts in, nl_vector *made, scratch *trimmed)
{
    nl_list_view *target = nl_vector_values(made);
    uint64_t base = 0;
    for (uint32_t i = 0; i < in.count; i++) {
        nl_vector *part = &trimmed->vectors[i];
        NL_TRY(trim_list(in.items[i], in.memory, part));
        NL_TRY(check_total(base + part->children[0].length));
        const nl_list_view *views = part->values;
        for (uint32_t row = 0; row < part->length; row++)
            target[row] = (nl_list_view){views[row].length ? views[row].offset + (uint32_t)base : 0, views[row].length};
        target += part->length;
        base += part->children[0].length;
    }
    for (uint32_t child = 0; child < made->child_count; child++) {
        for (uint32_t i = 0; i < in.count; i++)
            trimmed->pointers[i] = &trimmed->vectors[i].children[child];
        NL_TRY(nl_vector_concat(trimmed->pointers, in.count, in.memory, &made->children[child]));
    }
    return NULL;
}

static nl_status concat_into(parts in, nl_vector *made)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < in.count; i++)
        total += in.items[i]->length;
    NL_TRY(check_total(total));
    NL_TRY(nl_vector_start(made, in.items[0]->type, (uint32_t)total, false, in.memory));
    NL_TRY(concat_validity(in, made));
    if (made->type->physical == NL_PHYS_STRUCT) return concat_struct(in, made);
    if (made->type->physical == NL_PHYS_LIST) {
        scratch trimmed = {0};
        nl_status status = scratch_init(&trimmed, in.count);
        if (!status) status = concat_lists(in, made, &trimmed);
        scratch_fini(&trimmed);
        return status;
    }
    concat_values(in, made);
    return made->type->physical == NL_PHYS_STRING ? concat_heaps(in, made) : NULL;
}

nl_status nl_vector_concat(const nl_vector *const *vectors, uint32_t part_count, nl_memory *memory, nl_vector *target)
{
    NL_ASSERT(part_count > 0);
    if (part_count == 1) return nl_vector_flatten(vectors[0], false, memory, target);
    nl_vector made = {0};
    nl_status status = concat_into((parts){vectors, part_count, memory}, &made);
    if (status)
        nl_vector_fini(&made);
    else
        *target = made;
    return status;
}

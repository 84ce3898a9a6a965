/* column/vector_own.c - nl_vector_own: strings leave the heaps that they share with others. */
#include "column/vector.h"

static nl_status own_strings(nl_vector *vector, nl_memory *memory)
{
    nl_vector made = {0};
    nl_heap *heap = NULL;
    NL_TRY(nl_vector_new_flat(&made, vector->type, vector->length, memory));
    nl_status status = nl_vector_make_heap(&made, memory, &heap);
    const nl_string_view *from = vector->values;
    nl_string_view *to = nl_vector_values(&made);
    for (uint32_t row = 0; row < vector->length && !status; row++)
        if (!nl_vector_is_null(vector, row)) status = nl_heap_add(heap, nl_view_str(&from[row]), &to[row]);
    if (status) {
        nl_vector_fini(&made);
        return status;
    }
    nl_heap_release(vector->heap);
    nl_buffer_release(vector->values_buffer);
    vector->heap = made.heap;
    vector->values = made.values;
    vector->values_buffer = made.values_buffer;
    made.heap = NULL;
    made.values_buffer = NULL;
    nl_vector_fini(&made);
    return NULL;
}

static nl_status own_flat(nl_vector *vector, nl_memory *memory)
{
    if (vector->type->physical == NL_PHYS_STRING) return vector->heap ? own_strings(vector, memory) : NULL;
    for (uint32_t i = 0; i < vector->child_count; i++) {
        nl_vector child = {0};
        NL_TRY(nl_vector_own(&vector->children[i], memory, &child));
        nl_vector_fini(&vector->children[i]);
        nl_vector_move(&child, &vector->children[i]);
    }
    return NULL;
}

nl_status nl_vector_own(const nl_vector *source, nl_memory *memory, nl_vector *target)
{
    nl_vector made = {0};
    NL_TRY(nl_vector_flatten(source, true, memory, &made));
    nl_status status = own_flat(&made, memory);
    if (status)
        nl_vector_fini(&made);
    else
        nl_vector_move(&made, target);
    return status;
}

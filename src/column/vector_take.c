/* column/vector_take.c - choosing rows: take, slice, flatten.
 *
 * Dispatch is once per vector; the loops over rows are plain gathers. A gathered list column keeps its children whole
 * and only its views are chosen, so a take costs the same whatever lies inside; nl_vector_dense_list cleans up where
 * an exact layout is needed.
 */
#include "column/vector_internal.h"

#define GATHER_LOOP(type)                                   \
    do {                                                    \
        const type *restrict from = source;                 \
        type *restrict to = target;                         \
        for (uint32_t i = 0; i < count; i++)                \
            to[i] = from[rows[i]];                          \
    } while (0)

typedef struct bytes16 {
    uint64_t low;
    uint64_t high;
} bytes16;

void nl_gather(void *target, const void *source, const uint32_t *rows, uint32_t count, uint32_t size)
{
    switch (size) {
    case 0:
        break;
    case 1:
        GATHER_LOOP(uint8_t);
        break;
    case 2:
        GATHER_LOOP(uint16_t);
        break;
    case 4:
        GATHER_LOOP(uint32_t);
        break;
    case 8:
        GATHER_LOOP(uint64_t);
        break;
    default:
        NL_ASSERT(size == 16);
        GATHER_LOOP(bytes16);
        break;
    }
}

#define FILL_LOOP(type)                      \
    do {                                     \
        type value;                          \
        memcpy(&value, source, sizeof value); \
        type *to = target;                   \
        for (uint32_t i = 0; i < count; i++) \
            to[i] = value;                   \
    } while (0)

static void fill(void *target, const void *source, uint32_t count, uint32_t size)
{
    switch (size) {
    case 0:
        break;
    case 1:
        FILL_LOOP(uint8_t);
        break;
    case 2:
        FILL_LOOP(uint16_t);
        break;
    case 4:
        FILL_LOOP(uint32_t);
        break;
    case 8:
        FILL_LOOP(uint64_t);
        break;
    default:
        NL_ASSERT(size == 16);
        FILL_LOOP(bytes16);
        break;
    }
}

void nl_vector_zero_nulls(nl_vector *vector)
{
    uint32_t size = nl_physical_size(vector->type->physical);
    if (!vector->validity || size == 0) return;
    uint8_t *values = nl_vector_values(vector);
    for (uint32_t start = 0; start < vector->length; start += 8) {
        uint32_t nulls = (uint8_t)~vector->validity[start >> 3];
        for (; nulls; nulls &= nulls - 1) {
            uint32_t row = start + (uint32_t)__builtin_ctz(nulls);
            if (row < vector->length) memset(values + (size_t)row * size, 0, size);
        }
    }
}

/* Ends a half-made vector on failure, hands it out on success. */
static nl_status hand_out(nl_status status, nl_vector *made, nl_vector *target)
{
    if (status)
        nl_vector_fini(made);
    else
        *target = *made;
    return status;
}

static nl_status take_validity(const nl_vector *source, const uint32_t *rows, nl_memory *memory, nl_vector *made)
{
    if (!source->validity || made->validity) return NULL;
    uint8_t *bits;
    NL_TRY(nl_vector_start_validity(made, memory, &bits));
    nl_vector_settle_validity(made, made->length - nl_bits_gather(bits, source->validity, rows, made->length));
    return NULL;
}

static nl_status take_flat(const nl_vector *source, const uint32_t *rows, uint32_t count, nl_memory *memory,
                           nl_vector *made)
{
    NL_TRY(nl_vector_start(made, source->type, count, false, memory));
    nl_gather(nl_vector_values(made), source->values, rows, count, nl_physical_size(source->type->physical));
    made->heap = nl_heap_retain(source->heap);
    for (uint32_t i = 0; i < made->child_count; i++) {
        if (source->type->physical == NL_PHYS_LIST)
            nl_vector_ref(&source->children[i], &made->children[i]);
        else
            NL_TRY(nl_vector_take(&source->children[i], rows, count, memory, &made->children[i]));
    }
    return take_validity(source, rows, memory, made);
}

static nl_status take_dictionary(const nl_vector *source, const uint32_t *rows, uint32_t count, nl_memory *memory,
                                 nl_vector *made)
{
    *made = (nl_vector){.type = source->type, .encoding = NL_DICTIONARY, .length = count};
    NL_TRY(nl_buffer_new(memory, nl_size_mul(sizeof(uint32_t), count), false, &made->values_buffer));
    made->indices = (const uint32_t *)(const void *)made->values_buffer->data;
    nl_gather(made->values_buffer->data, source->indices, rows, count, sizeof(uint32_t));
    made->dictionary = nl_shared_vector_retain(source->dictionary);
    return take_validity(source, rows, memory, made);
}

nl_status nl_vector_take(const nl_vector *source, const uint32_t *rows, uint32_t count, nl_memory *memory,
                         nl_vector *target)
{
    nl_vector made = {0};
    nl_status status = NULL;
    switch (source->encoding) {
    case NL_CONSTANT:
        nl_vector_ref(source, &made);
        made.length = count;
        made.null_count = nl_vector_is_null(source, 0) ? count : 0;
        break;
    case NL_DICTIONARY:
        status = take_dictionary(source, rows, count, memory, &made);
        break;
    case NL_FLAT:
        status = take_flat(source, rows, count, memory, &made);
        break;
    }
    return hand_out(status, &made, target);
}

/* Moves the bitmap of *made, still the source's, to `start`: by pointer when that is a byte's border. */
static nl_status slice_validity(nl_vector *made, uint32_t start, nl_memory *memory)
{
    const uint8_t *source = made->validity;
    if (!source) return NULL;
    uint32_t null_count = made->length - nl_bits_count(source, start, made->length);
    if (null_count && start % 8 == 0) {
        made->validity = source + start / 8;
        made->null_count = null_count;
        return NULL;
    }
    nl_buffer *shared = made->validity_buffer;
    made->validity = NULL;
    made->validity_buffer = NULL;
    made->null_count = null_count;
    nl_status status = NULL;
    uint8_t *bits;
    if (null_count && !(status = nl_vector_start_validity(made, memory, &bits))) {
        nl_bits_copy(bits, 0, source, start, made->length);
        made->null_count = null_count;
    }
    nl_buffer_release(shared);
    return status;
}

static nl_status slice_rows(const nl_vector *source, uint32_t start, uint32_t count, nl_memory *memory,
                            nl_vector *made)
{
    nl_vector_ref(source, made);
    made->length = count;
    if (source->encoding == NL_CONSTANT) {
        made->null_count = nl_vector_is_null(source, 0) ? count : 0;
        return NULL;
    }
    if (source->encoding == NL_DICTIONARY)
        made->indices = source->indices + start;
    else if (source->values)
        made->values = (const uint8_t *)source->values + (size_t)start * nl_physical_size(source->type->physical);
    if (source->type->physical == NL_PHYS_STRUCT && source->encoding == NL_FLAT) {
        for (uint32_t i = 0; i < made->child_count; i++) {
            nl_vector child;
            NL_TRY(nl_vector_slice(&source->children[i], start, count, memory, &child));
            nl_vector_set_child(made, i, &child);
        }
    }
    return slice_validity(made, start, memory);
}

nl_status nl_vector_slice(const nl_vector *source, uint32_t start, uint32_t count, nl_memory *memory,
                          nl_vector *target)
{
    NL_ASSERT((uint64_t)start + count <= source->length);
    if (start == 0 && count == source->length) {
        nl_vector_ref(source, target);
        return NULL;
    }
    nl_vector made = {0};
    return hand_out(slice_rows(source, start, count, memory, &made), &made, target);
}

nl_status nl_vector_spread(const nl_vector *one_row, uint32_t length, nl_memory *memory, nl_vector *target)
{
    NL_ASSERT(one_row->length >= 1 || one_row->encoding == NL_CONSTANT);
    if (one_row->encoding == NL_DICTIONARY) {
        NL_TRY(nl_vector_flatten(one_row, false, memory, target));
    } else {
        nl_vector_ref(one_row, target);
    }
    target->encoding = NL_CONSTANT;
    target->length = length;
    target->null_count = nl_vector_is_null(target, 0) ? length : 0;
    return NULL;
}

static nl_status flatten_constant(const nl_vector *source, nl_memory *memory, nl_vector *made)
{
    NL_TRY(nl_vector_start(made, source->type, source->length, false, memory));
    fill(nl_vector_values(made), source->values, source->length, nl_physical_size(source->type->physical));
    made->heap = nl_heap_retain(source->heap);
    for (uint32_t i = 0; i < made->child_count; i++) {
        if (source->type->physical == NL_PHYS_LIST)
            nl_vector_ref(&source->children[i], &made->children[i]);
        else
            NL_TRY(nl_vector_spread(&source->children[i], source->length, memory, &made->children[i]));
    }
    if (made->validity || !nl_vector_is_null(source, 0)) return NULL;
    uint8_t *bits;
    NL_TRY(nl_vector_start_validity(made, memory, &bits));
    nl_bits_fill(bits, 0, made->length, false);
    made->null_count = made->length;
    return NULL;
}

static nl_status flatten_dictionary(const nl_vector *source, nl_memory *memory, nl_vector *made)
{
    const nl_vector *values = &source->dictionary->vector;
    if (values->length == 0) /* then every row is null, and index 0 points nowhere */
        NL_TRY(nl_vector_new_flat(made, source->type, source->length, memory));
    else
        NL_TRY(take_flat(values, source->indices, source->length, memory, made));
    made->type = source->type;
    if (!source->validity || made->validity) return NULL;
    made->validity = source->validity;
    made->validity_buffer = nl_buffer_retain(source->validity_buffer);
    made->null_count = source->null_count;
    nl_vector_zero_nulls(made);
    return NULL;
}

static nl_status flatten_children(nl_vector *made, nl_memory *memory)
{
    for (uint32_t i = 0; i < made->child_count; i++) {
        nl_vector child;
        NL_TRY(nl_vector_flatten(&made->children[i], true, memory, &child));
        nl_vector_set_child(made, i, &child);
    }
    return NULL;
}

nl_status nl_vector_flatten(const nl_vector *source, bool is_deep, nl_memory *memory, nl_vector *target)
{
    nl_vector made = {0};
    nl_status status = NULL;
    switch (source->encoding) {
    case NL_FLAT:
        nl_vector_ref(source, &made);
        break;
    case NL_CONSTANT:
        status = flatten_constant(source, memory, &made);
        break;
    case NL_DICTIONARY:
        status = flatten_dictionary(source, memory, &made);
        break;
    }
    if (!status && is_deep) status = flatten_children(&made, memory);
    return hand_out(status, &made, target);
}

nl_status nl_vector_struct_child(const nl_vector *parent, uint32_t i, nl_memory *memory, nl_vector *child)
{
    NL_ASSERT(parent->type->physical == NL_PHYS_STRUCT);
    switch (parent->encoding) {
    case NL_CONSTANT:
        return nl_vector_spread(&parent->children[i], parent->length, memory, child);
    case NL_DICTIONARY: {
        const nl_vector *values = &parent->dictionary->vector;
        if (values->length) return nl_vector_take(&values->children[i], parent->indices, parent->length, memory, child);
        return nl_vector_new_null(child, nl_vector_child_type(parent->type, i), parent->length, memory);
    }
    case NL_FLAT:
        break;
    }
    nl_vector_ref(&parent->children[i], child);
    return NULL;
}

/* True when the views already lie in order over the whole of the children. */
static bool is_dense(const nl_vector *list)
{
    const nl_list_view *views = list->values;
    uint64_t expected = 0;
    for (uint32_t row = 0; row < list->length; row++) {
        if (views[row].length && views[row].offset != expected) return false;
        expected += views[row].length;
    }
    return expected == list->children[0].length;
}

/* Chooses the elements in view order. *made is a FLAT list that shares its children and may share its views. */
static nl_status make_dense(const nl_vector *source, nl_memory *memory, nl_vector *made)
{
    const nl_list_view *views = source->values;
    uint64_t element_count = 0;
    for (uint32_t row = 0; row < source->length; row++)
        element_count += views[row].length;
    if (element_count > UINT32_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A column of lists with more than %u elements.", UINT32_MAX);
    NL_TRY(nl_vector_start(made, source->type, source->length, false, memory));
    made->validity = source->validity;
    made->validity_buffer = nl_buffer_retain(source->validity_buffer);
    made->null_count = source->null_count;
    nl_buffer *rows;
    NL_TRY(nl_buffer_new(memory, nl_size_mul(sizeof(uint32_t), element_count), false, &rows));
    uint32_t *row_of = (uint32_t *)(void *)rows->data;
    nl_list_view *dense = nl_vector_values(made);
    uint32_t offset = 0;
    for (uint32_t row = 0; row < source->length; row++) {
        dense[row] = (nl_list_view){offset, views[row].length};
        for (uint32_t i = 0; i < views[row].length; i++)
            row_of[offset + i] = views[row].offset + i;
        offset += views[row].length;
    }
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < made->child_count; i++)
        status = nl_vector_take(&source->children[i], row_of, offset, memory, &made->children[i]);
    nl_buffer_release(rows);
    return status;
}

nl_status nl_vector_dense_list(const nl_vector *source, nl_memory *memory, nl_vector *target)
{
    NL_ASSERT(source->type->physical == NL_PHYS_LIST);
    nl_vector flat;
    NL_TRY(nl_vector_flatten(source, false, memory, &flat));
    if (is_dense(&flat)) {
        *target = flat;
        return NULL;
    }
    nl_vector made = {0};
    nl_status status = hand_out(make_dense(&flat, memory, &made), &made, target);
    nl_vector_fini(&flat);
    return status;
}

/* column/column_builder.c - growing one FLAT column row by row; children are builders of their own.
 *
 * Validity is kept as a bitmap only once the first null comes. Capacity doubles; a finished vector keeps the buffer
 * it grew to, so builders suit decoders of text and literals, not kernels (those know their length beforehand).
 */
#include <stdlib.h>

#include "column/value.h"
#include "column/vector_internal.h"

#define CAPACITY_MIN 64u

struct nl_column_builder {
    const nl_type *type;
    nl_memory *memory; /* counted */
    uint32_t length;
    uint32_t capacity; /* a multiple of 64, or 0 */
    uint32_t value_size;
    uint32_t null_count;
    nl_buffer *values;   /* NULL while capacity is 0 or value_size is 0 */
    nl_buffer *validity; /* NULL while there is no null */
    nl_heap *heap;
    nl_column_builder **children;
    uint32_t child_count;
};

nl_status nl_column_builder_new(const nl_type *type, nl_memory *memory, nl_column_builder **builder)
{
    nl_column_builder *made = calloc(1, sizeof *made);
    uint32_t child_count = nl_vector_child_count(type);
    nl_column_builder **children = calloc(NL_MAX(child_count, 1), sizeof *children);
    if (!made || !children) {
        free(made);
        free(children);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made),
                        NL_P_INT("receivedBytes", 0));
    }
    *made = (nl_column_builder){.type = type,
                                .memory = memory ? nl_memory_retain(memory) : NULL,
                                .value_size = nl_physical_size(type->physical),
                                .children = children,
                                .child_count = child_count};
    for (uint32_t i = 0; i < child_count; i++) {
        nl_status status = nl_column_builder_new(nl_vector_child_type(type, i), memory, &children[i]);
        if (status) {
            nl_column_builder_free(made);
            return status;
        }
    }
    *builder = made;
    return NULL;
}

void nl_column_builder_free(nl_column_builder *builder)
{
    if (!builder) return;
    for (uint32_t i = 0; i < builder->child_count; i++)
        nl_column_builder_free(builder->children[i]);
    free(builder->children);
    nl_buffer_release(builder->values);
    nl_buffer_release(builder->validity);
    nl_heap_release(builder->heap);
    if (builder->memory) nl_memory_release(builder->memory);
    free(builder);
}

uint32_t nl_column_builder_length(const nl_column_builder *builder)
{
    return builder->length;
}

nl_column_builder *nl_column_builder_child(nl_column_builder *builder, uint32_t i)
{
    NL_ASSERT(i < builder->child_count);
    return builder->children[i];
}

/* A larger buffer with the first used_bytes of *buffer. */
static nl_status grow_buffer(nl_column_builder *builder, size_t used_bytes, size_t size_bytes, nl_buffer **buffer)
{
    nl_buffer *larger;
    NL_TRY(nl_buffer_new(builder->memory, size_bytes, false, &larger));
    if (used_bytes) memcpy(larger->data, (*buffer)->data, used_bytes);
    nl_buffer_release(*buffer);
    *buffer = larger;
    return NULL;
}

static nl_status grow_to(nl_column_builder *builder, uint32_t capacity)
{
    size_t size = builder->value_size;
    if (size) NL_TRY(grow_buffer(builder, builder->length * size, capacity * size, &builder->values));
    if (builder->validity) NL_TRY(grow_buffer(builder, builder->capacity / 8, capacity / 8, &builder->validity));
    builder->capacity = capacity;
    return NULL;
}

static nl_status grow(nl_column_builder *builder)
{
    if (builder->length > UINT32_MAX / 2)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A column of more than %u values in one piece.", UINT32_MAX / 2);
    return grow_to(builder, NL_MAX(builder->capacity * 2, CAPACITY_MIN));
}

nl_status nl_column_builder_reserve(nl_column_builder *builder, uint32_t more_rows)
{
    const uint64_t rows = (uint64_t)builder->length + more_rows;
    if (rows <= builder->capacity) return NULL;
    if (rows > UINT32_MAX - 64) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A column of more than %u values in one piece.", UINT32_MAX / 2);
    return grow_to(builder, NL_MAX((uint32_t)((rows + 63) / 64 * 64), CAPACITY_MIN));
}

/* Makes room for one row. */
static inline nl_status reserve(nl_column_builder *builder)
{
    if (NL_LIKELY(builder->length < builder->capacity)) return NULL;
    return grow(builder);
}

static inline void *next_slot(nl_column_builder *builder)
{
    return builder->values->data + (size_t)builder->length * builder->value_size;
}

/* Counts the row at the end as valid. */
static inline void accept(nl_column_builder *builder)
{
    if (builder->validity) nl_bit_set(builder->validity->data, builder->length);
    builder->length++;
}

nl_status nl_column_builder_null(nl_column_builder *builder)
{
    NL_TRY(reserve(builder));
    if (!builder->validity) {
        NL_TRY(nl_buffer_new(builder->memory, builder->capacity / 8, false, &builder->validity));
        nl_bits_fill(builder->validity->data, 0, builder->length, true);
    }
    if (builder->type->physical == NL_PHYS_STRUCT) {
        for (uint32_t i = 0; i < builder->child_count; i++)
            NL_TRY(nl_column_builder_null(builder->children[i]));
    }
    if (builder->type->physical == NL_PHYS_LIST) /* the running offset, for truncation; zeroed when finished */
        *(nl_list_view *)next_slot(builder) = (nl_list_view){builder->children[0]->length, 0};
    else if (builder->value_size)
        memset(next_slot(builder), 0, builder->value_size);
    nl_bit_clear(builder->validity->data, builder->length);
    builder->length++;
    builder->null_count++;
    return NULL;
}

#define PUT(element, value) (*(element *)next_slot(builder) = (element)(value))

nl_status nl_column_builder_i64(nl_column_builder *builder, int64_t value)
{
    NL_TRY(reserve(builder));
    switch (builder->value_size) {
    case 1:
        PUT(int8_t, value);
        break;
    case 2:
        PUT(int16_t, value);
        break;
    case 4:
        NL_ASSERT(builder->type->physical == NL_PHYS_I32);
        PUT(int32_t, value);
        break;
    case 8:
        NL_ASSERT(builder->type->physical == NL_PHYS_I64);
        PUT(int64_t, value);
        break;
    default:
        NL_ASSERT(builder->type->physical == NL_PHYS_I128);
        PUT(nl_int128, value);
        break;
    }
    accept(builder);
    return NULL;
}

nl_status nl_column_builder_i128(nl_column_builder *builder, nl_int128 value)
{
    if (builder->type->physical != NL_PHYS_I128) return nl_column_builder_i64(builder, (int64_t)value);
    NL_TRY(reserve(builder));
    PUT(nl_int128, value);
    accept(builder);
    return NULL;
}

nl_status nl_column_builder_f64(nl_column_builder *builder, double value)
{
    NL_TRY(reserve(builder));
    if (builder->type->physical == NL_PHYS_F32) {
        PUT(float, value);
    } else {
        NL_ASSERT(builder->type->physical == NL_PHYS_F64);
        PUT(double, value);
    }
    accept(builder);
    return NULL;
}

nl_status nl_column_builder_interval(nl_column_builder *builder, nl_interval value)
{
    NL_ASSERT(builder->type->physical == NL_PHYS_INTERVAL);
    NL_TRY(reserve(builder));
    PUT(nl_interval, value);
    accept(builder);
    return NULL;
}

nl_status nl_column_builder_str(nl_column_builder *builder, nl_str text)
{
    NL_ASSERT(builder->type->physical == NL_PHYS_STRING);
    NL_TRY(reserve(builder));
    if (!builder->heap && text.length > NL_STRING_INLINE_MAX) NL_TRY(nl_heap_new(builder->memory, &builder->heap));
    NL_TRY(nl_heap_add(builder->heap, text, next_slot(builder)));
    accept(builder);
    return NULL;
}

nl_status nl_column_builder_end_list(nl_column_builder *builder, uint32_t element_count)
{
    NL_ASSERT(builder->type->physical == NL_PHYS_LIST);
    NL_ASSERT(element_count <= builder->children[0]->length);
    NL_TRY(reserve(builder));
    *(nl_list_view *)next_slot(builder) = (nl_list_view){builder->children[0]->length - element_count, element_count};
    accept(builder);
    return NULL;
}

nl_status nl_column_builder_end_struct(nl_column_builder *builder)
{
    NL_ASSERT(builder->type->physical == NL_PHYS_STRUCT);
    NL_TRY(reserve(builder));
    for (uint32_t i = 0; i < builder->child_count; i++)
        NL_ASSERT(builder->children[i]->length == builder->length + 1);
    accept(builder);
    return NULL;
}

void nl_column_builder_truncate(nl_column_builder *builder, uint32_t length)
{
    NL_ASSERT(length <= builder->length);
    if (builder->validity) {
        uint32_t removed = builder->length - length;
        builder->null_count -= removed - nl_bits_count(builder->validity->data, length, removed);
    }
    uint32_t child_length = length;
    if (builder->type->physical == NL_PHYS_LIST) {
        const nl_list_view *views = builder->values ? (const nl_list_view *)(const void *)builder->values->data : NULL;
        child_length = length ? views[length - 1].offset + views[length - 1].length : 0;
    }
    for (uint32_t i = 0; i < builder->child_count; i++)
        nl_column_builder_truncate(builder->children[i], child_length);
    builder->length = length;
}

static nl_status append_items(nl_column_builder *builder, const nl_value *value)
{
    for (uint32_t i = 0; i < value->list.count; i++)
        NL_TRY(nl_column_builder_value(builder->children[i % builder->child_count], &value->list.items[i]));
    if (builder->type->physical == NL_PHYS_STRUCT) return nl_column_builder_end_struct(builder);
    return nl_column_builder_end_list(builder, value->list.count / builder->child_count);
}

nl_status nl_column_builder_value(nl_column_builder *builder, const nl_value *value)
{
    if (value->is_null) return nl_column_builder_null(builder);
    if (builder->type->id == NL_TYPE_DECIMAL) return nl_column_builder_i128(builder, value->decimal);
    switch (builder->type->physical) {
    case NL_PHYS_NONE:
        return nl_column_builder_null(builder);
    case NL_PHYS_BOOL:
        return nl_column_builder_i64(builder, value->boolean);
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
    case NL_PHYS_I128:
        return nl_column_builder_i64(builder, value->integer);
    case NL_PHYS_F32:
    case NL_PHYS_F64:
        return nl_column_builder_f64(builder, value->real);
    case NL_PHYS_STRING:
        return nl_column_builder_str(builder, value->text);
    case NL_PHYS_INTERVAL:
        return nl_column_builder_interval(builder, value->interval);
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        return append_items(builder, value);
    }
    return NULL;
}

static nl_status append_nested_row(nl_column_builder *builder, const nl_vector *source, uint32_t row)
{
    if (builder->type->physical == NL_PHYS_STRUCT) {
        for (uint32_t i = 0; i < builder->child_count; i++)
            NL_TRY(nl_column_builder_row(builder->children[i], &source->children[i], row));
        return nl_column_builder_end_struct(builder);
    }
    nl_list_view view = ((const nl_list_view *)source->values)[row];
    for (uint32_t child = 0; child < builder->child_count; child++) {
        for (uint32_t i = 0; i < view.length; i++)
            NL_TRY(nl_column_builder_row(builder->children[child], &source->children[child], view.offset + i));
    }
    return nl_column_builder_end_list(builder, view.length);
}

nl_status nl_column_builder_row(nl_column_builder *builder, const nl_vector *source, uint32_t row)
{
    NL_ASSERT(builder->type->physical == source->type->physical);
    if (nl_vector_is_null(source, row)) return nl_column_builder_null(builder);
    if (source->encoding == NL_CONSTANT) row = 0;
    if (source->encoding == NL_DICTIONARY) {
        row = source->indices[row];
        source = &source->dictionary->vector;
    }
    if (builder->type->physical == NL_PHYS_STRING)
        return nl_column_builder_str(builder, nl_view_str(&((const nl_string_view *)source->values)[row]));
    if (builder->child_count || builder->value_size == 0) return append_nested_row(builder, source, row);
    NL_TRY(reserve(builder));
    memcpy(next_slot(builder), (const uint8_t *)source->values + (size_t)row * builder->value_size,
           builder->value_size);
    accept(builder);
    return NULL;
}

static nl_status move_into(nl_column_builder *builder, nl_vector *made)
{
    if (!builder->values) /* nothing was added, or the type has no values: still a vector like any other */
        NL_TRY(nl_vector_start(made, builder->type, builder->length, true, builder->memory));
    else
        NL_TRY(nl_vector_start(made, builder->type, 0, false, builder->memory));
    if (builder->values) {
        nl_buffer_release(made->values_buffer);
        made->values_buffer = builder->values;
        made->values = builder->values->data;
        builder->values = NULL;
    }
    made->length = builder->length;
    if (builder->validity && builder->null_count && !made->validity) {
        made->validity_buffer = builder->validity;
        made->validity = builder->validity->data;
        made->null_count = builder->null_count;
        builder->validity = NULL;
    }
    nl_buffer_release(builder->validity);
    builder->validity = NULL;
    if (builder->type->physical == NL_PHYS_LIST) nl_vector_zero_nulls(made);
    made->heap = builder->heap;
    builder->heap = NULL;
    builder->length = builder->capacity = builder->null_count = 0;
    for (uint32_t i = 0; i < builder->child_count; i++)
        NL_TRY(nl_column_builder_finish(builder->children[i], &made->children[i]));
    return NULL;
}

nl_status nl_column_builder_finish(nl_column_builder *builder, nl_vector *vector)
{
    nl_vector made = {0};
    nl_status status = move_into(builder, &made);
    if (status)
        nl_vector_fini(&made);
    else
        *vector = made;
    return status;
}

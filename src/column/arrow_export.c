/* column/arrow_export.c - batches as Arrow arrays.
 *
 * Fixed-width values and bitmaps are handed over without copying: the array keeps the counted buffers. Booleans become
 * bits, decimals of up to 18 digits widen to 128 bits, string views become offsets and bytes. Every array and child is
 * its own allocation with its own release, so a consumer may move children out.
 */
#include <stdlib.h>

#include "column/arrow.h"
#include "column/vector_internal.h"

#define BUFFERS_MAX 3u

typedef struct array_owner {
    const void *pointers[BUFFERS_MAX];
    nl_buffer *buffers[BUFFERS_MAX]; /* counted */
    struct ArrowArray **children;
    uint32_t child_count;
} array_owner;

static void release_array(struct ArrowArray *array)
{
    array_owner *owner = array->private_data;
    for (uint32_t i = 0; i < BUFFERS_MAX; i++)
        nl_buffer_release(owner->buffers[i]);
    for (uint32_t i = 0; i < owner->child_count; i++) {
        struct ArrowArray *child = owner->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    free(owner->children);
    free(owner);
    array->release = NULL;
}

static nl_status out_of_memory(void)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(array_owner)),
                    NL_P_INT("receivedBytes", 0));
}

static nl_status start_array(uint32_t length, uint32_t buffer_count, uint32_t child_count, struct ArrowArray *array)
{
    array_owner *owner = calloc(1, sizeof *owner);
    if (!owner) return out_of_memory();
    *array = (struct ArrowArray){.length = length,
                                 .n_buffers = buffer_count,
                                 .n_children = child_count,
                                 .buffers = owner->pointers,
                                 .release = release_array,
                                 .private_data = owner};
    owner->children = calloc(NL_MAX(child_count, 1), sizeof(struct ArrowArray *));
    array->children = owner->children;
    if (!owner->children) return out_of_memory();
    for (; owner->child_count < child_count; owner->child_count++) {
        struct ArrowArray *child = calloc(1, sizeof *child);
        if (!child) return out_of_memory();
        owner->children[owner->child_count] = child;
    }
    return NULL;
}

/* Hands bytes over: the counted buffer when there is one, else (borrowed bytes) a copy. */
static nl_status give(struct ArrowArray *array, uint32_t i, const void *data, size_t size_bytes, nl_buffer *buffer,
                      nl_memory *memory)
{
    array_owner *owner = array->private_data;
    if (buffer) {
        owner->buffers[i] = nl_buffer_retain(buffer);
        owner->pointers[i] = data;
        return NULL;
    }
    NL_TRY(nl_buffer_new(memory, size_bytes, false, &owner->buffers[i]));
    if (size_bytes) memcpy(owner->buffers[i]->data, data, size_bytes);
    owner->pointers[i] = owner->buffers[i]->data;
    return NULL;
}

/* An own buffer for place i. */
static nl_status make(struct ArrowArray *array, uint32_t i, size_t size_bytes, nl_memory *memory, void *data_out)
{
    array_owner *owner = array->private_data;
    NL_TRY(nl_buffer_new(memory, size_bytes, false, &owner->buffers[i]));
    owner->pointers[i] = owner->buffers[i]->data;
    memcpy(data_out, &owner->pointers[i], sizeof(void *));
    return NULL;
}

static nl_status give_validity(struct ArrowArray *array, const nl_vector *vector, nl_memory *memory)
{
    if (!vector->validity || vector->null_count == 0) return NULL;
    array->null_count =
        vector->null_count != UINT32_MAX ? vector->null_count
                                         : vector->length - nl_bits_count(vector->validity, 0, vector->length);
    return give(array, 0, vector->validity, nl_bits_bytes(vector->length), vector->validity_buffer, memory);
}

static nl_status give_booleans(struct ArrowArray *array, const nl_vector *vector, nl_memory *memory)
{
    uint8_t *bits;
    const uint8_t *values = vector->values;
    NL_TRY(make(array, 1, ((size_t)vector->length + 63) / 64 * 8, memory, &bits));
    for (uint32_t start = 0; start < vector->length; start += 64) {
        uint32_t count = NL_MIN(64u, vector->length - start);
        uint64_t word = 0;
        for (uint32_t i = 0; i < count; i++)
            word |= (uint64_t)(values[start + i] & 1) << i;
        memcpy(bits + start / 8, &word, 8);
    }
    return NULL;
}

static nl_status give_decimals(struct ArrowArray *array, const nl_vector *vector, nl_memory *memory)
{
    int64_t *wide; /* pairs: low, high */
    const int64_t *values = vector->values;
    NL_TRY(make(array, 1, (size_t)vector->length * 16, memory, &wide));
    for (uint32_t row = 0; row < vector->length; row++) {
        wide[2 * (size_t)row] = values[row];
        wide[2 * (size_t)row + 1] = values[row] >> 63;
    }
    return NULL;
}

/* Months and days as they are, microseconds to nanoseconds. */
static nl_status give_intervals(struct ArrowArray *array, const nl_vector *vector, nl_memory *memory)
{
    nl_interval *out;
    const nl_interval *values = vector->values;
    NL_TRY(make(array, 1, (size_t)vector->length * sizeof *out, memory, &out));
    for (uint32_t row = 0; row < vector->length; row++) {
        out[row] = values[row];
        if (__builtin_mul_overflow(values[row].micros, 1000, &out[row].micros))
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED,
                                 "An interval of %lld microseconds does not fit Arrow's nanoseconds.",
                                 (long long)values[row].micros);
    }
    return NULL;
}

static nl_status give_strings(struct ArrowArray *array, const nl_vector *vector, nl_memory *memory)
{
    const nl_string_view *views = vector->values;
    uint64_t total = 0;
    for (uint32_t row = 0; row < vector->length; row++)
        total += views[row].length;
    if (total > INT32_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A batch holds %llu bytes of text in one column; Arrow's offsets end at "
                             "2 GiB. Ask for smaller batches.", (unsigned long long)total);
    int32_t *offsets;
    char *bytes;
    NL_TRY(make(array, 1, ((size_t)vector->length + 1) * sizeof *offsets, memory, &offsets));
    NL_TRY(make(array, 2, (size_t)total + NL_STRING_INLINE_MAX, memory, &bytes));
    uint32_t offset = 0;
    for (uint32_t row = 0; row < vector->length; row++) {
        offsets[row] = (int32_t)offset;
        if (views[row].length <= NL_STRING_INLINE_MAX) /* always 12 bytes: cheaper than a copy of the exact length */
            memcpy(bytes + offset, views[row].inlined, NL_STRING_INLINE_MAX);
        else
            memcpy(bytes + offset, views[row].far.data, views[row].length);
        offset += views[row].length;
    }
    offsets[vector->length] = (int32_t)offset;
    return NULL;
}

static nl_status export_vector(const nl_vector *source, nl_memory *memory, struct ArrowArray *array);

static nl_status export_list(const nl_vector *vector, nl_memory *memory, struct ArrowArray *array)
{
    bool is_map = vector->type->id == NL_TYPE_MAP;
    uint32_t element_count = vector->children[0].length;
    NL_TRY(start_array(vector->length, 2, 1, array));
    NL_TRY(give_validity(array, vector, memory));
    if (element_count > INT32_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A batch of %u list elements exceeds Arrow's offsets.", element_count);
    int32_t *offsets;
    const nl_list_view *views = vector->values;
    NL_TRY(make(array, 1, ((size_t)vector->length + 1) * sizeof *offsets, memory, &offsets));
    uint32_t offset = 0;
    for (uint32_t row = 0; row < vector->length; row++) {
        offsets[row] = (int32_t)offset;
        offset += views[row].length;
    }
    offsets[vector->length] = (int32_t)offset;
    if (!is_map) return export_vector(&vector->children[0], memory, array->children[0]);
    struct ArrowArray *entries = array->children[0];
    NL_TRY(start_array(element_count, 1, 2, entries));
    NL_TRY(export_vector(&vector->children[0], memory, entries->children[0]));
    return export_vector(&vector->children[1], memory, entries->children[1]);
}

/* Variants swap their children: metadata and value here, value and metadata in Spark's Arrow form. */
static nl_status export_struct(const nl_vector *vector, nl_memory *memory, struct ArrowArray *array)
{
    bool is_variant = vector->type->id == NL_TYPE_VARIANT;
    NL_TRY(start_array(vector->length, 1, vector->child_count, array));
    NL_TRY(give_validity(array, vector, memory));
    for (uint32_t i = 0; i < vector->child_count; i++)
        NL_TRY(export_vector(&vector->children[is_variant ? 1 - i : i], memory, array->children[i]));
    return NULL;
}

static nl_status export_flat(const nl_vector *vector, nl_memory *memory, struct ArrowArray *array)
{
    const nl_type *type = vector->type;
    if (type->physical == NL_PHYS_STRUCT) return export_struct(vector, memory, array);
    if (type->physical == NL_PHYS_LIST) return export_list(vector, memory, array);
    if (type->physical == NL_PHYS_NONE) {
        NL_TRY(start_array(vector->length, 0, 0, array));
        array->null_count = vector->length;
        return NULL;
    }
    NL_TRY(start_array(vector->length, type->physical == NL_PHYS_STRING ? 3 : 2, 0, array));
    NL_TRY(give_validity(array, vector, memory));
    if (type->physical == NL_PHYS_BOOL) return give_booleans(array, vector, memory);
    if (type->physical == NL_PHYS_STRING) return give_strings(array, vector, memory);
    if (type->physical == NL_PHYS_INTERVAL) return give_intervals(array, vector, memory);
    if (type->id == NL_TYPE_DECIMAL && type->physical == NL_PHYS_I64) return give_decimals(array, vector, memory);
    size_t size_bytes = (size_t)vector->length * nl_physical_size(type->physical);
    return give(array, 1, vector->values, size_bytes, vector->values_buffer, memory);
}

static nl_status export_vector(const nl_vector *source, nl_memory *memory, struct ArrowArray *array)
{
    nl_vector flat;
    if (source->type->physical == NL_PHYS_LIST)
        NL_TRY(nl_vector_dense_list(source, memory, &flat));
    else
        NL_TRY(nl_vector_flatten(source, false, memory, &flat));
    nl_status status = export_flat(&flat, memory, array);
    nl_vector_fini(&flat);
    return status;
}

static nl_status export_columns(const nl_batch *batch, nl_memory *memory, struct ArrowArray *array)
{
    NL_TRY(start_array(batch->row_count, 1, batch->column_count, array));
    for (uint32_t i = 0; i < batch->column_count; i++)
        NL_TRY(export_vector(&batch->columns[i], memory, array->children[i]));
    return NULL;
}

nl_status nl_arrow_export_batch(const nl_type *struct_type, const nl_batch *batch, nl_memory *memory,
                                struct ArrowArray *array)
{
    NL_ASSERT(struct_type->child_count == batch->column_count);
    nl_batch compacted;
    struct ArrowArray made = {0};
    NL_TRY(nl_batch_ref(batch, &compacted));
    nl_status status = nl_batch_compact(&compacted, memory);
    if (!status) status = export_columns(&compacted, memory, &made);
    nl_batch_fini(&compacted);
    if (!status)
        *array = made;
    else if (made.release)
        made.release(&made);
    return status;
}

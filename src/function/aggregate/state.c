/* aggregate/state.c - growing bytes, rows as bytes, boxes, partials. */
#include "function/aggregate/state.h"

#include <stdlib.h>

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

nl_status nl_agg_bytes_reserve(nl_agg_bytes *bytes, nl_memory *memory, size_t more)
{
    size_t needed = nl_size_add(bytes->length, more);
    if (needed <= bytes->capacity) return NULL;
    size_t capacity = NL_MAX(needed, nl_size_add(bytes->capacity, bytes->capacity / 2));
    capacity = NL_MAX(capacity, (size_t)32);
    if (needed == SIZE_MAX || !nl_memory_try_charge(memory, capacity - bytes->capacity)) return no_memory(needed);
    char *data = realloc(bytes->data, capacity);
    if (data == NULL) {
        nl_memory_discharge(memory, capacity - bytes->capacity);
        return no_memory(needed);
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return NULL;
}

nl_status nl_agg_bytes_append(nl_agg_bytes *bytes, nl_memory *memory, const void *data, size_t length)
{
    NL_TRY(nl_agg_bytes_reserve(bytes, memory, length));
    if (length > 0) memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    return NULL;
}

void nl_agg_bytes_free(nl_agg_bytes *bytes, nl_memory *memory)
{
    free(bytes->data);
    if (bytes->capacity > 0) nl_memory_discharge(memory, bytes->capacity);
    *bytes = (nl_agg_bytes){0};
}

static nl_status append_count(nl_agg_bytes *bytes, nl_memory *memory, uint32_t count)
{
    return nl_agg_bytes_append(bytes, memory, &count, sizeof count);
}

/* Depth is bounded by NL_TYPE_DEPTH_MAX. */
nl_status nl_encode_row(const nl_vector *vector, uint32_t row, nl_agg_bytes *bytes, nl_memory *memory)
{
    uint8_t is_null = nl_vector_is_null(vector, row);
    NL_TRY(nl_agg_bytes_append(bytes, memory, &is_null, 1));
    if (is_null) return NULL;
    nl_reader reader;
    nl_reader_init(&reader, vector);
    uint32_t index = nl_reader_index(&reader, row);
    const nl_vector *base = nl_vector_base(vector);
    switch (vector->type->physical) {
    case NL_PHYS_NONE:
        return NULL;
    case NL_PHYS_STRING: {
        nl_str text = nl_view_str((const nl_string_view *)reader.values + index);
        NL_TRY(append_count(bytes, memory, (uint32_t)text.length));
        return nl_agg_bytes_append(bytes, memory, text.data, text.length);
    }
    case NL_PHYS_LIST: {
        nl_list_view list = ((const nl_list_view *)reader.values)[index];
        NL_TRY(append_count(bytes, memory, list.length));
        for (uint32_t e = list.offset; e < list.offset + list.length; e++)
            for (uint32_t c = 0; c < base->child_count; c++) NL_TRY(nl_encode_row(&base->children[c], e, bytes, memory));
        return NULL;
    }
    case NL_PHYS_STRUCT:
        for (uint32_t c = 0; c < base->child_count; c++) NL_TRY(nl_encode_row(&base->children[c], index, bytes, memory));
        return NULL;
    case NL_PHYS_BOOL:
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
    case NL_PHYS_I128:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_INTERVAL:
        break;
    }
    uint32_t size = nl_physical_size(vector->type->physical);
    return nl_agg_bytes_append(bytes, memory, (const uint8_t *)reader.values + (size_t)index * size, size);
}

static uint32_t read_count(const char *data, size_t *offset)
{
    uint32_t count;
    memcpy(&count, data + *offset, sizeof count);
    *offset += sizeof count;
    return count;
}

static uint32_t child_count_of(const nl_type *type)
{
    return type->id == NL_TYPE_VARIANT ? 2 : type->child_count;
}

static const nl_type *child_type_of(const nl_type *type, uint32_t i)
{
    return type->id == NL_TYPE_VARIANT ? nl_type_binary() : type->children[i].type;
}

size_t nl_encoded_size(const char *data, size_t offset, const nl_type *type)
{
    if (data[offset++]) return offset;
    if (type->physical == NL_PHYS_STRING) {
        uint32_t length = read_count(data, &offset);
        return offset + length;
    }
    if (type->physical == NL_PHYS_LIST || type->physical == NL_PHYS_STRUCT) {
        uint32_t count = type->physical == NL_PHYS_LIST ? read_count(data, &offset) : 1;
        for (uint32_t e = 0; e < count; e++)
            for (uint32_t c = 0; c < child_count_of(type); c++) offset = nl_encoded_size(data, offset, child_type_of(type, c));
        return offset;
    }
    return offset + nl_physical_size(type->physical);
}

static nl_status decode_fixed(const char *data, const nl_type *type, nl_column_builder *builder)
{
    nl_int128 space = 0;
    memcpy(&space, data, nl_physical_size(type->physical));
    if (type->physical == NL_PHYS_F32 || type->physical == NL_PHYS_F64)
        return nl_column_builder_f64(builder, nl_physical_f64(type->physical, &space, 0));
    if (type->physical == NL_PHYS_INTERVAL) {
        nl_value value = {.type = type};
        memcpy(&value.interval, &space, sizeof value.interval);
        return nl_column_builder_value(builder, &value);
    }
    if (type->id == NL_TYPE_DECIMAL) return nl_column_builder_i128(builder, nl_physical_i128(type->physical, &space, 0));
    return nl_column_builder_i64(builder, nl_physical_i64(type->physical, &space, 0));
}

nl_status nl_decode_row(const char *data, size_t *offset, const nl_type *type, nl_column_builder *builder)
{
    if (data[(*offset)++]) return nl_column_builder_null(builder);
    if (type->physical == NL_PHYS_NONE) return nl_column_builder_null(builder);
    if (type->physical == NL_PHYS_STRING) {
        uint32_t length = read_count(data, offset);
        nl_str text = {data + *offset, length};
        *offset += length;
        return nl_column_builder_str(builder, text);
    }
    if (type->physical == NL_PHYS_LIST || type->physical == NL_PHYS_STRUCT) {
        bool is_list = type->physical == NL_PHYS_LIST;
        uint32_t count = is_list ? read_count(data, offset) : 1;
        for (uint32_t e = 0; e < count; e++)
            for (uint32_t c = 0; c < child_count_of(type); c++)
                NL_TRY(nl_decode_row(data, offset, child_type_of(type, c), nl_column_builder_child(builder, c)));
        return is_list ? nl_column_builder_end_list(builder, count) : nl_column_builder_end_struct(builder);
    }
    NL_TRY(decode_fixed(data + *offset, type, builder));
    *offset += nl_physical_size(type->physical);
    return NULL;
}

nl_status nl_decode_vector(const char *data, size_t *offset, const nl_type *type, nl_memory *memory, nl_vector *vector)
{
    nl_column_builder *builder = NULL;
    NL_TRY(nl_column_builder_new(type, memory, &builder));
    nl_status status = nl_decode_row(data, offset, type, builder);
    if (status == NULL) status = nl_column_builder_finish(builder, vector);
    nl_column_builder_free(builder);
    return status;
}

static bool is_fixed(const nl_type *type)
{
    return type->physical != NL_PHYS_STRING && type->physical != NL_PHYS_LIST && type->physical != NL_PHYS_STRUCT;
}

nl_status nl_box_set(nl_box *box, nl_memory *memory, const nl_vector *vector, uint32_t row)
{
    box->has_value = true;
    box->is_null = nl_vector_is_null(vector, row);
    box->bytes.length = 0;
    if (box->is_null) return NULL;
    nl_reader reader;
    nl_reader_init(&reader, vector);
    if (is_fixed(vector->type)) {
        uint32_t size = nl_physical_size(vector->type->physical);
        box->fixed = 0;
        if (size > 0) memcpy(&box->fixed, (const uint8_t *)reader.values + (size_t)nl_reader_index(&reader, row) * size, size);
        return NULL;
    }
    if (vector->type->physical == NL_PHYS_STRING) {
        nl_str text = nl_reader_str(&reader, row);
        return nl_agg_bytes_append(&box->bytes, memory, text.data, text.length);
    }
    return nl_encode_row(vector, row, &box->bytes, memory);
}

nl_status nl_box_compare(const nl_box *box, const nl_vector *vector, uint32_t row, nl_memory *memory, int *order)
{
    nl_vector kept = {0};
    if (vector->type->physical == NL_PHYS_STRING) {
        nl_reader reader;
        nl_reader_init(&reader, vector);
        *order = nl_str_compare((nl_str){box->bytes.data, box->bytes.length}, nl_reader_str(&reader, row));
        return NULL;
    }
    if (is_fixed(vector->type)) {
        kept = (nl_vector){.type = vector->type, .encoding = NL_FLAT, .length = 1, .values = &box->fixed};
        *order = nl_vector_row_compare(&kept, 0, vector, row);
        return NULL;
    }
    size_t offset = 0;
    NL_TRY(nl_decode_vector(box->bytes.data, &offset, vector->type, memory, &kept));
    *order = nl_vector_row_compare(&kept, 0, vector, row);
    nl_vector_fini(&kept);
    return NULL;
}

nl_status nl_box_append(const nl_box *box, const nl_type *type, nl_column_builder *builder)
{
    if (!box->has_value || box->is_null || type->physical == NL_PHYS_NONE) return nl_column_builder_null(builder);
    if (is_fixed(type)) return decode_fixed((const char *)&box->fixed, type, builder);
    if (type->physical == NL_PHYS_STRING) return nl_column_builder_str(builder, (nl_str){box->bytes.data, box->bytes.length});
    size_t offset = 0;
    return nl_decode_row(box->bytes.data, &offset, type, builder);
}

void nl_box_free(nl_box *box, nl_memory *memory)
{
    nl_agg_bytes_free(&box->bytes, memory);
}

nl_status nl_box_encode(const nl_box *box, const nl_type *type, nl_agg_bytes *bytes, nl_memory *memory)
{
    uint8_t flags[2] = {box->has_value, box->is_null || !box->has_value};
    NL_TRY(nl_agg_bytes_append(bytes, memory, flags, 1));
    if (!box->has_value) return NULL;
    if (!flags[1] && !is_fixed(type) && type->physical != NL_PHYS_STRING)
        return nl_agg_bytes_append(bytes, memory, box->bytes.data, box->bytes.length);
    NL_TRY(nl_agg_bytes_append(bytes, memory, &flags[1], 1));
    if (flags[1]) return NULL;
    if (is_fixed(type)) return nl_agg_bytes_append(bytes, memory, &box->fixed, nl_physical_size(type->physical));
    NL_TRY(append_count(bytes, memory, (uint32_t)box->bytes.length));
    return nl_agg_bytes_append(bytes, memory, box->bytes.data, box->bytes.length);
}

nl_status nl_pod_to_partial(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out)
{
    nl_output output;
    uint32_t size = function->aggregate->state_size(function);
    NL_TRY(nl_output_init(&output, nl_type_binary(), count, eval->memory, out));
    for (uint32_t i = 0; i < count; i++) NL_TRY(nl_output_str(&output, i, (nl_str){states[i], size}));
    return NULL;
}

nl_status nl_encode_partials(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count,
                             nl_state_encode encode, nl_vector *out)
{
    nl_output output;
    nl_agg_bytes bytes = {0};
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, nl_type_binary(), count, eval->memory, out));
    for (uint32_t i = 0; i < count && status == NULL; i++) {
        bytes.length = 0;
        status = encode(function, eval, states[i], &bytes);
        if (status == NULL) status = nl_output_str(&output, i, (nl_str){bytes.data, bytes.length});
    }
    nl_agg_bytes_free(&bytes, eval->memory);
    return status;
}

nl_status nl_merge_partials(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial, nl_selection selection,
                            void *const *states, nl_state_merge merge)
{
    nl_reader reader;
    nl_reader_init(&reader, partial);
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(&reader, row)) continue;
        NL_TRY(merge(function, eval, states[i], nl_reader_str(&reader, row)));
    }
    return NULL;
}

nl_status nl_build_results(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count,
                           nl_state_result append, nl_vector *out)
{
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    for (uint32_t i = 0; i < count && status == NULL; i++) status = append(function, eval, states[i], builder);
    if (status == NULL) status = nl_column_builder_finish(builder, out);
    nl_column_builder_free(builder);
    return status;
}

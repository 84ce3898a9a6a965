/* exec/row_nested.c - nested values as bytes, for rows and spill files.
 *
 * A value is a byte (1 null, 0 not), then: fixed width: its bytes; string: u32 length, bytes; list: u32 count, then the
 * elements (map: key, value, key, value …); struct: its fields one after the other.
 */
#include "exec/row.h"

#include "base/cursor.h"
#include "base/limits.h"

typedef struct encoder {
    nl_builder bytes;
    bool is_key;
} encoder;

static const nl_vector *resolve(const nl_vector *vector, uint32_t *row)
{
    if (vector->encoding == NL_CONSTANT) *row = 0;
    if (vector->encoding != NL_DICTIONARY) return vector;
    *row = vector->indices[*row];
    return &vector->dictionary->vector;
}

static void put(encoder *to, const void *bytes, size_t count)
{
    nl_append(&to->bytes, (nl_str){bytes, count});
}

static void put_u32(encoder *to, uint32_t value)
{
    put(to, &value, sizeof value);
}

static void put_real(encoder *to, double value, bool is_float)
{
    if (to->is_key && value != value) value = __builtin_nan("");
    if (to->is_key && value == 0) value = 0;
    float narrow = (float)value;
    if (is_float)
        put(to, &narrow, sizeof narrow);
    else
        put(to, &value, sizeof value);
}

static void encode(encoder *to, const nl_vector *vector, uint32_t row)
{
    bool is_null = nl_vector_is_null(vector, row);
    nl_append_char(&to->bytes, is_null ? 1 : 0);
    if (is_null) return;
    vector = resolve(vector, &row);
    nl_physical physical = vector->type->physical;
    if (physical == NL_PHYS_STRING) {
        nl_str text = nl_view_str(&((const nl_string_view *)vector->values)[row]);
        put_u32(to, (uint32_t)text.length);
        put(to, text.data, text.length);
    } else if (physical == NL_PHYS_LIST) {
        nl_list_view view = ((const nl_list_view *)vector->values)[row];
        put_u32(to, view.length);
        for (uint32_t i = 0; i < view.length; i++)
            for (uint32_t child = 0; child < vector->child_count; child++)
                encode(to, &vector->children[child], view.offset + i);
    } else if (physical == NL_PHYS_STRUCT) {
        for (uint32_t child = 0; child < vector->child_count; child++)
            encode(to, &vector->children[child], row);
    } else if (physical == NL_PHYS_F32) {
        put_real(to, (double)((const float *)vector->values)[row], true);
    } else if (physical == NL_PHYS_F64) {
        put_real(to, ((const double *)vector->values)[row], false);
    } else {
        uint32_t width = nl_physical_size(physical);
        if (width) put(to, (const uint8_t *)vector->values + (size_t)row * width, width);
    }
}

nl_status nl_nested_encode(const nl_vector *vector, nl_selection selection, bool is_key, nl_memory *memory, nl_vector *out)
{
    encoder to = {.is_key = is_key};
    nl_heap *heap = NULL;
    nl_builder_init(&to.bytes, NL_VALUE_BYTES_MAX);
    nl_status status = NULL;
    NL_GO(nl_vector_new_flat(out, nl_type_binary(), vector->length, memory));
    NL_GO(nl_vector_make_heap(out, memory, &heap));
    nl_string_view *views = nl_vector_values(out);
    uint8_t *bits = NULL;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_vector_is_null(vector, row)) {
            if (!bits) NL_GO(nl_vector_make_validity(out, memory, &bits));
            nl_bit_clear(bits, row);
            continue;
        }
        nl_builder_clear(&to.bytes);
        encode(&to, vector, row);
        if (nl_builder_failed(&to.bytes)) {
            status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)to.bytes.length), NL_P_INT("receivedBytes", 0));
            goto done;
        }
        NL_GO(nl_heap_add(heap, nl_builder_str(&to.bytes), &views[row]));
    }
    if (bits) out->null_count = UINT32_MAX;
done:
    nl_builder_fini(&to.bytes);
    if (status) nl_vector_fini(out);
    return status;
}

static nl_status decode(nl_cursor *in, const nl_type *type, nl_column_builder *builder);

static nl_status decode_list(nl_cursor *in, const nl_type *type, nl_column_builder *builder)
{
    uint32_t count = nl_cursor_u32(in);
    NL_TRY(nl_cursor_status(in));
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t child = 0; child < type->child_count; child++)
            NL_TRY(decode(in, type->children[child].type, nl_column_builder_child(builder, child)));
    return nl_column_builder_end_list(builder, count);
}

static nl_status decode_struct(nl_cursor *in, const nl_type *type, nl_column_builder *builder)
{
    uint32_t count = type->id == NL_TYPE_VARIANT ? 2 : type->child_count;
    for (uint32_t i = 0; i < count; i++) {
        const nl_type *child = type->id == NL_TYPE_VARIANT ? nl_type_binary() : type->children[i].type;
        NL_TRY(decode(in, child, nl_column_builder_child(builder, i)));
    }
    return nl_column_builder_end_struct(builder);
}

static nl_status decode_fixed(const uint8_t *bytes, const nl_type *type, nl_column_builder *builder)
{
    nl_value value = {.type = type};
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        nl_int128 i128;
        float f32;
        double f64;
        nl_interval interval;
    } raw = {0};
    memcpy(&raw, bytes, nl_physical_size(type->physical));
    switch (type->physical) {
    case NL_PHYS_BOOL: return nl_column_builder_i64(builder, raw.i8);
    case NL_PHYS_I8: return nl_column_builder_i64(builder, raw.i8);
    case NL_PHYS_I16: return nl_column_builder_i64(builder, raw.i16);
    case NL_PHYS_I32: return nl_column_builder_i64(builder, raw.i32);
    case NL_PHYS_I64:
        if (type->id == NL_TYPE_DECIMAL) return nl_column_builder_i128(builder, raw.i64);
        return nl_column_builder_i64(builder, raw.i64);
    case NL_PHYS_I128: return nl_column_builder_i128(builder, raw.i128);
    case NL_PHYS_F32: return nl_column_builder_f64(builder, (double)raw.f32);
    case NL_PHYS_F64: return nl_column_builder_f64(builder, raw.f64);
    case NL_PHYS_INTERVAL: value.interval = raw.interval; return nl_column_builder_value(builder, &value);
    case NL_PHYS_NONE:
    case NL_PHYS_STRING:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break;
    }
    return nl_column_builder_null(builder);
}

static nl_status decode(nl_cursor *in, const nl_type *type, nl_column_builder *builder)
{
    bool is_null = nl_cursor_u8(in) != 0;
    NL_TRY(nl_cursor_status(in));
    if (is_null) return nl_column_builder_null(builder);
    if (type->physical == NL_PHYS_LIST) return decode_list(in, type, builder);
    if (type->physical == NL_PHYS_STRUCT) return decode_struct(in, type, builder);
    uint32_t width = type->physical == NL_PHYS_STRING ? nl_cursor_u32(in) : nl_physical_size(type->physical);
    nl_bytes bytes = nl_cursor_bytes(in, width);
    NL_TRY(nl_cursor_status(in));
    if (type->physical == NL_PHYS_STRING) return nl_column_builder_str(builder, (nl_str){(const char *)bytes.data, width});
    return decode_fixed(bytes.data, type, builder);
}

nl_status nl_nested_decode(const nl_vector *binary, const nl_type *type, nl_memory *memory, nl_vector *out)
{
    nl_column_builder *builder = NULL;
    NL_TRY(nl_column_builder_new(type, memory, &builder));
    nl_status status = NULL;
    nl_reader reader;
    nl_reader_init(&reader, binary);
    for (uint32_t row = 0; row < binary->length && !status; row++) {
        if (nl_reader_is_null(&reader, row)) {
            status = nl_column_builder_null(builder);
            continue;
        }
        nl_str text = nl_view_str(&((const nl_string_view *)reader.values)[nl_reader_index(&reader, row)]);
        nl_cursor in = nl_cursor_over(text.data, text.length, NL_STR("row"));
        status = decode(&in, type, builder);
    }
    if (!status) status = nl_column_builder_finish(builder, out);
    nl_column_builder_free(builder);
    return status;
}

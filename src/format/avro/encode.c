/* format/avro/encode.c - see encode.h. One tree of steps per file: each knows the Avro type around its values (a union
 * with null or none), how they are stored, and in which vector they lie. */
#include "format/avro/encode.h"

#include "base/number.h"
#include "format/written.h"

typedef struct step step;
struct step {
    const nl_avro_type *avro; /* without the union */
    int32_t null_branch;      /* -1: null is not allowed */
    const nl_type *type;
    nl_str name;              /* for errors */
    uint32_t child_count;
    step *children;
    const nl_vector *vector;  /* of the present batch */
    nl_reader reader;
};

struct nl_avro_encoder {
    nl_arena *arena;
    step root;            /* RECORD: children are the columns */
    nl_vector *flattened; /* one per column, owned between begin and end */
    uint32_t column_count;
};

static nl_status does_not_fit(nl_arena *arena, const step *at)
{
    const nl_str name = nl_type_name(arena, at->type);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The column " NL_STR_FMT " of type " NL_STR_FMT " cannot be written as the Avro schema says",
                         NL_STR_ARG(at->name), NL_STR_ARG(name));
}

static bool fits(const nl_avro_type *avro, const nl_type *type)
{
    const nl_physical physical = type->physical;
    switch (avro->kind) {
    case NL_AVRO_NULL: return type->id == NL_TYPE_NULL;
    case NL_AVRO_BOOLEAN: return physical == NL_PHYS_BOOL;
    case NL_AVRO_INT: return (physical == NL_PHYS_I8 || physical == NL_PHYS_I16 || physical == NL_PHYS_I32) && type->id != NL_TYPE_DECIMAL;
    case NL_AVRO_LONG: return physical >= NL_PHYS_I8 && physical <= NL_PHYS_I64 && type->id != NL_TYPE_DECIMAL;
    case NL_AVRO_FLOAT: return physical == NL_PHYS_F32;
    case NL_AVRO_DOUBLE: return physical == NL_PHYS_F64 || physical == NL_PHYS_F32;
    case NL_AVRO_STRING: return physical == NL_PHYS_STRING;
    case NL_AVRO_BYTES:
    case NL_AVRO_FIXED:
        if (avro->logical == NL_AVRO_DECIMAL) return type->id == NL_TYPE_DECIMAL && type->scale == avro->scale;
        return physical == NL_PHYS_STRING;
    case NL_AVRO_RECORD: return type->id == NL_TYPE_VARIANT ? avro->field_count == 2 : type->id == NL_TYPE_STRUCT && type->child_count == avro->field_count;
    case NL_AVRO_ARRAY: return avro->logical == NL_AVRO_LOGICAL_MAP ? type->id == NL_TYPE_MAP : type->id == NL_TYPE_ARRAY;
    case NL_AVRO_MAP: return type->id == NL_TYPE_MAP && type->children[0].type->physical == NL_PHYS_STRING;
    case NL_AVRO_ENUM:
    case NL_AVRO_UNION: return false;
    }
    return false;
}

static nl_status plan(nl_arena *arena, const nl_avro_type *avro, const nl_type *type, nl_str name, step *out);

static nl_status plan_children(nl_arena *arena, step *out)
{
    const nl_avro_type *avro = out->avro;
    const nl_type *type = out->type;
    static const nl_field variant_fields[2] = {{.name = NL_STR_INIT("metadata")}, {.name = NL_STR_INIT("value")}};
    const bool is_variant = type->id == NL_TYPE_VARIANT;
    out->child_count = is_variant ? 2 : type->child_count;
    out->children = NL_NEW_ARRAY(arena, step, (size_t)out->child_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < out->child_count; i++) {
        const nl_field *field = is_variant ? &variant_fields[i] : &type->children[i];
        const nl_type *child_type = is_variant ? nl_type_binary() : field->type;
        const nl_avro_type *child;
        if (avro->kind == NL_AVRO_RECORD) child = avro->fields[i].type;
        else if (avro->logical == NL_AVRO_LOGICAL_MAP) child = avro->fields[0].type->fields[i].type;
        else if (avro->kind == NL_AVRO_MAP && i == 0) child = NULL; /* keys of maps are plain strings */
        else child = avro->fields[0].type;
        if (child) NL_TRY(plan(arena, child, child_type, field->name, &out->children[i]));
        else out->children[i] = (step){.type = child_type, .null_branch = -1, .name = field->name};
    }
    return NULL;
}

static nl_status plan(nl_arena *arena, const nl_avro_type *avro, const nl_type *type, nl_str name, step *out)
{
    *out = (step){.type = type, .name = name};
    out->avro = nl_avro_unwrap(avro, &out->null_branch);
    if (!fits(out->avro, type)) return does_not_fit(arena, out);
    const bool is_nested = out->avro->kind == NL_AVRO_RECORD || out->avro->kind == NL_AVRO_ARRAY || out->avro->kind == NL_AVRO_MAP;
    return is_nested ? plan_children(arena, out) : NULL;
}

nl_status nl_avro_encoder_new(nl_arena *arena, const nl_avro_type *record, const nl_type *type, nl_avro_encoder **encoder)
{
    nl_avro_encoder *made = NL_NEW(arena, nl_avro_encoder);
    made->arena = arena;
    NL_TRY(plan(arena, record, type, NL_STR("the row"), &made->root));
    made->column_count = type->child_count;
    made->flattened = NL_NEW_ARRAY(arena, nl_vector, (size_t)made->column_count + 1);
    NL_TRY(nl_arena_check(arena));
    *encoder = made;
    return NULL;
}

static void attach(step *at, const nl_vector *vector)
{
    at->vector = vector;
    nl_reader_init(&at->reader, vector);
    for (uint32_t i = 0; i < at->child_count; i++)
        attach(&at->children[i], &vector->children[i]);
}

nl_status nl_avro_encoder_begin(nl_avro_encoder *encoder, const nl_batch *batch, nl_memory *memory)
{
    NL_CHECK(batch->column_count == encoder->column_count);
    for (uint32_t i = 0; i < encoder->column_count; i++) {
        const nl_vector *column = &batch->columns[i];
        step *at = &encoder->root.children[i];
        if (at->child_count) { /* children are read row by row, so they must be flat */
            nl_status status = nl_vector_flatten(column, true, memory, &encoder->flattened[i]);
            if (status) {
                nl_avro_encoder_end(encoder);
                return status;
            }
            column = &encoder->flattened[i];
        }
        attach(at, column);
    }
    return NULL;
}

void nl_avro_encoder_end(nl_avro_encoder *encoder)
{
    for (uint32_t i = 0; i < encoder->column_count; i++)
        nl_vector_fini(&encoder->flattened[i]);
}

static bool is_null_at(const step *at, uint32_t row)
{
    return at->type->id == NL_TYPE_NULL || nl_reader_is_null(&at->reader, row);
}

static nl_status encode(const step *at, uint32_t row, nl_avro_sink *sink);

static int64_t integer_at(const step *at, uint32_t index)
{
    switch ((int)at->type->physical) {
    case NL_PHYS_I8: return ((const int8_t *)at->reader.values)[index];
    case NL_PHYS_I16: return ((const int16_t *)at->reader.values)[index];
    case NL_PHYS_I32: return ((const int32_t *)at->reader.values)[index];
    default: return ((const int64_t *)at->reader.values)[index];
    }
}

static nl_status encode_decimal(const step *at, uint32_t index, nl_avro_sink *sink)
{
    const nl_int128 value = at->type->physical == NL_PHYS_I128 ? ((const nl_int128 *)at->reader.values)[index] : integer_at(at, index);
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++)
        bytes[i] = (uint8_t)((nl_uint128)value >> (8 * (15 - i)));
    uint32_t start = 0;
    while (start < 15 && ((bytes[start] == 0 && !(bytes[start + 1] & 0x80)) || (bytes[start] == 0xff && (bytes[start + 1] & 0x80))))
        start++;
    if (at->avro->kind == NL_AVRO_BYTES) {
        nl_avro_put_bytes(sink, bytes + start, 16 - start);
        return NULL;
    }
    const uint32_t size = at->avro->size_bytes;
    if (size < 16 - start || size > 16)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A decimal of column " NL_STR_FMT " does not fit %u bytes", NL_STR_ARG(at->name), size);
    nl_avro_put_raw(sink, bytes + 16 - size, size);
    return NULL;
}

/* A UUID given as text of 36 characters becomes its 16 bytes. */
static bool uuid_bytes(nl_str text, uint8_t out[16])
{
    uint32_t digits = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (c == '-') continue;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0 || digits == 32) return false;
        out[digits / 2] = (uint8_t)(digits % 2 ? out[digits / 2] | digit : digit << 4);
        digits++;
    }
    return digits == 32;
}

static nl_status encode_fixed(const step *at, nl_str text, nl_avro_sink *sink)
{
    uint8_t uuid[16];
    if (text.length == at->avro->size_bytes) {
        nl_avro_put_raw(sink, text.data, text.length);
        return NULL;
    }
    if (at->avro->logical == NL_AVRO_UUID && text.length == 36 && uuid_bytes(text, uuid)) {
        nl_avro_put_raw(sink, uuid, 16);
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A value of %zu bytes in column " NL_STR_FMT ", which holds exactly %u", text.length,
                         NL_STR_ARG(at->name), at->avro->size_bytes);
}

static nl_status encode_list(const step *at, uint32_t index, nl_avro_sink *sink)
{
    const nl_list_view view = ((const nl_list_view *)at->reader.values)[index];
    if (view.length) nl_avro_put_long(sink, view.length);
    for (uint32_t i = 0; i < view.length; i++) {
        const uint32_t row = view.offset + i;
        for (uint32_t k = 0; k < at->child_count; k++) {
            const step *child = &at->children[k];
            if (!child->avro) { /* the key of a plain map */
                const nl_str key = nl_view_str(&((const nl_string_view *)child->reader.values)[nl_reader_index(&child->reader, row)]);
                nl_avro_put_bytes(sink, key.data, key.length);
            } else {
                NL_TRY(encode(child, row, sink));
            }
        }
    }
    nl_avro_put_long(sink, 0);
    return NULL;
}

static nl_status encode_record(const step *at, uint32_t row, nl_avro_sink *sink)
{
    for (uint32_t i = 0; i < at->child_count; i++)
        NL_TRY(encode(&at->children[i], row, sink));
    return NULL;
}

static nl_status encode_value(const step *at, uint32_t row, nl_avro_sink *sink)
{
    const uint32_t index = nl_reader_index(&at->reader, row);
    nl_str text = {0};
    if (at->type->physical == NL_PHYS_STRING) text = nl_view_str(&((const nl_string_view *)at->reader.values)[index]);
    switch (at->avro->kind) {
    case NL_AVRO_NULL: break;
    case NL_AVRO_BOOLEAN: nl_avro_put_bool(sink, ((const uint8_t *)at->reader.values)[index] != 0); break;
    case NL_AVRO_INT:
    case NL_AVRO_LONG: nl_avro_put_long(sink, integer_at(at, index)); break;
    case NL_AVRO_FLOAT: nl_avro_put_float(sink, ((const float *)at->reader.values)[index]); break;
    case NL_AVRO_DOUBLE:
        nl_avro_put_double(sink, at->type->physical == NL_PHYS_F32 ? (double)((const float *)at->reader.values)[index]
                                                                  : ((const double *)at->reader.values)[index]);
        break;
    case NL_AVRO_STRING: nl_avro_put_bytes(sink, text.data, text.length); break;
    case NL_AVRO_BYTES:
    case NL_AVRO_FIXED:
        if (at->avro->logical == NL_AVRO_DECIMAL) return encode_decimal(at, index, sink);
        if (at->avro->kind == NL_AVRO_FIXED) return encode_fixed(at, text, sink);
        nl_avro_put_bytes(sink, text.data, text.length);
        break;
    case NL_AVRO_RECORD: return encode_record(at, row, sink);
    case NL_AVRO_ARRAY:
    case NL_AVRO_MAP: return encode_list(at, index, sink);
    case NL_AVRO_ENUM:
    case NL_AVRO_UNION: NL_ASSERT(false); break;
    }
    return NULL;
}

static nl_status encode(const step *at, uint32_t row, nl_avro_sink *sink)
{
    const bool is_null = is_null_at(at, row);
    if (at->null_branch >= 0) nl_avro_put_long(sink, is_null ? at->null_branch : 1 - at->null_branch);
    if (!is_null) return encode_value(at, row, sink);
    if (at->null_branch >= 0 || at->avro->kind == NL_AVRO_NULL) return NULL;
    return nl_required_is_null(at->name);
}

nl_status nl_avro_encoder_row(nl_avro_encoder *encoder, uint32_t row, nl_avro_sink *sink)
{
    return encode_record(&encoder->root, row, sink);
}

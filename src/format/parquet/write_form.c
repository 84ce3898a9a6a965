/* format/parquet/write_form.c - one loop per pair of forms. */
#include "format/parquet/write_form.h"

#include "base/uuid.h"
#include "base/decimal.h"

#define FORM_LOOP(from_type, to_type)                                        \
    do {                                                                     \
        const from_type *source = values->values;                            \
        to_type *target = out;                                               \
        for (uint32_t i = 0; i < count; i++) target[i] = source[index[i]];   \
        return NULL;                                                         \
    } while (0)

static nl_status bad_value(const nl_write_leaf *leaf, const char *what)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A value of column " NL_STR_FMT " %s.", NL_STR_ARG(leaf->dotted), what);
}

static nl_status narrow_decimals(const nl_write_leaf *leaf, const nl_vector *values, const uint32_t *index, uint32_t count, int32_t *out)
{
    const int64_t *source = values->values;
    int64_t bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (int32_t)source[index[i]];
        bad |= out[i] ^ source[index[i]];
    }
    return bad ? bad_value(leaf, "has more digits than its decimal type") : NULL;
}

static nl_status wide_decimals(const nl_write_leaf *leaf, const nl_vector *values, const uint32_t *index, uint32_t count, uint8_t *out)
{
    const nl_int128 *source = values->values;
    for (uint32_t i = 0; i < count; i++) {
        nl_int128 value = source[index[i]];
        if (!nl_decimal_fits(value, leaf->type->precision)) return bad_value(leaf, "has more digits than its decimal type");
        for (uint32_t k = leaf->stride; k > 0; k--, value >>= 8) out[(size_t)i * leaf->stride + k - 1] = (uint8_t)value;
    }
    return NULL;
}

static nl_status fixed_bytes(const nl_write_leaf *leaf, const nl_vector *values, const uint32_t *index, uint32_t count, uint8_t *out)
{
    const nl_string_view *source = values->values;
    for (uint32_t i = 0; i < count; i++, out += leaf->stride) {
        const nl_str text = nl_view_str(&source[index[i]]);
        if (leaf->stored == NL_PARQUET_STORED_UUID && leaf->type->id == NL_TYPE_STRING) {
            if (!nl_uuid_parse(text, out)) return bad_value(leaf, "is no UUID");
            continue;
        }
        if (text.length != leaf->stride) return bad_value(leaf, "does not have the length of its fixed type");
        memcpy(out, text.data, leaf->stride);
    }
    return NULL;
}

nl_status nl_write_form(const nl_write_leaf *leaf, const nl_vector *values, const uint32_t *index, uint32_t count, void *out)
{
    switch (values->type->physical) {
    case NL_PHYS_BOOL: FORM_LOOP(uint8_t, uint8_t);
    case NL_PHYS_I8: FORM_LOOP(int8_t, int32_t);
    case NL_PHYS_I16: FORM_LOOP(int16_t, int32_t);
    case NL_PHYS_F32:
    case NL_PHYS_I32: FORM_LOOP(uint32_t, uint32_t);
    case NL_PHYS_I64:
        if (leaf->stride == 4) return narrow_decimals(leaf, values, index, count, out);
        FORM_LOOP(uint64_t, uint64_t);
    case NL_PHYS_F64: FORM_LOOP(uint64_t, uint64_t);
    case NL_PHYS_I128: return wide_decimals(leaf, values, index, count, out);
    case NL_PHYS_STRING:
        if (leaf->physical == NL_PARQUET_FIXED) return fixed_bytes(leaf, values, index, count, out);
        FORM_LOOP(nl_string_view, nl_string_view);
    case NL_PHYS_NONE:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break;
    }
    return bad_value(leaf, "has a type that Parquet cannot hold");
}

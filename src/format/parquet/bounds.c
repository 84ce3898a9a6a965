/* format/parquet/bounds.c - see bounds.h. Source: parquet.thrift, Statistics and ColumnOrder. */
#include "format/parquet/bounds.h"

#include <math.h>

void nl_bounds_init(nl_bounds_out *bounds, const nl_write_leaf *leaf, nl_memory *memory)
{
    *bounds = (nl_bounds_out){.leaf = leaf};
    nl_bytes_out_init(&bounds->min_bytes, memory);
    nl_bytes_out_init(&bounds->max_bytes, memory);
}

void nl_bounds_fini(nl_bounds_out *bounds)
{
    nl_bytes_out_fini(&bounds->min_bytes);
    nl_bytes_out_fini(&bounds->max_bytes);
}

void nl_bounds_clear(nl_bounds_out *bounds)
{
    bounds->has_values = false;
    bounds->nan_count = 0;
}

/* <0, 0, >0. WIDE: big-endian two's complement of one length: only the first byte has a sign. */
static int compare_bytes(nl_order order, nl_bytes a, nl_bytes b)
{
    if (order == NL_ORDER_WIDE && a.length > 0 && (a.data[0] ^ b.data[0]) & 0x80) return a.data[0] & 0x80 ? -1 : 1;
    const size_t shorter = NL_MIN(a.length, b.length);
    const int difference = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    if (difference != 0) return difference;
    return a.length < b.length ? -1 : a.length > b.length;
}

static nl_status set_bytes(nl_bytes_out *out, nl_bytes value)
{
    out->length = 0;
    return nl_bytes_out_add(out, value.data, value.length);
}

static nl_status add_bytes(nl_bounds_out *bounds, nl_bytes value)
{
    const nl_order order = bounds->leaf->order;
    if (!bounds->has_values) {
        bounds->has_values = true;
        NL_TRY(set_bytes(&bounds->min_bytes, value));
        return set_bytes(&bounds->max_bytes, value);
    }
    if (compare_bytes(order, value, nl_bytes_out_bytes(&bounds->min_bytes)) < 0) return set_bytes(&bounds->min_bytes, value);
    if (compare_bytes(order, value, nl_bytes_out_bytes(&bounds->max_bytes)) > 0) return set_bytes(&bounds->max_bytes, value);
    return NULL;
}

static void add_integers(nl_bounds_out *bounds, int64_t min, int64_t max)
{
    if (!bounds->has_values || min < bounds->min_integer) bounds->min_integer = min;
    if (!bounds->has_values || max > bounds->max_integer) bounds->max_integer = max;
    bounds->has_values = true;
}

static bool is_less(double a, double b) /* -0.0 is below 0.0 */
{
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static void add_real(nl_bounds_out *bounds, double value)
{
    if (!bounds->has_values || is_less(value, bounds->min_real)) bounds->min_real = value;
    if (!bounds->has_values || is_less(bounds->max_real, value)) bounds->max_real = value;
    bounds->has_values = true;
}

#define MIN_MAX_LOOP(name, type)                                             \
    static void name(const type *values, uint32_t count, int64_t *min, int64_t *max) \
    {                                                                        \
        type low = values[0];                                                \
        type high = values[0];                                               \
        for (uint32_t i = 1; i < count; i++) {                               \
            low = values[i] < low ? values[i] : low;                         \
            high = values[i] > high ? values[i] : high;                      \
        }                                                                    \
        *min = low;                                                          \
        *max = high;                                                         \
    }
MIN_MAX_LOOP(min_max_8, uint8_t)
MIN_MAX_LOOP(min_max_32, int32_t)
MIN_MAX_LOOP(min_max_64, int64_t)

static void add_all_integers(nl_bounds_out *bounds, const void *values, uint32_t count)
{
    int64_t min = 0;
    int64_t max = 0;
    if (bounds->leaf->stride == 1)
        min_max_8(values, count, &min, &max);
    else if (bounds->leaf->stride == 4)
        min_max_32(values, count, &min, &max);
    else
        min_max_64(values, count, &min, &max);
    add_integers(bounds, min, max);
}

static void add_all_reals(nl_bounds_out *bounds, const void *values, uint32_t count)
{
    const float *narrow = values;
    const double *wide = values;
    for (uint32_t i = 0; i < count; i++) {
        const double value = bounds->leaf->stride == 4 ? (double)narrow[i] : wide[i];
        if (value != value)
            bounds->nan_count++;
        else
            add_real(bounds, value);
    }
}

nl_status nl_bounds_add(nl_bounds_out *bounds, const void *values, uint32_t count)
{
    const nl_write_leaf *leaf = bounds->leaf;
    if (count == 0) return NULL;
    if (leaf->order == NL_ORDER_INTEGER) {
        add_all_integers(bounds, values, count);
        return NULL;
    }
    if (leaf->order == NL_ORDER_REAL) {
        add_all_reals(bounds, values, count);
        return NULL;
    }
    const nl_string_view *views = values;
    const uint8_t *fixed = values;
    for (uint32_t i = 0; i < count; i++) {
        nl_bytes value = {fixed + (size_t)i * leaf->stride, leaf->stride};
        if (leaf->physical == NL_PARQUET_BYTE_ARRAY) value = (nl_bytes){(const uint8_t *)nl_view_data(&views[i]), views[i].length};
        NL_TRY(add_bytes(bounds, value));
    }
    return NULL;
}

nl_status nl_bounds_add_plain(nl_bounds_out *bounds, nl_bytes value)
{
    const nl_write_leaf *leaf = bounds->leaf;
    if (leaf->order == NL_ORDER_BYTES || leaf->order == NL_ORDER_WIDE) return add_bytes(bounds, value);
    _Alignas(8) uint8_t aligned[8];
    memcpy(aligned, value.data, value.length);
    const uint64_t nan_count = bounds->nan_count;
    NL_TRY(nl_bounds_add(bounds, aligned, 1));
    bounds->nan_count = nan_count;
    return NULL;
}

nl_status nl_bounds_merge(nl_bounds_out *into, const nl_bounds_out *from)
{
    into->nan_count += from->nan_count;
    if (!from->has_values) return NULL;
    switch (into->leaf->order) {
    case NL_ORDER_INTEGER: add_integers(into, from->min_integer, from->max_integer); return NULL;
    case NL_ORDER_REAL:
        add_real(into, from->min_real);
        add_real(into, from->max_real);
        return NULL;
    case NL_ORDER_WIDE:
    case NL_ORDER_BYTES:
        NL_TRY(add_bytes(into, nl_bytes_out_bytes(&from->min_bytes)));
        return add_bytes(into, nl_bytes_out_bytes(&from->max_bytes));
    }
    return NULL;
}

/* Zero may be written by others with any sign, so a bound of zero takes the sign that includes both. */
static size_t put_number(const nl_bounds_out *bounds, bool is_max, uint8_t *room)
{
    const nl_write_leaf *leaf = bounds->leaf;
    if (leaf->order == NL_ORDER_INTEGER) {
        const int64_t value = is_max ? bounds->max_integer : bounds->min_integer;
        memcpy(room, &value, sizeof(value)); /* little-endian: the low bytes come first */
        return leaf->stride;
    }
    double value = is_max ? bounds->max_real : bounds->min_real;
    if (value == 0) value = is_max ? 0.0 : -0.0;
    const float narrow = (float)value;
    if (leaf->stride == 4)
        memcpy(room, &narrow, sizeof(narrow));
    else
        memcpy(room, &value, sizeof(value));
    return leaf->stride;
}

static bool is_number(const nl_write_leaf *leaf)
{
    return leaf->order == NL_ORDER_INTEGER || leaf->order == NL_ORDER_REAL;
}

static bool is_text(const nl_write_leaf *leaf)
{
    return leaf->type->id == NL_TYPE_STRING && leaf->physical == NL_PARQUET_BYTE_ARRAY;
}

/* The longest prefix of at most bytes_max bytes; of text, one that ends with a whole character. */
static size_t cut_length(const nl_write_leaf *leaf, nl_bytes value, size_t bytes_max)
{
    size_t length = bytes_max;
    if (!is_text(leaf)) return length;
    while (length > 0 && (value.data[length] & 0xc0) == 0x80) length--;
    return length > 0 ? length : bytes_max;
}

bool nl_bounds_min(const nl_bounds_out *bounds, size_t bytes_max, uint8_t room[16], nl_bytes *value, bool *is_exact)
{
    NL_ASSERT(bounds->has_values);
    *is_exact = true;
    if (is_number(bounds->leaf)) {
        *value = (nl_bytes){room, put_number(bounds, false, room)};
        return true;
    }
    *value = nl_bytes_out_bytes(&bounds->min_bytes);
    if (value->data == NULL) value->data = room; /* the empty string */
    if (bytes_max == 0 || value->length <= bytes_max || bounds->leaf->order == NL_ORDER_WIDE) return true;
    value->length = cut_length(bounds->leaf, *value, bytes_max);
    *is_exact = false;
    return true;
}

/* A prefix is below the whole value, so its last character is raised to the next one. Text stays valid UTF-8. */
static bool raise_prefix(bool is_text_value, uint8_t *bytes, size_t *length)
{
    while (*length > 0) {
        if (!is_text_value) {
            if (bytes[*length - 1] != 0xff) {
                bytes[*length - 1]++;
                return true;
            }
            (*length)--;
            continue;
        }
        size_t start = *length - 1;
        while (start > 0 && (bytes[start] & 0xc0) == 0x80) start--;
        size_t at = start;
        uint32_t next = nl_utf8_decode((nl_str){(const char *)bytes, *length}, &at) + 1;
        if (next >= 0xd800 && next < 0xe000) next = 0xe000;
        char encoded[4];
        if (at == *length && next <= 0x10ffff) {
            const uint32_t encoded_length = nl_utf8_encode(next, encoded);
            if (encoded_length <= *length - start) {
                memcpy(bytes + start, encoded, encoded_length);
                *length = start + encoded_length;
                return true;
            }
        }
        *length = start;
    }
    return false;
}

nl_status nl_bounds_max(const nl_bounds_out *bounds, size_t bytes_max, nl_bytes_out *room, nl_bytes *value, bool *is_exact, bool *is_usable)
{
    NL_ASSERT(bounds->has_values);
    *is_exact = true;
    *is_usable = true;
    room->length = 0;
    NL_TRY(nl_bytes_out_reserve(room, 16));
    if (is_number(bounds->leaf)) {
        *value = (nl_bytes){room->data, put_number(bounds, true, room->data)};
        return NULL;
    }
    *value = nl_bytes_out_bytes(&bounds->max_bytes);
    if (value->data == NULL) value->data = room->data;
    if (bytes_max == 0 || value->length <= bytes_max || bounds->leaf->order == NL_ORDER_WIDE) return NULL;
    size_t length = cut_length(bounds->leaf, *value, bytes_max);
    NL_TRY(nl_bytes_out_add(room, value->data, length));
    *is_exact = false;
    *is_usable = raise_prefix(is_text(bounds->leaf), room->data, &length);
    *value = (nl_bytes){room->data, length};
    return NULL;
}

static nl_int128 wide_of(nl_bytes bytes)
{
    nl_uint128 value = bytes.length > 0 && (bytes.data[0] & 0x80) ? ~(nl_uint128)0 : 0;
    for (size_t i = 0; i < bytes.length; i++) value = value << 8 | bytes.data[i];
    return (nl_int128)value;
}

nl_value nl_bounds_value(const nl_bounds_out *bounds, bool is_max, nl_arena *arena)
{
    const nl_write_leaf *leaf = bounds->leaf;
    const nl_bytes bytes = nl_bytes_out_bytes(is_max ? &bounds->max_bytes : &bounds->min_bytes);
    const nl_str text = {(const char *)bytes.data, bytes.length};
    nl_value value = {.type = leaf->type};
    switch (leaf->order) {
    case NL_ORDER_INTEGER: {
        const int64_t integer = is_max ? bounds->max_integer : bounds->min_integer;
        if (leaf->type->id == NL_TYPE_DECIMAL)
            value.decimal = integer;
        else if (leaf->type->id == NL_TYPE_BOOLEAN)
            value.boolean = integer != 0;
        else
            value.integer = integer;
        break;
    }
    case NL_ORDER_REAL: value.real = is_max ? bounds->max_real : bounds->min_real; break;
    case NL_ORDER_WIDE: value.decimal = wide_of(bytes); break;
    case NL_ORDER_BYTES:
        if (leaf->physical == NL_PARQUET_FIXED) value.type = nl_type_binary();
        value.text = nl_arena_str(arena, text);
        break;
    }
    return value;
}

/* format/parquet/convert.c - one loop per pair of forms; the pair is chosen once per column.
 *
 * What may be read as what: Iceberg spec, Schema Evolution (promotions); Spark's ParquetVectorUpdaterFactory (unsigned
 * integers, INT96, wider decimals). INT96: nanoseconds of the day, then the Julian day; day 2440588 is 1970-01-01.
 */
#include "format/parquet/convert.h"

#include "base/calendar.h"
#include "base/number.h"

#define JULIAN_DAY_OF_EPOCH 2440588

static uint32_t stored_bytes_of(nl_parquet_physical physical, uint32_t fixed_length)
{
    static const uint8_t sizes[NL_PARQUET_PHYSICAL_COUNT] = {
        [NL_PARQUET_BOOLEAN] = 1, [NL_PARQUET_INT32] = 4,  [NL_PARQUET_INT64] = 8, [NL_PARQUET_INT96] = 12,
        [NL_PARQUET_FLOAT] = 4,   [NL_PARQUET_DOUBLE] = 8, [NL_PARQUET_BYTE_ARRAY] = sizeof(nl_string_view),
    };
    return physical == NL_PARQUET_FIXED ? fixed_length : sizes[physical];
}

static bool set(nl_conversion *conversion, nl_conversion_kind kind)
{
    conversion->kind = kind;
    return true;
}

static bool is_unsigned(const nl_parquet_node *leaf, uint8_t bit_width)
{
    return leaf->logical == NL_PARQUET_INTEGER && !leaf->is_signed && leaf->bit_width == bit_width;
}

static bool is_whole_number(const nl_parquet_node *leaf) /* or a number whose annotation says nothing else */
{
    return leaf->logical == NL_PARQUET_NO_LOGICAL || leaf->logical == NL_PARQUET_INTEGER || leaf->logical == NL_PARQUET_OTHER;
}

static bool find_integer(const nl_parquet_node *leaf, const nl_type *wanted, nl_conversion *conversion)
{
    const bool is_plain = is_whole_number(leaf);
    if (leaf->physical == NL_PARQUET_INT32) {
        const bool is_time = leaf->logical == NL_PARQUET_TIME;
        if (wanted->id == NL_TYPE_BIGINT) return (is_plain || is_time) && set(conversion, is_unsigned(leaf, 32) ? NL_CONVERT_U32_I64 : NL_CONVERT_I32_I64);
        if (!is_plain || is_unsigned(leaf, 32)) return false;
        if (wanted->id == NL_TYPE_TINYINT) return set(conversion, NL_CONVERT_I32_I8);
        return set(conversion, wanted->id == NL_TYPE_SMALLINT ? NL_CONVERT_I32_I16 : NL_CONVERT_COPY);
    }
    if (leaf->physical != NL_PARQUET_INT64 || wanted->id != NL_TYPE_BIGINT || is_unsigned(leaf, 64)) return false;
    const bool is_nanos = leaf->logical == NL_PARQUET_TIMESTAMP && leaf->unit == NL_PARQUET_NANOS;
    return (is_plain || is_nanos || leaf->logical == NL_PARQUET_TIME) && set(conversion, NL_CONVERT_COPY);
}

static bool find_decimal(const nl_parquet_node *leaf, const nl_type *wanted, nl_conversion *conversion)
{
    int precision = leaf->precision;
    int scale = leaf->scale;
    nl_conversion_kind kind = NL_CONVERT_I64_DECIMAL;
    if (leaf->physical == NL_PARQUET_INT32) {
        kind = NL_CONVERT_I32_DECIMAL;
    } else if (leaf->physical == NL_PARQUET_BYTE_ARRAY || leaf->physical == NL_PARQUET_FIXED) {
        kind = leaf->physical == NL_PARQUET_FIXED ? NL_CONVERT_FIXED_DECIMAL : NL_CONVERT_VIEW_DECIMAL;
        if (leaf->logical != NL_PARQUET_DECIMAL) return false;
    } else if (leaf->physical != NL_PARQUET_INT64) {
        return false;
    }
    if (leaf->logical != NL_PARQUET_DECIMAL) { /* whole numbers widen into decimals that hold all of them */
        if (!is_whole_number(leaf)) return false;
        precision = leaf->physical == NL_PARQUET_INT32 ? 10 : 20;
        scale = 0;
        if (is_unsigned(leaf, 64)) kind = NL_CONVERT_U64_DECIMAL;
        if (is_unsigned(leaf, 32)) return false;
    }
    const int more_scale = wanted->scale - scale;
    if (more_scale < 0 || wanted->precision - wanted->scale < precision - scale) return false;
    conversion->multiplier = nl_decimal_powers[more_scale];
    conversion->precision = wanted->precision;
    const bool is_same = more_scale == 0 && leaf->physical == NL_PARQUET_INT64 && conversion->to == NL_PHYS_I64;
    return set(conversion, is_same ? NL_CONVERT_COPY : kind);
}

static bool find_timestamp(const nl_parquet_node *leaf, const nl_type *wanted, nl_conversion *conversion)
{
    if (leaf->physical == NL_PARQUET_INT96) return set(conversion, NL_CONVERT_INT96);
    if (leaf->physical == NL_PARQUET_INT32)
        return leaf->logical == NL_PARQUET_DATE && wanted->id == NL_TYPE_TIMESTAMP_NTZ && set(conversion, NL_CONVERT_DAYS);
    if (leaf->physical != NL_PARQUET_INT64) return false;
    if (leaf->logical == NL_PARQUET_NO_LOGICAL) return set(conversion, NL_CONVERT_COPY);
    if (leaf->logical != NL_PARQUET_TIMESTAMP) return false;
    if (leaf->unit == NL_PARQUET_MILLIS) return set(conversion, NL_CONVERT_MILLIS);
    return set(conversion, leaf->unit == NL_PARQUET_NANOS ? NL_CONVERT_NANOS : NL_CONVERT_COPY);
}

static bool find_bytes(const nl_parquet_node *leaf, const nl_type *wanted, nl_conversion *conversion)
{
    conversion->needs_heap = true;
    if (leaf->logical == NL_PARQUET_DECIMAL) return false;
    if (leaf->physical == NL_PARQUET_BYTE_ARRAY) return set(conversion, NL_CONVERT_COPY);
    if (leaf->physical != NL_PARQUET_FIXED) return false;
    const bool is_uuid = leaf->logical == NL_PARQUET_UUID && leaf->type_length == 16;
    if (wanted->id == NL_TYPE_STRING) return is_uuid && set(conversion, NL_CONVERT_UUID_TEXT);
    return set(conversion, NL_CONVERT_FIXED_VIEW);
}

static bool find_kind(const nl_parquet_node *leaf, const nl_type *wanted, nl_conversion *conversion)
{
    const nl_parquet_physical physical = leaf->physical;
    switch (wanted->id) {
    case NL_TYPE_BOOLEAN:
        return physical == NL_PARQUET_BOOLEAN && set(conversion, NL_CONVERT_COPY);
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
        return find_integer(leaf, wanted, conversion);
    case NL_TYPE_FLOAT:
        if (physical == NL_PARQUET_FIXED && leaf->logical == NL_PARQUET_FLOAT16 && leaf->type_length == 2)
            return set(conversion, NL_CONVERT_F16_F32);
        return physical == NL_PARQUET_FLOAT && set(conversion, NL_CONVERT_COPY);
    case NL_TYPE_DOUBLE:
        if (physical == NL_PARQUET_FLOAT) return set(conversion, NL_CONVERT_F32_F64);
        if (physical == NL_PARQUET_INT32 && is_whole_number(leaf) && !is_unsigned(leaf, 32)) return set(conversion, NL_CONVERT_I32_F64);
        return physical == NL_PARQUET_DOUBLE && set(conversion, NL_CONVERT_COPY);
    case NL_TYPE_DECIMAL:
        return find_decimal(leaf, wanted, conversion);
    case NL_TYPE_STRING:
    case NL_TYPE_BINARY:
        return find_bytes(leaf, wanted, conversion);
    case NL_TYPE_DATE:
        return physical == NL_PARQUET_INT32 && (leaf->logical == NL_PARQUET_DATE || leaf->logical == NL_PARQUET_NO_LOGICAL) &&
               set(conversion, NL_CONVERT_COPY);
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
        return find_timestamp(leaf, wanted, conversion);
    case NL_TYPE_INTERVAL_YM:
        return physical == NL_PARQUET_INT32 && is_whole_number(leaf) && set(conversion, NL_CONVERT_COPY);
    case NL_TYPE_INTERVAL_DT:
        return physical == NL_PARQUET_INT64 && is_whole_number(leaf) && set(conversion, NL_CONVERT_COPY);
    case NL_TYPE_NULL:
    case NL_TYPE_INTERVAL:
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT:
        break;
    }
    return false;
}

bool nl_conversion_find(const nl_parquet_node *leaf, const nl_type *wanted, nl_conversion *conversion)
{
    *conversion = (nl_conversion){
        .from = leaf->physical,
        .to = wanted->physical,
        .stored_bytes = stored_bytes_of(leaf->physical, leaf->type_length),
        .out_bytes = nl_physical_size(wanted->physical),
        .fixed_length = leaf->physical == NL_PARQUET_INT96 ? 12 : leaf->type_length,
        .multiplier = 1,
        .is_raw = leaf->physical == NL_PARQUET_FIXED || leaf->physical == NL_PARQUET_INT96,
    };
    nl_parquet_node plain = *leaf;
    if (plain.logical == NL_PARQUET_UNKNOWN) plain.logical = NL_PARQUET_NO_LOGICAL; /* there are only nulls */
    return find_kind(&plain, wanted, conversion);
}

static nl_status out_of_range(const nl_parquet_place *place, const char *what)
{
    return nl_parquet_corrupt(place, "a value that does not fit %s", what);
}

static nl_status narrow_integers(const nl_conversion *conversion, const int32_t *in, uint32_t count, const nl_parquet_place *place, void *out)
{
    int32_t bad = 0;
    if (conversion->kind == NL_CONVERT_I32_I8) {
        int8_t *target = out;
        for (uint32_t i = 0; i < count; i++) {
            target[i] = (int8_t)in[i];
            bad |= target[i] ^ in[i];
        }
        return bad ? out_of_range(place, "TINYINT") : NULL;
    }
    int16_t *target = out;
    for (uint32_t i = 0; i < count; i++) {
        target[i] = (int16_t)in[i];
        bad |= target[i] ^ in[i];
    }
    return bad ? out_of_range(place, "SMALLINT") : NULL;
}

static nl_status convert_millis(const int64_t *in, uint32_t count, const nl_parquet_place *place, int64_t *out)
{
    bool is_bad = false;
    for (uint32_t i = 0; i < count; i++) is_bad |= __builtin_mul_overflow(in[i], (int64_t)1000, &out[i]);
    return is_bad ? out_of_range(place, "TIMESTAMP") : NULL;
}

static nl_status convert_int96(const uint8_t *in, uint32_t count, const nl_parquet_place *place, int64_t *out)
{
    (void)place;
    for (uint32_t i = 0; i < count; i++, in += 12) {
        int64_t nanos, micros;
        int32_t julian;
        memcpy(&nanos, in, sizeof(nanos));
        memcpy(&julian, in + 8, sizeof(julian));
        (void)__builtin_mul_overflow((int64_t)julian - JULIAN_DAY_OF_EPOCH, (int64_t)NL_MICROS_PER_DAY, &micros);
        (void)__builtin_add_overflow(micros, nanos / 1000, &out[i]); /* Spark writes late years with a day that wraps round, and reads them so */
    }
    return NULL;
}

static float float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = (half >> 10) & 0x1f;
    const uint32_t fraction = half & 0x3ff;
    uint32_t bits = sign | ((exponent + 112) << 23) | (fraction << 13);
    if (exponent == 31) bits = sign | 0x7f800000u | (fraction << 13);
    if (exponent == 0) {
        const float tiny = (float)fraction * 0x1p-24f;
        return sign ? -tiny : tiny;
    }
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* A big-endian number of 1 … 16 bytes; 8 bytes are readable from each byte on. */
static inline nl_int128 load_big_endian(const uint8_t *at, uint32_t length)
{
    uint64_t word;
    if (length <= 8) {
        memcpy(&word, at, sizeof(word));
        return (int64_t)__builtin_bswap64(word) >> (64 - 8 * length);
    }
    memcpy(&word, at, sizeof(word));
    const uint32_t high_bytes = length - 8;
    const int64_t high = (int64_t)__builtin_bswap64(word) >> (64 - 8 * high_bytes);
    memcpy(&word, at + high_bytes, sizeof(word));
    return (nl_int128)(((nl_uint128)(uint64_t)high << 64) | __builtin_bswap64(word));
}

/* Any length: leading bytes may only repeat the sign. */
static bool load_long_decimal(const uint8_t *at, uint32_t length, nl_int128 *value)
{
    uint8_t low[24] = {0};
    if (length == 0) return false;
    const uint8_t fill = at[0] & 0x80 ? 0xff : 0;
    while (length > 16 && at[0] == fill) {
        at++;
        length--;
    }
    if (length > 16 || (length > 0 && (at[0] & 0x80) != (fill & 0x80))) return false;
    memcpy(low, at, length);
    *value = load_big_endian(low, length);
    return true;
}

/* Stores value * multiplier when it fits the precision. */
static inline bool store_decimal(const nl_conversion *conversion, nl_int128 value, uint32_t i, void *out)
{
    nl_int128 scaled;
    const bool is_good = !__builtin_mul_overflow(value, conversion->multiplier, &scaled) && nl_decimal_fits(scaled, conversion->precision);
    if (conversion->to == NL_PHYS_I64)
        ((int64_t *)out)[i] = is_good ? (int64_t)scaled : 0;
    else
        ((nl_int128 *)out)[i] = is_good ? scaled : 0;
    return is_good;
}

static nl_status convert_integer_decimals(const nl_conversion *conversion, const void *in, uint32_t count, const nl_parquet_place *place, void *out)
{
    const int32_t *narrow = in;
    const int64_t *wide = in;
    const uint64_t *positive = in;
    bool is_good = true;
    if (conversion->kind == NL_CONVERT_I32_DECIMAL && conversion->to == NL_PHYS_I64 && conversion->multiplier == 1) {
        int64_t *target = out;
        for (uint32_t i = 0; i < count; i++) target[i] = narrow[i];
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        nl_int128 value = conversion->kind == NL_CONVERT_I32_DECIMAL ? (nl_int128)narrow[i] : (nl_int128)wide[i];
        if (conversion->kind == NL_CONVERT_U64_DECIMAL) value = positive[i];
        is_good &= store_decimal(conversion, value, i, out);
    }
    return is_good ? NULL : out_of_range(place, "its DECIMAL");
}

static nl_status convert_fixed_decimals(const nl_conversion *conversion, const uint8_t *in, uint32_t count, const nl_parquet_place *place, void *out)
{
    const uint32_t length = conversion->fixed_length;
    bool is_good = true;
    if (length <= 8 && conversion->to == NL_PHYS_I64 && conversion->multiplier == 1) {
        int64_t *target = out;
        for (uint32_t i = 0; i < count; i++, in += length) target[i] = (int64_t)load_big_endian(in, length);
        return NULL;
    }
    if (length <= 16 && conversion->to == NL_PHYS_I128 && conversion->multiplier == 1) {
        nl_int128 *target = out;
        for (uint32_t i = 0; i < count; i++, in += length) target[i] = load_big_endian(in, length);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++, in += length) {
        nl_int128 value = 0;
        is_good &= load_long_decimal(in, length, &value);
        is_good &= store_decimal(conversion, value, i, out);
    }
    return is_good ? NULL : out_of_range(place, "its DECIMAL");
}

static nl_status convert_view_decimals(const nl_conversion *conversion, const nl_string_view *in, uint32_t count, const nl_parquet_place *place, void *out)
{
    bool is_good = true;
    for (uint32_t i = 0; i < count; i++) {
        nl_int128 value = 0;
        is_good &= load_long_decimal((const uint8_t *)nl_view_data(&in[i]), in[i].length, &value);
        is_good &= store_decimal(conversion, value, i, out);
    }
    return is_good ? NULL : out_of_range(place, "its DECIMAL");
}

static nl_status convert_uuids(const uint8_t *in, uint32_t count, nl_heap *heap, nl_string_view *out)
{
    static const char digits[] = "0123456789abcdef";
    for (uint32_t i = 0; i < count; i++, in += 16) {
        char *text = NULL;
        NL_TRY(nl_heap_alloc(heap, 36, &text));
        uint32_t at = 0;
        for (uint32_t k = 0; k < 16; k++) {
            if (k == 4 || k == 6 || k == 8 || k == 10) text[at++] = '-';
            text[at++] = digits[in[k] >> 4];
            text[at++] = digits[in[k] & 15];
        }
        out[i] = nl_view_of((nl_str){text, 36});
    }
    return NULL;
}

#define EACH_VALUE(in_type, out_type, expression)              \
    do {                                                       \
        const in_type *source = in;                            \
        out_type *target = out;                                \
        for (uint32_t i = 0; i < count; i++) {                 \
            const in_type value = source[i];                   \
            target[i] = (out_type)(expression);                \
        }                                                      \
        return NULL;                                           \
    } while (0)

nl_status nl_convert(const nl_conversion *conversion, const void *in, uint32_t count, nl_heap *heap, const nl_parquet_place *place, void *out)
{
    switch (conversion->kind) {
    case NL_CONVERT_COPY:
        memcpy(out, in, (size_t)count * conversion->stored_bytes);
        return NULL;
    case NL_CONVERT_I32_I8:
    case NL_CONVERT_I32_I16:
        return narrow_integers(conversion, in, count, place, out);
    case NL_CONVERT_I32_I64:
        EACH_VALUE(int32_t, int64_t, value);
    case NL_CONVERT_U32_I64:
        EACH_VALUE(uint32_t, int64_t, value);
    case NL_CONVERT_I32_F64:
        EACH_VALUE(int32_t, double, value);
    case NL_CONVERT_F32_F64:
        EACH_VALUE(float, double, value);
    case NL_CONVERT_F16_F32:
        EACH_VALUE(uint16_t, float, float_of_half(value));
    case NL_CONVERT_MILLIS:
        return convert_millis(in, count, place, out);
    case NL_CONVERT_NANOS:
        EACH_VALUE(int64_t, int64_t, nl_floor_div(value, 1000));
    case NL_CONVERT_DAYS:
        EACH_VALUE(int32_t, int64_t, (int64_t)value * NL_MICROS_PER_DAY);
    case NL_CONVERT_INT96:
        return convert_int96(in, count, place, out);
    case NL_CONVERT_I32_DECIMAL:
    case NL_CONVERT_I64_DECIMAL:
    case NL_CONVERT_U64_DECIMAL:
        return convert_integer_decimals(conversion, in, count, place, out);
    case NL_CONVERT_VIEW_DECIMAL:
        return convert_view_decimals(conversion, in, count, place, out);
    case NL_CONVERT_FIXED_DECIMAL:
        return convert_fixed_decimals(conversion, in, count, place, out);
    case NL_CONVERT_FIXED_VIEW: {
        const uint8_t *raw = in;
        nl_string_view *views = out;
        for (uint32_t i = 0; i < count; i++, raw += conversion->fixed_length)
            views[i] = nl_view_of((nl_str){(const char *)raw, conversion->fixed_length});
        return NULL;
    }
    case NL_CONVERT_UUID_TEXT:
        return convert_uuids(in, count, heap, out);
    }
    return NULL;
}

nl_status nl_convert_read(const nl_conversion *conversion, nl_values *values, uint32_t count, nl_heap *heap, void *scratch, void *out)
{
    if (conversion->is_raw) {
        const uint8_t *raw = NULL;
        NL_TRY(nl_values_read_fixed(values, count, heap, &raw));
        return nl_convert(conversion, raw, count, heap, &values->place, out);
    }
    if (conversion->kind == NL_CONVERT_COPY) return nl_values_read(values, count, heap, out);
    NL_TRY(nl_values_read(values, count, heap, scratch));
    return nl_convert(conversion, scratch, count, heap, &values->place, out);
}

/* The stored form of one statistic, in `form`; padded, since loads go by words. */
static bool form_of_statistic(const nl_conversion *conversion, nl_bytes bytes, uint8_t form[64])
{
    memset(form, 0, 64);
    if (conversion->from == NL_PARQUET_BYTE_ARRAY) {
        const nl_string_view view = nl_view_of((nl_str){(const char *)bytes.data, bytes.length});
        memcpy(form, &view, sizeof(view));
        return true;
    }
    if (bytes.length != conversion->stored_bytes || bytes.length > 48) return false;
    memcpy(form, bytes.data, bytes.length);
    return true;
}

static void set_value(const nl_type *type, const void *out, nl_arena *arena, nl_value *value)
{
    *value = (nl_value){.type = type};
    switch (type->physical) {
    case NL_PHYS_BOOL: value->boolean = *(const uint8_t *)out != 0; break;
    case NL_PHYS_I8: value->integer = *(const int8_t *)out; break;
    case NL_PHYS_I16: value->integer = *(const int16_t *)out; break;
    case NL_PHYS_I32: value->integer = *(const int32_t *)out; break;
    case NL_PHYS_I64:
        if (type->id == NL_TYPE_DECIMAL)
            value->decimal = *(const int64_t *)out;
        else
            value->integer = *(const int64_t *)out;
        break;
    case NL_PHYS_I128: value->decimal = *(const nl_int128 *)out; break;
    case NL_PHYS_F32: value->real = (double)*(const float *)out; break;
    case NL_PHYS_F64: value->real = *(const double *)out; break;
    case NL_PHYS_STRING: value->text = nl_arena_str(arena, nl_view_str(out)); break;
    case NL_PHYS_NONE:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break;
    }
}

nl_status nl_convert_statistic(const nl_conversion *conversion, const nl_type *type, nl_bytes bytes, nl_arena *arena, nl_value *value,
                               bool *is_usable)
{
    const nl_parquet_place nowhere = {0};
    _Alignas(16) uint8_t form[64];
    _Alignas(16) uint8_t out[16] = {0};
    *is_usable = false;
    if (bytes.data == NULL || conversion->from == NL_PARQUET_INT96) return NULL;
    if (conversion->kind == NL_CONVERT_FIXED_VIEW) { /* raw bytes of any length are the value */
        *value = (nl_value){.type = type, .text = nl_arena_str(arena, (nl_str){(const char *)bytes.data, bytes.length})};
        *is_usable = true;
        return NULL;
    }
    if (!form_of_statistic(conversion, bytes, form)) return NULL;
    nl_heap *heap = NULL;
    NL_TRY(nl_heap_new(NULL, &heap));
    nl_status status = nl_convert(conversion, form, 1, heap, &nowhere, out);
    *is_usable = status == NULL;
    if (status == NULL) set_value(type, out, arena, value);
    nl_error_free(status); /* a statistic that cannot be read is none; the data decides */
    nl_heap_release(heap);
    return NULL;
}

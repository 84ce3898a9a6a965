/* iceberg/transform.c - partition transforms on values and vectors (spec: "Partition Transforms", Appendix B). */
#include "iceberg/partition.h"

#include "base/hash.h"
#include "base/number.h"

/* ---- Names ---- */

static const char *const simple_names[] = {[NL_TRANSFORM_IDENTITY] = "identity", [NL_TRANSFORM_BUCKET] = "bucket", [NL_TRANSFORM_TRUNCATE] = "truncate",
                                           [NL_TRANSFORM_YEAR] = "year",         [NL_TRANSFORM_MONTH] = "month",   [NL_TRANSFORM_DAY] = "day",
                                           [NL_TRANSFORM_HOUR] = "hour",         [NL_TRANSFORM_VOID] = "void"};

static bool has_width(nl_transform_kind kind)
{
    return kind == NL_TRANSFORM_BUCKET || kind == NL_TRANSFORM_TRUNCATE;
}

/* "name[123]": digits only, as Java's pattern wants it. */
static bool parse_width(nl_str text, const char *name, nl_str *digits)
{
    const nl_str prefix = nl_str_from(name);
    if (!nl_str_starts_nocase(text, prefix) || text.length < prefix.length + 3) return false;
    if (text.data[prefix.length] != '[' || text.data[text.length - 1] != ']') return false;
    *digits = nl_str_slice(text, prefix.length + 1, text.length - 1);
    for (size_t i = 0; i < digits->length; i++)
        if (digits->data[i] < '0' || digits->data[i] > '9') return false;
    return true;
}

nl_status nl_transform_parse(nl_arena *arena, nl_str text, nl_transform *transform)
{
    for (nl_transform_kind kind = NL_TRANSFORM_IDENTITY; kind <= NL_TRANSFORM_VOID; kind++) {
        if (!has_width(kind)) {
            if (!nl_str_is_nocase(text, simple_names[kind])) continue;
            *transform = (nl_transform){.kind = kind};
            return NULL;
        }
        nl_str digits;
        int64_t width;
        if (!parse_width(text, simple_names[kind], &digits)) continue;
        if (!nl_parse_int64(digits, &width) || width < 1 || width > INT32_MAX)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid %s: " NL_STR_FMT " (must be > 0)",
                                 kind == NL_TRANSFORM_BUCKET ? "number of buckets" : "truncate width", NL_STR_ARG(digits));
        *transform = (nl_transform){.kind = kind, .width = (int32_t)width};
        return NULL;
    }
    *transform = (nl_transform){.kind = NL_TRANSFORM_UNKNOWN, .text = nl_arena_str(arena, text)};
    return NULL;
}

nl_str nl_transform_name(nl_arena *arena, const nl_transform *transform)
{
    if (transform->kind == NL_TRANSFORM_UNKNOWN) return transform->text;
    if (!has_width(transform->kind)) return nl_str_from(simple_names[transform->kind]);
    return nl_arena_f(arena, "%s[%d]", simple_names[transform->kind], transform->width);
}

bool nl_transform_equal(const nl_transform *a, const nl_transform *b)
{
    return a->kind == b->kind && a->width == b->width && nl_str_equal(a->text, b->text);
}

/* ---- Types ---- */

static bool is_instant(const nl_ice_type *type)
{
    return type->id >= NL_ICE_TIMESTAMP && type->id <= NL_ICE_TIMESTAMPTZ_NS;
}

static bool is_nanos(const nl_ice_type *type)
{
    return type->id == NL_ICE_TIMESTAMP_NS || type->id == NL_ICE_TIMESTAMPTZ_NS;
}

bool nl_transform_can_apply(const nl_transform *transform, const nl_ice_type *source)
{
    switch (transform->kind) {
    case NL_TRANSFORM_IDENTITY: return source->id < NL_ICE_VARIANT;
    case NL_TRANSFORM_BUCKET:
        return source->id == NL_ICE_INT || source->id == NL_ICE_LONG || (source->id >= NL_ICE_DECIMAL && source->id <= NL_ICE_BINARY);
    case NL_TRANSFORM_TRUNCATE:
        return source->id == NL_ICE_INT || source->id == NL_ICE_LONG || source->id == NL_ICE_DECIMAL || source->id == NL_ICE_STRING ||
               source->id == NL_ICE_BINARY;
    case NL_TRANSFORM_YEAR:
    case NL_TRANSFORM_MONTH:
    case NL_TRANSFORM_DAY: return source->id == NL_ICE_DATE || is_instant(source);
    case NL_TRANSFORM_HOUR: return is_instant(source);
    case NL_TRANSFORM_VOID:
    case NL_TRANSFORM_UNKNOWN: return true;
    }
    return false;
}

const nl_ice_type *nl_transform_result_type(const nl_transform *transform, const nl_ice_type *source)
{
    switch (transform->kind) {
    case NL_TRANSFORM_IDENTITY:
    case NL_TRANSFORM_TRUNCATE:
    case NL_TRANSFORM_VOID: return source;
    case NL_TRANSFORM_BUCKET:
    case NL_TRANSFORM_YEAR:
    case NL_TRANSFORM_MONTH:
    case NL_TRANSFORM_HOUR: return nl_ice_type_of(NL_ICE_INT);
    case NL_TRANSFORM_DAY: return nl_ice_type_of(NL_ICE_DATE);
    case NL_TRANSFORM_UNKNOWN: break;
    }
    return nl_ice_type_of(NL_ICE_STRING);
}

bool nl_transform_preserves_order(const nl_transform *transform)
{
    return transform->kind != NL_TRANSFORM_BUCKET && transform->kind != NL_TRANSFORM_VOID && transform->kind != NL_TRANSFORM_UNKNOWN;
}

static bool is_time(nl_transform_kind kind)
{
    return kind >= NL_TRANSFORM_YEAR && kind <= NL_TRANSFORM_HOUR;
}

bool nl_transform_satisfies_order_of(const nl_transform *a, const nl_transform *b)
{
    if (nl_transform_equal(a, b)) return true;
    if (a->kind == NL_TRANSFORM_IDENTITY) return nl_transform_preserves_order(b);
    if (is_time(a->kind) && is_time(b->kind)) return a->kind >= b->kind; /* the enumeration goes from coarse to fine */
    return a->kind == NL_TRANSFORM_TRUNCATE && b->kind == NL_TRANSFORM_TRUNCATE && a->width >= b->width;
}

/* ---- One element ---- */

static inline int64_t truncate_i64(int64_t value, int64_t width)
{
    return (int64_t)((uint64_t)value - (uint64_t)nl_floor_mod(value, width));
}

static inline nl_int128 truncate_i128(nl_int128 value, int64_t width)
{
    nl_int128 remainder = value % width;
    if (remainder < 0) remainder += width;
    return value - remainder;
}

static nl_str truncate_text(nl_str text, int64_t width)
{
    size_t end = 0;
    for (int64_t i = 0; i < width && end < text.length; i++)
        end = nl_utf8_next(text, end);
    return nl_str_slice(text, 0, end);
}

static inline int32_t year_of_days(int64_t days)
{
    nl_civil civil;
    nl_civil_from_days(days, &civil);
    return civil.year - 1970;
}

static inline int32_t month_of_days(int64_t days)
{
    nl_civil civil;
    nl_civil_from_days(days, &civil);
    return (civil.year - 1970) * 12 + civil.month - 1;
}

static inline uint32_t hash_i64(int64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
    return nl_murmur3_32(bytes, 8, 0);
}

static uint32_t hash_i128(nl_int128 value)
{
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++)
        bytes[i] = (uint8_t)((nl_uint128)value >> (8 * (15 - i)));
    size_t start = 0; /* the minimal two's complement form is hashed */
    while (start < 15 && ((bytes[start] == 0 && !(bytes[start + 1] & 0x80)) || (bytes[start] == 0xff && (bytes[start + 1] & 0x80))))
        start++;
    return nl_murmur3_32(bytes + start, 16 - start, 0);
}

uint32_t nl_bucket_hash(const nl_ice_type *type, const nl_value *value)
{
    if (type->id == NL_ICE_DECIMAL) return hash_i128(value->decimal);
    if (is_nanos(type)) return hash_i64(nl_floor_div(value->integer, 1000));
    if (type->id == NL_ICE_STRING || type->id == NL_ICE_UUID || type->id == NL_ICE_FIXED || type->id == NL_ICE_BINARY)
        return nl_murmur3_32(value->text.data, value->text.length, 0);
    if (type->id == NL_ICE_BOOLEAN) return hash_i64(value->boolean); /* not bucketable, but the spec has vectors for these */
    if (type->id == NL_ICE_FLOAT || type->id == NL_ICE_DOUBLE) {
        const double real = value->real == 0 ? 0 : value->real;
        int64_t bits;
        memcpy(&bits, &real, 8);
        return hash_i64(bits);
    }
    return hash_i64(value->integer);
}

/* Units of the source per day; 1 for dates. */
static int64_t units_per_day(const nl_ice_type *source)
{
    return source->id == NL_ICE_DATE ? 1 : is_nanos(source) ? NL_MICROS_PER_DAY * 1000 : NL_MICROS_PER_DAY;
}

static int64_t time_part(nl_transform_kind kind, int64_t value, int64_t per_day)
{
    if (kind == NL_TRANSFORM_HOUR) return nl_floor_div(value, per_day / 24);
    const int64_t days = per_day == 1 ? value : nl_floor_div(value, per_day);
    if (kind == NL_TRANSFORM_DAY) return days;
    return kind == NL_TRANSFORM_YEAR ? year_of_days(days) : month_of_days(days);
}

/* ---- Values ---- */

static nl_status refuse(const nl_transform *transform, const nl_ice_type *source)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str type = nl_ice_type_name(arena, source);
    const nl_str name = nl_transform_name(arena, transform);
    nl_status status =
        transform->kind == NL_TRANSFORM_UNKNOWN
            ? NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot apply unsupported transform: " NL_STR_FMT, NL_STR_ARG(name))
            : NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Invalid source type " NL_STR_FMT " for transform: " NL_STR_FMT, NL_STR_ARG(type), NL_STR_ARG(name));
    nl_arena_free(arena);
    return status;
}

nl_status nl_transform_value(const nl_transform *transform, const nl_ice_type *source, const nl_value *in, nl_arena *arena, nl_value *out)
{
    if (!nl_transform_can_apply(transform, source) || transform->kind == NL_TRANSFORM_UNKNOWN) return refuse(transform, source);
    const nl_type *type = nl_ice_type_storage(arena, nl_transform_result_type(transform, source));
    if (in->is_null || transform->kind == NL_TRANSFORM_VOID) {
        *out = nl_value_null(type);
        return NULL;
    }
    if (transform->kind == NL_TRANSFORM_IDENTITY) {
        *out = nl_value_copy(arena, in);
        return NULL;
    }
    nl_value made = {.type = type};
    if (transform->kind == NL_TRANSFORM_BUCKET) {
        made.integer = (int32_t)(nl_bucket_hash(source, in) & INT32_MAX) % transform->width;
    } else if (transform->kind == NL_TRANSFORM_TRUNCATE) {
        if (source->id == NL_ICE_DECIMAL) made.decimal = truncate_i128(in->decimal, transform->width);
        else if (source->id == NL_ICE_STRING) made.text = nl_arena_str(arena, truncate_text(in->text, transform->width));
        else if (source->id == NL_ICE_BINARY) made.text = nl_arena_str(arena, nl_str_slice(in->text, 0, (size_t)transform->width));
        else made.integer = truncate_i64(in->integer, transform->width);
        if (source->id == NL_ICE_INT) made.integer = (int32_t)(uint32_t)(uint64_t)made.integer;
    } else {
        made.integer = time_part(transform->kind, in->integer, units_per_day(source));
    }
    *out = made;
    return NULL;
}

/* ---- Vectors ---- */

/* The result's nulls are the source's: the bitmap is shared, or copied when it is only borrowed. */
static nl_status share_validity(const nl_vector *in, nl_vector *out, nl_memory *memory)
{
    if (!in->validity) return NULL;
    if (in->validity_buffer) {
        out->validity = in->validity;
        out->validity_buffer = nl_buffer_retain(in->validity_buffer);
    } else {
        uint8_t *bits;
        NL_TRY(nl_vector_make_validity(out, memory, &bits));
        memcpy(bits, in->validity, ((size_t)in->length + 7) / 8);
    }
    out->null_count = in->null_count;
    return NULL;
}

static void bucket_rows(const nl_ice_type *source, const nl_vector *in, int32_t width, int32_t *out)
{
    const int32_t *i32 = in->values;
    const int64_t *i64 = in->values;
    const nl_int128 *i128 = in->values;
    const nl_string_view *views = in->values;
    const bool is_nano = is_nanos(source);
    for (uint32_t row = 0; row < in->length; row++) {
        uint32_t hash = 0;
        if (nl_vector_is_null(in, row)) continue;
        if (in->type->physical == NL_PHYS_I32) hash = hash_i64(i32[row]);
        else if (in->type->physical == NL_PHYS_I128) hash = hash_i128(i128[row]);
        else if (in->type->physical == NL_PHYS_STRING) hash = nl_murmur3_32(nl_view_data(&views[row]), views[row].length, 0);
        else if (source->id == NL_ICE_DECIMAL) hash = hash_i128(i64[row]);
        else hash = hash_i64(is_nano ? nl_floor_div(i64[row], 1000) : i64[row]);
        out[row] = (int32_t)(hash & INT32_MAX) % width;
    }
}

static void truncate_rows(const nl_ice_type *source, const nl_vector *in, int32_t width, nl_vector *out)
{
    void *values = nl_vector_values(out);
    for (uint32_t row = 0; row < in->length; row++) {
        if (in->type->physical == NL_PHYS_I32) {
            ((int32_t *)values)[row] = (int32_t)(uint32_t)(uint64_t)truncate_i64(((const int32_t *)in->values)[row], width);
        } else if (in->type->physical == NL_PHYS_I64) {
            ((int64_t *)values)[row] = truncate_i64(((const int64_t *)in->values)[row], width);
        } else if (in->type->physical == NL_PHYS_I128) {
            ((nl_int128 *)values)[row] = truncate_i128(((const nl_int128 *)in->values)[row], width);
        } else {
            const nl_str text = nl_view_str(&((const nl_string_view *)in->values)[row]);
            ((nl_string_view *)values)[row] =
                nl_view_of(source->id == NL_ICE_STRING ? truncate_text(text, width) : nl_str_slice(text, 0, (size_t)width));
        }
    }
    /* Long prefixes point into the source's own heap. */
    if (in->type->physical == NL_PHYS_STRING) out->heap = nl_heap_retain(in->heap);
}

static void time_rows(const nl_transform *transform, const nl_ice_type *source, const nl_vector *in, int32_t *out)
{
    const int64_t per_day = units_per_day(source);
    const bool is_short = in->type->physical == NL_PHYS_I32;
    for (uint32_t row = 0; row < in->length; row++) {
        const int64_t value = is_short ? ((const int32_t *)in->values)[row] : ((const int64_t *)in->values)[row];
        out[row] = (int32_t)time_part(transform->kind, value, per_day);
    }
}

static nl_status transform_flat(const nl_transform *transform, const nl_ice_type *source, const nl_vector *in, nl_memory *memory, nl_vector *out)
{
    const nl_type *type = nl_ice_type_storage(NULL, nl_transform_result_type(transform, source));
    nl_vector made = {0};
    NL_TRY(nl_vector_new_flat(&made, type, in->length, memory));
    nl_status status = share_validity(in, &made, memory);
    if (status) {
        nl_vector_fini(&made);
        return status;
    }
    if (transform->kind == NL_TRANSFORM_BUCKET) bucket_rows(source, in, transform->width, nl_vector_values(&made));
    else if (transform->kind == NL_TRANSFORM_TRUNCATE) truncate_rows(source, in, transform->width, &made);
    else time_rows(transform, source, in, nl_vector_values(&made));
    nl_vector_move(&made, out);
    return NULL;
}

/* Every entry once; rows keep their indices. */
static nl_status transform_dictionary(const nl_transform *transform, const nl_ice_type *source, const nl_vector *in, nl_memory *memory,
                                      nl_vector *out)
{
    nl_vector entries = {0};
    NL_TRY(transform_flat(transform, source, &in->dictionary->vector, memory, &entries));
    const nl_type *type = entries.type;
    nl_shared_vector *dictionary = nl_shared_vector_new(&entries);
    nl_vector_ref(in, out);
    nl_shared_vector_release(out->dictionary);
    out->dictionary = dictionary;
    out->type = type;
    return NULL;
}

nl_status nl_transform_vector(const nl_transform *transform, const nl_ice_type *source, const nl_vector *in, nl_memory *memory, nl_vector *out)
{
    if (!nl_transform_can_apply(transform, source) || transform->kind == NL_TRANSFORM_UNKNOWN) return refuse(transform, source);
    if (transform->kind == NL_TRANSFORM_IDENTITY) {
        nl_vector_ref(in, out);
        return NULL;
    }
    const nl_type *type = nl_ice_type_storage(NULL, nl_transform_result_type(transform, source));
    if (transform->kind == NL_TRANSFORM_VOID) return nl_vector_new_null(out, type, in->length, memory);
    NL_CHECK(in->type->physical == nl_ice_type_storage(NULL, source)->physical);
    if (in->encoding == NL_DICTIONARY) return transform_dictionary(transform, source, in, memory, out);
    if (in->encoding == NL_FLAT) return transform_flat(transform, source, in, memory, out);
    if (nl_vector_is_null(in, 0)) return nl_vector_new_null(out, type, in->length, memory);
    nl_vector one = *in; /* borrowed: the constant's single value as a flat row */
    one.encoding = NL_FLAT;
    one.length = 1;
    NL_TRY(transform_flat(transform, source, &one, memory, out));
    out->encoding = NL_CONSTANT;
    out->length = in->length;
    return NULL;
}

/* ---- Text ---- */

static void append_base64(nl_str bytes, nl_builder *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.length; i += 3) {
        const size_t left = NL_MIN(bytes.length - i, 3);
        uint32_t group = (uint32_t)(unsigned char)bytes.data[i] << 16;
        if (left > 1) group |= (uint32_t)(unsigned char)bytes.data[i + 1] << 8;
        if (left > 2) group |= (unsigned char)bytes.data[i + 2];
        nl_append_char(out, digits[group >> 18]);
        nl_append_char(out, digits[(group >> 12) & 63]);
        nl_append_char(out, left > 1 ? digits[(group >> 6) & 63] : '=');
        nl_append_char(out, left > 2 ? digits[group & 63] : '=');
    }
}

/* java.time.LocalTime.toString: seconds only when something is there, fractions in groups of three digits. */
static void append_local_time(int64_t micros, nl_builder *out)
{
    const int64_t seconds = micros / NL_MICROS_PER_SECOND;
    const int64_t fraction = micros % NL_MICROS_PER_SECOND;
    nl_append_f(out, "%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60));
    if (seconds % 60 == 0 && fraction == 0) return;
    nl_append_f(out, ":%02d", (int)(seconds % 60));
    if (fraction == 0) return;
    if (fraction % 1000 == 0) nl_append_f(out, ".%03d", (int)(fraction / 1000));
    else nl_append_f(out, ".%06d", (int)fraction);
}

/* java.math.BigDecimal.toString: an exponent when the value is small (adjusted exponent below -6). */
static void append_big_decimal(nl_int128 value, int scale, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    const int adjusted = nl_decimal_digits(value) - 1 - scale;
    if (adjusted >= -6) {
        nl_append(out, (nl_str){text, nl_decimal_format(value, scale, text)});
        return;
    }
    const uint32_t length = nl_decimal_format(value < 0 ? -value : value, 0, text);
    if (value < 0) nl_append_char(out, '-');
    nl_append_char(out, text[0]);
    if (length > 1) {
        nl_append_char(out, '.');
        nl_append(out, (nl_str){text + 1, length - 1});
    }
    nl_append_f(out, "E%d", adjusted);
}

static void append_day(int64_t days, nl_builder *out)
{
    nl_civil civil;
    nl_civil_from_days(days, &civil);
    nl_append_f(out, "%04d-%02d-%02d", civil.year, civil.month, civil.day);
}

static void append_plain(const nl_ice_type *type, const nl_value *value, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    switch ((int)type->id) {
    case NL_ICE_BOOLEAN: nl_append_c(out, value->boolean ? "true" : "false"); break;
    case NL_ICE_FLOAT: nl_append(out, (nl_str){text, nl_format_float((float)value->real, text)}); break;
    case NL_ICE_DOUBLE: nl_append(out, (nl_str){text, nl_format_double(value->real, text)}); break;
    case NL_ICE_DECIMAL: append_big_decimal(value->decimal, type->scale, out); break;
    case NL_ICE_DATE: append_day(value->integer, out); break;
    case NL_ICE_TIME: append_local_time(value->integer, out); break;
    case NL_ICE_TIMESTAMP:
    case NL_ICE_TIMESTAMPTZ:
    case NL_ICE_TIMESTAMP_NS:
    case NL_ICE_TIMESTAMPTZ_NS: nl_timestamp_append_iso(type, value->integer, out); break;
    case NL_ICE_STRING: nl_append(out, value->text); break;
    case NL_ICE_UUID: nl_uuid_append(value->text, out); break;
    case NL_ICE_FIXED:
    case NL_ICE_BINARY: append_base64(value->text, out); break;
    default: nl_append_int(out, value->integer); break;
    }
}

void nl_transform_append_human(const nl_transform *transform, const nl_ice_type *source, const nl_value *value, nl_builder *out)
{
    if (value->is_null) {
        nl_append_c(out, "null");
        return;
    }
    const int64_t number = value->integer;
    switch (transform->kind) {
    case NL_TRANSFORM_IDENTITY:
    case NL_TRANSFORM_TRUNCATE: append_plain(source, value, out); break;
    case NL_TRANSFORM_BUCKET: nl_append_int(out, number); break;
    case NL_TRANSFORM_YEAR: nl_append_f(out, "%04d", (int)(number + 1970)); break;
    case NL_TRANSFORM_MONTH:
        nl_append_f(out, "%04d-%02d", (int)(nl_floor_div(number, 12) + 1970), (int)nl_floor_mod(number, 12) + 1);
        break;
    case NL_TRANSFORM_DAY: append_day(number, out); break;
    case NL_TRANSFORM_HOUR:
        append_day(nl_floor_div(number, 24), out);
        nl_append_f(out, "-%02d", (int)nl_floor_mod(number, 24));
        break;
    case NL_TRANSFORM_VOID: nl_append_c(out, "null"); break;
    case NL_TRANSFORM_UNKNOWN: nl_append(out, value->text); break;
    }
}

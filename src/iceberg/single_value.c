/* iceberg/single_value.c - single values as bytes (spec, Appendix D) and as JSON (Appendix C): bounds and defaults. */
#include "iceberg/schema.h"

#include "base/cursor.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/number.h"

#include <stdio.h>

static nl_status bad_length(const nl_ice_type *type, size_t length)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str name = nl_ice_type_name(arena, type);
    nl_status status =
        NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%zu bytes are no single value of type " NL_STR_FMT, length, NL_STR_ARG(name));
    nl_arena_free(arena);
    return status;
}

/* Sign-extends up to 16 big-endian bytes. */
static nl_int128 decimal_from_bytes(nl_bytes bytes)
{
    nl_uint128 value = bytes.length && (bytes.data[0] & 0x80) ? ~(nl_uint128)0 : 0;
    for (size_t i = 0; i < bytes.length; i++)
        value = (value << 8) | bytes.data[i];
    return (nl_int128)value;
}

static nl_status decode_integer(const nl_ice_type *type, nl_bytes bytes, int64_t *value)
{
    nl_cursor in = nl_cursor_over(bytes.data, bytes.length, NL_STR(""));
    const bool is_short = type->id == NL_ICE_INT || type->id == NL_ICE_DATE;
    const bool is_instant = type->id == NL_ICE_TIMESTAMP || type->id == NL_ICE_TIMESTAMP_NS;
    if (bytes.length == 8 && !is_short) {
        *value = (int64_t)nl_cursor_u64(&in);
    } else if (bytes.length == 4 && (is_short || type->id == NL_ICE_LONG)) {
        *value = (int32_t)nl_cursor_u32(&in);
    } else if (bytes.length == 4 && is_instant) { /* the bound of a column that was a date (v3) */
        const int64_t unit = type->id == NL_ICE_TIMESTAMP ? NL_MICROS_PER_DAY : NL_MICROS_PER_DAY * 1000;
        if (__builtin_mul_overflow((int64_t)(int32_t)nl_cursor_u32(&in), unit, value)) return bad_length(type, bytes.length);
    } else {
        return bad_length(type, bytes.length);
    }
    return NULL;
}

static nl_status decode_real(const nl_ice_type *type, nl_bytes bytes, double *value)
{
    nl_cursor in = nl_cursor_over(bytes.data, bytes.length, NL_STR(""));
    if (bytes.length == 4) *value = nl_cursor_f32(&in);
    else if (bytes.length == 8 && type->id == NL_ICE_DOUBLE) *value = nl_cursor_f64(&in);
    else return bad_length(type, bytes.length);
    return NULL;
}

nl_status nl_single_value_decode(const nl_ice_type *type, nl_bytes bytes, nl_arena *arena, nl_value *value)
{
    if (nl_ice_type_is_nested(type)) return bad_length(type, bytes.length);
    nl_value made = {.type = nl_ice_type_storage(NULL, type)};
    switch (type->id) {
    case NL_ICE_BOOLEAN:
        if (bytes.length != 1) return bad_length(type, bytes.length);
        made.boolean = bytes.data[0] != 0;
        break;
    case NL_ICE_INT:
    case NL_ICE_LONG:
    case NL_ICE_DATE:
    case NL_ICE_TIME:
    case NL_ICE_TIMESTAMP:
    case NL_ICE_TIMESTAMPTZ:
    case NL_ICE_TIMESTAMP_NS:
    case NL_ICE_TIMESTAMPTZ_NS: NL_TRY(decode_integer(type, bytes, &made.integer)); break;
    case NL_ICE_FLOAT:
    case NL_ICE_DOUBLE: NL_TRY(decode_real(type, bytes, &made.real)); break;
    case NL_ICE_DECIMAL:
        if (bytes.length == 0 || bytes.length > 16) return bad_length(type, bytes.length);
        made.decimal = decimal_from_bytes(bytes);
        if (!nl_decimal_fits(made.decimal, NL_DECIMAL_PRECISION_MAX)) return bad_length(type, bytes.length);
        break;
    case NL_ICE_UUID:
        if (bytes.length != 16) return bad_length(type, bytes.length);
        made.text = nl_arena_str(arena, (nl_str){(const char *)bytes.data, bytes.length});
        break;
    case NL_ICE_UNKNOWN: made.is_null = true; break;
    case NL_ICE_STRING:
    case NL_ICE_FIXED:
    case NL_ICE_BINARY:
    case NL_ICE_GEOMETRY:
    case NL_ICE_GEOGRAPHY:
        if (bytes.length > NL_VALUE_BYTES_MAX) return bad_length(type, bytes.length);
        made.text = nl_arena_str(arena, (nl_str){(const char *)bytes.data, bytes.length});
        break;
    case NL_ICE_VARIANT:
    case NL_ICE_STRUCT:
    case NL_ICE_LIST:
    case NL_ICE_MAP: return bad_length(type, bytes.length);
    }
    *value = made;
    return NULL;
}

static nl_bytes fixed_bytes(nl_arena *arena, const void *data, size_t length)
{
    const nl_str copy = nl_arena_str(arena, (nl_str){data, length});
    return (nl_bytes){(const uint8_t *)copy.data, length};
}

static nl_bytes little_endian(nl_arena *arena, uint64_t bits, size_t length)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    return fixed_bytes(arena, bytes, length);
}

/* Minimal big-endian two's complement, as java.math.BigInteger.toByteArray. */
static nl_bytes decimal_bytes(nl_arena *arena, nl_int128 value)
{
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++)
        bytes[i] = (uint8_t)((nl_uint128)value >> (8 * (15 - i)));
    size_t start = 0;
    while (start < 15 && ((bytes[start] == 0 && !(bytes[start + 1] & 0x80)) || (bytes[start] == 0xff && (bytes[start + 1] & 0x80))))
        start++;
    return fixed_bytes(arena, bytes + start, 16 - start);
}

nl_status nl_single_value_encode(const nl_ice_type *type, const nl_value *value, nl_arena *arena, nl_bytes *bytes)
{
    NL_ASSERT(!value->is_null);
    uint64_t bits = 0;
    switch (type->id) {
    case NL_ICE_BOOLEAN: *bytes = little_endian(arena, value->boolean, 1); return NULL;
    case NL_ICE_INT:
    case NL_ICE_DATE: *bytes = little_endian(arena, (uint64_t)value->integer, 4); return NULL;
    case NL_ICE_LONG:
    case NL_ICE_TIME:
    case NL_ICE_TIMESTAMP:
    case NL_ICE_TIMESTAMPTZ:
    case NL_ICE_TIMESTAMP_NS:
    case NL_ICE_TIMESTAMPTZ_NS: *bytes = little_endian(arena, (uint64_t)value->integer, 8); return NULL;
    case NL_ICE_FLOAT: {
        const float narrow = (float)value->real;
        memcpy(&bits, &narrow, 4);
        *bytes = little_endian(arena, bits, 4);
        return NULL;
    }
    case NL_ICE_DOUBLE:
        memcpy(&bits, &value->real, 8);
        *bytes = little_endian(arena, bits, 8);
        return NULL;
    case NL_ICE_DECIMAL: *bytes = decimal_bytes(arena, value->decimal); return NULL;
    case NL_ICE_STRING:
    case NL_ICE_UUID:
    case NL_ICE_FIXED:
    case NL_ICE_BINARY:
    case NL_ICE_GEOMETRY:
    case NL_ICE_GEOGRAPHY: *bytes = fixed_bytes(arena, value->text.data, value->text.length); return NULL;
    case NL_ICE_UNKNOWN:
    case NL_ICE_VARIANT:
    case NL_ICE_STRUCT:
    case NL_ICE_LIST:
    case NL_ICE_MAP: break;
    }
    return bad_length(type, 0);
}

/* ---- JSON: writing ---- */

static void append_fraction(nl_builder *out, int64_t fraction, int digits)
{
    if (fraction == 0) return;
    char text[16];
    snprintf(text, sizeof(text), ".%0*lld", digits, (long long)fraction);
    size_t length = strlen(text);
    while (text[length - 1] == '0')
        length--;
    nl_append(out, (nl_str){text, length});
}

static void append_time(nl_builder *out, int64_t units_of_day, int64_t units_per_second, int digits)
{
    const int64_t seconds = units_of_day / units_per_second;
    nl_append_f(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    append_fraction(out, units_of_day % units_per_second, digits);
}

static void append_instant(nl_builder *out, int64_t value, int64_t units_per_second, int digits, bool has_zone)
{
    const int64_t units_per_day = units_per_second * 86400;
    char date[NL_NUMBER_TEXT_MAX];
    nl_append(out, (nl_str){date, nl_format_date((int32_t)nl_floor_div(value, units_per_day), date)});
    nl_append_char(out, 'T');
    append_time(out, nl_floor_mod(value, units_per_day), units_per_second, digits);
    if (has_zone) nl_append_c(out, "+00:00");
}

static void append_hex(nl_builder *out, nl_str bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < bytes.length; i++) {
        nl_append_char(out, digits[(unsigned char)bytes.data[i] >> 4]);
        nl_append_char(out, digits[(unsigned char)bytes.data[i] & 15]);
    }
}

void nl_timestamp_append_iso(const nl_ice_type *type, int64_t value, nl_builder *out)
{
    const bool is_nanos = type->id == NL_ICE_TIMESTAMP_NS || type->id == NL_ICE_TIMESTAMPTZ_NS;
    const bool has_zone = type->id == NL_ICE_TIMESTAMPTZ || type->id == NL_ICE_TIMESTAMPTZ_NS;
    append_instant(out, value, is_nanos ? 1000000000 : 1000000, is_nanos ? 9 : 6, has_zone);
}

void nl_uuid_append(nl_str bytes, nl_builder *out)
{
    char hex[32] = {0};
    nl_format_hex((const uint8_t *)bytes.data, NL_MIN(bytes.length, 16), false, hex);
    nl_append_f(out, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static void append_quoted_form(const nl_ice_type *type, const nl_value *value, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    nl_append_char(out, '"');
    switch ((int)type->id) {
    case NL_ICE_DECIMAL: nl_append(out, (nl_str){text, nl_decimal_format(value->decimal, type->scale, text)}); break;
    case NL_ICE_DATE: nl_append(out, (nl_str){text, nl_format_date((int32_t)value->integer, text)}); break;
    case NL_ICE_TIME: append_time(out, value->integer, 1000000, 6); break;
    case NL_ICE_TIMESTAMP:
    case NL_ICE_TIMESTAMPTZ:
    case NL_ICE_TIMESTAMP_NS:
    case NL_ICE_TIMESTAMPTZ_NS: nl_timestamp_append_iso(type, value->integer, out); break;
    case NL_ICE_UUID: nl_uuid_append(value->text, out); break;
    default: append_hex(out, value->text); break;
    }
    nl_append_char(out, '"');
}

static void append_nested_json(const nl_ice_type *type, const nl_value *value, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    if (type->id == NL_ICE_MAP) {
        nl_json_begin(&json, '{');
        for (uint32_t side = 0; side < 2; side++) {
            nl_json_key(&json, side == 0 ? "keys" : "values");
            nl_json_begin(&json, '[');
            for (uint32_t i = side; i < value->list.count; i += 2) {
                nl_json_before_value(&json);
                nl_single_value_append_json(type->fields[side].type, &value->list.items[i], out);
                nl_json_after_value(&json);
            }
            nl_json_end(&json, ']');
        }
        nl_json_end(&json, '}');
        return;
    }
    const bool is_struct = type->id == NL_ICE_STRUCT;
    nl_json_begin(&json, is_struct ? '{' : '[');
    for (uint32_t i = 0; i < value->list.count; i++) {
        if (is_struct && value->list.items[i].is_null) continue;
        char key[NL_NUMBER_TEXT_MAX];
        if (is_struct) nl_json_key_str(&json, (nl_str){key, nl_format_int64(type->fields[i].id, key)});
        nl_json_before_value(&json);
        nl_single_value_append_json(type->fields[is_struct ? i : 0].type, &value->list.items[i], out);
        nl_json_after_value(&json);
    }
    nl_json_end(&json, is_struct ? '}' : ']');
}

void nl_single_value_append_json(const nl_ice_type *type, const nl_value *value, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    if (value->is_null) {
        nl_append_c(out, "null");
        return;
    }
    switch ((int)type->id) {
    case NL_ICE_BOOLEAN: nl_append_c(out, value->boolean ? "true" : "false"); break;
    case NL_ICE_INT:
    case NL_ICE_LONG: nl_append_int(out, value->integer); break;
    case NL_ICE_FLOAT: nl_append(out, (nl_str){text, nl_format_float((float)value->real, text)}); break;
    case NL_ICE_DOUBLE: nl_append(out, (nl_str){text, nl_format_double(value->real, text)}); break;
    case NL_ICE_STRING: nl_json_append_quoted(out, value->text); break;
    case NL_ICE_STRUCT:
    case NL_ICE_LIST:
    case NL_ICE_MAP: append_nested_json(type, value, out); break;
    default: append_quoted_form(type, value, out); break;
    }
}

/* ---- JSON: reading ---- */

static nl_status bad_json(const nl_ice_type *type, nl_str path)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str name = nl_ice_type_name(arena, type);
    nl_status status = nl_json_corrupt(path, "Cannot parse default as a " NL_STR_FMT " value", NL_STR_ARG(name));
    nl_arena_free(arena);
    return status;
}

static bool parse_hex(nl_str text, uint8_t *out)
{
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
    }
    return text.length % 2 == 0;
}

/* "HH:MM[:SS[.fraction]]" in units of 1/units_per_second. */
static bool parse_time(nl_str text, int digits, int64_t *units)
{
    static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    int64_t parts[3] = {0};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 2 && at == text.length) break;
        if (i > 0 && (at >= text.length || text.data[at++] != ':')) return false;
        if (!nl_parse_int64(nl_str_slice(text, at, at + 2), &parts[i]) || at + 2 > text.length) return false;
        at += 2;
    }
    if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59 || parts[0] < 0 || parts[1] < 0 || parts[2] < 0) return false;
    int64_t fraction = 0;
    if (at < text.length) {
        const nl_str rest = nl_str_slice(text, at + 1, text.length);
        if (text.data[at] != '.' || rest.length > (size_t)digits || rest.data[0] == '-' || rest.data[0] == '+' ||
            !nl_parse_int64(rest, &fraction))
            return false;
        fraction *= powers[digits - (int)rest.length];
    }
    *units = ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * powers[digits] + fraction;
    return true;
}

static bool parse_instant(nl_str text, int digits, bool has_zone, int64_t *value)
{
    if (has_zone) {
        if (nl_str_ends(text, NL_STR("+00:00"))) text.length -= 6;
        else if (nl_str_ends(text, NL_STR("Z"))) text.length -= 1;
        else return false;
    }
    const size_t split = nl_str_find_char(text, 'T', 0);
    int32_t days;
    int64_t units;
    if (split == NL_NOT_FOUND || !nl_cast_date(nl_str_slice(text, 0, split), &days)) return false;
    if (!parse_time(nl_str_slice(text, split + 1, text.length), digits, &units)) return false;
    const int64_t per_day = digits == 9 ? NL_MICROS_PER_DAY * 1000 : NL_MICROS_PER_DAY;
    int64_t start;
    return !__builtin_mul_overflow((int64_t)days, per_day, &start) && !__builtin_add_overflow(start, units, value);
}

static bool parse_uuid(nl_arena *arena, nl_str text, nl_value *value)
{
    char hex[32];
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        const bool is_dash_place = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash_place != (text.data[i] == '-') || count >= 32) {
            if (is_dash_place || text.data[i] == '-' || count >= 32) return false;
        }
        if (!is_dash_place) hex[count++] = text.data[i];
    }
    if (count != 32 || text.length != 36) return false;
    uint8_t *bytes = nl_arena_alloc(arena, 16);
    value->text = (nl_str){(const char *)bytes, 16};
    return parse_hex((nl_str){hex, 32}, bytes);
}

static bool parse_quoted_form(const nl_ice_type *type, nl_str text, nl_arena *arena, nl_value *value)
{
    int scale;
    int32_t days;
    switch ((int)type->id) {
    case NL_ICE_DECIMAL:
        return nl_decimal_parse(text, &value->decimal, &scale, NULL) && scale == type->scale &&
               nl_decimal_fits(value->decimal, type->precision);
    case NL_ICE_DATE:
        if (nl_str_find_char(text, 'T', 0) != NL_NOT_FOUND || !nl_cast_date(text, &days)) return false;
        value->integer = days;
        return true;
    case NL_ICE_TIME: return parse_time(text, 6, &value->integer);
    case NL_ICE_TIMESTAMP: return parse_instant(text, 6, false, &value->integer);
    case NL_ICE_TIMESTAMPTZ: return parse_instant(text, 6, true, &value->integer);
    case NL_ICE_TIMESTAMP_NS: return parse_instant(text, 9, false, &value->integer);
    case NL_ICE_TIMESTAMPTZ_NS: return parse_instant(text, 9, true, &value->integer);
    case NL_ICE_STRING: value->text = nl_arena_str(arena, text); return true;
    case NL_ICE_UUID: return parse_uuid(arena, text, value);
    case NL_ICE_FIXED:
        if (text.length != (size_t)type->length * 2) return false;
        break;
    case NL_ICE_BINARY: break;
    default: return false;
    }
    uint8_t *bytes = nl_arena_alloc(arena, text.length / 2 + 1);
    value->text = (nl_str){(const char *)bytes, text.length / 2};
    return parse_hex(text, bytes);
}

static nl_status parse_nested(const nl_ice_type *type, const json_t *json, nl_str path, nl_arena *arena, nl_value *value)
{
    const json_t *keys = type->id == NL_ICE_MAP ? json_object_get(json, "keys") : json;
    const json_t *values = type->id == NL_ICE_MAP ? json_object_get(json, "values") : NULL;
    const bool is_struct = type->id == NL_ICE_STRUCT;
    if (is_struct ? !json_is_object(json) : !json_is_array(keys)) return bad_json(type, path);
    if (type->id == NL_ICE_MAP && (!json_is_array(values) || json_array_size(values) != json_array_size(keys))) return bad_json(type, path);
    const uint32_t step = type->id == NL_ICE_MAP ? 2 : 1;
    const uint32_t count = is_struct ? type->field_count : (uint32_t)json_array_size(keys) * step;
    nl_value *items = NL_NEW_ARRAY(arena, nl_value, (size_t)count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < count; i++) {
        char key[NL_NUMBER_TEXT_MAX];
        const nl_ice_field *field = is_struct ? &type->fields[i] : &type->fields[i % step];
        const json_t *item = is_struct ? NULL : json_array_get(i % step ? values : keys, i / step);
        if (is_struct) {
            key[nl_format_int64(field->id, key)] = '\0';
            item = json_object_get(json, key);
        }
        if (item) NL_TRY(nl_single_value_from_json(field->type, item, path, arena, &items[i]));
        else items[i] = nl_value_null(nl_ice_type_storage(arena, field->type));
    }
    value->list.items = items;
    value->list.count = count;
    return NULL;
}

nl_status nl_single_value_from_json(const nl_ice_type *type, const json_t *json, nl_str path, nl_arena *arena, nl_value *value)
{
    nl_value made = {.type = nl_ice_type_storage(arena, type)};
    bool is_good = true;
    if (json_is_null(json) || type->id == NL_ICE_UNKNOWN) {
        made.is_null = true;
        *value = made;
        return json_is_null(json) ? NULL : bad_json(type, path);
    }
    switch ((int)type->id) {
    case NL_ICE_BOOLEAN:
        is_good = json_is_boolean(json);
        made.boolean = json_is_true(json);
        break;
    case NL_ICE_INT:
    case NL_ICE_LONG:
        is_good = json_is_integer(json);
        made.integer = json_integer_value(json);
        if (type->id == NL_ICE_INT && (made.integer < INT32_MIN || made.integer > INT32_MAX)) is_good = false;
        break;
    case NL_ICE_FLOAT:
    case NL_ICE_DOUBLE:
        is_good = json_is_number(json);
        made.real = json_number_value(json);
        if (type->id == NL_ICE_FLOAT) made.real = (float)made.real;
        break;
    case NL_ICE_STRUCT:
    case NL_ICE_LIST:
    case NL_ICE_MAP: NL_TRY(parse_nested(type, json, path, arena, &made)); break;
    default: {
        const nl_str text = {json_string_value(json), json_string_length(json)};
        is_good = json_is_string(json) && parse_quoted_form(type, text, arena, &made);
    }
    }
    if (!is_good) return bad_json(type, path);
    *value = made;
    return NULL;
}

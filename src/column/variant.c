/* column/variant.c - the variant binary encoding, version 1; see variant.h.
 *
 * Layout of a value: one header byte (basic type in its two low bits), then by type. Numbers are little-endian.
 * Nesting is limited to NL_JSON_DEPTH_MAX when printing, because each level is a call.
 */
#include "base/limits.h"
#include "base/number.h"
#include "column/variant.h"

enum { BASIC_PRIMITIVE, BASIC_SHORT_STRING, BASIC_OBJECT, BASIC_ARRAY };

static nl_status malformed(const char *what)
{
    return nl_note_if(NL_RAISE(MALFORMED_VARIANT), NL_HERE, "the variant's bytes are wrong: %s", what);
}

/* `size` bytes at `offset`, little-endian; the caller has checked that they are there. */
static uint64_t load(nl_str bytes, size_t offset, uint32_t size)
{
    uint64_t value = 0;
    for (uint32_t i = size; i-- > 0;)
        value = value << 8 | (uint8_t)bytes.data[offset + i];
    return value;
}

static int64_t load_signed(nl_str bytes, size_t offset, uint32_t size)
{
    uint32_t shift = 64 - 8 * size;
    return (int64_t)(load(bytes, offset, size) << shift) >> shift;
}

static bool has(nl_str bytes, size_t offset, size_t length)
{
    return offset <= bytes.length && length <= bytes.length - offset;
}

/* Primitive types of the specification, by number: what they are and how many bytes follow the header. */
typedef struct primitive {
    uint8_t kind;
    uint8_t size;
} primitive;

static const primitive primitives[] = {
    [0] = {NL_VARIANT_NULL, 0},
    [1] = {NL_VARIANT_BOOLEAN, 0},
    [2] = {NL_VARIANT_BOOLEAN, 0},
    [3] = {NL_VARIANT_INTEGER, 1},
    [4] = {NL_VARIANT_INTEGER, 2},
    [5] = {NL_VARIANT_INTEGER, 4},
    [6] = {NL_VARIANT_INTEGER, 8},
    [7] = {NL_VARIANT_DOUBLE, 8},
    [8] = {NL_VARIANT_DECIMAL, 5},
    [9] = {NL_VARIANT_DECIMAL, 9},
    [10] = {NL_VARIANT_DECIMAL, 17},
    [11] = {NL_VARIANT_DATE, 4},
    [12] = {NL_VARIANT_TIMESTAMP, 8},
    [13] = {NL_VARIANT_TIMESTAMP_NTZ, 8},
    [14] = {NL_VARIANT_FLOAT, 4},
    [15] = {NL_VARIANT_BINARY, 4},
    [16] = {NL_VARIANT_STRING, 4},
    [17] = {NL_VARIANT_TIME, 8},
    [18] = {NL_VARIANT_TIMESTAMP_NANOS, 8},
    [19] = {NL_VARIANT_TIMESTAMP_NTZ_NANOS, 8},
    [20] = {NL_VARIANT_UUID, 16},
};

static nl_status open_decimal(nl_variant *variant, uint32_t size)
{
    nl_str value = variant->value;
    variant->scale = (uint8_t)value.data[1];
    if (variant->scale > NL_DECIMAL_PRECISION_MAX) return malformed("a decimal's scale");
    if (size == 17) {
        uint64_t high = load(value, 10, 8);
        variant->decimal = (nl_int128)((nl_uint128)high << 64 | load(value, 2, 8));
        if (!nl_decimal_fits(variant->decimal, NL_DECIMAL_PRECISION_MAX)) return malformed("a decimal of 39 digits");
    } else {
        variant->decimal = load_signed(value, 2, size - 1);
    }
    return NULL;
}

static nl_status open_primitive(nl_variant *variant, uint32_t type)
{
    if (type >= NL_COUNT(primitives)) return malformed("an unknown primitive type");
    nl_str value = variant->value;
    uint32_t size = primitives[type].size;
    variant->kind = primitives[type].kind;
    if (!has(value, 1, size)) return malformed("a value is cut off");
    switch (variant->kind) {
    case NL_VARIANT_BOOLEAN:
        variant->boolean = type == 1;
        break;
    case NL_VARIANT_FLOAT: {
        uint32_t bits = (uint32_t)load(value, 1, 4);
        float real;
        memcpy(&real, &bits, 4);
        variant->real = (double)real;
        break;
    }
    case NL_VARIANT_DOUBLE: {
        uint64_t bits = load(value, 1, 8);
        memcpy(&variant->real, &bits, 8);
        break;
    }
    case NL_VARIANT_DECIMAL:
        return open_decimal(variant, size);
    case NL_VARIANT_BINARY:
    case NL_VARIANT_STRING: {
        size_t length = (size_t)load(value, 1, 4);
        if (!has(value, 5, length)) return malformed("a string is cut off");
        variant->text = (nl_str){value.data + 5, length};
        break;
    }
    case NL_VARIANT_UUID:
        variant->text = (nl_str){value.data + 1, 16};
        break;
    case NL_VARIANT_INTEGER:
        variant->integer_bytes = (uint8_t)size;
        variant->integer = load_signed(value, 1, size);
        break;
    case NL_VARIANT_DATE:
    case NL_VARIANT_TIME:
    case NL_VARIANT_TIMESTAMP:
    case NL_VARIANT_TIMESTAMP_NTZ:
    case NL_VARIANT_TIMESTAMP_NANOS:
    case NL_VARIANT_TIMESTAMP_NTZ_NANOS:
        variant->integer = load_signed(value, 1, size);
        break;
    case NL_VARIANT_NULL:
    case NL_VARIANT_OBJECT:
    case NL_VARIANT_ARRAY:
        break;
    }
    return NULL;
}

/* Header bits of objects: offset size - 1 (2), id size - 1 (2), is_large (1); of arrays: offset size - 1, is_large. */
static nl_status open_container(nl_variant *variant, uint32_t header, bool is_object)
{
    nl_str value = variant->value;
    bool is_large = (header >> (is_object ? 4 : 2)) & 1;
    uint32_t count_size = is_large ? 4 : 1;
    variant->kind = is_object ? NL_VARIANT_OBJECT : NL_VARIANT_ARRAY;
    variant->layout.offset_size = (uint8_t)((header & 3) + 1);
    variant->layout.id_size = (uint8_t)(is_object ? ((header >> 2) & 3) + 1 : 0);
    if (!has(value, 1, count_size)) return malformed("a count is cut off");
    uint64_t count = load(value, 1, count_size);
    uint64_t ids = 1 + count_size;
    uint64_t offsets = ids + count * variant->layout.id_size;
    uint64_t data = offsets + (count + 1) * variant->layout.offset_size;
    if (data > value.length) return malformed("an object or array is cut off");
    variant->count = (uint32_t)count;
    variant->layout.ids = (uint32_t)ids;
    variant->layout.offsets = (uint32_t)offsets;
    variant->layout.data = (uint32_t)data;
    return NULL;
}

nl_status nl_variant_open(nl_str metadata, nl_str value, nl_variant *variant)
{
    *variant = (nl_variant){.metadata = metadata, .value = value};
    if (value.length == 0) return malformed("an empty value");
    if (metadata.length == 0 || (metadata.data[0] & 0x0f) != 1) return malformed("the metadata is not of version 1");
    if (value.length > UINT32_MAX) return malformed("larger than 4 GiB");
    uint32_t header = (uint8_t)value.data[0] >> 2;
    switch ((uint8_t)value.data[0] & 3) {
    case BASIC_PRIMITIVE:
        return open_primitive(variant, header);
    case BASIC_SHORT_STRING:
        if (!has(value, 1, header)) return malformed("a short string is cut off");
        variant->kind = NL_VARIANT_STRING;
        variant->text = (nl_str){value.data + 1, header};
        return NULL;
    case BASIC_OBJECT:
        return open_container(variant, header, true);
    default:
        return open_container(variant, header, false);
    }
}

/* Name `id` of the metadata: header, count, count + 1 offsets, bytes. */
static nl_status dictionary_name(nl_str metadata, uint64_t id, nl_str *name)
{
    uint32_t size = ((uint8_t)metadata.data[0] >> 6) + 1u;
    if (!has(metadata, 1, size)) return malformed("the metadata is cut off");
    uint64_t count = load(metadata, 1, size);
    uint64_t offsets = 1 + size;
    uint64_t bytes = offsets + (count + 1) * size;
    if (bytes > metadata.length) return malformed("the metadata is cut off");
    if (id >= count) return malformed("a field id beyond the metadata");
    uint64_t start = load(metadata, offsets + id * size, size);
    uint64_t stop = load(metadata, offsets + (id + 1) * size, size);
    if (start > stop || stop > metadata.length - bytes) return malformed("a name lies outside of the metadata");
    *name = (nl_str){metadata.data + bytes + start, (size_t)(stop - start)};
    return NULL;
}

static nl_status open_part(const nl_variant *container, uint32_t i, nl_variant *part)
{
    uint32_t size = container->layout.offset_size;
    uint64_t offset = load(container->value, container->layout.offsets + (size_t)i * size, size);
    size_t data = container->layout.data;
    if (offset >= container->value.length - data) return malformed("a part lies outside of its container");
    nl_str value = {container->value.data + data + offset, container->value.length - data - (size_t)offset};
    return nl_variant_open(container->metadata, value, part);
}

nl_status nl_variant_element(const nl_variant *array, uint32_t i, nl_variant *element)
{
    NL_ASSERT(array->kind == NL_VARIANT_ARRAY && i < array->count);
    return open_part(array, i, element);
}

nl_status nl_variant_field(const nl_variant *object, uint32_t i, nl_str *name, nl_variant *field)
{
    NL_ASSERT(object->kind == NL_VARIANT_OBJECT && i < object->count);
    uint32_t size = object->layout.id_size;
    NL_TRY(dictionary_name(object->metadata, load(object->value, object->layout.ids + (size_t)i * size, size), name));
    return open_part(object, i, field);
}

nl_status nl_variant_find(const nl_variant *object, nl_str name, bool *found, nl_variant *field)
{
    NL_ASSERT(object->kind == NL_VARIANT_OBJECT);
    uint32_t size = object->layout.id_size;
    uint32_t low = 0;
    uint32_t high = object->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        nl_str at;
        NL_TRY(dictionary_name(object->metadata,
                               load(object->value, object->layout.ids + (size_t)middle * size, size), &at));
        int order = nl_str_compare(name, at);
        if (order == 0) {
            *found = true;
            return open_part(object, middle, field);
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    *found = false;
    return NULL;
}

void nl_append_json_string(nl_builder *out, nl_str text)
{
    static const char short_forms[32] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    nl_append_char(out, '"');
    size_t start = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        nl_append(out, nl_str_slice(text, start, i));
        start = i + 1;
        if (c >= 0x20 || short_forms[c]) {
            nl_append_char(out, '\\');
            nl_append_char(out, c >= 0x20 ? (char)c : short_forms[c]);
        } else {
            nl_append_f(out, "\\u%04X", c);
        }
    }
    nl_append(out, nl_str_slice(text, start, text.length));
    nl_append_char(out, '"');
}

static void append_base64(nl_builder *out, nl_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t count = NL_MIN((size_t)3, bytes.length - i);
        uint32_t group = (uint32_t)(uint8_t)bytes.data[i] << 16;
        if (count > 1) group |= (uint32_t)(uint8_t)bytes.data[i + 1] << 8;
        if (count > 2) group |= (uint8_t)bytes.data[i + 2];
        for (size_t digit = 0; digit < 4; digit++)
            nl_append_char(out, digit <= count ? digits[(group >> (18 - 6 * digit)) & 63] : '=');
    }
}

static void append_real(nl_builder *out, double value, bool is_float)
{
    char text[NL_NUMBER_TEXT_MAX];
    uint32_t length = is_float ? nl_format_float((float)value, text) : nl_format_double(value, text);
    bool is_finite = value - value == 0;
    if (!is_finite) nl_append_char(out, '"');
    nl_append(out, (nl_str){text, length});
    if (!is_finite) nl_append_char(out, '"');
}

/* "2020-01-01 00:00:00.5+01:00" in quotes; without the offset for NTZ (zone NULL). */
static void append_timestamp(nl_builder *out, int64_t micros, const nl_timezone *zone)
{
    char text[NL_NUMBER_TEXT_MAX];
    int32_t offset = zone ? nl_timezone_offset_at(zone, micros) : 0;
    uint32_t length = nl_format_timestamp(micros + offset * NL_MICROS_PER_SECOND, text);
    nl_append_char(out, '"');
    nl_append(out, (nl_str){text, length});
    if (zone) {
        int32_t minutes = (offset < 0 ? -offset : offset) / 60;
        nl_append_f(out, "%c%02d:%02d", offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
    }
    nl_append_char(out, '"');
}

/* Decimals lose their trailing zeros, as Spark's variants do. */
static void append_decimal(nl_builder *out, nl_int128 value, uint8_t scale)
{
    char text[NL_NUMBER_TEXT_MAX];
    while (scale > 0 && value % 10 == 0) {
        value /= 10;
        scale--;
    }
    nl_append(out, (nl_str){text, nl_decimal_format(value, scale, text)});
}

static void append_uuid(nl_builder *out, nl_str bytes)
{
    nl_append_char(out, '"');
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) nl_append_char(out, '-');
        nl_append_f(out, "%02x", (uint8_t)bytes.data[i]);
    }
    nl_append_char(out, '"');
}

static nl_status append_scalar(const nl_variant *variant, const nl_timezone *zone, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    switch (variant->kind) {
    case NL_VARIANT_NULL:
        nl_append_c(out, "null");
        break;
    case NL_VARIANT_BOOLEAN:
        nl_append_c(out, variant->boolean ? "true" : "false");
        break;
    case NL_VARIANT_INTEGER:
        nl_append_int(out, variant->integer);
        break;
    case NL_VARIANT_FLOAT:
    case NL_VARIANT_DOUBLE:
        append_real(out, variant->real, variant->kind == NL_VARIANT_FLOAT);
        break;
    case NL_VARIANT_DECIMAL:
        append_decimal(out, variant->decimal, variant->scale);
        break;
    case NL_VARIANT_DATE:
        nl_append_char(out, '"');
        nl_append(out, (nl_str){text, nl_format_date((int32_t)variant->integer, text)});
        nl_append_char(out, '"');
        break;
    case NL_VARIANT_TIMESTAMP:
        append_timestamp(out, variant->integer, zone);
        break;
    case NL_VARIANT_TIMESTAMP_NTZ:
        append_timestamp(out, variant->integer, NULL);
        break;
    case NL_VARIANT_BINARY:
        nl_append_char(out, '"');
        append_base64(out, variant->text);
        nl_append_char(out, '"');
        break;
    case NL_VARIANT_STRING:
        nl_append_json_string(out, variant->text);
        break;
    case NL_VARIANT_UUID:
        append_uuid(out, variant->text);
        break;
    case NL_VARIANT_TIME:
    case NL_VARIANT_TIMESTAMP_NANOS:
    case NL_VARIANT_TIMESTAMP_NTZ_NANOS:
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A variant holds a time or a nanosecond timestamp, which Spark 4.0 "
                                                "does not know.");
    case NL_VARIANT_OBJECT:
    case NL_VARIANT_ARRAY:
        NL_ASSERT(!"not a scalar");
        break;
    }
    return NULL;
}

static nl_status append_json(const nl_variant *variant, const nl_timezone *zone, uint32_t depth, nl_builder *out)
{
    if (variant->kind != NL_VARIANT_OBJECT && variant->kind != NL_VARIANT_ARRAY)
        return append_scalar(variant, zone, out);
    if (depth >= NL_JSON_DEPTH_MAX) return malformed("nested too deeply");
    bool is_object = variant->kind == NL_VARIANT_OBJECT;
    nl_append_char(out, is_object ? '{' : '[');
    /* Parts may share bytes, so a small value can print without end: a full builder ends it. */
    for (uint32_t i = 0; i < variant->count && !nl_builder_failed(out); i++) {
        nl_variant part;
        nl_str name;
        if (i) nl_append_char(out, ',');
        if (is_object) {
            NL_TRY(nl_variant_field(variant, i, &name, &part));
            nl_append_json_string(out, name);
            nl_append_char(out, ':');
        } else {
            NL_TRY(nl_variant_element(variant, i, &part));
        }
        NL_TRY(append_json(&part, zone, depth + 1, out));
    }
    nl_append_char(out, is_object ? '}' : ']');
    return NULL;
}

nl_status nl_variant_append_json(const nl_variant *variant, const nl_timezone *zone, nl_builder *out)
{
    return append_json(variant, zone, 0, out);
}

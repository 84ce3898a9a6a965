/* column/value_text.c - values as people see them, in the three styles of value.h.
 *
 * One walker serves vectors and single values: a node is a place in either. The differences between the styles, as
 * seen on Spark 4.0.1 (value_text_test.c), are in the table `styles` and in the leaves for binary, intervals and
 * variants. Depth is that of the type, which NL_TYPE_DEPTH_MAX bounds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/number.h"
#include "column/value.h"
#include "column/variant.h"

typedef struct style {
    const char *null; /* inside of nested values; a null by itself is always NULL */
    const char *comma;
    const char *arrow;
    bool has_names;      /* structs print their field names    */
    bool quotes_strings; /* inside of nested values            */
} style;

static const style styles[] = {
    [NL_TEXT_CAST] = {.null = "null", .comma = ", ", .arrow = " -> "},
    [NL_TEXT_SHOW] = {.null = "NULL", .comma = ", ", .arrow = " -> "},
    [NL_TEXT_HIVE] = {.null = "null", .comma = ",", .arrow = ":", .has_names = true, .quotes_strings = true},
};

/* A place in a vector (value NULL) or a value (vector NULL). */
typedef struct node {
    const nl_vector *vector;
    uint32_t row;
    const nl_value *value;
} node;

static node vector_node(const nl_vector *vector, uint32_t row)
{
    return (node){.vector = vector, .row = row};
}

static bool node_is_null(node at)
{
    return at.value ? at.value->is_null : nl_vector_is_null(at.vector, at.row);
}

/* The vector and row where a non-null value really lies. */
static node resolve(node at)
{
    if (at.value || at.vector->encoding == NL_FLAT) return at;
    if (at.vector->encoding == NL_CONSTANT) return vector_node(at.vector, 0);
    return vector_node(&at.vector->dictionary->vector, at.vector->indices[at.row]);
}

static const nl_type *node_type(node at)
{
    return at.value ? at.value->type : at.vector->type;
}

static nl_list_view node_view(node at)
{
    if (!at.value) return ((const nl_list_view *)at.vector->values)[at.row];
    uint32_t width = at.value->type->child_count;
    return (nl_list_view){0, width ? at.value->list.count / width : 0};
}

/* Element i of child `child` of a list or map; for structs i is ignored. */
static node node_child(node at, uint32_t child, uint32_t i)
{
    bool is_struct = node_type(at)->physical == NL_PHYS_STRUCT;
    if (!at.value)
        return vector_node(&at.vector->children[child], is_struct ? at.row : node_view(at).offset + i);
    uint32_t place = is_struct ? child : i * at.value->type->child_count + child;
    return (node){.value = &at.value->list.items[place]};
}

static nl_value leaf(node at)
{
    return at.value ? *at.value : nl_vector_leaf(at.vector, at.row);
}

static const char *const interval_units[] = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"};

static void append_ansi_end(nl_builder *out, const nl_type *type)
{
    nl_append_f(out, "' %s", interval_units[type->start_field]);
    if (type->end_field != type->start_field) nl_append_f(out, " TO %s", interval_units[type->end_field]);
}

static void append_interval_ym(nl_builder *out, const nl_type *type, int64_t months, bool is_hive)
{
    const char *sign = months < 0 ? "-" : "";
    int64_t count = months < 0 ? -months : months; /* 32 bits widened: cannot overflow */
    if (is_hive) {
        nl_append_f(out, "%s%lld-%lld", sign, (long long)(count / 12), (long long)(count % 12));
        return;
    }
    nl_append_f(out, "INTERVAL '%s", sign);
    if (type->start_field == NL_FIELD_MONTH)
        nl_append_int(out, count);
    else
        nl_append_int(out, count / 12);
    if (type->start_field != type->end_field) nl_append_f(out, "-%lld", (long long)(count % 12));
    append_ansi_end(out, type);
}

/* ".5" of 500000 microseconds; nothing for 0. */
static void append_fraction(nl_builder *out, uint32_t micros)
{
    if (micros == 0) return;
    char digits[16];
    int length = snprintf(digits, sizeof digits, ".%06u", micros % 1000000);
    while (digits[length - 1] == '0')
        length--;
    nl_append(out, (nl_str){digits, (size_t)length});
}

/* The leading field holds all of the value, the others what is left of it: '25' HOUR, '1 01' DAY TO HOUR. Only days
 * are not padded to two digits. */
static void append_interval_dt(nl_builder *out, const nl_type *type, int64_t micros, bool is_hive)
{
    static const uint64_t unit_micros[] = {
        [NL_FIELD_DAY] = 86400000000ull, [NL_FIELD_HOUR] = 3600000000ull, [NL_FIELD_MINUTE] = 60000000ull,
        [NL_FIELD_SECOND] = 1000000ull};
    uint64_t rest = micros < 0 ? 0 - (uint64_t)micros : (uint64_t)micros;
    if (is_hive) rest -= rest % unit_micros[type->end_field] * (type->end_field != NL_FIELD_SECOND); /* what lies below the end field is not shown */
    uint8_t start = is_hive ? NL_FIELD_DAY : type->start_field;
    uint8_t end = is_hive ? NL_FIELD_SECOND : type->end_field;
    if (!is_hive) nl_append_c(out, "INTERVAL '");
    if (micros < 0) nl_append_char(out, '-');
    for (uint8_t field = start; field <= end; field++) {
        unsigned long long count = rest / unit_micros[field];
        rest %= unit_micros[field];
        if (field > start) nl_append_char(out, field == NL_FIELD_HOUR ? ' ' : ':');
        nl_append_f(out, field == NL_FIELD_DAY ? "%llu" : "%02llu", count);
    }
    if (is_hive) {
        nl_append_f(out, ".%09u", (unsigned)rest * 1000u);
        return;
    }
    if (end == NL_FIELD_SECOND) append_fraction(out, (uint32_t)rest);
    append_ansi_end(out, type);
}

static void append_unit(nl_builder *out, int64_t count, const char *unit, bool *is_first)
{
    if (count == 0) return;
    nl_append_f(out, "%s%lld %s", *is_first ? "" : " ", (long long)count, unit);
    *is_first = false;
}

static void append_calendar_interval(nl_builder *out, const nl_interval *value)
{
    bool is_first = true;
    int64_t seconds_micros = value->micros % 60000000;
    append_unit(out, value->months / 12, "years", &is_first);
    append_unit(out, value->months % 12, "months", &is_first);
    append_unit(out, value->days, "days", &is_first);
    append_unit(out, value->micros / 3600000000ll, "hours", &is_first);
    append_unit(out, value->micros / 60000000 % 60, "minutes", &is_first);
    if (seconds_micros == 0) {
        if (is_first) nl_append_c(out, "0 seconds");
        return;
    }
    uint32_t magnitude = (uint32_t)(seconds_micros < 0 ? -seconds_micros : seconds_micros);
    nl_append_f(out, "%s%s%u", is_first ? "" : " ", seconds_micros < 0 ? "-" : "", magnitude / 1000000);
    append_fraction(out, magnitude % 1000000);
    nl_append_c(out, " seconds");
}

static void append_hex_bytes(nl_builder *out, nl_str bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    nl_append_char(out, '[');
    for (size_t i = 0; i < bytes.length; i++) {
        uint8_t byte = (uint8_t)bytes.data[i];
        char text[3] = {' ', digits[byte >> 4], digits[byte & 15]};
        nl_append(out, i ? (nl_str){text, 3} : (nl_str){text + 1, 2});
    }
    nl_append_char(out, ']');
}

/* How many bytes at an offset that begins no character one U+FFFD stands for: the longest beginning of one. */
static size_t bad_part(nl_str bytes, size_t at)
{
    const uint8_t lead = (uint8_t)bytes.data[at];
    if (lead < 0xC2 || lead > 0xF4) return 1;
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80, high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    size_t length = 1;
    while (at + length < bytes.length && (uint8_t)bytes.data[at + length] >= low && (uint8_t)bytes.data[at + length] <= high) {
        length++;
        low = 0x80;
        high = 0xBF;
    }
    return length;
}

/* Bytes that are not UTF-8 become U+FFFD, as in a string of Java. */
static void append_as_text(nl_builder *out, nl_str bytes)
{
    for (size_t offset = 0; offset < bytes.length;) {
        char encoded[4];
        const size_t start = offset;
        const uint32_t code_point = nl_utf8_decode(bytes, &offset);
        if (code_point == 0xFFFD && offset == start + 1) offset = start + bad_part(bytes, start);
        nl_append(out, (nl_str){encoded, nl_utf8_encode(code_point, encoded)});
    }
}

static void append_base64(nl_builder *out, nl_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.length; i += 3) {
        const size_t count = NL_MIN(bytes.length - i, (size_t)3);
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++) group = group << 8 | (k < count ? (uint8_t)bytes.data[i + k] : 0u);
        for (size_t k = 0; k <= count; k++) nl_append_char(out, digits[group >> (18 - 6 * k) & 63]);
    }
}

static const char *const binary_styles[] = {[NL_BINARY_UTF8] = "UTF-8", [NL_BINARY_BASIC] = "BASIC", [NL_BINARY_BASE64] = "BASE64", [NL_BINARY_HEX] = "HEX", [NL_BINARY_HEX_DISCRETE] = "HEX_DISCRETE"};

nl_binary_style nl_binary_style_of(nl_str name)
{
    for (uint32_t i = NL_BINARY_UTF8; i < NL_COUNT(binary_styles); i++)
        if (nl_str_is_nocase(name, binary_styles[i])) return (nl_binary_style)i;
    return NL_BINARY_UNSAID;
}

void nl_append_binary(nl_builder *out, nl_str bytes, nl_binary_style wanted)
{
    switch (wanted) {
    case NL_BINARY_UNSAID:
    case NL_BINARY_UTF8: append_as_text(out, bytes); return;
    case NL_BINARY_HEX_DISCRETE: append_hex_bytes(out, bytes); return;
    case NL_BINARY_BASE64: append_base64(out, bytes); return;
    case NL_BINARY_HEX:
        for (size_t i = 0; i < bytes.length; i++) nl_append_f(out, "%02X", (uint8_t)bytes.data[i]);
        return;
    case NL_BINARY_BASIC:
        for (size_t i = 0; i < bytes.length; i++) nl_append_f(out, "%s%d", i ? ", " : "[", (int)(int8_t)bytes.data[i]);
        nl_append_c(out, bytes.length ? "]" : "[]");
        return;
    }
}

static void append_leaf(const nl_value *value, const nl_text_options *options, bool is_nested, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    uint32_t length = 0;
    bool is_hive = options->style == NL_TEXT_HIVE;
    switch (value->type->id) {
    case NL_TYPE_BOOLEAN:
        nl_append_c(out, value->boolean ? "true" : "false");
        return;
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
        length = nl_format_int64(value->integer, text);
        break;
    case NL_TYPE_FLOAT:
        length = nl_format_float((float)value->real, text);
        break;
    case NL_TYPE_DOUBLE:
        length = nl_format_double(value->real, text);
        break;
    case NL_TYPE_DECIMAL:
        length = nl_decimal_format(value->decimal, value->type->scale, text);
        break;
    case NL_TYPE_DATE:
        length = nl_format_date((int32_t)value->integer, text);
        break;
    case NL_TYPE_TIMESTAMP:
        length = nl_format_timestamp(
            options->zone ? nl_timezone_to_local(options->zone, value->integer) : value->integer, text);
        break;
    case NL_TYPE_TIMESTAMP_NTZ:
        length = nl_format_timestamp(value->integer, text);
        break;
    case NL_TYPE_STRING: {
        bool is_quoted = is_nested && styles[options->style].quotes_strings;
        if (is_quoted) nl_append_char(out, '"');
        nl_append(out, value->text);
        if (is_quoted) nl_append_char(out, '"');
        return;
    }
    case NL_TYPE_BINARY:
        if (options->binary != NL_BINARY_UNSAID)
            nl_append_binary(out, value->text, options->binary);
        else if (options->style == NL_TEXT_SHOW)
            append_hex_bytes(out, value->text);
        else if (is_hive)
            append_as_text(out, value->text);
        else
            nl_append(out, value->text);
        return;
    case NL_TYPE_INTERVAL_YM:
        append_interval_ym(out, value->type, value->integer, is_hive);
        return;
    case NL_TYPE_INTERVAL_DT:
        append_interval_dt(out, value->type, value->integer, is_hive);
        return;
    case NL_TYPE_INTERVAL:
        append_calendar_interval(out, &value->interval);
        return;
    case NL_TYPE_NULL:
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT:
        NL_ASSERT(!"not a leaf");
        return;
    }
    nl_append(out, (nl_str){text, length});
}

static void append_node(node at, const nl_text_options *options, bool is_nested, nl_builder *out);

/* CAST of a variant that holds a scalar is the cast of that scalar: no quotes, no zone. False: it prints as JSON. */
static bool append_variant_scalar(const nl_variant *variant, const nl_text_options *options, nl_builder *out)
{
    static const nl_type_id ids[] = {[NL_VARIANT_FLOAT] = NL_TYPE_FLOAT,
                                     [NL_VARIANT_DOUBLE] = NL_TYPE_DOUBLE,
                                     [NL_VARIANT_DATE] = NL_TYPE_DATE,
                                     [NL_VARIANT_TIMESTAMP] = NL_TYPE_TIMESTAMP,
                                     [NL_VARIANT_TIMESTAMP_NTZ] = NL_TYPE_TIMESTAMP_NTZ,
                                     [NL_VARIANT_BINARY] = NL_TYPE_BINARY,
                                     [NL_VARIANT_STRING] = NL_TYPE_STRING};
    if (variant->kind >= NL_COUNT(ids) || ids[variant->kind] == NL_TYPE_NULL) return false;
    nl_value value = {.type = nl_type_of(ids[variant->kind])};
    if (variant->kind == NL_VARIANT_STRING || variant->kind == NL_VARIANT_BINARY)
        value.text = variant->text;
    else if (variant->kind == NL_VARIANT_FLOAT || variant->kind == NL_VARIANT_DOUBLE)
        value.real = variant->real;
    else
        value.integer = variant->integer;
    append_leaf(&value, options, false, out);
    return true;
}

/* Spark prints variants in the session's zone only when cast; show() and spark-sql use UTC. */
static void append_variant(node at, const nl_text_options *options, bool is_nested, nl_builder *out)
{
    node parts[2] = {node_child(at, 0, 0), node_child(at, 1, 0)};
    nl_value metadata = leaf(resolve(parts[0]));
    nl_value value = leaf(resolve(parts[1]));
    bool is_cast = options->style == NL_TEXT_CAST;
    const nl_timezone *zone = is_cast && options->zone ? options->zone : nl_timezone_utc();
    nl_variant variant;
    nl_status status = nl_variant_open(metadata.text, value.text, &variant);
    if (!status && is_cast && !is_nested && append_variant_scalar(&variant, options, out)) return;
    if (!status) status = nl_variant_append_json(&variant, zone, out);
    if (!status) return;
    nl_error_free(status);
    out->has_failed = true;
}

static int compare_texts(const void *a, const void *b)
{
    return nl_str_compare(**(const nl_str *const *)a, **(const nl_str *const *)b);
}

/* spark-sql prints the entries of a map in the order of their text. */
static void append_sorted_map(node at, const nl_text_options *options, nl_builder *out)
{
    const style *how = &styles[options->style];
    const uint32_t count = node_view(at).length;
    nl_arena *arena = nl_arena_new(NULL);
    nl_list entries = {0};
    nl_builder text;
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        nl_str *entry = NL_NEW(arena, nl_str);
        nl_builder_clear(&text);
        append_node(node_child(at, 0, i), options, true, &text);
        nl_append_c(&text, how->arrow);
        append_node(node_child(at, 1, i), options, true, &text);
        *entry = nl_arena_str(arena, nl_builder_str(&text));
        nl_list_add(arena, &entries, entry);
    }
    if (count > 1) qsort(entries.items, count, sizeof(*entries.items), compare_texts);
    nl_append_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(out, how->comma);
        nl_append(out, *(const nl_str *)entries.items[i]);
    }
    nl_append_char(out, '}');
    if (text.has_failed) out->has_failed = true;
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

static void append_list(node at, const nl_text_options *options, nl_builder *out)
{
    const style *how = &styles[options->style];
    bool is_map = node_type(at)->id == NL_TYPE_MAP;
    if (is_map && options->style == NL_TEXT_HIVE) {
        append_sorted_map(at, options, out);
        return;
    }
    uint32_t count = node_view(at).length;
    nl_append_char(out, is_map ? '{' : '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_c(out, how->comma);
        append_node(node_child(at, 0, i), options, true, out);
        if (!is_map) continue;
        nl_append_c(out, how->arrow);
        append_node(node_child(at, 1, i), options, true, out);
    }
    nl_append_char(out, is_map ? '}' : ']');
}

static void append_struct(node at, const nl_text_options *options, nl_builder *out)
{
    const style *how = &styles[options->style];
    const nl_type *type = node_type(at);
    nl_append_char(out, '{');
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (i) nl_append_c(out, how->comma);
        if (how->has_names) {
            nl_append_char(out, '"');
            nl_append(out, type->children[i].name);
            nl_append_c(out, "\":");
        }
        append_node(node_child(at, i, 0), options, true, out);
    }
    nl_append_char(out, '}');
}

static void append_node(node at, const nl_text_options *options, bool is_nested, nl_builder *out)
{
    if (node_is_null(at)) {
        nl_append_c(out, is_nested ? styles[options->style].null : "NULL");
        return;
    }
    at = resolve(at);
    const nl_type *type = node_type(at);
    if (type->id == NL_TYPE_VARIANT) {
        append_variant(at, options, is_nested, out);
    } else if (type->physical == NL_PHYS_LIST) {
        append_list(at, options, out);
    } else if (type->physical == NL_PHYS_STRUCT) {
        append_struct(at, options, out);
    } else {
        nl_value value = leaf(at);
        append_leaf(&value, options, is_nested, out);
    }
}

void nl_vector_append_text(const nl_vector *vector, uint32_t row, const nl_text_options *options, nl_builder *out)
{
    append_node(vector_node(vector, row), options, false, out);
}

void nl_value_append_text(const nl_value *value, const nl_text_options *options, nl_builder *out)
{
    append_node((node){.value = value}, options, false, out);
}

/* lakehouse/trino/types.c - types and values in Trino's JSON. Source: Trino's documentation, "Data types"; ClientTypeSignature
 * and the raw values of its client protocol.
 */
#include "lakehouse/trino/trino_private.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "storage/digest.h"

/* Digits behind the second: of a column six; what is computed says its own. */
static uint32_t digits_of(const nl_type *type)
{
    return type->precision ? type->precision - 1u : 6;
}

static const struct {
    nl_type_id id;
    const char *name;
} names[] = {
    {NL_TYPE_BOOLEAN, "boolean"}, {NL_TYPE_TINYINT, "tinyint"},  {NL_TYPE_SMALLINT, "smallint"},       {NL_TYPE_INT, "integer"},
    {NL_TYPE_BIGINT, "bigint"},   {NL_TYPE_FLOAT, "real"},       {NL_TYPE_DOUBLE, "double"},           {NL_TYPE_STRING, "varchar"},
    {NL_TYPE_BINARY, "varbinary"}, {NL_TYPE_DATE, "date"},       {NL_TYPE_TIMESTAMP_NTZ, "timestamp"}, {NL_TYPE_TIMESTAMP, "timestamp with time zone"},
    {NL_TYPE_DECIMAL, "decimal"}, {NL_TYPE_INTERVAL_DT, "interval day to second"}, {NL_TYPE_INTERVAL_YM, "interval year to month"}, {NL_TYPE_ARRAY, "array"},      {NL_TYPE_MAP, "map"},                 {NL_TYPE_STRUCT, "row"},
};

static const char *raw_name(const nl_type *type)
{
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (names[i].id == type->id) return names[i].name;
    return "varchar";
}

/* ---- Types. */

/* comma: between the numbers of a decimal, ", " in the columns of an answer and "," in SHOW COLUMNS. */
static void append_type(const nl_type *type, const char *comma, nl_builder *out)
{
    if (type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ) {
        nl_append_f(out, "timestamp(%u)%s", digits_of(type), type->id == NL_TYPE_TIMESTAMP ? " with time zone" : "");
        return;
    }
    nl_append_c(out, raw_name(type));
    if (type->id == NL_TYPE_DECIMAL) nl_append_f(out, "(%d%s%d)", type->precision, comma, type->scale);
    if (type->id != NL_TYPE_ARRAY && type->id != NL_TYPE_MAP && type->id != NL_TYPE_STRUCT) return;
    nl_append_char(out, '(');
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (i) nl_append_c(out, ", ");
        const char *quote = comma[1] ? "\"" : ""; /* SHOW COLUMNS has none */
        if (type->id == NL_TYPE_STRUCT) nl_append_f(out, "%s" NL_STR_FMT "%s ", quote, NL_STR_ARG(type->children[i].name), quote);
        append_type(type->children[i].type, comma, out);
    }
    nl_append_char(out, ')');
}

static nl_str type_text(nl_arena *arena, const nl_type *type, const char *comma)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    append_type(type, comma, &out);
    const nl_str name = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return name;
}

nl_str nl_trino_type_name(nl_arena *arena, const nl_type *type)
{
    return type_text(arena, type, ",");
}

static void write_number_argument(nl_json_writer *json, int64_t number)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "kind");
    nl_json_write_text(json, NL_STR("LONG"));
    nl_json_key(json, "value");
    nl_json_write_int(json, number);
    nl_json_end(json, '}');
}

static void write_signature(nl_json_writer *json, const nl_type *type);

static void write_type_argument(nl_json_writer *json, const nl_type *type, const nl_field *child)
{
    const bool is_named = type->id == NL_TYPE_STRUCT;
    nl_json_begin(json, '{');
    nl_json_key(json, "kind");
    nl_json_write_text(json, is_named ? NL_STR("NAMED_TYPE") : NL_STR("TYPE"));
    nl_json_key(json, "value");
    if (is_named) {
        nl_json_begin(json, '{');
        nl_json_key(json, "fieldName");
        nl_json_begin(json, '{');
        nl_json_key(json, "name");
        nl_json_write_text(json, child->name);
        nl_json_end(json, '}');
        nl_json_key(json, "typeSignature");
    }
    write_signature(json, child->type);
    if (is_named) nl_json_end(json, '}');
    nl_json_end(json, '}');
}

/* Depth: that of the type, which has its own limit. */
static void write_signature(nl_json_writer *json, const nl_type *type)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "rawType");
    nl_json_write_text(json, nl_str_from(raw_name(type)));
    nl_json_key(json, "arguments");
    nl_json_begin(json, '[');
    if (nl_str_is(nl_str_from(raw_name(type)), "varchar")) write_number_argument(json, INT32_MAX);
    if (type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ) write_number_argument(json, digits_of(type));
    if (type->id == NL_TYPE_DECIMAL) write_number_argument(json, type->precision);
    if (type->id == NL_TYPE_DECIMAL) write_number_argument(json, type->scale);
    if (type->id == NL_TYPE_ARRAY || type->id == NL_TYPE_MAP || type->id == NL_TYPE_STRUCT)
        for (uint32_t i = 0; i < type->child_count; i++) write_type_argument(json, type, &type->children[i]);
    nl_json_end(json, ']');
    nl_json_end(json, '}');
}

void nl_trino_write_column(nl_json_writer *json, nl_arena *arena, nl_str name, const nl_type *type)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "name");
    nl_json_write_text(json, name);
    nl_json_key(json, "type");
    const bool is_interval = type->id == NL_TYPE_INTERVAL_DT || type->id == NL_TYPE_INTERVAL_YM;
    nl_json_write_text(json, !is_interval ? type_text(arena, type, ", ") : type->id == NL_TYPE_INTERVAL_DT ? NL_STR("INTERVAL DAY TO SECOND") : NL_STR("INTERVAL YEAR TO MONTH"));
    nl_json_key(json, "typeSignature");
    write_signature(json, type);
    nl_json_end(json, '}');
}

/* ---- Values. */

static void append_real(double value, bool is_float, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    const uint32_t length = is_float ? nl_format_float((float)value, text) : nl_format_double(value, text);
    if (isfinite(value)) nl_append(out, (nl_str){text, length});
    else nl_json_append_quoted(out, (nl_str){text, length});
}

/* "2026-10-01 00:00:00.000000 UTC" */
static void append_timestamp(const nl_value *value, nl_builder *out)
{
    nl_civil at;
    nl_civil_from_micros(value->integer, &at);
    const int64_t micros = value->integer - nl_floor_div(value->integer, 1000000) * 1000000;
    char fraction[16];
    (void)snprintf(fraction, sizeof(fraction), ".%06lld", (long long)micros);
    nl_append_f(out, "\"%04d-%02d-%02d %02d:%02d:%02d", at.year, at.month, at.day, at.hour, at.minute, at.second);
    uint32_t digits = digits_of(value->type);
    while (digits < 6 && strspn(fraction + 1 + digits, "0") < 6 - digits) digits++; /* a type may lose its digits on the way, a value never */
    if (digits) nl_append(out, (nl_str){fraction, digits + 1});
    nl_append_c(out, value->type->id == NL_TYPE_TIMESTAMP ? " UTC\"" : "\"");
}

/* "2 03:00:00.000", "-0-3" */
static void append_interval(const nl_value *value, nl_builder *out)
{
    const bool is_negative = value->integer < 0;
    const uint64_t size = is_negative ? 0 - (uint64_t)value->integer : (uint64_t)value->integer;
    nl_append_c(out, is_negative ? "\"-" : "\"");
    if (value->type->id == NL_TYPE_INTERVAL_YM) {
        nl_append_f(out, "%llu-%llu\"", (unsigned long long)(size / 12), (unsigned long long)(size % 12));
        return;
    }
    const uint64_t millis = size / 1000, seconds = millis / 1000;
    nl_append_f(out, "%llu %02llu:%02llu:%02llu.%03llu\"", (unsigned long long)(seconds / 86400), (unsigned long long)(seconds / 3600 % 24), (unsigned long long)(seconds / 60 % 60),
                (unsigned long long)(seconds % 60), (unsigned long long)(millis % 1000));
}

static void append_bytes(nl_str bytes, nl_builder *out)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_json_append_quoted(out, nl_base64_encode(arena, (nl_bytes){(const uint8_t *)bytes.data, bytes.length}));
    nl_arena_free(arena);
}

static void append_text(const nl_value *value, nl_builder *out)
{
    static const nl_text_options options = {.style = NL_TEXT_CAST};
    nl_builder text;
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    nl_value_append_text(value, &options, &text);
    nl_json_append_quoted(out, nl_builder_str(&text));
    nl_builder_fini(&text);
}

static void append_items(const nl_value *value, nl_builder *out)
{
    const bool is_map = value->type->id == NL_TYPE_MAP;
    nl_append_char(out, is_map ? '{' : '[');
    for (uint32_t i = 0; i < value->list.count; i++) {
        const bool is_key = is_map && i % 2 == 0;
        if (i) nl_append_char(out, is_map && !is_key ? ':' : ',');
        if (is_key) append_text(&value->list.items[i], out); /* keys of JSON are texts */
        else nl_trino_append_value(&value->list.items[i], out);
    }
    nl_append_char(out, is_map ? '}' : ']');
}

void nl_trino_append_value(const nl_value *value, nl_builder *out)
{
    const nl_type_id id = value->type->id;
    if (value->is_null) nl_append_c(out, "null");
    else if (id == NL_TYPE_BOOLEAN) nl_append_c(out, value->boolean ? "true" : "false");
    else if (id == NL_TYPE_TINYINT || id == NL_TYPE_SMALLINT || id == NL_TYPE_INT || id == NL_TYPE_BIGINT) nl_append_int(out, value->integer);
    else if (id == NL_TYPE_FLOAT || id == NL_TYPE_DOUBLE) append_real(value->real, id == NL_TYPE_FLOAT, out);
    else if (id == NL_TYPE_TIMESTAMP || id == NL_TYPE_TIMESTAMP_NTZ) append_timestamp(value, out);
    else if (id == NL_TYPE_INTERVAL_DT || id == NL_TYPE_INTERVAL_YM) append_interval(value, out);
    else if (id == NL_TYPE_STRING) nl_json_append_quoted(out, value->text);
    else if (id == NL_TYPE_BINARY) append_bytes(value->text, out);
    else if (id == NL_TYPE_ARRAY || id == NL_TYPE_MAP || id == NL_TYPE_STRUCT) append_items(value, out);
    else append_text(value, out);
}

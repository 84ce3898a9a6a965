/* format/json/json_format.c - columns to JSON text. Pretty printing is Jackson's: two blanks a level, " : ". */
#include "base/number.h"
#include "column/variant.h"
#include "format/json/json_format.h"
#include "format/text/text_value.h"

typedef struct writer {
    const nl_json_file_options *options;
    nl_builder *out;
    uint32_t depth;
} writer;

static nl_status append_value(writer *to, const nl_vector *vector, uint32_t row);

static void append_string(const writer *to, nl_str text)
{
    if (!to->options->escapes_non_ascii) {
        nl_append_json_string(to->out, text);
        return;
    }
    nl_builder escaped;
    nl_builder_init(&escaped, SIZE_MAX / 4);
    nl_append_json_string(&escaped, text);
    nl_str quoted = nl_builder_str(&escaped);
    for (size_t at = 0; at < quoted.length;) {
        uint32_t code_point = (uint8_t)quoted.data[at];
        if (code_point < 0x80) {
            nl_append_char(to->out, quoted.data[at++]);
            continue;
        }
        code_point = nl_utf8_decode(quoted, &at);
        if (code_point >= 0x10000) {
            nl_append_f(to->out, "\\u%04X", 0xd800 + ((code_point - 0x10000) >> 10));
            code_point = 0xdc00 + ((code_point - 0x10000) & 0x3ff);
        }
        nl_append_f(to->out, "\\u%04X", code_point);
    }
    if (nl_builder_failed(&escaped)) to->out->has_failed = true;
    nl_builder_fini(&escaped);
}

static void new_line(const writer *to)
{
    nl_append_char(to->out, '\n');
    nl_append_fill(to->out, ' ', 2 * (size_t)to->depth);
}

static void begin(writer *to, char bracket)
{
    nl_append_char(to->out, bracket);
    to->depth++;
}

/* Between elements; Jackson keeps arrays on one line and puts fields on lines of their own. */
static void before_part(const writer *to, bool is_first, bool is_field)
{
    if (!is_first) nl_append_char(to->out, ',');
    if (!to->options->is_pretty) return;
    if (is_field)
        new_line(to);
    else
        nl_append_char(to->out, ' ');
}

static void end(writer *to, bool is_empty, bool is_object)
{
    to->depth--;
    if (to->options->is_pretty) {
        if (is_object && !is_empty)
            new_line(to);
        else
            nl_append_char(to->out, ' ');
    }
    nl_append_char(to->out, is_object ? '}' : ']');
}

static void append_colon(const writer *to)
{
    nl_append_c(to->out, to->options->is_pretty ? " : " : ":");
}

static void append_real(const writer *to, double value, bool is_float)
{
    char text[NL_NUMBER_TEXT_MAX];
    uint32_t length = is_float ? nl_format_float((float)value, text) : nl_format_double(value, text);
    bool is_finite = value - value == 0;
    if (!is_finite) nl_append_char(to->out, '"');
    nl_append(to->out, (nl_str){text, length});
    if (!is_finite) nl_append_char(to->out, '"');
}

/* java.math.BigDecimal.toString: plain down to 1E-6, scientific below. */
static void append_decimal(const writer *to, nl_int128 value, int scale)
{
    char text[NL_NUMBER_TEXT_MAX];
    int digits = nl_decimal_digits(value);
    int exponent = digits - 1 - scale;
    if (exponent >= -6) {
        nl_append(to->out, (nl_str){text, nl_decimal_format(value, scale, text)});
        return;
    }
    uint32_t length = nl_decimal_format(value, 0, text);
    size_t sign = text[0] == '-';
    nl_append(to->out, (nl_str){text, sign + 1});
    if (digits > 1) {
        nl_append_char(to->out, '.');
        nl_append(to->out, (nl_str){text + sign + 1, length - sign - 1});
    }
    nl_append_f(to->out, "E%d", exponent);
}

static void append_base64(const writer *to, nl_str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    nl_append_char(to->out, '"');
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t count = NL_MIN((size_t)3, bytes.length - i);
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < count ? (uint8_t)bytes.data[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            nl_append_char(to->out, k <= count ? digits[(group >> (18 - 6 * k)) & 63] : '=');
    }
    nl_append_char(to->out, '"');
}

#define AT(element) (((const element *)vector->values)[row])

static int64_t integer_at(const nl_vector *vector, uint32_t row)
{
    switch ((int)vector->type->physical) {
    case NL_PHYS_I8:
        return AT(int8_t);
    case NL_PHYS_I16:
        return AT(int16_t);
    case NL_PHYS_I32:
        return AT(int32_t);
    default:
        return AT(int64_t);
    }
}

static nl_status append_datetime(const writer *to, nl_type_id id, int64_t value)
{
    nl_append_char(to->out, '"');
    NL_TRY(nl_text_append_datetime(&to->options->formats, id, value, to->out));
    nl_append_char(to->out, '"');
    return NULL;
}

static void append_interval(const writer *to, const nl_vector *vector, uint32_t row)
{
    nl_append_char(to->out, '"');
    nl_vector_append_text(vector, row, &(nl_text_options){.style = NL_TEXT_CAST}, to->out);
    nl_append_char(to->out, '"');
}

/* Spark writes a map's key as its internal value: dates are days, timestamps microseconds, structs and arrays lists of those. */
static void append_key_text(const nl_vector *vector, uint32_t row, nl_builder *key)
{
    nl_reader reader;
    nl_reader_init(&reader, vector);
    uint32_t index = nl_reader_index(&reader, row);
    const nl_vector *values = vector->encoding == NL_DICTIONARY ? &vector->dictionary->vector : vector;
    if (nl_vector_is_null(vector, row)) {
        nl_append_c(key, "null");
    } else if (vector->type->id == NL_TYPE_STRUCT) {
        for (uint32_t i = 0; i < vector->type->child_count; i++) {
            nl_append_char(key, i ? ',' : '[');
            append_key_text(&values->children[i], index, key);
        }
        nl_append_char(key, ']');
    } else if (vector->type->id == NL_TYPE_ARRAY) {
        const nl_list_view view = ((const nl_list_view *)values->values)[index];
        nl_append_char(key, '[');
        for (uint32_t i = 0; i < view.length; i++) {
            if (i) nl_append_char(key, ',');
            append_key_text(&values->children[0], view.offset + i, key);
        }
        nl_append_char(key, ']');
    } else if (vector->type->id == NL_TYPE_DATE || vector->type->id == NL_TYPE_TIMESTAMP || vector->type->id == NL_TYPE_TIMESTAMP_NTZ ||
               vector->type->id == NL_TYPE_INTERVAL_YM || vector->type->id == NL_TYPE_INTERVAL_DT) {
        nl_append_int(key, integer_at(values, index));
    } else {
        nl_vector_append_text(vector, row, &(nl_text_options){.style = NL_TEXT_CAST}, key);
    }
}

static void append_key(const writer *to, const nl_vector *vector, uint32_t row)
{
    nl_builder key;
    nl_builder_init(&key, SIZE_MAX / 4);
    append_key_text(vector, row, &key);
    append_string(to, nl_builder_str(&key));
    nl_builder_fini(&key);
    append_colon(to);
}

static nl_status append_list(writer *to, const nl_vector *vector, uint32_t row)
{
    bool is_map = vector->type->id == NL_TYPE_MAP;
    nl_list_view view = AT(nl_list_view);
    begin(to, is_map ? '{' : '[');
    for (uint32_t i = 0; i < view.length; i++) {
        before_part(to, i == 0, is_map);
        if (is_map) append_key(to, &vector->children[0], view.offset + i);
        NL_TRY(append_value(to, &vector->children[is_map], view.offset + i));
    }
    end(to, view.length == 0, is_map);
    return NULL;
}

static nl_status append_fields(writer *to, const nl_type *type, const nl_vector *columns, uint32_t row)
{
    bool is_first = true;
    begin(to, '{');
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (to->options->ignores_null_fields && nl_vector_is_null(&columns[i], row)) continue;
        before_part(to, is_first, true);
        append_string(to, type->children[i].name);
        append_colon(to);
        NL_TRY(append_value(to, &columns[i], row));
        is_first = false;
    }
    end(to, is_first, true);
    return NULL;
}

static nl_str text_at(const nl_vector *vector, uint32_t row)
{
    nl_reader reader;
    nl_reader_init(&reader, vector);
    return nl_view_str(&((const nl_string_view *)reader.values)[nl_reader_index(&reader, row)]);
}

static nl_status append_variant(const writer *to, const nl_vector *vector, uint32_t row)
{
    nl_variant variant;
    NL_TRY(nl_variant_open(text_at(&vector->children[0], row), text_at(&vector->children[1], row), &variant));
    return nl_variant_append_json(&variant, to->options->formats.zone, to->out);
}

/* A value that is not null, of a flat vector or the one row of a constant. */
static nl_status append_present(writer *to, const nl_vector *vector, uint32_t row)
{
    switch (vector->type->id) {
    case NL_TYPE_BOOLEAN:
        nl_append_c(to->out, AT(uint8_t) ? "true" : "false");
        return NULL;
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
        nl_append_int(to->out, integer_at(vector, row));
        return NULL;
    case NL_TYPE_FLOAT:
        append_real(to, (double)AT(float), true);
        return NULL;
    case NL_TYPE_DOUBLE:
        append_real(to, AT(double), false);
        return NULL;
    case NL_TYPE_DECIMAL:
        append_decimal(to, vector->type->physical == NL_PHYS_I128 ? AT(nl_int128) : AT(int64_t), vector->type->scale);
        return NULL;
    case NL_TYPE_STRING:
        append_string(to, nl_view_str(&AT(nl_string_view)));
        return NULL;
    case NL_TYPE_BINARY:
        append_base64(to, nl_view_str(&AT(nl_string_view)));
        return NULL;
    case NL_TYPE_DATE:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
        return append_datetime(to, vector->type->id, integer_at(vector, row));
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
    case NL_TYPE_INTERVAL:
        append_interval(to, vector, row);
        return NULL;
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
        return append_list(to, vector, row);
    case NL_TYPE_STRUCT:
        return append_fields(to, vector->type, vector->children, row);
    case NL_TYPE_VARIANT:
        return append_variant(to, vector, row);
    case NL_TYPE_NULL:
    case NL_TYPE_COUNT:
        break;
    }
    nl_append_c(to->out, "null");
    return NULL;
}

static nl_status append_value(writer *to, const nl_vector *vector, uint32_t row)
{
    if (nl_vector_is_null(vector, row)) {
        nl_append_c(to->out, "null");
        return NULL;
    }
    if (vector->encoding == NL_CONSTANT) return append_present(to, vector, 0);
    if (vector->encoding == NL_DICTIONARY) return append_present(to, &vector->dictionary->vector, vector->indices[row]);
    return append_present(to, vector, row);
}

nl_status nl_json_append_value(const nl_json_file_options *options, const nl_vector *vector, uint32_t row, nl_builder *out)
{
    writer to = {.options = options, .out = out};
    return append_value(&to, vector, row);
}

nl_status nl_json_append_row(const nl_json_file_options *options, const nl_type *struct_type, const nl_vector *columns,
                             uint32_t row, nl_builder *out)
{
    writer to = {.options = options, .out = out};
    return append_fields(&to, struct_type, columns, row);
}

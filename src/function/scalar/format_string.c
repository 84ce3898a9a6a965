/* scalar/format_string.c - format_string and printf: java.util.Formatter over Spark's values.
 *
 * As in Spark, a date is its number of days and a timestamp its microseconds. Locale: US.
 */
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/number.h"
#include "function/groups.h"
#include "function/number_text.h"

typedef struct format_flags {
    bool is_left, is_alternate, has_plus, has_space, has_zeros, has_groups, has_parentheses;
} format_flags;

typedef struct format_item {
    nl_str literal;    /* conversion 0 */
    nl_str written;    /* "%5.2f" */
    char conversion;   /* lower case */
    bool is_upper;
    format_flags flags;
    int32_t width;     /* -1: none */
    int32_t precision; /* -1: none */
    int32_t argument;  /* from 0; -1: none is needed */
} format_item;

typedef struct format_program {
    format_item *items;
    uint32_t count;
} format_program;

/* --- reading the format --- */

typedef struct format_reader {
    nl_arena *arena;
    nl_str text;
    size_t at;
    int32_t next;     /* ordinary index */
    int32_t previous; /* of "%<s" */
    format_program *program;
} format_reader;

static bool read_int(format_reader *in, int32_t *value)
{
    size_t start = in->at;
    int64_t number = 0;
    while (in->at < in->text.length && in->text.data[in->at] >= '0' && in->text.data[in->at] <= '9' && number < 100000000)
        number = number * 10 + (in->text.data[in->at++] - '0');
    if (in->at == start) return false;
    *value = (int32_t)number;
    return true;
}

static bool read_flag(char c, format_flags *flags)
{
    switch (c) {
    case '-':
        flags->is_left = true;
        return true;
    case '#':
        flags->is_alternate = true;
        return true;
    case '+':
        flags->has_plus = true;
        return true;
    case ' ':
        flags->has_space = true;
        return true;
    case '0':
        flags->has_zeros = true;
        return true;
    case ',':
        flags->has_groups = true;
        return true;
    case '(':
        flags->has_parentheses = true;
        return true;
    default:
        return false;
    }
}

static char peek(const format_reader *in)
{
    return in->at < in->text.length ? in->text.data[in->at] : '\0';
}

static nl_status raise_conversion(char c)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Conversion = '%c'", c == '\0' ? '%' : c);
}

static nl_status check_item(const format_item *item)
{
    if (item->conversion == 0 || strchr("bhscdoxefgatn%", item->conversion) == NULL) return raise_conversion(item->conversion);
    if (item->is_upper && strchr("bhscxegat", item->conversion) == NULL) return raise_conversion((char)(item->conversion - 'a' + 'A'));
    if (item->conversion == 't') return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Dates and times (%%t) in formats of format_string are not supported.");
    if (item->conversion == 'a') return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Hexadecimal floating-point numbers (%%a) in formats of format_string are not supported.");
    if ((item->flags.is_left || item->flags.has_zeros) && item->width < 0 && item->conversion != 'n')
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT, NL_STR_ARG(item->written));
    if (item->precision >= 0 && strchr("cdox", item->conversion) != NULL)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%d", item->precision);
    return NULL;
}

/* After '%': [index$][flags][width][.precision]conversion */
static nl_status read_item(format_reader *in, format_item *item)
{
    size_t start = in->at - 1;
    int32_t number = 0;
    bool is_relative = false;
    *item = (format_item){.width = -1, .precision = -1, .argument = -1};
    size_t mark = in->at;
    bool has_index = peek(in) != '0' && read_int(in, &number) && peek(in) == '$';
    if (has_index)
        in->at++;
    else
        in->at = mark;
    if (!has_index && peek(in) == '<') {
        is_relative = true;
        in->at++;
    }
    while (read_flag(peek(in), &item->flags)) in->at++;
    if (!read_int(in, &item->width)) item->width = -1;
    if (peek(in) == '.') {
        in->at++;
        if (!read_int(in, &item->precision)) return raise_conversion('.');
    }
    char c = peek(in);
    if (c == '\0') return raise_conversion('%');
    in->at++;
    item->is_upper = c >= 'A' && c <= 'Z';
    item->conversion = item->is_upper ? (char)(c - 'A' + 'a') : c;
    item->written = nl_str_slice(in->text, start, in->at);
    NL_TRY(check_item(item));
    if (item->conversion == 'n' || item->conversion == '%') return NULL;
    if (is_relative)
        item->argument = in->previous;
    else
        item->argument = has_index ? number - 1 : in->next++;
    in->previous = item->argument;
    return NULL;
}

static nl_status compile(nl_arena *arena, nl_str text, format_program *program)
{
    format_reader in = {.arena = arena, .text = nl_arena_str(arena, text), .previous = INT32_MAX, .program = program};
    uint32_t count_max = 1;
    for (size_t i = 0; i < text.length; i++) count_max += 2 * (text.data[i] == '%');
    program->items = NL_NEW_ARRAY(arena, format_item, count_max);
    program->count = 0;
    NL_TRY(nl_arena_check(arena));
    while (in.at < in.text.length) {
        size_t stop = NL_MIN(nl_str_find_char(in.text, '%', in.at), in.text.length);
        if (stop > in.at) program->items[program->count++].literal = nl_str_slice(in.text, in.at, stop);
        in.at = stop + 1;
        if (stop < in.text.length) NL_TRY(read_item(&in, &program->items[program->count++]));
    }
    return NULL;
}

/* --- writing --- */

typedef struct formatting {
    const nl_vector *args; /* behind the format */
    uint32_t count;
    nl_builder text;  /* the row's result */
    nl_builder field; /* one conversion before it is padded */
} formatting;

static void pad(const format_item *item, nl_str field, nl_builder *out)
{
    size_t characters = nl_utf8_length(field);
    size_t blanks = item->width > 0 && (size_t)item->width > characters ? (size_t)item->width - characters : 0;
    if (!item->flags.is_left) nl_append_fill(out, ' ', blanks);
    nl_append(out, field);
    if (item->flags.is_left) nl_append_fill(out, ' ', blanks);
}

static void upper_ascii(nl_builder *text)
{
    for (size_t i = 0; i < text->length; i++)
        if (text->data[i] >= 'a' && text->data[i] <= 'z') text->data[i] = (char)(text->data[i] - 'a' + 'A');
}

/* Sign, zeros and parentheses around the digits of a number. */
static void finish_number(formatting *f, const format_item *item, bool is_negative, nl_str digits)
{
    const format_flags *flags = &item->flags;
    const char *before = is_negative ? (flags->has_parentheses ? "(" : "-") : flags->has_plus ? "+" : flags->has_space ? " " : "";
    const char *behind = is_negative && flags->has_parentheses ? ")" : "";
    nl_builder_clear(&f->field);
    nl_append_c(&f->field, before);
    size_t length = strlen(before) + digits.length + strlen(behind);
    if (flags->has_zeros && item->width > 0 && (size_t)item->width > length)
        nl_append_fill(&f->field, '0', (size_t)item->width - length);
    nl_append(&f->field, digits);
    nl_append_c(&f->field, behind);
    if (item->is_upper) upper_ascii(&f->field);
    pad(item, nl_builder_str(&f->field), &f->text);
}

static void append_grouped(const char *digits, size_t integer_count, size_t count, bool has_groups, nl_builder *out)
{
    for (size_t i = 0; i < count; i++) {
        nl_append_char(out, digits[i]);
        size_t left = integer_count - i - 1;
        if (has_groups && i + 1 < integer_count && left % 3 == 0) nl_append_char(out, ',');
    }
}

static nl_status format_integer(formatting *f, const format_item *item, const nl_type *type, int64_t value)
{
    char text[64];
    nl_builder digits;
    nl_builder_init(&digits, 128);
    if (item->conversion == 'd') {
        uint32_t length = nl_format_int64(value, text);
        const char *start = text + (value < 0);
        size_t count = length - (value < 0);
        append_grouped(start, count, count, item->flags.has_groups, &digits);
        finish_number(f, item, value < 0, nl_builder_str(&digits));
    } else {
        uint32_t bits = 8 * nl_physical_size(type->physical);
        uint64_t raw = (uint64_t)value & (bits >= 64 ? UINT64_MAX : (1ull << bits) - 1);
        bool is_octal = item->conversion == 'o';
        if (item->flags.is_alternate) nl_append_c(&digits, is_octal ? "0" : "0x");
        nl_append_f(&digits, is_octal ? "%llo" : "%llx", (unsigned long long)raw);
        finish_number(f, item, false, nl_builder_str(&digits));
    }
    nl_builder_fini(&digits);
    return NULL;
}

static void append_fixed(nl_number_digits *number, int32_t places, bool has_groups, nl_builder *out)
{
    nl_number_digits_round(number, places, NL_ROUND_HALF_UP);
    int32_t integers = number->count > 0 ? NL_MAX(number->exponent, 1) : 1;
    for (int32_t i = integers; i > 0; i--) {
        nl_append_char(out, nl_number_digit(number, -i));
        if (has_groups && i > 1 && (i - 1) % 3 == 0) nl_append_char(out, ',');
    }
    if (places > 0) nl_append_char(out, '.');
    for (int32_t i = 0; i < places; i++) nl_append_char(out, nl_number_digit(number, i));
}

static void append_scientific(nl_number_digits *number, int32_t places, nl_builder *out)
{
    nl_number_digits_round(number, places + 1 - number->exponent, NL_ROUND_HALF_UP);
    int32_t exponent = number->count > 0 ? number->exponent - 1 : 0;
    for (int32_t i = 0; i <= places; i++) {
        nl_append_char(out, i < number->count ? number->text[i] : '0');
        if (i == 0 && places > 0) nl_append_char(out, '.');
    }
    nl_append_f(out, "e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
}

static void format_real(formatting *f, const format_item *item, double value)
{
    if (!isfinite(value)) {
        format_item plain = *item;
        plain.flags.has_zeros = false;
        if (isnan(value))
            pad(item, NL_STR("NaN"), &f->text);
        else
            finish_number(f, &plain, value < 0, NL_STR("Infinity"));
        return;
    }
    nl_builder digits;
    nl_number_digits number;
    int32_t precision = item->precision < 0 ? 6 : item->precision;
    nl_builder_init(&digits, NL_VALUE_BYTES_MAX);
    nl_number_digits_of_double(value, &number);
    bool is_negative = number.is_negative;
    if (item->conversion == 'f') {
        append_fixed(&number, precision, item->flags.has_groups, &digits);
    } else if (item->conversion == 'e') {
        append_scientific(&number, precision, &digits);
    } else { /* g */
        nl_number_digits rounded = number;
        if (precision == 0) precision = 1;
        nl_number_digits_round(&rounded, precision - rounded.exponent, NL_ROUND_HALF_UP);
        bool is_fixed = rounded.count == 0 || (rounded.exponent > -4 && rounded.exponent <= precision);
        if (is_fixed)
            append_fixed(&number, rounded.count == 0 ? precision - 1 : precision - rounded.exponent, item->flags.has_groups, &digits);
        else
            append_scientific(&number, precision - 1, &digits);
    }
    finish_number(f, item, is_negative, nl_builder_str(&digits));
    nl_builder_fini(&digits);
}

static const char *java_class(const nl_type *type)
{
    switch ((int)type->id) {
    case NL_TYPE_BOOLEAN: return "java.lang.Boolean";
    case NL_TYPE_TINYINT: return "java.lang.Byte";
    case NL_TYPE_SMALLINT: return "java.lang.Short";
    case NL_TYPE_INT:
    case NL_TYPE_DATE:
    case NL_TYPE_INTERVAL_YM: return "java.lang.Integer";
    case NL_TYPE_BIGINT:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
    case NL_TYPE_INTERVAL_DT: return "java.lang.Long";
    case NL_TYPE_FLOAT: return "java.lang.Float";
    case NL_TYPE_DOUBLE: return "java.lang.Double";
    case NL_TYPE_DECIMAL: return "org.apache.spark.sql.types.Decimal";
    default: return "org.apache.spark.unsafe.types.UTF8String";
    }
}

static nl_status raise_class(const format_item *item, const nl_type *type)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%c != %s", item->conversion, java_class(type));
}

static bool is_whole(const nl_type *type)
{
    switch (type->physical) {
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
        return type->id != NL_TYPE_DECIMAL;
    case NL_PHYS_NONE:
    case NL_PHYS_BOOL:
    case NL_PHYS_I128:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_STRING:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        break;
    }
    return false;
}

/* The value as Java's toString shows it. */
static nl_status append_text(const nl_vector *vector, const nl_reader *reader, uint32_t row, nl_builder *out)
{
    const nl_type *type = vector->type;
    uint32_t index = nl_reader_index(reader, row);
    char text[NL_NUMBER_TEXT_MAX];
    if (type->id == NL_TYPE_STRING) {
        nl_append(out, nl_reader_str(reader, row));
    } else if (type->id == NL_TYPE_BOOLEAN) {
        nl_append_c(out, nl_reader_bool(reader, row) ? "true" : "false");
    } else if (is_whole(type)) {
        nl_append_int(out, nl_physical_i64(type->physical, reader->values, index));
    } else if (type->id == NL_TYPE_FLOAT) {
        nl_append(out, (nl_str){text, nl_format_float(((const float *)reader->values)[index], text)});
    } else if (type->id == NL_TYPE_DOUBLE) {
        nl_append(out, (nl_str){text, nl_format_double(nl_reader_f64(reader, row), text)});
    } else if (type->id == NL_TYPE_DECIMAL) {
        nl_append(out, (nl_str){text, nl_decimal_format(nl_physical_i128(type->physical, reader->values, index), type->scale, text)});
    } else {
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Values of the type %s in format_string are not supported.", java_class(type));
    }
    return NULL;
}

static uint32_t java_hash(const nl_vector *vector, const nl_reader *reader, uint32_t row)
{
    const nl_type *type = vector->type;
    if (type->id == NL_TYPE_BOOLEAN) return nl_reader_bool(reader, row) ? 1231 : 1237;
    if (type->physical == NL_PHYS_STRING) {
        nl_str text = nl_reader_str(reader, row);
        return nl_spark_murmur3_bytes(text.data, text.length, 42);
    }
    uint32_t index = nl_reader_index(reader, row);
    if (is_whole(type)) {
        int64_t value = nl_physical_i64(type->physical, reader->values, index);
        return type->physical == NL_PHYS_I64 ? (uint32_t)((uint64_t)value ^ (uint64_t)value >> 32) : (uint32_t)value;
    }
    uint64_t bits = 0;
    double value = nl_physical_f64(type->physical, reader->values, index);
    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)(bits ^ bits >> 32);
}

static nl_status format_text(formatting *f, const format_item *item, const nl_vector *vector, const nl_reader *reader, uint32_t row)
{
    nl_builder_clear(&f->field);
    if (item->conversion == 's')
        NL_TRY(append_text(vector, reader, row, &f->field));
    else if (item->conversion == 'b')
        nl_append_c(&f->field, vector->type->id != NL_TYPE_BOOLEAN || nl_reader_bool(reader, row) ? "true" : "false");
    else if (item->conversion == 'h')
        nl_append_f(&f->field, "%x", java_hash(vector, reader, row));
    else if (is_whole(vector->type) && vector->type->physical != NL_PHYS_I64)
        nl_append_code_point(&f->field, (uint32_t)nl_physical_i64(vector->type->physical, reader->values, nl_reader_index(reader, row)));
    else
        return raise_class(item, vector->type);
    if (item->is_upper) upper_ascii(&f->field);
    nl_str shown = nl_builder_str(&f->field);
    if (item->precision >= 0) {
        size_t stop = 0;
        for (int32_t i = 0; i < item->precision && stop < shown.length; i++) stop = nl_utf8_next(shown, stop);
        shown = nl_str_slice(shown, 0, stop);
    }
    pad(item, shown, &f->text);
    return NULL;
}

static nl_status format_argument(formatting *f, const format_item *item, uint32_t row)
{
    if (item->argument < 0 || (uint32_t)item->argument >= f->count)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Format specifier '" NL_STR_FMT "'", NL_STR_ARG(item->written));
    const nl_vector *vector = &f->args[item->argument];
    if (nl_vector_is_null(vector, row)) {
        format_item plain = *item;
        plain.flags.has_zeros = false;
        nl_str shown = item->conversion == 'b' ? NL_STR("false") : NL_STR("null");
        if (item->is_upper) shown = item->conversion == 'b' ? NL_STR("FALSE") : NL_STR("NULL");
        bool is_cut = item->precision >= 0 && strchr("bhs", item->conversion) != NULL;
        pad(&plain, is_cut ? nl_str_slice(shown, 0, (size_t)item->precision) : shown, &f->text);
        return NULL;
    }
    nl_reader reader;
    nl_reader_init(&reader, vector);
    if (strchr("bhsc", item->conversion) != NULL) return format_text(f, item, vector, &reader, row);
    uint32_t index = nl_reader_index(&reader, row);
    if (strchr("dox", item->conversion) != NULL) {
        if (!is_whole(vector->type)) return raise_class(item, vector->type);
        return format_integer(f, item, vector->type, nl_physical_i64(vector->type->physical, reader.values, index));
    }
    if (vector->type->physical != NL_PHYS_F64 && vector->type->physical != NL_PHYS_F32) return raise_class(item, vector->type);
    format_real(f, item, nl_physical_f64(vector->type->physical, reader.values, index));
    return NULL;
}

static nl_status format_row(formatting *f, const format_program *program, uint32_t row)
{
    nl_builder_clear(&f->text);
    for (uint32_t i = 0; i < program->count; i++) {
        const format_item *item = &program->items[i];
        if (item->conversion == 0)
            nl_append(&f->text, item->literal);
        else if (item->conversion == 'n')
            nl_append_char(&f->text, '\n');
        else if (item->conversion == '%')
            pad(item, NL_STR("%"), &f->text);
        else
            NL_TRY(format_argument(f, item, row));
    }
    return NULL;
}

static nl_status format_kernel(NL_KERNEL_PARAMETERS)
{
    const format_program *constant = function->state;
    formatting f = {.args = args + 1, .count = function->argument_count - 1};
    nl_output output;
    nl_reader formats;
    nl_arena *arena = NULL;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&formats, &args[0]);
    nl_builder_init(&f.text, nl_eval_text_max(eval));
    nl_builder_init(&f.field, nl_eval_text_max(eval));
    nl_str last = {NULL, 0};
    format_program varying = {0};
    NL_EACH_SELECTED(row)
    {
        if (nl_vector_is_null(&args[0], row)) {
            NL_GO(nl_output_null(&output, row));
            continue;
        }
        if (constant == NULL) {
            nl_str text = nl_reader_str(&formats, row);
            if (arena == NULL || !nl_str_equal(text, last)) {
                nl_arena_free(arena);
                arena = nl_arena_new(NULL);
                last = nl_arena_str(arena, text);
                NL_GO(compile(arena, last, &varying));
            }
        }
        NL_GO(format_row(&f, constant != NULL ? constant : &varying, row));
        NL_GO(nl_output_builder(&output, row, &f.text));
    }
done:
    nl_builder_fini(&f.text);
    nl_builder_fini(&f.field);
    nl_arena_free(arena);
    return status;
}

static nl_status bind_format(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *format = bind->constants[0];
    bound->is_nullable = bind->argument_nullable == NULL || bind->argument_nullable[0];
    if (format == NULL || format->is_null) return NULL;
    if (nl_str_find(format->text, NL_STR("%0$"), 0) != NL_NOT_FOUND)
        return NL_RAISE(INVALID_PARAMETER_VALUE__ZERO_INDEX, NL_P("parameter", "`strfmt`"), NL_P_STR("functionName", nl_quoted_name(bind)));
    format_program *program = NL_NEW(bind->arena, format_program);
    nl_status status = compile(bind->arena, format->text, program);
    if (status == NULL) bound->state = program;
    nl_error_free(status); /* rows raise it */
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "format_string", .aliases = "printf", .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_SEEN, .can_fail = true,
     .signature = "(string, any...) -> string | (string) -> string", .bind = bind_format, .kernel = format_kernel, .since = "1.5.0",
     .doc = "The arguments in a text by a printf-style format.", .examples = {{"format_string('Hello World %d %s', 100, 'days')", "Hello World 100 days"}}},
};

NL_DEFINE_FUNCTION_GROUP(format_string, rows);

/* format/json/json_convert.c - JSON values into column builders.
 *
 * Values are appended as they are read; what turns out not to fit is taken back (nl_column_builder_truncate). Depth is
 * bounded by the type's and by NL_JSON_DEPTH_MAX.
 */
#include <stdlib.h>

#include "base/number.h"
#include "column/variant_builder.h"
#include "format/json/json_convert.h"
#include "format/text/text_value.h"

/* A type with its fields in the order of their names, for look-ups. */
typedef struct shape {
    const nl_type *type;
    const struct shape *children;
    const uint32_t *by_name; /* STRUCT: indices into children */
} shape;

struct nl_json_converter {
    nl_arena *arena;
    const shape *root;
    const nl_json_file_options *options;
    nl_json_parser in;
    nl_variant_builder variant;
    nl_builder scratch;
    nl_status failure; /* of memory; conversion stops */
};

static int compare_names(const void *a, const void *b, void *context)
{
    const nl_type *type = context;
    return nl_str_compare(type->children[*(const uint32_t *)a].name, type->children[*(const uint32_t *)b].name);
}

static nl_status make_shape(nl_arena *arena, const nl_type *type, shape *made)
{
    shape *children = NL_NEW_ARRAY(arena, shape, type->child_count);
    uint32_t *by_name = NL_NEW_ARRAY(arena, uint32_t, type->child_count);
    if (type->id == NL_TYPE_MAP && type->children[0].type->id != NL_TYPE_STRING)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The keys of a map in JSON are strings.");
    for (uint32_t i = 0; i < type->child_count; i++) {
        NL_TRY(make_shape(arena, type->children[i].type, &children[i]));
        by_name[i] = i;
    }
    if (type->id == NL_TYPE_STRUCT && type->child_count > 1)
        qsort_r(by_name, type->child_count, sizeof *by_name, compare_names, (void *)(uintptr_t)type);
    *made = (shape){type, children, by_name};
    return nl_arena_check(arena);
}

nl_status nl_json_converter_new(const nl_type *type, const nl_json_file_options *options, nl_memory *memory,
                                nl_json_converter **converter)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_json_converter *made = NL_NEW(arena, nl_json_converter);
    shape *root = NL_NEW(arena, shape);
    nl_status status = make_shape(arena, type, root);
    if (status) {
        nl_arena_free(arena);
        return status;
    }
    *made = (nl_json_converter){.arena = arena, .root = root, .options = options};
    nl_json_init(&made->in, (nl_str){NULL, 0}, &options->text);
    nl_variant_builder_init(&made->variant);
    nl_builder_init(&made->scratch, SIZE_MAX / 4);
    *converter = made;
    return NULL;
}

void nl_json_converter_free(nl_json_converter *converter)
{
    if (!converter) return;
    nl_json_fini(&converter->in);
    nl_variant_builder_fini(&converter->variant);
    nl_builder_fini(&converter->scratch);
    nl_error_free(converter->failure);
    nl_arena_free(converter->arena);
}

const char *nl_json_convert_problem(const nl_json_converter *converter, size_t *offset)
{
    *offset = nl_json_offset(&converter->in);
    return nl_json_problem(&converter->in);
}

/* The field called `name`: usually the one behind the last found, else by binary search. child_count: none. */
static uint32_t find_field(const shape *at, nl_str name, uint32_t guess)
{
    const nl_type *type = at->type;
    if (guess < type->child_count && nl_str_equal(type->children[guess].name, name)) return guess;
    uint32_t low = 0;
    uint32_t high = type->child_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = nl_str_compare(name, type->children[at->by_name[middle]].name);
        if (order == 0) return at->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return type->child_count;
}

/* Remembers a failure of memory; BROKEN then ends the conversion. */
static nl_json_fit check(nl_json_converter *converter, nl_status status, nl_json_fit fit)
{
    if (!status) return fit;
    converter->failure = nl_first_error(converter->failure, status);
    return NL_JSON_BROKEN;
}

/* The present value is of the wrong kind: over it, to what follows. */
static nl_json_fit misfit(nl_json_converter *converter)
{
    return nl_json_skip(&converter->in) ? NL_JSON_MISFIT : NL_JSON_BROKEN;
}

static nl_json_fit convert(nl_json_converter *converter, const shape *at, nl_column_builder *builder);

static nl_json_fit convert_integer(nl_json_converter *converter, const nl_type *type, nl_column_builder *builder)
{
    const nl_json_parser *in = &converter->in;
    int64_t value;
    if (in->event != NL_JSON_NUMBER || !in->is_integer) return misfit(converter);
    if (!nl_parse_int64(in->text, &value)) return NL_JSON_MISFIT;
    int bits = (int)nl_physical_size(type->physical) * 8;
    if (type->id == NL_TYPE_TINYINT) { /* Jackson takes bytes as signed or unsigned */
        if (value < INT8_MIN || value > UINT8_MAX) return NL_JSON_MISFIT;
    } else if (bits < 64 && value != (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits)) {
        return NL_JSON_MISFIT;
    }
    return check(converter, nl_column_builder_i64(builder, value), NL_JSON_FITS);
}

static bool is_infinity(nl_str text, double *value)
{
    static const char *const names[] = {"Infinity", "+Infinity", "INF", "+INF"};
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        if (!nl_str_is(text, names[i])) continue;
        *value = __builtin_inf();
        return true;
    }
    *value = -__builtin_inf();
    return nl_str_is(text, "-Infinity") || nl_str_is(text, "-INF");
}

static bool parse_special(nl_str text, double *value)
{
    if (is_infinity(text, value)) return true;
    *value = (double)__builtin_nanf("");
    return nl_str_is(text, "NaN");
}

static nl_json_fit convert_real(nl_json_converter *converter, const nl_type *type, nl_column_builder *builder)
{
    const nl_json_parser *in = &converter->in;
    double value;
    float single;
    if (in->event == NL_JSON_STRING) { /* the numbers that JSON lacks; a bare INF is none of them */
        bool is_allowed = converter->options->text.allows_non_numeric_numbers && !nl_str_is(in->text, "INF");
        if (!is_allowed || !parse_special(in->text, &value)) return NL_JSON_MISFIT;
    } else if (in->event != NL_JSON_NUMBER) {
        return misfit(converter);
    } else if (!parse_special(in->text, &value)) {
        if (type->id == NL_TYPE_FLOAT) {
            if (!nl_parse_float(in->text, &single)) return NL_JSON_MISFIT;
            value = (double)single;
        } else if (!nl_parse_double(in->text, &value)) {
            return NL_JSON_MISFIT;
        }
    }
    return check(converter, nl_column_builder_f64(builder, value), NL_JSON_FITS);
}

static nl_json_fit add_value(nl_json_converter *converter, const nl_value *value, nl_column_builder *builder)
{
    return check(converter, nl_column_builder_value(builder, value), NL_JSON_FITS);
}

static nl_json_fit convert_decimal(nl_json_converter *converter, const nl_type *type, nl_column_builder *builder)
{
    const nl_json_parser *in = &converter->in;
    nl_value value;
    if (in->event != NL_JSON_NUMBER && in->event != NL_JSON_STRING) return misfit(converter);
    if (!nl_text_parse_value(&converter->options->formats, type, in->text, &value)) return NL_JSON_MISFIT;
    return add_value(converter, &value, builder);
}

/* Dates, timestamps, intervals: strings by their format; a number is a timestamp in seconds. */
static nl_json_fit convert_temporal(nl_json_converter *converter, const nl_type *type, nl_column_builder *builder)
{
    const nl_json_parser *in = &converter->in;
    nl_value value = {.type = type};
    if (in->event == NL_JSON_NUMBER && in->is_integer && type->id == NL_TYPE_TIMESTAMP) {
        if (!nl_parse_int64(in->text, &value.integer) ||
            __builtin_mul_overflow(value.integer, NL_MICROS_PER_SECOND, &value.integer))
            return NL_JSON_MISFIT;
    } else if (in->event != NL_JSON_STRING) {
        return misfit(converter);
    } else if (in->text.length == 0 || !nl_text_parse_value(&converter->options->formats, type, in->text, &value)) {
        return NL_JSON_MISFIT;
    }
    return add_value(converter, &value, builder);
}

/* Strings as they are meant, other values as they are written. */
static nl_json_fit convert_string(nl_json_converter *converter, nl_column_builder *builder)
{
    nl_json_parser *in = &converter->in;
    nl_str text = in->text;
    if (in->event != NL_JSON_STRING && !nl_json_raw_value(in, &text)) return NL_JSON_BROKEN;
    return check(converter, nl_column_builder_str(builder, text), NL_JSON_FITS);
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool decode_base64(nl_str text, nl_builder *out)
{
    size_t length = text.length;
    nl_builder_clear(out);
    if (length % 4) return false;
    while (length > 0 && text.length - length < 2 && text.data[length - 1] == '=')
        length--;
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 1) nl_append_char(out, (char)(bits >> 4));
        if (i % 4 == 2) nl_append_char(out, (char)(bits >> 2));
        if (i % 4 == 3) nl_append_char(out, (char)bits);
    }
    return !nl_builder_failed(out);
}

static nl_json_fit convert_binary(nl_json_converter *converter, nl_column_builder *builder)
{
    if (converter->in.event != NL_JSON_STRING) return misfit(converter);
    if (!decode_base64(converter->in.text, &converter->scratch)) return NL_JSON_MISFIT;
    return check(converter, nl_column_builder_str(builder, nl_builder_str(&converter->scratch)), NL_JSON_FITS);
}

static nl_json_fit convert_boolean(nl_json_converter *converter, nl_column_builder *builder)
{
    nl_json_event event = converter->in.event;
    if (event != NL_JSON_TRUE && event != NL_JSON_FALSE) return misfit(converter);
    return check(converter, nl_column_builder_i64(builder, event == NL_JSON_TRUE), NL_JSON_FITS);
}

/* Plain decimals of up to 38 digits stay exact, others become doubles. */
static void number_to_variant(const nl_json_parser *in, nl_variant_builder *out)
{
    int64_t integer;
    nl_int128 unscaled;
    int scale;
    double real;
    bool has_exponent = in->text.length && (memchr(in->text.data, 'e', in->text.length) || memchr(in->text.data, 'E', in->text.length));
    if (in->is_integer && nl_parse_int64(in->text, &integer)) {
        nl_variant_integer_value(out, integer);
    } else if (!has_exponent && nl_decimal_parse(in->text, &unscaled, &scale, NULL) && scale >= 0 && scale <= 38) {
        nl_variant_decimal_value(out, unscaled, (uint8_t)scale);
    } else {
        if (!parse_special(in->text, &real) && !nl_parse_double(in->text, &real)) real = 0;
        nl_variant_double_value(out, real);
    }
}

nl_status nl_json_to_variant(nl_json_parser *in, struct nl_variant_builder *out, bool *is_json)
{
    uint32_t outside = in->event == NL_JSON_OBJECT_START || in->event == NL_JSON_ARRAY_START ? in->depth - 1 : in->depth;
    *is_json = true;
    for (nl_json_event event = in->event;; event = nl_json_next(in)) {
        switch (event) {
        case NL_JSON_OBJECT_START:
        case NL_JSON_ARRAY_START:
            nl_variant_begin(out, event == NL_JSON_OBJECT_START);
            break;
        case NL_JSON_OBJECT_END:
        case NL_JSON_ARRAY_END:
            NL_TRY(nl_variant_end(out));
            break;
        case NL_JSON_NAME:
            nl_variant_name(out, in->text);
            continue;
        case NL_JSON_STRING:
            nl_variant_string_value(out, in->text);
            break;
        case NL_JSON_NUMBER:
            number_to_variant(in, out);
            break;
        case NL_JSON_TRUE:
        case NL_JSON_FALSE:
            nl_variant_boolean_value(out, event == NL_JSON_TRUE);
            break;
        case NL_JSON_NULL:
            nl_variant_null_value(out);
            break;
        case NL_JSON_END:
        case NL_JSON_ERROR:
            *is_json = false;
            return NULL;
        }
        if (in->depth == outside) return NULL;
    }
}

static nl_status add_variant(nl_json_converter *converter, nl_column_builder *builder, bool *is_json)
{
    nl_str metadata, value;
    nl_variant_builder_reset(&converter->variant);
    NL_TRY(nl_json_to_variant(&converter->in, &converter->variant, is_json));
    if (!*is_json) return NULL;
    NL_TRY(nl_variant_finish(&converter->variant, "from_json", &metadata, &value));
    NL_TRY(nl_column_builder_str(nl_column_builder_child(builder, 0), metadata));
    NL_TRY(nl_column_builder_str(nl_column_builder_child(builder, 1), value));
    return nl_column_builder_end_struct(builder);
}

/* Duplicate names and too large values spoil the record, as in Spark. */
static nl_json_fit convert_variant(nl_json_converter *converter, nl_column_builder *builder)
{
    bool is_json = true;
    nl_status status = add_variant(converter, builder, &is_json);
    if (!status) return is_json ? NL_JSON_FITS : NL_JSON_BROKEN;
    if (nl_error_condition(status) == NL_COND_UNABLE_TO_ACQUIRE_MEMORY) return check(converter, status, NL_JSON_FITS);
    nl_error_free(status);
    nl_column_builder_truncate(builder, nl_column_builder_length(builder));
    return NL_JSON_BROKEN;
}

static nl_json_fit worse(nl_json_fit a, nl_json_fit b)
{
    return a > b ? a : b;
}

/* After OBJECT_START. One row is added unless the text is broken. */
static nl_json_fit convert_object(nl_json_converter *converter, const shape *at, nl_column_builder *builder)
{
    nl_json_parser *in = &converter->in;
    uint32_t row = nl_column_builder_length(builder);
    nl_json_fit whole = NL_JSON_FITS;
    uint32_t guess = 0;
    while (nl_json_next(in) == NL_JSON_NAME) {
        uint32_t field = find_field(at, in->text, guess);
        guess = field + 1;
        if (field == at->type->child_count) {
            if (!nl_json_skip(in)) return NL_JSON_BROKEN;
            continue;
        }
        nl_column_builder *child = nl_column_builder_child(builder, field);
        nl_column_builder_truncate(child, row); /* the last of several wins */
        if (nl_json_next(in) == NL_JSON_ERROR) return NL_JSON_BROKEN;
        nl_json_fit fit = convert(converter, &at->children[field], child);
        if (fit == NL_JSON_MISFIT) fit = check(converter, nl_column_builder_null(child), NL_JSON_PARTIAL);
        if (fit == NL_JSON_BROKEN) return fit;
        whole = worse(whole, fit);
    }
    if (in->event != NL_JSON_OBJECT_END) return NL_JSON_BROKEN;
    for (uint32_t i = 0; i < at->type->child_count; i++) {
        nl_column_builder *child = nl_column_builder_child(builder, i);
        if (nl_column_builder_length(child) > row) continue;
        if (check(converter, nl_column_builder_null(child), whole) == NL_JSON_BROKEN) return NL_JSON_BROKEN;
    }
    return check(converter, nl_column_builder_end_struct(builder), whole);
}

/* The rest of a list that holds something that does not fit: as a whole it is none. */
static nl_json_fit abandon(nl_json_converter *converter, nl_column_builder *builder, uint32_t outside)
{
    nl_json_parser *in = &converter->in;
    while (in->depth > outside) {
        if (nl_json_next(in) == NL_JSON_ERROR) return NL_JSON_BROKEN;
    }
    nl_column_builder_truncate(builder, nl_column_builder_length(builder));
    return NL_JSON_MISFIT;
}

/* After ARRAY_START. */
static nl_json_fit convert_array(nl_json_converter *converter, const shape *at, nl_column_builder *builder)
{
    nl_json_parser *in = &converter->in;
    nl_json_fit whole = NL_JSON_FITS;
    uint32_t outside = in->depth - 1;
    uint32_t count = 0;
    while (nl_json_next(in) != NL_JSON_ARRAY_END) {
        if (in->event == NL_JSON_ERROR) return NL_JSON_BROKEN;
        nl_json_fit fit = convert(converter, &at->children[0], nl_column_builder_child(builder, 0));
        if (fit == NL_JSON_BROKEN) return fit;
        if (fit == NL_JSON_MISFIT) return abandon(converter, builder, outside);
        whole = worse(whole, fit);
        count++;
    }
    return check(converter, nl_column_builder_end_list(builder, count), whole);
}

/* After OBJECT_START. */
static nl_json_fit convert_map(nl_json_converter *converter, const shape *at, nl_column_builder *builder)
{
    nl_json_parser *in = &converter->in;
    nl_json_fit whole = NL_JSON_FITS;
    uint32_t outside = in->depth - 1;
    uint32_t count = 0;
    while (nl_json_next(in) == NL_JSON_NAME) {
        nl_status status = nl_column_builder_str(nl_column_builder_child(builder, 0), in->text);
        if (check(converter, status, whole) == NL_JSON_BROKEN || nl_json_next(in) == NL_JSON_ERROR) return NL_JSON_BROKEN;
        nl_json_fit fit = convert(converter, &at->children[1], nl_column_builder_child(builder, 1));
        if (fit == NL_JSON_BROKEN) return fit;
        if (fit == NL_JSON_MISFIT) return abandon(converter, builder, outside);
        whole = worse(whole, fit);
        count++;
    }
    if (in->event != NL_JSON_OBJECT_END) return NL_JSON_BROKEN;
    return check(converter, nl_column_builder_end_list(builder, count), whole);
}

/* The present value into `builder`: one row, or none for MISFIT and BROKEN. */
static nl_json_fit convert(nl_json_converter *converter, const shape *at, nl_column_builder *builder)
{
    const nl_type *type = at->type;
    nl_json_event event = converter->in.event;
    if (event == NL_JSON_ERROR) return NL_JSON_BROKEN;
    if (event == NL_JSON_NULL && type->id != NL_TYPE_VARIANT)
        return check(converter, nl_column_builder_null(builder), NL_JSON_FITS);
    switch (type->id) {
    case NL_TYPE_NULL:
        if (!nl_json_skip(&converter->in)) return NL_JSON_BROKEN;
        return check(converter, nl_column_builder_null(builder), NL_JSON_FITS);
    case NL_TYPE_BOOLEAN:
        return convert_boolean(converter, builder);
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
        return convert_integer(converter, type, builder);
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
        return convert_real(converter, type, builder);
    case NL_TYPE_DECIMAL:
        return convert_decimal(converter, type, builder);
    case NL_TYPE_STRING:
        return convert_string(converter, builder);
    case NL_TYPE_BINARY:
        return convert_binary(converter, builder);
    case NL_TYPE_DATE:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
        return convert_temporal(converter, type, builder);
    case NL_TYPE_VARIANT:
        return convert_variant(converter, builder);
    case NL_TYPE_ARRAY:
        return event == NL_JSON_ARRAY_START ? convert_array(converter, at, builder) : misfit(converter);
    case NL_TYPE_MAP:
        return event == NL_JSON_OBJECT_START ? convert_map(converter, at, builder) : misfit(converter);
    case NL_TYPE_STRUCT:
        return event == NL_JSON_OBJECT_START ? convert_object(converter, at, builder) : misfit(converter);
    case NL_TYPE_INTERVAL:
    case NL_TYPE_COUNT:
        break;
    }
    return misfit(converter);
}

/* An array of objects: a row for each. */
static nl_json_fit convert_rows(nl_json_converter *converter, nl_column_builder *builder)
{
    nl_json_parser *in = &converter->in;
    nl_json_fit whole = NL_JSON_FITS;
    while (nl_json_next(in) != NL_JSON_ARRAY_END) {
        if (in->event == NL_JSON_ERROR) return NL_JSON_BROKEN;
        nl_json_fit fit = convert(converter, converter->root, builder);
        if (fit >= NL_JSON_MISFIT) return fit;
        whole = worse(whole, fit);
    }
    return whole;
}

static nl_json_fit convert_root(nl_json_converter *converter, nl_column_builder *builder)
{
    nl_json_event event = nl_json_next(&converter->in);
    const shape *root = converter->root;
    if (event == NL_JSON_END) return NL_JSON_MISFIT;
    if (root->type->id == NL_TYPE_STRUCT) {
        if (event == NL_JSON_ARRAY_START) return convert_rows(converter, builder);
        if (event == NL_JSON_NULL) return NL_JSON_MISFIT;
    }
    bool is_single = root->type->id == NL_TYPE_ARRAY && event == NL_JSON_OBJECT_START &&
                     root->children[0].type->id == NL_TYPE_STRUCT;
    if (!is_single) return convert(converter, root, builder);
    nl_json_fit fit = convert(converter, &root->children[0], nl_column_builder_child(builder, 0));
    return fit >= NL_JSON_MISFIT ? fit : check(converter, nl_column_builder_end_list(builder, 1), fit);
}

nl_status nl_json_convert(nl_json_converter *converter, nl_str text, nl_column_builder *builder, uint32_t *row_count,
                          nl_json_fit *fit)
{
    uint32_t before = nl_column_builder_length(builder);
    nl_json_reset(&converter->in, text);
    *fit = convert_root(converter, builder);
    if (*fit >= NL_JSON_MISFIT) nl_column_builder_truncate(builder, before);
    *row_count = nl_column_builder_length(builder) - before;
    nl_status failure = converter->failure;
    converter->failure = NULL;
    return failure;
}

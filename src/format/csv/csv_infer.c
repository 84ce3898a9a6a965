/* format/csv/csv_infer.c - the schema that CSV files seem to have, by Spark's rules.
 *
 * A column's type only ever widens: nothing, INT, BIGINT, DECIMAL, DOUBLE, DATE, TIMESTAMP(_NTZ), BOOLEAN, STRING. Each
 * value is tried as the present type first and then as those behind it; the two types are then joined.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/number.h"
#include "format/csv/csv_reader.h"
#include "format/csv/csv_records.h"
#include "format/text/text_value.h"

typedef struct inference {
    const nl_csv_options *options;
    const nl_datetime_pattern *date; /* dateFormat, or yyyy-MM-dd: here dates are strict */
    const nl_type **types;           /* column_count, in the arena; NULL type until a value comes */
    nl_str *names;
    uint32_t column_count;
    nl_arena *arena;
    nl_str header; /* the first record's line: lines equal to it are headers */
} inference;

static const nl_type *infer_boolean(nl_str text)
{
    bool is_boolean = nl_str_is_nocase(text, "true") || nl_str_is_nocase(text, "false");
    return is_boolean ? nl_type_boolean() : nl_type_string();
}

static const nl_type *infer_timestamp(const inference *in, nl_str text)
{
    nl_value ignored;
    const nl_type *ntz = nl_type_of(NL_TYPE_TIMESTAMP_NTZ);
    const nl_type *timestamp = nl_type_of(NL_TYPE_TIMESTAMP);
    const nl_text_formats *formats = &in->options->formats;
    if (formats->prefers_ntz && nl_text_parse_value(formats, ntz, text, &ignored)) return ntz;
    return nl_text_parse_value(formats, timestamp, text, &ignored) ? timestamp : infer_boolean(text);
}

static const nl_type *infer_date(const inference *in, nl_str text)
{
    int32_t days;
    bool is_date = in->options->prefers_date && nl_datetime_parse_date(in->date, text, &days);
    return is_date ? nl_type_of(NL_TYPE_DATE) : infer_timestamp(in, text);
}

static const nl_type *infer_double(const inference *in, nl_str text)
{
    const nl_csv_options *options = in->options;
    double value;
    bool is_double = nl_text_parse_double(text, &value) || nl_str_equal(text, options->nan_value) ||
                     nl_str_equal(text, options->positive_inf) || nl_str_equal(text, options->negative_inf);
    return is_double ? nl_type_double() : infer_date(in, text);
}

/* Whole numbers of at most 38 digits; a point must be the last character ("5."). */
static const nl_type *infer_decimal(const inference *in, nl_str text)
{
    size_t start = text.length > 0 && (text.data[0] == '+' || text.data[0] == '-');
    size_t end = text.length > 0 && text.data[text.length - 1] == '.' ? text.length - 1 : text.length;
    nl_int128 value;
    int scale;
    for (size_t i = start; i < end; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return infer_double(in, text);
    }
    if (start >= end || !nl_decimal_parse(nl_str_slice(text, 0, end), &value, &scale, NULL)) return infer_double(in, text);
    return nl_type_decimal(nl_decimal_digits(value), 0);
}

static const nl_type *infer_long(const inference *in, nl_str text)
{
    int64_t value;
    return nl_parse_int64(text, &value) ? nl_type_bigint() : infer_decimal(in, text);
}

static const nl_type *infer_int(const inference *in, nl_str text)
{
    int64_t value;
    if (nl_parse_int64(text, &value) && value >= INT32_MIN && value <= INT32_MAX) return nl_type_int();
    return infer_long(in, text);
}

static const nl_type *infer_value(const inference *in, const nl_type *so_far, nl_str text)
{
    switch ((int)so_far->id) {
    case NL_TYPE_NULL:
    case NL_TYPE_INT:
        return infer_int(in, text);
    case NL_TYPE_BIGINT:
        return infer_long(in, text);
    case NL_TYPE_DECIMAL:
        return infer_decimal(in, text);
    case NL_TYPE_DOUBLE:
        return infer_double(in, text);
    case NL_TYPE_DATE:
        return infer_date(in, text);
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
        return infer_timestamp(in, text);
    case NL_TYPE_BOOLEAN:
        return infer_boolean(text);
    default:
        return nl_type_string();
    }
}

/* The lenient timestamp cast reads these date formats too, so such dates may become timestamps. */
static bool dates_are_timestamps(const inference *in)
{
    static const char *const lenient[] = {"", "yyyy-MM-dd", "yyyy-M-d", "yyyy-M-dd", "yyyy-MM-d", "yyyy-MM", "yyyy-M", "yyyy"};
    if (in->options->formats.timestamp) return false;
    for (size_t i = 0; i < NL_COUNT(lenient); i++) {
        if (nl_str_is(in->options->formats.date_format, lenient[i])) return true;
    }
    return false;
}

static int whole_digits(const nl_type *type)
{
    return type->id == NL_TYPE_INT ? 10 : type->id == NL_TYPE_BIGINT ? 20 : type->precision;
}

static const nl_type *join_types(const inference *in, const nl_type *a, const nl_type *b)
{
    if (a->id == NL_TYPE_NULL || nl_type_equal(a, b)) return b;
    if (b->id == NL_TYPE_NULL) return a;
    if (nl_type_is_numeric(a) && nl_type_is_numeric(b)) {
        if (a->id == NL_TYPE_DOUBLE || b->id == NL_TYPE_DOUBLE) return nl_type_double();
        if (a->id == NL_TYPE_DECIMAL || b->id == NL_TYPE_DECIMAL)
            return nl_type_decimal(NL_MAX(whole_digits(a), whole_digits(b)), 0);
        return nl_type_bigint();
    }
    bool has_date = a->id == NL_TYPE_DATE || b->id == NL_TYPE_DATE;
    const nl_type *other = a->id == NL_TYPE_DATE ? b : a;
    bool has_timestamp = other->id == NL_TYPE_TIMESTAMP || other->id == NL_TYPE_TIMESTAMP_NTZ;
    if (has_date && has_timestamp && dates_are_timestamps(in)) return other;
    if ((a->id == NL_TYPE_TIMESTAMP || a->id == NL_TYPE_TIMESTAMP_NTZ) && !has_date && has_timestamp &&
        (b->id == NL_TYPE_TIMESTAMP || b->id == NL_TYPE_TIMESTAMP_NTZ))
        return nl_type_of(NL_TYPE_TIMESTAMP);
    return nl_type_string();
}

static bool is_same_name(const inference *in, nl_str a, nl_str b)
{
    return in->options->formats.is_case_sensitive ? nl_str_equal(a, b) : nl_str_equal_nocase(a, b);
}

/* Names that come twice get their place behind them; missing ones are _c and their place. Headers are short: comparing
 * each with each is what maxColumns bounds. */
static void make_names(inference *in, const nl_csv_parser *parser)
{
    nl_str *raw = NL_NEW_ARRAY(in->arena, nl_str, in->column_count);
    for (uint32_t i = 0; i < in->column_count; i++) {
        nl_str text = nl_csv_token_text(parser, i);
        bool is_missing = text.length == 0 || nl_str_equal(text, in->options->null_value);
        if (in->options->has_header && !is_missing) raw[i] = nl_arena_str(in->arena, text);
    }
    for (uint32_t i = 0; i < in->column_count; i++) {
        bool is_double = false;
        for (uint32_t other = 0; raw[i].length && other < in->column_count; other++)
            is_double |= other != i && is_same_name(in, raw[i], raw[other]);
        in->names[i] = raw[i];
        if (raw[i].length == 0) in->names[i] = nl_arena_f(in->arena, "_c%u", i);
        if (is_double) in->names[i] = nl_arena_f(in->arena, NL_STR_FMT "%u", NL_STR_ARG(raw[i]), i);
    }
}

static nl_status start_columns(inference *in, nl_csv_records *records)
{
    in->header = nl_arena_str(in->arena, records->line);
    NL_TRY(nl_csv_records_split(records, UINT32_MAX));
    in->column_count = records->parser.token_count;
    in->names = NL_NEW_ARRAY(in->arena, nl_str, in->column_count);
    in->types = NL_NEW_ARRAY(in->arena, const nl_type *, in->column_count);
    for (uint32_t i = 0; i < in->column_count; i++)
        in->types[i] = nl_type_of(NL_TYPE_NULL);
    make_names(in, &records->parser);
    return nl_arena_check(in->arena);
}

static void add_record(inference *in, const nl_csv_parser *parser)
{
    uint32_t count = NL_MIN(in->column_count, parser->token_count);
    for (uint32_t i = 0; i < count; i++) {
        nl_str text;
        if (in->types[i]->id == NL_TYPE_STRING || !nl_csv_token_value(parser, i, &text) || text.length == 0) continue;
        in->types[i] = join_types(in, in->types[i], infer_value(in, in->types[i], text));
    }
}

/* A record is in the sample by a hash of its number: the same file gives the same schema each time. */
static bool is_sampled(const inference *in, uint64_t record)
{
    double ratio = in->options->formats.sampling_ratio;
    return ratio >= 1 || (double)(nl_hash_u64(record + 1) >> 11) * 0x1p-53 < ratio;
}

static nl_status add_file(inference *in, nl_file *file, nl_memory *memory)
{
    nl_csv_records records;
    bool is_done = false;
    NL_TRY(nl_csv_records_init(&records, file, in->options, 0, UINT64_MAX, memory));
    nl_status status = NULL;
    for (uint64_t record = 0; !status; record++) {
        status = nl_csv_records_next(&records, &is_done);
        if (status || is_done) break;
        bool is_first = in->names == NULL;
        if (is_first) {
            status = start_columns(in, &records);
            if (!status && !in->options->infers_schema) break;
        }
        if (status || (in->options->has_header && nl_str_equal(records.line, in->header))) continue;
        if (!is_first) {
            if (!is_sampled(in, record) && !in->options->formats.is_multi_line) continue;
            status = nl_csv_records_split(&records, UINT32_MAX);
        }
        if (!status && is_sampled(in, record)) add_record(in, &records.parser);
    }
    nl_csv_records_fini(&records);
    return nl_note_if(status, NL_HERE, "inferring the schema of " NL_STR_FMT, NL_STR_ARG(nl_file_path(file)));
}

nl_status nl_csv_infer_schema(nl_file *const *files, uint32_t file_count, const nl_csv_options *options,
                              nl_arena *arena, nl_memory *memory, const nl_type **struct_type)
{
    inference in = {.options = options, .arena = arena, .date = options->formats.date};
    if (!in.date) NL_TRY(nl_datetime_compile(NL_STR("yyyy-MM-dd"), NL_DATETIME_PARSE_DATE, arena, &in.date));
    for (uint32_t i = 0; i < file_count && (options->infers_schema || !in.names); i++)
        NL_TRY(add_file(&in, files[i], memory));
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, in.column_count);
    for (uint32_t i = 0; i < in.column_count; i++) {
        bool is_known = options->infers_schema && in.types[i]->id != NL_TYPE_NULL;
        fields[i] = (nl_field){
            .name = in.names[i], .type = is_known ? in.types[i] : nl_type_string(), .is_nullable = true};
    }
    *struct_type = nl_type_struct(arena, fields, in.column_count);
    return nl_arena_check(arena);
}

nl_status nl_csv_infer_text(nl_str text, const nl_csv_options *options, nl_arena *arena, const nl_type **struct_type)
{
    inference in = {.options = options, .arena = arena, .date = options->formats.date};
    nl_csv_parser parser;
    if (!in.date) NL_TRY(nl_datetime_compile(NL_STR("yyyy-MM-dd"), NL_DATETIME_PARSE_DATE, arena, &in.date));
    nl_csv_parser_init(&parser, options);
    nl_status status = nl_csv_parse(&parser, text, UINT32_MAX);
    in.column_count = status ? 0 : parser.token_count;
    in.types = NL_NEW_ARRAY(arena, const nl_type *, in.column_count);
    for (uint32_t i = 0; i < in.column_count; i++)
        in.types[i] = nl_type_of(NL_TYPE_NULL);
    if (!status) add_record(&in, &parser);
    nl_csv_parser_fini(&parser);
    NL_TRY(status);
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, in.column_count);
    for (uint32_t i = 0; i < in.column_count; i++) {
        bool is_known = in.types[i]->id != NL_TYPE_NULL;
        fields[i] = (nl_field){.name = nl_arena_f(arena, "_c%u", i), .type = is_known ? in.types[i] : nl_type_string(), .is_nullable = true};
    }
    *struct_type = nl_type_struct(arena, fields, in.column_count);
    return nl_arena_check(arena);
}

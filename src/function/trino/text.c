/* trino/text.c - text functions as Trino has them. Source: Trino's documentation, "String functions" and "Regular expression
 * functions"; its answers in tests/trino/strings.test.
 */
#include "function/groups.h"
#include "function/list.h"
#include "function/regex.h"
#include "function/text.h"

#include <ctype.h>

#include "base/number.h"

#define INVALID(...) NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, __VA_ARGS__)

static nl_str text_of(const nl_row_context *context, uint32_t i, uint32_t row)
{
    return nl_reader_str(&context->readers[i], row);
}

static int64_t number_of(const nl_row_context *context, uint32_t i, uint32_t row)
{
    return nl_reader_i64(&context->readers[i], row);
}

/* --- characters --- */

/* The byte where character `index` (from 0) begins; the length when there are fewer. */
static size_t byte_of(nl_str text, int64_t index)
{
    size_t at = 0;
    while (index-- > 0 && at < text.length) at = nl_utf8_next(text, at);
    return at;
}

static int64_t count_characters(nl_str text)
{
    int64_t count = 0;
    for (size_t at = 0; at < text.length; at = nl_utf8_next(text, at)) count++;
    return count;
}

/* From 1, or backwards from the end; outside of the text there is nothing. */
static nl_str substr_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = text_of(context, 0, row);
    int64_t start = number_of(context, 1, row), count = INT64_MAX;
    if (context->function->argument_count > 2) count = number_of(context, 2, row);
    const int64_t characters = start < 0 ? count_characters(text) : 0;
    if (start == 0 || count <= 0 || (start < 0 && start < -characters)) return (nl_str){text.data, 0};
    const size_t from = byte_of(text, start > 0 ? start - 1 : characters + start);
    const nl_str rest = nl_str_slice(text, from, text.length);
    return nl_str_slice(rest, 0, byte_of(rest, count));
}
NL_SLICE_KERNEL(substr_kernel, substr_row)

static bool is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x1680 || (c >= 0x2000 && c <= 0x200a && c != 0x2007) || c == 0x2028 || c == 0x2029 || c == 0x205f || c == 0x3000;
}

static bool is_trimmed(nl_str text, size_t from, size_t to, nl_str characters, bool has_characters)
{
    const nl_str one = nl_str_slice(text, from, to);
    if (has_characters) {
        for (size_t at = 0, next; at < characters.length; at = next) {
            next = nl_utf8_next(characters, at);
            if (nl_str_equal(nl_str_slice(characters, at, next), one)) return true;
        }
        return false;
    }
    size_t at = 0;
    return is_space(nl_utf8_decode(one, &at));
}

static nl_str trim_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = text_of(context, 0, row);
    const char *name = context->function->row->name;
    const bool has_characters = context->function->argument_count > 1, is_left = strcmp(name, "trino_rtrim") != 0, is_right = strcmp(name, "trino_ltrim") != 0;
    const nl_str characters = has_characters ? text_of(context, 1, row) : (nl_str){0};
    while (is_left && text.length) {
        const size_t next = nl_utf8_next(text, 0);
        if (!is_trimmed(text, 0, next, characters, has_characters)) break;
        text = nl_str_slice(text, next, text.length);
    }
    while (is_right && text.length) {
        size_t last = text.length - 1;
        while (last > 0 && ((uint8_t)text.data[last] & 0xc0) == 0x80) last--;
        if (!is_trimmed(text, last, text.length, characters, has_characters)) break;
        text = nl_str_slice(text, 0, last);
    }
    return text;
}
NL_SLICE_KERNEL(trim_kernel, trim_row)

static nl_status chr_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const int64_t code = number_of(context, 0, row);
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return INVALID("Not a valid Unicode code point: %lld", (long long)code);
    char bytes[4];
    nl_append(&context->text, (nl_str){bytes, nl_utf8_encode((uint32_t)code, bytes)});
    return NULL;
}
NL_TEXT_KERNEL(chr_kernel, chr_row)

static nl_status codepoint_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = text_of(context, 0, row);
    size_t at = 0;
    if (!text.length || nl_utf8_next(text, 0) != text.length) return INVALID("Input string must be a single character string");
    ((int32_t *)context->output.values)[row] = (int32_t)nl_utf8_decode(text, &at);
    return NULL;
}
NL_VALUE_KERNEL(codepoint_kernel, codepoint_row)

/* --- finding and cutting --- */

/* The instance'th place of what is looked for, from the front or (negative) from the end, in characters from 1. */
static nl_status strpos_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = text_of(context, 0, row), part = text_of(context, 1, row);
    int64_t instance = context->function->argument_count > 2 ? number_of(context, 2, row) : 1, found = 0;
    if (instance == 0) return INVALID("'instance' must be a positive or negative number.");
    if (part.length == 0) found = 1;
    int64_t total = 0;
    for (int pass = 0; part.length && pass < 2; pass++) { /* from the end: the total is counted first */
        int64_t seen = 0;
        const int64_t wanted = instance > 0 ? instance : total + instance + 1;
        if (pass == 1 && (instance > 0 || wanted <= 0)) break;
        for (size_t at = 0; (at = nl_str_find(text, part, at)) != NL_NOT_FOUND; at++) {
            seen++;
            if (seen == wanted && (instance > 0 || pass == 1)) {
                found = count_characters(nl_str_slice(text, 0, at)) + 1;
                break;
            }
        }
        total = seen;
    }
    ((int64_t *)context->output.values)[row] = found;
    return NULL;
}
NL_VALUE_KERNEL(strpos_kernel, strpos_row)

static nl_status append_part(nl_list_call *call, nl_str part, uint32_t *count)
{
    NL_TRY(nl_column_builder_str(nl_column_builder_child(call->builder, 0), part));
    (*count)++;
    return (*count % NL_LIST_CHECK_ELEMENTS) ? NULL : nl_eval_check(call->eval);
}

static nl_str list_text(const nl_list_call *call, uint32_t i)
{
    nl_reader reader;
    nl_reader_init(&reader, &call->args[i]);
    return nl_reader_str(&reader, call->row);
}

static nl_status split_row(nl_list_call *call)
{
    const nl_str text = list_text(call, 0), delimiter = list_text(call, 1);
    const int64_t limit = call->function->argument_count > 2 ? nl_list_integer(call, 2) : INT64_MAX;
    if (!delimiter.length) return INVALID("The delimiter may not be the empty string");
    if (limit <= 0) return INVALID("The limit must be positive");
    uint32_t count = 0;
    size_t start = 0;
    while (count + 1 < limit) {
        const size_t at = nl_str_find(text, delimiter, start);
        if (at == NL_NOT_FOUND) break;
        NL_TRY(append_part(call, nl_str_slice(text, start, at), &count));
        start = at + delimiter.length;
    }
    NL_TRY(append_part(call, nl_str_slice(text, start, text.length), &count));
    return nl_column_builder_end_list(call->builder, count);
}
NL_LIST_KERNEL(split_kernel, split_row)

static nl_status split_part_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    const nl_str text = text_of(context, 0, row), delimiter = text_of(context, 1, row);
    int64_t index = number_of(context, 2, row);
    if (index <= 0) return INVALID("Index must be greater than zero");
    if (!delimiter.length) { /* each character is a part */
        const size_t from = byte_of(text, index - 1);
        *is_null = from >= text.length;
        if (!*is_null) nl_append(&context->text, nl_str_slice(text, from, nl_utf8_next(text, from)));
        return NULL;
    }
    size_t start = 0;
    for (;; index--) {
        const size_t at = nl_str_find(text, delimiter, start);
        if (index == 1) {
            nl_append(&context->text, nl_str_slice(text, start, at == NL_NOT_FOUND ? text.length : at));
            return NULL;
        }
        *is_null = at == NL_NOT_FOUND;
        if (*is_null) return NULL;
        start = at + delimiter.length;
    }
}
NL_TEXT_KERNEL(split_part_kernel, split_part_row)

/* What is replaced may be empty: then the replacement stands around every character. */
static nl_status replace_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = text_of(context, 0, row), part = text_of(context, 1, row);
    const nl_str by = context->function->argument_count > 2 ? text_of(context, 2, row) : (nl_str){0};
    nl_builder *out = &context->text;
    if (!part.length) {
        nl_append(out, by);
        for (size_t at = 0, next; at < text.length && !nl_builder_failed(out); at = next) {
            next = nl_utf8_next(text, at);
            nl_append(out, nl_str_slice(text, at, next));
            nl_append(out, by);
        }
        return NULL;
    }
    size_t start = 0;
    for (size_t at; (at = nl_str_find(text, part, start)) != NL_NOT_FOUND && !nl_builder_failed(out); start = at + part.length) {
        nl_append(out, nl_str_slice(text, start, at));
        nl_append(out, by);
    }
    nl_append(out, nl_str_slice(text, start, text.length));
    return NULL;
}
NL_TEXT_KERNEL(replace_kernel, replace_row)

/* --- regular expressions: NULL instead of an empty text, -1 instead of 0 --- */

static void free_regex(void *regex)
{
    nl_regex_free(regex);
}

static nl_status bind_regex(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *pattern = bind->constants[1];
    if (!pattern) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s with a pattern that is no literal is not supported", bind->row->name + strlen("trino_"));
    if (pattern->is_null) return NULL;
    nl_regex *regex = nl_regex_compile(pattern->text);
    if (!regex) return INVALID("The pattern '" NL_STR_FMT "' is not valid", NL_STR_ARG(pattern->text));
    nl_arena_on_free(bind->arena, free_regex, regex);
    bound->state = regex;
    return NULL;
}

static nl_status regexp_row(nl_row_context *context, nl_regex_match *match, uint32_t row, bool *is_null)
{
    const nl_regex *regex = context->function->state;
    const nl_str text = text_of(context, 0, row);
    const bool is_position = strcmp(context->function->row->name, "trino_regexp_position") == 0;
    const int64_t group = !is_position && context->function->argument_count > 2 ? number_of(context, 2, row) : 0;
    if (group < 0 || group > nl_regex_groups(regex))
        return INVALID("Pattern has %u groups. Cannot access group %lld", nl_regex_groups(regex), (long long)group);
    nl_status status = NULL;
    const bool is_found = nl_regex_find(regex, match, text, 0, &status);
    if (status) return status;
    if (is_position) {
        ((int32_t *)context->output.values)[row] = is_found ? (int32_t)count_characters(nl_str_slice(text, 0, nl_regex_start(match))) + 1 : -1;
        return NULL;
    }
    bool is_set = false;
    const nl_str part = is_found ? nl_regex_group(match, text, (uint32_t)group, &is_set) : (nl_str){0};
    *is_null = !is_set;
    if (is_set) nl_append(&context->text, part);
    return NULL;
}

static nl_status regexp_kernel(NL_KERNEL_PARAMETERS)
{
    nl_row_context context = {.function = function, .eval = eval};
    nl_status status = NULL;
    const bool is_text = function->result_type->id == NL_TYPE_STRING;
    nl_regex_match *match = NULL;
    NL_TRY(nl_output_init(&context.output, function->result_type, length, eval->memory, out));
    nl_builder_init(&context.text, nl_eval_text_max(eval));
    for (uint32_t i = 0; i < function->argument_count; i++) nl_reader_init(&context.readers[i], &args[i]);
    if (selection.count && function->state) match = nl_regex_match_new(function->state);
    if (selection.count && !match) status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    for (uint32_t i = 0; !status && i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        bool is_null = false;
        nl_builder_clear(&context.text);
        status = regexp_row(&context, match, row, &is_null);
        if (!status && is_null) status = nl_output_null(&context.output, row);
        else if (!status && is_text) status = nl_output_builder(&context.output, row, &context.text);
    }
    nl_regex_match_free(match);
    nl_builder_fini(&context.text);
    return status;
}

/* --- numbers as texts: 1.5E0, 1.0E10, 0E0 --- */

static nl_status real_text_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_type *type = context->function->argument_types[0];
    char digits[NL_NUMBER_TEXT_MAX];
    const double value = nl_physical_f64(type->physical, context->readers[0].values, nl_reader_index(&context->readers[0], row));
    nl_str text = {digits, type->physical == NL_PHYS_F32 ? nl_format_float((float)value, digits) : nl_format_double(value, digits)};
    if (value == 0) text = NL_STR("0E0");
    const bool is_plain = value != 0 && value == value && value - value == 0 && nl_str_find_char(text, 'E', 0) == NL_NOT_FOUND;
    if (!is_plain) {
        nl_append(&context->text, text);
        return NULL;
    }
    if (text.data[0] == '-') {
        nl_append_char(&context->text, '-');
        text = nl_str_slice(text, 1, text.length);
    }
    const size_t point = nl_str_find_char(text, '.', 0);
    char significant[NL_NUMBER_TEXT_MAX];
    size_t count = 0, zeros = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '.') continue;
        if (count == 0 && text.data[i] == '0') {
            zeros++;
            continue;
        }
        significant[count++] = text.data[i];
    }
    const int exponent = (int)point - 1 - (int)zeros;
    while (count > 1 && significant[count - 1] == '0') count--;
    nl_append_f(&context->text, "%c.", significant[0]);
    nl_append(&context->text, count > 1 ? (nl_str){significant + 1, count - 1} : NL_STR("0"));
    nl_append_f(&context->text, "E%d", exponent);
    return NULL;
}
NL_TEXT_KERNEL(real_text_kernel, real_text_row)

/* A text that a VARCHAR(n) may not cut: of a number. */
static nl_status fit_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = text_of(context, 0, row);
    if (count_characters(text) > number_of(context, 1, row)) return INVALID("Value " NL_STR_FMT " cannot be represented as varchar(%lld)", NL_STR_ARG(text), (long long)number_of(context, 1, row));
    nl_append(&context->text, text);
    return NULL;
}
NL_TEXT_KERNEL(fit_kernel, fit_row)

static nl_status boolean_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    static const char *const words[] = {"t", "true", "1", "f", "false", "0"};
    const nl_str text = text_of(context, 0, row);
    for (uint32_t i = 0; i < NL_COUNT(words); i++) {
        if (!nl_str_is_nocase(text, words[i])) continue;
        ((uint8_t *)context->output.values)[row] = i < 3;
        return NULL;
    }
    return INVALID("Cannot cast '" NL_STR_FMT "' to BOOLEAN", NL_STR_ARG(text));
}
NL_VALUE_KERNEL(boolean_kernel, boolean_row)

/* Character by character: what has no single capital stays (the one of \u00df is two). */
static nl_status upper_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_str text = text_of(context, 0, row);
    nl_builder one;
    nl_builder_init(&one, 64);
    for (size_t at = 0, next; at < text.length && !nl_builder_failed(&context->text); at = next) {
        next = nl_utf8_next(text, at);
        const nl_str given = nl_str_slice(text, at, next);
        nl_builder_clear(&one);
        nl_text_append_upper(given, &one);
        nl_append(&context->text, count_characters(nl_builder_str(&one)) == 1 ? nl_builder_str(&one) : given);
    }
    nl_builder_fini(&one);
    return NULL;
}
NL_TEXT_KERNEL(upper_kernel, upper_row)

#define TEXT .kind = NL_FUNCTION_SCALAR, .group = "string", .since = "0.1.0", .nulls = NL_NULL_IN_NULL_OUT, .is_internal = true
#define TOTAL .keeps_non_null = true

static const nl_function_row rows[] = {
    {.name = "trino_substr", TEXT, TOTAL, .signature = "(string, bigint [, bigint]) -> string", .kernel = substr_kernel, .doc = "A part of the text, from 1 or backwards from its end."},
    {.name = "trino_upper", TEXT, TOTAL, .signature = "(string) -> string", .kernel = upper_kernel, .doc = "In capitals, character by character."},
    {.name = "trino_trim", TEXT, TOTAL, .signature = "(string [, string]) -> string", .kernel = trim_kernel, .doc = "Without white space, or given characters, at both ends."},
    {.name = "trino_ltrim", TEXT, TOTAL, .signature = "(string [, string]) -> string", .kernel = trim_kernel, .doc = "The same at the start."},
    {.name = "trino_rtrim", TEXT, TOTAL, .signature = "(string [, string]) -> string", .kernel = trim_kernel, .doc = "The same at the end."},
    {.name = "trino_chr", TEXT, TOTAL, .can_fail = true, .signature = "(bigint) -> string", .kernel = chr_kernel, .doc = "The character of a code point."},
    {.name = "trino_codepoint", TEXT, TOTAL, .can_fail = true, .signature = "(string) -> int", .kernel = codepoint_kernel, .doc = "The code point of the only character."},
    {.name = "trino_strpos", TEXT, TOTAL, .can_fail = true, .signature = "(string, string [, bigint]) -> bigint", .kernel = strpos_kernel, .doc = "Where a text stands in another, from 1; 0: nowhere."},
    {.name = "trino_split", TEXT, TOTAL, .can_fail = true, .signature = "(string, string [, bigint]) -> array<string>", .kernel = split_kernel, .doc = "The parts between delimiters."},
    {.name = "trino_split_part", TEXT, .can_fail = true, .signature = "(string, string, bigint) -> string", .kernel = split_part_kernel, .doc = "One part, or NULL."},
    {.name = "trino_replace", TEXT, TOTAL, .signature = "(string, string [, string]) -> string", .kernel = replace_kernel, .doc = "A text replaced, or removed."},
    {.name = "trino_regexp_extract", TEXT, .can_fail = true, .signature = "(string, string [, bigint]) -> string", .bind = bind_regex, .kernel = regexp_kernel, .doc = "What the pattern, or a group of it, matches first; or NULL."},
    {.name = "trino_regexp_position", TEXT, TOTAL, .can_fail = true, .signature = "(string, string) -> int", .bind = bind_regex, .kernel = regexp_kernel, .doc = "Where the pattern matches first, from 1; -1: nowhere."},
    {.name = "trino_real_text", TEXT, TOTAL, .signature = "(float) -> string | (double) -> string", .kernel = real_text_kernel, .doc = "A number with its exponent."},
    {.name = "trino_fit", TEXT, TOTAL, .can_fail = true, .signature = "(string, bigint) -> string", .kernel = fit_kernel, .doc = "The text, which may not be longer."},
    {.name = "trino_boolean", TEXT, TOTAL, .can_fail = true, .signature = "(string) -> boolean", .kernel = boolean_kernel, .doc = "true, t, 1 and their opposites."},
};

NL_DEFINE_FUNCTION_GROUP(trino_text, rows);

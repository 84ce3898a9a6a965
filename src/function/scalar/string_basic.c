/* scalar/string_basic.c - case, length, parts, trimming, padding and searching of strings and binaries. */
#include "function/groups.h"
#include "function/text.h"

/* --- case --- */

static nl_status upper_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_text_append_upper(nl_reader_str(&context->readers[0], row), &context->text);
    return NULL;
}
NL_TEXT_KERNEL(upper_kernel, upper_row)

static nl_status lower_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_text_append_lower(nl_reader_str(&context->readers[0], row), &context->text);
    return NULL;
}
NL_TEXT_KERNEL(lower_kernel, lower_row)

static nl_status initcap_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_text_append_title(nl_reader_str(&context->readers[0], row), &context->text);
    return NULL;
}
NL_TEXT_KERNEL(initcap_kernel, initcap_row)

/* --- lengths --- */

#define BYTE_COUNT(text) ((text).length)
#define BIT_COUNT(text)  ((text).length * 8)
NL_STRING_TO_VALUE_KERNEL(length_kernel, int32_t, nl_utf8_length)
NL_STRING_TO_VALUE_KERNEL(octet_length_kernel, int32_t, BYTE_COUNT)
NL_STRING_TO_VALUE_KERNEL(bit_length_kernel, int32_t, BIT_COUNT)

static nl_status bind_length(nl_bind *bind, nl_bound_function *bound)
{
    if (bind->argument_types[0]->id == NL_TYPE_BINARY) bound->kernel = octet_length_kernel;
    return NULL;
}

/* --- parts --- */

static int64_t integer_argument(const nl_row_context *context, uint32_t i, uint32_t row, int64_t absent)
{
    return i < context->function->argument_count ? nl_reader_i32(&context->readers[i], row) : absent;
}

static bool is_binary_call(const nl_bound_function *function)
{
    return function->argument_types[0]->id == NL_TYPE_BINARY;
}

static nl_str substring_of(const nl_row_context *context, nl_str text, int64_t position, int64_t length)
{
    return is_binary_call(context->function) ? nl_bytes_substring(text, position, length)
                                             : nl_text_substring(text, position, length);
}

static nl_str substring_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    int64_t position = integer_argument(context, 1, row, 1);
    return substring_of(context, nl_reader_str(&context->readers[0], row), position, integer_argument(context, 2, row, INT32_MAX));
}
NL_SLICE_KERNEL(substring_kernel, substring_row)

static nl_str left_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    return substring_of(context, nl_reader_str(&context->readers[0], row), 1, nl_reader_i32(&context->readers[1], row));
}
NL_SLICE_KERNEL(left_kernel, left_row)

static nl_str right_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    int64_t count = nl_reader_i32(&context->readers[1], row);
    return count <= 0 ? nl_str_slice(text, 0, 0) : substring_of(context, text, -count, INT32_MAX);
}
NL_SLICE_KERNEL(right_kernel, right_row)

static nl_status overlay_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    nl_str with = nl_reader_str(&context->readers[1], row);
    int64_t position = nl_reader_i32(&context->readers[2], row);
    int64_t length = integer_argument(context, 3, row, -1);
    bool is_binary = is_binary_call(context->function);
    if (length < 0) length = (int64_t)(is_binary ? with.length : nl_utf8_length(with));
    nl_append(&context->text, substring_of(context, text, 1, position - 1));
    nl_append(&context->text, with);
    nl_append(&context->text, substring_of(context, text, position + length, INT32_MAX));
    return NULL;
}
NL_TEXT_KERNEL(overlay_kernel, overlay_row)

/* --- trimming: (text), or with the characters to take off --- */

static nl_str trim_with(const nl_row_context *context, uint32_t row, nl_trim_sides sides, uint32_t text, uint32_t set)
{
    bool has_set = context->function->argument_count > 1;
    nl_str characters = has_set ? nl_reader_str(&context->readers[set], row) : NL_STR(" ");
    return nl_text_trim(nl_reader_str(&context->readers[has_set ? text : 0], row), characters, sides);
}

static nl_str btrim_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    return trim_with(context, row, NL_TRIM_BOTH, 0, 1);
}
NL_SLICE_KERNEL(btrim_kernel, btrim_row)

/* trim(characters, text): the text is the second argument, so the slice is of that one and is copied. */
static nl_status trim_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const char *name = context->function->row->name;
    nl_trim_sides sides = name[0] == 'l' ? NL_TRIM_LEFT : name[0] == 'r' ? NL_TRIM_RIGHT : NL_TRIM_BOTH;
    nl_append(&context->text, trim_with(context, row, sides, 1, 0));
    return NULL;
}
NL_TEXT_KERNEL(trim_kernel, trim_row)

/* --- padding --- */

static nl_status pad_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    int64_t length = nl_reader_i32(&context->readers[1], row);
    bool is_binary = is_binary_call(context->function);
    nl_str pad = is_binary ? (nl_str){"\0", 1} : NL_STR(" ");
    if (context->function->argument_count > 2) pad = nl_reader_str(&context->readers[2], row);
    int64_t present = (int64_t)(is_binary ? text.length : nl_utf8_length(text));
    if (length <= present || pad.length == 0) {
        nl_append(&context->text, substring_of(context, text, 1, length < 0 ? 0 : length));
        return NULL;
    }
    bool is_left = context->function->row->name[0] == 'l';
    int64_t missing = length - present;
    NL_TRY(nl_text_room(context, 1, (size_t)missing)); /* at least; then with the pad's bytes */
    if (!is_left) nl_append(&context->text, text);
    int64_t pad_count = (int64_t)(is_binary ? pad.length : nl_utf8_length(pad));
    NL_TRY(nl_text_room(context, pad.length, (size_t)(missing / pad_count)));
    nl_append_repeated(&context->text, pad, (size_t)(missing / pad_count));
    missing %= pad_count;
    if (missing > 0) nl_append(&context->text, substring_of(context, pad, 1, missing));
    if (is_left) nl_append(&context->text, text);
    return NULL;
}
NL_TEXT_KERNEL(pad_kernel, pad_row)

/* --- searching --- */

/* Character position from 1 of the needle at or after byte `from`; 0: none. */
static int32_t position_in(nl_str text, nl_str needle, size_t from)
{
    size_t at = nl_str_find(text, needle, from);
    return at == NL_NOT_FOUND ? 0 : (int32_t)nl_utf8_length(nl_str_slice(text, 0, at)) + 1;
}

static inline int32_t instr_of(nl_str text, nl_str needle)
{
    return position_in(text, needle, 0);
}
NL_STRINGS_TO_VALUE_KERNEL(instr_kernel, int32_t, instr_of)

static nl_status locate_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    const bool has_start = context->function->argument_count > 2;
    if (has_start && nl_reader_is_null(&context->readers[2], row)) {
        ((int32_t *)context->output.values)[row] = 0;
        return NULL;
    }
    if (nl_reader_is_null(&context->readers[0], row) || nl_reader_is_null(&context->readers[1], row)) {
        *is_null = true;
        return NULL;
    }
    nl_str needle = nl_reader_str(&context->readers[0], row);
    nl_str text = nl_reader_str(&context->readers[1], row);
    int64_t start = integer_argument(context, 2, row, 1);
    int32_t result = 0;
    if (start >= 1) result = needle.length == 0 ? 1 : position_in(text, needle, nl_text_offset(text, start - 1));
    ((int32_t *)context->output.values)[row] = result;
    return NULL;
}
NL_VALUE_KERNEL(locate_kernel, locate_row)

static nl_status bind_locate(nl_bind *bind, nl_bound_function *bound)
{
    const bool *nullable = bind->argument_nullable;
    bound->is_nullable = !nullable || nullable[0] || nullable[1]; /* nothing is at a start that is null: 0 */
    return NULL;
}

#define CONTAINS(a, b) (nl_str_find((a), (b), 0) != NL_NOT_FOUND)
NL_STRINGS_TO_VALUE_KERNEL(contains_kernel, uint8_t, CONTAINS)
NL_STRINGS_TO_VALUE_KERNEL(startswith_kernel, uint8_t, nl_str_starts)
NL_STRINGS_TO_VALUE_KERNEL(endswith_kernel, uint8_t, nl_str_ends)

static int32_t find_in_set(nl_str word, nl_str set)
{
    if (nl_str_find_char(word, ',', 0) != NL_NOT_FOUND) return 0;
    size_t start = 0;
    for (int32_t place = 1;; place++) {
        size_t stop = nl_str_find_char(set, ',', start);
        if (nl_str_equal(nl_str_slice(set, start, stop), word)) return place;
        if (stop == NL_NOT_FOUND) return 0;
        start = stop + 1;
    }
}
NL_STRINGS_TO_VALUE_KERNEL(find_in_set_kernel, int32_t, find_in_set)

/* --- splitting at a delimiter --- */

static nl_str substring_index_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    nl_str delimiter = nl_reader_str(&context->readers[1], row);
    int64_t count = nl_reader_i32(&context->readers[2], row);
    if (count == 0 || delimiter.length == 0) return nl_str_slice(text, 0, 0);
    if (count > 0) {
        size_t at = 0;
        for (size_t from = 0; count > 0; count--, from = at + 1) {
            at = nl_str_find(text, delimiter, from);
            if (at == NL_NOT_FOUND) return text;
        }
        return nl_str_slice(text, 0, at);
    }
    for (size_t at = text.length; at > 0;) { /* from the right: each occurrence is looked for below the last */
        at--;
        if (!nl_str_starts(nl_str_slice(text, at, text.length), delimiter)) continue;
        if (++count == 0) return nl_str_slice(text, at + delimiter.length, text.length);
    }
    return text;
}
NL_SLICE_KERNEL(substring_index_kernel, substring_index_row)

static nl_status split_part_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    nl_str delimiter = nl_reader_str(&context->readers[1], row);
    int64_t wanted = nl_reader_i32(&context->readers[2], row);
    if (wanted == 0) return NL_RAISE(INVALID_INDEX_OF_ZERO);
    int64_t parts = 1;
    for (size_t at = 0; delimiter.length > 0 && (at = nl_str_find(text, delimiter, at)) != NL_NOT_FOUND; at += delimiter.length) parts++;
    if (wanted < 0) wanted = parts + wanted + 1;
    if (wanted < 1 || wanted > parts) return NULL;
    size_t start = 0;
    for (int64_t part = 1;; part++) {
        size_t stop = delimiter.length > 0 ? nl_str_find(text, delimiter, start) : NL_NOT_FOUND;
        if (part == wanted) {
            nl_append(&context->text, nl_str_slice(text, start, stop));
            return NULL;
        }
        start = stop + delimiter.length;
    }
}
NL_TEXT_KERNEL(split_part_kernel, split_part_row)

#define NULLABLE_ROW .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT
#define STRING_ROW NULLABLE_ROW, .keeps_non_null = true
#define TEXT_OR_BYTES(rest, result) "(string" rest ") -> " result " | (binary" rest ") -> " result
#define EITHER(rest)  "(string" rest ") -> string | (binary" rest ") -> binary"

static const nl_function_row rows[] = {
    {.name = "upper", .aliases = "ucase", STRING_ROW, .signature = "(string) -> string", .kernel = upper_kernel, .since = "1.0.1",
     .doc = "The text with all letters in upper case.", .examples = {{"upper('SparkSql')", "SPARKSQL"}}},
    {.name = "lower", .aliases = "lcase", STRING_ROW, .signature = "(string) -> string", .kernel = lower_kernel, .since = "1.0.1",
     .doc = "The text with all letters in lower case.", .examples = {{"lower('SparkSql')", "sparksql"}}},
    {.name = "initcap", STRING_ROW, .signature = "(string) -> string", .kernel = initcap_kernel, .since = "1.5.0",
     .doc = "The first letter of each word in upper case, the others in lower case.", .examples = {{"initcap('sPark sql')", "Spark Sql"}}},
    {.name = "length", .aliases = "len,char_length,character_length", STRING_ROW, .signature = TEXT_OR_BYTES("", "int"), .bind = bind_length,
     .kernel = length_kernel, .since = "1.5.0", .doc = "The number of characters of a string, or of bytes of a binary.", .examples = {{"length('Spark SQL ')", "10"}}},
    {.name = "octet_length", STRING_ROW, .signature = TEXT_OR_BYTES("", "int"), .kernel = octet_length_kernel, .since = "2.3.0",
     .doc = "The number of bytes.", .examples = {{"octet_length('Spark SQL')", "9"}}},
    {.name = "bit_length", STRING_ROW, .signature = TEXT_OR_BYTES("", "int"), .kernel = bit_length_kernel, .since = "2.3.0",
     .doc = "The number of bits.", .examples = {{"bit_length('Spark SQL')", "72"}}},
    {.name = "substring", .aliases = "substr", STRING_ROW, .signature = EITHER(", int [, int]"), .kernel = substring_kernel, .since = "1.5.0",
     .doc = "The part that starts at a position (from 1, negative from the end), at most so many characters long.",
     .examples = {{"substring('Spark SQL', 5)", "k SQL"}, {"substring('Spark SQL', -3)", "SQL"}, {"substring('Spark SQL', 5, 1)", "k"}}},
    {.name = "left", STRING_ROW, .signature = EITHER(", int"), .kernel = left_kernel, .since = "2.3.0",
     .doc = "The first characters.", .examples = {{"left('Spark SQL', 3)", "Spa"}}},
    {.name = "right", NULLABLE_ROW, .signature = EITHER(", int"), .kernel = right_kernel, .since = "2.3.0",
     .doc = "The last characters.", .examples = {{"right('Spark SQL', 3)", "SQL"}}},
    {.name = "overlay", STRING_ROW, .signature = "(string, string, int [, int]) -> string | (binary, binary, int [, int]) -> binary",
     .kernel = overlay_kernel, .since = "3.0.0", .doc = "The text with a part replaced, from a position on.",
     .examples = {{"overlay('Spark SQL' PLACING '_' FROM 6)", "Spark_SQL"}}},
    {.name = "trim", STRING_ROW, .signature = "(string [, string]) -> string", .kernel = trim_kernel, .since = "1.5.0",
     .doc = "The text without spaces (or the first argument's characters) at both ends.", .examples = {{"trim('    SparkSQL   ')", "SparkSQL"}}},
    {.name = "ltrim", STRING_ROW, .signature = "(string [, string]) -> string", .kernel = trim_kernel, .since = "1.5.0",
     .doc = "The text without spaces (or the first argument's characters) at its start.", .examples = {{"ltrim('    SparkSQL')", "SparkSQL"}}},
    {.name = "rtrim", STRING_ROW, .signature = "(string [, string]) -> string", .kernel = trim_kernel, .since = "1.5.0",
     .doc = "The text without spaces (or the first argument's characters) at its end.", .examples = {{"rtrim('SparkSQL   ')", "SparkSQL"}}},
    {.name = "btrim", STRING_ROW, .signature = "(string [, string]) -> string", .kernel = btrim_kernel,
     .since = "3.2.0", .doc = "The text without spaces (or the second argument's characters) at both ends.",
     .examples = {{"btrim('    SparkSQL   ')", "SparkSQL"}, {"btrim('SSparkSQLS', 'SL')", "parkSQ"}}},
    {.name = "lpad", STRING_ROW, .signature = "(string, int [, string]) -> string | (binary, int [, binary]) -> binary", .kernel = pad_kernel,
     .since = "1.5.0", .doc = "The text padded on the left to a length, or cut to it.", .examples = {{"lpad('hi', 5, '-')", "---hi"}, {"lpad('hi', 1, '-')", "h"}}},
    {.name = "rpad", STRING_ROW, .signature = "(string, int [, string]) -> string | (binary, int [, binary]) -> binary", .kernel = pad_kernel,
     .since = "1.5.0", .doc = "The text padded on the right to a length, or cut to it.", .examples = {{"rpad('hi', 5, '-')", "hi---"}}},
    {.name = "instr", STRING_ROW, .signature = "(string, string) -> int", .kernel = instr_kernel, .since = "1.5.0",
     .doc = "The position (from 1) of the second text in the first; 0 when it is not in it.", .examples = {{"instr('SparkSQL', 'SQL')", "6"}}},
    {.name = "locate", .aliases = "position", .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_SEEN, .signature = "(string, string [, int]) -> int", .bind = bind_locate, .kernel = locate_kernel, .since = "1.5.0",
     .doc = "The position of the first text in the second, at or after a position.", .examples = {{"locate('bar', 'foobarbar')", "4"}, {"locate('bar', 'foobarbar', 5)", "7"}}},
    {.name = "contains", STRING_ROW, .signature = "(string, string) -> boolean | (binary, binary) -> boolean", .kernel = contains_kernel, .since = "3.3.0",
     .doc = "Whether the second text is part of the first.", .examples = {{"contains('Spark SQL', 'Spark')", "true"}}},
    {.name = "startswith", STRING_ROW, .signature = "(string, string) -> boolean | (binary, binary) -> boolean", .kernel = startswith_kernel, .since = "3.3.0",
     .doc = "Whether the first text starts with the second.", .examples = {{"startswith('Spark SQL', 'Spark')", "true"}}},
    {.name = "endswith", STRING_ROW, .signature = "(string, string) -> boolean | (binary, binary) -> boolean", .kernel = endswith_kernel, .since = "3.3.0",
     .doc = "Whether the first text ends with the second.", .examples = {{"endswith('Spark SQL', 'SQL')", "true"}}},
    {.name = "find_in_set", STRING_ROW, .signature = "(string, string) -> int", .kernel = find_in_set_kernel, .since = "1.5.0",
     .doc = "The place (from 1) of a word in a list parted by commas; 0 when it is not in it.", .examples = {{"find_in_set('ab', 'abc,b,ab,c,def')", "3"}}},
    {.name = "substring_index", STRING_ROW, .signature = "(string, string, int) -> string", .kernel = substring_index_kernel, .since = "1.5.0",
     .doc = "The part before the given number of occurrences of the delimiter; negative counts from the right.",
     .examples = {{"substring_index('www.apache.org', '.', 2)", "www.apache"}}},
    {.name = "split_part", NULLABLE_ROW, .can_fail = true, .signature = "(string, string, int) -> string", .kernel = split_part_kernel, .since = "3.3.0",
     .doc = "The n-th part between delimiters; negative counts from the right; empty when there is none.", .examples = {{"split_part('11.12.13', '.', 3)", "13"}}},
};

NL_DEFINE_FUNCTION_GROUP(string_basic, rows);

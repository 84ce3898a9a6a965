/* scalar/string_more.c - replacing, repeating, joining, comparing sounds and spellings, masking, UTF-8 checks. */
#include "function/groups.h"
#include "function/list.h"
#include "function/text.h"

#include <utf8proc.h>

static nl_status replace_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    nl_str search = nl_reader_str(&context->readers[1], row);
    nl_str with = context->function->argument_count > 2 ? nl_reader_str(&context->readers[2], row) : (nl_str){NULL, 0};
    if (with.length > search.length && search.length > 0) {
        size_t found = 0;
        for (size_t at = nl_str_find(text, search, 0); at != NL_NOT_FOUND; at = nl_str_find(text, search, at + search.length)) found++;
        NL_TRY(nl_text_room(context, with.length - search.length, found));
    }
    size_t start = 0;
    while (search.length > 0 && !nl_builder_failed(&context->text)) {
        size_t at = nl_str_find(text, search, start);
        if (at == NL_NOT_FOUND) break;
        nl_append(&context->text, nl_str_slice(text, start, at));
        nl_append(&context->text, with);
        start = at + search.length;
    }
    nl_append(&context->text, nl_str_slice(text, start, text.length));
    return NULL;
}
NL_TEXT_KERNEL(replace_kernel, replace_row)

static nl_status translate_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    nl_str from = nl_reader_str(&context->readers[1], row);
    nl_str to = nl_reader_str(&context->readers[2], row);
    for (size_t offset = 0; offset < text.length;) {
        size_t next = nl_utf8_next(text, offset);
        nl_str character = nl_str_slice(text, offset, next);
        size_t at = nl_str_find(from, character, 0);
        if (at == NL_NOT_FOUND) {
            nl_append(&context->text, character);
        } else {
            size_t place = nl_text_offset(to, (int64_t)nl_utf8_length(nl_str_slice(from, 0, at)));
            if (place < to.length) nl_append(&context->text, nl_str_slice(to, place, nl_utf8_next(to, place)));
        }
        offset = next;
    }
    return NULL;
}
NL_TEXT_KERNEL(translate_kernel, translate_row)

static nl_status reverse_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    for (size_t stop = text.length; stop > 0;) {
        size_t start = stop - 1;
        while (start > 0 && ((uint8_t)text.data[start] & 0xC0) == 0x80) start--;
        nl_append(&context->text, nl_str_slice(text, start, stop));
        stop = start;
    }
    return NULL;
}
NL_TEXT_KERNEL(reverse_text_kernel, reverse_row)

static nl_status reverse_array_kernel(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    const nl_vector *base = nl_vector_base(&args[0]);
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    uint32_t next = 0;
    for (uint32_t row = 0; row < length; row++) {
        nl_list_view list = {0, 0};
        if (next < selection.count && nl_selection_row(selection, next) == row) {
            list = ((const nl_list_view *)in.values)[nl_reader_index(&in, row)];
            next++;
        }
        for (uint32_t e = list.length; e-- > 0;)
            NL_GO(nl_column_builder_row(nl_column_builder_child(builder, 0), &base->children[0], list.offset + e));
        NL_GO(nl_column_builder_end_list(builder, list.length));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_column_builder_free(builder);
    return status;
}

static nl_status bind_reverse(nl_bind *bind, nl_bound_function *bound)
{
    bool is_array = bind->argument_types[0]->id == NL_TYPE_ARRAY;
    bound->kernel = is_array ? reverse_array_kernel : reverse_text_kernel;
    if (is_array) bound->result_type = bind->argument_types[0];
    return NULL;
}

static nl_status repeat_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    const int32_t count = nl_reader_i32(&context->readers[1], row);
    if (count <= 0) return NULL;
    NL_TRY(nl_text_room(context, text.length, (size_t)count));
    nl_append_repeated(&context->text, text, (size_t)count);
    return NULL;
}
NL_TEXT_KERNEL(repeat_kernel, repeat_row)

static nl_status space_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    int32_t count = nl_reader_i32(&context->readers[0], row);
    if (count <= 0) return NULL;
    NL_TRY(nl_text_room(context, 1, (size_t)count));
    nl_append_fill(&context->text, ' ', (size_t)count);
    return NULL;
}
NL_TEXT_KERNEL(space_kernel, space_row)

static inline int32_t ascii_of(nl_str text)
{
    size_t offset = 0;
    return text.length == 0 ? 0 : (int32_t)nl_utf8_decode(text, &offset);
}
NL_STRING_TO_VALUE_KERNEL(ascii_kernel, int32_t, ascii_of)

static nl_status char_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    int64_t code = nl_reader_i64(&context->readers[0], row);
    if (code >= 0) nl_append_code_point(&context->text, (uint32_t)(code & 0xFF)); /* modulo 256, as Spark */
    return NULL;
}
NL_TEXT_KERNEL(char_kernel, char_row)

/* --- concat_ws: nulls are passed over, arrays of strings opened --- */

static void join(nl_builder *out, nl_str separator, nl_str part, bool *is_first)
{
    if (!*is_first) nl_append(out, separator);
    *is_first = false;
    nl_append(out, part);
}

static nl_status join_argument(const nl_eval *eval, nl_builder *out, nl_str separator, const nl_vector *arg, uint32_t row, bool *is_first)
{
    if (nl_vector_is_null(arg, row)) return NULL;
    nl_reader in;
    nl_reader_init(&in, arg);
    if (arg->type->id != NL_TYPE_ARRAY) {
        join(out, separator, nl_reader_str(&in, row), is_first);
        return NULL;
    }
    const nl_vector *elements = &nl_vector_base(arg)->children[0];
    if (elements->type->id == NL_TYPE_NULL) return NULL;
    nl_reader texts;
    nl_reader_init(&texts, elements);
    nl_list_view list = ((const nl_list_view *)in.values)[nl_reader_index(&in, row)];
    for (uint32_t i = 0; i < list.length; i++) {
        if (i % NL_LIST_CHECK_ELEMENTS == NL_LIST_CHECK_ELEMENTS - 1) NL_TRY(nl_eval_check(eval));
        if (!nl_reader_is_null(&texts, list.offset + i)) join(out, separator, nl_reader_str(&texts, list.offset + i), is_first);
    }
    return NULL;
}

static nl_status concat_ws_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_builder text;
    nl_status status = NULL;
    nl_reader separators;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_builder_init(&text, nl_eval_text_max(eval));
    nl_reader_init(&separators, &args[0]);
    for (uint32_t i = 0; i < selection.count && status == NULL; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_vector_is_null(&args[0], row)) {
            status = nl_output_null(&output, row);
            continue;
        }
        bool is_first = true;
        nl_builder_clear(&text);
        for (uint32_t a = 1; a < function->argument_count && !status; a++)
            status = join_argument(eval, &text, nl_reader_str(&separators, row), &args[a], row, &is_first);
        if (!status) status = nl_output_builder(&output, row, &text);
    }
    nl_builder_fini(&text);
    return status;
}

static nl_status bind_concat_ws(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *strings = nl_type_array(bind->arena, nl_type_string(), true);
    for (uint32_t i = 1; i < bind->argument_count; i++) {
        const nl_type *type = bind->argument_types[i];
        if (type->id == NL_TYPE_MAP || type->id == NL_TYPE_STRUCT) return nl_bind_unexpected_type(bind, i, "(\"ARRAY<STRING>\" or \"STRING\")");
        bind->argument_types[i] = type->id == NL_TYPE_ARRAY ? strings : nl_type_string();
    }
    bound->is_nullable = bind->argument_nullable == NULL || bind->argument_nullable[0];
    return NULL;
}

/* --- elt --- */

static nl_status elt_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_reader places;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&places, &args[0]);
    NL_EACH_SELECTED(row)
    {
        if (nl_reader_is_null(&places, row)) {
            NL_TRY(nl_output_null(&output, row));
            continue;
        }
        int32_t place = nl_reader_i32(&places, row);
        bool is_inside = place >= 1 && (uint32_t)place < function->argument_count;
        if (!is_inside && eval->confs->is_ansi)
            return NL_RAISE(INVALID_ARRAY_INDEX, NL_P_INT("indexValue", place), NL_P_INT("arraySize", function->argument_count - 1));
        if (!is_inside || nl_vector_is_null(&args[place], row)) {
            NL_TRY(nl_output_null(&output, row));
            continue;
        }
        nl_reader text;
        nl_reader_init(&text, &args[place]);
        NL_TRY(nl_output_str(&output, row, nl_reader_str(&text, row)));
    }
    return NULL;
}

static nl_status bind_elt(nl_bind *bind, nl_bound_function *bound)
{
    bool all_binary = !bind->confs->is_elt_string;
    for (uint32_t i = 1; i < bind->argument_count; i++) all_binary &= bind->argument_types[i]->id == NL_TYPE_BINARY;
    bound->result_type = all_binary ? nl_type_binary() : nl_type_string();
    for (uint32_t i = 1; i < bind->argument_count; i++) bind->argument_types[i] = bound->result_type;
    return NULL;
}

/* --- levenshtein --- */

/* Two rows of the usual table; `limit` < 0: none, else -1 for greater distances. */
static int32_t edit_distance(const uint32_t *a, int32_t a_count, const uint32_t *b, int32_t b_count, int32_t *row)
{
    for (int32_t j = 0; j <= b_count; j++) row[j] = j;
    for (int32_t i = 1; i <= a_count; i++) {
        int32_t diagonal = row[0];
        row[0] = i;
        for (int32_t j = 1; j <= b_count; j++) {
            int32_t above = row[j];
            int32_t cost = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = NL_MIN(NL_MIN(above, row[j - 1]) + 1, cost);
            diagonal = above;
        }
    }
    return row[b_count];
}

static int32_t decode_all(nl_str text, uint32_t *out)
{
    int32_t count = 0;
    for (size_t offset = 0; offset < text.length;) out[count++] = nl_utf8_decode(text, &offset);
    return count;
}

static nl_status levenshtein_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str a = nl_reader_str(&context->readers[0], row);
    nl_str b = nl_reader_str(&context->readers[1], row);
    nl_buffer *space = NULL;
    size_t size = nl_size_mul(nl_size_add(nl_size_add(a.length, nl_size_mul(b.length, 2)), 2), sizeof(uint32_t));
    NL_TRY(nl_buffer_new(context->eval->memory, size, false, &space));
    uint32_t *x = (uint32_t *)(void *)space->data;
    uint32_t *y = x + a.length;
    int32_t a_count = decode_all(a, x);
    int32_t b_count = decode_all(b, y);
    int32_t distance = edit_distance(x, a_count, y, b_count, (int32_t *)(y + b.length));
    nl_buffer_release(space);
    if (context->function->argument_count > 2 && distance > nl_reader_i32(&context->readers[2], row)) distance = -1;
    ((int32_t *)context->output.values)[row] = distance;
    return NULL;
}
NL_VALUE_KERNEL(levenshtein_kernel, levenshtein_row)

/* --- soundex: letters of one class after each other count once; H and W do not part them, vowels do --- */

static nl_status soundex_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    static const char classes[] = "01230127022455012623017202"; /* A … Z; 7: transparent */
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    if (text.length == 0) return NULL;
    char first = text.data[0];
    if (first >= 'a' && first <= 'z') first = (char)(first - 32);
    if (first < 'A' || first > 'Z') {
        nl_append(&context->text, text);
        return NULL;
    }
    char code[4] = {first, '0', '0', '0'};
    uint32_t count = 1;
    char last = classes[first - 'A'];
    for (size_t i = 1; i < text.length && count < 4; i++) {
        char c = text.data[i];
        if (c >= 'a' && c <= 'z') c = (char)(c - 32);
        if (c < 'A' || c > 'Z') {
            last = '0';
            continue;
        }
        char class = classes[c - 'A'];
        if (class == '7') continue;
        if (class != '0' && class != last) code[count++] = class;
        last = class;
    }
    nl_append(&context->text, (nl_str){code, 4});
    return NULL;
}
NL_TEXT_KERNEL(soundex_kernel, soundex_row)

/* --- luhn_check --- */

static inline bool passes_luhn(nl_str text)
{
    int32_t sum = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[text.length - 1 - i];
        if (c < '0' || c > '9') return false;
        int32_t digit = c - '0';
        if (i % 2 == 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
        sum += digit;
    }
    return text.length > 0 && sum % 10 == 0;
}
NL_STRING_TO_VALUE_KERNEL(luhn_kernel, uint8_t, passes_luhn)

/* --- mask: upper, lower, digit, other characters replaced; a NULL keeps that kind --- */

static nl_status bind_soundex(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    return nl_bind_only_string(bind, 0);
}

/* What stands for the characters is constant, and one character or NULL. */
static nl_status bind_mask(nl_bind *bind, nl_bound_function *bound)
{
    static const char *const names[] = {"`upperChar`", "`lowerChar`", "`digitChar`", "`otherChar`"};
    (void)bound;
    for (uint32_t i = 0; i < bind->argument_count; i++) NL_TRY(nl_bind_only_string(bind, i));
    for (uint32_t i = 1; i < bind->argument_count && i < 5; i++) {
        const nl_value *value = bind->constants[i];
        if (value == NULL) return nl_bind_not_foldable(bind, i, names[i - 1]);
        const nl_str name = nl_str_from(names[i - 1]);
        if (value->is_null || nl_utf8_length(value->text) == 1) continue;
        return NL_RAISE(DATATYPE_MISMATCH__INPUT_SIZE_NOT_ONE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P_STR("exprName", nl_str_slice(name, 1, name.length - 1)));
    }
    return NULL;
}

static nl_status mask_kernel(NL_KERNEL_PARAMETERS)
{
    static const char *const defaults[] = {"X", "x", "n", NULL};
    nl_output output;
    nl_builder text;
    nl_status status = NULL;
    nl_reader in;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_builder_init(&text, nl_eval_text_max(eval));
    nl_reader_init(&in, &args[0]);
    for (uint32_t i = 0; i < selection.count && status == NULL; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(&in, row)) {
            status = nl_output_null(&output, row);
            continue;
        }
        nl_str with[4] = {{NULL, 0}};
        for (uint32_t k = 0; k < 4; k++) {
            nl_reader reader;
            with[k] = nl_str_from(defaults[k]);
            if (k + 1 >= function->argument_count) continue;
            with[k] = (nl_str){NULL, 0};
            if (nl_vector_is_null(&args[k + 1], row)) continue;
            nl_reader_init(&reader, &args[k + 1]);
            with[k] = nl_reader_str(&reader, row);
        }
        nl_str source = nl_reader_str(&in, row);
        nl_builder_clear(&text);
        for (size_t offset = 0; offset < source.length;) {
            size_t start = offset;
            uint32_t code_point = nl_utf8_decode(source, &offset);
            utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
            uint32_t kind = category == UTF8PROC_CATEGORY_LU ? 0 : category == UTF8PROC_CATEGORY_LL ? 1 : category == UTF8PROC_CATEGORY_ND ? 2 : 3;
            nl_append(&text, with[kind].length > 0 ? with[kind] : nl_str_slice(source, start, offset));
        }
        status = nl_output_builder(&output, row, &text);
    }
    nl_builder_fini(&text);
    return status;
}

/* --- UTF-8 --- */

NL_STRING_TO_VALUE_KERNEL(is_valid_utf8_kernel, uint8_t, nl_utf8_is_valid)

static nl_status make_valid_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    for (size_t offset = 0; offset < text.length;) nl_append_code_point(&context->text, nl_utf8_decode(text, &offset));
    return NULL;
}
NL_TEXT_KERNEL(make_valid_kernel, make_valid_row)

static nl_status validate_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    nl_str text = nl_reader_str(&context->readers[0], row);
    if (nl_utf8_is_valid(text)) {
        nl_append(&context->text, text);
        return NULL;
    }
    *is_null = true;
    if (context->function->row->name[0] == 't') return NULL; /* try_validate_utf8 */
    nl_builder shown;
    nl_builder_init(&shown, NL_ERROR_MESSAGE_BYTES_MAX);
    for (size_t i = 0; i < text.length; i++) nl_append_f(&shown, "\\x%02X", (unsigned)(uint8_t)text.data[i]);
    nl_status status = NL_RAISE(INVALID_UTF8_STRING, NL_P_STR("str", nl_builder_str(&shown)));
    nl_builder_fini(&shown);
    return status;
}
NL_TEXT_KERNEL(validate_kernel, validate_row)

#define NULLABLE_ROW .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT
#define STRING_ROW NULLABLE_ROW, .keeps_non_null = true
#define NULL_SEEING_ROW .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_SEEN

static const nl_function_row rows[] = {
    {.name = "replace", STRING_ROW, .signature = "(string, string [, string]) -> string", .kernel = replace_kernel, .since = "2.3.0",
     .doc = "The text with every occurrence of the second replaced by the third, or taken out.", .examples = {{"replace('ABCabc', 'abc', 'DEF')", "ABCDEF"}}},
    {.name = "translate", STRING_ROW, .signature = "(string, string, string) -> string", .kernel = translate_kernel, .since = "1.5.0",
     .doc = "Characters of the second text replaced by those at the same place in the third.", .examples = {{"translate('AaBbCc', 'abc', '123')", "A1B2C3"}}},
    {.name = "reverse", .kind = NL_FUNCTION_SCALAR, .group = "collection", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true,
     .signature = "(array) -> ? | (string) -> string", .bind = bind_reverse, .since = "1.5.0", .doc = "The characters or elements in reverse order.",
     .examples = {{"reverse('Spark SQL')", "LQS krapS"}, {"reverse(array(2, 1, 4, 3))", "[3,4,1,2]"}}},
    {.name = "repeat", STRING_ROW, .signature = "(string, int) -> string", .kernel = repeat_kernel, .since = "1.5.0",
     .doc = "The text so many times.", .examples = {{"repeat('123', 2)", "123123"}}},
    {.name = "space", STRING_ROW, .signature = "(int) -> string", .kernel = space_kernel, .since = "1.5.0",
     .doc = "So many spaces.", .examples = {{"concat(space(2), '1')", "  1"}}},
    {.name = "ascii", STRING_ROW, .signature = "(string) -> int", .kernel = ascii_kernel, .since = "1.5.0",
     .doc = "The code point of the first character; 0 for an empty text.", .examples = {{"ascii('222')", "50"}}},
    {.name = "char", .aliases = "chr", STRING_ROW, .signature = "(bigint) -> string", .kernel = char_kernel, .since = "2.3.0",
     .doc = "The character of a code modulo 256; empty for negative ones.", .examples = {{"char(65)", "A"}}},
    {.name = "concat_ws", NULL_SEEING_ROW, .signature = "(string [, any...]) -> string", .bind = bind_concat_ws, .kernel = concat_ws_kernel, .since = "1.5.0",
     .doc = "The texts and arrays of texts that are not NULL, with the first argument between them.", .examples = {{"concat_ws(' ', 'Spark', 'SQL')", "Spark SQL"}}},
    {.name = "elt", NULL_SEEING_ROW, .can_fail = true, .signature = "(int, any...) -> ?", .bind = bind_elt, .kernel = elt_kernel, .since = "2.0.0",
     .doc = "The n-th of the other arguments.", .examples = {{"elt(1, 'scala', 'java')", "scala"}}},
    {.name = "levenshtein", STRING_ROW, .signature = "(string, string [, int]) -> int", .kernel = levenshtein_kernel, .since = "1.5.0",
     .doc = "The number of edits between two texts, or -1 when it is above the limit.", .examples = {{"levenshtein('kitten', 'sitting')", "3"}}},
    {.name = "soundex", STRING_ROW, .signature = "(any) -> string", .bind = bind_soundex, .kernel = soundex_kernel, .since = "1.5.0",
     .doc = "The Soundex code of a word.", .examples = {{"soundex('Miller')", "M460"}}},
    {.name = "luhn_check", NULLABLE_ROW, .signature = "(string) -> boolean", .kernel = luhn_kernel, .since = "3.5.0",
     .doc = "Whether the digits pass the Luhn check.", .examples = {{"luhn_check('8112189876')", "true"}}},
    {.name = "mask", NULL_SEEING_ROW, .signature = "(any [, any, any, any, any]) -> string", .bind = bind_mask, .kernel = mask_kernel, .since = "3.4.0",
     .doc = "Upper case letters, lower case letters, digits and other characters replaced; NULL keeps a kind.", .examples = {{"mask('abcd-EFGH-8765-4321')", "xxxx-XXXX-nnnn-nnnn"}}},
    {.name = "is_valid_utf8", NULLABLE_ROW, .signature = "(string) -> boolean", .kernel = is_valid_utf8_kernel, .since = "4.0.0",
     .doc = "Whether the bytes are valid UTF-8.", .examples = {{"is_valid_utf8('Spark')", "true"}}},
    {.name = "make_valid_utf8", NULLABLE_ROW, .signature = "(string) -> string", .kernel = make_valid_kernel, .since = "4.0.0",
     .doc = "The text with bad bytes replaced by U+FFFD.", .examples = {{"make_valid_utf8('Spark')", "Spark"}}},
    {.name = "validate_utf8", NULLABLE_ROW, .can_fail = true, .signature = "(string) -> string", .kernel = validate_kernel, .since = "4.0.0",
     .doc = "The text, or an error when it is no valid UTF-8.", .examples = {{"validate_utf8('Spark')", "Spark"}}},
    {.name = "try_validate_utf8", .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT, .signature = "(string) -> string",
     .kernel = validate_kernel, .since = "4.0.0", .doc = "The text, or NULL when it is no valid UTF-8.", .examples = {{"try_validate_utf8('Spark')", "Spark"}}},
};

NL_DEFINE_FUNCTION_GROUP(string_more, rows);

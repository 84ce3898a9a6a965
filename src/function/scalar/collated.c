/* scalar/collated.c - collate, collation, and what the analyzer makes of functions over strings with a collation: their
 * keys, and searches that pay no regard to case.
 */
#include "function/collation.h"
#include "function/groups.h"
#include "function/icu.h"

/* --- collate, collation --- */

static nl_status bind_collate(nl_bind *bind, nl_bound_function *bound)
{
    nl_collation collation;
    NL_TRY(nl_bind_only_string(bind, 0));
    const nl_value *name = bind->constants ? bind->constants[1] : NULL;
    if (name == NULL)
        return NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P("funcName", "`collate`"), NL_P("paramName", "`collationName`"), NL_P("paramType", "\"STRING\""));
    if (name->is_null || name->type->id != NL_TYPE_STRING)
        return NL_RAISE(UNEXPECTED_INPUT_TYPE, NL_P("functionName", "`collate`"), NL_P("paramIndex", "first"), NL_P("requiredType", "\"STRING\""),
                        NL_P_STR("inputSql", nl_quoted(bind->arena, nl_bind_argument_sql(bind, 1))), NL_P_STR("inputType", nl_quoted_type(bind->arena, name->type)));
    NL_TRY(nl_collation_find(bind->arena, name->text, &collation));
    bound->result_type = nl_type_collated(bind->arena, collation.name);
    return NULL;
}

static nl_status collate_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    (void)length;
    nl_vector_ref(&args[0], out);
    nl_vector_relabel(out, function->result_type);
    return NULL;
}

static nl_status bind_collation(nl_bind *bind, nl_bound_function *bound)
{
    nl_str *text = NL_NEW(bind->arena, nl_str);
    NL_TRY(nl_bind_only_string(bind, 0));
    const nl_str name = bind->argument_types[0]->collation;
    *text = nl_str_is(name, "null") ? name : nl_arena_f(bind->arena, "SYSTEM.BUILTIN." NL_STR_FMT, NL_STR_ARG(name.length ? name : NL_STR("UTF8_BINARY")));
    bound->state = text;
    bound->is_nullable = false;
    return NULL;
}

static nl_status collation_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    const nl_value constant = nl_value_string(*(const nl_str *)function->state);
    return nl_vector_new_constant(out, &constant, length, eval->memory);
}

/* --- keys --- */

typedef struct key_state {
    nl_collation collation;
    const nl_collator *collator;
} key_state;

static nl_status bind_key(nl_bind *bind, nl_bound_function *bound)
{
    key_state *state = NL_NEW(bind->arena, key_state);
    const nl_str name = bind->argument_types[0]->collation;
    if (nl_str_is(name, "null")) return NL_RAISE(INDETERMINATE_COLLATION);
    NL_TRY(nl_collation_find(bind->arena, name.length ? name : NL_STR("UTF8_BINARY"), &state->collation));
    if (state->collation.kind == NL_COLLATION_ICU) NL_TRY(nl_collator_open(bind->arena, &state->collation, &state->collator));
    bound->state = state;
    return NULL;
}

static nl_status key_kernel(NL_KERNEL_PARAMETERS)
{
    const key_state *state = function->state;
    nl_collator_scratch scratch = {0};
    nl_output output;
    nl_reader texts;
    nl_builder key;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_builder_init(&key, NL_VALUE_BYTES_MAX);
    nl_reader_init(&texts, &args[0]);
    NL_EACH_SELECTED(row)
    {
        const nl_str text = nl_reader_str(&texts, row);
        nl_builder_clear(&key);
        if (state->collation.kind == NL_COLLATION_ICU)
            NL_GO(nl_collator_append_key(state->collator, &scratch, text, &key));
        else if (state->collation.kind == NL_COLLATION_LCASE)
            nl_collation_fold(text, &key);
        else
            nl_append(&key, text);
        NL_GO(nl_output_builder(&output, row, &key));
    }
done:
    nl_builder_fini(&scratch.utf16);
    nl_builder_fini(&key);
    return status;
}

/* --- searches in lower case: matches are found in folded texts, results are cut from the text as it is --- */

typedef struct folded {
    nl_builder text;
    nl_builder places; /* uint32_t each: where a folded byte's character starts in the text; one more for the end */
} folded;

static void fold(folded *f, nl_str text)
{
    nl_builder_clear(&f->text);
    nl_builder_clear(&f->places);
    for (size_t i = 0; i <= text.length;) {
        const uint32_t start = (uint32_t)i;
        const size_t before = f->text.length;
        if (i < text.length) {
            nl_utf8_decode(text, &i);
            nl_collation_fold(nl_str_slice(text, start, i), &f->text);
        } else {
            i++;
        }
        const size_t count = i > text.length ? 1 : f->text.length - before;
        for (size_t k = 0; k < count; k++) nl_append(&f->places, (nl_str){(const char *)&start, sizeof start});
    }
}

static size_t place_of(const folded *f, size_t at)
{
    uint32_t place;
    memcpy(&place, f->places.data + at * sizeof place, sizeof place);
    return place;
}

static void open_folded(folded *f)
{
    nl_builder_init(&f->text, NL_VALUE_BYTES_MAX);
    nl_builder_init(&f->places, (size_t)NL_VALUE_BYTES_MAX * sizeof(uint32_t));
}

static void close_folded(folded *f)
{
    nl_builder_fini(&f->text);
    nl_builder_fini(&f->places);
}

static nl_status fold_both(folded *text, folded *part, nl_row_context *context, uint32_t row)
{
    open_folded(text);
    open_folded(part);
    fold(text, nl_reader_str(&context->readers[0], row));
    fold(part, nl_reader_str(&context->readers[1], row));
    const bool has_failed = nl_builder_failed(&text->text) || nl_builder_failed(&text->places) || nl_builder_failed(&part->text);
    return has_failed ? NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0)) : NULL;
}

static nl_status replace_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    folded text, part;
    (void)is_null;
    nl_status status = fold_both(&text, &part, context, row);
    const nl_str whole = nl_reader_str(&context->readers[0], row);
    const nl_str with = nl_reader_str(&context->readers[2], row);
    const nl_str wanted = nl_builder_str(&part.text), in = nl_builder_str(&text.text);
    size_t at = 0;
    for (size_t found; !status && wanted.length && (found = nl_str_find(in, wanted, at)) != NL_NOT_FOUND; at = found + wanted.length) {
        nl_append(&context->text, nl_str_slice(whole, place_of(&text, at), place_of(&text, found)));
        nl_append(&context->text, with);
    }
    if (!status) nl_append(&context->text, nl_str_slice(whole, place_of(&text, at), whole.length));
    close_folded(&text);
    close_folded(&part);
    return status;
}
NL_TEXT_KERNEL(replace_kernel, replace_row)

/* Where match number `wanted` (from 1; negative: from the end) starts and stops. The next one begins `step` bytes behind the
 * last one's start at the earliest. False: there are fewer. */
static bool find_match(nl_str in, nl_str part, size_t step, int64_t wanted, size_t *start, size_t *stop)
{
    int64_t count = 0;
    for (size_t at = 0, found; (found = nl_str_find(in, part, at)) != NL_NOT_FOUND; at = found + step) count++;
    const int64_t number = wanted > 0 ? wanted : count + 1 + wanted;
    if (number < 1 || number > count) return false;
    size_t found = nl_str_find(in, part, 0);
    for (int64_t i = 1; i < number; i++) found = nl_str_find(in, part, found + step);
    *start = found;
    *stop = found + part.length;
    return true;
}

static nl_status index_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    folded text, part;
    (void)is_null;
    nl_status status = fold_both(&text, &part, context, row);
    const nl_str whole = nl_reader_str(&context->readers[0], row);
    const int64_t count = nl_reader_i32(&context->readers[2], row);
    const nl_str wanted = nl_builder_str(&part.text);
    size_t start = 0, stop = 0;
    if (!status && wanted.length && count != 0) {
        const bool is_found = find_match(nl_builder_str(&text.text), wanted, 1, count, &start, &stop); /* they may overlap, as in Spark */
        if (!is_found)
            nl_append(&context->text, whole);
        else
            nl_append(&context->text, count > 0 ? nl_str_slice(whole, 0, place_of(&text, start)) : nl_str_slice(whole, place_of(&text, stop), whole.length));
    }
    close_folded(&text);
    close_folded(&part);
    return status;
}
NL_TEXT_KERNEL(index_kernel, index_row)

static nl_status split_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    folded text, part;
    (void)is_null;
    const int64_t number = nl_reader_i32(&context->readers[2], row);
    if (number == 0) return NL_RAISE(INVALID_INDEX_OF_ZERO);
    nl_status status = fold_both(&text, &part, context, row);
    const nl_str whole = nl_reader_str(&context->readers[0], row);
    const nl_str in = nl_builder_str(&text.text), wanted = nl_builder_str(&part.text);
    int64_t count = 1;
    for (size_t at = 0, found; wanted.length && (found = nl_str_find(in, wanted, at)) != NL_NOT_FOUND; at = found + wanted.length) count++;
    const int64_t piece = number > 0 ? number : count + 1 + number;
    if (!status && piece >= 1 && piece <= count) {
        size_t start = 0, stop = in.length, ignored;
        if (piece > 1) (void)find_match(in, wanted, wanted.length, piece - 1, &ignored, &start);
        if (piece < count) (void)find_match(in, wanted, wanted.length, piece, &stop, &ignored);
        nl_append(&context->text, nl_str_slice(whole, place_of(&text, start), place_of(&text, stop)));
    }
    close_folded(&text);
    close_folded(&part);
    return status;
}
NL_TEXT_KERNEL(split_kernel, split_row)

/* The character, folded, is one of the set's; what one character was folded to stays together. */
static bool is_in_set(const folded *set, nl_str character, size_t *number)
{
    const nl_str all = nl_builder_str(&set->text);
    bool is_found = false;
    nl_builder one;
    nl_builder_init(&one, 64);
    nl_collation_fold(character, &one);
    *number = 0;
    for (size_t i = 0; i < all.length && !is_found;) {
        size_t next = i + 1;
        while (next < all.length && place_of(set, next) == place_of(set, i)) next++;
        is_found = nl_str_equal(nl_str_slice(all, i, next), nl_builder_str(&one));
        *number += !is_found;
        i = next;
    }
    nl_builder_fini(&one);
    return is_found;
}

#define DOTTED "i\xcc\x87" /* what the one character U+0130 is in lower case */

static nl_status trim_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    folded set;
    size_t number;
    const char *name = context->function->row->name;
    nl_str text = nl_reader_str(&context->readers[0], row);
    (void)is_null;
    open_folded(&set);
    fold(&set, nl_reader_str(&context->readers[1], row));
    while (strcmp(name, "lcase_rtrim") != 0 && text.length) {
        const bool is_dotted = nl_str_starts(text, NL_STR(DOTTED)) && is_in_set(&set, NL_STR(DOTTED), &number);
        const size_t next = is_dotted ? strlen(DOTTED) : nl_utf8_next(text, 0);
        if (!is_in_set(&set, nl_str_slice(text, 0, next), &number)) break;
        text = nl_str_slice(text, next, text.length);
    }
    while (strcmp(name, "lcase_ltrim") != 0 && text.length) {
        const bool is_dotted = nl_str_ends(text, NL_STR(DOTTED)) && is_in_set(&set, NL_STR(DOTTED), &number);
        size_t last = text.length - (is_dotted ? strlen(DOTTED) : 1);
        while (!is_dotted && last > 0 && ((uint8_t)text.data[last] & 0xc0) == 0x80) last--;
        if (!is_in_set(&set, nl_str_slice(text, last, text.length), &number)) break;
        text = nl_str_slice(text, 0, last);
    }
    nl_append(&context->text, text);
    close_folded(&set);
    return NULL;
}
NL_TEXT_KERNEL(trim_kernel, trim_row)

static nl_status translate_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    folded set;
    size_t number;
    const nl_str text = nl_reader_str(&context->readers[0], row);
    const nl_str to = nl_reader_str(&context->readers[2], row);
    (void)is_null;
    open_folded(&set);
    fold(&set, nl_reader_str(&context->readers[1], row));
    for (size_t i = 0; i < text.length;) {
        const size_t start = i;
        nl_utf8_decode(text, &i);
        const nl_str character = nl_str_slice(text, start, i);
        if (!is_in_set(&set, character, &number)) {
            nl_append(&context->text, character);
            continue;
        }
        size_t at = 0;
        for (size_t k = 0; k < number && at < to.length; k++) at = nl_utf8_next(to, at);
        if (at < to.length) nl_append(&context->text, nl_str_slice(to, at, nl_utf8_next(to, at)));
    }
    close_folded(&set);
    return NULL;
}
NL_TEXT_KERNEL(translate_kernel, translate_row)

#define SCALAR .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .since = "4.0.0"
#define INTERNAL SCALAR, .is_internal = true

static const nl_function_row rows[] = {
    {.name = "collate", SCALAR, .signature = "(any, any) -> ?", .bind = bind_collate, .kernel = collate_kernel,
     .doc = "The string with another collation.", .examples = {{"collation('Spark SQL' collate UTF8_LCASE)", "SYSTEM.BUILTIN.UTF8_LCASE"}}},
    {.name = "collation", .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_SEEN, .since = "4.0.0", .signature = "(any) -> string", .bind = bind_collation,
     .kernel = collation_kernel, .doc = "The name of a string's collation.", .examples = {{"collation('Spark SQL')", "SYSTEM.BUILTIN.UTF8_BINARY"}}},
    {.name = "collation_key", INTERNAL, .signature = "(any) -> binary", .bind = bind_key, .kernel = key_kernel, .doc = "Bytes that compare as the strings do by their collation."},
    {.name = "lcase_replace", INTERNAL, .signature = "(string, string, string) -> string", .kernel = replace_kernel, .doc = "replace by UTF8_LCASE."},
    {.name = "lcase_substring_index", INTERNAL, .signature = "(string, string, int) -> string", .kernel = index_kernel, .doc = "substring_index by UTF8_LCASE."},
    {.name = "lcase_split_part", INTERNAL, .can_fail = true, .signature = "(string, string, int) -> string", .kernel = split_kernel, .doc = "split_part by UTF8_LCASE."},
    {.name = "lcase_trim", INTERNAL, .signature = "(string, string) -> string", .kernel = trim_kernel, .doc = "trim by UTF8_LCASE."},
    {.name = "lcase_ltrim", INTERNAL, .signature = "(string, string) -> string", .kernel = trim_kernel, .doc = "ltrim by UTF8_LCASE."},
    {.name = "lcase_rtrim", INTERNAL, .signature = "(string, string) -> string", .kernel = trim_kernel, .doc = "rtrim by UTF8_LCASE."},
    {.name = "lcase_translate", INTERNAL, .signature = "(string, string, string) -> string", .kernel = translate_kernel, .doc = "translate by UTF8_LCASE."},
};

NL_DEFINE_FUNCTION_GROUP(collated, rows);

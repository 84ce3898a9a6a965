/* scalar/map_more.c - str_to_map, map_zip_with. */
#include "function/groups.h"
#include "function/lambda_call.h"
#include "function/list.h"
#include "function/regex.h"
#include "function/scalar/collection_bind.h"

/* --- str_to_map: both delimiters are regular expressions; a pair is parted once --- */

typedef struct delimiter {
    nl_str text; /* of the pattern compiled; borrowed from the argument's row */
    nl_regex *regex;
    nl_regex_match *match;
} delimiter;

static void end_delimiter(delimiter *d)
{
    nl_regex_match_free(d->match);
    nl_regex_free(d->regex);
    *d = (delimiter){0};
}

static nl_status use_delimiter(delimiter *d, nl_str text)
{
    if (d->regex != NULL && nl_str_equal(d->text, text)) return NULL;
    end_delimiter(d);
    d->text = text;
    d->regex = nl_regex_compile(text);
    if (d->regex == NULL)
        return NL_RAISE(INVALID_PARAMETER_VALUE__PATTERN, NL_P("functionName", "`str_to_map`"), NL_P("parameter", "`regexp`"),
                        NL_P_STR("value", text));
    d->match = nl_regex_match_new(d->regex);
    return d->match ? NULL : NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
}

/* Where the next delimiter lies at or after `from`; an empty match at the start is none (Java's split). */
static nl_status find_delimiter(delimiter *d, nl_str text, size_t from, size_t *start, size_t *stop, bool *is_found)
{
    nl_status status = NULL;
    *is_found = nl_regex_find(d->regex, d->match, text, from, &status);
    if (*is_found && nl_regex_stop(d->match) == 0) *is_found = text.length > 0 && nl_regex_find(d->regex, d->match, text, 1, &status);
    if (*is_found) {
        *start = nl_regex_start(d->match);
        *stop = nl_regex_stop(d->match);
    }
    return status;
}

static nl_status append_pair(nl_column_builder *map, delimiter *between, nl_str pair)
{
    size_t start = 0;
    size_t stop = 0;
    bool is_found = false;
    NL_TRY(find_delimiter(between, pair, 0, &start, &stop, &is_found));
    NL_TRY(nl_column_builder_str(nl_column_builder_child(map, 0), nl_str_slice(pair, 0, is_found ? start : pair.length)));
    nl_column_builder *values = nl_column_builder_child(map, 1);
    return is_found ? nl_column_builder_str(values, nl_str_slice(pair, stop, pair.length)) : nl_column_builder_null(values);
}

static nl_status append_map(nl_column_builder *map, delimiter pairs_and_values[2], nl_str text)
{
    uint32_t count = 0;
    size_t from = 0;
    for (size_t at = 0;;) {
        size_t start = 0;
        size_t stop = 0;
        bool is_found = false;
        if (at <= text.length) NL_TRY(find_delimiter(&pairs_and_values[0], text, at, &start, &stop, &is_found));
        NL_TRY(append_pair(map, &pairs_and_values[1], nl_str_slice(text, from, is_found ? start : text.length)));
        count++;
        if (!is_found) break;
        from = stop;
        at = stop > start ? stop : stop + 1;
    }
    return nl_column_builder_end_list(map, count);
}

/* The rows' maps are built first; their keys are looked at afterwards, where they lie in a vector. */
static nl_status check_maps(const nl_bound_function *function, nl_eval *eval, nl_selection selection, const nl_vector *maps)
{
    nl_list_call check = {.function = function, .eval = eval};
    nl_status status = NULL;
    for (uint32_t i = 0; i < selection.count && status == NULL; i++) {
        nl_list_view list = nl_list_of(maps, nl_selection_row(selection, i));
        status = nl_map_check_keys(&check, nl_list_child(maps, 0), list.offset, list.length);
    }
    nl_element_set_free(check.set);
    return status;
}

static nl_status str_to_map_kernel(NL_KERNEL_PARAMETERS)
{
    static const char *const defaults[] = {",", ":"};
    delimiter delimiters[2] = {{{0}, NULL, NULL}, {{0}, NULL, NULL}};
    nl_reader readers[3] = {0};
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    for (uint32_t i = 0; i < function->argument_count; i++) nl_reader_init(&readers[i], &args[i]);
    NL_GO(nl_column_builder_new(function->result_type, eval->memory, &builder));
    uint32_t next = 0;
    for (uint32_t row = 0; row < length; row++) {
        if (next >= selection.count || nl_selection_row(selection, next) != row) {
            NL_GO(nl_column_builder_null(builder));
            continue;
        }
        next++;
        for (uint32_t d = 0; d < 2; d++)
            NL_GO(use_delimiter(&delimiters[d], function->argument_count > d + 1 ? nl_reader_str(&readers[d + 1], row) : nl_str_from(defaults[d])));
        NL_GO(append_map(builder, delimiters, nl_reader_str(&readers[0], row)));
    }
    NL_GO(nl_column_builder_finish(builder, out));
    NL_GO(check_maps(function, eval, selection, out));
    status = nl_map_last_wins(eval, selection, out);
done:
    nl_column_builder_free(builder);
    end_delimiter(&delimiters[0]);
    end_delimiter(&delimiters[1]);
    return status;
}

static nl_status bind_str_to_map(nl_bind *bind, nl_bound_function *bound)
{
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        const nl_type *type = bind->argument_types[i];
        if (type->id != NL_TYPE_STRING && type->id != NL_TYPE_NULL) return nl_bind_unexpected_type(bind, i, "\"STRING\"");
        bind->argument_types[i] = nl_type_string();
    }
    bound->result_type = nl_type_map(bind->arena, nl_type_string(), nl_type_string(), true);
    return NULL;
}

/* --- map_zip_with: the keys of both maps, in the order they first come --- */

typedef struct zipped {
    nl_column_builder *builders[3]; /* keys, first values, second values */
    uint32_t *lengths;              /* by selected row */
    uint32_t *parents;
    uint32_t count;
} zipped;

static nl_status append_value(nl_column_builder *builder, const nl_vector *map, nl_list_view list, const nl_vector *keys, uint32_t key)
{
    for (uint32_t e = list.offset; e < list.offset + list.length; e++)
        if (nl_vector_row_equal(nl_list_child(map, 0), e, keys, key)) return nl_column_builder_row(builder, nl_list_child(map, 1), e);
    return nl_column_builder_null(builder);
}

static nl_status zip_row(const nl_vector *args, nl_list_call *sets, uint32_t row, zipped *z, uint32_t *length)
{
    nl_element_set *seen = NULL;
    nl_list_view lists[2] = {nl_list_of(&args[0], row), nl_list_of(&args[1], row)};
    NL_TRY(nl_list_call_set(sets, lists[0].length + lists[1].length, &seen));
    *length = 0;
    for (uint32_t m = 0; m < 2; m++) {
        const nl_vector *keys = nl_list_child(&args[m], 0);
        for (uint32_t e = lists[m].offset; e < lists[m].offset + lists[m].length; e++) {
            bool is_new = false;
            NL_TRY(nl_element_set_add(seen, keys, e, &is_new));
            if (!is_new) continue;
            NL_TRY(nl_column_builder_row(z->builders[0], keys, e));
            for (uint32_t v = 0; v < 2; v++) NL_TRY(append_value(z->builders[v + 1], &args[v], lists[v], keys, e));
            z->parents[z->count++] = row;
            ++*length;
        }
    }
    return NULL;
}

static nl_status map_zip_kernel(NL_KERNEL_PARAMETERS)
{
    zipped z = {{NULL, NULL, NULL}, NULL, NULL, 0};
    nl_list_call sets = {.function = function, .eval = eval};
    nl_vector parameters[3] = {{0}, {0}, {0}};
    nl_vector children[2] = {{0}, {0}};
    nl_vector made = {0};
    nl_buffer *space = NULL;
    nl_status status = NULL;
    uint64_t total = 0;
    NL_EACH_SELECTED(counted) total += (uint64_t)nl_list_of(&args[0], counted).length + nl_list_of(&args[1], counted).length;
    NL_GO(nl_buffer_new(eval->memory, nl_size_mul((size_t)total + selection.count + 1, sizeof(uint32_t)), false, &space));
    z.lengths = (uint32_t *)(void *)space->data;
    z.parents = z.lengths + selection.count;
    for (uint32_t p = 0; p < 3; p++) NL_GO(nl_column_builder_new(args[p == 2].type->children[p > 0].type, eval->memory, &z.builders[p]));
    for (uint32_t i = 0; i < selection.count; i++) NL_GO(zip_row(args, &sets, nl_selection_row(selection, i), &z, &z.lengths[i]));
    for (uint32_t p = 0; p < 3; p++) NL_GO(nl_column_builder_finish(z.builders[p], &parameters[p]));
    NL_GO(nl_lambda_call(lambdas[2], eval, parameters, z.parents, z.count, &made));
    NL_GO(nl_vector_flatten(&parameters[0], false, eval->memory, &children[0]));
    NL_GO(nl_vector_flatten(&made, false, eval->memory, &children[1]));
    NL_GO(nl_vector_new_flat(out, function->result_type, length, eval->memory));
    nl_list_view *lists = nl_vector_values(out);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        lists[nl_selection_row(selection, i)] = (nl_list_view){.offset = offset, .length = z.lengths[i]};
        offset += z.lengths[i];
    }
    for (uint32_t c = 0; c < 2; c++) nl_vector_set_child(out, c, &children[c]);
    children[0] = children[1] = (nl_vector){0};
done:
    for (uint32_t p = 0; p < 3; p++) {
        nl_column_builder_free(z.builders[p]);
        nl_vector_fini(&parameters[p]);
    }
    nl_element_set_free(sets.set);
    nl_vector_fini(&made);
    nl_vector_fini(&children[0]);
    nl_vector_fini(&children[1]);
    nl_buffer_release(space);
    return status;
}

/* Keys of both maps as one type, text not being read as a number. */
static nl_status bind_map_zip(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    const nl_type *first = bind->given_types[0]->children[0].type;
    const nl_type *second = bind->given_types[1]->children[0].type;
    return nl_common_type_but_text(bind->arena, first, second, nl_confs_rules(bind->confs)) ? NULL : nl_map_zip_diff_types(bind);
}

static const nl_function_row rows[] = {
    {.name = "str_to_map", .kind = NL_FUNCTION_SCALAR, .group = "map", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true,
     .signature = "(any [, any [, any]]) -> ?", .bind = bind_str_to_map, .kernel = str_to_map_kernel, .since = "2.0.1",
     .doc = "A map from a text of pairs, parted by regular expressions: ',' between pairs and ':' between key and value when left out.",
     .examples = {{"str_to_map('a:1,b:2,c:3', ',', ':')", "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}"}, {"str_to_map('a')", "{\"a\":null}"}}},
    {.name = "map_zip_with", .kind = NL_FUNCTION_SCALAR, .group = "lambda", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true,
     .signature = "(map<K, V>, map<K, W>, lambda(K, V, W) -> U) -> map<K, U>", .bind = bind_map_zip, .kernel = map_zip_kernel, .since = "3.0.0",
     .doc = "Two maps joined by a function of key and both values; a value that is missing is NULL.",
     .examples = {{"map_zip_with(map(1, 'a', 2, 'b'), map(1, 'x', 2, 'y'), (k, v1, v2) -> concat(v1, v2))", "{1:\"ax\",2:\"by\"}"}}},
};

NL_DEFINE_FUNCTION_GROUP(map_more, rows);

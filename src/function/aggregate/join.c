/* aggregate/join.c - listagg: texts with a delimiter between them, in the order they come or in that of WITHIN GROUP.
 *
 * Without an order the state is the joined text. With one the analyzer gives (value, delimiter, directions, keys …), two
 * letters of directions per key ("a" or "d", nulls "f"irst or "l"ast); the state keeps value and keys of every row, and
 * the result sorts them, so that any road the rows came by gives the same text.
 */
#include "function/aggregate/state.h"
#include "function/groups.h"

#define KEY_FIRST 3u /* the arguments before the keys */

typedef struct join_how {
    nl_str delimiter;
    uint32_t key_count;
    const char *directions;
} join_how;

typedef struct joined {
    nl_agg_bytes bytes; /* the text so far, or encoded rows: the value, its keys */
    uint32_t count;     /* rows */
} joined;
NL_AGGREGATE_SIZE(join, joined)

static nl_status add_text(const join_how *how, nl_eval *eval, joined *s, nl_str text)
{
    if (s->count > 0) NL_TRY(nl_agg_bytes_append(&s->bytes, eval->memory, how->delimiter.data, how->delimiter.length));
    s->count++;
    return nl_agg_bytes_append(&s->bytes, eval->memory, text.data, text.length);
}

static nl_status join_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                           uint32_t row, void *state)
{
    const join_how *how = function->state;
    joined *s = state;
    if (how->key_count == 0) return add_text(how, eval, s, nl_reader_str(&readers[0], row));
    NL_TRY(nl_encode_row(&args[0], row, &s->bytes, eval->memory));
    for (uint32_t k = 0; k < how->key_count; k++) NL_TRY(nl_encode_row(&args[KEY_FIRST + k], row, &s->bytes, eval->memory));
    s->count++;
    return NULL;
}
NL_AGGREGATE_STEPS(join, 1, join_step)

static nl_status join_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const joined *s = state;
    NL_TRY(nl_agg_bytes_append(bytes, eval->memory, &s->count, sizeof s->count));
    return nl_agg_bytes_append(bytes, eval->memory, s->bytes.data, s->bytes.length);
}

static nl_status join_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    const join_how *how = function->state;
    joined *s = state;
    uint32_t count;
    NL_CHECK(partial.length >= sizeof count);
    memcpy(&count, partial.data, sizeof count);
    nl_str rest = nl_str_slice(partial, sizeof count, partial.length);
    if (count == 0) return NULL;
    if (how->key_count == 0) return add_text(how, eval, s, rest);
    s->count += count;
    return nl_agg_bytes_append(&s->bytes, eval->memory, rest.data, rest.length);
}
NL_ENCODED_PARTIALS(join, join_encode, join_merge_one)

/* --- sorting the rows of one group --- */

typedef struct sorting {
    const join_how *how;
    nl_vector *columns; /* the value, the keys */
    uint32_t column_count;
    nl_buffer *order;   /* two runs of row numbers */
} sorting;

static nl_status decode_columns(const nl_bound_function *function, nl_eval *eval, const joined *s, sorting *sort)
{
    nl_column_builder **builders = NULL;
    nl_buffer *memory = NULL;
    size_t offset = 0;
    NL_TRY(nl_buffer_new(eval->memory, sort->column_count * sizeof *builders, true, &memory));
    builders = (nl_column_builder **)(void *)memory->data;
    nl_status status = NULL;
    for (uint32_t c = 0; c < sort->column_count; c++)
        NL_GO(nl_column_builder_new(function->argument_types[c == 0 ? 0 : KEY_FIRST + c - 1], eval->memory, &builders[c]));
    for (uint32_t row = 0; row < s->count; row++)
        for (uint32_t c = 0; c < sort->column_count; c++)
            NL_GO(nl_decode_row(s->bytes.data, &offset, function->argument_types[c == 0 ? 0 : KEY_FIRST + c - 1], builders[c]));
    for (uint32_t c = 0; c < sort->column_count; c++) NL_GO(nl_column_builder_finish(builders[c], &sort->columns[c]));
done:
    for (uint32_t c = 0; c < sort->column_count; c++) nl_column_builder_free(builders[c]);
    nl_buffer_release(memory);
    return status;
}

static bool comes_before(const sorting *sort, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < sort->how->key_count; k++) {
        const nl_vector *key = &sort->columns[k + 1];
        bool a_null = nl_vector_is_null(key, a);
        bool b_null = nl_vector_is_null(key, b);
        if (a_null && b_null) continue;
        if (a_null || b_null) return (sort->how->directions[2 * k + 1] == 'f') == a_null;
        int order = nl_vector_row_compare(key, a, key, b);
        if (order != 0) return sort->how->directions[2 * k] == 'd' ? order > 0 : order < 0;
    }
    return false;
}

/* Bottom-up merge sort; rows of equal keys stay as they came. Returns the sorted row numbers. */
static const uint32_t *sort_rows(const sorting *sort, uint32_t count)
{
    uint32_t *from = (uint32_t *)(void *)sort->order->data;
    uint32_t *spare = from + count;
    for (uint32_t i = 0; i < count; i++) from[i] = i;
    for (uint64_t run = 1; run < count; run *= 2) {
        for (uint64_t start = 0; start < count; start += 2 * run) {
            uint64_t middle = NL_MIN(start + run, (uint64_t)count);
            uint64_t stop = NL_MIN(middle + run, (uint64_t)count);
            uint64_t a = start;
            uint64_t b = middle;
            for (uint64_t at = start; at < stop; at++) {
                bool takes_b = a == middle || (b < stop && comes_before(sort, from[b], from[a]));
                spare[at] = takes_b ? from[b++] : from[a++];
            }
        }
        uint32_t *sorted = spare;
        spare = from;
        from = sorted;
    }
    return from;
}

static nl_status join_sorted(const sorting *sort, nl_eval *eval, uint32_t count, nl_column_builder *builder)
{
    joined text = {0};
    nl_reader reader;
    nl_reader_init(&reader, &sort->columns[0]);
    const uint32_t *order = sort_rows(sort, count);
    nl_status status = NULL;
    for (uint32_t i = 0; i < count && status == NULL; i++) status = add_text(sort->how, eval, &text, nl_reader_str(&reader, order[i]));
    if (status == NULL) status = nl_column_builder_str(builder, (nl_str){text.bytes.data, text.bytes.length});
    nl_agg_bytes_free(&text.bytes, eval->memory);
    return status;
}

static nl_status join_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    const joined *s = state;
    const join_how *how = function->state;
    if (s->count == 0) return nl_column_builder_null(builder);
    if (how->key_count == 0) return nl_column_builder_str(builder, (nl_str){s->bytes.data, s->bytes.length});
    sorting sort = {.how = how, .column_count = how->key_count + 1};
    nl_buffer *columns = NULL;
    nl_status status = NULL;
    NL_GO(nl_buffer_new(eval->memory, sort.column_count * sizeof(nl_vector), true, &columns));
    sort.columns = (nl_vector *)(void *)columns->data;
    NL_GO(nl_buffer_new(eval->memory, nl_size_mul(s->count, 2 * sizeof(uint32_t)), false, &sort.order));
    NL_GO(decode_columns(function, eval, s, &sort));
    status = join_sorted(&sort, eval, s->count, builder);
done:
    for (uint32_t c = 0; columns != NULL && c < sort.column_count; c++) nl_vector_fini(&sort.columns[c]);
    nl_buffer_release(columns);
    nl_buffer_release(sort.order);
    return status;
}
NL_BUILT_RESULT(join, join_result)

static void join_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_agg_bytes_free(&((joined *)state)->bytes, eval->memory);
}
NL_ENCODED_OPS(join);

/* Text, or what can be read as text; bytes with a delimiter of bytes. */
static nl_status bind_types(nl_bind *bind, const nl_type **result)
{
    const nl_type *value = bind->argument_types[0];
    const nl_type *delimiter = bind->argument_count > 1 ? bind->argument_types[1] : nl_type_of(NL_TYPE_NULL);
    const nl_type *target = value->id == NL_TYPE_BINARY ? nl_type_binary() : nl_type_string();
    bool fits = value->id == NL_TYPE_BINARY || value->id == NL_TYPE_STRING || value->id == NL_TYPE_NULL ||
                nl_can_cast_implicitly(value, nl_type_string(), nl_confs_rules(bind->confs));
    if (!fits) return nl_bind_unexpected_type(bind, 0, "(\"STRING\" or \"BINARY\")");
    bool same = delimiter->id == NL_TYPE_NULL || nl_type_equal(delimiter, target) ||
                (target->id == NL_TYPE_STRING && delimiter->id != NL_TYPE_BINARY && nl_can_cast_implicitly(delimiter, target, nl_confs_rules(bind->confs)));
    if (!same && delimiter->id != NL_TYPE_STRING && delimiter->id != NL_TYPE_BINARY)
        return nl_bind_unexpected_type(bind, 1, "(\"STRING\" or \"BINARY\")");
    if (!same)
        return NL_RAISE(DATATYPE_MISMATCH__DATA_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P_STR("functionName", nl_quoted_name(bind)),
                        NL_P_STR("dataType", nl_arena_f(bind->arena, "(\"" NL_STR_FMT "\" or \"" NL_STR_FMT "\")",
                                                        NL_STR_ARG(nl_type_sql(bind->arena, target)), NL_STR_ARG(nl_type_sql(bind->arena, delimiter)))));
    bind->argument_types[0] = target;
    if (bind->argument_count > 1) bind->argument_types[1] = target;
    *result = target;
    return NULL;
}

static nl_status bind_join(nl_bind *bind, nl_bound_function *bound)
{
    join_how *how = NL_NEW(bind->arena, join_how);
    NL_TRY(bind_types(bind, &bound->result_type));
    if (bind->argument_count > 1) {
        NL_TRY(nl_bind_refresh_constants(bind));
        if (bind->constants[1] == NULL) return nl_bind_not_foldable(bind, 1, "`delimiter`");
        if (!bind->constants[1]->is_null) how->delimiter = nl_arena_str(bind->arena, bind->constants[1]->text);
    }
    if (bind->argument_count > KEY_FIRST) {
        NL_CHECK(bind->constants[2] != NULL && bind->constants[2]->text.length == 2 * (bind->argument_count - KEY_FIRST));
        how->key_count = bind->argument_count - KEY_FIRST;
        how->directions = nl_str_c(bind->arena, bind->constants[2]->text);
    }
    bound->state = how;
    bound->is_deterministic = false;
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "listagg", .aliases = "string_agg", NL_AGGREGATE_ROW, .signature = "(any [, any, any...]) -> ?", .is_nondeterministic = true, .bind = bind_join,
     .aggregate = &join_ops, .since = "4.0.0", .doc = "All texts that are not NULL, with a delimiter between them, in the order of WITHIN GROUP when there is one.",
     .examples = {{"listagg(col, ',') FROM VALUES ('a'), ('b'), ('c') AS tab(col)", "a,b,c"},
                  {"listagg(col, ',') WITHIN GROUP (ORDER BY col DESC) FROM VALUES ('a'), ('b'), ('c') AS tab(col)", "c,b,a"},
                  {"listagg(DISTINCT col) FROM VALUES ('a'), ('a') AS tab(col)", "a"}}},
};

NL_DEFINE_FUNCTION_GROUP(join, rows);

/* generator/json_tuple.c - json_tuple: fields of a JSON object as columns of text. */
#include "function/groups.h"
#include "function/scalar/json_path.h"

#define COLUMNS_MAX 256u

typedef struct tuple_call {
    const nl_vector *args;
    uint32_t column_count;
    nl_json_parser in;
    nl_column_builder *builders[COLUMNS_MAX];
    nl_builder texts; /* of the present row, one after the other */
} tuple_call;

/* The value's text goes behind the others of the row; its place is remembered, since the builder may move. */
static bool take_value(tuple_call *call, size_t *start, size_t *stop)
{
    *start = call->texts.length;
    bool is_good = true;
    if (call->in.event == NL_JSON_STRING)
        nl_append(&call->texts, call->in.text);
    else
        is_good = nl_json_copy_as_jackson(&call->in, &call->texts);
    *stop = call->texts.length;
    return is_good;
}

static bool is_wanted(const tuple_call *call, uint32_t column, uint32_t row, nl_str name)
{
    const nl_vector *names = &call->args[column + 1];
    if (nl_vector_is_null(names, row)) return false;
    nl_reader reader;
    nl_reader_init(&reader, names);
    return nl_str_equal(nl_reader_str(&reader, row), name);
}

typedef struct place {
    size_t start, stop;
    bool is_set;
} place;

/* False: not an object, or broken; then every column is null. */
static bool read_fields(tuple_call *call, uint32_t row, place *places)
{
    nl_json_parser *in = &call->in;
    if (nl_json_next(in) != NL_JSON_OBJECT_START) return false;
    for (nl_json_event event = nl_json_next(in); event == NL_JSON_NAME; event = nl_json_next(in)) {
        place found = {.is_set = false};
        bool is_taken = false;
        bool wanted[COLUMNS_MAX] = {false};
        for (uint32_t c = 0; c < call->column_count; c++) {
            wanted[c] = is_wanted(call, c, row, in->text);
            is_taken |= wanted[c];
        }
        if (is_taken) {
            if (nl_json_next(in) != NL_JSON_NULL) {
                found.is_set = true;
                if (!take_value(call, &found.start, &found.stop)) return false;
            }
            for (uint32_t c = 0; c < call->column_count; c++)
                if (wanted[c] && found.is_set) places[c] = found;
        } else if (!nl_json_skip(in)) {
            return false;
        }
    }
    return in->event == NL_JSON_OBJECT_END;
}

static nl_status add_row(tuple_call *call, const nl_reader *texts, uint32_t row)
{
    place places[COLUMNS_MAX] = {{0}};
    bool is_read = false;
    nl_builder_clear(&call->texts);
    if (!nl_vector_is_null(&call->args[0], row)) {
        nl_json_reset(&call->in, nl_reader_str(texts, row));
        is_read = read_fields(call, row, places);
    }
    nl_str all = nl_builder_str(&call->texts);
    for (uint32_t c = 0; c < call->column_count; c++) {
        bool is_null = !is_read || !places[c].is_set;
        NL_TRY(is_null ? nl_column_builder_null(call->builders[c])
                       : nl_column_builder_str(call->builders[c], nl_str_slice(all, places[c].start, places[c].stop)));
    }
    return NULL;
}

static nl_status generate(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, bool is_outer,
                          nl_buffer **parent_rows, uint32_t *row_count, nl_vector *columns)
{
    (void)is_outer; /* there is a row for each row */
    tuple_call call = {.args = args, .column_count = function->result_type->child_count};
    nl_buffer *parents = NULL;
    nl_reader texts;
    nl_status status = NULL;
    nl_json_init(&call.in, (nl_str){NULL, 0}, &nl_json_function_options);
    nl_builder_init(&call.texts, NL_VALUE_BYTES_MAX);
    nl_reader_init(&texts, &args[0]);
    NL_GO(nl_buffer_new(eval->memory, nl_size_mul(NL_MAX(selection.count, 1u), sizeof(uint32_t)), false, &parents));
    for (uint32_t c = 0; c < call.column_count; c++) NL_GO(nl_column_builder_new(nl_type_string(), eval->memory, &call.builders[c]));
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        ((uint32_t *)(void *)parents->data)[i] = row;
        NL_GO(add_row(&call, &texts, row));
    }
    for (uint32_t c = 0; c < call.column_count; c++) NL_GO(nl_column_builder_finish(call.builders[c], &columns[c]));
    *parent_rows = parents;
    *row_count = selection.count;
    parents = NULL;
done:
    for (uint32_t c = 0; c < call.column_count; c++) nl_column_builder_free(call.builders[c]);
    nl_json_fini(&call.in);
    nl_builder_fini(&call.texts);
    nl_buffer_release(parents);
    return status;
}
static const nl_generator_ops tuple_ops = {.generate = generate};

static nl_status bind_tuple(nl_bind *bind, nl_bound_function *bound)
{
    nl_arena *arena = bind->arena;
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        if (bind->argument_types[i]->id != NL_TYPE_STRING)
            return NL_RAISE(DATATYPE_MISMATCH__NON_STRING_TYPE, NL_P_STR("sqlExpr", nl_quoted(arena, nl_bind_call_sql(bind))), NL_P("funcName", "`json_tuple`"));
    }
    if (bind->argument_count < 2) return nl_bind_wrong_count(bind, NL_STR("> 1"));
    uint32_t count = bind->argument_count - 1;
    if (count > COLUMNS_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "json_tuple with more than %u fields is not supported.", COLUMNS_MAX);
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, count);
    for (uint32_t c = 0; c < count; c++) fields[c] = (nl_field){.name = nl_arena_f(arena, "c%u", c), .type = nl_type_string(), .is_nullable = true};
    bound->result_type = nl_type_struct(arena, fields, count);
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "json_tuple", .kind = NL_FUNCTION_GENERATOR, .group = "json", .nulls = NL_NULL_SEEN, .signature = "(any, any...) -> ?", .bind = bind_tuple,
     .generator = &tuple_ops, .since = "1.6.0", .doc = "The named fields of a JSON object as columns.", .examples = {{"json_tuple('{\"a\":1, \"b\":2}', 'a', 'b')", "1\t2"}}},
};

NL_DEFINE_FUNCTION_GROUP(json_tuple, rows);

/* scalar/json.c - get_json_object, json_array_length, json_object_keys, to_json, from_json, schema_of_json.
 *
 * from_json's schema comes from the analyzer as a null of the wanted type, since only it can read types.
 */
#include "format/json/json_convert.h"
#include "format/json/json_format.h"
#include "format/json/json_reader.h"
#include "function/groups.h"
#include "function/scalar/json_path.h"
#include "function/scalar/text_call.h"

/* --- get_json_object --- */

static nl_status bind_get(nl_bind *bind, nl_bound_function *bound)
{
    for (uint32_t i = 0; i < 2; i++) NL_TRY(nl_bind_only_string(bind, i));
    const nl_value *text = bind->constants[1];
    if (text == NULL || text->is_null) return NULL;
    nl_json_path *path = NL_NEW(bind->arena, nl_json_path);
    if (!nl_json_path_parse(bind->arena, nl_arena_str(bind->arena, text->text), path)) path->steps = NULL;
    bound->state = path;
    return NULL;
}

/* One call's paths that vary by row: the last one is kept. */
typedef struct varying_path {
    nl_arena *arena;
    nl_str text;
    nl_json_path path;
    bool is_path;
} varying_path;

static const nl_json_path *find_path(varying_path *varying, nl_str text)
{
    if (varying->arena == NULL || !nl_str_equal(varying->text, text)) {
        nl_arena_free(varying->arena);
        varying->arena = nl_arena_new(NULL);
        varying->text = nl_arena_str(varying->arena, text);
        varying->is_path = nl_json_path_parse(varying->arena, varying->text, &varying->path);
    }
    return varying->is_path ? &varying->path : NULL;
}

static nl_status get_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_json_path *constant = function->state;
    varying_path varying = {0};
    nl_json_finder finder;
    nl_output output;
    nl_reader texts, paths;
    nl_builder found;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&texts, &args[0]);
    nl_reader_init(&paths, &args[1]);
    nl_builder_init(&found, NL_VALUE_BYTES_MAX);
    nl_json_finder_init(&finder);
    NL_EACH_SELECTED(row)
    {
        const nl_json_path *path = constant;
        if (constant == NULL)
            path = find_path(&varying, nl_reader_str(&paths, row));
        else if (constant->steps == NULL)
            path = NULL;
        nl_builder_clear(&found);
        bool is_found = path != NULL && nl_json_find(&finder, path, nl_reader_str(&texts, row), &found);
        NL_GO(is_found ? nl_output_builder(&output, row, &found) : nl_output_null(&output, row));
    }
done:
    nl_json_finder_fini(&finder);
    nl_builder_fini(&found);
    nl_arena_free(varying.arena);
    return status;
}

/* --- json_array_length, json_object_keys --- */

static nl_status bind_text(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    return nl_bind_only_string(bind, 0);
}

static bool count_elements(nl_json_parser *in, int32_t *count)
{
    *count = 0;
    if (nl_json_next(in) != NL_JSON_ARRAY_START) return false;
    for (;; (*count)++) {
        nl_json_event event = nl_json_next(in);
        if (event == NL_JSON_ARRAY_END) return true;
        if (event == NL_JSON_ERROR || event == NL_JSON_END || !nl_json_skip(in)) return false;
    }
}

static nl_status length_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_reader texts;
    nl_json_parser in;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&texts, &args[0]);
    nl_json_init(&in, (nl_str){NULL, 0}, &nl_json_function_options);
    NL_EACH_SELECTED(row)
    {
        nl_json_reset(&in, nl_reader_str(&texts, row));
        if (!count_elements(&in, (int32_t *)output.values + row)) {
            ((int32_t *)output.values)[row] = 0;
            NL_GO(nl_output_null(&output, row));
        }
    }
done:
    nl_json_fini(&in);
    return status;
}

static nl_status append_keys(nl_json_parser *in, nl_column_builder *builder)
{
    nl_column_builder *keys = nl_column_builder_child(builder, 0);
    uint32_t before = nl_column_builder_length(builder);
    uint32_t count = 0;
    if (nl_json_next(in) != NL_JSON_OBJECT_START) return nl_column_builder_null(builder);
    for (nl_json_event event = nl_json_next(in); event == NL_JSON_NAME; event = nl_json_next(in), count++) {
        NL_TRY(nl_column_builder_str(keys, in->text));
        if (!nl_json_skip(in)) break;
    }
    if (in->event == NL_JSON_OBJECT_END) return nl_column_builder_end_list(builder, count);
    nl_column_builder_truncate(builder, before);
    return nl_column_builder_null(builder);
}

static nl_status keys_kernel(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *builder = NULL;
    nl_reader texts;
    nl_json_parser in;
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    nl_reader_init(&texts, &args[0]);
    nl_json_init(&in, (nl_str){NULL, 0}, &nl_json_function_options);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        if (is_selected) nl_json_reset(&in, nl_reader_str(&texts, row));
        NL_GO(is_selected ? append_keys(&in, builder) : nl_column_builder_null(builder));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_json_fini(&in);
    nl_column_builder_free(builder);
    return status;
}

/* --- to_json --- */

static bool is_json_root(const nl_type *type)
{
    return nl_type_is_nested(type) || type->id == NL_TYPE_VARIANT;
}

static nl_status raise_schema(const nl_bind *bind, const nl_type *type)
{
    return NL_RAISE(DATATYPE_MISMATCH__INVALID_JSON_SCHEMA, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P_STR("schema", nl_quoted_type(bind->arena, type)));
}

static nl_status bind_to_json(nl_bind *bind, nl_bound_function *bound)
{
    nl_json_file_options *options = NL_NEW(bind->arena, nl_json_file_options);
    nl_text_option_list given = {0};
    const nl_type *type = bind->argument_types[0];
    if (type->id != NL_TYPE_NULL && !is_json_root(type)) return raise_schema(bind, type);
    NL_TRY(nl_text_call_options(bind, 1, &given));
    const nl_text_session session = nl_text_call_session(bind);
    NL_TRY(nl_json_options_parse(given, &session, NL_TEXT_WRITE, bind->arena, options));
    bound->state = options;
    return NULL;
}

static nl_status to_json_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_builder text;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    NL_EACH_SELECTED(row)
    {
        nl_builder_clear(&text);
        NL_GO(nl_json_append_value(function->state, &args[0], row, &text));
        NL_GO(nl_output_builder(&output, row, &text));
    }
done:
    nl_builder_fini(&text);
    return status;
}

/* --- from_json --- */

typedef struct from_state {
    nl_json_file_options options;
    nl_text_target target;
} from_state;

static nl_status bind_from_json(nl_bind *bind, nl_bound_function *bound)
{
    from_state *state = NL_NEW(bind->arena, from_state);
    nl_text_option_list given = {0};
    const nl_type *type = bind->argument_types[1];
    NL_TRY(nl_bind_only_string(bind, 0));
    if (!is_json_root(type)) return raise_schema(bind, type);
    if (type->id == NL_TYPE_MAP && type->children[0].type->id != NL_TYPE_STRING)
        return NL_RAISE(DATATYPE_MISMATCH__INVALID_JSON_MAP_KEY_TYPE, NL_P("sqlExpr", "\"entries\""),
                        NL_P_STR("schema", nl_quoted_type(bind->arena, type)));
    NL_TRY(nl_text_call_options(bind, 2, &given));
    nl_text_session session = nl_text_call_session(bind);
    session.is_lazy = true;
    NL_TRY(nl_json_options_parse(given, &session, NL_TEXT_READ, bind->arena, &state->options));
    NL_TRY(nl_text_target_init(&state->target, bind->arena, type, &state->options.formats, "from_json"));
    bound->state = state;
    bound->result_type = state->target.result_type;
    bound->can_fail = true;
    return NULL;
}

static bool starts_array(nl_str text)
{
    nl_str trimmed = nl_str_trim(text);
    return trimmed.length > 0 && trimmed.data[0] == '[';
}

/* A row of the builder, whatever the text is. */
static nl_status convert_row(const from_state *state, nl_json_converter *converter, nl_text_rows *rows, nl_str text)
{
    const nl_type *type = state->target.data_type;
    nl_json_fit fit = NL_JSON_BROKEN;
    uint32_t before = nl_column_builder_length(rows->builder);
    uint32_t count = 0;
    if (nl_str_trim(text).length == 0) return nl_text_rows_null(rows);
    /* an array is no struct, though files of JSON take its elements as rows */
    if (type->id != NL_TYPE_STRUCT || !starts_array(text)) NL_TRY(nl_json_convert(converter, text, rows->builder, &count, &fit));
    if (count > 0) return nl_text_rows_end(rows, text, fit != NL_JSON_FITS);
    nl_column_builder_truncate(rows->builder, before);
    return nl_text_rows_bad(rows, text);
}

static nl_status from_json_kernel(NL_KERNEL_PARAMETERS)
{
    const from_state *state = function->state;
    nl_json_converter *converter = NULL;
    nl_text_rows rows = {0};
    nl_reader texts;
    nl_status status = NULL;
    NL_TRY(nl_text_rows_open(&state->target, eval->memory, &rows));
    NL_GO(nl_json_converter_new(state->target.data_type, &state->options, eval->memory, &converter));
    nl_reader_init(&texts, &args[0]);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        bool is_null = !is_selected || nl_vector_is_null(&args[0], row);
        NL_GO(is_null ? nl_text_rows_null(&rows) : convert_row(state, converter, &rows, nl_reader_str(&texts, row)));
    }
    status = nl_text_rows_finish(&rows, length, out);
done:
    nl_json_converter_free(converter);
    nl_text_rows_close(&rows);
    return status;
}

/* --- schema_of_json --- */

static nl_status bind_schema(nl_bind *bind, nl_bound_function *bound)
{
    nl_json_file_options options;
    nl_text_option_list given = {0};
    const nl_type *type = NULL;
    bool is_json = false;
    NL_TRY(nl_text_call_sample(bind, "json"));
    NL_TRY(nl_text_call_options(bind, 1, &given));
    const nl_text_session session = nl_text_call_session(bind);
    NL_TRY(nl_json_options_parse(given, &session, NL_TEXT_READ, bind->arena, &options));
    NL_TRY(nl_json_infer_text(bind->constants[0]->text, &options, bind->arena, &type, &is_json));
    if (!is_json) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The text is not JSON: " NL_STR_FMT, NL_STR_ARG(bind->constants[0]->text));
    nl_text_call_answer_schema(bind, type, bound);
    return NULL;
}

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "json", .nulls = NL_NULL_IN_NULL_OUT

static const nl_function_row rows[] = {
    {.name = "get_json_object", ROW, .signature = "(any, any) -> string", .bind = bind_get, .kernel = get_kernel, .since = "1.5.0",
     .doc = "What a path such as '$.a[0].b' finds in a JSON text.", .examples = {{"get_json_object('{\"a\":\"b\"}', '$.a')", "b"}}},
    {.name = "json_array_length", ROW, .signature = "(any) -> int", .bind = bind_text, .kernel = length_kernel, .since = "3.1.0",
     .doc = "The number of elements of an array in JSON, NULL for anything else.", .examples = {{"json_array_length('[1,2,3,4]')", "4"}, {"json_array_length('[1,2')", "NULL"}}},
    {.name = "json_object_keys", ROW, .signature = "(any) -> array<string>", .bind = bind_text, .kernel = keys_kernel, .since = "3.1.0",
     .doc = "The names of an object's fields in JSON, NULL for anything else.", .examples = {{"json_object_keys('{}')", "[]"}, {"json_object_keys('{\"key\": \"value\"}')", "[\"key\"]"}}},
    {.name = "to_json", ROW, .can_fail = true, .signature = "(any [, any]) -> string", .bind = bind_to_json, .kernel = to_json_kernel, .since = "2.2.0",
     .doc = "A struct, array or map as JSON, with the options of JSON files.",
     .examples = {{"to_json(named_struct('a', 1, 'b', 2))", "{\"a\":1,\"b\":2}"}, {"to_json(map('a', 1))", "{\"a\":1}"}}},
    {.name = "from_json", .kind = NL_FUNCTION_SCALAR, .group = "json", .nulls = NL_NULL_SEEN, .signature = "(any, any [, any]) -> ?", .bind = bind_from_json,
     .kernel = from_json_kernel, .since = "2.2.0", .doc = "The struct, array or map a JSON text holds, of the type that the second argument names.",
     .examples = {{"from_json('{\"a\":1, \"b\":0.8}', 'a INT, b DOUBLE')", "{\"a\":1,\"b\":0.8}"}}},
    {.name = "schema_of_json", .kind = NL_FUNCTION_SCALAR, .group = "json", .nulls = NL_NULL_SEEN, .signature = "(any [, any]) -> string", .bind = bind_schema,
     .kernel = nl_text_schema_kernel, .since = "2.4.0", .doc = "The type of a JSON text, as from_json takes it.", .examples = {{"schema_of_json('[{\"col\":0}]')", "ARRAY<STRUCT<col: BIGINT>>"}}},
};

NL_DEFINE_FUNCTION_GROUP(json, rows);

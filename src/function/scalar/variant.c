/* scalar/variant.c - parse_json, variant_get, is_variant_null, schema_of_variant, to_variant_object and the try_ forms.
 *
 * variant_get's type comes from the analyzer as a null of that type, since only it can read types.
 */
#include "function/coercion.h"
#include "function/groups.h"
#include "function/variant_schema.h"
#include "function/variant_value.h"

#include "base/number.h"
#include "format/json/json_convert.h"

/* --- parse_json --- */

static nl_status bind_parse(nl_bind *bind, nl_bound_function *bound)
{
    bound->is_nullable = bound->is_nullable || bind->row->name[0] == 't';
    return nl_bind_only_string(bind, 0);
}

static nl_status raise_bad_json(nl_str text)
{
    return NL_RAISE(MALFORMED_RECORD_IN_PARSING__WITHOUT_SUGGESTION, NL_P_STR("badRecord", text), NL_P("failFastMode", "FAILFAST"));
}

/* One text as a row. What is wrong with it is the row's null, or the call's error. */
static nl_status parse_row(const char *name, nl_json_parser *in, nl_variant_builder *made, nl_str text, nl_column_builder *column)
{
    const bool is_try = name[0] == 't';
    bool is_json = false;
    nl_json_reset(in, text);
    nl_json_next(in);
    nl_variant_builder_reset(made);
    nl_status status = nl_json_to_variant(in, made, &is_json);
    if (status && nl_error_condition(status) == NL_COND_VARIANT_DUPLICATE_KEY) {
        nl_error_free(status);
        status = NULL;
        is_json = false;
    }
    if (status) return status;
    if (!is_json) return is_try ? nl_column_builder_null(column) : raise_bad_json(text);
    status = nl_variant_end_row(made, name, column);
    if (!is_try || !status || nl_error_condition(status) != NL_COND_VARIANT_SIZE_LIMIT) return status;
    nl_error_free(status);
    return nl_column_builder_null(column);
}

static nl_status parse_kernel(NL_KERNEL_PARAMETERS)
{
    const nl_json_options options = {.allows_unquoted_controls = false};
    nl_column_builder *column = NULL;
    nl_variant_builder made;
    nl_json_parser in;
    nl_reader texts;
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &column));
    nl_variant_builder_init(&made);
    nl_json_init(&in, (nl_str){NULL, 0}, &options);
    nl_reader_init(&texts, &args[0]);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        const bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        NL_GO(is_selected ? parse_row(function->row->name, &in, &made, nl_reader_str(&texts, row), column) : nl_column_builder_null(column));
    }
    status = nl_column_builder_finish(column, out);
done:
    nl_json_fini(&in);
    nl_variant_builder_fini(&made);
    nl_column_builder_free(column);
    return status;
}

/* --- is_variant_null --- */

static nl_status bind_variant(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    if (bind->argument_types[0]->id == NL_TYPE_NULL) bind->argument_types[0] = nl_type_of(NL_TYPE_VARIANT);
    return bind->argument_types[0]->id == NL_TYPE_VARIANT ? NULL : nl_bind_unexpected_type(bind, 0, "\"VARIANT\"");
}

static nl_status is_null_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_variant_reader reader = {0};
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_GO(nl_variant_reader_open(&reader, &args[0], eval->memory));
    NL_EACH_SELECTED(row)
    {
        nl_variant variant;
        if (nl_vector_is_null(&args[0], row)) continue;
        NL_GO(nl_variant_reader_at(&reader, row, &variant));
        ((uint8_t *)output.values)[row] = variant.kind == NL_VARIANT_NULL;
    }
done:
    nl_variant_reader_close(&reader);
    return status;
}

/* --- variant_get --- */

enum { PATH_STEPS_MAX = 256 };

typedef struct path_step {
    bool is_index;
    nl_str name;
    uint32_t index;
} path_step;

typedef struct variant_path {
    nl_arena *arena; /* of a path that varies by row; else NULL */
    nl_str text;
    path_step *steps;
    uint32_t count;
    bool is_path;
} variant_path;

/* `[123]`, `['name']` or `["name"]`, from behind the bracket. */
static bool parse_bracket(nl_str text, size_t *at, path_step *step)
{
    const size_t start = *at;
    if (start >= text.length) return false;
    const char quote = text.data[start];
    if (quote == '\'' || quote == '"') {
        const size_t stop = nl_str_find_char(text, quote, start + 1);
        if (stop == NL_NOT_FOUND || stop == start + 1) return false;
        step->name = nl_str_slice(text, start + 1, stop);
        if (nl_str_find_char(step->name, '?', 0) != NL_NOT_FOUND) return false;
        *at = stop + 1;
    } else {
        int64_t index;
        while (*at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9') (*at)++;
        if (!nl_parse_int64(nl_str_slice(text, start, *at), &index) || index > INT32_MAX) return false;
        step->is_index = true;
        step->index = (uint32_t)index;
    }
    return *at < text.length && text.data[(*at)++] == ']';
}

static bool parse_path(nl_arena *arena, nl_str text, variant_path *path)
{
    path->steps = NL_NEW_ARRAY(arena, path_step, PATH_STEPS_MAX);
    if (text.length == 0 || text.data[0] != '$') return false;
    for (size_t at = 1; at < text.length;) {
        path_step step = {0};
        if (path->count == PATH_STEPS_MAX) return false;
        const char c = text.data[at++];
        if (c == '[') {
            if (!parse_bracket(text, &at, &step)) return false;
        } else if (c == '.') {
            const size_t start = at;
            while (at < text.length && text.data[at] != '.' && text.data[at] != '[') at++;
            step.name = nl_str_slice(text, start, at);
            if (step.name.length == 0) return false;
        } else {
            return false;
        }
        path->steps[path->count++] = step;
    }
    return true;
}

static nl_status bind_get(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *target = bind->argument_count == 3 ? bind->argument_types[2] : nl_type_of(NL_TYPE_VARIANT);
    NL_TRY(bind_variant(bind, bound));
    NL_TRY(nl_bind_only_string(bind, 1));
    if (!nl_variant_holds(target, true))
        return NL_RAISE(DATATYPE_MISMATCH__CAST_WITHOUT_SUGGESTION, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P("srcType", "\"VARIANT\""), NL_P_STR("targetType", nl_quoted_type(bind->arena, target)));
    bound->result_type = target;
    bound->is_nullable = true;
    const nl_value *text = bind->constants ? bind->constants[1] : NULL;
    if (text == NULL || text->is_null) return NULL;
    variant_path *path = NL_NEW(bind->arena, variant_path);
    path->text = nl_arena_str(bind->arena, text->text);
    path->is_path = parse_path(bind->arena, path->text, path);
    bound->state = path;
    return NULL;
}

static const variant_path *find_path(variant_path *varying, nl_str text)
{
    if (varying->arena && nl_str_equal(varying->text, text)) return varying;
    nl_arena_free(varying->arena);
    *varying = (variant_path){.arena = nl_arena_new(NULL)};
    varying->text = nl_arena_str(varying->arena, text);
    varying->is_path = parse_path(varying->arena, varying->text, varying);
    return varying;
}

/* Moves *variant along the path. *is_found false: it leads nowhere. */
static nl_status follow(const variant_path *path, nl_variant *variant, bool *is_found)
{
    *is_found = true;
    for (uint32_t i = 0; i < path->count && *is_found; i++) {
        const path_step *step = &path->steps[i];
        const nl_variant outer = *variant;
        if (step->is_index) {
            *is_found = outer.kind == NL_VARIANT_ARRAY && step->index < outer.count;
            if (*is_found) NL_TRY(nl_variant_element(&outer, step->index, variant));
        } else {
            *is_found = outer.kind == NL_VARIANT_OBJECT;
            if (*is_found) NL_TRY(nl_variant_find(&outer, step->name, is_found, variant));
        }
    }
    return NULL;
}

typedef struct get_call {
    const nl_bound_function *function;
    const variant_path *constant;
    variant_path varying;
    nl_variant_reader variants;
    nl_reader paths;
    nl_variant_cast cast;
    nl_column_builder *column;
} get_call;

static nl_status get_row(get_call *call, uint32_t row)
{
    const variant_path *path = call->constant ? call->constant : find_path(&call->varying, nl_reader_str(&call->paths, row));
    nl_variant variant;
    bool is_found = false;
    if (!path->is_path)
        return NL_RAISE(INVALID_VARIANT_GET_PATH, NL_P_STR("path", path->text),
                        NL_P("functionName", call->function->row->name[0] == 't' ? "`try_variant_get`" : "`variant_get`"));
    NL_TRY(nl_variant_reader_at(&call->variants, row, &variant));
    NL_TRY(follow(path, &variant, &is_found));
    if (!is_found) return nl_column_builder_null(call->column);
    return nl_variant_cast_append(&call->cast, &variant, call->function->result_type, call->column);
}

static nl_status get_kernel(NL_KERNEL_PARAMETERS)
{
    get_call call = {.function = function, .constant = function->state};
    nl_status status = NULL;
    nl_variant_cast_init(&call.cast, eval->confs, function->row->name[0] != 't');
    nl_reader_init(&call.paths, &args[1]);
    NL_GO(nl_variant_reader_open(&call.variants, &args[0], eval->memory));
    NL_GO(nl_column_builder_new(function->result_type, eval->memory, &call.column));
    for (uint32_t row = 0, next = 0; row < length; row++) {
        bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        is_selected = is_selected && !(nl_vector_is_null(&args[0], row) || nl_vector_is_null(&args[1], row));
        NL_GO(is_selected ? get_row(&call, row) : nl_column_builder_null(call.column));
    }
    status = nl_column_builder_finish(call.column, out);
done:
    nl_column_builder_free(call.column);
    nl_variant_reader_close(&call.variants);
    nl_variant_cast_fini(&call.cast);
    nl_arena_free(call.varying.arena);
    return status;
}

/* --- schema_of_variant --- */

static nl_status schema_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_variant_reader reader = {0};
    nl_builder text;
    nl_arena *arena = NULL;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    NL_GO(nl_variant_reader_open(&reader, &args[0], eval->memory));
    NL_EACH_SELECTED(row)
    {
        nl_variant variant;
        const nl_type *type = NULL;
        nl_arena_free(arena);
        arena = nl_arena_new(eval->memory);
        nl_builder_clear(&text);
        NL_GO(nl_variant_reader_at(&reader, row, &variant));
        NL_GO(nl_variant_schema(arena, &variant, &type));
        nl_variant_schema_append_sql(type, &text);
        NL_GO(nl_output_builder(&output, row, &text));
    }
done:
    nl_arena_free(arena);
    nl_builder_fini(&text);
    nl_variant_reader_close(&reader);
    return status;
}

/* --- to_variant_object --- */

static nl_status bind_object(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    (void)bound;
    if (type->id == NL_TYPE_NULL || (nl_type_is_nested(type) && nl_variant_holds(type, true))) return NULL;
    return NL_RAISE(DATATYPE_MISMATCH__CAST_WITHOUT_SUGGESTION, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P_STR("srcType", nl_quoted_type(bind->arena, type)), NL_P("targetType", "\"VARIANT\""));
}

static nl_status object_kernel(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *column = NULL;
    nl_variant_builder made;
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &column));
    nl_variant_builder_init(&made);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        const bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        if (is_selected) NL_GO(nl_variant_append_row(&made, &args[0], row));
        NL_GO(is_selected ? nl_variant_end_row(&made, "to_variant_object", column) : nl_column_builder_null(column));
    }
    status = nl_column_builder_finish(column, out);
done:
    nl_variant_builder_fini(&made);
    nl_column_builder_free(column);
    return status;
}

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "variant", .since = "4.0.0"

static const nl_function_row rows[] = {
    {.name = "parse_json", ROW, .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true, .signature = "(any) -> variant", .bind = bind_parse, .kernel = parse_kernel,
     .doc = "A JSON text as a variant; an error when it is none.", .examples = {{"parse_json('{\"a\":1,\"b\":0.8}')", "{\"a\":1,\"b\":0.8}"}}},
    {.name = "try_parse_json", ROW, .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true, .signature = "(any) -> variant", .bind = bind_parse, .kernel = parse_kernel,
     .doc = "A JSON text as a variant; NULL when it is none.", .examples = {{"try_parse_json('{\"a\":1,\"b\":0.8}')", "{\"a\":1,\"b\":0.8}"}, {"try_parse_json('{\"a\":1,')", "NULL"}}},
    {.name = "is_variant_null", ROW, .nulls = NL_NULL_SEEN, .keeps_non_null = true, .can_fail = true, .signature = "(any) -> boolean", .bind = bind_variant, .kernel = is_null_kernel,
     .doc = "Whether a variant holds null; false for NULL.", .examples = {{"is_variant_null(parse_json('null'))", "true"}, {"is_variant_null(parse_json('13'))", "false"}}},
    {.name = "variant_get", ROW, .nulls = NL_NULL_SEEN, .can_fail = true, .signature = "(any, any [, any]) -> ?", .bind = bind_get, .kernel = get_kernel,
     .doc = "What a path finds in a variant, as the type that the third argument names; an error when it does not fit.",
     .examples = {{"variant_get(parse_json('{\"a\": 1}'), '$.a', 'int')", "1"}, {"variant_get(parse_json('[1, \"2\"]'), '$[2]', 'string')", "NULL"}}},
    {.name = "try_variant_get", ROW, .nulls = NL_NULL_SEEN, .can_fail = true, .signature = "(any, any [, any]) -> ?", .bind = bind_get, .kernel = get_kernel,
     .doc = "What a path finds in a variant, as the type that the third argument names; NULL when it does not fit.",
     .examples = {{"try_variant_get(parse_json('[1, \"hello\"]'), '$[1]', 'int')", "NULL"}}},
    {.name = "schema_of_variant", ROW, .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true, .signature = "(any) -> string", .bind = bind_variant, .kernel = schema_kernel,
     .doc = "The type of what a variant holds.", .examples = {{"schema_of_variant(parse_json('[{\"b\":true,\"a\":0}]'))", "ARRAY<OBJECT<a: BIGINT, b: BOOLEAN>>"}}},
    {.name = "to_variant_object", ROW, .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true, .signature = "(any) -> variant", .bind = bind_object, .kernel = object_kernel,
     .doc = "A struct, map or array as a variant; structs and maps become objects.", .examples = {{"to_variant_object(named_struct('a', 1, 'b', 2))", "{\"a\":1,\"b\":2}"}}},
};

NL_DEFINE_FUNCTION_GROUP(variant, rows);

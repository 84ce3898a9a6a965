/* trino/json.c - json_extract_scalar: one value of a JSON text. Source: Trino's documentation, "JSON functions and operators", the JSONPath
 * of its older functions: $.name, $["name"], $[0]; its answers in tests/trino/collections.test.
 */
#include "function/groups.h"
#include "function/scalar/json_path.h"

#define INVALID(...) NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, __VA_ARGS__)

/* Moves to the value of a name, or of a place from 0. False: there is none, or this is no JSON. */
static bool enter(nl_json_parser *in, const nl_json_step *step)
{
    const bool is_field = step->kind == NL_JSON_STEP_FIELD;
    if (in->event != (is_field ? NL_JSON_OBJECT_START : NL_JSON_ARRAY_START)) return false;
    for (int64_t place = 0;; place++) {
        const nl_json_event event = nl_json_next(in);
        if (event == NL_JSON_ERROR || event == NL_JSON_OBJECT_END || event == NL_JSON_ARRAY_END) return false;
        if (is_field) {
            if (nl_str_equal(in->text, step->name)) return nl_json_next(in) != NL_JSON_ERROR;
        } else if (place == step->index) {
            return true;
        }
        if (!nl_json_skip(in)) return false;
    }
}

/* The rest must be JSON, too. */
static bool is_sound(nl_json_parser *in)
{
    for (;;) {
        const nl_json_event event = nl_json_next(in);
        if (event == NL_JSON_END || event == NL_JSON_ERROR) return event == NL_JSON_END;
    }
}

static bool find_scalar(nl_json_parser *in, const nl_json_path *path, nl_builder *out)
{
    if (nl_json_next(in) == NL_JSON_ERROR) return false;
    for (uint32_t i = 0; i < path->count; i++)
        if (!enter(in, &path->steps[i])) return false;
    switch (in->event) {
    case NL_JSON_STRING:
    case NL_JSON_NUMBER: nl_append(out, in->text); break;
    case NL_JSON_TRUE: nl_append_c(out, "true"); break;
    case NL_JSON_FALSE: nl_append_c(out, "false"); break;
    case NL_JSON_END:
    case NL_JSON_ERROR:
    case NL_JSON_OBJECT_START:
    case NL_JSON_OBJECT_END:
    case NL_JSON_ARRAY_START:
    case NL_JSON_ARRAY_END:
    case NL_JSON_NAME:
    case NL_JSON_NULL: return false;
    }
    return is_sound(in);
}

static nl_status scalar_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    nl_json_parser in;
    nl_json_init(&in, nl_reader_str(&context->readers[0], row), NULL);
    *is_null = !find_scalar(&in, context->function->state, &context->text);
    nl_json_fini(&in);
    return NULL;
}
NL_TEXT_KERNEL(scalar_kernel, scalar_row)

static nl_status bind_scalar(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *text = bind->constants[1];
    nl_json_path *path = NL_NEW(bind->arena, nl_json_path);
    if (!text || text->is_null) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "json_extract_scalar with a path that is no literal is not supported");
    if (!nl_json_path_parse(bind->arena, nl_arena_str(bind->arena, text->text), path)) return INVALID("Invalid JSON path: '" NL_STR_FMT "'", NL_STR_ARG(text->text));
    for (uint32_t i = 0; i < path->count; i++)
        if (path->steps[i].kind != NL_JSON_STEP_FIELD && path->steps[i].kind != NL_JSON_STEP_INDEX)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "JSON paths with wildcards are not supported: '" NL_STR_FMT "'", NL_STR_ARG(text->text));
    bound->state = path;
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "trino_json_extract_scalar", .kind = NL_FUNCTION_SCALAR, .group = "json", .since = "0.1.0", .nulls = NL_NULL_IN_NULL_OUT, .is_internal = true, .signature = "(string, string) -> string",
     .bind = bind_scalar, .kernel = scalar_kernel, .doc = "A text, number or boolean of a JSON text, as text."},
};

NL_DEFINE_FUNCTION_GROUP(trino_json, rows);

/* scalar/xml.c - from_xml, to_xml, schema_of_xml.
 *
 * from_xml's schema comes from the analyzer as a null of the wanted type, since only it can read types.
 */
#include "format/xml/xml_convert.h"
#include "format/xml/xml_format.h"
#include "format/xml/xml_infer.h"
#include "function/groups.h"
#include "function/scalar/text_call.h"

typedef struct from_state {
    nl_xml_options options;
    nl_text_target target;
} from_state;

static nl_status bind_from(nl_bind *bind, nl_bound_function *bound)
{
    from_state *state = NL_NEW(bind->arena, from_state);
    nl_text_option_list given = {0};
    NL_TRY(nl_bind_only_string(bind, 0));
    NL_TRY(nl_text_call_options(bind, 2, &given));
    nl_text_session session = nl_text_call_session(bind);
    session.is_lazy = true;
    NL_TRY(nl_xml_options_parse(given, &session, NL_TEXT_READ, bind->arena, &state->options));
    NL_TRY(nl_text_target_init(&state->target, bind->arena, bind->argument_types[1], &state->options.formats, "from_xml"));
    bound->state = state;
    bound->result_type = state->target.result_type;
    bound->can_fail = true;
    return NULL;
}

static nl_status convert_row(const from_state *state, nl_xml_converter *converter, nl_memory *memory, nl_text_rows *rows, nl_str text)
{
    nl_arena *arena = nl_arena_new(memory);
    const nl_xml_node *root = nl_xml_read_record(arena, text, &state->options);
    nl_status status = nl_arena_check(arena);
    if (!status && !root) status = nl_text_rows_bad(rows, text);
    if (!status && root) {
        converter->is_misfit = false;
        status = nl_xml_convert(converter, root, state->target.data_type, rows->builder);
        if (!status) status = nl_text_rows_end(rows, text, converter->is_misfit);
    }
    nl_arena_free(arena);
    return status;
}

static nl_status from_kernel(NL_KERNEL_PARAMETERS)
{
    const from_state *state = function->state;
    nl_xml_converter converter;
    nl_text_rows rows = {0};
    nl_reader texts;
    nl_status status = NULL;
    nl_xml_converter_init(&converter, &state->options);
    NL_GO(nl_text_rows_open(&state->target, eval->memory, &rows));
    nl_reader_init(&texts, &args[0]);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        const bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        const bool is_null = !is_selected || nl_vector_is_null(&args[0], row);
        NL_GO(is_null ? nl_text_rows_null(&rows) : convert_row(state, &converter, eval->memory, &rows, nl_reader_str(&texts, row)));
    }
    status = nl_text_rows_finish(&rows, length, out);
done:
    nl_xml_converter_fini(&converter);
    nl_text_rows_close(&rows);
    return status;
}

/* --- to_xml --- */

static nl_status bind_to(nl_bind *bind, nl_bound_function *bound)
{
    nl_xml_options *options = NL_NEW(bind->arena, nl_xml_options);
    nl_text_option_list given = {0};
    const nl_type *type = bind->argument_types[0];
    if (type->id != NL_TYPE_NULL && type->id != NL_TYPE_STRUCT) return nl_bind_unexpected_type(bind, 0, "\"STRUCT\"");
    NL_TRY(nl_text_call_options(bind, 1, &given));
    const nl_text_session session = nl_text_call_session(bind);
    NL_TRY(nl_xml_options_parse(given, &session, NL_TEXT_WRITE, bind->arena, options));
    bound->state = options;
    return NULL;
}

static nl_status to_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_vector flat = {0};
    nl_builder text;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    NL_GO(nl_vector_flatten(&args[0], true, eval->memory, &flat));
    NL_EACH_SELECTED(row)
    {
        nl_builder_clear(&text);
        NL_GO(nl_xml_append_row(function->state, &flat, row, 0, &text));
        NL_GO(nl_output_builder(&output, row, &text));
    }
done:
    nl_vector_fini(&flat);
    nl_builder_fini(&text);
    return status;
}

/* --- schema_of_xml --- */

static nl_status bind_schema(nl_bind *bind, nl_bound_function *bound)
{
    nl_xml_options options;
    nl_text_option_list given = {0};
    const nl_field corrupt = {.name = NL_STR("_corrupt_record"), .type = nl_type_string(), .is_nullable = true};
    const nl_type *type = nl_type_struct(bind->arena, &corrupt, 1);
    NL_TRY(nl_text_call_sample(bind, "xml"));
    NL_TRY(nl_text_call_options(bind, 1, &given));
    const nl_text_session session = nl_text_call_session(bind);
    NL_TRY(nl_xml_options_parse(given, &session, NL_TEXT_READ, bind->arena, &options));
    const nl_xml_node *root = nl_xml_read_record(bind->arena, bind->constants[0]->text, &options);
    NL_TRY(nl_arena_check(bind->arena));
    if (root) NL_TRY(nl_xml_infer(bind->arena, root, &options, &type));
    nl_text_call_answer_schema(bind, type, bound);
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "from_xml", .kind = NL_FUNCTION_SCALAR, .group = "xml", .nulls = NL_NULL_SEEN, .signature = "(any, any [, any]) -> ?", .bind = bind_from,
     .kernel = from_kernel, .since = "4.0.0", .doc = "The struct an XML text holds, of the type that the second argument names.",
     .examples = {{"from_xml('<p><a>1</a><b>0.8</b></p>', 'a INT, b DOUBLE')", "{\"a\":1,\"b\":0.8}"}}},
    {.name = "to_xml", .kind = NL_FUNCTION_SCALAR, .group = "xml", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true,
     .signature = "(any [, any]) -> string", .bind = bind_to, .kernel = to_kernel, .since = "4.0.0", .doc = "A struct as XML.",
     .examples = {{"replace(to_xml(named_struct('a', 1, 'b', 2)), '\\n', '')", "<ROW>    <a>1</a>    <b>2</b></ROW>"}}},
    {.name = "schema_of_xml", .kind = NL_FUNCTION_SCALAR, .group = "xml", .nulls = NL_NULL_SEEN, .signature = "(any [, any]) -> string", .bind = bind_schema,
     .kernel = nl_text_schema_kernel, .since = "4.0.0", .doc = "The type of an XML text, as from_xml takes it.",
     .examples = {{"schema_of_xml('<p><a>1</a></p>')", "STRUCT<a: BIGINT>"}}},
};

NL_DEFINE_FUNCTION_GROUP(xml, rows);

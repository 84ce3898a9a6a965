/* scalar/csv.c - to_csv, from_csv, schema_of_csv, with the options of CSV files. */
#include "format/csv/csv_parser.h"
#include "format/csv/csv_reader.h"
#include "format/csv/csv_writer.h"
#include "function/groups.h"
#include "function/scalar/text_call.h"

/* --- to_csv --- */

static nl_status bind_to_csv(nl_bind *bind, nl_bound_function *bound)
{
    nl_csv_options *options = NL_NEW(bind->arena, nl_csv_options);
    nl_text_option_list given = {0};
    const nl_type *type = bind->argument_types[0];
    if (type->id != NL_TYPE_STRUCT && type->id != NL_TYPE_NULL)
        return NL_RAISE(DATATYPE_MISMATCH__UNSUPPORTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P("functionName", "`to_csv`"), NL_P_STR("dataType", nl_quoted_type(bind->arena, type)));
    NL_TRY(nl_text_call_options(bind, 1, &given));
    const nl_text_session session = nl_text_call_session(bind);
    NL_TRY(nl_csv_options_parse(given, &session, NL_TEXT_WRITE, bind->arena, options));
    bound->state = options;
    return NULL;
}

static nl_status to_csv_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_vector structs = {0};
    nl_builder text, scratch;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    nl_builder_init(&scratch, NL_VALUE_BYTES_MAX);
    NL_GO(nl_vector_flatten(&args[0], false, eval->memory, &structs));
    NL_EACH_SELECTED(row)
    {
        nl_builder_clear(&text);
        NL_GO(nl_csv_append_struct(function->state, &structs, row, &scratch, &text));
        NL_GO(nl_output_builder(&output, row, &text));
    }
done:
    nl_vector_fini(&structs);
    nl_builder_fini(&text);
    nl_builder_fini(&scratch);
    return status;
}

/* --- from_csv --- */

typedef struct from_state {
    nl_csv_options options;
    nl_text_target target;
} from_state;

static nl_status check_columns(nl_bind *bind, const nl_type *type)
{
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_type *column = type->children[i].type;
        if (nl_type_is_nested(column) || column->id == NL_TYPE_INTERVAL || column->id == NL_TYPE_NULL || column->id == NL_TYPE_VARIANT)
            return NL_RAISE(UNSUPPORTED_DATATYPE, NL_P_STR("typeName", nl_quoted_type(bind->arena, column)));
    }
    return NULL;
}

static nl_status bind_from_csv(nl_bind *bind, nl_bound_function *bound)
{
    from_state *state = NL_NEW(bind->arena, from_state);
    nl_text_option_list given = {0};
    const nl_type *type = bind->argument_types[1];
    NL_TRY(nl_bind_only_string(bind, 0));
    NL_TRY(check_columns(bind, type));
    NL_TRY(nl_text_call_options(bind, 2, &given));
    nl_text_session session = nl_text_call_session(bind);
    session.is_lazy = true;
    NL_TRY(nl_csv_options_parse(given, &session, NL_TEXT_READ, bind->arena, &state->options));
    NL_TRY(nl_text_target_init(&state->target, bind->arena, type, &state->options.formats, "from_csv"));
    bound->state = state;
    bound->result_type = state->target.result_type;
    bound->can_fail = true;
    return NULL;
}

static nl_status convert_row(const from_state *state, nl_csv_parser *parser, nl_text_rows *rows, nl_str text)
{
    const nl_type *type = state->target.data_type;
    NL_TRY(nl_csv_parse(parser, text, UINT32_MAX));
    bool is_bad = parser->token_count != type->child_count;
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_type *column = type->children[i].type;
        nl_value value = nl_value_null(column);
        nl_str token;
        if (nl_csv_token_value(parser, i, &token) && !nl_csv_parse_value(&state->options, column, token, &value)) {
            value = nl_value_null(column);
            is_bad = true;
        }
        NL_TRY(nl_column_builder_value(nl_column_builder_child(rows->builder, i), &value));
    }
    NL_TRY(nl_column_builder_end_struct(rows->builder));
    return nl_text_rows_end(rows, text, is_bad);
}

static nl_status from_csv_kernel(NL_KERNEL_PARAMETERS)
{
    const from_state *state = function->state;
    nl_csv_parser parser;
    nl_text_rows rows = {0};
    nl_reader texts;
    nl_status status = NULL;
    NL_TRY(nl_text_rows_open(&state->target, eval->memory, &rows));
    nl_csv_parser_init(&parser, &state->options);
    nl_reader_init(&texts, &args[0]);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        bool is_null = !is_selected || nl_vector_is_null(&args[0], row);
        NL_GO(is_null ? nl_text_rows_null(&rows) : convert_row(state, &parser, &rows, nl_reader_str(&texts, row)));
    }
    status = nl_text_rows_finish(&rows, length, out);
done:
    nl_csv_parser_fini(&parser);
    nl_text_rows_close(&rows);
    return status;
}

/* --- schema_of_csv --- */

static nl_status bind_schema(nl_bind *bind, nl_bound_function *bound)
{
    nl_csv_options options;
    nl_text_option_list given = {0};
    const nl_type *type = NULL;
    NL_TRY(nl_text_call_sample(bind, "csv"));
    NL_TRY(nl_text_call_options(bind, 1, &given));
    const nl_text_session session = nl_text_call_session(bind);
    NL_TRY(nl_csv_options_parse(given, &session, NL_TEXT_READ, bind->arena, &options));
    NL_TRY(nl_csv_infer_text(bind->constants[0]->text, &options, bind->arena, &type));
    nl_text_call_answer_schema(bind, type, bound);
    return NULL;
}

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "csv"

static const nl_function_row rows[] = {
    {.name = "to_csv", ROW, .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true, .signature = "(any [, any]) -> string",
     .bind = bind_to_csv, .kernel = to_csv_kernel, .since = "3.0.0", .doc = "A struct as a line of CSV, with the options of CSV files.",
     .examples = {{"to_csv(named_struct('a', 1, 'b', 2))", "1,2"}}},
    {.name = "from_csv", ROW, .nulls = NL_NULL_SEEN, .signature = "(any, any [, any]) -> ?", .bind = bind_from_csv, .kernel = from_csv_kernel,
     .since = "3.0.0", .doc = "The struct a line of CSV holds, of the type that the second argument names.",
     .examples = {{"from_csv('1, 0.8', 'a INT, b DOUBLE')", "{\"a\":1,\"b\":0.8}"}}},
    {.name = "schema_of_csv", ROW, .nulls = NL_NULL_SEEN, .signature = "(any [, any]) -> string", .bind = bind_schema, .kernel = nl_text_schema_kernel,
     .since = "3.0.0", .doc = "The type of a line of CSV, as from_csv takes it.", .examples = {{"schema_of_csv('1,abc')", "STRUCT<_c0: INT, _c1: STRING>"}}},
};

NL_DEFINE_FUNCTION_GROUP(csv, rows);

/* function/cast.c - CAST: chooses the loop for a pair of types, and its errors.
 *
 * A cast is called as if it were a scalar function with one argument (nl_function_call), so that nulls, constants and
 * dictionaries are dealt with there; the loops see non-null rows only.
 */
#include "function/cast_internal.h"

static nl_status raise_invalid(const nl_cast *cast, uint32_t row)
{
    nl_builder text;
    nl_builder_init(&text, NL_ERROR_MESSAGE_BYTES_MAX);
    nl_append_sql_value(cast->source, row, cast->eval->confs->zone, &text);
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NL_RAISE(CAST_INVALID_INPUT, NL_P_STR("expression", nl_builder_str(&text)),
                                NL_P_STR("sourceType", nl_quoted_type(arena, cast->from)),
                                NL_P_STR("targetType", nl_quoted_type(arena, cast->to)),
                                NL_P("ansiConfig", "\"spark.sql.ansi.enabled\""));
    nl_arena_free(arena);
    nl_builder_fini(&text);
    return status;
}

static nl_status raise_overflow(const nl_cast *cast, uint32_t row)
{
    nl_builder text;
    nl_builder_init(&text, NL_ERROR_MESSAGE_BYTES_MAX);
    nl_append_sql_value(cast->source, row, cast->eval->confs->zone, &text);
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status;
    if (cast->mode == NL_CAST_STORE)
        status = NL_RAISE(CAST_OVERFLOW_IN_TABLE_INSERT, NL_P_STR("sourceType", nl_quoted_type(arena, cast->from)),
                          NL_P_STR("targetType", nl_quoted_type(arena, cast->to)), NL_P("columnName", "`?`"));
    else
        status = NL_RAISE(CAST_OVERFLOW, NL_P_STR("value", nl_builder_str(&text)),
                          NL_P_STR("sourceType", nl_quoted_type(arena, cast->from)),
                          NL_P_STR("targetType", nl_quoted_type(arena, cast->to)),
                          NL_P("ansiConfig", "\"spark.sql.ansi.enabled\""));
    nl_arena_free(arena);
    nl_builder_fini(&text);
    return status;
}

nl_status nl_cast_malformed(nl_cast *cast, uint32_t row)
{
    return nl_cast_raises(cast) ? raise_invalid(cast, row) : nl_output_null(&cast->out, row);
}

/* Casts between numbers and intervals overflow with an error whatever the mode. */
static bool is_strict(const nl_cast *cast)
{
    const nl_type_id from = cast->from->id, to = cast->to->id;
    return cast->mode == NL_CAST_LEGACY && (from == NL_TYPE_INTERVAL_YM || from == NL_TYPE_INTERVAL_DT || to == NL_TYPE_INTERVAL_YM || to == NL_TYPE_INTERVAL_DT);
}

nl_status nl_cast_overflow(nl_cast *cast, uint32_t row)
{
    return nl_cast_raises(cast) || is_strict(cast) ? raise_overflow(cast, row) : nl_output_null(&cast->out, row);
}

nl_status nl_cast_decimal_overflow(nl_cast *cast, uint32_t row, nl_str value_text)
{
    if (!nl_cast_raises(cast) && !is_strict(cast)) return nl_output_null(&cast->out, row);
    if (cast->mode == NL_CAST_STORE && cast->from->id != NL_TYPE_STRING) return raise_overflow(cast, row);
    return NL_RAISE(NUMERIC_VALUE_OUT_OF_RANGE__WITH_SUGGESTION, NL_P_STR("value", value_text),
                    NL_P_INT("precision", cast->to->precision), NL_P_INT("scale", cast->to->scale),
                    NL_P("config", "\"spark.sql.ansi.enabled\""));
}

static void append_quoted_text(nl_str text, nl_builder *out)
{
    nl_append_char(out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'' || text.data[i] == '\\') nl_append_char(out, '\\');
        nl_append_char(out, text.data[i]);
    }
    nl_append_char(out, '\'');
}

void nl_append_sql_value(const nl_vector *vector, uint32_t row, const nl_timezone *zone, nl_builder *out)
{
    nl_reader reader;
    nl_reader_init(&reader, vector);
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = zone};
    const char *prefix = "";
    const char *suffix = "";
    switch (vector->type->id) {
    case NL_TYPE_STRING:
        append_quoted_text(nl_reader_str(&reader, row), out);
        return;
    case NL_TYPE_TINYINT:
        suffix = "Y";
        break;
    case NL_TYPE_SMALLINT:
        suffix = "S";
        break;
    case NL_TYPE_BIGINT:
        suffix = "L";
        break;
    case NL_TYPE_DECIMAL:
        suffix = "BD";
        break;
    case NL_TYPE_DOUBLE: {
        double value = nl_reader_f64(&reader, row);
        suffix = value - value == 0 ? "D" : "";
        break;
    }
    case NL_TYPE_DATE:
        prefix = "DATE '";
        suffix = "'";
        break;
    case NL_TYPE_TIMESTAMP:
        prefix = "TIMESTAMP '";
        suffix = "'";
        break;
    case NL_TYPE_TIMESTAMP_NTZ:
        prefix = "TIMESTAMP_NTZ '";
        suffix = "'";
        break;
    case NL_TYPE_NULL:
    case NL_TYPE_BOOLEAN:
    case NL_TYPE_INT:
    case NL_TYPE_FLOAT:
    case NL_TYPE_BINARY:
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
    case NL_TYPE_INTERVAL:
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT:
        break;
    }
    nl_append_c(out, prefix);
    nl_vector_append_text(vector, row, &options, out);
    nl_append_c(out, suffix);
}

static bool is_time(const nl_type *type)
{
    return type->id >= NL_TYPE_DATE && type->id <= NL_TYPE_INTERVAL;
}

static bool is_text(const nl_type *type)
{
    return type->id == NL_TYPE_STRING || type->id == NL_TYPE_BINARY;
}

static nl_cast_loop find_loop(const nl_type *from, const nl_type *to)
{
    if (is_text(from) || is_text(to)) return nl_cast_text_loop(from, to);
    if (is_time(from) || is_time(to)) return nl_cast_time_loop(from, to);
    return nl_cast_number_loop(from, to);
}

typedef struct cast_state {
    nl_cast_mode mode;
    const nl_type *from;
} cast_state;

static nl_status cast_kernel(NL_KERNEL_PARAMETERS)
{
    const cast_state *state = function->state;
    nl_cast cast = {.eval = eval,
                    .mode = state->mode,
                    .from = args[0].type,
                    .to = function->result_type,
                    .source = &args[0],
                    .selection = selection,
                    .length = length};
    if (cast.from->id == NL_TYPE_VARIANT || cast.to->id == NL_TYPE_VARIANT) return nl_cast_variant(&cast, out);
    if (nl_type_is_nested(cast.from) && nl_type_is_nested(cast.to)) return nl_cast_nested(&cast, out);
    nl_cast_loop loop = find_loop(cast.from, cast.to);
    if (loop == NULL) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_status status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "CAST of " NL_STR_FMT " to " NL_STR_FMT " is not supported.",
                                         NL_STR_ARG(nl_type_sql(arena, cast.from)), NL_STR_ARG(nl_type_sql(arena, cast.to)));
        nl_arena_free(arena);
        return status;
    }
    NL_TRY(nl_output_init(&cast.out, cast.to, length, eval->memory, out));
    nl_reader_init(&cast.in, cast.source);
    return loop(&cast);
}

static const nl_function_row cast_row = {.name = "cast", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true, .kernel = cast_kernel};

/* Same bytes, another name of the type: nothing to compute. */
static bool is_relabel(nl_cast_mode mode, const nl_type *from, const nl_type *to)
{
    if (nl_type_equal(from, to)) return true;
    if (is_text(from) && is_text(to)) return mode != NL_CAST_STORE || to->string_kind == NL_STRING_PLAIN;
    return from->id == NL_TYPE_DECIMAL && to->id == NL_TYPE_DECIMAL && from->scale == to->scale &&
           from->physical == to->physical && from->precision <= to->precision;
}

nl_status nl_cast_vector(nl_eval *eval, nl_cast_mode mode, const nl_vector *source, const nl_type *target,
                         nl_selection selection, nl_vector *out)
{
    if (source->type->id == NL_TYPE_NULL) return nl_vector_new_null(out, target, source->length, eval->memory);
    if (is_relabel(mode, source->type, target)) {
        nl_vector_ref(source, out);
        nl_vector_relabel(out, target);
        return NULL;
    }
    cast_state state = {.mode = mode, .from = source->type};
    nl_bound_function function = {.row = &cast_row,
                                  .result_type = target,
                                  .is_nullable = true,
                                  .argument_count = 1,
                                  .kernel = cast_kernel,
                                  .state = &state,
                                  .is_deterministic = true,
                                  .can_fail = true};
    return nl_function_call(&function, eval, source, NULL, selection, source->length, out);
}

nl_status nl_cast_value(nl_arena *arena, const nl_eval_confs *confs, nl_cast_mode mode, const nl_value *source,
                        const nl_type *target, nl_value *out)
{
    nl_eval eval = {.confs = confs};
    nl_vector in = {0};
    nl_vector result = {0};
    if (source->is_null) {
        *out = nl_value_null(target);
        return NULL;
    }
    NL_TRY(nl_vector_new_constant(&in, source, 1, NULL));
    nl_status status = nl_cast_vector(&eval, mode, &in, target, NL_ALL_ROWS(1), &result);
    if (status == NULL) *out = nl_vector_value(&result, 0, arena);
    nl_vector_fini(&in);
    nl_vector_fini(&result);
    return status;
}

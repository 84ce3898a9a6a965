/* function/bind.c - from a name's rows and argument types to a bound function: overloads, implicit casts, errors.
 *
 * Alternatives of all rows are tried in order: the first that needs no cast wins, else the first that fits at all.
 * Errors are those of Spark's analyzer: a wrong number of arguments first, then the first argument that does not fit.
 */
#include "function/cast.h"
#include "function/kernel.h"
#include "function/signature.h"

#define ERROR_TEXT_MAX (1u << 20)

static void append_argument(const nl_bind *bind, uint32_t i, nl_builder *out)
{
    if (bind->argument_sql != NULL)
        nl_append(out, bind->argument_sql(bind, i));
    else
        nl_append_f(out, "arg%u", i + 1);
}

nl_str nl_bind_argument_sql(const nl_bind *bind, uint32_t i)
{
    nl_builder text;
    nl_builder_init(&text, ERROR_TEXT_MAX);
    append_argument(bind, i, &text);
    nl_str copy = nl_arena_str(bind->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static bool is_symbol(nl_str name)
{
    if (nl_str_is(name, "div")) return true;
    char c = name.length > 0 ? name.data[0] : 'a';
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
}

nl_str nl_bind_call_sql(const nl_bind *bind)
{
    if (bind->call_sql != NULL) return bind->call_sql(bind);
    nl_builder text;
    nl_builder_init(&text, ERROR_TEXT_MAX);
    if (is_symbol(bind->name) && bind->argument_count == 2) {
        nl_append_char(&text, '(');
        append_argument(bind, 0, &text);
        nl_append_f(&text, " " NL_STR_FMT " ", NL_STR_ARG(bind->name));
        append_argument(bind, 1, &text);
        nl_append_char(&text, ')');
    } else {
        nl_append(&text, bind->name);
        nl_append_char(&text, '(');
        for (uint32_t i = 0; i < bind->argument_count; i++) {
            if (i > 0) nl_append_c(&text, ", ");
            append_argument(bind, i, &text);
        }
        nl_append_char(&text, ')');
    }
    nl_str copy = nl_arena_str(bind->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

nl_str nl_quoted(nl_arena *arena, nl_str text)
{
    return nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(text));
}

nl_str nl_quoted_type(nl_arena *arena, const nl_type *type)
{
    return nl_quoted(arena, nl_type_sql(arena, type));
}

nl_str nl_quoted_name(const nl_bind *bind)
{
    return nl_arena_f(bind->arena, "`" NL_STR_FMT "`", NL_STR_ARG(bind->name));
}

const char *nl_ordinal(uint32_t i)
{
    static const char *const words[] = {"first", "second", "third", "4th", "5th", "6th", "7th", "8th", "9th", "10th"};
    return i < NL_COUNT(words) ? words[i] : "later";
}

nl_status nl_bind_unexpected_type(const nl_bind *bind, uint32_t i, const char *required)
{
    nl_arena *arena = bind->arena;
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE,
                    NL_P_STR("sqlExpr", nl_quoted(arena, nl_bind_call_sql(bind))), NL_P("paramIndex", nl_ordinal(i)),
                    NL_P("requiredType", required),
                    NL_P_STR("inputSql", nl_quoted(arena, nl_bind_argument_sql(bind, i))),
                    NL_P_STR("inputType", nl_quoted_type(arena, bind->argument_types[i])));
}

nl_status nl_bind_only_string(nl_bind *bind, uint32_t i)
{
    if (bind->argument_types[i]->id == NL_TYPE_NULL) bind->argument_types[i] = nl_type_string();
    return bind->argument_types[i]->id == NL_TYPE_STRING ? NULL : nl_bind_unexpected_type(bind, i, "\"STRING\"");
}

nl_status nl_bind_diff_types(const nl_bind *bind)
{
    nl_arena *arena = bind->arena;
    return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_DIFF_TYPES,
                    NL_P_STR("sqlExpr", nl_quoted(arena, nl_bind_call_sql(bind))),
                    NL_P_STR("left", nl_quoted_type(arena, bind->argument_types[0])),
                    NL_P_STR("right", nl_quoted_type(arena, bind->argument_types[1])));
}

nl_status nl_bind_not_orderable(const nl_bind *bind, const nl_type *type)
{
    return NL_RAISE(DATATYPE_MISMATCH__INVALID_ORDERING_TYPE,
                    NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P_STR("functionName", nl_quoted_name(bind)),
                    NL_P_STR("dataType", nl_quoted_type(bind->arena, type)));
}

static nl_status raise_diff_types(const nl_bind *bind, uint32_t first, const char *frame, const char *separator)
{
    nl_builder types;
    nl_builder_init(&types, ERROR_TEXT_MAX);
    nl_append_char(&types, frame[0]);
    for (uint32_t i = first; i < bind->argument_count; i++)
        nl_append_f(&types, "%s\"" NL_STR_FMT "\"", i > first ? separator : "",
                    NL_STR_ARG(nl_type_sql(bind->arena, bind->argument_types[i])));
    nl_append_char(&types, frame[1]);
    nl_status status = NL_RAISE(DATATYPE_MISMATCH__DATA_DIFF_TYPES,
                                NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                                NL_P_STR("functionName", nl_quoted_name(bind)),
                                NL_P_STR("dataType", nl_builder_str(&types)));
    nl_builder_fini(&types);
    return status;
}

nl_status nl_bind_data_diff_types(const nl_bind *bind, uint32_t first)
{
    return raise_diff_types(bind, first, "()", " or ");
}

nl_status nl_bind_diff_types_list(const nl_bind *bind)
{
    return raise_diff_types(bind, 0, "[]", ", ");
}

nl_status nl_bind_not_foldable(const nl_bind *bind, uint32_t i, const char *what)
{
    const nl_value *given = bind->given_constants != NULL ? bind->given_constants[i] : NULL;
    if (given != NULL && !given->is_null && bind->confs->is_ansi) { /* it is constant, but its cast fails */
        nl_value ignored;
        NL_TRY(nl_cast_value(bind->arena, bind->confs, NL_CAST_ANSI, given, bind->argument_types[i], &ignored));
    }
    return NL_RAISE(DATATYPE_MISMATCH__NON_FOLDABLE_INPUT,
                    NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))), NL_P("inputName", what),
                    NL_P_STR("inputType", nl_quoted_type(bind->arena, bind->argument_types[i])),
                    NL_P_STR("inputExpr", nl_quoted(bind->arena, nl_bind_argument_sql(bind, i))));
}

nl_status nl_bind_wrong_count(const nl_bind *bind, nl_str expected)
{
    return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P_STR("functionName", nl_quoted_name(bind)),
                    NL_P_STR("expectedNum", expected), NL_P_INT("actualNum", bind->argument_count),
                    NL_P("docroot", "https://spark.apache.org/docs/latest"));
}

/* "1", "[2, 3]", "> 1": the counts any alternative takes. */
static nl_status wrong_count(const nl_bind *bind, const nl_signature *signatures, uint32_t row_count)
{
    uint32_t counts = 0;
    uint32_t repeating_min = UINT32_MAX;
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t a = 0; a < signatures[r].count; a++) {
            const nl_alternative *alternative = &signatures[r].alternatives[a];
            if (alternative->is_repeating) repeating_min = NL_MIN(repeating_min, alternative->required_count);
            for (uint32_t n = alternative->required_count; n <= alternative->argument_count; n++) counts |= 1u << n;
        }
    }
    nl_builder text;
    nl_builder_init(&text, ERROR_TEXT_MAX);
    if (repeating_min != UINT32_MAX) {
        nl_append_f(&text, "> %u", repeating_min > 0 ? repeating_min - 1 : 0);
    } else {
        bool is_list = (counts & (counts - 1)) != 0;
        if (is_list) nl_append_char(&text, '[');
        bool is_first = true;
        for (uint32_t n = 0; n < 32; n++) {
            if (!(counts >> n & 1)) continue;
            nl_append_f(&text, "%s%u", is_first ? "" : ", ", n);
            is_first = false;
        }
        if (is_list) nl_append_char(&text, ']');
    }
    nl_status status = nl_bind_wrong_count(bind, nl_builder_str(&text));
    nl_builder_fini(&text);
    return status;
}

/* Names every type argument i could have had in the alternatives that take this many arguments. */
static nl_status no_match(const nl_bind *bind, const nl_signature *signatures, uint32_t row_count, uint32_t failed)
{
    nl_builder required;
    nl_builder one;
    nl_builder_init(&required, ERROR_TEXT_MAX);
    nl_builder_init(&one, ERROR_TEXT_MAX);
    uint32_t count = 0;
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t a = 0; a < signatures[r].count; a++) {
            const nl_alternative *alternative = &signatures[r].alternatives[a];
            if (!nl_alternative_takes(alternative, bind->argument_count)) continue;
            nl_builder_clear(&one);
            nl_pattern_append_sql(bind->arena, nl_alternative_argument(alternative, failed), &one);
            if (nl_str_find(nl_builder_str(&required), nl_builder_str(&one), 0) != NL_NOT_FOUND) continue;
            if (count++ > 0) nl_append_c(&required, " or ");
            nl_append(&required, nl_builder_str(&one));
        }
    }
    nl_str text = nl_builder_str(&required);
    const char *shown = count > 1 ? nl_arena_f(bind->arena, "(" NL_STR_FMT ")", NL_STR_ARG(text)).data : nl_str_c(bind->arena, text);
    nl_status status = nl_bind_unexpected_type(bind, failed, shown);
    nl_builder_fini(&one);
    nl_builder_fini(&required);
    return status;
}

nl_status nl_map_zip_diff_types(const nl_bind *bind)
{
    nl_arena *arena = bind->arena;
    return NL_RAISE(DATATYPE_MISMATCH__MAP_ZIP_WITH_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quoted(arena, nl_bind_call_sql(bind))),
                    NL_P_STR("functionName", nl_quoted_name(bind)), NL_P_STR("leftType", nl_quoted_type(arena, bind->argument_types[0]->children[0].type)),
                    NL_P_STR("rightType", nl_quoted_type(arena, bind->argument_types[1]->children[0].type)));
}

typedef struct choice {
    const nl_function_row *row;
    const nl_alternative *alternative;
    nl_match match;
} choice;

static nl_status choose(const nl_bind *bind, const nl_function_row *const *rows, uint32_t row_count, choice *chosen)
{
    nl_signature *signatures = NL_NEW_ARRAY(bind->arena, nl_signature, NL_MAX(row_count, 1u));
    for (uint32_t r = 0; r < row_count; r++) NL_TRY(nl_signature_parse(bind->arena, rows[r], &signatures[r]));
    bool has_count = false;
    uint32_t failed = 0;
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t a = 0; a < signatures[r].count; a++) {
            const nl_alternative *alternative = &signatures[r].alternatives[a];
            if (!nl_alternative_takes(alternative, bind->argument_count)) continue;
            has_count = true;
            nl_match match;
            if (!nl_alternative_match(alternative, bind, &match)) {
                failed = NL_MAX(failed, match.failed_argument);
                continue;
            }
            if (chosen->alternative == NULL || match.is_exact)
                *chosen = (choice){.row = rows[r], .alternative = alternative, .match = match};
            if (match.is_exact) return NULL;
        }
    }
    if (!has_count) return wrong_count(bind, signatures, row_count);
    if (chosen->alternative == NULL) return no_match(bind, signatures, row_count, failed);
    return NULL;
}

/* The constants as the row's bind() wants them: cast to the signature's types. A constant that cannot be cast is no
 * constant here; the cast raises its error where and when the query evaluates it. */
static const nl_value *const *cast_constants(nl_bind *bind, const nl_type **types)
{
    const nl_value **cast = NL_NEW_ARRAY(bind->arena, const nl_value *, NL_MAX(bind->argument_count, 1u));
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        const nl_value *given = bind->constants ? bind->constants[i] : NULL;
        if (given == NULL || types[i] == NULL) continue;
        if (nl_type_equal(given->type, types[i])) {
            cast[i] = given;
            continue;
        }
        nl_value *value = NL_NEW(bind->arena, nl_value);
        if (given->is_null) {
            *value = nl_value_null(types[i]);
            cast[i] = value;
            continue;
        }
        if (!nl_can_cast(given->type, types[i], bind->confs->is_ansi)) continue;
        nl_status status = nl_cast_value(bind->arena, bind->confs, bind->confs->is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY,
                                         given, types[i], value);
        if (status == NULL) cast[i] = value;
        nl_error_free(status);
    }
    return cast;
}

nl_status nl_bind_refresh_constants(nl_bind *bind)
{
    bind->constants = cast_constants(bind, bind->argument_types);
    return NULL;
}

/* Whether an argument that is a value may be null; lambdas are none. */
static bool any_argument_nullable(const nl_bind *bind, const nl_alternative *alternative)
{
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        if (nl_alternative_argument(alternative, i)->kind == NL_PATTERN_LAMBDA) continue;
        if (bind->argument_nullable == NULL || bind->argument_nullable[i]) return true;
    }
    return false;
}

nl_status nl_function_bind(nl_bind *bind, const nl_function_row *const *rows, uint32_t row_count,
                           const nl_bound_function **bound)
{
    choice chosen = {0};
    NL_TRY(choose(bind, rows, row_count, &chosen));
    const nl_function_row *row = chosen.row;
    nl_bind own = *bind;
    own.row = row;
    own.argument_types = chosen.match.types;
    own.given_types = bind->argument_types;
    own.constants = cast_constants(bind, chosen.match.types);
    own.given_constants = bind->constants;
    if (bind->is_literal == NULL) {
        bool *literal = NL_NEW_ARRAY(bind->arena, bool, NL_MAX(bind->argument_count, 1u));
        for (uint32_t i = 0; i < bind->argument_count; i++) literal[i] = bind->constants != NULL && bind->constants[i] != NULL;
        own.is_literal = literal;
    }
    nl_bound_function *function = NL_NEW(bind->arena, nl_bound_function);
    *function = (nl_bound_function){
        .row = row,
        .result_type = nl_pattern_resolve(bind->arena, chosen.alternative->result, &chosen.match),
        .is_nullable = row->keeps_non_null ? (row->nulls == NL_NULL_IN_NULL_OUT ? any_argument_nullable(bind, chosen.alternative) : false) : true,
        .argument_count = bind->argument_count,
        .name = bind->name,
        .kernel = row->kernel,
        .is_deterministic = !row->is_nondeterministic,
        .can_fail = row->can_fail,
        .ignore_nulls = bind->ignore_nulls,
        .aggregate = row->aggregate,
        .window = row->window,
        .generator = row->generator,
        .partial_type = row->kind == NL_FUNCTION_AGGREGATE ? nl_type_binary() : NULL,
    };
    if (row->bind != NULL) NL_TRY(row->bind(&own, function));
    function->argument_types = own.argument_types;
    NL_TRY(nl_arena_check(bind->arena));
    if (function->result_type == NULL)
        return NL_RAISE_TEXT(INTERNAL_ERROR, "no result type was decided for %s", row->name);
    *bound = function;
    return NULL;
}

static bool takes_lambda(const nl_function_row *const *rows, uint32_t row_count)
{
    for (uint32_t r = 0; r < row_count; r++)
        if (rows[r]->signature && strstr(rows[r]->signature, "lambda(")) return true;
    return false;
}

nl_status nl_function_lambda_types(nl_bind *bind, const nl_function_row *const *rows, uint32_t row_count, uint32_t i,
                                   uint32_t parameter_count, const nl_type **types)
{
    nl_signature signature;
    for (uint32_t r = 0; r < row_count; r++) {
        NL_TRY(nl_signature_parse(bind->arena, rows[r], &signature));
        for (uint32_t a = 0; a < signature.count; a++) {
            const nl_alternative *alternative = &signature.alternatives[a];
            if (!nl_alternative_takes(alternative, bind->argument_count)) continue;
            const nl_pattern *pattern = nl_alternative_argument(alternative, i);
            if (pattern->kind != NL_PATTERN_LAMBDA || pattern->child_count != parameter_count) continue;
            nl_match match;
            nl_bind plain = *bind;
            plain.lambdas = NULL;
            if (!nl_alternative_match(alternative, &plain, &match)) {
                if (strcmp(rows[r]->name, "map_zip_with") == 0 && match.failed_argument == 1 && bind->argument_types[1]->id == NL_TYPE_MAP)
                    return nl_map_zip_diff_types(bind);
                return no_match(bind, &signature, 1, match.failed_argument);
            }
            for (uint32_t p = 0; p < parameter_count; p++) {
                types[p] = nl_pattern_resolve(bind->arena, pattern->children[p], &match);
                if (types[p] == NULL) return NL_RAISE_TEXT(INTERNAL_ERROR, "lambda of %s has an open parameter", rows[r]->name);
            }
            return nl_arena_check(bind->arena);
        }
    }
    if (!takes_lambda(rows, row_count)) return NL_RAISE(INVALID_LAMBDA_FUNCTION_CALL__NON_HIGHER_ORDER_FUNCTION, NL_P("class", rows[0]->name));
    return NL_RAISE(INVALID_LAMBDA_FUNCTION_CALL__NUM_ARGS_MISMATCH, NL_P_INT("expectedNumArgs", parameter_count),
                    NL_P_INT("actualNumArgs", parameter_count));
}

/* f(name => value): arguments by name brought into the order of the function's parameters. */
#include "plan/analyzer/analyzer.h"

#define PARAMETERS_MAX 8u

/* Functions that name their parameters, as Spark 4.0 does. A parameter without a default must be given. */
typedef struct signature {
    const char *function;
    struct {
        const char *name;
        const char *otherwise; /* SQL */
    } parameters[PARAMETERS_MAX];
} signature;

static const signature signatures[] = {
    {"mask", {{"str", NULL}, {"upperChar", "'X'"}, {"lowerChar", "'x'"}, {"digitChar", "'n'"}, {"otherChar", "NULL"}}},
    {"explode", {{"collection", NULL}}},
    {"explode_outer", {{"collection", NULL}}},
    {"posexplode", {{"collection", NULL}}},
    {"posexplode_outer", {{"collection", NULL}}},
    {"inline", {{"input", NULL}}},
    {"inline_outer", {{"input", NULL}}},
    {"variant_explode", {{"input", NULL}}},
    {"variant_explode_outer", {{"input", NULL}}},
    {"count_min_sketch", {{"column", NULL}, {"epsilon", NULL}, {"confidence", NULL}, {"seed", NULL}}},
};

static const signature *find_signature(nl_str name)
{
    for (size_t i = 0; i < NL_COUNT(signatures); i++)
        if (nl_str_is_nocase(name, signatures[i].function)) return &signatures[i];
    return NULL;
}

static uint32_t parameter_count(const signature *of)
{
    uint32_t count = 0;
    while (count < PARAMETERS_MAX && of->parameters[count].name) count++;
    return count;
}

static uint32_t required_count(const signature *of)
{
    uint32_t count = 0;
    while (count < PARAMETERS_MAX && of->parameters[count].name && !of->parameters[count].otherwise) count++;
    return count;
}

static nl_str quoted(nl_scope *scope, nl_str name)
{
    return nl_quote_name(nl_scope_arena(scope), name);
}

/* Positional arguments come first, and no name twice. */
static nl_status check_order(nl_scope *scope, nl_str function, const nl_ast_arguments *given)
{
    nl_str last = {NULL, 0};
    for (uint32_t i = 0; i < given->count; i++) {
        const nl_str name = given->items[i].name.text;
        if (!name.data && last.data)
            return NL_RAISE(UNEXPECTED_POSITIONAL_ARGUMENT, NL_P_STR("routineName", quoted(scope, function)), NL_P_STR("parameterName", quoted(scope, last)));
        for (uint32_t j = 0; name.data && j < i; j++)
            if (given->items[j].name.text.data && nl_str_equal(given->items[j].name.text, name))
                return NL_RAISE(DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT__DOUBLE_NAMED_ARGUMENT_REFERENCE, NL_P_STR("routineName", quoted(scope, function)),
                                NL_P_STR("parameterName", quoted(scope, name)));
        last = name;
    }
    return NULL;
}

static nl_status raise_unknown(nl_scope *scope, nl_str function, const signature *of, nl_str name)
{
    nl_arena *arena = nl_scope_arena(scope);
    const uint32_t count = NL_MIN(parameter_count(of), 3u);
    nl_str names[3];
    for (uint32_t i = 0; i < count; i++) names[i] = quoted(scope, nl_str_from(of->parameters[i].name));
    return NL_RAISE(UNRECOGNIZED_PARAMETER_NAME, NL_P_STR("routineName", quoted(scope, function)), NL_P_STR("argumentName", quoted(scope, name)),
                    NL_P_STR("proposal", nl_join_texts(arena, names, count, " ")));
}

static nl_status place_named(nl_scope *scope, nl_str function, const signature *of, const nl_ast_argument *given, const nl_ast_expr **values)
{
    for (uint32_t p = 0; p < parameter_count(of); p++) {
        if (!nl_str_is(given->name.text, of->parameters[p].name)) continue;
        if (values[p])
            return NL_RAISE(DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT__BOTH_POSITIONAL_AND_NAMED, NL_P_STR("routineName", quoted(scope, function)),
                            NL_P_STR("parameterName", quoted(scope, given->name.text)));
        values[p] = given->value;
        return NULL;
    }
    return raise_unknown(scope, function, of, given->name.text);
}

static nl_status fill_missing(nl_scope *scope, nl_str function, const signature *of, const nl_ast_expr **values)
{
    for (uint32_t p = 0; p < parameter_count(of); p++) {
        if (values[p]) continue;
        const char *otherwise = of->parameters[p].otherwise;
        if (!otherwise)
            return NL_RAISE(REQUIRED_PARAMETER_NOT_FOUND, NL_P_STR("routineName", quoted(scope, function)),
                            NL_P_STR("parameterName", quoted(scope, nl_str_from(of->parameters[p].name))), NL_P_INT("index", p));
        nl_ast_expr *parsed = NULL;
        NL_TRY(nl_sql_parse_expression(nl_scope_arena(scope), nl_str_from(otherwise), NULL, &parsed));
        values[p] = parsed;
    }
    return NULL;
}

nl_status nl_positional_arguments(nl_scope *scope, nl_str function, const nl_ast_arguments *given, nl_ast_arguments *ordered)
{
    nl_arena *arena = nl_scope_arena(scope);
    bool has_names = false;
    for (uint32_t i = 0; i < given->count; i++) has_names = has_names || given->items[i].name.text.data;
    const signature *of = find_signature(function);
    *ordered = *given;
    if (!has_names && (!of || given->count >= required_count(of))) return NULL;
    if (!of) return NL_RAISE(NAMED_PARAMETERS_NOT_SUPPORTED, NL_P_STR("functionName", quoted(scope, function)));
    NL_TRY(check_order(scope, function, given));
    const uint32_t count = parameter_count(of);
    const nl_ast_expr *values[PARAMETERS_MAX] = {NULL};
    for (uint32_t i = 0; i < given->count; i++) {
        if (given->items[i].name.text.data)
            NL_TRY(place_named(scope, function, of, &given->items[i], values));
        else if (i < count)
            values[i] = given->items[i].value;
    }
    NL_TRY(fill_missing(scope, function, of, values));
    ordered->items = NL_NEW_ARRAY(arena, nl_ast_argument, count);
    ordered->count = count;
    for (uint32_t p = 0; p < count; p++) ordered->items[p].value = NL_UNCONST(values[p]);
    return NULL;
}

/* Functions that become expressions of their own: CASE, COALESCE, casts by type name, BETWEEN … */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

static const nl_expr *with_pretty(nl_scope *scope, const nl_expr *expr, nl_str name, const nl_expr *const *args, uint32_t count)
{
    return nl_expr_with_pretty(nl_scope_arena(scope), expr, nl_pretty_call(scope, name, args, count));
}

static nl_status raise_types(nl_scope *scope, const nl_expr *shown, const char *function, const nl_expr *const *exprs,
                             uint32_t count)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_str *types = NL_NEW_ARRAY(arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) types[i] = nl_quote_type(arena, exprs[i]->type);
    const bool is_coalesce = strcmp(function, "coalesce") == 0;
    const nl_str list = nl_join_texts(arena, types, count, is_coalesce ? " or " : ", ");
    return NL_RAISE(DATATYPE_MISMATCH__DATA_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown)),
                    NL_P_STR("functionName", nl_quote_name(arena, nl_str_from(function))),
                    NL_P_STR("dataType", nl_arena_f(arena, is_coalesce ? "(" NL_STR_FMT ")" : "[" NL_STR_FMT "]", NL_STR_ARG(list))));
}

/* Casts all to their common type. */
static bool unify(nl_scope *scope, const nl_expr **exprs, uint32_t count)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *common = exprs[0]->type;
    for (uint32_t i = 1; i < count && common; i++)
        common = nl_common_type(arena, common, exprs[i]->type, nl_confs_rules(nl_scope_confs(scope)));
    if (!common) return false;
    for (uint32_t i = 0; i < count; i++) exprs[i] = nl_expr_cast(arena, exprs[i], common, nl_scope_cast_mode(scope));
    return true;
}

/* is_cast: the operand of NOT, AND, OR is cast; the condition of CASE is not, not even NULL. */
static nl_status check_condition(nl_scope *scope, const nl_expr *shown, const nl_expr *condition, uint32_t position,
                                 bool is_cast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    *result = condition;
    if (condition->type->id == NL_TYPE_BOOLEAN) return NULL;
    if (is_cast && nl_can_cast_implicitly(condition->type, nl_type_boolean(), nl_confs_rules(nl_scope_confs(scope)))) {
        *result = nl_expr_cast(arena, condition, nl_type_boolean(), nl_scope_cast_mode(scope));
        return NULL;
    }
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown)),
                    NL_P("paramIndex", nl_position_word(position)), NL_P("requiredType", "\"BOOLEAN\""),
                    NL_P_STR("inputSql", nl_quote_expr(arena, condition)),
                    NL_P_STR("inputType", nl_quote_type(arena, condition->type)));
}

static nl_status make_case(nl_scope *scope, const char *name, const nl_expr *const *parts, uint32_t count, const nl_pretty *pretty, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **children = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    const nl_expr **values = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    uint32_t value_count = 0;
    const bool has_else = count % 2;
    memcpy(children, parts, count * sizeof *children);
    nl_expr *shown = nl_expr_new(arena, NL_EXPR_CASE, nl_type_boolean(), children, count);
    shown->pretty = pretty ? pretty : nl_expr_pretty(arena, shown);
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        NL_TRY(check_condition(scope, shown, parts[i], i / 2, false, &children[i]));
        values[value_count++] = parts[i + 1];
    }
    if (has_else) values[value_count++] = parts[count - 1];
    NL_TRY(nl_collate_values(scope, NL_STR("case"), values, value_count));
    if (!unify(scope, values, value_count)) return raise_types(scope, shown, name, values, value_count);
    for (uint32_t i = 0, v = 0; i + 1 < count; i += 2) children[i + 1] = values[v++];
    if (has_else) children[count - 1] = values[value_count - 1];
    nl_expr *made = nl_expr_new(arena, NL_EXPR_CASE, values[0]->type, children, count);
    made->is_nullable = !has_else;
    for (uint32_t i = 0; i < value_count; i++) made->is_nullable = made->is_nullable || values[i]->is_nullable;
    made->pretty = shown->pretty;
    *result = made;
    return NULL;
}

nl_status nl_make_case(nl_scope *scope, const nl_expr *const *parts, uint32_t count, const nl_pretty *pretty,
                       const nl_expr **result)
{
    return make_case(scope, "casewhen", parts, count, pretty, result);
}

static nl_status make_coalesce(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    if (count == 0)
        return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P_STR("functionName", nl_quote_name(arena, name)),
                        NL_P("expectedNum", "> 0"), NL_P("actualNum", "0"), NL_P("docroot", "https://spark.apache.org/docs/latest"));
    const nl_expr **children = NL_NEW_ARRAY(arena, const nl_expr *, count);
    memcpy(children, args, count * sizeof *children);
    NL_TRY(nl_collate_values(scope, name, children, count));
    if (!unify(scope, children, count)) {
        const nl_expr *shown = nl_expr_coalesce(arena, args, count);
        return raise_types(scope, with_pretty(scope, shown, NL_STR("coalesce"), args, count), "coalesce", args, count);
    }
    *result = nl_expr_coalesce(arena, children, count);
    return NULL;
}

static nl_status make_if(nl_scope *scope, const nl_expr *condition, const nl_expr *then, const nl_expr *otherwise,
                         const nl_expr **result)
{
    const nl_expr *parts[] = {condition, then, otherwise};
    const nl_pretty *pretty = nl_pretty_call(scope, NL_STR("if"), parts, 3);
    if (condition->type->id == NL_TYPE_NULL) /* IF(NULL, …) alone has its NULL made a boolean */
        parts[0] = nl_expr_cast(nl_scope_arena(scope), condition, nl_type_boolean(), nl_scope_cast_mode(scope));
    return make_case(scope, "if", parts, 3, pretty, result);
}

static nl_status make_nullif(nl_scope *scope, const nl_expr *a, const nl_expr *b, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *const args[] = {a, b};
    const nl_expr *equal = NULL;
    NL_TRY(nl_call_function(scope, NL_STR("="), args, 2, &equal));
    const nl_value null = nl_value_null(a->type);
    return make_if(scope, equal, nl_expr_literal(arena, &null), a, result);
}

static nl_status make_between(nl_scope *scope, const nl_expr *const *args, const nl_expr **result)
{
    const nl_expr *const low[] = {args[0], args[1]};
    const nl_expr *const high[] = {args[0], args[2]};
    const nl_expr *above = NULL;
    const nl_expr *below = NULL;
    NL_TRY(nl_call_function(scope, NL_STR(">="), low, 2, &above));
    NL_TRY(nl_call_function(scope, NL_STR("<="), high, 2, &below));
    *result = nl_expr_and(nl_scope_arena(scope), above, below);
    return NULL;
}

static nl_status make_zero_or_null(nl_scope *scope, bool is_to_null, const nl_expr *a, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_value zero = nl_value_int(nl_type_int(), 0);
    const nl_expr *literal = nl_expr_literal(arena, &zero);
    if (is_to_null) return make_nullif(scope, a, literal, result);
    const nl_expr *const args[] = {a, literal};
    return make_coalesce(scope, NL_STR("zeroifnull"), args, 2, result);
}

/* decode(e, search, result, … [, default]): nulls are equal. */
static nl_status make_decode(nl_scope *scope, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **parts = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    uint32_t part_count = 0;
    for (uint32_t i = 1; i < count; i += 2) {
        if (i + 1 == count) {
            parts[part_count++] = args[i];
            break;
        }
        const nl_expr *const equal[] = {args[0], args[i]};
        NL_TRY(nl_call_function(scope, NL_STR("<=>"), equal, 2, &parts[part_count++]));
        parts[part_count++] = args[i + 1];
    }
    return nl_make_case(scope, parts, part_count, nl_pretty_call(scope, NL_STR("decode"), args, count), result);
}

static const nl_type *cast_function_type(nl_str name)
{
    static const struct {
        const char *name;
        nl_type_id id;
    } names[] = {{"boolean", NL_TYPE_BOOLEAN}, {"tinyint", NL_TYPE_TINYINT}, {"smallint", NL_TYPE_SMALLINT},
                 {"int", NL_TYPE_INT},         {"bigint", NL_TYPE_BIGINT},   {"float", NL_TYPE_FLOAT},
                 {"double", NL_TYPE_DOUBLE},   {"string", NL_TYPE_STRING},   {"binary", NL_TYPE_BINARY},
                 {"date", NL_TYPE_DATE},       {"timestamp", NL_TYPE_TIMESTAMP}};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i].name)) return nl_type_of(names[i].id);
    return nl_str_is_nocase(name, "decimal") ? nl_type_decimal(10, 0) : NULL;
}

typedef enum special {
    SPECIAL_COALESCE,
    SPECIAL_NVL,
    SPECIAL_NVL2,
    SPECIAL_IF,
    SPECIAL_NULLIF,
    SPECIAL_NULLIFZERO,
    SPECIAL_ZEROIFNULL,
    SPECIAL_ISNULL,
    SPECIAL_ISNOTNULL,
    SPECIAL_BETWEEN,
    SPECIAL_DECODE,
    SPECIAL_WHEN,
    SPECIAL_NOT,
    SPECIAL_AND,
    SPECIAL_OR,
    SPECIAL_EQUAL_NULL,
    SPECIAL_NANVL
} special;

static bool find_special(nl_str name, uint32_t count, special *which)
{
    static const struct {
        const char *name;
        int count_min, count_max;
        special which;
    } names[] = {{"coalesce", 0, INT32_MAX, SPECIAL_COALESCE}, {"ifnull", 2, 2, SPECIAL_NVL},
                 {"nvl", 2, 2, SPECIAL_NVL},                   {"nvl2", 3, 3, SPECIAL_NVL2},
                 {"if", 3, 3, SPECIAL_IF},                     {"nullif", 2, 2, SPECIAL_NULLIF},
                 {"nullifzero", 1, 1, SPECIAL_NULLIFZERO},     {"zeroifnull", 1, 1, SPECIAL_ZEROIFNULL},
                 {"isnull", 1, 1, SPECIAL_ISNULL},             {"isnotnull", 1, 1, SPECIAL_ISNOTNULL},
                 {"between", 3, 3, SPECIAL_BETWEEN},           {"decode", 3, INT32_MAX, SPECIAL_DECODE},
                 {"when", 2, INT32_MAX, SPECIAL_WHEN},         {"not", 1, 1, SPECIAL_NOT},
                 {"nanvl", 2, 2, SPECIAL_NANVL},
                 {"equal_null", 2, 2, SPECIAL_EQUAL_NULL},     {"!", 1, 1, SPECIAL_NOT},
                 {"and", 2, 2, SPECIAL_AND},                   {"or", 2, 2, SPECIAL_OR}};
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        if (!nl_str_is_nocase(name, names[i].name)) continue;
        *which = names[i].which;
        return (int64_t)count >= names[i].count_min && (int64_t)count <= names[i].count_max;
    }
    return false;
}

static nl_status make_not(nl_scope *scope, const nl_expr *input, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *typed = NULL;
    const nl_expr *shown = with_pretty(scope, nl_expr_not(arena, input), NL_STR("!"), &input, 1);
    NL_TRY(check_condition(scope, shown, input, 0, true, &typed));
    *result = with_pretty(scope, nl_expr_not(arena, typed), NL_STR("!"), &input, 1);
    return NULL;
}

static nl_status make_connected(nl_scope *scope, bool is_and, nl_str name, const nl_expr *const *args, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *shown = with_pretty(scope, nl_expr_and(arena, args[0], args[1]), name, args, 2);
    const nl_expr *sides[2] = {0};
    for (uint32_t i = 0; i < 2; i++) NL_TRY(check_condition(scope, shown, args[i], i, true, &sides[i]));
    *result = is_and ? nl_expr_and(arena, sides[0], sides[1]) : nl_expr_or(arena, sides[0], sides[1]);
    return NULL;
}

/* The second argument is only looked at where the first is no number. The function itself says which types these have. */
static nl_status make_nanvl(nl_scope *scope, const nl_expr *const *args, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *call = NULL, *is_nan = NULL;
    NL_TRY(nl_call_bound(scope, NL_STR("nanvl"), args, 2, &call));
    NL_TRY(nl_call_bound(scope, NL_STR("isnan"), &call->children[0], 1, &is_nan));
    *result = nl_expr_if(arena, is_nan, call->children[1], call->children[0]);
    *result = nl_expr_with_pretty(arena, *result, nl_expr_pretty(arena, call));
    return NULL;
}

static nl_status make_special(nl_scope *scope, special which, nl_str name, const nl_expr *const *args, uint32_t count,
                              const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    switch (which) {
    case SPECIAL_COALESCE:
    case SPECIAL_NVL:
        return make_coalesce(scope, name, args, count, result);
    case SPECIAL_NVL2:
        return make_if(scope, nl_expr_is_null(arena, args[0], true), args[1], args[2], result);
    case SPECIAL_IF:
        return make_if(scope, args[0], args[1], args[2], result);
    case SPECIAL_NULLIF:
        return make_nullif(scope, args[0], args[1], result);
    case SPECIAL_NULLIFZERO:
    case SPECIAL_ZEROIFNULL:
        return make_zero_or_null(scope, which == SPECIAL_NULLIFZERO, args[0], result);
    case SPECIAL_ISNULL:
    case SPECIAL_ISNOTNULL:
        *result = nl_expr_is_null(arena, args[0], which == SPECIAL_ISNOTNULL);
        return NULL;
    case SPECIAL_BETWEEN:
        return make_between(scope, args, result);
    case SPECIAL_DECODE:
        return make_decode(scope, args, count, result);
    case SPECIAL_WHEN:
        return nl_make_case(scope, args, count, NULL, result);
    case SPECIAL_NOT:
        return make_not(scope, args[0], result);
    case SPECIAL_AND:
    case SPECIAL_OR:
        return make_connected(scope, which == SPECIAL_AND, name, args, result);
    case SPECIAL_NANVL:
        return make_nanvl(scope, args, result);
    case SPECIAL_EQUAL_NULL:
        return nl_call_function(scope, NL_STR("<=>"), args, count, result);
    }
    return NULL;
}

/* to_char of a date or time is date_format, of bytes hex, decode or base64; of numbers it is a function of its own. */
static nl_status make_to_char(nl_scope *scope, nl_str name, const nl_expr *const *args, bool *is_special, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type_id type = args[0]->type->id;
    *is_special = type == NL_TYPE_DATE || type == NL_TYPE_TIMESTAMP || type == NL_TYPE_TIMESTAMP_NTZ || type == NL_TYPE_BINARY;
    if (!*is_special) return NULL;
    if (type != NL_TYPE_BINARY) return nl_call_function(scope, NL_STR("date_format"), args, 2, result);
    const nl_value *format = NULL;
    NL_TRY(nl_fold(scope, args[1], &format));
    if (!format || format->is_null || format->type->id != NL_TYPE_STRING)
        return NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P_STR("funcName", nl_quote_name(arena, name)), NL_P("paramName", "`format`"),
                        NL_P("paramType", "\"STRING\""));
    const bool is_text = nl_str_is_nocase(format->text, "utf-8");
    const bool is_hex = nl_str_is_nocase(format->text, "hex");
    if (!is_text && !is_hex && !nl_str_is_nocase(format->text, "base64"))
        return NL_RAISE(INVALID_PARAMETER_VALUE__BINARY_FORMAT, NL_P_STR("functionName", nl_quote_name(arena, name)),
                        NL_P("parameter", "`format`"),
                        NL_P_STR("invalidFormat", nl_arena_f(arena, "'" NL_STR_FMT "'", NL_STR_ARG(format->text))));
    const uint32_t count = is_text ? 2 : 1;
    NL_TRY(nl_call_function(scope, is_text ? NL_STR("decode") : is_hex ? NL_STR("hex") : NL_STR("base64"), args, count, result));
    if (!nl_str_is_nocase(name, "to_varchar")) return NULL;
    const nl_pretty *parts[2] = {NULL};
    for (uint32_t i = 0; i < count; i++) parts[i] = nl_expr_pretty(arena, args[i]);
    *result = nl_expr_with_pretty(arena, *result, nl_pretty_parts(arena, nl_call_format(arena, name, count), parts, count));
    return NULL;
}

nl_status nl_special_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, bool *is_special,
                          const nl_expr **result)
{
    *is_special = false;
    const nl_type *type = count == 1 ? cast_function_type(name) : NULL;
    if (type) {
        *is_special = true;
        return nl_make_cast_call(scope, args[0], type, result);
    }
    if (count == 2 && (nl_str_is_nocase(name, "to_char") || nl_str_is_nocase(name, "to_varchar")))
        return make_to_char(scope, name, args, is_special, result);
    NL_TRY(nl_special_text_call(scope, name, args, count, is_special, result));
    if (*is_special) return NULL;
    special which;
    if (!find_special(name, count, &which)) return NULL;
    *is_special = true;
    NL_TRY(make_special(scope, which, name, args, count, result));
    const bool has_own = which == SPECIAL_WHEN || which == SPECIAL_NOT || which == SPECIAL_IF;
    if (!has_own) *result = with_pretty(scope, *result, name, args, count);
    return NULL;
}

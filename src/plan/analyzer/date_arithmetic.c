/* Dates, timestamps and intervals under + and -: Spark turns them into functions of other names; the printed names follow. */
#include "plan/analyzer/analyzer.h"

#define TIMESTAMPS "\"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)\""

static nl_status call(nl_scope *scope, const char *name, const nl_expr *a, const nl_expr *b, const nl_expr **result)
{
    const nl_expr *const args[] = {a, b};
    return nl_call_function(scope, nl_str_from(name), args, 2, result);
}

bool nl_is_date_time(const nl_type *type)
{
    return type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

bool nl_is_interval(const nl_type *type)
{
    return type->id == NL_TYPE_INTERVAL || type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
}

bool nl_is_small_integer(const nl_type *type)
{
    return type->id == NL_TYPE_INT || type->id == NL_TYPE_SMALLINT || type->id == NL_TYPE_TINYINT;
}

static bool is_timestamp(const nl_type *type)
{
    return type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

typedef struct operands {
    nl_scope *scope;
    nl_arena *arena;
    bool is_add;
    const nl_expr *left, *right;
} operands;

/* Operand `index` has not the type that `format`, the call as Spark shows it, requires. */
static nl_status raise_type(const operands *o, nl_str format, const nl_expr *first, const nl_expr *second, uint32_t index, const char *required)
{
    const nl_expr *wrong = index ? second : first;
    const nl_expr *shown = nl_expr_with_pretty(o->arena, first, nl_pretty_two(o->arena, format, first, second));
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quote_expr(o->arena, shown)), NL_P("paramIndex", index ? "second" : "first"),
                    NL_P("requiredType", required), NL_P_STR("inputSql", nl_quote_expr(o->arena, wrong)), NL_P_STR("inputType", nl_quote_type(o->arena, wrong->type)));
}

/* A string beside a date or a timestamp: subtracted, it is one too; added, it is no number of days. */
static nl_status resolve_with_string(const operands *o, const nl_expr **result)
{
    const bool is_left_text = o->left->type->id == NL_TYPE_STRING;
    const nl_expr *date = is_left_text ? o->right : o->left;
    const nl_expr *text = is_left_text ? o->left : o->right;
    if (text->type->id != NL_TYPE_STRING || !nl_is_date_time(date->type)) return NULL;
    if (o->is_add && date->type->id != NL_TYPE_DATE) return NULL;
    const bool is_ansi = nl_scope_confs(o->scope)->is_ansi;
    if (o->is_add && is_ansi) /* with the string first, Spark blames the date behind it */
        return raise_type(o, NL_STR("date_add(\1, \1)"), o->left, o->right, 1, "(\"INT\" or \"SMALLINT\" or \"TINYINT\")");
    if (!is_ansi && date->type->id == NL_TYPE_DATE && (o->is_add || !is_left_text)) /* the string has become a number by then */
        return raise_type(o, o->is_add ? NL_STR("date_add(\1, \1)") : NL_STR("date_sub(\1, \1)"), date, nl_expr_cast(o->arena, text, nl_type_double(), NL_CAST_LEGACY), 1,
                          "(\"INT\" or \"SMALLINT\" or \"TINYINT\")");
    if (!is_ansi && date->type->id != NL_TYPE_DATE) return NULL; /* refused: no cast is put in there */
    const nl_expr *cast = nl_expr_cast(o->arena, text, date->type, nl_scope_cast_mode(o->scope));
    NL_TRY(call(o->scope, "-", is_left_text ? cast : o->left, is_left_text ? o->right : cast, result));
    *result = nl_expr_with_pretty(o->arena, *result, nl_pretty_two(o->arena, NL_STR("(\1 - \1)"), o->left, o->right));
    return NULL;
}

/* What is no time beside an interval of days or of all units: a string is a timestamp, and becomes a string again. */
static nl_status resolve_beside_interval(const operands *o, const nl_expr **result)
{
    const bool is_swapped = o->is_add && nl_is_interval(o->left->type);
    const nl_expr *other = is_swapped ? o->right : o->left, *interval = is_swapped ? o->left : o->right;
    const nl_type *type = other->type;
    const bool is_here = (interval->type->id == NL_TYPE_INTERVAL_DT || interval->type->id == NL_TYPE_INTERVAL) && !nl_is_interval(type) && !nl_is_date_time(type);
    if (!is_here || type->id == NL_TYPE_NULL) return NULL;
    if (type->id != NL_TYPE_STRING) return raise_type(o, o->is_add ? NL_STR("\1 + \1") : NL_STR("\1 + (- \1)"), other, interval, 0, TIMESTAMPS);
    const nl_cast_mode mode = nl_scope_cast_mode(o->scope);
    NL_TRY(call(o->scope, o->is_add ? "+" : "-", nl_expr_cast(o->arena, other, nl_type_of(NL_TYPE_TIMESTAMP), mode), interval, result));
    *result = nl_expr_with_pretty(o->arena, nl_expr_cast(o->arena, *result, nl_type_string(), mode),
                                  nl_pretty_two(o->arena, o->is_add ? NL_STR("\1 + \1") : NL_STR("\1 - \1"), other, interval));
    return NULL;
}

/* The difference of a time and of what is no time: NULL is one, all else is refused. */
static nl_status resolve_difference(const operands *o, const nl_expr **result)
{
    const nl_type *a = o->left->type, *b = o->right->type;
    if (o->is_add || nl_is_interval(a) || nl_is_interval(b) || (!is_timestamp(a) && !nl_is_date_time(b))) return NULL;
    const bool is_left_wrong = !nl_is_date_time(a);
    const nl_expr *wrong = is_left_wrong ? o->left : o->right, *time = is_left_wrong ? o->right : o->left;
    if (nl_is_date_time(wrong->type)) return NULL;
    if (wrong->type->id != NL_TYPE_NULL)
        return raise_type(o, NL_STR("(\1 - \1)"), o->left, o->right, is_left_wrong ? 0 : 1, is_timestamp(time->type) ? TIMESTAMPS : "\"DATE\"");
    const nl_expr *cast = nl_expr_cast(o->arena, wrong, time->type, nl_scope_cast_mode(o->scope));
    NL_TRY(call(o->scope, "-", is_left_wrong ? cast : o->left, is_left_wrong ? o->right : cast, result));
    *result = nl_expr_with_pretty(o->arena, *result, nl_pretty_two(o->arena, NL_STR("(\1 - \1)"), o->left, o->right));
    return NULL;
}

static nl_status raise_void(const operands *o)
{
    const nl_expr *shown = nl_expr_with_pretty(o->arena, o->left, nl_pretty_two(o->arena, NL_STR("(\1 + \1)"), o->left, o->right));
    return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quote_expr(o->arena, shown)), NL_P_STR("left", nl_quote_type(o->arena, o->left->type)),
                    NL_P_STR("right", nl_quote_type(o->arena, o->right->type)));
}

/* A date and days, or a time and an interval. */
static nl_status resolve_shift(operands *o, const nl_expr **result)
{
    if (o->is_add && nl_is_date_time(o->right->type) && !nl_is_date_time(o->left->type)) {
        const nl_expr *swap = o->left;
        o->left = o->right;
        o->right = swap;
    }
    const nl_type *time = o->left->type, *by = o->right->type;
    if (!nl_is_date_time(time)) return NULL;
    if (time->id == NL_TYPE_DATE && !nl_is_interval(by) && (o->is_add || !nl_is_date_time(by)))
        return call(o->scope, o->is_add ? "date_add" : "date_sub", o->left, o->right, result);
    if (!nl_is_interval(by)) return NULL;
    NL_TRY(call(o->scope, o->is_add ? "+" : "-", o->left, o->right, result));
    nl_str format = o->is_add ? NL_STR("\1 + \1") : NL_STR("\1 - \1");
    const bool is_days = time->id == NL_TYPE_DATE && by->id == NL_TYPE_INTERVAL_DT && by->end_field == NL_FIELD_DAY;
    if (is_days) format = o->is_add ? NL_STR("date_add(\1, extractansiintervaldays(\1))") : NL_STR("date_add(\1, (- extractansiintervaldays(\1)))");
    *result = nl_expr_with_pretty(o->arena, *result, nl_pretty_two(o->arena, format, o->left, o->right));
    return NULL;
}

nl_status nl_resolve_date_arithmetic(nl_scope *scope, nl_ast_binary_op op, const nl_expr *left, const nl_expr *right, const nl_expr **result)
{
    operands o = {.scope = scope, .arena = nl_scope_arena(scope), .is_add = op == NL_AST_BINARY_ADD, .left = left, .right = right};
    *result = NULL;
    if (!o.is_add && op != NL_AST_BINARY_SUBTRACT) return NULL;
    NL_TRY(resolve_with_string(&o, result));
    if (!*result) NL_TRY(resolve_beside_interval(&o, result));
    if (!*result) NL_TRY(resolve_difference(&o, result));
    if (*result) return NULL;
    const bool has_void = left->type->id == NL_TYPE_NULL || right->type->id == NL_TYPE_NULL;
    if (o.is_add && has_void && (is_timestamp(left->type) || is_timestamp(right->type))) return raise_void(&o);
    return resolve_shift(&o, result);
}

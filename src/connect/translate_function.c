/* connect/translate_function.c - functions by name. Operators come as functions too: they become what the parser makes of
 * them, so that types and names of columns are the same. */
#include "connect/translate.h"

typedef nl_status (*make_fn)(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr);

static nl_status make_binary(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    (void)count;
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_BINARY);
    (*expr)->binary.op = (nl_ast_binary_op)what;
    (*expr)->binary.left = args[0];
    (*expr)->binary.right = args[1];
    return NULL;
}

static nl_status make_unary(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    (void)count;
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_UNARY);
    (*expr)->unary.op = (nl_ast_unary_op)what;
    (*expr)->unary.input = args[0];
    return NULL;
}

static nl_status make_is_null(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    (void)count;
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_IS);
    (*expr)->is_negated = what != 0;
    (*expr)->is.input = args[0];
    (*expr)->is.kind = NL_AST_IS_NULL;
    return NULL;
}

static nl_status make_like(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_LIKE);
    (*expr)->like.kind = (nl_ast_like_kind)what;
    (*expr)->like.input = args[0];
    (*expr)->like.pattern = args[1];
    if (count < 3) return NULL;
    const nl_ast_expr *escape = args[2];
    const bool is_text = escape->kind == NL_AST_EXPR_LITERAL && escape->literal.kind == NL_AST_LITERAL_VALUE && escape->literal.value->type->id == NL_TYPE_STRING;
    if (!is_text || escape->literal.value->text.length != 1) return NL_RAISE(INVALID_ESCAPE_CHAR, NL_P("sqlExpr", "the third argument"));
    (*expr)->like.has_escape = true;
    (*expr)->like.escape = escape->literal.value->text;
    return NULL;
}

static nl_status make_in(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    (void)what;
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_IN_LIST);
    (*expr)->in.input = args[0];
    (*expr)->in.list = (nl_ast_exprs){args + 1, count - 1};
    return NULL;
}

static nl_status make_when(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    (void)what;
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_CASE);
    (*expr)->choice.when_count = count / 2;
    (*expr)->choice.whens = NL_NEW_ARRAY(t->arena, nl_ast_when, count / 2 + 1);
    for (uint32_t i = 0; i < count / 2; i++) (*expr)->choice.whens[i] = (nl_ast_when){args[2 * i], args[2 * i + 1]};
    if (count % 2) (*expr)->choice.otherwise = args[count - 1];
    return NULL;
}

static nl_status make_argument(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    (void)t, (void)what, (void)count;
    *expr = args[0];
    return NULL;
}

static nl_status make_form(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    static const struct {
        nl_ast_call_form form;
        nl_str name;
    } forms[] = {{NL_AST_CALL_STRUCT, NL_STR_INIT("struct")}, {NL_AST_CALL_TIMESTAMPADD, NL_STR_INIT("timestampadd")}, {NL_AST_CALL_TIMESTAMPDIFF, NL_STR_INIT("timestampdiff")},
                 {NL_AST_CALL_DATAFRAME, NL_STR_INIT("product")}};
    nl_ast_ident *part = NL_NEW(t->arena, nl_ast_ident);
    nl_ast_argument *arguments = NL_NEW_ARRAY(t->arena, nl_ast_argument, count + 1);
    *expr = nl_new_expr(t->arena, NL_AST_EXPR_CALL);
    for (uint32_t i = 0; i < count; i++) arguments[i].value = args[i];
    for (size_t i = 0; i < NL_COUNT(forms); i++)
        if (forms[i].form == (nl_ast_call_form)what) *part = nl_ident_of(forms[i].name);
    (*expr)->call.name = (nl_ast_name){.parts = part, .count = 1};
    (*expr)->call.form = (nl_ast_call_form)what;
    (*expr)->call.args = (nl_ast_arguments){arguments, count};
    return NULL;
}

static nl_ast_expr *sql_call(nl_translator *t, const char *name, nl_ast_expr **args, uint32_t count)
{
    nl_ast_expr *call = nl_new_expr(t->arena, NL_AST_EXPR_CALL);
    nl_ast_ident *part = NL_NEW(t->arena, nl_ast_ident);
    nl_ast_argument *arguments = NL_NEW_ARRAY(t->arena, nl_ast_argument, count + 1);
    for (uint32_t i = 0; i < count; i++) arguments[i].value = args[i];
    *part = nl_ident_of(nl_str_from(name));
    call->call.name = (nl_ast_name){.parts = part, .count = 1};
    call->call.args = (nl_ast_arguments){arguments, count};
    return call;
}

/* What only pandas-on-Spark asks for, by names that SQL has not. Rows are numbered in one process, so an id is a place too. */
static nl_status make_row_id(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    (void)what, (void)args, (void)count;
    *expr = sql_call(t, "monotonically_increasing_id", NULL, 0);
    return NULL;
}

/* pandas_stddev(x, ddof): what is subtracted from the count is 0 or 1 for everybody. */
static nl_status make_with_freedom(nl_translator *t, int what, nl_ast_expr **args, uint32_t count, nl_ast_expr **expr)
{
    static const char *const names[][2] = {{"stddev_pop", "stddev_samp"}, {"var_pop", "var_samp"}, {"covar_pop", "covar_samp"}};
    const nl_ast_expr *freedom = args[count - 1];
    const bool is_number = freedom->kind == NL_AST_EXPR_LITERAL && freedom->literal.kind == NL_AST_LITERAL_VALUE;
    const nl_value *value = is_number ? freedom->literal.value : NULL;
    if (!value || value->is_null || !nl_type_is_integral(value->type) || value->integer < 0 || value->integer > 1)
        return nl_connect_unsupported("ddof other than 0 and 1");
    *expr = sql_call(t, names[what][value->integer], args, count - 1);
    return NULL;
}

enum { ANY = UINT16_MAX };

static const struct special {
    const char *name;
    uint32_t count_min, count_max;
    make_fn make;
    int what;
} specials[] = {
    {"==", 2, 2, make_binary, NL_AST_BINARY_EQ},
    {"=", 2, 2, make_binary, NL_AST_BINARY_EQ},
    {"!=", 2, 2, make_binary, NL_AST_BINARY_NEQ},
    {"<>", 2, 2, make_binary, NL_AST_BINARY_NEQ},
    {"<=>", 2, 2, make_binary, NL_AST_BINARY_NULL_SAFE_EQ},
    {"<", 2, 2, make_binary, NL_AST_BINARY_LT},
    {"<=", 2, 2, make_binary, NL_AST_BINARY_LTE},
    {">", 2, 2, make_binary, NL_AST_BINARY_GT},
    {">=", 2, 2, make_binary, NL_AST_BINARY_GTE},
    {"and", 2, 2, make_binary, NL_AST_BINARY_AND},
    {"&&", 2, 2, make_binary, NL_AST_BINARY_AND},
    {"or", 2, 2, make_binary, NL_AST_BINARY_OR},
    {"||", 2, 2, make_binary, NL_AST_BINARY_OR},
    {"not", 1, 1, make_unary, NL_AST_UNARY_NOT},
    {"!", 1, 1, make_unary, NL_AST_UNARY_NOT},
    {"~", 1, 1, make_unary, NL_AST_UNARY_TILDE},
    {"+", 2, 2, make_binary, NL_AST_BINARY_ADD},
    {"-", 2, 2, make_binary, NL_AST_BINARY_SUBTRACT},
    {"*", 2, 2, make_binary, NL_AST_BINARY_MULTIPLY},
    {"/", 2, 2, make_binary, NL_AST_BINARY_DIVIDE},
    {"%", 2, 2, make_binary, NL_AST_BINARY_REMAINDER},
    {"div", 2, 2, make_binary, NL_AST_BINARY_DIV},
    {"&", 2, 2, make_binary, NL_AST_BINARY_BIT_AND},
    {"|", 2, 2, make_binary, NL_AST_BINARY_BIT_OR},
    {"^", 2, 2, make_binary, NL_AST_BINARY_BIT_XOR},
    {"bitwiseand", 2, 2, make_binary, NL_AST_BINARY_BIT_AND},
    {"bitwiseor", 2, 2, make_binary, NL_AST_BINARY_BIT_OR},
    {"bitwisexor", 2, 2, make_binary, NL_AST_BINARY_BIT_XOR},
    {"isnull", 1, 1, make_is_null, 0},
    {"isnotnull", 1, 1, make_is_null, 1},
    {"like", 2, 3, make_like, NL_AST_LIKE},
    {"ilike", 2, 3, make_like, NL_AST_ILIKE},
    {"rlike", 2, 2, make_like, NL_AST_RLIKE},
    {"in", 1, ANY, make_in, 0},
    {"when", 2, ANY, make_when, 0},
    {"struct", 0, ANY, make_form, NL_AST_CALL_STRUCT},
    {"timestampadd", 3, 3, make_form, NL_AST_CALL_TIMESTAMPADD},
    {"timestampdiff", 3, 3, make_form, NL_AST_CALL_TIMESTAMPDIFF},
    {"product", 1, 1, make_form, NL_AST_CALL_DATAFRAME},
    {"unwrap_udt", 1, 1, make_argument, 0},
    {"distributed_id", 0, 0, make_row_id, 0},
    {"distributed_sequence_id", 0, 0, make_row_id, 0},
    {"pandas_stddev", 2, 2, make_with_freedom, 0},
    {"pandas_var", 2, 2, make_with_freedom, 1},
    {"pandas_covar", 3, 3, make_with_freedom, 2},
};

nl_status nl_translate_function(nl_translator *t, nl_str name, nl_ast_expr **args, uint32_t count, bool is_distinct, nl_ast_expr **expr)
{
    for (size_t i = 0; i < NL_COUNT(specials); i++) {
        const struct special *special = &specials[i];
        if (is_distinct || !nl_str_is_nocase(name, special->name) || count < special->count_min || count > special->count_max) continue;
        return special->make(t, special->what, args, count, expr);
    }
    *expr = NULL; /* a call of that name */
    return NULL;
}

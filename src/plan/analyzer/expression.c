/* Expressions: the way from each kind of AST node to a typed one. Calls, windows, subqueries have files of their own. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"
#include "function/coercion.h"
#include "session/session.h"

const nl_pretty *nl_pretty_two(nl_arena *arena, nl_str format, const nl_expr *a, const nl_expr *b)
{
    const nl_pretty *const parts[] = {nl_expr_pretty(arena, a), nl_expr_pretty(arena, b)};
    return nl_pretty_parts(arena, format, parts, 2);
}

static const nl_pretty *pretty1(nl_arena *arena, nl_str format, const nl_expr *a)
{
    const nl_pretty *const parts[] = {nl_expr_pretty(arena, a)};
    return nl_pretty_parts(arena, format, parts, 1);
}

static const nl_expr *named(nl_arena *arena, const nl_expr *expr, const nl_pretty *pretty)
{
    return nl_expr_with_pretty(arena, expr, pretty);
}

/* NOT with Spark's parentheses. */
static const nl_expr *negate(nl_arena *arena, const nl_expr *expr)
{
    return named(arena, nl_expr_not(arena, expr), pretty1(arena, NL_STR("(NOT \1)"), expr));
}

static nl_status operator_call(nl_scope *scope, const char *name, const nl_expr *a, const nl_expr *b, const nl_expr **result)
{
    const nl_expr *const args[] = {a, b};
    return nl_call_function(scope, nl_str_from(name), args, 2, result);
}

/* ---- booleans ---- */

/* The operand as a boolean: NULL and (as Spark's implicit casts allow) strings are cast. */
static bool as_boolean(nl_scope *scope, const nl_expr **expr)
{
    if ((*expr)->type->id == NL_TYPE_BOOLEAN) return true;
    if (!nl_can_cast_implicitly((*expr)->type, nl_type_boolean(), nl_confs_rules(nl_scope_confs(scope)))) return false;
    *expr = nl_expr_cast(nl_scope_arena(scope), *expr, nl_type_boolean(), nl_scope_cast_mode(scope));
    return true;
}

static nl_status connect(nl_scope *scope, bool is_and, const nl_expr *a, const nl_expr *b, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_pretty *pretty = nl_pretty_two(arena, is_and ? NL_STR("(\1 AND \1)") : NL_STR("(\1 OR \1)"), a, b);
    const nl_type *a_type = a->type;
    const nl_type *b_type = b->type;
    const bool is_typed = as_boolean(scope, &a) && as_boolean(scope, &b);
    const nl_expr *both = named(arena, is_and ? nl_expr_and(arena, a, b) : nl_expr_or(arena, a, b), pretty);
    *result = both;
    if (is_typed) return NULL;
    if (a_type->id == b_type->id)
        return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_WRONG_TYPE, NL_P_STR("sqlExpr", nl_quote_expr(arena, both)),
                        NL_P("inputType", "\"BOOLEAN\""), NL_P_STR("actualDataType", nl_quote_type(arena, a_type)));
    return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quote_expr(arena, both)),
                    NL_P_STR("left", nl_quote_type(arena, a_type)), NL_P_STR("right", nl_quote_type(arena, b_type)));
}

static nl_status resolve_not(nl_scope *scope, const nl_expr *input, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *typed = input;
    if (as_boolean(scope, &typed)) {
        *result = named(arena, nl_expr_not(arena, typed), pretty1(arena, NL_STR("(NOT \1)"), input));
        return NULL;
    }
    const nl_expr *shown = negate(arena, input);
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown)),
                    NL_P("paramIndex", "first"), NL_P("requiredType", "\"BOOLEAN\""),
                    NL_P_STR("inputSql", nl_quote_expr(arena, input)), NL_P_STR("inputType", nl_quote_type(arena, input->type)));
}

/* ---- operators ---- */

/* A chain a AND b AND c … is a list, not recursion as deep as it is long. */
static nl_status resolve_connected(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_ast_binary_op op = ast->binary.op;
    nl_list rest = {0};
    const nl_ast_expr *leftmost = ast;
    while (leftmost->kind == NL_AST_EXPR_BINARY && leftmost->binary.op == op) {
        nl_list_add(arena, &rest, NL_UNCONST(leftmost));
        leftmost = leftmost->binary.left;
    }
    const nl_expr *left = NULL;
    NL_TRY(nl_resolve_expr(scope, leftmost, &left));
    for (uint32_t i = rest.count; i-- > 0;) {
        const nl_ast_expr *node = rest.items[i];
        const nl_expr *right = NULL;
        NL_TRY(nl_resolve_expr(scope, node->binary.right, &right));
        NL_TRY(nl_sql_at(connect(scope, op == NL_AST_BINARY_AND, left, right, &left), scope->env->text, node->range, false));
    }
    *result = left;
    return NULL;
}

static const char *operator_name(nl_ast_binary_op op)
{
    switch (op) {
    case NL_AST_BINARY_EQ:
    case NL_AST_BINARY_NEQ:
        return "=";
    case NL_AST_BINARY_NULL_SAFE_EQ:
        return "<=>";
    case NL_AST_BINARY_LT:
        return "<";
    case NL_AST_BINARY_LTE:
        return "<=";
    case NL_AST_BINARY_GT:
        return ">";
    case NL_AST_BINARY_GTE:
        return ">=";
    case NL_AST_BINARY_BIT_OR:
        return "|";
    case NL_AST_BINARY_BIT_XOR:
        return "^";
    case NL_AST_BINARY_BIT_AND:
        return "&";
    case NL_AST_BINARY_SHIFT_LEFT:
        return "<<";
    case NL_AST_BINARY_SHIFT_RIGHT:
        return ">>";
    case NL_AST_BINARY_SHIFT_RIGHT_UNSIGNED:
        return ">>>";
    case NL_AST_BINARY_ADD:
        return "+";
    case NL_AST_BINARY_SUBTRACT:
        return "-";
    case NL_AST_BINARY_CONCAT:
        return "concat";
    case NL_AST_BINARY_MULTIPLY:
        return "*";
    case NL_AST_BINARY_DIVIDE:
        return "/";
    case NL_AST_BINARY_REMAINDER:
        return "%";
    case NL_AST_BINARY_DIV:
        return "div";
    case NL_AST_BINARY_OR:
    case NL_AST_BINARY_AND:
        break;
    }
    return "";
}

static bool is_comparison(nl_ast_binary_op op)
{
    return op == NL_AST_BINARY_EQ || op == NL_AST_BINARY_NEQ || op == NL_AST_BINARY_NULL_SAFE_EQ || op == NL_AST_BINARY_LT ||
           op == NL_AST_BINARY_LTE || op == NL_AST_BINARY_GT || op == NL_AST_BINARY_GTE;
}

/* 1 = '1' casts the string, array(1) = array('1') does not. */
static nl_status check_nested_operands(nl_scope *scope, const char *name, const nl_expr *left, const nl_expr *right)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_nested = left->type->child_count > 0 && left->type->id == right->type->id;
    if (!is_nested || !nl_types_mix_strings(left->type, right->type)) return NULL;
    const nl_expr *shown = named(arena, left, nl_pretty_two(arena, nl_arena_f(arena, "(\1 %s \1)", name), left, right));
    return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown)),
                    NL_P_STR("left", nl_quote_type(arena, left->type)), NL_P_STR("right", nl_quote_type(arena, right->type)));
}

/* a || b || c …: texts become one call of concat; the others fold from the left. The printed name is nested in any case. */
static nl_status resolve_concat(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_list nodes = {0};
    const nl_ast_expr *leftmost = ast;
    for (; leftmost->kind == NL_AST_EXPR_BINARY && leftmost->binary.op == NL_AST_BINARY_CONCAT; leftmost = leftmost->binary.left)
        nl_list_add(arena, &nodes, NL_UNCONST(leftmost));
    const uint32_t count = nodes.count + 1;
    const nl_expr **parts = NL_NEW_ARRAY(arena, const nl_expr *, count);
    NL_TRY(nl_resolve_expr(scope, leftmost, &parts[0]));
    const nl_pretty *pretty = nl_expr_pretty(arena, parts[0]);
    bool are_texts = parts[0]->type->id == NL_TYPE_STRING;
    for (uint32_t i = 1; i < count; i++) {
        const nl_ast_expr *node = nodes.items[nodes.count - i];
        NL_TRY(nl_resolve_expr(scope, node->binary.right, &parts[i]));
        are_texts = are_texts && nl_type_equal(parts[i]->type, parts[0]->type);
        const nl_pretty *const both[] = {pretty, nl_expr_pretty(arena, parts[i])};
        pretty = nl_pretty_parts(arena, NL_STR("concat(\1, \1)"), both, 2);
    }
    if (are_texts) {
        NL_TRY(nl_call_function(scope, NL_STR("concat"), parts, count, result));
        *result = named(arena, *result, pretty);
        return NULL;
    }
    if (count > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    const nl_expr *left = parts[0];
    for (uint32_t i = 1; i < count; i++) {
        const nl_expr *shown = left;
        NL_TRY(nl_sql_at(operator_call(scope, "concat", left, parts[i], &left), scope->env->text, ((const nl_ast_expr *)nodes.items[nodes.count - i])->range,
                         false));
        left = named(arena, left, nl_pretty_two(arena, NL_STR("concat(\1, \1)"), shown, parts[i]));
    }
    *result = left;
    return NULL;
}

/* What Trino's dialect gives another meaning than Spark's. */
static bool is_trino(nl_scope *scope)
{
    return nl_scope_confs(scope)->is_trino;
}

static bool is_integer(const nl_type *type)
{
    return nl_is_small_integer(type) || type->id == NL_TYPE_BIGINT;
}

/* Operands that Spark would bring together and Trino does not: texts beside other values, times beside numbers. */
static bool is_mixed_in_trino(const nl_type *a, const nl_type *b)
{
    if (a->id == NL_TYPE_NULL || b->id == NL_TYPE_NULL) return false;
    return (a->id == NL_TYPE_STRING) != (b->id == NL_TYPE_STRING) || (nl_is_date_time(a) && nl_type_is_numeric(b)) || (nl_is_date_time(b) && nl_type_is_numeric(a));
}

/* A timestamp and an interval, which has milliseconds: as many digits behind the second as the finer of the two. */
static nl_status set_time_digits(nl_scope *scope, const nl_type *left, const nl_type *right, const nl_expr **result)
{
    const nl_type *time = nl_is_date_time(left) ? left : right;
    const bool is_months = left->id == NL_TYPE_INTERVAL_YM || right->id == NL_TYPE_INTERVAL_YM;
    if ((*result)->type->id != time->id || time->id == NL_TYPE_DATE || time->precision == 0) return NULL;
    const nl_value digits = nl_value_int(nl_type_bigint(), is_months ? time->precision - 1 : NL_MAX(3, time->precision - 1));
    const nl_expr *args[2] = {*result, nl_expr_literal(nl_scope_arena(scope), &digits)};
    return nl_call_function(scope, NL_STR("trino_round_time"), args, 2, result);
}

/* 7 / 2 is 3 there, of the wider of both types. */
static nl_status resolve_integer_division(nl_scope *scope, const nl_expr *left, const nl_expr *right, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *type = nl_common_type(arena, left->type, right->type, NL_RULES_TRINO);
    NL_TRY(operator_call(scope, "div", left, right, result));
    *result = named(arena, nl_expr_cast(arena, *result, type, nl_scope_cast_mode(scope)), nl_pretty_two(arena, NL_STR("(\1 / \1)"), left, right));
    return NULL;
}

static nl_status resolve_binary(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_ast_binary_op op = ast->binary.op;
    if (op == NL_AST_BINARY_CONCAT) return resolve_concat(scope, ast, result);
    if (op == NL_AST_BINARY_AND || op == NL_AST_BINARY_OR) return resolve_connected(scope, ast, result);
    const nl_expr *left = NULL;
    const nl_expr *right = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->binary.left, &left));
    NL_TRY(nl_resolve_expr(scope, ast->binary.right, &right));
    const nl_expr *dates = NULL;
    if (is_trino(scope) && is_mixed_in_trino(left->type, right->type))
        return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_DIFF_TYPES, NL_P_STR("sqlExpr", nl_arena_f(arena, "\"%s\"", operator_name(op))), NL_P_STR("left", nl_quote_type(arena, left->type)),
                        NL_P_STR("right", nl_quote_type(arena, right->type)));
    NL_TRY(nl_resolve_date_arithmetic(scope, op, left, right, &dates));
    if (dates) {
        if (is_trino(scope)) NL_TRY(set_time_digits(scope, left->type, right->type, &dates));
        *result = dates;
        return NULL;
    }
    if (op == NL_AST_BINARY_DIVIDE && is_integer(left->type) && is_integer(right->type) && is_trino(scope)) return resolve_integer_division(scope, left, right, result);
    const char *name = operator_name(op);
    if (is_comparison(op)) {
        const nl_expr *pair[] = {left, right};
        NL_TRY(nl_collate_same(scope, nl_str_from(name), pair, 2));
        NL_TRY(nl_pad_operands(scope, pair, 2));
        left = pair[0];
        right = pair[1];
    }
    if (is_comparison(op)) NL_TRY(check_nested_operands(scope, name, left, right));
    NL_TRY(operator_call(scope, name, left, right, result));
    if (op == NL_AST_BINARY_MULTIPLY && nl_is_interval(right->type)) { /* the interval prints first */
        const nl_expr *swap = left;
        left = right;
        right = swap;
    }
    const nl_str format = nl_arena_f(arena, "(\1 %s \1)", name);
    *result = named(arena, *result, nl_pretty_two(arena, format, left, right));
    if (op == NL_AST_BINARY_NEQ) *result = negate(arena, *result);
    return NULL;
}

/* -1 is a literal, as in Spark's grammar; -(1) and -(-1) are calls, which may overflow. */
static bool is_negative_number(const nl_scope *scope, const nl_ast_expr *ast)
{
    if (ast->unary.op != NL_AST_UNARY_MINUS || ast->unary.input->kind != NL_AST_EXPR_LITERAL) return false;
    const nl_str text = ast->unary.input->literal.text;
    if (text.length > 0 && text.data[0] == '-') return false;
    const nl_str written = nl_str_slice(scope->env->text, ast->range.start, ast->range.stop);
    if (nl_str_find_char(written, '(', 0) != NL_NOT_FOUND) return false;
    const nl_ast_literal_kind kind = ast->unary.input->literal.kind;
    return kind >= NL_AST_LITERAL_TINYINT && kind <= NL_AST_LITERAL_DECIMAL;
}

static nl_status resolve_negative_number(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_ast_expr literal = *ast->unary.input;
    literal.range = ast->range;
    literal.literal.integer = -literal.literal.integer;
    literal.literal.real = -literal.literal.real;
    literal.literal.decimal = -literal.literal.decimal;
    return nl_resolve_literal(scope, &literal, result);
}

static nl_status resolve_unary(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    if (is_negative_number(scope, ast)) return resolve_negative_number(scope, ast, result);
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *input = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->unary.input, &input));
    switch (ast->unary.op) {
    case NL_AST_UNARY_NOT:
        return resolve_not(scope, input, result);
    case NL_AST_UNARY_MINUS:
        NL_TRY(nl_call_function(scope, NL_STR("negative"), &input, 1, result));
        *result = named(arena, *result, pretty1(arena, NL_STR("(- \1)"), input));
        return NULL;
    case NL_AST_UNARY_PLUS:
        NL_TRY(nl_call_function(scope, NL_STR("positive"), &input, 1, result));
        *result = named(arena, *result, pretty1(arena, NL_STR("(+ \1)"), input));
        return NULL;
    case NL_AST_UNARY_TILDE:
        NL_TRY(nl_call_function(scope, NL_STR("~"), &input, 1, result));
        *result = named(arena, *result, pretty1(arena, NL_STR("~\1"), input));
        return NULL;
    }
    return NULL;
}

/* ---- predicates ---- */

static nl_status resolve_between(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *args[3] = {0};
    NL_TRY(nl_resolve_expr(scope, ast->between.input, &args[0]));
    NL_TRY(nl_resolve_expr(scope, ast->between.low, &args[1]));
    NL_TRY(nl_resolve_expr(scope, ast->between.high, &args[2]));
    bool is_special = false;
    NL_TRY(nl_special_call(scope, NL_STR("between"), args, 3, &is_special, result));
    if (ast->is_negated) *result = negate(arena, *result);
    return NULL;
}

static nl_status raise_in_types(nl_scope *scope, const nl_expr *in)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_str *types = NL_NEW_ARRAY(arena, nl_str, in->child_count);
    for (uint32_t i = 0; i < in->child_count; i++) types[i] = nl_quote_type(arena, in->children[i]->type);
    const nl_str list = nl_join_texts(arena, types, in->child_count, ", ");
    return NL_RAISE(DATATYPE_MISMATCH__DATA_DIFF_TYPES, NL_P_STR("sqlExpr", nl_quote_expr(arena, in)),
                    NL_P("functionName", "`in`"), NL_P_STR("dataType", nl_arena_f(arena, "[" NL_STR_FMT "]", NL_STR_ARG(list))));
}

/* Structs are compared by position: their names may differ. */
static const nl_type *common_type_of_in(nl_scope *scope, const nl_expr *const *children, uint32_t count)
{
    const nl_type *common = children[0]->type;
    bool is_same = true;
    for (uint32_t i = 1; i < count; i++) {
        is_same = is_same && nl_type_has_same_structure(children[0]->type, children[i]->type);
        if (common) common = nl_common_type(nl_scope_arena(scope), common, children[i]->type, nl_confs_rules(nl_scope_confs(scope)));
    }
    return common || !is_same ? common : children[0]->type;
}

/* x IN (*) compares with every column. */
static nl_status add_value(nl_scope *scope, const nl_ast_expr *ast, nl_list *values)
{
    const nl_expr *value = NULL;
    nl_items items = {0};
    if (ast->kind != NL_AST_EXPR_STAR) {
        NL_TRY(nl_resolve_expr(scope, ast, &value));
        nl_list_add(nl_scope_arena(scope), values, NL_UNCONST(value));
        return NULL;
    }
    NL_TRY(nl_expand_star(scope, ast, &items));
    for (uint32_t i = 0; i < items.count; i++) nl_list_add(nl_scope_arena(scope), values, NL_UNCONST(items.list[i].expr));
    return NULL;
}

static nl_status resolve_in_list(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_list values = {0};
    const nl_expr *input = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->in.input, &input));
    nl_list_add(arena, &values, NL_UNCONST(input));
    for (uint32_t i = 0; i < ast->in.list.count; i++) NL_TRY(add_value(scope, ast->in.list.items[i], &values));
    const uint32_t count = values.count;
    const nl_expr **children = (const nl_expr **)(void *)values.items;
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, count);
    NL_TRY(nl_collate_same(scope, NL_STR("in"), children, count));
    for (uint32_t i = 0; i < count; i++) parts[i] = nl_expr_pretty(arena, children[i]);
    const nl_str list = nl_call_format(arena, NL_STR("(\1 IN "), count - 1);
    const nl_pretty *pretty = nl_pretty_parts(arena, nl_arena_f(arena, NL_STR_FMT ")", NL_STR_ARG(list)), parts, count);
    NL_TRY(nl_collate_operands(scope, NL_STR("in"), children, count));
    NL_TRY(nl_pad_operands(scope, children, count));
    const nl_type *common = common_type_of_in(scope, children, count);
    if (!common) {
        const nl_expr *shown = nl_expr_new(arena, NL_EXPR_IN, nl_type_boolean(), children, count);
        return raise_in_types(scope, named(arena, shown, pretty));
    }
    for (uint32_t i = 0; i < count; i++) children[i] = nl_cast_constant(scope, children[i], common);
    *result = named(arena, nl_expr_new(arena, NL_EXPR_IN, nl_type_boolean(), children, count), pretty);
    if (ast->is_negated) *result = negate(arena, *result);
    return NULL;
}

static nl_status resolve_like(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *args[3] = {0};
    NL_TRY(nl_resolve_expr(scope, ast->like.input, &args[0]));
    NL_TRY(nl_resolve_expr(scope, ast->like.pattern, &args[1]));
    const bool is_plain = is_trino(scope) && !ast->like.has_escape; /* where nothing escapes unless it is said: a byte that no pattern has */
    const nl_value escape = nl_value_string(is_plain ? NL_STR("\x01") : ast->like.escape);
    const bool has_escape = (ast->like.has_escape || is_plain) && ast->like.kind != NL_AST_RLIKE;
    if (has_escape) args[2] = nl_expr_literal(arena, &escape);
    const char *name = ast->like.kind == NL_AST_LIKE ? "like" : ast->like.kind == NL_AST_ILIKE ? "ilike" : "rlike";
    NL_TRY(nl_call_function(scope, nl_str_from(name), args, has_escape ? 3 : 2, result));
    nl_str format = NL_STR("RLIKE(\1, \1)");
    if (ast->like.kind == NL_AST_LIKE) format = NL_STR("\1 LIKE \1");
    if (ast->like.kind == NL_AST_ILIKE) format = NL_STR("ilike(\1, \1)");
    if (ast->like.kind == NL_AST_LIKE && has_escape)
        format = nl_arena_f(arena, "\1 LIKE \1 ESCAPE '" NL_STR_FMT "'", NL_STR_ARG(ast->like.escape));
    *result = named(arena, *result, nl_pretty_two(arena, format, args[0], args[1]));
    if (ast->is_negated) *result = negate(arena, *result);
    return NULL;
}

static nl_status resolve_like_quantified(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *input = NULL;
    const nl_expr *all = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->like_quantified.input, &input));
    const bool is_ilike = ast->like_quantified.kind == NL_AST_ILIKE;
    const bool is_all = ast->like_quantified.quantifier == NL_AST_QUANTIFIER_ALL;
    for (uint32_t i = 0; i < ast->like_quantified.patterns.count; i++) {
        const nl_expr *args[2] = {input, NULL};
        const nl_expr *one = NULL;
        NL_TRY(nl_resolve_expr(scope, ast->like_quantified.patterns.items[i], &args[1]));
        NL_TRY(nl_call_function(scope, is_ilike ? NL_STR("ilike") : NL_STR("like"), args, 2, &one));
        if (ast->is_negated) one = nl_expr_not(arena, one);
        all = is_all ? nl_expr_and(arena, all, one) : nl_expr_or(arena, all, one);
    }
    const char *name = is_all ? "likeall" : "likeany";
    const nl_str format = nl_arena_f(arena, "%s%s(%s)", ast->is_negated ? "not" : "", name, is_ilike ? "lower(\1)" : "\1");
    *result = named(arena, all, pretty1(arena, format, input));
    return NULL;
}

static nl_status resolve_is(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *input = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->is.input, &input));
    if (ast->is.kind == NL_AST_IS_NULL || ast->is.kind == NL_AST_IS_UNKNOWN) {
        const nl_str format = ast->is_negated ? NL_STR("(\1 IS NOT NULL)") : NL_STR("(\1 IS NULL)");
        *result = named(arena, nl_expr_is_null(arena, input, ast->is_negated), pretty1(arena, format, input));
        return NULL;
    }
    const nl_expr *truth = nl_expr_boolean(arena, ast->is.kind == NL_AST_IS_TRUE);
    NL_TRY(operator_call(scope, "<=>", input, truth, result));
    *result = named(arena, *result, nl_pretty_two(arena, NL_STR("(\1 <=> \1)"), input, truth));
    if (ast->is_negated) *result = negate(arena, *result);
    return NULL;
}

static nl_status resolve_distinct(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *left = NULL;
    const nl_expr *right = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->distinct.left, &left));
    NL_TRY(nl_resolve_expr(scope, ast->distinct.right, &right));
    NL_TRY(operator_call(scope, "<=>", left, right, result));
    *result = named(arena, *result, nl_pretty_two(arena, NL_STR("(\1 <=> \1)"), left, right));
    if (!ast->is_negated) *result = negate(arena, *result);
    return NULL;
}

/* ---- CASE ---- */

static nl_status resolve_case(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const uint32_t count = ast->choice.when_count * 2 + (ast->choice.otherwise ? 1 : 0);
    const nl_expr **parts = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    const nl_expr *operand = NULL;
    if (ast->choice.operand) NL_TRY(nl_resolve_expr(scope, ast->choice.operand, &operand));
    for (uint32_t i = 0; i < ast->choice.when_count; i++) {
        const nl_expr *condition = NULL;
        NL_TRY(nl_resolve_expr(scope, ast->choice.whens[i].condition, &condition));
        if (operand) {
            const nl_expr *pair[] = {operand, condition};
            NL_TRY(nl_collate_same(scope, NL_STR("="), pair, 2));
            NL_TRY(nl_pad_operands(scope, pair, 2));
            const nl_pretty *pretty = nl_pretty_two(arena, NL_STR("(\1 = \1)"), pair[0], pair[1]);
            NL_TRY(operator_call(scope, "=", pair[0], pair[1], &condition));
            condition = named(arena, condition, pretty);
        }
        parts[2 * i] = condition;
        NL_TRY(nl_resolve_expr(scope, ast->choice.whens[i].result, &parts[2 * i + 1]));
    }
    if (ast->choice.otherwise) NL_TRY(nl_resolve_expr(scope, ast->choice.otherwise, &parts[count - 1]));
    return nl_make_case(scope, parts, count, NULL, result);
}

/* ---- access ---- */

static nl_status resolve_subscript(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *args[2] = {0};
    NL_TRY(nl_resolve_expr(scope, ast->subscript.input, &args[0]));
    NL_TRY(nl_resolve_expr(scope, ast->subscript.index, &args[1]));
    const nl_type *type = args[0]->type;
    const bool is_named = args[1]->kind == NL_EXPR_LITERAL && args[1]->type->id == NL_TYPE_STRING && !args[1]->value.is_null;
    if (is_named && (type->id == NL_TYPE_STRUCT || (type->id == NL_TYPE_ARRAY && type->children[0].type->id == NL_TYPE_STRUCT)))
        return nl_extract_field(scope, args[0], args[1]->value.text, result);
    if (type->id != NL_TYPE_ARRAY && type->id != NL_TYPE_MAP)
        return NL_RAISE(INVALID_EXTRACT_BASE_FIELD_TYPE, NL_P_STR("base", nl_quote_expr(arena, args[0])),
                        NL_P_STR("other", nl_quote_type(arena, type)));
    const char *name = is_trino(scope) ? "trino_subscript" : type->id == NL_TYPE_MAP ? "[]" : nl_scope_confs(scope)->is_ansi ? "[]" : "get";
    NL_TRY(nl_call_function(scope, nl_str_from(name), args, 2, result));
    *result = named(arena, *result, nl_pretty_two(arena, NL_STR("\1[\1]"), args[0], args[1]));
    return NULL;
}

/* The name a struct's field takes from its expression. */
static nl_str field_name(nl_arena *arena, const nl_ast_expr *ast, const nl_expr *expr, uint32_t i)
{
    if (ast->kind == NL_AST_EXPR_ALIAS) return ast->alias.names.items[0].text;
    if (ast->kind == NL_AST_EXPR_COLUMN && ast->column.count) return ast->column.parts[ast->column.count - 1].text;
    if (expr->kind == NL_EXPR_COLUMN) return expr->name;
    return nl_arena_f(arena, "col%u", i + 1);
}

/* The fields of STRUCT(…) or of a row. Stars inside stand for their columns. */
static nl_status struct_items(nl_scope *scope, const nl_ast_expr *const *fields, uint32_t count, nl_items *items)
{
    nl_arena *arena = nl_scope_arena(scope);
    for (uint32_t i = 0; i < count; i++) {
        const nl_ast_expr *field = fields[i];
        if (field->kind == NL_AST_EXPR_STAR) {
            NL_TRY(nl_expand_star(scope, field, items));
            continue;
        }
        nl_item item = {.ast = field};
        const nl_ast_expr *value = field->kind == NL_AST_EXPR_ALIAS ? field->alias.input : field;
        NL_TRY(nl_resolve_expr(scope, value, &item.expr));
        item.name = field_name(arena, field, item.expr, items->count);
        item.has_alias = field->kind == NL_AST_EXPR_ALIAS;
        nl_items_add(arena, items, item);
    }
    return NULL;
}

static const nl_pretty *struct_pretty(nl_arena *arena, const nl_items *items, bool is_row)
{
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, items->count + 1);
    nl_str *formats = NL_NEW_ARRAY(arena, nl_str, items->count + 1);
    for (uint32_t i = 0; i < items->count; i++) {
        const nl_item *item = &items->list[i];
        const char *alias = item->has_alias ? " AS " : "";
        const nl_str alias_name = item->has_alias ? item->name : NL_STR("");
        parts[i] = nl_expr_pretty(arena, item->expr);
        if (is_row)
            formats[i] = nl_arena_f(arena, NL_STR_FMT ", \1%s" NL_STR_FMT, NL_STR_ARG(item->name), alias, NL_STR_ARG(alias_name));
        else
            formats[i] = nl_arena_f(arena, "\1%s" NL_STR_FMT, alias, NL_STR_ARG(alias_name));
    }
    const nl_str list = nl_join_texts(arena, formats, items->count, ", ");
    const nl_str format = nl_arena_f(arena, "%s(" NL_STR_FMT ")", is_row ? "named_struct" : "struct", NL_STR_ARG(list));
    return nl_pretty_parts(arena, format, parts, items->count);
}

/* STRUCT(a, b AS c) and (a, b AS c). */
nl_status nl_resolve_struct(nl_scope *scope, const nl_ast_expr *const *fields, uint32_t count, bool is_row, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_items items = {0};
    NL_TRY(struct_items(scope, fields, count, &items));
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, 2 * items.count + 1);
    for (uint32_t i = 0; i < items.count; i++) {
        const nl_value name = nl_value_string(items.list[i].name);
        args[2 * i] = nl_expr_literal(arena, &name);
        args[2 * i + 1] = items.list[i].expr;
    }
    NL_TRY(nl_call_function(scope, NL_STR("named_struct"), args, 2 * items.count, result));
    *result = named(arena, *result, struct_pretty(arena, &items, is_row));
    return NULL;
}

nl_status nl_resolve_row(nl_scope *scope, const nl_ast_exprs *row, const nl_expr *const **cells, const nl_pretty **pretty)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_items items = {0};
    NL_TRY(struct_items(scope, (const nl_ast_expr *const *)row->items, row->count, &items));
    const nl_expr **list = NL_NEW_ARRAY(arena, const nl_expr *, items.count + 1);
    for (uint32_t i = 0; i < items.count; i++) list[i] = items.list[i].expr;
    *cells = list;
    /* in front of IN the fields are named by their own text */
    for (uint32_t i = 0; i < items.count; i++)
        if (items.list[i].expr->kind != NL_EXPR_COLUMN && !items.list[i].has_alias) items.list[i].name = nl_expr_pretty_str(arena, items.list[i].expr);
    *pretty = struct_pretty(arena, &items, true);
    return NULL;
}

static nl_status resolve_column(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    const nl_str *parts = NULL;
    uint32_t count = 0;
    if (ast->has_plan_id) return nl_resolve_term_column(scope, ast, result);
    NL_TRY(nl_name_parts(scope, &ast->column, &parts, &count));
    return nl_resolve_name(scope, parts, count, ast->range, result);
}

static nl_status resolve_collate(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *input = NULL;
    const nl_str *parts = NULL;
    uint32_t count = 0;
    NL_TRY(nl_resolve_expr(scope, ast->collate.input, &input));
    NL_TRY(nl_name_parts(scope, &ast->collate.collation, &parts, &count));
    const nl_value name = nl_value_string(parts[count - 1]);
    const nl_expr *const args[] = {input, nl_expr_literal(arena, &name)};
    return nl_call_function(scope, NL_STR("collate"), args, 2, result);
}

static nl_status resolve_parameter(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    const nl_value *value = NULL;
    NL_TRY(nl_parameter_value(scope, ast, &value));
    NL_TRY(nl_make_literal(scope, value, nl_span_of(ast->range), result));
    const nl_plan_context *context = scope->env->context;
    const bool is_positional = !ast->parameter.name.text.data && context->parameter_names;
    const nl_str alias = is_positional ? context->parameter_names[ast->parameter.index] : (nl_str){0};
    if (alias.data) /* USING 1 AS a for a `?`: the alias comes along */
        *result = nl_expr_with_pretty(context->arena, *result, nl_pretty_text(context->arena, alias));
    return NULL;
}

static nl_status misplaced(const nl_ast_expr *ast)
{
    if (ast->kind == NL_AST_EXPR_STAR)
        return NL_RAISE(INVALID_USAGE_OF_STAR_OR_REGEX, NL_P("elem", "'*'"), NL_P("prettyName", "expression"));
    if (ast->kind == NL_AST_EXPR_LAMBDA)
        return NL_RAISE(INVALID_LAMBDA_FUNCTION_CALL__NON_HIGHER_ORDER_FUNCTION, NL_P("class", "expression"));
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This expression is not supported here.");
}

static nl_status resolve_node(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    switch (ast->kind) {
    case NL_AST_EXPR_LITERAL:
        return nl_resolve_literal(scope, ast, result);
    case NL_AST_EXPR_COLUMN:
        return resolve_column(scope, ast, result);
    case NL_AST_EXPR_CALL:
        return nl_resolve_call(scope, ast, result);
    case NL_AST_EXPR_CAST:
        return nl_resolve_cast(scope, ast, result);
    case NL_AST_EXPR_CASE:
        return resolve_case(scope, ast, result);
    case NL_AST_EXPR_BETWEEN:
        return resolve_between(scope, ast, result);
    case NL_AST_EXPR_IN_LIST:
        return resolve_in_list(scope, ast, result);
    case NL_AST_EXPR_IN_QUERY:
    case NL_AST_EXPR_EXISTS:
    case NL_AST_EXPR_SUBQUERY:
        return nl_resolve_subquery(scope, ast, result);
    case NL_AST_EXPR_LIKE:
        return resolve_like(scope, ast, result);
    case NL_AST_EXPR_LIKE_QUANTIFIED:
        return resolve_like_quantified(scope, ast, result);
    case NL_AST_EXPR_IS:
        return resolve_is(scope, ast, result);
    case NL_AST_EXPR_IS_DISTINCT:
        return resolve_distinct(scope, ast, result);
    case NL_AST_EXPR_UNARY:
        return resolve_unary(scope, ast, result);
    case NL_AST_EXPR_BINARY:
        return resolve_binary(scope, ast, result);
    case NL_AST_EXPR_SUBSCRIPT:
        return resolve_subscript(scope, ast, result);
    case NL_AST_EXPR_FIELD: {
        const nl_expr *input = NULL;
        NL_TRY(nl_resolve_expr(scope, ast->field.input, &input));
        return nl_extract_field(scope, input, ast->field.name.text, result);
    }
    case NL_AST_EXPR_UPDATE_FIELD:
        return nl_resolve_update_field(scope, ast, result);
    case NL_AST_EXPR_ROW:
        return nl_resolve_struct(scope, (const nl_ast_expr *const *)ast->row.items, ast->row.count, true, result);
    case NL_AST_EXPR_PARAMETER:
        return resolve_parameter(scope, ast, result);
    case NL_AST_EXPR_COLLATE:
        return resolve_collate(scope, ast, result);
    case NL_AST_EXPR_ALIAS:
        return nl_resolve_expr(scope, ast->alias.input, result);
    case NL_AST_EXPR_STAR:
    case NL_AST_EXPR_LAMBDA:
    case NL_AST_EXPR_TABLE_ARGUMENT:
        return misplaced(ast);
    }
    return misplaced(ast);
}

/* A cast that the analyzer has put around an argument: it has the argument's place. */
static bool is_implicit_cast(const nl_expr *expr)
{
    return expr->kind == NL_EXPR_CAST && expr->span.stop && expr->children[0]->kind != NL_EXPR_CAST && nl_span_equal(expr->span, expr->children[0]->span);
}

/* The expression at its place. Casts of its arguments fail as the expression, not as the argument. */
static const nl_expr *place(nl_arena *arena, const nl_expr *expr, nl_span span)
{
    const nl_expr **children = NULL;
    for (uint32_t i = 0; i < expr->child_count; i++) {
        if (nl_span_equal(expr->children[i]->span, span) || !is_implicit_cast(expr->children[i])) continue;
        if (!children) {
            children = NL_NEW_ARRAY(arena, const nl_expr *, expr->child_count);
            memcpy(children, expr->children, expr->child_count * sizeof *children);
        }
        children[i] = nl_expr_with_span(arena, children[i], span);
    }
    if (!children && nl_span_equal(expr->span, span)) return expr;
    nl_expr *copy = NL_UNCONST(nl_expr_with_span(arena, expr, span));
    if (children) copy->children = children;
    return copy;
}

nl_status nl_resolve_expr(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    if (scope->depth >= NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    scope->depth++;
    const nl_expr *expr = NULL;
    nl_status status = resolve_node(scope, ast, &expr);
    scope->depth--;
    if (status) return nl_sql_at(status, scope->env->text, ast->range, false);
    NL_TRY(nl_arena_check(nl_scope_arena(scope)));
    *result = place(nl_scope_arena(scope), expr, nl_span_of(ast->range));
    return NULL;
}

nl_status nl_resolve_exprs(nl_scope *scope, const nl_ast_exprs *list, const nl_expr *const **result)
{
    const nl_expr **exprs = NL_NEW_ARRAY(nl_scope_arena(scope), const nl_expr *, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) NL_TRY(nl_resolve_expr(scope, list->items[i], &exprs[i]));
    *result = exprs;
    return NULL;
}

nl_status nl_fold(nl_scope *scope, const nl_expr *expr, const nl_value **value)
{
    nl_plan_context *context = scope->env->context;
    *value = NULL;
    if (expr->kind == NL_EXPR_LITERAL) {
        *value = &expr->value;
        return NULL;
    }
    if (!nl_expr_is_constant(expr)) return NULL;
    nl_value *folded = NL_NEW(context->arena, nl_value);
    if (!context->evaluate) { /* without an engine behind it, as in this folder's tests, only casts of literals */
        if (expr->kind != NL_EXPR_CAST || expr->children[0]->kind != NL_EXPR_LITERAL) return NULL;
        NL_TRY(nl_cast_value(context->arena, nl_scope_confs(scope), expr->cast_mode, &expr->children[0]->value, expr->type, folded));
        *value = folded;
        return NULL;
    }
    NL_TRY(context->evaluate(context->arena, expr, nl_scope_confs(scope), scope->env->text, folded));
    *value = folded;
    return NULL;
}

nl_status nl_parameter_value(nl_scope *scope, const nl_ast_expr *ast, const nl_value **value)
{
    const nl_plan_context *context = scope->env->context;
    const nl_ast_ident *name = &ast->parameter.name;
    if (!name->text.data && ast->parameter.index < context->parameter_count) {
        *value = &context->parameters[ast->parameter.index];
        return NULL;
    }
    for (uint32_t i = 0; name->text.data && context->parameter_names && i < context->parameter_count; i++) {
        if (!nl_str_equal(context->parameter_names[i], name->text)) continue;
        *value = &context->parameters[i];
        return NULL;
    }
    const nl_str shown = name->text.data ? name->text : nl_arena_f(context->arena, "_%u", ast->range.start);
    return NL_RAISE(UNBOUND_SQL_PARAMETER, NL_P_STR("name", shown));
}

nl_status nl_resolve_condition(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    NL_TRY(nl_resolve_expr(scope, ast, result));
    if ((*result)->type->id == NL_TYPE_BOOLEAN) return NULL; /* nothing is cast here, not even NULL */
    nl_status status;
    if (scope->clause == NL_CLAUSE_JOIN)
        status = NL_RAISE(JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE, NL_P_STR("joinCondition", nl_quote_expr(arena, *result)),
                          NL_P_STR("conditionType", nl_quote_type(arena, (*result)->type)));
    else
        status = NL_RAISE(DATATYPE_MISMATCH__FILTER_NOT_BOOLEAN, NL_P_STR("sqlExpr", nl_quote_expr(arena, *result)),
                          NL_P_STR("filter", nl_quote_expr(arena, *result)), NL_P_STR("type", nl_quote_type(arena, (*result)->type)));
    return nl_sql_at(status, scope->env->text, ast->range, false);
}

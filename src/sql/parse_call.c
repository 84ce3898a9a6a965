/* sql/parse_call.c - function calls: arguments, DISTINCT, WITHIN GROUP, FILTER, IGNORE NULLS, OVER; and the functions
 * with words between their arguments (EXTRACT, TRIM, CAST …), which are plain calls when the words do not come. */
#include "sql/parse.h"

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

/* DISTINCT or ALL before arguments or a select list, not a column of that name. */
bool nl_parser_has_quantifier(const nl_parser *p)
{
    if (!nl_parser_is(p, NL_T_DISTINCT) && !nl_parser_is(p, NL_T_ALL)) return false;
    nl_token_kind next = nl_parser_ahead(p, 1);
    nl_token_kind after = nl_parser_ahead(p, 2);
    if (next == NL_T_ASTERISK)
        return after == NL_T_COMMA || after == NL_T_RIGHT_PAREN || after == NL_T_EOF || after == NL_T_EXCEPT ||
               nl_parser_starts_clause_at(p, p->at + 2, false);
    return nl_parser_starts_expression_at(p, p->at + 1);
}

/* TABLE t, TABLE(t), TABLE(query), the argument of a table function. */
static bool starts_table_argument(const nl_parser *p)
{
    if (!nl_parser_is(p, NL_T_TABLE)) return false;
    return nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN || nl_parser_is_identifier_at(p, p->at + 1);
}

static nl_status parse_partition_list(nl_parser *p, nl_ast_exprs *exprs)
{
    uint32_t end = nl_parser_is(p, NL_T_LEFT_PAREN) ? nl_parser_skip_parentheses(p, p->at) : 0;
    nl_token_kind next = nl_parser_kind_at(p, end);
    bool has_parentheses = end > 0 && (next == NL_T_RIGHT_PAREN || next == NL_T_COMMA || next == NL_T_ORDER ||
                                       next == NL_T_SORT);
    if (has_parentheses) p->at++;
    NL_TRY(nl_parse_expressions(p, exprs));
    return has_parentheses ? nl_parser_expect(p, NL_T_RIGHT_PAREN) : NULL;
}

static nl_status parse_order_list(nl_parser *p, nl_ast_sort_items *items)
{
    uint32_t end = nl_parser_is(p, NL_T_LEFT_PAREN) ? nl_parser_skip_parentheses(p, p->at) : 0;
    nl_token_kind next = nl_parser_kind_at(p, end);
    bool has_parentheses = end > 0 && (next == NL_T_RIGHT_PAREN || next == NL_T_COMMA);
    if (has_parentheses) p->at++;
    NL_TRY(nl_parse_sort_items(p, items));
    return has_parentheses ? nl_parser_expect(p, NL_T_RIGHT_PAREN) : NULL;
}

static nl_status parse_partitioning(nl_parser *p, nl_ast_table_argument *argument)
{
    if (nl_parser_are(p, NL_T_WITH, NL_T_SINGLE)) {
        p->at += 2;
        argument->is_single_partition = true;
        NL_TRY(nl_parser_expect(p, NL_T_PARTITION));
    } else if (nl_parser_are(p, NL_T_PARTITION, NL_T_BY) || nl_parser_are(p, NL_T_DISTRIBUTE, NL_T_BY)) {
        p->at += 2;
        NL_TRY(parse_partition_list(p, &argument->partition_by));
    } else {
        return NULL;
    }
    if (!nl_parser_take_both(p, NL_T_ORDER, NL_T_BY) && !nl_parser_take_both(p, NL_T_SORT, NL_T_BY)) return NULL;
    return parse_order_list(p, &argument->order_by);
}

static nl_status parse_table_argument(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at++;
    nl_ast_table_argument argument = {0};
    bool has_parentheses = nl_parser_take(p, NL_T_LEFT_PAREN);
    uint32_t inner = p->at;
    while (nl_parser_kind_at(p, inner) == NL_T_LEFT_PAREN) inner++;
    if (has_parentheses && (inner > p->at || nl_parser_starts_query_at(p, p->at)))
        NL_TRY(nl_parse_query(p, &argument.query));
    else
        NL_TRY(nl_parse_name_reference(p, &argument.table));
    if (has_parentheses) NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    NL_TRY(parse_partitioning(p, &argument));
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_TABLE_ARGUMENT, first);
    (*expr)->table_argument = argument;
    if (has_parentheses) return NULL;
    return NL_REFUSE(p, (*expr)->range, INVALID_SQL_SYNTAX__INVALID_TABLE_FUNCTION_IDENTIFIER_ARGUMENT_MISSING_PARENTHESES,
                     NL_P_STR("argumentName", nl_parser_quote_name(p, &argument.table)));
}

static nl_status parse_argument(nl_parser *p, bool is_table_function, nl_ast_argument *argument)
{
    if (nl_parser_is_identifier_at(p, p->at) && nl_parser_ahead(p, 1) == NL_T_FAT_ARROW) {
        NL_TRY(nl_parse_identifier(p, &argument->name));
        p->at++;
    }
    if (is_table_function && starts_table_argument(p)) return parse_table_argument(p, &argument->value);
    return nl_parse_expression(p, &argument->value);
}

static nl_status parse_more_arguments(nl_parser *p, bool is_table_function, nl_list *list, nl_ast_arguments *args)
{
    do {
        nl_ast_argument *argument = NL_NEW(p->arena, nl_ast_argument);
        NL_TRY(parse_argument(p, is_table_function, argument));
        nl_list_add(p->arena, list, argument);
    } while (nl_parser_take(p, NL_T_COMMA));
    *args = (nl_ast_arguments){NL_FLATTEN(p, list, nl_ast_argument), list->count};
    return NULL;
}

nl_status nl_parse_arguments(nl_parser *p, bool is_table_function, nl_ast_arguments *args)
{
    nl_list list = {0};
    p->open_count++;
    if (!nl_parser_is(p, NL_T_RIGHT_PAREN)) NL_TRY(parse_more_arguments(p, is_table_function, &list, args));
    p->open_count--;
    if (!nl_parser_is(p, NL_T_RIGHT_PAREN) && list.count > 1) return nl_parser_extra_input(p);
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

/* ---- behind the arguments ------------------------------------------------------------------------------------------ */

/* A value that is known without any name: literals and arithmetic over them. */
static bool is_constant(const nl_ast_expr *expr)
{
    for (;;) {
        switch ((int)expr->kind) {
        case NL_AST_EXPR_LITERAL:
        case NL_AST_EXPR_PARAMETER: return true;
        case NL_AST_EXPR_UNARY: expr = expr->unary.input; break;
        case NL_AST_EXPR_CAST: expr = expr->cast.input; break;
        case NL_AST_EXPR_BINARY:
            if (expr->binary.right->kind != NL_AST_EXPR_LITERAL && !is_constant(expr->binary.right)) return false;
            expr = expr->binary.left;
            break;
        default: return false;
        }
    }
}

static nl_status parse_frame_bound(nl_parser *p, nl_ast_frame_bound *bound)
{
    uint32_t first = p->at;
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (nl_parser_is(p, NL_T_UNBOUNDED) && (next == NL_T_PRECEDING || next == NL_T_FOLLOWING)) {
        bound->kind = next == NL_T_PRECEDING ? NL_AST_BOUND_UNBOUNDED_PRECEDING : NL_AST_BOUND_UNBOUNDED_FOLLOWING;
        p->at += 2;
    } else if (nl_parser_take_both(p, NL_T_CURRENT, NL_T_ROW)) {
        bound->kind = NL_AST_BOUND_CURRENT_ROW;
    } else {
        NL_TRY(nl_parse_expression(p, &bound->offset));
        bound->kind = nl_parser_is(p, NL_T_PRECEDING) ? NL_AST_BOUND_PRECEDING : NL_AST_BOUND_FOLLOWING;
        if (!nl_parser_take(p, NL_T_PRECEDING)) NL_TRY(nl_parser_expect(p, NL_T_FOLLOWING));
    }
    bound->range = nl_parser_range(p, first);
    if (!bound->offset || is_constant(bound->offset)) return NULL;
    return NL_REFUSE(p, bound->range, _LEGACY_ERROR_TEMP_0064, NL_P("msg", "Frame bound value must be a literal."));
}

static nl_status parse_frame(nl_parser *p, nl_ast_window *window)
{
    nl_token_kind kind = nl_parser_kind(p);
    if (kind != NL_T_ROWS && kind != NL_T_RANGE) return NULL;
    p->at++;
    window->has_frame = true;
    window->is_rows = kind == NL_T_ROWS;
    window->end.kind = NL_AST_BOUND_CURRENT_ROW;
    window->has_end = nl_parser_is(p, NL_T_BETWEEN) && nl_parser_starts_expression_at(p, p->at + 1);
    if (window->has_end) p->at++;
    NL_TRY(parse_frame_bound(p, &window->start));
    if (!window->has_end) return NULL;
    NL_TRY(nl_parser_expect(p, NL_T_AND));
    return parse_frame_bound(p, &window->end);
}

static nl_status parse_window_body(nl_parser *p, nl_ast_window *window)
{
    if (nl_parser_take_both(p, NL_T_CLUSTER, NL_T_BY)) {
        window->is_cluster_by = true;
        NL_TRY(nl_parse_expressions(p, &window->partition_by));
    } else {
        if (nl_parser_take_both(p, NL_T_PARTITION, NL_T_BY) || nl_parser_take_both(p, NL_T_DISTRIBUTE, NL_T_BY))
            NL_TRY(nl_parse_expressions(p, &window->partition_by));
        if (nl_parser_take(p, NL_T_ORDER) || nl_parser_take(p, NL_T_SORT)) {
            NL_TRY(nl_parser_expect(p, NL_T_BY));
            NL_TRY(nl_parse_sort_items(p, &window->order_by));
        }
    }
    return parse_frame(p, window);
}

/* Whether what follows `(` may be a window; else OVER before it is a name. */
static bool starts_window_body(const nl_parser *p, uint32_t at)
{
    nl_token_kind next = nl_parser_kind_at(p, at + 1);
    switch ((int)nl_parser_kind_at(p, at)) {
    case NL_T_RIGHT_PAREN: return true;
    case NL_T_CLUSTER:
    case NL_T_PARTITION:
    case NL_T_DISTRIBUTE:
    case NL_T_ORDER:
    case NL_T_SORT: return next == NL_T_BY || next == NL_T_RIGHT_PAREN;
    case NL_T_ROWS:
    case NL_T_RANGE: return true;
    default: return nl_parser_is_identifier_at(p, at) && next == NL_T_RIGHT_PAREN;
    }
}

nl_status nl_parse_window(nl_parser *p, nl_ast_window **window)
{
    uint32_t first = p->at;
    nl_ast_window *node = NL_NEW(p->arena, nl_ast_window);
    if (!nl_parser_is(p, NL_T_LEFT_PAREN)) {
        NL_TRY(nl_parse_name_part(p, &node->reference));
    } else {
        p->at++;
        if (nl_parser_is_identifier_at(p, p->at) && nl_parser_ahead(p, 1) == NL_T_RIGHT_PAREN)
            NL_TRY(nl_parse_name_part(p, &node->reference));
        else
            NL_TRY(parse_window_body(p, node));
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    }
    node->range = nl_parser_range(p, first);
    *window = node;
    return NULL;
}

static nl_status parse_within_group(nl_parser *p, nl_ast_call *call)
{
    p->at += 2;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parser_expect(p, NL_T_ORDER));
    NL_TRY(nl_parser_expect(p, NL_T_BY));
    NL_TRY(nl_parse_sort_items(p, &call->within_group));
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

static nl_status parse_filter(nl_parser *p, nl_ast_call *call)
{
    uint32_t open = p->at + 1;
    p->at += 2;
    nl_status status = nl_parser_expect(p, NL_T_WHERE);
    if (!status) status = nl_parse_expression(p, &call->filter);
    if (status) return nl_parser_blame(p, status, open);
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

nl_status nl_parse_call_suffix(nl_parser *p, nl_ast_call *call)
{
    if (nl_parser_are(p, NL_T_WITHIN, NL_T_GROUP)) NL_TRY(parse_within_group(p, call));
    if (nl_parser_are(p, NL_T_FILTER, NL_T_LEFT_PAREN)) NL_TRY(parse_filter(p, call));
    bool is_nulls = nl_parser_ahead(p, 1) == NL_T_NULLS && (nl_parser_is(p, NL_T_IGNORE) || nl_parser_is(p, NL_T_RESPECT));
    if (is_nulls) {
        call->nulls = nl_parser_is(p, NL_T_IGNORE) ? NL_AST_NULLS_IGNORE : NL_AST_NULLS_RESPECT;
        p->at += 2;
    }
    bool is_over = nl_parser_is(p, NL_T_OVER);
    bool has_over = is_over && (nl_parser_ahead(p, 1) == NL_T_LEFT_PAREN ? starts_window_body(p, p->at + 2)
                                                                         : nl_parser_is_identifier_at(p, p->at + 1));
    if (!has_over) return NULL;
    p->at++;
    return nl_parse_window(p, &call->over);
}

/* ---- calls --------------------------------------------------------------------------------------------------------- */

/* LEFT, RIGHT and FILTER may be called even where keywords are enforced. */
static nl_status parse_function_name(nl_parser *p, nl_ast_name *name)
{
    if (nl_parser_is_identifier_at(p, p->at)) return nl_parse_qualified_name(p, name);
    nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
    part->text = nl_parser_token_text(p, p->at++);
    part->range = nl_parser_range(p, p->at - 1);
    *name = (nl_ast_name){.parts = part, .count = 1, .range = part->range};
    return NULL;
}

/* IDENTIFIER(e) is a column when nothing follows, and IDENTIFIER(e)(…) a call of the function it names. */
static nl_status parse_identifier_clause(nl_parser *p, uint32_t first, nl_ast_expr *call, nl_ast_expr **expr)
{
    const nl_ast_argument *only = call->call.args.count == 1 ? call->call.args.items : NULL;
    bool is_clause = only && !only->name.text.data && !call->call.is_distinct && !call->call.is_all;
    if (!is_clause) return NULL;
    nl_ast_name name = {.expression = only->value, .range = nl_parser_range(p, first)};
    if (!nl_parser_is(p, NL_T_LEFT_PAREN)) {
        call->kind = NL_AST_EXPR_COLUMN;
        call->range = name.range;
        call->column = name;
        *expr = call;
        return NULL;
    }
    p->at++;
    call->call = (nl_ast_call){.name = name};
    return NULL;
}

static nl_status parse_quantified_arguments(nl_parser *p, nl_ast_call *call)
{
    if (nl_parser_has_quantifier(p)) {
        call->is_distinct = nl_parser_is(p, NL_T_DISTINCT);
        call->is_all = !call->is_distinct;
        p->at++;
    }
    return nl_parse_arguments(p, false, &call->args);
}

/* Arguments that do not fit: as long as only names came, `f (a, b` may be the alias of f's value, or nothing. */
static nl_status blame_list(nl_parser *p, nl_status status, uint32_t open, bool may_have_alias)
{
    if (!nl_parser_is_syntax_error(status)) return status;
    uint32_t at = open + 1;
    while (at < p->at && nl_parser_is_identifier_at(p, at) && nl_parser_kind_at(p, at + 1) == NL_T_COMMA) at += 2;
    bool is_after_comma = at == p->at && at > open + 1;
    bool are_names = at == p->at || (at + 1 == p->at && nl_parser_is_identifier_at(p, at));
    if (!are_names) return status;
    bool is_behind_keyword = p->at > open + 1 && nl_token_is_keyword(nl_parser_kind_at(p, p->at - 1));
    if (may_have_alias && (is_after_comma || is_behind_keyword || p->at == open + 1)) return status;
    nl_error_free(status);
    if (may_have_alias && nl_parser_ahead(p, 1) == NL_T_RIGHT_PAREN) return nl_parser_extra_input(p);
    if (may_have_alias) return nl_parser_missing(p, "')'");
    bool is_end = nl_parser_is(p, NL_T_EOF) && p->at == open + 1;
    p->at = open;
    return is_end ? nl_parser_extra_input(p) : nl_parser_syntax_error(p);
}

nl_status nl_parse_call(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    bool is_identifier = nl_parser_are(p, NL_T_IDENTIFIER, NL_T_LEFT_PAREN);
    nl_ast_name name;
    NL_TRY(parse_function_name(p, &name));
    uint32_t open = p->at;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_CALL, first);
    node->call.name = name;
    bool outer = p->may_have_alias;
    uint32_t open_count = p->open_count;
    nl_status status = parse_quantified_arguments(p, &node->call);
    if (status && open_count == 0) status = blame_list(p, status, open, outer);
    NL_TRY(status);
    if (is_identifier) {
        bool has_suffix = nl_parser_is(p, NL_T_OVER) || nl_parser_is(p, NL_T_FILTER);
        *expr = NULL;
        if (!has_suffix) NL_TRY(parse_identifier_clause(p, first, node, expr));
        if (*expr) return NULL;
        if (node->call.name.expression) NL_TRY(parse_quantified_arguments(p, &node->call));
    }
    NL_TRY(nl_parse_call_suffix(p, &node->call));
    node->range = nl_parser_range(p, first);
    *expr = node;
    return nl_arena_check(p->arena);
}

/* ---- special forms -------------------------------------------------------------------------------------------------- */

static nl_ast_expr *new_call(nl_parser *p, uint32_t first, const char *function, nl_ast_call_form form, uint32_t arg_count,
                         nl_ast_expr *const *args)
{
    nl_ast_expr *expr = nl_parser_new_expr(p, NL_AST_EXPR_CALL, first);
    nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
    const nl_token *word = &p->tokens[first];
    part->text = nl_str_from(function);
    part->range = (nl_ast_range){word->start, word->stop, word->line, word->position};
    expr->call.name = (nl_ast_name){.parts = part, .count = 1, .range = part->range};
    expr->call.form = form;
    expr->call.args.items = NL_NEW_ARRAY(p->arena, nl_ast_argument, arg_count + 1);
    for (uint32_t i = 0; i < arg_count; i++)
        if (args[i]) expr->call.args.items[expr->call.args.count++].value = args[i];
    return expr;
}

/* The form turned out to be a plain call: `first` is the function's word, `done` (or NULL) its first argument, and
 * `open`, begun at token open_first, the operand the next argument begins with. */
static nl_status continue_call(nl_parser *p, uint32_t first, nl_ast_expr *done, uint32_t open_first, nl_ast_expr *open,
                               nl_ast_expr **expr)
{
    nl_list list = {0};
    nl_ast_argument *argument = NL_NEW(p->arena, nl_ast_argument);
    if (done) {
        argument->value = done;
        nl_list_add(p->arena, &list, argument);
        argument = NL_NEW(p->arena, nl_ast_argument);
    }
    NL_TRY(nl_parse_expression_after(p, open_first, open, &argument->value));
    nl_list_add(p->arena, &list, argument);
    nl_str word = nl_parser_token_text(p, first);
    nl_ast_expr *node = new_call(p, first, nl_str_c(p->arena, word), NL_AST_CALL_PLAIN, 0, NULL);
    if (nl_parser_take(p, NL_T_COMMA))
        NL_TRY(parse_more_arguments(p, false, &list, &node->call.args));
    else
        node->call.args = (nl_ast_arguments){NL_FLATTEN(p, &list, nl_ast_argument), list.count};
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    NL_TRY(nl_parse_call_suffix(p, &node->call));
    node->range = nl_parser_range(p, first);
    *expr = node;
    return NULL;
}

static nl_status continue_plain_call(nl_parser *p, uint32_t first, nl_ast_expr *value, nl_ast_expr **expr)
{
    return continue_call(p, first, NULL, first + 2, value, expr);
}

static nl_ast_expr *string_at(nl_parser *p, uint32_t at, nl_str text)
{
    nl_ast_expr *expr = nl_parser_new_expr(p, NL_AST_EXPR_LITERAL, at);
    const nl_token *token = &p->tokens[at];
    expr->range = (nl_ast_range){token->start, token->stop, token->line, token->position};
    expr->literal.kind = NL_AST_LITERAL_STRING;
    expr->literal.text = text;
    return expr;
}

static nl_ast_expr *column_at(nl_parser *p, uint32_t at)
{
    nl_ast_expr *expr = string_at(p, at, NL_STR(""));
    nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
    *part = (nl_ast_ident){nl_parser_token_text(p, at), expr->range, false};
    expr->kind = NL_AST_EXPR_COLUMN;
    expr->column = (nl_ast_name){.parts = part, .count = 1, .range = expr->range};
    return expr;
}

static bool starts_named_argument(const nl_parser *p, uint32_t at)
{
    return nl_parser_is_identifier_at(p, at) && nl_parser_kind_at(p, at + 1) == NL_T_FAT_ARROW;
}

/* CAST(e AS type) and TRY_CAST. */
static nl_status parse_cast(nl_parser *p, uint32_t first, nl_ast_expr **expr)
{
    nl_ast_cast_form form = nl_parser_is(p, NL_T_CAST) ? NL_AST_CAST_FUNCTION : NL_AST_CAST_TRY;
    p->at += 2;
    nl_ast_expr *input = NULL;
    NL_TRY(nl_parse_expression(p, &input));
    if (!nl_parser_is(p, NL_T_AS)) return continue_plain_call(p, first, input, expr);
    p->at++;
    nl_ast_type *type = NULL;
    p->is_in_cast = true;
    NL_TRY(nl_parse_type(p, &type));
    p->is_in_cast = false;
    NL_TRY(nl_parser_close(p));
    *expr = nl_parser_new_expr(p, NL_AST_EXPR_CAST, first);
    (*expr)->cast.input = input;
    (*expr)->cast.type = type;
    (*expr)->cast.form = form;
    return NULL;
}

/* STRUCT(a, b AS c). */
static nl_status parse_struct(nl_parser *p, uint32_t first, nl_ast_expr **expr)
{
    p->at += 2;
    nl_ast_exprs fields = {0};
    if (!nl_parser_is(p, NL_T_RIGHT_PAREN)) NL_TRY(nl_parse_named_expressions(p, &fields));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    *expr = new_call(p, first, "struct", NL_AST_CALL_STRUCT, fields.count, fields.items);
    return NULL;
}

/* FIRST(x IGNORE NULLS), LAST, ANY_VALUE; without these words it is a plain call, which means the same. */
static nl_status parse_first(nl_parser *p, uint32_t first, const char *function, nl_ast_expr **expr)
{
    p->at += 2;
    nl_ast_expr *input = NULL;
    NL_TRY(nl_parse_expression(p, &input));
    if (!nl_parser_are(p, NL_T_IGNORE, NL_T_NULLS)) return continue_plain_call(p, first, input, expr);
    p->at += 2;
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    *expr = new_call(p, first, function, NL_AST_CALL_FIRST, 1, &input);
    (*expr)->call.nulls = NL_AST_NULLS_IGNORE;
    return NULL;
}

/* POSITION(a IN b) */
static nl_status parse_position(nl_parser *p, uint32_t first, nl_ast_expr **expr)
{
    p->at += 2;
    nl_ast_expr *args[2] = {0};
    NL_TRY(nl_parse_value(p, &args[0]));
    if (!nl_parser_take(p, NL_T_IN)) return continue_plain_call(p, first, args[0], expr);
    NL_TRY(nl_parse_value(p, &args[1]));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    *expr = new_call(p, first, "position", NL_AST_CALL_POSITION, 2, args);
    return NULL;
}

/* EXTRACT(field FROM e) */
static nl_status parse_extract(nl_parser *p, uint32_t first, nl_ast_expr **expr)
{
    if (!nl_parser_is_identifier_at(p, p->at + 2) || nl_parser_ahead(p, 3) != NL_T_FROM) return NULL;
    p->at += 2;
    nl_ast_ident field;
    NL_TRY(nl_parse_identifier(p, &field));
    nl_ast_expr *args[2] = {string_at(p, p->at - 1, field.text), NULL};
    p->at++;
    NL_TRY(nl_parse_value(p, &args[1]));
    NL_TRY(nl_parser_close(p));
    *expr = new_call(p, first, "extract", NL_AST_CALL_EXTRACT, 2, args);
    return NULL;
}

/* SUBSTRING(s FROM a FOR b); with commas only it is a plain call. */
static nl_status parse_substring(nl_parser *p, uint32_t first, nl_ast_expr **expr)
{
    p->at += 2;
    nl_ast_expr *args[3] = {0};
    NL_TRY(nl_parse_expression(p, &args[0]));
    bool is_form = nl_parser_take(p, NL_T_FROM);
    if (!is_form && !nl_parser_is(p, NL_T_COMMA)) return continue_plain_call(p, first, args[0], expr);
    if (!is_form && starts_named_argument(p, p->at + 1)) return continue_plain_call(p, first, args[0], expr);
    if (!is_form) p->at++;
    NL_TRY(nl_parse_expression(p, &args[1]));
    bool has_for = nl_parser_take(p, NL_T_FOR);
    bool has_more = !has_for && nl_parser_take(p, NL_T_COMMA);
    if (has_for || has_more) NL_TRY(nl_parse_expression(p, &args[2]));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    bool is_special = is_form || has_for;
    nl_str word = nl_parser_token_text(p, first);
    const char *function = is_special ? "substring" : nl_str_c(p->arena, word);
    *expr = new_call(p, first, function, is_special ? NL_AST_CALL_SUBSTRING : NL_AST_CALL_PLAIN, 3, args);
    if (!is_special) NL_TRY(nl_parse_call_suffix(p, &(*expr)->call));
    (*expr)->range = nl_parser_range(p, first);
    return NULL;
}

/* TRIM([BOTH|LEADING|TRAILING] [x] FROM y) */
static nl_status parse_trim(nl_parser *p, uint32_t first, nl_ast_expr **expr)
{
    nl_token_kind side = nl_parser_ahead(p, 2);
    nl_token_kind next = nl_parser_ahead(p, 3);
    bool has_side = (side == NL_T_BOTH || side == NL_T_LEADING || side == NL_T_TRAILING) && next != NL_T_MINUS_SIGN &&
                    next != NL_T_PLUS && next != NL_T_ASTERISK && nl_parser_starts_expression_at(p, p->at + 3);
    p->at += has_side ? 3 : 2;
    nl_ast_expr *args[2] = {0};
    bool has_from = nl_parser_is(p, NL_T_FROM) && nl_parser_starts_expression_at(p, p->at + 1);
    if (!has_from) NL_TRY(nl_parse_value(p, &args[1]));
    if (!has_side && !has_from && !nl_parser_is(p, NL_T_FROM)) return continue_plain_call(p, first, args[1], expr);
    NL_TRY(nl_parser_expect(p, NL_T_FROM));
    NL_TRY(nl_parse_value(p, &args[0]));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    bool is_leading = has_side && side == NL_T_LEADING;
    bool is_trailing = has_side && side == NL_T_TRAILING;
    *expr = new_call(p, first, is_leading ? "ltrim" : is_trailing ? "rtrim" : "trim",
                     is_leading    ? NL_AST_CALL_TRIM_LEADING
                     : is_trailing ? NL_AST_CALL_TRIM_TRAILING
                                   : NL_AST_CALL_TRIM_BOTH,
                     2, args);
    return NULL;
}

/* OVERLAY(a PLACING b FROM c FOR d) */
static nl_status parse_overlay(nl_parser *p, uint32_t first, nl_ast_expr **expr)
{
    p->at += 2;
    nl_ast_expr *args[4] = {0};
    NL_TRY(nl_parse_value(p, &args[0]));
    if (!nl_parser_take(p, NL_T_PLACING)) return continue_plain_call(p, first, args[0], expr);
    NL_TRY(nl_parse_value(p, &args[1]));
    NL_TRY(nl_parser_expect(p, NL_T_FROM));
    NL_TRY(nl_parse_value(p, &args[2]));
    if (nl_parser_take(p, NL_T_FOR)) NL_TRY(nl_parse_value(p, &args[3]));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    *expr = new_call(p, first, "overlay", NL_AST_CALL_OVERLAY, 4, args);
    return NULL;
}

static bool is_datetime_unit(nl_token_kind kind)
{
    switch ((int)kind) {
    case NL_T_YEAR:
    case NL_T_QUARTER:
    case NL_T_MONTH:
    case NL_T_WEEK:
    case NL_T_DAY:
    case NL_T_DAYOFYEAR:
    case NL_T_HOUR:
    case NL_T_MINUTE:
    case NL_T_SECOND:
    case NL_T_MILLISECOND:
    case NL_T_MICROSECOND: return true;
    default: return false;
    }
}

/* TIMESTAMPADD(unit, n, t), TIMESTAMPDIFF(unit, a, b) and their synonyms. They have exactly three arguments; others
 * are calls of the function of that name. A unit in quotes is refused. */
static nl_status parse_unit_function(nl_parser *p, uint32_t first, nl_ast_call_form form, nl_ast_expr **expr)
{
    bool is_string = nl_parser_is_string_at(p, p->at + 2);
    bool is_form = (is_string || is_datetime_unit(nl_parser_ahead(p, 2))) && nl_parser_ahead(p, 3) == NL_T_COMMA;
    if (!is_form) return NULL;
    p->at += 2;
    uint32_t unit = p->at;
    nl_str unit_text = nl_parser_token_text(p, unit);
    p->at += 2;
    nl_ast_expr *args[3] = {string_at(p, unit, unit_text), NULL, NULL};
    uint32_t second = p->at;
    NL_TRY(nl_parse_value(p, &args[1]));
    if (!nl_parser_is(p, NL_T_COMMA) || starts_named_argument(p, p->at + 1)) {
        nl_ast_expr *column = is_string ? string_at(p, unit, nl_parser_unescape(p, unit)) : column_at(p, unit);
        return continue_call(p, first, column, second, args[1], expr);
    }
    p->at++;
    NL_TRY(nl_parse_value(p, &args[2]));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    const char *function = form == NL_AST_CALL_TIMESTAMPADD ? "timestampadd" : "timestampdiff";
    *expr = new_call(p, first, function, form, 3, args);
    if (!is_string) return NULL;
    nl_str word = nl_parser_token_text(p, first);
    return NL_REFUSE(p, (*expr)->range, INVALID_PARAMETER_VALUE__DATETIME_UNIT,
                         NL_P_STR("functionName", nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(word))),
                         NL_P("parameter", "`unit`"), NL_P_STR("invalidValue", unit_text));
}

/* A form has operands; an empty list, DISTINCT or a named argument makes it a plain call. */
static bool may_be_form(const nl_parser *p)
{
    nl_token_kind next = nl_parser_ahead(p, 2);
    bool has_quantifier = (next == NL_T_DISTINCT || next == NL_T_ALL) && nl_parser_starts_expression_at(p, p->at + 3);
    return next != NL_T_RIGHT_PAREN && !has_quantifier && !starts_named_argument(p, p->at + 2);
}

nl_status nl_parse_special_call(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_token_kind kind = nl_parser_kind(p);
    *expr = NULL;
    if (kind == NL_T_STRUCT && nl_parser_ahead(p, 2) == NL_T_RIGHT_PAREN) return parse_struct(p, first, expr);
    if (!may_be_form(p)) return NULL;
    switch ((int)kind) {
    case NL_T_CAST:
    case NL_T_TRY_CAST: return parse_cast(p, first, expr);
    case NL_T_STRUCT: return parse_struct(p, first, expr);
    case NL_T_FIRST: return parse_first(p, first, "first", expr);
    case NL_T_LAST: return parse_first(p, first, "last", expr);
    case NL_T_ANY_VALUE: return parse_first(p, first, "any_value", expr);
    case NL_T_POSITION: return parse_position(p, first, expr);
    case NL_T_EXTRACT: return parse_extract(p, first, expr);
    case NL_T_SUBSTR:
    case NL_T_SUBSTRING: return parse_substring(p, first, expr);
    case NL_T_TRIM: return parse_trim(p, first, expr);
    case NL_T_OVERLAY: return parse_overlay(p, first, expr);
    case NL_T_TIMESTAMPADD:
    case NL_T_DATEADD:
    case NL_T_DATE_ADD: return parse_unit_function(p, first, NL_AST_CALL_TIMESTAMPADD, expr);
    case NL_T_TIMESTAMPDIFF:
    case NL_T_DATEDIFF:
    case NL_T_DATE_DIFF:
    case NL_T_TIMEDIFF: return parse_unit_function(p, first, NL_AST_CALL_TIMESTAMPDIFF, expr);
    default: return NULL;
    }
}

/* sql/print_expression.c - names, types and expressions as text. Parentheses stand where the tree needs them: every
 * expression has a level (weakest first), and an operand below the level its place asks for gets them. */
#include "sql/print.h"

enum {
    LEVEL_ANY,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_PREDICATE,
    LEVEL_COMPARISON,
    LEVEL_BIT_OR,
    LEVEL_BIT_XOR,
    LEVEL_BIT_AND,
    LEVEL_SHIFT,
    LEVEL_ADD,
    LEVEL_MULTIPLY,
    LEVEL_UNARY,
    LEVEL_PRIMARY
};

static void print_at(nl_builder *out, const nl_ast_expr *expr, int level);

/* ---- names and strings ------------------------------------------------------------------------------------------------------- */

static bool is_plain_word(nl_str text)
{
    if (text.length == 0 || (text.data[0] >= '0' && text.data[0] <= '9')) return false;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!is_plain) return false;
    }
    return true;
}

/* Keywords that stand for values when they are not quoted. */
static bool is_value_word(nl_token_kind kind)
{
    return kind == NL_T_DEFAULT || kind == NL_T_CURRENT_DATE || kind == NL_T_CURRENT_TIMESTAMP ||
           kind == NL_T_CURRENT_USER || kind == NL_T_USER || kind == NL_T_SESSION_USER;
}

static void print_quoted(nl_builder *out, nl_str text)
{
    nl_append_char(out, '`');
    for (size_t i = 0; i < text.length; i++) {
        nl_append_char(out, text.data[i]);
        if (text.data[i] == '`') nl_append_char(out, '`');
    }
    nl_append_char(out, '`');
}

void nl_print_ident(nl_builder *out, const nl_ast_ident *ident)
{
    nl_token_kind kind = nl_keyword_find(ident->text);
    bool is_free = kind == NL_T_IDENTIFIER_WORD || is_value_word(kind);
    if (!ident->is_quoted && is_plain_word(ident->text) && is_free)
        nl_append(out, ident->text);
    else
        print_quoted(out, ident->text);
}

void nl_print_idents(nl_builder *out, const nl_ast_idents *idents)
{
    for (uint32_t i = 0; i < idents->count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        nl_print_ident(out, &idents->items[i]);
    }
}

void nl_print_ident_list(nl_builder *out, const nl_ast_idents *idents)
{
    nl_append_char(out, '(');
    nl_print_idents(out, idents);
    nl_append_char(out, ')');
}

void nl_sql_print_name(nl_builder *out, const nl_ast_name *name)
{
    if (name->expression) {
        nl_append_c(out, "IDENTIFIER(");
        nl_sql_print_expr(out, name->expression);
        nl_append_char(out, ')');
        return;
    }
    for (uint32_t i = 0; i < name->count; i++) {
        if (i > 0) nl_append_char(out, '.');
        nl_print_ident(out, &name->parts[i]);
    }
}

void nl_print_names(nl_builder *out, const nl_ast_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        nl_sql_print_name(out, &names->items[i]);
    }
}

/* A function's name: an unquoted keyword stays as it is, since a parenthesis follows. */
static void print_function_name(nl_builder *out, const nl_ast_name *name)
{
    bool is_bare = name->count == 1 && !name->parts[0].is_quoted && is_plain_word(name->parts[0].text);
    if (is_bare)
        nl_append(out, name->parts[0].text);
    else
        nl_sql_print_name(out, name);
}

void nl_print_string(nl_builder *out, nl_str text)
{
    nl_append_char(out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        char next = i + 1 < text.length ? text.data[i + 1] : 'x';
        switch (c) {
        case '\'': nl_append_c(out, "\\'"); break;
        case '\\': nl_append_c(out, "\\\\"); break;
        case '\n': nl_append_c(out, "\\n"); break;
        case '\r': nl_append_c(out, "\\r"); break;
        case '\t': nl_append_c(out, "\\t"); break;
        case '\b': nl_append_c(out, "\\b"); break;
        case '\0': nl_append_c(out, next >= '0' && next <= '7' ? "\\000" : "\\0"); break;
        case '\x1A': nl_append_c(out, "\\Z"); break;
        default: nl_append_char(out, c); break;
        }
    }
    nl_append_char(out, '\'');
}

/* ---- types --------------------------------------------------------------------------------------------------------------------- */

static void print_fields(nl_builder *out, const nl_ast_fields *fields, const char *separator)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const nl_ast_field *field = &fields->items[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_print_ident(out, &field->name);
        nl_append_c(out, separator);
        nl_sql_print_type(out, field->type);
        if (field->is_not_null) nl_append_c(out, " NOT NULL");
        if (field->has_comment) {
            nl_append_c(out, " COMMENT ");
            nl_print_string(out, field->comment);
        }
    }
}

void nl_print_fields(nl_builder *out, const nl_ast_fields *fields)
{
    print_fields(out, fields, " ");
}

static void print_simple_type(nl_builder *out, const nl_ast_type *type)
{
    if (type->is_quoted)
        print_quoted(out, type->name);
    else
        nl_append(out, type->name);
    if (type->collation.count > 0) {
        nl_append_c(out, " COLLATE ");
        nl_sql_print_name(out, &type->collation);
    }
    for (uint32_t i = 0; i < type->number_count; i++) {
        nl_append_c(out, i == 0 ? "(" : ", ");
        nl_append(out, type->numbers[i]);
    }
    if (type->number_count > 0) nl_append_char(out, ')');
}

void nl_sql_print_type(nl_builder *out, const nl_ast_type *type)
{
    static const char *const fields[] = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"};
    switch (type->kind) {
    case NL_AST_TYPE_SIMPLE: print_simple_type(out, type); break;
    case NL_AST_TYPE_ARRAY:
        nl_append_c(out, "ARRAY<");
        nl_sql_print_type(out, type->children[0]);
        nl_append_char(out, '>');
        break;
    case NL_AST_TYPE_MAP:
        nl_append_c(out, "MAP<");
        nl_sql_print_type(out, type->children[0]);
        nl_append_c(out, ", ");
        nl_sql_print_type(out, type->children[1]);
        nl_append_char(out, '>');
        break;
    case NL_AST_TYPE_STRUCT:
        nl_append_c(out, "STRUCT<");
        print_fields(out, &type->fields, ": ");
        nl_append_char(out, '>');
        break;
    case NL_AST_TYPE_INTERVAL:
        nl_append_f(out, "INTERVAL %s", fields[type->start_field]);
        if (type->has_to) nl_append_f(out, " TO %s", fields[type->end_field]);
        break;
    }
}

/* ---- literals -------------------------------------------------------------------------------------------------------------------- */

static void print_interval(nl_builder *out, const nl_ast_literal *literal)
{
    static const char *const units[] = {"NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE",
                                        "HOUR",       "DAY",         "WEEK",        "MONTH",  "YEAR"};
    nl_append_c(out, "INTERVAL");
    for (uint32_t i = 0; i < literal->part_count; i++) {
        const nl_ast_interval_part *part = &literal->parts[i];
        nl_append_char(out, ' ');
        if (part->is_string)
            nl_print_string(out, part->value);
        else
            nl_append(out, part->value);
        nl_append_f(out, " %s", units[part->unit]);
        if (part->has_to) nl_append_f(out, " TO %s", units[part->to]);
    }
}

static void print_typed(nl_builder *out, const char *type, nl_str text)
{
    nl_append_c(out, type);
    nl_append_char(out, ' ');
    nl_print_string(out, text);
}

static void print_binary_literal(nl_builder *out, nl_str bytes)
{
    nl_append_c(out, "X'");
    for (size_t i = 0; i < bytes.length; i++) nl_append_f(out, "%02X", (unsigned)(uint8_t)bytes.data[i]);
    nl_append_char(out, '\'');
}

static void print_number(nl_builder *out, nl_str digits, const char *suffix)
{
    nl_append(out, digits);
    nl_append_c(out, suffix);
}

static void print_literal(nl_builder *out, const nl_ast_literal *literal)
{
    switch (literal->kind) {
    case NL_AST_LITERAL_NULL: nl_append_c(out, "NULL"); break;
    case NL_AST_LITERAL_BOOLEAN: nl_append_c(out, literal->boolean ? "true" : "false"); break;
    case NL_AST_LITERAL_TINYINT: print_number(out, literal->text, "Y"); break;
    case NL_AST_LITERAL_SMALLINT: print_number(out, literal->text, "S"); break;
    case NL_AST_LITERAL_INT: print_number(out, literal->text, ""); break;
    case NL_AST_LITERAL_BIGINT: print_number(out, literal->text, "L"); break;
    case NL_AST_LITERAL_FLOAT: print_number(out, literal->text, "F"); break;
    case NL_AST_LITERAL_DOUBLE: print_number(out, literal->text, "D"); break;
    case NL_AST_LITERAL_DECIMAL: print_number(out, literal->text, "BD"); break;
    case NL_AST_LITERAL_STRING: nl_print_string(out, literal->text); break;
    case NL_AST_LITERAL_BINARY: print_binary_literal(out, literal->text); break;
    case NL_AST_LITERAL_DATE: print_typed(out, "DATE", literal->text); break;
    case NL_AST_LITERAL_TIMESTAMP: print_typed(out, "TIMESTAMP", literal->text); break;
    case NL_AST_LITERAL_TIMESTAMP_NTZ: print_typed(out, "TIMESTAMP_NTZ", literal->text); break;
    case NL_AST_LITERAL_TIMESTAMP_LTZ: print_typed(out, "TIMESTAMP_LTZ", literal->text); break;
    case NL_AST_LITERAL_INTERVAL_TEXT: print_typed(out, "INTERVAL", literal->text); break;
    case NL_AST_LITERAL_INTERVAL: print_interval(out, literal); break;
    case NL_AST_LITERAL_VALUE: break; /* never printed: trees of DataFrames have no text */
    }
}

/* ---- windows and sort items --------------------------------------------------------------------------------------------------------- */

void nl_print_sort_items(nl_builder *out, const nl_ast_sort_items *items)
{
    for (uint32_t i = 0; i < items->count; i++) {
        const nl_ast_sort_item *item = &items->items[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_sql_print_expr(out, item->expr);
        if (item->has_direction) nl_append_c(out, item->is_descending ? " DESC" : " ASC");
        if (item->has_nulls) nl_append_c(out, item->is_nulls_first ? " NULLS FIRST" : " NULLS LAST");
    }
}

static void print_bound(nl_builder *out, const nl_ast_frame_bound *bound)
{
    switch (bound->kind) {
    case NL_AST_BOUND_UNBOUNDED_PRECEDING: nl_append_c(out, "UNBOUNDED PRECEDING"); break;
    case NL_AST_BOUND_UNBOUNDED_FOLLOWING: nl_append_c(out, "UNBOUNDED FOLLOWING"); break;
    case NL_AST_BOUND_CURRENT_ROW: nl_append_c(out, "CURRENT ROW"); break;
    case NL_AST_BOUND_PRECEDING:
    case NL_AST_BOUND_FOLLOWING:
        nl_sql_print_expr(out, bound->offset);
        nl_append_c(out, bound->kind == NL_AST_BOUND_PRECEDING ? " PRECEDING" : " FOLLOWING");
        break;
    }
}

static void print_frame(nl_builder *out, const nl_ast_window *window)
{
    nl_append_c(out, window->is_rows ? "ROWS " : "RANGE ");
    if (window->has_end) nl_append_c(out, "BETWEEN ");
    print_bound(out, &window->start);
    if (!window->has_end) return;
    nl_append_c(out, " AND ");
    print_bound(out, &window->end);
}

void nl_print_window(nl_builder *out, const nl_ast_window *window)
{
    if (window->reference.text.data) {
        nl_print_ident(out, &window->reference);
        return;
    }
    nl_append_char(out, '(');
    const char *space = "";
    if (window->partition_by.count > 0) {
        nl_append_c(out, window->is_cluster_by ? "CLUSTER BY " : "PARTITION BY ");
        nl_print_exprs(out, &window->partition_by);
        space = " ";
    }
    if (window->order_by.count > 0) {
        nl_append_f(out, "%sORDER BY ", space);
        nl_print_sort_items(out, &window->order_by);
        space = " ";
    }
    if (window->has_frame) {
        nl_append_c(out, space);
        print_frame(out, window);
    }
    nl_append_char(out, ')');
}

/* ---- calls -------------------------------------------------------------------------------------------------------------------------- */

void nl_print_arguments(nl_builder *out, const nl_ast_arguments *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        const nl_ast_argument *argument = &args->items[i];
        if (i > 0) nl_append_c(out, ", ");
        if (argument->name.text.data) {
            nl_print_ident(out, &argument->name);
            nl_append_c(out, " => ");
        }
        nl_sql_print_expr(out, argument->value);
    }
}

static void print_call_suffix(nl_builder *out, const nl_ast_call *call)
{
    if (call->within_group.count > 0) {
        nl_append_c(out, " WITHIN GROUP (ORDER BY ");
        nl_print_sort_items(out, &call->within_group);
        nl_append_char(out, ')');
    }
    if (call->filter) {
        nl_append_c(out, " FILTER (WHERE ");
        nl_sql_print_expr(out, call->filter);
        nl_append_char(out, ')');
    }
    if (call->nulls != NL_AST_NULLS_UNSAID)
        nl_append_c(out, call->nulls == NL_AST_NULLS_IGNORE ? " IGNORE NULLS" : " RESPECT NULLS");
    if (call->over) {
        nl_append_c(out, " OVER ");
        nl_print_window(out, call->over);
    }
}

static void print_plain_call(nl_builder *out, const nl_ast_call *call)
{
    print_function_name(out, &call->name);
    nl_append_char(out, '(');
    if (call->is_distinct) nl_append_c(out, "DISTINCT ");
    if (call->is_all) nl_append_c(out, "ALL ");
    nl_print_arguments(out, &call->args);
    nl_append_char(out, ')');
    print_call_suffix(out, call);
}

/* Operands with words between them; a missing last operand ends the list. */
static void print_words(nl_builder *out, const nl_ast_call *call, const char *const *words)
{
    nl_append_c(out, words[0]);
    for (uint32_t i = 0; i < call->args.count; i++) {
        if (i > 0) nl_append_c(out, words[i]);
        print_at(out, call->args.items[i].value, LEVEL_COMPARISON);
    }
    nl_append_char(out, ')');
}

static void print_trim(nl_builder *out, const nl_ast_call *call)
{
    nl_append_c(out, call->form == NL_AST_CALL_TRIM_LEADING    ? "TRIM(LEADING "
                     : call->form == NL_AST_CALL_TRIM_TRAILING ? "TRIM(TRAILING "
                                                               : "TRIM(BOTH ");
    if (call->args.count > 1) {
        print_at(out, call->args.items[1].value, LEVEL_COMPARISON);
        nl_append_char(out, ' ');
    }
    nl_append_c(out, "FROM ");
    print_at(out, call->args.items[0].value, LEVEL_COMPARISON);
    nl_append_char(out, ')');
}

static void print_unit_call(nl_builder *out, const nl_ast_call *call)
{
    nl_append_f(out, "%s(" NL_STR_FMT, call->form == NL_AST_CALL_TIMESTAMPADD ? "TIMESTAMPADD" : "TIMESTAMPDIFF",
                NL_STR_ARG(call->args.items[0].value->literal.text));
    for (uint32_t i = 1; i < call->args.count; i++) {
        nl_append_c(out, ", ");
        print_at(out, call->args.items[i].value, LEVEL_COMPARISON);
    }
    nl_append_char(out, ')');
}

static void print_extract(nl_builder *out, const nl_ast_call *call)
{
    nl_ast_ident field = {.text = call->args.items[0].value->literal.text};
    nl_append_c(out, "EXTRACT(");
    nl_print_ident(out, &field);
    nl_append_c(out, " FROM ");
    print_at(out, call->args.items[1].value, LEVEL_COMPARISON);
    nl_append_char(out, ')');
}

static void print_call(nl_builder *out, const nl_ast_call *call)
{
    static const char *const position[] = {"POSITION(", " IN "};
    static const char *const substring[] = {"SUBSTRING(", " FROM ", " FOR "};
    static const char *const overlay[] = {"OVERLAY(", " PLACING ", " FROM ", " FOR "};
    switch (call->form) {
    case NL_AST_CALL_DATAFRAME:
    case NL_AST_CALL_PLAIN: print_plain_call(out, call); break;
    case NL_AST_CALL_EXTRACT: print_extract(out, call); break;
    case NL_AST_CALL_TIMESTAMPADD:
    case NL_AST_CALL_TIMESTAMPDIFF: print_unit_call(out, call); break;
    case NL_AST_CALL_STRUCT:
        nl_append_c(out, "STRUCT(");
        nl_print_arguments(out, &call->args);
        nl_append_char(out, ')');
        break;
    case NL_AST_CALL_FIRST:
        print_function_name(out, &call->name);
        nl_append_char(out, '(');
        nl_sql_print_expr(out, call->args.items[0].value);
        nl_append_c(out, " IGNORE NULLS)");
        break;
    case NL_AST_CALL_POSITION: print_words(out, call, position); break;
    case NL_AST_CALL_SUBSTRING: print_words(out, call, substring); break;
    case NL_AST_CALL_OVERLAY: print_words(out, call, overlay); break;
    case NL_AST_CALL_TRIM_BOTH:
    case NL_AST_CALL_TRIM_LEADING:
    case NL_AST_CALL_TRIM_TRAILING: print_trim(out, call); break;
    }
}

/* ---- operators --------------------------------------------------------------------------------------------------------------------- */

static const struct operator_text {
    const char *text;
    int level;
} binary_texts[] = {
    [NL_AST_BINARY_OR] = {" OR ", LEVEL_OR},
    [NL_AST_BINARY_AND] = {" AND ", LEVEL_AND},
    [NL_AST_BINARY_EQ] = {" = ", LEVEL_COMPARISON},
    [NL_AST_BINARY_NULL_SAFE_EQ] = {" <=> ", LEVEL_COMPARISON},
    [NL_AST_BINARY_NEQ] = {" <> ", LEVEL_COMPARISON},
    [NL_AST_BINARY_LT] = {" < ", LEVEL_COMPARISON},
    [NL_AST_BINARY_LTE] = {" <= ", LEVEL_COMPARISON},
    [NL_AST_BINARY_GT] = {" > ", LEVEL_COMPARISON},
    [NL_AST_BINARY_GTE] = {" >= ", LEVEL_COMPARISON},
    [NL_AST_BINARY_BIT_OR] = {" | ", LEVEL_BIT_OR},
    [NL_AST_BINARY_BIT_XOR] = {" ^ ", LEVEL_BIT_XOR},
    [NL_AST_BINARY_BIT_AND] = {" & ", LEVEL_BIT_AND},
    [NL_AST_BINARY_SHIFT_LEFT] = {" << ", LEVEL_SHIFT},
    [NL_AST_BINARY_SHIFT_RIGHT] = {" >> ", LEVEL_SHIFT},
    [NL_AST_BINARY_SHIFT_RIGHT_UNSIGNED] = {" >>> ", LEVEL_SHIFT},
    [NL_AST_BINARY_ADD] = {" + ", LEVEL_ADD},
    [NL_AST_BINARY_SUBTRACT] = {" - ", LEVEL_ADD},
    [NL_AST_BINARY_CONCAT] = {" || ", LEVEL_ADD},
    [NL_AST_BINARY_MULTIPLY] = {" * ", LEVEL_MULTIPLY},
    [NL_AST_BINARY_DIVIDE] = {" / ", LEVEL_MULTIPLY},
    [NL_AST_BINARY_REMAINDER] = {" % ", LEVEL_MULTIPLY},
    [NL_AST_BINARY_DIV] = {" DIV ", LEVEL_MULTIPLY},
};

static int level_of(const nl_ast_expr *expr)
{
    switch (expr->kind) {
    case NL_AST_EXPR_BINARY: return binary_texts[expr->binary.op].level;
    case NL_AST_EXPR_UNARY: return expr->unary.op == NL_AST_UNARY_NOT ? LEVEL_NOT : LEVEL_UNARY;
    case NL_AST_EXPR_BETWEEN:
    case NL_AST_EXPR_IN_LIST:
    case NL_AST_EXPR_IN_QUERY:
    case NL_AST_EXPR_LIKE:
    case NL_AST_EXPR_LIKE_QUANTIFIED:
    case NL_AST_EXPR_IS:
    case NL_AST_EXPR_IS_DISTINCT:
    case NL_AST_EXPR_EXISTS: return LEVEL_PREDICATE;
    case NL_AST_EXPR_LAMBDA:
    case NL_AST_EXPR_ALIAS: return LEVEL_ANY;
    case NL_AST_EXPR_LITERAL:
    case NL_AST_EXPR_COLUMN:
    case NL_AST_EXPR_STAR:
    case NL_AST_EXPR_CALL:
    case NL_AST_EXPR_CAST:
    case NL_AST_EXPR_CASE:
    case NL_AST_EXPR_SUBSCRIPT:
    case NL_AST_EXPR_FIELD:
    case NL_AST_EXPR_ROW:
    case NL_AST_EXPR_SUBQUERY:
    case NL_AST_EXPR_PARAMETER:
    case NL_AST_EXPR_COLLATE:
    case NL_AST_EXPR_UPDATE_FIELD:
    case NL_AST_EXPR_TABLE_ARGUMENT: return LEVEL_PRIMARY;
    }
    return LEVEL_ANY;
}

/* Chains of AND and OR are balanced trees: an operand that is one of the same kind keeps its parentheses, so that the
 * parser does not make one longer chain of both. */
static void print_binary(nl_builder *out, const nl_ast_expr *expr)
{
    const struct operator_text *op = &binary_texts[expr->binary.op];
    bool is_logical = op->level <= LEVEL_AND;
    print_at(out, expr->binary.left, is_logical ? op->level + 1 : op->level);
    nl_append_c(out, op->text);
    print_at(out, expr->binary.right, op->level + 1);
}

static void print_unary(nl_builder *out, const nl_ast_expr *expr)
{
    static const char *const texts[] = {[NL_AST_UNARY_NOT] = "NOT ",
                                        [NL_AST_UNARY_MINUS] = "- ",
                                        [NL_AST_UNARY_PLUS] = "+ ",
                                        [NL_AST_UNARY_TILDE] = "~ "};
    nl_append_c(out, texts[expr->unary.op]);
    /* Without the parentheses a minus would become part of the number. */
    bool is_number = expr->unary.op == NL_AST_UNARY_MINUS && expr->unary.input->kind == NL_AST_EXPR_LITERAL;
    int level = expr->unary.op == NL_AST_UNARY_NOT ? LEVEL_NOT : LEVEL_UNARY;
    print_at(out, expr->unary.input, is_number ? LEVEL_PRIMARY + 1 : level);
}

static void print_not(nl_builder *out, const nl_ast_expr *expr)
{
    if (expr->is_negated) nl_append_c(out, " NOT");
}

static void print_in(nl_builder *out, const nl_ast_expr *expr)
{
    print_at(out, expr->in.input, LEVEL_COMPARISON);
    print_not(out, expr);
    nl_append_c(out, " IN (");
    if (expr->in.query)
        nl_sql_print_query(out, expr->in.query);
    else
        nl_print_exprs(out, &expr->in.list);
    nl_append_char(out, ')');
}

static const char *like_word(nl_ast_like_kind kind)
{
    return kind == NL_AST_LIKE ? " LIKE " : kind == NL_AST_ILIKE ? " ILIKE " : " RLIKE ";
}

static void print_like(nl_builder *out, const nl_ast_expr *expr)
{
    print_at(out, expr->like.input, LEVEL_COMPARISON);
    print_not(out, expr);
    nl_append_c(out, like_word(expr->like.kind));
    print_at(out, expr->like.pattern, LEVEL_COMPARISON);
    if (!expr->like.has_escape) return;
    nl_append_c(out, " ESCAPE ");
    nl_print_string(out, expr->like.escape);
}

static void print_quantified_like(nl_builder *out, const nl_ast_expr *expr)
{
    static const char *const words[] = {"ANY (", "SOME (", "ALL ("};
    print_at(out, expr->like_quantified.input, LEVEL_COMPARISON);
    print_not(out, expr);
    nl_append_c(out, like_word(expr->like_quantified.kind));
    nl_append_c(out, words[expr->like_quantified.quantifier]);
    nl_print_exprs(out, &expr->like_quantified.patterns);
    nl_append_char(out, ')');
}

static void print_is(nl_builder *out, const nl_ast_expr *expr)
{
    static const char *const words[] = {" NULL", " TRUE", " FALSE", " UNKNOWN"};
    print_at(out, expr->is.input, LEVEL_COMPARISON);
    nl_append_c(out, " IS");
    print_not(out, expr);
    nl_append_c(out, words[expr->is.kind]);
}

static void print_between(nl_builder *out, const nl_ast_expr *expr)
{
    print_at(out, expr->between.input, LEVEL_COMPARISON);
    print_not(out, expr);
    nl_append_c(out, " BETWEEN ");
    print_at(out, expr->between.low, LEVEL_COMPARISON);
    nl_append_c(out, " AND ");
    print_at(out, expr->between.high, LEVEL_COMPARISON);
}

static void print_distinct(nl_builder *out, const nl_ast_expr *expr)
{
    print_at(out, expr->distinct.left, LEVEL_COMPARISON);
    nl_append_c(out, " IS");
    print_not(out, expr);
    nl_append_c(out, " DISTINCT FROM ");
    print_at(out, expr->distinct.right, LEVEL_COMPARISON);
}

/* ---- operands ------------------------------------------------------------------------------------------------------------------------ */

static void print_cast(nl_builder *out, const nl_ast_expr *expr)
{
    if (expr->cast.form == NL_AST_CAST_COLONS) {
        print_at(out, expr->cast.input, LEVEL_PRIMARY);
        nl_append_c(out, "::");
        nl_sql_print_type(out, expr->cast.type);
        return;
    }
    nl_append_c(out, expr->cast.form == NL_AST_CAST_TRY ? "TRY_CAST(" : "CAST(");
    nl_sql_print_expr(out, expr->cast.input);
    nl_append_c(out, " AS ");
    nl_sql_print_type(out, expr->cast.type);
    nl_append_char(out, ')');
}

static void print_case(nl_builder *out, const nl_ast_expr *expr)
{
    nl_append_c(out, "CASE");
    if (expr->choice.operand) {
        nl_append_char(out, ' ');
        nl_sql_print_expr(out, expr->choice.operand);
    }
    for (uint32_t i = 0; i < expr->choice.when_count; i++) {
        nl_append_c(out, " WHEN ");
        nl_sql_print_expr(out, expr->choice.whens[i].condition);
        nl_append_c(out, " THEN ");
        nl_sql_print_expr(out, expr->choice.whens[i].result);
    }
    if (expr->choice.otherwise) {
        nl_append_c(out, " ELSE ");
        nl_sql_print_expr(out, expr->choice.otherwise);
    }
    nl_append_c(out, " END");
}

static void print_star(nl_builder *out, const nl_ast_expr *expr)
{
    if (expr->star.qualifier.count > 0) {
        nl_sql_print_name(out, &expr->star.qualifier);
        nl_append_char(out, '.');
    }
    nl_append_char(out, '*');
    if (!expr->star.has_except) return;
    nl_append_c(out, " EXCEPT (");
    nl_print_names(out, &expr->star.except);
    nl_append_char(out, ')');
}

static void print_lambda(nl_builder *out, const nl_ast_expr *expr)
{
    if (expr->lambda.parameters.count == 1)
        nl_print_ident(out, &expr->lambda.parameters.items[0]);
    else
        nl_print_ident_list(out, &expr->lambda.parameters);
    nl_append_c(out, " -> ");
    nl_sql_print_expr(out, expr->lambda.body);
}

static void print_alias(nl_builder *out, const nl_ast_expr *expr)
{
    nl_sql_print_expr(out, expr->alias.input);
    nl_append_c(out, " AS ");
    if (expr->alias.has_parentheses)
        nl_print_ident_list(out, &expr->alias.names);
    else
        nl_print_idents(out, &expr->alias.names);
}

static void print_parameter(nl_builder *out, const nl_ast_expr *expr)
{
    if (!expr->parameter.name.text.data) {
        nl_append_char(out, '?');
        return;
    }
    nl_append_char(out, ':');
    nl_print_ident(out, &expr->parameter.name);
}

static void print_table_argument(nl_builder *out, const nl_ast_table_argument *argument)
{
    nl_append_c(out, "TABLE(");
    if (argument->query)
        nl_sql_print_query(out, argument->query);
    else
        nl_sql_print_name(out, &argument->table);
    nl_append_char(out, ')');
    if (argument->is_single_partition) nl_append_c(out, " WITH SINGLE PARTITION");
    if (argument->partition_by.count > 0) {
        nl_append_c(out, " PARTITION BY (");
        nl_print_exprs(out, &argument->partition_by);
        nl_append_char(out, ')');
    }
    if (argument->order_by.count > 0) {
        nl_append_c(out, " ORDER BY (");
        nl_print_sort_items(out, &argument->order_by);
        nl_append_char(out, ')');
    }
}

static void print_in_parentheses(nl_builder *out, const char *open, const nl_ast_query *query)
{
    nl_append_c(out, open);
    nl_sql_print_query(out, query);
    nl_append_char(out, ')');
}

static void print_suffixed(nl_builder *out, const nl_ast_expr *expr)
{
    if (expr->kind == NL_AST_EXPR_SUBSCRIPT) {
        print_at(out, expr->subscript.input, LEVEL_PRIMARY);
        nl_append_char(out, '[');
        print_at(out, expr->subscript.index, LEVEL_COMPARISON);
        nl_append_char(out, ']');
    } else if (expr->kind == NL_AST_EXPR_FIELD) {
        print_at(out, expr->field.input, LEVEL_PRIMARY);
        /* A blank keeps a number apart: 1 .a */
        nl_append_c(out, expr->field.input->kind == NL_AST_EXPR_LITERAL ? " ." : ".");
        nl_print_ident(out, &expr->field.name);
    } else {
        print_at(out, expr->collate.input, LEVEL_PRIMARY);
        nl_append_c(out, " COLLATE ");
        nl_sql_print_name(out, &expr->collate.collation);
    }
}

static void print_bare(nl_builder *out, const nl_ast_expr *expr)
{
    switch (expr->kind) {
    case NL_AST_EXPR_LITERAL: print_literal(out, &expr->literal); break;
    case NL_AST_EXPR_COLUMN: nl_sql_print_name(out, &expr->column); break;
    case NL_AST_EXPR_STAR: print_star(out, expr); break;
    case NL_AST_EXPR_CALL: print_call(out, &expr->call); break;
    case NL_AST_EXPR_CAST: print_cast(out, expr); break;
    case NL_AST_EXPR_CASE: print_case(out, expr); break;
    case NL_AST_EXPR_BETWEEN: print_between(out, expr); break;
    case NL_AST_EXPR_IN_LIST:
    case NL_AST_EXPR_IN_QUERY: print_in(out, expr); break;
    case NL_AST_EXPR_LIKE: print_like(out, expr); break;
    case NL_AST_EXPR_LIKE_QUANTIFIED: print_quantified_like(out, expr); break;
    case NL_AST_EXPR_IS: print_is(out, expr); break;
    case NL_AST_EXPR_IS_DISTINCT: print_distinct(out, expr); break;
    case NL_AST_EXPR_UNARY: print_unary(out, expr); break;
    case NL_AST_EXPR_BINARY: print_binary(out, expr); break;
    case NL_AST_EXPR_SUBSCRIPT:
    case NL_AST_EXPR_FIELD:
    case NL_AST_EXPR_COLLATE: print_suffixed(out, expr); break;
    case NL_AST_EXPR_LAMBDA: print_lambda(out, expr); break;
    case NL_AST_EXPR_ROW:
        nl_append_char(out, '(');
        nl_print_exprs(out, &expr->row);
        nl_append_char(out, ')');
        break;
    case NL_AST_EXPR_EXISTS: print_in_parentheses(out, "EXISTS (", expr->query); break;
    case NL_AST_EXPR_SUBQUERY: print_in_parentheses(out, "(", expr->query); break;
    case NL_AST_EXPR_PARAMETER: print_parameter(out, expr); break;
    case NL_AST_EXPR_ALIAS: print_alias(out, expr); break;
    case NL_AST_EXPR_TABLE_ARGUMENT: print_table_argument(out, &expr->table_argument); break;
    case NL_AST_EXPR_UPDATE_FIELD: break; /* never printed: trees of DataFrames have no text */
    }
}

static void print_at(nl_builder *out, const nl_ast_expr *expr, int level)
{
    bool has_parentheses = level_of(expr) < level;
    if (has_parentheses) nl_append_char(out, '(');
    print_bare(out, expr);
    if (has_parentheses) nl_append_char(out, ')');
}

void nl_sql_print_expr(nl_builder *out, const nl_ast_expr *expr)
{
    print_at(out, expr, LEVEL_ANY);
}

void nl_print_operands(nl_builder *out, const nl_ast_exprs *exprs)
{
    for (uint32_t i = 0; i < exprs->count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        print_at(out, exprs->items[i], LEVEL_PRIMARY);
    }
}

void nl_print_exprs(nl_builder *out, const nl_ast_exprs *exprs)
{
    for (uint32_t i = 0; i < exprs->count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        print_at(out, exprs->items[i], LEVEL_ANY);
    }
}

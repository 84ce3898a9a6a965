/* sql/parse_script.c - BEGIN … END scripts: blocks, declarations, handlers, IF, CASE, loops, labels. */
#include "sql/parse.h"
#include "sql/spark_conditions.h"

static nl_status parse_compound_statement(nl_parser *p, nl_ast_statement **statement);
static nl_status parse_block(nl_parser *p, nl_ast_ident label, bool may_have_end_label, nl_ast_statement **statement);
static nl_status check_handlers(nl_parser *p, const nl_ast_statements *body);

bool nl_parser_starts_script(const nl_parser *p)
{
    return nl_parser_is(p, NL_T_BEGIN);
}

/* ---- labels ---------------------------------------------------------------------------------------------------------------------- */

static bool starts_label(const nl_parser *p)
{
    if (!nl_parser_is_identifier_at(p, p->at) || nl_parser_is(p, NL_T_SELECT)) return false; /* SELECT :parameter */
    uint32_t at = p->at + 1;
    while (nl_parser_kind_at(p, at) == NL_T_DOT && nl_parser_is_identifier_at(p, at + 1)) at += 2;
    return nl_parser_kind_at(p, at) == NL_T_COLON;
}

static nl_str label_of(nl_parser *p, const nl_ast_name *name)
{
    if (name->count == 1) return name->parts[0].text;
    nl_str quoted = nl_parser_quote_name(p, name);
    char *out = nl_arena_alloc(p->arena, quoted.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < quoted.length; i++)
        if (quoted.data[i] != '`') out[length++] = quoted.data[i];
    return (nl_str){out, length};
}

/* `label`, in small letters as Spark keeps it. */
static nl_str quoted_label(nl_parser *p, nl_str label)
{
    return nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(nl_parser_lower(p, label)));
}

/* Of a label or the variable of a FOR: names that qualify what is no local variable are taken, and so are those around it. */
static nl_status check_free_label(nl_parser *p, nl_ast_ident label)
{
    const bool is_forbidden = nl_str_is_nocase(label.text, "builtin") || nl_str_is_nocase(label.text, "session") ||
                              (label.text.length >= 3 && nl_str_is_nocase(nl_str_slice(label.text, 0, 3), "sys"));
    if (is_forbidden) return NL_REFUSE(p, NL_NO_PLACE, LABEL_OR_FOR_VARIABLE_NAME_FORBIDDEN, NL_P_STR("label", quoted_label(p, label.text)));
    for (const nl_label_scope *scope = p->labels; scope; scope = scope->outer)
        if (scope->label.data && nl_str_equal_nocase(scope->label, label.text))
            return NL_REFUSE(p, NL_NO_PLACE, LABEL_OR_FOR_VARIABLE_ALREADY_EXISTS, NL_P_STR("label", quoted_label(p, label.text)));
    return NULL;
}

static nl_status parse_label(nl_parser *p, nl_ast_ident *label)
{
    nl_ast_name name;
    NL_TRY(nl_parse_name(p, &name));
    NL_TRY(nl_parser_expect(p, NL_T_COLON));
    *label = name.parts[name.count - 1];
    if (name.count > 1)
        return NL_REFUSE(p, NL_NO_PLACE, INVALID_LABEL_USAGE__QUALIFIED_LABEL_NAME,
                         NL_P_STR("labelName", nl_parser_upper(p, label_of(p, &name))));
    return check_free_label(p, *label);
}

/* The label behind END, when there is one: it repeats the one before. */
static nl_status parse_end_label(nl_parser *p, nl_ast_ident label)
{
    if (!nl_parser_is_identifier_at(p, p->at)) return NULL;
    nl_ast_name end;
    NL_TRY(nl_parse_name(p, &end));
    nl_str end_text = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(label_of(p, &end)));
    if (!label.text.data) return NL_REFUSE(p, NL_NO_PLACE, END_LABEL_WITHOUT_BEGIN_LABEL, NL_P_STR("endLabel", end_text));
    if (end.count == 1 && nl_str_equal_nocase(end.parts[0].text, label.text)) return NULL;
    return NL_REFUSE(p, NL_NO_PLACE, LABELS_MISMATCH,
                     NL_P_STR("beginLabel", nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(label.text))),
                     NL_P_STR("endLabel", end_text));
}

static void push_label(nl_parser *p, nl_label_scope *scope, nl_ast_ident label, int kind)
{
    *scope = (nl_label_scope){.outer = p->labels, .label = label.text, .kind = kind};
    p->labels = scope;
}

/* LEAVE label, ITERATE label */
static nl_status parse_jump(nl_parser *p, nl_ast_statement **statement)
{
    bool is_leave = nl_parser_is(p, NL_T_LEAVE);
    p->at++;
    nl_ast_name name;
    NL_TRY(nl_parse_name(p, &name));
    nl_str label = label_of(p, &name);
    *statement = nl_parser_new_statement(p, is_leave ? NL_AST_STATEMENT_LEAVE : NL_AST_STATEMENT_ITERATE);
    (*statement)->label = name.parts[name.count - 1];
    const nl_label_scope *scope = p->labels;
    while (scope && !(scope->kind != NL_LABEL_FOR_VARIABLE && scope->label.data && nl_str_equal_nocase(scope->label, label))) scope = scope->outer;
    nl_str upper = nl_parser_upper(p, label);
    if (!scope)
        return NL_REFUSE(p, NL_NO_PLACE, INVALID_LABEL_USAGE__DOES_NOT_EXIST, NL_P_STR("labelName", upper),
                         NL_P("statementType", is_leave ? "LEAVE" : "ITERATE"));
    if (!is_leave && scope->kind == NL_LABEL_BLOCK)
        return NL_REFUSE(p, NL_NO_PLACE, INVALID_LABEL_USAGE__ITERATE_IN_COMPOUND, NL_P_STR("labelName", upper));
    return NULL;
}

/* ---- bodies ----------------------------------------------------------------------------------------------------------------------- */

/* What ends a body: END, ELSE, ELSEIF, WHEN, UNTIL at the place of a statement. */
static bool is_body_end(const nl_parser *p)
{
    switch ((int)nl_parser_kind(p)) {
    case NL_T_END:
    case NL_T_ELSE:
    case NL_T_ELSEIF:
    case NL_T_WHEN:
    case NL_T_UNTIL:
    case NL_T_EOF: return !starts_label(p);
    default: return false;
    }
}

/* A condition's name as errors show it: capitals. */
static nl_str shown_condition(nl_parser *p, const nl_ast_name *name)
{
    return nl_parser_upper(p, label_of(p, name));
}

static nl_status refuse_condition_place(nl_parser *p, const nl_ast_declare_condition *node)
{
    return NL_REFUSE(p, NL_NO_PLACE, INVALID_ERROR_CONDITION_DECLARATION__NOT_AT_START_OF_COMPOUND_STATEMENT,
                     NL_P_STR("conditionName", nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(shown_condition(p, &node->name)))));
}

/* The bodies of branches, loops and handlers that are no block declare nothing. */
static nl_status refuse_declaration(nl_parser *p, const nl_ast_statement *statement)
{
    switch ((int)statement->kind) {
    case NL_AST_STATEMENT_DECLARE_VARIABLE:
        return NL_REFUSE(p, NL_NO_PLACE, INVALID_VARIABLE_DECLARATION__NOT_ALLOWED_IN_SCOPE,
                         NL_P_STR("varName", nl_parser_quote_name(p, &statement->declare_variable->name)));
    case NL_AST_STATEMENT_DECLARE_CONDITION: return refuse_condition_place(p, statement->declare_condition);
    case NL_AST_STATEMENT_DECLARE_HANDLER: return NL_REFUSE(p, NL_NO_PLACE, INVALID_HANDLER_DECLARATION__WRONG_PLACE_OF_DECLARATION);
    default: return NULL;
    }
}

/* statement; statement; … at least one, and no declarations, unless it is that of a block. */
static nl_status parse_body(nl_parser *p, bool is_block, nl_ast_statements *body)
{
    nl_list list = {0};
    if (!is_block && is_body_end(p)) {
        p->at += nl_parser_is(p, NL_T_END);
        return nl_parser_syntax_error(p);
    }
    while (!is_body_end(p)) {
        nl_ast_statement *statement = NULL;
        NL_TRY(parse_compound_statement(p, &statement));
        NL_TRY(nl_parser_expect(p, NL_T_SEMICOLON));
        if (!is_block) NL_TRY(refuse_declaration(p, statement));
        nl_list_add(p->arena, &list, statement);
    }
    *body = (nl_ast_statements){(nl_ast_statement **)list.items, list.count};
    return NULL;
}

/* Declarations stand first in a block: variables and conditions, then handlers, then the rest. */
static nl_status check_declarations(nl_parser *p, const nl_ast_statements *body)
{
    int stage = 0;
    for (uint32_t i = 0; i < body->count; i++) {
        const nl_ast_statement *statement = body->items[i];
        if (statement->kind == NL_AST_STATEMENT_DECLARE_VARIABLE) {
            if (stage > 0)
                return NL_REFUSE(p, NL_NO_PLACE, INVALID_VARIABLE_DECLARATION__ONLY_AT_BEGINNING,
                                 NL_P_STR("varName", nl_parser_quote_name(p, &statement->declare_variable->name)));
        } else if (statement->kind == NL_AST_STATEMENT_DECLARE_CONDITION) {
            if (stage > 0) return refuse_condition_place(p, statement->declare_condition);
        } else if (statement->kind == NL_AST_STATEMENT_DECLARE_HANDLER) {
            if (stage > 1) return NL_REFUSE(p, NL_NO_PLACE, INVALID_HANDLER_DECLARATION__WRONG_PLACE_OF_DECLARATION);
            stage = 1;
        } else {
            stage = 2;
        }
    }
    return NULL;
}

/* At BEGIN. */
static nl_status parse_block(nl_parser *p, nl_ast_ident label, bool may_have_end_label, nl_ast_statement **statement)
{
    nl_ast_block *block = NL_NEW(p->arena, nl_ast_block);
    block->label = label;
    p->at++;
    if (nl_parser_take_both(p, NL_T_NOT, NL_T_ATOMIC)) block->is_not_atomic = true;
    nl_label_scope scope;
    push_label(p, &scope, label, NL_LABEL_BLOCK);
    NL_TRY(parse_body(p, true, &block->body));
    p->labels = scope.outer;
    NL_TRY(block->body.count > 0 ? nl_parser_expect(p, NL_T_END) : nl_parser_need(p, NL_T_END));
    if (may_have_end_label) NL_TRY(parse_end_label(p, label));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_BLOCK);
    (*statement)->block = block;
    NL_TRY(check_declarations(p, &block->body));
    return check_handlers(p, &block->body);
}

/* ---- IF and CASE --------------------------------------------------------------------------------------------------------------------- */

/* condition THEN body */
static nl_status parse_branch(nl_parser *p, nl_ast_branch *branch)
{
    NL_TRY(nl_parse_expression(p, &branch->condition));
    NL_TRY(nl_parser_expect(p, NL_T_THEN));
    return parse_body(p, false, &branch->body);
}

/* More branches behind `word`, ELSE, and END `closing`. */
static nl_status parse_branches(nl_parser *p, nl_token_kind word, nl_token_kind closing, nl_ast_script_branches *node)
{
    nl_list list = {0};
    do {
        nl_ast_branch *branch = NL_NEW(p->arena, nl_ast_branch);
        NL_TRY(parse_branch(p, branch));
        nl_list_add(p->arena, &list, branch);
    } while (nl_parser_take(p, word));
    node->branches = NL_FLATTEN(p, &list, nl_ast_branch);
    node->branch_count = list.count;
    node->has_else = nl_parser_take(p, NL_T_ELSE);
    if (node->has_else) NL_TRY(parse_body(p, false, &node->otherwise));
    NL_TRY(nl_parser_expect(p, NL_T_END));
    return nl_parser_expect(p, closing);
}

static nl_status parse_if(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_script_branches *node = NL_NEW(p->arena, nl_ast_script_branches);
    p->at++;
    NL_TRY(parse_branches(p, NL_T_ELSEIF, NL_T_IF, node));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_IF);
    (*statement)->branches = node;
    return NULL;
}

static nl_status parse_case(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_script_branches *node = NL_NEW(p->arena, nl_ast_script_branches);
    p->at++;
    if (!nl_parser_is(p, NL_T_WHEN)) NL_TRY(nl_parse_expression(p, &node->operand));
    NL_TRY(nl_parser_expect(p, NL_T_WHEN));
    NL_TRY(parse_branches(p, NL_T_WHEN, NL_T_CASE, node));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CASE);
    (*statement)->branches = node;
    return NULL;
}

/* ---- loops ----------------------------------------------------------------------------------------------------------------------------- */

/* What stands before the body: WHILE condition DO, FOR [v AS] query DO, REPEAT, LOOP. */
static nl_status parse_loop_head(nl_parser *p, nl_token_kind kind, nl_ast_script_loop *loop)
{
    p->at++;
    if (kind == NL_T_REPEAT || kind == NL_T_LOOP) return NULL;
    if (kind == NL_T_WHILE) {
        NL_TRY(nl_parse_expression(p, &loop->condition));
    } else {
        bool has_variable = nl_parser_is_identifier_at(p, p->at) && nl_parser_ahead(p, 1) == NL_T_AS;
        if (has_variable) {
            NL_TRY(nl_parse_name_part(p, &loop->variable));
            p->at++;
        }
        bool was_in_query = p->is_in_for_query;
        p->is_in_for_query = true;
        NL_TRY(nl_parse_query(p, &loop->query));
        p->is_in_for_query = was_in_query;
    }
    return nl_parser_expect(p, NL_T_DO);
}

static nl_status parse_loop(nl_parser *p, nl_ast_ident label, nl_ast_statement **statement)
{
    nl_token_kind kind = nl_parser_kind(p);
    nl_ast_script_loop *loop = NL_NEW(p->arena, nl_ast_script_loop);
    loop->label = label;
    NL_TRY(parse_loop_head(p, kind, loop));
    nl_label_scope *const outer = p->labels;
    nl_label_scope scope, variable;
    push_label(p, &scope, label, NL_LABEL_LOOP);
    if (loop->variable.text.data) {
        NL_TRY(check_free_label(p, loop->variable));
        push_label(p, &variable, loop->variable, NL_LABEL_FOR_VARIABLE);
    }
    NL_TRY(parse_body(p, false, &loop->body));
    p->labels = outer;
    if (kind == NL_T_REPEAT) {
        NL_TRY(nl_parser_expect(p, NL_T_UNTIL));
        NL_TRY(nl_parse_expression(p, &loop->condition));
    }
    NL_TRY(nl_parser_expect(p, NL_T_END));
    NL_TRY(nl_parser_expect(p, kind));
    NL_TRY(parse_end_label(p, label));
    *statement = nl_parser_new_statement(p, kind == NL_T_WHILE    ? NL_AST_STATEMENT_WHILE
                                            : kind == NL_T_REPEAT ? NL_AST_STATEMENT_REPEAT
                                            : kind == NL_T_LOOP   ? NL_AST_STATEMENT_LOOP
                                                                  : NL_AST_STATEMENT_FOR);
    (*statement)->loop = loop;
    return NULL;
}

/* ---- conditions and handlers --------------------------------------------------------------------------------------------------------------- */

/* SQLSTATE [VALUE] 'xxxxx'; at SQLSTATE. Five letters or digits, and no success, warning or XX class. */
static nl_status parse_sqlstate(nl_parser *p, nl_str *sqlstate)
{
    p->at++;
    nl_parser_take(p, NL_T_VALUE);
    nl_str text;
    NL_TRY(nl_parse_string(p, &text));
    *sqlstate = nl_parser_upper(p, text);
    bool is_valid = sqlstate->length == 5;
    for (size_t i = 0; i < sqlstate->length && is_valid; i++) {
        char c = sqlstate->data[i];
        is_valid = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    }
    is_valid = is_valid && !nl_str_starts(*sqlstate, NL_STR("00")) && !nl_str_starts(*sqlstate, NL_STR("01")) &&
               !nl_str_starts(*sqlstate, NL_STR("XX"));
    return is_valid ? NULL : NL_REFUSE(p, NL_NO_PLACE, INVALID_SQLSTATE, NL_P_STR("sqlState", text));
}

static bool is_declared(const nl_label_scope *scope, nl_str condition)
{
    for (; scope; scope = scope->outer)
        for (uint32_t i = 0; i < scope->conditions.count; i++)
            if (nl_str_equal(*(const nl_str *)scope->conditions.items[i], condition)) return true;
    return false;
}

/* Blocks inside know the condition, too, and do not declare it again. */
static nl_status declare_condition(nl_parser *p, const nl_ast_declare_condition *node)
{
    const nl_str written = node->name.parts[0].text;
    nl_str *name = NL_NEW(p->arena, nl_str);
    *name = shown_condition(p, &node->name);
    if (node->name.count > 1) return NL_REFUSE(p, NL_NO_PLACE, INVALID_ERROR_CONDITION_DECLARATION__QUALIFIED_CONDITION_NAME, NL_P_STR("conditionName", *name));
    for (size_t i = 0; i < written.length; i++) {
        const char c = written.data[i];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!is_plain)
            return NL_REFUSE(p, NL_NO_PLACE, INVALID_ERROR_CONDITION_DECLARATION__SPECIAL_CHARACTER_FOUND,
                             NL_P_STR("conditionName", nl_parser_quote_name(p, &node->name)));
    }
    if (is_declared(p->labels, *name))
        return NL_REFUSE(p, NL_NO_PLACE, DUPLICATE_CONDITION_IN_SCOPE, NL_P_STR("condition", nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(*name))));
    if (p->labels) nl_list_add(p->arena, &p->labels->conditions, name);
    return NULL;
}

/* DECLARE name CONDITION [FOR SQLSTATE …] */
static nl_status parse_declare_condition(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_declare_condition *node = NL_NEW(p->arena, nl_ast_declare_condition);
    p->at++;
    NL_TRY(nl_parse_name(p, &node->name));
    NL_TRY(nl_parser_expect(p, NL_T_CONDITION));
    node->sqlstate = NL_STR("45000");
    if (nl_parser_take(p, NL_T_FOR)) {
        if (!nl_parser_is(p, NL_T_SQLSTATE)) return nl_parser_syntax_error(p);
        node->has_sqlstate = true;
        NL_TRY(parse_sqlstate(p, &node->sqlstate));
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_DECLARE_CONDITION);
    (*statement)->declare_condition = node;
    return declare_condition(p, node);
}

static nl_status parse_condition_value(nl_parser *p, nl_ast_condition_value *value)
{
    if (nl_parser_is(p, NL_T_SQLSTATE)) {
        value->kind = NL_AST_ON_SQLSTATE;
        return parse_sqlstate(p, &value->sqlstate);
    }
    if (nl_parser_take(p, NL_T_SQLEXCEPTION)) {
        value->kind = NL_AST_ON_SQLEXCEPTION;
        return NULL;
    }
    if (nl_parser_take_both(p, NL_T_NOT, NL_T_FOUND)) {
        value->kind = NL_AST_ON_NOT_FOUND;
        return NULL;
    }
    value->kind = NL_AST_ON_CONDITION;
    return nl_parse_name(p, &value->condition);
}

/* What a handler is for: a condition in capitals, "SQLEXCEPTION", "NOT FOUND", or a SQLSTATE. */
static nl_str shown_value(nl_parser *p, const nl_ast_condition_value *value)
{
    switch (value->kind) {
    case NL_AST_ON_SQLSTATE: return value->sqlstate;
    case NL_AST_ON_SQLEXCEPTION: return NL_STR("SQLEXCEPTION");
    case NL_AST_ON_NOT_FOUND: return NL_STR("NOT FOUND");
    case NL_AST_ON_CONDITION:
    default: return shown_condition(p, &value->condition);
    }
}

static bool is_same_value(nl_parser *p, const nl_ast_condition_value *a, const nl_ast_condition_value *b)
{
    return a->kind == b->kind && nl_str_equal(shown_value(p, a), shown_value(p, b));
}

static nl_status check_twice(nl_parser *p, const nl_ast_declare_handler *handler, uint32_t i)
{
    const nl_ast_condition_value *value = &handler->conditions[i];
    for (uint32_t j = 0; j < i; j++) {
        if (!is_same_value(p, value, &handler->conditions[j])) continue;
        const nl_str shown = shown_value(p, value);
        if (value->kind == NL_AST_ON_SQLSTATE)
            return NL_REFUSE(p, NL_NO_PLACE, INVALID_HANDLER_DECLARATION__DUPLICATE_SQLSTATE_IN_HANDLER_DECLARATION, NL_P_STR("sqlState", shown));
        return NL_REFUSE(p, NL_NO_PLACE, INVALID_HANDLER_DECLARATION__DUPLICATE_CONDITION_IN_HANDLER_DECLARATION, NL_P_STR("condition", shown));
    }
    return NULL;
}

/* SQLEXCEPTION and NOT FOUND go together, and with nothing else; conditions are declared around the handler, or Spark's. */
static nl_status check_conditions(nl_parser *p, const nl_ast_declare_handler *handler)
{
    uint32_t general_count = 0;
    for (uint32_t i = 0; i < handler->condition_count; i++) {
        NL_TRY(check_twice(p, handler, i));
        general_count += handler->conditions[i].kind == NL_AST_ON_SQLEXCEPTION || handler->conditions[i].kind == NL_AST_ON_NOT_FOUND;
    }
    if (general_count > 0 && general_count < handler->condition_count)
        return NL_REFUSE(p, NL_NO_PLACE, INVALID_HANDLER_DECLARATION__INVALID_CONDITION_COMBINATION);
    if (handler->is_continue) return NL_REFUSE(p, NL_NO_PLACE, UNSUPPORTED_FEATURE__CONTINUE_EXCEPTION_HANDLER);
    for (uint32_t i = 0; i < handler->condition_count; i++) {
        if (handler->conditions[i].kind != NL_AST_ON_CONDITION) continue;
        const nl_str name = shown_value(p, &handler->conditions[i]);
        if (!is_declared(p->labels, name) && !nl_sql_is_spark_condition(name))
            return NL_REFUSE(p, NL_NO_PLACE, INVALID_HANDLER_DECLARATION__CONDITION_NOT_FOUND, NL_P_STR("condition", name));
    }
    return NULL;
}

/* One condition has one handler in a block. */
static nl_status check_handlers(nl_parser *p, const nl_ast_statements *body)
{
    nl_list seen = {0};
    for (uint32_t i = 0; i < body->count; i++) {
        if (body->items[i]->kind != NL_AST_STATEMENT_DECLARE_HANDLER) continue;
        const nl_ast_declare_handler *handler = body->items[i]->declare_handler;
        for (uint32_t j = 0; j < handler->condition_count; j++) {
            const nl_ast_condition_value *value = &handler->conditions[j];
            for (uint32_t k = 0; k < seen.count; k++) {
                if (!is_same_value(p, value, seen.items[k])) continue;
                if (value->kind == NL_AST_ON_SQLSTATE) return NL_REFUSE(p, NL_NO_PLACE, DUPLICATE_EXCEPTION_HANDLER__SQLSTATE, NL_P_STR("sqlState", value->sqlstate));
                return NL_REFUSE(p, NL_NO_PLACE, DUPLICATE_EXCEPTION_HANDLER__CONDITION, NL_P_STR("condition", shown_value(p, value)));
            }
            nl_list_add(p->arena, &seen, NL_UNCONST(value));
        }
    }
    return NULL;
}

/* SET a = 1 | SET (a, b) = (query), which inside a script changes variables. */
static nl_status parse_script_set(nl_parser *p, nl_ast_statement **statement)
{
    p->at++;
    NL_TRY(nl_parse_set_variable(p, statement));
    (*statement)->is_in_script = true;
    return NULL;
}

static bool starts_set_catalog(const nl_parser *p)
{
    nl_token_kind after = nl_parser_ahead(p, 2);
    return nl_parser_are(p, NL_T_SET, NL_T_CATALOG) && after != NL_T_EQ && after != NL_T_DOT;
}

/* DECLARE {EXIT | CONTINUE} HANDLER FOR conditions {block | statement} */
static nl_status parse_declare_handler(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_declare_handler *handler = NL_NEW(p->arena, nl_ast_declare_handler);
    handler->is_continue = nl_parser_ahead(p, 1) == NL_T_CONTINUE;
    p->at += 3;
    NL_TRY(nl_parser_expect(p, NL_T_FOR));
    nl_list list = {0};
    do {
        nl_ast_condition_value *value = NL_NEW(p->arena, nl_ast_condition_value);
        NL_TRY(parse_condition_value(p, value));
        nl_list_add(p->arena, &list, value);
    } while (nl_parser_take(p, NL_T_COMMA));
    handler->conditions = NL_FLATTEN(p, &list, nl_ast_condition_value);
    handler->condition_count = list.count;
    NL_TRY(check_conditions(p, handler));
    NL_TRY(nl_parser_enter(p));
    if (nl_parser_is(p, NL_T_BEGIN))
        NL_TRY(parse_block(p, (nl_ast_ident){0}, true, &handler->body));
    else if (nl_parser_is(p, NL_T_SET) && !starts_set_catalog(p))
        NL_TRY(parse_script_set(p, &handler->body));
    else
        NL_TRY(nl_parse_statement(p, &handler->body));
    nl_parser_leave(p);
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_DECLARE_HANDLER);
    (*statement)->declare_handler = handler;
    return refuse_declaration(p, handler->body);
}

/* ---- one statement of a script ---------------------------------------------------------------------------------------------------------------- */

static nl_status parse_labelled(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_ident label = {0};
    if (starts_label(p)) NL_TRY(parse_label(p, &label));
    switch ((int)nl_parser_kind(p)) {
    case NL_T_BEGIN: return parse_block(p, label, true, statement);
    case NL_T_WHILE:
    case NL_T_REPEAT:
    case NL_T_LOOP:
    case NL_T_FOR: return parse_loop(p, label, statement);
    default: return nl_parser_syntax_error(p);
    }
}

/* DECLARE name CONDITION; the name may have dots, which is refused later. */
static bool starts_declare_condition(const nl_parser *p)
{
    uint32_t at = p->at + 2;
    while (nl_parser_kind_at(p, at) == NL_T_DOT && nl_parser_is_identifier_at(p, at + 1)) at += 2;
    return nl_parser_kind_at(p, at) == NL_T_CONDITION;
}

static nl_status parse_script_statement(nl_parser *p, nl_ast_statement **statement)
{
    nl_token_kind next = nl_parser_ahead(p, 1);
    switch ((int)nl_parser_kind(p)) {
    case NL_T_BEGIN:
    case NL_T_WHILE:
    case NL_T_REPEAT:
    case NL_T_LOOP:
    case NL_T_FOR: return parse_labelled(p, statement);
    case NL_T_IF: return parse_if(p, statement);
    case NL_T_CASE: return parse_case(p, statement);
    case NL_T_LEAVE:
    case NL_T_ITERATE: return parse_jump(p, statement);
    case NL_T_SET: return starts_set_catalog(p) ? nl_parse_statement(p, statement) : parse_script_set(p, statement);
    case NL_T_DECLARE:
        if ((next == NL_T_EXIT || next == NL_T_CONTINUE) && nl_parser_ahead(p, 2) == NL_T_HANDLER)
            return parse_declare_handler(p, statement);
        if (starts_declare_condition(p)) return parse_declare_condition(p, statement);
        return nl_parse_statement(p, statement);
    case NL_T_RESET: /* takes the rest of the text elsewhere; no statement of scripts */
        p->at++;
        return nl_parser_syntax_error(p);
    default: return nl_parse_statement(p, statement);
    }
}

static nl_status parse_compound_statement(nl_parser *p, nl_ast_statement **statement)
{
    uint32_t first = p->at;
    NL_TRY(nl_parser_enter(p));
    if (starts_label(p))
        NL_TRY(parse_labelled(p, statement));
    else
        NL_TRY(parse_script_statement(p, statement));
    nl_parser_leave(p);
    (*statement)->range = nl_parser_range(p, first);
    return nl_arena_check(p->arena);
}

nl_status nl_parse_script(nl_parser *p, nl_ast_statement **statement)
{
    uint32_t first = p->at;
    NL_TRY(parse_block(p, (nl_ast_ident){0}, false, statement));
    (*statement)->range = nl_parser_range(p, first);
    if (p->options.is_scripting) return NULL;
    nl_error_free(p->refusal);
    p->refusal = NULL;
    return NL_REFUSE(p, NL_NO_PLACE, UNSUPPORTED_FEATURE__SQL_SCRIPTING,
                     NL_P("sqlScriptingEnabled", "\"spark.sql.scripting.enabled\""));
}

/* sql/parse_session.c - USE, SET in all its forms, RESET, EXECUTE IMMEDIATE. */
#include "sql/parse.h"

nl_status nl_parse_use(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_use *use = NL_NEW(p->arena, nl_ast_use);
    p->at++;
    use->is_namespace = nl_parser_is_namespace_word(nl_parser_kind(p)) && nl_parser_is_identifier_at(p, p->at + 1);
    if (use->is_namespace) p->at++;
    NL_TRY(nl_parse_name_reference(p, &use->name));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_USE);
    (*statement)->use = use;
    return NULL;
}

/* ---- SET CATALOG, TIME ZONE, VARIABLE ----------------------------------------------------------------------------------------- */

static bool is_end_at(const nl_parser *p, uint32_t at)
{
    nl_token_kind kind = nl_parser_kind_at(p, at);
    return kind == NL_T_EOF || kind == NL_T_SEMICOLON;
}

static void skip_statement(nl_parser *p)
{
    while (!is_end_at(p, p->at)) p->at++;
}

/* SET CATALOG {name | 'name' | IDENTIFIER(e)}; other words behind CATALOG make it a configuration key. */
static bool starts_set_catalog(const nl_parser *p)
{
    if (!nl_parser_is(p, NL_T_CATALOG)) return false;
    if (nl_parser_ahead(p, 1) == NL_T_IDENTIFIER && nl_parser_ahead(p, 2) == NL_T_LEFT_PAREN) {
        uint32_t end = nl_parser_skip_parentheses(p, p->at + 2);
        return end > 0 && is_end_at(p, end);
    }
    bool is_one = nl_parser_is_identifier_at(p, p->at + 1) || nl_parser_is_string_at(p, p->at + 1);
    return is_one && (is_end_at(p, p->at + 2) || nl_parser_ahead(p, 2) == NL_T_MINUS_SIGN);
}

static nl_status parse_set_catalog(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_set_catalog *node = NL_NEW(p->arena, nl_ast_set_catalog);
    p->at++;
    node->is_string = nl_parser_is_string_at(p, p->at);
    if (node->is_string) {
        nl_ast_ident *part = NL_NEW(p->arena, nl_ast_ident);
        NL_TRY(nl_parse_string(p, &part->text));
        part->is_quoted = true;
        part->range = nl_parser_range(p, p->at - 1);
        node->name = (nl_ast_name){.parts = part, .count = 1, .range = part->range};
    } else {
        NL_TRY(nl_parse_name_reference(p, &node->name));
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_SET_CATALOG);
    (*statement)->set_catalog = node;
    return NULL;
}

/* SET TIME ZONE {LOCAL | 'zone' | INTERVAL …} */
static nl_status parse_set_time_zone(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_set_time_zone *node = NL_NEW(p->arena, nl_ast_set_time_zone);
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_SET_TIME_ZONE);
    (*statement)->set_time_zone = node;
    p->at += 2;
    bool is_one_word = is_end_at(p, p->at + 1);
    if (nl_parser_is(p, NL_T_LOCAL) && is_one_word) {
        node->is_local = true;
        p->at++;
        return NULL;
    }
    if (nl_parser_is_string_at(p, p->at) && is_one_word) return nl_parse_string(p, &node->zone);
    if (nl_parser_starts_interval(p)) NL_TRY(nl_parse_interval(p, &node->interval));
    if (node->interval && is_end_at(p, p->at)) return NULL;
    skip_statement(p);
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0045);
}

/* a = 1, b = 2 | (a, b) = (query) */
nl_status nl_parse_set_variable(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_set_variable *node = NL_NEW(p->arena, nl_ast_set_variable);
    if (nl_parser_take(p, NL_T_LEFT_PAREN)) {
        NL_TRY(nl_parse_names(p, &node->targets));
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
        NL_TRY(nl_parser_expect(p, NL_T_EQ));
        NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
        NL_TRY(nl_parse_query(p, &node->query));
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    } else {
        NL_TRY(nl_parse_assignments(p, &node->assignments));
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_SET_VARIABLE);
    (*statement)->set_variable = node;
    return NULL;
}

/* VAR or VARIABLE before a name and =, or before (. */
static bool starts_set_variable(const nl_parser *p)
{
    if (!nl_parser_is(p, NL_T_VAR) && !nl_parser_is(p, NL_T_VARIABLE)) return false;
    uint32_t at = p->at + 1;
    if (nl_parser_kind_at(p, at) == NL_T_LEFT_PAREN) return true;
    if (!nl_parser_is_identifier_at(p, at)) return false;
    at++;
    while (nl_parser_kind_at(p, at) == NL_T_DOT && nl_parser_is_identifier_at(p, at + 1)) at += 2;
    return nl_parser_kind_at(p, at) == NL_T_EQ;
}

/* ---- SET key = value ------------------------------------------------------------------------------------------------------------ */

/* Everything from behind a token to the end of the text, semicolons included, trimmed. */
static nl_str remainder_after(const nl_parser *p, uint32_t token)
{
    return nl_str_trim(nl_str_slice(p->text, p->tokens[token].stop, p->text.length));
}

static bool is_key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '\\' || c == ':';
}

static size_t key_length(nl_str text)
{
    size_t length = 0;
    while (length < text.length && is_key_byte(text.data[length])) length++;
    return length;
}

/* Values end at `;`, and nothing may follow it but more of them. */
static bool cut_semicolons(nl_str text, nl_str *value)
{
    size_t end = nl_str_find_char(text, ';', 0);
    if (end == NL_NOT_FOUND) end = text.length;
    for (size_t i = end; i < text.length; i++)
        if (text.data[i] != ';') return false;
    *value = nl_str_slice(text, 0, end);
    return true;
}

static nl_status refuse_set(nl_parser *p)
{
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SET_SYNTAX);
}

/* key = value, key, -v or nothing, in unquoted text. */
static nl_status parse_plain_conf(nl_parser *p, nl_str text, nl_ast_set_conf *conf)
{
    size_t length = key_length(text);
    size_t i = length;
    while (i < text.length && strchr(" \t\n\r\f\v", text.data[i])) i++;
    if (length > 0 && i < text.length && text.data[i] == '=') {
        conf->key = nl_str_slice(text, 0, length);
        if (!cut_semicolons(nl_str_slice(text, i + 1, text.length), &conf->value)) return refuse_set(p);
        conf->value = nl_str_trim(conf->value);
        if (!conf->value.data || conf->value.length == 0) conf->value = NL_STR("");
        return NULL;
    }
    nl_str whole;
    if (!cut_semicolons(text, &whole)) return refuse_set(p);
    if (whole.length == 0) return NULL;
    conf->is_verbose = nl_str_is(whole, "-v");
    if (conf->is_verbose) return NULL;
    if (key_length(whole) != whole.length) return refuse_set(p);
    conf->key = whole;
    return NULL;
}

/* SET `key`, SET `key`=`value`, SET `key`=value; at the quoted key. */
static nl_status parse_quoted_key(nl_parser *p, nl_ast_set_conf *conf)
{
    nl_ast_ident key;
    NL_TRY(nl_parse_identifier(p, &key));
    conf->key = key.text;
    if (!nl_parser_is(p, NL_T_EQ)) return NULL;
    nl_str text = remainder_after(p, p->at);
    bool is_quoted = nl_parser_ahead(p, 1) == NL_T_BACKQUOTED && is_end_at(p, p->at + 2);
    p->at++;
    if (is_quoted) {
        nl_ast_ident value;
        NL_TRY(nl_parse_identifier(p, &value));
        conf->value = value.text;
        return NULL;
    }
    skip_statement(p);
    if (cut_semicolons(text, &conf->value)) {
        if (conf->value.length == 0) conf->value = NL_STR("");
        return NULL;
    }
    p->at = p->count - 1;
    nl_str shown_key = nl_arena_f(p->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(conf->key));
    nl_str shown_value = nl_arena_f(p->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(text));
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_PROPERTY_VALUE, NL_P_STR("key", shown_key),
                     NL_P_STR("value", shown_value));
}

/* The `=` before a last back-quoted word, or 0: SET key=`value`. */
static uint32_t find_quoted_value(const nl_parser *p)
{
    uint32_t end = p->at;
    while (!is_end_at(p, end)) end++;
    bool is_there = end >= p->at + 2 && nl_parser_kind_at(p, end - 1) == NL_T_BACKQUOTED &&
                    nl_parser_kind_at(p, end - 2) == NL_T_EQ;
    return is_there ? end - 2 : 0;
}

static nl_status parse_quoted_value(nl_parser *p, uint32_t set, uint32_t eq, nl_ast_set_conf *conf)
{
    conf->key = nl_str_trim(nl_str_slice(p->text, p->tokens[set].stop, p->tokens[eq].start));
    nl_ast_ident value;
    p->at = eq + 1;
    NL_TRY(nl_parse_identifier(p, &value));
    conf->value = value.text;
    if (conf->key.length > 0 && key_length(conf->key) == conf->key.length) return NULL;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_PROPERTY_KEY,
                     NL_P_STR("key", nl_arena_f(p->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(conf->key))),
                     NL_P_STR("value", nl_arena_f(p->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(conf->value))));
}

static nl_status parse_set_conf(nl_parser *p, nl_ast_statement **statement)
{
    uint32_t set = p->at - 1;
    nl_ast_set_conf *conf = NL_NEW(p->arena, nl_ast_set_conf);
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_SET_CONF);
    (*statement)->set_conf = conf;
    bool has_quoted_key = nl_parser_is(p, NL_T_BACKQUOTED) && (nl_parser_ahead(p, 1) == NL_T_EQ || is_end_at(p, p->at + 1));
    if (has_quoted_key) return parse_quoted_key(p, conf);
    uint32_t eq = find_quoted_value(p);
    if (eq > 0) return parse_quoted_value(p, set, eq, conf);
    nl_str text = remainder_after(p, set);
    /* All of the rest is taken, even behind a semicolon: what does not fit is refused with it. */
    nl_str ignored;
    bool is_one = cut_semicolons(text, &ignored);
    if (is_one)
        skip_statement(p);
    else
        p->at = p->count - 1;
    return parse_plain_conf(p, text, conf);
}

nl_status nl_parse_set(nl_parser *p, nl_ast_statement **statement)
{
    p->at++;
    if (starts_set_catalog(p)) return parse_set_catalog(p, statement);
    if (nl_parser_is(p, NL_T_ROLE)) {
        skip_statement(p);
        *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CLEAR_CACHE);
        return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "SET ROLE");
    }
    if (nl_parser_are(p, NL_T_TIME, NL_T_ZONE)) return parse_set_time_zone(p, statement);
    uint32_t word = p->at;
    if (starts_set_variable(p)) {
        p->at++;
        nl_status status = nl_parse_set_variable(p, statement);
        bool is_broken = status ? nl_parser_is_syntax_error(status) : !is_end_at(p, p->at);
        if (!is_broken) return status;
        nl_error_free(status);
        p->at = word;
    }
    return parse_set_conf(p, statement);
}

/* RESET, RESET key, RESET `key` */
nl_status nl_parse_reset(nl_parser *p, nl_ast_statement **statement)
{
    uint32_t word = p->at++;
    nl_ast_reset *reset = NL_NEW(p->arena, nl_ast_reset);
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_RESET);
    (*statement)->reset = reset;
    if (nl_parser_is(p, NL_T_BACKQUOTED) && is_end_at(p, p->at + 1)) {
        nl_ast_ident key;
        NL_TRY(nl_parse_identifier(p, &key));
        reset->key = key.text;
        return NULL;
    }
    nl_str text = remainder_after(p, word);
    skip_statement(p);
    nl_str key;
    if (!cut_semicolons(text, &key)) p->at = p->count - 1;
    key = nl_str_trim(key);
    if (key.length == 0) return NULL;
    if (key_length(key) != key.length) return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_RESET_COMMAND_FORMAT);
    reset->key = key;
    return NULL;
}

/* ---- EXECUTE IMMEDIATE ------------------------------------------------------------------------------------------------------------ */

static nl_status check_argument_names(nl_parser *p, uint32_t first, const nl_ast_exprs *arguments)
{
    if (arguments->count > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    for (uint32_t i = 0; i < arguments->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const nl_ast_expr *a = arguments->items[i];
            const nl_ast_expr *b = arguments->items[j];
            bool are_named = a->kind == NL_AST_EXPR_ALIAS && b->kind == NL_AST_EXPR_ALIAS;
            if (!are_named || !nl_str_equal_nocase(a->alias.names.items[0].text, b->alias.names.items[0].text)) continue;
            nl_str name = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(a->alias.names.items[0].text));
            return NL_REFUSE(p, nl_parser_range(p, first), EXEC_IMMEDIATE_DUPLICATE_ARGUMENT_ALIASES,
                             NL_P_STR("aliases", name));
        }
    }
    return NULL;
}

/* USING a, b AS c | USING (a, b AS c); at USING. */
static nl_status parse_using(nl_parser *p, nl_ast_execute_immediate *node)
{
    uint32_t first = p->at++;
    node->has_using = true;
    uint32_t end = nl_parser_is(p, NL_T_LEFT_PAREN) ? nl_parser_skip_parentheses(p, p->at) : 0;
    bool has_parentheses = end > 0 && is_end_at(p, end);
    if (has_parentheses) p->at++;
    NL_TRY(nl_parse_named_expressions(p, &node->arguments));
    if (has_parentheses) NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    return check_argument_names(p, first, &node->arguments);
}

nl_status nl_parse_execute(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_execute_immediate *node = NL_NEW(p->arena, nl_ast_execute_immediate);
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_IMMEDIATE));
    node->is_string = nl_parser_is_string_at(p, p->at);
    if (node->is_string)
        NL_TRY(nl_parse_string(p, &node->text));
    else
        NL_TRY(nl_parse_name(p, &node->variable));
    if (nl_parser_take(p, NL_T_INTO)) NL_TRY(nl_parse_names(p, &node->into));
    if (nl_parser_is(p, NL_T_USING)) NL_TRY(parse_using(p, node));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_EXECUTE_IMMEDIATE);
    (*statement)->execute_immediate = node;
    return NULL;
}

/* sql/parse_statement.c - one statement by its first word; EXPLAIN; the entry points. */
#include "sql/parse.h"

nl_ast_statement *nl_parser_new_statement(nl_parser *p, nl_ast_statement_kind kind)
{
    nl_ast_statement *statement = NL_NEW(p->arena, nl_ast_statement);
    statement->kind = kind;
    statement->text = p->text;
    return statement;
}

bool nl_parser_is_namespace_word(nl_token_kind kind)
{
    return kind == NL_T_DATABASE || kind == NL_T_SCHEMA || kind == NL_T_NAMESPACE;
}

nl_status nl_parse_if_not_exists(nl_parser *p, bool *is_there)
{
    nl_token_kind next = nl_parser_ahead(p, 1);
    *is_there = nl_parser_is(p, NL_T_IF) && (next == NL_T_NOT || next == NL_T_BANG);
    if (!*is_there) return NULL;
    p->at++;
    NL_TRY(nl_parse_not(p));
    return nl_parser_need(p, NL_T_EXISTS);
}

nl_status nl_parse_if_exists(nl_parser *p, bool *is_there)
{
    *is_there = nl_parser_take_both(p, NL_T_IF, NL_T_EXISTS);
    return NULL;
}

/* ---- statements Spark knows by name and refuses ------------------------------------------------------------------------ */

static const uint16_t refused_statements[][3] = {
    {NL_T_CREATE, NL_T_ROLE},          {NL_T_DROP, NL_T_ROLE},
    {NL_T_GRANT, NL_T_ROLE},           {NL_T_GRANT},
    {NL_T_REVOKE, NL_T_ROLE},          {NL_T_REVOKE},
    {NL_T_SHOW, NL_T_GRANT},           {NL_T_SHOW, NL_T_ROLE, NL_T_GRANT},
    {NL_T_SHOW, NL_T_ROLE},            {NL_T_SHOW, NL_T_PRINCIPALS},
    {NL_T_SHOW, NL_T_ROLES},           {NL_T_SHOW, NL_T_CURRENT, NL_T_ROLES},
    {NL_T_EXPORT, NL_T_TABLE},         {NL_T_IMPORT, NL_T_TABLE},
    {NL_T_SHOW, NL_T_COMPACTIONS},     {NL_T_SHOW, NL_T_TRANSACTIONS},
    {NL_T_SHOW, NL_T_INDEXES},         {NL_T_SHOW, NL_T_LOCKS},
    {NL_T_ALTER, NL_T_INDEX},          {NL_T_LOCK, NL_T_TABLE},
    {NL_T_LOCK, NL_T_DATABASE},        {NL_T_UNLOCK, NL_T_TABLE},
    {NL_T_UNLOCK, NL_T_DATABASE},      {NL_T_CREATE, NL_T_TEMPORARY, NL_T_MACRO},
    {NL_T_DROP, NL_T_TEMPORARY, NL_T_MACRO}, {NL_T_START, NL_T_TRANSACTION},
    {NL_T_COMMIT},                     {NL_T_ROLLBACK},
    {NL_T_DFS},
};

static uint32_t matched_words(const nl_parser *p, const uint16_t words[3])
{
    uint32_t count = 0;
    while (count < 3 && words[count] != NL_T_EOF) {
        if (nl_parser_ahead(p, count) != (nl_token_kind)words[count]) return 0;
        count++;
    }
    return count;
}

/* Everything behind the words is taken; the words are named in the error. */
static nl_status parse_refused(nl_parser *p, uint32_t word_count, nl_ast_statement **statement)
{
    nl_builder operation;
    nl_builder_init(&operation, 256);
    for (uint32_t i = 0; i < word_count; i++)
        nl_append_f(&operation, "%s%s", i ? " " : "", nl_token_text(nl_parser_ahead(p, i)));
    while (!nl_parser_is(p, NL_T_EOF) && !nl_parser_is(p, NL_T_SEMICOLON)) p->at++;
    nl_status status = nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, nl_builder_c(&operation));
    nl_builder_fini(&operation);
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CLEAR_CACHE);
    return status;
}

static uint32_t find_refused(const nl_parser *p)
{
    for (size_t i = 0; i < NL_COUNT(refused_statements); i++) {
        uint32_t count = matched_words(p, refused_statements[i]);
        if (count > 0) return count;
    }
    return 0;
}

/* ---- dispatch ------------------------------------------------------------------------------------------------------------ */

static nl_status parse_query_statement(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_query *query = NULL;
    NL_TRY(nl_parse_query(p, &query));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_QUERY);
    (*statement)->query = query;
    return NULL;
}

static const struct {
    uint16_t token;
    nl_statement_rule *rule;
} statement_rules[] = {
    {NL_T_SELECT, parse_query_statement},   {NL_T_LEFT_PAREN, parse_query_statement},
    {NL_T_VALUES, parse_query_statement},   {NL_T_TABLE, parse_query_statement},
    {NL_T_MAP, parse_query_statement},      {NL_T_REDUCE, parse_query_statement},
    {NL_T_WITH, nl_parse_with_statement},   {NL_T_FROM, nl_parse_from_statement},
    {NL_T_INSERT, nl_parse_insert},         {NL_T_DELETE, nl_parse_delete},
    {NL_T_UPDATE, nl_parse_update},         {NL_T_MERGE, nl_parse_merge},
    {NL_T_CREATE, nl_parse_create},         {NL_T_REPLACE, nl_parse_replace},
    {NL_T_ALTER, nl_parse_alter},           {NL_T_DROP, nl_parse_drop},
    {NL_T_TRUNCATE, nl_parse_truncate},     {NL_T_SHOW, nl_parse_show},
    {NL_T_DESCRIBE, nl_parse_describe},     {NL_T_DESC, nl_parse_describe},
    {NL_T_EXPLAIN, nl_parse_explain},       {NL_T_COMMENT, nl_parse_comment},
    {NL_T_REFRESH, nl_parse_refresh},       {NL_T_CACHE, nl_parse_cache},
    {NL_T_UNCACHE, nl_parse_uncache},       {NL_T_CLEAR, nl_parse_clear},
    {NL_T_ANALYZE, nl_parse_analyze},       {NL_T_LOAD, nl_parse_load},
    {NL_T_MSCK, nl_parse_repair},           {NL_T_REPAIR, nl_parse_repair},
    {NL_T_ADD, nl_parse_resource},          {NL_T_LIST, nl_parse_resource},
    {NL_T_CALL, nl_parse_call_procedure},   {NL_T_USE, nl_parse_use},
    {NL_T_SET, nl_parse_set},               {NL_T_RESET, nl_parse_reset},
    {NL_T_EXECUTE, nl_parse_execute},       {NL_T_DECLARE, nl_parse_declare},
};

static nl_status parse_by_first_word(nl_parser *p, nl_ast_statement **statement)
{
    uint32_t refused = find_refused(p);
    if (refused > 0) return parse_refused(p, refused, statement);
    nl_token_kind kind = nl_parser_kind(p);
    for (size_t i = 0; i < NL_COUNT(statement_rules); i++)
        if (statement_rules[i].token == kind) return statement_rules[i].rule(p, statement);
    return nl_parser_syntax_error(p);
}

/* Statements whose first words Spark knows from Hive: one that does not parse is refused by these words. */
static const char *refused_when_broken(const nl_parser *p, uint32_t first)
{
    nl_token_kind words[3];
    for (uint32_t i = 0; i < 3; i++) words[i] = nl_parser_kind_at(p, first + i);
    if (words[0] == NL_T_CREATE && words[1] == NL_T_INDEX) return "CREATE INDEX";
    if (words[0] == NL_T_DROP && words[1] == NL_T_INDEX) return "DROP INDEX";
    if (words[0] == NL_T_SHOW && words[1] == NL_T_CREATE && words[2] == NL_T_TABLE) return "SHOW CREATE TABLE";
    if (words[0] != NL_T_ALTER || words[1] != NL_T_TABLE) return NULL;
    uint32_t at = first + 3;
    if (nl_parser_kind_at(p, at) == NL_T_DOT) at += 2;
    bool is_replace = nl_parser_kind_at(p, at) == NL_T_REPLACE && nl_parser_kind_at(p, at + 1) == NL_T_COLUMNS;
    return is_replace ? "ALTER TABLE REPLACE COLUMNS" : NULL;
}

/* Takes the place of a syntax error; other failures and statements that ended well pass. */
static nl_status refuse_broken(nl_parser *p, nl_status status, nl_ast_statement **statement)
{
    bool is_end = nl_parser_is(p, NL_T_EOF) || nl_parser_is(p, NL_T_SEMICOLON) || p->labels;
    bool is_broken = status ? nl_parser_is_syntax_error(status) : !is_end;
    const char *operation = is_broken ? refused_when_broken(p, p->statement_first) : NULL;
    if (!operation) return status;
    nl_error_free(status);
    nl_error_free(p->refusal);
    p->refusal = NULL;
    p->at = p->statement_first;
    while (!nl_parser_is(p, NL_T_EOF) && !nl_parser_is(p, NL_T_SEMICOLON)) p->at++;
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CLEAR_CACHE);
    return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, operation);
}

nl_status nl_parse_statement(nl_parser *p, nl_ast_statement **statement)
{
    uint32_t outer = p->statement_first;
    p->statement_first = p->at;
    NL_TRY(nl_parser_enter(p));
    NL_TRY(refuse_broken(p, parse_by_first_word(p, statement), statement));
    nl_parser_leave(p);
    (*statement)->range = nl_parser_range(p, p->statement_first);
    if (p->refusal && p->refusal_range.stop == UINT32_MAX) p->refusal_range = (*statement)->range;
    p->statement_first = outer;
    return nl_arena_check(p->arena);
}

/* EXPLAIN [mode] statement. ANALYZE is a mode of nilas's own, unless TABLE or TABLES makes it the statement. */
nl_status nl_parse_explain(nl_parser *p, nl_ast_statement **statement)
{
    p->at++;
    nl_ast_explain *explain = NL_NEW(p->arena, nl_ast_explain);
    switch ((int)nl_parser_kind(p)) {
    case NL_T_EXTENDED: explain->mode = NL_AST_EXPLAIN_EXTENDED; break;
    case NL_T_FORMATTED: explain->mode = NL_AST_EXPLAIN_FORMATTED; break;
    case NL_T_CODEGEN: explain->mode = NL_AST_EXPLAIN_CODEGEN; break;
    case NL_T_COST: explain->mode = NL_AST_EXPLAIN_COST; break;
    case NL_T_LOGICAL: explain->mode = NL_AST_EXPLAIN_LOGICAL; break;
    case NL_T_ANALYZE: {
        nl_token_kind next = nl_parser_ahead(p, 1);
        if (next != NL_T_TABLE && next != NL_T_TABLES) explain->mode = NL_AST_EXPLAIN_ANALYZE;
        break;
    }
    default: break;
    }
    if (explain->mode != NL_AST_EXPLAIN_SIMPLE) p->at++;
    if (explain->mode == NL_AST_EXPLAIN_LOGICAL) NL_TRY(nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "EXPLAIN LOGICAL"));
    /* The inner statement must not take over a refusal of this one. */
    nl_ast_range held = p->refusal_range;
    bool is_held = p->refusal != NULL && held.stop == UINT32_MAX;
    if (is_held) p->refusal_range = NL_NO_PLACE;
    NL_TRY(nl_parse_statement(p, &explain->statement));
    if (is_held) p->refusal_range = held;
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_EXPLAIN);
    (*statement)->explain = explain;
    return NULL;
}

/* ---- entry points -------------------------------------------------------------------------------------------------------- */

typedef nl_status entry_rule(nl_parser *p, void *out);

static nl_status expect_end(nl_parser *p)
{
    if (nl_parser_is(p, NL_T_EOF)) return NULL;
    return p->has_semicolon ? nl_parser_extra_input(p) : nl_parser_expect(p, NL_T_EOF);
}

static nl_status parse_empty(const nl_parser *p)
{
    nl_ast_range range = {.line = 1};
    return nl_sql_at(NL_RAISE(PARSE_EMPTY_STATEMENT), p->text, range, true);
}

/* The refusal, unless a syntax error came first. */
static nl_status finish(nl_parser *p, nl_status status)
{
    nl_status refusal = p->refusal;
    p->refusal = NULL;
    if (status) {
        nl_error_free(refusal);
        return status;
    }
    nl_ast_range range = p->refusal_range;
    if (refusal && range.stop == UINT32_MAX - 1) return nl_sql_at(refusal, p->text, NL_NO_PLACE, true);
    bool has_place = range.stop > 0 && range.stop != UINT32_MAX;
    const nl_query_context context = {.text = p->text,
                                      .start = range.start,
                                      .stop = range.stop,
                                      .line = range.line,
                                      .position = range.position,
                                      .is_parse_error = p->is_fragment_hidden};
    if (refusal && has_place) nl_error_set_context(refusal, &context);
    return refusal;
}

static nl_status run_entry(nl_parser *p, const nl_tokens *tokens, entry_rule *rule, void *out)
{
    if (tokens->has_unclosed_comment) {
        return nl_sql_at(NL_RAISE(UNCLOSED_BRACKETED_COMMENT), p->text, NL_NO_PLACE, true);
    }
    if (nl_parser_is(p, NL_T_EOF)) return parse_empty(p);
    nl_status status = rule(p, out);
    if (!status) status = expect_end(p);
    return finish(p, status);
}

static nl_status parse_with(nl_arena *arena, nl_str text, const nl_sql_options *options, bool is_fragment_hidden,
                            entry_rule *rule, void *out)
{
    if (text.length > NL_SQL_TEXT_BYTES_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    nl_parser p = {.arena = arena, .text = nl_arena_str(arena, text), .is_fragment_hidden = is_fragment_hidden};
    if (options) p.options = *options;
    NL_TRY(nl_arena_check(arena));
    nl_tokens tokens;
    NL_TRY(nl_lex(p.text, &tokens));
    p.tokens = tokens.items;
    p.count = tokens.count;
    nl_status status = run_entry(&p, &tokens, rule, out);
    nl_tokens_free(&tokens);
    return status;
}

static nl_status enter_statement(nl_parser *p, void *out)
{
    nl_ast_statement **statement = out;
    bool is_script = nl_parser_starts_script(p);
    NL_TRY(is_script ? nl_parse_script(p, statement) : nl_parse_statement(p, statement));
    p->has_semicolon = nl_parser_is(p, NL_T_SEMICOLON) && !is_script;
    while (nl_parser_take(p, NL_T_SEMICOLON) && !is_script) {
    }
    (*statement)->parameter_count = p->parameter_count;
    return NULL;
}

nl_status nl_sql_parse(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_statement **statement)
{
    nl_ast_statement *parsed = NULL;
    NL_TRY(parse_with(arena, text, options, false, enter_statement, &parsed));
    *statement = parsed;
    return NULL;
}

static nl_status enter_expression(nl_parser *p, void *out)
{
    return nl_parse_named_expression(p, out);
}

nl_status nl_sql_parse_expression(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_expr **expr)
{
    nl_ast_expr *parsed = NULL;
    NL_TRY(parse_with(arena, text, options, true, enter_expression, &parsed));
    *expr = parsed;
    return NULL;
}

static nl_status enter_type(nl_parser *p, void *out)
{
    return nl_parse_type(p, out);
}

nl_status nl_sql_parse_type(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_type **type)
{
    nl_ast_type *parsed = NULL;
    NL_TRY(parse_with(arena, text, options, true, enter_type, &parsed));
    *type = parsed;
    return NULL;
}

static nl_status enter_columns(nl_parser *p, void *out)
{
    return nl_parse_fields(p, out);
}

nl_status nl_sql_parse_columns(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_fields *fields)
{
    nl_ast_fields parsed = {0};
    NL_TRY(parse_with(arena, text, options, true, enter_columns, &parsed));
    *fields = parsed;
    return NULL;
}

static nl_status enter_name(nl_parser *p, void *out)
{
    return nl_parse_name(p, out);
}

nl_status nl_sql_parse_name(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_name *name)
{
    nl_ast_name parsed = {0};
    NL_TRY(parse_with(arena, text, options, true, enter_name, &parsed));
    *name = parsed;
    return NULL;
}

/* Columns first, then a type, as Spark tries them; when both fail, the first error is the one that is told. */
nl_status nl_sql_parse_schema(nl_arena *arena, nl_str text, const nl_type **type)
{
    nl_ast_fields fields;
    nl_status first = nl_sql_parse_columns(arena, text, NULL, &fields);
    if (!first) return nl_ast_fields_to_type(arena, &fields, type);
    nl_ast_type *node;
    nl_status second = nl_sql_parse_type(arena, text, NULL, &node);
    if (second) {
        nl_error_free(second);
        return first;
    }
    nl_error_free(first);
    return nl_ast_type_to_type(arena, node, type);
}

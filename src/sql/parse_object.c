/* sql/parse_object.c - CREATE FUNCTION and INDEX, DECLARE, DROP, TRUNCATE. */
#include "sql/parse.h"

/* ---- functions ---------------------------------------------------------------------------------------------------------------- */

/* AS 'class' [USING JAR 'a', FILE 'b']; at AS. */
static nl_status parse_class_function(nl_parser *p, nl_ast_create_function *function)
{
    p->at++;
    NL_TRY(nl_parse_string(p, &function->class_name));
    if (!nl_parser_take(p, NL_T_USING)) return NULL;
    nl_list list = {0};
    do {
        nl_ast_resource *resource = NL_NEW(p->arena, nl_ast_resource);
        NL_TRY(nl_parse_identifier(p, &resource->kind));
        NL_TRY(nl_parse_string(p, &resource->path));
        nl_list_add(p->arena, &list, resource);
    } while (nl_parser_take(p, NL_T_COMMA));
    function->resources = NL_FLATTEN(p, &list, nl_ast_resource);
    function->resource_count = list.count;
    for (uint32_t i = 0; i < list.count; i++) {
        nl_str kind = function->resources[i].kind.text;
        bool is_known = nl_str_is_nocase(kind, "jar") || nl_str_is_nocase(kind, "file") || nl_str_is_nocase(kind, "archive");
        if (is_known) continue;
        nl_str message = nl_arena_f(p->arena, "CREATE FUNCTION with resource type '" NL_STR_FMT "'",
                                    NL_STR_ARG(nl_parser_lower(p, kind)));
        return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, nl_str_c(p->arena, message));
    }
    return NULL;
}

static nl_status parse_returns(nl_parser *p, nl_ast_create_function *function)
{
    if (!nl_parser_is(p, NL_T_RETURNS) || nl_parser_ahead(p, 1) == NL_T_NULL) return NULL;
    p->at++;
    if (!nl_parser_is(p, NL_T_TABLE)) return nl_parse_type(p, &function->returns);
    p->at++;
    function->is_table = true;
    if (!nl_parser_take(p, NL_T_LEFT_PAREN)) return NULL;
    NL_TRY(nl_parse_fields(p, &function->table_columns));
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

/* Where the characteristics began: errors about them show this piece of the text. */
typedef struct characteristics {
    uint32_t first;
    const char *duplicate;   /* a clause given twice */
    const char *unsupported; /* what Spark has not    */
    uint32_t unsupported_first;
    uint32_t unsupported_end;
} characteristics;

static void note_unsupported(nl_parser *p, characteristics *found, uint32_t first, const char *message)
{
    if (found->unsupported) return;
    found->unsupported = message;
    found->unsupported_first = first;
    found->unsupported_end = p->at;
}

static nl_status parse_data_access(nl_parser *p, nl_ast_create_function *function, characteristics *found)
{
    uint32_t first = p->at;
    if (function->data_access != NL_AST_DATA_UNSAID) found->duplicate = "SQL DATA ACCESS";
    nl_token_kind word = nl_parser_kind(p);
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_SQL));
    if (word == NL_T_READS || word == NL_T_MODIFIES) NL_TRY(nl_parser_expect(p, NL_T_DATA));
    switch ((int)word) {
    case NL_T_NO:
        function->data_access = NL_AST_DATA_NO_SQL;
        note_unsupported(p, found, first, "SQL function with NO SQL is not supported");
        break;
    case NL_T_MODIFIES:
        function->data_access = NL_AST_DATA_MODIFIES_SQL;
        note_unsupported(p, found, first, "SQL function with MODIFIES SQL DATA is not supported");
        break;
    case NL_T_READS: function->data_access = NL_AST_DATA_READS_SQL; break;
    default: function->data_access = NL_AST_DATA_CONTAINS_SQL; break;
    }
    return NULL;
}

/* RETURNS NULL ON NULL INPUT, CALLED ON NULL INPUT */
static nl_status parse_null_call(nl_parser *p, nl_ast_create_function *function, characteristics *found)
{
    uint32_t first = p->at;
    if (function->null_call != NL_AST_NULL_CALL_UNSAID) found->duplicate = "NULL CALL";
    bool is_returns = nl_parser_take(p, NL_T_RETURNS);
    function->null_call = is_returns ? NL_AST_RETURNS_NULL : NL_AST_CALLED_ON_NULL;
    NL_TRY(nl_parser_expect(p, is_returns ? NL_T_NULL : NL_T_CALLED));
    NL_TRY(nl_parser_expect(p, NL_T_ON));
    NL_TRY(nl_parser_expect(p, NL_T_NULL));
    NL_TRY(nl_parser_expect(p, NL_T_INPUT));
    if (is_returns) note_unsupported(p, found, first, "SQL function with RETURNS NULL ON NULL INPUT is not supported");
    return NULL;
}

static nl_status parse_language(nl_parser *p, nl_ast_create_function *function, characteristics *found)
{
    uint32_t first = p->at++;
    if (function->language.data) found->duplicate = "LANGUAGE";
    if (!nl_parser_is(p, NL_T_SQL) && !nl_parser_is(p, NL_T_IDENTIFIER_WORD)) return nl_parser_syntax_error(p);
    function->language = nl_parser_token_text(p, p->at++);
    if (nl_str_is_nocase(function->language, "sql")) return NULL;
    nl_str message = nl_arena_f(p->arena, "Unsupported language for user defined functions: " NL_STR_FMT,
                                NL_STR_ARG(function->language));
    note_unsupported(p, found, first, nl_str_c(p->arena, message));
    return NULL;
}

/* SQL SECURITY {INVOKER | DEFINER} */
static nl_status parse_rights(nl_parser *p, nl_ast_create_function *function, characteristics *found)
{
    if (function->rights != NL_AST_RIGHTS_UNSAID) found->duplicate = "SQL SECURITY RIGHTS";
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_SECURITY));
    function->rights = nl_parser_is(p, NL_T_INVOKER) ? NL_AST_RIGHTS_INVOKER : NL_AST_RIGHTS_DEFINER;
    return nl_parser_take(p, NL_T_INVOKER) ? NULL : nl_parser_expect(p, NL_T_DEFINER);
}

static nl_status parse_deterministic(nl_parser *p, nl_ast_create_function *function, characteristics *found)
{
    if (function->determinism != NL_AST_DETERMINISM_UNSAID) found->duplicate = "DETERMINISTIC";
    function->determinism = nl_parser_is(p, NL_T_DETERMINISTIC) ? NL_AST_DETERMINISTIC : NL_AST_NOT_DETERMINISTIC;
    if (function->determinism == NL_AST_NOT_DETERMINISTIC) NL_TRY(nl_parse_not(p));
    return nl_parser_expect(p, NL_T_DETERMINISTIC);
}

static nl_status parse_specific(nl_parser *p, nl_ast_create_function *function, characteristics *found)
{
    uint32_t first = p->at++;
    if (function->specific_name.text.data) found->duplicate = "SPECIFIC";
    NL_TRY(nl_parse_name_part(p, &function->specific_name));
    note_unsupported(p, found, first, "SQL function with SPECIFIC name is not supported");
    return NULL;
}

static nl_status parse_characteristic(nl_parser *p, nl_ast_create_function *function, characteristics *found, bool *is_there)
{
    *is_there = true;
    switch ((int)nl_parser_kind(p)) {
    case NL_T_LANGUAGE: return parse_language(p, function, found);
    case NL_T_SPECIFIC: return parse_specific(p, function, found);
    case NL_T_NOT:
    case NL_T_BANG:
    case NL_T_DETERMINISTIC: return parse_deterministic(p, function, found);
    case NL_T_NO:
    case NL_T_CONTAINS:
    case NL_T_READS:
    case NL_T_MODIFIES: return parse_data_access(p, function, found);
    case NL_T_RETURNS:
    case NL_T_CALLED: return parse_null_call(p, function, found);
    case NL_T_SQL: return parse_rights(p, function, found);
    case NL_T_COMMENT:
        if (function->has_comment) found->duplicate = "COMMENT";
        return nl_parse_comment_clause(p, &function->has_comment, &function->comment);
    default: *is_there = false; return NULL;
    }
}

static nl_status check_characteristics(nl_parser *p, const characteristics *found)
{
    if (found->duplicate)
        return NL_REFUSE(p, nl_parser_range(p, found->first), DUPLICATE_CLAUSES, NL_P("clauseName", found->duplicate));
    if (!found->unsupported) return NULL;
    nl_parser place = *p;
    place.at = found->unsupported_end;
    return nl_parser_not_allowed(p, nl_parser_range(&place, found->unsupported_first), found->unsupported);
}

static nl_status check_parameters(nl_parser *p, const nl_ast_create_function *function)
{
    for (uint32_t i = 0; i < function->parameters.count; i++) {
        const nl_ast_column_definition *parameter = &function->parameters.items[i];
        if (!parameter->generated && !parameter->is_identity) continue;
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__CREATE_FUNC_WITH_GENERATED_COLUMNS_AS_PARAMETERS);
    }
    return NULL;
}

/* (parameters) RETURNS … RETURN {query | expression}; at the `(`. */
static nl_status parse_sql_function(nl_parser *p, nl_ast_create_function *function)
{
    p->at++;
    if (!nl_parser_is(p, NL_T_RIGHT_PAREN)) NL_TRY(nl_parse_column_definitions(p, &function->parameters));
    NL_TRY(check_parameters(p, function));
    NL_TRY(nl_parser_close(p));
    NL_TRY(parse_returns(p, function));
    characteristics found = {.first = p->at};
    bool is_there = true;
    while (is_there) NL_TRY(parse_characteristic(p, function, &found, &is_there));
    NL_TRY(check_characteristics(p, &found));
    NL_TRY(nl_parser_expect(p, NL_T_RETURN));
    uint32_t body = p->at;
    NL_TRY(nl_parse_query_or_expression(p, &function->body_query, &function->body_expr));
    function->body_text = nl_parser_text_between(p, body, p->at);
    return NULL;
}

static nl_status check_function(nl_parser *p, const nl_ast_create_function *function)
{
    if (function->is_replace && function->is_if_not_exists)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__CREATE_ROUTINE_WITH_IF_NOT_EXISTS_AND_REPLACE);
    if (!function->is_temporary) return NULL;
    if (function->is_if_not_exists)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__CREATE_TEMP_FUNC_WITH_IF_NOT_EXISTS);
    if (function->name.count > 2)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__MULTI_PART_NAME,
                         NL_P("statement", "CREATE TEMPORARY FUNCTION"),
                         NL_P_STR("name", nl_parser_quote_name(p, &function->name)));
    if (function->name.count < 2) return NULL;
    nl_ast_name database = function->name;
    database.count = 1;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__CREATE_TEMP_FUNC_WITH_DATABASE,
                     NL_P_STR("database", nl_parser_quote_name(p, &database)));
}

nl_status nl_parse_create_function(nl_parser *p, bool is_replace, nl_ast_statement **statement)
{
    nl_ast_create_function *function = NL_NEW(p->arena, nl_ast_create_function);
    function->is_replace = is_replace;
    function->is_temporary = nl_parser_take(p, NL_T_TEMPORARY);
    NL_TRY(nl_parser_expect(p, NL_T_FUNCTION));
    NL_TRY(nl_parse_if_not_exists(p, &function->is_if_not_exists));
    NL_TRY(nl_parse_name_reference(p, &function->name));
    if (nl_parser_is(p, NL_T_AS))
        NL_TRY(parse_class_function(p, function));
    else if (nl_parser_is(p, NL_T_LEFT_PAREN))
        NL_TRY(parse_sql_function(p, function));
    else
        return nl_parser_syntax_error(p);
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CREATE_FUNCTION);
    (*statement)->create_function = function;
    return check_function(p, function);
}

/* ---- indexes and variables ------------------------------------------------------------------------------------------------------ */

/* At INDEX. */
nl_status nl_parse_create_index(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_create_index *index = NL_NEW(p->arena, nl_ast_create_index);
    p->at++;
    NL_TRY(nl_parse_if_not_exists(p, &index->is_if_not_exists));
    NL_TRY(nl_parse_identifier(p, &index->name));
    NL_TRY(nl_parser_expect(p, NL_T_ON));
    if (nl_parser_is(p, NL_T_TABLE) && nl_parser_is_identifier_at(p, p->at + 1)) p->at++;
    NL_TRY(nl_parse_name_reference(p, &index->table));
    if (nl_parser_take(p, NL_T_USING)) NL_TRY(nl_parse_identifier(p, &index->type));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    nl_list list = {0};
    do {
        nl_ast_index_column *column = NL_NEW(p->arena, nl_ast_index_column);
        NL_TRY(nl_parse_name(p, &column->column));
        if (nl_parser_take(p, NL_T_OPTIONS)) NL_TRY(nl_parse_properties(p, false, &column->options));
        NL_TRY(nl_parser_need_values(p, column->options));
        nl_list_add(p->arena, &list, column);
    } while (nl_parser_take(p, NL_T_COMMA));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    index->columns = NL_FLATTEN(p, &list, nl_ast_index_column);
    index->column_count = list.count;
    if (nl_parser_take(p, NL_T_OPTIONS)) NL_TRY(nl_parse_properties(p, false, &index->options));
    NL_TRY(nl_parser_need_values(p, index->options));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CREATE_INDEX);
    (*statement)->create_index = index;
    return NULL;
}

static bool is_variable_word(nl_token_kind kind)
{
    return kind == NL_T_VARIABLE || kind == NL_T_VAR;
}

/* DECLARE [OR REPLACE] [VARIABLE] name [type] [{DEFAULT | =} expression] */
nl_status nl_parse_declare(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_declare_variable *node = NL_NEW(p->arena, nl_ast_declare_variable);
    p->at++;
    node->is_replace = nl_parser_take_both(p, NL_T_OR, NL_T_REPLACE);
    nl_token_kind next = nl_parser_ahead(p, 1);
    /* `DECLARE VARIABLE DEFAULT INT` declares DEFAULT; with any other value behind it, DEFAULT is the clause. */
    bool is_name = next != NL_T_DEFAULT || (nl_parser_is_identifier_at(p, p->at + 2) && nl_parser_ahead(p, 3) == NL_T_EOF);
    bool is_word = is_variable_word(nl_parser_kind(p)) && nl_parser_is_identifier_at(p, p->at + 1) && is_name;
    if (is_word) p->at++;
    NL_TRY(nl_parse_name_reference(p, &node->name));
    if (nl_parser_is_identifier_at(p, p->at) && !nl_parser_is(p, NL_T_DEFAULT)) NL_TRY(nl_parse_type(p, &node->type));
    if (nl_parser_take(p, NL_T_DEFAULT) || nl_parser_take(p, NL_T_EQ)) {
        uint32_t first = p->at;
        NL_TRY(nl_parse_expression(p, &node->default_value));
        node->default_text = nl_parser_text_between(p, first, p->at);
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_DECLARE_VARIABLE);
    (*statement)->declare_variable = node;
    if (node->type || node->default_value) return NULL;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__VARIABLE_TYPE_OR_DEFAULT_REQUIRED);
}

/* ---- DROP and TRUNCATE ------------------------------------------------------------------------------------------------------------ */

static nl_status check_drop(nl_parser *p, const nl_ast_drop *drop)
{
    bool is_allowed = drop->object != NL_AST_OBJECT_FUNCTION || !drop->is_temporary || drop->name.count <= 1;
    if (is_allowed) return NULL;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, INVALID_SQL_SYNTAX__MULTI_PART_NAME,
                     NL_P("statement", "DROP TEMPORARY FUNCTION"), NL_P_STR("name", nl_parser_quote_name(p, &drop->name)));
}

static nl_status parse_drop_kind(nl_parser *p, nl_ast_drop *drop)
{
    drop->is_temporary = nl_parser_take(p, NL_T_TEMPORARY);
    nl_token_kind kind = nl_parser_kind(p);
    if (kind == NL_T_FUNCTION)
        drop->object = NL_AST_OBJECT_FUNCTION;
    else if (drop->is_temporary && is_variable_word(kind))
        drop->object = NL_AST_OBJECT_VARIABLE;
    else if (drop->is_temporary)
        return nl_parser_syntax_error(p);
    else if (kind == NL_T_TABLE)
        drop->object = NL_AST_OBJECT_TABLE;
    else if (kind == NL_T_VIEW)
        drop->object = NL_AST_OBJECT_VIEW;
    else if (nl_parser_is_namespace_word(kind))
        drop->object = NL_AST_OBJECT_NAMESPACE;
    else if (kind == NL_T_INDEX)
        drop->object = NL_AST_OBJECT_INDEX;
    else
        return nl_parser_syntax_error(p);
    p->at++;
    return NULL;
}

nl_status nl_parse_drop(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_drop *drop = NL_NEW(p->arena, nl_ast_drop);
    p->at++;
    NL_TRY(parse_drop_kind(p, drop));
    NL_TRY(nl_parse_if_exists(p, &drop->is_if_exists));
    if (drop->object == NL_AST_OBJECT_INDEX) {
        NL_TRY(nl_parse_identifier(p, &drop->index));
        NL_TRY(nl_parser_expect(p, NL_T_ON));
        if (nl_parser_is(p, NL_T_TABLE) && nl_parser_is_identifier_at(p, p->at + 1)) p->at++;
    }
    NL_TRY(nl_parse_name_reference(p, &drop->name));
    if (drop->object == NL_AST_OBJECT_TABLE) drop->is_purge = nl_parser_take(p, NL_T_PURGE);
    if (drop->object == NL_AST_OBJECT_NAMESPACE) {
        drop->is_cascade = nl_parser_take(p, NL_T_CASCADE);
        if (!drop->is_cascade) nl_parser_take(p, NL_T_RESTRICT);
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_DROP);
    (*statement)->drop = drop;
    return check_drop(p, drop);
}

/* A partition spec where every column has its value. */
nl_status nl_parse_full_partition_spec(nl_parser *p, bool is_whole_statement, nl_ast_partition_spec **spec)
{
    NL_TRY(nl_parse_partition_spec(p, spec));
    for (uint32_t i = 0; *spec && i < (*spec)->count; i++) {
        const nl_ast_partition_value *value = &(*spec)->items[i];
        if (value->value || value->is_default) continue;
        nl_str key = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(value->name.text));
        return NL_REFUSE(p, is_whole_statement ? NL_WHOLE_STATEMENT : (*spec)->range,
                         INVALID_SQL_SYNTAX__EMPTY_PARTITION_VALUE, NL_P_STR("partKey", key));
    }
    return NULL;
}

nl_status nl_parse_truncate(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_truncate *truncate = NL_NEW(p->arena, nl_ast_truncate);
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_TABLE));
    NL_TRY(nl_parse_name_reference(p, &truncate->table));
    NL_TRY(nl_parse_full_partition_spec(p, false, &truncate->partition));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_TRUNCATE);
    (*statement)->truncate = truncate;
    return NULL;
}

/* sql/parse_create.c - CREATE and REPLACE of tables, views and namespaces. */
#include "sql/parse.h"

/* ---- tables ----------------------------------------------------------------------------------------------------------------- */

/* At a query, or AS before one. */
static bool starts_as_query(const nl_parser *p)
{
    return nl_parser_is(p, NL_T_AS) || nl_parser_is(p, NL_T_LEFT_PAREN) || nl_parser_starts_query_at(p, p->at);
}

static uint32_t count_new_columns(const nl_ast_partition_fields *fields)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fields->count; i++) count += fields->items[i].new_column != NULL;
    return count;
}

/* PARTITIONED BY holds either columns with types or expressions over the table's own columns. */
static nl_status refuse_mixed_partitioning(nl_parser *p, const nl_ast_partition_fields *fields)
{
    nl_builder message;
    nl_builder_init(&message, NL_SQL_TEXT_BYTES_MAX);
    nl_append_c(&message, "PARTITION BY: Cannot mix partition expressions and partition columns:");
    for (int pass = 0; pass < 2; pass++) {
        bool is_columns = pass == 1;
        bool is_first = true;
        nl_append_c(&message, is_columns ? "\nColumns: " : "\nExpressions: ");
        for (uint32_t i = 0; i < fields->count; i++) {
            const nl_ast_partition_field *field = &fields->items[i];
            if ((field->new_column != NULL) != is_columns) continue;
            nl_append_f(&message, "%s" NL_STR_FMT, is_first ? "" : ", ",
                        NL_STR_ARG(nl_str_slice(p->text, field->range.start, field->range.stop)));
            is_first = false;
        }
    }
    nl_status status = nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, nl_builder_c(&message));
    nl_builder_fini(&message);
    return status;
}

/* USING does not go with Hive's ways to say the format. */
static nl_status check_provider_format(nl_parser *p, const nl_ast_create_table *table)
{
    const nl_ast_table_clauses *clauses = &table->clauses;
    if (table->provider.count == 0 || (!clauses->row_format && !clauses->file_format)) return NULL;
    nl_builder operation;
    nl_builder_init(&operation, NL_SQL_TEXT_BYTES_MAX);
    nl_append_c(&operation, "CREATE TABLE ... USING ... ");
    const nl_ast_file_format *file = clauses->file_format;
    if (file && file->name.text.data) {
        nl_append_c(&operation, "STORED AS ");
        for (size_t i = 0; i < file->name.text.length; i++) {
            char c = file->name.text.data[i];
            nl_append_char(&operation, c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
        }
        nl_append_char(&operation, ' ');
    } else if (file) {
        nl_append_f(&operation, "STORED AS INPUTFORMAT " NL_STR_FMT " OUTPUTFORMAT " NL_STR_FMT " ",
                    NL_STR_ARG(file->input_format), NL_STR_ARG(file->output_format));
    }
    const nl_ast_row_format *row = clauses->row_format;
    if (row && row->is_serde) nl_append_f(&operation, "ROW FORMAT SERDE " NL_STR_FMT, NL_STR_ARG(row->serde));
    if (row && !row->is_serde) nl_append_c(&operation, "ROW FORMAT DELIMITED");
    nl_status status = nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, nl_builder_c(&operation));
    nl_builder_fini(&operation);
    return status;
}

static nl_status check_temporary_table(nl_parser *p, nl_ast_range head, const nl_ast_create_table *table)
{
    if (table->query)
        return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT,
                                     "CREATE TEMPORARY TABLE ... AS ..., use CREATE TEMPORARY VIEW instead");
    if (table->is_external) return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "CREATE EXTERNAL TABLE ... USING");
    if (table->is_if_not_exists) return nl_parser_invalid_clause(p, head, "CREATE TEMPORARY TABLE ... IF NOT EXISTS");
    if (table->provider.count == 0) return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0046);
    if (table->name.count < 2) return NULL;
    return NL_REFUSE(p, NL_TEXT_ONLY, _LEGACY_ERROR_TEMP_1292, NL_P_STR("tableIdent", nl_parser_quote_name(p, &table->name)));
}

static nl_status check_table(nl_parser *p, nl_ast_range head, const nl_ast_create_table *table)
{
    uint32_t new_columns = count_new_columns(&table->clauses.partitioned_by);
    if (table->is_temporary) NL_TRY(check_temporary_table(p, head, table));
    NL_TRY(check_provider_format(p, table));
    if (new_columns > 0 && new_columns < table->clauses.partitioned_by.count)
        NL_TRY(refuse_mixed_partitioning(p, &table->clauses.partitioned_by));
    if (!table->query) return NULL;
    const char *words = table->is_replace ? "Replace Table As Select (RTAS)" : "Create Table As Select (CTAS)";
    if (table->has_columns) {
        nl_str message = nl_arena_f(p->arena, "Schema may not be specified in a %s statement", words);
        return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, nl_str_c(p->arena, message));
    }
    if (new_columns == 0) return NULL;
    nl_str message = nl_arena_f(p->arena, "Partition column types may not be specified in %s", words);
    return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, nl_str_c(p->arena, message));
}

/* MAP and REDUCE begin queries of their own, which nobody writes here: they are columns. */
static bool is_row_word(nl_token_kind kind)
{
    return kind == NL_T_MAP || kind == NL_T_REDUCE;
}

/* Everything behind the table's name. */
static nl_status parse_table_body(nl_parser *p, nl_ast_create_table *table, nl_ast_statement **statement)
{
    nl_ast_range head = nl_parser_range(p, p->statement_first);
    bool has_columns = nl_parser_is(p, NL_T_LEFT_PAREN) && nl_parser_ahead(p, 1) != NL_T_LEFT_PAREN &&
                       (is_row_word(nl_parser_ahead(p, 1)) || !nl_parser_starts_query_at(p, p->at + 1));
    if (has_columns) {
        p->at++;
        table->has_columns = true;
        NL_TRY(nl_parse_column_definitions(p, &table->columns));
        bool may_end = nl_parser_is(p, NL_T_EOF) || nl_parser_is(p, NL_T_SEMICOLON) || nl_parser_is(p, NL_T_USING);
        NL_TRY(may_end ? nl_parser_close(p) : nl_parser_need(p, NL_T_RIGHT_PAREN));
    }
    if (nl_parser_take(p, NL_T_USING)) NL_TRY(nl_parse_name(p, &table->provider));
    NL_TRY(nl_parse_table_clauses(p, &table->clauses));
    if (starts_as_query(p)) {
        nl_parser_take(p, NL_T_AS);
        NL_TRY(nl_parse_query(p, &table->query));
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CREATE_TABLE);
    (*statement)->create_table = table;
    return check_table(p, head, table);
}

static nl_status parse_like_clause(nl_parser *p, nl_ast_create_table_like *like, bool *is_there)
{
    *is_there = true;
    bool is_again = false;
    const char *name = "";
    switch ((int)nl_parser_kind(p)) {
    case NL_T_USING:
        is_again = like->provider.count > 0;
        name = "PROVIDER";
        p->at++;
        NL_TRY(nl_parse_name(p, &like->provider));
        break;
    case NL_T_ROW:
        is_again = like->row_format != NULL;
        name = "ROW FORMAT";
        NL_TRY(nl_parse_row_format(p, &like->row_format));
        break;
    case NL_T_STORED:
        is_again = like->file_format != NULL;
        name = "STORED AS/BY";
        NL_TRY(nl_parse_file_format(p, &like->file_format));
        break;
    case NL_T_LOCATION:
        is_again = like->location.data != NULL;
        name = "LOCATION";
        p->at++;
        NL_TRY(nl_parse_string(p, &like->location));
        break;
    case NL_T_TBLPROPERTIES:
        is_again = like->properties != NULL;
        name = "TBLPROPERTIES";
        p->at++;
        NL_TRY(nl_parse_properties(p, false, &like->properties));
        NL_TRY(nl_parser_need_values(p, like->properties));
        break;
    default: *is_there = false; return NULL;
    }
    return is_again ? nl_parser_duplicate_clause(p, name) : NULL;
}

/* CREATE TABLE a LIKE b …; at LIKE. */
static nl_status parse_create_like(nl_parser *p, const nl_ast_create_table *table, nl_ast_statement **statement)
{
    nl_ast_create_table_like *like = NL_NEW(p->arena, nl_ast_create_table_like);
    like->is_if_not_exists = table->is_if_not_exists;
    like->name = table->name;
    p->at++;
    NL_TRY(nl_parse_table_name(p, &like->source));
    bool is_there = true;
    while (is_there) NL_TRY(parse_like_clause(p, like, &is_there));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CREATE_TABLE_LIKE);
    (*statement)->create_table_like = like;
    NL_TRY(nl_parser_check_formats(p, like->row_format, like->file_format));
    return nl_parser_check_table_properties(p, like->properties);
}

/* At TEMPORARY, EXTERNAL or TABLE, after CREATE. */
static nl_status parse_create_table(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_create_table *table = NL_NEW(p->arena, nl_ast_create_table);
    table->is_create = true;
    table->is_temporary = nl_parser_take(p, NL_T_TEMPORARY);
    table->is_external = nl_parser_take(p, NL_T_EXTERNAL);
    NL_TRY(nl_parser_expect(p, NL_T_TABLE));
    NL_TRY(nl_parse_if_not_exists(p, &table->is_if_not_exists));
    NL_TRY(nl_parse_name_reference(p, &table->name));
    bool may_be_like = !table->is_temporary && !table->is_external && table->name.count > 0 && table->name.count <= 2;
    if (may_be_like && nl_parser_is(p, NL_T_LIKE)) return parse_create_like(p, table, statement);
    return parse_table_body(p, table, statement);
}

/* At REPLACE, perhaps after CREATE OR. */
static nl_status parse_replace_table(nl_parser *p, bool is_create, nl_ast_statement **statement)
{
    nl_ast_create_table *table = NL_NEW(p->arena, nl_ast_create_table);
    table->is_create = is_create;
    table->is_replace = true;
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_TABLE));
    NL_TRY(nl_parse_name_reference(p, &table->name));
    return parse_table_body(p, table, statement);
}

nl_status nl_parse_replace(nl_parser *p, nl_ast_statement **statement)
{
    return parse_replace_table(p, false, statement);
}

/* ---- views -------------------------------------------------------------------------------------------------------------------- */

/* WITH SCHEMA {BINDING | COMPENSATION | [TYPE] EVOLUTION}; at WITH. */
nl_status nl_parse_schema_binding(nl_parser *p, nl_ast_schema_binding *binding)
{
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_SCHEMA));
    switch ((int)nl_parser_kind(p)) {
    case NL_T_BINDING: *binding = NL_AST_BINDING_BINDING; break;
    case NL_T_COMPENSATION: *binding = NL_AST_BINDING_COMPENSATION; break;
    case NL_T_EVOLUTION: *binding = NL_AST_BINDING_EVOLUTION; break;
    case NL_T_TYPE:
        p->at++;
        *binding = NL_AST_BINDING_TYPE_EVOLUTION;
        return nl_parser_expect(p, NL_T_EVOLUTION);
    default: return nl_parser_syntax_error(p);
    }
    p->at++;
    return NULL;
}

static nl_status parse_view_columns(nl_parser *p, nl_ast_create_view *view)
{
    p->at++;
    nl_list list = {0};
    do {
        nl_ast_view_column *column = NL_NEW(p->arena, nl_ast_view_column);
        NL_TRY(nl_parse_identifier(p, &column->name));
        if (nl_parser_is(p, NL_T_COMMENT)) NL_TRY(nl_parse_comment_clause(p, &column->has_comment, &column->comment));
        nl_list_add(p->arena, &list, column);
    } while (nl_parser_take(p, NL_T_COMMA));
    view->columns = NL_FLATTEN(p, &list, nl_ast_view_column);
    view->column_count = list.count;
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

static nl_status parse_view_clause(nl_parser *p, nl_ast_create_view *view, bool *is_there)
{
    *is_there = true;
    bool is_again = false;
    switch ((int)nl_parser_kind(p)) {
    case NL_T_COMMENT:
        is_again = view->has_comment;
        NL_TRY(nl_parse_comment_clause(p, &view->has_comment, &view->comment));
        return is_again ? nl_parser_duplicate_clause(p, "COMMENT") : NULL;
    case NL_T_WITH:
        is_again = view->binding != NL_AST_BINDING_UNSAID;
        NL_TRY(nl_parse_schema_binding(p, &view->binding));
        return is_again ? nl_parser_duplicate_clause(p, "WITH SCHEMA") : NULL;
    case NL_T_TBLPROPERTIES:
        is_again = view->properties != NULL;
        p->at++;
        NL_TRY(nl_parse_properties(p, false, &view->properties));
        NL_TRY(nl_parser_need_values(p, view->properties));
        return is_again ? nl_parser_duplicate_clause(p, "TBLPROPERTIES") : NULL;
    case NL_T_DEFAULT:
        p->at++;
        NL_TRY(nl_parser_expect(p, NL_T_COLLATION));
        return nl_parse_identifier(p, &view->collation);
    case NL_T_PARTITIONED: {
        nl_ast_idents ignored;
        p->at++;
        NL_TRY(nl_parser_expect(p, NL_T_ON));
        NL_TRY(nl_parse_identifier_list(p, &ignored));
        return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "CREATE VIEW ... PARTITIONED ON");
    }
    default: *is_there = false; return NULL;
    }
}

static nl_status check_view(nl_parser *p, const nl_ast_create_view *view, uint32_t parameters_before)
{
    if (view->is_if_not_exists && view->is_replace) return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0052);
    if (view->is_temporary && view->is_if_not_exists) return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0053);
    if (view->is_temporary && view->properties)
        return nl_parser_not_allowed(p, NL_WHOLE_STATEMENT, "TBLPROPERTIES can't coexist with CREATE TEMPORARY VIEW");
    if (view->is_temporary && view->binding != NL_AST_BINDING_UNSAID)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, UNSUPPORTED_FEATURE__TEMPORARY_VIEW_WITH_SCHEMA_BINDING_MODE);
    if (view->is_temporary && view->name.count > 1)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS,
                         NL_P_STR("actualName", nl_parser_quote_name(p, &view->name)));
    if (p->parameter_mark_count > parameters_before)
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, UNSUPPORTED_FEATURE__PARAMETER_MARKER_IN_UNEXPECTED_STATEMENT,
                         NL_P("statement", "the query of CREATE VIEW"));
    return NULL;
}

static nl_status parse_temp_view_using(nl_parser *p, const nl_ast_create_view *head, nl_ast_statement **statement)
{
    nl_ast_create_temp_view_using *view = NL_NEW(p->arena, nl_ast_create_temp_view_using);
    view->is_replace = head->is_replace;
    view->is_global = head->is_global;
    view->name = head->name;
    if (nl_parser_take(p, NL_T_LEFT_PAREN)) {
        view->has_columns = true;
        NL_TRY(nl_parse_fields(p, &view->columns));
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    }
    NL_TRY(nl_parser_expect(p, NL_T_USING));
    NL_TRY(nl_parse_name(p, &view->provider));
    if (nl_parser_take(p, NL_T_OPTIONS)) {
        NL_TRY(nl_parse_properties(p, false, &view->options));
        NL_TRY(nl_parser_need_values(p, view->options));
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CREATE_TEMP_VIEW_USING);
    (*statement)->create_temp_view_using = view;
    return NULL;
}

/* The names of a view's columns, and not columns with types, which only TEMPORARY VIEW … USING has. */
static bool starts_view_using(const nl_parser *p, const nl_ast_create_view *view)
{
    if (!view->is_temporary || view->is_if_not_exists) return false;
    if (nl_parser_is(p, NL_T_USING)) return true;
    nl_token_kind after = nl_parser_ahead(p, 2);
    return nl_parser_is(p, NL_T_LEFT_PAREN) && after != NL_T_COMMA && after != NL_T_RIGHT_PAREN &&
           !(after == NL_T_COMMENT && nl_parser_is_string_at(p, p->at + 3));
}

/* [GLOBAL] [TEMPORARY] VIEW …, after CREATE [OR REPLACE]. */
static nl_status parse_create_view(nl_parser *p, bool is_replace, nl_ast_statement **statement)
{
    nl_ast_create_view *view = NL_NEW(p->arena, nl_ast_create_view);
    view->is_replace = is_replace;
    view->is_global = nl_parser_take(p, NL_T_GLOBAL);
    view->is_temporary = nl_parser_take(p, NL_T_TEMPORARY);
    if (view->is_global && !view->is_temporary) return nl_parser_expect(p, NL_T_TEMPORARY);
    NL_TRY(nl_parser_expect(p, NL_T_VIEW));
    NL_TRY(nl_parse_if_not_exists(p, &view->is_if_not_exists));
    NL_TRY(nl_parse_name_reference(p, &view->name));
    if (starts_view_using(p, view)) return parse_temp_view_using(p, view, statement);
    if (nl_parser_is(p, NL_T_LEFT_PAREN)) NL_TRY(parse_view_columns(p, view));
    bool is_there = true;
    while (is_there) NL_TRY(parse_view_clause(p, view, &is_there));
    NL_TRY(nl_parser_expect(p, NL_T_AS));
    uint32_t first = p->at;
    uint32_t parameters = p->parameter_mark_count;
    NL_TRY(nl_parse_query(p, &view->query));
    view->query_text = nl_parser_text_between(p, first, p->at);
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CREATE_VIEW);
    (*statement)->create_view = view;
    NL_TRY(nl_parser_check_table_properties(p, view->properties));
    return check_view(p, view, parameters);
}

/* ---- namespaces ------------------------------------------------------------------------------------------------------------------ */

nl_status nl_parser_check_namespace_properties(nl_parser *p, const nl_ast_properties *properties)
{
    for (uint32_t i = 0; properties && i < properties->count; i++) {
        bool is_location = nl_str_is(properties->items[i].key, "location");
        if (!is_location && !nl_str_is(properties->items[i].key, "owner")) continue;
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, UNSUPPORTED_FEATURE__SET_NAMESPACE_PROPERTY,
                         NL_P_STR("property", properties->items[i].key),
                         NL_P("msg", is_location ? "please use the LOCATION clause to specify it"
                                                 : "it will be set to the current user"));
    }
    return NULL;
}

static nl_status parse_namespace_properties(nl_parser *p, nl_ast_create_namespace *node, nl_token_kind *word)
{
    p->at++;
    nl_token_kind kind = nl_parser_kind(p);
    if (kind != NL_T_PROPERTIES && kind != NL_T_DBPROPERTIES) return nl_parser_syntax_error(p);
    p->at++;
    bool is_again = node->properties != NULL;
    NL_TRY(nl_parse_properties(p, false, &node->properties));
    NL_TRY(nl_parser_need_values(p, node->properties));
    if (is_again && *word == kind)
        return nl_parser_duplicate_clause(p, kind == NL_T_PROPERTIES ? "WITH PROPERTIES" : "WITH DBPROPERTIES");
    if (is_again) return NL_REFUSE(p, NL_WHOLE_STATEMENT, UNSUPPORTED_FEATURE__SET_PROPERTIES_AND_DBPROPERTIES);
    *word = kind;
    return NULL;
}

/* At DATABASE, SCHEMA or NAMESPACE. */
static nl_status parse_create_namespace(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_create_namespace *node = NL_NEW(p->arena, nl_ast_create_namespace);
    p->at++;
    NL_TRY(nl_parse_if_not_exists(p, &node->is_if_not_exists));
    NL_TRY(nl_parse_name_reference(p, &node->name));
    nl_token_kind word = NL_T_EOF;
    for (;;) {
        if (nl_parser_is(p, NL_T_COMMENT)) {
            bool is_again = node->has_comment;
            NL_TRY(nl_parse_comment_clause(p, &node->has_comment, &node->comment));
            if (is_again) NL_TRY(nl_parser_duplicate_clause(p, "COMMENT"));
        } else if (nl_parser_take(p, NL_T_LOCATION)) {
            bool is_again = node->location.data != NULL;
            NL_TRY(nl_parse_string(p, &node->location));
            if (is_again) NL_TRY(nl_parser_duplicate_clause(p, "LOCATION"));
        } else if (nl_parser_is(p, NL_T_WITH)) {
            NL_TRY(parse_namespace_properties(p, node, &word));
        } else {
            break;
        }
    }
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_CREATE_NAMESPACE);
    (*statement)->create_namespace = node;
    return nl_parser_check_namespace_properties(p, node->properties);
}

/* ---- CREATE ------------------------------------------------------------------------------------------------------------------------- */

nl_status nl_parse_create(nl_parser *p, nl_ast_statement **statement)
{
    nl_token_kind next = nl_parser_ahead(p, 1);
    bool is_replace = next == NL_T_OR;
    p->at++;
    if (is_replace) {
        p->at++;
        if (nl_parser_are(p, NL_T_REPLACE, NL_T_TABLE)) return parse_replace_table(p, true, statement);
        NL_TRY(nl_parser_expect(p, NL_T_REPLACE));
    }
    nl_token_kind kind = nl_parser_kind(p);
    next = nl_parser_ahead(p, 1);
    if (kind == NL_T_VIEW || kind == NL_T_GLOBAL || (kind == NL_T_TEMPORARY && next == NL_T_VIEW))
        return parse_create_view(p, is_replace, statement);
    if (kind == NL_T_FUNCTION || (kind == NL_T_TEMPORARY && next == NL_T_FUNCTION))
        return nl_parse_create_function(p, is_replace, statement);
    if (is_replace) {
        if (kind == NL_T_TEMPORARY) p->at++;
        return nl_parser_syntax_error(p);
    }
    if (kind == NL_T_TABLE || kind == NL_T_EXTERNAL || kind == NL_T_TEMPORARY) return parse_create_table(p, statement);
    if (nl_parser_is_namespace_word(kind)) return parse_create_namespace(p, statement);
    if (kind == NL_T_INDEX) return nl_parse_create_index(p, statement);
    return nl_parser_syntax_error(p);
}

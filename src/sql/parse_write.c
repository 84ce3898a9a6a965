/* sql/parse_write.c - statements that change rows: INSERT and its multi form, DELETE, UPDATE, MERGE; WITH before them. */
#include "sql/parse.h"

/* ---- partition specs ---------------------------------------------------------------------------------------------------- */

static nl_status parse_partition_value(nl_parser *p, nl_ast_partition_value *value)
{
    NL_TRY(nl_parse_identifier(p, &value->name));
    if (!nl_parser_take(p, NL_T_EQ)) return NULL;
    value->is_default = nl_parser_is(p, NL_T_DEFAULT) && !nl_parser_is_string_at(p, p->at + 1);
    if (!value->is_default) return nl_parse_constant(p, &value->value);
    p->at++;
    return NULL;
}

static nl_status check_partition_spec(nl_parser *p, const nl_ast_partition_spec *spec)
{
    if (spec->count > NL_EXPRESSION_DEPTH_MAX) return NL_RAISE(FAILED_TO_PARSE_TOO_COMPLEX);
    for (uint32_t i = 0; i < spec->count; i++) {
        if (spec->items[i].is_default) return NL_REFUSE(p, spec->range, REF_DEFAULT_VALUE_IS_NOT_ALLOWED_IN_PARTITION);
        for (uint32_t j = 0; j < i; j++) {
            if (!nl_str_equal_nocase(spec->items[i].name.text, spec->items[j].name.text)) continue;
            nl_str key = nl_arena_f(p->arena, "`" NL_STR_FMT "`", NL_STR_ARG(spec->items[i].name.text));
            return NL_REFUSE(p, spec->range, DUPLICATE_KEY, NL_P_STR("keyColumn", key));
        }
    }
    return NULL;
}

nl_status nl_parse_partition_spec(nl_parser *p, nl_ast_partition_spec **spec)
{
    if (!nl_parser_is(p, NL_T_PARTITION)) return NULL;
    uint32_t first = p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    nl_list list = {0};
    do {
        nl_ast_partition_value *value = NL_NEW(p->arena, nl_ast_partition_value);
        NL_TRY(parse_partition_value(p, value));
        nl_list_add(p->arena, &list, value);
    } while (nl_parser_take(p, NL_T_COMMA));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    nl_ast_partition_spec *node = NL_NEW(p->arena, nl_ast_partition_spec);
    *node = (nl_ast_partition_spec){NL_FLATTEN(p, &list, nl_ast_partition_value), list.count, nl_parser_range(p, first)};
    *spec = node;
    return check_partition_spec(p, node);
}

/* ---- INSERT -------------------------------------------------------------------------------------------------------------- */

/* The path stands before USING or in the options, not in both. */
static nl_status check_directory_path(nl_parser *p, uint32_t first, const nl_ast_insert_target *target)
{
    bool has_option = false;
    const nl_ast_properties *options = target->directory_options;
    for (uint32_t i = 0; options && i < options->count; i++) has_option |= nl_str_is_nocase(options->items[i].key, "path");
    if (has_option == (target->path.data != NULL)) return NL_REFUSE(p, nl_parser_range(p, first), _LEGACY_ERROR_TEMP_0049);
    return NULL;
}

/* INSERT OVERWRITE [LOCAL] DIRECTORY ['path'] {USING f [OPTIONS (…)] | [ROW FORMAT …] [STORED AS …]}; at DIRECTORY. */
static nl_status parse_directory_target(nl_parser *p, uint32_t first, nl_ast_insert_target *target)
{
    p->at++;
    target->is_directory = true;
    if (nl_parser_is_string_at(p, p->at)) NL_TRY(nl_parse_string(p, &target->path));
    if (nl_parser_take(p, NL_T_USING)) {
        NL_TRY(nl_parse_name(p, &target->provider));
        if (nl_parser_take(p, NL_T_OPTIONS)) NL_TRY(nl_parse_properties(p, false, &target->directory_options));
        NL_TRY(nl_parser_need_values(p, target->directory_options));
        return check_directory_path(p, first, target);
    }
    if (!target->path.data) return nl_parser_syntax_error(p);
    if (nl_parser_are(p, NL_T_ROW, NL_T_FORMAT)) NL_TRY(nl_parse_row_format(p, &target->row_format));
    return nl_parser_is(p, NL_T_STORED) ? nl_parse_file_format(p, &target->file_format) : NULL;
}

/* BY NAME or (a, b), unless the parentheses hold the query. */
static nl_status parse_insert_columns(nl_parser *p, nl_ast_insert_target *target)
{
    if (nl_parser_take(p, NL_T_BY)) {
        target->is_by_name = true;
        return nl_parser_expect(p, NL_T_NAME);
    }
    bool is_list = nl_parser_is(p, NL_T_LEFT_PAREN) && nl_parser_ahead(p, 1) != NL_T_LEFT_PAREN &&
                   !nl_parser_starts_query_at(p, p->at + 1);
    return is_list ? nl_parse_identifier_list(p, &target->columns) : NULL;
}

static bool has_dynamic_value(const nl_ast_partition_spec *spec)
{
    for (uint32_t i = 0; i < spec->count; i++)
        if (!spec->items[i].value && !spec->items[i].is_default) return true;
    return false;
}

/* IF NOT EXISTS goes with INSERT OVERWRITE and fixed partition values only. */
static nl_status check_if_not_exists(nl_parser *p, uint32_t first, const nl_ast_insert_target *target)
{
    if (!target->is_if_not_exists) return NULL;
    nl_ast_range range = nl_parser_range(p, first);
    if (!target->is_overwrite) return nl_parser_invalid_clause(p, range, "INSERT INTO ... IF NOT EXISTS");
    if (!target->partition || !has_dynamic_value(target->partition)) return NULL;
    nl_builder message;
    nl_builder_init(&message, NL_SQL_TEXT_BYTES_MAX);
    nl_append_c(&message, "IF NOT EXISTS with dynamic partitions: ");
    bool is_first = true;
    for (uint32_t i = 0; i < target->partition->count; i++) {
        if (target->partition->items[i].value) continue;
        nl_append_f(&message, "%s" NL_STR_FMT, is_first ? "" : ", ", NL_STR_ARG(target->partition->items[i].name.text));
        is_first = false;
    }
    nl_status status = nl_parser_not_allowed(p, range, nl_builder_c(&message));
    nl_builder_fini(&message);
    return status;
}

/* `INSERT INTO TABLE VALUES (1)`: the table is called TABLE. */
static bool starts_values_at(const nl_parser *p, uint32_t at)
{
    if (nl_parser_kind_at(p, at) != NL_T_VALUES) return false;
    if (nl_parser_kind_at(p, at + 1) == NL_T_LEFT_PAREN) at++;
    nl_token_kind kind = nl_parser_kind_at(p, at + 1);
    return kind >= NL_T_STRING_LITERAL && kind <= NL_T_BIGDECIMAL_LITERAL;
}

static nl_status parse_table_target(nl_parser *p, uint32_t first, nl_ast_insert_target *target)
{
    if (nl_parser_is(p, NL_T_TABLE) && nl_parser_is_identifier_at(p, p->at + 1) && !starts_values_at(p, p->at + 1)) p->at++;
    NL_TRY(nl_parse_name_reference(p, &target->table));
    if (nl_parser_are(p, NL_T_WITH, NL_T_LEFT_PAREN)) {
        p->at++;
        NL_TRY(nl_parse_properties(p, false, &target->options));
        NL_TRY(nl_parser_need_values_at(p, target->table.range, target->options));
    }
    if (!target->is_overwrite && nl_parser_are(p, NL_T_REPLACE, NL_T_WHERE)) {
        p->at += 2;
        return nl_parse_expression(p, &target->replace_where);
    }
    NL_TRY(nl_parse_partition_spec(p, &target->partition));
    if (target->partition || !target->is_overwrite) NL_TRY(nl_parse_if_not_exists(p, &target->is_if_not_exists));
    NL_TRY(parse_insert_columns(p, target));
    return check_if_not_exists(p, first, target);
}

nl_status nl_parse_insert_target(nl_parser *p, nl_ast_insert_target *target)
{
    uint32_t first = p->at++;
    target->is_overwrite = nl_parser_take(p, NL_T_OVERWRITE);
    if (!target->is_overwrite && !nl_parser_take(p, NL_T_INTO)) return nl_parser_syntax_error(p);
    if (target->is_overwrite) {
        nl_token_kind next = nl_parser_ahead(p, 1);
        target->is_local = nl_parser_is(p, NL_T_LOCAL) && next == NL_T_DIRECTORY;
        if (target->is_local) p->at++;
        next = nl_parser_ahead(p, 1);
        bool is_directory = nl_parser_is(p, NL_T_DIRECTORY) &&
                            (nl_parser_is_string_at(p, p->at + 1) || next == NL_T_USING);
        NL_TRY(is_directory ? parse_directory_target(p, first, target) : parse_table_target(p, first, target));
    } else {
        NL_TRY(parse_table_target(p, first, target));
    }
    target->range = nl_parser_range(p, first);
    return NULL;
}

static nl_status parse_insert_after(nl_parser *p, const nl_ast_ctes *ctes, nl_ast_statement **statement)
{
    nl_ast_insert *insert = NL_NEW(p->arena, nl_ast_insert);
    if (ctes) insert->ctes = *ctes;
    NL_TRY(nl_parse_insert_target(p, &insert->target));
    NL_TRY(nl_parse_query(p, &insert->query));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_INSERT);
    (*statement)->insert = insert;
    return NULL;
}

nl_status nl_parse_insert(nl_parser *p, nl_ast_statement **statement)
{
    return parse_insert_after(p, NULL, statement);
}

/* FROM x INSERT INTO a SELECT … INSERT INTO b SELECT …; at the first INSERT. */
static nl_status parse_multi_insert(nl_parser *p, const nl_ast_ctes *ctes, nl_ast_relation *from, nl_ast_statement **statement)
{
    nl_ast_multi_insert *multi = NL_NEW(p->arena, nl_ast_multi_insert);
    nl_list targets = {0};
    nl_list queries = {0};
    if (ctes) multi->ctes = *ctes;
    multi->from = from;
    do {
        nl_ast_insert_target *target = NL_NEW(p->arena, nl_ast_insert_target);
        nl_ast_query *query = NULL;
        NL_TRY(nl_parse_insert_target(p, target));
        NL_TRY(nl_parse_from_body(p, from, &query));
        nl_list_add(p->arena, &targets, target);
        nl_list_add(p->arena, &queries, query);
    } while (nl_parser_is(p, NL_T_INSERT));
    multi->targets = NL_FLATTEN(p, &targets, nl_ast_insert_target);
    multi->queries = (nl_ast_query **)queries.items;
    multi->count = targets.count;
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_MULTI_INSERT);
    (*statement)->multi_insert = multi;
    return NULL;
}

/* A statement that begins with FROM: a query, or a multi-insert. `first` is its first token, perhaps WITH. */
static nl_status parse_from_after(nl_parser *p, uint32_t first, const nl_ast_ctes *ctes, nl_ast_statement **statement)
{
    uint32_t from_first = p->at++;
    nl_ast_relation *from = NULL;
    NL_TRY(nl_parse_from(p, &from));
    if (nl_parser_is(p, NL_T_INSERT)) return parse_multi_insert(p, ctes, from, statement);
    nl_ast_term *term = NULL;
    nl_ast_query *query = NULL;
    NL_TRY(nl_parse_from_bodies(p, from_first, from, &term));
    NL_TRY(nl_parse_query_after(p, first, ctes, term, &query));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_QUERY);
    (*statement)->query = query;
    return NULL;
}

nl_status nl_parse_from_statement(nl_parser *p, nl_ast_statement **statement)
{
    return parse_from_after(p, p->at, NULL, statement);
}

/* ---- DELETE and UPDATE ---------------------------------------------------------------------------------------------------- */

nl_status nl_parse_assignments(nl_parser *p, nl_ast_assignments *assignments)
{
    nl_list list = {0};
    do {
        uint32_t first = p->at;
        nl_ast_assignment *assignment = NL_NEW(p->arena, nl_ast_assignment);
        NL_TRY(nl_parse_name(p, &assignment->target));
        NL_TRY(nl_parser_expect(p, NL_T_EQ));
        NL_TRY(nl_parse_expression(p, &assignment->value));
        assignment->range = nl_parser_range(p, first);
        nl_list_add(p->arena, &list, assignment);
    } while (nl_parser_take(p, NL_T_COMMA));
    *assignments = (nl_ast_assignments){NL_FLATTEN(p, &list, nl_ast_assignment), list.count};
    return NULL;
}

static nl_status check_no_column_aliases(nl_parser *p, const nl_ast_table_alias *alias, const char *operation)
{
    if (alias->columns.count == 0) return NULL;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, COLUMN_ALIASES_NOT_ALLOWED, NL_P("op", operation));
}

static nl_status parse_where(nl_parser *p, nl_ast_expr **where)
{
    return nl_parser_take(p, NL_T_WHERE) ? nl_parse_expression(p, where) : NULL;
}

static nl_status parse_delete_after(nl_parser *p, const nl_ast_ctes *ctes, nl_ast_statement **statement)
{
    nl_ast_delete *node = NL_NEW(p->arena, nl_ast_delete);
    if (ctes) node->ctes = *ctes;
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_FROM));
    NL_TRY(nl_parse_name_reference(p, &node->table));
    NL_TRY(nl_parse_table_alias(p, &node->alias));
    NL_TRY(check_no_column_aliases(p, &node->alias, "DELETE"));
    NL_TRY(parse_where(p, &node->where));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_DELETE);
    (*statement)->delete = node;
    return NULL;
}

nl_status nl_parse_delete(nl_parser *p, nl_ast_statement **statement)
{
    return parse_delete_after(p, NULL, statement);
}

static nl_status parse_update_after(nl_parser *p, const nl_ast_ctes *ctes, nl_ast_statement **statement)
{
    nl_ast_update *node = NL_NEW(p->arena, nl_ast_update);
    if (ctes) node->ctes = *ctes;
    p->at++;
    NL_TRY(nl_parse_name_reference(p, &node->table));
    bool is_set = nl_parser_is(p, NL_T_SET) && nl_parser_ahead(p, 1) != NL_T_SET;
    if (!is_set) NL_TRY(nl_parse_table_alias(p, &node->alias));
    NL_TRY(check_no_column_aliases(p, &node->alias, "UPDATE"));
    NL_TRY(nl_parser_expect(p, NL_T_SET));
    NL_TRY(nl_parse_assignments(p, &node->assignments));
    NL_TRY(parse_where(p, &node->where));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_UPDATE);
    (*statement)->update = node;
    return NULL;
}

nl_status nl_parse_update(nl_parser *p, nl_ast_statement **statement)
{
    return parse_update_after(p, NULL, statement);
}

/* ---- MERGE ------------------------------------------------------------------------------------------------------------------ */

/* INSERT * or INSERT (a, b) VALUES (x, y) */
static nl_status parse_merge_insert(nl_parser *p, nl_ast_merge_clause *clause)
{
    NL_TRY(nl_parser_expect(p, NL_T_INSERT));
    clause->action = NL_AST_MERGE_INSERT_STAR;
    if (nl_parser_take(p, NL_T_ASTERISK)) return NULL;
    clause->action = NL_AST_MERGE_INSERT;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_names(p, &clause->columns));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    NL_TRY(nl_parser_expect(p, NL_T_VALUES));
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_expressions(p, &clause->values));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    if (clause->columns.count == clause->values.count) return NULL;
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0006);
}

/* DELETE, UPDATE SET *, UPDATE SET a = b */
static nl_status parse_merge_change(nl_parser *p, nl_ast_merge_clause *clause)
{
    clause->action = NL_AST_MERGE_DELETE;
    if (nl_parser_take(p, NL_T_DELETE)) return NULL;
    if (!nl_parser_is(p, NL_T_UPDATE)) return nl_parser_syntax_error(p);
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_SET));
    clause->action = NL_AST_MERGE_UPDATE_STAR;
    if (clause->when == NL_AST_WHEN_MATCHED && nl_parser_take(p, NL_T_ASTERISK)) return NULL;
    clause->action = NL_AST_MERGE_UPDATE;
    return nl_parse_assignments(p, &clause->assignments);
}

/* At WHEN; clauses come in the order MATCHED, NOT MATCHED, NOT MATCHED BY SOURCE. */
static nl_status parse_merge_clause(nl_parser *p, nl_ast_merge_when at_least, nl_ast_merge_clause *clause)
{
    uint32_t first = p->at++;
    uint32_t when = p->at;
    if (nl_parser_is(p, NL_T_MATCHED)) {
        if (at_least > NL_AST_WHEN_MATCHED) return nl_parser_syntax_error(p);
    } else {
        NL_TRY(nl_parse_not(p));
        clause->when = NL_AST_WHEN_NOT_MATCHED;
    }
    NL_TRY(nl_parser_expect(p, NL_T_MATCHED));
    if (clause->when == NL_AST_WHEN_NOT_MATCHED && nl_parser_take(p, NL_T_BY)) {
        if (nl_parser_take(p, NL_T_SOURCE))
            clause->when = NL_AST_WHEN_NOT_MATCHED_BY_SOURCE;
        else
            NL_TRY(nl_parser_expect(p, NL_T_TARGET));
    }
    if (clause->when < at_least) {
        p->at = when;
        return nl_parser_syntax_error(p);
    }
    if (nl_parser_take(p, NL_T_AND)) NL_TRY(nl_parse_expression(p, &clause->condition));
    NL_TRY(nl_parser_need(p, NL_T_THEN));
    NL_TRY(clause->when == NL_AST_WHEN_NOT_MATCHED ? parse_merge_insert(p, clause) : parse_merge_change(p, clause));
    clause->range = nl_parser_range(p, first);
    return NULL;
}

/* Only the last clause of each kind may lack a condition. */
static nl_status check_merge_clauses(nl_parser *p, const nl_ast_merge *merge)
{
    if (merge->clause_count == 0) return NL_REFUSE(p, NL_WHOLE_STATEMENT, MERGE_WITHOUT_WHEN);
    for (uint32_t i = 0; i + 1 < merge->clause_count; i++) {
        const nl_ast_merge_clause *clause = &merge->clauses[i];
        if (clause->condition || merge->clauses[i + 1].when != clause->when) continue;
        if (clause->when == NL_AST_WHEN_MATCHED)
            return NL_REFUSE(p, NL_WHOLE_STATEMENT, NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION);
        if (clause->when == NL_AST_WHEN_NOT_MATCHED)
            return NL_REFUSE(p, NL_WHOLE_STATEMENT, NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION);
        return NL_REFUSE(p, NL_WHOLE_STATEMENT, NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION);
    }
    return NULL;
}

static nl_status parse_merge_clauses(nl_parser *p, nl_ast_merge *merge)
{
    nl_list list = {0};
    nl_ast_merge_when at_least = NL_AST_WHEN_MATCHED;
    while (nl_parser_is(p, NL_T_WHEN)) {
        nl_ast_merge_clause *clause = NL_NEW(p->arena, nl_ast_merge_clause);
        NL_TRY(parse_merge_clause(p, at_least, clause));
        nl_list_add(p->arena, &list, clause);
        at_least = clause->when;
    }
    merge->clauses = NL_FLATTEN(p, &list, nl_ast_merge_clause);
    merge->clause_count = list.count;
    return check_merge_clauses(p, merge);
}

static nl_status parse_merge_source(nl_parser *p, nl_ast_merge *merge)
{
    if (nl_parser_take(p, NL_T_LEFT_PAREN)) {
        NL_TRY(nl_parse_query(p, &merge->source_query));
        NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    } else {
        NL_TRY(nl_parse_name_reference(p, &merge->source_table));
    }
    NL_TRY(nl_parse_table_alias(p, &merge->source_alias));
    return check_no_column_aliases(p, &merge->source_alias, "MERGE");
}

static nl_status parse_merge_after(nl_parser *p, const nl_ast_ctes *ctes, nl_ast_statement **statement)
{
    nl_ast_merge *merge = NL_NEW(p->arena, nl_ast_merge);
    if (ctes) merge->ctes = *ctes;
    p->at++;
    if (nl_parser_take_both(p, NL_T_WITH, NL_T_SCHEMA)) {
        NL_TRY(nl_parser_expect(p, NL_T_EVOLUTION));
        merge->is_schema_evolution = true;
    }
    NL_TRY(nl_parser_need(p, NL_T_INTO));
    NL_TRY(nl_parse_name_reference(p, &merge->table));
    NL_TRY(nl_parse_table_alias(p, &merge->alias));
    NL_TRY(check_no_column_aliases(p, &merge->alias, "MERGE"));
    NL_TRY(nl_parser_expect(p, NL_T_USING));
    NL_TRY(parse_merge_source(p, merge));
    NL_TRY(nl_parser_expect(p, NL_T_ON));
    NL_TRY(nl_parse_expression(p, &merge->condition));
    NL_TRY(parse_merge_clauses(p, merge));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_MERGE);
    (*statement)->merge = merge;
    return NULL;
}

nl_status nl_parse_merge(nl_parser *p, nl_ast_statement **statement)
{
    return parse_merge_after(p, NULL, statement);
}

/* ---- WITH -------------------------------------------------------------------------------------------------------------------- */

static nl_status parse_after_ctes(nl_parser *p, uint32_t first, const nl_ast_ctes *ctes, nl_ast_statement **statement)
{
    switch ((int)nl_parser_kind(p)) {
    case NL_T_INSERT: return parse_insert_after(p, ctes, statement);
    case NL_T_DELETE: return parse_delete_after(p, ctes, statement);
    case NL_T_UPDATE: return parse_update_after(p, ctes, statement);
    case NL_T_MERGE: return parse_merge_after(p, ctes, statement);
    case NL_T_FROM: return parse_from_after(p, first, ctes, statement);
    default: break;
    }
    nl_ast_query *query = NULL;
    NL_TRY(nl_parse_query_after(p, first, ctes, NULL, &query));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_QUERY);
    (*statement)->query = query;
    return NULL;
}

nl_status nl_parse_with_statement(nl_parser *p, nl_ast_statement **statement)
{
    uint32_t first = p->at;
    nl_ast_ctes ctes;
    NL_TRY(nl_parse_ctes(p, &ctes));
    NL_TRY(parse_after_ctes(p, first, &ctes, statement));
    return nl_parser_check_ctes(p, nl_parser_range(p, first), &ctes);
}

/* sql/parse_alter.c - ALTER of tables, views and namespaces, with Hive's and Spark's forms; Iceberg's are in
 * parse_alter_iceberg.c. */
#include "sql/parse.h"

/* ---- columns ------------------------------------------------------------------------------------------------------------------ */

static nl_status parse_position(nl_parser *p, nl_ast_column_position *position)
{
    position->kind = nl_parser_take(p, NL_T_FIRST) ? NL_AST_POSITION_FIRST : NL_AST_POSITION_AFTER;
    if (position->kind == NL_AST_POSITION_FIRST) return NULL;
    NL_TRY(nl_parser_expect(p, NL_T_AFTER));
    return nl_parse_name_part(p, &position->after);
}

static bool starts_position(const nl_parser *p)
{
    return nl_parser_is(p, NL_T_FIRST) || nl_parser_is(p, NL_T_AFTER);
}

static nl_status refuse_duplicate_option(nl_parser *p, uint32_t first, const nl_ast_alter_column *column, const char *option)
{
    nl_str name = NL_STR("");
    for (uint32_t i = 0; i < column->column.count && i < NL_TYPE_DEPTH_MAX; i++)
        name = nl_arena_f(p->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(name), i ? "." : "",
                          NL_STR_ARG(column->column.parts[i].text));
    return NL_REFUSE(p, nl_parser_range(p, first), ALTER_TABLE_COLUMN_DESCRIPTOR_DUPLICATE, NL_P("type", "ADD"),
                     NL_P_STR("columnName", name), NL_P("optionName", option));
}

static nl_status parse_default(nl_parser *p, nl_ast_alter_column *column)
{
    uint32_t first = ++p->at;
    NL_TRY(nl_parse_expression(p, &column->default_value));
    column->default_text = nl_parser_text_between(p, first, p->at);
    return NULL;
}

static nl_status parse_new_column_option(nl_parser *p, uint32_t first, nl_ast_alter_column *column, bool *is_there)
{
    nl_token_kind kind = nl_parser_kind(p);
    *is_there = true;
    if (kind == NL_T_NOT || kind == NL_T_BANG) {
        bool is_again = column->is_not_null;
        NL_TRY(nl_parse_not(p));
        NL_TRY(nl_parser_expect(p, NL_T_NULL));
        column->is_not_null = true;
        return is_again ? refuse_duplicate_option(p, first, column, "NOT NULL") : NULL;
    }
    if (kind == NL_T_DEFAULT) {
        bool is_again = column->default_value != NULL;
        NL_TRY(parse_default(p, column));
        return is_again ? refuse_duplicate_option(p, first, column, "DEFAULT") : NULL;
    }
    if (kind == NL_T_COMMENT) {
        bool is_again = column->has_comment;
        NL_TRY(nl_parse_comment_clause(p, &column->has_comment, &column->comment));
        return is_again ? refuse_duplicate_option(p, first, column, "COMMENT") : NULL;
    }
    if (starts_position(p)) {
        bool is_again = column->position.kind != NL_AST_POSITION_UNSAID;
        NL_TRY(parse_position(p, &column->position));
        return is_again ? refuse_duplicate_option(p, first, column, "FIRST|AFTER") : NULL;
    }
    *is_there = false;
    return NULL;
}

/* a.b type [NOT NULL] [DEFAULT e] [COMMENT 's'] [FIRST | AFTER c], … */
static nl_status parse_new_columns(nl_parser *p, nl_ast_alter_table *alter)
{
    nl_list list = {0};
    do {
        uint32_t first = p->at;
        nl_ast_alter_column *column = NL_NEW(p->arena, nl_ast_alter_column);
        NL_TRY(nl_parse_name(p, &column->column));
        NL_TRY(nl_parse_type(p, &column->type));
        bool is_there = true;
        while (is_there) NL_TRY(parse_new_column_option(p, first, column, &is_there));
        column->range = nl_parser_range(p, first);
        nl_list_add(p->arena, &list, column);
    } while (nl_parser_take(p, NL_T_COMMA));
    alter->columns = NL_FLATTEN(p, &list, nl_ast_alter_column);
    alter->column_count = list.count;
    return NULL;
}

/* After ADD {COLUMN | COLUMNS}. */
static nl_status parse_add_columns(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_ADD_COLUMNS;
    bool has_parentheses = nl_parser_take(p, NL_T_LEFT_PAREN);
    NL_TRY(parse_new_columns(p, alter));
    if (!has_parentheses) return NULL;
    return nl_parser_is(p, NL_T_EOF) ? nl_parser_close(p) : nl_parser_need(p, NL_T_RIGHT_PAREN);
}

static nl_status parse_drop_columns(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_DROP_COLUMNS;
    NL_TRY(nl_parse_if_exists(p, &alter->is_if_exists));
    bool has_parentheses = nl_parser_take(p, NL_T_LEFT_PAREN);
    NL_TRY(nl_parse_names(p, &alter->names));
    return has_parentheses ? nl_parser_expect(p, NL_T_RIGHT_PAREN) : NULL;
}

/* One change: TYPE t, COMMENT 's', FIRST, AFTER c, SET|DROP NOT NULL, SET DEFAULT e, DROP DEFAULT. */
static nl_status parse_column_change(nl_parser *p, nl_ast_alter_column *column, bool *is_there)
{
    nl_token_kind kind = nl_parser_kind(p);
    nl_token_kind next = nl_parser_ahead(p, 1);
    *is_there = true;
    if (kind == NL_T_TYPE) {
        p->at++;
        return nl_parse_type(p, &column->type);
    }
    if (kind == NL_T_COMMENT) return nl_parse_comment_clause(p, &column->has_comment, &column->comment);
    if (starts_position(p)) return parse_position(p, &column->position);
    if (kind == NL_T_SET && next == NL_T_DEFAULT) {
        p->at++;
        return parse_default(p, column);
    }
    if (kind == NL_T_DROP && next == NL_T_DEFAULT) {
        p->at += 2;
        column->is_drop_default = true;
        return NULL;
    }
    *is_there = kind == NL_T_SET || kind == NL_T_DROP;
    if (!*is_there) return NULL;
    p->at++;
    NL_TRY(nl_parse_not(p));
    NL_TRY(nl_parser_expect(p, NL_T_NULL));
    column->is_not_null = kind == NL_T_SET;
    column->is_drop_not_null = kind == NL_T_DROP;
    return NULL;
}

static nl_status parse_column_changes(nl_parser *p, const char *verb, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_COLUMNS;
    nl_list list = {0};
    bool has_all_changes = true;
    do {
        uint32_t first = p->at;
        bool is_there;
        nl_ast_alter_column *column = NL_NEW(p->arena, nl_ast_alter_column);
        NL_TRY(nl_parse_name(p, &column->column));
        NL_TRY(parse_column_change(p, column, &is_there));
        has_all_changes &= is_there;
        column->range = nl_parser_range(p, first);
        nl_list_add(p->arena, &list, column);
    } while (nl_parser_take(p, NL_T_COMMA));
    alter->columns = NL_FLATTEN(p, &list, nl_ast_alter_column);
    alter->column_count = list.count;
    if (has_all_changes) return NULL;
    return nl_parser_not_allowed(
        p, NL_WHOLE_STATEMENT,
        nl_str_c(p->arena, nl_arena_f(p->arena, "ALTER TABLE table %s COLUMN requires a TYPE, a SET/DROP, a COMMENT, or a "
                                                "FIRST/AFTER", verb)));
}

static nl_status refuse_hive(nl_parser *p, const char *operation, const char *command, const char *message)
{
    return NL_REFUSE(p, NL_WHOLE_STATEMENT, _LEGACY_ERROR_TEMP_0034, NL_P("operation", operation),
                     NL_P("command", command), NL_P("msg", message));
}

/* Hive's CHANGE COLUMN a a type …: a name and a type behind the column. */
static bool is_hive_change(const nl_parser *p)
{
    uint32_t at = p->at + 1;
    while (nl_parser_kind_at(p, at) == NL_T_DOT && nl_parser_is_identifier_at(p, at + 1)) at += 2;
    bool has_two = nl_parser_is_identifier_at(p, at) && nl_parser_is_identifier_at(p, at + 1);
    if (!has_two) return false;
    nl_token_kind kind = nl_parser_kind_at(p, at);
    nl_token_kind next = nl_parser_kind_at(p, at + 1);
    bool is_change = kind == NL_T_TYPE || kind == NL_T_AFTER ||
                     ((kind == NL_T_SET || kind == NL_T_DROP) && (next == NL_T_NOT || next == NL_T_DEFAULT));
    return !is_change;
}

static nl_status parse_hive_change(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_CHANGE_COLUMN;
    nl_ast_alter_column *column = NL_NEW(p->arena, nl_ast_alter_column);
    nl_ast_field field = {0};
    uint32_t first = p->at;
    NL_TRY(nl_parse_name(p, &column->column));
    NL_TRY(nl_parse_field(p, &field));
    column->type = field.type;
    column->is_not_null = field.is_not_null;
    column->has_comment = field.has_comment;
    column->comment = field.comment;
    if (starts_position(p)) NL_TRY(parse_position(p, &column->position));
    column->range = nl_parser_range(p, first);
    alter->columns = column;
    alter->column_count = 1;
    alter->new_name = field.name;
    if (alter->partition)
        return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "ALTER TABLE ... PARTITION ... CHANGE COLUMN");
    nl_str old = column->column.parts[column->column.count - 1].text;
    if (!nl_str_equal(old, field.name.text))
        return refuse_hive(p, "Renaming column", "ALTER COLUMN", ", please run RENAME COLUMN instead");
    if (field.is_not_null)
        return refuse_hive(p, "NOT NULL", "ALTER COLUMN", ", please run ALTER COLUMN ... SET/DROP NOT NULL instead");
    return NULL;
}

static nl_status parse_replace_columns(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_REPLACE_COLUMNS;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(parse_new_columns(p, alter));
    NL_TRY(nl_parser_expect(p, NL_T_RIGHT_PAREN));
    if (alter->partition)
        return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "ALTER TABLE ... PARTITION ... REPLACE COLUMNS");
    for (uint32_t i = 0; i < alter->column_count; i++) {
        const nl_ast_alter_column *column = &alter->columns[i];
        if (column->column.count > 1) return refuse_hive(p, "Replacing with a nested column", "REPLACE COLUMNS", "");
        if (column->is_not_null) return refuse_hive(p, "NOT NULL", "REPLACE COLUMNS", "");
        if (column->position.kind != NL_AST_POSITION_UNSAID) return refuse_hive(p, "Column position", "REPLACE COLUMNS", "");
        if (column->default_value)
            return NL_REFUSE(p, NL_WHOLE_STATEMENT, UNSUPPORTED_DEFAULT_VALUE__WITHOUT_SUGGESTION);
    }
    return NULL;
}

/* ---- partitions ------------------------------------------------------------------------------------------------------------------ */

static nl_status parse_partition_list(nl_parser *p, nl_ast_alter_table *alter, bool has_locations)
{
    nl_list list = {0};
    do {
        nl_ast_alter_partition *partition = NL_NEW(p->arena, nl_ast_alter_partition);
        nl_ast_partition_spec *spec = NULL;
        if (!nl_parser_is(p, NL_T_PARTITION)) return nl_parser_syntax_error(p);
        NL_TRY(nl_parse_full_partition_spec(p, false, &spec));
        partition->spec = *spec;
        if (has_locations && nl_parser_take(p, NL_T_LOCATION)) NL_TRY(nl_parse_string(p, &partition->location));
        nl_list_add(p->arena, &list, partition);
    } while (has_locations ? nl_parser_is(p, NL_T_PARTITION) : nl_parser_take(p, NL_T_COMMA));
    alter->partitions = NL_FLATTEN(p, &list, nl_ast_alter_partition);
    alter->partition_count = list.count;
    return NULL;
}

static nl_status parse_add(nl_parser *p, nl_ast_alter_table *alter)
{
    p->at++;
    nl_token_kind kind = nl_parser_kind(p);
    if (!alter->is_view && (kind == NL_T_COLUMN || kind == NL_T_COLUMNS)) {
        p->at++;
        return parse_add_columns(p, alter);
    }
    alter->action = NL_AST_ALTER_ADD_PARTITIONS;
    NL_TRY(nl_parse_if_not_exists(p, &alter->is_if_not_exists));
    NL_TRY(parse_partition_list(p, alter, true));
    return alter->is_view ? nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "ALTER VIEW ... ADD PARTITION") : NULL;
}

static nl_status parse_drop(nl_parser *p, nl_ast_alter_table *alter)
{
    p->at++;
    nl_token_kind kind = nl_parser_kind(p);
    if (!alter->is_view && (kind == NL_T_COLUMN || kind == NL_T_COLUMNS)) {
        p->at++;
        return parse_drop_columns(p, alter);
    }
    alter->action = NL_AST_ALTER_DROP_PARTITIONS;
    NL_TRY(nl_parse_if_exists(p, &alter->is_if_exists));
    NL_TRY(parse_partition_list(p, alter, false));
    alter->is_purge = nl_parser_take(p, NL_T_PURGE);
    return alter->is_view ? nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, "ALTER VIEW ... DROP PARTITION") : NULL;
}

/* ---- RENAME, SET, UNSET ------------------------------------------------------------------------------------------------------------ */

static nl_status parse_rename(nl_parser *p, nl_ast_alter_table *alter)
{
    p->at++;
    if (alter->partition) {
        alter->action = NL_AST_ALTER_RENAME_PARTITION;
        NL_TRY(nl_parser_expect(p, NL_T_TO));
        return parse_partition_list(p, alter, false);
    }
    if (!alter->is_view && nl_parser_take(p, NL_T_COLUMN)) {
        alter->action = NL_AST_ALTER_RENAME_COLUMN;
        NL_TRY(nl_parse_name(p, &alter->column));
        NL_TRY(nl_parser_expect(p, NL_T_TO));
        return nl_parse_name_part(p, &alter->new_name);
    }
    alter->action = NL_AST_ALTER_RENAME_TABLE;
    if (!nl_parser_take(p, NL_T_TO)) return nl_parser_syntax_error(p);
    return nl_parse_name(p, &alter->rename_to);
}

static nl_status parse_set_properties(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_SET_PROPERTIES;
    p->at++;
    NL_TRY(nl_parse_properties(p, false, &alter->properties));
    NL_TRY(nl_parser_need_values(p, alter->properties));
    return nl_parser_check_table_properties(p, alter->properties);
}

static nl_status parse_unset(nl_parser *p, nl_ast_alter_table *alter)
{
    p->at++;
    alter->action = NL_AST_ALTER_UNSET_PROPERTIES;
    NL_TRY(nl_parser_expect(p, NL_T_TBLPROPERTIES));
    NL_TRY(nl_parse_if_exists(p, &alter->is_if_exists));
    NL_TRY(nl_parse_properties(p, false, &alter->properties));
    NL_TRY(nl_parser_need_keys_only(p, alter->properties));
    return nl_parser_check_table_properties(p, alter->properties);
}

static nl_status parse_set_serde(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_SET_SERDE;
    if (nl_parser_take(p, NL_T_SERDEPROPERTIES)) {
        NL_TRY(nl_parse_properties(p, false, &alter->properties));
        return nl_parser_need_values(p, alter->properties);
    }
    p->at++;
    NL_TRY(nl_parse_string(p, &alter->serde));
    if (!nl_parser_take_both(p, NL_T_WITH, NL_T_SERDEPROPERTIES)) return NULL;
    NL_TRY(nl_parse_properties(p, false, &alter->properties));
    return nl_parser_need_values(p, alter->properties);
}

static nl_status parse_set(nl_parser *p, nl_ast_alter_table *alter)
{
    p->at++;
    nl_token_kind kind = nl_parser_kind(p);
    if (kind == NL_T_TBLPROPERTIES && !alter->partition) return parse_set_properties(p, alter);
    if (alter->is_view) return nl_parser_syntax_error(p);
    if (kind == NL_T_SERDE || kind == NL_T_SERDEPROPERTIES) return parse_set_serde(p, alter);
    NL_TRY(nl_parser_expect(p, NL_T_LOCATION));
    alter->action = NL_AST_ALTER_SET_LOCATION;
    return nl_parse_string(p, &alter->location);
}

/* ---- ALTER TABLE ---------------------------------------------------------------------------------------------------------------------- */

/* Hive's forms that Spark names in its refusal: behind the table's name and perhaps a partition. */
static const struct {
    uint16_t words[4];
    bool may_have_partition;
} refused_forms[] = {
    {{NL_T_NOT, NL_T_CLUSTERED}, false},
    {{NL_T_CLUSTERED, NL_T_BY}, false},
    {{NL_T_NOT, NL_T_SORTED}, false},
    {{NL_T_SKEWED, NL_T_BY}, false},
    {{NL_T_NOT, NL_T_SKEWED}, false},
    {{NL_T_NOT, NL_T_STORED, NL_T_AS, NL_T_DIRECTORIES}, false},
    {{NL_T_SET, NL_T_SKEWED, NL_T_LOCATION}, false},
    {{NL_T_EXCHANGE, NL_T_PARTITION}, false},
    {{NL_T_ARCHIVE, NL_T_PARTITION}, false},
    {{NL_T_UNARCHIVE, NL_T_PARTITION}, false},
    {{NL_T_TOUCH}, false},
    {{NL_T_COMPACT}, true},
    {{NL_T_CONCATENATE}, true},
    {{NL_T_SET, NL_T_FILEFORMAT}, true},
};

static nl_status parse_refused_form(nl_parser *p, const nl_ast_alter_table *alter, bool *is_there)
{
    *is_there = false;
    if (alter->is_view || alter->name.count > 2) return NULL;
    for (size_t i = 0; i < NL_COUNT(refused_forms); i++) {
        const uint16_t *words = refused_forms[i].words;
        uint32_t count = 0;
        while (count < 4 && words[count] != NL_T_EOF && nl_parser_ahead(p, count) == (nl_token_kind)words[count]) count++;
        bool is_match = count > 0 && (count == 4 || words[count] == NL_T_EOF);
        if (!is_match || (alter->partition && !refused_forms[i].may_have_partition)) continue;
        nl_str operation = NL_STR("ALTER TABLE");
        for (uint32_t j = 0; j < count; j++)
            operation = nl_arena_f(p->arena, NL_STR_FMT " %s", NL_STR_ARG(operation),
                                   nl_token_text((nl_token_kind)words[j]));
        while (!nl_parser_is(p, NL_T_EOF) && !nl_parser_is(p, NL_T_SEMICOLON)) p->at++;
        *is_there = true;
        return nl_parser_invalid_clause(p, NL_WHOLE_STATEMENT, nl_str_c(p->arena, operation));
    }
    return NULL;
}

static nl_status parse_table_cluster(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_CLUSTER_BY;
    p->at++;
    NL_TRY(nl_parser_expect(p, NL_T_BY));
    if (nl_parser_take(p, NL_T_NONE)) return NULL;
    NL_TRY(nl_parser_expect(p, NL_T_LEFT_PAREN));
    NL_TRY(nl_parse_names(p, &alter->names));
    return nl_parser_expect(p, NL_T_RIGHT_PAREN);
}

static nl_status parse_table_column(nl_parser *p, nl_ast_alter_table *alter)
{
    bool is_change = nl_parser_is(p, NL_T_CHANGE);
    p->at++;
    nl_token_kind next = nl_parser_ahead(p, 1);
    bool has_word = nl_parser_is(p, NL_T_COLUMN) && nl_parser_is_identifier_at(p, p->at + 1) && next != NL_T_TYPE;
    if (has_word) p->at++;
    if (is_change && (alter->partition || is_hive_change(p))) return parse_hive_change(p, alter);
    return parse_column_changes(p, is_change ? "CHANGE" : "ALTER", alter);
}

static nl_status parse_table_action(nl_parser *p, nl_ast_alter_table *alter)
{
    nl_token_kind kind = nl_parser_kind(p);
    switch ((int)kind) {
    case NL_T_SET: return parse_set(p, alter);
    case NL_T_RENAME: return parse_rename(p, alter);
    case NL_T_CHANGE: return parse_table_column(p, alter);
    case NL_T_REPLACE:
        p->at++;
        NL_TRY(nl_parser_expect(p, NL_T_COLUMNS));
        return parse_replace_columns(p, alter);
    default: break;
    }
    if (alter->partition) return nl_parser_syntax_error(p);
    switch ((int)kind) {
    case NL_T_ADD: return parse_add(p, alter);
    case NL_T_DROP: return parse_drop(p, alter);
    case NL_T_UNSET: return parse_unset(p, alter);
    case NL_T_ALTER: return parse_table_column(p, alter);
    case NL_T_CLUSTER: return parse_table_cluster(p, alter);
    case NL_T_RECOVER:
        p->at++;
        alter->action = NL_AST_ALTER_RECOVER_PARTITIONS;
        return nl_parser_expect(p, NL_T_PARTITIONS);
    case NL_T_DEFAULT:
        p->at++;
        alter->action = NL_AST_ALTER_COLLATION;
        NL_TRY(nl_parser_expect(p, NL_T_COLLATION));
        return nl_parse_identifier(p, &alter->new_name);
    default: return nl_parser_syntax_error(p);
    }
}

static nl_status parse_alter_table(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_alter_table *alter = NL_NEW(p->arena, nl_ast_alter_table);
    p->at++;
    NL_TRY(nl_parse_name_reference(p, &alter->name));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_ALTER_TABLE);
    (*statement)->alter_table = alter;
    bool is_there;
    NL_TRY(nl_parse_iceberg_alter(p, alter, &is_there));
    if (is_there) return NULL;
    NL_TRY(nl_parse_full_partition_spec(p, false, &alter->partition));
    NL_TRY(parse_refused_form(p, alter, &is_there));
    return is_there ? NULL : parse_table_action(p, alter);
}

/* ---- ALTER VIEW and NAMESPACE ------------------------------------------------------------------------------------------------------------ */

static nl_status parse_alter_view(nl_parser *p, nl_ast_statement **statement)
{
    p->at++;
    nl_ast_name name;
    NL_TRY(nl_parse_name_reference(p, &name));
    nl_token_kind kind = nl_parser_kind(p);
    bool is_table_form = kind == NL_T_RENAME || kind == NL_T_SET || kind == NL_T_UNSET || kind == NL_T_ADD || kind == NL_T_DROP;
    if (is_table_form) {
        nl_ast_alter_table *alter = NL_NEW(p->arena, nl_ast_alter_table);
        alter->is_view = true;
        alter->name = name;
        *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_ALTER_TABLE);
        (*statement)->alter_table = alter;
        return parse_table_action(p, alter);
    }
    nl_ast_alter_view *alter = NL_NEW(p->arena, nl_ast_alter_view);
    alter->name = name;
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_ALTER_VIEW);
    (*statement)->alter_view = alter;
    if (nl_parser_are(p, NL_T_WITH, NL_T_SCHEMA)) return nl_parse_schema_binding(p, &alter->binding);
    nl_parser_take(p, NL_T_AS);
    uint32_t first = p->at;
    NL_TRY(nl_parse_query(p, &alter->query));
    alter->query_text = nl_parser_text_between(p, first, p->at);
    return NULL;
}

static nl_status parse_alter_namespace(nl_parser *p, nl_ast_statement **statement)
{
    nl_ast_alter_namespace *alter = NL_NEW(p->arena, nl_ast_alter_namespace);
    p->at++;
    NL_TRY(nl_parse_name_reference(p, &alter->name));
    *statement = nl_parser_new_statement(p, NL_AST_STATEMENT_ALTER_NAMESPACE);
    (*statement)->alter_namespace = alter;
    bool is_unset = nl_parser_take(p, NL_T_UNSET);
    if (!is_unset) NL_TRY(nl_parser_expect(p, NL_T_SET));
    if (!is_unset && nl_parser_take(p, NL_T_LOCATION)) {
        alter->action = NL_AST_NAMESPACE_SET_LOCATION;
        return nl_parse_string(p, &alter->location);
    }
    if (!nl_parser_take(p, NL_T_PROPERTIES) && !nl_parser_take(p, NL_T_DBPROPERTIES)) return nl_parser_syntax_error(p);
    alter->action = is_unset ? NL_AST_NAMESPACE_UNSET_PROPERTIES : NL_AST_NAMESPACE_SET_PROPERTIES;
    NL_TRY(nl_parse_properties(p, false, &alter->properties));
    NL_TRY(is_unset ? nl_parser_need_keys_only(p, alter->properties) : nl_parser_need_values(p, alter->properties));
    return nl_parser_check_namespace_properties(p, alter->properties);
}

nl_status nl_parse_alter(nl_parser *p, nl_ast_statement **statement)
{
    p->at++;
    nl_token_kind kind = nl_parser_kind(p);
    if (kind == NL_T_TABLE) return parse_alter_table(p, statement);
    if (kind == NL_T_VIEW) return parse_alter_view(p, statement);
    if (nl_parser_is_namespace_word(kind)) return parse_alter_namespace(p, statement);
    return nl_parser_syntax_error(p);
}

/* sql/print_write.c - INSERT, DELETE, UPDATE, MERGE as text. */
#include "sql/print.h"

void nl_print_partition_spec(nl_builder *out, const nl_ast_partition_spec *spec)
{
    if (!spec) return;
    nl_append_c(out, " PARTITION (");
    for (uint32_t i = 0; i < spec->count; i++) {
        const nl_ast_partition_value *value = &spec->items[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_print_ident(out, &value->name);
        if (value->is_default) nl_append_c(out, " = DEFAULT");
        if (!value->value) continue;
        nl_append_c(out, " = ");
        nl_sql_print_expr(out, value->value);
    }
    nl_append_char(out, ')');
}

static void print_directory(nl_builder *out, const nl_ast_insert_target *target)
{
    nl_append_c(out, target->is_local ? "LOCAL DIRECTORY" : "DIRECTORY");
    if (target->path.data) {
        nl_append_char(out, ' ');
        nl_print_string(out, target->path);
    }
    if (target->provider.count > 0) {
        nl_append_c(out, " USING ");
        nl_sql_print_name(out, &target->provider);
    }
    if (target->directory_options) {
        nl_append_c(out, " OPTIONS ");
        nl_print_properties(out, target->directory_options);
    }
    nl_print_row_format(out, target->row_format);
    nl_print_file_format(out, target->file_format);
}

static void print_target(nl_builder *out, const nl_ast_insert_target *target)
{
    nl_append_c(out, target->is_overwrite ? "INSERT OVERWRITE " : "INSERT INTO ");
    if (target->is_directory) {
        print_directory(out, target);
        return;
    }
    nl_sql_print_name(out, &target->table);
    if (target->options) {
        nl_append_c(out, " WITH ");
        nl_print_properties(out, target->options);
    }
    if (target->replace_where) {
        nl_append_c(out, " REPLACE WHERE ");
        nl_sql_print_expr(out, target->replace_where);
    }
    nl_print_partition_spec(out, target->partition);
    if (target->is_if_not_exists) nl_append_c(out, " IF NOT EXISTS");
    if (target->is_by_name) nl_append_c(out, " BY NAME");
    if (target->columns.count == 0) return;
    nl_append_char(out, ' ');
    nl_print_ident_list(out, &target->columns);
}

static void print_multi_insert(nl_builder *out, const nl_ast_multi_insert *multi)
{
    nl_print_ctes(out, &multi->ctes);
    nl_append_c(out, "FROM ");
    nl_print_relation(out, multi->from);
    for (uint32_t i = 0; i < multi->count; i++) {
        nl_append_char(out, ' ');
        print_target(out, &multi->targets[i]);
        nl_append_char(out, ' ');
        nl_print_query_without_from(out, multi->queries[i], multi->from);
    }
}

static void print_where(nl_builder *out, const nl_ast_expr *where)
{
    if (!where) return;
    nl_append_c(out, " WHERE ");
    nl_sql_print_expr(out, where);
}

static void print_merge_clause(nl_builder *out, const nl_ast_merge_clause *clause)
{
    static const char *const words[] = {" WHEN MATCHED", " WHEN NOT MATCHED", " WHEN NOT MATCHED BY SOURCE"};
    nl_append_c(out, words[clause->when]);
    if (clause->condition) {
        nl_append_c(out, " AND ");
        nl_sql_print_expr(out, clause->condition);
    }
    switch (clause->action) {
    case NL_AST_MERGE_DELETE: nl_append_c(out, " THEN DELETE"); break;
    case NL_AST_MERGE_UPDATE_STAR: nl_append_c(out, " THEN UPDATE SET *"); break;
    case NL_AST_MERGE_INSERT_STAR: nl_append_c(out, " THEN INSERT *"); break;
    case NL_AST_MERGE_UPDATE:
        nl_append_c(out, " THEN UPDATE SET ");
        nl_print_assignments(out, &clause->assignments);
        break;
    case NL_AST_MERGE_INSERT:
        nl_append_c(out, " THEN INSERT (");
        nl_print_names(out, &clause->columns);
        nl_append_c(out, ") VALUES (");
        nl_print_exprs(out, &clause->values);
        nl_append_char(out, ')');
        break;
    }
}

static void print_merge(nl_builder *out, const nl_ast_merge *merge)
{
    nl_print_ctes(out, &merge->ctes);
    nl_append_c(out, merge->is_schema_evolution ? "MERGE WITH SCHEMA EVOLUTION INTO " : "MERGE INTO ");
    nl_sql_print_name(out, &merge->table);
    nl_print_table_alias(out, &merge->alias);
    nl_append_c(out, " USING ");
    if (merge->source_query) {
        nl_append_char(out, '(');
        nl_sql_print_query(out, merge->source_query);
        nl_append_char(out, ')');
    } else {
        nl_sql_print_name(out, &merge->source_table);
    }
    nl_print_table_alias(out, &merge->source_alias);
    nl_append_c(out, " ON ");
    nl_sql_print_expr(out, merge->condition);
    for (uint32_t i = 0; i < merge->clause_count; i++) print_merge_clause(out, &merge->clauses[i]);
}

static void print_delete(nl_builder *out, const nl_ast_delete *node)
{
    nl_print_ctes(out, &node->ctes);
    nl_append_c(out, "DELETE FROM ");
    nl_sql_print_name(out, &node->table);
    nl_print_table_alias(out, &node->alias);
    print_where(out, node->where);
}

static void print_update(nl_builder *out, const nl_ast_update *node)
{
    nl_print_ctes(out, &node->ctes);
    nl_append_c(out, "UPDATE ");
    nl_sql_print_name(out, &node->table);
    nl_print_table_alias(out, &node->alias);
    nl_append_c(out, " SET ");
    nl_print_assignments(out, &node->assignments);
    print_where(out, node->where);
}

void nl_print_write(nl_builder *out, const nl_ast_statement *statement)
{
    switch ((int)statement->kind) {
    case NL_AST_STATEMENT_INSERT:
        nl_print_ctes(out, &statement->insert->ctes);
        print_target(out, &statement->insert->target);
        nl_append_char(out, ' ');
        nl_sql_print_query(out, statement->insert->query);
        break;
    case NL_AST_STATEMENT_MULTI_INSERT: print_multi_insert(out, statement->multi_insert); break;
    case NL_AST_STATEMENT_DELETE: print_delete(out, statement->delete); break;
    case NL_AST_STATEMENT_UPDATE: print_update(out, statement->update); break;
    default: print_merge(out, statement->merge); break;
    }
}

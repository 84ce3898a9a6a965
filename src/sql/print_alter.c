/* sql/print_alter.c - ALTER TABLE as text: columns, properties, partitions, and Iceberg's own forms. */
#include "sql/print.h"

static void print_string_after(nl_builder *out, const char *words, nl_str text)
{
    nl_append_c(out, words);
    nl_print_string(out, text);
}

static void print_properties_after(nl_builder *out, const char *words, const nl_ast_properties *properties)
{
    if (!properties) return;
    nl_append_c(out, words);
    nl_print_properties(out, properties);
}

static void print_ident_after(nl_builder *out, const char *words, const nl_ast_ident *ident)
{
    if (!ident->text.data) return;
    nl_append_c(out, words);
    nl_print_ident(out, ident);
}

/* ---- columns -------------------------------------------------------------------------------------------------------------------- */

static void print_position(nl_builder *out, const nl_ast_column_position *position)
{
    if (position->kind == NL_AST_POSITION_FIRST) nl_append_c(out, " FIRST");
    if (position->kind == NL_AST_POSITION_AFTER) print_ident_after(out, " AFTER ", &position->after);
}

static void print_new_columns(nl_builder *out, const nl_ast_alter_table *alter)
{
    nl_append_char(out, '(');
    for (uint32_t i = 0; i < alter->column_count; i++) {
        const nl_ast_alter_column *column = &alter->columns[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_sql_print_name(out, &column->column);
        nl_append_char(out, ' ');
        nl_sql_print_type(out, column->type);
        if (column->is_not_null) nl_append_c(out, " NOT NULL");
        if (column->default_value) {
            nl_append_c(out, " DEFAULT ");
            nl_sql_print_expr(out, column->default_value);
        }
        if (column->has_comment) print_string_after(out, " COMMENT ", column->comment);
        print_position(out, &column->position);
    }
    nl_append_char(out, ')');
}

static void print_changes(nl_builder *out, const nl_ast_alter_table *alter)
{
    nl_append_c(out, " ALTER COLUMN ");
    for (uint32_t i = 0; i < alter->column_count; i++) {
        const nl_ast_alter_column *column = &alter->columns[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_sql_print_name(out, &column->column);
        if (column->type) {
            nl_append_c(out, " TYPE ");
            nl_sql_print_type(out, column->type);
        }
        if (column->has_comment) print_string_after(out, " COMMENT ", column->comment);
        if (column->is_not_null) nl_append_c(out, " SET NOT NULL");
        if (column->is_drop_not_null) nl_append_c(out, " DROP NOT NULL");
        if (column->is_drop_default) nl_append_c(out, " DROP DEFAULT");
        if (column->default_value) {
            nl_append_c(out, " SET DEFAULT ");
            nl_sql_print_expr(out, column->default_value);
        }
        print_position(out, &column->position);
    }
}

static void print_hive_change(nl_builder *out, const nl_ast_alter_table *alter)
{
    const nl_ast_alter_column *column = alter->columns;
    nl_append_c(out, " CHANGE COLUMN ");
    nl_sql_print_name(out, &column->column);
    print_ident_after(out, " ", &alter->new_name);
    nl_append_char(out, ' ');
    nl_sql_print_type(out, column->type);
    if (column->is_not_null) nl_append_c(out, " NOT NULL");
    if (column->has_comment) print_string_after(out, " COMMENT ", column->comment);
    print_position(out, &column->position);
}

static void print_partitions(nl_builder *out, const nl_ast_alter_table *alter, const char *separator)
{
    for (uint32_t i = 0; i < alter->partition_count; i++) {
        if (i > 0) nl_append_c(out, separator);
        nl_print_partition_spec(out, &alter->partitions[i].spec);
        if (alter->partitions[i].location.data) print_string_after(out, " LOCATION ", alter->partitions[i].location);
    }
}

/* ---- Iceberg --------------------------------------------------------------------------------------------------------------------- */

static void print_write(nl_builder *out, const nl_ast_write_spec *write)
{
    nl_append_c(out, " WRITE");
    if (write->is_distributed) nl_append_c(out, " DISTRIBUTED BY PARTITION");
    if (write->is_unordered) nl_append_c(out, " UNORDERED");
    if (!write->is_ordered) return;
    nl_append_c(out, write->is_locally ? " LOCALLY ORDERED BY " : " ORDERED BY ");
    for (uint32_t i = 0; i < write->order_count; i++) {
        const nl_ast_write_order *order = &write->orders[i];
        if (i > 0) nl_append_c(out, ", ");
        nl_print_partition_field(out, &order->field);
        if (order->has_direction) nl_append_c(out, order->is_descending ? " DESC" : " ASC");
        if (order->has_nulls) nl_append_c(out, order->is_nulls_first ? " NULLS FIRST" : " NULLS LAST");
    }
}

static void print_duration(nl_builder *out, const char *words, int64_t value, nl_ast_time_unit unit)
{
    static const char *const units[] = {"", "MINUTES", "HOURS", "DAYS"};
    if (unit != NL_AST_TIME_NONE) nl_append_f(out, "%s%lld %s", words, (long long)value, units[unit]);
}

static void print_ref(nl_builder *out, const nl_ast_ref_options *ref)
{
    nl_append_c(out, !ref->is_create ? " REPLACE" : ref->is_replace ? " CREATE OR REPLACE" : " CREATE");
    nl_append_c(out, ref->is_tag ? " TAG " : " BRANCH ");
    if (ref->is_if_not_exists) nl_append_c(out, "IF NOT EXISTS ");
    nl_print_ident(out, &ref->name);
    if (ref->has_version) nl_append_f(out, " AS OF VERSION %lld", (long long)ref->version);
    print_duration(out, " RETAIN ", ref->retain, ref->retain_unit);
    if (!ref->has_snapshot_retention) return;
    nl_append_c(out, " WITH SNAPSHOT RETENTION");
    if (ref->has_min_snapshots) nl_append_f(out, " %lld SNAPSHOTS", (long long)ref->min_snapshots);
    print_duration(out, " ", ref->max_age, ref->max_age_unit);
}

static void print_iceberg(nl_builder *out, const nl_ast_alter_table *alter)
{
    switch ((int)alter->action) {
    case NL_AST_ALTER_ADD_PARTITION_FIELD: nl_append_c(out, " ADD PARTITION FIELD "); break;
    case NL_AST_ALTER_DROP_PARTITION_FIELD: nl_append_c(out, " DROP PARTITION FIELD "); break;
    case NL_AST_ALTER_REPLACE_PARTITION_FIELD: nl_append_c(out, " REPLACE PARTITION FIELD "); break;
    case NL_AST_ALTER_WRITE: print_write(out, alter->write); return;
    case NL_AST_ALTER_SET_IDENTIFIER_FIELDS:
        nl_append_c(out, " SET IDENTIFIER FIELDS ");
        nl_print_names(out, &alter->names);
        return;
    case NL_AST_ALTER_DROP_IDENTIFIER_FIELDS:
        nl_append_c(out, " DROP IDENTIFIER FIELDS ");
        nl_print_names(out, &alter->names);
        return;
    case NL_AST_ALTER_CREATE_REF: print_ref(out, alter->ref); return;
    default:
        nl_append_c(out, alter->ref->is_tag ? " DROP TAG " : " DROP BRANCH ");
        if (alter->is_if_exists) nl_append_c(out, "IF EXISTS ");
        nl_print_ident(out, &alter->ref->name);
        return;
    }
    nl_print_partition_field(out, alter->field);
    if (alter->by) {
        nl_append_c(out, " WITH ");
        nl_print_partition_field(out, alter->by);
    }
    print_ident_after(out, " AS ", &alter->new_name);
}

/* ---- ALTER TABLE ------------------------------------------------------------------------------------------------------------------- */

static void print_column_action(nl_builder *out, const nl_ast_alter_table *alter)
{
    switch ((int)alter->action) {
    case NL_AST_ALTER_ADD_COLUMNS:
        nl_append_c(out, " ADD COLUMNS ");
        print_new_columns(out, alter);
        break;
    case NL_AST_ALTER_REPLACE_COLUMNS:
        nl_append_c(out, " REPLACE COLUMNS ");
        print_new_columns(out, alter);
        break;
    case NL_AST_ALTER_RENAME_COLUMN:
        nl_append_c(out, " RENAME COLUMN ");
        nl_sql_print_name(out, &alter->column);
        print_ident_after(out, " TO ", &alter->new_name);
        break;
    case NL_AST_ALTER_DROP_COLUMNS:
        nl_append_c(out, alter->is_if_exists ? " DROP COLUMNS IF EXISTS (" : " DROP COLUMNS (");
        nl_print_names(out, &alter->names);
        nl_append_char(out, ')');
        break;
    case NL_AST_ALTER_COLUMNS: print_changes(out, alter); break;
    default: print_hive_change(out, alter); break;
    }
}

static void print_partition_action(nl_builder *out, const nl_ast_alter_table *alter)
{
    switch ((int)alter->action) {
    case NL_AST_ALTER_ADD_PARTITIONS:
        nl_append_c(out, alter->is_if_not_exists ? " ADD IF NOT EXISTS" : " ADD");
        print_partitions(out, alter, "");
        break;
    case NL_AST_ALTER_RENAME_PARTITION:
        nl_append_c(out, " RENAME TO");
        print_partitions(out, alter, "");
        break;
    case NL_AST_ALTER_DROP_PARTITIONS:
        nl_append_c(out, alter->is_if_exists ? " DROP IF EXISTS" : " DROP");
        print_partitions(out, alter, ",");
        if (alter->is_purge) nl_append_c(out, " PURGE");
        break;
    default: nl_append_c(out, " RECOVER PARTITIONS"); break;
    }
}

static void print_cluster_by(nl_builder *out, const nl_ast_alter_table *alter)
{
    if (alter->names.count == 0) {
        nl_append_c(out, " CLUSTER BY NONE");
        return;
    }
    nl_append_c(out, " CLUSTER BY (");
    nl_print_names(out, &alter->names);
    nl_append_char(out, ')');
}

static void print_serde(nl_builder *out, const nl_ast_alter_table *alter)
{
    if (!alter->serde.data) {
        print_properties_after(out, " SET SERDEPROPERTIES ", alter->properties);
        return;
    }
    print_string_after(out, " SET SERDE ", alter->serde);
    print_properties_after(out, " WITH SERDEPROPERTIES ", alter->properties);
}

void nl_print_alter_table(nl_builder *out, const nl_ast_alter_table *alter)
{
    nl_append_c(out, alter->is_view ? "ALTER VIEW " : "ALTER TABLE ");
    nl_sql_print_name(out, &alter->name);
    nl_print_partition_spec(out, alter->partition);
    switch (alter->action) {
    case NL_AST_ALTER_ADD_COLUMNS:
    case NL_AST_ALTER_RENAME_COLUMN:
    case NL_AST_ALTER_DROP_COLUMNS:
    case NL_AST_ALTER_COLUMNS:
    case NL_AST_ALTER_CHANGE_COLUMN:
    case NL_AST_ALTER_REPLACE_COLUMNS: print_column_action(out, alter); break;
    case NL_AST_ALTER_RENAME_TABLE:
        nl_append_c(out, " RENAME TO ");
        nl_sql_print_name(out, &alter->rename_to);
        break;
    case NL_AST_ALTER_SET_PROPERTIES: print_properties_after(out, " SET TBLPROPERTIES ", alter->properties); break;
    case NL_AST_ALTER_UNSET_PROPERTIES:
        print_properties_after(out, alter->is_if_exists ? " UNSET TBLPROPERTIES IF EXISTS " : " UNSET TBLPROPERTIES ",
                               alter->properties);
        break;
    case NL_AST_ALTER_SET_SERDE: print_serde(out, alter); break;
    case NL_AST_ALTER_ADD_PARTITIONS:
    case NL_AST_ALTER_RENAME_PARTITION:
    case NL_AST_ALTER_DROP_PARTITIONS:
    case NL_AST_ALTER_RECOVER_PARTITIONS: print_partition_action(out, alter); break;
    case NL_AST_ALTER_SET_LOCATION: print_string_after(out, " SET LOCATION ", alter->location); break;
    case NL_AST_ALTER_CLUSTER_BY: print_cluster_by(out, alter); break;
    case NL_AST_ALTER_COLLATION: print_ident_after(out, " DEFAULT COLLATION ", &alter->new_name); break;
    case NL_AST_ALTER_ADD_PARTITION_FIELD:
    case NL_AST_ALTER_DROP_PARTITION_FIELD:
    case NL_AST_ALTER_REPLACE_PARTITION_FIELD:
    case NL_AST_ALTER_WRITE:
    case NL_AST_ALTER_SET_IDENTIFIER_FIELDS:
    case NL_AST_ALTER_DROP_IDENTIFIER_FIELDS:
    case NL_AST_ALTER_CREATE_REF:
    case NL_AST_ALTER_DROP_REF: print_iceberg(out, alter); break;
    }
}

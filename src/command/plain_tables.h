/* command/plain_tables.h - tables over plain files in the session catalog: CREATE TABLE … USING parquet, csv, json and what may be
 * done with them. session/plain_tables.h keeps them; their partitions are folders, of which the table has a list, as in Spark.
 */
#pragma once

#include "command/command_private.h"
#include "session/plain_tables.h"

struct nl_file_layout;

/* USING names a format of files and the name is spark_catalog's: the table is none of Iceberg's. */
bool nl_plain_is_wanted(nl_command *command, const nl_session_name *name, const nl_ast_name *provider);
/* The table, or NULL: the session's own (borrowed from it), or one that spark_catalog's Hive metastore keeps. */
NL_MUST_USE nl_status nl_plain_find(nl_command *command, const nl_session_name *name, const nl_plain_table **table);
/* Refuses to change a table that a metastore keeps. */
NL_MUST_USE nl_status nl_plain_check_own(nl_command *command, const nl_plain_table *table);
NL_MUST_USE nl_status nl_plain_find_name(nl_command *command, const nl_ast_name *name, const nl_plain_table **table);
nl_str nl_plain_quoted(nl_command *command, const nl_plain_table *table); /* "`spark_catalog`.`default`.`t`" */

NL_MUST_USE nl_status nl_plain_source(nl_command *command, const nl_plain_table *table, const nl_table **source); /* *source counted */
NL_MUST_USE nl_status nl_plain_create_like(nl_command *command, const nl_ast_statement *statement); /* CREATE TABLE … LIKE */
NL_MUST_USE nl_status nl_plain_create(nl_command *command, const nl_ast_create_table *create, const nl_session_name *name);
bool nl_plain_is_read(const nl_command *command, const nl_plain_table *table); /* by the statement, as far as it was analyzed */
NL_MUST_USE nl_status nl_plain_drop(nl_command *command, const nl_plain_table *table);
NL_MUST_USE nl_status nl_plain_truncate(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition);
/* input: rows of the table's row type. */
NL_MUST_USE nl_status nl_plain_write(nl_command *command, const nl_plain_table *table, const nl_logical *input, bool is_overwrite, const nl_ast_partition_spec *partition);
/* PARTITION (…) of an INSERT: partition columns only, static ones first. */
NL_MUST_USE nl_status nl_plain_check_partition(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition);

/* A column's DEFAULT: a constant that the column can hold. statement: "CREATE TABLE". INVALID_DEFAULT_VALUE. */
NL_MUST_USE nl_status nl_plain_check_default(nl_command *command, const char *statement, const nl_field *field, nl_str text);
/* The default as an expression; NULL when the column has none. */
NL_MUST_USE nl_status nl_plain_default(nl_command *command, const nl_plain_table *table, uint32_t column, nl_ast_expr **expr);
NL_MUST_USE nl_status nl_plain_analyze(nl_command *command, const nl_plain_table *table, const nl_ast_analyze *analyze); /* ANALYZE TABLE */
const nl_plain_statistics *nl_plain_statistics_of(const nl_plain_table *table, nl_str folder); /* or NULL */

/* The partition that a whole specification names; PARTITIONS_NOT_FOUND, _LEGACY_ERROR_TEMP_1232. */
NL_MUST_USE nl_status nl_plain_find_partition(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *spec, nl_str *folder);
/* The rows after the columns, of DESCRIBE [EXTENDED]. */
NL_MUST_USE nl_status nl_plain_describe(nl_command *command, const nl_plain_table *table, bool is_extended, nl_rows *rows);
NL_MUST_USE nl_status nl_plain_describe_partition(nl_command *command, const nl_plain_table *table, nl_str folder, nl_rows *rows); /* EXTENDED */
/* DESCRIBE EXTENDED … AS JSON of a table, perhaps of one partition (folder.data NULL: none), and of a view. */
NL_MUST_USE nl_status nl_plain_describe_json(nl_command *command, const nl_plain_table *table, nl_str folder);
NL_MUST_USE nl_status nl_view_describe_json(nl_command *command, const nl_temp_view *view, const nl_type *row_type);
nl_str nl_plain_information(nl_command *command, const nl_plain_table *table, nl_str folder); /* SHOW TABLE EXTENDED; folder.data NULL: the table */
nl_str nl_plain_create_text(nl_command *command, const nl_plain_table *table); /* SHOW CREATE TABLE */
NL_MUST_USE nl_status nl_plain_show_partitions(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition);
NL_MUST_USE nl_status nl_plain_alter(nl_command *command, const nl_plain_table *table, const nl_ast_alter_table *alter);
NL_MUST_USE nl_status nl_plain_comment(nl_command *command, const nl_plain_table *table, nl_str comment); /* COMMENT ON TABLE */
NL_MUST_USE nl_status nl_plain_repair(nl_command *command, const nl_plain_table *table, bool adds, bool drops); /* MSCK REPAIR TABLE */

/* Partitions by what a specification says of them: `pieces` has "b=x" for the columns that it names with a value, else data NULL. */
NL_MUST_USE nl_status nl_plain_pieces(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition, nl_str **pieces);
bool nl_plain_matches(const nl_plain_table *table, nl_str folder, const nl_str *pieces);
/* The table with other partitions: put into the session; what other sessions have changed since it was found stays. folders: any
 * order, repeated ones once. */
NL_MUST_USE nl_status nl_plain_put_folders(nl_command *command, const nl_plain_table *table, nl_str *folders, uint32_t count);
NL_MUST_USE nl_status nl_plain_check_part(nl_str part); /* of a managed table's path: no "..", no slash */
/* Where managed tables of a namespace lie: "<warehouse>/db.db". */
NL_MUST_USE nl_status nl_plain_namespace_folder(nl_command *command, const nl_str *parts, uint32_t part_count, nl_str *folder);
nl_str nl_plain_folder_path(nl_command *command, const nl_plain_table *table, nl_str folder);

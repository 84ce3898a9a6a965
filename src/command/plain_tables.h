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
NL_MUST_USE nl_status nl_plain_create(nl_command *command, const nl_ast_create_table *create, const nl_session_name *name);
NL_MUST_USE nl_status nl_plain_drop(nl_command *command, const nl_plain_table *table);
NL_MUST_USE nl_status nl_plain_truncate(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition);
/* input: rows of the table's row type. */
NL_MUST_USE nl_status nl_plain_write(nl_command *command, const nl_plain_table *table, const nl_logical *input, bool is_overwrite, const nl_ast_partition_spec *partition);
/* PARTITION (…) of an INSERT: partition columns only, static ones first. */
NL_MUST_USE nl_status nl_plain_check_partition(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition);

/* The rows after the columns, of DESCRIBE [EXTENDED]. */
NL_MUST_USE nl_status nl_plain_describe(nl_command *command, const nl_plain_table *table, bool is_extended, nl_rows *rows);
nl_str nl_plain_create_text(nl_command *command, const nl_plain_table *table); /* SHOW CREATE TABLE */
NL_MUST_USE nl_status nl_plain_show_partitions(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition);
NL_MUST_USE nl_status nl_plain_alter(nl_command *command, const nl_plain_table *table, const nl_ast_alter_table *alter);
NL_MUST_USE nl_status nl_plain_repair(nl_command *command, const nl_plain_table *table, bool adds, bool drops); /* MSCK REPAIR TABLE */

/* Partitions by what a specification says of them: `pieces` has "b=x" for the columns that it names with a value, else data NULL. */
NL_MUST_USE nl_status nl_plain_pieces(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition, nl_str **pieces);
bool nl_plain_matches(const nl_plain_table *table, nl_str folder, const nl_str *pieces);
/* The table with other partitions: put into the session. folders: any order, repeated ones once. */
NL_MUST_USE nl_status nl_plain_put_folders(nl_command *command, const nl_plain_table *table, nl_str *folders, uint32_t count);
NL_MUST_USE nl_status nl_plain_check_part(nl_str part); /* of a managed table's path: no "..", no slash */
nl_str nl_plain_folder_path(nl_command *command, const nl_plain_table *table, nl_str folder);

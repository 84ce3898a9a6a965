/* command/write.h - what all statements that write Iceberg tables share: the target, the run, the commit. */
#pragma once

#include "command/command_private.h"
#include "exec/sinks.h"
#include "iceberg/operation.h"

typedef struct nl_write_table { /* the table of INSERT, DELETE, UPDATE, MERGE */
    nl_iceberg_table *table;           /* counted: nl_write_table_fini */
    const nl_table_metadata *metadata; /* counted */
    const nl_snapshot *snapshot;       /* of the target branch; NULL: empty */
    nl_str branch;                     /* empty: main */
    nl_str staged_wap_id;              /* spark.wap.id, where the table allows it */
    nl_str name;                       /* `lake`.`db`.`t`, for messages */
    const nl_type *row_type;           /* of the current schema, with field ids */
    const nl_str *name_parts;          /* catalog, namespace, table */
    uint32_t name_count;
} nl_write_table;

/* Opens t, or t.branch_x. TABLE_OR_VIEW_NOT_FOUND; writing to a tag or snapshot is refused. */
NL_MUST_USE nl_status nl_write_table_open(nl_command *command, const nl_ast_name *name, nl_write_table *target);
/* The same for a table that is being created (CTAS, RTAS). Takes table. */
NL_MUST_USE nl_status nl_write_table_of(nl_command *command, nl_iceberg_table *table, nl_str name, nl_write_table *target);
void nl_write_table_fini(nl_write_table *target); /* zeroed is fine */

/* Session confs and statement options that a write obeys. */
nl_write_options nl_write_options_of(nl_command *command, const nl_ast_properties *options);

/* Runs `input` (rows of row_type, already store-assigned) into data files. The files are kept; see nl_commit_files. */
NL_MUST_USE nl_status nl_write_rows(nl_command *command, const nl_write_table *target, const nl_write_options *options, const nl_logical *input,
                                    nl_iceberg_sink **sink, nl_written_files *files);
/* Commits `operation` (completed with branch, WAP id, files and summary) and frees the sink. A clean failure removes the
 * files that were written; an unknown outcome keeps them. */
NL_MUST_USE nl_status nl_commit_files(nl_command *command, const nl_write_table *target, nl_operation *operation, nl_iceberg_sink *sink,
                                      const nl_written_files *files);

/* insert.c: what INSERT would do, as EXPLAIN shows it; *is_shown false: it is no INSERT into a table. */
NL_MUST_USE nl_status nl_explain_insert(nl_command *command, const nl_ast_statement *statement, nl_builder *out, bool *is_shown);

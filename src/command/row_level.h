/* command/row_level.h - what DELETE, UPDATE and MERGE share: the target as a relation, copy-on-write and merge-on-read.
 *
 * Copy-on-write rewrites the data files that hold affected rows; merge-on-read writes the affected rows' positions as
 * deletes and new versions as new data. The table's write.{delete,update,merge}.mode decides.
 */
#pragma once

#include "command/write.h"
#include "exec/sources.h"
#include "iceberg/scan_planning.h"

typedef struct nl_row_level {
    nl_command *command;
    nl_write_table target;
    const char *verb;          /* "delete", "update", "merge": of the properties */
    const nl_str *qualifier;   /* names that columns of the target answer to */
    uint32_t qualifier_count;
    nl_scan_plan *plan;        /* all files of the snapshot; made on demand */
    bool has_clusters;         /* rows for nl_row_level_replace end with their cluster (file_clusters.h) */
} nl_row_level;

NL_MUST_USE nl_status nl_row_level_open(nl_command *command, const char *verb, const nl_ast_name *name, const nl_ast_table_alias *alias, nl_row_level *self);
void nl_row_level_close(nl_row_level *self);
NL_MUST_USE nl_status nl_row_level_is_merge_on_read(const nl_row_level *self, bool *is_merge_on_read);

/* A scan of the target with fresh column ids; files: only these (sorted), when is_restricted. */
NL_MUST_USE nl_status nl_row_level_scan(nl_row_level *self, bool is_restricted, const nl_str *files, uint32_t file_count, const nl_logical **scan);
/* The scan's hidden column of this name as an expression. */
const nl_expr *nl_row_level_column(nl_row_level *self, const nl_logical *plan, const char *name);
const nl_expr *nl_column_expr(nl_arena *arena, const nl_column *column);

/* v3: rows that are copied or changed carry _row_id and _last_updated_sequence_number behind the table's columns, in
 * everything that nl_row_level_replace and _delta take. 2 or 0. */
uint32_t nl_row_level_lineage(const nl_row_level *self);
/* Sets exprs[0], [1] and names[0], [1] to them, or does nothing before v3. is_changed: NULL: no row is (the number stays);
 * else where it is true the sequence number is left to the commit. */
void nl_row_level_add_lineage(nl_row_level *self, const nl_logical *plan, const nl_expr *is_changed, const nl_expr **exprs, nl_str *names);

/* Distinct _file values of a plan that outputs `column`: sorted paths, in the arena. */
NL_MUST_USE nl_status nl_row_level_affected(nl_row_level *self, const nl_logical *plan, const nl_expr *file_column, const nl_str **files, uint32_t *file_count);
/* All files of the snapshot, deletes left out. Borrowed. */
NL_MUST_USE nl_status nl_row_level_plan(nl_row_level *self, const nl_scan_plan **plan);
/* What the session says about the files that the statement writes. */
nl_write_options nl_row_level_options(const nl_row_level *self);
/* Every data file of the snapshot. */
NL_MUST_USE nl_status nl_row_level_all_files(nl_row_level *self, const nl_str **files, uint32_t *file_count);

/* Copy-on-write's end: rows (of the table's type) take the place of the files. conflict_filter NULL: all rows. */
NL_MUST_USE nl_status nl_row_level_replace(nl_row_level *self, const nl_logical *rows, const nl_str *files, uint32_t file_count,
                                           const nl_predicate *conflict_filter);
/* The end of a statement that only adds rows. */
NL_MUST_USE nl_status nl_row_level_append(nl_row_level *self, const nl_logical *rows);
/* Merge-on-read's end: `rows` as nl_iceberg_delta_plan wants them. */
NL_MUST_USE nl_status nl_row_level_delta(nl_row_level *self, const nl_logical *rows, const nl_predicate *conflict_filter, bool is_delete_command);

/* Plan pieces. */
const nl_logical *nl_plan_filter(nl_command *command, const nl_logical *input, const nl_expr *condition);
/* Names may repeat; ids are fresh. */
const nl_logical *nl_plan_project(nl_command *command, const nl_logical *input, const nl_expr *const *exprs, const nl_str *names, uint32_t count);
const nl_expr *nl_plan_int(nl_command *command, int32_t value);
const nl_expr *nl_plan_case(nl_command *command, const nl_expr *const *children, uint32_t count, const nl_type *type); /* when, then, …, else */
/* condition is true, never null. */
NL_MUST_USE nl_status nl_plan_is_true(nl_command *command, const nl_expr *condition, const nl_expr **result);

/* New values of a row as assignments say, store-assigned to the table's columns. values[i] NULL: the column keeps
 * `current[i]`. */
NL_MUST_USE nl_status nl_row_level_store(nl_row_level *self, const nl_logical *input, const nl_expr *const *values, const nl_expr *const *current,
                                         const nl_expr **stored);
/* SET c = e, s.f = e: fills values[] (column_count entries; NULL where nothing is assigned). */
NL_MUST_USE nl_status nl_row_level_assign(nl_row_level *self, const nl_ast_assignments *assignments, const nl_column *columns, uint32_t column_count,
                                          const nl_expr *const *current, const nl_expr **values);

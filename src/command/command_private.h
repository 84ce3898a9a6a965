/* command/command_private.h - what the files of this folder share: the running statement and how it gives its result. */
#pragma once

#include "command/command.h"
#include "exec/exec.h"
#include "exec/expression.h"
#include "plan/plan.h"
#include "sql/parser.h"

typedef struct nl_script_scope nl_script_scope; /* command/script.h */

/* One running statement. Owned by its result (rows may be pulled long after the handler returned). */
typedef struct nl_command {
    nl_session *session;      /* borrowed */
    nl_arena *arena;          /* owned: AST, plans, schema */
    nl_memory *memory;        /* counted: the statement's budget */
    nl_str text;              /* the statement, in the arena */
    nl_eval_confs confs;
    nl_resolver resolver;     /* first: the resolver's functions get back to the command by NL_CONTAINER */
    nl_plan_context context;
    nl_query query;
    nl_observations observations; /* of the query; its arena is owned */
    nl_result *result;        /* being made */
    const nl_script_scope *scope; /* of the script that the statement stands in, innermost; or NULL */
    bool is_kept;             /* a query's rows are all made before the handler returns: more than memory holds go to disk */
    bool is_deferred;         /* nl_command_tree's */
    bool is_analyzed_only;    /* the same: what is kept of other statements does not count */
    const nl_logical *analyzed; /* of nl_command_analyze_tree */
    const nl_command_tree *tree; /* that it was made of; or NULL */
    struct nl_opened_table *opened; /* tables that the statement's names have led to so far: see resolver.c */
    nl_list plain_read; /* nl_str *: locations of tables over plain files that the statement reads */
    uint64_t change_count;   /* of the program when the statement began: nl_session_change_count */
    uint32_t view_depth;
    const nl_temp_view *made_view; /* the view being created: its query may not mention it; or NULL */
    nl_str made_function;          /* the permanent function being created, quoted: its body may mention no temporary object; or none */
    bool is_made_in_catalog;       /* made_view is one that a catalog keeps */
} nl_command;

/* A result with its command, before anything has run; ends with nl_result_close. */
NL_MUST_USE nl_status nl_result_new(nl_session *session, nl_result **result, nl_command **command);

nl_command *nl_result_command(nl_result *result); /* borrowed */

/* Gives the rows: exactly one of these per statement, or none for a statement without output. */
/* A query's plan, optimized and streamed. */
NL_MUST_USE nl_status nl_command_stream(nl_command *command, const nl_logical *plan);
/* Its columns alone, no rows. */
void nl_command_show_schema(nl_command *command, const nl_logical *plan);
/* A table of values: the schema first, then rows; texts are copied. */
NL_MUST_USE nl_status nl_command_rows(nl_command *command, const nl_field *fields, uint32_t field_count, nl_rows **rows);
void nl_command_set_kind(nl_command *command, nl_result_kind kind);
/* The rows of a query, which the source gives. Schema: borrowed from the source, which is taken. */
void nl_command_forward(nl_command *command, const nl_type *schema, const nl_result_source *source);

/* The first row of a query and how many there are, counted to two: values has room for one per column, in the arena. */
NL_MUST_USE nl_status nl_command_first_row(nl_command *command, const nl_logical *plan, nl_value *values, uint32_t *row_count);
/* Parses command->text by the session's confs; runs a parsed statement. */
NL_MUST_USE nl_status nl_command_parse(nl_command *command, nl_ast_statement **statement);
void nl_command_prepare(nl_command *command); /* what analysis and execution want, from the session; text is there */
NL_MUST_USE nl_status nl_command_dispatch(nl_command *command, const nl_ast_statement *statement);

/* A query's plan as the statement runs it: analyzed, and seen by the tree's rewrite. */
NL_MUST_USE nl_status nl_command_analyze(nl_command *command, const nl_ast_query *query, const nl_logical **plan);
/* Runs a query inside a command and hands every batch to the consumer. */
NL_MUST_USE nl_status nl_command_optimize(nl_command *command, const nl_logical *plan, const nl_logical **optimized);

/* A name of the AST as plain parts (IDENTIFIER(…) evaluated). In the arena. */
NL_MUST_USE nl_status nl_command_name(nl_command *command, const nl_ast_name *name, const nl_str **parts, uint32_t *part_count);
/* The table a name stands for, resolved against the session. */
NL_MUST_USE nl_status nl_command_table_name(nl_command *command, const nl_ast_name *name, nl_session_name *resolved);
/* Loads it. When there is none, TABLE_OR_VIEW_NOT_FOUND tells the name as written, at its place. */
NL_MUST_USE nl_status nl_command_load_table(nl_command *command, const nl_ast_name *name, nl_session_name *resolved, nl_iceberg_table **table);
nl_status nl_command_name_not_found(nl_command *command, const nl_ast_name *name);
/* "`lake`.`db`.`t`" for error parameters, and "lake.db.t". */
nl_str nl_command_quoted(nl_command *command, const nl_str *parts, uint32_t part_count);
nl_str nl_command_quoted_name(nl_command *command, const nl_session_name *name);
nl_str nl_command_dotted_name(nl_command *command, const nl_session_name *name);
nl_status nl_schema_not_found(nl_command *command, const nl_session_name *name); /* SCHEMA_NOT_FOUND */
/* Tables of a namespace: the catalog's, none where spark_catalog.default was never written to. SCHEMA_NOT_FOUND. */
NL_MUST_USE nl_status nl_command_list_tables(nl_command *command, const nl_session_name *scope, nl_name_list *list);
/* TABLE_OR_VIEW_NOT_FOUND and friends with the place of the name. */
nl_status nl_command_at(nl_command *command, nl_status status, nl_ast_range range);
/* Properties of the AST as key/value pairs. */
void nl_command_properties(nl_command *command, const nl_ast_properties *properties, const nl_property **items, uint32_t *count);
/* SHOW … LIKE: `*` and `|`, any case. An absent pattern (data NULL) matches all. */
bool nl_command_matches(nl_str pattern, nl_str text);

/* Handlers, one per statement kind; files are named after them. */
typedef nl_status (*nl_statement_handler)(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_query(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_set_conf(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_set_time_zone(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_reset(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_use(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_set_catalog(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_show(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_show_table(nl_command *command, const nl_ast_statement *statement); /* show_table.c */
nl_status nl_run_create_namespace(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_alter_namespace(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_drop(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_create_view(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_create_temp_view_using(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_alter_view(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_create_function(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_create_table(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_alter_table(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_comment_on(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_declare_variable(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_set_variable(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_script(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_execute_immediate(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_cache(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_uncache(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_clear_cache(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_refresh(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_repair(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_analyze(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_insert(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_multi_insert(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_delete(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_truncate(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_update(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_merge(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_call(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_explain(nl_command *command, const nl_ast_statement *statement);
nl_status nl_run_describe(nl_command *command, const nl_ast_statement *statement);

/* functions.c */
NL_MUST_USE nl_status nl_drop_function(nl_command *command, const nl_ast_drop *drop);
/* A function of CREATE FUNCTION, or NULL. Borrowed from the session. */
const nl_session_function *nl_command_find_function(nl_command *command, const nl_str *parts, uint32_t count);
nl_status nl_command_raise_routine(nl_command *command, const nl_str *parts, uint32_t count, nl_ast_range range); /* UNRESOLVED_ROUTINE */

/* dataframe.c: parts of the resolver */
/* A query whose rows become plain files (file_parts.c): planned before the sink is made, run into it. has_folders: rows go to folders by their values. */
typedef struct nl_file_plan {
    const nl_logical *optimized;
    uint32_t part_count; /* files are made by partition; 0: as the workers bring the rows */
} nl_file_plan;
NL_MUST_USE nl_status nl_command_plan_files(nl_command *command, const nl_logical *plan, bool has_folders, nl_file_plan *made);
NL_MUST_USE nl_status nl_command_run_files(nl_command *command, const nl_file_plan *plan, nl_parallel_sink *sink);
/* A source over a database, for the format jdbc. A confined session knows no such format. */
NL_MUST_USE nl_status nl_command_jdbc_source(nl_command *command, const nl_property *options, uint32_t option_count, nl_memory *memory, const nl_table **source);
/* df.write.jdbc: the rows into a table of a database (jdbc_write.c). */
NL_MUST_USE nl_status nl_command_jdbc_write(nl_command *command, const nl_ast_insert_target *target, const nl_logical *plan, const nl_property *options, uint32_t option_count);
nl_status nl_command_find_files(nl_resolver *self, const struct nl_ast_files *files, nl_arena *arena, nl_resolved_relation *found);
nl_status nl_command_run_plan(nl_resolver *self, const nl_logical *plan, uint32_t row_max, nl_arena *arena, const nl_value **values, uint32_t *row_count);

/* resolver.c */
void nl_command_resolver_init(nl_command *command);

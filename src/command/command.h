/* command/command.h - one statement from text, or from a tree made elsewhere, to its result. */
#pragma once

#include "column/batch.h"
#include "session/session.h"

typedef struct nl_result nl_result; /* owned: nl_result_close */

/* Parses, plans and runs one statement. Commands have run when this returns; queries run while results are pulled. */
NL_MUST_USE nl_status nl_command_run(nl_session *session, nl_str text, nl_result **result);

/* A statement that is made as a tree (Spark Connect). `make` runs once and makes the tree in the statement's arena. */
struct nl_ast_statement; /* sql/ast.h */
struct nl_ast_expr;
typedef struct nl_command_made {
    const struct nl_ast_statement *statement;
    nl_str text;                           /* that the tree's ranges mean; empty: none                  */
    struct nl_ast_expr *const *parameters; /* constants for the markers of a text's statement, or NULL  */
    const nl_str *parameter_names;         /* data NULL: positional                                     */
    uint32_t parameter_count;
} nl_command_made;
struct nl_logical; /* plan/logical.h */
struct nl_plan_context;
struct nl_query; /* exec/exec.h */
/* Whose batch an INSERT writes: recorded in the snapshot, and looked for before anything is written. */
typedef struct nl_write_epoch {
    nl_str query_id;
    int64_t epoch;
    bool is_complete; /* the batch is the whole table: what was there goes */
} nl_write_epoch;
typedef struct nl_command_tree {
    nl_status (*make)(void *context, nl_session *session, nl_arena *arena, nl_command_made *made);
    void *context;
    bool is_deferred; /* a query begins to work in the first nl_result_next, which may run beside the session's next statement */
    /* Sees the analyzed plan of a query, an INSERT's too, and gives the one that is run. NULL: nobody does. */
    nl_status (*rewrite)(void *context, struct nl_plan_context *planning, struct nl_query *query, const struct nl_logical *plan, const struct nl_logical **rewritten);
    const nl_write_epoch *epoch; /* NULL: no batch of a streaming query */
} nl_command_tree;
NL_MUST_USE nl_status nl_command_run_tree(nl_session *session, const nl_command_tree *tree, nl_result **result);
/* A query, analyzed only: the result has its schema and no rows. */
NL_MUST_USE nl_status nl_command_analyze_tree(nl_session *session, const nl_command_tree *tree, nl_result **result);
/* The name of the Iceberg table in that folder: three parts, the first a catalog of the session for the folder above the
 * table's parent. Tables of the hadoop layout (metadata/vN.metadata.json) are found so, and new ones get it. */
NL_MUST_USE nl_status nl_command_path_name(nl_session *session, nl_str path, nl_arena *arena, nl_str parts[3]);
/* What cache() and its like keep of queries; see command/cached.h. A query that is kept already stays as it is. */
typedef struct nl_storage_level {
    bool use_disk, use_memory, use_off_heap, deserialized;
    int32_t replication;
} nl_storage_level;
NL_MUST_USE nl_status nl_command_persist(nl_session *session, const nl_command_tree *tree, const nl_storage_level *level);
NL_MUST_USE nl_status nl_command_unpersist(nl_session *session, const nl_command_tree *tree);
NL_MUST_USE nl_status nl_command_storage_level(nl_session *session, const nl_command_tree *tree, nl_storage_level *level, bool *is_found);
void nl_command_clear_cache(nl_session *session);
void nl_command_rest_cache(nl_session *session); /* what is cached stays so, without its rows: they are made again when wanted */
void nl_command_tables_changed(nl_session *session); /* by other ways than statements: what is kept is compared when it is next used */
/* Do two queries give the same rows, whatever their columns are called; and a number that is equal when they do. */
NL_MUST_USE nl_status nl_command_same(nl_session *session, const nl_command_tree *a, const nl_command_tree *b, bool *is_same);
NL_MUST_USE nl_status nl_command_semantic_hash(nl_session *session, const nl_command_tree *tree, uint64_t *hash);
/* The query's rows as a table (counted), made now or by its first scan. */
struct nl_table;
NL_MUST_USE nl_status nl_command_checkpoint(nl_session *session, const nl_command_tree *tree, const nl_storage_level *level, bool is_eager, const struct nl_table **table);
/* The plain files that a query reads, as URIs; in the arena. */
NL_MUST_USE nl_status nl_command_input_files(nl_session *session, const nl_command_tree *tree, nl_arena *arena, const nl_str **files, uint32_t *count);
/* A result of rows made by the caller: one field per column, texts and values are copied. */
typedef struct nl_rows nl_rows;
NL_MUST_USE nl_status nl_command_make_rows(nl_session *session, const nl_field *fields, uint32_t field_count, nl_rows **rows, nl_result **result);
NL_MUST_USE nl_status nl_rows_add(nl_rows *rows, const nl_value *values);   /* one per field */
NL_MUST_USE nl_status nl_rows_add_text(nl_rows *rows, const nl_str *texts); /* all fields STRING; data NULL: null */

/* Whether it was a query (SELECT …) rather than a command; spark-sql pads DESCRIBE rows and shows only names for SHOW TABLES. */
typedef enum nl_result_kind { NL_RESULT_QUERY, NL_RESULT_COMMAND, NL_RESULT_DESCRIBE, NL_RESULT_SHOW_TABLES } nl_result_kind;

/* A result whose batches come from outside (another server). The source is taken, also on failure: close(context) is called
 * once. The schema is copied. */
typedef struct nl_result_source {
    nl_status (*next)(void *context, nl_batch *batch, bool *is_done);
    void (*close)(void *context);
    void *context;
} nl_result_source;
NL_MUST_USE nl_status nl_command_make_stream(nl_session *session, nl_result_kind kind, const nl_type *schema, const nl_result_source *source, nl_result **result);

/* The result's columns (a STRUCT); child_count 0: the statement has no rows to show. Borrowed. */
const nl_type *nl_result_schema(const nl_result *result);
nl_result_kind nl_result_kind_of(const nl_result *result);
/* What observe() has seen of a result that has been read to its end (exec/exec.h): borrowed; NULL: nothing. */
struct nl_observation;
const struct nl_observation *nl_result_observations(const nl_result *result);
void nl_result_add_observations(nl_result *result, const struct nl_observation *first); /* of another one; copied */
NL_MUST_USE nl_status nl_result_next(nl_result *result, nl_batch *batch, bool *is_done);
void nl_result_close(nl_result *result); /* cancels what still runs; NULL is fine */

/* connect/plan.h - what a client sends as relations and commands, run by the engine.
 *
 * A relation becomes an AST (sql/ast_dataframe.h) in the arena of the statement that runs it, so that names are
 * resolved by the one analyzer, and nothing of the message is needed when these calls have returned.
 * Errors are Spark's; a message that no client makes is NILAS_INVALID_PLAN_INPUT (Java's InvalidPlanInput).
 */
#pragma once

#include "command/command.h"
#include "column/value.h"
#include "plan/table.h"
#include "connect/proto/base.pb-c.h"
#include "exec/exec.h"

/* What a translation asks of the server's session. A host lives as long as its session: temporary views keep it. */
typedef struct nl_connect_host nl_connect_host;
struct nl_connect_host {
    nl_session *session; /* borrowed */
    /* The artifact of a cached_local_relation (a serialized LocalRelation); *bytes borrowed until the statement has been made. NULL: there are none. */
    nl_status (*find_artifact)(nl_connect_host *self, nl_str hash, nl_str *bytes, bool *is_found);
    /* DataFrames that the server has for the client, by their id: tables (checkpoint(): retained by put and by find), and relations
     * as they came (packed; put copies), of which find gives one. NULL: there are none. */
    nl_status (*find_table)(nl_connect_host *self, nl_str id, const nl_table **table);
    nl_status (*put_table)(nl_connect_host *self, const nl_table *table, nl_arena *arena, nl_str *id);
    nl_status (*find_remote)(nl_connect_host *self, nl_str id, const Spark__Connect__Relation **relation);
    nl_status (*put_remote)(nl_connect_host *self, const Spark__Connect__Relation *relation, nl_arena *arena, nl_str *id);
    bool (*drop_remote)(nl_connect_host *self, nl_str id);
};

/* Runs the relation: rows are pulled from *result (owned). show_string, html_string and catalog relations too; an SQL relation
 * whose text is a command has run it when this returns. */
NL_MUST_USE nl_status nl_connect_run(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_result **result);
/* Analyzes only: the result has its schema and no rows. */
NL_MUST_USE nl_status nl_connect_analyze(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_result **result);
/* Does it read a stream? Analyzed for that. */
NL_MUST_USE nl_status nl_connect_is_streaming(nl_connect_host *host, const Spark__Connect__Relation *relation, bool *is_streaming);
/* The text of explain(); mode as in AnalyzePlanRequest.Explain. In the arena. */
NL_MUST_USE nl_status nl_connect_explain(nl_connect_host *host, const Spark__Connect__Relation *relation, int mode, nl_arena *arena, nl_str *text);
/* URIs of the files that the relation reads; in the arena. */
NL_MUST_USE nl_status nl_connect_input_files(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_arena *arena, const nl_str **files, uint32_t *count);

NL_MUST_USE nl_status nl_connect_same(nl_connect_host *host, const Spark__Connect__Relation *a, const Spark__Connect__Relation *b, bool *is_same);
NL_MUST_USE nl_status nl_connect_semantic_hash(nl_connect_host *host, const Spark__Connect__Relation *relation, uint64_t *hash);
/* persist() and what it has kept; *is_found false: nothing. */
NL_MUST_USE nl_status nl_connect_persist(nl_connect_host *host, const Spark__Connect__Relation *relation, const Spark__Connect__StorageLevel *level);
NL_MUST_USE nl_status nl_connect_unpersist(nl_connect_host *host, const Spark__Connect__Relation *relation);
NL_MUST_USE nl_status nl_connect_storage_level(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_storage_level *level, bool *is_found);
/* The relation's rows as a table (counted), made now or when they are first read. */
NL_MUST_USE nl_status nl_connect_checkpoint(nl_connect_host *host, const Spark__Connect__Relation *relation, const nl_storage_level *level, bool is_eager,
                                            const nl_table **table);
/* A value of a simple type as a literal message, wholly in the arena. Others become their text. */
NL_MUST_USE nl_status nl_connect_value_to_proto(nl_arena *arena, const nl_value *value, Spark__Connect__Expression__Literal **message);

/* What a command has done. */
typedef struct nl_connect_answer {
    enum {
        NL_CONNECT_DONE,       /* nothing to say                                                                       */
        NL_CONNECT_QUERY,      /* sql_command: `relation` (borrowed from the request) goes back as it is; it was analyzed */
        NL_CONNECT_ROWS,       /* sql_command: has run; its rows (owned: nl_result_close) go back as a local_relation   */
        NL_CONNECT_RESOURCES,  /* get_resources_command: none                                                          */
        NL_CONNECT_CHECKPOINT  /* checkpoint_command: the id of a cached_remote_relation                               */
    } kind;
    const Spark__Connect__Relation *relation;
    nl_result *rows;
    nl_str id; /* in the arena */
    const nl_observation *observed; /* by what was written; in the arena */
} nl_connect_answer;
/* Runs a command. Python functions, streaming queries and ML name themselves: UNSUPPORTED_FEATURE. */
NL_MUST_USE nl_status nl_connect_command(nl_connect_host *host, const Spark__Connect__Command *command, nl_arena *arena, nl_connect_answer *answer);

/* What DataType.fromDDL takes: "a INT, b STRING", "a: int", "array<int>". */
NL_MUST_USE nl_status nl_connect_parse_ddl(nl_arena *arena, nl_str text, const nl_type **type);
/* Types on the wire, both ways. Fields carry their comment and metadata as JSON. The message lies in the arena, made of
 * it wholly: it is never freed by protobuf-c. (type_proto.c) */
NL_MUST_USE nl_status nl_connect_type_to_proto(nl_arena *arena, const nl_type *type, Spark__Connect__DataType **message);
NL_MUST_USE nl_status nl_connect_type_from_proto(nl_arena *arena, const Spark__Connect__DataType *message, const nl_type **type);

/* lakehouse/trino/trino_private.h - what the sources of the Trino service share. */
#pragma once

#include "base/json.h"
#include "base/lock.h"
#include "base/pool.h"
#include "lakehouse/queries.h"
#include "lakehouse/server.h"
#include "lakehouse/tables.h"

#define NL_TRINO_WORKERS         4u
#define NL_TRINO_STATEMENTS_MAX  64u           /* known at once; the next one is told to come again */
#define NL_TRINO_PAGE_BYTES      (512u << 10)  /* rows of a page, as JSON, until it is handed out */
#define NL_TRINO_ABANDONED_MS    300000        /* a client that does not ask that long has gone */

typedef struct nl_trino nl_trino;

/* One statement, from its POST to its last page. Texts live in its arena. What changes is guarded by the service's mutex. */
typedef struct nl_trino_statement {
    nl_trino *trino;
    nl_arena *arena;  /* owned; written by the POST, and then by the worker alone until it has ended */
    nl_str id, slug;  /* the slug is the secret of its addresses */
    nl_str sql, catalog, schema;
    nl_str base_url;  /* "http://localhost:8485": as the client called us */
    const nl_property *prepared; /* name and text: what the client has prepared */
    uint32_t prepared_count;

    nl_session *session;         /* while it runs: for cancelling; borrowed */
    bool is_started, is_cancelled, is_done;
    nl_str columns;              /* JSON array; data NULL: none yet, or none at all */
    nl_str update_type;          /* "CREATE TABLE"; empty: a query; set before the columns are */
    nl_str error;                /* JSON object; data NULL: none */
    const nl_property *headers;  /* of the last answer: X-Trino-Set-Catalog … */
    uint32_t header_count;
    nl_builder ready;            /* rows (without brackets) of the next page, handed over */
    bool has_ready;
    nl_str served;               /* the answer last given, owned (malloc), for a client that asks once more */
    uint64_t served_token;
    bool is_over;                /* the last answer has been given */
    int64_t update_count;        /* rows that were written; -1: not a statement that writes */
    int64_t asked_ms, begun_ms, ended_ms;
    atomic_uint_fast64_t row_count;
    atomic_int references;
    struct nl_trino_statement *next;
} nl_trino_statement;

struct nl_trino {
    nl_service base;
    nl_tables *tables;       /* borrowed */
    nl_queries *queries;     /* borrowed, or NULL */
    nl_lakehouse_keys keys;  /* borrowed texts */
    nl_memory *memory;       /* counted */
    nl_pool *pool;           /* owned */
    nl_task_group *tasks;    /* owned */
    nl_mutex mutex;          /* guards what follows, and the statements on the list */
    pthread_cond_t changed;  /* some statement has a page, has ended, or was cancelled */
    nl_trino_statement *first;
    uint32_t statement_count, number;
};

/* types.c: as Trino's JSON has them. */
void nl_trino_append_value(const nl_value *value, nl_builder *out);
nl_str nl_trino_type_name(nl_arena *arena, const nl_type *type);              /* "decimal(10,2)", "array(bigint)" */
void nl_trino_write_column(nl_json_writer *json, nl_arena *arena, nl_str name, const nl_type *type);

/* run.c: on the pool; ends with is_done. */
NL_MUST_USE nl_status nl_trino_run(void *statement, uint32_t worker);
/* Hands rows out and waits until there is room for more. Takes the builder's text. OPERATION_CANCELED. */
NL_MUST_USE nl_status nl_trino_hand_over(nl_trino_statement *statement, nl_builder *rows);
void nl_trino_set_columns(nl_trino_statement *statement, nl_str columns);
void nl_trino_add_header(nl_trino_statement *statement, const char *name, nl_str value);

/* information.c: information_schema and system.jdbc as subqueries, for nl_dialect_names. argument: the statement. */
NL_MUST_USE nl_status nl_trino_find_table(void *argument, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *text);

/* show.c: statements that the service answers itself. *is_own false: it is the engine's. */
NL_MUST_USE nl_status nl_trino_show(nl_trino_statement *statement, nl_session *session, nl_str sql, bool *is_own);
/* A catalog's name as a warehouse: "lakehouse", "s3tablescatalog/lakehouse" (table buckets), "warehouse", "awsdatacatalog". */
NL_MUST_USE nl_status nl_trino_find_catalog(nl_trino *trino, nl_str name, nl_arena *arena, nl_warehouse *warehouse, bool *exists);

/* lakehouse/athena/athena_private.h - what the sources of the Athena service share. */
#pragma once

#include "base/json.h"
#include "base/lock.h"
#include "base/pool.h"
#include "lakehouse/access.h"
#include "lakehouse/queries.h"
#include "lakehouse/tables_private.h"

#define NL_ATHENA_REQUEST    NL_STR("the request")
#define NL_ATHENA_CATALOG    NL_GLUE_CATALOG
#define NL_ATHENA_FEDERATED  "s3tablescatalog/" /* and a table bucket's name */
#define NL_ATHENA_WORK_GROUP "primary"
#define NL_ATHENA_BUCKET     "aws-athena-query-results-123456789012-us-east-1" /* for those who name no place */
#define NL_ATHENA_WORKERS    4u

/* One execution while this process knows it; counted. Texts are in its arena; what changes is guarded by the service's mutex. */
typedef struct nl_execution {
    nl_arena *arena; /* owned */
    nl_str id, sql, catalog, database, work_group, output_location, token;
    const nl_str *parameters;
    uint32_t parameter_count;
    const char *state; /* "QUEUED" … */
    const char *statement_type, *substatement_type;
    nl_str reason;
    int32_t error_category, error_type; /* 0: none */
    int64_t submitted_micros, started_micros, completed_micros, planned_micros;
    int64_t bytes_scanned, update_count; /* update_count -1: none */
    bool has_header;
    nl_str columns;       /* JSON array of ColumnInfo; empty: none */
    nl_session *session;  /* while it runs: for cancelling */
    bool is_cancelled;
    atomic_int references;
    struct nl_execution *next;
} nl_execution;

typedef struct nl_athena {
    nl_service base;
    nl_tables *tables;      /* borrowed */
    nl_queries *queries;    /* borrowed, or NULL */
    nl_lakehouse_keys keys; /* texts owned by arena */
    nl_arena *arena;        /* owned */
    nl_memory *memory;      /* counted: of all queries */
    nl_pool *pool;          /* owned: queries at once */
    nl_task_group *tasks;   /* owned */
    nl_mutex mutex;         /* guards live and the executions on it */
    nl_execution *live;     /* newest first; those that have ended stay until they are stored */
} nl_athena;

typedef struct nl_athena_call {
    nl_athena *athena;
    nl_request *request;
    nl_reply *reply;
    nl_arena *arena; /* the request's */
    const json_t *body;
    const char *error_type;
    int32_t error_status;
} nl_athena_call;

/* Refusals: InvalidRequestException unless another type is said. */
NL_MUST_USE nl_status nl_athena_invalid(nl_athena_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
NL_MUST_USE nl_status nl_athena_refuse(nl_athena_call *call, const char *type, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Members of the request: data NULL or the fallback when absent. */
nl_str nl_athena_text(nl_athena_call *call, const json_t *object, const char *key);
NL_MUST_USE nl_status nl_athena_need(nl_athena_call *call, const char *key, nl_str *text);
NL_MUST_USE nl_status nl_athena_page_size(nl_athena_call *call, const char *key, int64_t most, int64_t *size);
nl_json_writer nl_athena_begin(nl_athena_call *call); /* the answer's '{' */
void nl_athena_end(nl_athena_call *call, nl_json_writer *json);
void nl_athena_write_text(nl_json_writer *json, const char *key, nl_str value);
void nl_athena_write_seconds(nl_json_writer *json, const char *key, int64_t micros); /* epoch seconds with three digits */

/* items.c: rows (kind, name) → JSON, in the service's own table. */
NL_MUST_USE nl_status nl_athena_items_open(nl_athena *athena);
NL_MUST_USE nl_status nl_athena_put_item(nl_athena *athena, const char *kind, nl_str name, nl_str json, bool must_be_new); /* json data NULL: removed */
NL_MUST_USE nl_status nl_athena_get_item(nl_athena *athena, const char *kind, nl_str name, nl_arena *arena, nl_str *json); /* data NULL: none */
typedef struct nl_athena_item {
    nl_str name, json;
} nl_athena_item;
/* In the order of their making, newest first when is_reversed; those after `after` (a name; empty: from the start); name_prefix narrows. */
NL_MUST_USE nl_status nl_athena_list_items(nl_athena *athena, const char *kind, nl_str name_prefix, nl_str after, int64_t count_max, bool is_reversed, nl_arena *arena,
                                           nl_athena_item **items, uint32_t *count);

/* executions.c */
void nl_execution_release(nl_execution *execution);
void nl_execution_append_json(const nl_execution *execution, nl_builder *out);
/* The QueryExecution's JSON, live or stored; INVALID when there is none. */
NL_MUST_USE nl_status nl_athena_find_execution(nl_athena_call *call, nl_str id, const json_t **json);
/* run.c: called on the pool; ends with a state in the execution. */
void nl_athena_run(nl_athena *athena, nl_execution *execution);
/* A session of the engine with every catalog of the lakehouse. Owned. */
NL_MUST_USE nl_status nl_athena_session(nl_athena *athena, nl_str catalog, nl_str database, nl_session **session);
/* The warehouse of a data catalog's name ("AwsDataCatalog", "s3tablescatalog/lakehouse"). */
NL_MUST_USE nl_status nl_athena_find_catalog(nl_athena *athena, nl_str name, nl_arena *arena, nl_warehouse *warehouse, bool *exists);
/* A value as Athena's CSV shows it; not null at the top. */
void nl_athena_append_value(const nl_value *value, nl_builder *out);
void nl_athena_append_type(const nl_type *type, nl_builder *out); /* "varchar", "decimal(10,2)", "array(integer)" */
void nl_athena_append_columns(const nl_type *row_type, nl_builder *out); /* a JSON array of ColumnInfo */

/* The operations. */
typedef nl_status (*nl_athena_handler)(nl_athena_call *call);
nl_status nl_athena_start_query(nl_athena_call *call);
nl_status nl_athena_get_query(nl_athena_call *call);
nl_status nl_athena_batch_get_query(nl_athena_call *call);
nl_status nl_athena_list_queries(nl_athena_call *call);
nl_status nl_athena_stop_query(nl_athena_call *call);
nl_status nl_athena_get_statistics(nl_athena_call *call);
nl_status nl_athena_get_results(nl_athena_call *call);
nl_status nl_athena_list_catalogs(nl_athena_call *call);
nl_status nl_athena_get_catalog(nl_athena_call *call);
nl_status nl_athena_list_databases(nl_athena_call *call);
nl_status nl_athena_get_database(nl_athena_call *call);
nl_status nl_athena_list_tables(nl_athena_call *call);
nl_status nl_athena_get_table(nl_athena_call *call);
nl_status nl_athena_create_work_group(nl_athena_call *call);
nl_status nl_athena_get_work_group(nl_athena_call *call);
nl_status nl_athena_list_work_groups(nl_athena_call *call);
nl_status nl_athena_update_work_group(nl_athena_call *call);
nl_status nl_athena_delete_work_group(nl_athena_call *call);
nl_status nl_athena_create_named_query(nl_athena_call *call);
nl_status nl_athena_get_named_query(nl_athena_call *call);
nl_status nl_athena_batch_get_named_query(nl_athena_call *call);
nl_status nl_athena_list_named_queries(nl_athena_call *call);
nl_status nl_athena_update_named_query(nl_athena_call *call);
nl_status nl_athena_delete_named_query(nl_athena_call *call);
nl_status nl_athena_create_prepared(nl_athena_call *call);
nl_status nl_athena_get_prepared(nl_athena_call *call);
nl_status nl_athena_batch_get_prepared(nl_athena_call *call);
nl_status nl_athena_list_prepared(nl_athena_call *call);
nl_status nl_athena_update_prepared(nl_athena_call *call);
nl_status nl_athena_delete_prepared(nl_athena_call *call);
nl_status nl_athena_list_engines(nl_athena_call *call);
nl_status nl_athena_tag(nl_athena_call *call);
nl_status nl_athena_untag(nl_athena_call *call);
nl_status nl_athena_list_tags(nl_athena_call *call);
/* The work group's own output location; data NULL: none. NOT FOUND refused. */
NL_MUST_USE nl_status nl_athena_work_group_location(nl_athena_call *call, nl_str work_group, nl_str *location);
/* The statement of a prepared one; INVALID when there is none. */
NL_MUST_USE nl_status nl_athena_prepared_text(nl_athena *athena, nl_str work_group, nl_str name, nl_arena *arena, nl_str *sql);

/* lakehouse/tables.h - warehouses, namespaces, tables and views of the lakehouse: one store under the REST catalogs, S3
 * Tables, Glue and Athena. A table is a pointer to its metadata file with a version token that changes with it.
 *
 * Kinds of warehouse: a plain one (name, location "s3://warehouse" or "file:…"; namespaces of any depth), a table bucket
 * (ARN; one-level namespaces; a hidden bucket for each table), the Glue catalog. All changes of one call are one
 * transaction of state.h.
 */
#pragma once

#include "catalog/catalog.h"
#include "lakehouse/objects.h"

typedef struct nl_tables nl_tables; /* owned; threads: any */
NL_MUST_USE nl_status nl_tables_open(nl_state *state, nl_objects *objects, nl_memory *memory, nl_tables **tables); /* borrows both */
void nl_tables_close(nl_tables *tables);
/* Where the S3 service listens, for the answers of catalogs that tell clients (0: nobody says). */
void nl_tables_set_s3_port(nl_tables *tables, uint16_t port);
uint16_t nl_tables_s3_port(const nl_tables *tables);

typedef enum nl_warehouse_kind { NL_WAREHOUSE_PLAIN, NL_WAREHOUSE_TABLE_BUCKET, NL_WAREHOUSE_GLUE } nl_warehouse_kind;
typedef struct nl_warehouse { /* in the arena given */
    int64_t id;
    nl_warehouse_kind kind;
    nl_str name;      /* plain: the name; table bucket: its name */
    nl_str arn;       /* table buckets */
    nl_str location;  /* plain and Glue: root of default locations */
    int64_t created_micros;
    nl_str token;     /* id shown to clients (uuid) */
} nl_warehouse;
NL_MUST_USE nl_status nl_tables_create_warehouse(nl_tables *tables, const nl_warehouse *wanted, nl_arena *arena, nl_warehouse *made); /* NILAS_ALREADY_EXISTS */
NL_MUST_USE nl_status nl_tables_find_warehouse(nl_tables *tables, nl_warehouse_kind kind, nl_str name_or_arn, nl_arena *arena, nl_warehouse *found, bool *exists);
NL_MUST_USE nl_status nl_tables_warehouse_by_id(nl_tables *tables, int64_t id, nl_arena *arena, nl_warehouse *found, bool *exists);
NL_MUST_USE nl_status nl_tables_list_warehouses(nl_tables *tables, nl_warehouse_kind kind, nl_arena *arena, const nl_warehouse **list, uint32_t *count);
NL_MUST_USE nl_status nl_tables_drop_warehouse(nl_tables *tables, int64_t warehouse_id); /* must be empty */

typedef struct nl_table_entry { /* in the arena given */
    int64_t id;
    int64_t warehouse_id;
    nl_str uuid;              /* of the entry: the end of a table's ARN */
    const nl_str *namespace_parts;
    uint32_t namespace_count;
    nl_str name;
    bool is_view;
    nl_str metadata_location; /* empty: made without metadata (S3 Tables) */
    nl_str previous_metadata_location;
    nl_str warehouse_location; /* table buckets: "s3://<uuid>--table-s3" */
    nl_str version_token;
    int64_t created_micros, modified_micros;
} nl_table_entry;
/* A table that has no metadata yet exists too. */
NL_MUST_USE nl_status nl_tables_find(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, nl_arena *arena, nl_table_entry *entry, bool *exists);
NL_MUST_USE nl_status nl_tables_find_uuid(nl_tables *tables, nl_str uuid, nl_arena *arena, nl_table_entry *entry, bool *exists); /* the end of an ARN */
/* Several pointers at once, all or nothing: the REST transaction, and every single commit. expected empty: creation
 * (SCHEMA_NOT_FOUND, TABLE_OR_VIEW_ALREADY_EXISTS), unless expected_token is there. A pointer that is not as expected:
 * NILAS_COMMIT_FAILED (RETRY) naming the table; nothing is changed. */
typedef struct nl_remembered { /* an answer to a request that may come again: see the REST specification's Idempotency-Key */
    nl_str key;
    nl_str request;           /* a hash of what was asked under the key */
    int32_t status;
    nl_str metadata_location; /* of a table: the answer is its metadata; with a change: filled in */
    nl_str body;              /* else; status 204: nothing */
} nl_remembered;
#define NL_REMEMBERED_SECONDS 1800
/* Changes with `remembered` (NULL: nothing) keep the answer in their own transaction, and do not happen when there is one under
 * the key: NILAS_ALREADY_EXISTS. For answers to what changes nothing: kept by itself; the first under a key stays. Those older
 * than NL_REMEMBERED_SECONDS are forgotten. */
NL_MUST_USE nl_status nl_tables_remember(nl_tables *tables, const nl_remembered *answer);
NL_MUST_USE nl_status nl_tables_recall(nl_tables *tables, nl_str key, nl_arena *arena, nl_remembered *answer, bool *exists);

typedef struct nl_pointer_change {
    nl_identifier identifier;
    bool is_view;
    nl_str expected, next;
    nl_str expected_token;    /* S3 Tables: instead of `expected`; empty: not asked */
    nl_str warehouse_location; /* of a new one in a table bucket */
    nl_str uuid, next_token;  /* of a new one; after the change. Empty: made up */
    const nl_remembered *remembered; /* one of a call's changes has it */
} nl_pointer_change;
/* A bucket for a new table of a table bucket; *location "s3://<uuid>--table-s3". It goes after a day unless a commit with
 * it as warehouse_location makes the table (uuid: the same, see nl_tables_storage_uuid). */
NL_MUST_USE nl_status nl_tables_new_storage(nl_tables *tables, nl_arena *arena, nl_str *uuid, nl_str *location);
nl_str nl_tables_storage_uuid(nl_str location); /* of such a bucket; empty: it is none */
nl_str nl_tables_new_token(nl_arena *arena); /* a random UUID's text */
NL_MUST_USE nl_status nl_tables_commit(nl_tables *tables, int64_t warehouse_id, const nl_pointer_change *changes, uint32_t change_count);
/* Of a table in a table bucket the hidden bucket goes too, with all that is in it. */
NL_MUST_USE nl_status nl_tables_drop(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, bool is_view, nl_str expected_token,
                                   const nl_remembered *remembered, bool *was_dropped);
/* Fails: TABLE_OR_VIEW_NOT_FOUND, SCHEMA_NOT_FOUND, TABLE_OR_VIEW_ALREADY_EXISTS, NILAS_COMMIT_FAILED for a stale token. */
NL_MUST_USE nl_status nl_tables_rename(nl_tables *tables, int64_t warehouse_id, const nl_identifier *from, const nl_identifier *to, bool is_view, nl_str expected_token,
                                     const nl_remembered *remembered);
/* Sorted by name, after `after` (empty: from the beginning), at most count_max: pages. */
NL_MUST_USE nl_status nl_tables_list(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, bool views, nl_str prefix, nl_str after, uint32_t count_max,
                                     nl_arena *arena, const nl_table_entry **entries, uint32_t *count);

typedef struct nl_namespace_entry { /* in the arena given */
    nl_str uuid;
    const nl_str *parts;
    uint32_t part_count;
    const nl_property *properties;
    uint32_t property_count;
    int64_t created_micros;
} nl_namespace_entry;
/* Fails: SCHEMA_ALREADY_EXISTS; SCHEMA_NOT_FOUND naming the parent. */
NL_MUST_USE nl_status nl_tables_create_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, const nl_property *properties,
                                                 uint32_t property_count, const nl_remembered *remembered);
NL_MUST_USE nl_status nl_tables_find_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, nl_arena *arena,
                                               nl_namespace_entry *entry, bool *exists);
/* Those right below parent, sorted by name, after the last part `after`: pages. Fails: SCHEMA_NOT_FOUND. */
NL_MUST_USE nl_status nl_tables_list_namespaces(nl_tables *tables, int64_t warehouse_id, const nl_str *parent, uint32_t parent_count, nl_str prefix, nl_str after,
                                                uint32_t count_max, nl_arena *arena, const nl_namespace_entry **entries, uint32_t *count);
/* Fails: NILAS_NAMESPACE_NOT_EMPTY when it has tables, views or namespaces. */
NL_MUST_USE nl_status nl_tables_drop_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, const nl_remembered *remembered,
                                             bool *was_dropped);
typedef struct nl_namespace_update {
    const nl_property *set;
    uint32_t set_count;
    const nl_str *removed;
    uint32_t removed_count;
    bool *was_there;         /* filled for each of removed; NULL: not asked */
    nl_remembered *remembered; /* NULL: nothing; its body is filled in by: */
    void (*write_answer)(void *argument); /* called inside the transaction, perhaps again, once was_there is filled; NULL with remembered */
    void *argument;
} nl_namespace_update;
/* Fails: SCHEMA_NOT_FOUND. */
NL_MUST_USE nl_status nl_tables_update_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, const nl_namespace_update *update);
/* The "location" of the namespace or "<warehouse>/<namespace>", then "/<name>". What a name has of '/' is encoded. */
NL_MUST_USE nl_status nl_tables_default_location(nl_tables *tables, const nl_warehouse *warehouse, const nl_identifier *identifier, nl_arena *arena, nl_str *location);

/* Documents that services keep with a warehouse, a namespace or a table (policies, encryption, maintenance settings,
 * tags): text by name. They go with a table or a warehouse that is dropped. */
NL_MUST_USE nl_status nl_tables_put_document(nl_tables *tables, nl_str owner_uuid, nl_str name, nl_str text); /* data NULL: removed */
NL_MUST_USE nl_status nl_tables_get_document(nl_tables *tables, nl_str owner_uuid, nl_str name, nl_arena *arena, nl_str *text); /* data NULL: none */

/* Metadata files. A pointer's file never changes, so what was read or written last is kept, parsed and as text. */
typedef struct nl_kept_metadata { /* counted both: nl_kept_metadata_release */
    const nl_table_metadata *metadata;
    nl_buffer *json; /* the file's text; never gzip */
} nl_kept_metadata;
void nl_kept_metadata_release(nl_kept_metadata *kept);
/* s3:// on the store's own objects; file: paths on this machine. Borrowed. Fails: NILAS_UNSUPPORTED for other schemes. */
NL_MUST_USE nl_status nl_tables_fs(nl_tables *tables, nl_str path, nl_fs **fs);
/* The same for files that metadata names: local ones below the warehouse only. Counted. */
NL_MUST_USE nl_status nl_tables_warehouse_fs(nl_tables *tables, const nl_warehouse *warehouse, nl_str path, nl_fs **fs);
/* Fails: NILAS_ILLEGAL_ARGUMENT for a local path outside the warehouse's own folder: clients name locations. */
NL_MUST_USE nl_status nl_tables_check_location(nl_tables *tables, const nl_warehouse *warehouse, nl_str location);
/* The "location" among properties of a namespace, below which its tables go: a local one as above; a table bucket has none. */
NL_MUST_USE nl_status nl_tables_check_scope(nl_tables *tables, const nl_warehouse *warehouse, const nl_property *properties, uint32_t count);
NL_MUST_USE nl_status nl_tables_read_metadata(nl_tables *tables, nl_str metadata_file, nl_kept_metadata *kept);
/* Writes the file after base's (NULL: the first): durable when it returns. kept->metadata has its name. */
NL_MUST_USE nl_status nl_tables_write_metadata(nl_tables *tables, const nl_table_metadata *base, const nl_table_metadata *updated, nl_kept_metadata *kept);

/* Both: the file after base's (NULL: the first) and the change to it (whose `next` is filled in). On failure of kind
 * UNKNOWN_STATE the file may be in force, else nothing of it is left. */
NL_MUST_USE nl_status nl_tables_publish(nl_tables *tables, int64_t warehouse_id, const nl_pointer_change *change, const nl_table_metadata *base,
                                        const nl_table_metadata *updated, nl_kept_metadata *kept);
void nl_tables_remove_metadata(nl_tables *tables, nl_str metadata_file); /* a file that did not come into force; failures are logged */

/* Views. base NULL: creation. Fails: TABLE_OR_VIEW_NOT_FOUND (also of a table), otherwise as nl_tables_commit. Counted. */
NL_MUST_USE nl_status nl_tables_load_view(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, nl_memory *memory, const nl_view_metadata **view);
NL_MUST_USE nl_status nl_tables_commit_view(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, const nl_view_metadata *base,
                                            const nl_view_metadata *updated, const nl_remembered *remembered, nl_memory *memory, const nl_view_metadata **committed);

/* A warehouse as a catalog of the engine, in the process: Athena, Trino, maintenance, dashboard, and REST itself. Counted. */
NL_MUST_USE nl_status nl_tables_catalog(nl_tables *tables, int64_t warehouse_id, nl_str name, const nl_commit_environment *environment, nl_catalog **catalog);

/* The Glue catalog, Athena's AwsDataCatalog: made when it is not there, with a database "default"; both services call it. */
#define NL_GLUE_CATALOG "AwsDataCatalog"
#define NL_GLUE_BUCKET  "awsdatacatalog" /* tables that are made without a place */
NL_MUST_USE nl_status nl_tables_open_glue(nl_tables *tables, nl_arena *arena, nl_warehouse *warehouse);

/* The services. Each borrows tables. */
NL_MUST_USE nl_status nl_rest_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service);     /* :8181, plain warehouses */
NL_MUST_USE nl_status nl_s3tables_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service); /* :8013, with /iceberg below it */
NL_MUST_USE nl_status nl_glue_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service);     /* :8486 */
struct nl_queries;
NL_MUST_USE nl_status nl_athena_service_new(nl_tables *tables, struct nl_queries *queries, const nl_lakehouse_keys *keys, struct nl_service **service); /* :8009; queries: borrowed, or NULL */
NL_MUST_USE nl_status nl_trino_service_new(nl_tables *tables, struct nl_queries *queries, const nl_lakehouse_keys *keys, struct nl_service **service);   /* :8485; queries: borrowed, or NULL */

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
NL_MUST_USE nl_status nl_tables_list_warehouses(nl_tables *tables, nl_warehouse_kind kind, nl_arena *arena, const nl_warehouse **list, uint32_t *count);
NL_MUST_USE nl_status nl_tables_drop_warehouse(nl_tables *tables, int64_t warehouse_id); /* must be empty */

typedef struct nl_table_entry { /* in the arena given */
    int64_t id;
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
NL_MUST_USE nl_status nl_tables_find(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, nl_arena *arena, nl_table_entry *entry, bool *exists);
/* Several pointers at once, all or nothing: the REST transaction, and every single commit. expected empty: creation. A
 * pointer that is not as expected: NILAS_COMMIT_FAILED (RETRY) naming the table; nothing is changed. */
typedef struct nl_pointer_change {
    nl_identifier identifier;
    bool is_view;
    nl_str expected, next;
    nl_str expected_token;    /* S3 Tables: instead of `expected`; empty: not asked */
    nl_str warehouse_location; /* of a new one in a table bucket */
} nl_pointer_change;
NL_MUST_USE nl_status nl_tables_commit(nl_tables *tables, int64_t warehouse_id, const nl_pointer_change *changes, uint32_t change_count);
NL_MUST_USE nl_status nl_tables_drop(nl_tables *tables, int64_t warehouse_id, const nl_identifier *identifier, bool is_view, nl_str expected_token, bool *was_dropped);
NL_MUST_USE nl_status nl_tables_rename(nl_tables *tables, int64_t warehouse_id, const nl_identifier *from, const nl_identifier *to, bool is_view, nl_str expected_token);
/* Sorted by name, after `after` (empty: from the beginning), at most count_max: pages. */
NL_MUST_USE nl_status nl_tables_list(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, bool views, nl_str prefix, nl_str after, uint32_t count_max,
                                     nl_arena *arena, const nl_table_entry **entries, uint32_t *count);
/* Namespaces and their properties: the same words as nl_catalog_ops. Documents that services keep with a warehouse, a
 * namespace or a table (policies, encryption, maintenance settings, tags): text by name. */
NL_MUST_USE nl_status nl_tables_put_document(nl_tables *tables, nl_str owner_uuid, nl_str name, nl_str text); /* data NULL: removed */
NL_MUST_USE nl_status nl_tables_get_document(nl_tables *tables, nl_str owner_uuid, nl_str name, nl_arena *arena, nl_str *text); /* data NULL: none */

/* A warehouse as a catalog of the engine, in the process: Athena, Trino, maintenance, dashboard, and REST itself. Counted. */
NL_MUST_USE nl_status nl_tables_catalog(nl_tables *tables, int64_t warehouse_id, nl_str name, const nl_commit_environment *environment, nl_catalog **catalog);

/* The services. Each borrows tables. */
NL_MUST_USE nl_status nl_rest_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service);     /* :8181, plain warehouses */
NL_MUST_USE nl_status nl_s3tables_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service); /* :8013, with /iceberg below it */
NL_MUST_USE nl_status nl_glue_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service);     /* :8486 */
NL_MUST_USE nl_status nl_athena_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service);   /* :8009 */
NL_MUST_USE nl_status nl_trino_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service);    /* :8485 */
NL_MUST_USE nl_status nl_dashboard_service_new(nl_tables *tables, struct nl_service **service);                               /* :8000 */

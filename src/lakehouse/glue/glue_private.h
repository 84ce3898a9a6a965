/* lakehouse/glue/glue_private.h - what the sources of the Glue service share. */
#pragma once

#include "base/json.h"
#include "function/regex.h"
#include "lakehouse/access.h"
#include "lakehouse/tables_private.h"

#define NL_GLUE_ACCOUNT  "123456789012"
#define NL_GLUE_NAME_MAX 255u

typedef struct nl_glue {
    nl_service base;
    nl_tables *tables;      /* borrowed */
    nl_lakehouse_keys keys; /* texts owned by arena */
    nl_arena *arena;        /* owned */
    nl_warehouse warehouse; /* texts owned by arena */
} nl_glue;

typedef struct nl_glue_call {
    nl_glue *glue;
    nl_request *request;
    nl_reply *reply;
    nl_arena *arena; /* the request's */
    const json_t *body;
    const char *error_type; /* static; NULL: by the error's condition */
    int32_t error_status;
} nl_glue_call;

/* service.c. Refusals: InvalidInputException, or the type said; not_found is EntityNotFoundException. */
NL_MUST_USE nl_status nl_glue_invalid(nl_glue_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
NL_MUST_USE nl_status nl_glue_refuse(nl_glue_call *call, const char *type, const char *format, ...) __attribute__((format(printf, 3, 4)));
NL_MUST_USE nl_status nl_glue_not_found(nl_glue_call *call, const char *kind, nl_str name);
/* Members of an object (NULL is fine): data NULL when absent. */
nl_str nl_glue_text(const json_t *object, const char *key);
NL_MUST_USE nl_status nl_glue_need(nl_glue_call *call, const json_t *object, const char *key, nl_str *text);
/* A name that something is stored under: 1 to 255 bytes, no control characters, in lower case as Hive has it. */
NL_MUST_USE nl_status nl_glue_new_name(nl_glue_call *call, const json_t *object, const char *key, nl_str *name);
NL_MUST_USE nl_status nl_glue_need_object(nl_glue_call *call, const char *key, const json_t **object);
NL_MUST_USE nl_status nl_glue_need_list(nl_glue_call *call, const char *key, size_t most, const json_t **list);
NL_MUST_USE nl_status nl_glue_page_size(nl_glue_call *call, int64_t most, int64_t *size); /* MaxResults */
nl_str nl_glue_lower(nl_arena *arena, nl_str text); /* ASCII */
nl_str nl_glue_json_text(nl_arena *arena, const json_t *json);
/* Patterns of Java's form over whole names; empty or "*": all. *regex NULL then. It lives as long as the request. */
NL_MUST_USE nl_status nl_glue_pattern(nl_glue_call *call, nl_str pattern, nl_regex **regex);
NL_MUST_USE nl_status nl_glue_matches(const nl_regex *regex, nl_str name, bool *matches);
nl_json_writer nl_glue_begin(nl_glue_call *call); /* the answer's '{' */
void nl_glue_end(nl_glue_call *call, nl_json_writer *json);
nl_status nl_glue_answer_nothing(nl_glue_call *call);
void nl_glue_write_text(nl_json_writer *json, const char *key, nl_str value);
void nl_glue_write_seconds(nl_json_writer *json, const char *key, int64_t micros); /* epoch seconds with three digits */
/* The members of an object but those named (ends with NULL). */
void nl_glue_write_members(nl_json_writer *json, const json_t *object, const char *const *without);
void nl_glue_write_failure(nl_json_writer *json, const char *code, const char *message); /* the member ErrorDetail */

/* rows.c. A table, or an archived version of one; texts in the request's arena. */
typedef struct nl_glue_row {
    int64_t id, version, created_micros, modified_micros;
    nl_str database, database_uuid, name;
    nl_str entry;             /* the pointer's uuid; empty: not Iceberg */
    nl_str json;              /* the TableInput; empty: nobody gave one */
    nl_str metadata_location; /* of the pointer when json was given */
    nl_str pointer, previous; /* now */
    bool is_view;
} nl_glue_row;
#define NL_GLUE_ROWS                                                                                                                                      \
    "SELECT g.id, n.name, g.database, g.name, g.entry, g.json, g.metadata_location, g.version, g.created_micros, g.modified_micros, t.metadata_location," \
    " t.previous_metadata_location, t.is_view FROM namespaces n JOIN glue_tables g ON g.database = n.uuid LEFT JOIN tables t ON t.uuid = g.entry"         \
    " WHERE n.warehouse_id = ?1"
void nl_glue_read_row(nl_sqlite_statement *statement, nl_arena *arena, nl_glue_row *row);
/* Inside a transaction. Names in any case. need_…: refused with EntityNotFoundException. */
NL_MUST_USE nl_status nl_glue_find_database(nl_glue_call *call, nl_sqlite *database, nl_str name, nl_str *uuid, nl_str *stored_name, bool *exists);
NL_MUST_USE nl_status nl_glue_need_database(nl_glue_call *call, nl_sqlite *database, nl_str name, nl_str *uuid, nl_str *stored_name);
NL_MUST_USE nl_status nl_glue_find_row(nl_glue_call *call, nl_sqlite *database, nl_str database_name, nl_str name, nl_glue_row *row, bool *exists);
NL_MUST_USE nl_status nl_glue_need_row(nl_glue_call *call, nl_sqlite *database, nl_str database_name, nl_str name, nl_glue_row *row);
NL_MUST_USE nl_status nl_glue_delete_row(nl_sqlite *database, const nl_glue_row *row);
/* A transaction of its own for the row that DatabaseName and the member `key` name. */
NL_MUST_USE nl_status nl_glue_load_row(nl_glue_call *call, const char *key, nl_glue_row *row);
/* The Table object. */
NL_MUST_USE nl_status nl_glue_write_row(nl_glue_call *call, nl_json_writer *json, const nl_glue_row *row);

/* expression.c: "year = 2026 AND (month IN ('1', '2') OR NOT day < 3)" over a partition's values. */
typedef struct nl_glue_key {
    nl_str name, type;
} nl_glue_key;
/* values NULL: only checks. Fails with InvalidInputException. */
NL_MUST_USE nl_status nl_glue_evaluate(nl_glue_call *call, nl_str expression, const nl_glue_key *keys, const nl_str *values, uint32_t key_count, bool *is_true);

typedef nl_status (*nl_glue_handler)(nl_glue_call *call);
nl_status nl_glue_get_database(nl_glue_call *call);
nl_status nl_glue_get_databases(nl_glue_call *call);
nl_status nl_glue_create_database(nl_glue_call *call);
nl_status nl_glue_update_database(nl_glue_call *call);
nl_status nl_glue_delete_database(nl_glue_call *call);
nl_status nl_glue_get_table(nl_glue_call *call);
nl_status nl_glue_get_tables(nl_glue_call *call);
nl_status nl_glue_create_table(nl_glue_call *call);
nl_status nl_glue_update_table(nl_glue_call *call);
nl_status nl_glue_delete_table(nl_glue_call *call);
nl_status nl_glue_batch_delete_table(nl_glue_call *call);
nl_status nl_glue_get_table_version(nl_glue_call *call);
nl_status nl_glue_get_table_versions(nl_glue_call *call);
nl_status nl_glue_delete_table_version(nl_glue_call *call);
nl_status nl_glue_batch_delete_table_version(nl_glue_call *call);
nl_status nl_glue_create_partition(nl_glue_call *call);
nl_status nl_glue_batch_create_partition(nl_glue_call *call);
nl_status nl_glue_get_partition(nl_glue_call *call);
nl_status nl_glue_get_partitions(nl_glue_call *call);
nl_status nl_glue_batch_get_partition(nl_glue_call *call);
nl_status nl_glue_update_partition(nl_glue_call *call);
nl_status nl_glue_batch_update_partition(nl_glue_call *call);
nl_status nl_glue_delete_partition(nl_glue_call *call);
nl_status nl_glue_batch_delete_partition(nl_glue_call *call);
nl_status nl_glue_get_partition_indexes(nl_glue_call *call);
nl_status nl_glue_search_tables(nl_glue_call *call);
nl_status nl_glue_tag(nl_glue_call *call);
nl_status nl_glue_untag(nl_glue_call *call);
nl_status nl_glue_get_tags(nl_glue_call *call);
nl_status nl_glue_create_function(nl_glue_call *call);
nl_status nl_glue_get_function(nl_glue_call *call);
nl_status nl_glue_get_functions(nl_glue_call *call);
nl_status nl_glue_update_function(nl_glue_call *call);
nl_status nl_glue_delete_function(nl_glue_call *call);
nl_status nl_glue_get_import_status(nl_glue_call *call);
/* items.c: inside a transaction; json data NULL: removed. */
NL_MUST_USE nl_status nl_glue_put_item(nl_sqlite *database, const char *kind, nl_str scope, nl_str name, nl_str json);
NL_MUST_USE nl_status nl_glue_get_item(nl_sqlite *database, const char *kind, nl_str scope, nl_str name, nl_arena *arena, nl_str *json, int64_t *created_micros);

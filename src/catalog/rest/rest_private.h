/* catalog/rest/rest_private.h - what the files of this folder share: the catalog, its session with the server, requests. */
#pragma once

#include "base/lock.h"
#include "catalog/catalog_private.h"
#include "catalog/rest/answer.h"
#include "catalog/rest/auth.h"
#include "catalog/rest/rest.h"
#include "storage/s3.h"

/* What a server may offer; the texts are in session.c. */
typedef enum nl_remote_endpoint {
    NL_REMOTE_LIST_NAMESPACES,
    NL_REMOTE_CREATE_NAMESPACE,
    NL_REMOTE_LOAD_NAMESPACE,
    NL_REMOTE_NAMESPACE_EXISTS,
    NL_REMOTE_DROP_NAMESPACE,
    NL_REMOTE_UPDATE_NAMESPACE,
    NL_REMOTE_LIST_TABLES,
    NL_REMOTE_CREATE_TABLE,
    NL_REMOTE_LOAD_TABLE,
    NL_REMOTE_TABLE_EXISTS,
    NL_REMOTE_DROP_TABLE,
    NL_REMOTE_COMMIT_TABLE,
    NL_REMOTE_RENAME_TABLE,
    NL_REMOTE_REGISTER_TABLE,
    NL_REMOTE_REPORT_METRICS,
    NL_REMOTE_TRANSACTION,
    NL_REMOTE_CREDENTIALS,
    NL_REMOTE_PLAN,
    NL_REMOTE_SIGN,
    NL_REMOTE_LIST_VIEWS,
    NL_REMOTE_CREATE_VIEW,
    NL_REMOTE_LOAD_VIEW,
    NL_REMOTE_VIEW_EXISTS,
    NL_REMOTE_COMMIT_VIEW,
    NL_REMOTE_DROP_VIEW,
    NL_REMOTE_RENAME_VIEW,
    NL_REMOTE_ENDPOINT_COUNT
} nl_remote_endpoint;

/* What the first request found out. Immutable; freed with the catalog. */
typedef struct nl_remote_session {
    nl_arena *arena;
    const nl_property *properties; /* defaults < the client's < overrides */
    uint32_t property_count;
    nl_str uri;        /* without a slash at its end */
    nl_str prefix;     /* "arn%3A…/" as the server sent it, or empty */
    nl_str separator;  /* between the levels of a namespace, encoded: "%1F" */
    uint64_t endpoints; /* bits by nl_remote_endpoint */
    nl_str page_size;  /* empty: the server's */
    bool has_idempotency_keys;
    bool loads_refs;   /* snapshot-loading-mode=REFS */
    bool reports_metrics;
    nl_remote_auth *auth;
    nl_fs *fs;
} nl_remote_session;

typedef struct nl_remote_cache nl_remote_cache;
typedef struct nl_remote_reporter nl_remote_reporter;

typedef struct nl_remote_catalog {
    nl_catalog base;
    nl_str uri;                /* owned */
    nl_http_client *http;
    const nl_property *headers; /* header.X without the prefix; borrowed from the properties' texts; array owned */
    uint32_t header_count;
    nl_mutex mutex;
    nl_remote_session *session;  /* guarded; owned; NULL until the first request */
    nl_remote_cache *cache;       /* owned */
    nl_remote_reporter *reporter; /* owned; NULL: rest-metrics-reporting-enabled=false */
} nl_remote_catalog;
static inline nl_remote_catalog *nl_remote_of(nl_catalog *catalog)
{
    return NL_CONTAINER(catalog, nl_remote_catalog, base);
}

/* The session, made by the first who asks (GET /v1/config). Borrowed from the catalog. Blocks. */
NL_MUST_USE nl_status nl_remote_session_of(nl_remote_catalog *catalog, const nl_remote_session **session);
void nl_remote_session_free(nl_remote_session *session); /* NULL is fine */
nl_str nl_remote_property(const nl_remote_session *session, const char *key); /* data NULL: absent */
static inline bool nl_remote_offers(const nl_remote_session *session, nl_remote_endpoint endpoint)
{
    return (session->endpoints >> endpoint & 1) != 0;
}
/* NILAS_UNSUPPORTED "Server does not support endpoint: DELETE /v1/…". */
NL_MUST_USE nl_status nl_remote_require(const nl_remote_session *session, nl_remote_endpoint endpoint);

typedef struct nl_remote_request { /* borrowed */
    const char *method;
    nl_str path;    /* encoded, below "<uri>/v1/"; or a whole URL */
    nl_str query;   /* without '?' */
    nl_str body;    /* JSON; data NULL: none */
    nl_str etag;    /* If-None-Match; empty: none */
    nl_str token;   /* a table's own; empty: the catalog's */
    bool is_idempotent;
    bool is_commit; /* sent once: whoever sent it looks up what became of it */
} nl_remote_request;
/* Sends, with a new token when the first is refused. Any status is an answer. Fails when none came: NILAS_IO_ERROR (kind
 * RETRY, or UNKNOWN_STATE when it had gone out and is not idempotent); NILAS_NOT_AUTHORIZED for tokens. */
NL_MUST_USE nl_status nl_remote_send(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_remote_request *request, nl_arena *arena, nl_remote_answer *answer);
/* The same for what must succeed: a failure becomes the subject's condition. */
NL_MUST_USE nl_status nl_remote_ask(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_remote_request *request, const nl_remote_subject *subject, nl_arena *arena,
                                  nl_remote_answer *answer);

/* DELETE, sent again when its answer got lost. *was_there false: 404 at once; after a lost answer 404 means that it was done. */
NL_MUST_USE nl_status nl_remote_delete(nl_remote_catalog *catalog, const nl_remote_session *session, nl_str path, nl_str query, nl_arena *arena, nl_remote_answer *answer,
                                       bool *was_there);

/* Paths below /v1/: "<prefix>namespaces/a%1Fb/tables/t". */
nl_str nl_remote_namespace_text(nl_arena *arena, const nl_remote_session *session, const nl_str *parts, uint32_t part_count); /* "a%1Fb" */
nl_str nl_remote_namespace_path(nl_arena *arena, const nl_remote_session *session, const nl_str *parts, uint32_t part_count, const char *rest); /* rest: "/tables" or "" */
nl_str nl_remote_item_path(nl_arena *arena, const nl_remote_session *session, const nl_identifier *identifier, const char *kind); /* kind: "tables", "views" */
nl_str nl_remote_quoted(nl_arena *arena, const nl_remote_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_str name); /* name empty: the namespace */
nl_remote_subject nl_remote_subject_of(nl_arena *arena, const nl_remote_catalog *catalog, const nl_remote_session *session, nl_remote_subject_kind kind,
                                   const nl_identifier *identifier);
void nl_remote_append_identifier(nl_json_writer *out, const nl_identifier *identifier); /* {"namespace":[…],"name":…} */
void nl_remote_append_properties(nl_json_writer *out, const nl_property *properties, uint32_t property_count);
/* All pages of a listing. query: further parameters or empty. */
NL_MUST_USE nl_status nl_remote_list(nl_remote_catalog *catalog, const nl_remote_session *session, nl_str path, nl_str query, const nl_remote_subject *subject, bool is_namespaces,
                                   nl_arena *arena, nl_name_list *list);

/* Tables that were loaded lately with the ETag of their answer (rest-table-cache.*). */
NL_MUST_USE nl_status nl_remote_cache_new(const nl_catalog *catalog, nl_remote_cache **cache);
void nl_remote_cache_free(nl_remote_cache *cache); /* NULL is fine */
/* What is kept for a path: its ETag in the arena; data NULL: nothing. */
nl_str nl_remote_cache_etag(nl_remote_cache *cache, nl_str path, nl_arena *arena);
/* 304: the table kept under that ETag. False when it is gone meanwhile. table->metadata is counted for the caller. */
bool nl_remote_cache_find(nl_remote_cache *cache, nl_str path, nl_str etag, nl_arena *arena, nl_remote_table *table);
void nl_remote_cache_put(nl_remote_cache *cache, nl_str path, nl_str etag, const nl_remote_table *table);
void nl_remote_cache_drop(nl_remote_cache *cache, nl_str path);

/* TABLE_OR_VIEW_NOT_FOUND for a name without namespace or with an empty part. */
NL_MUST_USE nl_status nl_remote_check_name(const nl_remote_catalog *catalog, const nl_identifier *identifier);
/* A table as the server has it now (GET, 304 from the cache). table->metadata counted. TABLE_OR_VIEW_NOT_FOUND. */
NL_MUST_USE nl_status nl_remote_fetch_table(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, nl_str token, nl_arena *arena,
                                          nl_remote_table *table);
/* The file system for a table's files: the catalog's, or one with the table's own properties and credentials. Counted. */
NL_MUST_USE nl_status nl_remote_table_fs(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_remote_table *table, nl_fs **fs);
/* s3.remote-signing-enabled: S3 whose requests the server signs. */
bool nl_remote_signs(const nl_property *properties, uint32_t property_count);
NL_MUST_USE nl_status nl_remote_signed_fs(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_property *properties,
                                          uint32_t property_count, nl_str token, nl_fs **fs);
/* The store of one table, with what its config says of it. */
NL_MUST_USE nl_status nl_remote_store_new(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_remote_table *table,
                                          nl_table_store **store);
nl_str nl_remote_table_token(const nl_remote_table *table); /* config "token"; empty: none */

/* Operations of the catalog. */
extern const nl_catalog_ops nl_remote_ops;
nl_status nl_remote_list_namespaces(nl_catalog *self, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list);
nl_status nl_remote_create_namespace(nl_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count);
nl_status nl_remote_drop_namespace(nl_catalog *self, const nl_str *parts, uint32_t part_count, bool *was_dropped);
nl_status nl_remote_namespace_properties(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties, uint32_t *property_count);
nl_status nl_remote_update_namespace(nl_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                   uint32_t removed_count);

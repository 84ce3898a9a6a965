/* catalog/rest/answer.h - what a REST catalog answers, read with checks. Pure: no network, nothing but the JSON given, so
 * that bytes from any server can be thrown at it (fuzz/rest_response.c).
 *
 * Source: the Iceberg REST catalog's OpenAPI description; what Java's client accepts beyond it.
 */
#pragma once

#include "base/json.h"
#include "catalog/catalog.h"

/* An answer as it came. In the arena of the request. */
typedef struct nl_remote_answer {
    int32_t status;
    const json_t *json; /* of a 2xx answer with a JSON body; NULL: none */
    nl_str body;
    nl_str etag;        /* empty: none */
    uint32_t attempts;
} nl_remote_answer;
static inline bool nl_remote_is_good(const nl_remote_answer *answer)
{
    return answer->status >= 200 && answer->status < 300;
}

typedef struct nl_remote_config { /* GET /v1/config */
    const nl_property *defaults;
    uint32_t default_count;
    const nl_property *overrides;
    uint32_t override_count;
    const nl_str *endpoints; /* "GET /v1/{prefix}/namespaces" */
    uint32_t endpoint_count; /* 0: the server says nothing */
    bool has_idempotency_keys;
} nl_remote_config;
NL_MUST_USE nl_status nl_remote_config_read(nl_arena *arena, const json_t *json, nl_remote_config *config);

typedef struct nl_remote_credential { /* storage-credentials: for paths that begin so */
    nl_str prefix;
    const nl_property *config;
    uint32_t config_count;
} nl_remote_credential;
typedef struct nl_remote_table {         /* LoadTableResult */
    const nl_table_metadata *metadata; /* counted; the caller releases it */
    const nl_property *config;
    uint32_t config_count;
    const nl_remote_credential *credentials;
    uint32_t credential_count;
} nl_remote_table;
NL_MUST_USE nl_status nl_remote_table_read(nl_arena *arena, const json_t *json, nl_memory *memory, nl_remote_table *table);
NL_MUST_USE nl_status nl_remote_credentials_read(nl_arena *arena, const json_t *json, const nl_remote_credential **credentials, uint32_t *credential_count);
/* CommitTableResponse. *metadata counted. */
NL_MUST_USE nl_status nl_remote_committed_read(nl_arena *arena, const json_t *json, nl_memory *memory, const nl_table_metadata **metadata);

/* S3SignResponse: the headers that make the request good. In the arena. */
NL_MUST_USE nl_status nl_remote_signature_read(nl_arena *arena, const json_t *json, nl_str *uri, const nl_property **headers, uint32_t *header_count);

/* LoadViewResult. *view counted. */
NL_MUST_USE nl_status nl_remote_view_read(nl_arena *arena, const json_t *json, nl_memory *memory, const nl_view_metadata **view);

/* One page of a listing: key "namespaces" or "identifiers". Items (nl_identifier *) are added to the list; *next_page is
 * empty at the end. */
NL_MUST_USE nl_status nl_remote_page_read(nl_arena *arena, const json_t *json, bool is_namespaces, nl_list *items, nl_str *next_page);
NL_MUST_USE nl_status nl_remote_namespace_read(nl_arena *arena, const json_t *json, const nl_property **properties, uint32_t *property_count);

typedef struct nl_remote_token { /* POST /v1/oauth/tokens */
    nl_str access_token;
    nl_str refresh_token;      /* empty: none */
    int64_t expires_in_seconds; /* NL_NONE: not said */
} nl_remote_token;
NL_MUST_USE nl_status nl_remote_token_read(nl_arena *arena, const json_t *json, nl_remote_token *token);
/* When a JWT says it ends, in seconds since 1970; NL_NONE when it says nothing or is none. */
int64_t nl_jwt_expiry(nl_str token);

/* {"error": {"message", "type", "code"}}, OAuth's {"error", "error_description"}, or whatever a proxy writes. */
typedef struct nl_remote_error {
    nl_str message;
    nl_str type; /* Java's simple class name; empty: none */
} nl_remote_error;
void nl_remote_error_read(nl_arena *arena, nl_str body, nl_remote_error *error);

/* What was asked for, for the condition of a failure. Texts borrowed. */
typedef enum nl_remote_subject_kind {
    NL_REMOTE_SERVICE,   /* config, tokens */
    NL_REMOTE_NAMESPACE,
    NL_REMOTE_TABLE,
    NL_REMOTE_NEW_TABLE, /* 404 is its namespace */
    NL_REMOTE_COMMIT,
    NL_REMOTE_VIEW,
    NL_REMOTE_NEW_VIEW,
} nl_remote_subject_kind;
typedef struct nl_remote_subject {
    nl_remote_subject_kind kind;
    nl_str catalog;   /* its name */
    nl_str quoted;    /* "`c`.`ns`.`t`" */
    const char *authentication; /* "oauth2", "sigv4" …: for what to set when it is refused */
} nl_remote_subject;
/* The condition of an answer that is not 2xx. Never NULL. */
NL_MUST_USE nl_status nl_remote_failure(const nl_remote_answer *answer, const nl_remote_subject *subject);

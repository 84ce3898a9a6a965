/* lakehouse/rest/rest_private.h - one request on its way through the sources of rest/. */
#pragma once

#include "base/json.h"
#include "lakehouse/access.h"
#include "lakehouse/rest/rest.h"

#define NL_REST_API_BODY NL_STR("the request") /* the "path" in errors of parsing it */
#define NL_REST_API_PAGE_MAX 1000u
#define NL_REST_API_ANSWER_BYTES_MAX (1u << 30)

struct nl_rest_api {
    nl_rest_api_options options; /* texts owned by arena */
    nl_arena *arena;         /* owned */
};

typedef struct nl_rest_api_call {
    nl_rest_api *rest;
    nl_tables *tables;
    nl_request *request;
    nl_reply *reply;
    nl_arena *arena; /* the request's */
    nl_access access;
    nl_warehouse warehouse;
    nl_identifier identifier; /* namespace, and name of the path's table or view */
    nl_str plan_id;
    const json_t *body;       /* NULL: none */
    nl_remembered answer;     /* key empty: the client sent no Idempotency-Key */
    bool is_remembered;       /* in the transaction of the change itself */
    /* What nl_rest_api_refuse was told; error_status 0: nothing. */
    int32_t error_status;
    const char *error_type;
} nl_rest_api_call;

typedef nl_status (*nl_rest_api_handler)(nl_rest_api_call *call);

typedef struct nl_rest_api_route {
    const char *method;
    const char *path; /* below "/v1/{prefix}/", or "/v1/" */
    nl_rest_api_handler handle;
    bool has_body;     /* a JSON object is expected */
    bool is_hidden;    /* not among the endpoints of config */
    bool is_global;    /* without prefix */
    bool is_plain;     /* not in table buckets */
} nl_rest_api_route;
extern const nl_rest_api_route nl_rest_api_routes[];
extern const uint32_t nl_rest_api_route_count;
/* Fills the path's parts of the call. *route NULL: there is none; *is_wrong_method: the path is one of another method. */
NL_MUST_USE nl_status nl_rest_api_find_route(nl_rest_api_call *call, const nl_rest_api_route **route, bool *is_wrong_method);

/* What a change keeps for a client that asks again; NULL: nothing. status: of the answer; body: data NULL: the metadata that the
 * change writes. */
nl_remembered *nl_rest_api_remembered(nl_rest_api_call *call, int32_t status, nl_str body);
void nl_rest_api_write_view(nl_rest_api_call *call, const nl_view_metadata *view);

/* Fails the request with this status and exception; the message is the text. */
NL_MUST_USE nl_status nl_rest_api_refuse(nl_rest_api_call *call, int32_t status, const char *type, const char *format, ...) __attribute__((format(printf, 4, 5)));
NL_MUST_USE nl_status nl_rest_api_no_table(nl_rest_api_call *call, const nl_identifier *identifier);
NL_MUST_USE nl_status nl_rest_api_no_view(nl_rest_api_call *call, const nl_identifier *identifier);
NL_MUST_USE nl_status nl_rest_api_no_namespace(nl_rest_api_call *call, const nl_identifier *identifier);
nl_str nl_rest_api_dotted(nl_arena *arena, const nl_identifier *identifier); /* "a.b.t"; without a name the namespace */

/* The reply's JSON: begin, write, end. */
nl_json_writer nl_rest_api_begin(nl_rest_api_call *call);
void nl_rest_api_end(nl_rest_api_call *call, nl_json_writer *json, int32_t status); /* closes the object */
void nl_rest_api_send(nl_rest_api_call *call, int32_t status); /* the JSON as it is */
void nl_rest_api_empty(nl_rest_api_call *call, int32_t status);

/* Of bodies: ["a","b"], checked as names of this warehouse; {"namespace":[…],"name":"t"}. */
NL_MUST_USE nl_status nl_rest_api_read_namespace(nl_rest_api_call *call, const json_t *array, nl_identifier *identifier);
NL_MUST_USE nl_status nl_rest_api_read_identifier(nl_rest_api_call *call, const json_t *object, nl_identifier *identifier);
NL_MUST_USE nl_status nl_rest_api_check_names(nl_rest_api_call *call, const nl_identifier *identifier);

/* Pages: the token is the last name in hex. *is_paged: the client asked for pages. */
NL_MUST_USE nl_status nl_rest_api_page(nl_rest_api_call *call, nl_str *after, uint32_t *count_max, bool *is_paged);
void nl_rest_api_write_page_token(nl_rest_api_call *call, nl_json_writer *json, bool is_paged, bool has_more, nl_str last);

/* {"metadata-location"?, "metadata", "config"?, "storage-credentials"?} */
typedef struct nl_rest_api_table_reply {
    const nl_kept_metadata *kept;
    bool is_staged; /* no metadata-location */
    bool is_commit; /* no config */
} nl_rest_api_table_reply;
void nl_rest_api_write_table(nl_rest_api_call *call, const nl_rest_api_table_reply *table);
void nl_rest_api_write_io_config(nl_rest_api_call *call, nl_json_writer *json, bool has_keys); /* members of an object */
/* The present metadata of a table. Fails: 404. */
NL_MUST_USE nl_status nl_rest_api_load(nl_rest_api_call *call, const nl_identifier *identifier, nl_table_entry *entry, nl_kept_metadata *kept);

/* The namespace is there and the name free. Fails: 404, 409. wants_view: the wording. */
NL_MUST_USE nl_status nl_rest_api_check_free(nl_rest_api_call *call, const nl_identifier *identifier, bool wants_view);
NL_MUST_USE nl_status nl_rest_api_check_path(nl_rest_api_call *call, bool is_view); /* empty names: there is none */
NL_MUST_USE nl_status nl_rest_api_list(nl_rest_api_call *call, bool views);
NL_MUST_USE nl_status nl_rest_api_rename(nl_rest_api_call *call, bool is_view);

nl_status nl_rest_api_plan(nl_rest_api_call *call);
nl_status nl_rest_api_get_plan(nl_rest_api_call *call);
nl_status nl_rest_api_cancel_plan(nl_rest_api_call *call);
nl_status nl_rest_api_fetch_tasks(nl_rest_api_call *call);
nl_status nl_rest_api_list_views(nl_rest_api_call *call);
nl_status nl_rest_api_create_view(nl_rest_api_call *call);
nl_status nl_rest_api_load_view(nl_rest_api_call *call);
nl_status nl_rest_api_view_exists(nl_rest_api_call *call);
nl_status nl_rest_api_replace_view(nl_rest_api_call *call);
nl_status nl_rest_api_drop_view(nl_rest_api_call *call);
nl_status nl_rest_api_rename_view(nl_rest_api_call *call);
nl_status nl_rest_api_register_view(nl_rest_api_call *call);
nl_status nl_rest_api_get_config(nl_rest_api_call *call);
nl_status nl_rest_api_get_token(nl_rest_api_call *call);
nl_status nl_rest_api_list_namespaces(nl_rest_api_call *call);
nl_status nl_rest_api_create_namespace(nl_rest_api_call *call);
nl_status nl_rest_api_load_namespace(nl_rest_api_call *call);
nl_status nl_rest_api_namespace_exists(nl_rest_api_call *call);
nl_status nl_rest_api_drop_namespace(nl_rest_api_call *call);
nl_status nl_rest_api_update_namespace(nl_rest_api_call *call);
nl_status nl_rest_api_list_tables(nl_rest_api_call *call);
nl_status nl_rest_api_create_table(nl_rest_api_call *call);
nl_status nl_rest_api_load_table(nl_rest_api_call *call);
nl_status nl_rest_api_table_exists(nl_rest_api_call *call);
nl_status nl_rest_api_commit_table(nl_rest_api_call *call);
nl_status nl_rest_api_drop_table(nl_rest_api_call *call);
nl_status nl_rest_api_register_table(nl_rest_api_call *call);
nl_status nl_rest_api_rename_table(nl_rest_api_call *call);
nl_status nl_rest_api_report_metrics(nl_rest_api_call *call);
nl_status nl_rest_api_load_credentials(nl_rest_api_call *call);
nl_status nl_rest_api_sign(nl_rest_api_call *call);
nl_str nl_rest_api_staged_key(nl_rest_api_call *call, nl_str location);
nl_status nl_rest_api_commit_transaction(nl_rest_api_call *call);

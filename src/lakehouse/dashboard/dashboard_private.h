/* lakehouse/dashboard/dashboard_private.h - what the sources of the dashboard share. */
#pragma once

#include "base/json.h"
#include "lakehouse/dashboard/dashboard.h"
#include "lakehouse/object_store.h"

typedef struct nl_dashboard {
    nl_service base;
    nl_dashboard_stores stores;
    nl_memory *memory;   /* counted: of sessions that run maintenance */
    char token[33];      /* of this process; in the page's session, and in the header of each POST */
} nl_dashboard;

/* A request on its way through a handler. The handler writes one JSON value; a failure is answered as {"error": text}. */
typedef struct nl_dashboard_call {
    nl_dashboard *dashboard;
    nl_request *request;
    nl_reply *reply;
    nl_json_writer json;
} nl_dashboard_call;

bool nl_dashboard_asset(nl_str path, nl_str *content, const char **content_type);

/* A parameter of the query that must be there. */
NL_MUST_USE nl_status nl_dashboard_parameter(nl_dashboard_call *call, const char *name, nl_str *value);
void nl_dashboard_member_text(nl_dashboard_call *call, const char *key, nl_str value);
void nl_dashboard_member_int(nl_dashboard_call *call, const char *key, int64_t value);
void nl_dashboard_member_bool(nl_dashboard_call *call, const char *key, bool value);

/* api_objects.c */
NL_MUST_USE nl_status nl_dashboard_buckets(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_objects(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_object(nl_dashboard_call *call);        /* its bytes */
NL_MUST_USE nl_status nl_dashboard_create_bucket(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_delete_bucket(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_delete_object(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_upload_begin(nl_dashboard *dashboard, nl_request *request); /* request->data: an nl_incoming */
NL_MUST_USE nl_status nl_dashboard_upload(nl_dashboard_call *call);

/* api_tables.c. A table is named by "warehouse" (its id), "namespace" (parts with 0x1F between them) and "name". */
NL_MUST_USE nl_status nl_dashboard_warehouses(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_tables(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_table(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_health(nl_dashboard_call *call);
typedef struct nl_dashboard_name {
    int64_t warehouse_id;
    nl_identifier identifier;
    nl_catalog *catalog;     /* counted */
    nl_iceberg_table *table; /* counted */
} nl_dashboard_name;
NL_MUST_USE nl_status nl_dashboard_open_table(nl_dashboard_call *call, nl_dashboard_name *name);
void nl_dashboard_close_table(nl_dashboard_name *name);

/* api_maintenance.c */
NL_MUST_USE nl_status nl_dashboard_maintenance(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_queries(nl_dashboard_call *call);
NL_MUST_USE nl_status nl_dashboard_cancel_query(nl_dashboard_call *call);

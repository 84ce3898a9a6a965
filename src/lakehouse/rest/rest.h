/* lakehouse/rest/rest.h - the Iceberg REST catalog as something that answers requests; services put it on a port.
 *
 * Source: Iceberg's rest-catalog-open-api.yaml. What is served is one table (route.c), from which the `endpoints` of
 * /v1/config come too.
 */
#pragma once

#include "lakehouse/server.h"
#include "lakehouse/tables.h"

typedef struct nl_rest_api nl_rest_api; /* owned */

typedef struct nl_rest_api_options {
    nl_tables *tables;       /* borrowed */
    nl_lakehouse_keys keys;  /* copied */
    nl_warehouse_kind kind;  /* PLAIN: warehouses by name, one is the default; TABLE_BUCKET: by ARN, always named */
    nl_str mount;            /* before "/v1": "" or "/iceberg"; static */
} nl_rest_api_options;
NL_MUST_USE nl_status nl_rest_api_new(const nl_rest_api_options *options, nl_rest_api **rest);
void nl_rest_api_free(nl_rest_api *rest); /* NULL is fine */
/* Always fills the reply: errors in the REST form are answers too. Checks who asks. */
void nl_rest_api_answer(nl_rest_api *rest, nl_request *request, nl_reply *reply);

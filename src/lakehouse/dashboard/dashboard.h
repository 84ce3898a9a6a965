/* lakehouse/dashboard/dashboard.h - the page on :8000 and the JSON below /api that it is made of.
 *
 * GET changes nothing. What changes something is POST with the header x-nilas-token, which only a page from here can have
 * read. Texts reach the page as JSON and are put into it as text, never as markup. With --strict or --listen the key pair
 * is asked for (HTTP Basic).
 */
#pragma once

#include "lakehouse/queries.h"
#include "lakehouse/server.h"
#include "lakehouse/tables.h"

typedef struct nl_dashboard_stores { /* borrowed by the service */
    nl_objects *objects;
    nl_tables *tables;
    nl_queries *queries;
    const nl_lakehouse_keys *keys;
} nl_dashboard_stores;
NL_MUST_USE nl_status nl_dashboard_service_new(const nl_dashboard_stores *stores, nl_service **service);

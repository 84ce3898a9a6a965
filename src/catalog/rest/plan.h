/* catalog/rest/plan.h - scans planned by the server. */
#pragma once

#include "catalog/rest/rest_private.h"
#include "iceberg/scan_planning.h"

typedef struct nl_remote_plan { /* in the arena given */
    nl_list tasks;   /* nl_file_task * */
    nl_list further; /* nl_str *: plan tasks still to be asked for */
    uint32_t delete_files;
} nl_remote_plan;
/* Of one answer; adds to *plan. */
NL_MUST_USE nl_status nl_remote_plan_read(nl_arena *arena, const json_t *json, const nl_table_metadata *metadata, nl_remote_plan *plan);

/* *plan counted. Blocks. */
NL_MUST_USE nl_status nl_remote_plan_scan(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_str token, const nl_scan_planning *input, nl_scan_plan **plan);

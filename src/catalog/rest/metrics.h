/* catalog/rest/metrics.h - reports of scans and commits for servers that collect them. They cost no query anything: one try
 * each, not waited for, failures are logged only. */
#pragma once

#include "catalog/rest/rest_private.h"
#include "iceberg/scan_planning.h"

NL_MUST_USE nl_status nl_remote_reporter_new(nl_memory *memory, nl_remote_reporter **reporter);
void nl_remote_reporter_free(nl_remote_reporter *reporter); /* waits some seconds at most for what is on its way; NULL is fine */

void nl_remote_report_scan(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_str token, const nl_scan_report *report);
typedef struct nl_commit_report { /* borrowed */
    const nl_table_metadata *base;  /* or NULL */
    const nl_table_metadata *updated;
    int64_t duration_micros;
} nl_commit_report;
/* Of a commit that added a snapshot; nothing is sent of others. */
void nl_remote_report_commit(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_str token, const nl_commit_report *report);

/* lakehouse/maintenance/runner.h - the maintenance that table buckets want, done in the background: compaction, expiry of
 * snapshots, removal of unreferenced files, by settings.h. One thread, one table after the other, with one worker.
 *
 * Writers come first: a table is left alone until nothing was committed to it for a while, and a job that a writer overtakes
 * gives up and comes again in the next round. A table whose metadata has not changed since is not looked at twice.
 */
#pragma once

#include "lakehouse/queries.h"
#include "lakehouse/tables.h"

typedef struct nl_maintenance_options {
    int64_t every_ms; /* between two rounds */
    int64_t quiet_ms; /* since a table's last commit */
} nl_maintenance_options;

typedef struct nl_maintenance_runner nl_maintenance_runner; /* owned */
/* Borrows tables and queries. The first round begins after every_ms. */
NL_MUST_USE nl_status nl_maintenance_start(nl_tables *tables, nl_queries *queries, const nl_maintenance_options *options, nl_memory *memory, nl_maintenance_runner **runner);
void nl_maintenance_stop(nl_maintenance_runner *runner); /* cancels what runs and waits for it; NULL is fine */

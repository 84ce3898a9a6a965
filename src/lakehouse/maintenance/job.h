/* lakehouse/maintenance/job.h - one maintenance procedure on one table of the store, run by the engine in the process. */
#pragma once

#include "command/command.h"
#include "lakehouse/queries.h"
#include "lakehouse/tables.h"

typedef struct nl_maintenance_job { /* borrowed */
    nl_tables *tables;
    nl_queries *queries; /* where it is shown while it runs; NULL: nowhere */
    const char *source;  /* "dashboard", "maintenance" */
    nl_str id;
    int64_t warehouse_id;
    const nl_identifier *identifier;
    const char *procedure; /* "rewrite_data_files"; "set_properties": ALTER TABLE … SET TBLPROPERTIES */
    nl_str arguments;      /* behind the table's; for set_properties the properties; may be empty */
    bool is_background;    /* one worker and a small budget: others come first */
} nl_maintenance_job;

/* "CALL lake.system.rewrite_data_files(table => '`sales`.`orders`', …)"; in the arena. */
nl_str nl_maintenance_statement(const nl_maintenance_job *job, nl_arena *arena);
/* The session for a job: the table's warehouse is its catalog `lake`, the time zone is UTC. Owned. */
NL_MUST_USE nl_status nl_maintenance_session(const nl_maintenance_job *job, nl_session **session);
/* Runs it there. take: called with the result, may be NULL. */
NL_MUST_USE nl_status nl_maintenance_run(const nl_maintenance_job *job, nl_session *session, nl_status (*take)(void *argument, nl_result *result), void *argument);

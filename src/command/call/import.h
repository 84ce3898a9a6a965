/* command/call/import.h - files that are there already become data files of a table: what add_files, snapshot and migrate
 * have in common. */
#pragma once

#include "command/call/procedure.h"
#include "command/plain_tables.h"

typedef struct nl_import {
    nl_command *command;
    nl_iceberg_table *table;
    nl_str name;                    /* of the table, for messages: lake.db.t */
    const nl_plain_table *source;   /* a table of the session catalog, or NULL: */
    nl_str format, location;        /* files below a path; format in lower case */
    const nl_property *filter;      /* values of partition columns; only these partitions are taken */
    uint32_t filter_count;
    bool checks_duplicates;
} nl_import;

/* The table's property schema.name-mapping.default, made of its schema unless it has one. */
nl_str nl_import_mapping(nl_arena *arena, const nl_schema *schema);
/* One commit. *changed_partitions: NL_NONE where the snapshot does not tell. */
NL_MUST_USE nl_status nl_import_files(nl_import *import, int64_t *added_files, int64_t *changed_partitions);
/* "Parallelism should be larger than 0" */
NL_MUST_USE nl_status nl_import_check_parallelism(const nl_call *call, uint32_t parameter);
/* A name of an argument, in the session's current catalog where it names none. what: "argument source_table". */
NL_MUST_USE nl_status nl_import_name(nl_call *call, uint32_t parameter, const char *what, nl_session_name *name);
nl_str nl_import_path(nl_arena *arena, nl_str path); /* Hadoop's form: file:/a/b for paths of the local disk */
nl_str nl_import_dotted(nl_arena *arena, const nl_identifier *identifier); /* db.t */

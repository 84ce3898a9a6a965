/* lakehouse/maintenance/settings.h - what a table bucket and its tables want done in the background: AWS's defaults, and
 * what was put through the S3 Tables API. Stored as documents of the bucket and of the table.
 */
#pragma once

#include "base/json.h"
#include "lakehouse/tables.h"

typedef enum nl_maintenance_kind { NL_MAINTENANCE_COMPACTION, NL_MAINTENANCE_SNAPSHOTS, NL_MAINTENANCE_UNREFERENCED, NL_MAINTENANCE_KIND_COUNT } nl_maintenance_kind;
const char *nl_maintenance_name(nl_maintenance_kind kind); /* "icebergCompaction" */
bool nl_maintenance_kind_of(nl_str name, nl_maintenance_kind *kind);

typedef struct nl_maintenance_setting {
    bool is_enabled;
    int64_t numbers[2]; /* compaction: targetFileSizeMB; snapshots: minSnapshotsToKeep, maxSnapshotAgeHours; unreferenced: unreferencedDays, nonCurrentDays */
    nl_str strategy;    /* compaction: auto, binpack, sort, z-order */
} nl_maintenance_setting;

/* owner: the bucket's token or the table's uuid. Texts in the arena. */
NL_MUST_USE nl_status nl_maintenance_read(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, nl_arena *arena, nl_maintenance_setting *setting);
/* value: {"status"?, "settings"?: {kind: {…}}}; what is absent stays as it is. Fails: NILAS_ILLEGAL_ARGUMENT saying which number is out of range. */
NL_MUST_USE nl_status nl_maintenance_put(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, const json_t *value, nl_arena *arena);
/* {"status":"enabled","settings":{"icebergCompaction":{"targetFileSizeMB":512,"strategy":"auto"}}} */
void nl_maintenance_append_json(nl_maintenance_kind kind, const nl_maintenance_setting *setting, nl_builder *out);

/* What the last run of a kind did. */
typedef struct nl_maintenance_outcome {
    int64_t ran_micros; /* 0: never */
    nl_str failure;     /* empty: it went well */
} nl_maintenance_outcome;
NL_MUST_USE nl_status nl_maintenance_read_outcome(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, nl_arena *arena, nl_maintenance_outcome *outcome);
NL_MUST_USE nl_status nl_maintenance_put_outcome(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, const nl_maintenance_outcome *outcome);

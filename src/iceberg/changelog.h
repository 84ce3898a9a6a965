/* iceberg/changelog.h - which files hold the changes between two snapshots (Java: IncrementalChangelogScan). */
#pragma once

#include "iceberg/scan_planning.h"

typedef struct nl_changelog_range {
    int64_t start_snapshot_id; /* exclusive; 0: from the beginning */
    int64_t end_snapshot_id;   /* inclusive; 0: the current one    */
    bool has_start_ms, has_end_ms;
    int64_t start_ms, end_ms;  /* instead of ids                   */
} nl_changelog_range;

typedef struct nl_file_change { /* all rows of a file came or went with a snapshot */
    bool is_delete;
    int32_t ordinal;            /* of the snapshot in the range, from 0; those that only moved rows are not counted */
    int64_t snapshot_id;
} nl_file_change;

/* planning: of the whole table; its snapshot, predicate and after_snapshot_id are not looked at. *changes has one per task
 * and lives as long as *plan, which is counted. Fails: NILAS_ILLEGAL_ARGUMENT for a range that is none, NILAS_UNSUPPORTED
 * for a range with delete files. */
NL_MUST_USE nl_status nl_changelog_plan(const nl_scan_planning *planning, const nl_changelog_range *range, nl_scan_plan **plan, const nl_file_change **changes);

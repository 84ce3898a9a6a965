/* iceberg/metadata_diff.h - what a REST commit sends: the updates that lead from one table metadata to another, and the
 * requirements under which a server may apply them to a table that has moved on meanwhile.
 *
 * Source: the REST catalog's CommitTableRequest; which update asks for which requirement is Java's UpdateRequirements.
 */
#pragma once

#include "iceberg/metadata_update.h"

typedef struct nl_metadata_diff { /* in the arena given; what it points to is borrowed from both metadata */
    const nl_table_update *updates;
    uint32_t update_count;
    const nl_table_requirement *requirements;
    uint32_t requirement_count;
} nl_metadata_diff;

/* base NULL: creation. Applying the updates to base gives `updated` again, but for times and logs, which whoever applies
 * them writes. Fails: NILAS_UNSUPPORTED when no list of updates leads there (ids that a builder would not give, a
 * snapshot that was changed in place): nothing may be sent then. */
NL_MUST_USE nl_status nl_metadata_diff_make(nl_arena *arena, const nl_table_metadata *base, const nl_table_metadata *updated, nl_metadata_diff *diff);

/* Did the updates take effect, seen in metadata loaded after an answer got lost? Those that add snapshots are recognised by
 * them, a creation by its uuid, others by what they were to bring about. `updated` as given to nl_metadata_diff_make. */
bool nl_metadata_diff_holds(const nl_metadata_diff *diff, const nl_table_metadata *updated, const nl_table_metadata *current);

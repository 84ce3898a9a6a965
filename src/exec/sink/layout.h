/* exec/sink/layout.h - how a write lays out its rows: which rows share a file, and in which order they lie there.
 *
 * The rules are those of Iceberg's Spark writers (surface: Writes, distribution modes), by the table's properties, its
 * partition spec, its sort order, the statement's options, and the kind of statement.
 */
#pragma once

#include "exec/sinks.h"

typedef enum nl_distribution_mode { NL_DISTRIBUTE_NONE, NL_DISTRIBUTE_HASH, NL_DISTRIBUTE_RANGE } nl_distribution_mode;

typedef struct nl_write_layout {
    nl_distribution_mode mode;
    const nl_sort_order *order;   /* of the rows; no fields: as they come. Partitions come one after the other in it  */
    uint32_t partition_key_count; /* so many first fields of order are the partition's; 0: its other fields imply it  */
    bool checks_clusters;         /* unordered rows of an explicit fanout-enabled=false: partitions may not come back */
} nl_write_layout;

/* spec: of the files that are written. is_delta: merge-on-read. layout: in arena. Fails: NILAS_ILLEGAL_ARGUMENT, "Invalid
 * distribution mode: x". */
NL_MUST_USE nl_status nl_write_layout_choose(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_spec *spec,
                                             const nl_write_options *options, bool is_delta, nl_write_layout *layout);

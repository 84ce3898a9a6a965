/* iceberg/partition_stats.h - what lies in each partition of a snapshot, as a file beside the metadata (spec: "Partition
 * Statistics"). */
#pragma once

#include "iceberg/table.h"

/* Writes the file of a snapshot; what the metadata says of it is *file, in the arena. Nothing is committed. *is_written
 * false: no partition has any entry. A snapshot that has one already keeps it. Fails: NILAS_UNSUPPORTED for tables whose
 * default format is not Parquet. */
NL_MUST_USE nl_status nl_partition_stats_write(nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot, nl_arena *arena,
                                               nl_partition_statistics_file *file, bool *is_written);

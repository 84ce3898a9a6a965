/* exec/sink/partition_writers.h - rows to the data files of their partitions.
 *
 * However many partitions there are, memory and descriptors stay bounded: when too many are open, rows of further ones
 * wait on disk by the hash of their tuple and are written after all others, a sixteenth at a time. */
#pragma once

#include "exec/sink/data_writer.h"

typedef enum nl_partition_sharing {
    NL_PARTITIONS_SHARED,    /* one writer per partition, whichever worker brings its rows (Spark's hash distribution) */
    NL_PARTITIONS_OWN,       /* each worker has its own, once a partition has many rows (no distribution) */
    NL_PARTITIONS_CLUSTERED  /* a worker brings one partition after the other: it has one writer open */
} nl_partition_sharing;

typedef struct nl_partition_writing {
    nl_partition_sharing sharing;
    bool refuses_unclustered; /* CLUSTERED: a partition that comes again is an error, and not one more file */
    int32_t cluster_column;   /* rows of an unpartitioned table part by this INT column, which is not written; NL_NONE: by the spec */
} nl_partition_writing;

typedef struct nl_partition_writers nl_partition_writers;
/* target: borrowed, for as long as the writers live. */
NL_MUST_USE nl_status nl_partition_writers_new(nl_write_target *target, const nl_partition_writing *how, nl_partition_writers **writers);
NL_MUST_USE nl_status nl_partition_writers_start(nl_partition_writers *writers, uint32_t worker_count);
/* rows: compacted, the columns of the target's file type first. */
NL_MUST_USE nl_status nl_partition_writers_append(nl_partition_writers *writers, uint32_t worker, const nl_batch *rows);
/* Closes the files that only this worker writes. One thread per worker. */
NL_MUST_USE nl_status nl_partition_writers_finish_worker(nl_partition_writers *writers, uint32_t worker);
/* Writes what waits on disk and closes all files. */
NL_MUST_USE nl_status nl_partition_writers_finish(nl_partition_writers *writers);
void nl_partition_writers_free(nl_partition_writers *writers); /* NULL is fine */

/* exec/metrics.h - what each operator did, for EXPLAIN ANALYZE. */
#pragma once

#include <stdatomic.h>

#include "plan/logical.h"

/* One part of a plan node ("build" and "probe" of a join). Counters are added to by all workers. */
typedef struct nl_metric {
    const nl_logical *node;
    const char *part; /* "" is the node itself: its rows are the node's output */
    atomic_uint_fast64_t rows, nanoseconds, spilled_bytes, memory_bytes;
    nl_builder detail; /* of scans: files and row groups read */
} nl_metric;

typedef struct nl_metrics nl_metrics;
nl_metrics *nl_metrics_new(nl_arena *arena); /* lives as long as the arena */
nl_metric *nl_metrics_add(nl_metrics *metrics, const nl_logical *node, const char *part); /* by the building thread only */
/* The plan as nl_logical_append_text prints it, with rows, time, memory and spilled bytes behind each node. */
void nl_metrics_append_text(const nl_metrics *metrics, const nl_logical *plan, nl_builder *out);

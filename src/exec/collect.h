/* exec/collect.h - the end of a pipeline: batches are put back into the source's order, cut to a limit and emitted one
 * by one. */
#pragma once

#include "exec/engine.h"

/* emit: called by one thread at a time; takes the contents of *batch, which has live rows only. */
typedef nl_status (*nl_emit_fn)(void *context, nl_batch *batch);

/* limit: INT64_MAX is none. The operator ends the pipeline; when the limit is reached, the pipeline stops. */
nl_operator *nl_collect_new(nl_exec *exec, const nl_logical *node, int64_t offset, int64_t limit, nl_emit_fn emit, void *context);

/* exec/run.c - running a whole plan: into a consumer, into a parallel sink, or pulled as a stream. */
#include "exec/collect.h"

#include <stdlib.h>

#define STREAM_BYTES_MAX   (16u << 20) /* a stream runs ahead of its reader by about this much */
#define STREAMS_PER_BUDGET 8u          /* or, with a small budget, by this part of it */

static nl_status consume_batch(void *context, nl_batch *batch)
{
    nl_consumer *consumer = context;
    return consumer->consume(consumer, batch);
}

/* The last pipeline, ending in an ordered collector. A LIMIT at the root is the collector's own. */
static nl_status build_root(nl_exec *exec, const nl_logical *plan, nl_emit_fn emit, void *context, nl_pipeline **out)
{
    int64_t offset = 0;
    int64_t limit = INT64_MAX;
    int64_t keep = INT64_MAX;
    const nl_logical *top = plan;
    if (plan->kind == NL_PLAN_LIMIT) {
        offset = plan->limit.offset;
        limit = plan->limit.limit < 0 ? INT64_MAX : plan->limit.limit;
        keep = limit < INT64_MAX && offset < INT64_MAX - limit ? limit + offset : INT64_MAX;
        top = plan->children[0];
    }
    NL_TRY(top->kind == NL_PLAN_SORT ? nl_build_sort(exec, top, keep, out) : nl_build(exec, top, out));
    nl_pipeline_append(*out, nl_collect_new(exec, top == plan ? NULL : plan, offset, limit, emit, context));
    nl_exec_add_pipeline(exec, *out);
    return NULL;
}

static nl_status run(nl_exec *exec, const nl_logical *plan, nl_consumer *consumer)
{
    nl_pipeline *root = NULL;
    NL_TRY(build_root(exec, plan, consume_batch, consumer, &root));
    return nl_exec_run(exec);
}

nl_status nl_exec_run_nested(nl_exec *parent, const nl_logical *plan, nl_consumer *consumer)
{
    nl_exec exec;
    nl_exec_init(&exec, parent->query, parent);
    nl_status status = run(&exec, plan, consumer);
    nl_exec_fini(&exec);
    return status;
}

nl_status nl_query_run(nl_query *query, const nl_logical *plan, nl_consumer *consumer)
{
    nl_exec exec;
    nl_exec_init(&exec, query, NULL);
    nl_status status = run(&exec, plan, consumer);
    nl_exec_fini(&exec);
    return status;
}

typedef struct sink_operator {
    nl_operator base;
    nl_parallel_sink *sink;
} sink_operator;

static nl_status sink_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    nl_parallel_sink *sink = NL_CONTAINER(self, sink_operator, base)->sink;
    NL_TRY(nl_batch_compact(batch, self->exec->query->memory));
    return sink->consume(sink, worker->index, batch);
}

static nl_status sink_start(nl_operator *self)
{
    nl_parallel_sink *sink = NL_CONTAINER(self, sink_operator, base)->sink;
    return sink->start(sink, self->exec->worker_count);
}

static nl_status sink_finish_worker(nl_operator *self, nl_worker *worker)
{
    nl_parallel_sink *sink = NL_CONTAINER(self, sink_operator, base)->sink;
    return sink->finish_worker(sink, worker->index);
}

static const nl_operator_ops sink_ops = {.name = "sink", .start = sink_start, .push = sink_push, .finish_worker = sink_finish_worker};

nl_status nl_query_run_parallel(nl_query *query, const nl_logical *plan, nl_parallel_sink *sink)
{
    nl_exec exec;
    nl_exec_init(&exec, query, NULL);
    nl_pipeline *pipeline = NULL;
    nl_status status = NULL;
    sink_operator *operator = NL_NEW(exec.arena, sink_operator);
    nl_operator_init(&operator->base, &sink_ops, &exec, NULL, "");
    operator->sink = sink;
    NL_GO(nl_build(&exec, plan, &pipeline));
    nl_pipeline_append(pipeline, &operator->base);
    nl_exec_add_pipeline(&exec, pipeline);
    NL_GO(nl_exec_run(&exec));
done:
    nl_exec_fini(&exec);
    return status;
}

typedef struct streamed {
    struct streamed *next;
    size_t bytes;
    nl_batch batch;
} streamed;

/* No thread of its own: whoever asks for a batch that is not there runs the workers until the queue is full. */
struct nl_stream {
    nl_exec exec;
    nl_pipeline *root;
    streamed *first, *last; /* filled by one emitting worker at a time while the workers run, read while they rest */
    size_t bytes, bytes_max;
};

static nl_status enqueue(void *context, nl_batch *batch)
{
    nl_stream *stream = context;
    streamed *item = malloc(sizeof *item);
    if (!item) return nl_out_of_memory(sizeof *item);
    *item = (streamed){.bytes = nl_batch_bytes(batch)};
    nl_batch_move(batch, &item->batch);
    if (stream->last)
        stream->last->next = item;
    else
        stream->first = item;
    stream->last = item;
    stream->bytes += item->bytes + sizeof *item;
    if (stream->bytes > stream->bytes_max) atomic_store_explicit(&stream->root->is_paused, true, memory_order_relaxed);
    return NULL;
}

nl_status nl_stream_open(nl_query *query, const nl_logical *plan, nl_stream **out)
{
    nl_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return nl_out_of_memory(sizeof *stream);
    nl_exec_init(&stream->exec, query, NULL);
    stream->bytes_max = NL_MIN(nl_memory_limit(query->memory) / STREAMS_PER_BUDGET, STREAM_BYTES_MAX);
    nl_status status = build_root(&stream->exec, plan, enqueue, stream, &stream->root);
    if (status) {
        nl_stream_close(stream);
        return status;
    }
    *out = stream;
    return NULL;
}

nl_status nl_stream_next(nl_stream *stream, nl_batch *batch, bool *is_done)
{
    while (!stream->first && !stream->root->has_run) {
        atomic_store_explicit(&stream->root->is_paused, false, memory_order_relaxed);
        NL_TRY(nl_exec_run(&stream->exec));
    }
    streamed *item = stream->first;
    *is_done = item == NULL;
    if (!item) return NULL;
    stream->first = item->next;
    if (!stream->first) stream->last = NULL;
    stream->bytes -= item->bytes + sizeof *item;
    nl_batch_move(&item->batch, batch);
    free(item);
    return NULL;
}

void nl_stream_close(nl_stream *stream)
{
    if (!stream) return;
    nl_exec_fini(&stream->exec);
    for (streamed *item = stream->first; item;) {
        streamed *next = item->next;
        nl_batch_fini(&item->batch);
        free(item);
        item = next;
    }
    free(stream);
}

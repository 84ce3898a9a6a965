/* exec/metrics.c - collecting and printing of operator counters. */
#include "exec/metrics.h"

#define DETAIL_BYTES_MAX 4096u

struct nl_metrics {
    nl_arena *arena;
    nl_list metrics;
};

nl_metrics *nl_metrics_new(nl_arena *arena)
{
    nl_metrics *metrics = NL_NEW(arena, nl_metrics);
    metrics->arena = arena;
    return metrics;
}

static void free_metric(void *object)
{
    nl_builder_fini(&((nl_metric *)object)->detail);
}

nl_metric *nl_metrics_add(nl_metrics *metrics, const nl_logical *node, const char *part)
{
    nl_metric *metric = NL_NEW(metrics->arena, nl_metric);
    metric->node = node;
    metric->part = part;
    nl_builder_init(&metric->detail, DETAIL_BYTES_MAX);
    nl_arena_on_free(metrics->arena, free_metric, metric);
    nl_list_add(metrics->arena, &metrics->metrics, metric);
    return metric;
}

static void append_bytes(nl_builder *out, const char *label, uint64_t bytes)
{
    if (bytes >= 10u << 20)
        nl_append_f(out, ", %s %.1f MiB", label, (double)bytes / (1u << 20));
    else if (bytes)
        nl_append_f(out, ", %s %.1f KiB", label, (double)bytes / 1024);
}

static void append_node(const nl_metrics *metrics, const nl_logical *node, nl_builder *out)
{
    uint64_t rows = 0, nanoseconds = 0, spilled = 0, memory = 0;
    bool is_found = false;
    for (uint32_t i = 0; i < metrics->metrics.count; i++) {
        const nl_metric *metric = metrics->metrics.items[i];
        if (metric->node != node) continue;
        is_found = true;
        if (!metric->part[0]) rows += atomic_load_explicit(&metric->rows, memory_order_relaxed);
        nanoseconds += atomic_load_explicit(&metric->nanoseconds, memory_order_relaxed);
        spilled += atomic_load_explicit(&metric->spilled_bytes, memory_order_relaxed);
        memory += atomic_load_explicit(&metric->memory_bytes, memory_order_relaxed);
    }
    if (!is_found) return;
    nl_append_f(out, "  (rows %llu, time %.1f ms", (unsigned long long)rows, (double)nanoseconds / 1e6);
    append_bytes(out, "memory", memory);
    append_bytes(out, "spilled", spilled);
    for (uint32_t i = 0; i < metrics->metrics.count; i++) {
        const nl_metric *metric = metrics->metrics.items[i];
        if (metric->node != node || metric->detail.length == 0) continue;
        nl_append_c(out, ", ");
        nl_append(out, nl_builder_str(&metric->detail));
    }
    nl_append_char(out, ')');
}

static void annotate(void *context, const nl_logical *node, nl_builder *out)
{
    append_node(context, node, out);
}

void nl_metrics_append_text(const nl_metrics *metrics, const nl_logical *plan, nl_builder *out)
{
    nl_logical_append_annotated(plan, annotate, NL_UNCONST(metrics), out);
}

/* stream/state_deduplicate.c - dropDuplicates over streams. State: the keys that have come out. Within the watermark each has the
 * time at which it is forgotten. Without an event time among the keys nothing is ever forgotten. */
#include "stream/state_plan.h"

typedef struct deduplication {
    nl_state_batch *batch;
    nl_arena *arena;
    const nl_logical *node;
    uint32_t key_count;
    bool is_within;
    nl_event_time event;    /* of the child's rows; column 0: none */
    uint32_t event_key;     /* which key is it; UINT32_MAX: none */
    uint32_t event_column;  /* which output column */
} deduplication;

static uint32_t part_width(const deduplication *self)
{
    return self->key_count + self->is_within;
}

static const nl_column *part_columns(const deduplication *self)
{
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, self->key_count + 2);
    for (uint32_t i = 0; i < self->key_count; i++) columns[i] = self->node->columns[i];
    columns[self->key_count] = (nl_column){.name = NL_STR("_expires"), .type = nl_type_bigint()};
    return columns;
}

/* Rows that come too late are dropped, by the event time that they have. */
static nl_status without_late(deduplication *self, nl_state_counts *counts, const nl_logical **child)
{
    const nl_expr *late = NULL;
    nl_kept_rows *dropped = NULL;
    *child = self->node->children[0];
    if (!self->event.column) return NULL;
    nl_kept_rows *rows = NULL;
    const nl_logical *input = self->node->children[0];
    NL_TRY(nl_state_run(self->batch, input, &rows));
    const nl_logical *scan = nl_state_scan(self->batch, rows, input->columns, input->column_count);
    nl_kept_rows_release(rows);
    NL_TRY(nl_event_time_is_past(self->batch, scan, &self->event, self->batch->late_micros, &late));
    NL_TRY(nl_state_run(self->batch, nl_state_where(self->batch, scan, late, true), &dropped));
    counts->late = (int64_t)nl_kept_rows_count(dropped);
    nl_kept_rows_release(dropped);
    *child = nl_state_where(self->batch, scan, late, false);
    return NULL;
}

/* The keys of new rows, as the state keeps them. */
static nl_status keys_of(deduplication *self, const nl_logical *rows, const nl_logical **keys)
{
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, self->key_count + 2);
    const nl_expr **exprs = NL_NEW_ARRAY(self->arena, const nl_expr *, self->key_count + 2);
    for (uint32_t i = 0; i < self->key_count; i++) {
        columns[i] = rows->columns[i];
        columns[i].id = nl_plan_new_id(self->batch->planning);
        columns[i].is_nullable = true;
        exprs[i] = nl_column_ref(self->arena, &rows->columns[i]);
    }
    if (self->is_within) {
        const nl_expr *time = nl_column_ref(self->arena, &rows->columns[self->event_column]), *micros = NULL;
        if (self->event.is_window) time = nl_expr_field(self->arena, time, 1);
        NL_TRY(nl_expr_call_named(self->arena, self->batch->planning->confs, "unix_micros", &time, 1, &micros));
        const nl_value delay = nl_value_int(nl_type_bigint(), self->event.delay_ms * 1000);
        const nl_expr *const sum[] = {micros, nl_expr_literal(self->arena, &delay)};
        NL_TRY(nl_expr_call_named(self->arena, self->batch->planning->confs, "+", sum, 2, &exprs[self->key_count]));
        columns[self->key_count] = (nl_column){.id = nl_plan_new_id(self->batch->planning), .name = NL_STR("_expires"), .type = nl_type_bigint(), .is_nullable = true};
    }
    *keys = nl_logical_project(self->arena, rows, columns, exprs, part_width(self));
    return NULL;
}

static nl_status open_part(deduplication *self, const uint32_t *keys, nl_state_part **part)
{
    nl_state_store *store = NULL;
    const nl_state_layout layout = {.row_type = nl_state_row_type(self->batch, part_columns(self), part_width(self)),
                                    .keys = keys,
                                    .key_count = self->key_count,
                                    .time_column = self->is_within ? self->key_count : self->event_key != UINT32_MAX ? self->event_key : NL_STATE_NO_TIME};
    NL_TRY(nl_state_store_open(self->batch, self->is_within ? "dedupeWithinWatermark" : "dedupe", &store));
    return nl_state_part_open(self->batch, store, "keys", &layout, part);
}

/* What is remembered after the batch, and what is forgotten with it. */
static nl_status remember(deduplication *self, nl_state_part *part, const nl_logical *fresh, nl_state_counts *counts)
{
    const nl_logical *keys = NULL;
    nl_kept_rows *added = NULL, *past = NULL;
    nl_status status = NULL;
    NL_GO(keys_of(self, fresh, &keys));
    NL_GO(nl_state_run(self->batch, keys, &added));
    NL_GO(nl_state_add(self->batch, part, added, NULL));
    NL_GO(nl_state_past(self->batch, part, self->batch->evict_micros, &past));
    NL_GO(nl_state_remove(self->batch, part, past));
    NL_GO(nl_state_commit(self->batch, part));
    counts->total = (int64_t)nl_state_part_count(part);
    counts->removed = (int64_t)nl_kept_rows_count(past);
    counts->memory_bytes = nl_state_part_bytes(part);
done:
    nl_kept_rows_release(added);
    nl_kept_rows_release(past);
    return status;
}

/* The batch's rows, each key once, that the state does not know. */
static nl_status find_news(deduplication *self, nl_state_part *part, const uint32_t *keys, const nl_logical *child, nl_kept_rows **news)
{
    nl_kept_rows *fresh = NULL, *old = NULL;
    const nl_logical *plan = NULL;
    nl_status status = nl_state_run(self->batch, nl_logical_with_children(self->arena, self->node, &child), &fresh);
    if (!status) status = nl_state_find(self->batch, part, fresh, keys, &old);
    if (!status) status = nl_state_anti_join(self->batch, nl_state_scan_new(self->batch, fresh), nl_state_scan_rows(self->batch, old), self->key_count, &plan);
    if (!status) status = nl_state_run(self->batch, plan, news);
    nl_kept_rows_release(fresh);
    nl_kept_rows_release(old);
    return status;
}

static nl_status run(deduplication *self, const nl_logical **result)
{
    nl_state_part *part = NULL;
    nl_kept_rows *given = NULL;
    const nl_logical *child = NULL;
    nl_state_counts counts = {.name = self->is_within ? "dedupeWithinWatermark" : "dedupe"};
    const uint32_t *keys = nl_state_first_columns(self->batch, self->key_count);
    NL_TRY(open_part(self, keys, &part));
    NL_TRY(without_late(self, &counts, &child));
    NL_TRY(find_news(self, part, keys, child, &given));
    *result = nl_state_give(self->batch, given, self->node);
    counts.updated = (int64_t)nl_kept_rows_count(given);
    nl_status status = remember(self, part, nl_state_scan_new(self->batch, given), &counts);
    nl_kept_rows_release(given); /* the plan has its own reference */
    if (!status) nl_state_count(self->batch, &counts);
    return status;
}

nl_status nl_state_deduplicate(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    const bool is_all = node->kind == NL_PLAN_DISTINCT;
    deduplication self = {.batch = batch,
                          .arena = batch->planning->arena,
                          .node = node,
                          .key_count = is_all ? node->column_count : node->aggregate.key_count,
                          .is_within = !is_all && node->aggregate.is_within_watermark,
                          .event = nl_event_time_of(node->children[0]),
                          .event_key = UINT32_MAX,
                          .event_column = UINT32_MAX};
    for (uint32_t i = node->column_count; self.event.column && i-- > 0;) {
        nl_event_time of;
        if (!nl_column_event_time(node, &node->columns[i], &of)) continue;
        self.event_column = i;
        if (i < self.key_count) self.event_key = i;
    }
    return run(&self, result);
}

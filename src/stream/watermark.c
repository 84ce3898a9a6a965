/* stream/watermark.c - event times: see watermark.h and nl_event_time in state.h. */
#include "stream/watermark.h"

#include "base/number.h"
#include "stream/state.h"

#define DELAY_KEY "\"spark.watermarkDelayMs\":"

bool nl_watermark_delay(nl_str metadata, int64_t *delay_ms)
{
    const size_t at = nl_str_find(metadata, NL_STR(DELAY_KEY), 0);
    if (at == NL_NOT_FOUND) return false;
    size_t stop = at + sizeof DELAY_KEY - 1;
    const size_t start = stop;
    while (stop < metadata.length && metadata.data[stop] >= '0' && metadata.data[stop] <= '9') stop++;
    return nl_parse_int64(nl_str_slice(metadata, start, stop), delay_ms);
}

/* ---- where a column comes from ---- */

static bool is_window_type(const nl_type *type)
{
    return type->id == NL_TYPE_STRUCT && type->child_count == 2 && nl_str_is(type->children[0].name, "start") && nl_str_is(type->children[1].name, "end");
}

typedef struct search {
    const nl_logical *plan;
    nl_event_time found;
    bool is_found;
} search;

static bool find_event(const nl_logical *plan, nl_column_id id, nl_event_time *event);

static bool look_at(void *context, const nl_expr *expr)
{
    search *s = context;
    if (expr->kind == NL_EXPR_COLUMN) s->is_found = find_event(s->plan, expr->column, &s->found);
    return !s->is_found;
}

/* Does the expression hand on an event time of the plan: as it is, or as a window of it? */
static bool event_of_expr(const nl_logical *plan, const nl_expr *expr, nl_event_time *event)
{
    search s = {.plan = plan};
    const bool is_window = is_window_type(expr->type);
    const bool is_time = expr->type->id == NL_TYPE_TIMESTAMP && (expr->kind == NL_EXPR_COLUMN || (expr->kind == NL_EXPR_CALL && nl_str_is(nl_str_from(expr->function->row->name), "window_time")) ||
                                                                  expr->kind == NL_EXPR_AGGREGATE || expr->kind == NL_EXPR_WINDOW);
    if (!is_window && !is_time) return false;
    (void)nl_expr_walk(expr, look_at, &s);
    *event = s.found;
    return s.is_found;
}

static bool find_in_node(const nl_logical *plan, uint32_t at, nl_event_time *event)
{
    const nl_column *column = &plan->columns[at];
    switch ((int)plan->kind) {
    case NL_PLAN_PROJECT: return event_of_expr(plan->children[0], plan->project.exprs[at], event);
    case NL_PLAN_AGGREGATE:
        if (at < plan->aggregate.key_count) return event_of_expr(plan->children[0], plan->aggregate.keys[at], event);
        if (!plan->aggregate.is_deduplication || at >= plan->aggregate.key_count + plan->aggregate.aggregate_count) return false;
        return event_of_expr(plan->children[0], plan->aggregate.aggregates[at - plan->aggregate.key_count], event);
    case NL_PLAN_GENERATE:
        if (at < plan->children[0]->column_count) return find_event(plan->children[0], column->id, event);
        for (uint32_t i = 0; i < plan->generate.argument_count; i++)
            if (is_window_type(column->type) && event_of_expr(plan->children[0], plan->generate.arguments[i], event)) return true;
        return false;
    case NL_PLAN_WINDOW:
        if (at < plan->children[0]->column_count) return find_event(plan->children[0], column->id, event);
        return event_of_expr(plan->children[0], plan->window.exprs[at - plan->children[0]->column_count], event);
    case NL_PLAN_SET: return at < plan->children[0]->column_count && find_event(plan->children[0], plan->children[0]->columns[at].id, event);
    default:
        for (uint32_t i = 0; i < plan->child_count; i++)
            if (find_event(plan->children[i], column->id, event)) return true;
        return false;
    }
}

static bool find_event(const nl_logical *plan, nl_column_id id, nl_event_time *event)
{
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (plan->columns[i].id != id) continue;
        int64_t delay_ms = 0;
        if (nl_watermark_delay(plan->columns[i].metadata, &delay_ms)) {
            event->delay_ms = delay_ms;
            return true;
        }
        return find_in_node(plan, i, event);
    }
    return false;
}

bool nl_column_event_time(const nl_logical *plan, const nl_column *column, nl_event_time *event)
{
    *event = (nl_event_time){0};
    if (!find_event(plan, column->id, event)) return false;
    event->column = column->id;
    event->is_window = column->type->id == NL_TYPE_STRUCT;
    return true;
}

/* A column that has a delay above the projection, and below, under the same id, is no event time or has another one. */
bool nl_watermark_begins(const nl_logical *plan, const nl_column **column, int64_t *delay_ms)
{
    if (plan->kind != NL_PLAN_PROJECT) return false;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        nl_event_time below;
        const nl_expr *expr = plan->project.exprs[i];
        if (!nl_watermark_delay(plan->columns[i].metadata, delay_ms) || expr->kind != NL_EXPR_COLUMN || expr->column != plan->columns[i].id) continue;
        *column = nl_logical_find_column(plan->children[0], expr->column);
        if (*column && (!nl_column_event_time(plan->children[0], *column, &below) || below.delay_ms != *delay_ms)) return true;
    }
    return false;
}

nl_event_time nl_event_time_of(const nl_logical *plan)
{
    nl_event_time event = {0};
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (nl_column_event_time(plan, &plan->columns[i], &event)) return event;
    return (nl_event_time){0};
}

nl_status nl_event_time_is_past(nl_state_batch *batch, const nl_logical *plan, const nl_event_time *event, int64_t micros, const nl_expr **condition)
{
    nl_arena *arena = batch->planning->arena;
    const nl_column *column = nl_logical_find_column(plan, event->column);
    NL_CHECK(column != NULL);
    const nl_expr *time = nl_column_ref(arena, column);
    if (event->is_window) time = nl_expr_field(arena, time, 1);
    nl_value limit = nl_value_int(time->type, micros);
    const nl_expr *const args[] = {time, nl_expr_literal(arena, &limit)};
    return nl_expr_call_named(arena, batch->planning->confs, "<=", args, 2, condition);
}

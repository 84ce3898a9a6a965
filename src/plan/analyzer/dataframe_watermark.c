/* withWatermark: the event time's column says in its metadata how late rows may be. What that means is the business of whoever
 * runs streams; over rows that end it means nothing. */
#include "plan/analyzer/dataframe.h"

#include <inttypes.h>

#include "function/interval.h"

#define MONTH_MS (31 * INT64_C(86400000)) /* Spark takes the longest month */
#define DAY_MS   INT64_C(86400000)

static nl_status delay_of(nl_dataframe_step *step, nl_str text, int64_t *delay_ms)
{
    nl_interval interval = {0};
    if (!nl_interval_parse(text, &interval)) {
        nl_status status = nl_interval_raise_format(text, nl_type_of(NL_TYPE_INTERVAL));
        if (status) return status;
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unable to parse time delay '" NL_STR_FMT "'", NL_STR_ARG(text));
    }
    *delay_ms = interval.months * MONTH_MS + interval.days * DAY_MS + interval.micros / 1000;
    (void)step;
    if (*delay_ms < 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: delay threshold (" NL_STR_FMT ") should not be negative.", NL_STR_ARG(text));
    return NULL;
}

static bool is_event_time(const nl_type *type)
{
    if (type->id == NL_TYPE_TIMESTAMP) return true;
    return type->id == NL_TYPE_STRUCT && type->child_count == 2 && nl_str_is(type->children[1].name, "end") && type->children[1].type->id == NL_TYPE_TIMESTAMP;
}

static nl_str with_delay(nl_arena *arena, nl_str metadata, int64_t delay_ms)
{
    if (metadata.length <= 2) return nl_arena_f(arena, "{\"spark.watermarkDelayMs\":%" PRId64 "}", delay_ms);
    return nl_arena_f(arena, NL_STR_FMT ",\"spark.watermarkDelayMs\":%" PRId64 "}", NL_STR_ARG(nl_str_slice(metadata, 0, metadata.length - 1)), delay_ms);
}

nl_status nl_dataframe_watermark(nl_dataframe_step *step, const nl_logical **plan)
{
    const nl_column *event = NULL;
    const nl_logical *input = step->input;
    nl_arena *arena = step->arena;
    int64_t delay_ms = 0;
    NL_TRY(nl_dataframe_need_column(step, step->dataframe->names[0], &event));
    NL_TRY(delay_of(step, step->dataframe->names[1], &delay_ms));
    if (!is_event_time(event->type))
        return NL_RAISE(EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE, NL_P_STR("eventName", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(event->name))),
                        NL_P_STR("eventType", nl_quote_type(arena, event->type)));
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, input->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, input->column_count + 1);
    for (uint32_t i = 0; i < input->column_count; i++) {
        columns[i] = input->columns[i];
        exprs[i] = nl_column_ref(arena, &input->columns[i]);
        if (columns[i].id == event->id) columns[i].metadata = with_delay(arena, columns[i].metadata, delay_ms);
    }
    *plan = nl_logical_project(arena, input, columns, exprs, input->column_count);
    return NULL;
}

/* stream/check.c - what Spark refuses on streams before a query starts, in its words. Source: its answers. */
#include "stream/query_private.h"

#include <stdio.h>

#include "stream/state_plan.h"
#include "stream/watermark.h"

typedef struct check {
    nl_output_mode mode;
    bool checks_correctness; /* spark.sql.streaming.statefulOperator.checkCorrectness.enabled */
    uint32_t aggregate_count;
} check;

/* The message, and the plan that it is about. */
static nl_status refuse_text(const nl_logical *plan, const char *message)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_append_f(&text, "%s;\n", message);
    nl_logical_append_text(plan, &text);
    nl_status status = NL_RAISE(_LEGACY_ERROR_TEMP_3102, NL_P("msg", nl_builder_c(&text)));
    nl_builder_fini(&text);
    return status;
}
#define REFUSE(plan, ...)                                  \
    ({                                                     \
        char message_[1024];                               \
        snprintf(message_, sizeof message_, __VA_ARGS__);  \
        refuse_text(plan, message_);                       \
    })

static nl_status refuse_mode(nl_output_mode mode, const char *operation)
{
    return NL_RAISE(STREAMING_OUTPUT_MODE__UNSUPPORTED_OPERATION, NL_P("outputMode", nl_output_mode_name(mode)), NL_P("operation", operation));
}

/* ---- joins ---- */

static const char *join_name(nl_join_kind kind)
{
    switch (kind) {
    case NL_JOIN_LEFT: return "LeftOuter";
    case NL_JOIN_RIGHT: return "RightOuter";
    case NL_JOIN_FULL: return "FullOuter";
    case NL_JOIN_SEMI: return "LeftSemi";
    case NL_JOIN_ANTI:
    case NL_JOIN_NULL_AWARE_ANTI: return "LeftAnti";
    case NL_JOIN_CROSS: return "Cross";
    case NL_JOIN_INNER:
    case NL_JOIN_MARK:
    default: return "Inner";
    }
}

static bool has_event_time(const nl_logical *plan)
{
    return nl_event_time_of(plan).column != 0;
}

/* Rows without a partner come out when the watermark says that none can come: of the sides that keep them, of a full join one. */
static bool may_be_outer(const nl_logical *join)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const bool left = nl_state_join_forgets(scratch, join, 0), right = nl_state_join_forgets(scratch, join, 1);
    nl_arena_free(scratch);
    switch ((int)join->join.kind) {
    case NL_JOIN_LEFT:
    case NL_JOIN_SEMI: return left;
    case NL_JOIN_RIGHT: return right;
    case NL_JOIN_FULL: return left || right;
    default: return true;
    }
}

static nl_status check_join(const check *self, const nl_logical *join)
{
    const bool left = nl_plan_is_streaming(join->children[0]), right = nl_plan_is_streaming(join->children[1]);
    const nl_join_kind kind = join->join.kind;
    const char *name = join_name(kind);
    if (left && right) {
        if (self->mode == NL_OUTPUT_UPDATE && kind != NL_JOIN_INNER) return REFUSE(join, "%s join between two streaming DataFrames/Datasets is not supported in Update output mode, only in Append output mode", name);
        if (self->mode != NL_OUTPUT_APPEND)
            return REFUSE(join, "Join between two streaming DataFrames/Datasets is not supported in %s output mode, only in Append output mode", self->mode == NL_OUTPUT_UPDATE ? "Update" : "Complete");
        if (kind == NL_JOIN_ANTI || kind == NL_JOIN_NULL_AWARE_ANTI || kind == NL_JOIN_MARK) return REFUSE(join, "LeftAnti joins with a streaming DataFrame/Dataset on the right are not supported");
        if (!may_be_outer(join))
            return REFUSE(join,
                          "Stream-stream %s join between two streaming DataFrame/Datasets is not supported without a watermark in the join keys, or a watermark on the nullable "
                          "side and an appropriate range condition",
                          name);
        return NULL;
    }
    const bool keeps_left = kind == NL_JOIN_LEFT || kind == NL_JOIN_FULL || kind == NL_JOIN_SEMI || kind == NL_JOIN_ANTI || kind == NL_JOIN_NULL_AWARE_ANTI;
    if (kind == NL_JOIN_FULL) return REFUSE(join, "FullOuter joins with streaming DataFrames/Datasets on the %s and a static DataFrame/Dataset on the %s is not supported", left ? "left" : "right", left ? "right" : "left");
    if (right && keeps_left) return REFUSE(join, "%s join with a streaming DataFrame/Dataset on the right and a static DataFrame/Dataset on the left is not supported", name);
    if (left && kind == NL_JOIN_RIGHT) return REFUSE(join, "RightOuter join with a streaming DataFrame/Dataset on the left and a static DataFrame/DataSet on the right not supported");
    return NULL;
}

/* ---- aggregates ---- */

static bool groups_by_event_time(const nl_logical *aggregate)
{
    for (uint32_t i = 0; i < aggregate->aggregate.key_count; i++) {
        nl_event_time event;
        if (nl_column_event_time(aggregate, &aggregate->columns[i], &event)) return true;
    }
    return false;
}

static nl_status check_aggregate(check *self, const nl_logical *aggregate)
{
    self->aggregate_count++;
    for (uint32_t i = 0; i < aggregate->aggregate.aggregate_count; i++)
        if (aggregate->aggregate.aggregates[i]->is_distinct)
            return REFUSE(aggregate, "Distinct aggregations are not supported on streaming DataFrames/Datasets. Consider using approx_count_distinct() instead.");
    nl_state_session session;
    if (self->mode == NL_OUTPUT_UPDATE && nl_state_session_of(aggregate, &session)) return refuse_mode(self->mode, "session window streaming aggregations");
    if (self->mode == NL_OUTPUT_APPEND && !groups_by_event_time(aggregate)) return refuse_mode(self->mode, "streaming aggregations without watermark");
    return NULL;
}

/* ---- the rest ---- */

static bool has_stateful(const nl_logical *plan)
{
    const bool is_stateful = (plan->kind == NL_PLAN_AGGREGATE && !plan->aggregate.is_deduplication) && nl_plan_is_streaming(plan);
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (has_stateful(plan->children[i])) return true;
    return is_stateful;
}

static nl_status check_correctness(const check *self, const nl_logical *plan)
{
    const bool is_stateful = plan->kind == NL_PLAN_AGGREGATE || plan->kind == NL_PLAN_DISTINCT;
    if (!is_stateful || !self->checks_correctness || self->mode == NL_OUTPUT_APPEND || (plan->kind == NL_PLAN_AGGREGATE && plan->aggregate.is_deduplication) || plan->kind == NL_PLAN_DISTINCT)
        return NULL;
    if (!has_stateful(plan->children[0])) return NULL;
    return REFUSE(plan, "Detected pattern of possible 'correctness' issue due to global watermark. The query contains stateful operation which can emit rows older than the current "
                        "watermark plus allowed late record delay, which are \"late rows\" in downstream stateful operations and these rows can be discarded. Please refer the "
                        "programming guide doc for more details. If you understand the possible risk of correctness issue and still need to run the query, you can disable this check "
                        "by setting the config `spark.sql.streaming.statefulOperator.checkCorrectness.enabled` to false.");
}

static nl_status check_window(const nl_logical *plan)
{
    const nl_expr *first = plan->window.exprs[0];
    nl_builder name;
    if (nl_state_is_session_step(plan)) return NULL;
    nl_builder_init(&name, 1 << 16);
    nl_append_f(&name, "%s()", first->call->row->name);
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] >= 'a' && name.data[i] <= 'z') name.data[i] = (char)(name.data[i] - 'a' + 'A');
    nl_status status = NL_RAISE(NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING, NL_P("windowFunc", nl_builder_c(&name)), NL_P_STR("columnName", plan->columns[plan->column_count - 1].name),
                                NL_P("windowSpec", "OVER (…)"));
    nl_builder_fini(&name);
    return status;
}

static nl_status check_set(const nl_logical *plan)
{
    bool any = false, all = true;
    for (uint32_t i = 0; i < plan->child_count; i++) {
        const bool is_stream = nl_plan_is_streaming(plan->children[i]);
        any = any || is_stream;
        all = all && is_stream;
    }
    const nl_set_kind kind = plan->set.kind;
    if (kind == NL_SET_UNION_ALL && !all) return REFUSE(plan, "Union between streaming and batch DataFrames/Datasets is not supported");
    if (kind == NL_SET_EXCEPT || kind == NL_SET_EXCEPT_ALL) return REFUSE(plan, "Except on a streaming DataFrame/Dataset on the right is not supported");
    if (kind == NL_SET_INTERSECT || kind == NL_SET_INTERSECT_ALL) return REFUSE(plan, "Intersect of streaming DataFrames/Datasets is not supported");
    return any ? NULL : NULL;
}

static nl_status check_sort(const check *self, const nl_logical *plan)
{
    if (!plan->sort.is_global) return NULL;
    if (self->mode == NL_OUTPUT_COMPLETE && self->aggregate_count > 0) return NULL;
    return REFUSE(plan, "Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated DataFrame/Dataset in Complete output mode");
}

static nl_status check_limit(const check *self, const nl_logical *plan)
{
    if (plan->limit.offset > 0) return REFUSE(plan, "Offset is not supported on streaming DataFrames/Datasets");
    return self->mode == NL_OUTPUT_UPDATE ? REFUSE(plan, "Limits are not supported on streaming DataFrames/Datasets in Update output mode") : NULL;
}

static nl_status check_node(check *self, const nl_logical *plan)
{
    NL_TRY(check_correctness(self, plan));
    switch ((int)plan->kind) {
    case NL_PLAN_AGGREGATE:
        if (!plan->aggregate.is_deduplication) return check_aggregate(self, plan);
        if (plan->aggregate.is_within_watermark && !has_event_time(plan->children[0]))
            return REFUSE(plan, "dropDuplicatesWithinWatermark is not supported on streaming DataFrames/DataSets without watermark");
        return NULL;
    case NL_PLAN_JOIN: return check_join(self, plan);
    case NL_PLAN_SORT: return check_sort(self, plan);
    case NL_PLAN_LIMIT: return check_limit(self, plan);
    case NL_PLAN_SET: return check_set(plan);
    case NL_PLAN_WINDOW: return check_window(plan);
    case NL_PLAN_SAMPLE: return REFUSE(plan, "Sampling is not supported on streaming DataFrames/Datasets");
    case NL_PLAN_CTE:
    case NL_PLAN_CTE_REF: return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not run a subquery over a stream that is used more than once.");
    case NL_PLAN_PYTHON:
        if (plan->python.shape == NL_PYTHON_ADD || plan->python.shape == NL_PYTHON_MAP || plan->python.shape == NL_PYTHON_EXPLODE) return NULL;
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not run functions in Python on groups of a stream.");
    default: return NULL;
    }
}

static nl_status check_below(check *self, const nl_logical *plan)
{
    if (!nl_plan_is_streaming(plan)) return NULL;
    for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(check_below(self, plan->children[i]));
    return check_node(self, plan);
}

nl_status nl_stream_check(const nl_logical *plan, nl_output_mode mode, nl_session *session)
{
    const nl_str correctness = nl_session_get(session, NL_STR("spark.sql.streaming.statefulOperator.checkCorrectness.enabled"));
    check self = {.mode = mode, .checks_correctness = !nl_str_is_nocase(correctness, "false")};
    NL_TRY(check_below(&self, plan));
    if (mode == NL_OUTPUT_COMPLETE && self.aggregate_count == 0) return refuse_mode(mode, "no streaming aggregations");
    return NULL;
}

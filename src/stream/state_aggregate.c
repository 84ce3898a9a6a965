/* stream/state_aggregate.c - aggregations over streams. State: the group's keys and each aggregate's partial result, as two-phase
 * aggregation makes it. A batch: partial results of its rows, merged with those of the same groups in the state; groups that it
 * has touched are known by a flag (the state may find others of equal hashes), those that the watermark has passed leave. */
#include "stream/state_plan.h"

#include <stdlib.h>

typedef enum step { STEP_PARTIAL, STEP_MERGE, STEP_FINISH } step;

/* ---- an aggregate's steps as aggregates of their own --------------------------------------------------------------- */

static const nl_bound_function *original(const nl_bound_function *function)
{
    return function->state;
}

static uint32_t state_size(const nl_bound_function *function)
{
    return original(function)->aggregate->state_size(original(function));
}

static void init(const nl_bound_function *function, void *state)
{
    if (original(function)->aggregate->init) original(function)->aggregate->init(original(function), state);
}

static nl_status update(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *const *states)
{
    return original(function)->aggregate->update(original(function), eval, args, selection, states);
}

static nl_status update_one(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *state)
{
    return original(function)->aggregate->update_one(original(function), eval, args, selection, state);
}

static nl_status to_partial(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out)
{
    return original(function)->aggregate->to_partial(original(function), eval, states, count, out);
}

static nl_status merge_partial(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial, nl_selection selection, void *const *states)
{
    return original(function)->aggregate->merge_partial(original(function), eval, partial, selection, states);
}

static nl_status finish(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out)
{
    return original(function)->aggregate->finish(original(function), eval, states, count, out);
}

static void destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    original(function)->aggregate->destroy(original(function), eval, state);
}

static nl_status merge_argument(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *const *states)
{
    nl_vector flat = {0};
    NL_TRY(nl_vector_flatten(&args[0], false, eval->memory, &flat));
    nl_status status = merge_partial(function, eval, &flat, selection, states);
    nl_vector_fini(&flat);
    return status;
}

static nl_status merge_argument_one(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *state)
{
    void **states = malloc(((size_t)selection.count + 1) * sizeof *states);
    if (!states) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)selection.count * 8), NL_P("receivedBytes", "0"));
    for (uint32_t i = 0; i < selection.count; i++) states[i] = state;
    nl_status status = merge_argument(function, eval, args, selection, states);
    free(states);
    return status;
}

static const nl_bound_function *step_of(nl_arena *arena, const nl_bound_function *from, step at)
{
    nl_bound_function *made = NL_NEW(arena, nl_bound_function);
    nl_aggregate_ops *ops = NL_NEW(arena, nl_aggregate_ops);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 1);
    *ops = (nl_aggregate_ops){.state_size = state_size,
                              .init = init,
                              .update = at == STEP_PARTIAL ? update : merge_argument,
                              .update_one = at == STEP_PARTIAL ? update_one : merge_argument_one,
                              .to_partial = to_partial,
                              .merge_partial = merge_partial,
                              .finish = at == STEP_FINISH ? finish : to_partial,
                              .destroy = from->aggregate->destroy ? destroy : NULL};
    *made = *from;
    made->state = from;
    made->aggregate = ops;
    made->window = NULL;
    if (at != STEP_FINISH) made->result_type = from->partial_type;
    if (at != STEP_FINISH) made->is_nullable = true;
    if (at == STEP_PARTIAL) return made;
    types[0] = from->partial_type;
    made->argument_types = types;
    made->argument_count = 1;
    return made;
}

/* ---- "has any row of the group the flag?" -------------------------------------------------------------------------- */

static uint32_t flag_size(const nl_bound_function *function)
{
    (void)function;
    return 1;
}

static nl_status flag_update(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *const *states)
{
    nl_vector flat = {0};
    (void)function;
    NL_TRY(nl_vector_flatten(&args[0], false, eval->memory, &flat));
    const uint8_t *values = nl_vector_values(&flat);
    for (uint32_t i = 0; i < selection.count; i++)
        if (values[nl_selection_row(selection, i)]) *(uint8_t *)states[i] = 1;
    nl_vector_fini(&flat);
    return NULL;
}

static nl_status flag_update_one(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *state)
{
    nl_vector flat = {0};
    (void)function;
    NL_TRY(nl_vector_flatten(&args[0], false, eval->memory, &flat));
    const uint8_t *values = nl_vector_values(&flat);
    for (uint32_t i = 0; i < selection.count; i++)
        if (values[nl_selection_row(selection, i)]) *(uint8_t *)state = 1;
    nl_vector_fini(&flat);
    return NULL;
}

static nl_status flag_partial(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out)
{
    (void)function;
    NL_TRY(nl_vector_new_flat(out, nl_type_boolean(), count, eval->memory));
    uint8_t *values = nl_vector_values(out);
    for (uint32_t i = 0; i < count; i++) values[i] = *(const uint8_t *)states[i];
    return NULL;
}

static nl_status flag_merge(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial, nl_selection selection, void *const *states)
{
    return flag_update(function, eval, partial, selection, states);
}

static const nl_aggregate_ops flag_ops = {
    .state_size = flag_size, .update = flag_update, .update_one = flag_update_one, .to_partial = flag_partial, .merge_partial = flag_merge, .finish = flag_partial};
static const nl_function_row flag_row = {
    .name = "stream_touched", .kind = NL_FUNCTION_AGGREGATE, .group = "agg", .nulls = NL_NULL_SEEN, .signature = "(boolean) -> boolean", .is_internal = true, .aggregate = &flag_ops};

static const nl_bound_function *flag_function(nl_arena *arena)
{
    nl_bound_function *made = NL_NEW(arena, nl_bound_function);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 1);
    types[0] = nl_type_boolean();
    *made = (nl_bound_function){.row = &flag_row,
                                .result_type = nl_type_boolean(),
                                .argument_count = 1,
                                .argument_types = types,
                                .is_deterministic = true,
                                .partial_type = nl_type_boolean(),
                                .aggregate = &flag_ops};
    return made;
}

/* ---- plans --------------------------------------------------------------------------------------------------------- */

typedef struct aggregation {
    nl_state_batch *batch;
    nl_arena *arena;
    const nl_logical *node;
    uint32_t key_count, call_count; /* the grouping id of rollup and cube is a key of the state: the last one */
    bool has_sets;
    nl_event_time event;      /* among the keys; column 0: none */
    bool is_session;
    nl_state_session session;
    const char *name;         /* of the operator */
} aggregation;

static const nl_expr *aggregate_expr(nl_arena *arena, const nl_bound_function *call, const nl_expr *const *args, uint32_t count, const nl_expr *filter)
{
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_AGGREGATE, call->result_type, args, count);
    expr->call = call;
    expr->filter = filter;
    expr->is_nullable = call->is_nullable;
    return expr;
}

static const nl_logical *group(aggregation *self, const nl_logical *child, const nl_expr *const *keys, const nl_expr *const *calls, uint32_t call_count, const nl_column *columns)
{
    nl_logical *node = nl_logical_new(self->arena, NL_PLAN_AGGREGATE, &child, 1);
    node->columns = columns;
    node->column_count = self->key_count + call_count;
    node->aggregate.keys = keys;
    node->aggregate.key_count = self->key_count;
    node->aggregate.aggregates = calls;
    node->aggregate.aggregate_count = call_count;
    return node;
}

/* The node's column of a key or a call of the state. */
static const nl_column *node_column(const aggregation *self, uint32_t at)
{
    const uint32_t plain = self->key_count - self->has_sets;
    if (at < plain || !self->has_sets) return &self->node->columns[at];
    return at == plain ? &self->node->columns[self->node->column_count - 1] : &self->node->columns[at - 1];
}

static nl_column *new_columns(aggregation *self, bool has_flag)
{
    const uint32_t count = self->key_count + self->call_count;
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, count + 2);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = *node_column(self, i);
        columns[i].id = nl_plan_new_id(self->batch->planning);
        columns[i].is_nullable = true;
        if (i >= self->key_count) columns[i].type = self->node->aggregate.aggregates[i - self->key_count]->call->partial_type;
        if (i >= self->key_count) columns[i].name = nl_arena_f(self->arena, "partial%u", i - self->key_count);
    }
    if (has_flag) columns[count] = (nl_column){.id = nl_plan_new_id(self->batch->planning), .name = NL_STR("_touched"), .type = nl_type_boolean()};
    return columns;
}

/* Partial results of the batch's rows. */
static nl_status partial_plan(aggregation *self, const nl_logical **plan)
{
    const nl_logical *child = self->node->children[0];
    const nl_expr **calls = NL_NEW_ARRAY(self->arena, const nl_expr *, self->call_count + 1);
    for (uint32_t i = 0; i < self->call_count; i++) {
        const nl_expr *from = self->node->aggregate.aggregates[i];
        calls[i] = aggregate_expr(self->arena, step_of(self->arena, from->call, STEP_PARTIAL), from->children, from->child_count, from->filter);
    }
    if (self->is_session) NL_TRY(nl_state_session_single(self->batch, &self->session, self->node, &child));
    const nl_column *columns = new_columns(self, false);
    nl_logical *made = NL_UNCONST(group(self, child, self->node->aggregate.keys, calls, self->call_count, columns));
    *plan = made;
    if (!self->has_sets) return NULL;
    const uint32_t plain = self->key_count - 1; /* the id comes last out of an aggregation */
    nl_column *given = NL_NEW_ARRAY(self->arena, nl_column, made->column_count + 1);
    for (uint32_t i = 0; i < made->column_count; i++) given[i] = columns[i < plain ? i : i + 1 == made->column_count ? plain : i + 1];
    made->columns = given;
    made->aggregate.key_count = plain;
    made->aggregate.grouping_sets = self->node->aggregate.grouping_sets;
    made->aggregate.grouping_set_count = self->node->aggregate.grouping_set_count;
    *plan = nl_logical_keep(self->arena, made, columns, made->column_count);
    return NULL;
}

static const nl_expr *const *column_refs(aggregation *self, const nl_logical *plan, uint32_t count)
{
    const nl_expr **refs = NL_NEW_ARRAY(self->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) refs[i] = nl_column_ref(self->arena, &plan->columns[i]);
    return refs;
}

static const nl_expr **calls_over(aggregation *self, const nl_logical *rows, step at, uint32_t extra)
{
    const nl_expr **calls = NL_NEW_ARRAY(self->arena, const nl_expr *, self->call_count + extra + 1);
    for (uint32_t i = 0; i < self->call_count; i++) {
        const nl_expr *argument = nl_column_ref(self->arena, &rows->columns[self->key_count + i]);
        const nl_bound_function *call = step_of(self->arena, self->node->aggregate.aggregates[i]->call, at);
        calls[i] = aggregate_expr(self->arena, call, &argument, 1, NULL);
    }
    return calls;
}

/* The batch's groups with what the state has of them; the last column says which were touched. old: numbered. */
static nl_status merged_plan(aggregation *self, nl_kept_rows *before, nl_kept_rows *fresh, const nl_logical **plan)
{
    const nl_logical *both = NULL;
    const nl_logical *old = nl_state_with_flag(self->batch, nl_state_scan_rows(self->batch, before), "_touched", false);
    NL_TRY(nl_state_union(self->batch, old, nl_state_with_flag(self->batch, nl_state_scan_new(self->batch, fresh), "_touched", true), &both));
    if (self->is_session) NL_TRY(nl_state_session_merge(self->batch, &self->session, both, self->key_count, &both));
    const nl_expr **calls = calls_over(self, both, STEP_MERGE, 1);
    const nl_expr *flag = nl_column_ref(self->arena, &both->columns[self->key_count + self->call_count]);
    calls[self->call_count] = aggregate_expr(self->arena, flag_function(self->arena), &flag, 1, NULL);
    *plan = group(self, both, column_refs(self, both, self->key_count), calls, self->call_count + 1, new_columns(self, true));
    return NULL;
}

/* The groups' results under the node's own columns. */
static const nl_logical *finished_plan(aggregation *self, const nl_logical *groups)
{
    nl_column *columns = NL_NEW_ARRAY(self->arena, nl_column, self->key_count + self->call_count + 1);
    for (uint32_t i = 0; i < self->key_count + self->call_count; i++) columns[i] = *node_column(self, i);
    const nl_logical *made = group(self, groups, column_refs(self, groups, self->key_count), calls_over(self, groups, STEP_FINISH, 0), self->call_count, columns);
    return self->has_sets ? nl_logical_keep(self->arena, made, self->node->columns, self->node->column_count) : made;
}

/* "The watermark has passed the group", over rows whose first columns are the keys. */
static nl_status is_past(aggregation *self, const nl_logical *rows, int64_t micros, const nl_expr **condition)
{
    uint32_t at = 0;
    while (at < self->key_count && self->node->columns[at].id != self->event.column) at++;
    const nl_event_time event = {.column = rows->columns[at].id, .is_window = self->event.is_window};
    return nl_event_time_is_past(self->batch, rows, &event, micros, condition);
}

/* ---- a batch ------------------------------------------------------------------------------------------------------- */

typedef struct outcome {
    nl_kept_rows *fresh, *timely, *old, *all, *merged, *touched, *past, *given; /* counted */
    nl_state_counts counts;
} outcome;

/* Groups of the batch that come too late are dropped. */
static nl_status take_fresh(aggregation *self, outcome *o)
{
    const nl_expr *late = NULL;
    const nl_logical *plan = NULL;
    NL_TRY(partial_plan(self, &plan));
    NL_TRY(nl_state_run(self->batch, plan, &o->fresh));
    if (!self->event.column) {
        o->timely = nl_kept_rows_retain(o->fresh);
        return NULL;
    }
    const nl_logical *scan = nl_state_scan_new(self->batch, o->fresh);
    NL_TRY(is_past(self, scan, self->batch->late_micros, &late));
    NL_TRY(nl_state_run(self->batch, nl_state_where(self->batch, scan, late, false), &o->timely));
    o->counts.late = (int64_t)(nl_kept_rows_count(o->fresh) - nl_kept_rows_count(o->timely));
    return NULL;
}

static nl_status keep_columns(aggregation *self, const nl_logical *plan, nl_kept_rows **rows)
{
    return nl_state_run(self->batch, nl_logical_keep(self->arena, plan, plan->columns, self->key_count + self->call_count), rows);
}

/* The batch's groups, merged with those of the state, take their place. */
static nl_status merge(aggregation *self, nl_state_part *part, const uint32_t *keys, outcome *o)
{
    const nl_logical *merged = NULL;
    NL_TRY(nl_state_find(self->batch, part, o->timely, keys, &o->old));
    NL_TRY(merged_plan(self, o->old, o->timely, &merged));
    NL_TRY(nl_state_run(self->batch, merged, &o->all));
    const nl_logical *all = nl_state_scan_new(self->batch, o->all);
    const nl_expr *flag = nl_column_ref(self->arena, &all->columns[self->key_count + self->call_count]);
    NL_TRY(keep_columns(self, all, &o->merged));
    NL_TRY(keep_columns(self, nl_state_where(self->batch, all, flag, true), &o->touched));
    o->counts.updated = (int64_t)nl_kept_rows_count(self->is_session ? o->merged : o->touched); /* all sessions of a key are written again */
    NL_TRY(nl_state_remove(self->batch, part, o->old));
    return nl_state_add(self->batch, part, o->merged, NULL);
}

/* What this batch gives out: groups that it has touched, those that leave, or all. *is_numbered: with their numbers first. */
static nl_status choose(aggregation *self, nl_state_part *part, outcome *o, bool *is_numbered)
{
    if (self->event.column && self->batch->mode != NL_OUTPUT_COMPLETE) {
        NL_TRY(nl_state_past(self->batch, part, self->batch->evict_micros, &o->past));
        NL_TRY(nl_state_remove(self->batch, part, o->past));
        o->counts.removed = (int64_t)nl_kept_rows_count(o->past);
    }
    *is_numbered = self->batch->mode != NL_OUTPUT_UPDATE;
    if (self->batch->mode == NL_OUTPUT_UPDATE) o->given = nl_kept_rows_retain(o->touched);
    if (self->batch->mode == NL_OUTPUT_APPEND && o->past) o->given = nl_kept_rows_retain(o->past);
    if (self->batch->mode == NL_OUTPUT_COMPLETE) NL_TRY(nl_state_all(self->batch, part, &o->given));
    NL_CHECK(o->given != NULL);
    return NULL;
}

static nl_status open_part(aggregation *self, const uint32_t *keys, nl_state_part **part)
{
    nl_state_store *store = NULL;
    const nl_column *columns = new_columns(self, false);
    uint32_t event_key = 0;
    while (event_key < self->key_count && self->node->columns[event_key].id != self->event.column) event_key++;
    const nl_state_layout layout = {.row_type = nl_state_row_type(self->batch, columns, self->key_count + self->call_count),
                                    .keys = keys,
                                    .key_count = self->key_count - self->is_session,
                                    .time_column = event_key < self->key_count ? event_key : NL_STATE_NO_TIME};
    NL_TRY(nl_state_store_open(self->batch, self->name, &store));
    return nl_state_part_open(self->batch, store, "groups", &layout, part);
}

/* Groups are found by their keys; sessions by the others of theirs. */
static const uint32_t *found_by(aggregation *self)
{
    uint32_t *keys = NL_NEW_ARRAY(self->arena, uint32_t, self->key_count + 1), count = 0;
    for (uint32_t i = 0; i < self->key_count; i++)
        if (!self->is_session || i != self->session.key) keys[count++] = i;
    return keys;
}

static nl_status run(aggregation *self, outcome *o, const nl_logical **result)
{
    nl_state_part *part = NULL;
    nl_kept_rows *final = NULL;
    bool is_numbered = false;
    const uint32_t *keys = found_by(self);
    NL_TRY(open_part(self, keys, &part));
    NL_TRY(take_fresh(self, o));
    NL_TRY(merge(self, part, keys, o));
    NL_TRY(choose(self, part, o, &is_numbered));
    NL_TRY(nl_state_commit(self->batch, part));
    o->counts.name = self->name;
    o->counts.total = (int64_t)nl_state_part_count(part);
    o->counts.memory_bytes = nl_state_part_bytes(part);
    nl_state_count(self->batch, &o->counts);
    const nl_logical *given = is_numbered ? nl_state_scan_rows(self->batch, o->given) : nl_state_scan_new(self->batch, o->given);
    NL_TRY(nl_state_run(self->batch, finished_plan(self, given), &final));
    *result = nl_state_give(self->batch, final, self->node);
    nl_kept_rows_release(final); /* the plan has its own reference */
    return NULL;
}

nl_status nl_state_aggregate(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    aggregation self = {.batch = batch, .arena = batch->planning->arena, .node = node, .key_count = node->aggregate.key_count, .call_count = node->aggregate.aggregate_count};
    outcome o = {0};
    self.has_sets = node->aggregate.grouping_sets != NULL;
    self.key_count += self.has_sets;
    self.is_session = nl_state_session_of(node, &self.session);
    self.name = self.is_session ? "sessionWindowStateStoreSaveExec" : "stateStoreSave";
    if (self.is_session && self.key_count == 1) return NL_RAISE(_LEGACY_ERROR_TEMP_3102, NL_P("msg", "Global aggregation with session window in streaming query is not supported."));
    for (uint32_t i = 0; i < self.call_count; i++)
        if (nl_python_aggregate(node->aggregate.aggregates[i]->call)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not run aggregate functions in Python over streams.");
    for (uint32_t i = 0; i < node->aggregate.key_count && !self.event.column; i++)
        if (!nl_column_event_time(node, &node->columns[i], &self.event)) self.event.column = 0;
    nl_status status = run(&self, &o, result);
    nl_kept_rows *const all[] = {o.fresh, o.timely, o.old, o.all, o.merged, o.touched, o.past, o.given};
    for (size_t i = 0; i < NL_COUNT(all); i++) nl_kept_rows_release(all[i]);
    return status;
}

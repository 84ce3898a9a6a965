/* exec/observe.c - the metrics of DataFrame.observe(): aggregates over the rows that pass. Every worker has states of its own;
 * at the end they are merged, and what is made of them is noted with the query. */
#include "exec/engine.h"

#include <stdlib.h>

typedef struct observed_call {
    const nl_bound_function *function;
    uint32_t argument_first; /* among the program's outputs */
    uint32_t state_offset;
} observed_call;

typedef struct observing_worker {
    nl_eval eval;
    uint8_t *states; /* owned; NULL: no row has come */
} observing_worker;

typedef struct observe_operator {
    nl_operator base;
    const nl_logical *node;
    nl_programs programs;
    uint32_t output_count;
    observed_call *calls;
    size_t state_bytes;
    observing_worker *workers;
} observe_operator;

static nl_status start_states(const observe_operator *self, observing_worker *own)
{
    own->states = aligned_alloc(64, (self->state_bytes + 64) / 64 * 64);
    if (!own->states) return nl_out_of_memory(self->state_bytes);
    memset(own->states, 0, (self->state_bytes + 64) / 64 * 64);
    for (uint32_t c = 0; c < self->node->observe.call_count; c++) {
        const observed_call *call = &self->calls[c];
        if (call->function->aggregate->init) call->function->aggregate->init(call->function, own->states + call->state_offset);
    }
    return NULL;
}

static nl_status observe_push(nl_operator *base, nl_worker *worker, nl_batch *batch)
{
    observe_operator *self = NL_CONTAINER(base, observe_operator, base);
    observing_worker *own = &self->workers[worker->index];
    if (!own->states) NL_TRY(start_states(self, own));
    nl_vector *outputs = calloc((size_t)self->output_count + 1, sizeof *outputs);
    if (!outputs) return nl_out_of_memory(self->output_count * sizeof *outputs);
    nl_status status = self->output_count ? nl_programs_run(&self->programs, worker->index, batch, outputs) : NULL;
    const nl_selection selection = nl_batch_selection(batch);
    for (uint32_t c = 0; !status && c < self->node->observe.call_count; c++) {
        const observed_call *call = &self->calls[c];
        status = call->function->aggregate->update_one(call->function, &own->eval, outputs + call->argument_first, selection, own->states + call->state_offset);
    }
    for (uint32_t i = 0; i < self->output_count; i++) nl_vector_fini(&outputs[i]);
    free(outputs);
    return status ? status : nl_push(base->next, worker, batch);
}

static nl_status merge_worker(const observe_operator *self, observing_worker *into, observing_worker *from)
{
    for (uint32_t c = 0; c < self->node->observe.call_count; c++) {
        const observed_call *call = &self->calls[c];
        void *const source = from->states + call->state_offset, *const target = into->states + call->state_offset;
        nl_vector partial = {0};
        nl_status status = call->function->aggregate->to_partial(call->function, &from->eval, &source, 1, &partial);
        if (!status) status = call->function->aggregate->merge_partial(call->function, &into->eval, &partial, NL_ALL_ROWS(1), &target);
        nl_vector_fini(&partial);
        NL_TRY(status);
    }
    return NULL;
}

/* ---- the metrics ---- */

typedef struct literals {
    const nl_logical *node;
    const nl_value *values; /* of the calls */
} literals;

static nl_status put_literal(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const literals *known = context;
    const nl_logical *grouped = known->node->observe.grouped;
    *result = expr;
    for (uint32_t i = 0; expr->kind == NL_EXPR_COLUMN && i < grouped->column_count; i++)
        if (grouped->columns[i].id == expr->column) *result = nl_expr_literal(arena, &known->values[i]);
    return NULL;
}

static nl_status call_values(observe_operator *self, observing_worker *all, nl_arena *arena, nl_value *values)
{
    for (uint32_t c = 0; c < self->node->observe.call_count; c++) {
        const observed_call *call = &self->calls[c];
        void *const state = all->states + call->state_offset;
        nl_vector made = {0};
        nl_status status = call->function->aggregate->finish(call->function, &all->eval, &state, 1, &made);
        if (!status) {
            const nl_value value = nl_vector_value(&made, 0, arena);
            values[c] = nl_value_copy(arena, &value);
            values[c].type = self->node->observe.grouped->columns[c].type;
        }
        nl_vector_fini(&made);
        NL_TRY(status);
    }
    return NULL;
}

static nl_status note(observe_operator *self, observing_worker *all)
{
    nl_query *query = self->base.exec->query;
    nl_observations *into = query->observations;
    const nl_logical *metrics = self->node->observe.metrics;
    nl_value *calls = NL_NEW_ARRAY(into->arena, nl_value, self->node->observe.call_count + 1);
    nl_str *keys = NL_NEW_ARRAY(into->arena, nl_str, metrics->column_count + 1);
    nl_value *values = NL_NEW_ARRAY(into->arena, nl_value, metrics->column_count + 1);
    literals known = {.node = self->node, .values = calls};
    NL_TRY(call_values(self, all, into->arena, calls));
    for (uint32_t i = 0; i < metrics->column_count; i++) {
        const nl_expr *expr = NULL;
        NL_TRY(nl_expr_rewrite(into->arena, metrics->project.exprs[i], put_literal, &known, &expr));
        NL_TRY(nl_expr_evaluate(into->arena, expr, query->confs, query->text, &values[i]));
        values[i].type = nl_type_copy(into->arena, metrics->columns[i].type);
        keys[i] = nl_arena_str(into->arena, metrics->columns[i].name);
    }
    nl_observation *made = into->first;
    while (made && !nl_str_equal(made->name, self->node->observe.name)) made = made->next;
    if (!made) {
        made = NL_NEW(into->arena, nl_observation);
        made->next = into->first;
        into->first = made;
    }
    made->name = nl_arena_str(into->arena, self->node->observe.name);
    made->plan_id = self->node->observe.plan_id;
    made->keys = keys;
    made->values = values;
    made->count = metrics->column_count;
    return nl_arena_check(into->arena);
}

nl_observation *nl_observations_copy(nl_arena *arena, const nl_observation *first)
{
    nl_observation *copies = NULL, **place = &copies;
    for (; first; first = first->next) {
        nl_observation *made = NL_NEW(arena, nl_observation);
        nl_str *keys = NL_NEW_ARRAY(arena, nl_str, first->count + 1);
        nl_value *values = NL_NEW_ARRAY(arena, nl_value, first->count + 1);
        for (uint32_t i = 0; i < first->count; i++) {
            keys[i] = nl_arena_str(arena, first->keys[i]);
            values[i] = nl_value_copy(arena, &first->values[i]);
            values[i].type = nl_type_copy(arena, first->values[i].type);
        }
        *made = (nl_observation){.name = nl_arena_str(arena, first->name), .plan_id = first->plan_id, .keys = keys, .values = values, .count = first->count};
        *place = made;
        place = &made->next;
    }
    return copies;
}

static nl_status observe_finish(nl_operator *base)
{
    observe_operator *self = NL_CONTAINER(base, observe_operator, base);
    observing_worker *all = &self->workers[0];
    if (!base->exec->query->observations) return NULL;
    if (!all->states) NL_TRY(start_states(self, all));
    for (uint32_t i = 1; i < base->exec->worker_count; i++)
        if (self->workers[i].states) NL_TRY(merge_worker(self, all, &self->workers[i]));
    return note(self, all);
}

static void observe_free(nl_operator *base)
{
    observe_operator *self = NL_CONTAINER(base, observe_operator, base);
    for (uint32_t i = 0; self->workers && i < base->exec->worker_count; i++) {
        observing_worker *own = &self->workers[i];
        for (uint32_t c = 0; own->states && c < self->node->observe.call_count; c++) {
            const observed_call *call = &self->calls[c];
            if (call->function->aggregate->destroy) call->function->aggregate->destroy(call->function, &own->eval, own->states + call->state_offset);
        }
        free(own->states);
    }
    nl_programs_fini(&self->programs);
}

static const nl_operator_ops observe_ops = {.name = "observe", .push = observe_push, .finish = observe_finish, .free = observe_free};

nl_status nl_append_observe(nl_pipeline *pipeline, const nl_logical *node)
{
    nl_exec *exec = pipeline->exec;
    nl_list exprs = {0};
    observe_operator *self = NL_NEW(exec->arena, observe_operator);
    nl_operator_init(&self->base, &observe_ops, exec, node, "");
    self->node = node;
    self->programs.exec = exec;
    self->calls = NL_NEW_ARRAY(exec->arena, observed_call, node->observe.call_count + 1);
    for (uint32_t c = 0; c < node->observe.call_count; c++) {
        const nl_expr *call = node->observe.calls[c];
        const uint32_t state_size = call->call->aggregate->state_size(call->call);
        self->calls[c] = (observed_call){.function = call->call, .argument_first = exprs.count, .state_offset = (uint32_t)self->state_bytes};
        self->state_bytes += (state_size + 15u) / 16 * 16;
        if (!call->call->is_deterministic) pipeline->is_serial = true; /* first, collect_list: in the order of the rows */
        for (uint32_t i = 0; i < call->child_count; i++) {
            const nl_expr *argument = NULL;
            NL_TRY(nl_resolve_subqueries(exec, call->children[i], &argument));
            if (!nl_expr_is_deterministic(argument)) pipeline->is_serial = true;
            nl_list_add(exec->arena, &exprs, NL_UNCONST(argument));
        }
    }
    self->output_count = exprs.count;
    if (exprs.count)
        NL_TRY(nl_programs_init(&self->programs, exec, (const nl_expr *const *)(void *)exprs.items, exprs.count, node->children[0]->columns, node->children[0]->column_count));
    observing_worker *workers = NL_NEW_ARRAY(exec->arena, observing_worker, exec->worker_count);
    for (uint32_t i = 0; i < exec->worker_count; i++) workers[i].eval = (nl_eval){.confs = exec->query->confs, .memory = exec->query->memory, .worker = i};
    self->workers = workers;
    nl_pipeline_append(pipeline, &self->base);
    return NULL;
}

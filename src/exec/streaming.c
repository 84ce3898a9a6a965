/* exec/streaming.c - operators that pass batches on: filter, project, sample, generate, union. */
#include "exec/engine.h"
#include "exec/poisson.h"
#include "function/scalar/random.h"

#include <stdlib.h>

#define SPARSE_FACTOR 4u /* a selection that keeps less than a quarter of the rows is compacted: kernels work on whole vectors */

typedef struct filter_operator {
    nl_operator base;
    nl_programs condition;
} filter_operator;

static nl_status filter_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    filter_operator *filter = NL_CONTAINER(self, filter_operator, base);
    NL_TRY(nl_programs_filter(&filter->condition, worker->index, batch));
    if (nl_batch_live_rows(batch) == 0) return NULL;
    if (batch->is_selective && batch->selected_count < batch->row_count / SPARSE_FACTOR)
        NL_TRY(nl_batch_compact(batch, self->exec->query->memory));
    return nl_push(self->next, worker, batch);
}

static void filter_free(nl_operator *self)
{
    nl_programs_fini(&NL_CONTAINER(self, filter_operator, base)->condition);
}

static const nl_operator_ops filter_ops = {.name = "filter", .push = filter_push, .free = filter_free};

nl_status nl_append_filter(nl_pipeline *pipeline, const nl_logical *node)
{
    nl_exec *exec = pipeline->exec;
    filter_operator *filter = NL_NEW(exec->arena, filter_operator);
    nl_operator_init(&filter->base, &filter_ops, exec, node, "");
    const nl_expr *condition = NULL;
    NL_TRY(nl_resolve_subqueries(exec, node->filter.condition, &condition));
    NL_TRY(nl_programs_init_filter(&filter->condition, exec, condition, node->children[0]->columns, node->children[0]->column_count));
    if (!nl_expr_is_deterministic(condition)) pipeline->is_serial = true;
    nl_pipeline_append(pipeline, &filter->base);
    return NULL;
}

typedef struct project_operator {
    nl_operator base;
    nl_programs exprs;
    uint32_t column_count;
} project_operator;

static nl_status project_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    project_operator *project = NL_CONTAINER(self, project_operator, base);
    nl_batch out = {0};
    nl_status status = nl_batch_init(&out, project->column_count, batch->row_count);
    if (!status) status = nl_programs_run(&project->exprs, worker->index, batch, out.columns);
    out.is_selective = batch->is_selective;
    out.selected_count = batch->selected_count;
    out.selection = nl_buffer_retain(batch->selection);
    if (!status) {
        nl_batch_fini(batch);
        status = nl_push(self->next, worker, &out);
    }
    nl_batch_fini(&out);
    return status;
}

static void project_free(nl_operator *self)
{
    nl_programs_fini(&NL_CONTAINER(self, project_operator, base)->exprs);
}

static const nl_operator_ops project_ops = {.name = "project", .push = project_push, .free = project_free};

nl_status nl_append_project(nl_pipeline *pipeline, const nl_logical *node)
{
    nl_exec *exec = pipeline->exec;
    project_operator *project = NL_NEW(exec->arena, project_operator);
    nl_operator_init(&project->base, &project_ops, exec, node, "");
    project->column_count = node->column_count;
    const nl_expr **exprs = NL_NEW_ARRAY(exec->arena, const nl_expr *, node->column_count);
    for (uint32_t i = 0; i < node->column_count; i++) {
        NL_TRY(nl_resolve_subqueries(exec, node->project.exprs[i], &exprs[i]));
        if (!nl_expr_is_deterministic(exprs[i])) pipeline->is_serial = true;
    }
    NL_TRY(nl_programs_init(&project->exprs, exec, exprs, node->column_count, node->children[0]->columns, node->children[0]->column_count));
    nl_pipeline_append(pipeline, &project->base);
    return NULL;
}

typedef struct sample_operator {
    nl_operator base;
    double lower, upper;
    nl_random random; /* the pipeline is serial, so that a seed gives the same rows again: Spark's, for one partition */
} sample_operator;

static nl_status sample_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    sample_operator *sample = NL_CONTAINER(self, sample_operator, base);
    nl_selection selection = nl_batch_selection(batch);
    nl_buffer *rows = NULL;
    NL_TRY(nl_buffer_new(self->exec->query->memory, sizeof(uint32_t) * ((size_t)selection.count + 1), false, &rows));
    uint32_t *kept = (uint32_t *)(void *)rows->data;
    uint32_t count = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        const double number = nl_random_double(&sample->random);
        kept[count] = nl_selection_row(selection, i);
        count += number >= sample->lower && number < sample->upper;
    }
    nl_buffer_release(batch->selection);
    batch->selection = rows;
    batch->is_selective = true;
    batch->selected_count = count;
    return nl_push(self->next, worker, batch);
}

typedef struct repeat_operator {
    nl_operator base;
    nl_poisson poisson; /* the pipeline is serial */
} repeat_operator;

static nl_status take_repeated(nl_operator *self, nl_worker *worker, const nl_batch *batch, const uint32_t *rows, uint32_t count)
{
    nl_memory *memory = self->exec->query->memory;
    nl_batch out = {0};
    nl_status status = nl_batch_init(&out, batch->column_count, count);
    for (uint32_t i = 0; !status && i < batch->column_count; i++) status = nl_vector_take(&batch->columns[i], rows, count, memory, &out.columns[i]);
    if (!status) status = nl_push(self->next, worker, &out);
    nl_batch_fini(&out);
    return status;
}

static nl_status repeat_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    repeat_operator *repeat = NL_CONTAINER(self, repeat_operator, base);
    const nl_selection selection = nl_batch_selection(batch);
    nl_buffer *buffer = NULL;
    NL_TRY(nl_buffer_new(self->exec->query->memory, sizeof(uint32_t) * NL_BATCH_ROWS, false, &buffer));
    uint32_t *rows = (uint32_t *)(void *)buffer->data;
    uint32_t count = 0;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < selection.count; i++) {
        for (uint32_t times = nl_poisson_next(&repeat->poisson); !status && times > 0; times--) {
            rows[count++] = nl_selection_row(selection, i);
            if (count < NL_BATCH_ROWS) continue;
            status = take_repeated(self, worker, batch, rows, count);
            count = 0;
        }
    }
    if (!status && count > 0) status = take_repeated(self, worker, batch, rows, count);
    nl_buffer_release(buffer);
    return status;
}

static const nl_operator_ops repeat_ops = {.name = "sample", .push = repeat_push};

static nl_status append_repeat(nl_pipeline *pipeline, const nl_logical *node)
{
    repeat_operator *repeat = NL_NEW(pipeline->exec->arena, repeat_operator);
    nl_operator_init(&repeat->base, &repeat_ops, pipeline->exec, node, "");
    nl_poisson_start(&repeat->poisson, node->sample.upper - node->sample.lower, node->sample.seed);
    pipeline->is_serial = true;
    nl_pipeline_append(pipeline, &repeat->base);
    return NULL;
}

static const nl_operator_ops sample_ops = {.name = "sample", .push = sample_push};

nl_status nl_append_sample(nl_pipeline *pipeline, const nl_logical *node)
{
    if (node->sample.with_replacement) return append_repeat(pipeline, node);
    sample_operator *sample = NL_NEW(pipeline->exec->arena, sample_operator);
    nl_operator_init(&sample->base, &sample_ops, pipeline->exec, node, "");
    sample->lower = node->sample.lower;
    sample->upper = node->sample.upper;
    nl_random_start(&sample->random, node->sample.seed);
    pipeline->is_serial = true;
    nl_pipeline_append(pipeline, &sample->base);
    return NULL;
}

#define GENERATED_ROWS 32768u /* of one go */
#define FIRST_ROWS     64u    /* taken at first: nobody knows yet how many rows one gives */

typedef struct generate_operator {
    nl_operator base;
    const nl_logical *node;
    nl_programs arguments;
    nl_eval *evals; /* per worker */
    uint32_t *rows_at_once; /* per worker */
} generate_operator;

static nl_status generate_rows(generate_operator *generate, nl_worker *worker, const nl_batch *batch, nl_batch *out)
{
    const nl_logical *node = generate->node;
    const nl_bound_function *function = node->generate.generator;
    nl_memory *memory = generate->base.exec->query->memory;
    uint32_t count = node->generate.argument_count;
    nl_vector *arguments = calloc((size_t)count + 1, sizeof *arguments);
    if (!arguments) return nl_out_of_memory(count * sizeof *arguments);
    nl_buffer *parents = NULL;
    uint32_t row_count = 0;
    nl_status status = NULL;
    uint32_t input_count = batch->column_count;
    NL_GO(nl_programs_run(&generate->arguments, worker->index, batch, arguments));
    NL_GO(nl_batch_init(out, node->column_count, 0));
    NL_GO(function->generator->generate(function, &generate->evals[worker->index], arguments, nl_batch_selection(batch), node->generate.is_outer,
                                        &parents, &row_count, out->columns + input_count));
    out->row_count = row_count;
    for (uint32_t i = 0; i < input_count; i++)
        NL_GO(nl_vector_take(&batch->columns[i], (const uint32_t *)(const void *)parents->data, row_count, memory, &out->columns[i]));
done:
    for (uint32_t i = 0; i < count; i++)
        nl_vector_fini(&arguments[i]);
    free(arguments);
    nl_buffer_release(parents);
    return status;
}

/* Rows that one row gave: one can give thousands. */
static nl_status push_generated(nl_operator *self, nl_worker *worker, nl_batch *out)
{
    uint32_t step = nl_exec_batch_rows(self->exec);
    if (out->row_count <= 4 * step) return nl_push(self->next, worker, out);
    for (uint32_t start = 0; start < out->row_count; start += step) {
        nl_batch part = {0};
        NL_TRY(nl_cancel_check(self->exec->query->cancel));
        NL_TRY(nl_batch_slice(out, start, NL_MIN(step, out->row_count - start), self->exec->query->memory, &part));
        nl_status status = nl_push(self->next, worker, &part);
        nl_batch_fini(&part);
        if (status) return status;
    }
    return NULL;
}

/* Takes as many rows at a time as give about GENERATED_ROWS, going by the last ones. */
static nl_status generate_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    generate_operator *generate = NL_CONTAINER(self, generate_operator, base);
    uint32_t *at_once = &generate->rows_at_once[worker->index];
    uint32_t live = nl_batch_live_rows(batch);
    nl_status status = NULL;
    for (uint32_t start = 0; start < live && !status;) {
        uint32_t count = NL_MIN(live - start, *at_once);
        nl_batch piece = {0}, out = {0};
        status = nl_cancel_check(self->exec->query->cancel);
        if (!status) status = count == live ? nl_batch_ref(batch, &piece) : nl_batch_slice(batch, start, count, self->exec->query->memory, &piece);
        if (!status) status = nl_status_at(generate_rows(generate, worker, &piece, &out), generate->node->span, self->exec->query->text);
        uint64_t per_row = out.row_count / count + 1;
        *at_once = (uint32_t)NL_MAX(NL_MIN(GENERATED_ROWS / per_row, 2 * (uint64_t)*at_once), 1u);
        if (!status) status = push_generated(self, worker, &out);
        nl_batch_fini(&piece);
        nl_batch_fini(&out);
        start += count;
    }
    return status;
}

static void generate_free(nl_operator *self)
{
    nl_programs_fini(&NL_CONTAINER(self, generate_operator, base)->arguments);
}

static const nl_operator_ops generate_ops = {.name = "generate", .push = generate_push, .free = generate_free};

nl_status nl_append_generate(nl_pipeline *pipeline, const nl_logical *node)
{
    nl_exec *exec = pipeline->exec;
    generate_operator *generate = NL_NEW(exec->arena, generate_operator);
    nl_operator_init(&generate->base, &generate_ops, exec, node, "");
    generate->node = node;
    const nl_expr **arguments = NL_NEW_ARRAY(exec->arena, const nl_expr *, node->generate.argument_count);
    for (uint32_t i = 0; i < node->generate.argument_count; i++)
        NL_TRY(nl_resolve_subqueries(exec, node->generate.arguments[i], &arguments[i]));
    NL_TRY(nl_programs_init(&generate->arguments, exec, arguments, node->generate.argument_count, node->children[0]->columns,
                            node->children[0]->column_count));
    generate->evals = NL_NEW_ARRAY(exec->arena, nl_eval, exec->worker_count);
    generate->rows_at_once = NL_NEW_ARRAY(exec->arena, uint32_t, exec->worker_count);
    for (uint32_t i = 0; i < exec->worker_count; i++) {
        generate->rows_at_once[i] = FIRST_ROWS;
        generate->evals[i] = (nl_eval){.confs = exec->query->confs, .memory = exec->query->memory, .worker = i};
    }
    nl_pipeline_append(pipeline, &generate->base);
    return NULL;
}

static nl_status union_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    return nl_push(self->next, worker, batch);
}

static const nl_operator_ops union_ops = {.name = "union", .push = union_push};

/* UNION ALL: the children's chains lead into one operator; columns match by position. */
nl_status nl_build_union(nl_exec *exec, const nl_logical *node, nl_pipeline **out)
{
    if (node->set.kind != NL_SET_UNION_ALL)
        return nl_raise_text(NL_COND_INTERNAL_ERROR, NL_HERE, "set operation %d reached execution", (int)node->set.kind);
    nl_operator *operator = NL_NEW(exec->arena, nl_operator);
    nl_operator_init(operator, &union_ops, exec, node, "");
    nl_pipeline *joined = NULL;
    for (uint32_t child = 0; child < node->child_count; child++) {
        nl_pipeline *pipeline = NULL;
        NL_TRY(nl_build(exec, node->children[child], &pipeline));
        if (pipeline->tail) pipeline->tail->next = operator;
        for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
            nl_input *input = pipeline->inputs.items[i];
            if (!input->head) input->head = operator;
            if (joined) nl_list_add(exec->arena, &joined->inputs, input);
        }
        for (uint32_t i = 0; i < pipeline->operators.count; i++) {
            nl_operator *inner = pipeline->operators.items[i];
            if (joined) nl_list_add(exec->arena, &joined->operators, inner);
        }
        if (joined) joined->is_serial = joined->is_serial || pipeline->is_serial;
        if (!joined) joined = pipeline;
    }
    for (uint32_t i = 0; i < joined->operators.count; i++)
        ((nl_operator *)joined->operators.items[i])->pipeline = joined;
    joined->tail = NULL;
    nl_pipeline_append(joined, operator);
    *out = joined;
    return NULL;
}

/* exec/program.c - running a compiled expression over a batch. */
#include "exec/program.h"

#include <stdlib.h>

nl_status nl_status_at(nl_status status, nl_span span, nl_str text)
{
    if (!status || span.stop <= span.start || span.stop > text.length || nl_error_context(status)) return status;
    nl_query_context context = {.text = text, .start = span.start, .stop = span.stop, .line = 1};
    for (uint32_t i = 0; i < span.start; i++) {
        if (((uint8_t)text.data[i] & 0xC0) != 0x80) context.position++;
        if (text.data[i] != '\n') continue;
        context.line++;
        context.position = 0;
    }
    nl_error_set_context(status, &context);
    return status;
}

static nl_status evaluate_lambda(const nl_lambda *self, nl_eval *eval, const nl_vector *parameters, uint32_t parameter_count,
                                 const uint32_t *parent_rows, uint32_t length, nl_vector *out)
{
    const nl_bound_lambda *lambda = NL_CONTAINER(NL_UNCONST(self), nl_bound_lambda, base);
    const nl_lambda_code *code = lambda->code;
    (void)eval;
    NL_ASSERT(parameter_count >= code->parameter_count);
    nl_batch batch = {0};
    NL_TRY(nl_batch_init(&batch, code->captured_count + code->parameter_count, length));
    nl_status status = NULL;
    for (uint32_t i = 0; i < code->captured_count && !status; i++)
        status = nl_vector_take(&lambda->outer->registers[code->captured[i]], parent_rows, length, lambda->outer->eval.memory, &batch.columns[i]);
    for (uint32_t i = 0; i < code->parameter_count && i < parameter_count && !status; i++)
        nl_vector_ref(&parameters[i], &batch.columns[code->captured_count + i]);
    if (!status) status = nl_program_run(lambda->body, &batch, out);
    nl_batch_fini(&batch);
    return status;
}

static nl_status prepare_call(nl_program_state *state, uint32_t call)
{
    const nl_instruction *instruction = state->program->calls[call];
    const nl_function_row *row = instruction->function->row;
    if (row->make_worker_state) NL_TRY(row->make_worker_state(instruction->function, state->eval.worker, &state->worker_states[call]));
    for (uint32_t i = 0; instruction->lambdas && i < instruction->operand_count; i++) {
        const nl_lambda_code *code = instruction->lambdas[i];
        if (!code) continue;
        nl_bound_lambda *lambda = &state->lambdas[instruction->lambda_first + i];
        *lambda = (nl_bound_lambda){.base = {.evaluate = evaluate_lambda, .result_type = code->result_type,
                                             .is_nullable = code->is_nullable, .parameter_count = code->parameter_count},
                                    .code = code, .outer = state};
        NL_TRY(nl_program_state_new(code->body, state->eval.confs, state->eval.memory, state->text, state->eval.worker, &lambda->body));
    }
    return NULL;
}

static nl_status prepare(nl_program_state *state)
{
    const nl_program *program = state->program;
    for (uint32_t i = 0; i < program->constant_count; i++)
        NL_TRY(nl_vector_new_constant(&state->constants[i], &program->constants[i], 1, state->eval.memory));
    for (uint32_t i = 0; i < program->call_count; i++) {
        state->argument_capacity = NL_MAX(state->argument_capacity, program->calls[i]->operand_count);
        NL_TRY(prepare_call(state, i));
    }
    state->arguments = calloc((size_t)state->argument_capacity + 1, sizeof(nl_vector));
    state->lambda_arguments = calloc((size_t)state->argument_capacity + 1, sizeof(nl_lambda *));
    if (!state->arguments || !state->lambda_arguments) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    return NULL;
}

nl_status nl_program_state_new(const nl_program *program, const nl_eval_confs *confs, nl_memory *memory, nl_str text, uint32_t worker,
                               nl_program_state **out)
{
    nl_program_state *state = calloc(1, sizeof *state);
    if (state) {
        *state = (nl_program_state){.program = program, .text = text, .eval = {.confs = confs, .memory = memory, .worker = worker}};
        state->registers = calloc((size_t)program->register_count + 1, sizeof(nl_vector));
        state->is_owned = calloc((size_t)program->register_count + 1, 1);
        state->constants = calloc((size_t)program->constant_count + 1, sizeof(nl_vector));
        state->worker_states = calloc((size_t)program->call_count + 1, sizeof(void *));
        state->lambdas = calloc((size_t)program->lambda_count + 1, sizeof(nl_bound_lambda));
    }
    nl_status status = NULL;
    if (!state || !state->registers || !state->is_owned || !state->constants || !state->worker_states || !state->lambdas)
        status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    if (!status) status = prepare(state);
    if (status) {
        nl_program_state_free(state);
        return status;
    }
    *out = state;
    return NULL;
}

static void clear_registers(nl_program_state *state)
{
    for (uint32_t i = 0; i < state->program->register_count; i++) {
        if (state->is_owned[i]) nl_vector_fini(&state->registers[i]);
        state->is_owned[i] = 0;
        state->registers[i] = (nl_vector){0};
    }
}

void nl_program_state_free(nl_program_state *state)
{
    if (!state) return;
    const nl_program *program = state->program;
    if (state->registers && state->is_owned) clear_registers(state);
    for (uint32_t i = 0; state->constants && i < program->constant_count; i++)
        nl_vector_fini(&state->constants[i]);
    for (uint32_t i = 0; state->worker_states && i < program->call_count; i++) {
        const nl_function_row *row = program->calls[i]->function->row;
        if (state->worker_states[i] && row->free_worker_state) row->free_worker_state(state->worker_states[i]);
    }
    for (uint32_t i = 0; state->lambdas && i < program->lambda_count; i++)
        nl_program_state_free(state->lambdas[i].body);
    nl_program_state_free(state->exact);
    free(state->registers);
    free(state->is_owned);
    free(state->constants);
    free(state->worker_states);
    free(state->lambdas);
    free(state->arguments);
    free(state->lambda_arguments);
    free(state);
}

static nl_status run_call(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out)
{
    bool has_lambdas = instruction->lambdas != NULL;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        bool is_lambda = has_lambdas && instruction->lambdas[i];
        state->lambda_arguments[i] = is_lambda ? &state->lambdas[instruction->lambda_first + i].base : NULL;
        state->arguments[i] = is_lambda ? (nl_vector){0} : *nl_operand(state, instruction, i); /* borrowed */
    }
    state->eval.worker_state = state->worker_states[instruction->slot];
    return nl_function_call(instruction->function, &state->eval, state->arguments, has_lambdas ? state->lambda_arguments : NULL, selection,
                            state->length, out);
}

static nl_status run_instruction(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out)
{
    switch (instruction->op) {
    case NL_OP_CALL: return run_call(state, instruction, selection, out);
    case NL_OP_CAST:
        return nl_cast_vector(&state->eval, instruction->cast_mode, nl_operand(state, instruction, 0), instruction->type, selection, out);
    case NL_OP_AND:
    case NL_OP_OR: return nl_run_and_or(state, instruction, selection, out);
    case NL_OP_NOT: return nl_run_not(state, nl_operand(state, instruction, 0), selection, out);
    case NL_OP_IS_NULL: return nl_run_is_null(state, nl_operand(state, instruction, 0), false, out);
    case NL_OP_IS_NOT_NULL: return nl_run_is_null(state, nl_operand(state, instruction, 0), true, out);
    case NL_OP_CASE: return nl_run_case(state, instruction, selection, out);
    case NL_OP_COALESCE: return nl_run_coalesce(state, instruction, selection, out);
    case NL_OP_IN: return nl_run_in(state, instruction, selection, out);
    case NL_OP_IN_SET: return nl_run_in_set(state, instruction, selection, out);
    case NL_OP_FIELD: return nl_run_field(state, instruction, out);
    case NL_OP_COLUMN:
    case NL_OP_CONSTANT: break; /* borrowed registers, set by nl_block_run */
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "unknown instruction"));
}

nl_status nl_block_run(nl_program_state *state, const nl_block *block, nl_selection selection)
{
    for (uint32_t i = 0; i < block->instructions.count; i++) {
        const nl_instruction *instruction = block->instructions.items[i];
        nl_vector *out = &state->registers[instruction->target];
        if (instruction->op == NL_OP_COLUMN) {
            *out = state->batch->columns[instruction->slot];
        } else if (instruction->op == NL_OP_CONSTANT) {
            *out = state->constants[instruction->slot];
            out->length = state->length;
        } else {
            state->is_owned[instruction->target] = 1;
            nl_status status = run_instruction(state, instruction, selection, out);
            if (NL_UNLIKELY(status != NULL)) return nl_status_at(status, instruction->span, state->text);
        }
    }
    return NULL;
}

static void begin(nl_program_state *state, const nl_batch *batch)
{
    NL_ASSERT(batch->column_count >= state->program->input_count);
    state->batch = batch;
    state->length = batch->row_count;
}

static nl_status run_once(nl_program_state *state, const nl_batch *batch, nl_vector *outputs)
{
    const nl_program *program = state->program;
    begin(state, batch);
    nl_status status = nl_block_run(state, &program->main, nl_batch_selection(batch));
    for (uint32_t i = 0; i < program->output_count; i++) {
        outputs[i] = (nl_vector){0};
        if (!status) nl_vector_ref(&state->registers[program->outputs[i]], &outputs[i]);
    }
    clear_registers(state);
    return status;
}

static nl_status make_exact(nl_program_state *state)
{
    if (state->exact) return NULL;
    return nl_program_state_new(state->program->exact, state->eval.confs, state->eval.memory, state->text, state->eval.worker, &state->exact);
}

nl_status nl_program_run(nl_program_state *state, const nl_batch *batch, nl_vector *outputs)
{
    nl_status status = run_once(state, batch, outputs);
    if (NL_LIKELY(!status) || !state->program->exact) return status;
    nl_error_free(status);
    NL_TRY(make_exact(state));
    return run_once(state->exact, batch, outputs);
}

static nl_status narrow(nl_batch *batch, const nl_vector *boolean, nl_memory *memory)
{
    nl_selection selection = nl_batch_selection(batch);
    if (boolean->encoding == NL_CONSTANT && !nl_vector_is_null(boolean, 0) && *(const uint8_t *)boolean->values) return NULL;
    nl_buffer *rows = NULL;
    NL_TRY(nl_buffer_new(memory, sizeof(uint32_t) * ((size_t)selection.count + 1), false, &rows));
    uint32_t count = nl_select_true(boolean, selection, (uint32_t *)(void *)rows->data);
    if (count == selection.count) {
        nl_buffer_release(rows);
        return NULL;
    }
    nl_buffer_release(batch->selection);
    batch->selection = rows;
    batch->is_selective = true;
    batch->selected_count = count;
    return NULL;
}

static nl_status filter_once(nl_program_state *state, nl_batch *batch)
{
    const nl_program *program = state->program;
    NL_ASSERT(program->conjunct_count > 0); /* made by nl_program_compile_filter: another program would let every row pass */
    begin(state, batch);
    nl_status status = NULL;
    for (uint32_t i = 0; i < program->conjunct_count && !status && nl_batch_live_rows(batch) > 0; i++) {
        status = nl_block_run(state, program->conjunct_blocks[i], nl_batch_selection(batch));
        if (!status) status = narrow(batch, &state->registers[program->conjuncts[i]], state->eval.memory);
    }
    clear_registers(state);
    return status;
}

nl_status nl_program_filter(nl_program_state *state, nl_batch *batch)
{
    nl_status status = filter_once(state, batch);
    if (NL_LIKELY(!status) || !state->program->exact) return status;
    nl_error_free(status);
    NL_TRY(make_exact(state));
    return filter_once(state->exact, batch);
}

/* A constant lives in a plan: what is larger, the query makes itself, out of its own budget. */
enum { CONSTANT_BYTES_MAX = 256 << 20, CONSTANT_ELEMENTS_MAX = 1 << 20 };

static nl_status check_elements(const nl_vector *vector)
{
    if (vector->encoding == NL_DICTIONARY) vector = &vector->dictionary->vector;
    if (vector->length > CONSTANT_ELEMENTS_MAX)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(vector->length * sizeof(nl_value))), NL_P_INT("receivedBytes", 0));
    for (uint32_t i = 0; i < vector->child_count; i++) NL_TRY(check_elements(&vector->children[i]));
    return NULL;
}

nl_status nl_expr_evaluate(nl_arena *arena, const nl_expr *expr, const nl_eval_confs *confs, nl_str text, nl_value *value)
{
    if (expr->kind == NL_EXPR_LITERAL) {
        *value = expr->value;
        return NULL;
    }
    nl_program *program = NULL;
    nl_program_state *state = NULL;
    nl_vector output = {0};
    nl_batch batch = {0};
    nl_status status = NULL;
    nl_memory *memory = nl_memory_new(NULL, "constant", CONSTANT_BYTES_MAX);
    NL_GO(nl_program_compile(arena, &expr, 1, NULL, 0, &program));
    NL_GO(nl_program_state_new(program, confs, memory, text, 0, &state));
    NL_GO(nl_batch_init(&batch, 0, 1));
    NL_GO(nl_program_run(state, &batch, &output));
    NL_GO(check_elements(&output));
    *value = nl_vector_value(&output, 0, arena);
done:
    nl_vector_fini(&output);
    nl_batch_fini(&batch);
    nl_program_state_free(state);
    nl_memory_release(memory);
    return status;
}

/* exec/program_logic.c - AND, OR, NOT, IS NULL in three-valued logic. */
#include "exec/program.h"

enum { IS_FALSE = 0, IS_TRUE = 1, IS_UNKNOWN = 2 }; /* one byte per row while AND and OR run */

uint32_t nl_select_true(const nl_vector *boolean, nl_selection selection, uint32_t *rows)
{
    uint32_t count = 0;
    if (boolean->type->id == NL_TYPE_NULL) return 0;
    nl_reader reader;
    nl_reader_init(&reader, boolean);
    const uint8_t *values = reader.values;
    if (!reader.validity && !reader.indices && reader.row_mask) { /* flat without nulls: the usual comparison result */
        for (uint32_t i = 0; i < selection.count; i++) {
            uint32_t row = nl_selection_row(selection, i);
            rows[count] = row;
            count += values[row];
        }
        return count;
    }
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        rows[count] = row;
        count += nl_reader_is_null(&reader, row) ? 0u : values[nl_reader_index(&reader, row)];
    }
    return count;
}

static nl_status make_boolean(nl_program_state *state, const uint8_t *truths, nl_vector *out)
{
    NL_TRY(nl_vector_new_flat(out, nl_type_boolean(), state->length, state->eval.memory));
    uint8_t *values = nl_vector_values(out);
    uint8_t any = 0;
    for (uint32_t row = 0; row < state->length; row++) {
        values[row] = truths[row] & 1;
        any |= truths[row];
    }
    if (!(any & IS_UNKNOWN)) return NULL;
    uint8_t *bits = NULL;
    NL_TRY(nl_vector_make_validity(out, state->eval.memory, &bits));
    for (uint32_t row = 0; row < state->length; row++)
        if (truths[row] & IS_UNKNOWN) nl_bit_clear(bits, row);
    out->null_count = UINT32_MAX;
    return NULL;
}

/* Folds one operand into truths. deciding: the value after which a row needs no further operand. */
static void combine(const nl_vector *operand, nl_selection selection, uint8_t deciding, uint8_t *truths)
{
    bool is_void = operand->type->id == NL_TYPE_NULL;
    nl_reader reader;
    nl_reader_init(&reader, operand);
    const uint8_t *values = reader.values;
    if (!is_void && !reader.validity && !reader.indices && reader.row_mask && !selection.rows) {
        for (uint32_t row = 0; row < selection.count; row++) {
            bool is_decided = truths[row] == deciding || values[row] == deciding;
            truths[row] = is_decided ? deciding : truths[row];
        }
        return;
    }
    if (is_void) {
        for (uint32_t i = 0; i < selection.count; i++) {
            uint8_t *truth = &truths[nl_selection_row(selection, i)];
            *truth = *truth == deciding ? deciding : IS_UNKNOWN;
        }
        return;
    }
    /* By a table of [so far][operand]: nothing here can be predicted. */
    uint8_t next[3][3];
    for (uint8_t before = 0; before < 3; before++)
        for (uint8_t value = 0; value < 3; value++)
            next[before][value] = before == deciding || value == deciding ? deciding : value == IS_UNKNOWN ? IS_UNKNOWN : before;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        const bool is_unknown = nl_reader_is_null(&reader, row);
        const uint8_t value = values[nl_reader_index(&reader, row)] & 1;
        truths[row] = next[truths[row]][is_unknown ? IS_UNKNOWN : value];
    }
}

nl_status nl_run_and_or(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out)
{
    uint8_t deciding = instruction->op == NL_OP_AND ? IS_FALSE : IS_TRUE;
    nl_buffer *truth_bytes = NULL;
    nl_buffer *row_bytes = NULL;
    nl_status status = NULL;
    NL_GO(nl_buffer_new(state->eval.memory, (size_t)state->length + 1, false, &truth_bytes));
    memset(truth_bytes->data, instruction->op == NL_OP_AND ? IS_TRUE : IS_FALSE, state->length);
    nl_selection open = selection; /* rows that may still change; guards run for these only */
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (instruction->guards && instruction->guards[i]) {
            if (!row_bytes) NL_GO(nl_buffer_new(state->eval.memory, sizeof(uint32_t) * ((size_t)selection.count + 1), false, &row_bytes));
            uint32_t *rows = (uint32_t *)(void *)row_bytes->data;
            uint32_t count = 0;
            for (uint32_t k = 0; k < open.count; k++) {
                uint32_t row = nl_selection_row(open, k);
                rows[count] = row; /* never ahead of k, so narrowing in place is fine */
                count += truth_bytes->data[row] != deciding;
            }
            open = (nl_selection){rows, count};
            if (count == 0) break;
            NL_GO(nl_block_run(state, instruction->guards[i], open));
        }
        combine(nl_operand(state, instruction, i), open, deciding, truth_bytes->data);
    }
    NL_GO(make_boolean(state, truth_bytes->data, out));
done:
    nl_buffer_release(truth_bytes);
    nl_buffer_release(row_bytes);
    return status;
}

nl_status nl_run_not(nl_program_state *state, const nl_vector *operand, nl_selection selection, nl_vector *out)
{
    (void)selection;
    if (operand->type->id == NL_TYPE_NULL) return nl_vector_new_null(out, nl_type_boolean(), state->length, state->eval.memory);
    nl_reader reader;
    nl_reader_init(&reader, operand);
    const uint8_t *from = reader.values;
    NL_TRY(nl_vector_new_flat(out, nl_type_boolean(), state->length, state->eval.memory));
    uint8_t *values = nl_vector_values(out);
    uint8_t *bits = NULL;
    if (reader.validity) NL_TRY(nl_vector_make_validity(out, state->eval.memory, &bits));
    for (uint32_t row = 0; row < state->length; row++) {
        bool is_null = nl_reader_is_null(&reader, row);
        values[row] = !is_null && !from[nl_reader_index(&reader, row)];
        if (is_null) nl_bit_clear(bits, row);
    }
    if (bits) out->null_count = UINT32_MAX;
    return NULL;
}

nl_status nl_run_is_null(nl_program_state *state, const nl_vector *operand, bool is_negated, nl_vector *out)
{
    bool is_void = operand->type->id == NL_TYPE_NULL;
    if (is_void || !operand->validity || operand->encoding == NL_CONSTANT) {
        nl_value value = nl_value_boolean((is_void || nl_vector_is_null(operand, 0)) != is_negated);
        if (!is_void && !operand->validity) value.boolean = is_negated;
        return nl_vector_new_constant(out, &value, state->length, state->eval.memory);
    }
    NL_TRY(nl_vector_new_flat(out, nl_type_boolean(), state->length, state->eval.memory));
    uint8_t *values = nl_vector_values(out);
    for (uint32_t row = 0; row < state->length; row++)
        values[row] = nl_bit_get(operand->validity, row) == is_negated;
    return NULL;
}

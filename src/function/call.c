/* function/call.c - calling a scalar function on a batch: nulls, constants and dictionaries once for all kernels.
 *
 * The kernel's work is made as small as it can be: all constant arguments give a constant; one varying argument that
 * is a dictionary is computed on the dictionary's values when there are fewer of them than rows; null rows are taken
 * out of the selection.
 */
#include "function/kernel.h"

typedef struct call {
    const nl_bound_function *function;
    nl_eval *eval;
    const nl_vector *args;
    const nl_lambda *const *lambdas;
    nl_selection selection;
    uint32_t length;
} call;

static bool is_lambda(const call *c, uint32_t i)
{
    return c->lambdas != NULL && c->lambdas[i] != NULL;
}

static nl_status run_kernel(const call *c, nl_vector *out)
{
    nl_status status = c->function->kernel(c->function, c->eval, c->args, c->lambdas, c->selection, c->length, out);
    if (status != NULL) nl_vector_fini(out);
    return status;
}

/* Bits of all validities that vary by row, ANDed; NULL when nothing is null. *buffer is owned when a new one was made. */
static nl_status merge_validity(const call *c, nl_buffer **buffer, const uint8_t **bits)
{
    uint32_t count = 0;
    const nl_vector *first = NULL;
    for (uint32_t i = 0; i < c->function->argument_count; i++) {
        if (is_lambda(c, i) || c->args[i].validity == NULL || c->args[i].encoding == NL_CONSTANT) continue;
        if (count++ == 0) first = &c->args[i];
    }
    *bits = count > 0 ? first->validity : NULL;
    if (count == 1 && first->validity_buffer != NULL) *buffer = nl_buffer_retain(first->validity_buffer);
    if (count == 0 || (count == 1 && *buffer != NULL)) return NULL;
    size_t bytes = (c->length + 7u) / 8u;
    NL_TRY(nl_buffer_new(c->eval->memory, bytes, false, buffer));
    memcpy((*buffer)->data, first->validity, bytes);
    for (uint32_t i = 0; i < c->function->argument_count; i++) {
        const nl_vector *arg = &c->args[i];
        if (is_lambda(c, i) || arg->validity == NULL || arg->encoding == NL_CONSTANT || arg == first) continue;
        for (size_t b = 0; b < bytes; b++) (*buffer)->data[b] &= arg->validity[b];
    }
    *bits = (*buffer)->data;
    return NULL;
}

/* The selected rows whose bit is set. rows_buffer is owned by the caller. */
static nl_status select_valid(const call *c, const uint8_t *bits, nl_buffer **rows_buffer, nl_selection *selection)
{
    NL_TRY(nl_buffer_new(c->eval->memory, nl_size_mul(NL_MAX(c->selection.count, 1u), sizeof(uint32_t)), false, rows_buffer));
    uint32_t *rows = (uint32_t *)(void *)(*rows_buffer)->data;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->selection.count; i++) {
        uint32_t row = nl_selection_row(c->selection, i);
        rows[count] = row;
        count += nl_bit_get(bits, row);
    }
    *selection = (nl_selection){.rows = rows, .count = count};
    return NULL;
}

/* Zeroes the slots of null rows, which a dense kernel has computed from zeroes. */
static void clear_null_slots(nl_vector *out, const uint8_t *bits)
{
    uint32_t size = nl_physical_size(out->type->physical);
    if (size == 0) return;
    uint8_t *values = nl_vector_values(out);
    for (uint32_t row = 0; row < out->length; row++) {
        if ((row & 7) == 0 && bits[row >> 3] == 0xFF) {
            row += 7;
            continue;
        }
        if (!nl_bit_get(bits, row)) memset(values + (size_t)row * size, 0, size);
    }
}

/* Takes *buffer. Makes the rows whose bit is clear null in *out. */
static nl_status apply_nulls(const call *c, nl_vector *out, nl_buffer *buffer, const uint8_t *bits)
{
    if (out->encoding == NL_CONSTANT) {
        nl_vector flat = {0};
        nl_status status = nl_vector_flatten(out, false, c->eval->memory, &flat);
        nl_vector_fini(out);
        if (status != NULL) {
            nl_buffer_release(buffer);
            return status;
        }
        *out = flat;
    }
    if (out->encoding == NL_FLAT && c->function->row->is_dense) clear_null_slots(out, bits);
    out->null_count = UINT32_MAX;
    if (out->validity == NULL) {
        out->validity = bits;
        out->validity_buffer = buffer;
        return NULL;
    }
    /* The kernel made its own nulls: both together, in a buffer of our own since the kernel's may be shared. */
    nl_buffer *both = NULL;
    size_t bytes = (c->length + 7u) / 8u;
    nl_status status = nl_buffer_new(c->eval->memory, bytes, false, &both);
    if (status == NULL) {
        for (size_t b = 0; b < bytes; b++) both->data[b] = out->validity[b] & bits[b];
        nl_buffer_release(out->validity_buffer);
        out->validity_buffer = both;
        out->validity = both->data;
    }
    nl_buffer_release(buffer);
    return status;
}

static nl_status call_rows(const call *c, nl_vector *out)
{
    if (c->function->row->nulls == NL_NULL_SEEN) return run_kernel(c, out);
    nl_buffer *buffer = NULL;
    nl_buffer *rows = NULL;
    const uint8_t *bits = NULL;
    NL_TRY(merge_validity(c, &buffer, &bits));
    call narrowed = *c;
    nl_status status = NULL;
    if (bits != NULL && !c->function->row->is_dense) NL_GO(select_valid(c, bits, &rows, &narrowed.selection));
    NL_GO(run_kernel(&narrowed, out));
    if (bits != NULL) {
        status = apply_nulls(c, out, buffer, bits);
        buffer = NULL;
        if (status != NULL) nl_vector_fini(out);
    }
done:
    nl_buffer_release(rows);
    nl_buffer_release(buffer);
    return status;
}

/* All arguments are constants (or there are none): one row is computed and shown for all. */
static nl_status call_constant(const call *c, nl_vector *out)
{
    call once = *c;
    nl_vector single[16];
    uint32_t count = c->function->argument_count;
    if (count > NL_COUNT(single)) return call_rows(c, out);
    for (uint32_t i = 0; i < count; i++) {
        single[i] = c->args[i]; /* borrowed: not ended here */
        single[i].length = 1;
    }
    once.args = single;
    once.length = 1;
    once.selection = NL_ALL_ROWS(1);
    nl_vector result = {0};
    NL_TRY(call_rows(&once, &result));
    nl_vector flat = {0};
    nl_status status = nl_vector_flatten(&result, false, c->eval->memory, &flat);
    nl_vector_fini(&result);
    if (status != NULL) return status;
    flat.encoding = NL_CONSTANT;
    flat.length = c->length;
    nl_vector_move(&flat, out);
    return NULL;
}

/* Computes on the values of the only varying argument's dictionary. *is_done false: it did not work out (a value that
 * no selected row may use raised an error), so the rows must be computed one by one. */
static nl_status call_dictionary(const call *c, uint32_t varying, bool *is_done, nl_vector *out)
{
    const nl_vector *source = &c->args[varying];
    const nl_vector *values = &source->dictionary->vector;
    nl_vector args[16];
    for (uint32_t i = 0; i < c->function->argument_count; i++) {
        args[i] = i == varying ? *values : c->args[i];
        if (i != varying) args[i].length = values->length;
    }
    call on_values = *c;
    on_values.args = args;
    on_values.length = values->length;
    on_values.selection = NL_ALL_ROWS(values->length);
    nl_vector result = {0};
    nl_status status = call_rows(&on_values, &result);
    if (status != NULL) {
        nl_error_free(status);
        return NULL;
    }
    nl_vector flat = {0};
    status = nl_vector_flatten(&result, false, c->eval->memory, &flat);
    nl_vector_fini(&result);
    if (status != NULL) return status;
    if (flat.validity != NULL) { /* a dictionary holds no nulls: the rows are computed one by one instead */
        nl_vector_fini(&flat);
        return NULL;
    }
    nl_vector_ref(source, out);
    nl_shared_vector *shared = nl_shared_vector_new(&flat);
    nl_shared_vector_release(out->dictionary);
    out->dictionary = shared;
    out->type = c->function->result_type;
    *is_done = true;
    return NULL;
}

nl_status nl_function_call(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,
                           const nl_lambda *const *lambdas, nl_selection selection, uint32_t length, nl_vector *out)
{
    call c = {function, eval, args, lambdas, selection, length};
    NL_ASSERT(function->kernel != NULL);
    bool has_lambda = false;
    uint32_t varying = UINT32_MAX;
    uint32_t varying_count = 0;
    for (uint32_t i = 0; i < function->argument_count; i++) {
        if (is_lambda(&c, i)) {
            has_lambda = true;
            continue;
        }
        bool is_void = args[i].type->id == NL_TYPE_NULL;
        bool is_constant = args[i].encoding == NL_CONSTANT || is_void;
        if (function->row->nulls == NL_NULL_IN_NULL_OUT && (is_void || (is_constant && nl_vector_is_null(&args[i], 0))))
            return nl_vector_new_null(out, function->result_type, length, eval->memory);
        if (is_constant) continue;
        varying = i;
        varying_count++;
    }
    if (selection.count == 0) return nl_vector_new_flat(out, function->result_type, length, eval->memory);
    if (has_lambda || !function->is_deterministic || function->row->is_nondeterministic) return call_rows(&c, out);
    if (varying_count == 0 && function->argument_count > 0) return call_constant(&c, out);
    if (varying_count == 1 && args[varying].encoding == NL_DICTIONARY && function->argument_count <= 16 &&
        function->row->nulls == NL_NULL_IN_NULL_OUT && args[varying].dictionary->vector.length <= selection.count) {
        bool is_done = false;
        NL_TRY(call_dictionary(&c, varying, &is_done, out));
        if (is_done) return NULL;
    }
    return call_rows(&c, out);
}

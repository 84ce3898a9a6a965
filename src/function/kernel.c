/* function/kernel.c - the loops and writers behind kernel.h. */
#include "function/kernel.h"

#include "base/limits.h"
#include "base/pool.h"

nl_status nl_output_init(nl_output *output, const nl_type *type, uint32_t length, nl_memory *memory, nl_vector *vector)
{
    *output = (nl_output){.vector = vector, .memory = memory};
    NL_TRY(nl_vector_new_flat(vector, type, length, memory));
    output->values = nl_vector_values(vector);
    if (type->physical == NL_PHYS_STRING) return nl_vector_make_heap(vector, memory, &output->heap);
    return NULL;
}

nl_status nl_output_null(nl_output *output, uint32_t row)
{
    if (output->validity == NULL)
        NL_TRY(nl_vector_make_validity(output->vector, output->memory, &output->validity));
    nl_bit_clear(output->validity, row);
    return NULL;
}

nl_status nl_output_str(nl_output *output, uint32_t row, nl_str text)
{
    if (text.length > NL_VALUE_BYTES_MAX)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)text.length), NL_P_INT("receivedBytes", 0));
    return nl_heap_add(output->heap, text, (nl_string_view *)output->values + row);
}

nl_status nl_output_share(nl_output *output, const nl_vector *argument)
{
    nl_heap *heap = nl_vector_base(argument)->heap;
    return heap != NULL ? nl_heap_keep(output->heap, heap) : NULL;
}

nl_status nl_output_builder(nl_output *output, uint32_t row, const nl_builder *text)
{
    if (nl_builder_failed(text))
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)NL_VALUE_BYTES_MAX), NL_P_INT("receivedBytes", 0));
    return nl_output_str(output, row, nl_builder_str(text));
}

static void open_readers(nl_row_context *context, const nl_bound_function *function, nl_eval *eval, const nl_vector *args)
{
    context->function = function;
    context->eval = eval;
    for (uint32_t i = 0; i < function->argument_count && i < NL_COUNT(context->readers); i++)
        nl_reader_init(&context->readers[i], &args[i]);
    nl_builder_init(&context->text, nl_eval_text_max(eval));
}

nl_status nl_eval_check(const nl_eval *eval)
{
    return nl_cancel_check(eval->confs->cancel);
}

enum { SMALL_TEXT_BYTES = 1 << 16 };

nl_status nl_text_room(const nl_row_context *context, size_t text_bytes, size_t count)
{
    const size_t bytes = nl_size_add(context->text.length, nl_size_mul(text_bytes, count));
    if (bytes <= SMALL_TEXT_BYTES) return NULL;
    /* it is made in the scratch text and then copied into the column */
    if (bytes <= NL_VALUE_BYTES_MAX && nl_memory_has_room(context->eval->memory, 2 * bytes)) return nl_eval_check(context->eval);
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)NL_MIN(bytes, (size_t)INT64_MAX)), NL_P_INT("receivedBytes", 0));
}

nl_status nl_text_kernel(NL_KERNEL_PARAMETERS, nl_text_row make_row)
{
    nl_row_context context = {0};
    NL_TRY(nl_output_init(&context.output, function->result_type, length, eval->memory, out));
    open_readers(&context, function, eval, args);
    nl_status status = NULL;
    for (uint32_t i = 0; i < selection.count && status == NULL; i++) {
        uint32_t row = nl_selection_row(selection, i);
        bool is_null = false;
        nl_builder_clear(&context.text);
        status = make_row(&context, row, &is_null);
        if (status != NULL) break;
        status = is_null ? nl_output_null(&context.output, row) : nl_output_builder(&context.output, row, &context.text);
    }
    nl_builder_fini(&context.text);
    return status;
}

nl_status nl_slice_kernel(NL_KERNEL_PARAMETERS, nl_slice_row make_row)
{
    nl_row_context context = {0};
    NL_TRY(nl_output_init(&context.output, function->result_type, length, eval->memory, out));
    NL_TRY(nl_output_share(&context.output, &args[0]));
    open_readers(&context, function, eval, args);
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        bool is_null = false;
        nl_str part = make_row(&context, row, &is_null);
        if (is_null)
            NL_TRY(nl_output_null(&context.output, row));
        else
            nl_output_slice(&context.output, row, part);
    }
    return NULL;
}

nl_status nl_value_kernel(NL_KERNEL_PARAMETERS, nl_text_row make_row)
{
    nl_row_context context = {0};
    NL_TRY(nl_output_init(&context.output, function->result_type, length, eval->memory, out));
    open_readers(&context, function, eval, args);
    nl_status status = NULL;
    for (uint32_t i = 0; i < selection.count && status == NULL; i++) {
        uint32_t row = nl_selection_row(selection, i);
        bool is_null = false;
        status = make_row(&context, row, &is_null);
        if (status == NULL && is_null) status = nl_output_null(&context.output, row);
    }
    nl_builder_fini(&context.text);
    return status;
}

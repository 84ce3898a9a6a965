/* function/kernel.h - what kernels are made of: loops over readers, writing strings, raising. Private to function/.
 *
 * A kernel is one static inline element function and one loop macro below. Selected rows only; a NULL_IN_NULL_OUT
 * kernel never sees nulls, except when its row says is_dense.
 */
#pragma once

#include "base/limits.h"
#include "function/coercion.h"
#include "function/function.h"

#define NL_KERNEL_PARAMETERS                                                                                \
    NL_UNUSED const nl_bound_function *function, NL_UNUSED nl_eval *eval, NL_UNUSED const nl_vector *args,  \
        NL_UNUSED const nl_lambda *const *lambdas, nl_selection selection, uint32_t length, nl_vector *out

/* --- errors and texts of bind() --- */
nl_str nl_bind_argument_sql(const nl_bind *bind, uint32_t i); /* in the bind's arena, as all texts here */
nl_str nl_bind_call_sql(const nl_bind *bind);                 /* "f(a, b)", "(a + b)" */
nl_str nl_quoted(nl_arena *arena, nl_str text);               /* in double quotes */
nl_str nl_quoted_type(nl_arena *arena, const nl_type *type);
nl_str nl_quoted_name(const nl_bind *bind);                   /* the function's name in back quotes */
const char *nl_ordinal(uint32_t i);                           /* "first" … */
NL_MUST_USE nl_status nl_bind_unexpected_type(const nl_bind *bind, uint32_t i, const char *required);
NL_MUST_USE nl_status nl_bind_diff_types(const nl_bind *bind);
NL_MUST_USE nl_status nl_bind_not_orderable(const nl_bind *bind, const nl_type *type);
NL_MUST_USE nl_status nl_bind_data_diff_types(const nl_bind *bind, uint32_t first);
NL_MUST_USE nl_status nl_bind_diff_types_list(const nl_bind *bind); /* greatest and least show them in brackets */
NL_MUST_USE nl_status nl_map_zip_diff_types(const nl_bind *bind);
NL_MUST_USE nl_status nl_bind_not_foldable(const nl_bind *bind, uint32_t i, const char *what);
NL_MUST_USE nl_status nl_bind_wrong_count(const nl_bind *bind, nl_str expected);
/* For functions that cast nothing: argument i is a string, or a NULL that becomes one. */
NL_MUST_USE nl_status nl_bind_only_string(nl_bind *bind, uint32_t i);
/* After bind() changed argument types: constants cast to the new ones. */
NL_MUST_USE nl_status nl_bind_refresh_constants(nl_bind *bind);

/* --- reading --- */
static inline nl_str nl_reader_str(const nl_reader *reader, uint32_t row) /* borrowed from the vector */
{
    return nl_view_str((const nl_string_view *)reader->values + nl_reader_index(reader, row));
}
static inline int32_t nl_reader_i32(const nl_reader *reader, uint32_t row)
{
    return ((const int32_t *)reader->values)[nl_reader_index(reader, row)];
}
static inline int64_t nl_reader_i64(const nl_reader *reader, uint32_t row)
{
    return ((const int64_t *)reader->values)[nl_reader_index(reader, row)];
}
static inline double nl_reader_f64(const nl_reader *reader, uint32_t row)
{
    return ((const double *)reader->values)[nl_reader_index(reader, row)];
}
static inline bool nl_reader_bool(const nl_reader *reader, uint32_t row)
{
    return ((const uint8_t *)reader->values)[nl_reader_index(reader, row)] != 0;
}
/* Any integer-like physical form, BOOL and decimals of up to 18 digits included. */
static inline int64_t nl_physical_i64(nl_physical physical, const void *values, uint32_t index)
{
    switch (physical) {
    case NL_PHYS_BOOL:
    case NL_PHYS_I8:
        return ((const int8_t *)values)[index];
    case NL_PHYS_I16:
        return ((const int16_t *)values)[index];
    case NL_PHYS_I32:
        return ((const int32_t *)values)[index];
    case NL_PHYS_I64:
        return ((const int64_t *)values)[index];
    case NL_PHYS_I128:
        return (int64_t)((const nl_int128 *)values)[index];
    case NL_PHYS_NONE:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_STRING:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        break;
    }
    return 0;
}
static inline nl_int128 nl_physical_i128(nl_physical physical, const void *values, uint32_t index)
{
    return physical == NL_PHYS_I128 ? ((const nl_int128 *)values)[index] : nl_physical_i64(physical, values, index);
}
static inline double nl_physical_f64(nl_physical physical, const void *values, uint32_t index)
{
    return physical == NL_PHYS_F32 ? (double)((const float *)values)[index] : ((const double *)values)[index];
}
/* Stores into an integer-like physical form (the caller knows that it fits). */
static inline void nl_physical_set_i128(nl_physical physical, void *values, uint32_t index, nl_int128 value)
{
    switch (physical) {
    case NL_PHYS_BOOL:
        ((uint8_t *)values)[index] = value != 0;
        break;
    case NL_PHYS_I8:
        ((int8_t *)values)[index] = (int8_t)value;
        break;
    case NL_PHYS_I16:
        ((int16_t *)values)[index] = (int16_t)value;
        break;
    case NL_PHYS_I32:
        ((int32_t *)values)[index] = (int32_t)value;
        break;
    case NL_PHYS_I64:
        ((int64_t *)values)[index] = (int64_t)value;
        break;
    case NL_PHYS_I128:
        ((nl_int128 *)values)[index] = value;
        break;
    case NL_PHYS_NONE:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_STRING:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        break;
    }
}
/* The vector that holds a column's strings and children: itself, or its dictionary's. */
static inline const nl_vector *nl_vector_base(const nl_vector *vector)
{
    return vector->encoding == NL_DICTIONARY ? &vector->dictionary->vector : vector;
}

/* --- writing --- */
/* A kernel's FLAT output. Rows made null get the validity bitmap when the first one comes. */
typedef struct nl_output {
    nl_vector *vector;
    nl_memory *memory;
    void *values;
    uint8_t *validity; /* NULL until a null was set */
    nl_heap *heap;     /* strings: made at once */
} nl_output;
NL_MUST_USE nl_status nl_output_init(nl_output *output, const nl_type *type, uint32_t length, nl_memory *memory, nl_vector *vector);
NL_MUST_USE nl_status nl_output_null(nl_output *output, uint32_t row);
/* Copies the text. Fails above NL_VALUE_BYTES_MAX. */
NL_MUST_USE nl_status nl_output_str(nl_output *output, uint32_t row, nl_str text);
/* Points into an argument's strings: call nl_output_share for that argument first. */
static inline void nl_output_slice(nl_output *output, uint32_t row, nl_str text)
{
    ((nl_string_view *)output->values)[row] = nl_view_of(text);
}
NL_MUST_USE nl_status nl_output_share(nl_output *output, const nl_vector *argument);
/* The builder's text, or its failure. */
NL_MUST_USE nl_status nl_output_builder(nl_output *output, uint32_t row, const nl_builder *text);

/* --- loops --- */
#define NL_EACH_SELECTED(row)                                                                      \
    for (uint32_t i_ = 0, row; i_ < selection.count && (row = nl_selection_row(selection, i_), true); i_++)

/* op(in) gives the value; both C types match the physical forms. Not for strings. */
#define NL_UNARY_KERNEL(name, in_type, out_type, op)                                                  \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                       \
    {                                                                                                 \
        nl_output output;                                                                             \
        NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));            \
        nl_reader a;                                                                                  \
        nl_reader_init(&a, &args[0]);                                                                 \
        out_type *values = output.values;                                                             \
        NL_EACH_SELECTED(row)                                                                         \
        values[row] = (out_type)op(((const in_type *)a.values)[nl_reader_index(&a, row)]);            \
        return NULL;                                                                                  \
    }
#define NL_BINARY_KERNEL(name, a_type, b_type, out_type, op)                                          \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                       \
    {                                                                                                 \
        nl_output output;                                                                             \
        NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));            \
        nl_reader a, b;                                                                               \
        nl_reader_init(&a, &args[0]);                                                                 \
        nl_reader_init(&b, &args[1]);                                                                 \
        out_type *values = output.values;                                                             \
        NL_EACH_SELECTED(row)                                                                         \
        values[row] = (out_type)op(((const a_type *)a.values)[nl_reader_index(&a, row)],              \
                                   ((const b_type *)b.values)[nl_reader_index(&b, row)]);             \
        return NULL;                                                                                  \
    }
/* op(nl_str) gives a plain value. */
#define NL_STRING_TO_VALUE_KERNEL(name, out_type, op)                                                 \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                       \
    {                                                                                                 \
        nl_output output;                                                                             \
        NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));            \
        nl_reader a;                                                                                  \
        nl_reader_init(&a, &args[0]);                                                                 \
        out_type *values = output.values;                                                             \
        NL_EACH_SELECTED(row) values[row] = (out_type)op(nl_reader_str(&a, row));                     \
        return NULL;                                                                                  \
    }
/* op(nl_str, nl_str) gives a plain value. */
#define NL_STRINGS_TO_VALUE_KERNEL(name, out_type, op)                                                \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                       \
    {                                                                                                 \
        nl_output output;                                                                             \
        NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));            \
        nl_reader a, b;                                                                               \
        nl_reader_init(&a, &args[0]);                                                                 \
        nl_reader_init(&b, &args[1]);                                                                 \
        out_type *values = output.values;                                                             \
        NL_EACH_SELECTED(row) values[row] = (out_type)op(nl_reader_str(&a, row), nl_reader_str(&b, row)); \
        return NULL;                                                                                  \
    }

/* OPERATION_CANCELED; for kernels whose single value may take long. */
NL_MUST_USE nl_status nl_eval_check(const nl_eval *eval);

/* How long a text may get: a value's limit, or the whole budget if that is less. */
static inline size_t nl_eval_text_max(const nl_eval *eval)
{
    return NL_MIN((size_t)NL_VALUE_BYTES_MAX, nl_memory_limit(eval->memory));
}

/* What string kernels get per row: readers of up to six arguments, and a scratch text that is empty for each row. */
typedef struct nl_row_context {
    const nl_bound_function *function;
    nl_eval *eval;
    nl_reader readers[6];
    nl_builder text;
    nl_output output;
} nl_row_context;
/* Appends the result to context->text (the loop stores it), or sets *is_null. */
typedef nl_status (*nl_text_row)(nl_row_context *context, uint32_t row, bool *is_null);
NL_MUST_USE nl_status nl_text_kernel(NL_KERNEL_PARAMETERS, nl_text_row make_row);
/* Refuses a text of `text_bytes` more, `count` times, before it is made: longer than a value may be, or than the budget
 * has room for. */
NL_MUST_USE nl_status nl_text_room(const nl_row_context *context, size_t text_bytes, size_t count);
#define NL_TEXT_KERNEL(name, make_row)                                                             \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                    \
    {                                                                                              \
        return nl_text_kernel(function, eval, args, lambdas, selection, length, out, make_row);    \
    }
/* The result is a part of argument 0 (no copy), or sets *is_null. */
typedef nl_str (*nl_slice_row)(nl_row_context *context, uint32_t row, bool *is_null);
NL_MUST_USE nl_status nl_slice_kernel(NL_KERNEL_PARAMETERS, nl_slice_row make_row);
#define NL_SLICE_KERNEL(name, make_row)                                                            \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                    \
    {                                                                                              \
        return nl_slice_kernel(function, eval, args, lambdas, selection, length, out, make_row);   \
    }
/* Writes a plain value itself (context->output), or sets *is_null. */
NL_MUST_USE nl_status nl_value_kernel(NL_KERNEL_PARAMETERS, nl_text_row make_row);
#define NL_VALUE_KERNEL(name, make_row)                                                            \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                    \
    {                                                                                              \
        return nl_value_kernel(function, eval, args, lambdas, selection, length, out, make_row);   \
    }

/* --- registry --- */
typedef struct nl_function_group {
    const nl_function_row *rows;
    uint32_t count;
} nl_function_group;

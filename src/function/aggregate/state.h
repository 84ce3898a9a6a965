/* aggregate/state.h - what aggregate states are made of: growing bytes, one kept value, rows as bytes, and macros for
 * the aggregates whose state is plain data. Private to function/.
 *
 * Partial results are BINARY: the bytes of a plain state, or what the aggregate writes itself. They never leave the
 * process (two phases, spilling), so they are in the machine's own byte order.
 */
#pragma once

#include "function/kernel.h"

/* Bytes that grow, charged to eval->memory. Zeroes are empty. */
typedef struct nl_agg_bytes {
    char *data;
    size_t length;
    size_t capacity;
} nl_agg_bytes;
NL_MUST_USE nl_status nl_agg_bytes_reserve(nl_agg_bytes *bytes, nl_memory *memory, size_t more);
NL_MUST_USE nl_status nl_agg_bytes_append(nl_agg_bytes *bytes, nl_memory *memory, const void *data, size_t length);
void nl_agg_bytes_free(nl_agg_bytes *bytes, nl_memory *memory);

/* A row of any type as bytes: a null flag, then its values. */
NL_MUST_USE nl_status nl_encode_row(const nl_vector *vector, uint32_t row, nl_agg_bytes *bytes, nl_memory *memory);
/* Appends the row that starts at data[*offset] and moves *offset behind it. The bytes are our own. */
NL_MUST_USE nl_status nl_decode_row(const char *data, size_t *offset, const nl_type *type, nl_column_builder *builder);
size_t nl_encoded_size(const char *data, size_t offset, const nl_type *type); /* offset behind the row */

/* One kept value of any type. Zeroes hold nothing. */
typedef struct nl_box {
    nl_int128 fixed; /* the physical value, for forms of up to 16 bytes that are no strings */
    nl_agg_bytes bytes; /* strings: their bytes; nested: an encoded row */
    bool has_value;
    bool is_null;
} nl_box;
NL_MUST_USE nl_status nl_box_set(nl_box *box, nl_memory *memory, const nl_vector *vector, uint32_t row);
/* Order of the box's value (not null) against a row that is not null, as nl_vector_row_compare. */
NL_MUST_USE nl_status nl_box_compare(const nl_box *box, const nl_vector *vector, uint32_t row, nl_memory *memory, int *order);
NL_MUST_USE nl_status nl_box_append(const nl_box *box, const nl_type *type, nl_column_builder *builder); /* null when empty */
void nl_box_free(nl_box *box, nl_memory *memory);
/* The box as bytes for partials: has_value flag, then an encoded row. */
NL_MUST_USE nl_status nl_box_encode(const nl_box *box, const nl_type *type, nl_agg_bytes *bytes, nl_memory *memory);
/* A vector with the one encoded row at data[*offset] (moved behind it). */
NL_MUST_USE nl_status nl_decode_vector(const char *data, size_t *offset, const nl_type *type, nl_memory *memory, nl_vector *vector);

/* to_partial of plain states. */
NL_MUST_USE nl_status nl_pod_to_partial(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out);
/* Partials made of one text per state: encode(state) writes into a cleared buffer. */
typedef nl_status (*nl_state_encode)(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes);
NL_MUST_USE nl_status nl_encode_partials(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count,
                                         nl_state_encode encode, nl_vector *out);
typedef nl_status (*nl_state_merge)(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial);
NL_MUST_USE nl_status nl_merge_partials(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial,
                                        nl_selection selection, void *const *states, nl_state_merge merge);
/* finish by appending each result to a builder of the result type. */
typedef nl_status (*nl_state_result)(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder);
NL_MUST_USE nl_status nl_build_results(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count,
                                       nl_state_result append, nl_vector *out);

/* update and update_one around step(function, eval, args, readers, row, state): rows where one of the first
 * `null_checked` arguments is null are passed over. */
typedef nl_status (*nl_state_step)(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,
                                   const nl_reader *readers, uint32_t row, void *state);
#define NL_AGGREGATE_READERS 4u
static inline void nl_open_aggregate_readers(const nl_bound_function *function, const nl_vector *args, nl_reader *readers)
{
    for (uint32_t i = 0; i < function->argument_count && i < NL_AGGREGATE_READERS; i++) nl_reader_init(&readers[i], &args[i]);
}
static inline bool nl_any_null(const nl_vector *args, uint32_t count, uint32_t row)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_vector_is_null(&args[i], row)) return true;
    return false;
}
#define NL_AGGREGATE_STEPS(name, null_checked, step)                                                                \
    static nl_status name##_update(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,         \
                                   nl_selection selection, void *const *states)                                     \
    {                                                                                                               \
        nl_reader readers[NL_AGGREGATE_READERS] = {0};                                                              \
        nl_open_aggregate_readers(function, args, readers);                                                         \
        for (uint32_t i = 0; i < selection.count; i++) {                                                            \
            uint32_t row = nl_selection_row(selection, i);                                                          \
            if (nl_any_null(args, null_checked, row)) continue;                                                     \
            NL_TRY(step(function, eval, args, readers, row, states[i]));                                            \
        }                                                                                                           \
        return NULL;                                                                                                \
    }                                                                                                               \
    static nl_status name##_update_one(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,     \
                                       nl_selection selection, void *state)                                         \
    {                                                                                                               \
        nl_reader readers[NL_AGGREGATE_READERS] = {0};                                                              \
        nl_open_aggregate_readers(function, args, readers);                                                         \
        for (uint32_t i = 0; i < selection.count; i++) {                                                            \
            uint32_t row = nl_selection_row(selection, i);                                                          \
            if (nl_any_null(args, null_checked, row)) continue;                                                     \
            NL_TRY(step(function, eval, args, readers, row, state));                                                \
        }                                                                                                           \
        return NULL;                                                                                                \
    }
#define NL_AGGREGATE_SIZE(name, type)                                    \
    static uint32_t name##_size(const nl_bound_function *function)       \
    {                                                                    \
        (void)function;                                                  \
        return (uint32_t)sizeof(type);                                   \
    }
/* merge_partial of a plain state: merge(into, from). */
#define NL_POD_MERGE(name, type, merge)                                                                           \
    static nl_status name##_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str bytes) \
    {                                                                                                             \
        (void)function;                                                                                           \
        (void)eval;                                                                                               \
        type from;                                                                                                \
        if (bytes.length != sizeof from) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a partial of wrong size")); \
        memcpy(&from, bytes.data, sizeof from);                                                                   \
        merge((type *)state, &from);                                                                              \
        return NULL;                                                                                              \
    }                                                                                                             \
    static nl_status name##_merge(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial,     \
                                  nl_selection selection, void *const *states)                                    \
    {                                                                                                             \
        return nl_merge_partials(function, eval, partial, selection, states, name##_merge_one);                   \
    }
#define NL_BUILT_RESULT(name, append)                                                                             \
    static nl_status name##_finish(const nl_bound_function *function, nl_eval *eval, void *const *states,         \
                                   uint32_t count, nl_vector *out)                                                \
    {                                                                                                             \
        return nl_build_results(function, eval, states, count, append, out);                                      \
    }
#define NL_ENCODED_PARTIALS(name, encode, merge)                                                                  \
    static nl_status name##_to_partial(const nl_bound_function *function, nl_eval *eval, void *const *states,     \
                                       uint32_t count, nl_vector *out)                                            \
    {                                                                                                             \
        return nl_encode_partials(function, eval, states, count, encode, out);                                    \
    }                                                                                                             \
    static nl_status name##_merge(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial,     \
                                  nl_selection selection, void *const *states)                                    \
    {                                                                                                             \
        return nl_merge_partials(function, eval, partial, selection, states, merge);                              \
    }
#define NL_POD_OPS(name)                                                                                      \
    static const nl_aggregate_ops name##_ops = {.state_size = name##_size, .update = name##_update,           \
                                                .update_one = name##_update_one, .to_partial = nl_pod_to_partial, \
                                                .merge_partial = name##_merge, .finish = name##_finish}
#define NL_ENCODED_OPS(name)                                                                                  \
    static const nl_aggregate_ops name##_ops = {.state_size = name##_size, .update = name##_update,           \
                                                .update_one = name##_update_one, .to_partial = name##_to_partial, \
                                                .merge_partial = name##_merge, .finish = name##_finish,       \
                                                .destroy = name##_destroy}
#define NL_AGGREGATE_ROW .kind = NL_FUNCTION_AGGREGATE, .group = "agg", .nulls = NL_NULL_SEEN

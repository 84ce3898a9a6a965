/* exec/row_move.c - columns into rows, rows into columns, and rows compared with columns. */
#include "exec/row.h"

typedef struct bytes16 {
    uint64_t low, high;
} bytes16;

#define SCATTER(T)                                                             \
    for (uint32_t i = 0; i < selection.count; i++) {                           \
        uint32_t row = nl_selection_row(selection, i);                         \
        *(T *)(void *)(rows[i] + offset) = ((const T *)reader.values)[nl_reader_index(&reader, row)]; \
    }

static nl_status scatter_strings(const nl_reader *reader, uint32_t offset, nl_selection selection, uint8_t *const *rows, nl_heap *heap)
{
    const nl_string_view *from = reader->values;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(reader, row)) continue; /* the slot stays zero: an empty string */
        const nl_string_view *view = &from[nl_reader_index(reader, row)];
        nl_string_view *to = (nl_string_view *)(void *)(rows[i] + offset);
        if (view->length <= NL_STRING_INLINE_MAX)
            *to = *view;
        else
            NL_TRY(nl_heap_add(heap, nl_view_str(view), to));
    }
    return NULL;
}

static nl_status scatter_column(const nl_row_column *column, const nl_vector *vector, nl_selection selection, uint8_t *const *rows,
                                nl_row_store *store)
{
    uint32_t offset = column->offset;
    if (vector->type->id == NL_TYPE_NULL) {
        for (uint32_t i = 0; i < selection.count; i++)
            rows[i][column->null_offset] = 1;
        return NULL;
    }
    nl_reader reader;
    nl_reader_init(&reader, vector);
    for (uint32_t i = 0; reader.validity && i < selection.count; i++)
        rows[i][column->null_offset] = nl_reader_is_null(&reader, nl_selection_row(selection, i));
    if (vector->encoding == NL_DICTIONARY && vector->dictionary->vector.length == 0) return NULL; /* all null */
    if (column->physical == NL_PHYS_STRING) {
        nl_heap *heap = NULL;
        NL_TRY(nl_row_store_heap(store, &heap));
        return scatter_strings(&reader, offset, selection, rows, heap);
    }
    switch (column->width) {
    case 1: SCATTER(uint8_t) break;
    case 2: SCATTER(uint16_t) break;
    case 4: SCATTER(uint32_t) break;
    case 8: SCATTER(uint64_t) break;
    case 16: SCATTER(bytes16) break;
    default: break;
    }
    return NULL;
}

nl_status nl_rows_scatter(const nl_row_layout *layout, uint32_t first_column, const nl_vector *columns, uint32_t count,
                          nl_selection selection, uint8_t *const *rows, nl_row_store *store, bool is_key)
{
    for (uint32_t i = 0; i < count; i++) {
        const nl_row_column *column = &layout->columns[first_column + i];
        nl_vector encoded = {0};
        const nl_vector *vector = &columns[i];
        if (nl_type_is_encoded(vector->type)) {
            NL_TRY(nl_nested_encode(vector, selection, is_key, store->memory, &encoded));
            vector = &encoded;
        }
        nl_status status = scatter_column(column, vector, selection, rows, store);
        nl_vector_fini(&encoded);
        if (status) return status;
    }
    return NULL;
}

#define GATHER(T)                                               \
    do {                                                        \
        T *to = nl_vector_values(out);                          \
        for (uint32_t i = 0; i < row_count; i++)                \
            to[i] = *(const T *)(const void *)(rows[i] + offset); \
    } while (0)
#define GATHER_SOME(T)                                          \
    do {                                                        \
        T *to = nl_vector_values(out);                          \
        for (uint32_t i = 0; i < row_count; i++)                \
            if (rows[i]) to[i] = *(const T *)(const void *)(rows[i] + offset); \
    } while (0)

static void gather_values(const nl_row_column *column, uint8_t *const *rows, uint32_t row_count, bool has_gaps, nl_vector *out)
{
    uint32_t offset = column->offset;
    if (has_gaps) {
        switch (column->width) {
        case 1: GATHER_SOME(uint8_t); break;
        case 2: GATHER_SOME(uint16_t); break;
        case 4: GATHER_SOME(uint32_t); break;
        case 8: GATHER_SOME(uint64_t); break;
        case 16: GATHER_SOME(bytes16); break;
        default: break;
        }
        return;
    }
    switch (column->width) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    case 16: GATHER(bytes16); break;
    default: break;
    }
}

static nl_status gather_column(const nl_row_column *column, uint8_t *const *rows, uint32_t row_count, bool has_gaps, nl_heap *heap,
                               nl_memory *memory, nl_vector *out)
{
    if (column->physical == NL_PHYS_NONE) return nl_vector_new_null(out, column->type, row_count, memory);
    const nl_type *type = nl_type_is_encoded(column->type) ? nl_type_binary() : column->type;
    NL_TRY(nl_vector_new_flat(out, type, row_count, memory));
    gather_values(column, rows, row_count, has_gaps, out);
    uint8_t any_null = has_gaps;
    for (uint32_t i = 0; !has_gaps && i < row_count; i++)
        any_null |= rows[i][column->null_offset];
    if (any_null) {
        uint8_t *bits = NULL;
        NL_TRY(nl_vector_make_validity(out, memory, &bits));
        for (uint32_t i = 0; i < row_count; i++)
            if (!rows[i] || rows[i][column->null_offset]) nl_bit_clear(bits, i);
        out->null_count = UINT32_MAX;
    }
    if (column->physical == NL_PHYS_STRING && heap) {
        nl_heap *own = NULL;
        NL_TRY(nl_vector_make_heap(out, memory, &own));
        NL_TRY(nl_heap_keep(own, heap));
    }
    return NULL;
}

nl_status nl_rows_gather(const nl_row_layout *layout, uint32_t first_column, uint32_t count, uint8_t *const *rows, uint32_t row_count,
                         nl_heap *heap, nl_memory *memory, nl_vector *columns)
{
    bool has_gaps = false;
    for (uint32_t i = 0; i < row_count; i++)
        has_gaps = has_gaps || !rows[i];
    for (uint32_t i = 0; i < count; i++) {
        const nl_row_column *column = &layout->columns[first_column + i];
        if (!nl_type_is_encoded(column->type)) {
            NL_TRY(gather_column(column, rows, row_count, has_gaps, heap, memory, &columns[i]));
            continue;
        }
        nl_vector encoded = {0};
        nl_status status = gather_column(column, rows, row_count, has_gaps, heap, memory, &encoded);
        if (!status) status = nl_nested_decode(&encoded, column->type, memory, &columns[i]);
        nl_vector_fini(&encoded);
        if (status) return status;
    }
    return NULL;
}

static inline bool equal_u8(const uint8_t *a, const uint8_t *b) { return *a == *b; }
static inline bool equal_u16(const uint16_t *a, const uint16_t *b) { return *a == *b; }
static inline bool equal_u32(const uint32_t *a, const uint32_t *b) { return *a == *b; }
static inline bool equal_u64(const uint64_t *a, const uint64_t *b) { return *a == *b; }
static inline bool equal_b16(const bytes16 *a, const bytes16 *b) { return a->low == b->low && a->high == b->high; }
static inline bool equal_f32(const float *a, const float *b) { return *a == *b || (*a != *a && *b != *b); }
static inline bool equal_f64(const double *a, const double *b) { return *a == *b || (*a != *a && *b != *b); }

/* One loop per kind of value: keeps the candidates whose column equals, in place. */
#define MATCH_LOOP(name, T, equal)                                                                                     \
    static uint32_t name(const nl_row_column *column, const nl_reader *reader, const uint32_t *batch_rows,             \
                         uint8_t *const *rows, uint32_t *candidates, uint32_t count, uint32_t *failed, uint32_t *failed_count) \
    {                                                                                                                  \
        uint32_t kept = 0, lost = *failed_count;                                                                       \
        const T *values = reader->values;                                                                              \
        for (uint32_t k = 0; k < count; k++) {                                                                         \
            uint32_t i = candidates[k];                                                                                \
            uint32_t row = batch_rows[i];                                                                              \
            bool is_null = nl_reader_is_null(reader, row);                                                             \
            bool is_equal = is_null == rows[i][column->null_offset] &&                                                 \
                            (is_null || equal(&values[nl_reader_index(reader, row)], (const T *)(const void *)(rows[i] + column->offset))); \
            candidates[kept] = i;                                                                                      \
            kept += is_equal;                                                                                          \
            failed[lost] = i;                                                                                          \
            lost += !is_equal;                                                                                         \
        }                                                                                                              \
        *failed_count = lost;                                                                                          \
        return kept;                                                                                                   \
    }
MATCH_LOOP(match_u8, uint8_t, equal_u8)
MATCH_LOOP(match_u16, uint16_t, equal_u16)
MATCH_LOOP(match_u32, uint32_t, equal_u32)
MATCH_LOOP(match_u64, uint64_t, equal_u64)
MATCH_LOOP(match_b16, bytes16, equal_b16)
MATCH_LOOP(match_f32, float, equal_f32)
MATCH_LOOP(match_f64, double, equal_f64)
MATCH_LOOP(match_string, nl_string_view, nl_view_equal)

static uint32_t match_nulls(const nl_row_column *column, uint8_t *const *rows, uint32_t *candidates, uint32_t count, uint32_t *failed,
                            uint32_t *failed_count)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = candidates[k];
        if (rows[i][column->null_offset])
            candidates[kept++] = i;
        else
            failed[(*failed_count)++] = i;
    }
    return kept;
}

static uint32_t match_column(const nl_row_column *column, const nl_vector *key, const uint32_t *batch_rows, uint8_t *const *rows,
                             uint32_t *candidates, uint32_t count, uint32_t *failed, uint32_t *failed_count)
{
    if (key->type->id == NL_TYPE_NULL || (key->encoding == NL_DICTIONARY && key->dictionary->vector.length == 0))
        return match_nulls(column, rows, candidates, count, failed, failed_count);
    nl_reader reader;
    nl_reader_init(&reader, key);
    switch (column->physical) {
    case NL_PHYS_BOOL:
    case NL_PHYS_I8: return match_u8(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_I16: return match_u16(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_I32: return match_u32(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_I64: return match_u64(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_I128:
    case NL_PHYS_INTERVAL: return match_b16(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_F32: return match_f32(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_F64: return match_f64(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_STRING: return match_string(column, &reader, batch_rows, rows, candidates, count, failed, failed_count);
    case NL_PHYS_NONE:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break; /* no values, or encoded as strings */
    }
    return match_nulls(column, rows, candidates, count, failed, failed_count);
}

uint32_t nl_rows_match(const nl_row_layout *layout, const nl_vector *keys, uint32_t key_count, const uint32_t *batch_rows,
                       uint8_t *const *rows, uint32_t *candidates, uint32_t candidate_count, uint32_t *failed, uint32_t *failed_count)
{
    for (uint32_t i = 0; i < key_count && candidate_count > 0; i++)
        candidate_count = match_column(&layout->columns[i], &keys[i], batch_rows, rows, candidates, candidate_count, failed, failed_count);
    return candidate_count;
}

/* generator/generated.c - see generated.h. */
#include "function/generator/generated.h"

static nl_status reserve_rows(nl_generated *g, uint32_t more)
{
    if (g->count + (uint64_t)more <= g->capacity) return NULL;
    uint64_t capacity = NL_MAX(g->count + (uint64_t)more, g->capacity * 2ull);
    capacity = NL_MAX(capacity, 64ull);
    if (capacity > UINT32_MAX) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)capacity), NL_P_INT("receivedBytes", 0));
    nl_buffer *grown = NULL;
    NL_TRY(nl_buffer_new(g->eval->memory, capacity * sizeof(uint32_t), false, &grown));
    if (g->count > 0) memcpy(grown->data, g->parents->data, g->count * sizeof(uint32_t));
    nl_buffer_release(g->parents);
    g->parents = grown;
    g->capacity = (uint32_t)capacity;
    return NULL;
}

static void add_parent(nl_generated *g, uint32_t row)
{
    ((uint32_t *)(void *)g->parents->data)[g->count++] = row;
}

nl_status nl_generated_add(nl_generated *g, uint32_t row, uint32_t count, bool is_outer, bool *is_null_row)
{
    *is_null_row = count == 0 && is_outer;
    uint32_t rows = *is_null_row ? 1 : count;
    NL_TRY(reserve_rows(g, rows));
    for (uint32_t i = 0; i < rows; i++) add_parent(g, row);
    return NULL;
}

void nl_generated_free_columns(nl_column_builder **builders, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) nl_column_builder_free(builders[i]);
}

nl_status nl_generated_open_columns(const nl_type *type, nl_memory *memory, nl_column_builder **builders)
{
    for (uint32_t i = 0; i < type->child_count; i++) NL_TRY(nl_column_builder_new(type->children[i].type, memory, &builders[i]));
    return NULL;
}

nl_status nl_generated_finish(nl_generated *g, nl_column_builder **builders, uint32_t column_count, nl_buffer **parent_rows, uint32_t *row_count,
                        nl_vector *columns)
{
    NL_TRY(reserve_rows(g, 0));
    if (g->parents == NULL) NL_TRY(reserve_rows(g, 1));
    for (uint32_t i = 0; i < column_count; i++) {
        nl_status status = nl_column_builder_finish(builders[i], &columns[i]);
        if (status == NULL) continue;
        while (i-- > 0) nl_vector_fini(&columns[i]);
        return status;
    }
    *parent_rows = g->parents;
    *row_count = g->count;
    g->parents = NULL;
    return NULL;
}

/* function/window/places.h - where a column has values: for IGNORE NULLS, so that no row looks through stretches of nulls again. */
#pragma once

#include "function/function.h"

typedef struct nl_value_places {
    nl_buffer *buffer;
    uint32_t *before; /* row_count + 1: how many values lie before each row */
    uint32_t *rows;   /* the row of each value */
} nl_value_places;

NL_MUST_USE nl_status nl_value_places_init(nl_value_places *places, const nl_vector *column, uint32_t row_count, nl_memory *memory);
void nl_value_places_fini(nl_value_places *places);

/* The row of the value that lies `offset` values after those before row `from`; -1: not within start … stop. */
static inline int64_t nl_value_places_find(const nl_value_places *places, uint32_t from, int64_t offset, uint32_t start, uint32_t stop)
{
    const int64_t before = places->before[from];
    if (offset < -before || offset >= (int64_t)places->before[stop] - before) return -1;
    return before + offset < (int64_t)places->before[start] ? -1 : (int64_t)places->rows[before + offset];
}

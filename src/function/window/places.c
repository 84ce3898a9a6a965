/* function/window/places.c - one pass over the column. */
#include "function/window/places.h"


nl_status nl_value_places_init(nl_value_places *places, const nl_vector *column, uint32_t row_count, nl_memory *memory)
{
    *places = (nl_value_places){0};
    NL_TRY(nl_buffer_new(memory, sizeof(uint32_t) * (2 * (size_t)row_count + 1), false, &places->buffer));
    places->before = (uint32_t *)(void *)places->buffer->data;
    places->rows = places->before + row_count + 1;
    uint32_t count = 0;
    for (uint32_t row = 0; row < row_count; row++) {
        places->before[row] = count;
        places->rows[count] = row;
        count += !nl_vector_is_null(column, row);
    }
    places->before[row_count] = count;
    return NULL;
}

void nl_value_places_fini(nl_value_places *places)
{
    nl_buffer_release(places->buffer);
    *places = (nl_value_places){0};
}

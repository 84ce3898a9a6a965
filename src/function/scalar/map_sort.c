/* scalar/map_sort.c - maps with their entries in the order of the keys, wherever they stand in a value: two maps with the same
 * entries are then the same to GROUP BY.
 */
#include "function/groups.h"

#include <stdlib.h>

#include "function/coercion.h"

static int compare_keys(const void *a, const void *b, void *keys)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return nl_vector_row_compare(keys, left, keys, right);
}

static nl_status replace_rows(nl_vector *vector, const uint32_t *rows, uint32_t count, nl_memory *memory)
{
    nl_vector taken = {0};
    NL_TRY(nl_vector_take(vector, rows, count, memory, &taken));
    nl_vector_fini(vector);
    nl_vector_move(&taken, vector);
    return NULL;
}

/* The entries of each row of a FLAT map vector, whose keys and values are put into one order. */
static nl_status sort_entries(nl_vector *map, nl_memory *memory)
{
    const uint32_t count = map->children[0].length;
    const nl_list_view *views = map->values;
    nl_buffer *space = NULL;
    nl_status status = NULL;
    NL_TRY(nl_buffer_new(memory, nl_size_mul((size_t)count + 1, sizeof(uint32_t)), false, &space));
    uint32_t *order = (uint32_t *)(void *)space->data;
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    for (uint32_t row = 0; row < map->length; row++)
        if (!nl_vector_is_null(map, row) && views[row].length > 1) qsort_r(order + views[row].offset, views[row].length, sizeof *order, compare_keys, &map->children[0]);
    for (uint32_t c = 0; c < 2 && !status; c++) status = replace_rows(&map->children[c], order, count, memory);
    nl_buffer_release(space);
    return status;
}

static nl_status sort_maps(nl_vector *vector, nl_memory *memory)
{
    if (!nl_type_has_map(vector->type)) return NULL;
    if (vector->encoding != NL_FLAT) {
        nl_vector flat = {0};
        NL_TRY(nl_vector_flatten(vector, false, memory, &flat));
        nl_vector_fini(vector);
        nl_vector_move(&flat, vector);
    }
    for (uint32_t c = 0; c < vector->child_count; c++) NL_TRY(sort_maps(&vector->children[c], memory));
    return vector->type->id == NL_TYPE_MAP ? sort_entries(vector, memory) : NULL;
}

static nl_status map_sort_kernel(NL_KERNEL_PARAMETERS)
{
    (void)function, (void)selection, (void)length;
    NL_TRY(nl_vector_flatten(&args[0], false, eval->memory, out));
    return sort_maps(out, eval->memory);
}

static nl_status bind_map_sort(nl_bind *bind, nl_bound_function *bound)
{
    bound->result_type = bind->argument_types[0];
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "map_sort", .kind = NL_FUNCTION_SCALAR, .group = "map", .nulls = NL_NULL_SEEN, .is_internal = true, .signature = "(any) -> ?", .bind = bind_map_sort,
     .kernel = map_sort_kernel, .since = "4.0.0", .doc = "The value, its maps' entries in the order of the keys."},
};

NL_DEFINE_FUNCTION_GROUP(map_sort, rows);

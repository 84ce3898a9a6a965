/* function/list.h - kernels over ARRAY and MAP rows. Private to function/.
 *
 * A list kernel appends one result per row to a column builder; rows outside the selection get an empty value.
 */
#pragma once

#include "function/kernel.h"

typedef struct nl_list_call {
    const nl_bound_function *function;
    nl_eval *eval;
    const nl_vector *args;
    uint32_t row;
    nl_column_builder *builder; /* of the result type */
    struct nl_element_set *set; /* scratch of set functions, made when first asked for */
} nl_list_call;

typedef nl_status (*nl_list_row)(nl_list_call *call);
NL_MUST_USE nl_status nl_list_kernel(NL_KERNEL_PARAMETERS, nl_list_row make_row);
#define NL_LIST_KERNEL(name, make_row)                                                            \
    static nl_status name(NL_KERNEL_PARAMETERS)                                                   \
    {                                                                                             \
        return nl_list_kernel(function, eval, args, lambdas, selection, length, out, make_row);   \
    }

/* The slice of argument i in a row (not null), and what holds its elements (child 0; MAP: 0 keys, 1 values). */
nl_list_view nl_list_of(const nl_vector *vector, uint32_t row);
static inline const nl_vector *nl_list_child(const nl_vector *vector, uint32_t i)
{
    return &nl_vector_base(vector)->children[i];
}
static inline int64_t nl_list_integer(const nl_list_call *call, uint32_t i)
{
    nl_reader reader;
    nl_reader_init(&reader, &call->args[i]);
    return nl_physical_i64(call->args[i].type->physical, reader.values, nl_reader_index(&reader, call->row));
}

/* A set of elements that lie in vectors, nulls included; adding says whether the value is new. */
typedef struct nl_element_set nl_element_set;
NL_MUST_USE nl_status nl_element_set_new(nl_memory *memory, nl_element_set **set);
void nl_element_set_free(nl_element_set *set);
NL_MUST_USE nl_status nl_element_set_begin(nl_element_set *set, uint32_t value_count_max); /* empties it */
NL_MUST_USE nl_status nl_element_set_add(nl_element_set *set, const nl_vector *vector, uint32_t row, bool *is_new);
NL_MUST_USE nl_status nl_element_set_has(nl_element_set *set, const nl_vector *vector, uint32_t row, bool *has);
/* Java's arrays. */
#define NL_LIST_ELEMENTS_MAX   2147483632ll
#define NL_LIST_CHECK_ELEMENTS 65536 /* between two looks at the cancellation, in loops that make elements */
/* Room for so many more elements of the list that is made: refused before the work. */
NL_MUST_USE nl_status nl_list_reserve(nl_list_call *call, uint64_t count);
NL_MUST_USE nl_status nl_list_call_set(nl_list_call *call, uint32_t value_count_max, nl_element_set **set);
/* Raises DUPLICATED_MAP_KEY for keys[start … start+count) that are not distinct. */
NL_MUST_USE nl_status nl_map_check_keys(nl_list_call *call, const nl_vector *keys, uint32_t start, uint32_t count);
/* With the policy LAST_WIN: the maps of *maps (FLAT, just made) lose the entries whose keys come twice; a key keeps its first
 * place and gets its last value. Does nothing for other types and with the policy EXCEPTION. */
NL_MUST_USE nl_status nl_map_last_wins(nl_eval *eval, nl_selection selection, nl_vector *maps);
NL_MUST_USE nl_status nl_map_raise_duplicate(const nl_list_call *call, const nl_vector *keys, uint32_t row);

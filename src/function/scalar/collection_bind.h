/* scalar/collection_bind.h - the type rules of array and map functions: which element types go together without text
 * being read as numbers, and the errors for those that do not. Private to function/.
 */
#pragma once

#include "function/kernel.h"

/* The type both can be without losing anything: equal ones, NULL, wider whole numbers and reals, a decimal that holds
 * the whole number, dates as timestamps; arrays, maps and structs by their parts. NULL when there is none. */
const nl_type *nl_tightest_type(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules);
/* As nl_common_type, but text and other types have nothing in common. */
const nl_type *nl_common_type_but_text(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules);

/* bind() of rows with the signature (any, any): */
NL_MUST_USE nl_status nl_bind_array_contains(nl_bind *bind, nl_bound_function *bound);
NL_MUST_USE nl_status nl_bind_array_position(nl_bind *bind, nl_bound_function *bound);
NL_MUST_USE nl_status nl_bind_array_change(nl_bind *bind, nl_bound_function *bound);  /* remove, append, prepend, insert */
NL_MUST_USE nl_status nl_bind_two_arrays(nl_bind *bind, nl_bound_function *bound);    /* union, intersect, except, overlap */
NL_MUST_USE nl_status nl_bind_map_key(nl_bind *bind, uint32_t key);                   /* argument 0 is a map; the key's type fits it */
NL_MUST_USE nl_status nl_bind_null_type(const nl_bind *bind);
NL_MUST_USE nl_status nl_bind_array_diff_types(const nl_bind *bind, uint32_t element);

/* aggregate/set_order.h - the order in which Spark shows a set: that of Scala's mutable.HashSet, by the hashes of the
 * elements. Private to function/.
 */
#pragma once

#include "function/aggregate/state.h"

typedef struct nl_set_place {
    uint32_t bucket;
    int32_t hash;
    uint32_t number; /* of the element, in the order it was added */
} nl_set_place;

/* Numbers, dates, times, intervals of one unit, booleans and text have such an order here; others keep theirs. */
bool nl_has_set_order(const nl_type *type);
/* rows, offsets: encoded rows (nl_encode_row), none null. *order: an owned buffer of `count` places, sorted. */
NL_MUST_USE nl_status nl_set_order(const nl_type *type, const char *rows, const size_t *offsets, uint32_t count, nl_memory *memory,
                                   nl_buffer **order);

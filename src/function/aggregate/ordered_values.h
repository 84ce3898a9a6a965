/* aggregate/ordered_values.h - how often each value was seen, in order: which value is the n-th, while values come and go. For
 * percentiles over frames that move, where each row asks anew. One thread at a time.
 */
#pragma once

#include "function/aggregate/state.h"

typedef struct nl_ordered_values nl_ordered_values;
/* Is a before b? A strict order; of two different values one is before the other. */
typedef bool (*nl_value_order)(const nl_type *type, nl_int128 a, nl_int128 b);

NL_MUST_USE nl_status nl_ordered_values_new(const nl_type *type, nl_value_order is_before, nl_ordered_values **values); /* owned */
void nl_ordered_values_free(nl_ordered_values *values, nl_memory *memory); /* memory: that of all calls; values NULL is fine */
/* The value is there `count` times more, or less: never less often than not at all. In O(log n); memory is charged. */
NL_MUST_USE nl_status nl_ordered_values_add(nl_ordered_values *values, nl_memory *memory, nl_int128 value, int64_t count);
int64_t nl_ordered_values_total(const nl_ordered_values *values); /* with repetitions */
/* The value at a place from 1 to the total. In O(log n). */
nl_int128 nl_ordered_values_at(const nl_ordered_values *values, int64_t place);
/* Each value that is there and how often, in no order. */
NL_MUST_USE nl_status nl_ordered_values_each(const nl_ordered_values *values, nl_status (*visit)(void *argument, nl_int128 value, int64_t count), void *argument);

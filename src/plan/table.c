/* Counting references to tables. */
#include "plan/table.h"

nl_table *nl_table_retain(const nl_table *table)
{
    nl_table *owned = NL_UNCONST(table);
    atomic_fetch_add_explicit(&owned->references, 1, memory_order_relaxed);
    return owned;
}

void nl_table_release(const nl_table *table)
{
    if (!table) return;
    nl_table *owned = NL_UNCONST(table);
    if (atomic_fetch_sub_explicit(&owned->references, 1, memory_order_acq_rel) == 1) owned->ops->free(owned);
}

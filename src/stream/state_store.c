/* stream/state_store.c - what operators remember: parts in memory, their versions on disk. */
#include "stream/state.h"

#include <stdlib.h>

static nl_status not_yet(const char *what)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not run %s over streams yet.", what);
}

nl_status nl_state_aggregate(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    (void)batch, (void)node, (void)result;
    return not_yet("aggregations");
}

nl_status nl_state_deduplicate(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    (void)batch, (void)node, (void)result;
    return not_yet("dropDuplicates");
}

nl_status nl_state_join(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    (void)batch, (void)node, (void)result;
    return not_yet("joins of two streams");
}

void nl_state_store_free(nl_state_store *store)
{
    (void)store;
}

bool nl_state_is_rows(const nl_state_batch *batch, const nl_table *table)
{
    for (uint32_t i = 0; i < batch->made.count; i++)
        if (batch->made.items[i] == table) return true;
    return false;
}

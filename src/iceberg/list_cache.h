/* iceberg/list_cache.h - manifest lists of the snapshots read last; the half of nl_manifest_cache that knows lists.
 *
 * A list's name is as unique as its snapshot and its file never changes, so nothing grows stale. Threads: any; two that
 * miss the same list at once both read it.
 */
#pragma once

#include "iceberg/manifest.h"

typedef struct nl_list_cache nl_list_cache;

nl_list_cache *nl_list_cache_new(nl_memory *memory, size_t limit_bytes); /* NULL: the system has no memory; below takes NULL */
void nl_list_cache_free(nl_list_cache *cache);
NL_MUST_USE nl_status nl_list_cache_read(nl_list_cache *cache, nl_fs *fs, const nl_snapshot *snapshot, nl_memory *memory, const nl_manifest_list **list);

/* catalog/metadata_cache.h - parsed table metadata by file, so that a statement on a table seen before parses nothing.
 *
 * A metadata file never changes, yet a table that was dropped and made again has one of the same name: an entry holds
 * for a file of the same size and time of change only. Threads: any.
 */
#pragma once

#include "iceberg/metadata.h"

typedef struct nl_metadata_cache nl_metadata_cache;

nl_metadata_cache *nl_metadata_cache_new(void); /* NULL: the system has no memory; everything below takes NULL */
void nl_metadata_cache_free(nl_metadata_cache *cache);
const nl_table_metadata *nl_metadata_cache_find(nl_metadata_cache *cache, const nl_file_info *file); /* counted; NULL: not there */
void nl_metadata_cache_put(nl_metadata_cache *cache, const nl_file_info *file, const nl_table_metadata *metadata); /* retains; old ones go */

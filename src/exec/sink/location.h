/* exec/sink/location.h - where a table's files lie (Iceberg's LocationProviders). */
#pragma once

#include "iceberg/metadata.h"

/* "<location>/data/<partition path>/<name>", or the hashed layout of write.object-storage.enabled. partition: values of
 * spec's fields or NULL. */
nl_str nl_data_location(nl_arena *arena, const nl_table_metadata *metadata, const nl_partition_spec *spec, const nl_value *partition, nl_str name);

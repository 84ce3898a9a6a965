/* iceberg/manifest_types.h - the record types of manifests and manifest lists per format version, as Iceberg types (Java's
 * V1Metadata, V2Metadata, V3Metadata). For the writers only: readers go by field id. */
#pragma once

#include "iceberg/schema.h"

const nl_ice_type *nl_manifest_entry_type(nl_arena *arena, int32_t format_version, const nl_ice_type *partition_type);
const nl_ice_type *nl_manifest_list_type(nl_arena *arena, int32_t format_version);

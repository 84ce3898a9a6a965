/* exec/source/file_fields.h - which column of the table a node of a Parquet file is. */
#pragma once

#include "format/parquet/footer.h"
#include "iceberg/name_mapping.h"

/* The node's own id; else by the mapping; else, without a mapping (NULL), by place at the top (as Iceberg's Java readers
 * do). 0: none. */
int32_t nl_file_field_id(const nl_name_mapping *mapping, const nl_parquet_node *node);
/* The id that the mapping gives the column under these names; 0: none. */
int32_t nl_mapped_field_id(const nl_name_mapping *mapping, const nl_str *path, uint32_t depth);

/* catalog/hive_type.h - types of columns as Hive writes them, for the Hive metastore and Glue's Data Catalog. */
#pragma once

#include "iceberg/schema.h"

/* "decimal(10,2)", "array<struct<a:int>>"; types that Hive does not have by Iceberg's own names, as Java tells Glue. */
void nl_append_hive_type(const nl_ice_type *type, nl_builder *out);

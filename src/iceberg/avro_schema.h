/* iceberg/avro_schema.h - Iceberg types as Avro schemas, attribute by attribute as Java's TypeToSchema writes them (spec:
 * Appendix A, "Avro"). */
#pragma once

#include "iceberg/schema.h"

/* A record named `record_name` for a STRUCT. */
void nl_ice_type_append_avro(const nl_ice_type *type, nl_str record_name, nl_builder *out);
/* A column name as Avro allows it, which is what Iceberg calls columns in data files of every format. */
void nl_avro_append_name(nl_str name, nl_builder *out);
uint32_t nl_decimal_bytes(uint8_t precision); /* the least that hold every decimal of so many digits */

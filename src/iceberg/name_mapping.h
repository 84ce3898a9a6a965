/* iceberg/name_mapping.h - field ids for files without ids (spec: "Column Projection", "Name Mapping Serialization"). */
#pragma once

#include "iceberg/schema.h"

typedef struct nl_mapped_field nl_mapped_field;
typedef struct nl_name_mapping {
    const nl_mapped_field *fields;
    uint32_t field_count;
} nl_name_mapping;
struct nl_mapped_field {
    bool has_field_id;
    int32_t field_id;
    const nl_str *names;
    uint32_t name_count;
    nl_name_mapping nested;
};

NL_MUST_USE nl_status nl_name_mapping_parse(nl_arena *arena, nl_str json, nl_name_mapping *mapping);
void nl_name_mapping_append_json(const nl_name_mapping *mapping, nl_builder *out);
void nl_name_mapping_of_schema(nl_arena *arena, const nl_schema *schema, nl_name_mapping *mapping);
/* The mapping after schema changes: renamed fields keep their old names too, added ones join. */
void nl_name_mapping_update(nl_arena *arena, const nl_name_mapping *old_mapping, const nl_schema *old_schema, const nl_schema *new_schema,
                            nl_name_mapping *mapping);
const nl_mapped_field *nl_name_mapping_find(const nl_name_mapping *mapping, nl_str name); /* one level; or NULL */

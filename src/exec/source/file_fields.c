/* exec/source/file_fields.c - see file_fields.h. */
#include "exec/source/file_fields.h"

/* The mapping of the parents' names down to this node. */
static const nl_mapped_field *mapped_node(const nl_name_mapping *mapping, const nl_parquet_node *node)
{
    if (!node->parent) return NULL;
    if (!node->parent->parent) return nl_name_mapping_find(mapping, node->name);
    const nl_mapped_field *parent = mapped_node(mapping, node->parent);
    /* The repeated groups of lists and maps are Parquet's own, not the table's. */
    if (!parent || node->repetition == NL_PARQUET_REPEATED) return parent;
    return nl_name_mapping_find(&parent->nested, node->name);
}

int32_t nl_file_field_id(const nl_name_mapping *mapping, const nl_parquet_node *node)
{
    if (node->has_field_id) return node->field_id;
    if (mapping) {
        const nl_mapped_field *field = mapped_node(mapping, node);
        return field && field->has_field_id && node->repetition != NL_PARQUET_REPEATED ? field->field_id : 0;
    }
    return node->parent && !node->parent->parent ? (int32_t)node->child_index + 1 : 0;
}

int32_t nl_mapped_field_id(const nl_name_mapping *mapping, const nl_str *path, uint32_t depth)
{
    const nl_mapped_field *field = NULL;
    for (uint32_t i = 0; i < depth; i++) {
        field = nl_name_mapping_find(mapping, path[i]);
        if (!field) return 0;
        mapping = &field->nested;
    }
    return field && field->has_field_id ? field->field_id : 0;
}

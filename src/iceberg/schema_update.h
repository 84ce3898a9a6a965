/* iceberg/schema_update.h - schema evolution, with Iceberg's rules and messages (Java's SchemaUpdate).
 *
 * Changes are collected and checked one by one against the base schema, then applied at once. Column names are dotted
 * full names. Everything lives in the arena given at birth.
 */
#pragma once

#include "iceberg/schema.h"

typedef struct nl_schema_update nl_schema_update;

typedef struct nl_schema_update_options {
    int32_t last_column_id;    /* the table's */
    int32_t format_version;
    bool is_case_insensitive;
    bool allows_incompatible;  /* required columns may be added, optional ones made required */
} nl_schema_update_options;
nl_schema_update *nl_schema_update_new(nl_arena *arena, const nl_schema *base, const nl_schema_update_options *options);

/* parent: empty for the top level, else a struct, or a list/map whose element/value is a struct. Ids inside `type`
 * are given afresh. doc.data NULL: none. default_value NULL: none (both initial and write default otherwise). */
typedef struct nl_column_addition {
    nl_str parent;
    nl_str name;
    const nl_ice_type *type;
    nl_str doc;
    bool is_required;
    const nl_value *default_value;
} nl_column_addition;
NL_MUST_USE nl_status nl_schema_update_add(nl_schema_update *update, const nl_column_addition *addition);
NL_MUST_USE nl_status nl_schema_update_delete(nl_schema_update *update, nl_str name);
NL_MUST_USE nl_status nl_schema_update_rename(nl_schema_update *update, nl_str name, nl_str new_name);
NL_MUST_USE nl_status nl_schema_update_type(nl_schema_update *update, nl_str name, const nl_ice_type *type);
NL_MUST_USE nl_status nl_schema_update_doc(nl_schema_update *update, nl_str name, nl_str doc);
NL_MUST_USE nl_status nl_schema_update_require(nl_schema_update *update, nl_str name);
NL_MUST_USE nl_status nl_schema_update_make_optional(nl_schema_update *update, nl_str name);
NL_MUST_USE nl_status nl_schema_update_write_default(nl_schema_update *update, nl_str name, const nl_value *value);
NL_MUST_USE nl_status nl_schema_update_move_first(nl_schema_update *update, nl_str name);
NL_MUST_USE nl_status nl_schema_update_move_before(nl_schema_update *update, nl_str name, nl_str reference);
NL_MUST_USE nl_status nl_schema_update_move_after(nl_schema_update *update, nl_str name, nl_str reference);
NL_MUST_USE nl_status nl_schema_update_identifier_fields(nl_schema_update *update, const nl_str *names, uint32_t name_count);
/* Adds what `schema` has and the base lacks, widens types, loosens requiredness (write option mergeSchema). */
NL_MUST_USE nl_status nl_schema_update_union_by_name(nl_schema_update *update, const nl_schema *schema);
/* *schema has schema_id of the base (the metadata builder gives the final one); *last_column_id is the new one. */
NL_MUST_USE nl_status nl_schema_update_apply(nl_schema_update *update, const nl_schema **schema, int32_t *last_column_id);

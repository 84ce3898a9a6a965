/* iceberg/partition.h - transforms and partition specs (spec: "Partitioning", "Partition Transforms", Appendix B).
 *
 * Values are nl_values or vectors of the source's and result's storage type (iceberg/schema.h). Null in, null out.
 */
#pragma once

#include "iceberg/schema.h"

typedef enum nl_transform_kind {
    NL_TRANSFORM_IDENTITY,
    NL_TRANSFORM_BUCKET,
    NL_TRANSFORM_TRUNCATE,
    NL_TRANSFORM_YEAR,
    NL_TRANSFORM_MONTH,
    NL_TRANSFORM_DAY,
    NL_TRANSFORM_HOUR,
    NL_TRANSFORM_VOID,
    NL_TRANSFORM_UNKNOWN /* kept as text; filters on it never prune */
} nl_transform_kind;

typedef struct nl_transform {
    nl_transform_kind kind;
    int32_t width; /* BUCKET: bucket count; TRUNCATE: width */
    nl_str text;   /* UNKNOWN: as written */
} nl_transform;

/* "bucket[16]", "identity" … in any case. Never fails on unknown names, only on bad widths. */
NL_MUST_USE nl_status nl_transform_parse(nl_arena *arena, nl_str text, nl_transform *transform);
nl_str nl_transform_name(nl_arena *arena, const nl_transform *transform); /* "bucket[16]" */
bool nl_transform_equal(const nl_transform *a, const nl_transform *b);
bool nl_transform_can_apply(const nl_transform *transform, const nl_ice_type *source);
/* UNKNOWN gives string, as in Java. */
const nl_ice_type *nl_transform_result_type(const nl_transform *transform, const nl_ice_type *source);
bool nl_transform_preserves_order(const nl_transform *transform);
/* An ordering by `a` is also one by `b`, of the same source: day satisfies month. */
bool nl_transform_satisfies_order_of(const nl_transform *a, const nl_transform *b);
/* Fails: UNKNOWN and unsupported source types (NILAS_UNSUPPORTED). */
NL_MUST_USE nl_status nl_transform_value(const nl_transform *transform, const nl_ice_type *source, const nl_value *in, nl_arena *arena,
                                         nl_value *out);
/* Vectorised; a dictionary's entries and a constant are transformed once. *out is owned by the caller. */
NL_MUST_USE nl_status nl_transform_vector(const nl_transform *transform, const nl_ice_type *source, const nl_vector *in, nl_memory *memory,
                                          nl_vector *out);
uint32_t nl_bucket_hash(const nl_ice_type *type, const nl_value *value); /* murmur3 before masking; value not null */
/* "2017-11-16-22", "10.65", base64 for binary, "null": as in paths (before URL escapes) and in partition summaries. */
void nl_transform_append_human(const nl_transform *transform, const nl_ice_type *source, const nl_value *value, nl_builder *out);

typedef struct nl_partition_field {
    int32_t source_id;
    int32_t field_id;
    nl_str name;
    nl_transform transform;
    uint32_t source_count; /* more than one: a v3 multi-argument transform, which is UNKNOWN here */
    const int32_t *source_ids;
} nl_partition_field;

typedef struct nl_partition_spec {
    int32_t spec_id;
    uint32_t field_count;
    const nl_partition_field *fields;
} nl_partition_spec;

#define NL_PARTITION_FIELD_ID_START 1000

/* All void fields count as unpartitioned, as in Java. */
bool nl_partition_spec_is_unpartitioned(const nl_partition_spec *spec);
bool nl_partition_spec_same_fields(const nl_partition_spec *a, const nl_partition_spec *b); /* ids included */
bool nl_partition_spec_compatible(const nl_partition_spec *a, const nl_partition_spec *b);  /* names, sources, transforms; not ids */
const nl_partition_spec *nl_partition_spec_copy(nl_arena *arena, const nl_partition_spec *spec);
/* The struct of partition values: ids are the field ids, all optional. A dropped source gives unknown→ its result type
 * where the transform fixes it, else string. */
const nl_ice_type *nl_partition_type(nl_arena *arena, const nl_partition_spec *spec, const nl_schema *schema);
/* The same, asking several schemas in turn for each source (metadata.h's nl_table_partition_type asks all of a table's). */
const nl_ice_type *nl_partition_source_type(const nl_partition_field *field, const nl_schema *const *schemas, uint32_t schema_count);
const nl_ice_type *nl_partition_type_by_schemas(nl_arena *arena, const nl_partition_spec *spec, const nl_schema *const *schemas,
                                                uint32_t schema_count);
/* The union of all specs by field id, for metadata tables and _partition (Java's Partitioning.partitionType). */
NL_MUST_USE nl_status nl_partition_type_union(nl_arena *arena, const nl_partition_spec *const *specs, uint32_t spec_count,
                                              const nl_schema *const *schemas, uint32_t schema_count, const nl_ice_type **type);
/* "ts_day=2017-11-16/name=a%2Fb". */
void nl_partition_append_path(const nl_partition_spec *spec, const nl_schema *schema, const nl_value *values, nl_builder *out);
/* The values from such a path, for identity specs of imported tables. Fails on a name or value that does not fit. */
NL_MUST_USE nl_status nl_partition_from_path(const nl_partition_spec *spec, const nl_schema *schema, nl_str path, nl_arena *arena,
                                             nl_value *values);
void nl_form_encode(nl_str text, nl_builder *out); /* form encoding: space is +, UTF-8 percent escapes */
NL_MUST_USE nl_status nl_form_decode(nl_str text, nl_builder *out);
bool nl_partition_equal(const nl_value *a, const nl_value *b, uint32_t count); /* nulls equal */
uint64_t nl_partition_hash(const nl_value *values, uint32_t count);

/* JSON: {"spec-id":0,"fields":[…]}; the fields alone for v1 metadata and manifests. */
NL_MUST_USE nl_status nl_partition_spec_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_partition_spec **spec);
NL_MUST_USE nl_status nl_partition_fields_from_json(nl_arena *arena, const json_t *array, int32_t spec_id, nl_str path,
                                                    const nl_partition_spec **spec);
void nl_partition_spec_append_json(const nl_partition_spec *spec, nl_builder *out);
void nl_partition_fields_append_json(const nl_partition_spec *spec, nl_builder *out);

/* Building a spec for CREATE TABLE. Names empty: generated the CREATE way ("c_bucket"). Field ids are given from
 * *last_field_id + 1 on. Fails: "Cannot add redundant partition: …", unknown columns, name conflicts. */
typedef struct nl_partition_addition {
    nl_str source; /* dotted column name */
    nl_transform transform;
    nl_str name;   /* empty: generated */
} nl_partition_addition;
NL_MUST_USE nl_status nl_partition_spec_build(nl_arena *arena, const nl_schema *schema, const nl_partition_addition *fields,
                                              uint32_t field_count, int32_t *last_field_id, const nl_partition_spec **spec);
/* Fails when a field's source is missing or its transform does not apply: "Cannot find source column for partition field: …". */
NL_MUST_USE nl_status nl_partition_spec_check(nl_arena *arena, const nl_partition_spec *spec, const nl_schema *schema);

/* Evolution (Java's BaseUpdatePartitionSpec): ALTER TABLE … ADD/DROP/REPLACE PARTITION FIELD. */
typedef struct nl_spec_update nl_spec_update;
typedef struct nl_spec_update_base {
    int32_t format_version;
    const nl_schema *schema;
    const nl_partition_spec *spec;             /* the default one */
    const nl_partition_spec *const *all_specs; /* for reuse of field ids */
    uint32_t spec_count;
    int32_t last_field_id;
    bool is_case_insensitive;
} nl_spec_update_base;
nl_spec_update *nl_spec_update_new(nl_arena *arena, const nl_spec_update_base *base);
NL_MUST_USE nl_status nl_spec_update_add(nl_spec_update *update, const nl_partition_addition *addition); /* names "c_bucket_16" */
NL_MUST_USE nl_status nl_spec_update_remove_name(nl_spec_update *update, nl_str name);
NL_MUST_USE nl_status nl_spec_update_remove(nl_spec_update *update, nl_str source, const nl_transform *transform);
NL_MUST_USE nl_status nl_spec_update_rename(nl_spec_update *update, nl_str name, nl_str new_name);
NL_MUST_USE nl_status nl_spec_update_apply(nl_spec_update *update, const nl_partition_spec **spec, int32_t *last_field_id);

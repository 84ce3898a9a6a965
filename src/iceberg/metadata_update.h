/* iceberg/metadata_update.h - new metadata from old by a list of updates, and the requirements of a commit: the two
 * lists of the REST catalog's CommitTableRequest. Every commit of nilas goes through here, whatever the catalog.
 *
 * A builder copies nothing of the base until finish, which makes one deep copy into a new arena: a commit costs the
 * metadata's own size, whatever the table's age. Updates are checked when applied; what they point to is borrowed until
 * finish.
 */
#pragma once

#include "iceberg/metadata.h"

typedef enum nl_update_kind {
    NL_UPDATE_ASSIGN_UUID,
    NL_UPDATE_UPGRADE_FORMAT_VERSION,
    NL_UPDATE_ADD_SCHEMA,
    NL_UPDATE_SET_CURRENT_SCHEMA,
    NL_UPDATE_ADD_SPEC,
    NL_UPDATE_SET_DEFAULT_SPEC,
    NL_UPDATE_ADD_SORT_ORDER,
    NL_UPDATE_SET_DEFAULT_SORT_ORDER,
    NL_UPDATE_ADD_SNAPSHOT,
    NL_UPDATE_SET_SNAPSHOT_REF,
    NL_UPDATE_REMOVE_SNAPSHOTS,
    NL_UPDATE_REMOVE_SNAPSHOT_REF,
    NL_UPDATE_SET_LOCATION,
    NL_UPDATE_SET_PROPERTIES,
    NL_UPDATE_REMOVE_PROPERTIES,
    NL_UPDATE_SET_STATISTICS,
    NL_UPDATE_REMOVE_STATISTICS,
    NL_UPDATE_SET_PARTITION_STATISTICS,
    NL_UPDATE_REMOVE_PARTITION_STATISTICS,
    NL_UPDATE_REMOVE_PARTITION_SPECS,
    NL_UPDATE_REMOVE_SCHEMAS,
    NL_UPDATE_ADD_ENCRYPTION_KEY,
    NL_UPDATE_REMOVE_ENCRYPTION_KEY
} nl_update_kind;

#define NL_LAST_ADDED (-1) /* a schema, spec or order id: the one added last in this list */

typedef struct nl_table_update {
    nl_update_kind kind;
    union {
        nl_str text;                 /* ASSIGN_UUID, SET_LOCATION, REMOVE_SNAPSHOT_REF, REMOVE_ENCRYPTION_KEY */
        int32_t id;                  /* UPGRADE_FORMAT_VERSION, SET_CURRENT_SCHEMA, SET_DEFAULT_SPEC, SET_DEFAULT_SORT_ORDER */
        int64_t snapshot_id;         /* REMOVE_STATISTICS, REMOVE_PARTITION_STATISTICS */
        struct {
            const nl_schema *schema;
            int32_t last_column_id;  /* NL_NONE: the schema's highest or the table's */
        } add_schema;
        const nl_partition_spec *spec;
        const nl_sort_order *sort_order;
        const nl_snapshot *snapshot;
        const nl_snapshot_ref *ref;
        struct {
            const int64_t *ids;
            uint32_t count;
        } snapshots;                 /* REMOVE_SNAPSHOTS */
        struct {
            const int32_t *ids;
            uint32_t count;
        } ids;                       /* REMOVE_PARTITION_SPECS, REMOVE_SCHEMAS */
        struct {
            const nl_property *items;
            uint32_t count;
        } properties;                /* SET_PROPERTIES; REMOVE_PROPERTIES looks at the keys only */
        const nl_statistics_file *statistics;
        const nl_partition_statistics_file *partition_statistics;
        const json_t *encryption_key;
    };
} nl_table_update;

typedef struct nl_metadata_builder nl_metadata_builder;

/* base NULL: a new table (format version from the first UPGRADE_FORMAT_VERSION, or the default). base is borrowed. */
nl_metadata_builder *nl_metadata_builder_new(const nl_table_metadata *base, nl_memory *memory);
void nl_metadata_builder_free(nl_metadata_builder *builder); /* NULL is fine */
NL_MUST_USE nl_status nl_metadata_builder_apply(nl_metadata_builder *builder, const nl_table_update *update);
int32_t nl_metadata_builder_last_schema_id(const nl_metadata_builder *builder);     /* what NL_LAST_ADDED stands for; NL_NONE */
int32_t nl_metadata_builder_last_spec_id(const nl_metadata_builder *builder);
int32_t nl_metadata_builder_last_sort_order_id(const nl_metadata_builder *builder);
bool nl_metadata_builder_has_changes(const nl_metadata_builder *builder);
/* For REPLACE TABLE: drops main and the current snapshot, keeps snapshots, logs and uuid. */
void nl_metadata_builder_reset_main(nl_metadata_builder *builder);
/* Sets last-updated-ms, logs, and checks the whole. now_ms: the clock, or NL_NONE to take it here. The metadata log gets
 * the base's file and is cut to write.metadata.previous-versions-max. *metadata is counted. */
NL_MUST_USE nl_status nl_metadata_builder_finish(nl_metadata_builder *builder, int64_t now_ms, const nl_table_metadata **metadata);

/* All at once. */
NL_MUST_USE nl_status nl_table_metadata_update(const nl_table_metadata *base, const nl_table_update *updates, uint32_t update_count,
                                               nl_memory *memory, const nl_table_metadata **metadata);
/* A new table: fresh ids are assigned here to schema, spec and order (spec fields and sort fields name columns by the
 * ids of `schema`). Reserved properties (format-version …) are used, not stored. */
typedef struct nl_table_creation {
    const nl_schema *schema;
    const nl_partition_spec *spec;       /* NULL: unpartitioned */
    const nl_sort_order *sort_order;     /* NULL: unsorted */
    nl_str location;
    const nl_property *properties;
    uint32_t property_count;
} nl_table_creation;
NL_MUST_USE nl_status nl_table_metadata_create(const nl_table_creation *creation, nl_memory *memory, const nl_table_metadata **metadata);
/* CREATE OR REPLACE TABLE over an existing one: ids of same-named columns are kept, history and uuid too. */
NL_MUST_USE nl_status nl_table_metadata_replace(const nl_table_metadata *base, const nl_table_creation *creation, nl_memory *memory,
                                                const nl_table_metadata **metadata);

/* Requirements of a commit. */
typedef enum nl_requirement_kind {
    NL_REQUIRE_CREATE, /* the table does not exist */
    NL_REQUIRE_UUID,
    NL_REQUIRE_REF_SNAPSHOT_ID,
    NL_REQUIRE_LAST_COLUMN_ID,
    NL_REQUIRE_CURRENT_SCHEMA_ID,
    NL_REQUIRE_LAST_PARTITION_ID,
    NL_REQUIRE_DEFAULT_SPEC_ID,
    NL_REQUIRE_DEFAULT_SORT_ORDER_ID
} nl_requirement_kind;
typedef struct nl_table_requirement {
    nl_requirement_kind kind;
    nl_str text;    /* uuid; ref name */
    int64_t number; /* the id; for REF_SNAPSHOT_ID NL_NONE: the ref must not exist */
} nl_table_requirement;
/* Fails: NILAS_COMMIT_FAILED ("Requirement failed: branch main has changed: expected id 1 != 2"). base NULL: no table. */
NL_MUST_USE nl_status nl_table_requirement_check(const nl_table_requirement *requirement, const nl_table_metadata *base);

/* The REST forms. Unknown actions and requirements are refused. */
NL_MUST_USE nl_status nl_table_update_from_json(nl_arena *arena, const json_t *json, nl_table_update *update);
void nl_table_update_append_json(const nl_table_update *update, nl_builder *out);
NL_MUST_USE nl_status nl_table_requirement_from_json(nl_arena *arena, const json_t *json, nl_table_requirement *requirement);
void nl_table_requirement_append_json(const nl_table_requirement *requirement, nl_builder *out);

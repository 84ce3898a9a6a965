/* iceberg/view.h - view metadata: parsing, writing, building (Iceberg "View Spec", version 1).
 *
 * A nl_view_metadata is immutable and counted, like a table's. Unknown keys are kept. Threads: may be shared.
 */
#pragma once

#include "iceberg/schema.h"
#include "iceberg/snapshot.h"
#include "storage/filesystem.h"

typedef struct nl_view_representation { /* one dialect's text */
    nl_str type;    /* "sql"; others are kept as they are */
    nl_str sql;
    nl_str dialect; /* "spark", "trino" */
} nl_view_representation;

typedef struct nl_view_version {
    int32_t version_id;
    int64_t timestamp_ms;
    int32_t schema_id;
    const nl_property *summary; /* engine-name, engine-version, operation … */
    uint32_t summary_count;
    nl_str default_catalog;     /* empty: the view's own */
    const nl_str *default_namespace;
    uint32_t default_namespace_count;
    const nl_view_representation *representations;
    uint32_t representation_count;
    const json_t *unknown;      /* keys nilas does not know, or NULL */
} nl_view_version;

typedef struct nl_view_log_entry {
    int64_t timestamp_ms;
    int32_t version_id;
} nl_view_log_entry;

typedef struct nl_view_metadata {
    nl_str uuid;
    int32_t format_version; /* 1 */
    nl_str location;
    const nl_schema *const *schemas;
    uint32_t schema_count;
    int32_t current_version_id;
    const nl_view_version *versions;
    uint32_t version_count;
    const nl_view_log_entry *log;
    uint32_t log_count;
    const nl_property *properties; /* comment, spark.query-column-names, version.history.num-entries … */
    uint32_t property_count;
    nl_str metadata_file; /* empty while only in memory */
    const json_t *unknown;
    nl_arena *arena; /* owned */
    atomic_uint *references;
} nl_view_metadata;

NL_MUST_USE nl_status nl_view_metadata_parse(nl_bytes content, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **metadata); /* gzip too */
NL_MUST_USE nl_status nl_view_metadata_read(nl_fs *fs, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **metadata);
NL_MUST_USE nl_status nl_view_metadata_from_json(const json_t *json, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **metadata);
const nl_view_metadata *nl_view_metadata_retain(const nl_view_metadata *metadata);
void nl_view_metadata_release(const nl_view_metadata *metadata); /* NULL is fine */
void nl_view_metadata_append_json(const nl_view_metadata *metadata, nl_builder *out); /* Java's key order, compact */
NL_MUST_USE nl_status nl_view_metadata_with_file(const nl_view_metadata *metadata, nl_str metadata_file, const nl_view_metadata **named);
const nl_view_version *nl_view_current_version(const nl_view_metadata *metadata);
const nl_schema *nl_view_schema(const nl_view_metadata *metadata); /* of the current version */
const nl_view_representation *nl_view_representation_of(const nl_view_metadata *metadata, nl_str dialect); /* any case; or NULL */

nl_str nl_view_property(const nl_view_metadata *metadata, const char *key); /* data NULL: absent */
void nl_view_version_append_json(const nl_view_version *version, nl_builder *out);
NL_MUST_USE nl_status nl_view_version_from_json(nl_arena *arena, const json_t *json, nl_str path, nl_view_version *version);

/* The updates of the REST specification, applied in order to a base (NULL: a new view). Versions that say the same as one
 * that is there are not added again; history is cut to version.history.num-entries (10). */
typedef struct nl_view_update {
    enum {
        NL_VIEW_ASSIGN_UUID,
        NL_VIEW_UPGRADE_FORMAT_VERSION,
        NL_VIEW_ADD_SCHEMA,
        NL_VIEW_SET_LOCATION,
        NL_VIEW_SET_PROPERTIES,
        NL_VIEW_REMOVE_PROPERTIES,
        NL_VIEW_ADD_VERSION,
        NL_VIEW_SET_CURRENT_VERSION
    } kind;
    nl_str text;                    /* uuid, location */
    int32_t number;                 /* format version, version id (-1: the one added last) */
    const nl_schema *schema;
    const nl_view_version *version; /* schema_id -1: the one added last */
    const nl_property *properties;
    uint32_t property_count;
} nl_view_update;
NL_MUST_USE nl_status nl_view_metadata_update(const nl_view_metadata *base, const nl_view_update *updates, uint32_t update_count, nl_memory *memory,
                                              const nl_view_metadata **metadata);
NL_MUST_USE nl_status nl_view_update_from_json(nl_arena *arena, const json_t *json, nl_view_update *update);
void nl_view_update_append_json(const nl_view_update *update, nl_builder *out);
/* A deep copy that may be changed until somebody else sees it (base NULL: an empty one). *view: one reference. */
NL_MUST_USE nl_status nl_view_metadata_begin(const nl_view_metadata *base, nl_memory *memory, nl_view_metadata **view);

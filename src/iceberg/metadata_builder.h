/* iceberg/metadata_builder.h - the inside of nl_metadata_builder, for metadata_update.c and metadata_finish.c only. */
#pragma once

#include "iceberg/metadata_update.h"

struct nl_metadata_builder {
    nl_arena *arena;                /* what the builder itself needs */
    nl_memory *memory;              /* borrowed: charged with the result */
    const nl_table_metadata *base;  /* borrowed; NULL: a new table */
    nl_table_metadata next;         /* scalars; the arrays are the lists below until finish */
    nl_list schemas;                /* const nl_schema * */
    nl_list specs;                  /* const nl_partition_spec * */
    nl_list sort_orders;            /* const nl_sort_order * */
    nl_list properties;             /* nl_property * */
    nl_list snapshots;              /* const nl_snapshot * */
    nl_list refs;                   /* nl_snapshot_ref * */
    nl_list snapshot_log;           /* const nl_snapshot_log_entry * */
    nl_list statistics;             /* const nl_statistics_file * */
    nl_list partition_statistics;   /* const nl_partition_statistics_file * */
    nl_list added_snapshots;        /* those of `snapshots` that came with this list of updates */
    nl_list intermediate;           /* added ones that main pointed to meanwhile, but may not in the end */
    json_t *encryption_keys;        /* owned by the arena; NULL: none */
    int32_t last_schema_id;
    int32_t last_spec_id;
    int32_t last_sort_order_id;
    int64_t last_updated_ms;        /* NL_NONE: the clock, at finish */
    bool has_changes;
    bool removes_snapshots;
};

const nl_schema *nl_metadata_builder_schema(const nl_metadata_builder *builder, int32_t schema_id); /* or NULL */

/* A set of ids, for filters over lists that may both be long. */
typedef struct nl_long_set {
    int64_t *sorted;
    size_t count;
} nl_long_set;
nl_long_set nl_long_set_make(nl_arena *arena, const int64_t *ids, size_t count);
bool nl_long_set_has(const nl_long_set *set, int64_t id);

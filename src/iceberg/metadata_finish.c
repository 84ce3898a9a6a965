/* iceberg/metadata_finish.c - the last step of building metadata: what must hold in the whole, the two logs, and the deep
 * copy into the result's own arena. */
#include "base/json.h"
#include "base/uuid.h"
#include "iceberg/metadata_builder.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}

bool nl_long_set_has(const nl_long_set *set, int64_t id)
{
    return set->count && bsearch(&id, set->sorted, set->count, sizeof(id), by_number) != NULL;
}

nl_long_set nl_long_set_make(nl_arena *arena, const int64_t *ids, size_t count)
{
    nl_long_set set = {.sorted = NL_NEW_ARRAY(arena, int64_t, count + 1), .count = count};
    for (size_t i = 0; i < count; i++)
        set.sorted[i] = ids[i];
    qsort(set.sorted, count, sizeof(int64_t), by_number);
    return set;
}

/* Suppresses what main pointed to only between two updates of this list, and the history before a snapshot that is gone:
 * with a gap, time travel would find a wrong snapshot. */
static nl_status correct_snapshot_log(nl_metadata_builder *builder)
{
    const int64_t current = builder->next.current_snapshot_id;
    int64_t *ids = NL_NEW_ARRAY(builder->arena, int64_t, (size_t)builder->snapshots.count + 1);
    for (uint32_t i = 0; i < builder->snapshots.count; i++)
        ids[i] = ((const nl_snapshot *)builder->snapshots.items[i])->snapshot_id;
    const nl_long_set existing = nl_long_set_make(builder->arena, ids, builder->snapshots.count);
    int64_t *passing_ids = NL_NEW_ARRAY(builder->arena, int64_t, (size_t)builder->intermediate.count + 1);
    size_t passing_count = 0;
    for (uint32_t i = 0; i < builder->intermediate.count; i++) {
        const int64_t id = ((const nl_snapshot *)builder->intermediate.items[i])->snapshot_id;
        if (id != current) passing_ids[passing_count++] = id;
    }
    if (!passing_count && !builder->removes_snapshots) return NULL;
    const nl_long_set passing = nl_long_set_make(builder->arena, passing_ids, passing_count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->snapshot_log.count; i++) {
        const nl_snapshot_log_entry *entry = builder->snapshot_log.items[i];
        if (!nl_long_set_has(&existing, entry->snapshot_id)) {
            if (builder->removes_snapshots) kept = 0;
        } else if (!nl_long_set_has(&passing, entry->snapshot_id)) {
            builder->snapshot_log.items[kept++] = builder->snapshot_log.items[i];
        }
    }
    builder->snapshot_log.count = kept;
    if (current == NL_NONE) return NULL;
    const nl_snapshot_log_entry *last = kept ? builder->snapshot_log.items[kept - 1] : NULL;
    if (!last || last->snapshot_id != current)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot set invalid snapshot log: latest entry is not the current snapshot");
    return NULL;
}

/* The log of previous metadata files with the base's own appended, cut to the table's limit. */
static nl_status extend_metadata_log(nl_metadata_builder *builder, nl_arena *arena, nl_table_metadata *made)
{
    const nl_table_metadata *base = builder->base;
    const uint32_t old_count = base ? base->metadata_log_count : 0;
    const bool has_file = base && base->metadata_file.length > 0;
    int64_t kept_max = 100;
    NL_TRY(nl_table_property_int(made, "write.metadata.previous-versions-max", 100, &kept_max));
    kept_max = NL_MAX(kept_max, 1);
    const uint32_t first = has_file && old_count >= kept_max ? (uint32_t)(old_count - kept_max + 1) : 0;
    nl_metadata_log_entry *log = NL_NEW_ARRAY(arena, nl_metadata_log_entry, (size_t)old_count - first + 2);
    for (uint32_t i = first; i < old_count; i++)
        log[made->metadata_log_count++] =
            (nl_metadata_log_entry){base->metadata_log[i].timestamp_ms, nl_arena_str(arena, base->metadata_log[i].metadata_file)};
    if (has_file) log[made->metadata_log_count++] = (nl_metadata_log_entry){base->last_updated_ms, nl_arena_str(arena, base->metadata_file)};
    made->metadata_log = log;
    return NULL;
}

static void copy_schemas_and_specs(const nl_metadata_builder *builder, nl_arena *arena, nl_table_metadata *made)
{
    const nl_schema **schemas = NL_NEW_ARRAY(arena, const nl_schema *, (size_t)builder->schemas.count + 1);
    for (uint32_t i = 0; i < builder->schemas.count; i++) {
        nl_schema *copy = (nl_schema *)(uintptr_t)nl_schema_copy(arena, builder->schemas.items[i]);
        copy->unknown = nl_json_keep(arena, copy->unknown);
        schemas[i] = copy;
    }
    const nl_partition_spec **specs = NL_NEW_ARRAY(arena, const nl_partition_spec *, (size_t)builder->specs.count + 1);
    for (uint32_t i = 0; i < builder->specs.count; i++)
        specs[i] = nl_partition_spec_copy(arena, builder->specs.items[i]);
    const nl_sort_order **orders = NL_NEW_ARRAY(arena, const nl_sort_order *, (size_t)builder->sort_orders.count + 1);
    for (uint32_t i = 0; i < builder->sort_orders.count; i++)
        orders[i] = nl_sort_order_copy(arena, builder->sort_orders.items[i]);
    nl_property *properties = NL_NEW_ARRAY(arena, nl_property, (size_t)builder->properties.count + 1);
    for (uint32_t i = 0; i < builder->properties.count; i++) {
        const nl_property *property = builder->properties.items[i];
        properties[i] = (nl_property){nl_arena_str(arena, property->key), nl_arena_str(arena, property->value)};
    }
    made->schemas = schemas;
    made->schema_count = builder->schemas.count;
    made->specs = specs;
    made->spec_count = builder->specs.count;
    made->sort_orders = orders;
    made->sort_order_count = builder->sort_orders.count;
    made->properties = properties;
    made->property_count = builder->properties.count;
}

static void copy_snapshots(const nl_metadata_builder *builder, nl_arena *arena, nl_table_metadata *made)
{
    nl_snapshot *snapshots = NL_NEW_ARRAY(arena, nl_snapshot, (size_t)builder->snapshots.count + 1);
    for (uint32_t i = 0; i < builder->snapshots.count; i++)
        snapshots[i] = nl_snapshot_copy(arena, builder->snapshots.items[i]);
    nl_snapshot_ref *refs = NL_NEW_ARRAY(arena, nl_snapshot_ref, (size_t)builder->refs.count + 1);
    for (uint32_t i = 0; i < builder->refs.count; i++) {
        refs[i] = *(const nl_snapshot_ref *)builder->refs.items[i];
        refs[i].name = nl_arena_str(arena, refs[i].name);
    }
    nl_snapshot_log_entry *log = NL_NEW_ARRAY(arena, nl_snapshot_log_entry, (size_t)builder->snapshot_log.count + 1);
    for (uint32_t i = 0; i < builder->snapshot_log.count; i++)
        log[i] = *(const nl_snapshot_log_entry *)builder->snapshot_log.items[i];
    made->snapshots = snapshots;
    made->snapshot_count = builder->snapshots.count;
    made->refs = refs;
    made->ref_count = builder->refs.count;
    made->snapshot_log = log;
    made->snapshot_log_count = builder->snapshot_log.count;
}

static void copy_statistics(const nl_metadata_builder *builder, nl_arena *arena, nl_table_metadata *made)
{
    nl_statistics_file *files = NL_NEW_ARRAY(arena, nl_statistics_file, (size_t)builder->statistics.count + 1);
    for (uint32_t i = 0; i < builder->statistics.count; i++)
        files[i] = nl_statistics_file_copy(arena, builder->statistics.items[i]);
    nl_partition_statistics_file *partition_files =
        NL_NEW_ARRAY(arena, nl_partition_statistics_file, (size_t)builder->partition_statistics.count + 1);
    for (uint32_t i = 0; i < builder->partition_statistics.count; i++) {
        partition_files[i] = *(const nl_partition_statistics_file *)builder->partition_statistics.items[i];
        partition_files[i].path = nl_arena_str(arena, partition_files[i].path);
    }
    made->statistics = files;
    made->statistics_count = builder->statistics.count;
    made->partition_statistics = partition_files;
    made->partition_statistics_count = builder->partition_statistics.count;
}

static void index_snapshots(nl_arena *arena, nl_table_metadata *made)
{
    typedef struct pair {
        int64_t id;
        int64_t index;
    } pair; /* by_number looks at the first member only */
    pair *sorted = NL_NEW_ARRAY(arena, pair, (size_t)made->snapshot_count + 1);
    uint32_t *order = NL_NEW_ARRAY(arena, uint32_t, (size_t)made->snapshot_count + 1);
    for (uint32_t i = 0; i < made->snapshot_count; i++)
        sorted[i] = (pair){made->snapshots[i].snapshot_id, i};
    qsort(sorted, made->snapshot_count, sizeof(*sorted), by_number);
    for (uint32_t i = 0; i < made->snapshot_count; i++)
        order[i] = (uint32_t)sorted[i].index;
    made->snapshots_by_id = order;
}

static nl_status fill(nl_metadata_builder *builder, nl_arena *arena, int64_t now_ms, nl_table_metadata *made)
{
    const nl_table_metadata *next = &builder->next;
    *made = (nl_table_metadata){.format_version = next->format_version,
                                .uuid = nl_arena_str(arena, next->uuid),
                                .location = nl_arena_str(arena, next->location),
                                .last_sequence_number = next->last_sequence_number,
                                .last_column_id = next->last_column_id,
                                .current_schema_id = next->current_schema_id,
                                .default_spec_id = next->default_spec_id,
                                .last_partition_id = next->last_partition_id,
                                .default_sort_order_id = next->default_sort_order_id,
                                .current_snapshot_id = next->current_snapshot_id,
                                .next_row_id = next->next_row_id,
                                .arena = arena,
                                .references = NL_NEW(arena, atomic_uint)};
    atomic_init(made->references, 1);
    made->last_updated_ms = builder->last_updated_ms != NL_NONE ? builder->last_updated_ms
                            : now_ms != NL_NONE                 ? now_ms
                                                                : nl_now_micros() / 1000;
    copy_schemas_and_specs(builder, arena, made);
    copy_snapshots(builder, arena, made);
    copy_statistics(builder, arena, made);
    made->encryption_keys = nl_json_keep(arena, builder->encryption_keys ? builder->encryption_keys : next->encryption_keys);
    made->unknown = nl_json_keep(arena, next->unknown);
    index_snapshots(arena, made);
    NL_TRY(extend_metadata_log(builder, arena, made));
    return nl_arena_check(arena);
}

static nl_status check_whole(nl_metadata_builder *builder)
{
    const nl_table_metadata *next = &builder->next;
    const nl_schema *schema = nl_metadata_builder_schema(builder, next->current_schema_id);
    const nl_partition_spec *spec = NULL;
    const nl_sort_order *order = NULL;
    for (uint32_t i = 0; i < builder->specs.count; i++)
        if (((const nl_partition_spec *)builder->specs.items[i])->spec_id == next->default_spec_id) spec = builder->specs.items[i];
    for (uint32_t i = 0; i < builder->sort_orders.count; i++)
        if (((const nl_sort_order *)builder->sort_orders.items[i])->order_id == next->default_sort_order_id) order = builder->sort_orders.items[i];
    if (!schema || !spec || !order)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table metadata needs a current schema, a default partition spec and a default sort order");
    if (!next->location.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table metadata needs a location");
    NL_TRY(nl_schema_check_version(schema, next->format_version));
    NL_TRY(nl_partition_spec_check(builder->arena, spec, schema));
    return nl_sort_order_check(builder->arena, order, schema);
}

nl_status nl_metadata_builder_finish(nl_metadata_builder *builder, int64_t now_ms, const nl_table_metadata **metadata)
{
    if (!builder->has_changes && builder->base) {
        *metadata = nl_table_metadata_retain(builder->base);
        return NULL;
    }
    if (!builder->next.uuid.length) { /* new tables, and v1 tables that never had one */
        uint8_t bytes[16];
        char *text = nl_arena_alloc(builder->arena, NL_UUID_TEXT_LENGTH);
        nl_uuid_new(bytes);
        nl_uuid_format(bytes, text);
        builder->next.uuid = (nl_str){text, NL_UUID_TEXT_LENGTH};
    }
    NL_TRY(check_whole(builder));
    NL_TRY(correct_snapshot_log(builder));
    nl_arena *arena = nl_arena_new(builder->memory);
    nl_table_metadata *made = NL_NEW(arena, nl_table_metadata);
    nl_status status = fill(builder, arena, now_ms, made);
    if (status) {
        nl_arena_free(arena);
        return status;
    }
    *metadata = made;
    return NULL;
}

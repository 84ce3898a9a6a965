/* exec/source/metadata_snapshots.c - the metadata tables that come from the metadata file and manifest lists: snapshots,
 * history, refs, metadata_log_entries, manifests, all_manifests. */
#include "exec/source/metadata_table.h"

nl_status nl_builder_optional(nl_column_builder *builder, int64_t value)
{
    return value == NL_NONE ? nl_column_builder_null(builder) : nl_column_builder_i64(builder, value);
}

static nl_status append_summary(nl_column_builder *builder, const nl_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->summary_count; i++) {
        NL_TRY(nl_column_builder_str(nl_column_builder_child(builder, 0), snapshot->summary[i].key));
        NL_TRY(nl_column_builder_str(nl_column_builder_child(builder, 1), snapshot->summary[i].value));
    }
    return nl_column_builder_end_list(builder, snapshot->summary_count);
}

nl_status nl_produce_snapshots(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    const nl_metadata_table *self = owner;
    (void)query, (void)part, (void)wanted;
    for (uint32_t i = 0; i < self->metadata->snapshot_count; i++) {
        const nl_snapshot *snapshot = &self->metadata->snapshots[i];
        NL_TRY(nl_column_builder_i64(builders[0], snapshot->timestamp_ms * 1000));
        NL_TRY(nl_column_builder_i64(builders[1], snapshot->snapshot_id));
        NL_TRY(nl_builder_optional(builders[2], snapshot->parent_id));
        NL_TRY(snapshot->operation.length ? nl_column_builder_str(builders[3], snapshot->operation) : nl_column_builder_null(builders[3]));
        NL_TRY(snapshot->manifest_list.length ? nl_column_builder_str(builders[4], snapshot->manifest_list) : nl_column_builder_null(builders[4]));
        NL_TRY(append_summary(builders[5], snapshot));
    }
    return NULL;
}

static bool is_ancestor_of_current(const nl_table_metadata *metadata, int64_t snapshot_id)
{
    const nl_snapshot *snapshot = nl_table_current_snapshot(metadata);
    for (uint32_t step = 0; snapshot && step <= metadata->snapshot_count; step++) {
        if (snapshot->snapshot_id == snapshot_id) return true;
        snapshot = snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(metadata, snapshot->parent_id);
    }
    return false;
}

nl_status nl_produce_history(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    const nl_metadata_table *self = owner;
    (void)query, (void)part, (void)wanted;
    for (uint32_t i = 0; i < self->metadata->snapshot_log_count; i++) {
        const nl_snapshot_log_entry *entry = &self->metadata->snapshot_log[i];
        const nl_snapshot *snapshot = nl_table_snapshot(self->metadata, entry->snapshot_id);
        NL_TRY(nl_column_builder_i64(builders[0], entry->timestamp_ms * 1000));
        NL_TRY(nl_column_builder_i64(builders[1], entry->snapshot_id));
        NL_TRY(nl_builder_optional(builders[2], snapshot ? snapshot->parent_id : NL_NONE));
        NL_TRY(nl_column_builder_i64(builders[3], is_ancestor_of_current(self->metadata, entry->snapshot_id)));
    }
    return NULL;
}

nl_status nl_produce_refs(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    const nl_metadata_table *self = owner;
    (void)query, (void)part, (void)wanted;
    for (uint32_t i = 0; i < self->metadata->ref_count; i++) {
        const nl_snapshot_ref *ref = &self->metadata->refs[i];
        NL_TRY(nl_column_builder_str(builders[0], ref->name));
        NL_TRY(nl_column_builder_str(builders[1], ref->is_tag ? NL_STR("TAG") : NL_STR("BRANCH")));
        NL_TRY(nl_column_builder_i64(builders[2], ref->snapshot_id));
        NL_TRY(nl_builder_optional(builders[3], ref->max_ref_age_ms));
        NL_TRY(nl_builder_optional(builders[4], ref->min_snapshots_to_keep));
        NL_TRY(nl_builder_optional(builders[5], ref->max_snapshot_age_ms));
    }
    return NULL;
}

/* The snapshot that was current at a time, by the log. */
static const nl_snapshot *snapshot_at(const nl_table_metadata *metadata, int64_t timestamp_ms)
{
    const nl_snapshot *found = NULL;
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++)
        if (metadata->snapshot_log[i].timestamp_ms <= timestamp_ms) found = nl_table_snapshot(metadata, metadata->snapshot_log[i].snapshot_id);
    return found;
}

static nl_status append_log_row(const nl_table_metadata *metadata, nl_column_builder **builders, int64_t timestamp_ms, nl_str file)
{
    const nl_snapshot *snapshot = snapshot_at(metadata, timestamp_ms);
    NL_TRY(nl_column_builder_i64(builders[0], timestamp_ms * 1000));
    NL_TRY(nl_column_builder_str(builders[1], file));
    NL_TRY(nl_builder_optional(builders[2], snapshot ? snapshot->snapshot_id : NL_NONE));
    NL_TRY(nl_builder_optional(builders[3], snapshot ? snapshot->schema_id : NL_NONE));
    return nl_builder_optional(builders[4], snapshot ? snapshot->sequence_number : NL_NONE);
}

nl_status nl_produce_metadata_log(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    const nl_metadata_table *self = owner;
    (void)query, (void)part, (void)wanted;
    for (uint32_t i = 0; i < self->metadata->metadata_log_count; i++)
        NL_TRY(append_log_row(self->metadata, builders, self->metadata->metadata_log[i].timestamp_ms, self->metadata->metadata_log[i].metadata_file));
    return append_log_row(self->metadata, builders, self->metadata->last_updated_ms, self->metadata->metadata_file);
}

/* ---- manifests ------------------------------------------------------------------------------------------------- */

const nl_type *nl_manifests_type(nl_arena *arena, bool is_all)
{
    const nl_field summary[] = {
        {.name = NL_STR("contains_null"), .type = nl_type_boolean(), .is_nullable = false},
        {.name = NL_STR("contains_nan"), .type = nl_type_boolean(), .is_nullable = true},
        {.name = NL_STR("lower_bound"), .type = nl_type_string(), .is_nullable = true},
        {.name = NL_STR("upper_bound"), .type = nl_type_string(), .is_nullable = true},
    };
    const nl_type *summaries = nl_type_array(arena, nl_type_struct(arena, summary, NL_COUNT(summary)), false);
    const nl_field fields[] = {
        {.name = NL_STR("content"), .type = nl_type_int()},
        {.name = NL_STR("path"), .type = nl_type_string()},
        {.name = NL_STR("length"), .type = nl_type_bigint()},
        {.name = NL_STR("partition_spec_id"), .type = nl_type_int()},
        {.name = NL_STR("added_snapshot_id"), .type = nl_type_bigint(), .is_nullable = true},
        {.name = NL_STR("added_data_files_count"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("existing_data_files_count"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("deleted_data_files_count"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("added_delete_files_count"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("existing_delete_files_count"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("deleted_delete_files_count"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("partition_summaries"), .type = summaries, .is_nullable = true},
        {.name = NL_STR("reference_snapshot_id"), .type = nl_type_bigint()},
    };
    return nl_type_struct(arena, fields, NL_COUNT(fields) - !is_all);
}

/* A bound that is not there is the text "null", as Java's human form of a null. */
static nl_status append_bound(nl_column_builder *builder, const nl_transform *transform, const nl_ice_type *source, nl_bytes bytes, nl_arena *arena)
{
    nl_value value;
    nl_builder text;
    if (!bytes.data) return nl_column_builder_str(builder, NL_STR("null"));
    NL_TRY(nl_single_value_decode(nl_transform_result_type(transform, source), bytes, arena, &value));
    nl_builder_init(&text, 1 << 20);
    nl_transform_append_human(transform, source, &value, &text);
    nl_status status = nl_column_builder_str(builder, nl_builder_str(&text));
    nl_builder_fini(&text);
    return status;
}

static nl_status append_summaries(const nl_metadata_table *self, const nl_manifest_file *file, nl_column_builder *builder, nl_arena *arena)
{
    const nl_partition_spec *spec = nl_table_spec_by_id(self->metadata, file->spec_id);
    nl_column_builder *row = nl_column_builder_child(builder, 0);
    const uint32_t count = spec ? NL_MIN(file->partition_count, spec->field_count) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const nl_field_summary *summary = &file->partitions[i];
        const nl_ice_type *type = nl_table_source_type(arena, self->metadata, &spec->fields[i]);
        NL_TRY(nl_column_builder_i64(nl_column_builder_child(row, 0), summary->contains_null));
        NL_TRY(summary->contains_nan == NL_NONE ? nl_column_builder_null(nl_column_builder_child(row, 1))
                                                : nl_column_builder_i64(nl_column_builder_child(row, 1), summary->contains_nan));
        NL_TRY(append_bound(nl_column_builder_child(row, 2), &spec->fields[i].transform, type, summary->lower, arena));
        NL_TRY(append_bound(nl_column_builder_child(row, 3), &spec->fields[i].transform, type, summary->upper, arena));
        NL_TRY(nl_column_builder_end_struct(row));
    }
    return nl_column_builder_end_list(builder, count);
}

nl_status nl_produce_manifests(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    const nl_metadata_table *self = owner;
    nl_arena *arena = nl_arena_new(query->memory);
    nl_status status = NULL;
    (void)part, (void)wanted;
    for (uint32_t i = 0; !status && i < self->manifest_count; i++) {
        const nl_manifest_file *file = &self->manifests[i];
        const int64_t counts[3] = {file->added_files_count, file->existing_files_count, file->deleted_files_count};
        const bool is_data = file->content == NL_MANIFEST_DATA;
        NL_GO(nl_column_builder_i64(builders[0], file->content));
        NL_GO(nl_column_builder_str(builders[1], file->path));
        NL_GO(nl_column_builder_i64(builders[2], file->length));
        NL_GO(nl_column_builder_i64(builders[3], file->spec_id));
        NL_GO(nl_builder_optional(builders[4], file->added_snapshot_id));
        for (uint32_t j = 0; j < 3; j++) {
            NL_GO(nl_builder_optional(builders[5 + j], is_data ? counts[j] : 0));
            NL_GO(nl_builder_optional(builders[8 + j], is_data ? 0 : counts[j]));
        }
        NL_GO(append_summaries(self, file, builders[11], arena));
        if (self->manifest_snapshots) NL_GO(nl_column_builder_i64(builders[12], self->manifest_snapshots[i]));
    }
done:
    nl_arena_free(arena);
    return status;
}

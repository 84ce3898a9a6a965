/* iceberg/metadata_update.c - new metadata from old by a list of updates, with the rules of Java's
 * TableMetadata.Builder: which ids are reused, what the references and logs get. metadata_finish.c makes the result. */
#include "iceberg/metadata_builder.h"

static void add_const(nl_arena *arena, nl_list *list, const void *item)
{
    nl_list_add(arena, list, (void *)(uintptr_t)item);
}

static void load_base(nl_metadata_builder *builder)
{
    const nl_table_metadata *base = builder->base;
    nl_arena *arena = builder->arena;
    for (uint32_t i = 0; i < base->schema_count; i++)
        add_const(arena, &builder->schemas, base->schemas[i]);
    for (uint32_t i = 0; i < base->spec_count; i++)
        add_const(arena, &builder->specs, base->specs[i]);
    for (uint32_t i = 0; i < base->sort_order_count; i++)
        add_const(arena, &builder->sort_orders, base->sort_orders[i]);
    for (uint32_t i = 0; i < base->property_count; i++) {
        nl_property *property = NL_NEW(arena, nl_property);
        *property = base->properties[i];
        nl_list_add(arena, &builder->properties, property);
    }
    for (uint32_t i = 0; i < base->snapshot_count; i++)
        add_const(arena, &builder->snapshots, &base->snapshots[i]);
    for (uint32_t i = 0; i < base->ref_count; i++) {
        nl_snapshot_ref *ref = NL_NEW(arena, nl_snapshot_ref);
        *ref = base->refs[i];
        nl_list_add(arena, &builder->refs, ref);
    }
    for (uint32_t i = 0; i < base->snapshot_log_count; i++)
        add_const(arena, &builder->snapshot_log, &base->snapshot_log[i]);
    for (uint32_t i = 0; i < base->statistics_count; i++)
        add_const(arena, &builder->statistics, &base->statistics[i]);
    for (uint32_t i = 0; i < base->partition_statistics_count; i++)
        add_const(arena, &builder->partition_statistics, &base->partition_statistics[i]);
}

nl_metadata_builder *nl_metadata_builder_new(const nl_table_metadata *base, nl_memory *memory)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_metadata_builder *builder = NL_NEW(arena, nl_metadata_builder);
    builder->arena = arena;
    builder->memory = memory;
    builder->base = base;
    builder->last_schema_id = builder->last_spec_id = builder->last_sort_order_id = NL_NONE;
    builder->last_updated_ms = NL_NONE;
    if (base) {
        builder->next = *base;
        load_base(builder);
        return builder;
    }
    builder->next = (nl_table_metadata){.format_version = NL_FORMAT_VERSION_DEFAULT,
                                        .current_schema_id = NL_NONE,
                                        .default_spec_id = NL_NONE,
                                        .default_sort_order_id = NL_NONE,
                                        .last_partition_id = NL_PARTITION_FIELD_ID_START - 1,
                                        .current_snapshot_id = NL_NONE};
    builder->has_changes = true;
    return builder;
}

void nl_metadata_builder_free(nl_metadata_builder *builder)
{
    if (builder) nl_arena_free(builder->arena);
}

int32_t nl_metadata_builder_last_schema_id(const nl_metadata_builder *builder)
{
    return builder->last_schema_id;
}

int32_t nl_metadata_builder_last_spec_id(const nl_metadata_builder *builder)
{
    return builder->last_spec_id;
}

int32_t nl_metadata_builder_last_sort_order_id(const nl_metadata_builder *builder)
{
    return builder->last_sort_order_id;
}

bool nl_metadata_builder_has_changes(const nl_metadata_builder *builder)
{
    return builder->has_changes;
}

/* ---- Version, schemas, specs, orders ---- */

static nl_status upgrade(nl_metadata_builder *builder, int32_t version)
{
    const int32_t current = builder->next.format_version;
    if (version > NL_FORMAT_VERSION_MAX || version < 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot upgrade table to unsupported format version: v%d (supported: v%d)", version,
                             NL_FORMAT_VERSION_MAX);
    if (builder->base && version < current)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot downgrade v%d table to v%d", current, version);
    if (version == current) return NULL;
    builder->next.format_version = version;
    builder->has_changes = true;
    return NULL;
}

const nl_schema *nl_metadata_builder_schema(const nl_metadata_builder *builder, int32_t schema_id)
{
    for (uint32_t i = 0; i < builder->schemas.count; i++) {
        const nl_schema *schema = builder->schemas.items[i];
        if (schema->schema_id == schema_id) return schema;
    }
    return NULL;
}

static nl_status add_schema(nl_metadata_builder *builder, const nl_schema *schema, int32_t last_column_id)
{
    if (last_column_id == NL_NONE) last_column_id = NL_MAX(builder->next.last_column_id, schema->highest_field_id);
    if (last_column_id < builder->next.last_column_id)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid last column ID: %d < %d (previous last column ID)", last_column_id,
                             builder->next.last_column_id);
    if (last_column_id < schema->highest_field_id)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid last column ID: %d < %d (highest ID of the schema)", last_column_id,
                             schema->highest_field_id);
    NL_TRY(nl_schema_check_version(schema, builder->next.format_version));
    int32_t new_id = NL_MAX(builder->next.current_schema_id, 0);
    for (uint32_t i = 0; i < builder->schemas.count; i++) {
        const nl_schema *known = builder->schemas.items[i];
        if (nl_schema_same(known, schema)) {
            builder->last_schema_id = known->schema_id;
            if (last_column_id != builder->next.last_column_id) builder->has_changes = true;
            builder->next.last_column_id = last_column_id;
            return NULL;
        }
        if (known->schema_id >= new_id) new_id = known->schema_id + 1;
    }
    nl_schema *added = NL_NEW(builder->arena, nl_schema);
    *added = *schema;
    added->schema_id = new_id;
    nl_list_add(builder->arena, &builder->schemas, added);
    builder->next.last_column_id = last_column_id;
    builder->last_schema_id = new_id;
    builder->has_changes = true;
    return NULL;
}

static nl_status set_current_schema(nl_metadata_builder *builder, int32_t schema_id)
{
    if (schema_id == NL_LAST_ADDED) {
        if (builder->last_schema_id == NL_NONE)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot set last added schema: no schema has been added");
        schema_id = builder->last_schema_id;
    }
    if (schema_id == builder->next.current_schema_id) return NULL;
    if (!nl_metadata_builder_schema(builder, schema_id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set current schema to unknown schema: %d", schema_id);
    builder->next.current_schema_id = schema_id;
    builder->has_changes = true;
    return NULL;
}

static nl_status add_spec(nl_metadata_builder *builder, const nl_partition_spec *spec)
{
    const nl_schema *schema = nl_metadata_builder_schema(builder, builder->next.current_schema_id);
    if (!schema) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot add a partition spec before a schema is set");
    int32_t new_id = 0;
    for (uint32_t i = 0; i < builder->specs.count; i++) {
        const nl_partition_spec *known = builder->specs.items[i];
        if (nl_partition_spec_compatible(known, spec)) {
            builder->last_spec_id = known->spec_id;
            return NULL;
        }
        if (known->spec_id >= new_id) new_id = known->spec_id + 1;
    }
    NL_TRY(nl_partition_spec_check(builder->arena, spec, schema));
    nl_partition_spec *added = NL_NEW(builder->arena, nl_partition_spec);
    *added = *spec;
    added->spec_id = new_id;
    for (uint32_t i = 0; i < spec->field_count; i++) {
        if (builder->next.format_version == 1 && spec->fields[i].field_id != NL_PARTITION_FIELD_ID_START + (int32_t)i)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Spec does not use sequential IDs that are required in v1: field " NL_STR_FMT " has %d",
                                 NL_STR_ARG(spec->fields[i].name), spec->fields[i].field_id);
        builder->next.last_partition_id = NL_MAX(builder->next.last_partition_id, spec->fields[i].field_id);
    }
    nl_list_add(builder->arena, &builder->specs, added);
    builder->last_spec_id = new_id;
    builder->has_changes = true;
    return NULL;
}

static nl_status set_default_spec(nl_metadata_builder *builder, int32_t spec_id)
{
    if (spec_id == NL_LAST_ADDED) {
        if (builder->last_spec_id == NL_NONE)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot set last added spec: no spec has been added");
        spec_id = builder->last_spec_id;
    }
    if (spec_id == builder->next.default_spec_id) return NULL;
    for (uint32_t i = 0; i < builder->specs.count; i++) {
        if (((const nl_partition_spec *)builder->specs.items[i])->spec_id != spec_id) continue;
        builder->next.default_spec_id = spec_id;
        builder->has_changes = true;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set default partition spec to unknown spec: %d", spec_id);
}

static nl_status add_sort_order(nl_metadata_builder *builder, const nl_sort_order *order)
{
    const nl_schema *schema = nl_metadata_builder_schema(builder, builder->next.current_schema_id);
    if (!schema) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot add a sort order before a schema is set");
    int32_t new_id = order->field_count ? 1 : 0; /* 0 is the unsorted order's, always */
    for (uint32_t i = 0; i < builder->sort_orders.count; i++) {
        const nl_sort_order *known = builder->sort_orders.items[i];
        if (nl_sort_order_same_fields(known, order)) {
            builder->last_sort_order_id = known->order_id;
            return NULL;
        }
        if (order->field_count && known->order_id >= new_id) new_id = known->order_id + 1;
    }
    NL_TRY(nl_sort_order_check(builder->arena, order, schema));
    nl_sort_order *added = NL_NEW(builder->arena, nl_sort_order);
    *added = *order;
    added->order_id = new_id;
    nl_list_add(builder->arena, &builder->sort_orders, added);
    builder->last_sort_order_id = new_id;
    builder->has_changes = true;
    return NULL;
}

static nl_status set_default_sort_order(nl_metadata_builder *builder, int32_t order_id)
{
    if (order_id == NL_LAST_ADDED) {
        if (builder->last_sort_order_id == NL_NONE)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot set last added sort order: no sort order has been added");
        order_id = builder->last_sort_order_id;
    }
    if (order_id == builder->next.default_sort_order_id) return NULL;
    for (uint32_t i = 0; i < builder->sort_orders.count; i++) {
        if (((const nl_sort_order *)builder->sort_orders.items[i])->order_id != order_id) continue;
        builder->next.default_sort_order_id = order_id;
        builder->has_changes = true;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set default sort order to unknown sort order: %d", order_id);
}

static bool contains_id(const int32_t *ids, uint32_t count, int32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id) return true;
    return false;
}

static nl_status remove_schemas(nl_metadata_builder *builder, const int32_t *ids, uint32_t count)
{
    if (contains_id(ids, count, builder->next.current_schema_id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot remove the current schema");
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->schemas.count; i++) {
        const nl_schema *schema = builder->schemas.items[i];
        if (contains_id(ids, count, schema->schema_id)) builder->has_changes = true;
        else builder->schemas.items[kept++] = builder->schemas.items[i];
    }
    builder->schemas.count = kept;
    return NULL;
}

static nl_status remove_specs(nl_metadata_builder *builder, const int32_t *ids, uint32_t count)
{
    if (contains_id(ids, count, builder->next.default_spec_id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot remove the default partition spec");
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->specs.count; i++) {
        const nl_partition_spec *spec = builder->specs.items[i];
        if (contains_id(ids, count, spec->spec_id)) builder->has_changes = true;
        else builder->specs.items[kept++] = builder->specs.items[i];
    }
    builder->specs.count = kept;
    return NULL;
}

/* ---- Snapshots and references ---- */

static const nl_snapshot *find_snapshot(const nl_list *snapshots, int64_t snapshot_id)
{
    for (uint32_t i = snapshots->count; i-- > 0;) { /* new ones are at the end */
        const nl_snapshot *snapshot = snapshots->items[i];
        if (snapshot->snapshot_id == snapshot_id) return snapshot;
    }
    return NULL;
}

static nl_snapshot_ref *find_ref(const nl_metadata_builder *builder, nl_str name)
{
    for (uint32_t i = 0; i < builder->refs.count; i++) {
        nl_snapshot_ref *ref = builder->refs.items[i];
        if (nl_str_equal(ref->name, name)) return ref;
    }
    return NULL;
}

static nl_status check_row_ids(nl_metadata_builder *builder, const nl_snapshot *snapshot)
{
    if (builder->next.format_version < 3) return NULL;
    if (snapshot->first_row_id == NL_NONE) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot add a snapshot: first-row-id is null");
    if (snapshot->added_rows == NL_NONE || snapshot->added_rows < 0)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot add a snapshot: added-rows is null or negative");
    if (snapshot->first_row_id < builder->next.next_row_id)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot add a snapshot, first-row-id is behind table next-row-id: %lld < %lld",
                             (long long)snapshot->first_row_id, (long long)builder->next.next_row_id);
    if (__builtin_add_overflow(builder->next.next_row_id, snapshot->added_rows, &builder->next.next_row_id))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot add a snapshot: the table has no row ids left");
    return NULL;
}

static nl_status add_snapshot(nl_metadata_builder *builder, const nl_snapshot *snapshot)
{
    const long long id = (long long)snapshot->snapshot_id;
    if (!builder->schemas.count || !builder->specs.count || !builder->sort_orders.count)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Attempting to add a snapshot before a schema, a partition spec and a sort order are added");
    if (find_snapshot(&builder->snapshots, snapshot->snapshot_id))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Snapshot already exists for id: %lld", id);
    if (builder->next.format_version > 1 && snapshot->parent_id != NL_NONE && snapshot->sequence_number <= builder->next.last_sequence_number)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot add snapshot with sequence number %lld older than last sequence number %lld",
                             (long long)snapshot->sequence_number, (long long)builder->next.last_sequence_number);
    NL_TRY(check_row_ids(builder, snapshot));
    builder->last_updated_ms = snapshot->timestamp_ms;
    if (builder->next.format_version > 1) builder->next.last_sequence_number = NL_MAX(builder->next.last_sequence_number, snapshot->sequence_number);
    add_const(builder->arena, &builder->snapshots, snapshot);
    add_const(builder->arena, &builder->added_snapshots, snapshot);
    builder->has_changes = true;
    return NULL;
}

static bool same_ref(const nl_snapshot_ref *a, const nl_snapshot_ref *b)
{
    return a->snapshot_id == b->snapshot_id && a->is_tag == b->is_tag && a->min_snapshots_to_keep == b->min_snapshots_to_keep &&
           a->max_snapshot_age_ms == b->max_snapshot_age_ms && a->max_ref_age_ms == b->max_ref_age_ms;
}

static nl_status set_ref(nl_metadata_builder *builder, const nl_snapshot_ref *ref)
{
    nl_snapshot_ref *known = find_ref(builder, ref->name);
    if (known && same_ref(known, ref)) return NULL;
    const bool is_main = nl_str_is(ref->name, NL_MAIN_BRANCH);
    if (is_main && ref->is_tag) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set main to a tag: it must be a branch");
    if (!find_snapshot(&builder->snapshots, ref->snapshot_id))
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot set " NL_STR_FMT " to unknown snapshot: %lld", NL_STR_ARG(ref->name),
                             (long long)ref->snapshot_id);
    const nl_snapshot *added = find_snapshot(&builder->added_snapshots, ref->snapshot_id);
    if (added) builder->last_updated_ms = added->timestamp_ms;
    if (is_main) {
        if (builder->last_updated_ms == NL_NONE) builder->last_updated_ms = nl_now_micros() / 1000;
        builder->next.current_snapshot_id = ref->snapshot_id;
        nl_snapshot_log_entry *entry = NL_NEW(builder->arena, nl_snapshot_log_entry);
        *entry = (nl_snapshot_log_entry){builder->last_updated_ms, ref->snapshot_id};
        nl_list_add(builder->arena, &builder->snapshot_log, entry);
        if (added) add_const(builder->arena, &builder->intermediate, added);
    }
    if (!known) {
        known = NL_NEW(builder->arena, nl_snapshot_ref);
        nl_list_add(builder->arena, &builder->refs, known);
    }
    *known = *ref;
    builder->has_changes = true;
    return NULL;
}

static void remove_ref(nl_metadata_builder *builder, nl_str name)
{
    if (nl_str_is(name, NL_MAIN_BRANCH)) builder->next.current_snapshot_id = NL_NONE;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->refs.count; i++) {
        const nl_snapshot_ref *ref = builder->refs.items[i];
        if (nl_str_equal(ref->name, name)) builder->has_changes = true;
        else builder->refs.items[kept++] = builder->refs.items[i];
    }
    builder->refs.count = kept;
}

void nl_metadata_builder_reset_main(nl_metadata_builder *builder)
{
    remove_ref(builder, NL_STR(NL_MAIN_BRANCH));
}

/* Statistics of snapshots that are gone are of no use to anybody. */
static void drop_statistics(nl_metadata_builder *builder, const nl_long_set *gone)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->statistics.count; i++) {
        const nl_statistics_file *file = builder->statistics.items[i];
        if (nl_long_set_has(gone, file->snapshot_id)) builder->has_changes = true;
        else builder->statistics.items[kept++] = builder->statistics.items[i];
    }
    builder->statistics.count = kept;
    kept = 0;
    for (uint32_t i = 0; i < builder->partition_statistics.count; i++) {
        const nl_partition_statistics_file *file = builder->partition_statistics.items[i];
        if (nl_long_set_has(gone, file->snapshot_id)) builder->has_changes = true;
        else builder->partition_statistics.items[kept++] = builder->partition_statistics.items[i];
    }
    builder->partition_statistics.count = kept;
}

static void remove_snapshots(nl_metadata_builder *builder, const int64_t *ids, uint32_t count)
{
    const nl_long_set gone = nl_long_set_make(builder->arena, ids, count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->snapshots.count; i++) {
        const nl_snapshot *snapshot = builder->snapshots.items[i];
        if (!nl_long_set_has(&gone, snapshot->snapshot_id)) {
            builder->snapshots.items[kept++] = builder->snapshots.items[i];
        } else {
            builder->has_changes = true;
            builder->removes_snapshots = true;
        }
    }
    builder->snapshots.count = kept;
    for (uint32_t i = builder->refs.count; i-- > 0;) {
        const nl_snapshot_ref *ref = builder->refs.items[i];
        if (nl_long_set_has(&gone, ref->snapshot_id)) remove_ref(builder, ref->name);
    }
    drop_statistics(builder, &gone);
}

/* ---- Properties, statistics, keys ---- */

static void set_property(nl_metadata_builder *builder, const nl_property *property)
{
    for (uint32_t i = 0; i < builder->properties.count; i++) {
        nl_property *known = builder->properties.items[i];
        if (!nl_str_equal(known->key, property->key)) continue;
        if (!nl_str_equal(known->value, property->value)) builder->has_changes = true;
        known->value = property->value;
        return;
    }
    nl_property *added = NL_NEW(builder->arena, nl_property);
    *added = *property;
    nl_list_add(builder->arena, &builder->properties, added);
    builder->has_changes = true;
}

static void remove_property(nl_metadata_builder *builder, nl_str key)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < builder->properties.count; i++) {
        const nl_property *known = builder->properties.items[i];
        if (nl_str_equal(known->key, key)) builder->has_changes = true;
        else builder->properties.items[kept++] = builder->properties.items[i];
    }
    builder->properties.count = kept;
}

static void set_statistics(nl_metadata_builder *builder, const nl_statistics_file *file)
{
    builder->has_changes = true;
    for (uint32_t i = 0; i < builder->statistics.count; i++) {
        if (((const nl_statistics_file *)builder->statistics.items[i])->snapshot_id != file->snapshot_id) continue;
        builder->statistics.items[i] = (void *)(uintptr_t)file;
        return;
    }
    add_const(builder->arena, &builder->statistics, file);
}

static void set_partition_statistics(nl_metadata_builder *builder, const nl_partition_statistics_file *file)
{
    builder->has_changes = true;
    for (uint32_t i = 0; i < builder->partition_statistics.count; i++) {
        if (((const nl_partition_statistics_file *)builder->partition_statistics.items[i])->snapshot_id != file->snapshot_id) continue;
        builder->partition_statistics.items[i] = (void *)(uintptr_t)file;
        return;
    }
    add_const(builder->arena, &builder->partition_statistics, file);
}

static void remove_statistics(nl_metadata_builder *builder, nl_update_kind kind, int64_t snapshot_id)
{
    nl_list *list = kind == NL_UPDATE_REMOVE_STATISTICS ? &builder->statistics : &builder->partition_statistics;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const int64_t id = kind == NL_UPDATE_REMOVE_STATISTICS ? ((const nl_statistics_file *)list->items[i])->snapshot_id
                                                              : ((const nl_partition_statistics_file *)list->items[i])->snapshot_id;
        if (id == snapshot_id) builder->has_changes = true;
        else list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static void release_json(void *json)
{
    json_decref((json_t *)json);
}

/* A copy of the keys without `key_id`, and with `added` at the end when that is not NULL. */
static void change_keys(nl_metadata_builder *builder, nl_str key_id, const json_t *added)
{
    const json_t *old_keys = builder->encryption_keys ? builder->encryption_keys : builder->next.encryption_keys;
    json_t *keys = json_array();
    if (!keys) return;
    for (size_t i = 0; i < json_array_size(old_keys); i++) {
        json_t *key = json_array_get(old_keys, i);
        if (!nl_str_is(key_id, json_string_value(json_object_get(key, "key-id")))) json_array_append(keys, key);
    }
    if (added) json_array_append(keys, (json_t *)(uintptr_t)added);
    nl_arena_on_free(builder->arena, release_json, keys);
    builder->encryption_keys = keys;
    builder->has_changes = true;
}

static void set_text(nl_metadata_builder *builder, nl_str *target, nl_str text)
{
    if (nl_str_equal(*target, text)) return;
    *target = text;
    builder->has_changes = true;
}

nl_status nl_metadata_builder_apply(nl_metadata_builder *builder, const nl_table_update *update)
{
    switch (update->kind) {
    case NL_UPDATE_ASSIGN_UUID:
        if (!update->text.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set uuid to null");
        set_text(builder, &builder->next.uuid, update->text);
        break;
    case NL_UPDATE_UPGRADE_FORMAT_VERSION: NL_TRY(upgrade(builder, update->id)); break;
    case NL_UPDATE_ADD_SCHEMA: NL_TRY(add_schema(builder, update->add_schema.schema, update->add_schema.last_column_id)); break;
    case NL_UPDATE_SET_CURRENT_SCHEMA: NL_TRY(set_current_schema(builder, update->id)); break;
    case NL_UPDATE_ADD_SPEC: NL_TRY(add_spec(builder, update->spec)); break;
    case NL_UPDATE_SET_DEFAULT_SPEC: NL_TRY(set_default_spec(builder, update->id)); break;
    case NL_UPDATE_ADD_SORT_ORDER: NL_TRY(add_sort_order(builder, update->sort_order)); break;
    case NL_UPDATE_SET_DEFAULT_SORT_ORDER: NL_TRY(set_default_sort_order(builder, update->id)); break;
    case NL_UPDATE_ADD_SNAPSHOT: NL_TRY(add_snapshot(builder, update->snapshot)); break;
    case NL_UPDATE_SET_SNAPSHOT_REF: NL_TRY(set_ref(builder, update->ref)); break;
    case NL_UPDATE_REMOVE_SNAPSHOTS: remove_snapshots(builder, update->snapshots.ids, update->snapshots.count); break;
    case NL_UPDATE_REMOVE_SNAPSHOT_REF: remove_ref(builder, update->text); break;
    case NL_UPDATE_SET_LOCATION: set_text(builder, &builder->next.location, update->text); break;
    case NL_UPDATE_SET_PROPERTIES:
        for (uint32_t i = 0; i < update->properties.count; i++)
            set_property(builder, &update->properties.items[i]);
        break;
    case NL_UPDATE_REMOVE_PROPERTIES:
        for (uint32_t i = 0; i < update->properties.count; i++)
            remove_property(builder, update->properties.items[i].key);
        break;
    case NL_UPDATE_SET_STATISTICS: set_statistics(builder, update->statistics); break;
    case NL_UPDATE_SET_PARTITION_STATISTICS: set_partition_statistics(builder, update->partition_statistics); break;
    case NL_UPDATE_REMOVE_STATISTICS:
    case NL_UPDATE_REMOVE_PARTITION_STATISTICS: remove_statistics(builder, update->kind, update->snapshot_id); break;
    case NL_UPDATE_REMOVE_PARTITION_SPECS: NL_TRY(remove_specs(builder, update->ids.ids, update->ids.count)); break;
    case NL_UPDATE_REMOVE_SCHEMAS: NL_TRY(remove_schemas(builder, update->ids.ids, update->ids.count)); break;
    case NL_UPDATE_ADD_ENCRYPTION_KEY: {
        const char *key_id = json_string_value(json_object_get(update->encryption_key, "key-id"));
        change_keys(builder, nl_str_from(key_id), update->encryption_key);
        break;
    }
    case NL_UPDATE_REMOVE_ENCRYPTION_KEY: change_keys(builder, update->text, NULL); break;
    }
    return nl_arena_check(builder->arena);
}

nl_status nl_table_metadata_update(const nl_table_metadata *base, const nl_table_update *updates, uint32_t update_count, nl_memory *memory,
                                   const nl_table_metadata **metadata)
{
    nl_metadata_builder *builder = nl_metadata_builder_new(base, memory);
    nl_status status = NULL;
    for (uint32_t i = 0; i < update_count && !status; i++)
        status = nl_metadata_builder_apply(builder, &updates[i]);
    if (!status) status = nl_metadata_builder_finish(builder, NL_NONE, metadata);
    nl_metadata_builder_free(builder);
    return status;
}

/* iceberg/metadata_diff.c - the updates between two metadata, in an order in which each is allowed when its turn comes:
 * identity and version, references that go, schemas, specs and orders (a spec is checked against the schema in force),
 * properties, keys, snapshots, references, snapshots that go, statistics, and last what nothing refers to any more.
 *
 * Lists are compared by walking both with a place to look first, so that a long history costs its length.
 */
#include "iceberg/metadata_diff.h"

#include "iceberg/metadata_builder.h"

typedef struct differ {
    nl_arena *arena;
    const nl_table_metadata *base; /* or NULL */
    const nl_table_metadata *updated;
    nl_list updates;               /* nl_table_update * */
    nl_list requirements;          /* nl_table_requirement * */
} differ;

static void add_update(differ *d, const nl_table_update *update)
{
    nl_table_update *copy = NL_NEW(d->arena, nl_table_update);
    *copy = *update;
    nl_list_add(d->arena, &d->updates, copy);
}

/* The place of a key in a list, searched from *hint on and round; the next search begins behind it. `count` when absent. */
typedef bool (*key_at)(const void *items, uint32_t i, const void *key);
static uint32_t find_from(uint32_t *hint, const void *items, uint32_t count, key_at is_there, const void *key)
{
    for (uint32_t step = 0; step < count; step++) {
        const uint32_t i = (*hint + step) % count;
        if (!is_there(items, i, key)) continue;
        *hint = i + 1;
        return i;
    }
    return count;
}

static bool is_ref(const void *items, uint32_t i, const void *key)
{
    return nl_str_equal(((const nl_snapshot_ref *)items)[i].name, *(const nl_str *)key);
}

static bool is_property(const void *items, uint32_t i, const void *key)
{
    return nl_str_equal(((const nl_property *)items)[i].key, *(const nl_str *)key);
}

static bool is_statistics(const void *items, uint32_t i, const void *key)
{
    return ((const nl_statistics_file *)items)[i].snapshot_id == *(const int64_t *)key;
}

static bool is_partition_statistics(const void *items, uint32_t i, const void *key)
{
    return ((const nl_partition_statistics_file *)items)[i].snapshot_id == *(const int64_t *)key;
}

/* ---- Identity, schemas, specs, orders ---- */

static void diff_identity(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    if (!base || !nl_str_equal(base->uuid, updated->uuid)) add_update(d, &(nl_table_update){.kind = NL_UPDATE_ASSIGN_UUID, .text = updated->uuid});
    if (!base || base->format_version != updated->format_version)
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_UPGRADE_FORMAT_VERSION, .id = updated->format_version});
    if (!base || !nl_str_equal(base->location, updated->location)) add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_LOCATION, .text = updated->location});
}

static void diff_schemas(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    int32_t current = base ? base->current_schema_id : NL_NONE, last_column_id = base ? base->last_column_id : 0;
    for (uint32_t i = 0; i < updated->schema_count; i++) {
        const nl_schema *schema = updated->schemas[i];
        if (base && nl_table_schema_by_id(base, schema->schema_id)) continue;
        last_column_id = NL_MAX(last_column_id, schema->highest_field_id);
        const bool is_current = schema->schema_id == updated->current_schema_id;
        if (is_current) last_column_id = NL_MAX(last_column_id, updated->last_column_id);
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {schema, last_column_id}});
        if (!is_current) continue;
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED});
        current = schema->schema_id;
    }
    /* A column that came and went in one go leaves its id used up. */
    if (last_column_id < updated->last_column_id)
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {nl_table_schema(updated), updated->last_column_id}});
    if (current != updated->current_schema_id) add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = updated->current_schema_id});
}

static void diff_specs(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    int32_t current = base ? base->default_spec_id : NL_NONE;
    for (uint32_t i = 0; i < updated->spec_count; i++) {
        const nl_partition_spec *spec = updated->specs[i];
        if (base && nl_table_spec_by_id(base, spec->spec_id)) continue;
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_ADD_SPEC, .spec = spec});
        if (spec->spec_id != updated->default_spec_id) continue;
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = NL_LAST_ADDED});
        current = spec->spec_id;
    }
    if (current != updated->default_spec_id) add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = updated->default_spec_id});
}

static void diff_orders(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    int32_t current = base ? base->default_sort_order_id : NL_NONE;
    for (uint32_t i = 0; i < updated->sort_order_count; i++) {
        const nl_sort_order *order = updated->sort_orders[i];
        if (base && nl_table_sort_order_by_id(base, order->order_id)) continue;
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_ADD_SORT_ORDER, .sort_order = order});
        if (order->order_id != updated->default_sort_order_id) continue;
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_DEFAULT_SORT_ORDER, .id = NL_LAST_ADDED});
        current = order->order_id;
    }
    if (current != updated->default_sort_order_id)
        add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_DEFAULT_SORT_ORDER, .id = updated->default_sort_order_id});
}

static void diff_removed_ids(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    if (!base) return;
    int32_t *spec_ids = NL_NEW_ARRAY(d->arena, int32_t, (size_t)base->spec_count + 1);
    int32_t *schema_ids = NL_NEW_ARRAY(d->arena, int32_t, (size_t)base->schema_count + 1);
    uint32_t spec_count = 0, schema_count = 0;
    for (uint32_t i = 0; i < base->spec_count; i++)
        if (!nl_table_spec_by_id(updated, base->specs[i]->spec_id)) spec_ids[spec_count++] = base->specs[i]->spec_id;
    for (uint32_t i = 0; i < base->schema_count; i++)
        if (!nl_table_schema_by_id(updated, base->schemas[i]->schema_id)) schema_ids[schema_count++] = base->schemas[i]->schema_id;
    if (spec_count) add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_PARTITION_SPECS, .ids = {spec_ids, spec_count}});
    if (schema_count) add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_SCHEMAS, .ids = {schema_ids, schema_count}});
}

/* ---- Properties and keys ---- */

static void diff_properties(differ *d)
{
    const uint32_t base_count = d->base ? d->base->property_count : 0;
    const nl_property *base = d->base ? d->base->properties : NULL;
    nl_property *set = NL_NEW_ARRAY(d->arena, nl_property, (size_t)d->updated->property_count + 1);
    nl_property *removed = NL_NEW_ARRAY(d->arena, nl_property, (size_t)base_count + 1);
    uint32_t set_count = 0, removed_count = 0, hint = 0;
    for (uint32_t i = 0; i < d->updated->property_count; i++) {
        const nl_property *property = &d->updated->properties[i];
        const uint32_t at = find_from(&hint, base, base_count, is_property, &property->key);
        if (at == base_count || !nl_str_equal(base[at].value, property->value)) set[set_count++] = *property;
    }
    hint = 0;
    for (uint32_t i = 0; i < base_count; i++)
        if (find_from(&hint, d->updated->properties, d->updated->property_count, is_property, &base[i].key) == d->updated->property_count)
            removed[removed_count++] = base[i];
    if (set_count) add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {set, set_count}});
    if (removed_count) add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_PROPERTIES, .properties = {removed, removed_count}});
}

static const json_t *key_of(const json_t *keys, const json_t *wanted)
{
    const json_t *id = json_object_get(wanted, "key-id");
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (json_equal(json_object_get(json_array_get(keys, i), "key-id"), id)) return json_array_get(keys, i);
    return NULL;
}

static void diff_added_keys(differ *d)
{
    const json_t *base = d->base ? d->base->encryption_keys : NULL, *updated = d->updated->encryption_keys;
    for (size_t i = 0; i < json_array_size(updated); i++) {
        const json_t *key = json_array_get(updated, i), *known = key_of(base, key);
        if (!known || !json_equal(known, key)) add_update(d, &(nl_table_update){.kind = NL_UPDATE_ADD_ENCRYPTION_KEY, .encryption_key = key});
    }
}

static void diff_removed_keys(differ *d)
{
    const json_t *base = d->base ? d->base->encryption_keys : NULL;
    for (size_t i = 0; i < json_array_size(base); i++) {
        const json_t *key = json_array_get(base, i);
        if (!key_of(d->updated->encryption_keys, key))
            add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_ENCRYPTION_KEY, .text = nl_str_from(json_string_value(json_object_get(key, "key-id")))});
    }
}

/* ---- Snapshots, references, statistics ---- */

static bool same_ref(const nl_snapshot_ref *a, const nl_snapshot_ref *b)
{
    return a->snapshot_id == b->snapshot_id && a->is_tag == b->is_tag && a->min_snapshots_to_keep == b->min_snapshots_to_keep &&
           a->max_snapshot_age_ms == b->max_snapshot_age_ms && a->max_ref_age_ms == b->max_ref_age_ms;
}

static void diff_removed_refs(differ *d)
{
    uint32_t hint = 0;
    for (uint32_t i = 0; d->base && i < d->base->ref_count; i++)
        if (find_from(&hint, d->updated->refs, d->updated->ref_count, is_ref, &d->base->refs[i].name) == d->updated->ref_count)
            add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_SNAPSHOT_REF, .text = d->base->refs[i].name});
}

static void diff_snapshots(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    const uint32_t base_count = base ? base->snapshot_count : 0, base_ref_count = base ? base->ref_count : 0;
    for (uint32_t i = 0; i < updated->snapshot_count; i++)
        if (!base || !nl_table_snapshot(base, updated->snapshots[i].snapshot_id))
            add_update(d, &(nl_table_update){.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &updated->snapshots[i]});
    uint32_t hint = 0;
    for (uint32_t i = 0; i < updated->ref_count; i++) {
        const uint32_t at = find_from(&hint, base ? base->refs : NULL, base_ref_count, is_ref, &updated->refs[i].name);
        if (at == base_ref_count || !same_ref(&base->refs[at], &updated->refs[i]))
            add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = &updated->refs[i]});
    }
    int64_t *gone = NL_NEW_ARRAY(d->arena, int64_t, (size_t)base_count + 1);
    uint32_t gone_count = 0;
    for (uint32_t i = 0; i < base_count; i++)
        if (!nl_table_snapshot(updated, base->snapshots[i].snapshot_id)) gone[gone_count++] = base->snapshots[i].snapshot_id;
    if (gone_count) add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_SNAPSHOTS, .snapshots = {gone, gone_count}});
}

static bool same_statistics(const nl_statistics_file *a, const nl_statistics_file *b)
{
    nl_builder texts[2];
    nl_builder_init(&texts[0], NL_METADATA_BYTES_MAX);
    nl_builder_init(&texts[1], NL_METADATA_BYTES_MAX);
    nl_statistics_file_append_json(a, &texts[0]);
    nl_statistics_file_append_json(b, &texts[1]);
    const bool is_same = nl_str_equal(nl_builder_str(&texts[0]), nl_builder_str(&texts[1]));
    nl_builder_fini(&texts[0]);
    nl_builder_fini(&texts[1]);
    return is_same;
}

static void diff_set_statistics(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    const uint32_t count = base ? base->statistics_count : 0, partition_count = base ? base->partition_statistics_count : 0;
    uint32_t hint = 0;
    for (uint32_t i = 0; i < updated->statistics_count; i++) {
        const nl_statistics_file *file = &updated->statistics[i];
        const uint32_t at = find_from(&hint, base ? base->statistics : NULL, count, is_statistics, &file->snapshot_id);
        if (at == count || !same_statistics(&base->statistics[at], file)) add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_STATISTICS, .statistics = file});
    }
    hint = 0;
    for (uint32_t i = 0; i < updated->partition_statistics_count; i++) {
        const nl_partition_statistics_file *file = &updated->partition_statistics[i];
        const uint32_t at = find_from(&hint, base ? base->partition_statistics : NULL, partition_count, is_partition_statistics, &file->snapshot_id);
        const nl_partition_statistics_file *known = at < partition_count ? &base->partition_statistics[at] : NULL;
        if (!known || !nl_str_equal(known->path, file->path) || known->file_size_bytes != file->file_size_bytes)
            add_update(d, &(nl_table_update){.kind = NL_UPDATE_SET_PARTITION_STATISTICS, .partition_statistics = file});
    }
}

/* Before the snapshots go: not every server drops the statistics with them. */
static void diff_removed_statistics(differ *d)
{
    const nl_table_metadata *base = d->base, *updated = d->updated;
    if (!base) return;
    uint32_t hint = 0;
    for (uint32_t i = 0; i < base->statistics_count; i++)
        if (find_from(&hint, updated->statistics, updated->statistics_count, is_statistics, &base->statistics[i].snapshot_id) == updated->statistics_count)
            add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_STATISTICS, .snapshot_id = base->statistics[i].snapshot_id});
    hint = 0;
    for (uint32_t i = 0; i < base->partition_statistics_count; i++)
        if (find_from(&hint, updated->partition_statistics, updated->partition_statistics_count, is_partition_statistics,
                      &base->partition_statistics[i].snapshot_id) == updated->partition_statistics_count)
            add_update(d, &(nl_table_update){.kind = NL_UPDATE_REMOVE_PARTITION_STATISTICS, .snapshot_id = base->partition_statistics[i].snapshot_id});
}

/* ---- Requirements ---- */

static void require(differ *d, nl_requirement_kind kind, nl_str text, int64_t number)
{
    for (uint32_t i = 0; i < d->requirements.count; i++) {
        const nl_table_requirement *known = d->requirements.items[i];
        if (known->kind == kind && (kind != NL_REQUIRE_REF_SNAPSHOT_ID || nl_str_equal(known->text, text))) return;
    }
    nl_table_requirement *requirement = NL_NEW(d->arena, nl_table_requirement);
    *requirement = (nl_table_requirement){.kind = kind, .text = text, .number = number};
    nl_list_add(d->arena, &d->requirements, requirement);
}

static void require_branches_unchanged(differ *d)
{
    for (uint32_t i = 0; i < d->base->ref_count; i++)
        if (!d->base->refs[i].is_tag) require(d, NL_REQUIRE_REF_SNAPSHOT_ID, d->base->refs[i].name, d->base->refs[i].snapshot_id);
}

/* Java asks for nothing when snapshots are removed, so that a branch that was moved back to one of them meanwhile would
 * lose it, and files with it that are in use: branches must stand where they stood when it was decided what goes. */
static void require_for(differ *d, const nl_table_update *update)
{
    const nl_table_metadata *base = d->base;
    switch (update->kind) {
    case NL_UPDATE_SET_SNAPSHOT_REF: {
        const nl_snapshot_ref *known = nl_table_ref(base, update->ref->name);
        require(d, NL_REQUIRE_REF_SNAPSHOT_ID, update->ref->name, known ? known->snapshot_id : NL_NONE);
        break;
    }
    case NL_UPDATE_ADD_SCHEMA: require(d, NL_REQUIRE_LAST_COLUMN_ID, (nl_str){0}, base->last_column_id); break;
    case NL_UPDATE_SET_CURRENT_SCHEMA: require(d, NL_REQUIRE_CURRENT_SCHEMA_ID, (nl_str){0}, base->current_schema_id); break;
    case NL_UPDATE_ADD_SPEC: require(d, NL_REQUIRE_LAST_PARTITION_ID, (nl_str){0}, base->last_partition_id); break;
    case NL_UPDATE_SET_DEFAULT_SPEC: require(d, NL_REQUIRE_DEFAULT_SPEC_ID, (nl_str){0}, base->default_spec_id); break;
    case NL_UPDATE_SET_DEFAULT_SORT_ORDER: require(d, NL_REQUIRE_DEFAULT_SORT_ORDER_ID, (nl_str){0}, base->default_sort_order_id); break;
    case NL_UPDATE_REMOVE_PARTITION_SPECS:
        require(d, NL_REQUIRE_DEFAULT_SPEC_ID, (nl_str){0}, base->default_spec_id);
        require_branches_unchanged(d);
        break;
    case NL_UPDATE_REMOVE_SCHEMAS:
        require(d, NL_REQUIRE_CURRENT_SCHEMA_ID, (nl_str){0}, base->current_schema_id);
        require_branches_unchanged(d);
        break;
    case NL_UPDATE_REMOVE_SNAPSHOTS: require_branches_unchanged(d); break;
    case NL_UPDATE_ASSIGN_UUID:
    case NL_UPDATE_UPGRADE_FORMAT_VERSION:
    case NL_UPDATE_ADD_SORT_ORDER:
    case NL_UPDATE_ADD_SNAPSHOT:
    case NL_UPDATE_REMOVE_SNAPSHOT_REF:
    case NL_UPDATE_SET_LOCATION:
    case NL_UPDATE_SET_PROPERTIES:
    case NL_UPDATE_REMOVE_PROPERTIES:
    case NL_UPDATE_SET_STATISTICS:
    case NL_UPDATE_REMOVE_STATISTICS:
    case NL_UPDATE_SET_PARTITION_STATISTICS:
    case NL_UPDATE_REMOVE_PARTITION_STATISTICS:
    case NL_UPDATE_ADD_ENCRYPTION_KEY:
    case NL_UPDATE_REMOVE_ENCRYPTION_KEY: break;
    }
}

static void add_requirements(differ *d)
{
    if (!d->base) {
        require(d, NL_REQUIRE_CREATE, (nl_str){0}, 0);
        return;
    }
    if (d->base->uuid.length) require(d, NL_REQUIRE_UUID, d->base->uuid, 0);
    for (uint32_t i = 0; i < d->updates.count; i++)
        require_for(d, d->updates.items[i]);
}

/* ---- The proof ---- */

static bool same_refs(const nl_metadata_builder *builder, const nl_table_metadata *updated)
{
    uint32_t hint = 0;
    if (builder->refs.count != updated->ref_count) return false;
    for (uint32_t i = 0; i < updated->ref_count; i++) {
        const nl_snapshot_ref *ref = builder->refs.items[i];
        const uint32_t at = find_from(&hint, updated->refs, updated->ref_count, is_ref, &ref->name);
        if (at == updated->ref_count || !same_ref(ref, &updated->refs[at])) return false;
    }
    return true;
}

/* Ids are given by whoever applies an update: had ours been given otherwise, the table would get other ones than its new
 * files were written with. */
static const char *difference(const nl_metadata_builder *builder, const nl_table_metadata *updated)
{
    const nl_table_metadata *next = &builder->next;
    if (builder->schemas.count != updated->schema_count || next->current_schema_id != updated->current_schema_id) return "schemas";
    for (uint32_t i = 0; i < updated->schema_count; i++) {
        const nl_schema *schema = nl_metadata_builder_schema(builder, updated->schemas[i]->schema_id);
        if (!schema || !nl_schema_same(schema, updated->schemas[i])) return "schema ids";
    }
    if (next->last_column_id != updated->last_column_id) return "the last column id";
    if (builder->specs.count != updated->spec_count || next->default_spec_id != updated->default_spec_id) return "partition specs";
    for (uint32_t i = 0; i < builder->specs.count; i++) {
        const nl_partition_spec *spec = builder->specs.items[i], *wanted = nl_table_spec_by_id(updated, spec->spec_id);
        if (!wanted || !nl_partition_spec_compatible(spec, wanted)) return "spec ids";
    }
    if (next->last_partition_id != updated->last_partition_id) return "the last partition id";
    if (builder->sort_orders.count != updated->sort_order_count || next->default_sort_order_id != updated->default_sort_order_id) return "sort orders";
    if (builder->snapshots.count != updated->snapshot_count || next->current_snapshot_id != updated->current_snapshot_id) return "snapshots";
    if (next->last_sequence_number != updated->last_sequence_number) return "the last sequence number";
    if (next->next_row_id != updated->next_row_id) return "the next row id";
    if (!same_refs(builder, updated)) return "references";
    if (builder->properties.count != updated->property_count) return "properties";
    if (builder->statistics.count != updated->statistics_count || builder->partition_statistics.count != updated->partition_statistics_count)
        return "statistics";
    return NULL;
}

static nl_status prove(const differ *d)
{
    nl_metadata_builder *builder = nl_metadata_builder_new(d->base, NULL);
    nl_status status = NULL;
    for (uint32_t i = 0; i < d->updates.count && !status; i++)
        status = nl_metadata_builder_apply(builder, d->updates.items[i]);
    const char *what = status ? NULL : difference(builder, d->updated);
    if (what) status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This change of a table cannot be sent as a list of updates: %s would differ", what);
    nl_metadata_builder_free(builder);
    return nl_note_if(status, NL_HERE, "checking the updates of a commit");
}

nl_status nl_metadata_diff_make(nl_arena *arena, const nl_table_metadata *base, const nl_table_metadata *updated, nl_metadata_diff *diff)
{
    differ d = {.arena = arena, .base = base, .updated = updated};
    diff_identity(&d);
    diff_removed_refs(&d);
    diff_schemas(&d);
    diff_specs(&d);
    diff_orders(&d);
    diff_properties(&d);
    diff_added_keys(&d);
    diff_removed_statistics(&d);
    diff_snapshots(&d);
    diff_set_statistics(&d);
    diff_removed_ids(&d);
    diff_removed_keys(&d);
    add_requirements(&d);
    NL_TRY(nl_arena_check(arena));
    NL_TRY(prove(&d));
    nl_table_update *updates = NL_NEW_ARRAY(arena, nl_table_update, (size_t)d.updates.count + 1);
    for (uint32_t i = 0; i < d.updates.count; i++)
        updates[i] = *(const nl_table_update *)d.updates.items[i];
    nl_table_requirement *requirements = NL_NEW_ARRAY(arena, nl_table_requirement, (size_t)d.requirements.count + 1);
    for (uint32_t i = 0; i < d.requirements.count; i++)
        requirements[i] = *(const nl_table_requirement *)d.requirements.items[i];
    *diff = (nl_metadata_diff){updates, d.updates.count, requirements, d.requirements.count};
    return nl_arena_check(arena);
}

/* ---- After a lost answer ---- */

static const nl_schema *same_schema(const nl_table_metadata *metadata, const nl_schema *wanted)
{
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        if (nl_schema_same(metadata->schemas[i], wanted)) return metadata->schemas[i];
    return NULL;
}

static bool has_spec(const nl_table_metadata *metadata, const nl_partition_spec *wanted)
{
    bool is_there = false;
    for (uint32_t i = 0; i < metadata->spec_count; i++)
        is_there = is_there || nl_partition_spec_compatible(metadata->specs[i], wanted);
    return is_there;
}

static bool has_order(const nl_table_metadata *metadata, const nl_sort_order *wanted)
{
    bool is_there = false;
    for (uint32_t i = 0; i < metadata->sort_order_count; i++)
        is_there = is_there || nl_sort_order_same_fields(metadata->sort_orders[i], wanted);
    return is_there;
}

/* Expired meanwhile, a snapshot still has children that name it. */
static bool has_snapshot(const nl_table_metadata *metadata, int64_t snapshot_id)
{
    bool is_there = nl_table_snapshot(metadata, snapshot_id) != NULL;
    for (uint32_t i = 0; i < metadata->snapshot_count && !is_there; i++)
        is_there = metadata->snapshots[i].parent_id == snapshot_id;
    return is_there;
}

static bool has_properties(const nl_table_metadata *metadata, const nl_table_update *update)
{
    const bool is_set = update->kind == NL_UPDATE_SET_PROPERTIES;
    for (uint32_t i = 0; i < update->properties.count; i++) {
        uint32_t hint = 0;
        const uint32_t at = find_from(&hint, metadata->properties, metadata->property_count, is_property, &update->properties.items[i].key);
        const bool is_there = at < metadata->property_count;
        if (is_there != is_set || (is_set && !nl_str_equal(metadata->properties[at].value, update->properties.items[i].value))) return false;
    }
    return true;
}

static bool has_statistics(const nl_table_metadata *metadata, const nl_table_update *update)
{
    uint32_t hint = 0;
    uint32_t at;
    if (update->kind == NL_UPDATE_SET_STATISTICS) {
        at = find_from(&hint, metadata->statistics, metadata->statistics_count, is_statistics, &update->statistics->snapshot_id);
        return at < metadata->statistics_count && nl_str_equal(metadata->statistics[at].path, update->statistics->path);
    }
    if (update->kind == NL_UPDATE_SET_PARTITION_STATISTICS) {
        at = find_from(&hint, metadata->partition_statistics, metadata->partition_statistics_count, is_partition_statistics, &update->partition_statistics->snapshot_id);
        return at < metadata->partition_statistics_count && nl_str_equal(metadata->partition_statistics[at].path, update->partition_statistics->path);
    }
    if (update->kind == NL_UPDATE_REMOVE_STATISTICS)
        return find_from(&hint, metadata->statistics, metadata->statistics_count, is_statistics, &update->snapshot_id) == metadata->statistics_count;
    return find_from(&hint, metadata->partition_statistics, metadata->partition_statistics_count, is_partition_statistics, &update->snapshot_id) ==
           metadata->partition_statistics_count;
}

static bool update_holds(const nl_table_update *update, const nl_table_metadata *updated, const nl_table_metadata *current)
{
    bool holds = true;
    const nl_snapshot_ref *ref;
    switch (update->kind) {
    case NL_UPDATE_ASSIGN_UUID: return nl_str_equal(current->uuid, update->text);
    case NL_UPDATE_UPGRADE_FORMAT_VERSION: return current->format_version >= update->id;
    case NL_UPDATE_ADD_SCHEMA: return same_schema(current, update->add_schema.schema) != NULL;
    case NL_UPDATE_SET_CURRENT_SCHEMA: return nl_schema_same(nl_table_schema(current), nl_table_schema(updated));
    case NL_UPDATE_ADD_SPEC: return has_spec(current, update->spec);
    case NL_UPDATE_SET_DEFAULT_SPEC: return nl_partition_spec_compatible(nl_table_spec(current), nl_table_spec(updated));
    case NL_UPDATE_ADD_SORT_ORDER: return has_order(current, update->sort_order);
    case NL_UPDATE_SET_DEFAULT_SORT_ORDER: return nl_sort_order_same_fields(nl_table_sort_order(current), nl_table_sort_order(updated));
    case NL_UPDATE_ADD_SNAPSHOT: return has_snapshot(current, update->snapshot->snapshot_id);
    case NL_UPDATE_SET_SNAPSHOT_REF:
        ref = nl_table_ref(current, update->ref->name);
        return ref && same_ref(ref, update->ref);
    case NL_UPDATE_REMOVE_SNAPSHOT_REF: return nl_table_ref(current, update->text) == NULL || nl_table_ref(updated, update->text) != NULL;
    case NL_UPDATE_REMOVE_SNAPSHOTS:
        for (uint32_t i = 0; i < update->snapshots.count; i++)
            holds = holds && !nl_table_snapshot(current, update->snapshots.ids[i]);
        return holds;
    case NL_UPDATE_SET_LOCATION: return nl_str_equal(current->location, update->text);
    case NL_UPDATE_SET_PROPERTIES:
    case NL_UPDATE_REMOVE_PROPERTIES: return has_properties(current, update);
    case NL_UPDATE_SET_STATISTICS:
    case NL_UPDATE_REMOVE_STATISTICS:
    case NL_UPDATE_SET_PARTITION_STATISTICS:
    case NL_UPDATE_REMOVE_PARTITION_STATISTICS: return has_statistics(current, update);
    case NL_UPDATE_REMOVE_PARTITION_SPECS:
        for (uint32_t i = 0; i < update->ids.count; i++)
            holds = holds && !nl_table_spec_by_id(current, update->ids.ids[i]);
        return holds;
    case NL_UPDATE_REMOVE_SCHEMAS:
        for (uint32_t i = 0; i < update->ids.count; i++)
            holds = holds && !nl_table_schema_by_id(current, update->ids.ids[i]);
        return holds;
    case NL_UPDATE_ADD_ENCRYPTION_KEY: return key_of(current->encryption_keys, update->encryption_key) != NULL;
    case NL_UPDATE_REMOVE_ENCRYPTION_KEY: return true; /* never alone */
    }
    return holds;
}

bool nl_metadata_diff_holds(const nl_metadata_diff *diff, const nl_table_metadata *updated, const nl_table_metadata *current)
{
    bool has_snapshots = false, are_there = true, hold = true;
    const bool is_creation = diff->requirement_count && diff->requirements[0].kind == NL_REQUIRE_CREATE;
    if (!nl_str_equal(current->uuid, updated->uuid)) return false;
    if (is_creation) return true;
    for (uint32_t i = 0; i < diff->update_count; i++) {
        const nl_table_update *update = &diff->updates[i];
        const bool holds = update_holds(update, updated, current);
        if (update->kind == NL_UPDATE_ADD_SNAPSHOT) {
            has_snapshots = true;
            are_there = are_there && holds;
        }
        hold = hold && holds;
    }
    return has_snapshots ? are_there : hold;
}

/* iceberg/metadata_update_json.c - updates and requirements in the forms of the REST catalog (Iceberg's OpenAPI document,
 * TableUpdate and TableRequirement), and checking requirements. What is unknown is refused: guessing could lose data. */
#include "base/json.h"
#include "iceberg/metadata_update.h"

#define REQUEST NL_STR("the request")

typedef struct action_row {
    const char *name;
    nl_update_kind kind;
    const char *key; /* of its only value, for simple ones */
} action_row;

static const action_row actions[] = {
    {"assign-uuid", NL_UPDATE_ASSIGN_UUID, "uuid"},
    {"upgrade-format-version", NL_UPDATE_UPGRADE_FORMAT_VERSION, "format-version"},
    {"add-schema", NL_UPDATE_ADD_SCHEMA, "schema"},
    {"set-current-schema", NL_UPDATE_SET_CURRENT_SCHEMA, "schema-id"},
    {"add-spec", NL_UPDATE_ADD_SPEC, "spec"},
    {"set-default-spec", NL_UPDATE_SET_DEFAULT_SPEC, "spec-id"},
    {"add-sort-order", NL_UPDATE_ADD_SORT_ORDER, "sort-order"},
    {"set-default-sort-order", NL_UPDATE_SET_DEFAULT_SORT_ORDER, "sort-order-id"},
    {"add-snapshot", NL_UPDATE_ADD_SNAPSHOT, "snapshot"},
    {"set-snapshot-ref", NL_UPDATE_SET_SNAPSHOT_REF, "ref-name"},
    {"remove-snapshots", NL_UPDATE_REMOVE_SNAPSHOTS, "snapshot-ids"},
    {"remove-snapshot-ref", NL_UPDATE_REMOVE_SNAPSHOT_REF, "ref-name"},
    {"set-location", NL_UPDATE_SET_LOCATION, "location"},
    {"set-properties", NL_UPDATE_SET_PROPERTIES, "updates"},
    {"remove-properties", NL_UPDATE_REMOVE_PROPERTIES, "removals"},
    {"set-statistics", NL_UPDATE_SET_STATISTICS, "statistics"},
    {"remove-statistics", NL_UPDATE_REMOVE_STATISTICS, "snapshot-id"},
    {"set-partition-statistics", NL_UPDATE_SET_PARTITION_STATISTICS, "partition-statistics"},
    {"remove-partition-statistics", NL_UPDATE_REMOVE_PARTITION_STATISTICS, "snapshot-id"},
    {"remove-partition-specs", NL_UPDATE_REMOVE_PARTITION_SPECS, "spec-ids"},
    {"remove-schemas", NL_UPDATE_REMOVE_SCHEMAS, "schema-ids"},
    {"add-encryption-key", NL_UPDATE_ADD_ENCRYPTION_KEY, "encryption-key"},
    {"remove-encryption-key", NL_UPDATE_REMOVE_ENCRYPTION_KEY, "key-id"},
};

/* ---- Reading updates ---- */

static nl_status read_ref(nl_arena *arena, const json_t *json, nl_table_update *update)
{
    nl_str name = {0};
    nl_snapshot_ref *ref = NL_NEW(arena, nl_snapshot_ref);
    NL_TRY(nl_json_text(json, "ref-name", REQUEST, &name));
    NL_TRY(nl_snapshot_ref_from_json(arena, name, json, REQUEST, ref));
    update->ref = ref;
    return NULL;
}

static nl_status read_ids(nl_arena *arena, const json_t *json, nl_table_update *update)
{
    const json_t *array;
    NL_TRY(nl_json_array(json, "snapshot-ids", REQUEST, &array));
    const size_t count = json_array_size(array);
    int64_t *ids = NL_NEW_ARRAY(arena, int64_t, count + 1);
    NL_TRY(nl_arena_check(arena));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item)) return nl_json_corrupt(REQUEST, "snapshot-ids holds something that is no integer");
        ids[i] = json_integer_value(item);
    }
    update->snapshots.ids = ids;
    update->snapshots.count = (uint32_t)count;
    return NULL;
}

static nl_status read_set_properties(nl_arena *arena, const json_t *json, nl_table_update *update)
{
    const json_t *updates = json_object_get(json, "updates");
    if (!updates) updates = json_object_get(json, "updated"); /* what older clients send */
    if (!updates) return nl_json_corrupt(REQUEST, "the required key updates is missing");
    return nl_properties_from_json(arena, updates, "updates", REQUEST, &update->properties.items, &update->properties.count);
}

static nl_status read_remove_properties(nl_arena *arena, const json_t *json, nl_table_update *update)
{
    const json_t *array;
    NL_TRY(nl_json_optional_array(json, "removals", REQUEST, &array));
    if (!array) NL_TRY(nl_json_array(json, "removed", REQUEST, &array));
    const size_t count = json_array_size(array);
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, count + 1);
    NL_TRY(nl_arena_check(arena));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item)) return nl_json_corrupt(REQUEST, "removals holds something that is no string");
        items[i].key = nl_arena_str(arena, (nl_str){json_string_value(item), json_string_length(item)});
    }
    update->properties.items = items;
    update->properties.count = (uint32_t)count;
    return NULL;
}

static nl_status read_object(nl_arena *arena, const json_t *json, const action_row *row, nl_table_update *update)
{
    const json_t *value = json_object_get(json, row->key);
    if (!value || json_is_null(value)) return nl_json_corrupt(REQUEST, "the required key %s is missing", row->key);
    switch ((int)row->kind) {
    case NL_UPDATE_ADD_SCHEMA:
        update->add_schema.last_column_id = NL_NONE;
        NL_TRY(nl_json_optional_int32(json, "last-column-id", REQUEST, &update->add_schema.last_column_id));
        return nl_schema_from_json(arena, value, REQUEST, &update->add_schema.schema);
    case NL_UPDATE_ADD_SPEC: return nl_partition_spec_from_json(arena, value, REQUEST, &update->spec);
    case NL_UPDATE_ADD_SORT_ORDER: return nl_sort_order_from_json(arena, value, REQUEST, &update->sort_order);
    case NL_UPDATE_ADD_SNAPSHOT: {
        nl_snapshot *snapshot = NL_NEW(arena, nl_snapshot);
        update->snapshot = snapshot;
        return nl_snapshot_from_json(arena, value, REQUEST, snapshot);
    }
    case NL_UPDATE_SET_STATISTICS: {
        nl_statistics_file *file = NL_NEW(arena, nl_statistics_file);
        update->statistics = file;
        return nl_statistics_file_from_json(arena, value, REQUEST, file);
    }
    case NL_UPDATE_SET_PARTITION_STATISTICS: {
        nl_partition_statistics_file *file = NL_NEW(arena, nl_partition_statistics_file);
        update->partition_statistics = file;
        return nl_partition_statistics_file_from_json(arena, value, REQUEST, file);
    }
    default: /* add-encryption-key */
        NL_TRY(nl_json_object(value, REQUEST, row->key));
        update->encryption_key = nl_json_keep(arena, value);
        return NULL;
    }
}

static nl_status read_int_list(nl_arena *arena, const json_t *json, const char *key, nl_table_update *update)
{
    const json_t *array;
    NL_TRY(nl_json_array(json, key, REQUEST, &array));
    return nl_json_int32_list(arena, array, key, REQUEST, &update->ids.ids, &update->ids.count);
}

static nl_status read_text(nl_arena *arena, const json_t *json, const char *key, nl_table_update *update)
{
    NL_TRY(nl_json_text(json, key, REQUEST, &update->text));
    update->text = nl_arena_str(arena, update->text);
    return NULL;
}

static nl_status read_update(nl_arena *arena, const json_t *json, const action_row *row, nl_table_update *update)
{
    switch (row->kind) {
    case NL_UPDATE_ASSIGN_UUID:
    case NL_UPDATE_SET_LOCATION:
    case NL_UPDATE_REMOVE_SNAPSHOT_REF:
    case NL_UPDATE_REMOVE_ENCRYPTION_KEY: return read_text(arena, json, row->key, update);
    case NL_UPDATE_UPGRADE_FORMAT_VERSION:
    case NL_UPDATE_SET_CURRENT_SCHEMA:
    case NL_UPDATE_SET_DEFAULT_SPEC:
    case NL_UPDATE_SET_DEFAULT_SORT_ORDER: return nl_json_int32(json, row->key, REQUEST, &update->id);
    case NL_UPDATE_REMOVE_STATISTICS:
    case NL_UPDATE_REMOVE_PARTITION_STATISTICS: return nl_json_int64(json, row->key, REQUEST, &update->snapshot_id);
    case NL_UPDATE_SET_SNAPSHOT_REF: return read_ref(arena, json, update);
    case NL_UPDATE_REMOVE_SNAPSHOTS: return read_ids(arena, json, update);
    case NL_UPDATE_SET_PROPERTIES: return read_set_properties(arena, json, update);
    case NL_UPDATE_REMOVE_PROPERTIES: return read_remove_properties(arena, json, update);
    case NL_UPDATE_REMOVE_PARTITION_SPECS:
    case NL_UPDATE_REMOVE_SCHEMAS: return read_int_list(arena, json, row->key, update);
    case NL_UPDATE_ADD_SCHEMA:
    case NL_UPDATE_ADD_SPEC:
    case NL_UPDATE_ADD_SORT_ORDER:
    case NL_UPDATE_ADD_SNAPSHOT:
    case NL_UPDATE_SET_STATISTICS:
    case NL_UPDATE_SET_PARTITION_STATISTICS:
    case NL_UPDATE_ADD_ENCRYPTION_KEY: return read_object(arena, json, row, update);
    }
    return NULL;
}

nl_status nl_table_update_from_json(nl_arena *arena, const json_t *json, nl_table_update *update)
{
    nl_str action = {0};
    NL_TRY(nl_json_object(json, REQUEST, "an update"));
    NL_TRY(nl_json_text(json, "action", REQUEST, &action));
    for (size_t i = 0; i < NL_COUNT(actions); i++) {
        if (!nl_str_is_nocase(action, actions[i].name)) continue;
        nl_table_update made = {.kind = actions[i].kind};
        NL_TRY(read_update(arena, json, &actions[i], &made));
        *update = made;
        return nl_arena_check(arena);
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot convert metadata update action from json: " NL_STR_FMT, NL_STR_ARG(action));
}

/* ---- Writing updates ---- */

static void write_int_list(nl_json_writer *json, const nl_table_update *update)
{
    nl_json_begin(json, '[');
    if (update->kind == NL_UPDATE_REMOVE_SNAPSHOTS) {
        for (uint32_t i = 0; i < update->snapshots.count; i++)
            nl_json_write_int(json, update->snapshots.ids[i]);
    } else {
        for (uint32_t i = 0; i < update->ids.count; i++)
            nl_json_write_int(json, update->ids.ids[i]);
    }
    nl_json_end(json, ']');
}

static void write_properties(nl_json_writer *json, const nl_table_update *update)
{
    const bool is_set = update->kind == NL_UPDATE_SET_PROPERTIES;
    nl_json_begin(json, is_set ? '{' : '[');
    for (uint32_t i = 0; i < update->properties.count; i++) {
        if (is_set) nl_json_key_str(json, update->properties.items[i].key);
        nl_json_write_text(json, is_set ? update->properties.items[i].value : update->properties.items[i].key);
    }
    nl_json_end(json, is_set ? '}' : ']');
}

static void write_ref(nl_json_writer *json, const nl_snapshot_ref *ref)
{
    nl_json_write_text(json, ref->name);
    nl_json_key(json, "snapshot-id");
    nl_json_write_int(json, ref->snapshot_id);
    nl_json_key(json, "type");
    nl_json_write_text(json, ref->is_tag ? NL_STR("tag") : NL_STR("branch"));
    const struct {
        const char *key;
        int64_t value;
    } optional[] = {{"min-snapshots-to-keep", ref->min_snapshots_to_keep},
                    {"max-snapshot-age-ms", ref->max_snapshot_age_ms},
                    {"max-ref-age-ms", ref->max_ref_age_ms}};
    for (size_t i = 0; i < NL_COUNT(optional); i++) {
        if (optional[i].value == NL_NONE) continue;
        nl_json_key(json, optional[i].key);
        nl_json_write_int(json, optional[i].value);
    }
}

static void write_value(nl_json_writer *json, const nl_table_update *update)
{
    switch (update->kind) {
    case NL_UPDATE_ASSIGN_UUID:
    case NL_UPDATE_SET_LOCATION:
    case NL_UPDATE_REMOVE_SNAPSHOT_REF:
    case NL_UPDATE_REMOVE_ENCRYPTION_KEY: nl_json_write_text(json, update->text); return;
    case NL_UPDATE_UPGRADE_FORMAT_VERSION:
    case NL_UPDATE_SET_CURRENT_SCHEMA:
    case NL_UPDATE_SET_DEFAULT_SPEC:
    case NL_UPDATE_SET_DEFAULT_SORT_ORDER: nl_json_write_int(json, update->id); return;
    case NL_UPDATE_REMOVE_STATISTICS:
    case NL_UPDATE_REMOVE_PARTITION_STATISTICS: nl_json_write_int(json, update->snapshot_id); return;
    case NL_UPDATE_SET_SNAPSHOT_REF: write_ref(json, update->ref); return;
    case NL_UPDATE_REMOVE_SNAPSHOTS:
    case NL_UPDATE_REMOVE_PARTITION_SPECS:
    case NL_UPDATE_REMOVE_SCHEMAS: write_int_list(json, update); return;
    case NL_UPDATE_SET_PROPERTIES:
    case NL_UPDATE_REMOVE_PROPERTIES: write_properties(json, update); return;
    case NL_UPDATE_ADD_ENCRYPTION_KEY: nl_json_write_json(json, update->encryption_key); return;
    case NL_UPDATE_ADD_SCHEMA: nl_schema_append_json(update->add_schema.schema, json->out); break;
    case NL_UPDATE_ADD_SPEC: nl_partition_spec_append_json(update->spec, json->out); break;
    case NL_UPDATE_ADD_SORT_ORDER: nl_sort_order_append_json(update->sort_order, json->out); break;
    case NL_UPDATE_ADD_SNAPSHOT: nl_snapshot_append_json(update->snapshot, json->out); break;
    case NL_UPDATE_SET_STATISTICS: nl_statistics_file_append_json(update->statistics, json->out); break;
    case NL_UPDATE_SET_PARTITION_STATISTICS: nl_partition_statistics_file_append_json(update->partition_statistics, json->out); break;
    }
    nl_json_after_value(json);
}

void nl_table_update_append_json(const nl_table_update *update, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    const action_row *row = &actions[update->kind]; /* the table is in the order of the enumeration */
    NL_ASSERT(row->kind == update->kind);
    nl_json_begin(&json, '{');
    nl_json_key(&json, "action");
    nl_json_write_text(&json, nl_str_from(row->name));
    if (update->kind == NL_UPDATE_SET_STATISTICS) { /* older readers want the id here too */
        nl_json_key(&json, "snapshot-id");
        nl_json_write_int(&json, update->statistics->snapshot_id);
    }
    nl_json_key(&json, row->key);
    write_value(&json, update);
    if (update->kind == NL_UPDATE_ADD_SCHEMA) {
        nl_json_key(&json, "last-column-id");
        nl_json_write_int(&json, update->add_schema.last_column_id == NL_NONE ? update->add_schema.schema->highest_field_id
                                                                              : update->add_schema.last_column_id);
    }
    nl_json_end(&json, '}');
}

/* ---- Requirements ---- */

static const struct requirement_row {
    const char *type;
    nl_requirement_kind kind;
    const char *key;
    const char *subject; /* of "Requirement failed: … changed" */
} requirements[] = {
    {"assert-create", NL_REQUIRE_CREATE, NULL, NULL},
    {"assert-table-uuid", NL_REQUIRE_UUID, "uuid", NULL},
    {"assert-ref-snapshot-id", NL_REQUIRE_REF_SNAPSHOT_ID, "snapshot-id", NULL},
    {"assert-last-assigned-field-id", NL_REQUIRE_LAST_COLUMN_ID, "last-assigned-field-id", "last assigned field id"},
    {"assert-current-schema-id", NL_REQUIRE_CURRENT_SCHEMA_ID, "current-schema-id", "current schema"},
    {"assert-last-assigned-partition-id", NL_REQUIRE_LAST_PARTITION_ID, "last-assigned-partition-id", "last assigned partition id"},
    {"assert-default-spec-id", NL_REQUIRE_DEFAULT_SPEC_ID, "default-spec-id", "default partition spec"},
    {"assert-default-sort-order-id", NL_REQUIRE_DEFAULT_SORT_ORDER_ID, "default-sort-order-id", "default sort order"},
};

static nl_status check_ref(const nl_table_requirement *requirement, const nl_table_metadata *base)
{
    const nl_snapshot_ref *ref = base ? nl_table_ref(base, requirement->text) : NULL;
    if (!ref && requirement->number == NL_NONE) return NULL;
    if (!ref)
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: branch or tag " NL_STR_FMT " is missing, expected %lld",
                             NL_STR_ARG(requirement->text), (long long)requirement->number);
    const char *type = ref->is_tag ? "tag" : "branch";
    if (requirement->number == NL_NONE)
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: %s " NL_STR_FMT " was created concurrently", type,
                             NL_STR_ARG(requirement->text));
    if (ref->snapshot_id != requirement->number)
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: %s " NL_STR_FMT " has changed: expected id %lld != %lld", type,
                             NL_STR_ARG(requirement->text), (long long)requirement->number, (long long)ref->snapshot_id);
    return NULL;
}

static int64_t present_number(nl_requirement_kind kind, const nl_table_metadata *base)
{
    switch ((int)kind) {
    case NL_REQUIRE_LAST_COLUMN_ID: return base->last_column_id;
    case NL_REQUIRE_CURRENT_SCHEMA_ID: return base->current_schema_id;
    case NL_REQUIRE_LAST_PARTITION_ID: return base->last_partition_id;
    case NL_REQUIRE_DEFAULT_SPEC_ID: return base->default_spec_id;
    default: return base->default_sort_order_id;
    }
}

nl_status nl_table_requirement_check(const nl_table_requirement *requirement, const nl_table_metadata *base)
{
    if (requirement->kind == NL_REQUIRE_CREATE)
        return base ? NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: table already exists") : NULL;
    if (requirement->kind == NL_REQUIRE_REF_SNAPSHOT_ID) return check_ref(requirement, base);
    if (!base) return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: current table metadata is missing");
    if (requirement->kind == NL_REQUIRE_UUID) {
        if (nl_str_equal_nocase(requirement->text, base->uuid)) return NULL;
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: UUID does not match: expected " NL_STR_FMT " != " NL_STR_FMT,
                             NL_STR_ARG(base->uuid), NL_STR_ARG(requirement->text));
    }
    const int64_t present = present_number(requirement->kind, base);
    if (present == requirement->number) return NULL;
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: %s changed: expected id %lld != %lld", requirements[requirement->kind].subject,
                         (long long)requirement->number, (long long)present);
}

nl_status nl_table_requirement_from_json(nl_arena *arena, const json_t *json, nl_table_requirement *requirement)
{
    nl_str type = {0};
    NL_TRY(nl_json_object(json, REQUEST, "a requirement"));
    NL_TRY(nl_json_text(json, "type", REQUEST, &type));
    for (size_t i = 0; i < NL_COUNT(requirements); i++) {
        if (!nl_str_is_nocase(type, requirements[i].type)) continue;
        nl_table_requirement made = {.kind = requirements[i].kind, .number = NL_NONE};
        if (made.kind == NL_REQUIRE_UUID) NL_TRY(nl_json_text(json, "uuid", REQUEST, &made.text));
        if (made.kind == NL_REQUIRE_REF_SNAPSHOT_ID) {
            NL_TRY(nl_json_text(json, "ref", REQUEST, &made.text));
            NL_TRY(nl_json_optional_int64(json, "snapshot-id", REQUEST, &made.number)); /* null: must not exist */
        } else if (requirements[i].subject) {
            NL_TRY(nl_json_int64(json, requirements[i].key, REQUEST, &made.number));
        }
        made.text = nl_arena_str(arena, made.text);
        *requirement = made;
        return nl_arena_check(arena);
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot convert update requirement from json. Unrecognized type: " NL_STR_FMT, NL_STR_ARG(type));
}

void nl_table_requirement_append_json(const nl_table_requirement *requirement, nl_builder *out)
{
    const struct requirement_row *row = &requirements[requirement->kind];
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "type");
    nl_json_write_text(&json, nl_str_from(row->type));
    if (requirement->kind == NL_REQUIRE_REF_SNAPSHOT_ID) {
        nl_json_key(&json, "ref");
        nl_json_write_text(&json, requirement->text);
    }
    if (row->key) {
        nl_json_key(&json, row->key);
        if (requirement->kind == NL_REQUIRE_UUID) nl_json_write_text(&json, requirement->text);
        else if (requirement->kind == NL_REQUIRE_REF_SNAPSHOT_ID && requirement->number == NL_NONE) nl_json_write_null(&json);
        else nl_json_write_int(&json, requirement->number);
    }
    nl_json_end(&json, '}');
}

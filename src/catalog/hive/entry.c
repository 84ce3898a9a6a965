/* catalog/hive/entry.c - see entry.h. */
#include "catalog/hive/entry.h"

#include "base/calendar.h"
#include "base/json.h"
#include "base/log.h"
#include "catalog/hive_type.h"

#define TYPE_BYTES_MAX  (1u << 20)
#define TEXT_BYTES_MAX  (16u << 20)
#define STORAGE_HANDLER "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"

bool nl_hive_is_table(const nl_wire_value *entry)
{
    return entry && nl_str_is_nocase(nl_hms_parameter(entry, NL_HMS_TABLE_TYPE_KEY), "iceberg");
}

bool nl_hive_is_view(const nl_wire_value *entry)
{
    return entry && nl_str_is_nocase(nl_wire_text(entry, NL_HMS_TABLE_TYPE), "VIRTUAL_VIEW") &&
           nl_str_is_nocase(nl_hms_parameter(entry, NL_HMS_TABLE_TYPE_KEY), "iceberg-view");
}

bool nl_hive_is_for_hive(const nl_hive_options *options, const nl_table_metadata *table)
{
    return nl_table_property_bool(table, "engine.hive.enabled", options->is_for_hive);
}

bool nl_hive_locks(const nl_hive_options *options, const nl_table_metadata *table)
{
    return table ? nl_table_property_bool(table, "engine.hive.lock-enabled", options->locks) : options->locks;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static bool is_known_to_hive(nl_ice_type_id id)
{
    switch (id) {
    case NL_ICE_TIMESTAMP_NS:
    case NL_ICE_TIMESTAMPTZ_NS:
    case NL_ICE_UNKNOWN:
    case NL_ICE_VARIANT:
    case NL_ICE_GEOMETRY:
    case NL_ICE_GEOGRAPHY:
        return false;
    case NL_ICE_BOOLEAN:
    case NL_ICE_INT:
    case NL_ICE_LONG:
    case NL_ICE_FLOAT:
    case NL_ICE_DOUBLE:
    case NL_ICE_DECIMAL:
    case NL_ICE_DATE:
    case NL_ICE_TIME:
    case NL_ICE_STRING:
    case NL_ICE_UUID:
    case NL_ICE_TIMESTAMP:
    case NL_ICE_TIMESTAMPTZ: /* "timestamp with local time zone" since Hive 3; Spark has Hive 2.3 in it and writes timestamp */
    case NL_ICE_FIXED:
    case NL_ICE_BINARY:
    case NL_ICE_STRUCT:
    case NL_ICE_LIST:
    case NL_ICE_MAP:
        break;
    }
    return true;
}

static nl_status check_type(const nl_ice_type *type)
{
    if (!is_known_to_hive(type->id)) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_str name = nl_ice_type_name(arena, type);
        nl_status status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, NL_STR_FMT " is not supported: the Hive metastore has no such type", NL_STR_ARG(name));
        nl_arena_free(arena);
        return status;
    }
    for (uint32_t i = 0; nl_ice_type_is_nested(type) && i < type->field_count; i++) NL_TRY(check_type(type->fields[i].type));
    return NULL;
}

nl_status nl_hive_append_type(const nl_ice_type *type, nl_builder *out)
{
    NL_TRY(check_type(type));
    nl_append_hive_type(type, out);
    return NULL;
}

static nl_status columns_of(nl_arena *arena, const nl_schema *schema, nl_wire_value *columns)
{
    nl_builder type;
    nl_builder_init(&type, TYPE_BYTES_MAX);
    nl_status status = NULL;
    *columns = nl_wire_list(NL_WIRE_STRUCT);
    for (uint32_t i = 0; !status && i < schema->root->field_count; i++) {
        const nl_ice_field *field = &schema->root->fields[i];
        nl_wire_value column = nl_wire_struct();
        nl_builder_clear(&type);
        status = nl_hive_append_type(field->type, &type);
        nl_wire_set_text(arena, &column, NL_HMS_COLUMN_NAME, field->name);
        nl_wire_set_text(arena, &column, NL_HMS_COLUMN_TYPE, nl_arena_str(arena, nl_builder_str(&type)));
        if (field->doc.length > 0) nl_wire_set_text(arena, &column, NL_HMS_COLUMN_COMMENT, field->doc);
        nl_wire_add(arena, columns, column);
    }
    if (!status && nl_builder_failed(&type)) status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A type is longer than the Hive metastore can be told");
    nl_builder_fini(&type);
    return status;
}

static nl_status set_storage(nl_arena *arena, const nl_schema *schema, nl_str location, bool is_for_hive, nl_wire_value *entry)
{
    nl_wire_value storage = nl_wire_struct(), serde = nl_wire_struct(), columns;
    NL_TRY(columns_of(arena, schema, &columns));
    nl_wire_set_text(arena, &serde, NL_HMS_SERDE_LIBRARY,
                       is_for_hive ? NL_STR("org.apache.iceberg.mr.hive.HiveIcebergSerDe") : NL_STR("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"));
    nl_wire_set(arena, &storage, NL_HMS_STORAGE_COLUMNS, columns);
    nl_wire_set_text(arena, &storage, NL_HMS_STORAGE_LOCATION, location);
    nl_wire_set_text(arena, &storage, NL_HMS_STORAGE_INPUT,
                       is_for_hive ? NL_STR("org.apache.iceberg.mr.hive.HiveIcebergInputFormat") : NL_STR("org.apache.hadoop.mapred.FileInputFormat"));
    nl_wire_set_text(arena, &storage, NL_HMS_STORAGE_OUTPUT,
                       is_for_hive ? NL_STR("org.apache.iceberg.mr.hive.HiveIcebergOutputFormat") : NL_STR("org.apache.hadoop.mapred.FileOutputFormat"));
    nl_wire_set_number(arena, &storage, NL_HMS_STORAGE_COMPRESSED, NL_WIRE_BOOL, false);
    nl_wire_set_number(arena, &storage, NL_HMS_STORAGE_BUCKETS, NL_WIRE_I32, 0);
    nl_wire_set(arena, &storage, NL_HMS_STORAGE_SERDE, serde);
    nl_wire_set(arena, entry, NL_HMS_TABLE_STORAGE, storage);
    return NULL;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

typedef struct parameters {
    nl_arena *arena;
    nl_wire_value *map;
    int64_t size_max;
} parameters;

static void put(parameters *self, const char *key, nl_str value)
{
    nl_wire_put(self->arena, self->map, nl_str_from(key), value);
}

static void put_number(parameters *self, const char *key, int64_t value)
{
    put(self, key, nl_arena_f(self->arena, "%lld", (long long)value));
}

static void drop(parameters *self, const char *key)
{
    nl_wire_remove(self->map, nl_str_from(key));
}

/* What Java calls a text's length. */
static int64_t utf16_length(nl_str text)
{
    int64_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        const uint8_t byte = (uint8_t)text.data[i];
        length += (byte & 0xc0) == 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
    }
    return length;
}

/* Takes the builder's text, when the metastore's column has room for it. */
static void put_built(parameters *self, const char *key, nl_builder *text)
{
    const nl_str value = nl_builder_str(text);
    if (!nl_builder_failed(text) && utf16_length(value) <= self->size_max) put(self, key, nl_arena_str(self->arena, value));
    else nl_log(NL_LOG_WARN, "%s is not shown in the Hive metastore since it exceeds %lld characters", key, (long long)self->size_max);
    nl_builder_fini(text);
}

static void put_schema(parameters *self, const nl_schema *schema)
{
    nl_builder text;
    drop(self, "current-schema");
    if (self->size_max <= 0) return;
    nl_builder_init(&text, TEXT_BYTES_MAX);
    nl_schema_append_json(schema, &text);
    put_built(self, "current-schema", &text);
}

static void put_properties(parameters *self, const nl_property *properties, uint32_t count, bool is_view)
{
    for (uint32_t i = 0; i < count; i++) {
        if (nl_str_is_nocase(properties[i].key, NL_HIVE_OWNER_KEY)) continue;
        const bool is_translated = !is_view && nl_str_is(properties[i].key, "gc.enabled");
        nl_wire_put(self->arena, self->map, is_translated ? NL_STR("external.table.purge") : properties[i].key, properties[i].value);
    }
}

/* Those of the base that the new metadata no longer has. */
static void drop_properties(parameters *self, const nl_property *base, uint32_t base_count, const nl_property *properties, uint32_t count)
{
    for (uint32_t i = 0; i < base_count; i++) {
        bool is_there = false;
        for (uint32_t j = 0; j < count && !is_there; j++) is_there = nl_str_equal(base[i].key, properties[j].key);
        if (!is_there) nl_wire_remove(self->map, base[i].key);
    }
}

static void put_location(parameters *self, const nl_hive_content *content, const char *type, nl_str uuid)
{
    if (uuid.length > 0) put(self, "uuid", uuid);
    put(self, NL_HMS_TABLE_TYPE_KEY, nl_str_from(type));
    put(self, NL_HMS_METADATA_LOCATION_KEY, content->next);
    if (content->previous.length > 0) put(self, NL_HMS_PREVIOUS_LOCATION_KEY, content->previous);
}

static void put_summary(parameters *self, const nl_snapshot *snapshot)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_BYTES_MAX);
    nl_json_writer out = {.out = &text};
    nl_json_begin(&out, '{');
    for (uint32_t i = 0; i < snapshot->summary_count; i++) {
        nl_json_key_str(&out, snapshot->summary[i].key);
        nl_json_write_text(&out, snapshot->summary[i].value);
    }
    nl_json_end(&out, '}');
    put_built(self, "current-snapshot-summary", &text);
}

static void put_snapshot(parameters *self, const nl_table_metadata *metadata)
{
    static const char *const statistics[][2] = {{"total-data-files", "numFiles"}, {"total-records", "numRows"}, {"total-files-size", "totalSize"}};
    const nl_snapshot *snapshot = nl_table_current_snapshot(metadata);
    for (size_t i = 0; snapshot && i < NL_COUNT(statistics); i++) {
        const nl_str value = nl_snapshot_summary(snapshot, statistics[i][0]);
        if (value.data) put(self, statistics[i][1], value);
    }
    drop(self, "current-snapshot-id");
    drop(self, "current-snapshot-timestamp-ms");
    drop(self, "current-snapshot-summary");
    if (self->size_max > 0 && snapshot) {
        put_number(self, "current-snapshot-id", snapshot->snapshot_id);
        put_number(self, "current-snapshot-timestamp-ms", snapshot->timestamp_ms);
        put_summary(self, snapshot);
    }
    put_number(self, "snapshot-count", metadata->snapshot_count);
}

static void put_layout(parameters *self, const nl_table_metadata *metadata)
{
    const nl_partition_spec *spec = nl_table_spec(metadata);
    const nl_sort_order *order = nl_table_sort_order(metadata);
    nl_builder text;
    drop(self, "default-partition-spec");
    drop(self, "default-sort-order");
    if (self->size_max > 0 && spec && !nl_partition_spec_is_unpartitioned(spec)) {
        nl_builder_init(&text, TEXT_BYTES_MAX);
        nl_partition_spec_append_json(spec, &text);
        put_built(self, "default-partition-spec", &text);
    }
    if (self->size_max > 0 && order && order->field_count > 0) {
        nl_builder_init(&text, TEXT_BYTES_MAX);
        nl_sort_order_append_json(order, &text);
        put_built(self, "default-sort-order", &text);
    }
}

static void put_table(parameters *self, const nl_hive_options *options, const nl_hive_content *content)
{
    const nl_table_metadata *table = content->table, *base = content->table_base;
    put_properties(self, table->properties, table->property_count, false);
    if (base) drop_properties(self, base->properties, base->property_count, table->properties, table->property_count);
    put_location(self, content, "ICEBERG", table->uuid);
    put_schema(self, nl_table_schema(table));
    if (nl_hive_is_for_hive(options, table)) put(self, "storage_handler", NL_STR(STORAGE_HANDLER));
    else drop(self, "storage_handler");
    put_snapshot(self, table);
    put_layout(self, table);
    if (options->keeps_statistics) return;
    drop(self, "COLUMN_STATS_ACCURATE");
    put(self, "DO_NOT_UPDATE_STATS", NL_STR("true"));
}

static void put_view(parameters *self, const nl_hive_content *content)
{
    const nl_view_metadata *view = content->view, *base = content->view_base;
    put_properties(self, view->properties, view->property_count, true);
    if (base) drop_properties(self, base->properties, base->property_count, view->properties, view->property_count);
    put_location(self, content, "ICEBERG-VIEW", view->uuid);
    put_schema(self, nl_view_schema(view));
}

nl_status nl_hive_entry_update(nl_arena *arena, const nl_hive_options *options, const nl_hive_content *content, nl_wire_value *entry)
{
    const nl_table_metadata *table = content->table;
    const nl_schema *schema = table ? nl_table_schema(table) : nl_view_schema(content->view);
    NL_TRY(set_storage(arena, schema, table ? table->location : content->view->location, table && nl_hive_is_for_hive(options, table), entry));
    if (!nl_wire_field(entry, NL_HMS_TABLE_PARAMETERS, NL_WIRE_MAP)) nl_wire_set(arena, entry, NL_HMS_TABLE_PARAMETERS, nl_wire_text_map());
    parameters self = {arena, nl_wire_field(entry, NL_HMS_TABLE_PARAMETERS, NL_WIRE_MAP), options->property_size_max};
    if (table) put_table(&self, options, content);
    else put_view(&self, content);
    return nl_arena_check(arena);
}

/* ---- new entries ------------------------------------------------------------------------------------------------- */

/* The text for Hive when there is one, else the first. */
static nl_str view_text(const nl_view_metadata *view)
{
    const nl_view_representation *ours = nl_view_representation_of(view, NL_STR("hive"));
    const nl_view_version *version = nl_view_current_version(view);
    if (!ours && version && version->representation_count > 0) ours = &version->representations[0];
    return ours ? ours->sql : NL_STR("");
}

nl_wire_value nl_hive_entry_new(nl_arena *arena, const nl_hive_options *options, nl_str database, nl_str name, const nl_hive_content *content)
{
    nl_wire_value entry = nl_wire_struct(), map = nl_wire_text_map();
    const int32_t now = (int32_t)(nl_now_micros() / 1000000);
    nl_str owner = content->table ? nl_table_property(content->table, NL_HIVE_OWNER_KEY, NULL) : nl_view_property(content->view, NL_HIVE_OWNER_KEY);
    if (!owner.data) owner = options->user;
    nl_wire_set_text(arena, &entry, NL_HMS_TABLE_NAME, name);
    nl_wire_set_text(arena, &entry, NL_HMS_TABLE_DATABASE, database);
    nl_wire_set_text(arena, &entry, NL_HMS_TABLE_OWNER, owner);
    nl_wire_set_number(arena, &entry, NL_HMS_TABLE_CREATED, NL_WIRE_I32, now);
    nl_wire_set_number(arena, &entry, NL_HMS_TABLE_ACCESSED, NL_WIRE_I32, now);
    nl_wire_set_number(arena, &entry, NL_HMS_TABLE_RETENTION, NL_WIRE_I32, INT32_MAX);
    nl_wire_set(arena, &entry, NL_HMS_TABLE_PARTITION_KEYS, nl_wire_list(NL_WIRE_STRUCT));
    if (content->table) nl_wire_put(arena, &map, NL_STR("EXTERNAL"), NL_STR("TRUE")); /* so that Hive leaves the files alone */
    nl_wire_set(arena, &entry, NL_HMS_TABLE_PARAMETERS, map);
    if (content->view) {
        nl_wire_set_text(arena, &entry, NL_HMS_TABLE_VIEW_TEXT, view_text(content->view));
        nl_wire_set_text(arena, &entry, NL_HMS_TABLE_VIEW_EXPANDED, view_text(content->view));
    }
    nl_wire_set_text(arena, &entry, NL_HMS_TABLE_TYPE, content->table ? NL_STR("EXTERNAL_TABLE") : NL_STR("VIRTUAL_VIEW"));
    return entry;
}

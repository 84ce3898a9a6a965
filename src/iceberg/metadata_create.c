/* iceberg/metadata_create.c - metadata of new and replaced tables, as Java's TableMetadata.newTableMetadata and
 * buildReplacement make them. */
#include "iceberg/metadata_update.h"

#include "base/number.h"

/* Keys that stand for something else and are never stored. */
static bool is_reserved(nl_str key)
{
    static const char *const reserved[] = {"format-version",      "uuid",           "snapshot-count",         "current-snapshot-summary", "current-snapshot-id",
                                           "current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order"};
    for (size_t i = 0; i < NL_COUNT(reserved); i++)
        if (nl_str_is(key, reserved[i])) return true;
    return false;
}

static nl_status wanted_version(const nl_table_creation *creation, int32_t fallback, int32_t *version)
{
    *version = fallback;
    for (uint32_t i = 0; i < creation->property_count; i++) {
        int64_t number;
        if (!nl_str_is(creation->properties[i].key, "format-version")) continue;
        if (!nl_parse_int64(creation->properties[i].value, &number) || number < 1 || number > NL_FORMAT_VERSION_MAX)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unsupported format version: v" NL_STR_FMT " (supported: v%d)",
                                 NL_STR_ARG(creation->properties[i].value), NL_FORMAT_VERSION_MAX);
        *version = (int32_t)number;
    }
    return NULL;
}

/* New tables say which codec they use: without the property, readers of the default fall back to gzip. */
static nl_status apply_properties(nl_metadata_builder *builder, const nl_table_creation *creation)
{
    const nl_property codec = {NL_STR("write.parquet.compression-codec"), NL_STR("zstd")};
    NL_TRY(nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&codec, 1}}));
    for (uint32_t i = 0; i < creation->property_count; i++) {
        if (is_reserved(creation->properties[i].key)) continue;
        NL_TRY(nl_metadata_builder_apply(builder,
                                         &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&creation->properties[i], 1}}));
    }
    return NULL;
}

/* What `creation` says in terms of fresh column ids. */
typedef struct fresh_table {
    const nl_schema *schema;
    int32_t last_column_id;
    const nl_partition_spec *spec;
    const nl_sort_order *sort_order;
} fresh_table;

static nl_status fresh_column_id(const nl_schema *old_schema, const nl_schema *new_schema, int32_t old_id, int32_t *new_id)
{
    const nl_schema_column *old_column = nl_schema_find_id(old_schema, old_id);
    const nl_schema_column *new_column = old_column ? nl_schema_find_name(new_schema, old_column->full_name, true) : NULL;
    if (!new_column) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find source column with id: %d", old_id);
    *new_id = new_column->field->id;
    return NULL;
}

static nl_status fresh_schema(nl_arena *arena, const nl_table_creation *creation, const nl_table_metadata *base, fresh_table *fresh)
{
    const nl_schema *old_schema = creation->schema;
    const nl_ice_type *root;
    int32_t last_id = base ? base->last_column_id : 0;
    NL_TRY(nl_schema_assign_fresh_ids(arena, old_schema->root, base ? nl_table_schema(base) : NULL, &last_id, &root));
    const nl_schema *without_identifiers;
    NL_TRY(nl_schema_new(arena, 0, root, NULL, 0, &without_identifiers));
    int32_t *identifiers = NL_NEW_ARRAY(arena, int32_t, (size_t)old_schema->identifier_count + 1);
    for (uint32_t i = 0; i < old_schema->identifier_count; i++)
        NL_TRY(fresh_column_id(old_schema, without_identifiers, old_schema->identifier_ids[i], &identifiers[i]));
    fresh->last_column_id = last_id;
    return nl_schema_new(arena, 0, root, identifiers, old_schema->identifier_count, &fresh->schema);
}

/* A field that some spec of the replaced table had keeps its id (v2 and later). */
static int32_t known_field_id(const nl_table_metadata *base, const nl_partition_field *field)
{
    for (uint32_t i = 0; base && base->format_version > 1 && i < base->spec_count; i++)
        for (uint32_t k = 0; k < base->specs[i]->field_count; k++) {
            const nl_partition_field *known = &base->specs[i]->fields[k];
            if (known->source_id == field->source_id && nl_transform_equal(&known->transform, &field->transform)) return known->field_id;
        }
    return 0;
}

static nl_status fresh_spec(nl_arena *arena, const nl_table_creation *creation, const nl_table_metadata *base, fresh_table *fresh)
{
    const uint32_t count = creation->spec ? creation->spec->field_count : 0;
    nl_partition_field *fields = NL_NEW_ARRAY(arena, nl_partition_field, (size_t)count + 1);
    int32_t last_id = base ? base->last_partition_id : NL_PARTITION_FIELD_ID_START - 1;
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = creation->spec->fields[i];
        int32_t *ids = NL_NEW_ARRAY(arena, int32_t, (size_t)fields[i].source_count + 1);
        for (uint32_t k = 0; k < fields[i].source_count; k++)
            NL_TRY(fresh_column_id(creation->schema, fresh->schema, creation->spec->fields[i].source_ids[k], &ids[k]));
        if (!fields[i].source_count) NL_TRY(fresh_column_id(creation->schema, fresh->schema, fields[i].source_id, &ids[0]));
        fields[i].source_ids = ids;
        fields[i].source_count = NL_MAX(fields[i].source_count, 1);
        fields[i].source_id = ids[0];
        fields[i].field_id = known_field_id(base, &fields[i]);
        if (!fields[i].field_id) fields[i].field_id = ++last_id;
    }
    nl_partition_spec *spec = NL_NEW(arena, nl_partition_spec);
    *spec = (nl_partition_spec){.field_count = count, .fields = fields};
    fresh->spec = spec;
    return NULL;
}

static nl_partition_field *take_field(nl_partition_field *fields, bool *is_taken, uint32_t count, const nl_partition_field *wanted)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_taken[i] || fields[i].source_id != wanted->source_id || !nl_transform_equal(&fields[i].transform, &wanted->transform)) continue;
        is_taken[i] = true;
        return &fields[i];
    }
    return NULL;
}

/* v1 has no field ids in its manifests: every old field stays in its place, void when the new spec lacks it. */
static nl_status keep_v1_fields(nl_arena *arena, const nl_table_metadata *base, fresh_table *fresh)
{
    const nl_partition_spec *old_spec = nl_table_spec(base);
    const uint32_t new_count = fresh->spec->field_count;
    nl_partition_field *new_fields = (nl_partition_field *)(uintptr_t)fresh->spec->fields;
    bool *is_taken = NL_NEW_ARRAY(arena, bool, (size_t)new_count + 1);
    nl_partition_field *fields = NL_NEW_ARRAY(arena, nl_partition_field, (size_t)old_spec->field_count + new_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old_spec->field_count; i++) {
        const nl_partition_field *old_field = &old_spec->fields[i];
        const nl_partition_field *carried = take_field(new_fields, is_taken, new_count, old_field);
        fields[count] = carried ? *carried : *old_field;
        fields[count].field_id = old_field->field_id;
        if (!carried) {
            fields[count].transform = (nl_transform){.kind = NL_TRANSFORM_VOID};
            for (uint32_t k = 0; k < new_count; k++)
                if (nl_str_equal(new_fields[k].name, old_field->name))
                    fields[count].name = nl_arena_f(arena, NL_STR_FMT "_%d", NL_STR_ARG(old_field->name), old_field->field_id);
        }
        count++;
    }
    int32_t last_id = base->last_partition_id;
    for (uint32_t i = 0; i < new_count; i++) {
        if (is_taken[i]) continue;
        fields[count] = new_fields[i];
        fields[count++].field_id = ++last_id;
    }
    nl_partition_spec *spec = NL_NEW(arena, nl_partition_spec);
    *spec = (nl_partition_spec){.field_count = count, .fields = fields};
    fresh->spec = spec;
    return nl_arena_check(arena);
}

static nl_status fresh_order(nl_arena *arena, const nl_table_creation *creation, fresh_table *fresh)
{
    const uint32_t count = creation->sort_order ? creation->sort_order->field_count : 0;
    nl_sort_field *fields = NL_NEW_ARRAY(arena, nl_sort_field, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = creation->sort_order->fields[i];
        NL_TRY(fresh_column_id(creation->schema, fresh->schema, fields[i].source_id, &fields[i].source_id));
    }
    nl_sort_order *order = NL_NEW(arena, nl_sort_order);
    *order = (nl_sort_order){.field_count = count, .fields = fields};
    fresh->sort_order = order;
    return NULL;
}

static nl_status apply_fresh(nl_metadata_builder *builder, const fresh_table *fresh)
{
    const nl_table_update updates[] = {
        {.kind = NL_UPDATE_ADD_SCHEMA, .add_schema = {fresh->schema, fresh->last_column_id}},
        {.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED},
        {.kind = NL_UPDATE_ADD_SPEC, .spec = fresh->spec},
        {.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = NL_LAST_ADDED},
        {.kind = NL_UPDATE_ADD_SORT_ORDER, .sort_order = fresh->sort_order},
        {.kind = NL_UPDATE_SET_DEFAULT_SORT_ORDER, .id = NL_LAST_ADDED},
    };
    for (size_t i = 0; i < NL_COUNT(updates); i++)
        NL_TRY(nl_metadata_builder_apply(builder, &updates[i]));
    return NULL;
}

static nl_status build(nl_arena *arena, const nl_table_metadata *base, const nl_table_creation *creation, nl_metadata_builder *builder,
                       const nl_table_metadata **metadata)
{
    int32_t version;
    fresh_table fresh = {0};
    NL_TRY(wanted_version(creation, base ? base->format_version : NL_FORMAT_VERSION_DEFAULT, &version));
    NL_TRY(nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_UPGRADE_FORMAT_VERSION, .id = version}));
    if (base) nl_metadata_builder_reset_main(builder);
    NL_TRY(fresh_schema(arena, creation, base, &fresh));
    NL_TRY(fresh_spec(arena, creation, base, &fresh));
    if (base && version == 1) NL_TRY(keep_v1_fields(arena, base, &fresh));
    NL_TRY(fresh_order(arena, creation, &fresh));
    NL_TRY(apply_fresh(builder, &fresh));
    /* The unsorted order is always listed. */
    static const nl_sort_order unsorted = {0};
    if (!base && fresh.sort_order->field_count)
        NL_TRY(nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_ADD_SORT_ORDER, .sort_order = &unsorted}));
    if (creation->location.length)
        NL_TRY(nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_SET_LOCATION, .text = creation->location}));
    NL_TRY(apply_properties(builder, creation));
    return nl_metadata_builder_finish(builder, NL_NONE, metadata);
}

nl_status nl_table_metadata_create(const nl_table_creation *creation, nl_memory *memory, const nl_table_metadata **metadata)
{
    return nl_table_metadata_replace(NULL, creation, memory, metadata);
}

nl_status nl_table_metadata_replace(const nl_table_metadata *base, const nl_table_creation *creation, nl_memory *memory,
                                    const nl_table_metadata **metadata)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_metadata_builder *builder = nl_metadata_builder_new(base, memory);
    nl_status status = build(arena, base, creation, builder, metadata);
    nl_metadata_builder_free(builder);
    nl_arena_free(arena);
    return status;
}

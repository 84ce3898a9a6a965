/* lakehouse/s3tables/metadata.c - the metadata member of CreateTable: AWS's spelling of a schema, a partition spec and a
 * sort order, rewritten as Iceberg's own JSON and read by the readers that everything else uses. */
#include "lakehouse/s3tables/s3tables_private.h"

static bool is_value(const json_t *json)
{
    return json && !json_is_null(json);
}

/* A member by the name of the model, or by the one that goes over the wire. */
typedef struct member_row {
    const char *name, *wire_name;
    bool is_required;
} member_row;

static const json_t *member(const json_t *object, const member_row *row)
{
    const json_t *value = json_object_get(object, row->wire_name);
    return is_value(value) ? value : json_object_get(object, row->name);
}

/* Members as Iceberg spells them; rows end with a NULL name. */
static nl_status copy_members(nl_s3tables_call *call, nl_json_writer *json, const json_t *object, const member_row *rows, const char *what)
{
    for (; rows->name; rows++) {
        const json_t *value = member(object, rows);
        if (!is_value(value) && rows->is_required) return nl_s3tables_bad(call, "%s of %s is required", rows->name, what);
        if (!is_value(value)) continue;
        nl_json_key(json, rows->wire_name);
        nl_json_write_json(json, value);
    }
    return NULL;
}

/* Fields without an id get ids above all that were given. */
static int64_t highest_id(const json_t *fields)
{
    int64_t highest = 0;
    const json_t *field;
    size_t i;
    json_array_foreach(fields, i, field)
    {
        const json_t *id = json_object_get(field, "id");
        if (json_is_integer(id)) highest = NL_MAX(highest, json_integer_value(id));
    }
    return NL_MIN(highest, INT32_MAX);
}

static nl_status write_field(nl_s3tables_call *call, nl_json_writer *json, const json_t *field, int64_t free_id)
{
    static const member_row rows[] = {{"name", "name", true}, {"type", "type", true}, {"doc", "doc", false}, {NULL, NULL, false}};
    const json_t *id = json_object_get(field, "id");
    nl_json_begin(json, '{');
    nl_json_key(json, "id");
    nl_json_write_int(json, json_is_integer(id) ? json_integer_value(id) : free_id);
    NL_TRY(copy_members(call, json, field, rows, "a field of the schema"));
    nl_json_key(json, "required");
    nl_json_write_bool(json, json_is_true(json_object_get(field, "required")));
    nl_json_end(json, '}');
    return NULL;
}

static nl_status write_schema(nl_s3tables_call *call, nl_json_writer *json, const json_t *schema)
{
    const json_t *fields = json_object_get(schema, "fields");
    if (!json_is_array(fields) || json_array_size(fields) == 0) return nl_s3tables_bad(call, "The schema has no fields");
    nl_json_begin(json, '{');
    nl_json_key(json, "type");
    nl_json_write_text(json, NL_STR("struct"));
    nl_json_key(json, "schema-id");
    nl_json_write_int(json, 0);
    static const member_row rows[] = {{"identifierFieldIds", "identifier-field-ids", false}, {NULL, NULL, false}};
    NL_TRY(copy_members(call, json, schema, rows, "the schema"));
    nl_json_key(json, "fields");
    nl_json_begin(json, '[');
    const int64_t highest = highest_id(fields);
    for (size_t i = 0; i < json_array_size(fields); i++)
        NL_TRY(write_field(call, json, json_array_get(fields, i), highest + (int64_t)i + 1));
    nl_json_end(json, ']');
    nl_json_end(json, '}');
    return NULL;
}

static nl_status write_fields(nl_s3tables_call *call, nl_json_writer *json, const json_t *object, const member_row *rows, const char *what)
{
    const json_t *field;
    size_t i;
    const json_t *fields = json_object_get(object, "fields");
    if (!json_is_array(fields)) return nl_s3tables_bad(call, "fields of %s is required", what);
    nl_json_key(json, "fields");
    nl_json_begin(json, '[');
    json_array_foreach(fields, i, field)
    {
        nl_json_begin(json, '{');
        NL_TRY(copy_members(call, json, field, rows, what));
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
    return NULL;
}

static nl_status write_spec(nl_s3tables_call *call, nl_json_writer *json, const json_t *spec)
{
    static const member_row rows[] = {
        {"sourceId", "source-id", true}, {"transform", "transform", true}, {"name", "name", true}, {"fieldId", "field-id", false}, {NULL, NULL, false}};
    nl_json_begin(json, '{');
    nl_json_key(json, "spec-id");
    nl_json_write_int(json, 0);
    NL_TRY(write_fields(call, json, spec, rows, "the partition spec"));
    nl_json_end(json, '}');
    return NULL;
}

static nl_status write_order(nl_s3tables_call *call, nl_json_writer *json, const json_t *order)
{
    static const member_row rows[] = {
        {"sourceId", "source-id", true}, {"transform", "transform", true}, {"direction", "direction", true}, {"nullOrder", "null-order", true}, {NULL, NULL, false}};
    nl_json_begin(json, '{');
    nl_json_key(json, "order-id");
    nl_json_write_int(json, json_array_size(json_object_get(order, "fields")) ? 1 : 0);
    NL_TRY(write_fields(call, json, order, rows, "the write order"));
    nl_json_end(json, '}');
    return NULL;
}

static nl_status rewrite(nl_s3tables_call *call, const json_t *value, nl_status (*write)(nl_s3tables_call *, nl_json_writer *, const json_t *), const json_t **json)
{
    nl_builder text;
    nl_builder_init(&text, 32u << 20);
    nl_json_writer writer = {.out = &text};
    nl_status status = write(call, &writer, value);
    if (!status) status = nl_json_parse(call->arena, nl_arena_str(call->arena, nl_builder_str(&text)), NL_S3TABLES_BODY, json);
    nl_builder_fini(&text);
    return status;
}

nl_status nl_s3tables_read_metadata(nl_s3tables_call *call, const json_t *metadata, nl_table_creation *creation)
{
    const json_t *iceberg = json_object_get(metadata, "iceberg"), *json;
    const json_t *schema = json_object_get(iceberg, "schema"), *schema_v2 = json_object_get(iceberg, "schemaV2");
    const json_t *spec = json_object_get(iceberg, "partitionSpec"), *order = json_object_get(iceberg, "writeOrder");
    if (!json_is_object(iceberg)) return nl_s3tables_bad(call, "metadata holds iceberg");
    if (is_value(schema) == is_value(schema_v2)) return nl_s3tables_bad(call, "Either schema or schemaV2 is required");
    NL_TRY(rewrite(call, is_value(schema) ? schema : schema_v2, write_schema, &json));
    NL_TRY(nl_schema_from_json(call->arena, json, NL_S3TABLES_BODY, &creation->schema));
    if (is_value(spec)) {
        NL_TRY(rewrite(call, spec, write_spec, &json));
        NL_TRY(nl_partition_spec_from_json(call->arena, json, NL_S3TABLES_BODY, &creation->spec));
    }
    if (is_value(order)) {
        NL_TRY(rewrite(call, order, write_order, &json));
        NL_TRY(nl_sort_order_from_json(call->arena, json, NL_S3TABLES_BODY, &creation->sort_order));
    }
    return nl_properties_from_json(call->arena, json_object_get(iceberg, "properties"), "properties", NL_S3TABLES_BODY, &creation->properties,
                                   &creation->property_count);
}

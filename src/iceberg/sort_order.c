/* iceberg/sort_order.c - sort orders (spec: "Sorting", Appendix C). */
#include "iceberg/sort_order.h"

#include "base/json.h"

bool nl_sort_order_same_fields(const nl_sort_order *a, const nl_sort_order *b)
{
    if (a->field_count != b->field_count) return false;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const nl_sort_field *left = &a->fields[i];
        const nl_sort_field *right = &b->fields[i];
        if (left->source_id != right->source_id || left->is_descending != right->is_descending || left->nulls_last != right->nulls_last ||
            !nl_transform_equal(&left->transform, &right->transform))
            return false;
    }
    return true;
}

bool nl_sort_order_satisfies(const nl_sort_order *a, const nl_sort_order *b)
{
    if (b->field_count > a->field_count) return false;
    for (uint32_t i = 0; i < b->field_count; i++) {
        const nl_sort_field *left = &a->fields[i];
        const nl_sort_field *right = &b->fields[i];
        if (left->source_id != right->source_id || left->is_descending != right->is_descending || left->nulls_last != right->nulls_last ||
            !nl_transform_satisfies_order_of(&left->transform, &right->transform))
            return false;
    }
    return true;
}

const nl_sort_order *nl_sort_order_copy(nl_arena *arena, const nl_sort_order *order)
{
    nl_sort_order *copy = NL_NEW(arena, nl_sort_order);
    nl_sort_field *fields = NL_NEW_ARRAY(arena, nl_sort_field, (size_t)order->field_count + 1);
    for (uint32_t i = 0; i < order->field_count; i++) {
        fields[i] = order->fields[i];
        if (fields[i].transform.text.length) fields[i].transform.text = nl_arena_str(arena, fields[i].transform.text);
    }
    *copy = (nl_sort_order){.order_id = order->order_id, .field_count = order->field_count, .fields = fields};
    return copy;
}

nl_status nl_sort_order_check(nl_arena *arena, const nl_sort_order *order, const nl_schema *schema)
{
    for (uint32_t i = 0; i < order->field_count; i++) {
        const nl_sort_field *field = &order->fields[i];
        const nl_schema_column *source = nl_schema_find_id(schema, field->source_id);
        const nl_str transform = nl_transform_name(arena, &field->transform);
        if (!source)
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find source column for sort field: " NL_STR_FMT "(%d) %s NULLS %s",
                                 NL_STR_ARG(transform), field->source_id, field->is_descending ? "DESC" : "ASC",
                                 field->nulls_last ? "LAST" : "FIRST");
        const nl_str type = nl_ice_type_name(arena, source->field->type);
        if (nl_ice_type_is_nested(source->field->type))
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot sort by non-primitive source field: " NL_STR_FMT, NL_STR_ARG(type));
        if (!nl_transform_can_apply(&field->transform, source->field->type))
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Invalid source type " NL_STR_FMT " for transform: " NL_STR_FMT, NL_STR_ARG(type),
                                 NL_STR_ARG(transform));
    }
    return NULL;
}

static nl_status read_field(nl_arena *arena, const json_t *json, nl_str path, nl_sort_field *field)
{
    nl_str transform = {0};
    nl_str direction = {0};
    nl_str nulls = {0};
    const json_t *sources;
    NL_TRY(nl_json_object(json, path, "a sort field"));
    NL_TRY(nl_json_text(json, "transform", path, &transform));
    NL_TRY(nl_json_text(json, "direction", path, &direction));
    NL_TRY(nl_json_text(json, "null-order", path, &nulls));
    NL_TRY(nl_json_optional_array(json, "source-ids", path, &sources));
    if (sources) {
        const json_t *first = json_array_get(sources, 0);
        if (!json_is_integer(first)) return nl_json_corrupt(path, "source-ids of a sort field holds no integers");
        field->source_id = (int32_t)json_integer_value(first);
    } else {
        NL_TRY(nl_json_int32(json, "source-id", path, &field->source_id));
    }
    NL_TRY(nl_transform_parse(arena, transform, &field->transform));
    field->is_descending = nl_str_is_nocase(direction, "desc");
    field->nulls_last = nl_str_is_nocase(nulls, "nulls-last");
    if (!field->is_descending && !nl_str_is_nocase(direction, "asc")) return nl_json_corrupt(path, "Invalid sort direction: " NL_STR_FMT, NL_STR_ARG(direction));
    if (!field->nulls_last && !nl_str_is_nocase(nulls, "nulls-first")) return nl_json_corrupt(path, "Unexpected null order: " NL_STR_FMT, NL_STR_ARG(nulls));
    return NULL;
}

nl_status nl_sort_order_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_sort_order **order)
{
    nl_sort_order *made = NL_NEW(arena, nl_sort_order);
    const json_t *array;
    NL_TRY(nl_json_object(json, path, "sort order"));
    NL_TRY(nl_json_int32(json, "order-id", path, &made->order_id));
    NL_TRY(nl_json_array(json, "fields", path, &array));
    made->field_count = (uint32_t)json_array_size(array);
    nl_sort_field *fields = NL_NEW_ARRAY(arena, nl_sort_field, (size_t)made->field_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < made->field_count; i++)
        NL_TRY(read_field(arena, json_array_get(array, i), path, &fields[i]));
    made->fields = fields;
    *order = made;
    return NULL;
}

void nl_sort_order_append_json(const nl_sort_order *order, nl_builder *out)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "order-id");
    nl_json_write_int(&json, order->order_id);
    nl_json_key(&json, "fields");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < order->field_count; i++) {
        const nl_sort_field *field = &order->fields[i];
        nl_json_begin(&json, '{');
        nl_json_key(&json, "transform");
        nl_json_write_text(&json, nl_transform_name(arena, &field->transform));
        nl_json_key(&json, "source-id");
        nl_json_write_int(&json, field->source_id);
        nl_json_key(&json, "direction");
        nl_json_write_text(&json, field->is_descending ? NL_STR("desc") : NL_STR("asc"));
        nl_json_key(&json, "null-order");
        nl_json_write_text(&json, field->nulls_last ? NL_STR("nulls-last") : NL_STR("nulls-first"));
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_json_end(&json, '}');
    nl_arena_free(arena);
}

nl_str nl_sort_order_describe(nl_arena *arena, const nl_sort_order *order, const nl_schema *schema)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    for (uint32_t i = 0; i < order->field_count; i++) {
        const nl_sort_field *field = &order->fields[i];
        const nl_schema_column *source = nl_schema_find_id(schema, field->source_id);
        const nl_str name = source ? source->full_name : NL_STR("?");
        if (i) nl_append_c(&text, ", ");
        if (field->transform.kind == NL_TRANSFORM_IDENTITY) {
            nl_append(&text, name);
        } else if (field->transform.width) {
            nl_append_f(&text, "%s(%d, " NL_STR_FMT ")", field->transform.kind == NL_TRANSFORM_BUCKET ? "bucket" : "truncate",
                        field->transform.width, NL_STR_ARG(name));
        } else {
            const nl_str transform = nl_transform_name(arena, &field->transform);
            const bool is_time = field->transform.kind >= NL_TRANSFORM_YEAR && field->transform.kind <= NL_TRANSFORM_HOUR;
            nl_append_f(&text, NL_STR_FMT "%s(" NL_STR_FMT ")", NL_STR_ARG(transform), is_time ? "s" : "", NL_STR_ARG(name));
        }
        nl_append_f(&text, " %s NULLS %s", field->is_descending ? "DESC" : "ASC", field->nulls_last ? "LAST" : "FIRST");
    }
    const nl_str made = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return made;
}

/* iceberg/schema.c - schemas with their lookups, fresh ids, format version rules. */
#include "iceberg/schema.h"

#include "base/limits.h"

#include <stdlib.h>

/* Counts fields, nested ones included. Depth was limited when the type was made. */
static uint32_t count_fields(const nl_ice_type *type)
{
    uint32_t count = type->field_count;
    for (uint32_t i = 0; i < type->field_count; i++)
        count += count_fields(type->fields[i].type);
    return count;
}

typedef struct index_state {
    nl_arena *arena;
    nl_schema_column *columns;
    uint32_t count;
} index_state;

static nl_str joined(nl_arena *arena, nl_str prefix, nl_str name)
{
    return prefix.length ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(prefix), NL_STR_ARG(name)) : name;
}

/* Java's IndexByName: short names leave out "element" and "value" where a struct follows. */
static void index_type(index_state *state, const nl_ice_type *type, nl_str full_prefix, nl_str short_prefix, int32_t parent_id)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const nl_ice_field *field = &type->fields[i];
        nl_schema_column *column = &state->columns[state->count++];
        const bool is_same = nl_str_equal(full_prefix, short_prefix);
        *column = (nl_schema_column){.field = field, .parent_id = parent_id, .position = i};
        column->full_name = joined(state->arena, full_prefix, field->name);
        column->short_name = is_same ? column->full_name : joined(state->arena, short_prefix, field->name);
        if (!field->type->field_count) continue;
        const bool is_hidden = field->type->id == NL_ICE_STRUCT && (type->id == NL_ICE_LIST || (type->id == NL_ICE_MAP && i == 1));
        index_type(state, field->type, column->full_name, is_hidden ? short_prefix : column->short_name, field->id);
    }
}

static int by_id(const void *a, const void *b)
{
    const int32_t left = ((const nl_schema_column *)a)->field->id;
    const int32_t right = ((const nl_schema_column *)b)->field->id;
    return (left > right) - (left < right);
}

static int by_name(const void *a, const void *b)
{
    const nl_schema_name *left = a;
    const nl_schema_name *right = b;
    const int order = nl_str_compare(left->name, right->name);
    if (order) return order;
    /* Full names win over short ones; then the lower id, so that the order is total. */
    const bool left_full = nl_str_equal(left->column->full_name, left->name);
    const bool right_full = nl_str_equal(right->column->full_name, right->name);
    if (left_full != right_full) return left_full ? -1 : 1;
    return (left->column->field->id > right->column->field->id) - (left->column->field->id < right->column->field->id);
}

static nl_str lowered(nl_arena *arena, nl_str name)
{
    char *copy = nl_arena_alloc(arena, name.length + 1);
    for (size_t i = 0; i < name.length; i++)
        copy[i] = (char)(name.data[i] >= 'A' && name.data[i] <= 'Z' ? name.data[i] + ('a' - 'A') : name.data[i]);
    return (nl_str){copy, name.length};
}

static void index_names(nl_arena *arena, nl_schema *schema)
{
    nl_schema_name *names = NL_NEW_ARRAY(arena, nl_schema_name, (size_t)schema->column_count * 2 + 1);
    nl_schema_name *lower = NL_NEW_ARRAY(arena, nl_schema_name, (size_t)schema->column_count * 2 + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const nl_schema_column *column = &schema->columns[i];
        names[count++] = (nl_schema_name){column->full_name, column};
        if (!nl_str_equal(column->full_name, column->short_name)) names[count++] = (nl_schema_name){column->short_name, column};
    }
    for (uint32_t i = 0; i < count; i++)
        lower[i] = (nl_schema_name){lowered(arena, names[i].name), names[i].column};
    qsort(names, count, sizeof(*names), by_name);
    qsort(lower, count, sizeof(*lower), by_name);
    schema->name_count = count;
    schema->by_name = names;
    schema->by_lower_name = lower;
}

static nl_status check_unique(const nl_schema *schema)
{
    for (uint32_t i = 1; i < schema->column_count; i++) {
        const nl_schema_column *a = &schema->columns[i - 1];
        const nl_schema_column *b = &schema->columns[i];
        if (a->field->id == b->field->id)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid schema: multiple fields with id %d: " NL_STR_FMT " and " NL_STR_FMT,
                                 a->field->id, NL_STR_ARG(a->full_name), NL_STR_ARG(b->full_name));
    }
    for (uint32_t i = 1; i < schema->name_count; i++) {
        const nl_schema_name *a = &schema->by_name[i - 1];
        const nl_schema_name *b = &schema->by_name[i];
        if (nl_str_equal(a->name, b->name) && nl_str_equal(a->column->full_name, a->name) && nl_str_equal(b->column->full_name, b->name))
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Invalid schema: multiple fields for name " NL_STR_FMT ": %d and %d",
                                 NL_STR_ARG(a->name), a->column->field->id, b->column->field->id);
    }
    return NULL;
}

static nl_status check_identifier(const nl_schema *schema, int32_t field_id)
{
    const nl_schema_column *column = nl_schema_find_id(schema, field_id);
    if (!column)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add fieldId %d as an identifier field: field does not exist", field_id);
    const nl_str name = column->field->name;
    const char *problem = NULL;
    if (nl_ice_type_is_nested(column->field->type) || column->field->type->id == NL_ICE_VARIANT) problem = "not a primitive type field";
    else if (!column->field->is_required) problem = "not a required field";
    else if (column->field->type->id == NL_ICE_FLOAT || column->field->type->id == NL_ICE_DOUBLE)
        problem = "must not be float or double field";
    if (problem)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add field " NL_STR_FMT " as an identifier field: %s", NL_STR_ARG(name), problem);
    for (int32_t parent_id = column->parent_id; parent_id != 0;) {
        const nl_schema_column *parent = nl_schema_find_id(schema, parent_id);
        if (parent->field->type->id != NL_ICE_STRUCT || !parent->field->is_required)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                                 "Cannot add field " NL_STR_FMT " as an identifier field: must not be nested in %s" NL_STR_FMT, NL_STR_ARG(name),
                                 parent->field->type->id == NL_ICE_STRUCT ? "an optional field " : "", NL_STR_ARG(parent->full_name));
        parent_id = parent->parent_id;
    }
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

nl_status nl_schema_new(nl_arena *arena, int32_t schema_id, const nl_ice_type *root, const int32_t *identifier_ids, uint32_t identifier_count,
                        const nl_schema **schema)
{
    NL_ASSERT(root->id == NL_ICE_STRUCT);
    nl_schema *made = NL_NEW(arena, nl_schema);
    made->schema_id = schema_id;
    made->root = root;
    made->column_count = count_fields(root);
    index_state state = {.arena = arena, .columns = NL_NEW_ARRAY(arena, nl_schema_column, (size_t)made->column_count + 1)};
    NL_TRY(nl_arena_check(arena));
    index_type(&state, root, NL_STR(""), NL_STR(""), 0);
    qsort(state.columns, state.count, sizeof(*state.columns), by_id);
    made->columns = state.columns;
    if (made->column_count) made->highest_field_id = NL_MAX(0, made->columns[made->column_count - 1].field->id);
    index_names(arena, made);
    NL_TRY(nl_arena_check(arena));
    NL_TRY(check_unique(made));

    int32_t *ids = NL_NEW_ARRAY(arena, int32_t, (size_t)identifier_count + 1);
    for (uint32_t i = 0; i < identifier_count; i++) {
        ids[i] = identifier_ids[i];
        NL_TRY(check_identifier(made, ids[i]));
    }
    qsort(ids, identifier_count, sizeof(*ids), by_number);
    for (uint32_t i = 0; i < identifier_count; i++)
        if (i == 0 || ids[i] != ids[i - 1]) ids[made->identifier_count++] = ids[i];
    made->identifier_ids = ids;
    *schema = made;
    return NULL;
}

const nl_schema *nl_schema_copy(nl_arena *arena, const nl_schema *schema)
{
    nl_schema *copy = NL_NEW(arena, nl_schema);
    *copy = *schema;
    copy->root = nl_ice_type_copy(arena, schema->root);
    index_state state = {.arena = arena, .columns = NL_NEW_ARRAY(arena, nl_schema_column, (size_t)copy->column_count + 1)};
    index_type(&state, copy->root, NL_STR(""), NL_STR(""), 0);
    qsort(state.columns, state.count, sizeof(*state.columns), by_id);
    copy->columns = state.columns;
    index_names(arena, copy);
    int32_t *ids = NL_NEW_ARRAY(arena, int32_t, (size_t)schema->identifier_count + 1);
    for (uint32_t i = 0; i < schema->identifier_count; i++)
        ids[i] = schema->identifier_ids[i];
    copy->identifier_ids = ids;
    return copy;
}

const nl_schema_column *nl_schema_find_id(const nl_schema *schema, int32_t field_id)
{
    uint32_t low = 0;
    uint32_t high = schema->column_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (schema->columns[middle].field->id < field_id) low = middle + 1;
        else high = middle;
    }
    return low < schema->column_count && schema->columns[low].field->id == field_id ? &schema->columns[low] : NULL;
}

/* Compares without making a lowered copy of the wanted name. */
static int compare_folded(nl_str wanted, nl_str lower)
{
    for (size_t i = 0; i < NL_MIN(wanted.length, lower.length); i++) {
        unsigned char c = (unsigned char)wanted.data[i];
        if (c >= 'A' && c <= 'Z') c = (unsigned char)(c + ('a' - 'A'));
        if (c != (unsigned char)lower.data[i]) return c < (unsigned char)lower.data[i] ? -1 : 1;
    }
    return (wanted.length > lower.length) - (wanted.length < lower.length);
}

const nl_schema_column *nl_schema_find_name(const nl_schema *schema, nl_str name, bool is_case_sensitive)
{
    const nl_schema_name *names = is_case_sensitive ? schema->by_name : schema->by_lower_name;
    uint32_t low = 0;
    uint32_t high = schema->name_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = is_case_sensitive ? nl_str_compare(name, names[middle].name) : compare_folded(name, names[middle].name);
        if (order > 0) low = middle + 1;
        else high = middle;
    }
    if (low == schema->name_count) return NULL;
    const bool is_found = is_case_sensitive ? nl_str_equal(name, names[low].name) : compare_folded(name, names[low].name) == 0;
    return is_found ? names[low].column : NULL;
}

bool nl_schema_same(const nl_schema *a, const nl_schema *b)
{
    if (a->identifier_count != b->identifier_count) return false;
    for (uint32_t i = 0; i < a->identifier_count; i++)
        if (a->identifier_ids[i] != b->identifier_ids[i]) return false;
    return nl_ice_type_equal(a->root, b->root);
}

static int32_t type_version(const nl_ice_type *type)
{
    switch ((int)type->id) {
    case NL_ICE_UNKNOWN:
    case NL_ICE_TIMESTAMP_NS:
    case NL_ICE_TIMESTAMPTZ_NS:
    case NL_ICE_VARIANT:
    case NL_ICE_GEOMETRY:
    case NL_ICE_GEOGRAPHY: return 3;
    default: return 1;
    }
}

nl_status nl_schema_check_version(const nl_schema *schema, int32_t format_version)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_arena *arena = nl_arena_new(NULL);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const nl_schema_column *column = &schema->columns[i];
        if (type_version(column->field->type) > format_version) {
            const nl_str name = nl_ice_type_name(arena, column->field->type);
            nl_append_f(&text, "\n- Invalid type for " NL_STR_FMT ": " NL_STR_FMT " is not supported until v%d", NL_STR_ARG(column->full_name),
                        NL_STR_ARG(name), type_version(column->field->type));
        }
        if (column->field->initial_default && format_version < 3) {
            nl_append_f(&text, "\n- Invalid initial default for " NL_STR_FMT ": non-null default (", NL_STR_ARG(column->full_name));
            nl_single_value_append_json(column->field->type, column->field->initial_default, &text);
            nl_append_c(&text, ") is not supported until v3");
        }
    }
    nl_status status = NULL;
    if (text.length)
        status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid schema for v%d:" NL_STR_FMT, format_version, NL_STR_ARG(nl_builder_str(&text)));
    nl_arena_free(arena);
    nl_builder_fini(&text);
    return status;
}

typedef struct fresh_state {
    nl_arena *arena;
    const nl_schema *base; /* or NULL */
    int32_t last_id;
} fresh_state;

static nl_status fresh_type(fresh_state *state, const nl_ice_type *type, nl_str prefix, const nl_ice_type **fresh)
{
    if (!nl_ice_type_is_nested(type)) {
        *fresh = type;
        return NULL;
    }
    nl_ice_type *made = NL_NEW(state->arena, nl_ice_type);
    nl_ice_field *fields = NL_NEW_ARRAY(state->arena, nl_ice_field, (size_t)type->field_count + 1);
    NL_TRY(nl_arena_check(state->arena));
    *made = *type;
    made->fields = fields;
    for (uint32_t i = 0; i < type->field_count; i++) {
        fields[i] = type->fields[i];
        const nl_schema_column *known =
            state->base ? nl_schema_find_name(state->base, joined(state->arena, prefix, fields[i].name), true) : NULL;
        if (!known && state->last_id == INT32_MAX) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The table has no column ids left");
        fields[i].id = known ? known->field->id : ++state->last_id;
    }
    for (uint32_t i = 0; i < type->field_count; i++)
        NL_TRY(fresh_type(state, fields[i].type, joined(state->arena, prefix, fields[i].name), &fields[i].type));
    *fresh = made;
    return NULL;
}

nl_status nl_schema_assign_fresh_ids(nl_arena *arena, const nl_ice_type *root, const nl_schema *base, int32_t *last_id,
                                     const nl_ice_type **fresh)
{
    fresh_state state = {.arena = arena, .base = base, .last_id = *last_id};
    NL_TRY(fresh_type(&state, root, NL_STR(""), fresh));
    *last_id = state.last_id;
    return NULL;
}

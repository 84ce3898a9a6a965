/* iceberg/schema_apply.c - the new schema of a base and its collected changes (Java's SchemaUpdate.ApplyChanges). */
#include "iceberg/schema_change.h"

static nl_status apply_type(nl_schema_update *update, const nl_ice_type *type, int32_t own_id, const nl_ice_type **applied);

static const nl_column_change *change_of(const nl_schema_update *update, int32_t field_id)
{
    const nl_schema_column *column = nl_schema_find_id(update->base, field_id);
    return column ? update->changes[column - update->base->columns] : NULL;
}

/* A field of the base with its own changes and those below it. */
static nl_status apply_field(nl_schema_update *update, const nl_ice_field *field, nl_ice_field *applied)
{
    const nl_column_change *change = change_of(update, field->id);
    const bool is_updated = change && change->is_updated;
    *applied = is_updated ? change->field : *field;
    if (is_updated && !nl_ice_type_is_nested(field->type)) return NULL; /* the type may be the changed thing */
    return apply_type(update, field->type, field->id, &applied->type);
}

static uint32_t index_of(const nl_ice_field *fields, uint32_t count, int32_t field_id)
{
    for (uint32_t i = 0; i < count; i++)
        if (fields[i].id == field_id) return i;
    return count;
}

static void move_field(nl_ice_field *fields, uint32_t count, const nl_column_move *move)
{
    const uint32_t from = index_of(fields, count, move->field_id);
    if (from == count) return; /* it was deleted */
    const nl_ice_field moved = fields[from];
    memmove(&fields[from], &fields[from + 1], (count - from - 1) * sizeof(*fields));
    uint32_t to = 0;
    if (move->kind != NL_MOVE_FIRST) {
        to = index_of(fields, count - 1, move->reference_id);
        if (to == count - 1) to = NL_MIN(from, count - 1); /* the reference was deleted: stay */
        else to += move->kind == NL_MOVE_AFTER;
    }
    memmove(&fields[to + 1], &fields[to], (count - 1 - to) * sizeof(*fields));
    fields[to] = moved;
}

static nl_status apply_struct(nl_schema_update *update, const nl_ice_type *type, int32_t own_id, const nl_ice_type **applied)
{
    nl_ice_field *fields = NL_NEW_ARRAY(update->arena, nl_ice_field, (size_t)type->field_count + update->added.count + 1);
    NL_TRY(nl_arena_check(update->arena));
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (!nl_schema_update_deletes(update, type->fields[i].id)) NL_TRY(apply_field(update, &type->fields[i], &fields[count++]));
    for (uint32_t i = 0; i < update->added.count; i++) {
        const nl_added_column *added = update->added.items[i];
        if (added->parent_id == own_id) fields[count++] = added->field;
    }
    for (uint32_t i = 0; i < update->moves.count; i++) {
        const nl_column_move *move = update->moves.items[i];
        if (move->parent_id == own_id) move_field(fields, count, move);
    }
    *applied = nl_ice_type_struct(update->arena, fields, count);
    return NULL;
}

/* Keys of maps are part of what a map is: neither they nor anything in them can change. */
static bool touches(const nl_schema_update *update, const nl_ice_field *field)
{
    const nl_column_change *change = change_of(update, field->id);
    if (change && (change->is_updated || change->is_deleted)) return true;
    for (uint32_t i = 0; i < update->added.count; i++)
        if (((const nl_added_column *)update->added.items[i])->parent_id == field->id) return true;
    for (uint32_t i = 0; i < field->type->field_count; i++)
        if (touches(update, &field->type->fields[i])) return true;
    return false;
}

static nl_status apply_children(nl_schema_update *update, const nl_ice_type *type, const nl_ice_type **applied)
{
    const nl_str name = nl_ice_type_name(update->arena, type);
    if (type->id == NL_ICE_MAP && touches(update, &type->fields[0]))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot alter map keys: " NL_STR_FMT, NL_STR_ARG(name));
    const nl_ice_field *child = &type->fields[type->field_count - 1];
    if (nl_schema_update_deletes(update, child->id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete %s: " NL_STR_FMT,
                             type->id == NL_ICE_MAP ? "value type from map" : "element type from list", NL_STR_ARG(name));
    nl_ice_type *made = NL_NEW(update->arena, nl_ice_type);
    nl_ice_field *fields = NL_NEW_ARRAY(update->arena, nl_ice_field, type->field_count);
    NL_TRY(nl_arena_check(update->arena));
    fields[0] = type->fields[0];
    NL_TRY(apply_field(update, child, &fields[type->field_count - 1]));
    *made = *type;
    made->fields = fields;
    *applied = made;
    return NULL;
}

static nl_status apply_type(nl_schema_update *update, const nl_ice_type *type, int32_t own_id, const nl_ice_type **applied)
{
    *applied = type;
    if (!nl_ice_type_is_nested(type)) return NULL;
    return type->id == NL_ICE_STRUCT ? apply_struct(update, type, own_id, applied) : apply_children(update, type, applied);
}

/* "1: id: required long", as Java prints a field. */
static nl_str describe(nl_arena *arena, const nl_ice_field *field)
{
    const nl_str type = nl_ice_type_name(arena, field->type);
    return nl_arena_f(arena, "%d: " NL_STR_FMT ": %s " NL_STR_FMT, field->id, NL_STR_ARG(field->name), field->is_required ? "required" : "optional",
                      NL_STR_ARG(type));
}

static nl_status check_identifier_kept(nl_schema_update *update, nl_str name)
{
    static const char advice[] = "To force deletion, also call setIdentifierFields to update identifier fields.";
    const nl_schema_column *column = nl_schema_find_name(update->base, name, !update->options.is_case_insensitive);
    if (!column) return NULL;
    const nl_str text = describe(update->arena, column->field);
    if (nl_schema_update_deletes(update, column->field->id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete identifier field " NL_STR_FMT ". %s", NL_STR_ARG(text), advice);
    for (const nl_schema_column *parent = nl_schema_find_id(update->base, column->parent_id); parent;
         parent = nl_schema_find_id(update->base, parent->parent_id)) {
        if (!nl_schema_update_deletes(update, parent->field->id)) continue;
        const nl_str parent_text = describe(update->arena, parent->field);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete field " NL_STR_FMT " as it will delete nested identifier field " NL_STR_FMT ". %s",
                             NL_STR_ARG(parent_text), NL_STR_ARG(text), advice);
    }
    return NULL;
}

/* The id an identifier's name stands for: of the base (it may have been renamed), or of an added column. */
static nl_status identifier_id(nl_schema_update *update, const nl_schema *applied, nl_str name, int32_t *field_id)
{
    const bool is_sensitive = !update->options.is_case_insensitive;
    const nl_schema_column *column = nl_schema_find_name(update->base, name, is_sensitive);
    if (!column) column = nl_schema_find_name(applied, name, is_sensitive);
    if (!column)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add field " NL_STR_FMT " as an identifier field: not found in current schema or added columns",
                             NL_STR_ARG(name));
    *field_id = column->field->id;
    return NULL;
}

nl_status nl_schema_update_apply(nl_schema_update *update, const nl_schema **schema, int32_t *last_column_id)
{
    for (uint32_t i = 0; i < update->identifier_names.count; i++)
        NL_TRY(check_identifier_kept(update, *(const nl_str *)update->identifier_names.items[i]));
    const nl_ice_type *root;
    NL_TRY(apply_struct(update, update->base->root, 0, &root));
    const nl_schema *without_identifiers;
    NL_TRY(nl_schema_new(update->arena, update->base->schema_id, root, NULL, 0, &without_identifiers));
    const uint32_t count = update->identifier_names.count;
    int32_t *ids = NL_NEW_ARRAY(update->arena, int32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(identifier_id(update, without_identifiers, *(const nl_str *)update->identifier_names.items[i], &ids[i]));
    NL_TRY(nl_schema_new(update->arena, update->base->schema_id, root, ids, count, schema));
    *last_column_id = update->last_column_id;
    return nl_arena_check(update->arena);
}

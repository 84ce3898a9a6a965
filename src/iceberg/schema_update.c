/* iceberg/schema_update.c - collecting changes to a schema and checking each (Java's SchemaUpdate). schema_apply.c makes the
 * new schema of them. */
#include "iceberg/schema_change.h"

nl_schema_update *nl_schema_update_new(nl_arena *arena, const nl_schema *base, const nl_schema_update_options *options)
{
    nl_schema_update *update = NL_NEW(arena, nl_schema_update);
    update->arena = arena;
    update->base = base;
    update->options = *options;
    update->last_column_id = NL_MAX(options->last_column_id, base->highest_field_id);
    update->changes = NL_NEW_ARRAY(arena, nl_column_change *, (size_t)base->column_count + 1);
    for (uint32_t i = 0; i < base->identifier_count; i++) {
        const nl_schema_column *column = nl_schema_find_id(base, base->identifier_ids[i]);
        nl_str *name = NL_NEW(arena, nl_str);
        *name = column->full_name;
        nl_list_add(arena, &update->identifier_names, name);
    }
    return update;
}

static const nl_schema_column *find(const nl_schema_update *update, nl_str name)
{
    return nl_schema_find_name(update->base, name, !update->options.is_case_insensitive);
}

static bool same_name(const nl_schema_update *update, nl_str a, nl_str b)
{
    return update->options.is_case_insensitive ? nl_str_equal_nocase(a, b) : nl_str_equal(a, b);
}

static nl_column_change *change_of(nl_schema_update *update, const nl_schema_column *column)
{
    nl_column_change **slot = &update->changes[column - update->base->columns];
    if (!*slot) {
        *slot = NL_NEW(update->arena, nl_column_change);
        (*slot)->field = *column->field;
    }
    return *slot;
}

bool nl_schema_update_deletes(const nl_schema_update *update, int32_t field_id)
{
    const nl_schema_column *column = nl_schema_find_id(update->base, field_id);
    const nl_column_change *change = column ? update->changes[column - update->base->columns] : NULL;
    return change && change->is_deleted;
}

static nl_added_column *find_added(const nl_schema_update *update, nl_str name)
{
    for (uint32_t i = 0; i < update->added.count; i++) {
        nl_added_column *added = update->added.items[i];
        if (same_name(update, added->full_name, name)) return added;
    }
    return NULL;
}

/* ---- Adding ---- */

/* The struct that a name stands for: of a list its element, of a map its value. */
static nl_status find_parent(nl_schema_update *update, nl_str name, int32_t *parent_id, nl_str *parent_name)
{
    const nl_schema_column *column = find(update, name);
    if (!column) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find parent struct: " NL_STR_FMT, NL_STR_ARG(name));
    const nl_ice_field *parent = column->field;
    if (parent->type->id == NL_ICE_MAP) parent = &parent->type->fields[1];
    else if (parent->type->id == NL_ICE_LIST) parent = &parent->type->fields[0];
    if (parent->type->id != NL_ICE_STRUCT) {
        const nl_str type = nl_ice_type_name(update->arena, parent->type);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add to non-struct column: " NL_STR_FMT ": " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(type));
    }
    if (nl_schema_update_deletes(update, parent->id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add to a column that will be deleted: " NL_STR_FMT, NL_STR_ARG(name));
    *parent_id = parent->id;
    *parent_name = nl_schema_find_id(update->base, parent->id)->full_name;
    return NULL;
}

nl_status nl_schema_update_add(nl_schema_update *update, const nl_column_addition *addition)
{
    int32_t parent_id = 0;
    nl_str full_name = nl_arena_str(update->arena, addition->name);
    nl_str asked_name = full_name;
    if (addition->parent.length) {
        nl_str parent_name = {0};
        NL_TRY(find_parent(update, addition->parent, &parent_id, &parent_name));
        full_name = nl_arena_f(update->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(parent_name), NL_STR_ARG(addition->name));
        asked_name = nl_arena_f(update->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(addition->parent), NL_STR_ARG(addition->name));
    }
    const nl_schema_column *known = find(update, asked_name);
    if (known && !nl_schema_update_deletes(update, known->field->id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add column, name already exists: " NL_STR_FMT, NL_STR_ARG(asked_name));
    if (addition->is_required && !addition->default_value && !update->options.allows_incompatible)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Incompatible change: cannot add required column: " NL_STR_FMT, NL_STR_ARG(full_name));
    if (update->last_column_id == INT32_MAX) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The table has no column ids left");

    nl_added_column *added = NL_NEW(update->arena, nl_added_column);
    added->parent_id = parent_id;
    added->full_name = full_name;
    added->field = (nl_ice_field){.id = ++update->last_column_id,
                                  .name = nl_arena_str(update->arena, addition->name),
                                  .is_required = addition->is_required,
                                  .doc = addition->doc.data ? nl_arena_str(update->arena, addition->doc) : (nl_str){0}};
    if (addition->default_value) {
        nl_value *value = NL_NEW(update->arena, nl_value);
        *value = nl_value_copy(update->arena, addition->default_value);
        added->field.initial_default = value;
        added->field.write_default = value;
    }
    const nl_ice_type *copy = nl_ice_type_copy(update->arena, addition->type);
    NL_TRY(nl_schema_assign_fresh_ids(update->arena, copy, NULL, &update->last_column_id, &added->field.type));
    nl_list_add(update->arena, &update->added, added);
    return nl_arena_check(update->arena);
}

/* ---- Changing ---- */

nl_status nl_schema_update_delete(nl_schema_update *update, nl_str name)
{
    const nl_schema_column *column = find(update, name);
    if (!column) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete missing column: " NL_STR_FMT, NL_STR_ARG(name));
    for (uint32_t i = 0; i < update->added.count; i++)
        if (((const nl_added_column *)update->added.items[i])->parent_id == column->field->id)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete a column that has additions: " NL_STR_FMT, NL_STR_ARG(name));
    nl_column_change *change = change_of(update, column);
    if (change->is_updated)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete a column that has updates: " NL_STR_FMT, NL_STR_ARG(name));
    change->is_deleted = true;
    return nl_arena_check(update->arena);
}

nl_status nl_schema_update_rename(nl_schema_update *update, nl_str name, nl_str new_name)
{
    const nl_schema_column *column = find(update, name);
    if (!column) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot rename missing column: " NL_STR_FMT, NL_STR_ARG(name));
    if (!new_name.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot rename a column to null");
    nl_column_change *change = change_of(update, column);
    if (change->is_deleted)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot rename a column that will be deleted: " NL_STR_FMT, NL_STR_ARG(column->full_name));
    change->field.name = nl_arena_str(update->arena, new_name);
    change->is_updated = true;
    return nl_arena_check(update->arena);
}

/* What a name stands for with the changes so far: a field of the base, or one that was just added. */
static nl_status find_for_update(nl_schema_update *update, nl_str name, nl_ice_field **field, bool **is_updated)
{
    const nl_schema_column *column = find(update, name);
    nl_added_column *added = find_added(update, name);
    if (added) {
        *field = &added->field;
        *is_updated = &added->is_updated;
        return NULL;
    }
    if (!column) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot update missing column: " NL_STR_FMT, NL_STR_ARG(name));
    nl_column_change *change = change_of(update, column);
    if (change->is_deleted)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot update a column that will be deleted: " NL_STR_FMT, NL_STR_ARG(column->full_name));
    *field = &change->field;
    *is_updated = &change->is_updated;
    return nl_arena_check(update->arena);
}

nl_status nl_schema_update_type(nl_schema_update *update, nl_str name, const nl_ice_type *type)
{
    nl_ice_field *field;
    bool *is_updated;
    NL_TRY(find_for_update(update, name, &field, &is_updated));
    if (nl_ice_type_equal(field->type, type)) return NULL;
    if (!nl_ice_type_can_promote(field->type, type, update->options.format_version)) {
        const nl_str from = nl_ice_type_name(update->arena, field->type);
        const nl_str to = nl_ice_type_name(update->arena, type);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot change column type: " NL_STR_FMT ": " NL_STR_FMT " -> " NL_STR_FMT, NL_STR_ARG(name),
                             NL_STR_ARG(from), NL_STR_ARG(to));
    }
    field->type = nl_ice_type_copy(update->arena, type);
    *is_updated = true;
    return nl_arena_check(update->arena);
}

nl_status nl_schema_update_doc(nl_schema_update *update, nl_str name, nl_str doc)
{
    nl_ice_field *field;
    bool *is_updated;
    NL_TRY(find_for_update(update, name, &field, &is_updated));
    if (!field->doc.data == !doc.data && nl_str_equal(field->doc, doc)) return NULL;
    field->doc = doc.data ? nl_arena_str(update->arena, doc) : (nl_str){0};
    *is_updated = true;
    return nl_arena_check(update->arena);
}

static nl_status set_required(nl_schema_update *update, nl_str name, bool is_required)
{
    nl_ice_field *field;
    bool *is_updated;
    NL_TRY(find_for_update(update, name, &field, &is_updated));
    if (field->is_required == is_required) return NULL;
    const bool is_defaulted_addition = find_added(update, name) && field->initial_default;
    if (is_required && !is_defaulted_addition && !update->options.allows_incompatible)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot change column nullability: " NL_STR_FMT ": optional -> required", NL_STR_ARG(name));
    field->is_required = is_required;
    *is_updated = true;
    return NULL;
}

nl_status nl_schema_update_require(nl_schema_update *update, nl_str name)
{
    return set_required(update, name, true);
}

nl_status nl_schema_update_make_optional(nl_schema_update *update, nl_str name)
{
    return set_required(update, name, false);
}

nl_status nl_schema_update_write_default(nl_schema_update *update, nl_str name, const nl_value *value)
{
    nl_ice_field *field;
    bool *is_updated;
    NL_TRY(find_for_update(update, name, &field, &is_updated));
    nl_value *copy = NULL;
    if (value) {
        copy = NL_NEW(update->arena, nl_value);
        *copy = nl_value_copy(update->arena, value);
    }
    field->write_default = copy;
    *is_updated = true;
    return nl_arena_check(update->arena);
}

/* ---- Moving ---- */

static bool find_for_move(const nl_schema_update *update, nl_str name, int32_t *field_id, int32_t *parent_id)
{
    const nl_added_column *added = find_added(update, name);
    const nl_schema_column *column = find(update, name);
    if (added) {
        *field_id = added->field.id;
        *parent_id = added->parent_id;
    } else if (column) {
        *field_id = column->field->id;
        *parent_id = column->parent_id;
    }
    return added || column;
}

static nl_status add_move(nl_schema_update *update, nl_str name, nl_move_kind kind, nl_str reference)
{
    nl_column_move *move = NL_NEW(update->arena, nl_column_move);
    int32_t reference_parent = 0;
    const char *where = kind == NL_MOVE_BEFORE ? "before" : "after";
    move->kind = kind;
    if (!find_for_move(update, name, &move->field_id, &move->parent_id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot move missing column: " NL_STR_FMT, NL_STR_ARG(name));
    if (kind != NL_MOVE_FIRST) {
        if (!find_for_move(update, reference, &move->reference_id, &reference_parent))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot move " NL_STR_FMT " %s missing column: " NL_STR_FMT, NL_STR_ARG(name), where,
                                 NL_STR_ARG(reference));
        if (move->reference_id == move->field_id)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot move " NL_STR_FMT " %s itself", NL_STR_ARG(name), where);
    }
    const nl_schema_column *parent = nl_schema_find_id(update->base, move->parent_id);
    if (parent && parent->field->type->id != NL_ICE_STRUCT) {
        const nl_str type = nl_ice_type_name(update->arena, parent->field->type);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot move fields in non-struct type: " NL_STR_FMT, NL_STR_ARG(type));
    }
    if (kind != NL_MOVE_FIRST && reference_parent != move->parent_id)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot move field " NL_STR_FMT " to a different struct", NL_STR_ARG(name));
    nl_list_add(update->arena, &update->moves, move);
    return nl_arena_check(update->arena);
}

nl_status nl_schema_update_move_first(nl_schema_update *update, nl_str name)
{
    return add_move(update, name, NL_MOVE_FIRST, (nl_str){0});
}

nl_status nl_schema_update_move_before(nl_schema_update *update, nl_str name, nl_str reference)
{
    return add_move(update, name, NL_MOVE_BEFORE, reference);
}

nl_status nl_schema_update_move_after(nl_schema_update *update, nl_str name, nl_str reference)
{
    return add_move(update, name, NL_MOVE_AFTER, reference);
}

nl_status nl_schema_update_identifier_fields(nl_schema_update *update, const nl_str *names, uint32_t name_count)
{
    update->identifier_names = (nl_list){0};
    for (uint32_t i = 0; i < name_count; i++) {
        nl_str *name = NL_NEW(update->arena, nl_str);
        *name = nl_arena_str(update->arena, names[i]);
        nl_list_add(update->arena, &update->identifier_names, name);
    }
    return nl_arena_check(update->arena);
}

/* ---- Union by name ---- */

static bool is_ignorable(const nl_schema_update *update, const nl_ice_type *known, const nl_ice_type *incoming)
{
    if (nl_ice_type_is_nested(known)) return known->id == incoming->id; /* differences inside are dealt with below */
    return nl_ice_type_can_promote(incoming, known, update->options.format_version); /* the table's is wider already */
}

static nl_status unite_struct(nl_schema_update *update, const nl_ice_type *incoming, nl_str parent);

static nl_status unite_known(nl_schema_update *update, const nl_schema_column *known, const nl_ice_field *incoming)
{
    const nl_str name = known->full_name;
    if (known->field->is_required && !incoming->is_required) NL_TRY(nl_schema_update_make_optional(update, name));
    if (!is_ignorable(update, known->field->type, incoming->type)) NL_TRY(nl_schema_update_type(update, name, incoming->type));
    if (incoming->doc.data && !nl_str_equal(incoming->doc, known->field->doc)) NL_TRY(nl_schema_update_doc(update, name, incoming->doc));
    return nl_ice_type_is_nested(incoming->type) ? unite_struct(update, incoming->type, name) : NULL;
}

/* Also for lists and maps, whose children have fixed names. */
static nl_status unite_struct(nl_schema_update *update, const nl_ice_type *incoming, nl_str parent)
{
    for (uint32_t i = 0; i < incoming->field_count; i++) {
        const nl_ice_field *field = &incoming->fields[i];
        const nl_str name =
            parent.length ? nl_arena_f(update->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(parent), NL_STR_ARG(field->name)) : field->name;
        const nl_schema_column *known = find(update, name);
        if (known) NL_TRY(unite_known(update, known, field));
        else
            NL_TRY(nl_schema_update_add(update, &(nl_column_addition){.parent = parent, .name = field->name, .type = field->type, .doc = field->doc}));
    }
    return NULL;
}

nl_status nl_schema_update_union_by_name(nl_schema_update *update, const nl_schema *schema)
{
    return unite_struct(update, schema->root, (nl_str){0});
}

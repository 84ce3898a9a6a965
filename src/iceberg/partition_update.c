/* iceberg/partition_update.c - making partition specs for CREATE TABLE and evolving them, with the rules and messages of
 * Java's PartitionSpec.Builder and BaseUpdatePartitionSpec. */
#include "iceberg/partition.h"

/* "1000: ts_day: day(3)", as Java prints a partition field. */
static nl_str describe(nl_arena *arena, const nl_partition_field *field)
{
    const nl_str transform = nl_transform_name(arena, &field->transform);
    return nl_arena_f(arena, "%d: " NL_STR_FMT ": " NL_STR_FMT "(%d)", field->field_id, NL_STR_ARG(field->name), NL_STR_ARG(transform),
                      field->source_id);
}

static bool is_time(const nl_transform *transform)
{
    return transform->kind >= NL_TRANSFORM_YEAR && transform->kind <= NL_TRANSFORM_HOUR;
}

static bool is_void(const nl_partition_field *field)
{
    return field->transform.kind == NL_TRANSFORM_VOID;
}

static nl_str generated_name(nl_arena *arena, nl_str source, const nl_transform *transform, bool has_width)
{
    const char *suffix = "";
    switch (transform->kind) {
    case NL_TRANSFORM_BUCKET: suffix = "_bucket"; break;
    case NL_TRANSFORM_TRUNCATE: suffix = "_trunc"; break;
    case NL_TRANSFORM_YEAR: suffix = "_year"; break;
    case NL_TRANSFORM_MONTH: suffix = "_month"; break;
    case NL_TRANSFORM_DAY: suffix = "_day"; break;
    case NL_TRANSFORM_HOUR: suffix = "_hour"; break;
    case NL_TRANSFORM_VOID: suffix = "_null"; break;
    case NL_TRANSFORM_UNKNOWN: suffix = "_unknown"; break;
    case NL_TRANSFORM_IDENTITY: return nl_arena_str(arena, source);
    }
    if (has_width && transform->width) return nl_arena_f(arena, NL_STR_FMT "%s_%d", NL_STR_ARG(source), suffix, transform->width);
    return nl_arena_f(arena, NL_STR_FMT "%s", NL_STR_ARG(source), suffix);
}

static void set_source(nl_arena *arena, nl_partition_field *field, int32_t source_id)
{
    int32_t *ids = NL_NEW(arena, int32_t);
    ids[0] = source_id;
    field->source_id = source_id;
    field->source_ids = ids;
    field->source_count = 1;
}

/* Partition names may equal a column's only when they are sourced from it by identity. */
static nl_status check_name(const nl_schema *schema, const nl_partition_field *fields, uint32_t count, const nl_partition_field *field,
                            bool allows_source_name)
{
    const nl_schema_column *column = nl_schema_find_name(schema, field->name, true);
    if (column && allows_source_name && column->field->id != field->source_id)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create identity partition sourced from different field in schema: " NL_STR_FMT,
                             NL_STR_ARG(field->name));
    if (column && !allows_source_name)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create partition from name that exists in schema: " NL_STR_FMT,
                             NL_STR_ARG(field->name));
    if (!field->name.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use empty partition name: ");
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_equal(fields[i].name, field->name))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use partition name more than once: " NL_STR_FMT, NL_STR_ARG(field->name));
    return NULL;
}

/* Two time transforms of one column, or the same transform twice. */
static nl_status check_redundant(nl_arena *arena, const nl_partition_field *fields, uint32_t count, const nl_partition_field *field)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool is_same = nl_transform_equal(&fields[i].transform, &field->transform) ||
                             (is_time(&fields[i].transform) && is_time(&field->transform));
        if (fields[i].source_id != field->source_id || !is_same) continue;
        const nl_str old_text = describe(arena, &fields[i]);
        const nl_str new_text = describe(arena, field);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add redundant partition: " NL_STR_FMT " conflicts with " NL_STR_FMT,
                             NL_STR_ARG(old_text), NL_STR_ARG(new_text));
    }
    return NULL;
}

nl_status nl_partition_spec_check(nl_arena *arena, const nl_partition_spec *spec, const nl_schema *schema)
{
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const nl_partition_field *field = &spec->fields[i];
        const nl_schema_column *source = nl_schema_find_id(schema, field->source_id);
        if (is_void(field) || field->transform.kind == NL_TRANSFORM_UNKNOWN) continue;
        const nl_str text = describe(arena, field);
        if (!source) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find source column for partition field: " NL_STR_FMT, NL_STR_ARG(text));
        const nl_str type = nl_ice_type_name(arena, source->field->type);
        if (nl_ice_type_is_nested(source->field->type))
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot partition by non-primitive source field: " NL_STR_FMT, NL_STR_ARG(type));
        if (!nl_transform_can_apply(&field->transform, source->field->type)) {
            const nl_str transform = nl_transform_name(arena, &field->transform);
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Invalid source type " NL_STR_FMT " for transform: " NL_STR_FMT, NL_STR_ARG(type),
                                 NL_STR_ARG(transform));
        }
        for (int32_t parent_id = source->parent_id; parent_id != 0;) {
            const nl_schema_column *parent = nl_schema_find_id(schema, parent_id);
            if (parent->field->type->id != NL_ICE_STRUCT) {
                const nl_str parent_type = nl_ice_type_name(arena, parent->field->type);
                return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Invalid partition field parent: " NL_STR_FMT, NL_STR_ARG(parent_type));
            }
            parent_id = parent->parent_id;
        }
    }
    return NULL;
}

nl_status nl_partition_spec_build(nl_arena *arena, const nl_schema *schema, const nl_partition_addition *additions, uint32_t field_count,
                                  int32_t *last_field_id, const nl_partition_spec **spec)
{
    nl_partition_field *fields = NL_NEW_ARRAY(arena, nl_partition_field, (size_t)field_count + 1);
    int32_t last_id = *last_field_id;
    for (uint32_t i = 0; i < field_count; i++) {
        const nl_partition_addition *addition = &additions[i];
        const nl_schema_column *source = nl_schema_find_name(schema, addition->source, true);
        if (!source)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find source column: " NL_STR_FMT, NL_STR_ARG(addition->source));
        fields[i].transform = addition->transform;
        fields[i].field_id = ++last_id;
        fields[i].name = addition->name.length ? nl_arena_str(arena, addition->name)
                                               : generated_name(arena, addition->source, &addition->transform, false);
        set_source(arena, &fields[i], source->field->id);
        NL_TRY(check_name(schema, fields, i, &fields[i], addition->transform.kind == NL_TRANSFORM_IDENTITY));
        NL_TRY(check_redundant(arena, fields, i, &fields[i]));
    }
    nl_partition_spec *made = NL_NEW(arena, nl_partition_spec);
    *made = (nl_partition_spec){.field_count = field_count, .fields = fields};
    NL_TRY(nl_partition_spec_check(arena, made, schema));
    NL_TRY(nl_arena_check(arena));
    *last_field_id = last_id;
    *spec = made;
    return NULL;
}

/* ---- Evolution ---- */

typedef struct field_change {
    nl_partition_field field;
    bool is_deleted;
    nl_str new_name; /* data NULL: not renamed */
} field_change;

struct nl_spec_update {
    nl_arena *arena;
    nl_spec_update_base base;
    int32_t last_field_id;
    field_change *changes; /* one per field of the base spec */
    uint32_t change_count;
    nl_list added;         /* of nl_partition_field */
};

nl_spec_update *nl_spec_update_new(nl_arena *arena, const nl_spec_update_base *base)
{
    nl_spec_update *update = NL_NEW(arena, nl_spec_update);
    update->arena = arena;
    update->base = *base;
    update->last_field_id = base->last_field_id;
    update->change_count = base->spec->field_count;
    update->changes = NL_NEW_ARRAY(arena, field_change, (size_t)update->change_count + 1);
    for (uint32_t i = 0; i < update->change_count; i++)
        update->changes[i].field = base->spec->fields[i];
    return update;
}

static field_change *find_by_name(const nl_spec_update *update, nl_str name)
{
    for (uint32_t i = 0; i < update->change_count; i++)
        if (nl_str_equal(update->changes[i].field.name, name)) return &update->changes[i];
    return NULL;
}

static field_change *find_by_transform(const nl_spec_update *update, int32_t source_id, const nl_transform *transform)
{
    for (uint32_t i = 0; i < update->change_count; i++) {
        const nl_partition_field *field = &update->changes[i].field;
        if (field->source_id == source_id && nl_transform_equal(&field->transform, transform)) return &update->changes[i];
    }
    return NULL;
}

static const nl_partition_field *find_added(const nl_spec_update *update, nl_str name)
{
    for (uint32_t i = 0; i < update->added.count; i++) {
        const nl_partition_field *field = update->added.items[i];
        if (nl_str_equal(field->name, name)) return field;
    }
    return NULL;
}

static const nl_partition_field *find_added_transform(const nl_spec_update *update, int32_t source_id, const nl_transform *transform)
{
    for (uint32_t i = 0; i < update->added.count; i++) {
        const nl_partition_field *field = update->added.items[i];
        if (field->source_id == source_id && nl_transform_equal(&field->transform, transform)) return field;
    }
    return NULL;
}

static nl_status resolve(const nl_spec_update *update, nl_str source, const nl_schema_column **column)
{
    *column = nl_schema_find_name(update->base.schema, source, !update->base.is_case_insensitive);
    if (*column) return NULL;
    const nl_str type = nl_ice_type_name(update->arena, update->base.schema->root);
    return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find field '" NL_STR_FMT "' in struct: " NL_STR_FMT, NL_STR_ARG(source), NL_STR_ARG(type));
}

static nl_status rename_field(nl_spec_update *update, nl_str name, nl_str new_name, uint32_t depth)
{
    const field_change *taken = find_by_name(update, new_name);
    if (taken && is_void(&taken->field) && depth < 2) { /* the dropped field gives way */
        const nl_str freed = nl_arena_f(update->arena, NL_STR_FMT "_%d", NL_STR_ARG(taken->field.name), taken->field.field_id);
        NL_TRY(rename_field(update, taken->field.name, freed, depth + 1));
    }
    if (find_added(update, name))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot rename newly added partition field: " NL_STR_FMT, NL_STR_ARG(name));
    field_change *change = find_by_name(update, name);
    if (!change) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find partition field to rename: " NL_STR_FMT, NL_STR_ARG(name));
    if (change->is_deleted)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete and rename partition field: " NL_STR_FMT, NL_STR_ARG(name));
    change->new_name = nl_arena_str(update->arena, new_name);
    return NULL;
}

nl_status nl_spec_update_rename(nl_spec_update *update, nl_str name, nl_str new_name)
{
    return rename_field(update, name, new_name, 0);
}

/* v2: a field that some older spec had keeps its id (and name, when none is asked for). */
static nl_partition_field recycle_or_create(nl_spec_update *update, int32_t source_id, const nl_partition_addition *addition)
{
    for (uint32_t i = 0; update->base.format_version >= 2 && i < update->base.spec_count; i++) {
        const nl_partition_spec *spec = update->base.all_specs[i];
        for (uint32_t k = 0; k < spec->field_count; k++) {
            const nl_partition_field *field = &spec->fields[k];
            if (field->source_id == source_id && nl_transform_equal(&field->transform, &addition->transform) &&
                (!addition->name.length || nl_str_equal(addition->name, field->name)))
                return *field;
        }
    }
    nl_partition_field field = {.transform = addition->transform, .field_id = ++update->last_field_id};
    set_source(update->arena, &field, source_id);
    if (addition->name.length) {
        field.name = nl_arena_str(update->arena, addition->name);
    } else {
        const nl_schema_column *column = nl_schema_find_id(update->base.schema, source_id);
        field.name = generated_name(update->arena, column->full_name, &addition->transform, true);
    }
    return field;
}

static nl_status free_name(nl_spec_update *update, const nl_partition_field *added, nl_str asked_name)
{
    field_change *taken = find_by_name(update, added->name);
    if (!taken) return NULL;
    const nl_str freed = nl_arena_f(update->arena, NL_STR_FMT "_%d", NL_STR_ARG(taken->field.name), taken->field.field_id);
    if (taken->is_deleted) {
        taken->new_name = freed; /* matters in v1, where the field stays as void */
        return NULL;
    }
    if (is_void(&taken->field)) return rename_field(update, taken->field.name, freed, 1);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add duplicate partition field name: " NL_STR_FMT,
                         NL_STR_ARG(asked_name.length ? asked_name : added->name));
}

static nl_status check_added_time(nl_spec_update *update, const nl_partition_field *field)
{
    for (uint32_t i = 0; is_time(&field->transform) && i < update->added.count; i++) {
        const nl_partition_field *other = update->added.items[i];
        if (other->source_id != field->source_id || !is_time(&other->transform)) continue;
        const nl_str old_text = describe(update->arena, other);
        const nl_str new_text = describe(update->arena, field);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add redundant partition field: " NL_STR_FMT " conflicts with " NL_STR_FMT,
                             NL_STR_ARG(old_text), NL_STR_ARG(new_text));
    }
    return NULL;
}

/* How Java prints an unbound term: ref(name="s"), day(ref(name="ts")). */
static nl_str describe_term(nl_spec_update *update, nl_str source, const nl_transform *transform)
{
    if (transform->kind == NL_TRANSFORM_IDENTITY) return nl_arena_f(update->arena, "ref(name=\"" NL_STR_FMT "\")", NL_STR_ARG(source));
    const nl_str name = nl_transform_name(update->arena, transform);
    return nl_arena_f(update->arena, NL_STR_FMT "(ref(name=\"" NL_STR_FMT "\"))", NL_STR_ARG(name), NL_STR_ARG(source));
}

static nl_status duplicate(nl_spec_update *update, const nl_partition_addition *addition, const char *relation, const nl_partition_field *other)
{
    const nl_str term = describe_term(update, addition->source, &addition->transform);
    const nl_str text = describe(update->arena, other);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add duplicate partition field " NL_STR_FMT "=" NL_STR_FMT ", %s " NL_STR_FMT,
                         NL_STR_ARG(addition->name.length ? addition->name : NL_STR("null")), NL_STR_ARG(term), relation, NL_STR_ARG(text));
}

static nl_status check_source(nl_spec_update *update, const nl_schema_column *column, const nl_transform *transform)
{
    if (nl_transform_can_apply(transform, column->field->type) || nl_ice_type_is_nested(column->field->type)) return NULL;
    const nl_str name = nl_transform_name(update->arena, transform);
    const nl_str type = nl_ice_type_name(update->arena, column->field->type);
    return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot bind: " NL_STR_FMT " cannot transform " NL_STR_FMT " values from '" NL_STR_FMT "'",
                         NL_STR_ARG(name), NL_STR_ARG(type), NL_STR_ARG(column->full_name));
}

nl_status nl_spec_update_add(nl_spec_update *update, const nl_partition_addition *addition)
{
    const nl_schema_column *column;
    const nl_partition_field *known = addition->name.length ? find_added(update, addition->name) : NULL;
    if (known) {
        const nl_str text = describe(update->arena, known);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add duplicate partition field: " NL_STR_FMT, NL_STR_ARG(text));
    }
    NL_TRY(resolve(update, addition->source, &column));
    NL_TRY(check_source(update, column, &addition->transform));
    const int32_t source_id = column->field->id;
    field_change *existing = find_by_transform(update, source_id, &addition->transform);
    if (existing && existing->is_deleted) { /* dropped and added again: nothing happened, or a rename */
        existing->is_deleted = false;
        if (!addition->name.length || nl_str_equal(addition->name, existing->field.name)) return NULL;
        return nl_spec_update_rename(update, existing->field.name, addition->name);
    }
    if (existing) return duplicate(update, addition, "conflicts with", &existing->field);
    known = find_added_transform(update, source_id, &addition->transform);
    if (known) return duplicate(update, addition, "already added:", known);

    nl_partition_field *added = NL_NEW(update->arena, nl_partition_field);
    *added = recycle_or_create(update, source_id, addition);
    NL_TRY(check_added_time(update, added));
    NL_TRY(free_name(update, added, addition->name));
    nl_list_add(update->arena, &update->added, added);
    return nl_arena_check(update->arena);
}

static nl_status remove_change(field_change *change)
{
    if (change->new_name.data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot rename and delete partition field: " NL_STR_FMT, NL_STR_ARG(change->field.name));
    change->is_deleted = true;
    return NULL;
}

static nl_status refuse_newly_added(nl_spec_update *update, const nl_partition_field *added)
{
    const nl_str text = describe(update->arena, added);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot delete newly added field: " NL_STR_FMT, NL_STR_ARG(text));
}

nl_status nl_spec_update_remove_name(nl_spec_update *update, nl_str name)
{
    const nl_partition_field *added = find_added(update, name);
    if (added) return refuse_newly_added(update, added);
    field_change *change = find_by_name(update, name);
    if (!change) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find partition field to remove: " NL_STR_FMT, NL_STR_ARG(name));
    return remove_change(change);
}

nl_status nl_spec_update_remove(nl_spec_update *update, nl_str source, const nl_transform *transform)
{
    const nl_schema_column *column;
    NL_TRY(resolve(update, source, &column));
    const nl_partition_field *added = find_added_transform(update, column->field->id, transform);
    if (added) return refuse_newly_added(update, added);
    field_change *change = find_by_transform(update, column->field->id, transform);
    if (!change) {
        const nl_str term = describe_term(update, source, transform);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find partition field to remove: " NL_STR_FMT, NL_STR_ARG(term));
    }
    return remove_change(change);
}

nl_status nl_spec_update_apply(nl_spec_update *update, const nl_partition_spec **spec, int32_t *last_field_id)
{
    const size_t count_max = (size_t)update->change_count + update->added.count + 1;
    nl_partition_field *fields = NL_NEW_ARRAY(update->arena, nl_partition_field, count_max);
    uint32_t count = 0;
    for (uint32_t i = 0; i < update->change_count; i++) {
        const field_change *change = &update->changes[i];
        /* v1 has no field ids in its manifests: positions must stay, so a dropped field becomes void. */
        if (change->is_deleted && update->base.format_version >= 2) continue;
        nl_partition_field field = change->field;
        if (change->is_deleted) field.transform = (nl_transform){.kind = NL_TRANSFORM_VOID};
        if (change->new_name.data) field.name = change->new_name;
        NL_TRY(check_name(update->base.schema, fields, count, &field, true));
        fields[count++] = field;
    }
    for (uint32_t i = 0; i < update->added.count; i++) {
        const nl_partition_field *field = update->added.items[i];
        NL_TRY(check_name(update->base.schema, fields, count, field, true));
        fields[count++] = *field;
    }
    nl_partition_spec *made = NL_NEW(update->arena, nl_partition_spec);
    *made = (nl_partition_spec){.spec_id = update->base.spec->spec_id, .field_count = count, .fields = fields};
    NL_TRY(nl_partition_spec_check(update->arena, made, update->base.schema));
    NL_TRY(nl_arena_check(update->arena));
    *spec = made;
    *last_field_id = update->last_field_id;
    return NULL;
}

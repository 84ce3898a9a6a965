/* format/orc/mapping.c - see mapping.h. */
#include "format/orc/mapping.h"

static nl_status mismatch(const nl_orc_tail *tail, const nl_orc_type *file, const nl_type *type, nl_arena *arena)
{
    const nl_str name = nl_type_name(arena, type);
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The column " NL_STR_FMT " of " NL_STR_FMT " is ORC's %s and cannot be read as " NL_STR_FMT, NL_STR_ARG(file->path), NL_STR_ARG(tail->path),
                         nl_orc_kind_name(file->kind), NL_STR_ARG(name));
}

static int32_t id_of(const nl_orc_tail *tail, const nl_orc_read_options *options, const nl_orc_type *file)
{
    return tail->has_field_ids || !options->field_id_of ? file->field_id : options->field_id_of(options->argument, file);
}

/* Hive wrote no names for a long time: all are _col0, _col1 …, which Spark takes by place. */
static bool has_no_names(const nl_orc_type *parent)
{
    for (uint32_t i = 0; i < parent->child_count; i++)
        if (!nl_str_starts(parent->children[i]->name, NL_STR("_col"))) return false;
    return parent->child_count > 0;
}

/* *found: NULL when the file lacks the field. */
static nl_status find_field(const nl_orc_tail *tail, const nl_orc_read_options *options, const nl_orc_type *parent, const nl_field *field, const nl_orc_type **found)
{
    *found = NULL;
    const bool has_ids = tail->has_field_ids || options->field_id_of;
    for (uint32_t i = 0; i < parent->child_count; i++) {
        const nl_orc_type *child = parent->children[i];
        bool is_it;
        if (options->match == NL_ORC_MATCH_FIELD_ID && has_ids) is_it = field->field_id > 0 && id_of(tail, options, child) == field->field_id;
        else if (options->match == NL_ORC_MATCH_NAME_NOCASE) is_it = nl_str_equal_nocase(child->name, field->name);
        else is_it = nl_str_equal(child->name, field->name);
        if (!is_it) continue;
        if (*found && options->match == NL_ORC_MATCH_NAME_NOCASE)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Found duplicate field(s) \"" NL_STR_FMT "\": [" NL_STR_FMT ", " NL_STR_FMT "] in case-insensitive mode", NL_STR_ARG(field->name),
                                 NL_STR_ARG((*found)->name), NL_STR_ARG(child->name));
        if (!*found) *found = child;
    }
    return NULL;
}

static bool is_whole(nl_orc_kind kind)
{
    return kind == NL_ORC_BYTE || kind == NL_ORC_SHORT || kind == NL_ORC_INT || kind == NL_ORC_LONG;
}

/* Of types without children. False: the file's does not read as the wanted one. */
static bool choose_action(nl_orc_plan *plan, bool is_iceberg)
{
    const nl_orc_kind kind = plan->file->kind;
    plan->factor = 1;
    switch (plan->type->id) {
    case NL_TYPE_BOOLEAN: plan->action = NL_ORC_READ_BOOLEAN; return kind == NL_ORC_BOOLEAN;
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT: plan->action = NL_ORC_READ_INTEGER; return is_whole(kind);
    case NL_TYPE_INTERVAL_YM: plan->action = NL_ORC_READ_INTEGER; return kind == NL_ORC_INT;
    case NL_TYPE_INTERVAL_DT: plan->action = NL_ORC_READ_INTEGER; return kind == NL_ORC_LONG;
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
        plan->action = is_whole(kind) ? NL_ORC_READ_INTEGER : NL_ORC_READ_REAL;
        return is_whole(kind) || kind == NL_ORC_DOUBLE || kind == NL_ORC_FLOAT;
    case NL_TYPE_DECIMAL:
        plan->action = is_whole(kind) ? NL_ORC_READ_INTEGER : NL_ORC_READ_DECIMAL;
        return is_whole(kind) || kind == NL_ORC_DECIMAL;
    case NL_TYPE_STRING:
        plan->action = kind == NL_ORC_BINARY ? NL_ORC_READ_UUID : NL_ORC_READ_TEXT;
        if (kind == NL_ORC_BINARY) return nl_str_is(plan->file->binary_type, "UUID");
        return kind == NL_ORC_STRING || kind == NL_ORC_VARCHAR || kind == NL_ORC_CHAR;
    case NL_TYPE_BINARY: plan->action = NL_ORC_READ_TEXT; return kind == NL_ORC_BINARY || kind == NL_ORC_STRING || kind == NL_ORC_VARCHAR;
    case NL_TYPE_DATE: plan->action = NL_ORC_READ_DAYS; return kind == NL_ORC_DATE;
    case NL_TYPE_TIMESTAMP: plan->action = NL_ORC_READ_TIME; return (kind == NL_ORC_TIMESTAMP && !is_iceberg) || kind == NL_ORC_TIMESTAMP_INSTANT; /* wall-clock times are of no zone that Iceberg knows */
    case NL_TYPE_TIMESTAMP_NTZ:
        plan->action = kind == NL_ORC_LONG ? NL_ORC_READ_INTEGER : kind == NL_ORC_DATE ? NL_ORC_READ_DAYS : NL_ORC_READ_TIME;
        return kind == NL_ORC_LONG || kind == NL_ORC_DATE || kind == NL_ORC_TIMESTAMP;
    case NL_TYPE_NULL:
    case NL_TYPE_INTERVAL:
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT: break;
    }
    return false;
}

/* True recursion: types have a limited depth. */
static nl_status plan_value(const nl_orc_tail *tail, const nl_orc_type *file, const nl_type *type, const nl_orc_read_options *options, nl_arena *arena, nl_orc_plan *plan)
{
    *plan = (nl_orc_plan){.file = file, .type = type};
    if (type->id == NL_TYPE_NULL) {
        *plan = (nl_orc_plan){.type = type};
        return NULL;
    }
    const bool is_struct = type->id == NL_TYPE_STRUCT && file->kind == NL_ORC_STRUCT;
    const bool is_list = (type->id == NL_TYPE_ARRAY && file->kind == NL_ORC_LIST) || (type->id == NL_TYPE_MAP && file->kind == NL_ORC_MAP);
    if (!is_struct && !is_list) return choose_action(plan, options->match == NL_ORC_MATCH_FIELD_ID) ? NULL : mismatch(tail, file, type, arena);
    plan->action = is_list ? NL_ORC_READ_LIST : NL_ORC_READ_STRUCT;
    plan->child_count = type->child_count;
    plan->children = NL_NEW_ARRAY(arena, nl_orc_plan, type->child_count + 1);
    const bool is_by_place = is_struct && file->id == 0 && options->match != NL_ORC_MATCH_FIELD_ID && has_no_names(file);
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        const nl_orc_type *found = is_list ? file->children[i] : NULL;
        const nl_value *missing = NULL;
        if (is_by_place) {
            const uint32_t place = options->place_of ? options->place_of(options->argument, field) : i;
            found = place < file->child_count ? file->children[place] : NULL;
        } else if (is_struct) {
            NL_TRY(find_field(tail, options, file, field, &found));
        }
        if (found) {
            NL_TRY(plan_value(tail, found, field->type, options, arena, &plan->children[i]));
            continue;
        }
        if (options->missing_value_of && !options->missing_value_of(options->argument, field, &missing)) missing = NULL;
        plan->children[i] = (nl_orc_plan){.type = field->type, .missing = missing};
    }
    return nl_arena_check(arena);
}

nl_status nl_orc_plan_make(const nl_orc_tail *tail, const nl_type *wanted, const nl_orc_read_options *options, nl_arena *arena, nl_orc_plan *plan)
{
    return plan_value(tail, tail->root, wanted, options, arena, plan);
}

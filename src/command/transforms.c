/* command/transforms.c - see transforms.h. */
#include "command/transforms.h"

typedef struct transform_name {
    const char *name;
    nl_transform_kind kind;
} transform_name;

static const transform_name names[] = {
    {"identity", NL_TRANSFORM_IDENTITY}, {"bucket", NL_TRANSFORM_BUCKET}, {"truncate", NL_TRANSFORM_TRUNCATE}, {"year", NL_TRANSFORM_YEAR},
    {"years", NL_TRANSFORM_YEAR},        {"month", NL_TRANSFORM_MONTH},   {"months", NL_TRANSFORM_MONTH},      {"day", NL_TRANSFORM_DAY},
    {"days", NL_TRANSFORM_DAY},          {"date", NL_TRANSFORM_DAY},      {"hour", NL_TRANSFORM_HOUR},         {"hours", NL_TRANSFORM_HOUR},
    {"date_hour", NL_TRANSFORM_HOUR},    {"date_and_hour", NL_TRANSFORM_HOUR}, {"void", NL_TRANSFORM_VOID},
};

static nl_str dotted(nl_command *command, const nl_ast_name *name)
{
    nl_str text = {"", 0};
    for (uint32_t i = 0; i < name->count; i++)
        text = i ? nl_arena_f(command->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(name->parts[i].text)) : name->parts[i].text;
    return text;
}

static nl_status not_supported(nl_command *command, const nl_ast_partition_field *field)
{
    const nl_str text = nl_str_slice(command->text, field->range.start, field->range.stop);
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Transform is not supported: " NL_STR_FMT, NL_STR_ARG(text));
}

/* One column, and for bucket and truncate one positive number, in either order. */
static nl_status read_arguments(nl_command *command, const nl_ast_partition_field *field, nl_partition_addition *addition)
{
    const bool has_width = addition->transform.kind == NL_TRANSFORM_BUCKET || addition->transform.kind == NL_TRANSFORM_TRUNCATE;
    bool has_column = false;
    for (uint32_t i = 0; i < field->argument_count; i++) {
        const nl_ast_transform_argument *argument = &field->arguments[i];
        if (argument->column.count > 0) {
            if (has_column) return not_supported(command, field);
            addition->source = dotted(command, &argument->column);
            has_column = true;
            continue;
        }
        nl_value value;
        NL_TRY(nl_analyze_constant(&command->context, argument->constant, &value));
        if (!has_width || value.is_null || !nl_type_is_integral(value.type) || value.integer <= 0 || value.integer > INT32_MAX)
            return not_supported(command, field);
        addition->transform.width = (int32_t)value.integer;
    }
    return has_column && has_width == (addition->transform.width > 0) ? NULL : not_supported(command, field);
}

nl_status nl_partition_addition_of(nl_command *command, const nl_ast_partition_field *field, nl_partition_addition *addition)
{
    *addition = (nl_partition_addition){.transform.kind = NL_TRANSFORM_IDENTITY};
    if (field->new_column) {
        addition->source = field->new_column->name.text;
        return NULL;
    }
    if (!field->transform.text.data) {
        addition->source = dotted(command, &field->column);
        return NULL;
    }
    for (uint32_t i = 0; i < NL_COUNT(names); i++) {
        if (!nl_str_is_nocase(field->transform.text, names[i].name)) continue;
        addition->transform.kind = names[i].kind;
        return read_arguments(command, field, addition);
    }
    return not_supported(command, field);
}

const nl_type *nl_all_nullable(nl_arena *arena, const nl_type *type)
{
    if (type->id == NL_TYPE_ARRAY) return nl_type_array(arena, nl_all_nullable(arena, type->children[0].type), true);
    if (type->id == NL_TYPE_MAP)
        return nl_type_map(arena, nl_all_nullable(arena, type->children[0].type), nl_all_nullable(arena, type->children[1].type), true);
    if (type->id != NL_TYPE_STRUCT) return type;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->child_count);
    for (uint32_t i = 0; i < type->child_count; i++) {
        fields[i] = type->children[i];
        fields[i].type = nl_all_nullable(arena, fields[i].type);
        fields[i].is_nullable = true;
    }
    return nl_type_struct(arena, fields, type->child_count);
}

nl_status nl_commit_staged(nl_iceberg_table *table)
{
    const nl_table_metadata *staged = nl_iceberg_table_metadata(table), *committed = NULL;
    nl_status status = table->store->ops->swap(table->store, staged, staged, table->memory, &committed);
    nl_table_metadata_release(staged);
    nl_table_metadata_release(committed);
    return status;
}

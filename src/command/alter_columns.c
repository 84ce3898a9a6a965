/* command/alter_columns.c - ALTER TABLE's columns: Spark's checks against the table, then one schema change of Iceberg's. */
#include "command/alter_table.h"

#include "function/coercion.h"
#include "iceberg/name_mapping.h"
#include "iceberg/schema_update.h"

typedef struct column_alteration { /* one attempt to change the schema */
    nl_alter *alter;
    nl_arena *arena;
    const nl_schema *schema;
    const nl_type *row_type;
    nl_schema_update *update;
} column_alteration;

/* ---- Names ---- */

static nl_str join_name(nl_arena *arena, const nl_ast_name *name, uint32_t count)
{
    nl_str text = {"", 0};
    for (uint32_t i = 0; i < count; i++)
        text = i ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(name->parts[i].text)) : name->parts[i].text;
    return text;
}

static nl_str child_name(nl_arena *arena, nl_str parent, nl_str name)
{
    return parent.length ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(parent), NL_STR_ARG(name)) : name;
}

static nl_str quoted(column_alteration *self, const nl_ast_name *name, uint32_t count)
{
    nl_str *parts = NL_NEW_ARRAY(self->arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = name->parts[i].text;
    return nl_command_quoted(self->alter->command, parts, count);
}

static nl_str last_part(const nl_ast_name *name)
{
    return name->parts[name->count - 1].text;
}

static nl_status unresolved(column_alteration *self, nl_str object, nl_ast_range range)
{
    nl_builder proposal;
    nl_builder_init(&proposal, 1 << 20);
    for (uint32_t i = 0; i < self->row_type->child_count; i++)
        nl_append_f(&proposal, "%s`" NL_STR_FMT "`", i ? ", " : "", NL_STR_ARG(self->row_type->children[i].name));
    nl_status status = NL_RAISE(UNRESOLVED_COLUMN__WITH_SUGGESTION, NL_P_STR("objectName", object), NL_P("proposal", nl_builder_c(&proposal)));
    nl_builder_fini(&proposal);
    return nl_command_at(self->alter->command, status, range);
}

static const nl_schema_column *find(column_alteration *self, nl_str name)
{
    return nl_schema_find_name(self->schema, name, self->alter->command->context.is_case_sensitive);
}

/* The first `count` parts of a name as a column of the table; count 0: NULL, the top level. */
static nl_status resolve(column_alteration *self, const nl_ast_name *name, uint32_t count, const nl_schema_column **column)
{
    *column = NULL;
    if (count == 0) return NULL;
    *column = find(self, join_name(self->arena, name, count));
    return *column ? NULL : unresolved(self, quoted(self, name, count), name->range);
}

static nl_str full_name(const nl_schema_column *column)
{
    return column ? column->full_name : (nl_str){"", 0};
}

static nl_status check_free(column_alteration *self, const char *operation, const nl_schema_column *parent, nl_str name)
{
    const nl_str shown_parts[2] = {full_name(parent), name};
    if (!find(self, child_name(self->arena, full_name(parent), name))) return NULL;
    const nl_str shown = parent ? nl_command_quoted(self->alter->command, shown_parts, 2) : nl_command_quoted(self->alter->command, &name, 1);
    const nl_str type = nl_type_sql(self->arena, self->row_type);
    const nl_str in_quotes = nl_arena_f(self->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(type));
    return nl_command_at(self->alter->command, NL_RAISE(FIELD_ALREADY_EXISTS, NL_P("op", operation), NL_P_STR("fieldNames", shown), NL_P_STR("struct", in_quotes)),
                         (nl_ast_range){0});
}

/* ---- Single changes ---- */

static nl_status move_column(column_alteration *self, nl_str moved, nl_str parent, const nl_ast_column_position *position)
{
    if (position->kind == NL_AST_POSITION_UNSAID) return NULL;
    if (position->kind == NL_AST_POSITION_FIRST) return nl_schema_update_move_first(self->update, moved);
    return nl_schema_update_move_after(self->update, moved, child_name(self->arena, parent, position->after.text));
}

/* AFTER must name a field beside the new one: of the table, or added by this statement. */
static nl_status check_after(column_alteration *self, const nl_schema_column *parent, const nl_ast_alter_column *column, uint32_t index)
{
    if (column->position.kind != NL_AST_POSITION_AFTER) return NULL;
    if (find(self, child_name(self->arena, full_name(parent), column->position.after.text))) return NULL;
    for (uint32_t i = 0; i < index; i++)
        if (nl_str_equal_nocase(last_part(&self->alter->ast->columns[i].column), column->position.after.text)) return NULL;
    const nl_ice_type *type = parent ? parent->field->type : self->schema->root;
    nl_builder fields;
    nl_builder_init(&fields, 1 << 20);
    for (uint32_t i = 0; type->id == NL_ICE_STRUCT && i < type->field_count; i++)
        nl_append_f(&fields, "%s" NL_STR_FMT, i ? ", " : "", NL_STR_ARG(type->fields[i].name));
    const nl_str name = last_part(&column->column);
    nl_status status = NL_RAISE(FIELD_NOT_FOUND, NL_P_STR("fieldName", nl_command_quoted(self->alter->command, &name, 1)), NL_P("fields", nl_builder_c(&fields)));
    nl_builder_fini(&fields);
    return status;
}

static nl_status new_type(column_alteration *self, const nl_ast_type *ast, const nl_ice_type **type)
{
    const nl_type *sql = NULL;
    NL_TRY(nl_ast_type_to_type(self->arena, ast, &sql));
    return nl_ice_type_from_sql(self->arena, sql, type);
}

static nl_status add_column(column_alteration *self, uint32_t index, bool is_replacement)
{
    const nl_ast_alter_column *column = &self->alter->ast->columns[index];
    const nl_schema_column *parent = NULL;
    const nl_str name = last_part(&column->column);
    NL_TRY(resolve(self, &column->column, column->column.count - 1, &parent));
    if (!is_replacement) NL_TRY(check_free(self, "add", parent, name));
    NL_TRY(check_after(self, parent, column, index));
    if (column->default_value)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot add column " NL_STR_FMT " since setting default values in Spark is currently unsupported", NL_STR_ARG(name));
    nl_column_addition addition = {.parent = full_name(parent), .name = name, .is_required = column->is_not_null};
    if (column->has_comment) addition.doc = column->comment;
    NL_TRY(new_type(self, column->type, &addition.type));
    NL_TRY(nl_schema_update_add(self->update, &addition));
    return move_column(self, child_name(self->arena, addition.parent, name), addition.parent, &column->position);
}

static nl_status drop_columns(column_alteration *self)
{
    const nl_ast_names *names = &self->alter->ast->names;
    for (uint32_t i = 0; i < names->count; i++) {
        const nl_ast_name *name = &names->items[i];
        const nl_schema_column *column = find(self, join_name(self->arena, name, name->count));
        if (!column && self->alter->ast->is_if_exists) continue;
        if (!column) return unresolved(self, quoted(self, name, name->count), name->range);
        NL_TRY(nl_schema_update_delete(self->update, column->full_name));
    }
    return NULL;
}

static nl_status rename_column(column_alteration *self)
{
    const nl_ast_alter_table *ast = self->alter->ast;
    const nl_schema_column *column = NULL, *parent = NULL;
    NL_TRY(resolve(self, &ast->column, ast->column.count, &column));
    NL_TRY(resolve(self, &ast->column, ast->column.count - 1, &parent));
    const bool is_same = nl_str_equal_nocase(column->field->name, ast->new_name.text);
    if (!is_same) NL_TRY(check_free(self, "rename", parent, ast->new_name.text));
    return nl_schema_update_rename(self->update, column->full_name, ast->new_name.text);
}

static nl_status change_type(column_alteration *self, const nl_schema_column *column, const nl_ast_alter_column *change)
{
    nl_command *command = self->alter->command;
    const nl_type *wanted = NULL, *present = NULL;
    const nl_ice_type *type = NULL;
    const nl_str table = nl_command_quoted_name(command, &self->alter->name);
    const nl_str field = quoted(self, &change->column, change->column.count);
    NL_TRY(nl_ast_type_to_type(self->arena, change->type, &wanted));
    NL_TRY(nl_ice_type_to_sql(self->arena, column->field->type, &present));
    if (nl_type_equal(present, wanted)) return NULL;
    if (present->id == NL_TYPE_STRUCT) return NL_RAISE(CANNOT_UPDATE_FIELD__STRUCT_TYPE, NL_P_STR("table", table), NL_P_STR("fieldName", field));
    if (present->id == NL_TYPE_MAP) return NL_RAISE(CANNOT_UPDATE_FIELD__MAP_TYPE, NL_P_STR("table", table), NL_P_STR("fieldName", field));
    if (present->id == NL_TYPE_ARRAY) return NL_RAISE(CANNOT_UPDATE_FIELD__ARRAY_TYPE, NL_P_STR("table", table), NL_P_STR("fieldName", field));
    if (!nl_is_upcast(present, wanted) && wanted->id != NL_TYPE_STRING) {
        const nl_str from = nl_type_sql(self->arena, present), to = nl_type_sql(self->arena, wanted);
        return NL_RAISE(NOT_SUPPORTED_CHANGE_COLUMN, NL_P_STR("table", table), NL_P_STR("originName", field), NL_P_STR("newName", field),
                        NL_P_STR("originType", nl_arena_f(self->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(from))),
                        NL_P_STR("newType", nl_arena_f(self->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(to))));
    }
    NL_TRY(nl_ice_type_from_sql(self->arena, wanted, &type));
    return nl_schema_update_type(self->update, column->full_name, type);
}

static nl_status alter_column(column_alteration *self, const nl_ast_alter_column *change)
{
    const nl_schema_column *column = NULL, *parent = NULL;
    NL_TRY(resolve(self, &change->column, change->column.count, &column));
    NL_TRY(resolve(self, &change->column, change->column.count - 1, &parent));
    if (change->default_value || change->is_drop_default)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot apply unknown table change: the DEFAULT value of column " NL_STR_FMT, NL_STR_ARG(column->full_name));
    if (change->is_not_null && !column->field->is_required)
        return NL_RAISE(_LEGACY_ERROR_TEMP_2330, NL_P_STR("fieldName", column->full_name));
    if (change->type) NL_TRY(change_type(self, column, change));
    if (change->is_drop_not_null) NL_TRY(nl_schema_update_make_optional(self->update, column->full_name));
    if (change->has_comment) NL_TRY(nl_schema_update_doc(self->update, column->full_name, change->comment));
    if (change->position.kind == NL_AST_POSITION_AFTER &&
        !find(self, child_name(self->arena, full_name(parent), change->position.after.text))) {
        const nl_str parts[2] = {full_name(parent), change->position.after.text};
        const nl_str shown = parent ? nl_command_quoted(self->alter->command, parts, 2) : nl_command_quoted(self->alter->command, &parts[1], 1);
        return unresolved(self, shown, (nl_ast_range){0});
    }
    return move_column(self, column->full_name, full_name(parent), &change->position);
}

static nl_status replace_columns(column_alteration *self)
{
    for (uint32_t i = 0; i < self->schema->root->field_count; i++)
        NL_TRY(nl_schema_update_delete(self->update, self->schema->root->fields[i].name));
    for (uint32_t i = 0; i < self->alter->ast->column_count; i++)
        NL_TRY(add_column(self, i, true));
    return NULL;
}

static nl_status identifier_fields(column_alteration *self, bool is_drop)
{
    const nl_ast_names *names = &self->alter->ast->names;
    const uint32_t present_count = is_drop ? self->schema->identifier_count : 0;
    nl_str *list = NL_NEW_ARRAY(self->arena, nl_str, present_count + names->count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < present_count; i++)
        list[count++] = nl_schema_find_id(self->schema, self->schema->identifier_ids[i])->full_name;
    for (uint32_t i = 0; i < names->count; i++) {
        const nl_str name = join_name(self->arena, &names->items[i], names->items[i].count);
        if (!is_drop) {
            list[count++] = name;
            continue;
        }
        uint32_t at = 0;
        while (at < count && !nl_str_equal(list[at], name)) at++;
        if (at == count)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot complete drop identifier fields operation: " NL_STR_FMT " is not an identifier field", NL_STR_ARG(name));
        list[at] = list[--count];
    }
    return nl_schema_update_identifier_fields(self->update, list, count);
}

static nl_status collect(column_alteration *self)
{
    const nl_ast_alter_table *ast = self->alter->ast;
    if (ast->action == NL_AST_ALTER_DROP_COLUMNS) return drop_columns(self);
    if (ast->action == NL_AST_ALTER_RENAME_COLUMN) return rename_column(self);
    if (ast->action == NL_AST_ALTER_REPLACE_COLUMNS) return replace_columns(self);
    if (ast->action == NL_AST_ALTER_SET_IDENTIFIER_FIELDS) return identifier_fields(self, false);
    if (ast->action == NL_AST_ALTER_DROP_IDENTIFIER_FIELDS) return identifier_fields(self, true);
    for (uint32_t i = 0; i < ast->column_count; i++)
        NL_TRY(ast->action == NL_AST_ALTER_ADD_COLUMNS ? add_column(self, i, false) : alter_column(self, &ast->columns[i]));
    return NULL;
}

/* ---- The commit ---- */

/* Files without field ids are read by the table's name mapping: it follows the schema. */
static nl_status update_mapping(column_alteration *self, const nl_table_metadata *base, const nl_schema *schema, nl_metadata_builder *builder)
{
    const nl_str present = nl_table_property(base, "schema.name-mapping.default", NULL);
    nl_name_mapping old_mapping, mapping;
    nl_builder json;
    if (!present.data) return NULL;
    NL_TRY(nl_name_mapping_parse(self->arena, present, &old_mapping));
    nl_name_mapping_update(self->arena, &old_mapping, self->schema, schema, &mapping);
    nl_builder_init(&json, NL_METADATA_BYTES_MAX);
    nl_name_mapping_append_json(&mapping, &json);
    nl_property *property = NL_NEW(self->arena, nl_property);
    *property = (nl_property){NL_STR("schema.name-mapping.default"), nl_arena_str(self->arena, nl_builder_str(&json))};
    nl_builder_fini(&json);
    const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {.items = property, .count = 1}};
    return nl_metadata_builder_apply(builder, &update);
}

static nl_status change_columns(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    column_alteration self = {.alter = argument, .arena = arena, .schema = nl_table_schema(base)};
    const nl_schema_update_options options = {.last_column_id = base->last_column_id, .format_version = base->format_version};
    nl_table_update add = {.kind = NL_UPDATE_ADD_SCHEMA};
    NL_TRY(nl_ice_type_to_sql(arena, self.schema->root, &self.row_type));
    self.update = nl_schema_update_new(arena, self.schema, &options);
    NL_TRY(collect(&self));
    NL_TRY(nl_schema_update_apply(self.update, &add.add_schema.schema, &add.add_schema.last_column_id));
    const nl_table_update use = {.kind = NL_UPDATE_SET_CURRENT_SCHEMA, .id = NL_LAST_ADDED};
    NL_TRY(nl_metadata_builder_apply(builder, &add));
    NL_TRY(nl_metadata_builder_apply(builder, &use));
    return update_mapping(&self, base, add.add_schema.schema, builder);
}

nl_status nl_alter_columns(nl_alter *self)
{
    const nl_ast_alter_action action = self->ast->action;
    nl_status status = nl_table_change(self->table, change_columns, self);
    if (action == NL_AST_ALTER_SET_IDENTIFIER_FIELDS || action == NL_AST_ALTER_DROP_IDENTIFIER_FIELDS) return status;
    return nl_alter_unsupported(status);
}

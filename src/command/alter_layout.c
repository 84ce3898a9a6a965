/* command/alter_layout.c - ALTER TABLE … PARTITION FIELD and WRITE ORDERED BY: how a table lays out new files. */
#include "command/alter_table.h"
#include "command/transforms.h"

/* ---- Partition fields ---- */

typedef struct field_change {
    nl_alter *alter;
    nl_partition_addition removed, added;
    nl_str removed_name; /* data not NULL: a plain name, of a partition field unless a column has it */
    bool has_removal, has_addition;
} field_change;

static nl_status remove_field(const field_change *self, const nl_schema *schema, nl_spec_update *update)
{
    if (self->removed_name.data && !nl_schema_find_name(schema, self->removed_name, true)) return nl_spec_update_remove_name(update, self->removed_name);
    return nl_spec_update_remove(update, self->removed.source, &self->removed.transform);
}

static nl_status change_fields(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const field_change *self = argument;
    const nl_spec_update_base from = {
        .format_version = base->format_version,
        .schema = nl_table_schema(base),
        .spec = nl_table_spec(base),
        .all_specs = base->specs,
        .spec_count = base->spec_count,
        .last_field_id = base->last_partition_id,
        .is_case_insensitive = !self->alter->command->context.is_case_sensitive,
    };
    nl_spec_update *update = nl_spec_update_new(arena, &from);
    const nl_partition_spec *spec = NULL;
    int32_t last_field_id = 0;
    if (self->has_removal) NL_TRY(remove_field(self, from.schema, update));
    if (self->has_addition) NL_TRY(nl_spec_update_add(update, &self->added));
    NL_TRY(nl_spec_update_apply(update, &spec, &last_field_id));
    const nl_table_update add = {.kind = NL_UPDATE_ADD_SPEC, .spec = spec};
    const nl_table_update use = {.kind = NL_UPDATE_SET_DEFAULT_SPEC, .id = NL_LAST_ADDED};
    NL_TRY(nl_metadata_builder_apply(builder, &add));
    return nl_metadata_builder_apply(builder, &use);
}

nl_status nl_alter_partition_fields(nl_alter *self)
{
    const nl_ast_alter_table *ast = self->ast;
    field_change change = {.alter = self};
    const bool is_addition = ast->action == NL_AST_ALTER_ADD_PARTITION_FIELD;
    const nl_ast_partition_field *added = is_addition ? ast->field : ast->by;
    if (!is_addition) {
        change.has_removal = true;
        NL_TRY(nl_partition_addition_of(self->command, ast->field, &change.removed));
        if (!ast->field->transform.text.data && ast->field->column.count == 1) change.removed_name = ast->field->column.parts[0].text;
    }
    if (ast->action != NL_AST_ALTER_DROP_PARTITION_FIELD) {
        change.has_addition = true;
        NL_TRY(nl_partition_addition_of(self->command, added, &change.added));
        if (ast->new_name.text.data) change.added.name = ast->new_name.text;
    }
    return nl_table_change(self->table, change_fields, &change);
}

/* ---- Write order and distribution ---- */

typedef struct write_change {
    nl_alter *alter;
    const nl_partition_addition *terms; /* one per order */
} write_change;

static nl_status sort_order_of(const write_change *self, const nl_schema *schema, nl_arena *arena, const nl_sort_order **order)
{
    const nl_ast_write_spec *write = self->alter->ast->write;
    nl_sort_field *fields = NL_NEW_ARRAY(arena, nl_sort_field, write->order_count + 1);
    for (uint32_t i = 0; i < write->order_count; i++) {
        const nl_ast_write_order *item = &write->orders[i];
        const nl_schema_column *source = nl_schema_find_name(schema, self->terms[i].source, self->alter->command->context.is_case_sensitive);
        if (!source) {
            const nl_str struct_name = nl_ice_type_name(arena, schema->root);
            return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find field '" NL_STR_FMT "' in struct: " NL_STR_FMT, NL_STR_ARG(self->terms[i].source),
                                 NL_STR_ARG(struct_name));
        }
        fields[i] = (nl_sort_field){
            .transform = self->terms[i].transform,
            .source_id = source->field->id,
            .is_descending = item->is_descending,
            .nulls_last = !item->is_nulls_first,
        };
    }
    nl_sort_order *made = NL_NEW(arena, nl_sort_order);
    *made = (nl_sort_order){.order_id = write->order_count ? 1 : 0, .field_count = write->order_count, .fields = fields};
    *order = made;
    return write->order_count ? nl_sort_order_check(arena, made, schema) : NULL;
}

/* DISTRIBUTED BY PARTITION: hash; UNORDERED: none; LOCALLY ORDERED: as it was; ORDERED: range. */
static const char *distribution_mode(const nl_ast_write_spec *write)
{
    if (write->is_distributed) return "hash";
    if (write->is_unordered) return "none";
    return write->is_locally ? NULL : "range";
}

static nl_status change_write(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const write_change *self = argument;
    const nl_sort_order *order = NULL;
    NL_TRY(sort_order_of(self, nl_table_schema(base), arena, &order));
    const nl_table_update add = {.kind = NL_UPDATE_ADD_SORT_ORDER, .sort_order = order};
    const nl_table_update use = {.kind = NL_UPDATE_SET_DEFAULT_SORT_ORDER, .id = NL_LAST_ADDED};
    NL_TRY(nl_metadata_builder_apply(builder, &add));
    NL_TRY(nl_metadata_builder_apply(builder, &use));
    const char *mode = distribution_mode(self->alter->ast->write);
    if (!mode) return NULL;
    nl_property *property = NL_NEW(arena, nl_property);
    *property = (nl_property){NL_STR("write.distribution-mode"), nl_str_from(mode)};
    const nl_table_update set = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {.items = property, .count = 1}};
    return nl_metadata_builder_apply(builder, &set);
}

nl_status nl_alter_write(nl_alter *self)
{
    const nl_ast_write_spec *write = self->ast->write;
    nl_partition_addition *terms = NL_NEW_ARRAY(self->command->arena, nl_partition_addition, write->order_count + 1);
    write_change change = {.alter = self, .terms = terms};
    for (uint32_t i = 0; i < write->order_count; i++)
        NL_TRY(nl_partition_addition_of(self->command, &write->orders[i].field, &terms[i]));
    return nl_table_change(self->table, change_write, &change);
}

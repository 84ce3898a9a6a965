/* command/alter_table.c - ALTER TABLE: properties, location, name, branches and tags; the larger parts have files of
 * their own. */
#include "command/alter_table.h"
#include "command/plain_tables.h"

#include "base/number.h"
#include "command/views.h"

#define MILLIS_PER_MINUTE 60000LL
#define MINUTES_PER_HOUR  60LL
#define MINUTES_PER_DAY   1440LL

nl_status nl_alter_unsupported(nl_status status)
{
    if (!status || nl_error_condition(status) != NL_COND_NILAS_ILLEGAL_ARGUMENT) return status;
    nl_status wrapped = NL_RAISE(_LEGACY_ERROR_TEMP_2045, NL_P("message", nl_error_param(status, "message")));
    nl_error_free(status);
    return wrapped;
}

/* ---- Properties ---- */

typedef struct property_change {
    const nl_property *items;
    uint32_t count;
    int32_t format_version; /* 0: not asked for */
    bool is_removal;
} property_change;

static nl_status change_properties(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const property_change *change = argument;
    (void)arena;
    if (change->format_version && change->format_version < base->format_version)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot downgrade v%d table to v%d", base->format_version, change->format_version);
    if (change->format_version && change->format_version != base->format_version) {
        const nl_table_update upgrade = {.kind = NL_UPDATE_UPGRADE_FORMAT_VERSION, .id = change->format_version};
        NL_TRY(nl_metadata_builder_apply(builder, &upgrade));
    }
    if (change->count == 0) return NULL;
    const nl_table_update update = {
        .kind = change->is_removal ? NL_UPDATE_REMOVE_PROPERTIES : NL_UPDATE_SET_PROPERTIES,
        .properties = {.items = change->items, .count = change->count},
    };
    return nl_metadata_builder_apply(builder, &update);
}

static nl_status number_of(const nl_property *property, int64_t *number)
{
    if (nl_parse_int64(property->value, number)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot parse the property " NL_STR_FMT " as a number: " NL_STR_FMT, NL_STR_ARG(property->key),
                         NL_STR_ARG(property->value));
}

/* Keys that are commands in disguise (Iceberg's SparkCatalog.alterTable) are done here and taken out of the list. */
static nl_status take_special(nl_alter *self, const nl_property *property, property_change *change, bool *is_taken)
{
    int64_t number = 0, created = 0;
    *is_taken = true;
    if (nl_str_is(property->key, "current-snapshot-id")) {
        NL_TRY(number_of(property, &number));
        return nl_set_current_snapshot(self->table, number);
    }
    if (nl_str_is(property->key, "cherry-pick-snapshot-id")) {
        NL_TRY(number_of(property, &number));
        return nl_cherrypick(self->table, number, &created);
    }
    if (nl_str_is(property->key, "format-version")) {
        NL_TRY(number_of(property, &number));
        if (number < 1 || number > NL_FORMAT_VERSION_MAX)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot upgrade table to unsupported format version: v%lld (supported: v%d)", (long long)number,
                                 NL_FORMAT_VERSION_MAX);
        change->format_version = (int32_t)number;
        return NULL;
    }
    if (nl_str_is(property->key, "sort-order"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot specify the 'sort-order' because it's a reserved table property. Please use the command "
                                                "'ALTER TABLE ... WRITE ORDERED BY' to specify write sort-orders.");
    if (nl_str_is(property->key, "identifier-fields"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot specify the 'identifier-fields' because it's a reserved table property. Please use the command "
                                                "'ALTER TABLE ... SET IDENTIFIER FIELDS' to specify identifier fields.");
    *is_taken = false;
    return NULL;
}

static nl_status set_properties(nl_alter *self)
{
    const nl_property *given;
    property_change change = {0};
    uint32_t given_count;
    nl_command_properties(self->command, self->ast->properties, &given, &given_count);
    nl_property *kept = NL_NEW_ARRAY(self->command->arena, nl_property, given_count);
    for (uint32_t i = 0; i < given_count; i++) {
        bool is_taken = false;
        NL_TRY(take_special(self, &given[i], &change, &is_taken));
        if (!is_taken) kept[change.count++] = given[i];
    }
    change.items = kept;
    return nl_table_change(self->table, change_properties, &change);
}

static nl_status unset_properties(nl_alter *self)
{
    property_change change = {.is_removal = true};
    nl_command_properties(self->command, self->ast->properties, &change.items, &change.count);
    return nl_table_change(self->table, change_properties, &change);
}

nl_status nl_run_comment_on(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_comment_on *comment = statement->comment_on;
    const nl_property property = {NL_STR("comment"), comment->is_null ? (nl_str){"", 0} : comment->comment};
    property_change change = {.items = &property, .count = 1};
    nl_session_name name = {0};
    nl_iceberg_table *table = NULL;
    if (comment->is_namespace) {
        const nl_str *parts;
        uint32_t count;
        NL_TRY(nl_command_name(command, &comment->name, &parts, &count));
        NL_TRY(nl_session_resolve_namespace(command->session, parts, count, command->arena, &name));
        return nl_catalog_update_namespace(name.catalog, name.identifier.namespace_parts, name.identifier.namespace_count, &property, 1, NULL, 0);
    }
    const nl_plain_table *plain = NULL;
    NL_TRY(nl_command_refuse_view(command, &comment->name, "COMMENT ON TABLE"));
    NL_TRY(nl_plain_find_name(command, &comment->name, &plain));
    if (plain) return nl_plain_comment(command, plain, property.value);
    nl_status status = nl_command_load_table(command, &comment->name, &name, &table);
    if (status && nl_error_condition(status) == NL_COND_TABLE_OR_VIEW_NOT_FOUND) {
        nl_error *deeper = nl_check_session_namespace(command, &name);
        if (deeper) nl_error_free(status);
        return deeper ? deeper : status;
    }
    NL_TRY(status);
    status = nl_table_change(table, change_properties, &change);
    nl_iceberg_table_release(table);
    return status;
}

static nl_status change_location(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const nl_str *location = argument;
    (void)base, (void)arena;
    const nl_table_update update = {.kind = NL_UPDATE_SET_LOCATION, .text = *location};
    return nl_metadata_builder_apply(builder, &update);
}

static nl_status set_location(nl_alter *self)
{
    nl_str location = self->ast->location;
    if (self->ast->partition) return NL_RAISE(_LEGACY_ERROR_TEMP_1045);
    if (strcmp(self->name.catalog->ops->type, "hadoop") == 0)
        return NL_RAISE(_LEGACY_ERROR_TEMP_2045, NL_P("message", "Hadoop path-based tables cannot be relocated"));
    return nl_alter_unsupported(nl_table_change(self->table, change_location, &location));
}

/* ---- Branches and tags ---- */

static int64_t millis(int64_t count, nl_ast_time_unit unit)
{
    switch (unit) {
    case NL_AST_TIME_NONE: return NL_NONE;
    case NL_AST_TIME_MINUTES: return count * MILLIS_PER_MINUTE;
    case NL_AST_TIME_HOURS: return count * MINUTES_PER_HOUR * MILLIS_PER_MINUTE;
    case NL_AST_TIME_DAYS: return count * MINUTES_PER_DAY * MILLIS_PER_MINUTE;
    }
    return NL_NONE;
}

static bool table_is_empty(nl_iceberg_table *table)
{
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    const bool is_empty = metadata->current_snapshot_id == NL_NONE;
    nl_table_metadata_release(metadata);
    return is_empty;
}

static nl_status create_ref(nl_alter *self)
{
    const nl_ast_ref_options *ref = self->ast->ref;
    const nl_ref_change change = {
        .is_tag = ref->is_tag,
        .is_create = ref->is_create,
        .is_replace = ref->is_replace,
        .is_if_not_exists = ref->is_if_not_exists,
        .name = ref->name.text,
        .snapshot_id = ref->has_version ? ref->version : NL_NONE,
        .max_ref_age_ms = millis(ref->retain, ref->retain_unit),
        .max_snapshot_age_ms = ref->has_snapshot_retention ? millis(ref->max_age, ref->max_age_unit) : NL_NONE,
        .min_snapshots_to_keep = ref->has_min_snapshots ? (int32_t)NL_MIN(ref->min_snapshots, (int64_t)INT32_MAX) : (int32_t)NL_NONE,
    };
    if ((ref->is_tag || !ref->is_create) && !ref->has_version && table_is_empty(self->table)) {
        const nl_str shown = nl_command_dotted_name(self->command, &(nl_session_name){.identifier = self->name.identifier});
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot complete %s %s operation on " NL_STR_FMT ", main has no snapshot",
                             ref->is_tag ? "create or replace" : "replace", ref->is_tag ? "tag" : "branch", NL_STR_ARG(shown));
    }
    return nl_change_ref(self->table, &change);
}

static nl_status drop_ref(nl_alter *self)
{
    return nl_drop_ref(self->table, self->ast->ref->name.text, self->ast->ref->is_tag, self->ast->is_if_exists);
}

/* ---- Names ---- */

/* RENAME TO: one part stays in the table's namespace; the catalog's own name in front is taken off. */
static nl_status rename_table(nl_alter *self)
{
    const nl_str *parts;
    uint32_t count;
    NL_TRY(nl_command_name(self->command, &self->ast->rename_to, &parts, &count));
    nl_identifier to = {.namespace_parts = parts, .namespace_count = count - 1, .name = parts[count - 1]};
    if (count == 1) {
        to.namespace_parts = self->name.identifier.namespace_parts;
        to.namespace_count = self->name.identifier.namespace_count;
    } else if (count > 2 && nl_str_equal(parts[0], self->name.catalog_name)) {
        to.namespace_parts++;
        to.namespace_count--;
    }
    return nl_catalog_rename_table(self->name.catalog, &self->name.identifier, &to);
}

static nl_status not_for_v2(const char *command)
{
    return NL_RAISE(NOT_SUPPORTED_COMMAND_FOR_V2_TABLE, NL_P("cmd", command));
}

static nl_status run_action(nl_alter *self)
{
    switch (self->ast->action) {
    case NL_AST_ALTER_ADD_COLUMNS:
    case NL_AST_ALTER_RENAME_COLUMN:
    case NL_AST_ALTER_DROP_COLUMNS:
    case NL_AST_ALTER_COLUMNS:
    case NL_AST_ALTER_CHANGE_COLUMN:
    case NL_AST_ALTER_REPLACE_COLUMNS:
    case NL_AST_ALTER_SET_IDENTIFIER_FIELDS:
    case NL_AST_ALTER_DROP_IDENTIFIER_FIELDS: return nl_alter_columns(self);
    case NL_AST_ALTER_RENAME_TABLE: return rename_table(self);
    case NL_AST_ALTER_SET_PROPERTIES: return nl_alter_unsupported(set_properties(self));
    case NL_AST_ALTER_UNSET_PROPERTIES: return nl_alter_unsupported(unset_properties(self));
    case NL_AST_ALTER_SET_LOCATION: return set_location(self);
    case NL_AST_ALTER_ADD_PARTITION_FIELD:
    case NL_AST_ALTER_DROP_PARTITION_FIELD:
    case NL_AST_ALTER_REPLACE_PARTITION_FIELD: return nl_alter_partition_fields(self);
    case NL_AST_ALTER_WRITE: return nl_alter_write(self);
    case NL_AST_ALTER_CREATE_REF: return create_ref(self);
    case NL_AST_ALTER_DROP_REF: return drop_ref(self);
    case NL_AST_ALTER_ADD_PARTITIONS:
    case NL_AST_ALTER_RENAME_PARTITION:
    case NL_AST_ALTER_DROP_PARTITIONS:
        return nl_command_at(self->command,
                             NL_RAISE(INVALID_PARTITION_OPERATION__PARTITION_MANAGEMENT_IS_UNSUPPORTED,
                                      NL_P_STR("name", nl_command_quoted_name(self->command, &self->name))),
                             self->ast->name.range);
    case NL_AST_ALTER_SET_SERDE: return not_for_v2("ALTER TABLE ... SET [SERDE|SERDEPROPERTIES]");
    case NL_AST_ALTER_RECOVER_PARTITIONS: return not_for_v2("ALTER TABLE ... RECOVER PARTITIONS");
    case NL_AST_ALTER_CLUSTER_BY: return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot apply unknown table change: CLUSTER BY");
    case NL_AST_ALTER_COLLATION: return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot apply unknown table change: DEFAULT COLLATION");
    }
    return NULL;
}

/* As Spark names it when the name is a view's. */
static const char *operation_name(nl_ast_alter_action action)
{
    switch (action) {
    case NL_AST_ALTER_ADD_COLUMNS: return "ALTER TABLE ... ADD COLUMN";
    case NL_AST_ALTER_RENAME_COLUMN: return "ALTER TABLE ... RENAME COLUMN";
    case NL_AST_ALTER_DROP_COLUMNS: return "ALTER TABLE ... DROP COLUMN";
    case NL_AST_ALTER_COLUMNS: return "ALTER TABLE ... ALTER COLUMN";
    case NL_AST_ALTER_CHANGE_COLUMN: return "ALTER TABLE ... CHANGE COLUMN";
    case NL_AST_ALTER_REPLACE_COLUMNS: return "ALTER TABLE ... REPLACE COLUMNS";
    case NL_AST_ALTER_SET_PROPERTIES: return "ALTER TABLE ... SET TBLPROPERTIES";
    case NL_AST_ALTER_UNSET_PROPERTIES: return "ALTER TABLE ... UNSET TBLPROPERTIES";
    case NL_AST_ALTER_SET_LOCATION: return "ALTER TABLE ... SET LOCATION ...";
    case NL_AST_ALTER_RENAME_TABLE: return "ALTER TABLE ... RENAME TO";
    case NL_AST_ALTER_ADD_PARTITIONS: return "ALTER TABLE ... ADD PARTITION ...";
    case NL_AST_ALTER_DROP_PARTITIONS: return "ALTER TABLE ... DROP PARTITION ...";
    case NL_AST_ALTER_RENAME_PARTITION: return "ALTER TABLE ... RENAME TO PARTITION";
    case NL_AST_ALTER_RECOVER_PARTITIONS: return "ALTER TABLE ... RECOVER PARTITIONS";
    case NL_AST_ALTER_SET_IDENTIFIER_FIELDS:
    case NL_AST_ALTER_DROP_IDENTIFIER_FIELDS:
    case NL_AST_ALTER_ADD_PARTITION_FIELD:
    case NL_AST_ALTER_DROP_PARTITION_FIELD:
    case NL_AST_ALTER_REPLACE_PARTITION_FIELD:
    case NL_AST_ALTER_WRITE:
    case NL_AST_ALTER_CREATE_REF:
    case NL_AST_ALTER_DROP_REF:
    case NL_AST_ALTER_SET_SERDE:
    case NL_AST_ALTER_CLUSTER_BY:
    case NL_AST_ALTER_COLLATION: break;
    }
    return "ALTER TABLE";
}

nl_status nl_run_alter_table(nl_command *command, const nl_ast_statement *statement)
{
    nl_alter self = {.command = command, .ast = statement->alter_table};
    if (self.ast->is_view) return nl_alter_view_table(command, self.ast);
    nl_status refused = nl_command_refuse_view(command, &self.ast->name, operation_name(self.ast->action));
    if (refused && self.ast->action == NL_AST_ALTER_RENAME_TABLE) {
        nl_error_free(refused); /* a view is renamed like a table */
        return nl_alter_view_table(command, self.ast);
    }
    NL_TRY(refused);
    const nl_plain_table *plain;
    NL_TRY(nl_plain_find_name(command, &self.ast->name, &plain));
    if (plain) return nl_plain_alter(command, plain, self.ast);
    NL_TRY(nl_command_load_table(command, &self.ast->name, &self.name, &self.table));
    nl_status status = run_action(&self);
    nl_iceberg_table_release(self.table);
    return status;
}

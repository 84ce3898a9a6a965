/* command/call/changelog.c - create_changelog_view: a temporary view over TABLE.changes, written as SQL.
 *
 * Java walks sorted rows with iterators (RemoveCarryoverIterator, RemoveNetCarryoverIterator, ComputeUpdateIterator); here
 * the same is said with windows:
 *   carry-over   of n equal rows of one snapshot, d deleted and i inserted, |d - i| stay;
 *   net changes  of equal rows in their order, counted up for INSERT and down for DELETE, the sum at the end says how many
 *                stay, and the row after the count was last zero which;
 *   updates      DELETE and INSERT of one snapshot with the same identifier become the two halves of an update.
 */
#include "command/call/procedure.h"

#include "command/call/text.h"

enum { ARG_VIEW = 1, ARG_OPTIONS = 2, ARG_COMPUTE_UPDATES = 3, ARG_IDENTIFIERS = 4, ARG_NET_CHANGES = 5 };

#define CHANGE_COLUMNS "`_change_type`, `_change_ordinal`, `_commit_snapshot_id`"

typedef struct changelog {
    nl_call *call;
    const nl_schema *schema;
    nl_builder columns; /* of the table, quoted */
    nl_builder keys;    /* what tells one row from another: the columns, as text where they have no order */
    nl_str unordered;   /* names of columns without an order, "m, n" */
    nl_builder source;  /* TABLE.changes with its options */
} changelog;

static void write_parts(changelog *self)
{
    const nl_write_table *target = &self->call->target;
    const nl_property *options;
    uint32_t option_count;
    for (uint32_t i = 0; i < self->schema->root->field_count; i++) {
        const nl_str name = self->schema->root->fields[i].name;
        const bool has_order = nl_type_is_orderable(target->row_type->children[i].type);
        if (i) nl_append_c(&self->columns, ", ");
        nl_append_quoted_name(&self->columns, name);
        nl_append_c(&self->keys, i ? ", " : "");
        nl_append_c(&self->keys, has_order ? "" : "to_json(");
        nl_append_quoted_name(&self->keys, name);
        nl_append_c(&self->keys, has_order ? "" : ")");
        if (!has_order) self->unordered = nl_arena_f(self->call->command->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(self->unordered), self->unordered.length ? ", " : "", NL_STR_ARG(name));
    }
    nl_append_quoted_parts(&self->source, target->name_parts, target->name_count);
    nl_append_c(&self->source, ".`changes`");
    nl_call_map(self->call, ARG_OPTIONS, &options, &option_count);
    for (uint32_t i = 0; i < option_count; i++) {
        nl_append_c(&self->source, i ? ", " : " WITH (");
        nl_append_quoted_text(&self->source, options[i].key);
        nl_append_c(&self->source, " = ");
        nl_append_quoted_text(&self->source, options[i].value);
    }
    if (option_count) nl_append_char(&self->source, ')');
}

/* Rows of files that a snapshot wrote anew are no changes. */
static void write_without_carryover(const changelog *self, nl_builder *out)
{
    const nl_str columns = nl_builder_str(&self->columns), keys = nl_builder_str(&self->keys);
    nl_append_f(out, "SELECT " NL_STR_FMT ", " CHANGE_COLUMNS " FROM (SELECT " NL_STR_FMT ", " CHANGE_COLUMNS ", row_number() OVER w AS `_nilas_n`, "
                     "count_if(`_change_type` = 'DELETE') OVER p AS `_nilas_d`, count(*) OVER p AS `_nilas_a` FROM " NL_STR_FMT
                     " WINDOW p AS (PARTITION BY " NL_STR_FMT ", `_change_ordinal`), w AS (PARTITION BY " NL_STR_FMT ", `_change_ordinal` ORDER BY `_change_type`)) "
                     "WHERE if(`_change_type` = 'DELETE', `_nilas_n`, `_nilas_n` - `_nilas_d`) > least(`_nilas_d`, `_nilas_a` - `_nilas_d`)",
                NL_STR_ARG(columns), NL_STR_ARG(columns), NL_STR_ARG(nl_builder_str(&self->source)), NL_STR_ARG(keys), NL_STR_ARG(keys));
}

static void write_net_changes(const changelog *self, nl_builder *out)
{
    const nl_str columns = nl_builder_str(&self->columns), keys = nl_builder_str(&self->keys);
    nl_append_f(out, "SELECT " NL_STR_FMT ", " CHANGE_COLUMNS " FROM (SELECT *, max(if(`_nilas_s` = 0, `_nilas_n`, 0)) OVER p AS `_nilas_z`, sum(`_nilas_step`) OVER p AS `_nilas_t` FROM (SELECT *, row_number() OVER w AS `_nilas_n`, "
                     "sum(`_nilas_step`) OVER w AS `_nilas_s` FROM (SELECT " NL_STR_FMT ", " CHANGE_COLUMNS
                     ", if(`_change_type` = 'DELETE', -1, 1) AS `_nilas_step` FROM " NL_STR_FMT ") WINDOW w AS (PARTITION BY " NL_STR_FMT
                     " ORDER BY `_change_ordinal`, `_change_type` ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) WINDOW p AS (PARTITION BY " NL_STR_FMT ")) LATERAL VIEW explode(sequence(1, abs(`_nilas_t`))) AS `_nilas_copy` "
                     "WHERE `_nilas_t` <> 0 AND `_nilas_n` = `_nilas_z` + 1",
                NL_STR_ARG(columns), NL_STR_ARG(columns), NL_STR_ARG(nl_builder_str(&self->source)), NL_STR_ARG(keys), NL_STR_ARG(keys));
}

static nl_status write_updates(const changelog *self, const nl_str *identifiers, uint32_t identifier_count, nl_builder *out)
{
    const nl_str columns = nl_builder_str(&self->columns);
    nl_builder keys, names;
    nl_builder_init(&keys, 1 << 20);
    nl_builder_init(&names, 1 << 20);
    for (uint32_t i = 0; i < identifier_count; i++) {
        nl_append_quoted_name(&keys, identifiers[i]);
        nl_append_c(&keys, ", ");
        nl_append(&names, identifiers[i]);
        nl_append_char(&names, ',');
    }
    nl_append_c(&names, "_change_ordinal");
    nl_append_f(out, "SELECT " NL_STR_FMT ", CASE WHEN `_nilas_d` > 1 THEN raise_error(", NL_STR_ARG(columns));
    nl_builder message;
    nl_builder_init(&message, 1 << 20);
    nl_append_f(&message, "Cannot compute updates because there are multiple rows with the same identifier fields([" NL_STR_FMT "]). Please make sure the rows are unique.",
                NL_STR_ARG(nl_builder_str(&names)));
    nl_append_quoted_text(out, nl_builder_str(&message));
    nl_append_c(out, ") WHEN `_nilas_d` = 1 AND `_nilas_a` > 1 AND `_nilas_n` = 1 THEN 'UPDATE_BEFORE' WHEN `_nilas_d` = 1 AND `_nilas_n` = 2 THEN 'UPDATE_AFTER' ELSE `_change_type` END AS `_change_type`, "
                     "`_change_ordinal`, `_commit_snapshot_id` FROM (SELECT *, row_number() OVER w AS `_nilas_n`, count_if(`_change_type` = 'DELETE') OVER p AS `_nilas_d`, count(*) OVER p AS `_nilas_a` FROM (");
    write_without_carryover(self, out);
    nl_append_f(out, ") WINDOW p AS (PARTITION BY " NL_STR_FMT "`_change_ordinal`), w AS (PARTITION BY " NL_STR_FMT "`_change_ordinal` ORDER BY `_change_type`))",
                NL_STR_ARG(nl_builder_str(&keys)), NL_STR_ARG(nl_builder_str(&keys)));
    nl_builder_fini(&message);
    nl_builder_fini(&names);
    nl_builder_fini(&keys);
    return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static nl_status find_identifiers(const changelog *self, const nl_str **names, uint32_t *count)
{
    nl_call *call = self->call;
    nl_arena *arena = call->command->arena;
    const bool is_given = nl_call_has(call, ARG_IDENTIFIERS);
    const nl_value *list = &call->arguments[ARG_IDENTIFIERS];
    *count = is_given ? list->list.count : self->schema->identifier_count;
    nl_str *found = NL_NEW_ARRAY(arena, nl_str, *count);
    if (*count == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot compute the update images because identifier columns are not set");
    for (uint32_t i = 0; i < *count; i++) {
        const nl_schema_column *column =
            is_given ? nl_schema_find_name(self->schema, list->list.items[i].text, false) : nl_schema_find_id(self->schema, self->schema->identifier_ids[i]);
        if (column && column->parent_id == 0) {
            found[i] = column->field->name;
            continue;
        }
        const nl_str name = is_given ? list->list.items[i].text : column->full_name;
        return NL_RAISE(UNRESOLVED_COLUMN__WITH_SUGGESTION, NL_P_STR("objectName", nl_command_quoted(call->command, &name, 1)),
                        NL_P_STR("proposal", nl_arena_f(arena, NL_STR_FMT ", " CHANGE_COLUMNS, NL_STR_ARG(nl_builder_str(&self->columns)))));
    }
    *names = found;
    return NULL;
}

/* The answer has the name as it was given; the default one comes in back-quotes. */
static nl_status name_view(nl_call *call, nl_str *shown, nl_str *name)
{
    nl_arena *arena = call->command->arena;
    nl_ast_name parsed;
    const nl_str table = call->table_name.parts[call->table_name.count - 1].text;
    *shown = nl_call_has(call, ARG_VIEW) ? nl_call_text(call, ARG_VIEW) : nl_arena_f(arena, "`" NL_STR_FMT "_changes`", NL_STR_ARG(table));
    NL_TRY(nl_sql_parse_name(arena, *shown, NULL, &parsed));
    if (parsed.count != 1) return NL_RAISE(TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS, NL_P_STR("actualName", *shown));
    *name = parsed.parts[0].text;
    return NULL;
}

static nl_status write_view(const changelog *self, nl_builder *sql)
{
    nl_call *call = self->call;
    const bool nets = nl_call_bool(call, ARG_NET_CHANGES, false);
    if (nl_call_bool(call, ARG_COMPUTE_UPDATES, nl_call_has(call, ARG_IDENTIFIERS))) {
        const nl_str *identifiers = NULL;
        uint32_t identifier_count = 0;
        if (nets) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Not support net changes with update images");
        NL_TRY(find_identifiers(self, &identifiers, &identifier_count));
        return write_updates(self, identifiers, identifier_count, sql);
    }
    const bool has_identifiers = nl_call_has(call, ARG_IDENTIFIERS) ? call->arguments[ARG_IDENTIFIERS].list.count > 0 : self->schema->identifier_count > 0;
    if (self->unordered.length && !has_identifiers)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Identifier field is required as table contains unorderable columns: [" NL_STR_FMT "]", NL_STR_ARG(self->unordered));
    if (nets)
        write_net_changes(self, sql);
    else
        write_without_carryover(self, sql);
    return NULL;
}

nl_status nl_call_create_changelog_view(nl_call *call)
{
    changelog self = {.call = call, .schema = nl_table_schema(call->target.metadata)};
    nl_builder sql;
    nl_str shown, name;
    NL_TRY(name_view(call, &shown, &name));
    nl_builder_init(&self.columns, 1 << 24);
    nl_builder_init(&self.keys, 1 << 24);
    nl_builder_init(&self.source, 1 << 24);
    nl_builder_init(&sql, 1 << 26);
    write_parts(&self);
    nl_status status = write_view(&self, &sql);
    if (!status) {
        nl_temp_view view = {.name = name, .sql = nl_builder_str(&sql), .catalog = nl_session_current_catalog(call->command->session)};
        nl_session_current_namespace(call->command->session, &view.namespace_parts, &view.namespace_count);
        status = nl_session_put_view(call->command->session, &view, true);
    }
    nl_builder_fini(&sql);
    nl_builder_fini(&self.source);
    nl_builder_fini(&self.keys);
    nl_builder_fini(&self.columns);
    return status ? status : nl_rows_add_text(call->rows, &shown);
}

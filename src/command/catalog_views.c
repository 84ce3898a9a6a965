/* command/catalog_views.c - views that a catalog keeps, as Iceberg's Spark extensions make and read them. */
#include "command/catalog_views.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "iceberg/operation.h"

#define QUERY_COLUMNS "spark.query-column-names" /* joined by commas */

static const char *const reserved[] = {"comment", "owner", "provider", "location", "format-version", "create_engine_version", "engine_version", QUERY_COLUMNS};

static bool is_reserved(nl_str key)
{
    for (size_t i = 0; i < NL_COUNT(reserved); i++)
        if (nl_str_is(key, reserved[i])) return true;
    return false;
}

/* ---- finding and expanding ------------------------------------------------------------------------------------- */

static void release_view(void *view)
{
    nl_view_metadata_release(view);
}

nl_status nl_catalog_view_find(nl_command *command, const nl_session_name *name, const nl_view_metadata **view)
{
    *view = NULL;
    if (!name->catalog->ops->has_views || !name->catalog->ops->load_view) return NULL;
    nl_error *error = name->catalog->ops->load_view(name->catalog, &name->identifier, view);
    if (error) {
        *view = NULL;
        const nl_condition condition = nl_error_condition(error);
        if (condition != NL_COND_TABLE_OR_VIEW_NOT_FOUND && condition != NL_COND_VIEW_NOT_FOUND && condition != NL_COND_SCHEMA_NOT_FOUND &&
            condition != NL_COND_NILAS_NO_SUCH_NAMESPACE)
            return error;
        nl_error_free(error);
        return NULL;
    }
    nl_arena_on_free(command->arena, release_view, NL_UNCONST(*view));
    return NULL;
}

static const nl_str *scope_of(nl_command *command, const nl_session_name *name, const nl_view_metadata *view, uint32_t *scope_count)
{
    const nl_view_version *version = nl_view_current_version(view);
    nl_str *scope = NL_NEW_ARRAY(command->arena, nl_str, version->default_namespace_count + 1);
    scope[0] = version->default_catalog.length ? version->default_catalog : name->catalog_name;
    for (uint32_t i = 0; i < version->default_namespace_count; i++) scope[i + 1] = version->default_namespace[i];
    *scope_count = version->default_namespace_count + 1;
    return scope;
}

static nl_status columns_of(nl_command *command, const nl_view_metadata *view, const nl_type **row_type)
{
    return nl_ice_type_to_sql(command->arena, nl_view_schema(view)->root, row_type);
}

static nl_status no_spark_text(nl_command *command, const nl_session_name *name)
{
    const nl_str text = nl_command_dotted_name(command, name);
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot load SQL for view " NL_STR_FMT ": it has no text in the dialect spark", NL_STR_ARG(text));
}

nl_status nl_catalog_view_resolve(nl_command *command, const nl_session_name *name, const nl_view_metadata *view, nl_resolved_relation *found)
{
    const nl_view_representation *text = nl_view_representation_of(view, NL_STR("spark"));
    const nl_str full = nl_command_dotted_name(command, name);
    nl_ast_statement *statement = NULL;
    const nl_type *row_type;
    if (!text) return no_spark_text(command, name);
    if (command->made_view && nl_str_equal_nocase(command->made_view->name, full))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Recursive cycle in view detected: " NL_STR_FMT " (cycle: " NL_STR_FMT " -> " NL_STR_FMT ")", NL_STR_ARG(full),
                             NL_STR_ARG(full), NL_STR_ARG(full));
    found->view_text = text->sql;
    NL_TRY_NOTE(nl_sql_parse(command->arena, text->sql, NULL, &statement), "parsing view " NL_STR_FMT, NL_STR_ARG(full));
    if (statement->kind != NL_AST_STATEMENT_QUERY)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The text of view " NL_STR_FMT " is no query", NL_STR_ARG(full));
    found->view = statement->query;
    found->view_namespace = scope_of(command, name, view, &found->view_namespace_count);
    NL_TRY(columns_of(command, view, &row_type));
    found->view_columns = row_type->children;
    found->view_column_count = row_type->child_count;
    return NULL;
}

nl_status nl_catalog_view_as_temporary(nl_command *command, const nl_session_name *name, const nl_view_metadata *view, const nl_temp_view **as)
{
    const nl_view_representation *text = nl_view_representation_of(view, NL_STR("spark"));
    uint32_t scope_count;
    const nl_str *scope = scope_of(command, name, view, &scope_count);
    const nl_str comment = nl_view_property(view, "comment");
    nl_temp_view *made = NL_NEW(command->arena, nl_temp_view);
    if (!text) return no_spark_text(command, name);
    *made = (nl_temp_view){.name = nl_command_dotted_name(command, name),
                           .sql = text->sql,
                           .catalog = scope[0],
                           .namespace_parts = scope + 1,
                           .namespace_count = scope_count - 1,
                           .comment = comment};
    nl_catalog_view_properties(command, view, true, &made->properties, &made->property_count);
    *as = made;
    return NULL;
}

/* ---- showing --------------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return nl_str_compare(((const nl_property *)a)->key, ((const nl_property *)b)->key);
}

void nl_catalog_view_properties(nl_command *command, const nl_view_metadata *view, bool is_sorted, const nl_property **items, uint32_t *count)
{
    nl_property *shown = NL_NEW_ARRAY(command->arena, nl_property, view->property_count + 3);
    uint32_t shown_count = 0;
    shown[shown_count++] = (nl_property){NL_STR("location"), view->location};
    shown[shown_count++] = (nl_property){NL_STR("provider"), NL_STR("iceberg")};
    shown[shown_count++] = (nl_property){NL_STR("format-version"), NL_STR("1")};
    for (uint32_t i = 0; i < view->property_count; i++)
        if (!is_reserved(view->properties[i].key)) shown[shown_count++] = view->properties[i];
    qsort(shown + 3, shown_count - 3, sizeof(*shown), compare_keys);
    if (is_sorted) qsort(shown, shown_count, sizeof(*shown), compare_keys);
    *items = shown;
    *count = shown_count;
}

nl_str nl_catalog_view_query_columns(nl_command *command, const nl_view_metadata *view)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 24);
    const nl_str names = nl_view_property(view, QUERY_COLUMNS);
    nl_append_char(&text, '[');
    for (size_t i = 0; i < names.length; i++) {
        nl_append_char(&text, names.data[i]);
        if (names.data[i] == ',') nl_append_char(&text, ' ');
    }
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

/* ---- creating -------------------------------------------------------------------------------------------------- */

typedef struct creation {
    nl_command *command;
    const nl_ast_create_view *create;
    const nl_session_name *name;
    const nl_logical *plan;
    const nl_schema *schema;
    nl_str query_columns;
    const nl_property *properties;
    uint32_t property_count;
} creation;

static nl_str column_list(nl_command *command, const nl_ast_create_view *create)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 24);
    for (uint32_t i = 0; i < create->column_count; i++) nl_append_f(&text, "%s" NL_STR_FMT, i ? ", " : "", NL_STR_ARG(create->columns[i].name.text));
    return nl_facts_take(command, &text);
}

static nl_str plan_columns(nl_command *command, const nl_logical *plan, const char *separator)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 24);
    for (uint32_t i = 0; i < plan->column_count; i++) nl_append_f(&text, "%s" NL_STR_FMT, i ? separator : "", NL_STR_ARG(plan->columns[i].name));
    return nl_facts_take(command, &text);
}

static nl_status check_arity(creation *self)
{
    const nl_str name = nl_command_dotted_name(self->command, self->name);
    const nl_str wanted = column_list(self->command, self->create), given = plan_columns(self->command, self->plan, ", ");
    if (self->create->column_count == 0 || self->create->column_count == self->plan->column_count) return NULL;
    if (self->create->column_count > self->plan->column_count)
        return NL_RAISE(CREATE_VIEW_COLUMN_ARITY_MISMATCH__NOT_ENOUGH_DATA_COLUMNS, NL_P_STR("viewName", name), NL_P_STR("viewColumns", wanted), NL_P_STR("dataColumns", given));
    return NL_RAISE(CREATE_VIEW_COLUMN_ARITY_MISMATCH__TOO_MANY_DATA_COLUMNS, NL_P_STR("viewName", name), NL_P_STR("viewColumns", wanted), NL_P_STR("dataColumns", given));
}

static nl_status make_schema(creation *self)
{
    nl_arena *arena = self->command->arena;
    const nl_ast_create_view *create = self->create;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, self->plan->column_count);
    const nl_ice_type *root, *fresh;
    int32_t last_id = -1; /* views count from 0 */
    for (uint32_t i = 0; i < self->plan->column_count; i++) {
        const nl_column *column = &self->plan->columns[i];
        const bool is_named = create->column_count > 0;
        fields[i] = (nl_field){.name = is_named ? create->columns[i].name.text : column->name,
                               .type = column->type,
                               .is_nullable = column->is_nullable,
                               .comment = is_named && create->columns[i].comment.length ? create->columns[i].comment : column->comment};
    }
    NL_TRY(nl_view_check_columns(self->command, self->plan, fields, self->plan->column_count));
    NL_TRY(nl_ice_type_from_sql(arena, nl_type_struct(arena, fields, self->plan->column_count), &root));
    NL_TRY(nl_schema_assign_fresh_ids(arena, root, NULL, &last_id, &fresh));
    return nl_schema_new(arena, 0, fresh, NULL, 0, &self->schema);
}

static void put(nl_property *items, uint32_t *count, nl_str key, nl_str value)
{
    uint32_t at = 0;
    while (at < *count && !nl_str_equal(items[at].key, key)) at++;
    items[at] = (nl_property){key, value};
    *count = NL_MAX(*count, at + 1);
}

/* view-default.K fills what the user left open, view-override.K wins. */
static void make_properties(creation *self)
{
    const nl_catalog *catalog = self->name->catalog;
    const nl_property *given;
    uint32_t given_count;
    nl_command_properties(self->command, self->create->properties, &given, &given_count);
    nl_property *items = NL_NEW_ARRAY(self->command->arena, nl_property, given_count + 2 * (size_t)catalog->property_count + 4);
    uint32_t count = 0;
    static const nl_str defaults = NL_STR_INIT("view-default."), overrides = NL_STR_INIT("view-override.");
    for (uint32_t i = 0; i < catalog->property_count; i++)
        if (nl_str_starts(catalog->properties[i].key, defaults))
            put(items, &count, nl_str_slice(catalog->properties[i].key, defaults.length, catalog->properties[i].key.length), catalog->properties[i].value);
    for (uint32_t i = 0; i < given_count; i++) put(items, &count, given[i].key, given[i].value);
    for (uint32_t i = 0; i < catalog->property_count; i++)
        if (nl_str_starts(catalog->properties[i].key, overrides))
            put(items, &count, nl_str_slice(catalog->properties[i].key, overrides.length, catalog->properties[i].key.length), catalog->properties[i].value);
    if (self->create->has_comment) put(items, &count, NL_STR("comment"), self->create->comment);
    put(items, &count, NL_STR("create_engine_version"), NL_STR("Spark 4.0.1"));
    put(items, &count, NL_STR("engine_version"), NL_STR("Spark 4.0.1"));
    put(items, &count, NL_STR(QUERY_COLUMNS), self->query_columns);
    self->properties = items;
    self->property_count = count;
}

static nl_view_version make_version(creation *self, nl_view_representation *text)
{
    nl_session *session = self->command->session;
    const nl_commit_environment *environment = &self->name->catalog->environment;
    nl_property *summary = NL_NEW_ARRAY(self->command->arena, nl_property, environment->property_count + 1);
    nl_view_version version = {.version_id = 1, .timestamp_ms = nl_now_micros() / 1000, .schema_id = -1, .representations = text, .representation_count = 1};
    for (uint32_t i = 0; i < environment->property_count; i++) /* the statement's own id says nothing of a view */
        if (nl_str_starts(environment->properties[i].key, NL_STR("engine-")) || nl_str_is(environment->properties[i].key, "iceberg-version"))
            summary[version.summary_count++] = environment->properties[i];
    version.summary = summary;
    *text = (nl_view_representation){NL_STR("sql"), self->create->query_text, NL_STR("spark")};
    const nl_str current = nl_session_current_catalog(session);
    if (!nl_str_equal(current, self->name->catalog_name)) version.default_catalog = current;
    nl_session_current_namespace(session, &version.default_namespace, &version.default_namespace_count);
    return version;
}

static nl_status view_exists_already(creation *self)
{
    nl_session_name without_catalog = *self->name;
    without_catalog.catalog_name = (nl_str){0};
    return NL_RAISE(VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_command_dotted_name(self->command, &without_catalog)));
}

static nl_status commit_new(creation *self, const nl_view_metadata *base)
{
    nl_catalog *catalog = self->name->catalog;
    nl_view_representation text;
    const nl_view_version version = make_version(self, &text);
    const nl_view_metadata *updated = NULL, *committed = NULL;
    nl_str location = NL_STR("");
    nl_view_update updates[5];
    uint32_t count = 0;
    if (!base) {
        NL_TRY(catalog->ops->default_location(catalog, &self->name->identifier, self->command->arena, &location));
        updates[count++] = (nl_view_update){.kind = NL_VIEW_SET_LOCATION, .text = location};
    }
    updates[count++] = (nl_view_update){.kind = NL_VIEW_ADD_SCHEMA, .schema = self->schema};
    updates[count++] = (nl_view_update){.kind = NL_VIEW_ADD_VERSION, .version = &version};
    updates[count++] = (nl_view_update){.kind = NL_VIEW_SET_CURRENT_VERSION, .number = -1};
    updates[count++] = (nl_view_update){.kind = NL_VIEW_SET_PROPERTIES, .properties = self->properties, .property_count = self->property_count};
    NL_TRY(nl_view_metadata_update(base, updates, count, catalog->memory, &updated));
    nl_status status = nl_say_unknown(catalog->ops->commit_view(catalog, &self->name->identifier, base, updated, updates, count, &committed), "the commit to", self->name->identifier.name);
    nl_view_metadata_release(updated);
    nl_view_metadata_release(committed);
    return status;
}

/* OR REPLACE keeps at it while others change the view; each attempt starts from what is there. */
static nl_status commit(creation *self)
{
    enum { ATTEMPTS = 5 };
    for (uint32_t attempt = 1;; attempt++) {
        const nl_view_metadata *base = NULL;
        NL_TRY(nl_catalog_view_find(self->command, self->name, &base));
        if (base && !self->create->is_replace) return self->create->is_if_not_exists ? NULL : view_exists_already(self);
        nl_status status = commit_new(self, base);
        if (!status) return NULL;
        const bool was_first = nl_error_condition(status) == NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS;
        if (was_first && !self->create->is_replace) {
            nl_error_free(status);
            return self->create->is_if_not_exists ? NULL : view_exists_already(self);
        }
        if (attempt == ATTEMPTS || (!was_first && nl_error_condition(status) != NL_COND_NILAS_COMMIT_FAILED)) return status;
        nl_error_free(status);
    }
}

nl_status nl_catalog_view_create(nl_command *command, const nl_ast_create_view *create, const nl_session_name *name)
{
    creation self = {.command = command, .create = create, .name = name};
    bool exists = false;
    nl_temp_view *made = NL_NEW(command->arena, nl_temp_view);
    made->name = nl_command_dotted_name(command, name);
    command->made_view = made;
    command->is_made_in_catalog = true;
    NL_TRY(nl_analyze_query(&command->context, create->query, &self.plan));
    NL_TRY(check_arity(&self));
    NL_TRY(make_schema(&self));
    self.query_columns = plan_columns(command, self.plan, ",");
    make_properties(&self);
    NL_TRY(nl_catalog_table_exists(name->catalog, &name->identifier, &exists));
    if (exists && create->is_replace) {
        const nl_str text = nl_command_dotted_name(command, &(nl_session_name){.identifier = name->identifier});
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Table with same name already exists: " NL_STR_FMT, NL_STR_ARG(text));
    }
    if (exists) return create->is_if_not_exists ? NULL : view_exists_already(&self);
    return commit(&self);
}

/* ---- altering -------------------------------------------------------------------------------------------------- */

static nl_status rename_view(nl_command *command, const nl_ast_alter_table *alter, const nl_session_name *name)
{
    nl_session_name to;
    const nl_str *parts;
    uint32_t part_count;
    NL_TRY(nl_command_name(command, &alter->rename_to, &parts, &part_count));
    NL_TRY(nl_session_resolve(command->session, parts, part_count, command->arena, &to));
    if (to.catalog != name->catalog)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot move view between catalogs: from=" NL_STR_FMT " and to=" NL_STR_FMT, NL_STR_ARG(name->catalog_name),
                             NL_STR_ARG(to.catalog_name));
    nl_status status = nl_say_unknown(name->catalog->ops->rename_view(name->catalog, &name->identifier, &to.identifier), "renaming", name->identifier.name);
    if (!status || nl_error_condition(status) != NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS) return status;
    nl_error_free(status);
    to.catalog_name = (nl_str){0};
    return NL_RAISE(VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_command_dotted_name(command, &to)));
}

static bool has_property(const nl_view_metadata *view, nl_str key)
{
    for (uint32_t i = 0; i < view->property_count; i++)
        if (nl_str_equal(view->properties[i].key, key)) return true;
    return false;
}

static nl_status check_properties(const nl_ast_alter_table *alter, bool is_set, const nl_view_metadata *view, const nl_property *given, uint32_t given_count)
{
    for (uint32_t i = 0; i < given_count; i++) {
        if (is_reserved(given[i].key)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot %s reserved property: '" NL_STR_FMT "'", is_set ? "set" : "unset", NL_STR_ARG(given[i].key));
        if (!is_set && !alter->is_if_exists && !has_property(view, given[i].key))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot remove property that is not set: '" NL_STR_FMT "'", NL_STR_ARG(given[i].key));
    }
    return NULL;
}

nl_status nl_catalog_view_alter(nl_command *command, const nl_ast_alter_table *alter, const nl_session_name *name, const nl_view_metadata *view)
{
    const bool is_set = alter->action == NL_AST_ALTER_SET_PROPERTIES;
    const nl_view_metadata *updated = NULL, *committed = NULL;
    const nl_property *given;
    uint32_t given_count;
    if (alter->action == NL_AST_ALTER_RENAME_TABLE) return rename_view(command, alter, name);
    if (!is_set && alter->action != NL_AST_ALTER_UNSET_PROPERTIES) return NL_RAISE(NOT_SUPPORTED_COMMAND_FOR_V2_TABLE, NL_P("cmd", "ALTER VIEW"));
    nl_command_properties(command, alter->properties, &given, &given_count);
    NL_TRY(check_properties(alter, is_set, view, given, given_count));
    const nl_view_update update = {.kind = is_set ? NL_VIEW_SET_PROPERTIES : NL_VIEW_REMOVE_PROPERTIES, .properties = given, .property_count = given_count};
    NL_TRY(nl_view_metadata_update(view, &update, 1, name->catalog->memory, &updated));
    nl_status status = nl_say_unknown(name->catalog->ops->commit_view(name->catalog, &name->identifier, view, updated, &update, 1, &committed), "the commit to", name->identifier.name);
    nl_view_metadata_release(updated);
    nl_view_metadata_release(committed);
    return status;
}

/* command/resolver.c - what a relation's name stands for: a temporary view, a table at a snapshot, a metadata table, a
 * view of the session, or files (format.`path`). */
#include "command/catalog_views.h"
#include "command/plain_tables.h"
#include "command/script.h"

#include "base/number.h"
#include "exec/sources.h"

static nl_command *command_of(nl_resolver *resolver)
{
    return NL_CONTAINER(resolver, nl_command, resolver);
}

static nl_status raise_temporary(nl_command *command, const char *object, nl_str name, const char *temporary, nl_str temporary_name)
{
    return NL_RAISE(INVALID_TEMP_OBJ_REFERENCE, NL_P("obj", object), NL_P_STR("objName", name), NL_P("tempObj", temporary),
                    NL_P_STR("tempObjName", nl_command_quoted(command, &temporary_name, 1)));
}

/* "`spark_catalog`.`db`.`v`" of the name that a view is kept by. */
static nl_str full_name(nl_command *command, nl_str name)
{
    nl_str part, quoted = {0};
    while (nl_str_next_part(&name, '.', &part))
        quoted = nl_arena_f(command->arena, NL_STR_FMT "%s`" NL_STR_FMT "`", NL_STR_ARG(quoted), quoted.length ? "." : "", NL_STR_ARG(part));
    return quoted;
}

static nl_status resolve_view(nl_command *command, const nl_temp_view *view, nl_resolved_relation *found)
{
    const nl_temp_view *made = command->made_view;
    if (made && made->is_global == view->is_global && nl_str_equal_nocase(made->name, view->name)) {
        const nl_str name = nl_command_quoted(command, &made->name, 1);
        return NL_RAISE(RECURSIVE_VIEW, NL_P_STR("viewIdent", name),
                        NL_P_STR("newPath", nl_arena_f(command->arena, NL_STR_FMT " -> " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(name))));
    }
    if (made && command->is_made_in_catalog && !nl_view_is_permanent(view))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create view " NL_STR_FMT " that references temporary view: [" NL_STR_FMT "]", NL_STR_ARG(made->name),
                             NL_STR_ARG(view->name));
    if (made && nl_view_is_permanent(made) && !nl_view_is_permanent(view))
        return raise_temporary(command, "VIEW", full_name(command, made->name), "VIEW", view->name);
    if (command->made_function.data && !nl_view_is_permanent(view)) return raise_temporary(command, "FUNCTION", command->made_function, "VIEW", view->name);
    if (view->make_query) {
        found->view_text = NL_STR("");
        return view->make_query(view->handle, command->session, command->arena, &found->view, &found->view_text);
    }
    if (view->sql.length == 0) {
        found->table = nl_table_retain(view->handle);
        return NULL;
    }
    nl_ast_statement *statement = NULL;
    found->view_text = nl_arena_str(command->arena, view->sql);
    NL_TRY_NOTE(nl_sql_parse(command->arena, found->view_text, NULL, &statement), "parsing view " NL_STR_FMT, NL_STR_ARG(view->name));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_QUERY);
    nl_str *scope = NL_NEW_ARRAY(command->arena, nl_str, view->namespace_count + 1);
    scope[0] = nl_arena_str(command->arena, view->catalog);
    for (uint32_t i = 0; i < view->namespace_count; i++)
        scope[i + 1] = nl_arena_str(command->arena, view->namespace_parts[i]);
    found->view = statement->query;
    found->view_namespace = scope;
    found->view_namespace_count = view->namespace_count + 1;
    found->view_collation = nl_arena_str(command->arena, view->collation);
    if (!view->columns) return NULL;
    const nl_temp_view *copy = nl_view_copy(command->arena, view); /* the plan may outlive the view */
    found->view_columns = copy->columns;
    found->view_column_count = copy->column_count;
    found->view_binding = copy->binding;
    found->view_query_columns = copy->query_columns;
    return NULL;
}

/* The suffixes of a table name that choose what is read of it. */
static bool parse_selector(nl_str text, nl_iceberg_read *read)
{
    int64_t number;
    if (nl_str_starts(text, NL_STR("branch_"))) {
        read->branch = nl_str_slice(text, 7, text.length);
    } else if (nl_str_starts(text, NL_STR("tag_"))) {
        read->tag = nl_str_slice(text, 4, text.length);
    } else if (nl_str_starts(text, NL_STR("at_timestamp_")) && nl_parse_int64(nl_str_slice(text, 13, text.length), &number)) {
        read->has_timestamp = true;
        read->as_of_ms = number;
    } else if (nl_str_starts(text, NL_STR("snapshot_id_")) && nl_parse_int64(nl_str_slice(text, 12, text.length), &number)) {
        read->has_snapshot_id = true;
        read->snapshot_id = number;
    } else {
        return false;
    }
    return true;
}

static bool has_selection(const nl_iceberg_read *read)
{
    return read->has_snapshot_id || read->has_timestamp || read->tag.length || read->branch.length;
}

/* VERSION AS OF: a number (also as text) is a snapshot id first, then a branch or tag. */
static nl_status apply_version(const nl_table_metadata *metadata, const nl_value *version, nl_iceberg_read *read)
{
    int64_t id = 0;
    const bool is_number = version->type->id != NL_TYPE_STRING || nl_parse_int64(version->text, &id);
    if (is_number) {
        if (version->type->id != NL_TYPE_STRING) id = version->integer;
        read->has_snapshot_id = true;
        read->snapshot_id = id;
        return NULL;
    }
    const nl_snapshot_ref *ref = nl_table_ref(metadata, version->text);
    if (!ref)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find matching snapshot ID or reference name for version " NL_STR_FMT, NL_STR_ARG(version->text));
    if (ref->is_tag)
        read->tag = version->text;
    else
        read->branch = version->text;
    return NULL;
}

static nl_status number_option(const nl_property *option, int64_t *number)
{
    if (nl_parse_int64(option->value, number)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(option->value));
}

/* Iceberg's read options; others (of split sizes and the like) have no meaning here. */
static nl_status apply_options(const nl_time_travel *travel, nl_iceberg_read *read)
{
    for (uint32_t i = 0; i < travel->option_count; i++) {
        const nl_property *option = &travel->options[i];
        if (nl_str_is_nocase(option->key, "snapshot-id")) {
            NL_TRY(number_option(option, &read->snapshot_id));
            read->has_snapshot_id = true;
        } else if (nl_str_is_nocase(option->key, "as-of-timestamp")) {
            NL_TRY(number_option(option, &read->as_of_ms));
            read->has_timestamp = true;
        } else if (nl_str_is_nocase(option->key, "branch")) {
            read->branch = option->value;
        } else if (nl_str_is_nocase(option->key, "tag")) {
            read->tag = option->value;
        } else if (nl_str_is_nocase(option->key, "start-snapshot-id")) {
            NL_TRY(number_option(option, &read->start_snapshot_id));
        } else if (nl_str_is_nocase(option->key, "end-snapshot-id")) {
            NL_TRY(number_option(option, &read->end_snapshot_id));
        } else if (nl_str_is_nocase(option->key, "start-timestamp")) {
            NL_TRY(number_option(option, &read->start_ms));
            read->has_start_ms = true;
        } else if (nl_str_is_nocase(option->key, "end-timestamp")) {
            NL_TRY(number_option(option, &read->end_ms));
            read->has_end_ms = true;
        }
    }
    const int chosen = read->has_snapshot_id + read->has_timestamp + (read->branch.length > 0) + (read->tag.length > 0);
    if (chosen > 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Can specify only one of snapshot-id (%lld), as-of-timestamp (%lld), branch or tag",
                                         (long long)read->snapshot_id, (long long)read->as_of_ms);
    return NULL;
}

static nl_status apply_travel(nl_iceberg_table *table, const nl_time_travel *travel, nl_iceberg_read *read)
{
    if (travel && travel->option_count) NL_TRY(apply_options(travel, read));
    if (!travel || (!travel->is_version && !travel->is_timestamp)) return NULL;
    if (has_selection(read))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot do time-travel based on both table identifier and AS OF");
    if (travel->is_timestamp) {
        read->has_timestamp = true;
        read->as_of_ms = nl_floor_div(travel->timestamp_micros, 1000);
        return NULL;
    }
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    nl_status status = apply_version(metadata, &travel->version, read);
    nl_table_metadata_release(metadata);
    return status;
}

/* Writes audited before they are published are also read from their branch. */
static void apply_wap_branch(nl_command *command, nl_iceberg_table *table, nl_iceberg_read *read)
{
    const nl_str branch = nl_session_get(command->session, NL_STR("spark.wap.branch"));
    if (branch.length == 0 || has_selection(read)) return;
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    if (nl_table_property_bool(metadata, "write.wap.enabled", false) && nl_table_ref(metadata, branch)) read->branch = nl_arena_str(command->arena, branch);
    nl_table_metadata_release(metadata);
}

/* `name` names a table, perhaps with a selector and a metadata table's name behind it. *is_found false: it does not. */
typedef struct lookup {
    nl_session_name name;
    nl_iceberg_read read;
    nl_str metadata_name; /* empty: the table itself */
} lookup;

/* A statement sees one state of a table however often it names it, and asks the catalog once. */
typedef struct nl_opened_table {
    struct nl_opened_table *next;
    const nl_catalog *catalog;
    nl_identifier identifier;
    nl_iceberg_table *table; /* counted: released with the command's arena */
} nl_opened_table;

static bool is_same_identifier(const nl_identifier *a, const nl_identifier *b)
{
    if (a->namespace_count != b->namespace_count || !nl_str_equal(a->name, b->name)) return false;
    for (uint32_t i = 0; i < a->namespace_count; i++)
        if (!nl_str_equal(a->namespace_parts[i], b->namespace_parts[i])) return false;
    return true;
}

static void release_opened(void *table)
{
    nl_iceberg_table_release(table);
}

static void remember_opened(nl_command *command, const nl_session_name *name, nl_iceberg_table *table)
{
    nl_opened_table *opened = NL_NEW(command->arena, nl_opened_table);
    nl_str *parts = NL_NEW_ARRAY(command->arena, nl_str, name->identifier.namespace_count + 1);
    for (uint32_t i = 0; i < name->identifier.namespace_count; i++)
        parts[i] = nl_arena_str(command->arena, name->identifier.namespace_parts[i]);
    *opened = (nl_opened_table){.next = command->opened, .catalog = name->catalog, .identifier = name->identifier, .table = nl_iceberg_table_retain(table)};
    opened->identifier.namespace_parts = parts;
    opened->identifier.name = nl_arena_str(command->arena, name->identifier.name);
    command->opened = opened;
    nl_arena_on_free(command->arena, release_opened, table);
}

/* *table stays NULL when there is none; else counted. */
static nl_status open_table(nl_command *command, const nl_session_name *name, nl_iceberg_table **table)
{
    for (const nl_opened_table *opened = command->opened; opened; opened = opened->next) {
        if (opened->catalog != name->catalog || !is_same_identifier(&opened->identifier, &name->identifier)) continue;
        *table = nl_iceberg_table_retain(opened->table);
        return NULL;
    }
    nl_error *error = nl_catalog_load_table(name->catalog, &name->identifier, table);
    if (error && nl_error_condition(error) != NL_COND_TABLE_OR_VIEW_NOT_FOUND) return error;
    nl_error_free(error);
    if (*table) remember_opened(command, name, *table);
    return NULL;
}

static nl_status open_lookup(nl_command *command, const lookup *what, const nl_time_travel *travel, nl_resolved_relation *found, bool *is_found)
{
    nl_iceberg_table *table = NULL;
    *is_found = false;
    NL_TRY(open_table(command, &what->name, &table));
    if (!table) return NULL;
    nl_iceberg_read read = what->read;
    const nl_table *source = NULL;
    bool is_known = true;
    nl_status status = apply_travel(table, travel, &read);
    if (!status) apply_wap_branch(command, table, &read);
    if (!status && what->metadata_name.length)
        status = nl_metadata_source_new(table, what->metadata_name, &read, &source, &is_known);
    else if (!status)
        status = nl_iceberg_source_new(table, &read, &source);
    nl_iceberg_table_release(table);
    if (status) return status;
    *is_found = is_known;
    if (is_known) found->table = source;
    return NULL;
}

/* Moves the last `count` parts of a name off: db.t.x → db.t. */
static bool shorten(const nl_session_name *name, uint32_t count, nl_session_name *shorter)
{
    if (name->identifier.namespace_count < count) return false;
    *shorter = *name;
    shorter->identifier.namespace_count -= count;
    shorter->identifier.name = name->identifier.namespace_parts[shorter->identifier.namespace_count];
    return true;
}

static nl_status find_table(nl_command *command, const nl_session_name *name, const nl_time_travel *travel, nl_resolved_relation *found, bool *is_found)
{
    lookup what = {.name = *name};
    NL_TRY(open_lookup(command, &what, travel, found, is_found));
    if (*is_found) return NULL;
    const nl_str last = name->identifier.name;
    if (shorten(name, 1, &what.name)) { /* db.t.branch_b, db.t.files */
        if (!parse_selector(last, &what.read)) what.metadata_name = last;
        NL_TRY(open_lookup(command, &what, travel, found, is_found));
        if (*is_found) return NULL;
    }
    what = (lookup){0}; /* db.t.files.branch_b */
    if (!shorten(name, 2, &what.name) || !parse_selector(last, &what.read)) return NULL;
    what.metadata_name = name->identifier.namespace_parts[name->identifier.namespace_count - 1];
    return open_lookup(command, &what, travel, found, is_found);
}

static nl_status find_files(nl_command *command, const nl_str *parts, nl_resolved_relation *found)
{
    const nl_table *source = NULL;
    nl_fs *fs = NULL;
    NL_TRY(nl_session_files(command->session, &fs));
    NL_TRY(nl_file_source_new(fs, parts[0], &parts[1], 1, NULL, 0, NULL, &command->confs, command->memory, &source));
    found->table = source;
    return NULL;
}

static nl_status not_found(nl_command *command, const nl_str *parts, uint32_t part_count)
{
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_command_quoted(command, parts, part_count)));
}

/* An unqualified name inside a view belongs to the view's own catalog and namespace. */
static void qualify(nl_command *command, const nl_str **parts, uint32_t *part_count, const nl_str *scope, uint32_t scope_count)
{
    if (scope_count == 0) return;
    const bool has_catalog = *part_count > 1 && nl_session_has_catalog(command->session, (*parts)[0]);
    const uint32_t prefix_count = has_catalog ? 0 : *part_count == 1 ? scope_count : 1;
    nl_str *full = NL_NEW_ARRAY(command->arena, nl_str, prefix_count + *part_count);
    for (uint32_t i = 0; i < prefix_count; i++)
        full[i] = scope[i];
    for (uint32_t i = 0; i < *part_count; i++)
        full[prefix_count + i] = (*parts)[i];
    *parts = full;
    *part_count += prefix_count;
}

static void name_found(nl_command *command, const nl_session_name *name, nl_resolved_relation *found)
{
    const nl_identifier *identifier = &name->identifier;
    nl_str *parts = NL_NEW_ARRAY(command->arena, nl_str, identifier->namespace_count + 2);
    parts[0] = name->catalog_name;
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        parts[i + 1] = identifier->namespace_parts[i];
    parts[identifier->namespace_count + 1] = identifier->name;
    found->name = parts;
    found->name_count = identifier->namespace_count + 2;
}

/* Spark knows these, but not as files that a query may name. */
static bool is_other_format(nl_str format)
{
    return nl_str_is_nocase(format, "iceberg") || nl_str_is_nocase(format, "jdbc");
}

static nl_status find_relation(nl_resolver *self, const nl_str *parts, uint32_t part_count, const nl_time_travel *travel, const nl_str *in_namespace,
                               uint32_t in_namespace_count, nl_arena *arena, nl_resolved_relation *found)
{
    (void)arena;
    nl_command *command = command_of(self);
    *found = (nl_resolved_relation){.name = parts, .name_count = part_count};
    const bool is_global = part_count == 2 && nl_str_is_nocase(parts[0], "global_temp");
    if (part_count == 1 || is_global) {
        const nl_temp_view *view = nl_session_find_view(command->session, parts[part_count - 1], is_global, command->arena);
        if (view) return resolve_view(command, view, found);
    }
    /* parquet.`/a/b`: what has a slash is no table's name, so that no catalog is asked. */
    const bool is_files = part_count == 2 && nl_file_format_is_known(parts[0]);
    if (is_files && parts[1].length == 0) return NL_RAISE(INVALID_EMPTY_LOCATION, NL_P("location", ""));
    if (is_files && nl_str_find(parts[1], NL_STR("/"), 0) != NL_NOT_FOUND) return find_files(command, parts, found);
    const nl_str *full = parts;
    uint32_t full_count = part_count;
    qualify(command, &full, &full_count, in_namespace, in_namespace_count);
    nl_session_name name;
    bool is_found = false;
    NL_TRY(nl_session_resolve(command->session, full, full_count, command->arena, &name));
    const bool has_slash = nl_str_find(parts[part_count - 1], NL_STR("/"), 0) != NL_NOT_FOUND; /* format.`path` of an unknown format, or a table's name */
    if (has_slash && part_count == 2 && is_other_format(parts[0])) return NL_RAISE(UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY, NL_P_STR("dataSourceType", parts[0]));
    const bool travels = travel && (travel->is_version || travel->is_timestamp); /* only Iceberg's tables have a past */
    const nl_plain_table *plain = NULL;
    if (!travels) NL_TRY(nl_plain_find(command, &name, &plain));
    if (plain) {
        NL_TRY(nl_plain_source(command, plain, &found->table));
        name_found(command, &name, found);
        return NULL;
    }
    nl_status status = find_table(command, &name, travel, found, &is_found);
    if (status && has_slash && nl_error_condition(status) == NL_COND_NILAS_ILLEGAL_ARGUMENT) { /* a catalog of folders has no such names */
        nl_error_free(status);
        return not_found(command, parts, part_count);
    }
    NL_TRY(status);
    if (is_found) {
        name_found(command, &name, found);
        return NULL;
    }
    const nl_temp_view *view = nl_session_find_view(command->session, nl_command_dotted_name(command, &name), false, command->arena);
    if (view) {
        name_found(command, &name, found);
        return resolve_view(command, view, found);
    }
    const nl_view_metadata *kept = NULL;
    if (!travels) NL_TRY(nl_catalog_view_find(command, &name, &kept));
    if (kept) {
        name_found(command, &name, found);
        return nl_catalog_view_resolve(command, &name, kept, found);
    }
    if (is_files) return find_files(command, parts, found);
    if (part_count == 2 && nl_str_is_nocase(parts[0], "jdbc")) return NL_RAISE(UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY, NL_P_STR("dataSourceType", parts[0]));
    return not_found(command, parts, part_count);
}

static nl_status find_variable(nl_resolver *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_value *value, nl_str *shown, bool *is_found)
{
    nl_command *command = command_of(self);
    const nl_script_scope *owner = NULL;
    const nl_str local = nl_script_find(command, parts, part_count, &owner);
    const bool has_prefix = (part_count == 2 && nl_str_is_nocase(parts[0], "session")) ||
                            (part_count == 3 && nl_str_is_nocase(parts[0], "system") && nl_str_is_nocase(parts[1], "session"));
    const nl_value *held = local.data ? nl_session_find_variable(command->session, local) : part_count == 1 || has_prefix ? nl_session_find_variable(command->session, parts[part_count - 1]) : NULL;
    *is_found = held != NULL;
    if (!held) return NULL;
    const nl_temp_view *made = command->made_view;
    if (made && (command->is_made_in_catalog || nl_view_is_permanent(made)))
        return raise_temporary(command, "VIEW", full_name(command, made->name), "VARIABLE", parts[part_count - 1]);
    if (command->made_function.data) return raise_temporary(command, "FUNCTION", command->made_function, "VARIABLE", parts[part_count - 1]);
    *value = nl_value_copy(arena, held);
    *shown = local.data ? nl_script_shown(arena, owner, parts[part_count - 1]) : nl_arena_f(arena, "system.session." NL_STR_FMT, NL_STR_ARG(parts[part_count - 1]));
    return NULL;
}

static nl_status find_function(nl_resolver *self, const nl_str *parts, uint32_t part_count, const nl_str *in_namespace, uint32_t in_namespace_count,
                               nl_arena *arena, nl_sql_function *found)
{
    nl_command *command = command_of(self);
    const nl_str *full = parts;
    uint32_t full_count = part_count;
    const nl_session_function *held = nl_command_find_function(command, parts, part_count);
    if (!held && in_namespace_count > 0) {
        qualify(command, &full, &full_count, in_namespace, in_namespace_count);
        held = nl_command_find_function(command, full, full_count);
    }
    if (!held) return NULL;
    if (held->is_temporary && command->made_function.data) return raise_temporary(command, "FUNCTION", command->made_function, "FUNCTION", parts[part_count - 1]);
    if (held->python) {
        found->python = nl_python_function_copy(arena, held->python);
        return NULL;
    }
    nl_ast_statement *statement = NULL;
    found->text = nl_arena_str(arena, held->text);
    NL_TRY_NOTE(nl_sql_parse(arena, found->text, NULL, &statement), "parsing function " NL_STR_FMT, NL_STR_ARG(held->name));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_CREATE_FUNCTION);
    nl_str *scope = NL_NEW_ARRAY(arena, nl_str, held->namespace_count + 1);
    scope[0] = nl_arena_str(arena, held->catalog);
    for (uint32_t i = 0; i < held->namespace_count; i++) scope[i + 1] = nl_arena_str(arena, held->namespace_parts[i]);
    found->function = statement->create_function;
    found->full_name = nl_arena_str(arena, held->name);
    found->is_temporary = held->is_temporary;
    found->is_ansi = held->is_ansi;
    found->namespace_parts = scope;
    found->namespace_count = held->namespace_count + 1;
    return NULL;
}

static nl_status note_view(nl_resolver *self, const nl_resolved_relation *found, const nl_field *columns, const nl_str *query_columns, uint32_t count)
{
    nl_command *command = command_of(self);
    const nl_temp_view *view = nl_command_find_view(command, found->name, found->name_count);
    if (!view || !nl_view_is_permanent(view)) return NULL;
    nl_temp_view *changed = nl_view_copy(command->arena, view);
    changed->columns = columns;
    changed->query_columns = query_columns;
    changed->column_count = count;
    return nl_session_put_view(command->session, changed, true);
}

void nl_command_resolver_init(nl_command *command)
{
    command->resolver = (nl_resolver){.find_relation = find_relation,
                                      .find_variable = find_variable,
                                      .find_function = find_function,
                                      .note_view = note_view,
                                      .find_files = nl_command_find_files,
                                      .run = nl_command_run_plan};
}

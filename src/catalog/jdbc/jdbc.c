/* catalog/jdbc/jdbc.c - Iceberg's JdbcCatalog (and InMemoryCatalog): tables are rows that name the metadata file in force.
 *
 * Names are texts with dots between levels; a namespace exists when a property or a table has it or one below it. The
 * statements are those that Java's JdbcCatalog understands and is understood by: schema V0, and V1 with iceberg_type.
 */
#include <stdlib.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/number.h"
#include "catalog/jdbc/database.h"
#include "catalog/pointer.h"
#include "storage/s3.h"

#define CLIENTS_DEFAULT 2
#define CLIENTS_MAX     64
#define PURGE_TRIES     20
#define EXISTS_PROPERTY "exists" /* what Java puts into a namespace without properties */

typedef struct jdbc_catalog {
    nl_catalog base;
    nl_fs *fs;                 /* counted */
    nl_str warehouse;          /* borrowed from the properties; without a slash at its end */
    nl_metadata_cache *cache;  /* owned; or NULL */
    nl_jdbc_database *database; /* owned */
    nl_mutex mutex;            /* guards is_ready, has_types */
    bool is_ready;             /* the tables of the catalog are there */
    bool has_types;            /* schema V1 */
    bool wants_types;          /* schema V1 whatever jdbc.schema-version says */
} jdbc_catalog;

typedef struct jdbc_pointer {
    nl_pointer base;
    jdbc_catalog *catalog; /* which outlives its tables */
    nl_arena *arena;       /* owned: the texts below */
    nl_str scope, name, quoted, shown;
    bool is_view;
} jdbc_pointer;

static jdbc_catalog *self_of(nl_catalog *catalog)
{
    return NL_CONTAINER(catalog, jdbc_catalog, base);
}

/* ---- the catalog's own tables ---------------------------------------------------------------------------------- */

static const char create_tables_sql[] =
    "CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL,table_namespace VARCHAR(255) NOT NULL,table_name VARCHAR(255) NOT NULL,"
    "metadata_location VARCHAR(1000),previous_metadata_location VARCHAR(1000),PRIMARY KEY (catalog_name, table_namespace, table_name))";
static const char create_properties_sql[] =
    "CREATE TABLE iceberg_namespace_properties(catalog_name VARCHAR(255) NOT NULL,namespace VARCHAR(255) NOT NULL,property_key VARCHAR(255),"
    "property_value VARCHAR(1000),PRIMARY KEY (catalog_name, namespace, property_key))";
static const char add_types_sql[] = "ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)";

static nl_status columns_of(jdbc_catalog *self, const char *table, nl_arena *arena, nl_jdbc_result *columns)
{
    const nl_str name = nl_str_from(table);
    return nl_jdbc_run(self->database, nl_jdbc_columns_sql(self->database), &name, 1, arena, columns);
}

static bool has_column(const nl_jdbc_result *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->row_count; i++)
        if (nl_str_is_nocase(columns->values[i], name)) return true;
    return false;
}

/* Two programs may make the table at once: what counts is that it is there afterwards. */
static nl_status ensure_table(jdbc_catalog *self, const char *table, const char *create_sql, nl_arena *arena, nl_jdbc_result *columns)
{
    nl_jdbc_result ignored;
    NL_TRY(columns_of(self, table, arena, columns));
    if (columns->row_count) return NULL;
    const nl_str wanted = nl_catalog_property(&self->base, "jdbc.init-catalog-tables");
    if (wanted.data && nl_str_is_nocase(wanted, "false"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The database of catalog " NL_STR_FMT " has no table %s, and jdbc.init-catalog-tables is false.",
                             NL_STR_ARG(self->base.name), table);
    nl_error *error = nl_jdbc_run(self->database, create_sql, NULL, 0, arena, &ignored);
    nl_status status = columns_of(self, table, arena, columns);
    if (!status && columns->row_count == 0) return error ? error : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The table %s was made and is not there.", table);
    nl_error_free(error);
    return status;
}

static nl_status add_types(jdbc_catalog *self, nl_arena *arena, nl_jdbc_result *columns)
{
    nl_jdbc_result ignored;
    nl_error *error = nl_jdbc_run(self->database, add_types_sql, NULL, 0, arena, &ignored);
    NL_TRY(columns_of(self, "iceberg_tables", arena, columns));
    if (!has_column(columns, "iceberg_type") && error) return error;
    nl_error_free(error);
    return NULL;
}

static nl_status set_up(jdbc_catalog *self, nl_arena *arena)
{
    nl_jdbc_result columns, other;
    NL_TRY(ensure_table(self, "iceberg_tables", create_tables_sql, arena, &columns));
    NL_TRY(ensure_table(self, "iceberg_namespace_properties", create_properties_sql, arena, &other));
    const nl_str version = nl_catalog_property(&self->base, "jdbc.schema-version");
    const bool wants_types = self->wants_types || (version.data && nl_str_is(version, "V1"));
    if (wants_types && !has_column(&columns, "iceberg_type")) NL_TRY(add_types(self, arena, &columns));
    self->has_types = has_column(&columns, "iceberg_type");
    self->is_ready = true;
    return NULL;
}

static nl_status make_ready(jdbc_catalog *self, nl_arena *arena)
{
    /* Held while the database answers: whoever comes first connects, the others need what it finds. */
    nl_mutex_lock(&self->mutex);
    nl_status status = self->is_ready ? NULL : set_up(self, arena);
    nl_mutex_unlock(&self->mutex);
    return status;
}

static nl_status run(jdbc_catalog *self, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result)
{
    NL_TRY(make_ready(self, arena));
    return nl_jdbc_run(self->database, sql, values, value_count, arena, result);
}

/* ---- namespaces ------------------------------------------------------------------------------------------------ */

static nl_str scope_text(nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    nl_str text = NL_STR("");
    for (uint32_t i = 0; i < part_count; i++) text = i ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(parts[i])) : parts[i];
    return text;
}

/* "a_b" → "a!_b.%": everything below it, for LIKE … ESCAPE '!'. */
static nl_str below_pattern(nl_arena *arena, nl_str scope)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 16);
    for (size_t i = 0; i < scope.length; i++) {
        if (scope.data[i] == '%' || scope.data[i] == '_' || scope.data[i] == '!') nl_append_char(&text, '!');
        nl_append_char(&text, scope.data[i]);
    }
    nl_append_c(&text, scope.length ? ".%" : "%");
    const nl_str pattern = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return pattern;
}

static nl_status exists(jdbc_catalog *self, nl_str scope, nl_arena *arena, bool *is_there)
{
    const nl_str pattern = below_pattern(arena, scope);
    const nl_str values[] = {self->base.name, scope, pattern, self->base.name, scope, pattern};
    nl_jdbc_result result;
    NL_TRY(run(self,
               "SELECT 1 FROM iceberg_tables WHERE catalog_name = ? AND (table_namespace = ? OR table_namespace LIKE ? ESCAPE '!') "
               "UNION ALL SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ? AND (namespace = ? OR namespace LIKE ? ESCAPE '!') LIMIT 1",
               values, NL_COUNT(values), arena, &result));
    *is_there = result.row_count > 0;
    return NULL;
}

/* "a.b.c" below "a" → "a", "b": the parts of the child in the next level. */
static nl_str *child_of(nl_arena *arena, nl_str scope, uint32_t level_count)
{
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, level_count);
    for (uint32_t i = 0; i < level_count; i++) {
        const size_t dot = nl_str_find_char(scope, '.', 0);
        parts[i] = dot == NL_NOT_FOUND ? scope : nl_str_slice(scope, 0, dot);
        if (dot == NL_NOT_FOUND) return i + 1 == level_count ? parts : NULL;
        scope = nl_str_slice(scope, dot + 1, scope.length);
    }
    return parts;
}

static int compare_identifiers(const void *a, const void *b)
{
    const nl_identifier *left = a, *right = b;
    for (uint32_t i = 0; i < left->namespace_count && i < right->namespace_count; i++) {
        const int order = nl_str_compare(left->namespace_parts[i], right->namespace_parts[i]);
        if (order) return order;
    }
    return nl_str_compare(left->name, right->name);
}

static nl_status no_such_namespace(nl_str scope)
{
    return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(scope));
}

static nl_status jdbc_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list)
{
    jdbc_catalog *self = self_of(catalog);
    const nl_str scope = scope_text(arena, parent, parent_count), pattern = below_pattern(arena, scope);
    nl_jdbc_result result;
    bool is_there = true;
    if (parent_count) NL_TRY(exists(self, scope, arena, &is_there));
    if (!is_there) return no_such_namespace(scope);
    const nl_str values[] = {self->base.name, pattern, self->base.name, pattern};
    NL_TRY(run(self,
               "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ? AND table_namespace LIKE ? ESCAPE '!' "
               "UNION SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace LIKE ? ESCAPE '!'",
               values, NL_COUNT(values), arena, &result));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, result.row_count);
    uint32_t found = 0;
    for (uint32_t i = 0; i < result.row_count; i++) {
        const nl_str *parts = result.values[i].length ? child_of(arena, result.values[i], parent_count + 1) : NULL;
        if (parts) list->items[found++] = (nl_identifier){parts, parent_count + 1, {0}};
    }
    if (found > 1) qsort(list->items, found, sizeof(*list->items), compare_identifiers);
    for (uint32_t i = 0; i < found; i++)
        if (i == 0 || compare_identifiers(&list->items[i], &list->items[list->count - 1])) list->items[list->count++] = list->items[i];
    return nl_arena_check(arena);
}

static nl_str default_scope_location(const jdbc_catalog *self, nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    nl_str location = self->warehouse;
    for (uint32_t i = 0; i < part_count; i++) location = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(location), NL_STR_ARG(parts[i]));
    return location;
}

static nl_status fetch_properties(jdbc_catalog *self, nl_str scope, nl_arena *arena, nl_jdbc_result *result)
{
    const nl_str values[] = {self->base.name, scope};
    return run(self, "SELECT property_key, property_value FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?", values, NL_COUNT(values), arena,
               result);
}

static nl_status jdbc_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties,
                                           uint32_t *property_count)
{
    jdbc_catalog *self = self_of(catalog);
    const nl_str scope = scope_text(arena, parts, part_count);
    nl_jdbc_result result;
    bool is_there = false, has_location = false;
    if (part_count) NL_TRY(exists(self, scope, arena, &is_there));
    if (!is_there) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, catalog, parts, part_count)));
    NL_TRY(fetch_properties(self, scope, arena, &result));
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, result.row_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < result.row_count; i++) {
        const nl_property property = {result.values[2 * i], result.values[2 * i + 1]};
        if (nl_str_is(property.key, EXISTS_PROPERTY)) continue;
        has_location = has_location || nl_str_is(property.key, "location");
        items[count++] = property;
    }
    if (!has_location && !self->wants_types) /* Java's in-memory catalog says none */
        items[count++] = (nl_property){NL_STR("location"), default_scope_location(self, arena, parts, part_count)};
    *properties = items;
    *property_count = count;
    return NULL;
}

static const char insert_property_sql[] = "INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value) VALUES (?,?,?,?)";
static const char delete_property_sql[] = "DELETE FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ? AND property_key = ?";

static nl_jdbc_statement property_statement(const jdbc_catalog *self, nl_arena *arena, const char *sql, nl_str scope, nl_str key, nl_str value)
{
    nl_str *values = NL_NEW_ARRAY(arena, nl_str, 4);
    values[0] = self->base.name, values[1] = scope, values[2] = key, values[3] = value;
    return (nl_jdbc_statement){sql, values, sql == insert_property_sql ? 4 : 3};
}

static nl_status namespace_exists_already(nl_str scope)
{
    return NL_RAISE(SCHEMA_ALREADY_EXISTS, NL_P_STR("schemaName", scope));
}

static nl_status create_namespace_in(jdbc_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count, nl_arena *arena)
{
    const nl_str scope = scope_text(arena, parts, part_count);
    bool is_there = false;
    NL_TRY(exists(self, scope, arena, &is_there));
    if (is_there) return namespace_exists_already(nl_quoted_namespace(arena, &self->base, parts, part_count));
    nl_jdbc_statement *statements = NL_NEW_ARRAY(arena, nl_jdbc_statement, property_count + 1);
    statements[0] = property_statement(self, arena, insert_property_sql, scope, NL_STR(EXISTS_PROPERTY), NL_STR("true"));
    for (uint32_t i = 0; i < property_count; i++)
        statements[i + 1] = property_statement(self, arena, insert_property_sql, scope, properties[i].key, properties[i].value);
    nl_status status = nl_jdbc_run_all(self->database, statements, property_count + 1);
    if (!status || nl_error_condition(status) != NL_COND_NILAS_ALREADY_EXISTS) return status;
    nl_error_free(status);
    return namespace_exists_already(nl_quoted_namespace(arena, &self->base, parts, part_count));
}

static nl_status jdbc_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = create_namespace_in(self_of(catalog), parts, part_count, properties, property_count, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status drop_namespace_in(jdbc_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, bool *was_dropped)
{
    const nl_str scope = scope_text(arena, parts, part_count);
    nl_jdbc_result result;
    *was_dropped = false;
    NL_TRY(exists(self, scope, arena, was_dropped));
    if (!*was_dropped) return NULL;
    const nl_str values[] = {self->base.name, scope};
    NL_TRY(run(self, "SELECT count(*) FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?", values, NL_COUNT(values), arena, &result));
    if (!nl_str_is(result.values[0], "0"))
        return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, "Namespace " NL_STR_FMT " is not empty. " NL_STR_FMT " tables exist.", NL_STR_ARG(scope),
                             NL_STR_ARG(result.values[0]));
    NL_TRY(run(self, "DELETE FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?", values, NL_COUNT(values), arena, &result));
    *was_dropped = result.change_count > 0;
    return NULL;
}

static nl_status jdbc_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_namespace_in(self_of(catalog), parts, part_count, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status update_namespace_in(jdbc_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                     uint32_t removed_count, nl_arena *arena)
{
    const nl_str scope = scope_text(arena, parts, part_count);
    bool is_there = false;
    NL_TRY(exists(self, scope, arena, &is_there));
    if (!is_there) return no_such_namespace(scope);
    nl_jdbc_statement *statements = NL_NEW_ARRAY(arena, nl_jdbc_statement, 2 * (size_t)set_count + removed_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < removed_count; i++) statements[count++] = property_statement(self, arena, delete_property_sql, scope, removed[i], NL_STR(""));
    for (uint32_t i = 0; i < set_count; i++) {
        statements[count++] = property_statement(self, arena, delete_property_sql, scope, set[i].key, NL_STR(""));
        statements[count++] = property_statement(self, arena, insert_property_sql, scope, set[i].key, set[i].value);
    }
    return nl_jdbc_run_all(self->database, statements, count);
}

static nl_status jdbc_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                       uint32_t removed_count)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = update_namespace_in(self_of(catalog), parts, part_count, set, set_count, removed, removed_count, arena);
    nl_arena_free(arena);
    return status;
}

/* ---- the pointer of a table or view ---------------------------------------------------------------------------- */

static nl_status jdbc_read(nl_pointer *base, nl_arena *arena, nl_str *metadata_file)
{
    jdbc_pointer *self = NL_CONTAINER(base, jdbc_pointer, base);
    jdbc_catalog *catalog = self->catalog;
    const nl_str values[] = {catalog->base.name, self->scope, self->name};
    nl_jdbc_result result;
    NL_TRY(make_ready(catalog, arena));
    const char *sql = self->is_view ? "SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND iceberg_type = 'VIEW'"
                      : catalog->has_types ? "SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND "
                                             "(iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
                                           : "SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?";
    if (!self->is_view || catalog->has_types) NL_TRY(nl_jdbc_run(catalog->database, sql, values, NL_COUNT(values), arena, &result));
    else result.row_count = 0;
    if (result.row_count == 0) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", self->quoted));
    if (!result.values[0].length)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The row of " NL_STR_FMT " in iceberg_tables names no metadata file.", NL_STR_ARG(self->shown));
    *metadata_file = result.values[0];
    return NULL;
}

static nl_status insert_pointer(jdbc_pointer *self, nl_str next, nl_arena *arena)
{
    jdbc_catalog *catalog = self->catalog;
    const nl_str values[] = {catalog->base.name, self->scope, self->name, next, nl_str_from(self->is_view ? "VIEW" : "TABLE")};
    nl_jdbc_result result;
    const char *sql = catalog->has_types ? "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, iceberg_type) "
                                           "VALUES (?,?,?,?,NULL,?)"
                                         : "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location) "
                                           "VALUES (?,?,?,?,NULL)";
    nl_status status = nl_jdbc_run(catalog->database, sql, values, catalog->has_types ? 5 : 4, arena, &result);
    if (!status || nl_error_condition(status) != NL_COND_NILAS_ALREADY_EXISTS) return status;
    nl_error_free(status);
    return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", self->quoted));
}

static nl_status update_pointer(jdbc_pointer *self, nl_str expected, nl_str next, nl_arena *arena)
{
    jdbc_catalog *catalog = self->catalog;
    const nl_str values[] = {next, expected, catalog->base.name, self->scope, self->name, expected};
    nl_jdbc_result result;
    NL_TRY(nl_jdbc_run(catalog->database,
                       "UPDATE iceberg_tables SET metadata_location = ? , previous_metadata_location = ? WHERE catalog_name = ? AND table_namespace = ? AND "
                       "table_name = ? AND metadata_location = ?",
                       values, NL_COUNT(values), arena, &result));
    if (result.change_count == 1) return NULL;
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Cannot commit to " NL_STR_FMT ": its metadata is no longer " NL_STR_FMT, NL_STR_ARG(self->shown), NL_STR_ARG(expected));
}

static nl_status jdbc_swap(nl_pointer *base, nl_str expected, nl_str next, const nl_table_metadata *updated)
{
    jdbc_pointer *self = NL_CONTAINER(base, jdbc_pointer, base);
    (void)updated;
    nl_arena *arena = nl_arena_new(self->catalog->base.memory);
    nl_status status = make_ready(self->catalog, arena);
    if (!status) status = expected.length ? update_pointer(self, expected, next, arena) : insert_pointer(self, next, arena);
    nl_arena_free(arena);
    return status;
}

static void jdbc_pointer_free(nl_pointer *base)
{
    jdbc_pointer *self = NL_CONTAINER(base, jdbc_pointer, base);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_pointer_ops pointer_ops = {.read = jdbc_read, .swap = jdbc_swap, .free = jdbc_pointer_free};

static nl_status new_pointer(jdbc_catalog *self, const nl_identifier *identifier, bool is_view, nl_pointer **pointer)
{
    jdbc_pointer *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &pointer_ops;
    made->catalog = self;
    made->arena = nl_arena_new(NULL);
    made->is_view = is_view;
    made->scope = nl_arena_str(made->arena, scope_text(made->arena, identifier->namespace_parts, identifier->namespace_count));
    made->name = nl_arena_str(made->arena, identifier->name);
    made->quoted = nl_quoted_identifier(made->arena, &self->base, identifier);
    made->shown = nl_identifier_text(made->arena, identifier);
    *pointer = &made->base;
    return NULL;
}

static nl_status new_store(jdbc_catalog *self, const nl_identifier *identifier, nl_table_store **store)
{
    nl_pointer *pointer;
    NL_TRY(new_pointer(self, identifier, false, &pointer));
    return nl_pointer_store_new(self->fs, pointer, self->cache, store);
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static nl_status list_names(jdbc_catalog *self, const nl_str *parts, uint32_t part_count, bool wants_views, nl_arena *arena, nl_name_list *list)
{
    const nl_str scope = scope_text(arena, parts, part_count);
    const nl_str values[] = {self->base.name, scope};
    nl_jdbc_result result = {0};
    bool is_there = true;
    NL_TRY(exists(self, scope, arena, &is_there));
    if (!is_there && part_count) return no_such_namespace(scope);
    const char *sql = wants_views       ? "SELECT table_name FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND iceberg_type = 'VIEW'"
                      : self->has_types ? "SELECT table_name FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
                                        : "SELECT table_name FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?";
    if (self->has_types || !wants_views) NL_TRY(nl_jdbc_run(self->database, sql, values, NL_COUNT(values), arena, &result));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, result.row_count);
    for (uint32_t i = 0; i < result.row_count; i++) list->items[list->count++] = (nl_identifier){parts, part_count, result.values[i]};
    if (list->count > 1) qsort(list->items, list->count, sizeof(*list->items), compare_identifiers);
    return nl_arena_check(arena);
}

static nl_status jdbc_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    return list_names(self_of(catalog), parts, part_count, false, arena, list);
}

static nl_status jdbc_load_table(nl_catalog *catalog, const nl_identifier *identifier, nl_iceberg_table **table)
{
    jdbc_catalog *self = self_of(catalog);
    nl_table_store *store;
    NL_TRY(new_store(self, identifier, &store));
    return nl_catalog_table_new(catalog, identifier, self->fs, store, table);
}

static nl_status jdbc_default_location(nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, nl_str *location)
{
    jdbc_catalog *self = self_of(catalog);
    const nl_str scope = scope_text(arena, identifier->namespace_parts, identifier->namespace_count);
    nl_jdbc_result result;
    nl_str folder = default_scope_location(self, arena, identifier->namespace_parts, identifier->namespace_count);
    NL_TRY(fetch_properties(self, scope, arena, &result));
    for (uint32_t i = 0; i < result.row_count; i++)
        if (nl_str_is(result.values[2 * i], "location") && result.values[2 * i + 1].length) folder = result.values[2 * i + 1];
    folder = nl_without_slash(folder);
    *location = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(folder), NL_STR_ARG(identifier->name));
    return NULL;
}

static nl_status check_strict(jdbc_catalog *self, const nl_identifier *identifier, nl_arena *arena)
{
    const nl_str strict = nl_catalog_property(&self->base, "jdbc.strict-mode");
    const nl_str scope = scope_text(arena, identifier->namespace_parts, identifier->namespace_count);
    bool is_there = true;
    if (!strict.data || !nl_str_is_nocase(strict, "true")) return NULL;
    NL_TRY(exists(self, scope, arena, &is_there));
    if (is_there) return NULL;
    const nl_str name = nl_identifier_text(arena, identifier);
    return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Cannot create table " NL_STR_FMT " in catalog " NL_STR_FMT ". Namespace " NL_STR_FMT " does not exist", NL_STR_ARG(name),
                         NL_STR_ARG(self->base.name), NL_STR_ARG(scope));
}

static nl_status jdbc_new_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store,
                                nl_str *table_location)
{
    jdbc_catalog *self = self_of(catalog);
    NL_TRY(check_strict(self, identifier, arena));
    if (location.length) *table_location = location;
    else NL_TRY(jdbc_default_location(catalog, identifier, arena, table_location));
    NL_TRY(new_store(self, identifier, store));
    *fs = nl_fs_retain(self->fs);
    return NULL;
}

/* expected: only while the row names this metadata file; data NULL: whatever it names. */
static nl_status delete_row(jdbc_catalog *self, const nl_identifier *identifier, bool is_view, nl_str expected, nl_arena *arena, bool *was_dropped)
{
    const nl_str values[] = {self->base.name, scope_text(arena, identifier->namespace_parts, identifier->namespace_count), identifier->name, expected};
    nl_jdbc_result result;
    NL_TRY(make_ready(self, arena));
#define DELETE_SQL "DELETE FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
#define IS_TABLE   " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
#define IS_THAT    " AND metadata_location = ?"
    static const char *const sql[] = {DELETE_SQL, DELETE_SQL IS_THAT, DELETE_SQL IS_TABLE, DELETE_SQL IS_TABLE IS_THAT};
    const char *chosen = is_view ? DELETE_SQL " AND iceberg_type = 'VIEW'" : sql[2 * self->has_types + (expected.data != NULL)];
    NL_TRY(nl_jdbc_run(self->database, chosen, values, expected.data ? 4 : 3, arena, &result));
    *was_dropped = result.change_count > 0;
    return NULL;
}

/* What is purged is what was looked at: a row that has moved on since is looked at anew. */
static nl_status purge_table(jdbc_catalog *self, const nl_identifier *identifier, nl_arena *arena, bool *was_dropped)
{
    for (int tries = 1;; tries++) {
        nl_iceberg_table *table = NULL;
        nl_error *error = jdbc_load_table(&self->base, identifier, &table);
        if (error && nl_error_condition(error) != NL_COND_TABLE_OR_VIEW_NOT_FOUND) return error;
        nl_error_free(error);
        if (!table) return NULL;
        nl_status status = nl_check_purge(table->metadata);
        if (!status) status = delete_row(self, identifier, false, table->metadata->metadata_file, arena, was_dropped);
        if (!status && *was_dropped) status = nl_purge_table_files(table->fs, table->metadata, table->memory);
        const bool is_over = status || *was_dropped;
        nl_iceberg_table_release(table);
        if (is_over) return status;
        if (tries == PURGE_TRIES) return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "The table is being changed by others all the time: it was not dropped");
    }
}

static nl_status drop_table_in(jdbc_catalog *self, const nl_identifier *identifier, bool is_purge, nl_arena *arena, bool *was_dropped)
{
    *was_dropped = false;
    return is_purge ? purge_table(self, identifier, arena, was_dropped) : delete_row(self, identifier, false, (nl_str){0}, arena, was_dropped);
}

static nl_status jdbc_drop_table(nl_catalog *catalog, const nl_identifier *identifier, bool is_purge, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_table_in(self_of(catalog), identifier, is_purge, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status rename_in(jdbc_catalog *self, const nl_identifier *from, const nl_identifier *to, bool is_view, nl_arena *arena)
{
    const nl_str from_scope = scope_text(arena, from->namespace_parts, from->namespace_count), to_scope = scope_text(arena, to->namespace_parts, to->namespace_count);
    const nl_str values[] = {to_scope, to->name, self->base.name, from_scope, from->name};
    nl_jdbc_result result;
    bool is_there = true;
    NL_TRY(exists(self, to_scope, arena, &is_there));
    if (!is_there) {
        const nl_str from_text = nl_identifier_text(arena, from), to_text = nl_identifier_text(arena, to);
        return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Cannot rename " NL_STR_FMT " to " NL_STR_FMT ". Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(from_text),
                             NL_STR_ARG(to_text), NL_STR_ARG(to_scope));
    }
    const char *sql = is_view           ? "UPDATE iceberg_tables SET table_namespace = ?, table_name = ? WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND "
                                          "iceberg_type = 'VIEW'"
                      : self->has_types ? "UPDATE iceberg_tables SET table_namespace = ?, table_name = ? WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND "
                                          "(iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
                                        : "UPDATE iceberg_tables SET table_namespace = ?, table_name = ? WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?";
    nl_status status = nl_jdbc_run(self->database, sql, values, NL_COUNT(values), arena, &result);
    if (status && nl_error_condition(status) == NL_COND_NILAS_ALREADY_EXISTS) {
        nl_error_free(status);
        return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_quoted_identifier(arena, &self->base, to)));
    }
    if (status) return status;
    return result.change_count ? NULL : NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_quoted_identifier(arena, &self->base, from)));
}

static nl_status jdbc_rename_table(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = rename_in(self_of(catalog), from, to, false, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status jdbc_register_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table)
{
    jdbc_catalog *self = self_of(catalog);
    const nl_table_metadata *metadata = NULL;
    nl_pointer *pointer;
    NL_TRY(nl_table_metadata_read(self->fs, metadata_file, catalog->memory, &metadata)); /* that it can be read at all */
    nl_table_metadata_release(metadata);
    NL_TRY(new_pointer(self, identifier, false, &pointer));
    nl_status status = jdbc_swap(pointer, NL_STR(""), metadata_file, NULL);
    jdbc_pointer_free(pointer);
    return status ? status : jdbc_load_table(catalog, identifier, table);
}

/* ---- views ----------------------------------------------------------------------------------------------------- */

static nl_status check_views(jdbc_catalog *self, nl_arena *arena)
{
    NL_TRY(make_ready(self, arena));
    if (self->has_types) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "JDBC catalog " NL_STR_FMT " has schema V0, which knows no views: set jdbc.schema-version=V1 to have it changed.", NL_STR_ARG(self->base.name));
}

static nl_status jdbc_list_views(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    return list_names(self_of(catalog), parts, part_count, true, arena, list);
}

static nl_status jdbc_load_view(nl_catalog *catalog, const nl_identifier *identifier, const nl_view_metadata **view)
{
    jdbc_catalog *self = self_of(catalog);
    nl_pointer *pointer;
    NL_TRY(new_pointer(self, identifier, true, &pointer));
    nl_status status = nl_pointer_load_view(self->fs, pointer, catalog->memory, view);
    jdbc_pointer_free(pointer);
    return status;
}

static nl_status jdbc_commit_view(nl_catalog *catalog, const nl_identifier *identifier, const nl_view_metadata *base, const nl_view_metadata *updated,
                                  const nl_view_update *updates, uint32_t update_count, const nl_view_metadata **committed)
{
    jdbc_catalog *self = self_of(catalog);
    (void)updates, (void)update_count;
    nl_pointer *pointer = NULL;
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = check_views(self, arena);
    if (!status) status = new_pointer(self, identifier, true, &pointer);
    if (!status) status = nl_pointer_commit_view(self->fs, pointer, base, updated, catalog->memory, committed);
    if (pointer) jdbc_pointer_free(pointer);
    nl_arena_free(arena);
    return status;
}

static nl_status jdbc_drop_view(nl_catalog *catalog, const nl_identifier *identifier, bool *was_dropped)
{
    jdbc_catalog *self = self_of(catalog);
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = make_ready(self, arena);
    *was_dropped = false;
    if (!status && self->has_types) status = delete_row(self, identifier, true, (nl_str){0}, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status jdbc_rename_view(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = check_views(self_of(catalog), arena);
    if (!status) status = rename_in(self_of(catalog), from, to, true, arena);
    nl_arena_free(arena);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static void jdbc_free(nl_catalog *catalog)
{
    jdbc_catalog *self = self_of(catalog);
    nl_jdbc_close(self->database);
    nl_metadata_cache_free(self->cache);
    if (self->fs) nl_fs_release(self->fs);
    nl_mutex_fini(&self->mutex);
    nl_catalog_fini(catalog);
    free(self);
}

static const nl_catalog_ops jdbc_ops = {
    .type = "jdbc",
    .has_rename = true,
    .list_namespaces = jdbc_list_namespaces,
    .create_namespace = jdbc_create_namespace,
    .drop_namespace = jdbc_drop_namespace,
    .namespace_properties = jdbc_namespace_properties,
    .update_namespace = jdbc_update_namespace,
    .list_tables = jdbc_list_tables,
    .load_table = jdbc_load_table,
    .new_table = jdbc_new_table,
    .drop_table = jdbc_drop_table,
    .rename_table = jdbc_rename_table,
    .register_table = jdbc_register_table,
    .default_location = jdbc_default_location,
    .has_views = true,
    .list_views = jdbc_list_views,
    .load_view = jdbc_load_view,
    .commit_view = jdbc_commit_view,
    .drop_view = jdbc_drop_view,
    .rename_view = jdbc_rename_view,
    .free = jdbc_free,
};

static nl_status configure(jdbc_catalog *self)
{
    const nl_str uri = nl_catalog_property(&self->base, "uri"), clients = nl_catalog_property(&self->base, "clients");
    int64_t client_count = CLIENTS_DEFAULT;
    if (!uri.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "JDBC connection URI is required");
    self->warehouse = nl_without_slash(nl_catalog_property(&self->base, "warehouse"));
    if (!self->warehouse.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot initialize JDBCCatalog because warehousePath must not be null or empty");
    if (clients.data && (!nl_parse_int64(clients, &client_count) || client_count < 1 || client_count > CLIENTS_MAX))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "clients of catalog " NL_STR_FMT " must be a number from 1 to %d, not " NL_STR_FMT, NL_STR_ARG(self->base.name), CLIENTS_MAX,
                             NL_STR_ARG(clients));
    NL_TRY(nl_jdbc_open(uri, self->base.properties, self->base.property_count, (uint32_t)client_count, &self->database));
    return nl_fs_from_properties(self->base.properties, self->base.property_count, self->base.memory, &self->fs);
}

/* Java's InMemoryCatalog: the same on a database and files that end with the catalog. */
static nl_status configure_in_memory(jdbc_catalog *self)
{
    const nl_property version = {NL_STR("jdbc.schema-version"), NL_STR("V1")};
    self->warehouse = nl_without_slash(nl_catalog_property(&self->base, "warehouse"));
    if (nl_str_is(self->warehouse, "/")) self->warehouse = NL_STR("");
    self->wants_types = true;
    self->fs = nl_fs_memory_new();
    return nl_jdbc_open(NL_STR("jdbc:sqlite::memory:"), &version, 1, 1, &self->database);
}

static nl_status open_catalog(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                              nl_status (*configure_it)(jdbc_catalog *self), nl_catalog **catalog)
{
    jdbc_catalog *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    nl_status status = nl_catalog_init(&self->base, &jdbc_ops, name, properties, property_count, environment, memory);
    if (status) {
        free(self);
        return status;
    }
    nl_mutex_init(&self->mutex);
    self->cache = nl_metadata_cache_new();
    status = configure_it(self);
    if (status) {
        jdbc_free(&self->base);
        return status;
    }
    *catalog = &self->base;
    return NULL;
}

nl_status nl_jdbc_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                               nl_catalog **catalog)
{
    return open_catalog(name, properties, property_count, environment, memory, configure, catalog);
}

nl_status nl_memory_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                                 nl_catalog **catalog)
{
    return open_catalog(name, properties, property_count, environment, memory, configure_in_memory, catalog);
}

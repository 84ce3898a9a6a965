/* catalog/glue/glue.c - Iceberg's GlueCatalog: databases are namespaces, tables name their metadata file in a parameter.
 *
 * A commit is UpdateTable with the version of the Glue table that was read (optimistic locking), and only when its
 * metadata_location is the one that the commit is based on. Source: Java's GlueCatalog and GlueTableOperations.
 */
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "catalog/glue/glue_private.h"
#include "storage/s3.h"

#define REQUEST_BYTES_MAX  (16u << 20)
#define UNKNOWN_TRIES_MAX  4
#define PURGE_TRIES_MAX   5 /* of a table that is committed to all the time */
#define UNKNOWN_WAIT_MS    50l /* doubled before each further try */
#define DATABASE_NAME_MAX  252
#define TABLE_NAME_MAX     255

typedef struct glue_pointer {
    nl_pointer base;
    nl_glue_catalog *catalog; /* which outlives its tables */
    nl_arena *arena;       /* owned: the texts below */
    nl_str database, name, quoted, quoted_database, shown;
} glue_pointer;

nl_glue_catalog *nl_glue_of(nl_catalog *catalog)
{
    return NL_CONTAINER(catalog, nl_glue_catalog, base);
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

void nl_glue_request_text(nl_json_writer *out, const char *key, nl_str value)
{
    nl_json_key(out, key);
    nl_json_write_text(out, value);
}

void nl_glue_request_begin(const nl_glue_catalog *self, nl_glue_request *request)
{
    nl_builder_init(&request->text, REQUEST_BYTES_MAX);
    request->out = (nl_json_writer){.out = &request->text};
    nl_json_begin(&request->out, '{');
    if (self->id.length > 0) nl_glue_request_text(&request->out, "CatalogId", self->id);
}

/* Sends the request and ends it. */
nl_status nl_glue_request_send(const nl_glue_catalog *self, nl_glue_request *request, const char *operation, bool changes, nl_arena *arena, nl_glue_answer *answer)
{
    nl_json_end(&request->out, '}');
    nl_status status = nl_builder_failed(&request->text) ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The request to Glue's %s is longer than 16 MiB", operation) : NULL;
    if (!status) status = nl_glue_call(self->client, operation, nl_builder_str(&request->text), changes, arena, answer);
    nl_builder_fini(&request->text);
    return status;
}

nl_str nl_glue_member_text(const json_t *object, const char *key)
{
    const json_t *value = object ? json_object_get(object, key) : NULL;
    return json_is_string(value) ? (nl_str){json_string_value(value), json_string_length(value)} : (nl_str){0};
}

const json_t *nl_glue_member(const json_t *object, const char *key)
{
    return object ? json_object_get(object, key) : NULL;
}

bool nl_glue_is_missing(const nl_glue_answer *answer)
{
    return nl_glue_is(answer, "EntityNotFoundException");
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static bool is_valid_name(nl_str name, size_t length_max)
{
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return name.length > 0 && name.length <= length_max;
}

nl_str nl_glue_scope_text(nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    nl_str text = NL_STR("");
    for (uint32_t i = 0; i < part_count; i++) text = i ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(parts[i])) : parts[i];
    return text;
}

static bool is_valid_scope(const nl_glue_catalog *self, const nl_str *parts, uint32_t part_count)
{
    return self->skips_validation ? part_count > 0 : part_count == 1 && is_valid_name(parts[0], DATABASE_NAME_MAX);
}

nl_status nl_glue_database_name(const nl_glue_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *database)
{
    if (!is_valid_scope(self, parts, part_count)) {
        const nl_str scope = nl_glue_scope_text(arena, parts, part_count);
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot convert namespace " NL_STR_FMT " to Glue database name, because it must be 1-252 chars of lowercase letters, numbers, underscore",
                             NL_STR_ARG(scope));
    }
    *database = parts[0];
    return NULL;
}

static bool is_valid_identifier(const nl_glue_catalog *self, const nl_identifier *identifier)
{
    return is_valid_scope(self, identifier->namespace_parts, identifier->namespace_count) && (self->skips_validation || is_valid_name(identifier->name, TABLE_NAME_MAX));
}

static nl_status table_not_found(const nl_glue_catalog *self, const nl_identifier *identifier, nl_arena *arena)
{
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_quoted_identifier(arena, &self->base, identifier)));
}

/* ---- Glue's tables --------------------------------------------------------------------------------------------- */

/* *table: the Glue table, or NULL when there is none. */
static nl_status get_table(const nl_glue_catalog *self, nl_str database, nl_str name, nl_arena *arena, const json_t **table)
{
    nl_glue_request request;
    nl_glue_answer answer;
    *table = NULL;
    nl_glue_request_begin(self, &request);
    nl_glue_request_text(&request.out, "DatabaseName", database);
    nl_glue_request_text(&request.out, "Name", name);
    NL_TRY(nl_glue_request_send(self, &request, "GetTable", false, arena, &answer));
    if (nl_glue_is_missing(&answer)) return NULL;
    NL_TRY(nl_glue_failure(&answer, "GetTable", false));
    *table = nl_glue_member(answer.json, "Table");
    return json_is_object(*table) ? NULL : nl_json_corrupt(NL_STR("the answer to Glue's GetTable"), "Table: is no object");
}

bool nl_glue_is_iceberg(const json_t *table)
{
    return nl_str_is_nocase(nl_glue_member_text(nl_glue_member(table, "Parameters"), "table_type"), "iceberg");
}

static void pause_before(int tries)
{
    const struct timespec wait = {.tv_nsec = UNKNOWN_WAIT_MS * 1000000l << tries};
    nanosleep(&wait, NULL);
}

/* What became of a DeleteTable. GONE: nobody knows by whom, since an answer was lost and the entry is not there any more. */
typedef enum deletion { NOT_THERE, DELETED, GONE } deletion;

/* A second time does no harm. */
static nl_status delete_table(const nl_glue_catalog *self, nl_str database, nl_str name, nl_arena *arena, deletion *result)
{
    for (int tries = 1;; tries++) {
        nl_glue_request request;
        nl_glue_answer answer = {0};
        nl_glue_request_begin(self, &request);
        nl_glue_request_text(&request.out, "DatabaseName", database);
        nl_glue_request_text(&request.out, "Name", name);
        nl_status status = nl_glue_request_send(self, &request, "DeleteTable", true, arena, &answer);
        if (!status) {
            *result = !nl_glue_is_missing(&answer) ? DELETED : tries > 1 ? GONE : NOT_THERE;
            if (nl_glue_is_missing(&answer)) return NULL;
            status = nl_glue_failure(&answer, "DeleteTable", true);
        }
        if (!status || nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE || tries == UNKNOWN_TRIES_MAX) return status;
        nl_error_free(status);
        pause_before(tries);
    }
}

/* ---- the pointer of a table ------------------------------------------------------------------------------------ */

static nl_status glue_read(nl_pointer *base, nl_arena *arena, nl_str *metadata_file)
{
    glue_pointer *self = NL_CONTAINER(base, glue_pointer, base);
    const json_t *table;
    NL_TRY(get_table(self->catalog, self->database, self->name, arena, &table));
    if (!table || !nl_glue_is_iceberg(table)) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", self->quoted));
    *metadata_file = nl_glue_member_text(nl_glue_member(table, "Parameters"), "metadata_location");
    if (metadata_file->length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The Glue table " NL_STR_FMT " names no metadata file (metadata_location).", NL_STR_ARG(self->shown));
    return NULL;
}

/* The parameters of the Glue table stay; those of Iceberg are set. */
static void write_parameters(nl_json_writer *out, const json_t *existing, nl_str previous, nl_str next)
{
    static const char *const own[] = {"table_type", "metadata_location", "previous_metadata_location"};
    const char *key;
    json_t *value;
    nl_json_key(out, "Parameters");
    nl_json_begin(out, '{');
    json_object_foreach(NL_UNCONST(nl_glue_member(existing, "Parameters")), key, value)
    {
        bool is_own = false;
        for (size_t i = 0; i < NL_COUNT(own); i++)
            is_own = is_own || (strcmp(key, own[i]) == 0 && (i < 2 || previous.length > 0));
        if (!is_own && json_is_string(value)) nl_glue_request_text(out, key, (nl_str){json_string_value(value), json_string_length(value)});
    }
    nl_glue_request_text(out, "table_type", NL_STR("ICEBERG"));
    nl_glue_request_text(out, "metadata_location", next);
    if (previous.length > 0) nl_glue_request_text(out, "previous_metadata_location", previous);
    nl_json_end(out, '}');
}

static void write_table_input(nl_json_writer *out, const glue_pointer *self, const json_t *existing, nl_str previous, nl_str next, const nl_table_metadata *updated)
{
    nl_json_key(out, "TableInput");
    nl_json_begin(out, '{');
    nl_glue_request_text(out, "Name", self->name);
    nl_glue_request_text(out, "TableType", NL_STR("EXTERNAL_TABLE"));
    nl_glue_write_table(out, updated, existing);
    write_parameters(out, existing, previous, next);
    nl_json_end(out, '}');
}

/* CreateTable, or UpdateTable of the version that was read. */
static nl_status send_entry(glue_pointer *self, const json_t *table, nl_str expected, nl_str next, const nl_table_metadata *updated, nl_arena *arena)
{
    const char *operation = expected.length ? "UpdateTable" : "CreateTable";
    const nl_str version = nl_glue_member_text(table, "VersionId");
    nl_glue_request request;
    nl_glue_answer answer;
    nl_glue_request_begin(self->catalog, &request);
    nl_glue_request_text(&request.out, "DatabaseName", self->database);
    if (expected.length) {
        nl_json_key(&request.out, "SkipArchive");
        nl_json_write_bool(&request.out, self->catalog->skips_archive);
    }
    if (version.length > 0) nl_glue_request_text(&request.out, "VersionId", version);
    write_table_input(&request.out, self, table, expected, next, updated);
    NL_TRY(nl_glue_request_send(self->catalog, &request, operation, true, arena, &answer));
    if (nl_glue_is(&answer, "AlreadyExistsException")) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", self->quoted));
    if (nl_glue_is(&answer, "ConcurrentModificationException"))
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Cannot commit " NL_STR_FMT " because Glue detected concurrent update", NL_STR_ARG(self->shown));
    if (nl_glue_is_missing(&answer) && expected.length) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", self->quoted));
    if (nl_glue_is_missing(&answer)) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", self->quoted_database));
    return nl_glue_failure(&answer, operation, true);
}

static nl_status not_expected(const glue_pointer *self, const json_t *table, nl_str expected)
{
    const nl_str current = nl_glue_member_text(nl_glue_member(table, "Parameters"), "metadata_location");
    if (!table) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", self->quoted));
    if (!expected.length) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", self->quoted));
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Cannot commit " NL_STR_FMT " because base metadata location '" NL_STR_FMT "' is not same as the current Glue location '" NL_STR_FMT "'",
                         NL_STR_ARG(self->shown), NL_STR_ARG(expected), NL_STR_ARG(current));
}

/* One try. *is_known: what it returns is the outcome. has_doubt: nobody knows that of an earlier try. */
static nl_status try_entry(glue_pointer *self, nl_str expected, nl_str next, const nl_table_metadata *updated, bool has_doubt, nl_arena *arena, bool *is_known)
{
    const json_t *table = NULL;
    *is_known = !has_doubt;
    if (has_doubt || expected.length) NL_TRY(get_table(self->catalog, self->database, self->name, arena, &table));
    const nl_str current = nl_glue_member_text(nl_glue_member(table, "Parameters"), "metadata_location");
    if (table && nl_str_equal(current, next)) {
        *is_known = true;
        return NULL;
    }
    const bool is_expected = expected.length ? table && nl_str_equal(current, expected) : !table;
    if (!is_expected) return not_expected(self, table, expected);
    nl_status status = send_entry(self, table, expected, next, updated, arena);
    *is_known = !status || (!has_doubt && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE);
    return status;
}

/* A commit whose outcome nobody knows is looked up and sent again: the version lets at most one of them take effect. When
 * somebody else's commit is in force by then, the error stays, and the pointer's store looks through the log. */
static nl_status swap_entry(glue_pointer *self, nl_str expected, nl_str next, const nl_table_metadata *updated, nl_arena *arena)
{
    nl_status doubt = NULL;
    for (int tries = 1;; tries++) {
        bool is_known;
        nl_status status = try_entry(self, expected, next, updated, doubt != NULL, arena, &is_known);
        if (is_known) {
            nl_error_free(doubt);
            return status;
        }
        if (!doubt) doubt = status;
        else nl_error_free(status);
        if (tries == UNKNOWN_TRIES_MAX) return doubt;
        pause_before(tries);
    }
}

static nl_status glue_swap(nl_pointer *base, nl_str expected, nl_str next, const nl_table_metadata *updated)
{
    glue_pointer *self = NL_CONTAINER(base, glue_pointer, base);
    NL_CHECK(updated); /* Glue has no views */
    nl_arena *arena = nl_arena_new(self->catalog->base.memory);
    nl_status status = swap_entry(self, expected, next, updated, arena);
    nl_arena_free(arena);
    return status;
}

static void glue_pointer_free(nl_pointer *base)
{
    glue_pointer *self = NL_CONTAINER(base, glue_pointer, base);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_pointer_ops pointer_ops = {.read = glue_read, .swap = glue_swap, .free = glue_pointer_free};

static nl_status new_pointer(nl_glue_catalog *self, const nl_identifier *identifier, nl_pointer **pointer)
{
    glue_pointer *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &pointer_ops;
    made->catalog = self;
    made->arena = nl_arena_new(NULL);
    made->database = nl_arena_str(made->arena, identifier->namespace_parts[0]);
    made->name = nl_arena_str(made->arena, identifier->name);
    made->quoted = nl_quoted_identifier(made->arena, &self->base, identifier);
    made->quoted_database = nl_quoted_namespace(made->arena, &self->base, identifier->namespace_parts, identifier->namespace_count);
    made->shown = nl_arena_f(made->arena, NL_STR_FMT "." NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(self->base.name), NL_STR_ARG(made->database), NL_STR_ARG(made->name));
    *pointer = &made->base;
    return NULL;
}

/* The table's file system: the catalog's, or one whose objects carry the table's name as tags. *fs: counted. */
static nl_status table_fs(nl_glue_catalog *self, const nl_identifier *identifier, nl_fs **fs)
{
    nl_property tags[2];
    uint32_t count = 0;
    if (self->tags_tables) tags[count++] = (nl_property){NL_STR("s3.write.tags.iceberg.table"), identifier->name};
    if (self->tags_namespaces) tags[count++] = (nl_property){NL_STR("s3.write.tags.iceberg.namespace"), identifier->namespace_parts[0]};
    if (count > 0) return nl_fs_with_properties(self->fs, tags, count, self->base.memory, fs);
    *fs = nl_fs_retain(self->fs);
    return NULL;
}

/* *fs: counted. */
static nl_status new_store(nl_glue_catalog *self, const nl_identifier *identifier, nl_fs **fs, nl_table_store **store)
{
    nl_pointer *pointer;
    nl_fs *own = NULL;
    NL_TRY(new_pointer(self, identifier, &pointer));
    nl_status status = table_fs(self, identifier, &own);
    if (status) {
        glue_pointer_free(pointer);
        return status;
    }
    status = nl_pointer_store_new(own, pointer, self->cache, store);
    if (status) nl_fs_release(own);
    else *fs = own;
    return status;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static nl_status glue_load_table(nl_catalog *catalog, const nl_identifier *identifier, nl_iceberg_table **table)
{
    nl_glue_catalog *self = nl_glue_of(catalog);
    nl_table_store *store;
    nl_fs *fs = NULL;
    if (!is_valid_identifier(self, identifier)) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_status status = table_not_found(self, identifier, arena);
        nl_arena_free(arena);
        return status;
    }
    NL_TRY(new_store(self, identifier, &fs, &store));
    nl_status status = nl_catalog_table_new(catalog, identifier, fs, store, table);
    nl_fs_release(fs);
    return status;
}

static nl_status glue_default_location(nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, nl_str *location)
{
    nl_glue_catalog *self = nl_glue_of(catalog);
    const json_t *database;
    nl_str name;
    NL_TRY(nl_glue_database_name(self, identifier->namespace_parts, identifier->namespace_count, arena, &name));
    NL_TRY(nl_glue_load_database(self, name, arena, &database));
    if (!database)
        return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, catalog, identifier->namespace_parts, identifier->namespace_count)));
    const nl_str folder = nl_without_slash(nl_glue_member_text(database, "LocationUri"));
    if (folder.length > 0) {
        *location = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(folder), NL_STR_ARG(identifier->name));
        return NULL;
    }
    if (self->warehouse.length == 0) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot derive default warehouse location, warehouse path must not be null or empty");
    *location = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT ".db/" NL_STR_FMT, NL_STR_ARG(self->warehouse), NL_STR_ARG(name), NL_STR_ARG(identifier->name));
    return NULL;
}

static nl_status glue_new_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store, nl_str *table_location)
{
    nl_glue_catalog *self = nl_glue_of(catalog);
    if (!is_valid_identifier(self, identifier)) {
        const nl_str name = nl_identifier_text(arena, identifier);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid table identifier: " NL_STR_FMT, NL_STR_ARG(name));
    }
    if (location.length) *table_location = location;
    else NL_TRY(glue_default_location(catalog, identifier, arena, table_location));
    return new_store(self, identifier, fs, store);
}

/* Before a purge; a table whose metadata file is gone is dropped without one, as Java does. */
static nl_status load_to_purge(nl_glue_catalog *self, const nl_identifier *identifier, nl_iceberg_table **table)
{
    nl_error *error = glue_load_table(&self->base, identifier, table);
    if (!error) return nl_check_purge((*table)->metadata);
    if (nl_error_condition(error) != NL_COND_PATH_NOT_FOUND) return error;
    nl_log(NL_LOG_WARN, "the metadata of a table could not be read: it is dropped without purging: %s", nl_error_message(error));
    nl_error_free(error);
    return NULL;
}

/* DeleteTable takes no version: asking once more just before leaves others no more than that moment for a commit that would be lost. */
static nl_status metadata_file_of(const nl_glue_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_str *metadata_file)
{
    const json_t *entry;
    NL_TRY(get_table(self, identifier->namespace_parts[0], identifier->name, arena, &entry));
    *metadata_file = nl_glue_member_text(nl_glue_member(entry, "Parameters"), "metadata_location");
    return NULL;
}

/* What is purged are the files of the metadata that is in force when the entry goes. */
static nl_status load_last(nl_glue_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_iceberg_table **table)
{
    for (int tries = 0; tries < PURGE_TRIES_MAX; tries++) {
        nl_str now = {0};
        nl_iceberg_table_release(*table);
        *table = NULL;
        NL_TRY(load_to_purge(self, identifier, table));
        if (!*table) return NULL;
        NL_TRY(metadata_file_of(self, identifier, arena, &now));
        if (!now.length || nl_str_equal(now, (*table)->metadata->metadata_file)) return NULL;
    }
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "The table " NL_STR_FMT " is being written to: it was not dropped", NL_STR_ARG(identifier->name));
}

static nl_status drop_table_in(nl_glue_catalog *self, const nl_identifier *identifier, bool is_purge, nl_arena *arena, bool *was_dropped)
{
    const json_t *entry;
    nl_iceberg_table *table = NULL;
    *was_dropped = false;
    if (!is_valid_identifier(self, identifier)) return NULL;
    const nl_str database = identifier->namespace_parts[0];
    NL_TRY(get_table(self, database, identifier->name, arena, &entry));
    if (!entry || !nl_glue_is_iceberg(entry)) return NULL;
    deletion result = NOT_THERE;
    nl_status status = is_purge ? load_last(self, identifier, arena, &table) : NULL;
    if (!status) status = delete_table(self, database, identifier->name, arena, &result);
    *was_dropped = !status && result != NOT_THERE;
    if (!status && table && result == DELETED) status = nl_purge_table_files(table->fs, table->metadata, table->memory);
    if (!status && table && result == GONE) /* another may have renamed it: the files may be that one's now */
        nl_log(NL_LOG_WARN, "the answer to a DeleteTable was lost: the files of the dropped table %.*s stay", NL_STR_ARG(table->name));
    nl_iceberg_table_release(table);
    return status;
}

static nl_status glue_drop_table(nl_catalog *catalog, const nl_identifier *identifier, bool is_purge, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_table_in(nl_glue_of(catalog), identifier, is_purge, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

/* The entry under its new name: what Glue knows of the old one. */
static nl_status copy_entry(const nl_glue_catalog *self, const json_t *entry, const nl_identifier *to, nl_arena *arena)
{
    static const char *const members[] = {"Description", "Owner", "TableType", "Parameters", "StorageDescriptor"};
    nl_glue_request request;
    nl_glue_answer answer;
    nl_glue_request_begin(self, &request);
    nl_glue_request_text(&request.out, "DatabaseName", to->namespace_parts[0]);
    nl_json_key(&request.out, "TableInput");
    nl_json_begin(&request.out, '{');
    nl_glue_request_text(&request.out, "Name", to->name);
    for (size_t i = 0; i < NL_COUNT(members); i++) {
        const json_t *value = nl_glue_member(entry, members[i]);
        if (!value || json_is_null(value)) continue;
        nl_json_key(&request.out, members[i]);
        nl_json_write_json(&request.out, value);
    }
    nl_json_end(&request.out, '}');
    NL_TRY(nl_glue_request_send(self, &request, "CreateTable", true, arena, &answer));
    if (nl_glue_is(&answer, "AlreadyExistsException")) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_quoted_identifier(arena, &self->base, to)));
    return nl_glue_failure(&answer, "CreateTable", true);
}

/* *is_there: the new name names the metadata that `entry` does. */
static nl_status check_copy(const nl_glue_catalog *self, const json_t *entry, const nl_identifier *to, nl_arena *arena, bool *is_there)
{
    const json_t *copy;
    NL_TRY(get_table(self, to->namespace_parts[0], to->name, arena, &copy));
    const nl_str wanted = nl_glue_member_text(nl_glue_member(entry, "Parameters"), "metadata_location");
    *is_there = copy && wanted.length > 0 && nl_str_equal(nl_glue_member_text(nl_glue_member(copy, "Parameters"), "metadata_location"), wanted);
    return NULL;
}

/* The entry under its new name; when the answer is lost, Glue is asked. */
static nl_status make_copy(const nl_glue_catalog *self, const json_t *entry, const nl_identifier *to, nl_arena *arena)
{
    bool is_there = false;
    nl_status status = copy_entry(self, entry, to, arena);
    if (!status || nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) return status;
    nl_error *hidden = check_copy(self, entry, to, arena, &is_there);
    nl_error_free(hidden);
    if (!is_there) return nl_note_if(status, NL_HERE, "nothing was deleted: the table has its old name, and may have the new one too");
    nl_error_free(status);
    return NULL;
}

/* The old entry could not be deleted. The new one goes, unless somebody has committed to it. `status` is taken. */
static nl_status undo_copy(const nl_glue_catalog *self, const json_t *entry, const nl_identifier *to, nl_arena *arena, nl_status status)
{
    bool is_unchanged = false;
    deletion result;
    const bool is_certain = nl_error_condition(status) == NL_COND_NILAS_COMMIT_FAILED; /* there was no deletion */
    if (!is_certain && (nl_error_kind_of(status) == NL_KIND_RETRY || nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE)) {
        nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
        return nl_note_if(status, NL_HERE, "the table has both names: drop the old one without PURGE when Glue answers again");
    }
    nl_error *second = check_copy(self, entry, to, arena, &is_unchanged);
    if (!second && is_unchanged) second = delete_table(self, to->namespace_parts[0], to->name, arena, &result);
    return nl_first_error(nl_note_if(status, NL_HERE, "renaming to " NL_STR_FMT, NL_STR_ARG(to->name)), second);
}

/* A commit to the old name since it was read would be lost with the entry. */
static nl_status check_unchanged(const nl_glue_catalog *self, const json_t *entry, const nl_identifier *from, nl_arena *arena)
{
    nl_str now = {0};
    NL_TRY(metadata_file_of(self, from, arena, &now));
    if (!now.length || nl_str_equal(now, nl_glue_member_text(nl_glue_member(entry, "Parameters"), "metadata_location"))) return NULL;
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "The table " NL_STR_FMT " was written to while it was being renamed: it keeps its name", NL_STR_ARG(from->name));
}

/* Glue cannot rename: the entry is made anew, then the old one goes; should that fail, the new one goes. */
static nl_status rename_in(nl_glue_catalog *self, const nl_identifier *from, const nl_identifier *to, nl_arena *arena)
{
    const json_t *entry = NULL;
    bool is_there;
    deletion result;
    if (!is_valid_identifier(self, from)) return table_not_found(self, from, arena);
    const nl_str from_text = nl_identifier_text(arena, from), to_text = nl_identifier_text(arena, to), scope = nl_glue_scope_text(arena, to->namespace_parts, to->namespace_count);
    if (!is_valid_identifier(self, to)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid table identifier: " NL_STR_FMT, NL_STR_ARG(to_text));
    NL_TRY(nl_catalog_namespace_exists(&self->base, to->namespace_parts, to->namespace_count, &is_there));
    if (!is_there)
        return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Cannot rename " NL_STR_FMT " to " NL_STR_FMT " because namespace " NL_STR_FMT " does not exist", NL_STR_ARG(from_text),
                             NL_STR_ARG(to_text), NL_STR_ARG(scope));
    NL_TRY(get_table(self, from->namespace_parts[0], from->name, arena, &entry));
    if (!entry || !nl_glue_is_iceberg(entry)) return table_not_found(self, from, arena);
    NL_TRY(make_copy(self, entry, to, arena));
    nl_status status = check_unchanged(self, entry, from, arena);
    if (!status) status = delete_table(self, from->namespace_parts[0], from->name, arena, &result);
    /* Gone: by us, by a try of ours whose answer was lost, or by another; the new entry keeps the table. */
    return status ? undo_copy(self, entry, to, arena, status) : NULL;
}

static nl_status glue_rename_table(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = rename_in(nl_glue_of(catalog), from, to, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status register_in(nl_glue_catalog *self, const nl_identifier *identifier, nl_str metadata_file, nl_arena *arena)
{
    const nl_table_metadata *metadata = NULL;
    nl_pointer *pointer = NULL;
    if (!is_valid_identifier(self, identifier)) {
        const nl_str name = nl_identifier_text(arena, identifier);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid identifier: " NL_STR_FMT, NL_STR_ARG(name));
    }
    NL_TRY(nl_table_metadata_read(self->fs, metadata_file, self->base.memory, &metadata));
    nl_status status = new_pointer(self, identifier, &pointer);
    if (!status) status = glue_swap(pointer, NL_STR(""), metadata_file, metadata);
    if (pointer) glue_pointer_free(pointer);
    nl_table_metadata_release(metadata);
    return status;
}

static nl_status glue_register_table(nl_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = register_in(nl_glue_of(catalog), identifier, metadata_file, arena);
    nl_arena_free(arena);
    return status ? status : glue_load_table(catalog, identifier, table);
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static void glue_free(nl_catalog *catalog)
{
    nl_glue_catalog *self = nl_glue_of(catalog);
    nl_glue_client_free(self->client);
    nl_metadata_cache_free(self->cache);
    if (self->fs) nl_fs_release(self->fs);
    nl_catalog_fini(catalog);
    free(self);
}

static const nl_catalog_ops glue_ops = {
    .type = "glue",
    .has_rename = true,
    .list_namespaces = nl_glue_list_namespaces,
    .create_namespace = nl_glue_create_namespace,
    .drop_namespace = nl_glue_drop_namespace,
    .namespace_properties = nl_glue_namespace_properties,
    .update_namespace = nl_glue_update_namespace,
    .list_tables = nl_glue_list_tables,
    .load_table = glue_load_table,
    .new_table = glue_new_table,
    .drop_table = glue_drop_table,
    .rename_table = glue_rename_table,
    .register_table = glue_register_table,
    .default_location = glue_default_location,
    .free = glue_free,
};

static nl_status boolean_of(const nl_glue_catalog *self, const char *key, bool fallback, bool *value)
{
    const nl_str text = nl_catalog_property(&self->base, key);
    *value = text.data ? nl_str_is_nocase(text, "true") : fallback;
    if (text.data && !*value && !nl_str_is_nocase(text, "false"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s of catalog " NL_STR_FMT " must be true or false, not " NL_STR_FMT, key, NL_STR_ARG(self->base.name), NL_STR_ARG(text));
    return NULL;
}

/* What writers agree on by other means than Glue's versions would not be kept by nilas, and the other way round. */
static nl_status refuse_other_locks(const nl_glue_catalog *self)
{
    const nl_str lock = nl_catalog_property(&self->base, "lock-impl");
    bool uses_lake_formation;
    NL_TRY(boolean_of(self, "glue.lakeformation-enabled", false, &uses_lake_formation));
    if (uses_lake_formation) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "glue.lakeformation-enabled is not supported: nilas reads S3 with credentials of its own.");
    if (lock.length == 0 || nl_str_ends(lock, NL_STR("InMemoryLockManager"))) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "lock-impl " NL_STR_FMT " is not supported: nilas commits with Glue's own versions of a table, which writers that use a lock do not look at.",
                         NL_STR_ARG(lock));
}

static nl_status configure(nl_glue_catalog *self)
{
    const nl_str warehouse = nl_catalog_property(&self->base, "warehouse"), id = nl_catalog_property(&self->base, "glue.id");
    self->warehouse = nl_without_slash(warehouse);
    self->id = id;
    NL_TRY(boolean_of(self, "glue.skip-archive", true, &self->skips_archive));
    NL_TRY(boolean_of(self, "glue.skip-name-validation", false, &self->skips_validation));
    NL_TRY(boolean_of(self, "s3.write.table-tag-enabled", false, &self->tags_tables));
    NL_TRY(boolean_of(self, "s3.write.namespace-tag-enabled", false, &self->tags_namespaces));
    NL_TRY(refuse_other_locks(self));
    NL_TRY(nl_glue_client_new(self->base.properties, self->base.property_count, self->base.memory, &self->client));
    return nl_fs_from_properties(self->base.properties, self->base.property_count, self->base.memory, &self->fs);
}

nl_status nl_glue_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                               nl_catalog **catalog)
{
    nl_glue_catalog *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    nl_status status = nl_catalog_init(&self->base, &glue_ops, name, properties, property_count, environment, memory);
    if (status) {
        free(self);
        return status;
    }
    self->cache = nl_metadata_cache_new();
    status = configure(self);
    if (status) {
        glue_free(&self->base);
        return status;
    }
    *catalog = &self->base;
    return NULL;
}

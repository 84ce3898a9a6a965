/* catalog/glue/namespaces.c - databases of the Glue Data Catalog as namespaces, and what is in them. */
#include <stdlib.h>

#include "catalog/glue/glue_private.h"

/* *database: the Glue database, or NULL when there is none. */
nl_status nl_glue_load_database(const nl_glue_catalog *self, nl_str name, nl_arena *arena, const json_t **database)
{
    nl_glue_request request;
    nl_glue_answer answer;
    *database = NULL;
    nl_glue_request_begin(self, &request);
    nl_glue_request_text(&request.out, "Name", name);
    NL_TRY(nl_glue_request_send(self, &request, "GetDatabase", false, arena, &answer));
    if (nl_glue_is_missing(&answer) || nl_glue_is(&answer, "InvalidInputException")) return NULL;
    NL_TRY(nl_glue_failure(&answer, "GetDatabase", false));
    *database = nl_glue_member(answer.json, "Database");
    return json_is_object(*database) ? NULL : nl_json_corrupt(NL_STR("the answer to Glue's GetDatabase"), "Database: is no object");
}

/* With room for `more`. */
static nl_property *properties_of(const json_t *database, size_t more, nl_arena *arena, uint32_t *count)
{
    const json_t *parameters = nl_glue_member(database, "Parameters");
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, json_object_size(parameters) + 2 + more);
    const nl_str location = nl_without_slash(nl_glue_member_text(database, "LocationUri")), description = nl_glue_member_text(database, "Description");
    const char *key;
    json_t *value;
    *count = 0;
    json_object_foreach(NL_UNCONST(parameters), key, value)
    {
        if (json_is_string(value)) items[(*count)++] = (nl_property){nl_str_from(key), {json_string_value(value), json_string_length(value)}};
    }
    if (location.data) items[(*count)++] = (nl_property){NL_STR("location"), location};
    if (description.data) items[(*count)++] = (nl_property){NL_STR("comment"), description};
    return items;
}

nl_status nl_glue_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties,
                                           uint32_t *property_count)
{
    nl_glue_catalog *self = nl_glue_of(catalog);
    const json_t *database;
    nl_str name;
    NL_TRY(nl_glue_database_name(self, parts, part_count, arena, &name));
    NL_TRY(nl_glue_load_database(self, name, arena, &database));
    if (!database) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, catalog, parts, part_count)));
    *properties = properties_of(database, 0, arena, property_count);
    return NULL;
}

static int compare_identifiers(const void *a, const void *b)
{
    const nl_identifier *left = a, *right = b;
    const int order = nl_str_compare(left->namespace_parts[0], right->namespace_parts[0]);
    return order ? order : nl_str_compare(left->name, right->name);
}

/* Every page of GetDatabases or GetTables; `note` sees each item. */
static nl_status each_item(const nl_glue_catalog *self, const char *operation, const char *member, nl_str database, nl_arena *arena, void (*note)(void *, const json_t *), void *argument,
                           bool *is_there)
{
    nl_str token = {0};
    *is_there = true;
    do {
        nl_glue_request request;
        nl_glue_answer answer;
        size_t i;
        json_t *item;
        nl_glue_request_begin(self, &request);
        if (database.data) nl_glue_request_text(&request.out, "DatabaseName", database);
        if (token.length > 0) nl_glue_request_text(&request.out, "NextToken", token);
        NL_TRY(nl_glue_request_send(self, &request, operation, false, arena, &answer));
        if (nl_glue_is_missing(&answer)) {
            *is_there = false;
            return NULL;
        }
        NL_TRY(nl_glue_failure(&answer, operation, false));
        json_array_foreach(nl_glue_member(answer.json, member), i, item) note(argument, item);
        const nl_str next = nl_glue_member_text(answer.json, "NextToken");
        if (next.length > 0 && nl_str_equal(next, token)) return nl_json_corrupt(NL_STR("the answer of Glue"), "NextToken: leads nowhere");
        token = next;
        NL_TRY(nl_arena_check(arena));
    } while (token.length > 0);
    return NULL;
}

typedef struct name_notes {
    nl_arena *arena;
    nl_list names; /* nl_str * */
    bool has_other; /* a table that is none of Iceberg's */
} name_notes;

static void note_name(void *argument, const json_t *item)
{
    name_notes *notes = argument;
    nl_str *name = NL_NEW(notes->arena, nl_str);
    *name = nl_glue_member_text(item, "Name");
    if (name->length > 0) nl_list_add(notes->arena, &notes->names, name);
}

static void note_table(void *argument, const json_t *item)
{
    name_notes *notes = argument;
    if (nl_glue_is_iceberg(item)) note_name(argument, item);
    else notes->has_other = true;
}

nl_status nl_glue_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list)
{
    nl_glue_catalog *self = nl_glue_of(catalog);
    name_notes notes = {.arena = arena};
    bool is_there;
    if (parent_count > 0) {
        NL_TRY(nl_catalog_namespace_exists(catalog, parent, parent_count, &is_there));
        const nl_str scope = nl_glue_scope_text(arena, parent, parent_count);
        return is_there ? NULL
                        : NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Glue does not support nested namespace, cannot list namespaces under " NL_STR_FMT, NL_STR_ARG(scope));
    }
    NL_TRY(each_item(self, "GetDatabases", "DatabaseList", (nl_str){0}, arena, note_name, &notes, &is_there));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, notes.names.count);
    for (uint32_t i = 0; i < notes.names.count; i++) list->items[list->count++] = (nl_identifier){notes.names.items[i], 1, {0}};
    if (list->count > 1) qsort(list->items, list->count, sizeof(*list->items), compare_identifiers);
    return nl_arena_check(arena);
}

nl_status nl_glue_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    nl_glue_catalog *self = nl_glue_of(catalog);
    name_notes notes = {.arena = arena};
    nl_str database;
    bool is_there;
    NL_TRY(nl_glue_database_name(self, parts, part_count, arena, &database));
    NL_TRY(each_item(self, "GetTables", "TableList", database, arena, note_table, &notes, &is_there));
    if (!is_there) return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(database));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, notes.names.count);
    for (uint32_t i = 0; i < notes.names.count; i++) list->items[list->count++] = (nl_identifier){parts, part_count, *(const nl_str *)notes.names.items[i]};
    if (list->count > 1) qsort(list->items, list->count, sizeof(*list->items), compare_identifiers);
    return nl_arena_check(arena);
}

static nl_status put_database(const nl_glue_catalog *self, const char *operation, nl_str name, const nl_property *properties, uint32_t property_count, nl_arena *arena,
                              nl_glue_answer *answer)
{
    const bool is_new = strcmp(operation, "CreateDatabase") == 0;
    nl_glue_request request;
    nl_glue_request_begin(self, &request);
    if (!is_new) nl_glue_request_text(&request.out, "Name", name);
    nl_json_key(&request.out, "DatabaseInput");
    nl_glue_write_database(&request.out, name, properties, property_count);
    return nl_glue_request_send(self, &request, operation, is_new, arena, answer);
}

static nl_status create_namespace_in(nl_glue_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count, nl_arena *arena)
{
    nl_str name;
    nl_glue_answer answer;
    NL_TRY(nl_glue_database_name(self, parts, part_count, arena, &name));
    NL_TRY(put_database(self, "CreateDatabase", name, properties, property_count, arena, &answer));
    if (nl_glue_is(&answer, "AlreadyExistsException"))
        return NL_RAISE(SCHEMA_ALREADY_EXISTS, NL_P_STR("schemaName", nl_quoted_namespace(arena, &self->base, parts, part_count)));
    return nl_glue_failure(&answer, "CreateDatabase", true);
}

nl_status nl_glue_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = create_namespace_in(nl_glue_of(catalog), parts, part_count, properties, property_count, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status drop_namespace_in(nl_glue_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, bool *was_dropped)
{
    name_notes notes = {.arena = arena};
    nl_str name;
    nl_glue_request request;
    nl_glue_answer answer;
    *was_dropped = false;
    NL_TRY(nl_glue_database_name(self, parts, part_count, arena, &name));
    NL_TRY(each_item(self, "GetTables", "TableList", name, arena, note_table, &notes, was_dropped));
    if (!*was_dropped) return NULL;
    *was_dropped = false;
    if (notes.names.count > 0 || notes.has_other)
        return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, "Cannot drop namespace " NL_STR_FMT " because it still contains %s tables", NL_STR_ARG(name),
                             notes.names.count > 0 ? "Iceberg" : "non-Iceberg");
    nl_glue_request_begin(self, &request);
    nl_glue_request_text(&request.out, "Name", name);
    NL_TRY(nl_glue_request_send(self, &request, "DeleteDatabase", false, arena, &answer));
    if (nl_glue_is_missing(&answer)) return NULL;
    NL_TRY(nl_glue_failure(&answer, "DeleteDatabase", false));
    *was_dropped = true;
    return NULL;
}

nl_status nl_glue_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_namespace_in(nl_glue_of(catalog), parts, part_count, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static void remove_property(nl_property *items, uint32_t *count, nl_str key)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (!nl_str_equal(items[i].key, key)) items[kept++] = items[i];
    *count = kept;
}

static nl_status update_namespace_in(nl_glue_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                     uint32_t removed_count, nl_arena *arena)
{
    const json_t *database;
    nl_str name;
    nl_glue_answer answer;
    uint32_t count;
    NL_TRY(nl_glue_database_name(self, parts, part_count, arena, &name));
    NL_TRY(nl_glue_load_database(self, name, arena, &database));
    if (!database) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, &self->base, parts, part_count)));
    nl_property *items = properties_of(database, set_count, arena, &count);
    for (uint32_t i = 0; i < removed_count; i++) remove_property(items, &count, removed[i]);
    for (uint32_t i = 0; i < set_count; i++) {
        remove_property(items, &count, set[i].key);
        items[count++] = set[i];
    }
    NL_TRY(put_database(self, "UpdateDatabase", name, items, count, arena, &answer));
    return nl_glue_failure(&answer, "UpdateDatabase", false);
}

nl_status nl_glue_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                       uint32_t removed_count)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = update_namespace_in(nl_glue_of(catalog), parts, part_count, set, set_count, removed, removed_count, arena);
    nl_arena_free(arena);
    return status;
}

/* catalog/hive/databases.c - databases of the metastore are namespaces of one level. */
#include "catalog/hive/hive.h"

#include <stdlib.h>

#define OWNER_KEY      "hive.metastore.database.owner"
#define OWNER_TYPE_KEY "hive.metastore.database.owner-type"

static const char *const owner_types[] = {"", "USER", "ROLE", "GROUP"}; /* PrincipalType */

static nl_str scope_text(nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    nl_str text = NL_STR("");
    for (uint32_t i = 0; i < part_count; i++) text = i ? nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(parts[i])) : parts[i];
    return text;
}

static nl_status no_such_namespace(nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    const nl_str scope = scope_text(arena, parts, part_count);
    return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(scope));
}

static nl_status find(nl_hive_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_wire_value **database)
{
    *database = NULL;
    return part_count == 1 ? nl_hms_get_database(self->client, parts[0], arena, database) : NULL;
}

nl_status nl_hive_database_location(nl_hive_catalog *self, nl_str name, nl_arena *arena, nl_str *location)
{
    if (self->options.warehouse.length == 0) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Warehouse location is not set: hive.metastore.warehouse.dir=null");
    *location = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT ".db", NL_STR_ARG(self->options.warehouse), NL_STR_ARG(name));
    return NULL;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* With room for `more`. */
static nl_property *properties_of(const nl_wire_value *database, size_t more, nl_arena *arena, uint32_t *count)
{
    const nl_wire_value *parameters = nl_wire_field(database, NL_HMS_DATABASE_PARAMETERS, NL_WIRE_MAP);
    const bool has_texts = parameters && parameters->key_type == NL_WIRE_STRING && parameters->item_type == NL_WIRE_STRING;
    const uint32_t parameter_count = has_texts ? parameters->count : 0;
    const nl_str location = nl_wire_text(database, NL_HMS_DATABASE_LOCATION), description = nl_wire_text(database, NL_HMS_DATABASE_DESCRIPTION);
    const nl_str owner = nl_wire_text(database, NL_HMS_DATABASE_OWNER);
    const int64_t owner_type = nl_wire_number(database, NL_HMS_DATABASE_OWNER_TYPE, 0);
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, (size_t)parameter_count + 4 + more);
    *count = 0;
    for (uint32_t i = 0; i < parameter_count; i++) items[(*count)++] = (nl_property){parameters->items[2 * i].text, parameters->items[2 * i + 1].text};
    items[(*count)++] = (nl_property){NL_STR("location"), nl_without_slash(location)};
    items[(*count)++] = (nl_property){NL_STR("comment"), description};
    if (owner.data) items[(*count)++] = (nl_property){NL_STR(OWNER_KEY), owner};
    if (owner.data && owner_type > 0 && owner_type < (int64_t)NL_COUNT(owner_types))
        items[(*count)++] = (nl_property){NL_STR(OWNER_TYPE_KEY), nl_str_from(owner_types[owner_type])};
    return items;
}

nl_status nl_hive_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties, uint32_t *property_count)
{
    nl_wire_value *database;
    NL_TRY(find(nl_hive_of(catalog), parts, part_count, arena, &database));
    if (!database) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_quoted_namespace(arena, catalog, parts, part_count)));
    *properties = properties_of(database, 0, arena, property_count);
    return NULL;
}

static void remove_property(nl_property *items, uint32_t *count, nl_str key)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (!nl_str_equal(items[i].key, key)) items[kept++] = items[i];
    *count = kept;
}

static nl_status set_owner_type(nl_str value, nl_arena *arena, nl_wire_value *database)
{
    for (size_t i = 1; i < NL_COUNT(owner_types); i++)
        if (nl_str_is_nocase(value, owner_types[i])) {
            nl_wire_set_number(arena, database, NL_HMS_DATABASE_OWNER_TYPE, NL_WIRE_I32, (int64_t)i);
            return NULL;
        }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, OWNER_TYPE_KEY " must be USER, ROLE or GROUP, not " NL_STR_FMT, NL_STR_ARG(value));
}

/* Puts the properties into the database, in place of those it has. */
static nl_status fill(nl_hive_catalog *self, nl_str name, const nl_property *properties, uint32_t property_count, nl_arena *arena, nl_wire_value *database)
{
    nl_wire_value parameters = nl_wire_text_map();
    bool has_location = false, has_owner = false, has_owner_type = false;
    nl_wire_set_text(arena, database, NL_HMS_DATABASE_NAME, name);
    nl_wire_unset(database, NL_HMS_DATABASE_DESCRIPTION);
    for (uint32_t i = 0; i < property_count; i++) {
        const nl_property *property = &properties[i];
        if (nl_str_is(property->key, "comment")) {
            nl_wire_set_text(arena, database, NL_HMS_DATABASE_DESCRIPTION, property->value);
        } else if (nl_str_is(property->key, "location")) {
            has_location = true;
            nl_wire_set_text(arena, database, NL_HMS_DATABASE_LOCATION, property->value);
        } else if (nl_str_is(property->key, OWNER_KEY)) {
            has_owner = true;
            nl_wire_set_text(arena, database, NL_HMS_DATABASE_OWNER, property->value);
        } else if (nl_str_is(property->key, OWNER_TYPE_KEY)) {
            has_owner_type = true;
            NL_TRY(set_owner_type(property->value, arena, database));
        } else {
            nl_wire_put(arena, &parameters, property->key, property->value);
        }
    }
    nl_wire_set(arena, database, NL_HMS_DATABASE_PARAMETERS, parameters);
    if (!has_location) {
        nl_str location;
        NL_TRY(nl_hive_database_location(self, name, arena, &location));
        nl_wire_set_text(arena, database, NL_HMS_DATABASE_LOCATION, location);
    }
    if (!has_owner) nl_wire_set_text(arena, database, NL_HMS_DATABASE_OWNER, self->options.user);
    if (!has_owner || !has_owner_type) nl_wire_set_number(arena, database, NL_HMS_DATABASE_OWNER_TYPE, NL_WIRE_I32, 1);
    return NULL;
}

static bool has_key(const nl_property *properties, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is(properties[i].key, key)) return true;
    return false;
}

/* ---- namespaces -------------------------------------------------------------------------------------------------- */

static int compare_identifiers(const void *a, const void *b)
{
    const nl_identifier *left = a, *right = b;
    return nl_str_compare(left->namespace_parts[0], right->namespace_parts[0]);
}

nl_status nl_hive_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    const nl_wire_value *names;
    nl_wire_value *database;
    if (parent_count > 0) { /* there is nothing below a database */
        NL_TRY(find(self, parent, parent_count, arena, &database));
        return database ? NULL : no_such_namespace(arena, parent, parent_count);
    }
    NL_TRY(nl_hms_database_names(self->client, arena, &names));
    list->items = NL_NEW_ARRAY(arena, nl_identifier, names->count);
    for (uint32_t i = 0; i < names->count; i++) list->items[list->count++] = (nl_identifier){&names->items[i].text, 1, {0}};
    if (list->count > 1) qsort(list->items, list->count, sizeof(*list->items), compare_identifiers);
    return nl_arena_check(arena);
}

static nl_status create_in(nl_hive_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count, nl_arena *arena)
{
    nl_wire_value database = nl_wire_struct(), *existing = NULL;
    nl_hive_answer answer;
    if (part_count != 1 || parts[0].length == 0) {
        const nl_str scope = scope_text(arena, parts, part_count);
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot support multi part namespace in Hive Metastore: " NL_STR_FMT, NL_STR_ARG(scope));
    }
    if (has_key(properties, property_count, OWNER_TYPE_KEY) && !has_key(properties, property_count, OWNER_KEY))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Create namespace setting " OWNER_TYPE_KEY " without setting " OWNER_KEY " is not allowed");
    NL_TRY(fill(self, parts[0], properties, property_count, arena, &database));
    nl_error *error = nl_hms_create_database(self->client, &database, arena, &answer);
    if (error && nl_error_kind_of(error) == NL_KIND_UNKNOWN_STATE) { /* it is there or it is not: both are fine to know */
        nl_error *second = nl_hms_get_database(self->client, parts[0], arena, &existing);
        nl_error_free(second);
        if (!second && existing) {
            nl_error_free(error);
            return NULL;
        }
    }
    NL_TRY(error);
    if (nl_hive_is(&answer, "AlreadyExistsException"))
        return NL_RAISE(SCHEMA_ALREADY_EXISTS, NL_P_STR("schemaName", nl_quoted_namespace(arena, &self->base, parts, part_count)));
    return nl_hive_failure(&answer, &(nl_hive_method){.name = "create_database"});
}

nl_status nl_hive_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = create_in(nl_hive_of(catalog), parts, part_count, properties, property_count, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status drop_in(nl_hive_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, bool *was_dropped)
{
    nl_hive_answer answer;
    *was_dropped = false;
    if (part_count != 1) return NULL;
    NL_TRY(nl_hms_drop_database(self->client, parts[0], arena, &answer));
    if (nl_hive_is(&answer, "NoSuchObjectException")) return NULL;
    if (nl_hive_is(&answer, "InvalidOperationException"))
        return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, "Namespace " NL_STR_FMT " is not empty. One or more tables exist.", NL_STR_ARG(parts[0]));
    NL_TRY(nl_hive_failure(&answer, &(nl_hive_method){.name = "drop_database"}));
    *was_dropped = true;
    return NULL;
}

nl_status nl_hive_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = drop_in(nl_hive_of(catalog), parts, part_count, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status update_in(nl_hive_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                           uint32_t removed_count, nl_arena *arena)
{
    nl_wire_value *database;
    uint32_t count;
    if (has_key(set, set_count, OWNER_TYPE_KEY) != has_key(set, set_count, OWNER_KEY))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Setting " OWNER_TYPE_KEY " and " OWNER_KEY " has to be performed together or not at all");
    NL_TRY(find(self, parts, part_count, arena, &database));
    if (!database) return no_such_namespace(arena, parts, part_count);
    nl_property *items = properties_of(database, set_count, arena, &count);
    for (uint32_t i = 0; i < removed_count; i++) remove_property(items, &count, removed[i]);
    for (uint32_t i = 0; i < set_count; i++) {
        remove_property(items, &count, set[i].key);
        items[count++] = set[i];
    }
    NL_TRY(fill(self, parts[0], items, count, arena, database));
    return nl_hms_alter_database(self->client, parts[0], database, arena);
}

nl_status nl_hive_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                   uint32_t removed_count)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = update_in(nl_hive_of(catalog), parts, part_count, set, set_count, removed, removed_count, arena);
    nl_arena_free(arena);
    return status;
}

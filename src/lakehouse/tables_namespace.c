/* lakehouse/tables_namespace.c - namespaces of the table store: rows whose name is the parts joined by 0x1F, so that what
 * lies below a namespace is a range of names. Properties are kept as a JSON object. See tables.h.
 */
#include "lakehouse/tables_private.h"

#include "base/calendar.h"
#include "base/json.h"

#define SEPARATOR '\x1F'

nl_status nl_namespace_join(nl_arena *arena, const nl_str *parts, uint32_t part_count, nl_str *joined)
{
    nl_builder *text = NL_NEW(arena, nl_builder);
    nl_builder_init(text, 64u << 10);
    bool is_bad = false;
    for (uint32_t i = 0; i < part_count; i++) {
        is_bad = is_bad || parts[i].length == 0 || memchr(parts[i].data, SEPARATOR, parts[i].length) || memchr(parts[i].data, 0, parts[i].length) ||
                 !nl_utf8_is_valid(parts[i]);
        if (i) nl_append_char(text, SEPARATOR);
        nl_append(text, parts[i]);
    }
    *joined = nl_arena_str(arena, nl_builder_str(text));
    if (!joined->data) *joined = NL_STR("");
    const bool has_failed = nl_builder_failed(text);
    nl_builder_fini(text);
    if (is_bad || has_failed) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid namespace: a level is empty, too long, or holds a separator");
    return nl_arena_check(arena);
}

const nl_str *nl_namespace_split(nl_arena *arena, nl_str joined, uint32_t *part_count)
{
    uint32_t count = joined.length ? 1 : 0;
    for (size_t i = 0; i < joined.length; i++)
        count += joined.data[i] == SEPARATOR;
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, (size_t)count + 1);
    nl_str rest = joined;
    for (uint32_t i = 0; i < count; i++)
        nl_str_next_part(&rest, SEPARATOR, &parts[i]);
    *part_count = count;
    return parts;
}

nl_str nl_relation_name(nl_arena *arena, nl_str joined, nl_str name)
{
    uint32_t count;
    const nl_str *parts = nl_namespace_split(arena, joined, &count);
    nl_str text = {"", 0};
    for (uint32_t i = 0; i < count; i++)
        text = nl_arena_f(arena, NL_STR_FMT "%s`" NL_STR_FMT "`", NL_STR_ARG(text), i ? "." : "", NL_STR_ARG(parts[i]));
    return name.length ? nl_arena_f(arena, NL_STR_FMT "%s`" NL_STR_FMT "`", NL_STR_ARG(text), count ? "." : "", NL_STR_ARG(name)) : text;
}

typedef struct namespace_work {
    int64_t warehouse_id;
    nl_str name;       /* joined */
    nl_str parent;     /* joined; empty: the top */
    nl_str after, prefix;
    nl_str properties; /* JSON */
    const nl_remembered *remembered;
    const nl_namespace_update *update;
    uint32_t count_max;
    nl_arena *arena;
    nl_namespace_entry *found;
    nl_list list;
    bool exists;
} namespace_work;

nl_status nl_namespace_is_there(nl_sqlite *database, int64_t warehouse_id, nl_str joined, bool *exists)
{
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM namespaces WHERE warehouse_id = ? AND name = ?", &select));
    nl_sqlite_bind_int(select, 1, warehouse_id);
    nl_sqlite_bind_text(select, 2, joined);
    NL_TRY(nl_sqlite_step(select, exists));
    nl_sqlite_reset(select);
    return NULL;
}

nl_status nl_namespace_must_exist(nl_sqlite *database, int64_t warehouse_id, nl_str joined, nl_arena *arena)
{
    bool exists;
    NL_TRY(nl_namespace_is_there(database, warehouse_id, joined, &exists));
    if (exists) return NULL;
    return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_relation_name(arena, joined, (nl_str){0})));
}

static nl_str properties_text(nl_arena *arena, const nl_property *properties, uint32_t property_count)
{
    nl_builder text;
    nl_builder_init(&text, 16u << 20);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    for (uint32_t i = 0; i < property_count; i++) {
        nl_json_key_str(&json, properties[i].key);
        nl_json_write_text(&json, properties[i].value);
    }
    nl_json_end(&json, '}');
    const nl_str kept = nl_builder_failed(&text) ? (nl_str){0} : nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return kept;
}

static nl_status parse_properties(nl_arena *arena, nl_str text, nl_namespace_entry *entry)
{
    const json_t *json;
    NL_TRY(nl_json_parse(arena, text, NL_STR("the data folder"), &json));
    nl_property *properties = NL_NEW_ARRAY(arena, nl_property, json_object_size(json) + 1);
    uint32_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        properties[count++] = (nl_property){nl_str_from(key), {json_string_value(value), json_string_length(value)}};
    }
    entry->properties = properties;
    entry->property_count = count;
    return nl_arena_check(arena);
}

#define NAMESPACE_COLUMNS "uuid, name, properties, created_micros"

static nl_status read_namespace(nl_sqlite_statement *row, nl_arena *arena, nl_namespace_entry *entry)
{
    *entry = (nl_namespace_entry){.uuid = nl_sqlite_text(row, 0, arena), .created_micros = nl_sqlite_int(row, 3)};
    entry->parts = nl_namespace_split(arena, nl_sqlite_text(row, 1, arena), &entry->part_count);
    return parse_properties(arena, nl_sqlite_text(row, 2, arena), entry);
}

static nl_status find_namespace(void *argument, nl_sqlite *database)
{
    namespace_work *work = argument;
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT " NAMESPACE_COLUMNS " FROM namespaces WHERE warehouse_id = ? AND name = ?", &select));
    nl_sqlite_bind_int(select, 1, work->warehouse_id);
    nl_sqlite_bind_text(select, 2, work->name);
    NL_TRY(nl_sqlite_step(select, &work->exists));
    nl_status status = work->exists ? read_namespace(select, work->arena, work->found) : NULL;
    nl_sqlite_reset(select);
    return status;
}

nl_status nl_tables_find_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, nl_arena *arena,
                                   nl_namespace_entry *entry, bool *exists)
{
    nl_namespace_entry found = {0};
    namespace_work work = {.warehouse_id = warehouse_id, .arena = arena, .found = &found};
    NL_TRY(nl_namespace_join(arena, parts, part_count, &work.name));
    NL_TRY(nl_state_read(tables->state, find_namespace, &work));
    *exists = work.exists;
    if (work.exists) *entry = found;
    return NULL;
}

static nl_status insert_namespace(void *argument, nl_sqlite *database)
{
    namespace_work *work = argument;
    nl_sqlite_statement *insert;
    if (work->parent.length) NL_TRY(nl_namespace_must_exist(database, work->warehouse_id, work->parent, work->arena));
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO namespaces (warehouse_id, name, uuid, properties, created_micros) VALUES (?, ?, ?, ?, ?)", &insert));
    nl_sqlite_bind_int(insert, 1, work->warehouse_id);
    nl_sqlite_bind_text(insert, 2, work->name);
    nl_sqlite_bind_text(insert, 3, nl_tables_new_token(work->arena));
    nl_sqlite_bind_text(insert, 4, work->properties);
    nl_sqlite_bind_int(insert, 5, nl_now_micros());
    NL_TRY(nl_sqlite_finish(insert, NULL));
    return nl_tables_remember_in(database, work->remembered, (nl_str){0});
}

nl_status nl_tables_create_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, const nl_property *properties,
                                     uint32_t property_count, const nl_remembered *remembered)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    namespace_work work = {.warehouse_id = warehouse_id, .arena = arena, .remembered = remembered, .properties = properties_text(arena, properties, property_count)};
    nl_status status = NULL;
    if (!part_count) {
        status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A namespace needs at least one level");
        goto done;
    }
    NL_GO(nl_namespace_join(arena, parts, part_count, &work.name));
    NL_GO(nl_namespace_join(arena, parts, part_count - 1, &work.parent));
    status = nl_state_write(tables->state, insert_namespace, &work);
    if (nl_sqlite_is_duplicate(status)) {
        nl_error_free(status);
        status = NL_RAISE(SCHEMA_ALREADY_EXISTS, NL_P_STR("schemaName", nl_relation_name(arena, work.name, (nl_str){0})));
    }
done:
    nl_arena_free(arena);
    return status;
}

/* Children of a parent are the names in (parent 0x1F, parent 0x20) without a further separator. */
static nl_status list_namespaces(void *argument, nl_sqlite *database)
{
    namespace_work *work = argument;
    nl_sqlite_statement *select;
    work->list = (nl_list){0};
    if (work->parent.length) NL_TRY(nl_namespace_must_exist(database, work->warehouse_id, work->parent, work->arena));
    NL_TRY(nl_sqlite_prepare(database,
                             "SELECT " NAMESPACE_COLUMNS " FROM namespaces WHERE warehouse_id = ?1 AND name > ?2 AND (?3 = '' OR name < ?3)"
                             " AND substr(name, 1, length(?4)) = ?4 AND instr(substr(name, ?5), char(31)) = 0 ORDER BY name LIMIT ?6",
                             &select));
    const nl_str low = work->parent.length ? nl_arena_f(work->arena, NL_STR_FMT "\x1F", NL_STR_ARG(work->parent)) : NL_STR("");
    const nl_str high = work->parent.length ? nl_arena_f(work->arena, NL_STR_FMT "\x20", NL_STR_ARG(work->parent)) : NL_STR("");
    nl_sqlite_bind_int(select, 1, work->warehouse_id);
    nl_sqlite_bind_text(select, 2, nl_arena_f(work->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(low), NL_STR_ARG(work->after)));
    nl_sqlite_bind_text(select, 3, high);
    nl_sqlite_bind_text(select, 4, nl_arena_f(work->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(low), NL_STR_ARG(work->prefix)));
    nl_sqlite_bind_int(select, 5, low.length ? (int64_t)nl_utf8_length(low) + 1 : 1);
    nl_sqlite_bind_int(select, 6, work->count_max);
    for (;;) {
        bool has_row;
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(work->arena);
        nl_namespace_entry *entry = NL_NEW(work->arena, nl_namespace_entry);
        nl_status status = read_namespace(select, work->arena, entry);
        if (status) {
            nl_sqlite_reset(select);
            return status;
        }
        nl_list_add(work->arena, &work->list, entry);
    }
}

nl_status nl_tables_list_namespaces(nl_tables *tables, int64_t warehouse_id, const nl_str *parent, uint32_t parent_count, nl_str prefix, nl_str after,
                                    uint32_t count_max, nl_arena *arena, const nl_namespace_entry **entries, uint32_t *count)
{
    namespace_work work = {.warehouse_id = warehouse_id, .prefix = prefix, .after = after, .count_max = count_max, .arena = arena};
    NL_TRY(nl_namespace_join(arena, parent, parent_count, &work.parent));
    NL_TRY(nl_state_read(tables->state, list_namespaces, &work));
    nl_namespace_entry *items = NL_NEW_ARRAY(arena, nl_namespace_entry, (size_t)work.list.count + 1);
    for (uint32_t i = 0; i < work.list.count; i++)
        items[i] = *(const nl_namespace_entry *)work.list.items[i];
    *entries = items;
    *count = work.list.count;
    return NULL;
}

static nl_status has_any(nl_sqlite_statement *select, const namespace_work *work, bool *has)
{
    nl_sqlite_bind_int(select, 1, work->warehouse_id);
    nl_sqlite_bind_text(select, 2, work->name);
    NL_TRY(nl_sqlite_step(select, has));
    nl_sqlite_reset(select);
    return NULL;
}

static nl_status delete_namespace(void *argument, nl_sqlite *database)
{
    namespace_work *work = argument;
    nl_sqlite_statement *select, *remove, *documents;
    bool has_tables, has_children;
    int64_t change_count;
    NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM tables WHERE warehouse_id = ?1 AND namespace = ?2 LIMIT 1", &select));
    NL_TRY(has_any(select, work, &has_tables));
    NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM namespaces WHERE warehouse_id = ?1 AND name > ?2 || char(31) AND name < ?2 || char(32) LIMIT 1", &select));
    NL_TRY(has_any(select, work, &has_children));
    if (has_tables || has_children)
        return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, "Namespace " NL_STR_FMT " is not empty.", NL_STR_ARG(work->prefix));
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM documents WHERE owner = (SELECT uuid FROM namespaces WHERE warehouse_id = ? AND name = ?)", &documents));
    nl_sqlite_bind_int(documents, 1, work->warehouse_id);
    nl_sqlite_bind_text(documents, 2, work->name);
    NL_TRY(nl_sqlite_finish(documents, NULL));
    NL_TRY(nl_sqlite_prepare(database, "DELETE FROM namespaces WHERE warehouse_id = ? AND name = ?", &remove));
    nl_sqlite_bind_int(remove, 1, work->warehouse_id);
    nl_sqlite_bind_text(remove, 2, work->name);
    NL_TRY(nl_sqlite_finish(remove, &change_count));
    work->exists = change_count > 0;
    return work->exists ? nl_tables_remember_in(database, work->remembered, (nl_str){0}) : NULL;
}

/* "a.b", for messages. */
static nl_str dotted(nl_arena *arena, const nl_str *parts, uint32_t part_count)
{
    nl_str text = {"", 0};
    for (uint32_t i = 0; i < part_count; i++)
        text = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(text), i ? "." : "", NL_STR_ARG(parts[i]));
    return text;
}

nl_status nl_tables_drop_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, const nl_remembered *remembered,
                                   bool *was_dropped)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    namespace_work work = {.warehouse_id = warehouse_id, .prefix = dotted(arena, parts, part_count), .remembered = remembered, .arena = arena};
    nl_status status = nl_namespace_join(arena, parts, part_count, &work.name);
    if (!status) status = nl_state_write_freeing(tables->state, delete_namespace, &work);
    if (!status) *was_dropped = work.exists;
    nl_arena_free(arena);
    return status;
}

static uint32_t find_key(const nl_property *properties, uint32_t count, nl_str key)
{
    uint32_t at = 0;
    while (at < count && !nl_str_equal(properties[at].key, key))
        at++;
    return at;
}

static nl_status update_namespace(void *argument, nl_sqlite *database)
{
    namespace_work *work = argument;
    const nl_namespace_update *wanted = work->update;
    nl_namespace_entry old;
    nl_sqlite_statement *update;
    work->found = &old;
    NL_TRY(find_namespace(work, database));
    if (!work->exists) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_relation_name(work->arena, work->name, (nl_str){0})));
    nl_property *next = NL_NEW_ARRAY(work->arena, nl_property, (size_t)old.property_count + wanted->set_count + 1);
    uint32_t count = old.property_count;
    memcpy(next, old.properties, count * sizeof(*next));
    for (uint32_t i = 0; i < wanted->removed_count; i++) {
        const uint32_t at = find_key(next, count, wanted->removed[i]);
        if (wanted->was_there) wanted->was_there[i] = at < count;
        if (at < count) next[at] = next[--count];
    }
    for (uint32_t i = 0; i < wanted->set_count; i++) {
        const uint32_t at = find_key(next, count, wanted->set[i].key);
        next[at] = wanted->set[i];
        count = NL_MAX(count, at + 1);
    }
    const nl_str text = properties_text(work->arena, next, count);
    NL_TRY(nl_arena_check(work->arena));
    NL_TRY(nl_sqlite_prepare(database, "UPDATE namespaces SET properties = ? WHERE warehouse_id = ? AND name = ?", &update));
    nl_sqlite_bind_text(update, 1, text);
    nl_sqlite_bind_int(update, 2, work->warehouse_id);
    nl_sqlite_bind_text(update, 3, work->name);
    NL_TRY(nl_sqlite_finish(update, NULL));
    if (!wanted->remembered) return NULL;
    wanted->write_answer(wanted->argument);
    return nl_tables_remember_in(database, wanted->remembered, (nl_str){0});
}

nl_status nl_tables_update_namespace(nl_tables *tables, int64_t warehouse_id, const nl_str *parts, uint32_t part_count, const nl_namespace_update *update)
{
    nl_arena *arena = nl_arena_new(tables->memory);
    namespace_work work = {.warehouse_id = warehouse_id, .update = update, .arena = arena};
    nl_status status = nl_namespace_join(arena, parts, part_count, &work.name);
    if (!status) status = nl_state_write(tables->state, update_namespace, &work);
    nl_arena_free(arena);
    return status;
}

/* A part of a default location: one folder, whatever is in the name. */
static void append_folder(nl_builder *path, nl_str part)
{
    const bool is_dots = nl_str_is(part, ".") || nl_str_is(part, "..");
    for (size_t i = 0; i < part.length; i++) {
        const char c = part.data[i];
        if (c == '/' || c == '\\' || c == '%' || (unsigned char)c < 0x20 || (is_dots && c == '.')) nl_append_f(path, "%%%02X", (unsigned char)c);
        else nl_append_char(path, c);
    }
}

nl_status nl_tables_default_location(nl_tables *tables, const nl_warehouse *warehouse, const nl_identifier *identifier, nl_arena *arena, nl_str *location)
{
    nl_namespace_entry entry;
    bool exists;
    NL_TRY(nl_tables_find_namespace(tables, warehouse->id, identifier->namespace_parts, identifier->namespace_count, arena, &entry, &exists));
    nl_str scope = {0};
    for (uint32_t i = 0; exists && i < entry.property_count; i++)
        if (nl_str_is(entry.properties[i].key, "location")) scope = entry.properties[i].value;
    nl_builder path;
    nl_builder_init(&path, NL_PATH_BYTES_MAX);
    nl_str root = scope.length ? scope : warehouse->location;
    while (root.length > 1 && root.data[root.length - 1] == '/')
        root.length--;
    nl_append(&path, root);
    for (uint32_t i = 0; !scope.length && i < identifier->namespace_count; i++) {
        nl_append_char(&path, '/');
        append_folder(&path, identifier->namespace_parts[i]);
    }
    nl_append_char(&path, '/');
    append_folder(&path, identifier->name);
    const bool has_failed = nl_builder_failed(&path);
    *location = nl_arena_str(arena, nl_builder_str(&path));
    nl_builder_fini(&path);
    return has_failed ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The default location of the table is too long a path") : NULL;
}

/* catalog/hive/plain.c - see plain.h. */
#include "catalog/hive/plain.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "catalog/hive/hive.h"

#define SCHEMA_BYTES_MAX (16u << 20)
#define SPARK_PREFIX     "spark.sql."

bool nl_hive_is_catalog(const nl_catalog *catalog)
{
    return strcmp(catalog->ops->type, "hive") == 0;
}

static nl_str parameter_f(nl_arena *arena, const nl_wire_value *entry, const char *key, uint32_t number)
{
    return nl_hms_parameter(entry, nl_str_c(arena, nl_arena_f(arena, "%s%u", key, number)));
}

static bool count_of(const nl_wire_value *entry, const char *key, uint32_t *count)
{
    int64_t number;
    const nl_str text = nl_hms_parameter(entry, key);
    const bool is_there = text.length > 0 && nl_parse_int64(text, &number) && number >= 0 && number <= 100000;
    if (is_there) *count = (uint32_t)number;
    return is_there;
}

/* Whole, or in parts where the metastore's column was too short for it. */
static nl_str spark_schema(nl_arena *arena, const nl_wire_value *entry)
{
    uint32_t part_count = 0;
    nl_builder text;
    const nl_str whole = nl_hms_parameter(entry, "spark.sql.sources.schema");
    if (whole.length > 0 || !count_of(entry, "spark.sql.sources.schema.numParts", &part_count)) return whole;
    nl_builder_init(&text, SCHEMA_BYTES_MAX);
    for (uint32_t i = 0; i < part_count; i++) nl_append(&text, parameter_f(arena, entry, "spark.sql.sources.schema.part.", i));
    const nl_str joined = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return joined;
}

static void append_columns(const nl_wire_value *columns, nl_builder *out)
{
    for (uint32_t i = 0; columns && columns->item_type == NL_WIRE_STRUCT && i < columns->count; i++) {
        const nl_str name = nl_wire_text(&columns->items[i], NL_HMS_COLUMN_NAME);
        nl_append_c(out, out->length ? ", `" : "`");
        for (size_t c = 0; c < name.length; c++) {
            if (name.data[c] == '`') nl_append_char(out, '`');
            nl_append_char(out, name.data[c]);
        }
        nl_append_c(out, "` ");
        nl_append(out, nl_wire_text(&columns->items[i], NL_HMS_COLUMN_TYPE));
    }
}

static nl_str hive_schema(nl_arena *arena, const nl_wire_value *entry, const nl_wire_value *storage)
{
    nl_builder text;
    nl_builder_init(&text, SCHEMA_BYTES_MAX);
    append_columns(nl_wire_field(storage, NL_HMS_STORAGE_COLUMNS, NL_WIRE_LIST), &text);
    append_columns(nl_wire_field(entry, NL_HMS_TABLE_PARTITION_KEYS, NL_WIRE_LIST), &text);
    const nl_str schema = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return schema;
}

/* The pairs of a map of texts, without those whose keys begin so. */
static const nl_property *pairs_of(nl_arena *arena, const nl_wire_value *map, const char *const *left_out, size_t left_out_count, uint32_t *count)
{
    const bool has_texts = map && map->key_type == NL_WIRE_STRING && map->item_type == NL_WIRE_STRING;
    nl_property *items = NL_NEW_ARRAY(arena, nl_property, (has_texts ? map->count : 0) + 1);
    *count = 0;
    for (uint32_t i = 0; has_texts && i < map->count; i++) {
        bool is_wanted = true;
        for (size_t j = 0; j < left_out_count; j++) is_wanted = is_wanted && !nl_str_starts(map->items[2 * i].text, nl_str_from(left_out[j]));
        if (is_wanted) items[(*count)++] = (nl_property){map->items[2 * i].text, map->items[2 * i + 1].text};
    }
    return items;
}

static int compare_texts(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

/* Without the scheme of local files, of which there are three spellings. */
static nl_str bare(nl_str path)
{
    const nl_str prefix = NL_STR("file:");
    path = nl_without_slash(path);
    if (nl_str_starts(path, prefix)) path = nl_str_slice(path, prefix.length, path.length);
    while (path.length > 1 && path.data[0] == '/' && path.data[1] == '/') path = nl_str_slice(path, 1, path.length);
    return path;
}

static nl_status load_folders(nl_hive_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_hive_plain *plain)
{
    static const nl_hive_method method = {.name = "get_partitions", .exceptions = {"NoSuchObjectException", "MetaException"}};
    enum { PARTITION_STORAGE = 6 };
    nl_wire_value arguments = nl_wire_struct();
    nl_hive_answer answer;
    const nl_str base = bare(plain->location);
    nl_wire_set_text(arena, &arguments, 1, identifier->namespace_parts[0]);
    nl_wire_set_text(arena, &arguments, 2, identifier->name);
    nl_wire_set_number(arena, &arguments, 3, NL_WIRE_I16, -1);
    NL_TRY(nl_hive_call(self->client, &method, &arguments, arena, &answer));
    NL_TRY(nl_hive_failure(&answer, &method));
    const nl_wire_value *list = answer.result;
    if (!list || list->type != NL_WIRE_LIST || list->item_type != NL_WIRE_STRUCT) return NULL;
    nl_str *folders = NL_NEW_ARRAY(arena, nl_str, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        const nl_str path = bare(nl_wire_text(nl_wire_field(&list->items[i], PARTITION_STORAGE, NL_WIRE_STRUCT), NL_HMS_STORAGE_LOCATION));
        if (!nl_str_starts(path, base) || path.length <= base.length + 1 || path.data[base.length] != '/')
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The partition at " NL_STR_FMT " lies outside of its table's folder " NL_STR_FMT ", which is not supported", NL_STR_ARG(path), NL_STR_ARG(base));
        folders[i] = nl_str_slice(path, base.length + 1, path.length);
    }
    if (list->count > 1) qsort(folders, list->count, sizeof(*folders), compare_texts);
    plain->folders = folders;
    plain->folder_count = list->count;
    return nl_arena_check(arena);
}

static void fill(nl_arena *arena, const nl_wire_value *entry, nl_hive_plain *plain)
{
    static const char *const own_options[] = {"path", "serialization."};
    static const char *const own_properties[] = {SPARK_PREFIX, "transient_lastDdlTime", "comment", "EXTERNAL", "numFiles", "numRows", "totalSize", "rawDataSize",
                                                 "numPartitions", "COLUMN_STATS_ACCURATE", "last_modified", "DO_NOT_UPDATE_STATS"};
    const nl_wire_value *storage = nl_wire_field(entry, NL_HMS_TABLE_STORAGE, NL_WIRE_STRUCT), *serde = nl_wire_field(storage, NL_HMS_STORAGE_SERDE, NL_WIRE_STRUCT);
    const nl_wire_value *options = nl_wire_field(serde, NL_HMS_SERDE_PARAMETERS, NL_WIRE_MAP), *keys = nl_wire_field(entry, NL_HMS_TABLE_PARTITION_KEYS, NL_WIRE_LIST);
    const bool is_parquet = nl_str_find(nl_wire_text(storage, NL_HMS_STORAGE_INPUT), NL_STR("MapredParquetInputFormat"), 0) != NL_NOT_FOUND;
    const nl_str path = nl_wire_get(options, NL_STR("path"));
    plain->provider = nl_hms_parameter(entry, "spark.sql.sources.provider");
    if (!plain->provider.length && is_parquet) plain->provider = NL_STR("parquet");
    plain->location = path.length > 0 ? path : nl_wire_text(storage, NL_HMS_STORAGE_LOCATION);
    plain->schema_json = spark_schema(arena, entry);
    plain->schema_text = hive_schema(arena, entry, storage);
    if (!count_of(entry, "spark.sql.sources.schema.numPartCols", &plain->partition_count)) plain->partition_count = keys ? keys->count : 0;
    plain->comment = nl_hms_parameter(entry, "comment");
    plain->owner = nl_wire_text(entry, NL_HMS_TABLE_OWNER);
    plain->is_external = nl_str_is_nocase(nl_wire_text(entry, NL_HMS_TABLE_TYPE), "EXTERNAL_TABLE");
    plain->created_micros = nl_wire_number(entry, NL_HMS_TABLE_CREATED, 0) * 1000000;
    plain->options = pairs_of(arena, options, own_options, NL_COUNT(own_options), &plain->option_count);
    plain->properties = pairs_of(arena, nl_wire_field(entry, NL_HMS_TABLE_PARAMETERS, NL_WIRE_MAP), own_properties, NL_COUNT(own_properties), &plain->property_count);
}

nl_status nl_hive_plain_load(nl_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, const nl_hive_plain **plain)
{
    nl_hive_catalog *self = nl_hive_of(catalog);
    nl_wire_value *entry = NULL;
    *plain = NULL;
    if (identifier->namespace_count != 1 || !identifier->name.length) return NULL;
    NL_TRY(nl_hms_get_table(self->client, identifier->namespace_parts[0], identifier->name, arena, &entry));
    if (!entry || nl_hive_is_table(entry) || nl_str_is_nocase(nl_wire_text(entry, NL_HMS_TABLE_TYPE), "VIRTUAL_VIEW")) return NULL;
    nl_hive_plain *found = NL_NEW(arena, nl_hive_plain);
    fill(arena, entry, found);
    if (found->partition_count > 0) NL_TRY(load_folders(self, identifier, arena, found));
    *plain = found;
    return nl_arena_check(arena);
}

/* Spark keeps a managed table's place a second time, among the parameters of the serde: Hive moved the first only. */
static nl_status follow_move(nl_hive_catalog *self, const nl_identifier *identifier, nl_arena *arena)
{
    nl_wire_value *entry = NULL;
    nl_hive_answer answer;
    NL_TRY(nl_hms_get_table(self->client, identifier->namespace_parts[0], identifier->name, arena, &entry));
    if (!entry || !nl_str_is_nocase(nl_wire_text(entry, NL_HMS_TABLE_TYPE), "MANAGED_TABLE")) return NULL;
    const nl_wire_value *storage = nl_wire_field(entry, NL_HMS_TABLE_STORAGE, NL_WIRE_STRUCT);
    nl_wire_value *parameters = nl_wire_field(nl_wire_field(storage, NL_HMS_STORAGE_SERDE, NL_WIRE_STRUCT), NL_HMS_SERDE_PARAMETERS, NL_WIRE_MAP);
    const nl_str location = nl_wire_text(storage, NL_HMS_STORAGE_LOCATION), path = nl_wire_get(parameters, NL_STR("path"));
    if (path.length == 0 || location.length == 0 || nl_str_equal(path, location)) return NULL;
    nl_wire_put(arena, parameters, NL_STR("path"), location);
    NL_TRY(nl_hms_alter_table(self->client, identifier->namespace_parts[0], identifier->name, entry, NL_STR(""), arena, &answer));
    return nl_hive_failure(&answer, &(nl_hive_method){.name = "a change of a table's path"});
}

static nl_status rename_entry(nl_hive_catalog *self, const nl_identifier *from, const nl_identifier *to, nl_arena *arena)
{
    nl_wire_value *entry = NULL;
    nl_hive_answer answer;
    NL_TRY(nl_hms_get_table(self->client, from->namespace_parts[0], from->name, arena, &entry));
    if (!entry) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "The Hive metastore has no table " NL_STR_FMT, NL_STR_ARG(nl_identifier_text(arena, from)));
    nl_wire_set_text(arena, entry, NL_HMS_TABLE_DATABASE, to->namespace_parts[0]);
    nl_wire_set_text(arena, entry, NL_HMS_TABLE_NAME, to->name);
    NL_TRY(nl_hms_alter_table(self->client, from->namespace_parts[0], from->name, entry, NL_STR(""), arena, &answer));
    NL_TRY(nl_hive_failure(&answer, &(nl_hive_method){.name = "a rename"}));
    return follow_move(self, to, arena);
}

nl_status nl_hive_plain_rename(nl_catalog *catalog, const nl_identifier *from, const nl_identifier *to)
{
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = rename_entry(nl_hive_of(catalog), from, to, arena);
    nl_arena_free(arena);
    return status;
}

nl_status nl_hive_plain_forget(nl_catalog *catalog, const nl_identifier *identifier)
{
    bool was_dropped = false;
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_status status = nl_hms_drop_table(nl_hive_of(catalog)->client, identifier->namespace_parts[0], identifier->name, arena, &was_dropped);
    nl_arena_free(arena);
    return status;
}

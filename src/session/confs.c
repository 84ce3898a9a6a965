/* session/confs.c - known keys and the session's own values.
 *
 * The session's values are few; they lie in one array sorted by key, with owned texts.
 */
#include "session/session_private.h"

#include <stdlib.h>

#include "base/distance.h"

static const nl_conf_row rows[] = {
#define X(key, type, default_value, is_static, since, doc) {key, type, default_value, is_static, since, doc},
#include "session/confs.def"
#undef X
};

const nl_conf_row *nl_conf_at(uint32_t i)
{
    return i < NL_COUNT(rows) ? &rows[i] : NULL;
}

const nl_conf_row *nl_conf_find(nl_str key)
{
    for (uint32_t i = 0; i < NL_COUNT(rows); i++)
        if (nl_str_is(key, rows[i].key)) return &rows[i];
    return NULL;
}

/* Properties of catalogs, spark.sql.catalog.NAME.x; a name that ends with a point stands for all that begin so. */
static const char *const catalog_properties[] = {
    "type", "catalog-impl", "warehouse", "uri", "io-impl", "default-namespace", "cache-enabled", "cache.expiration-interval-ms", "cache.case-sensitive",
    "table-default.", "table-override.", "view-default.", "view-override.", "hadoop.", "s3.", "client.", "rest.", "glue.", "jdbc.", "http-client.", "metrics-reporter-impl",
    "lock-impl", "lock.", "clients", "credential", "token", "scope", "oauth2-server-uri", "header.", "prefix", "use-nullable-query-schema", "defaultDatabase",
    "use-timestamp-without-timezone-in-new-tables", "gcs.", "adls.", "manifest.cache-enabled", "io.manifest.", "user", "password",
    "audience", "resource", "token-refresh-enabled", "token-exchange-enabled", "token-expires-in-ms", "snapshot-loading-mode", "rest-metrics-reporting-enabled",
    "rest-page-size", "view-endpoints-supported", "namespace-separator", "scan-planning-mode", "rest-table-cache.", "unique-table-location", "encryption.", "ref",
    "ref.hash", "authentication.",
};

/* The part of spark.sql.catalog.NAME.part; data NULL when the key is no such one. */
static nl_str catalog_property(nl_str key)
{
    const nl_str prefix = NL_STR("spark.sql.catalog.");
    const size_t point = nl_str_starts(key, prefix) ? nl_str_find_char(key, '.', prefix.length) : NL_NOT_FOUND;
    return point == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(key, point + 1, key.length);
}

/* Families of Spark's keys that are about speed or about parts that nilas has no use for: no word is lost about them. */
static const char *const harmless[] = {
    "spark.sql.adaptive.", "spark.sql.autoBroadcast", "spark.sql.broadcastTimeout", "spark.sql.catalogImplementation", "spark.sql.cbo.", "spark.sql.codegen.",
    "spark.sql.execution.arrow.", "spark.sql.hive.", "spark.sql.inMemoryColumnarStorage.", "spark.sql.join.", "spark.sql.optimizer.", "spark.sql.shuffle.",
    "spark.sql.statistics.", "spark.sql.streaming.", "spark.sql.thriftServer.", "spark.sql.ui.",
};

bool nl_conf_is_known(nl_str key)
{
    if (nl_conf_find(key)) return true;
    for (uint32_t i = 0; i < NL_COUNT(harmless); i++)
        if (nl_str_starts(key, nl_str_from(harmless[i]))) return true;
    const nl_str property = catalog_property(key);
    if (!property.data) return nl_str_starts(key, NL_STR("spark.sql.catalog."));
    for (uint32_t i = 0; i < NL_COUNT(catalog_properties); i++) {
        const nl_str known = nl_str_from(catalog_properties[i]);
        if (nl_str_equal(property, known) || (nl_str_ends(known, NL_STR(".")) && nl_str_starts(property, known))) return true;
    }
    return false;
}

nl_str nl_conf_nearest(nl_arena *arena, nl_str key)
{
    nl_nearest nearest = {.word = key};
    const nl_str property = catalog_property(key);
    for (uint32_t i = 0; i < NL_COUNT(rows); i++)
        nl_nearest_offer(&nearest, nl_str_from(rows[i].key));
    for (uint32_t i = 0; property.data && i < NL_COUNT(catalog_properties); i++)
        nl_nearest_offer(&nearest, nl_arena_f(arena, NL_STR_FMT "%s", (int)(key.length - property.length), key.data, catalog_properties[i]));
    return nearest.found;
}

static uint32_t lower_bound(const nl_conf_map *map, nl_str key)
{
    uint32_t low = 0, high = map->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (nl_str_compare(map->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static nl_str text_copy(nl_str text)
{
    char *copy = malloc(text.length + 1);
    if (!copy) return (nl_str){0};
    if (text.length) memcpy(copy, text.data, text.length);
    copy[text.length] = 0;
    return (nl_str){copy, text.length};
}

static void text_free(nl_str text)
{
    free((void *)(uintptr_t)text.data);
}

nl_status nl_conf_map_put(nl_conf_map *map, nl_str key, nl_str value)
{
    const uint32_t at = lower_bound(map, key);
    if (at < map->count && nl_str_equal(map->items[at].key, key)) {
        const nl_str copy = text_copy(value);
        if (!copy.data) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)value.length), NL_P("receivedBytes", "0"));
        text_free(map->items[at].value);
        map->items[at].value = copy;
        return NULL;
    }
    if (map->count == map->capacity) {
        const uint32_t capacity = map->capacity ? map->capacity * 2 : 32;
        nl_property *items = realloc(map->items, capacity * sizeof(*items));
        if (!items) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", capacity * sizeof(*items)), NL_P("receivedBytes", "0"));
        map->items = items;
        map->capacity = capacity;
    }
    const nl_property item = {text_copy(key), text_copy(value)};
    if (!item.key.data || !item.value.data) {
        text_free(item.key);
        text_free(item.value);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)value.length), NL_P("receivedBytes", "0"));
    }
    memmove(&map->items[at + 1], &map->items[at], (map->count - at) * sizeof(*map->items));
    map->items[at] = item;
    map->count++;
    return NULL;
}

void nl_conf_map_remove(nl_conf_map *map, nl_str key)
{
    const uint32_t at = lower_bound(map, key);
    if (at >= map->count || !nl_str_equal(map->items[at].key, key)) return;
    text_free(map->items[at].key);
    text_free(map->items[at].value);
    memmove(&map->items[at], &map->items[at + 1], (map->count - at - 1) * sizeof(*map->items));
    map->count--;
}

nl_str nl_conf_map_get(const nl_conf_map *map, nl_str key)
{
    const uint32_t at = lower_bound(map, key);
    return at < map->count && nl_str_equal(map->items[at].key, key) ? map->items[at].value : (nl_str){0};
}

void nl_conf_map_fini(nl_conf_map *map)
{
    for (uint32_t i = 0; i < map->count; i++) {
        text_free(map->items[i].key);
        text_free(map->items[i].value);
    }
    free(map->items);
    *map = (nl_conf_map){0};
}

bool nl_conf_parse_bytes(nl_str text, int64_t *bytes)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 0}, {"b", 0}, {"k", 10}, {"kb", 10}, {"m", 20}, {"mb", 20}, {"g", 30}, {"gb", 30}, {"t", 40}, {"tb", 40}};
    text = nl_str_trim(text);
    size_t digits = 0;
    while (digits < text.length && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    int64_t number;
    if (digits == 0 || !nl_parse_int64(nl_str_slice(text, 0, digits), &number)) return false;
    for (uint32_t i = 0; i < NL_COUNT(units); i++)
        if (nl_str_is_nocase(nl_str_slice(text, digits, text.length), units[i].suffix)) {
            if (number > (INT64_MAX >> units[i].shift)) return false;
            *bytes = number << units[i].shift;
            return true;
        }
    return false;
}

/* Keys that change what a statement means, and of which only the default is built: another value must not be dropped. */
static const char *const only_default[] = {
    "spark.sql.iceberg.check-nullability", "spark.sql.iceberg.check-ordering", "spark.sql.iceberg.merge-schema",
};

/* Keys of which more than the default is built: the values that are. */
static const struct {
    const char *key, *values[4];
} choices[] = {
    {"spark.sql.legacy.ctePrecedencePolicy", {"CORRECTED", "LEGACY", "EXCEPTION"}},
    {"spark.sql.legacy.timeParserPolicy", {"CORRECTED", "LEGACY"}},
    {"spark.sql.storeAssignmentPolicy", {"ANSI", "STRICT"}},
    {"spark.sql.timestampType", {"TIMESTAMP_LTZ", "TIMESTAMP_NTZ"}},
};

static nl_status check_choice(const nl_conf_row *row, nl_str value)
{
    for (uint32_t i = 0; i < NL_COUNT(choices); i++) {
        if (strcmp(row->key, choices[i].key) != 0) continue;
        for (uint32_t j = 0; choices[i].values[j]; j++)
            if (nl_str_is_nocase(value, choices[i].values[j])) return NULL;
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s: nilas %s has %s and %s, not " NL_STR_FMT, row->key, NILAS_VERSION, choices[i].values[0], choices[i].values[1],
                             NL_STR_ARG(value));
    }
    return NULL;
}

static nl_status check_built(const nl_conf_row *row, nl_str value)
{
    for (uint32_t i = 0; i < NL_COUNT(only_default); i++)
        if (strcmp(row->key, only_default[i]) == 0 && !nl_str_is_nocase(value, row->default_value))
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s: nilas %s has only %s, not " NL_STR_FMT, row->key, NILAS_VERSION, row->default_value, NL_STR_ARG(value));
    return NULL;
}

static nl_status check_value(const nl_conf_row *row, nl_str value)
{
    int64_t number;
    if (strcmp(row->type, "boolean") == 0 && !nl_str_is_nocase(value, "true") && !nl_str_is_nocase(value, "false"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s should be boolean, but was " NL_STR_FMT, row->key, NL_STR_ARG(value));
    if (strcmp(row->type, "int") == 0 && !nl_parse_int64(nl_str_trim(value), &number))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s should be int, but was " NL_STR_FMT, row->key, NL_STR_ARG(value));
    if (strcmp(row->key, "spark.sql.session.timeZone") == 0) {
        const nl_timezone *zone;
        nl_error *error = nl_timezone_find(value, &zone);
        if (error) {
            nl_error_free(error);
            return NL_RAISE(INVALID_CONF_VALUE__TIME_ZONE, NL_P("confName", row->key), NL_P_STR("confValue", value));
        }
    }
    NL_TRY(check_choice(row, value));
    if (strcmp(row->key, "spark.sql.mapKeyDedupPolicy") == 0 && !nl_str_is_nocase(value, "EXCEPTION") && !nl_str_is_nocase(value, "LAST_WIN"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The value of %s should be one of EXCEPTION, LAST_WIN, but was " NL_STR_FMT, row->key, NL_STR_ARG(value));
    return check_built(row, value);
}

nl_status nl_session_put_conf(nl_session *session, nl_str key, nl_str value)
{
    const nl_conf_row *row = nl_conf_find(key);
    if (row) NL_TRY(check_value(row, value));
    nl_session_forget_files(session, key);
    NL_TRY(nl_conf_map_put(&session->confs, key, value));
    if (nl_str_is(key, "spark.sql.session.timeZone")) return nl_timezone_find(value, &session->zone);
    return NULL;
}

nl_status nl_session_set(nl_session *session, nl_str key, nl_str value)
{
    const nl_conf_row *row = nl_conf_find(key);
    if (session->is_confined) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Settings cannot be changed here: " NL_STR_FMT, NL_STR_ARG(key));
    if (row && row->is_static) {
        nl_builder quoted;
        nl_builder_init(&quoted, 4096);
        nl_append_f(&quoted, "\"" NL_STR_FMT "\"", NL_STR_ARG(key));
        nl_status status = NL_RAISE(CANNOT_MODIFY_CONFIG, NL_P("key", nl_builder_c(&quoted)), NL_P("docroot", "https://spark.apache.org/docs/latest"));
        nl_builder_fini(&quoted);
        return status;
    }
    return nl_session_put_conf(session, key, value);
}

nl_status nl_session_set_initial(nl_session *session, nl_str key, nl_str value)
{
    const nl_conf_row *row = nl_conf_find(key);
    return row && row->is_static ? nl_session_put_conf(session, key, value) : nl_session_set(session, key, value);
}

nl_status nl_session_unset(nl_session *session, nl_str key)
{
    nl_session_forget_files(session, key);
    nl_conf_map_remove(&session->confs, key);
    const nl_str initial = nl_conf_map_get(&session->initial_confs, key);
    if (initial.data) return nl_session_put_conf(session, key, initial);
    if (nl_str_is(key, "spark.sql.session.timeZone")) session->zone = session->machine_zone;
    return NULL;
}

nl_str nl_session_get(const nl_session *session, nl_str key)
{
    const nl_str own = nl_conf_map_get(&session->confs, key);
    if (own.data) return own;
    if (nl_str_is(key, "spark.sql.session.timeZone")) return nl_timezone_name(session->zone);
    const nl_conf_row *row = nl_conf_find(key);
    return row && row->default_value ? nl_str_from(row->default_value) : (nl_str){0};
}

bool nl_session_get_bool(const nl_session *session, const char *key)
{
    return nl_str_is_nocase(nl_session_get(session, nl_str_from(key)), "true");
}

int64_t nl_session_get_int(const nl_session *session, const char *key)
{
    int64_t value = 0;
    (void)nl_parse_int64(nl_str_trim(nl_session_get(session, nl_str_from(key))), &value);
    return value;
}

int64_t nl_session_get_bytes(const nl_session *session, const char *key)
{
    int64_t bytes;
    return nl_conf_parse_bytes(nl_session_get(session, nl_str_from(key)), &bytes) ? bytes : 0;
}

int64_t nl_session_get_millis(const nl_session *session, const char *key)
{
    static const struct {
        const char *suffix;
        int64_t millis;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    const nl_str text = nl_str_trim(nl_session_get(session, nl_str_from(key)));
    size_t digits = 0;
    int64_t number;
    while (digits < text.length && text.data[digits] >= '0' && text.data[digits] <= '9') digits++;
    if (digits == 0 || !nl_parse_int64(nl_str_slice(text, 0, digits), &number)) return 0;
    for (size_t i = 0; i < NL_COUNT(units); i++)
        if (nl_str_is_nocase(nl_str_slice(text, digits, text.length), units[i].suffix)) return number > INT64_MAX / units[i].millis ? INT64_MAX : number * units[i].millis;
    return 0;
}

bool nl_session_prefers_timestamp_ntz(const nl_session *session)
{
    return nl_str_is_nocase(nl_session_get(session, NL_STR("spark.sql.timestampType")), "TIMESTAMP_NTZ");
}

nl_sql_options nl_session_sql_options(const nl_session *session)
{
    return (nl_sql_options){
        .is_ansi_reserved = nl_session_get_bool(session, "spark.sql.ansi.enforceReservedKeywords"),
        .is_double_quote_identifier = nl_session_get_bool(session, "spark.sql.ansi.doubleQuotedIdentifiers"),
        .is_escape_off = nl_session_get_bool(session, "spark.sql.parser.escapedStringLiterals"),
        .is_legacy_setops = nl_session_get_bool(session, "spark.sql.legacy.setopsPrecedence.enabled"),
        .is_exponent_decimal = nl_session_get_bool(session, "spark.sql.legacy.exponentLiteralAsDecimal.enabled"),
        .is_scripting = nl_session_get_bool(session, "spark.sql.scripting.enabled"),
        .is_timestamp_ntz = nl_session_prefers_timestamp_ntz(session),
        .is_regex_column = nl_session_get_bool(session, "spark.sql.parser.quotedRegexColumnNames"),
        .is_bang_not = nl_session_get_bool(session, "spark.sql.legacy.bangEqualsNot"),
    };
}

void nl_session_list(const nl_session *session, nl_arena *arena, const nl_property **confs, uint32_t *conf_count)
{
    nl_property *list = NL_NEW_ARRAY(arena, nl_property, session->confs.count);
    for (uint32_t i = 0; i < session->confs.count; i++)
        list[i] = (nl_property){nl_arena_str(arena, session->confs.items[i].key), nl_arena_str(arena, session->confs.items[i].value)};
    *confs = list;
    *conf_count = session->confs.count;
}

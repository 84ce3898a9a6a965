/* session/confs.c - known keys and the session's own values.
 *
 * The session's values are few; they lie in one array sorted by key, with owned texts.
 */
#include "session/session_private.h"

#include <stdlib.h>

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

/* Levenshtein's distance, given up above `most` (Levenshtein 1966; two rows of the matrix). */
static uint32_t edit_distance(nl_str a, nl_str b, uint32_t most)
{
    enum { LONGEST = 128 };
    uint32_t row[LONGEST + 1];
    if (a.length > LONGEST || b.length > LONGEST) return most + 1;
    for (uint32_t j = 0; j <= b.length; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a.length; i++) {
        uint32_t diagonal = row[0];
        uint32_t best = row[0] = i;
        for (uint32_t j = 1; j <= b.length; j++) {
            const uint32_t replaced = diagonal + (a.data[i - 1] != b.data[j - 1]);
            diagonal = row[j];
            row[j] = NL_MIN(replaced, NL_MIN(row[j], row[j - 1]) + 1);
            best = NL_MIN(best, row[j]);
        }
        if (best > most) return most + 1;
    }
    return row[b.length];
}

nl_str nl_conf_nearest(nl_str key)
{
    uint32_t best = 4; /* four slips of the finger are a typing error, more are another key */
    nl_str nearest = {0};
    for (uint32_t i = 0; i < NL_COUNT(rows); i++) {
        const uint32_t distance = edit_distance(key, nl_str_from(rows[i].key), best);
        if (distance < best) {
            best = distance;
            nearest = nl_str_from(rows[i].key);
        }
    }
    return nearest;
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
    return NULL;
}

nl_status nl_session_put_conf(nl_session *session, nl_str key, nl_str value)
{
    const nl_conf_row *row = nl_conf_find(key);
    if (row) NL_TRY(check_value(row, value));
    NL_TRY(nl_conf_map_put(&session->confs, key, value));
    if (nl_str_is(key, "spark.sql.session.timeZone")) return nl_timezone_find(value, &session->zone);
    return NULL;
}

nl_status nl_session_set(nl_session *session, nl_str key, nl_str value)
{
    const nl_conf_row *row = nl_conf_find(key);
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

nl_status nl_session_unset(nl_session *session, nl_str key)
{
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

void nl_session_list(const nl_session *session, nl_arena *arena, const nl_property **confs, uint32_t *conf_count)
{
    nl_property *list = NL_NEW_ARRAY(arena, nl_property, session->confs.count);
    for (uint32_t i = 0; i < session->confs.count; i++)
        list[i] = (nl_property){nl_arena_str(arena, session->confs.items[i].key), nl_arena_str(arena, session->confs.items[i].value)};
    *confs = list;
    *conf_count = session->confs.count;
}

/* base/timezone.c - time zones by name: fixed offsets in java.time's forms, regions from the system's TZif files
 * (tzif.h), kept by the process once read.
 *
 * Zones are immutable and never freed, so callers keep plain pointers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"
#include "base/tzif.h"

#define ZONE_FOLDER         "/usr/share/zoneinfo/"
#define OFFSET_SECONDS_MAX  (18 * 3600) /* java.time's range */

struct nl_timezone {
    nl_timezone *next; /* in the process's bucket; written before publication */
    nl_str name;       /* owned */
    nl_tzif rules;     /* of a fixed offset: only first_offset */
};

static const nl_timezone utc = {.name = NL_STR_INIT("UTC")};

/* java.time's ZoneId.SHORT_IDS, which Spark passes along. */
static const struct {
    const char *name;
    const char *meaning;
} short_names[] = {
    {"ACT", "Australia/Darwin"},    {"AET", "Australia/Sydney"},     {"AGT", "America/Argentina/Buenos_Aires"},
    {"ART", "Africa/Cairo"},        {"AST", "America/Anchorage"},    {"BET", "America/Sao_Paulo"},
    {"BST", "Asia/Dhaka"},          {"CAT", "Africa/Harare"},        {"CNT", "America/St_Johns"},
    {"CST", "America/Chicago"},     {"CTT", "Asia/Shanghai"},        {"EAT", "Africa/Addis_Ababa"},
    {"ECT", "Europe/Paris"},        {"IET", "America/Indiana/Indianapolis"}, {"IST", "Asia/Kolkata"},
    {"JST", "Asia/Tokyo"},          {"MIT", "Pacific/Apia"},         {"NET", "Asia/Yerevan"},
    {"NST", "Pacific/Auckland"},    {"PLT", "Asia/Karachi"},         {"PNT", "America/Phoenix"},
    {"PRT", "America/Puerto_Rico"}, {"PST", "America/Los_Angeles"},  {"SST", "Pacific/Guadalcanal"},
    {"VST", "Asia/Ho_Chi_Minh"},    {"EST", "-05:00"},               {"MST", "-07:00"},
    {"HST", "-10:00"},
};

static bool two_digits(nl_str text, size_t at, int32_t *value)
{
    if (at + 2 > text.length) return false;
    uint32_t high = (uint32_t)(text.data[at] - '0');
    uint32_t low = (uint32_t)(text.data[at + 1] - '0');
    if (high > 9 || low > 9) return false;
    *value = (int32_t)(high * 10 + low);
    return true;
}

/* "Z", "+h", "+hh", "+hhmm", "+hh:mm", "+hhmmss", "+hh:mm:ss"; and, as Spark allows, "+h:mm" and "+hh:m". */
static bool parse_offset(nl_str text, int32_t *seconds)
{
    if (nl_str_is(text, "Z")) {
        *seconds = 0;
        return true;
    }
    if (text.length < 2 || text.length > 9 || (text.data[0] != '+' && text.data[0] != '-')) return false;
    char spread[12] = {text.data[0]};
    size_t length = 1;
    size_t at = 1;
    if (text.length == 2 || text.data[2] == ':') spread[length++] = '0'; /* one digit for the hour */
    while (at < text.length) spread[length++] = text.data[at++];
    if (length == 5 && spread[3] == ':') { /* one digit for the minute, at the end */
        spread[5] = spread[4];
        spread[4] = '0';
        length = 6;
    }
    nl_str full = {spread, length};
    int32_t hours = 0;
    int32_t minutes = 0;
    int32_t rest = 0;
    size_t step = length == 6 || length == 9 ? 3 : 2; /* with colons or without */
    bool is_good = two_digits(full, 1, &hours);
    if (length > 3) is_good = is_good && two_digits(full, step + 1, &minutes);
    if (length > 6 || (length == 7 && step == 2)) is_good = is_good && two_digits(full, 2 * step + 1, &rest);
    if (step == 3) is_good = is_good && spread[3] == ':' && (length == 6 || spread[6] == ':');
    if (!is_good || length == 4 || length == 8 || minutes > 59 || rest > 59) return false;
    int32_t total = hours * 3600 + minutes * 60 + rest;
    if (total > OFFSET_SECONDS_MAX) return false;
    *seconds = text.data[0] == '-' ? -total : total;
    return true;
}

/* A plain offset, or one behind "UTC", "GMT" or "UT". */
static bool parse_fixed(nl_str name, int32_t *seconds)
{
    static const char *const prefixes[] = {"UTC", "GMT", "UT"};
    if (parse_offset(name, seconds)) return true;
    for (size_t i = 0; i < NL_COUNT(prefixes); i++) {
        nl_str prefix = nl_str_from(prefixes[i]);
        if (!nl_str_starts(name, prefix)) continue;
        nl_str rest = nl_str_slice(name, prefix.length, name.length);
        *seconds = 0;
        if (rest.length == 0) return true;
        if (rest.data[0] != 'Z' && parse_offset(rest, seconds)) return true;
    }
    return false;
}

/* Whether a name may be a region: never a path that leaves the folder, and not the folder's other trees. */
static bool is_region_name(nl_str name)
{
    if (name.length < 2 || name.length > NL_ZONE_NAME_BYTES_MAX) return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        bool is_other = (c >= '0' && c <= '9') || c == '~' || c == '/' || c == '.' || c == '_' || c == '+' || c == '-';
        if (!is_letter && (i == 0 || !is_other)) return false;
    }
    return nl_str_find(name, NL_STR(".."), 0) == NL_NOT_FOUND && !nl_str_starts(name, NL_STR("posix")) &&
           !nl_str_starts(name, NL_STR("right/")) && !nl_str_is(name, "localtime");
}

static nl_status read_whole(nl_str name, uint8_t **content, size_t *length, bool *is_found)
{
    char path[sizeof ZONE_FOLDER + NL_ZONE_NAME_BYTES_MAX];
    memcpy(path, ZONE_FOLDER, sizeof ZONE_FOLDER - 1);
    memcpy(path + sizeof ZONE_FOLDER - 1, name.data, name.length);
    path[sizeof ZONE_FOLDER - 1 + name.length] = '\0';
    *is_found = false;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return NULL; /* no such region, as far as this system knows */
    struct stat info;
    nl_status status = NULL;
    uint8_t *bytes = NULL;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > NL_ZONE_FILE_BYTES_MAX) goto done;
    size_t size = (size_t)info.st_size;
    bytes = malloc(size + 1);
    ssize_t got = bytes == NULL ? -1 : pread(descriptor, bytes, size, 0);
    if (got != (ssize_t)size) {
        status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Reading a time zone"), NL_P("path", path),
                          NL_P("problem", bytes == NULL ? "out of memory" : "short read"));
        goto done;
    }
    *content = bytes;
    *length = size;
    *is_found = true;
    bytes = NULL;
done:
    free(bytes);
    close(descriptor);
    return status;
}

static void free_zone(nl_timezone *zone)
{
    if (zone == NULL) return;
    free(NL_UNCONST(zone->name.data));
    nl_tzif_fini(&zone->rules);
    free(zone);
}

static nl_status invalid_zone(nl_str name)
{
    return NL_RAISE(INVALID_TIMEZONE, NL_P_STR("timeZone", name));
}

/* Makes a zone that the cache does not have. */
static nl_status load_zone(nl_str name, nl_timezone **zone)
{
    nl_str meaning = name;
    for (size_t i = 0; i < NL_COUNT(short_names); i++)
        if (nl_str_is(name, short_names[i].name)) meaning = nl_str_from(short_names[i].meaning);
    int32_t fixed = 0;
    bool is_fixed = parse_fixed(meaning, &fixed);
    if (!is_fixed && !is_region_name(meaning)) return invalid_zone(name);
    uint8_t *content = NULL;
    size_t length = 0;
    if (!is_fixed) {
        bool is_found;
        NL_TRY(read_whole(meaning, &content, &length, &is_found));
        if (!is_found) return invalid_zone(name);
        if (length < 4 || memcmp(content, "TZif", 4) != 0) { /* a table or a list in the same folder */
            free(content);
            return invalid_zone(name);
        }
    }
    nl_timezone *made = calloc(1, sizeof *made);
    char *own_name = malloc(name.length + 1);
    nl_status status = NULL;
    if (made == NULL || own_name == NULL) {
        free(own_name);
        free(made);
        free(content);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made),
                        NL_P_INT("receivedBytes", 0));
    }
    memcpy(own_name, name.data, name.length);
    own_name[name.length] = '\0';
    made->name = (nl_str){own_name, name.length};
    made->rules.first_offset = fixed;
    if (!is_fixed) {
        nl_cursor in = nl_cursor_over(content, length, meaning);
        status = nl_tzif_parse(&in, &made->rules);
    }
    free(content);
    if (status != NULL) {
        free_zone(made);
        return nl_note_if(status, NL_HERE, "reading time zone " NL_STR_FMT, NL_STR_ARG(name));
    }
    *zone = made;
    return NULL;
}

static nl_timezone *find_cached(const nl_timezone *first, nl_str name)
{
    for (const nl_timezone *zone = first; zone != NULL; zone = zone->next)
        if (nl_str_equal(zone->name, name)) return NL_UNCONST(zone);
    return NULL;
}

nl_status nl_timezone_find(nl_str name, const nl_timezone **zone)
{
    if (nl_str_is(name, "UTC")) {
        *zone = &utc;
        return NULL;
    }
    nl_process *process = &nl_process_state;
    nl_timezone **bucket = &process->zones[nl_hash_bytes(name.data, name.length, 0) % NL_ZONE_BUCKETS];
    nl_mutex_lock(&process->zone_mutex);
    nl_timezone *found = find_cached(*bucket, name);
    nl_mutex_unlock(&process->zone_mutex);
    if (found == NULL) {
        nl_timezone *made = NULL;
        NL_TRY(load_zone(name, &made)); /* without the lock: it reads a file */
        nl_mutex_lock(&process->zone_mutex);
        found = find_cached(*bucket, name);
        if (found == NULL) {
            made->next = *bucket;
            *bucket = found = made;
            made = NULL;
        }
        nl_mutex_unlock(&process->zone_mutex);
        free_zone(made); /* another thread was faster */
    }
    *zone = found;
    return NULL;
}

const nl_timezone *nl_timezone_utc(void)
{
    return &utc;
}

nl_str nl_timezone_name(const nl_timezone *zone)
{
    return zone->name;
}

bool nl_timezone_is_utc(const nl_timezone *zone)
{
    if (zone->rules.transition_count > 0 || zone->rules.first_offset != 0) return false;
    return !zone->rules.has_rule || (!zone->rules.rule.has_daylight && zone->rules.rule.standard_offset == 0);
}

static int32_t offset_at_second(const nl_timezone *zone, int64_t second)
{
    uint32_t count = zone->rules.transition_count;
    if (count == 0 || second >= zone->rules.transitions[count - 1]) {
        if (zone->rules.has_rule) return nl_zone_rule_offset_at(&zone->rules.rule, second);
        return count == 0 ? zone->rules.first_offset : zone->rules.offsets[count - 1];
    }
    if (second < zone->rules.transitions[0]) return zone->rules.first_offset;
    uint32_t low = 0; /* transitions[low] <= second < transitions[high] */
    uint32_t high = count - 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->rules.transitions[middle] <= second)
            low = middle;
        else
            high = middle;
    }
    return zone->rules.offsets[low];
}

int32_t nl_timezone_offset_at(const nl_timezone *zone, int64_t utc_micros)
{
    return offset_at_second(zone, nl_floor_div(utc_micros, NL_MICROS_PER_SECOND));
}

/* The ends of the 64-bit range are nearer than an offset only for values that Spark cannot show either. */
static int64_t shift(int64_t micros, int64_t seconds)
{
    int64_t result;
    if (__builtin_add_overflow(micros, seconds * NL_MICROS_PER_SECOND, &result))
        return seconds < 0 ? INT64_MIN : INT64_MAX;
    return result;
}

int64_t nl_timezone_to_local(const nl_timezone *zone, int64_t utc_micros)
{
    return shift(utc_micros, nl_timezone_offset_at(zone, utc_micros));
}

int64_t nl_timezone_from_local(const nl_timezone *zone, int64_t local_micros)
{
    if (zone->rules.transition_count == 0 && !zone->rules.has_rule) return shift(local_micros, -zone->rules.first_offset);
    int64_t local = nl_floor_div(local_micros, NL_MICROS_PER_SECOND);
    /* No offset is larger than a day, so a change near this local time lies between these two. */
    int32_t before = offset_at_second(zone, local - 86400);
    int32_t after = offset_at_second(zone, local + 86400);
    if (before == after || offset_at_second(zone, local - before) == before) return shift(local_micros, -before);
    if (offset_at_second(zone, local - after) == after) return shift(local_micros, -after);
    return shift(local_micros, -before); /* in a gap */
}

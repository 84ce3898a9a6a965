/* base/zone_names.c - looking up zone_names.def. */
#include "base/zone_names.h"
#include "base/status.h"

typedef struct zone_row {
    const char *id;
    const char *names[4]; /* short, short in summer, long, long in summer */
} zone_row;

static const zone_row zones[] = {
#define ZONE(id, short_name, short_summer, long_name, long_summer) {id, {short_name, short_summer, long_name, long_summer}},
#define SHORT_NAME(name, id)
#define LONG_NAME(name, id)
#include "base/zone_names.def"
#undef ZONE
#undef SHORT_NAME
#undef LONG_NAME
};

typedef struct name_row {
    const char *name;
    const char *id;
} name_row;

static const name_row short_names[] = {
#define ZONE(id, short_name, short_summer, long_name, long_summer)
#define SHORT_NAME(name, id) {name, id},
#define LONG_NAME(name, id)
#include "base/zone_names.def"
#undef SHORT_NAME
#undef LONG_NAME
};

static const name_row long_names[] = {
#define SHORT_NAME(name, id)
#define LONG_NAME(name, id) {name, id},
#include "base/zone_names.def"
};

static const zone_row *find_zone(nl_str id)
{
    for (size_t i = 0; i < NL_COUNT(zones); i++) {
        if (nl_str_is(id, zones[i].id)) return &zones[i];
    }
    return NULL;
}

/* The smaller of the offsets in January and July is standard time, in either hemisphere. */
static bool is_summer(const nl_timezone *zone, int64_t utc_micros)
{
    nl_civil civil;
    nl_civil_from_micros(utc_micros, &civil);
    int64_t january = nl_days_from_civil(civil.year, 1, 1) * NL_MICROS_PER_DAY;
    int64_t july = nl_days_from_civil(civil.year, 7, 1) * NL_MICROS_PER_DAY;
    int32_t standard = NL_MIN(nl_timezone_offset_at(zone, january), nl_timezone_offset_at(zone, july));
    return nl_timezone_offset_at(zone, utc_micros) > standard;
}

nl_str nl_zone_display_name(const nl_timezone *zone, int64_t utc_micros, bool is_long)
{
    const zone_row *row = find_zone(nl_timezone_name(zone));
    if (!row) return (nl_str){NULL, 0};
    const char *summer = row->names[is_long ? 3 : 1];
    if (*summer && is_summer(zone, utc_micros)) return nl_str_from(summer);
    return nl_str_from(row->names[is_long ? 2 : 0]);
}

static void try_name(nl_str text, const char *name, const char *meaning, size_t *longest, nl_str *id)
{
    nl_str candidate = nl_str_from(name);
    if (candidate.length <= *longest || !nl_str_starts_nocase(text, candidate)) return;
    *longest = candidate.length;
    *id = nl_str_from(meaning);
}

size_t nl_zone_name_match(nl_str text, nl_zone_names names, nl_str *id)
{
    size_t longest = 0;
    const name_row *rows = names == NL_ZONE_SHORT_NAMES ? short_names : long_names;
    size_t row_count = names == NL_ZONE_SHORT_NAMES ? NL_COUNT(short_names) : NL_COUNT(long_names);
    for (size_t i = 0; i < NL_COUNT(zones); i++)
        try_name(text, zones[i].id, zones[i].id, &longest, id);
    for (size_t i = 0; names != NL_ZONE_IDS && i < row_count; i++)
        try_name(text, rows[i].name, rows[i].id, &longest, id);
    return longest;
}

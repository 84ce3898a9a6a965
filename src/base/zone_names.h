/* base/zone_names.h - English names of time zones ("PDT", "Pacific Daylight Time"), for pattern letters z and V. */
#pragma once

#include "base/calendar.h"

/* The name at an instant; empty when the zone has none here (offset zones print their id). */
nl_str nl_zone_display_name(const nl_timezone *zone, int64_t utc_micros, bool is_long);

/* The longest region id or, when asked, zone name at the start of `text`, in any case. Returns its length, 0 for none;
 * *id is the region it means, static. */
typedef enum nl_zone_names { NL_ZONE_IDS, NL_ZONE_SHORT_NAMES, NL_ZONE_LONG_NAMES } nl_zone_names;
size_t nl_zone_name_match(nl_str text, nl_zone_names names, nl_str *id);

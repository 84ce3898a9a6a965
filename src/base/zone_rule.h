/* base/zone_rule.h - the POSIX TZ rule that ends a TZif file ("CET-1CEST,M3.5.0,M10.5.0/3") and holds for all later
 * years (POSIX.1-2017, 8.3; RFC 9636, 3.3.1 for hours from -167 to 167).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef struct nl_rule_day {
    enum { NL_RULE_MONTH, NL_RULE_JULIAN, NL_RULE_DAY } form; /* Mm.w.d; Jn, 1 … 365 without leap days; n, 0 … 365 */
    int32_t month, week, weekday, day;
    int32_t second; /* of that day, local time; may be negative or beyond it */
} nl_rule_day;

typedef struct nl_zone_rule {
    int32_t standard_offset; /* seconds east of UTC */
    int32_t daylight_offset;
    bool has_daylight;
    nl_rule_day daylight_start; /* in standard time */
    nl_rule_day daylight_end;   /* in daylight time */
} nl_zone_rule;

bool nl_zone_rule_parse(nl_str text, nl_zone_rule *rule); /* false when it is no such rule */
int32_t nl_zone_rule_offset_at(const nl_zone_rule *rule, int64_t utc_seconds);

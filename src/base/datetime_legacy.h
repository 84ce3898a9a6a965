/* base/datetime_legacy.h - patterns as java.text.SimpleDateFormat reads them (spark.sql.legacy.timeParserPolicy=LEGACY):
 * English texts, not lenient; internal to the datetime_pattern files, which reach it by the pattern's is_legacy.
 *
 * Dates before 1582-10-15 keep their fields, as Spark's rebasing between the calendars does; the ten days that the
 * Gregorian reform left out are no dates. Letters Y, w and W are formatted only.
 */
#pragma once

#include "base/datetime_items.h"

/* NILAS_ILLEGAL_ARGUMENT with SimpleDateFormat's words. */
NL_MUST_USE nl_status nl_legacy_check(nl_str pattern);
/* Appends local time in `zone` (NULL: UTC), whose offset then is offset_seconds. */
void nl_legacy_format(nl_str pattern, int64_t local_micros, const nl_timezone *zone, int32_t offset_seconds, nl_builder *out);
/* What stands at the text's beginning; the rest does not matter. */
bool nl_legacy_parse(nl_str pattern, nl_str text, const nl_timezone *zone, int64_t *utc_micros);

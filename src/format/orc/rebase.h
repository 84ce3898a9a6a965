/* format/orc/rebase.h - days of the hybrid calendar (Julian before 1582-10-15), which Spark's own ORC files count in, and of
 * the proleptic Gregorian one. A date keeps its year, month and day, as Spark's rebasing does. */
#pragma once

#include <stdint.h>

#define NL_ORC_GREGORIAN_START (-141427) /* 1582-10-15, the same day in both */

int64_t nl_orc_days_from_hybrid(int64_t days); /* a Julian February 29 that the other calendar lacks: March 1 */
int64_t nl_orc_days_to_hybrid(int64_t days);   /* the ten days that the hybrid calendar lacks: 1582-10-15 */

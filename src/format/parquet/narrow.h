/* format/parquet/narrow.h - integers of a kept page, packed into the bits that their distance from the least one needs.
 *
 * Pages that are kept in memory (page.h) hold their plain integers so: keys, dates and prices of eight bytes take two or three,
 * so more of them fit, and reading them moves fewer bytes than copying would. This form is never in a file.
 */
#pragma once

#include "base/status.h"
#include "base/str.h"

typedef struct nl_narrow {
    int64_t least;
    uint32_t width; /* bits of a value, at most 32 */
    uint32_t count; /* values */
} nl_narrow;

/* How `count` integers of 4 or 8 bytes would be packed. False: that would save next to nothing. */
bool nl_narrow_plan(const uint8_t *values, uint32_t count, uint32_t value_bytes, nl_narrow *narrow);
size_t nl_narrow_bytes(const nl_narrow *narrow); /* of the packed form */
/* packed: nl_narrow_bytes, and 8 writable ones behind them. */
void nl_narrow_pack(const nl_narrow *narrow, const uint8_t *values, uint32_t value_bytes, uint8_t *packed);
/* Values start … start+count, which exist, as integers of value_bytes. 16 bytes behind packed are readable. */
void nl_narrow_read(const nl_narrow *narrow, const uint8_t *packed, uint64_t start, uint32_t count, uint32_t value_bytes, void *out);
/* Single values, at start + places[i]. */
void nl_narrow_pick(const nl_narrow *narrow, const uint8_t *packed, uint64_t start, const uint32_t *places, uint32_t count, uint32_t value_bytes, void *out);

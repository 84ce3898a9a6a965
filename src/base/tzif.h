/* base/tzif.h - the contents of a time zone file (RFC 9636, versions 2 and up): sorted transitions, the offset from each
 * on, the offset before the first, and the rule that holds after the last.
 */
#pragma once

#include "base/cursor.h"
#include "base/zone_rule.h"

typedef struct nl_tzif { /* in place: nl_tzif_fini */
    int32_t first_offset; /* seconds east of UTC */
    uint32_t transition_count;
    int64_t *transitions; /* seconds, UTC, ascending; owned */
    int32_t *offsets;     /* from transitions[i] on; owned  */
    bool has_rule;
    nl_zone_rule rule;
} nl_tzif;

/* The cursor covers the whole file. *zone is untouched on failure. Fails: NILAS_CORRUPT_FILE. */
NL_MUST_USE nl_status nl_tzif_parse(nl_cursor *in, nl_tzif *zone);
void nl_tzif_fini(nl_tzif *zone);

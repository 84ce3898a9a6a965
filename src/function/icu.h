/* function/icu.h - the one thing asked of ICU: sort keys. Private to function/. */
#pragma once

#include "function/collation.h"

typedef struct nl_collator nl_collator; /* immutable; used by many threads */

/* Opens libicui18n of any version. The collator is closed with the arena. Fails: NILAS_UNSUPPORTED without the library. */
NL_MUST_USE nl_status nl_collator_open(nl_arena *arena, const nl_collation *collation, const nl_collator **collator);

typedef struct nl_collator_scratch { /* zeroed; of one thread */
    nl_builder utf16;
} nl_collator_scratch;
/* Appends bytes that compare as the texts do. */
NL_MUST_USE nl_status nl_collator_append_key(const nl_collator *collator, nl_collator_scratch *scratch, nl_str text, nl_builder *out);

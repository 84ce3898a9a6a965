/* function/collation.h - collations: how strings compare apart from by their bytes, as Spark 4.0 names them.
 *
 * UTF8_LCASE compares in lower case; UNICODE and the languages compare as ICU orders them (libicu is opened when first
 * needed). Nothing in the engine compares by a collation itself: keys are made (collation_key), which compare by bytes.
 * Read with bind.c of plan/analyzer, which puts the keys in.
 */
#pragma once

#include "function/kernel.h"

typedef enum nl_collation_kind { NL_COLLATION_BINARY, NL_COLLATION_LCASE, NL_COLLATION_ICU } nl_collation_kind;

typedef struct nl_collation {
    nl_collation_kind kind;
    nl_str name;      /* as types show it: "UTF8_LCASE", "UNICODE_CI", "ar_SAU_AI" */
    const char *icu;  /* ICU: the locale; "" is the root */
    bool is_case_insensitive, is_accent_insensitive;
} nl_collation;

/* Any case of letters. Fails: COLLATION_INVALID_NAME; UNSUPPORTED_FEATURE.TRIM_COLLATION. */
NL_MUST_USE nl_status nl_collation_find(nl_arena *arena, nl_str name, nl_collation *collation);
/* Lower case, character by character, as UTF8_LCASE compares. */
void nl_collation_fold(nl_str text, nl_builder *out);

typedef struct nl_collation_row { /* of collations(); texts NULL: none */
    nl_str name;
    const char *language, *country;
    bool is_case_insensitive, is_accent_insensitive, is_trimming, is_icu;
} nl_collation_row;
/* Row i in collations()' order; false past the end. */
bool nl_collation_at(nl_arena *arena, uint32_t i, nl_collation_row *row);

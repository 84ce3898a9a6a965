/* function/collation.c - names of collations; see collation.h. */
#include "function/collation.h"

#include "base/distance.h"
#include "function/collation_locales.inc.h"
#include "function/text.h"

static nl_status raise_name(nl_arena *arena, nl_str name);

/* Cuts "_CI", "_AI" and "_RTRIM" off the end. */
static bool cut_suffix(nl_str *name, const char *suffix)
{
    const nl_str end = nl_str_from(suffix);
    if (name->length <= end.length || !nl_str_equal_nocase(nl_str_slice(*name, name->length - end.length, name->length), end)) return false;
    name->length -= end.length;
    return true;
}

static bool find_base(nl_str base, const char **name, const char **icu)
{
    if (nl_str_is_nocase(base, "UNICODE")) {
        *name = "UNICODE";
        *icu = "";
        return true;
    }
    for (size_t i = 0; i < NL_COUNT(locales); i++) {
        if (!nl_str_is_nocase(base, locales[i].name)) continue;
        *name = locales[i].name;
        *icu = locales[i].icu;
        return true;
    }
    return false;
}

nl_status nl_collation_find(nl_arena *arena, nl_str name, nl_collation *collation)
{
    nl_str base = name;
    const char *shown = NULL;
    const bool is_trimming = cut_suffix(&base, "_RTRIM");
    *collation = (nl_collation){.kind = NL_COLLATION_ICU};
    for (uint32_t i = 0; i < 2; i++) { /* in any order */
        collation->is_accent_insensitive |= cut_suffix(&base, "_AI");
        collation->is_case_insensitive |= cut_suffix(&base, "_CI");
    }
    const bool has_specifier = collation->is_accent_insensitive || collation->is_case_insensitive;
    if (!has_specifier && nl_str_is_nocase(base, "UTF8_BINARY")) {
        *collation = (nl_collation){.kind = NL_COLLATION_BINARY, .name = NL_STR("UTF8_BINARY")};
    } else if (!has_specifier && nl_str_is_nocase(base, "UTF8_LCASE")) {
        *collation = (nl_collation){.kind = NL_COLLATION_LCASE, .name = NL_STR("UTF8_LCASE"), .is_case_insensitive = true};
    } else if (find_base(base, &shown, &collation->icu)) {
        collation->name = nl_arena_f(arena, "%s%s%s", shown, collation->is_case_insensitive ? "_CI" : "", collation->is_accent_insensitive ? "_AI" : "");
    } else {
        return raise_name(arena, name);
    }
    return is_trimming ? NL_RAISE(UNSUPPORTED_FEATURE__TRIM_COLLATION) : NULL;
}

/* The known base that is nearest to what was written. */
static nl_status raise_name(nl_arena *arena, nl_str name)
{
    static const char *const others[] = {"UTF8_BINARY", "UTF8_LCASE", "UNICODE"};
    const char *best = others[2];
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < NL_COUNT(others) + NL_COUNT(locales); i++) {
        const char *candidate = i < NL_COUNT(others) ? others[i] : locales[i - NL_COUNT(others)].name;
        const uint32_t distance = nl_word_distance(name, nl_str_from(candidate), 128);
        if (distance >= least) continue;
        least = distance;
        best = candidate;
    }
    (void)arena;
    return NL_RAISE(COLLATION_INVALID_NAME, NL_P_STR("collationName", name), NL_P("proposals", best));
}

void nl_collation_fold(nl_str text, nl_builder *out)
{
    static const uint32_t big_sigma = 0x3a3, final_sigma = 0x3c2;
    if (nl_text_is_ascii(text)) {
        for (size_t i = 0; i < text.length; i++) nl_append_char(out, (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] | 32 : text.data[i]));
        return;
    }
    for (size_t i = 0; i < text.length;) {
        const size_t start = i;
        const uint32_t c = nl_utf8_decode(text, &i);
        if (c == big_sigma || c == final_sigma)
            nl_append_code_point(out, 0x3c3);
        else
            nl_text_append_lower(nl_str_slice(text, start, i), out);
    }
}

bool nl_collation_at(nl_arena *arena, uint32_t i, nl_collation_row *row)
{
    static const struct {
        const char *suffix;
        bool is_case_insensitive, is_accent_insensitive, is_trimming;
    } forms[] = {{"", false, false, false}, {"_AI", false, true, false}, {"_AI_RTRIM", false, true, true}, {"_CI", true, false, false},
                 {"_CI_AI", true, true, false}, {"_CI_AI_RTRIM", true, true, true}, {"_CI_RTRIM", true, false, true}, {"_RTRIM", false, false, true}};
    static const struct {
        const char *name;
        bool is_case_insensitive, is_trimming;
    } plain[] = {{"UTF8_BINARY", false, false}, {"UTF8_LCASE", true, false}, {"UTF8_BINARY_RTRIM", false, true}, {"UTF8_LCASE_RTRIM", true, true}};
    *row = (nl_collation_row){0};
    if (i < NL_COUNT(plain)) {
        *row = (nl_collation_row){.name = nl_str_from(plain[i].name), .is_case_insensitive = plain[i].is_case_insensitive, .is_trimming = plain[i].is_trimming};
        return true;
    }
    i -= (uint32_t)NL_COUNT(plain);
    const uint32_t base = i / (uint32_t)NL_COUNT(forms), form = i % (uint32_t)NL_COUNT(forms);
    if (base > (uint32_t)NL_COUNT(locales)) return false;
    *row = (nl_collation_row){.is_icu = true,
                              .language = base ? locales[base - 1].language : NULL,
                              .country = base ? locales[base - 1].country : NULL,
                              .is_case_insensitive = forms[form].is_case_insensitive,
                              .is_accent_insensitive = forms[form].is_accent_insensitive,
                              .is_trimming = forms[form].is_trimming};
    row->name = nl_arena_f(arena, "%s%s", base ? locales[base - 1].name : "UNICODE", forms[form].suffix);
    return true;
}

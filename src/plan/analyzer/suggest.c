/* Which names to propose for one that was not found: by edit distance, as Spark orders them. */
#include <stdlib.h>

#include "plan/analyzer/analyzer.h"

#define SUGGESTION_COUNT_MAX 5
#define NAME_LENGTH_MAX      256 /* longer names are compared by their beginning */

typedef struct candidate {
    nl_str text;
    nl_str plain; /* without quotes: breaks ties */
    uint32_t distance;
} candidate;

static uint32_t edit_distance(nl_str a, nl_str b)
{
    uint32_t row[NAME_LENGTH_MAX + 1];
    const uint32_t a_length = (uint32_t)NL_MIN(a.length, (size_t)NAME_LENGTH_MAX);
    const uint32_t b_length = (uint32_t)NL_MIN(b.length, (size_t)NAME_LENGTH_MAX);
    for (uint32_t j = 0; j <= b_length; j++) row[j] = j;
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            const uint32_t above = row[j];
            const uint32_t replaced = diagonal + (a.data[i - 1] != b.data[j - 1]);
            row[j] = NL_MIN(replaced, NL_MIN(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[b_length];
}

static int by_distance(const void *a, const void *b)
{
    const candidate *x = a;
    const candidate *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return nl_str_compare(x->plain, y->plain);
}

static bool same_qualifier(const nl_column *a, const nl_column *b)
{
    if (a->qualifier_count != b->qualifier_count) return false;
    for (uint32_t i = 0; i < a->qualifier_count; i++)
        if (!nl_str_equal(a->qualifier[i], b->qualifier[i])) return false;
    return true;
}

/* With one qualifier for all, as many parts as were asked for; else all of them. */
static candidate make_candidate(nl_arena *arena, const nl_column *column, bool is_one_qualifier, uint32_t part_count)
{
    uint32_t kept = column->qualifier_count;
    if (is_one_qualifier && part_count <= 2) kept = NL_MIN(kept, part_count - 1);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, kept + 1);
    for (uint32_t i = 0; i < kept; i++) parts[i] = column->qualifier[column->qualifier_count - kept + i];
    parts[kept] = column->name;
    return (candidate){.text = nl_quote_names(arena, parts, kept + 1), .plain = nl_join_texts(arena, parts, kept + 1, ".")};
}

nl_str nl_suggest_names(nl_arena *arena, const nl_str *parts, uint32_t part_count, const nl_column *columns, uint32_t count)
{
    const nl_str base = nl_join_texts(arena, parts, part_count, ".");
    candidate *candidates = NL_NEW_ARRAY(arena, candidate, count + 1);
    uint32_t candidate_count = 0;
    bool is_one_qualifier = true;
    const nl_column *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].is_hidden) continue;
        if (!first) first = &columns[i];
        is_one_qualifier = is_one_qualifier && same_qualifier(first, &columns[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].is_hidden) continue;
        candidate *c = &candidates[candidate_count++];
        *c = make_candidate(arena, &columns[i], is_one_qualifier, part_count);
        c->distance = edit_distance(base, c->text);
    }
    qsort(candidates, candidate_count, sizeof *candidates, by_distance);
    nl_str best[SUGGESTION_COUNT_MAX];
    uint32_t best_count = 0;
    for (uint32_t i = 0; i < candidate_count && best_count < SUGGESTION_COUNT_MAX; i++)
        if (best_count == 0 || !nl_str_equal(best[best_count - 1], candidates[i].text)) best[best_count++] = candidates[i].text;
    return nl_join_texts(arena, best, best_count, ", ");
}

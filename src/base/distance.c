/* base/distance.c - Levenshtein 1966, with one row of the matrix and an early end. */
#include "base/distance.h"

#define WORD_BYTES_MAX 128u
#define SLIPS_MAX      3u

uint32_t nl_word_distance(nl_str a, nl_str b, uint32_t most)
{
    uint32_t row[WORD_BYTES_MAX + 1];
    if (a.length > WORD_BYTES_MAX || b.length > WORD_BYTES_MAX) return most + 1;
    for (uint32_t j = 0; j <= b.length; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a.length; i++) {
        uint32_t diagonal = row[0];
        uint32_t best = row[0] = i;
        for (uint32_t j = 1; j <= b.length; j++) {
            const uint32_t replaced = diagonal + (a.data[i - 1] != b.data[j - 1]);
            const uint32_t moved = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < moved ? replaced : moved;
            if (row[j] < best) best = row[j];
        }
        if (best > most) return most + 1;
    }
    return row[b.length] > most ? most + 1 : row[b.length];
}

void nl_nearest_offer(nl_nearest *nearest, nl_str candidate)
{
    const uint32_t third = (uint32_t)(nearest->word.length / 3);
    uint32_t most = third < SLIPS_MAX ? third : SLIPS_MAX;
    if (nearest->found.data) {
        if (nearest->distance == 0) return;
        most = nearest->distance - 1;
    }
    const uint32_t distance = nl_word_distance(nearest->word, candidate, most);
    if (distance > most) return;
    nearest->found = candidate;
    nearest->distance = distance;
}

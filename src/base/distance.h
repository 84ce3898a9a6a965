/* base/distance.h - how far two words are apart, to name the one that was meant. */
#pragma once

#include "base/str.h"

/* Levenshtein's distance (insert, delete, replace one byte), or most + 1 when it is larger or a word has over 128 bytes. */
uint32_t nl_word_distance(nl_str a, nl_str b, uint32_t most);

/* The best of candidates that were offered one by one: nl_nearest near = {.word = typed}; nl_nearest_offer(&near, …). */
typedef struct nl_nearest {
    nl_str word;
    nl_str found;    /* borrowed from the candidates; empty: none is near */
    uint32_t distance;
} nl_nearest;

/* Up to a third of the word may differ, and no more than three bytes: more is another word, not a slip of the finger. */
void nl_nearest_offer(nl_nearest *nearest, nl_str candidate);

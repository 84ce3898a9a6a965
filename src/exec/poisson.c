/* exec/poisson.c - WELL19937c and Knuth's product of uniform numbers. */
#include "exec/poisson.h"

#include <math.h>

/* The first long of java.util.Random: what Spark seeds the sampler of partition 0 with. */
static int64_t first_long(int64_t seed)
{
    const uint64_t mask = (1ull << 48) - 1;
    uint64_t state = ((uint64_t)seed ^ 0x5DEECE66Dull) & mask;
    uint32_t halves[2];
    for (int i = 0; i < 2; i++) {
        state = (state * 0x5DEECE66Dull + 0xB) & mask;
        halves[i] = (uint32_t)(state >> 16);
    }
    return (int64_t)(((uint64_t)halves[0] << 32) + (uint64_t)(int64_t)(int32_t)halves[1]);
}

void nl_poisson_start(nl_poisson *poisson, double mean, int64_t seed)
{
    const uint64_t chosen = (uint64_t)first_long(seed);
    poisson->words[0] = (int32_t)(uint32_t)(chosen >> 32);
    poisson->words[1] = (int32_t)(uint32_t)chosen;
    for (uint32_t i = 2; i < NL_WELL_WORDS; i++) {
        const int64_t before = poisson->words[i - 2];
        poisson->words[i] = (int32_t)(uint32_t)(1812433253ull * (uint64_t)(before ^ (before >> 30)) + i);
    }
    poisson->index = 0;
    poisson->mean = mean;
    poisson->limit = exp(-mean);
}

static uint32_t next_bits(nl_poisson *p, uint32_t bits)
{
    const uint32_t at = p->index, last = (at + NL_WELL_WORDS - 1) % NL_WELL_WORDS, before = (at + NL_WELL_WORDS - 2) % NL_WELL_WORDS;
    const uint32_t v0 = (uint32_t)p->words[at], m1 = (uint32_t)p->words[(at + 70) % NL_WELL_WORDS];
    const uint32_t m2 = (uint32_t)p->words[(at + 179) % NL_WELL_WORDS], m3 = (uint32_t)p->words[(at + 449) % NL_WELL_WORDS];
    const uint32_t z0 = (0x80000000u & (uint32_t)p->words[last]) ^ (0x7FFFFFFFu & (uint32_t)p->words[before]);
    const uint32_t z1 = (v0 ^ (v0 << 25)) ^ (m1 ^ (m1 >> 27));
    const uint32_t z2 = (m2 >> 9) ^ (m3 ^ (m3 >> 1));
    const uint32_t z3 = z1 ^ z2;
    uint32_t z4 = z0 ^ (z1 ^ (z1 << 9)) ^ (z2 ^ (z2 << 21)) ^ (z3 ^ (z3 >> 21));
    p->words[at] = (int32_t)z3;
    p->words[last] = (int32_t)z4;
    p->words[before] = (int32_t)((uint32_t)p->words[before] & 0x80000000u);
    p->index = last;
    z4 ^= (z4 << 7) & 0xe46e1700u; /* Matsumoto's and Kurita's tempering */
    z4 ^= (z4 << 15) & 0x9b868000u;
    return z4 >> (32 - bits);
}

static double next_double(nl_poisson *poisson)
{
    const uint64_t high = (uint64_t)next_bits(poisson, 26) << 26;
    return (double)(high | next_bits(poisson, 26)) * 0x1.0p-52;
}

uint32_t nl_poisson_next(nl_poisson *poisson)
{
    uint32_t count = 0;
    double product = 1;
    if (poisson->mean <= 0) return 0;
    while (count < 1000 * poisson->mean) {
        product *= next_double(poisson);
        if (product < poisson->limit) return count;
        count++;
    }
    return count;
}

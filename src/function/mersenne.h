/* function/mersenne.h - the Mersenne twister MT19937 (Matsumoto, Nishimura, 1998), seeded with 64 bits as two keys, high
 * one first, and whole numbers below a bound, as shuffle() draws them. Private to function/.
 */
#pragma once

#include <stdint.h>

#define NL_MERSENNE_WORDS 624u

typedef struct nl_mersenne {
    uint32_t words[NL_MERSENNE_WORDS];
    uint32_t at;
} nl_mersenne;

static inline void nl_mersenne_init(nl_mersenne *m, int64_t seed)
{
    const uint32_t keys[2] = {(uint32_t)((uint64_t)seed >> 32), (uint32_t)seed};
    uint32_t *w = m->words;
    w[0] = 19650218u;
    for (uint32_t i = 1; i < NL_MERSENNE_WORDS; i++) w[i] = 1812433253u * (w[i - 1] ^ (w[i - 1] >> 30)) + i;
    uint32_t i = 1;
    uint32_t k = 0;
    for (uint32_t n = 0; n < NL_MERSENNE_WORDS; n++) {
        w[i] = (w[i] ^ ((w[i - 1] ^ (w[i - 1] >> 30)) * 1664525u)) + keys[k] + k;
        k = (k + 1) % 2;
        if (++i == NL_MERSENNE_WORDS) {
            w[0] = w[NL_MERSENNE_WORDS - 1];
            i = 1;
        }
    }
    for (uint32_t n = 1; n < NL_MERSENNE_WORDS; n++) {
        w[i] = (w[i] ^ ((w[i - 1] ^ (w[i - 1] >> 30)) * 1566083941u)) - i;
        if (++i == NL_MERSENNE_WORDS) {
            w[0] = w[NL_MERSENNE_WORDS - 1];
            i = 1;
        }
    }
    w[0] = 0x80000000u;
    m->at = NL_MERSENNE_WORDS;
}

static inline uint32_t nl_mersenne_bits(nl_mersenne *m, uint32_t bits)
{
    uint32_t *w = m->words;
    if (m->at == NL_MERSENNE_WORDS) {
        for (uint32_t i = 0; i < NL_MERSENNE_WORDS; i++) {
            uint32_t y = (w[i] & 0x80000000u) | (w[(i + 1) % NL_MERSENNE_WORDS] & 0x7FFFFFFFu);
            w[i] = w[(i + 397) % NL_MERSENNE_WORDS] ^ (y >> 1) ^ (y & 1 ? 0x9908B0DFu : 0);
        }
        m->at = 0;
    }
    uint32_t y = w[m->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    y ^= y >> 18;
    return y >> (32 - bits);
}

static inline uint32_t nl_mersenne_below(nl_mersenne *m, uint32_t bound) /* of [0, bound); bound > 0, < 2^31 */
{
    if ((bound & (bound - 1)) == 0) return (uint32_t)(((uint64_t)bound * nl_mersenne_bits(m, 31)) >> 31);
    uint32_t value;
    uint32_t rest;
    do {
        value = nl_mersenne_bits(m, 31);
        rest = value % bound;
    } while ((int64_t)value - rest + (bound - 1) > INT32_MAX);
    return rest;
}

/* column/bits.c - validity bits by words; see bits.h. */
#include "column/bits.h"

static inline bool get(const uint8_t *bits, uint32_t i)
{
    return (bits[i >> 3] >> (i & 7)) & 1;
}

static inline void put(uint8_t *bits, uint32_t i, bool value)
{
    uint8_t mask = (uint8_t)(1u << (i & 7));
    bits[i >> 3] = (uint8_t)(value ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

static inline uint64_t load_word(const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
    return word;
}

void nl_bits_copy(uint8_t *target, uint32_t target_start, const uint8_t *source, uint32_t source_start, uint32_t count)
{
    for (; count > 0 && (target_start & 7); count--)
        put(target, target_start++, get(source, source_start++));
    uint32_t shift = source_start & 7;
    const uint8_t *from = source + (source_start >> 3);
    uint8_t *to = target + (target_start >> 3);
    uint32_t done = 0;
    if (shift == 0) {
        done = count & ~7u;
        if (done) memcpy(to, from, done >> 3);
    } else {
        /* 64 bits from a shifted place touch nine bytes, the ninth being within the source because shift > 0. */
        for (; count - done >= 64; done += 64) {
            const uint8_t *at = from + (done >> 3);
            uint64_t word = (load_word(at) >> shift) | ((uint64_t)at[8] << (64 - shift));
            memcpy(to + (done >> 3), &word, 8);
        }
    }
    for (; done < count; done++)
        put(target, target_start + done, get(source, source_start + done));
}

void nl_bits_fill(uint8_t *target, uint32_t start, uint32_t count, bool value)
{
    for (; count > 0 && (start & 7); count--)
        put(target, start++, value);
    if (count >= 8) memset(target + (start >> 3), value ? 0xff : 0, count >> 3);
    for (uint32_t i = count & ~7u; i < count; i++)
        put(target, start + i, value);
}

uint32_t nl_bits_count(const uint8_t *bits, uint32_t start, uint32_t count)
{
    uint32_t set = 0;
    for (; count > 0 && (start & 7); count--)
        set += get(bits, start++);
    const uint8_t *at = bits + (start >> 3);
    for (; count >= 64; count -= 64, at += 8, start += 64)
        set += (uint32_t)__builtin_popcountll(load_word(at));
    for (uint32_t i = 0; i < count; i++)
        set += get(bits, start + i);
    return set;
}

uint32_t nl_bits_gather(uint8_t *target, const uint8_t *source, const uint32_t *rows, uint32_t count)
{
    uint32_t set = 0;
    for (uint32_t start = 0; start < count; start += 64) {
        uint32_t width = count - start < 64 ? count - start : 64;
        uint64_t word = 0;
        for (uint32_t i = 0; i < width; i++)
            word |= (uint64_t)get(source, rows[start + i]) << i;
        memcpy(target + (start >> 3), &word, 8);
        set += (uint32_t)__builtin_popcountll(word);
    }
    return set;
}

/* column/bits.h - moving runs of validity bits by words. Bits are LSB first; a set bit means valid.
 *
 * Sources are never read beyond their last byte (an imported bitmap may end there). Targets of nl_bits_gather are
 * written in whole 64-bit words, which the padding of every nl_buffer allows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t nl_bits_bytes(uint32_t count) /* bytes that hold `count` bits */
{
    return (count >> 3) + ((count & 7) != 0);
}

/* Copies `count` bits from bit `source_start` to bit `target_start`; other target bits stay. */
void nl_bits_copy(uint8_t *target, uint32_t target_start, const uint8_t *source, uint32_t source_start, uint32_t count);
void nl_bits_fill(uint8_t *target, uint32_t start, uint32_t count, bool value);
uint32_t nl_bits_count(const uint8_t *bits, uint32_t start, uint32_t count); /* set bits in start … start+count */
/* target bit i = source bit rows[i]; returns the set bits. target holds a multiple of 8 bytes. */
uint32_t nl_bits_gather(uint8_t *target, const uint8_t *source, const uint32_t *rows, uint32_t count);

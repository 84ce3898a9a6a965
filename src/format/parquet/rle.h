/* format/parquet/rle.h - the hybrid of runs and bit-packed groups that levels and dictionary indices come in.
 *
 * Source: Parquet format, Encodings, "Run Length Encoding / Bit-Packing Hybrid". The encoded bytes must lie in memory
 * with 16 readable bytes behind them (bitpack.h).
 */
#pragma once

#include "base/status.h"
#include "base/str.h"

typedef struct nl_rle {
    const uint8_t *at, *end; /* the next run's head; the end of all runs */
    uint32_t width;          /* bits per value, 0 … 32 */
    bool is_run;
    uint32_t left;           /* values left in the present run */
    uint32_t value;          /* of a run */
    const uint8_t *packed;   /* the present packed group */
    uint64_t packed_index;   /* next value in it */
} nl_rle;

void nl_rle_init(nl_rle *rle, nl_bytes encoded, uint32_t width);
/* Makes sure that some values are left in the present run. False: the data has ended or is damaged. */
bool nl_rle_refill(nl_rle *rle);
/* Each takes exactly `count` values, or is false. */
NL_MUST_USE bool nl_rle_read32(nl_rle *rle, uint32_t *out, uint32_t count);
NL_MUST_USE bool nl_rle_read8(nl_rle *rle, uint8_t *out, uint32_t count); /* width <= 8 */
NL_MUST_USE bool nl_rle_skip(nl_rle *rle, uint64_t count);
/* The values at ascending places, counted from the next one; then those up to the last place are behind. count > 0. */
NL_MUST_USE bool nl_rle_pick32(nl_rle *rle, const uint32_t *places, uint32_t count, uint32_t *out);
/* width 1: writes bits start … start+count, whose place must be zero before, and counts the ones. */
NL_MUST_USE bool nl_rle_read_bits(nl_rle *rle, uint8_t *bits, uint32_t start, uint32_t count, uint32_t *ones);
/* Skips `count` values and counts those that equal `value`. */
NL_MUST_USE bool nl_rle_skip_count(nl_rle *rle, uint64_t count, uint32_t value, uint64_t *equal);

/* Bytes nl_rle_encode may need for `count` values. */
size_t nl_rle_bound(uint32_t width, uint32_t count);
/* Encodes; runs of 8 and more become runs, the rest packed groups. Returns the bytes written. */
size_t nl_rle_encode(const uint32_t *values, uint32_t count, uint32_t width, uint8_t *out);
size_t nl_rle_encode_same(uint32_t value, uint32_t count, uint32_t width, uint8_t *out); /* one run, also where there are few */
static inline uint32_t nl_rle_width_for(uint32_t value_max) /* bits that hold 0 … value_max */
{
    return value_max == 0 ? 0 : 32 - (uint32_t)__builtin_clz(value_max);
}

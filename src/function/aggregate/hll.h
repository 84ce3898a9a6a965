/* aggregate/hll.h - DataSketches' HLL sketch (its binary format, version 1), as Spark's hll functions make it: registers of
 * 8 bits. Private to function/.
 *
 * A sketch begins as a list of 8 coupons (slot and value of one hash), becomes a hash set of them, then registers. HIP
 * estimates hold while one stream was counted; after a merge of registers the sketch is "out of order" and the
 * composite estimate counts.
 */
#pragma once

#include "function/aggregate/state.h"

#define NL_HLL_LG_K_MIN 4
#define NL_HLL_LG_K_MAX 21

typedef enum nl_hll_mode { NL_HLL_LIST, NL_HLL_SET, NL_HLL_REGISTERS } nl_hll_mode;

typedef struct nl_hll {
    uint8_t lg_k;     /* 0: not begun */
    uint8_t mode;     /* nl_hll_mode */
    uint8_t lg_slots; /* LIST, SET: slots of the coupon array */
    bool is_out_of_order;
    bool needs_rebuild; /* kxq, floor and at_floor are behind the registers */
    uint8_t floor;      /* smallest register, where a rebuild looked; else 0 */
    uint32_t count;     /* LIST, SET: coupons */
    uint32_t at_floor;  /* registers that hold the floor */
    double hip, kxq0, kxq1;
    nl_agg_bytes slots; /* LIST, SET: uint32_t each, 0 is free; REGISTERS: a byte each */
} nl_hll;

NL_MUST_USE nl_status nl_hll_begin(nl_hll *sketch, uint8_t lg_k, nl_memory *memory);
void nl_hll_free(nl_hll *sketch, nl_memory *memory);
NL_MUST_USE nl_status nl_hll_add_bytes(nl_hll *sketch, nl_memory *memory, nl_str bytes); /* empty ones do not count */
NL_MUST_USE nl_status nl_hll_add_long(nl_hll *sketch, nl_memory *memory, int64_t value);
/* source joins into, whose lg_k may become less. */
NL_MUST_USE nl_status nl_hll_merge(nl_hll *into, nl_memory *memory, nl_hll *source);
double nl_hll_estimate(nl_hll *sketch);
NL_MUST_USE nl_status nl_hll_write(nl_hll *sketch, nl_memory *memory, nl_agg_bytes *out);
/* *is_sketch false: these bytes are none. The sketch must be zeroed; the caller frees it in any case. */
NL_MUST_USE nl_status nl_hll_read(nl_hll *sketch, nl_memory *memory, nl_str bytes, bool *is_sketch);

/* format/parquet/gather.h - moving values of 1, 2, 4, 8 or 16 bytes: by dictionary index, and apart where nulls are. */
#pragma once

#include <stdint.h>

#include "column/vector.h"

/* out[i] = values[indices[i]] */
void nl_gather_values(const void *values, uint32_t value_bytes, const uint32_t *indices, uint32_t count, void *out);
/* Row start+i of out gets the next dense value where its bit is set, else zero. `dense` has one readable value more. */
void nl_spread_values(const void *dense, uint32_t value_bytes, const uint8_t *bits, uint32_t start, uint32_t count, void *out);
/* Sets bits start … start+count where levels[i] == max (the place is zero before); returns how many. */
uint32_t nl_bits_of_levels(const uint8_t *levels, uint8_t max, uint8_t *bits, uint32_t start, uint32_t count);
/* How many levels equal `max`. */
uint32_t nl_count_levels(const uint8_t *levels, uint8_t max, uint32_t count);

/* scalar/hash.h - xxhash64 of one row as Spark computes it, for sketches. Private to function/. */
#pragma once

#include "function/kernel.h"

/* A null leaves the seed as it is. */
uint64_t nl_row_xxhash64(const nl_vector *vector, uint32_t row, uint64_t seed);

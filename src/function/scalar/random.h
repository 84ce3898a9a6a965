/* scalar/random.h - Spark's XORShiftRandom, seeded per partition (here: per worker). TABLESAMPLE takes its numbers from here, too. */
#pragma once

#include "function/groups.h"

typedef struct nl_random {
    int64_t seed;
    double next_gaussian;
    bool has_gaussian;
} nl_random;

void nl_random_start(nl_random *random, int64_t seed);
uint32_t nl_random_bits(nl_random *random, uint32_t bits);
double nl_random_double(nl_random *random); /* [0, 1) */

/* bind(): the last argument of a row with signature "([bigint])" is the seed; state is an int64_t. make: a worker's
 * nl_random. nl_random_of: that, or *fallback when the call has none (constants are computed without a worker). */
NL_MUST_USE nl_status nl_random_bind(nl_bind *bind, nl_bound_function *bound);
NL_MUST_USE nl_status nl_random_make(const nl_bound_function *function, uint32_t worker, void **state);
nl_random *nl_random_of(const nl_bound_function *function, const nl_eval *eval, nl_random *fallback);

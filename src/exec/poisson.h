/* exec/poisson.h - how often sample(withReplacement = True) takes each row: numbers of a Poisson distribution, one after the
 * other the same as Spark's for the same seed (of its first partition). */
#pragma once

#include <stdint.h>

#define NL_WELL_WORDS 624u

typedef struct nl_poisson {
    int32_t words[NL_WELL_WORDS]; /* WELL19937c (Panneton, L'Ecuyer, Matsumoto 2006), as commons-math seeds it */
    uint32_t index;
    double mean, limit;           /* limit: e^-mean */
} nl_poisson;

#define NL_POISSON_MEAN_MAX 40.0 /* larger means are computed otherwise */

void nl_poisson_start(nl_poisson *poisson, double mean, int64_t seed);
uint32_t nl_poisson_next(nl_poisson *poisson);

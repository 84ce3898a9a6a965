/* function/java_random.h - java.util.Random, whose numbers some results depend on: the 48-bit linear congruential
 * generator that its documentation states. Private to function/.
 */
#pragma once

#include <stdint.h>

typedef struct nl_java_random {
    uint64_t seed;
} nl_java_random;

static inline nl_java_random nl_java_random_new(int64_t seed)
{
    return (nl_java_random){((uint64_t)seed ^ 0x5DEECE66Dull) & ((1ull << 48) - 1)};
}
static inline int32_t nl_java_random_bits(nl_java_random *random, int bits) /* at most 32 */
{
    random->seed = (random->seed * 0x5DEECE66Dull + 0xB) & ((1ull << 48) - 1);
    return (int32_t)(uint32_t)(random->seed >> (48 - bits));
}
static inline int32_t nl_java_random_int(nl_java_random *random, int32_t bound) /* of [0, bound); bound > 0 */
{
    int32_t value = nl_java_random_bits(random, 31);
    if ((bound & (bound - 1)) == 0) return (int32_t)(((int64_t)bound * value) >> 31);
    int32_t rest = value % bound;
    while ((int64_t)value - rest + (bound - 1) > INT32_MAX) { /* the last, incomplete stretch is drawn again */
        value = nl_java_random_bits(random, 31);
        rest = value % bound;
    }
    return rest;
}
static inline double nl_java_random_double(nl_java_random *random) /* of [0, 1) */
{
    int64_t high = (int64_t)nl_java_random_bits(random, 26) << 27;
    return (double)(high + nl_java_random_bits(random, 27)) * 0x1.0p-53;
}

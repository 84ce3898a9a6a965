/* aggregate/set_order.c - places of elements in a Scala 2.13 mutable.HashSet: a table of at least 16 buckets that doubles
 * when it would be three quarters full; a bucket's elements by their hashes, equal ones as they were added. The hashes
 * are those of Java's boxed numbers (whole reals hash as the integers they equal), of strings Spark's UTF8String.
 */
#include "function/aggregate/set_order.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

bool nl_has_set_order(const nl_type *type)
{
    return !nl_type_is_nested(type) && type->id != NL_TYPE_BINARY && type->id != NL_TYPE_INTERVAL &&
           type->id != NL_TYPE_NULL && type->id != NL_TYPE_VARIANT;
}

static int32_t hash_long(int64_t value)
{
    if (value == (int32_t)value) return (int32_t)value;
    return (int32_t)(uint32_t)((uint64_t)value ^ ((uint64_t)value >> 32));
}

static int32_t hash_real(double value, bool is_float)
{
    if (value == floor(value) && fabs(value) < 9.2e18) return hash_long((int64_t)value);
    float narrow = (float)value;
    if (is_float || (double)narrow == value) {
        int32_t bits = 0x7FC00000;
        if (narrow == narrow) memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    uint64_t bits = 0x7FF8000000000000ull;
    if (value == value) memcpy(&bits, &value, sizeof bits);
    return (int32_t)(uint32_t)(bits ^ (bits >> 32));
}

/* java.math.BigInteger's: over the 32-bit words of the magnitude, the greatest first. */
static int32_t hash_big(nl_int128 value)
{
    nl_uint128 magnitude = value < 0 ? -(nl_uint128)value : (nl_uint128)value;
    uint32_t hash = 0;
    for (int word = 3; word >= 0; word--) hash = 31 * hash + (uint32_t)(magnitude >> (32 * word));
    return (int32_t)(value < 0 ? -hash : hash);
}

/* scala.math.BigDecimal's: a whole number hashes as that, what a double holds as the double, else digits and scale. */
static int32_t hash_decimal(nl_int128 value, int scale)
{
    while (scale > 0 && value % 10 == 0) {
        value /= 10;
        scale--;
    }
    if (scale == 0) return value == (int64_t)value ? hash_long((int64_t)value) : hash_big(value);
    nl_int128 back = 0;
    double real = nl_decimal_to_double(value, scale);
    if (nl_decimal_from_double(real, 38, scale, &back) && back == value) return hash_real(real, false);
    uint32_t k = (uint32_t)scale * 0xCC9E2D51u; /* MurmurHash3's last step */
    k = (k << 15 | k >> 17) * 0x1B873593u;
    return (int32_t)((uint32_t)hash_big(value) ^ k);
}

/* row: the flag, then the value (state.h). */
static int32_t hash_row(const nl_type *type, const char *row)
{
    if (type->physical == NL_PHYS_STRING) {
        uint32_t length;
        memcpy(&length, row + 1, sizeof length);
        return (int32_t)nl_spark_murmur3_bytes(row + 1 + sizeof length, length, 42);
    }
    nl_int128 space = 0;
    memcpy(&space, row + 1, nl_physical_size(type->physical));
    if (type->physical == NL_PHYS_F32 || type->physical == NL_PHYS_F64)
        return hash_real(nl_physical_f64(type->physical, &space, 0), type->physical == NL_PHYS_F32);
    if (type->id == NL_TYPE_DECIMAL) return hash_decimal(nl_physical_i128(type->physical, &space, 0), type->scale);
    int64_t value = nl_physical_i64(type->physical, &space, 0);
    if (type->id == NL_TYPE_BOOLEAN) return value ? 1231 : 1237;
    return hash_long(value);
}

static int compare_places(const void *a, const void *b)
{
    const nl_set_place *x = a;
    const nl_set_place *y = b;
    if (x->bucket != y->bucket) return x->bucket < y->bucket ? -1 : 1;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

nl_status nl_set_order(const nl_type *type, const char *rows, const size_t *offsets, uint32_t count, nl_memory *memory, nl_buffer **order)
{
    uint64_t bucket_count = 16;
    while (count >= bucket_count / 4 * 3) bucket_count *= 2;
    /* Twice: qsort may take as much again while it sorts. */
    NL_TRY(nl_buffer_new(memory, nl_size_mul(NL_MAX(count, 1u), 2 * sizeof(nl_set_place)), false, order));
    nl_set_place *places = (nl_set_place *)(void *)(*order)->data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hash = (uint32_t)hash_row(type, rows + offsets[i]);
        hash ^= hash >> 16;
        places[i] = (nl_set_place){.bucket = hash & (uint32_t)(bucket_count - 1), .hash = (int32_t)hash, .number = i};
    }
    if (count > 1) qsort(places, count, sizeof *places, compare_places);
    return NULL;
}

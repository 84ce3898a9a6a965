/* aggregate/hll.c - see hll.h. Numbers in the format are little-endian, as those of this machine. */
#include "function/aggregate/hll.h"

#include <math.h>

#include "function/aggregate/hll_tables.inc.h"

#define HASH_SEED      9001u
#define SLOT_BITS      26u
#define SLOT_MASK      ((1u << SLOT_BITS) - 1)
#define LIST_LG_SLOTS  3u
#define SET_LG_SLOTS   5u
#define TARGET_HLL_8   2u
#define HEAD_BYTES     40u /* of a sketch with registers */
#define FLAG_EMPTY     4u
#define FLAG_COMPACT   8u
#define FLAG_DISORDER  16u

static inline uint32_t *coupons_of(const nl_hll *s)
{
    return (uint32_t *)(void *)s->slots.data;
}

static inline uint8_t *registers_of(const nl_hll *s)
{
    return (uint8_t *)s->slots.data;
}

/* --- MurmurHash3_x64_128 (Austin Appleby, public domain) --- */

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

static void hash_bytes(nl_str bytes, uint64_t hash[2])
{
    const uint64_t c1 = 0x87c37b91114253d5ull;
    const uint64_t c2 = 0x4cf5ad432745937full;
    uint64_t h1 = HASH_SEED, h2 = HASH_SEED;
    const size_t whole = bytes.length / 16 * 16;
    for (size_t i = 0; i < bytes.length; i += 16) {
        uint64_t k1 = 0, k2 = 0;
        const size_t left = bytes.length - i;
        memcpy(&k1, bytes.data + i, NL_MIN(left, (size_t)8));
        if (left > 8) memcpy(&k2, bytes.data + i + 8, NL_MIN(left - 8, (size_t)8));
        k1 = rotate(k1 * c1, 31) * c2;
        k2 = rotate(k2 * c2, 33) * c1;
        h1 ^= k1;
        if (i >= whole) { /* the tail is not mixed further */
            h2 ^= k2;
            break;
        }
        h1 = (rotate(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= k2;
        h2 = (rotate(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    h1 ^= bytes.length;
    h2 ^= bytes.length;
    h1 += h2;
    h2 += h1;
    h1 = mix(h1);
    h2 = mix(h2);
    h1 += h2;
    hash[0] = h1;
    hash[1] = h2 + h1;
}

static uint32_t coupon_of(nl_str bytes)
{
    uint64_t hash[2];
    hash_bytes(bytes, hash);
    const uint32_t zeros = hash[1] ? (uint32_t)__builtin_clzll(hash[1]) : 64;
    return (NL_MIN(zeros, 62u) + 1) << SLOT_BITS | ((uint32_t)hash[0] & SLOT_MASK);
}

/* --- registers --- */

static double inverse_power(uint32_t value)
{
    return ldexp(1, -(int)value);
}

static void update_register(nl_hll *s, uint32_t slot, uint32_t value)
{
    uint8_t *at = &registers_of(s)[slot & ((1u << s->lg_k) - 1)];
    const uint32_t old = *at;
    if (value <= old) return;
    *at = (uint8_t)value;
    if (s->needs_rebuild) return;
    s->hip += (double)(1u << s->lg_k) / (s->kxq0 + s->kxq1);
    *(old < 32 ? &s->kxq0 : &s->kxq1) -= inverse_power(old);
    *(value < 32 ? &s->kxq0 : &s->kxq1) += inverse_power(value);
    if (old == 0 && s->at_floor) s->at_floor--;
}

static void rebuild(nl_hll *s)
{
    const uint32_t k = 1u << s->lg_k;
    const uint8_t *registers = registers_of(s);
    if (!s->needs_rebuild) return;
    s->needs_rebuild = false;
    s->floor = 64;
    s->at_floor = 0;
    s->kxq0 = k;
    s->kxq1 = 0;
    for (uint32_t i = 0; i < k; i++) {
        const uint8_t value = registers[i];
        if (value > 0) *(value < 32 ? &s->kxq0 : &s->kxq1) += inverse_power(value) - 1;
        if (value < s->floor) {
            s->floor = value;
            s->at_floor = 0;
        }
        s->at_floor += value == s->floor;
    }
}

static nl_status make_slots(nl_agg_bytes *slots, nl_memory *memory, size_t bytes)
{
    NL_TRY(nl_agg_bytes_reserve(slots, memory, bytes));
    memset(slots->data, 0, bytes);
    slots->length = bytes;
    return NULL;
}

static nl_status make_registers(nl_hll *s, nl_memory *memory, uint8_t lg_k)
{
    nl_agg_bytes slots = {0};
    NL_TRY(make_slots(&slots, memory, (size_t)1 << lg_k));
    nl_agg_bytes_free(&s->slots, memory);
    *s = (nl_hll){.lg_k = lg_k, .mode = NL_HLL_REGISTERS, .at_floor = 1u << lg_k, .kxq0 = 1u << lg_k, .slots = slots};
    return NULL;
}

/* --- coupons --- */

/* The slot that holds the coupon, or the free one where it goes. */
static uint32_t find_coupon(const uint32_t *slots, uint32_t lg_slots, uint32_t coupon)
{
    const uint32_t mask = (1u << lg_slots) - 1;
    const uint32_t stride = (coupon & SLOT_MASK) >> lg_slots | 1;
    uint32_t i = coupon & mask;
    while (slots[i] && slots[i] != coupon) i = (i + stride) & mask;
    return i;
}

static nl_status become_set(nl_hll *s, nl_memory *memory, uint32_t lg_slots)
{
    nl_agg_bytes larger = {0};
    const uint32_t *old = coupons_of(s);
    NL_TRY(make_slots(&larger, memory, sizeof(uint32_t) << lg_slots));
    uint32_t *slots = (uint32_t *)(void *)larger.data;
    for (uint32_t i = 0; i < 1u << s->lg_slots; i++)
        if (old[i]) slots[find_coupon(slots, lg_slots, old[i])] = old[i];
    nl_agg_bytes_free(&s->slots, memory);
    s->slots = larger;
    s->lg_slots = (uint8_t)lg_slots;
    s->mode = NL_HLL_SET;
    return NULL;
}

static nl_status become_registers(nl_hll *s, nl_memory *memory)
{
    const nl_hll old = *s;
    const double estimate = nl_hll_estimate(s);
    s->slots = (nl_agg_bytes){0};
    nl_status status = make_registers(s, memory, old.lg_k);
    if (status) {
        *s = old;
        return status;
    }
    const uint32_t *coupons = coupons_of(&old);
    for (uint32_t i = 0; i < 1u << old.lg_slots; i++)
        if (coupons[i]) update_register(s, coupons[i] & SLOT_MASK, coupons[i] >> SLOT_BITS);
    s->hip = estimate;
    nl_agg_bytes slots = old.slots;
    nl_agg_bytes_free(&slots, memory);
    return NULL;
}

static nl_status add_to_list(nl_hll *s, nl_memory *memory, uint32_t coupon)
{
    uint32_t *slots = coupons_of(s);
    const uint32_t size = 1u << s->lg_slots;
    uint32_t i = 0;
    while (i < size && slots[i] && slots[i] != coupon) i++;
    if (i < size && slots[i] == coupon) return NULL;
    slots[i] = coupon;
    if (++s->count < size) return NULL;
    return s->lg_k < 8 ? become_registers(s, memory) : become_set(s, memory, SET_LG_SLOTS);
}

static nl_status add_coupon(nl_hll *s, nl_memory *memory, uint32_t coupon)
{
    if (s->mode == NL_HLL_REGISTERS) {
        update_register(s, coupon & SLOT_MASK, coupon >> SLOT_BITS);
        return NULL;
    }
    if (s->mode == NL_HLL_LIST) return add_to_list(s, memory, coupon);
    uint32_t *slots = coupons_of(s);
    const uint32_t i = find_coupon(slots, s->lg_slots, coupon);
    if (slots[i] == coupon) return NULL;
    slots[i] = coupon;
    s->count++;
    if (4ull * s->count <= 3ull << s->lg_slots) return NULL;
    return s->lg_slots + 3u == s->lg_k ? become_registers(s, memory) : become_set(s, memory, s->lg_slots + 1u);
}

nl_status nl_hll_begin(nl_hll *sketch, uint8_t lg_k, nl_memory *memory)
{
    NL_ASSERT(lg_k >= NL_HLL_LG_K_MIN && lg_k <= NL_HLL_LG_K_MAX);
    *sketch = (nl_hll){.lg_k = lg_k, .mode = NL_HLL_LIST, .lg_slots = LIST_LG_SLOTS};
    return make_slots(&sketch->slots, memory, sizeof(uint32_t) << LIST_LG_SLOTS);
}

void nl_hll_free(nl_hll *sketch, nl_memory *memory)
{
    nl_agg_bytes_free(&sketch->slots, memory);
    *sketch = (nl_hll){0};
}

nl_status nl_hll_add_bytes(nl_hll *sketch, nl_memory *memory, nl_str bytes)
{
    return bytes.length ? add_coupon(sketch, memory, coupon_of(bytes)) : NULL;
}

nl_status nl_hll_add_long(nl_hll *sketch, nl_memory *memory, int64_t value)
{
    return add_coupon(sketch, memory, coupon_of((nl_str){(const char *)&value, sizeof value}));
}

/* --- merging: as the library's Union does, so that estimates agree --- */

static nl_status copy(nl_hll *into, nl_memory *memory, const nl_hll *source)
{
    nl_agg_bytes slots = {0};
    NL_TRY(nl_agg_bytes_append(&slots, memory, source->slots.data, source->slots.length));
    nl_agg_bytes_free(&into->slots, memory);
    *into = *source;
    into->slots = slots;
    return NULL;
}

static nl_status add_coupons(nl_hll *into, nl_memory *memory, const nl_hll *source)
{
    for (uint32_t i = 0; i < 1u << source->lg_slots; i++)
        if (coupons_of(source)[i]) NL_TRY(add_coupon(into, memory, coupons_of(source)[i]));
    return NULL;
}

/* into = source with fewer registers; the HIP count stays what it is. */
static nl_status downsample(nl_hll *into, nl_memory *memory, const nl_hll *source, uint8_t lg_k)
{
    nl_hll made = {0};
    NL_TRY(make_registers(&made, memory, lg_k));
    const uint8_t *registers = registers_of(source);
    for (uint32_t i = 0; i < 1u << source->lg_k; i++)
        if (registers[i]) update_register(&made, i, registers[i]);
    made.hip = source->hip;
    made.is_out_of_order = source->is_out_of_order;
    nl_agg_bytes_free(&into->slots, memory);
    *into = made;
    return NULL;
}

static void merge_registers(nl_hll *into, const nl_hll *source)
{
    const uint8_t *from = registers_of(source);
    uint8_t *to = registers_of(into);
    const uint32_t mask = (1u << into->lg_k) - 1;
    for (uint32_t i = 0; i < 1u << source->lg_k; i++)
        if (from[i] > to[i & mask]) to[i & mask] = from[i];
    into->is_out_of_order = into->needs_rebuild = true;
    into->hip = 0;
}

static nl_status merge_into_registers(nl_hll *into, nl_memory *memory, const nl_hll *source)
{
    if (source->lg_k < into->lg_k) {
        nl_hll larger = *into;
        into->slots = (nl_agg_bytes){0};
        nl_status status = downsample(into, memory, &larger, source->lg_k);
        if (status) {
            *into = larger;
            return status;
        }
        nl_agg_bytes_free(&larger.slots, memory);
    }
    merge_registers(into, source);
    return NULL;
}

nl_status nl_hll_merge(nl_hll *into, nl_memory *memory, nl_hll *source)
{
    if (source->mode != NL_HLL_REGISTERS) {
        if (source->count == 0) return NULL;
        if (source->mode == NL_HLL_SET && into->mode == NL_HLL_LIST && into->count == 0 && into->lg_k == source->lg_k)
            return copy(into, memory, source);
        return add_coupons(into, memory, source);
    }
    rebuild(source);
    if (into->mode == NL_HLL_REGISTERS) return merge_into_registers(into, memory, source);
    const nl_hll coupons = *into;
    nl_hll made = {0};
    nl_status status = source->lg_k > into->lg_k ? downsample(&made, memory, source, into->lg_k) : copy(&made, memory, source);
    if (!status) status = add_coupons(&made, memory, &coupons);
    if (status) {
        nl_hll_free(&made, memory);
        return status;
    }
    nl_hll_free(into, memory);
    *into = made;
    return NULL;
}

/* --- estimates --- */

static double cubic(const double *x, const double *y, double at)
{
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double numerator = 1, denominator = 1;
        for (int j = 0; j < 4; j++) {
            if (j == i) continue;
            numerator *= at - x[j];
            denominator *= x[i] - x[j];
        }
        sum += y[i] * numerator / denominator;
    }
    return sum;
}

/* The place i with x[i] <= at < x[i + 1]. */
static uint32_t straddle(const double *x, uint32_t count, double at)
{
    uint32_t low = 0, high = count - 1;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        *(x[middle] <= at ? &low : &high) = middle;
    }
    return low;
}

/* y: NULL when the y are equal steps. */
static double interpolate(const double *x, const double *y, double step, uint32_t count, double at)
{
    const double last = y ? y[count - 1] : step * (count - 1);
    if (at >= x[count - 1]) return last;
    const uint32_t place = straddle(x, count, at);
    const uint32_t first = place == 0 ? 0 : place == count - 2 ? place - 2 : place - 1;
    double ys[4];
    for (uint32_t i = 0; i < 4; i++) ys[i] = y ? y[first + i] : step * (first + i);
    return cubic(x + first, ys, at);
}

static double harmonic(uint64_t n)
{
    if (n < 25) {
        double sum = 0;
        for (uint64_t i = 1; i <= n; i++) sum += 1.0 / (double)i;
        return sum;
    }
    const double x = (double)n, inverse = 1 / (x * x);
    double power = inverse;
    double sum = log(x) + 0.577215664901532860606512090082402431 + 1 / (2 * x);
    sum -= power / 12;
    power *= inverse;
    sum += power / 120;
    power *= inverse;
    sum -= power / 252;
    power *= inverse;
    return sum + power / 240;
}

static double linear_estimate(const nl_hll *s)
{
    const uint32_t k = 1u << s->lg_k;
    const uint32_t unhit = s->floor == 0 ? s->at_floor : 0;
    if (unhit == 0) return k * log(k / 0.5);
    return k * (harmonic(k) - harmonic(unhit));
}

static double composite_estimate(const nl_hll *s)
{
    static const double corrections[] = {0.673, 0.697, 0.709};
    const uint32_t place = s->lg_k - NL_HLL_LG_K_MIN;
    const double k = 1u << s->lg_k;
    const double *x = composite_x[place];
    const double step = composite_steps[place];
    const double raw = (place < 3 ? corrections[place] : 0.7213 / (1 + 1.079 / k)) * k * k / (s->kxq0 + s->kxq1);
    if (raw < x[0]) return 0;
    if (raw > x[256]) return raw * (step * 256 / x[256]);
    const double adjusted = interpolate(x, NULL, step, 257, raw);
    if (adjusted > 3 * k) return adjusted;
    const double linear = linear_estimate(s);
    const double crossing = s->lg_k == 4 ? 0.718 : s->lg_k == 5 ? 0.672 : 0.64;
    return (adjusted + linear) / 2 > crossing * k ? adjusted : linear;
}

double nl_hll_estimate(nl_hll *sketch)
{
    if (sketch->mode != NL_HLL_REGISTERS) {
        const double found = interpolate(coupon_x, coupon_y, 0, NL_COUNT(coupon_x), sketch->count);
        return NL_MAX(found, (double)sketch->count);
    }
    rebuild(sketch);
    return sketch->is_out_of_order ? composite_estimate(sketch) : sketch->hip;
}

/* --- bytes --- */

nl_status nl_hll_write(nl_hll *sketch, nl_memory *memory, nl_agg_bytes *out)
{
    static const uint8_t head_ints[] = {2, 3, 10};
    uint8_t head[HEAD_BYTES] = {0};
    const nl_hll_mode mode = (nl_hll_mode)sketch->mode;
    if (mode == NL_HLL_REGISTERS) rebuild(sketch);
    head[0] = head_ints[mode];
    head[1] = 1;
    head[2] = 7; /* the family HLL */
    head[3] = sketch->lg_k;
    head[4] = sketch->lg_slots;
    head[5] = (uint8_t)((mode == NL_HLL_LIST && sketch->count == 0 ? FLAG_EMPTY : 0) | (sketch->is_out_of_order ? FLAG_DISORDER : 0));
    head[6] = mode == NL_HLL_LIST ? (uint8_t)sketch->count : mode == NL_HLL_REGISTERS ? sketch->floor : 0;
    head[7] = (uint8_t)(mode | TARGET_HLL_8 << 2);
    if (mode == NL_HLL_SET) memcpy(head + 8, &sketch->count, 4);
    if (mode == NL_HLL_REGISTERS) {
        memcpy(head + 8, &sketch->hip, 8);
        memcpy(head + 16, &sketch->kxq0, 8);
        memcpy(head + 24, &sketch->kxq1, 8);
        memcpy(head + 32, &sketch->at_floor, 4);
    }
    NL_TRY(nl_agg_bytes_append(out, memory, head, head_ints[mode] * 4u));
    return nl_agg_bytes_append(out, memory, sketch->slots.data, sketch->slots.length);
}

static nl_status read_coupons(nl_hll *s, nl_memory *memory, nl_str bytes, bool *is_sketch)
{
    const uint8_t *head = (const uint8_t *)bytes.data;
    const bool is_set = s->mode == NL_HLL_SET;
    const bool is_compact = head[5] & FLAG_COMPACT;
    const size_t start = is_set ? 12 : 8;
    uint32_t count = head[6];
    if (is_set) memcpy(&count, head + 8, 4);
    uint32_t slot_count = is_compact ? count : 1u << s->lg_slots;
    if (head[5] & FLAG_EMPTY) slot_count = 0;
    *is_sketch = start <= bytes.length && slot_count <= (bytes.length - start) / 4 && count <= 1u << s->lg_slots;
    if (!*is_sketch) return NULL;
    const uint8_t mode = s->mode, lg_slots = s->lg_slots;
    NL_TRY(nl_hll_begin(s, s->lg_k, memory));
    if (mode == NL_HLL_SET) NL_TRY(become_set(s, memory, lg_slots));
    if (mode == NL_HLL_SET && !is_compact) { /* each coupon keeps its place */
        memcpy(s->slots.data, bytes.data + start, (size_t)slot_count * 4);
        for (uint32_t i = 0; i < slot_count; i++) s->count += coupons_of(s)[i] != 0;
        *is_sketch = 4ull * s->count <= 3ull * slot_count; /* a full table would be searched without end */
        return NULL;
    }
    for (uint32_t i = 0; i < slot_count; i++) {
        uint32_t coupon;
        memcpy(&coupon, bytes.data + start + 4 * i, 4);
        if (coupon) NL_TRY(add_coupon(s, memory, coupon));
    }
    return NULL;
}

static nl_status read_registers(nl_hll *s, nl_memory *memory, nl_str bytes, bool *is_sketch)
{
    const uint8_t *head = (const uint8_t *)bytes.data;
    const size_t size = (size_t)1 << s->lg_k;
    *is_sketch = bytes.length >= HEAD_BYTES + size;
    if (!*is_sketch) return NULL;
    NL_TRY(make_registers(s, memory, s->lg_k));
    memcpy(&s->hip, head + 8, 8);
    memcpy(&s->kxq0, head + 16, 8);
    memcpy(&s->kxq1, head + 24, 8);
    memcpy(&s->at_floor, head + 32, 4);
    s->floor = head[6];
    s->is_out_of_order = head[5] & FLAG_DISORDER;
    for (size_t i = 0; i < size; i++) registers_of(s)[i] = NL_MIN((uint8_t)(head[HEAD_BYTES + i] & 63), (uint8_t)63);
    return NULL;
}

nl_status nl_hll_read(nl_hll *sketch, nl_memory *memory, nl_str bytes, bool *is_sketch)
{
    const uint8_t *head = (const uint8_t *)bytes.data;
    *is_sketch = false;
    if (bytes.length < 8 || head[1] != 1 || head[2] != 7) return NULL;
    const uint8_t mode = head[7] & 3, target = head[7] >> 2 & 3;
    const uint8_t ints = mode == NL_HLL_LIST ? 2 : mode == NL_HLL_SET ? 3 : 10;
    if (mode > NL_HLL_REGISTERS || target > TARGET_HLL_8 || head[0] != ints || head[3] < NL_HLL_LG_K_MIN || head[3] > NL_HLL_LG_K_MAX) return NULL;
    if (mode == NL_HLL_REGISTERS && target != TARGET_HLL_8)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "An HLL sketch with registers of 4 or 6 bits, which Spark does not make, is not supported.");
    *sketch = (nl_hll){.lg_k = head[3], .mode = mode, .lg_slots = head[4]};
    if (mode == NL_HLL_REGISTERS) return read_registers(sketch, memory, bytes, is_sketch);
    if (mode == NL_HLL_LIST) sketch->lg_slots = LIST_LG_SLOTS;
    if (mode == NL_HLL_SET && (head[4] < SET_LG_SLOTS || head[4] > NL_HLL_LG_K_MAX)) return NULL;
    return read_coupons(sketch, memory, bytes, is_sketch);
}

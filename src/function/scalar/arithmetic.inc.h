/* scalar/arithmetic.inc.h - integer + - * for one type: included once per type with
 *   T, WIDE (a type that holds products, or T itself for the widest), and N(name) pasting the suffix.
 * Each element function returns a negative number exactly when the result left T's range; the loops run over every
 * row and report whether any did, so that the caller looks for the row only then.
 */

/* Written with wrapping arithmetic because gcc 12 vectorises this form and not __builtin_add_overflow. */
static inline T N(add)(T a, T b, T *out)
{
    *out = (T)((UT)a + (UT)b);
    return (T)((a ^ *out) & (b ^ *out));
}

static inline T N(subtract)(T a, T b, T *out)
{
    *out = (T)((UT)a - (UT)b);
    return (T)((a ^ b) & (a ^ *out));
}

static inline T N(multiply)(T a, T b, T *out)
{
#ifdef WIDE
    WIDE product = (WIDE)a * (WIDE)b;
    *out = (T)product;
    return (T) - (product != (WIDE)*out);
#else
    return (T) - (T)__builtin_mul_overflow(a, b, out);
#endif
}

#define INTEGER_ROWS(op)                                                                                             \
    static bool N(op##_rows)(const void *a_values, bool a_constant, const void *b_values, bool b_constant,           \
                             void *out_values, uint32_t row_count)                                                   \
    {                                                                                                                \
        const T *restrict a = a_values;                                                                              \
        const T *restrict b = b_values;                                                                              \
        T *restrict out = out_values;                                                                                \
        T overflow = 0;                                                                                              \
        if (a_constant) {                                                                                            \
            for (uint32_t row = 0; row < row_count; row++) overflow = (T)(overflow | N(op)(a[0], b[row], &out[row])); \
        } else if (b_constant) {                                                                                     \
            for (uint32_t row = 0; row < row_count; row++) overflow = (T)(overflow | N(op)(a[row], b[0], &out[row])); \
        } else {                                                                                                     \
            for (uint32_t row = 0; row < row_count; row++) overflow = (T)(overflow | N(op)(a[row], b[row], &out[row])); \
        }                                                                                                            \
        return overflow < 0;                                                                                         \
    }
INTEGER_ROWS(add)
INTEGER_ROWS(subtract)
INTEGER_ROWS(multiply)
#undef INTEGER_ROWS

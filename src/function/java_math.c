/* function/java_math.c - see java_math.h.
 *
 * exp: x = k ln2 + r with |r| <= ln2/2, exp(r) by a rational form over an odd polynomial. log: x = 2^k (1 + f) with
 * 1 + f between sqrt(1/2) and sqrt(2), log(1 + f) by a series in s = f / (2 + f). ln2 is split in two parts so that
 * k times the high one is exact.
 */
#include "function/java_math.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const double ln2_high = 6.93147180369123816490e-01;
static const double ln2_low = 1.90821492927058770002e-10;

double nl_java_exp(double x)
{
    if (isnan(x)) return x;
    if (x > 7.09782712893383973096e+02) return INFINITY;
    if (x < -7.45133219101941108420e+02) return 0.0;
    double high = 0;
    double low = 0;
    int k = 0;
    double size = fabs(x);
    if (size > 0.5 * 6.93147180559945286e-01) {
        if (size < 1.5 * 6.93147180559945286e-01)
            k = x < 0 ? -1 : 1;
        else
            k = (int)(1.44269504088896338700e+00 * x + (x < 0 ? -0.5 : 0.5));
        high = x - k * ln2_high;
        low = k * ln2_low;
        x = high - low;
    } else if (size < 0x1p-28) {
        return 1.0 + x;
    }
    double t = x * x;
    double c = x - t * (1.66666666666666019037e-01 +
                        t * (-2.77777777770155933842e-03 +
                             t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
    if (k == 0) return 1.0 - ((x * c) / (c - 2.0) - x);
    double y = 1.0 - ((low - (x * c) / (2.0 - c)) - high);
    return ldexp(y, k);
}

double nl_java_log(double x)
{
    if (isnan(x) || isinf(x)) return x;
    int k = 0;
    if (x < 0x1p-1022) { /* subnormal */
        k = -54;
        x *= 0x1p54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t top = (int32_t)(bits >> 32);
    k += (top >> 20) - 1023;
    top &= 0x000FFFFF;
    int32_t above = (top + 0x95F64) & 0x100000; /* the mantissa lies above sqrt(2): halve it */
    bits = (bits & 0xFFFFFFFFull) | (uint64_t)(uint32_t)(top | (above ^ 0x3FF00000)) << 32;
    memcpy(&x, &bits, sizeof x);
    k += above >> 20;
    double f = x - 1.0;
    double dk = k;
    if ((0x000FFFFF & (2 + top)) < 3) { /* |f| < 2^-20 */
        if (f == 0) return k == 0 ? 0.0 : dk * ln2_high + dk * ln2_low;
        double rest = f * f * (0.5 - 0.33333333333333333 * f);
        return k == 0 ? f - rest : dk * ln2_high - ((rest - dk * ln2_low) - f);
    }
    double s = f / (2.0 + f);
    double z = s * s;
    double w = z * z;
    double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 +
                      w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double rest = odd + even;
    if (((top - 0x6147A) | (0x6B851 - top)) > 0) {
        double half = 0.5 * f * f;
        if (k == 0) return f - (half - s * (half + rest));
        return dk * ln2_high - ((half - (s * (half + rest) + dk * ln2_low)) - f);
    }
    if (k == 0) return f - s * (f - rest);
    return dk * ln2_high - ((s * (f - rest) - dk * ln2_low) - f);
}

double nl_java_log10(double x)
{
    if (isnan(x) || isinf(x)) return x;
    int k = 0;
    if (x < 0x1p-1022) {
        k = -54;
        x *= 0x1p54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t top = (int32_t)(bits >> 32);
    k += (top >> 20) - 1023;
    int32_t i = k < 0;
    top = (top & 0x000FFFFF) | ((0x3FF - i) << 20);
    bits = (bits & 0xFFFFFFFFull) | (uint64_t)(uint32_t)top << 32;
    memcpy(&x, &bits, sizeof x);
    double y = k + i;
    double z = y * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * nl_java_log(x);
    return z + y * 3.01029995663611771306e-01;
}

/* A first guess from the exponent, a rational step to 23 bits, cut to 20 bits, and one step of Newton's. */
double nl_java_cbrt(double x)
{
    if (x == 0 || !isfinite(x)) return x;
    double size = fabs(x);
    uint64_t bits;
    double t;
    if (size < 0x1p-1022) {
        t = size * 0x1p54;
        memcpy(&bits, &t, sizeof bits);
        bits = (uint64_t)((uint32_t)(bits >> 32) / 3 + 696219795u) << 32;
    } else {
        memcpy(&bits, &size, sizeof bits);
        bits = (uint64_t)((uint32_t)(bits >> 32) / 3 + 715094163u) << 32;
    }
    memcpy(&t, &bits, sizeof t);
    double r = t * t / size;
    double s = 5.42857142857142815906e-01 + r * t;
    t *= 3.57142857142857150787e-01 + 1.60714285714285720630e+00 / (s + 1.41428571428571436819e+00 + -7.05306122448979611050e-01 / s);
    memcpy(&bits, &t, sizeof bits);
    bits = ((bits >> 32) + 1) << 32;
    memcpy(&t, &bits, sizeof t);
    s = t * t;
    r = size / s;
    r = (r - t) / (t + t + r);
    t = t + t * r;
    return x < 0 ? -t : t;
}

double nl_java_cosh(double x)
{
    const double half_ln2 = 0.34657359027997264;
    x = fabs(x);
    if (x < half_ln2) {
        double t = expm1(x);
        double w = 1 + t;
        return w == 1 ? w : 1 + (t * t) / (w + w);
    }
    if (x >= 22) return x <= 709 ? 0.5 * nl_java_exp(x) : cosh(x);
    double t = nl_java_exp(x);
    return 0.5 * t + 0.5 / t;
}

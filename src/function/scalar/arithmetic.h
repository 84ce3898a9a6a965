/* scalar/arithmetic.h - what the files of arithmetic share. Private to function/scalar. */
#pragma once

#include "function/kernel.h"

typedef enum nl_arith_op { NL_ARITH_ADD, NL_ARITH_SUBTRACT, NL_ARITH_MULTIPLY, NL_ARITH_DIVIDE, NL_ARITH_MOD, NL_ARITH_PMOD, NL_ARITH_DIV } nl_arith_op;
typedef enum nl_arith_mode { NL_ARITH_RAISE, NL_ARITH_NULL, NL_ARITH_WRAP /* legacy: integers wrap, the rest is null */ } nl_arith_mode;

/* State of every bound arithmetic function. */
typedef struct nl_arith {
    nl_arith_op op;
    nl_arith_mode mode;
    const nl_type *a;      /* operand types after casts */
    const nl_type *b;
    bool is_exact;         /* decimals: the result type is not cut, so plain 128-bit arithmetic holds it */
    bool is_ieee;          /* reals divide by zero, to infinity or NaN */
    bool is_swapped;       /* interval * number, date + int: the operands came the other way round      */
} nl_arith;

NL_MUST_USE nl_status nl_arith_divide_by_zero(void);
NL_MUST_USE nl_status nl_arith_overflow(const nl_arith *arith, nl_int128 a, nl_int128 b);

nl_scalar_kernel nl_integer_kernel(const nl_arith *arith); /* for arith->a == arith->b, integral */
nl_scalar_kernel nl_real_kernel(const nl_arith *arith);
nl_scalar_kernel nl_decimal_kernel(const nl_arith *arith);
/* Dates, timestamps and intervals. *is_handled false: the operands are none of them. */
NL_MUST_USE nl_status nl_bind_time_arithmetic(nl_bind *bind, nl_bound_function *bound, nl_arith *arith, bool *is_handled);
/* What text an operation makes exact results of, for NUMERIC_VALUE_OUT_OF_RANGE. */
NL_MUST_USE nl_status nl_arith_decimal_overflow(const nl_arith *arith, const nl_type *result, nl_int128 a, nl_int128 b);

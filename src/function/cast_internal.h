/* function/cast_internal.h - what the parts of CAST share. Private to function/cast*.c. */
#pragma once

#include "base/number.h"
#include "function/cast.h"
#include "function/kernel.h"

/* One cast of one vector. The element functions write output.values[row] or call nl_cast_bad. */
typedef struct nl_cast {
    nl_eval *eval;
    nl_cast_mode mode;
    const nl_type *from;
    const nl_type *to;
    const nl_vector *source;
    nl_reader in;
    nl_selection selection; /* non-null rows */
    uint32_t length;
    nl_output out;
} nl_cast;

typedef nl_status (*nl_cast_loop)(nl_cast *cast);

static inline bool nl_cast_raises(const nl_cast *cast)
{
    return cast->mode == NL_CAST_ANSI || cast->mode == NL_CAST_STORE;
}
/* The value is malformed or out of range for the target: an error in ANSI and STORE, else null. */
NL_MUST_USE nl_status nl_cast_malformed(nl_cast *cast, uint32_t row);
NL_MUST_USE nl_status nl_cast_overflow(nl_cast *cast, uint32_t row);
/* value_text: the number that does not fit the target decimal type. */
NL_MUST_USE nl_status nl_cast_decimal_overflow(nl_cast *cast, uint32_t row, nl_str value_text);
/* "300", "40000L", "1.0E20D", "300.5BD", "'abc'", "TIMESTAMP '…'": a value as an SQL literal, as errors show it. */
void nl_append_sql_value(const nl_vector *vector, uint32_t row, const nl_timezone *zone, nl_builder *out);
/* "1.0E20" without exponent, as Java's BigDecimal.toPlainString of it. */
void nl_append_plain_double(double value, nl_builder *out);

nl_cast_loop nl_cast_number_loop(const nl_type *from, const nl_type *to); /* numbers and booleans among each other  */
nl_cast_loop nl_cast_time_loop(const nl_type *from, const nl_type *to);   /* dates, timestamps, intervals, numbers  */
nl_cast_loop nl_cast_text_loop(const nl_type *from, const nl_type *to);   /* from and to strings and binary         */
NL_MUST_USE nl_status nl_cast_nested(nl_cast *cast, nl_vector *out);      /* arrays, maps, structs                  */
NL_MUST_USE nl_status nl_cast_variant(nl_cast *cast, nl_vector *out);     /* from and to VARIANT                  */

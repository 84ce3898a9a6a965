/* function/cast.h - CAST, TRY_CAST and store-assignment casts on vectors. */
#pragma once

#include "function/function.h"

typedef enum nl_cast_mode {
    NL_CAST_ANSI,   /* bad values raise CAST_INVALID_INPUT, CAST_OVERFLOW … */
    NL_CAST_LEGACY, /* spark.sql.ansi.enabled=false: null or wrap-around     */
    NL_CAST_TRY,    /* TRY_CAST: null                                        */
    NL_CAST_STORE   /* INSERT: ANSI, overflow raises CAST_OVERFLOW_IN_TABLE_INSERT */
} nl_cast_mode;

/* Casts the selected rows of any encoding (dictionaries are cast once per value). Types must satisfy nl_can_cast. */
NL_MUST_USE nl_status nl_cast_vector(nl_eval *eval, nl_cast_mode mode, const nl_vector *source, const nl_type *target,
                                     nl_selection selection, nl_vector *out);
NL_MUST_USE nl_status nl_cast_value(nl_arena *arena, const nl_eval_confs *confs, nl_cast_mode mode, const nl_value *source,
                                    const nl_type *target, nl_value *out);

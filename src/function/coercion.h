/* function/coercion.h - Spark's type rules: common types, implicit casts, decimal results, store assignment. Pure. */
#pragma once

#include "function/function.h"

/* Whose rules: in Trino's texts are never read as something else, integers have ten digits (bigints nineteen) beside decimals, and
 * REAL stays REAL beside exact numbers. */
typedef enum nl_type_rules { NL_RULES_LEGACY, NL_RULES_ANSI, NL_RULES_TRINO } nl_type_rules;
static inline nl_type_rules nl_confs_rules(const nl_eval_confs *confs)
{
    return confs->is_trino ? NL_RULES_TRINO : confs->is_ansi ? NL_RULES_ANSI : NL_RULES_LEGACY;
}

/* The least common type of CASE branches, set operations, array elements, IN …: NULL when there is none. Spark's
 * legacy rules let strings win. */
const nl_type *nl_common_type(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules);
/* May `from` be cast to `to` without being asked (function arguments)? */
bool nl_can_cast_implicitly(const nl_type *from, const nl_type *to, nl_type_rules rules);
/* May CAST(from AS to) be written? The table is that of the Cast expression in Spark 4.0 */
bool nl_can_cast(const nl_type *from, const nl_type *to, bool is_ansi);
/* May a column of type `from` be stored into `to` under spark.sql.storeAssignmentPolicy=ANSI? */
bool nl_can_store(const nl_type *from, const nl_type *to);
/* Does the cast lose nothing and never fail (int to bigint)? Used by the optimizer to push through casts. */
bool nl_is_upcast(const nl_type *from, const nl_type *to);
/* Can CAST(from AS to) yield null or raise for a non-null value? */
bool nl_cast_can_fail(const nl_type *from, const nl_type *to, bool is_ansi);

/* Decimal arithmetic result types with allowPrecisionLoss (Spark's DecimalType.adjustPrecisionScale). */
const nl_type *nl_decimal_adjust(int precision, int scale);
const nl_type *nl_decimal_of_integer(const nl_type *integral); /* TINYINT (3,0) SMALLINT (5,0) INT (10,0) BIGINT (20,0) */
const nl_type *nl_decimal_of_integer_in_trino(const nl_type *integral); /* the same, BIGINT (19,0) */
/* Is it a MAP, or does one stand inside? */
bool nl_type_has_map(const nl_type *type);

/* function/coercion.c - Spark 4.0's type rules (observed on the real system; see also its SQL reference, "ANSI
 * Compliance"). All pure: types in, a type or a yes out.
 */
#include "function/coercion.h"
#include "function/variant_value.h"

static bool is_fractional(const nl_type *type)
{
    return type->id == NL_TYPE_FLOAT || type->id == NL_TYPE_DOUBLE || type->id == NL_TYPE_DECIMAL;
}

static bool is_datetime(const nl_type *type)
{
    return type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

static bool is_ansi_interval(const nl_type *type)
{
    return type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
}

static bool is_atomic(const nl_type *type)
{
    return !nl_type_is_nested(type) && type->id != NL_TYPE_NULL && type->id != NL_TYPE_INTERVAL && type->id != NL_TYPE_VARIANT;
}

/* DecimalType.adjustPrecisionScale: digits over 38 cost scale, but at least 6 fractional digits stay. */
const nl_type *nl_decimal_adjust(int precision, int scale)
{
    if (precision <= 38) return nl_type_decimal(precision, scale);
    int integral_digits = precision - scale;
    int scale_min = NL_MIN(scale, 6);
    int adjusted = NL_MAX(38 - integral_digits, scale_min);
    return nl_type_decimal(38, adjusted);
}

const nl_type *nl_decimal_of_integer(const nl_type *integral)
{
    if (integral->id == NL_TYPE_TINYINT) return nl_type_decimal(3, 0);
    if (integral->id == NL_TYPE_SMALLINT) return nl_type_decimal(5, 0);
    if (integral->id == NL_TYPE_INT) return nl_type_decimal(10, 0);
    return nl_type_decimal(20, 0);
}

/* DecimalPrecision.widerDecimalType, bounded with the integral digits kept first (Spark 4's default). */
static const nl_type *wider_decimal(const nl_type *a, const nl_type *b)
{
    int scale = NL_MAX(a->scale, b->scale);
    int integral = NL_MAX(a->precision - a->scale, b->precision - b->scale);
    int precision = integral + scale;
    if (precision <= 38) return nl_type_decimal(precision, scale);
    return nl_type_decimal(38, NL_MAX(0, 38 - integral));
}

const nl_type *nl_decimal_of_integer_in_trino(const nl_type *integral)
{
    return integral->id == NL_TYPE_BIGINT ? nl_type_decimal(19, 0) : nl_decimal_of_integer(integral);
}

/* The scale is kept, the digits before it are cut at 38 in all. */
static const nl_type *wider_decimal_in_trino(const nl_type *a, const nl_type *b)
{
    const int scale = NL_MAX(a->scale, b->scale), integral = NL_MAX(a->precision - a->scale, b->precision - b->scale);
    return nl_type_decimal(NL_MIN(38, integral + scale), scale);
}

static const nl_type *common_numeric(const nl_type *a, const nl_type *b, nl_type_rules rules)
{
    if (a->id == NL_TYPE_DECIMAL || b->id == NL_TYPE_DECIMAL) {
        const nl_type *other = a->id == NL_TYPE_DECIMAL ? b : a;
        const nl_type *decimal = a->id == NL_TYPE_DECIMAL ? a : b;
        if (other->id == NL_TYPE_FLOAT && rules == NL_RULES_TRINO) return other;
        if (other->id == NL_TYPE_FLOAT || other->id == NL_TYPE_DOUBLE) return nl_type_double();
        if (other->id != NL_TYPE_DECIMAL) other = rules == NL_RULES_TRINO ? nl_decimal_of_integer_in_trino(other) : nl_decimal_of_integer(other);
        return rules == NL_RULES_TRINO ? wider_decimal_in_trino(decimal, other) : wider_decimal(decimal, other);
    }
    const nl_type *wide = a->id > b->id ? a : b;
    const nl_type *narrow = a->id > b->id ? b : a;
    if (rules == NL_RULES_ANSI && wide->id == NL_TYPE_FLOAT && narrow->id != NL_TYPE_FLOAT) return nl_type_double();
    return wide;
}

static const nl_type *common_string(nl_arena *arena, const nl_type *string, const nl_type *other, nl_type_rules rules)
{
    (void)arena;
    if (other->id == NL_TYPE_STRING) {
        if (nl_type_equal(string, other)) return string;
        if (string->string_kind != NL_STRING_PLAIN || other->string_kind != NL_STRING_PLAIN) return nl_type_string();
        return string->collation.length == 0 ? other : other->collation.length == 0 ? string : NULL;
    }
    if (rules == NL_RULES_TRINO) return NULL;
    if (rules == NL_RULES_LEGACY) return is_atomic(other) && other->id != NL_TYPE_BINARY && other->id != NL_TYPE_BOOLEAN ? nl_type_string() : NULL;
    if (nl_type_is_integral(other)) return nl_type_bigint();
    if (is_fractional(other)) return nl_type_double();
    if (is_ansi_interval(other)) return NULL;
    return is_atomic(other) ? other : NULL;
}

static const nl_type *common_struct(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules)
{
    if (a->child_count != b->child_count) return NULL;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, NL_MAX(a->child_count, 1u));
    for (uint32_t i = 0; i < a->child_count; i++) {
        if (!nl_str_equal_nocase(a->children[i].name, b->children[i].name)) return NULL;
        fields[i] = a->children[i];
        fields[i].type = nl_common_type(arena, a->children[i].type, b->children[i].type, rules);
        fields[i].is_nullable |= b->children[i].is_nullable;
        if (fields[i].type == NULL) return NULL;
    }
    return nl_type_struct(arena, fields, a->child_count);
}

static const nl_type *common_datetime(const nl_type *a, const nl_type *b)
{
    if (a->id == NL_TYPE_DATE) return b;
    if (b->id == NL_TYPE_DATE) return a;
    return nl_type_of(NL_TYPE_TIMESTAMP);
}

/* Of two timestamps the one that shows more digits behind the second; precision 0 shows all six. */
static const nl_type *finer_time(const nl_type *a, const nl_type *b)
{
    return is_datetime(a) && (b->precision == 0 || (a->precision != 0 && b->precision > a->precision)) ? b : a;
}

const nl_type *nl_common_type(nl_arena *arena, const nl_type *a, const nl_type *b, nl_type_rules rules)
{
    if (nl_type_equal_with_nullability(a, b)) return rules == NL_RULES_TRINO ? finer_time(a, b) : a;
    if (a->id == NL_TYPE_NULL) return b;
    if (b->id == NL_TYPE_NULL) return a;
    if (nl_type_is_numeric(a) && nl_type_is_numeric(b)) return common_numeric(a, b, rules);
    if (a->id == NL_TYPE_STRING) return common_string(arena, a, b, rules);
    if (b->id == NL_TYPE_STRING) return common_string(arena, b, a, rules);
    if (is_datetime(a) && is_datetime(b)) return common_datetime(a, b);
    if (a->id != b->id) return NULL;
    if (a->id == NL_TYPE_INTERVAL_YM)
        return nl_type_interval_ym(NL_MIN(a->start_field, b->start_field), NL_MAX(a->end_field, b->end_field));
    if (a->id == NL_TYPE_INTERVAL_DT)
        return nl_type_interval_dt(NL_MIN(a->start_field, b->start_field), NL_MAX(a->end_field, b->end_field));
    if (a->id == NL_TYPE_ARRAY) {
        const nl_type *element = nl_common_type(arena, a->children[0].type, b->children[0].type, rules);
        return element ? nl_type_array(arena, element, a->contains_null || b->contains_null) : NULL;
    }
    if (a->id == NL_TYPE_MAP) {
        const nl_type *key = nl_common_type(arena, a->children[0].type, b->children[0].type, rules);
        const nl_type *value = nl_common_type(arena, a->children[1].type, b->children[1].type, rules);
        return key && value ? nl_type_map(arena, key, value, a->contains_null || b->contains_null) : NULL;
    }
    if (a->id == NL_TYPE_STRUCT) return common_struct(arena, a, b, rules);
    return nl_type_equal(a, b) ? a : NULL;
}

bool nl_can_cast_implicitly(const nl_type *from, const nl_type *to, nl_type_rules rules)
{
    if (nl_type_equal(from, to) || from->id == NL_TYPE_NULL) return true;
    if (nl_type_is_numeric(from) && nl_type_is_numeric(to)) return rules != NL_RULES_TRINO || nl_type_is_integral(from) || !nl_type_is_integral(to);
    if (rules == NL_RULES_TRINO && (from->id == NL_TYPE_STRING) != (to->id == NL_TYPE_STRING)) return false;
    if (from->id == NL_TYPE_STRING) return to->id == NL_TYPE_STRING || is_atomic(to) || (rules == NL_RULES_LEGACY && to->id == NL_TYPE_INTERVAL);
    if (to->id == NL_TYPE_STRING) return is_atomic(from) || from->id == NL_TYPE_INTERVAL;
    if (is_datetime(from) && is_datetime(to)) return rules != NL_RULES_TRINO || from->id == NL_TYPE_DATE || to->id == NL_TYPE_TIMESTAMP;
    if (from->id != to->id) return false;
    if (is_ansi_interval(from)) return true;
    if (from->child_count != to->child_count || from->child_count == 0) return false;
    for (uint32_t i = 0; i < from->child_count; i++)
        if (!nl_can_cast_implicitly(from->children[i].type, to->children[i].type, rules)) return false;
    return true;
}

static bool can_cast_atomic(const nl_type *from, const nl_type *to, bool is_ansi)
{
    bool from_number = nl_type_is_numeric(from);
    bool to_number = nl_type_is_numeric(to);
    if (to->id == NL_TYPE_STRING) return true;
    if (from->id == NL_TYPE_STRING) return !nl_type_is_nested(to);
    if (from_number && to_number) return true;
    if (from->id == NL_TYPE_BOOLEAN) return to_number || (!is_ansi && to->id == NL_TYPE_TIMESTAMP);
    if (to->id == NL_TYPE_BOOLEAN)
        return from_number || (!is_ansi && (from->id == NL_TYPE_DATE || from->id == NL_TYPE_TIMESTAMP));
    if (from_number && to->id == NL_TYPE_TIMESTAMP) return true;
    if (from_number && is_ansi_interval(to)) return nl_type_is_integral(from) || from->id == NL_TYPE_DECIMAL;
    if (nl_type_is_integral(from) && to->id == NL_TYPE_BINARY) return !is_ansi;
    if (from->id == NL_TYPE_TIMESTAMP && to_number) return true;
    if (from->id == NL_TYPE_DATE && to_number) return !is_ansi;
    if (is_datetime(from) && is_datetime(to)) return true;
    if (is_ansi_interval(from)) return from->id == to->id || nl_type_is_integral(to) || to->id == NL_TYPE_DECIMAL;
    return false;
}

bool nl_can_cast(const nl_type *from, const nl_type *to, bool is_ansi)
{
    if (nl_type_equal(from, to) || from->id == NL_TYPE_NULL) return true;
    if (to->id == NL_TYPE_NULL) return false;
    if (from->id == NL_TYPE_VARIANT) return nl_variant_holds(to, true);
    if (to->id == NL_TYPE_VARIANT) return nl_variant_holds(from, false);
    if (!nl_type_is_nested(from) || !nl_type_is_nested(to)) return can_cast_atomic(from, to, is_ansi);
    if (from->id != to->id || from->child_count != to->child_count) return false;
    for (uint32_t i = 0; i < from->child_count; i++)
        if (!nl_can_cast(from->children[i].type, to->children[i].type, is_ansi)) return false;
    return true;
}

bool nl_can_store(const nl_type *from, const nl_type *to)
{
    if (nl_type_equal(from, to) || from->id == NL_TYPE_NULL) return true;
    if (nl_type_is_numeric(from) && nl_type_is_numeric(to)) return true;
    if (to->id == NL_TYPE_STRING) return !nl_type_is_nested(from);
    if (is_datetime(from) && is_datetime(to)) return true;
    if (is_ansi_interval(from) && from->id == to->id) return true;
    if (!nl_type_is_nested(from) || from->id != to->id || from->child_count != to->child_count) return false;
    for (uint32_t i = 0; i < from->child_count; i++)
        if (!nl_can_store(from->children[i].type, to->children[i].type)) return false;
    return true;
}

static bool decimal_holds(const nl_type *decimal, int integral_digits, int scale)
{
    return decimal->precision - decimal->scale >= integral_digits && decimal->scale >= scale;
}

bool nl_is_upcast(const nl_type *from, const nl_type *to)
{
    if (nl_type_equal(from, to) || from->id == NL_TYPE_NULL) return true;
    if (nl_type_is_integral(from) && nl_type_is_integral(to)) return from->id <= to->id;
    if (to->id == NL_TYPE_DECIMAL && nl_type_is_integral(from)) {
        const nl_type *decimal = nl_decimal_of_integer(from);
        return decimal_holds(to, decimal->precision, 0);
    }
    if (to->id == NL_TYPE_DECIMAL && from->id == NL_TYPE_DECIMAL)
        return decimal_holds(to, from->precision - from->scale, from->scale);
    if (to->id == NL_TYPE_DOUBLE) return from->id == NL_TYPE_FLOAT || (nl_type_is_integral(from) && from->id != NL_TYPE_BIGINT);
    if (to->id == NL_TYPE_FLOAT) return from->id == NL_TYPE_TINYINT || from->id == NL_TYPE_SMALLINT;
    if (from->id == NL_TYPE_DATE) return to->id == NL_TYPE_TIMESTAMP_NTZ || to->id == NL_TYPE_TIMESTAMP;
    if (from->id != to->id) return false;
    if (is_ansi_interval(from)) return to->start_field <= from->start_field && to->end_field >= from->end_field;
    if (from->child_count == 0 || from->child_count != to->child_count) return false;
    for (uint32_t i = 0; i < from->child_count; i++)
        if (!nl_is_upcast(from->children[i].type, to->children[i].type)) return false;
    return true;
}

bool nl_cast_can_fail(const nl_type *from, const nl_type *to, bool is_ansi)
{
    (void)is_ansi; /* null instead of an error counts as failing too */
    if (nl_is_upcast(from, to)) return false;
    if (from->id == NL_TYPE_VARIANT || to->id == NL_TYPE_VARIANT) return true;
    if (to->id == NL_TYPE_STRING) return false;
    if (from->id == NL_TYPE_STRING) return to->id != NL_TYPE_BINARY;
    if (nl_type_is_numeric(from) && (to->id == NL_TYPE_DOUBLE || to->id == NL_TYPE_FLOAT)) return false;
    if (to->id == NL_TYPE_BOOLEAN) return false;
    if (from->id == NL_TYPE_BOOLEAN && to->id != NL_TYPE_DECIMAL) return false;
    if (is_datetime(from) && is_datetime(to)) return from->id == NL_TYPE_DATE;
    return true;
}

bool nl_type_has_map(const nl_type *type)
{
    if (type->id == NL_TYPE_MAP) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (nl_type_has_map(type->children[i].type)) return true;
    return false;
}

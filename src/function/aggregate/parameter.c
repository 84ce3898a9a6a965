/* aggregate/parameter.c - constant parameters of aggregates, and numbers of several types as doubles. */
#include "function/aggregate/parameter.h"

#include <math.h>

#include "base/number.h"
#include "function/cast.h"

nl_status nl_parameter_cast(nl_bind *bind, uint32_t i, const nl_type *target, const char *required)
{
    const nl_type *type = bind->argument_types[i];
    bool fits = type->id == NL_TYPE_NULL || nl_type_equal(type, target) ||
                nl_can_cast_implicitly(type, target, nl_confs_rules(bind->confs));
    if (type->id == NL_TYPE_ARRAY && target->id == NL_TYPE_ARRAY && type->contains_null && !target->contains_null) fits = false;
    if (!fits) return nl_bind_unexpected_type(bind, i, required);
    bind->argument_types[i] = target;
    return NULL;
}

nl_status nl_parameter_constant(nl_bind *bind, uint32_t i, const char *name, nl_value *value)
{
    const nl_value *given = bind->constants ? bind->constants[i] : NULL;
    if (given == NULL) return nl_bind_not_foldable(bind, i, nl_arena_f(bind->arena, "`%s`", name).data);
    if (given->is_null)
        return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_NULL, NL_P("exprName", name),
                        NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))));
    return nl_cast_value(bind->arena, bind->confs, bind->confs->is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY, given,
                         bind->argument_types[i], value);
}

nl_status nl_parameter_out_of_range(const nl_bind *bind, const char *name, const char *range, nl_str current)
{
    return NL_RAISE(DATATYPE_MISMATCH__VALUE_OUT_OF_RANGE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P("exprName", name), NL_P("valueRange", range), NL_P_STR("currentValue", current));
}

static nl_str values_text(nl_arena *arena, const double *values, uint32_t count)
{
    nl_builder text;
    nl_builder_init(&text, NL_ERROR_MESSAGE_BYTES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        char number[NL_NUMBER_TEXT_MAX];
        if (i > 0) nl_append_char(&text, ',');
        nl_append(&text, (nl_str){number, nl_format_double(values[i], number)});
        nl_append_char(&text, 'D');
    }
    nl_str copy = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

nl_status nl_parameter_percentages(nl_bind *bind, uint32_t i, bool either, nl_percentages *percentages)
{
    nl_arena *arena = bind->arena;
    nl_value value = {0};
    bool is_array = bind->argument_types[i]->id == NL_TYPE_ARRAY;
    const nl_type *target = is_array ? nl_type_array(arena, nl_type_double(), false) : nl_type_double();
    const char *required = either ? "(\"DOUBLE\" or \"ARRAY<DOUBLE>\")" : is_array ? "\"ARRAY<DOUBLE>\"" : "\"DOUBLE\"";
    NL_TRY(nl_parameter_cast(bind, i, target, required));
    NL_TRY(nl_parameter_constant(bind, i, "percentage", &value));
    if (value.is_null) return nl_bind_not_foldable(bind, i, "`percentage`"); /* a legacy cast that failed */
    uint32_t count = is_array ? value.list.count : 1;
    double *values = NL_NEW_ARRAY(arena, double, NL_MAX(count, 1u));
    bool fits = true;
    for (uint32_t k = 0; k < count; k++) {
        values[k] = is_array ? value.list.items[k].real : value.real;
        fits = fits && values[k] >= 0 && values[k] <= 1;
    }
    if (!fits) return nl_parameter_out_of_range(bind, "percentage", "[0.0, 1.0]", values_text(arena, values, count));
    *percentages = (nl_percentages){.values = values, .count = count, .is_array = is_array};
    return NULL;
}

nl_status nl_parameter_measure(nl_bind *bind, uint32_t i, bool with_times)
{
    const nl_type *type = bind->argument_types[i];
    if (type->id == NL_TYPE_NULL || type->id == NL_TYPE_STRING) {
        bind->argument_types[i] = nl_type_double();
        return NULL;
    }
    if (nl_type_is_numeric(type) || type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT) return NULL;
    bool is_time = type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
    if (is_time && with_times) return NULL;
    return nl_bind_unexpected_type(bind, i,
                                   with_times ? "(\"NUMERIC\" or \"DATE\" or \"TIMESTAMP\" or \"TIMESTAMP_NTZ\" or "
                                                "\"INTERVAL YEAR TO MONTH\" or \"INTERVAL DAY TO SECOND\")"
                                              : "(\"NUMERIC\" or \"INTERVAL DAY TO SECOND\" or \"INTERVAL YEAR TO MONTH\")");
}

double nl_measure_read(const nl_type *type, const nl_reader *reader, uint32_t row)
{
    uint32_t index = nl_reader_index(reader, row);
    if (type->physical == NL_PHYS_F32 || type->physical == NL_PHYS_F64) return nl_physical_f64(type->physical, reader->values, index);
    if (type->id == NL_TYPE_DECIMAL) return nl_decimal_to_double(nl_physical_i128(type->physical, reader->values, index), type->scale);
    return (double)nl_physical_i64(type->physical, reader->values, index);
}

/* Java's narrowing of a double: NaN is 0, too large ones saturate. */
static int64_t to_long(double value)
{
    if (isnan(value)) return 0;
    if (value >= 9223372036854775807.0) return INT64_MAX;
    if (value <= -9223372036854775808.0) return INT64_MIN;
    return (int64_t)value;
}

nl_status nl_measure_append(const nl_type *type, double value, nl_column_builder *builder)
{
    if (type->physical == NL_PHYS_F32 || type->physical == NL_PHYS_F64) return nl_column_builder_f64(builder, value);
    if (type->id == NL_TYPE_DECIMAL) {
        nl_int128 decimal = 0;
        if (!nl_decimal_from_double(value, type->precision, type->scale, &decimal)) return nl_column_builder_null(builder);
        return nl_column_builder_i128(builder, decimal);
    }
    int64_t whole = to_long(value);
    if (type->physical == NL_PHYS_I64) return nl_column_builder_i64(builder, whole);
    int32_t narrow = whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : (int32_t)whole;
    if (type->physical == NL_PHYS_I8) return nl_column_builder_i64(builder, (int8_t)narrow);
    if (type->physical == NL_PHYS_I16) return nl_column_builder_i64(builder, (int16_t)narrow);
    return nl_column_builder_i64(builder, narrow);
}

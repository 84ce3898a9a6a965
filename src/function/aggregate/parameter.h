/* aggregate/parameter.h - the constant parameters of aggregates (percentages, accuracy, numbers of bins), checked in
 * Spark's order: type, constancy, null, range. Also numbers of several types seen as doubles. Private to function/.
 *
 * For rows whose signature is (any, any …), so that the constants are still as they were written.
 */
#pragma once

#include "function/aggregate/state.h"

typedef struct nl_percentages {
    const double *values;
    uint32_t count;
    bool is_array; /* the result is an array, too */
} nl_percentages;

/* The argument's type becomes `target`, by an implicit cast; required: as the error names it ("\"DOUBLE\""). */
NL_MUST_USE nl_status nl_parameter_cast(nl_bind *bind, uint32_t i, const nl_type *target, const char *required);
/* Its constant value, cast to the type decided above, not null. name: without quotes. Fails: NON_FOLDABLE_INPUT,
 * UNEXPECTED_NULL, and whatever the cast raises. */
NL_MUST_USE nl_status nl_parameter_constant(nl_bind *bind, uint32_t i, const char *name, nl_value *value);
NL_MUST_USE nl_status nl_parameter_out_of_range(const nl_bind *bind, const char *name, const char *range, nl_str current);
/* One number of [0, 1] or an array of them. either: the error names both forms whatever was given. */
NL_MUST_USE nl_status nl_parameter_percentages(nl_bind *bind, uint32_t i, bool either, nl_percentages *percentages);

/* The input of percentiles and histograms: numbers and intervals, with dates and times when asked; text is read as
 * DOUBLE. Sets the argument's type. */
NL_MUST_USE nl_status nl_parameter_measure(nl_bind *bind, uint32_t i, bool with_times);
/* The value as Spark turns it into a double, and back as it turns a result into the type. */
double nl_measure_read(const nl_type *type, const nl_reader *reader, uint32_t row);
NL_MUST_USE nl_status nl_measure_append(const nl_type *type, double value, nl_column_builder *builder);

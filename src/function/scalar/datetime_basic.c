/* scalar/datetime_basic.c - moving dates, distances between them, the present, and making intervals and times of numbers. */
#include <math.h>

#include "base/number.h"
#include "function/cast.h"
#include "function/scalar/datetime.h"

static inline int32_t add_days(int32_t date, int64_t days)
{
    return (int32_t)(uint32_t)((uint64_t)date + (uint64_t)days); /* wraps, as Spark's */
}

static nl_status shift_date_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader dates, amounts;
    nl_reader_init(&dates, &args[0]);
    nl_reader_init(&amounts, &args[1]);
    int64_t sign = strcmp(function->row->name, "date_sub") == 0 ? -1 : 1;
    NL_EACH_SELECTED(row)
    {
        int64_t days = nl_physical_i64(args[1].type->physical, amounts.values, nl_reader_index(&amounts, row));
        ((int32_t *)output.values)[row] = add_days(nl_reader_i32(&dates, row), sign * days);
    }
    return NULL;
}

#define DIFFERENCE(a, b) ((int32_t)((uint32_t)(a) - (uint32_t)(b)))
NL_BINARY_KERNEL(datediff_kernel, int32_t, int32_t, int32_t, DIFFERENCE)
NL_BINARY_KERNEL(add_months_kernel, int32_t, int32_t, int32_t, nl_add_months)

static inline int64_t last_day_of(int32_t days)
{
    nl_civil civil;
    nl_civil_from_days(days, &civil);
    return nl_days_from_civil(civil.year, civil.month, nl_days_in_month(civil.year, civil.month));
}
NL_UNARY_KERNEL(last_day_kernel, int32_t, int32_t, last_day_of)

/* ISO day of the week, or 0. */
static int32_t parse_day_of_week(nl_str text)
{
    static const char *const names[] = {"MO,MON,MONDAY", "TU,TUE,TUESDAY",  "WE,WED,WEDNESDAY", "TH,THU,THURSDAY",
                                        "FR,FRI,FRIDAY", "SA,SAT,SATURDAY", "SU,SUN,SUNDAY"};
    for (int32_t day = 0; day < 7; day++) {
        nl_str rest = nl_str_from(names[day]);
        nl_str one;
        while (nl_str_next_part(&rest, ',', &one))
            if (nl_str_equal_nocase(one, text)) return day + 1;
    }
    return 0;
}

static nl_status next_day_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    int32_t date = nl_reader_i32(&context->readers[0], row);
    nl_str name = nl_str_trim(nl_reader_str(&context->readers[1], row));
    int32_t wanted = parse_day_of_week(name);
    if (wanted == 0) {
        if (context->eval->confs->is_ansi) return NL_RAISE(ILLEGAL_DAY_OF_WEEK, NL_P_STR("string", name));
        *is_null = true;
        return NULL;
    }
    int32_t ahead = (wanted - nl_day_of_week(date) + 6) % 7 + 1;
    ((int32_t *)context->output.values)[row] = date + ahead;
    return NULL;
}
NL_VALUE_KERNEL(next_day_kernel, next_day_row)

static bool is_last_of_month(const nl_civil *civil)
{
    return civil->day == nl_days_in_month(civil->year, civil->month);
}

/* Whole months when the days agree or both are the last; else 31 days make a month. */
static double months_between(int64_t a, int64_t b, bool rounds)
{
    nl_civil x, y;
    nl_civil_from_micros(a, &x);
    nl_civil_from_micros(b, &y);
    double months = (double)((x.year - y.year) * 12 + (x.month - y.month));
    if (x.day == y.day || (is_last_of_month(&x) && is_last_of_month(&y))) return months;
    int64_t seconds_x = x.hour * 3600 + x.minute * 60 + x.second;
    int64_t seconds_y = y.hour * 3600 + y.minute * 60 + y.second;
    double seconds = (double)((x.day - y.day) * 86400 + seconds_x - seconds_y);
    double result = months + seconds / (31.0 * 86400.0);
    return rounds ? floor(fabs(result) * 1e8 + 0.5) / 1e8 * (result < 0 ? -1 : 1) : result;
}

static nl_status months_between_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_timezone *zone = context->eval->confs->zone;
    bool rounds = context->function->argument_count < 3 || nl_reader_bool(&context->readers[2], row);
    int64_t a = nl_timezone_to_local(zone, nl_reader_i64(&context->readers[0], row));
    int64_t b = nl_timezone_to_local(zone, nl_reader_i64(&context->readers[1], row));
    ((double *)context->output.values)[row] = months_between(a, b, rounds);
    return NULL;
}
NL_VALUE_KERNEL(months_between_kernel, months_between_row)

/* --- the present: constant during a statement --- */

static nl_status present_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    const nl_type *type = function->result_type;
    int64_t value = eval->confs->now_micros;
    if (type->id != NL_TYPE_TIMESTAMP) value = nl_timezone_to_local(eval->confs->zone, value);
    if (type->id == NL_TYPE_DATE) value = nl_floor_div(value, NL_MICROS_PER_DAY);
    nl_value constant = nl_value_int(type, value);
    return nl_vector_new_constant(out, &constant, length, eval->memory);
}

static nl_status timezone_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    nl_value name = nl_value_string(nl_timezone_name(eval->confs->zone));
    return nl_vector_new_constant(out, &name, length, eval->memory);
}

/* --- casts under the name of their type --- */

nl_status nl_cast_to_result(NL_KERNEL_PARAMETERS)
{
    (void)length;
    nl_cast_mode mode = eval->confs->is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY;
    return nl_cast_vector(eval, mode, &args[0], function->result_type, selection, out);
}

nl_status nl_bind_cast_to(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *from = bind->argument_types[0];
    if (strcmp(bind->row->name, "decimal") == 0) bound->result_type = nl_type_decimal(10, 0);
    bool is_to_date = strncmp(bind->row->name, "to_", 3) == 0 || strncmp(bind->row->name, "try_to_", 7) == 0;
    if (is_to_date && nl_type_is_nested(from))
        return nl_bind_unexpected_type(bind, 0, "(\"STRING\" or \"DATE\" or \"TIMESTAMP\" or \"TIMESTAMP_NTZ\")");
    if (is_to_date && (from->id == NL_TYPE_BOOLEAN || !nl_can_cast(from, bound->result_type, bind->confs->is_ansi))) {
        /* to_date(1) reads the number's text. */
        from = bind->argument_types[0] = nl_type_string();
    }
    if (!nl_can_cast(from, bound->result_type, bind->confs->is_ansi))
        return NL_RAISE(DATATYPE_MISMATCH__CAST_WITHOUT_SUGGESTION,
                        NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P_STR("srcType", nl_quoted_type(bind->arena, from)),
                        NL_P_STR("targetType", nl_quoted_type(bind->arena, bound->result_type)));
    bound->can_fail = nl_cast_can_fail(from, bound->result_type, bind->confs->is_ansi);
    return NULL;
}

/* --- numbers to intervals and times --- */

/* Argument i as an integer; missing ones are zero. */
static int64_t argument_or_zero(const nl_bound_function *function, const nl_vector *args, const nl_reader *readers, uint32_t i, uint32_t row)
{
    if (i >= function->argument_count) return 0;
    return nl_physical_i64(args[i].type->physical, readers[i].values, nl_reader_index(&readers[i], row));
}

static nl_status make_interval_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_reader readers[7] = {{0}};
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    for (uint32_t i = 0; i < function->argument_count; i++) nl_reader_init(&readers[i], &args[i]);
    NL_EACH_SELECTED(row)
    {
        int64_t given[7];
        for (uint32_t i = 0; i < 7; i++) given[i] = argument_or_zero(function, args, readers, i, row);
        int64_t months = given[0] * 12 + given[1]; /* ints: no overflow in 64 bits */
        int64_t days = given[2] * 7 + given[3];
        nl_int128 micros = (nl_int128)given[4] * 3600000000ll + (nl_int128)given[5] * 60000000ll + given[6];
        bool fits = months == (int32_t)months && days == (int32_t)days && micros == (int64_t)micros;
        if (NL_LIKELY(fits))
            ((nl_interval *)output.values)[row] = (nl_interval){(int32_t)months, (int32_t)days, (int64_t)micros};
        else if (function->can_fail)
            return NL_RAISE(INTERVAL_ARITHMETIC_OVERFLOW__WITH_SUGGESTION, NL_P("functionName", "`try_make_interval`"));
        else
            NL_TRY(nl_output_null(&output, row));
    }
    return NULL;
}

static nl_status bind_make_interval(nl_bind *bind, nl_bound_function *bound)
{
    if (bind->argument_count == 7) bind->argument_types[6] = nl_type_decimal(18, 6);
    bool is_try = strncmp(bind->row->name, "try_", 4) == 0;
    bound->can_fail = bind->confs->is_ansi && !is_try;
    bound->is_nullable |= !bound->can_fail;
    return NULL;
}

static nl_status make_dt_interval_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_reader readers[4] = {{0}};
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    for (uint32_t i = 0; i < function->argument_count; i++) nl_reader_init(&readers[i], &args[i]);
    NL_EACH_SELECTED(row)
    {
        int64_t given[4];
        for (uint32_t i = 0; i < 4; i++) given[i] = argument_or_zero(function, args, readers, i, row);
        nl_int128 micros = (nl_int128)given[0] * NL_MICROS_PER_DAY + (nl_int128)given[1] * 3600000000ll +
                           (nl_int128)given[2] * 60000000ll + given[3];
        if (micros != (int64_t)micros) return NL_RAISE(INTERVAL_ARITHMETIC_OVERFLOW__WITHOUT_SUGGESTION);
        ((int64_t *)output.values)[row] = (int64_t)micros;
    }
    return NULL;
}

static nl_status bind_make_dt_interval(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    if (bind->argument_count == 4) bind->argument_types[3] = nl_type_decimal(18, 6);
    return NULL;
}

static nl_status make_ym_interval_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    nl_reader readers[2] = {{0}};
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    for (uint32_t i = 0; i < function->argument_count; i++) nl_reader_init(&readers[i], &args[i]);
    NL_EACH_SELECTED(row)
    {
        int64_t months = argument_or_zero(function, args, readers, 0, row) * 12 + argument_or_zero(function, args, readers, 1, row);
        if (months != (int32_t)months) return NL_RAISE(INTERVAL_ARITHMETIC_OVERFLOW__WITHOUT_SUGGESTION);
        ((int32_t *)output.values)[row] = (int32_t)months;
    }
    return NULL;
}

nl_status nl_raise_out_of_bounds(const char *field, const char *range, int64_t value)
{
    nl_builder text;
    nl_builder_init(&text, 256);
    nl_append_f(&text, "Invalid value for %s (valid values %s): %lld", field, range, (long long)value);
    nl_status status = NL_RAISE(DATETIME_FIELD_OUT_OF_BOUNDS, NL_P_STR("rangeMessage", nl_builder_str(&text)),
                                NL_P("ansiConfig", "\"spark.sql.ansi.enabled\""));
    nl_builder_fini(&text);
    return status;
}

nl_status nl_raise_bad_date(int64_t year, int64_t month, int64_t day)
{
    static const char *const months[] = {"JANUARY", "FEBRUARY", "MARCH",     "APRIL",   "MAY",      "JUNE",
                                         "JULY",    "AUGUST",   "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER"};
    if (month < 1 || month > 12) return nl_raise_out_of_bounds("MonthOfYear", "1 - 12", month);
    if (day < 1 || day > 31) return nl_raise_out_of_bounds("DayOfMonth", "1 - 28/31", day);
    nl_builder text;
    nl_builder_init(&text, 256);
    if (month == 2 && day == 29)
        nl_append_f(&text, "Invalid date 'February 29' as '%lld' is not a leap year", (long long)year);
    else
        nl_append_f(&text, "Invalid date '%s %lld'", months[month - 1], (long long)day);
    nl_status status = NL_RAISE(DATETIME_FIELD_OUT_OF_BOUNDS, NL_P_STR("rangeMessage", nl_builder_str(&text)),
                                NL_P("ansiConfig", "\"spark.sql.ansi.enabled\""));
    nl_builder_fini(&text);
    return status;
}

static nl_status make_date_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    int32_t year = nl_reader_i32(&context->readers[0], row);
    int32_t month = nl_reader_i32(&context->readers[1], row);
    int32_t day = nl_reader_i32(&context->readers[2], row);
    if (nl_civil_is_valid(year, month, day)) {
        ((int32_t *)context->output.values)[row] = (int32_t)nl_days_from_civil(year, month, day);
        return NULL;
    }
    if (context->eval->confs->is_ansi) return nl_raise_bad_date(year, month, day);
    *is_null = true;
    return NULL;
}
NL_VALUE_KERNEL(make_date_kernel, make_date_row)

#define SAME(x) (x)
#define SECONDS_OF(x) nl_floor_div((x), NL_MICROS_PER_SECOND)
#define MILLIS_OF(x)  nl_floor_div((x), 1000)
NL_UNARY_KERNEL(unix_date_kernel, int32_t, int32_t, SAME)
NL_UNARY_KERNEL(unix_micros_kernel, int64_t, int64_t, SAME)
NL_UNARY_KERNEL(unix_seconds_kernel, int64_t, int64_t, SECONDS_OF)
NL_UNARY_KERNEL(unix_millis_kernel, int64_t, int64_t, MILLIS_OF)

static nl_status timestamp_millis_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    if (__builtin_mul_overflow(nl_reader_i64(&context->readers[0], row), 1000, (int64_t *)context->output.values + row))
        return NL_RAISE_TEXT(NILAS_ARITHMETIC, "long overflow");
    return NULL;
}
NL_VALUE_KERNEL(timestamp_millis_kernel, timestamp_millis_row)

/* Integers and decimals are exact or refused. */
static nl_status timestamp_seconds_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_type *type = context->function->argument_types[0];
    const nl_reader *in = &context->readers[0];
    nl_int128 micros = nl_physical_i128(type->physical, in->values, nl_reader_index(in, row));
    const int scale = type->id == NL_TYPE_DECIMAL ? type->scale : 0;
    for (int i = scale; i > 6; i--) {
        if (micros % 10 != 0) return NL_RAISE_TEXT(NILAS_ARITHMETIC, "Rounding necessary");
        micros /= 10;
    }
    bool fits = true;
    for (int i = scale; i < 6 && fits; i++) fits = !__builtin_mul_overflow(micros, (nl_int128)10, &micros);
    if (!fits || micros > INT64_MAX || micros < INT64_MIN) return NL_RAISE_TEXT(NILAS_ARITHMETIC, scale || type->id == NL_TYPE_DECIMAL ? "Overflow" : "long overflow");
    ((int64_t *)context->output.values)[row] = (int64_t)micros;
    return NULL;
}
NL_VALUE_KERNEL(timestamp_seconds_kernel, timestamp_seconds_row)

/* As Java makes a long of a double: the nearest there is. */
static nl_status timestamp_real_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    const double seconds = nl_reader_f64(&context->readers[0], row);
    const double micros = seconds * (double)NL_MICROS_PER_SECOND;
    *is_null = !isfinite(seconds);
    ((int64_t *)context->output.values)[row] = *is_null ? 0 : micros >= 9223372036854775807.0 ? INT64_MAX : micros <= -9223372036854775808.0 ? INT64_MIN : (int64_t)micros;
    return NULL;
}
NL_VALUE_KERNEL(timestamp_real_kernel, timestamp_real_row)

/* Nothing is cast for these: a date, or an instant. */
static nl_status bind_exact(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    bool is_date = strcmp(bind->row->name, "unix_date") == 0;
    const nl_type *type = nl_type_of(is_date ? NL_TYPE_DATE : NL_TYPE_TIMESTAMP);
    if (bind->argument_types[0]->id == NL_TYPE_NULL) bind->argument_types[0] = type;
    return nl_type_equal(bind->argument_types[0], type) ? NULL : nl_bind_unexpected_type(bind, 0, is_date ? "\"DATE\"" : "\"TIMESTAMP\"");
}

static nl_status bind_seconds(nl_bind *bind, nl_bound_function *bound)
{
    if (bind->argument_types[0]->id == NL_TYPE_NULL) bind->argument_types[0] = nl_type_bigint();
    if (!nl_type_is_numeric(bind->argument_types[0])) return nl_bind_unexpected_type(bind, 0, "\"NUMERIC\"");
    const bool is_real = bind->argument_types[0]->id == NL_TYPE_FLOAT || bind->argument_types[0]->id == NL_TYPE_DOUBLE;
    if (is_real) bind->argument_types[0] = nl_type_double();
    if (is_real) bound->is_nullable = true;
    bound->kernel = is_real ? timestamp_real_kernel : timestamp_seconds_kernel;
    return NULL;
}

/* Without ANSI, too, the days are no other number; a literal text may be one. */
static nl_status bind_shift_date(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    const nl_type *given = bind->given_types[1];
    const nl_value *value = bind->given_constants ? bind->given_constants[1] : NULL;
    const bool is_small = nl_type_is_integral(given) && given->id != NL_TYPE_BIGINT;
    if (bind->confs->is_ansi || is_small || given->id == NL_TYPE_NULL) return NULL;
    int64_t days = 0;
    if (given->id == NL_TYPE_STRING && value != NULL && !value->is_null)
        return nl_parse_int64(nl_str_trim(value->text), &days) ? NULL : NL_RAISE(SECOND_FUNCTION_ARGUMENT_NOT_INTEGER, NL_P_STR("functionName", bind->name));
    if (given->id == NL_TYPE_STRING && value != NULL) return NULL;
    bind->argument_types[1] = given;
    return nl_bind_unexpected_type(bind, 1, "(\"INT\" or \"SMALLINT\" or \"TINYINT\")");
}

static nl_status bind_widened(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    bind->argument_types[0] = nl_type_bigint();
    return NULL;
}

#define DATETIME .kind = NL_FUNCTION_SCALAR, .group = "datetime", .nulls = NL_NULL_IN_NULL_OUT
#define TOTAL    DATETIME, .keeps_non_null = true
#define PRESENT(types) .kind = NL_FUNCTION_SCALAR, .group = "datetime", .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = types
#define CAST_ROW(types, type_name)                                                                                  \
    .kind = NL_FUNCTION_SCALAR, .group = "conversion", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true,             \
    .signature = types, .bind = nl_bind_cast_to, .kernel = nl_cast_to_result, .since = "2.0.1",                          \
    .doc = "The value cast to " type_name "."

static const nl_function_row rows[] = {
    {.name = "date_add", .aliases = "dateadd", TOTAL, .signature = "(date, int/smallint/tinyint) -> date", .bind = bind_shift_date, .kernel = shift_date_kernel,
     .since = "1.5.0", .doc = "The date some days later.", .examples = {{"date_add('2016-07-30', 1)", "2016-07-31"}}},
    {.name = "date_sub", TOTAL, .signature = "(date, int/smallint/tinyint) -> date", .bind = bind_shift_date, .kernel = shift_date_kernel,
     .since = "1.5.0", .doc = "The date some days earlier.", .examples = {{"date_sub('2016-07-30', 1)", "2016-07-29"}}},
    {.name = "datediff", .aliases = "date_diff", TOTAL, .signature = "(date, date) -> int", .kernel = datediff_kernel, .since = "1.5.0",
     .doc = "Days from the second date to the first.", .examples = {{"datediff('2009-07-31', '2009-07-30')", "1"}}},
    {.name = "add_months", TOTAL, .signature = "(date, int) -> date", .kernel = add_months_kernel, .since = "1.5.0",
     .doc = "The date some months later; a day the month lacks becomes its last.", .examples = {{"add_months('2016-08-31', 1)", "2016-09-30"}}},
    {.name = "last_day", TOTAL, .signature = "(date) -> date", .kernel = last_day_kernel, .since = "1.5.0",
     .doc = "The last day of the date's month.", .examples = {{"last_day('2009-01-12')", "2009-01-31"}}},
    {.name = "next_day", DATETIME, .can_fail = true, .signature = "(date, string) -> date", .kernel = next_day_kernel, .since = "1.5.0",
     .doc = "The first later date that falls on the day of the week.", .examples = {{"next_day('2015-01-14', 'TU')", "2015-01-20"}}},
    {.name = "months_between", TOTAL, .signature = "(timestamp, timestamp [, boolean]) -> double", .kernel = months_between_kernel, .since = "1.5.0",
     .doc = "Months from the second time to the first, 31 days making a month; rounded to 8 digits unless the third argument is false.",
     .examples = {{"months_between('1997-02-28 10:30:00', '1996-10-30')", "3.94959677"}}},
    {.name = "current_date", .aliases = "curdate", PRESENT("() -> date"), .kernel = present_kernel, .since = "1.5.0",
     .doc = "The date when the statement began, in the session's time zone.", .examples = {{"current_date() = current_date", "true"}}},
    {.name = "current_timestamp", .aliases = "now", PRESENT("() -> timestamp"), .kernel = present_kernel, .since = "1.5.0",
     .doc = "The time when the statement began.", .examples = {{"now() = current_timestamp()", "true"}}},
    {.name = "localtimestamp", PRESENT("() -> timestamp_ntz"), .kernel = present_kernel, .since = "3.4.0",
     .doc = "The local time when the statement began, without a time zone.", .examples = {{"localtimestamp() = localtimestamp()", "true"}}},
    {.name = "current_timezone", PRESENT("() -> string"), .kernel = timezone_kernel, .since = "3.1.0",
     .doc = "The session's time zone.", .examples = {{"current_timezone() = current_timezone()", "true"}}},
    {.name = "timestamp_seconds", DATETIME, .can_fail = true, .signature = "(any) -> timestamp", .bind = bind_seconds, .kernel = nl_cast_to_result,
     .since = "3.1.0", .doc = "The time that many seconds after 1970-01-01 UTC.", .examples = {{"timestamp_seconds(1230219000) IS NOT NULL", "true"}}},
    {.name = "timestamp_millis", TOTAL, .can_fail = true, .signature = "(integral) -> timestamp", .bind = bind_widened, .kernel = timestamp_millis_kernel, .since = "3.1.0",
     .doc = "The time that many milliseconds after 1970-01-01 UTC.", .examples = {{"timestamp_millis(1230219000123) IS NOT NULL", "true"}}},
    {.name = "timestamp_micros", TOTAL, .signature = "(integral) -> timestamp", .bind = bind_widened, .kernel = unix_micros_kernel, .since = "3.1.0",
     .doc = "The time that many microseconds after 1970-01-01 UTC.", .examples = {{"timestamp_micros(1230219000123123) IS NOT NULL", "true"}}},
    {.name = "unix_date", TOTAL, .signature = "(any) -> int", .bind = bind_exact, .kernel = unix_date_kernel, .since = "3.1.0",
     .doc = "Days since 1970-01-01.", .examples = {{"unix_date(DATE('1970-01-02'))", "1"}}},
    {.name = "date_from_unix_date", TOTAL, .signature = "(int) -> date", .kernel = unix_date_kernel, .since = "3.1.0",
     .doc = "The date that many days after 1970-01-01.", .examples = {{"date_from_unix_date(1)", "1970-01-02"}}},
    {.name = "unix_seconds", TOTAL, .signature = "(any) -> bigint", .bind = bind_exact, .kernel = unix_seconds_kernel, .since = "3.1.0",
     .doc = "Whole seconds since 1970-01-01 UTC.", .examples = {{"unix_seconds(TIMESTAMP('1970-01-01 00:00:01Z'))", "1"}}},
    {.name = "unix_millis", TOTAL, .signature = "(any) -> bigint", .bind = bind_exact, .kernel = unix_millis_kernel, .since = "3.1.0",
     .doc = "Whole milliseconds since 1970-01-01 UTC.", .examples = {{"unix_millis(TIMESTAMP('1970-01-01 00:00:01Z'))", "1000"}}},
    {.name = "unix_micros", TOTAL, .signature = "(any) -> bigint", .bind = bind_exact, .kernel = unix_micros_kernel, .since = "3.1.0",
     .doc = "Microseconds since 1970-01-01 UTC.", .examples = {{"unix_micros(TIMESTAMP('1970-01-01 00:00:01Z'))", "1000000"}}},
    {.name = "make_interval", TOTAL, .can_fail = true, .signature = "([int, int, int, int, int, int, decimal]) -> interval", .bind = bind_make_interval,
     .kernel = make_interval_kernel, .since = "3.0.0", .doc = "An interval of years, months, weeks, days, hours, minutes and seconds.",
     .examples = {{"make_interval(0, 1, 0, 1, 0, 0, 100.000001)", "1 months 1 days 1 minutes 40.000001 seconds"}}},
    {.name = "try_make_interval", TOTAL, .signature = "(int [, int, int, int, int, int, decimal]) -> interval", .bind = bind_make_interval,
     .kernel = make_interval_kernel, .since = "4.0.0", .doc = "As make_interval, but NULL when it overflows.",
     .examples = {{"try_make_interval(2147483647)", "NULL"}}},
    {.name = "make_dt_interval", TOTAL, .can_fail = true, .signature = "([int, int, int, decimal]) -> interval_dt", .bind = bind_make_dt_interval,
     .kernel = make_dt_interval_kernel, .since = "3.2.0", .doc = "A day-time interval of days, hours, minutes and seconds.",
     .examples = {{"make_dt_interval(1, 12, 30, 01.001001)", "1 12:30:01.001001000"}}},
    {.name = "make_ym_interval", TOTAL, .can_fail = true, .signature = "([int, int]) -> interval_ym", .kernel = make_ym_interval_kernel, .since = "3.2.0",
     .doc = "A year-month interval of years and months.", .examples = {{"make_ym_interval(1, 2)", "1-2"}}},
    {.name = "make_date", DATETIME, .can_fail = true, .signature = "(int, int, int) -> date", .kernel = make_date_kernel, .since = "3.0.0",
     .doc = "A date of year, month and day.", .examples = {{"make_date(2013, 7, 15)", "2013-07-15"}}},
    {.name = "date", CAST_ROW("(any) -> date", "DATE"), .examples = {{"date('2020-01-02')", "2020-01-02"}}},
    {.name = "timestamp", CAST_ROW("(any) -> timestamp", "TIMESTAMP"), .examples = {{"timestamp('2020-01-02')", "2020-01-02 00:00:00"}}},
    {.name = "boolean", CAST_ROW("(any) -> boolean", "BOOLEAN"), .examples = {{"boolean('t')", "true"}}},
    {.name = "tinyint", CAST_ROW("(any) -> tinyint", "TINYINT"), .examples = {{"tinyint('1')", "1"}}},
    {.name = "smallint", CAST_ROW("(any) -> smallint", "SMALLINT"), .examples = {{"smallint('1')", "1"}}},
    {.name = "int", CAST_ROW("(any) -> int", "INT"), .examples = {{"int('1')", "1"}}},
    {.name = "bigint", CAST_ROW("(any) -> bigint", "BIGINT"), .examples = {{"bigint('1')", "1"}}},
    {.name = "float", CAST_ROW("(any) -> float", "FLOAT"), .examples = {{"float('1')", "1.0"}}},
    {.name = "double", CAST_ROW("(any) -> double", "DOUBLE"), .examples = {{"double('1')", "1.0"}}},
    {.name = "decimal", CAST_ROW("(any) -> ?", "DECIMAL(10,0)"), .examples = {{"decimal('1')", "1"}}},
    {.name = "string", CAST_ROW("(any) -> string", "STRING"), .examples = {{"string(1)", "1"}}},
    {.name = "binary", CAST_ROW("(any) -> binary", "BINARY"), .examples = {{"binary('a') = X'61'", "true"}}},
};

NL_DEFINE_FUNCTION_GROUP(datetime_basic, rows);

/* scalar/datetime_parts.c - parts of dates, times and intervals: year() … second(), extract, date_part, trunc, date_trunc. */
#include "function/groups.h"

typedef enum part {
    PART_YEAR,
    PART_YEAR_OF_WEEK,
    PART_QUARTER,
    PART_MONTH,
    PART_WEEK,
    PART_DAY,
    PART_DAY_OF_WEEK,     /* Sunday 1 */
    PART_DAY_OF_WEEK_ISO, /* Monday 1 */
    PART_WEEKDAY,         /* Monday 0 */
    PART_DAY_OF_YEAR,
    PART_HOUR,
    PART_MINUTE,
    PART_SECOND,
    PART_SECOND_FRACTION /* decimal(8,6) */
} part;

typedef struct part_state {
    part what;
} part_state;

static int64_t part_of_days(part what, int64_t days)
{
    nl_civil civil;
    int32_t week_year = 0;
    int32_t week = 0;
    switch (what) {
    case PART_YEAR:
        nl_civil_from_days(days, &civil);
        return civil.year;
    case PART_QUARTER:
        nl_civil_from_days(days, &civil);
        return (civil.month - 1) / 3 + 1;
    case PART_MONTH:
        nl_civil_from_days(days, &civil);
        return civil.month;
    case PART_DAY:
        nl_civil_from_days(days, &civil);
        return civil.day;
    case PART_YEAR_OF_WEEK:
        nl_iso_week(days, &week_year, &week);
        return week_year;
    case PART_WEEK:
        nl_iso_week(days, &week_year, &week);
        return week;
    case PART_DAY_OF_WEEK:
        return nl_day_of_week(days) % 7 + 1;
    case PART_DAY_OF_WEEK_ISO:
        return nl_day_of_week(days);
    case PART_WEEKDAY:
        return nl_day_of_week(days) - 1;
    case PART_DAY_OF_YEAR:
        return nl_day_of_year(days);
    case PART_HOUR:
    case PART_MINUTE:
    case PART_SECOND:
    case PART_SECOND_FRACTION:
        break;
    }
    return 0;
}

/* rest: microseconds since midnight. */
static int64_t part_of_clock(part what, int64_t rest)
{
    if (what == PART_HOUR) return rest / (3600 * NL_MICROS_PER_SECOND);
    if (what == PART_MINUTE) return rest / (60 * NL_MICROS_PER_SECOND) % 60;
    if (what == PART_SECOND) return rest / NL_MICROS_PER_SECOND % 60;
    return rest % (60 * NL_MICROS_PER_SECOND);
}

static nl_status part_kernel(NL_KERNEL_PARAMETERS)
{
    const part_state *state = function->state;
    const nl_vector *source = &args[function->argument_count - 1];
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_physical physical = function->result_type->physical;
    nl_reader in;
    nl_reader_init(&in, source);
    bool is_date = source->type->id == NL_TYPE_DATE;
    bool is_local = source->type->id == NL_TYPE_TIMESTAMP;
    NL_EACH_SELECTED(row)
    {
        int64_t result;
        if (is_date) {
            result = part_of_days(state->what, nl_reader_i32(&in, row));
        } else {
            int64_t micros = nl_reader_i64(&in, row);
            if (is_local) micros = nl_timezone_to_local(eval->confs->zone, micros);
            int64_t days = nl_floor_div(micros, NL_MICROS_PER_DAY);
            result = state->what >= PART_HOUR ? part_of_clock(state->what, micros - days * NL_MICROS_PER_DAY)
                                              : part_of_days(state->what, days);
        }
        nl_physical_set_i128(physical, output.values, row, result);
    }
    return NULL;
}

/* Intervals are cut towards zero and keep their sign in every part. */
static nl_status interval_part_kernel(NL_KERNEL_PARAMETERS)
{
    const part_state *state = function->state;
    const nl_vector *source = &args[function->argument_count - 1];
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, source);
    NL_EACH_SELECTED(row)
    {
        int64_t months = 0;
        int64_t days = 0;
        int64_t rest = 0;
        if (source->type->id == NL_TYPE_INTERVAL_YM) {
            months = nl_reader_i32(&in, row);
        } else if (source->type->id == NL_TYPE_INTERVAL_DT) {
            int64_t micros = nl_reader_i64(&in, row);
            days = micros / NL_MICROS_PER_DAY;
            rest = micros % NL_MICROS_PER_DAY;
        } else {
            nl_interval interval = ((const nl_interval *)in.values)[nl_reader_index(&in, row)];
            months = interval.months;
            days = interval.days;
            rest = interval.micros;
        }
        int64_t result = state->what == PART_YEAR      ? months / 12
                         : state->what == PART_MONTH   ? months % 12
                         : state->what == PART_QUARTER ? months % 12 / 3 + 1
                         : state->what == PART_DAY     ? days
                                                       : part_of_clock(state->what, rest);
        nl_physical_set_i128(function->result_type->physical, output.values, row, result);
    }
    return NULL;
}

static nl_status bind_part(nl_bind *bind, nl_bound_function *bound)
{
    static const struct {
        const char *name;
        part_state state;
    } parts[] = {{"year", {PART_YEAR}},           {"quarter", {PART_QUARTER}},        {"month", {PART_MONTH}},
                 {"weekofyear", {PART_WEEK}},     {"dayofmonth", {PART_DAY}},         {"dayofweek", {PART_DAY_OF_WEEK}},
                 {"weekday", {PART_WEEKDAY}},     {"dayofyear", {PART_DAY_OF_YEAR}},  {"hour", {PART_HOUR}},
                 {"minute", {PART_MINUTE}},       {"second", {PART_SECOND}}};
    for (uint32_t i = 0; i < NL_COUNT(parts); i++)
        if (strcmp(parts[i].name, bind->row->name) == 0) bound->state = &parts[i].state;
    return NULL;
}

static bool find_part(nl_str name, part_state *state)
{
    static const struct {
        const char *names;
        part what;
    } parts[] = {
        {"YEAR,Y,YEARS,YR,YRS", PART_YEAR},
        {"YEAROFWEEK", PART_YEAR_OF_WEEK},
        {"QUARTER,QTR", PART_QUARTER},
        {"MONTH,MON,MONS,MONTHS", PART_MONTH},
        {"WEEK,W,WEEKS", PART_WEEK},
        {"DAY,D,DAYS", PART_DAY},
        {"DAYOFWEEK,DOW", PART_DAY_OF_WEEK},
        {"DAYOFWEEK_ISO,DOW_ISO", PART_DAY_OF_WEEK_ISO},
        {"DOY", PART_DAY_OF_YEAR},
        {"HOUR,H,HOURS,HR,HRS", PART_HOUR},
        {"MINUTE,M,MIN,MINS,MINUTES", PART_MINUTE},
        {"SECOND,S,SEC,SECONDS,SECS", PART_SECOND_FRACTION},
    };
    for (uint32_t i = 0; i < NL_COUNT(parts); i++) {
        nl_str rest = nl_str_from(parts[i].names);
        nl_str one;
        while (nl_str_next_part(&rest, ',', &one)) {
            if (!nl_str_equal_nocase(one, name)) continue;
            state->what = parts[i].what;
            return true;
        }
    }
    return false;
}

/* Intervals have the fields between those of their type, no quarters. */
static bool has_interval_part(const nl_type *type, part what)
{
    const bool is_date_part = what == PART_YEAR || what == PART_MONTH;
    const bool is_clock_part = what == PART_DAY || what >= PART_HOUR;
    const int field = what == PART_YEAR     ? NL_FIELD_YEAR
                      : what == PART_MONTH  ? NL_FIELD_MONTH
                      : what == PART_DAY    ? NL_FIELD_DAY
                      : what == PART_HOUR   ? NL_FIELD_HOUR
                      : what == PART_MINUTE ? NL_FIELD_MINUTE
                                            : NL_FIELD_SECOND;
    if (type->id == NL_TYPE_INTERVAL) return is_date_part || is_clock_part;
    if (type->id == NL_TYPE_INTERVAL_YM ? !is_date_part : !is_clock_part) return false;
    return field >= (int)type->start_field && field <= (int)type->end_field;
}

static nl_status bind_extract(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *field = bind->constants[0];
    const nl_type *source = bind->argument_types[1];
    if (field == NULL) return NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P("funcName", "`date_part`"), NL_P("paramName", "`field`"), NL_P("paramType", "\"STRING\""));
    part_state *state = NL_NEW(bind->arena, part_state);
    nl_str name = field->is_null ? NL_STR("null") : field->text;
    bool is_interval = source->id == NL_TYPE_INTERVAL_YM || source->id == NL_TYPE_INTERVAL_DT || source->id == NL_TYPE_INTERVAL;
    bool is_known = find_part(name, state);
    if (field->is_null) { /* no row gets as far as the kernel */
        bound->state = state;
        bound->result_type = nl_type_double();
        bound->kernel = part_kernel;
        return NULL;
    }
    if (is_interval && is_known) is_known = has_interval_part(source, state->what);
    if (!is_known)
        return NL_RAISE(INVALID_EXTRACT_FIELD, NL_P_STR("field", nl_arena_f(bind->arena, "`" NL_STR_FMT "`", NL_STR_ARG(name))),
                        NL_P_STR("expr", nl_quoted(bind->arena, nl_bind_argument_sql(bind, 1))));
    bound->state = state;
    bool is_byte = is_interval && (state->what == PART_MONTH || state->what == PART_HOUR || state->what == PART_MINUTE);
    bound->result_type = state->what == PART_SECOND_FRACTION ? nl_type_decimal(8, 6)
                         : is_byte                           ? nl_type_of(NL_TYPE_TINYINT)
                                                             : nl_type_int();
    bound->kernel = is_interval ? interval_part_kernel : part_kernel;
    bool is_time = source->id == NL_TYPE_TIMESTAMP || source->id == NL_TYPE_TIMESTAMP_NTZ;
    if (!is_interval && !is_time) {
        bool needs_clock = state->what >= PART_HOUR;
        bind->argument_types[1] = nl_type_of(needs_clock || source->id != NL_TYPE_DATE ? NL_TYPE_TIMESTAMP : NL_TYPE_DATE);
    }
    return NULL;
}

/* --- trunc --- */

typedef enum trunc_unit {
    TRUNC_NONE, /* unknown: the result is null */
    TRUNC_YEAR,
    TRUNC_QUARTER,
    TRUNC_MONTH,
    TRUNC_WEEK,
    TRUNC_DAY,
    TRUNC_HOUR,
    TRUNC_MINUTE,
    TRUNC_SECOND,
    TRUNC_MILLISECOND,
    TRUNC_MICROSECOND
} trunc_unit;

static trunc_unit find_unit(nl_str name)
{
    static const struct {
        const char *names;
        trunc_unit unit;
    } units[] = {{"YEAR,YYYY,YY", TRUNC_YEAR},         {"QUARTER", TRUNC_QUARTER},         {"MONTH,MON,MM", TRUNC_MONTH},
                 {"WEEK", TRUNC_WEEK},                 {"DAY,DD", TRUNC_DAY},              {"HOUR", TRUNC_HOUR},
                 {"MINUTE", TRUNC_MINUTE},             {"SECOND", TRUNC_SECOND},           {"MILLISECOND", TRUNC_MILLISECOND},
                 {"MICROSECOND", TRUNC_MICROSECOND}};
    for (uint32_t i = 0; i < NL_COUNT(units); i++) {
        nl_str rest = nl_str_from(units[i].names);
        nl_str one;
        while (nl_str_next_part(&rest, ',', &one))
            if (nl_str_equal_nocase(one, name)) return units[i].unit;
    }
    return TRUNC_NONE;
}

static int64_t trunc_days(int64_t days, trunc_unit unit)
{
    nl_civil civil;
    if (unit == TRUNC_WEEK) return days - (nl_day_of_week(days) - 1);
    if (unit >= TRUNC_DAY) return days;
    nl_civil_from_days(days, &civil);
    int32_t month = unit == TRUNC_YEAR ? 1 : unit == TRUNC_QUARTER ? (civil.month - 1) / 3 * 3 + 1 : civil.month;
    return nl_days_from_civil(civil.year, month, 1);
}

static nl_status trunc_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in, units;
    nl_reader_init(&in, &args[0]);
    nl_reader_init(&units, &args[1]);
    NL_EACH_SELECTED(row)
    {
        trunc_unit unit = find_unit(nl_reader_str(&units, row));
        if (unit == TRUNC_NONE || unit > TRUNC_WEEK)
            NL_TRY(nl_output_null(&output, row));
        else
            ((int32_t *)output.values)[row] = (int32_t)trunc_days(nl_reader_i32(&in, row), unit);
    }
    return NULL;
}

static int64_t floor_to(int64_t micros, int64_t step)
{
    return nl_floor_div(micros, step) * step;
}

static int64_t trunc_timestamp(int64_t micros, trunc_unit unit, const nl_timezone *zone)
{
    switch (unit) {
    case TRUNC_MICROSECOND:
    case TRUNC_NONE:
        return micros;
    case TRUNC_MILLISECOND:
        return floor_to(micros, 1000);
    case TRUNC_SECOND:
        return floor_to(micros, NL_MICROS_PER_SECOND);
    case TRUNC_MINUTE:
    case TRUNC_HOUR: {
        /* On the time line shifted by the offset in force: an hour does not change at a change of offset. */
        int64_t shift = nl_timezone_offset_at(zone, micros) * NL_MICROS_PER_SECOND;
        return floor_to(micros + shift, unit == TRUNC_HOUR ? 3600 * NL_MICROS_PER_SECOND : 60 * NL_MICROS_PER_SECOND) - shift;
    }
    case TRUNC_YEAR:
    case TRUNC_QUARTER:
    case TRUNC_MONTH:
    case TRUNC_WEEK:
    case TRUNC_DAY:
        break;
    }
    int64_t days = nl_floor_div(nl_timezone_to_local(zone, micros), NL_MICROS_PER_DAY);
    return nl_timezone_from_local(zone, trunc_days(days, unit) * NL_MICROS_PER_DAY);
}

static nl_status date_trunc_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader units, in;
    nl_reader_init(&units, &args[0]);
    nl_reader_init(&in, &args[1]);
    trunc_unit unit = TRUNC_NONE;
    NL_EACH_SELECTED(row)
    {
        if (units.row_mask != 0 || i_ == 0) unit = find_unit(nl_reader_str(&units, row));
        if (unit == TRUNC_NONE)
            NL_TRY(nl_output_null(&output, row));
        else
            ((int64_t *)output.values)[row] = trunc_timestamp(nl_reader_i64(&in, row), unit, eval->confs->zone);
    }
    return NULL;
}

static nl_status no_unit_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    return nl_vector_new_null(out, function->result_type, length, eval->memory);
}

/* A constant that is no unit gives NULL before the time is looked at. */
static nl_status bind_trunc(nl_bind *bind, nl_bound_function *bound)
{
    uint32_t unit = bind->row->name[0] == 'd' ? 0 : 1; /* date_trunc(unit, time), trunc(date, unit) */
    const nl_value *name = bind->constants[unit];
    const nl_value *time = bind->given_constants != NULL ? bind->given_constants[1 - unit] : NULL;
    if (name == NULL || name->is_null || find_unit(name->text) != TRUNC_NONE) return NULL;
    bound->kernel = no_unit_kernel;
    if (time != NULL) bind->argument_types[1 - unit] = time->type;
    return NULL;
}

#define PART_ROW(types)                                                                                          \
    .kind = NL_FUNCTION_SCALAR, .group = "datetime", .signature = types, .nulls = NL_NULL_IN_NULL_OUT,         \
    .keeps_non_null = true, .bind = bind_part, .kernel = part_kernel
#define DATE_PART PART_ROW("(date) -> int")
#define TIME_PART PART_ROW("(timestamp) -> int | (timestamp_ntz) -> int")
#define DATETIME .kind = NL_FUNCTION_SCALAR, .group = "datetime", .nulls = NL_NULL_IN_NULL_OUT

static const nl_function_row rows[] = {
    {.name = "year", DATE_PART, .since = "1.5.0", .doc = "The year of a date.", .examples = {{"year('2016-07-30')", "2016"}}},
    {.name = "quarter", DATE_PART, .since = "1.5.0", .doc = "The quarter of the year, 1 to 4.", .examples = {{"quarter('2016-08-31')", "3"}}},
    {.name = "month", DATE_PART, .since = "1.5.0", .doc = "The month of a date, 1 to 12.", .examples = {{"month('2016-07-30')", "7"}}},
    {.name = "weekofyear", DATE_PART, .since = "1.5.0", .doc = "The ISO week of the year.", .examples = {{"weekofyear('2008-02-20')", "8"}}},
    {.name = "dayofmonth", .aliases = "day", DATE_PART, .since = "1.5.0", .doc = "The day of the month.", .examples = {{"day('2009-07-30')", "30"}}},
    {.name = "dayofweek", DATE_PART, .since = "2.3.0", .doc = "The day of the week: Sunday is 1, Saturday 7.", .examples = {{"dayofweek('2009-07-30')", "5"}}},
    {.name = "weekday", DATE_PART, .since = "2.4.0", .doc = "The day of the week: Monday is 0, Sunday 6.", .examples = {{"weekday('2009-07-30')", "3"}}},
    {.name = "dayofyear", DATE_PART, .since = "1.5.0", .doc = "The day of the year, 1 to 366.", .examples = {{"dayofyear('2016-04-09')", "100"}}},
    {.name = "hour", TIME_PART, .since = "1.5.0", .doc = "The hour of a time.", .examples = {{"hour('2009-07-30 12:58:59')", "12"}}},
    {.name = "minute", TIME_PART, .since = "1.5.0", .doc = "The minute of a time.", .examples = {{"minute('2009-07-30 12:58:59')", "58"}}},
    {.name = "second", TIME_PART, .since = "1.5.0", .doc = "The whole second of a time.", .examples = {{"second('2009-07-30 12:58:59')", "59"}}},
    {.name = "extract", .aliases = "date_part,datepart", DATETIME, .signature = "(string, any) -> ?", .keeps_non_null = true,
     .bind = bind_extract, .since = "3.0.0", .doc = "A part of a date, a time or an interval: YEAR, MONTH, DAY, HOUR, SECOND …",
     .examples = {{"extract(YEAR FROM TIMESTAMP '2019-08-12 01:00:00.123456')", "2019"},
                  {"date_part('SECONDS', timestamp'2019-10-01 00:00:01.000001')", "1.000001"}}},
    {.name = "trunc", DATETIME, .signature = "(date, string) -> date", .bind = bind_trunc, .kernel = trunc_kernel, .since = "1.5.0",
     .doc = "The first day of the date's year, quarter, month or week; NULL for another unit.",
     .examples = {{"trunc('2019-08-04', 'week')", "2019-07-29"}, {"trunc('2009-02-12', 'MM')", "2009-02-01"}}},
    {.name = "date_trunc", DATETIME, .signature = "(string, timestamp) -> timestamp", .bind = bind_trunc, .kernel = date_trunc_kernel, .since = "2.3.0",
     .doc = "The time cut to its year, quarter, month, week, day, hour, minute, second, millisecond or microsecond.",
     .examples = {{"date_trunc('HOUR', '2015-03-05T09:32:05.359')", "2015-03-05 09:00:00"}}},
};

NL_DEFINE_FUNCTION_GROUP(datetime_parts, rows);

/* scalar/datetime_units.c - times made of numbers, moved and measured in units, and carried between time zones. */
#include "base/number.h"
#include "function/scalar/datetime.h"

/* --- make_timestamp --- */

typedef struct make_state {
    const nl_timezone *zone; /* of a constant seventh argument; NULL: it varies, or there is none */
    bool is_ntz;
    bool is_lenient;
} make_state;

typedef struct made_fields {
    int32_t year, month, day, hour, minute;
    int64_t second_micros;
} made_fields;

static nl_status raise_bad_time(const made_fields *in, int64_t second)
{
    if (!nl_civil_is_valid(in->year, in->month, in->day)) return nl_raise_bad_date(in->year, in->month, in->day);
    if (in->hour < 0 || in->hour > 23) return nl_raise_out_of_bounds("HourOfDay", "0 - 23", in->hour);
    if (in->minute < 0 || in->minute > 59) return nl_raise_out_of_bounds("MinuteOfHour", "0 - 59", in->minute);
    if (second != 60) return nl_raise_out_of_bounds("SecondOfMinute", "0 - 59", second);
    char text[NL_NUMBER_TEXT_MAX];
    uint32_t length = nl_format_double((double)in->second_micros / 1e6, text);
    return NL_RAISE(INVALID_FRACTION_OF_SECOND, NL_P_STR("secAndMicros", ((nl_str){text, length})));
}

/* Local microseconds, or false. Sixty seconds are a minute. */
static bool make_local(const made_fields *in, int64_t *local, int64_t *second)
{
    int64_t micros = (int32_t)(uint32_t)(uint64_t)in->second_micros; /* Spark keeps 32 bits of it */
    *second = nl_floor_div(micros, NL_MICROS_PER_SECOND);
    bool is_minute = micros == 60 * NL_MICROS_PER_SECOND;
    bool is_valid = nl_civil_is_valid(in->year, in->month, in->day) && in->hour >= 0 && in->hour <= 23 && in->minute >= 0 &&
                    in->minute <= 59 && (is_minute || (*second >= 0 && *second <= 59));
    if (!is_valid) return false;
    int64_t days = nl_days_from_civil(in->year, in->month, in->day);
    int64_t time = (in->hour * 60 + in->minute) * 60 * NL_MICROS_PER_SECOND + micros;
    return !__builtin_mul_overflow(days, NL_MICROS_PER_DAY, local) && !__builtin_add_overflow(*local, time, local);
}

static nl_status find_zone(const nl_timezone *constant, const nl_reader *names, uint32_t row, const nl_timezone **zone)
{
    *zone = constant;
    return constant != NULL ? NULL : nl_timezone_find(nl_reader_str(names, row), zone);
}

static nl_status make_row(nl_row_context *context, const nl_reader *zones, uint32_t row, bool *is_null)
{
    const make_state *state = context->function->state;
    const nl_timezone *zone = context->eval->confs->zone;
    const nl_reader *in = context->readers;
    made_fields fields = {nl_reader_i32(&in[0], row), nl_reader_i32(&in[1], row), nl_reader_i32(&in[2], row),
                          nl_reader_i32(&in[3], row), nl_reader_i32(&in[4], row), nl_reader_i64(&in[5], row)};
    int64_t local = 0;
    int64_t second = 0;
    nl_status status = NULL;
    if (zones != NULL) NL_TRY(find_zone(state->zone, zones, row, &zone)); /* an unknown zone is never forgiven */
    if (!make_local(&fields, &local, &second)) status = raise_bad_time(&fields, second);
    if (status != NULL && state->is_lenient) {
        nl_error_free(status);
        *is_null = true;
        return NULL;
    }
    if (status != NULL) return status;
    ((int64_t *)context->output.values)[row] = state->is_ntz ? local : nl_timezone_from_local(zone, local);
    return NULL;
}

static nl_status make_kernel(NL_KERNEL_PARAMETERS)
{
    nl_row_context context = {.function = function, .eval = eval};
    nl_reader zones;
    bool has_zone = function->argument_count > 6;
    NL_TRY(nl_output_init(&context.output, function->result_type, length, eval->memory, out));
    for (uint32_t i = 0; i < 6; i++) nl_reader_init(&context.readers[i], &args[i]);
    if (has_zone) nl_reader_init(&zones, &args[6]);
    NL_EACH_SELECTED(row)
    {
        bool is_null = false;
        NL_TRY(make_row(&context, has_zone ? &zones : NULL, row, &is_null));
        if (is_null) NL_TRY(nl_output_null(&context.output, row));
    }
    return NULL;
}

/* The zone a constant names; NULL when it is none (rows raise that). */
static const nl_timezone *constant_zone(const nl_bind *bind, uint32_t i)
{
    const nl_value *name = i < bind->argument_count ? bind->constants[i] : NULL;
    const nl_timezone *zone = NULL;
    if (name == NULL || name->is_null) return NULL;
    nl_error_free(nl_timezone_find(name->text, &zone));
    return zone;
}

static nl_status bind_make(nl_bind *bind, nl_bound_function *bound)
{
    make_state *state = NL_NEW(bind->arena, make_state);
    bind->argument_types[5] = nl_type_decimal(16, 6);
    nl_bind_session_timestamp(bind, bound);
    state->is_ntz = bound->result_type->id == NL_TYPE_TIMESTAMP_NTZ;
    state->is_lenient = !bind->confs->is_ansi || nl_str_starts(nl_str_from(bind->row->name), NL_STR("try_"));
    state->zone = constant_zone(bind, 6);
    bound->can_fail = !state->is_lenient;
    bound->is_nullable |= state->is_lenient;
    bound->state = state;
    return NULL;
}

/* --- timestampadd, timestampdiff --- */

typedef enum unit_base { BASE_MICROS, BASE_DAYS, BASE_MONTHS } unit_base;

typedef struct time_unit {
    const char *name;
    unit_base base;
    int64_t size; /* in the base */
} time_unit;

static const time_unit units[] = {
    {"MICROSECOND", BASE_MICROS, 1},     {"MILLISECOND", BASE_MICROS, 1000}, {"SECOND", BASE_MICROS, 1000000},
    {"MINUTE", BASE_MICROS, 60000000},   {"HOUR", BASE_MICROS, 3600000000},  {"DAY", BASE_DAYS, 1},
    {"DAYOFYEAR", BASE_DAYS, 1},         {"WEEK", BASE_DAYS, 7},             {"MONTH", BASE_MONTHS, 1},
    {"QUARTER", BASE_MONTHS, 3},         {"YEAR", BASE_MONTHS, 12},
};

static nl_status bind_unit(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *name = bind->constants[0];
    const bool is_local = strcmp(bind->row->name, "timestampadd") == 0 && bind->given_types[2]->id == NL_TYPE_TIMESTAMP_NTZ;
    if (is_local) bound->result_type = bind->argument_types[2] = bind->given_types[2];
    if (name != NULL && !name->is_null)
        for (size_t i = 0; i < NL_COUNT(units); i++)
            if (nl_str_is_nocase(name->text, units[i].name)) bound->state = &units[i];
    bool is_difference = strcmp(bind->row->name, "timestampdiff") == 0;
    const time_unit *unit = bound->state;
    if (unit != NULL && !(is_difference && strcmp(unit->name, "DAYOFYEAR") == 0)) return NULL; /* which Spark lacks */
    nl_str invalid = nl_arena_f(bind->arena, "'" NL_STR_FMT "'", NL_STR_ARG(nl_bind_argument_sql(bind, 0)));
    return NL_RAISE(INVALID_PARAMETER_VALUE__DATETIME_UNIT, NL_P("functionName", is_difference ? "`TIMESTAMPDIFF`" : "`TIMESTAMPADD`"),
                    NL_P("parameter", "`unit`"), NL_P_STR("invalidValue", invalid));
}

/* Days and months move the local date, smaller units move along the time line. */
static bool move_time(const time_unit *unit, int64_t amount, const nl_timezone *zone, int64_t time, int64_t *moved)
{
    const int64_t days_max = 106751990; /* of 64 bits of microseconds */
    if (__builtin_mul_overflow(amount, unit->size, &amount)) return false;
    if (unit->base == BASE_MICROS) return !__builtin_add_overflow(time, amount, moved);
    int64_t local = zone ? nl_timezone_to_local(zone, time) : time;
    int64_t days = nl_floor_div(local, NL_MICROS_PER_DAY);
    int64_t of_day = local - days * NL_MICROS_PER_DAY;
    if (unit->base == BASE_MONTHS) {
        if (amount > INT32_MAX || amount < INT32_MIN) return false;
        days = nl_add_months(days, amount);
    } else if (__builtin_add_overflow(days, amount, &days)) {
        return false;
    }
    if (days > days_max || days < -days_max) return false;
    local = days * NL_MICROS_PER_DAY + of_day;
    *moved = zone ? nl_timezone_from_local(zone, local) : local;
    return true;
}

static nl_status raise_overflow(const time_unit *unit, int64_t amount, const nl_timezone *zone, int64_t time)
{
    char text[NL_NUMBER_TEXT_MAX];
    nl_builder operation;
    nl_builder_init(&operation, 256);
    nl_append_f(&operation, "add %lldL %s to TIMESTAMP '", (long long)amount, unit->name);
    nl_append(&operation, (nl_str){text, nl_format_timestamp(zone ? nl_timezone_to_local(zone, time) : time, text)});
    nl_append_char(&operation, '\'');
    nl_status status = NL_RAISE(DATETIME_OVERFLOW, NL_P_STR("operation", nl_builder_str(&operation)));
    nl_builder_fini(&operation);
    return status;
}

static nl_status add_units_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const time_unit *unit = context->function->state;
    const nl_timezone *zone = context->function->result_type->id == NL_TYPE_TIMESTAMP ? context->eval->confs->zone : NULL;
    int64_t amount = nl_reader_i64(&context->readers[1], row);
    int64_t time = nl_reader_i64(&context->readers[2], row);
    if (!move_time(unit, amount, zone, time, (int64_t *)context->output.values + row))
        return raise_overflow(unit, amount, zone, time);
    return NULL;
}
NL_VALUE_KERNEL(add_units_kernel, add_units_row)

/* Whole months from a to b, where a later time of the day counts. */
static int64_t months_apart(int64_t a_days, int64_t b_days)
{
    nl_civil a, b;
    nl_civil_from_days(a_days, &a);
    nl_civil_from_days(b_days, &b);
    int64_t months = (int64_t)(b.year - a.year) * 12 + b.month - a.month;
    return (months * 32 + b.day - a.day) / 32;
}

static int64_t units_apart(const time_unit *unit, int64_t a, int64_t b)
{
    if (unit->base == BASE_MICROS) return (int64_t)(((nl_int128)b - a) / unit->size);
    int64_t a_days = nl_floor_div(a, NL_MICROS_PER_DAY);
    int64_t b_days = nl_floor_div(b, NL_MICROS_PER_DAY);
    int64_t a_time = a - a_days * NL_MICROS_PER_DAY;
    int64_t b_time = b - b_days * NL_MICROS_PER_DAY;
    if (b_days > a_days && b_time < a_time)
        b_days--;
    else if (b_days < a_days && b_time > a_time)
        b_days++;
    return (unit->base == BASE_DAYS ? b_days - a_days : months_apart(a_days, b_days)) / unit->size;
}

static nl_status units_apart_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const nl_timezone *zone = context->eval->confs->zone;
    int64_t a = nl_timezone_to_local(zone, nl_reader_i64(&context->readers[1], row));
    int64_t b = nl_timezone_to_local(zone, nl_reader_i64(&context->readers[2], row));
    ((int64_t *)context->output.values)[row] = units_apart(context->function->state, a, b);
    return NULL;
}
NL_VALUE_KERNEL(units_apart_kernel, units_apart_row)

/* --- between zones --- */

typedef struct zones_state {
    const nl_timezone *zones[2]; /* from, to; NULL: varies by row, or the session's */
    bool is_varying[2];
    uint32_t time; /* which argument the time is */
} zones_state;

static nl_status shift_zones_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const zones_state *state = context->function->state;
    const nl_timezone *zones[2] = {state->zones[0], state->zones[1]};
    for (uint32_t i = 0; i < 2; i++) {
        if (state->is_varying[i]) {
            uint32_t argument = state->time == 0 ? 1 : state->time == 1 ? 0 : i;
            NL_TRY(find_zone(NULL, &context->readers[argument], row, &zones[i]));
        } else if (zones[i] == NULL) {
            zones[i] = context->eval->confs->zone;
        }
    }
    int64_t local = nl_reader_i64(&context->readers[state->time], row);
    int64_t instant = nl_timezone_from_local(zones[0], local);
    ((int64_t *)context->output.values)[row] = nl_timezone_to_local(zones[1], instant);
    return NULL;
}
NL_VALUE_KERNEL(shift_zones_kernel, shift_zones_row)

static void set_zone(const nl_bind *bind, zones_state *state, uint32_t which, uint32_t argument)
{
    state->zones[which] = constant_zone(bind, argument);
    state->is_varying[which] = state->zones[which] == NULL;
}

static nl_status bind_utc(nl_bind *bind, nl_bound_function *bound)
{
    zones_state *state = NL_NEW(bind->arena, zones_state);
    bool is_from = bind->row->name[0] == 'f';
    state->zones[is_from ? 0 : 1] = nl_timezone_utc();
    set_zone(bind, state, is_from ? 1 : 0, 1);
    bound->state = state;
    return NULL;
}

static nl_status bind_convert(nl_bind *bind, nl_bound_function *bound)
{
    zones_state *state = NL_NEW(bind->arena, zones_state);
    state->time = bind->argument_count - 1;
    if (bind->argument_count == 3) set_zone(bind, state, 0, 0);
    set_zone(bind, state, 1, state->time - 1);
    bound->state = state;
    return NULL;
}

#define DATETIME .kind = NL_FUNCTION_SCALAR, .group = "datetime", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true
#define MAKE     DATETIME, .bind = bind_make, .kernel = make_kernel
#define PARTS    "int, int, int, int, int, decimal"

static const nl_function_row rows[] = {
    {.name = "make_timestamp", MAKE, .signature = "(" PARTS " [, string]) -> timestamp", .since = "3.0.0",
     .doc = "A time of year, month, day, hour, minute, second and perhaps a time zone.",
     .examples = {{"make_timestamp(2019, 6, 30, 23, 59, 60)", "2019-07-01 00:00:00"}, {"make_timestamp(null, 7, 22, 15, 30, 0)", "NULL"}}},
    {.name = "make_timestamp_ltz", MAKE, .signature = "(" PARTS " [, string]) -> timestamp", .since = "3.4.0",
     .doc = "A time of year, month, day, hour, minute, second and perhaps a time zone.",
     .examples = {{"make_timestamp_ltz(2014, 12, 28, 6, 30, 45.887)", "2014-12-28 06:30:45.887"}}},
    {.name = "make_timestamp_ntz", MAKE, .signature = "(" PARTS ") -> timestamp_ntz", .since = "3.4.0",
     .doc = "A local time of year, month, day, hour, minute and second.",
     .examples = {{"make_timestamp_ntz(2014, 12, 28, 6, 30, 45.887)", "2014-12-28 06:30:45.887"}}},
    {.name = "try_make_timestamp", MAKE, .signature = "(" PARTS " [, string]) -> timestamp", .since = "4.0.0",
     .doc = "As make_timestamp, but NULL for numbers that make no time.", .examples = {{"try_make_timestamp(2024, 13, 22, 15, 30, 0)", "NULL"}}},
    {.name = "try_make_timestamp_ltz", MAKE, .signature = "(" PARTS " [, string]) -> timestamp", .since = "4.0.0",
     .doc = "As make_timestamp_ltz, but NULL for numbers that make no time.", .examples = {{"try_make_timestamp_ltz(2024, 13, 22, 15, 30, 0)", "NULL"}}},
    {.name = "try_make_timestamp_ntz", MAKE, .signature = "(" PARTS ") -> timestamp_ntz", .since = "4.0.0",
     .doc = "As make_timestamp_ntz, but NULL for numbers that make no time.", .examples = {{"try_make_timestamp_ntz(2024, 13, 22, 15, 30, 0)", "NULL"}}},
    {.name = "timestampadd", DATETIME, .is_internal = true, .signature = "(string, bigint, timestamp) -> timestamp | (string, bigint, timestamp_ntz) -> timestamp_ntz",
     .bind = bind_unit, .kernel = add_units_kernel, .since = "3.3.0", .doc = "The time some units later: TIMESTAMPADD(DAY, 1, t)."},
    {.name = "timestampdiff", DATETIME, .is_internal = true, .signature = "(string, timestamp, timestamp) -> bigint", .bind = bind_unit,
     .kernel = units_apart_kernel, .since = "3.3.0", .doc = "Whole units from the first time to the second: TIMESTAMPDIFF(DAY, a, b)."},
    {.name = "from_utc_timestamp", DATETIME, .signature = "(timestamp, string) -> timestamp", .bind = bind_utc, .kernel = shift_zones_kernel, .since = "1.5.0",
     .doc = "The time a clock in the zone shows when one in UTC shows the given one.",
     .examples = {{"from_utc_timestamp('2016-08-31', 'Asia/Seoul')", "2016-08-31 09:00:00"}}},
    {.name = "to_utc_timestamp", DATETIME, .signature = "(timestamp, string) -> timestamp", .bind = bind_utc, .kernel = shift_zones_kernel, .since = "1.5.0",
     .doc = "The time a clock in UTC shows when one in the zone shows the given one.",
     .examples = {{"to_utc_timestamp('2016-08-31', 'Asia/Seoul')", "2016-08-30 15:00:00"}}},
    {.name = "convert_timezone", DATETIME, .signature = "(string, timestamp_ntz) -> timestamp_ntz | (string, string, timestamp_ntz) -> timestamp_ntz",
     .bind = bind_convert, .kernel = shift_zones_kernel, .since = "3.4.0",
     .doc = "A local time of the first zone, or the session's, as local time of another.",
     .examples = {{"convert_timezone('Europe/Brussels', 'America/Los_Angeles', timestamp_ntz'2021-12-06 00:00:00')", "2021-12-05 15:00:00"}}},
};

NL_DEFINE_FUNCTION_GROUP(datetime_units, rows);

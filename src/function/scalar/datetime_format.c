/* scalar/datetime_format.c - dates and times to and from text by patterns: date_format, to_date, to_timestamp,
 * unix_timestamp, from_unixtime, and the names of days and months.
 */
#include "function/cast.h"
#include "function/scalar/datetime.h"

/* --- patterns --- */

#define CACHE_COMPILED_MAX 64u /* the arena starts anew after so many changes of the pattern */

const nl_datetime_pattern *nl_bind_pattern(const nl_bind *bind, uint32_t i, nl_datetime_use use)
{
    const nl_value *value = i < bind->argument_count ? bind->constants[i] : NULL;
    const nl_datetime_pattern *pattern = NULL;
    if (value == NULL || value->is_null || value->type->id != NL_TYPE_STRING) return NULL;
    nl_status status = nl_datetime_compile(value->text, use, bind->arena, &pattern);
    if (status == NULL) return pattern;
    nl_error_free(status);
    return NULL;
}

void nl_pattern_cache_fini(nl_pattern_cache *cache)
{
    nl_arena_free(cache->arena);
    cache->arena = NULL;
}

nl_status nl_pattern_cache_get(nl_pattern_cache *cache, nl_str text, const nl_datetime_pattern **pattern)
{
    if (cache->constant != NULL) {
        *pattern = cache->constant;
        return NULL;
    }
    if (cache->last == NULL || !nl_str_equal(cache->last_text, text)) {
        if (cache->arena == NULL || cache->compiled_count >= CACHE_COMPILED_MAX) {
            nl_arena_free(cache->arena);
            cache->arena = nl_arena_new(NULL);
            cache->compiled_count = 0;
        }
        cache->last = NULL;
        cache->last_text = nl_arena_str(cache->arena, text);
        NL_TRY(nl_datetime_compile(cache->last_text, cache->use, cache->arena, &cache->last));
        NL_TRY(nl_arena_check(cache->arena));
        cache->compiled_count++;
    }
    *pattern = cache->last;
    return NULL;
}

/* --- times to text --- */

typedef struct format_state {
    const nl_datetime_pattern *pattern; /* NULL: the pattern varies */
    int64_t unit;                       /* microseconds of the number: 1, or 1000000 for seconds */
} format_state;

static nl_status format_row(const format_state *state, const nl_timezone *zone, int64_t number,
                            const nl_datetime_pattern *pattern, nl_builder *text)
{
    int64_t micros;
    nl_builder_clear(text);
    (void)__builtin_mul_overflow(number, state->unit, &micros); /* too many seconds wrap around, as Spark's do */
    return nl_datetime_format_timestamp(pattern, micros, zone, text);
}

static nl_datetime_use use_of(const nl_eval_confs *confs, nl_datetime_use use)
{
    return confs->is_legacy_time_parser ? NL_DATETIME_LEGACY : use;
}

static nl_status format_kernel(NL_KERNEL_PARAMETERS)
{
    const format_state *state = function->state;
    nl_pattern_cache cache = {.constant = state->pattern, .use = use_of(eval->confs, NL_DATETIME_FORMAT)};
    nl_output output;
    nl_reader times;
    nl_reader patterns = {0};
    nl_builder text;
    nl_status status = NULL;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&times, &args[0]);
    if (function->argument_count > 1) nl_reader_init(&patterns, &args[1]);
    nl_builder_init(&text, NL_VALUE_BYTES_MAX);
    NL_EACH_SELECTED(row)
    {
        const nl_datetime_pattern *pattern = NULL;
        nl_str written = function->argument_count > 1 ? nl_reader_str(&patterns, row) : NL_STR("");
        NL_GO(nl_pattern_cache_get(&cache, written, &pattern));
        NL_GO(format_row(state, eval->confs->zone, nl_reader_i64(&times, row), pattern, &text));
        NL_GO(nl_output_builder(&output, row, &text));
    }
done:
    nl_builder_fini(&text);
    nl_pattern_cache_fini(&cache);
    return status;
}

#define DEFAULT_PATTERN "yyyy-MM-dd HH:mm:ss"

static nl_status bind_format(nl_bind *bind, nl_bound_function *bound)
{
    format_state *state = NL_NEW(bind->arena, format_state);
    bool is_seconds = strcmp(bind->row->name, "from_unixtime") == 0;
    state->unit = is_seconds ? NL_MICROS_PER_SECOND : 1;
    if (bind->argument_count == 1)
        NL_TRY(nl_datetime_compile(NL_STR(DEFAULT_PATTERN), use_of(bind->confs, NL_DATETIME_FORMAT), bind->arena, &state->pattern));
    else
        state->pattern = nl_bind_pattern(bind, 1, use_of(bind->confs, NL_DATETIME_FORMAT));
    bound->state = state;
    return NULL;
}

/* --- text to times --- */

typedef struct parse_state {
    const nl_datetime_pattern *pattern; /* NULL: the pattern varies       */
    bool is_lenient;                    /* a text that does not fit: null */
} parse_state;

/* One call on a batch. */
typedef struct parsing {
    const parse_state *state;
    const nl_timezone *zone;
    const nl_type *from;
    const nl_type *to; /* DATE, TIMESTAMP, TIMESTAMP_NTZ, or BIGINT: seconds */
    nl_pattern_cache cache;
    nl_output output;
} parsing;

static nl_status raise_unparsed(const nl_datetime_pattern *pattern, nl_str text)
{
    nl_builder message;
    nl_builder_init(&message, 4096);
    nl_datetime_explain(pattern, text, &message);
    nl_status status = NL_RAISE(CANNOT_PARSE_TIMESTAMP, NL_P_STR("message", nl_builder_str(&message)),
                                NL_P("func", "`try_to_timestamp`"));
    nl_builder_fini(&message);
    return status;
}

/* Spark's times without zone are taken as they are, whatever is asked for. */
static void store_micros(parsing *p, uint32_t row, int64_t micros, bool is_instant)
{
    switch ((int)p->to->id) {
    case NL_TYPE_DATE:
        if (is_instant) micros = nl_timezone_to_local(p->zone, micros);
        ((int32_t *)p->output.values)[row] = (int32_t)nl_floor_div(micros, NL_MICROS_PER_DAY);
        return;
    case NL_TYPE_BIGINT:
        ((int64_t *)p->output.values)[row] = micros / NL_MICROS_PER_SECOND; /* towards zero, as Java's division */
        return;
    default:
        ((int64_t *)p->output.values)[row] = micros;
    }
}

static nl_status parse_row(parsing *p, uint32_t row, nl_str text, nl_str written)
{
    const nl_datetime_pattern *pattern = NULL;
    int64_t micros = 0;
    NL_TRY(nl_pattern_cache_get(&p->cache, written, &pattern));
    bool is_ntz = p->to->id == NL_TYPE_TIMESTAMP_NTZ;
    bool fits = is_ntz ? nl_datetime_parse_ntz(pattern, text, true, &micros)
                       : nl_datetime_parse_timestamp(pattern, text, p->zone, &micros);
    if (fits) {
        store_micros(p, row, micros, !is_ntz);
        return NULL;
    }
    if (p->state->is_lenient) return nl_output_null(&p->output, row);
    return raise_unparsed(pattern, text);
}

static nl_status parse_rows(parsing *p, const nl_reader *in, const nl_reader *patterns, nl_selection selection)
{
    NL_EACH_SELECTED(row)
    {
        switch ((int)p->from->id) {
        case NL_TYPE_STRING:
            NL_TRY(parse_row(p, row, nl_reader_str(in, row), patterns->values ? nl_reader_str(patterns, row) : NL_STR("")));
            break;
        case NL_TYPE_DATE:
            store_micros(p, row, nl_timezone_from_local(p->zone, nl_reader_i32(in, row) * NL_MICROS_PER_DAY), true);
            break;
        default:
            store_micros(p, row, nl_reader_i64(in, row), true);
        }
    }
    return NULL;
}

/* Times without a zone never were SimpleDateFormat's. */
static nl_datetime_use parse_use(const nl_eval_confs *confs, const nl_type *to)
{
    return to->id == NL_TYPE_TIMESTAMP_NTZ ? NL_DATETIME_PARSE_TIMESTAMP : use_of(confs, NL_DATETIME_PARSE_TIMESTAMP);
}

static nl_status parse_kernel(NL_KERNEL_PARAMETERS)
{
    const parse_state *state = function->state;
    const nl_datetime_use use = parse_use(eval->confs, function->result_type);
    parsing p = {.state = state, .zone = eval->confs->zone, .from = args[0].type, .to = function->result_type,
                 .cache = {.constant = state->pattern, .use = use}};
    nl_reader in;
    nl_reader patterns = {0};
    NL_TRY(nl_output_init(&p.output, function->result_type, length, eval->memory, out));
    nl_reader_init(&in, &args[0]);
    if (function->argument_count > 1) nl_reader_init(&patterns, &args[1]);
    nl_status status = parse_rows(&p, &in, &patterns, selection);
    const bool is_unknown = status && nl_error_condition(status) == NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION;
    if (is_unknown && function->result_type->id == NL_TYPE_TIMESTAMP_NTZ) { /* it would mean nothing to SimpleDateFormat either */
        nl_error_free(status);
        nl_builder shown;
        nl_builder_init(&shown, 4096);
        nl_append_f(&shown, "'" NL_STR_FMT "'", NL_STR_ARG(p.cache.last_text));
        status = NL_RAISE(_LEGACY_ERROR_TEMP_2130, NL_P_STR("pattern", nl_builder_str(&shown)), NL_P("docroot", "https://spark.apache.org/docs/latest"));
        nl_builder_fini(&shown);
    }
    nl_pattern_cache_fini(&p.cache);
    return status;
}

static nl_status seconds_now_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    nl_value now = nl_value_int(nl_type_bigint(), nl_floor_div(eval->confs->now_micros, NL_MICROS_PER_SECOND));
    return nl_vector_new_constant(out, &now, length, eval->memory);
}

static nl_status try_cast_kernel(NL_KERNEL_PARAMETERS)
{
    (void)length;
    return nl_cast_vector(eval, NL_CAST_TRY, &args[0], function->result_type, selection, out);
}

static nl_status check_time(nl_bind *bind)
{
    switch ((int)bind->argument_types[0]->id) {
    case NL_TYPE_NULL:
        bind->argument_types[0] = nl_type_string();
        return NULL;
    case NL_TYPE_STRING:
    case NL_TYPE_DATE:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
        return NULL;
    default:
        return nl_bind_unexpected_type(bind, 0, "(\"STRING\" or \"DATE\" or \"TIMESTAMP\" or \"TIMESTAMP_NTZ\")");
    }
}

void nl_bind_session_timestamp(const nl_bind *bind, nl_bound_function *bound)
{
    const bool is_named = nl_str_ends(bind->name, NL_STR("_ltz")) || nl_str_ends(bind->name, NL_STR("_LTZ"));
    if (bind->confs->is_timestamp_ntz && bound->result_type->id == NL_TYPE_TIMESTAMP && !is_named) bound->result_type = nl_type_of(NL_TYPE_TIMESTAMP_NTZ);
}

static nl_status bind_parse(nl_bind *bind, nl_bound_function *bound)
{
    bool is_try = nl_str_starts(nl_str_from(bind->row->name), NL_STR("try_"));
    bool is_seconds = bound->result_type->id == NL_TYPE_BIGINT;
    nl_bind_session_timestamp(bind, bound);
    if (bind->argument_count == 0) {
        bound->kernel = seconds_now_kernel;
        bound->is_nullable = false;
        return NULL;
    }
    if (bind->argument_count == 1 && !is_seconds) {
        NL_TRY(nl_bind_cast_to(bind, bound));
        bound->kernel = is_try ? try_cast_kernel : nl_cast_to_result;
        bound->is_nullable |= is_try;
        bound->can_fail &= !is_try;
        return NULL;
    }
    if (is_seconds && bind->argument_count > 1) NL_TRY(nl_bind_only_string(bind, 1));
    if (is_seconds) NL_TRY(check_time(bind)); /* the others cast what is no time to text */
    parse_state *state = NL_NEW(bind->arena, parse_state);
    state->is_lenient = is_try || !bind->confs->is_ansi;
    if (bind->argument_count == 1)
        NL_TRY(nl_datetime_compile(NL_STR(DEFAULT_PATTERN), parse_use(bind->confs, bound->result_type), bind->arena, &state->pattern));
    else
        state->pattern = nl_bind_pattern(bind, 1, parse_use(bind->confs, bound->result_type));
    bound->state = state;
    bound->can_fail = !state->is_lenient || state->pattern == NULL;
    bound->is_nullable |= state->is_lenient;
    return NULL;
}

/* --- names --- */

static nl_status name_kernel(NL_KERNEL_PARAMETERS)
{
    static const char days[] = "MonTueWedThuFriSatSun";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    bool is_day = function->row->name[0] == 'd';
    nl_output output;
    nl_reader dates;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader_init(&dates, &args[0]);
    NL_EACH_SELECTED(row)
    {
        int32_t date = nl_reader_i32(&dates, row);
        nl_civil civil;
        nl_civil_from_days(date, &civil);
        const char *name = is_day ? days + 3 * (nl_day_of_week(date) - 1) : months + 3 * (civil.month - 1);
        nl_output_slice(&output, row, (nl_str){name, 3}); /* lies inside of its view */
    }
    return NULL;
}

#define NULLABLE .kind = NL_FUNCTION_SCALAR, .group = "datetime", .nulls = NL_NULL_IN_NULL_OUT
#define DATETIME NULLABLE, .keeps_non_null = true
#define PARSE    DATETIME, .can_fail = true, .bind = bind_parse, .kernel = parse_kernel
#define TIMES    "string/date/timestamp/timestamp_ntz"

static const nl_function_row rows[] = {
    {.name = "date_format", DATETIME, .can_fail = true, .signature = "(timestamp, string) -> string", .bind = bind_format, .kernel = format_kernel,
     .since = "1.5.0", .doc = "The time as text by a pattern such as 'yyyy-MM-dd'.", .examples = {{"date_format('2016-04-08', 'y')", "2016"}}},
    {.name = "from_unixtime", NULLABLE, .can_fail = true, .signature = "(bigint [, string]) -> string", .bind = bind_format, .kernel = format_kernel,
     .since = "1.5.0", .doc = "The time that many seconds after 1970-01-01 UTC as text by a pattern, 'yyyy-MM-dd HH:mm:ss' when none is given.",
     .examples = {{"length(from_unixtime(0, 'yyyy-MM-dd HH:mm:ss'))", "19"}}},
    {.name = "to_date", PARSE, .signature = "(any) -> date | (" TIMES ", string) -> date", .since = "1.5.0",
     .doc = "The value as a date, read by a pattern when one is given.",
     .examples = {{"to_date('2009-07-30 04:17:52')", "2009-07-30"}, {"to_date('2016-12-31', 'yyyy-MM-dd')", "2016-12-31"}}},
    {.name = "to_timestamp", .aliases = "to_timestamp_ltz", PARSE, .signature = "(any) -> timestamp | (" TIMES ", string) -> timestamp",
     .since = "2.2.0", .doc = "The value as a time, read by a pattern when one is given.",
     .examples = {{"to_timestamp('2016-12-31 00:12:00')", "2016-12-31 00:12:00"}, {"to_timestamp('2016-12-31', 'yyyy-MM-dd')", "2016-12-31 00:00:00"}}},
    {.name = "to_timestamp_ntz", PARSE, .signature = "(any) -> timestamp_ntz | (" TIMES ", string) -> timestamp_ntz", .since = "3.4.0",
     .doc = "The value as a local time without a time zone, read by a pattern when one is given.",
     .examples = {{"to_timestamp_ntz('2016-12-31 00:12:00')", "2016-12-31 00:12:00"}, {"to_timestamp_ntz('2016-12-31', 'yyyy-MM-dd')", "2016-12-31 00:00:00"}}},
    {.name = "try_to_timestamp", PARSE, .signature = "(any) -> timestamp | (" TIMES ", string) -> timestamp", .since = "3.5.0",
     .doc = "As to_timestamp, but NULL for a value that is no time.",
     .examples = {{"try_to_timestamp('2016-12-31', 'yyyy-MM-dd')", "2016-12-31 00:00:00"}, {"try_to_timestamp('foo', 'yyyy-MM-dd')", "NULL"}}},
    {.name = "unix_timestamp", PARSE, .signature = "() -> bigint | (any [, any]) -> bigint", .since = "1.5.0",
     .doc = "Whole seconds from 1970-01-01 UTC to a time, read by a pattern, or to now.",
     .examples = {{"unix_timestamp('2016-04-08', 'yyyy-MM-dd') > 0", "true"}}},
    {.name = "to_unix_timestamp", PARSE, .signature = "(any [, any]) -> bigint", .since = "1.6.0",
     .doc = "Whole seconds from 1970-01-01 UTC to a time, read by a pattern.",
     .examples = {{"to_unix_timestamp('2016-04-08', 'yyyy-MM-dd') > 0", "true"}}},
    {.name = "dayname", DATETIME, .signature = "(date) -> string", .kernel = name_kernel, .since = "4.0.0",
     .doc = "The short English name of the day of the week.", .examples = {{"dayname(DATE('2008-02-20'))", "Wed"}}},
    {.name = "monthname", DATETIME, .signature = "(date) -> string", .kernel = name_kernel, .since = "4.0.0",
     .doc = "The short English name of the month.", .examples = {{"monthname(DATE('2008-02-20'))", "Feb"}}},
};

NL_DEFINE_FUNCTION_GROUP(datetime_format, rows);

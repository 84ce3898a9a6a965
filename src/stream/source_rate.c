/* stream/source_rate.c - the sources rate (so many rows a second, since the query began) and rate-micro-batch (so many rows
 * a batch). Rows are made from their numbers, so that a repeated batch has the same ones.
 * Offsets: seconds since the beginning, whose time is in sources/S/0; {"offset":…,"timestamp":…}. */
#include "stream/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "exec/source/rows_source.h"
#include "function/interval.h"

#define PART_ROWS     65536
#define SECOND_MICROS 1000000ll

typedef struct rate_options {
    int64_t rows_per_second, ramp_up_seconds;
    nl_str partition_text;
    int64_t rows_per_batch, start_ms, advance_ms;
} rate_options;

typedef struct rate_source {
    nl_stream_source base;
    nl_arena *arena; /* owned */
    const nl_type *row_type;
    rate_options options;
    int64_t created_ms;
    int64_t last_seconds; /* a clock that is set back does not make rows disappear */
    bool is_frozen;
    nl_str frozen_end;    /* the first answer since then */
} rate_source;

/* ---- options ---- */

static nl_status whole_number(const nl_stream_definition *definition, const char *key, int64_t least, int64_t *number)
{
    const nl_str text = nl_stream_option(definition, key);
    if (!text.data) return NULL;
    if (!nl_parse_int64(text, number) || *number < least)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid value '" NL_STR_FMT "'. The option '%s' must be %s", NL_STR_ARG(text), key, least > 0 ? "positive" : "non-negative");
    return NULL;
}

static nl_status seconds_of(const nl_stream_definition *definition, const char *key, int64_t *seconds)
{
    const nl_str text = nl_stream_option(definition, key);
    nl_interval interval = {0};
    if (!text.data) return NULL;
    if (!nl_parse_int64(text, seconds)) {
        if (!nl_interval_parse(text, &interval) && text.length && (text.data[text.length - 1] == 's')) {
            if (!nl_parse_int64(nl_str_slice(text, 0, text.length - 1), seconds)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid value '" NL_STR_FMT "' of the option '%s'", NL_STR_ARG(text), key);
        } else {
            *seconds = interval.micros / SECOND_MICROS;
        }
    }
    if (*seconds < 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid value '" NL_STR_FMT "'. The option '%s' must not be negative", NL_STR_ARG(text), key);
    return NULL;
}

static nl_status read_options(const nl_stream_definition *definition, rate_options *options)
{
    const bool is_micro = nl_str_is_nocase(definition->format, "rate-micro-batch");
    *options = (rate_options){.rows_per_second = 1, .rows_per_batch = 0, .advance_ms = 1000, .partition_text = nl_stream_option(definition, "numPartitions")};
    if (definition->schema) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The %s source does not support a user-specified schema.", is_micro ? "rate-micro-batch" : "rate");
    if (!is_micro) {
        NL_TRY(whole_number(definition, "rowsPerSecond", 1, &options->rows_per_second));
        return seconds_of(definition, "rampUpTime", &options->ramp_up_seconds);
    }
    NL_TRY(whole_number(definition, "rowsPerBatch", 1, &options->rows_per_batch));
    NL_TRY(whole_number(definition, "startTimestamp", 0, &options->start_ms));
    NL_TRY(whole_number(definition, "advanceMillisPerBatch", 0, &options->advance_ms));
    if (!options->rows_per_batch) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid value '0'. The option 'rowsPerBatch' must be positive");
    return NULL;
}

static nl_status describe(nl_session *session, nl_stream_definition *definition, nl_arena *arena, const nl_type **row_type, nl_str *label)
{
    rate_options options;
    (void)session, (void)label;
    NL_TRY(read_options(definition, &options));
    const nl_field fields[] = {{.name = NL_STR("timestamp"), .type = nl_type_of(NL_TYPE_TIMESTAMP), .is_nullable = true},
                               {.name = NL_STR("value"), .type = nl_type_bigint(), .is_nullable = true}};
    *row_type = nl_type_struct(arena, fields, 2);
    return NULL;
}

/* ---- rows ---- */

/* How many rows there are before the end of a second: the rate grows evenly until the ramp is over. */
static int64_t value_at_second(const rate_options *options, int64_t seconds)
{
    const int64_t ramp = options->ramp_up_seconds, rate = options->rows_per_second;
    const int64_t delta = ramp + 1 > 0 ? rate / (ramp + 1) : rate;
    if (seconds <= ramp) {
        if (seconds % 2 == 1) return (seconds + 1) / 2 * delta * seconds;
        return seconds / 2 * delta * (seconds + 1);
    }
    const int64_t at_ramp = ramp == 0 ? 0 : value_at_second(options, ramp);
    return at_ramp + (seconds - ramp) * rate;
}

typedef struct rate_rows { /* of one table */
    nl_arena *arena;
    int64_t first, stop;
    int64_t start_ms;
    double ms_per_row;
} rate_rows;

static nl_status produce(void *owner, nl_query *query, uint32_t part, const bool *wanted, nl_column_builder **builders)
{
    const rate_rows *rows = owner;
    (void)query, (void)wanted;
    const int64_t begin = rows->first + (int64_t)part * PART_ROWS;
    for (int64_t value = begin; value < rows->stop && value < begin + PART_ROWS; value++) {
        const int64_t ms = rows->start_ms + (int64_t)llround((double)(value - rows->first) * rows->ms_per_row);
        NL_TRY(nl_column_builder_i64(builders[0], ms * 1000));
        NL_TRY(nl_column_builder_i64(builders[1], value));
    }
    return NULL;
}

static void free_rows(void *owner)
{
    nl_arena_free(((rate_rows *)owner)->arena);
}

static nl_status make_table(const rate_source *self, int64_t first, int64_t stop, int64_t start_ms, double ms_per_row, const nl_table **table)
{
    nl_arena *arena = nl_arena_new(NULL);
    rate_rows *rows = NL_NEW(arena, rate_rows);
    *rows = (rate_rows){.arena = arena, .first = first, .stop = stop, .start_ms = start_ms, .ms_per_row = ms_per_row};
    const nl_rows_definition definition = {.kind = "rate",
                                           .name = NL_STR("rate"),
                                           .row_type = nl_type_copy(arena, self->row_type),
                                           .part_count = (uint32_t)((stop - first + PART_ROWS - 1) / PART_ROWS),
                                           .produce = produce,
                                           .owner = rows,
                                           .free_owner = free_rows};
    return nl_rows_source_new(&definition, table);
}

/* ---- rate ---- */

static rate_source *rate_of(nl_stream_source *base)
{
    return NL_CONTAINER(NL_UNCONST(base), rate_source, base);
}

static nl_status parse_seconds(nl_str text, int64_t *seconds)
{
    *seconds = 0;
    if (!text.length || nl_parse_int64(text, seconds)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The offset " NL_STR_FMT " of a rate source is no number.", NL_STR_ARG(text));
}

static nl_status freeze(nl_stream_source *base)
{
    rate_of(base)->is_frozen = true;
    return NULL;
}

/* An answer that stays once the source is frozen. */
static nl_str kept_end(rate_source *self, nl_str end)
{
    if (!self->is_frozen) return end;
    if (!self->frozen_end.data) self->frozen_end = nl_arena_str(self->arena, end);
    return self->frozen_end;
}

static nl_status rate_latest(nl_stream_source *base, nl_arena *arena, nl_str start, bool is_limited, nl_str *end)
{
    rate_source *self = rate_of(base);
    int64_t from = 0;
    (void)is_limited;
    NL_TRY(parse_seconds(start, &from));
    const int64_t seconds = (nl_now_micros() / 1000 - self->created_ms) / 1000;
    self->last_seconds = NL_MAX(NL_MAX(self->last_seconds, seconds), from);
    *end = kept_end(self, nl_arena_f(arena, "%" PRId64, self->last_seconds)); /* the first may be 0: a batch without rows, as Spark's */
    return NULL;
}

static nl_status rate_table(nl_stream_source *base, const nl_stream_range *range, const nl_table **table, int64_t *row_count)
{
    rate_source *self = rate_of(base);
    int64_t start = 0, end = 0;
    NL_TRY(parse_seconds(range->start, &start));
    NL_TRY(parse_seconds(range->end, &end));
    const int64_t first = value_at_second(&self->options, start), stop = value_at_second(&self->options, end);
    *row_count = stop - first;
    const double ms_per_row = stop > first ? (double)(end - start) * 1000.0 / (double)(stop - first) : 0;
    return make_table(self, first, stop, self->created_ms + start * 1000, ms_per_row, table);
}

static void append_rate(const nl_stream_source *base, nl_builder *out)
{
    const rate_source *self = NL_CONTAINER(NL_UNCONST(base), rate_source, base);
    const nl_str partitions = self->options.partition_text;
    nl_append_f(out, "RateStreamV2[rowsPerSecond=%" PRId64 ", rampUpTimeSeconds=%" PRId64 ", numPartitions=" NL_STR_FMT, self->options.rows_per_second,
                self->options.ramp_up_seconds, NL_STR_ARG(partitions.data ? partitions : NL_STR("default")));
}

static void free_source(nl_stream_source *base)
{
    nl_arena_free(rate_of(base)->arena);
}

static const nl_stream_source_ops rate_ops = {.latest = rate_latest, .table = rate_table, .freeze = freeze, .append_description = append_rate, .free = free_source};

/* When the query began: kept for ever, so that times go on after a restart. */
static nl_status take_creation(rate_source *self, const nl_stream_source_environment *environment)
{
    const nl_str log = nl_arena_f(self->arena, "sources/%u", environment->ordinal);
    nl_str text = {0};
    bool is_found = false;
    NL_TRY(nl_stream_log_read(environment->checkpoint, nl_str_c(self->arena, log), NL_STR("0"), self->arena, &text, &is_found));
    if (is_found && nl_parse_int64(nl_str_trim(text), &self->created_ms)) return NULL;
    self->created_ms = nl_now_micros() / 1000;
    if (is_found) return NL_RAISE_TEXT(NILAS_STREAM_STATE, "The log of a rate source (" NL_STR_FMT "/0) holds no time.", NL_STR_ARG(log));
    return nl_stream_log_add(environment->checkpoint, nl_str_c(self->arena, log), NL_STR("0"), nl_arena_f(self->arena, "%" PRId64, self->created_ms));
}

static nl_status open_any(const nl_stream_definition *definition, const nl_type *row_type, const nl_stream_source_ops *ops, rate_source **made)
{
    nl_arena *arena = nl_arena_new(NULL);
    rate_source *self = NL_NEW(arena, rate_source);
    *self = (rate_source){.base.ops = ops, .arena = arena, .row_type = nl_type_copy(arena, row_type)};
    nl_status status = read_options(definition, &self->options);
    if (self->options.partition_text.data) self->options.partition_text = nl_arena_str(arena, self->options.partition_text);
    if (status)
        nl_arena_free(arena);
    else
        *made = self;
    return status;
}

static nl_status open_rate(const nl_stream_definition *definition, const nl_type *row_type, const nl_stream_source_environment *environment, nl_stream_source **source)
{
    rate_source *self = NULL;
    NL_TRY(open_any(definition, row_type, &rate_ops, &self));
    nl_status status = take_creation(self, environment);
    if (status)
        nl_arena_free(self->arena);
    else
        *source = &self->base;
    return status;
}

const nl_stream_kind nl_stream_kind_rate = {.name = "rate", .describe = describe, .open = open_rate};

/* ---- rate-micro-batch ---- */

static nl_status parse_micro(nl_str text, nl_arena *arena, const rate_options *options, int64_t *offset, int64_t *ms)
{
    const json_t *json = NULL;
    *offset = 0;
    *ms = options->start_ms;
    if (!text.length) return NULL;
    NL_TRY(nl_json_parse(arena, text, NL_STR("the offset of a rate-micro-batch source"), &json));
    NL_TRY(nl_json_object(json, NL_STR("the offset of a rate-micro-batch source"), "an offset"));
    NL_TRY(nl_json_int64(json, "offset", text, offset));
    return nl_json_int64(json, "timestamp", text, ms);
}

static nl_status micro_latest(nl_stream_source *base, nl_arena *arena, nl_str start, bool is_limited, nl_str *end)
{
    rate_source *self = rate_of(base);
    int64_t offset, ms;
    (void)is_limited;
    NL_TRY(parse_micro(start, arena, &self->options, &offset, &ms));
    *end = kept_end(self, nl_arena_f(arena, "{\"offset\":%" PRId64 ",\"timestamp\":%" PRId64 "}", offset + self->options.rows_per_batch, ms + self->options.advance_ms));
    return NULL;
}

static nl_status micro_table(nl_stream_source *base, const nl_stream_range *range, const nl_table **table, int64_t *row_count)
{
    rate_source *self = rate_of(base);
    nl_arena *scratch = nl_arena_new(NULL);
    int64_t first = 0, stop = 0, start_ms = 0, end_ms = 0;
    nl_status status = parse_micro(range->start, scratch, &self->options, &first, &start_ms);
    if (!status) status = parse_micro(range->end, scratch, &self->options, &stop, &end_ms);
    if (!status) status = make_table(self, first, stop, start_ms, 0, table);
    *row_count = stop - first;
    nl_arena_free(scratch);
    return status;
}

static void append_micro(const nl_stream_source *base, nl_builder *out)
{
    const rate_source *self = NL_CONTAINER(NL_UNCONST(base), rate_source, base);
    const nl_str partitions = self->options.partition_text;
    nl_append_f(out, "RatePerMicroBatchStream[rowsPerBatch=%" PRId64 ", numPartitions=" NL_STR_FMT ", startTimestamp=%" PRId64 ", advanceMsPerBatch=%" PRId64 "]",
                self->options.rows_per_batch, NL_STR_ARG(partitions.data ? partitions : NL_STR("default")), self->options.start_ms, self->options.advance_ms);
}

static const nl_stream_source_ops micro_ops = {.latest = micro_latest, .table = micro_table, .freeze = freeze, .append_description = append_micro, .free = free_source};

static nl_status open_micro(const nl_stream_definition *definition, const nl_type *row_type, const nl_stream_source_environment *environment, nl_stream_source **source)
{
    rate_source *self = NULL;
    (void)environment;
    NL_TRY(open_any(definition, row_type, &micro_ops, &self));
    *source = &self->base;
    return NULL;
}

const nl_stream_kind nl_stream_kind_rate_micro = {.name = "rate-micro-batch", .describe = describe, .open = open_micro};

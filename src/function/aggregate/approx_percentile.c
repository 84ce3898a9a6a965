/* aggregate/approx_percentile.c - percentile_approx: a summary of samples with bounds on their ranks.
 *
 * Greenwald, Khanna, "Space-Efficient Online Computation of Quantile Summaries" (2001), with Spark's batching: values
 * are gathered, sorted and merged into the samples 50,000 at a time, so that one worker's answers are Spark's for one
 * partition. The error bound is 1 / accuracy of the number of rows.
 */
#include "function/aggregate/parameter.h"
#include "function/groups.h"

#include <math.h>
#include <stdlib.h>

#define HEAD_VALUES      50000u
#define COMPRESS_SAMPLES 10000u

typedef struct sample {
    double value;
    int64_t gap;   /* least number of ranks after the sample before */
    int64_t delta; /* ranks it may span */
} sample;

typedef struct summary {
    nl_agg_bytes head;    /* double[]: values not yet merged */
    nl_agg_bytes samples; /* sample[], ascending            */
    int64_t count;        /* of the values in samples       */
} summary;
NL_AGGREGATE_SIZE(summary, summary)

typedef struct approx_how {
    nl_percentages percentages;
    double error;
} approx_how;

static uint32_t sample_count(const summary *s)
{
    return (uint32_t)(s->samples.length / sizeof(sample));
}

static sample *samples_of(const summary *s)
{
    return (sample *)(void *)s->samples.data;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static nl_status add_sample(nl_agg_bytes *into, nl_memory *memory, sample one)
{
    return nl_agg_bytes_append(into, memory, &one, sizeof one);
}

/* Sorts the gathered values and merges them with the samples. */
static nl_status merge_head(summary *s, nl_memory *memory, double error)
{
    uint32_t head_count = (uint32_t)(s->head.length / sizeof(double));
    if (head_count == 0) return NULL;
    double *values = (double *)(void *)s->head.data;
    qsort(values, head_count, sizeof *values, compare_doubles); /* at most HEAD_VALUES */
    const sample *old = samples_of(s);
    uint32_t old_count = sample_count(s);
    uint32_t taken = 0;
    nl_agg_bytes merged = {0};
    nl_status status = nl_agg_bytes_reserve(&merged, memory, ((size_t)head_count + old_count) * sizeof(sample));
    for (uint32_t i = 0; i < head_count && status == NULL; i++) {
        for (; taken < old_count && old[taken].value <= values[i] && status == NULL; taken++)
            status = add_sample(&merged, memory, old[taken]);
        s->count++;
        bool is_end = merged.length == 0 || (taken == old_count && i == head_count - 1);
        int64_t delta = is_end ? 0 : (int64_t)floor(2 * error * (double)s->count);
        if (status == NULL) status = add_sample(&merged, memory, (sample){.value = values[i], .gap = 1, .delta = delta});
    }
    for (; taken < old_count && status == NULL; taken++) status = add_sample(&merged, memory, old[taken]);
    nl_agg_bytes_free(&s->samples, memory);
    s->samples = merged;
    s->head.length = 0;
    return status;
}

/* Joins neighbours whose ranks stay within the bound, from the greatest down; the first and last samples stay. Works in
 * place: what is written lies at or behind what has been read. */
static void compress(summary *s, double bound)
{
    uint32_t count = sample_count(s);
    sample *all = samples_of(s);
    if (count < 2) return;
    sample first = all[0];
    sample head = all[count - 1];
    uint32_t at = count; /* the kept ones are all[at …) */
    for (uint32_t i = count - 1; i-- > 1;) {
        sample one = all[i];
        if ((double)(one.gap + head.gap + head.delta) < bound) {
            head.gap += one.gap;
        } else {
            all[--at] = head;
            head = one;
        }
    }
    all[--at] = head;
    if (first.value <= head.value && at > 0) all[--at] = first;
    memmove(all, all + at, (count - at) * sizeof *all);
    s->samples.length = (count - at) * sizeof *all;
}

static nl_status settle(summary *s, nl_memory *memory, double error)
{
    NL_TRY(merge_head(s, memory, error));
    compress(s, 2 * error * (double)s->count);
    return NULL;
}

static nl_status summary_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                              uint32_t row, void *state)
{
    summary *s = state;
    double error = ((const approx_how *)function->state)->error;
    double value = nl_measure_read(args[0].type, &readers[0], row);
    NL_TRY(nl_agg_bytes_append(&s->head, eval->memory, &value, sizeof value));
    if (s->head.length < HEAD_VALUES * sizeof value) return NULL;
    NL_TRY(merge_head(s, eval->memory, error));
    if (sample_count(s) >= COMPRESS_SAMPLES) compress(s, 2 * error * (double)s->count);
    return NULL;
}
NL_AGGREGATE_STEPS(summary, 1, summary_step)

static nl_status summary_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    summary *s = state;
    NL_TRY(settle(s, eval->memory, ((const approx_how *)function->state)->error));
    NL_TRY(nl_agg_bytes_append(bytes, eval->memory, &s->count, sizeof s->count));
    return nl_agg_bytes_append(bytes, eval->memory, s->samples.data, s->samples.length);
}

/* Samples that lie between samples of the other side may be displaced by as much as that side is uncertain. */
static nl_status merge_samples(const summary *a, const summary *b, double error, nl_memory *memory, nl_agg_bytes *merged)
{
    const sample *left = samples_of(a);
    const sample *right = samples_of(b);
    uint32_t left_count = sample_count(a);
    uint32_t right_count = sample_count(b);
    int64_t left_more = (int64_t)floor(2 * error * (double)b->count);
    int64_t right_more = (int64_t)floor(2 * error * (double)a->count);
    uint32_t i = 0;
    uint32_t k = 0;
    NL_TRY(nl_agg_bytes_reserve(merged, memory, a->samples.length + b->samples.length));
    while (i < left_count && k < right_count) {
        bool is_left = left[i].value < right[k].value;
        sample next = is_left ? left[i++] : right[k++];
        if (is_left && k > 0) next.delta += left_more;
        if (!is_left && i > 0) next.delta += right_more;
        NL_TRY(add_sample(merged, memory, next));
    }
    for (; i < left_count; i++) NL_TRY(add_sample(merged, memory, left[i]));
    for (; k < right_count; k++) NL_TRY(add_sample(merged, memory, right[k]));
    return NULL;
}

static nl_status summary_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    summary *s = state;
    summary other = {0};
    double error = ((const approx_how *)function->state)->error;
    nl_agg_bytes merged = {0};
    NL_CHECK(partial.length >= sizeof other.count);
    memcpy(&other.count, partial.data, sizeof other.count);
    if (other.count == 0) return NULL;
    NL_TRY(settle(s, eval->memory, error));
    NL_TRY(nl_agg_bytes_append(&other.samples, eval->memory, partial.data + sizeof other.count, partial.length - sizeof other.count));
    if (s->count == 0) {
        nl_agg_bytes_free(&s->samples, eval->memory);
        s->samples = other.samples;
        s->count = other.count;
        return NULL;
    }
    nl_status status = merge_samples(s, &other, error, eval->memory, &merged);
    nl_agg_bytes_free(&other.samples, eval->memory);
    nl_agg_bytes_free(&s->samples, eval->memory);
    s->samples = merged;
    s->count += other.count;
    if (status == NULL) compress(s, 2 * error * (double)s->count);
    return status;
}
NL_ENCODED_PARTIALS(summary, summary_encode, summary_merge_one)

/* Where the search for an ascending series of percentages stands. */
typedef struct rank_search {
    const summary *summary;
    double error;
    double target_error;
    uint32_t at;
    int64_t rank_min; /* of the sample at `at` */
} rank_search;

static double find_rank(rank_search *search, double percentage)
{
    const sample *all = samples_of(search->summary);
    uint32_t count = sample_count(search->summary);
    if (percentage <= search->error || count == 1) return all[0].value;
    if (percentage >= 1 - search->error) return all[count - 1].value;
    double rank = ceil(percentage * (double)search->summary->count);
    int64_t rank_min = search->rank_min;
    for (uint32_t i = search->at; i + 1 < count; i++) {
        double rank_max = (double)(rank_min + all[i].delta);
        if (rank_max - search->target_error <= rank && rank <= (double)rank_min + search->target_error) {
            search->at = i;
            search->rank_min = rank_min;
            return all[i].value;
        }
        rank_min += all[i + 1].gap;
    }
    search->at = count - 1;
    search->rank_min = 0;
    return all[count - 1].value;
}

/* results: one per percentage, in their order; the search goes through them in ascending order. */
static nl_status find_all(const approx_how *how, const summary *s, nl_memory *memory, nl_buffer **results)
{
    uint32_t count = how->percentages.count;
    NL_TRY(nl_buffer_new(memory, count * sizeof(double), false, results));
    double *values = (double *)(void *)(*results)->data;
    rank_search search = {.summary = s, .error = how->error, .rank_min = samples_of(s)[0].gap};
    int64_t widest = INT64_MIN;
    for (uint32_t i = 0; i < sample_count(s); i++) widest = NL_MAX(widest, samples_of(s)[i].delta + samples_of(s)[i].gap);
    search.target_error = (double)(widest / 2);
    double last = -1;
    uint32_t last_index = 0;
    for (uint32_t done = 0; done < count; done++) { /* few percentages: the next greater one is looked for */
        uint32_t next = count;
        for (uint32_t i = 0; i < count; i++) {
            double p = how->percentages.values[i];
            bool is_later = done == 0 || p > last || (p == last && i > last_index);
            if (is_later && (next == count || p < how->percentages.values[next])) next = i;
        }
        last = how->percentages.values[next];
        last_index = next;
        values[next] = find_rank(&search, last);
    }
    return NULL;
}

static nl_status summary_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    summary *s = state;
    const approx_how *how = function->state;
    bool is_array = how->percentages.is_array;
    NL_TRY(settle(s, eval->memory, how->error));
    if (s->count == 0 || how->percentages.count == 0) return nl_column_builder_null(builder);
    nl_buffer *results = NULL;
    nl_status status = find_all(how, s, eval->memory, &results);
    nl_column_builder *values = is_array ? nl_column_builder_child(builder, 0) : builder;
    for (uint32_t i = 0; i < how->percentages.count && status == NULL; i++)
        status = nl_measure_append(function->argument_types[0], ((const double *)(const void *)results->data)[i], values);
    if (status == NULL && is_array) status = nl_column_builder_end_list(builder, how->percentages.count);
    nl_buffer_release(results);
    return status;
}
NL_BUILT_RESULT(summary, summary_result)

static void summary_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_agg_bytes_free(&((summary *)state)->head, eval->memory);
    nl_agg_bytes_free(&((summary *)state)->samples, eval->memory);
}
NL_ENCODED_OPS(summary);

static nl_status bind_accuracy(nl_bind *bind, double *error)
{
    nl_value value = {0};
    const nl_type *type = bind->argument_types[2];
    if (type->id == NL_TYPE_NULL) bind->argument_types[2] = type = nl_type_int();
    if (!nl_type_is_integral(type)) return nl_bind_unexpected_type(bind, 2, "\"INTEGRAL\"");
    NL_TRY(nl_parameter_constant(bind, 2, "accuracy", &value));
    if (value.integer <= 0 || value.integer > INT32_MAX)
        return nl_parameter_out_of_range(bind, "accuracy", "(0, 2147483647]", nl_arena_f(bind->arena, "%lldL", (long long)value.integer));
    *error = 1.0 / (double)value.integer;
    return NULL;
}

static nl_status bind_approx(nl_bind *bind, nl_bound_function *bound)
{
    approx_how *how = NL_NEW(bind->arena, approx_how);
    how->error = 1.0 / 10000;
    NL_TRY(nl_parameter_measure(bind, 0, true));
    if (bind->confs->is_trino && nl_type_is_integral(bind->argument_types[0])) bind->argument_types[0] = nl_type_bigint();
    if (bind->confs->is_trino && bind->argument_types[0]->id == NL_TYPE_DECIMAL)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "approx_percentile of a decimal is not supported; CAST it to DOUBLE");
    if (bind->argument_count > 2) NL_TRY(bind_accuracy(bind, &how->error));
    NL_TRY(nl_parameter_percentages(bind, 1, true, &how->percentages));
    const nl_type *type = bind->argument_types[0];
    bound->result_type = how->percentages.is_array ? nl_type_array(bind->arena, type, false) : type;
    bound->state = how;
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "percentile_approx", .aliases = "approx_percentile", NL_AGGREGATE_ROW, .signature = "(any, any [, any]) -> ?", .bind = bind_approx,
     .aggregate = &summary_ops, .since = "2.1.0",
     .doc = "A value near the percentage of all, or one for each of an array; the greater the accuracy, 10000 when left out, the nearer.",
     .examples = {{"percentile_approx(col, array(0.5, 0.4, 0.1), 100) FROM VALUES (0), (1), (2), (10) AS tab(col)", "[1,1,0]"},
                  {"percentile_approx(col, 0.5, 100) FROM VALUES (0), (6), (7), (9), (10) AS tab(col)", "7"}}},
};

NL_DEFINE_FUNCTION_GROUP(approx_percentile, rows);

/* aggregate/histogram.c - histogram_numeric: bins that move to where the values are.
 *
 * Ben-Haim, Tom-Tov, "A Streaming Parallel Decision Tree Algorithm" (2010): a value is a bin of its own until there are
 * too many, then the two nearest become one. Of equally near pairs a random one is taken; the generator's seed is
 * Spark's, so that one worker's bins are those of one partition there.
 */
#include "function/aggregate/parameter.h"
#include "function/groups.h"
#include "function/java_random.h"

#include <stdlib.h>

#define TIE_SEED 31183

typedef struct bin {
    double x;
    double y; /* how many values */
} bin;

typedef struct histogram {
    nl_agg_bytes bins; /* bin[], ascending by x */
    nl_java_random random;
    bool has_random;
} histogram;
NL_AGGREGATE_SIZE(histogram, histogram)

typedef struct histogram_how {
    uint32_t bin_count_max;
} histogram_how;

static bin *bins_of(const histogram *h)
{
    return (bin *)(void *)h->bins.data;
}

static uint32_t bin_count(const histogram *h)
{
    return (uint32_t)(h->bins.length / sizeof(bin));
}

static double draw(histogram *h)
{
    if (!h->has_random) h->random = nl_java_random_new(TIE_SEED);
    h->has_random = true;
    return nl_java_random_double(&h->random);
}

static void join_nearest(histogram *h)
{
    bin *bins = bins_of(h);
    uint32_t count = bin_count(h);
    uint32_t nearest = 0;
    uint32_t ties = 1;
    double least = bins[1].x - bins[0].x;
    for (uint32_t i = 1; i + 1 < count; i++) {
        double distance = bins[i + 1].x - bins[i].x;
        if (distance < least) {
            least = distance;
            nearest = i;
            ties = 1;
        } else if (distance == least && draw(h) <= 1.0 / ++ties) {
            nearest = i;
        }
    }
    bin *a = &bins[nearest];
    const bin *b = a + 1;
    double total = a->y + b->y;
    a->x *= a->y / total;
    a->x += b->x / total * b->y;
    a->y = total;
    memmove(&bins[nearest + 1], &bins[nearest + 2], (count - nearest - 2) * sizeof *bins);
    h->bins.length -= sizeof(bin);
}

static void trim(histogram *h, uint32_t count_max)
{
    while (bin_count(h) > count_max) join_nearest(h);
}

/* The place among the bins by halving, as Spark looks: a NaN stops wherever it is compared first. */
static uint32_t find_place(const histogram *h, double value)
{
    const bin *bins = bins_of(h);
    uint32_t place = 0;
    uint32_t low = 0;
    uint32_t high = bin_count(h);
    while (low < high) {
        place = (low + high) / 2;
        if (bins[place].x > value)
            high = place;
        else if (bins[place].x < value)
            low = ++place;
        else
            break;
    }
    return place;
}

static nl_status histogram_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                                uint32_t row, void *state)
{
    histogram *h = state;
    double value = nl_measure_read(args[0].type, &readers[0], row);
    uint32_t count = bin_count(h);
    uint32_t place = find_place(h, value);
    if (place < count && bins_of(h)[place].x == value) {
        bins_of(h)[place].y++;
        return NULL;
    }
    NL_TRY(nl_agg_bytes_reserve(&h->bins, eval->memory, sizeof(bin)));
    bin *bins = bins_of(h);
    memmove(&bins[place + 1], &bins[place], (count - place) * sizeof *bins);
    bins[place] = (bin){.x = value, .y = 1};
    h->bins.length += sizeof(bin);
    trim(h, ((const histogram_how *)function->state)->bin_count_max);
    return NULL;
}
NL_AGGREGATE_STEPS(histogram, 1, histogram_step)

static nl_status histogram_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const histogram *h = state;
    return nl_agg_bytes_append(bytes, eval->memory, h->bins.data, h->bins.length);
}

static nl_status histogram_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    histogram *h = state;
    uint32_t own = bin_count(h);
    uint32_t other = (uint32_t)(partial.length / sizeof(bin));
    NL_TRY(nl_agg_bytes_append(&h->bins, eval->memory, partial.data, partial.length));
    if (own == 0 || other == 0) return NULL;
    bin *bins = bins_of(h); /* two ascending runs; the later one goes in from behind, equals after those that are there */
    nl_buffer *copy = NULL;
    NL_TRY(nl_buffer_new(eval->memory, partial.length, false, &copy));
    memcpy(copy->data, partial.data, partial.length);
    const bin *others = (const bin *)(const void *)copy->data;
    for (uint32_t at = own + other; other > 0; at--) {
        bool takes_own = own > 0 && bins[own - 1].x > others[other - 1].x;
        bins[at - 1] = takes_own ? bins[--own] : others[--other];
    }
    nl_buffer_release(copy);
    trim(h, ((const histogram_how *)function->state)->bin_count_max);
    return NULL;
}
NL_ENCODED_PARTIALS(histogram, histogram_encode, histogram_merge_one)

static nl_status histogram_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const histogram *h = state;
    if (bin_count(h) == 0) return nl_column_builder_null(builder);
    nl_column_builder *element = nl_column_builder_child(builder, 0);
    for (uint32_t i = 0; i < bin_count(h); i++) {
        NL_TRY(nl_measure_append(function->argument_types[0], bins_of(h)[i].x, nl_column_builder_child(element, 0)));
        NL_TRY(nl_column_builder_f64(nl_column_builder_child(element, 1), bins_of(h)[i].y));
        NL_TRY(nl_column_builder_end_struct(element));
    }
    return nl_column_builder_end_list(builder, bin_count(h));
}
NL_BUILT_RESULT(histogram, histogram_result)

static void histogram_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_agg_bytes_free(&((histogram *)state)->bins, eval->memory);
}
NL_ENCODED_OPS(histogram);

static nl_status bind_histogram(nl_bind *bind, nl_bound_function *bound)
{
    histogram_how *how = NL_NEW(bind->arena, histogram_how);
    nl_value value = {0};
    NL_TRY(nl_parameter_measure(bind, 0, true));
    NL_TRY(nl_parameter_cast(bind, 1, nl_type_int(), "\"INT\""));
    NL_TRY(nl_parameter_constant(bind, 1, "nb", &value));
    if (value.is_null || value.integer < 2)
        return nl_parameter_out_of_range(bind, "nb", "[2, 2147483647]", nl_arena_f(bind->arena, "%lld", (long long)value.integer));
    how->bin_count_max = (uint32_t)value.integer;
    const nl_field fields[2] = {{.name = NL_STR("x"), .type = bind->argument_types[0], .is_nullable = true},
                                {.name = NL_STR("y"), .type = nl_type_double(), .is_nullable = true}};
    bound->result_type = nl_type_array(bind->arena, nl_type_struct(bind->arena, fields, 2), true);
    bound->state = how;
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "histogram_numeric", NL_AGGREGATE_ROW, .signature = "(any, any) -> ?", .bind = bind_histogram, .aggregate = &histogram_ops, .since = "3.3.0",
     .doc = "A histogram of that many bins at most, as an array of (x, y): the middles of the bins and how many values each holds.",
     .examples = {{"histogram_numeric(col, 5) FROM VALUES (0), (1), (2), (10) AS tab(col)",
                   "[{\"x\":0,\"y\":1.0},{\"x\":1,\"y\":1.0},{\"x\":2,\"y\":1.0},{\"x\":10,\"y\":1.0}]"}}},
};

NL_DEFINE_FUNCTION_GROUP(histogram, rows);

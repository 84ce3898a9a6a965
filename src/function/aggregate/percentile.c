/* aggregate/percentile.c - percentile, percentile_cont, percentile_disc, median: exact, over values counted by value.
 *
 * A state is an open-addressing table of (value, how often), charged as it grows; the result sorts its entries where they lie, so that
 * it needs no more memory. One that goes on after it was asked, or that values leave, is that of a frame that moves along: it
 * becomes an ordered_values.h, where each result costs a look. Values
 * are kept as 128-bit integers: integers and unscaled decimals as they are, reals as their bits. The analyzer hands the
 * ordered value of WITHIN GROUP first and, when it is descending, a third argument.
 */
#include "base/hash.h"
#include "base/number.h"
#include "function/aggregate/ordered_values.h"
#include "function/aggregate/parameter.h"
#include "function/groups.h"

#include <math.h>

typedef struct counted_value {
    nl_int128 value;
    int64_t count; /* 0: a free slot */
} counted_value;

typedef struct percentile_state {
    nl_agg_bytes slots; /* counted_value[slot_count] */
    uint64_t slot_count;
    uint64_t used;
    nl_ordered_values *ordered; /* owned; instead of slots, which are none then */
    bool is_sorted; /* it was asked: slots are the `used` entries in ascending order, slot_count of them */
} percentile_state;
NL_AGGREGATE_SIZE(percentile, percentile_state)

typedef struct percentile_how {
    nl_percentages percentages;
    const nl_type *value_type;
    bool is_discrete;
    bool is_legacy; /* spark.sql.legacy.percentileDiscCalculation: the value at or below the position among the others */
    bool is_descending;
    bool has_frequency; /* argument 2 */
    nl_str frequency_sql;
} percentile_how;

static bool value_is_before(const nl_type *type, nl_int128 a, nl_int128 b);

static uint64_t hash_value(nl_int128 value)
{
    return nl_hash_u64((uint64_t)value ^ ((uint64_t)((nl_uint128)value >> 64) * 0x9e3779b97f4a7c15ull));
}

static counted_value *find_value(const percentile_state *s, nl_int128 value)
{
    counted_value *slots = (counted_value *)(void *)s->slots.data;
    uint64_t at = hash_value(value) & (s->slot_count - 1);
    while (slots[at].count != 0 && slots[at].value != value) at = (at + 1) & (s->slot_count - 1);
    return &slots[at];
}

/* Room for `more` values in a table that is three quarters full at most. */
static nl_status grow(percentile_state *s, nl_memory *memory, uint64_t more)
{
    if ((s->used + more) * 4 <= s->slot_count * 3) return NULL;
    percentile_state larger = {.slot_count = s->slot_count ? s->slot_count * 2 : 8, .used = s->used};
    while ((s->used + more) * 4 > larger.slot_count * 3) larger.slot_count *= 2;
    size_t bytes = nl_size_mul(larger.slot_count, sizeof(counted_value));
    NL_TRY(nl_agg_bytes_reserve(&larger.slots, memory, bytes));
    memset(larger.slots.data, 0, bytes);
    const counted_value *slots = (const counted_value *)(const void *)s->slots.data;
    for (uint64_t i = 0; i < s->slot_count; i++)
        if (slots[i].count != 0) *find_value(&larger, slots[i].value) = slots[i];
    nl_agg_bytes_free(&s->slots, memory);
    *s = larger;
    return NULL;
}

static nl_status put_in_order(percentile_state *s, const nl_type *type, nl_memory *memory)
{
    const counted_value *slots = (const counted_value *)(const void *)s->slots.data;
    nl_ordered_values *ordered = NULL;
    if (s->ordered) return NULL;
    NL_TRY(nl_ordered_values_new(type, value_is_before, &ordered));
    nl_status status = NULL;
    for (uint64_t i = 0; i < s->slot_count && !status; i++)
        if (slots[i].count != 0) status = nl_ordered_values_add(ordered, memory, slots[i].value, slots[i].count);
    if (status) {
        nl_ordered_values_free(ordered, memory);
        return status;
    }
    nl_agg_bytes_free(&s->slots, memory);
    *s = (percentile_state){.ordered = ordered};
    return NULL;
}

static nl_status add_value(percentile_state *s, const percentile_how *how, nl_memory *memory, nl_int128 value, int64_t count)
{
    if (s->is_sorted) NL_TRY(put_in_order(s, how->value_type, memory));
    if (s->ordered) return nl_ordered_values_add(s->ordered, memory, value, count);
    NL_TRY(grow(s, memory, 1));
    counted_value *slot = find_value(s, value);
    s->used += slot->count == 0;
    slot->value = value;
    slot->count += count;
    return NULL;
}

static nl_int128 read_value(const nl_type *type, const nl_reader *reader, uint32_t row)
{
    uint32_t index = nl_reader_index(reader, row);
    if (type->physical != NL_PHYS_F32 && type->physical != NL_PHYS_F64) return nl_physical_i128(type->physical, reader->values, index);
    double real = nl_physical_f64(type->physical, reader->values, index);
    if (isnan(real)) real = __builtin_nan("");
    int64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static double value_as_double(const nl_type *type, nl_int128 value)
{
    if (type->physical == NL_PHYS_F32 || type->physical == NL_PHYS_F64) {
        int64_t bits = (int64_t)value;
        double real;
        memcpy(&real, &bits, sizeof real);
        return real;
    }
    return type->id == NL_TYPE_DECIMAL ? nl_decimal_to_double(value, type->scale) : (double)(int64_t)value;
}

static nl_status raise_negative(const percentile_how *how, int64_t count)
{
    char text[NL_NUMBER_TEXT_MAX + 1];
    uint32_t length = nl_format_int64(count, text);
    text[length++] = 'L';
    return NL_RAISE(NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION, NL_P_STR("frequencyExpression", how->frequency_sql),
                    NL_P_STR("negativeValue", ((nl_str){text, length})));
}

static nl_status percentile_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                                 uint32_t row, void *state)
{
    const percentile_how *how = function->state;
    int64_t count = 1;
    if (how->has_frequency) {
        if (nl_vector_is_null(&args[2], row)) return NULL;
        count = nl_physical_i64(args[2].type->physical, readers[2].values, nl_reader_index(&readers[2], row));
        if (count < 0) return raise_negative(how, count);
        if (count == 0) return NULL;
    }
    return add_value(state, how, eval->memory, read_value(args[0].type, &readers[0], row), count);
}
NL_AGGREGATE_STEPS(percentile, 1, percentile_step)

static nl_status percentile_retract(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection, void *state)
{
    const percentile_how *how = function->state;
    percentile_state *s = state;
    nl_reader readers[NL_AGGREGATE_READERS] = {0};
    nl_open_aggregate_readers(function, args, readers);
    NL_TRY(put_in_order(s, how->value_type, eval->memory));
    for (uint32_t i = 0; i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        if (nl_vector_is_null(&args[0], row) || (how->has_frequency && nl_vector_is_null(&args[2], row))) continue;
        const int64_t count = how->has_frequency ? nl_physical_i64(args[2].type->physical, readers[2].values, nl_reader_index(&readers[2], row)) : 1;
        NL_TRY(nl_ordered_values_add(s->ordered, eval->memory, read_value(args[0].type, &readers[0], row), -count));
    }
    return NULL;
}

typedef struct encoding {
    nl_agg_bytes *bytes;
    nl_memory *memory;
} encoding;

static nl_status encode_value(void *argument, nl_int128 value, int64_t count)
{
    const encoding *to = argument;
    const counted_value entry = {value, count};
    return nl_agg_bytes_append(to->bytes, to->memory, &entry, sizeof(entry));
}

static nl_status percentile_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const percentile_state *s = state;
    const counted_value *slots = (const counted_value *)(const void *)s->slots.data;
    if (s->ordered) return nl_ordered_values_each(s->ordered, encode_value, &(encoding){bytes, eval->memory});
    NL_TRY(nl_agg_bytes_reserve(bytes, eval->memory, nl_size_mul(s->used, sizeof(counted_value))));
    for (uint64_t i = 0; i < s->slot_count; i++)
        if (slots[i].count != 0) NL_TRY(nl_agg_bytes_append(bytes, eval->memory, &slots[i], sizeof slots[i]));
    return NULL;
}

static nl_status percentile_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    const percentile_state *s = state;
    /* The entries come in the order of their hashes: in a table that grows on the way they would crowd its first slots,
     * and every insertion walk the crowd. */
    if (!s->ordered && !s->is_sorted) NL_TRY(grow(state, eval->memory, partial.length / sizeof(counted_value)));
    for (size_t at = 0; at + sizeof(counted_value) <= partial.length; at += sizeof(counted_value)) {
        counted_value entry;
        memcpy(&entry, partial.data + at, sizeof entry);
        NL_TRY(add_value(state, function->state, eval->memory, entry.value, entry.count));
    }
    return NULL;
}
NL_ENCODED_PARTIALS(percentile, percentile_encode, percentile_merge_one)

/* --- the result --- */

/* An order in which no two values are equal: NaN comes last; 0.0 and -0.0, which are so as numbers, go by their bits. */
static bool value_is_before(const nl_type *type, nl_int128 a, nl_int128 b)
{
    if (type->physical != NL_PHYS_F32 && type->physical != NL_PHYS_F64) return a < b;
    const double x = value_as_double(type, a);
    const double y = value_as_double(type, b);
    if (x < y || (!isnan(x) && isnan(y))) return true;
    return !(y < x || (!isnan(y) && isnan(x))) && a < b;
}

/* The table's entries side by side, in any order. */
static uint64_t close_ranks(counted_value *slots, uint64_t slot_count)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < slot_count; i++)
        if (slots[i].count != 0) slots[count++] = slots[i];
    return count;
}

static void swap_entries(counted_value *a, counted_value *b)
{
    const counted_value one = *a;
    *a = *b;
    *b = one;
}

static void sort_few(const nl_type *type, counted_value *entries, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const counted_value one = entries[i];
        uint64_t at = i;
        for (; at > 0 && value_is_before(type, one.value, entries[at - 1].value); at--) entries[at] = entries[at - 1];
        entries[at] = one;
    }
}

/* Quicksort in place (Hoare, 1961). Pivots are chosen by a hash, so that no order of values is a bad one; the larger part waits, so
 * that no more than 64 parts do. */
static void sort_entries(const nl_type *type, counted_value *entries, uint64_t count)
{
    enum { FEW = 16, PARTS_MAX = 64 };
    struct {
        uint64_t start, stop;
    } waiting[PARTS_MAX];
    uint32_t waiting_count = 0;
    uint64_t start = 0, stop = count;
    for (;;) {
        while (stop - start > FEW) {
            swap_entries(&entries[start], &entries[start + nl_hash_mix(start, stop) % (stop - start)]);
            const nl_int128 pivot = entries[start].value;
            uint64_t low = start, high = stop;
            for (;;) {
                do high--;
                while (value_is_before(type, pivot, entries[high].value));
                while (low < high && value_is_before(type, entries[low].value, pivot)) low++;
                if (low >= high) break;
                swap_entries(&entries[low++], &entries[high]);
            }
            const uint64_t middle = high + 1; /* [start, middle) is not behind the pivot, the rest not before it */
            const bool is_left_larger = middle - start > stop - middle;
            waiting[waiting_count].start = is_left_larger ? start : middle;
            waiting[waiting_count++].stop = is_left_larger ? middle : stop;
            if (is_left_larger)
                start = middle;
            else
                stop = middle;
        }
        sort_few(type, entries + start, stop - start);
        if (waiting_count == 0) return;
        start = waiting[--waiting_count].start;
        stop = waiting[waiting_count].stop;
    }
}

/* The first entry whose running count is at least `target`. */
static const counted_value *entry_at(const counted_value *entries, uint64_t count, int64_t target)
{
    uint64_t low = 0;
    uint64_t high = count - 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (entries[middle].count >= target)
            high = middle;
        else
            low = middle + 1;
    }
    return &entries[low];
}

/* Values in order, in either form. */
typedef struct ranking {
    const counted_value *entries; /* ascending; their counts running totals */
    uint64_t count;
    const nl_ordered_values *ordered; /* or this one */
    int64_t total;
} ranking;

/* Places count from 1. */
static nl_int128 value_at(const percentile_how *how, const ranking *all, int64_t place)
{
    place = NL_MAX(place, 1);
    if (how->is_descending) place = all->total - place + 1;
    return all->ordered ? nl_ordered_values_at(all->ordered, place) : entry_at(all->entries, all->count, place)->value;
}

static double percentile_of(const percentile_how *how, const ranking *all, double percentage)
{
    const nl_type *type = how->value_type;
    if (how->is_legacy) return value_as_double(type, value_at(how, all, (int64_t)floor((double)(all->total - 1) * percentage) + 1));
    if (how->is_discrete) return value_as_double(type, value_at(how, all, (int64_t)ceil((double)all->total * percentage)));
    double position = (double)(all->total - 1) * percentage;
    int64_t lower = (int64_t)floor(position);
    int64_t higher = (int64_t)ceil(position);
    const nl_int128 low = value_at(how, all, lower + 1);
    const nl_int128 high = lower == higher ? low : value_at(how, all, higher + 1);
    if (low == high) return value_as_double(type, low);
    return ((double)higher - position) * value_as_double(type, low) + (position - (double)lower) * value_as_double(type, high);
}

static nl_status append_percentiles(const nl_bound_function *function, const ranking *all, nl_column_builder *builder)
{
    const percentile_how *how = function->state;
    bool is_array = how->percentages.is_array;
    const nl_type *type = is_array ? function->result_type->children[0].type : function->result_type;
    nl_column_builder *values = is_array ? nl_column_builder_child(builder, 0) : builder;
    for (uint32_t i = 0; i < how->percentages.count; i++)
        NL_TRY(nl_measure_append(type, percentile_of(how, all, how->percentages.values[i]), values));
    return is_array ? nl_column_builder_end_list(builder, how->percentages.count) : NULL;
}

static nl_status ordered_result(const nl_bound_function *function, const percentile_state *s, nl_column_builder *builder)
{
    const ranking all = {.ordered = s->ordered, .total = nl_ordered_values_total(s->ordered)};
    return all.total == 0 ? nl_column_builder_null(builder) : append_percentiles(function, &all, builder);
}

static nl_status percentile_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const percentile_how *how = function->state;
    percentile_state *s = state;
    if (how->percentages.count == 0) return nl_column_builder_null(builder);
    if (s->ordered) return ordered_result(function, s, builder);
    if (s->used == 0) return nl_column_builder_null(builder);
    counted_value *entries = (counted_value *)(void *)s->slots.data;
    if (!s->is_sorted) {
        s->slot_count = close_ranks(entries, s->slot_count);
        sort_entries(how->value_type, entries, s->used);
        s->is_sorted = true;
    }
    for (uint64_t i = 1; i < s->used; i++) entries[i].count += entries[i - 1].count;
    nl_status status = append_percentiles(function, &(ranking){.entries = entries, .count = s->used, .total = entries[s->used - 1].count}, builder);
    for (uint64_t i = s->used - 1; i > 0; i--) entries[i].count -= entries[i - 1].count;
    return status;
}
NL_BUILT_RESULT(percentile, percentile_result)

static void percentile_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_agg_bytes_free(&((percentile_state *)state)->slots, eval->memory);
    nl_ordered_values_free(((percentile_state *)state)->ordered, eval->memory);
}
static const nl_aggregate_ops percentile_ops = {.state_size = percentile_size, .update = percentile_update, .update_one = percentile_update_one, .to_partial = percentile_to_partial,
                                                .merge_partial = percentile_merge, .finish = percentile_finish, .destroy = percentile_destroy, .retract = percentile_retract, .retracts_reals = true};

/* --- binding --- */

static void set_result(nl_bind *bind, nl_bound_function *bound, percentile_how *how)
{
    how->value_type = bind->argument_types[0];
    nl_type_id id = how->value_type->id;
    const nl_type *type = id == NL_TYPE_INTERVAL_YM || id == NL_TYPE_INTERVAL_DT ? nl_type_of(id) : nl_type_double();
    bound->result_type = how->percentages.is_array ? nl_type_array(bind->arena, type, false) : type;
    bound->state = how;
}

static nl_status bind_percentile(nl_bind *bind, nl_bound_function *bound)
{
    percentile_how *how = NL_NEW(bind->arena, percentile_how);
    NL_TRY(nl_parameter_measure(bind, 0, false));
    NL_TRY(nl_parameter_percentages(bind, 1, false, &how->percentages));
    if (bind->argument_count > 2) {
        const nl_type *type = bind->argument_types[2];
        if (type->id == NL_TYPE_NULL) bind->argument_types[2] = type = nl_type_int();
        if (!nl_type_is_integral(type)) return nl_bind_unexpected_type(bind, 2, "\"INTEGRAL\"");
        how->has_frequency = true;
        how->frequency_sql = nl_quoted(bind->arena, nl_bind_argument_sql(bind, 2));
        bound->can_fail = true;
    }
    set_result(bind, bound, how);
    return NULL;
}

/* (value, percentage [, is_descending]) */
static nl_status bind_within(nl_bind *bind, nl_bound_function *bound)
{
    percentile_how *how = NL_NEW(bind->arena, percentile_how);
    how->is_discrete = strcmp(bind->row->name, "percentile_disc") == 0;
    how->is_legacy = how->is_discrete && bind->confs->is_legacy_percentile;
    how->is_descending = bind->argument_count > 2;
    NL_TRY(nl_parameter_measure(bind, 0, false));
    NL_TRY(nl_parameter_percentages(bind, 1, false, &how->percentages));
    set_result(bind, bound, how);
    return NULL;
}

static nl_status bind_median(nl_bind *bind, nl_bound_function *bound)
{
    static const double half[] = {0.5};
    percentile_how *how = NL_NEW(bind->arena, percentile_how);
    how->percentages = (nl_percentages){.values = half, .count = 1};
    NL_TRY(nl_parameter_measure(bind, 0, false));
    set_result(bind, bound, how);
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "percentile", NL_AGGREGATE_ROW, .signature = "(any, any [, any]) -> ?", .bind = bind_percentile, .aggregate = &percentile_ops, .since = "2.1.0",
     .doc = "The exact percentile at a percentage or at each of an array, between values where it falls; the third argument says how often a value counts.",
     .examples = {{"percentile(col, 0.3) FROM VALUES (0), (10) AS tab(col)", "3.0"},
                  {"percentile(col, array(0.25, 0.75)) FROM VALUES (0), (10) AS tab(col)", "[2.5,7.5]"}}},
    {.name = "percentile_cont", NL_AGGREGATE_ROW, .signature = "(any, any [, any]) -> ?", .bind = bind_within, .aggregate = &percentile_ops, .since = "4.0.0",
     .doc = "The percentile of the values WITHIN GROUP, between two of them where it falls.",
     .examples = {{"percentile_cont(0.25) WITHIN GROUP (ORDER BY col) FROM VALUES (0), (10) AS tab(col)", "2.5"}}},
    {.name = "percentile_disc", NL_AGGREGATE_ROW, .signature = "(any, any [, any]) -> ?", .bind = bind_within, .aggregate = &percentile_ops, .since = "4.0.0",
     .doc = "The first of the ordered values WITHIN GROUP below or at which the percentage of them lies.",
     .examples = {{"percentile_disc(0.25) WITHIN GROUP (ORDER BY col) FROM VALUES (0), (10) AS tab(col)", "0.0"}}},
    {.name = "median", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .bind = bind_median, .aggregate = &percentile_ops, .since = "3.4.0",
     .doc = "The value in the middle.", .examples = {{"median(col) FROM VALUES (0), (10) AS tab(col)", "5.0"}}},
};

NL_DEFINE_FUNCTION_GROUP(percentile, rows);

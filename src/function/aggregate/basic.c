/* aggregate/basic.c - count, sum, avg, min, max and their try_ forms.
 *
 * Integers, intervals and decimals are summed in 128 bits, so an intermediate overflow that the total does not have is
 * no error, order and parallel parts do not matter, and rows can be taken out again (sliding frames).
 */
#include "base/wide.h"
#include "function/aggregate/state.h"
#include "function/groups.h"

/* --- count --- */

static uint32_t count_size(const nl_bound_function *function)
{
    (void)function;
    return sizeof(int64_t);
}

static bool is_never_null(const nl_vector *vector)
{
    return vector->validity == NULL && vector->type->id != NL_TYPE_NULL;
}

static nl_status count_update(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                              void *const *states)
{
    (void)eval;
    for (uint32_t i = 0; i < selection.count; i++)
        if (!nl_any_null(args, function->argument_count, nl_selection_row(selection, i))) ++*(int64_t *)states[i];
    return NULL;
}

static int64_t count_rows(const nl_bound_function *function, const nl_vector *args, nl_selection selection)
{
    bool all = true;
    for (uint32_t i = 0; i < function->argument_count; i++) all &= is_never_null(&args[i]);
    if (all) return selection.count;
    int64_t count = 0;
    for (uint32_t i = 0; i < selection.count; i++)
        count += !nl_any_null(args, function->argument_count, nl_selection_row(selection, i));
    return count;
}

static nl_status count_update_one(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,
                                  nl_selection selection, void *state)
{
    (void)eval;
    *(int64_t *)state += count_rows(function, args, selection);
    return NULL;
}

static nl_status count_retract(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                               void *state)
{
    (void)eval;
    *(int64_t *)state -= count_rows(function, args, selection);
    return NULL;
}

static void count_merge_state(int64_t *into, const int64_t *from)
{
    *into += *from;
}
NL_POD_MERGE(count, int64_t, count_merge_state)

static nl_status count_finish(const nl_bound_function *function, nl_eval *eval, void *const *states, uint32_t count, nl_vector *out)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, count, eval->memory, out));
    for (uint32_t i = 0; i < count; i++) ((int64_t *)output.values)[i] = *(const int64_t *)states[i];
    return NULL;
}

static const nl_aggregate_ops count_ops = {.state_size = count_size,
                                           .update = count_update,
                                           .update_one = count_update_one,
                                           .to_partial = nl_pod_to_partial,
                                           .merge_partial = count_merge,
                                           .finish = count_finish,
                                           .retract = count_retract};

static nl_status bind_count(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    if (bind->argument_count == 0)
        return NL_RAISE(WRONG_NUM_ARGS__WITH_SUGGESTION, NL_P_STR("functionName", nl_quoted_name(bind)),
                        NL_P("expectedNum", " >= 1"), NL_P_INT("actualNum", 0), NL_P("legacyNum", "0"),
                        NL_P("legacyConfKey", "\"spark.sql.legacy.allowParameterlessCount\""), NL_P("legacyConfValue", "\"true\""));
    return NULL;
}

/* --- sums --- */

typedef struct exact_sum {
    nl_int128 sum;
    int64_t count;
    int64_t carries; /* the total is sum + carries * 2^128 */
} exact_sum;

typedef struct real_sum {
    double sum;
    int64_t count;
} real_sum;

typedef struct sum_state { /* of the bound function */
    bool is_average;
    bool is_try;
    bool raises;
} sum_state;

NL_AGGREGATE_SIZE(exact, exact_sum)
NL_AGGREGATE_SIZE(real, real_sum)

static inline void add_total(exact_sum *state, nl_int128 value)
{
    if (NL_UNLIKELY(__builtin_add_overflow(state->sum, value, &state->sum))) state->carries += value < 0 ? -1 : 1;
}

static inline void exact_add(exact_sum *state, nl_int128 value)
{
    add_total(state, value);
    state->count++;
}

/* Columns with nulls, of which there may be many (CASE without ELSE): 64 rows of the validity at a time, so that nulls are
 * neither looked at nor branched on one by one. */
#define EXACT_ADD_VALID(T)                                                                            \
    for (uint32_t from = 0; from < row_count; from += 64) {                                           \
        const uint32_t count = NL_MIN(64u, row_count - from);                                         \
        uint64_t valid = 0;                                                                           \
        memcpy(&valid, arg->validity + from / 8, (count + 7) / 8);                                    \
        if (count < 64) valid &= (1ull << count) - 1;                                                 \
        for (; valid; valid &= valid - 1) {                                                           \
            const uint32_t row = from + (uint32_t)__builtin_ctzll(valid);                             \
            exact_add(states[row], ((const T *)arg->values)[row]);                                    \
        }                                                                                             \
    }

static bool exact_add_valid(const nl_vector *arg, nl_selection selection, void *const *states)
{
    const uint32_t row_count = selection.count;
    if (arg->encoding != NL_FLAT || arg->validity == NULL || selection.rows != NULL) return false;
    if (arg->type->physical == NL_PHYS_I32)
        EXACT_ADD_VALID(int32_t)
    else if (arg->type->physical == NL_PHYS_I64)
        EXACT_ADD_VALID(int64_t)
    else
        return false;
    return true;
}

static nl_status exact_update(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                              void *const *states)
{
    (void)function;
    (void)eval;
    if (exact_add_valid(&args[0], selection, states)) return NULL;
    nl_physical physical = args[0].type->physical;
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(&in, row)) continue;
        exact_add(states[i], nl_physical_i128(physical, in.values, nl_reader_index(&in, row)));
    }
    return NULL;
}

/* All rows of a flat column without nulls: blocks small enough for 64-bit partial sums of 32-bit values. */
static bool sum_flat(const nl_vector *arg, nl_selection selection, exact_sum *state)
{
    if (arg->encoding != NL_FLAT || arg->validity != NULL || selection.rows != NULL) return false;
    if (arg->type->physical == NL_PHYS_I32) {
        int64_t sum = 0;
        for (uint32_t row = 0; row < selection.count; row++) sum += ((const int32_t *)arg->values)[row];
        add_total(state, sum);
    } else if (arg->type->physical == NL_PHYS_I64) {
        /* High and low halves apart, so that the loop adds in 64 bits: 2^32 rows of 2^32 each cannot overflow. */
        uint64_t low = 0;
        int64_t high = 0;
        for (uint32_t row = 0; row < selection.count; row++) {
            int64_t value = ((const int64_t *)arg->values)[row];
            low += (uint32_t)value;
            high += value >> 32;
        }
        add_total(state, (nl_int128)high * ((nl_int128)1 << 32) + low);
    } else {
        return false;
    }
    state->count += selection.count;
    return true;
}

/* Sums kept in registers; of 64-bit values in halves, as above. */
static void sum_selected(const nl_reader *in, bool is_narrow, nl_selection selection, exact_sum *state)
{
    exact_sum total = *state;
    uint64_t low = 0;
    int64_t high = 0;
    for (uint32_t i = 0; i < selection.count && is_narrow; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(in, row)) continue;
        int64_t value = ((const int64_t *)in->values)[nl_reader_index(in, row)];
        low += (uint32_t)value;
        high += value >> 32;
        total.count++;
    }
    add_total(&total, (nl_int128)high * ((nl_int128)1 << 32) + low);
    for (uint32_t i = 0; i < selection.count && !is_narrow; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(in, row)) continue;
        exact_add(&total, ((const nl_int128 *)in->values)[nl_reader_index(in, row)]);
    }
    *state = total;
}

static nl_status exact_update_one(const nl_bound_function *function, nl_eval *eval, const nl_vector *args,
                                  nl_selection selection, void *state)
{
    (void)function;
    (void)eval;
    if (sum_flat(&args[0], selection, state)) return NULL;
    nl_physical physical = args[0].type->physical;
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    if (physical == NL_PHYS_I64 || physical == NL_PHYS_I128) {
        sum_selected(&in, physical == NL_PHYS_I64, selection, state);
        return NULL;
    }
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(&in, row)) continue;
        exact_add(state, nl_physical_i128(physical, in.values, nl_reader_index(&in, row)));
    }
    return NULL;
}

static nl_status exact_retract(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, nl_selection selection,
                               void *state)
{
    exact_sum gone = {0};
    NL_TRY(exact_update_one(function, eval, args, selection, &gone));
    exact_sum *sum = state;
    if (__builtin_sub_overflow(sum->sum, gone.sum, &sum->sum)) sum->carries += gone.sum < 0 ? 1 : -1;
    sum->carries -= gone.carries;
    sum->count -= gone.count;
    return NULL;
}

static void exact_merge_state(exact_sum *into, const exact_sum *from)
{
    add_total(into, from->sum);
    into->carries += from->carries;
    into->count += from->count;
}
NL_POD_MERGE(exact, exact_sum, exact_merge_state)

/* ---- totals that do not fit ---- */

enum { AVERAGE_SCALE = 39, TOTAL_TEXT_MAX = 160 }; /* Spark divides to so many places before it looks whether the type has them */

/* The total without its sign; false: above what two parts of 38 digits make. Spark names the total only where the parts
 * it is merged from had fitted. */
static bool total_of(const exact_sum *sum, nl_wide *total, bool *is_negative)
{
    *is_negative = sum->carries != 0 ? sum->carries < 0 : sum->sum < 0;
    unsigned __int128 low = (unsigned __int128)sum->sum;
    const nl_int128 high = (nl_int128)sum->carries + (sum->sum < 0 ? -1 : 0); /* of two's complement */
    if (high != 0 && high != -1) return false;
    if (*is_negative) low = -low;
    unsigned __int128 limit = 2;
    for (int i = 0; i < 38; i++) limit *= 10;
    *total = nl_wide_from(low);
    return (high == -1) == *is_negative && low <= limit - 2;
}

/* Digits of total / count with `places` more behind them, rounded half up; most significant first, at least places + 1. */
static uint32_t quotient_digits(const nl_wide *total, uint64_t count, uint32_t places, char *digits)
{
    const nl_wide divisor = nl_wide_from(count), ten = nl_wide_from(10);
    nl_wide quotient, rest, next, digit;
    char reversed[NL_WIDE_LIMBS * 10];
    uint32_t length = 0, whole = 0;
    unsigned __int128 left = 0, low = 0;
    nl_wide_divide(total, &divisor, &quotient, &rest);
    (void)nl_wide_to_128(&rest, &left);
    do {
        nl_wide_divide(&quotient, &ten, &next, &digit);
        (void)nl_wide_to_128(&digit, &low);
        reversed[whole++] = (char)('0' + (int)low);
        quotient = next;
    } while (!nl_wide_is_zero(&quotient));
    while (whole > 0) digits[length++] = reversed[--whole];
    for (uint32_t i = 0; i < places; i++) {
        left *= 10;
        digits[length++] = (char)('0' + (int)(left / count));
        left %= count;
    }
    if (left * 2 < count) return length;
    for (uint32_t i = length; i-- > 0;) {
        if (digits[i]++ != '9') return length;
        digits[i] = '0';
    }
    memmove(digits + 1, digits, length);
    digits[0] = '1';
    return length + 1;
}

/* total / count as plain text with `to` places, the total having `from` of them. */
static nl_str total_text(const nl_wide *total, bool is_negative, uint64_t count, uint32_t from, uint32_t to, char *text)
{
    char digits[TOTAL_TEXT_MAX];
    const uint32_t length = quotient_digits(total, count, to - from, digits);
    uint32_t at = 0;
    if (is_negative) text[at++] = '-';
    for (uint32_t i = length; i <= to; i++) {
        text[at++] = '0';
        if (i == length && to > 0) text[at++] = '.';
    }
    for (uint32_t i = 0; i < length; i++) {
        if (i > 0 && length - i == to) text[at++] = '.';
        text[at++] = digits[i];
    }
    return (nl_str){text, at};
}

static nl_status raise_decimal_overflow(const nl_bound_function *function, const exact_sum *sum)
{
    const nl_type *type = function->result_type;
    const bool is_average = ((const sum_state *)function->state)->is_average;
    char text[TOTAL_TEXT_MAX];
    nl_wide total;
    bool is_negative = false;
    if (!total_of(sum, &total, &is_negative))
        return NL_RAISE(ARITHMETIC_OVERFLOW, NL_P("message", "Overflow in sum of decimals"),
                        NL_P("alternative", is_average ? " Use 'try_avg' to tolerate overflow and return NULL instead."
                                                       : " Use 'try_sum' to tolerate overflow and return NULL instead."),
                        NL_P("config", "\"spark.sql.ansi.enabled\""));
    const uint32_t scale = function->argument_types[0]->scale;
    const nl_str value = total_text(&total, is_negative, is_average ? (uint64_t)sum->count : 1, scale, is_average ? AVERAGE_SCALE : scale, text);
    return NL_RAISE(NUMERIC_VALUE_OUT_OF_RANGE__WITH_SUGGESTION, NL_P_STR("value", value), NL_P_INT("precision", type->precision),
                    NL_P_INT("scale", type->scale), NL_P("config", "\"spark.sql.ansi.enabled\""));
}

static nl_status raise_sum_overflow(const nl_bound_function *function, const exact_sum *sum)
{
    const nl_type *type = function->result_type;
    if (type->id == NL_TYPE_DECIMAL) return raise_decimal_overflow(function, sum);
    if (type->id == NL_TYPE_INTERVAL_DT || type->id == NL_TYPE_INTERVAL_YM)
        return NL_RAISE(INTERVAL_ARITHMETIC_OVERFLOW__WITH_SUGGESTION, NL_P("functionName", "`try_add`"));
    return NL_RAISE(ARITHMETIC_OVERFLOW, NL_P("message", "long overflow"),
                    NL_P("alternative", " Use 'try_add' to tolerate overflow and return NULL instead."),
                    NL_P("config", "\"spark.sql.ansi.enabled\""));
}

static bool fits_type(const nl_type *type, nl_int128 value)
{
    if (type->id == NL_TYPE_DECIMAL) return nl_decimal_fits(value, type->precision);
    return type->physical == NL_PHYS_I32 ? value == (int32_t)value : value == (int64_t)value;
}

/* A total that leaves the type: an error, null for try_sum and legacy decimals, wrapped for legacy integers. */
static nl_status exact_sum_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const sum_state *how = function->state;
    const exact_sum *sum = state;
    const nl_type *type = function->result_type;
    if (sum->count == 0) return nl_column_builder_null(builder);
    bool fits = sum->carries == 0 && fits_type(type, sum->sum);
    if (!fits && how->raises) return raise_sum_overflow(function, sum);
    if (!fits && (how->is_try || type->id == NL_TYPE_DECIMAL)) return nl_column_builder_null(builder);
    if (type->id == NL_TYPE_DECIMAL) return nl_column_builder_i128(builder, sum->sum);
    return nl_column_builder_i64(builder, (int64_t)sum->sum);
}

static nl_int128 divide_half_up(nl_int128 a, int64_t b)
{
    nl_int128 quotient = a / b;
    nl_int128 rest = a % b;
    if (rest < 0) rest = -rest;
    return rest * 2 >= b ? quotient + (a < 0 ? -1 : 1) : quotient;
}

static nl_status exact_average_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const sum_state *how = function->state;
    const exact_sum *sum = state;
    const nl_type *type = function->result_type;
    const nl_type *from = function->argument_types[0];
    if (sum->count == 0) return nl_column_builder_null(builder);
    if (type->id == NL_TYPE_DOUBLE) return nl_column_builder_f64(builder, (double)sum->sum / (double)sum->count);
    if (type->id != NL_TYPE_DECIMAL && !(sum->carries == 0 && fits_type(type, sum->sum))) /* an interval's sum is one, too */
        return how->is_try ? nl_column_builder_null(builder) : raise_sum_overflow(function, sum);
    if (type->id != NL_TYPE_DECIMAL) return nl_column_builder_i64(builder, (int64_t)divide_half_up(sum->sum, sum->count));
    nl_int128 result = 0;
    bool fits = sum->carries == 0 && nl_decimal_fits(sum->sum, 38) &&
                nl_decimal_divide(sum->sum, from->scale, sum->count, 0, type->precision, type->scale, &result);
    if (!fits && how->raises) return raise_sum_overflow(function, sum);
    return fits ? nl_column_builder_i128(builder, result) : nl_column_builder_null(builder);
}

static nl_status exact_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    const sum_state *how = function->state;
    return how->is_average ? exact_average_result(function, eval, state, builder) : exact_sum_result(function, eval, state, builder);
}
NL_BUILT_RESULT(exact, exact_result)

static nl_status real_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                           uint32_t row, void *state)
{
    (void)function;
    (void)eval;
    real_sum *sum = state;
    sum->sum += nl_physical_f64(args[0].type->physical, readers[0].values, nl_reader_index(&readers[0], row));
    sum->count++;
    return NULL;
}
NL_AGGREGATE_STEPS(real, 1, real_step)

static void real_merge_state(real_sum *into, const real_sum *from)
{
    into->sum += from->sum;
    into->count += from->count;
}
NL_POD_MERGE(real, real_sum, real_merge_state)

static nl_status real_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const sum_state *how = function->state;
    const real_sum *sum = state;
    if (sum->count == 0) return nl_column_builder_null(builder);
    const double value = how->is_average ? sum->sum / (double)sum->count : sum->sum;
    return nl_column_builder_f64(builder, value);
}
NL_BUILT_RESULT(real, real_result)

static const nl_aggregate_ops exact_ops = {.state_size = exact_size,
                                           .update = exact_update,
                                           .update_one = exact_update_one,
                                           .to_partial = nl_pod_to_partial,
                                           .merge_partial = exact_merge,
                                           .finish = exact_finish,
                                           .retract = exact_retract};
NL_POD_OPS(real);

static const nl_type *sum_type(const nl_type *type, bool is_average, bool is_trino)
{
    if (is_trino && type->id == NL_TYPE_DECIMAL) return is_average ? type : nl_type_decimal(38, type->scale);
    if (is_trino && type->id == NL_TYPE_FLOAT) return type;
    if (type->id == NL_TYPE_DECIMAL && is_average)
        return nl_type_decimal(NL_MIN(type->precision + 4, 38), NL_MIN(type->scale + 4, 38));
    if (type->id == NL_TYPE_DECIMAL) return nl_type_decimal(NL_MIN(type->precision + 10, 38), type->scale);
    if (type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT) return is_average ? nl_type_of(type->id) : type;
    if (nl_type_is_integral(type) && !is_average) return nl_type_bigint();
    return nl_type_double();
}

static nl_status bind_sum(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    bool is_interval = type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
    if (type->id == NL_TYPE_STRING || type->id == NL_TYPE_NULL || type->id == NL_TYPE_TIMESTAMP) type = nl_type_double();
    if (!nl_type_is_numeric(type) && !is_interval) return nl_bind_unexpected_type(bind, 0, "\"NUMERIC\" or \"ANSI INTERVAL\"");
    sum_state *state = NL_NEW(bind->arena, sum_state);
    const char *name = bind->row->name;
    state->is_average = strcmp(name, "avg") == 0 || strcmp(name, "try_avg") == 0;
    state->is_try = strncmp(name, "try_", 4) == 0;
    state->raises = !state->is_try && (bind->confs->is_ansi || is_interval);
    bind->argument_types[0] = type;
    bound->state = state;
    bound->result_type = sum_type(type, state->is_average, bind->confs->is_trino);
    bound->aggregate = type->id == NL_TYPE_FLOAT || type->id == NL_TYPE_DOUBLE ? &real_ops : &exact_ops;
    bound->can_fail = state->raises;
    return NULL;
}

/* --- min, max --- */

typedef struct extreme {
    nl_box box;
} extreme;
NL_AGGREGATE_SIZE(extreme, extreme)

static nl_status extreme_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                              uint32_t row, void *state)
{
    (void)readers;
    extreme *kept = state;
    bool is_max = function->state != NULL;
    int order = 0;
    if (kept->box.has_value) {
        NL_TRY(nl_box_compare(&kept->box, &args[0], row, eval->memory, &order));
        if (is_max ? order >= 0 : order <= 0) return NULL;
    }
    return nl_box_set(&kept->box, eval->memory, &args[0], row);
}
NL_AGGREGATE_STEPS(extreme, 1, extreme_step)

static nl_status extreme_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    return nl_box_encode(&((extreme *)state)->box, function->argument_types[0], bytes, eval->memory);
}

static nl_status extreme_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    if (!partial.data[0]) return NULL;
    size_t offset = 1;
    nl_vector value = {0};
    NL_TRY(nl_decode_vector(partial.data, &offset, function->argument_types[0], eval->memory, &value));
    nl_status status = extreme_step(function, eval, &value, NULL, 0, state);
    nl_vector_fini(&value);
    return status;
}
NL_ENCODED_PARTIALS(extreme, extreme_encode, extreme_merge_one)

static nl_status extreme_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    return nl_box_append(&((extreme *)state)->box, function->result_type, builder);
}
NL_BUILT_RESULT(extreme, extreme_result)

static void extreme_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_box_free(&((extreme *)state)->box, eval->memory);
}
NL_ENCODED_OPS(extreme);

/* The same for forms of up to 64 bits, without the box: the common case. */
typedef struct plain_extreme {
    union {
        int64_t integer;
        double real;
    };
    bool has_value;
} plain_extreme;
NL_AGGREGATE_SIZE(plain, plain_extreme)

static inline bool real_less(double a, double b)
{
    return a < b || (a == a && b != b);
}

static inline void plain_take(plain_extreme *kept, bool is_real, bool is_max, const plain_extreme *value)
{
    bool is_better;
    if (!kept->has_value)
        is_better = true;
    else if (is_real)
        is_better = is_max ? real_less(kept->real, value->real) : real_less(value->real, kept->real);
    else
        is_better = is_max ? kept->integer < value->integer : value->integer < kept->integer;
    if (is_better) *kept = (plain_extreme){.integer = value->integer, .has_value = true};
}

static bool is_real_type(const nl_type *type)
{
    return type->physical == NL_PHYS_F32 || type->physical == NL_PHYS_F64;
}

static nl_status plain_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                            uint32_t row, void *state)
{
    (void)eval;
    nl_physical physical = args[0].type->physical;
    bool is_real = is_real_type(args[0].type);
    plain_extreme value = {.has_value = true};
    uint32_t index = nl_reader_index(&readers[0], row);
    if (is_real)
        value.real = nl_physical_f64(physical, readers[0].values, index);
    else
        value.integer = nl_physical_i64(physical, readers[0].values, index);
    plain_take(state, is_real, function->state != NULL, &value);
    return NULL;
}
NL_AGGREGATE_STEPS(plain, 1, plain_step)

static nl_status plain_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    (void)eval;
    plain_extreme from;
    NL_CHECK(partial.length == sizeof from);
    memcpy(&from, partial.data, sizeof from);
    if (from.has_value) plain_take(state, is_real_type(function->result_type), function->state != NULL, &from);
    return NULL;
}

static nl_status plain_merge(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial, nl_selection selection,
                             void *const *states)
{
    return nl_merge_partials(function, eval, partial, selection, states, plain_merge_one);
}

static nl_status plain_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const plain_extreme *kept = state;
    if (!kept->has_value) return nl_column_builder_null(builder);
    if (is_real_type(function->result_type)) return nl_column_builder_f64(builder, kept->real);
    if (function->result_type->id == NL_TYPE_DECIMAL) return nl_column_builder_i128(builder, kept->integer);
    return nl_column_builder_i64(builder, kept->integer);
}
NL_BUILT_RESULT(plain, plain_result)
NL_POD_OPS(plain);

static nl_status bind_extreme(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type *type = bind->argument_types[0];
    if (!nl_type_is_orderable(type)) return nl_bind_not_orderable(bind, type);
    nl_physical physical = type->physical;
    bool is_plain = (physical >= NL_PHYS_BOOL && physical <= NL_PHYS_I64) || is_real_type(type);
    bound->aggregate = is_plain ? &plain_ops : &extreme_ops;
    bound->state = strcmp(bind->row->name, "max") == 0 ? bind->row : NULL; /* not NULL: the greatest is kept */
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "count", NL_AGGREGATE_ROW, .signature = "([any...]) -> bigint", .keeps_non_null = true, .bind = bind_count,
     .aggregate = &count_ops, .since = "1.0.0", .doc = "The number of rows in which no argument is NULL; count(*) counts all.",
     .examples = {{"count(*) FROM VALUES (NULL), (5), (5), (20) AS tab(col)", "4"},
                  {"count(col) FROM VALUES (NULL), (5), (5), (20) AS tab(col)", "3"},
                  {"count(DISTINCT col) FROM VALUES (NULL), (5), (5), (10) AS tab(col)", "2"}}},
    {.name = "sum", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .bind = bind_sum, .since = "1.0.0",
     .doc = "The sum of the values that are not NULL.", .examples = {{"sum(col) FROM VALUES (5), (10), (15) AS tab(col)", "30"}}},
    {.name = "try_sum", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .bind = bind_sum, .since = "3.3.0",
     .doc = "The sum of the values that are not NULL, or NULL when it overflows.",
     .examples = {{"try_sum(col) FROM VALUES (9223372036854775807L), (1L) AS tab(col)", "NULL"}}},
    {.name = "avg", .aliases = "mean", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .bind = bind_sum, .since = "1.0.0",
     .doc = "The mean of the values that are not NULL.", .examples = {{"avg(col) FROM VALUES (1), (2), (3) AS tab(col)", "2.0"}}},
    {.name = "try_avg", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .bind = bind_sum, .since = "3.3.0",
     .doc = "The mean of the values that are not NULL, or NULL when it overflows.",
     .examples = {{"try_avg(col) FROM VALUES (1), (2), (3) AS tab(col)", "2.0"}}},
    {.name = "max", NL_AGGREGATE_ROW, .signature = "(T) -> T", .bind = bind_extreme, .since = "1.0.0",
     .doc = "The greatest value.", .examples = {{"max(col) FROM VALUES (10), (50), (20) AS tab(col)", "50"}}},
    {.name = "min", NL_AGGREGATE_ROW, .signature = "(T) -> T", .bind = bind_extreme, .since = "1.0.0",
     .doc = "The least value.", .examples = {{"min(col) FROM VALUES (10), (-1), (20) AS tab(col)", "-1"}}},
};

NL_DEFINE_FUNCTION_GROUP(basic_aggregates, rows);

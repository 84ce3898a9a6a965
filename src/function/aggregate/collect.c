/* aggregate/collect.c - collect_list, collect_set, mode: values kept as encoded rows, one after the other.
 *
 * collect_set and mode find a value by a small open-addressing table of (hash, offset) over those rows.
 */
#include "base/hash.h"
#include "function/aggregate/set_order.h"
#include "function/aggregate/state.h"
#include "function/groups.h"

#include <stdlib.h>

typedef struct slot {
    uint64_t hash;
    uint32_t number; /* of the value, from 1; 0: free */
    uint32_t next;   /* unused: keeps the size a power of two */
} slot;

typedef struct collected {
    nl_agg_bytes rows;    /* encoded rows (lists, sets, mode) */
    nl_agg_bytes offsets; /* sets, mode: size_t per value */
    nl_agg_bytes counts;  /* mode: int64_t per value     */
    nl_agg_bytes slots;   /* slot[slot_count]            */
    uint32_t slot_count;
    uint32_t count;       /* values */
} collected;
NL_AGGREGATE_SIZE(collected, collected)

static void collected_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    collected *s = state;
    nl_agg_bytes_free(&s->rows, eval->memory);
    nl_agg_bytes_free(&s->offsets, eval->memory);
    nl_agg_bytes_free(&s->counts, eval->memory);
    nl_agg_bytes_free(&s->slots, eval->memory);
}

/* end: where the values end (a row that is being interned lies behind it). */
static nl_str value_bytes(const collected *s, uint32_t number, size_t end)
{
    const size_t *offsets = (const size_t *)(const void *)s->offsets.data;
    size_t stop = number + 1 < s->count ? offsets[number + 1] : end;
    return (nl_str){s->rows.data + offsets[number], stop - offsets[number]};
}

static void place(slot *slots, uint32_t slot_count, uint64_t hash, uint32_t number)
{
    uint32_t at = (uint32_t)hash & (slot_count - 1);
    while (slots[at].number != 0) at = (at + 1) & (slot_count - 1);
    slots[at] = (slot){.hash = hash, .number = number};
}

static nl_status grow_slots(collected *s, nl_memory *memory)
{
    if ((s->count + 1) * 2 <= s->slot_count) return NULL;
    uint32_t slot_count = s->slot_count ? s->slot_count * 2 : 16;
    nl_agg_bytes fresh = {0};
    NL_TRY(nl_agg_bytes_reserve(&fresh, memory, nl_size_mul(slot_count, sizeof(slot))));
    memset(fresh.data, 0, slot_count * sizeof(slot));
    const slot *old = (const slot *)(const void *)s->slots.data;
    for (uint32_t i = 0; i < s->slot_count; i++)
        if (old[i].number != 0) place((slot *)(void *)fresh.data, slot_count, old[i].hash, old[i].number);
    nl_agg_bytes_free(&s->slots, memory);
    s->slots = fresh;
    s->slot_count = slot_count;
    return NULL;
}

/* Adds the value whose encoded row was just appended at `start`, or drops those bytes when it is known. */
static nl_status intern(collected *s, nl_memory *memory, size_t start, uint32_t *number, bool *is_new)
{
    NL_TRY(grow_slots(s, memory));
    nl_str bytes = {s->rows.data + start, s->rows.length - start};
    uint64_t hash = nl_hash_bytes(bytes.data, bytes.length, 0);
    slot *slots = (slot *)(void *)s->slots.data;
    for (uint32_t at = (uint32_t)hash & (s->slot_count - 1); slots[at].number != 0; at = (at + 1) & (s->slot_count - 1)) {
        if (slots[at].hash != hash || !nl_str_equal(value_bytes(s, slots[at].number - 1, start), bytes)) continue;
        *number = slots[at].number - 1;
        *is_new = false;
        s->rows.length = start;
        return NULL;
    }
    NL_TRY(nl_agg_bytes_append(&s->offsets, memory, &start, sizeof start));
    *number = s->count++;
    *is_new = true;
    place(slots, s->slot_count, hash, s->count);
    return NULL;
}

static bool is_nan(const nl_vector *arg, uint32_t row)
{
    nl_physical physical = arg->type->physical;
    if (physical != NL_PHYS_F32 && physical != NL_PHYS_F64) return false;
    nl_reader reader;
    nl_reader_init(&reader, arg);
    double value = nl_physical_f64(physical, reader.values, nl_reader_index(&reader, row));
    return value != value;
}

/* -0.0 is 0.0 and every NaN the same NaN. */
static nl_status encode_normal(const nl_vector *arg, uint32_t row, nl_agg_bytes *bytes, nl_memory *memory)
{
    size_t start = bytes->length;
    NL_TRY(nl_encode_row(arg, row, bytes, memory));
    if (arg->type->physical == NL_PHYS_F64 && bytes->length > start + 1) {
        double value;
        memcpy(&value, bytes->data + start + 1, sizeof value);
        if (value == 0) value = 0.0;
        if (value != value) value = __builtin_nan("");
        memcpy(bytes->data + start + 1, &value, sizeof value);
    }
    return NULL;
}

/* --- collect_list --- */

static nl_status list_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                           uint32_t row, void *state)
{
    (void)function;
    (void)readers;
    collected *s = state;
    NL_TRY(nl_encode_row(&args[0], row, &s->rows, eval->memory));
    s->count++;
    return NULL;
}
NL_AGGREGATE_STEPS(list, 1, list_step)

static nl_status list_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const collected *s = state;
    NL_TRY(nl_agg_bytes_append(bytes, eval->memory, &s->count, sizeof s->count));
    return nl_agg_bytes_append(bytes, eval->memory, s->rows.data, s->rows.length);
}

static nl_status list_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    (void)function;
    collected *s = state;
    uint32_t count;
    NL_CHECK(partial.length >= sizeof count);
    memcpy(&count, partial.data, sizeof count);
    s->count += count;
    return nl_agg_bytes_append(&s->rows, eval->memory, partial.data + sizeof count, partial.length - sizeof count);
}
NL_ENCODED_PARTIALS(list, list_encode, list_merge_one)

static nl_status list_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    const collected *s = state;
    size_t offset = 0;
    for (uint32_t i = 0; i < s->count; i++)
        NL_TRY(nl_decode_row(s->rows.data, &offset, function->argument_types[0], nl_column_builder_child(builder, 0)));
    return nl_column_builder_end_list(builder, s->count);
}
NL_BUILT_RESULT(list, list_result)
/* Trino's array_agg: NULLs stay, and no rows give NULL. */
static nl_status all_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    return ((const collected *)state)->count ? list_result(function, eval, state, builder) : nl_column_builder_null(builder);
}
NL_AGGREGATE_STEPS(all, 0, list_step)
NL_ENCODED_PARTIALS(all, list_encode, list_merge_one)
NL_BUILT_RESULT(all, all_result)
#define all_size    collected_size
#define all_destroy collected_destroy
NL_ENCODED_OPS(all);

#define list_size    collected_size
#define list_destroy collected_destroy
NL_ENCODED_OPS(list);

/* --- collect_set: a NaN equals nothing, not even another NaN (Spark keeps a Scala set of boxed numbers) --- */

static nl_status add_apart(collected *s, nl_memory *memory, size_t start)
{
    NL_TRY(nl_agg_bytes_append(&s->offsets, memory, &start, sizeof start));
    s->count++;
    return NULL;
}

static bool is_nan_row(const nl_type *type, const char *bytes)
{
    double value = 0;
    if (bytes[0] || (type->physical != NL_PHYS_F32 && type->physical != NL_PHYS_F64)) return false;
    float narrow;
    memcpy(type->physical == NL_PHYS_F32 ? (void *)&narrow : (void *)&value, bytes + 1, nl_physical_size(type->physical));
    return type->physical == NL_PHYS_F32 ? narrow != narrow : value != value;
}

static nl_status set_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                          uint32_t row, void *state)
{
    (void)function;
    (void)readers;
    collected *s = state;
    uint32_t number;
    bool is_new;
    size_t start = s->rows.length;
    NL_TRY(encode_normal(&args[0], row, &s->rows, eval->memory));
    return is_nan(&args[0], row) ? add_apart(s, eval->memory, start) : intern(s, eval->memory, start, &number, &is_new);
}
NL_AGGREGATE_STEPS(set, 1, set_step)

static nl_status set_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    collected *s = state;
    uint32_t count;
    NL_CHECK(partial.length >= sizeof count);
    memcpy(&count, partial.data, sizeof count);
    size_t offset = sizeof count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number;
        bool is_new;
        size_t start = s->rows.length;
        size_t stop = nl_encoded_size(partial.data, offset, function->argument_types[0]);
        NL_TRY(nl_agg_bytes_append(&s->rows, eval->memory, partial.data + offset, stop - offset));
        if (is_nan_row(function->argument_types[0], partial.data + offset))
            NL_TRY(add_apart(s, eval->memory, start));
        else
            NL_TRY(intern(s, eval->memory, start, &number, &is_new));
        offset = stop;
    }
    return NULL;
}
NL_ENCODED_PARTIALS(set, list_encode, set_merge_one)

static nl_status set_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    const collected *s = state;
    const nl_type *type = function->argument_types[0];
    nl_buffer *order = NULL;
    if (!nl_has_set_order(type)) return list_result(function, eval, state, builder);
    NL_TRY(nl_set_order(type, s->rows.data, (const size_t *)(const void *)s->offsets.data, s->count, eval->memory, &order));
    nl_status status = NULL;
    for (uint32_t i = 0; i < s->count && status == NULL; i++) {
        size_t offset = ((const size_t *)(const void *)s->offsets.data)[((const nl_set_place *)(const void *)order->data)[i].number];
        status = nl_decode_row(s->rows.data, &offset, type, nl_column_builder_child(builder, 0));
    }
    nl_buffer_release(order);
    return status != NULL ? status : nl_column_builder_end_list(builder, s->count);
}
NL_BUILT_RESULT(set, set_result)
#define set_size    collected_size
#define set_destroy collected_destroy
NL_ENCODED_OPS(set);

static bool holds_map(const nl_type *type)
{
    if (type->id == NL_TYPE_MAP) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (holds_map(type->children[i].type)) return true;
    return false;
}

static nl_status bind_collect(nl_bind *bind, nl_bound_function *bound)
{
    if (strcmp(bind->row->name, "collect_set") == 0 && holds_map(bind->argument_types[0]))
        return NL_RAISE(DATATYPE_MISMATCH__UNSUPPORTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P_STR("functionName", nl_quoted_name(bind)), NL_P("dataType", "\"MAP\" or \"COLLATED STRING\""));
    const bool is_all = strcmp(bind->row->name, "trino_array_agg") == 0;
    bound->result_type = nl_type_array(bind->arena, bind->argument_types[0], is_all);
    bound->is_nullable = is_all;
    bound->is_deterministic = false;
    return NULL;
}

/* --- mode: the commonest value; among equally common ones the least, or the greatest when the second argument is -1 --- */

static nl_status count_value(collected *s, nl_memory *memory, size_t start, int64_t times)
{
    uint32_t number;
    bool is_new;
    NL_TRY(intern(s, memory, start, &number, &is_new));
    if (is_new) return nl_agg_bytes_append(&s->counts, memory, &times, sizeof times);
    ((int64_t *)(void *)s->counts.data)[number] += times;
    return NULL;
}

static nl_status mode_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                           uint32_t row, void *state)
{
    (void)function;
    (void)readers;
    collected *s = state;
    size_t start = s->rows.length;
    NL_TRY(encode_normal(&args[0], row, &s->rows, eval->memory));
    return count_value(s, eval->memory, start, 1);
}
NL_AGGREGATE_STEPS(mode, 1, mode_step)

static nl_status mode_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    const collected *s = state;
    NL_TRY(nl_agg_bytes_append(bytes, eval->memory, &s->count, sizeof s->count));
    NL_TRY(nl_agg_bytes_append(bytes, eval->memory, s->counts.data, s->count * sizeof(int64_t)));
    (void)function;
    return nl_agg_bytes_append(bytes, eval->memory, s->rows.data, s->rows.length);
}

static nl_status mode_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    collected *s = state;
    uint32_t count;
    NL_CHECK(partial.length >= sizeof count);
    memcpy(&count, partial.data, sizeof count);
    size_t offset = sizeof count + count * sizeof(int64_t);
    for (uint32_t i = 0; i < count; i++) {
        int64_t times;
        size_t start = s->rows.length;
        size_t stop = nl_encoded_size(partial.data, offset, function->argument_types[0]);
        memcpy(&times, partial.data + sizeof count + i * sizeof times, sizeof times);
        NL_TRY(nl_agg_bytes_append(&s->rows, eval->memory, partial.data + offset, stop - offset));
        NL_TRY(count_value(s, eval->memory, start, times));
        offset = stop;
    }
    return NULL;
}
NL_ENCODED_PARTIALS(mode, mode_encode, mode_merge_one)

static nl_status is_less(const nl_bound_function *function, nl_eval *eval, const collected *s, uint32_t a, uint32_t b, bool *result)
{
    nl_vector values[2] = {{0}};
    size_t offset = 0;
    NL_TRY(nl_decode_vector(value_bytes(s, a, s->rows.length).data, &offset, function->argument_types[0], eval->memory, &values[0]));
    offset = 0;
    nl_status status = nl_decode_vector(value_bytes(s, b, s->rows.length).data, &offset, function->argument_types[0], eval->memory, &values[1]);
    if (status == NULL) *result = nl_vector_row_compare(&values[0], 0, &values[1], 0) < 0;
    nl_vector_fini(&values[0]);
    nl_vector_fini(&values[1]);
    return status;
}

static nl_status mode_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    const collected *s = state;
    const int64_t *counts = (const int64_t *)(const void *)s->counts.data;
    if (s->count == 0) return nl_column_builder_null(builder);
    bool is_orderable = nl_type_is_orderable(function->argument_types[0]);
    bool takes_greatest = function->state != NULL;
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->count; i++) {
        bool wins = counts[i] > counts[best];
        if (counts[i] == counts[best] && is_orderable)
            NL_TRY(takes_greatest ? is_less(function, eval, s, best, i, &wins) : is_less(function, eval, s, i, best, &wins));
        if (wins) best = i;
    }
    size_t offset = 0;
    return nl_decode_row(value_bytes(s, best, s->rows.length).data, &offset, function->argument_types[0], builder);
}
NL_BUILT_RESULT(mode, mode_result)

static nl_status bind_mode(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *order = bind->argument_count > 1 && bind->constants != NULL ? bind->constants[1] : NULL;
    bound->state = order != NULL && order->integer < 0 ? bind->row : NULL; /* not NULL: the greatest wins */
    return NULL;
}
#define mode_size    collected_size
#define mode_destroy collected_destroy
NL_ENCODED_OPS(mode);

static const nl_function_row rows[] = {
    {.name = "collect_list", .aliases = "array_agg", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .is_nondeterministic = true, .bind = bind_collect, .aggregate = &list_ops,
     .since = "2.0.0", .doc = "All values that are not NULL, as an array.", .examples = {{"collect_list(col) FROM VALUES (1), (2), (1) AS tab(col)", "[1,2,1]"}}},
    {.name = "trino_array_agg", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .is_internal = true, .is_nondeterministic = true, .bind = bind_collect, .aggregate = &all_ops,
     .since = "0.1.0", .doc = "All values, NULLs too, as an array."},
    {.name = "collect_set", NL_AGGREGATE_ROW, .signature = "(any) -> ?", .is_nondeterministic = true, .bind = bind_collect, .aggregate = &set_ops,
     .since = "2.0.0", .doc = "The distinct values that are not NULL, as an array.", .examples = {{"sort_array(collect_set(col)) FROM VALUES (1), (2), (1) AS tab(col)", "[1,2]"}}},
    {.name = "mode", NL_AGGREGATE_ROW, .signature = "(T [, int]) -> T", .bind = bind_mode, .aggregate = &mode_ops, .since = "3.4.0",
     .doc = "The commonest value.", .examples = {{"mode(col) FROM VALUES (0), (10), (10) AS tab(col)", "10"}}},
};

NL_DEFINE_FUNCTION_GROUP(collect, rows);

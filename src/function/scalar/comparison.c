/* scalar/comparison.c - = <=> < <= > >= != on every orderable type.
 *
 * Three element functions (equal, less, less or equal) with one loop each per physical form; > and >= swap operands.
 * NaN equals NaN and is greater than everything; -0.0 equals 0.0; strings compare by bytes; arrays and structs by
 * their elements with nulls first.
 */
#include "function/groups.h"

typedef enum comparison_op { OP_EQUAL, OP_NOT_EQUAL, OP_LESS, OP_LESS_EQUAL, OP_NULL_SAFE } comparison_op;

typedef struct comparison {
    comparison_op op;
    bool is_swapped;
    bool is_ieee; /* Trino's: nothing is equal to, less or greater than NaN */
} comparison;

#define EQ(a, b) ((a) == (b))
#define NE(a, b) ((a) != (b))
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
/* NaN is the only value that differs from itself. */
#define REAL_EQ(a, b) (((a) == (b)) | (((a) != (a)) & ((b) != (b))))
#define REAL_NE(a, b) (!REAL_EQ(a, b))
#define REAL_LT(a, b) (((a) < (b)) | (((a) == (a)) & ((b) != (b))))
#define REAL_LE(a, b) (((a) <= (b)) | ((b) != (b)))

typedef void (*compare_rows)(const nl_reader *a, const nl_reader *b, bool is_flat, nl_selection selection, uint32_t length,
                             uint8_t *out);

#define COMPARE_ROWS(name, type, test)                                                                              \
    static void name(const nl_reader *a, const nl_reader *b, bool is_flat, nl_selection selection, uint32_t length, \
                     uint8_t *restrict out)                                                                         \
    {                                                                                                               \
        const type *restrict x = a->values;                                                                         \
        const type *restrict y = b->values;                                                                         \
        if (!is_flat) {                                                                                             \
            NL_EACH_SELECTED(row)                                                                                   \
            out[row] = (uint8_t)test(x[nl_reader_index(a, row)], y[nl_reader_index(b, row)]);                       \
        } else if (b->row_mask == 0) {                                                                              \
            const type c = y[0];                                                                                    \
            for (uint32_t row = 0; row < length; row++) out[row] = (uint8_t)test(x[row], c);                        \
        } else if (a->row_mask == 0) {                                                                              \
            const type c = x[0];                                                                                    \
            for (uint32_t row = 0; row < length; row++) out[row] = (uint8_t)test(c, y[row]);                        \
        } else {                                                                                                    \
            for (uint32_t row = 0; row < length; row++) out[row] = (uint8_t)test(x[row], y[row]);                   \
        }                                                                                                           \
    }
#define COMPARE_TYPE(suffix, type, e, n, l, m)  \
    COMPARE_ROWS(equal_##suffix, type, e)       \
    COMPARE_ROWS(not_equal_##suffix, type, n)   \
    COMPARE_ROWS(less_##suffix, type, l)        \
    COMPARE_ROWS(less_equal_##suffix, type, m)
COMPARE_TYPE(i8, int8_t, EQ, NE, LT, LE)
COMPARE_TYPE(i16, int16_t, EQ, NE, LT, LE)
COMPARE_TYPE(i32, int32_t, EQ, NE, LT, LE)
COMPARE_TYPE(i64, int64_t, EQ, NE, LT, LE)
COMPARE_TYPE(i128, nl_int128, EQ, NE, LT, LE)
COMPARE_TYPE(f32, float, REAL_EQ, REAL_NE, REAL_LT, REAL_LE)
COMPARE_TYPE(f64, double, REAL_EQ, REAL_NE, REAL_LT, REAL_LE)

#define VIEW_EQ(a, b) nl_view_equal(&(a), &(b))
#define VIEW_NE(a, b) (!nl_view_equal(&(a), &(b)))
#define VIEW_LT(a, b) (nl_view_compare(&(a), &(b)) < 0)
#define VIEW_LE(a, b) (nl_view_compare(&(a), &(b)) <= 0)
/* A column against one short string, as = and != mostly are: both halves of the views at once, nothing looked up. */
static bool match_short(const nl_reader *column, const nl_reader *constant, bool is_equal, nl_selection selection, uint8_t *restrict out)
{
    const nl_string_view *values = column->values;
    const nl_string_view *wanted = constant->values;
    if (constant->row_mask != 0 || constant->indices || column->indices || column->row_mask == 0) return false;
    if (nl_reader_is_null(constant, 0) || wanted->length > NL_STRING_INLINE_MAX) return false;
    uint64_t want[2];
    memcpy(want, wanted, sizeof want);
    NL_EACH_SELECTED(row)
    {
        uint64_t have[2];
        memcpy(have, &values[row], sizeof have);
        out[row] = (uint8_t)((((have[0] ^ want[0]) | (have[1] ^ want[1])) == 0) == is_equal);
    }
    return true;
}

#define NO_MATCH(a, b, selection, out)        false
#define MATCH_EQUAL(a, b, selection, out)     (match_short(a, b, true, selection, out) || match_short(b, a, true, selection, out))
#define MATCH_NOT_EQUAL(a, b, selection, out) (match_short(a, b, false, selection, out) || match_short(b, a, false, selection, out))

#define VIEW_ROWS(name, test, match)                                                                                       \
    static void name(const nl_reader *a, const nl_reader *b, bool is_flat, nl_selection selection, uint32_t length, \
                     uint8_t *restrict out)                                                                         \
    {                                                                                                               \
        (void)is_flat;                                                                                              \
        (void)length;                                                                                               \
        if (match(a, b, selection, out)) return;                                                                    \
        const nl_string_view *x = a->values;                                                                        \
        const nl_string_view *y = b->values;                                                                        \
        NL_EACH_SELECTED(row)                                                                                       \
        {                                                                                                           \
            if (nl_reader_is_null(a, row) || nl_reader_is_null(b, row)) continue;                                   \
            out[row] = (uint8_t)test(x[nl_reader_index(a, row)], y[nl_reader_index(b, row)]);                       \
        }                                                                                                           \
    }
VIEW_ROWS(equal_view, VIEW_EQ, MATCH_EQUAL)
VIEW_ROWS(not_equal_view, VIEW_NE, MATCH_NOT_EQUAL)
VIEW_ROWS(less_view, VIEW_LT, NO_MATCH)
VIEW_ROWS(less_equal_view, VIEW_LE, NO_MATCH)

static compare_rows rows_of(comparison_op op, nl_physical physical)
{
#define ROW(suffix) {equal_##suffix, not_equal_##suffix, less_##suffix, less_equal_##suffix, equal_##suffix}
    static const compare_rows table[][5] = {
        [NL_PHYS_NONE] = {NULL, NULL, NULL, NULL, NULL},
        [NL_PHYS_BOOL] = ROW(i8),
        [NL_PHYS_I8] = ROW(i8),
        [NL_PHYS_I16] = ROW(i16),
        [NL_PHYS_I32] = ROW(i32),
        [NL_PHYS_I64] = ROW(i64),
        [NL_PHYS_I128] = ROW(i128),
        [NL_PHYS_F32] = ROW(f32),
        [NL_PHYS_F64] = ROW(f64),
        [NL_PHYS_STRING] = ROW(view),
    };
#undef ROW
    return physical < NL_COUNT(table) ? table[physical][op] : NULL;
}

static bool is_plain(const nl_reader *reader)
{
    return reader->indices == NULL;
}

static bool judge(comparison_op op, int order)
{
    switch (op) {
    case OP_EQUAL:
    case OP_NULL_SAFE:
        return order == 0;
    case OP_NOT_EQUAL:
        return order != 0;
    case OP_LESS:
        return order < 0;
    case OP_LESS_EQUAL:
        return order <= 0;
    }
    return false;
}

static void compare_nested(comparison_op op, const nl_vector *a, const nl_vector *b, nl_selection selection, uint8_t *out)
{
    NL_EACH_SELECTED(row)
    {
        if (nl_vector_is_null(a, row) || nl_vector_is_null(b, row)) continue;
        out[row] = judge(op, nl_vector_row_compare(a, row, b, row));
    }
}

static void unset_nans(comparison_op op, const nl_reader *a, const nl_reader *b, nl_physical physical, nl_selection selection, uint8_t *out)
{
    NL_EACH_SELECTED(row)
    {
        const double x = nl_physical_f64(physical, a->values, nl_reader_index(a, row)), y = nl_physical_f64(physical, b->values, nl_reader_index(b, row));
        if (x != x || y != y) out[row] = op == OP_NOT_EQUAL;
    }
}

static void compare_values(const comparison *state, const nl_vector *args, nl_selection selection, uint32_t length, uint8_t *out)
{
    const nl_vector *a = &args[state->is_swapped];
    const nl_vector *b = &args[!state->is_swapped];
    compare_rows loop = rows_of(state->op, a->type->physical);
    if (loop == NULL || a->type->physical != b->type->physical) {
        compare_nested(state->op, a, b, selection, out);
        return;
    }
    nl_reader x, y;
    nl_reader_init(&x, a);
    nl_reader_init(&y, b);
    bool is_dense = selection.rows == NULL || selection.count >= length / 4;
    loop(&x, &y, is_dense && is_plain(&x) && is_plain(&y), selection, length, out);
    const nl_physical physical = a->type->physical;
    if (state->is_ieee && (physical == NL_PHYS_F32 || physical == NL_PHYS_F64)) unset_nans(state->op, &x, &y, physical, selection, out);
}

static nl_status compare_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    compare_values(function->state, args, selection, length, output.values);
    return NULL;
}

static nl_status null_safe_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    uint8_t *values = output.values;
    if (args[0].type->id != NL_TYPE_NULL && args[1].type->id != NL_TYPE_NULL)
        compare_values(function->state, args, selection, length, values);
    NL_EACH_SELECTED(row)
    {
        bool a_null = nl_vector_is_null(&args[0], row);
        bool b_null = nl_vector_is_null(&args[1], row);
        if (a_null || b_null) values[row] = a_null && b_null;
    }
    return NULL;
}

static bool has_collation(const nl_type *type)
{
    if (type->collation.length > 0) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (has_collation(type->children[i].type)) return true;
    return false;
}

/* What Trino calls unknown, or refuses, as soon as a part is NULL. */
static bool has_nullable_part(const nl_type *type)
{
    if (!nl_type_is_nested(type)) return false;
    if (type->contains_null) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if ((type->id == NL_TYPE_STRUCT && type->children[i].is_nullable) || has_nullable_part(type->children[i].type)) return true;
    return false;
}

static bool is_ansi_interval(const nl_type *type)
{
    return type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
}

static nl_status bind_comparison(nl_bind *bind, nl_bound_function *bound)
{
    static const struct {
        const char *name;
        comparison state;
    } ops[] = {
        {"=", {OP_EQUAL, false, false}},      {"!=", {OP_NOT_EQUAL, false, false}},  {"<", {OP_LESS, false, false}},
        {"<=", {OP_LESS_EQUAL, false, false}}, {">", {OP_LESS, true, false}},        {">=", {OP_LESS_EQUAL, true, false}},
        {"<=>", {OP_NULL_SAFE, false, false}},
    };
    const nl_type **types = bind->argument_types;
    const nl_type *common = nl_common_type(bind->arena, types[0], types[1], nl_confs_rules(bind->confs));
    if (!bind->confs->is_ansi && common != NULL && common->id == NL_TYPE_STRING && types[0]->id != types[1]->id) {
        if (is_ansi_interval(types[0]) || is_ansi_interval(types[1])) return nl_bind_diff_types(bind);
        /* Legacy: a string beside a number or a time is read as that, not the other way round. */
        const nl_type *other = types[0]->id == NL_TYPE_STRING ? types[1] : types[0];
        if (nl_type_is_integral(other) || !nl_type_is_numeric(other))
            common = other->id == NL_TYPE_NULL ? common : other;
        else
            common = nl_type_double();
    }
    if (common == NULL && nl_type_has_same_structure(types[0], types[1])) common = types[0];
    if (common == NULL) return nl_bind_diff_types(bind);
    if (!nl_type_is_orderable(common)) return nl_bind_not_orderable(bind, common);
    if (has_collation(common))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Comparing strings by the collation " NL_STR_FMT " is not supported.",
                             NL_STR_ARG(common->collation));
    types[0] = types[1] = common;
    for (uint32_t i = 0; i < NL_COUNT(ops); i++)
        if (strcmp(ops[i].name, bind->row->name) == 0) bound->state = &ops[i].state;
    if (bind->confs->is_trino && strcmp(bind->row->name, "<=>") != 0) {
        comparison *own = NL_NEW(bind->arena, comparison);
        *own = *(const comparison *)bound->state;
        own->is_ieee = true;
        bound->state = own;
        if (has_nullable_part(bind->given_types[0]) || has_nullable_part(bind->given_types[1]))
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Comparing arrays and rows that may hold NULLs is not supported");
    }
    bound->result_type = nl_type_boolean();
    return NULL;
}

#define COMPARISON_ROW                                                                                             \
    .kind = NL_FUNCTION_SCALAR, .group = "predicate", .signature = "(any, any) -> ?", .nulls = NL_NULL_IN_NULL_OUT, \
    .is_dense = true, .keeps_non_null = true, .bind = bind_comparison, .kernel = compare_kernel

static const nl_function_row rows[] = {
    {.name = "=", .aliases = "==", COMPARISON_ROW, .since = "1.0.0", .doc = "Whether both values are equal.",
     .examples = {{"2 = 2", "true"}, {"1 = '1'", "true"}, {"NULL = NULL", "NULL"}}},
    {.name = "!=", .aliases = "<>", COMPARISON_ROW, .since = "1.0.0", .doc = "Whether the values differ.",
     .examples = {{"1 != 2", "true"}}},
    {.name = "<", COMPARISON_ROW, .since = "1.0.0", .doc = "Whether the first value is less than the second.",
     .examples = {{"1 < 2", "true"}, {"1.1 < '1'", "false"}}},
    {.name = "<=", COMPARISON_ROW, .since = "1.0.0", .doc = "Whether the first value is less than or equal to the second.",
     .examples = {{"2 <= 2", "true"}}},
    {.name = ">", COMPARISON_ROW, .since = "1.0.0", .doc = "Whether the first value is greater than the second.",
     .examples = {{"2 > 1", "true"}}},
    {.name = ">=", COMPARISON_ROW, .since = "1.0.0", .doc = "Whether the first value is greater than or equal to the second.",
     .examples = {{"2 >= 1", "true"}}},
    {.name = "<=>", .aliases = "equal_null", .kind = NL_FUNCTION_SCALAR, .group = "predicate", .signature = "(any, any) -> ?",
     .nulls = NL_NULL_SEEN, .keeps_non_null = true, .bind = bind_comparison, .kernel = null_safe_kernel, .since = "1.1.0",
     .doc = "Equality in which two NULLs are equal and a NULL differs from everything else.",
     .examples = {{"2 <=> 2", "true"}, {"NULL <=> NULL", "true"}, {"1 <=> NULL", "false"}}},
};

NL_DEFINE_FUNCTION_GROUP(comparison, rows);

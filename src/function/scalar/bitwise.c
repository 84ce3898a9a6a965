/* scalar/bitwise.c - & | ^ ~ << >> >>> bit_count bit_get. */
#include "function/groups.h"

#define AND(a, b) ((a) & (b))
#define OR(a, b)  ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define BIT_KERNELS(name, op)                                            \
    NL_BINARY_KERNEL(name##_i8, int8_t, int8_t, int8_t, op)              \
    NL_BINARY_KERNEL(name##_i16, int16_t, int16_t, int16_t, op)          \
    NL_BINARY_KERNEL(name##_i32, int32_t, int32_t, int32_t, op)          \
    NL_BINARY_KERNEL(name##_i64, int64_t, int64_t, int64_t, op)
BIT_KERNELS(and, AND)
BIT_KERNELS(or, OR)
BIT_KERNELS(xor, XOR)

static nl_status bind_bits(nl_bind *bind, nl_bound_function *bound)
{
    static const nl_scalar_kernel kernels[3][4] = {{and_i8, and_i16, and_i32, and_i64}, {or_i8, or_i16, or_i32, or_i64}, {xor_i8, xor_i16, xor_i32, xor_i64}};
    const nl_type **types = bind->argument_types;
    const nl_type *const given[2] = {types[0], types[1]};
    for (uint32_t i = 0; i < 2; i++) {
        const nl_type *other = given[!i];
        if (given[i]->id == NL_TYPE_NULL) types[i] = other->id == NL_TYPE_NULL ? nl_type_int() : other;
        if (given[i]->id == NL_TYPE_STRING && nl_type_is_integral(other)) types[i] = nl_type_bigint();
    }
    const nl_type *common = nl_type_is_integral(types[0]) && nl_type_is_integral(types[1]) ? nl_common_type(bind->arena, types[0], types[1], true) : NULL;
    if (common == NULL && !nl_type_equal(types[0], types[1])) return nl_bind_diff_types(bind);
    if (common == NULL)
        return NL_RAISE(DATATYPE_MISMATCH__BINARY_OP_WRONG_TYPE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P("inputType", "\"INTEGRAL\""), NL_P_STR("actualDataType", nl_quoted_type(bind->arena, types[0])));
    types[0] = types[1] = bound->result_type = common;
    char symbol = bind->row->name[0];
    bound->kernel = kernels[symbol == '&' ? 0 : symbol == '|' ? 1 : 2][common->physical - NL_PHYS_I8];
    return NULL;
}

static nl_status not_kernel(NL_KERNEL_PARAMETERS)
{
    nl_physical physical = function->result_type->physical;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row)
    nl_physical_set_i128(physical, output.values, row, ~nl_physical_i64(physical, in.values, nl_reader_index(&in, row)));
    return NULL;
}

static nl_status bind_not(nl_bind *bind, nl_bound_function *bound)
{
    bound->result_type = bind->argument_types[0];
    return NULL;
}

/* Java's shifts: the amount counts modulo the width. */
#define LEFT_I32(a, n)     ((int32_t)((uint32_t)(a) << ((n) & 31)))
#define RIGHT_I32(a, n)    ((a) >> ((n) & 31))
#define UNSIGNED_I32(a, n) ((int32_t)((uint32_t)(a) >> ((n) & 31)))
#define LEFT_I64(a, n)     ((int64_t)((uint64_t)(a) << ((n) & 63)))
#define RIGHT_I64(a, n)    ((a) >> ((n) & 63))
#define UNSIGNED_I64(a, n) ((int64_t)((uint64_t)(a) >> ((n) & 63)))
NL_BINARY_KERNEL(left_i32, int32_t, int32_t, int32_t, LEFT_I32)
NL_BINARY_KERNEL(right_i32, int32_t, int32_t, int32_t, RIGHT_I32)
NL_BINARY_KERNEL(unsigned_i32, int32_t, int32_t, int32_t, UNSIGNED_I32)
NL_BINARY_KERNEL(left_i64, int64_t, int32_t, int64_t, LEFT_I64)
NL_BINARY_KERNEL(right_i64, int64_t, int32_t, int64_t, RIGHT_I64)
NL_BINARY_KERNEL(unsigned_i64, int64_t, int32_t, int64_t, UNSIGNED_I64)

static nl_status bind_shift(nl_bind *bind, nl_bound_function *bound)
{
    const char *name = bind->row->name;
    bool is_long = bind->argument_types[0]->id == NL_TYPE_BIGINT;
    if (strcmp(name, "<<") == 0)
        bound->kernel = is_long ? left_i64 : left_i32;
    else if (strcmp(name, ">>") == 0)
        bound->kernel = is_long ? right_i64 : right_i32;
    else
        bound->kernel = is_long ? unsigned_i64 : unsigned_i32;
    return NULL;
}

static nl_status bit_count_kernel(NL_KERNEL_PARAMETERS)
{
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in;
    nl_reader_init(&in, &args[0]);
    NL_EACH_SELECTED(row) /* negative numbers count as 64 bits, whatever their type */
    ((int32_t *)output.values)[row] = __builtin_popcountll((uint64_t)nl_physical_i64(args[0].type->physical, in.values, nl_reader_index(&in, row)));
    return NULL;
}

static nl_status bit_get_kernel(NL_KERNEL_PARAMETERS)
{
    uint32_t bits = nl_physical_size(args[0].type->physical) * 8;
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    nl_reader in, places;
    nl_reader_init(&in, &args[0]);
    nl_reader_init(&places, &args[1]);
    NL_EACH_SELECTED(row)
    {
        int32_t place = nl_reader_i32(&places, row);
        if (place < 0 || (uint32_t)place >= bits)
            return NL_RAISE(INVALID_PARAMETER_VALUE__BIT_POSITION_RANGE, NL_P("parameter", "`pos`"), NL_P("functionName", nl_str_is_nocase(function->name, "getbit") ? "`getbit`" : "`bit_get`"),
                            NL_P_INT("upper", bits), NL_P_INT("invalidValue", place));
        int64_t value = nl_physical_i64(args[0].type->physical, in.values, nl_reader_index(&in, row));
        ((int8_t *)output.values)[row] = (int8_t)(value >> place & 1);
    }
    return NULL;
}

#define BITS .kind = NL_FUNCTION_SCALAR, .group = "bitwise", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true
#define BITS_OF_TWO BITS, .signature = "(any, any) -> ?", .bind = bind_bits
#define SHIFT BITS, .signature = "(int, int) -> int | (bigint, int) -> bigint", .bind = bind_shift

static nl_status bind_count(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    if (bind->given_types[0]->id != NL_TYPE_STRING) return NULL;
    bind->argument_types[0] = bind->given_types[0];
    return nl_bind_unexpected_type(bind, 0, "(\"INTEGRAL\" or \"BOOLEAN\")");
}

static const nl_function_row rows[] = {
    {.name = "&", BITS_OF_TWO, .since = "1.4.0", .doc = "Bitwise AND.", .examples = {{"3 & 5", "1"}}},
    {.name = "|", BITS_OF_TWO, .since = "1.4.0", .doc = "Bitwise OR.", .examples = {{"3 | 5", "7"}}},
    {.name = "^", BITS_OF_TWO, .since = "1.4.0", .doc = "Bitwise exclusive OR.", .examples = {{"3 ^ 5", "6"}}},
    {.name = "~", BITS, .signature = "(integral) -> ?", .bind = bind_not, .kernel = not_kernel, .since = "1.4.0", .doc = "Bitwise NOT.", .examples = {{"~ 0", "-1"}}},
    {.name = "<<", .aliases = "shiftleft", SHIFT, .since = "1.5.0", .doc = "Bits moved left.", .examples = {{"shiftleft(2, 1)", "4"}}},
    {.name = ">>", .aliases = "shiftright", SHIFT, .since = "1.5.0", .doc = "Bits moved right, the sign kept.", .examples = {{"shiftright(4, 1)", "2"}}},
    {.name = ">>>", .aliases = "shiftrightunsigned", SHIFT, .since = "1.5.0", .doc = "Bits moved right, zeroes moved in.", .examples = {{"shiftrightunsigned(4, 1)", "2"}}},
    {.name = "bit_count", BITS, .signature = "(boolean) -> int | (integral) -> int", .bind = bind_count, .kernel = bit_count_kernel, .since = "3.0.0", .doc = "The number of bits that are set.", .examples = {{"bit_count(7)", "3"}}},
    {.name = "bit_get", .aliases = "getbit", BITS, .can_fail = true, .signature = "(integral, int) -> tinyint", .kernel = bit_get_kernel, .since = "3.2.0", .doc = "The bit at a place, from 0 on the right.", .examples = {{"bit_get(11, 0)", "1"}}},
};

NL_DEFINE_FUNCTION_GROUP(bitwise, rows);

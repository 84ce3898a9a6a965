/* aggregate/bitmap.c - bitmap_construct_agg, bitmap_or_agg: 4096 bytes, a bit for each of 32768 positions. */
#include "function/aggregate/state.h"
#include "function/groups.h"

#define BITMAP_BYTES 4096u
#define BITMAP_BITS  (BITMAP_BYTES * 8u)

typedef struct bitmap {
    nl_agg_bytes bytes; /* length 0 or BITMAP_BYTES */
} bitmap;
NL_AGGREGATE_SIZE(bitmap, bitmap)

static nl_status make_bits(nl_eval *eval, bitmap *s)
{
    if (s->bytes.length > 0) return NULL;
    NL_TRY(nl_agg_bytes_reserve(&s->bytes, eval->memory, BITMAP_BYTES));
    memset(s->bytes.data, 0, BITMAP_BYTES);
    s->bytes.length = BITMAP_BYTES;
    return NULL;
}

static nl_status or_bytes(nl_eval *eval, bitmap *s, nl_str bytes)
{
    if (bytes.length == 0) return NULL;
    NL_TRY(make_bits(eval, s));
    for (size_t i = 0; i < NL_MIN(bytes.length, (size_t)BITMAP_BYTES); i++) s->bytes.data[i] = (char)(s->bytes.data[i] | bytes.data[i]);
    return NULL;
}

static nl_status bitmap_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                             uint32_t row, void *state)
{
    (void)function;
    bitmap *s = state;
    if (args[0].type->physical == NL_PHYS_STRING) return or_bytes(eval, s, nl_reader_str(&readers[0], row));
    int64_t position = nl_reader_i64(&readers[0], row);
    if (position < 0 || position >= BITMAP_BITS)
        return NL_RAISE(INVALID_BITMAP_POSITION, NL_P_INT("bitPosition", position), NL_P_INT("bitmapNumBytes", BITMAP_BYTES),
                        NL_P_INT("bitmapNumBits", BITMAP_BITS));
    NL_TRY(make_bits(eval, s));
    s->bytes.data[position / 8] = (char)(s->bytes.data[position / 8] | 1 << position % 8);
    return NULL;
}
NL_AGGREGATE_STEPS(bitmap, 1, bitmap_step)

static nl_status bitmap_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    const bitmap *s = state;
    return nl_agg_bytes_append(bytes, eval->memory, s->bytes.data, s->bytes.length);
}

static nl_status bitmap_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    (void)function;
    return or_bytes(eval, state, partial);
}
NL_ENCODED_PARTIALS(bitmap, bitmap_encode, bitmap_merge_one)

static nl_status bitmap_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)function;
    bitmap *s = state;
    NL_TRY(make_bits(eval, s));
    return nl_column_builder_str(builder, (nl_str){s->bytes.data, s->bytes.length});
}
NL_BUILT_RESULT(bitmap, bitmap_result)

static void bitmap_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_agg_bytes_free(&((bitmap *)state)->bytes, eval->memory);
}
NL_ENCODED_OPS(bitmap);

/* Bytes as they are: nothing is cast to BINARY. */
static nl_status bind_or(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    return bind->argument_types[0]->id == NL_TYPE_BINARY ? NULL : nl_bind_unexpected_type(bind, 0, "\"BINARY\"");
}

static const nl_function_row rows[] = {
    {.name = "bitmap_construct_agg", NL_AGGREGATE_ROW, .signature = "(bigint) -> binary", .keeps_non_null = true, .can_fail = true, .aggregate = &bitmap_ops,
     .since = "3.5.0", .doc = "A bitmap with the bits at these positions set.",
     .examples = {{"substring(hex(bitmap_construct_agg(bitmap_bit_position(col))), 1, 6) FROM VALUES (1), (2), (3) AS tab(col)", "070000"}}},
    {.name = "bitmap_or_agg", NL_AGGREGATE_ROW, .signature = "(any) -> binary", .keeps_non_null = true, .bind = bind_or, .aggregate = &bitmap_ops, .since = "3.5.0",
     .doc = "The bitwise OR of bitmaps.", .examples = {{"substring(hex(bitmap_or_agg(col)), 1, 6) FROM VALUES (X'10'), (X'20'), (X'40') AS tab(col)", "700000"}}},
};

NL_DEFINE_FUNCTION_GROUP(bitmap, rows);

/* format/orc/column.c - see column.h. Source: ORC specification v1, Column Encodings.
 *
 * A stream has entries only for what is there: values of rows that are not null, children of structs that are not null,
 * elements of all lists together. Values are decoded without gaps and then spread over the rows. */
#include "format/orc/column.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/uuid.h"
#include "column/bits.h"
#include "format/orc/rebase.h"

#define DICTIONARY_VALUES_MAX (1u << 26)
#define HYBRID_MICROS_MAX     4000000000000000000ll
#define ORC_EPOCH_SECONDS 1420070400ll /* 2015-01-01T00:00:00: seconds of timestamps count from there */

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

/* ---- opening ---- */

static bool is_numbers(const nl_orc_plan *plan)
{
    switch (plan->action) {
    case NL_ORC_READ_INTEGER: return plan->file->kind != NL_ORC_BYTE;
    case NL_ORC_READ_DAYS:
    case NL_ORC_READ_TIME: return true;
    case NL_ORC_READ_MISSING:
    case NL_ORC_READ_BOOLEAN:
    case NL_ORC_READ_REAL:
    case NL_ORC_READ_DECIMAL:
    case NL_ORC_READ_TEXT:
    case NL_ORC_READ_UUID:
    case NL_ORC_READ_LIST:
    case NL_ORC_READ_STRUCT: break;
    }
    return false;
}

static bool is_text(const nl_orc_plan *plan)
{
    return plan->action == NL_ORC_READ_TEXT || plan->action == NL_ORC_READ_UUID;
}

static nl_status new_numbers(nl_orc_stream *stream, bool is_v2, bool is_signed, nl_orc_int_reader **reader)
{
    *reader = calloc(1, sizeof(**reader));
    if (!*reader) return out_of_memory(sizeof(**reader));
    nl_orc_int_reader_init(*reader, stream, is_v2, is_signed);
    return NULL;
}

static void open_stream(nl_orc_column *column, nl_orc_stream_kind kind, nl_orc_stream *stream)
{
    const nl_orc_stream_place place = nl_orc_stripe_stream(column->context->footer, column->plan->file->id, kind);
    nl_orc_stream_init(stream, column->context->store, place.offset, place.length, column->plan->file->path);
}

/* True recursion: types have a limited depth. */
nl_status nl_orc_column_open(nl_orc_column *column, const nl_orc_plan *plan, const nl_orc_context *context)
{
    *column = (nl_orc_column){.plan = plan, .context = context};
    if (plan->action == NL_ORC_READ_MISSING) return NULL;
    const nl_orc_encoding encoding = context->footer->encodings[plan->file->id];
    const bool is_v2 = encoding == NL_ORC_DIRECT_V2 || encoding == NL_ORC_DICTIONARY_V2;
    const bool has_lengths = plan->action == NL_ORC_READ_LIST || is_text(plan);
    column->is_open = true;
    column->has_dictionary = plan->action == NL_ORC_READ_TEXT && (encoding == NL_ORC_DICTIONARY || encoding == NL_ORC_DICTIONARY_V2);
    column->dictionary_size = context->footer->dictionary_sizes[plan->file->id];
    open_stream(column, NL_ORC_PRESENT, &column->present);
    open_stream(column, NL_ORC_DATA, &column->data);
    open_stream(column, has_lengths ? NL_ORC_LENGTH : NL_ORC_SECONDARY, &column->second);
    column->has_present = column->present.length > 0;
    nl_orc_bit_reader_init(&column->bits, &column->present);
    nl_orc_bit_reader_init(&column->booleans, &column->data);
    nl_orc_byte_reader_init(&column->bytes, &column->data);
    if (is_numbers(plan)) NL_TRY(new_numbers(&column->data, is_v2, true, &column->numbers));
    if (column->has_dictionary) NL_TRY(new_numbers(&column->data, is_v2, false, &column->numbers));
    if (has_lengths || plan->action == NL_ORC_READ_TIME) NL_TRY(new_numbers(&column->second, is_v2, false, &column->seconds));
    if (plan->action == NL_ORC_READ_DECIMAL) NL_TRY(new_numbers(&column->second, is_v2, true, &column->seconds));
    if (plan->child_count == 0) return NULL;
    column->children = calloc(plan->child_count, sizeof(*column->children));
    if (!column->children) return out_of_memory(plan->child_count * sizeof(*column->children));
    for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(nl_orc_column_open(&column->children[i], &plan->children[i], context));
    return NULL;
}

void nl_orc_column_close(nl_orc_column *column)
{
    if (!column->is_open) return;
    for (uint32_t i = 0; column->children && i < column->plan->child_count; i++) nl_orc_column_close(&column->children[i]);
    free(column->children);
    free(column->numbers);
    free(column->seconds);
    nl_shared_vector_release(column->dictionary);
    nl_orc_stream_fini(&column->present);
    nl_orc_stream_fini(&column->data);
    nl_orc_stream_fini(&column->second);
    *column = (nl_orc_column){0};
}

static nl_status status_of(nl_orc_column *column)
{
    NL_TRY(nl_orc_stream_status(&column->present));
    NL_TRY(nl_orc_stream_status(&column->data));
    return nl_orc_stream_status(&column->second);
}

/* ---- which rows have values ---- */

typedef struct presence {
    uint8_t *bits;      /* by row; NULL: all have */
    uint32_t value_count;
} presence;

/* The parent's set bits keep what `own` says, one after the other. */
static void merge_bits(uint8_t *into, const uint8_t *parent, const uint8_t *own, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t row = 0; row < count; row++) {
        if (!nl_bit_get(parent, row)) continue;
        if (nl_bit_get(own, at)) nl_bit_set(into, row);
        at++;
    }
}

/* Reads the PRESENT stream; the vector gets its validity. */
static nl_status read_presence(nl_orc_column *column, uint32_t count, const uint8_t *parent, nl_vector *vector, presence *out)
{
    nl_memory *memory = column->context->memory;
    const uint32_t slots = parent ? nl_bits_count(parent, 0, count) : count;
    nl_buffer *own = NULL;
    *out = (presence){.value_count = slots};
    if (!column->has_present && slots == count) return NULL;
    NL_TRY(nl_vector_make_validity(vector, memory, &out->bits));
    if (!column->has_present) {
        memcpy(out->bits, parent, nl_bits_bytes(count));
    } else if (!parent) {
        out->value_count = (uint32_t)nl_orc_bit_reader_read(&column->bits, out->bits, count);
    } else {
        NL_TRY(nl_buffer_new(memory, nl_bits_bytes(slots) + 8u, false, &own));
        out->value_count = (uint32_t)nl_orc_bit_reader_read(&column->bits, own->data, slots);
        memset(out->bits, 0, nl_bits_bytes(count));
        merge_bits(out->bits, parent, own->data, count);
        nl_buffer_release(own);
    }
    vector->null_count = count - out->value_count;
    return nl_orc_stream_status(&column->present);
}

/* ---- numbers ---- */

static bool is_there(const presence *rows, uint32_t row)
{
    return !rows->bits || nl_bit_get(rows->bits, row);
}

/* Values without gaps to the rows that have them; what does not fit becomes null. */
#define SPREAD_WHOLE(name, T, low, high)                                                                  \
    static bool name(const int64_t *from, const presence *rows, uint32_t count, T *into, uint8_t *misfits) \
    {                                                                                                     \
        bool has_misfit = false;                                                                          \
        for (uint32_t row = 0, at = 0; row < count; row++) {                                              \
            if (!is_there(rows, row)) continue;                                                           \
            const int64_t value = from[at++];                                                             \
            if (value < (low) || value > (high)) {                                                        \
                has_misfit = true;                                                                        \
                nl_bit_set(misfits, row);                                                                 \
                continue;                                                                                 \
            }                                                                                             \
            into[row] = (T)value;                                                                         \
        }                                                                                                 \
        return has_misfit;                                                                                \
    }
SPREAD_WHOLE(spread_i8, int8_t, INT8_MIN, INT8_MAX)
SPREAD_WHOLE(spread_i16, int16_t, INT16_MIN, INT16_MAX)
SPREAD_WHOLE(spread_i32, int32_t, INT32_MIN, INT32_MAX)

#define SPREAD_ANY(name, T)                                                                  \
    static void name(const int64_t *from, const presence *rows, uint32_t count, T *into)      \
    {                                                                                        \
        for (uint32_t row = 0, at = 0; row < count; row++)                                   \
            if (is_there(rows, row)) into[row] = (T)from[at++];                              \
    }
SPREAD_ANY(spread_i64, int64_t)
SPREAD_ANY(spread_f32, float)
SPREAD_ANY(spread_f64, double)

static void mark_null(nl_vector *vector, uint8_t *bits, const uint8_t *misfits, uint32_t count)
{
    for (uint32_t row = 0; row < count; row++)
        if (nl_bit_get(misfits, row)) nl_bit_clear(bits, row);
    vector->null_count = UINT32_MAX;
}

static nl_status put_decimal(nl_orc_column *column, nl_vector *vector, uint32_t row, nl_int128 value, int scale, bool *fits)
{
    const nl_type *type = column->plan->type;
    *fits = nl_decimal_rescale(value, scale, type->scale, NL_ROUND_HALF_UP, &value) && nl_decimal_fits(value, type->precision);
    if (!*fits) return NULL;
    if (type->physical == NL_PHYS_I64) ((int64_t *)nl_vector_values(vector))[row] = (int64_t)value;
    else ((nl_int128 *)nl_vector_values(vector))[row] = value;
    return NULL;
}

static nl_status spread_decimals(nl_orc_column *column, const int64_t *from, const presence *rows, uint32_t count, nl_vector *vector, uint8_t *misfits, bool *has_misfit)
{
    for (uint32_t row = 0, at = 0; row < count; row++) {
        bool fits;
        if (!is_there(rows, row)) continue;
        NL_TRY(put_decimal(column, vector, row, from[at++], 0, &fits));
        if (fits) continue;
        *has_misfit = true;
        nl_bit_set(misfits, row);
    }
    return NULL;
}

/* Whole numbers into whatever the wanted type is made of. */
static nl_status spread(nl_orc_column *column, const int64_t *from, const presence *rows, uint32_t count, nl_vector *vector)
{
    nl_buffer *misfits = NULL;
    bool has_misfit = false;
    void *values = nl_vector_values(vector);
    NL_TRY(nl_buffer_new(column->context->memory, nl_bits_bytes(count) + 8u, true, &misfits));
    nl_status status = NULL;
    if (column->plan->type->id == NL_TYPE_DECIMAL) {
        status = spread_decimals(column, from, rows, count, vector, misfits->data, &has_misfit);
    } else {
        switch ((int)vector->type->physical) {
        case NL_PHYS_I8: has_misfit = spread_i8(from, rows, count, values, misfits->data); break;
        case NL_PHYS_I16: has_misfit = spread_i16(from, rows, count, values, misfits->data); break;
        case NL_PHYS_I32: has_misfit = spread_i32(from, rows, count, values, misfits->data); break;
        case NL_PHYS_F32: spread_f32(from, rows, count, values); break;
        case NL_PHYS_F64: spread_f64(from, rows, count, values); break;
        default: spread_i64(from, rows, count, values); break;
        }
    }
    uint8_t *bits = rows->bits;
    if (!status && has_misfit && !bits) status = nl_vector_make_validity(vector, column->context->memory, &bits);
    if (!status && has_misfit) mark_null(vector, bits, misfits->data, count);
    nl_buffer_release(misfits);
    return status;
}

static void read_small(nl_orc_column *column, int64_t *into, uint32_t count)
{
    uint8_t bytes[256];
    for (uint32_t done = 0; done < count;) {
        const uint32_t part = NL_MIN(count - done, (uint32_t)sizeof(bytes));
        nl_orc_byte_reader_read(&column->bytes, bytes, part);
        for (uint32_t i = 0; i < part; i++) into[done + i] = (int8_t)bytes[i];
        done += part;
    }
}

static void convert_days(const nl_orc_column *column, int64_t *days, uint32_t count)
{
    const bool is_hybrid = column->context->is_hybrid && !column->context->tail->is_proleptic;
    for (uint32_t i = 0; is_hybrid && i < count; i++)
        if (days[i] < NL_ORC_GREGORIAN_START && days[i] >= INT32_MIN) days[i] = nl_orc_days_from_hybrid(days[i]);
    for (uint32_t i = 0; column->plan->type->id != NL_TYPE_DATE && i < count; i++)
        if (__builtin_mul_overflow(days[i], (int64_t)NL_MICROS_PER_DAY, &days[i])) days[i] = 0;
}

static int64_t instant_of_hybrid(const nl_timezone *zone, int64_t micros)
{
    if (micros < -HYBRID_MICROS_MAX) return micros; /* a time that no calendar tells */
    const int64_t local = nl_timezone_to_local(zone, micros);
    const int64_t days = nl_floor_div(local, NL_MICROS_PER_DAY);
    const int64_t moved = nl_orc_days_from_hybrid(days);
    return moved == days ? micros : nl_timezone_from_local(zone, local + (moved - days) * NL_MICROS_PER_DAY);
}

/* Seconds from 2015 and nanoseconds without their trailing zeros, as microseconds. Java's writer rounds seconds towards zero;
 * below 1970 one with a fraction of a millisecond or more is one second less. */
static void convert_times(const nl_orc_column *column, int64_t *seconds, const int64_t *fractions, uint32_t count)
{
    static const int64_t powers[] = {1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const nl_orc_context *context = column->context;
    const bool is_instant = column->plan->file->kind == NL_ORC_TIMESTAMP_INSTANT;
    const nl_timezone *writer = is_instant ? nl_timezone_utc() : context->footer->writer_zone;
    const bool is_local = column->plan->type->id == NL_TYPE_TIMESTAMP_NTZ;
    const nl_timezone *reader = is_instant || is_local ? nl_timezone_utc() : context->zone;
    const bool moves = writer != reader && !nl_str_equal(nl_timezone_name(writer), nl_timezone_name(reader));
    const int64_t base = nl_timezone_from_local(writer, ORC_EPOCH_SECONDS * NL_MICROS_PER_SECOND) / NL_MICROS_PER_SECOND;
    const int64_t seconds_max = INT64_MAX / NL_MICROS_PER_SECOND - 2;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t packed = (uint64_t)fractions[i];
        uint64_t nanos = packed >> 3;
        int64_t second;
        nanos = nanos < 1000000000 ? nanos * (uint64_t)powers[packed & 7] : 0;
        if (nanos >= 1000000000) nanos = 0; /* no such fraction */
        if (__builtin_add_overflow(seconds[i], base, &second) || second > seconds_max || second < -seconds_max) {
            seconds[i] = second < 0 ? INT64_MIN : INT64_MAX; /* Spark's own limits: beyond them is nothing to show */
            continue;
        }
        if (second < 0 && nanos > 999999) second--;
        int64_t micros = second * NL_MICROS_PER_SECOND + (int64_t)(nanos / 1000);
        if (moves) micros = nl_timezone_from_local(reader, nl_timezone_to_local(writer, micros));
        if (context->is_hybrid && !context->tail->is_proleptic && !is_local && micros < NL_ORC_GREGORIAN_START * NL_MICROS_PER_DAY + NL_MICROS_PER_DAY) micros = instant_of_hybrid(reader, micros);
        seconds[i] = micros;
    }
}

static nl_status read_numbers(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    nl_memory *memory = column->context->memory;
    const nl_orc_plan *plan = column->plan;
    nl_buffer *dense = NULL, *fractions = NULL;
    NL_TRY(nl_buffer_new(memory, nl_size_mul(rows->value_count, sizeof(int64_t)), false, &dense));
    int64_t *values = (int64_t *)(void *)dense->data;
    nl_status status = NULL;
    if (plan->file->kind == NL_ORC_BYTE) read_small(column, values, rows->value_count);
    else nl_orc_int_reader_read(column->numbers, values, rows->value_count);
    if (plan->action == NL_ORC_READ_DAYS) convert_days(column, values, rows->value_count);
    if (plan->action == NL_ORC_READ_TIME) {
        status = nl_buffer_new(memory, nl_size_mul(rows->value_count, sizeof(int64_t)), false, &fractions);
        if (!status) {
            nl_orc_int_reader_read(column->seconds, (int64_t *)(void *)fractions->data, rows->value_count);
            convert_times(column, values, (const int64_t *)(void *)fractions->data, rows->value_count);
        }
    }
    if (!status) status = spread(column, values, rows, count, vector);
    nl_buffer_release(fractions);
    nl_buffer_release(dense);
    return status;
}

static nl_status read_booleans(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    uint8_t *values = nl_vector_values(vector);
    nl_orc_bit_reader_read_bytes(&column->booleans, values, rows->value_count);
    for (uint32_t row = count, at = rows->value_count; rows->bits && row > 0; row--) /* from the end: nothing is overwritten before it moves */
        values[row - 1] = nl_bit_get(rows->bits, row - 1) ? values[--at] : 0;
    return NULL;
}

static nl_status read_reals(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    const bool is_double = column->plan->file->kind == NL_ORC_DOUBLE, wants_double = column->plan->type->id == NL_TYPE_DOUBLE;
    const size_t width = is_double ? sizeof(double) : sizeof(float);
    nl_buffer *dense = NULL;
    NL_TRY(nl_buffer_new(column->context->memory, nl_size_mul(rows->value_count, width), false, &dense));
    nl_orc_stream_read(&column->data, dense->data, rows->value_count * width);
    const double *doubles = (const double *)(void *)dense->data;
    const float *floats = (const float *)(void *)dense->data;
    void *values = nl_vector_values(vector);
    for (uint32_t row = 0, at = 0; row < count; row++) {
        if (!is_there(rows, row)) continue;
        if (wants_double) ((double *)values)[row] = is_double ? doubles[at] : (double)floats[at];
        else ((float *)values)[row] = is_double ? (float)doubles[at] : floats[at];
        at++;
    }
    nl_buffer_release(dense);
    return NULL;
}

/* A zigzag number of up to 128 bits. False: larger. */
static bool read_wide(nl_orc_stream *stream, nl_int128 *value)
{
    nl_uint128 bits = 0;
    bool fits = true;
    for (uint32_t shift = 0;; shift += 7) {
        const uint8_t byte = nl_orc_stream_u8(stream);
        if (shift < 128) bits |= (nl_uint128)(byte & 0x7f) << shift;
        fits &= shift < 126 || (byte & 0x7f) <= (shift == 126 ? 3 : 0);
        if (byte < 0x80 || stream->error) break;
    }
    *value = (nl_int128)(bits >> 1) ^ -(nl_int128)(bits & 1);
    return fits;
}

static nl_status read_decimals(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    nl_buffer *scales = NULL;
    uint8_t *bits = rows->bits;
    NL_TRY(nl_buffer_new(column->context->memory, nl_size_mul(rows->value_count, sizeof(int64_t)), false, &scales));
    const int64_t *scale = (const int64_t *)(void *)scales->data;
    nl_orc_int_reader_read(column->seconds, (int64_t *)(void *)scales->data, rows->value_count);
    nl_status status = NULL;
    for (uint32_t row = 0, at = 0; !status && row < count; row++) {
        nl_int128 value;
        bool fits;
        if (!is_there(rows, row)) continue;
        fits = read_wide(&column->data, &value) && scale[at] >= -38 && scale[at] <= 76;
        if (fits) status = put_decimal(column, vector, row, value, (int)scale[at], &fits);
        at++;
        if (status || fits) continue;
        if (!bits) status = nl_vector_make_validity(vector, column->context->memory, &bits);
        if (!status) nl_bit_clear(bits, row);
        vector->null_count = UINT32_MAX;
    }
    nl_buffer_release(scales);
    return status;
}

/* ---- texts ---- */

static nl_str without_padding(const nl_orc_column *column, nl_str text)
{
    while (column->plan->file->kind == NL_ORC_CHAR && text.length > 0 && text.data[text.length - 1] == ' ') text.length--;
    return text;
}

/* `count` texts of a stream into views at the rows that have them. */
static nl_status read_texts(nl_orc_column *column, nl_orc_stream *stream, const int64_t *lengths, const presence *rows, uint32_t count, nl_vector *vector)
{
    nl_memory *memory = column->context->memory;
    uint64_t total = 0;
    nl_heap *heap;
    nl_buffer *bytes = NULL;
    for (uint32_t i = 0; i < rows->value_count; i++) {
        if (lengths[i] < 0 || lengths[i] > NL_VALUE_BYTES_MAX) {
            nl_orc_stream_fail(stream, "a value longer than the longest one");
            return NULL;
        }
        total += (uint64_t)lengths[i];
    }
    NL_TRY(nl_buffer_new(memory, (size_t)total, false, &bytes));
    nl_orc_stream_read(stream, bytes->data, (size_t)total);
    nl_status status = nl_vector_make_heap(vector, memory, &heap);
    if (!status) status = nl_heap_keep_buffer(heap, bytes);
    nl_string_view *views = nl_vector_values(vector);
    const char *next = (const char *)bytes->data;
    for (uint32_t row = 0, at = 0; !status && row < count; row++) {
        if (!is_there(rows, row)) continue;
        views[row] = nl_view_of(without_padding(column, (nl_str){next, (size_t)lengths[at]}));
        next += lengths[at++];
    }
    nl_buffer_release(bytes);
    return status;
}

static nl_status read_direct(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    nl_buffer *lengths = NULL;
    NL_TRY(nl_buffer_new(column->context->memory, nl_size_mul(rows->value_count, sizeof(int64_t)), false, &lengths));
    nl_orc_int_reader_read(column->seconds, (int64_t *)(void *)lengths->data, rows->value_count);
    nl_status status = nl_orc_stream_status(&column->second);
    if (!status) status = read_texts(column, &column->data, (const int64_t *)(void *)lengths->data, rows, count, vector);
    nl_buffer_release(lengths);
    return status;
}

static nl_status read_uuids(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    nl_heap *heap;
    NL_TRY(nl_vector_make_heap(vector, column->context->memory, &heap));
    nl_string_view *views = nl_vector_values(vector);
    for (uint32_t row = 0; row < count; row++) {
        uint8_t bytes[16];
        char text[NL_UUID_TEXT_LENGTH];
        int64_t length = 0;
        if (!is_there(rows, row)) continue;
        nl_orc_int_reader_read(column->seconds, &length, 1);
        if (length != sizeof(bytes)) nl_orc_stream_fail(&column->data, "a uuid that has not 16 bytes");
        nl_orc_stream_read(&column->data, bytes, sizeof(bytes));
        if (column->data.error) return NULL;
        nl_uuid_format(bytes, text);
        NL_TRY(nl_heap_add(heap, (nl_str){text, sizeof(text)}, &views[row]));
    }
    return NULL;
}

static nl_status load_dictionary(nl_orc_column *column)
{
    nl_orc_stream stream;
    nl_vector values = {0};
    const uint32_t size = column->dictionary_size;
    if (column->dictionary) return NULL;
    if (size > DICTIONARY_VALUES_MAX) {
        nl_orc_stream_fail(&column->second, "a dictionary larger than can be");
        return nl_orc_stream_status(&column->second);
    }
    const nl_orc_stream_place place = nl_orc_stripe_stream(column->context->footer, column->plan->file->id, NL_ORC_DICTIONARY_DATA);
    nl_orc_stream_init(&stream, column->context->store, place.offset, place.length, column->plan->file->path);
    nl_buffer *lengths = NULL;
    nl_status status = nl_buffer_new(column->context->memory, nl_size_mul(size, sizeof(int64_t)), false, &lengths);
    if (!status) {
        nl_orc_int_reader_read(column->seconds, (int64_t *)(void *)lengths->data, size);
        status = nl_orc_stream_status(&column->second);
    }
    if (!status) status = nl_vector_new_flat(&values, column->plan->type, size, column->context->memory);
    const presence all = {.value_count = size};
    if (!status) status = read_texts(column, &stream, (const int64_t *)(void *)lengths->data, &all, size, &values);
    if (!status) status = nl_orc_stream_status(&stream);
    if (!status) {
        column->dictionary = nl_shared_vector_new(&values);
        if (!column->dictionary) status = out_of_memory(sizeof(nl_shared_vector));
    }
    nl_vector_fini(&values);
    nl_buffer_release(lengths);
    nl_orc_stream_fini(&stream);
    return status;
}

/* Takes the place of the flat vector, whose validity it keeps. */
static nl_status read_indices(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    nl_buffer *dense = NULL, *indices = NULL;
    NL_TRY(load_dictionary(column));
    NL_TRY(nl_buffer_new(column->context->memory, nl_size_mul(rows->value_count, sizeof(int64_t)), false, &dense));
    const int64_t *values = (const int64_t *)(void *)dense->data;
    nl_orc_int_reader_read(column->numbers, (int64_t *)(void *)dense->data, rows->value_count);
    nl_status status = nl_orc_stream_status(&column->data);
    if (!status) status = nl_buffer_new(column->context->memory, nl_size_mul(count, sizeof(uint32_t)), true, &indices);
    uint64_t worst = 0;
    for (uint32_t row = 0, at = 0; !status && row < count; row++) {
        if (!is_there(rows, row)) continue;
        worst = NL_MAX(worst, (uint64_t)values[at]);
        ((uint32_t *)(void *)indices->data)[row] = (uint32_t)values[at++];
    }
    nl_buffer_release(dense);
    if (!status && rows->value_count > 0 && worst >= column->dictionary_size) {
        nl_orc_stream_fail(&column->data, "a place that the dictionary has not");
        status = nl_orc_stream_status(&column->data);
    }
    if (status) {
        nl_buffer_release(indices);
        return status;
    }
    nl_buffer_release(vector->values_buffer);
    vector->values_buffer = indices;
    vector->values = NULL;
    vector->indices = (const uint32_t *)(void *)indices->data;
    vector->encoding = NL_DICTIONARY;
    vector->dictionary = nl_shared_vector_retain(column->dictionary);
    return NULL;
}

/* ---- nested ---- */

static nl_status read_list(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    nl_list_view *views = nl_vector_values(vector);
    nl_buffer *lengths = NULL;
    uint64_t total = 0;
    NL_TRY(nl_buffer_new(column->context->memory, nl_size_mul(rows->value_count, sizeof(int64_t)), false, &lengths));
    const int64_t *length = (const int64_t *)(void *)lengths->data;
    nl_orc_int_reader_read(column->seconds, (int64_t *)(void *)lengths->data, rows->value_count);
    for (uint32_t row = 0, at = 0; row < count; row++) {
        if (!is_there(rows, row)) continue;
        if (length[at] < 0 || length[at] > INT32_MAX || total + (uint64_t)length[at] > UINT32_MAX) {
            nl_orc_stream_fail(&column->second, "lists longer than can be");
            break;
        }
        views[row] = (nl_list_view){(uint32_t)total, (uint32_t)length[at]};
        total += (uint64_t)length[at++];
    }
    nl_buffer_release(lengths);
    NL_TRY(nl_orc_stream_status(&column->second));
    for (uint32_t i = 0; i < column->plan->child_count; i++) {
        nl_vector child = {0};
        NL_TRY(nl_orc_column_read(&column->children[i], (uint32_t)total, NULL, &child));
        nl_vector_set_child(vector, i, &child);
    }
    return NULL;
}

static nl_status read_struct(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    for (uint32_t i = 0; i < column->plan->child_count; i++) {
        nl_vector child = {0};
        NL_TRY(nl_orc_column_read(&column->children[i], count, rows->bits, &child));
        nl_vector_set_child(vector, i, &child);
    }
    return NULL;
}

static nl_status read_values(nl_orc_column *column, uint32_t count, const presence *rows, nl_vector *vector)
{
    switch (column->plan->action) {
    case NL_ORC_READ_BOOLEAN: return read_booleans(column, count, rows, vector);
    case NL_ORC_READ_INTEGER:
    case NL_ORC_READ_DAYS:
    case NL_ORC_READ_TIME: return read_numbers(column, count, rows, vector);
    case NL_ORC_READ_REAL: return read_reals(column, count, rows, vector);
    case NL_ORC_READ_DECIMAL: return read_decimals(column, count, rows, vector);
    case NL_ORC_READ_TEXT: return column->has_dictionary ? read_indices(column, count, rows, vector) : read_direct(column, count, rows, vector);
    case NL_ORC_READ_UUID: return read_uuids(column, count, rows, vector);
    case NL_ORC_READ_LIST: return read_list(column, count, rows, vector);
    case NL_ORC_READ_STRUCT: return read_struct(column, count, rows, vector);
    case NL_ORC_READ_MISSING: break;
    }
    return NULL;
}

/* True recursion: types have a limited depth. */
nl_status nl_orc_column_read(nl_orc_column *column, uint32_t count, const uint8_t *parent, nl_vector *vector)
{
    const nl_orc_plan *plan = column->plan;
    nl_memory *memory = column->context->memory;
    presence rows;
    if (plan->action == NL_ORC_READ_MISSING)
        return plan->missing ? nl_vector_new_constant(vector, plan->missing, count, memory) : nl_vector_new_null(vector, plan->type, count, memory);
    NL_TRY(nl_vector_new_flat(vector, plan->type, count, memory));
    nl_status status = read_presence(column, count, parent, vector, &rows);
    if (!status) status = read_values(column, count, &rows, vector);
    if (!status) status = status_of(column);
    if (status) nl_vector_fini(vector);
    return status;
}

/* ---- skipping and seeking ---- */

static nl_status skip_values(nl_orc_column *column, uint64_t count)
{
    const nl_orc_plan *plan = column->plan;
    switch (plan->action) {
    case NL_ORC_READ_BOOLEAN: (void)nl_orc_bit_reader_skip(&column->booleans, count); break;
    case NL_ORC_READ_INTEGER:
    case NL_ORC_READ_DAYS:
    case NL_ORC_READ_TIME:
        if (column->numbers) nl_orc_int_reader_skip(column->numbers, count);
        else nl_orc_byte_reader_skip(&column->bytes, count);
        if (column->seconds) nl_orc_int_reader_skip(column->seconds, count);
        break;
    case NL_ORC_READ_REAL: nl_orc_stream_skip(&column->data, count * (plan->file->kind == NL_ORC_DOUBLE ? sizeof(double) : sizeof(float))); break;
    case NL_ORC_READ_DECIMAL:
        for (uint64_t i = 0; i < count && !column->data.error; i++)
            while (nl_orc_stream_u8(&column->data) >= 0x80 && !column->data.error) continue;
        nl_orc_int_reader_skip(column->seconds, count);
        break;
    case NL_ORC_READ_TEXT:
    case NL_ORC_READ_UUID:
        if (column->has_dictionary) nl_orc_int_reader_skip(column->numbers, count);
        else nl_orc_stream_skip(&column->data, nl_orc_int_reader_sum(column->seconds, count, UINT32_MAX));
        break;
    case NL_ORC_READ_LIST: {
        const uint64_t elements = nl_orc_int_reader_sum(column->seconds, count, UINT32_MAX);
        NL_TRY(nl_orc_stream_status(&column->second));
        for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(nl_orc_column_skip(&column->children[i], elements));
        break;
    }
    case NL_ORC_READ_STRUCT:
        for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(nl_orc_column_skip(&column->children[i], count));
        break;
    case NL_ORC_READ_MISSING: break;
    }
    return NULL;
}

nl_status nl_orc_column_skip(nl_orc_column *column, uint64_t count)
{
    if (column->plan->action == NL_ORC_READ_MISSING || count == 0) return NULL;
    const uint64_t values = column->has_present ? nl_orc_bit_reader_skip(&column->bits, count) : count;
    NL_TRY(nl_orc_stream_status(&column->present));
    NL_TRY(skip_values(column, values));
    return status_of(column);
}

/* Positions of one index entry, taken one after the other; those that are missing are zero. */
typedef struct places {
    const uint64_t *next, *end;
    bool is_packed;
} places;

static uint64_t take(places *from)
{
    return from->next < from->end ? *from->next++ : 0;
}

static void seek_stream(places *from, nl_orc_stream *stream)
{
    const uint64_t chunk = from->is_packed ? take(from) : 0;
    nl_orc_stream_seek(stream, chunk, take(from));
}

static void seek_bytes(places *from, nl_orc_byte_reader *reader)
{
    seek_stream(from, reader->stream);
    reader->left = 0;
    nl_orc_byte_reader_skip(reader, take(from));
}

static void seek_bits(places *from, nl_orc_bit_reader *reader)
{
    seek_bytes(from, &reader->bytes);
    reader->left = 0;
    const uint64_t bits = take(from);
    (void)nl_orc_bit_reader_skip(reader, NL_MIN(bits, (uint64_t)8));
}

static void seek_numbers(places *from, nl_orc_int_reader *reader)
{
    seek_stream(from, reader->stream);
    nl_orc_int_reader_reset(reader);
    nl_orc_int_reader_skip(reader, take(from));
}

static void seek_values(nl_orc_column *column, places *from)
{
    switch (column->plan->action) {
    case NL_ORC_READ_BOOLEAN: seek_bits(from, &column->booleans); break;
    case NL_ORC_READ_INTEGER:
    case NL_ORC_READ_DAYS:
    case NL_ORC_READ_TIME:
        if (column->numbers) seek_numbers(from, column->numbers);
        else seek_bytes(from, &column->bytes);
        if (column->seconds) seek_numbers(from, column->seconds);
        break;
    case NL_ORC_READ_REAL: seek_stream(from, &column->data); break;
    case NL_ORC_READ_DECIMAL:
        seek_stream(from, &column->data);
        seek_numbers(from, column->seconds);
        break;
    case NL_ORC_READ_TEXT:
    case NL_ORC_READ_UUID:
        if (column->has_dictionary) {
            seek_numbers(from, column->numbers);
            break;
        }
        seek_stream(from, &column->data);
        seek_numbers(from, column->seconds);
        break;
    case NL_ORC_READ_LIST: seek_numbers(from, column->seconds); break;
    case NL_ORC_READ_STRUCT:
    case NL_ORC_READ_MISSING: break;
    }
}

/* Has every column below an index? Reads those that are not read yet. True recursion, as nl_orc_column_open. */
static nl_status load_indexes(nl_orc_column *column, uint32_t group, bool *has_all)
{
    const nl_orc_context *context = column->context;
    if (column->plan->action == NL_ORC_READ_MISSING) return NULL;
    if (!column->has_index) NL_TRY(nl_orc_row_index_read(context->tail, context->footer, column->plan->file->id, context->store, context->arena, &column->index));
    column->has_index = true;
    if (group >= column->index.group_count) *has_all = false;
    for (uint32_t i = 0; *has_all && i < column->plan->child_count; i++) NL_TRY(load_indexes(&column->children[i], group, has_all));
    return NULL;
}

static nl_status seek_tree(nl_orc_column *column, uint32_t group)
{
    if (column->plan->action == NL_ORC_READ_MISSING) return NULL;
    places from = {.next = column->index.positions + column->index.starts[group], .end = column->index.positions + column->index.starts[group + 1],
                   .is_packed = column->context->tail->codec != NL_CODEC_NONE};
    if (column->has_dictionary) NL_TRY(load_dictionary(column)); /* its lengths are read from where that stream stands */
    if (column->has_present) seek_bits(&from, &column->bits);
    seek_values(column, &from);
    NL_TRY(status_of(column));
    for (uint32_t i = 0; i < column->plan->child_count; i++) NL_TRY(seek_tree(&column->children[i], group));
    return NULL;
}

nl_status nl_orc_column_seek(nl_orc_column *column, uint32_t group, bool *is_done)
{
    *is_done = true;
    NL_TRY(load_indexes(column, group, is_done));
    return *is_done ? seek_tree(column, group) : NULL;
}

/* column/arrow_import.c - Arrow arrays of any layout as batches.
 *
 * Fixed-width values are copied: foreign buffers lack the padding, alignment and zeroed nulls that kernels rely on,
 * and the copy runs at memory speed. The bytes of long strings are not copied; the vector's heap keeps the foreign
 * array. The C interface does not tell how long buffers are, so only what it tells is checked: counts, order of
 * offsets, dictionary indices, view buffers.
 */
#include <stdlib.h>

#include "base/calendar.h"

#include "base/number.h"
#include "base/decimal.h"
#include "column/arrow.h"
#include "column/arrow_internal.h"
#include "column/vector_internal.h"

/* Keeps the foreign array until the last string is gone. Always used through `buffer`. */
typedef struct foreign {
    struct ArrowArray array;
    nl_buffer *buffer;
} foreign;

typedef struct importer {
    nl_buffer *keeper; /* borrowed; heaps retain it */
    nl_memory *memory;
} importer;

/* A run of rows of one array. `start` counts from the array's first value, its own offset included. */
typedef struct run {
    const struct ArrowArray *array;
    const struct ArrowSchema *schema;
    const nl_type *type;
    int64_t start;
    uint32_t length;
} run;

static void release_foreign(nl_buffer *buffer)
{
    foreign *owner = buffer->owner;
    if (owner->array.release) owner->array.release(&owner->array);
    free(owner);
}

static nl_status malformed(const char *what)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The Arrow array is malformed: %s.", what);
}

static nl_status need_buffers(run from, int64_t count)
{
    if (from.array->n_buffers < count) return malformed("buffers are missing");
    for (int64_t i = 1; i < count; i++) {
        if (!from.array->buffers[i] && from.length) return malformed("a buffer is NULL");
    }
    return NULL;
}

/* Copies the bitmap of the run. Nulls are counted here because foreign counts may be -1 or of a larger run. */
static nl_status import_validity(importer *in, run from, nl_vector *made)
{
    const uint8_t *bits = from.array->n_buffers > 0 ? from.array->buffers[0] : NULL;
    if (!bits || from.array->null_count == 0 || made->validity) return NULL;
    if (from.start + from.length > UINT32_MAX) return malformed("more than 4294967295 rows");
    uint8_t *target;
    NL_TRY(nl_vector_start_validity(made, in->memory, &target));
    nl_bits_copy(target, 0, bits, (uint32_t)from.start, from.length);
    nl_vector_settle_validity(made, from.length - nl_bits_count(target, 0, from.length));
    return NULL;
}

#define CONVERT(from_type, to_type, expression)                             \
    do {                                                                    \
        const from_type *source = (const from_type *)values + from.start;   \
        to_type *target = nl_vector_values(made);                           \
        for (uint32_t i = 0; i < from.length; i++) {                        \
            from_type v = source[i];                                        \
            target[i] = (to_type)(expression);                              \
        }                                                                   \
    } while (0)

static float half_to_float(uint16_t half)
{
    uint32_t exponent = (half >> 10) & 31;
    uint32_t fraction = half & 1023;
    float magnitude;
    if (exponent == 31)
        magnitude = fraction ? __builtin_nanf("") : __builtin_inff();
    else if (exponent == 0)
        magnitude = (float)fraction * 0x1p-24f;
    else
        magnitude = __builtin_ldexpf((float)(1024 + fraction), (int)exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* Microseconds per unit of s, m, u; n divides instead. */
static int64_t to_micros(int64_t value, char unit)
{
    if (unit == 'n') return nl_floor_div(value, 1000);
    return value * (unit == 's' ? 1000000 : unit == 'm' ? 1000 : 1);
}

static nl_status import_temporal(run from, const void *values, nl_vector *made)
{
    const char *format = from.schema->format;
    char unit = format[2];
    if (format[1] == 'i') {
        typedef struct day_millis {
            int32_t days, millis;
        } day_millis;
        typedef struct month_day_nano {
            int32_t months, days;
            int64_t nanos;
        } month_day_nano;
        nl_interval *target = nl_vector_values(made);
        for (uint32_t i = 0; i < from.length; i++) {
            if (unit == 'D') {
                day_millis v = ((const day_millis *)values)[from.start + i];
                target[i] = (nl_interval){0, v.days, (int64_t)v.millis * 1000};
            } else {
                month_day_nano v = ((const month_day_nano *)values)[from.start + i];
                target[i] = (nl_interval){v.months, v.days, nl_floor_div(v.nanos, 1000)};
            }
        }
        return NULL;
    }
    if (format[1] == 'd')
        CONVERT(int64_t, int32_t, nl_floor_div(v, 86400000));
    else if (unit == 'u')
        CONVERT(int64_t, int64_t, v);
    else
        CONVERT(int64_t, int64_t, to_micros(v, unit));
    return NULL;
}

/* Decimals are stored in 32, 64, 128 or 256 bits; the two high quarters of 256 must only repeat the sign. */
static nl_status import_decimals(run from, const void *values, nl_vector *made)
{
    int precision, scale, bits;
    if (!nl_arrow_decimal_format(from.schema->format, &precision, &scale, &bits)) return malformed("a decimal format");
    bool is_wide = made->type->physical == NL_PHYS_I128;
    for (uint32_t i = 0; i < from.length; i++) {
        const uint8_t *at = (const uint8_t *)values + (size_t)(from.start + i) * (size_t)(bits / 8);
        int64_t parts[4] = {0};
        nl_int128 value;
        memcpy(parts, at, (size_t)(bits / 8));
        if (bits == 32)
            value = (int32_t)parts[0];
        else if (bits == 64)
            value = parts[0];
        else
            value = (nl_int128)((nl_uint128)(uint64_t)parts[1] << 64 | (uint64_t)parts[0]);
        if (made->validity && !nl_bit_get(made->validity, i)) continue;
        bool is_cut = bits == 256 && (parts[2] != parts[1] >> 63 || parts[3] != parts[1] >> 63);
        if (is_cut || !nl_decimal_fits(value, precision)) return malformed("a decimal has too many digits");
        if (is_wide)
            ((nl_int128 *)nl_vector_values(made))[i] = value;
        else
            ((int64_t *)nl_vector_values(made))[i] = (int64_t)value;
    }
    return NULL;
}

/* memcpy when both sides agree; conversions for unsigned numbers, half floats, other time units. */
static nl_status import_fixed(run from, nl_vector *made)
{
    NL_TRY(need_buffers(from, 2));
    const void *values = from.array->buffers[1];
    const char *format = from.schema->format;
    if (from.length == 0) return NULL;
    if (format[0] == 'd') return import_decimals(from, values, made);
    if (format[0] == 't' && !nl_str_is(nl_str_from(format), "tdD") && !nl_str_is(nl_str_from(format), "tiM"))
        return import_temporal(from, values, made);
    switch (format[0]) {
    case 'b': {
        const uint8_t *bits = values;
        uint8_t *target = nl_vector_values(made);
        for (uint32_t i = 0; i < from.length; i++)
            target[i] = (bits[(from.start + i) >> 3] >> ((from.start + i) & 7)) & 1;
        break;
    }
    case 'C':
        CONVERT(uint8_t, int16_t, v);
        break;
    case 'S':
        CONVERT(uint16_t, int32_t, v);
        break;
    case 'I':
        CONVERT(uint32_t, int64_t, v);
        break;
    case 'L':
        CONVERT(uint64_t, nl_int128, v);
        break;
    case 'e':
        CONVERT(uint16_t, float, half_to_float(v));
        break;
    default: {
        size_t size = nl_physical_size(made->type->physical);
        memcpy(nl_vector_values(made), (const uint8_t *)values + (size_t)from.start * size, from.length * size);
        break;
    }
    }
    return NULL;
}

static nl_status keep_strings(importer *in, nl_vector *made)
{
    nl_heap *heap;
    NL_TRY(nl_vector_make_heap(made, in->memory, &heap));
    return nl_heap_keep_buffer(heap, in->keeper);
}

/* Offsets of 32 or 64 bits; *start and *stop are those of value i. */
static nl_status read_offsets(const void *offsets, bool is_large, int64_t i, int64_t *start, int64_t *stop)
{
    if (is_large) {
        *start = ((const int64_t *)offsets)[i];
        *stop = ((const int64_t *)offsets)[i + 1];
    } else {
        *start = ((const int32_t *)offsets)[i];
        *stop = ((const int32_t *)offsets)[i + 1];
    }
    if (*start < 0 || *stop < *start) return malformed("offsets do not ascend");
    return NULL;
}

static nl_status import_strings(importer *in, run from, nl_vector *made)
{
    bool is_large = from.schema->format[0] == 'U' || from.schema->format[0] == 'Z';
    nl_string_view *views = nl_vector_values(made);
    if (from.array->n_buffers != 3) return malformed("a string array has three buffers");
    if (from.length == 0) return NULL;
    const void *offsets = from.array->buffers[1];
    const char *bytes = from.array->buffers[2];
    if (!offsets) return malformed("no offsets");
    for (uint32_t i = 0; i < from.length; i++) {
        int64_t start, stop;
        NL_TRY(read_offsets(offsets, is_large, from.start + i, &start, &stop));
        if (stop - start > UINT32_MAX) return malformed("a string is longer than 4 GiB");
        if (stop > start && !bytes) return malformed("no bytes");
        views[i] = stop > start ? nl_view_of((nl_str){bytes + start, (size_t)(stop - start)}) : (nl_string_view){0};
    }
    return keep_strings(in, made);
}

static nl_status import_fixed_binary(importer *in, run from, nl_vector *made)
{
    int64_t width;
    nl_string_view *views = nl_vector_values(made);
    NL_TRY(need_buffers(from, 2));
    if (!nl_parse_int64(nl_str_from(from.schema->format + 2), &width) || width < 0 || width > UINT32_MAX) return malformed("the width of binary values");
    const char *bytes = from.array->buffers[1];
    for (uint32_t i = 0; i < from.length; i++)
        views[i] = nl_view_of((nl_str){bytes + (from.start + i) * width, (size_t)width});
    return keep_strings(in, made);
}

/* Arrow's own 16-byte views: length, then 12 bytes, or prefix, buffer index, offset. */
static nl_status import_views(importer *in, run from, nl_vector *made)
{
    typedef struct arrow_view {
        int32_t length;
        char prefix[4];
        int32_t buffer;
        int32_t offset;
    } arrow_view;
    nl_string_view *views = nl_vector_values(made);
    NL_TRY(need_buffers(from, 2));
    int64_t buffer_count = from.array->n_buffers - 3; /* the last one tells the sizes of the others */
    for (uint32_t i = 0; i < from.length; i++) {
        arrow_view view = ((const arrow_view *)from.array->buffers[1])[from.start + i];
        if (view.length < 0) return malformed("a view's length");
        if ((uint32_t)view.length <= NL_STRING_INLINE_MAX) {
            char inlined[NL_STRING_INLINE_MAX];
            memcpy(inlined, (const char *)&((const arrow_view *)from.array->buffers[1])[from.start + i] + 4, 12);
            views[i] = nl_view_of((nl_str){inlined, (size_t)view.length}); /* zeroes what lies behind */
            continue;
        }
        if (view.buffer < 0 || view.buffer >= buffer_count || view.offset < 0) return malformed("a view's buffer");
        const int64_t *sizes = from.array->buffers[from.array->n_buffers - 1];
        if ((int64_t)view.offset + view.length > sizes[view.buffer]) return malformed("a view ends outside its buffer");
        const char *bytes = from.array->buffers[2 + view.buffer];
        views[i] = nl_view_of((nl_str){bytes + view.offset, (size_t)view.length});
    }
    return keep_strings(in, made);
}

static nl_status import_run(importer *in, run from, nl_vector *vector);

/* Rows start … start+length of child i, in that child's own counting. */
static nl_status import_child(importer *in, run parent, int64_t i, const nl_type *type, int64_t start, int64_t length,
                              nl_vector *child)
{
    if (i >= parent.array->n_children || i >= parent.schema->n_children) return malformed("a child is missing");
    const struct ArrowArray *array = parent.array->children[i];
    if (start < 0 || length < 0 || length > UINT32_MAX || start > array->length || length > array->length - start)
        return malformed("a child is shorter than its parent says");
    return import_run(in,
                      (run){.array = array,
                            .schema = parent.schema->children[i],
                            .type = type,
                            .start = array->offset + start,
                            .length = (uint32_t)length},
                      child);
}

static nl_status import_struct(importer *in, run from, nl_vector *made)
{
    bool is_variant = made->type->id == NL_TYPE_VARIANT;
    for (uint32_t i = 0; i < made->child_count; i++)
        NL_TRY(import_child(in, from, is_variant ? 1 - i : i, nl_vector_child_type(made->type, i), from.start,
                            from.length, &made->children[i]));
    return NULL;
}

/* The elements first … first+count, for arrays of one child and maps of a struct of two. */
static nl_status import_elements(importer *in, run from, int64_t first, int64_t count, nl_vector *made)
{
    if (made->type->id == NL_TYPE_ARRAY)
        return import_child(in, from, 0, made->type->children[0].type, first, count, &made->children[0]);
    if (from.array->n_children != 1) return malformed("a map has one child");
    run entries = {.array = from.array->children[0], .schema = from.schema->children[0]};
    if (first > entries.array->length || count > entries.array->length - first) return malformed("map entries");
    for (uint32_t i = 0; i < 2; i++)
        NL_TRY(import_child(in, entries, i, made->type->children[i].type, entries.array->offset + first, count,
                            &made->children[i]));
    return NULL;
}

static nl_status import_offset_lists(importer *in, run from, nl_vector *made)
{
    bool is_large = from.schema->format[1] == 'L';
    nl_list_view *views = nl_vector_values(made);
    int64_t first = 0;
    int64_t last = 0;
    NL_TRY(need_buffers(from, 2));
    for (uint32_t i = 0; i < from.length; i++) {
        int64_t start, stop;
        NL_TRY(read_offsets(from.array->buffers[1], is_large, from.start + i, &start, &stop));
        if (i == 0) first = start;
        last = stop;
        if (stop - first > UINT32_MAX) return malformed("more than 4294967295 elements");
        views[i] = (nl_list_view){stop > start ? (uint32_t)(start - first) : 0, (uint32_t)(stop - start)};
    }
    return import_elements(in, from, first, last - first, made);
}

static nl_status import_list_views(importer *in, run from, nl_vector *made)
{
    bool is_large = from.schema->format[2] == 'L';
    nl_list_view *views = nl_vector_values(made);
    NL_TRY(need_buffers(from, 3));
    int64_t element_count = from.array->n_children == 1 ? from.array->children[0]->length : 0;
    for (uint32_t i = 0; i < from.length; i++) {
        int64_t at = from.start + i;
        int64_t offset = is_large ? ((const int64_t *)from.array->buffers[1])[at]
                                  : ((const int32_t *)from.array->buffers[1])[at];
        int64_t length = is_large ? ((const int64_t *)from.array->buffers[2])[at]
                                  : ((const int32_t *)from.array->buffers[2])[at];
        if (offset < 0 || length < 0 || offset > element_count || length > element_count - offset)
            return malformed("a list view");
        views[i] = (nl_list_view){(uint32_t)offset, (uint32_t)length};
    }
    return import_elements(in, from, 0, element_count, made);
}

static nl_status import_fixed_lists(importer *in, run from, nl_vector *made)
{
    int64_t width;
    nl_list_view *views = nl_vector_values(made);
    if (!nl_parse_int64(nl_str_from(from.schema->format + 3), &width) || width < 0 || width * (int64_t)from.length > UINT32_MAX) return malformed("the width of lists");
    for (uint32_t i = 0; i < from.length; i++)
        views[i] = (nl_list_view){(uint32_t)(i * width), (uint32_t)width};
    return import_elements(in, from, from.start * width, from.length * width, made);
}

static nl_status import_list(importer *in, run from, nl_vector *made)
{
    char kind = from.schema->format[1];
    if (kind == 'v') return import_list_views(in, from, made);
    if (kind == 'w') return import_fixed_lists(in, from, made);
    return import_offset_lists(in, from, made);
}

/* Index i of a dictionary array, of any integer format; -1 for a bad one. */
static int64_t read_index(char format, const void *values, int64_t i)
{
    switch (format) {
    case 'c':
        return ((const int8_t *)values)[i];
    case 'C':
        return ((const uint8_t *)values)[i];
    case 's':
        return ((const int16_t *)values)[i];
    case 'S':
        return ((const uint16_t *)values)[i];
    case 'i':
        return ((const int32_t *)values)[i];
    case 'I':
        return ((const uint32_t *)values)[i];
    case 'l':
        return ((const int64_t *)values)[i];
    case 'L':
        return ((const uint64_t *)values)[i] > INT64_MAX ? -1 : (int64_t)((const uint64_t *)values)[i];
    default:
        return -1;
    }
}

static nl_status read_indices(run from, const nl_vector *made, uint32_t value_count, uint32_t *indices)
{
    for (uint32_t i = 0; i < from.length; i++) {
        bool is_null = made->validity && !nl_bit_get(made->validity, i);
        int64_t index = is_null ? 0 : read_index(from.schema->format[0], from.array->buffers[1], from.start + i);
        if (!is_null && (index < 0 || index >= value_count)) return malformed("a dictionary index");
        indices[i] = (uint32_t)index;
    }
    return NULL;
}

/* A dictionary with nulls among its values cannot stay one: the nulls move into the rows. */
static nl_status spread_nulls(importer *in, nl_vector *values, nl_vector *made)
{
    nl_vector plain;
    NL_TRY(nl_vector_take(values, made->indices, made->length, in->memory, &plain));
    uint8_t *bits;
    nl_status status = nl_vector_make_validity(&plain, in->memory, &bits);
    if (status) {
        nl_vector_fini(&plain);
        return status;
    }
    for (uint32_t row = 0; made->validity && row < made->length; row++) {
        if (!nl_bit_get(made->validity, row)) nl_bit_clear(bits, row);
    }
    nl_vector_zero_nulls(&plain);
    nl_vector_fini(made);
    *made = plain;
    return NULL;
}

static nl_status import_dictionary(importer *in, run from, nl_vector *made)
{
    const struct ArrowArray *dictionary = from.array->dictionary;
    if (!dictionary || dictionary->length < 0 || dictionary->length > UINT32_MAX) return malformed("a dictionary");
    *made = (nl_vector){.type = from.type, .encoding = NL_DICTIONARY, .length = from.length};
    NL_TRY(need_buffers(from, 2));
    NL_TRY(import_validity(in, from, made));
    NL_TRY(nl_buffer_new(in->memory, nl_size_mul(sizeof(uint32_t), from.length), true, &made->values_buffer));
    uint32_t *indices = (uint32_t *)(void *)made->values_buffer->data;
    made->indices = indices;
    NL_TRY(read_indices(from, made, (uint32_t)dictionary->length, indices));
    nl_vector values = {0};
    NL_TRY(import_run(in, (run){dictionary, from.schema->dictionary, from.type, dictionary->offset,
                                (uint32_t)dictionary->length}, &values));
    nl_status status = NULL;
    if (values.validity && values.length) {
        status = spread_nulls(in, &values, made);
    } else {
        nl_vector flat;
        status = nl_vector_flatten(&values, false, in->memory, &flat);
        if (!status) made->dictionary = nl_shared_vector_new(&flat);
    }
    nl_vector_fini(&values);
    return status;
}

/* Run-end encoding: child 0 holds ascending ends, child 1 a value per run. */
static nl_status import_run_ends(importer *in, run from, nl_vector *made)
{
    if (from.array->n_children != 2) return malformed("run ends");
    const struct ArrowArray *ends = from.array->children[0];
    nl_vector values = {0};
    nl_buffer *rows;
    NL_TRY(nl_buffer_new(in->memory, nl_size_mul(sizeof(uint32_t), from.length), false, &rows));
    uint32_t *row_of = (uint32_t *)(void *)rows->data;
    int64_t at = 0;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < from.length; i++) {
        while (at < ends->length && read_index(from.schema->children[0]->format[0], ends->buffers[1],
                                               ends->offset + at) <= from.start + i)
            at++;
        if (at >= ends->length || at >= from.array->children[1]->length) status = malformed("run ends stop early");
        row_of[i] = (uint32_t)at;
    }
    if (!status) status = import_child(in, from, 1, from.type, 0, from.array->children[1]->length, &values);
    if (!status) status = nl_vector_take(&values, row_of, from.length, in->memory, made);
    nl_vector_fini(&values);
    nl_buffer_release(rows);
    return status;
}

static nl_status import_plain(importer *in, run from, nl_vector *made)
{
    const char *format = from.schema->format;
    NL_TRY(nl_vector_start(made, from.type, from.length, true, in->memory));
    NL_TRY(import_validity(in, from, made));
    switch (from.type->physical) {
    case NL_PHYS_NONE:
        return NULL;
    case NL_PHYS_STRING:
        if (format[0] == 'v')
            NL_TRY(import_views(in, from, made));
        else if (format[0] == 'w')
            NL_TRY(import_fixed_binary(in, from, made));
        else
            NL_TRY(import_strings(in, from, made));
        break;
    case NL_PHYS_STRUCT:
        return import_struct(in, from, made);
    case NL_PHYS_LIST:
        NL_TRY(import_list(in, from, made));
        break;
    case NL_PHYS_BOOL:
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
    case NL_PHYS_I128:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_INTERVAL:
        NL_TRY(import_fixed(from, made));
        break;
    }
    nl_vector_zero_nulls(made);
    return NULL;
}

static nl_status import_run(importer *in, run from, nl_vector *vector)
{
    nl_vector made = {0};
    nl_status status;
    if (from.start < 0 || from.schema->format == NULL)
        status = malformed("an offset");
    else if (from.schema->dictionary)
        status = import_dictionary(in, from, &made);
    else if (nl_str_is(nl_str_from(from.schema->format), "+r"))
        status = import_run_ends(in, from, &made);
    else
        status = import_plain(in, from, &made);
    if (status)
        nl_vector_fini(&made);
    else
        *vector = made;
    return status;
}

static nl_status import_columns(importer *in, const struct ArrowArray *array, const struct ArrowSchema *schema,
                                const nl_type *struct_type, nl_batch *batch)
{
    if (array->length < 0 || array->length > UINT32_MAX) return malformed("the row count");
    if (array->n_children != struct_type->child_count) return malformed("the number of columns");
    if (array->n_buffers > 0 && array->buffers[0] && array->null_count != 0) return malformed("rows that are null");
    nl_batch made;
    NL_TRY(nl_batch_init(&made, struct_type->child_count, (uint32_t)array->length));
    run rows = {array, schema, struct_type, array->offset, (uint32_t)array->length};
    for (uint32_t i = 0; i < made.column_count; i++) {
        nl_status status = import_child(in, rows, i, struct_type->children[i].type, array->offset, array->length,
                                        &made.columns[i]);
        if (status) {
            nl_batch_fini(&made);
            return status;
        }
    }
    *batch = made;
    return NULL;
}

nl_status nl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *schema, const nl_type *struct_type,
                                nl_memory *memory, nl_batch *batch)
{
    foreign *owner = calloc(1, sizeof *owner);
    if (!owner) {
        array->release(array);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *owner),
                        NL_P_INT("receivedBytes", 0));
    }
    owner->array = *array;
    array->release = NULL;
    nl_buffer *keeper = nl_buffer_wrap(owner, 0, release_foreign, owner);
    importer in = {.keeper = keeper, .memory = memory};
    nl_status status = import_columns(&in, &owner->array, schema, struct_type, batch);
    nl_buffer_release(keeper);
    return status;
}

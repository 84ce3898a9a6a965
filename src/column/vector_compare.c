/* column/vector_compare.c - equality and order of single rows, of any type and encoding.
 *
 * Order is Spark's: NaN is greatest and equals NaN, -0.0 equals 0.0, inside nested values null comes first. Strings
 * compare by bytes; other collations compare their sort keys, which are made above this folder.
 */
#include "base/decimal.h"
#include "column/vector_internal.h"

#define SIGN_OF(a, b) (((a) > (b)) - ((a) < (b)))

int nl_view_compare(const nl_string_view *a, const nl_string_view *b)
{
    uint32_t common = NL_MIN(a->length, b->length);
    int order = memcmp(nl_view_data(a), nl_view_data(b), common);
    return order ? order : SIGN_OF(a->length, b->length);
}

static int compare_doubles(double a, double b)
{
    if (a < b) return -1;
    if (a > b) return 1;
    if (a == b) return 0;
    return SIGN_OF(a != a, b != b);
}

/* Where a row's value really lies: in the dictionary, or at place 0 of a constant. */
static const nl_vector *resolve(const nl_vector *vector, uint32_t *row)
{
    if (vector->encoding == NL_CONSTANT) {
        *row = 0;
    } else if (vector->encoding == NL_DICTIONARY) {
        *row = vector->indices[*row];
        return &vector->dictionary->vector;
    }
    return vector;
}

#define VALUE(vector, type, row) (((const type *)(vector)->values)[row])
#define COMPARE_AS(type) SIGN_OF(VALUE(a, type, a_row), VALUE(b, type, b_row))

static int compare_nullable(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row)
{
    bool a_null = nl_vector_is_null(a, a_row);
    bool b_null = nl_vector_is_null(b, b_row);
    if (a_null || b_null) return (int)b_null - (int)a_null;
    return nl_vector_row_compare(a, a_row, b, b_row);
}

static int compare_intervals(const nl_interval *a, const nl_interval *b)
{
    int order = SIGN_OF(a->months, b->months);
    if (!order) order = SIGN_OF(a->days, b->days);
    return order ? order : SIGN_OF(a->micros, b->micros);
}

/* Elements in order, the shorter list first; of maps, entry by entry: keys, then values. */
static int compare_lists(const nl_vector *a, nl_list_view a_view, const nl_vector *b, nl_list_view b_view)
{
    uint32_t common = NL_MIN(a_view.length, b_view.length);
    for (uint32_t i = 0; i < common; i++) {
        for (uint32_t child = 0; child < a->child_count; child++) {
            int order = compare_nullable(&a->children[child], a_view.offset + i, &b->children[child],
                                         b_view.offset + i);
            if (order) return order;
        }
    }
    return SIGN_OF(a_view.length, b_view.length);
}

static int compare_structs(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row)
{
    for (uint32_t child = 0; child < a->child_count; child++) {
        int order = compare_nullable(&a->children[child], a_row, &b->children[child], b_row);
        if (order) return order;
    }
    return 0;
}

int nl_vector_row_compare(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row)
{
    a = resolve(a, &a_row);
    b = resolve(b, &b_row);
    NL_ASSERT(a->type->physical == b->type->physical);
    switch (a->type->physical) {
    case NL_PHYS_NONE:
        return 0;
    case NL_PHYS_BOOL:
        return COMPARE_AS(uint8_t);
    case NL_PHYS_I8:
        return COMPARE_AS(int8_t);
    case NL_PHYS_I16:
        return COMPARE_AS(int16_t);
    case NL_PHYS_I32:
        return COMPARE_AS(int32_t);
    case NL_PHYS_I64:
        return COMPARE_AS(int64_t);
    case NL_PHYS_I128:
        return COMPARE_AS(nl_int128);
    case NL_PHYS_F32:
        return compare_doubles((double)VALUE(a, float, a_row), (double)VALUE(b, float, b_row));
    case NL_PHYS_F64:
        return compare_doubles(VALUE(a, double, a_row), VALUE(b, double, b_row));
    case NL_PHYS_STRING:
        return nl_view_compare(&VALUE(a, nl_string_view, a_row), &VALUE(b, nl_string_view, b_row));
    case NL_PHYS_INTERVAL:
        return compare_intervals(&VALUE(a, nl_interval, a_row), &VALUE(b, nl_interval, b_row));
    case NL_PHYS_LIST:
        return compare_lists(a, VALUE(a, nl_list_view, a_row), b, VALUE(b, nl_list_view, b_row));
    case NL_PHYS_STRUCT:
        return compare_structs(a, a_row, b, b_row);
    }
    return 0;
}

static bool lists_equal(const nl_vector *a, nl_list_view a_view, const nl_vector *b, nl_list_view b_view)
{
    if (a_view.length != b_view.length) return false;
    for (uint32_t child = 0; child < a->child_count; child++) {
        for (uint32_t i = 0; i < a_view.length; i++) {
            if (!nl_vector_row_equal(&a->children[child], a_view.offset + i, &b->children[child], b_view.offset + i))
                return false;
        }
    }
    return true;
}

bool nl_vector_row_equal(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row)
{
    bool a_null = nl_vector_is_null(a, a_row);
    bool b_null = nl_vector_is_null(b, b_row);
    if (a_null || b_null) return a_null && b_null;
    a = resolve(a, &a_row);
    b = resolve(b, &b_row);
    switch (a->type->physical) {
    case NL_PHYS_STRING:
        return nl_view_equal(&VALUE(a, nl_string_view, a_row), &VALUE(b, nl_string_view, b_row));
    case NL_PHYS_LIST:
        return lists_equal(a, VALUE(a, nl_list_view, a_row), b, VALUE(b, nl_list_view, b_row));
    case NL_PHYS_STRUCT:
        for (uint32_t child = 0; child < a->child_count; child++) {
            if (!nl_vector_row_equal(&a->children[child], a_row, &b->children[child], b_row)) return false;
        }
        return true;
    case NL_PHYS_NONE:
    case NL_PHYS_BOOL:
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
    case NL_PHYS_I128:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_INTERVAL:
        break;
    }
    return nl_vector_row_compare(a, a_row, b, b_row) == 0;
}

/* column/vector.h - one column of a batch: flat, constant or dictionary, over counted immutable buffers.
 *
 * Ownership: a vector is a value (copy with nl_vector_ref, end with nl_vector_fini) whose buffers are counted.
 * Threads: buffers are immutable once another vector or thread can see them.
 *
 * Validity is a bitmap, LSB first, 1 = valid, as Arrow's; NULL means every row is valid. The slot of a null holds
 * zero (kernels may read it), and an empty string for strings.
 */
#pragma once

#include "column/type.h"
#include "base/memory.h"

/* 16 bytes. Up to 12 bytes lie inside; longer ones keep a 4-byte prefix and point into a heap that the vector keeps
 * alive. Unused inline bytes are zero, so two inline views are equal iff their 16 bytes are. */
typedef struct nl_string_view {
    uint32_t length;
    union {
        char inlined[12];
        struct {
            char prefix[4];
            const char *data;
        } __attribute__((packed)) far;
    };
} nl_string_view;
_Static_assert(sizeof(nl_string_view) == 16, "a string view is 16 bytes");
#define NL_STRING_INLINE_MAX 12u

static inline const char *nl_view_data(const nl_string_view *view)
{
    return view->length <= NL_STRING_INLINE_MAX ? view->inlined : view->far.data;
}
static inline nl_str nl_view_str(const nl_string_view *view) /* borrowed from the view (inline!) or its heap */
{
    return (nl_str){nl_view_data(view), view->length};
}
static inline nl_string_view nl_view_of(nl_str text) /* points to text.data when it is long: the caller keeps it alive */
{
    nl_string_view view = {.length = (uint32_t)text.length};
    if (text.length <= NL_STRING_INLINE_MAX) {
        if (text.length) memcpy(view.inlined, text.data, text.length);
    } else {
        memcpy(view.far.prefix, text.data, 4);
        view.far.data = text.data;
    }
    return view;
}
static inline bool nl_view_equal(const nl_string_view *a, const nl_string_view *b)
{
    uint64_t head_a, head_b;
    memcpy(&head_a, a, 8);
    memcpy(&head_b, b, 8); /* length and first four bytes at once */
    if (head_a != head_b) return false;
    if (a->length <= NL_STRING_INLINE_MAX) return memcmp(a->inlined + 4, b->inlined + 4, 8) == 0;
    return a->far.data == b->far.data || memcmp(a->far.data, b->far.data, a->length) == 0;
}
int nl_view_compare(const nl_string_view *a, const nl_string_view *b); /* by bytes */

/* Rows of an ARRAY or MAP: a slice of the children. */
typedef struct nl_list_view {
    uint32_t offset;
    uint32_t length;
} nl_list_view;

/* The bytes long strings point to. Counted. Grows while it has one owner; then it is only kept alive. A heap can keep
 * other heaps and buffers alive (strings that point into a decompressed page are not copied). */
typedef struct nl_heap nl_heap;
NL_MUST_USE nl_status nl_heap_new(nl_memory *memory, nl_heap **heap);
nl_heap *nl_heap_retain(nl_heap *heap); /* NULL is fine */
void nl_heap_release(nl_heap *heap);
NL_MUST_USE nl_status nl_heap_alloc(nl_heap *heap, size_t bytes, char **out); /* uninitialised */
/* Copies text (only when longer than 12 bytes) and makes its view. */
NL_MUST_USE nl_status nl_heap_add(nl_heap *heap, nl_str text, nl_string_view *view);
NL_MUST_USE nl_status nl_heap_keep(nl_heap *heap, nl_heap *other);          /* retains other; repeated ones are noticed */
NL_MUST_USE nl_status nl_heap_keep_buffer(nl_heap *heap, nl_buffer *buffer); /* retains buffer */
size_t nl_heap_bytes(const nl_heap *heap);
/* What `bytes` of more values may be charged for. heap: NULL for one that memory is still to be asked for. */
size_t nl_heap_growth(const nl_heap *heap, const nl_memory *memory, size_t bytes);

typedef enum nl_encoding {
    NL_FLAT,      /* values[row]                                                                                   */
    NL_CONSTANT,  /* one value for all rows: values[0], validity bit 0; children (if any) hold that one row         */
    NL_DICTIONARY /* indices[row] -> row of *dictionary (a FLAT vector). Nulls are in this vector's own validity;
                     the dictionary itself has none. indices of null rows are 0 (the dictionary may then be empty)  */
} nl_encoding;

typedef struct nl_vector nl_vector;
typedef struct nl_shared_vector nl_shared_vector; /* a counted, immutable FLAT vector: dictionaries are shared by batches */

struct nl_vector {
    const nl_type *type;        /* borrowed: outlives the vector                                       */
    nl_encoding encoding;
    uint32_t length;            /* rows                                                                */
    uint32_t null_count;        /* UINT32_MAX: not counted. 0 with validity==NULL                      */
    const uint8_t *validity;    /* length bits (1 for CONSTANT), or NULL: all valid                    */
    const void *values;         /* FLAT, CONSTANT: by type->physical                                   */
    const uint32_t *indices;    /* DICTIONARY: length entries                                          */
    nl_shared_vector *dictionary; /* DICTIONARY: counted                                               */
    nl_buffer *validity_buffer; /* counted; what `validity` points into; may be NULL (borrowed bits)   */
    nl_buffer *values_buffer;   /* counted; values or indices                                          */
    nl_heap *heap;              /* counted; strings                                                    */
    nl_vector *children;        /* owned array of child_count vectors: ARRAY 1, MAP 2, STRUCT n, VARIANT 2 */
    uint32_t child_count;
};

struct nl_shared_vector {
    nl_vector vector; /* FLAT */
    uint64_t identity; /* unique per dictionary: caches per dictionary are keyed by it */
    atomic_uint references;
    _Atomic(nl_buffer *) hashes; /* nl_vector_hash's: a uint64_t per value, or NULL; set once, by whoever is first */
    atomic_uint hashed_rows;     /* rows hashed without them so far: tells when they pay                          */
};
nl_shared_vector *nl_shared_vector_new(nl_vector *vector); /* takes *vector, which must be FLAT */
nl_shared_vector *nl_shared_vector_retain(nl_shared_vector *shared);
void nl_shared_vector_release(nl_shared_vector *shared);

void nl_vector_fini(nl_vector *vector);                         /* leaves it zeroed; zeroed is fine */
void nl_vector_ref(const nl_vector *source, nl_vector *target); /* another owner of the same buffers */
void nl_vector_move(nl_vector *source, nl_vector *target);      /* source becomes zeroed */

/* Output of kernels: a FLAT vector with room for `length` rows, values zeroed, all valid. Nested types: children are
 * made empty (struct children get `length` rows); list children are filled through nl_vector_set_child. */
NL_MUST_USE nl_status nl_vector_new_flat(nl_vector *vector, const nl_type *type, uint32_t length, nl_memory *memory);
NL_MUST_USE nl_status nl_vector_new_null(nl_vector *vector, const nl_type *type, uint32_t length, nl_memory *memory); /* CONSTANT null */
/* Puts *child (taken) at place i of a vector made by nl_vector_new_flat and not yet published. */
void nl_vector_set_child(nl_vector *vector, uint32_t i, nl_vector *child);
/* Writable views of a vector just made here and not yet published. */
static inline void *nl_vector_values(nl_vector *vector)
{
    return (void *)(uintptr_t)vector->values;
}
NL_MUST_USE nl_status nl_vector_make_validity(nl_vector *vector, nl_memory *memory, uint8_t **bits); /* all ones if absent */
NL_MUST_USE nl_status nl_vector_make_heap(nl_vector *vector, nl_memory *memory, nl_heap **heap);     /* borrowed from vector */

static inline bool nl_bit_get(const uint8_t *bits, uint32_t i)
{
    return (bits[i >> 3] >> (i & 7)) & 1;
}
static inline void nl_bit_set(uint8_t *bits, uint32_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | (1u << (i & 7)));
}
static inline void nl_bit_clear(uint8_t *bits, uint32_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7)));
}

/* One way to read any encoding: value index of a row = nl_reader_index(&reader, row); then values[index]. For a
 * dictionary `values` are the dictionary's. Struct and list children have their own encodings: make a reader for each
 * after nl_vector_flatten (not deep), which gives children one row per row of a struct. A reader borrows from its vector. */
typedef struct nl_reader {
    const void *values;
    const uint8_t *validity; /* by row for FLAT and DICTIONARY; bit 0 for CONSTANT; NULL: all valid */
    const uint32_t *indices; /* NULL: identity or constant */
    uint32_t row_mask;       /* all ones, or 0 for CONSTANT */
} nl_reader;
void nl_reader_init(nl_reader *reader, const nl_vector *vector);
static inline uint32_t nl_reader_index(const nl_reader *reader, uint32_t row)
{
    return reader->indices ? reader->indices[row] : (row & reader->row_mask);
}
static inline bool nl_reader_is_null(const nl_reader *reader, uint32_t row)
{
    return reader->validity && !nl_bit_get(reader->validity, row & reader->row_mask);
}
static inline bool nl_vector_is_null(const nl_vector *vector, uint32_t row)
{
    return vector->type->id == NL_TYPE_NULL ||
           (vector->validity && !nl_bit_get(vector->validity, vector->encoding == NL_CONSTANT ? 0 : row));
}

/* A FLAT vector with the same rows (a ref when it is FLAT already). Children are flattened too when `is_deep`. */
NL_MUST_USE nl_status nl_vector_flatten(const nl_vector *source, bool is_deep, nl_memory *memory, nl_vector *target);
/* Rows source[rows[0…count)] in that order. Dictionaries stay dictionaries, constants constants. */
NL_MUST_USE nl_status nl_vector_take(const nl_vector *source, const uint32_t *rows, uint32_t count, nl_memory *memory, nl_vector *target);
/* Rows start … start+count. Buffers are shared where alignment of bits allows. */
NL_MUST_USE nl_status nl_vector_slice(const nl_vector *source, uint32_t start, uint32_t count, nl_memory *memory, nl_vector *target);
/* All parts (same type) one after the other, FLAT. */
NL_MUST_USE nl_status nl_vector_concat(const nl_vector *const *parts, uint32_t part_count, nl_memory *memory, nl_vector *target);
/* The same rows, FLAT, whose strings lie in a heap of their own: rows that are kept for long hold nothing of others. */
NL_MUST_USE nl_status nl_vector_own(const nl_vector *source, nl_memory *memory, nl_vector *target);
/* The same values under another type of the same physical form (decimal widening of names, NTZ/LTZ relabelling). */
void nl_vector_relabel(nl_vector *vector, const nl_type *type);
size_t nl_vector_bytes(const nl_vector *vector); /* an estimate of memory held */

/* Per-row hashing and comparing over any type and encoding. NaN equals NaN, -0.0 equals 0.0, null equals null. */
NL_MUST_USE nl_status nl_vector_hash(const nl_vector *vector, uint32_t row_count, bool is_combining, uint64_t *hashes);
bool nl_vector_row_equal(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row);
/* <0, 0, >0; NaN is greatest; nulls must be dealt with by the caller at top level (inside nested types nulls are first). */
int nl_vector_row_compare(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row);

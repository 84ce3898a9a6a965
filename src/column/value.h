/* column/value.h - one value of any type, outside of vectors: literals, bounds, partition values, options. */
#pragma once

#include "base/calendar.h"
#include "base/decimal.h"
#include "column/vector.h"

typedef struct nl_value nl_value;
struct nl_value {
    const nl_type *type;
    bool is_null;
    union {
        bool boolean;
        int64_t integer;  /* TINYINT … BIGINT, DATE, TIMESTAMP*, INTERVAL_YM, INTERVAL_DT */
        double real;      /* FLOAT (exactly representable), DOUBLE                        */
        nl_int128 decimal; /* unscaled, any precision                                     */
        nl_str text;      /* STRING, BINARY; borrowed from the arena it was made in       */
        nl_interval interval;
        struct {          /* ARRAY: items; MAP: keys at even, values at odd places; STRUCT: fields; VARIANT: metadata, value */
            const nl_value *items;
            uint32_t count;
        } list;
    };
};

nl_value nl_value_null(const nl_type *type);
nl_value nl_value_int(const nl_type *type, int64_t value);
nl_value nl_value_string(nl_str text);
nl_value nl_value_boolean(bool value);

nl_value nl_value_copy(nl_arena *arena, const nl_value *value); /* deep */
bool nl_value_equal(const nl_value *a, const nl_value *b);      /* types of one physical form */
uint64_t nl_value_hash(const nl_value *value);                  /* the same for equal ones; 0 for nested ones */
int nl_value_compare(const nl_value *a, const nl_value *b);     /* both non-null, same type family; NaN greatest */

/* Row `row`, not null, of a flat vector whose type is not nested; a text points into the vector. */
nl_value nl_vector_leaf(const nl_vector *vector, uint32_t row);
/* Row `row` of a vector, copied into the arena. */
nl_value nl_vector_value(const nl_vector *vector, uint32_t row, nl_arena *arena);
/* A CONSTANT vector of `length` rows. */
NL_MUST_USE nl_status nl_vector_new_constant(nl_vector *vector, const nl_value *value, uint32_t length, nl_memory *memory);

/* A growing FLAT column of one type. Owns its buffers; finish() moves them into a vector and starts anew. */
typedef struct nl_column_builder nl_column_builder;
NL_MUST_USE nl_status nl_column_builder_new(const nl_type *type, nl_memory *memory, nl_column_builder **builder);
void nl_column_builder_free(nl_column_builder *builder);
uint32_t nl_column_builder_length(const nl_column_builder *builder);
NL_MUST_USE nl_status nl_column_builder_null(nl_column_builder *builder);
NL_MUST_USE nl_status nl_column_builder_i64(nl_column_builder *builder, int64_t value);  /* all integer-like physicals, BOOL */
NL_MUST_USE nl_status nl_column_builder_i128(nl_column_builder *builder, nl_int128 value); /* decimals of any precision */
NL_MUST_USE nl_status nl_column_builder_f64(nl_column_builder *builder, double value);   /* FLOAT, DOUBLE */
NL_MUST_USE nl_status nl_column_builder_interval(nl_column_builder *builder, nl_interval value);
NL_MUST_USE nl_status nl_column_builder_str(nl_column_builder *builder, nl_str text);    /* copied */
NL_MUST_USE nl_status nl_column_builder_value(nl_column_builder *builder, const nl_value *value); /* any type */
NL_MUST_USE nl_status nl_column_builder_row(nl_column_builder *builder, const nl_vector *source, uint32_t row); /* any type */
/* Nested: append to the child builders, then end the row. ARRAY child 0; MAP children 0, 1; STRUCT child i. */
/* Room for so many more rows at once: refused before they are made. Not for what STRUCTs and lists hold. */
NL_MUST_USE nl_status nl_column_builder_reserve(nl_column_builder *builder, uint32_t more_rows);
nl_column_builder *nl_column_builder_child(nl_column_builder *builder, uint32_t i);
NL_MUST_USE nl_status nl_column_builder_end_list(nl_column_builder *builder, uint32_t element_count); /* the last n of the children */
NL_MUST_USE nl_status nl_column_builder_end_struct(nl_column_builder *builder); /* every child has one row more */
/* Takes the last rows back, elements of lists included, also those appended to children and not yet ended. */
void nl_column_builder_truncate(nl_column_builder *builder, uint32_t length);
NL_MUST_USE nl_status nl_column_builder_finish(nl_column_builder *builder, nl_vector *vector);

/* Text of a value. The styles differ inside nested values and for binary and intervals. */
typedef enum nl_text_style {
    NL_TEXT_CAST, /* CAST(x AS STRING): [1, null], {k -> 1}, {1, null}; binary as UTF-8           */
    NL_TEXT_SHOW, /* DataFrame.show: NULL upper case inside; binary [0A FF]; intervals INTERVAL '1' DAY … */
    NL_TEXT_HIVE  /* spark-sql's rows: [1,null], ["a"], {"k":1}, {"x":1}; see surface/sql.md §8   */
} nl_text_style;
typedef enum nl_binary_style { /* spark.sql.binaryOutputStyle; UNSAID: the text style's own */
    NL_BINARY_UNSAID,
    NL_BINARY_UTF8,
    NL_BINARY_BASIC,        /* [10, -1] */
    NL_BINARY_BASE64,       /* without padding */
    NL_BINARY_HEX,          /* 0AFF */
    NL_BINARY_HEX_DISCRETE  /* [0A FF] */
} nl_binary_style;
nl_binary_style nl_binary_style_of(nl_str name); /* any case; UNSAID: none of that name */
void nl_append_binary(nl_builder *out, nl_str bytes, nl_binary_style style); /* UNSAID: as UTF8 */

typedef struct nl_text_options {
    nl_text_style style;
    nl_binary_style binary;  /* at the end of a query, and of to_csv and to_xml */
    const nl_timezone *zone; /* of TIMESTAMP */
} nl_text_options;
void nl_vector_append_text(const nl_vector *vector, uint32_t row, const nl_text_options *options, nl_builder *out); /* null: NULL (null inside CAST nesting) */
void nl_value_append_text(const nl_value *value, const nl_text_options *options, nl_builder *out);

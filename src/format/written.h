/* format/written.h - what a writer knows of a data file when it closes it: the source of manifests' counts and bounds. */
#pragma once

#include "column/value.h"

typedef struct nl_written_leaf { /* a column of the file without children */
    int32_t field_id;
    nl_str path;              /* dotted */
    const nl_type *type;      /* of the leaf */
    bool is_repeated;         /* below a list or map: Iceberg keeps no counts or bounds of these */
    uint64_t column_bytes;    /* compressed, in the whole file */
    uint64_t value_count;     /* entries, nulls included */
    uint64_t null_count;
    uint64_t nan_count;       /* FLOAT, DOUBLE */
    bool has_bounds;          /* false: no value other than null and NaN, or no statistics */
    nl_value lower, upper;    /* at full precision; BINARY and STRING whole. UUID, FIXED: BINARY values */
} nl_written_leaf;

typedef struct nl_written_file { /* lives in the arena given to the writer's close */
    uint64_t row_count;
    uint64_t file_bytes;
    nl_written_leaf *leaves;  /* NULL: the format keeps no statistics */
    uint32_t leaf_count;
    uint64_t *split_offsets;  /* where the file can be cut: starts of row groups, stripes */
    uint32_t split_offset_count;
} nl_written_file;

/* NOT_NULL_ASSERT_VIOLATION: the error of a row whose required field of this name is null. */
NL_MUST_USE nl_status nl_required_is_null(nl_str name);

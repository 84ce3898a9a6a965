/* format/orc/mapping.h - which column of the file becomes which wanted field, and how. */
#pragma once

#include "column/value.h"
#include "format/orc/reader.h"

typedef enum nl_orc_action {
    NL_ORC_READ_MISSING,  /* the file lacks it: a constant */
    NL_ORC_READ_BOOLEAN,
    NL_ORC_READ_INTEGER,  /* of bytes (BYTE) or of integers, times `factor`, into any number */
    NL_ORC_READ_DAYS,     /* DATE */
    NL_ORC_READ_REAL,
    NL_ORC_READ_DECIMAL,
    NL_ORC_READ_TEXT,
    NL_ORC_READ_UUID,     /* 16 bytes as 36 characters */
    NL_ORC_READ_TIME,
    NL_ORC_READ_LIST,     /* and maps: one or two children */
    NL_ORC_READ_STRUCT
} nl_orc_action;

typedef struct nl_orc_plan nl_orc_plan;
struct nl_orc_plan { /* in the reader's arena */
    nl_orc_action action;
    const nl_orc_type *file; /* NULL: MISSING */
    const nl_type *type;     /* wanted */
    const nl_value *missing; /* or NULL: null */
    int64_t factor;
    uint32_t child_count;
    nl_orc_plan *children;
};

NL_MUST_USE nl_status nl_orc_plan_make(const nl_orc_tail *tail, const nl_type *wanted, const nl_orc_read_options *options, nl_arena *arena, nl_orc_plan *plan);

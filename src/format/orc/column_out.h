/* format/orc/column_out.h - encoding one column of a file, with what lies below it: streams, row index, statistics. */
#pragma once

#include "column/batch.h"
#include "format/data_format.h"
#include "format/orc/out.h"
#include "format/orc/tally.h"

/* What the columns of one writer share. */
typedef struct nl_orc_out_context {
    nl_orc_packer packer;
    bool is_iceberg;
    const nl_timezone *zone; /* of wall-clock times */
    const nl_data_column *stored;
    uint32_t stored_count;
} nl_orc_out_context;

typedef struct nl_orc_group { /* of rows, begun: what its index entry will say */
    nl_orc_places present, values;
    uint64_t first_value;     /* while values wait for the dictionary: how many were there before */
    nl_bytes_out statistics;  /* the message; of a finished group */
} nl_orc_group;

typedef struct nl_orc_texts nl_orc_texts; /* the dictionary being made, and the values that wait for it */

typedef struct nl_orc_column_out nl_orc_column_out;
struct nl_orc_column_out {
    nl_orc_out_context *context;
    const nl_type *type;
    const nl_data_column *stored; /* or NULL */
    uint32_t id;
    nl_orc_kind kind;
    bool is_repeated;             /* below a list or map */
    nl_str path;
    int32_t field_id;
    bool is_nullable;
    nl_orc_out present, data, second, dictionary; /* second: LENGTH or SECONDARY */
    nl_orc_bit_writer *bits, *booleans;
    nl_orc_byte_writer *bytes;
    nl_orc_int_writer *numbers, *seconds;
    bool has_texts, prefers_direct; /* texts wait; a dictionary did not pay before */
    nl_orc_texts *texts;
    bool has_null;                /* in this stripe */
    nl_orc_tally group_tally, stripe_tally, file_tally;
    uint64_t file_bytes;          /* of all finished stripes */
    nl_orc_group *groups;
    uint32_t group_count, group_room;
    nl_orc_column_out *children;
    uint32_t child_count;
};

/* The tree of a type; ids are given in pre-order from *next_id. Fails: NILAS_UNSUPPORTED for types that ORC does not hold. */
NL_MUST_USE nl_status nl_orc_column_out_init(nl_orc_column_out *column, nl_orc_out_context *context, const nl_field *field, nl_str path, bool is_repeated, nl_arena *arena, uint32_t *next_id);
void nl_orc_column_out_fini(nl_orc_column_out *column); /* zeroed is fine */
/* Rows of a FLAT vector, deeply. */
NL_MUST_USE nl_status nl_orc_column_out_write(nl_orc_column_out *column, const nl_vector *vector, const uint32_t *rows, uint32_t count);
NL_MUST_USE nl_status nl_orc_column_out_begin_group(nl_orc_column_out *column);
NL_MUST_USE nl_status nl_orc_column_out_end_group(nl_orc_column_out *column);
NL_MUST_USE nl_status nl_orc_column_out_end_stripe(nl_orc_column_out *column); /* all streams are finished then */
NL_MUST_USE nl_status nl_orc_column_out_clear(nl_orc_column_out *column);      /* for the next stripe: tallies are added up */
size_t nl_orc_column_out_size(const nl_orc_column_out *column);                /* stored, about */
uint32_t nl_orc_column_out_dictionary_size(const nl_orc_column_out *column);   /* 0: direct */
bool nl_orc_column_out_has_dictionary(const nl_orc_column_out *column);        /* in the finished stripe */

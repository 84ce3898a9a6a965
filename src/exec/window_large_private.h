/* exec/window_large_private.h - between the files that evaluate a partition on disk. */
#pragma once

#include "column/value.h"
#include "exec/spill.h"
#include "exec/window_large.h"

typedef struct nl_moving_state { /* of one aggregate call */
    const nl_window_call *call;
    const nl_aggregate_ops *ops;
    size_t bytes;          /* of a state: a multiple of 16 */
    uint8_t *state;
    uint8_t *copies;       /* states to be finished together; NULL: states own memory, each is finished at once into … */
    nl_column_builder *singles;
    void **pointers;
    uint32_t pending;
} nl_moving_state;

/* Rows of a slice: the child's columns, the program's outputs, peers. */
typedef struct nl_window_slice {
    nl_batch batch;        /* the child's columns, new_peer */
    uint64_t first;        /* of the partition */
    uint32_t row_count;
    nl_vector *outputs;
    nl_buffer *buffer;
    uint32_t *numbers;     /* 0 … row_count-1, then room for as many of anything */
    uint32_t *scratch;
} nl_window_slice;

/* A place in the partition, with the chunk around it. */
typedef struct nl_window_edge {
    uint64_t at;
    nl_window_slice slice; /* row_count 0: none is open */
} nl_window_edge;

/* A place, and how many values lie before it: those that are not null. */
typedef struct nl_window_count {
    nl_window_edge edge;
    uint64_t values;
} nl_window_count;

/* NL_ROAD_REST: result k is that of the partition's last k rows. */
typedef struct nl_window_rest {
    nl_spill *results;
    uint64_t *starts;    /* first result of each chunk, and their number */
    nl_batch open;       /* a chunk */
    uint64_t open_first;
} nl_window_rest;

typedef struct nl_window_framing { /* of one call: frames whose ends move forward with the rows */
    nl_window_edge start, stop;   /* where frames begin and end: found by comparing order keys with bounds */
    nl_window_edge come, gone;    /* rows that enter the state and leave it */
    uint64_t has_start, has_stop; /* which rows the state holds */
    nl_window_count from, until, found; /* NL_ROAD_VALUE: before the row or its frame's ends, and the row whose value it is */
    uint64_t value_count;         /* of the partition; for lag and lead with IGNORE NULLS */
    nl_window_rest rest;
} nl_window_framing;

struct nl_window_large {
    nl_window *window;
    nl_eval *eval;
    nl_spill *rows;        /* the child's columns, new_peer */
    nl_spill *peers;       /* per peer group: where it ends, results of NL_ROAD_PEERS; NULL: nobody asks */
    const nl_type **row_types, **peer_types;
    uint32_t column_count; /* the child's */
    uint32_t peer_calls;
    uint64_t *starts;      /* first row of each chunk of `rows`; one more than chunks */
    uint32_t start_capacity;
    uint64_t row_count;
    nl_moving_state *states;  /* per call; unused ones are zero */
    nl_vector *finals;     /* per call with NL_ROAD_WHOLE: its one result */
    nl_window_framing *framings; /* per call; of NL_ROAD_FRAME, VALUE, REST */
    /* Reading: */
    uint32_t chunk;
    uint64_t peer_start, dense;
    nl_batch peer_batch;
    uint32_t peer_chunk, peer_at;
};

/* window_large.c: states of aggregates … */
NL_MUST_USE nl_status nl_window_start_state(const nl_window_large *self, uint32_t c);
void nl_window_end_state(const nl_window_large *self, nl_moving_state *moving);
void nl_window_begin_anew(const nl_window_large *self, nl_moving_state *moving); /* results noted so far stay */
NL_MUST_USE nl_status nl_window_move_state(const nl_window_large *self, nl_moving_state *moving, const nl_vector *outputs, const uint32_t *numbers, uint32_t start, uint32_t stop);
NL_MUST_USE nl_status nl_window_note_result(const nl_window_large *self, nl_moving_state *moving); /* the state's present result is the next one */
NL_MUST_USE nl_status nl_window_take_results(const nl_window_large *self, nl_moving_state *moving, nl_vector *out); /* all noted since the last time; at least one */
/* … and rows. */
uint32_t nl_window_chunk_of(const nl_window_large *self, uint64_t row);
NL_MUST_USE nl_status nl_window_open_slice(const nl_window_large *self, uint64_t first, uint64_t stop, nl_window_slice *s);
void nl_window_end_slice(const nl_window_large *self, nl_window_slice *s);
static inline const uint8_t *nl_window_new_peers(const nl_window_large *self, const nl_window_slice *s)
{
    return s->batch.columns[self->column_count].values;
}

/* window_large_frame.c: which frames it can evaluate; and a call's results for a slice, whose peers end at peer_stops. */
bool nl_window_frame_is_possible(const nl_window_call *call);
NL_MUST_USE nl_status nl_window_frame_rows(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, nl_vector *out);
void nl_window_end_framing(const nl_window_large *self, nl_window_framing *framing);
/* The frames of the slice's rows, in rows of the partition; both ends move forward from call to call. */
NL_MUST_USE nl_status nl_window_find_frames(const nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, uint64_t *starts, uint64_t *stops);
/* Opens the chunk of `row` in the edge's slice; *index: the row there. */
NL_MUST_USE nl_status nl_window_open_edge(const nl_window_large *self, nl_window_edge *edge, uint64_t row, uint32_t *index);

/* window_large_value.c */
bool nl_window_looks_for_value(const nl_window_call *call, nl_window_look *look);
NL_MUST_USE nl_status nl_window_count_values(nl_window_large *self, uint32_t c); /* once, after the last row */
NL_MUST_USE nl_status nl_window_value_rows(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, nl_vector *out);

/* window_large_rest.c */
bool nl_window_is_rest(const nl_window_call *call);
NL_MUST_USE nl_status nl_window_read_backwards(nl_window_large *self, uint32_t c); /* once, after the last row */
NL_MUST_USE nl_status nl_window_rest_rows(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, nl_vector *out);
void nl_window_end_rest(nl_window_rest *rest);

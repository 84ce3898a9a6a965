/* exec/window.h - the inside of window operators: frames of rows, aggregates over them. */
#pragma once

#include "exec/engine.h"

typedef struct nl_sorter nl_sorter;

/* How a call is evaluated over a partition on disk (window_large.c). */
typedef enum nl_window_road {
    NL_ROAD_NONE,   /* not at all */
    NL_ROAD_ROW_NUMBER, NL_ROAD_RANK, NL_ROAD_DENSE_RANK, NL_ROAD_PERCENT_RANK, NL_ROAD_CUME_DIST, NL_ROAD_NTILE,
    NL_ROAD_ROWS,   /* a state that moves along with the rows */
    NL_ROAD_PEERS,  /* … and is looked at where a peer group ends */
    NL_ROAD_WHOLE,  /* … and is looked at in the end */
    NL_ROAD_MARGIN, /* from the rows around */
    NL_ROAD_FRAME,  /* by looking for the ends of each frame */
    NL_ROAD_VALUE,  /* by looking for the row whose value it is */
    NL_ROAD_REST,   /* from what was noted reading backwards */
} nl_window_road;

/* NL_ROAD_VALUE: which row a call looks for. */
typedef enum nl_window_look { NL_LOOK_BACK, NL_LOOK_AHEAD, NL_LOOK_FIRST, NL_LOOK_LAST, NL_LOOK_NTH } nl_window_look;

/* One window expression, planned. Positions are among the outputs of the window's program. */
typedef struct nl_window_call {
    const nl_expr *expr;
    const nl_bound_function *function;
    uint32_t argument_first, argument_count;
    const nl_window_spec *spec;
    uint64_t start_rows, stop_rows;         /* ROWS: the offsets */
    int32_t order_key;                      /* RANGE with offsets: the order key, its bounds; -1: none */
    int32_t start_bound, stop_bound;
    nl_window_road road;
    uint64_t rows_before, rows_after;       /* NL_ROAD_MARGIN: what a row looks at */
    int64_t constant;                       /* ntile's buckets; the offset of lag, lead, nth_value */
    nl_window_look look;
} nl_window_call;

/* A window node, planned; shared by all workers. */
typedef struct nl_window {
    nl_exec *exec;
    const nl_logical *node;
    nl_sorter *sorter;
    nl_programs programs; /* arguments, order keys and bounds */
    uint32_t output_count;
    nl_window_call *calls;
    uint32_t call_count;
    const nl_type **column_types; /* the child's */
    uint32_t column_count;
    bool can_be_large;    /* a partition on disk can be evaluated */
    nl_metric *metric;
} nl_window;

/* Partitions being worked on: one, or many that are small. Peers and frames are in the row's partition. */
typedef struct nl_window_rows {
    uint32_t row_count;
    uint32_t partition_count;
    const uint32_t *starts;                 /* partition_count + 1: the first row of each, then row_count */
    const nl_vector *outputs;               /* of the program, row_count rows each */
    const uint32_t *peer_start, *peer_stop;
    uint32_t *frame_start, *frame_stop;     /* of the present call */
    const uint32_t *numbers;                /* 0 … row_count-1: contiguous selections */
    const nl_cancel *cancel;
} nl_window_rows;

/* window_frame.c: fills frame_start and frame_stop; start <= stop in every row. */
void nl_window_frames(const nl_window_call *call, nl_window_rows *rows);
/* window.c: a call over rows in memory. */
NL_MUST_USE nl_status nl_window_evaluate(const nl_window *window, nl_eval *eval, const nl_window_call *call, nl_window_rows *rows, nl_vector *out);
/* window_aggregate.c */
bool nl_window_can_retract(const nl_window_call *call); /* may rows be taken out of a state again? */
NL_MUST_USE nl_status nl_window_aggregate(const nl_window_call *call, nl_eval *eval, const nl_window_rows *rows, uint32_t chunk_rows, nl_vector *out);

/* exec/window.h - the inside of window operators: frames of rows, aggregates over them. */
#pragma once

#include "exec/engine.h"

/* One window expression, planned. Positions are among the outputs of the window's program. */
typedef struct nl_window_call {
    const nl_expr *expr;
    const nl_bound_function *function;
    uint32_t argument_first, argument_count;
    const nl_window_spec *spec;
    uint64_t start_rows, stop_rows;         /* ROWS: the offsets */
    int32_t order_key;                      /* RANGE with offsets: the order key, its bounds; -1: none */
    int32_t start_bound, stop_bound;
} nl_window_call;

/* A partition being worked on. */
typedef struct nl_window_rows {
    uint32_t row_count;
    const nl_vector *outputs;               /* of the program, row_count rows each */
    const uint32_t *peer_start, *peer_stop;
    uint32_t *frame_start, *frame_stop;     /* of the present call */
    const uint32_t *numbers;                /* 0 … row_count-1: contiguous selections */
    const nl_cancel *cancel;
} nl_window_rows;

/* window_frame.c: fills frame_start and frame_stop; start <= stop in every row. */
void nl_window_frames(const nl_window_call *call, nl_window_rows *rows);
/* window_aggregate.c */
NL_MUST_USE nl_status nl_window_aggregate(const nl_window_call *call, nl_eval *eval, const nl_window_rows *rows, uint32_t chunk_rows, nl_vector *out);

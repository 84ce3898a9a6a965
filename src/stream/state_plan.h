/* stream/state_plan.h - small plans over kept rows, as the stateful operators put them together. Inside the folder. */
#pragma once

#include "stream/state.h"

/* An aggregation by sessions (state_session.c). */
typedef struct nl_state_session {
    uint32_t key;              /* which key is it */
    nl_column_id column;       /* its column below the aggregation */
    const nl_logical *maker;   /* the projection that makes the column of merged bounds */
    const nl_logical *rows;    /* what the merging begins with: rows with _start and _end */
} nl_state_session;
/* The aggregation's child in which every row is a session of its own. */
NL_MUST_USE nl_status nl_state_session_single(nl_state_batch *batch, const nl_state_session *session, const nl_logical *aggregate, const nl_logical **plan);
/* The rows (keys first) with merged sessions in place of their own. */
NL_MUST_USE nl_status nl_state_session_merge(nl_state_batch *batch, const nl_state_session *session, const nl_logical *rows, uint32_t key_count, const nl_logical **plan);

/* What the operator gives out: a scan with the node's columns. */
const nl_logical *nl_state_give(nl_state_batch *batch, nl_kept_rows *rows, const nl_logical *node);
/* A scan whose columns have ids of their own. */
const nl_logical *nl_state_scan_new(nl_state_batch *batch, nl_kept_rows *rows);
/* The same of numbered rows, without their numbers. */
const nl_logical *nl_state_scan_rows(nl_state_batch *batch, nl_kept_rows *rows);
/* 0, 1, … count - 1. */
const uint32_t *nl_state_first_columns(nl_state_batch *batch, uint32_t count);
/* The child and one more BOOLEAN column, the last. */
const nl_logical *nl_state_with_flag(nl_state_batch *batch, const nl_logical *child, const char *name, bool value);
/* Rows of both, by position; new ids. */
NL_MUST_USE nl_status nl_state_union(nl_state_batch *batch, const nl_logical *a, const nl_logical *b, const nl_logical **both);
/* a.key <=> b.key of the first key_count columns. */
NL_MUST_USE nl_status nl_state_same_keys(nl_state_batch *batch, const nl_logical *a, const nl_logical *b, uint32_t key_count, const nl_expr **condition);
/* The left rows whose first key_count columns are not among the right's. */
NL_MUST_USE nl_status nl_state_anti_join(nl_state_batch *batch, const nl_logical *left, const nl_logical *right, uint32_t key_count, const nl_logical **plan);
/* The rows where the condition is true, or where it is not (null counts as not). */
const nl_logical *nl_state_where(nl_state_batch *batch, const nl_logical *child, const nl_expr *condition, bool is_true);
/* The child's columns under new ids. */
const nl_logical *nl_state_renamed(nl_state_batch *batch, const nl_logical *child);
const nl_type *nl_state_row_type(nl_state_batch *batch, const nl_column *columns, uint32_t count);

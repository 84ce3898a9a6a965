/* exec/python/task.h - one task of a worker process: what it is told, rows to it, rows from it. Inside the folder. */
#pragma once

#include "exec/engine.h"
#include "exec/python/worker.h"

/* What all tasks of a node have in common. In the exec's arena. */
typedef struct nl_python_plan {
    nl_exec *exec;
    const nl_logical *node;
    nl_python_pool *pool;
    nl_str interpreter;
    nl_str order;               /* the frame that begins a task                                  */
    const nl_type *sent[2];     /* STRUCT of a batch's columns; [1]: of COGROUP's right side     */
    bool is_wrapped;            /* the columns are sent as those of one struct column            */
    const nl_type *received;    /* STRUCT of what comes back                                     */
    bool is_unwrapped;          /* it comes as one struct column                                 */
    nl_str time_zone;
    uint32_t rows_max;          /* spark.sql.execution.arrow.maxRecordsPerBatch                  */
} nl_python_plan;
NL_MUST_USE nl_status nl_python_plan_init(nl_python_plan *plan, nl_exec *exec, const nl_logical *node);

typedef struct nl_python_task {
    nl_python_worker *worker; /* NULL: not begun */
    bool is_done;
    bool is_reusable;
    uint32_t answered;        /* groups that it has done: it says so */
} nl_python_task;
NL_MUST_USE nl_status nl_python_task_begin(const nl_python_plan *plan, nl_python_task *task); /* once; later calls do nothing */
/* Columns of `rows` rows each, borrowed. side: which of sent. */
NL_MUST_USE nl_status nl_python_task_send(const nl_python_plan *plan, nl_python_task *task, uint32_t side, const nl_vector *columns, uint32_t rows);
NL_MUST_USE nl_status nl_python_task_mark(nl_python_task *task, char kind); /* a frame without content */
/* The next batch (columns of received's types). *is_there false: none yet, or (is_waiting) the task is done; or it has done a group. */
NL_MUST_USE nl_status nl_python_task_receive(const nl_python_plan *plan, nl_python_task *task, bool is_waiting, nl_batch *batch, bool *is_there);
void nl_python_task_end(nl_python_task *task);

/* group.c: GROUP, COGROUP, AGGREGATE, WINDOW. */
NL_MUST_USE nl_status nl_append_python_groups(nl_pipeline *pipeline, const nl_logical *node);

/* storage/fault.h - failures on purpose: plans, how layers meet them, and the sweep.
 *
 * A plan is text: rules "layer.operation:when=effect" with ';' between them.
 *   layer.operation  local, memory, s3, commit …; local and memory know open, read, write, fsync, publish, create,
 *                    create_if_absent, rename, remove, remove_tree, make_directory, stat, list, and the replies
 *                    published, created, renamed: there the work was done and only the answer is lost
 *   when             3 (the third time), any, after(1MiB) (once that many bytes went through)
 *   effect           an errno name (EIO, ENOSPC), an HTTP status (503), reset, cut(1000), late(30s), lost-reply, fail
 * "alloc:57=fail" refuses the 57th charge of memory in the process, from parsing on.
 */
#pragma once

#include "storage/filesystem.h"

typedef struct nl_fault_effect {
    enum {
        NL_FAULT_ERRNO,      /* number: errno                                    */
        NL_FAULT_HTTP,       /* number: status                                   */
        NL_FAULT_RESET,      /* the connection goes away                         */
        NL_FAULT_CUT,        /* number: bytes that still arrive                  */
        NL_FAULT_LATE,       /* number: milliseconds                             */
        NL_FAULT_LOST_REPLY, /* it was done, but nobody learns of it             */
        NL_FAULT_FAIL
    } kind;
    int64_t number;
} nl_fault_effect;

/* Counts one step of `operation` ("s3.get") with `byte_count` bytes going through. True when a rule strikes. For layers
 * that act out the effect themselves. plan may be NULL: false. Threads: any. */
bool nl_fault_meet(nl_fault_plan *plan, const char *operation, uint64_t byte_count, nl_fault_effect *effect);

/* The same as an error: NILAS_IO_ERROR with the errno's words; a lost reply is of kind UNKNOWN_STATE. */
NL_MUST_USE nl_status nl_fault_step(nl_fault_plan *plan, const char *operation, nl_str path, uint64_t byte_count);

/* Runs an operation with its first step failing, then its second, and so on until it gets through without meeting the
 * fault. run makes its own fs (nl_fs_fault_new) over plan; check is called after each run, takes status, and looks at
 * what was left behind. step is 0 in the last call, when nothing failed. Returns the number of steps. */
typedef struct nl_fault_sweep {
    nl_status (*run)(void *argument, nl_fault_plan *plan);
    void (*check)(void *argument, uint64_t step, nl_status status);
    void *argument;
} nl_fault_sweep;
uint64_t nl_fault_sweep_run(const nl_fault_sweep *sweep);

/* Wraps fs (taken) into the plan of the environment's NILAS_FAULT when faults are compiled in and it is set. */
nl_fs *nl_fault_from_environment(nl_fs *fs);
/* That plan, for a test that arms single steps of it (nl_fault_plan_fail_step); NULL: none. Lives as long as the process. */
nl_fault_plan *nl_fault_process_plan(void);

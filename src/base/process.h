/* base/process.h - the one piece of mutable state that belongs to the process: what cannot belong to a session because
 * there is one of it (the wall clock, the log) or because it is immutable once made and the same for all (time zones).
 * Nothing else in the tree keeps global state. Only base's own sources look inside.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/lock.h"

#define NL_ZONE_BUCKETS    256u
#define NL_CLOCK_IS_RUNNING INT64_MIN

typedef struct nl_process {
    atomic_int log_level;
    _Atomic int64_t held_clock_micros; /* NL_CLOCK_IS_RUNNING unless a test holds the clock        */
    _Atomic uint64_t charges_until_refusal; /* for tests (nl_memory_fail_charge); 0: none              */
    atomic_size_t kept_bytes; /* freed buffers that threads keep (memory.c), as far as they may   */
    nl_mutex zone_mutex;
    struct nl_timezone *zones[NL_ZONE_BUCKETS]; /* guarded by zone_mutex; by name; never freed      */
} nl_process;
extern nl_process nl_process_state;

/* For tests: nl_now_micros answers this from now on; NL_CLOCK_IS_RUNNING lets the clock go on. */
void nl_clock_hold(int64_t micros);

/* Name and home of a user, from the machine's user database, in the arena; name.data NULL: it does not know this one. Threads: any,
 * which getpwuid() is not. */
typedef struct nl_user {
    nl_str name, home;
} nl_user;
nl_user nl_process_user(nl_arena *arena, uint32_t id);

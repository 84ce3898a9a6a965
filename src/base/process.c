/* base/process.c - the process's state, and the clock that reads it. */
#include "base/process.h"

#include <pwd.h>
#include <time.h>

#include "base/calendar.h"
#include "base/log.h"

nl_process nl_process_state = {
    .log_level = NL_LOG_WARN,
    .held_clock_micros = NL_CLOCK_IS_RUNNING,
    .zone_mutex = NL_MUTEX_INIT,
};

void nl_clock_hold(int64_t micros)
{
    atomic_store(&nl_process_state.held_clock_micros, micros);
}

int64_t nl_now_micros(void)
{
    int64_t held = atomic_load_explicit(&nl_process_state.held_clock_micros, memory_order_relaxed);
    if (held != NL_CLOCK_IS_RUNNING) return held;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * NL_MICROS_PER_SECOND + now.tv_nsec / 1000;
}

nl_user nl_process_user(nl_arena *arena, uint32_t id)
{
    char room[16384]; /* an entry longer than that is nobody's */
    struct passwd entry, *found = NULL;
    if (getpwuid_r(id, &entry, room, sizeof(room), &found) != 0 || !found) return (nl_user){0};
    return (nl_user){nl_arena_str(arena, nl_str_from(found->pw_name)), nl_arena_str(arena, nl_str_from(found->pw_dir))};
}

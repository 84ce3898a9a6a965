/* base/crash.c - death by SIGKILL at a named place: no handler runs, nothing is flushed, as when the power goes. */
#include "base/crash.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"

/* Written before use, then only passes_left changes. */
static nl_str crash_name;
static _Atomic int64_t passes_left;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void choose(nl_str wanted)
{
    size_t colon = nl_str_find_last_char(wanted, ':');
    int64_t count = 1;
    if (colon != NL_NOT_FOUND && nl_parse_int64(nl_str_slice(wanted, colon + 1, wanted.length), &count))
        wanted = nl_str_slice(wanted, 0, colon);
    crash_name = wanted;
    atomic_store(&passes_left, count);
}

static void read_environment(void)
{
    choose(nl_str_from(getenv("NILAS_CRASH")));
}

void nl_crash_choose(const char *wanted)
{
    pthread_once(&read_once, read_environment);
    choose(nl_str_from(wanted));
}

void nl_crash_point(const char *name)
{
    pthread_once(&read_once, read_environment);
    if (crash_name.length == 0 || !nl_str_is(crash_name, name)) return;
    if (atomic_fetch_sub(&passes_left, 1) != 1) return;
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

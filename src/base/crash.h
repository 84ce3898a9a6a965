/* base/crash.h - places where a test may kill the process, to see what is left on disk. Compiled in with NL_FAULTS;
 * asleep unless the environment says NILAS_CRASH="name" or "name:n": then the n-th pass (from 1) is the last.
 */
#pragma once

#ifdef NL_FAULTS
#define NL_CRASH_POINT(name) nl_crash_point(name)
#else
#define NL_CRASH_POINT(name) ((void)0)
#endif

void nl_crash_point(const char *name);
/* For a forked child of a test, which inherits what its parent read from the environment: wanted as in NILAS_CRASH. */
void nl_crash_choose(const char *wanted);

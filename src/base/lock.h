/* base/lock.h - mutexes, condition variables, once. No lock is held across I/O, a callback or a wait. */
#pragma once

#include <pthread.h>

typedef pthread_mutex_t nl_mutex;
#define NL_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
static inline void nl_mutex_init(nl_mutex *mutex)
{
    pthread_mutex_init(mutex, NULL);
}
static inline void nl_mutex_fini(nl_mutex *mutex)
{
    pthread_mutex_destroy(mutex);
}
static inline void nl_mutex_lock(nl_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}
static inline void nl_mutex_unlock(nl_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

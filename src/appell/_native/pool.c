#define _GNU_SOURCE
#include "pool.h"

enum { MOST = 256 };

/* ---- threads of the operating system ------------------------------------------------------------------------------ */

#ifdef _WIN32
#include <process.h>
#include <windows.h>

typedef SRWLOCK mutex;
typedef CONDITION_VARIABLE condition;
#define MUTEX SRWLOCK_INIT
#define CONDITION CONDITION_VARIABLE_INIT
#define lock(m) AcquireSRWLockExclusive(m)
#define try_lock(m) TryAcquireSRWLockExclusive(m)
#define unlock(m) ReleaseSRWLockExclusive(m)
#define wait_for(c, m) SleepConditionVariableSRW(c, m, INFINITE, 0)
#define wake_one(c) WakeConditionVariable(c)
#define wake_all(c) WakeAllConditionVariable(c)
#define on_fork(child) 1
typedef void thread_result;
#define NO_RESULT

static int start_thread(thread_result (*function)(void *), void *argument)
{
    return _beginthread(function, 0, argument) != (uintptr_t)-1;
}

int appell_cores(void)
{
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return (int)system.dwNumberOfProcessors;
}
#else
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

typedef pthread_mutex_t mutex;
typedef pthread_cond_t condition;
#define MUTEX PTHREAD_MUTEX_INITIALIZER
#define CONDITION PTHREAD_COND_INITIALIZER
#define lock(m) pthread_mutex_lock(m)
#define try_lock(m) (pthread_mutex_trylock(m) == 0)
#define unlock(m) pthread_mutex_unlock(m)
#define wait_for(c, m) pthread_cond_wait(c, m)
#define wake_one(c) pthread_cond_signal(c)
#define wake_all(c) pthread_cond_broadcast(c)
#define on_fork(child) (pthread_atfork(NULL, NULL, child) == 0)
typedef void *thread_result;
#define NO_RESULT NULL

static int start_thread(thread_result (*function)(void *), void *argument)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, function, argument) == 0 && pthread_detach(thread) == 0;
}

int appell_cores(void)
{
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}
#endif

/* ---- the pool ------------------------------------------------------------------------------------------------------ */

static struct {
    mutex user;  /* held by the caller whose batch is running */
    mutex guard; /* of what follows */
    condition begin, end;
    int started, wanted, running;
    unsigned long round;

    appell_piece piece;
    const void *job;
    ptrdiff_t n, grain, next;
    int status;
} pool = {.user = MUTEX, .guard = MUTEX, .begin = CONDITION, .end = CONDITION};

/* Computes portions until there are no more; the guard is held before and after. */
static void take_portions(void)
{
    while (pool.next < pool.n) {
        const ptrdiff_t first = pool.next, last = pool.n - first < pool.grain ? pool.n : first + pool.grain;
        pool.next = last;
        unlock(&pool.guard);
        const int status = pool.piece(pool.job, first, last);
        lock(&pool.guard);
        pool.status |= status;
    }
}

static thread_result worker(void *number)
{
    const int own = (int)(ptrdiff_t)number;
    unsigned long seen = 0;
    lock(&pool.guard);
    for (;;) {
        while (pool.round == seen) wait_for(&pool.begin, &pool.guard);
        seen = pool.round;
        if (own >= pool.wanted) continue;
        take_portions();
        if (--pool.running == 0) wake_one(&pool.end);
    }
    return NO_RESULT;
}

#ifndef _WIN32
/* Threads do not survive a fork: the child starts its own. */
static void forget(void)
{
    pthread_mutex_init(&pool.user, NULL);
    pthread_mutex_init(&pool.guard, NULL);
    pthread_cond_init(&pool.begin, NULL);
    pthread_cond_init(&pool.end, NULL);
    pool.started = 0;
    pool.round = 0;
}
#endif

static void start(int helpers)
{
    static int registered;
    if (!registered) registered = on_fork(forget);
    while (pool.started < helpers && start_thread(worker, (void *)(ptrdiff_t)pool.started)) pool.started++;
}

int appell_split(appell_piece piece, const void *job, ptrdiff_t n, ptrdiff_t grain, int threads)
{
    const ptrdiff_t portions = (n + grain - 1) / grain;
    int helpers = (portions < threads ? (int)portions : threads) - 1;
    if (helpers > MOST) helpers = MOST;
    if (helpers < 1 || !try_lock(&pool.user)) return piece(job, 0, n);
    lock(&pool.guard);
    start(helpers);
    pool.piece = piece;
    pool.job = job;
    pool.n = n;
    pool.grain = grain;
    pool.next = 0;
    pool.status = 0;
    pool.wanted = pool.running = helpers < pool.started ? helpers : pool.started;
    pool.round++;
    wake_all(&pool.begin);
    take_portions();
    while (pool.running) wait_for(&pool.end, &pool.guard);
    const int status = pool.status;
    unlock(&pool.guard);
    unlock(&pool.user);
    return status;
}

#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST = 256 };

static struct {
    pthread_mutex_t user;  /* held by the caller whose batch is running */
    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t begin, end;
    int started, wanted, running;
    unsigned long round;

    appell_piece piece;
    const void *job;
    ptrdiff_t n, grain;
    atomic_ptrdiff_t next;
    atomic_int status;
} pool = {
    .user = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
    .begin = PTHREAD_COND_INITIALIZER, .end = PTHREAD_COND_INITIALIZER,
};

int appell_cores(void)
{
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}

static void take_portions(void)
{
    for (;;) {
        const ptrdiff_t first = atomic_fetch_add(&pool.next, pool.grain);
        if (first >= pool.n) return;
        const ptrdiff_t last = pool.n - first < pool.grain ? pool.n : first + pool.grain;
        atomic_fetch_or(&pool.status, pool.piece(pool.job, first, last));
    }
}

static void *worker(void *number)
{
    const int own = (int)(ptrdiff_t)number;
    unsigned long seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.round == seen) pthread_cond_wait(&pool.begin, &pool.lock);
        seen = pool.round;
        if (own >= pool.wanted) continue;
        pthread_mutex_unlock(&pool.lock);
        take_portions();
        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0) pthread_cond_signal(&pool.end);
    }
    return NULL;
}

/* Threads do not survive a fork: the child starts its own. */
static void forget(void)
{
    pthread_mutex_init(&pool.user, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.begin, NULL);
    pthread_cond_init(&pool.end, NULL);
    pool.started = 0;
    pool.round = 0;
}

static void start(int helpers)
{
    static int registered;
    if (!registered) registered = pthread_atfork(NULL, NULL, forget) == 0;
    while (pool.started < helpers) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker, (void *)(ptrdiff_t)pool.started)) return;
        pthread_detach(thread);
        pool.started++;
    }
}

int appell_split(appell_piece piece, const void *job, ptrdiff_t n, ptrdiff_t grain, int threads)
{
    const ptrdiff_t portions = (n + grain - 1) / grain;
    int helpers = (portions < threads ? (int)portions : threads) - 1;
    if (helpers > MOST) helpers = MOST;
    if (helpers < 1 || pthread_mutex_trylock(&pool.user)) return piece(job, 0, n);
    pthread_mutex_lock(&pool.lock);
    start(helpers);
    pool.piece = piece;
    pool.job = job;
    pool.n = n;
    pool.grain = grain;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.status, 0);
    pool.wanted = pool.running = helpers < pool.started ? helpers : pool.started;
    pool.round++;
    pthread_cond_broadcast(&pool.begin);
    pthread_mutex_unlock(&pool.lock);
    take_portions();
    pthread_mutex_lock(&pool.lock);
    while (pool.running) pthread_cond_wait(&pool.end, &pool.lock);
    const int status = atomic_load(&pool.status);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.user);
    return status;
}

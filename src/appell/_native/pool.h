/* A batch split over threads. Threads are started when first needed and then wait; one batch runs at a time, and a caller
   that finds them busy does its work alone. */
#ifndef APPELL_POOL_H
#define APPELL_POOL_H

#include <stddef.h>

/* The work on states first .. last - 1; returns bits that are collected over all portions. */
typedef int (*appell_piece)(const void *job, ptrdiff_t first, ptrdiff_t last);

/* Runs piece over n states in portions of `grain`, on at most `threads` threads. */
int appell_split(appell_piece piece, const void *job, ptrdiff_t n, ptrdiff_t grain, int threads);

/* Cores that this process may use. */
int appell_cores(void);

#endif

/* Impulses of contacts: see contact.c. */
#ifndef APPELL_CONTACT_H
#define APPELL_CONTACT_H
#include <stddef.h>

typedef struct {
    int first, size; /* rows: tangential ones (0, 1 or 2), then the normal one; a box has one row */
    int box;         /* |p| <= limit; otherwise a cone |p_t| <= limit p_n */
    double limit;
} contact_block;

typedef struct {
    double residual; /* m/s */
    int iterations;  /* sweeps and Newton steps */
    int newton;      /* Newton steps among them */
    int converged;
} contact_report;

/* Bytes of work memory for n rows. */
size_t contact_work(int n);

/* Solve w = G p + c, G (n, n) symmetric, from the given p; p and w are written. Where Newton's method does not reach the tolerance,
   a residual up to `acceptable` will do. `share`: redundant contacts share their load also where the given p is a solution. */
contact_report contact_solve(int n, const double *G, const double *c, int blocks, const contact_block *block, double *p, double *w,
    double tolerance, double acceptable, int most, int share, void *work);
#endif

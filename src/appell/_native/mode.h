/* Motion with contacts in known states: see mode.c. */
#ifndef APPELL_MODE_H
#define APPELL_MODE_H
#include <stddef.h>

#include "contact.h"

enum { MODE_OPEN, MODE_STICK, MODE_SLIP };

/* Lower Cholesky factor of the symmetric M (n, n), in place; 0 where M is not positive definite. */
int mode_factor(double *M, int n);

/* x = L^-1 x and x = L^-T x. */
void mode_forward(const double *L, int n, double *x);
void mode_backward(const double *L, int n, double *x);

/* Doubles of work memory for `rows` rows of nv entries. */
size_t mode_work(int rows, int nv);

/* Accelerations qdd = M^-1 (F + J^T f) with the forces f (rows) for which J qdd + bias = 0 in sticking blocks, and in the
   normal rows of slipping ones, whose friction is limit f_n d. z = L^-1 F on entry; qdd on return. */
int mode_accelerations(int nv, const double *L, double *z, int rows, const double *J, const double *bias, int blocks,
    const contact_block *block, const int *state, const double *d, double *f, double *work);
#endif

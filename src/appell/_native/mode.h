/* Motion with contacts in known states: see mode.c. */
#ifndef APPELL_MODE_H
#define APPELL_MODE_H
#include <stddef.h>

#include "contact.h"

enum { MODE_OPEN, MODE_STICK, MODE_SLIP };
enum { LEVELS = 4 }; /* of regularization */

/* Rows J of contacts and joints at one state of a robot. */
typedef struct {
    int nv, rows, blocks, equations; /* equations: of the last forces */
    const contact_block *block;
    double *T, *G, *free;            /* L^-1 J^T (nv, rows), J M^-1 J^T (rows, rows), accelerations without forces (rows) */
    double *D, *A, *x, *step, *filtered, *wanted; /* equations of the forces and their factors, by columns */
    int *order, *place, *owner, pitch; /* of equations: pivots, rows, and blocks that slip (or -1); entries of a column */
    int level;    /* of the regularization that is factored, LEVELS where none is needed */
    double alpha; /* of the last level that was needed */
} mode;

/* Lower Cholesky factor of the symmetric M (n, n), in place; 0 where M is not positive definite. */
int mode_factor(double *M, int n);

/* x = L^-1 x and x = L^-T x. */
void mode_forward(const double *L, int n, double *x);
void mode_backward(const double *L, int n, double *x);

/* Doubles of work memory for `rows` rows of nv entries. */
size_t mode_work(int rows, int nv);

/* The rows J (rows, nv) with dJ/dt v = bias, under generalized forces F with z = L^-1 F. */
void mode_rows(mode *m, const double *L, const double *z, int nv, int rows, const double *J, const double *bias, int blocks,
    const contact_block *block, double *work);

/* Forces f (rows) for which the accelerations of sticking blocks vanish, and those of the normal rows of slipping ones, whose
   friction is limit f_n d; where rows are dependent, those nearest to f on entry. */
void mode_forces(mode *m, const int *state, const double *d, double *f);

/* Add to forces f (rows) those with which the same rows keep their accelerations. */
void mode_react(mode *m, const double *d, double *f);

/* Accelerations with forces f: of a row, and of all coordinates, qdd (nv). */
double mode_acceleration(const mode *m, const double *f, int row);
void mode_accelerations(const mode *m, const double *L, const double *z, const double *f, double *qdd);
#endif

/* LU factors of A (m, m), columns of `pitch` entries, with pivots: loops run over contiguous memory. */
#ifndef APPELL_LU_H
#define APPELL_LU_H
#include <math.h>
#include <stddef.h>

/* Factors in place; the ratio of the smallest pivot to the largest, 0 where A is singular. */
static inline double lu_factor(double *A, int *order, int m, int pitch)
{
    double least = INFINITY, most = 0.0;
    for (int k = 0; k < m; k++) {
        double *restrict left = A + (size_t)k * pitch;
        int pivot = k;
        for (int i = k + 1; i < m; i++)
            if (fabs(left[i]) > fabs(left[pivot])) pivot = i;
        order[k] = pivot;
        const double size = fabs(left[pivot]);
        if (!(size > 0.0)) return 0.0;
        least = size < least ? size : least, most = size > most ? size : most;
        if (pivot != k)
            for (int j = 0; j < m; j++) {
                double *column = A + (size_t)j * pitch;
                const double held = column[k];
                column[k] = column[pivot], column[pivot] = held;
            }
        const double inverse = 1.0 / left[k];
        for (int i = k + 1; i < m; i++) left[i] *= inverse;
        for (int j = k + 1; j < m; j++) {
            double *restrict column = A + (size_t)j * pitch;
            const double f = column[k];
            if (f != 0.0)
                for (int i = k + 1; i < m; i++) column[i] -= f * left[i];
        }
    }
    return most > 0.0 ? least / most : 1.0;
}

/* x = A^-1 x from the factors. */
static inline void lu_substitute(const double *A, const int *order, int m, int pitch, double *restrict x)
{
    for (int k = 0; k < m; k++) {
        const double held = x[order[k]];
        x[order[k]] = x[k], x[k] = held;
    }
    for (int k = 0; k < m; k++) {
        const double *restrict column = A + (size_t)k * pitch, f = x[k];
        for (int i = k + 1; i < m; i++) x[i] -= f * column[i];
    }
    for (int k = m - 1; k >= 0; k--) {
        const double *restrict column = A + (size_t)k * pitch, f = x[k] / column[k];
        x[k] = f;
        for (int i = 0; i < k; i++) x[i] -= f * column[i];
    }
}

#endif

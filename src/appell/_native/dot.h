/* The scalar product, in four sums that do not wait for each other. */
#ifndef APPELL_DOT_H
#define APPELL_DOT_H

static inline double dot(const double *a, const double *b, int n)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    int k = 0;
    for (; k + 4 <= n; k += 4)
        for (int l = 0; l < 4; l++) sum[l] += a[k + l] * b[k + l];
    for (; k < n; k++) sum[0] += a[k] * b[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#endif

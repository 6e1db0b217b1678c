/* Motion with contacts in known states: every block of rows is open, sticks or slips in a known direction.

   The equations are linear: with the columns C of the forces (J of sticking rows; J_n + limit d J_t of slipping contacts) and
   the rows R that have no acceleration, R M^-1 C^T f = -(R M^-1 F + bias). Dependent rows share the load: iterated Tikhonov
   regularization converges to the solution of least norm. A strong one leaves little noise in the forces that have no effect,
   a weak one then removes what the strong one left of the accelerations. */
#include "mode.h"

#include <math.h>
#include <string.h>

static const double regularization[] = {1e-4, 1e-6, 1e-9}; /* parts of the largest diagonal entry */
#define DEPENDENT 1e-9 /* ratio of pivots below which rows are dependent */
#define ROUNDING 1e-14 /* residuals below this part of the right-hand side are left */
enum { ROUNDS = 20 };

int mode_factor(double *M, int n)
{
    for (int i = 0; i < n; i++) {
        double *row = M + (size_t)i * n;
        for (int j = 0; j <= i; j++) {
            const double *other = M + (size_t)j * n;
            double sum = row[j];
            for (int k = 0; k < j; k++) sum -= row[k] * other[k];
            if (j < i) row[j] = sum / other[j];
            else {
                if (!(sum > 0.0)) return 0;
                row[i] = sqrt(sum);
            }
        }
    }
    return 1;
}

void mode_forward(const double *L, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        const double *row = L + (size_t)i * n;
        double sum = x[i];
        for (int k = 0; k < i; k++) sum -= row[k] * x[k];
        x[i] = sum / row[i];
    }
}

void mode_backward(const double *L, int n, double *x)
{
    for (int i = n - 1; i >= 0; i--) {
        const double *row = L + (size_t)i * n;
        const double value = x[i] / row[i];
        x[i] = value;
        for (int k = 0; k < i; k++) x[k] -= value * row[k];
    }
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

size_t mode_work(int rows, int nv)
{
    return (size_t)rows * ((size_t)2 * nv + 2 * rows + 5);
}

/* LU factors of A (m, m) with pivots, in place; the ratio of the smallest pivot to the largest. */
static double lu(double *A, int *order, int m)
{
    double least = INFINITY, most = 0.0;
    for (int k = 0; k < m; k++) {
        int pivot = k;
        for (int i = k + 1; i < m; i++)
            if (fabs(A[(size_t)i * m + k]) > fabs(A[(size_t)pivot * m + k])) pivot = i;
        order[k] = pivot;
        const double size = fabs(A[(size_t)pivot * m + k]);
        if (!(size > 0.0)) return 0.0;
        least = fmin(least, size), most = fmax(most, size);
        double *row = A + (size_t)k * m;
        if (pivot != k)
            for (int j = 0; j < m; j++) {
                double *other = A + (size_t)pivot * m + j, held = row[j];
                row[j] = *other, *other = held;
            }
        for (int i = k + 1; i < m; i++) {
            double *target = A + (size_t)i * m;
            const double part = target[k] /= row[k];
            for (int j = k + 1; j < m; j++) target[j] -= part * row[j];
        }
    }
    return least / most;
}

static void lu_substitute(const double *A, const int *order, int m, double *x)
{
    for (int k = 0; k < m; k++) {
        const double held = x[order[k]];
        x[order[k]] = x[k], x[k] = held;
    }
    for (int i = 0; i < m; i++) x[i] -= dot(A + (size_t)i * m, x, i);
    for (int i = m - 1; i >= 0; i--)
        x[i] = (x[i] - dot(A + (size_t)i * m + i + 1, x + i + 1, m - i - 1)) / A[(size_t)i * m + i];
}

/* x of least norm with G x = b, G (m, m); A, step and order are work memory. */
static void least_norm(const double *G, const double *b, double *x, int m, double *A, double *step, int *order)
{
    const size_t bytes = (size_t)m * m * sizeof *A;
    double most = 0.0, largest = 0.0;
    memcpy(A, G, bytes);
    memcpy(x, b, (size_t)m * sizeof *x);
    if (lu(A, order, m) > DEPENDENT) {
        lu_substitute(A, order, m, x);
        return;
    }
    memset(x, 0, (size_t)m * sizeof *x);
    for (int i = 0; i < m; i++) most = fmax(most, fabs(G[(size_t)i * m + i])), largest = fmax(largest, fabs(b[i]));
    for (int level = 0; level < 3; level++) {
        memcpy(A, G, bytes);
        for (int i = 0; i < m; i++) A[(size_t)i * m + i] += regularization[level] * most;
        lu(A, order, m);
        double former = INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
            double left = 0.0;
            for (int i = 0; i < m; i++) left = fmax(left, fabs(step[i] = b[i] - dot(G + (size_t)i * m, x, m)));
            if (!(left < 0.5 * former) || left <= ROUNDING * largest) break;
            former = left;
            lu_substitute(A, order, m, step);
            for (int i = 0; i < m; i++) x[i] += step[i];
        }
    }
}

int mode_accelerations(int nv, const double *L, double *z, int rows, const double *J, const double *bias, int blocks,
    const contact_block *block, const int *state, const double *d, double *f, double *work)
{
    double *X = work, *Y = X + (size_t)rows * nv, *G = Y + (size_t)rows * nv, *A = G + (size_t)rows * rows;
    double *x = A + (size_t)rows * rows, *step = x + rows, *wanted = step + rows;
    int *order = (int *)(wanted + rows), *place = order + rows, m = 0;
    for (int k = 0; k < rows; k++) f[k] = 0.0;
    for (int b = 0; b < blocks; b++) {
        const int first = block[b].first, size = block[b].size;
        if (state[b] == MODE_OPEN) continue;
        if (state[b] == MODE_STICK) {
            for (int k = 0; k < size; k++, m++) {
                double *row = X + (size_t)m * nv;
                memcpy(row, J + (size_t)(first + k) * nv, (size_t)nv * sizeof *row);
                mode_forward(L, nv, row);
                memcpy(Y + (size_t)m * nv, row, (size_t)nv * sizeof *row);
                place[m] = first + k;
            }
            continue;
        }
        const int normal = first + size - 1;
        double *row = X + (size_t)m * nv, *column = Y + (size_t)m * nv;
        memcpy(row, J + (size_t)normal * nv, (size_t)nv * sizeof *row);
        memcpy(column, row, (size_t)nv * sizeof *row);
        for (int k = first; k < normal; k++)
            for (int i = 0; i < nv; i++) column[i] += block[b].limit * d[2 * b + k - first] * J[(size_t)k * nv + i];
        mode_forward(L, nv, row);
        mode_forward(L, nv, column);
        place[m++] = normal;
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) G[(size_t)i * m + j] = dot(X + (size_t)i * nv, Y + (size_t)j * nv, nv);
        wanted[i] = -dot(X + (size_t)i * nv, z, nv) - bias[place[i]];
    }
    if (m) least_norm(G, wanted, x, m, A, step, order);
    for (int i = 0; i < m; i++) {
        f[place[i]] = x[i];
        for (int k = 0; k < nv; k++) z[k] += x[i] * Y[(size_t)i * nv + k];
    }
    for (int b = 0; b < blocks; b++)
        for (int k = 0; state[b] == MODE_SLIP && k < block[b].size - 1; k++)
            f[block[b].first + k] = block[b].limit * f[block[b].first + block[b].size - 1] * d[2 * b + k];
    mode_backward(L, nv, z);
    return 1;
}

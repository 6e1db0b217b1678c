/* Motion with contacts in known states: every block of rows is open, sticks or slips in a known direction.

   The equations are linear: with the columns C of the forces (J of sticking rows; J_n + limit d J_t of slipping contacts) and
   the rows R that have no acceleration, R M^-1 C^T f = -(R M^-1 F + bias). All of them are entries of G = J M^-1 J^T. Where rows are dependent, iterated Tikhonov
   regularization converges to the solution nearest to given forces. A strong one leaves little noise in the forces that have no effect,
   a weak one then removes what the strong one left of the accelerations. A = G + alpha I is inverted twice, A^-1 G A^-1: accelerations
   that contradict each other by rounding, in directions that no force can change, would give large forces with A^-1 alone. */
#include "mode.h"

#include <math.h>
#include <string.h>

#include "dot.h"
#include "for_cpus.h"

static const double regularization[] = {1e-4, 1e-6, 1e-9}; /* parts of the largest diagonal entry */
#define DEPENDENT 1e-9 /* ratio of pivots, or inverse condition, below which rows are dependent */
#define ROUNDING 1e-14 /* residuals below this part of the right-hand side are left */
enum { ROUNDS = 20 };

int mode_factor(double *M, int n)
{
    for (int i = 0; i < n; i++) {
        double *row = M + (size_t)i * n;
        for (int j = 0; j <= i; j++) {
            const double *other = M + (size_t)j * n;
            const double sum = row[j] - dot(row, other, j);
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
        x[i] = (x[i] - dot(row, x, i)) / row[i];
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

FOR_CPUS double mode_lu(double *A, int *order, int m)
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
            double *restrict target = A + (size_t)i * m;
            const double part = target[k] /= row[k];
            for (int j = k + 1; j < m; j++) target[j] -= part * row[j];
        }
    }
    return least / most;
}

FOR_CPUS void mode_lu_substitute(const double *A, const int *order, int m, double *x)
{
    for (int k = 0; k < m; k++) {
        const double held = x[order[k]];
        x[order[k]] = x[k], x[k] = held;
    }
    for (int i = 0; i < m; i++) x[i] -= dot(A + (size_t)i * m, x, i);
    for (int i = m - 1; i >= 0; i--)
        x[i] = (x[i] - dot(A + (size_t)i * m + i + 1, x + i + 1, m - i - 1)) / A[(size_t)i * m + i];
}

/* Size of the inverse of a matrix from its LU factors, by the solution for one vector: pivots alone do not show that rows are
   dependent. */
static double inverse_size(const double *A, const int *order, int m, double *x)
{
    double size = 0.0;
    for (int i = 0; i < m; i++) x[i] = 1.0 + 0.5 * sin(13.0 * i);
    mode_lu_substitute(A, order, m, x);
    for (int i = 0; i < m; i++) size = fmax(size, fabs(x[i]));
    return size;
}

/* The x nearest to x on entry with G x = b, G (m, m); A, step, filtered and order are work memory. */
static void solve_nearest(const double *G, const double *b, double *x, int m, double *A, double *step, double *filtered, int *order)
{
    const size_t bytes = (size_t)m * m * sizeof *A;
    double most = 0.0, largest = 0.0;
    memcpy(A, G, bytes);
    for (int i = 0; i < m; i++) most = fmax(most, fabs(G[(size_t)i * m + i])), largest = fmax(largest, fabs(b[i]));
    if (mode_lu(A, order, m) > DEPENDENT && inverse_size(A, order, m, step) * most * DEPENDENT < 1.0) {
        memcpy(x, b, (size_t)m * sizeof *x);
        mode_lu_substitute(A, order, m, x);
        return;
    }
    for (int level = 0; level < 3; level++) {
        memcpy(A, G, bytes);
        for (int i = 0; i < m; i++) A[(size_t)i * m + i] += regularization[level] * most;
        mode_lu(A, order, m);
        double former = INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
            double left = 0.0;
            for (int i = 0; i < m; i++) left = fmax(left, fabs(step[i] = b[i] - dot(G + (size_t)i * m, x, m)));
            if (!(left < 0.5 * former) || left <= ROUNDING * largest) break;
            former = left;
            mode_lu_substitute(A, order, m, step);
            for (int i = 0; i < m; i++) filtered[i] = dot(G + (size_t)i * m, step, m);
            mode_lu_substitute(A, order, m, filtered);
            for (int i = 0; i < m; i++) x[i] += filtered[i];
        }
    }
}

size_t mode_work(int rows, int nv)
{
    return (size_t)rows * ((size_t)nv + 3 * rows + 7);
}

static void add_scaled(double *restrict y, const double *restrict x, double factor, int n)
{
    for (int k = 0; k < n; k++) y[k] += factor * x[k];
}

FOR_CPUS void mode_rows(mode *m, const double *L, const double *z, int nv, int rows, const double *J, const double *bias, int blocks,
    const contact_block *block, double *work)
{
    const size_t n = (size_t)rows;
    *m = (mode){.nv = nv, .rows = rows, .blocks = blocks, .block = block, .T = work};
    m->G = m->T + n * nv, m->D = m->G + n * n, m->A = m->D + n * n, m->free = m->A + n * n;
    m->x = m->free + n, m->step = m->x + n, m->filtered = m->step + n, m->wanted = m->filtered + n;
    m->order = (int *)(m->wanted + n), m->place = m->order + n, m->owner = m->place + n;
    memcpy(m->free, bias, n * sizeof *bias);
    memset(m->G, 0, n * n * sizeof *m->G);
    for (int k = 0; k < nv; k++) {
        double *row = m->T + k * n;
        for (int r = 0; r < rows; r++) row[r] = J[(size_t)r * nv + k];
        for (int i = 0; i < k; i++)
            if (L[(size_t)k * nv + i] != 0.0) add_scaled(row, m->T + i * n, -L[(size_t)k * nv + i], rows);
        for (int r = 0; r < rows; r++) row[r] /= L[(size_t)k * nv + k];
        add_scaled(m->free, row, z[k], rows);
        for (int r = 0; r < rows; r++)
            if (row[r] != 0.0) add_scaled(m->G + r * n, row, row[r], rows);
    }
}

/* Forces x of the equations as forces of rows, added to f. */
static void add_forces(const mode *m, const double *d, const double *x, double *f)
{
    for (int i = 0; i < m->equations; i++) {
        const int b = m->owner[i];
        f[m->place[i]] += x[i];
        for (int k = 0; b >= 0 && k < m->block[b].size - 1; k++) f[m->block[b].first + k] += m->block[b].limit * d[2 * b + k] * x[i];
    }
}

FOR_CPUS void mode_forces(mode *m, const int *state, const double *d, double *f)
{
    int count = 0;
    for (int b = 0; b < m->blocks; b++) {
        const int first = m->block[b].first, last = first + m->block[b].size - 1;
        if (state[b] == MODE_OPEN) continue;
        for (int k = state[b] == MODE_STICK ? first : last; k <= last; k++)
            m->place[count] = k, m->owner[count++] = state[b] == MODE_SLIP ? b : -1;
    }
    m->equations = count;
    for (int i = 0; i < count; i++) {
        const double *row = m->G + (size_t)m->place[i] * m->rows;
        double *out = m->D + (size_t)i * count;
        for (int j = 0; j < count; j++) {
            const int b = m->owner[j];
            out[j] = row[m->place[j]];
            for (int k = 0; b >= 0 && k < m->block[b].size - 1; k++)
                out[j] += m->block[b].limit * d[2 * b + k] * row[m->block[b].first + k];
        }
        m->wanted[i] = -m->free[m->place[i]];
        m->x[i] = f[m->place[i]];
    }
    if (count) solve_nearest(m->D, m->wanted, m->x, count, m->A, m->step, m->filtered, m->order);
    memset(f, 0, (size_t)m->rows * sizeof *f);
    add_forces(m, d, m->x, f);
}

FOR_CPUS void mode_react(const mode *m, const double *d, double *f)
{
    if (!m->equations) return;
    for (int i = 0; i < m->equations; i++) m->step[i] = -dot(m->G + (size_t)m->place[i] * m->rows, f, m->rows);
    mode_lu_substitute(m->A, m->order, m->equations, m->step);
    add_forces(m, d, m->step, f);
}

double mode_acceleration(const mode *m, const double *f, int row)
{
    return m->free[row] + dot(m->G + (size_t)row * m->rows, f, m->rows);
}

void mode_accelerations(const mode *m, const double *L, const double *z, const double *f, double *qdd)
{
    for (int k = 0; k < m->nv; k++) qdd[k] = z[k] + dot(m->T + (size_t)k * m->rows, f, m->rows);
    mode_backward(L, m->nv, qdd);
}

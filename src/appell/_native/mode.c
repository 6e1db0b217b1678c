/* Motion with contacts in known states: every block of rows is open, sticks or slips in a known direction.

   The equations are linear: with the columns C of the forces (J of sticking rows; J_n + limit d J_t of slipping contacts) and
   the rows R that have no acceleration, D f = R M^-1 C^T f = -(R M^-1 F + bias), made of entries of G = J M^-1 J^T. Where rows are
   dependent, iterated Tikhonov regularization converges to the solution nearest to given forces. A strong one leaves little noise in
   the forces that have no effect, a weak one then removes what the strong one left of the accelerations. Accelerations that contradict
   each other by rounding, in directions that no force can change, give large forces by the inverse of A = D + alpha I alone: the filter
   A^-1 D takes these away, and acts twice, as rounding errors of large forces are such directions, too. */
#include "mode.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "dot.h"
#include "for_cpus.h"
#include "lu.h"

static const double regularization[LEVELS] = {1e-4, 1e-6, 1e-8, 1e-10}; /* parts of the largest diagonal entry */
#define DEPENDENT 1e-9 /* ratio of pivots, or inverse condition, below which rows are dependent */
#define ROUNDING 1e-14 /* residuals below this part of the right-hand side are left */
enum { LANES = 8, ROUNDS = 20, FILTERS = 2 };

/* The larger number, without the call of fmax. */
static inline double larger(double a, double b)
{
    return a < b ? b : a;
}

static inline double largest_entry(const double *x, int count)
{
    double size = 0.0;
    for (int i = 0; i < count; i++) size = larger(size, fabs(x[i]));
    return size;
}

FOR_VECTORS int mode_factor(double *M, int n)
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

FOR_VECTORS void mode_forward(const double *L, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        const double *row = L + (size_t)i * n;
        x[i] = (x[i] - dot(row, x, i)) / row[i];
    }
}

FOR_VECTORS void mode_backward(const double *L, int n, double *x)
{
    for (int i = n - 1; i >= 0; i--) {
        const double *row = L + (size_t)i * n;
        const double value = x[i] / row[i];
        x[i] = value;
        for (int k = 0; k < i; k++) x[k] -= value * row[k];
    }
}

/* Columns of matrices of equations have a multiple of LANES entries and begin at lines of the cache: no vector lies in two. */
static int padded(int count)
{
    return (count + LANES - 1) / LANES * LANES;
}

/* y = A x with m columns of `pitch` entries. */
LOCAL void multiply(const double *restrict A, int m, int pitch, const double *restrict x, double *restrict y)
{
    memset(y, 0, (size_t)pitch * sizeof *y);
    int j = 0;
    for (; j + 4 <= m; j += 4) {
        const double *restrict a = A + (size_t)j * pitch, *restrict b = a + pitch, *restrict c = b + pitch, *restrict d = c + pitch;
        for (int i = 0; i < pitch; i++) y[i] += (a[i] * x[j] + b[i] * x[j + 1]) + (c[i] * x[j + 2] + d[i] * x[j + 3]);
    }
    for (; j < m; j++)
        for (int i = 0; i < pitch; i++) y[i] += A[(size_t)j * pitch + i] * x[j];
}

/* The factors of A = D + alpha I; the ratio of its pivots. */
LOCAL double factor(mode *m, double alpha)
{
    memcpy(m->A, m->D, (size_t)m->equations * m->pitch * sizeof *m->A);
    for (int i = 0; i < m->equations; i++) m->A[(size_t)i * m->pitch + i] += alpha;
    return lu_factor(m->A, m->order, m->equations, m->pitch);
}

LOCAL void substitute(const mode *m, double *x)
{
    lu_substitute(m->A, m->order, m->equations, m->pitch, x);
}

/* Size of the inverse of the factored matrix, by the solution for one vector: pivots alone do not show that rows are dependent. */
static double inverse_size(mode *m)
{
    for (int i = 0; i < m->equations; i++) m->step[i] = 1.0 + 0.5 * sin(13.0 * i);
    substitute(m, m->step);
    return largest_entry(m->step, m->equations);
}

/* What is left of the equations, into `step`; its largest entry. */
LOCAL double find_residual(mode *m)
{
    multiply(m->D, m->equations, m->pitch, m->x, m->step);
    for (int i = 0; i < m->equations; i++) m->step[i] = m->wanted[i] - m->step[i];
    return largest_entry(m->step, m->equations);
}

/* The x nearest to x on entry with D x = wanted. */
static void solve_nearest(mode *m)
{
    const int count = m->equations, pitch = m->pitch;
    double most = 0.0;
    const double largest = largest_entry(m->wanted, count);
    for (int i = 0; i < count; i++) most = larger(most, fabs(m->D[(size_t)i * pitch + i]));
    if (factor(m, 0.0) > DEPENDENT && inverse_size(m) * most * DEPENDENT < 1.0) {
        m->level = LEVELS;
        memcpy(m->x, m->wanted, (size_t)count * sizeof *m->x);
        substitute(m, m->x);
        return;
    }
    m->level = -1;
    for (int level = 0; level < LEVELS; level++) {
        double former = INFINITY;
        m->alpha = regularization[level] * most;
        for (int round = 0; round < ROUNDS; round++) {
            const double left = find_residual(m);
            if (!(left < 0.5 * former) || left <= ROUNDING * largest) break;
            former = left;
            if (m->level != level) factor(m, m->alpha), m->level = level;
            substitute(m, m->step);
            for (int k = 0; k < FILTERS; k++) {
                multiply(m->D, count, pitch, m->step, m->filtered);
                memcpy(m->step, m->filtered, (size_t)count * sizeof *m->step);
                substitute(m, m->step);
            }
            for (int i = 0; i < count; i++) m->x[i] += m->step[i];
        }
    }
}

size_t mode_work(int rows, int nv)
{
    return (size_t)rows * ((size_t)nv + rows + 3) + (size_t)padded(rows) * (2 * (size_t)rows + 4) + LANES;
}

static void add_scaled(double *restrict y, const double *restrict x, double factor, int n)
{
    for (int k = 0; k < n; k++) y[k] += factor * x[k];
}

FOR_VECTORS void mode_rows(mode *m, const double *L, const double *z, int nv, int rows, const double *J, const double *bias, int blocks,
    const contact_block *block, double *work)
{
    const size_t n = (size_t)rows, pitch = (size_t)padded(rows);
    const size_t line = LANES * sizeof *work;
    *m = (mode){.nv = nv, .rows = rows, .blocks = blocks, .block = block};
    m->D = (double *)(((uintptr_t)work + line - 1) / line * line), m->A = m->D + n * pitch, m->x = m->A + n * pitch;
    m->step = m->x + pitch, m->filtered = m->step + pitch, m->wanted = m->filtered + pitch, m->T = m->wanted + pitch;
    m->G = m->T + n * nv, m->free = m->G + n * n, m->order = (int *)(m->free + n), m->place = m->order + n, m->owner = m->place + n;
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

FOR_VECTORS void mode_forces(mode *m, const int *state, const double *d, double *f)
{
    int count = 0;
    for (int b = 0; b < m->blocks; b++) {
        const int first = m->block[b].first, last = first + m->block[b].size - 1;
        if (state[b] == MODE_OPEN) continue;
        for (int k = state[b] == MODE_STICK ? first : last; k <= last; k++)
            m->place[count] = k, m->owner[count++] = state[b] == MODE_SLIP ? b : -1;
    }
    m->equations = count, m->pitch = padded(count);
    for (int j = 0; j < count; j++) { /* column j: the response of all rows to force j; G is symmetric */
        const int b = m->owner[j];
        const double *row = m->G + (size_t)m->place[j] * m->rows;
        double *out = m->D + (size_t)j * m->pitch;
        for (int i = 0; i < count; i++) out[i] = row[m->place[i]];
        for (int i = count; i < m->pitch; i++) out[i] = 0.0;
        for (int k = 0; b >= 0 && k < m->block[b].size - 1; k++) {
            const double part = m->block[b].limit * d[2 * b + k], *across = m->G + (size_t)(m->block[b].first + k) * m->rows;
            for (int i = 0; i < count; i++) out[i] += part * across[m->place[i]];
        }
        m->wanted[j] = -m->free[m->place[j]];
        m->x[j] = f[m->place[j]];
    }
    if (count) solve_nearest(m);
    memset(f, 0, (size_t)m->rows * sizeof *f);
    add_forces(m, d, m->x, f);
}

FOR_VECTORS void mode_react(mode *m, const double *d, double *f)
{
    if (!m->equations) return;
    if (m->level < LEVELS - 1) factor(m, m->alpha), m->level = LEVELS - 1;
    for (int i = 0; i < m->equations; i++) m->step[i] = -dot(m->G + (size_t)m->place[i] * m->rows, f, m->rows);
    substitute(m, m->step);
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

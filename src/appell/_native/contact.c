/* Impulses of contacts with Coulomb friction, joint limits, joint friction and bilateral constraints, in one solve.

   w = G p + c, with the Delassus matrix G = J M^-1 J^T, symmetric and positive semidefinite. Per block of rows:

   cone   tangential rows (0, 1 or 2), then the normal one: p_n >= 0, w_n >= 0, p_n w_n = 0, |p_t| <= mu p_n, and
          w_t = -s p_t with s >= 0 where |p_t| = mu p_n; w_t = 0 inside of the cone.
   box    one row: |p| <= b; w = 0 inside, w <= 0 at p = b, w >= 0 at p = -b. b = inf is a bilateral constraint.

   1. A few sweeps of projected Gauss-Seidel find which contacts are open, stick or slip.
   2. Newton's method solves the equations of these states and updates them (after Alart and Curnier 1991), in 3 unknowns for a
      sticking contact, 2 (p_n and the direction of p_t) for a slipping one, none for an open one. Redundant contacts share their
      load: iterated Tikhonov regularization converges to the solution of least norm.
   3. Where that fails, Newton steps towards the nearest solution, cut where the first contact leaves its cone; its state
      changes then (an active-set method). This ends where equations of sticking contacts contradict each other.
   4. Where that fails, Lemke's method finds contacts that carry all load, with the states and directions of slip of now: rigid bodies
      on more points than they have degrees of freedom cannot meet the velocities of all. The others are left out of 1 to 3.
   5. Where that fails, 1 to 3 with more steps, then the proximal point method: problems with G + eps, from large to small eps, and 4 again.
   6. Where that fails, iterations of ADMM, with Newton steps every now and then.
   docs/theory/contact.md has the equations, docs/decisions/0021-contact.md the measurements. */
#include "contact.h"

#include <math.h>
#include <string.h>

#include "for_cpus.h"
#include "lu.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

enum { UNKNOWN = -1, OPEN, STICK, SLIP }; /* states of blocks; of a box: at -b, inside, at b */
enum { ENTRY, NORMAL, DIRECTION };        /* unknowns: an entry of p; p_n and the turn of p_t of a slipping contact */
enum { SWEEPS = 6, NEWTON_STEPS = 5, CLIPPED_STEPS = 12, ADMM_STEPS = 100, REFINEMENTS = 20, PROXIMAL_STEPS = 40, LEMKE_ROUNDS = 6 };
#define ROUNDING 1e-16 /* of p, part of the residual: impulses that hide the velocities are no solution */
#define REGULARIZATION 1e-9 /* part of the mean diagonal */
#define LARGEST_PROXIMAL 0.1 /* parts of the mean diagonal */
#define LEAST_PROXIMAL 1e-12
#define PROXIMAL_FACTOR 0.1
#define LEMKE_REGULARIZATION 1e-12 /* parts of the mean diagonal, in turn: small ones follow the law, large ones end at other contacts */
#define LARGE_REGULARIZATION 1e-8

typedef struct {
    int n, blocks;
    const double *G, *c;
    const contact_block *block;
    double *p, *w, scale, tolerance, least; /* least: residual of `best` */
    double *best, *A, *x, *line, *weight, *origin, *former, *base, *y, *z, *F, rho; /* work arrays */
    double (*d)[2]; /* directions of slip, per block */
    int *state, *forced, *order, *kind, *owner, *admm_order, *basic, *nonbasic; /* the last two: of Lemke's tableau */
    int *left_out, clipped; /* blocks without impulse for now; clipped: the last step was to the nearest solution */
} Problem;

enum { VECTORS = 13, INT_VECTORS = 10, MATRICES = 2 }; /* of length n, (n, n); F has two rows more, nonbasic is twice as long */

size_t contact_work(int n)
{
    const size_t m = (size_t)n;
    return (MATRICES * m * m + VECTORS * m) * sizeof(double) + INT_VECTORS * m * sizeof(int);
}

INLINE void add_row(double *restrict y, const double *restrict row, double factor, int n)
{
    for (int k = 0; k < n; k++) y[k] += factor * row[k];
}

INLINE const double *row_of(const Problem *s, int k)
{
    return s->G + (size_t)k * s->n;
}

/* The diagonal entry, for scaling: not zero. */
INLINE double diagonal(const Problem *s, int k)
{
    const double entry = s->G[(size_t)k * s->n + k];
    return entry > 0.0 ? entry : s->scale;
}

/* The nearest impulse of a block, in place. */
INLINE void project(const contact_block *block, double *p)
{
    const double limit = block->limit;
    if (block->box) {
        *p = *p > limit ? limit : *p < -limit ? -limit : *p;
        return;
    }
    double *normal = p + block->size - 1, square = 0.0;
    for (double *t = p; t < normal; t++) square += *t * *t;
    const double length = sqrt(square);
    if (length <= limit * *normal && *normal >= 0.0) return;
    const double along = (limit * length + *normal) / (1.0 + limit * limit);
    const double size = along > 0.0 ? along : 0.0, factor = length > 0.0 ? limit * size / length : 0.0;
    for (double *t = p; t < normal; t++) *t *= factor;
    *normal = size;
}

/* w = G p + c. */
LOCAL void find_velocities(const Problem *s)
{
    memcpy(s->w, s->c, (size_t)s->n * sizeof *s->w);
    for (int k = 0; k < s->n; k++)
        if (s->p[k] != 0.0) add_row(s->w, row_of(s, k), s->p[k], s->n);
}

INLINE void start_from(const Problem *s, const double *p)
{
    if (p != s->p) memcpy(s->p, p, (size_t)s->n * sizeof *p);
    for (int b = 0; b < s->blocks; b++) project(s->block + b, s->p + s->block[b].first);
    find_velocities(s);
}

/* Largest entry of p - P(p - (w + s)/g), times g; s adds mu |w_t| to the normal velocity (De Saxce), g is the mean of G's
   diagonal over all cones, of a box its own entry. [m/s] */
INLINE double residual_of(const Problem *s)
{
    double most = 0.0;
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        if (s->left_out[b]) continue;
        const double *p = s->p + block->first, *w = s->w + block->first;
        const int last = block->size - 1;
        const double scale = block->box ? diagonal(s, block->first) : s->scale;
        double z[3], square = 0.0;
        for (int k = 0; k <= last; k++) z[k] = p[k] - w[k] / scale;
        for (int k = 0; k < last; k++) square += w[k] * w[k];
        if (last) z[last] -= block->limit * sqrt(square) / scale;
        project(block, z);
        for (int k = 0; k <= last; k++) {
            const double entry = (fabs(p[k] - z[k]) + ROUNDING * fabs(p[k])) * scale;
            if (most == most && !(entry <= most)) most = entry; /* NaN stays */
        }
    }
    return most;
}

/* Remember p if its residual is the least so far; whether it is well within the tolerance. */
INLINE int keep_best(Problem *s)
{
    const double now = residual_of(s);
    if (now < s->least) {
        s->least = now;
        memcpy(s->best, s->p, (size_t)s->n * sizeof *s->p);
    }
    return s->least <= 0.5 * s->tolerance; /* p is projected at the end */
}

/* One sweep of projected Gauss-Seidel; w = G p + c is kept. */
LOCAL void sweep(const Problem *s)
{
    const int n = s->n;
    double *p = s->p, *w = s->w;
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        if (s->left_out[b]) continue;
        const int first = block->first, last = first + block->size - 1;
        const double low = block->box ? -block->limit : 0.0, high = block->box ? block->limit : INFINITY;
        double normal = p[last] - w[last] / diagonal(s, last);
        normal = normal < low ? low : normal > high ? high : normal;
        if (normal != p[last]) {
            add_row(w, row_of(s, last), normal - p[last], n);
            p[last] = normal;
        }
        if (first == last) continue;
        double most = diagonal(s, first), t[2], square = 0.0;
        if (last - first == 2) { /* the largest eigenvalue of the tangential part */
            const double e = diagonal(s, first + 1), o = row_of(s, first)[first + 1], h = 0.5 * (most - e);
            most = 0.5 * (most + e) + sqrt(h * h + o * o);
        }
        for (int k = first; k < last; k++) {
            t[k - first] = p[k] - w[k] / most;
            square += t[k - first] * t[k - first];
        }
        const double bound = block->limit * p[last], factor = square > bound * bound ? bound / sqrt(square) : 1.0;
        for (int k = first; k < last; k++) {
            const double change = factor * t[k - first] - p[k];
            if (change != 0.0) add_row(w, row_of(s, k), change, n);
            p[k] += change;
        }
    }
}

/* States and directions of slip at p and w. */
INLINE void find_states(const Problem *s)
{
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        const int first = block->first, last = first + block->size - 1;
        const double z = s->p[last] - s->w[last] / diagonal(s, last);
        int state = STICK;
        if (block->box) state = z >= block->limit ? SLIP : z <= -block->limit ? OPEN : STICK;
        else if (z <= 0.0 || s->left_out[b]) state = OPEN;
        if (s->forced[b] != UNKNOWN) state = s->forced[b];
        if (!block->box && last > first) {
            double size = 0.0, square = 0.0, *d = s->d[b];
            for (int k = first; k < last; k++) size += diagonal(s, k) / (last - first);
            for (int k = first; k < last; k++) {
                d[k - first] = s->p[k] - s->w[k] / size;
                square += d[k - first] * d[k - first];
            }
            const double length = sqrt(square);
            if (state != OPEN && length > block->limit * z) state = SLIP;
            for (int k = 0; k < last - first; k++) d[k] = length > 0.0 ? d[k] / length : k == 0;
        }
        s->state[b] = state, s->forced[b] = UNKNOWN;
    }
}

/* No contact has a state that the end of a step gives it. */
INLINE void release_states(const Problem *s)
{
    for (int b = 0; b < s->blocks; b++) s->forced[b] = UNKNOWN;
}

/* The unknowns of the states; returns how many. */
INLINE int list_unknowns(const Problem *s)
{
    int m = 0;
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        if (s->state[b] == STICK)
            for (int k = 0; k < block->size; k++) s->kind[m] = ENTRY, s->owner[m++] = block->first + k;
        else if (s->state[b] == SLIP && !block->box) {
            s->kind[m] = NORMAL, s->owner[m++] = b;
            if (block->size == 3) s->kind[m] = DIRECTION, s->owner[m++] = b;
        }
    }
    return m;
}

/* The entry of E^T v that belongs to unknown i. */
INLINE double equation(const Problem *s, int i, const double *v)
{
    if (s->kind[i] == ENTRY) return v[s->owner[i]];
    const contact_block *block = s->block + s->owner[i];
    const double *d = s->d[s->owner[i]];
    return s->kind[i] == NORMAL ? v[block->first + block->size - 1] : d[0] * v[block->first + 1] - d[1] * v[block->first];
}

/* G times the impulse of unknown i: one row of G, or a combination in `line`. */
INLINE const double *response(const Problem *s, int i)
{
    if (s->kind[i] == ENTRY) return row_of(s, s->owner[i]);
    const contact_block *block = s->block + s->owner[i];
    const double *d = s->d[s->owner[i]];
    const int n = s->n, last = block->first + block->size - 1;
    if (s->kind[i] == NORMAL) {
        if (block->limit == 0.0) return row_of(s, last);
        memcpy(s->line, row_of(s, last), (size_t)n * sizeof *s->line);
        for (int k = block->first; k < last; k++) add_row(s->line, row_of(s, k), block->limit * d[k - block->first], n);
    } else {
        memset(s->line, 0, (size_t)n * sizeof *s->line);
        add_row(s->line, row_of(s, block->first), -d[1], n);
        add_row(s->line, row_of(s, block->first + 1), d[0], n);
    }
    return s->line;
}

/* The part of the step from `former` to p on which sticking contacts stay in their cones, boxes in their bounds, and no
   contact pulls. The one that ends it changes its state in the next step. */
INLINE void clip(const Problem *s)
{
    double part = 1.0;
    int blocking = -1, next = UNKNOWN;
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        const int first = block->first, last = first + block->size - 1;
        const double p = s->former[last], v = s->p[last] - p;
        double end = 1.0;
        if (block->box) {
            if (fabs(p + v) <= block->limit || v == 0.0) continue;
            end = (copysign(block->limit, v) - p) / v;
            if (end < part) part = end, blocking = b, next = v > 0.0 ? SLIP : OPEN;
            continue;
        }
        if (s->state[b] == OPEN) continue;
        if (p + v < 0.0 && p > 0.0 && -p / v < part) part = -p / v, blocking = b, next = OPEN;
        if (s->state[b] != STICK || first == last) continue;
        const double square = block->limit * block->limit;
        double a = -square * v * v, h = -square * p * v, e = -square * p * p; /* a f^2 + 2 h f + e = 0 on the cone */
        for (int k = first; k < last; k++) {
            const double q = s->former[k], u = s->p[k] - q;
            a += u * u, h += q * u, e += q * q;
        }
        const double root = h * h - a * e;
        if (a + 2.0 * h + e <= 0.0 || root < 0.0) continue;
        end = h > 0.0 ? -e / (h + sqrt(root)) : (sqrt(root) - h) / a;
        if (end >= 0.0 && end < part) part = end, blocking = b, next = SLIP;
    }
    if (blocking < 0) return;
    s->forced[blocking] = next;
    if (part < 0.0) part = 0.0;
    for (int k = 0; k < s->n; k++) s->p[k] = s->former[k] + part * (s->p[k] - s->former[k]);
}

/* p of the unknowns x; `linear`: that of slipping contacts along their tangent. */
INLINE void set_impulses(const Problem *s, int linear)
{
    const double *x = s->x;
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        const int last = block->size - 1;
        double *p = s->p + block->first, *d = s->d[b];
        if (s->state[b] == STICK)
            for (int k = 0; k <= last; k++) p[k] = *x++;
        else if (block->box) p[0] = s->state[b] == SLIP ? block->limit : -block->limit;
        else if (s->state[b] == OPEN) memset(p, 0, (size_t)block->size * sizeof *p);
        else {
            const double before = block->limit * p[last];
            p[last] = *x++;
            for (int k = 0; k < last; k++) p[k] = block->limit * p[last] * d[k];
            if (last == 2) {
                const double across = before > 0.0 ? *x * (linear ? 1.0 : p[last] * block->limit / before) : 0.0;
                p[0] -= across * d[1], p[1] += across * d[0], x++;
            }
        }
    }
}

/* Impulses of slipping contacts back to their cones, in their direction. */
INLINE void return_to_cones(const Problem *s)
{
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        const int last = block->size - 1;
        if (s->state[b] != SLIP || block->box) continue;
        double *p = s->p + block->first, square = 0.0;
        for (int k = 0; k < last; k++) square += p[k] * p[k];
        const double factor = p[last] > 0.0 && square > 0.0 ? block->limit * p[last] / sqrt(square) : 0.0;
        for (int k = 0; k < last; k++) p[k] *= factor;
    }
}

/* One Newton step from p and w, whose states are known: towards the solution of least norm, or the one nearest to p with the
   step cut at the cones; 0 where the equations are singular. */
LOCAL int newton(Problem *s, int nearest)
{
    const int n = s->n, m = list_unknowns(s);
    double *x = s->x, *fixed = s->former, *correction = s->line;
    memcpy(fixed, s->c, (size_t)n * sizeof *fixed);
    for (int b = 0; b < s->blocks; b++)
        if (s->block[b].box && s->state[b] != STICK)
            add_row(fixed, row_of(s, s->block[b].first), s->state[b] == SLIP ? s->block[b].limit : -s->block[b].limit, n);
    for (int j = 0; j < m; j++) {
        const double *v = response(s, j);
        double *restrict column = s->A + (size_t)j * m;
        for (int i = 0; i < m; i++) column[i] = equation(s, i, v);
        x[j] = -equation(s, j, fixed);
        const contact_block *block = s->block + (s->kind[j] == ENTRY ? 0 : s->owner[j]);
        const int last = s->kind[j] == ENTRY ? s->owner[j] : block->first + block->size - 1;
        const double size = s->kind[j] == NORMAL ? diagonal(s, last) : column[j] > 0.0 ? column[j] : s->scale;
        s->origin[j] = nearest && s->kind[j] != DIRECTION ? s->p[last] : 0.0;
        s->weight[j] = REGULARIZATION * s->scale; /* the same for all: the norm of p */
        x[j] += s->weight[j] * s->origin[j];
        column[j] += s->weight[j];
        if (s->kind[j] == DIRECTION) { /* of a turn of p_t, which turns the equation as well */
            const double speed = -(s->d[s->owner[j]][0] * s->w[last - 2] + s->d[s->owner[j]][1] * s->w[last - 1]);
            const double force = block->limit * s->p[last], most = 1e12 * size;
            if (speed > 0.0) column[j] += speed < most * force ? speed / force : most;
        }
    }
    if (!(lu_factor(s->A, s->order, m, m) > 0.0)) return 0;
    lu_substitute(s->A, s->order, m, m, x);
    for (int i = 0; i < m; i++) correction[i] = x[i] - s->origin[i];
    double before = INFINITY;
    for (int round = 0; round < REFINEMENTS; round++) {
        double most = 0.0;
        for (int i = 0; i < m; i++) {
            correction[i] *= s->weight[i];
            if (fabs(correction[i]) > most) most = fabs(correction[i]);
        }
        if (!(most > 1e-3 * s->tolerance)) break;
        if (most > 0.5 * before && most > 0.1 * s->tolerance) { /* the equations contradict each other: the impulses grow without end */
            nearest = 1;
            break;
        }
        before = most;
        lu_substitute(s->A, s->order, m, m, correction);
        for (int i = 0; i < m; i++) x[i] += correction[i];
    }
    memcpy(s->former, s->p, (size_t)n * sizeof *x);
    set_impulses(s, nearest);
    s->clipped = nearest;
    if (nearest) clip(s);
    return_to_cones(s);
    find_velocities(s);
    return 1;
}

/* Newton steps from p; whether they end within the tolerance. */
INLINE int newton_steps(Problem *s, int steps, int nearest, contact_report *report, int most)
{
    release_states(s);
    for (int k = 0; k < steps && report->iterations < most; k++) {
        find_states(s);
        report->iterations++, report->newton++;
        if (!newton(s, nearest)) return 0;
        if (keep_best(s)) return 1;
    }
    return 0;
}

/* The states with most unknowns that the velocities allow: whatever does not move sticks. Whether any differs from before. */
INLINE int widen_states(const Problem *s)
{
    int changed = 0;
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        const double *w = s->w + block->first, normal = w[block->size - 1];
        double square = 0.0;
        for (int k = 0; k + 1 < block->size; k++) square += w[k] * w[k];
        int state = sqrt(square) <= s->tolerance ? STICK : SLIP;
        if (block->box) state = fabs(normal) <= s->tolerance ? STICK : normal < 0.0 ? SLIP : OPEN;
        else if (normal > s->tolerance) state = OPEN;
        changed |= state != s->state[b];
        s->state[b] = state;
    }
    return changed;
}

/* The solution of least norm among those of the same velocities, if it obeys the law. */
INLINE void share_loads(Problem *s, contact_report *report)
{
    start_from(s, s->best);
    if (report->newton && !widen_states(s) && !s->clipped) return;
    release_states(s);
    find_states(s); /* for the directions of slip */
    widen_states(s);
    report->newton++, report->iterations++;
    if (newton(s, 0)) {
        start_from(s, s->p);
        if (residual_of(s) <= s->tolerance) memcpy(s->best, s->p, (size_t)s->n * sizeof *s->p);
    }
}

/* Sweeps and Newton steps from p, then once more with more of both; whether they end within the tolerance. Rounds from `round` to `end`. */
INLINE int iterate(Problem *s, int sweeps, int round, int end, contact_report *report, int most)
{
    for (; round < end && report->iterations < most; round++) {
        for (int k = 0; k < (round ? 2 * SWEEPS : sweeps) && report->iterations < most; k++, report->iterations++) sweep(s);
        if (keep_best(s) || newton_steps(s, NEWTON_STEPS, 0, report, most)) return 1;
        start_from(s, s->best);
        if (newton_steps(s, CLIPPED_STEPS + (round ? 3 * s->blocks : 0), 1, report, most)) return 1;
        start_from(s, s->best);
    }
    return 0;
}

/* Proximal point method: solutions of (G + eps) p = eps p_before - c under the same law, eps from large, where they are unique and
   Newton's method finds them, to small. Whether p ends within the tolerance. */
LOCAL int proximal(Problem *s, contact_report *report, int most)
{
    const int n = s->n;
    Problem near = *s;
    near.G = s->F, near.c = s->z, near.best = s->y, near.tolerance = 0.1 * s->tolerance;
    double part = LARGEST_PROXIMAL, factor = PROXIMAL_FACTOR;
    memset(s->p, 0, (size_t)n * sizeof *s->p);
    for (int round = 0; round < PROXIMAL_STEPS && report->iterations < most; round++) {
        memcpy(s->base, s->p, (size_t)n * sizeof *s->p), memcpy(s->y, s->p, (size_t)n * sizeof *s->p);
        memcpy(s->F, s->G, (size_t)n * n * sizeof *s->F);
        for (int k = 0; k < n; k++) s->F[(size_t)k * n + k] += part * s->scale, s->z[k] = s->c[k] - part * s->scale * s->base[k];
        near.least = INFINITY;
        find_velocities(&near);
        const int found = iterate(&near, round ? 0 : SWEEPS, 0, 2, report, most);
        start_from(s, near.best);
        if (keep_best(s)) return 1;
        if (!found) {
            factor = sqrt(factor), part = fmin(part / (factor * factor), LARGEST_PROXIMAL);
            start_from(s, s->base);
        } else part = fmax(part * factor, LEAST_PROXIMAL);
    }
    return 0;
}

/* Exchange basic variable r and nonbasic variable c of a tableau (rows, columns), whose last column is constant. */
INLINE void pivot(double *T, int rows, int columns, int r, int c)
{
    double *restrict row = T + (size_t)r * columns;
    const double inverse = 1.0 / row[c];
    for (int k = 0; k < columns; k++) row[k] *= -inverse;
    row[c] = inverse;
    for (int i = 0; i < rows; i++) {
        double *restrict other = T + (size_t)i * columns, f = other[c];
        if (i == r || f == 0.0) continue;
        other[c] = 0.0;
        for (int k = 0; k < columns; k++) other[k] += f * row[k];
    }
}

/* Lemke's method: x >= 0, y = A x + b >= 0, x y = 0 for unknowns i >= free; y = 0 for those below, which are pivoted first.
   T is (m, m + 2): A, ones for the artificial variable, b. Variables are i (y), m + i (x) and 2 m; 0 where the path has no end. */
LOCAL int lemke(double *T, int m, int free, int *basic, int *nonbasic)
{
    const int columns = m + 2, artificial = 2 * m;
    for (int i = 0; i < m; i++) basic[i] = i, nonbasic[i] = m + i;
    nonbasic[m] = artificial;
    for (int i = 0; i < free; i++) {
        if (!(fabs(T[(size_t)i * columns + i]) > 0.0)) return 0;
        pivot(T, m, columns, i, i);
        basic[i] = m + i, nonbasic[i] = i;
    }
    int row = free, column = m;
    for (int i = free; i < m; i++)
        if (T[(size_t)i * columns + m + 1] < T[(size_t)row * columns + m + 1]) row = i;
    if (row >= m || !(T[(size_t)row * columns + m + 1] < 0.0)) return 1;
    for (int count = 0; count < 10 * m; count++) {
        const int leaves = basic[row], enters = leaves < m ? leaves + m : leaves - m;
        pivot(T, m, columns, row, column);
        basic[row] = nonbasic[column], nonbasic[column] = leaves;
        if (leaves == artificial) return 1;
        for (column = 0; column <= m && nonbasic[column] != enters; column++);
        double least = INFINITY, most = 0.0;
        for (int i = free; i < m; i++) most = fmax(most, fabs(T[(size_t)i * columns + column]));
        for (int i = free; i < m; i++) {
            const double slope = -T[(size_t)i * columns + column], value = T[(size_t)i * columns + m + 1];
            if (!(slope > 1e-11 * most)) continue;
            if (value < least * slope || (basic[i] == artificial && value <= least * slope)) least = value / slope, row = i;
        }
        if (!(least < INFINITY)) return 0;
    }
    return 0;
}

/* Impulses for the states and directions of slip at p and w, which Lemke's method gives; cones without impulse are left out. */
LOCAL int find_carriers(Problem *s, double regularization)
{
    const int n = s->n;
    int m = 0, free;
    find_states(s); /* with the state that the end of the last step has given a contact */
    memcpy(s->former, s->c, (size_t)n * sizeof *s->c);
    for (int b = 0; b < s->blocks; b++) { /* unknowns without bounds first */
        const contact_block *block = s->block + b;
        if (s->state[b] == STICK)
            for (int k = 0; k < block->size - !block->box; k++) s->kind[m] = ENTRY, s->owner[m++] = block->first + k;
        else if (block->box)
            add_row(s->former, row_of(s, block->first), s->state[b] == SLIP ? block->limit : -block->limit, n);
    }
    free = m;
    for (int b = 0; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        if (block->box) continue;
        s->kind[m] = s->state[b] == STICK ? ENTRY : NORMAL;
        s->owner[m++] = s->state[b] == STICK ? block->first + block->size - 1 : b;
        if (s->state[b] != OPEN || block->size == 1) continue;
        double square = 0.0;
        for (int k = 0; k + 1 < block->size; k++) square += s->w[block->first + k] * s->w[block->first + k];
        for (int k = 0; k + 1 < block->size; k++)
            s->d[b][k] = square > 0.0 ? -s->w[block->first + k] / sqrt(square) : k == 0;
    }
    for (int j = 0; j < m; j++) {
        const double *v = response(s, j);
        for (int i = 0; i < m; i++) s->F[(size_t)i * (m + 2) + j] = equation(s, i, v);
        s->F[(size_t)j * (m + 2) + j] += regularization * s->scale;
        s->F[(size_t)j * (m + 2) + m] = j >= free;
        s->F[(size_t)j * (m + 2) + m + 1] = equation(s, j, s->former);
    }
    if (!lemke(s->F, m, free, s->basic, s->nonbasic)) return 0;
    memset(s->x, 0, (size_t)m * sizeof *s->x);
    for (int i = 0; i < m; i++)
        if (s->basic[i] >= m && s->basic[i] < 2 * m) s->x[s->basic[i] - m] = s->F[(size_t)i * (m + 2) + m + 1];
    for (int b = 0; b < s->blocks; b++)
        if (s->block[b].box && s->state[b] != STICK) s->p[s->block[b].first] = s->state[b] == SLIP ? s->block[b].limit : -s->block[b].limit;
    for (int j = 0; j < free; j++) s->p[s->owner[j]] = s->x[j];
    for (int b = 0, j = free; b < s->blocks; b++) {
        const contact_block *block = s->block + b;
        double *p = s->p + block->first;
        if (block->box) continue;
        const double normal = p[block->size - 1] = s->x[j++];
        s->left_out[b] = !(normal > 0.0);
        for (int k = 0; k + 1 < block->size && (s->state[b] != STICK || s->left_out[b]); k++) p[k] = block->limit * normal * s->d[b][k];
    }
    return 1;
}

/* Solutions with the contacts that Lemke's method loads, from the best p, by rounds of `iterate` up to `end`; whether p ends within the
   tolerance. */
LOCAL int reduce(Problem *s, int rounds, int end, contact_report *report, int most)
{
    start_from(s, s->best);
    for (int round = 0; round < rounds && report->iterations < most; round++) {
        const int found = find_carriers(s, round % 3 == 2 ? LARGE_REGULARIZATION : LEMKE_REGULARIZATION);
        report->iterations++;
        if (found) {
            Problem few = *s;
            few.best = s->y, few.least = INFINITY;
            start_from(&few, s->p);
            iterate(&few, 1, 0, end, report, most);
        }
        memset(s->left_out, 0, (size_t)s->n * sizeof *s->left_out);
        if (!found) return 0;
        start_from(s, s->y);
        if (keep_best(s)) return 1;
    }
    return 0;
}

INLINE double block_weight(const Problem *s, const contact_block *block)
{
    double sum = 0.0;
    for (int k = 0; k < block->size; k++) sum += diagonal(s, block->first + k);
    return sum / block->size;
}

/* Factors of G + rho W; 0 where there are none, with rho = 0: ADMM begins anew. */
INLINE int prepare_admm(Problem *s)
{
    memcpy(s->F, s->G, (size_t)s->n * s->n * sizeof *s->F);
    for (int b = 0; b < s->blocks; b++)
        for (int k = s->block[b].first; k < s->block[b].first + s->block[b].size; k++)
            s->F[(size_t)k * s->n + k] += s->rho * block_weight(s, s->block + b);
    if (lu_factor(s->F, s->admm_order, s->n, s->n) > 0.0) return 1;
    s->rho = 0.0;
    return 0;
}

/* Iterations of ADMM on z and y, with penalties rho W; p becomes z. */
LOCAL void admm(Problem *s, int steps)
{
    const int n = s->n;
    double *x = s->x, *shift = s->line;
    if (s->rho == 0.0) {
        memcpy(s->z, s->best, (size_t)n * sizeof *x);
        memset(s->y, 0, (size_t)n * sizeof *x);
        s->rho = 1.0;
        if (!prepare_admm(s)) return;
    }
    double primal = 0.0, dual = 0.0;
    for (int step = 0; step < steps; step++) {
        for (int b = 0; b < s->blocks; b++) { /* De Saxce's shift at the velocities of before */
            const contact_block *block = s->block + b;
            const double weight = s->rho * block_weight(s, block);
            const int first = block->first, last = first + block->size - 1;
            double square = 0.0;
            for (int k = first; k <= last; k++) {
                shift[k] = 0.0;
                if (k < last) square += s->w[k] * s->w[k];
            }
            if (first < last) shift[last] = block->limit * sqrt(square);
            for (int k = first; k <= last; k++) x[k] = weight * s->z[k] - s->y[k] - s->c[k] - shift[k];
        }
        lu_substitute(s->F, s->admm_order, n, n, x);
        primal = dual = 0.0;
        for (int b = 0; b < s->blocks; b++) {
            const contact_block *block = s->block + b;
            const double weight = s->rho * block_weight(s, block);
            const int first = block->first;
            double z[3];
            for (int k = 0; k < block->size; k++) {
                const int i = first + k;
                s->w[i] = weight * (s->z[i] - x[i]) - s->y[i] - shift[i];
                z[k] = x[i] + s->y[i] / weight;
            }
            project(block, z);
            for (int k = 0; k < block->size; k++) {
                const int i = first + k;
                s->y[i] += weight * (x[i] - z[k]);
                primal = fmax(primal, fabs(x[i] - z[k]) * weight / s->rho);
                dual = fmax(dual, fabs(z[k] - s->z[i]) * weight);
                s->z[i] = z[k];
            }
        }
        const double change = primal > 5.0 * dual ? 2.0 : dual > 5.0 * primal ? 0.5 : 1.0;
        if (step % 10 == 9 && change != 1.0) {
            s->rho *= change;
            if (!prepare_admm(s)) break;
        }
    }
    start_from(s, s->z);
}

static void lay_out(Problem *s, void *work)
{
    const size_t n = (size_t)s->n;
    double *memory = work, **vectors[] = {&s->best, &s->x, &s->line, &s->weight, &s->origin, &s->former, &s->base, &s->y, &s->z};
    s->A = memory, s->F = s->A + n * n, memory = s->F + n * (n + 2);
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++, memory += n) *vectors[k] = memory;
    s->d = (double(*)[2])memory, memory += 2 * n;
    int *numbers = (int *)memory, **lists[] = {&s->state, &s->forced, &s->order, &s->kind, &s->owner, &s->admm_order, &s->left_out, &s->basic, &s->nonbasic};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++, numbers += n) *lists[k] = numbers;
    memset(s->left_out, 0, n * sizeof *s->left_out);
}

contact_report contact_solve(int n, const double *G, const double *c, int blocks, const contact_block *block, double *p, double *w,
    double tolerance, double acceptable, int most, int share, void *work)
{
    Problem given = {.n = n, .blocks = blocks, .G = G, .c = c, .block = block, .p = p, .w = w, .tolerance = tolerance}, *s = &given;
    contact_report report = {0};
    double trace = 0.0;
    lay_out(s, work);
    release_states(s);
    int rows = 0;
    for (int b = 0; b < blocks; b++)
        for (int k = block[b].first; !block[b].box && k < block[b].first + block[b].size; k++, rows++) trace += G[(size_t)k * n + k];
    s->scale = trace > 0.0 ? trace / rows : 1.0;
    start_from(s, p);
    memcpy(s->best, p, (size_t)n * sizeof *p);
    s->least = INFINITY;
    int done = keep_best(s), first = SWEEPS;
    for (int k = 0; k < n; k++)
        if (p[k] != 0.0) first = 1; /* a start is near the solution: its states are known */
    done = done || iterate(s, first, 0, 1, &report, most);
    const int rounds = s->least > acceptable ? 2 : 1;
    done = done || reduce(s, rounds, rounds, &report, most);
    if (!done && s->least > acceptable) start_from(s, s->best), done = iterate(s, first, 1, 2, &report, most);
    if (!done && s->least > acceptable) done = proximal(s, &report, report.iterations + most / 2);
    if (!done && s->least > acceptable) done = reduce(s, LEMKE_ROUNDS, 2, &report, most);
    start_from(s, s->best);
    while (!done && s->least > acceptable && report.iterations < most) {
        admm(s, ADMM_STEPS);
        report.iterations += ADMM_STEPS;
        done = keep_best(s) || newton_steps(s, CLIPPED_STEPS, 1, &report, most);
        if (!done) start_from(s, s->z);
    }
    if (done && (share || report.iterations)) share_loads(s, &report);
    start_from(s, s->best);
    report.residual = residual_of(s);
    report.converged = report.residual <= (acceptable > tolerance ? acceptable : tolerance);
    return report;
}

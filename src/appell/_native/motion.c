/* Motion of a robot between events: some contacts are closed and stick or slip, some joints stick (mode.c).

   Kernels, points, surfaces and joint limits are those of a `stepper`. Friction of a slipping contact acts against its slip,
   continued smoothly beyond a reversal, so that the equations of a mode are smooth wherever an integrator evaluates them.

   Where friction would turn the slip v within a time T = |v| / (mu f_n g) below look_ahead (g the Delassus entry across the
   slip), the equations are stiff: slip follows the direction in which the acceleration across it vanishes. There friction acts
   against the slip that is look_ahead - T later: at the angle x to the slip with |v| sin x = (look_ahead - T) a_x cos x, a_x the
   acceleration across it. Slip along a line, with a_x = 0, is not affected. */
#include "motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mode.h"

#define ANGLE_TOL 1e-12
enum { MOST_TURNS = 96, FULL_TURNS = 16 }; /* after each FULL_TURNS changes are halved */

static double dot(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static int make_room(motion *m)
{
    const int rows = m->s->rows + m->joints;
    if (rows <= m->capacity) return 1;
    free(m->f), free(m->work), free(m->states), free(m->d);
    m->f = malloc((size_t)(rows + 1) * sizeof(double));
    m->work = malloc((mode_work(rows, m->s->nv) + 1) * sizeof(double));
    m->states = malloc((size_t)(rows + 1) * sizeof(int));
    m->d = malloc((size_t)(2 * rows + 2) * sizeof(double));
    m->capacity = m->f && m->work && m->states && m->d ? rows : 0;
    return m->capacity == rows;
}

/* Tangential velocity of contact k along its two tangential rows, and its reference along them. */
static void slip_of(const motion *m, int k, const double *v, double *slip, double *reference)
{
    const stepper *s = m->s;
    const contact_block *block = s->block + k;
    double a[3], b[3];
    stepper_tangents(s->gap_next[m->index[k]].normal, a, b);
    for (int i = 0; i < 2; i++) slip[i] = dot(s->J + (size_t)(block->first + i) * s->nv, v, s->nv);
    reference[0] = dot(m->reference + 3 * k, a, 3), reference[1] = dot(m->reference + 3 * k, b, 3);
}

/* Direction of friction against the slip. */
static void friction_direction(motion *m, int k, const double *v)
{
    double slip[2], reference[2];
    slip_of(m, k, v, slip, reference);
    const double speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1]);
    const double sign = slip[0] * reference[0] + slip[1] * reference[1] < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < 2; i++) m->d[2 * k + i] = speed > m->slack[k] ? -sign * slip[i] / speed : -reference[i];
}

/* Accelerations for the directions of friction d, from z = L^-1 F. */
static void accelerate(motion *m)
{
    const stepper *s = m->s;
    memcpy(m->qdd, m->z, (size_t)s->nv * sizeof *m->qdd);
    mode_accelerations(s->nv, s->L, m->qdd, s->rows, s->J, m->bias, s->blocks, s->block, m->states, m->d, m->f, m->work);
}

/* Turn the friction of contacts with stiff slip, all together, by Newton's method with the slope of each alone. */
static void turn_friction(motion *m, const double *v)
{
    const stepper *s = m->s;
    const int nv = s->nv;
    double *row = m->z + nv; /* work */
    int pushes = 1; /* whether all slipping contacts do so with friction against the slip */
    for (int k = 0; k < m->contacts; k++) pushes &= m->states[k] != MODE_SLIP || m->f[s->block[k].first + 2] >= 0.0;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        double largest = 0.0;
        for (int k = 0; k < m->contacts; k++) {
            if (m->states[k] != MODE_SLIP) continue;
            double slip[2], reference[2];
            slip_of(m, k, v, slip, reference);
            const int first = s->block[k].first;
            const double mu = s->block[k].limit, normal = m->f[first + 2];
            double speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1]), e[2] = {reference[0], reference[1]};
            if (speed > m->slack[k]) {
                const double sign = slip[0] * reference[0] + slip[1] * reference[1] < 0.0 ? -1.0 : 1.0;
                e[0] = sign * slip[0] / speed, e[1] = sign * slip[1] / speed;
            }
            const double across[2] = {-e[1], e[0]};
            for (int i = 0; i < nv; i++)
                row[i] = across[0] * s->J[(size_t)first * nv + i] + across[1] * s->J[(size_t)(first + 1) * nv + i];
            const double a = dot(row, m->qdd, nv) + across[0] * m->bias[first] + across[1] * m->bias[first + 1];
            mode_forward(s->L, nv, row);
            const double push = mu * normal * dot(row, row, nv);
            if (!turn) m->ahead[k] = m->look_ahead - (push > 0.0 ? speed / push : INFINITY);
            const double time = m->ahead[k];
            if (!(time > 0.0)) continue;
            double *d = m->d + 2 * k;
            const double x = atan2(-(d[0] * across[0] + d[1] * across[1]), -(d[0] * e[0] + d[1] * e[1]));
            const double value = speed * sin(x) - time * a * cos(x);
            const double slope = (speed + time * fmax(push, 0.0)) * cos(x) + fabs(time * a * sin(x));
            double change = slope > 0.0 ? -value / slope / (1 << (turn / FULL_TURNS)) : 0.0;
            if (fabs(x + change) > 1.5) change = copysign(1.5, x + change) - x;
            d[0] = -(cos(x + change) * e[0] + sin(x + change) * across[0]);
            d[1] = -(cos(x + change) * e[1] + sin(x + change) * across[1]);
            largest = fmax(largest, fabs(change));
        }
        if (largest == 0.0) return;
        accelerate(m);
        int pulls = 0;
        for (int k = 0; k < m->contacts; k++) pulls |= m->states[k] == MODE_SLIP && m->f[s->block[k].first + 2] < 0.0;
        if (pulls && pushes) break;
        if (largest < ANGLE_TOL) return;
    }
    for (int k = 0; k < m->contacts; k++) /* no solution: against the slip */
        if (m->states[k] == MODE_SLIP) friction_direction(m, k, v);
    accelerate(m);
}

/* M and its factor L, gaps, and rows of contacts and sticking joints; 0 where something is not finite, -1 without memory. */
static int prepare(motion *m, const double *q, const double *v)
{
    stepper *s = m->s;
    const int nv = s->nv;
    if (!stepper_mass(s, q)) return 0;
    s->actives = m->contacts, s->rows = s->blocks = 0;
    memcpy(s->active, m->index, (size_t)m->contacts * sizeof *s->active);
    if (m->contacts && !stepper_gaps(s, q, v, s->gap_next)) return 0;
    if (!(m->bias = stepper_rows(s, s->gap_next)) || !make_room(m)) return -1;
    for (int k = 0; k < m->joints; k++) {
        double *row = s->J + (size_t)s->rows * nv;
        memset(row, 0, (size_t)nv * sizeof *row);
        row[m->joint[k]] = 1.0, m->bias[s->rows] = 0.0;
        s->block[s->blocks++] = (contact_block){s->rows++, 1, 1, INFINITY};
    }
    for (int k = 0; k < s->blocks; k++) {
        const int slips = k < m->contacts && s->block[k].size == 3 && m->state[k] == MODE_SLIP;
        m->states[k] = slips ? MODE_SLIP : MODE_STICK;
        m->d[2 * k] = m->d[2 * k + 1] = 0.0;
    }
    memcpy(s->L, s->M, (size_t)nv * nv * sizeof *s->L);
    return mode_factor(s->L, nv);
}

int motion_evaluate(motion *m, const double *q, const double *v, const double *tau)
{
    stepper *s = m->s;
    const int nv = s->nv, status = prepare(m, q, v);
    const void *in[2] = {q, v};
    if (status < 1) return status;
    if (s->bias.call(in, s->b, s->bias.work) || !(s->forces = stepper_forces(s, q, tau))) return 0;
    for (int k = 0; k < m->contacts; k++)
        if (m->states[k] == MODE_SLIP) friction_direction(m, k, v);
    for (int k = 0; k < nv; k++) m->z[k] = s->forces[k] - s->b[k] - stepper_damping(s, k, v) + m->friction[k];
    mode_forward(s->L, nv, m->z);
    accelerate(m);
    turn_friction(m, v);
    for (int k = 0; k < m->joints; k++) m->qdd[m->joint[k]] = 0.0;
    return 1;
}

int motion_project(motion *m, const double *q, double *v, double *gap)
{
    stepper *s = m->s;
    const int nv = s->nv, status = prepare(m, q, v);
    if (status < 1) return status;
    *gap = 0.0;
    for (int k = 0; k < m->contacts; k++) *gap = fmax(*gap, fabs(s->gap_next[m->index[k]].gap));
    memset(m->bias, 0, (size_t)s->rows * sizeof *m->bias);
    for (int i = 0; i < nv; i++) { /* L^-1 M v = L^T v */
        m->z[i] = 0.0;
        for (int k = i; k < nv; k++) m->z[i] += s->L[(size_t)k * nv + i] * v[k];
    }
    accelerate(m);
    for (int k = 0; k < m->joints; k++) m->qdd[m->joint[k]] = 0.0;
    memcpy(v, m->qdd, (size_t)nv * sizeof *v);
    return 1;
}

/* Rates of the coordinates at the velocities v of all joints. */
static void coordinate_rates(const stepper *s, const double *q, const double *v, double *rate)
{
    for (int k = 0; k < s->plain; k++) rate[s->entry[k][0]] = v[s->entry[k][1]];
    for (int k = 0; k < s->quasi; k++) {
        const double *x = q + s->joint[k][1], *u = v + s->joint[k][2];
        double *out = rate + s->joint[k][1];
        if (s->joint[k][0] == PLANAR) {
            const double c = cos(x[2]), sine = sin(x[2]);
            out[0] = c * u[0] - sine * u[1], out[1] = sine * u[0] + c * u[1], out[2] = u[2];
            continue;
        }
        const int floats = s->joint[k][0] == FLOATING;
        const double *r = x + (floats ? 3 : 0), *w = u + (floats ? 3 : 0);
        if (floats) { /* v turned by the quaternion r */
            const double t[3] = {2.0 * (r[1] * u[2] - r[2] * u[1]), 2.0 * (r[2] * u[0] - r[0] * u[2]), 2.0 * (r[0] * u[1] - r[1] * u[0])};
            out[0] = u[0] + r[3] * t[0] + r[1] * t[2] - r[2] * t[1];
            out[1] = u[1] + r[3] * t[1] + r[2] * t[0] - r[0] * t[2];
            out[2] = u[2] + r[3] * t[2] + r[0] * t[1] - r[1] * t[0];
            out += 3;
        }
        out[0] = 0.5 * (r[3] * w[0] + r[1] * w[2] - r[2] * w[1]);
        out[1] = 0.5 * (r[3] * w[1] + r[2] * w[0] - r[0] * w[2]);
        out[2] = 0.5 * (r[3] * w[2] + r[0] * w[1] - r[1] * w[0]);
        out[3] = -0.5 * dot(r, w, 3);
    }
}

int motion_rate(motion *m, const double *y, const double *tau, int works, double *rate)
{
    stepper *s = m->s;
    const double *v = y + s->nq;
    const int status = motion_evaluate(m, y, v, tau);
    if (status < 1) return status;
    const double *all = stepper_velocities(s, y, v);
    if (!all) return 0;
    coordinate_rates(s, y, all, rate);
    memcpy(rate + s->nq, m->qdd, (size_t)s->nv * sizeof *rate);
    if (!works) return 1;
    double *power = rate + s->nq + s->nv;
    power[0] = power[1] = power[2] = 0.0;
    for (int k = 0; k < s->nv; k++) power[0] += s->forces[k] * v[k], power[1] += (m->friction[k] - stepper_damping(s, k, v)) * v[k];
    const int rows = s->rows - m->joints;
    for (int i = 0; i < rows; i++) power[2] += m->f[i] * dot(s->J + (size_t)i * s->nv, v, s->nv);
    return 1;
}

void motion_margins(const motion *m, const double *v, double tolerance, double *forces, double *slip)
{
    const stepper *s = m->s;
    double least = INFINITY, largest = 1.0;
    *slip = INFINITY;
    for (int i = 0; i < s->rows; i++) largest = fmax(largest, fabs(m->f[i]));
    for (int k = 0; k < m->contacts; k++) {
        const contact_block *block = s->block + k;
        const double *f = m->f + block->first, normal = f[block->size - 1];
        least = fmin(least, normal);
        if (block->size < 3) continue;
        if (m->states[k] == MODE_STICK) least = fmin(least, block->limit * normal - sqrt(f[0] * f[0] + f[1] * f[1]));
        else {
            double velocity[2], reference[2];
            slip_of(m, k, v, velocity, reference);
            *slip = fmin(*slip, velocity[0] * reference[0] + velocity[1] * reference[1] + m->slack[k]);
        }
    }
    for (int k = 0; k < m->joints; k++)
        least = fmin(least, s->friction[m->joint[k]] - fabs(m->f[s->block[m->contacts + k].first]));
    *forces = least + tolerance * largest;
}

int motion_refer(motion *m, const double *q, const double *v)
{
    stepper *s = m->s;
    s->actives = m->contacts, s->rows = s->blocks = 0;
    memcpy(s->active, m->index, (size_t)m->contacts * sizeof *s->active);
    if (!stepper_gaps(s, q, v, s->gap_next) || !stepper_rows(s, s->gap_next)) return 0;
    for (int k = 0; k < m->contacts; k++) {
        if (s->block[k].size < 3 || m->state[k] != MODE_SLIP) continue;
        double slip[2], reference[2], a[3], b[3];
        slip_of(m, k, v, slip, reference);
        const double speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1]);
        if (speed <= m->slack[k] || slip[0] * reference[0] + slip[1] * reference[1] < 0.0) continue;
        stepper_tangents(s->gap_next[m->index[k]].normal, a, b);
        for (int i = 0; i < 3; i++) m->reference[3 * k + i] = (slip[0] * a[i] + slip[1] * b[i]) / speed;
    }
    return 1;
}

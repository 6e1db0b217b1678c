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

#include "dot.h"
#include "lu.h"
#include "mode.h"

#define ANGLE_TOL 1e-8 /* the last change of angles: what Newton's method leaves is its square */
#define ANGLE_NOISE 1e-6 /* largest change by rounding errors of dependent contacts */
#define MOST_PULL 0.1 /* part of the largest normal force that contacts pull: the mode has ended before */
#define LEAST_SPEED 1e-9 /* of slip [m/s]: slower ones are rounding errors */
#define LARGEST_ANGLE 1.5707 /* friction does not drive slip */
#define CLOSED_TOL 1e-8 /* part of the accelerations, or of 1 m/s^2, up to which a contact stays closed */
#define WIDE_ANGLE 1.3
#define FIRST_SHIFT 1.0 /* of slopes, as part of their size */
#define CLOSE_ERROR 1e-6 /* error of angles from which on Newton's method converges */
#define TURNED 0.866 /* cosine of the angle to its reference beyond which slow slip ends */
#define LEFT_REST 5.0 /* multiple of its slack beyond which slip has left its rest */
enum { MOST_TURNS = 24, MOST_CUTS = 5, MOST_STUCK = 8, MOST_STARTS = 4, MOST_FOLLOWED = 60 };

static int make_room(motion *m)
{
    const int rows = m->s->rows + m->joints;
    if (m->f && rows <= m->capacity) return 1;
    const size_t n = (size_t)m->contacts;
    free(m->f), free(m->near), free(m->work), free(m->states), free(m->loaded), free(m->d), free(m->turns);
    m->f = malloc((size_t)(rows + 1) * sizeof(double)), m->near = malloc((size_t)(rows + 1) * sizeof(double));
    m->work = malloc((mode_work(rows, m->s->nv) + 1) * sizeof(double));
    m->states = malloc((size_t)(rows + 1) * sizeof(int)), m->loaded = malloc((size_t)(rows + 1) * sizeof(int));
    m->d = malloc((size_t)(2 * rows + 2) * sizeof(double));
    m->turns = malloc((n * (n + 1) + (size_t)rows + 1) * sizeof(double));
    m->capacity = m->f && m->near && m->work && m->states && m->loaded && m->d && m->turns ? rows : -1;
    return m->capacity == rows;
}

/* Slip of contact k along its two tangential rows, and its reference along them. Slip that starts at rest is greater along its
   reference by its slack: it has a direction at once. */
static void slip_of(const motion *m, int k, const double *v, double *slip, double *reference)
{
    const stepper *s = m->s;
    const contact_block *block = s->block + k;
    double a[3], b[3];
    stepper_tangents(s->gap_next[m->index[k]].normal, a, b);
    reference[0] = dot(m->reference + 3 * k, a, 3), reference[1] = dot(m->reference + 3 * k, b, 3);
    for (int i = 0; i < 2; i++)
        slip[i] = dot(s->J + (size_t)(block->first + i) * s->nv, v, s->nv) + fmax(m->slack[k], 0.0) * reference[i];
}

/* Direction of friction against the slip. */
static void friction_direction(motion *m, int k, const double *v)
{
    double slip[2], reference[2];
    slip_of(m, k, v, slip, reference);
    const double speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1]);
    const double sign = slip[0] * reference[0] + slip[1] * reference[1] < 0.0 ? -1.0 : 1.0;
    for (int i = 0; i < 2; i++) m->d[2 * k + i] = speed > LEAST_SPEED ? -sign * slip[i] / speed : -reference[i];
}

/* Forces for the directions of friction d, of all contacts or of those that carry load. */
static void find_forces(motion *m, const int *states)
{
    memcpy(m->f, m->near, (size_t)m->s->rows * sizeof *m->f);
    mode_forces(&m->rows, states, m->d, m->f);
}

/* Whether contacts without load have no acceleration along their normals. */
static int stay_closed(const motion *m)
{
    for (int k = 0; k < m->contacts; k++) {
        const int normal = m->s->block[k].first + m->s->block[k].size - 1;
        const double a = m->loaded[k] == MODE_OPEN ? mode_acceleration(&m->rows, m->f, normal) : 0.0;
        if (!(fabs(a) <= CLOSED_TOL * fmax(1.0, fabs(m->rows.free[normal])))) return 0;
    }
    return 1;
}

/* Acceleration of contact k along a tangent with forces f, without those of other causes where `forces_only`. */
static double tangent_acceleration(const motion *m, int k, const double *t, const double *f, int forces_only)
{
    const int first = m->s->block[k].first;
    double sum = 0.0;
    for (int l = 0; l < 2; l++)
        sum += t[l] * (mode_acceleration(&m->rows, f, first + l) - (forces_only ? m->rows.free[first + l] : 0.0));
    return sum;
}

/* World direction of a tangential vector of contact k. */
static void in_world(const motion *m, int k, const double *t, double *out)
{
    double a[3], b[3];
    stepper_tangents(m->s->gap_next[m->index[k]].normal, a, b);
    for (int i = 0; i < 3; i++) out[i] = t[0] * a[i] + t[1] * b[i];
}

/* The angle of friction at the start of the step, from the slip here. */
static double start_angle(const motion *m, const stiff_slip *x)
{
    double along[3], across[3];
    const double *opposed = m->opposed + 3 * x->contact;
    in_world(m, x->contact, x->along, along), in_world(m, x->contact, x->across, across);
    return fmin(fmax(atan2(dot(across, opposed, 3), dot(along, opposed, 3)), -WIDE_ANGLE), WIDE_ANGLE);
}

/* List the contacts with stiff slip; returns how many. */
static int list_stiff(motion *m, const double *v)
{
    const stepper *s = m->s;
    int count = 0;
    for (int k = 0; k < m->contacts; k++) {
        if (m->loaded[k] != MODE_SLIP) continue;
        stiff_slip *x = m->stiff + count;
        const int first = s->block[k].first;
        x->contact = k, x->angle = x->change = 0.0;
        double slip[2], reference[2];
        slip_of(m, k, v, slip, reference);
        for (int i = 0; i < 2; i++) x->along[i] = -m->d[2 * k + i];
        x->speed = fmax(sqrt(slip[0] * slip[0] + slip[1] * slip[1]), LEAST_SPEED), x->across[0] = -x->along[1], x->across[1] = x->along[0];
        const double *G = m->rows.G + (size_t)first * s->rows + first, *t = x->across;
        const double g = t[0] * t[0] * G[0] + 2.0 * t[0] * t[1] * G[1] + t[1] * t[1] * G[s->rows + 1];
        const double push = s->block[k].limit * m->f[first + 2] * g;
        x->ahead = m->look_ahead - (push > 0.0 ? x->speed / push : INFINITY);
        if (!(x->ahead > 0.0)) continue;
        x->size = x->speed + x->ahead * push;
        x->angle = start_angle(m, x);
        count++;
    }
    return count;
}

/* Friction at the angles, part of a change added, its forces, and the sum of the squares of the errors of the angles. */
static double turn_by(motion *m, int count, double part, double part_ahead)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        const stiff_slip *x = m->stiff + i;
        const double angle = x->angle + part * x->change;
        for (int l = 0; l < 2; l++) m->d[2 * x->contact + l] = -(cos(angle) * x->along[l] + sin(angle) * x->across[l]);
    }
    find_forces(m, m->loaded);
    for (int i = 0; i < count; i++) {
        stiff_slip *x = m->stiff + i;
        const double angle = x->angle + part * x->change;
        const double a = tangent_acceleration(m, x->contact, x->across, m->f, 0);
        x->value = x->speed * sin(angle) - part_ahead * x->ahead * a * cos(angle);
        x->slope = x->speed * cos(angle) + part_ahead * x->ahead * a * sin(angle);
        sum += x->value * x->value / (x->size * x->size);
    }
    return sum;
}

/* Newton's changes of the angles, shortened by a shift of the slopes; the largest, NaN where there is none. */
static double find_changes(motion *m, int count, double part_ahead, double shift)
{
    const stepper *s = m->s;
    double *D = m->turns, *change = D + (size_t)count * count, *f = change + count, largest = 0.0;
    for (int j = 0; j < count; j++) {
        const stiff_slip *x = m->stiff + j;
        const contact_block *block = s->block + x->contact;
        memset(f, 0, (size_t)s->rows * sizeof *f); /* of a turn of friction, with the forces that follow */
        for (int l = 0; l < 2; l++)
            f[block->first + l] = block->limit * m->f[block->first + 2] * (sin(x->angle) * x->along[l] - cos(x->angle) * x->across[l]);
        mode_react(&m->rows, m->d, f);
        for (int i = 0; i < count; i++) {
            const stiff_slip *y = m->stiff + i;
            D[(size_t)j * count + i] = -part_ahead * y->ahead * cos(y->angle) * tangent_acceleration(m, y->contact, y->across, f, 1);
        }
        D[(size_t)j * count + j] += x->slope + shift * x->size;
        change[j] = -x->value;
    }
    if (!(lu_factor(D, m->order, count, count) > 0.0)) return NAN;
    lu_substitute(D, m->order, count, count, change);
    for (int i = 0; i < count; i++) {
        stiff_slip *x = m->stiff + i;
        const double next = x->angle + change[i];
        x->change = fabs(next) <= LARGEST_ANGLE ? change[i] : 0.9 * (copysign(LARGEST_ANGLE, next) - x->angle);
        if (!(fabs(change[i]) <= largest)) largest = fabs(change[i]);
    }
    return largest;
}

/* Smallest normal force, as part of the largest. */
static double least_normal(const motion *m)
{
    double least = INFINITY, largest = 0.0;
    for (int k = 0; k < m->contacts; k++) {
        const double normal = m->f[m->s->block[k].first + m->s->block[k].size - 1];
        least = fmin(least, normal), largest = fmax(largest, fabs(normal));
    }
    return largest > 0.0 ? least / largest : 0.0;
}

/* Whether the largest change of angles, or one that rounding errors do not let fall, is small. */
static int converged(double largest, double error, double next)
{
    return largest < ANGLE_TOL || (largest < ANGLE_NOISE && !(next < 0.1 * error));
}

/* Angles of friction that looks ahead for a part of its time, all together, by Newton's method; whether there are some. */
static int find_angles(motion *m, int count, double part_ahead, int patience)
{
    for (int i = 0; i < count; i++) m->stiff[i].change = 0.0;
    double error = turn_by(m, count, 0.0, part_ahead);
    for (int turn = 0, stuck = 0; turn < MOST_TURNS && stuck < patience; turn++) {
        const double largest = find_changes(m, count, part_ahead, 0.0);
        if (!(largest < INFINITY)) return 0;
        double part = 1.0, next = turn_by(m, count, part, part_ahead);
        for (int cut = 0; cut < MOST_CUTS && largest >= ANGLE_TOL && !(next < error); cut++)
            next = turn_by(m, count, part *= 0.5, part_ahead);
        for (int i = 0; i < count; i++) m->stiff[i].angle += part * m->stiff[i].change;
        if (converged(largest, error, next)) return 1;
        stuck += !(next < error);
        error = next;
    }
    return 0;
}

/* Angles at which slip that friction turns at once comes to rest: pseudo-transient continuation. */
static int follow_turn(motion *m, int count)
{
    double shift = FIRST_SHIFT, error = turn_by(m, count, 0.0, 1.0);
    for (int turn = 0; turn < MOST_FOLLOWED; turn++) {
        const double largest = find_changes(m, count, 1.0, shift);
        if (!(largest < INFINITY)) return 0;
        const double next = turn_by(m, count, 1.0, 1.0);
        for (int i = 0; i < count; i++) m->stiff[i].angle += m->stiff[i].change;
        if (shift == 0.0 && converged(largest, error, next)) return 1;
        shift = next < CLOSE_ERROR ? 0.0 : shift * fmin(fmax(sqrt(next / error), 0.1), 2.0);
        error = next;
    }
    return 0;
}

/* Angles far from those at the start of the step; whether there are some. */
static int search_angles(motion *m, int count)
{
    static const double parts[] = {0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0};
    for (int i = 0; i < count; i++) m->stiff[i].angle = m->stiff[i].change = 0.0;
    if (follow_turn(m, count)) return 1;
    for (int i = 0; i < count; i++) m->stiff[i].angle = 0.0;
    int found = 1; /* from no time ahead to all of it */
    for (size_t k = 0; found && k < sizeof parts / sizeof *parts; k++) found = find_angles(m, count, parts[k], MOST_STUCK);
    for (int i = 0; !found && i < count && i < MOST_STARTS; i++) { /* a branch that has ended: from a wide angle of one contact */
        m->stiff[i].angle = copysign(WIDE_ANGLE, m->stiff[i].angle);
        found = find_angles(m, count, 1.0, MOST_STUCK);
    }
    if (found) return 1;
    for (int i = 0; i < count; i++) m->stiff[i].angle = 0.0;
    return find_angles(m, count, 1.0, MOST_TURNS);
}

static uint64_t digest_more(uint64_t digest, const void *data, size_t count)
{
    uint64_t word;
    for (size_t k = 0; k < count; k++) {
        memcpy(&word, (const char *)data + k * sizeof word, sizeof word);
        digest = (digest ^ word) * 0x100000001b3u;
        digest ^= digest >> 29;
    }
    return digest;
}

/* A number for all that a search for angles depends on. */
static uint64_t problem_digest(const motion *m, int count)
{
    const size_t n = (size_t)m->s->rows;
    uint64_t digest = digest_more(digest_more(digest_more(n, m->rows.G, n * n), m->rows.free, n), m->near, n);
    for (int k = 0; k < m->s->blocks; k++) {
        digest = digest * 31 + (uint64_t)m->loaded[k];
        if (m->loaded[k] == MODE_SLIP) digest = digest_more(digest, m->d + 2 * k, 2);
    }
    for (int i = 0; i < count; i++) {
        const stiff_slip *x = m->stiff + i;
        const double numbers[] = {x->contact, x->along[0], x->along[1], x->speed, x->ahead, x->size};
        digest = digest_more(digest, numbers, 6);
    }
    return digest;
}

/* Whether the same search, one of the last, has found nothing: a robot that rests is met again and again. */
static int is_unsolved(const stepper *s, uint64_t problem)
{
    for (int k = 0; k < UNSOLVED; k++)
        if (s->unsolved[k] == problem) return 1;
    return 0;
}

/* Turn the friction of contacts with stiff slip. */
static void turn_friction(motion *m, const double *v)
{
    const int count = list_stiff(m, v), pushes = least_normal(m) >= 0.0;
    if (!count) return;
    int found = find_angles(m, count, 1.0, 2);
    if (!found) {
        const uint64_t problem = problem_digest(m, count);
        found = !is_unsolved(m->s, problem) && search_angles(m, count);
        if (!found) m->s->unsolved[m->s->next_unsolved++ % UNSOLVED] = problem;
    }
    if (found && !(pushes && least_normal(m) < -MOST_PULL)) return;
    for (int i = 0; i < count; i++) /* no solution, or Painleve's paradox: against the slip */
        for (int l = 0; l < 2; l++) m->d[2 * m->stiff[i].contact + l] = -m->stiff[i].along[l];
    find_forces(m, m->loaded);
}

/* The loads by rows. */
static void find_loads(motion *m)
{
    const stepper *s = m->s;
    for (int k = 0; k < s->blocks; k++) {
        const contact_block *block = s->block + k;
        const double *load = m->load + 3 * k;
        if (k >= m->contacts || m->index[k] >= s->surfaces * s->points) {
            m->near[block->first] = load[2];
            continue;
        }
        double t[2][3], *near = m->near + block->first;
        const double *n = s->gap_next[m->index[k]].normal;
        stepper_tangents(n, t[0], t[1]);
        for (int i = 0; i + 1 < block->size; i++) near[i] = dot(t[i], load, 3);
        near[block->size - 1] = dot(n, load, 3);
    }
}

/* M with the inertia that damping of later velocities adds, in place of M. */
static void add_damping(motion *m)
{
    stepper *s = m->s;
    const int nv = s->nv;
    for (int k = 0; k < nv; k++) s->M[(size_t)k * nv + k] += m->added[k];
    if (s->dampings.call)
        for (int k = 0; k < nv * nv; k++) s->M[k] += m->damping_time * s->D[k];
    else
        for (int k = 0; k < nv; k++) s->M[(size_t)k * nv + k] += m->damping_time * s->damping[k];
}

/* M, for accelerations with damping, and its factor L, gaps, and rows of contacts and sticking joints; 0 where something is not finite, -1 without memory. */
static int prepare(motion *m, const double *q, const double *v, int moves)
{
    stepper *s = m->s;
    const int nv = s->nv;
    if (!stepper_mass(s, q)) return 0;
    if (moves) add_damping(m);
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
        m->loaded[k] = k >= m->contacts || m->carries[k] ? m->states[k] : MODE_OPEN;
        m->d[2 * k] = m->d[2 * k + 1] = 0.0;
    }
    find_loads(m);
    memcpy(s->L, s->M, (size_t)nv * nv * sizeof *s->L);
    return mode_factor(s->L, nv);
}

int motion_evaluate(motion *m, const double *q, const double *v, const double *tau)
{
    stepper *s = m->s;
    const int nv = s->nv, status = prepare(m, q, v, 1);
    const void *in[2] = {q, v};
    if (status < 1) return status;
    if (s->bias.call(in, s->b, s->bias.work) || !(s->forces = stepper_forces(s, q, tau))) return 0;
    for (int k = 0; k < m->contacts; k++)
        if (m->states[k] == MODE_SLIP) friction_direction(m, k, v);
    for (int k = 0; k < nv; k++) m->z[k] = s->forces[k] - s->b[k] - stepper_damping(s, k, v) + m->friction[k];
    mode_forward(s->L, nv, m->z);
    mode_rows(&m->rows, s->L, m->z, nv, s->rows, s->J, m->bias, s->blocks, s->block, m->work);
    find_forces(m, m->loaded);
    turn_friction(m, v);
    mode_accelerations(&m->rows, s->L, m->z, m->f, m->qdd);
    for (int k = 0; k < m->joints; k++) m->qdd[m->joint[k]] = 0.0;
    return 1;
}

int motion_project(motion *m, const double *q, double *v, double gaps[2])
{
    stepper *s = m->s;
    const int nv = s->nv, status = prepare(m, q, v, 0);
    if (status < 1) return status;
    gaps[0] = gaps[1] = 0.0;
    for (int k = 0; k < m->contacts; k++) {
        const double gap = s->gap_next[m->index[k]].gap;
        gaps[0] = fmin(gaps[0], gap), gaps[1] = fmax(gaps[1], gap);
        if (!m->carries[k] && s->block[k].size == 3) m->states[k] = MODE_SLIP; /* without load there is no friction */
    }
    memset(m->bias, 0, (size_t)s->rows * sizeof *m->bias), memset(m->near, 0, (size_t)s->rows * sizeof *m->near);
    for (int i = 0; i < nv; i++) { /* L^-1 M v = L^T v */
        m->z[i] = 0.0;
        for (int k = i; k < nv; k++) m->z[i] += s->L[(size_t)k * nv + i] * v[k];
    }
    mode_rows(&m->rows, s->L, m->z, nv, s->rows, s->J, m->bias, s->blocks, s->block, m->work);
    find_forces(m, m->states);
    mode_accelerations(&m->rows, s->L, m->z, m->f, m->qdd);
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
    for (int k = 0; k < s->nv; k++) {
        power[0] += s->forces[k] * v[k];
        power[1] += (m->friction[k] - stepper_damping(s, k, v) - m->added[k] * m->qdd[k]) * v[k];
    }
    const int rows = s->rows - m->joints;
    for (int i = 0; i < rows; i++) power[2] += m->f[i] * dot(s->J + (size_t)i * s->nv, v, s->nv);
    return 1;
}

/* (M + h D) (v' - v) / h = forces at (q, v), q' = q + h dq/dt(q, v'). Work is that along (v + v') / 2: the kinetic energy changes
   by it, also where damping stops a light body within h. */
int motion_implicit_step(motion *m, double *y, const double *tau, int works, double h)
{
    stepper *s = m->s;
    double *v = y + s->nq, power[3] = {0.0, 0.0, 0.0};
    m->damping_time = h;
    const int status = motion_evaluate(m, y, v, tau);
    m->damping_time = 0.0;
    if (status < 1) return status;
    for (int k = 0; k < s->nv; k++) s->v_next[k] = v[k] + h * m->qdd[k], s->v_guess[k] = 0.5 * (v[k] + s->v_next[k]);
    for (int k = 0; works && k < s->nv; k++) {
        power[0] += s->forces[k] * s->v_guess[k];
        power[1] += (m->friction[k] - stepper_damping(s, k, s->v_next) - m->added[k] * m->qdd[k]) * s->v_guess[k];
    }
    for (int i = 0; works && i < s->rows - m->joints; i++) power[2] += m->f[i] * dot(s->J + (size_t)i * s->nv, s->v_guess, s->nv);
    for (int k = 0; works && k < 3; k++) v[s->nv + k] += h * power[k];
    const double *all = stepper_velocities(s, y, s->v_next);
    if (!all) return 0;
    coordinate_rates(s, y, all, s->q_mid);
    for (int k = 0; k < s->nq; k++) y[k] += h * s->q_mid[k];
    memcpy(v, s->v_next, (size_t)s->nv * sizeof *v);
    return 1;
}

/* Speed left until slip is against its reference, or is slow and has turned. */
static double slip_margin(double slack, const double *slip, const double *reference)
{
    const double along = slip[0] * reference[0] + slip[1] * reference[1], speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1]);
    return slack >= 0.0 ? along : fmin(along + LEAST_SPEED, fmax(along - TURNED * speed, speed + slack));
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
            *slip = fmin(*slip, slip_margin(m->slack[k], velocity, reference));
        }
    }
    for (int k = 0; k < m->joints; k++)
        least = fmin(least, s->friction[m->joint[k]] - fabs(m->f[s->block[m->contacts + k].first]));
    *forces = stay_closed(m) ? least + tolerance * largest : -largest;
}

int motion_refer(motion *m, const double *q, const double *v, const double *tau)
{
    stepper *s = m->s;
    const int status = motion_evaluate(m, q, v, tau);
    if (status < 1) return status;
    for (int k = 0; k < m->contacts; k++) {
        if (s->block[k].size < 3 || m->state[k] != MODE_SLIP) continue;
        double slip[2], reference[2];
        slip_of(m, k, v, slip, reference);
        const double speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1]), against[2] = {-m->d[2 * k], -m->d[2 * k + 1]};
        in_world(m, k, against, m->opposed + 3 * k);
        if (speed <= LEFT_REST * m->slack[k] || slip[0] * reference[0] + slip[1] * reference[1] < 0.0) continue;
        slip[0] /= speed, slip[1] /= speed;
        in_world(m, k, slip, m->reference + 3 * k);
        m->slack[k] = fmin(m->slack[k], -0.5 * m->slack[k]);
    }
    return 1;
}

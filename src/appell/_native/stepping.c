/* Time stepping of a robot with contacts, after Moreau and Jean, with impacts at their time.

   One step of length h, from q, v with the gaps g(q):

   (1)  q_m = q + h/2 v
   (2)  (M + h/2 D)(v' - v) = h (tau - b(q_m, (v + v')/2) - D v) + J^T p          M, J at q_m, damping D
   (3)  w = J v' + h/2 dJ/dt v + k min(g, 0)/h,   p in the cones of Coulomb and opposite to w (contact.c)
   (4)  q' = q_m + h/2 v'

   It is symmetric in time without contacts, and its energy error of order h^2. v' is then scaled so that the energy changes by the
   work of actuators, joints and contacts (a correction of order h^3; not where there is too little kinetic energy for it). (3) are the velocities
   of the contacts at the end of the step; only closed contacts (g <= depth), joint limits and joint friction have rows. A step
   that would take an open contact behind its surface ends where it touches. There, at the same instant,

   (5)  M (v+ - v-) = J^T p - h D' v+,   w_n = J_n v+ + e J_n v-,   w_t = J_t v+

   with all closed contacts, and the damping D' that stops joints within STOPPED_WITHIN. After MOST_CUTS such cuts, or so many
   impacts, of one step (an impact that the contact solver does not resolve changes nothing), the contacts that would be passed get rows in (3) with the whole gap, g/h, and (4) becomes q' = q + h v', in steps short enough for
   their depth: this always ends. The configuration space may have floating, spherical and planar joints; "+" is then along their
   twists. docs/theory/contact.md

   Of a robot with closed loops, v are independent velocities. Further kernels give the velocities G(q) v of all joints, the step
   of the dependent joints that closes the loops to first order, the matrix J_a with tau = J_a^T (forces of the actuators), and, if
   there is any, the matrix D. "+" is then the step along G v followed by Newton's method on the dependent joints; the motion
   kernel has a unit twist of every link for every entry of v, and behind them G v, dG/dt v and G by rows for joint limits. */
#include "stepping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dot.h"
#include "for_cpus.h"

#define DEPTH 1e-6         /* of `depth` where it is not set [m, rad] */
#define DEEP 0.3           /* depth that a step may reach at a contact that was open, as part of `depth` */
#define DEEPEST 0.9        /* the same of a closed contact above which a step is repeated with half its length */
#define SLOW 1e-3          /* approach velocity below which a closed contact needs no impact of its own [m/s, rad/s] */
#define SUNK 0.6           /* part of `depth` that is left as it is: pushing redundant contacts would make them contradict each other */
#define PUSH 0.5           /* part of the rest of the depth that is closed in a step */
#define APPROACH 0.3       /* part of its distance that an open contact with rows may come nearer in a step; more would make it ring */
#define GRAVITY 10.0       /* rebounds at less than this times h would end within two steps: they are left out [m/s^2] */
#define GUESS_TOL 1e-8     /* relative error of (v + v')/2 at which the iteration of a step ends */
#define MOST_CHANGE 1e-3   /* the same, above which the step is divided */
#define MOST_CORRECTION 1e-2 /* part of the kinetic energy up to which errors of either sign are corrected */
#define MOST_LOSS 1e-8     /* part of the energy, or of 1 J, that a step may lose beyond these corrections: it is divided */
#define LEAST 1e-4         /* part of a step that is not divided further to keep contacts from lifting the robot */
#define STOPPED_WITHIN 1e-5  /* light joints that damping stops in less time are not flung by impacts [s] */
#define ROUNDING 1e-13     /* of the energy, relative */
#define SMALLEST 1e-13     /* part of a step that is not worth a step of its own */
enum { SHARING = 16 }; /* steps after which redundant contacts share their loads anew: solutions start from those before */
#define FLAT 1e-3          /* tilt below which a circle touches a plane with more than a point of it [rad] */
#define LEAST_PLACE 1e-100 /* distance from the longer semi-axis of an ellipse from which on a point has one nearest point [m] */
enum { MOST_ELLIPSE_STEPS = 60 };
#define CLOSURE_STEP 1e-14 /* of the joints, at which loops are closed, and which is not an error [rad, m] */
#define CLOSURE_ERROR 1e-9
enum { MOST_CLOSURE_STEPS = 12 };
enum { MOST_CUTS = 40, MOST_LOCATIONS = 40, MOST_ITERATIONS = 8 };

/* ---- vectors ---------------------------------------------------------------------------------------------------- */

static inline double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Two unit vectors normal to n. */
static void tangents(const double *n, double *a, double *b)
{
    const int least = fabs(n[0]) <= fabs(n[1]) ? (fabs(n[0]) <= fabs(n[2]) ? 0 : 2) : fabs(n[1]) <= fabs(n[2]) ? 1 : 2;
    double e[3] = {0.0, 0.0, 0.0};
    e[least] = 1.0;
    cross(n, e, b);
    const double length = sqrt(dot3(b, b));
    for (int k = 0; k < 3; k++) b[k] /= length > 0.0 ? length : 1.0;
    cross(b, n, a);
}

/* ---- configurations --------------------------------------------------------------------------------------------- */

static void rotate(const double *quaternion, const double *v, double *out)
{
    double t[3], u[3];
    cross(quaternion, v, t);
    for (int k = 0; k < 3; k++) t[k] *= 2.0;
    cross(quaternion, t, u);
    for (int k = 0; k < 3; k++) out[k] = v[k] + quaternion[3] * t[k] + u[k];
}

/* The quaternion a turned by the rotation vector r along the body's axes. */
static void turn(const double *a, const double *r, double *out)
{
    const double angle = sqrt(dot3(r, r)), half = 0.5 * angle;
    const double factor = half > 1e-4 ? 0.5 * sin(half) / half : 0.5 - half * half / 12.0, w = cos(half);
    double v[3] = {factor * r[0], factor * r[1], factor * r[2]}, x[3], length = 0.0, result[4];
    cross(a, v, x);
    for (int k = 0; k < 3; k++) result[k] = a[3] * v[k] + w * a[k] + x[k];
    result[3] = a[3] * w - dot3(a, v);
    for (int k = 0; k < 4; k++) length += result[k] * result[k];
    length = sqrt(length);
    for (int k = 0; k < 4; k++) out[k] = result[k] / length;
}

static void move_floating(const double *q, const double *d, double *out)
{
    const double *v = d, *w = d + 3, square = dot3(w, w), angle = sqrt(square);
    const double first = angle < 1e-3 ? 0.5 - square / 24.0 : (1.0 - cos(angle)) / square;
    const double second = angle < 1e-3 ? 1.0 / 6.0 - square / 120.0 : (angle - sin(angle)) / (square * angle);
    double a[3], b[3], shift[3], moved[3];
    cross(w, v, a);
    cross(w, a, b);
    for (int k = 0; k < 3; k++) shift[k] = v[k] + first * a[k] + second * b[k];
    rotate(q + 3, shift, moved);
    for (int k = 0; k < 3; k++) out[k] = q[k] + moved[k];
    turn(q + 3, w, out + 3);
}

static void move_planar(const double *q, const double *d, double *out)
{
    const double t = d[2], a = fabs(t) > 1e-4 ? sin(t) / t : 1.0 - t * t / 6.0;
    const double b = fabs(t) > 1e-4 ? (1.0 - cos(t)) / t : 0.5 * t * (1.0 - t * t / 12.0);
    const double x = a * d[0] - b * d[1], y = b * d[0] + a * d[1], c = cos(q[2]), s = sin(q[2]);
    out[0] = q[0] + c * x - s * y, out[1] = q[1] + s * x + c * y, out[2] = q[2] + t;
}

/* out = q + h v along the twists of all joints; out is not q. */
static void move_joints(const stepper *s, const double *q, const double *v, double h, double *out)
{
    for (int k = 0; k < s->plain; k++) out[s->entry[k][0]] = q[s->entry[k][0]] + h * v[s->entry[k][1]];
    for (int k = 0; k < s->quasi; k++) {
        const int *joint = s->joint[k], size = joint[0] == FLOATING ? 6 : 3;
        double d[6];
        for (int i = 0; i < size; i++) d[i] = h * v[joint[2] + i];
        if (joint[0] == FLOATING) move_floating(q + joint[1], d, out + joint[1]);
        else if (joint[0] == SPHERICAL) turn(q + joint[1], d, out + joint[1]);
        else move_planar(q + joint[1], d, out + joint[1]);
    }
}

/* Close the loops of a configuration near one by Newton's method; 0 where they cannot be closed. */
static int close_loops(stepper *s, double *q)
{
    double before = INFINITY;
    for (int k = 0; k < MOST_CLOSURE_STEPS; k++) {
        const void *in[1] = {q};
        if (s->closure.call(in, s->joint_velocity, s->closure.work)) return 0;
        double size = 0.0;
        for (int i = 0; i < s->joints; i++) size = fmax(size, fabs(s->joint_velocity[i]));
        if (size <= CLOSURE_STEP || !(size < before)) return size <= CLOSURE_ERROR;
        move_joints(s, q, s->joint_velocity, 1.0, s->q_closed);
        memcpy(q, s->q_closed, (size_t)s->nq * sizeof *q);
        before = size;
    }
    return before <= CLOSURE_ERROR;
}

const double *stepper_velocities(stepper *s, const double *q, const double *v)
{
    if (!s->velocities.call) return v;
    const void *in[2] = {q, v};
    return s->velocities.call(in, s->joint_velocity, s->velocities.work) ? NULL : s->joint_velocity;
}

/* out = q + h v, with closed loops; out is not q. 0 where something is not finite. */
static int move(stepper *s, const double *q, const double *v, double h, double *out)
{
    const double *all = stepper_velocities(s, q, v);
    if (!all) return 0;
    move_joints(s, q, all, h, out);
    return !s->closure.call || close_loops(s, out);
}

/* ---- gaps ------------------------------------------------------------------------------------------------------- */

static const double *link_of(const stepper *s, int link)
{
    return s->out + (size_t)link * LINK_NUMBERS; /* R, p, omega, v, alpha, a */
}

static const double *unit_of(const stepper *s, int unit)
{
    return s->out + (size_t)s->links * LINK_NUMBERS + (size_t)unit * UNIT_NUMBERS; /* e, u */
}

/* Of closed loops: velocities of all joints, their accelerations at constant v, and G by rows. */
static const double *joints_of(const stepper *s)
{
    return unit_of(s, s->units);
}

/* Distance of r to the ellipse |S r| = 1 with two rows of S at right angles, negative inside, its gradient, and the curvature and
   the change of the gradient along v. The nearest point is (a cos, b sin) along the semi-axes; with the longer one a, and s > 0,

     cos = a x/(s + a^2 - b^2),   sin = b y/s,   cos^2 + sin^2 = 1:

   convex in s, so that Newton's method from where the sum is at least 1 does not overshoot. */
static double distance_to_ellipse(const double *S, const double *r, const double *v, double *gradient, double *curvature, double *bend)
{
    double size[2], place[2], speed[2], lift[2], arm[2], turn[2], n[2];
    for (int k = 0; k < 2; k++) {
        const double *row = S + 3 * k;
        size[k] = 1.0 / sqrt(dot3(row, row));
        place[k] = dot3(row, r) * size[k], speed[k] = dot3(row, v) * size[k];
    }
    const int small = size[1] < size[0];
    for (int k = 0; k < 2; k++) {
        lift[k] = k == small ? 0.0 : size[k] * size[k] - size[small] * size[small];
        arm[k] = size[k] * fmax(fabs(place[k]), k == small ? LEAST_PLACE : 0.0);
    }
    double s = fmax(arm[0] - lift[0], arm[1] - lift[1]), length = 0.0;
    for (int count = 0; count < MOST_ELLIPSE_STEPS; count++) {
        double sum = 0.0, slope = 0.0;
        for (int k = 0; k < 2; k++) {
            turn[k] = arm[k] / (s + lift[k]);
            sum += turn[k] * turn[k], slope += turn[k] * turn[k] / (s + lift[k]);
        }
        length = sqrt(sum);
        const double next = s + 0.5 * (sum - 1.0) / slope;
        if (!(next > s)) break;
        s = next;
    }
    for (int k = 0; k < 2; k++) turn[k] = copysign(turn[k] / length, place[k]), n[k] = turn[k] / size[k];
    const double steep = sqrt(n[0] * n[0] + n[1] * n[1]);
    double distance = 0.0;
    for (int k = 0; k < 2; k++) n[k] /= steep, distance += (place[k] - size[k] * turn[k]) * n[k];
    const double bent = 1.0 / (size[0] * size[0] * size[1] * size[1] * steep * steep * steep), part = 1.0 + distance * bent;
    const double along = speed[0] * n[1] - speed[1] * n[0], rate = bent / (part > 0.0 ? part : 1.0) * along;
    *curvature = rate * along;
    for (int k = 0; k < 3; k++) {
        gradient[k] = S[k] * size[0] * n[0] + S[3 + k] * size[1] * n[1];
        bend[k] = rate * (S[k] * size[0] * n[1] - S[3 + k] * size[1] * n[0]);
    }
    return distance;
}

/* Gap, normal, rate, curvature acceleration and arm of a position and velocity, with a sphere around it. */
static void meet(const stepping_surface *surface, const double *x, const double *v, double radius, stepping_gap *gap)
{
    double r[3], value, gradient[3], bend[3] = {0.0};
    for (int k = 0; k < 3; k++) r[k] = x[k] - surface->centre[k];
    gap->curvature = 0.0;
    if (surface->kind == PLANE) {
        memcpy(gradient, surface->S, sizeof gradient);
        value = dot3(gradient, r);
    } else if (surface->kind == ELLIPSE) {
        value = distance_to_ellipse(surface->S, r, v, gradient, &gap->curvature, bend);
    } else {
        double y[3], z[3];
        for (int k = 0; k < 3; k++) y[k] = dot3(surface->S + 3 * k, r), z[k] = dot3(surface->S + 3 * k, v);
        const double length = sqrt(dot3(y, y)), size = length > 0.0 ? length : 1.0, radial = dot3(y, z) / size;
        value = length - surface->radius;
        for (int k = 0; k < 3; k++)
            gradient[k] = (surface->S[k] * y[0] + surface->S[3 + k] * y[1] + surface->S[6 + k] * y[2]) / size;
        gap->curvature = (dot3(z, z) - radial * radial) / size;
        for (int k = 0; k < 3; k++) z[k] -= y[k] * radial / size;
        for (int k = 0; k < 3; k++)
            bend[k] = (surface->S[k] * z[0] + surface->S[3 + k] * z[1] + surface->S[6 + k] * z[2]) / size;
    }
    const double steep = sqrt(dot3(gradient, gradient)), slope = steep > 0.0 ? steep : 1.0;
    gap->gap = surface->sign * value / slope - radius;
    gap->curvature *= surface->sign / slope;
    for (int k = 0; k < 3; k++) gap->normal[k] = surface->sign * gradient[k] / slope;
    const double across = dot3(gap->normal, bend);
    for (int k = 0; k < 3; k++) {
        gap->arm[k] = -radius * gap->normal[k];
        gap->arm_rate[k] = -radius * surface->sign / slope * (bend[k] - across * gap->normal[k]);
    }
    gap->rate = dot3(gap->normal, v);
}

/* The gap of a point at a plane as that of a circle of radius r about the axis a. With sigma = n . a, w^2 = 1 - sigma^2 + FLAT^2,

     g = g_centre - r psi,   psi = w - FLAT^2/w,   arm = A a - (r psi + A sigma) n,   A = -r dpsi/dsigma

   FLAT makes it smooth where the circle lies in the plane: there it touches with its centre. r is larger than the radius by a
   factor that makes g exact where the axis is level. */
static void touch_with_circle(double radius, const double *a, const double *omega, stepping_gap *gap)
{
    const double *n = gap->normal, sigma = dot3(n, a), flat = FLAT * FLAT, square = sigma * sigma;
    const double w = sqrt(fmax(1.0 - square, 0.0) + flat), cube = w * w * w, psi = w - flat / w, r = radius * sqrt(1.0 + flat);
    const double A = r * sigma * (1.0 / w + flat / cube);
    const double slope = r * (1.0 / w + (square + flat) / cube + 3.0 * flat * square / (cube * w * w)); /* dA/dsigma */
    double turned[3], twice[3], moved[3];
    cross(omega, a, turned);
    cross(omega, turned, twice);
    const double rate = dot3(n, turned);
    for (int k = 0; k < 3; k++) {
        gap->arm[k] = A * a[k] - (r * psi + A * sigma) * n[k];
        gap->arm_rate[k] = rate * slope * (a[k] - sigma * n[k]) + A * turned[k];
    }
    cross(omega, gap->arm, moved);
    gap->gap -= r * psi;
    gap->rate += dot3(n, moved);
    gap->curvature += slope * rate * rate + A * dot3(n, twice);
}

/* Motion of the links, and all gaps into `gap`, at q, v; 0 where something is not finite. */
static int find_gaps(stepper *s, const double *q, const double *v, stepping_gap *gap)
{
    const void *in[2] = {q, v};
    if (s->motion.call(in, s->out, s->motion.work)) return 0;
    for (int k = 0; k < s->points; k++) {
        const stepping_point *point = s->point + k;
        double *x = s->position + 3 * k, *u = s->velocity + 3 * k;
        if (point->link < 0) {
            memcpy(x, point->offset, sizeof point->offset);
            memset(u, 0, 3 * sizeof *u);
            continue;
        }
        const double *link = link_of(s, point->link);
        double arm[3], turned[3];
        for (int i = 0; i < 3; i++) arm[i] = dot3(link + 3 * i, point->offset);
        cross(link + 12, arm, turned);
        for (int i = 0; i < 3; i++) x[i] = link[9 + i] + arm[i], u[i] = link[15 + i] + turned[i];
    }
    for (int i = 0; i < s->surfaces; i++) {
        stepping_gap *own = gap + (size_t)i * s->points;
        if (s->surface[i].kind == GENERAL) {
            if (!s->general(s, i)) return 0;
            const double *given = s->rhs; /* (points, 8): gap, normal, curvature, rate of the normal */
            for (int k = 0; k < s->points; k++, given += 8) {
                const double radius = s->point[k].radius;
                own[k].gap = given[0] - radius;
                memcpy(own[k].normal, given + 1, sizeof own[k].normal);
                own[k].curvature = given[4];
                for (int l = 0; l < 3; l++) own[k].arm[l] = -radius * given[1 + l], own[k].arm_rate[l] = -radius * given[5 + l];
                own[k].rate = dot3(own[k].normal, s->velocity + 3 * k);
            }
        } else
            for (int k = 0; k < s->points; k++)
            {
                const stepping_point *point = s->point + k;
                const int circle = dot3(point->axis, point->axis) > 0.0;
                meet(s->surface + i, s->position + 3 * k, s->velocity + 3 * k, circle ? 0.0 : point->radius, own + k);
                if (!circle) continue;
                const double *link = link_of(s, point->link);
                double axis[3];
                for (int l = 0; l < 3; l++) axis[l] = dot3(link + 3 * l, point->axis);
                touch_with_circle(point->radius, axis, link + 12, own + k);
            }
    }
    stepping_gap *own = gap + (size_t)s->surfaces * s->points;
    for (int k = 0; k < s->limits; k++, own += 2) {
        const stepping_limit *limit = s->limit + k;
        const double rate = s->velocities.call ? joints_of(s)[limit->v] : v[limit->v];
        own[0].gap = q[limit->q] - limit->lower, own[0].rate = rate;
        own[1].gap = limit->upper - q[limit->q], own[1].rate = -rate;
    }
    return 1;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static int is_limit(const stepper *s, int contact)
{
    return contact >= s->surfaces * s->points;
}

static int rows_of(const stepper *s, int contact)
{
    return is_limit(s, contact) || s->surface[contact / s->points].friction == 0.0 ? 1 : 3;
}

/* Rows of the active contacts at the links' motion in `out`: J, block by block; `bias` gets dJ/dt v. */
static void add_contact(stepper *s, int contact, const stepping_gap *gap, double *bias)
{
    const int nv = s->nv;
    s->row[contact] = s->rows;
    if (is_limit(s, contact)) {
        const int k = contact - s->surfaces * s->points;
        const int joint = s->limit[k / 2].v;
        const double sign = k % 2 ? -1.0 : 1.0;
        double *row = s->J + (size_t)s->rows * nv;
        memset(row, 0, (size_t)nv * sizeof *row);
        bias[s->rows] = 0.0;
        if (s->velocities.call) {
            const double *rates = joints_of(s) + s->joints, *G = rates + s->joints + (size_t)joint * nv;
            for (int i = 0; i < nv; i++) row[i] = sign * G[i];
            bias[s->rows] = sign * rates[joint];
        } else row[joint] = sign;
        s->block[s->blocks++] = (contact_block){s->rows, 1, 0, 0.0};
        s->rows++;
        return;
    }
    const stepping_surface *surface = s->surface + contact / s->points;
    const stepping_point *point = s->point + contact % s->points;
    const int size = rows_of(s, contact);
    const double *x = s->position + 3 * (contact % s->points), *n = gap->normal;
    double axis[3][3], foot[3], arm[3];
    memcpy(axis[size - 1], n, 3 * sizeof *n);
    if (size == 3) tangents(n, axis[0], axis[1]);
    for (int k = 0; k < 3; k++) foot[k] = x[k] + gap->arm[k];
    memset(s->J + (size_t)s->rows * nv, 0, (size_t)size * nv * sizeof *s->J);
    memset(bias + s->rows, 0, (size_t)size * sizeof *bias);
    for (int i = point->link; i >= 0; i = s->parent[i]) {
        const double *link = link_of(s, i);
        for (int k = 0; k < 3; k++) arm[k] = foot[k] - link[9 + k];
        for (int u = s->first_unit[i]; u < s->first_unit[i + 1]; u++) {
            const double *unit = unit_of(s, u);
            double column[3];
            cross(unit, arm, column);
            for (int k = 0; k < 3; k++) column[k] += unit[3 + k];
            for (int k = 0; k < size; k++) s->J[(size_t)(s->rows + k) * nv + s->unit[u][1]] += dot3(axis[k], column);
        }
    }
    if (point->link >= 0) {
        const double *link = link_of(s, point->link), *omega = link + 12, *alpha = link + 18;
        double a[3], b[3];
        for (int k = 0; k < 3; k++) arm[k] = x[k] - link[9 + k];
        cross(omega, arm, a);
        cross(omega, a, b);
        for (int k = 0; k < 3; k++) b[k] += link[21 + k], arm[k] += gap->arm[k];
        cross(alpha, arm, a);
        for (int k = 0; k < 3; k++) b[k] += a[k];
        for (int k = 0; k < size; k++) bias[s->rows + k] = dot3(axis[k], b);
        cross(omega, gap->arm_rate, a);
        for (int k = 0; k < size - 1; k++) bias[s->rows + k] += dot3(axis[k], a);
    }
    bias[s->rows + size - 1] += gap->curvature;
    s->block[s->blocks++] = (contact_block){s->rows, size, 0, surface->friction};
    s->rows += size;
}

/* Room for rows; 0 where there is no memory. */
static int make_room(stepper *s, int rows)
{
    if (rows <= s->capacity) return 1;
    const size_t n = (size_t)rows + (size_t)rows / 2;
    free(s->J), free(s->Y), free(s->G), free(s->c), free(s->block), free(s->solver_work);
    s->capacity = 0;
    s->J = malloc(n * (size_t)s->nv * sizeof(double));
    s->Y = malloc(n * (size_t)s->nv * sizeof(double));
    s->G = malloc(n * n * sizeof(double));
    s->c = malloc(5 * n * sizeof(double)); /* c, p, w, bias, impulses kept */
    s->block = malloc(n * sizeof(contact_block));
    s->solver_work = malloc(contact_work((int)n));
    if (!s->J || !s->Y || !s->G || !s->c || !s->block || !s->solver_work) return 0;
    s->p = s->c + n, s->w = s->p + n;
    s->capacity = (int)n;
    return 1;
}

static double *bias_of(const stepper *s)
{
    return s->w + s->capacity;
}

/* Rows of all contacts that are marked active, then of joint friction with bounds h F. */
static int build_rows(stepper *s, const stepping_gap *gap, double h)
{
    int most = s->nv;
    for (int k = 0; k < s->actives; k++) most += rows_of(s, s->active[k]);
    if (!make_room(s, most)) return 0;
    s->rows = s->blocks = 0;
    for (int k = 0; k < s->actives; k++) add_contact(s, s->active[k], gap + s->active[k], bias_of(s));
    for (int k = 0; h > 0.0 && k < s->nv; k++)
        if (s->friction[k] > 0.0) {
            memset(s->J + (size_t)s->rows * s->nv, 0, (size_t)s->nv * sizeof *s->J);
            s->J[(size_t)s->rows * s->nv + k] = 1.0;
            bias_of(s)[s->rows] = 0.0;
            s->block[s->blocks++] = (contact_block){s->rows, 1, 1, h * s->friction[k]};
            s->rows++;
        }
    return 1;
}

/* ---- linear algebra --------------------------------------------------------------------------------------------- */

/* L of M = L L^T, in place by columns below the diagonal of a matrix stored by columns; the diagonal of L is inverted. */
FOR_VECTORS static int cholesky(double *L, int n)
{
    for (int k = 0; k < n; k++) {
        double *restrict left = L + (size_t)k * n;
        if (!(left[k] > 0.0)) return 0;
        const double inverse = 1.0 / sqrt(left[k]);
        for (int i = k + 1; i < n; i++) left[i] *= inverse;
        left[k] = inverse;
        for (int j = k + 1; j < n; j++) {
            double *restrict column = L + (size_t)j * n;
            const double f = left[j];
            if (f != 0.0)
                for (int i = j; i < n; i++) column[i] -= f * left[i];
        }
    }
    return 1;
}

/* x = L^-1 x. */
FOR_VECTORS static void forward(const double *L, int n, double *restrict x)
{
    for (int k = 0; k < n; k++) {
        if (x[k] == 0.0) continue;
        const double *restrict left = L + (size_t)k * n, f = x[k] *= left[k];
        for (int i = k + 1; i < n; i++) x[i] -= f * left[i];
    }
}

/* x = L^-T x. */
FOR_VECTORS static void backward(const double *L, int n, double *restrict x)
{
    for (int k = n - 1; k >= 0; k--) {
        const double *restrict left = L + (size_t)k * n;
        x[k] = (x[k] - dot(left + k + 1, x + k + 1, n - k - 1)) * left[k];
    }
}

/* Y = J L^-T by rows, and G = Y Y^T. */
FOR_VECTORS static void delassus(stepper *s)
{
    const int n = s->rows, nv = s->nv;
    memcpy(s->Y, s->J, (size_t)n * nv * sizeof *s->Y);
    for (int i = 0; i < n; i++) {
        double *row = s->Y + (size_t)i * nv;
        forward(s->L, nv, row);
        for (int j = 0; j <= i; j++) {
            const double *restrict other = s->Y + (size_t)j * nv;
            double part[4] = {0.0, 0.0, 0.0, 0.0};
            int k = 0;
            for (; k + 4 <= nv; k += 4)
                for (int l = 0; l < 4; l++) part[l] += row[k + l] * other[k + l];
            for (; k < nv; k++) part[0] += row[k] * other[k];
            s->G[(size_t)i * n + j] = s->G[(size_t)j * n + i] = part[0] + part[1] + part[2] + part[3];
        }
    }
}

/* v += L^-T Y^T p, with `rhs` as work. */
static void apply_impulses(stepper *s, double *v)
{
    const int nv = s->nv;
    memset(s->rhs, 0, (size_t)nv * sizeof *s->rhs);
    for (int i = 0; i < s->rows; i++)
        if (s->p[i] != 0.0)
            for (int k = 0; k < nv; k++) s->rhs[k] += s->p[i] * s->Y[(size_t)i * nv + k];
    backward(s->L, nv, s->rhs);
    for (int k = 0; k < nv; k++) v[k] += s->rhs[k];
}

int stepper_mass(stepper *s, const double *q)
{
    const void *in[1] = {q};
    return !s->mass.call(in, s->M, s->mass.work) && (!s->dampings.call || !s->dampings.call(in, s->D, s->dampings.work));
}

const double *stepper_forces(stepper *s, const double *q, const double *tau)
{
    const void *in[1] = {q};
    if (!s->actuation.call) return tau;
    if (s->actuation.call(in, s->Ja, s->actuation.work)) return NULL;
    memset(s->force_of_tau, 0, (size_t)s->nv * sizeof *s->force_of_tau);
    for (int i = 0; i < s->actuators; i++)
        for (int k = 0; k < s->nv; k++) s->force_of_tau[k] += s->Ja[(size_t)i * s->nv + k] * tau[i];
    return s->force_of_tau;
}

static int factor_mass(stepper *s, const double *q, double h)
{
    const size_t nv = (size_t)s->nv;
    if (!stepper_mass(s, q)) return 0;
    memcpy(s->L, s->M, nv * nv * sizeof *s->L);
    if (s->dampings.call)
        for (size_t k = 0; k < nv * nv; k++) s->L[k] += 0.5 * h * s->D[k];
    else
        for (size_t k = 0; k < nv; k++) s->L[k * nv + k] += 0.5 * h * s->damping[k];
    return cholesky(s->L, s->nv);
}

/* Impulses from those of the step before, then, with few iterations, from zero: other contacts may carry the load there. */
static void solve(stepper *s)
{
    double *kept = bias_of(s) + s->capacity, least = INFINITY;
    for (int attempt = 0; attempt < 2; attempt++) {
        const contact_report report = contact_solve(s->rows, s->G, s->c, s->blocks, s->block, s->p, s->w, s->tolerance, s->acceptable,
            attempt ? s->most / 8 : s->most, s->steps % SHARING == 0, s->solver_work);
        if (report.converged) return;
        if (attempt && !(report.residual < least)) memcpy(s->p, kept, (size_t)s->rows * sizeof *kept);
        else least = report.residual;
        if (attempt) break;
        memcpy(kept, s->p, (size_t)s->rows * sizeof *kept);
        memset(s->p, 0, (size_t)s->rows * sizeof *kept);
    }
    s->failures++;
    if (!(least <= s->worst_residual)) s->worst_residual = least;
}

/* Impulses of the contacts in world axes, added to `sum` (contacts, 3). */
static void add_impulses(const stepper *s, const stepping_gap *gap, double *sum)
{
    for (int k = 0; k < s->actives; k++) {
        const int contact = s->active[k];
        if (is_limit(s, contact)) continue;
        const double *p = s->p + s->row[contact], *n = gap[contact].normal;
        double *f = sum + 3 * contact, a[3], b[3];
        const int size = rows_of(s, contact);
        if (size == 3) tangents(n, a, b);
        for (int i = 0; i < 3; i++) f[i] += (size == 3 ? p[0] * a[i] + p[1] * b[i] : 0.0) + p[size - 1] * n[i];
    }
}

/* Kinetic and potential energy of a state; 0 where they are not finite. */
static int find_energy(const stepper *s, const double *q, const double *v, double *kinetic, double *potential)
{
    const void *in[2] = {q, v};
    return !s->kinetic.call(in, kinetic, s->kinetic.work) && !s->potential.call(in, potential, s->potential.work);
}

static int renew_energy(stepper *s)
{
    double kinetic, potential;
    if (!find_energy(s, s->q, s->v, &kinetic, &potential)) return 0;
    s->energy = kinetic + potential;
    return 1;
}

/* ---- impacts ---------------------------------------------------------------------------------------------------- */

static double restitution_of(const stepper *s, int contact, double rate, double h)
{
    if (is_limit(s, contact)) return 0.0;
    const double e = s->surface[contact / s->points].restitution;
    return -rate * e > GRAVITY * h ? e : 0.0;
}

/* Factors of the left side of (5), h D' in `stopping`, and the velocity without impulses in v_free. */
static int factor_impact(stepper *s, double h, double *stopping)
{
    const int nv = s->nv;
    int stops = 0;
    if (!factor_mass(s, s->q, 0.0)) return 0;
    for (int k = 0; k < nv; k++) {
        stopping[k] = 0.0;
        if (s->dampings.call || s->damping[k] == 0.0) continue;
        memset(s->rhs, 0, (size_t)nv * sizeof *s->rhs);
        s->rhs[k] = 1.0;
        forward(s->L, nv, s->rhs);
        if (s->damping[k] * dot(s->rhs, s->rhs, nv) * STOPPED_WITHIN > 1.0) stopping[k] = h * s->damping[k], stops = 1;
    }
    memcpy(s->v_free, s->v, (size_t)nv * sizeof *s->v);
    if (!stops) return 1;
    for (int k = 0; k < nv; k++) s->v_free[k] = dot(s->M + (size_t)k * nv, s->v, nv);
    memcpy(s->L, s->M, (size_t)nv * nv * sizeof *s->L);
    for (int k = 0; k < nv; k++) s->L[(size_t)k * nv + k] += stopping[k];
    if (!cholesky(s->L, nv)) return 0;
    forward(s->L, nv, s->v_free);
    backward(s->L, nv, s->v_free);
    return 1;
}

/* (5) with all closed contacts of `gap`; v is written. */
static int resolve_impact(stepper *s, double h)
{
    const int nv = s->nv;
    s->actives = 0;
    for (int c = 0; c < s->contacts; c++)
        if (s->gap[c].gap <= s->depth) s->active[s->actives++] = c;
    double *stopping = s->v_guess;
    if (!factor_impact(s, h, stopping)) return NOT_FINITE_STATE;
    if (!build_rows(s, s->gap, 0.0)) return NO_ROOM;
    delassus(s);
    memcpy(s->v_before, s->v, (size_t)nv * sizeof *s->v);
    memcpy(s->velocity_before, s->velocity, 3 * (size_t)s->points * sizeof *s->velocity);
    for (int c = 0; c < s->contacts; c++) s->rate_before[c] = s->gap[c].rate;
    s->energy_before = s->energy;
    double before = 0.0, elastic = 1.0;
    for (int i = 0; i < nv; i++) before += s->v[i] * dot(s->M + (size_t)i * nv, s->v, nv);
    for (;;) {
        for (int i = 0; i < s->rows; i++) s->c[i] = dot(s->J + (size_t)i * nv, s->v_free, nv), s->p[i] = 0.0;
        for (int k = 0; k < s->actives; k++) {
            const int contact = s->active[k], normal = s->row[contact] + rows_of(s, contact) - 1;
            const double rate = dot(s->J + (size_t)normal * nv, s->v_before, nv);
            if (rate < 0.0) s->c[normal] += elastic * restitution_of(s, contact, rate, h) * rate;
        }
        solve(s);
        memcpy(s->v, s->v_free, (size_t)nv * sizeof *s->v);
        apply_impulses(s, s->v);
        double after = 0.0;
        for (int i = 0; i < nv; i++) after += s->v[i] * dot(s->M + (size_t)i * nv, s->v, nv);
        if (after <= before * (1.0 + 1e-12) || elastic == 0.0) break;
        elastic = elastic > 0.1 ? 0.5 * elastic : 0.0; /* Newton's law with friction would add energy */
    }
    for (int k = 0; k < s->actives; k++) {
        const int contact = s->active[k], first = s->row[contact];
        for (int i = first; i < first + rows_of(s, contact); i++) {
            const double *J = s->J + (size_t)i * nv;
            s->work[is_limit(s, contact) ? 1 : 2] += 0.5 * s->p[i] * (dot(J, s->v_before, nv) + dot(J, s->v, nv));
        }
    }
    for (int k = 0; k < nv; k++) s->work[1] -= 0.5 * stopping[k] * s->v[k] * (s->v_before[k] + s->v[k]);
    memset(s->impact, 0, 3 * (size_t)s->surfaces * s->points * sizeof *s->impact);
    add_impulses(s, s->gap, s->impact);
    memset(s->acceleration, 0, (size_t)nv * sizeof *s->acceleration);
    s->impacts++;
    return find_gaps(s, s->q, s->v, s->gap) && renew_energy(s) ? IMPACT : NOT_FINITE_STATE;
}

static int needs_impact(const stepper *s)
{
    for (int c = 0; c < s->contacts; c++)
        if (s->gap[c].gap <= s->depth && s->gap[c].rate < -SLOW) return 1;
    return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* (1) to (4) with the active contacts; `whole`: with the whole gap, and q' = q + h v'. Writes q_next, v_next, v_mean. */
static int try_step(stepper *s, const double *tau, double h, int whole)
{
    const int nv = s->nv;
    s->pushed = 0;
    if (!move(s, s->q, s->v, 0.5 * h, s->q_mid) || !factor_mass(s, s->q_mid, h)) return NOT_FINITE_STATE;
    if (!(s->forces = stepper_forces(s, s->q_mid, tau))) return NOT_FINITE_STATE;
    for (int k = 0; k < nv; k++) s->v_guess[k] = s->v[k] + 0.5 * h * s->acceleration[k];
    double change = 0.0, size = 0.0;
    for (int iteration = 0; iteration < MOST_ITERATIONS; iteration++) {
        const void *in[2] = {s->q_mid, s->v_guess};
        if (s->bias.call(in, s->b, s->bias.work)) return NOT_FINITE_STATE;
        if (s->actives && !find_gaps(s, s->q_mid, s->v_guess, s->gap_next)) return NOT_FINITE_STATE;
        if (!iteration) {
            if (!build_rows(s, s->gap_next, h)) return NO_ROOM;
            if (s->rows) delassus(s);
            for (int k = 0; k < s->actives; k++) {
                const int contact = s->active[k], first = s->row[contact];
                for (int i = 0; i < rows_of(s, contact); i++) s->p[first + i] = h * s->impulse[3 * contact + i];
            }
            for (int k = nv, r = s->rows; k-- > 0;)
                if (s->friction[k] > 0.0) s->p[--r] = h * s->joint_impulse[k];
        } else if (s->rows) { /* dJ/dt v at the new guess */
            s->rows = s->blocks = 0;
            if (!build_rows(s, s->gap_next, h)) return NO_ROOM;
        }
        for (int k = 0; k < nv; k++) s->v_free[k] = h * (s->forces[k] - s->b[k] - stepper_damping(s, k, s->v));
        forward(s->L, nv, s->v_free);
        backward(s->L, nv, s->v_free);
        for (int k = 0; k < nv; k++) s->v_free[k] += s->v[k];
        memcpy(s->v_next, s->v_free, (size_t)nv * sizeof *s->v);
        if (s->rows) {
            const double *bias = bias_of(s);
            for (int i = 0; i < s->rows; i++) s->c[i] = dot(s->J + (size_t)i * nv, s->v_free, nv) + 0.5 * h * bias[i];
            for (int k = 0; k < s->actives; k++) {
                const int contact = s->active[k];
                const double gap = s->gap[contact].gap, sunk = SUNK * s->depth;
                const double push = gap < -sunk && !s->calm ? fmax(PUSH * (gap + sunk) / h, -SLOW) : 0.0;
                const double approach = APPROACH * fmax(gap - s->depth, 0.0) / h;
                s->pushed |= push < 0.0;
                s->c[s->row[contact] + rows_of(s, contact) - 1] += whole ? gap / h : push + approach;
            }
            solve(s);
            apply_impulses(s, s->v_next);
        }
        change = size = 0.0;
        for (int k = 0; k < nv; k++) {
            s->v_mean[k] = 0.5 * (s->v[k] + s->v_next[k]);
            change = fmax(change, fabs(s->v_mean[k] - s->v_guess[k]));
            size = fmax(size, fabs(s->v_mean[k]));
        }
        memcpy(s->v_guess, s->v_mean, (size_t)nv * sizeof *s->v);
        if (!(change > GUESS_TOL * (1.0 + size))) break;
    }
    if (!(change <= MOST_CHANGE * (1.0 + size)) && !s->lenient) return INACCURATE;
    for (int k = 0; k < nv; k++)
        if (!isfinite(s->v_next[k])) return NOT_FINITE_STATE;
    const int moved = whole ? move(s, s->q, s->v_next, h, s->q_next) : move(s, s->q_mid, s->v_next, 0.5 * h, s->q_next);
    if (!moved) return NOT_FINITE_STATE;
    return find_gaps(s, s->q_next, s->v_next, s->gap_next) ? STEPPED : NOT_FINITE_STATE;
}

/* The part of the step at which the first open contact touches, by linear interpolation, or half of it where a contact with rows
   (`whole`: any) becomes too deep; 1 if the step may be kept. */
static double part_to_keep(const stepper *s, int whole)
{
    double part = 1.0;
    for (int c = 0; c < s->contacts; c++) {
        const double before = s->gap[c].gap, after = s->gap_next[c].gap;
        const int open = before > s->depth && !whole;
        if (open && after < -DEEP * s->depth) part = fmin(part, before / (before - after));
        else if (!open && after < -DEEPEST * s->depth && after < before) part = fmin(part, 0.5);
    }
    return part;
}

static void mark_closed(stepper *s, double reach)
{
    s->actives = 0;
    for (int c = 0; c < s->contacts; c++)
        if (s->gap[c].gap <= s->depth + reach) s->active[s->actives++] = c;
}

/* Length of a step after which contacts with rows, whose rates become zero within it, are not too deep. */
static double length_of_stop(const stepper *s)
{
    double longest = INFINITY;
    for (int k = 0; k < s->actives; k++) {
        const stepping_gap *gap = s->gap + s->active[k];
        if (gap->rate < 0.0) longest = fmin(longest, 2.0 * (fmax(gap->gap, 0.0) + DEEP * s->depth) / -gap->rate);
    }
    return longest;
}

/* Scale v_next so that the energy changes by the work of the step; INACCURATE where too much would be lost, LIFTED where contacts
   lift the robot by more than its kinetic energy can: they are pushed out of their surface, or would open within the step. */
static int balance_energy(stepper *s, double work)
{
    double kinetic, potential;
    if (!find_energy(s, s->q_next, s->v_next, &kinetic, &potential)) return NOT_FINITE_STATE;
    const double excess = kinetic + potential - s->energy - work;
    if (excess > kinetic + ROUNDING * (1.0 + fabs(s->energy)) && !s->lenient) return LIFTED;
    if (-excess > fmax(MOST_CORRECTION * kinetic, MOST_LOSS * (1.0 + fabs(s->energy))) && !s->lenient) return INACCURATE;
    double square = 1.0;
    if (fabs(excess) < MOST_CORRECTION * kinetic) square = 1.0 - excess / kinetic;
    else if (excess > 0.0) square = excess < kinetic ? 1.0 - excess / kinetic : 0.0;
    const double factor = sqrt(square);
    for (int k = 0; k < s->nv; k++) s->v_next[k] *= factor;
    for (int c = 0; c < s->contacts; c++) s->gap_next[c].rate *= factor;
    s->energy = potential + square * kinetic;
    return STEPPED;
}

/* Take over q_next, v_next as the state after a time h, with work, impulses and warm starts. */
static int accept(stepper *s, double h)
{
    const int nv = s->nv;
    const double before = s->work[0] + s->work[1] + s->work[2], works[3] = {s->work[0], s->work[1], s->work[2]};
    for (int k = 0; k < nv; k++) {
        s->work[0] += h * s->forces[k] * s->v_mean[k];
        s->work[1] -= h * stepper_damping(s, k, s->v_mean) * s->v_mean[k];
        s->acceleration[k] = (s->v_next[k] - s->v[k]) / h;
    }
    memset(s->impulse, 0, 3 * (size_t)s->contacts * sizeof *s->impulse);
    int first_friction = 0;
    for (int k = 0; k < s->actives; k++) { /* contacts do no positive work: what the step makes of them is an error of order h^3 */
        const int contact = s->active[k], first = s->row[contact];
        const int size = rows_of(s, contact);
        double work = 0.0;
        for (int i = 0; i < size; i++) {
            work += s->p[first + i] * dot(s->J + (size_t)(first + i) * nv, s->v_mean, nv);
            s->impulse[3 * contact + i] = s->p[first + i] / h;
        }
        s->work[is_limit(s, contact) ? 1 : 2] += fmin(work, 0.0);
        first_friction = first + size;
    }
    for (int k = 0, i = first_friction; k < nv; k++)
        if (s->friction[k] > 0.0) {
            s->work[1] += fmin(s->p[i] * s->v_mean[k], 0.0);
            s->joint_impulse[k] = s->p[i++] / h;
        }
    const int status = balance_energy(s, s->work[0] + s->work[1] + s->work[2] - before);
    if (status != STEPPED) {
        memcpy(s->work, works, sizeof works);
        return status;
    }
    add_impulses(s, s->gap_next, s->sum);
    s->span += h;
    double *held = s->q;
    s->q = s->q_next, s->q_next = held;
    held = s->v, s->v = s->v_next, s->v_next = held;
    stepping_gap *gaps = s->gap;
    s->gap = s->gap_next, s->gap_next = gaps;
    for (int c = 0; c < s->contacts; c++) s->deepest = fmin(s->deepest, s->gap[c].gap);
    s->steps++;
    return STEPPED;
}

void stepper_begin_sum(stepper *s)
{
    memset(s->sum, 0, 3 * (size_t)s->contacts * sizeof *s->sum);
    s->span = 0.0;
}

int stepper_begin(stepper *s, int warm)
{
    if (!warm) {
        memset(s->acceleration, 0, (size_t)s->nv * sizeof *s->acceleration);
        memset(s->impulse, 0, 3 * (size_t)s->contacts * sizeof *s->impulse);
        memset(s->joint_impulse, 0, (size_t)s->nv * sizeof *s->joint_impulse);
    }
    s->hits = 0;
    stepper_begin_sum(s);
    return find_gaps(s, s->q, s->v, s->gap) && renew_energy(s) ? STEPPED : NOT_FINITE_STATE;
}

int stepper_advance(stepper *s, const double *tau, double duration, double *left)
{
    const double shortest = SMALLEST * duration;
    double longest = INFINITY, accurate = INFINITY;
    s->calm = 0;
    for (int cuts = 0; *left > shortest; cuts++) {
        const int whole = cuts > MOST_CUTS || s->hits >= MOST_CUTS;
        if (!whole && needs_impact(s)) {
            s->hits++;
            return resolve_impact(s, duration);
        }
        double h = fmin(*left, fmin(longest, accurate));
        s->lenient = h <= LEAST * duration;
        if (whole) {
            if (h > 0.01 * duration) h = 0.01 * duration; /* its displacements are of first order only */
            double fastest = SLOW;
            for (int c = 0; c < s->contacts; c++) fastest = fmax(fastest, fabs(s->gap[c].rate));
            mark_closed(s, 2.0 * h * fastest);
        } else {
            mark_closed(s, s->reach);
            if (s->reach > 0.0) h = fmin(h, fmax(length_of_stop(s), LEAST * duration));
        }
        const double worst = s->worst_residual;
        const long failures = s->failures;
        int status = try_step(s, tau, h, whole);
        for (int k = 0; status == STEPPED && k < MOST_LOCATIONS; k++) {
            const double part = part_to_keep(s, whole), least = whole ? LEAST * duration : shortest;
            if (part == 1.0 || h <= least) break;
            h = fmax(h * (k < 4 ? part : fmin(part, 0.7)), least); /* interpolation may creep towards a curved gap */
            status = try_step(s, tau, h, whole);
            s->splits++;
        }
        if (status == STEPPED) status = accept(s, h);
        if (status == LIFTED || status == INACCURATE || status == NOT_FINITE_STATE) s->failures = failures, s->worst_residual = worst;
        if (status == INACCURATE || (status == NOT_FINITE_STATE && !s->lenient)) { /* light bodies turn far within the step */
            accurate = 0.25 * h, cuts--;
            continue;
        }
        if (status == LIFTED) { /* again without the push, or in shorter steps */
            if (!s->pushed) longest = 0.25 * h;
            s->calm = 1, cuts--;
            continue;
        }
        if (status != STEPPED) return status;
        longest = s->calm ? 4.0 * h : INFINITY;
        s->calm = 0;
        *left -= h;
    }
    s->hits = 0;
    return STEPPED;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

int stepper_allocate(stepper *s)
{
    const size_t nq = (size_t)s->nq, nv = (size_t)s->nv, contacts = (size_t)s->contacts, points = (size_t)s->points;
    const size_t joints = s->velocities.call ? (size_t)s->joints : 0, actuators = (size_t)s->actuators;
    const size_t results = (size_t)s->links * LINK_NUMBERS + (size_t)s->units * UNIT_NUMBERS + joints * (2 + nv);
    const size_t work = nv > 8 * points ? nv : 8 * points;
    s->depth = DEPTH;
    struct { double **place; size_t size; } arrays[] = {
        {&s->q, nq}, {&s->q_mid, nq}, {&s->q_next, nq}, {&s->v, nv}, {&s->v_next, nv}, {&s->v_free, nv}, {&s->v_mean, nv},
        {&s->v_guess, nv}, {&s->acceleration, nv}, {&s->M, nv * nv}, {&s->L, nv * nv}, {&s->b, nv}, {&s->rhs, work},
        {&s->out, results}, {&s->position, 3 * points}, {&s->velocity, 3 * points}, {&s->impulse, 3 * contacts}, {&s->joint_impulse, nv},
        {&s->sum, 3 * contacts}, {&s->v_before, nv}, {&s->impact, 3 * contacts}, {&s->rate_before, contacts},
        {&s->velocity_before, 3 * points}, {&s->D, joints ? nv * nv : 0}, {&s->Ja, joints ? actuators * nv : 0},
        {&s->force_of_tau, joints ? nv : 0}, {&s->joint_velocity, joints}, {&s->q_closed, joints ? nq : 0},
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        if (!(*arrays[k].place = calloc(arrays[k].size + 1, sizeof(double)))) return 0;
    s->gap = calloc(contacts + 1, sizeof *s->gap), s->gap_next = calloc(contacts + 1, sizeof *s->gap);
    s->row = calloc(contacts + 1, sizeof *s->row), s->active = calloc(contacts + 1, sizeof *s->active);
    return s->gap && s->gap_next && s->row && s->active && make_room(s, 64);
}

void stepper_free(stepper *s)
{
    void *arrays[] = {s->q, s->q_mid, s->q_next, s->v, s->v_next, s->v_free, s->v_mean, s->v_guess, s->acceleration, s->M, s->L,
        s->b, s->rhs, s->out, s->position, s->velocity, s->impulse, s->joint_impulse, s->sum, s->v_before, s->impact, s->rate_before, s->velocity_before, s->gap, s->gap_next, s->row,
        s->active, s->J, s->Y, s->G, s->c, s->block, s->solver_work, s->joint, s->entry, s->unit, s->parent, s->first_unit, s->point,
        s->surface, s->limit, s->damping, s->friction, s->D, s->Ja, s->force_of_tau, s->joint_velocity, s->q_closed};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
}

/* ---- for motion between events (motion.c) ----------------------------------------------------------------------- */

int stepper_gaps(stepper *s, const double *q, const double *v, stepping_gap *gap)
{
    return find_gaps(s, q, v, gap);
}

double *stepper_rows(stepper *s, const stepping_gap *gap)
{
    return build_rows(s, gap, 0.0) ? bias_of(s) : NULL;
}

void stepper_tangents(const double *normal, double *a, double *b)
{
    tangents(normal, a, b);
}

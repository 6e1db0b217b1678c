/* Time stepping of a robot with contacts: see stepping.c. */
#ifndef APPELL_STEPPING_H
#define APPELL_STEPPING_H
#include <stdint.h>

#include "contact.h"

typedef int (*stepping_kernel)(const void *const *in, void *out, void *work);

typedef struct {
    stepping_kernel call;
    void *work;
} stepping_function;

enum { UNSOLVED = 16 };                    /* searches that are remembered */
enum { FLOATING, SPHERICAL, PLANAR };      /* joints with quasi-velocities */
enum { PLANE, NORM, GENERAL, ELLIPSE };    /* surfaces: n . (p - c), |S (p - c)| - R, those of a function, |S (p - c)| = 1 */
enum { LINK_NUMBERS = 24, UNIT_NUMBERS = 6 }; /* results of the motion kernel per link and per unit twist */

typedef struct {
    int link; /* -1: fixed in the world */
    double offset[3], radius, axis[3]; /* of a circle: the axis in the link; of a sphere zero */
} stepping_point;

typedef struct {
    int kind;
    double sign, radius, centre[3], S[9], friction, restitution; /* S: rows; of a plane its normal first */
} stepping_surface;

typedef struct {
    int q, v;
    double lower, upper;
} stepping_limit;

typedef struct {
    double gap, normal[3], rate, curvature; /* rate: of the gap */
    double arm[3], arm_rate[3];             /* from the point to where it touches, and how that moves over the body */
} stepping_gap;

typedef struct stepper {
    int nq, nv, links, units, points, surfaces, limits, quasi, plain, contacts; /* contacts: also joint limits, two each */
    int joints, actuators;      /* velocities of all joints, forces of actuators: both nv without closed loops */
    stepping_function mass, bias, motion, kinetic, potential;
    stepping_function velocities, closure, actuation, dampings; /* of closed loops only: see stepping.c */
    int (*joint)[3];  /* quasi-velocity joints: kind, index in q, index among the velocities of joints */
    int (*entry)[2];  /* other coordinates: index in q, index among the velocities of joints */
    int (*unit)[2];   /* unit twists: link, index in qd */
    int *parent, *first_unit; /* of links; the units of link i are first_unit[i] to first_unit[i + 1] */
    stepping_point *point;
    stepping_surface *surface;
    stepping_limit *limit;
    double *damping, *friction; /* of the joints, (nv) */
    double *D, *Ja, *force_of_tau, *joint_velocity, *q_closed; /* work arrays of closed loops */
    const double *forces; /* generalized ones of the actuators in the last step (nv) */
    double tolerance, acceptable; /* residuals of the contact solver: aimed at, and that will do [m/s] */
    int most;                   /* iterations of the contact solver */
    double depth;               /* gap up to which a contact is closed, and that none is deeper than [m, rad] */
    double reach;               /* open contacts with gaps up to this beyond depth have rows, and may close slowly [m, rad] */
    int (*general)(struct stepper *, int surface); /* gaps of a surface given by a function */
    void *owner;
    /* state, results and work arrays */
    double *q, *v, *q_mid, *q_next, *v_next, *v_free, *v_mean, *v_guess, *acceleration, *M, *L, *b, *rhs, *out;
    double *position, *velocity; /* of points (points, 3) */
    stepping_gap *gap, *gap_next;
    int *row, *active;           /* first row of each contact or -1; contacts with rows */
    int actives, rows, blocks, capacity;
    double *J, *Y, *G, *c, *p, *w;
    contact_block *block;
    void *solver_work;
    double *impulse, *joint_impulse; /* warm start of contacts (contacts, 3), and of joint friction (nv), per time */
    double *sum, span; /* impulses on points, world axes (contacts, 3), and the time in which they were given */
    int hits;        /* impacts of the step so far */
    int pushed, calm, lenient; /* whether deep contacts are pushed out in a step; must not be; whether it may gain energy */
    double energy;   /* kinetic plus potential */
    double work[3];  /* of actuators, joints, contact since the start */
    /* the last impact */
    double *v_before, *impact; /* impulses in world axes (contacts, 3), zero where there is none */
    double *rate_before, *velocity_before, energy_before; /* rates of gaps (contacts), velocities of points (points, 3) */
    double worst_residual, deepest;
    long steps, splits, impacts, failures;
    uint64_t unsolved[UNSOLVED]; /* digests of the last searches for angles of friction that found none (motion.c) */
    unsigned next_unsolved;
} stepper;

enum { STEPPED, IMPACT, NOT_FINITE_STATE, NO_ROOM, LIFTED, INACCURATE };

int stepper_allocate(stepper *s);
void stepper_free(stepper *s);

/* Advance q, v by a time under constant forces tau (nv), in one step cut at impacts. *left is what remains after an impact. */
int stepper_advance(stepper *s, const double *tau, double duration, double *left);

/* Gaps at q, v: called before the first step; `warm`: accelerations and impulses of the last step are near those of the next. */
int stepper_begin(stepper *s, int warm);

/* Begin to sum impulses anew. */
void stepper_begin_sum(stepper *s);

/* All gaps at q, v; 0 where something is not finite. */
int stepper_gaps(stepper *s, const double *q, const double *v, stepping_gap *gap);

/* Rows of the active contacts at the state of the last `stepper_gaps`: J and blocks; dJ/dt v is returned, NULL without memory. */
double *stepper_rows(stepper *s, const stepping_gap *gap);

/* M, and of closed loops the matrix of damping, at q; 0 where something is not finite. */
int stepper_mass(stepper *s, const double *q);

/* Generalized forces (nv) of actuator forces tau at q, NULL where something is not finite. */
const double *stepper_forces(stepper *s, const double *q, const double *tau);

/* Velocities of all joints, NULL where something is not finite. */
const double *stepper_velocities(stepper *s, const double *q, const double *v);

/* Entry k of D v with the damping D. */
static inline double stepper_damping(const stepper *s, int k, const double *v)
{
    if (!s->dampings.call) return s->damping[k] * v[k];
    double sum = 0.0;
    for (int i = 0; i < s->nv; i++) sum += s->D[(size_t)k * s->nv + i] * v[i];
    return sum;
}

/* Two unit vectors normal to a unit vector, as the rows of contacts use them. */
void stepper_tangents(const double *normal, double *a, double *b);
#endif

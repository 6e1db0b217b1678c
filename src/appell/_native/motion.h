/* Motion between events: see motion.c. */
#ifndef APPELL_MOTION_H
#define APPELL_MOTION_H
#include "mode.h"
#include "stepping.h"

/* A contact whose slip is stiff: directions along and across it in its tangents, speed, and the angle between friction and slip. */
typedef struct {
    int contact;
    double along[2], across[2], speed, ahead, size; /* ahead: time that friction looks ahead [s]; size: of `value` [m/s] */
    double angle, value, slope, change;
} stiff_slip;

typedef struct {
    stepper *s;
    int contacts, joints;  /* closed contacts, sticking joints */
    int *index, *state;    /* of contacts: number, MODE_STICK or MODE_SLIP */
    int *carries;          /* of contacts: whether they carry load; those that do not stay closed by others */
    double *reference;     /* directions of slip at the start of a step, world axes (contacts, 3) */
    double *opposed;       /* directions that friction of stiff slip acts against there, or zero (contacts, 3) */
    double *slack;         /* of slip that starts at rest: speeds up to which references are kept, and that it may reach against
                              them; of others: negative speeds, below which it ends where it turns [m/s] (contacts) */
    double *load;          /* forces that those of dependent rows are near to: of contacts in world axes, (0, 0, f) of joints
                              and limits (contacts + joints, 3) */
    int *joint;            /* indices of sticking joints */
    double look_ahead;     /* time within which slip is not turned [s] */
    double *friction;      /* generalized forces of friction in slipping joints (nv) */
    double damping_time;   /* accelerations are those with damping D (v + damping_time qdd) [s] */
    double *added;         /* the same for single joints: damping times time (nv) */
    /* results of motion_evaluate */
    double *qdd, *f, *bias; /* accelerations, forces and dJ/dt v by rows */
    int *states, *loaded, capacity; /* states of all blocks, and the same with contacts that carry no load open */
    double *d, *work, *z, *near; /* near: loads by rows */
    mode rows;
    stiff_slip *stiff;        /* (contacts) */
    double *turns;            /* work memory of their angles */
    int *order;
} motion;

/* Accelerations and forces at a state (q, v) under actuator forces tau; 0 where something is not finite, -1 without memory. */
int motion_evaluate(motion *m, const double *q, const double *v, const double *tau);

/* v without the velocities that the rows of the mode do not allow, and the range of its gaps and 0. */
int motion_project(motion *m, const double *q, double *v, double gaps[2]);

/* Rates of (q, v, work of actuators, passive forces and contact) at y; the works where `works` is set. */
int motion_rate(motion *m, const double *y, const double *tau, int works, double *rate);

/* The state vector y after a linearly implicit Euler step of h, in place. */
int motion_implicit_step(motion *m, double *y, const double *tau, int works, double h);

/* How far forces are from leaving their bounds, with a tolerance, and the least slip along its reference plus its slack. */
void motion_margins(const motion *m, const double *v, double tolerance, double *forces, double *slip);

/* Take the directions of slip at a state as references, of points faster than their slack, and those of friction as the ones
   near which others are searched. */
int motion_refer(motion *m, const double *q, const double *v, const double *tau);
#endif

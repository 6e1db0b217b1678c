/* Motion between events as a type of Python: arrays of numbers in and out, through the buffer protocol. */
#include "motion_call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mode.h"
#include "motion.h"
#include "stepping_call.h"

enum { ARRAYS = 8 };

typedef struct {
    PyObject_HEAD
    motion m;
    PyObject *stepper;
    int works;
} Motion;

/* Whether a call has so many arguments. */
static int takes(PyObject *arguments, Py_ssize_t count)
{
    if (PyTuple_GET_SIZE(arguments) == count) return 1;
    PyErr_Format(PyExc_TypeError, "a method of a motion takes %zd arguments", count);
    return 0;
}

static PyObject *status_of(int status)
{
    if (PyErr_Occurred()) return NULL;
    return status < 0 ? PyErr_NoMemory() : PyBool_FromLong(status);
}

static void *copy_of(const Py_buffer *view)
{
    void *copy = malloc((size_t)view->len + sizeof(double));
    if (copy) memcpy(copy, view->buf, (size_t)view->len);
    return copy;
}

static int inside(const int *numbers, int count, int size)
{
    for (int k = 0; k < count; k++)
        if (numbers[k] < 0 || numbers[k] >= size) return 0;
    return 1;
}

/* Motion(stepper, index, states, carries, slack, reference, joints, friction, loads, added, works, look_ahead) */
static PyObject *motion_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)keywords;
    if (!takes(arguments, 12)) return NULL;
    PyObject *const *given = &PyTuple_GET_ITEM(arguments, 0);
    if (!PyObject_TypeCheck(given[0], &appell_stepper_type)) return PyErr_Format(PyExc_TypeError, "a motion needs a Stepper");
    stepper *s = appell_stepper_of(given[0]);
    const Py_ssize_t sizes[9] = {-1, -1, -1, -1, -1, -1, s->nv, -1, s->nv};
    Py_buffer view[9];
    if (!appell_view_arrays(given + 1, "iiiddiddd", sizes, 0, view)) return NULL;
    Motion *self = (Motion *)type->tp_alloc(type, 0);
    if (!self) {
        appell_release_views(view, 9);
        return NULL;
    }
    motion *m = &self->m;
    m->s = s, m->contacts = (int)(view[0].len / view[0].itemsize), m->joints = (int)(view[5].len / view[5].itemsize);
    m->index = copy_of(view), m->state = copy_of(view + 1), m->carries = copy_of(view + 2), m->slack = copy_of(view + 3);
    m->reference = copy_of(view + 4), m->joint = copy_of(view + 5), m->friction = copy_of(view + 6), m->load = copy_of(view + 7);
    m->added = copy_of(view + 8);
    m->qdd = calloc((size_t)s->nv + 1, sizeof(double));
    m->z = calloc((size_t)s->nv + 1, sizeof(double)), m->order = calloc((size_t)m->contacts + 1, sizeof(int));
    m->stiff = calloc((size_t)m->contacts + 1, sizeof(stiff_slip)), m->opposed = calloc((size_t)m->contacts * 3 + 1, sizeof(double));
    const int fits = view[1].len == view[0].len && view[2].len == view[0].len && view[3].len == 2 * view[0].len &&
        view[4].len == 6 * view[0].len && view[7].len == 24 * (Py_ssize_t)(m->contacts + m->joints);
    appell_release_views(view, 9);
    self->stepper = Py_NewRef(given[0]);
    self->works = PyObject_IsTrue(given[10]);
    m->look_ahead = PyFloat_AsDouble(given[11]);
    if (!m->index || !m->state || !m->carries || !m->reference || !m->joint || !m->friction || !m->load || !m->slack || !m->qdd || !m->z || !m->order ||
        !m->stiff || !m->opposed || !m->added) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    if (!fits || !inside(m->index, m->contacts, s->contacts) || !inside(m->joint, m->joints, s->nv)) {
        Py_DECREF(self);
        return PyErr_Format(PyExc_ValueError, "arrays of a motion do not match each other");
    }
    return (PyObject *)self;
}

static void motion_dealloc(Motion *self)
{
    PyTypeObject *type = Py_TYPE(self);
    const motion *m = &self->m;
    void *arrays[] = {m->index, m->state, m->carries, m->reference, m->slack, m->joint, m->friction, m->load, m->near, m->qdd, m->z, m->order, m->stiff, m->opposed, m->f, m->states,
        m->loaded, m->d, m->work, m->turns, m->added};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
    Py_XDECREF(self->stepper);
    type->tp_free((PyObject *)self);
}

static Py_ssize_t state_size(const Motion *self)
{
    return self->m.s->nq + self->m.s->nv + (self->works ? 3 : 0);
}

/* rate(y, tau, out) -> whether it is finite */
static PyObject *motion_rate_call(Motion *self, PyObject *arguments)
{
    Py_buffer view[3];
    const Py_ssize_t sizes[3] = {state_size(self), self->m.s->actuators, state_size(self)};
    if (!takes(arguments, 3) || !appell_view_arrays(&PyTuple_GET_ITEM(arguments, 0), "ddd", sizes, 1, view)) return NULL;
    const int status = motion_rate(&self->m, view[0].buf, view[1].buf, self->works, view[2].buf);
    appell_release_views(view, 3);
    return status_of(status);
}

/* stages(y, tau, A, K, h, done): rates K (s, m) of the stages from `done` on, y + h A K -> whether all are finite */
static PyObject *motion_stages(Motion *self, PyObject *arguments)
{
    Py_buffer view[4];
    const Py_ssize_t m = state_size(self), sizes[4] = {m, self->m.s->actuators, -1, -1};
    if (!takes(arguments, 6)) return NULL;
    const double h = PyFloat_AsDouble(PyTuple_GET_ITEM(arguments, 4));
    const long done = PyLong_AsLong(PyTuple_GET_ITEM(arguments, 5));
    if (PyErr_Occurred() || !appell_view_arrays(&PyTuple_GET_ITEM(arguments, 0), "dddd", sizes, 1, view)) return NULL;
    const Py_ssize_t s = view[3].len / ((Py_ssize_t)sizeof(double) * m);
    double *point = malloc((size_t)(m + 1) * sizeof *point), *K = view[3].buf;
    const double *A = view[2].buf, *y = view[0].buf;
    int status = point ? 1 : -1;
    if (view[2].len != s * s * (Py_ssize_t)sizeof(double) || done < 0)
        PyErr_SetString(PyExc_ValueError, "coefficients and rates of a motion do not match each other");
    else
        for (Py_ssize_t i = done; status == 1 && i < s; i++) {
            memcpy(point, y, (size_t)m * sizeof *point);
            for (Py_ssize_t j = 0; j < i; j++) {
                const double factor = h * A[i * s + j];
                if (factor != 0.0)
                    for (Py_ssize_t k = 0; k < m; k++) point[k] += factor * K[j * m + k];
            }
            status = motion_rate(&self->m, point, view[1].buf, self->works, K + i * m);
        }
    free(point);
    appell_release_views(view, 4);
    return status_of(status);
}

/* implicit_step(tau, y, h): a linearly implicit Euler step of y, in place -> whether it is finite */
static PyObject *motion_implicit_step_call(Motion *self, PyObject *arguments)
{
    Py_buffer view[2];
    const Py_ssize_t sizes[2] = {self->m.s->actuators, state_size(self)};
    if (!takes(arguments, 3)) return NULL;
    const double h = PyFloat_AsDouble(PyTuple_GET_ITEM(arguments, 2));
    if (PyErr_Occurred() || !appell_view_arrays(&PyTuple_GET_ITEM(arguments, 0), "dd", sizes, 1, view)) return NULL;
    const int status = motion_implicit_step(&self->m, view[1].buf, view[0].buf, self->works, h);
    appell_release_views(view, 2);
    return status_of(status);
}

/* margins(y, tau, tolerance) -> (margin of forces, least slip): negative where the mode has ended, NaN where it is not finite */
static PyObject *motion_margins_call(Motion *self, PyObject *arguments)
{
    Py_buffer view[2];
    const Py_ssize_t sizes[2] = {state_size(self), self->m.s->actuators};
    if (!takes(arguments, 3)) return NULL;
    const double tolerance = PyFloat_AsDouble(PyTuple_GET_ITEM(arguments, 2));
    if (PyErr_Occurred() || !appell_view_arrays(&PyTuple_GET_ITEM(arguments, 0), "dd", sizes, 0, view)) return NULL;
    const double *y = view[0].buf, *v = y + self->m.s->nq;
    double forces = NAN, slip = NAN;
    const int status = motion_evaluate(&self->m, y, v, view[1].buf);
    if (status == 1) motion_margins(&self->m, v, tolerance, &forces, &slip);
    appell_release_views(view, 2);
    if (PyErr_Occurred()) return NULL;
    return status < 0 ? PyErr_NoMemory() : Py_BuildValue("dd", forces, slip);
}

/* refer(y, tau): slip may turn against its directions at y from now on -> whether they are finite */
static PyObject *motion_refer_call(Motion *self, PyObject *arguments)
{
    Py_buffer view[2];
    const Py_ssize_t sizes[2] = {state_size(self), self->m.s->actuators};
    if (!takes(arguments, 2) || !appell_view_arrays(&PyTuple_GET_ITEM(arguments, 0), "dd", sizes, 0, view)) return NULL;
    const double *y = view[0].buf;
    const int status = motion_refer(&self->m, y, y + self->m.s->nq, view[1].buf);
    appell_release_views(view, 2);
    return status_of(status);
}

/* forces(y, tau, qdd, f, d): accelerations, and by contact in world axes (contacts, 3) the forces on the points and the unit
   directions that friction of slipping ones acts against -> whether they are finite */
static PyObject *motion_forces(Motion *self, PyObject *arguments)
{
    Py_buffer view[5];
    motion *m = &self->m;
    const stepper *s = m->s;
    const Py_ssize_t sizes[5] = {state_size(self), s->actuators, s->nv, 3 * m->contacts, 3 * m->contacts};
    if (!takes(arguments, 5) || !appell_view_arrays(&PyTuple_GET_ITEM(arguments, 0), "ddddd", sizes, 3, view)) return NULL;
    const double *y = view[0].buf;
    const int status = motion_evaluate(m, y, y + s->nq, view[1].buf);
    memcpy(view[2].buf, m->qdd, (size_t)s->nv * sizeof(double));
    for (int k = 0; status == 1 && k < m->contacts; k++) {
        const contact_block *block = s->block + k;
        const double *f = m->f + block->first, *n = s->gap_next[m->index[k]].normal, *d = m->d + 2 * k;
        double *out = (double *)view[3].buf + 3 * k, *against = (double *)view[4].buf + 3 * k, a[3], b[3];
        stepper_tangents(n, a, b);
        for (int i = 0; i < 3; i++) {
            out[i] = (block->size == 3 ? f[0] * a[i] + f[1] * b[i] : 0.0) + f[block->size - 1] * n[i];
            against[i] = -(d[0] * a[i] + d[1] * b[i]);
        }
    }
    appell_release_views(view, 5);
    return status_of(status);
}

/* project(q, v) -> range of the gaps and 0, NaN where it is not finite; v is written */
static PyObject *motion_project_call(Motion *self, PyObject *arguments)
{
    Py_buffer view[2];
    const Py_ssize_t sizes[2] = {self->m.s->nq, self->m.s->nv};
    if (!takes(arguments, 2) || !appell_view_arrays(&PyTuple_GET_ITEM(arguments, 0), "dd", sizes, 1, view)) return NULL;
    double gaps[2];
    const int status = motion_project(&self->m, view[0].buf, view[1].buf, gaps);
    appell_release_views(view, 2);
    if (PyErr_Occurred()) return NULL;
    if (status < 0) return PyErr_NoMemory();
    return status ? Py_BuildValue("dd", gaps[0], gaps[1]) : Py_BuildValue("dd", NAN, NAN);
}

/* gaps(stepper, q, qd, out): gaps and their rates (N, contacts, 2) at states (N, nq), (N, nv) -> whether they are finite */
static PyObject *motion_gaps(PyObject *type, PyObject *arguments)
{
    (void)type;
    Py_buffer view[3];
    if (!takes(arguments, 4) || !PyObject_TypeCheck(PyTuple_GET_ITEM(arguments, 0), &appell_stepper_type))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "gaps needs a Stepper");
    stepper *s = appell_stepper_of(PyTuple_GET_ITEM(arguments, 0));
    const Py_ssize_t any[3] = {-1, -1, -1};
    if (!appell_view_arrays(&PyTuple_GET_ITEM(arguments, 1), "ddd", any, 1, view)) return NULL;
    const Py_ssize_t n = view[0].len / ((Py_ssize_t)sizeof(double) * s->nq);
    const double *q = view[0].buf, *v = view[1].buf;
    double *out = view[2].buf;
    int status = 1;
    if (view[1].len != n * s->nv * 8 || view[2].len != n * s->contacts * 16)
        PyErr_SetString(PyExc_ValueError, "states and gaps do not match each other");
    else
        for (Py_ssize_t i = 0; status == 1 && i < n; i++) {
            status = stepper_gaps(s, q + i * s->nq, v + i * s->nv, s->gap_next);
            for (int c = 0; c < s->contacts; c++) *out++ = s->gap_next[c].gap, *out++ = s->gap_next[c].rate;
        }
    appell_release_views(view, 3);
    return status_of(status);
}

/* contacts(stepper, q, qd, gap, normal, velocity, J, bias, curvature): all contacts at one state, world axes; those without
   friction have the normal part of J and bias alone, joint limits act along z -> whether they are finite */
static PyObject *motion_contacts(PyObject *type, PyObject *arguments)
{
    (void)type;
    Py_buffer view[8];
    if (!takes(arguments, 9) || !PyObject_TypeCheck(PyTuple_GET_ITEM(arguments, 0), &appell_stepper_type))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "contacts needs a Stepper");
    stepper *s = appell_stepper_of(PyTuple_GET_ITEM(arguments, 0));
    const Py_ssize_t c = s->contacts, sizes[8] = {s->nq, s->nv, c, 3 * c, 3 * c, 3 * c * s->nv, 3 * c, c};
    if (!appell_view_arrays(&PyTuple_GET_ITEM(arguments, 1), "dddddddd", sizes, 6, view)) return NULL;
    double *gap = view[2].buf, *normal = view[3].buf, *velocity = view[4].buf, *J = view[5].buf, *acceleration = view[6].buf;
    double *curvature = view[7].buf, *bias = NULL;
    int status = stepper_gaps(s, view[0].buf, view[1].buf, s->gap_next);
    s->actives = (int)c;
    for (int k = 0; k < c; k++) s->active[k] = k;
    if (status == 1 && !(bias = stepper_rows(s, s->gap_next))) status = -1;
    for (int k = 0; status == 1 && k < c; k++) {
        const int limit = k >= s->surfaces * s->points;
        const contact_block *block = s->block + k;
        double *n = normal + 3 * k, axis[3][3] = {{0}};
        gap[k] = s->gap_next[k].gap, curvature[k] = 0.0;
        n[0] = n[1] = 0.0, n[2] = 1.0;
        if (!limit) memcpy(n, s->gap_next[k].normal, 3 * sizeof *n);
        for (int i = 0; i < 3; i++)
            velocity[3 * k + i] = limit ? n[i] * s->gap_next[k].rate : s->velocity[3 * (k % s->points) + i];
        if (block->size == 3) stepper_tangents(n, axis[0], axis[1]);
        memcpy(axis[block->size - 1], n, 3 * sizeof *n);
        for (int i = 0; i < 3; i++) {
            double *row = J + (size_t)(3 * k + i) * s->nv;
            memset(row, 0, (size_t)s->nv * sizeof *row);
            acceleration[3 * k + i] = 0.0;
            for (int r = 0; r < block->size; r++) {
                const double *from = s->J + (size_t)(block->first + r) * s->nv;
                for (int l = 0; l < s->nv; l++) row[l] += axis[r][i] * from[l];
                acceleration[3 * k + i] += axis[r][i] * bias[block->first + r];
            }
        }
        if (limit || s->point[k % s->points].radius == 0.0) continue;
        for (int i = 0; i < 3; i++) /* of the point that touches */
            velocity[3 * k + i] = 0.0;
        for (int i = 0; i < 3; i++)
            for (int l = 0; l < s->nv; l++)
                velocity[3 * k + i] += J[(size_t)(3 * k + i) * s->nv + l] * ((double *)view[1].buf)[l];
    }
    appell_release_views(view, 8);
    return status_of(status);
}

#define METHOD(function) (PyCFunction)(void (*)(void))function

static PyMethodDef methods[] = {
    {"rate", METHOD(motion_rate_call), METH_VARARGS, "rate(y, tau, out): rates of a state vector; whether they are finite."},
    {"stages", METHOD(motion_stages), METH_VARARGS,
        "stages(y, tau, A, K, h, done): rates K of the stages of a Runge-Kutta step; whether they are finite."},
    {"implicit_step", METHOD(motion_implicit_step_call), METH_VARARGS,
        "implicit_step(tau, y, h): a linearly implicit Euler step of a state vector; whether it is finite."},
    {"margins", METHOD(motion_margins_call), METH_VARARGS,
        "margins(y, tau, tolerance) -> (forces, slip): how far forces and slip are from ending the mode."},
    {"refer", METHOD(motion_refer_call), METH_VARARGS, "refer(y, tau): take the directions of slip as those that it may not turn against."},
    {"forces", METHOD(motion_forces), METH_VARARGS, "forces(y, tau, qdd, f, d): accelerations, contact forces and directions of slip that friction acts against, in world axes."},
    {"project", METHOD(motion_project_call), METH_VARARGS, "project(q, v) -> smallest and largest of the gaps and 0: remove what the mode does not allow from v."},
    {"gaps", METHOD(motion_gaps), METH_VARARGS | METH_STATIC, "gaps(stepper, q, qd, out): gaps and their rates."},
    {"contacts", METHOD(motion_contacts), METH_VARARGS | METH_STATIC,
        "contacts(stepper, q, qd, gap, normal, velocity, J, bias, curvature): all contacts at one state."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject appell_motion_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "appell._native.boundary.Motion",
    .tp_doc = "Motion of a robot with contacts in known states.",
    .tp_basicsize = sizeof(Motion),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = motion_new,
    .tp_dealloc = (destructor)motion_dealloc,
    .tp_methods = methods,
};

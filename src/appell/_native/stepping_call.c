/* Time stepping as a type of Python: arrays of numbers in and out, through the buffer protocol. */
#include "stepping_call.h"

#include "stepping.h"

#include <math.h>
#include <stddef.h>
#include <structmember.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_KERNELS = 5, LOOP_KERNELS = 8, KERNELS = 9, ALIGNMENT = 64, SURFACE_NUMBERS = 17 };
#define MOST_FRICTION 1e6 /* more is the same: residuals of the contact solver would be rounding errors of friction times slip */

typedef struct {
    PyObject_HEAD
    stepper s;
    PyObject *keep, *general; /* what holds the code of the kernels; a function of surface, positions, velocities, results */
    double left;              /* of a step that an impact has interrupted */
    void *memory[KERNELS];         /* work memory of the kernels */
} Stepper;

/* A copy of an array of numbers of a type; NULL with an error where it is something else. `count` is set. */
static void *copied(PyObject *given, char type, Py_ssize_t columns, int *rows)
{
    Py_buffer view;
    if (PyObject_GetBuffer(given, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return NULL;
    void *copy = NULL;
    if (!view.format || view.format[0] != type || view.format[1] || view.len % (columns * view.itemsize))
        PyErr_SetString(PyExc_ValueError, "an array of the stepper does not have the expected size and type");
    else if (!(copy = malloc((size_t)view.len + sizeof(double))))
        PyErr_NoMemory();
    else {
        memcpy(copy, view.buf, (size_t)view.len);
        *rows = (int)(view.len / (columns * view.itemsize));
    }
    PyBuffer_Release(&view);
    return copy;
}

static int read_points(Stepper *self, PyObject *given)
{
    double *numbers = copied(given, 'd', 8, &self->s.points);
    if (!numbers) return 0;
    self->s.point = calloc((size_t)self->s.points + 1, sizeof *self->s.point);
    int good = self->s.point != NULL;
    for (int k = 0; good && k < self->s.points; k++) {
        const double *row = numbers + 8 * k;
        self->s.point[k] = (stepping_point){(int)row[0], {row[1], row[2], row[3]}, row[4], {row[5], row[6], row[7]}};
        good = row[0] >= (row[5] || row[6] || row[7] ? 0.0 : -1.0) && row[0] < self->s.links;
    }
    free(numbers);
    if (!good) PyErr_SetString(PyExc_ValueError, "a point of the stepper is on no link");
    return good;
}

static int read_surfaces(Stepper *self, PyObject *given)
{
    double *numbers = copied(given, 'd', SURFACE_NUMBERS, &self->s.surfaces);
    if (!numbers) return 0;
    self->s.surface = calloc((size_t)self->s.surfaces + 1, sizeof *self->s.surface);
    for (int k = 0; self->s.surface && k < self->s.surfaces; k++) {
        const double *row = numbers + SURFACE_NUMBERS * k;
        stepping_surface *surface = self->s.surface + k;
        surface->kind = (int)row[0], surface->sign = row[1], surface->radius = row[2];
        memcpy(surface->centre, row + 3, sizeof surface->centre);
        memcpy(surface->S, row + 6, sizeof surface->S);
        surface->friction = fmin(row[15], MOST_FRICTION), surface->restitution = row[16];
    }
    free(numbers);
    if (!self->s.surface) PyErr_NoMemory();
    return self->s.surface != NULL;
}

static int read_limits(Stepper *self, PyObject *given)
{
    double *numbers = copied(given, 'd', 4, &self->s.limits);
    if (!numbers) return 0;
    self->s.limit = calloc((size_t)self->s.limits + 1, sizeof *self->s.limit);
    int good = self->s.limit != NULL;
    for (int k = 0; good && k < self->s.limits; k++) {
        const double *row = numbers + 4 * k;
        self->s.limit[k] = (stepping_limit){(int)row[0], (int)row[1], row[2], row[3]};
        good = row[0] >= 0.0 && row[0] < self->s.nq && row[1] >= 0.0 && row[1] < self->s.joints;
    }
    free(numbers);
    if (!good) PyErr_SetString(PyExc_ValueError, "a limit of the stepper is of no coordinate");
    return good;
}

/* Indices within their arrays. */
static int consistent(const stepper *s, int damping, int friction)
{
    int good = damping == s->nv && friction == s->nv;
    for (int k = 0; good && k < s->plain; k++)
        good = s->entry[k][0] >= 0 && s->entry[k][0] < s->nq && s->entry[k][1] >= 0 && s->entry[k][1] < s->joints;
    for (int k = 0; good && k < s->quasi; k++) {
        const int *joint = s->joint[k];
        const int nq = joint[0] == FLOATING ? 7 : joint[0] == SPHERICAL ? 4 : 3, nv = joint[0] == FLOATING ? 6 : 3;
        good = joint[0] >= FLOATING && joint[0] <= PLANAR && joint[1] >= 0 && joint[1] + nq <= s->nq && joint[2] >= 0 &&
            joint[2] + nv <= s->joints;
    }
    for (int k = 0; good && k < s->links; k++) good = s->parent[k] >= -1 && s->parent[k] < k;
    for (int k = 0; good && k < s->units; k++)
        good = s->unit[k][0] >= (k ? s->unit[k - 1][0] : 0) && s->unit[k][0] < s->links && s->unit[k][1] >= 0 && s->unit[k][1] < s->nv;
    return good;
}

static int read_kernel(Stepper *self, PyObject *kernels, int k, stepping_function *function)
{
    PyObject *pair = PyTuple_GET_ITEM(kernels, k);
    PyObject *address;
    Py_ssize_t work;
    if (!PyArg_ParseTuple(pair, "On", &address, &work)) return 0;
    function->call = (stepping_kernel)PyLong_AsVoidPtr(address);
    self->memory[k] = work < 0 ? NULL : malloc((size_t)work + 2 * ALIGNMENT);
    if (!function->call || !self->memory[k]) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a kernel of the stepper has no address");
        return 0;
    }
    function->work = (void *)(((size_t)self->memory[k] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return 1;
}

/* Five kernels; of closed loops three more, and one of damping. */
static int read_kernels(Stepper *self, PyObject *kernels)
{
    stepper *s = &self->s;
    stepping_function *all[KERNELS] = {&s->mass, &s->bias, &s->motion, &s->kinetic, &s->potential, &s->velocities, &s->closure,
        &s->actuation, &s->dampings};
    const Py_ssize_t count = PyTuple_GET_SIZE(kernels);
    if (count != TREE_KERNELS && count != LOOP_KERNELS && count != KERNELS) return 0;
    for (int k = 0; k < count; k++)
        if (!read_kernel(self, kernels, k, all[k])) return 0;
    return count > TREE_KERNELS || (s->joints == s->nv && s->actuators == s->nv);
}

/* Gaps of a surface given by a function of Python, into `rhs`. */
static int ask_general(stepper *s, int surface)
{
    Stepper *self = s->owner;
    PyGILState_STATE lock = PyGILState_Ensure();
    const Py_ssize_t vectors = 3 * s->points * (Py_ssize_t)sizeof(double);
    PyObject *result = PyObject_CallFunction(self->general, "iNNN", surface,
        PyMemoryView_FromMemory((char *)s->position, vectors, PyBUF_READ),
        PyMemoryView_FromMemory((char *)s->velocity, vectors, PyBUF_READ),
        PyMemoryView_FromMemory((char *)s->rhs, 8 * s->points * (Py_ssize_t)sizeof(double), PyBUF_WRITE));
    Py_XDECREF(result);
    PyGILState_Release(lock);
    return result != NULL;
}

static PyObject *stepper_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"kernels", "sizes", "joints", "entries", "units", "parents", "points", "surfaces", "limits", "damping",
        "friction", "tolerance", "acceptable", "most", "general", "keep", NULL};
    PyObject *kernels, *joints, *entries, *units, *parents, *points, *surfaces, *limits, *damping, *friction, *general, *keep;
    Stepper *self = (Stepper *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    stepper *s = &self->s;
    int dampings = 0, frictions = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!(iiii)OOOOOOOOOddiOO:Stepper", names, &PyTuple_Type, &kernels, &s->nq,
            &s->nv, &s->joints, &s->actuators, &joints, &entries, &units, &parents, &points, &surfaces, &limits, &damping, &friction, &s->tolerance, &s->acceptable, &s->most,
            &general, &keep) ||
        !read_kernels(self, kernels) || !(s->joint = copied(joints, 'i', 3, &s->quasi)) ||
        !(s->entry = copied(entries, 'i', 2, &s->plain)) || !(s->unit = copied(units, 'i', 2, &s->units)) ||
        !(s->parent = copied(parents, 'i', 1, &s->links)) || !read_points(self, points) || !read_surfaces(self, surfaces) ||
        !read_limits(self, limits) || !(s->damping = copied(damping, 'd', 1, &dampings)) ||
        !(s->friction = copied(friction, 'd', 1, &frictions)))
        goto failed;
    if (!consistent(s, dampings, frictions)) {
        PyErr_SetString(PyExc_ValueError, "arrays of the stepper do not match each other");
        goto failed;
    }
    s->first_unit = calloc((size_t)s->links + 2, sizeof *s->first_unit);
    if (!s->first_unit) goto no_memory;
    for (int i = 0, u = 0; i <= s->links; i++) {
        s->first_unit[i] = u;
        while (u < s->units && s->unit[u][0] == i) u++;
    }
    s->contacts = s->surfaces * s->points + 2 * s->limits;
    s->general = ask_general, s->owner = self;
    self->general = Py_NewRef(general), self->keep = Py_NewRef(keep);
    if (stepper_allocate(s)) return (PyObject *)self;
no_memory:
    PyErr_NoMemory();
failed:
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "kernels and sizes of the stepper do not match each other");
    Py_DECREF(self);
    return NULL;
}

static void stepper_dealloc(Stepper *self)
{
    PyTypeObject *type = Py_TYPE(self);
    stepper_free(&self->s);
    for (int k = 0; k < KERNELS; k++) free(self->memory[k]);
    Py_XDECREF(self->keep);
    Py_XDECREF(self->general);
    type->tp_free((PyObject *)self);
}

int appell_view_arrays(PyObject *const *given, const char *types, const Py_ssize_t *sizes, int written, Py_buffer *view)
{
    const int count = (int)strlen(types);
    for (int k = 0; k < count; k++) {
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (k >= count - written ? PyBUF_WRITABLE : 0);
        int good = !PyObject_GetBuffer(given[k], view + k, flags);
        if (good && (!view[k].format || view[k].format[0] != types[k] || view[k].format[1] ||
                        (sizes[k] >= 0 && view[k].len != sizes[k] * view[k].itemsize))) {
            PyErr_SetString(PyExc_ValueError, "an array of a motion does not have the expected size and type");
            PyBuffer_Release(view + k);
            good = 0;
        }
        if (!good) {
            appell_release_views(view, k);
            return 0;
        }
    }
    return 1;
}

void appell_release_views(Py_buffer *view, int count)
{
    for (int k = 0; k < count; k++) PyBuffer_Release(view + k);
}

static PyObject *stepper_start(Stepper *self, PyObject *arguments)
{
    stepper *s = &self->s;
    PyObject *given[2];
    Py_buffer view[2];
    int warm = 0;
    const Py_ssize_t sizes[2] = {s->nq, s->nv};
    if (!PyArg_ParseTuple(arguments, "OO|p:start", given, given + 1, &warm) || !appell_view_arrays(given, "dd", sizes, 0, view)) return NULL;
    memcpy(s->q, view[0].buf, (size_t)s->nq * sizeof(double));
    memcpy(s->v, view[1].buf, (size_t)s->nv * sizeof(double));
    appell_release_views(view, 2);
    self->left = 0.0;
    memset(s->work, 0, sizeof s->work);
    s->steps = s->splits = s->impacts = s->failures = 0;
    s->worst_residual = s->deepest = 0.0;
    if (stepper_begin(s, warm) == NOT_FINITE_STATE && !PyErr_Occurred())
        PyErr_SetString(PyExc_FloatingPointError, "the motion is not finite at the start");
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* Mean forces of the contacts since the last record, as rows (step, contact, x, y, z); returns how many. */
static int record_forces(stepper *s, int step, double *row)
{
    int count = 0;
    for (int c = 0; s->span > 0.0 && c < s->surfaces * s->points; c++) {
        const double *p = s->sum + 3 * c;
        if (p[0] == 0.0 && p[1] == 0.0 && p[2] == 0.0) continue;
        row[0] = step, row[1] = c;
        for (int k = 0; k < 3; k++) row[2 + k] = p[k] / s->span;
        row += 5, count++;
    }
    stepper_begin_sum(s);
    return count;
}

/* run(tau, dt, steps, q, qd, work, force) -> (steps done, status, time left of an interrupted step, rows of forces) */
static PyObject *stepper_run(Stepper *self, PyObject *arguments)
{
    stepper *s = &self->s;
    PyObject *given[5];
    Py_buffer view[5];
    double dt;
    int steps;
    if (!PyArg_ParseTuple(arguments, "OdiOOOO:run", given, &dt, &steps, given + 1, given + 2, given + 3, given + 4)) return NULL;
    if (steps < 0 || !(dt > 0.0)) return PyErr_Format(PyExc_ValueError, "steps and dt must be positive");
    const Py_ssize_t n = steps, sizes[5] = {s->actuators, n * s->nq, n * s->nv, n * 3, -1};
    if (!appell_view_arrays(given, "ddddd", sizes, 4, view)) return NULL;
    if (view[4].len < 5 * (Py_ssize_t)s->surfaces * s->points * (Py_ssize_t)sizeof(double)) {
        appell_release_views(view, 5);
        return PyErr_Format(PyExc_ValueError, "there are fewer rows of forces than contacts");
    }
    int done = 0, status = STEPPED, forces = 0;
    const int room = (int)(view[4].len / (5 * (Py_ssize_t)sizeof(double))) - s->surfaces * s->points;
    double *q = view[1].buf, *v = view[2].buf, *work = view[3].buf, *force = view[4].buf;
    Py_BEGIN_ALLOW_THREADS
    while (done < steps && forces <= room) {
        if (!(self->left > 0.0)) self->left = dt;
        status = stepper_advance(s, view[0].buf, dt, &self->left);
        if (status == IMPACT) forces += record_forces(s, done, force + 5 * (size_t)forces);
        if (status != STEPPED) break;
        self->left = 0.0;
        memcpy(q + (size_t)done * s->nq, s->q, (size_t)s->nq * sizeof *q);
        memcpy(v + (size_t)done * s->nv, s->v, (size_t)s->nv * sizeof *v);
        memcpy(work + 3 * (size_t)done, s->work, sizeof s->work);
        forces += record_forces(s, done, force + 5 * (size_t)forces);
        done++;
    }
    Py_END_ALLOW_THREADS
    appell_release_views(view, 5);
    if (PyErr_Occurred()) return NULL;
    if (status == NO_ROOM) return PyErr_NoMemory();
    return Py_BuildValue("iidi", done, status, self->left, forces);
}

/* read(name, out): a vector of the state or of the last impact. */
static PyObject *stepper_read(Stepper *self, PyObject *arguments)
{
    stepper *s = &self->s;
    const char *name;
    PyObject *given;
    Py_buffer view;
    if (!PyArg_ParseTuple(arguments, "sO:read", &name, &given)) return NULL;
    const struct { const char *name; const double *from; Py_ssize_t size; } vectors[] = {
        {"q", s->q, s->nq}, {"qd", s->v, s->nv}, {"work", s->work, 3}, {"qd_before", s->v_before, s->nv},
        {"impulses", s->impact, 3 * (Py_ssize_t)s->surfaces * s->points},
        {"rates_before", s->rate_before, s->contacts}, {"velocities_before", s->velocity_before, 3 * (Py_ssize_t)s->points},
    };
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        if (!strcmp(name, vectors[k].name)) {
            if (!appell_view_arrays(&given, "d", &vectors[k].size, 1, &view)) return NULL;
            memcpy(view.buf, vectors[k].from, (size_t)vectors[k].size * sizeof(double));
            PyBuffer_Release(&view);
            Py_RETURN_NONE;
        }
    if (strcmp(name, "gaps")) return PyErr_Format(PyExc_ValueError, "the stepper has no vector '%s'", name);
    const Py_ssize_t size = 5 * (Py_ssize_t)s->contacts; /* gap, rate, normal */
    if (!appell_view_arrays(&given, "d", &size, 1, &view)) return NULL;
    double *row = view.buf;
    for (int c = 0; c < s->contacts; c++, row += 5) {
        row[0] = s->gap[c].gap, row[1] = s->gap[c].rate;
        memcpy(row + 2, s->gap[c].normal, sizeof s->gap[c].normal);
    }
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))stepper_start, METH_VARARGS, "start(q, qd, warm=False): begin in this state, with the impulses of the last step as those to start from where `warm`."},
    {"run", (PyCFunction)(void (*)(void))stepper_run, METH_VARARGS,
        "run(tau, dt, steps, q, qd, work, force) -> (steps, status, time left, forces): steps under constant forces, until an impact."},
    {"read", (PyCFunction)(void (*)(void))stepper_read, METH_VARARGS, "read(name, out): a vector of the state or the last impact."},
    {NULL, NULL, 0, NULL},
};

#define NUMBER(name, type) {#name, type, offsetof(Stepper, s) + offsetof(stepper, name), READONLY, NULL}

static PyMemberDef members[] = {
    NUMBER(steps, T_LONG), NUMBER(splits, T_LONG), NUMBER(impacts, T_LONG), NUMBER(failures, T_LONG),
    NUMBER(worst_residual, T_DOUBLE), NUMBER(deepest, T_DOUBLE), NUMBER(energy, T_DOUBLE), NUMBER(energy_before, T_DOUBLE),
    {"depth", T_DOUBLE, offsetof(Stepper, s) + offsetof(stepper, depth), 0, NULL},
    {"reach", T_DOUBLE, offsetof(Stepper, s) + offsetof(stepper, reach), 0, NULL}, {NULL, 0, 0, 0, NULL},
};

PyTypeObject appell_stepper_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "appell._native.boundary.Stepper",
    .tp_doc = "Time stepping of a robot with contacts.",
    .tp_basicsize = sizeof(Stepper),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = stepper_new,
    .tp_dealloc = (destructor)stepper_dealloc,
    .tp_methods = methods,
    .tp_members = members,
};

struct stepper *appell_stepper_of(PyObject *object)
{
    return &((Stepper *)object)->s;
}

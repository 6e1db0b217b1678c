/* The call boundary: from NumPy arrays to compiled kernels and back, at little cost.

   Kernel    the addresses of one compiled kernel (appell/compiler/targets/llvm/kernel.py says what they compute) with its
             sizes. One of its two functions may be missing: then the general function answers.
   Function  stands before a Python method with the arguments (*state, parameters=, out=, check=, ...). Once it is bound to
             a kernel, plain arrays that need no conversion go straight there; everything else goes to the method, which
             also raises the error when a number is not finite or a quaternion not of unit length.

   A batch holds references to all that it uses: while it runs without the interpreter's lock, another thread may bind the
   Function again. Long batches are computed in portions, with a look at signals in between.

   A Function keeps its last results of single states. One that nobody else holds any more is written again by a later call: to
   make arrays takes as long as to compute them (docs/decisions/0020). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "contact_call.h"
#include "mode_call.h"
#include "motion_call.h"
#include "pool.h"
#include "stepping_call.h"
#include "uniform.h"

enum { INPUTS = 12, DIMENSIONS = 4, ALIGNMENT = 64, PORTIONS = 4 };
enum { KEPT = 2 }; /* the caller of a loop holds the last result while the next one is computed */
enum { NOT_FINITE = 1, NO_MEMORY = 2, NOT_OF_UNIT_LENGTH = 4, INTERRUPTED = 8 }; /* bits of the status of a call */
enum { MOST_ENTRIES = 1 << 30 }; /* of a result of one state */
enum { FIRST_GRAINS = 256 }; /* of a batch before the first look at signals: some milliseconds */
#define SHORT_PORTION 0.02 /* seconds between looks at signals, at least and at most */
#define LONG_PORTION 0.05
#define UNIT 2e-6 /* how far the square of a quaternion's length may be from 1: twice UNIT of appell/compiler/arrays.py */

typedef int (*one_function)(const void *const *in, void *out, void *work);
typedef int (*batch_function)(
    const void *const *in, const ptrdiff_t *step, const ptrdiff_t *pitch, void *out, ptrdiff_t n, void *work);

typedef struct {
    PyObject_HEAD
    one_function one;
    batch_function batch;
    size_t work;       /* bytes of scratch memory */
    void *scratch;     /* for single states, which run under the interpreter's lock */
    int type, inputs, dimensions, threads;
    npy_intp size[INPUTS], shape[DIMENSIONS], entries;
    npy_intp grain;    /* states that are worth waking a thread for; 0 where one is more than that */
    PyObject *library; /* keeps the code loaded */
} Kernel;

/* ---- running ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const Kernel *kernel;
    const char *in[INPUTS];
    char *out;
    ptrdiff_t step[INPUTS + 1], pitch[INPUTS + 1];
    const npy_intp *quaternion; /* where each one begins in the first input */
    npy_intp quaternions;       /* that must be of unit length */
} Job;

#ifdef _WIN32
#include <malloc.h>
#define release _aligned_free
#else
#define release free
#endif

static void *aligned(size_t bytes)
{
#ifdef _WIN32
    return _aligned_malloc(bytes + ALIGNMENT, ALIGNMENT);
#else
    void *memory = NULL;
    return posix_memalign(&memory, ALIGNMENT, bytes + ALIGNMENT) ? NULL : memory;
#endif
}

#define SQUARE(first, pitch) ((double)(first)[0] * (first)[0] + (double)(first)[pitch] * (first)[pitch] + \
    (double)(first)[2 * pitch] * (first)[2 * pitch] + (double)(first)[3 * pitch] * (first)[3 * pitch])

/* Whether every quaternion of the first input is of unit length, to six digits; one that is not finite passes. */
static int of_unit_length(const Job *job, npy_intp first, npy_intp last)
{
    const ptrdiff_t pitch = job->pitch[0];
    for (npy_intp i = first; i < last; i++)
        for (npy_intp k = 0; k < job->quaternions; k++) {
            const npy_intp place = i * job->step[0] + job->quaternion[k] * pitch;
            const double square = job->kernel->type == NPY_DOUBLE ? SQUARE((const double *)job->in[0] + place, pitch)
                                                                  : SQUARE((const float *)job->in[0] + place, pitch);
            if (square - 1.0 > UNIT || square - 1.0 < -UNIT) return 0;
        }
    return 1;
}

static int run_one(const Job *job)
{
    if (job->quaternions && !of_unit_length(job, 0, 1)) return NOT_OF_UNIT_LENGTH;
    return job->kernel->one((const void *const *)job->in, job->out, job->kernel->scratch);
}

/* The job of the states from `first` on. */
static Job from_state(const Job *job, ptrdiff_t first)
{
    const Kernel *kernel = job->kernel;
    const ptrdiff_t item = kernel->type == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    Job rest = *job;
    for (int k = 0; k < kernel->inputs; k++) rest.in[k] += first * job->step[k] * item;
    rest.out += first * job->step[kernel->inputs] * item;
    return rest;
}

static int run_states(const Job *job, ptrdiff_t first, ptrdiff_t last, void *work)
{
    if (job->quaternions && !of_unit_length(job, first, last)) return NOT_OF_UNIT_LENGTH;
    const Job rest = from_state(job, first);
    return job->kernel->batch((const void *const *)rest.in, rest.step, rest.pitch, rest.out, last - first, work);
}

static int run_piece(const void *given, ptrdiff_t first, ptrdiff_t last)
{
    const Job *job = given;
    void *work = aligned(job->kernel->work);
    if (!work) return NO_MEMORY;
    const int status = run_states(job, first, last, work);
    release(work);
    return status;
}

/* States split over threads, without the interpreter's lock. */
static int run_portion(const Job *job, ptrdiff_t n, int threads)
{
    const ptrdiff_t even = n / ((ptrdiff_t)threads * PORTIONS), least = job->kernel->grain > 0 ? job->kernel->grain : 1;
    const ptrdiff_t grain = even < least ? least : even;
    return appell_split(run_piece, job, n, threads == 1 ? n : (grain + 63) / 64 * 64, threads);
}

static double seconds(void)
{
    struct timespec now;
    return timespec_get(&now, TIME_UTC) ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec : 0.0;
}

static unsigned long main_thread; /* the one that handles signals */

/* Small batches run at once; others let Python go on and are split over threads. An error is set where INTERRUPTED. */
static int run_batch(const Job *job, ptrdiff_t n)
{
    const Kernel *kernel = job->kernel;
    if (n <= kernel->grain) return run_states(job, 0, n, kernel->scratch);
    const int threads = kernel->threads > 0 ? kernel->threads : appell_cores();
    ptrdiff_t portion = (kernel->grain * FIRST_GRAINS / 64 + 1) * 64 * threads, done = 0;
    if (PyThread_get_thread_ident() != main_thread) portion = n;
    int status = 0;
    for (;;) {
        const ptrdiff_t count = n - done < portion ? n - done : portion;
        const Job rest = from_state(job, done);
        Py_BEGIN_ALLOW_THREADS
        const double start = seconds();
        status |= run_portion(&rest, count, threads);
        const double taken = seconds() - start;
        if (taken < SHORT_PORTION && portion < n) portion *= 2;
        if (taken > LONG_PORTION && portion > 64 && portion < n) portion = portion / 128 * 64;
        Py_END_ALLOW_THREADS
        done += count;
        if (done == n) return status;
        if (PyErr_CheckSignals()) return INTERRUPTED;
    }
}

/* ---- Kernel ----------------------------------------------------------------------------------------------------- */

static int read_sizes(PyObject *tuple, npy_intp *sizes, int most, const char *what)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    if (count > most) {
        PyErr_Format(PyExc_ValueError, "a kernel has at most %d %s, got %zd", most, what, count);
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        sizes[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
        if (sizes[k] < 0) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "negative size among the %s", what);
            return -1;
        }
    }
    return (int)count;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"library", "one", "batch", "work", "sizes", "shape", "single", "threads", "grain", NULL};
    PyObject *library, *one, *batch, *sizes, *shape;
    Py_ssize_t work, grain;
    int single, threads;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO!O!nO!O!pin:Kernel", names, &library, &PyLong_Type, &one,
            &PyLong_Type, &batch, &work, &PyTuple_Type, &sizes, &PyTuple_Type, &shape, &single, &threads, &grain))
        return NULL;
    if (work < 0 || work > PY_SSIZE_T_MAX - 2 * ALIGNMENT) return PyErr_Format(PyExc_ValueError, "work is %zd bytes", work);
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->one = (one_function)PyLong_AsVoidPtr(one);
    self->batch = PyErr_Occurred() ? NULL : (batch_function)PyLong_AsVoidPtr(batch);
    if (PyErr_Occurred() || (!self->one && !self->batch)) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "a function of the kernel has no address");
    }
    self->work = (size_t)work;
    self->type = single ? NPY_FLOAT : NPY_DOUBLE;
    self->threads = threads;
    self->grain = grain > 0 ? grain : 0;
    self->inputs = read_sizes(sizes, self->size, INPUTS, "inputs");
    self->dimensions = self->inputs < 0 ? -1 : read_sizes(shape, self->shape, DIMENSIONS, "dimensions");
    self->entries = 1;
    for (int k = 0; k < self->dimensions; k++) {
        if (self->shape[k] && self->entries > MOST_ENTRIES / self->shape[k]) {
            PyErr_Format(PyExc_ValueError, "a result has too many entries");
            self->dimensions = -1;
        } else
            self->entries *= self->shape[k];
    }
    self->scratch = self->dimensions < 0 ? NULL : aligned(self->work);
    if (PyErr_Occurred() || !self->scratch) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    self->library = Py_NewRef(library);
    return (PyObject *)self;
}

static void kernel_dealloc(Kernel *self)
{
    release(self->scratch);
    Py_XDECREF(self->library);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Whether an array has the kernel's type and entries at multiples of their size. */
static int fits(const Kernel *kernel, PyArrayObject *array, int dimensions, npy_intp size)
{
    if (PyArray_TYPE(array) != kernel->type || PyArray_NDIM(array) != dimensions || !PyArray_ISBEHAVED_RO(array)) return 0;
    for (int k = 0; k < dimensions; k++)
        if (PyArray_STRIDE(array, k) % PyArray_ITEMSIZE(array)) return 0;
    return PyArray_DIM(array, dimensions - 1) == size;
}

static PyObject *kernel_run(Kernel *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyTuple_Check(arguments[0]) || !PyArray_Check(arguments[1]) ||
        PyTuple_GET_SIZE(arguments[0]) != self->inputs)
        return PyErr_Format(PyExc_TypeError, "run(inputs, out) takes a tuple of %d arrays and an array", self->inputs);
    PyArrayObject *out = (PyArrayObject *)arguments[1];
    const int dimensions = PyArray_NDIM(out);
    const npy_intp n = dimensions == 2 ? PyArray_DIM(out, 0) : 1;
    Job job = {.kernel = self, .out = PyArray_BYTES(out)};
    int good = (dimensions == 1 || dimensions == 2) && fits(self, out, dimensions, self->entries) && PyArray_ISWRITEABLE(out);
    for (int k = 0; good && k <= self->inputs; k++) {
        PyObject *given = k < self->inputs ? PyTuple_GET_ITEM(arguments[0], k) : arguments[1];
        PyArrayObject *array = (PyArrayObject *)given;
        good = PyArray_Check(given) && (k == self->inputs || fits(self, array, dimensions, self->size[k])) &&
            (dimensions == 1 || PyArray_DIM(array, 0) == n);
        if (!good) break;
        const npy_intp item = PyArray_ITEMSIZE(array);
        job.pitch[k] = PyArray_STRIDE(array, dimensions - 1) / item;
        job.step[k] = dimensions == 2 ? PyArray_STRIDE(array, 0) / item : 0;
        if (dimensions == 1 && job.pitch[k] != 1 && PyArray_SIZE(array) > 1) good = 0;
        if (k < self->inputs) job.in[k] = PyArray_BYTES(array);
    }
    if (!good) return PyErr_Format(PyExc_ValueError, "arrays do not have the shapes and types of this kernel");
    if (dimensions == 1 ? !self->one : !self->batch) return PyErr_Format(PyExc_ValueError, "this half was not compiled");
    const int status = dimensions == 1 ? run_one(&job) : run_batch(&job, n);
    if (status & INTERRUPTED) return NULL;
    if (status & NO_MEMORY) return PyErr_NoMemory();
    return PyBool_FromLong(!status);
}

static PyMethodDef kernel_methods[] = {
    {"run", (PyCFunction)(void (*)(void))kernel_run, METH_FASTCALL,
        "run(inputs, out): compute one state (1-D arrays, contiguous) or a batch (2-D); whether all numbers are finite."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "appell._native.boundary.Kernel",
    .tp_doc = "One compiled kernel.",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = kernel_new,
    .tp_dealloc = (destructor)kernel_dealloc,
    .tp_methods = kernel_methods,
};

/* ---- Function --------------------------------------------------------------------------------------------------- */

/* What a Function is bound to. A call that lets other threads run holds its references. */
typedef struct {
    Kernel *kernel;       /* NULL until there is one */
    PyObject *parameters; /* the last input where a call does not give it; None if there is no such input */
    PyObject *quaternions; /* bytes: where each quaternion of the first input begins, as npy_intp */
    PyObject *blocks;     /* type of named tuples of the blocks of a result; None where a result is one array */
    PyObject *widths;     /* bytes: columns of each block, as npy_intp */
    int rows;             /* whether batches are rows, (N, size), or columns, (size, N) */
} Binding;

static void hold(const Binding *binding)
{
    Py_XINCREF(binding->kernel);
    Py_XINCREF(binding->parameters);
    Py_XINCREF(binding->quaternions);
    Py_XINCREF(binding->blocks);
    Py_XINCREF(binding->widths);
}

static void let_go(const Binding *binding)
{
    Py_XDECREF(binding->kernel);
    Py_XDECREF(binding->parameters);
    Py_XDECREF(binding->quaternions);
    Py_XDECREF(binding->blocks);
    Py_XDECREF(binding->widths);
}

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *general;
    Binding binding;
    PyObject *kept[KEPT]; /* results of single states */
    int oldest;
} Function;

typedef struct {
    PyObject *parameters, *out, *check;
} Options;

static PyObject *name_of_parameters, *name_of_out, *name_of_check;

/* Whether this is an ordinary contiguous array of the kernel's type, with `dimensions` and `size` entries along `axis`. */
static inline int plain(const Kernel *kernel, PyObject *object, int dimensions, int axis, npy_intp size)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_TYPE(array) == kernel->type && PyArray_NDIM(array) == dimensions &&
        PyArray_DIM(array, axis) == size && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array);
}

/* Whether a result of this shape can be written straight into an array. */
static int takes_result(const Kernel *kernel, PyObject *object, int dimensions, const npy_intp *shape)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_TYPE(array) == kernel->type && PyArray_NDIM(array) == dimensions &&
        PyArray_CompareLists(PyArray_DIMS(array), shape, dimensions) && PyArray_IS_C_CONTIGUOUS(array) &&
        PyArray_ISBEHAVED(array);
}

/* Whether no input lies in the memory of the result. One state is read before it is written, a batch is not. */
static int apart(const Job *job, PyObject *result, npy_intp n)
{
    const npy_intp item = PyArray_ITEMSIZE((PyArrayObject *)result);
    const char *first = PyArray_BYTES((PyArrayObject *)result), *last = first + PyArray_NBYTES((PyArrayObject *)result);
    for (int k = 0; k < job->kernel->inputs; k++) {
        const npy_intp count = job->step[k] ? n : 1;
        if (job->in[k] < last && first < job->in[k] + count * job->kernel->size[k] * item) return 0;
    }
    return 1;
}

/* The options among the keywords; 0 where there are others, or a `check` that is no truth value. */
static int read_options(PyObject *keywords, PyObject *const *values, Options *options)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k);
        if (name == name_of_out) options->out = values[k];
        else if (name == name_of_check) options->check = values[k];
        else if (name == name_of_parameters) options->parameters = values[k];
        else return 0;
    }
    return options->check == Py_True || options->check == Py_False;
}

/* The blocks of a result side by side along an axis, as a named tuple of views; the result is used up. */
static PyObject *split(PyArrayObject *whole, const Binding *self, int axis)
{
    const npy_intp *width = (const npy_intp *)PyBytes_AS_STRING(self->widths);
    const Py_ssize_t count = PyBytes_GET_SIZE(self->widths) / (Py_ssize_t)sizeof(npy_intp);
    PyTypeObject *type = (PyTypeObject *)self->blocks;
    PyObject *result = type->tp_alloc(type, count);
    npy_intp shape[DIMENSIONS + 1];
    memcpy(shape, PyArray_DIMS(whole), (size_t)PyArray_NDIM(whole) * sizeof *shape);
    char *start = PyArray_BYTES(whole);
    for (Py_ssize_t k = 0; result && k < count; k++) {
        shape[axis] = width[k];
        PyArray_Descr *kind = PyArray_DESCR(whole);
        Py_INCREF(kind);
        PyObject *view = PyArray_NewFromDescr(&PyArray_Type, kind, PyArray_NDIM(whole), shape, PyArray_STRIDES(whole), start,
            NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE, NULL);
        start += width[k] * PyArray_STRIDE(whole, axis);
        if (view) PyTuple_SET_ITEM(result, k, view);
        if (!view || PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef((PyObject *)whole)) < 0) Py_CLEAR(result);
    }
    Py_DECREF(whole);
    return result;
}

/* Whether an array is as it was made, and only this library holds it. */
static int unheld(const PyArrayObject *array, Py_ssize_t holders, const PyArrayObject *whole)
{
    return Py_REFCNT(array) == holders && PyArray_CheckExact((PyObject *)array) && PyArray_TYPE(array) == PyArray_TYPE(whole) &&
        PyArray_NDIM(array) == PyArray_NDIM(whole) && PyArray_ISBEHAVED(array) &&
        PyArray_CompareLists(PyArray_STRIDES(array), PyArray_STRIDES(whole), PyArray_NDIM(whole)) &&
        !((const PyArrayObject_fields *)array)->weakreflist;
}

/* The array behind a result that was kept, to be written again; NULL where somebody else holds a part of it, or changed it. */
static PyArrayObject *unheld_array(PyObject *result, const Binding *self)
{
    const Kernel *kernel = self->kernel;
    const int split_up = self->blocks != Py_None;
    if (!result || Py_REFCNT(result) != 1) return NULL;
    const Py_ssize_t count = split_up ? PyTuple_GET_SIZE(result) : 1;
    PyArrayObject *whole = (PyArrayObject *)(
        !split_up ? result : count ? PyArray_BASE((PyArrayObject *)PyTuple_GET_ITEM(result, 0)) : NULL);
    if (!whole || !takes_result(kernel, (PyObject *)whole, kernel->dimensions, kernel->shape) ||
        !PyArray_CHKFLAGS(whole, NPY_ARRAY_OWNDATA) || !unheld(whole, count, whole))
        return NULL;
    const npy_intp *width = (const npy_intp *)PyBytes_AS_STRING(self->widths);
    const int axis = kernel->dimensions - 1;
    const char *start = PyArray_BYTES(whole);
    for (Py_ssize_t k = 0; split_up && k < count; k++) {
        const PyArrayObject *view = (PyArrayObject *)PyTuple_GET_ITEM(result, k);
        if (PyArray_BASE(view) != (PyObject *)whole || PyArray_BYTES(view) != start || !unheld(view, 1, whole) ||
            !PyArray_CompareLists(PyArray_DIMS(view), kernel->shape, axis) || PyArray_DIM(view, axis) != width[k])
            return NULL;
        start += width[k] * PyArray_STRIDE(whole, axis);
    }
    return whole;
}

/* A result that was kept and that nobody else holds, and the array behind it; NULL where there is none. */
static PyObject *kept_result(const Function *function, PyArrayObject **whole)
{
    for (int k = 0; k < KEPT; k++)
        if ((*whole = unheld_array(function->kept[k], &function->binding))) return function->kept[k];
    return NULL;
}

static void keep(Function *function, PyObject *result)
{
    PyObject *former = function->kept[function->oldest];
    function->kept[function->oldest] = Py_NewRef(result);
    function->oldest = (function->oldest + 1) % KEPT;
    Py_XDECREF(former);
}

static void forget(Function *function)
{
    for (int k = 0; k < KEPT; k++) Py_CLEAR(function->kept[k]);
}

/* The result, or NULL where the general function must answer. */
static PyObject *quick_call(Function *function, PyObject *const *inputs, const Options *options)
{
    const Binding binding = function->binding, *self = &binding;
    const Kernel *kernel = self->kernel;
    const int given_apart = self->parameters != Py_None, state = kernel->inputs - given_apart;
    const int check = options->check == Py_True;
    if (options->parameters != Py_None && !given_apart) return NULL;
    PyObject *last = options->parameters == Py_None ? self->parameters : options->parameters, *out = options->out;
    if (!PyArray_CheckExact(inputs[0])) return NULL;
    PyArrayObject *first = (PyArrayObject *)inputs[0];
    const int dimensions = PyArray_NDIM(first);
    if (dimensions != 1 && dimensions != 2) return NULL;
    if (dimensions == 1 ? !kernel->one : !kernel->batch) return NULL;
    const int batch = dimensions == 2, columns = batch && !self->rows;
    const int entry = batch && !columns, state_axis = columns; /* the axes of a batch */
    const npy_intp n = batch ? PyArray_DIM(first, state_axis) : 1;
    Job job = {.kernel = kernel};
    for (int k = 0; k < kernel->inputs; k++) {
        PyObject *given = k < state ? inputs[k] : last;
        const int for_all = k == state && plain(kernel, given, 1, 0, kernel->size[k]);
        if (!for_all && !plain(kernel, given, dimensions, entry, kernel->size[k])) return NULL;
        if (!for_all && batch && PyArray_DIM((PyArrayObject *)given, state_axis) != n) return NULL;
        job.in[k] = PyArray_BYTES((PyArrayObject *)given);
        job.step[k] = for_all ? 0 : columns ? 1 : kernel->size[k];
        job.pitch[k] = columns && !for_all ? n : 1;
    }
    job.step[kernel->inputs] = columns ? 1 : kernel->entries;
    job.pitch[kernel->inputs] = columns ? n : 1;
    if (check) {
        job.quaternion = (const npy_intp *)PyBytes_AS_STRING(self->quaternions);
        job.quaternions = PyBytes_GET_SIZE(self->quaternions) / (npy_intp)sizeof(npy_intp);
    }
    npy_intp shape[DIMENSIONS + 1];
    const int result_dimensions = kernel->dimensions + batch;
    for (int k = 0; k < kernel->dimensions; k++) shape[k + entry] = kernel->shape[k];
    if (batch) shape[columns ? kernel->dimensions : 0] = n;
    PyArrayObject *whole = NULL;
    const int keeps = !batch && kernel->dimensions && out == Py_None;
    PyObject *again = keeps ? kept_result(function, &whole) : NULL;
    if (again) {
        out = Py_NewRef((PyObject *)whole);
    } else if (out == Py_None) {
        out = PyArray_SimpleNew(result_dimensions, shape, kernel->type);
        if (!out) return NULL;
    } else if (takes_result(kernel, out, result_dimensions, shape) && (dimensions == 1 || apart(&job, out, n)))
        Py_INCREF(out);
    else
        return NULL;
    job.out = PyArray_BYTES((PyArrayObject *)out);
    const int held = batch || self->blocks != Py_None; /* another kernel may be bound while this one runs or arrays are made */
    if (held) hold(self);
    const int status = batch ? run_batch(&job, n) : run_one(&job); /* one state under the interpreter's lock */
    PyObject *result = NULL;
    if ((status & ~NOT_FINITE) || (status && check)) {
        Py_DECREF(out);
    } else if (again) {
        result = Py_NewRef(again);
        Py_DECREF(out);
    } else if (self->blocks != Py_None) {
        result = split((PyArrayObject *)out, self, kernel->dimensions - 1 + entry);
    } else {
        result = options->out == Py_None ? PyArray_Return((PyArrayObject *)out) : out;
    }
    if (result && keeps && !again && function->binding.kernel == kernel) keep(function, result);
    if (held) let_go(self);
    return result;
}

static PyObject *function_call(PyObject *object, PyObject *const *arguments, size_t count, PyObject *keywords)
{
    Function *self = (Function *)object;
    const Kernel *kernel = self->binding.kernel;
    const Py_ssize_t state = kernel ? kernel->inputs - (self->binding.parameters != Py_None) : 0;
    Options options = {Py_None, Py_None, Py_True};
    if (PyVectorcall_NARGS(count) == state && state && (!keywords || read_options(keywords, arguments + state, &options))) {
        PyObject *result = quick_call(self, arguments, &options);
        if (result || PyErr_Occurred()) return result;
    }
    return PyObject_Vectorcall(self->general, arguments, count, keywords);
}

/* What is not found here (__doc__, __name__, ...) is the method's. */
static PyObject *function_getattro(PyObject *object, PyObject *name)
{
    return PyObject_GetAttr(((Function *)object)->general, name);
}

static PyObject *function_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"general", NULL};
    PyObject *general;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:Function", names, &general)) return NULL;
    Function *self = (Function *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = function_call;
    self->general = Py_NewRef(general);
    return (PyObject *)self;
}

static int function_traverse(Function *self, visitproc visit, void *arg)
{
    Py_VISIT(self->general);
    return 0;
}

static int function_clear(Function *self)
{
    Py_XSETREF(self->general, Py_NewRef(Py_None)); /* it may still be called by what is cleared later */
    return 0;
}

static void function_dealloc(Function *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->general);
    let_go(&self->binding);
    forget(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "appell._native.boundary.Function",
    .tp_doc = "Function(general): calls a kernel where it can, the general function where it must.",
    .tp_basicsize = sizeof(Function),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_vectorcall_offset = offsetof(Function, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_getattro = function_getattro,
    .tp_new = function_new,
    .tp_traverse = (traverseproc)function_traverse,
    .tp_clear = (inquiry)function_clear,
    .tp_dealloc = (destructor)function_dealloc,
};

/* ---- module ----------------------------------------------------------------------------------------------------- */

/* Whole numbers of a tuple, or of none, as bytes of npy_intp; NULL with an error. */
static PyObject *packed(PyObject *numbers, const char *name)
{
    const Py_ssize_t count = numbers ? PyTuple_GET_SIZE(numbers) : 0;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(npy_intp));
    if (bytes && count && read_sizes(numbers, (npy_intp *)PyBytes_AS_STRING(bytes), (int)count, name) < 0) Py_CLEAR(bytes);
    return bytes;
}

/* Whether a kernel has what a binding reads: quaternions in its first input, blocks that fill the rows of its result. */
static int bindable(const Binding *binding)
{
    const Kernel *kernel = binding->kernel;
    const npy_intp *first = (const npy_intp *)PyBytes_AS_STRING(binding->quaternions);
    const npy_intp *width = (const npy_intp *)PyBytes_AS_STRING(binding->widths);
    npy_intp left = kernel->dimensions ? kernel->shape[kernel->dimensions - 1] : 0;
    for (size_t k = 0; k < (size_t)PyBytes_GET_SIZE(binding->quaternions) / sizeof *first; k++)
        if (first[k] > kernel->size[0] - 4) return 0;
    if (binding->blocks == Py_None) return 1;
    if (!PyType_Check(binding->blocks)) return 0;
    PyTypeObject *type = (PyTypeObject *)binding->blocks;
    if (!PyType_IsSubtype(type, &PyTuple_Type) || type->tp_basicsize != PyTuple_Type.tp_basicsize) return 0;
    for (size_t k = 0; k < (size_t)PyBytes_GET_SIZE(binding->widths) / sizeof *width; k++) left -= width[k];
    return left == 0;
}

static PyObject *bind(PyObject *module, PyObject *arguments)
{
    (void)module;
    Function *function;
    PyObject *kernel, *parameters, *quaternions = NULL, *blocks = Py_None, *widths = NULL;
    int rows;
    if (!PyArg_ParseTuple(arguments, "O!O!Op|O!OO!:bind", &FunctionType, &function, &KernelType, &kernel, &parameters, &rows,
            &PyTuple_Type, &quaternions, &blocks, &PyTuple_Type, &widths))
        return NULL;
    const Binding former = function->binding;
    const Binding binding = {(Kernel *)Py_NewRef(kernel), Py_NewRef(parameters), packed(quaternions, "quaternions"),
        Py_NewRef(blocks), packed(widths, "widths"), rows};
    const int read = binding.quaternions && binding.widths;
    if (!read || !bindable(&binding)) {
        let_go(&binding);
        return read ? PyErr_Format(PyExc_ValueError, "quaternions or blocks lie outside of what the kernel has") : NULL;
    }
    function->binding = binding;
    let_go(&former);
    forget(function);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, 
        "bind(function, kernel, parameters, rows, quaternions=(), blocks=None, widths=()): let plain calls go to a kernel from now "
        "on; its result is split into blocks of these widths."},
    {"solve_contacts", appell_solve_contacts, METH_VARARGS,
        "solve_contacts(G, c, blocks, limits, p, w, tolerance, acceptable, most) -> (residual, iterations, Newton steps): solve w = G p + c "
        "from p; blocks are rows (first, size, box) of int32, p and w are written."},
    {"mode_accelerations", appell_mode_accelerations, METH_VARARGS,
        "mode_accelerations(M, F, J, bias, blocks, limits, states, d, qdd, f) -> whether M is positive definite: accelerations "
        "with contacts that stick or slip; qdd and f are written."},
    {"uniform_columns", appell_uniform_columns, METH_VARARGS,
        "uniform_columns(seed, first, ranges, out): uniformly distributed numbers by their index; out (size, count) is written."},
    {NULL, NULL, 0, NULL},
};

static int find_main_thread(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    if (ident) main_thread = PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    return PyErr_Occurred() ? -1 : 0;
}

static int prepare(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError,
            "appell runs in the main interpreter alone, as NumPy does. Use processes (multiprocessing) or threads.");
        return -1;
    }
    if (PyArray_ImportNumPyAPI() < 0 || find_main_thread() < 0) return -1;
    name_of_parameters = PyUnicode_InternFromString("parameters");
    name_of_out = PyUnicode_InternFromString("out");
    name_of_check = PyUnicode_InternFromString("check");
    if (!name_of_parameters || !name_of_out || !name_of_check) return -1;
    PyTypeObject *types[] = {&KernelType, &FunctionType, &appell_stepper_type, &appell_motion_type};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (PyModule_AddType(module, types[k])) return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, prepare},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_USED}, /* free-threaded Python switches its lock on, with a warning */
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "appell._native.boundary", .m_doc = "Calls of compiled kernels.", .m_methods = methods,
    .m_slots = slots};

PyMODINIT_FUNC PyInit_boundary(void)
{
    return PyModuleDef_Init(&definition);
}

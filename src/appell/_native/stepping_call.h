/* Time stepping as a type of Python. */
#ifndef APPELL_STEPPING_CALL_H
#define APPELL_STEPPING_CALL_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject appell_stepper_type;

/* The stepper of a `Stepper`. */
struct stepper *appell_stepper_of(PyObject *object);

/* Views of arrays with entries of the types and numbers expected (-1 for any), the last `written` ones to write to; 0 with an
   error otherwise. */
int appell_view_arrays(PyObject *const *given, const char *types, const Py_ssize_t *sizes, int written, Py_buffer *view);
void appell_release_views(Py_buffer *view, int count);
#endif

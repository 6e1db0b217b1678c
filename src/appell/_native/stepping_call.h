/* Time stepping as a type of Python. */
#ifndef APPELL_STEPPING_CALL_H
#define APPELL_STEPPING_CALL_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject appell_stepper_type;

/* The stepper of a `Stepper`. */
struct stepper *appell_stepper_of(PyObject *object);
#endif

/* Uniformly distributed numbers by their index, from Python. */
#ifndef APPELL_UNIFORM_H
#define APPELL_UNIFORM_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *appell_uniform_columns(PyObject *module, PyObject *arguments);
#endif

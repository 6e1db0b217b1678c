/* Calls of the motion in a mode from Python. */
#ifndef APPELL_MODE_CALL_H
#define APPELL_MODE_CALL_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *appell_mode_accelerations(PyObject *module, PyObject *arguments);
#endif

/* Calls of the contact solver from Python. */
#ifndef APPELL_CONTACT_CALL_H
#define APPELL_CONTACT_CALL_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *appell_solve_contacts(PyObject *module, PyObject *arguments);
#endif

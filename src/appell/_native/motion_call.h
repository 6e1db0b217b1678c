/* Motion between events as a type of Python. */
#ifndef APPELL_MOTION_CALL_H
#define APPELL_MOTION_CALL_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject appell_motion_type;
#endif

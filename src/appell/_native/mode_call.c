/* From arrays of Python to the accelerations of a mode, through the buffer protocol. */
#include "mode_call.h"

#include <string.h>

#include "mode.h"

enum { GIVEN = 10, MOST = 4096 };

static int fits(const Py_buffer *buffer, char type, Py_ssize_t count)
{
    return buffer->format && buffer->format[0] == type && !buffer->format[1] && buffer->len == count * buffer->itemsize;
}

PyObject *appell_mode_accelerations(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *result = NULL;
    Py_buffer view[GIVEN];
    int open = 0;
    if (PyTuple_GET_SIZE(arguments) != GIVEN) return PyErr_Format(PyExc_TypeError, "mode_accelerations takes %d arrays", GIVEN);
    for (; open < GIVEN; open++) {
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (open >= 8 ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(arguments, open), view + open, flags)) goto done;
    }
    const Py_ssize_t nv = view[1].len / 8, rows = view[3].len / 8, blocks = view[5].len / 8;
    const Py_ssize_t counts[GIVEN] = {nv * nv, nv, rows * nv, rows, 3 * blocks, blocks, blocks, 2 * blocks, nv, rows};
    for (int k = 0; k < GIVEN; k++)
        if (nv > MOST || rows > MOST || !fits(view + k, k == 4 || k == 6 ? 'i' : 'd', counts[k])) {
            PyErr_SetString(PyExc_ValueError, "arrays of a mode do not have matching sizes and types");
            goto done;
        }
    double *work = PyMem_RawMalloc((mode_work((int)rows, (int)nv) + (size_t)(nv * nv + nv)) * sizeof(double) +
        (size_t)blocks * sizeof(contact_block) + 1);
    if (!work) {
        PyErr_NoMemory();
        goto done;
    }
    double *L = work + mode_work((int)rows, (int)nv), *z = L + nv * nv;
    contact_block *block = (contact_block *)(z + nv);
    const int *numbers = view[4].buf;
    int good = 1;
    for (Py_ssize_t b = 0; b < blocks; b++, numbers += 3) {
        block[b] = (contact_block){numbers[0], numbers[1], numbers[2], ((double *)view[5].buf)[b]};
        good = good && numbers[0] >= 0 && numbers[1] >= 1 && numbers[1] <= 3 && numbers[0] + numbers[1] <= rows;
    }
    if (good) {
        memcpy(L, view[0].buf, (size_t)(nv * nv) * sizeof *L);
        memcpy(z, view[1].buf, (size_t)nv * sizeof *z);
        const int solved = mode_factor(L, (int)nv);
        memset(view[9].buf, 0, (size_t)view[9].len); /* forces of least norm */
        if (solved) {
            mode m;
            mode_forward(L, (int)nv, z);
            mode_rows(&m, L, z, (int)nv, (int)rows, view[2].buf, view[3].buf, (int)blocks, block, work);
            mode_forces(&m, view[6].buf, view[7].buf, view[9].buf);
            mode_accelerations(&m, L, z, view[9].buf, view[8].buf);
        }
        result = PyBool_FromLong(solved);
    } else
        PyErr_SetString(PyExc_ValueError, "blocks of a mode lie outside of its rows");
    PyMem_RawFree(work);
done:
    while (open-- > 0) PyBuffer_Release(view + open);
    return result;
}

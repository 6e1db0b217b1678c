/* From arrays of Python to the contact solver, through the buffer protocol. */
#include "contact_call.h"

#include "contact.h"

#include <string.h>

enum { GIVEN = 6, MOST_ROWS = 4096 };

/* Whether a buffer has entries of a type, and as many as expected. */
static int fits(const Py_buffer *buffer, char type, Py_ssize_t count)
{
    return buffer->format && buffer->format[0] == type && !buffer->format[1] && buffer->len == count * buffer->itemsize;
}

/* The blocks in the order of their rows; 0 where they do not fill the rows from 0 to n. */
static int read_blocks(contact_block *block, Py_ssize_t count, const int *numbers, const double *limits, Py_ssize_t n)
{
    Py_ssize_t next = 0;
    for (Py_ssize_t k = 0; k < count; k++, numbers += 3) {
        block[k] = (contact_block){numbers[0], numbers[1], numbers[2], limits[k]};
        if (numbers[0] != next || numbers[1] < 1 || numbers[1] > (numbers[2] ? 1 : 3) || !(limits[k] >= 0.0)) return 0;
        next += numbers[1];
    }
    return next == n;
}

PyObject *appell_solve_contacts(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *given[GIVEN], *result = NULL;
    Py_buffer view[GIVEN];
    double tolerance, acceptable;
    int most, open = 0;
    if (!PyArg_ParseTuple(arguments, "OOOOOOddi:solve_contacts", given, given + 1, given + 2, given + 3, given + 4, given + 5,
            &tolerance, &acceptable, &most))
        return NULL;
    for (; open < GIVEN; open++) {
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (open >= 4 ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(given[open], view + open, flags)) goto done;
    }
    const Py_ssize_t n = view[1].len / (Py_ssize_t)sizeof(double), count = view[3].len / (Py_ssize_t)sizeof(double);
    if (n > MOST_ROWS || !fits(view, 'd', n * n) || !fits(view + 1, 'd', n) || !fits(view + 2, 'i', 3 * count) ||
        !fits(view + 3, 'd', count) || !fits(view + 4, 'd', n) || !fits(view + 5, 'd', n)) {
        PyErr_SetString(PyExc_ValueError, "arrays of a contact problem do not have matching sizes and types");
        goto done;
    }
    char *work = PyMem_RawMalloc(contact_work((int)n) + (size_t)count * sizeof(contact_block) + 1);
    if (!work) {
        PyErr_NoMemory();
        goto done;
    }
    contact_block *block = (contact_block *)(work + contact_work((int)n));
    if (read_blocks(block, count, view[2].buf, view[3].buf, n)) {
        contact_report report;
        Py_BEGIN_ALLOW_THREADS
        report = contact_solve((int)n, view[0].buf, view[1].buf, (int)count, block, view[4].buf, view[5].buf, tolerance, acceptable,
            most, 0, work);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("dii", report.residual, report.iterations, report.newton);
    } else
        PyErr_SetString(PyExc_ValueError, "blocks of a contact problem do not fill its rows");
    PyMem_RawFree(work);
done:
    while (open-- > 0) PyBuffer_Release(view + open);
    return result;
}

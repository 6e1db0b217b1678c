/* Uniformly distributed numbers by their index: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), scaled to the ranges of columns.
   `uniform_columns` in src/appell/sweeps/uniform.py is the same in NumPy, to the last bit. */
#include "uniform.h"

#include <stdint.h>

#include "for_cpus.h"

/* a * b + c with two roundings everywhere, also where the processor has an instruction with one */
#if defined(_MSC_VER)
#pragma fp_contract(off)
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

enum { LANES = 16, PART = 16 * LANES };
static const uint64_t GAMMA = 0x9E3779B97F4A7C15u;

/* Halves of the 64 bits at z, z + step, z + 2 step, ...; in whole vectors. */
FOR_VECTORS static void halves(uint64_t z, uint64_t step, int count, int32_t *restrict low, int32_t *restrict high)
{
    uint64_t lane[LANES];
    for (int i = 0; i < LANES; i++) lane[i] = z + (uint64_t)i * step;
    for (int k = 0; k < count; k += LANES)
        for (int i = 0; i < LANES; i++) {
            uint64_t x = lane[i];
            lane[i] += LANES * step;
            x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
            x = (x ^ x >> 27) * 0x94D049BB133111EBu;
            x ^= x >> 31;
            low[k + i] = (int32_t)(uint32_t)x;
            high[k + i] = (int32_t)(uint32_t)(x >> 32);
        }
}

/* Numbers of a column from integers; its range is scale, middle, least, most, `size` entries apart. */
#define SCALED(name, real)                                                                                             \
    FOR_VECTORS static void name(const int32_t *x, int count, const real *range, Py_ssize_t size, real *restrict out) \
    {                                                                                                                  \
        const real scale = range[0], middle = range[size], least = range[2 * size], most = range[3 * size];           \
        for (int k = 0; k < count; k++) {                                                                              \
            const real y = (real)x[k] * scale + middle, bounded = y < least ? least : y;                              \
            out[k] = bounded > most ? most : bounded;                                                                  \
        }                                                                                                              \
    }
SCALED(scaled_float, float)
SCALED(scaled_double, double)

static void fill(uint64_t seed, uint64_t first, const char *ranges, char *out, Py_ssize_t size, Py_ssize_t count, int single)
{
    const uint64_t pairs = (uint64_t)(size + 1) / 2;
    const Py_ssize_t item = single ? sizeof(float) : sizeof(double);
    int32_t x[2][PART];
    for (Py_ssize_t c = 0; c < size; c += 2)
        for (Py_ssize_t k = 0; k < count; k += PART) {
            const int part = count - k < PART ? (int)(count - k) : PART;
            halves(seed + GAMMA * ((first + (uint64_t)k) * pairs + (uint64_t)c / 2 + 1), GAMMA * pairs, part, x[0], x[1]);
            for (Py_ssize_t i = 0; i < 2 && c + i < size; i++) {
                const void *range = ranges + (c + i) * item;
                void *to = out + ((c + i) * count + k) * item;
                if (single) scaled_float(x[i], part, range, size, to);
                else scaled_double(x[i], part, range, size, to);
            }
        }
}

PyObject *appell_uniform_columns(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *given[2], *result = NULL;
    unsigned long long seed, first;
    if (!PyArg_ParseTuple(arguments, "KKOO:uniform_columns", &seed, &first, given, given + 1)) return NULL;
    Py_buffer ranges, out;
    if (PyObject_GetBuffer(given[0], &ranges, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return NULL;
    if (PyObject_GetBuffer(given[1], &out, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE)) goto release;
    const char type = out.format[0];
    if (ranges.ndim != 2 || out.ndim != 2 || ranges.shape[0] != 4 || ranges.shape[1] != out.shape[0] ||
        ranges.format[0] != type || (type != 'f' && type != 'd') || out.format[1] || ranges.format[1])
        PyErr_SetString(PyExc_ValueError, "ranges (4, size) and out (size, count) do not have matching sizes and types");
    else {
        Py_BEGIN_ALLOW_THREADS
        fill(seed, first, ranges.buf, out.buf, out.shape[0], out.shape[1], type == 'f');
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release:
    PyBuffer_Release(&ranges);
    return result;
}

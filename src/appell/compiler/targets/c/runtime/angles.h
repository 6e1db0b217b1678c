/* Sines and cosines of angles that are too large for vectors, one by one. */
static __attribute__((noinline)) void repair(const real *a, real *s, real *c, int count)
{
    for (int k = 0; k < count; k++)
        if (!(fabs((double)a[k]) <= LIMIT)) {
            s[k] = SINE(a[k]);
            c[k] = COSINE(a[k]);
        }
}

/* One robot is a batch of one. */
const ptrdiff_t appell_cost = COST;
const ptrdiff_t appell_work = (4 * STATE + NQ + SIGNALS + CONSTANTS + 3 * ANGLES + SHARED) * sizeof(lanes);

int appell_batch(const real *const *in, const ptrdiff_t *step, const ptrdiff_t *pitch, real *out, ptrdiff_t n, void *work);

int appell_one(const real *const *in, real *out, void *work)
{
    const ptrdiff_t step[INPUTS + 1] = {0};
    ptrdiff_t pitch[INPUTS + 1];
    for (int k = 0; k <= INPUTS; k++) pitch[k] = 1;
    return appell_batch(in, step, pitch, out, 1, work);
}

/* A batch of states. */
int appell_batch(const real *const *in, const ptrdiff_t *step, const ptrdiff_t *pitch, real *out, ptrdiff_t n, void *work)
{
    lanes *x = work, *y = x + NX;
    lanes zero = {0};
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int count = n - i < LANES ? (int)(n - i) : LANES;
        for (int k = 0, first = 0; k < INPUTS; first += sizes[k++])
            load(in[k] + i * step[k], step[k], pitch[k], sizes[k], count, x + first);
        vector_states(x, y, y + NY);
        store(y, step[INPUTS], pitch[INPUTS], count, out + i * step[INPUTS]);
        zero += zero_if_finite(x, NX + NY);
    }
    return any_lane(zero != 0);
}

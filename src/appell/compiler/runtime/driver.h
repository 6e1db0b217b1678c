/* Sines and cosines of angles that are too large for vectors, one by one. */
static __attribute__((noinline)) void repair(const real *a, real *s, real *c, int count)
{
    for (int k = 0; k < count; k++)
        if (!(fabs((double)a[k]) <= LIMIT)) {
            s[k] = SINE(a[k]);
            c[k] = COSINE(a[k]);
        }
}

/* One state; its sines and cosines are taken in vectors, too. */
static void scalar_state(const real *restrict x, real *restrict y, real *restrict work)
{
    real *a = work, *s = a + PADDED, *c = s + PADDED, *w = c + PADDED;
    bits far = {0};
    for (int k = ANGLES; k < PADDED; k++) a[k] = 0;
    scalar_angles(x, a);
    for (int k = 0; k < PADDED; k += LANES) {
        lanes angle, sine, cosine;
        memcpy(&angle, a + k, sizeof angle);
        far |= far_lanes(angle);
        sincos_lanes(angle, &sine, &cosine);
        memcpy(s + k, &sine, sizeof sine);
        memcpy(c + k, &cosine, sizeof cosine);
    }
    if (any_lane(far)) repair(a, s, c, ANGLES);
    scalar_body(x, s, c, w, y);
}

/* LANES states. */
static void vector_states(const lanes *restrict x, lanes *restrict y, lanes *restrict work)
{
    lanes *a = work, *s = a + ANGLES, *c = s + ANGLES, *w = c + ANGLES;
    bits far = {0};
    vector_angles(x, a);
    for (int k = 0; k < ANGLES; k++) {
        far |= far_lanes(a[k]);
        sincos_lanes(a[k], &s[k], &c[k]);
    }
    if (any_lane(far)) repair((const real *)a, (real *)s, (real *)c, ANGLES * LANES);
    vector_body(x, s, c, w, y);
}

/* Entry j of state l is p[l * step + j * pitch]. Lanes beyond count repeat the last state. */
static inline void load(const real *p, ptrdiff_t step, ptrdiff_t pitch, int size, int count, lanes *restrict x)
{
    if (count < LANES)
        for (int j = 0; j < size; j++)
            for (int l = 0; l < LANES; l++) x[j][l] = p[(l < count ? l : count - 1) * step + j * pitch];
    else if (step == 1)
        for (int j = 0; j < size; j++) memcpy(&x[j], p + j * pitch, sizeof(lanes));
    else
        for (int j = 0; j < size; j++, p += pitch) x[j] = (lanes){EVERY(p, step)};
}

static inline void store(const lanes *restrict y, ptrdiff_t step, ptrdiff_t pitch, int count, real *restrict p)
{
    if (count == LANES && step == 1)
        for (int j = 0; j < NY; j++) memcpy(p + j * pitch, &y[j], sizeof(lanes));
    else
        for (int l = 0; l < count; l++)
            for (int j = 0; j < NY; j++) p[l * step + j * pitch] = y[j][l];
}

/* Zero in every lane whose numbers are all finite, else NaN. Four sums, so that one does not wait for the other. */
static inline lanes zero_if_finite(const lanes *x, int count)
{
    lanes a = {0}, b = {0}, c = {0}, d = {0};
    int j = 0;
    for (; j + 3 < count; j += 4) {
        a += x[j] * 0;
        b += x[j + 1] * 0;
        c += x[j + 2] * 0;
        d += x[j + 3] * 0;
    }
    for (; j < count; j++) a += x[j] * 0;
    return (a + b) + (c + d);
}

const ptrdiff_t appell_cost = COST;
const ptrdiff_t appell_work = (NX + NY + 3 * PADDED + SHARED) * sizeof(lanes);

int appell_one(const real *const *in, real *out, void *work)
{
    real *x = work, *y = x + NX;
    int bad = 0;
    COPY(x, in);
    scalar_state(x, y, y + NY);
    memcpy(out, y, NY * sizeof(real));
    for (int j = 0; j < NX + NY; j++) bad |= !(x[j] * 0 == 0);
    return bad;
}

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

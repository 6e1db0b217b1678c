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

/* One state out of vectors into a row; four at a time, since a loop of two instructions depends on where it lies in memory. */
static inline void store_row(const real *restrict lane, real *restrict p)
{
    int j = 0;
    for (; j + 3 < NY; j += 4) {
        p[j] = lane[j * LANES];
        p[j + 1] = lane[(j + 1) * LANES];
        p[j + 2] = lane[(j + 2) * LANES];
        p[j + 3] = lane[(j + 3) * LANES];
    }
    for (; j < NY; j++) p[j] = lane[j * LANES];
}

static inline void store(const lanes *restrict y, ptrdiff_t step, ptrdiff_t pitch, int count, real *restrict p)
{
    if (count == LANES && step == 1)
        for (int j = 0; j < NY; j++) memcpy(p + j * pitch, &y[j], sizeof(lanes));
    else if (pitch == 1)
        for (int l = 0; l < count; l++) store_row((const real *)y + l, p + l * step);
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

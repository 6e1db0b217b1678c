const ptrdiff_t appell_cost = COST;
const ptrdiff_t appell_work = (NX + NY + 3 * PADDED + SHARED) * sizeof(lanes);

/* One state; its sines and cosines are taken in vectors, too. Angles are gathered one by one: a vector that is loaded from
   where single numbers were just stored waits until they have reached the cache. */
static void scalar_state(const real *restrict x, real *restrict y, real *restrict work)
{
    real *a = work, *s = a + PADDED, *c = s + PADDED, *w = c + PADDED;
    bits far = {0};
    for (int k = ANGLES; k < PADDED; k++) a[k] = 0;
    scalar_angles(x, a);
    for (int k = 0; k < PADDED; k += LANES) {
        const lanes angle = {EVERY(a + k, 1)};
        lanes sine, cosine;
        far |= far_lanes(angle);
        sincos_lanes(angle, &sine, &cosine);
        memcpy(s + k, &sine, sizeof sine);
        memcpy(c + k, &cosine, sizeof cosine);
    }
    if (any_lane(far)) repair(a, s, c, ANGLES);
    scalar_body(x, s, c, w, y);
}

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

/* kinetic energy */
#define REAL double
#define INTEGER long long
#define LIMIT 1e6
#define SINE sin
#define COSINE cos
#define LANES 4
#define EVERY(p, step) (p)[0 * (step)], (p)[1 * (step)], (p)[2 * (step)], (p)[3 * (step)]
#define COPY(x, in) memcpy((x) + 0, (in)[0], 1 * sizeof(REAL)); memcpy((x) + 1, (in)[1], 1 * sizeof(REAL));
#define INPUTS 2
#define NX 2
#define NY 1
#define ANGLES 0
#define PADDED 0
#define SHARED 0
#define COST 6
static const int sizes[] = {1, 1};
/* Vectors of states. */
#include <math.h>
#include <stddef.h>
#include <string.h>

typedef REAL real;
typedef REAL lanes __attribute__((vector_size(LANES * sizeof(REAL))));
typedef INTEGER bits __attribute__((vector_size(LANES * sizeof(REAL))));
typedef unsigned INTEGER words __attribute__((vector_size(LANES * sizeof(REAL))));

#define SIGN ((unsigned INTEGER)1 << (8 * sizeof(REAL) - 1))

static inline int any_lane(bits mask)
{
    INTEGER found = 0;
    for (int l = 0; l < LANES; l++) found |= mask[l];
    return found != 0;
}

static inline lanes splat(real value)
{
    return value - (lanes){0};
}

/* Lanes whose angle is too large for sincos_lanes, or not a number. */
static inline bits far_lanes(lanes x)
{
    return ~((lanes)((words)x & ~SIGN) <= 1e6);
}

static inline void sincos_lanes(lanes x, lanes *s, lanes *c)
{
    const lanes t = x * 0x1.45f306dc9c883p-1 + 0x1.8p+52;
    const lanes k = t - 0x1.8p+52;
    const words quarter = (words)t;
    const words swap = -(quarter & 1);
    const lanes r1 = x - k * 0x1.921fb544p+0;
    const lanes r2 = r1 - k * 0x1.0b4611a6p-34;
    const lanes r3 = r2 - k * 0x1.3198a2ep-69;
    const lanes lost = (k * 0x1.0b4611a6p-34 - (r1 - r2)) + (k * 0x1.3198a2ep-69 - (r2 - r3)) + k * 0x1.b839a252049c1p-104;
    const lanes r = r3 - lost;
    const lanes z = r * r;
    const words sine = (words)(r + r * z * (-0x1.5555555555548p-3 + z * (0x1.111111110f7d0p-7 + z * (-0x1.a01a019bfdeb7p-13 + z * (0x1.71de3567d0411p-19 + z * (-0x1.ae5e5a8f155c8p-26 + z * (0x1.5d8fd0f149a96p-33))))))) | ((words)r & SIGN);
    const words cosine = (words)(1.0 + z * (z * (0x1.555555555554bp-5 + z * (-0x1.6c16c16c14f91p-10 + z * (0x1.a01a019c844b3p-16 + z * (-0x1.27e4f7eac19acp-22 + z * (0x1.1ee9d7b2afdcdp-29 + z * (-0x1.8fa498db48e5dp-37)))))) - 0.5));
    *s = (lanes)(((sine & ~swap) | (cosine & swap)) ^ ((quarter << 62) & SIGN));
    *c = (lanes)(((cosine & ~swap) | (sine & swap)) ^ (((quarter + 1) << 62) & SIGN));
}

/* Sines and cosines of angles that are too large for vectors, one by one. */
static __attribute__((noinline)) void repair(const real *a, real *s, real *c, int count)
{
    for (int k = 0; k < count; k++)
        if (!(fabs((double)a[k]) <= LIMIT)) {
            s[k] = SINE(a[k]);
            c[k] = COSINE(a[k]);
        }
}


#ifndef BATCH_ONLY
static void scalar_angles(const real *restrict x, real *restrict a)
{
    (void)x; (void)a;
}

static __attribute__((noinline)) void scalar_part0(const real *restrict x, const real *restrict s, const real *restrict c, real *restrict w, real *restrict y)
{
    (void)x; (void)s; (void)c; (void)w; (void)y;
    const real v3 = 0.75 * x[1];
    const real v4 = x[1] * v3;
    const real v5 = 0.5 * v4;
    y[0] = v5;
}

static void scalar_body(const real *restrict x, const real *restrict s, const real *restrict c, real *restrict w, real *restrict y)
{
    scalar_part0(x, s, c, w, y);
}

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

#endif
#ifndef ONE_ONLY
static void vector_angles(const lanes *restrict x, lanes *restrict a)
{
    (void)x; (void)a;
}

static __attribute__((noinline)) void vector_part0(const lanes *restrict x, const lanes *restrict s, const lanes *restrict c, lanes *restrict w, lanes *restrict y)
{
    (void)x; (void)s; (void)c; (void)w; (void)y;
    const lanes v3 = 0.75 * x[1];
    const lanes v4 = x[1] * v3;
    const lanes v5 = 0.5 * v4;
    y[0] = v5;
}

static void vector_body(const lanes *restrict x, const lanes *restrict s, const lanes *restrict c, lanes *restrict w, lanes *restrict y)
{
    vector_part0(x, s, c, w, y);
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

#endif

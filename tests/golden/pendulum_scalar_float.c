static void state_angles(const float *restrict x, float *restrict a)
{
    (void)x; (void)a;
    a[0] = x[0];
}

static void state_part0(const float *restrict x, const float *restrict s, const float *restrict c, float *restrict w, float *restrict y)
{
    (void)x; (void)s; (void)c; (void)w; (void)y;
    const float v3 = 9.81f * c[0];
    const float v6 = 0.625f * x[2];
    const float v8 = 0.125f * x[2];
    const float v9 = v6 + v8;
    const float v10 = v3 + v9;
    y[0] = v10;
}

static void state_body(const float *restrict x, const float *restrict s, const float *restrict c, float *restrict w, float *restrict y)
{
    state_part0(x, s, c, w, y);
}

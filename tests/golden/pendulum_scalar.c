static void state_angles(const double *restrict x, double *restrict a)
{
    (void)x; (void)a;
    a[0] = x[0];
}

static void state_part0(const double *restrict x, const double *restrict s, const double *restrict c, double *restrict w, double *restrict y)
{
    (void)x; (void)s; (void)c; (void)w; (void)y;
    const double v3 = 9.81 * c[0];
    const double v6 = 0.625 * x[2];
    const double v8 = 0.125 * x[2];
    const double v9 = v6 + v8;
    const double v10 = v3 + v9;
    y[0] = v10;
}

static void state_body(const double *restrict x, const double *restrict s, const double *restrict c, double *restrict w, double *restrict y)
{
    state_part0(x, s, c, w, y);
}

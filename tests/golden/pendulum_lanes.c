static void state_angles(const lanes *restrict x, lanes *restrict a)
{
    (void)x; (void)a;
    a[0] = x[0];
}

static void state_part0(const lanes *restrict x, const lanes *restrict s, const lanes *restrict c, lanes *restrict w, lanes *restrict y)
{
    (void)x; (void)s; (void)c; (void)w; (void)y;
    const lanes v5 = 9.81 * c[0];
    const lanes v6 = x[2] - v5;
    const lanes v7 = 1.3333333333333333 * v6;
    y[0] = v7;
}

static void state_body(const lanes *restrict x, const lanes *restrict s, const lanes *restrict c, lanes *restrict w, lanes *restrict y)
{
    state_part0(x, s, c, w, y);
}

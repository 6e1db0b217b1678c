/* Rollouts: LANES robots take all their steps before the next ones start, so that their states stay at hand. Inputs are
   coordinates, speeds, signals at the first time, constants (gains and parameters), and these settings; the result's entries are those of one state. */
typedef struct {
    long long steps, every, hold; /* every: steps between states that are written; hold: steps between changes of the signals */
    long long signal_time, result_time; /* numbers from one time to the next */
    double dt;
} settings;

enum { RATES = STATE + NQ };

static inline void state_rate(const lanes *restrict x, lanes *restrict y)
{
    vector_states(x, y, y + RATES);
}

/* Unit length for the quaternion that begins at x. */
static inline void tidy(lanes *x)
{
    const lanes square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
    lanes length;
    for (int l = 0; l < LANES; l++) length[l] = ROOT(square[l]);
    for (int j = 0; j < 4; j++) x[j] /= length;
}

/* One step; scratch memory follows the state and what acts on it. */
static void take_step(lanes *restrict x, real dt)
{
    lanes *start = x + STATE + SIGNALS + CONSTANTS, *sum = start + STATE, *y = sum + STATE;
    (void)start;
    (void)sum;
    STEP
    TIDY
}

int appell_batch(const real *const *in, const ptrdiff_t *step, const ptrdiff_t *pitch, real *out, ptrdiff_t n, void *work)
{
    lanes *x = work, *signals = x + STATE, *constants = signals + SIGNALS;
    lanes zero = {0};
    settings given;
    memcpy(&given, in[4], sizeof given);
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int count = n - i < LANES ? (int)(n - i) : LANES;
        load(in[0] + i * step[0], step[0], pitch[0], NQ, count, x);
        load(in[1] + i * step[1], step[1], pitch[1], NV, count, x + NQ);
        for (int j = NQ + NV; j < STATE; j++) x[j] = (lanes){0};
        load(in[3] + i * step[3], step[3], pitch[3], CONSTANTS, count, constants);
        real *p = out + i * step[5];
        for (ptrdiff_t k = 0; k < given.steps; k++) {
            if (k % given.hold == 0)
                load(in[2] + i * step[2] + k / given.hold * given.signal_time, step[2], pitch[2], SIGNALS, count, signals);
            take_step(x, (real)given.dt);
            if ((k + 1) % given.every == 0) {
                store(x, step[5], pitch[5], count, p);
                p += given.result_time;
            }
        }
        zero += zero_if_finite(x, STATE);
    }
    return any_lane(zero != 0);
}

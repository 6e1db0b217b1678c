"""CUDA source of a kernel, from the same forms as the C code.

A module exports two kernels over n states, the second where rows fit into shared memory, else the third:

    appell_batch(in0, step0, pitch0, ..., out, step, pitch, n)
    appell_rows(in0, step0, ..., out, n)
    appell_turn(columns, pitch, rows, n)

In `appell_batch` entry j of state i of input k is `in_k[i * step_k + j * pitch_k]`: columns (step 1) are read by
neighbouring threads side by side, a value for all states is step 0. `appell_rows` is for contiguous rows: a block copies its
rows through shared memory, so that neighbouring threads read and write neighbouring numbers there, too. Wider results are
computed in columns, which `appell_turn` copies to rows.

Long code keeps values in `appell_shared` bytes of shared memory of each block, which a launch of `appell_batch` gives (`spill`).
Large matrices are computed by `appell_groups` threads for each state (`groups`), in blocks along the second axis of the grid, and
`appell_batch` writes them in columns alone; `appell_groups` is 0 where a thread keeps a result before it is written. Where
`appell_resident` is 1 a grid of any size computes all states (docs/decisions/0020).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from appell.compiler.emit import Dialect, literal
from appell.compiler.lowering import LoweredFunction, StraightLine
from appell.compiler.operations import LIBM, OperationList
from appell.compiler.rolled.form import Rolled
from appell.compiler.schedule import depth_first
from appell.compiler.sincos import PRECISIONS
from appell.compiler.targets.cuda.groups import ColumnGroup, column_groups
from appell.compiler.targets.cuda.sincos import sincos_text
from appell.compiler.targets.cuda.spill import BUDGETS, WHOLE, Placement, placement, spilled

BLOCK = 64
"""Threads of a block. Measured with 64, 128 and 256 on an H200: small blocks leave fewer registers idle."""

LONG = 2000
"""Operations beyond which a kernel that spills is told to care for its registers alone: ptxas otherwise leaves a thread 32 of
255 registers and spills thrice as much (docs/decisions/0008)."""

APART = 12_000
"""Operations beyond which parts are functions of their own: one function of 25 000 took the compiler twice as long, and its
results were wrong in float64 (docs/decisions/0020)."""

SHARED_BYTES = 48 * 1024
"""Shared memory that every card has; wider rows are read in place."""

LARGEST_SHARE = 112 * 1024
"""Shared memory that a block asks for at most: on Hopper a processor holds two such blocks."""

TILE, TURNED_BY = 32, 8
"""Entries and states of a tile that is turned, and rows of threads that do so."""

SIGN_OF = """\
static __device__ __forceinline__ real sign_of(real x)
{
    return (x > 0) - (x < 0);
}
"""


def cuda_dialect(dtype: str) -> Dialect:
    """Scalars of a thread."""
    suffix = PRECISIONS[dtype].suffix
    return Dialect(
        type="real",
        literal=lambda number: literal(number, dtype),
        functions={"sign": "sign_of", **{name: name + suffix for name in LIBM}},
        operators={"keep": "keep({number}, {0})", "fetch": "fetch({number})"},
    )


COLUMN = """
/* The entries of one state's result in columns. So large a result has fewer states than an int counts. */
struct column {
    real *p;
    int pitch;
    unsigned state;
    __device__ __forceinline__ real &operator[](int j) const { return (p + (place)j * pitch)[state]; }
};
"""
"""All threads share the place of a column: it is computed once for all of them."""

SLOTS = """
/* Values of this thread that wait for registers. The compiler must not find out that it knows them. */
extern __shared__ real waiting[];
static __device__ __forceinline__ real keep(int slot, real value)
{{
    ((volatile real *)waiting)[slot * {block} + threadIdx.x] = value;
    return value;
}}
static __device__ __forceinline__ real fetch(int slot)
{{
    return ((volatile real *)waiting)[slot * {block} + threadIdx.x];
}}
"""


def kernel_source(
    form: LoweredFunction, dtype: str, title: str, width: int | None = None, shared_bytes: int = LARGEST_SHARE
) -> str:
    """CUDA source of one function; `width` is the number of columns where its result is a matrix.

    `shared_bytes` is the shared memory that a block may ask for.
    """
    groups: list[ColumnGroup] = []
    if isinstance(form, StraightLine) and form.cost > LONG:
        if width and form.size_out > sum(form.sizes):
            groups = column_groups(form.listed, width, dtype)
        elif spilled(depth_first(form.listed), BUDGETS[dtype][-1].values, WHOLE).slots:
            groups = [ColumnGroup(0, 1, 1, form.listed)]
    text = [common_text([form], dtype, title)]
    placed, threads = Placement((), 0, 1), len(groups)
    if isinstance(form, Rolled) and form.triples and not has_rows(form, dtype):
        threads = 1  # which has no memory for so large a result
        text += [COLUMN, in_columns(state_text(form, dtype, "group0"))]
    elif groups:
        fits = max(group.cost for group in groups) <= APART
        placed = placement([group.ordered for group in groups], dtype, BLOCK, shared_bytes if fits else 0)
        text += [COLUMN, SLOTS.format(block=BLOCK)]
        for k, (group, part) in enumerate(zip(groups, placed.parts, strict=True)):
            text.append(group_text(group, part, dtype, f"group{k}"))
    if has_rows(form, dtype) or not threads:
        text.append(state_text(form, dtype))
    resident = len(groups) == 1 and dtype == "float32" and placed.blocks == 1
    text.append(resident_text(form, placed) if resident else batch_text(form, threads, placed))
    text.append(rows_text(form) if has_rows(form, dtype) else turn_text(form))
    return "\n".join(text)


def group_text(group: ColumnGroup, listed: OperationList, dtype: str, prefix: str) -> str:
    """`<prefix>_state`, which computes some columns of one state; results are stored as soon as they are there."""
    part = StraightLine(listed, None if group.cost > APART else 1 << 30)
    return in_columns(state_text(part, dtype, prefix, replace(cuda_dialect(dtype), store=group.store)))


def in_columns(text: str) -> str:
    """Code that writes its results in columns."""
    return text.replace("real *restrict y", "column y")


def has_rows(form: LoweredFunction, dtype: str) -> bool:
    """Whether a block's rows fit into shared memory."""
    return BLOCK * row_width(form) * (8 if dtype == "float64" else 4) <= SHARED_BYTES


def row_width(form: LoweredFunction) -> int:
    """Numbers of one state in shared memory: all its inputs, then its result in their place."""
    return max(sum(form.sizes), form.size_out)


def launch_bounds(form: LoweredFunction, blocks: int = 1) -> str:
    """Threads of a block and, for long straight-line code, how few blocks a processor may hold."""
    return f"__launch_bounds__({BLOCK}{f', {blocks}' if isinstance(form, StraightLine) and form.cost > LONG else ''})"


def common_text(forms: Iterable[LoweredFunction], dtype: str, title: str) -> str:
    """Types, and sine and cosine, which the texts of states need."""
    return f"""\
{types_text(dtype, title)}
{SIGN_OF if any("sign" in form.functions_used for form in forms) else ""}
{sincos_text(dtype)}"""


def types_text(dtype: str, title: str) -> str:
    return f"""\
/* {title} */
#define restrict __restrict__
typedef {PRECISIONS[dtype].real} real;
typedef long long place;
"""


def state_text(form: LoweredFunction, dtype: str, prefix: str = "thread", dialect: Dialect | None = None) -> str:
    """`<prefix>_state`, which computes one state."""
    dialect = dialect or cuda_dialect(dtype)
    angles = max(form.angle_count, 1)
    data = form.data(dialect).replace("static const", "static __constant__ const")
    functions = form.functions(dialect, prefix)
    if form.cost > APART:
        part = f"void {prefix}_part"
        functions = functions.replace(f"static {part}", f"static __device__ __noinline__ {part}")
    functions = functions.replace("static void", "static __device__ __forceinline__ void")
    return f"""\
{data}
{functions}
static __device__ __forceinline__ void {prefix}_state(const real *restrict x, real *restrict y)
{{
    real a[{angles}], s[{angles}], c[{angles}], w[{max(form.shared, 1)}];
    {prefix}_angles(x, a);
    {_unroll(form.angle_count)}
    for (int k = 0; k < {form.angle_count}; k++) sincos_one(a[k], s[k], c[k]);
    {prefix}_body(x, s, c, w, y);
}}
"""


def batch_text(form: LoweredFunction, groups: int, placed: Placement) -> str:
    """The kernel for arrays of any strides; groups of columns have threads of their own."""
    loads = [
        f"""\
    in{k} += i * step{k};
    {_unroll(size)}
    for (int j = 0; j < {size}; j++) x[{first} + j] = in{k}[j * pitch{k}];"""
        for k, (first, size) in enumerate(zip(_starts(form), form.sizes, strict=True))
    ]
    own = [f"    if (blockIdx.y == {k}) group{k}_state(x, y);" for k in range(groups)]
    whole = f"""\
    real y[{form.size_out}];
    thread_state(x, y);
    out += i * step;
    {_unroll(form.size_out)}
    for (int j = 0; j < {form.size_out}; j++) out[j * pitch] = y[j];"""
    return f"""\
{batch_head(form, groups, placed)}
{{
    const place i = blockIdx.x * (place){BLOCK} + threadIdx.x;
    if (i >= n) return;
    real x[{sum(form.sizes)}];
{_lines(loads)}
{_lines(["    const column y = {out, (int)pitch, (unsigned)i};", *own]) if groups else whole}
}}
"""


def batch_head(form: LoweredFunction, groups: int, placed: Placement, resident: bool = False) -> str:
    """What the host has to know of `appell_batch`, and its arguments."""
    given = [f"const real *restrict in{k}, place step{k}, place pitch{k}" for k in range(len(form.sizes))]
    given += ["real *restrict out, place step, place pitch", "place n"]
    return f"""\
extern "C" __device__ int appell_groups = {groups}, appell_resident = {int(resident)}, appell_shared = {placed.shared};

extern "C" __global__ void {launch_bounds(form, placed.blocks)} appell_batch(
    {_commas(given)})"""


def resident_text(form: LoweredFunction, placed: Placement) -> str:
    """The kernel of one group of columns for as many blocks as are resident: threads take one state after the other.

    While a thread computes a state, the inputs of its next one are copied to shared memory.
    """
    copies = [
        f"""\
        {_unroll(size)}
        for (int j = 0; j < {size}; j++) copy_ahead(own + {BLOCK} * ({first} + j), in{k} + i * step{k} + j * pitch{k});"""
        for k, (first, size) in enumerate(zip(_starts(form), form.sizes, strict=True))
    ]
    size = sum(form.sizes)
    return f"""\
static __device__ __forceinline__ void copy_ahead(real *to, const real *from)
{{
#if __CUDA_ARCH__ >= 800
    const unsigned place_in_block = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(place_in_block), "l"(from), "n"(sizeof(real)));
#else
    *to = *from;
#endif
}}

static __device__ __forceinline__ void wait_for_copies()
{{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}}

{batch_head(form, 1, placed, resident=True)}
{{
    __shared__ real inputs[{size * BLOCK}];
    real *own = inputs + threadIdx.x;
    const auto copy_inputs = [&](place i) {{
{_lines(copies)}
    }};
    const place first = blockIdx.x * (place){BLOCK} + threadIdx.x, stride = gridDim.x * (place){BLOCK};
    if (first < n) copy_inputs(first);
    for (place i = first; i < n; i += stride) {{
        real x[{size}];
        wait_for_copies();
        #pragma unroll
        for (int j = 0; j < {size}; j++) x[j] = ((volatile real *)own)[{BLOCK} * j];
        if (i + stride < n) copy_inputs(i + stride);
        const column y = {{out, (int)pitch, (unsigned)i}};
        group0_state(x, y);
    }}
}}
"""


def rows_text(form: LoweredFunction) -> str:
    """The kernel for contiguous rows; an input with step 0 is one row for all states."""
    given = [f"const real *restrict in{k}, place step{k}" for k in range(len(form.sizes))]
    given += ["real *restrict out", "place n"]
    copies, loads = [], []
    for k, (first, size) in enumerate(zip(_starts(form), form.sizes, strict=True)):
        copies.append(f"    if (step{k}) copy_rows<{size}>(in{k} + first * {size}, tile + {BLOCK * first}, t, count);")
        loads.append(
            f"""\
    {_unroll(size)}
    for (int j = 0; j < {size}; j++) x[{first} + j] = step{k} ? tile[{BLOCK * first} + t * {size} + j] : in{k}[j];"""
        )
    ny = form.size_out
    return f"""\
/* The rows of a block, by all its threads; a full block does so without a condition. */
template <int WIDTH> static __device__ __forceinline__ void copy_rows(const real *from, real *to, int t, int count)
{{
    if (count == {BLOCK}) {{
        #pragma unroll
        for (int k = 0; k < WIDTH; k++) to[t + k * {BLOCK}] = from[t + k * {BLOCK}];
    }} else {{
        for (int e = t; e < count * WIDTH; e += {BLOCK}) to[e] = from[e];
    }}
}}

extern "C" __global__ void {launch_bounds(form)} appell_rows(
    {_commas(given)})
{{
    __shared__ real tile[{BLOCK * row_width(form)}];
    const int t = threadIdx.x;
    const place first = blockIdx.x * (place){BLOCK};
    const int count = n - first < {BLOCK} ? (int)(n - first) : {BLOCK};
    real x[{sum(form.sizes)}], y[{ny}];
{_lines(copies)}
    __syncthreads();
{_lines(loads)}
    __syncthreads();
    if (t < count) {{
        thread_state(x, y);
        {_unroll(ny)}
        for (int j = 0; j < {ny}; j++) tile[t * {ny} + j] = y[j];
    }}
    __syncthreads();
    copy_rows<{ny}>(tile, out + first * {ny}, t, count);
}}
"""


def turn_text(form: LoweredFunction) -> str:
    """The kernel that turns a result in columns into contiguous rows, by tiles in shared memory."""
    return f"""\
extern "C" __global__ void __launch_bounds__({TILE * TURNED_BY}) appell_turn(
    const real *restrict columns, place pitch, real *restrict rows, place n)
{{
    __shared__ real tile[{TILE}][{TILE} + 1];
    const int a = threadIdx.x % {TILE}, b = threadIdx.x / {TILE}, entry = blockIdx.y * {TILE};
    const place state = blockIdx.x * (place){TILE};
    for (int k = b; k < {TILE}; k += {TURNED_BY})
        if (entry + k < {form.size_out} && state + a < n) tile[k][a] = columns[(entry + k) * pitch + state + a];
    __syncthreads();
    for (int k = b; k < {TILE}; k += {TURNED_BY})
        if (entry + a < {form.size_out} && state + k < n) rows[(state + k) * {form.size_out} + entry + a] = tile[a][k];
}}
"""


def _starts(form: LoweredFunction) -> list[int]:
    """Where each input begins in x."""
    return [sum(form.sizes[:k]) for k in range(len(form.sizes))]


def _unroll(count: int) -> str:
    """Short loops are unrolled, so that their arrays live in registers."""
    return "#pragma unroll" if count <= 512 else "#pragma unroll 1"


def _commas(parts: list[str]) -> str:
    return ",\n    ".join(parts)


def _lines(parts: list[str]) -> str:
    return "\n".join(parts)

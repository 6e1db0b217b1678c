"""SIMD C: one value is a vector, one lane is one robot state.

The vector types are the extension that gcc and clang share (`vector_size`), so the text is the same for every instruction
set but for the width. The source of a kernel exports

    appell_one(in, out, work)                             one state, contiguous inputs
    appell_batch(in, step, pitch, out, n, work)           n states
    appell_work, appell_cost                              bytes of scratch memory, and operations of a state, roughly

where entry j of state i of input k is `in[k][i * step[k] + j * pitch[k]]` (the result's step and pitch come last): rows are
pitch 1, columns are step 1, a value for all states is step 0. Both return 1 when an input or a result is not finite, else 0.
The tail of a batch runs through the same code as full vectors, with its last state repeated. With ONE_ONLY or BATCH_ONLY
defined the source is one half of the kernel, for compilers that run side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from appell.compiler.emit import Dialect, literal, scalar_dialect
from appell.compiler.lowering import LoweredFunction
from appell.compiler.operations import LIBM, OPERATIONS
from appell.compiler.targets.c.sincos import PRECISIONS, sincos_text

APART = "__attribute__((noinline)) "
"""Bodies are called from several places; one copy keeps compilation short."""


def simd_dialect(dtype: str) -> Dialect:
    """Vectors of `double` or `float`. A number beside a vector is spread over its lanes by the compiler."""
    return Dialect(
        type="lanes",
        literal=lambda number: literal(number, dtype),
        functions={name: f"{name}_lanes" for name in LIBM},
        operators={"sign": "__builtin_convertvector(({0} < 0) - ({0} > 0), lanes)"},  # a comparison gives 0 or -1
        splat="splat({})",
    )


def kernel_source(form: LoweredFunction, dtype: str, lanes: int, title: str) -> str:
    """C source of one kernel."""
    scalar, vector = scalar_dialect(dtype, "real"), simd_dialect(dtype)
    return "\n".join((
        f"/* {title} */",
        *(f"#define {name} {value}" for name, value in definitions(form, dtype, lanes).items()),
        f"static const int sizes[] = {{{', '.join(map(str, form.sizes))}}};",
        runtime("lanes.h"),
        sincos_text(dtype),
        *(lanewise(name, dtype) for name in sorted(form.functions_used & set(LIBM))),
        runtime("angles.h"),
        form.data(scalar),
        "#ifndef BATCH_ONLY",
        form.functions(scalar, "scalar", APART),
        runtime("one.h"),
        "#endif\n#ifndef ONE_ONLY",
        form.functions(vector, "vector", APART),
        runtime("vectors.h"),
        runtime("batch.h"),
        "#endif\n",
    ))  # fmt: skip


def rollout_source(
    form: LoweredFunction,
    dtype: str,
    lanes: int,
    title: str,
    step: str,
    sizes: Mapping[str, int],
    quaternions: Sequence[int],
) -> str:
    """C source of a rollout.

    Args:
        form: the rate of the state, as `appell.compiler.state_rate` orders it.
        step: text of the integrator (`appell.rollouts.integrators`).
        sizes: NQ, NV, STATE, SIGNALS and CONSTANTS of `runtime/rollout.h`.
        quaternions: where they begin in the state.
    """
    vector, numbers = simd_dialect(dtype), definitions(form, dtype, lanes)
    numbers |= {
        **sizes, "NY": sizes["NQ"] + sizes["NV"], "INPUTS": 5, "ROOT": f"sqrt{PRECISIONS[dtype].suffix}", "UNROLL": "",
        "ROLL": "", "STEP": " ".join(step.split()), "TIDY": " ".join(f"tidy(x + {place});" for place in quaternions),
    }  # fmt: skip
    return "\n".join((
        f"/* {title} */",
        *(f"#define {name} {value}" for name, value in numbers.items()),
        runtime("lanes.h"),
        "#ifndef BATCH_ONLY",
        runtime("rollout_one.h"),
        "#endif\n#ifndef ONE_ONLY",
        sincos_text(dtype),
        *(lanewise(name, dtype) for name in sorted(form.functions_used & set(LIBM))),
        runtime("angles.h"),
        form.data(scalar_dialect(dtype, "real")),
        form.functions(vector, "vector", APART),
        runtime("vectors.h"),
        runtime("rollout.h"),
        "#endif\n",
    ))  # fmt: skip


def definitions(form: LoweredFunction, dtype: str, lanes: int) -> dict[str, object]:
    """What the fixed text in `runtime/` needs to know of a kernel."""
    numbers = PRECISIONS[dtype]
    return {
        "REAL": numbers.real,
        "INTEGER": numbers.integer,
        "LIMIT": numbers.limit,
        "SINE": f"sin{numbers.suffix}",
        "COSINE": f"cos{numbers.suffix}",
        "LANES": lanes,
        "EVERY(p, step)": ", ".join(f"(p)[{lane} * (step)]" for lane in range(lanes)),
        "COPY(x, in)": " ".join(
            f"memcpy((x) + {sum(form.sizes[:k])}, (in)[{k}], {size} * sizeof(REAL));"
            for k, size in enumerate(form.sizes)
        ),
        "INPUTS": len(form.sizes),
        "NX": sum(form.sizes),
        "NY": form.size_out,
        "ANGLES": form.angle_count,
        "PADDED": -(-form.angle_count // lanes) * lanes,
        "SHARED": form.shared,
        "COST": form.cost,
    }


def runtime(name: str) -> str:
    """The text of a file in `runtime/`."""
    return (files("appell.compiler.targets.c") / "runtime" / name).read_text()


def lanewise(name: str, dtype: str) -> str:
    """A function of libm, lane by lane."""
    given = "ab"[: OPERATIONS[name].arity]
    parameters = ", ".join(f"lanes {letter}" for letter in given)
    arguments = ", ".join(f"{letter}[l]" for letter in given)
    call = f"{name}{PRECISIONS[dtype].suffix}({arguments})"
    return (
        f"static inline lanes {name}_lanes({parameters})\n"
        f"{{\n    for (int l = 0; l < LANES; l++) a[l] = {call};\n    return a;\n}}\n"
    )

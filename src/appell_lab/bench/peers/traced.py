"""Scalar C: Pinocchio's algorithms through CasADi's code generator, and ours.

All are called in a plain C loop over the rows of a batch. Everything is compiled with gcc -O3 -march=native but the kernel,
which has the options that `appell.compile` gives it.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.lowering import lower_function
from appell.compiler.targets.llvm.build import builder_for
from appell.compiler.targets.llvm.jit import compile_text
from appell.compiler.targets.llvm.kernel import kernel_text
from appell.compiler.targets.llvm.library import open_library
from appell_lab.bench.timing import Contender

if TYPE_CHECKING:
    import casadi

    from appell.robot.robot import Robot
    from appell_lab.bench.peers.pinocchio import Pinocchio

FLAGS = ("-std=gnu99", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fPIC", "-Wno-psabi")

LOOP = """
void run_rows(const double *q, const double *qd, const double *third, double *out, long n)
{{
    for (long i = 0; i < n; i++) {{
        {call}
    }}
}}
"""


def available() -> bool:
    return shutil.which("gcc") is not None


def graph(peer: Pinocchio, function: str) -> tuple[casadi.Function, str]:
    """Pinocchio's algorithm as a CasADi function, and where it comes from."""
    import casadi

    model = peer.model
    q, qd, third = (casadi.SX.sym(name, size) for name, size in (("q", model.nq), ("qd", model.nv), ("x", model.nv)))
    if find_spec("pinocchio.casadi") is not None:
        own = import_module("pinocchio.casadi")
        symbolic = own.Model(model)
        call = {"inverse_dynamics": own.rnea, "forward_dynamics": own.aba}[function]
        result, origin = call(symbolic, symbolic.createData(), q, qd, third), "pinocchio.casadi"
    else:
        spatial = import_module("appell_lab.bench.peers.spatial")
        call = {"inverse_dynamics": spatial.rnea, "forward_dynamics": spatial.aba}[function]
        result, origin = call(model, q, qd, third), "Pinocchio's algorithm"
    return casadi.Function("peer", [q, qd, third], [casadi.densify(result)]), origin


def traced_pinocchio(peer: Pinocchio, function: str, states: Sequence[np.ndarray]) -> tuple[Contender, np.ndarray]:
    """Pinocchio's algorithm through CasADi; the second value is where its results go."""
    import casadi

    traced, origin = graph(peer, function)
    generator = casadi.CodeGenerator("peer.c")
    generator.add(traced)
    nq, nv = peer.model.nq, peer.model.nv
    call = (
        f"const double *in[] = {{q + {nq} * i, qd + {nv} * i, third + {nv} * i}};\n"
        f"        double *res[] = {{out + {nv} * i}};\n        peer(in, res, 0, 0, 0);"
    )
    with tempfile.TemporaryDirectory(prefix="appell-") as folder:
        text = generator.dump() + LOOP.format(call=call)
        return _contender(folder, text, f"{origin} via CasADi, scalar C", states)


def kernel(robot: Robot, function: str, states: Sequence[np.ndarray]) -> tuple[Contender, np.ndarray]:
    """The scalar half of the kernel that `appell.compile` makes; the second value is where its results go."""
    builder, form = builder_for(None, "float64"), lower_function(robot.system, FunctionSpec(function))
    text = kernel_text(form, builder.real, "one")
    library = open_library(compile_text(text, builder.target.cpu, builder.target.features), "one", builder.runtime)
    nq, nv = robot.nq, robot.nv
    call = (
        f"const double *in[] = {{q + {nq} * i, qd + {nv} * i, third + {nv} * i}};\n"
        f"        ((void (*)(const double *const *, double *, void *)){library.one}L)(in, out + {nv} * i, scratch);"
    )
    work = f"static char scratch[{library.work}] __attribute__((aligned(64)));"
    with tempfile.TemporaryDirectory(prefix="appell-") as folder:
        contender, out = _contender(folder, work + LOOP.format(call=call), "appell, scalar half of its kernel", states)
    keeping = replace(contender, call=lambda: (contender.call(), library))  # the library stays in memory with the call
    return keeping, out


def exported(robot: Robot, function: str, states: Sequence[np.ndarray]) -> tuple[Contender, np.ndarray]:
    """What appell exports for a controller; the second value is where its results go."""
    import appell

    with tempfile.TemporaryDirectory(prefix="appell-") as folder:
        appell.export(robot, {"function": function}, folder, prefix="own")
        nq, nv = robot.nq, robot.nv
        call = f"own_function(q + {nq} * i, qd + {nv} * i, third + {nv} * i, out + {nv} * i);"
        text = Path(folder, "own.c").read_text() + LOOP.format(call=call)
        return _contender(folder, text, "appell, exported scalar C", states)


def _contender(
    folder: str, text: str, name: str, states: Sequence[np.ndarray], flags: Sequence[str] = FLAGS
) -> tuple[Contender, np.ndarray]:
    source, product = Path(folder, "rows.c"), Path(folder, "rows.so")
    source.write_text(text)
    subprocess.run(["gcc", *flags, "-shared", str(source), "-o", str(product), "-lm"], check=True, capture_output=True)
    function = ctypes.CDLL(str(product)).run_rows
    arrays = [np.ascontiguousarray(array) for array in states]
    out = np.full_like(arrays[-1], np.nan)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, out)]
    count = ctypes.c_long(len(out))

    def run() -> tuple:
        function(*pointers, count)
        return arrays, out  # which stay alive with this function

    return Contender(name, run, len(out)), out

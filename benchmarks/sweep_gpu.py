"""Sweeps on a GPU: results against the processor's, and the time of their parts.

    python benchmarks/sweep_gpu.py --prepare robots/           # anywhere: saves the PUMA and a description of states
    python benchmarks/sweep_gpu.py --robots robots/            # on the machine with the GPU

The second command needs CuPy and llvmlite (without: `--targets cuda`), and neither CasADi, lxml, Dask nor Zarr: robots come from
their files and results stay in memory. Where Zarr is installed, a sweep into a store follows, whose chunks are those that a
Dask worker would evaluate.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import appell
from appell.sweeps import Execution, random_states
from appell.table import Table

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives")
CHECKED, COUNT = 100_000, 2**22


def prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    robot = appell.load("puma560")
    appell.compile(robot, dtype="float32").save(folder / "puma560.appell", functions=FUNCTIONS)
    (folder / "states.pickle").write_bytes(pickle.dumps(random_states(robot, COUNT, seed=1)))


def row(folder: Path, function: str, target: str, dtype: str, store: Path | None = None) -> tuple:
    """One sweep; kernels are compiled by a short one before."""
    states = pickle.loads((folder / "states.pickle").read_bytes())
    robot = appell.load_compiled(folder / "puma560.appell", target=target, dtype=dtype, threads=1)
    appell.sweep(robot, [function], states[:1000], execution=Execution(threads=1))
    done = appell.sweep(robot, [function], states, store, execution=Execution(chunk=2**20, threads=1))
    parts = [f"{1e9 * part / COUNT:.1f}" for part in (done.seconds, *done.work)]
    where = f"{target}, store" if store else target
    return function, where, dtype, *parts, f"{error(folder, function, target, dtype):.1e}"


def error(folder: Path, function: str, target: str, dtype: str) -> float:
    """Largest difference from the processor's results in float64 at some states, of the largest result."""
    states = pickle.loads((folder / "states.pickle").read_bytes())[:CHECKED]
    found, exact = (
        appell.sweep(appell.load_compiled(folder / "puma560.appell", *options, threads=1), [function], states).results
        for options in ((target, dtype), ("cpu", "float64"))
    )
    return float(np.abs(found[function] - exact[function]).max() / np.abs(exact[function]).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", type=Path, metavar="FOLDER")
    parser.add_argument("--robots", type=Path, metavar="FOLDER")
    parser.add_argument("--targets", nargs="+", default=["cpu", "cuda"])
    given = parser.parse_args()
    if given.prepare:
        prepare(given.prepare)
    if given.robots:
        kinds = [(target, dtype) for target in given.targets for dtype in ("float32", "float64")]
        rows = [row(given.robots, function, *kind) for function in FUNCTIONS for kind in kinds]
        if find_spec("zarr"):
            with tempfile.TemporaryDirectory() as place:
                store = Path(place, "sweep.zarr")
                rows.append(row(given.robots, FUNCTIONS[0], given.targets[-1], "float32", store))
        columns = ("function", "where", "type", "time", "states", "kernels", "disk", "relative error")
        note = "Times in ns per state, with copies to the GPU and back; one thread of the processor makes states."
        print(Table(f"Sweeps of the PUMA over {COUNT} random states", columns, tuple(rows), (note,)))


if __name__ == "__main__":
    main()

"""Sweeps on a GPU: results against the processor's, and the time of their parts.

    python benchmarks/sweep_gpu.py --prepare build/sweep_gpu   # anywhere: the PUMA, a description of states, exact results
    python benchmarks/sweep_gpu.py --robots build/sweep_gpu    # on the machine with the GPU

The second command needs NumPy and CuPy alone: the robot comes from its file and results stay in memory. Where Zarr is installed,
a sweep into a store follows, whose chunks are those that a Dask worker evaluates. `--targets cpu cuda` compares with the
processor (llvmlite). Without the extension, states are made by NumPy and take longer.
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
CHECKED, COUNT = 5000, 2**22
ROBOT, STATES, EXACT = "puma560.appell", "states.pickle", "exact.npz"


def prepare(folder: Path) -> None:
    """Save what the other command needs; exact results are those of the processor in float64."""
    folder.mkdir(parents=True, exist_ok=True)
    robot = appell.load("puma560")
    states = random_states(robot, COUNT, seed=1)
    appell.compile(robot, dtype="float32").save(folder / ROBOT, functions=FUNCTIONS)
    (folder / STATES).write_bytes(pickle.dumps(states))
    np.savez(folder / EXACT, **appell.sweep(robot, FUNCTIONS, states[:CHECKED]).results)


def row(folder: Path, function: str, target: str, dtype: str, store: Path | None = None) -> tuple:
    """One sweep; kernels are compiled by a short one before."""
    states = pickle.loads((folder / STATES).read_bytes())
    robot = appell.load_compiled(folder / ROBOT, target=target, dtype=dtype)
    found = appell.sweep(robot, [function], states[:CHECKED]).results[function]
    exact = np.load(folder / EXACT)[function]
    error = np.abs(found - exact).max() / np.abs(exact).max()
    done = appell.sweep(robot, [function], states, store, execution=Execution(chunk=2**20, threads=1))
    parts = [f"{1e9 * part / COUNT:.1f}" for part in (done.seconds, *done.work)]
    return function, f"{target}, store" if store else target, dtype, *parts, f"{error:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", type=Path, metavar="FOLDER")
    parser.add_argument("--robots", type=Path, metavar="FOLDER")
    parser.add_argument("--targets", nargs="+", default=["cuda"])
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

"""`appell sweep ROBOT`: functions of a robot on a grid, at random states or at the states of a file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from appell.cli.common import (
    Command,
    add_dtype,
    add_functions,
    add_store,
    dask_client,
    function_names,
    load_robot,
    print_result,
    require_folders,
    show_share,
    write_files,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_functions(parser, "inverse_dynamics,forward_dynamics")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--random", type=int, metavar="N", help="number of random states (default: 10000)")
    which.add_argument(
        "--sobol", type=int, metavar="N", help="number of states of a Sobol sequence (default: random states)"
    )
    which.add_argument(
        "--grid",
        type=int,
        metavar="K",
        help="K points per coordinate between its limits, at rest (default: random states)",
    )
    which.add_argument("--states", metavar="FILE", help="CSV file with q, qd, qdd or tau, or .npz with such arrays")
    parser.add_argument("--seed", type=int, default=0, help="seed of the states (default: %(default)s)")
    parser.add_argument("--out", metavar="FILE", help="write states and results as .npz, .csv or .parquet")
    parser.add_argument("--plot", metavar="FILE", help="write histograms of the results")
    add_dtype(parser)
    add_store(parser, "states")
    parser.add_argument(
        "--target", choices=("cpu", "cuda"), default="cpu", help="of the workers (default: %(default)s)"
    )
    parser.add_argument("--compress", action="store_true", help="compress the store")


def run(arguments: argparse.Namespace) -> None:
    from appell.sweeps import Execution, Storage, sweep

    require_folders(arguments, "out", "plot")
    robot = load_robot(arguments)
    states = _states(robot, arguments)
    with dask_client(arguments) as client, show_share(len(states), "states") as progress:
        result = sweep(
            robot, function_names(arguments), states, arguments.store, client, dtype=arguments.dtype,
            target=arguments.target, execution=Execution(arguments.chunk, arguments.threads, progress),
            storage=Storage(arguments.compress, {"command": " ".join(["appell", *sys.argv[1:]])}),
        )  # fmt: skip
    written = write_files(arguments, out=result.save, plot=result.plot)
    table = result.table()
    text = "\n".join(
        [str(table), *(f"written: {path}" for path in [*written, *([result.store] if result.store else [])])]
    )
    data = {
        **table.as_dict(),
        "states": len(states),
        "seconds": result.seconds,
        "files": written,
        "store": result.store,
    }
    print_result(arguments, text, data)


def _states(robot: Any, arguments: argparse.Namespace) -> Any:
    from appell.sweeps import grid_states, random_states, read_states, sobol_states

    if arguments.states:
        return read_states(robot, arguments.states)
    if arguments.grid is not None:
        return grid_states(robot, arguments.grid)
    if arguments.sobol is not None:
        return sobol_states(robot, arguments.sobol, arguments.seed)
    return random_states(robot, 10_000 if arguments.random is None else arguments.random, arguments.seed)


COMMAND = Command("sweep", "evaluate functions of a robot at many states", add_arguments, run, robot=True)

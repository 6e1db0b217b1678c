"""`appell sweep ROBOT`: functions of a robot on a grid, at random states or at the states of a file."""

from __future__ import annotations

import argparse
import time

from appell.cli.common import Command, add_dtype, add_functions, function_names, load_robot, print_result, write_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_functions(parser, "inverse_dynamics,forward_dynamics")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--random", type=int, metavar="N", help="number of random states (default: 10000)")
    which.add_argument("--grid", type=int, metavar="K", help="K points per coordinate between its limits, at rest")
    which.add_argument("--states", metavar="FILE", help="CSV file with q, qd, qdd or tau, or .npz with such arrays")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random states (default: %(default)s)")
    parser.add_argument("--out", metavar="FILE", help="write states and results as .npz or .csv")
    parser.add_argument("--plot", metavar="FILE", help="write histograms of the results")
    add_dtype(parser)
    parser.add_argument("--threads", type=int, metavar="N", help="number of threads (default: all cores)")


def run(arguments: argparse.Namespace) -> None:
    from appell.progress import finish, show
    from appell.sweeps import grid_states, random_states, read_states, sweep

    robot = load_robot(arguments)
    if arguments.states:
        states = read_states(robot, arguments.states)
    elif arguments.grid is not None:
        states = grid_states(robot, arguments.grid)
    else:
        states = random_states(robot, 10_000 if arguments.random is None else arguments.random, arguments.seed)
    start = time.perf_counter()

    def show_progress(share: float) -> None:
        show(share, f"{len(states)} states", time.perf_counter() - start)

    functions, dtype, threads = function_names(arguments), arguments.dtype, arguments.threads
    result = sweep(robot, functions, states, dtype=dtype, threads=threads, progress=show_progress)
    finish()
    written = write_files(arguments, out=result.save, plot=result.plot)
    text = "\n".join([str(result.table()), *(f"written: {path}" for path in written)])
    data = {**result.table().as_dict(), "states": len(states), "seconds": result.seconds, "files": written}
    print_result(arguments, text, data)


COMMAND = Command("sweep", "evaluate functions of a robot at many states", add_arguments, run, robot=True)

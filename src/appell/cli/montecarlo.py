"""`appell montecarlo ROBOT`: how well computed torque tracks a motion of robots whose masses are uncertain."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from appell.cli.common import (
    Command,
    add_store,
    dask_client,
    load_robot,
    parse_vector,
    print_result,
    require_folders,
    show_share,
    write_files,
)

if TYPE_CHECKING:
    import numpy as np


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--runs", type=int, default=1000, metavar="N", help="number of robots (default: %(default)s)")
    add("--seed", type=int, default=0, help="seed of the random masses (default: %(default)s)")
    spread = "masses of the links are the robot's times numbers from 1 - SHARE to 1 + SHARE, with first moments and inertias "
    add("--mass-spread", type=float, default=0.2, metavar="SHARE", help=f"{spread}(default: %(default)s)")
    add("--q0", nargs="+", metavar="Q", help="start of the motion [rad, m] (default: 0)")
    add("--target", nargs="+", metavar="Q", help="its end [rad, m] (default: 1 rad or 0.1 m in every coordinate)")
    add("--duration", type=float, default=2.0, metavar="S", help="length of the motion [s] (default: %(default)s)")
    add("--period", type=float, default=5e-3, metavar="S", help="of the controller [s] (default: %(default)s)")
    add("--kp", type=float, default=100.0, help="gain on the error (default: %(default)s)")
    add("--kd", type=float, default=20.0, help="gain on its rate (default: %(default)s)")
    add("--plot", metavar="FILE", help="write bands of the tracking error over time")
    add_store(parser, "runs")


def run(arguments: argparse.Namespace) -> None:
    import numpy as np

    import appell
    from appell.sweeps import Execution, Labels

    require_folders(arguments, "plot")
    robot = load_robot(arguments)
    reach = np.where([joint.kind == "prismatic" for joint in robot.moving_joints], 0.1, 1.0)
    start = np.zeros(robot.nq) if arguments.q0 is None else _vector(robot, arguments.q0, "--q0")
    end = start + reach if arguments.target is None else _vector(robot, arguments.target, "--target")
    reference = appell.trajectories.joint_line(robot, start, end, duration=arguments.duration, profile="quintic")
    count = max(1, round(arguments.duration / arguments.period))
    t = np.linspace(0.0, arguments.duration, count + 1)
    follow = partial(track, reference=tuple(reference(t)), period=t[1], gains=(arguments.kp, arguments.kd))
    draw = partial(draw_scales, links=(len(robot.parameters) - robot.rotors) // 10, spread=arguments.mass_spread)
    labels = Labels(
        dims={"error": ["time"], "torque": ["time"]},
        units={"error": "rad, m", "torque": "N m, N", "worst_error": "rad, m"},
        attributes={"command": " ".join(["appell", *sys.argv[1:]])},
    )
    with dask_client(arguments) as client, show_share(arguments.runs, "runs") as progress:
        study = appell.monte_carlo(
            appell.compile(robot, parameters="runtime", threads=1), draw, follow, arguments.runs, arguments.store, client,
            seed=arguments.seed, batch=True, execution=Execution(arguments.chunk, arguments.threads, progress), labels=labels,
        )  # fmt: skip
    written = write_files(arguments, plot=lambda path: study.plot(path, t=t[1:]))
    table = study.table()
    text = "\n".join(
        [str(table), *(f"written: {path}" for path in [*written, *([study.store] if study.store else [])])]
    )
    data = {**table.as_dict(), "runs": len(study), "seconds": study.seconds, "files": written, "store": study.store}
    print_result(arguments, text, data)


def _vector(robot: Any, texts: list[str], option: str) -> np.ndarray:
    import numpy as np

    return parse_vector(texts, robot.simulation_model().q_names, np.zeros(robot.nq), option)


def draw_scales(rng: np.random.Generator, links: int, spread: float) -> dict[str, Any]:
    """A factor for the inertial parameters of every link."""
    return {"scale": rng.uniform(1.0 - spread, 1.0 + spread, links)}


def track(dyn: Any, scale: np.ndarray, reference: tuple, period: float, gains: tuple[float, float]) -> dict[str, Any]:
    """Track a reference by sampled computed torque with the robot's own masses; the moved robots have others.

    tau = M(q) (qdd_d + kp e + kd ed) + bias(q, qd), e = q_d - q, constant over a period. The results are the largest error
    of a joint at the end of every period and the largest torque in it, (runs, periods).
    """
    import numpy as np

    import appell

    parameters = np.tile(dyn.parameters, (len(scale), 1))
    parameters[:, : 10 * scale.shape[1]] *= np.repeat(scale, 10, axis=1)  # rotors come last
    q_d, qd_d, qdd_d = reference
    (kp, kd), count = gains, len(q_d) - 1
    q, qd = np.tile(q_d[0], (len(scale), 1)), np.tile(qd_d[0], (len(scale), 1))
    error, torque = np.empty((2, len(scale), count))
    options = appell.RolloutOptions(check=False)
    for k in range(count):
        tau = dyn.inverse_dynamics(q, qd, qdd_d[k] + kp * (q_d[k] - q) + kd * (qd_d[k] - qd), check=False)
        path = appell.rollout(
            dyn, q, qd, tau, steps=2, dt=period / 2, save_every=2, parameters=parameters, options=options
        )
        q, qd = path.q[:, -1], path.qd[:, -1]
        error[:, k], torque[:, k] = np.abs(q_d[k + 1] - q).max(axis=1), np.abs(tau).max(axis=1)
    return {"error": error, "torque": torque, "worst_error": error.max(axis=1)}


COMMAND = Command(
    "montecarlo", "bands of the tracking error of robots with uncertain masses", add_arguments, run, robot=True
)

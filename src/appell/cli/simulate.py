"""`appell simulate ROBOT`: from a robot's file to its motion, in numbers, files and a picture."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from appell.cli.common import OK, Command, add_json, add_robot, load_robot, parse_vector, print_result
from appell.cli.walls import add_walls, walls_of

if TYPE_CHECKING:
    import numpy as np

    from appell.robot.robot import Robot
    from appell.simulation.trajectory import Trajectory

LAWS = ("pd", "pd_gravity", "point_to_point", "computed_torque", "integral_tracking")
SAMPLES = 500
"""As many samples are kept where no period is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument(
        "--floating", action="store_const", const="floating", dest="base", help="the same as --base floating"
    )
    start = parser.add_argument_group("start", "numbers in the order of `appell info`, or NAME=NUMBER for some of them")
    start.add_argument("--q0", nargs="+", metavar="Q", help="coordinates (default: the robot's own, or its rest pose)")
    start.add_argument("--qd0", nargs="+", metavar="QD", help="speeds (default: the robot's own, or none)")
    start.add_argument("--duration", type=float, default=2.0, metavar="S", help="[s] (default: %(default)s)")
    drives = parser.add_argument_group("drives")
    drives.add_argument(
        "--tau", nargs="+", metavar="TAU", help="constant forces of the drives [N m, N] (default: none)"
    )
    drives.add_argument("--control", choices=LAWS, metavar="LAW", help=f"{', '.join(LAWS)}: move to --target, or stay")
    drives.add_argument("--target", nargs="+", metavar="Q", help="where the controller leads the robot, smoothly")
    drives.add_argument("--kp", type=float, default=100.0, help="gain on the error (default: %(default)s)")
    drives.add_argument("--kd", type=float, default=20.0, help="gain on its rate (default: %(default)s)")
    drives.add_argument("--ki", type=float, default=100.0, help="gain on its integral (default: %(default)s)")
    drives.add_argument(
        "--period", type=float, default=1e-3, metavar="S", help="of the controller (default: %(default)s)"
    )
    drives.add_argument("--limits", action="store_true", help="cut forces off at the effort limits of the joints")
    walls = parser.add_argument_group("walls")
    add_walls(walls)
    walls.add_argument("--restitution", type=float, default=1.0, metavar="E", help="from 0 to 1 (default: %(default)s)")
    walls.add_argument("--points", nargs="+", metavar="BODY", help="that touch walls (default: joint origins and tips)")
    how = parser.add_argument_group("integration")
    how.add_argument("--method", default="DOP853", help="integrator (default: %(default)s)")
    how.add_argument("--rtol", type=float, default=1e-9, help="its relative tolerance (default: %(default)s)")
    how.add_argument(
        "--dt", type=float, metavar="S", help="step of semi_implicit_euler, rk4 and midpoint (default: 0.001)"
    )
    out = parser.add_argument_group("results")
    out.add_argument("--sample", type=float, metavar="S", help="period of the samples (default: 500 of them)")
    out.add_argument("--out", metavar="FILE", help="write the motion as .npz, for appell.Trajectory.load")
    out.add_argument("--csv", metavar="FILE", help="write the motion as text, a column for each number")
    out.add_argument(
        "--plot", metavar="FILE", help="draw coordinates, speeds, forces and energy, as .png, .svg or .pdf"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import appell
    from appell.cli import simulate_tables as tables

    robot = load_robot(arguments)
    q0, qd0, tau = start_of(robot, arguments)
    begun = time.perf_counter()
    motion = appell.simulate(
        robot, q0, qd0, arguments.duration,
        tau=tau, control=controller(robot, q0, arguments), limits="robot" if arguments.limits else None,
        walls=walls_of(arguments), restitution=arguments.restitution,
        points=arguments.points, method=arguments.method, rtol=arguments.rtol, dt=arguments.dt,
        sample=arguments.sample or arguments.duration / SAMPLES,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    files = write(motion, arguments)
    shown = tables.all_tables(motion)
    last = (
        f"Files: {', '.join(files)}"
        if files
        else "Add --plot motion.png for a picture, --csv or --out for the numbers."
    )
    text = "\n\n".join([tables.head(motion, seconds), *map(str, shown), last])
    data: dict[str, Any] = {
        **tables.summary(motion), "seconds": seconds, "tables": [table.as_dict() for table in shown], "files": files,
    }  # fmt: skip
    print_result(arguments, text, data)
    return OK


def rest_of(robot: Any) -> np.ndarray:
    """Coordinates of the rest pose; zeros where a robot has no other."""
    import numpy as np

    return robot.neutral_configuration() if hasattr(robot, "neutral_configuration") else np.zeros(robot.nq)


def start_of(robot: Robot, arguments: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Coordinates, speeds and constant forces of the command line."""
    import numpy as np

    own = robot.initial_state or (rest_of(robot), np.zeros(robot.nv))
    model = robot.simulation_model()
    q0, qd0 = (np.array(each, dtype=float) for each in own)
    q0 = q0 if arguments.q0 is None else parse_vector(arguments.q0, model.q_names, q0, "--q0")
    qd0 = qd0 if arguments.qd0 is None else parse_vector(arguments.qd0, model.qd_names, qd0, "--qd0")
    tau = (
        None
        if arguments.tau is None
        else parse_vector(arguments.tau, model.actuator_names, np.zeros(len(model.actuator_names)), "--tau")
    )
    return q0, qd0, tau


def controller(robot: Robot, q0: np.ndarray, arguments: argparse.Namespace) -> Any:
    """The controller of the command line, or None."""
    from appell.errors import ArgumentError

    if arguments.control is None:
        if arguments.target is not None:
            raise ArgumentError(f"--target needs a --control: {', '.join(LAWS)}.")
        return None
    from appell.control.controller import CONTROLLERS
    from appell.kinematics.trajectories import joint_line

    reference: Any = q0
    if arguments.target is not None:
        target = parse_vector(arguments.target, robot.joint_names, q0, "--target")
        reference = joint_line(robot, q0, target, duration=arguments.duration)
    kind = CONTROLLERS[arguments.control]
    gains = {name: getattr(arguments, name) for name in kind.law.gains}
    return kind(robot, reference, period=arguments.period, **gains)


def write(motion: Trajectory, arguments: argparse.Namespace) -> list[str]:
    """Write the files that were asked for."""
    if arguments.out:
        motion.save(arguments.out)
    if arguments.csv:
        motion.to_csv(arguments.csv)
    if arguments.plot:
        motion.plot(arguments.plot)
    return [file for file in (arguments.out, arguments.csv, arguments.plot) if file]


COMMAND = Command("simulate", "move a robot: numbers, files and a picture of its motion", add_arguments, run)

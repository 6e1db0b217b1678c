"""`appell simulate ROBOT`: the motion of a robot in numbers, files and a figure."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from appell.cli.common import (
    FAILED,
    LAWS,
    OK,
    Command,
    add_effort_limit,
    add_renamed_options,
    load_robot,
    parse_effort_limit,
    parse_named,
    parse_vector,
    print_result,
    require_folders,
    write_files,
)
from appell.cli.surfaces import add_surfaces, surfaces_of
from appell.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    from appell.robot.robot import Robot

GAINS = {"kp": 100.0, "kd": 20.0, "ki": 100.0}
"""Gains where none are given. [1/s², 1/s, 1/s³, or N m/rad, N m s/rad of pd and pd_gravity]"""
SAMPLES = 500
"""Number of samples where no period is given."""
METHODS = (
    "integrator: DOP853, RK45, RK23, Radau, BDF, LSODA, rk4, semi_implicit_euler or midpoint; moreau, time stepping "
    "for many contacts; or auto, which goes over to it where contacts close to stay"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    start = parser.add_argument_group("start", "numbers in the order of `appell info`, or NAME=NUMBER for some of them")
    start.add_argument(
        "--q0",
        nargs="+",
        metavar="Q",
        help="configuration [rad, m], or the name of a posture (default: that of the robot, or neutral; with --joint-limits stop "
        "the nearest within the limits)",
    )
    start.add_argument(
        "--qd0", nargs="+", metavar="QD", help="velocities [rad/s, m/s] (default: those of the robot, or 0)"
    )
    start.add_argument(
        "--duration", type=float, default=2.0, metavar="S", help="length of the motion [s] (default: %(default)s)"
    )
    actuators = parser.add_argument_group("actuators")
    actuators.add_argument(
        "--tau", nargs="+", metavar="TAU", help="constant forces of joints or actuators [N m, N] (default: 0)"
    )
    actuators.add_argument("--law", choices=LAWS, metavar="LAW", help=f"control law: {', '.join(LAWS)} (default: none)")
    actuators.add_argument(
        "--target", nargs="+", metavar="Q", help="goal of the control law [rad, m] (default: stay at --q0)"
    )
    floating = "; of pd and pd_gravity with a floating base by joint, as appell.control.default_gains"
    for name, of in {"kp": "the error", "kd": "its rate", "ki": "its integral"}.items():
        shown = f"gain on {of} (default: {GAINS[name]:g}{floating if name != 'ki' else ''})"
        actuators.add_argument(f"--{name}", type=float, help=shown)
    period = "sample period of the control law [s] (default: %(default)s)"
    actuators.add_argument("--period", type=float, default=1e-3, metavar="S", help=period)
    add_effort_limit(actuators)
    clip = "the same as --effort-limit robot"
    actuators.add_argument(
        "--enforce-effort-limits", action="store_const", const=["robot"], dest="effort_limit", help=clip
    )
    compensate = "add the damping of the joints times the velocity to the forces of the law"
    actuators.add_argument("--compensate-damping", action="store_true", help=compensate)
    contact = parser.add_argument_group("contact")
    add_surfaces(contact)
    restitution = "coefficient of restitution, from 0 to 1 (default: %(default)s)"
    contact.add_argument("--restitution", type=float, default=1.0, metavar="E", help=restitution)
    points = "bodies whose origins touch surfaces, BODY:X,Y,Z for other points of a body, BODY:X,Y,Z,R for a sphere, "
    points += "BODY:X,Y,Z,R,AX,AY,AZ for a circle about an axis "
    points += "(default: the collision shapes, or joints and tips)"
    contact.add_argument("--contact-points", nargs="+", metavar="POINT", help=points)
    limits = "list joint limits that the motion exceeds, or make them stops without rebound (default: %(default)s)"
    contact.add_argument("--joint-limits", choices=("report", "stop"), default="report", help=limits)
    integration = parser.add_argument_group("integration")
    integration.add_argument("--method", default="DOP853", help=f"{METHODS} (default: %(default)s)")
    integration.add_argument("--rtol", type=float, default=1e-9, help="relative tolerance (default: %(default)s)")
    step = (
        "step of semi_implicit_euler, rk4, midpoint and moreau, and of the time stepping of auto [s] (default: 0.001)"
    )
    integration.add_argument("--dt", type=float, metavar="S", help=step)
    results = parser.add_argument_group("results")
    results.add_argument(
        "--sample-period", type=float, metavar="S", help=f"time between samples [s] (default: duration / {SAMPLES})"
    )
    results.add_argument("--out", metavar="FILE", help="write the motion as .npz, for appell.Trajectory.load")
    results.add_argument("--csv", metavar="FILE", help="write the motion as text, one column per quantity")
    results.add_argument("--plot", metavar="FILE", help="plot q, qd, tau and energy, as .png, .svg or .pdf")
    add_renamed_options(parser, {
        "--control": "--law", "--limits": "--enforce-effort-limits", "--points": "--contact-points",
        "--sample": "--sample-period",
    })  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    import appell
    from appell.cli import simulate_tables as tables

    require_folders(arguments, "out", "csv", "plot")
    robot = load_robot(arguments)
    q0, qd0, tau = initial_state(robot, arguments)
    begin = time.perf_counter()
    motion = appell.simulate(
        robot, q0, qd0, arguments.duration, tau=tau, controller=controller(robot, q0, arguments),
        effort_limits=parse_effort_limit(arguments.effort_limit), limits=arguments.joint_limits,
        surfaces=surfaces_of(arguments),
        contact=appell.ContactOptions(contact_points(robot, arguments), arguments.restitution),
        method=appell.Integration(arguments.method, rtol=arguments.rtol, dt=arguments.dt),
        t_eval=arguments.sample_period or arguments.duration / SAMPLES,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    files = write_files(arguments, out=motion.save, csv=motion.to_csv, plot=motion.plot)
    shown = tables.all_tables(motion, arguments.joint_limits == "stop")
    hint = "Add --plot motion.png for a figure, --csv or --out for the numbers."
    last = f"Files: {', '.join(files)}" if files else hint
    text = "\n\n".join([tables.head(motion, seconds), *map(str, shown), last])
    data: dict[str, Any] = {
        **tables.summary(motion), "seconds": seconds, "tables": [table.as_dict() for table in shown], "files": files,
    }  # fmt: skip
    print_result(arguments, text, data)
    return FAILED if motion.problems else OK


def initial_state(robot: Robot, arguments: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """q, qd and constant tau of the command line."""
    import numpy as np

    model = robot.simulation_model()
    start = robot.initial_state or (robot.neutral_configuration(), np.zeros(robot.nv))
    q0, qd0 = (np.array(x, dtype=float) for x in start)
    if arguments.joint_limits == "stop":
        within = np.clip(q0, model.limits.lower, model.limits.upper)
        if model.constraint_error(within, qd0) <= model.constraint_error(q0, qd0):  # loops stay closed
            q0 = within
    tau = np.zeros(len(model.actuator_names))
    posture = getattr(robot, "postures", {}).get(" ".join(arguments.q0 or ()))
    if arguments.q0 is not None:
        q0 = parse_vector(arguments.q0, model.q_names, q0, "--q0") if posture is None else posture
    qd0 = qd0 if arguments.qd0 is None else parse_vector(arguments.qd0, model.qd_names, qd0, "--qd0")
    if arguments.tau is None:
        return q0, qd0, None
    if any("=" in text for text in arguments.tau):  # names of joints, or of actuators
        return q0, qd0, robot.vector("tau", parse_named(arguments.tau, "--tau"))
    return q0, qd0, parse_vector(arguments.tau, model.actuator_names, tau, "--tau")


def contact_points(robot: Robot, arguments: argparse.Namespace) -> list[Any] | None:
    """Contact points of the command line; the names of bodies may contain colons."""
    from appell.model.point import Point

    given = arguments.contact_points
    for text in given or ():
        body, _, numbers = text.rpartition(":")
        if body in robot.body_names and text not in robot.body_names and Point.from_text(text).body == text:
            raise ArgumentError(
                f"--contact-points: {numbers!r} after {body!r} is not X,Y,Z, nor X,Y,Z,R of a sphere or X,Y,Z,R,AX,AY,AZ of a "
                "circle."
            )
    return given and [text if text in robot.body_names else Point.from_text(text) for text in given]


def controller(robot: Robot, q0: np.ndarray, arguments: argparse.Namespace) -> Any:
    """The controller of the command line, or None."""
    if arguments.law is None:
        if arguments.target is not None:
            raise ArgumentError(f"--target needs a --law: {', '.join(LAWS)}.")
        return None
    from appell.algorithms.actuated_joints import ActuatedJoints
    from appell.control.controller import CONTROLLERS, default_gains
    from appell.kinematics.trajectories import joint_line

    kind = CONTROLLERS[arguments.law]
    joints = ActuatedJoints.of(robot.nq, robot.nv, robot.system.free)
    names, here = [robot.q_names[k] for k in joints.q], q0[list(joints.q)]
    default = default_gains(robot, arguments.law, q0, arguments.period) if joints.floating else GAINS
    given = {name: getattr(arguments, name) for name in kind.law.gains}
    gains: dict[str, Any] = {name: default[name] if value is None else value for name, value in given.items()}
    options: dict[str, Any] = {"period": arguments.period, "compensate_damping": arguments.compensate_damping}
    stay = kind(robot, here, **options, **gains)
    if arguments.target is None:
        return stay
    target = parse_vector(arguments.target, names, here, "--target")
    return replace(stay, reference=joint_line(robot, here, target, duration=arguments.duration))


COMMAND = Command(
    "simulate", "simulate a robot: numbers, files and a figure of its motion", add_arguments, run, robot=True
)

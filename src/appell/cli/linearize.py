"""`appell linearize ROBOT`: linear model of the motion about a state, and its poles."""

from __future__ import annotations

import argparse

from appell.cli.common import Command, load_robot, parse_number, parse_vector, print_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--q", nargs="+", metavar="Q", help="configuration [rad, m] (default: that of the robot, or neutral)"
    )
    parser.add_argument("--qd", nargs="+", metavar="QD", help="velocities [rad/s, m/s] (default: 0)")
    parser.add_argument(
        "--tau", nargs="+", metavar="TAU", help="actuator forces [N m, N] (default: those that hold the robot)"
    )
    parser.add_argument("--dt", metavar="S", help="length of a step [s] (default: continuous time)")
    integrators = ("rk4", "semi_implicit_euler")
    parser.add_argument("--integrator", choices=integrators, default="rk4", help="of the step (default: %(default)s)")
    parser.add_argument("--passive", action="store_true", help="add damping, friction and springs of the joints")


def run(arguments: argparse.Namespace) -> None:
    """Print A, B and the poles."""
    import numpy as np

    from appell.table import Table

    robot = load_robot(arguments)
    start = (
        robot.neutral_configuration() if robot.initial_state is None else np.array(robot.initial_state[0], dtype=float)
    )
    q = start if arguments.q is None else parse_vector(arguments.q, robot.q_names, start, "--q")
    rest = np.zeros(robot.nv)
    qd = rest if arguments.qd is None else parse_vector(arguments.qd, robot.qd_names, rest, "--qd")
    held = robot.gravity(q) - (robot.passive_forces(q, rest) if arguments.passive else 0.0)
    hold = np.linalg.lstsq(robot.actuator_jacobian(q).T, held, rcond=None)[0]
    tau = hold if arguments.tau is None else parse_vector(arguments.tau, robot.actuator_names, hold, "--tau")
    dt = None if arguments.dt is None else parse_number(arguments.dt, "--dt")
    A, B = robot.linearize(q, qd, tau, dt, arguments.integrator, passive_forces=arguments.passive)
    poles = np.linalg.eigvals(A)
    poles = poles[np.lexsort((poles.imag, -(poles.real if dt is None else abs(poles))))]
    names = (*(f"δ{name}" for name in robot.qd_names), *(f"δd{name}" for name in robot.qd_names))
    unit = "1/s" if dt is None else "per step"
    tables = (
        Table("A", ("", *names), tuple((name, *map(float, row)) for name, row in zip(names, A, strict=True))),
        Table(
            "B",
            ("", *robot.actuator_names),
            tuple((name, *map(float, row)) for name, row in zip(names, B, strict=True)),
        ),
        Table(f"Poles [{unit}]", ("real", "imaginary"), tuple((float(p.real), float(p.imag)) for p in poles)),
    )
    data = {
        "A": A.tolist(), "B": B.tolist(), "poles": [[p.real, p.imag] for p in poles.tolist()], "q": q.tolist(),
        "qd": qd.tolist(), "tau": tau.tolist(), "dt": dt,
    }  # fmt: skip
    print_result(arguments, "\n\n".join(map(str, tables)), data)


COMMAND = Command(
    "linearize", "linear model of the motion about a state: A, B and poles", add_arguments, run, robot=True
)

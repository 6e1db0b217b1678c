"""`appell demo`: torques, mass matrix, operation counts and a picture of the built-in PUMA."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from appell.cli.common import OK, Command, add_json, print_result
from appell.errors import AppellError, ArgumentError
from appell.table import Table

if TYPE_CHECKING:
    from appell.robot.robot import Robot

Q = (0.3, -0.6, 0.5, 0.2, 0.7, -0.4)
QD = (0.5, -0.4, 0.3, 0.6, -0.5, 0.4)
QDD = (1.0, 0.8, -0.6, 0.5, 0.4, -0.3)
"""The state of the tables. [rad, rad/s, rad/s²]"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="appell_demo.png", help="file of the picture (default: %(default)s)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import appell

    robot = appell.load("puma560")
    tables = (torque_table(robot), mass_matrix_table(robot), cost_table(robot))
    picture = draw(robot, arguments.output)
    head = f"PUMA 560 of Valera et al. 2003: {robot.nv} joints, {sum(body.mass for body in robot.bodies):.6g} kg"
    data: dict[str, Any] = {"robot": robot.name, "tables": [table.as_dict() for table in tables], "picture": picture}
    print_result(arguments, "\n\n".join([head, *map(str, tables), picture]), data)
    return OK


def torque_table(robot: Robot) -> Table:
    """Torques at one state by two methods, and the accelerations from these torques."""
    tau = robot.inverse_dynamics(Q, QD, QDD)
    other = robot.inverse_dynamics(Q, QD, QDD, method="newton_euler")
    back = robot.forward_dynamics(Q, QD, tau)
    gravity = robot.gravity(Q).round(12).tolist()  # rounding errors are shown as zero
    rows = tuple(zip(robot.joint_names, Q, QD, QDD, tau.tolist(), gravity, strict=True))
    notes = (
        f"Gibbs-Appell and Newton-Euler differ by {abs(tau - other).max():.1e} N m at most.",
        f"Forward dynamics returns the accelerations within {abs(back - QDD).max():.1e} rad/s².",
    )
    columns = ("joint", "q [rad]", "qd [rad/s]", "qdd [rad/s²]", "torque [N m]", "of gravity [N m]")
    return Table("Torques at one state", columns, rows, notes)


def mass_matrix_table(robot: Robot) -> Table:
    """The mass matrix at the same state."""
    rows = tuple((name, *row) for name, row in zip(robot.joint_names, robot.mass_matrix(Q).tolist(), strict=True))
    return Table("Mass matrix M(q) [kg m²]", ("", *robot.joint_names), rows)


def cost_table(robot: Robot) -> Table:
    """Products and sums, compared with those of Mata et al. 2002."""
    from appell import count_operations
    from appell_lab.reproduce import mata2002
    from appell_lab.reproduce.cost import SIX, operations

    printed = {
        ("inverse_dynamics", "mata2002"): mata2002.TABLE_1[mata2002.GIBBS_APPELL],
        mata2002.HESSIAN: mata2002.TABLE_3["inertia matrix D"],
        mata2002.BIAS_VECTOR: mata2002.TABLE_3["bias vector"],
        mata2002.FORWARD: mata2002.TABLE_3["total"],
    }
    rows = []
    for (function, method), paper in printed.items():
        general, own = operations(function, method, SIX), count_operations(robot, function, method, compiled=True)
        counts = ((paper.products_six, paper.sums_six), (general.mul, general.add), (own.mul, own.add))
        rows.append((function, *(f"{products:4} / {sums}" for products, sums in counts)))
    columns = ("function", "Mata 2002, any six joints", "appell, any six joints", "appell, this PUMA compiled")
    return Table("Products / sums of one evaluation", columns, tuple(rows))


def draw(robot: Robot, path: str) -> str:
    """Write the picture; returns a line with its path, or with the reason why there is none."""
    from appell.cli.demo_picture import draw_motion

    try:
        draw_motion(robot, path)
    except ArgumentError:
        raise
    except AppellError as error:  # matplotlib is not installed
        return f"No picture: {error}"
    return f"Picture: {path}"


COMMAND = Command(
    "demo", "torques, mass matrix, operation counts and a picture of the built-in PUMA", add_arguments, run
)

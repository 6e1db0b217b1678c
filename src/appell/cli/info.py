"""`appell info ROBOT`: bodies, joints and operation counts of a robot."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from appell.cli.common import Command, add_robot, load_robot, print_result
from appell.table import Table

if TYPE_CHECKING:
    from appell.model.joint import Joint
    from appell.robot.robot import Robot

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, nargs="?")


def run(arguments: argparse.Namespace) -> None:
    if arguments.robot is None:
        table = built_in_table()
        print_result(arguments, table, table.as_dict())
        return
    robot = load_robot(arguments)
    tree = robot.spanning_tree
    tables = (
        body_table(tree),
        joint_table(tree, robot.first_coordinates),
        *loop_tables(robot),
        *actuator_tables(tree),
        count_table(robot),
    )
    mass = sum(body.mass for body in tree.bodies)
    head = (
        f"{robot.name}: {len(tree.bodies)} bodies, {len(tree.joints)} joints, nq = {robot.nq}, nv = {robot.nv}, "
        f"{mass:.6g} kg, gravity {triple(robot.gravity_vector)} m/s²"
    )
    data: dict[str, Any] = {
        "name": robot.name, "nq": robot.nq, "nv": robot.nv, "mass": mass, "gravity": list(robot.gravity_vector),
        "tables": [table.as_dict() for table in tables],
    }  # fmt: skip
    print_result(arguments, "\n\n".join([head, *map(str, tables)]), data)


def built_in_table() -> Table:
    """Every built-in robot."""
    import appell

    rows = []
    for name in appell.robots.names():
        robot = appell.load(name)
        kind = "closed loops" if robot.closure_names else "tree"
        rows.append((name, kind, robot.nq, robot.nv, len(robot.spanning_tree.bodies)))
    return Table("Built-in robots", ("name", "kind", "nq", "nv", "bodies"), tuple(rows))


def loop_tables(robot: Any) -> tuple[Table, ...]:
    """Independent velocities, actuators and loop closures of a robot with closed loops."""
    if not robot.closure_names:
        return ()
    rows = [("independent velocities", ", ".join(robot.qd_names)), ("actuators", ", ".join(robot.actuator_names))]
    rows += [(f"loop closure {c.name}", f"{c.kind}: {c.body1}, {c.body2}") for c in robot.closures]
    return (Table("Closed loops", ("", "names"), tuple(rows)),)


def actuator_tables(robot: Robot) -> tuple[Table, ...]:
    """Actuators and named postures of the description, where it has them."""
    tables = []
    if robot.actuators:
        rows = []
        for each in robot.actuators:
            joints = ", ".join(f"{gear:.4g} {joint}" for joint, gear in zip(each.joints, each.gears, strict=True))
            rows.append((each.name, each.kind, joints or f"thrust at {each.frame}", finite(each.largest_force())))
        columns = ("actuator", "kind", "gear and joint", "largest force [N m, N]")
        tables.append(Table("Actuators", columns, tuple(rows)))
    if robot.named_postures:
        rows = [(name, " ".join(f"{x:.4g}" for x in q)) for name, q in robot.postures.items()]
        tables.append(Table("Postures", ("posture", "q [rad, m]"), tuple(rows)))
    return tuple(tables)


def body_table(robot: Robot) -> Table:
    """Mass properties of every body."""
    rows = [
        (body.name, body.mass, triple(body.com), triple((body.inertia[0], body.inertia[3], body.inertia[5])))
        for body in robot.bodies
    ]
    columns = ("body", "mass [kg]", "centre of mass [m]", "Ixx Iyy Izz about it [kg m²]")
    estimated = [body.name for body in robot.bodies if body.estimated]
    notes = (f"Estimated from shapes: {', '.join(estimated)}",) if estimated else ()
    return Table("Bodies", columns, tuple(rows), notes)


def joint_table(robot: Robot, first: Mapping[str, tuple[int, int]]) -> Table:
    """All joints, with the index of their first coordinate; empty columns are left out."""
    columns = {
        "q": [first[joint.name][0] if joint.name in first else None for joint in robot.joints],
        "joint": [joint.name for joint in robot.joints],
        "kind": [joint.kind for joint in robot.joints],
        "parent -> child": [f"{joint.parent} -> {joint.child}" for joint in robot.joints],
        "axis": [triple(joint.axis) if joint.kind != "fixed" else None for joint in robot.joints],
        "range": [span(joint) for joint in robot.joints],
        "velocity": [finite(joint.limits.velocity) for joint in robot.joints],
        "effort": [finite(joint.limits.effort) for joint in robot.joints],
        "damping": [joint.damping or None for joint in robot.joints],
        "friction": [joint.friction or None for joint in robot.joints],
        "armature": [joint.armature or None for joint in robot.joints],
        "mimics": [mimic(joint) for joint in robot.joints],
    }
    filled = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    rows = tuple(zip(*filled.values(), strict=True))
    return Table("Joints [rad, m, N m, N, s]; q: index of its first coordinate", tuple(filled), rows)


def count_table(robot: Any) -> Table:
    """Operations of the main functions as compiled for this robot."""
    from appell import count_operations

    defects = robot.spanning_tree.tree.mass_defects
    counted = () if defects else COUNTED
    notes = (f"Kinematics only: links without mass are {', '.join(defects)}",) if defects else ()
    rows = [(function, *count_operations(robot, function, compiled=True)) for function in counted]
    columns = ("function", "products", "sums", "divisions", "sines, cosines")
    return Table("Operations of one evaluation, compiled for this robot", columns, tuple(rows), notes)


def triple(values) -> str:
    """Three numbers as text."""
    return " ".join(f"{value:.4g}" for value in values)


def finite(limit: float) -> float | None:
    """The limit, None if it is infinite."""
    return limit if math.isfinite(limit) else None


def span(joint: Joint) -> str | None:
    """Range of the coordinate, None if it is unlimited."""
    lower, upper = joint.limits.lower, joint.limits.upper
    return None if math.isinf(lower) and math.isinf(upper) else f"{lower:.4g} .. {upper:.4g}"


def mimic(joint: Joint) -> str | None:
    """Multiplier, leader and offset of a mimic joint."""
    if joint.mimic is None:
        return None
    shift = f" {joint.mimic.offset:+.4g}" if joint.mimic.offset else ""
    return f"{joint.mimic.multiplier:.4g} {joint.mimic.joint}{shift}"


COMMAND = Command("info", "bodies, joints and operation counts of a robot, or the built-in robots", add_arguments, run)

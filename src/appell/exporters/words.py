"""The words in generated files, in ASCII and safe within a comment, whatever a robot description calls its parts."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from appell.compiler.forms import StraightLine
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.compiler.count import Counts
    from appell.exporters.subject import Exported
    from appell.robot.robot import Robot

WIDTH = 110

PROMISE = (
    "Every function writes its result to its last argument, which may be one of the others. Matrices are stored by rows. "
    "No function allocates memory, recurses or keeps a state; each takes the same steps for all arguments, but for what "
    "sine and cosine do, and may run in several threads at once."
)


def robot_words(robot: Robot) -> list[str]:
    """What the robot is and what the entries of its vectors mean."""
    gravity = ", ".join(f"{x:g}" for x in robot.gravity_vector)
    loops = hasattr(robot, "actuator_names")
    sizes = f"q has {robot.nq} entries, qd, qdd and tau have {robot.nv}. SI units."
    return [
        f"Robot with {len(robot.body_names)} bodies{' in closed loops' if loops else ''}; {sizes if not loops else 'SI units.'}",
        f"Gravity is ({gravity}) m/s^2 in the world frame. {'Entries' if loops else 'The joints'}, in order:",
        "",
        *(f"    {line}" for line in (loop_lines(robot) if loops else joint_lines(robot))),
        "",
        *wrap(PROMISE, WIDTH),
        "",
    ]


def loop_lines(robot: Any) -> list[str]:
    """What the vectors of a robot with closed loops hold: coordinates, independent speeds, forces of the actuators."""
    names = {
        "q": robot.q_names,
        "qd, qdd": robot.qd_names,
        "forces of actuators": robot.actuator_names,
    }
    return [
        line
        for vector, own in names.items()
        for line in wrap(f"{vector} ({len(own)}): {', '.join(map(plain, own))}", WIDTH - 4, subsequent_indent="    ")
    ]


def joint_lines(robot: Robot) -> list[str]:
    """A line per joint: its entries, its name, its kind, its units."""
    rows, nq, nv = [], 0, 0
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        places = entries("q", nq, kind.nq)
        if robot.nq != robot.nv:
            places += f" {entries('qd', nv, kind.nv)}"
        rows.append((places, plain(joint.name), joint.kind, UNITS.get(joint.kind, "SI")))
        nq, nv = nq + kind.nq, nv + kind.nv
    widths = [max(len(row[k]) for row in rows) for k in range(4)] if rows else []
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def entries(name: str, first: int, count: int) -> str:
    return f"{name}[{first}]" if count == 1 else f"{name}[{first}..{first + count - 1}]"


UNITS = {
    **dict.fromkeys(("revolute", "continuous", "helical", "universal"), "rad, rad/s, rad/s^2, N m"),
    **dict.fromkeys(("prismatic", "translation"), "m, m/s, m/s^2, N"),
    "cylindrical": "m and rad, their rates; N and N m",
    "planar": "x y [m], angle [rad]; velocity and angular velocity along the child's axes",
    "spherical": "unit quaternion x y z w; angular velocity along the child's axes",
    "floating": "x y z [m], unit quaternion x y z w; velocity, angular velocity along the child's axes",
}
"""What the entries of q, qd, qdd and tau of a joint are."""


def function_words(function: Exported, counts: Counts, stack: int) -> list[str]:
    """What one function computes and what it costs."""
    request, result = function.request, function.result
    shape = " x ".join(map(str, function.shape)) or "1 number"
    words = wrap(f"{result.what}. [{result.unit}]", WIDTH)
    if request.frame:
        seen = "" if request.function == "pose" else f", {request.reference}"
        words.append(f"frame: {plain(request.frame)}{seen}")
    if request.gravity:
        words.append("gravity: acceleration of free fall in the world frame. [m/s^2]")
    if request.forces:
        frames = ", ".join(map(plain, request.forces))
        words += wrap(
            f"external_forces: force and moment on the robot at the origin and along the axes of {frames}, 6 entries each. "
            "[N, N m]",
            WIDTH,
        )
    if request.parameters:
        words.append("parameters: inertial parameters of all links, 10 entries each (see Robot.parameters).")
    form = "straight line" if isinstance(function.form, StraightLine) else "loops over the joints"
    return [
        *words,
        f"{result.name}: {shape}; method: {function.method}; {form}, {stack} bytes of arrays on the stack",
        f"{counts.mul} products, {counts.add} sums, {counts.div} divisions and square roots, "
        f"{counts.trig} sines and cosines",
    ]


def plain(text: str) -> str:
    """A name from a robot description, made harmless within a comment."""
    shown = "".join(
        letter if letter.isascii() and letter.isprintable() and letter not in "\\?*/" else "_" for letter in text
    )
    return shown[:200]


def comment(lines: list[str]) -> str:
    first, *rest = lines
    return "\n".join([f"/* {first}", *(f"   {line}".rstrip() for line in rest)]) + " */"

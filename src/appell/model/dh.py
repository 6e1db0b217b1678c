"""Robots from Denavit-Hartenberg tables.

A convention is a function of one row (alpha, a, d, theta) that returns the pose of the joint in the previous link's frame
and, where the link's frame is not the joint's frame, the pose of the link after the joint.

    modified (Craig)   ^{i-1}T_i = Rx(alpha) Tx(a) Rz(theta) Tz(d)       origin [a, -d sin alpha,  d cos alpha]
    valera2003         the same rotation, the opposite sign of d         origin [a,  d sin alpha, -d cos alpha]
    standard           ^{i-1}T_i = Rz(theta) Tz(d) Tx(a) Rx(alpha)       joint i rotates about z of link i-1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from appell.algebra import Angle
from appell.checks import is_text, require_choice, require_finite, require_real_array
from appell.errors import ArgumentError
from appell.model.body import Body, inertia_entries
from appell.model.check import inspect, raise_or_warn
from appell.model.joint import Joint
from appell.model.pose import Pose, triple
from appell.model.tree_builder import about_z

if TYPE_CHECKING:
    from appell.model.description import Described

Convention = Callable[[float, float, float, float], "tuple[Pose, Pose | None]"]
JOINTS = {"R": "continuous", "P": "prismatic"}


def modified(alpha: float, a: float, d: float, theta: float) -> tuple[Pose, None]:
    """Craig's convention: the link's frame is on the joint's axis."""
    _, c, s = Angle.of(alpha)
    return Pose.from_matrix((a, -d * s + 0.0, d * c + 0.0), _about_x(alpha) @ about_z(theta)), None


def valera2003(alpha: float, a: float, d: float, theta: float) -> tuple[Pose, None]:
    """Craig's with the sign of d reversed: a positive d moves the origin along -z."""
    return modified(alpha, a, -d, theta)


def standard(alpha: float, a: float, d: float, theta: float) -> tuple[Pose, Pose]:
    """The original convention: the link's frame is at its far end, after the joint."""
    return Pose.from_matrix((0.0, 0.0, 0.0), about_z(theta)), Pose.from_matrix((a, 0.0, d), _about_x(alpha))


CONVENTIONS: dict[str, Convention] = {"modified": modified, "standard": standard, "valera2003": valera2003}


def from_dh(
    cls: type[Described],
    alpha: ArrayLike,
    a: ArrayLike,
    d: ArrayLike,
    theta: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    com: ArrayLike | None = None,
    inertia: ArrayLike | None = None,
    joints: str | None = None,
    convention: str = "modified",
    names: Sequence[str] | None = None,
    name: str = "robot",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> Described:
    """A serial robot from its Denavit-Hartenberg table, one row per joint.

    Bodies are `base, link1, ...`; the pose of `link{i}` is the table's frame i.

    Args:
        alpha, a: twist [rad] and length [m] of each row.
        d, theta: offset along [m] and angle about [rad] the axis. A joint's own coordinate is added to it.
        mass, com, inertia: of each link (n,), its centre of mass in the link's frame (n, 3), and its inertia about the
            centre of mass (n, 3, 3) or (n, 6) as (xx, xy, xz, yy, yz, zz). Without masses only the kinematics are
            defined. [kg, m, kg m²]
        joints: one letter per joint, R (revolute, without limits) or P (prismatic); all R by default.
        convention: `"modified"` (Craig: Rx(alpha) Tx(a) Rz(theta) Tz(d)), `"standard"`
            (Rz(theta) Tz(d) Tx(a) Rx(alpha)) or `"valera2003"` (as modified, with the sign of d reversed). The
            coordinate of a prismatic joint is always along +z of its axis.
        names: of the joints; `joint1, joint2, ...` by default.

    Example:
        >>> import appell
        >>> scara = appell.Robot.from_dh([0, 0, 0], [0, 0.3, 0.2], [0.4, 0, 0], joints="RRP")
        >>> scara.pose([0, 0, -0.1], "link3")[:3, 3].round(3).tolist()
        [0.5, 0.0, 0.3]
    """
    require_choice("convention", convention, CONVENTIONS)
    n = require_real_array("alpha", alpha).size
    rows = [_column(label, values, (n,)) for label, values in (("alpha", alpha), ("a", a), ("d", d), ("theta", theta))]
    letters = "R" * n if joints is None else str(joints).upper()
    if len(letters) != n or not set(letters) <= set(JOINTS):
        raise ArgumentError(f"joints is {joints!r}, expected {n} letters R (revolute) or P (prismatic).")
    joint_names = [f"joint{i}" for i in range(1, n + 1)] if names is None else names
    if not isinstance(joint_names, (list, tuple)) or not all(map(is_text, (*joint_names, name))):
        raise ArgumentError(f"name is {name!r} and names is {names!r}, expected text and a list of text.")
    if len(joint_names) != n:
        raise ArgumentError(f"names has {len(joint_names)} entries, expected {n}, one per row of the table.")
    masses, centers = _column("mass", mass, (n,)), _column("com", com, (n, 3))
    tensors = _tensors(inertia, n)
    bodies, links = [Body("base")], []
    parent = "base"
    for i, (row, letter, joint) in enumerate(zip(np.transpose(rows).tolist(), letters, joint_names, strict=True)):
        before, after = CONVENTIONS[convention](*row)
        link = f"link{i + 1}"
        carried = link if after is None else f"{link}_axis"
        links.append(Joint(joint, JOINTS[letter], parent, carried, before))
        if after is not None:
            bodies.append(Body(carried))
            links.append(Joint(f"{link}_fixed", "fixed", carried, link, after))
        bodies.append(Body(link, float(masses[i]), triple(centers[i]), inertia_entries(tensors[i])))
        parent = link
    robot = cls(name, tuple(bodies), tuple(links)).with_gravity(gravity)
    problems = [p for p in inspect(robot) if mass is not None or p.kind not in ("singular", "massless")]
    raise_or_warn(problems, allowed=("singular",))
    return robot


def _column(label: str, values: ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray:
    """Values of this shape; zeros for None."""
    return np.zeros(shape) if values is None else require_finite(label, require_real_array(label, values, shape))


def _tensors(inertia: ArrayLike | None, n: int) -> np.ndarray:
    """(n, 3, 3), from that or from (n, 6) with xx, xy, xz, yy, yz, zz."""
    if inertia is not None and require_real_array("inertia", inertia).ndim == 2:
        return _column("inertia", inertia, (n, 6))[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(n, 3, 3)
    tensors = _column("inertia", inertia, (n, 3, 3))
    skew = np.abs(tensors - np.swapaxes(tensors, 1, 2)).max(axis=(1, 2))
    if (skew > 1e-9 * np.abs(tensors).max(axis=(1, 2))).any():
        raise ArgumentError(f"inertia[{int(np.argmax(skew))}] is not symmetric: entries differ by {skew.max():g}.")
    return tensors


def _about_x(angle: float) -> np.ndarray:
    _, c, s = Angle.of(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])

"""Robots built in code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.checks import require_choice, require_real_array
from appell.errors import ArgumentError
from appell.model.body import Body, Geometry, Visual, as_inertia
from appell.model.check import inspect, raise_or_warn
from appell.model.joint import Joint, Limits, Mimic
from appell.model.pose import Pose, Triple
from appell.robot.robot import Robot

Axis = str | Sequence[float]
AXES: dict[str, Triple] = {
    "x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip


class RobotBuilder:
    """Builds a robot from bodies and joints, given in any order.

    Every method but `build` returns the builder. Parents and children of joints that are not added as bodies are massless
    frames. Bodies keep the order in which they are first named.

    Example:
        >>> import appell
        >>> builder = appell.RobotBuilder("arm")
        >>> builder = builder.revolute("shoulder", parent="base", child="upper", axis="z", limits=(-2.0, 2.0))
        >>> builder = builder.body("upper", mass=2.0, com=(0.2, 0, 0), inertia=(0.001, 0.03, 0.03))
        >>> builder = builder.fixed("flange", parent="upper", child="tool", xyz=(0.4, 0, 0))
        >>> robot = builder.build()
        >>> robot.joint_names, robot.body_names
        (('shoulder',), ('base', 'upper', 'tool'))
    """

    def __init__(self, name: str = "robot", gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self._name = name
        self._gravity = _numbers("gravity", gravity, 3)
        self._bodies: dict[str, Body | None] = {}
        self._joints: list[Joint] = []

    def body(
        self,
        name: str,
        mass: float = 0.0,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence = (0.0, 0.0, 0.0),
        visuals: Sequence[Visual] = (),
        collisions: Sequence[Geometry] = (),
    ) -> RobotBuilder:
        """Add a body.

        Args:
            mass: [kg]
            com: centre of mass in the body's frame. [m]
            inertia: about the centre of mass: three principal moments along the body's axes, six entries
                (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) or a 3x3 tensor. [kg m²]
            visuals, collisions: shapes that are drawn, and shapes that touch surfaces.
        """
        if self._bodies.get(name) is not None:
            raise ArgumentError(f"body {name!r} was already added. Names of bodies must differ.")
        (m,) = _numbers(f"mass of body {name!r}", [mass], 1)
        x, y, z = _numbers(f"com of body {name!r}", com, 3)
        self._bodies[name] = Body(name, m, (x, y, z), as_inertia(name, inertia), tuple(visuals), tuple(collisions))
        return self

    def revolute(self, name: str, parent: str, child: str, axis: Axis = "z", **options: Any) -> RobotBuilder:
        """Add a revolute joint, q in rad. Options as for `joint`."""
        return self.joint("revolute", name, parent, child, axis, **options)

    def continuous(self, name: str, parent: str, child: str, axis: Axis = "z", **options: Any) -> RobotBuilder:
        """Add a revolute joint without limits, q in rad. Options as for `joint`."""
        return self.joint("continuous", name, parent, child, axis, **options)

    def prismatic(self, name: str, parent: str, child: str, axis: Axis = "z", **options: Any) -> RobotBuilder:
        """Add a prismatic joint, q in m. Options as for `joint`."""
        return self.joint("prismatic", name, parent, child, axis, **options)

    def helical(
        self, name: str, parent: str, child: str, axis: Axis = "z", pitch: float = 0.0, **options: Any
    ) -> RobotBuilder:
        """Add a screw joint: q in rad, the child moves `pitch` metres along the axis per radian. Options as for `joint`."""
        return self.joint("helical", name, parent, child, axis, pitch=pitch, **options)

    def cylindrical(self, name: str, parent: str, child: str, axis: Axis = "z", **options: Any) -> RobotBuilder:
        """Add a cylindrical joint: translation along an axis and rotation about it, q in m and rad. Options as for `joint`."""
        return self.joint("cylindrical", name, parent, child, axis, **options)

    def universal(self, name: str, parent: str, child: str, **options: Any) -> RobotBuilder:
        """Add a Cardan joint: q are the angles about x and about the rotated y in rad. Options as for `joint`."""
        return self.joint("universal", name, parent, child, **options)

    def spherical(self, name: str, parent: str, child: str, **options: Any) -> RobotBuilder:
        """Add a ball joint: q is a quaternion x y z w, qd the angular velocity along the child's axes. Options as for `joint`."""
        return self.joint("spherical", name, parent, child, **options)

    def planar(self, name: str, parent: str, child: str, axis: Axis = "z", **options: Any) -> RobotBuilder:
        """Add a joint with motion in the plane normal to an axis, q is x, y, angle. Options as for `joint`."""
        return self.joint("planar", name, parent, child, axis, **options)

    def translation(self, name: str, parent: str, child: str, **options: Any) -> RobotBuilder:
        """Add a joint with translation only, q is x, y, z in m. Options as for `joint`."""
        return self.joint("translation", name, parent, child, **options)

    def floating(self, name: str, parent: str, child: str, **options: Any) -> RobotBuilder:
        """Add a floating joint: q is x y z, quaternion x y z w; qd is the twist along the child axes. Options as for `joint`."""
        return self.joint("floating", name, parent, child, **options)

    def fixed(self, name: str, parent: str, child: str, **options: Any) -> RobotBuilder:
        """Fix a body to another. Options as for `joint`."""
        return self.joint("fixed", name, parent, child, **options)

    def joint(
        self,
        kind: str,
        name: str,
        parent: str,
        child: str,
        axis: Axis = "z",
        xyz: Sequence[float] = (0.0, 0.0, 0.0),
        rpy: Sequence[float] = (0.0, 0.0, 0.0),
        limits: Sequence[float] | Limits = (),
        damping: float = 0.0,
        friction: float = 0.0,
        rotor_inertia: float = 0.0,
        gear_ratio: float = 1.0,
        pitch: float = 0.0,
        mimic: Mimic | Sequence | None = None,
        stiffness: float = 0.0,
        springref: float = 0.0,
    ) -> RobotBuilder:
        """Add a joint of any type (`appell.model.joints.KINDS`).

        Args:
            axis: `"x"`, `"-y"`, ... or a unit vector, in the joint's frame.
            xyz, rpy: pose of the child's frame in the parent's at q = 0. [m, rad]
            limits: (lower, upper[, velocity[, effort]]).
            damping, friction, rotor_inertia, gear_ratio, pitch, stiffness, springref: as for `Joint`.
            mimic: of a mimic joint, `Mimic` or (leader[, multiplier[, offset]]).
        """
        where = f"of joint {name!r}"
        if isinstance(axis, str):
            direction = AXES[require_choice(f"axis {where}", axis, AXES)]
        else:
            direction = _numbers(f"axis {where}", axis, 3)
        origin = Pose(_numbers(f"xyz {where}", xyz, 3), _numbers(f"rpy {where}", rpy, 3))
        bounds = limits if isinstance(limits, Limits) else _limits(where, limits)
        numbers = damping, friction, rotor_inertia, gear_ratio, pitch, stiffness, springref
        numbers = _numbers(f"damping, rotor, pitch or spring {where}", numbers, 7)
        damping, friction, rotor_inertia, gear_ratio, pitch, stiffness, springref = numbers
        self._bodies.setdefault(parent)
        self._bodies.setdefault(child)
        self._joints.append(
            Joint(
                name, kind, parent, child, origin, direction, bounds,
                damping, friction, rotor_inertia, gear_ratio, _mimic(where, mimic), pitch, stiffness, springref,
            )
        )  # fmt: skip
        return self

    def build(self) -> Robot:
        """The robot. Raises one error, or gives one warning, that lists all defects.

        Links may be without mass, for kinematics; a robot without any mass gives no warning.
        """
        bodies = tuple(body or Body(name) for name, body in self._bodies.items())
        robot = Robot(self._name, bodies, tuple(self._joints), self._gravity)
        massless = not any(body.mass or any(body.inertia) for body in robot.bodies)
        problems = [p for p in inspect(robot) if not massless or p.kind not in ("singular", "massless")]
        raise_or_warn(problems, allowed=("singular",))
        return robot


def _numbers(label: str, values: Sequence[float], count: int) -> tuple:
    return tuple(require_real_array(label, values, (count,)).tolist())


def _mimic(where: str, given: Mimic | Sequence | None) -> Mimic | None:
    if given is None or isinstance(given, Mimic):
        return given
    if not isinstance(given, (tuple, list)) or not 1 <= len(given) <= 3 or not isinstance(given[0], str):
        raise ArgumentError(f"mimic {where} is {given!r}, expected Mimic(...) or (leader[, multiplier[, offset]]).")
    return Mimic(given[0], *_numbers(f"multiplier and offset of mimic {where}", given[1:], len(given) - 1))


def _limits(where: str, values: Sequence[float]) -> Limits:
    if len(values) not in (0, 2, 3, 4):
        raise ArgumentError(
            f"limits {where} have {len(values)} entries, expected (lower, upper[, velocity[, effort]])."
        )
    return Limits(*_numbers(f"limits {where}", values, len(values)))

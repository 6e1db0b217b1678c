"""A robot as data: bodies, joints, gravity, and what follows from them without equations of motion."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from appell.errors import ArgumentError, unknown_name_message
from appell.model.body import Body
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.model.pose import Triple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import numpy as np
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from appell.model.tree import Tree


State = tuple[tuple[float, ...], tuple[float, ...]]
"""Coordinates and speeds."""


@dataclass(frozen=True)
class Description:
    """A tree of bodies joined by joints, in the order of the description, as frozen data.

    Everything below the compiler reads this; `appell.Robot` adds the functions of the equations of motion.

    Attributes:
        bodies, joints: of the description.
        gravity_vector: acceleration of free fall in the world frame. [m/s²]
        coupled: whether mimic joints follow their leader (True) or move on their own.
        initial_state: configuration and velocity at which a motion of interest begins, where the description has one.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    gravity_vector: Triple = (0.0, 0.0, -9.81)
    coupled: bool = True
    initial_state: State | None = None
    source: str = field(default="", compare=False, repr=False)

    # --- where it comes from ------------------------------------------------------------------------------------------

    @classmethod
    def from_dh(
        cls,
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
    ) -> Self:
        """A serial robot from its Denavit-Hartenberg table, one row per joint.

        Bodies are `base, link1, ...`; the pose of `link{i}` is the table's frame i.

        Args:
            alpha, a: twist [rad] and length [m] of each row.
            d, theta: offset along [m] and angle about [rad] the axis. A joint's own coordinate is added to it.
            mass, com, inertia: of each link (n,), its mass centre in the link's frame (n, 3), and its inertia about the
                mass centre (n, 3, 3) or (n, 6) as (xx, xy, xz, yy, yz, zz). Without masses only the kinematics have a
                meaning. [kg, m, kg m²]
            joints: a letter for each joint, R (turns, without limits) or P (slides); all R by default.
            convention: `"modified"` (Craig: Rx(alpha) Tx(a) Rz(theta) Tz(d)), `"standard"`
                (Rz(theta) Tz(d) Tx(a) Rx(alpha)) or `"valera2003"` (as modified, with the sign of d reversed). A sliding
                joint's coordinate always counts along +z of its axis.
            names: of the joints; `joint1, joint2, ...` by default.

        Example:
            >>> import appell
            >>> scara = appell.Robot.from_dh([0, 0, 0], [0, 0.3, 0.2], [0.4, 0, 0], joints="RRP")
            >>> scara.pose([0, 0, -0.1], "link3")[:3, 3].round(3).tolist()
            [0.5, 0.0, 0.3]
        """
        from appell.model.dh import from_dh

        return from_dh(cls, alpha, a, d, theta, mass, com, inertia, joints, convention, names, name, gravity)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The robot that `to_dict` gave. Unknown fields and versions raise `ModelError`.

        Example:
            >>> import appell, json
            >>> robot = appell.load("puma560")
            >>> appell.Robot.from_dict(json.loads(json.dumps(robot.to_dict()))) == robot
            True
        """
        from appell.model.writers.dictionary import from_dict

        return from_dict(cls, data)

    def to_dict(self) -> dict[str, Any]:
        """The robot as a dictionary of text, numbers and lists, for JSON; `from_dict` gives it back exactly.

        Example:
            >>> import appell
            >>> sorted(appell.load("planar2r").to_dict())
            ['bodies', 'format', 'gravity_vector', 'joints', 'name', 'version']
        """
        from appell.model.writers.dictionary import to_dict

        return to_dict(self)

    def to_urdf(self, path: str | PathLike | None = None) -> str:
        """The robot as URDF text, also written to `path` if one is given; `appell.load` gives it back exactly.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> appell.load(robot.to_urdf()) == robot
            True
        """
        from appell.files import write_text
        from appell.model.writers.urdf import to_urdf

        text = to_urdf(self)
        if path is not None:
            write_text(path, text)
        return text

    # --- what it is -------------------------------------------------------------------------------------------------

    @cached_property
    def tree(self) -> Tree:
        """The robot as the recursions see it: moving links with their joints, parents first."""
        from appell.model.check import require_tree
        from appell.model.tree_builder import build_tree

        require_tree(self)
        return build_tree(self)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints that carry coordinates, in order."""
        return tuple(
            joint for joint in self.joints if KINDS[joint.kind].nv and not (self.coupled and joint.mimic is not None)
        )

    @cached_property
    def first_coordinates(self) -> dict[str, tuple[int, int]]:
        """Where the coordinates and the speeds of each moving joint begin in q and qd."""
        starts, q, v = {}, 0, 0
        for joint in self.moving_joints:
            starts[joint.name] = (q, v)
            q, v = q + KINDS[joint.kind].nq, v + KINDS[joint.kind].nv
        return starts

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(KINDS[joint.kind].nq for joint in self.moving_joints)

    @cached_property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return sum(KINDS[joint.kind].nv for joint in self.moving_joints)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that carry coordinates, in the order of q."""
        return tuple(joint.name for joint in self.moving_joints)

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """A name for every entry of q: the joint's, as `joint[k]` where it has several coordinates."""
        return indexed_names([(joint.name, KINDS[joint.kind].nq) for joint in self.moving_joints])

    @cached_property
    def qd_names(self) -> tuple[str, ...]:
        """A name for every entry of qd: the joint's, as `joint[k]` where it has several degrees of freedom."""
        return indexed_names([(joint.name, KINDS[joint.kind].nv) for joint in self.moving_joints])

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of all bodies, which are also the names of the frames."""
        return tuple(body.name for body in self.bodies)

    def body(self, name: str) -> Body:
        """The body of this name."""
        return _named("body", name, self.bodies)

    def joint(self, name: str) -> Joint:
        """The joint of this name."""
        return _named("joint", name, self.joints)

    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """The same robot under another gravity vector [m/s²]."""
        x, y, z = (float(value) for value in gravity)
        return replace(self, gravity_vector=(x, y, z))

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # what was derived is derived again

    @property
    def rotors(self) -> int:
        """Links with a rotor: the last ones of the parameters are theirs."""
        from appell.model.parameters import rotors

        return len(rotors(self.tree))

    def neutral_configuration(self) -> np.ndarray:
        """Coordinates of the rest pose of the description: zeros, and unit quaternions. (nq,)"""
        from appell.model import configuration

        return configuration.neutral(self)

    def random_configuration(self, seed: int | np.random.Generator = 0) -> np.ndarray:
        """Coordinates drawn evenly within the joint limits (angles without limits from [-π, π]). (nq,)

        Example:
            >>> import appell
            >>> appell.load("puma560").random_configuration(seed=1).shape
            (6,)
        """
        from appell.model import configuration

        return configuration.random(self, seed)

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> np.ndarray:
        """Coordinates q ⊕ dv reached from q at the constant speeds dv after one second. (..., nq)

        For joints that turn freely in space this is not a sum: dv are quasi-velocities (`docs/conventions.md`), and
        quaternions stay unit.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.integrate([0.0] * 6, [0.1] * 6).tolist()
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
        """
        from appell.model import configuration

        return configuration.integrate(self, q, dv)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Constant speeds that lead from q0 to q1 in one second: integrate(q0, difference(q0, q1)) = q1. (..., nv)

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.difference([0.0] * 6, [0.1] * 6).tolist()
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
        """
        from appell.model import configuration

        return configuration.difference(self, q0, q1)

    # --- the same state in the layouts of other programs (`appell.model.layouts`) ------------------------------------

    def to_mujoco(self, q: ArrayLike, qd: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's `qpos` and `qvel` of a state, joints in our order.

        Quaternions are w first. The velocity of a free joint is along the world's axes, its angular velocity and that of
        a ball joint along the body's. A planar joint is two slides and a hinge there.

        Example:
            >>> import appell
            >>> builder = appell.RobotBuilder().body("drone", mass=1, inertia=(1, 1, 1))
            >>> robot = builder.floating("free", parent="world", child="drone").build()
            >>> qpos, qvel = robot.to_mujoco([0, 0, 0.5, 0, 0, 0, 1], [0, 0, 0.1, 0, 0, 0])
            >>> qpos.tolist()
            [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]
        """
        from appell.model.layouts import MUJOCO, convert

        return convert(self, MUJOCO, q, qd)

    def from_mujoco(self, qpos: ArrayLike, qvel: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of a state in MuJoCo's layout, the inverse of `to_mujoco`.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.from_mujoco([0.1] * 6, [0.2] * 6)[1].tolist()
            [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
        """
        from appell.model.layouts import MUJOCO, convert

        return convert(self, MUJOCO, qpos, qvel, back=True)

    def to_drake(self, q: ArrayLike, qd: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Drake's positions and velocities of a state, joints in our order.

        A floating body is quaternion (w first), position; angular velocity, velocity, both along the world's axes. A
        spherical joint is a `BallRpyJoint`, with angular velocity along the parent's axes.

        Example:
            >>> import appell
            >>> builder = appell.RobotBuilder().body("drone", mass=1, inertia=(1, 1, 1))
            >>> robot = builder.floating("free", parent="world", child="drone").build()
            >>> q, v = robot.to_drake([0, 0, 0.5, 0, 0, 0, 1], [0, 0, 0.1, 0, 0, 0])
            >>> q.tolist(), v.tolist()
            ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
        """
        from appell.model.layouts import DRAKE, convert

        return convert(self, DRAKE, q, qd)

    def from_drake(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of a state in Drake's layout, the inverse of `to_drake`.

        Example:
            >>> import appell
            >>> appell.load("planar2r").from_drake([0.1, 0.2], [0, 0])[0].tolist()
            [0.1, 0.2]
        """
        from appell.model.layouts import DRAKE, convert

        return convert(self, DRAKE, q, v, back=True)

    def passive_forces(self, qd: ArrayLike) -> np.ndarray:
        """Damping and Coulomb friction as forces on the joints, -(damping qd + friction sign(qd)). [N m, N]

        They are not part of `inverse_dynamics` and `bias`: M qdd + bias = tau + passive_forces(qd).

        Example:
            >>> import appell
            >>> appell.robots.random_chain(2, seed=1).passive_forces([1.0, 0.0])[1].item() == 0.0
            True
        """
        from appell.model.joint_friction import passive_forces

        return passive_forces(self, qd)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {len(self.bodies)} bodies, nq={self.nq}, nv={self.nv}, "
            f"joints: {', '.join(self.joint_names) or 'none'})"
        )


def _named(kind: str, name: str, items) -> Any:
    for item in items:
        if item.name == name:
            return item
    raise ArgumentError(unknown_name_message(kind, name, [item.name for item in items]))


Described = TypeVar("Described", bound=Description)
"""A description, or a robot that is one."""


def indexed_names(sizes: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Names with an index where there are several: (("a", 1), ("b", 2)) -> a, b[0], b[1]."""
    return tuple(name if size == 1 else f"{name}[{i}]" for name, size in sizes for i in range(size))


def velocity_indices(robot: Description, joints: Sequence[str]) -> list[int]:
    """Places of the speeds of named joints, `joint` for all of a joint or `joint[k]` for one."""
    names = robot.qd_names
    found: list[int] = []
    for name in joints:
        own = [k for k, each in enumerate(names) if each == name or each.partition("[")[0] == name]
        if not own:
            raise ArgumentError(unknown_name_message("joint", name, robot.joint_names))
        found += own
    return found

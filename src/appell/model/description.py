"""A robot as data: bodies, joints, gravity, and what follows from them without equations of motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from appell.arrays import as_batch, require_unit_quaternions
from appell.checks import require_vector
from appell.errors import ArgumentError, unknown_name_message
from appell.files import write_text
from appell.model import composition, contact_points, dh, joint_friction, layouts, mass_properties
from appell.model.actuator import Actuator, Posture
from appell.model.body import Body
from appell.model.check import mass_defects, require_tree
from appell.model.joint import Joint
from appell.model.joints import KINDS, JointModel
from appell.model.parameters import rotors
from appell.model.pose import Triple, triple
from appell.model.right_jacobian import (
    DifferenceDerivatives,
    IntegrateDerivatives,
    difference_derivatives,
    step_derivatives,
)
from appell.model.tree import Tree
from appell.model.tree_builder import build_tree
from appell.model.writers import dictionary
from appell.names import as_vector, entry_indices, entry_names

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.model.writers.urdf import UrdfDocument

Matrices = TypeVar("Matrices", IntegrateDerivatives, DifferenceDerivatives)

State = tuple[tuple[float, ...], tuple[float, ...]]
"""Configuration q and velocity qd."""


@dataclass(frozen=True)
class Description:
    """A tree of bodies and joints as frozen data; `appell.Robot` adds the functions of the equations of motion.

    Conversions from and to other formats are written, and documented, in modules of their own.

    Attributes:
        bodies, joints: in the order of the description file.
        gravity_vector: gravitational acceleration in the world frame. [m/s²]
        coupled: whether mimic joints follow their leader (True) or are independent (False).
        initial_state: (q, qd) at the start of a motion, where the description has one.
        actuators: of the description: names, joints, gears, ranges and kinds; empty where it has none.
        named_postures: coordinates of joints by name; `postures` has them as configurations.
        source, folder: name and folder of the description file, empty where there is none. Mesh files are searched there.
        document: the URDF text that it was read from, in which `to_urdf` changes only what differs.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    gravity_vector: Triple = (0.0, 0.0, -9.81)
    coupled: bool = True
    initial_state: State | None = None
    actuators: tuple[Actuator, ...] = ()
    named_postures: tuple[Posture, ...] = ()
    source: str = field(default="", compare=False, repr=False)
    folder: str = field(default="", compare=False, repr=False)
    document: UrdfDocument | None = field(default=None, compare=False, repr=False)

    # --- from and to other formats ------------------------------------------------------------------------------------

    from_dh = classmethod(dh.from_dh)
    from_dict = classmethod(dictionary.from_dict)
    to_dict = dictionary.to_dict

    def to_urdf(self, path: str | PathLike | None = None) -> str:
        """The robot as URDF text, also written to `path` if one is given; `appell.load` gives it back exactly.

        A robot that was read from URDF keeps its text: only the elements whose values were changed differ, everything else
        (comments, materials, transmissions, tags of other programs) stays.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> appell.load(robot.to_urdf()) == robot
            True
        """
        from appell.model.writers.urdf import to_urdf

        text = to_urdf(self)
        if path is not None:
            write_text(path, text)
        return text

    # --- other robots made of this one --------------------------------------------------------------------------------

    lock, reduce = composition.lock, composition.reduce
    attach, with_payload = composition.attach, composition.with_payload
    with_inertia = mass_properties.with_inertia
    with_estimated_inertia = mass_properties.with_estimated_inertia

    # --- joints, bodies, coordinates ----------------------------------------------------------------------------------

    @cached_property
    def tree(self) -> Tree:
        """Moving links with their joints, parents first: the input of the recursions."""
        require_tree(self)
        return replace(build_tree(self), mass_defects=mass_defects(self))

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints with coordinates of their own, in order."""
        moving = (joint for joint in self.joints if KINDS[joint.kind].nv)
        return tuple(joint for joint in moving if not (self.coupled and joint.mimic))

    @cached_property
    def first_coordinates(self) -> dict[str, tuple[int, int]]:
        """Index of the first entry of each moving joint in q and in qd, by name."""
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
        """Names of the joints with coordinates of their own, in the order of q."""
        return tuple(joint.name for joint in self.moving_joints)

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """Names of the entries of q: the joint's name, or `joint.x`, `joint.qw`, ... for joints with several coordinates."""
        return entry_names((joint.name, KINDS[joint.kind].q_labels) for joint in self.moving_joints)

    @cached_property
    def qd_names(self) -> tuple[str, ...]:
        """Names of the entries of qd: the joint's name, or `joint.vx`, `joint.wz`, ... for joints with several of them."""
        return entry_names((joint.name, KINDS[joint.kind].qd_labels) for joint in self.moving_joints)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of all bodies; these are also the names of the frames."""
        return tuple(body.name for body in self.bodies)

    def body(self, name: str) -> Body:
        """The body of this name."""
        return _named("body", name, self.bodies)

    def joint(self, name: str) -> Joint:
        """The joint of this name."""
        return _named("joint", name, self.joints)

    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """The same robot under another gravity vector [m/s²]."""
        return replace(self, gravity_vector=triple(require_vector("gravity", gravity, 3)))

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # cached properties are recomputed

    @property
    def rotors(self) -> int:
        """Number of links with a rotor; its inertias are the last entries of `parameters`."""
        return len(rotors(self.tree))

    # --- configurations and states ------------------------------------------------------------------------------------

    def neutral_configuration(self) -> np.ndarray:
        """The configuration of the description: zeros, and identity quaternions. (nq,)"""
        return _joined([KINDS[joint.kind].neutral() for joint in self.moving_joints])

    @property
    def postures(self) -> dict[str, np.ndarray]:
        """Named configurations of the description, such as the keyframes of an MJCF, (nq,) each.

        Joints that a posture does not name are as in `neutral_configuration`.

        Example:
            >>> import appell
            >>> appell.load("puma560").postures
            {}
        """
        neutral, moving = self.neutral_configuration(), set(self.joint_names)
        return {
            posture.name: as_vector(
                "q", {joint: q for joint, q in posture.joints if joint in moving}, self.q_names, neutral
            )
            for posture in self.named_postures
        }

    def random_configuration(self, seed: int | np.random.Generator = 0) -> np.ndarray:
        """A configuration drawn uniformly within the joint limits. (nq,)

        Unlimited coordinates, also those of limits beyond ±100 rad or m, are drawn from [-π, π].

        Example:
            >>> import appell
            >>> appell.load("puma560").random_configuration(seed=1).shape
            (6,)
        """
        rng = np.random.default_rng(seed)
        return _joined([
            KINDS[joint.kind].random(rng, joint.limits.lower, joint.limits.upper) for joint in self.moving_joints
        ])  # fmt: skip

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> np.ndarray:
        """The configuration q ⊕ dv, reached from q with the constant velocity dv after one second. (..., nq)

        For floating, planar and spherical joints this is not a sum: dv are quasi-velocities (`docs/conventions.md`), and
        quaternions stay of unit length.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.integrate([0.0] * 6, [0.1] * 6).tolist()
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
        """
        (start, velocity), batch_shape = as_batch((("q", self.nq), ("dv", self.nv)), (q, dv))
        require_unit_quaternions("q", start, batch_shape, self.tree.quaternions)
        ends = [kind.integrate(start[:, i], velocity[:, k]) for kind, i, k in self._slices()]
        return _joined(ends, len(start)).reshape(*batch_shape, self.nq)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """The constant velocity from q0 to q1 in one second: integrate(q0, difference(q0, q1)) = q1. (..., nv)

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.difference([0.0] * 6, [0.1] * 6).tolist()
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
        """
        (start, end), batch_shape = as_batch((("q0", self.nq), ("q1", self.nq)), (q0, q1))
        for name, array in (("q0", start), ("q1", end)):
            require_unit_quaternions(name, array, batch_shape, self.tree.quaternions)
        steps = [kind.difference(start[:, i], end[:, i]) for kind, i, _ in self._slices()]
        return _joined(steps, len(start)).reshape(*batch_shape, self.nv)

    def integrate_derivatives(self, q: ArrayLike, dv: ArrayLike) -> IntegrateDerivatives:
        """Derivatives of `integrate`: named tuple (dq, ddv), (..., nv, nv) each, in the tangent spaces of q ⊕ dv and q.

        A step δ of q moves the result by dq δ, a change δ of dv by ddv δ. Both are the identity but for floating, planar and
        spherical joints, and do not depend on q.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> bool((robot.integrate_derivatives([0.0] * 6, [0.1] * 6).dq == np.eye(6)).all())
            True
        """
        (_, velocity), batch_shape = as_batch((("q", self.nq), ("dv", self.nv)), (q, dv))
        return self._batch(step_derivatives(self._slices(), velocity), batch_shape)

    def difference_derivatives(self, q0: ArrayLike, q1: ArrayLike) -> DifferenceDerivatives:
        """Derivatives of `difference` by q0 and q1 in their tangent spaces: named tuple (dq0, dq1), (..., nv, nv) each.

        With them the gradient of |difference(q0, q1)|²/2 in q1 is dq1^T difference(q0, q1).

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> bool((robot.difference_derivatives([0.0] * 6, [0.1] * 6).dq0 == -np.eye(6)).all())
            True
        """
        step = self.difference(q0, q1)
        found = difference_derivatives(step_derivatives(self._slices(), step.reshape(-1, self.nv)))
        return self._batch(found, step.shape[:-1])

    def _batch(self, matrices: Matrices, batch_shape: tuple[int, ...]) -> Matrices:
        """Matrices (N, nv, nv) with these batch dimensions."""
        return matrices._make(each.reshape(*batch_shape, self.nv, self.nv) for each in matrices)

    def _slices(self) -> Iterator[tuple[JointModel, slice, slice]]:
        """Each moving joint's model, and its entries in q and in qd."""
        for joint in self.moving_joints:
            kind, (q, v) = KINDS[joint.kind], self.first_coordinates[joint.name]
            yield kind, slice(q, q + kind.nq), slice(v, v + kind.nv)

    to_mujoco, from_mujoco = layouts.to_mujoco, layouts.from_mujoco
    to_drake, from_drake = layouts.to_drake, layouts.from_drake
    to_pinocchio, from_pinocchio = layouts.to_pinocchio, layouts.from_pinocchio
    passive_forces = joint_friction.passive_forces
    contact_points = contact_points.contact_points

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
"""A description or a subclass, such as a robot."""


def velocity_indices(robot: Description, names: Sequence[str]) -> list[int]:
    """Indices in qd of named joints: `joint` for all degrees of freedom of a joint, `joint.wx` (or `joint[k]`) for one."""
    indices = entry_indices(robot.qd_names)
    for joint, (_, first) in robot.first_coordinates.items():
        indices |= {f"{joint}[{k}]": [first + k] for k in range(KINDS[robot.joint(joint).kind].nv)}
    for name in names:
        if name not in indices:
            raise ArgumentError(unknown_name_message("joint", name, robot.joint_names))
    return [k for name in names for k in indices[name]]


def _joined(parts: list[np.ndarray], count: int | None = None) -> np.ndarray:
    return np.concatenate(parts, axis=-1) if parts else np.zeros(0 if count is None else (count, 0))

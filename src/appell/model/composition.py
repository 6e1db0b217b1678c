"""Robots made of other robots: with locked joints, with another robot attached, with a payload. Methods of `Description`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from appell.algebra.angle import ZERO_ANGLE
from appell.checks import require_real_array, require_vector
from appell.errors import ArgumentError, ModelError, unknown_name_message
from appell.model.actuator import Actuator, Posture
from appell.model.body import Body, as_inertia
from appell.model.joint import Joint, Mimic
from appell.model.joints import KINDS
from appell.model.pose import Pose, triple
from appell.model.tree_builder import axes_along, leader_of, root_body
from appell.names import as_vector, unused_name

if TYPE_CHECKING:
    from appell.model.description import Described, Description


def lock(robot: Described, q: Mapping[str, ArrayLike]) -> Described:
    """The robot with joints fixed at given coordinates; mimic joints of a locked leader are fixed where it puts them.

    All bodies and frames keep their names and places. Locked rotors do not turn: their inertia is left out.

    Args:
        q: coordinates of the joints to lock, by name. [rad, m]

    Example:
        >>> import appell
        >>> robot = appell.load("puma560").lock({"joint5": 0.3, "joint6": 0.0})
        >>> robot.joint_names
        ('joint1', 'joint2', 'joint3', 'joint4')
        >>> robot.joint("joint5").kind
        'fixed'
    """
    for name in q:
        if name not in robot.joint_names:
            leader = next((joint.mimic for joint in robot.joints if joint.name == name and joint.mimic), None)
            remedy = f" It follows {leader.joint!r}: lock that joint." if leader else ""
            raise ArgumentError(f"lock: {unknown_name_message('joint', name, robot.joint_names)}{remedy}")
    all_q = as_vector("q", dict(q), robot.q_names, robot.neutral_configuration())
    moving = [joint for joint in robot.joints if KINDS[joint.kind].nv]
    locked = [joint for joint in moving if leader_of(robot, joint)[0].name in q]
    coordinates = {joint.name: _coordinates(robot, joint, all_q.tolist()) for joint in locked}
    joints = [
        replace(joint, kind="fixed", origin=child_pose(joint, coordinates[joint.name]), mimic=None, rotor_inertia=0.0,
                damping=0.0, friction=0.0, stiffness=0.0, springref=0.0)
        if joint.name in coordinates else joint
        for joint in robot.joints
    ]  # fmt: skip
    start = robot.initial_state
    if start is not None:
        kept = [joint for joint in robot.moving_joints if joint.name not in coordinates]
        start = tuple(_entries(robot, kept, which, values) for which, values in enumerate(start))
    return replace(
        robot, joints=tuple(joints), initial_state=start,
        actuators=tuple(_without_joints(robot.actuators, coordinates)),
        named_postures=tuple(
            replace(posture, joints=tuple(each for each in posture.joints if each[0] not in coordinates))
            for posture in robot.named_postures
        ),
    )  # fmt: skip


def reduce(robot: Described, keep: Sequence[str], q: ArrayLike | Mapping[str, ArrayLike] | None = None) -> Described:
    """The robot with all joints but some locked.

    Args:
        keep: names of the joints that still move, in any order; they keep the order of the robot.
        q: configuration at which the others are locked, (nq,) or by name; the neutral configuration by default.

    Example:
        >>> import appell
        >>> appell.load("puma560").reduce(["joint2", "joint3"]).joint_names
        ('joint2', 'joint3')
    """
    for name in keep:
        if name not in robot.joint_names:
            raise ArgumentError(f"reduce: {unknown_name_message('joint', name, robot.joint_names)}")
    neutral = robot.neutral_configuration()
    configuration = require_vector("q", neutral if q is None else as_vector("q", q, robot.q_names, neutral), robot.nq)
    others = [joint for joint in robot.moving_joints if joint.name not in keep]
    return lock(robot, {joint.name: _entries(robot, [joint], 0, configuration) for joint in others})


def attach(
    robot: Described, other: Description, at: str, pose: Pose | ArrayLike = Pose(), prefix: str = ""
) -> Described:
    """The robot with another one fixed to one of its bodies; joints of the other one come last.

    Args:
        at: name of the body, such as a flange.
        pose: of the other robot's root in the frame of that body: a `Pose`, a position (3,) or a matrix (4, 4).
        prefix: put before the names of the other robot's bodies, joints, actuators and postures.

    Example:
        >>> import appell
        >>> hand = appell.RobotBuilder("hand").prismatic("finger", "palm", "tip").body("tip", 0.1, inertia=(1e-4, 1e-4, 1e-4))
        >>> robot = appell.load("puma560").attach(hand.build(), at="link6", pose=(0.0, 0.0, 0.1))
        >>> robot.joint_names[-1], robot.body_names[-2:]
        ('finger', ('palm', 'tip'))
    """
    robot.body(at)
    added = _renamed(other, prefix)
    for kind, own, new in (
        ("body", robot.body_names, added.body_names),
        ("joint", [joint.name for joint in robot.joints], [joint.name for joint in added.joints]),
    ):
        if taken := sorted(set(own) & set(new)):
            raise ModelError(
                f"attach: both robots have {'bodies' if kind == 'body' else 'joints'} {', '.join(taken)}. Give a `prefix`."
            )
    root = root_body(added)
    name = unused_name(f"{root}_mount", [joint.name for joint in (*robot.joints, *added.joints)])
    mount = Joint(name, "fixed", at, root, as_pose(pose))
    start = robot.initial_state
    if start is not None or added.initial_state is not None:
        (q0, qd0), (q1, qd1) = (
            each.initial_state or (tuple(each.neutral_configuration().tolist()), (0.0,) * each.nv)
            for each in (robot, added)
        )
        start = ((*q0, *q1), (*qd0, *qd1))
    return replace(
        robot, bodies=(*robot.bodies, *added.bodies), joints=(*robot.joints, mount, *added.joints), initial_state=start,
        actuators=(*robot.actuators, *added.actuators),
        named_postures=_joined_postures((*robot.named_postures, *added.named_postures)),
    )  # fmt: skip


def with_payload(
    robot: Described,
    mass: float,
    com: Sequence[float] = (0.0, 0.0, 0.0),
    inertia: Sequence[Any] = (0.0, 0.0, 0.0),
    *,
    at: str,
    name: str = "payload",
) -> Described:
    """The robot with one more rigid body fixed to one of its bodies.

    Args:
        mass: [kg]
        com: centre of mass in the frame of the body `at`. [m]
        inertia: about that centre of mass: three principal moments along the axes of `at`, six entries
            (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) or a 3x3 tensor; zero is a point mass. [kg m²]
        at: name of the body that carries it.
        name: of the new body.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> loaded = robot.with_payload(2.5, (0.0, 0.0, 0.1), at="link6")
        >>> round(float(loaded.potential_energy([0.0] * 6) - robot.potential_energy([0.0] * 6)), 6)
        13.071825
    """
    robot.body(at)
    bodies = [body.name for body in robot.bodies]
    if name in bodies:
        raise ModelError(f"with_payload: there is a body {name!r} already. Give another `name`.")
    number = require_real_array("mass", mass, ())
    if not number >= 0.0:
        raise ArgumentError(f"mass is {mass!r}, expected a number >= 0 [kg].")
    body = Body(name, float(number), triple(require_vector("com", com, 3)), as_inertia(name, inertia))
    joint = Joint(unused_name(f"{name}_mount", [joint.name for joint in robot.joints]), "fixed", at, name)
    return replace(robot, bodies=(*robot.bodies, body), joints=(*robot.joints, joint))


# --- parts ----------------------------------------------------------------------------------------------------------------


def child_pose(joint: Joint, q: Sequence[float]) -> Pose:
    """Pose of a joint's child in its parent at the coordinates q of the joint."""
    R, p, first = joint.origin.rotation, np.array(joint.origin.xyz), 0
    for kind, axis in KINDS[joint.kind].parts(joint):
        axes = axes_along(axis) if kind.axial else np.eye(3)
        turn, place = kind.placement(q[first : first + kind.nq], ZERO_ANGLE)
        R = R @ axes
        p = p + R @ np.array([float(x) for x in place])
        R = R @ np.array([float(x) for x in turn.matrix()]).reshape(3, 3) @ axes.T
        first += kind.nq
    return Pose.from_matrix(p, R)


def as_pose(pose: Pose | ArrayLike) -> Pose:
    """A pose from itself, a position (3,) or a matrix (4, 4)."""
    if isinstance(pose, Pose):
        return pose
    array = require_real_array("pose", pose)
    if array.shape == (3,):
        return Pose(triple(array))
    if array.shape != (4, 4) or not np.allclose(array[:3, :3] @ array[:3, :3].T, np.eye(3), atol=1e-6):
        raise ArgumentError(
            f"pose has shape {array.shape}, expected a Pose, a position (3,) or a rigid transformation (4, 4)."
        )
    return Pose.from_matrix(array[:3, 3], array[:3, :3])


def _coordinates(robot: Description, joint: Joint, q: Sequence[float]) -> list[float]:
    """The coordinates of a moving or mimic joint at the configuration q."""
    leader, multiplier, offset = leader_of(robot, joint)
    first = robot.first_coordinates[leader.name][0]
    own = q[first : first + KINDS[joint.kind].nq]
    return list(own) if leader is joint else [multiplier * x + offset for x in own]


def _entries(robot: Description, joints: Iterable[Joint], which: int, values: Any) -> tuple[float, ...]:
    """The entries of some joints in q (0) or qd (1)."""
    result: list[float] = []
    for joint in joints:
        first, kind = robot.first_coordinates[joint.name][which], KINDS[joint.kind]
        result += (float(x) for x in values[first : first + (kind.nv if which else kind.nq)])
    return tuple(result)


def _without_joints(actuators: Iterable[Actuator], locked: Mapping[str, Any]) -> Iterable[Actuator]:
    """The actuators without the joints that no longer move; those without any joint left are dropped."""
    for actuator in actuators:
        kept = [
            k
            for k, entry in enumerate(actuator.joints)
            if entry not in locked and entry.rpartition(".")[0] not in locked
        ]
        if kept or actuator.frame:
            yield replace(
                actuator, joints=tuple(actuator.joints[k] for k in kept), gears=tuple(actuator.gears[k] for k in kept)
            )


def _renamed(robot: Description, prefix: str) -> Description:
    """The robot with a prefix before all its names."""
    if not prefix:
        return robot

    def mimic(of: Mimic | None) -> Mimic | None:
        return None if of is None else replace(of, joint=prefix + of.joint)

    return replace(
        robot,
        bodies=tuple(replace(body, name=prefix + body.name) for body in robot.bodies),
        joints=tuple(
            replace(joint, name=prefix + joint.name, parent=prefix + joint.parent, child=prefix + joint.child,
                    mimic=mimic(joint.mimic))
            for joint in robot.joints
        ),
        actuators=tuple(
            replace(each, name=prefix + each.name, joints=tuple(prefix + joint for joint in each.joints),
                    frame=each.frame and prefix + each.frame)
            for each in robot.actuators
        ),
        named_postures=tuple(
            Posture(prefix + each.name, tuple((prefix + joint, q) for joint, q in each.joints))
            for each in robot.named_postures
        ),
    )  # fmt: skip


def _joined_postures(postures: Iterable[Posture]) -> tuple[Posture, ...]:
    """Postures of the same name as one."""
    joined: dict[str, tuple] = {}
    for posture in postures:
        joined[posture.name] = joined.get(posture.name, ()) + posture.joints
    return tuple(Posture(name, joints) for name, joints in joined.items())

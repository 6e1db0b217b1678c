"""Loop closures: their types with the equations of each, and the kinematics along the path round a loop of a tree.

To add a type: write its class, list it in CLOSURE_MODELS. All vectors are in the closure's first frame. The path leads from that
frame inward to the common ancestor of both frames, then outward to the second frame. Joints that carry the whole loop do not
enter. For joint i with unit twist (w, u) at its origin p_i, and + on the outward, - on the inward part, the second frame's origin
d and rotation Q change with
    d_i = ± (u + w x (d - p_i))        ω_i = ± w
and, as w and u are constant in link i, which rotates at ω and whose origin moves at ṗ_i, these columns change with
    ḋ_i = ± (ω x u + (ω x w) x (d - p_i) + w x (ḋ - ṗ_i))        ω̇_i = ± ω x w.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from appell.algebra import IDENTITY, ZERO, Mat3, Scalar, Twist, Vec3
from appell.deprecation import renamed_fields
from appell.errors import ModelError, unknown_name_message
from appell.model.pose import Pose, Triple
from appell.model.tree import BASE, Frame, Placement, Tree
from appell.model.tree_builder import axes_along
from appell.robot.robot import Robot


class ClosureModel(ABC):
    """Equations of a closure between a first and a second frame, in the first frame.

    d is the origin of the second frame and Q its rotation, both in the first frame; v and omega are the rates of d and of
    Q (Q̇ = ω~ Q). All vectors have components along the first frame's axes. The axis of a closure is z of both frames.
    """

    name: ClassVar[str]
    count: ClassVar[int]
    """Number of equations."""

    @abstractmethod
    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        """Zero when the loop is closed. Lengths [m] first, then angles [rad], exact to first order."""

    @abstractmethod
    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        """Rates of the residual of a closed loop: the components of the relative velocity that must vanish."""

    def row_rates(self, Q: Mat3, Omega: Vec3, v: Vec3, omega: Vec3) -> list[Scalar]:
        """Rates of `rows` at constant v and omega while the second frame rotates at Omega; zero for most types."""
        return [0.0] * self.count


class PointClosure(ClosureModel):
    """The origins coincide."""

    name, count = "point", 3

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v]


class SphericalClosure(PointClosure):
    """A ball joint: the equations of `PointClosure`."""

    name = "spherical"


class RevoluteClosure(ClosureModel):
    """A hinge: the origins coincide and the axes z have the same direction.

    The angles are 2 tan(θ/2) of the angle between the axes, so that opposite axes are not closed.
    """

    name, count = "revolute", 5

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        half = 2.0 / (1.0 + Q.zz)
        return [*d, -(Q.yz * half), Q.xz * half]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, omega.x, omega.y]


class UniversalClosure(ClosureModel):
    """A Cardan joint: the origins coincide and x of the first frame is perpendicular to y of the second.

    x and y are the arms of the cross, as in the universal joint of a tree.
    """

    name, count = "universal", 4

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d, Q.xy]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, omega.cross(Q.columns[1]).x]

    def row_rates(self, Q: Mat3, Omega: Vec3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [0.0, 0.0, 0.0, omega.cross(Omega.cross(Q.columns[1])).x]


class PrismaticClosure(ClosureModel):
    """A slider: the second origin stays on the first frame's z axis and the frames stay parallel."""

    name, count = "prismatic", 5

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [d.x, d.y, *rotation_error(Q)]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [v.x, v.y, *omega]


class WeldClosure(ClosureModel):
    """The frames coincide."""

    name, count = "weld", 6

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d, *rotation_error(Q)]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, *omega]


def rotation_error(Q: Mat3) -> Vec3:
    """2 tan(θ/2) n of the rotation by θ about n: the angles between two frames for small ones, not zero at θ = π."""
    return Q.axial() * (2.0 / (1.0 + Q.xx + Q.yy + Q.zz))


CLOSURE_MODELS: dict[str, ClosureModel] = {
    model.name: model()
    for model in (PointClosure, SphericalClosure, RevoluteClosure, UniversalClosure, PrismaticClosure, WeldClosure)
}


@renamed_fields(first="body1", second="body2", first_pose="pose1", second_pose="pose2")
@dataclass(frozen=True)
class LoopClosure:
    """A joint between two bodies of a tree that closes a loop.

    Attributes:
        name: of the closure.
        kind: `"point"`, `"spherical"` (the same as a point), `"revolute"`, `"universal"`, `"prismatic"` or `"weld"`.
        body1, body2: names of the bodies. Forces are given along the axes of the first one.
        pose1, pose2: the closure's frame in the frame of each body.
        axis: of a revolute or prismatic closure, in the closure's frame. The arms of a universal one are x of the first and
            y of the second frame.

    Example:
        >>> import appell
        >>> appell.LoopClosure("knee", "revolute", "rod", "rocker", pose1=appell.Pose((0.3, 0.0, 0.0))).axis
        (0.0, 0.0, 1.0)
    """

    name: str
    kind: str
    body1: str
    body2: str
    pose1: Pose = Pose()
    pose2: Pose = Pose()
    axis: Triple = (0.0, 0.0, 1.0)


def loops_of(robot: Robot, closures: Iterable[LoopClosure]) -> tuple[KinematicLoop, ...]:
    """The closures on the robot's tree, validated, each with its path."""
    loops: list[KinematicLoop] = []
    for closure in closures:
        where = f"closure {closure.name!r} of {robot.name!r}"
        if closure.kind not in CLOSURE_MODELS:
            raise ModelError(f"{where}: {unknown_name_message('kind', closure.kind, CLOSURE_MODELS)}")
        for body in (closure.body1, closure.body2):
            if body not in robot.tree.frames:
                raise ModelError(f"{where}: {unknown_name_message('body', body, robot.body_names)}")
        if any(loop.name == closure.name for loop in loops):
            raise ModelError(f"{where}: another closure has this name. Give each a unique name.")
        if not any(closure.axis):
            raise ModelError(f"{where}: axis has length 0, expected 1. Give a unit vector.")
        loop = _kinematic_loop(robot.tree, closure)
        if not (loop.inward or loop.outward):
            raise ModelError(
                f"{where}: bodies {closure.body1!r} and {closure.body2!r} do not move relative to each other, so there is no "
                "loop to close. Name two bodies with joints between them."
            )
        loops.append(loop)
    return tuple(loops)


def _kinematic_loop(tree: Tree, closure: LoopClosure) -> KinematicLoop:
    axial = closure.kind in ("revolute", "prismatic")
    along_z = Mat3(*axes_along(closure.axis).ravel().tolist()) if axial else IDENTITY
    bodies, poses = (closure.body1, closure.body2), (closure.pose1, closure.pose2)
    rotations = [Mat3(*pose.rotation.ravel().tolist()).dot(along_z) for pose in poses]
    frames = []
    for body, pose, rotation in zip(bodies, poses, rotations, strict=True):
        frame = tree.frames[body]
        frames.append(Frame(frame.link, frame.R.dot(rotation), frame.p + frame.R @ Vec3(*pose.xyz)))
    return KinematicLoop.on(tree, closure.name, CLOSURE_MODELS[closure.kind], *frames, axes=rotations[0])


@dataclass(frozen=True)
class KinematicLoop:
    """A closure on a tree."""

    name: str
    kind: ClosureModel
    frame1: Frame  # its frames in the links that carry them; z is its axis
    frame2: Frame
    inward: tuple[int, ...]  # links from the first frame to the common ancestor, exclusive
    outward: tuple[int, ...]  # links from there to the second frame
    axes: Mat3  # rotation of the closure's axes in the frame of the first body, for forces

    @classmethod
    def on(cls, tree: Tree, name: str, kind: ClosureModel, first: Frame, second: Frame, axes: Mat3) -> KinematicLoop:
        """Find the path between the frames."""
        inward, outward = (tree.ancestors(frame.link) if frame.link != BASE else [] for frame in (first, second))
        shared = set(inward) & set(outward)
        return cls(
            name, kind, first, second,
            tuple(i for i in inward if i not in shared), tuple(i for i in reversed(outward) if i not in shared), axes,
        )  # fmt: skip


class PathJoint(NamedTuple):
    """A joint on the path: its link's rotation and origin in the first frame, and their rates."""

    link: int
    sign: float
    R: Mat3
    p: Vec3
    omega: Vec3
    v: Vec3


class LoopKinematics(NamedTuple):
    """The joints on the path, and the second frame: origin d, rotation Q, their rates v and omega."""

    joints: list[PathJoint]
    d: Vec3
    Q: Mat3
    v: Vec3
    omega: Vec3

    def column(self, at: PathJoint, twist: Twist) -> Twist:
        """Twist of the second frame from a joint's twist in its link's frame."""
        w, u = at.R @ twist.angular, at.R @ twist.linear
        return Twist(w * at.sign, (u + w.cross(self.d - at.p)) * at.sign)

    def column_rate(self, at: PathJoint, twist: Twist) -> Twist:
        """Rate of `column` for a twist that is constant in the link's frame."""
        w, u = at.R @ twist.angular, at.R @ twist.linear
        wd = at.omega.cross(w)
        linear = at.omega.cross(u) + wd.cross(self.d - at.p) + w.cross(self.v - at.v)
        return Twist(wd * at.sign, linear * at.sign)


def loop_kinematics(
    tree: Tree, placements: Sequence[Placement], loop: KinematicLoop, qd: Sequence[Scalar] | None = None
) -> LoopKinematics:
    """Kinematics of a loop; at rest if no velocities are given."""
    velocities = [0.0] * tree.nv if qd is None else qd
    R, omega, v = loop.frame1.R.T, ZERO, ZERO
    p = -(R @ loop.frame1.p)
    joints = []
    for i in loop.inward:
        link, (turn, s) = tree.links[i], placements[i]
        joints.append(PathJoint(i, -1.0, R, p, omega, v))
        joint = link.kind.twist(link.velocities(velocities))
        omega, v = omega - R @ joint.angular, v - R @ joint.linear
        R = turn.rotate_columns(R.T).T  # R_link R^T: from the parent
        arm = R @ s
        p, v = p - arm, v - omega.cross(arm)
    for i in loop.outward:
        link, (turn, s) = tree.links[i], placements[i]
        arm = R @ s
        p, v = p + arm, v + omega.cross(arm)
        R = turn.T.rotate_columns(R.T).T  # R_parent R
        joint = link.kind.twist(link.velocities(velocities))
        omega, v = omega + R @ joint.angular, v + R @ joint.linear
        joints.append(PathJoint(i, 1.0, R, p, omega, v))
    arm = R @ loop.frame2.p
    return LoopKinematics(joints, p + arm, R.dot(loop.frame2.R), v + omega.cross(arm), omega)

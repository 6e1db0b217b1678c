"""A screw: translation along the axis in proportion to the rotation about it."""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra import ZERO, Angle, Inertia, Rotation, Scalars, Sym3, Twist, Vec3, Z
from appell.model.joint import Joint
from appell.model.joints.joint_model import JointModel
from appell.model.joints.revolute import rotation_about_z
from appell.model.pose import Triple


@dataclass(frozen=True)
class Helical(JointModel):
    """q is an angle [rad]; the child moves `pitch` metres along the axis per radian."""

    pitch: float = 0.0

    name = "helical"
    nq = nv = 1
    angles = (0,)

    def parts(self, joint: Joint) -> tuple[tuple[JointModel, Triple], ...]:
        return ((Helical(joint.pitch), joint.axis),)

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(rotation_about_z(q[0], offset)), Z * (q[0] * self.pitch)

    def motion_subspace(self) -> tuple[Twist, ...]:
        return (Twist(Z, Z * self.pitch),)

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """The second moment along the axis."""
        return Inertia(0.0, ZERO, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, inertia.J.zz))

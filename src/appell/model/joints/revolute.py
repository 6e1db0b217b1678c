"""Rotation about the axis, within limits."""

from __future__ import annotations

from appell.algebra import ZERO, Angle, AxisRotation, Inertia, Rotation, Scalar, Scalars, Sym3, Twist, Vec3, Z, cos, sin
from appell.algebra.angle import nearest_quarters
from appell.model.joints.joint_model import JointModel


class Revolute(JointModel):
    """q is an angle [rad]."""

    name = "revolute"
    nq = nv = 1
    angles = (0,)

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(rotation_about_z(q[0], offset)), ZERO

    def motion_subspace(self) -> tuple[Twist, ...]:
        return (Twist(Z, ZERO),)

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """Mass, first moment and second moment along the axis: mass on the axis does not move."""
        return Inertia(inertia.mass, Z * inertia.gamma.z, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, inertia.J.zz))


def rotation_about_z(angle: Scalar, offset: Angle) -> AxisRotation:
    """Rotation by angle + offset. Multiples of a right angle in a constant offset cost nothing: sine and cosine swap."""
    if isinstance(offset.radians, float) and (offset.cos == 0 or offset.sin == 0):
        c, s = cos(angle), sin(angle)
        c, s = ((c, s), (-s, c), (-c, -s), (s, -c))[nearest_quarters(offset.radians) % 4]
        return AxisRotation(2, c, s)
    total = angle + offset.radians
    return AxisRotation(2, cos(total), sin(total))

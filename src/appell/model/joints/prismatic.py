"""Translation along the axis."""

from __future__ import annotations

from appell.algebra import ZERO, Angle, AxisRotation, Inertia, Rotation, Scalars, Twist, Vec3, Z
from appell.model.joints.joint_model import JointModel


class Prismatic(JointModel):
    """q is a displacement [m] along +z."""

    name = "prismatic"
    nq = nv = 1

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(AxisRotation.by(2, offset)), Z * q[0]

    def motion_subspace(self) -> tuple[Twist, ...]:
        return (Twist(ZERO, Z),)

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """The second moment: a translation does not rotate the child."""
        return Inertia(0.0, ZERO, inertia.J)

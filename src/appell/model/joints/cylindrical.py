"""Translation along the axis and rotation about it, independent of each other."""

from __future__ import annotations

from appell.algebra import ZERO, Angle, Inertia, Rotation, Scalars, Sym3, Twist, Vec3, Z
from appell.model.joints.joint_model import JointModel
from appell.model.joints.revolute import rotation_about_z


class Cylindrical(JointModel):
    """q is a displacement [m] along the axis and an angle [rad] about it."""

    name = "cylindrical"
    nq = nv = 2
    q_labels, qd_labels = ("z", "angle"), ("vz", "wz")
    angles = (1,)
    limited = False

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(rotation_about_z(q[1], offset)), Z * q[0]

    def motion_subspace(self) -> tuple[Twist, ...]:
        return Twist(ZERO, Z), Twist(Z, ZERO)

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """The second moment along the axis."""
        return Inertia(0.0, ZERO, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, inertia.J.zz))

"""No motion. Bodies connected by fixed joints are one link in the dynamics."""

from __future__ import annotations

from appell.algebra import ZERO, Angle, AxisRotation, Rotation, Scalars, Twist, Vec3
from appell.model.joints.joint_model import JointModel


class Fixed(JointModel):
    """No coordinates."""

    name = "fixed"
    nq = nv = 0
    q_labels, qd_labels = (), ()
    limited = False

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(AxisRotation.by(2, offset)), ZERO

    def motion_subspace(self) -> tuple[Twist, ...]:
        return ()

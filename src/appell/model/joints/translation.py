"""Translation in space without rotation."""

from __future__ import annotations

import numpy as np

from appell.algebra import ZERO, Angle, AxisRotation, Inertia, Rotation, Scalars, Twist, Vec3, X, Y, Z
from appell.model.joints.joint_model import JointModel


class Translation(JointModel):
    """q is the position x, y, z [m] in the joint's frame."""

    name = "translation"
    nq = nv = 3
    q_labels, qd_labels = ("x", "y", "z"), ("vx", "vy", "vz")
    limited = axial = symmetric = False

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        before = Rotation(AxisRotation.by(2, offset))
        return before, before @ Vec3(*q)

    def motion_subspace(self) -> tuple[Twist, ...]:
        return Twist(ZERO, X), Twist(ZERO, Y), Twist(ZERO, Z)

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """The second moment: a translation does not rotate the child."""
        return Inertia(0.0, ZERO, inertia.J)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> np.ndarray:
        return rng.uniform(-1.0, 1.0, 3)

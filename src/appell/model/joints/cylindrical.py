"""Translation along the axis and rotation about it, independent of each other."""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra import ZERO, Angle, Inertia, Rotation, Scalar, Sym3, Vec3, Z
from appell.algebra.twist import Twist
from appell.model.joints.kind import JointKind
from appell.model.joints.revolute import turn_about_z


class Cylindrical(JointKind):
    """q is a displacement [m] along the axis and an angle [rad] about it."""

    name = "cylindrical"
    nq = nv = 2
    limited = False

    def placement(self, q: Sequence[Scalar], offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(turn_about_z(q[1], offset)), Z * q[0]

    def subspace(self) -> tuple[Twist, ...]:
        return Twist(ZERO, Z), Twist(Z, ZERO)

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The second moment along the axis."""
        return Inertia(0.0, ZERO, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, inertia.J.zz))

"""No motion. Bodies joined this way are one link to the dynamics."""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra import ZERO, Angle, Rotation, Scalar, Turn, Vec3
from appell.algebra.twist import Twist
from appell.model.joints.kind import JointKind


class Fixed(JointKind):
    """No coordinate."""

    name = "fixed"
    nq = nv = 0
    limited = False

    def placement(self, q: Sequence[Scalar], offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(Turn(2, offset.cos, offset.sin)), ZERO

    def subspace(self) -> tuple[Twist, ...]:
        return ()

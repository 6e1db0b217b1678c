"""Two rotations about axes at right angles: a Cardan joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from appell.algebra import Angle, Rotation, Scalar, Twist, Vec3
from appell.model.joints.joint_model import JointModel
from appell.model.joints.revolute import Revolute

if TYPE_CHECKING:
    from appell.model.joint import Joint
    from appell.model.pose import Triple

REVOLUTE = Revolute()


class Universal(JointModel):
    """q is the angle about the joint frame's x axis, then the angle about the turned y axis [rad]; qd are their rates.

    To the dynamics it is two revolute joints with a link of no mass between them.
    """

    name = "universal"
    nq = nv = 2
    limited = axial = False

    def parts(self, joint: Joint) -> tuple[tuple[JointModel, Triple], ...]:
        return (REVOLUTE, (1.0, 0.0, 0.0)), (REVOLUTE, (0.0, 1.0, 0.0))

    def placement(self, q: Sequence[Scalar], offset: Angle) -> tuple[Rotation, Vec3]:
        raise TypeError("a universal joint is made of two revolute joints; ask its parts")

    def motion_subspace(self) -> tuple[Twist, ...]:
        raise TypeError("a universal joint is made of two revolute joints; ask its parts")

"""Two rotations about perpendicular axes: a Cardan joint."""

from __future__ import annotations

from appell.algebra import Angle, Rotation, Scalars, Twist, Vec3
from appell.model.joint import Joint
from appell.model.joints.joint_model import JointModel
from appell.model.joints.revolute import Revolute
from appell.model.pose import Triple

REVOLUTE = Revolute()


class Universal(JointModel):
    """q is the angle about the joint frame's x axis, then the angle about the rotated y axis [rad]; qd are their rates.

    In the dynamics it is two revolute joints with a massless link between them.
    """

    name = "universal"
    nq = nv = 2
    q_labels, qd_labels = ("angle_x", "angle_y"), ("wx", "wy")
    angles = (0, 1)
    limited = axial = False

    def parts(self, joint: Joint) -> tuple[tuple[JointModel, Triple], ...]:
        return (REVOLUTE, (1.0, 0.0, 0.0)), (REVOLUTE, (0.0, 1.0, 0.0))

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        raise TypeError("a universal joint consists of two revolute joints; use its `parts`")

    def motion_subspace(self) -> tuple[Twist, ...]:
        raise TypeError("a universal joint consists of two revolute joints; use its `parts`")

"""Tasks: what a robot should do, as references q(t), qd(t), qdd(t).

path = appell.trajectories.line(start, end, attitude, speed=0.1)      # of a frame, in space
reference = appell.trajectories.follow(robot, path)                   # of the joints
q, qd, qdd = reference(t)                                      # t a time or times (N,)
"""

from __future__ import annotations

from appell.kinematics.inverse.rotation import euler_zyz
from appell.kinematics.trajectories.cartesian import PosePath, line, via
from appell.kinematics.trajectories.follow import PathReference, follow
from appell.kinematics.trajectories.joint_space import joint_line, joint_via
from appell.kinematics.trajectories.limits import Violation, check_limits, limit_violations
from appell.kinematics.trajectories.papers import mata2002_line, mata2002_path, valera2003_line, valera2003_path
from appell.kinematics.trajectories.reference import JointReference, Reference
from appell.kinematics.trajectories.tabulate import tabulated

__all__ = [
    "JointReference", "PathReference", "PosePath", "Reference", "Violation", "check_limits", "euler_zyz", "follow",
    "joint_line", "joint_via", "limit_violations", "line", "mata2002_line", "mata2002_path", "tabulated", "valera2003_line",
    "valera2003_path", "via",
]  # fmt: skip

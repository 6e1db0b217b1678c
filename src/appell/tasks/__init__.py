"""Tasks: what a robot should do, as references q(t), qd(t), qdd(t).

path = appell.tasks.line(start, end, attitude, speed=0.1)      # of a frame, in space
reference = appell.tasks.follow(robot, path)                   # of the joints
q, qd, qdd = reference(t)                                      # t a time or times (N,)
"""

from __future__ import annotations

from appell.ik.rotation import euler_zyz
from appell.tasks.cartesian import PosePath, line, via
from appell.tasks.follow import PathReference, follow
from appell.tasks.joint_space import joint_line, joint_via
from appell.tasks.limits import Violation, check_limits, limit_violations
from appell.tasks.papers import mata2002_line, mata2002_path, valera2003_line, valera2003_path
from appell.tasks.reference import JointReference, Reference
from appell.tasks.tabulate import tabulated

__all__ = [
    "JointReference", "PathReference", "PosePath", "Reference", "Violation", "check_limits", "euler_zyz", "follow",
    "joint_line", "joint_via", "limit_violations", "line", "mata2002_line", "mata2002_path", "tabulated", "valera2003_line",
    "valera2003_path", "via",
]  # fmt: skip

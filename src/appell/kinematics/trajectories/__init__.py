"""Reference trajectories q(t), qd(t), qdd(t) of a robot.

path = appell.trajectories.line(start, end, orientation, speed=0.1)    # of a frame, in space
reference = appell.trajectories.follow(robot, path)                    # of the joints
q, qd, qdd = reference(t)                                              # t a time or times (N,)
"""

from __future__ import annotations

from appell.deprecation import renamed_names
from appell.kinematics.inverse.rotation import euler_zyz
from appell.kinematics.trajectories.cartesian import PosePath, line, via_points
from appell.kinematics.trajectories.follow import PathReference, follow
from appell.kinematics.trajectories.limits import limit_violations, require_within_limits
from appell.kinematics.trajectories.papers import mata2002_line, mata2002_path, valera2003_line, valera2003_path
from appell.kinematics.trajectories.reference import JointReference, Reference, joint_line, joint_via_points, tabulated
from appell.robot.simulation_model import LimitViolation

__all__ = [
    "JointReference", "LimitViolation", "PathReference", "PosePath", "Reference", "euler_zyz", "follow", "joint_line",
    "joint_via_points", "limit_violations", "line", "mata2002_line", "mata2002_path", "require_within_limits", "tabulated",
    "valera2003_line", "valera2003_path", "via_points",
]  # fmt: skip

FORMER_NAMES = {
    "via": "via_points", "joint_via": "joint_via_points", "check_limits": "require_within_limits", "Violation": "LimitViolation",
}  # fmt: skip
__getattr__ = renamed_names(__name__, {old: f"{__name__}:{new}" for old, new in FORMER_NAMES.items()})

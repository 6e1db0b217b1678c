"""The lines of the papers.

Neither paper gives the tool point or the branch of the inverse kinematics. Here the tool point is the wrist centre O6, and
the branch is the first that can follow the line unless one is given.
"""

from __future__ import annotations

import numpy as np

from appell.kinematics.inverse.rotation import euler_zyz
from appell.kinematics.trajectories.cartesian import PosePath, line
from appell.kinematics.trajectories.follow import PathReference, follow
from appell.robot.robot import Robot

VALERA_BRANCH = "left/above/no_flip"


def valera2003_path(profile: str = "uniform", acceleration: float | None = None) -> PosePath:
    """The straight line of Valera et al. 2003, section 4: 0.1 m/s for 8.602 s, orientation ZYZ (45°, 60°, 90°).

    Args:
        profile: `"uniform"` as in the paper, or one that starts and ends at rest.
        acceleration: of the ramps of `"trapezoidal"`. [m/s²]
    """
    orientation = euler_zyz(np.radians([45.0, 60.0, 90.0]))
    start, end = [0.6, 0.175, 0.250], [0.018, 0.757, 0.0]
    return line(start, end, orientation, speed=0.1, acceleration=acceleration, profile=profile)


def mata2002_path(profile: str = "uniform") -> PosePath:
    """The straight line of Mata et al. 2002, section 5.2, and Provenzano and Mata 2002: 5 s, orientation ZYZ (0°, 90°, 180°).

    The papers print 5.0 s and 0.1 m/s, which do not fit the length of 0.32863 m. The duration is kept.

    Example:
        >>> import appell, numpy as np
        >>> path = appell.trajectories.mata2002_path()
        >>> path.duration, round(np.linalg.norm(path(0.0).twist).item(), 5)
        (5.0, 0.06573)
    """
    orientation = euler_zyz(np.radians([0.0, 90.0, 180.0]))
    return line([0.50, 0.00, 0.05], [0.62, 0.30, 0.11], orientation, duration=5.0, profile=profile)


def valera2003_line(
    robot: Robot, branch: str | None = VALERA_BRANCH, profile: str = "uniform", acceleration: float | None = None
) -> PathReference:
    """The reference trajectory of Valera's line for a robot such as `appell.load("puma560")`.

    Example:
        >>> import appell
        >>> reference = appell.trajectories.valera2003_line(appell.load("puma560"))
        >>> reference(0.0).q.round(4).tolist()
        [0.0414, -1.1025, 3.0374, 2.44, 1.1402, -0.8004]
    """
    return follow(robot, valera2003_path(profile, acceleration), branch=branch)


def mata2002_line(robot: Robot, branch: str | None = None, profile: str = "uniform") -> PathReference:
    """The reference trajectory of Mata's line for a robot such as `appell.load("puma560")`."""
    return follow(robot, mata2002_path(profile), branch=branch)

"""A hand through four poses without stopping: spline in space, joint trajectory, and exceeded limits."""

import numpy as np

import appell

robot = appell.load("puma560")
corners = np.array([
    [0.1, -1.0, 2.8, 0.3, 0.8, 0.2], [0.4, -1.0, 2.6, 0.6, 0.6, 0.5],
    [0.5, -0.8, 2.7, 0.8, 1.0, 1.2], [0.1, -0.8, 2.5, 0.4, 0.9, 0.4],
])  # fmt: skip

path = appell.trajectories.via_points(robot.pose(corners, "link6"), speed=0.25, acceleration=1.0, profile="quintic")
motion = appell.trajectories.follow(robot, path, q0=corners[0])
print(motion, "passes its poses at", path.breaks.round(3), "s")

for violation in appell.trajectories.limit_violations(motion, robot, velocity=0.5, acceleration=2.0, effort=55.0):
    print(violation)

try:  # unreachable: the error has the time at which the arm is stretched out
    away = appell.trajectories.line(
        [0.5, 0.0, 0.2], [1.5, 0.0, 0.2], appell.trajectories.euler_zyz([0.3, 1.0, 0.2]), speed=0.1
    )
    appell.trajectories.follow(robot, away, branch="left/above/no_flip")
except appell.errors.TrajectoryError as error:
    print(error)

motion.plot("through_via_points.png", robot)

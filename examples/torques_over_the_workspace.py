"""How strong must the motors be to hold a PUMA anywhere? Gravity torques in a hundred thousand random configurations."""

import numpy as np

import appell
from appell.sweeps import random_states

robot = appell.load("puma560")
result = appell.sweep(robot, ["gravity", "pose:link6"], random_states(robot, 100_000, seed=1))
print(result.table())

largest = np.abs(result.results["gravity"]).max(axis=0)
for name, torque in zip(robot.joint_names, largest, strict=True):
    print(f"{name} holds {torque:6.2f} N m at most")
reach = np.linalg.norm(result.results["pose:link6"][:, :3, 3], axis=1).max()
print(f"its last link comes {reach:.3f} m from the base")
result.plot("torques.png")

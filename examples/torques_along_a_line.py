"""Torques of the PUMA along the straight line of Valera et al. 2003: one call for all times, and the parts of the torque."""

import numpy as np

import appell

robot = appell.load("puma560")
line = appell.trajectories.valera2003_line(robot)
q, qd, qdd = line(np.linspace(0.0, line.duration, 201))

tau = robot.inverse_dynamics(q, qd, qdd)
gravity = robot.gravity(q)
velocity = robot.bias(q, qd) - gravity
inertia = tau - gravity - velocity

print(f"{line}\n{'joint':8} {'largest':>9} {'gravity':>9} {'velocity':>9} {'inertia':>9}  [N m]")
largest = np.abs([tau, gravity, velocity, inertia]).max(axis=1)
for name, parts in zip(robot.joint_names, largest.T, strict=True):
    print(f"{name:8} " + " ".join(f"{part:9.4f}" for part in parts))

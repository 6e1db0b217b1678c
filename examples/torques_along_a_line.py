"""Torques of a robot that moves from one posture to another: one call for all moments, and where the torque goes."""

import numpy as np

import appell

robot = appell.load("puma560")
start, end, duration = np.zeros(6), np.array([1.0, -0.8, 0.6, 0.5, -0.5, 1.0]), 2.0

time = np.linspace(0.0, duration, 201)
s = (time / duration)[:, None]
q = start + (end - start) * (10 * s**3 - 15 * s**4 + 6 * s**5)
qd = (end - start) * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
qdd = (end - start) * (60 * s - 180 * s**2 + 120 * s**3) / duration**2

tau = robot.inverse_dynamics(q, qd, qdd)
gravity = robot.gravity(q)
velocity = robot.bias(q, qd) - gravity
inertia = tau - gravity - velocity

print(f"{'joint':8} {'largest':>9} {'gravity':>9} {'velocity':>9} {'inertia':>9}  [N m]")
largest = np.abs([tau, gravity, velocity, inertia]).max(axis=1)
for name, parts in zip(robot.joint_names, largest.T, strict=True):
    print(f"{name:8} " + " ".join(f"{part:9.3f}" for part in parts))

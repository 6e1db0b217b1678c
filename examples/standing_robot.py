"""A four-legged robot stands on a floor: collision shapes, forces of the feet by constrained dynamics, a PD law that holds it."""

import numpy as np

import appell
from appell.model.body import Geometry

MASS, THIGH, SHANK, FOOT = 8.0, 0.2, 0.2, 0.02


def quadruped() -> appell.Robot:
    builder = appell.RobotBuilder("quadruped").body("world")
    builder.body("trunk", MASS, inertia=(0.05, 0.1, 0.12), collisions=[Geometry("box", (0.4, 0.2, 0.1))])
    builder.floating("base", "world", "trunk")
    for name, x, y in (("fl", 0.18, 0.1), ("fr", 0.18, -0.1), ("rl", -0.18, 0.1), ("rr", -0.18, -0.1)):
        ball = Geometry("sphere", (FOOT,), appell.Pose((0.0, 0.0, -SHANK)))
        builder.body(f"{name}_thigh", 0.6, com=(0, 0, -THIGH / 2), inertia=(0.002, 0.002, 0.0005))
        builder.body(f"{name}_shank", 0.3, com=(0, 0, -SHANK / 2), inertia=(0.001, 0.001, 0.0002), collisions=[ball])
        limits = (-3.0, 3.0, 20.0, 40.0)
        builder.revolute(f"{name}_hip", "trunk", f"{name}_thigh", "y", xyz=(x, y, 0.0), limits=limits)
        builder.revolute(f"{name}_knee", f"{name}_thigh", f"{name}_shank", "y", xyz=(0, 0, -THIGH), limits=limits)
    return builder.build()


robot = quadruped()
floor = appell.surfaces.Plane(friction=0.7, restitution=0.0)
legs = np.tile([0.7, -1.4], 4)
q = np.concatenate([[0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0], legs])
q[2] -= robot.distances(q, floor).distance.min()  # the feet touch the floor
rest = np.zeros(robot.nv)
print(f"{len(robot.contact_points())} contact points of the shapes, trunk at {q[2]:.3f} m")

feet = [point for point in robot.contact_points() if point.radius]
tau, forces = robot.constrained_inverse_dynamics(q, rest, rest, feet)
print("vertical forces of the feet [N]:", forces[:, 2].round(2).tolist())
assert np.isclose(forces[:, 2].sum(), 9.81 * sum(body.mass for body in robot.bodies))
assert abs(tau[:6]).max() < 1e-6  # nothing holds the trunk but the feet

# Joint torques of the same posture as a shift of the reference: the PD law then holds it without sagging.
gains = appell.control.default_gains(robot, "pd", q, period=2e-3)
controller = appell.control.PD(robot, legs + tau[6:] / gains["kp"], period=2e-3, **gains)
motion = appell.simulate(
    robot, q, rest, 1.0, controller=controller, surfaces=floor, method=appell.Integration("moreau", dt=2e-3)
)
print(f"after 1 s the trunk is {1e3 * abs(motion.q[-1, 2] - q[2]):.2f} mm from where it was")
print(
    "vertical forces now [N]:", {name: round(float(force[-1, 2]), 2) for name, force in motion.contact_forces.items()}
)
assert abs(motion.q[-1, 2] - q[2]) < 1e-3

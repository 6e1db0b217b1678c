"""A PUMA with unknown friction and a tool of unknown mass: an exciting trajectory, a noisy recording, the identified robot."""

from dataclasses import replace

import numpy as np

import appell
from appell.identification import MotionLimits

described = appell.load("puma560")
tool = replace(described.body("link6"), mass=1.2, com=(0.0, 0.0, 0.09), inertia=(0.012, 0, 0, 0.012, 0, 0.016))
joints = tuple(replace(joint, damping=2.0, friction=3.0, rotor_inertia=0.2) for joint in described.joints)
real = replace(described, bodies=(*described.bodies[:-1], tool), joints=joints)

limits = MotionLimits(velocity=2.0, acceleration=6.0)
motion = appell.excitation(described, duration=8.0, harmonics=4, limits=limits, iterations=3)
print(f"a trajectory of {motion.duration:g} s, condition number {motion.condition_number:.1f}")

rng = np.random.default_rng(0)
t = np.arange(0.0, 3 * motion.duration, 0.004)
q, qd, qdd = motion(t)
tau = real.inverse_dynamics(q, qd, qdd) + 2.0 * qd + 3.0 * np.tanh(qd / 0.05)
encoders = q + 1e-5 * rng.normal(size=q.shape)
currents = tau + 0.01 * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)

fit = appell.identify(described, t, encoders, currents, physical=True)
print(f"error of the forces at held-out samples: {fit.relative_error}")
for name in ("fv[joint1]", "fc[joint3]", "Ia[joint4]", "mx[link2]"):
    value, error = fit.value(name)
    k = [fit.base.names[i] for i in fit.base.independent].index(name)
    print(f"{fit.base.formulas[k]:60.60}  {value:8.4f} ± {error:.4f}")

fit.report("puma.html")
fit.to_urdf("puma.urdf")
q = [0.3, -0.5, 0.2, 0.4, 0.8, 0.0]
for name, robot in (("described", described), ("identified", appell.load("puma.urdf")), ("real", real)):
    print(f"{name:10} gravity torques {robot.gravity(q).round(2).tolist()} N m")

"""A PUMA with unknown friction and a tool of unknown mass: a motion that shows them, a recording with noise, the robot found."""

from dataclasses import replace

import numpy as np

import appell

described = appell.load("puma560")
tool = replace(described.body("link6"), mass=1.2, com=(0.0, 0.0, 0.09), inertia=(0.012, 0, 0, 0.012, 0, 0.016))
joints = tuple(replace(joint, damping=2.0, friction=3.0, rotor_inertia=0.2) for joint in described.joints)
real = replace(described, bodies=(*described.bodies[:-1], tool), joints=joints)

motion = appell.excitation(described, duration=8.0, harmonics=4, velocity=2.0, acceleration=6.0, iterations=3)
print(f"a motion of {motion.duration:g} s, condition number {motion.condition:.1f}")

rng = np.random.default_rng(0)
t = np.arange(0.0, 3 * motion.duration, 0.004)
q, qd, qdd = motion(t)
tau = real.inverse_dynamics(q, qd, qdd) + 2.0 * qd + 3.0 * np.tanh(qd / 0.05)
encoders = q + 1e-5 * rng.normal(size=q.shape)
currents = tau + 0.01 * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)

found = appell.identify(described, t, encoders, currents, physical=True)
print(f"forces on samples not used: {found.relative_error}")
for name in ("fv[joint1]", "fc[joint3]", "Ia[joint4]", "mx[link2]"):
    value, error = found.value(name)
    k = [found.base.names[i] for i in found.base.independent].index(name)
    print(f"{found.base.formulas[k]:60.60}  {value:8.4f} ± {error:.4f}")

found.report("puma.html")
found.to_urdf("puma.urdf")
posture = [0.3, -0.5, 0.2, 0.4, 0.8, 0.0]
for name, robot in (("described", described), ("found", appell.load("puma.urdf")), ("real", real)):
    print(f"{name:10} gravity torques {robot.gravity(posture).round(2).tolist()} N m")

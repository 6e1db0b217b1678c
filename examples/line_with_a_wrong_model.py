"""Valera's line under inverse dynamics control at 1 kHz: an exact model, masses 20 % wrong, and integral action."""

import numpy as np

import appell

robot = appell.load("puma560")
wrong = appell.control.scaled_masses(robot, 1.2)
line = appell.trajectories.valera2003_line(robot)
gains = {"kp": 400.0, "kd": 40.0, "period": 1e-3}

controllers = {
    "exact model": appell.control.ComputedTorque(robot, line, **gains),
    "wrong model": appell.control.ComputedTorque(wrong, line, **gains),
    "wrong model, integral": appell.control.ComputedTorqueIntegral(wrong, line, ki=2000.0, **gains),
}

start, seconds = line(0.0), 3.0
print("error of the joints [rad]   largest      at the end")
for name, controller in controllers.items():
    motion = appell.simulate(
        robot, start.q, start.qd, seconds, controller=controller, method=appell.Integration("rk4", dt=1e-3), t_eval=0.02
    )  # fmt: skip
    error = np.abs(motion.q - line(motion.t).q).max(axis=1)
    print(f"{name:25s}  {error.max():10.2e}  {error[-1]:12.2e}")

files = appell.control.export(controllers["wrong model, integral"], "c")
print("the last one as C:", ", ".join(file.name for file in files))

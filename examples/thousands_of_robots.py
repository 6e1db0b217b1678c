"""Which gains bring a PUMA to rest soonest? Four thousand robots with different ones, rolled out at once."""

import time

import numpy as np

import appell

robot = appell.load("puma560")
dyn = appell.compile(robot)
rng = np.random.default_rng(0)
count, steps, dt = 4096, 1000, 2e-3

goal = np.array([0.4, -0.6, 0.9, 0.3, -0.5, 0.2])
frequency = np.exp(rng.uniform(np.log(3.0), np.log(30.0), count))  # rad/s
damping = rng.uniform(0.3, 1.5, count)
gains = {"kp": np.outer(frequency**2, np.ones(6)), "kd": np.outer(2 * damping * frequency, np.ones(6))}

options = {"law": "computed_torque", "gains": gains, "steps": steps, "dt": dt, "save_every": 10}
start = np.zeros((count, 6))
appell.rollout(dyn, start[:1], start[:1], {"q": goal}, **{**options, "gains": {"kp": 1.0, "kd": 1.0}})  # compiles
begin = time.perf_counter()
path = appell.rollout(dyn, start, start, {"q": goal}, **options)
taken = time.perf_counter() - begin

error = np.abs(path.q - goal).max(axis=-1)  # (robots, times)
late = np.where(error > 1e-3, path.t, 0.0).max(axis=1)  # the last moment off the goal
torque = np.abs(robot.inverse_dynamics(start, start, gains["kp"] * goal)).max(axis=1)
fits = torque < 500.0  # N m, at the start, where the error is largest
best = np.flatnonzero(fits)[late[fits].argmin()]

print(f"{count} robots, {count * steps / taken / 1e6:.1f} million steps a second")
print(
    f"best within 500 N m: frequency {frequency[best]:.1f} rad/s, damping {damping[best]:.2f}: at rest after {late[best]:.2f} s"
)
for low in (3.0, 6.0, 12.0):
    group = (frequency >= low) & (frequency < 2 * low)
    print(f"  {low:4.0f} to {2 * low:4.0f} rad/s: at rest after {np.median(late[group]):.2f} s (median)")

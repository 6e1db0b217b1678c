"""Least effort between two poses of the PUMA within its torque limits: splines, derivatives of inverse dynamics, and SciPy."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import minimize

import appell

dyn = appell.compile(appell.load("puma560"))
start, end, duration = [0.0, -1.2, 2.6, 0.0, 0.6, 0.0], [1.2, 0.2, 1.0, 0.5, -0.6, 1.0], 1.0
limit = np.array([97.6, 186.4, 89.4, 24.2, 20.1, 21.3])  # N m

# Splines of degree five; three equal coefficients at both ends are rest there. B[k] gives the k-th derivatives at the times t.
n, t = 12, np.linspace(0.0, duration, 41)
basis = BSpline(np.concatenate([[0.0] * 5, np.linspace(0.0, duration, n - 4), [duration] * 5]), np.eye(n), 5)
B = np.array([basis.derivative(k)(t) if k else basis(t) for k in range(3)])


def motion(x: np.ndarray) -> np.ndarray:
    """q, qd, qdd at all times, from the free coefficients."""
    return B @ np.concatenate([[start] * 3, x.reshape(-1, 6), [end] * 3])


def effort(x: np.ndarray) -> np.ndarray:
    """Torques over their limits, for all times in one call."""
    return (dyn.inverse_dynamics(*motion(x)) / limit).ravel()


def slope(x: np.ndarray) -> np.ndarray:
    """Its derivative by the coefficients."""
    by = np.array(dyn.inverse_dynamics_derivatives(*motion(x))) / limit[:, None]
    return np.einsum("dtij,dtk->tikj", by, B[:, :, 3:-3]).reshape(6 * len(t), -1)


straight = np.linspace(start, end, n)[3:-3].ravel()
found = minimize(
    lambda x: (np.mean(effort(x) ** 2), 2 * np.mean(effort(x)[:, None] * slope(x), axis=0)),
    straight, jac=True, method="SLSQP",
    constraints={"type": "ineq", "fun": lambda x: 1 - np.outer([1, -1], effort(x)).ravel(),
                 "jac": lambda x: np.concatenate([-slope(x), slope(x)])},
)  # fmt: skip
for name, x in (("straight", straight), ("least effort", found.x)):
    print(f"{name}: mean square {np.mean(effort(x) ** 2):.3f}, largest {abs(effort(x)).max():.3f} of the limits")
assert abs(effort(found.x)).max() < 1 + 1e-6

figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for x, style in ((straight, ":"), (found.x, "-")):
    for joint in range(3):
        panels[0].plot(t, effort(x)[joint::6], style, color=f"C{joint}", label=f"joint {joint + 1}" * (style == "-"))
    hand = dyn.pose(motion(x)[0], "link6")[:, :3, 3]
    panels[1].plot(np.hypot(hand[:, 0], hand[:, 1]), hand[:, 2], style, color="C0")
panels[0].axhspan(-1, 1, color="0.92", zorder=0)
panels[0].set(
    xlabel="time [s]", ylabel="torque / limit", ylim=(-3, 3), title="Torques: least effort, and straight in q (dotted)"
)
panels[1].set(xlabel="distance from the vertical axis [m]", ylabel="height [m]", title="The hand", aspect="equal")
panels[0].legend(loc="upper center")
figure.savefig("least_effort.png", dpi=110)

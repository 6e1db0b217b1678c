"""Stability of fixed steps and of sampled controllers, by the eigenvalues of the motion.

Small motions about a state obey ẏ = A y, y = (q, qd). A method with steps h keeps a motion with the eigenvalue λ of A, Re λ <= 0,
bounded only where |h λ| is below its limit of stability; so does a controller with samples h, whose forces are held (limit 2).
Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.2.
"""

from __future__ import annotations

import numpy as np

from appell.simulation.integrators import DEFAULT_DT, MOREAU, Integration, method_named
from appell.simulation.joint_friction import moving_joints
from appell.simulation.plant import Plant

STABILITY_LIMITS = {"semi_implicit_euler": 2.0, "rk4": 2.78, "midpoint": 1.2, MOREAU: 2.0}
"""Largest |h λ| of stable steps along the negative real axis; of the midpoint rule that of its 60 iterations, of time stepping
that of forces which are held for a step."""
SAMPLING_LIMIT = 2.0
DIFFERENCE = 1e-6
"""Step of the differences."""


def fastest_rate(plant: Plant, q: np.ndarray, qd: np.ndarray, damped: bool = True) -> float:
    """Largest |λ| of the motion about a state at t = 0, without contact, with the controller acting continuously. [1/s]

    Args:
        damped: whether damping of the joints is part of it; time stepping is implicit in that.
    """
    nq, joints = len(q), moving_joints(plant.friction, qd)[0]

    def rate(y: np.ndarray) -> np.ndarray:
        q, qd = y[:nq], y[nq:]
        tau = plant.actuation.continuous_tau(0.0, *plant.model.project_to_constraints(q, qd))
        forces = plant.model.actuator_forces(q, plant.limited(tau)[0])
        if plant.passive and damped:
            forces = forces + plant.model.damping_forces(q, qd) - plant.friction * joints.slip_direction
        return np.concatenate([plant.model.coordinate_rates(q, qd), plant.model.forward_dynamics(q, qd, forces)])

    y = np.concatenate([q, qd])
    steps = DIFFERENCE * np.eye(len(y))
    with np.errstate(invalid="ignore"):
        A = np.stack([(rate(y + step) - rate(y - step)) / (2.0 * DIFFERENCE) for step in steps], axis=1)
    return float(np.abs(np.linalg.eigvals(A)).max()) if np.isfinite(A).all() else np.nan


def instability_reason(plant: Plant, integration: Integration, q: np.ndarray, qd: np.ndarray) -> str:
    """Why steps or samples are too long for the motion at its start (q, qd), with the remedy; empty where they are not."""
    method, period = method_named(integration.method).name, plant.actuation.period
    name, step, limit = f"the step dt of {method}", integration.dt or DEFAULT_DT, STABILITY_LIMITS.get(method, np.inf)
    if period is not None:
        name, step, limit = "the controller's period", period, SAMPLING_LIMIT
    fastest = fastest_rate(plant, q, qd, damped=method != MOREAU) if limit < np.inf else 0.0
    if step * fastest > limit:
        return (
            f"At the start its fastest eigenvalue is {fastest:.3g} 1/s, for which {name} is unstable above "
            f"{limit / fastest:.2g} s; it is {step:g} s. Choose a shorter one, lower gains "
            "(appell.control.default_gains), or without samples an adaptive method."
        )
    return ""

"""Checks of a finished run: whether it reached its end, and whether its energy balance is within its tolerance."""

from __future__ import annotations

import numpy as np

from appell.robot.simulation_model import SimulationModel
from appell.simulation.integrators import Integration, method_named
from appell.simulation.loop import NO_PROGRESS, TOO_MANY_IMPACTS
from appell.simulation.trajectory import Trajectory

ADAPTIVE_FACTOR, FIXED_STEP_PART = 1e4, 0.01
"""Errors of the balance up to rtol times this factor, or, with a fixed step, up to this part, of the energy that was exchanged
are those of the integrator."""
REMEDIES = {
    TOO_MANY_IMPACTS: 'Lower the restitution, choose method="auto", or raise max_impacts of ContactOptions.',
    NO_PROGRESS: "Lower the restitution or the friction, start from another state, or name fewer contact points.",
}


RESIDUAL_TOL = 1e-6
"""Largest error of the contact law, as part of the velocities or accelerations, that is not reported."""


def check_run(
    model: SimulationModel, motion: Trajectory, integration: Integration, end: float, residual: float
) -> tuple[str, ...]:
    """Reasons not to rely on a run, with remedies; empty for a good one."""
    problems = []
    if residual > RESIDUAL_TOL:
        problems.append(f"contact obeys Coulomb's law only to {residual:.1e} of its size. Choose a lower friction.")
    if motion.status in REMEDIES:
        problems.append(
            f"it stopped at t = {motion.t[-1]:.6g} s of {end:g} s: {motion.status}. {REMEDIES[motion.status]}"
        )
    fixed = method_named(integration.method).fixed
    balance = float(np.abs(motion.balance).max())
    allowed = (FIXED_STEP_PART if fixed else min(ADAPTIVE_FACTOR * integration.rtol, 0.1)) * _exchanged(model, motion)
    if balance > allowed:
        stepped = 'a smaller rtol, "moreau" with a smaller dt,'
        remedy = "a smaller dt" if fixed else "a smaller rtol" if motion.stepped_from is None else stepped
        problems.append(
            f"its energy balance is off by {balance:.3g} J, expected at most {allowed:.3g} J. Choose {remedy} or another method."
        )
    return tuple(problems)


def _exchanged(model: SimulationModel, motion: Trajectory) -> float:
    """Largest kinetic energy, span of the potential energy and largest works of a motion, added. [J]"""
    potential = model.energy(motion.q, np.zeros_like(motion.qd))
    works = sum(float(np.abs(work).max()) for work in motion.work)
    return float((motion.energy - potential).max()) + float(np.ptp(potential)) + works + 1e-9

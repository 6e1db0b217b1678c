"""Energies of a spherical parallel robot, and its Gibbs function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from appell.algebra import Inertia, Scalar
from appell.closed_loop.spherical.dynamics import BodyMotion, leg_motions, platform_motion
from appell.closed_loop.spherical.placements import placements
from appell.closed_loop.spherical.rates import joint_motion, platform_rates

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import SphericalSystem


def kinetic_energy(system: SphericalSystem, q, qd) -> Scalar:
    """T = Σ ω · I ω / 2.  [J]"""
    return _total(system, q, qd, None, lambda inertia, body: body.omega @ (inertia.at_origin @ body.omega) * 0.5)


def potential_energy(system: SphericalSystem, q) -> Scalar:
    """U = -Σ m ρ · σ, zero with all mass at the centre.  [J]"""
    placed = placements(system, q)
    total = -(system.platform.gamma @ (placed.R.T @ system.gravity))
    for numbers, leg in zip(system.legs, placed.legs, strict=True):
        sigma = system.gravity
        for inertia, step in zip(numbers.inertias, leg.steps, strict=True):
            sigma = step.T @ sigma
            total = total - inertia.gamma @ sigma
    return total


def gibbs_function(system: SphericalSystem, q, qd, qdd) -> Scalar:
    """S of (3) with (12), without what does not depend on q̈: its gradient is Q, its Hessian M.  [J/s²]"""

    def energy(inertia: Inertia, body: BodyMotion) -> Scalar:
        about = inertia.at_origin
        rest = body.omega.cross(about @ body.omega) - inertia.gamma.cross(body.sigma)
        return body.alpha @ (about @ body.alpha * 0.5 + rest)

    return _total(system, q, qd, qdd, energy)


def _total(system: SphericalSystem, q, qd, qdd, energy: Callable[[Inertia, BodyMotion], Scalar]) -> Scalar:
    """Σ energy(inertia, motion) over all bodies."""
    placed = placements(system, q)
    rates = platform_rates(system, placed, qd, qdd)
    total = energy(system.platform, platform_motion(system, placed, rates))
    for numbers, leg, given in zip(system.legs, placed.legs, rates.free, strict=True):
        motions = leg_motions(system, leg, joint_motion(leg, rates, given))
        for inertia, body in zip(numbers.inertias, motions, strict=True):
            total = total + energy(inertia, body)
    return total

"""Masses on lines in NumPy alone: a simulation model whose motion is known, without compiled code."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from appell.robot.simulation_model import StateLimits


class PointMasses:
    """Masses that move along lines, each under its own constant acceleration, with damping and friction."""

    def __init__(self, masses, gravity=None, damping=None, friction=None, lower=None, upper=None, velocity=None):
        n = len(masses)
        self.masses = np.array(masses, dtype=float)
        self.gravity, self.damping, friction = (
            np.zeros(n) if each is None else np.array(each, dtype=float) for each in (gravity, damping, friction)
        )
        infinite = np.full(n, np.inf)
        self.name, self.nq, self.nv, self.contact_tree = "masses", n, n, None
        self.joint_names = self.q_names = self.qd_names = self.actuator_names = tuple(map(chr, range(97, 97 + n)))
        self.joint_friction = SimpleNamespace(friction=tuple(friction), damping=tuple(self.damping))
        given = ((lower, -infinite), (upper, infinite), (velocity, infinite), (None, infinite))
        self.limits = StateLimits(*(none if each is None else np.array(each, dtype=float) for each, none in given))
        self.error = 0.0

    def simulation_model(self):
        return self

    def forward_dynamics(self, q, qd, forces):
        return forces / self.masses + self.gravity

    def actuator_forces(self, q, tau):
        return tau

    def damping_forces(self, q, qd):
        return -self.damping * qd

    def energy(self, q, qd):
        return np.sum(self.masses * (0.5 * np.asarray(qd) ** 2 - self.gravity * np.asarray(q)), axis=-1)

    def coordinate_rates(self, q, qd):
        return qd

    def project_to_constraints(self, q, qd):
        return q, qd

    def constraint_error(self, q, qd):
        return self.error

    def nonfinite_reason(self, q):
        return "a reason"

    def integrate(self, q, step):
        return q + step

    def mass_matrix(self, q):
        return np.diag(self.masses)

    def coriolis_matrix(self, q, qd):
        return np.zeros((self.nv, self.nv))

    def require_regular(self, q, qd, before=None):
        return None

"""Contact of particles with planes in NumPy alone: gaps and Jacobians that are known without compiled code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import appell
from appell.simulation.actuation import actuation_of
from appell.simulation.contact.environment import ContactEnvironment
from appell.simulation.contact.mode import ContactMode
from appell.simulation.contact.pairs import ContactPairs, ContactState
from appell.simulation.contact.phase import ContactPhase
from appell.simulation.joint_friction import frictionless
from appell.simulation.plant import Plant
from helpers.point_masses import PointMasses

FLOOR = appell.surfaces.Plane(restitution=0.0)
ROUGH = appell.surfaces.Plane(friction=0.5, restitution=0.0)
G = 10.0
MASS = 2.0


@dataclass(frozen=True)
class ParticlePairs(ContactPairs):
    """Particles with coordinates x, y, z each; `stop` is an upper limit of the x of the first."""

    stop: float | None = None

    def __len__(self):
        return self.count + (self.stop is not None)

    def state(self, q, qd):
        p, v = q.reshape(-1, 3), qd.reshape(-1, 3)
        J = np.eye(len(q)).reshape(-1, 3, len(q))
        found = [surface.gap_and_normal(p) for surface in self.surfaces]
        gap, normal = (np.concatenate(parts) for parts in zip(*found, strict=True))
        velocity, J = np.tile(v, (len(self.surfaces), 1)), np.tile(J, (len(self.surfaces), 1, 1))
        if self.stop is not None:
            gap, normal = np.append(gap, self.stop - q[0]), np.append(normal, [[-1.0, 0.0, 0.0]], axis=0)
            velocity, J = np.append(velocity, v[:1], axis=0), np.append(J, J[:1], axis=0)
        c = len(self)
        return ContactState(np.arange(c), gap, normal, velocity, J, np.zeros((c, 3)), np.zeros(c))

    def gaps(self, q, qd):
        states = [self.state(*each) for each in zip(q, qd, strict=True)]
        return np.stack([state.gap for state in states]), np.stack([state.gap_rate for state in states])


def particles_on(*surfaces, count=1, tau=None, gap=1e-7, stop=None, friction=None, restitution=None):
    """The environment of particles of 2 kg under 10 m/s², named a, b, ..., at some surfaces."""
    n = 3 * count
    model = PointMasses(np.full(n, MASS), np.tile([0.0, 0.0, -G], count), friction=friction)
    plant = Plant(model, actuation_of(n, tau, None, np.zeros(n), np.zeros(n)), None, True)
    e = tuple(surface.restitution or 0.0 for surface in surfaces) if restitution is None else restitution
    return ContactEnvironment(plant, ParticlePairs(tuple("abcdefghijkl"[:count]), surfaces, e, stop), gap)


def contacts_of(velocity, J=None, bias=None, curvature=None):
    """Contacts on the floor with these velocities of their points."""
    velocity = np.array(velocity, dtype=float)
    m = len(velocity)
    J = np.broadcast_to(np.eye(3), (m, 3, 3)).copy() if J is None else J
    normal = np.tile([0.0, 0.0, 1.0], (m, 1))
    zero = np.zeros((m, 3)) if bias is None else bias
    return ContactState(
        np.arange(m), np.zeros(m), normal, velocity, J, zero, np.zeros(m) if curvature is None else curvature
    )


def positive(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


def state_of(environment, heights, rates, slips=None):
    """The contacts of particles with these heights, vertical velocities and velocities along x."""
    n = len(heights)
    q, qd = np.zeros((n, 3)), np.zeros((n, 3))
    q[:, 2], qd[:, 2] = heights, rates
    qd[:, 0] = 0.0 if slips is None else slips
    return q.ravel(), qd.ravel(), environment.pairs.state(q.ravel(), qd.ravel())


def phase_of(environment, index, sticking=False, mu=0.0):
    m = len(index)
    mode = ContactMode(
        np.array(index, dtype=int),
        np.full(m, sticking),
        np.zeros(m, dtype=bool),
        np.tile([1.0, 0.0, 0.0], (m, 1)),
        np.full(m, mu),
    )
    return ContactPhase(environment.plant, frictionless(environment.plant.model.nv), environment.pairs, mode)

"""Synthetic recordings of robots with friction, noise, vibrations and known defects, seeded; for studies and tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from appell.identification.excitation import fourier_series
from appell.identification.recording import Recording
from appell.robot.robot import Robot


@dataclass(frozen=True)
class Plant:
    """A robot as it is: described dynamics times factors, friction, and what its sensors add.

    Attributes:
        robot: its true masses.
        viscous, coulomb, offset, rotor: of each joint, (nv,).
        width: velocity over which Coulomb friction changes sign. [rad/s]
        stribeck: friction near rest beyond Coulomb's, relative to it.
        encoder: noise of the coordinates. [rad, m]
        force: noise of the forces, relative to each joint's root mean square.
        colour: correlation of successive noise samples of the forces, 0 for white noise.
        lines: amplitudes of vibrations at 58-87 Hz in the coordinates [rad, m].
    """

    robot: Robot
    viscous: np.ndarray
    coulomb: np.ndarray
    offset: np.ndarray
    rotor: np.ndarray
    width: float = 0.003
    stribeck: float = 0.2
    encoder: float = 1e-5
    force: float = 0.03
    colour: float = 0.0
    lines: float = 0.0

    @classmethod
    def of(cls, robot: Robot, seed: int, **options: float) -> Plant:
        """Friction in proportion to the joint's typical gravity and inertia forces; masses within 15 % of the description."""
        rng = np.random.default_rng([seed, 11])
        changed = [replace(body, mass=body.mass * f, inertia=tuple(f * x for x in body.inertia))
                   for body, f in zip(robot.bodies, rng.uniform(0.85, 1.15, len(robot.bodies)), strict=True)]  # fmt: skip
        true = replace(robot, bodies=tuple(changed))
        q = true.random_configurations(100, rng)
        qd, qdd = rng.normal(size=(2, 100, robot.nv))
        size = np.sqrt(np.mean(true.inverse_dynamics(q, qd, qdd) ** 2, axis=0)) + 1.0
        draw = [share * size * rng.uniform(0.5, 1.5, robot.nv) for share in (0.15, 0.15, 0.02)]
        return cls(true, draw[0], draw[1], draw[2] * rng.choice([-1, 1], robot.nv), 0.02 * size, **options)  # type: ignore[arg-type]

    def forces(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Actuator forces along a motion."""
        sign = np.tanh(qd / self.width)
        friction = self.coulomb * sign * (1.0 + self.stribeck * np.exp(-((qd / 0.1) ** 2)))
        return self.robot.inverse_dynamics(q, qd, qdd) + self.rotor * qdd + self.viscous * qd + friction + self.offset


def random_motion(robot: Robot, seed: int, period: float = 20.0, harmonics: int = 5, speed: float = 1.0) -> Callable:
    """A random Fourier series within the joints' limits, with this root mean square of the velocities: t -> q, qd, qdd."""
    rng = np.random.default_rng([seed, 12])
    n = robot.nv
    a, b = rng.normal(size=(2, n, harmonics))
    times = np.linspace(0.0, period, 400)
    q, qd, _ = fourier_series(np.zeros(n), a, b, period, times)
    limits = np.array([[joint.limits.lower, joint.limits.upper] for joint in robot.moving_joints])
    limits = np.where(np.isfinite(limits), limits, [-np.pi, np.pi])
    room = limits[:, 1] - limits[:, 0]
    factor = np.minimum(speed / np.sqrt(np.mean(qd**2, axis=0)), 0.85 * np.minimum(room, 4.0) / np.ptp(q, axis=0))
    low, high = factor * q.min(axis=0), factor * q.max(axis=0)
    first, last = limits[:, 0] + 0.05 * room - low, limits[:, 1] - 0.05 * room - high
    center = first + rng.uniform(0.3, 0.7, n) * (last - first)
    return lambda t: fourier_series(center, factor[:, None] * a, factor[:, None] * b, period, t)


def record(
    plant: Plant, motion: Callable, duration: float, period: float, seed: int, uneven: bool = False, lag: float = 0.0
) -> Recording:
    """What the sensors of a plant log: times that alternate by ±9 % if `uneven`, forces that are late by `lag` [s]."""
    rng = np.random.default_rng([seed, 13])
    count = int(duration / period)
    steps = period * (1.0 + (0.0909 * (-1.0) ** np.arange(count) if uneven else 0.0))
    t = np.cumsum(np.broadcast_to(steps, count))
    q, _, _ = motion(t)
    tau = plant.forces(*motion(t - lag))
    noise = rng.normal(size=tau.shape)
    if plant.colour:
        from scipy.signal import lfilter

        noise = lfilter([np.sqrt(1.0 - plant.colour**2)], [1.0, -plant.colour], noise, axis=0)
    tau = tau + plant.force * np.sqrt(np.mean(tau**2, axis=0)) * noise
    for frequency in (58.0, 66.0, 87.0):
        phase = rng.uniform(0.0, 2.0 * np.pi, plant.robot.nv)
        wave = np.sin(2.0 * np.pi * frequency * t[:, None] + phase)
        q = q + plant.lines * wave
        tau = tau + plant.force * np.sqrt(np.mean(tau**2, axis=0)) * wave * bool(plant.lines)
    return Recording(t, q + plant.encoder * rng.normal(size=q.shape), tau, name=f"recording of seed {seed}")

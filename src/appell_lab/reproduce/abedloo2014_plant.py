"""The robot simulator of Abedloo 2014, figure 4: the agile wrist as a tree with loop closures and Lagrange multipliers.

Nothing of the closed form is used. The first leg carries the platform, θ1 ψ1 ξ1; the others, θ2 ψ2 and θ3 ψ3, end at an axis t
that must stay on its axis v of the platform. With e1, e2 across t, the closures are e1 · v = e2 · v = 0, and

    M q̈ + b = S^T τ + J^T λ,      J q̈ = -J̇ q̇,      J = (v x e)^T (J_platform - J_leg)

with M and b of the tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from appell.closed_loop.spherical import Leg, SphericalRobot
from appell.closed_loop.spherical.leg import BASE, leg_joints, on_platform
from appell.model.body import Body
from appell.robot.compiled import CompiledRobot, compile
from appell.robot.robot import Robot


@dataclass(frozen=True)
class State:
    """The platform and the actuated joints, over time: angles, rates and accelerations.

    Attributes:
        q, qd, qdd: Euler angles, (N, 3).
        theta, thetad, thetadd: actuated joints, (N, 3).
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    theta: np.ndarray
    thetad: np.ndarray
    thetadd: np.ndarray


@dataclass(frozen=True)
class MultiplierModel:
    """Three legs of three joints, each actuated at the base, as a tree with multipliers."""

    wrist: SphericalRobot

    @cached_property
    def tree(self) -> Robot:
        """Joints θ1 ψ1 ξ1, θ2 ψ2, θ3 ψ3."""
        wrist = self.wrist
        first, *others = wrist.legs
        *own, last = leg_joints(first, wrist.platform.name)
        joints = [*own, *on_platform(last, first)]
        joints += [joint for leg in others for joint in leg_joints(leg, wrist.platform.name)[:-1]]
        bodies = [Body(BASE), *first.bodies, Body(f"{first.name}_tip"), wrist.platform]
        bodies += [body for leg in others for body in leg.bodies]
        return Robot(f"{wrist.name}_tree", tuple(bodies), tuple(joints), wrist.gravity_vector)

    @cached_property
    def dynamics(self) -> CompiledRobot:
        return compile(self.tree, threads=1)

    @cached_property
    def actuated(self) -> list[int]:
        """Where the actuated joints are among those of the tree."""
        return [self.tree.joint_names.index(name) for name in self.wrist.actuator_names]

    def swings(self, q: np.ndarray, qd: np.ndarray) -> list[Swing]:
        """All legs: the first one up to the platform, the others up to where they are cut."""
        swings, start = [], 0
        for k, leg in enumerate(self.wrist.legs):
            own = slice(start, start + leg.joints - (k > 0))
            swings.append(swing(leg, own, q, qd))
            start = own.stop
        return swings

    def closed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of the closures (4,) and their Jacobian (4, 7)."""
        residual, J, _ = self._closures(q, np.zeros(len(q)))
        return residual, J

    def _closures(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals (4,), J (4, 7) and J̇ q̇ (4,)."""
        platform, *others = self.swings(q, qd)
        wp = platform.J @ qd
        residual, rows, drift = [], [], []
        for leg, other in zip(self.wrist.legs[1:], others, strict=True):
            E, wl = other.R[:, :2], other.J @ qd
            v = platform.R @ np.array(leg.tip.direction)
            V = _skew(v)
            normal = (V @ E).T
            residual.append(v @ E)
            rows.append(normal @ (platform.J - other.J))
            turning = (_skew(_skew(wp) @ v) @ E + V @ (_skew(wl) @ E)).T
            drift.append(turning @ (wp - wl) + normal @ (platform.drift - other.drift))
        return np.concatenate(residual), np.concatenate(rows), np.concatenate(drift)

    def acceleration(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """q̈ of the tree under torques of the actuators: the equations of motion and the closures as one system."""
        _, J, drift = self._closures(q, qd)
        n, m = len(q), len(J)
        system = np.zeros((n + m, n + m))
        system[:n, :n], system[:n, n:], system[n:, :n] = self.dynamics.mass_matrix(q, check=False), -J.T, J
        forces = -self.dynamics.bias(q, qd, check=False)
        forces[self.actuated] += tau
        return np.linalg.solve(system, np.concatenate([forces, -drift]))[:n]

    def torques(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Torques of the actuators that give accelerations of the tree which obey the closures."""
        _, J = self.closed(q)
        S = np.zeros((len(self.actuated), len(q)))
        S[range(len(S)), self.actuated] = 1.0
        forces = self.dynamics.inverse_dynamics(q, qd, qdd)
        return np.linalg.solve(np.vstack([S, J]).T, forces)[: len(S)]

    def start(self, q: np.ndarray, qd: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles and rates of the tree at which the platform has the attitude and rates of these Euler angles.

        Newton's method on the closures and the platform's attitude, from a guess of the angles.
        """
        R, E, _ = euler_kinematics(q, qd)
        angles, step = guess.copy(), np.full(len(guess), np.inf)
        while np.abs(step).max() > 1e-12:
            residual, A = self._placing(angles)
            P = self.swings(angles, np.zeros(len(angles)))[0].R
            turn = 0.5 * np.cross(P.T, R.T).sum(axis=0)
            step = np.linalg.solve(A, np.concatenate([-residual, turn]))
            angles += step
        _, A = self._placing(angles)
        return angles, np.linalg.solve(A, np.concatenate([np.zeros(len(A) - 3), E @ qd]))

    def _placing(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of the closures, and the matrix of the rates of closures and platform, (7, 7)."""
        residual, J = self.closed(q)
        return residual, np.vstack([J, self.swings(q, np.zeros(len(q)))[0].J])

    def read(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> State:
        """What sensors of the simulator show: Euler angles of the platform and actuated joints, (N, ...)."""
        angles, rates, accelerations = np.empty((3, len(q), 3))
        for k, (x, xd, xdd) in enumerate(zip(q, qd, qdd, strict=True)):
            platform = self.swings(x, xd)[0]
            R = platform.R
            angles[k] = np.arctan2(R[1, 0], R[0, 0]), -np.arcsin(R[2, 0]), np.arctan2(R[2, 1], R[2, 2])
            _, E, _ = euler_kinematics(angles[k], np.zeros(3))
            rates[k] = np.linalg.solve(E, platform.J @ xd)
            _, _, Ed = euler_kinematics(angles[k], rates[k])
            accelerations[k] = np.linalg.solve(E, platform.J @ xdd + platform.drift - Ed @ rates[k])
        own = self.actuated
        return State(angles, rates, accelerations, q[:, own], qd[:, own], qdd[:, own])


class Swing(NamedTuple):
    """The end of a leg: attitude R, angular Jacobian J (3, 7) over the joints of the tree, and J̇ q̇."""

    R: np.ndarray
    J: np.ndarray
    drift: np.ndarray


def swing(leg: Leg, own: slice, q: np.ndarray, qd: np.ndarray) -> Swing:
    """A leg joint by joint; `own` are its joints. With its last joint it ends in the platform's frame, else in its last axis."""
    R = _about_z(leg.base.azimuth) @ _about_x(leg.base.tilt)
    J, omega, drift = np.zeros((3, len(q))), np.zeros(3), np.zeros(3)
    for k, joint in enumerate(range(own.start, own.stop)):
        axis = R[:, 2]
        drift = drift + _skew(omega) @ axis * qd[joint]
        omega = omega + axis * qd[joint]
        J[:, joint] = axis
        R = R @ _about_z(q[joint])
        R = R @ (_about_x(leg.arcs[k]) if k < len(leg.arcs) else (_about_z(leg.tip.azimuth) @ _about_x(leg.tip.tilt)).T)
    return Swing(R, J, drift)


def _about_x(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _about_z(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _skew(v: np.ndarray) -> np.ndarray:
    x, y, z = v.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def euler_kinematics(q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """R of eq. (25), E of eq. (26) and its rate, as printed, (3, 3) each."""
    (c1, c2, c3), (s1, s2, s3) = np.cos(q), np.sin(q)
    R = (
        np.array([[c1, -s1, 0], [s1, c1, 0], [0, 0, 1]])
        @ np.array([[c2, 0, s2], [0, 1, 0], [-s2, 0, c2]])
        @ np.array([[1, 0, 0], [0, c3, -s3], [0, s3, c3]])
    )
    E = np.array([[0, -s1, c1 * c2], [0, c1, s1 * c2], [1, 0, -s2]])
    Ed = np.array([
        [0, -c1 * qd[0], -s1 * c2 * qd[0] - c1 * s2 * qd[1]],
        [0, -s1 * qd[0], c1 * c2 * qd[0] - s1 * s2 * qd[1]],
        [0, 0, -c2 * qd[1]],
    ])  # fmt: skip
    return R, E, Ed

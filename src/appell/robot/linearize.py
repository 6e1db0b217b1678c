"""Linear models of the motion about a state: of its rate, or of one step of an integrator of `appell.rollout`.

Integrators add increments to coordinates and then give quaternions unit length; the derivative of a step is taken in coordinates,
by the chain rule over its stages, and mapped to tangent spaces at its ends: δq' = N⁺(q') ∂q'/∂q N(q) δq.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.algorithms.coordinate_rates import QuasiVelocityJoint, coordinate_rates, normalize_quaternions, quaternions
from appell.algorithms.runge_kutta import TABLEAUX, Tableau
from appell.arrays import as_batch
from appell.checks import require_choice, require_positive
from appell.errors import ArgumentError

Joints = Sequence[QuasiVelocityJoint]


class Linearization(NamedTuple):
    """Linear model of a motion: state matrix A, (..., 2 nv, 2 nv), and input matrix B, (..., 2 nv, actuators)."""

    A: np.ndarray
    B: np.ndarray


def linearize(
    robot: Any,
    state: tuple[Any, Any, Any],
    dt: float | None,
    integrator: str,
    passive_forces: bool,
    options: Mapping[str, Any],
    check: bool,
) -> Linearization:
    """`Dynamics.linearize`."""
    require_choice("integrator", integrator, TABLEAUX)
    described: Any = getattr(robot, "robot", robot)
    system: Any = getattr(described, "system", described)
    if passive_forces and system.friction is None:
        raise ArgumentError(
            f"passive_forces are of trees; {described.name!r} has closed loops. Leave `passive_forces` out."
        )
    columns = robot.functions.options.layout == "columns"
    sizes = [(name, system.sizes[name]) for name in ("q", "qd", "tau")]
    state = tuple(robot.vector(name, value) for (name, _), value in zip(sizes, state, strict=True))
    arrays, lead = as_batch(sizes, state, check=check, columns=columns)
    q, qd, tau = (np.ascontiguousarray(array) for array in arrays)
    free = () if system.kind else system.free  # independent velocities of loops are taken as rates of coordinates
    model = _Model(robot, free, system.friction if passive_forces else None, columns, options, check)
    if dt is None:
        A, B = model.rate_matrices(q, qd, tau)
    elif system.kind:
        raise ArgumentError(
            f"steps are linearized for trees, as appell.rollout makes them; {described.name!r} has closed loops. Leave `dt` out."
        )
    else:
        A, B = model.step_matrices(q, qd, tau, require_positive("dt", dt), TABLEAUX[integrator])
    A, B = (X.reshape(*lead, *X.shape[1:]) for X in (A, B))
    if columns:
        A, B = (np.moveaxis(X, (-2, -1), (0, 1)) for X in (A, B))
    return Linearization(A, B)


class _Model:
    """A robot over rows (N, n)."""

    def __init__(self, robot: Any, free: Joints, friction: Any, columns: bool, options: Any, check: bool) -> None:
        self.robot, self.free, self.friction, self.columns = robot, free, friction, columns
        self.options, self.check = options, check

    def rate_matrices(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B of the rate; a tangent vector in the frame of a moving body has the rate δqd - qd x δq."""
        if self.friction is not None:
            tau = tau + self.friction.forces(q, qd)
        dq, dqd, dtau = self.derivatives("forward_dynamics_derivatives", q, qd, tau, qd.shape[1])
        n = qd.shape[1]
        if self.friction is not None:
            dqd = dqd - dtau * np.array(self.friction.damping)
            for spring in self.friction.springs:
                dq[..., spring.idx_v] -= spring.multiplier**2 * spring.stiffness * dtau[..., spring.idx_v]
        A, B = np.zeros((len(q), 2 * n, 2 * n)), np.zeros((len(q), 2 * n, dtau.shape[2]))
        A[:, :n, n:] = np.eye(n)
        if self.free:
            A[:, :n, :n] = self.commutator(q, qd)
        A[:, n:, :n], A[:, n:, n:], B[:, n:] = dq, dqd, dtau
        return A, B

    def commutator(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The matrix of δq -> -qd x δq, from the rates q̇ = N(q) qd of coordinates."""
        N = tangents(self.free, q, qd.shape[1])
        velocity = (N @ qd[..., None])[..., 0]
        own = rate_jacobian(self.free, q, qd) @ N
        others = [
            rate_jacobian(self.free, q, np.broadcast_to(e, qd.shape)) @ velocity[..., None] for e in np.eye(qd.shape[1])
        ]
        return np.linalg.pinv(N) @ (own - np.concatenate(others, axis=-1))

    def step_matrices(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, dt: float, tableau: Tableau
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and B of one step."""
        nq, nv = q.shape[1], qd.shape[1]
        start = np.zeros((len(q), nq + nv, 2 * nv + tau.shape[1]))  # derivatives of (q, qd) by (δq, δqd, δtau)
        start[:, :nq, :nv], start[:, nq:, nv : 2 * nv] = tangents(self.free, q, nv), np.eye(nv)
        x0, x, X = np.concatenate([q, qd], axis=1), np.concatenate([q, qd], axis=1), start
        end, slope = x0, start
        for weight, ahead in zip(tableau.weights, (*tableau.ahead, 0.0), strict=True):
            y, Y = self.rate(x, X, tau, nq)
            end, slope = end + dt * weight * y, slope + dt * weight * Y
            x, X = x0 + dt * ahead * y, start + dt * ahead * Y
        if tableau.new_speeds:
            y, Y = self.coordinate_rate(q, end[:, nq:], start[:, :nq], slope[:, nq:])
            end[:, :nq], slope[:, :nq] = q + dt * y, start[:, :nq] + dt * Y
        last, length = end[:, :nq], np.ones_like(q)
        for _, first in quaternions(self.free):
            part = slice(first, first + 4)
            length[:, part] = np.linalg.norm(last[:, part], axis=1, keepdims=True)
        unit = np.stack(normalize_quaternions(self.free, list(last.T)), axis=-1)
        tangent = np.linalg.pinv(tangents(self.free, unit, nv)) if self.free else np.eye(nv)
        result = np.concatenate([tangent @ (slope[:, :nq] / length[..., None]), slope[:, nq:]], axis=1)
        return result[..., : 2 * nv], result[..., 2 * nv :]

    def rate(self, x: np.ndarray, X: np.ndarray, tau: np.ndarray, nq: int) -> tuple[np.ndarray, np.ndarray]:
        """Rate of x = (q, qd), and its derivatives from those of x."""
        q, qd, Q, V = x[:, :nq], x[:, nq:], X[:, :nq], X[:, nq:]
        drive = np.zeros_like(X[:, : tau.shape[1]])
        drive[..., -tau.shape[1] :] = np.eye(tau.shape[1])
        if self.friction is not None:
            tau = tau + self.friction.forces(q, qd)
            drive = drive - np.array(self.friction.damping)[:, None] * V
            for spring in self.friction.springs:
                drive[:, spring.idx_v] -= spring.multiplier**2 * spring.stiffness * Q[:, spring.idx_q]
        qdd = self.call("forward_dynamics", q, qd, tau)
        name = "forward_dynamics_coordinate_derivatives" if self.free else "forward_dynamics_derivatives"
        dq, dqd, dtau = self.derivatives(name, q, qd, tau, nq)
        y, Y = self.coordinate_rate(q, qd, Q, V)
        return np.concatenate([y, qdd], axis=1), np.concatenate([Y, dq @ Q + dqd @ V + dtau @ drive], axis=1)

    def coordinate_rate(
        self, q: np.ndarray, qd: np.ndarray, Q: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """q̇ = N(q) qd, and its derivatives from those of q and qd."""
        if not self.free:
            return qd, V
        N = tangents(self.free, q, qd.shape[1])
        return (N @ qd[..., None])[..., 0], rate_jacobian(self.free, q, qd) @ Q + N @ V

    def derivatives(self, name: str, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, entries: int) -> list[np.ndarray]:
        """The blocks by q, qd and tau of a function."""
        return np.split(self.call(name, q, qd, tau), (entries, entries + qd.shape[1]), axis=2)

    def call(self, name: str, *inputs: np.ndarray) -> np.ndarray:
        """A function over rows; quaternions between stages are not of unit length."""
        given = tuple(np.ascontiguousarray(x.T) for x in inputs) if self.columns else inputs
        result = np.asarray(self.robot.functions[name, None](given, *self.options.values(), None, False))
        if self.check and not np.isfinite(result).all():
            raise ArgumentError(f"{name} is not finite at this state: the mass matrix or a loop is singular there.")
        return np.moveaxis(result, -1, 0) if self.columns else result


def tangents(free: Joints, q: np.ndarray, nv: int) -> np.ndarray:
    """N(q), (N, nq, nv)."""
    lanes = list(q.T)
    columns = [coordinate_rates(free, lanes, [np.full(len(q), x) for x in e]) for e in np.eye(nv)]
    return np.stack([np.stack(column, axis=-1) for column in columns], axis=-1)


def rate_jacobian(free: Joints, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """∂(N(q) qd)/∂q by complex steps, which are exact, (N, nq, nq)."""
    step, lanes = 1e-100, list(qd.T)
    columns = []
    for e in np.eye(q.shape[1]):
        rates = coordinate_rates(free, list((q + 1j * step * e).T), lanes)
        columns.append(np.stack([np.imag(rate) / step for rate in rates], axis=-1))
    return np.stack(columns, axis=-1)

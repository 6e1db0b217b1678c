"""Linear models of the motion about a state: of its rate, or of one step of an integrator of `appell.rollout`.

Integrators add increments to coordinates and then give quaternions unit length; the derivative of a step is taken in coordinates,
by the chain rule over its stages, and mapped to tangent spaces at its ends: δq' = N⁺(q') ∂q'/∂q N(q) δq.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.algorithms.coordinate_rates import QuasiVelocityJoint, coordinate_rates, quaternions, tangent_map
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.runge_kutta import TABLEAUX, Tableau
from appell.arrays import as_batch, require_angles_within, require_finite_result, require_unit_quaternions
from appell.checks import require_bool, require_choice, require_positive
from appell.compiler.evaluate import Evaluator
from appell.compiler.sincos import LARGEST_ANGLE
from appell.errors import ArgumentError
from appell.model.joints import KINDS
from appell.model.right_jacobian import adjoint
from appell.robot.call_options import CallOptions, require_tree

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
    options: CallOptions,
    check: bool,
) -> Linearization:
    """`Dynamics.linearize`."""
    require_choice("integrator", integrator, TABLEAUX)
    require_bool("passive_forces", passive_forces)
    require_bool("check", check)
    described: Any = getattr(robot, "robot", robot)
    system: Any = getattr(described, "system", described)
    if passive_forces:
        require_tree("linearize with `passive_forces`", robot)
    if dt is not None:
        require_tree("linearize with `dt`", robot)
    evaluator: Evaluator = robot.functions
    columns, dtype = evaluator.options.layout == "columns", evaluator.options.dtype
    named = {name: robot.vector(name, value) for name, value in zip(("q", "qd", "tau"), state, strict=True)}
    sizes = [*((name, system.sizes[name]) for name in named), *options.sizes(system.sizes["p"])]
    arrays, lead = as_batch(sizes, [*named.values(), *options.values], check=check, columns=columns)
    if check:
        require_unit_quaternions("q", arrays[0], lead, evaluator.quaternions)
    q, qd, tau, *others = (np.ascontiguousarray(array) for array in arrays)
    model = _Model(robot, system, passive_forces, columns, options.replaced(others), lead if check else None)
    if dt is None:
        A, B = model.rate_matrices(q, qd, tau)
    else:
        A, B = model.step_matrices(q, qd, tau, require_positive("dt", dt), TABLEAUX[integrator])
    A, B = (X.reshape(*lead, *X.shape[1:]).astype(dtype, copy=False) for X in (A, B))
    if columns:
        A, B = (np.moveaxis(X, (-2, -1), (0, 1)) for X in (A, B))
    return Linearization(A, B)


class _Model:
    """A robot over rows (N, n)."""

    def __init__(
        self,
        robot: Any,
        system: Any,
        passive_forces: bool,
        columns: bool,
        options: CallOptions,
        checked: tuple[int, ...] | None,
    ) -> None:
        """`checked`: the batch shape of the states, None where results are not checked to be finite."""
        self.robot, self.system, self.free, self.columns = robot, system, system.free, columns
        self.friction = system.friction if passive_forces else None
        self.options, self.checked = options, checked

    def rate_matrices(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B of the rate; a tangent vector in the frame of a moving body has the rate δqd - qd x δq."""
        if self.friction is not None:
            tau = tau + self.friction.forces(q, qd)
        dq, dqd, dtau = self.derivatives(q, qd, tau)
        n = qd.shape[1]
        if self.friction is not None:
            dqd = dqd - dtau * np.array(self.friction.damping)
            for spring in self.friction.springs:
                dq[..., spring.idx_v] -= spring.multiplier**2 * spring.stiffness * dtau[..., spring.idx_v]
        A, B = np.zeros((len(q), 2 * n, 2 * n)), np.zeros((len(q), 2 * n, dtau.shape[2]))
        A[:, :n, n:] = np.eye(n)
        if self.free and qd.any():
            A[:, :n, :n] = self.loop_commutator(q, qd) if self.system.kind else self.commutator(qd)
        A[:, n:, :n], A[:, n:, n:], B[:, n:] = dq, dqd, dtau
        return A, B

    def loop_commutator(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The rows of the independent velocities of δq -> -qd x δq, with the velocities and changes of all joints.

        With joint velocities G qd the commutator of the columns of G has derivatives of G, too, but not in these rows, where G
        is constant.
        """
        independent = getattr(self.system, "independent", None)
        if independent is None:
            raise ArgumentError(
                "a moving closed loop with quasi-velocities that was loaded from a file cannot be linearized. Use the robot "
                "it was made of, or qd = 0."
            )
        G = self.call("joint_velocity_jacobian", q)
        return self.commutator((G @ qd[..., None])[..., 0])[:, list(independent)] @ G

    def commutator(self, qd: np.ndarray) -> np.ndarray:
        """The matrix of δq -> -qd x δq; zero for joints whose velocities are rates of coordinates."""
        result = np.zeros((*qd.shape, qd.shape[1]))
        for _, kind, _, first in self.free:
            own = slice(first, first + KINDS[kind].nv)
            result[:, own, own] = -adjoint(kind, qd[:, own])
        return result

    def step_matrices(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, dt: float, tableau: Tableau
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and B of one step."""
        nq, nv = q.shape[1], qd.shape[1]
        start = np.zeros((len(q), nq + nv, 2 * nv + tau.shape[1]))  # derivatives of (q, qd) by (δq, δqd, δtau)
        start[:, :nq, :nv], start[:, nq:, nv : 2 * nv] = tangent_map(self.free, q, nv), np.eye(nv)
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
        tangent = np.linalg.pinv(tangent_map(self.free, last / length, nv)) if self.free else np.eye(nv)
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
        y, Y = self.coordinate_rate(q, qd, Q, V)
        qdd, change = self.call("forward_dynamics", q, qd, tau), self.acceleration_change(q, qd, tau, Q, V, drive)
        return np.concatenate([y, qdd], axis=1), np.concatenate([Y, change], axis=1)

    def acceleration_change(self, *inputs: np.ndarray) -> np.ndarray:
        """Changes of forward dynamics at q, qd and tau along their changes (N, n, directions), by q in coordinates.

        Quaternions between stages are not of unit length. There the methods of forward dynamics differ, so that the one of
        rollouts is differentiated.
        """
        given, directions = inputs[:3], inputs[3:]
        if not self.free:
            pairs = zip(self.derivatives(*given), directions, strict=True)
            return np.sum([J @ change for J, change in pairs], axis=0)
        evaluator, options, count = self.robot.functions, self.options, directions[0].shape[2]
        runtime = evaluator.options.parameters == "runtime"
        own = [evaluator.parameters[None]] if runtime and options.parameters is None else []
        spec = FunctionSpec(
            "forward_dynamics", gravity_input=options.gravity is not None, force_frames=tuple(options.external_forces),
            parameter_input=options.parameters is not None or runtime,
        )  # fmt: skip
        values = [np.repeat(x, count, axis=0) for x in (*given, *options.joined)] + own
        values += [x.swapaxes(1, 2).reshape(-1, x.shape[1]) for x in directions]
        values += [np.zeros((1, x.shape[1])) for x in (*options.joined, *own)]
        arrays = tuple(map(self.laid_out, values))
        change = np.asarray(evaluator.along_coordinates(spec)["jvp", None](arrays, check=False))
        change = change.T if self.columns else change
        return change.reshape(len(given[0]), count, -1).swapaxes(1, 2)

    def coordinate_rate(
        self, q: np.ndarray, qd: np.ndarray, Q: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """q̇ = N(q) qd, and its derivatives from those of q and qd."""
        if not self.free:
            return qd, V
        N = tangent_map(self.free, q, qd.shape[1])
        return (N @ qd[..., None])[..., 0], rate_jacobian(self.free, q, qd) @ Q + N @ V

    def derivatives(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> list[np.ndarray]:
        """The blocks of the derivatives of forward dynamics by q, qd and tau."""
        n = qd.shape[1]
        return np.split(self.call("forward_dynamics_derivatives", q, qd, tau), (n, 2 * n), axis=2)

    def call(self, name: str, *inputs: np.ndarray) -> np.ndarray:
        """A function over rows; quaternions between stages are not of unit length."""
        options = self.options if len(inputs) == 3 else CallOptions(None, {}, None)
        given = tuple(map(self.laid_out, inputs))
        options = options.replaced([self.laid_out(x) for x in options.values])
        function = self.robot.functions[name, None]
        result = np.asarray(function(given, options.gravity, options.external_forces, options.parameters, None, False))
        if self.checked is not None and not np.isfinite(result).all():
            evaluator: Evaluator = self.robot.functions
            require_angles_within(inputs[0].reshape(*self.checked, -1), LARGEST_ANGLE[evaluator.options.dtype])
            evaluator.provider.raise_nonfinite_cause(name, dict(zip(("q", "qd", "tau"), inputs, strict=False)))
            require_finite_result(name, result)
        return np.moveaxis(result, -1, 0) if self.columns else result

    def laid_out(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the layout of the robot."""
        return np.ascontiguousarray(rows.T) if self.columns else rows


def rate_jacobian(free: Joints, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """∂(N(q) qd)/∂q by complex steps, which are exact, (N, nq, nq)."""
    step, lanes = 1e-100, list(qd.T)
    columns = []
    for e in np.eye(q.shape[1]):
        rates = coordinate_rates(free, list((q + 1j * step * e).T), lanes)
        columns.append(np.stack([np.imag(rate) / step for rate in rates], axis=-1))
    return np.stack(columns, axis=-1)

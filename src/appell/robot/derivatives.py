"""Derivatives of the dynamics, for trees, closed loops and compiled robots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from appell.arrays import wrenches_by_frame
from appell.compiler.evaluate import Evaluator
from appell.compiler.fast_path import split_fast_path
from appell.robot.call_options import CallOptions
from appell.robot.linearize import Linearization, linearize


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of tau by q (in its tangent space), qd and qdd, (..., actuators, nv) each."""

    dq: np.ndarray
    dqd: np.ndarray
    dqdd: np.ndarray


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of qdd by q (in its tangent space) and qd, (..., nv, nv), and by tau, (..., nv, actuators)."""

    dq: np.ndarray
    dqd: np.ndarray
    dtau: np.ndarray


class InverseDynamicsSecondDerivatives(NamedTuple):
    """Second derivatives of tau by pairs of q (in its tangent space), qd and qdd, (..., nv, nv, nv) each.

    `qqd[..., i, j, k]` is the derivative of force i by entry j of q and entry k of qd.
    """

    qq: np.ndarray
    qqd: np.ndarray
    qqdd: np.ndarray
    qdqd: np.ndarray


class DynamicsDerivatives:
    """Derivatives of inverse and forward dynamics, and linear models."""

    __slots__ = ()

    functions: Evaluator

    @split_fast_path(InverseDynamicsDerivatives)
    def inverse_dynamics_derivatives(
        self, q, qd, qdd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics` by q, qd and qdd: named tuple (dq, dqd, dqdd), (..., actuators, nv) each.

        Those by q are in the tangent space: column i is the derivative along q ⊕ ε e_i, a motion with the velocity e_i, which for
        floating and spherical joints is a twist in the child's frame. External forces keep their components in their frames.

        Args:
            method: of trees `"analytic"` (default) or `"automatic"` (differentiation of the graph).
            out: array (..., actuators, 3 nv) for the three matrices side by side; those returned are views of it.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> d = robot.inverse_dynamics_derivatives([0.1] * 6, [0.2] * 6, [0.3] * 6)
            >>> d.dq.shape, bool(abs(d.dqdd - robot.mass_matrix([0.1] * 6)).max() < 1e-12)
            ((6, 6), True)
        """
        return self.functions["inverse_dynamics_derivatives", method](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @split_fast_path(InverseDynamicsSecondDerivatives, rank=3)
    def inverse_dynamics_second_derivatives(
        self, q, qd, qdd, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> InverseDynamicsSecondDerivatives:
        """Second derivatives of `inverse_dynamics`: named tuple (qq, qqd, qqdd, qdqd), (..., actuators, nv, nv) each.

        tau(q ⊕ δ, qd + ν, qdd + α) = tau + ... + qq δδ/2 + qqd δν + qqdd δα + qdqd νν/2 to second order, where q ⊕ δ is
        `robot.integrate(q, δ)`: `qq` and `qdqd` are symmetric in their last two indices, `qqdd` is the derivative of the
        mass matrix of trees, and all others are zero. Closed loops move along their independent velocities.

        Args:
            method: of trees `"analytic"` (default) or `"automatic"` (differentiation of the graph).
            out: array (..., actuators, nv, 4 nv) for the four side by side; those returned are views of it.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> d = robot.inverse_dynamics_second_derivatives([0.1] * 6, [0.2] * 6, [0.3] * 6)
            >>> d.qq.shape, bool(abs(d.qqdd - d.qqdd.swapaxes(0, 2)).max() < 1e-12)
            ((6, 6, 6), True)
        """
        return self.functions["inverse_dynamics_second_derivatives", method](
            (q, qd, qdd), gravity, external_forces, parameters, out, check
        )

    @split_fast_path(ForwardDynamicsDerivatives)
    def forward_dynamics_derivatives(
        self, q, qd, tau, *, method=None, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics` by q, qd and tau: named tuple (dq, dqd, dtau), (..., nv, nv or actuators) each.

        As `inverse_dynamics_derivatives`; for trees dtau is the inverse of the mass matrix.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> d = robot.forward_dynamics_derivatives([0.1] * 6, [0.2] * 6, [0.3] * 6)
            >>> bool(abs(d.dtau @ robot.mass_matrix([0.1] * 6)).max() < 1 + 1e-12)
            True
        """
        return self.functions["forward_dynamics_derivatives", method](
            (q, qd, tau), gravity, external_forces, parameters, out, check
        )

    def forward_dynamics_parameter_derivatives(
        self, q, qd, tau, *, gravity=None, external_forces=None, parameters=None, out=None, check=True
    ) -> np.ndarray:
        """Derivatives of `forward_dynamics` by the inertial parameters, -∂qdd/∂tau K(q, qd, qdd). (..., nv, parameters)

        K is the regressor, whose columns are the derivatives of `inverse_dynamics` by the same parameters; ∂qdd/∂tau is M⁻¹ for
        trees. Closed loops need an actuator for every degree of freedom. Robots of files need `forward_dynamics`,
        `forward_dynamics_derivatives` and `regressor`.

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> robot.forward_dynamics_parameter_derivatives([0.1] * 6, [0.2] * 6, [0.3] * 6).shape
            (6, 60)
        """
        robot: Any = self
        given = {"gravity": gravity, "external_forces": external_forces, "parameters": parameters, "check": check}
        qdd = robot.forward_dynamics(q, qd, tau, **given)
        inverse = robot.forward_dynamics_derivatives(q, qd, tau, **given).dtau
        K = robot.regressor(q, qd, qdd, gravity=gravity, out=out, check=check)
        columns = self.functions.options.layout == "columns"
        result = -((K.T @ inverse.T).T if columns else inverse @ K)
        if out is None:
            return result
        out[...] = result
        return out

    def jacobian_derivatives(
        self, q, frame: str, reference_frame: str = "LOCAL_WORLD_ALIGNED", *, out=None, check=True
    ) -> np.ndarray:
        """Derivatives of `jacobian` of trees by q, whose index is the last: the kinematic Hessian. (..., 6, nv, nv)

        Example:
            >>> import appell
            >>> robot = appell.load("puma560")
            >>> H, qd = robot.jacobian_derivatives([0.1] * 6, "link6"), [0.2] * 6
            >>> bool(abs(H @ qd - robot.jacobian_rate([0.1] * 6, qd, "link6")).max() < 1e-14)
            True
        """
        return self.functions["jacobian_derivatives", None, frame, reference_frame]((q,), None, None, None, out, check)

    def linearize(
        self,
        q,
        qd,
        tau,
        dt=None,
        integrator="rk4",
        *,
        passive_forces=False,
        gravity=None,
        external_forces=None,
        parameters=None,
        check=True,
    ) -> Linearization:
        """Linear model of the motion about a state: named tuple (A, B), (..., 2 nv, 2 nv) and (..., 2 nv, actuators).

        The state is x = (δq, δqd) with δq in the tangent space of q, as in `forward_dynamics_derivatives`. Without `dt`,
        ẋ = A x + B δtau; with `dt`, x of the next step is A x + B δtau: the derivative of a step of `appell.rollout` under
        constant tau.

        Args:
            dt: length of a step [s], of trees.
            integrator: of the step, `"rk4"` or `"semi_implicit_euler"`.
            passive_forces: add damping, friction and springs of the joints, of trees. `appell.rollout` adds them unless its
                options say otherwise.
            gravity, external_forces, parameters: batch dimensions broadcast with those of the state.

        Example:
            >>> import appell
            >>> robot = appell.load("planar2r")
            >>> A, B = robot.linearize([0.3, 0.2], [0.0, 0.0], robot.gravity([0.3, 0.2]))
            >>> A.shape, B.shape, A[0].tolist()
            ((4, 4), (4, 2), [0.0, 0.0, 1.0, 0.0])
        """
        options = CallOptions(gravity, wrenches_by_frame(external_forces), parameters)
        return linearize(self, (q, qd, tau), dt, integrator, passive_forces, options, check)

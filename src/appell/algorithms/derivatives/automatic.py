"""Derivatives of inverse and forward dynamics by differentiation of their graphs.

A step along the tangent vector δ is q ⊕ δ = q + N(q) δ to first order: derivatives at δ = 0 are those in the tangent space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from appell.algebra import Scalar, Scalars
from appell.algebra.scalar import jacobian
from appell.algorithms.coordinate_rates import QuasiVelocityJoint, coordinate_rates, quasi_velocity_joints
from appell.algorithms.inverse_dynamics.mata2002 import inverse_dynamics
from appell.algorithms.mass_matrix.gibbs_hessian import mass_matrix
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree

Matrix = list[list[Scalar]]


@algorithm("inverse_dynamics_derivatives", "automatic", lumpable=True)
def inverse_dynamics_derivatives(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> Matrix:
    """[∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd] side by side; the last one is the mass matrix."""
    free = quasi_velocity_joints(tree)

    def forces(q: Scalars, qd: Scalars) -> list[Scalar]:
        return inverse_dynamics(tree, q, qd, qdd)

    by_state = state_jacobian(forces, lambda step: moved(free, q, step), qd)
    return [[*row, *masses] for row, masses in zip(by_state, mass_matrix(tree, q), strict=True)]


def moved(free: Sequence[QuasiVelocityJoint], q: Scalars, step: Scalars) -> list[Scalar]:
    """q + N(q) step."""
    return [a + b for a, b in zip(q, coordinate_rates(free, q, step), strict=True)]


def state_jacobian(
    function: Callable[..., list[Scalar]], move: Callable[[Scalars], list[Scalar]], *inputs: Scalars
) -> Matrix:
    """Jacobian of function(q, *inputs) in a step of q, `move(step)`, of as many entries as the first input, and in the inputs."""
    n = len(inputs[0])

    def of_all(x: Scalars) -> list[Scalar]:
        parts, first = [], n
        for each in inputs:
            parts.append(x[first : first + len(each)])
            first += len(each)
        return function(move(x[:n]), *parts)

    return jacobian(of_all, [*[0.0] * n, *(x for each in inputs for x in each)])


def second_derivatives(
    first: Callable[[Scalars, Scalars], Matrix], move: Callable[[Scalars], list[Scalar]], qd: Scalars
) -> list[Matrix]:
    """For each row, [∂²/∂q∂q, ∂²/∂q∂qd, ∂²/∂q∂qdd, ∂²/∂qd∂qd] side by side; by q the symmetric part.

    Args:
        first: [∂/∂q, ∂/∂qd, ∂/∂qdd] side by side, a function of q and qd.
        move: as in `state_jacobian`.
    """
    n = len(qd)
    J = state_jacobian(lambda q, qd: [x for row in first(q, qd) for x in row], move, qd)

    def entry(row: int, block: int, k: int, by: int) -> Scalar:
        return J[row * 3 * n + block * n + k][by]

    return [
        [
            [
                *((entry(i, 0, k, j) + entry(i, 0, j, k)) * 0.5 for k in range(n)),
                *(entry(i, 1, k, j) for k in range(n)),
                *(entry(i, 2, k, j) for k in range(n)),
                *(entry(i, 1, j, n + k) for k in range(n)),
            ]
            for j in range(n)
        ]
        for i in range(len(J) // (3 * n))
    ]

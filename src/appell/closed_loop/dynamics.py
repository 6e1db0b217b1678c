"""The Gibbs-Appell equations of a robot with closed loops, in independent velocities u, and its kinematics and energies.

With v = G u the velocities of the tree, the gradient of the Gibbs function in u̇ is G^T times its gradient in v̇, which is the
inverse dynamics f(q, v, v̇) of the tree; closure forces do no work and vanish:
    G^T f(q, G u, G u̇ + Ġ u) = J_a^T τ          M_u = G^T M G          C_u = G^T (M Ġ + C G),
where J_a are the rows of G of the actuated joints. Ṁ_u - 2 C_u = G^T (Ṁ - 2C) G + Ġ^T M G - G^T M Ġ is skew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from appell.algebra import Scalar, Vec3
from appell.algorithms import energy, kinematics
from appell.algorithms.coriolis_matrix import coriolis_matrix as tree_coriolis
from appell.algorithms.derivatives.automatic import moved, second_derivatives, state_jacobian
from appell.algorithms.energy import gibbs_function as tree_gibbs
from appell.algorithms.inverse_dynamics.mata2002 import inverse_dynamics as tree_forces
from appell.algorithms.linear import solve
from appell.algorithms.mass_matrix.composite import mass_matrix as tree_mass
from appell.algorithms.regressor import regressor as tree_regressor
from appell.closed_loop import constraints
from appell.closed_loop.constraints import Matrix, VelocityReduction, times
from appell.closed_loop.elimination import Elimination, dot
from appell.errors import ModelError
from appell.model.tree import Frame

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

Scalars = Sequence[Scalar]


def inverse_dynamics(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Actuator forces τ of the motion, of minimum norm if actuators are redundant.  [N m, N]"""
    require_full_actuation(system)
    J = _actuator_columns(system, VelocityReduction.at(system, q).columns())
    return Elimination.of(J).solve_transposed(generalized_forces(system, q, qd, qdd))


def require_full_actuation(system: LoopSystem) -> None:
    """Raise if there are fewer actuators than degrees of freedom."""
    actuated, freedom = system.actuated, len(system.independent)
    if len(actuated) >= freedom:
        return
    names = [
        next(link.name for link in system.tree.links if link.idx_v <= k < link.idx_v + link.kind.nv) for k in actuated
    ]
    raise ModelError(
        f"{len(actuated)} actuators ({', '.join(names) or 'none'}) cannot give any motion of {freedom} degrees of freedom. "
        "Add joints to `actuated`, or use `generalized_forces` or `generalized_regressor`."
    )


def generalized_forces(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """M_u u̇ + bias_u, the generalized forces.  [N m, N]"""
    reduction = VelocityReduction.at(system, q)
    v = reduction.velocities(qd)
    return reduction.project_forces(tree_forces(system.lumped, q, v, reduction.accelerations(v, qdd)))


def regressor(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> Matrix:
    """K_a = J_a^-T G^T K with τ = K_a Φ for the parameters Φ of the tree, by the map of `inverse_dynamics`."""
    require_full_actuation(system)
    reduction = VelocityReduction.at(system, q)
    G = reduction.columns()
    J = Elimination.of(_actuator_columns(system, G))
    shares = [J.solve_transposed([g[k] for g in G]) for k in range(system.tree.nv)]  # columns of J_a^-T G^T
    return _times_columns(zip(*shares, strict=True), _tree_columns(system, reduction, q, qd, qdd))


def generalized_regressor(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> Matrix:
    """K_u = G^T K with M_u u̇ + bias_u = K_u Φ for the parameters Φ of the tree."""
    reduction = VelocityReduction.at(system, q)
    return _times_columns(reduction.columns(), _tree_columns(system, reduction, q, qd, qdd))


def gibbs_function(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> Scalar:
    """S of the tree at v = G u and v̇ = G u̇ + Ġ u: ∂S/∂u̇ = M_u u̇ + bias_u, ∂²S/∂u̇² = M_u.  [J/s²]"""
    reduction = VelocityReduction.at(system, q)
    v = reduction.velocities(qd)
    return tree_gibbs(system.tree, q, v, reduction.accelerations(v, qdd))


def bias(system: LoopSystem, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Generalized forces at u̇ = 0."""
    return generalized_forces(system, q, qd, [0.0] * len(qd))


def gravity(system: LoopSystem, q: Scalars) -> list[Scalar]:
    """Generalized forces that balance gravity at rest."""
    reduction = VelocityReduction.at(system, q)
    zero = [0.0] * system.tree.nv
    return reduction.project_forces(tree_forces(system.lumped, q, zero, zero))


def mass_matrix(system: LoopSystem, q: Scalars) -> Matrix:
    """M_u = G^T M G."""
    return _reduced_mass(system, q, VelocityReduction.at(system, q).columns())


def coriolis_matrix(system: LoopSystem, q: Scalars, qd: Scalars) -> Matrix:
    """C_u = G^T (M Ġ + C G)."""
    reduction = VelocityReduction.at(system, q)
    v, G = reduction.velocities(qd), reduction.columns()
    M, C = tree_mass(system.lumped, q), tree_coriolis(system.lumped, q, v)
    rates = reduction.column_rates(v, G)
    forces = [
        [a + b for a, b in zip(times(M, Gd), (dot(row, g) for row in C), strict=True)]
        for g, Gd in zip(G, rates, strict=True)
    ]
    return [[dot(g, force) for force in forces] for g in G]


def forward_dynamics(system: LoopSystem, q: Scalars, qd: Scalars, tau: Scalars) -> list[Scalar]:
    """u̇ under actuator forces."""
    G = VelocityReduction.at(system, q).columns()
    return accelerations(system, q, qd, [dot(column, tau) for column in _actuator_columns(system, G)])


def accelerations(system: LoopSystem, q: Scalars, qd: Scalars, forces: Scalars) -> list[Scalar]:
    """u̇ under generalized forces."""
    reduction = VelocityReduction.at(system, q)
    G = reduction.columns()
    v = times(G, qd)
    bias = reduction.project_forces(tree_forces(system.lumped, q, v, reduction.accelerations(v, [0.0] * len(qd))))
    right = [a - b for a, b in zip(forces, bias, strict=True)]
    return solve(_reduced_mass(system, q, G), right, range(len(G)))


def inverse_dynamics_derivatives(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> Matrix:
    """[∂τ/∂q, ∂τ/∂u, ∂τ/∂u̇] side by side; q moves along independent velocities, with closed loops."""
    return state_jacobian(partial(inverse_dynamics, system), partial(moved_closed, system, q), qd, qdd)


def inverse_dynamics_second_derivatives(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Matrix]:
    """For each force, [∂²/∂q∂q, ∂²/∂q∂u, ∂²/∂q∂u̇, ∂²/∂u∂u] side by side."""
    return second_derivatives(
        lambda q, qd: inverse_dynamics_derivatives(system, q, qd, qdd), partial(moved_closed, system, q), qd
    )


def forward_dynamics_derivatives(system: LoopSystem, q: Scalars, qd: Scalars, tau: Scalars) -> Matrix:
    """[∂u̇/∂q, ∂u̇/∂u, ∂u̇/∂τ] side by side."""
    return state_jacobian(partial(forward_dynamics, system), partial(moved_closed, system, q), qd, tau)


def moved_closed(system: LoopSystem, q: Scalars, step: Scalars) -> list[Scalar]:
    """q + N(q) G(q) step, which closes the loops to first order."""
    return moved(system.free, q, joint_velocities(system, q, step))


def constraint_forces(system: LoopSystem, q: Scalars, qd: Scalars, tau: Scalars) -> Matrix:
    """Wrench of every closure on its second body under actuator forces: K^T λ = f(q, v, v̇) - S^T τ."""
    reduction = VelocityReduction.at(system, q)
    v = reduction.velocities(qd)
    vd = reduction.accelerations(v, forward_dynamics(system, q, qd, tau))
    unbalanced = tree_forces(system.lumped, q, v, vd)
    for k, force in zip(system.actuated, tau, strict=True):
        unbalanced[k] = unbalanced[k] - force
    return constraints.closure_wrenches(system, q, reduction.multipliers(unbalanced))


def _reduced_mass(system: LoopSystem, q: Scalars, G: Matrix) -> Matrix:
    M = tree_mass(system.lumped, q)
    momenta = [times(M, column) for column in G]  # M is symmetric: its rows are its columns
    result: Matrix = [[0.0] * len(G) for _ in G]
    for i, column in enumerate(G):
        for k in range(i + 1):
            result[i][k] = result[k][i] = dot(column, momenta[k])
    return result


def _actuator_columns(system: LoopSystem, G: Matrix) -> Matrix:
    """J_a by columns: the rows of G that belong to actuated joints."""
    return [[column[k] for k in system.actuated] for column in G]


def _tree_columns(system: LoopSystem, reduction: VelocityReduction, q: Scalars, qd: Scalars, qdd: Scalars) -> Matrix:
    """The tree's regressor K by columns, at v = G u and v̇ = G u̇ + Ġ u."""
    v = reduction.velocities(qd)
    K = tree_regressor(system.tree, q, v, reduction.accelerations(v, qdd))
    return [[row[k] for row in K] for k in range(len(K[0]))]


def _times_columns(rows: Iterable[Scalars], columns: Matrix) -> Matrix:
    """Product of a matrix by rows and a matrix by columns."""
    return [[dot(row, column) for column in columns] for row in rows]


def closure_jacobian(system: LoopSystem, q: Scalars) -> Matrix:
    """K(q): K v is the rate of the closure residual at the velocities v of all joints."""
    return transposed(constraints.jacobian_columns(system, q))


def joint_velocity_jacobian(system: LoopSystem, q: Scalars) -> Matrix:
    """G(q)."""
    return transposed(VelocityReduction.at(system, q).columns())


def joint_velocities(system: LoopSystem, q: Scalars, qd: Scalars) -> list[Scalar]:
    """v = G u."""
    return VelocityReduction.at(system, q).velocities(qd)


def joint_accelerations(system: LoopSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """v̇ = G u̇ + Ġ u."""
    reduction = VelocityReduction.at(system, q)
    return reduction.accelerations(reduction.velocities(qd), qdd)


def actuator_jacobian(system: LoopSystem, q: Scalars) -> Matrix:
    """J_a(q): velocities of the actuated joints are J_a u."""
    G = VelocityReduction.at(system, q).columns()
    return [[column[k] for column in G] for k in system.actuated]


def kinetic_energy(system: LoopSystem, q: Scalars, qd: Scalars) -> Scalar:
    """T of the tree at v = G u."""
    return energy.kinetic_energy(system.lumped, q, joint_velocities(system, q, qd))


def potential_energy(system: LoopSystem, q: Scalars) -> Scalar:
    """U of the tree."""
    return energy.potential_energy(system.tree, q)


def center_of_mass(system: LoopSystem, q: Scalars) -> Vec3:
    """Of the tree."""
    return energy.center_of_mass(system.tree, q)


def pose(system: LoopSystem, q: Scalars, frame: Frame, reference: str) -> Matrix:
    """Of the tree."""
    return kinematics.pose(system.tree, q, frame, reference)


def jacobian(system: LoopSystem, q: Scalars, frame: Frame, reference: str) -> Matrix:
    """J G: the twist of a frame per independent velocity."""
    G = VelocityReduction.at(system, q).columns()
    return [[dot(row, column) for column in G] for row in kinematics.jacobian(system.tree, q, frame, reference)]


def transposed(A: Matrix) -> Matrix:
    return [list(row) for row in zip(*A, strict=True)]

"""Dynamics of a robot some of whose points and frames are held at rest.

    (1)  M q̈ + b = τ + J^T f            equations of motion with contact forces f
    (2)  J q̈ + γ = a,   γ = J̇ q̇         accelerations a of the contacts: zero, or -k_p e - k_d J q̇ (Baumgarte 1972)
    (3)  G f = -c,      G = J M⁻¹ J^T,   c = J M⁻¹ (τ - b) + γ - a
    (4)  (G + μ D) f_{k+1} = μ D f_k - c,   f_0 = 0,   k = 0 .. 4,   μ = 1e-6

(1) and (2) give (3). Redundant contacts make G singular; the proximal iteration (4) then tends to the solution of (3) with the
least f^T D f. D is diagonal, the mean of the diagonal of G over all forces, and over all moments: of points alone, f is shortest.
An error along an eigenvector of D⁻¹ G with eigenvalue λ shrinks by μ / (μ + λ) per iteration. Forces are along the world's axes.

Inverse dynamics: the velocities U of floating joints have no actuator, so that (1) leaves B f = (M q̈ + b)_U with B = J_U^T.
The shortest f is B^T y with B B^T y = (M q̈ + b)_U, solved by (4); what contacts cannot carry remains in τ_U.

Sources: J. Carpentier, R. Budhiraja, N. Mansard, Proximal and sparse resolution of constrained dynamic equations, RSS 2021;
J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems, Comp. Meth. Appl. Mech. Eng. 1 (1972).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from appell.algebra import Scalar, Scalars, Vec3, is_zero
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.kinematics import (
    WorldMotion,
    frame_acceleration,
    frame_jacobian,
    frame_motion,
    world_accelerations,
    world_motion,
)
from appell.algorithms.linear import (
    back_substitute,
    dot,
    elimination_order,
    factorise,
    forward_substitute,
    substitute,
)
from appell.algorithms.registry import Algorithm, Quantity, find_in
from appell.algorithms.system import System, SystemOnTree
from appell.model.tree import Frame, Tree

MU, ITERATIONS = 1e-6, 5
"""Proximal weight relative to the mean of the diagonal, and iterations of (4)."""

Rows = list[list[Scalar]]


class HeldFrame(NamedTuple):
    """A frame at rest: its origin alone (3 rows), or also its orientation (6 rows)."""

    frame: Frame
    rows: int


@dataclass(frozen=True)
class ConstrainedSystem(System):
    """A tree, also with closed loops, with contacts at rest.

    Attributes:
        base: the system without contacts.
        gains: k_p [1/s²] and k_d [1/s] of (2). With k_p, the configuration `reference` at which contacts are held is an input.
    """

    base: SystemOnTree
    contacts: tuple[HeldFrame, ...]
    gains: tuple[float, float] = (0.0, 0.0)

    @property
    def sizes(self) -> Mapping[str, int]:
        return {**self.base.sizes, "reference": self.base.sizes["q"], "f": 6 * len(self.contacts)}

    @property
    def fingerprint_data(self) -> object:
        return type(self.base).__qualname__, self.base.fingerprint_data, self.contacts, self.gains

    @property
    def sources(self) -> tuple[Path, ...]:  # type: ignore[override]
        return self.base.sources

    @property
    def frames(self) -> Mapping[str, Frame]:  # type: ignore[override]
        return self.base.frames

    @property
    def quaternions(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        return self.base.quaternions

    @property
    def parameters(self) -> Sequence[Scalar]:  # type: ignore[override]
        return self.base.parameters

    def moved(self, q: Scalars, step: Scalars) -> list[Scalar]:
        return self.base.moved(q, step)

    def find(self, function: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
        reference = ("reference",) if self.gains[0] else ()
        functions = {
            "constrained_forward_dynamics": (("q", "qd", "tau", *reference), forward_dynamics),
            "constrained_inverse_dynamics": (("q", "qd", "qdd"), inverse_dynamics),
        }
        quantities = {
            name: Quantity(
                name, inputs, ("v+f",), "proximal", uses_external_forces=True,
                methods={"proximal": algorithm}, lumpable={"proximal"},
            )
            for name, (inputs, algorithm) in functions.items()
        }  # fmt: skip
        return find_in(quantities, function, method)

    def with_inputs(self, spec: FunctionSpec, entries: Mapping[str, Sequence[Scalar]], lump: bool) -> ConstrainedSystem:
        base: Any = self.base.with_inputs(spec, entries, lump)
        return replace(self, base=base)

    def raise_nonfinite_cause(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        self.base.raise_nonfinite_cause(function, inputs)

    def of_base(self, function: str, *inputs: Scalars) -> Any:
        """A function of the system without contacts."""
        _, _, algorithm = self.base.find(function)
        return algorithm(self.base if self.base.recursion is None else self.base.recursion, *inputs)


def forward_dynamics(system: ConstrainedSystem, q: Scalars, qd: Scalars, tau: Scalars, *reference: Scalars) -> Scalars:
    """q̈ and f under actuator forces τ, (1) to (4)."""
    J, drift = contact_motion(system, q, qd, *reference)
    order = range(len(qd)) if system.base.recursion is None else elimination_order(system.base.recursion)
    steps = factorise(system.of_base("mass_matrix", q), order)
    bias, actuators = system.of_base("bias", q, qd), system.of_base("actuator_jacobian", q)
    forces = [dot(column, tau) - b for column, b in zip(zip(*actuators, strict=True), bias, strict=True)]
    qdd = substitute(steps, forces)
    halves = [forward_substitute(steps, row) for row in J]  # of M⁻¹ J^T
    inverses = {step.unknown: step.inverse for step in steps}
    weighted = [[0.0 if is_zero(x) else x * inverses[k] for k, x in enumerate(half)] for half in halves]
    G = gram(halves, weighted)
    c = [dot(row, qdd) + own for row, own in zip(J, drift, strict=True)]
    f = proximal(G, [-own for own in c], kinds(system.contacts))
    own = back_substitute(steps, [dot(column, f) for column in zip(*halves, strict=True)])
    return [*(a + b for a, b in zip(qdd, own, strict=True)), *wrenches(system.contacts, f)]


def inverse_dynamics(system: ConstrainedSystem, q: Scalars, qd: Scalars, qdd: Scalars) -> Scalars:
    """τ and the shortest f that give q̈ without forces on floating joints."""
    J, _ = contact_motion(system, q, qd)
    forces = system.of_base("generalized_forces", q, qd, qdd)
    free = unactuated(system.base.tree)
    B = [[row[k] for row in J] for k in free]
    y = proximal(gram(B, B), [forces[k] for k in free], [k % 6 < 3 for k in range(len(free))])
    f = [dot(column, y) for column in zip(*B, strict=True)] if free else [0.0] * len(J)
    own = [dot(column, f) for column in zip(*J, strict=True)]
    return [*(a - b for a, b in zip(forces, own, strict=True)), *wrenches(system.contacts, f)]


def unactuated(tree: Tree) -> list[int]:
    """Indices of the velocities without an actuator: those of floating joints."""
    return [link.idx_v + k for link in tree.links if not link.kind.actuated for k in range(link.kind.nv)]


def contact_motion(
    system: ConstrainedSystem, q: Scalars, qd: Scalars, *reference: Scalars
) -> tuple[Rows, list[Scalar]]:
    """J by rows, and γ - a, of all contacts."""
    tree, (kp, kd) = system.base.tree, system.gains
    v = system.of_base("joint_velocities", q, qd)
    vd = system.of_base("joint_accelerations", q, qd, [0.0] * len(qd))
    motions = world_motion(tree, q, v)
    accelerations = world_accelerations(tree, motions, v, vd)
    held = world_motion(tree, *reference) if reference else motions
    G = list(zip(*system.of_base("joint_velocity_jacobian", q), strict=True))
    J, drift = [], []
    for frame, rows in system.contacts:
        now = frame_motion(tree, motions, frame)
        a = frame_acceleration(tree, motions, accelerations, frame)
        error = placement_error(now, frame_motion(tree, held, frame))
        twist = [*now.v, *now.omega]
        terms = zip([*a.linear, *a.angular], twist, error, strict=True)
        drift += [gamma + kd * rate + kp * e for gamma, rate, e in terms][:rows]
        J += [[dot(row, column) for column in G] for row in frame_jacobian(tree, motions, frame)[:rows]]
    return J, drift


def placement_error(now: WorldMotion, held: WorldMotion) -> list[Scalar]:
    """Position and, to second order, rotation vector of a frame relative to where it is held."""
    turn = Vec3(0.0, 0.0, 0.0)
    for a, b in zip(held.R.T.rows, now.R.T.rows, strict=True):
        turn = turn + Vec3(*a).cross(Vec3(*b)) * 0.5
    return [*(now.p - held.p), *turn]


def proximal(G: Rows, b: Scalars, is_force: Sequence[bool]) -> list[Scalar]:
    """x of the iteration (4) for G x = b, where `is_force` selects the entries with a common scale."""
    if not G:
        return []
    scale: dict[bool, Scalar] = {}
    for kind in set(is_force):
        own = [G[i][i] for i, other in enumerate(is_force) if other == kind]
        scale[kind] = sum(own[1:], own[0]) * (MU / len(own))
    weights = [scale[kind] for kind in is_force]
    shifted = [[x + weights[i] if i == k else x for k, x in enumerate(row)] for i, row in enumerate(G)]
    steps = factorise(shifted, range(len(G)))
    x = substitute(steps, b)
    for _ in range(ITERATIONS - 1):
        right = [w * old + own for w, old, own in zip(weights, x, b, strict=True)]
        x = substitute(steps, right)
    return x


def kinds(contacts: Sequence[HeldFrame]) -> list[bool]:
    """For every row, whether it is of a force and not of a moment."""
    return [row < 3 for contact in contacts for row in range(contact.rows)]


def wrenches(contacts: Sequence[HeldFrame], f: Scalars) -> list[Scalar]:
    """Force and moment of every contact, zero moments of points included."""
    entries, result = iter(f), []
    for _, rows in contacts:
        result += [next(entries) for _ in range(rows)] + [0.0] * (6 - rows)
    return result


def gram(A: Sequence[Scalars], B: Sequence[Scalars]) -> Rows:
    """A B^T for rows of A and B, of which it is known that the product is symmetric."""
    result: Rows = [[0.0] * len(A) for _ in A]
    for i, row in enumerate(A):
        for k in range(i + 1):
            result[i][k] = result[k][i] = dot(row, B[k])
    return result

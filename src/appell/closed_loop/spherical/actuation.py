"""Actuator torques of a spherical parallel robot from generalized forces: Abedloo 2014, eqs (49) to (51).

    (51)  Q = Jact^T τ
With redundant actuators τ has minimum norm: with the orthogonal columns Jact = U T, T^T y = Q and τ = U y.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import Scalar, sqrt
from appell.closed_loop.elimination import dot
from appell.closed_loop.spherical.rates import guarded_reciprocal
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.closed_loop.spherical.system import SphericalSystem

MIN_SINE = 1e-6
"""Smallest sine between a column of the actuator Jacobian and the span of the columns before it."""


def actuator_torques(system: SphericalSystem, Jact: Sequence[Sequence[Scalar]], Q: Sequence[Scalar]) -> list[Scalar]:
    """Minimum-norm τ with Jact^T τ = Q, (51)."""
    if len(Jact) < system.nv:
        raise ArgumentError(
            f"{len(Jact)} actuators cannot give {system.nv} degrees of freedom any acceleration, so inverse_dynamics and "
            "regressor are not defined. Actuate more joints, or use generalized_forces and generalized_regressor."
        )
    columns = orthogonal_columns(Jact, system.nv)
    y: list[Scalar] = []
    for k, column in enumerate(columns):
        value = Q[k]
        for part, share in zip(column.parts, y, strict=True):
            value = value - part * share
        y.append(value * column.scale)
    return [dot([column.direction[i] for column in columns], y) for i in range(len(Jact))]


class OrthogonalColumn(NamedTuple):
    """A column as `parts` along the directions of the columns before it and a rest along its own `direction`.

    `length` and `left` are the squared lengths of the column and of the rest, `scale` is 1/√left.
    """

    direction: list[Scalar]
    parts: list[Scalar]
    length: Scalar
    left: Scalar
    scale: Scalar


def orthogonal_columns(matrix: Sequence[Sequence[Scalar]], count: int) -> list[OrthogonalColumn]:
    """Gram-Schmidt orthogonalization of the columns; NaN where they are dependent."""
    columns: list[OrthogonalColumn] = []
    for k in range(count):
        rest = [row[k] for row in matrix]
        length, parts = dot(rest, rest), []
        for column in columns:
            part = dot(column.direction, rest)
            rest = [entry - part * other for entry, other in zip(rest, column.direction, strict=True)]
            parts.append(part)
        left = dot(rest, rest)
        scale = guarded_reciprocal(sqrt(left), left, length * MIN_SINE**2)
        columns.append(OrthogonalColumn([entry * scale for entry in rest], parts, length, left, scale))
    return columns

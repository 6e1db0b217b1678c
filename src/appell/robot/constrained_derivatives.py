"""Derivatives of forward dynamics with contacts at rest: derivatives along all unit vectors, in one batch.

Differentiating the equations by hand would leave out how the shortest forces of redundant contacts turn with the robot.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from appell.algorithms.constrained_dynamics import ConstrainedSystem
from appell.arrays import as_batch
from appell.compiler.evaluate import Evaluator
from appell.robot.call_options import CallOptions
from appell.robot.derivatives import ForwardDynamicsDerivatives


class ConstrainedForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of `constrained_forward_dynamics` by q (in its tangent space), qd and tau.

    Attributes:
        qdd: (dq, dqd, dtau) of the accelerations, (..., nv, nv or actuators).
        forces: (dq, dqd, dtau) of the wrenches of the contacts, (..., contacts, 6, nv or actuators).
    """

    qdd: ForwardDynamicsDerivatives
    forces: ForwardDynamicsDerivatives


def derivatives(
    evaluator: Evaluator,
    system: ConstrainedSystem,
    inputs: dict[str, Any],
    options: CallOptions,
    columns: bool,
    check: bool,
) -> ConstrainedForwardDynamicsDerivatives:
    """All derivatives, from an evaluator of `DirectionalSystem` over rows."""
    sizes = [*((name, system.sizes[name]) for name in inputs), *options.sizes(system.sizes["p"])]
    arrays, lead = as_batch(sizes, [*inputs.values(), *options.values], check=check, columns=columns)
    values = [array[:, None] for array in arrays]
    given, others = values[: len(inputs)], options.replaced(values[len(inputs) :])
    n = system.sizes["v"]
    blocks = list(pairwise(accumulate((n, n, system.sizes["tau"]), initial=0)))
    units = np.eye(blocks[-1][1])
    directions = [units[:, a:b] for a, b in blocks] + [np.zeros(system.sizes[name]) for name in [*inputs][3:]]
    found = evaluator["jvp", None](
        (*given, *directions), others.gravity, others.external_forces, others.parameters, None, check
    )

    def split(entries: np.ndarray, *shape: int) -> ForwardDynamicsDerivatives:
        """The derivatives of results of this shape, (N, directions, entries)."""
        matrices = [np.swapaxes(entries[:, a:b], 1, 2).reshape(*lead, *shape, b - a) for a, b in blocks]
        last = range(-len(shape) - 1, 0)
        return ForwardDynamicsDerivatives(*(np.moveaxis(x, last, range(len(last))) if columns else x for x in matrices))

    return ConstrainedForwardDynamicsDerivatives(
        split(found[..., :n], n), split(found[..., n:], len(system.contacts), 6)
    )

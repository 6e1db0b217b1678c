"""Singular configurations by name: where independent speeds, or actuators, stop to say how the mechanism moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.closed_loop.choice import jacobian_at, sines
from appell.closed_loop.constraints import residual
from appell.closed_loop.elimination import SINE
from appell.closed_loop.kinematics import actuator_jacobian
from appell.closed_loop.reduction import OPEN
from appell.errors import ClosureError

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

SPEEDS, ACTUATORS = "singular speeds", "singular actuators"
DRIVEN = {"inverse_dynamics"}
"""Functions that solve for actuator forces."""


class Singularity(NamedTuple):
    """What is singular.

    Attributes:
        status: `"singular speeds"`: the closures do not determine a joint from the independent speeds;
            `"singular actuators"`: the actuators do not determine the motion, so that forces are unbounded.
        where: name of the joint that is not determined.
        sine: of the angle that has become too small; 0 at the singularity.
    """

    status: str
    where: str
    sine: float


def singularity_at(system: LoopSystem, q: np.ndarray, actuators: bool = True) -> Singularity | None:
    """The singularity of one configuration (nq,), None where there is none."""
    found = sines(jacobian_at(system, q), system.dependent)
    for k, sine in zip(system.dependent, found, strict=True):
        if sine <= SINE:
            return Singularity(SPEEDS, _name(system, k), sine)
    if actuators and len(system.actuated) >= len(system.independent):
        J = np.array(actuator_jacobian(system, [float(x) for x in q]), dtype=float)
        for k, sine in zip(system.independent, sines(J, range(J.shape[1])), strict=True):
            if sine <= SINE:
                return Singularity(ACTUATORS, _name(system, k), sine)
    return None


def refuse_singular(system: LoopSystem, function: str, q: np.ndarray) -> None:
    """Raise for the first configuration of (N, nq) that is not closed or singular."""
    for i, state in enumerate(q):
        _refuse_open(system, function, state, (i,) if len(q) > 1 else ())
        found = singularity_at(system, state, function in DRIVEN)
        if found is not None:
            at = f" of state {i}" if len(q) > 1 else ""
            raise ClosureError(
                f"{function}: {in_words(system, found)} in the configuration{at} (sine {found.sine:.2g}, bound {SINE:g}).",
                status=found.status, where=found.where, value=found.sine, index=(i,) if len(q) > 1 else (),
            )  # fmt: skip


def _refuse_open(system: LoopSystem, function: str, q: np.ndarray, index: tuple[int, ...]) -> None:
    left = np.array(residual(system, [float(x) for x in q]), dtype=float)
    if float(np.linalg.norm(left)) < OPEN:
        return
    names = [loop.name for loop in system.loops for _ in range(loop.kind.count)]
    worst = int(np.argmax(np.abs(left)))
    raise ClosureError(
        f"{function}: q{list(index) if index else ''} does not close the loops: closure {names[worst]!r} is open by "
        f"{left[worst]:.3g} m (rad). Take q from robot.close(q).q.",
        status="open", where=names[worst], value=float(left[worst]), index=index,
    )  # fmt: skip


def in_words(system: LoopSystem, found: Singularity) -> str:
    """What a singularity means, and what to do about it."""
    if found.status == ACTUATORS:
        driven = ", ".join(_name(system, k) for k in system.actuated)
        return f"singular actuators: with {driven} held, {found.where} can still move"
    kept = ", ".join(_name(system, k) for k in system.independent) or "nothing"
    return f"singular speeds: with {kept} held, {found.where} can still move; choose other `speeds`"


def _name(system: LoopSystem, k: int) -> str:
    link = next(
        link for link in system.tree.links if link.is_independent and link.idx_v <= k < link.idx_v + link.kind.nv
    )
    several = sum(other.kind.nv for other in system.tree.links if other.name == link.name) > 1
    first = min(other.idx_v for other in system.tree.links if other.name == link.name)
    return f"{link.name}[{k - first}]" if several else link.name

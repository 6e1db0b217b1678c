"""Fixed-step integrators: the classical Runge-Kutta method of order four over NumPy arrays, and tableaux for kernels."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any, NamedTuple


def rk4_step(
    rate: Callable[[float, Any], Any], y: Any, h: float, integrate: Callable[[Any, Any], Any] = add, k1: Any = None
) -> Any:
    """The state one step of h after y.

    Args:
        rate: ẏ from the fraction of the step, 0, 0.5 or 1, and the state.
        integrate: the state after an increment; a sum by default.
        k1: rate at y, if it is known.

    Example:
        >>> round(rk4_step(lambda c, y: y, 1.0, 1.0), 4)  # 1 + 1 + 1/2 + 1/6 + 1/24
        2.7083
    """
    k1 = rate(0.0, y) if k1 is None else k1
    k2 = rate(0.5, integrate(y, h / 2 * k1))
    k3 = rate(0.5, integrate(y, h / 2 * k2))
    k4 = rate(1.0, integrate(y, h * k3))
    return integrate(y, h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


class Tableau(NamedTuple):
    """A fixed-step integrator as numbers: x + dt Σ weight y, with the rates y at x + ahead dt y of the stage before.

    Attributes:
        weights: of the rates of each stage.
        ahead: how far from the start the next stage is, for all stages but the last.
        new_speeds: whether coordinates move with the speeds at the end of the step, so that dt² N(q) v̇ is added to them.
    """

    weights: tuple[float, ...]
    ahead: tuple[float, ...] = ()
    new_speeds: bool = False


RK4 = Tableau((1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.5, 0.5, 1.0))
SEMI_IMPLICIT_EULER = Tableau((1.0,), new_speeds=True)
TABLEAUX = {"semi_implicit_euler": SEMI_IMPLICIT_EULER, "rk4": RK4}
"""The integrators of `appell.rollout`."""

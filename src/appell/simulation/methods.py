"""Integrators by name, SciPy's adaptive ones and those of fixed step. To add one, list it here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from appell.errors import ArgumentError, unknown_name_message
from appell.simulation.fixed import FixedSolver, Problem, Rule, midpoint, rk4, semi_implicit_euler
from appell.simulation.phase import Solver

DT = 1e-3
"""Step of the fixed ones where none is given. [s]"""


class Options(NamedTuple):
    """What an integrator is told: tolerances and longest step of the adaptive ones, step of the fixed ones. [s]"""

    rtol: float = 1e-9
    atol: float = 1e-9
    max_step: float = math.inf
    dt: float = DT


@dataclass(frozen=True)
class Method:
    """An integrator.

    Attributes:
        order: the error of a motion falls as the step to this power; None where the order varies.
        fixed: whether its step is fixed.
        start: a solver for (problem, t, y, end, options, first step), which it may choose itself if that is None.
    """

    name: str
    order: int | None
    fixed: bool
    start: Callable[[Problem, float, np.ndarray, float, Options, float | None], Solver]


def _adaptive(kind: Any, order: int | None) -> Method:
    def start(problem: Problem, t: float, y: np.ndarray, end: float, options: Options, first: float | None) -> Solver:
        step = None if first is None else min(first, end - t)
        rtol, atol, max_step, _ = options
        return kind(problem.rate, t, y, end, rtol=rtol, atol=atol, max_step=max_step, first_step=step)

    return Method(kind.__name__, order, False, start)


def _fixed(rule: Rule, order: int) -> Method:
    def start(problem: Problem, t: float, y: np.ndarray, end: float, options: Options, first: float | None) -> Solver:
        return FixedSolver(rule, problem, t, y, end, options.dt)

    return Method(rule.__name__, order, True, start)


METHODS = {
    method.name: method
    for method in (
        _adaptive(DOP853, 8), _adaptive(RK45, 5), _adaptive(RK23, 3),
        _adaptive(Radau, 5), _adaptive(BDF, None), _adaptive(LSODA, None),
        _fixed(semi_implicit_euler, 1), _fixed(rk4, 4), _fixed(midpoint, 2),
    )
}  # fmt: skip


def method_named(name: str) -> Method:
    """The integrator of this name, whatever the case of its letters."""
    for method in METHODS.values():
        if method.name.lower() == str(name).lower():
            return method
    raise ArgumentError(unknown_name_message("method", name, METHODS))

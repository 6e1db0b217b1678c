"""All errors of the library. Messages have what, where, got, expected and the remedy."""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

PACKAGES = frozenset(("appell", "appell_lab"))


class AppellError(Exception):
    """Base of all errors of this library."""


class ArgumentError(AppellError, ValueError):
    """A value passed to a function has the wrong shape, type or content."""


class ModelError(AppellError, ValueError):
    """A robot description that does not define the dynamics.

    Attributes:
        place: `file:line` of the defect, where known.
        problems: all defects, as `appell.check` lists them.
    """

    def __init__(self, message: str, *, place: str = "", problems: tuple = ()) -> None:
        super().__init__(message)
        self.place = place
        self.problems = problems


class ModelWarning(UserWarning):
    """Defects of a robot description that leave its dynamics defined."""


class CompileError(AppellError, RuntimeError):
    """Native code could not be produced; `output` is the compiler's message."""

    def __init__(self, message: str, *, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class SimulationError(AppellError, RuntimeError):
    """A simulation that cannot continue.

    Attributes:
        time: of the failure. [s]
        state: q and qd at that time, (nq + nv,).
        quantity: the first invalid quantity.
    """

    def __init__(self, message: str, *, time: float = math.nan, state: Any = None, quantity: str = "") -> None:
        super().__init__(message)
        self.time = time
        self.state = state
        self.quantity = quantity


class SimulationWarning(UserWarning):
    """A simulation that ended early, or whose energy balance is off by more than its tolerance explains."""


class TrajectoryError(AppellError, ValueError):
    """A reference trajectory that a robot cannot follow.

    Attributes:
        time: of the first unreachable or singular point, or of the first exceeded limit. [s]
        reason: `"unreachable"`, `"singular"`, `"outside limits"` or `"not converged"`.
    """

    def __init__(self, message: str, *, time: float = math.nan, reason: str = "") -> None:
        super().__init__(message)
        self.time = time
        self.reason = reason


class LoopClosureError(AppellError, ValueError):
    """A configuration with loops that do not close, or a singular configuration.

    Attributes:
        status: `"unreachable"` or the name of a singularity.
        where: the leg or loop.
        value: the number that says so.
        index: of the state in its batch, () for a single one.
    """

    def __init__(
        self, message: str, *, status: str = "", where: str = "", value: float = math.nan, index: tuple[int, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.where = where
        self.value = value
        self.index = index


class IdentificationError(AppellError, RuntimeError):
    """An identification problem without a reliable solution."""


class SweepError(AppellError, RuntimeError):
    """A sweep or a Monte Carlo study that stopped; what is finished stays in its store.

    Attributes:
        finished, chunks: number of finished chunks, and of all.
    """

    def __init__(self, message: str, *, finished: int = 0, chunks: int = 0) -> None:
        super().__init__(message)
        self.finished = finished
        self.chunks = chunks


class IdentificationWarning(UserWarning):
    """Recordings or identified parameters that are doubtful: the findings of `appell.identify`."""


class HardwareError(AppellError, RuntimeError):
    """A robot, or its simulation in another process, does not respond or reports invalid values."""


def unknown_name_message(kind: str, got: object, valid) -> str:
    """Message for an unknown name, with the most similar valid one first."""
    import difflib

    names = [str(name) for name in valid]
    near = difflib.get_close_matches(str(got), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"unknown {kind} {got!r}.{hint} Valid: {', '.join(names) or 'none'}."


def warn_at_caller(message: str, category: type[Warning]) -> None:
    """A warning of the line that called this library; `warnings` leaves out frames of the import system."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

"""Options of `appell.sweep` and `appell.monte_carlo` that are rarely changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from appell.checks import require_integer
from appell.errors import ArgumentError


@dataclass(frozen=True)
class Execution:
    """How the work is divided; results do not depend on it.

    Attributes:
        chunk: states or runs of one task. By default 4 to 32 MB of the largest result of a sweep, the more the more states
            there are; 256 runs in batches, else 8. A store keeps its chunks.
        threads: of this process, where there is no client; one per core by default.
        progress: called with the completed share, from 0 to 1.

    Example:
        >>> import appell
        >>> from appell.sweeps import Execution, random_states
        >>> robot, shares = appell.load("planar2r"), []
        >>> execution = Execution(chunk=50, threads=1, progress=shares.append)
        >>> result = appell.sweep(robot, ["gravity"], random_states(robot, 100), execution=execution)
        >>> shares
        [0.5, 1.0]
    """

    chunk: int | None = None
    threads: int | None = None
    progress: Callable[[float], None] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("chunk", "threads"):
            if getattr(self, name) is not None:
                require_integer(name, getattr(self, name), 1)
        if self.progress is not None and not callable(self.progress):
            raise ArgumentError(f"progress is {self.progress!r}, expected a function of the completed share, or None.")


@dataclass(frozen=True)
class Storage:
    """What a store holds besides results.

    Attributes:
        compress: whether results are compressed (Zstandard); smooth ones shrink, those of random states hardly.
        attributes: more attributes of the results, such as the command.
    """

    compress: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Labels:
    """Names and units of draws and results of a study.

    Attributes:
        dims: names of the dimensions by draw or result, without the runs.
        units: by draw or result.
        attributes: more attributes of the results, such as the command.
    """

    dims: Mapping[str, Sequence[str]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)

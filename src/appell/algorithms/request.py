"""The name of one function of a robot, with all its options. Needs nothing but Python."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.errors import ArgumentError

if TYPE_CHECKING:
    pass
    pass


REFERENCE_FRAMES = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")


@dataclass(frozen=True)
class Request:
    """Which function of a robot is wanted.

    Attributes:
        function, method: names in `appell.algorithms.registry`.
        gravity: whether the gravity vector is an input (3 entries) instead of a constant.
        forces: names of the frames on which an external wrench is an input (6 entries each, in the order given).
        frame, reference: of poses and Jacobians.
        parameters: whether the inertial parameters of all links are an input (10 entries each) instead of constants.
    """

    function: str
    method: str | None = None
    gravity: bool = False
    forces: tuple[str, ...] = ()
    frame: str | None = None
    reference: str = "LOCAL_WORLD_ALIGNED"
    parameters: bool = False


def as_request(function: str | Request) -> Request:
    """Read `function`, `function@method`, `function:frame` or `function:frame:REFERENCE`.

    Example:
        >>> as_request("jacobian:tool0:LOCAL").frame
        'tool0'
        >>> as_request("inverse_dynamics@newton_euler").method
        'newton_euler'
    """
    if isinstance(function, Request):
        return function
    if not isinstance(function, str):
        raise ArgumentError(f"a function to export must be a name or a Request, got {type(function).__name__}.")
    name, _, frame = function.strip().partition(":")
    name, _, method = name.partition("@")
    start, _, tail = frame.rpartition(":")
    if start and tail in REFERENCE_FRAMES:
        return Request(name, method or None, frame=start, reference=tail)
    return Request(name, method or None, frame=frame or None)


def describe(request: Request) -> str:
    """A request in words, as `functions=` takes it."""
    method = f"@{request.method}" if request.method else ""
    frame = f":{request.frame}" if request.frame else ""
    seen = f":{request.reference}" if request.frame and request.reference != Request.reference else ""
    with_ = [name for name in ("gravity", "forces", "parameters") if getattr(request, name)]
    return f"{request.function}{method}{frame}{seen}{' with ' + ', '.join(with_) if with_ else ''}"


@dataclass(frozen=True)
class Signature:
    """What a kernel takes and gives.

    Attributes:
        inputs: name and number of entries of each input, in order.
        shape: of one result.
    """

    inputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]

    @property
    def entries(self) -> int:
        """Numbers in one result."""
        return math.prod(self.shape)

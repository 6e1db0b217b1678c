"""The name of one function of a robot, with all its options. Needs nothing but Python."""

from __future__ import annotations

import math
from dataclasses import dataclass

from appell.errors import ArgumentError

REFERENCE_FRAMES = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")


@dataclass(frozen=True)
class FunctionSpec:
    """Which function of a robot is wanted.

    Attributes:
        function, method: names in `appell.algorithms.registry`.
        gravity_input: whether the gravity vector is an input (3 entries) instead of a constant.
        force_frames: names of the frames on which an external wrench is an input (6 entries each, in the order given).
        frame, reference: of poses and Jacobians.
        parameter_input: whether the inertial parameters of all links are an input (10 entries each) instead of constants.
    """

    function: str
    method: str | None = None
    gravity_input: bool = False
    force_frames: tuple[str, ...] = ()
    frame: str | None = None
    reference: str = "LOCAL_WORLD_ALIGNED"
    parameter_input: bool = False


def as_function_spec(function: str | FunctionSpec) -> FunctionSpec:
    """Read `function`, `function@method`, `function:frame` or `function:frame:REFERENCE`.

    Example:
        >>> as_function_spec("jacobian:tool0:LOCAL").frame
        'tool0'
        >>> as_function_spec("inverse_dynamics@newton_euler").method
        'newton_euler'
    """
    if isinstance(function, FunctionSpec):
        return function
    if not isinstance(function, str):
        raise ArgumentError(f"a function must be a name or a FunctionSpec, got {type(function).__name__}.")
    name, _, frame = function.strip().partition(":")
    name, _, method = name.partition("@")
    start, _, tail = frame.rpartition(":")
    if start and tail in REFERENCE_FRAMES:
        return FunctionSpec(name, method or None, frame=start, reference=tail)
    return FunctionSpec(name, method or None, frame=frame or None)


def describe(spec: FunctionSpec) -> str:
    """A spec in words, as `functions=` takes it."""
    method = f"@{spec.method}" if spec.method else ""
    frame = f":{spec.frame}" if spec.frame else ""
    seen = f":{spec.reference}" if spec.frame and spec.reference != FunctionSpec.reference else ""
    inputs = optional_inputs(spec)
    return f"{spec.function}{method}{frame}{seen}{' with ' + ', '.join(inputs) if inputs else ''}"


def optional_inputs(spec: FunctionSpec) -> list[str]:
    """Names of the inputs besides the state: gravity, forces, parameters."""
    inputs = {"gravity": spec.gravity_input, "forces": spec.force_frames, "parameters": spec.parameter_input}
    return [name for name, given in inputs.items() if given]


@dataclass(frozen=True)
class Signature:
    """Name and number of entries of each input of a kernel, in order, and the shape of one result."""

    inputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]

    @property
    def entries(self) -> int:
        """Numbers in one result."""
        return math.prod(self.shape)

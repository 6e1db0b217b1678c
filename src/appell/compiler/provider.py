"""Where an evaluator gets its functions from: traced from a system, or read from a file (`archive.store`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from appell.algorithms.function_spec import FunctionSpec, Signature
from appell.algorithms.system import System
from appell.compiler.fingerprint import digest, source_digest
from appell.compiler.interpret import GraphKernel
from appell.compiler.lowering import LoweredFunction, StraightLine, lower_function, rolled_form, straight_line
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.rolled.programs import link_parallel
from appell.compiler.stages import STAGED, Stages
from appell.compiler.state_rate import state_rate
from appell.compiler.trace import trace

if TYPE_CHECKING:
    import numpy as np

    from appell.algorithms.laws import Law
    from appell.compiler.operations import OperationList


class Kernel(Protocol):
    """Anything that computes a function.

    `run` takes contiguous vectors for one state or arrays (N, size) with any strides for a batch, writes the result's
    entries into `out`, (entries,) or (N, entries), and returns whether all numbers are finite.
    """

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray, /) -> bool: ...


class Provider(Protocol):
    """The functions of one robot, ready to be compiled for any target."""

    @property
    def parameters(self) -> Sequence[Any]:
        """The robot's own inertial parameters."""
        ...

    @property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        """Joints with a unit quaternion, and where in q it begins: checked calls look at them."""
        ...

    def signature(self, spec: FunctionSpec) -> Signature:
        """Inputs and shape of a function; raises if there is no such function."""
        ...

    def require_mass(self, function: str) -> None:
        """Raise if a function needs mass that the robot's own parameters lack."""
        ...

    def key(self, spec: FunctionSpec) -> str:
        """A digest of everything that the operations of a function depend on."""
        ...

    def lowered(self, spec: FunctionSpec, target: str, dtype: str) -> LoweredFunction:
        """The operations of a function in the form that suits a target."""
        ...

    def is_rolled(self, spec: FunctionSpec) -> bool:
        """Whether a function is lowered to loops over the links: they are compiled in less time than their graph is traced."""
        ...

    def straight_line(self, spec: FunctionSpec) -> StraightLine:
        """The operations of a function without loops; raises where a file has none of that form."""
        ...

    def link_parallel(self, spec: FunctionSpec) -> LinkParallel | None:
        """Its form with links side by side, if it has one."""
        ...

    def stages(self, spec: FunctionSpec) -> Stages | None:
        """The last stages of a function that is too long for a thread of a GPU, if it has such stages."""
        ...

    def interpreted(self, spec: FunctionSpec, dtype: str) -> Kernel:
        """A kernel that needs no compiler."""
        ...

    def raise_nonfinite_cause(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        """As in `System`."""
        ...

    def has_rate(self, law: Law, runtime: bool) -> bool:
        """Whether there is a rate of the state under a control law, for rollouts within one kernel."""
        ...

    def rate(self, law: Law, passive: bool, runtime: bool) -> tuple[str, Callable[[], OperationList]]:
        """The rate of the state under a control law: a digest, and its operations on demand.

        `passive` adds damping and friction of the joints, `runtime` makes inertial parameters an input.
        """
        ...


class TracedProvider:
    """Functions traced from a system when they are needed."""

    def __init__(self, system: System) -> None:
        self.system, self.quaternions = system, system.quaternions
        self.signature, self.raise_nonfinite_cause = system.signature, system.raise_nonfinite_cause
        self.require_mass = system.require_mass
        self._lowered: dict[Hashable, LoweredFunction | None] = {}

    @property
    def parameters(self) -> Sequence[Any]:
        return self.system.parameters

    @cached_property
    def _system_key(self) -> str:
        return digest(type(self.system).__qualname__, self.system.fingerprint_data, source_digest(*self.system.sources))

    def key(self, spec: FunctionSpec) -> str:
        frames = self.system.frames
        names = sorted({*spec.force_frames, spec.frame} & set(frames))
        return digest(self._system_key, spec, [frames[name] for name in names])

    def lowered(self, spec: FunctionSpec, target: str, dtype: str) -> LoweredFunction:
        return lower_function(self.system, spec, target, dtype, self._lowered)

    def is_rolled(self, spec: FunctionSpec) -> bool:
        return rolled_form(self.system, spec, "cpu", "float64", self._lowered) is not None

    def straight_line(self, spec: FunctionSpec) -> StraightLine:
        return straight_line(self.system, spec, self._lowered)

    def link_parallel(self, spec: FunctionSpec) -> LinkParallel | None:
        return None if self.system.recursion is None else link_parallel(self.system.recursion, spec)

    def stages(self, spec: FunctionSpec) -> Stages | None:
        tree = self.system.recursion
        if spec.function != STAGED or tree is None or spec.gravity_input or spec.force_frames:
            return None
        lowered = self.lowered(spec, "cuda", "float64")
        return Stages.of(tree) if isinstance(lowered, Rolled) and lowered.solves else None

    def interpreted(self, spec: FunctionSpec, dtype: str) -> Kernel:
        return GraphKernel(trace(self.system, spec), self.system.angles, dtype)

    def has_rate(self, law: Law, runtime: bool) -> bool:
        return self.system.recursion is not None

    def rate(self, law: Law, passive: bool, runtime: bool) -> tuple[str, Callable[[], OperationList]]:
        friction = self.system.friction if passive else None
        key = digest(self._system_key, "rate", law.name, friction or (), runtime)
        return key, lambda: state_rate(self.system, law, friction, runtime)

"""The functions of a robot: arrays in, the right kernel, arrays out.

An `Evaluator` joins a provider (which functions, `appell.compiler.provider`) and a target (where they run,
`appell.compiler.targets.choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algorithms.function_spec import FunctionSpec, Signature
from appell.arrays import wrenches_by_frame
from appell.checks import require_bool
from appell.compiler.archive.store import directional_store
from appell.compiler.fast_path import bind_fast_path
from appell.compiler.garbage import garbage_collection_paused
from appell.compiler.options import Options
from appell.compiler.provider import Kernel, Provider, TracedProvider
from appell.compiler.targets.choice import TARGETS, Target

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.algorithms.system import System

COMPILE_AFTER_STATES = 1024
"""States that are interpreted, at most, before a function is compiled where that was not asked for; loops over the links are
compiled at once."""
MIN_STATES_PER_CALL = 32
"""States that an interpreted call counts as at least."""


@dataclass(frozen=True)
class ActiveKernel:
    """What computes a spec now, and the states that are interpreted so far (None where it stays as it is)."""

    signature: Signature
    kernel: Kernel
    interpreted: int | None = None


class Evaluator(dict[tuple, "Function"]):
    """The functions of one robot: `evaluator[function, method](inputs, gravity, external_forces, parameters, out, check)`.

    Keys are `(function, method)` or `(function, method, frame, reference)` of a `FunctionSpec`. Functions are made when they are
    first used and then kept. Threads may share an evaluator: each kernel is built once.

    Attributes:
        owner: the object whose methods call these functions; plain calls of them may bypass Python (`fast_path`). Its
            `vector` makes arrays of values by name.
    """

    def __init__(self, provider: Provider, options: Options, owner: Any = None) -> None:
        super().__init__()
        self.provider, self.options, self.owner = provider, options, owner
        module, _, name = TARGETS[options.target].partition(":")
        self.target: Target = getattr(import_module(module), name)(options)
        self.quaternions = provider.quaternions
        self.ready: dict[tuple, ActiveKernel] = {}
        self.programs: dict[Hashable, Any] = {}
        self.locks: dict[Hashable, Lock] = {}

    def __missing__(self, key: tuple) -> Function:
        return self.setdefault(key, Function(self, key))

    def program(self, name: Hashable, build: Callable[[], Any]) -> Any:
        """Other compiled code of the robot, such as a rollout: built when it is first asked for."""
        with self.locks.setdefault(name, Lock()):
            if name not in self.programs:
                self.programs[name] = build()
        return self.programs[name]

    def along_coordinates(self, spec: FunctionSpec) -> Evaluator:
        """A function and its derivatives along directions (`directional_store`), of which those of q have nq entries."""

        def build() -> Evaluator:
            provider, sizes = self.provider, dict(self.provider.signature(spec).inputs)
            store = directional_store(provider.key(spec), sizes, provider.straight_line(spec).listed)
            store = replace(store, parameters=tuple(provider.parameters), quaternions=provider.quaternions)
            return Evaluator(store, replace(self.options, parameters="baked"))

        return self.program(("along coordinates", spec), build)

    def kernel(self, spec: FunctionSpec, values: list[Any]) -> ActiveKernel:
        """What computes a spec: compiled code if it is in the cache or compiling pays, else the interpreter."""
        place = (self.target.place(values), spec)
        active = self.ready.get(place)
        if active is None or active.interpreted is not None:
            with self.locks.setdefault(place, Lock()), garbage_collection_paused():
                active = self.ready[place] = self._kernel(self.ready.get(place), *place, self._states(values))
        return active

    def _kernel(self, known: ActiveKernel | None, place: Hashable, spec: FunctionSpec, states: int) -> ActiveKernel:
        """What computes so many more states, of which the first may be interpreted."""
        if known is None:
            signature = self.provider.signature(spec)
            compiled = self.target.cached(self.provider, spec, signature, place)
            if compiled is not None:
                return ActiveKernel(signature, compiled)
        elif known.interpreted is None:
            return known
        else:
            signature, states = known.signature, known.interpreted + states
        pays = self.options.eager or states > COMPILE_AFTER_STATES or self.provider.is_rolled(spec)
        compiled = self.target.build(self.provider, spec, signature, place) if pays else None
        if compiled is not None:
            return ActiveKernel(signature, compiled)
        kernel = known.kernel if known else self.provider.interpreted(spec, self.options.dtype)
        return ActiveKernel(signature, kernel, None if pays else states)

    def _states(self, values: list[Any]) -> int:
        """How many states a call is for, roughly; what is wrong with its arrays is found later."""
        lead = slice(1, None) if self.options.layout == "columns" else slice(-1)
        with suppress(ValueError):  # rows of different lengths
            return max([MIN_STATES_PER_CALL, *(prod(np.shape(value)[lead]) for value in values)])
        return MIN_STATES_PER_CALL

    @cached_property
    def parameters(self) -> np.ndarray:
        """The robot's own inertial parameters."""
        return np.array(self.provider.parameters, dtype=self.options.dtype)


class Function:
    """One function of a robot for every type of argument."""

    def __init__(self, evaluator: Evaluator, key: tuple) -> None:
        self.evaluator = evaluator
        function, method, *rest = key
        frame, reference = rest or (None, "LOCAL_WORLD_ALIGNED")
        runtime = evaluator.options.parameters == "runtime" and frame is None
        self.spec = FunctionSpec(function, method, frame=frame, reference=reference, parameter_input=runtime)
        self.variants: dict[tuple, FunctionSpec] = {(False, (), False): self.spec}

    def __call__(
        self,
        inputs: tuple[ArrayLike, ...],
        gravity: ArrayLike | None = None,
        external_forces: Mapping[str, ArrayLike] | None = None,
        parameters: ArrayLike | None = None,
        out: Any | None = None,
        check: bool = True,
    ) -> Any:
        evaluator, check = self.evaluator, require_bool("check", check)
        forces = wrenches_by_frame(external_forces)
        key = gravity is not None, tuple(forces), parameters is not None
        spec = self.variants.get(key)
        if spec is None:
            names = ("gravity_input", "force_frames", "parameter_input")
            optional = dict(zip(names, (*key[:2], key[2] or self.spec.parameter_input), strict=True))
            spec = self.variants[key] = replace(self.spec, **optional)
        values = list(inputs)
        if any(isinstance(value, dict) for value in values):
            names = evaluator.provider.signature(self.spec).inputs
            values = [evaluator.owner.vector(name, value) for (name, _), value in zip(names, values, strict=False)]
        if gravity is not None:
            values.append(gravity)
        if forces:
            values.append(evaluator.target.stack_wrenches(forces, check))
        if spec.parameter_input:
            if parameters is None:
                evaluator.provider.require_mass(spec.function)
            values.append(evaluator.parameters if parameters is None else parameters)
        active = evaluator.kernel(spec, values)
        result = evaluator.target.call(evaluator.provider, spec, active, values, out, check)
        if spec is self.spec and spec.method is None and spec.frame is None:
            own = evaluator.parameters if spec.parameter_input else None
            rows = evaluator.options.layout == "rows"
            shape = active.signature.shape
            bind_fast_path(evaluator.owner, spec.function, active.kernel, own, rows, evaluator.quaternions, shape)
        return result


def evaluator_of(system: System, options: Options | None = None, owner: Any = None) -> Evaluator:
    """The functions of a system; by default compiled where that pays."""
    return Evaluator(TracedProvider(system), options or Options(eager=False), owner)

"""What computes a request: native code where it can be had, CasADi's evaluator otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from appell.algorithms.request import Request, Signature
from appell.algorithms.system import System, signature
from appell.compiler.function import Function
from appell.compiler.graph import GraphKernel
from appell.compiler.options import Options
from appell.compiler.targets.c.build import Builder
from appell.compiler.targets.c.toolchain import Compiler, find_compiler, native_wanted
from appell.compiler.trace import trace
from appell.errors import CompileError
from appell.model.parameters import parameters as own_parameters
from appell.model.tree import Tree

if TYPE_CHECKING:
    from appell.model.tree import Tree

    pass


PATIENCE, CALL = 1024, 32
"""States that are interpreted before a function is compiled where that was not asked for, and how many a call is worth."""


class Kernel(Protocol):
    """Anything that computes a function.

    `run` takes contiguous vectors for one state or arrays (N, size) with any strides for a batch, writes the result's
    entries into `out`, (entries,) or (N, entries), and says whether all numbers are finite.
    """

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray, /) -> bool: ...


@dataclass
class Ready:
    """A request with what computes it now, and the states that were interpreted so far (None for native code)."""

    signature: Signature
    kernel: Kernel
    interpreted: int | None = None

    def used(self, states: int) -> None:
        """Keep book of a call."""
        if self.interpreted is not None:
            self.interpreted += max(states, CALL)

    @property
    def worth_compiling(self) -> bool:
        return self.interpreted is not None and self.interpreted >= PATIENCE


class Evaluator(dict[tuple, Callable[..., Any]]):
    """The functions of one robot: `evaluator[function, method](inputs, gravity, external_forces, parameters, out, check)`.

    Keys are `(function, method)` or `(function, method, frame, reference)` of a `Request`. Functions are made when they are
    first asked for and then kept. `owner` is the object whose methods answer with them; plain calls of methods that have
    become native do not pass through Python at all (`appell.robot.functions.direct`).
    """

    owner: Any = None
    quaternions: tuple[tuple[str, int], ...] = ()
    """Joints with a unit quaternion, and where in q it begins: they are looked at where calls are checked."""

    system: System | None = None
    """What the functions are of, where it is no plain tree."""

    def __init__(self, tree: Tree | System, options: Options) -> None:
        super().__init__()
        self.tree, self.options = tree, options
        self.system = tree if isinstance(tree, System) else None
        self.quaternions = tree.quaternions
        self.ready: dict[Request, Ready] = {}

    def __missing__(self, key: tuple) -> Callable[..., Any]:
        self[key] = found = Function(self, key)
        return found

    def kernel(self, request: Request) -> Ready:
        """What computes a request: native code if it is in the cache or compiling pays, else the interpreter."""
        found = self.ready.get(request)
        if found is None:
            found = self.ready[request] = self._first(request)
        elif found.worth_compiling and self.builder:
            found.kernel, found.interpreted = self._compiled(request, found.signature) or found.kernel, None
        return found

    def _first(self, request: Request) -> Ready:
        expected = self.signature(request)
        if self.builder:
            kernel = self.builder.cached(request, expected)
            if kernel is None and self.options.eager:
                kernel = self._compiled(request, expected)
            if kernel is not None:
                return Ready(expected, kernel)
        return Ready(expected, self.interpreter(request), 0)

    def _compiled(self, request: Request, expected: Signature) -> Kernel | None:
        """Native code; where it was not asked for, a compiler that fails is a warning."""
        try:
            return self.builder.build(request, expected) if self.builder else None
        except CompileError as error:
            if self.options.eager:
                raise
            warn_once(f"{error} Results are right but slow.")
            return None

    @cached_property
    def builder(self) -> Builder | None:
        """What makes native kernels, or None where there is no compiler."""
        try:
            compiler = find_compiler()
        except CompileError as error:
            if self.options.eager:
                raise
            warn_once(f"{error} Results are right but slow.")
            return None
        if compiler is None:
            if native_wanted():
                warn_once(
                    "no C compiler was found (looked for $CC, cc, clang and the package ziglang): results are right but "
                    "slow. Install one, for instance with: pip install appell[compiler]"
                )
            return None
        return self.builder_with(compiler)

    def signature(self, request: Request) -> Signature:
        """What a request takes and gives."""
        return signature(self.tree, request)

    def interpreter(self, request: Request) -> Kernel:
        """What computes a request without a compiler."""
        return GraphKernel(trace(self.tree, request))

    def builder_with(self, compiler: Compiler) -> Builder:
        """What makes native kernels with this compiler."""
        return Builder(self.tree, self.options, compiler)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The robot's own inertial parameters."""
        own = self.tree.parameters if isinstance(self.tree, System) else own_parameters(self.tree)
        return np.array(own, dtype=self.options.dtype)


@lru_cache(maxsize=32)
def warn_once(message: str) -> None:
    """A warning that is not repeated."""
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def system_functions(robot: Any) -> Evaluator:
    """The functions of a robot whose `tree` is a system, compiled where that pays, as those of `Robot` are."""
    from appell.compiler.evaluate import Evaluator
    from appell.compiler.options import Options

    functions = Evaluator(robot.system, Options(eager=False))
    functions.owner = robot
    return functions

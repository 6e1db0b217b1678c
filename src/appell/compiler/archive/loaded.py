"""A robot out of a file: its functions, without its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algorithms.coordinate_rates import FreeJoint, quaternions
from appell.algorithms.passive_forces import Losses
from appell.compiler.archive.systems import SystemFacts
from appell.compiler.build import Builder
from appell.compiler.evaluate import Evaluator, Kernel
from appell.compiler.fingerprint import source_digest
from appell.compiler.forms import Form
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.isa import instruction_set
from appell.compiler.options import Options
from appell.compiler.request import Request
from appell.compiler.simd import kernel_source
from appell.compiler.toolchain import Compiler
from appell.compiler.trace import Signature
from appell.dynamics import Dynamics
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from os import PathLike

    from appell.compiler.listing import Listing
    from appell.control.laws import Law


@dataclass(frozen=True)
class RobotFacts:
    """What a compiled robot knows of the robot it was made from.

    Attributes:
        gravity_vector: baked into its functions. [m/s²]
        parameters: inertial parameters of all links, as `Robot.parameters`.
        damping, friction: of the joints, which rollouts add.
        free: joints whose coordinates do not change at their speeds.
        rotors: how many of the parameters, the last ones, are of rotors.
        system: what more is known of a robot that is no plain tree.
    """

    name: str
    nq: int
    nv: int
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    gravity_vector: tuple[float, ...]
    parameters: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    free: tuple[FreeJoint, ...] = ()
    rotors: int = 0
    system: SystemFacts | None = None


@dataclass(frozen=True)
class Stored:
    """One function of a file.

    Attributes:
        method: the one that was chosen where the request names none.
        signature: what it takes and gives.
        form: its operations.
        gpu: other forms of them for a GPU, by precision, where it bears longer or shorter straight-line code.
        key: a name of the operations.
    """

    request: Request
    method: str
    signature: Signature
    form: Form
    gpu: Mapping[str, Form]
    key: str


class Store:
    """The functions of a file by request; a request that names the method of a stored default finds it, too."""

    def __init__(
        self,
        place: str | PathLike,
        functions: tuple[Stored, ...],
        rates: Mapping[tuple[str, bool], tuple[str, Listing]],
    ) -> None:
        self.place, self.functions, self.rates = place, functions, rates
        named = {replace(each.request, method=each.method): each for each in functions}
        self.found = {**named, **{each.request: each for each in functions}}

    def __getitem__(self, request: Request) -> Stored:
        found = self.found.get(request)
        if found is not None:
            return found
        kept = ", ".join(describe(each.request) for each in self.functions)
        raise ArgumentError(
            f"{self.place} does not hold {describe(request)}. It holds: {kept}. "
            "Save the robot again with `functions` or `frames` that include it."
        )

    def provide(self, request: Request, dtype: str) -> tuple[str, Signature, Callable[[], Form]]:
        """What the GPU's evaluator asks for."""
        found = self[request]
        return found.key, found.signature, lambda: found.gpu.get(dtype, found.form)


def describe(request: Request) -> str:
    """A request in words, as `functions=` takes it."""
    method = f"@{request.method}" if request.method else ""
    frame = f":{request.frame}" if request.frame else ""
    seen = f":{request.reference}" if request.frame and request.reference != Request.reference else ""
    with_ = [name for name in ("gravity", "forces", "parameters") if getattr(request, name)]
    return f"{request.function}{method}{frame}{seen}{' with ' + ', '.join(with_) if with_ else ''}"


class StoreBuilder(Builder):
    """Makes native kernels of stored functions."""

    def __init__(self, store: Store, options: Options, compiler: Compiler) -> None:
        self.store, self.options, self.compiler = store, options, compiler
        self.target = instruction_set(options.isa)

    def key(self, request: Request) -> str:
        return self.name(self.store[request].key, source_digest())

    def source(self, request: Request) -> str:
        dtype = self.options.dtype
        title = f"{request.function} of a stored robot: {dtype}, {self.target.name}"
        return kernel_source(self.store[request].form, dtype, self.target.lanes(dtype), title)


class StoreEvaluator(Evaluator):
    """The functions of a file on this machine's processor."""

    def __init__(self, store: Store, options: Options, facts: RobotFacts) -> None:
        dict.__init__(self)
        self.store, self.options = store, options
        self.quaternions = quaternions(facts.free)
        self.system = facts.system  # type: ignore[assignment]
        self.ready = {}
        self.parameters = np.array(facts.parameters, dtype=options.dtype)  # type: ignore[assignment]

    def signature(self, request: Request) -> Signature:
        return self.store[request].signature

    def interpreter(self, request: Request) -> Kernel:
        return InterpretedKernel(self.store[request].form, self.options.dtype)

    def builder_with(self, compiler: Compiler) -> Builder:
        return StoreBuilder(self.store, self.options, compiler)


def on_gpu(store: Store, options: Options, facts: RobotFacts) -> Any:
    """The functions of a file on a GPU."""
    from appell.gpu.evaluate import CudaEvaluator

    provide, own = partial(store.provide, dtype=options.dtype), np.array(facts.parameters, options.dtype)
    return CudaEvaluator(provide, options, own, quaternions(facts.free))


TARGETS: dict[str, Callable[[Store, Options, RobotFacts], Any]] = {"cpu": StoreEvaluator, "cuda": on_gpu}


class Loaded:
    """A robot out of a file. What its functions are, its subclasses say.

    Attributes:
        robot: what is known of the robot it was made from.
        options: how it is compiled here.
        held: the functions in the file, as `functions=` of `save` takes them.
    """

    def __init__(self, facts: RobotFacts, store: Store, options: Options) -> None:
        self.robot, self.options = facts, options
        self.held = tuple(describe(each.request) for each in store.functions)
        self.store = store
        self.functions = TARGETS[options.target](store, options, facts)
        self.functions.owner = self

    def __reduce__(self) -> tuple:
        return type(self), (self.robot, self.store, self.options)  # kernels stay behind; the cache has them

    @property
    def rotors(self) -> int:
        """How many of the parameters, the last ones, are of rotors."""
        return self.robot.rotors

    @property
    def system(self) -> SystemFacts:
        """What is known of a robot that is no plain tree."""
        if self.robot.system is None:
            raise TypeError(f"{self.robot.name!r} is a plain tree.")
        return self.robot.system

    @property
    def parameters(self) -> np.ndarray:
        """Inertial parameters of the robot, the default of `parameters=`."""
        return self.functions.parameters.copy()

    def __repr__(self) -> str:
        facts, options = self.robot, self.options
        return (
            f"{type(self).__name__}({facts.name!r}, nq={facts.nq}, nv={facts.nv}, target={options.target!r}, "
            f"dtype={options.dtype!r}, functions: {', '.join(self.held)})"
        )


class LoadedRobot(Loaded, Dynamics):
    """The functions of a robot out of a file; made by `appell.load_compiled`. They are documented in `Dynamics`."""

    def state_rate(self, law: Law, passive: bool, runtime: bool) -> tuple[str, Callable[[], Listing]]:
        """Rate of change of the state under a control law, for rollouts within one kernel."""
        if runtime and self.options.parameters != "runtime":
            raise ArgumentError(
                f"{self.store.place} has inertial parameters baked in. "
                "Save the robot again from appell.compile(robot, parameters='runtime')."
            )
        if not self.holds_rate(law, runtime):
            kept = ", ".join(sorted({name for name, _ in self.store.rates})) or "none"
            raise ArgumentError(
                f"{self.store.place} does not hold rollouts with the law {law.name!r}. It holds: {kept}. "
                f"Save the robot again with rollouts=[{law.name!r}]."
            )
        key, listed = self.store.rates[law.name, passive]
        return key, lambda: listed

    def holds_rate(self, law: Law, runtime: bool) -> bool:
        """Whether the file has such a `state_rate`."""
        return (law.name, True) in self.store.rates and runtime == (self.options.parameters == "runtime")

    @property
    def free_joints(self) -> tuple[FreeJoint, ...]:
        """Joints whose coordinates do not change at their speeds."""
        return self.robot.free

    @property
    def losses(self) -> Losses:
        """Damping and friction of the joints, which rollouts add."""
        return Losses(self.robot.damping, self.robot.friction)

"""`appell.compile`: the functions of a robot for a chosen target, precision, number of threads and memory layout.

`save` writes the operations of these functions to one file, which `appell.loading.compiled` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from appell.algorithms.coordinate_rates import QuasiVelocityJoint
from appell.algorithms.function_spec import FunctionSpec, as_function_spec
from appell.algorithms.laws import LAWS, Law
from appell.checks import require_choice
from appell.compiler.archive import container
from appell.compiler.archive.encode import lowered_data, operations_data, spec_data, stages_data
from appell.compiler.archive.store import FunctionStore
from appell.compiler.evaluate import Evaluator
from appell.compiler.operations import OperationList
from appell.compiler.options import CHOICES, Options
from appell.compiler.provider import TracedProvider
from appell.compiler.stages import before
from appell.compiler.targets.llvm.kernel import BY_LINKS
from appell.errors import ArgumentError, CompileError
from appell.model.joint_friction import JointFriction
from appell.robot.functions import Dynamics
from appell.robot.protocol import AnyRobot, delegated
from appell.version import __version__

if TYPE_CHECKING:
    import numpy as np

    from appell.robot.simulation_model import SimulationModel

FRICTION = {"with_losses": True, "without_losses": False}
"""Names in files of rates with and without damping and friction of the joints."""


def robot_data(robot: AnyRobot) -> dict[str, Any]:
    """What a file holds of a robot besides its functions."""
    system = robot.system
    if system.kind is None:
        raise CompileError(
            f"{robot.name!r} is of a kind that has no files. Compile it where it runs, or write its functions as C with "
            "appell.export."
        )
    loops = system.recursion is None
    damping, friction, springs = ((), (), ()) if system.friction is None else system.friction
    own = {
        "kind": system.kind, "sizes": dict(system.sizes), "parts": system.parts, "actuator_names": robot.actuator_names,
    }  # fmt: skip
    return {
        "name": robot.name, "nq": robot.nq, "nv": robot.nv, "joint_names": robot.joint_names,
        "body_names": robot.body_names, "gravity_vector": robot.gravity_vector,
        "parameters": tuple(float(x) for x in robot.parameters), "damping": damping, "friction": friction, "springs": springs,
        "free": system.free, "rotors": robot.rotors, "system": own if loops else None,
    }  # fmt: skip


def rate_data(dyn: CompiledRobot, law: str) -> dict[str, Any]:
    """The rate of the state under a law, with and without damping and friction of the joints."""
    require_choice("control law", law, LAWS)
    runtime = dyn.options.parameters == "runtime"
    rates = {name: operations_data(dyn.state_rate(LAWS[law], with_, runtime)[1]()) for name, with_ in FRICTION.items()}
    return {"law": law, **rates}


@dataclass(frozen=True)
class RobotMetadata:
    """What a file of a compiled robot holds besides its functions.

    Attributes:
        gravity_vector: baked into its functions. [m/s²]
        parameters: inertial parameters of all links, as `Robot.parameters`.
        friction: damping and friction of the joints, which rollouts add; None where there are no rollouts.
        free: joints whose coordinates do not change at their speeds.
        rotors: how many of the parameters, the last ones, are of rotors.
        kind: of its system, empty for a tree.
        sizes: entries of every input by name, and of every letter in the shapes of its functions.
        closure_names: of closures, or of legs.
    """

    name: str
    nq: int
    nv: int
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    gravity_vector: tuple[float, ...]
    parameters: tuple[float, ...]
    friction: JointFriction | None
    free: tuple[QuasiVelocityJoint, ...]
    rotors: int
    kind: str
    sizes: Mapping[str, int]
    closure_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    qd_names: tuple[str, ...]


class CompiledRobot(Dynamics):
    """The functions of a robot as compiled code; made by `appell.compile` and `appell.load_compiled`.

    They are documented in `Dynamics`.

    Attributes:
        robot: where it comes from: a robot of any kind, or the metadata of a file.
        options: the choices it was made with.
    """

    def __init__(self, robot: AnyRobot | RobotMetadata, options: Options, store: FunctionStore | None = None) -> None:
        self.robot: Any = robot
        self.options, self.store = options, store
        provider = TracedProvider(self.robot.system) if store is None else store
        self.functions = Evaluator(provider, options, owner=self)

    def __reduce__(self) -> tuple:
        return type(self), (self.robot, self.options, self.store)  # kernels are found in the cache

    rotors = delegated("robot.rotors", "How many of the parameters, the last ones, are of rotors.")
    qd_names = delegated("robot.qd_names", "A name for every entry of qd.")
    actuator_names = delegated("robot.actuator_names", "A name for every entry of tau.")
    closure_names = delegated("robot.closure_names", "Names of loop closures.")

    @property
    def parameters(self) -> np.ndarray:
        """Inertial parameters of the robot, the default of `parameters=`. See `Robot.parameters`."""
        return self.functions.parameters.copy()

    @property
    def held(self) -> tuple[str, ...]:
        """The functions in the file that it was loaded from, as `functions=` of `save` takes them; empty otherwise."""
        return () if self.store is None else self.store.held

    @property
    def quasi_velocity_joints(self) -> tuple[QuasiVelocityJoint, ...]:
        """Joints whose coordinates do not change at their speeds."""
        return self.robot.free if self.store else self.robot.system.free

    @property
    def friction(self) -> JointFriction | None:
        """Damping and friction of the joints, which rollouts add; None for closed loops."""
        return self.robot.friction if self.store else self.robot.system.friction

    def simulation_model(self) -> SimulationModel:
        """The interface that `appell.simulate` uses; of robots that were not loaded from a file."""
        return self.robot.simulation_model()

    def vector(self, name: str, given: Any) -> Any:
        """The argument `name` of a function from values by name; of robots that were not loaded from a file."""
        if self.store is None:
            return self.robot.vector(name, given)
        if isinstance(given, Mapping):
            raise ArgumentError(
                f"{name} is a dictionary; robots of files take arrays. Use `vector` of the robot itself."
            )
        return given

    def state_rate(self, law: Law, passive: bool, runtime: bool) -> tuple[str, Callable[[], OperationList]]:
        """Rate of the state under a control law, for rollouts: a digest, and its operations on demand."""
        return self.functions.provider.rate(law, passive, runtime)

    def save(
        self,
        path: str | PathLike,
        functions: Iterable[str | FunctionSpec] | None = None,
        frames: Sequence[str] = (),
        rollouts: Sequence[str] = (),
    ) -> None:
        """Write the robot to one file that `appell.load_compiled` reads, also where neither CasADi nor lxml is installed.

        The file holds operations, not machine code: it is compiled for the processor or GPU where it is loaded. Calls with
        `gravity=` or `external_forces=` are functions of their own: name them with a `FunctionSpec`.

        Args:
            functions: names as in `appell.export`; all dynamics and energies by default.
            frames: names of bodies whose pose and Jacobian are kept as well.
            rollouts: control laws of `appell.rollout` that are kept, for rollouts within one kernel on a GPU; of trees only.

        Example:
            >>> import appell, tempfile, pathlib
            >>> file = pathlib.Path(tempfile.mkdtemp(), "arm.appell")
            >>> appell.compile(appell.load("planar2r")).save(file, frames=["link2"])
            >>> appell.load_compiled(file).pose([0.0, 0.0], "link2")[0, 3].item()
            1.0
        """
        if self.store is not None:
            raise ArgumentError(f"{self.robot.name!r} was loaded from {self.store.path}. Copy that file instead.")
        robot, provider = self.robot, self.functions.provider
        wanted = [as_function_spec(function) for function in (robot.system.main if functions is None else functions)]
        wanted += [FunctionSpec(function, frame=frame) for frame in frames for function in ("pose", "jacobian")]
        if self.options.parameters == "runtime":
            wanted = [spec if spec.frame else replace(spec, parameter_input=True) for spec in wanted]
        stages = {spec: provider.stages(spec) for spec in wanted}
        wanted += [each for spec, found in stages.items() if found for each in before(spec)]
        described = robot_data(robot)
        if rollouts and robot.system.recursion is None:
            raise ArgumentError(f"rollouts are of trees; {robot.name!r} has closed loops. Leave `rollouts` out.")
        stored = []
        for spec in dict.fromkeys(wanted):
            provider.signature(spec)
            provider.require_mass(spec.function)
            _, method, _ = robot.system.find(spec.function, spec.method)
            lowered = provider.lowered(spec, "cpu", "float64")
            others = {dtype: provider.lowered(spec, "cuda", dtype) for dtype in CHOICES["dtype"]}
            gpu = {dtype: lowered_data(other) for dtype, other in others.items() if type(other) is not type(lowered)}
            data = {"request": spec_data(spec), "method": method, "form": lowered_data(lowered), "gpu": gpu}
            links = provider.link_parallel(spec) if lowered.cost > BY_LINKS["one"] else None
            data |= {} if links is None else {"links": lowered_data(links.rolled)}
            found = stages.get(spec)
            stored.append(data if found is None else {**data, "stages": stages_data(found)})
        options = {name: getattr(self.options, name) for name in ("dtype", "parameters", "layout")}
        content = {"written_by": f"appell {__version__}", "robot": described, "options": options}
        container.write(path, {**content, "functions": stored, "rollouts": [rate_data(self, law) for law in rollouts]})

    def __repr__(self) -> str:
        changed = {name: value for name, value in vars(self.options).items() if value != getattr(Options, name, None)}
        listed = "".join(f", {name}={value!r}" for name, value in changed.items())
        held = f", functions: {', '.join(self.held)}" if self.store else ""
        return f"CompiledRobot({self.robot.name!r}, nq={self.robot.nq}, nv={self.robot.nv}{listed}{held})"


def compile(
    robot: AnyRobot,
    target: str = "cpu",
    dtype: str = "float64",
    threads: int | None = None,
    parameters: str = "baked",
    layout: str = "rows",
) -> CompiledRobot:
    """The same functions as native code, under your control. A function is compiled when it is first called.

    `Robot` compiles by itself what is called often; this compiles at once (so that equal calls give equal bits from the
    first one on) and offers:

    Args:
        target: `"cpu"`, or `"cuda"`: one thread of a GPU is one state. CuPy, PyTorch and JAX arrays are then used in place,
            on the caller's stream, and results are arrays of the same kind; NumPy arrays are copied there and back. Looking
            for NaN and infinity waits for the GPU: pass `check=False` to stay asynchronous.
        dtype: `"float64"` or `"float32"`, of the arithmetic and of the results.
        threads: the most that a batch is split over; None for every core that the process may use.
        parameters: `"baked"` makes the robot's numbers constants, which is fastest; `"runtime"` makes inertial parameters an
            input of every function (`parameters=`, batches allowed) and needs no new code for another payload.
        layout: `"rows"`: arrays (..., n); `"columns"`: arrays (n, ...), which are read and written fastest unless the batch is
            a large power of two, when all columns want the same place in the processor's cache.

    Example:
        >>> import appell, numpy as np
        >>> dyn = appell.compile(appell.load("puma560"), layout="columns")
        >>> q = np.zeros((6, 1000))
        >>> dyn.inverse_dynamics(q, q, q).shape
        (6, 1000)
    """
    return CompiledRobot(robot, Options(target, dtype, threads, parameters, layout))

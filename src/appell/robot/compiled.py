"""`appell.compile`: a robot with a choice of precision, threads, layout and run-time parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appell.compiler.options import Options
from appell.compiler.targets.choice import TARGETS
from appell.robot.functions import Dynamics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    import numpy as np

    from appell.algorithms.coordinate_rates import QuasiVelocityJoint
    from appell.algorithms.laws import Law
    from appell.algorithms.request import Request
    from appell.compiler.listing import Listing
    from appell.model.joint_friction import JointFriction
    from appell.robot.robot import Robot
    from appell.robot.simulation_model import SimulationModel

MAIN = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity", "coriolis_matrix", "kinetic_energy",
    "potential_energy", "center_of_mass",
)  # fmt: skip
"""The main functions of a tree."""


class Compiled:
    """A robot with functions as native code. What its functions are, its subclasses say.

    Attributes:
        robot: where it comes from.
        options: the choices it was made with.
        main: functions that `save` writes unless others are asked for.
    """

    main: tuple[str, ...] = MAIN

    def __init__(self, robot: Any, options: Options) -> None:
        self.robot, self.options = robot, options
        self.functions = TARGETS[options.target](robot.system, options)
        self.functions.owner = self

    def __reduce__(self) -> tuple:
        return type(self), (self.robot, self.options)  # kernels stay behind; the cache has them

    @property
    def parameters(self) -> np.ndarray:
        """Inertial parameters of the robot, the default of `parameters=`. See `Robot.parameters`."""
        return self.functions.parameters.copy()

    def simulation_model(self) -> SimulationModel:
        """The interface that `appell.simulate` uses: that of the robot, with its own compiled functions."""
        return self.robot.simulation_model()

    def save(
        self,
        path: str | PathLike,
        functions: Iterable[str | Request] | None = None,
        frames: Sequence[str] = (),
        rollouts: Sequence[str] = (),
    ) -> None:
        """Write the robot to one file that `appell.load_compiled` reads, also where neither CasADi nor lxml is installed.

        The file holds operations, not machine code: it is compiled for the processor or GPU where it is loaded. Calls with
        `gravity=` or `external_forces=` are functions of their own: name them with a `Request`.

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
        from appell.robot.archive import save

        save(self, path, self.main if functions is None else functions, frames, rollouts)

    def __repr__(self) -> str:
        changed = {name: value for name, value in vars(self.options).items() if value != getattr(Options, name, None)}
        listed = "".join(f", {name}={value!r}" for name, value in changed.items())
        return f"{type(self).__name__}({self.robot.name!r}, nq={self.robot.nq}, nv={self.robot.nv}{listed})"


class CompiledRobot(Compiled, Dynamics):
    """The functions of a robot as native code; made by `appell.compile`. They are documented in `Dynamics`."""

    robot: Robot

    @property
    def rotors(self) -> int:
        return self.robot.rotors

    def state_rate(self, law: Law, passive: bool, runtime: bool) -> tuple[str, Callable[[], Listing]]:
        """Rate of change of the state under a control law, for rollouts: its name, and how to get its operations.

        Args:
            passive: with the losses of the joints.
            runtime: with inertial parameters as an input.
        """
        from appell.robot.state_rate import rate, rate_digest

        return rate_digest(self.robot, law, passive, runtime), lambda: rate(self.robot, law, passive, runtime)

    def holds_rate(self, law: Law, runtime: bool) -> bool:
        """Whether there is such a `state_rate`."""
        return True

    @property
    def quasi_velocity_joints(self) -> tuple[QuasiVelocityJoint, ...]:
        """Joints whose coordinates do not change at their speeds."""
        from appell.algorithms.coordinate_rates import quasi_velocity_joints

        return quasi_velocity_joints(self.robot.tree)

    @property
    def losses(self) -> JointFriction:
        """Damping and friction of the joints, which rollouts add."""
        from appell.model.joint_friction import joint_friction

        return joint_friction(self.robot)


def compile(
    robot: Robot,
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
    return robot.compiled(Options(target, dtype, threads, parameters, layout))

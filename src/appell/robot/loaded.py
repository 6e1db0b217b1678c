"""Compiled robots out of files: their functions, without their description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.algorithms.coordinate_rates import QuasiVelocityJoint
from appell.algorithms.request import describe
from appell.compiler.archive.store import TARGETS, Store
from appell.compiler.options import Options
from appell.errors import ArgumentError, LoopClosureError
from appell.model.joint_friction import JointFriction
from appell.robot.functions import Dynamics

if TYPE_CHECKING:
    import numpy as np

    from appell.algorithms.laws import Law
    from appell.compiler.listing import Listing


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
    free: tuple[QuasiVelocityJoint, ...] = ()
    rotors: int = 0
    system: SystemFacts | None = None


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
    def quasi_velocity_joints(self) -> tuple[QuasiVelocityJoint, ...]:
        """Joints whose coordinates do not change at their speeds."""
        return self.robot.free

    @property
    def losses(self) -> JointFriction:
        """Damping and friction of the joints, which rollouts add."""
        return JointFriction(self.robot.damping, self.robot.friction)


@dataclass(frozen=True)
class SystemFacts:
    """What a compiled robot that is no plain tree knows beside `RobotFacts`.

    Attributes:
        kind: one of `SYSTEMS`.
        sizes: entries of every input by name, and of every letter in the shapes of its functions.
        parts: names of closures, or of legs.
        actuator_names: in the order of their forces.
    """

    kind: str
    sizes: Mapping[str, int]
    parts: tuple[str, ...]
    actuator_names: tuple[str, ...]

    def explain(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        """Say what a result that is not finite means; which leg or closure it is, only the robot's description tells."""
        raise LoopClosureError(
            f"{function} is not finite: the configuration does not close the loops, is out of reach, or is singular. "
            "The robot from which the file was saved says which, at the same configuration.",
            status="singular", where="robot", value=float("nan"), index=(),
        )  # fmt: skip

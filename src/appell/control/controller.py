"""Controllers: a control law with its model, reference, gains, period and effort limits, as frozen data.

Their interface for `appell.simulate(..., controller=...)` is `period`, `initial_memory` and `step`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

import appell._native as native
from appell.algorithms.actuated_joints import ActuatedJoints
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.laws import LAWS, Law
from appell.checks import require_choice, require_positive, require_real_array
from appell.compiler.evaluate import ActiveKernel, evaluator_of
from appell.compiler.options import Options
from appell.control.references import ControlReference, ReferenceSample, as_reference
from appell.control.sampled import NO_EFFORT_LIMIT, ControlledTree
from appell.deprecation import renamed_attributes, renamed_fields
from appell.errors import ArgumentError, SimulationError
from appell.model.body import Six
from appell.model.joint_friction import joint_friction
from appell.names import as_vector
from appell.robot.robot import Robot
from appell.robot.simulation_model import state_limits

NO_MEMORY = np.zeros(0)
MAX_TABLE_SIZE = 1_000_000
"""Largest number of samples of a reference that are tabulated in advance."""


@renamed_attributes(start="initial_memory", limits="effort_limits")
@dataclass(frozen=True)
class Controller:
    """Base class of the controllers.

    Floating joints have no actuator: a controller acts on the other joints, n of them, and gives no forces to a floating base.
    Laws that compensate the inertia do so for the free robot; contact forces disturb them, and a standing robot is held better
    by a PD law with high gains. Gravity compensation holds the joints as if the base did not move.

    Attributes:
        robot: the controller's model of the robot, which may differ from the plant (`appell.control.scaled_masses`).
        reference: a point (n,), or a function of time that returns (q, qd, qdd), such as those of `appell.trajectories`.
        kp, kd: gains on the errors of position and velocity, numbers or (n,). Units 1/s² and 1/s where the law compensates
            the inertia, else N m/rad and N m s/rad.
        period: sampling period; None for a continuous-time controller. [s]
        effort_limit: maximum torque of the actuators, a number, (n,), numbers of some joints by name, or `"robot"` for the
            limits of the description; none by default. Integrals do not grow further into saturation. [N m, N]
        compensate_damping: add the damping of the model's joints times the measured velocity to the torque. Without it,
            damping of the plant is a disturbance to laws that compensate the inertia. Dry friction is not compensated.
    """

    robot: Robot
    reference: ControlReference | Callable[[float], ReferenceSample] | ArrayLike
    _: KW_ONLY
    kp: float | ArrayLike
    kd: float | ArrayLike
    period: float | None = 1e-3
    effort_limit: float | ArrayLike | Mapping[str, float] | str | None = None
    compensate_damping: bool = False
    law: ClassVar[Law]

    def __post_init__(self) -> None:
        n = len(self.joints.v)
        if len(self.joints.q) != n or self.robot.system.recursion is None:
            raise ArgumentError(
                f"{type(self).__name__} subtracts coordinates and needs a tree with nq = nv; {self.robot.name!r} has spherical "
                f"joints or closed loops (nq = {self.robot.nq}, nv = {self.robot.nv}). Only floating joints are left out."
            )
        if self.period is None and self.law.memory:
            raise ArgumentError(f"{type(self).__name__} has an integral: give it a period in seconds.")
        if self.period is not None:
            require_positive("period", self.period, "s", note=" or None")
        settings: dict[str, Any] = {name: nonnegative_vector(name, getattr(self, name), n) for name in self.law.gains}
        settings["reference"] = as_reference(self.reference, n)
        if self.effort_limit is not None:
            settings["effort_limit"] = self._effort_vector(self.effort_limit)
        for name, value in settings.items():
            object.__setattr__(self, name, value)

    def _effort_vector(self, given: Any) -> tuple[float, ...]:
        """Limits of the joints with an actuator, infinite for joints without one."""
        v = list(self.joints.v)
        if isinstance(given, str):
            require_choice("effort_limit", given, ("robot",))
            return tuple(state_limits(self.robot).effort[v].tolist())
        if not isinstance(given, Mapping):
            return nonnegative_vector("effort_limit", given, len(v))
        names = [self.robot.qd_names[k] for k in v]
        limits = as_vector("effort_limit", given, names, np.full(len(v), np.inf))
        if not (limits >= 0.0).all():
            raise ArgumentError(f"effort_limit is {given!r}, expected numbers that are not negative.")
        return tuple(limits.tolist())

    def initial_memory(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The memory at the first step: integrals are zero."""
        return np.zeros(len(self.joints.v) * len(self.law.memory)) if self.law.memory else NO_MEMORY

    def step(self, t: float, q: np.ndarray, qd: np.ndarray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Torques (nv,) for the coming period, and the memory at the next step."""
        return self.torque(q, qd, self.signals(t), memory, t)

    def signals(self, t: Any) -> np.ndarray:
        """The vectors `law.signals` of the reference, concatenated, (..., k n)."""
        if self.period and isinstance(t, float) and self._table is not None:
            k = round(t / self.period)
            if 0 <= k < len(self._table) and k * self.period == t:
                return self._table[k]
        return signals_of(self.law, self.reference, t)  # type: ignore[arg-type]

    @cached_property
    def _table(self) -> np.ndarray | None:
        """The signals at all multiples of the period of a finite reference: a batch is far cheaper than single calls."""
        duration = getattr(self.reference, "duration", math.inf)
        if self.period is None or not duration <= MAX_TABLE_SIZE * self.period:
            return None
        times = np.arange(math.ceil(duration / self.period) + 1) * self.period
        return np.ascontiguousarray(signals_of(self.law, self.reference, times))  # type: ignore[arg-type]

    def torque(
        self, q: np.ndarray, qd: np.ndarray, signals: np.ndarray, memory: np.ndarray, t: float = math.nan
    ) -> tuple[np.ndarray, np.ndarray]:
        """A step with given signals of the reference."""
        nv = self.robot.nv
        try:
            result = self.native_step(q, qd, signals, memory)
        except ValueError:  # lists, other types, wrong sizes
            n, law = len(self.joints.v), self.law
            parts = {"the reference": n * len(law.signals), "memory": n * len(law.memory)}
            sizes = {"q": self.robot.nq, "qd": nv, **parts}
            given = zip(sizes.items(), (q, qd, signals, memory), strict=True)
            result = self.native_step(*(require_real_array(name, value, (size,)) for (name, size), value in given))
        if result is None:
            raise SimulationError(
                f"{type(self).__name__}: a torque at t = {t:g} s is not finite. Check the state and the reference.",
                time=t, state=np.concatenate([q, qd]), quantity="tau",
            )  # fmt: skip
        return result[:nv], result[nv:]

    @cached_property
    def native_step(self) -> Callable[..., np.ndarray | None]:
        """The compiled step without checks: (q, qd, signals, memory) to torques and new memory, (nv + memory,).

        It takes contiguous float64 arrays (others raise `ValueError`) and returns None where a number is not finite.
        """
        evaluator = evaluator_of(self.controlled, Options(threads=1))
        ready = evaluator.kernel(FunctionSpec("step"), [])
        run, empty, size = checked_call(ready), np.empty, ready.signature.entries
        gains, limit = np.concatenate([*self.gains.values()]), np.minimum(self.effort_limits, NO_EFFORT_LIMIT)
        period = np.array([self.period or 0.0])

        def without_memory(q: np.ndarray, qd: np.ndarray, signals: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
            result = empty(size)
            return result if run((q, qd, signals, gains, limit), result) else None

        def with_memory(q: np.ndarray, qd: np.ndarray, signals: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
            result = empty(size)
            return result if run((q, qd, signals, gains, limit, memory, period), result) else None

        return with_memory if self.law.memory else without_memory

    @property
    def controlled(self) -> ControlledTree:
        """The model with the law, as a function to compile."""
        damping = joint_friction(self.robot).damping if self.compensate_damping else ()
        return ControlledTree(self.law, self.robot.tree, damping)

    @property
    def gains(self) -> Mapping[str, np.ndarray]:
        """Gains (n,) by name, as `appell.rollout` takes them."""
        return {name: np.array(getattr(self, name)) for name in self.law.gains}

    @property
    def effort_limits(self) -> np.ndarray:
        """Effort limits (nv,), infinite where there are none. [N m, N]"""
        limits = np.full(self.robot.nv, np.inf)
        limits[list(self.joints.v)] = np.inf if self.effort_limit is None else self.effort_limit
        return limits

    @cached_property
    def joints(self) -> ActuatedJoints:
        """The joints that it acts on."""
        return ActuatedJoints.of(self.robot.nq, self.robot.nv, self.robot.system.free)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("native_step", "joints", "_table")}


@dataclass(frozen=True)
class PD(Controller):
    """Feedback of each joint without a model:  τ = -Kp e - Kd ė,  e = q - q_d.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> controller = appell.control.PD(arm, [0.5, 0.25], kp=100.0, kd=20.0)
        >>> q, qd = np.zeros(2), np.zeros(2)
        >>> tau, memory = controller.step(0.0, q, qd, controller.initial_memory(0.0, q, qd))
        >>> tau.tolist()
        [50.0, 25.0]
    """

    law: ClassVar[Law] = LAWS["pd"]


@dataclass(frozen=True)
class PDGravity(Controller):
    """Feedback of each joint with gravity compensation:  τ = G(q) - Kp e - Kd ė."""

    law: ClassVar[Law] = LAWS["pd_gravity"]


@dataclass(frozen=True)
class PointToPoint(Controller):
    """Inverse dynamics control to a point, Valera 2003, table 4:  τ = M v + C q̇ + G,  v = -Kd q̇ - Kp e."""

    law: ClassVar[Law] = LAWS["point_to_point"]


@dataclass(frozen=True)
class ComputedTorque(Controller):
    """Inverse dynamics control along a reference, Valera 2003, table 4:  v = q̈_d - Kd ė - Kp e.

    With an exact model the error satisfies ë + Kd ė + Kp e = 0. Table 4 prints -Kd q̇, a misprint.
    """

    law: ClassVar[Law] = LAWS["computed_torque"]


@dataclass(frozen=True)
class ComputedTorqueIntegral(Controller):
    """Computed torque with integral action, Valera 2003, table 4:  v = q̈_d - Kd ė - Kp e - Ki ∫ e dt.

    Stable with an exact model for Ki < Kp Kd. The integral removes the constant error of a wrong model or of friction.

    Attributes:
        ki: gain on the integral of the error, a number or (n,). [1/s³]
    """

    _: KW_ONLY
    ki: float | ArrayLike
    law: ClassVar[Law] = LAWS["integral_tracking"]


CONTROLLERS: Mapping[str, type[Controller]] = {
    controller.law.name: controller
    for controller in (PD, PDGravity, PointToPoint, ComputedTorque, ComputedTorqueIntegral)
}
"""The controller class of each law."""

for controller_class in CONTROLLERS.values():
    renamed_fields(limit="effort_limit")(controller_class)


def default_gains(
    robot: Robot, law: str = "pd", q: ArrayLike | None = None, period: float = 1e-3
) -> dict[str, np.ndarray]:
    """Gains (n,) to start from, by name, for the joints with an actuator.

    Of laws that compensate the inertia Kp = 100 1/s², Kd = 20 1/s, Ki = 100 1/s³: 10 rad/s, critically damped. Of PD laws an
    error of half a radian gives the effort limit of the joint, and Kd = Kp / (20 1/s), at most I / (2 period) for the inertia
    I = 1 / (M⁻¹)_ii; without an effort limit Kp = 100 1/s² M_ii and Kd = 20 1/s M_ii.

    Args:
        q: configuration (nq,) at which the inertias are taken; by default the neutral one.
        period: of the controller. [s]

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> gains = appell.control.default_gains(arm, "computed_torque")
        >>> controller = appell.control.ComputedTorque(arm, [0.5, 0.25], **gains)
        >>> gains["kp"].tolist()
        [100.0, 100.0]
    """
    rule = LAWS[require_choice("control law", law, CONTROLLERS)]
    own = list(ActuatedJoints.of(robot.nq, robot.nv, robot.system.free).v)
    gains = {"kp": np.full(len(own), 100.0), "kd": np.full(len(own), 20.0), "ki": np.full(len(own), 100.0)}
    if law in ("pd", "pd_gravity"):
        M = robot.mass_matrix(robot.neutral_configuration() if q is None else q)
        moved, effective = M.diagonal()[own], 1.0 / np.linalg.inv(M).diagonal()[own]
        effort = robot.simulation_model().limits.effort[own]
        limited = np.isfinite(effort) & (effort > 0.0)
        gains["kp"] = np.where(limited, 2.0 * np.where(limited, effort, 0.0), 100.0 * moved)
        gains["kd"] = np.where(limited, np.minimum(gains["kp"] / 20.0, effective / (2.0 * period)), 20.0 * moved)
    return {name: gains[name] for name in rule.gains}


def signals_of(law: Law, reference: Callable[[Any], ReferenceSample], t: Any) -> np.ndarray:
    """The vectors `law.signals` of a reference, concatenated, (..., k n)."""
    sample = reference(t)
    if not (isinstance(sample, (tuple, list)) and len(sample) == 3):
        raise ArgumentError(f"the reference returns a {type(sample).__name__}, expected the three arrays (q, qd, qdd).")
    vectors: dict[str, np.ndarray] = dict(zip(("q", "qd", "qdd"), map(np.asarray, sample), strict=True))
    return np.concatenate([vectors[name] for name in law.signals], axis=-1, dtype=float)


def checked_call(ready: ActiveKernel) -> Callable[[tuple[np.ndarray, ...], np.ndarray], bool]:
    """A kernel's call that raises for arrays of other shapes or types, as the C extension does by itself."""
    kernel, sizes = ready.kernel, [size for _, size in ready.signature.inputs]
    if native.Kernel is not None and isinstance(kernel, native.Kernel):
        return kernel.run

    def run(inputs: tuple[np.ndarray, ...], out: np.ndarray) -> bool:
        fits = all(isinstance(x, np.ndarray) and x.dtype == float and x.flags.c_contiguous for x in inputs)
        if not fits or [x.shape for x in inputs] != [(size,) for size in sizes]:
            raise ValueError("arrays do not have the shapes and types of this kernel")
        return kernel.run(inputs, out)

    return run


def nonnegative_vector(name: str, value: float | ArrayLike, n: int) -> tuple[float, ...]:
    """A nonnegative number, or n of them, as n numbers."""
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (n,)):
        raise ArgumentError(f"{name} has shape {array.shape}, expected a number or ({n},).")
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise ArgumentError(f"{name} is {value!r}, expected finite numbers that are not negative.")
    return tuple(np.broadcast_to(array, (n,)).tolist())


def scaled_masses(robot: Robot, factor: float | ArrayLike) -> Robot:
    """The same robot with masses and inertias multiplied by a factor, one for all bodies or one per body.

    Use it as the model of a controller, with the true robot in the simulation.

    Example:
        >>> import appell
        >>> heavy = appell.control.scaled_masses(appell.load("puma560"), 1.2)
        >>> heavy.body("link2").mass
        18.9372
    """
    factors = np.broadcast_to(np.asarray(factor, dtype=float), (len(robot.bodies),))
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise ArgumentError(f"factor is {factor!r}, expected positive numbers.")
    bodies = tuple(
        replace(body, mass=body.mass * f, inertia=cast("Six", tuple(x * f for x in body.inertia)))
        for body, f in zip(robot.bodies, factors.tolist(), strict=True)
    )
    return replace(robot, bodies=bodies)

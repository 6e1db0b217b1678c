"""Controllers: a law with its model, reference, gains, period and limits, as frozen data.

All of them offer what `appell.simulate(..., control=...)` asks for: `period`, `start` and `step`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import appell._native as native
from appell.algorithms.laws import LAWS, Law
from appell.control.references import Motion, Reference, as_reference
from appell.control.sampled import UNLIMITED, Controlled
from appell.errors import ArgumentError, SimulationError
from appell.model.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.compiler.evaluate import Ready
    from appell.robot.robot import Robot

NO_MEMORY = np.zeros(0)
LONGEST = 1_000_000
"""Most periods of a reference that are looked up in advance."""


@dataclass(frozen=True)
class Controller:
    """What all controllers share.

    Attributes:
        robot: the controller's own model of the robot; it may be wrong (`appell.control.scaled_masses`).
        reference: a point (n,), or a function of time that gives (q, qd, qdd) such as those of `appell.trajectories`.
        kp, kd: gains on the errors of position and speed, numbers or (n,). The unit of kp is 1/s² where the robot's inertia
            is compensated and N m/rad where it is not; of kd 1/s, or N m s/rad.
        period: time between two steps; None where the controller acts at every instant. [s]
        limit: the most torque that the drives give, a number or (n,); none by default. Integrals do not grow while they
            ask for more. [N m, N]
    """

    robot: Robot
    reference: Reference | Callable[[float], Motion] | ArrayLike
    _: KW_ONLY
    kp: float | ArrayLike
    kd: float | ArrayLike
    period: float | None = 1e-3
    limit: float | ArrayLike | None = None
    law: ClassVar[Law]

    def __post_init__(self) -> None:
        n = self.robot.nv
        if self.robot.nq != n or not isinstance(self.robot.system, Tree):
            raise ArgumentError(
                f"{type(self).__name__} compares coordinates one by one and needs a tree with nq = nv; {self.robot.name!r} has "
                f"joints that turn freely in space or closed loops (nq = {self.robot.nq}, nv = {n})."
            )
        if self.period is None and self.law.memory:
            raise ArgumentError(f"{type(self).__name__} keeps an integral: give it a period in seconds.")
        if self.period is not None and not (math.isfinite(self.period) and self.period > 0.0):
            raise ArgumentError(f"period is {self.period!r}, expected a positive number of seconds or None.")
        settings: dict[str, Any] = {name: vector(name, getattr(self, name), n) for name in self.law.gains}
        settings["reference"] = as_reference(self.reference, n)
        if self.limit is not None:
            settings["limit"] = vector("limit", self.limit, n)
        for name, value in settings.items():
            object.__setattr__(self, name, value)

    # --- the interface of simulations -----------------------------------------------------------------------------------

    def start(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The memory at the first step: integrals are zero."""
        return np.zeros(self.robot.nv * len(self.law.memory)) if self.law.memory else NO_MEMORY

    def step(self, t: float, q: np.ndarray, qd: np.ndarray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Torques (n,) for the coming period, and the memory at the next step."""
        return self.torque(q, qd, self.signals(t), memory, t)

    # --- its parts ----------------------------------------------------------------------------------------------------

    def signals(self, t: Any) -> np.ndarray:
        """What the law reads of the reference, (..., k n): the vectors of `law.signals` side by side."""
        if self.period and isinstance(t, float) and self._table is not None:
            k = round(t / self.period)
            if 0 <= k < len(self._table) and k * self.period == t:
                return self._table[k]
        return signals_of(self.law, self.reference, t)  # type: ignore[arg-type]

    @cached_property
    def _table(self) -> np.ndarray | None:
        """The signals at all multiples of the period, where the reference ends: many at once cost far less than one by one."""
        duration = getattr(self.reference, "duration", math.inf)
        if self.period is None or not duration <= LONGEST * self.period:
            return None
        times = np.arange(math.ceil(duration / self.period) + 1) * self.period
        return np.ascontiguousarray(signals_of(self.law, self.reference, times))  # type: ignore[arg-type]

    def torque(
        self, q: np.ndarray, qd: np.ndarray, signals: np.ndarray, memory: np.ndarray, t: float = math.nan
    ) -> tuple[np.ndarray, np.ndarray]:
        """The step with the reference already looked up."""
        n = self.robot.nv
        try:
            result = self.native_step(q, qd, signals, memory)
        except ValueError:  # lists, other types, wrong sizes
            sizes = {"q": n, "qd": n, "the reference": n * len(self.law.signals), "memory": n * len(self.law.memory)}
            given = zip(sizes.items(), (q, qd, signals, memory), strict=True)
            result = self.native_step(*(as_vector(name, value, size) for (name, size), value in given))
        if result is None:
            raise SimulationError(
                f"{type(self).__name__}: a torque at t = {t:g} s is not finite. Look at the state and the reference.",
                time=t, state=np.concatenate([q, qd]), quantity="tau",
            )  # fmt: skip
        return result[:n], result[n:]

    @cached_property
    def native_step(self) -> Callable[..., np.ndarray | None]:
        """The compiled period, for loops that count microseconds: (q, qd, signals, memory) to torques and new memory.

        It takes contiguous arrays of 64-bit floats (others are a `ValueError`) and gives one array (n + memory,), None where
        a number is not finite.
        """
        from appell.algorithms.request import Request
        from appell.compiler.evaluate import Evaluator
        from appell.compiler.options import Options

        evaluator = Evaluator(Controlled(self.law, self.robot.tree), Options(threads=1))
        ready = evaluator.kernel(Request("step"))
        run, empty, size = strict(ready), np.empty, ready.signature.entries
        gains, limit = np.concatenate([*self.gains.values()]), np.minimum(self.limits, UNLIMITED)
        period = np.array([self.period or 0.0])

        def forgetful(q: np.ndarray, qd: np.ndarray, signals: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
            result = empty(size)
            return result if run((q, qd, signals, gains, limit), result) else None

        def remembering(q: np.ndarray, qd: np.ndarray, signals: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
            result = empty(size)
            return result if run((q, qd, signals, gains, limit, memory, period), result) else None

        return remembering if self.law.memory else forgetful

    @property
    def gains(self) -> Mapping[str, np.ndarray]:
        """Gains (n,) by name, as `appell.rollout` takes them."""
        return {name: np.array(getattr(self, name)) for name in self.law.gains}

    @property
    def limits(self) -> np.ndarray:
        """Torque limits (n,), infinite where there are none. [N m, N]"""
        return np.full(self.robot.nv, np.inf) if self.limit is None else np.array(self.limit)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("native_step", "_table")}


@dataclass(frozen=True)
class PD(Controller):
    """Each joint by itself, without a model:  τ = -Kp e - Kd ė,  e = q - q_d.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> controller = appell.control.PD(arm, [0.5, 0.25], kp=100.0, kd=20.0)
        >>> q, qd = np.zeros(2), np.zeros(2)
        >>> tau, memory = controller.step(0.0, q, qd, controller.start(0.0, q, qd))
        >>> tau.tolist()
        [50.0, 25.0]
    """

    law: ClassVar[Law] = LAWS["pd"]


@dataclass(frozen=True)
class PDGravity(Controller):
    """Each joint by itself, its weight carried by the model:  τ = G(q) - Kp e - Kd ė."""

    law: ClassVar[Law] = LAWS["pd_gravity"]


@dataclass(frozen=True)
class PointToPoint(Controller):
    """Inverse dynamics control to a point, Valera 2003, table 4:  τ = M v + C q̇ + G,  v = -Kd q̇ - Kp e."""

    law: ClassVar[Law] = LAWS["point_to_point"]


@dataclass(frozen=True)
class Tracking(Controller):
    """Inverse dynamics control along a reference, Valera 2003, table 4:  v = q̈_d - Kd ė - Kp e.

    The error of an exact model obeys ë + Kd ė + Kp e = 0. Table 4 prints -Kd q̇, a misprint.
    """

    law: ClassVar[Law] = LAWS["computed_torque"]


@dataclass(frozen=True)
class IntegralTracking(Controller):
    """Tracking with integral action, Valera 2003, table 4:  v = q̈_d - Kd ė - Kp e - Ki ∫ e dt.

    Stable for an exact model while Ki < Kp Kd. The integral takes out what a wrong model or friction leaves.

    Attributes:
        ki: gain on the integral of the error, a number or (n,). [1/s³]
    """

    _: KW_ONLY
    ki: float | ArrayLike
    law: ClassVar[Law] = LAWS["integral_tracking"]


CONTROLLERS: Mapping[str, type[Controller]] = {
    each.law.name: each for each in (PD, PDGravity, PointToPoint, Tracking, IntegralTracking)
}
"""Controller of each law."""


def signals_of(law: Law, reference: Callable[[Any], Motion], t: Any) -> np.ndarray:
    """What a law reads of a reference, (..., k n): the vectors of `law.signals` side by side."""
    motion = reference(t)
    if not (isinstance(motion, (tuple, list)) and len(motion) == 3):
        raise ArgumentError(f"the reference gives a {type(motion).__name__}, expected the three arrays (q, qd, qdd).")
    known: dict[str, np.ndarray] = dict(zip(("q", "qd", "qdd"), map(np.asarray, motion), strict=True))
    return np.concatenate([known[name] for name in law.signals], axis=-1, dtype=float)


def strict(ready: Ready) -> Callable[[tuple[np.ndarray, ...], np.ndarray], bool]:
    """A kernel's call that refuses arrays which do not fit, as native ones do by themselves."""
    kernel, sizes = ready.kernel, [size for _, size in ready.signature.inputs]
    if native.Kernel is not None and isinstance(kernel, native.Kernel):
        return kernel.run

    def run(inputs: tuple[np.ndarray, ...], out: np.ndarray) -> bool:
        fits = all(isinstance(x, np.ndarray) and x.dtype == float and x.flags.c_contiguous for x in inputs)
        if not fits or [x.shape for x in inputs] != [(size,) for size in sizes]:
            raise ValueError("arrays do not have the shapes and types of this kernel")
        return kernel.run(inputs, out)

    return run


def as_vector(name: str, value: ArrayLike, size: int) -> np.ndarray:
    """Numbers as a contiguous vector, or an error that says what they are of."""
    array = np.ascontiguousarray(value, dtype=float)
    if array.shape != (size,):
        raise ArgumentError(f"{name} has shape {np.shape(value)}, expected ({size},).")
    return array


def vector(name: str, value: float | ArrayLike, n: int) -> tuple[float, ...]:
    """A number or n numbers, none negative, as n numbers."""
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (n,)):
        raise ArgumentError(f"{name} has shape {array.shape}, expected a number or ({n},).")
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise ArgumentError(f"{name} is {value!r}, expected finite numbers that are not negative.")
    return tuple(np.broadcast_to(array, (n,)).tolist())

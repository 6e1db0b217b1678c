"""Detection of collisions and drive faults by an observer of the generalized momentum.

With p = M q̇, and Ṁ = C + C^T, the equations of motion are ṗ = τ + C^T q̇ - g + τ_ext: no acceleration is needed. The observer

    r = K (p - p(0) - ∫ (τ + C^T q̇ - g + r) dt),        ṙ = K (τ_ext - r)

follows the forces that the model does not have, as a filter of first order. A force on a body shows in its joint and in those
between it and the base; a drive that fails shows in its own joint alone.

Source: A. De Luca, R. Mattone, Actuator failure detection and isolation using generalized momenta, ICRA 2003; S. Haddadin,
A. De Luca, A. Albu-Schäffer, Robot collisions: a survey on detection, isolation, and identification, IEEE Trans. Robotics 33
(2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_integer, require_positive, require_real_array
from appell.control.controller import nonnegative_vector
from appell.errors import ArgumentError
from appell.model.tree import require_tree
from appell.robot.compiled import CompiledRobot, compile
from appell.robot.robot import Robot


class ObserverState(NamedTuple):
    """The observer after a sample, arrays (..., nv).

    Attributes:
        residual: estimate r of the forces that the model does not have. [N m, N]
        integral: p(0) + ∫ (τ + C^T q̇ - g + r) dt. [N m s, N s]
        rate: C^T q̇ - g and the passive forces at the sample. [N m, N]
    """

    residual: np.ndarray
    integral: np.ndarray
    rate: np.ndarray


@dataclass(frozen=True)
class MomentumObserver:
    """Estimates the forces on a tree that its model does not have, from q, qd and the forces of the drives.

    Attributes:
        robot: the model, with the damping and friction of its joints.
        gain: K, bandwidth of the estimate, a number or (nv,). [1/s]
        period: between samples, in which the forces of the drives are constant. [s]

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> observer = appell.control.MomentumObserver(arm, gain=100.0, period=1e-3)
        >>> t, q = np.arange(300) * 1e-3, np.zeros((300, 2))
        >>> hold = np.tile(arm.gravity(q[0]) - [0.0, 2.0], (300, 1))  # something carries 2 N m of joint 2
        >>> observer.residuals(q, 0 * q, hold)[-1].round(3).tolist()
        [0.0, 2.0]
    """

    robot: Robot
    gain: float | ArrayLike = 50.0
    period: float = 1e-3

    def __post_init__(self) -> None:
        require_tree("robot", self.robot)
        require_positive("period", self.period, "s")
        object.__setattr__(self, "gain", nonnegative_vector("gain", self.gain, self.robot.nv))

    @cached_property
    def dynamics(self) -> CompiledRobot:
        """The compiled model."""
        return compile(self.robot, threads=1)

    def initial_state(self, q: np.ndarray, qd: np.ndarray) -> ObserverState:
        """The state at the first sample: no residual."""
        p, rate = self._momentum(q, qd)
        return ObserverState(np.zeros_like(p), p, rate)

    def step(self, state: ObserverState, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> ObserverState:
        """The state at the next sample, arrays (..., nv).

        Args:
            q, qd: at this sample.
            tau: forces of the drives since the last sample. [N m, N]
        """
        T, K = self.period, np.asarray(self.gain)
        p, rate = self._momentum(q, qd)
        known = state.integral + T * (tau + 0.5 * (state.rate + rate) + 0.5 * state.residual)
        residual = K * (p - known) / (1.0 + 0.5 * T * K)  # r at the end of the trapezoidal rule is on both sides
        return ObserverState(residual, known + 0.5 * T * residual, rate)

    def residuals(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Residuals of a record, (N, nv); `tau[k]` acts from sample k to the next. [N m, N]"""
        n = len(require_real_array("q", q))
        q, qd, tau = (
            require_real_array(name, values, (n, size))
            for name, values, size in (("q", q, self.robot.nq), ("qd", qd, self.robot.nv), ("tau", tau, self.robot.nv))
        )
        state = self.initial_state(q[0], qd[0])
        found = [state.residual]
        for k in range(1, n):
            state = self.step(state, q[k], qd[k], tau[k - 1])
            found.append(state.residual)
        return np.array(found)

    def _momentum(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """p, and C^T q̇ - g with the passive forces."""
        model = self.dynamics
        M, C = model.mass_matrix(q, check=False), model.coriolis_matrix(q, qd, check=False)
        p = np.matmul(M, qd[..., None])[..., 0]
        turning = np.matmul(np.swapaxes(C, -1, -2), qd[..., None])[..., 0]
        return p, turning - model.gravity(q, check=False) + self.robot.passive_forces(qd)


@dataclass(frozen=True)
class FaultAlarm:
    """A fault that was detected.

    Attributes:
        time: of the sample at which it was reported. [s]
        onset: of the first sample with a residual beyond its threshold. [s]
        kind: `"collision"`: joints between a body and the base are pushed; `"drive"`: one joint alone, which is a failed drive or
            a force that no other joint feels.
        joint: name of the outermost joint that is pushed, or of the joint whose drive fails.
        body: the body of this joint; a collision is there or beyond.
        residual: (nv,). [N m, N]
    """

    time: float
    onset: float
    kind: str
    joint: str
    body: str
    residual: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        what = (
            f"a force on {self.body} or beyond" if self.kind == "collision" else f"a fault of the drive of {self.joint}"
        )
        return f"{what} at {self.onset:.4g} s, reported at {self.time:.4g} s."


class DetectorState(NamedTuple):
    """The detector after a sample: the observer, number of samples, and how many in a row were beyond a threshold."""

    observer: ObserverState
    sample: int
    beyond: int


@dataclass(frozen=True)
class FaultDetector:
    """Reports a fault when a residual stays beyond its threshold.

    Attributes:
        threshold: of each residual, a number or (nv,), from `thresholds` of a motion without faults. [N m, N]
        samples: number of samples in a row with a residual beyond its threshold, until the fault is reported and named.
    """

    observer: MomentumObserver
    threshold: float | ArrayLike
    samples: int = 10

    def __post_init__(self) -> None:
        require_integer("samples", self.samples, 1)
        threshold = nonnegative_vector("threshold", self.threshold, self.observer.robot.nv)
        if min(threshold) <= 0.0:
            raise ArgumentError(f"threshold is {threshold}, expected positive numbers. Take them from `thresholds`.")
        object.__setattr__(self, "threshold", threshold)

    @classmethod
    def calibrated(
        cls,
        observer: MomentumObserver,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        margin: float = 1.5,
        samples: int = 10,
    ) -> FaultDetector:
        """Thresholds from a record without faults: its largest residuals times a margin."""
        return cls(observer, thresholds(observer.residuals(q, qd, tau), margin), samples)

    def initial_state(self, q: np.ndarray, qd: np.ndarray) -> DetectorState:
        """The state at the first sample."""
        return DetectorState(self.observer.initial_state(q, qd), 0, 0)

    def step(
        self, state: DetectorState, q: np.ndarray, qd: np.ndarray, tau: np.ndarray
    ) -> tuple[DetectorState, FaultAlarm | None]:
        """The state at the next sample, and the fault if one is reported at it."""
        observer = self.observer.step(state.observer, q, qd, tau)
        beyond = state.beyond + 1 if (np.abs(observer.residual) > self.threshold).any() else 0
        after = DetectorState(observer, state.sample + 1, beyond)
        return after, self.alarm(after.sample, observer.residual) if beyond == self.samples else None

    def detect(self, residuals: np.ndarray) -> FaultAlarm | None:
        """The first fault of a record of residuals (N, nv)."""
        beyond = (np.abs(residuals) > np.asarray(self.threshold)).any(axis=1).astype(int)
        runs = np.convolve(beyond, np.ones(self.samples, dtype=int))[: len(beyond)] == self.samples
        first = int(np.argmax(runs)) if runs.any() else None
        return None if first is None else self.alarm(first, residuals[first])

    def alarm(self, sample: int, residual: np.ndarray) -> FaultAlarm:
        """The name of a fault that is reported at a sample."""
        tree, T = self.observer.robot.tree, self.observer.period
        ratio = np.abs(residual) / np.asarray(self.threshold)
        strength = [
            float(ratio[link.idx_v : link.idx_v + link.kind.nv].max(initial=0.0)) * link.is_independent
            for link in tree.links
        ]
        pushed = {k for k, value in enumerate(strength) if value > 1.0}
        strongest = max(pushed, key=lambda k: strength[k])
        outermost = max((k for k in pushed if strongest in tree.ancestors(k)), key=lambda k: len(tree.ancestors(k)))
        kind = "collision" if pushed & set(tree.ancestors(outermost)[1:]) else "drive"
        link = tree.links[outermost]
        return FaultAlarm(sample * T, (sample + 1 - self.samples) * T, kind, link.name, link.body, residual)


def thresholds(residuals: ArrayLike, margin: float = 1.5) -> np.ndarray:
    """Thresholds (nv,) from residuals (..., nv) of motions without faults: the largest of each, times a margin. [N m, N]"""
    values = np.abs(require_real_array("residuals", residuals))
    return margin * values.reshape(-1, values.shape[-1]).max(axis=0)

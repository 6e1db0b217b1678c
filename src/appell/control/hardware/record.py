"""What happened in a run of the open controller: motion, timing, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.control.hardware.axes import Axes
from appell.control.hardware.homing import Homed
from appell.control.hardware.safety import Stop
from appell.control.hardware.signals import Commands
from appell.table import Table

if TYPE_CHECKING:
    from appell.control.controller import Controller

TIMINGS = {True: ("period", "jitter", "late", "computing", "answering"), False: ("computing", "answering")}
"""What is said about time, each as mean, 99 % and worst: where the clock was kept, and in virtual time."""


class Cycle(NamedTuple):
    """One period.

    Attributes:
        time: since the run began. [s]
        stage: `"home"`, `"approach"` or `"follow"`.
        q, reference: where the robot is, as estimated, and where it should be, (n,). [rad]
        tau, codes: what the law asks for [N m], and the outputs that were set, (n,).
        begun: the clock at its beginning. [s]
        late: after its deadline. [s]
        computing: time of the control law. [s]
        answering: time from the readings to the outputs. [s]
    """

    time: float
    stage: str
    q: np.ndarray
    reference: np.ndarray
    tau: np.ndarray
    codes: np.ndarray
    begun: float
    late: float
    computing: float
    answering: float


class Recorder:
    """Keeps the periods of a run."""

    def __init__(self) -> None:
        self.cycles: list[Cycle] = []

    def add(self, cycle: Cycle) -> None:
        self.cycles.append(cycle)

    def run(
        self, controller: Controller, axes: Axes, timed: bool, stop: Stop | None, outputs: Commands, homed: Homed | None
    ) -> Run:
        """The periods as arrays."""
        columns = zip(*self.cycles, strict=True) if self.cycles else [()] * len(Cycle._fields)
        named = dict(zip(Cycle._fields, columns, strict=True))
        wide = {k: np.array(named[k], dtype=float).reshape(-1, len(axes)) for k in ("q", "reference", "tau", "codes")}
        long = {k: np.array(named[k], dtype=float) for k in ("begun", "late", "computing", "answering")}
        return Run(
            law=controller.law.name, nominal=controller.period or 0.0, timed=timed, resolution=axes.resolution, stop=stop,
            outputs=outputs, homed=homed, joint_names=controller.robot.joint_names,
            t=np.array(named["time"], dtype=float), stage=np.array(named["stage"], dtype=str), **wide, **long,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Run:
    """A run of the open controller, N periods of n joints.

    Attributes:
        law: of the controller.
        nominal: its period. [s]
        timed: whether a clock kept it; in virtual time periods are as long as they take.
        resolution: joint angle of one encoder count (a quarter line, through the gear), (n,). [rad]
        stop: why it ended before its time, None if it did not.
        outputs: what the cards were left with: zero volts.
        homed: offsets of the encoders, None if it never got there.
        t: times since the run began, (N,). [s]
        stage: of each period, (N,).
        q, reference: where the robot is, as estimated from the encoders, and where it should be, (N, n). [rad]
        tau, codes: what the law asked for [N m], and the codes of the outputs, (N, n).
        begun, late, computing, answering: as in `Cycle`, (N,). [s]
    """

    law: str
    nominal: float
    timed: bool
    resolution: np.ndarray
    stop: Stop | None
    outputs: Commands
    homed: Homed | None
    joint_names: tuple[str, ...]
    t: np.ndarray
    stage: np.ndarray
    q: np.ndarray
    reference: np.ndarray
    tau: np.ndarray
    codes: np.ndarray
    begun: np.ndarray
    late: np.ndarray
    computing: np.ndarray
    answering: np.ndarray

    @property
    def ok(self) -> bool:
        """Whether the run reached its end."""
        return self.stop is None

    @property
    def error(self) -> np.ndarray:
        """q minus its reference, (N, n). [rad]"""
        return self.q - self.reference

    @property
    def period(self) -> np.ndarray:
        """Measured time between the beginnings of periods, (N - 1,). [s]"""
        return np.diff(self.begun)

    @property
    def jitter(self) -> np.ndarray:
        """How far the periods are from their nominal length, (N - 1,). [s]"""
        return np.abs(self.period - self.nominal)

    def timing(self) -> dict[str, dict[str, float]]:
        """Mean, 99th percentile and worst of period, jitter, lateness, computing and answering time. [s]"""
        values = {name: getattr(self, name) for name in TIMINGS[self.timed]}
        return {
            name: {"mean": float(x.mean()), "p99": float(np.percentile(x, 99)), "worst": float(x.max())}
            for name, x in values.items()
            if len(x)
        }

    def following(self) -> np.ndarray:
        """Errors while the reference was followed, (M, n). [rad]"""
        return self.error[self.stage == "follow"]

    def table(self) -> Table:
        """Errors of each joint while the reference was followed."""
        errors = np.abs(self.following())
        rows = []
        for i, name in enumerate(self.joint_names):
            worst = float(errors[:, i].max()) if len(errors) else None
            counts = None if worst is None else worst / float(self.resolution[i])
            rows.append((name, 1e3 * float(self.resolution[i]), worst and 1e3 * worst, counts))
        return Table(
            f"{self.law}: following error",
            ("joint", "count [mrad]", "largest error [mrad]", "in counts"),
            tuple(rows),
            (f"{self.stop.reason} at {self.stop.time:.3f} s: {self.stop.detail}" if self.stop else "finished",),
        )

    def timing_table(self) -> Table:
        """Times in microseconds."""
        rows = tuple((name, *(1e6 * value for value in each.values())) for name, each in self.timing().items())
        return Table("Timing", ("what", "mean [us]", "99 % [us]", "worst [us]"), rows)

    def as_dict(self) -> dict[str, Any]:
        """A summary of numbers and text."""
        errors = np.abs(self.following())
        return {
            "law": self.law,
            "periods": len(self.t),
            "time": float(self.t[-1]) if len(self.t) else 0.0,
            "stop": self.stop._asdict() if self.stop else None,
            "outputs": list(self.outputs.codes),
            "error_rad": errors.max(axis=0).tolist() if len(errors) else None,
            "error_counts": (errors.max(axis=0) / self.resolution).tolist() if len(errors) else None,
            "timing_s": self.timing(),
        }

    def plot(self, path: str | PathLike | None = None) -> Any:
        """A picture of error, outputs and timing. Needs matplotlib.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.control.hardware.plot import plot

        return plot(self, path)

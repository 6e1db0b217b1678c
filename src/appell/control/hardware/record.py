"""Record of a run of the open controller: motion, timing, and the reason of a stop."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.control.hardware.axes import Axes
from appell.control.hardware.card import Commands
from appell.control.hardware.homing import HomingResult
from appell.control.hardware.plot import plot
from appell.control.hardware.safety import Stop
from appell.deprecation import renamed_attribute
from appell.table import Table

if TYPE_CHECKING:
    from appell.control.controller import Controller

TIMINGS = {True: ("period", "jitter", "lateness", "compute_time", "io_time"), False: ("compute_time", "io_time")}
"""Timing quantities that are reported, in real time and in virtual time."""


class Cycle(NamedTuple):
    """One period.

    Attributes:
        time: since the beginning of the run. [s]
        stage: `"home"`, `"approach"` or `"follow"`.
        q, reference: estimated and desired joint angles, (n,). [rad]
        tau, codes: torques of the control law [N m], and codes of the outputs, (n,).
        start_time: clock at the beginning of the period. [s]
        lateness: after the deadline. [s]
        compute_time: of the control law. [s]
        io_time: from the readings to the outputs. [s]
    """

    time: float
    stage: str
    q: np.ndarray
    reference: np.ndarray
    tau: np.ndarray
    codes: np.ndarray
    start_time: float
    lateness: float
    compute_time: float
    io_time: float

    begun = renamed_attribute("begun", "start_time")
    late = renamed_attribute("late", "lateness")
    computing = renamed_attribute("computing", "compute_time")
    answering = renamed_attribute("answering", "io_time")


@dataclass(frozen=True, eq=False)
class Run:
    """A run of the open controller, N periods of n joints.

    Attributes:
        law: name of the control law.
        nominal_period: of the controller. [s]
        real_time: whether periods were timed by a clock; in virtual time they are as long as they take.
        resolution: joint angle per encoder count (a quarter line, through the gear), (n,). [rad]
        stop: reason of an early stop, None without one.
        outputs: last outputs of the cards: zero volts.
        homing: offsets of the encoders, None if homing was not completed.
        t: times since the beginning of the run, (N,). [s]
        stage: of each period, (N,).
        q, reference: joint angles estimated from the encoders, and desired ones, (N, n). [rad]
        tau, codes: torques of the control law [N m], and codes of the outputs, (N, n).
        start_time, lateness, compute_time, io_time: as in `Cycle`, (N,). [s]
    """

    law: str
    nominal_period: float
    real_time: bool
    resolution: np.ndarray
    stop: Stop | None
    outputs: Commands
    homing: HomingResult | None
    joint_names: tuple[str, ...]
    t: np.ndarray
    stage: np.ndarray
    q: np.ndarray
    reference: np.ndarray
    tau: np.ndarray
    codes: np.ndarray
    start_time: np.ndarray
    lateness: np.ndarray
    compute_time: np.ndarray
    io_time: np.ndarray

    nominal = renamed_attribute("nominal", "nominal_period")
    timed = renamed_attribute("timed", "real_time")
    homed = renamed_attribute("homed", "homing")
    begun = renamed_attribute("begun", "start_time")
    late = renamed_attribute("late", "lateness")
    computing = renamed_attribute("computing", "compute_time")
    answering = renamed_attribute("answering", "io_time")
    following = renamed_attribute("following", "tracking_error")

    @property
    def ok(self) -> bool:
        """Whether the run was completed."""
        return self.stop is None

    @property
    def error(self) -> np.ndarray:
        """q minus its reference, (N, n). [rad]"""
        return self.q - self.reference

    @property
    def period(self) -> np.ndarray:
        """Measured time between the beginnings of periods, (N - 1,). [s]"""
        return np.diff(self.start_time)

    @property
    def jitter(self) -> np.ndarray:
        """Deviation of the periods from the nominal one, (N - 1,). [s]"""
        return np.abs(self.period - self.nominal_period)

    def timing(self) -> dict[str, dict[str, float]]:
        """Mean, 99th percentile and worst of the timing quantities, by name. [s]"""
        values = {name: getattr(self, name) for name in TIMINGS[self.real_time]}
        return {
            name: {"mean": float(x.mean()), "p99": float(np.percentile(x, 99)), "worst": float(x.max())}
            for name, x in values.items()
            if len(x)
        }

    def tracking_error(self) -> np.ndarray:
        """Errors in the stage `"follow"`, (M, n). [rad]"""
        return self.error[self.stage == "follow"]

    def table(self) -> Table:
        """Tracking errors of each joint."""
        errors = np.abs(self.tracking_error())
        rows = []
        for i, name in enumerate(self.joint_names):
            worst = float(errors[:, i].max()) if len(errors) else None
            counts = None if worst is None else worst / float(self.resolution[i])
            rows.append((name, 1e3 * float(self.resolution[i]), worst and 1e3 * worst, counts))
        return Table(
            f"{self.law}: tracking error",
            ("joint", "count [mrad]", "largest error [mrad]", "in counts"),
            tuple(rows),
            (f"{self.stop.reason} at {self.stop.time:.3f} s: {self.stop.detail}" if self.stop else "finished",),
        )

    def timing_table(self) -> Table:
        """The timing quantities in microseconds."""
        rows = tuple((name, *(1e6 * value for value in values.values())) for name, values in self.timing().items())
        return Table("Timing", ("quantity", "mean [us]", "99 % [us]", "worst [us]"), rows)

    def as_dict(self) -> dict[str, Any]:
        """A summary as numbers and text."""
        errors = np.abs(self.tracking_error())
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
        """A figure of errors, outputs and timing, written to a file if a path is given. Needs matplotlib.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        return plot(self, path)


def as_run(
    cycles: list[Cycle],
    controller: Controller,
    axes: Axes,
    real_time: bool,
    stop: Stop | None,
    homing: HomingResult | None,
) -> Run:
    """The periods of a run as arrays; the outputs are zero."""
    columns = zip(*cycles, strict=True) if cycles else [()] * len(Cycle._fields)
    named = dict(zip(Cycle._fields, columns, strict=True))
    matrices = {k: np.array(named[k], dtype=float).reshape(-1, len(axes)) for k in ("q", "reference", "tau", "codes")}
    times = ("start_time", "lateness", "compute_time", "io_time")
    return Run(
        law=controller.law.name, nominal_period=controller.period or 0.0, real_time=real_time, resolution=axes.resolution,
        stop=stop, outputs=Commands.zero(len(axes)), homing=homing, joint_names=controller.robot.joint_names,
        t=np.array(named["time"], dtype=float), stage=np.array(named["stage"], dtype=str), **matrices,
        **{k: np.array(named[k], dtype=float) for k in times},
    )  # fmt: skip

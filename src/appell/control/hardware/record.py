"""Record of a run of the open controller: motion, timing, and the reason of a stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from appell.control.hardware.card import Commands, output_volts
from appell.control.hardware.estimation import HomingResult
from appell.control.hardware.record_file import Cycle, read_record
from appell.control.hardware.safety import Stop
from appell.control.hardware.shutdown import Shutdown
from appell.deprecation import renamed_attributes
from appell.errors import ArgumentError
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.table import Table

TIMINGS = {True: ("period", "jitter", "lateness", "compute_time", "io_time"), False: ("compute_time", "io_time")}
"""Timing quantities that are reported, in real time and in virtual time."""
NOT_ZERO = "OUTPUTS MAY NOT BE ZERO, switch the power off: {}"


@renamed_attributes(
    nominal="nominal_period", timed="real_time", homed="homing", begun="start_time", late="lateness",
    computing="compute_time", answering="io_time", following="tracking_error",
)  # fmt: skip
@dataclass(frozen=True, eq=False)
class Run:
    """A run of the open controller, N periods of n joints.

    Attributes:
        law: name of the control law.
        nominal_period: of the controller. [s]
        real_time: whether periods were timed by a clock; in virtual time they are as long as they take.
        resolution: joint angle per encoder count (a quarter line, through the gear), (n,). [rad]
        stop: reason of an early stop, None without one.
        outputs: last outputs that the card has accepted.
        shutdown: whether the outputs were brought to zero, and what failed.
        homing: offsets of the encoders, None if homing was not completed.
        t: times since the beginning of the run, (N,). [s]
        stage: of each period, (N,).
        q, qd: joint angles and velocities estimated from the encoders, (N, n). [rad, rad/s]
        reference: desired joint angles, (N, n). [rad]
        tau, codes: torques of the control law [N m], and codes of the outputs, (N, n).
        start_time, lateness, compute_time, io_time: as in `Cycle`, (N,). [s]
    """

    law: str
    nominal_period: float
    real_time: bool
    resolution: np.ndarray
    stop: Stop | None
    outputs: Commands
    shutdown: Shutdown
    homing: HomingResult | None
    joint_names: tuple[str, ...]
    t: np.ndarray
    stage: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    reference: np.ndarray
    tau: np.ndarray
    codes: np.ndarray
    start_time: np.ndarray
    lateness: np.ndarray
    compute_time: np.ndarray
    io_time: np.ndarray

    @classmethod
    def load(cls, path: str | PathLike) -> Run:
        """A run from its record, also one whose process was killed: then its outputs are the last ones that were recorded."""
        header, rows, outcome = read_record(path)
        try:
            return as_run(header, rows, outcome or killed_outcome(rows))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ArgumentError(f"record {str(path)!r} is damaged: {error}.") from None

    @property
    def ok(self) -> bool:
        """Whether the run was completed and its outputs are zero."""
        return self.stop is None and self.shutdown.zero

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
            (
                f"{self.stop.reason} at {self.stop.time:.3f} s: {self.stop.detail}" if self.stop else "finished",
                *self.warning,
            ),
        )

    @property
    def warning(self) -> tuple[str, ...]:
        """A sentence if the outputs may not be zero."""
        return () if self.shutdown.zero else (NOT_ZERO.format(self.shutdown.detail),)

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
            "shutdown": self.shutdown._asdict(),
            "error_rad": errors.max(axis=0).tolist() if len(errors) else None,
            "error_counts": (errors.max(axis=0) / self.resolution).tolist() if len(errors) else None,
            "timing_s": self.timing(),
        }

    def plot(self, path: str | PathLike | None = None) -> Any:
        """A figure of errors, outputs and timing, written to a file if a path is given. Needs matplotlib.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        figure = new_figure(9.0, 9.0)
        errors, outputs, timing = panels = figure.subplots(3, 1, sharex=True)
        colours = np.resize(COLOURS, len(self.joint_names))
        end = self.stop.time if self.stop else self.nominal_period + self.t.max(initial=0.0)
        for i, (name, colour) in enumerate(zip(self.joint_names, colours, strict=True)):
            errors.plot(self.t, self.error[:, i] / self.resolution[i], color=colour, linewidth=0.8, label=name)
            codes = np.append(self.codes[:, i], self.outputs.codes[i])
            outputs.plot(np.append(self.t, end), output_volts(codes), color=colour, linewidth=0.8)
        times = {"readings to outputs": (self.t, self.io_time), "control law": (self.t, self.compute_time)}
        if self.real_time:
            times = {"jitter": (self.t[1:], np.maximum(self.jitter, 1e-8))} | times
        for colour, (label, (t, values)) in zip(COLOURS[3 - len(times) :], times.items(), strict=False):
            timing.semilogy(t, 1e6 * values, ".", markersize=1.5, color=colour, label=label)
        largest = 1.1 * float(np.abs(self.error[self.stage != "home"] / self.resolution).max(initial=1.0))
        errors.set(ylabel="error [counts]", ylim=(-largest, largest))
        outputs.set(ylabel="outputs [V]")
        timing.set(ylabel="time [us]", xlabel="time [s]")
        for panel, scale in ((errors, 1.0), (timing, 5.0)):
            panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=scale)
        place = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "top", "ha": "right", "fontsize": 8}
        for panel in panels:
            tidy(panel)
            panel.grid(alpha=0.3)
            for k in np.flatnonzero(self.stage[1:] != self.stage[:-1]) + 1:
                panel.axvline(self.t[k], color="#777777", linewidth=0.8, linestyle=":")
                panel.annotate(str(self.stage[k]), (self.t[k], 0.98), color="#555555", **place)
        outcome = f"{self.stop.reason} at {self.stop.time:.3f} s" if self.stop else "finished"
        errors.set_title(f"{self.law} at {1.0 / self.nominal_period:g} Hz: {outcome}", loc="left", fontsize=11)
        save_figure(figure, path)
        return figure


def outcome_of(stop: Stop | None, outputs: Commands, shutdown: Shutdown, homing: HomingResult | None) -> dict[str, Any]:
    """How a run ended, as JSON."""
    found = homing and {"offset": homing.offset.tolist(), "index_disagreement": homing.index_disagreement.tolist()}
    return {"stop": stop, "outputs": outputs, "shutdown": shutdown, "homing": found}


def killed_outcome(rows: np.ndarray) -> dict[str, Any]:
    """The outcome of a run whose process ended without one."""
    time, codes = (rows[name][-1].tolist() for name in ("time", "codes")) if len(rows) else (0.0, [])
    reason = "the process ended without stopping the run."
    outputs, shutdown = ([int(x) for x in codes], (False, False)), (False, 0, reason)
    return {"stop": ("killed", reason, time), "outputs": outputs, "shutdown": shutdown, "homing": None}


def as_run(header: Mapping[str, Any], rows: np.ndarray, outcome: Mapping[str, Any]) -> Run:
    """A run from the parts of its record."""
    columns: dict[str, Any] = {name: rows[name] for name in Cycle._fields}
    resolution = np.array(header["resolution"], dtype=float)
    if resolution.shape != (len(header["joint_names"]),) or not (resolution > 0).all():
        raise ValueError("resolution is not a positive number for each joint")
    found = outcome["homing"]
    homing = HomingResult(**{name: np.array(value) for name, value in found.items()}) if found else None
    codes, tool = outcome["outputs"]
    return Run(
        law=header["law"], nominal_period=float(header["nominal_period"]), real_time=bool(header["real_time"]),
        resolution=resolution, joint_names=tuple(header["joint_names"]),
        stop=outcome["stop"] and Stop(*outcome["stop"]), outputs=Commands(tuple(codes), tuple(tool)),
        shutdown=Shutdown(*outcome["shutdown"]), homing=homing,
        t=columns.pop("time"), **columns,
    )  # fmt: skip

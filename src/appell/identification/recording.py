"""Recordings of a robot: times, positions, forces or currents, from arrays or files.

Files are text tables (`appell.columns`), also compressed, or NumPy's .npz. Errors have the joint, the sample and a remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from appell.columns import Columns, read_columns
from appell.errors import ArgumentError, IdentificationError
from appell.files import read_npz
from appell.identification.log_columns import LogColumns, find_columns
from appell.robot.protocol import AnyRobot
from appell.robot.robot import Robot

MIN_SAMPLES = 20


@dataclass(frozen=True)
class Recording:
    """Samples of a motion.

    Attributes:
        t: times, increasing, not necessarily evenly spaced, (N,). [s]
        q: coordinates, (N, nq). [rad, m]
        tau: actuator forces, or motor currents, (N, nv). [N m, N, A]
        qd: recorded velocities, (N, nv), or None. [rad/s, m/s]
        name: for messages and reports.
        currents: whether `tau` has currents.
        notes: what was done to the data.

    Missing numbers are NaN.

    Example:
        >>> recording = Recording([0.0, 0.1], [[0.0], [0.1]], [[1.0], [1.1]], name="swing")
        >>> len(recording), recording.q.shape
        (2, (2, 1))
    """

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None = None
    name: str = "recording"
    currents: bool = False
    notes: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("t", "q", "tau", "qd"):
            given = getattr(self, name)
            if given is None and name == "qd":
                continue
            try:
                array = np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                raise ArgumentError("t, q and tau must be arrays of real numbers, one row per sample.") from None
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.t)

    @property
    def period(self) -> float:
        """Mean time between samples. [s]"""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))

    @staticmethod
    def read(path: str | PathLike, robot: AnyRobot) -> Recording:
        """The recording in a file; documented at `read_recording`."""
        return read_recording(path, robot)


def as_recordings(t: Any, q: Any = None, tau: Any = None, qd: Any = None) -> tuple[Recording, ...]:
    """Recordings given as arrays t, q, tau, as one `Recording`, as a tuple (t, q, tau), or as a sequence of these."""
    if q is not None or tau is not None:
        if q is None or tau is None:
            raise ArgumentError("q or tau is missing. Pass t, q and tau, or a Recording.")
        return (Recording(t, q, tau, qd),)
    if isinstance(t, Recording):
        return (t,)
    if isinstance(t, tuple) and len(t) == 3 and not isinstance(t[0], (Recording, tuple, list)):
        return (Recording(*t),)
    if not isinstance(t, (list, tuple)) or not t:
        raise ArgumentError(
            f"recordings is a {type(t).__name__}, expected arrays t, q, tau, or one Recording or several."
        )
    found = tuple(each if isinstance(each, Recording) else Recording(*each) for each in t)
    if len({each.name for each in found}) < len(found):
        found = tuple(replace(each, name=f"{each.name} {k}") for k, each in enumerate(found, 1))
    return found


def read_recording(path: str | PathLike, robot: AnyRobot) -> Recording:
    """A recording of a robot.

    A text file has the time and, for every joint, a position and a force or current: `t`, `q.NAME`, `tau.NAME`, or the
    labels of exported ROS bags, of Universal Robots' and of Franka's logs. A .npz file has arrays t, q and tau, and may have qd.

    Example:
        >>> import appell, tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "swing.csv")
        >>> _ = file.write_text("t,q.joint1,q.joint2,tau.joint1,tau.joint2\\n0,1,2,3,4\\n0.1,1,2,3,5\\n")
        >>> read_recording(file, appell.load("planar2r")).tau.tolist()
        [[3.0, 4.0], [3.0, 5.0]]
    """
    path = Path(path)
    if path.suffix == ".npz":
        return _from_npz(path)
    columns = read_columns(path, IdentificationError)
    found = find_columns(columns.names, robot.actuator_names)
    t, notes = _times(columns, found)
    force = _force(found, len(robot.actuator_names))
    q, tau = _block(columns, found, "q", robot.q_names), _block(columns, found, force, robot.actuator_names)
    velocities = len(found.quantities.get("qd", {})) == robot.nv
    qd = _block(columns, found, "qd", robot.qd_names) if velocities else None
    return Recording(t, q, tau, qd, path.name, force == "current", notes)


def recorded_joints(path: str | PathLike, robot: Robot) -> tuple[str, ...]:
    """Names of the joints of which a text file has positions; all of them for a .npz file."""
    path = Path(path)
    if path.suffix == ".npz":
        return robot.qd_names
    columns = read_columns(path, IdentificationError)
    return tuple(robot.qd_names[k] for k in find_columns(columns.names, robot.qd_names).quantities.get("q", {}))


def _times(columns: Columns, found: LogColumns) -> tuple[np.ndarray, tuple[str, ...]]:
    """Times [s], and a note if they were not in seconds."""
    if columns.t is not None:
        t, label, unit = columns.t, "time", None
    elif found.time is None:
        t, label, unit = columns.times(), "", None  # raises
    else:
        t, label, unit = columns.table[:, found.time], columns.names[found.time], found.time_unit
    unit = unit or _stamp_unit(t)
    return ((t - t[0]) * unit, (f"times of {label!r} in units of {unit:g} s",)) if unit != 1.0 else (t, ())


def _force(found: LogColumns, forces: int) -> str:
    """The quantity with the forces: measured ones before currents."""
    tau, current = (len(found.quantities.get(name, {})) for name in ("tau", "current"))
    return "current" if tau < forces and current > tau else "tau"


def _block(columns: Columns, found: LogColumns, quantity: str, names: Sequence[str]) -> np.ndarray:
    """Columns of a quantity by this library's names, else by those of logs."""
    own = found.quantities.get(quantity, {})
    try:
        return columns.block(quantity, names)
    except IdentificationError:
        texts = [columns.words[columns.names[k]] for k in own.values() if columns.names[k] in columns.words]
        if len(own) != len(names) or texts:
            raise
        return columns.table[:, list(own.values())]


def _from_npz(path: Path) -> Recording:
    arrays = read_npz(path, IdentificationError)
    for name in ("t", "q", "tau"):
        if name not in arrays:
            raise IdentificationError(f"{path.name}: no array {name!r}, it has {', '.join(arrays) or 'none'}.")
    return Recording(arrays["t"], arrays["q"], arrays["tau"], arrays.get("qd"), path.name)


def _stamp_unit(t: np.ndarray) -> float:
    """The unit of whole numbers that increase by 1 or more: ms, µs or ns by the size of the step; otherwise seconds."""
    finite = t[np.isfinite(t)]
    step = float(np.median(np.diff(finite))) if len(finite) > 1 else 0.0
    if len(finite) < MIN_SAMPLES or step < 1.0 or (finite != np.round(finite)).any():
        return 1.0
    return 1e-3 if step < 500.0 else 1e-6 if step < 1e5 else 1e-9


def require_shapes(robot: AnyRobot, recording: Recording) -> Recording:
    """The recording, with arrays that fit the robot."""
    if recording.t.ndim != 1:
        raise IdentificationError(f"t has shape {recording.t.shape}, expected (N,): one time per sample.")
    sizes = {"q": robot.nq, "tau": len(robot.actuator_names), "qd": robot.nv}
    for name, size in sizes.items():
        array = getattr(recording, name)
        if array is not None and (array.ndim != 2 or array.shape[1] != size):
            transposed = " It is transposed." if array.ndim == 2 and array.shape[0] == size else ""
            raise IdentificationError(
                f"{name} has shape {array.shape}, expected (N, {size}): one row per sample, one column per joint "
                f"{', '.join(robot.joint_names)}.{transposed}"
            )
    arrays = {
        name: getattr(recording, name) for name in ("t", "q", "tau", "qd") if getattr(recording, name) is not None
    }
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(array)}" for name, array in arrays.items())
        raise IdentificationError(f"the arrays differ in length: {lengths} samples. Cut them to the same interval.")
    if len(recording) < MIN_SAMPLES:
        raise IdentificationError(f"the recording has {len(recording)} samples, expected at least {MIN_SAMPLES}.")
    return recording

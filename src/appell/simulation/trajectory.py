"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.simulation.record import Contact, Impact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from appell.simulation.events import Event
    from appell.simulation.excess import Excess


class Work(NamedTuple):
    """Work done on the robot since the beginning, each (N,). [J]

    Attributes:
        drives: by their forces.
        joints: by damping and friction in the joints, never positive.
        walls: by impacts and by friction on walls, never positive.
    """

    drives: np.ndarray
    joints: np.ndarray
    walls: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Of all of them."""
        return self.drives + self.joints + self.walls


@dataclass(frozen=True)
class Trajectory:
    """A motion, sampled at N times.

    Where the samples are the steps of the integrator, an impact is two samples at one time: before and after it.

    Attributes:
        t: times, (N,). [s]
        q, qd, qdd: coordinates (N, nq), speeds and accelerations (N, nv).
        tau: forces of the drives, within their limits, (N, nu). [N m, N]
        energy: kinetic plus potential, (N,). [J]
        work: of drives, joints and walls since the beginning, integrated along with the motion.
        saturated: where drives give all they can, (N, nu).
        impacts: in order of time.
        contacts: stretches of time in which points stay on walls.
        events: zeros of the event functions.
        excesses: stretches of time in which limits of joints are passed.
        status: `"finished"`, `"stopped by <event>"`, `"too many impacts"` or `"no progress"`; all but the first end before
            the duration is over.
        joint_names, q_names, qd_names, drive_names: of joints, coordinates, speeds and drives.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=1.0, sample=0.25)
        >>> motion.t.tolist(), motion.q.shape, motion.status
        ([0.0, 0.25, 0.5, 0.75, 1.0], (5, 2), 'finished')
        >>> bool(abs(motion.energy - motion.energy[0]).max() < 1e-7)
        True
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    energy: np.ndarray
    work: Work
    saturated: np.ndarray
    impacts: tuple[Impact, ...]
    contacts: tuple[Contact, ...]
    events: tuple[Event, ...]
    excesses: tuple[Excess, ...]
    status: str
    robot_name: str
    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    qd_names: tuple[str, ...]
    drive_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.robot_name!r}, {len(self)} samples to t = {self.t[-1]:g} s, "
            f"{len(self.impacts)} impacts, {self.status})"
        )

    @property
    def balance(self) -> np.ndarray:
        """Energy that no force accounts for, (N,): what the integrator got wrong. [J]

        Example:
            >>> import appell
            >>> arm = appell.load("planar2r")
            >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=1.0, tau=[3.0, 1.0])
            >>> bool(abs(motion.balance).max() < 1e-7 < abs(motion.work.drives).max())
            True
        """
        return self.energy - self.energy[0] - self.work.total + self.work.total[0]

    def save(self, path: str | PathLike) -> None:
        """Write everything to an .npz file; `Trajectory.load` gives it back.

        Example:
            >>> import appell, tempfile, pathlib
            >>> arm = appell.load("planar2r")
            >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=0.1)
            >>> path = pathlib.Path(tempfile.mkdtemp(), "motion.npz")
            >>> motion.save(path)
            >>> bool((appell.Trajectory.load(path).q == motion.q).all())
            True
        """
        from appell.simulation.archive import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike) -> Trajectory:
        """The trajectory that `save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ArgumentError: it is something else.
        """
        from appell.simulation.archive import load

        return load(path)

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with the time as index and a column for every number, named as in `q.joint1`. Needs pandas."""
        from appell.simulation.columns import to_pandas

        return to_pandas(self)

    def to_csv(self, path: str | PathLike) -> None:
        """Write the same columns as text, separated by commas, the time first."""
        from appell.simulation.columns import to_csv

        to_csv(self, path)

    def plot(self, path: str | PathLike | None = None, joints: Sequence[str] | None = None) -> Any:
        """A picture of coordinates, speeds, forces of drives if there are any, and energy over time, impacts marked.

        Needs matplotlib.

        Args:
            path: file to write the picture to, its kind taken from the name.
            joints: names of the joints to show, all by default.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.simulation.plot import plot

        return plot(self, path, joints)

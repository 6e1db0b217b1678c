"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.impact.record import Contact, Impact

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Trajectory:
    """A motion, sampled at N times.

    Where the samples are the steps of the integrator, an impact is two samples at one time: before and after it.

    Attributes:
        t: times, (N,). [s]
        q, qd, qdd: coordinates (N, nq), speeds and accelerations (N, nv).
        tau: forces of the drives, (N, nv). [N m, N]
        energy: kinetic plus potential, (N,). [J]
        impacts: in order of time.
        contacts: stretches of time in which points stay on walls.
        status: `"finished"`, `"too many impacts"` or `"no progress"`; all but the first end before the duration is over.
        joint_names: of the robot.

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
    impacts: tuple[Impact, ...]
    contacts: tuple[Contact, ...]
    status: str
    robot_name: str
    joint_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.robot_name!r}, {len(self)} samples to t = {self.t[-1]:g} s, "
            f"{len(self.impacts)} impacts, {self.status})"
        )

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
        """The trajectory that `save` wrote."""
        from appell.simulation.archive import load

        return load(path)

    def plot(self, path: str | PathLike | None = None, joints: Sequence[str] | None = None) -> Any:
        """A picture of coordinates, speeds and energy over time, impacts marked. Needs matplotlib.

        Args:
            path: file to write the picture to, its kind taken from the name.
            joints: names of the joints to show, all by default.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.simulation.plot import plot

        return plot(self, path, joints)

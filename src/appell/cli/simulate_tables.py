"""What `appell simulate` says about a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from appell.table import Table

if TYPE_CHECKING:
    from appell.simulation.trajectory import Trajectory

MOST = 20
"""Rows of a list of happenings that are shown."""


def head(motion: Trajectory, seconds: float) -> str:
    """One paragraph on the run as a whole."""
    energy, work = motion.energy, motion.work
    lines = [
        f"{motion.robot_name}: {motion.t[-1]:g} s of motion, {motion.status}, in {seconds:.2f} s ({len(motion)} samples)",
        f"energy {energy[0]:.6g} J at the start, {energy[-1]:.6g} J at the end; "
        f"{np.abs(motion.balance).max():.1e} J unaccounted for at most",
    ]
    done = [f"{name} {values[-1]:+.4g} J" for name, values in work._asdict().items() if np.abs(values).max() > 0.0]
    return "\n".join(lines + ([f"work of {', '.join(done)}"] if done else []))


def summary(motion: Trajectory) -> dict[str, Any]:
    """The same for programs."""
    return {
        "robot": motion.robot_name, "status": motion.status, "duration": float(motion.t[-1]), "samples": len(motion),
        "energy": [float(motion.energy[0]), float(motion.energy[-1])],
        "work": {name: float(values[-1]) for name, values in motion.work._asdict().items()},
        "balance": float(np.abs(motion.balance).max()), "q": motion.q[-1].tolist(), "qd": motion.qd[-1].tolist(),
    }  # fmt: skip


def all_tables(motion: Trajectory) -> list[Table]:
    """Coordinates, drives, and what happened."""
    tables = [
        coordinate_table(motion),
        speed_table(motion),
        drive_table(motion),
        impact_table(motion),
        contact_table(motion),
        excess_table(motion),
    ]
    return [table for table in tables if table.rows]


def coordinate_table(motion: Trajectory) -> Table:
    """Every coordinate from start to end."""
    q = motion.q
    rows = zip(motion.q_names, *(each.tolist() for each in (q[0], q[-1], q.min(axis=0), q.max(axis=0))), strict=True)
    return Table("Coordinates [rad, m]", ("q", "start", "end", "least", "greatest"), tuple(rows))


def speed_table(motion: Trajectory) -> Table:
    """Every speed from start to end."""
    columns = {"start": motion.qd[0], "end": motion.qd[-1], "greatest size": np.abs(motion.qd).max(axis=0)}
    rows = zip(motion.qd_names, *(each.tolist() for each in columns.values()), strict=True)
    return Table("Speeds [rad/s, m/s]", ("qd", *columns), tuple(rows))


def drive_table(motion: Trajectory) -> Table:
    """Every drive, if any of them acts."""
    tau = motion.tau
    columns = {"start": tau[0], "end": tau[-1], "greatest size": np.abs(tau).max(axis=0)}
    if motion.saturated.any():
        columns |= {"at its limit [% of samples]": 100.0 * motion.saturated.mean(axis=0)}
    rows = zip(motion.drive_names, *(each.tolist() for each in columns.values()), strict=True) if tau.any() else ()
    return Table("Drives [N m, N]", ("tau", *columns), tuple(rows))


def impact_table(motion: Trajectory) -> Table:
    """The first impacts."""
    rows = tuple(
        (
            f"{impact.time:.6f}", " ".join(impact.points), " ".join(f"{f:.4g}" for f in impact.impulses),
            " ".join(f"{np.degrees(angle):.4g}" for angle in impact.incidence), impact.energy_after - impact.energy_before,
        )
        for impact in motion.impacts[:MOST]
    )  # fmt: skip
    columns = ("time [s]", "points", "impulses [N s]", "incidence [deg]", "energy change [J]")
    return Table(f"Impacts: {len(motion.impacts)}{_cut(motion.impacts)}", columns, rows)


def contact_table(motion: Trajectory) -> Table:
    """Stretches of lasting contact."""
    rows = tuple((each.point, each.wall, each.start, each.end) for each in motion.contacts[:MOST])
    return Table(
        f"Contacts: {len(motion.contacts)}{_cut(motion.contacts)}", ("point", "wall", "from [s]", "to [s]"), rows
    )


def excess_table(motion: Trajectory) -> Table:
    """Limits that were passed."""
    rows = tuple((each.name, each.limit, each.start, each.end, each.most) for each in motion.excesses[:MOST])
    columns = ("name", "limit", "from [s]", "to [s]", "beyond by")
    note = "Limits of position and speed are reported, not enforced."
    title = f"Limits passed: {len(motion.excesses)}{_cut(motion.excesses)}"
    return Table(title, columns, rows, (note,) if rows else ())


def _cut(happenings: tuple) -> str:
    return f", the first {MOST}" if len(happenings) > MOST else ""

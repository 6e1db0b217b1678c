"""Text and tables of `appell simulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from appell.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from appell.simulation.trajectory import Trajectory

MAX_ROWS = 20
"""Rows of a table of impacts, contacts or limit violations."""


def head(motion: Trajectory, seconds: float) -> str:
    """One paragraph on the whole run."""
    energy, work = motion.energy, motion.work
    lines = [
        f"{motion.robot_name}: {motion.t[-1]:g} s of motion, {motion.status}, in {seconds:.2f} s ({len(motion)} samples)",
        f"energy {energy[0]:.6g} J at the start, {energy[-1]:.6g} J at the end; "
        f"{np.abs(motion.balance).max():.1e} J unaccounted for at most",
    ]
    parts = [f"{name} {values[-1]:+.4g} J" for name, values in work._asdict().items() if np.abs(values).max() > 0.0]
    return "\n".join(lines + ([f"work of {', '.join(parts)}"] if parts else []) + _steps(motion))


def _steps(motion: Trajectory) -> list[str]:
    """Where something else than the integrator between events has made steps, one line each."""
    implicit = sum(end - start for start, end in motion.implicit_intervals)
    stepped, short = motion.stepped_from, len(motion.fallback_steps)
    lines = [
        f"time stepping from t = {stepped:.6g} s on" if stepped else "",
        f"{short} short steps of time stepping where no contact mode lasted" if short else "",
        f"implicit steps during {implicit:.3g} s, where those of the integrator collapsed" if implicit else "",
    ]
    return [line for line in lines if line]


def summary(motion: Trajectory) -> dict[str, Any]:
    """The same as data."""
    return {
        "robot": motion.robot_name, "status": motion.status, "problems": list(motion.problems),
        "duration": float(motion.t[-1]), "samples": len(motion),
        "energy": [float(motion.energy[0]), float(motion.energy[-1])],
        "work": {name: float(values[-1]) for name, values in motion.work._asdict().items()},
        "balance": float(np.abs(motion.balance).max()),
        "stepped_from": motion.stepped_from, "fallback_steps": list(motion.fallback_steps),
        "implicit_intervals": [list(interval) for interval in motion.implicit_intervals],
        "q": motion.q[-1].tolist(), "qd": motion.qd[-1].tolist(),
    }  # fmt: skip


def all_tables(motion: Trajectory, stops: bool = False) -> list[Table]:
    """The tables that have rows; `stops`: joint limits were stops."""
    q, qd, tau = motion.q, motion.qd, motion.tau
    range_of_q = {"start": q[0], "end": q[-1], "min": q.min(axis=0), "max": q.max(axis=0)}
    sizes = {"start": tau[0], "end": tau[-1], "max size": np.abs(tau).max(axis=0)}
    if motion.saturated.any():
        sizes |= {"at its limit [% of samples]": 100.0 * motion.saturated.mean(axis=0)}
    tables = [
        _table("Configuration [rad, m]", "q", motion.q_names, range_of_q),
        _table(
            "Velocities [rad/s, m/s]", "qd", motion.qd_names,
            {"start": qd[0], "end": qd[-1], "max size": np.abs(qd).max(axis=0)},
        ),
        _table("Actuators [N m, N]", "tau", motion.actuator_names if tau.any() else (), sizes),
        impact_table(motion),
        contact_table(motion),
        force_table(motion),
        limit_table(motion, stops),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def _table(title: str, symbol: str, names: Sequence[str], columns: dict[str, np.ndarray]) -> Table:
    rows = tuple(zip(names, *(values.tolist() for values in columns.values()), strict=True)) if names else ()
    return Table(title, (symbol, *columns), rows)


def impact_table(motion: Trajectory) -> Table:
    """The first impacts."""
    rows = tuple(
        (
            f"{impact.time:.6f}", " ".join(impact.points), " ".join(f"{f:.4g}" for f in impact.impulses),
            " ".join(f"{np.degrees(angle):.4g}" for angle in impact.incidence), impact.energy_after - impact.energy_before,
        )
        for impact in motion.impacts[:MAX_ROWS]
    )  # fmt: skip
    columns = ("time [s]", "points", "impulses [N s]", "incidence [deg]", "energy change [J]")
    return Table(_title("Impacts", motion.impacts), columns, rows)


def contact_table(motion: Trajectory) -> Table:
    """The first contact intervals."""
    rows = tuple((each.point, each.surface, each.start, each.end) for each in motion.contacts[:MAX_ROWS])
    return Table(_title("Contacts", motion.contacts), ("point", "surface", "from [s]", "to [s]"), rows)


def force_table(motion: Trajectory) -> Table:
    """Sizes of the forces on the points that touched surfaces longest."""
    sizes = {name: np.linalg.norm(force, axis=1) for name, force in motion.contact_forces.items()}
    loaded = sorted(sizes, key=lambda name: -np.count_nonzero(sizes[name]))
    rows = tuple(
        (name, *(float(size) for size in (f[0], f[-1], f.max()))) for name in loaded[:MAX_ROWS] for f in [sizes[name]]
    )
    return Table(_title("Contact forces [N]", tuple(loaded)), ("point", "start", "end", "max size"), rows)


def limit_table(motion: Trajectory, stops: bool) -> Table:
    """The first limit violations."""
    shown = motion.limit_violations[:MAX_ROWS]
    rows = tuple((each.name, f"{each.bound} {each.quantity}", each.start, each.end, each.worst) for each in shown)
    columns = ("name", "limit", "from [s]", "to [s]", "exceeded by")
    note = f"Limits of {'velocity' if stops else 'position and velocity'} are reported, not enforced."
    return Table(_title("Limit violations", motion.limit_violations), columns, rows, (note,) if rows else ())


def _title(name: str, items: tuple) -> str:
    return f"{name}: {len(items)}" + (f", the first {MAX_ROWS}" if len(items) > MAX_ROWS else "")

"""Trajectories as .npz files: arrays under their own names, and one text with everything else as JSON."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, fields
from os import PathLike
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.simulation.events import Event
from appell.simulation.excess import Excess
from appell.simulation.record import Contact, Impact
from appell.simulation.trajectory import Trajectory, Work

FORMAT, VERSION = "appell trajectory", 2
ARRAYS = ("t", "q", "qd", "qdd", "tau", "energy", "saturated")
NAMES = ("joint_names", "q_names", "qd_names", "drive_names")
MEASURES = ("impulses", "friction_impulses", "normal_velocity_change", "incidence", "q", "qd_before", "qd_after")
"""Fields of an impact that are arrays; those of all impacts are written one after the other."""


def save(trajectory: Trajectory, path: str | PathLike) -> None:
    """Write a trajectory; documented at `Trajectory.save`."""
    impacts = trajectory.impacts
    rest = {
        "format": FORMAT,
        "version": VERSION,
        "status": trajectory.status,
        "robot_name": trajectory.robot_name,
        **{name: getattr(trajectory, name) for name in NAMES},
        "impacts": [
            {f.name: getattr(each, f.name) for f in fields(Impact) if f.name not in MEASURES} for each in impacts
        ],
        "contacts": [asdict(each) for each in trajectory.contacts],
        "excesses": [asdict(each) for each in trajectory.excesses],
        "events": [{"name": each.name, "number": each.number, "time": each.time} for each in trajectory.events],
    }
    arrays = {name: getattr(trajectory, name) for name in ARRAYS} | {"work": np.stack(trajectory.work)}
    if trajectory.events:
        arrays |= {f"event_{name}": np.stack([getattr(e, name) for e in trajectory.events]) for name in ("q", "qd")}
    measures = {f"impact_{name}": np.concatenate([getattr(i, name) for i in impacts]) for name in MEASURES if impacts}
    with open(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, rest=np.array(json.dumps(rest)), **arrays, **measures)


def load(path: str | PathLike) -> Trajectory:
    """Read a trajectory; documented at `Trajectory.load`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            data = dict(file)
        rest = json.loads(str(data["rest"]))
    except (KeyError, ValueError, zipfile.BadZipFile):
        raise ArgumentError(f"{path} is not a trajectory that appell wrote.") from None
    if rest.get("format") != FORMAT or rest.get("version") != VERSION:
        raise ArgumentError(
            f"{path} is {rest.get('format')!r} version {rest.get('version')!r}, expected {FORMAT!r} {VERSION}."
        )
    names: dict[str, Any] = {name: tuple(rest[name]) for name in NAMES}
    return Trajectory(
        **{name: data[name] for name in ARRAYS},
        impacts=_impacts(rest["impacts"], data),
        work=Work(*data["work"]),
        contacts=tuple(Contact(**each) for each in rest["contacts"]),
        excesses=tuple(Excess(**each) for each in rest["excesses"]),
        events=tuple(
            Event(**entry, q=data["event_q"][i], qd=data["event_qd"][i]) for i, entry in enumerate(rest["events"])
        ),
        status=rest["status"], robot_name=rest["robot_name"], **names,
    )  # fmt: skip


def _impacts(entries: list[dict[str, Any]], data: dict[str, np.ndarray]) -> tuple[Impact, ...]:
    if not entries:
        return ()
    counts = np.array([len(entry["points"]) for entry in entries])
    pieces = {}
    for name in MEASURES:
        array = data[f"impact_{name}"]
        per_state = name in ("q", "qd_before", "qd_after")
        sizes = np.full(len(entries), len(array) // len(entries)) if per_state else counts
        pieces[name] = np.split(array, np.cumsum(sizes)[:-1])
    return tuple(
        Impact(
            **{**entry, "points": tuple(entry["points"]), "walls": tuple(entry["walls"])},
            **{name: parts[i] for name, parts in pieces.items()},
        )
        for i, entry in enumerate(entries)
    )

"""Trajectories as files: .npz archives (arrays, and one JSON text with the rest), CSV, and tables for pandas."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.checks import is_text
from appell.columns import column_names
from appell.errors import AppellError, ArgumentError
from appell.files import read_npz, write_csv, write_npz
from appell.robot.simulation_model import LimitViolation
from appell.simulation.contact.surfaces import Circle, Cylinder, Ellipse, Plane, Sphere, Surface
from appell.simulation.records import ContactInterval, Event, Impact, Work

if TYPE_CHECKING:
    from appell.simulation.trajectory import Trajectory

FORMAT, VERSION = "appell trajectory", 2
ARRAYS = ("t", "q", "qd", "qdd", "tau", "energy", "saturated")
NAMES = ("joint_names", "q_names", "qd_names", "actuator_names")
SHAPES = {shape.__name__: shape for shape in (Circle, Cylinder, Ellipse, Plane, Sphere)}
"""Surfaces of numbers only."""
IMPACT_ARRAYS = ("impulses", "friction_impulses", "normal_velocity_change", "incidence", "q", "qd_before", "qd_after")
"""Fields of an impact that are arrays; those of all impacts are concatenated."""
FORMER_KEYS = {
    "drive_names": "actuator_names", "excesses": "limit_violations", "walls": "surfaces", "wall": "surface", "most": "worst",
}  # fmt: skip
"""Keys of files written by version 0.1, with their names now."""


def save(trajectory: Trajectory, path: str | PathLike) -> None:
    """Write everything to an .npz file, which `Trajectory.load` reads.

    Example:
        >>> import appell, tempfile, pathlib
        >>> arm = appell.load("planar2r")
        >>> motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=0.1)
        >>> path = pathlib.Path(tempfile.mkdtemp(), "motion.npz")
        >>> motion.save(path)
        >>> bool((appell.Trajectory.load(path).q == motion.q).all())
        True
    """
    impacts = trajectory.impacts
    rest = {
        "format": FORMAT,
        "version": VERSION,
        "status": trajectory.status,
        "problems": trajectory.problems,
        "robot_name": trajectory.robot_name,
        "contact_points": list(trajectory.contact_forces),
        "stepped_from": trajectory.stepped_from,
        "fallback_steps": trajectory.fallback_steps,
        "implicit_intervals": trajectory.implicit_intervals,
        "surfaces": [_surface_entry(surface) for surface in trajectory.surfaces],
        **{name: getattr(trajectory, name) for name in NAMES},
        "impacts": [
            {f.name: getattr(impact, f.name) for f in fields(Impact) if f.name not in IMPACT_ARRAYS}
            for impact in impacts
        ],
        "contacts": [asdict(interval) for interval in trajectory.contacts],
        "limit_violations": [asdict(violation) for violation in trajectory.limit_violations],
        "events": [{"name": event.name, "number": event.number, "time": event.time} for event in trajectory.events],
    }
    arrays = {name: getattr(trajectory, name) for name in ARRAYS} | {"work": np.stack(trajectory.work)}
    if trajectory.contact_forces:
        arrays["contact_forces"] = np.stack(list(trajectory.contact_forces.values()))
    if trajectory.events:
        arrays |= {f"event_{name}": np.stack([getattr(e, name) for e in trajectory.events]) for name in ("q", "qd")}
    if impacts:
        arrays |= {f"impact_{name}": np.concatenate([getattr(i, name) for i in impacts]) for name in IMPACT_ARRAYS}
    write_npz(path, {"rest": np.array(json.dumps(rest)), **arrays})


def load_fields(path: str | PathLike) -> dict[str, Any]:
    """The fields of the trajectory in an .npz file; documented at `Trajectory.load`."""
    data = read_npz(path)
    try:
        rest = json.loads(str(data["rest"]), object_pairs_hook=_with_current_keys)
        found = rest["format"], rest["version"]
        if found == (FORMAT, VERSION):
            return _fields(data, rest)
    except (KeyError, ValueError, TypeError, IndexError, RecursionError):  # what else than a trajectory may lead to
        raise ArgumentError(f"{path} is not a trajectory that appell wrote, or is damaged.") from None
    raise ArgumentError(f"{path} is {found[0]!r} version {found[1]!r}, expected {FORMAT!r} {VERSION}.")


def _fields(data: dict[str, np.ndarray], rest: dict[str, Any]) -> dict[str, Any]:
    """The fields of a trajectory from its arrays and the rest."""
    _require_shapes(data, rest)
    return {
        **{name: data[name] for name in ARRAYS},
        **{name: tuple(rest[name]) for name in NAMES},
        "work": Work(*data["work"]),
        "impacts": _impacts(rest["impacts"], data),
        "contacts": tuple(ContactInterval(**entry) for entry in rest["contacts"]),
        "limit_violations": tuple(_limit_violation(**entry) for entry in rest["limit_violations"]),
        "events": tuple(
            Event(**entry, q=data["event_q"][i], qd=data["event_qd"][i]) for i, entry in enumerate(rest["events"])
        ),
        "status": rest["status"],
        "problems": tuple(rest.get("problems", ())),
        "robot_name": rest["robot_name"],
        "stepped_from": rest.get("stepped_from"),
        "fallback_steps": tuple(rest.get("fallback_steps", ())),
        "implicit_intervals": tuple((start, end) for start, end in rest.get("implicit_intervals", ())),
        "surfaces": tuple(entry and _surface(**entry) for entry in rest.get("surfaces", ())),
        "contact_forces": dict(zip(rest.get("contact_points", ()), data.get("contact_forces", ()), strict=True)),
    }


def _require_shapes(data: dict[str, np.ndarray], rest: dict[str, Any]) -> None:
    """Raise ValueError unless the arrays fit each other and the names."""
    names = [rest[name] for name in NAMES]
    if not all(isinstance(each, list) and all(map(is_text, each)) for each in names):
        raise ValueError
    _, nq, nv, actuators = map(len, names)
    n = len(data["t"])
    columns = {
        "t": (),
        "q": (nq,),
        "qd": (nv,),
        "qdd": (nv,),
        "tau": (actuators,),
        "saturated": (actuators,),
        "energy": (),
    }
    shapes = {name: (n, *rest) for name, rest in columns.items()} | {"work": (3, n)}
    kinds = {name: "b" if name == "saturated" else "iuf" for name in shapes}
    if not n or any(data[name].shape != shapes[name] or data[name].dtype.kind not in kinds[name] for name in shapes):
        raise ValueError


def _surface_entry(surface: Surface | None) -> dict[str, Any] | None:
    """The shape and the fields of a surface, None where these are functions."""
    if surface is None or type(surface) not in SHAPES.values():
        return None
    return {"shape": type(surface).__name__, **asdict(surface)}


def _surface(shape: str, **values: Any) -> Surface:
    """The surface of an entry."""
    return SHAPES[shape](**values)


def _with_current_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {FORMER_KEYS.get(key, key): value for key, value in pairs}


def _limit_violation(limit: str | None = None, **entry: Any) -> LimitViolation:
    """A violation from its fields; files of version 0.1 have `limit`: lower, upper or speed."""
    if limit is not None:
        entry |= (
            {"quantity": "velocity", "bound": "upper"} if limit == "speed" else {"quantity": "position", "bound": limit}
        )
    return LimitViolation(**entry)


def _impacts(entries: list[dict[str, Any]], data: dict[str, np.ndarray]) -> tuple[Impact, ...]:
    if not entries:
        return ()
    counts = np.array([len(entry["points"]) for entry in entries])
    parts = {}
    for name in IMPACT_ARRAYS:
        array = data[f"impact_{name}"]
        per_state = name in ("q", "qd_before", "qd_after")
        sizes = np.full(len(entries), len(array) // len(entries)) if per_state else counts
        parts[name] = np.split(array, np.cumsum(sizes)[:-1])
    return tuple(
        Impact(
            **{**entry, "points": tuple(entry["points"]), "surfaces": tuple(entry["surfaces"])},
            **{name: arrays[i] for name, arrays in parts.items()},
        )
        for i, entry in enumerate(entries)
    )


def columns(trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Every quantity of a trajectory but the time by name, (N,) each."""
    blocks = (
        ("q", trajectory.q_names, trajectory.q), ("qd", trajectory.qd_names, trajectory.qd),
        ("qdd", trajectory.qd_names, trajectory.qdd), ("tau", trajectory.actuator_names, trajectory.tau),
        ("saturated", trajectory.actuator_names, trajectory.saturated),
    )  # fmt: skip
    named = {
        column: values[:, i] for label, names, values in blocks for i, column in enumerate(column_names(label, names))
    }
    work = {f"work.{name}": values for name, values in trajectory.work._asdict().items()}
    forces = {
        f"contact_forces.{point}.{axis}": force[:, i]
        for point, force in trajectory.contact_forces.items()
        for i, axis in enumerate("xyz")
    }
    return {**named, "energy": trajectory.energy, **work, "balance": trajectory.balance, **forces}


def to_pandas(trajectory: Trajectory) -> Any:
    """A `pandas.DataFrame` with the time as index and a column per quantity, named as in `q.joint1`. Needs pandas."""
    try:
        import pandas
    except ImportError:
        raise AppellError("to_pandas needs pandas. Install it, for instance with: pip install appell[pandas]") from None
    return pandas.DataFrame(columns(trajectory), index=pandas.Index(trajectory.t, name="t"))


def to_csv(trajectory: Trajectory, path: str | PathLike) -> None:
    """Write the same columns as comma-separated text, the time first."""
    table = {"t": trajectory.t, **columns(trajectory)}
    lists = [(column.astype(int) if column.dtype == bool else column).tolist() for column in table.values()]
    write_csv(path, table, zip(*lists, strict=True))

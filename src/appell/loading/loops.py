"""Loop closures of a description, from MJCF equalities or from a YAML file in the folder of a URDF.

The YAML file of `robot.urdf` is `robot.loops.yaml`:

    actuated: [crank]                # joints with an actuator; `joint.wx` for one of several degrees of freedom
    independent_velocities: [crank]  # entries of qd, chosen automatically if left out; `speeds` in files of version 0.1
    configuration: {crank: 1.0}      # initial guess of a closed configuration; other joints are at zero
    closures:
      - name: knee
        kind: revolute               # point, spherical, revolute, universal, prismatic, weld
        first: {body: coupler, xyz: [0.3, 0, 0], rpy: [0, 0, 0]}
        second: {body: rocker, xyz: [0.2, 0, 0]}
        axis: [0, 0, 1]              # of a revolute or prismatic closure, in its frame
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError, ArgumentError, ModelError, unknown_name_message
from appell.files import read_text
from appell.model.joints import KINDS
from appell.model.pose import Pose, Triple, triple
from appell.model.tree_builder import leader_of
from appell.robot.robot import Robot

if TYPE_CHECKING:
    from appell.closed_loop.closures import LoopClosure
    from appell.closed_loop.robot import ClosedLoopRobot

SUFFIX = ".loops.yaml"
MAX_LENGTH, MAX_DEPTH = 100_000, 20
"""Characters and nested brackets of a YAML file. Aliases, which can expand without bound, are not allowed."""
TOP = ("closures", "actuated", "independent_velocities", "configuration", "speeds")
ENTRY = ("name", "kind", "first", "second", "axis")
FRAME = ("body", "xyz", "rpy")


@dataclass(frozen=True)
class Loops:
    """Arguments of `appell.close_loops` from a description.

    Attributes:
        configuration: coordinates of joints by name, near a closed configuration.
        label: name of the description in messages.
    """

    closures: tuple[LoopClosure, ...]
    actuated: tuple[str, ...] = ()
    independent_velocities: tuple[str, ...] | None = None
    configuration: Mapping[str, tuple[float, ...]] | None = None
    label: str = ""

    def closed(self, robot: Robot) -> ClosedLoopRobot:
        """The robot with closed loops."""
        from appell.closed_loop.build import close_loops

        q = robot.neutral_configuration()
        followers = {joint.name for joint in robot.joints if joint.name not in robot.joint_names}
        for name, values in (self.configuration or {}).items():
            where = f"{self.label}: configuration"
            if name in followers:  # mimic joints, and joints that an equality holds
                continue
            if name not in robot.joint_names:
                raise ModelError(f"{where}: {unknown_name_message('joint', name, robot.joint_names)}")
            first, count = robot.first_coordinates[name][0], KINDS[robot.joint(name).kind].nq
            if len(values) != count:
                raise ModelError(f"{where} of joint {name!r} has {len(values)} numbers, expected {count}.")
            q[first : first + count] = values
        velocities = self.independent_velocities
        try:
            return close_loops(robot, self.closures, self._leaders(robot), independent_velocities=velocities, q=q)
        except AppellError as error:
            place = f"{self.label}: " if self.label else ""
            raise ModelError(f"{place}{error} With loops='ignore' the tree alone is loaded.") from error

    def _leaders(self, robot: Robot) -> tuple[str, ...]:
        """The actuated joints, with the leaders of mimic joints instead of these."""
        joints = {joint.name: joint for joint in robot.joints if KINDS[joint.kind].nv}
        return tuple(dict.fromkeys(leader_of(robot, joints[n])[0].name if n in joints else n for n in self.actuated))


def find(loops: Any, path: Path | None) -> Loops | None:
    """The argument `loops` of `appell.load`: a mapping, a file, or None for the file in the folder of the description."""
    if loops is None:
        default = path and path.with_name(path.stem + SUFFIX)
        return from_file(default) if default and default.is_file() else None
    if isinstance(loops, Mapping):
        return from_mapping(loops, "loops")
    if isinstance(loops, (str, Path)):
        return from_file(Path(loops))
    expected = "the path of a YAML file, a mapping, 'ignore' or None"
    raise ArgumentError(f"loops is a {type(loops).__name__}, expected {expected}.")


def from_file(path: Path) -> Loops:
    """Closures of a YAML file."""
    try:
        import yaml
    except ImportError:
        raise ModelError(
            f'{path}: YAML files need PyYAML, which is not installed. Run: pip install "appell[loops]", or give the content '
            "as a mapping: appell.load(..., loops={...})."
        ) from None
    try:
        text = read_text(path, ModelError)
        if len(text) > MAX_LENGTH or max(accumulate((c in "[{") - (c in "]}") for c in text), default=0) > MAX_DEPTH:
            raise ValueError(f"more than {MAX_LENGTH} characters or {MAX_DEPTH} nested brackets")
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise ValueError("aliases, which are not allowed")
        content = yaml.safe_load(text)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}.", place=str(path)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: also of a date that does not exist
        if isinstance(error, AppellError):
            raise
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        what = getattr(error, "problem", None) or str(error)
        raise ModelError(f"{place}: invalid YAML: {what}. Correct the file.", place=place) from None
    return from_mapping(content, str(path))


def from_mapping(content: Any, label: str) -> Loops:
    """Closures of nested data, validated."""
    from appell.closed_loop.closures import LoopClosure

    _require_keys(content, TOP, ("closures", "actuated"), label)
    closures = []
    for i, entry in enumerate(_sequence(content["closures"], f"{label}: closures")):
        where = f"{label}: closures[{i}]"
        _require_keys(entry, ENTRY, ("name", "kind", "first", "second"), where)
        bodies, poses = zip(*(_frame(entry[end], f"{where}.{end}") for end in ("first", "second")), strict=True)
        axis = _triple(entry, "axis", where, (0.0, 0.0, 1.0))
        name, kind = (_text(entry[key], where) for key in ("name", "kind"))
        closures.append(LoopClosure(name, kind, *bodies, *poses, axis=axis))
    configuration = content.get("configuration") or {}
    velocities = content.get("independent_velocities", content.get("speeds"))
    if not isinstance(configuration, Mapping):
        raise ModelError(f"{label}: configuration is a {type(configuration).__name__}, expected joint: value.")
    return Loops(
        tuple(closures),
        tuple(_text(name, label) for name in _sequence(content["actuated"], f"{label}: actuated")),
        None if velocities is None else tuple(_text(name, label) for name in _sequence(velocities, label)),
        {str(name): _numbers(q, f"{label}: configuration of {name!r}") for name, q in configuration.items()},
        label,
    )


def _frame(data: Any, where: str) -> tuple[str, Pose]:
    _require_keys(data, FRAME, ("body",), where)
    return _text(data["body"], where), Pose(_triple(data, "xyz", where), _triple(data, "rpy", where))


def _require_keys(data: Any, known: Sequence[str], needed: Sequence[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise ModelError(f"{where} is a {type(data).__name__}, expected entries {', '.join(known)}.")
    for key in data:
        if key not in known:
            raise ModelError(f"{where}: {unknown_name_message('entry', key, known)}")
    for key in needed:
        if key not in data:
            raise ModelError(f"{where} has no entry {key!r}. Add it.")


def _sequence(data: Any, where: str) -> Sequence[Any]:
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise ModelError(f"{where} is a {type(data).__name__}, expected a list.")
    return data


def _text(data: Any, where: str) -> str:
    if not isinstance(data, str):
        raise ModelError(f"{where}: {data!r} is not a string. Put it in quotes.")
    return data


def _numbers(data: Any, where: str) -> tuple[float, ...]:
    try:
        values = np.atleast_1d(np.asarray(data, dtype=float))
    except OverflowError:
        raise ModelError(f"{where} has a number that is larger than any float.") from None
    except (TypeError, ValueError):
        raise ModelError(f"{where} is {repr(data)[:200]}, expected numbers.") from None
    if values.ndim != 1 or not all(math.isfinite(value) for value in values):
        raise ModelError(f"{where} is {data!r}, expected finite numbers.")
    return tuple(values.tolist())


def _triple(data: Mapping, name: str, where: str, default: Triple = (0.0, 0.0, 0.0)) -> Triple:
    values = _numbers(data.get(name, default), f"{where}.{name}")
    if len(values) != 3:
        raise ModelError(f"{where}.{name} has {len(values)} numbers, expected 3.")
    return triple(values)

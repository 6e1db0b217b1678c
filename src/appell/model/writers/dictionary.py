"""Robots as plain dictionaries of text, numbers and lists, for JSON and the like, and back.

Fields with their default value are left out, such as infinite limits. Unknown fields and versions raise an error, so that a
misspelt field is not silently ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from appell.checks import is_text
from appell.errors import ModelError, unknown_name_message
from appell.model.actuator import Actuator, Posture
from appell.model.body import Body, Geometry, Visual
from appell.model.joint import Joint, Limits, Mimic
from appell.model.pose import Pose

if TYPE_CHECKING:
    from appell.model.description import Described, Description

FORMAT, VERSION = "appell robot", 1


def to_dict(robot: Description) -> dict[str, Any]:
    """The robot as a dictionary of text, numbers and lists, for JSON; `from_dict` gives it back exactly.

    Example:
        >>> import appell
        >>> sorted(appell.load("planar2r").to_dict())
        ['bodies', 'format', 'gravity_vector', 'joints', 'name', 'version']
    """
    return {"format": FORMAT, "version": VERSION, **_encode(robot)}


def from_dict(cls: type[Described], data: Mapping[str, Any]) -> Described:
    """The robot that `to_dict` gave. Unknown fields and versions raise `ModelError`.

    Example:
        >>> import appell, json
        >>> robot = appell.load("puma560")
        >>> appell.Robot.from_dict(json.loads(json.dumps(robot.to_dict()))) == robot
        True
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise ModelError(f"format is {found!r}, expected {FORMAT!r}: a dictionary of `Robot.to_dict`.")
    if data.get("version") != VERSION:
        raise ModelError(f"version is {data.get('version')!r}, expected {VERSION}. Use the appell that wrote it.")
    return _record(cls, {key: value for key, value in data.items() if key not in ("format", "version")}, "robot")


def _encode(value: Any) -> Any:
    if is_dataclass(value):
        return {
            each.name: _encode(getattr(value, each.name))
            for each in fields(value)
            if each.compare and (each.default is MISSING or getattr(value, each.name) != each.default)
        }
    return [_encode(each) for each in value] if isinstance(value, tuple) else value


Decoder = Callable[[Any, str], Any]


def _plain(kinds: tuple[type, ...], expected: str, value: Any, where: str) -> Any:
    """A value of one of these types, as the last of them."""
    if (
        not isinstance(value, kinds)
        or (isinstance(value, bool) and bool not in kinds)
        or (str in kinds and not is_text(value))
    ):
        raise ModelError(f"{where} is {value!r}, expected {expected}.")
    try:
        return kinds[-1](value)
    except OverflowError:
        raise ModelError(f"{where} is larger than any float.") from None


def _tuple(decode: Decoder, size: int | None, value: Any, where: str) -> tuple:
    if not isinstance(value, (list, tuple)) or (size is not None and len(value) != size):
        raise ModelError(f"{where} is {value!r}, expected a list" + (f" of {size} numbers." if size else "."))
    return tuple(decode(each, f"{where}[{i}]") for i, each in enumerate(value))


def _record(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise ModelError(f"{where} is {value!r}, expected a dictionary.")
    known = {each.name: each for each in fields(kind) if each.compare}
    for name in value:
        if name not in known:
            raise ModelError(f"{where}: " + unknown_name_message("field", name, known))
    for name, each in known.items():
        if name not in value and each.default is MISSING:
            raise ModelError(f"{where}: the field {name!r} is missing.")
    return kind(**{name: _DECODERS[str(known[name].type)](value[name], f"{where}.{name}") for name in value})


_number = partial(_plain, (int, float), "a number")


def _named_numbers(value: Any, where: str) -> tuple[str, tuple[float, ...]]:
    name, numbers = _tuple(lambda each, _: each, 2, value, where)
    return _plain((str,), "text", name, f"{where}[0]"), _tuple(_number, None, numbers, f"{where}[1]")


_DECODERS: dict[str, Decoder] = {
    "str": partial(_plain, (str,), "text"),
    "bool": partial(_plain, (bool,), "true or false"),
    "float": _number,
    "Triple": partial(_tuple, _number, 3),
    "Six": partial(_tuple, _number, 6),
    "tuple[float, ...]": partial(_tuple, _number, None),
    "State | None": partial(_tuple, partial(_tuple, _number, None), 2),
    "tuple[float, float, float, float] | None": partial(_tuple, _number, 4),
    "Pose": partial(_record, Pose),
    "Limits": partial(_record, Limits),
    "Mimic | None": partial(_record, Mimic),
    "tuple[Visual, ...]": partial(_tuple, partial(_record, Visual), None),
    "tuple[Geometry, ...]": partial(_tuple, partial(_record, Geometry), None),
    "tuple[Body, ...]": partial(_tuple, partial(_record, Body), None),
    "tuple[str, ...]": partial(_tuple, partial(_plain, (str,), "text"), None),
    "Range": partial(_tuple, _number, 2),
    "tuple[Actuator, ...]": partial(_tuple, partial(_record, Actuator), None),
    "tuple[tuple[str, tuple[float, ...]], ...]": partial(_tuple, _named_numbers, None),
    "tuple[Posture, ...]": partial(_tuple, partial(_record, Posture), None),
    "tuple[Joint, ...]": partial(_tuple, partial(_record, Joint), None),
}
"""How a field is read, by the type it is declared with."""

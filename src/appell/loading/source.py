"""Sources of robot descriptions (files, text, objects of other libraries) and what readers return for them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appell.errors import ModelError, unknown_name_message
from appell.loading.catalogue import ROBOTS
from appell.loading.loops import Loops
from appell.loading.xml import root_tag
from appell.model.check.problem import Problem
from appell.robot.robot import Robot


@dataclass(frozen=True)
class Source:
    """An opened source.

    Attributes:
        label: name in messages, such as the file name.
        given: the argument of `appell.load`.
        kind: name of the XML root element, or `library.class` of an object.
        data: the XML, encoded; empty for an object.
        encoding: of the data; None if the XML declares it.
        path: of the file, if it is one.
    """

    label: str
    given: Any
    kind: str
    data: bytes = b""
    encoding: str | None = None
    path: Path | None = None


@dataclass(frozen=True)
class ParsedRobot:
    """A robot as it is read, before any check.

    Attributes:
        problems: what could not be read; the robot has default values there.
        virtual: massless bodies that the reader added.
        loops: loop closures of the description, if any.
        path: of the file, if it is one.
    """

    robot: Robot
    problems: tuple[Problem, ...] = ()
    virtual: frozenset[str] = frozenset()
    loops: Loops | None = None
    path: Path | None = None


def open_source(given: Any) -> Source:
    """Open a path, XML text or object."""
    if isinstance(given, bytes):
        return Source("", given, root_tag(given, ""), given)
    if isinstance(given, str) and given.lstrip("\ufeff \t\r\n").startswith("<"):
        # Decoded text may still declare an encoding, which no longer applies.
        plain = re.sub(r"^\ufeff?(\s*)<\?xml[^>]*\?>", r"\1", given)
        data = plain.lstrip("\ufeff").encode("utf-8", errors="replace")
        return Source("", given, root_tag(data, "", "utf-8"), data, "utf-8")
    if not isinstance(given, (str, os.PathLike)):
        kinds = [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(given).__mro__]
        return Source(type(given).__name__, given, "yourdfpy.URDF" if "yourdfpy.URDF" in kinds else kinds[0])
    path = Path(given)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(_not_found(str(given))) from None
    except IsADirectoryError:
        raise ModelError(f"{str(given)!r} is a directory. Give the URDF or MJCF file in it.") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {str(given)[:200]!r}: {getattr(error, 'strerror', None) or error}.") from None
    return Source(path.name, given, root_tag(data, path.name), data, path=path)


def _not_found(given: str) -> str:
    if os.sep in given or Path(given).suffix:
        return f"the file {given!r} does not exist. Built-in robots: {', '.join(ROBOTS)}."
    return f"there is no file {given!r} and " + unknown_name_message("built-in robot", given, ROBOTS)

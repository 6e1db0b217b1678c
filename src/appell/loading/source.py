"""Sources of robot descriptions (files, text, objects, names of built-in robots) and what loaders return for them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appell.errors import ModelError, unknown_name_message
from appell.loading.loops import Loops
from appell.loading.xml import root_tag
from appell.model.check.problem import Problem
from appell.robot.robot import Robot


@dataclass(frozen=True)
class Source:
    """An opened source; each loader decides from it whether it is responsible.

    Attributes:
        label: name in messages, such as the file name.
        tag: name of the XML root element, empty where the source is not XML.
        data: the XML, encoded.
        encoding: of the data; None if the XML declares it.
        path: of the file, if it is one.
        given: the argument of `appell.load`.
    """

    label: str
    given: Any
    tag: str = ""
    data: bytes = b""
    encoding: str | None = None
    path: Path | None = None


@dataclass(frozen=True)
class ParsedRobot:
    """A robot as a loader reads it, before any check.

    Attributes:
        problems: what could not be read; the robot has default values there.
        virtual: massless bodies that the loader added.
        loops: loop closures of the description, if any.
        path: of the file, if it is one.
    """

    robot: Robot
    problems: tuple[Problem, ...] = ()
    virtual: frozenset[str] = frozenset()
    loops: Loops | None = None
    path: Path | None = None


def open_source(given: Any, names: tuple[str, ...]) -> Source:
    """Open a path, XML text or object; `names` are the built-in robots."""
    if isinstance(given, str) and given in names:
        return Source(given, given)
    if isinstance(given, bytes) or (isinstance(given, str) and given.lstrip("\ufeff \t\r\n").startswith("<")):
        return _from_text(given)
    if isinstance(given, (str, os.PathLike)):
        return _from_file(given, names)
    return Source(type(given).__name__, given)


def _from_text(text: str | bytes) -> Source:
    if isinstance(text, bytes):
        return Source("", text, root_tag(text, ""), text)
    # Decoded text may still declare an encoding, which no longer applies.
    plain = re.sub(r"^\ufeff?(\s*)<\?xml[^>]*\?>", r"\1", text)
    data = plain.lstrip("\ufeff").encode("utf-8", errors="replace")
    return Source("", text, root_tag(data, "", "utf-8"), data, "utf-8")


def _from_file(given: str | os.PathLike, names: tuple[str, ...]) -> Source:
    path = Path(given)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(_not_found(str(given), names)) from None
    except IsADirectoryError:
        raise ModelError(f"{str(given)!r} is a directory. Give the URDF or MJCF file in it.") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {str(given)[:200]!r}: {getattr(error, 'strerror', None) or error}.") from None
    return Source(path.name, given, root_tag(data, path.name), data, path=path)


def _not_found(given: str, names: tuple[str, ...]) -> str:
    if os.sep in given or Path(given).suffix:
        return f"the file {given!r} does not exist. Built-in robots: {', '.join(names)}."
    return f"there is no file {given!r} and " + unknown_name_message("built-in robot", given, names)

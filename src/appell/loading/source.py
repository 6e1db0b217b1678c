"""Sources of robot descriptions (files, text, objects of other libraries) and what readers return for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from appell.errors import ModelError, unknown_name_message
from appell.loading import descriptions
from appell.loading.catalogue import ROBOTS
from appell.loading.loops import Loops
from appell.loading.xml import decoded, repaired_comments, root_tag, without_declaration
from appell.model.check.problem import Problem
from appell.robot.robot import Robot


@dataclass(frozen=True)
class Source:
    """An opened source.

    Attributes:
        label: name in messages, such as the file name.
        given: the argument of `appell.load`.
        kind: name of the XML root element, or `library.class` of an object.
        text: the XML; empty for an object.
        path: of the file, if it is one.
    """

    label: str
    given: Any
    kind: str
    text: str = ""
    path: Path | None = None

    @property
    def data(self) -> bytes:
        """The XML in UTF-8, without a declaration of its encoding."""
        return without_declaration(self.text)


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
    if isinstance(given, bytes) or (isinstance(given, str) and given.lstrip("\ufeff \t\r\n").startswith("<")):
        return _xml_source("", given, given)
    if not isinstance(given, (str, os.PathLike)):
        kinds = [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(given).__mro__]
        return Source(type(given).__name__, given, "yourdfpy.URDF" if "yourdfpy.URDF" in kinds else kinds[0])
    if not str(given).strip():
        raise ModelError(f"{str(given)!r} is no path, XML text or name. Built-in robots: {', '.join(ROBOTS)}.")
    path = Path(given)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(_not_found(str(given))) from None
    except IsADirectoryError:
        raise ModelError(f"{str(given)!r} is a directory. Give the URDF, SDF or MJCF file in it.") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {str(given)[:200]!r}: {getattr(error, 'strerror', None) or error}.") from None
    return _xml_source(path.name, given, data, path)


def _xml_source(label: str, given: Any, xml: str | bytes, path: Path | None = None) -> Source:
    text = repaired_comments(xml if isinstance(xml, str) else decoded(xml, label))
    return Source(label, given, root_tag(without_declaration(text), label), text, path)


def _not_found(given: str) -> str:
    if os.sep in given or Path(given).suffix:
        return f"the file {given!r} does not exist. Built-in robots: {', '.join(ROBOTS)}."
    others = descriptions.names()
    message = f"there is no file {given!r} and " + unknown_name_message("built-in robot", given, ROBOTS)
    near = get_close_matches(given, others, n=5)
    if near:
        message += f" Of {len(others)} robots of the package robot_descriptions, similar ones are: {', '.join(near)}."
    return message

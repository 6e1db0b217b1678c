"""Built-in robots by name."""

from __future__ import annotations

from appell.loading import catalogue
from appell.loading.parsed import ParsedRobot
from appell.loading.source import Source


def recognises(source: Source) -> bool:
    """Whether it is the name of a robot of the catalogue."""
    return isinstance(source.given, str) and source.given in catalogue.names()


def read(source: Source) -> ParsedRobot:
    """The robot of that name."""
    return ParsedRobot(catalogue.build(source.given), virtual=catalogue.virtual_bodies(source.given))

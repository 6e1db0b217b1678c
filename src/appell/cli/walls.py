"""The option `--wall`: walls as words, such as `circle:2.5:restitution=0.5` or `plane:0,0,1`."""

from __future__ import annotations

import argparse
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appell.simulation.contact.surfaces import Surface

KINDS = ("circle", "cylinder", "ellipse", "plane", "sphere")


def add_walls(parser: argparse._ActionsContainer) -> None:
    """The option `--wall`, which may be given several times."""
    parser.add_argument(
        "--wall", "--walls", action="append", default=[], metavar="KIND:VALUE:NAME=VALUE:...", dest="walls",
        help=f"a wall ({', '.join(KINDS)}), for instance plane:0,0,1 or circle:2.5:restitution=0.8:friction=0.3; "
        "may be repeated",
    )  # fmt: skip


def walls_of(arguments: argparse.Namespace) -> tuple[Surface, ...]:
    """The walls that were asked for."""
    return tuple(parse_wall(text) for text in arguments.walls)


def parse_wall(text: str) -> Surface:
    """A wall from words: values in the order of its fields, or by name.

    Example:
        >>> parse_wall("circle:2.5:friction=0.1") == parse_wall("circle:radius=2.5:friction=0.1")
        True
        >>> parse_wall("circle:radius=2.5:side=inside").radius
        2.5
    """
    from appell.errors import ArgumentError, unknown_name_message
    from appell.simulation.contact import surfaces

    kind, *settings = text.split(":")
    if kind.lower() not in KINDS:
        raise ArgumentError(unknown_name_message("wall", kind, KINDS))
    made = getattr(surfaces, kind.capitalize())
    names = [each.name for each in fields(made)]
    in_order = [each.name for each in fields(made) if not each.kw_only]
    values = {}
    for place, setting in enumerate(settings):
        name, equals, value = setting.partition("=")
        if not equals and place < len(in_order):
            name, equals, value = in_order[place], "=", setting
        if name not in names or not equals:
            raise ArgumentError(
                f"wall {text!r}: {unknown_name_message('setting', name, names)} Write it as name=value."
            )
        values[name] = _value(value, text)
    missing = [each.name for each in fields(made) if each.default is MISSING and each.name not in values]
    if missing:
        raise ArgumentError(f"wall {text!r} has no {missing[0]}. Write {kind}:{missing[0]}=value.")
    return made(**values)


def _value(text: str, wall: str) -> float | str | tuple[float, ...]:
    """A number, several numbers separated by commas, or a word."""
    from appell.errors import ArgumentError

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        if text.isalpha():
            return text
        raise ArgumentError(f"wall {wall!r}: {text!r} is not a number. Write for instance 2.5 or 0,0,1.") from None
    return tuple(numbers) if len(numbers) > 1 else numbers[0]

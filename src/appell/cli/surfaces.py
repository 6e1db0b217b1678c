"""The option `--surface`: contact surfaces as text, such as `circle:2.5:restitution=0.5` or `plane:0,0,1`."""

from __future__ import annotations

import argparse
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

from appell.cli.common import add_renamed_options
from appell.errors import ArgumentError, unknown_name_message

if TYPE_CHECKING:
    from appell.simulation.contact.surfaces import Surface

SHAPES = ("circle", "cylinder", "ellipse", "plane", "sphere")


def add_surfaces(parser: argparse._ActionsContainer) -> None:
    """The option `--surface`, which may be repeated."""
    parser.add_argument(
        "--surface", action="append", default=[], metavar="SHAPE:VALUE:NAME=VALUE:...", dest="surfaces",
        help=f"contact surface ({', '.join(SHAPES)}), for instance plane:0,0,1 or "
        "circle:2.5:restitution=0.8:friction=0.3; may be repeated",
    )  # fmt: skip
    add_renamed_options(parser, {"--wall": "--surface", "--walls": "--surface"})


def surfaces_of(arguments: argparse.Namespace) -> tuple[Surface, ...]:
    """The surfaces of `add_surfaces`."""
    return tuple(parse_surface(text) for text in arguments.surfaces)


def parse_surface(text: str) -> Surface:
    """A surface from text: values in the order of its fields, or by name.

    Example:
        >>> parse_surface("circle:2.5:friction=0.1") == parse_surface("circle:radius=2.5:friction=0.1")
        True
        >>> parse_surface("circle:radius=2.5:side=inside").radius
        2.5
    """
    from appell.simulation.contact import surfaces

    shape, *settings = text.split(":")
    if shape.lower() not in SHAPES:
        raise ArgumentError(unknown_name_message("surface", shape, SHAPES))
    surface = getattr(surfaces, shape.capitalize())
    names = [field.name for field in fields(surface)]
    positional = [field.name for field in fields(surface) if not field.kw_only]
    values = {}
    for position, setting in enumerate(settings):
        name, equals, value = setting.partition("=")
        if not equals and position < len(positional):
            name, equals, value = positional[position], "=", setting
        if name not in names or not equals:
            raise ArgumentError(
                f"surface {text!r}: {unknown_name_message('setting', name, names)} Write it as name=value."
            )
        values[name] = _value(value, text)
    missing = [field.name for field in fields(surface) if field.default is MISSING and field.name not in values]
    if missing:
        raise ArgumentError(f"surface {text!r} has no {missing[0]}. Write {shape}:{missing[0]}=value.")
    return surface(**values)


def _value(text: str, surface: str) -> float | str | tuple[float, ...]:
    """A number, several numbers separated by commas, or a word."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        if text.isalpha():
            return text
        raise ArgumentError(
            f"surface {surface!r}: {text!r} is not a number. Write for instance 2.5 or 0,0,1."
        ) from None
    return tuple(numbers) if len(numbers) > 1 else numbers[0]

"""A ball joint that closes a loop."""

from __future__ import annotations

from appell.closed_loop.closures.point import Point


class Spherical(Point):
    """A ball in a socket holds the point and nothing else: the equations of `Point`."""

    name = "spherical"

"""Spatial velocities over scalars."""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import Vec3


class Twist(NamedTuple):
    """Angular velocity and velocity of the origin (or their accelerations), in one frame."""

    angular: Vec3
    linear: Vec3

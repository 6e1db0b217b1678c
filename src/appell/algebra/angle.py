"""Constant angles, exact at the multiples of a right angle."""

from __future__ import annotations

import math
from typing import NamedTuple

from appell.algebra.scalar import Scalar

HALF_PI = math.pi / 2
ROUNDING = 1e-15
"""Angles within this distance of a multiple of a right angle count as that multiple. [rad]"""


class Angle(NamedTuple):
    """An angle [rad] with its cosine and sine."""

    radians: Scalar
    cos: Scalar
    sin: Scalar

    @classmethod
    def of(cls, radians: float) -> Angle:
        quarters = nearest_quarters(radians)
        if abs(radians - quarters * HALF_PI) < ROUNDING * max(1, abs(quarters)):
            cos, sin = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
            return cls(quarters * HALF_PI, cos, sin)
        return cls(radians, math.cos(radians), math.sin(radians))


def nearest_quarters(radians: float) -> int:
    """The nearest multiple of a right angle."""
    return round(radians / HALF_PI)


ZERO_ANGLE = Angle(0.0, 1.0, 0.0)
"""The angle 0."""

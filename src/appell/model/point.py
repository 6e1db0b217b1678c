"""Points of bodies that can touch surfaces."""

from __future__ import annotations

import re
from dataclasses import dataclass

from appell.checks import require_direction, require_in_range, require_vector
from appell.model.pose import Triple, triple

NAME_DIGITS = 12
"""Digits after the point in the names of points: what rounding leaves is not shown."""
_NUMBER = r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*"
_NUMBERS = re.compile(
    rf"(?P<body>.+?)(?:\((?P<inside>{_NUMBER}(?:,{_NUMBER}){{2}})\)|:(?P<after>{_NUMBER}(?:,{_NUMBER}){{2}}(?:,{_NUMBER}(?:(?:,{_NUMBER}){{3}})?)?))"
)


@dataclass(frozen=True)
class Point:
    """A point fixed to a body, or the centre of a sphere or of a circle fixed to it.

    Attributes:
        body: name of the body or frame.
        offset: position in the body's frame. [m]
        radius: of the sphere or circle around it; 0 for a point. [m]
        axis: of the circle in the body's frame, such as the rim of a wheel, which touches planes with its nearest point; None
            for a sphere. A circle that lies on a plane touches it with its centre: name points on it as well where it may.

    Example:
        >>> import appell
        >>> str(appell.Point("foot", (0.12, 0.03, -0.03)))
        'foot(0.12, 0.03, -0.03)'
        >>> str(appell.Point("foot"))
        'foot'
    """

    body: str
    offset: Triple = (0.0, 0.0, 0.0)
    radius: float = 0.0
    axis: Triple | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", triple(require_vector(f"offset of {self.body!r}", self.offset, 3)))
        object.__setattr__(self, "radius", require_in_range(f"radius of {self.body!r}", self.radius, unit="m"))
        if self.axis is not None:
            object.__setattr__(self, "axis", require_direction(f"axis of {self.body!r}", self.axis))

    @classmethod
    def from_text(cls, text: str) -> Point:
        """The point of its text, or of `body:x,y,z` with `,radius` and `,axis` of a circle, as on the command line.

        A name alone is an origin.

        Example:
            >>> import appell
            >>> appell.Point.from_text("foot:0.12,0.03,-0.03,0.02")
            Point(body='foot', offset=(0.12, 0.03, -0.03), radius=0.02, axis=None)
            >>> appell.Point.from_text("foot(0.1, 0.2, 0.3)").offset
            (0.1, 0.2, 0.3)
        """
        found = _NUMBERS.fullmatch(text)
        if found is None:
            return cls(text)
        numbers = [float(word) for word in (found["inside"] or found["after"]).split(",")]
        radius, axis = numbers[3] if len(numbers) > 3 else 0.0, triple(numbers[4:]) if len(numbers) > 4 else None
        return cls(found["body"], triple(numbers[:3]), radius, axis)

    def __str__(self) -> str:
        offset = [round(x, NAME_DIGITS) + 0.0 for x in self.offset]
        return f"{self.body}({', '.join(f'{x:g}' for x in offset)})" if any(offset) else self.body

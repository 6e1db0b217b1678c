"""A wall given by any function of position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from appell.errors import ArgumentError
from appell.simulation.contact.surfaces.surface import Surface, length_or_one, side_sign

STEP = 1e-5
"""Step of difference quotients. [m]"""


@dataclass(frozen=True)
class ImplicitSurface(Surface):
    """The wall F(p) = 0 of a function that is negative inside, with its gradient.

    Attributes:
        function: F, a function of one position (3,) that returns a number.
        gradient: ∇F, a function of one position (3,) that returns three numbers. It is compared with differences of F
            before it is used.
        side: `"inside"` (F < 0, default) or `"outside"`.
        hessian: ∇²F, a function of one position that returns (3, 3); without it, differences of the gradient are used. It
            matters only where a point stays in contact.

    Example:
        >>> import appell, numpy as np
        >>> box = appell.ImplicitSurface(
        ...     lambda p: p[0] ** 4 + p[1] ** 4 - 1.0, lambda p: np.array([4 * p[0] ** 3, 4 * p[1] ** 3, 0.0])
        ... )
        >>> box.gap([0.5, 0.5, 0.0]).round(4).item(), box.normal_at([1.0, 0.0, 0.0]).tolist()
        (1.2374, [-1.0, -0.0, -0.0])
    """

    function: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    side: str = "inside"
    hessian: Callable[[np.ndarray], np.ndarray] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        side_sign(self.side)

    @property
    def sign(self) -> float:
        return side_sign(self.side)

    def level(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.apply_along_axis(lambda each: float(self.function(each)), -1, p), self._slope(p)

    def curvature(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self.hessian is not None:
            H = np.apply_along_axis(lambda each: np.asarray(self.hessian(each), dtype=float), -1, p)  # type: ignore[misc]
            return np.einsum("...i,...ij,...j->...", v, H, v)
        speed = length_or_one(v)
        step = STEP * v / speed[..., None]
        difference = (self._slope(p + step) - self._slope(p - step)) / (2.0 * STEP)
        return np.einsum("...i,...i->...", difference, v) * speed

    def verify(self, p: np.ndarray) -> None:
        """Refuse a gradient that does not belong to the function at position p (3,)."""
        given = self._slope(p)
        steps = STEP * np.eye(3)
        found = (self.level(p + steps)[0] - self.level(p - steps)[0]) / (2.0 * STEP)
        if given.shape != (3,) or np.abs(given - found).max() > 1e-4 * max(1.0, np.abs(found).max()):
            raise ArgumentError(
                f"gradient of ImplicitSurface at {p.tolist()} is {given.tolist()}, but differences of its function give "
                f"{found.round(6).tolist()}. Give the gradient of the same function."
            )

    def _slope(self, p: np.ndarray) -> np.ndarray:
        return np.apply_along_axis(lambda each: np.asarray(self.gradient(each), dtype=float), -1, p)

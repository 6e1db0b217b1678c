"""A surface given by a function of position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from appell.errors import ArgumentError
from appell.simulation.contact.surfaces.nearest import Nearest, nearest_point
from appell.simulation.contact.surfaces.surface import SidedSurface, norm_or_one

STEP = 1e-5
STEPS = STEP * np.eye(3)
"""Step of difference quotients, and along each axis. [m]"""


@dataclass(frozen=True)
class ImplicitSurface(SidedSurface):
    """The surface F(p) = 0 of a function that is negative inside, with its gradient.

    Attributes:
        function: F, a function of one position (3,) that returns a number.
        gradient: ∇F, a function of one position (3,) that returns three numbers. It is compared with differences of F
            before it is used.
        side: allowed side, `"inside"` (F < 0, default) or `"outside"`.
        hessian: ∇²F, a function of one position that returns (3, 3); without it, differences of the gradient are used. It
            matters where a point stays in contact, and for spheres, which touch with their nearest points. Where the surface is
            hollow they must be smaller than its radius of curvature.

    Example:
        >>> import appell, numpy as np
        >>> box = appell.surfaces.ImplicitSurface(
        ...     lambda p: p[0] ** 4 + p[1] ** 4 - 1.0, lambda p: np.array([4 * p[0] ** 3, 4 * p[1] ** 3, 0.0])
        ... )
        >>> box.gap([0.5, 0.5, 0.0]).round(4).item(), box.normal_at([1.0, 0.0, 0.0]).tolist()
        (0.4821, [-1.0, -0.0, -0.0])
    """

    function: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    side: str = "inside"
    hessian: Callable[[np.ndarray], np.ndarray] | None = field(default=None, kw_only=True)

    def value_and_gradient(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.apply_along_axis(lambda p: float(self.function(p)), -1, p), self._gradient(p)

    def second_derivative(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self.hessian is not None:
            H = np.apply_along_axis(lambda p: np.asarray(self.hessian(p), dtype=float), -1, p)  # type: ignore[misc]
            return np.einsum("...i,...ij,...j->...", v, H, v)
        speed = norm_or_one(v)
        step = STEP * v / speed[..., None]
        difference = (self._gradient(p + step) - self._gradient(p - step)) / (2.0 * STEP)
        return np.einsum("...i,...i->...", difference, v) * speed

    def hessian_matrix(self, p: np.ndarray) -> np.ndarray:
        if self.hessian is not None:
            return np.asarray(self.hessian(p), dtype=float)
        H = np.array([np.subtract(self.gradient(p + step), self.gradient(p - step)) for step in STEPS]) / (2.0 * STEP)
        return 0.5 * (H + H.T)

    def nearest(self, p: np.ndarray) -> Nearest | None:
        return nearest_point(
            lambda x: (float(self.function(x)), np.asarray(self.gradient(x), dtype=float)), self.hessian_matrix, p
        )

    def require_consistent(self, p: np.ndarray) -> None:
        for point in p:
            given = self._gradient(point)
            above, below = (self.value_and_gradient(point + step)[0] for step in (STEPS, -STEPS))
            quotient = (above - below) / (2.0 * STEP)
            if given.shape != (3,) or np.abs(given - quotient).max() > 1e-4 * max(1.0, np.abs(quotient).max()):
                raise ArgumentError(
                    f"gradient of ImplicitSurface at {point.tolist()} is {given.tolist()}, but differences of its function "
                    f"give {quotient.round(6).tolist()}. Give the gradient of the same function."
                )

    def _gradient(self, p: np.ndarray) -> np.ndarray:
        return np.apply_along_axis(lambda p: np.asarray(self.gradient(p), dtype=float), -1, p)

"""The answer of inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SOLVED = "solved"
UNREACHABLE = "unreachable"
OUTSIDE_LIMITS = "outside limits"
NOT_CONVERGED = "not converged"
"""How a search ends. Unreachable: proven by the closed form. Not converged: no start led there, the best is given."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Coordinates for one pose, or for a batch of poses with the leading dimensions `...`.

    Attributes:
        q: coordinates, (..., nq); where nothing was solved, the best that was found.
        status: `"solved"`, `"unreachable"` (for any angles), `"outside limits"` (of the joints) or `"not converged"`.
        error: length of what is missing to the pose, metres and radians together, (...).
        iterations: steps that the search took, (...); 0 for the closed form.
        branch: name of the configuration where the closed form was used, else None.
        singular: whether axes line up there, so that other coordinates give the same pose, (...).

    For a batch, `status` and `branch` are arrays of text, for one pose they are text and the others plain numbers.
    """

    q: np.ndarray
    status: Any
    error: Any
    iterations: Any
    branch: Any
    singular: Any

    @property
    def solved(self) -> Any:
        """Whether the pose is reached, (...)."""
        return self.status == SOLVED

    def __repr__(self) -> str:
        if isinstance(self.status, str):
            branch = f", {self.branch}" if self.branch else ""
            return f"Solution({self.status}{branch}, q={np.array2string(self.q, precision=6)}, error={self.error:.2g})"
        return f"Solution({int(np.sum(self.solved))} of {self.status.size} poses solved)"


def collected(
    lead: tuple[int, ...],
    q: np.ndarray,
    status: np.ndarray,
    error: np.ndarray,
    iterations: np.ndarray,
    branch: np.ndarray,
    singular: np.ndarray,
) -> Solution:
    """N answers in the shape `lead` of the question; a single one becomes plain values."""
    parts = (status, error, iterations, branch, singular)
    if not lead:
        status, error, iterations, branch, singular = (
            part[0].item() if part.dtype != object else part[0] for part in parts
        )
        return Solution(q[0], status, error, iterations, branch, singular)
    return Solution(q.reshape(*lead, -1), *(part.reshape(lead) for part in parts))

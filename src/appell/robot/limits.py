"""Violations of joint limits, as simulations and reference trajectories report them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from appell.deprecation import renamed_attributes


@renamed_attributes(joint="name", time="start", most="worst")
@dataclass(frozen=True)
class LimitViolation:
    """An interval of time in which a joint exceeds one of its limits.

    Attributes:
        name: of the joint, the coordinate or the velocity.
        quantity: `"position"`, `"velocity"`, `"acceleration"` or `"effort"`.
        bound: `"lower"` or `"upper"`.
        limit: value of the limit. [unit]
        start, end: first and last time beyond it. [s]
        worst: greatest distance beyond it. [unit]
        worst_time: when it is reached; NaN where that is not recorded. [s]
    """

    name: str
    quantity: str
    bound: str
    limit: float
    start: float
    end: float
    worst: float
    worst_time: float = math.nan
    unit: str = ""

    @property
    def value(self) -> float:
        """The value farthest beyond the limit. [unit]"""
        return self.limit + (self.worst if self.bound == "upper" else -self.worst)

    def __str__(self) -> str:
        return (
            f"joint {self.name!r}: {self.quantity} {self.value:.6g} {self.unit} at t = {self.worst_time:.4g} s, limit "
            f"{self.limit:.6g} {self.unit}, exceeded first at t = {self.start:.4g} s"
        )

"""Violations of joint limits, as simulations and reference trajectories report them."""

from __future__ import annotations

from dataclasses import dataclass

from appell.deprecation import renamed_attributes, warn_renamed


@renamed_attributes(joint="name", time="start", most="worst")
@dataclass(frozen=True)
class LimitViolation:
    """An interval of time in which a joint exceeds one of its limits.

    Attributes:
        name: of the joint, the coordinate or the velocity.
        quantity: `"position"`, `"velocity"`, `"acceleration"` or `"effort"`.
        bound: `"lower"` or `"upper"`; of simulated velocities, `"upper"` bound of the magnitude.
        start, end: first and last time beyond the limit; of simulations, as seen at the integrator's steps. [s]
        worst: greatest distance beyond the limit. [unit]
        limit_value, worst_time: the limit [unit] and the time of the worst value [s]; None in simulations.
    """

    name: str
    quantity: str
    bound: str
    start: float
    end: float
    worst: float
    limit_value: float | None = None
    worst_time: float | None = None
    unit: str = ""

    @property
    def value(self) -> float | None:
        """The value farthest beyond the limit; None in simulations. [unit]"""
        sign = 1.0 if self.bound == "upper" else -1.0
        return None if self.limit_value is None else self.limit_value + sign * self.worst

    @property
    def limit(self) -> float | str:
        """Former name of `limit_value`; of simulations `"lower"`, `"upper"` or `"speed"`."""
        warn_renamed("LimitViolation.limit", "limit_value; quantity and bound in simulations")
        if self.limit_value is not None:
            return self.limit_value
        return "speed" if self.quantity == "velocity" else self.bound

    def __str__(self) -> str:
        start = f"exceeded first at t = {self.start:.4g} s"
        if self.limit_value is None:
            return f"{self.name!r}: {self.bound} {self.quantity} limit {start}, by up to {self.worst:.6g}"
        return (
            f"joint {self.name!r}: {self.quantity} {self.value:.6g} {self.unit} at t = {self.worst_time:.4g} s, limit "
            f"{self.limit_value:.6g} {self.unit}, {start}"
        )

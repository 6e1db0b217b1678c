"""Relative errors of predicted forces, and the prediction of another recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from appell.identification.findings import Finding
from appell.table import Table


@dataclass(frozen=True)
class RelativeError:
    """|predicted - measured| / |measured|, norms over samples: of each joint, and of all together.

    Example:
        >>> str(RelativeError({"elbow": 0.08, "wrist": 0.2}, 0.1))
        '10.00 % (elbow 8.00 %, wrist 20.00 %)'
    """

    joints: Mapping[str, float]
    total: float

    @classmethod
    def of(cls, names: tuple[str, ...], measured: np.ndarray, predicted: np.ndarray) -> RelativeError:
        """Relative error of forces (N, nv)."""
        error = np.linalg.norm(predicted - measured, axis=0)
        size = np.linalg.norm(measured, axis=0)
        joints = {name: float(a / b) if b > 0 else float(a > 0) for name, a, b in zip(names, error, size, strict=True)}
        total = float(np.linalg.norm(error) / max(np.linalg.norm(size), np.finfo(float).tiny))
        return cls(joints, total)

    @classmethod
    def of_squares(cls, names: tuple[str, ...], rest: np.ndarray, power: np.ndarray) -> RelativeError:
        """Relative error from squared differences and squared forces, (nv,) each."""
        joints = {
            name: float(np.sqrt(r / p)) if p > 0 else float(r > 0)
            for name, r, p in zip(names, rest, power, strict=True)
        }
        return cls(joints, float(np.sqrt(rest.sum() / max(power.sum(), np.finfo(float).tiny))))

    def __str__(self) -> str:
        joints = ", ".join(f"{name} {100 * value:.2f} %" for name, value in self.joints.items())
        return f"{100 * self.total:.2f} % ({joints})"


@dataclass(frozen=True)
class Validation:
    """Predicted and measured forces of a recording that was not part of the fit.

    Attributes:
        raw: relative error on the forces as recorded.
        filtered: relative error on forces and predictions that passed the same low-pass filter, as in the fit.
        t, measured, predicted: filtered samples, (n,) and (n, nv).
        findings: what is doubtful about the recording.
    """

    raw: RelativeError
    filtered: RelativeError
    t: np.ndarray = field(repr=False)
    measured: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    findings: tuple[Finding, ...] = ()

    @property
    def total(self) -> float:
        """Error of all joints on filtered forces; `raw.total` is that on forces as recorded."""
        return self.filtered.total

    @property
    def joints(self) -> Mapping[str, float]:
        """Error of each joint on filtered forces."""
        return self.filtered.joints

    def table(self) -> Table:
        """Both errors, per joint and in all."""
        rows = [(name, 100 * self.raw.joints[name], 100 * self.filtered.joints[name]) for name in self.raw.joints]
        total = ("all", 100 * self.raw.total, 100 * self.filtered.total)
        columns = ("joint", "forces as recorded [%]", "filtered forces [%]")
        return Table("Relative error on another recording", columns, (*rows, total), tuple(map(str, self.findings)))

    def __str__(self) -> str:
        return str(self.table())

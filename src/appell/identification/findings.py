"""What makes recordings or identified parameters doubtful."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that makes data or result doubtful.

    Attributes:
        kind: short name, such as `"sign"` or `"saturation"`.
        where: the joint, link or parameters.
        evidence: what was found.
        remedy: what to do.

    Example:
        >>> print(Finding("sign", "elbow", "friction is negative: -2.1 +- 0.1 N m", "Check the sign of its current."))
        sign, elbow: friction is negative: -2.1 +- 0.1 N m. Check the sign of its current.
    """

    kind: str
    where: str
    evidence: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.where}: {self.evidence}. {self.remedy}"

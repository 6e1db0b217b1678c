"""Scalars that are sums of sines and cosines of the joint angles.

Every quantity of an open chain is a sum of harmonics, Σ_k c_k exp(i k·q), with whole numbers k and coefficients c_k that are
polynomials in everything else (speeds, displacements, parameters). Added and multiplied in this form, expressions are in
normal form at every step: nothing has to be simplified afterwards, and what cancels is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from appell.algebra import Angle

Wave = tuple[Fraction, ...]
"""k, one entry a joint angle."""


class Space:
    """What the expressions of one robot are made of: joint angles, and variables over which coefficients are polynomials."""

    def __init__(self, angles: Sequence[str], variables: Sequence[str]) -> None:
        from sympy import QQ_I
        from sympy.polys.rings import PolyRing

        self.angles = tuple(angles)
        self.variables = tuple(variables)
        self.ring: Any = PolyRing(self.variables, QQ_I)
        self.still: Wave = (Fraction(0),) * len(self.angles)

    def angle(self, name: str) -> JointAngle:
        """A joint angle."""
        return JointAngle(self, tuple(Fraction(int(angle == name)) for angle in self.angles), 0.0)

    def variable(self, name: str) -> Harmonic:
        """One of the variables."""
        return Harmonic(self, {self.still: self.ring.gens[self.variables.index(name)]})

    def constant(self, value: float) -> Harmonic:
        """A number, exactly."""
        return Harmonic(self, {self.still: self.coefficient(value)})

    def coefficient(self, real: float, imaginary: float = 0.0) -> Any:
        """A complex number as a coefficient, exactly."""
        from sympy import QQ

        x, y = (QQ(*part.as_integer_ratio()) for part in (real, imaginary))
        return self.ring(self.ring.domain(x, y))


class Harmonic:
    """Σ_k c_k exp(i k·q) by its terms. Real: c_-k is the conjugate of c_k."""

    __slots__ = ("space", "terms")

    def __init__(self, space: Space, terms: Mapping[Wave, Any]) -> None:
        self.space = space
        self.terms = {wave: c for wave, c in terms.items() if c}

    def __add__(self, other: Any) -> Harmonic:
        terms = dict(self.terms)
        for wave, c in self._read(other).terms.items():
            terms[wave] = terms[wave] + c if wave in terms else c
        return Harmonic(self.space, terms)

    def __mul__(self, other: Any) -> Harmonic:
        terms: dict[Wave, Any] = {}
        for k, a in self.terms.items():
            for m, b in self._read(other).terms.items():
                wave = tuple(x + y for x, y in zip(k, m, strict=True))
                terms[wave] = terms[wave] + a * b if wave in terms else a * b
        return Harmonic(self.space, terms)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Harmonic:
        return Harmonic(self.space, {wave: -c for wave, c in self.terms.items()})

    def __sub__(self, other: Any) -> Harmonic:
        return self + -self._read(other)

    def __rsub__(self, other: Any) -> Harmonic:
        return -self + other

    def is_zero(self) -> bool:
        """Whether it is zero for all values of its variables."""
        return not self.terms

    def _read(self, other: Any) -> Harmonic:
        return other if isinstance(other, Harmonic) else self.space.constant(other)


class JointAngle:
    """An angle k·q + phase. Only its sine and cosine are harmonics."""

    __slots__ = ("phase", "space", "wave")

    def __init__(self, space: Space, wave: Wave, phase: float) -> None:
        self.space, self.wave, self.phase = space, wave, phase

    def __add__(self, phase: float) -> JointAngle:
        return JointAngle(self.space, self.wave, self.phase + phase)

    def __mul__(self, factor: float) -> JointAngle | float:
        if factor == 0:
            return 0.0
        ratio = Fraction(factor).limit_denominator(10_000)
        return JointAngle(self.space, tuple(k * ratio for k in self.wave), self.phase * factor)

    def cos(self) -> Harmonic:
        turn = Angle.of(self.phase)
        return self._real_part(turn.cos, turn.sin)

    def sin(self) -> Harmonic:
        turn = Angle.of(self.phase)
        return self._real_part(turn.sin, -turn.cos)

    def _real_part(self, x: float, y: float) -> Harmonic:
        """Re((x + i y) exp(i k·q))."""
        coefficient, back = self.space.coefficient, tuple(-k for k in self.wave)
        return Harmonic(self.space, {self.wave: coefficient(x / 2, y / 2), back: coefficient(x / 2, -y / 2)})

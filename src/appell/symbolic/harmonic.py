"""Scalars that are sums of sines and cosines of the joint angles, and their SymPy expressions.

Every quantity of a kinematic tree is a finite Fourier series, Σ_k c_k exp(i k·q), with coefficients c_k that are polynomials in
everything else (velocities, displacements, quaternions, parameters, and the angles of screws themselves). Sums and products of
such series are in normal form at every step: nothing has to be simplified afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from appell.algebra import Angle

if TYPE_CHECKING:
    import sympy

WaveVector = tuple[Fraction, ...]
"""k, one entry per joint angle."""

ROUNDING_TOL = 1e-14
"""Coefficients smaller than this, relative to the largest of an expression, are rounding errors."""


class HarmonicRing:
    """The expressions of one robot: their joint angles, and the variables of their coefficients."""

    def __init__(self, angles: Sequence[str], variables: Sequence[str]) -> None:
        from sympy import QQ_I
        from sympy.polys.rings import PolyRing

        self.angles = tuple(angles)
        self.variables = (*self.angles, *variables)
        self.polynomials: Any = PolyRing(self.variables, QQ_I)
        self.zero_wave: WaveVector = (Fraction(0),) * len(self.angles)

    def angle(self, name: str) -> JointAngle:
        """A joint angle."""
        wave = tuple(Fraction(int(angle == name)) for angle in self.angles)
        return JointAngle(self, wave, wave, 0.0)

    def variable(self, name: str) -> Harmonic:
        """One of the variables."""
        return Harmonic(self, {self.zero_wave: self.polynomials.gens[self.variables.index(name)]})

    def constant(self, value: float) -> Harmonic:
        """A number, exactly."""
        return Harmonic(self, {self.zero_wave: self.coefficient(value)})

    def coefficient(self, real: float, imaginary: float = 0.0) -> Any:
        """A complex number as a coefficient, exactly."""
        from sympy import QQ

        x, y = (QQ(*part.as_integer_ratio()) for part in (real, imaginary))
        return self.polynomials(self.polynomials.domain(x, y))


class Harmonic:
    """A real series Σ_k c_k exp(i k·q) by its terms; c_-k is the conjugate of c_k."""

    __slots__ = ("ring", "terms")

    def __init__(self, ring: HarmonicRing, terms: Mapping[WaveVector, Any]) -> None:
        self.ring = ring
        self.terms = {wave: c for wave, c in terms.items() if c}

    def __add__(self, other: Any) -> Harmonic:
        terms = dict(self.terms)
        for wave, c in self._converted(other).terms.items():
            terms[wave] = terms[wave] + c if wave in terms else c
        return Harmonic(self.ring, terms)

    def __mul__(self, other: Any) -> Harmonic:
        terms: dict[WaveVector, Any] = {}
        for k, a in self.terms.items():
            for m, b in self._converted(other).terms.items():
                wave = tuple(x + y for x, y in zip(k, m, strict=True))
                terms[wave] = terms[wave] + a * b if wave in terms else a * b
        return Harmonic(self.ring, terms)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Harmonic:
        return Harmonic(self.ring, {wave: -c for wave, c in self.terms.items()})

    def __sub__(self, other: Any) -> Harmonic:
        return self + -self._converted(other)

    def __rsub__(self, other: Any) -> Harmonic:
        return -self + other

    def is_zero(self) -> bool:
        """Whether it is zero for all values of its variables."""
        return not self.terms

    def _converted(self, other: Any) -> Harmonic:
        if isinstance(other, JointAngle):
            return other.value()
        return other if isinstance(other, Harmonic) else self.ring.constant(other)


class JointAngle:
    """An angle k·q + phase. Its sine and cosine are harmonics; in sums and products it is the polynomial of its value.

    Attributes:
        wave: k, rational.
        slope: k as given, for its value.
    """

    __slots__ = ("phase", "ring", "slope", "wave")

    def __init__(self, ring: HarmonicRing, wave: WaveVector, slope: WaveVector, phase: float) -> None:
        self.ring, self.wave, self.slope, self.phase = ring, wave, slope, phase

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            return JointAngle(self.ring, self.wave, self.slope, self.phase + other)
        return self.value() + other

    def __mul__(self, factor: Any) -> Any:
        if not isinstance(factor, (int, float)):
            return self.value() * factor
        if factor == 0:
            return 0.0
        ratio, exact = Fraction(factor).limit_denominator(10_000), Fraction(factor)
        wave, slope = tuple(k * ratio for k in self.wave), tuple(k * exact for k in self.slope)
        return JointAngle(self.ring, wave, slope, self.phase * factor)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1.0

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def value(self) -> Harmonic:
        """The angle itself as a polynomial."""
        total = self.ring.constant(self.phase)
        for name, slope in zip(self.ring.angles, self.slope, strict=True):
            if slope:
                total = total + self.ring.variable(name) * float(slope)
        return total

    def cos(self) -> Harmonic:
        phase = Angle.of(self.phase)
        return self._real_part(phase.cos, phase.sin)

    def sin(self) -> Harmonic:
        phase = Angle.of(self.phase)
        return self._real_part(phase.sin, -phase.cos)

    def _real_part(self, x: float, y: float) -> Harmonic:
        """Re((x + i y) exp(i k·q))."""
        coefficient, negative = self.ring.coefficient, tuple(-k for k in self.wave)
        return Harmonic(self.ring, {self.wave: coefficient(x / 2, y / 2), negative: coefficient(x / 2, -y / 2)})


def variable_names(scalar: Any) -> set[str]:
    """Names of the variables in a harmonic."""
    if not isinstance(scalar, Harmonic):
        return set()
    names = scalar.ring.variables
    return {
        names[i] for c in scalar.terms.values() for powers in c.itermonoms() for i, power in enumerate(powers) if power
    }


def to_sympy(scalar: Harmonic | JointAngle | float, symbols: list[sympy.Symbol]) -> sympy.Expr:
    """A harmonic as a SymPy expression: for each wave k, 2 Re(c) cos(k·q) - 2 Im(c) sin(k·q)."""
    import sympy

    if isinstance(scalar, JointAngle):
        scalar = scalar.value()
    if not isinstance(scalar, Harmonic):
        return _number(Fraction(scalar))
    angles = [sympy.Symbol(name) for name in scalar.ring.angles]
    numbers = [number for coefficient in scalar.terms.values() for number in coefficient.values()]
    smallest = ROUNDING_TOL * float(max((abs(_fraction(part)) for c in numbers for part in (c.x, c.y)), default=0))
    total = sympy.Integer(0)
    for wave, coefficient in scalar.terms.items():
        if wave == scalar.ring.zero_wave:
            total += _polynomial(coefficient, "x", 1, smallest, symbols)
        elif next(k for k in wave if k) > 0:  # one of k and -k
            angle = sum(sympy.Rational(*k.as_integer_ratio()) * q for k, q in zip(wave, angles, strict=True))
            cosine = _polynomial(coefficient, "x", 2, smallest, symbols)
            sine = _polynomial(coefficient, "y", -2, smallest, symbols)
            total += sympy.factor_terms(cosine) * sympy.cos(angle) + sympy.factor_terms(sine) * sympy.sin(angle)
    return total


def _polynomial(coefficient: Any, part: str, factor: int, smallest: float, symbols: list[sympy.Symbol]) -> sympy.Expr:
    """Real (x) or imaginary (y) part of a coefficient times a factor, without rounding errors."""
    import sympy

    total = sympy.Integer(0)
    for powers, number in coefficient.terms():
        value = factor * _fraction(getattr(number, part))
        if abs(value) > smallest:
            product = sympy.Mul(*(symbol**power for symbol, power in zip(symbols, powers, strict=True)))
            total += _number(value) * product
    return total


def _number(value: Fraction) -> sympy.Expr:
    """Small fractions as fractions, other numbers as floats."""
    import sympy

    return sympy.Rational(*value.as_integer_ratio()) if value.denominator <= 16 else sympy.Float(float(value))


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.numerator), int(number.denominator))

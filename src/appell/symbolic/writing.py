"""Harmonics as SymPy expressions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from appell.symbolic.harmonic import Harmonic, Wave

if TYPE_CHECKING:
    import sympy

ROUNDING = 1e-14
"""Coefficients this much smaller than the largest of an expression are rounding errors of the robot's numbers."""


def expression(scalar: Harmonic | float, symbols: list[sympy.Symbol]) -> sympy.Expr:
    """A harmonic as SymPy writes it: for each wave k, 2 Re(c) cos(k·q) - 2 Im(c) sin(k·q)."""
    import sympy

    if not isinstance(scalar, Harmonic):
        return _number(Fraction(scalar))
    angles = [sympy.Symbol(name) for name in scalar.space.angles]
    numbers = [number for coefficient in scalar.terms.values() for number in coefficient.values()]
    smallest = ROUNDING * float(max((abs(_fraction(part)) for c in numbers for part in (c.x, c.y)), default=0))
    total = sympy.Integer(0)
    for wave, coefficient in scalar.terms.items():
        if wave == scalar.space.still:
            total += _polynomial(coefficient, "x", 1, smallest, symbols)
        elif _leads(wave):
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
    """Small fractions as they are, other numbers as floats."""
    import sympy

    return sympy.Rational(*value.as_integer_ratio()) if value.denominator <= 16 else sympy.Float(float(value))


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.numerator), int(number.denominator))


def _leads(wave: Wave) -> bool:
    """Of k and -k, the one whose first entry that is not zero is positive."""
    return next(k for k in wave if k) > 0


def variables_of(entry: Any) -> set[str]:
    """Names of the variables that a harmonic holds."""
    if not isinstance(entry, Harmonic):
        return set()
    names = entry.space.variables
    return {
        names[i] for c in entry.terms.values() for powers in c.itermonoms() for i, power in enumerate(powers) if power
    }

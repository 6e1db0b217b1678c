"""Functions of scalars of any type.

The algorithms use `+ - * /` and the functions of this file on floats, NumPy arrays of lanes, `casadi.SX`, SymPy
expressions, or anything else that has the four operations and methods `sin`, `cos`, `sqrt`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

Scalar = Any
"""A float, an array of lanes, a `casadi.SX`, a SymPy expression, ..."""
Scalars = Sequence[Scalar]


def _elementary(name: str):
    real = getattr(math, name)

    def function(x: Scalar) -> Scalar:
        if isinstance(x, (float, int)):
            return real(x)
        method = getattr(x, name, None)
        if method is not None:
            return method()
        if type(x).__module__.partition(".")[0] == "sympy":
            import sympy

            return getattr(sympy, name)(x)
        import numpy

        return getattr(numpy, name)(x)

    function.__name__ = name
    function.__doc__ = f"{name}(x) for any scalar."
    return function


sin = _elementary("sin")
cos = _elementary("cos")
sqrt = _elementary("sqrt")


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), from -π to π, for any scalars."""
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.atan2(y, x)
    symbolic = next(type(each) for each in (y, x) if not isinstance(each, (float, int)))
    if hasattr(symbolic, "atan2"):
        return symbolic.atan2(y, x)
    module = symbolic.__module__.partition(".")[0]
    if module in ("casadi", "sympy"):
        return import_module(module).atan2(y, x)
    import numpy

    return numpy.arctan2(y, x)


def is_zero(x: Scalar) -> bool:
    """Whether x is zero by structure: a plain number 0 or a constant symbol 0, for every value of its inputs."""
    if isinstance(x, (float, int)):
        return x == 0
    test = getattr(x, "is_zero", None)  # a method in CasADi, an attribute in SymPy
    return bool(test() if callable(test) else test)


def jacobian(function: Callable[[Scalars], list[Scalar]], at: Scalars) -> list[list[Scalar]]:
    """Rows of the Jacobian of a function of scalars, for scalars that record a graph (`appell.compiler.symbols`)."""
    recorded = next((type(x) for x in at if hasattr(type(x), "jacobian")), None)
    if recorded is None:
        raise TypeError("only scalars that record a graph can be differentiated")
    return recorded.jacobian(function, at)

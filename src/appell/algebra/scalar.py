"""Functions of one scalar, whatever the scalar is.

The algorithms use `+ - * /` and the functions of this file on floats, NumPy arrays of lanes, `casadi.SX`, SymPy
expressions, or anything else that has the four operations and methods `sin`, `cos`, `sqrt`.
"""

from __future__ import annotations

import math
from typing import Any

Scalar = Any
"""A float, an array of lanes, a `casadi.SX`, a SymPy expression, ..."""


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


def is_zero(x: Scalar) -> bool:
    """Whether x is zero by structure: a plain number 0 or a constant symbol 0, for every value of its inputs."""
    if isinstance(x, (float, int)):
        return x == 0
    test = getattr(x, "is_zero", None)  # a method in CasADi, an attribute in SymPy
    return bool(test() if callable(test) else test)

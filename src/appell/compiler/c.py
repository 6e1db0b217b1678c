"""Scalar C99: one value is one number."""

from __future__ import annotations

import numpy as np

from appell.compiler.emit import Code, Dialect
from appell.compiler.operations import LIBM

REALS = {"float64": "double", "float32": "float"}


def literal(number: float, dtype: str) -> str:
    """The shortest decimal that reads back as this number."""
    return repr(float(number)) if dtype == "float64" else f"{np.float32(number)!s}f"


def scalar_dialect(dtype: str, type_name: str | None = None) -> Dialect:
    """Plain C over `double` or `float`; `type_name` is what the text calls that type."""
    suffix = "" if dtype == "float64" else "f"
    real = type_name or REALS[dtype]
    return Dialect(
        type=real,
        literal=lambda number: literal(number, dtype),
        functions={name: name + suffix for name in LIBM},
        operators={"sign": f"({real})(({{0}} > 0) - ({{0}} < 0))"},
    )


def functions_text(code: Code, type_name: str, prefix: str, attribute: str = "") -> str:
    """The emitted statements as C functions `<prefix>_angles` and `<prefix>_body`; `attribute` stands before each part."""
    pointers = {"x": "const ", "s": "const ", "c": "const ", "w": "", "y": ""}
    given = ", ".join(f"{const}{type_name} *restrict {name}" for name, const in pointers.items())
    unused = "(void)x; (void)s; (void)c; (void)w; (void)y;"
    texts = [
        _function(
            f"{prefix}_angles(const {type_name} *restrict x, {type_name} *restrict a)", code.angles, "(void)x; (void)a;"
        )
    ]
    texts += [_function(f"{prefix}_part{i}({given})", part, unused, attribute) for i, part in enumerate(code.parts)]
    calls = [f"{prefix}_part{i}(x, s, c, w, y);" for i in range(len(code.parts))]
    texts.append(_function(f"{prefix}_body({given})", calls))
    return "\n".join(texts)


def _function(head: str, statements, unused: str = "", attribute: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in (*((unused,) if unused else ()), *statements))
    return f"static {attribute}void {head}\n{{\n{lines}\n}}\n"

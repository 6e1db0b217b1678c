"""One traversal from operations to C statements, the same for every target.

A target is a `Dialect`: a small table of how it writes a type, a number, a load, a store and the functions that are not
plain operators. Sines and cosines are hoisted: the joint angles are computed first, their sines and cosines are taken
together (in vectors), and the rest is straight-line code in single assignment.

    angles(x, a)             a[k] = ...            the arguments of sine and cosine
    (s, c)                   = sincos(a)           by the target
    part0(x, s, c, w, y)     const T v7 = ...      everything else; long bodies come in parts that share w
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from appell.compiler.operations import LIBM, OPERATIONS, OperationList
from appell.errors import CompileError

REALS = {"float64": "double", "float32": "float"}

WHOLE, PART = 3000, 1000
"""Bodies of more statements than the first are cut into parts of the second: compilers need more than linear time, and code
that has lost its registers anyway runs faster in parts (docs/decisions/0004)."""


@dataclass(frozen=True)
class Dialect:
    """How a target writes what differs between targets.

    Attributes:
        type: of one value.
        literal: text of a number used as an operand.
        functions: names of the functions for operations that are not operators.
        operators: text of further operations, as in `OPERATIONS`; `{number}` is that of the operation.
        load: text of an input, from its index.
        angle: statement that hands over an argument of sine and cosine, from its index and its text.
        sine, cosine: text of a sine and of a cosine; `{}` is the index of the angle.
        store: statement that writes a result; `{0}` the index, `{1}` the value.
    """

    type: str
    literal: Callable[[float], str]
    functions: Mapping[str, str] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)
    load: Callable[[int], str] = "x[{}]".format
    angle: Callable[[int, str], str] = "a[{}] = {};".format
    sine: str = "s[{}]"
    cosine: str = "c[{}]"
    store: str = "y[{0}] = {1};"


@dataclass(frozen=True)
class EmissionPlan:
    """What goes where, whatever the dialect.

    Attributes:
        angles: arguments of the hoisted sines and cosines, with their place in a, s and c.
        free: values that need no statement: inputs, constants, hoisted sines and cosines.
        before: operations behind the angles.
        pieces: all other operations, in order, cut into parts.
        shared: values that pass from one part to a later one, with their place in w.
    """

    listed: OperationList
    angles: Mapping[int, int]
    free: Collection[int]
    before: Sequence[int]
    pieces: Sequence[Sequence[int]]
    shared: Mapping[int, int]


@dataclass(frozen=True)
class Code:
    """Statements of one function.

    Attributes:
        angles: those that compute a[0], a[1], ..., in all `angle_count`.
        parts: the other ones; they share `shared` values, in w.
    """

    angles: tuple[str, ...]
    angle_count: int
    parts: tuple[tuple[str, ...], ...]
    shared: int


Cut = Callable[[OperationList, Sequence[int]], Sequence[Sequence[int]]]
"""Cuts the operations of a body into parts."""


def plan_emission(listed: OperationList, part: int | None = None, cut: Cut | None = None) -> EmissionPlan:
    """Hoist the angles and cut the rest into parts, of a measured size unless a size or a way is given."""
    angles = hoisted_angles(listed)
    free = {
        k
        for k, (name, arguments, _) in enumerate(listed.operations)
        if name in ("const", "input") or (name in ("sin", "cos") and arguments[0] in angles)
    }
    body = _needed(listed, listed.outputs, free)
    part = part or (PART if len(body) > WHOLE else WHOLE)
    pieces = cut(listed, body) if cut else [body[i : i + part] for i in range(0, len(body), part)] or [[]]
    home = {k: i for i, piece in enumerate(pieces) for k in piece}
    shared: dict[int, int] = {}
    for k, i in home.items():
        for argument in listed.operations[k].arguments:
            if home.get(argument, i) != i:
                shared.setdefault(argument, len(shared))
    return EmissionPlan(listed, angles, free, _needed(listed, angles, free), pieces, shared)


def emit(listed: OperationList, dialect: Dialect, part: int | None = None) -> Code:
    """Statements of an operation list in a dialect."""
    return write(plan_emission(listed, part), dialect)


def write(planned: EmissionPlan, dialect: Dialect) -> Code:
    """Statements of a plan in a dialect."""
    listed, known = planned.listed, _known_texts(planned, dialect)
    before = [
        *(_assignment(listed, dialect, known, k) for k in planned.before),
        *(dialect.angle(index, known.get(value, f"v{value}")) for value, index in planned.angles.items()),
    ]
    stores: dict[int, list[str]] = {}
    for i, value in enumerate(listed.outputs):
        stores.setdefault(value, []).append(dialect.store.format(i, known.get(value, f"v{value}")))
    parts: list[list[str]] = [[] for _ in planned.pieces]
    for lines, piece in zip(parts, planned.pieces, strict=True):
        inside = set(piece)
        texts = {**{k: f"w[{place}]" for k, place in planned.shared.items() if k not in inside}, **known}
        for k in piece:
            lines.append(_assignment(listed, dialect, texts, k))
            lines.extend(stores.pop(k, ()))
            if k in planned.shared:
                lines.append(f"w[{planned.shared[k]}] = v{k};")
    for left in stores.values():  # results that are inputs, constants, sines or cosines
        parts[-1].extend(left)
    return Code(tuple(before), len(planned.angles), tuple(tuple(lines) for lines in parts), len(planned.shared))


def hoisted_angles(listed: OperationList) -> dict[int, int]:
    """Arguments of sines and cosines that need no other sine or cosine, numbered."""
    after: set[int] = set()
    angles: dict[int, int] = {}
    for k, (name, arguments, _) in enumerate(listed.operations):
        if not after.isdisjoint(arguments):
            after.add(k)
        elif name in ("sin", "cos"):
            after.add(k)
            angles.setdefault(arguments[0], len(angles))
    return angles


def _known_texts(planned: EmissionPlan, dialect: Dialect) -> dict[int, str]:
    """How the values are written that need no statement."""
    texts = {}
    for k in planned.free:
        name, arguments, number = planned.listed.operations[k]
        if name == "const":
            texts[k] = dialect.literal(number)
        elif name == "input":
            texts[k] = dialect.load(int(number))
        else:
            texts[k] = (dialect.sine if name == "sin" else dialect.cosine).format(planned.angles[arguments[0]])
    return texts


def _needed(listed: OperationList, wanted: Iterable[int], free: Collection[int]) -> list[int]:
    """The operations behind the wanted values, in order, without the free ones."""
    found: set[int] = set()
    waiting = list(wanted)
    while waiting:
        k = waiting.pop()
        if k not in found and k not in free:
            found.add(k)
            waiting.extend(listed.operations[k].arguments)
    return sorted(found)


def _assignment(listed: OperationList, dialect: Dialect, texts: Mapping[int, str], k: int) -> str:
    name, arguments, number = listed.operations[k]
    template = dialect.operators.get(name) or OPERATIONS[name].text
    operands = [texts.get(argument, f"v{argument}") for argument in arguments]
    if template:
        expression = template.format(*operands, one=dialect.literal(1.0), number=number)
    elif name not in dialect.functions:
        raise CompileError(
            f"operation {name!r} has no translation for this target. Known: {', '.join(dialect.functions)}."
        )
    else:
        expression = f"{dialect.functions[name]}({', '.join(operands)})"
    return f"const {dialect.type} v{k} = {expression};"


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


def functions_text(code: Code, type_name: str, prefix: str) -> str:
    """The emitted statements as C functions `<prefix>_angles` and `<prefix>_body`."""
    pointers = {"x": "const ", "s": "const ", "c": "const ", "w": "", "y": ""}
    given = ", ".join(f"{const}{type_name} *restrict {name}" for name, const in pointers.items())
    unused = "(void)x; (void)s; (void)c; (void)w; (void)y;"
    texts = [
        _function(
            f"{prefix}_angles(const {type_name} *restrict x, {type_name} *restrict a)", code.angles, "(void)x; (void)a;"
        )
    ]
    texts += [_function(f"{prefix}_part{i}({given})", part, unused) for i, part in enumerate(code.parts)]
    calls = [f"{prefix}_part{i}(x, s, c, w, y);" for i in range(len(code.parts))]
    texts.append(_function(f"{prefix}_body({given})", calls))
    return "\n".join(texts)


def _function(head: str, statements, unused: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in (*((unused,) if unused else ()), *statements))
    return f"static void {head}\n{{\n{lines}\n}}\n"

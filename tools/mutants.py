"""Small changes of a Python file: comparison, arithmetic and logical operators, numbers, signs, and minimum for maximum.

Small integers grow by one, other numbers by half, and tolerances, numbers below 1e-4, by a factor of 10000.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",), ast.NotEq: ("==",),
}  # fmt: skip
"""Without its boundary, or with it, and the opposite."""
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
SMALLEST = 1e-200
"""Numbers below it keep divisors from being zero; they are left alone."""
CHECKED = ("strict", "check", "repr", "compare", "stacklevel", "optimize", "maxsize")
"""Arguments that only check, are for texts or for speed are left alone, as are assertions and texts themselves."""
SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A change of one piece of a file, from `start` to `end` in bytes."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old!r} -> {self.new!r}"

    def applied(self, content: bytes) -> bytes:
        """The content of the file with the change."""
        return content[: self.start] + self.new.encode() + content[self.end :]


def mutants_of(path: str, content: bytes) -> Iterator[Mutant]:
    """All mutants of a file. Texts, annotations and arguments of errors are left alone.

    Example:
        >>> [(m.old, m.new) for m in mutants_of("x.py", b"def f(x):\\n    return x + 1 if x > 2 else -x\\n")]
        [('>', '>='), ('>', '<='), ('2', '3'), ('+', '-'), ('1', '2'), ('-x', 'x')]
    """
    tree = ast.parse(content)
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.AST) -> tuple[int, int]:
        begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return begin, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def replaced(node: ast.AST, new: str | None) -> Mutant | None:
        if new is None:
            return None
        start, end = place(node)
        return Mutant(path, node.lineno, start, end, content[start:end].decode(), new)  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, new: str) -> Mutant | None:
        """The operator between two operands, on one line and without brackets or comments."""
        start, end = place(left)[1], place(right)[0]
        gap = content[start:end].decode()
        operator = gap.strip(" ()\\n")
        if not operator or any(c in operator for c in "#()\n "):
            return None
        begin = start + content[start:end].index(operator.encode())
        line = content[:begin].count(b"\n") + 1
        return Mutant(path, line, begin, begin + len(operator.encode()), operator, new)

    rest = {
        id(size.operand)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape"
        for size in ast.walk(node)
        if isinstance(size, ast.UnaryOp)
    }  # reshape(-1): any negative number is the rest
    found: list[Mutant | None] = []
    for node in walk(tree):
        if id(node) in rest:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            found += [between(node.left, node.comparators[0], new) for new in COMPARISONS[type(node.ops[0])]]
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            found.append(between(node.left, node.right, ARITHMETIC[type(node.op)]))
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            found.append(between(node.values[0], node.values[1], "or" if isinstance(node.op, ast.And) else "and"))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            found.append(replaced(node, content[slice(*place(node.operand))].decode()))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found.append(replaced(node, another_number(node.value)))  # type: ignore[arg-type]
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            found.append(replaced(node, str(not node.value)))
        elif isinstance(node, ast.Name) and node.id in SWAPPED and isinstance(node.ctx, ast.Load):
            found.append(replaced(node, SWAPPED[node.id]))
    yield from (mutant for mutant in found if mutant is not None)


def another_number(value: float) -> str | None:
    """An integer below 20 grows by one, a number below 1e-4 to the 10000-fold, another one by half."""
    if 0 < value < SMALLEST:
        return None
    if isinstance(value, int):
        return repr(value + 1 if value < 20 else value * 3 // 2)
    return repr(value * (1e4 if value < 1e-4 else 1.5) or 1.0)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that are computed with: no annotations, raised errors, texts, imports, and no drawing of figures."""
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not is_skipped(child):
                    yield child
                    yield from walk(child)


def is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        drawn = {"panel", "panels", "axes", "figure"} & {argument.arg for argument in node.args.args}
        return bool(drawn) or node.name.lstrip("_").startswith(("plot", "draw"))
    if isinstance(node, ast.keyword):
        return node.arg in CHECKED
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    return isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert))

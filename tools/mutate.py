"""Mutation testing: small defects are put into a copy of the library, one at a time, and the tests of that package must fail.

    python tools/mutate.py --count 300 --seed 7 --jobs 2 --report mutants.json

Mutants are drawn with a seed from all places of the packages in TESTS: comparison, arithmetic and logical operators, numbers,
signs, and minimum for maximum. Texts, errors and the drawing of figures are left alone. A mutant is killed by a failing test, by
an error, or by the time limit. Survivors are listed; one may be equivalent to the library, or is a test that
is missing.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
TESTS = {
    "appell/algorithms/derivatives": ("tests/oracles/test_derivatives.py", "tests/oracles/test_second_derivatives.py"),
    "appell/algorithms": ("tests/identities", "tests/papers"),
    "appell/control/hardware": (
        "tests/control/test_safety.py",
        "tests/control/test_limits.py",
        "tests/control/test_processes.py",
    ),
    "appell/control": ("tests/control",),
    "appell/identification": ("tests/identification",),
    "appell/simulation/contact": ("tests/simulation/contact",),
    "appell/simulation": ("tests/simulation", "--ignore=tests/simulation/contact"),
    "appell/closed_loop/spherical": ("tests/closed_loop/spherical", "tests/papers/test_abedloo2014.py"),
    "appell/closed_loop": ("tests/closed_loop", "--ignore=tests/closed_loop/spherical"),
}
"""Tests of each package; the first package that contains a file counts."""
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
KILLED, SURVIVED, TIMEOUT = "killed", "survived", "timeout"


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
        [('>', '>='), ('2', '3'), ('+', '-'), ('1', '2'), ('-x', 'x')]
    """
    tree = ast.parse(content)
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.AST) -> tuple[int, int]:
        begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return begin, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def replaced(node: ast.AST, new: str) -> Mutant:
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

    found: list[Mutant | None] = []
    for node in walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            found.append(between(node.left, node.comparators[0], COMPARISONS[type(node.ops[0])]))
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            found.append(between(node.left, node.right, ARITHMETIC[type(node.op)]))
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            found.append(between(*node.values, "or" if isinstance(node.op, ast.And) else "and"))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            found.append(replaced(node, content[slice(*place(node.operand))].decode()))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            new = str(node.value + 1) if isinstance(node.value, int) else repr(node.value * 1.5 if node.value else 1.0)
            found.append(replaced(node, new))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            found.append(replaced(node, str(not node.value)))
        elif isinstance(node, ast.Name) and node.id in SWAPPED and isinstance(node.ctx, ast.Load):
            found.append(replaced(node, SWAPPED[node.id]))
    yield from (mutant for mutant in found if mutant is not None)


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
        return node.name.lstrip("_").startswith(("plot", "draw"))
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    return isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert))


def tests_of(path: str) -> tuple[str, ...] | None:
    """Tests that must notice a defect in a file."""
    return next((tests for package, tests in TESTS.items() if path.startswith(package + "/")), None)


def all_mutants(only: str = "") -> list[Mutant]:
    """Mutants of all files that have tests, or of those whose path contains a text."""
    paths = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))]
    chosen = [path for path in paths if tests_of(path) and only in path and not path.endswith("/report.py")]
    return [mutant for path in chosen for mutant in mutants_of(path, (SOURCE / path).read_bytes())]


def verdict(mutant: Mutant, tests: Sequence[str], copy: Path, limit: float) -> tuple[str, float]:
    """Run the tests on a copy of the sources with the change; the copy is restored."""
    file, begun = copy / mutant.path, time.monotonic()
    original = file.read_bytes()
    file.write_bytes(mutant.applied(original))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit
        )
        outcome = KILLED if done.returncode else SURVIVED
    except subprocess.TimeoutExpired:
        outcome = TIMEOUT
    finally:
        file.write_bytes(original)
    return outcome, time.monotonic() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time (default: %(default)s)")
    parser.add_argument("--tests", nargs="+", help="tests in place of those of the package")
    parser.add_argument("--only", default="", help="part of the path of files to change")
    parser.add_argument(
        "--limit", type=float, default=600.0, help="seconds for the tests of a mutant (default: %(default)s)"
    )
    parser.add_argument(
        "--budget", type=float, default=float("inf"), help="seconds after which no other mutant is begun"
    )
    parser.add_argument("--report", type=Path, help="file for the results, JSON")
    parser.add_argument("--least", type=float, default=0.0, help="percentage that must be killed")
    arguments = parser.parse_args()
    mutants = all_mutants(arguments.only)
    chosen = random.Random(arguments.seed).sample(mutants, min(arguments.count, len(mutants)))
    print(f"{len(chosen)} of {len(mutants)} mutants, seed {arguments.seed}", flush=True)
    end, results = time.monotonic() + arguments.budget, []
    with tempfile.TemporaryDirectory() as folder:
        copies: Queue[Path] = Queue()
        for k in range(arguments.jobs):
            shutil.copytree(SOURCE, Path(folder, str(k)), ignore=shutil.ignore_patterns("__pycache__"))
            copies.put(Path(folder, str(k)))

        def judge(mutant: Mutant) -> None:
            if time.monotonic() > end:
                return
            copy = copies.get()
            try:
                tests = arguments.tests or tests_of(mutant.path) or ()
                outcome, seconds = verdict(mutant, tests, copy, arguments.limit)
            finally:
                copies.put(copy)
            results.append({**asdict(mutant), "outcome": outcome, "seconds": round(seconds, 1)})
            print(f"{outcome:8} {seconds:6.1f} s  {mutant}", flush=True)
            if arguments.report:
                arguments.report.write_text(json.dumps(results, indent=1) + "\n")

        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(judge, chosen))
    survivors = [result for result in results if result["outcome"] == SURVIVED]
    score = 100.0 * (1.0 - len(survivors) / max(len(results), 1))
    print(f"{score:.1f} % of {len(results)} mutants killed; {len(survivors)} survived:")
    for result in survivors:
        print(f"  {result['path']}:{result['line']}: {result['old']!r} -> {result['new']!r}")
    return int(score < arguments.least)


if __name__ == "__main__":
    sys.exit(main())

"""Mutation testing: small defects are put into a copy of the library, one at a time, and a test must fail.

    python tools/mutate.py --count 300 --seed 7 --jobs 2 --report mutants.json
    python tools/mutate.py --again mutants.json

Mutants (mutants.py) are drawn with a seed from all places of the packages in TESTS. Texts, errors and the drawing of figures are
left alone. The tests that execute the line run first, quick and simple ones at the beginning, then others of the package
(covering_tests.py); a limit bounds the seconds of both. Survivors meet the tests of all other folders that execute the line. Each
mutant has a process, forked from one that has imported all but the library. A mutant is killed by a failing test, by an error, or
by taking several times as long as the library. Survivors are listed; one may be equivalent to the library, or is a test that is
missing.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from covering_tests import KEPT, OPTIONS, ROOT, SOURCE, CoveringTests, covering_tests
from mutants import Mutant, mutants_of

RECORDED = (
    "simulation",
    "control",
    "closed_loop",
    "identification",
    "oracles",
    "papers",
    "robot",
    "identities",
    "rollouts",
)
"""Folders of tests that a defect meets first; survivors meet all other folders, so that the score is that of the whole suite."""
IMPORTED = ("numpy", "scipy.linalg", "scipy.optimize", "scipy.signal", "casadi", "hypothesis", "mujoco", "pinocchio")
TESTS = {
    "appell/algorithms": ("tests/identities", "tests/papers", "tests/oracles", "tests/robot/test_registry"),
    "appell/control": ("tests/control", "tests/hostile/test_control"),
    "appell/identification": ("tests/identification",),
    "appell/simulation": ("tests/simulation",),
    "appell/closed_loop": ("tests/closed_loop", "tests/papers/test_abedloo2014"),
}
"""Packages and the beginnings of the names of their own tests."""
KILLED, SURVIVED, TIMEOUT = "killed", "survived", "timeout"


def own_tests(path: str) -> tuple[str, ...]:
    """Beginnings of the names of the tests of a file's package; none for a file that is not changed."""
    return next((tests for package, tests in TESTS.items() if path.startswith(package + "/")), ())


def changed_files() -> list[str]:
    paths = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))]
    return [path for path in paths if own_tests(path) and not path.endswith("/report.py")]


def other_folders() -> list[str]:
    """All folders of tests that are not in RECORDED."""
    folders = sorted(path for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py")))
    return [f"tests/{path.name}" for path in folders if path.name not in RECORDED]


def executed_places(path: str, line: int) -> Iterator[tuple[str, int]]:
    """Files and lines that are executed where a line has an effect: the statement, the function of a default argument,
    or all uses of the name of a constant or of an attribute."""
    node: ast.AST = ast.parse((SOURCE / path).read_bytes())
    chain: list[ast.AST] = []
    while node is not None:
        chain.append(node)
        inside = (child for child in ast.walk(node) if child is not node and isinstance(child, ast.stmt))
        node = next((child for child in inside if child.lineno <= line <= (child.end_lineno or 0)), None)  # type: ignore
    statement = chain[-1]
    if any(isinstance(outer, ast.FunctionDef) for outer in chain[:-1]):
        yield from ((path, k) for k in range(statement.lineno, line + 1))  # type: ignore[attr-defined]
    elif isinstance(statement, ast.FunctionDef):
        yield from ((path, k) for k in range(line, statement.end_lineno + 1))  # type: ignore[operator]
    else:
        names = {
            child.id
            for child in ast.walk(statement)
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
        }
        pattern = re.compile("|".join(rf"\b{name}\b" for name in names) or "$^")
        for file in sorted((SOURCE / "appell").rglob("*.py")):
            lines = enumerate(file.read_text().splitlines(), 1)
            yield from ((file.relative_to(SOURCE).as_posix(), k) for k, text in lines if pattern.search(text))


def tests_for(mutant: Mutant, covering: CoveringTests, limit: float) -> list[str]:
    """Tests that execute the changed line, then others of the package, each within a limit of seconds.

    The quickest that execute little else are chosen; those of one module stay together, because they share fixtures.
    """

    def simplest(tests: set[str], seconds: float) -> list[str]:
        chosen: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (covering.effort[test], test)):
            if covering.seconds[test] <= seconds:
                seconds -= covering.seconds[test]
                chosen.setdefault(test.split("::")[0], []).append(test)
        return [test for module in chosen.values() for test in module]

    direct = set(covering.of_line(mutant.path, mutant.line))
    for place in () if direct else executed_places(mutant.path, mutant.line):
        direct |= covering.of_line(*place)
    first = simplest(direct, limit)
    own = {test for test in covering.seconds if test.startswith(own_tests(mutant.path))}
    return first + simplest((covering.of_file(mutant.path) | own) - set(first), limit / 3)


class Chosen:
    """Plugin of pytest: the chosen tests alone, in their order; examples that fail are not made smaller."""

    def __init__(self, tests: Sequence[str], killer: Path) -> None:
        self.tests, self.killer = tests, killer

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self.tests if test in found]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.killer.write_text(report.nodeid)


def run_tests(tests: Sequence[str], copy: Path, seconds: float) -> None:
    """Run tests on a copy of the sources in this process, which ends with the status of pytest."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.environ["PYTHONPATH"] = str(copy)
    sys.path.insert(0, str(copy))
    files = dict.fromkeys(test.split("::")[0] for test in tests)
    status = 3
    with contextlib.suppress(BaseException):
        plugin = Chosen(tests, copy.with_suffix(".killer"))
        status = pytest.main([*OPTIONS, "-x", "--tb=no", "--assert=plain", *files], plugins=[plugin])
    os._exit(int(status))


@dataclass
class Trial:
    """A mutant under test in a process of its own."""

    mutant: Mutant
    copy: Path
    tests: list[str]
    expected: float
    begun: float
    process: int = 0

    def start(self, number: int) -> None:
        if not self.tests:
            return
        file = self.copy / self.mutant.path
        file.write_bytes(self.mutant.applied((SOURCE / self.mutant.path).read_bytes()))
        os.utime(file, (number, number))  # no two mutants share a time: compiled files are not mistaken
        self.copy.with_suffix(".killer").unlink(missing_ok=True)
        self.process = os.fork()
        if not self.process:
            run_tests(self.tests, self.copy, 15.0 + 2.5 * self.expected)

    def outcome(self) -> str | None:
        """None while the tests run."""
        if not self.tests:
            return SURVIVED
        process, status = os.waitpid(self.process, os.WNOHANG)
        late = time.monotonic() - self.begun > 30.0 + 6.0 * self.expected
        if not process and not late:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)  # and what the tests have left running
        if not process:
            os.waitpid(self.process, 0)
        shutil.copy2(SOURCE / self.mutant.path, self.copy / self.mutant.path)
        if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
            return TIMEOUT
        return KILLED if status else SURVIVED

    def result(self, outcome: str) -> dict[str, object]:
        killer = self.copy.with_suffix(".killer")
        by = killer.read_text() if killer.exists() else ""
        taken = round(time.monotonic() - self.begun, 1)
        return {**asdict(self.mutant), "outcome": outcome, "seconds": taken, "tests": len(self.tests), "by": by}


def trials(mutants: Sequence[Mutant], covering: CoveringTests, jobs: int, limit: float) -> Iterator[dict[str, object]]:
    """Results of mutants, as they come."""
    os.chdir(ROOT)
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MPLBACKEND="Agg", APPELL_CACHE_DIR=str(KEPT))
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder, str(k)) for k in range(jobs)]
        for copy in copies:
            shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        waiting, running = list(enumerate(mutants, 1)), []
        while waiting or running:
            while waiting and copies:
                number, mutant = waiting.pop(0)
                tests = tests_for(mutant, covering, limit)
                seconds = sum(covering.seconds[test] for test in tests)
                running.append(Trial(mutant, copies.pop(), tests, seconds, time.monotonic()))
                running[-1].start(number)
            time.sleep(0.05)
            for trial in list(running):
                if (outcome := trial.outcome()) is not None:
                    running.remove(trial)
                    copies.append(trial.copy)
                    yield trial.result(outcome)


def chosen_mutants(arguments: argparse.Namespace) -> list[Mutant]:
    """A seeded sample of all mutants, or the survivors of an earlier report."""
    files = [path for path in changed_files() if arguments.only in path]
    mutants = [mutant for path in files for mutant in mutants_of(path, (SOURCE / path).read_bytes())]
    earlier = {result_key(result) for file in arguments.without for result in json.loads(file.read_text())}
    if arguments.again:
        survived = {result_key(r) for r in json.loads(arguments.again.read_text()) if r["outcome"] == SURVIVED}
        return [mutant for mutant in mutants if result_key(asdict(mutant)) in survived]
    fresh = [mutant for mutant in mutants if result_key(asdict(mutant)) not in earlier]
    print(f"{len(mutants)} mutants in all, {len(fresh)} not in earlier reports, seed {arguments.seed}", flush=True)
    return random.Random(arguments.seed).sample(fresh, min(arguments.count, len(fresh)))


def result_key(result: dict[str, object]) -> tuple[object, ...]:
    return result["path"], result["start"], result["new"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time (default: %(default)s)")
    parser.add_argument("--only", default="", help="part of the path of files to change")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of tests of a line (default: %(default)s)")
    parser.add_argument(
        "--without", type=Path, nargs="+", default=(), help="earlier reports: their mutants are not drawn"
    )
    parser.add_argument("--again", type=Path, help="try the survivors of a report again")
    parser.add_argument("--report", type=Path, help="file for the results, JSON")
    parser.add_argument("--least", type=float, default=0.0, help="percentage that must be killed")
    arguments = parser.parse_args()
    mutants = chosen_mutants(arguments)
    results: dict[tuple[object, ...], dict[str, object]] = {}
    for stage in ("first", "other"):
        left = [m for m in mutants if results.get(result_key(asdict(m)), {}).get("outcome", SURVIVED) == SURVIVED]
        covering = covering_tests(
            [f"tests/{n}" for n in RECORDED] if stage == "first" else other_folders(), arguments.jobs
        )
        print(f"{len(left)} mutants, {len(covering.seconds)} tests of the {stage} folders", flush=True)
        for result in trials(left, covering, arguments.jobs, arguments.limit):
            results[result_key(result)] = result
            print("{outcome:8} {seconds:6.1f} s  {path}:{line}: {old!r} -> {new!r}  {by}".format(**result), flush=True)
            if arguments.report:
                arguments.report.write_text(json.dumps([*results.values()], indent=1) + "\n")
    survivors = [result for result in results.values() if result["outcome"] == SURVIVED]
    score = 100.0 * (1.0 - len(survivors) / max(len(results), 1))
    print(f"{score:.1f} % of {len(results)} mutants killed; {len(survivors)} survived:")
    for result in survivors:
        print("  {path}:{line}: {old!r} -> {new!r}".format(**result))
    return int(score < arguments.least)


if __name__ == "__main__":
    sys.exit(main())

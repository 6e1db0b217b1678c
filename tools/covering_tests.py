"""Tests that execute each line of the library, and how long each test takes.

    python tools/covering_tests.py tests/control build/control.json

Recorded with coverage.py, one process for each folder of tests, and kept in build/covering_tests until the library or the folder
changes. What a fixture of a module or a session executes counts for all tests of the module. Tests that fail are left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
KEPT = ROOT / "build" / "covering_tests"
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class CoveringTests:
    """Tests by file and line, and the seconds of each test."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    def of_line(self, path: str, line: int) -> set[str]:
        return self.lines.get(path, {}).get(line, set())

    @cached_property
    def effort(self) -> dict[str, float]:
        """Seconds times the number of lines that a test executes: small for tests of one thing."""
        executed = Counter(test for lines in self.lines.values() for tests in lines.values() for test in tests)
        return {test: executed[test] * (seconds + 0.02) for test, seconds in self.seconds.items()}

    def of_file(self, path: str) -> set[str]:
        return set().union(*self.lines.get(path, {}).values())


def covering_tests(folders: Sequence[str], jobs: int) -> CoveringTests:
    """The record of some folders of tests, from files where they are up to date."""
    KEPT.mkdir(parents=True, exist_ok=True)
    library = digest([SOURCE / "appell", ROOT / "tests" / "helpers", ROOT / "tests" / "conftest.py"])
    kept = {folder: KEPT / f"{digest([ROOT / folder])}{library}.json" for folder in folders}

    def record_one(folder: str) -> None:
        if not kept[folder].exists():
            environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
            command = [sys.executable, __file__, folder, str(kept[folder])]
            subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
            print(f"recorded {folder}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(record_one, folders))
    merged = CoveringTests()
    for file in kept.values():
        content = json.loads(file.read_text())
        names = list(content["seconds"])
        merged.seconds.update(content["seconds"])
        for path, lines in content["lines"].items():
            for line, tests in lines.items():
                merged.lines.setdefault(path, {}).setdefault(int(line), set()).update(names[k] for k in tests)
    return merged


def digest(paths: Sequence[Path]) -> str:
    """Of the names and contents of all Python files in some folders."""
    hashed = hashlib.blake2b(digest_size=8)
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            hashed.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return hashed.hexdigest()


class Recorder:
    """Plugin of pytest: names the test for coverage.py and measures its time, that of the processors: others may be busy."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        begun = sum(os.times()[:4])
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")
        self.seconds[item.nodeid] = sum(os.times()[:4]) - begun

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        test = request._pyfuncitem.nodeid
        if fixturedef.scope != "function":
            self.coverage.switch_context(test.split("::")[0])
        yield
        self.coverage.switch_context(test)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)


def record(folder: str, file: Path) -> None:
    """Run the tests of a folder and write which lines each executes."""
    from coverage import Coverage

    coverage = Coverage(data_file=None, source=[str(SOURCE / "appell")], config_file=False)
    recorder = Recorder(coverage)
    coverage.start()
    pytest.main([*OPTIONS, folder], plugins=[recorder])
    coverage.stop()
    data = coverage.get_data()
    good = {test: round(seconds, 3) for test, seconds in recorder.seconds.items() if test not in recorder.failed}
    numbers: dict[str, set[int]] = {}
    for k, test in enumerate(good):
        numbers[test] = {k}
        numbers.setdefault(test.split("::")[0], set()).add(k)
    lines: dict[str, dict[int, list[int]]] = {}
    for path in data.measured_files():
        found = lines.setdefault(Path(path).relative_to(SOURCE).as_posix(), {})
        for line, contexts in data.contexts_by_lineno(path).items():
            found[line] = sorted(set().union(*(numbers.get(name, set()) for name in contexts)))
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps({"seconds": good, "lines": lines}))
    partial.replace(file)


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]))

"""Speed, memory and precision of appell and of other libraries, measured in one run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

from appell.errors import ArgumentError, unknown_name_message
from appell.table import Table
from appell_lab.bench.contest import Settings
from appell_lab.bench.environment import environment
from appell_lab.bench.report import BenchReport
from appell_lab.bench.timing import on_cores

CASES = {
    "batch": "calls", "mass_matrix": "robots", "single": "calls", "scalar": "calls", "chains": "robots",
    "floating": "robots", "derivatives": "derivatives", "rollout": "use", "threads": "calls", "first_use": "use",
    "memory": "use",
}  # fmt: skip
"""Cases in their order, with the modules of `appell_lab.bench.cases` that have them as functions `<case>_case`."""

CORES = {"threads": 2, "first_use": 1024}
"""Cores of cases that use several; 1024 stands for all."""


def bench(settings: Settings, cases: Iterable[str] = CASES) -> BenchReport:
    """Run the cases, each in its own process."""
    cases = ["mass_matrix" if name == "inertia" else name for name in cases]  # its name in version 0.1
    for name in cases:
        if name not in CASES:
            raise ArgumentError(unknown_name_message("benchmark", name, CASES))
    machine = environment()
    tables: list[Table] = []
    for name in cases:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            tables += process.submit(run_case, name, settings).result()
    return BenchReport(machine, tables)


def run_case(name: str, settings: Settings) -> list[Table]:
    """Run one case in this process, pinned to one core unless it uses several."""
    module = import_module(f"appell_lab.bench.cases.{CASES[name]}")
    with on_cores(CORES.get(name, 1)):
        return getattr(module, f"{name}_case")(settings)

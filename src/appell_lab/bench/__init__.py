"""Speed, memory and precision of appell beside its peers, measured side by side in one run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

from appell.errors import ArgumentError, unknown_name_message
from appell.table import Table
from appell_lab.bench.contest import Settings
from appell_lab.bench.environment import environment
from appell_lab.bench.report import Report
from appell_lab.bench.timing import on_cores

CASES = (
    "batch", "inertia", "single", "scalar", "chains", "floating", "rollout", "threads", "first_use", "memory",
)  # fmt: skip
"""Modules of `appell_lab.bench.cases`, in the order in which they run."""

SEVERAL = {"threads": 2, "first_use": 1024}
"""Cores for cases that use several: two, and all there are."""


def bench(settings: Settings, cases: Sequence[str] = CASES) -> Report:
    """Run the cases, each in a process of its own."""
    for name in cases:
        if name not in CASES:
            raise ArgumentError(unknown_name_message("benchmark", name, CASES))
    found = environment()
    tables: list[Table] = []
    for name in cases:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            tables += process.submit(run_case, name, settings).result()
    return Report(found, tables)


def run_case(name: str, settings: Settings) -> list[Table]:
    """Run one case here, pinned to one core unless it is about several."""
    with on_cores(SEVERAL.get(name, 1)):
        return import_module(f"appell_lab.bench.cases.{name}").run(settings)

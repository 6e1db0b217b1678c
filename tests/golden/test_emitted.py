"""The emitted text of a tiny robot, so that a change of the compiler shows as a change of its product.

To accept a change: APPELL_UPDATE_GOLDEN=1 python -m pytest tests/golden
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.emit import emit, functions_text, scalar_dialect
from appell.compiler.lowering import StraightLine
from appell.compiler.operations import OperationList, list_operations
from appell.compiler.targets.llvm.ir import Real
from appell.compiler.targets.llvm.kernel import Form
from appell.compiler.trace import trace

FOLDER = Path(__file__).parent


def pendulum() -> appell.Robot:
    """One body on one joint: short enough to check the text by hand."""
    inertia = [[0.125, 0.0, 0.0, 0.125, 0.0, 0.25]]
    return appell.Robot.from_dh([0.0], [0.0], [0.0], mass=[2.0], com=[[0.5, 0.0, 0.0]], inertia=inertia)


def operations(function: str) -> OperationList:
    return list_operations(trace(pendulum().with_gravity((0.0, -9.81, 0.0)).system, FunctionSpec(function)).graph)


def body(function: str, dialect) -> str:
    return functions_text(emit(operations(function), dialect), dialect.type, "state")


TEXTS = {
    "pendulum_scalar.c": lambda: body("inverse_dynamics", scalar_dialect("float64")),
    "pendulum_scalar_float.c": lambda: body("inverse_dynamics", scalar_dialect("float32")),
    "pendulum_lanes.ll": lambda: Form(StraightLine(operations("forward_dynamics"))).functions(
        Real("float64", 4), "state"
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_emitted_text(name):
    path, text = FOLDER / name, TEXTS[name]()
    if os.environ.get("APPELL_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()

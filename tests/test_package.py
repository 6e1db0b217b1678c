"""The package as a whole: what importing it costs, what it offers, what it ships."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import subprocess
import sys

import pytest

import appell

HEAVY = ("casadi", "scipy", "lxml", "mujoco", "matplotlib", "sympy", "pinocchio", "yourdfpy")


def modules_after(code: str) -> set[str]:
    """Names of all modules that a fresh Python has loaded after running this code."""
    code += "\nimport sys; print('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_import_loads_nothing_heavy():
    loaded = modules_after("import appell")
    assert "appell" in loaded
    assert not loaded & {*HEAVY, "numpy"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["demo", "--help"], ["check", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    loaded = modules_after(f"from appell.cli import main; main({arguments!r})")
    assert "appell.cli" in loaded
    assert not loaded & {*HEAVY, "numpy"}


@pytest.mark.parametrize("name", appell.__all__)
def test_public_name_exists(name):
    assert getattr(appell, name) is not None
    assert name in dir(appell)


def test_contract_of_names():
    promised = {
        "load", "Robot", "robots", "check", "count_operations", "equations",
        "AppellError", "ModelError", "CompileError", "SimulationError", "IdentificationError",
    }  # fmt: skip
    assert promised <= set(appell.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        appell.nothing  # noqa: B018


def test_version_is_the_installed_one():
    assert appell.__version__ == importlib.metadata.version("appell")


def test_types_are_shipped():
    assert importlib.resources.files("appell").joinpath("py.typed").is_file()


def test_command_is_installed():
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="appell")
    assert command.value == "appell.cli:main"


def test_module_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "appell", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"appell {appell.__version__}"


def test_former_packages_import_with_a_warning():
    code = (
        "from appell.tasks import line; from appell.tasks.follow import follow; import appell; print(line.__module__)"
    )
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("appell.kinematics.trajectories")
    assert "appell.tasks is now appell.kinematics.trajectories" in done.stderr
    assert "<string>:1" in done.stderr

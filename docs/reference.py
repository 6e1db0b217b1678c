"""The pages of the API reference, made from the public names of the library, so that none is forgotten."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import appell

GROUPS = {
    "robots": ("Robots and their descriptions", ("model", "robot", "loading")),
    "dynamics": (
        "Compiling, counting, exporting",
        ("compiler", "robot.compiled", "loading.compiled", "exporters", "symbolic", "sweeps"),
    ),
    "simulation": ("Simulation, contact and impacts", ("simulation", "rollouts")),
    "loops": ("Closed loops", ("closed_loop",)),
    "control": ("Control, trajectories and kinematics", ("control", "kinematics")),
    "identification": ("Identification", ("identification",)),
    "view": ("Viewer", ("view",)),
    "errors": ("Errors and warnings", ("errors",)),
}
"""Pages by file name: title, and the modules and packages of their names. Other names are on a page `more`."""

RESULTS = (
    "robot.compiled.CompiledRobot", "closed_loop.robot.ClosedLoopRobot", "compiler.count.Counts",
    "symbolic.tree_equations.Equations", "symbolic.closed_loops.ClosedLoopEquations",
    "sweeps.Sweep", "sweeps.MonteCarlo", "sweeps.Execution", "sweeps.Storage", "sweeps.Labels",
    "rollouts.Rollout", "simulation.records.Impact",
    "simulation.records.ContactInterval", "identification.result.Identification", "identification.base.BaseParameters",
)  # fmt: skip
"""Classes of results and options, documented beside the functions that return or take them."""

HEAD = """# {title}

"""
CLASS = """## `appell.{name}`

```{{eval-rst}}
.. autoclass:: appell.{name}
   :members:
   :inherited-members: {stop}
```

"""
FUNCTION = """## `appell.{name}`

```{{eval-rst}}
.. autofunction:: appell.{name}
```

"""
MODULE = """## `appell.{name}`

```{{eval-rst}}
.. automodule:: {home}
   :members:
   :imported-members:
   :no-index:
```

"""


def write(folder: Path) -> None:
    """Write one page per group of public names; unchanged pages are kept."""
    pages: dict[str, list[str]] = {}
    for name in appell.__all__:
        pages.setdefault(page_of(appell._HOME[name].rstrip(":")), []).append(name)
    for name in RESULTS:
        pages.setdefault(page_of(name.rpartition(".")[0]), []).append(name)
    titles = {page: title for page, (title, _) in GROUPS.items()} | {"more": "More"}
    for page, names in pages.items():
        text = HEAD.format(title=titles[page]) + "".join(map(entry, names))
        path = folder / f"{page}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page_of(home: str) -> str:
    """The page of a module: that of the longest entry of GROUPS that contains it."""
    pages = {package: page for page, (_, packages) in GROUPS.items() for package in packages}
    containing = [package for package in pages if home == package or home.startswith(f"{package}.")]
    return pages[max(containing, key=len)] if containing else "more"


def entry(name: str) -> str:
    """The directive for a public name."""
    value = object if name in RESULTS else getattr(appell, name)  # results are classes
    if inspect.ismodule(value):
        return MODULE.format(name=name, home=value.__name__)
    if inspect.isclass(value):
        stop = "Exception, Warning, ValueError, RuntimeError, tuple, NamedTuple, Mapping, ABC"
        return CLASS.format(name=name, stop=stop)
    return FUNCTION.format(name=name)


def as_written(app, what, name, obj, options, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in backticks: stars and bars in them have no meaning of their own."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", ":", "..")):
            lines[i] = escaped(line)


def as_sentence(app, what, name, obj, options, lines: list[str]) -> None:
    """A colon in the first line of a property is part of a sentence: an empty comment before it keeps it from naming a type."""
    if what in ("property", "attribute"):
        lines[:0] = ["..", ""]


def escaped(line: str) -> str:
    """A line with *, | and a trailing _ escaped outside of backticks."""
    parts = re.split(r"(``?[^`]*``?)", line)
    return "".join(part if part.startswith("`") else re.sub(r"(?<!\\)([*|])", r"\\\1", part) for part in parts)

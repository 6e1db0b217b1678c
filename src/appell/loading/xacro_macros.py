"""xacro: files whose macros and expressions expand to URDF, by the package `xacro` (extra `xacro`).

`$(find package)` is resolved as `package://` is (`appell.meshes`). Expressions are evaluated by xacro as Python with few names:
expand only files that you trust.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from appell.checks import is_text
from appell.errors import ArgumentError, ModelError
from appell.loading.source import Source
from appell.loading.xml import root_tag, without_declaration, xml_error
from appell.meshes import package_folders

SUFFIX = ".xacro"
LOCK = Lock()
"""The package keeps the open files in variables of its own."""


def expanded(source: Source, arguments: Mapping[str, Any]) -> Source:
    """The source with its macros expanded."""
    if not isinstance(arguments, Mapping) or not all(is_text(name) for name in arguments):
        raise ArgumentError(f"xacro_args is {arguments!r}, expected names with values, such as {{'prefix': 'left_'}}.")
    xacro, errors = _xacro(), io.StringIO()
    values = {name: str(value) for name, value in arguments.items()}
    with LOCK, _find_packages(xacro, source.path), contextlib.redirect_stderr(errors):
        try:
            xacro.init_stacks(None if source.path is None else str(source.path))
            document = xacro.parse(without_declaration(source.text).decode("utf-8"))
            xacro.process_doc(document, mappings=values)
            text = document.toxml()
        except Exception as error:  # expressions raise whatever Python raises
            what = f"xacro cannot expand it: {str(error).strip().rstrip('.') or type(error).__name__}"
            raise xml_error(source.label, 0, what, "Correct it, or give its arguments as xacro_args.") from None
    label = f"{source.label} (expanded)" if source.label else ""
    return replace(source, label=label, text=text, kind=root_tag(without_declaration(text), label))


@contextlib.contextmanager
def _find_packages(xacro: ModuleType, path: Path | None) -> Iterator[None]:
    """Resolve `$(find package)` among the folders of packages while a file is expanded."""

    def find(package: str) -> str:
        for folder in package_folders(package, None if path is None else path.parent):
            if folder.is_dir():
                return str(folder)
        raise LookupError(f"the package {package!r} was not found. Set ROS_PACKAGE_PATH to the folder that has it")

    arguments = xacro.substitution_args
    before = arguments._eval_find, arguments._eval_dict["find"]
    arguments._eval_find = arguments._eval_dict["find"] = find
    try:
        yield
    finally:
        arguments._eval_find, arguments._eval_dict["find"] = before


def _xacro() -> ModuleType:
    try:
        import xacro
        import xacro.substitution_args
    except ImportError:
        raise ModelError('xacro files need xacro, which is not installed. Run: pip install "appell[xacro]"') from None
    return xacro

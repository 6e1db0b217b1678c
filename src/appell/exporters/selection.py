"""Which functions are wanted, and what they are called in C."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from appell.algorithms.request import Request, as_request
from appell.errors import ArgumentError

Selection = str | Request | Iterable[str | Request] | Mapping[str, str | Request]
"""One function, several, or several under names of your own."""


def select(functions: Selection, prefix: str) -> dict[str, Request]:
    """C name of every function. Names that coincide are refused."""
    if isinstance(functions, Mapping):
        own = cast("Mapping[str, str | Request]", functions)
        named = [(f"{prefix}_{valid_identifier(name, 'name')}", as_request(function)) for name, function in own.items()]
    else:
        wanted = [functions] if isinstance(functions, (str, Request)) else functions
        requests = [as_request(function) for function in wanted]
        named = [(f"{prefix}_{default_name(request)}", request) for request in requests]
    if not named:
        raise ArgumentError('no functions to export. Name at least one, such as "inverse_dynamics".')
    chosen: dict[str, Request] = {}
    for name, request in named:
        if name in chosen:
            raise ArgumentError(
                f"two functions to export are called {name!r}: {chosen[name]} and {request}. "
                'Give names of your own: functions={"name": "function:frame", ...}.'
            )
        chosen[name] = request
    return chosen


def default_name(request: Request) -> str:
    """The function with all its options, as an identifier.

    Example:
        >>> default_name(Request("pose", frame="tool-0"))
        'pose_tool_0'
    """
    parts = [request.function]
    if request.method:
        parts.append(request.method)
    if request.frame:
        parts.append(request.frame)
    if request.reference != Request.reference:
        parts.append(request.reference.lower())
    parts += [option for option in ("gravity", "forces", "parameters") if getattr(request, option)]
    return identifier("_".join(parts))


def identifier(text: str) -> str:
    """The text with everything that C does not allow in a name replaced by underscores.

    Example:
        >>> identifier("2-link arm")
        'robot_2_link_arm'
    """
    name = re.sub(r"[^0-9a-zA-Z]+", "_", text).strip("_") or "robot"
    return f"robot_{name}" if name[0].isdigit() else name


def valid_identifier(name: str, what: str) -> str:
    """The name as it is, if C allows it."""
    if not re.fullmatch(r"[a-zA-Z][0-9a-zA-Z_]*", name):
        raise ArgumentError(f"{what} {name!r} is no C identifier. Use letters, digits and underscores, a letter first.")
    return name

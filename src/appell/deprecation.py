"""Former names of public functions, arguments and attributes: they work for one release and warn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

from appell.errors import warn_at_caller

Callee = TypeVar("Callee", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def warn_renamed(old: str, new: str) -> None:
    """Warn of a former name."""
    warn_at_caller(f"{old} is now called {new}; the former name goes with the next release.", DeprecationWarning)


def renamed_arguments(**new_names: str) -> Callable[[Callee], Callee]:
    """Let a function take former keyword arguments: `@renamed_arguments(walls="surfaces")`.

    Example:
        >>> import warnings
        >>> @renamed_arguments(walls="surfaces")
        ... def count(surfaces=()):
        ...     return len(surfaces)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", DeprecationWarning)
        ...     count(walls=["floor"])
        1
    """

    def decorate(function: Callee) -> Callee:
        name = function.__qualname__.removesuffix(".__init__").rpartition(">.")[2]

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in kwargs.keys() & new_names.keys():
                new = new_names[old]
                if new in kwargs:
                    raise TypeError(f"{name}() got {new!r} twice: {old!r} is its former name.")
                warn_renamed(f"{name}({old}=)", f"{new}=")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def grouped_arguments(group: str, options: type, **fields: str) -> Callable[[Callee], Callee]:
    """Let a function take former keyword arguments that are now fields of one options object.

    `@grouped_arguments("holdout", Holdout, hold_out="every")` reads `f(hold_out=5)` as `f(holdout=Holdout(every=5))`. The
    decorated function's default of the group must be equal to `options()`, or None. A value of another type is the first field.

    Example:
        >>> import warnings
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Holdout:
        ...     every: int = 5
        >>> @grouped_arguments("holdout", Holdout, hold_out="every")
        ... def fit(holdout=Holdout()):
        ...     return holdout.every
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", DeprecationWarning)
        ...     fit(hold_out=3)
        3
    """

    def decorate(function: Callee) -> Callee:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            former = sorted(kwargs.keys() & fields.keys())
            for old in former:
                warn_renamed(f"{function.__name__}({old}=)", f"{group}={options.__name__}({fields[old]}=)")
            if former:
                given: Any = kwargs.get(group)
                if not isinstance(given, options):
                    given = options() if given is None else options(given)
                kwargs[group] = replace(given, **{fields[old]: kwargs.pop(old) for old in former})
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def renamed_fields(**new_names: str) -> Callable[[Class], Class]:
    """Let a dataclass take and read former names of its fields: `@renamed_fields(late="lateness")` above `@dataclass`."""

    def decorate(cls: Class) -> Class:
        cls.__init__ = renamed_arguments(**new_names)(cls.__init__)
        return renamed_attributes(**new_names)(cls)

    return decorate


def renamed_attributes(**new_names: str) -> Callable[[Class], Class]:
    """Let objects of a class be read by former names of attributes and methods: `@renamed_attributes(late="lateness")`."""

    def decorate(cls: Class) -> Class:
        for old, new in new_names.items():
            setattr(cls, old, renamed_attribute(old, new))
        return cls

    return decorate


def renamed_attribute(old: str, new: str) -> Any:
    """A property that reads an attribute or method under its former name: `close = renamed_attribute("close", "solve")`."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    return property(read, doc=f"Former name of `{new}`.")


def renamed_names(module: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` for former names: `__getattr__ = renamed_names(__name__, {"Old": "package.module:New"})`."""

    def read(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = new_names[name].partition(":")
        warn_renamed(f"{module}.{name}", new or home)
        found = import_module(home)
        return getattr(found, new) if new else found

    return read

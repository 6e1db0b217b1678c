"""How a robot is compiled."""

from __future__ import annotations

from dataclasses import dataclass

from appell.errors import ArgumentError, unknown_name_message

CHOICES = {
    "target": ("cpu", "cuda"),
    "dtype": ("float64", "float32"),
    "parameters": ("baked", "runtime"),
    "layout": ("rows", "columns"),
}


@dataclass(frozen=True)
class Options:
    """Choices of `appell.compile`.

    Attributes:
        threads: the most that a batch is split over; None for every core that the process may use.
        eager: compile a function when it is first called. Otherwise the first calls are interpreted, because compiling
            takes longer than they do.
        isa: name of an instruction set in `appell.compiler.targets.llvm.isa`; None for the best one.
    """

    target: str = "cpu"
    dtype: str = "float64"
    threads: int | None = None
    parameters: str = "baked"
    layout: str = "rows"
    eager: bool = True
    isa: str | None = None

    def __post_init__(self) -> None:
        for name, valid in CHOICES.items():
            if getattr(self, name) not in valid:
                raise ArgumentError(unknown_name_message(name, getattr(self, name), valid))
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise ArgumentError(f"threads is {self.threads!r}, expected a positive number or None for all cores.")

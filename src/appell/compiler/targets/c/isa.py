"""Instruction sets: what this processor can run, and how a compiler is told."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from appell._native import cpu_features
from appell.errors import CompileError, unknown_name_message

ITEM_BYTES = {"float64": 8, "float32": 4}


@dataclass(frozen=True)
class InstructionSet:
    """A target within a processor family.

    Attributes:
        machine: the families it belongs to, as `platform.machine()` spells them; empty for any.
        flags: options that gcc and clang share, named after features without which its code must never be run.
        width: bytes of a vector.
    """

    name: str
    machine: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    width: int = 16

    def lanes(self, dtype: str) -> int:
        """States in one vector."""
        return self.width // ITEM_BYTES[dtype]


X86, ARM = ("x86_64", "AMD64"), ("aarch64", "arm64")
AVX2 = ("-mavx2", "-mfma")
AVX512 = (*AVX2, "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl")


INSTRUCTION_SETS = {
    each.name: each
    for each in (
        InstructionSet("avx512", X86, AVX512, 64),
        InstructionSet("avx2", X86, AVX2, 32),
        InstructionSet("sse2", X86),
        InstructionSet("neon", ARM),
        InstructionSet("plain"),
    )
}
"""All of them, best first."""


def supported() -> tuple[InstructionSet, ...]:
    """Those that this processor runs, best first."""
    machine, features = platform.machine(), detected_features()
    return tuple(
        each
        for each in INSTRUCTION_SETS.values()
        if (not each.machine or machine in each.machine)
        and {flag.removeprefix("-m") for flag in each.flags} <= features
    )


def instruction_set(name: str | None = None) -> InstructionSet:
    """The best one, or the named one if this processor runs it."""
    found = supported()
    if name is None:
        return found[0]
    for each in found:
        if each.name == name:
            return each
    raise CompileError(unknown_name_message("instruction set of this processor", name, [each.name for each in found]))


@lru_cache(maxsize=1)
def detected_features() -> frozenset[str]:
    """Features that processor and operating system support."""
    if cpu_features is not None:
        return frozenset(cpu_features())
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())

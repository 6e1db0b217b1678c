"""Instruction sets: what this processor can run, and how LLVM is asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from appell.compiler.targets.llvm.ir import Real
from appell.compiler.targets.llvm.jit import binding
from appell.errors import CompileError, unknown_name_message

FUSED = frozenset(("fma", "neon"))
"""Features with which a product and a sum are one instruction."""


@dataclass(frozen=True)
class InstructionSet:
    """A target within a processor family.

    Attributes:
        cpu: LLVM's name of a processor that has it.
        needs: features without which its code must never be run.
        width: bytes of a vector.
        features: of the processor, beyond those of its name.
    """

    name: str
    cpu: str = ""
    needs: frozenset[str] = frozenset()
    width: int = 16
    features: str = ""

    def real(self, dtype: str) -> Real:
        """Vectors of numbers, with a state in every lane."""
        return Real(dtype, self.width // Real(dtype).item, not self.needs.isdisjoint(FUSED))


AVX2 = frozenset(("avx2", "fma"))
AVX512 = AVX2 | {"avx512f", "avx512dq", "avx512bw", "avx512vl"}

INSTRUCTION_SETS = {
    each.name: each
    for each in (
        InstructionSet("avx512", "x86-64-v4", AVX512, 64),
        InstructionSet("avx2", "x86-64-v3", AVX2, 32),
        InstructionSet("sse2", "x86-64", frozenset(("sse2",))),
        InstructionSet("neon", "generic", frozenset(("neon",))),
        InstructionSet("plain"),
    )
}
"""All of them, best first."""


def host_features() -> Any:
    """LLVM's names of what this processor has, each with whether it has it; none where LLVM cannot find out."""
    try:
        return binding().get_host_cpu_features()
    except RuntimeError:
        return binding().FeatureMap()


def supported() -> tuple[InstructionSet, ...]:
    """Those that this processor runs, best first."""
    features = {name for name, present in host_features().items() if present}
    return tuple(each for each in INSTRUCTION_SETS.values() if each.needs <= features)


@lru_cache(maxsize=8)
def instruction_set(name: str | None = None) -> InstructionSet:
    """All that this processor has, or the named instruction set if this processor runs it."""
    found = {each.name: each for each in supported()}
    if name is None:
        best = next(iter(found.values()))
        cpu, features = binding().get_host_cpu_name(), host_features().flatten()
        return InstructionSet(best.name, cpu, best.needs, best.width, features)
    if name in found:
        return found[name]
    raise CompileError(unknown_name_message("instruction set of this processor", name, list(found)))

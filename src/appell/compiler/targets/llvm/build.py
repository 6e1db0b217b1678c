"""From LLVM IR to native code: taken from the cache, or compiled and cached."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from appell.compiler import cache
from appell.compiler.fingerprint import digest, source_digest
from appell.compiler.targets.llvm.ir import Real
from appell.compiler.targets.llvm.isa import InstructionSet, instruction_set
from appell.compiler.targets.llvm.jit import binding, compile_text, link
from appell.compiler.targets.llvm.library import Library, open_library
from appell.compiler.targets.llvm.runtime import FUNCTIONS, runtime_text
from appell.errors import CompileError


@dataclass(frozen=True)
class Builder:
    """Makes native code for one instruction set and precision."""

    target: InstructionSet
    dtype: str

    @cached_property
    def real(self) -> Real:
        """Vectors of the kernels."""
        return self.target.real(self.dtype)

    def name(self, *content: object) -> str:
        """The name of code with this content: precision, processor and LLVM's version belong to it."""
        version = ".".join(map(str, binding().llvm_version_info))
        return digest(*content, self.real, self.target.cpu, self.target.features, version)

    @cached_property
    def runtime(self) -> Any:
        """What all kernels call, in memory: out of the cache, or compiled and cached."""
        name = self.name("runtime", source_digest())
        code = cache.load(name)
        with suppress(CompileError):
            if code is not None:
                return link(code, FUNCTIONS)
        return link(self.object(name, runtime_text(self.real)), FUNCTIONS)

    def cached(self, name: str, half: str) -> Library | None:
        """Code out of the cache."""
        code = cache.load(name)
        try:
            return None if code is None else open_library(code, half, self.runtime)
        except CompileError:
            return None

    def compiled(self, name: str, half: str, text: str) -> Library:
        """Code compiled now, and cached under its name."""
        return open_library(self.object(name, text), half, self.runtime)

    def object(self, name: str, text: str) -> bytes:
        """Object code compiled now, and cached under its name."""
        code = compile_text(text, self.target.cpu, self.target.features)
        cache.store(name, code)
        return code


@lru_cache(maxsize=16)
def builder_for(isa: str | None, dtype: str) -> Builder:
    """The builder for an instruction set, by default all that this processor has."""
    return Builder(instruction_set(isa), dtype)
